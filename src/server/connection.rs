//! A connection that is ready for use, from its list of tools to its loss.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::server::HostSupport;
use crate::server::error::{ConnectError, ErrorKind};
use crate::server::handshake::Agreed;
use crate::server::mcp::{Era, Failure, Request, Session};
use crate::server::outbox::WriteFailure;
use crate::server::process::Process;
use crate::server::wire::{Ticket, WireEnd};

/// How long a server whose output has ended may take to end itself, for its exit status to be told.
const EXIT_WAIT: Duration = Duration::from_secs(1);
/// How long the rest of its standard error may take after that; a helper may hold it open for ever.
const LAST_WORDS_WAIT: Duration = Duration::from_millis(300);
/// How long an answer to a ping may take.
const PING_LIMIT: Duration = Duration::from_secs(30);

pub struct Connection {
    pub agreed: Agreed,
    pub process: Process,
    pub list_changed: Arc<Notify>,
    /// What was offered to the server.
    pub support: HostSupport,
    n_open_questions: Arc<AtomicUsize>,
    session: Session,
    n_calls: AtomicUsize,
    /// Of calls and pings, errors included.
    n_answers: AtomicU64,
    loss: watch::Sender<Option<Arc<ConnectError>>>,
}

impl Connection {
    pub fn new(
        agreed: Agreed,
        process: Process,
        list_changed: Arc<Notify>,
        support: HostSupport,
        n_open_questions: Arc<AtomicUsize>,
        session: Session,
    ) -> Arc<Connection> {
        Arc::new(Connection {
            agreed,
            process,
            list_changed,
            support,
            n_open_questions,
            session,
            n_calls: AtomicUsize::new(0),
            n_answers: AtomicU64::new(0),
            loss: watch::Sender::new(None),
        })
    }

    /// Sends a request and waits for its result. Dropping the future cancels the request.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        ticket: Ticket,
    ) -> Result<Value, Failure> {
        self.send(method, params, ticket).await?.answer().await
    }

    /// Sends a request; dropping what it returns cancels it.
    pub async fn send(
        &self,
        method: &str,
        params: Value,
        ticket: Ticket,
    ) -> Result<Request, Failure> {
        self.session.request(method, params, ticket).await
    }

    /// Whether the server still answers; any answer will do, a refusal too.
    pub async fn is_alive(&self) -> bool {
        let method = match self.agreed.era {
            Era::Session => "ping",
            // Pings are gone from the stateless revision, and this is the cheapest thing that is in it.
            Era::Stateless => "server/discover",
        };
        let n_before = self.n_answers.load(Ordering::Relaxed);
        let answer = timeout(
            PING_LIMIT,
            self.request(method, json!({}), Ticket::default()),
        )
        .await;
        match answer {
            Ok(Ok(_) | Err(Failure::Fault(_))) => {
                self.prove();
                true
            }
            // The loss of the connection is told by another way, and with its reason.
            Ok(Err(Failure::Closed | Failure::NotSent(_))) => true,
            // A server that does one thing at a time answers after the call that came in between.
            Err(_) => self.is_busy() || self.n_answers.load(Ordering::Relaxed) > n_before,
        }
    }

    /// Asks a stateless server to tell of changes; the subscription lasts as long as what this returns.
    pub async fn listen(&self) -> Option<Request> {
        if self.agreed.era != Era::Stateless || !self.agreed.declares_list_changed {
            return None;
        }
        let params = json!({"notifications": {"toolsListChanged": true}});
        self.send("subscriptions/listen", params, Ticket::default())
            .await
            .ok()
    }

    /// Counts a call as running until what it returns is dropped.
    pub fn begin_call(&self) -> RunningCall<'_> {
        self.n_calls.fetch_add(1, Ordering::Relaxed);
        RunningCall(self)
    }

    pub fn is_busy(&self) -> bool {
        self.n_calls.load(Ordering::Relaxed) > 0
    }

    /// Whether the server waits for an answer of the host's, and so cannot be blamed for its silence.
    pub fn is_asking(&self) -> bool {
        self.n_open_questions.load(Ordering::Relaxed) > 0
    }

    /// It has been of use: its loss is not one more failure to start.
    pub fn prove(&self) {
        self.n_answers.fetch_add(1, Ordering::Relaxed);
    }

    pub fn is_proven(&self) -> bool {
        self.n_answers.load(Ordering::Relaxed) > 0
    }

    /// Waits for the connection's end by itself, and finds out why.
    pub async fn watch(&self) -> Arc<ConnectError> {
        let end = self.session.ended().await;
        self.conclude(aftermath(end.as_ref(), &self.process).await)
    }

    /// Declares it lost for this reason, unless there was one before, and closes it.
    pub fn conclude(&self, reason: ConnectError) -> Arc<ConnectError> {
        let reason = Arc::new(reason);
        self.loss.send_if_modified(|loss| {
            let is_first = loss.is_none();
            loss.get_or_insert(reason.clone());
            is_first
        });
        self.session.close();
        self.loss.borrow().clone().unwrap_or(reason)
    }

    pub fn is_lost(&self) -> bool {
        self.loss.borrow().is_some()
    }

    /// Waits until it is declared lost.
    pub async fn lost(&self) -> Arc<ConnectError> {
        let mut loss = self.loss.subscribe();
        let lost = loss.wait_for(Option::is_some).await;
        match lost.ok().and_then(|reason| reason.clone()) {
            Some(reason) => reason,
            // The sender is ours and lives as long as we do.
            None => std::future::pending().await,
        }
    }
}

/// A call in flight.
pub struct RunningCall<'a>(&'a Connection);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.n_calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits a little for what a server that has ended still tells, and puts it into words.
pub async fn aftermath(end: Option<&WireEnd>, process: &Process) -> ConnectError {
    let may_be_exit = !matches!(
        end,
        Some(WireEnd::ContentLength | WireEnd::Write(WriteFailure::Stalled(_)))
    );
    if may_be_exit && let Ok(Some(_)) = timeout(EXIT_WAIT, process.exited()).await {
        let _ = timeout(LAST_WORDS_WAIT, process.tail.drained()).await;
    }
    let error = match (end, process.exit()) {
        (Some(WireEnd::ContentLength), _) => ConnectError::new(
            ErrorKind::Framing,
            "its output is framed by `Content-Length` headers, as in the Language Server Protocol; \
             MCP over stdio is one JSON message a line",
        ),
        (Some(WireEnd::Write(WriteFailure::Stalled(limit))), None) => ConnectError::new(
            ErrorKind::Unresponsive,
            format!("it has not read its input for {} s", limit.as_secs()),
        ),
        (_, Some(exit)) => {
            ConnectError::new(ErrorKind::Exited, format!("the process ended with {exit}"))
        }
        (Some(WireEnd::Read(error)), None) => ConnectError::new(
            ErrorKind::Closed,
            format!("its output could not be read: {error}"),
        ),
        (Some(WireEnd::Write(WriteFailure::Closed(_))), None) => ConnectError::new(
            ErrorKind::Closed,
            "it closed its standard input, though the process is running",
        ),
        (Some(WireEnd::Eof) | None, None) => ConnectError::new(
            ErrorKind::Closed,
            "it closed its standard output, though the process is running",
        ),
    };
    with_last_words(error, process)
}

/// Adds the end of the server's standard error, which mostly says it best.
pub fn with_last_words(mut error: ConnectError, process: &Process) -> ConnectError {
    error.message = process.tail.hide_secrets(&error.message);
    let words = process.tail.summary();
    if !words.is_empty() {
        error.message = format!("{}; its last words: {words}", error.message);
    }
    error
}
