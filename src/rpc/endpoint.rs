//! Connects a table of methods with a host over two byte streams.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use jsonrpsee::Methods;
use tokio::sync::mpsc;

use crate::rpc::conversation::Conversation;
use crate::rpc::frame::Framing;
use crate::rpc::lane::Lane;
use crate::rpc::output::{self, Output, Writer};
use crate::rpc::peer::Peer;
use crate::rpc::reader::Reader;

/// The limits of a conversation; the defaults are those of the wire contract.
#[derive(Debug, Clone)]
pub struct Options {
    /// `None` to find it out from the first byte.
    pub framing: Option<Framing>,
    /// What the names of the table's methods begin with on the wire.
    pub prefix: &'static str,
    /// Bytes of a message of the host; a longer one is refused.
    pub max_message: usize,
    /// Requests that are not answered yet; more are refused.
    pub max_in_flight: usize,
    /// Bytes of messages that the host has not read; beyond them its requests are refused, and beyond twice as many
    /// nothing is read from it until it reads.
    pub max_unread: usize,
    /// How long `exit` waits for an `initialize` or `shutdown` before it, and for the host to take the last answers.
    pub exit_grace: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            framing: None,
            prefix: "",
            max_message: 64 * 1024 * 1024,
            max_in_flight: 1024,
            max_unread: 256 * 1024 * 1024,
            exit_grace: Duration::from_secs(2),
        }
    }
}

/// How a conversation ended. The caller stops the servers and leaves with [`Exit::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The host sent no more, and everything that it asked is answered.
    EndOfInput,
    /// The host sent `exit`.
    Asked { after_shutdown: bool },
    /// Where the host's next message begins could not be known; what it asked before is answered.
    PositionLost,
    /// The host does not read any more.
    OutputClosed,
}

impl Exit {
    pub fn status(self) -> u8 {
        match self {
            Exit::EndOfInput | Exit::OutputClosed => 0,
            Exit::Asked {
                after_shutdown: true,
            } => 0,
            Exit::Asked {
                after_shutdown: false,
            }
            | Exit::PositionLost => 1,
        }
    }
}

/// One end of a conversation with a host, before it begins.
pub struct Endpoint {
    options: Options,
    peer: Peer,
    output: Output,
    writer: Writer,
}

impl Endpoint {
    pub fn new(options: Options) -> Endpoint {
        let (output, writer) = output::queue();
        Endpoint {
            peer: Peer::new(output.clone(), options.prefix),
            options,
            output,
            writer,
        }
    }

    /// The host. What is sent to it before its first message is written behind that.
    pub fn peer(&self) -> Peer {
        self.peer.clone()
    }

    /// Serves the host until it leaves.
    ///
    /// Every request is answered exactly once. A request that the table does not know goes to the lane, if there is
    /// one. Threads that still block on `input` or `output` afterwards end with the process.
    pub async fn run(
        self,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        methods: Methods,
        lane: Option<Lane>,
    ) -> io::Result<Exit> {
        // The task at the other end waits for nothing else, so that more would not help.
        const QUEUE: usize = 64;
        let (sender, incoming) = mpsc::channel(QUEUE);
        let reader = Reader {
            options: self.options.clone(),
            output: self.output.clone(),
            incoming: sender,
        };
        let written = self.writer.start(output)?;
        thread::Builder::new()
            .name("rpc-input".to_owned())
            .spawn(move || reader.read(input))?;
        let conversation = Conversation::new(self.options, methods, lane, self.peer, self.output);
        Ok(conversation.run(incoming, written).await)
    }
}
