//! One attempt to connect: from starting the process to its list of tools, within one limit.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::time::timeout;

use crate::config::ServerConfig;
use crate::names::ServerName;
use crate::server::connection::{Connection, aftermath, with_last_words};
use crate::server::desk::Desk;
use crate::server::dial::{Dial, Line};
use crate::server::error::{ConnectError, ErrorKind};
use crate::server::handshake::{Agreed, Refusal, shake_hands};
use crate::server::listing::{ListError, Listing, list_tools};
use crate::server::mcp::{Era, Session};
use crate::server::outbox::Outbox;
use crate::server::process::Process;
use crate::server::wire::{Signs, Wire};
use crate::server::{Event, HostSupport};

/// A write that makes no progress for so long, or for as long as a call may be silent if that is more, ends the
/// connection.
const MIN_STALL: Duration = Duration::from_secs(60);

/// What an attempt is made with.
pub struct Attempt<'a, D> {
    pub name: &'a ServerName,
    pub config: &'a ServerConfig,
    pub dial: &'a D,
    pub first: Era,
    pub support: HostSupport,
    pub events: &'a mpsc::UnboundedSender<Event>,
    /// Gets the process as soon as there is one.
    pub process: &'a watch::Sender<Option<Process>>,
}

/// What it leads to.
pub struct Connected {
    pub connection: Arc<Connection>,
    pub listing: Listing,
}

impl<D: Dial> Attempt<'_, D> {
    /// Dropping the future leaves no more behind than a process in `process`.
    pub async fn run(&self) -> Result<Connected, ConnectError> {
        let mut progress = Progress {
            phase: Phase::Starting,
            signs: Arc::default(),
        };
        let limit = self.config.connect_timeout;
        match timeout(limit, self.connect(&mut progress)).await {
            Ok(connected) => connected,
            Err(_) => Err(self.timed_out(&progress, limit)),
        }
    }

    async fn connect(&self, progress: &mut Progress) -> Result<Connected, ConnectError> {
        let mut first = self.first;
        let mut is_second = false;
        let (line_process, list_changed, wire, agreed) = loop {
            progress.phase = Phase::Starting;
            let line = self.dial.dial().await?;
            let process = line.process.clone();
            self.process.send_replace(Some(process.clone()));
            let list_changed = Arc::new(Notify::new());
            let mut wire = self.wire(line, list_changed.clone());
            progress.phase = Phase::Handshake;
            progress.signs = wire.signs();
            let shaken = shake_hands(&mut wire, self.config.protocol, first, &self.support).await;
            match shaken {
                Ok(agreed) => break (process, list_changed, wire, agreed),
                Err(Refusal::Failed(error)) => return Err(with_last_words(error, &process)),
                Err(Refusal::TryAgain(era)) if !is_second => {
                    first = era;
                    is_second = true;
                    process.begin_stop();
                }
                Err(Refusal::TryAgain(_)) => {
                    let mut error = aftermath(None, &process).await;
                    error.message = format!("{} in the handshake", error.message);
                    return Err(error);
                }
                Err(Refusal::Ended(end)) => {
                    let mut error = aftermath(Some(&end), &process).await;
                    if error.kind == ErrorKind::Exited {
                        error.message = format!("before the handshake was done, {}", error.message);
                    }
                    return Err(error);
                }
            }
        };
        progress.phase = Phase::Listing;
        self.list(line_process, list_changed, wire, agreed).await
    }

    async fn list(
        &self,
        process: Process,
        list_changed: Arc<Notify>,
        wire: Wire,
        agreed: Agreed,
    ) -> Result<Connected, ConnectError> {
        let open_questions = wire.open_questions();
        let session = Session::start(wire, agreed.era, &agreed.version, &self.support);
        let connection = Connection::new(
            agreed,
            process,
            list_changed,
            self.support.clone(),
            open_questions,
            session,
        );
        let listed = tokio::select! {
            biased;
            listed = list_tools(&connection) => listed,
            lost = connection.watch() => return Err(ConnectError::clone(&lost)),
        };
        match listed {
            Ok(listing) => Ok(Connected {
                connection,
                listing,
            }),
            Err(ListError::Closed) => Err(ConnectError::clone(&*connection.watch().await)),
            Err(ListError::Unusable(problem)) => Err(with_last_words(
                ConnectError::new(ErrorKind::ToolsList, problem),
                &connection.process,
            )),
        }
    }

    fn wire(&self, line: Line, list_changed: Arc<Notify>) -> Wire {
        let stall = self.config.timeout.max(MIN_STALL);
        let outbox = Outbox::start(line.input, stall);
        let desk = Desk::new(
            self.name.clone(),
            self.events.clone(),
            self.support.clone(),
            list_changed,
            line.process.tail.clone(),
        );
        Wire::new(line.output, outbox, desk, line.process.tail.clone())
    }

    fn timed_out(&self, progress: &Progress, limit: Duration) -> ConnectError {
        let limit = limit.as_secs_f64();
        let signs = &progress.signs;
        let n_noise = signs.noise.load(Ordering::Relaxed);
        let message = match progress.phase {
            Phase::Starting => format!("the process could not be started within {limit} s"),
            Phase::Handshake if signs.bytes.load(Ordering::Relaxed) == 0 => format!(
                "the process is alive but silent: no byte on its standard output within {limit} s. \
                 If it is still installing itself, raise `connect_timeout`; \
                 if it buffers its output, make it unbuffered (`python -u`, `PYTHONUNBUFFERED=1`, `stdbuf -oL`)"
            ),
            Phase::Handshake if signs.unknown_ids.load(Ordering::Relaxed) > 0 => format!(
                "`initialize` was not answered within {limit} s: \
                 the server answers under ids that no request had"
            ),
            Phase::Handshake if n_noise > 0 => format!(
                "`initialize` was not answered within {limit} s; \
                 the server wrote {n_noise} lines that are not protocol to its standard output"
            ),
            Phase::Handshake => format!("`initialize` was not answered within {limit} s"),
            Phase::Listing => format!("`tools/list` was not answered within {limit} s"),
        };
        let error = ConnectError::new(ErrorKind::Timeout, message);
        match &*self.process.borrow() {
            Some(process) => with_last_words(error, process),
            None => error,
        }
    }
}

/// How far an attempt came.
struct Progress {
    phase: Phase,
    signs: Arc<Signs>,
}

enum Phase {
    Starting,
    Handshake,
    Listing,
}
