//! How a connection to a server is opened: to a real process, or to a fake one in a test.

use std::future::Future;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::error::ConnectError;
use crate::server::process::Process;

/// Opens connections to one server, one after the other.
pub trait Dial: Send + Sync + 'static {
    /// Starts the server and returns its pipes. Dropping the future ends what it has started.
    fn dial(&self) -> impl Future<Output = Result<Line, ConnectError>> + Send;

    /// Ends when nothing is left of the starts that were given up.
    fn gone(&self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// A server that was started, and the pipes to it.
pub struct Line {
    /// Closed to tell the server to end.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    pub process: Process,
}
