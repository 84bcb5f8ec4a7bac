//! What a model is told when a tool was not run, or its answer never came: what happened, and what it can do now.

use std::time::Duration;

use crate::catalog::Tool;
use crate::output::error;
use crate::text::shorten;

/// The longest words of a server that are repeated, in characters.
const MAX_WORDS: usize = 2_000;

/// Why there is no answer of the tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Failure<'a> {
    /// The server was silent for too long, or the call took too long in all; it was told to stop.
    Timeout {
        limit: Duration,
    },
    /// The call was sent and the server went away; it is not known whether the tool ran.
    Lost {
        reason: &'a str,
    },
    /// The server cannot be reached; nothing was sent.
    Unavailable {
        reason: &'a str,
        retry_in: Option<Duration>,
    },
    /// The server answered with a JSON-RPC error.
    Protocol {
        code: &'a str,
        message: &'a str,
        data: Option<&'a serde_json::Value>,
    },
    /// The server answered with something that is no result.
    Unreadable {
        reason: &'a str,
    },
    /// The host said no, or nobody could be asked.
    Denied {
        reason: &'a str,
    },
    Cancelled,
}

impl Failure<'_> {
    /// The JSON text for the model.
    pub fn content(&self, tool: &Tool) -> String {
        error(&self.message(tool))
    }

    /// What happened, in words.
    pub fn message(&self, tool: &Tool) -> String {
        let name = named(tool);
        match self {
            Failure::Timeout { limit } => format!(
                "{name} did not answer within {}, and was told to stop; part of its work may be done, so check before you call it again, or ask it for less",
                in_words(*limit)
            ),
            Failure::Lost { reason } => format!(
                "the connection was lost while {name} was running ({}); whether it has done its work is not known and it was not called again, so check first",
                words(reason)
            ),
            Failure::Unavailable { reason, retry_in } => {
                let advice = match retry_in {
                    Some(wait) if !wait.is_zero() => {
                        format!("try again in {}, or go on without it", in_words(*wait))
                    }
                    Some(_) => "try again, or go on without it".to_owned(),
                    None => "go on without it, and tell the user".to_owned(),
                };
                format!(
                    "{name} was not called, as its server is not available: {}; {advice}",
                    words(reason)
                )
            }
            Failure::Protocol {
                code,
                message,
                data,
            } => {
                let message = if message.trim().is_empty() {
                    "no message"
                } else {
                    message
                };
                let data = data.map(|data| format!("; data: {}", shorten(&data.to_string(), 500)));
                format!(
                    "the server could not run {name}: {} (code {code}){}",
                    words(message),
                    data.unwrap_or_default()
                )
            }
            Failure::Unreadable { reason } => {
                format!("the answer of {name} cannot be read: {}", words(reason))
            }
            Failure::Denied { reason } => format!(
                "{name} was not called: {}; do not call it again unless the user wants it",
                words(reason)
            ),
            Failure::Cancelled => format!("the call of {name} was cancelled"),
        }
    }
}

/// An error that the tool reported without a word.
pub(super) fn silent_error(tool: &Tool) -> String {
    format!("{} reported an error and did not say which", named(tool))
}

fn named(tool: &Tool) -> String {
    match tool.server() {
        Some(server) => format!("`{}` of the server `{server}`", tool.exposed),
        None => format!("`{}`", tool.exposed),
    }
}

fn words(text: &str) -> String {
    let cleaned = crate::text::clean(text.trim());
    shorten(&cleaned.text, MAX_WORDS).into_owned()
}

/// `500 ms`, `1.5 s`, `60 s`.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_millis() {
        0..1_000 => format!("{} ms", time.as_millis()),
        millis if millis % 1_000 == 0 => format!("{} s", time.as_secs()),
        _ => format!("{seconds:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::catalog::listing::{ListedTool, build};
    use crate::names::ServerName;

    fn check(failure: Failure, expected: Expect) {
        let listed = ListedTool {
            name: "slow".to_owned(),
            ..ListedTool::default()
        };
        let listing = build(&ServerName::new("fake").unwrap(), vec![listed], |_| true);
        expected.assert_eq(&failure.content(&listing.tools[0]));
    }

    #[test]
    fn each_failure_says_what_happened_and_what_to_do() {
        check(
            Failure::Timeout {
                limit: Duration::from_secs(1),
            },
            expect![[
                r#"{"error":"`mcp_fake_slow` of the server `fake` did not answer within 1 s, and was told to stop; part of its work may be done, so check before you call it again, or ask it for less"}"#
            ]],
        );
        check(
            Failure::Lost {
                reason: "exit status 7",
            },
            expect![[
                r#"{"error":"the connection was lost while `mcp_fake_slow` of the server `fake` was running (exit status 7); whether it has done its work is not known and it was not called again, so check first"}"#
            ]],
        );
        check(
            Failure::Unavailable {
                reason: "it is starting again",
                retry_in: Some(Duration::from_millis(2500)),
            },
            expect![[
                r#"{"error":"`mcp_fake_slow` of the server `fake` was not called, as its server is not available: it is starting again; try again in 2.5 s, or go on without it"}"#
            ]],
        );
        check(
            Failure::Unavailable {
                reason: "it needs a login",
                retry_in: None,
            },
            expect![[
                r#"{"error":"`mcp_fake_slow` of the server `fake` was not called, as its server is not available: it needs a login; go on without it, and tell the user"}"#
            ]],
        );
        check(
            Failure::Protocol {
                code: "-32000",
                message: "bo\u{1b}[2Jom",
                data: Some(&json!({"a": 1})),
            },
            expect![[
                r#"{"error":"the server could not run `mcp_fake_slow` of the server `fake`: boom (code -32000); data: {\"a\":1}"}"#
            ]],
        );
        check(
            Failure::Protocol {
                code: "E42",
                message: " ",
                data: None,
            },
            expect![[
                r#"{"error":"the server could not run `mcp_fake_slow` of the server `fake`: no message (code E42)"}"#
            ]],
        );
        check(
            Failure::Unreadable {
                reason: "the result is null",
            },
            expect![[
                r#"{"error":"the answer of `mcp_fake_slow` of the server `fake` cannot be read: the result is null"}"#
            ]],
        );
        check(
            Failure::Denied {
                reason: "the host did not approve",
            },
            expect![[
                r#"{"error":"`mcp_fake_slow` of the server `fake` was not called: the host did not approve; do not call it again unless the user wants it"}"#
            ]],
        );
        check(
            Failure::Cancelled,
            expect![[
                r#"{"error":"the call of `mcp_fake_slow` of the server `fake` was cancelled"}"#
            ]],
        );
    }

    #[test]
    fn times_are_said_as_they_were_set() {
        let said: Vec<String> = [500, 1000, 1500, 60_000]
            .map(|ms| in_words(Duration::from_millis(ms)))
            .into();
        assert_eq!(said, ["500 ms", "1 s", "1.5 s", "60 s"]);
    }
}
