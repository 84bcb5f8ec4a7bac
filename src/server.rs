//! Owns one MCP server: starts it, keeps it, calls it, ends it.
//!
//! One task ([`actor`]) owns a server's life and is held by a [`ServerHandle`]. What changes goes up as [`Event`]s, and
//! lies open in a [`Status`]. Calls run in the future of whoever makes them, through a [`Caller`].

pub mod call;
pub mod dial;
pub mod error;
pub mod process;
pub mod shim;
pub mod tail;

mod actor;
mod backoff;
mod child;
mod connect;
mod connection;
mod decode;
mod desk;
mod environment;
mod gate;
mod handshake;
mod incoming;
mod lines;
mod listing;
mod mcp;
mod outbox;
mod program;
mod redact;
mod relist;
mod repair;
mod requests;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::catalog::listing::{Dropped, ListedTool};
use crate::config::{ServerConfig, TransportConfig};
use crate::names::{ServerName, ToolName};
use crate::server::actor::{Actor, Wiring};
use crate::server::call::Caller;
use crate::server::child::ChildDial;
use crate::server::connection::Connection;
use crate::server::dial::{Dial, Line};
use crate::server::environment::Environment;
use crate::server::error::{ConnectError, ErrorKind};
use crate::server::gate::Gate;

/// How many servers start at once, unless it is said otherwise: each is a heavy program, and they share the machine.
const START_SLOTS: usize = 4;

/// How long the end of a server may take, by force and all.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// What all servers share.
#[derive(Clone)]
pub struct ServerOptions {
    /// A program that does the work of [`shim`] when it is asked to.
    pub shim: PathBuf,
    /// One for each server that is starting.
    pub start_slots: Arc<Semaphore>,
    /// What the host can do for servers; read at each connection.
    pub host: watch::Receiver<HostSupport>,
    /// The sidecar's own, of which servers get the safe part.
    pub environment: Arc<Environment>,
    /// Hidden in what servers write, besides what each was given itself: one may echo what belongs to another.
    pub secrets: Arc<[String]>,
}

impl ServerOptions {
    /// With this process's environment.
    pub fn new(shim: PathBuf, host: watch::Receiver<HostSupport>) -> ServerOptions {
        ServerOptions {
            shim,
            start_slots: Arc::new(Semaphore::new(START_SLOTS)),
            host,
            environment: Arc::new(std::env::vars_os().collect()),
            secrets: Arc::default(),
        }
    }
}

/// What the host can be asked for on behalf of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSupport {
    pub elicit_form: bool,
    pub elicit_url: bool,
    pub sampling: bool,
    /// Folders that servers may know of; none is the same as no support.
    pub roots: Vec<Root>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    pub uri: String,
    pub name: Option<String>,
}

impl HostSupport {
    fn elicits(&self) -> bool {
        self.elicit_form || self.elicit_url
    }

    /// The same as MCP's client capabilities.
    fn capabilities(&self) -> Value {
        let mut capabilities = Map::new();
        if self.elicits() {
            let mut modes = Map::new();
            for (name, is_supported) in [("form", self.elicit_form), ("url", self.elicit_url)] {
                if is_supported {
                    modes.insert(name.to_owned(), json!({}));
                }
            }
            capabilities.insert("elicitation".to_owned(), Value::Object(modes));
        }
        if self.sampling {
            capabilities.insert("sampling".to_owned(), json!({}));
        }
        if !self.roots.is_empty() {
            capabilities.insert("roots".to_owned(), json!({}));
        }
        Value::Object(capabilities)
    }
}

/// Owns a server. Dropping it ends the server in the background.
pub struct ServerHandle {
    caller: Caller,
    config: watch::Sender<Arc<ServerConfig>>,
    task: JoinHandle<()>,
    _stop: DropGuard,
}

impl ServerHandle {
    /// Starts to connect at once.
    pub fn spawn(
        name: ServerName,
        config: ServerConfig,
        options: ServerOptions,
        events: mpsc::UnboundedSender<Event>,
    ) -> ServerHandle {
        match &config.transport {
            TransportConfig::Stdio(stdio) => {
                let dial = ChildDial {
                    config: stdio.clone(),
                    shim: options.shim.clone(),
                    environment: options.environment.clone(),
                    secrets: options.secrets.clone(),
                    given_up: TaskTracker::new(),
                };
                ServerHandle::spawn_with(dial, name, config, options, events)
            }
            TransportConfig::Http(_) => {
                ServerHandle::spawn_with(NoDial, name, config, options, events)
            }
        }
    }

    /// The same over pipes of another kind.
    pub fn spawn_with(
        dial: impl Dial,
        name: ServerName,
        config: ServerConfig,
        options: ServerOptions,
        events: mpsc::UnboundedSender<Event>,
    ) -> ServerHandle {
        let controls = Controls::default();
        let (link_sender, link) = watch::channel(Link::Starting);
        let (status_sender, status) = watch::channel(Arc::new(Status::new()));
        let (process_sender, process) = watch::channel(None);
        let gate = Arc::new(Gate::new(config.max_concurrency));
        let (config_sender, config) = watch::channel(Arc::new(config));
        let caller = Caller {
            name: name.clone(),
            config: config.clone(),
            gate: gate.clone(),
            link,
            status,
            process,
            controls: controls.clone(),
            events: events.clone(),
        };
        let stop = controls.stop.clone().drop_guard();
        let wiring = Wiring {
            events,
            controls,
            config,
            gate,
            link: link_sender,
            status: status_sender,
            process: process_sender,
        };
        let actor = Actor::new(dial, name, options, wiring);
        ServerHandle {
            caller,
            config: config_sender,
            task: tokio::spawn(actor.run()),
            _stop: stop,
        }
    }

    pub fn caller(&self) -> Caller {
        self.caller.clone()
    }

    /// How it is now.
    pub fn status(&self) -> Status {
        self.caller.status()
    }

    /// Takes over what the running connection does not depend on; the rest is for another handle. Calls that have
    /// begun keep their limits.
    pub fn configure(&self, config: ServerConfig) {
        self.caller.gate.set_limit(config.max_concurrency);
        let former = self.config.send_replace(Arc::new(config));
        if self.config.borrow().connect_timeout > former.connect_timeout {
            // It may be what the server was waiting for.
            self.caller.controls.wake.notify_one();
        }
    }

    /// Ends the server's process, if there is one, and starts anew with all attempts. Calls in flight are lost.
    pub fn restart(&self) {
        self.caller.controls.restart.notify_one();
    }

    /// Lets no new call in and waits until those that run have ended, at most so long.
    pub async fn retire(&self, grace: Duration) {
        self.caller.gate.close();
        // The rest is lost when the server is stopped.
        let _ = timeout(grace, self.caller.gate.empty()).await;
    }

    /// Ends the server and waits until nothing of it is left, or until it has taken too long.
    pub async fn stop(self) {
        self.caller.controls.stop.cancel();
        // Only a process that the kernel itself cannot end takes longer.
        let _ = timeout(STOP_LIMIT, self.task).await;
    }
}

/// What is not connected yet.
struct NoDial;

impl Dial for NoDial {
    async fn dial(&self) -> Result<Line, ConnectError> {
        Err(ConnectError::new(
            ErrorKind::NotSupported,
            "this version connects stdio servers only; run a stdio bridge for this `url`",
        ))
    }
}

/// How a handle and its callers reach the task. Each is remembered once until it is taken.
#[derive(Clone, Default)]
struct Controls {
    stop: CancellationToken,
    restart: Arc<Notify>,
    /// Somebody wants to use the server now.
    wake: Arc<Notify>,
}

/// What a caller has to know of the connection.
#[derive(Clone)]
enum Link {
    /// It was never up, and the first attempt is running.
    Starting,
    Up(Arc<Connection>),
    /// It is tried again, now or later.
    Retrying,
    /// It will not come by itself.
    Down,
}

/// What a server's owner hears of it. `Tools` of a connection come before its `Ready`; tools of a lost server are not
/// taken back.
#[derive(Debug)]
pub enum Event {
    Status(ServerName, Arc<Status>),
    /// The list of tools is another than the one before.
    Tools(ServerName, Arc<ListedTools>),
    Log {
        server: ServerName,
        level: LogLevel,
        message: String,
    },
    Request(ServerRequest),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Debug,
    Info,
    Warning,
    Error,
}

/// A server asks the host for something that the host has offered.
#[derive(Debug)]
pub struct ServerRequest {
    pub server: ServerName,
    pub ask: Ask,
    /// Takes MCP's result as it is; dropping it refuses.
    pub reply: oneshot::Sender<Result<Value, String>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    Elicit {
        mode: ElicitMode,
        message: String,
        requested_schema: Option<Value>,
        url: Option<String>,
    },
    Sample {
        params: Map<String, Value>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitMode {
    Form,
    Url,
}

/// All tools of a server, in its order.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTools {
    pub tools: Vec<ListedTool>,
    pub dropped: Vec<Dropped>,
    pub warnings: Vec<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub tool: ToolName,
    pub arguments: Map<String, Value>,
    /// The most that the call may take; instead of the server's `timeout`, within its `max_timeout`.
    pub timeout: Option<Duration>,
}

/// A call goes on.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// How a call ended. Messages name the server and the tool where the server did not say it itself.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEnd {
    /// The tool's own answer, errors of the tool included.
    Answer(ToolAnswer),
    /// The server answered, but not with a result of the tool.
    Protocol {
        code: i64,
        message: String,
        data: Option<Value>,
    },
    /// Cancelled for having taken too long: without a sign of life, or in `total`.
    Timeout {
        limit: Duration,
        total: bool,
        message: String,
    },
    /// It was or may have been sent, and nobody knows what came of it.
    Lost { message: String },
    /// It was certainly not sent.
    Unavailable {
        message: String,
        retry_in: Option<Duration>,
    },
}

/// What a tool gave back, its blocks as sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    pub content: Vec<Value>,
    pub structured: Option<Value>,
    pub is_error: bool,
    pub meta: Option<Map<String, Value>>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub state: ServerState,
    pub protocol_version: Option<String>,
    pub server_info: Option<ServerInfo>,
    /// Of the server itself, while it runs.
    pub pid: Option<u32>,
    /// Number of the attempt that runs or comes next, while there is trouble.
    pub attempt: Option<u32>,
    pub retry_at: Option<Instant>,
    /// The last failure, until the server is ready.
    pub error: Option<ServerError>,
    pub stderr_tail: Vec<String>,
    pub dropped: Vec<Dropped>,
    pub instructions: Option<String>,
}

/// The life of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerState {
    /// Not begun.
    Configured,
    Connecting,
    Ready,
    /// Tried again soon.
    Backoff,
    /// Tried again now and then, and on use.
    Parked,
    /// Not tried again before somebody changes something.
    Failed,
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    pub name: String,
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerError {
    /// A word to branch on.
    pub kind: &'static str,
    pub message: String,
}

impl Status {
    fn new() -> Status {
        Status {
            state: ServerState::Configured,
            protocol_version: None,
            server_info: None,
            pid: None,
            attempt: None,
            retry_at: None,
            error: None,
            stderr_tail: vec![],
            dropped: vec![],
            instructions: None,
        }
    }

    pub fn retry_in(&self) -> Option<Duration> {
        Some(self.retry_at?.saturating_duration_since(Instant::now()))
    }
}
