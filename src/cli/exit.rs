//! What the exit status says, and the errors that decide it.

use std::process::ExitCode;

use serde::Serialize;

use crate::api::types::{Outcome, Problem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Fine = 0,
    /// The tool or the search said no.
    SaidNo = 1,
    WrongUsage = 2,
    ConfigInvalid = 3,
    /// A server could not be reached.
    Unreachable = 4,
    /// Policy: the call was not sent.
    Refused = 5,
    /// By Ctrl-C, as shells count it.
    Interrupted = 130,
    /// By SIGTERM, as shells count it.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

impl Exit {
    /// `is_server_up` tells a server that could not be reached from one that refused the call.
    pub fn of_call(outcome: Outcome, is_server_up: bool) -> Exit {
        match outcome {
            Outcome::Ok => Exit::Fine,
            Outcome::Refused => Exit::Refused,
            Outcome::Error | Outcome::Timeout | Outcome::UnknownOutcome if !is_server_up => {
                Exit::Unreachable
            }
            Outcome::ToolError
            | Outcome::Error
            | Outcome::Timeout
            | Outcome::UnknownOutcome
            | Outcome::Cancelled => Exit::SaidNo,
        }
    }
}

/// Why a command ended early, in words for people.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub exit: Exit,
    message: String,
    /// Why the configuration cannot be used, if that is it; programs get this on standard output.
    pub unusable: Option<Box<Unusable>>,
}

/// A configuration that cannot be used, as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unusable {
    pub config_path: Option<String>,
    pub problems: Vec<Problem>,
}

impl Failure {
    pub fn new(exit: Exit, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            message: message.into(),
            unusable: None,
        }
    }

    pub fn unusable(message: impl Into<String>, unusable: Unusable) -> Failure {
        Failure {
            exit: Exit::ConfigInvalid,
            message: message.into(),
            unusable: Some(Box::new(unusable)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_down_is_not_a_tool_that_says_no() {
        assert_eq!(Exit::of_call(Outcome::Error, false), Exit::Unreachable);
        assert_eq!(Exit::of_call(Outcome::Error, true), Exit::SaidNo);
        assert_eq!(Exit::of_call(Outcome::ToolError, false), Exit::SaidNo);
        assert_eq!(Exit::of_call(Outcome::Refused, false), Exit::Refused);
    }
}
