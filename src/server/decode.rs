//! Reads what servers send for tools and results, piece by piece: one odd piece costs that piece.

use serde_json::{Map, Value, json};

use crate::catalog::listing::{Dropped, ListedTool};
use crate::server::ToolAnswer;
use crate::server::repair;
use crate::server::tail::{clean, cut};

/// One page of `tools/list`.
pub struct Page {
    pub tools: Vec<Result<ListedTool, Dropped>>,
    pub next: Option<String>,
}

/// What a call came to, by the server's answer.
#[derive(Debug, PartialEq)]
pub enum CallResult {
    Answer(ToolAnswer),
    /// The server wants something before it goes on (2026-07-28).
    InputRequired(InputRequired),
    /// The answer is none that may be given to a call.
    Invalid(String),
}

#[derive(Debug, PartialEq)]
pub struct InputRequired {
    /// Key → request of the kind that servers send us in other revisions.
    pub requests: Map<String, Value>,
    /// To be sent back as it is.
    pub state: Option<Value>,
}

/// Reads a page; the error says what is wrong with all of it.
pub fn page(result: Value) -> Result<Page, String> {
    let Value::Object(mut members) = result else {
        return Err(format!("the result is {}, not an object", kind(&result)));
    };
    let tools = match members.remove("tools") {
        Some(Value::Array(tools)) => tools,
        None | Some(Value::Null) => vec![],
        Some(other) => return Err(format!("`tools` is {}, not a list", kind(&other))),
    };
    let next = match members.remove("nextCursor") {
        Some(Value::String(cursor)) => Some(cursor),
        Some(Value::Number(cursor)) => Some(cursor.to_string()),
        _ => None,
    };
    let tools = tools
        .into_iter()
        .enumerate()
        .map(|(n, value)| tool(n, value))
        .collect();
    Ok(Page { tools, next })
}

/// Reads one tool. Only its name is needed.
fn tool(n: usize, value: Value) -> Result<ListedTool, Dropped> {
    let nameless = |reason: String| Dropped {
        tool: format!("#{}", n + 1),
        reason,
    };
    let Value::Object(mut members) = value else {
        return Err(nameless(format!("is {}, not an object", kind(&value))));
    };
    let name = match members.remove("name") {
        Some(Value::String(name)) if !name.is_empty() => name,
        Some(Value::String(_)) => return Err(nameless("its name is empty".to_owned())),
        Some(other) => {
            return Err(nameless(format!(
                "its name is {}, not a string",
                kind(&other)
            )));
        }
        None => return Err(nameless("it has no name".to_owned())),
    };
    let dropped = |reason: String| Dropped {
        tool: cut(&clean(&name), 200),
        reason,
    };
    let input_schema = match members.remove("inputSchema") {
        None | Some(Value::Null | Value::Bool(true)) => json!({"type": "object"}),
        Some(schema @ Value::Object(_)) => schema,
        Some(other) => {
            return Err(dropped(format!(
                "`inputSchema` is {}, not an object",
                kind(&other)
            )));
        }
    };
    if repair::is_clipped(&input_schema) {
        return Err(dropped("`inputSchema` is nested too deep".to_owned()));
    }
    let title = text(members.remove("title"));
    let description = text(members.remove("description"));
    // Whatever else it brings is kept as it is; only what could not be read is left out.
    members.retain(|_, value| !repair::is_clipped(value));
    Ok(ListedTool {
        name,
        title,
        description,
        input_schema,
        extra: members,
    })
}

/// Reads the result of `tools/call`.
pub fn call_result(result: Value) -> CallResult {
    let mut members = match result {
        Value::Object(members) => members,
        Value::Null => return CallResult::Invalid("the result is null".to_owned()),
        // Not what the protocol says, but what the tool had to say.
        Value::Array(blocks) => Map::from_iter([("content".to_owned(), Value::Array(blocks))]),
        other => Map::from_iter([("content".to_owned(), other)]),
    };
    match members.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => CallResult::Answer(answer(&mut members)),
        Some("input_required") => CallResult::InputRequired(InputRequired {
            requests: object(members.remove("inputRequests")).unwrap_or_default(),
            state: members
                .remove("requestState")
                .filter(|state| !state.is_null()),
        }),
        Some("task") => CallResult::Invalid(
            "it was answered with a task, which this client did not ask for".to_owned(),
        ),
        Some(other) => CallResult::Invalid(format!(
            "the result is of the unknown type `{}`",
            cut(other, 100)
        )),
    }
}

fn answer(members: &mut Map<String, Value>) -> ToolAnswer {
    let content = match members.remove("content") {
        Some(Value::Array(blocks)) => blocks.into_iter().map(block).collect(),
        None | Some(Value::Null) => vec![],
        Some(other) => vec![block(other)],
    };
    let is_error = match members.remove("isError") {
        Some(Value::Bool(is_error)) => is_error,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    };
    // `toolResult` is what the revision of October 2024 called it.
    let structured = ["structuredContent", "toolResult"]
        .into_iter()
        .find_map(|name| members.remove(name).filter(|value| !value.is_null()));
    ToolAnswer {
        content,
        structured,
        is_error,
        meta: object(members.remove("_meta")),
    }
}

/// A block as it is; what is no block becomes text.
fn block(value: Value) -> Value {
    match value {
        Value::Object(_) => value,
        Value::String(text) => json!({"type": "text", "text": text}),
        other => json!({"type": "text", "text": other.to_string()}),
    }
}

fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn object(value: Option<Value>) -> Option<Map<String, Value>> {
    match value {
        Some(Value::Object(members)) => Some(members),
        _ => None,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check_page(result: Value, expected: Expect) {
        let shown = match page(result) {
            Err(problem) => problem,
            Ok(page) => {
                let mut lines: Vec<String> = page
                    .tools
                    .into_iter()
                    .map(|tool| match tool {
                        Ok(tool) => format!(
                            "{} {:?} {:?} {} {}",
                            tool.name,
                            tool.title,
                            tool.description,
                            tool.input_schema,
                            Value::Object(tool.extra)
                        ),
                        Err(dropped) => format!("dropped {}: {}", dropped.tool, dropped.reason),
                    })
                    .collect();
                lines.extend(page.next.map(|next| format!("next: {next:?}")));
                lines.join("\n")
            }
        };
        expected.assert_eq(&shown);
    }

    fn check_result(result: Value, expected: Expect) {
        let shown = match call_result(result) {
            CallResult::Answer(answer) => format!(
                "{}{} {:?} {:?}",
                if answer.is_error { "error " } else { "" },
                Value::Array(answer.content),
                answer.structured,
                answer.meta
            ),
            CallResult::InputRequired(required) => {
                format!(
                    "needs {} {:?}",
                    Value::Object(required.requests),
                    required.state
                )
            }
            CallResult::Invalid(problem) => problem,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn one_bad_tool_does_not_hide_the_others() {
        check_page(
            json!({"tools": [
                {"name": "good", "title": "Good", "description": "d", "inputSchema": {"b": 1, "a": 2}, "annotations": {"x": 1}},
                {"name": "bare"},
                {"name": "nulls", "description": null, "inputSchema": null, "title": 3},
                {"name": "odd", "inputSchema": "string"},
                {"description": "who am I"},
                {"name": 7},
                {"name": ""},
                "tool",
            ], "nextCursor": ""}),
            expect![[r##"
                good Some("Good") Some("d") {"b":1,"a":2} {"annotations":{"x":1}}
                bare None None {"type":"object"} {}
                nulls None None {"type":"object"} {}
                dropped odd: `inputSchema` is a string, not an object
                dropped #5: it has no name
                dropped #6: its name is a number, not a string
                dropped #7: its name is empty
                dropped #8: is a string, not an object
                next: """##]],
        );
    }

    #[test]
    fn a_page_may_be_empty_but_not_nonsense() {
        check_page(json!({"tools": null}), expect![""]);
        check_page(json!({}), expect![""]);
        check_page(json!([]), expect!["the result is a list, not an object"]);
        check_page(
            json!({"tools": {}}),
            expect!["`tools` is an object, not a list"],
        );
    }

    #[test]
    fn a_schema_nested_too_deep_costs_its_tool() {
        check_page(
            json!({"tools": [
                {"name": "deep", "inputSchema": {"a": [repair::TOO_DEEP]}},
                {"name": "out", "outputSchema": {"a": repair::TOO_DEEP}},
            ]}),
            expect![[r#"
                dropped deep: `inputSchema` is nested too deep
                out None None {"type":"object"} {}"#]],
        );
    }

    #[test]
    fn results_are_read_block_by_block() {
        check_result(
            json!({"content": [{"type": "hologram", "payload": 1}, "text", 5], "isError": "true", "_meta": {"a": 1}}),
            expect![[
                r#"error [{"type":"hologram","payload":1},{"type":"text","text":"text"},{"type":"text","text":"5"}] None Some({"a": Number(1)})"#
            ]],
        );
        check_result(
            json!({"structuredContent": {"answer": 42}, "content": null}),
            expect![[r#"[] Some(Object {"answer": Number(42)}) None"#]],
        );
        check_result(
            json!("plain"),
            expect![[r#"[{"type":"text","text":"plain"}] None None"#]],
        );
        check_result(json!({"tools": []}), expect!["[] None None"]);
        check_result(Value::Null, expect!["the result is null"]);
    }

    #[test]
    fn other_types_of_result_are_told_apart() {
        check_result(
            json!({"resultType": "complete", "content": []}),
            expect!["[] None None"],
        );
        check_result(
            json!({"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list"}}, "requestState": "s"}),
            expect![[r#"needs {"a":{"method":"roots/list"}} Some(String("s"))"#]],
        );
        check_result(
            json!({"resultType": "task"}),
            expect!["it was answered with a task, which this client did not ask for"],
        );
        check_result(
            json!({"resultType": "vision"}),
            expect!["the result is of the unknown type `vision`"],
        );
    }
}
