//! Lives one server's life: connects, keeps the list of tools, notices the end, tries again.

use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use crate::config::{Protocol, ServerConfig};
use crate::names::ServerName;
use crate::server::backoff::{Backoff, Next};
use crate::server::connect::{Attempt, Connected};
use crate::server::connection::Connection;
use crate::server::dial::Dial;
use crate::server::error::{ConnectError, ErrorKind};
use crate::server::gate::Gate;
use crate::server::handshake::Agreed;
use crate::server::listing::Listing;
use crate::server::mcp::Era;
use crate::server::process::Process;
use crate::server::relist::relist;
use crate::server::{
    Controls, Event, Link, ListedTools, LogLevel, ServerError, ServerOptions, ServerState, Status,
};

/// How long a server may hold one of the slots for starting. Who takes longer waits for something else than the
/// machine, and others can start meanwhile.
const SLOT_LIMIT: Duration = Duration::from_secs(10);
/// The least time between the end of one attempt and the beginning of another that somebody's use asks for: a broken
/// server in frequent use must not be started all the time.
const WAKE_GAP: Duration = Duration::from_secs(5);
/// How long the former process may take to end before the next one is started beside it.
const LEAVE_LIMIT: Duration = Duration::from_secs(8);
/// A server has other things to do than to answer pings.
const MIN_KEEPALIVE: Duration = Duration::from_secs(1);
/// A connection that held for so long has proven itself.
const PROVEN_AFTER: Duration = Duration::from_secs(60);

pub struct Actor<D> {
    dial: D,
    name: ServerName,
    options: ServerOptions,
    wiring: Wiring,
    backoff: Backoff,
    /// The revision that worked last.
    learned: Option<Era>,
    was_up: bool,
    listed: Option<Arc<ListedTools>>,
    agreed: Option<Agreed>,
    error: Option<ConnectError>,
}

/// The other ends of what a handle and its callers hold.
pub struct Wiring {
    pub events: mpsc::UnboundedSender<Event>,
    pub controls: Controls,
    /// Changes only in what does not need another connection.
    pub config: watch::Receiver<Arc<ServerConfig>>,
    pub gate: Arc<Gate>,
    pub link: watch::Sender<Link>,
    pub status: watch::Sender<Arc<Status>>,
    pub process: watch::Sender<Option<Process>>,
}

/// What ends a stretch of this life.
enum Turn {
    Stop,
    Restart,
    /// The connection failed or was lost.
    Failed(ConnectError),
    /// It is time for another attempt.
    Again,
}

impl<D: Dial> Actor<D> {
    pub fn new(dial: D, name: ServerName, options: ServerOptions, wiring: Wiring) -> Actor<D> {
        Actor {
            dial,
            name,
            options,
            wiring,
            backoff: Backoff::new(),
            learned: None,
            was_up: false,
            listed: None,
            agreed: None,
            error: None,
        }
    }

    pub async fn run(mut self) {
        loop {
            let turn = match self.connect().await {
                Ok(connected) => self.serve(connected).await,
                Err(turn) => turn,
            };
            self.retire();
            let turn = match turn {
                Turn::Failed(error) => self.rest(error).await,
                other => other,
            };
            match turn {
                Turn::Stop => break,
                Turn::Restart => {
                    self.backoff = Backoff::new();
                    self.error = None;
                    self.was_up = false;
                }
                Turn::Again | Turn::Failed(_) => {}
            }
        }
        self.wiring.link.send_replace(Link::Down);
        self.publish(ServerState::Stopped, None);
        self.former_process_is_gone().await;
    }

    /// One attempt, with a slot for it.
    async fn connect(&mut self) -> Result<Connected, Turn> {
        let link = if self.was_up || self.error.is_some() {
            Link::Retrying
        } else {
            Link::Starting
        };
        self.wiring.link.send_replace(link);
        self.publish(ServerState::Connecting, None);
        let config = self.wiring.config.borrow().clone();
        let first = match (config.protocol, self.learned) {
            (Protocol::Legacy, _) => Era::Session,
            (_, Some(era)) => era,
            (Protocol::Auto, None) => Era::Session,
            (Protocol::Stateless, None) => Era::Stateless,
        };
        let support = self.options.host.borrow().clone();
        let attempt = async {
            self.former_process_is_gone().await;
            let slot = self.options.start_slots.acquire().await.ok();
            let attempt = Attempt {
                name: &self.name,
                config: &config,
                dial: &self.dial,
                first,
                support,
                events: &self.wiring.events,
                process: &self.wiring.process,
            };
            let mut running = Box::pin(attempt.run());
            match timeout(SLOT_LIMIT, &mut running).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    drop(slot);
                    running.await
                }
            }
        };
        let outcome = tokio::select! {
            biased;
            turn = interrupted(&self.wiring.controls) => return Err(turn),
            outcome = attempt => outcome,
        };
        outcome.map_err(|error| {
            tracing::info!(server = %self.name, %error, "server could not be connected");
            Turn::Failed(error)
        })
    }

    /// Keeps a connection until it ends.
    async fn serve(&mut self, connected: Connected) -> Turn {
        let Connected {
            connection,
            listing,
        } = connected;
        let since = Instant::now();
        self.learned = Some(connection.agreed.era);
        self.was_up = true;
        self.error = None;
        for warning in &connection.agreed.warnings {
            self.log(LogLevel::Warning, warning);
        }
        self.agreed = Some(connection.agreed.clone());
        // An empty list is not believed at once where there was another before.
        let is_doubtful = listing.tools.is_empty() && self.n_listed() > 0;
        if is_doubtful {
            connection.list_changed.notify_one();
        } else {
            self.take_list(listing);
        }
        self.wiring.link.send_replace(Link::Up(connection.clone()));
        self.publish(ServerState::Ready, None);
        tracing::info!(server = %self.name, pid = connection.process.pid, "server is ready");
        let turn = self.keep(&connection).await;
        if let Turn::Failed(error) = &turn {
            tracing::warn!(server = %self.name, %error, "server was lost");
            // Who never was of use and is gone at once would otherwise be started for ever.
            if connection.is_proven() || since.elapsed() >= PROVEN_AFTER {
                self.backoff = Backoff::lost();
            }
        }
        let reason = match turn {
            Turn::Stop => "the server was stopped",
            _ => "the server was restarted",
        };
        connection.conclude(ConnectError::new(ErrorKind::Closed, reason));
        turn
    }

    async fn keep(&mut self, connection: &Arc<Connection>) -> Turn {
        let _subscription = connection.listen().await;
        let controls = self.wiring.controls.clone();
        let mut config = self.wiring.config.clone();
        let mut lost = Box::pin(connection.watch());
        let mut refresh: Option<Task<Option<Listing>>> = None;
        let mut ping: Option<Task<bool>> = None;
        let mut ping_at = self.next_ping();
        loop {
            tokio::select! {
                biased;
                turn = interrupted(&controls) => return turn,
                reason = &mut lost => return Turn::Failed(ConnectError::clone(&reason)),
                listing = pending(&mut refresh) => {
                    refresh = None;
                    if let Some(listing) = listing
                        && self.take_list(listing)
                    {
                        self.publish(ServerState::Ready, None);
                    }
                }
                is_alive = pending(&mut ping) => {
                    ping = None;
                    ping_at = self.next_ping();
                    if !is_alive {
                        let error = ConnectError::new(
                            ErrorKind::Unresponsive,
                            "it did not answer a ping within 30 s",
                        );
                        return Turn::Failed(ConnectError::clone(&connection.conclude(error)));
                    }
                }
                () = connection.list_changed.notified(), if refresh.is_none() => {
                    let known = self.listed.clone();
                    let gate = self.wiring.gate.clone();
                    let name = self.name.clone();
                    refresh = Some(Box::pin(relist(name, connection.clone(), gate, known)));
                }
                Ok(()) = config.changed() => ping_at = self.next_ping(),
                () = sleep_until(ping_at), if ping.is_none() => {
                    ping_at = self.next_ping();
                    ping = self.ping(connection);
                }
            }
        }
    }

    /// Begins to check a connection that is idle; a busy one shows by itself whether it is alive.
    fn ping(&self, connection: &Arc<Connection>) -> Option<Task<bool>> {
        if connection.is_busy() {
            return None;
        }
        let (connection, gate) = (connection.clone(), self.wiring.gate.clone());
        Some(Box::pin(async move {
            // Where there is no room, somebody else finds out.
            let Some(_pass) = gate.try_enter() else {
                return true;
            };
            connection.is_alive().await
        }))
    }

    fn next_ping(&self) -> Instant {
        let interval = match self.wiring.config.borrow().keepalive {
            Some(interval) => interval.max(MIN_KEEPALIVE),
            // A century is as good as never, and can be added to an instant.
            None => Duration::from_secs(100 * 365 * 24 * 3600),
        };
        Instant::now() + interval
    }

    /// Takes a list over and tells of it, if it is another than before.
    fn take_list(&mut self, listing: Listing) -> bool {
        let listed = ListedTools {
            tools: listing.tools,
            dropped: listing.dropped,
            warnings: listing.warnings,
        };
        if self.listed.as_deref() == Some(&listed) {
            return false;
        }
        for warning in &listed.warnings {
            self.log(LogLevel::Warning, warning);
        }
        let listed = Arc::new(listed);
        self.listed = Some(listed.clone());
        let _ = self
            .wiring
            .events
            .send(Event::Tools(self.name.clone(), listed));
        true
    }

    fn n_listed(&self) -> usize {
        self.listed.as_ref().map_or(0, |listed| listed.tools.len())
    }

    /// Waits after a failure for as long as is right.
    async fn rest(&mut self, error: ConnectError) -> Turn {
        let is_permanent = error.kind.is_permanent();
        self.error = Some(error);
        if is_permanent {
            self.wiring.link.send_replace(Link::Down);
            self.publish(ServerState::Failed, None);
            return interrupted(&self.wiring.controls).await;
        }
        let (state, delay) = match self.backoff.fail(random()) {
            Next::Retry(delay) => (ServerState::Backoff, delay),
            Next::Park(delay) => (ServerState::Parked, delay),
        };
        let now = Instant::now();
        let retry_at = now + delay;
        self.wiring.link.send_replace(Link::Retrying);
        self.publish(state, Some(retry_at));
        let woken = async {
            // What was asked for during the attempt has been done by it.
            let _ = timeout(Duration::ZERO, self.wiring.controls.wake.notified()).await;
            self.wiring.controls.wake.notified().await;
            sleep_until(now + WAKE_GAP).await;
        };
        tokio::select! {
            biased;
            turn = interrupted(&self.wiring.controls) => turn,
            () = sleep_until(retry_at) => Turn::Again,
            () = woken => Turn::Again,
        }
    }

    /// Begins to end the process of the last attempt, if it is still there.
    fn retire(&self) {
        if let Some(process) = &*self.wiring.process.borrow() {
            process.begin_stop();
        }
    }

    async fn former_process_is_gone(&self) {
        let process = self.wiring.process.borrow().clone();
        let gone = async {
            if let Some(process) = process {
                process.begin_stop();
                process.gone().await;
            }
            self.dial.gone().await;
        };
        let _ = timeout(LEAVE_LIMIT, gone).await;
    }

    fn publish(&self, state: ServerState, retry_at: Option<Instant>) {
        let process = self.wiring.process.borrow().clone();
        let is_up = state == ServerState::Ready;
        let agreed = self.agreed.as_ref();
        let status = Arc::new(Status {
            state,
            protocol_version: agreed.map(|agreed| agreed.version.clone()),
            server_info: agreed.and_then(|agreed| agreed.server_info.clone()),
            pid: process
                .as_ref()
                .filter(|_| is_up)
                .and_then(|process| process.pid),
            attempt: self.error.as_ref().map(|_| self.backoff.attempt()),
            retry_at,
            error: self.error.as_ref().map(|error| ServerError {
                kind: error.kind.as_str(),
                message: error.message.clone(),
            }),
            stderr_tail: process.map_or(vec![], |process| process.tail.lines()),
            dropped: self
                .listed
                .as_ref()
                .map_or(vec![], |listed| listed.dropped.clone()),
            instructions: agreed.and_then(|agreed| agreed.instructions.clone()),
        });
        self.wiring.status.send_replace(status.clone());
        let _ = self
            .wiring
            .events
            .send(Event::Status(self.name.clone(), status));
    }

    fn log(&self, level: LogLevel, message: &str) {
        let _ = self.wiring.events.send(Event::Log {
            server: self.name.clone(),
            level,
            message: message.to_owned(),
        });
    }
}

type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The end of a task, if there is one; else never.
async fn pending<T>(task: &mut Option<Task<T>>) -> T {
    match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    }
}

async fn interrupted(controls: &Controls) -> Turn {
    tokio::select! {
        biased;
        () = controls.stop.cancelled() => Turn::Stop,
        () = controls.restart.notified() => Turn::Restart,
    }
}

/// From 0 to 1.
fn random() -> f64 {
    // The standard library seeds each of these anew.
    let bits = RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
