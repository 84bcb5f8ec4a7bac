//! What the exit status says.

use std::process::ExitCode;

use crate::api::types::Outcome;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Fine,
    /// The tool or the search said no.
    SaidNo,
    WrongUsage,
    ConfigInvalid,
    /// A server could not be reached.
    Unreachable,
    /// Policy: the call was not sent.
    Refused,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_contract() {
        let exits = [
            Exit::Fine,
            Exit::SaidNo,
            Exit::WrongUsage,
            Exit::ConfigInvalid,
            Exit::Unreachable,
            Exit::Refused,
        ];
        assert_eq!(exits.map(|exit| exit as u8), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_server_that_is_down_is_not_a_tool_that_says_no() {
        assert_eq!(Exit::of_call(Outcome::Error, false), Exit::Unreachable);
        assert_eq!(Exit::of_call(Outcome::Error, true), Exit::SaidNo);
        assert_eq!(Exit::of_call(Outcome::ToolError, false), Exit::SaidNo);
        assert_eq!(Exit::of_call(Outcome::Refused, false), Exit::Refused);
    }
}
