//! Tells the host things and asks it questions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tracing::error;

use crate::api::methods::{Method, Notification};
use crate::rpc::message::Failure;
use crate::rpc::output::Output;

/// The host at the other end; cheap to clone, and harmless once the host has gone.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
    /// Put before the names of methods of [`Peer::tell`] and [`Peer::ask`].
    prefix: &'static str,
}

struct Shared {
    output: Output,
    last_id: AtomicU64,
    /// Who waits for an answer, by the number in the request's id; `None` once none can come any more.
    /// Held for a look-up only, by whichever task asks and by the one that reads answers.
    waiting: Mutex<Option<HashMap<u64, Waiter>>>,
    /// Methods of notifications that the host does not want.
    unwanted: RwLock<Vec<String>>,
}

type Waiter = oneshot::Sender<Result<Box<RawValue>, Failure>>;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("the host is gone")]
    Closed,
    #[error("the host did not answer within {0:?}")]
    Timeout(Duration),
    #[error("the host refused: {0}")]
    Refused(Failure),
    #[error("the host's answer is not one: {0}")]
    Malformed(serde_json::Error),
    #[error("the question cannot be written as JSON: {0}")]
    Unwritable(serde_json::Error),
}

impl Peer {
    pub(crate) fn new(output: Output, prefix: &'static str) -> Peer {
        Peer {
            shared: Arc::new(Shared {
                output,
                last_id: AtomicU64::new(0),
                waiting: Mutex::new(Some(HashMap::new())),
                unwanted: RwLock::default(),
            }),
            prefix,
        }
    }

    /// Keeps notifications with these names from the list of methods from the host, instead of those named before.
    pub fn opt_out(&self, methods: Vec<String>) {
        let unwanted = self.shared.unwanted.write();
        *unwanted.unwrap_or_else(PoisonError::into_inner) = methods;
    }

    /// Tells the host something from the list of methods, unless it does not want to know; see [`Peer::notify`].
    pub fn tell<N: Notification>(&self, params: &N::Params) {
        let unwanted = self.shared.unwanted.read();
        if unwanted
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .any(|method| method == N::NAME)
        {
            return;
        }
        self.notify(&format!("{}{}", self.prefix, N::NAME), params);
    }

    /// Asks the host something from the list of methods; see [`Peer::call`].
    pub async fn ask<M: Method>(
        &self,
        params: &M::Params,
        timeout: Duration,
    ) -> Result<M::Result, PeerError>
    where
        M::Result: DeserializeOwned,
    {
        let method = format!("{}{}", self.prefix, M::NAME);
        let result = self.call(&method, params, timeout).await?;
        serde_json::from_str(result.get()).map_err(PeerError::Malformed)
    }

    /// Sends a notification: in order with every other message of this process, without ever blocking.
    ///
    /// What a handler sends before it returns is written before its answer. Once the stream is closed, does nothing.
    pub fn notify(&self, method: &str, params: impl Serialize) {
        match write(None, method, params) {
            Ok(message) => self.shared.output.push(message),
            Err(error) => error!(method, %error, "a notification cannot be written as JSON"),
        }
    }

    /// Sends a request and waits for its result.
    ///
    /// Fails at once when the host goes. Dropping the future, or the timeout, tells the host by `$/cancelRequest`.
    pub async fn call(
        &self,
        method: &str,
        params: impl Serialize,
        timeout: Duration,
    ) -> Result<Box<RawValue>, PeerError> {
        let id = self.shared.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let message = write(Some(id), method, params).map_err(PeerError::Unwritable)?;
        let (waiter, answer) = oneshot::channel();
        if !self.shared.wait(id, waiter) {
            return Err(PeerError::Closed);
        }
        let _question = Question {
            id,
            shared: &self.shared,
        };
        self.shared.output.push(message);
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(outcome)) => outcome.map_err(PeerError::Refused),
            Ok(Err(_)) => Err(PeerError::Closed),
            Err(_) => Err(PeerError::Timeout(timeout)),
        }
    }

    /// Hands an answer to who waits for it; an answer that nobody waits for is ignored.
    pub(crate) fn answered(&self, id: &str, outcome: Result<Box<RawValue>, Failure>) {
        let waiter = read_id(id).and_then(|id| self.shared.take(id));
        if let Some(waiter) = waiter {
            // The one who asked may have left meanwhile.
            let _ = waiter.send(outcome);
        }
    }

    /// Lets every open question fail, and every later one.
    pub(crate) fn hang_up(&self) {
        self.shared.waiting().take();
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u64, Waiter>>> {
        // Nothing can panic while the lock is held, and the map is whole after every single call.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, id: u64, waiter: Waiter) -> bool {
        match &mut *self.waiting() {
            Some(waiting) => waiting.insert(id, waiter).is_none(),
            None => false,
        }
    }

    fn take(&self, id: u64) -> Option<Waiter> {
        self.waiting().as_mut()?.remove(&id)
    }
}

/// A question that was sent; dropped before it is answered, it is taken back.
struct Question<'a> {
    id: u64,
    shared: &'a Shared,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if self.shared.take(self.id).is_none() {
            return;
        }
        let params = serde_json::json!({ "id": written_id(self.id) });
        if let Ok(message) = write(None, "$/cancelRequest", params) {
            self.shared.output.push(message);
        }
    }
}

/// Our ids are strings, so that no host can take them for ids of its own.
fn written_id(id: u64) -> String {
    format!("t{id}")
}

fn read_id(id: &str) -> Option<u64> {
    id.strip_prefix('t')?.parse().ok()
}

fn write(id: Option<u64>, method: &str, params: impl Serialize) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Request<'a, P> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        method: &'a str,
        params: P,
    }
    serde_json::to_string(&Request {
        jsonrpc: "2.0",
        id: id.map(written_id),
        method,
        params,
    })
}
