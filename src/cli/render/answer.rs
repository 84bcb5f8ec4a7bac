//! The answer to a tool call, read back from what the model gets.

use serde_json::Value;

use crate::api::types::{CallResult, Outcome};
use crate::cli::layout::{grouped, harmless};
use crate::cli::style::{BAD, WARNING, paint};

/// What goes to standard output and what to standard error.
#[derive(Debug, PartialEq)]
pub struct Texts {
    pub answer: String,
    pub complaint: String,
}

/// `name` is what was called.
pub fn texts(result: &CallResult, name: &str) -> Texts {
    if result.outcome == Outcome::Ok {
        return Texts {
            answer: harmless(&said(&result.content)),
            complaint: cut(result),
        };
    }
    Texts {
        answer: String::new(),
        complaint: format!("{} {}", paint(BAD, "error:"), failure(result, name)),
    }
}

/// What became of a call that did not do what it should, and what was said of that.
pub fn failure(result: &CallResult, name: &str) -> String {
    let what = match result.outcome {
        Outcome::Ok => "was carried out",
        Outcome::ToolError => "says that it failed",
        Outcome::Error => "could not be run",
        Outcome::Timeout => "took too long",
        Outcome::Refused => "was refused and not sent",
        Outcome::UnknownOutcome => {
            "was sent, but its answer was lost; it may have been carried out"
        }
        Outcome::Cancelled => "was cancelled",
    };
    let said = harmless(&said(&result.content));
    format!("{} {what}\n{said}", harmless(name))
}

/// A call's content is `{"result": …}` or `{"error": …}`; what else stands beside it is shown as JSON.
fn said(content: &str) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(content) else {
        return content.to_owned();
    };
    let main = members.get("error").or_else(|| members.get("result"));
    match main {
        Some(Value::String(text)) => text.clone(),
        Some(value) => pretty(value),
        None => pretty(&Value::Object(members)),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

fn cut(result: &CallResult) -> String {
    let Some(truncated) = &result.truncated else {
        return String::new();
    };
    let bytes = grouped(truncated.original_bytes);
    let place = match &truncated.path {
        Some(path) => format!("; the whole is in {path}"),
        None => String::new(),
    };
    let warning = paint(WARNING, "warning:");
    format!("{warning} shortened from {bytes} bytes{place}")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::api::types::Truncated;

    fn result(outcome: Outcome, content: &str) -> CallResult {
        CallResult {
            content: content.into(),
            is_error: outcome != Outcome::Ok,
            outcome,
            tool: None,
            bridge: None,
            blocks: None,
            structured_content: None,
            truncated: None,
            elapsed_ms: 3,
        }
    }

    fn check(result: &CallResult, expected: Expect) {
        let texts = texts(result, "mcp_notes_get_note");
        let both = format!("{}\n--\n{}", texts.answer, texts.complaint);
        expected.assert_eq(&strip_str(&both).to_string());
    }

    #[test]
    fn shows_the_text_of_an_answer_and_the_shape_of_a_value() {
        check(
            &result(Outcome::Ok, r#"{"result":"one\ntwo"}"#),
            expect![[r#"
                one
                two
                --
            "#]],
        );
        check(
            &result(Outcome::Ok, r#"{"result":{"a":[1]}}"#),
            expect![[r#"
                {
                  "a": [
                    1
                  ]
                }
                --
            "#]],
        );
        check(
            &result(Outcome::Ok, "plain"),
            expect![[r#"
            plain
            --
        "#]],
        );
    }

    #[test]
    fn says_what_became_of_a_call_that_failed() {
        check(
            &result(Outcome::ToolError, r#"{"error":"there is no note 9"}"#),
            expect![[r#"

                --
                error: mcp_notes_get_note says that it failed
                there is no note 9"#]],
        );
        check(
            &result(Outcome::UnknownOutcome, r#"{"error":"gone"}"#),
            expect![[r#"

                --
                error: mcp_notes_get_note was sent, but its answer was lost; it may have been carried out
                gone"#]],
        );
    }

    #[test]
    fn says_where_the_whole_of_a_long_answer_is() {
        let mut result = result(Outcome::Ok, r#"{"result":"begin…"}"#);
        result.truncated = Some(Truncated {
            original_bytes: 2_000_000,
            path: Some("spill/1.txt".into()),
        });
        check(
            &result,
            expect![[r#"
            begin…
            --
            warning: shortened from 2,000,000 bytes; the whole is in spill/1.txt"#]],
        );
    }

    #[test]
    fn a_tool_cannot_write_to_the_terminal_what_it_likes() {
        check(
            &result(Outcome::Ok, "{\"result\":\"\\u001b]0;owned\\u0007\"}"),
            expect![[r#"
                \u{1b}]0;owned\u{7}
                --
            "#]],
        );
    }
}
