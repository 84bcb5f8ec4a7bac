//! A host at the other end of two pipes, which fails on messages that nobody read.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use jsonrpsee::Methods;
use serde_json::{Value, json};
use toolcrib::rpc::endpoint::{Endpoint, Exit, Options};
use toolcrib::rpc::frame::{Frame, FrameReader, Framing};
use toolcrib::rpc::lane::Lane;
use toolcrib::rpc::peer::Peer;

pub const BOTH: [Framing; 2] = [Framing::Lines, Framing::Headers];

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Host {
    pub framing: Framing,
    input: Option<PipeWriter>,
    output: Receiver<Value>,
    /// The pipe that the sidecar writes to, while nobody reads it.
    unread: Option<PipeReader>,
    exit: Receiver<Exit>,
    pub peer: Peer,
}

/// What is served to the host.
pub struct Served {
    pub methods: Methods,
    pub lane: Option<Box<dyn FnOnce(Peer) -> Lane + Send>>,
    pub options: Options,
}

impl Host {
    /// Starts an endpoint and reads whatever it writes.
    pub fn start(framing: Framing, served: Served) -> Host {
        let mut host = Host::start_without_reading(framing, served);
        host.begin_to_read();
        host
    }

    /// Starts an endpoint whose output stays in the pipe.
    pub fn start_without_reading(framing: Framing, served: Served) -> Host {
        let (input_reader, input) = pipe().unwrap();
        let (unread, output_writer) = pipe().unwrap();
        let (exit_sender, exit) = channel();
        let endpoint = Endpoint::new(served.options);
        let peer = endpoint.peer();
        let lane_peer = peer.clone();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let exit = runtime.block_on(async move {
                let lane = served.lane.map(|make| make(lane_peer));
                endpoint
                    .run(input_reader, output_writer, served.methods, lane)
                    .await
            });
            runtime.shutdown_background();
            let _ = exit_sender.send(exit.unwrap());
        });
        Host {
            framing,
            input: Some(input),
            output: channel().1,
            unread: Some(unread),
            exit,
            peer,
        }
    }

    pub fn begin_to_read(&mut self) {
        let (sender, output) = channel();
        let mut frames = FrameReader::new(
            self.unread.take().unwrap(),
            Some(self.framing),
            usize::MAX - 1,
        );
        thread::spawn(move || {
            while let Ok(Some(frame)) = frames.next_frame() {
                let Frame::Message(bytes) = frame else {
                    panic!("the sidecar wrote {frame:?}");
                };
                let message: Value = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(message["jsonrpc"], "2.0");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        self.output = output;
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.input
            .as_mut()
            .unwrap()
            .write_all(bytes.as_ref())
            .unwrap();
    }

    /// Sends text as one message.
    pub fn send_text(&mut self, text: &str) {
        self.send_raw(match self.framing {
            Framing::Lines => format!("{text}\n"),
            Framing::Headers => format!("Content-Length: {}\r\n\r\n{text}", text.len()),
        });
    }

    pub fn send(&mut self, message: Value) {
        self.send_text(&message.to_string());
    }

    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub fn cancel(&mut self, id: impl Into<Value>) {
        let id: Value = id.into();
        self.notify("$/cancelRequest", json!({ "id": id }));
    }

    /// The next message, without `jsonrpc`.
    pub fn next(&mut self) -> Value {
        let mut message = self
            .output
            .recv_timeout(PATIENCE)
            .expect("the sidecar says nothing");
        message.as_object_mut().unwrap().shift_remove("jsonrpc");
        message
    }

    /// The next message, which must be the answer to this request.
    pub fn result(&mut self, id: impl Into<Value>) -> Value {
        let mut message = self.next();
        assert_eq!(message["id"], id.into(), "{message}");
        message["result"].take()
    }

    /// The code of the next message, which must be an error for this request.
    pub fn error(&mut self, id: impl Into<Value>) -> i64 {
        let message = self.next();
        assert_eq!(message["id"], id.into(), "{message}");
        message["error"]["code"].as_i64().expect("an error")
    }

    /// Closes the sidecar's input.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Closes the sidecar's output, which was never read.
    pub fn stop_reading(&mut self) {
        self.unread = None;
    }

    /// Waits for the end of the conversation.
    pub fn exit(self) -> Exit {
        let exit = self
            .exit
            .recv_timeout(PATIENCE)
            .expect("the endpoint does not end");
        match self.output.recv_timeout(PATIENCE) {
            Ok(message) => panic!("nobody read {message}"),
            Err(RecvTimeoutError::Disconnected) => exit,
            Err(RecvTimeoutError::Timeout) => panic!("the output is not closed"),
        }
    }

    /// Closes the input and sees to it that everything was answered and read.
    pub fn finish(mut self) {
        self.close();
        assert_eq!(self.exit(), Exit::EndOfInput);
    }
}
