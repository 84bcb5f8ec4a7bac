//! A sidecar in a child process, spoken to through jsonrpsee's client: copy this file into a host written in Rust.
//!
//! jsonrpsee has no transport over stdin and stdout, knows no requests from the other side and tells nobody that a call
//! was given up; the two halves of the transport below do these three things.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jsonrpsee::core::client::{
    Client, ClientBuilder, ClientT, Error, ReceivedMessage, Subscription, SubscriptionClientT,
    TransportReceiverT, TransportSenderT,
};
use jsonrpsee::core::traits::ToRpcParams;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::AbortHandle;
use toolcrib::api::methods::{Dispatch, Initialize, Method, Notification, Shutdown};
use toolcrib::api::types::{
    DispatchParams, DispatchResult, InitializeParams, InitializeResult, PROTOCOL_VERSION,
    ShutdownParams,
};

/// What the sidecar asks is answered by this: method and params in, result out, `None` for what is not handled.
pub type Handler =
    Arc<dyn Fn(String, Value) -> Pin<Box<dyn Future<Output = Option<Value>> + Send>> + Send + Sync>;

/// A sidecar of one's own. Dropping it ends it, with all that it started.
pub struct Sidecar {
    /// What the sidecar said of itself.
    pub info: InitializeResult,
    client: Client,
    child: Child,
    wire: Arc<Wire>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the sidecar could not be started: {0}")]
    Start(#[from] io::Error),
    #[error("the sidecar does not answer: {0}")]
    Introduce(#[from] Error),
    #[error("this host speaks protocol version {PROTOCOL_VERSION}, the sidecar {0}")]
    Version(u32),
}

impl Sidecar {
    /// Starts `program` and introduces the host; `capabilities` in the params say what `handler` answers.
    pub async fn spawn(
        program: impl AsRef<OsStr>,
        params: InitializeParams,
        handler: Handler,
    ) -> Result<Sidecar, StartError> {
        let mut child = Command::new(program)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // An interrupt at the terminal is for the host.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes").into());
        };
        let wire = Arc::new(Wire {
            stdin: tokio::sync::Mutex::new(Some(stdin)),
            requests: Mutex::default(),
        });
        let receiver = Receiver {
            stdout: BufReader::with_capacity(64 << 10, stdout),
            wire: Arc::clone(&wire),
            handler,
            questions: Arc::default(),
        };
        let client = ClientBuilder::new()
            // Tools may take long; `timeoutMs` of a call says how long.
            .request_timeout(Duration::from_secs(24 * 60 * 60))
            .max_concurrent_requests(1024)
            .build_with_tokio(Sender(Arc::clone(&wire)), receiver);
        let info: InitializeResult = client.request(Initialize::NAME, Named(params)).await?;
        if info.protocol_version != PROTOCOL_VERSION {
            return Err(StartError::Version(info.protocol_version));
        }
        Ok(Sidecar {
            info,
            client,
            child,
            wire,
        })
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Asks. When the sidecar is gone every open call fails at once with `Error::RestartNeeded`.
    pub async fn request<M: Method>(&self, params: M::Params) -> Result<M::Result, Error> {
        self.client.request(M::NAME, Named(params)).await
    }

    /// Runs a tool call; dropping the future cancels it.
    pub async fn dispatch(&self, params: DispatchParams) -> Result<DispatchResult, Error> {
        let Some(call_id) = params.call_id.clone() else {
            return self.request::<Dispatch>(params).await;
        };
        let given_up = CancelOnDrop {
            wire: Arc::clone(&self.wire),
            call_id,
        };
        let answer = self.request::<Dispatch>(params).await;
        given_up.disarm();
        answer
    }

    /// What the sidecar tells from now on.
    pub async fn subscribe<N: Notification>(&self) -> Result<Subscription<N::Params>, Error> {
        self.client.subscribe_to_method(N::NAME).await
    }

    /// Ends the sidecar in an orderly way and waits for it.
    pub async fn close(mut self) -> io::Result<()> {
        let patience = Duration::from_secs(5);
        let shutdown = self.request::<Shutdown>(ShutdownParams {});
        // Whatever it says to this, it is ended below.
        let _ = tokio::time::timeout(patience, shutdown).await;
        let _ = self
            .wire
            .send(json!({ "jsonrpc": "2.0", "method": "exit" }).to_string())
            .await;
        self.wire.stdin.lock().await.take();
        match tokio::time::timeout(patience, self.child.wait()).await {
            Ok(status) => status.map(drop),
            Err(_) => self.child.kill().await,
        }
    }
}

/// The way to the sidecar, shared by the client, the answers of the handler and the cancels.
struct Wire {
    stdin: tokio::sync::Mutex<Option<ChildStdin>>,
    /// The ids of requests under way, by the host's id of the call.
    requests: Mutex<HashMap<String, u64>>,
}

impl Wire {
    async fn send(&self, mut message: String) -> io::Result<()> {
        message.push('\n');
        match self.stdin.lock().await.as_mut() {
            Some(stdin) => stdin.write_all(message.as_bytes()).await,
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn requests(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.requests
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

struct CancelOnDrop {
    wire: Arc<Wire>,
    call_id: String,
}

impl CancelOnDrop {
    fn disarm(self) {
        self.wire.requests().remove(&self.call_id);
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(id) = self.wire.requests().remove(&self.call_id) else {
            return;
        };
        let wire = Arc::clone(&self.wire);
        let message =
            json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } });
        tokio::spawn(async move { wire.send(message.to_string()).await });
    }
}

struct Sender(Arc<Wire>);

impl TransportSenderT for Sender {
    type Error = io::Error;

    async fn send(&mut self, message: String) -> io::Result<()> {
        /// A call that can be found again by the host's id.
        #[derive(Deserialize)]
        struct Call {
            id: u64,
            params: CallParams,
        }
        #[derive(Deserialize)]
        struct CallParams {
            #[serde(rename = "callId")]
            call_id: String,
        }
        if message.contains("\"callId\"")
            && let Ok(Call { id, params }) = serde_json::from_str(&message)
        {
            self.0.requests().insert(params.call_id, id);
        }
        self.0.send(message).await
    }
}

struct Receiver {
    stdout: BufReader<ChildStdout>,
    wire: Arc<Wire>,
    handler: Handler,
    /// What the sidecar waits for.
    questions: Arc<Mutex<HashMap<String, AbortHandle>>>,
}

impl TransportReceiverT for Receiver {
    type Error = io::Error;

    async fn receive(&mut self) -> io::Result<ReceivedMessage> {
        #[derive(Deserialize)]
        struct Envelope {
            id: Option<Value>,
            method: Option<String>,
            #[serde(default)]
            params: Value,
        }
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // Only what the sidecar asks and takes back has to be looked into.
            if !line.contains("\"method\"") {
                return Ok(ReceivedMessage::Text(line));
            }
            match serde_json::from_str(&line) {
                Ok(Envelope {
                    id: Some(id),
                    method: Some(method),
                    params,
                }) => self.ask(id, method, params),
                Ok(Envelope {
                    method: Some(method),
                    params,
                    ..
                }) if method == "$/cancelRequest" => {
                    self.take_back(&params["id"]);
                }
                _ => return Ok(ReceivedMessage::Text(line)),
            }
        }
    }
}

impl Receiver {
    fn ask(&self, id: Value, method: String, params: Value) {
        let key = id.to_string();
        let answer = (self.handler)(method, params);
        let wire = Arc::clone(&self.wire);
        let questions = Arc::clone(&self.questions);
        let task = tokio::spawn({
            let key = key.clone();
            async move {
                let message = match answer.await {
                    Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    None => refusal(&id, -32601, "not handled"),
                };
                lock(&questions).remove(&key);
                // The sidecar may be gone by now.
                let _ = wire.send(message.to_string()).await;
            }
        });
        lock(&self.questions).insert(key, task.abort_handle());
    }

    fn take_back(&self, id: &Value) {
        let Some(task) = lock(&self.questions).remove(&id.to_string()) else {
            return;
        };
        task.abort();
        let wire = Arc::clone(&self.wire);
        let message = refusal(id, -32800, "cancelled").to_string();
        tokio::spawn(async move { wire.send(message).await });
    }
}

fn refusal(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Params by name: jsonrpsee's own are lists and loose members.
struct Named<T>(T);

impl<T: Serialize> ToRpcParams for Named<T> {
    fn to_rpc_params(self) -> Result<Option<Box<RawValue>>, serde_json::Error> {
        serde_json::value::to_raw_value(&self.0).map(Some)
    }
}
