//! Writes messages to a server without ever making anyone wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Messages and bytes that may wait. A server that reads nothing fails new requests then, and costs no more memory.
const MAX_MESSAGES: usize = 1_024;
const MAX_BYTES: usize = 64 << 20;

/// How long messages that are queued already may take once the connection closes.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// The queue to a server's input; clones share it.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::Sender<Message>,
    waiting: Arc<AtomicUsize>,
    closing: CancellationToken,
    failure: watch::Receiver<Option<WriteFailure>>,
}

/// Whether a message has begun to be written: until then it has certainly not arrived.
#[derive(Clone, Default, Debug)]
pub struct Written(Arc<AtomicBool>);

struct Message {
    line: Vec<u8>,
    written: Written,
}

/// Why nothing more can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteFailure {
    /// The server has closed its input, mostly by ending.
    Closed(String),
    /// It has read nothing for so long.
    Stalled(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    #[error("it does not read its input, and too much is waiting for it")]
    Full,
    #[error("its input is closed")]
    Closed,
    #[error("the message cannot be written as JSON")]
    Unwritable,
}

impl Outbox {
    /// Starts to write; `stall` is how long a single write may make no progress.
    pub fn start(writer: impl AsyncWrite + Send + Unpin + 'static, stall: Duration) -> Outbox {
        let (queue, messages) = mpsc::channel(MAX_MESSAGES);
        let (failure_sender, failure) = watch::channel(None);
        let outbox = Outbox {
            queue,
            waiting: Arc::default(),
            closing: CancellationToken::new(),
            failure,
        };
        let task = Writer {
            writer,
            messages,
            waiting: outbox.waiting.clone(),
            closing: outbox.closing.clone(),
            failure: failure_sender,
            stall,
            message: Vec::new(),
            done: 0,
        };
        tokio::spawn(task.run());
        outbox
    }

    /// Queues one message, without its end of line; never waits.
    pub fn push(&self, mut line: Vec<u8>, written: Written) -> Result<(), SendError> {
        if self.closing.is_cancelled() {
            return Err(SendError::Closed);
        }
        line.push(b'\n');
        let size = line.len();
        let waiting = self.waiting.fetch_add(size, Ordering::Relaxed);
        // A single message of any size passes, or a large argument could never be sent.
        let is_full = waiting > 0 && waiting + size > MAX_BYTES;
        let pushed = match is_full {
            true => Err(SendError::Full),
            false => self
                .queue
                .try_send(Message { line, written })
                .map_err(|error| match error {
                    mpsc::error::TrySendError::Full(_) => SendError::Full,
                    mpsc::error::TrySendError::Closed(_) => SendError::Closed,
                }),
        };
        if pushed.is_err() {
            self.waiting.fetch_sub(size, Ordering::Relaxed);
        }
        pushed
    }

    /// Closes the server's input, after what is queued already.
    pub fn close(&self) {
        self.closing.cancel();
    }

    /// Ends when nothing more can be written; never while all is well.
    pub async fn failed(&self) -> WriteFailure {
        let mut failure = self.failure.clone();
        let failed = failure.wait_for(Option::is_some).await;
        match failed.ok().and_then(|failure| failure.clone()) {
            Some(failure) => failure,
            // The writer ended because it was asked to.
            None => std::future::pending().await,
        }
    }
}

impl Written {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

struct Writer<W> {
    writer: W,
    messages: mpsc::Receiver<Message>,
    waiting: Arc<AtomicUsize>,
    closing: CancellationToken,
    failure: watch::Sender<Option<WriteFailure>>,
    stall: Duration,
    /// The message that is being written, and how much of it was.
    message: Vec<u8>,
    done: usize,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    async fn run(mut self) {
        let closing = self.closing.clone();
        let failure = tokio::select! {
            biased;
            failure = self.write_on() => failure,
            () = closing.cancelled() => None,
        };
        if failure.is_none() {
            self.messages.close();
            // Cancellations of calls that were running are in the queue, and the server should see them.
            let _ = timeout(CLOSE_GRACE, self.write_on()).await;
        }
        self.failure.send_replace(failure);
    }

    /// Writes until there is nothing more to come. Dropping the future loses nothing.
    async fn write_on(&mut self) -> Option<WriteFailure> {
        loop {
            while self.done < self.message.len() {
                let rest = &self.message[self.done..];
                match timeout(self.stall, self.writer.write(rest)).await {
                    Ok(Ok(0)) => return Some(WriteFailure::Closed("no more is taken".to_owned())),
                    Ok(Ok(n)) => self.done += n,
                    Ok(Err(error)) => return Some(WriteFailure::Closed(error.to_string())),
                    Err(_) => return Some(WriteFailure::Stalled(self.stall)),
                }
            }
            if let Err(error) = self.writer.flush().await {
                return Some(WriteFailure::Closed(error.to_string()));
            }
            let message = self.messages.recv().await?;
            self.waiting
                .fetch_sub(message.line.len(), Ordering::Relaxed);
            message.written.set();
            self.message = message.line;
            self.done = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    const STALL: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_server_that_reads_nothing_fails_new_messages_and_is_given_up() {
        let (theirs, ours) = tokio::io::duplex(1_000);
        let outbox = Outbox::start(ours, STALL);
        let first = Written::default();
        let second = Written::default();
        outbox.push(vec![b'x'; 5_000], first.clone()).unwrap();
        outbox.push(vec![b'x'; 10], second.clone()).unwrap();
        tokio::task::yield_now().await;
        assert_eq!(
            outbox.push(vec![b'x'; MAX_BYTES], Written::default()),
            Err(SendError::Full)
        );
        assert_eq!(outbox.failed().await, WriteFailure::Stalled(STALL));
        assert!(first.is_set() && !second.is_set());
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn closing_writes_what_is_queued_and_ends_the_input() {
        let (mut theirs, ours) = tokio::io::duplex(1_000);
        let outbox = Outbox::start(ours, STALL);
        outbox.push(b"one".to_vec(), Written::default()).unwrap();
        outbox.close();
        assert_eq!(
            outbox.push(b"two".to_vec(), Written::default()),
            Err(SendError::Closed)
        );
        let mut read = String::new();
        theirs.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "one\n");
    }
}
