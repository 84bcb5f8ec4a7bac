//! What is known of a server's process, and how it is ended.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::server::tail::Tail;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// A running server. Dropping the last clone ends it in the background.
#[derive(Clone)]
pub struct Process {
    /// Of the server itself, not of its supervisor.
    pub pid: Option<u32>,
    pub tail: Tail,
    exit: watch::Receiver<Option<Exit>>,
    gone: CancellationToken,
    stop: Arc<StopOnDrop>,
}

/// The other side of a [`Process`]: whoever runs it reports here.
pub struct ProcessKeeper {
    pub exit: watch::Sender<Option<Exit>>,
    /// Dropped when nothing of the process is left.
    pub gone: DropGuard,
    /// Cancelled when the process is to end.
    pub stop: CancellationToken,
}

struct StopOnDrop(CancellationToken);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Process {
    pub fn new(pid: Option<u32>, tail: Tail) -> (Process, ProcessKeeper) {
        let (exit_sender, exit) = watch::channel(None);
        let gone = CancellationToken::new();
        let stop = CancellationToken::new();
        let process = Process {
            pid,
            tail,
            exit,
            gone: gone.clone(),
            stop: Arc::new(StopOnDrop(stop.clone())),
        };
        let keeper = ProcessKeeper {
            exit: exit_sender,
            gone: gone.drop_guard(),
            stop,
        };
        (process, keeper)
    }

    /// Ends with the server's own end, which may be before its helpers are gone. `None` if nobody knows how it ended.
    pub async fn exited(&self) -> Option<Exit> {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => *exit,
            Err(_) => *self.exit.borrow(),
        }
    }

    /// How it ended, if it has.
    pub fn exit(&self) -> Option<Exit> {
        *self.exit.borrow()
    }

    /// Begins to end it: by itself at the end of its input, else by force.
    pub fn begin_stop(&self) {
        self.stop.0.cancel();
    }

    /// Ends when nothing of it is left.
    pub async fn gone(&self) {
        self.gone.cancelled().await;
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => match name(*signal) {
                Some(name) => write!(f, "signal {signal} ({name})"),
                None => write!(f, "signal {signal}"),
            },
        }
    }
}

fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}
