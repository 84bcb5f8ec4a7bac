//! A server on in-memory pipes, played by the test.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolcrib::server::dial::{Dial, Line};
use toolcrib::server::error::{ConnectError, ErrorKind};
use toolcrib::server::process::{Exit, Process, ProcessKeeper};
use toolcrib::server::tail::Tail;

use crate::server::rig::LIMIT;

/// How much a pipe holds, as on Linux.
const PIPE: usize = 64 << 10;

/// Hands each connection to the test.
pub struct FakeDial {
    peers: mpsc::UnboundedSender<Peer>,
    n_refused: AtomicUsize,
}

/// The connections that were opened, in order.
pub struct Peers(mpsc::UnboundedReceiver<Peer>);

/// The server's side of one connection.
pub struct Peer {
    input: Lines<BufReader<DuplexStream>>,
    output: DuplexStream,
    pub tail: Tail,
    keeper: Option<ProcessKeeper>,
}

pub fn dial() -> (FakeDial, Peers) {
    dial_after(0)
}

/// The same, after so many attempts that fail.
pub fn dial_after(n_refused: usize) -> (FakeDial, Peers) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let dial = FakeDial {
        peers: sender,
        n_refused: AtomicUsize::new(n_refused),
    };
    (dial, Peers(receiver))
}

impl Dial for FakeDial {
    async fn dial(&self) -> Result<Line, ConnectError> {
        let left = self.n_refused.load(Ordering::Relaxed);
        if left > 0 {
            self.n_refused.store(left - 1, Ordering::Relaxed);
            return Err(ConnectError::new(ErrorKind::Spawn, "refused by the test"));
        }
        let (input, their_input) = duplex(PIPE);
        let (output, their_output) = duplex(PIPE);
        let tail = Tail::default();
        let (process, keeper) = Process::new(Some(4711), tail.clone());
        // Nobody listens any more only at the end of a test.
        let _ = self.peers.send(Peer {
            input: BufReader::new(their_input).lines(),
            output: their_output,
            tail,
            keeper: Some(keeper),
        });
        Ok(Line {
            input: Box::new(input),
            output: Box::new(output),
            process,
        })
    }
}

impl Peers {
    pub async fn next(&mut self) -> Peer {
        let next = timeout(LIMIT * 10, self.0.recv()).await;
        next.expect("nobody connects").expect("the server is gone")
    }

    /// A connection that is ready, with these tools.
    pub async fn ready(&mut self, tools: &[&str]) -> Peer {
        let mut peer = self.next().await;
        peer.shake_hands().await;
        peer.list(tools).await;
        peer
    }

    pub fn none(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

impl Peer {
    /// The next message, whatever it is; `None` at the end of the input.
    pub async fn read(&mut self) -> Option<Value> {
        let line = timeout(LIMIT * 10, self.input.next_line()).await;
        let line = line.expect("nothing was sent").expect("the pipe is whole");
        line.map(|line| serde_json::from_str(&line).unwrap())
    }

    /// The next message, which is a request or notification of this method.
    pub async fn expect(&mut self, method: &str) -> Value {
        let message = self.read().await.expect("the input has ended");
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// The next message, which is an answer to this id.
    pub async fn expect_answer(&mut self, id: Value) -> Value {
        let message = self.read().await.expect("the input has ended");
        assert_eq!(message["id"], id, "{message}");
        assert!(message.get("method").is_none(), "{message}");
        message
    }

    /// Nothing is sent for so long.
    pub async fn expect_silence(&mut self, limit: Duration) {
        if let Ok(line) = timeout(limit, self.input.next_line()).await {
            panic!("unexpected: {line:?}");
        }
    }

    pub async fn expect_end(&mut self) {
        let rest = self.read().await;
        assert_eq!(rest, None);
    }

    pub async fn send(&mut self, message: Value) {
        self.write(&format!("{message}\n")).await;
    }

    pub async fn write(&mut self, text: &str) {
        self.output.write_all(text.as_bytes()).await.unwrap();
    }

    pub async fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    pub async fn answer(&mut self, request: &Value, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
            .await;
    }

    pub async fn refuse(&mut self, request: &Value, code: i64, data: Value) {
        let error = json!({"code": code, "message": "refused", "data": data});
        self.send(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
            .await;
    }

    /// Answers `initialize` as an ordinary server does.
    pub async fn shake_hands(&mut self) -> Value {
        let initialize = self.expect("initialize").await;
        self.answer(&initialize, initialized("2025-11-25")).await;
        self.expect("notifications/initialized").await;
        initialize
    }

    /// Answers `tools/list` with these tools.
    pub async fn list(&mut self, tools: &[&str]) {
        let request = self.expect("tools/list").await;
        self.answer(&request, listed(tools)).await;
    }

    /// Answers a call with this text.
    pub async fn finish(&mut self, call: &Value, text: &str) {
        self.answer(call, json!({"content": [{"type": "text", "text": text}]}))
            .await;
    }

    /// Ends the process, and its output with it.
    pub fn exit(mut self, exit: Exit, last_words: &str) {
        self.tail.push(last_words);
        let keeper = self.keeper.take().unwrap();
        keeper.exit.send_replace(Some(exit));
    }
}

pub fn initialized(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake", "version": "1"},
        "instructions": "be kind",
    })
}

pub fn discovered() -> Value {
    json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {"listChanged": true}},
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "2"}},
    })
}

pub fn listed(tools: &[&str]) -> Value {
    let tools = tools
        .iter()
        .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    json!({"tools": tools.collect::<Vec<Value>>()})
}
