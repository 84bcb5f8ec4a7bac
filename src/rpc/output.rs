//! Writes messages in the order in which they were given, without keeping anyone waiting.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

use tokio::sync::{Notify, oneshot};

use crate::rpc::frame::{Framing, write_message};

const WRITE_BUFFER: usize = 64 * 1024;

/// The way in: cheap to clone.
#[derive(Clone)]
pub(crate) struct Output {
    items: Sender<Item>,
    state: Arc<State>,
}

/// The way out: what has been given so far, before it is written to a stream.
pub(crate) struct Writer {
    items: Receiver<Item>,
    state: Arc<State>,
}

struct State {
    /// Bytes of messages that were given and are not written yet.
    waiting: AtomicUsize,
    closed: AtomicBool,
    written: Notify,
}

enum Item {
    /// Messages before this one wait for it: until the host has spoken, nobody knows how to write to it.
    Framing(Framing),
    Message(String),
    End,
}

/// Makes both ends of a queue.
pub(crate) fn queue() -> (Output, Writer) {
    let (sender, receiver) = channel();
    let state = Arc::new(State {
        waiting: AtomicUsize::new(0),
        closed: AtomicBool::new(false),
        written: Notify::new(),
    });
    let output = Output {
        items: sender,
        state: state.clone(),
    };
    let writer = Writer {
        items: receiver,
        state,
    };
    (output, writer)
}

impl Output {
    /// Queues a message; once the queue is ended, does nothing.
    pub(crate) fn push(&self, message: String) {
        if self.state.closed.load(Ordering::Acquire) {
            return;
        }
        self.state
            .waiting
            .fetch_add(message.len(), Ordering::AcqRel);
        // Fails only after the stream has broken, and then nobody is left to read the message.
        let _ = self.items.send(Item::Message(message));
    }

    pub(crate) fn set_framing(&self, framing: Framing) {
        // As above.
        let _ = self.items.send(Item::Framing(framing));
    }

    /// Lets the writer end behind what was pushed so far.
    pub(crate) fn end(&self) {
        self.state.closed.store(true, Ordering::Release);
        // As above.
        let _ = self.items.send(Item::End);
    }

    /// Bytes that the host has not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.state.waiting.load(Ordering::Acquire)
    }

    /// Returns once fewer bytes than `limit` wait; for one waiter at a time.
    pub(crate) async fn falls_below(&self, limit: usize) {
        while self.waiting() >= limit {
            self.state.written.notified().await;
        }
    }
}

impl Writer {
    /// Writes from a thread of its own, whose end is told by the channel.
    ///
    /// A thread with plain blocking writes is both faster and safer than asynchronous ones: a host may have
    /// given us a pipe, a socket, a terminal or a file.
    pub(crate) fn start(
        self,
        output: impl Write + Send + 'static,
    ) -> io::Result<oneshot::Receiver<io::Result<()>>> {
        let (ended, end) = oneshot::channel();
        thread::Builder::new()
            .name("rpc-output".to_owned())
            .spawn(move || {
                let result = self.write(BufWriter::with_capacity(WRITE_BUFFER, output));
                // Nobody listens any more where the endpoint was dropped.
                let _ = ended.send(result);
            })?;
        Ok(end)
    }

    fn write(self, mut output: impl Write) -> io::Result<()> {
        let mut framing = None;
        let mut early = Vec::new();
        while let Some(item) = self.next(&mut output)? {
            match (item, framing) {
                (Item::Message(message), Some(framing)) => {
                    self.write_one(&mut output, framing, message)?;
                }
                (Item::Message(message), None) => early.push(message),
                (Item::Framing(known), _) => {
                    framing = Some(known);
                    for message in early.drain(..) {
                        self.write_one(&mut output, known, message)?;
                    }
                }
                (Item::End, _) => break,
            }
        }
        output.flush()
    }

    /// The next item; what was written before is flushed only where none is at hand, so that a burst costs one write.
    fn next(&self, output: &mut impl Write) -> io::Result<Option<Item>> {
        match self.items.try_recv() {
            Ok(item) => Ok(Some(item)),
            Err(TryRecvError::Disconnected) => Ok(None),
            Err(TryRecvError::Empty) => {
                output.flush()?;
                Ok(self.items.recv().ok())
            }
        }
    }

    fn write_one(
        &self,
        output: &mut impl Write,
        framing: Framing,
        message: String,
    ) -> io::Result<()> {
        let length = message.len();
        write_message(output, framing, message)?;
        self.state.waiting.fetch_sub(length, Ordering::AcqRel);
        self.state.written.notify_one();
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.state.closed.store(true, Ordering::Release);
        self.state.waiting.store(0, Ordering::Release);
        self.state.written.notify_one();
    }
}
