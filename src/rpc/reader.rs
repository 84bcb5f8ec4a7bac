//! Reads messages from a thread of its own.

use std::io::{self, Read};

use tokio::sync::mpsc;
use tracing::warn;

use crate::api::error::{INVALID_REQUEST, PARSE_ERROR};
use crate::rpc::endpoint::{Exit, Options};
use crate::rpc::frame::{Frame, FrameReader, Loss};
use crate::rpc::message::{Invalid, Message};
use crate::rpc::output::Output;

pub(crate) enum Incoming {
    Message(Message),
    End(Exit),
}

/// The thread that reads.
pub(crate) struct Reader {
    pub(crate) options: Options,
    /// Told the framing as soon as it is known.
    pub(crate) output: Output,
    pub(crate) incoming: mpsc::Sender<Incoming>,
}

impl Reader {
    pub(crate) fn read(self, input: impl Read) {
        let exit = self.read_messages(input).unwrap_or_else(|error| {
            warn!(%error, "the host cannot be read any more");
            Exit::EndOfInput
        });
        // Fails where the conversation is over already.
        let _ = self.incoming.blocking_send(Incoming::End(exit));
    }

    fn read_messages(&self, input: impl Read) -> io::Result<Exit> {
        let mut frames = FrameReader::new(input, self.options.framing, self.options.max_message);
        let Some(framing) = frames.detect()? else {
            return Ok(Exit::EndOfInput);
        };
        self.output.set_framing(framing);
        while let Some(frame) = frames.next_frame()? {
            let (message, end) = match frame {
                Frame::Message(bytes) => (Message::parse(&bytes, framing), None),
                Frame::TooLong => (self.too_long(), None),
                Frame::Lost(loss) => (lost(&loss), Some(Exit::PositionLost)),
            };
            if self
                .incoming
                .blocking_send(Incoming::Message(message))
                .is_err()
            {
                break;
            }
            if let Some(exit) = end {
                return Ok(exit);
            }
        }
        Ok(Exit::EndOfInput)
    }

    fn too_long(&self) -> Message {
        let message = format!(
            "a message may have {} bytes at most",
            self.options.max_message
        );
        Message::Invalid(Invalid::new(INVALID_REQUEST, &message))
    }
}

fn lost(loss: &Loss) -> Message {
    let code = match loss {
        Loss::AbsurdLength(_) => INVALID_REQUEST,
        Loss::NotAHeader(_) | Loss::NoLength | Loss::LongHeaders => PARSE_ERROR,
    };
    Message::Invalid(Invalid::new(code, &loss.to_string()))
}
