//! Runs one call, in the future of whoever makes it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::config::ServerConfig;
use crate::names::{ServerName, ToolName};
use crate::server::connection::Connection;
use crate::server::decode::{CallResult, InputRequired, call_result};
use crate::server::gate::{Gate, Pass};
use crate::server::mcp::Failure;
use crate::server::outbox::{SendError, Written};
use crate::server::process::Process;
use crate::server::requests::{self, Reply};
use crate::server::wire::Ticket;
use crate::server::{
    Call, CallEnd, Controls, Event, HostSupport, Link, Progress, ServerState, Status, ToolAnswer,
};

/// How long a call waits for a server that is coming back.
const RECONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// How long a caller waits to be told why a connection ended.
const REASON_PATIENCE: Duration = Duration::from_secs(3);
/// How often a stateless server may ask for more before it answers.
const MAX_ROUNDS: usize = 10;
/// Progress that may wait for the caller; of more, the newest is kept.
const PROGRESS_QUEUE: usize = 256;

/// Calls one server's tools. Clones share everything.
#[derive(Clone)]
pub struct Caller {
    pub(super) name: ServerName,
    pub(super) config: watch::Receiver<Arc<ServerConfig>>,
    pub(super) gate: Arc<Gate>,
    pub(super) link: watch::Receiver<Link>,
    pub(super) status: watch::Receiver<Arc<Status>>,
    pub(super) process: watch::Receiver<Option<Process>>,
    pub(super) controls: Controls,
    pub(super) events: mpsc::UnboundedSender<Event>,
}

impl Caller {
    /// Runs a call to its end. Dropping the future cancels it, in the queue as well as at the server.
    ///
    /// `on_progress` is called in order, and never after the end. What may have been sent is never sent again.
    pub async fn call(&self, call: Call, mut on_progress: impl FnMut(Progress) + Send) -> CallEnd {
        let called = Instant::now();
        // The time in the queue and that of a start are not the tool's, but they are the caller's.
        let deadline = call
            .timeout
            .and_then(|timeout| called.checked_add(timeout))
            .unwrap_or_else(century);
        let _pass = match self.enter(call.timeout, deadline).await {
            Ok(pass) => pass,
            Err(end) => return end,
        };
        let config = self.config.borrow().clone();
        let idle = call
            .timeout
            .unwrap_or(config.timeout)
            .min(config.max_timeout);
        let patience = Instant::now() + idle.min(config.connect_timeout);
        let mut reconnect = None;
        loop {
            let connection = self.connection(patience, deadline, &mut reconnect).await;
            let connection = match connection {
                Ok(connection) => connection,
                Err(end) => return end,
            };
            let hard_limit = Instant::now() + config.max_timeout;
            let run = Run {
                caller: self,
                connection: &connection,
                call: &call,
                idle,
                total: match call.timeout {
                    Some(timeout) if deadline <= hard_limit => timeout,
                    _ => config.max_timeout,
                },
                end: hard_limit.min(deadline),
            };
            match run.to_its_end(&mut on_progress).await {
                Err(NotSent(SendError::Closed)) => {
                    // The process ended before a byte of it was written: on a new one, this is the first time.
                    reconnect.get_or_insert_with(|| Instant::now() + RECONNECT_PATIENCE);
                    let patience = deadline.min(Instant::now() + REASON_PATIENCE);
                    let _ = timeout_at(patience, connection.lost()).await;
                }
                Err(NotSent(error)) => {
                    return CallEnd::Unavailable {
                        message: format!("server `{}` could not be reached: {error}", self.name),
                        retry_in: None,
                    };
                }
                Ok(end) => return end,
            }
        }
    }

    /// How the server is now, with the latest of what it wrote to its standard error.
    pub fn status(&self) -> Status {
        let mut status = Status::clone(&self.status.borrow());
        if let Some(process) = &*self.process.borrow() {
            status.stderr_tail = process.tail.lines();
            if status.state == ServerState::Connecting && process.exit().is_none() {
                status.pid = process.pid;
            }
        }
        status
    }

    /// Ends when the server is ready, or when nobody can say how long that will take.
    pub async fn settled(&self) {
        let mut status = self.status.clone();
        let is_settled = |status: &Arc<Status>| match status.state {
            ServerState::Configured => false,
            ServerState::Connecting => status.error.is_some(),
            _ => true,
        };
        // An error means that the server was stopped.
        let _ = status.wait_for(is_settled).await;
    }

    /// Waits in the queue of the server's calls.
    async fn enter(&self, limit: Option<Duration>, deadline: Instant) -> Result<Pass<'_>, CallEnd> {
        let problem = match timeout_at(deadline, self.gate.enter()).await {
            Ok(Some(pass)) => return Ok(pass),
            Ok(None) => "is being ended, as its configuration has changed".to_owned(),
            Err(_) => {
                let limit = limit.unwrap_or_default().as_secs_f64();
                format!("was busy with other calls for {limit} s (the caller's limit)")
            }
        };
        Err(CallEnd::Unavailable {
            message: format!("server `{}` {problem}; the call was not sent", self.name),
            // Neither says that it would be in vain.
            retry_in: Some(Duration::ZERO),
        })
    }

    /// The connection, waited for as long as it may come soon.
    async fn connection(
        &self,
        patience: Instant,
        deadline: Instant,
        reconnect: &mut Option<Instant>,
    ) -> Result<Arc<Connection>, CallEnd> {
        let mut link = self.link.clone();
        let mut has_woken = false;
        loop {
            let now = link.borrow_and_update().clone();
            let until = match now {
                Link::Up(connection) if !connection.is_lost() => return Ok(connection),
                Link::Starting => patience,
                Link::Up(_) | Link::Retrying => {
                    if !std::mem::replace(&mut has_woken, true) {
                        self.controls.wake.notify_one();
                    }
                    *reconnect.get_or_insert_with(|| Instant::now() + RECONNECT_PATIENCE)
                }
                Link::Down => return Err(self.unavailable()),
            };
            match timeout_at(until.min(deadline), link.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Err(self.unavailable()),
            }
        }
    }

    fn unavailable(&self) -> CallEnd {
        let status = self.status.borrow().clone();
        let reason = match &status.error {
            Some(error) => format!(": {}", error.message),
            None => String::new(),
        };
        let retry_in = status.retry_in();
        let name = &self.name;
        let (state, advice) = match status.state {
            ServerState::Configured | ServerState::Connecting => {
                ("is still starting", "; try again in a moment".to_owned())
            }
            ServerState::Ready => ("is just coming back", "; try again in a moment".to_owned()),
            ServerState::Backoff | ServerState::Parked => (
                "is not running",
                match retry_in {
                    Some(wait) => format!("; it is tried again in {} s", wait.as_secs().max(1)),
                    None => String::new(),
                },
            ),
            ServerState::Failed => (
                "cannot be started",
                "; it stays so until its configuration is mended".to_owned(),
            ),
            ServerState::Stopped => ("was stopped", String::new()),
        };
        CallEnd::Unavailable {
            message: format!("server `{name}` {state}{reason}{advice}; the call was not sent"),
            retry_in,
        }
    }
}

/// The request never left; only this may be tried again.
struct NotSent(SendError);

/// One call on one connection.
struct Run<'a> {
    caller: &'a Caller,
    connection: &'a Connection,
    call: &'a Call,
    idle: Duration,
    total: Duration,
    end: Instant,
}

impl Run<'_> {
    async fn to_its_end(
        &self,
        on_progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<CallEnd, NotSent> {
        let _running = self.connection.begin_call();
        let mut params = json!({
            "name": self.call.tool.as_str(),
            "arguments": self.call.arguments,
        });
        for round in 0..=MAX_ROUNDS {
            let answer = match self.round(&params, on_progress).await {
                Err(NotSent(error)) if round == 0 => return Err(NotSent(error)),
                Err(NotSent(_)) => return Ok(self.lost().await),
                Ok(Ok(answer)) => answer,
                Ok(Err(end)) => return Ok(end),
            };
            let required = match call_result(answer) {
                CallResult::Answer(answer) => return Ok(CallEnd::Answer(answer)),
                CallResult::Invalid(problem) => return Ok(self.invalid(&problem)),
                CallResult::InputRequired(required) => required,
            };
            match timeout_at(self.end, self.responses(&required)).await {
                Ok(Ok(responses)) => set_responses(&mut params, responses, required.state),
                Ok(Err(problem)) => return Ok(self.refuse(&problem)),
                Err(_) => return Ok(self.timed_out(true)),
            }
        }
        Ok(self.refuse("it asked for input again and again"))
    }

    /// Sends the request and waits; the inner error is how the call ends without a result.
    async fn round(
        &self,
        params: &Value,
        on_progress: &mut (impl FnMut(Progress) + Send),
    ) -> Result<Result<Value, CallEnd>, NotSent> {
        let (sender, mut progress) = broadcast::channel(PROGRESS_QUEUE);
        let ticket = Ticket {
            progress: Some(sender),
            written: Written::default(),
        };
        let sent = self.connection.send("tools/call", params.clone(), ticket);
        let mut request = match sent.await {
            Ok(request) => request,
            Err(_) => return Err(NotSent(SendError::Closed)),
        };
        let mut silent_until = Instant::now() + self.idle;
        let answer = loop {
            tokio::select! {
                biased;
                answer = request.answer() => break answer,
                Some(step) = next_step(&mut progress) => {
                    silent_until = Instant::now() + self.idle;
                    on_progress(step);
                }
                () = sleep_until(self.end) => return Ok(Err(self.timed_out(true))),
                () = sleep_until(silent_until) => {
                    if !self.connection.is_asking() {
                        return Ok(Err(self.timed_out(false)));
                    }
                    silent_until = Instant::now() + self.idle;
                }
            }
        };
        loop {
            match progress.try_recv() {
                Ok(step) => on_progress(step),
                Err(TryRecvError::Lagged(_)) => {}
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        match answer {
            Ok(result) => {
                self.connection.prove();
                Ok(Ok(result))
            }
            Err(Failure::Fault(fault)) => {
                self.connection.prove();
                Ok(Err(CallEnd::Protocol {
                    code: fault.code,
                    message: fault.message,
                    data: fault.data,
                }))
            }
            Err(Failure::NotSent(error)) => Err(NotSent(error)),
            Err(Failure::Closed) => Ok(Err(self.lost().await)),
        }
    }

    /// Fetches what a stateless server asks for, from those that it could ask itself in other revisions.
    async fn responses(&self, required: &InputRequired) -> Result<Map<String, Value>, String> {
        let support: &HostSupport = &self.connection.support;
        let mut responses = Map::new();
        for (key, request) in &required.requests {
            let method = request.get("method").and_then(Value::as_str).unwrap_or("");
            let params = request.get("params").cloned().unwrap_or_else(|| json!({}));
            let outcome = match requests::reply(support, method, params) {
                Reply::Now(outcome) => outcome,
                Reply::Ask(ask) => {
                    requests::ask_host(&self.caller.name, &self.caller.events, ask).await
                }
            };
            let response = outcome.map_err(|fault| {
                format!("it needs input that could not be given: {}", fault.message)
            })?;
            responses.insert(key.clone(), response);
        }
        Ok(responses)
    }

    fn timed_out(&self, is_total: bool) -> CallEnd {
        let limit = if is_total { self.total } else { self.idle };
        let setting = match (is_total, self.call.timeout) {
            (true, Some(timeout)) if timeout == limit => "the caller's limit",
            (true, _) => "setting `max_timeout`",
            (false, _) => "setting `timeout`",
        };
        let what = if is_total {
            "did not finish within"
        } else {
            "gave no sign of life for"
        };
        CallEnd::Timeout {
            limit,
            total: is_total,
            message: format!(
                "{} {what} {} s ({setting}); the call was cancelled, but may have had its effect",
                self.whose(),
                limit.as_secs_f64()
            ),
        }
    }

    async fn lost(&self) -> CallEnd {
        let patience = self.end.min(Instant::now() + REASON_PATIENCE);
        let reason = timeout_at(patience, self.connection.lost()).await;
        let reason = match reason {
            Ok(reason) => reason.message.clone(),
            Err(_) => "the connection ended".to_owned(),
        };
        CallEnd::Lost {
            message: format!(
                "the answer of {} was lost: {reason}; the call may have had its effect and was not repeated",
                self.whose()
            ),
        }
    }

    fn invalid(&self, problem: &str) -> CallEnd {
        CallEnd::Protocol {
            code: 0,
            message: format!("{} gave an invalid answer: {problem}", self.whose()),
            data: None,
        }
    }

    /// The model can do something about it, so it is the tool's own error.
    fn refuse(&self, problem: &str) -> CallEnd {
        let text = format!("{} did not run: {problem}", self.whose());
        CallEnd::Answer(ToolAnswer {
            content: vec![json!({"type": "text", "text": text})],
            structured: None,
            is_error: true,
            meta: None,
        })
    }

    fn whose(&self) -> String {
        format!("tool `{}` of server `{}`", self.call.tool, self.caller.name)
    }
}

/// As good as never, and can be added to.
fn century() -> Instant {
    Instant::now() + Duration::from_secs(100 * 365 * 24 * 3600)
}

/// The next progress that was not overtaken; `None` when there will be no more.
async fn next_step(progress: &mut broadcast::Receiver<Progress>) -> Option<Progress> {
    loop {
        match progress.recv().await {
            Ok(step) => return Some(step),
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return None,
        }
    }
}

fn set_responses(params: &mut Value, responses: Map<String, Value>, state: Option<Value>) {
    let Some(params) = params.as_object_mut() else {
        return;
    };
    params.insert("inputResponses".to_owned(), Value::Object(responses));
    match state {
        Some(state) => params.insert("requestState".to_owned(), state),
        None => params.remove("requestState"),
    };
}

impl Call {
    pub fn new(tool: &str, arguments: Map<String, Value>) -> Call {
        Call {
            tool: ToolName::new(tool),
            arguments,
            timeout: None,
        }
    }
}
