//! One server's pipes as a stream of answers: everything else that a server may write is dealt with here.
//!
//! Nothing is ever written in answer to garbage, a message that cannot be read costs at most the request that it
//! answers, and pings are answered from the first byte on.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::broadcast;

use crate::server::Progress;
use crate::server::desk::Desk;
use crate::server::incoming::{AnswerId, Fault, Incoming, classify};
use crate::server::lines::{Line, Lines, MAX_LINE};
use crate::server::outbox::{Outbox, SendError, WriteFailure, Written};
use crate::server::repair;
use crate::server::requests::INTERNAL_ERROR;
use crate::server::tail::Tail;

/// How long an answer may still come from a server that has closed its input.
const LAST_WORDS: Duration = Duration::from_secs(1);

type Output = Box<dyn AsyncRead + Send + Unpin>;

/// Both directions of one connection.
pub struct Wire {
    /// `None` only while it is being dropped.
    lines: Option<Lines<Output>>,
    outbox: Outbox,
    pending: HashMap<u64, Ticket>,
    /// Answers of a batch that were not taken yet.
    ready: Vec<Answer>,
    desk: Desk,
    tail: Tail,
    signs: Arc<Signs>,
    has_spoken: bool,
    write_failure: Option<WriteFailure>,
}

/// What a request wants to hear of itself before its answer.
#[derive(Clone, Default, Debug)]
pub struct Ticket {
    /// Where progress goes, in order; when it is full, the oldest is left out: the newest says how things are.
    pub progress: Option<broadcast::Sender<Progress>>,
    pub written: Written,
}

/// An answer to a request of ours: the first one to it, and the only one that is passed on.
pub type Answer = (u64, Result<Value, Fault>);

/// What was seen of a server, for the message when it never gets ready.
#[derive(Default)]
pub struct Signs {
    pub bytes: AtomicU64,
    pub noise: AtomicU64,
    pub unknown_ids: AtomicU64,
}

/// Why no more answers come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireEnd {
    /// The server has closed its output.
    Eof,
    Read(String),
    Write(WriteFailure),
    /// Its output is framed by headers, as in the Language Server Protocol.
    ContentLength,
}

impl Wire {
    pub fn new(output: Output, outbox: Outbox, desk: Desk, tail: Tail) -> Wire {
        Wire {
            lines: Some(Lines::new(output, MAX_LINE)),
            outbox,
            pending: HashMap::new(),
            ready: Vec::new(),
            desk,
            tail,
            signs: Arc::default(),
            has_spoken: false,
            write_failure: None,
        }
    }

    pub fn open_questions(&self) -> Arc<AtomicUsize> {
        self.desk.open_questions()
    }

    pub fn signs(&self) -> Arc<Signs> {
        self.signs.clone()
    }

    /// Sends a request; its answer comes out of [`Wire::next`].
    pub fn request(&mut self, id: u64, message: Vec<u8>, ticket: Ticket) -> Result<(), SendError> {
        self.outbox.push(message, ticket.written.clone())?;
        self.pending.insert(id, ticket);
        Ok(())
    }

    pub fn notify(&mut self, message: Vec<u8>) -> Result<(), SendError> {
        self.outbox.push(message, Written::default())
    }

    /// An answer to this request is not waited for any more.
    pub fn forget(&mut self, id: u64) {
        self.pending.remove(&id);
    }

    /// The next answer. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Answer, WireEnd> {
        loop {
            if let Some(answer) = self.ready.pop() {
                return Ok(answer);
            }
            let Some(lines) = &mut self.lines else {
                return Err(WireEnd::Eof);
            };
            let line = match &self.write_failure {
                None => tokio::select! {
                    biased;
                    line = lines.next() => line,
                    failure = self.outbox.failed() => {
                        self.write_failure = Some(failure);
                        continue;
                    }
                },
                Some(failure) => match tokio::time::timeout(LAST_WORDS, lines.next()).await {
                    Ok(line) => line,
                    Err(_) => return Err(WireEnd::Write(failure.clone())),
                },
            };
            self.signs.bytes.store(lines.bytes, Ordering::Relaxed);
            match line {
                Ok(Some(Line::Whole(line))) => self.line(&line)?,
                Ok(Some(Line::TooLong { head, tail })) => self.too_long(&head, &tail),
                Ok(None) => return Err(WireEnd::Eof),
                Err(error) => return Err(WireEnd::Read(error.to_string())),
            }
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), WireEnd> {
        let line = line.trim_ascii();
        // A byte order mark, as programs on Windows like to begin with.
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.is_empty() {
            return Ok(());
        }
        let Some(value) = repair::parse(line) else {
            if !self.has_spoken && is_header(line) {
                return Err(WireEnd::ContentLength);
            }
            self.noise(line);
            return Ok(());
        };
        for message in classify(value) {
            match message {
                Incoming::Answer { id, outcome } => self.answer(id, outcome),
                Incoming::Request { id, method, params } => {
                    self.has_spoken = true;
                    self.desk.request(id, &method, params, &self.outbox);
                }
                Incoming::Notification { method, params } => {
                    self.has_spoken = true;
                    match method.as_str() {
                        "notifications/progress" => self.progress(&params),
                        _ => self.desk.notification(&method, &params),
                    }
                }
                Incoming::Noise => self.noise(line),
            }
        }
        // They are taken from the end.
        self.ready.reverse();
        Ok(())
    }

    fn answer(&mut self, id: AnswerId, outcome: Result<Value, Fault>) {
        self.has_spoken = true;
        let known = match &id {
            AnswerId::Number(id) => self.pending.remove(id).map(|_| *id),
            AnswerId::Other(_) => None,
        };
        let Some(id) = known else {
            self.signs.unknown_ids.fetch_add(1, Ordering::Relaxed);
            // Late answers to cancelled requests look the same, so this is no reason for a warning.
            tracing::debug!(?id, "dropped an answer to no open request");
            return;
        };
        self.ready.push((id, outcome));
    }

    fn progress(&mut self, params: &Value) {
        let token = params.get("progressToken").and_then(AnswerId::of);
        let Some(AnswerId::Number(token)) = token else {
            return;
        };
        let Some(Ticket {
            progress: Some(progress),
            ..
        }) = self.pending.get(&token)
        else {
            return;
        };
        // An error means that the caller is gone.
        let _ = progress.send(Progress {
            progress: params
                .get("progress")
                .and_then(Value::as_f64)
                .unwrap_or(0.0),
            total: params.get("total").and_then(Value::as_f64),
            message: params
                .get("message")
                .and_then(Value::as_str)
                .map(str::to_owned),
        });
    }

    /// A message that is too long to be held fails the request that it answers, as far as that can be told.
    fn too_long(&mut self, head: &[u8], tail: &[u8]) {
        self.has_spoken = true;
        let only = match self.pending.len() {
            1 => self.pending.keys().next().copied(),
            _ => None,
        };
        let id = id_in(head, tail).or(only);
        let message = format!("an answer of more than {} MiB", MAX_LINE >> 20);
        match id.filter(|id| self.pending.remove(id).is_some()) {
            Some(id) => {
                let fault = Fault::new(INTERNAL_ERROR, format!("{message} was thrown away"));
                self.ready.push((id, Err(fault)));
            }
            None => self
                .desk
                .warn(&format!("{message} to no open request was thrown away")),
        }
    }

    fn noise(&mut self, line: &[u8]) {
        let n = self.signs.noise.fetch_add(1, Ordering::Relaxed);
        let line = String::from_utf8_lossy(&line[..line.len().min(2_000)]);
        if n == 0 {
            self.desk.warn(&format!(
                "writes to its standard output what is not protocol; the first such line: {line}"
            ));
        }
        self.tail.push(&format!("stdout: {line}"));
    }
}

impl Drop for Wire {
    /// Closes the server's input and reads its output to the end: a server that says goodbye on a closed pipe would be
    /// killed by that in the middle of putting its things in order.
    fn drop(&mut self) {
        self.outbox.close();
        let (Some(lines), Ok(runtime)) = (self.lines.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(drain(lines.into_inner()));
    }
}

async fn drain(mut output: Output) -> io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    while output.read(&mut buffer).await? > 0 {}
    Ok(())
}

fn is_header(line: &[u8]) -> bool {
    const NAME: &[u8] = b"content-length:";
    line.len() >= NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME)
}

/// The id of an answer of which only the ends are known: it stands before the result, or after it.
fn id_in(head: &[u8], tail: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let tail = String::from_utf8_lossy(tail);
    let before = head.split("\"result\"").next().and_then(after_key);
    before.or_else(|| {
        let (_, rest) = tail.rsplit_once("\"id\"")?;
        number_after_colon(rest)
    })
}

fn after_key(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("\"id\"")?;
    number_after_colon(rest)
}

fn number_after_colon(text: &str) -> Option<u64> {
    let text = text.trim_start().strip_prefix(':')?.trim_start();
    let text = text.strip_prefix('"').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// A request as it is sent.
pub fn request_text(id: u64, method: &str, params: &Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        .to_string()
        .into_bytes()
}

/// A notification as it is sent.
pub fn notification_text(method: &str) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "method": method})
        .to_string()
        .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_long_answer_is_found_on_either_side_of_its_result() {
        let python = br#"{"jsonrpc":"2.0","id":12,"result":{"content":[{"id":99"#;
        let node = br#"{"id":99}]},"jsonrpc":"2.0","id":7}"#;
        assert_eq!(id_in(python, b"\"id\":99}]}}"), Some(12));
        assert_eq!(id_in(br#"{"result":{"content":[{"id":99"#, node), Some(7));
        assert_eq!(id_in(b"xxx", b"xxx"), None);
    }
}
