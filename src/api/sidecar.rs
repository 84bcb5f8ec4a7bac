//! The sidecar as its fronts hold it: one value with a function per method.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, mpsc, watch};

use crate::api::host::Host;
use crate::api::methods::{Elicit, Log, Sample, ServerStatusChanged, ToolsChanged};
use crate::api::record::Recorder;
use crate::api::source::Source;
use crate::api::spill::SpillFolder;
use crate::api::types::*;
use crate::api::wire;
use crate::hub::{Hub, Loaded, Notice, Snapshot};
use crate::server::{Ask, ElicitMode as AskMode, ServerOptions, ServerRequest};

/// What a front chooses before the first request.
pub struct StartOptions {
    /// Where the configuration comes from, unless `initialize` names another.
    pub config: Source,
    /// The program that supervises servers: normally this one.
    pub shim: PathBuf,
    /// Where searches and the calls that follow are kept, if anywhere.
    pub recorder: Option<Recorder>,
}

/// Everything behind the methods. Cheap to clone.
///
/// Servers are started by the first request, so that `initialize` can still name the configuration.
#[derive(Clone)]
pub struct Sidecar {
    inner: Arc<Inner>,
}

struct Inner {
    hub: OnceCell<Hub>,
    /// How the configuration was found, to find it again.
    source: watch::Sender<Source>,
    shim: PathBuf,
    recorder: Option<Recorder>,
    spill_folder: SpillFolder,
    host: Host,
    started: Instant,
}

impl Sidecar {
    pub fn new(options: StartOptions, host: Host) -> Sidecar {
        let inner = Inner {
            hub: OnceCell::new(),
            source: watch::Sender::new(options.config),
            shim: options.shim,
            recorder: options.recorder,
            spill_folder: SpillFolder::default(),
            host,
            started: Instant::now(),
        };
        Sidecar {
            inner: Arc::new(inner),
        }
    }

    pub fn host(&self) -> &Host {
        &self.inner.host
    }

    pub fn spill_folder(&self) -> &SpillFolder {
        &self.inner.spill_folder
    }

    pub fn recorder(&self) -> Option<&Recorder> {
        self.inner.recorder.as_ref()
    }

    pub fn uptime(&self) -> Duration {
        self.inner.started.elapsed()
    }

    pub fn source(&self) -> Source {
        self.inner.source.borrow().clone()
    }

    /// The hub, started with the configuration in force at the first use.
    pub async fn hub(&self) -> &Hub {
        self.inner
            .hub
            .get_or_init(|| async { self.start(self.source().load_leniently()) })
            .await
    }

    /// Starts the hub with this configuration, unless it runs already: then the configuration is handed back.
    pub async fn start_with(&self, source: Source, loaded: Loaded) -> Result<&Hub, Loaded> {
        let mut left = Some(loaded);
        let hub = self
            .inner
            .hub
            .get_or_init(|| async {
                // The cell runs this once and before `left` is looked at.
                match left.take() {
                    Some(loaded) => self.start(loaded),
                    None => self.start(source.load_leniently()),
                }
            })
            .await;
        match left {
            None => {
                self.inner.source.send_replace(source);
                Ok(hub)
            }
            Some(loaded) => Err(loaded),
        }
    }

    /// From now on this is where the configuration is read from again.
    pub fn choose(&self, source: Source) {
        self.inner.source.send_replace(source);
    }

    /// Ends every server; nothing that was started is left when this returns.
    pub async fn stop(&self) {
        if let Some(hub) = self.inner.hub.get() {
            hub.stop().await;
        }
        if let Some(recorder) = self.recorder() {
            recorder.finish().await;
        }
        self.inner.spill_folder.remove();
    }

    fn start(&self, loaded: Loaded) -> Hub {
        let options = ServerOptions::new(self.inner.shim.clone(), self.inner.host.support());
        let (hub, notices) = Hub::start(loaded, options);
        if let Some(recorder) = self.recorder() {
            recorder.tell(self.inner.host.clone());
        }
        tokio::spawn(forward(hub.snapshots(), notices, self.inner.host.clone()));
        hub
    }
}

/// Tells the host what the hub has to say, and asks it what servers ask.
async fn forward(
    snapshots: watch::Receiver<Arc<Snapshot>>,
    mut notices: mpsc::UnboundedReceiver<Notice>,
    host: Host,
) {
    while let Some(notice) = notices.recv().await {
        match notice {
            Notice::ToolsChanged {
                generation,
                servers,
                reason,
            } => {
                let servers = wire::names(&servers);
                host.tell::<ToolsChanged>(ToolsChangedNotification {
                    generation,
                    servers,
                    reason: reason.to_owned(),
                });
            }
            Notice::Status(name) => {
                let snapshot = snapshots.borrow().clone();
                if let Some(entry) = snapshot.servers.get(&name) {
                    let server = wire::server(&snapshot, &name, entry);
                    host.tell::<ServerStatusChanged>(ServerStatusNotification { server });
                }
            }
            Notice::Log {
                server,
                level,
                message,
            } => {
                let (level, server) = (
                    wire::log_level(level),
                    server.map(|it| it.as_str().to_owned()),
                );
                host.tell::<Log>(LogNotification {
                    level,
                    message,
                    server,
                });
            }
            Notice::Request(request) => drop(tokio::spawn(answer(request, host.clone()))),
        }
    }
}

/// Puts a server's question to the host; without an answer the server's reply is dropped, which refuses it.
async fn answer(request: ServerRequest, host: Host) {
    let ServerRequest {
        server,
        ask,
        mut reply,
    } = request;
    let server = server.as_str().to_owned();
    let asked = async {
        match ask {
            Ask::Elicit {
                mode,
                message,
                requested_schema,
                url,
            } => {
                let mode = match mode {
                    AskMode::Form => ElicitMode::Form,
                    AskMode::Url => ElicitMode::Url,
                };
                let params = ElicitParams {
                    server,
                    call_id: None,
                    mode,
                    message,
                    requested_schema,
                    url,
                };
                let answer = host
                    .ask::<Elicit>(params)
                    .await
                    .map_err(|error| error.to_string())?;
                serde_json::to_value(answer).map_err(|error| error.to_string())
            }
            Ask::Sample { params } => {
                let params = SampleParams {
                    server,
                    call_id: None,
                    params,
                };
                let answer = host
                    .ask::<Sample>(params)
                    .await
                    .map_err(|error| error.to_string())?;
                Ok(serde_json::Value::Object(answer))
            }
        }
    };
    tokio::select! {
        answer = asked => drop(reply.send(answer)),
        // Nobody waits any more: the call was cancelled or the server has gone.
        () = reply.closed() => {}
    }
}
