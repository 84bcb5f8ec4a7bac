//! Why a server is not connected, in a word to branch on and a sentence to act on.

use crate::server::program::ProgramError;

/// A word for each way in which a connection fails; it stands in `status` as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    CommandNotFound,
    NotExecutable,
    CwdMissing,
    CwdNotADirectory,
    /// The process could not be started for a reason of the system's.
    Spawn,
    /// The process ended, while starting or later.
    Exited,
    /// It lives, but closed the connection.
    Closed,
    Timeout,
    /// What it writes is framed in a way that MCP's stdio transport does not know.
    Framing,
    ProtocolVersion,
    Handshake,
    ToolsList,
    /// It stopped answering, or stopped reading.
    Unresponsive,
    NotSupported,
}

impl ErrorKind {
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::CommandNotFound => "commandNotFound",
            ErrorKind::NotExecutable => "notExecutable",
            ErrorKind::CwdMissing => "cwdMissing",
            ErrorKind::CwdNotADirectory => "cwdNotADirectory",
            ErrorKind::Spawn => "spawn",
            ErrorKind::Exited => "exited",
            ErrorKind::Closed => "closed",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Framing => "framing",
            ErrorKind::ProtocolVersion => "protocolVersion",
            ErrorKind::Handshake => "handshake",
            ErrorKind::ToolsList => "toolsList",
            ErrorKind::Unresponsive => "unresponsive",
            ErrorKind::NotSupported => "notSupported",
        }
    }

    /// Whether trying again cannot help before somebody changes something.
    pub fn is_permanent(self) -> bool {
        matches!(
            self,
            ErrorKind::CommandNotFound
                | ErrorKind::NotExecutable
                | ErrorKind::CwdMissing
                | ErrorKind::CwdNotADirectory
                | ErrorKind::Framing
                | ErrorKind::ProtocolVersion
                | ErrorKind::NotSupported
        )
    }
}

/// Why a connection could not be made or was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConnectError {
    pub kind: ErrorKind,
    /// Says what to do, and carries the exit code and the last words of the server.
    pub message: String,
}

impl ConnectError {
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ConnectError {
        ConnectError {
            kind,
            message: message.into(),
        }
    }
}

impl From<ProgramError> for ConnectError {
    fn from(error: ProgramError) -> ConnectError {
        let kind = match error {
            ProgramError::CwdMissing(_) => ErrorKind::CwdMissing,
            ProgramError::CwdNotADirectory(_) => ErrorKind::CwdNotADirectory,
            ProgramError::NotFound { .. } | ProgramError::Empty => ErrorKind::CommandNotFound,
            ProgramError::NotExecutable(_) => ErrorKind::NotExecutable,
        };
        ConnectError::new(kind, error.to_string())
    }
}
