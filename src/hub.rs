//! The one owner of everything that changes: configuration, servers, catalog, index and sessions.
//!
//! It publishes immutable snapshots; whoever answers a request reads one and waits for nobody.

pub mod session;
mod state;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use crate::catalog::Catalog;
use crate::config::{Config, Parsed, Problem, ServerConfig};
use crate::encoder;
use crate::hub::session::{Change, Host, Session};
use crate::hub::state::State;
use crate::names::{ServerName, ToolId};
use crate::policy::Pin;
use crate::search::Index;
use crate::server::call::Caller;
use crate::server::{LogLevel, ServerOptions, ServerRequest, ServerState};

/// The hub's handle. Cheap to clone; when the last one is dropped, every server is ended.
#[derive(Clone)]
pub struct Hub {
    commands: mpsc::UnboundedSender<Command>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
}

/// Everything a request needs to be answered, as it was at one moment.
#[derive(Clone, Default)]
pub struct Snapshot {
    pub config: Arc<Config>,
    /// Counts the configurations that have been in use.
    pub config_revision: u64,
    pub config_path: Option<PathBuf>,
    pub problems: Vec<Problem>,
    pub catalog: Catalog,
    /// Over the same tools as the catalog.
    pub index: Index,
    /// What may help the index, where the configuration wants it.
    pub encoder: Option<encoder::Reader>,
    pub servers: BTreeMap<ServerName, Entry>,
    /// The definitions last approved, of tools whose changes need approval.
    pub pins: Arc<BTreeMap<ToolId, Pin>>,
}

/// A server of the configuration.
#[derive(Clone)]
pub enum Entry {
    Running {
        config: Arc<ServerConfig>,
        caller: Caller,
    },
    /// The process of the last configuration is being ended.
    Changing {
        config: Arc<ServerConfig>,
    },
    Disabled {
        config: Arc<ServerConfig>,
    },
    /// Its entry cannot be used, for this reason.
    Broken {
        reason: String,
    },
}

/// A configuration and where it came from.
pub struct Loaded {
    pub path: Option<PathBuf>,
    pub parsed: Parsed,
}

/// Something that the host may want to know.
pub enum Notice {
    /// The next assembly may differ.
    ToolsChanged {
        generation: u64,
        servers: Vec<ServerName>,
        reason: &'static str,
    },
    /// The server's state has changed.
    Status(ServerName),
    Log {
        server: Option<ServerName>,
        level: LogLevel,
        message: String,
    },
    /// A server asks for something that only the host can give.
    Request(ServerRequest),
}

/// What a reload did, by server.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    pub added: Vec<ServerName>,
    pub removed: Vec<ServerName>,
    pub changed: Vec<ServerName>,
    pub restarted: Vec<ServerName>,
    pub unchanged: Vec<ServerName>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no server `{0}` in the configuration")]
pub struct UnknownServer(pub String);

enum Command {
    Session {
        id: String,
        reply: oneshot::Sender<(Arc<Session>, Arc<Host>)>,
    },
    Sessions {
        reply: oneshot::Sender<Vec<(String, Arc<Session>)>>,
    },
    Change {
        id: String,
        change: Change,
    },
    Close {
        id: String,
        reply: oneshot::Sender<bool>,
    },
    Pin {
        id: ToolId,
        pin: Pin,
    },
    Configure {
        loaded: Box<Loaded>,
        reply: oneshot::Sender<Reloaded>,
    },
    Restart {
        servers: Vec<String>,
        reply: oneshot::Sender<Result<Reloaded, UnknownServer>>,
    },
    /// The process of a server's old configuration has ended.
    Ended {
        server: ServerName,
    },
    Stop {
        reply: oneshot::Sender<()>,
    },
}

impl Hub {
    /// Starts every enabled server of the configuration. Notices end when the hub does.
    pub fn start(loaded: Loaded, options: ServerOptions) -> (Hub, mpsc::UnboundedReceiver<Notice>) {
        let (commands, received) = mpsc::unbounded_channel();
        let (notices, noticed) = mpsc::unbounded_channel();
        let (publisher, snapshots) = watch::channel(Arc::default());
        let (mut state, events) = State::new(options, notices, commands.downgrade(), publisher);
        state.configure(loaded);
        tokio::spawn(state.run(received, events));
        (
            Hub {
                commands,
                snapshots,
            },
            noticed,
        )
    }

    /// The latest snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// The latest snapshot, now and as it changes; does not keep the hub alive.
    pub fn snapshots(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// The session as it is after every change that was sent before.
    pub async fn session(&self, id: &str) -> Arc<Session> {
        self.session_and_latest_host(id).await.0
    }

    /// The session, and what the session that assembled last got from its host: most sessions of a host get the same.
    pub async fn session_and_latest_host(&self, id: &str) -> (Arc<Session>, Arc<Host>) {
        self.ask(|reply| Command::Session {
            id: id.to_owned(),
            reply,
        })
        .await
        .unwrap_or_default()
    }

    pub async fn sessions(&self) -> Vec<(String, Arc<Session>)> {
        self.ask(|reply| Command::Sessions { reply })
            .await
            .unwrap_or_default()
    }

    /// Notes what happened in a session; seen by everyone who asks for the session afterwards.
    pub fn change_session(&self, id: &str, change: Change) {
        let _ = self.commands.send(Command::Change {
            id: id.to_owned(),
            change,
        });
    }

    /// Forgets a session; whether there was one.
    pub async fn close_session(&self, id: &str) -> bool {
        self.ask(|reply| Command::Close {
            id: id.to_owned(),
            reply,
        })
        .await
        .unwrap_or_default()
    }

    /// Remembers a definition as approved.
    pub fn pin(&self, id: ToolId, pin: Pin) {
        let _ = self.commands.send(Command::Pin { id, pin });
    }

    /// Puts a configuration without errors in use: only servers whose entry changed are touched.
    pub async fn configure(&self, loaded: Loaded) -> Reloaded {
        self.ask(|reply| Command::Configure {
            loaded: Box::new(loaded),
            reply,
        })
        .await
        .unwrap_or_default()
    }

    /// Restarts servers by name; all of them or, where a name is unknown, none.
    pub async fn restart(&self, servers: Vec<String>) -> Result<Reloaded, UnknownServer> {
        self.ask(|reply| Command::Restart { servers, reply })
            .await
            .unwrap_or_else(|| Ok(Reloaded::default()))
    }

    /// Waits until no server is on its way up any more, at most so long.
    pub async fn settled(&self, limit: Duration) {
        let callers = async {
            // A server that is being replaced has no caller yet, so look again when its entry changes.
            let mut snapshots = self.snapshots.clone();
            loop {
                let snapshot = snapshots.borrow_and_update().clone();
                for entry in snapshot.servers.values() {
                    if let Entry::Running { caller, .. } = entry {
                        caller.settled().await;
                    }
                }
                if !snapshot.is_behind() || snapshots.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(limit, callers).await; // A slow server is no error: its tools come later.
    }

    /// Waits until `found` gives something of a snapshot, at most so long.
    pub async fn wait_for<T>(
        &self,
        limit: Duration,
        found: impl Fn(&Snapshot) -> Option<T>,
    ) -> Option<T> {
        let mut snapshots = self.snapshots.clone();
        let wait = async {
            loop {
                if let Some(value) = found(&snapshots.borrow_and_update()) {
                    return Some(value);
                }
                if snapshots.changed().await.is_err() {
                    return None;
                }
            }
        };
        tokio::time::timeout(limit, wait).await.ok().flatten()
    }

    /// Ends every server and waits until the last process is gone.
    pub async fn stop(&self) {
        let _ = self.ask(|reply| Command::Stop { reply }).await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).ok()?;
        answer.await.ok()
    }
}

impl Snapshot {
    /// Whether a server is being replaced, or says that it is ready while its tools are still on their way in here.
    fn is_behind(&self) -> bool {
        self.servers.iter().any(|(name, entry)| match entry {
            Entry::Changing { .. } => true,
            Entry::Running { caller, .. } => {
                caller.status().state == ServerState::Ready
                    && self.catalog.servers().all(|(listed, _)| listed != name)
            }
            Entry::Disabled { .. } | Entry::Broken { .. } => false,
        })
    }
}

impl Entry {
    pub fn config(&self) -> Option<&Arc<ServerConfig>> {
        match self {
            Entry::Running { config, .. }
            | Entry::Changing { config }
            | Entry::Disabled { config } => Some(config),
            Entry::Broken { .. } => None,
        }
    }
}
