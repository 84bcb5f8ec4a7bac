//! Answers what a server asks of us, and passes on what it tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::names::ServerName;
use crate::server::incoming::Fault;
use crate::server::outbox::{Outbox, Written};
use crate::server::requests::{self, INTERNAL_ERROR, Reply};
use crate::server::tail::{Tail, clean, cut};
use crate::server::{Event, HostSupport, LogLevel};

/// Questions of one server that may wait for the host.
const MAX_OPEN: usize = 32;

/// The longest log message that is passed on, in characters.
const MAX_LOG: usize = 2_000;
/// Log messages that are passed on in one stretch of time; the rest is counted.
const MAX_LOGS: u32 = 100;
const LOG_STRETCH: Duration = Duration::from_secs(10);

/// What lies between one connection's messages and the rest of the program.
pub struct Desk {
    server: ServerName,
    events: mpsc::UnboundedSender<Event>,
    /// What was advertised to this server, which is all that it may use.
    pub support: HostSupport,
    list_changed: Arc<Notify>,
    /// Questions that the host has not answered yet.
    n_open: Arc<AtomicUsize>,
    tail: Tail,
    logs: Quota,
}

impl Desk {
    pub fn new(
        server: ServerName,
        events: mpsc::UnboundedSender<Event>,
        support: HostSupport,
        list_changed: Arc<Notify>,
        tail: Tail,
    ) -> Desk {
        Desk {
            server,
            events,
            support,
            list_changed,
            n_open: Arc::default(),
            tail,
            logs: Quota::default(),
        }
    }

    /// Sees to it that a request of the server is answered: at once, or when the host has answered.
    pub fn request(&mut self, id: Value, method: &str, params: Value, outbox: &Outbox) {
        match requests::reply(&self.support, method, params) {
            Reply::Now(outcome) => send_answer(outbox, &id, outcome),
            Reply::Ask(_) if self.n_open.load(Ordering::Relaxed) >= MAX_OPEN => {
                let fault = Fault::new(INTERNAL_ERROR, "too many questions are open already");
                send_answer(outbox, &id, Err(fault));
            }
            Reply::Ask(ask) => {
                let answer = requests::ask_host(&self.server, &self.events, ask);
                let outbox = outbox.clone();
                let open = OpenQuestion::new(&self.n_open);
                tokio::spawn(async move {
                    send_answer(&outbox, &id, answer.await);
                    drop(open);
                });
            }
        }
    }

    /// Takes note of a notification, whatever its params look like.
    pub fn notification(&mut self, method: &str, params: &Value) {
        match method {
            "notifications/tools/list_changed" => self.list_changed.notify_one(),
            "notifications/message" => self.log(
                level(params.get("level")),
                &message(params.get("logger"), params.get("data")),
            ),
            _ => tracing::debug!(server = %self.server, method, "ignored a notification"),
        }
    }

    /// How many questions of the server the host has not answered yet, now and later.
    pub fn open_questions(&self) -> Arc<AtomicUsize> {
        self.n_open.clone()
    }

    pub fn warn(&mut self, message: &str) {
        self.log(LogLevel::Warning, message);
    }

    fn log(&mut self, level: LogLevel, message: &str) {
        let (is_allowed, n_missed) = self.logs.take();
        if n_missed > 0 {
            self.pass_on(
                LogLevel::Warning,
                format!("{n_missed} log messages were left out"),
            );
        }
        if is_allowed {
            let message = self.tail.hide_secrets(&clean(message));
            self.pass_on(level, cut(&message, MAX_LOG));
        }
    }

    fn pass_on(&self, level: LogLevel, message: String) {
        let server = self.server.clone();
        let _ = self.events.send(Event::Log {
            server,
            level,
            message,
        });
    }
}

fn send_answer(outbox: &Outbox, id: &Value, outcome: Result<Value, Fault>) {
    let answer = match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(fault) => json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": fault.code, "message": fault.message},
        }),
    };
    // Who asks and does not read is not waited for.
    let _ = outbox.push(answer.to_string().into_bytes(), Written::default());
}

fn level(level: Option<&Value>) -> LogLevel {
    match level.and_then(Value::as_str) {
        Some("debug") => LogLevel::Debug,
        Some("warning" | "warn") => LogLevel::Warning,
        Some("error" | "critical" | "alert" | "emergency") => LogLevel::Error,
        _ => LogLevel::Info,
    }
}

fn message(logger: Option<&Value>, data: Option<&Value>) -> String {
    let data = match data {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    match logger.and_then(Value::as_str) {
        Some(logger) => format!("{logger}: {data}"),
        None => data,
    }
}

/// Counts until it is dropped.
struct OpenQuestion(Arc<AtomicUsize>);

impl OpenQuestion {
    fn new(count: &Arc<AtomicUsize>) -> OpenQuestion {
        count.fetch_add(1, Ordering::Relaxed);
        OpenQuestion(count.clone())
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Lets so many through in each stretch of time.
#[derive(Default)]
struct Quota {
    since: Option<Instant>,
    used: u32,
    missed: u32,
}

impl Quota {
    /// Whether one more may pass, and how many were held back in the stretch before.
    fn take(&mut self) -> (bool, u32) {
        let now = Instant::now();
        let mut missed = 0;
        if self.since.is_none_or(|since| now - since >= LOG_STRETCH) {
            missed = self.missed;
            *self = Quota {
                since: Some(now),
                used: 0,
                missed: 0,
            };
        }
        if self.used < MAX_LOGS {
            self.used += 1;
            return (true, missed);
        }
        self.missed += 1;
        (false, missed)
    }
}
