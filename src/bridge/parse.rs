//! Reads what a model asks of the bridge, in all the shapes that models write it.

use serde_json::{Map, Value};

use crate::bridge::{BadBridgeCall, BridgeCall, BridgeTool, DescribeCall, SearchCall};
use crate::config::ToolSearchConfig;

/// Queries in one search, and names in one description.
const MOST_AT_ONCE: usize = 20;

impl BridgeCall {
    /// Reads the arguments of a bridge tool, in all the shapes that models write them.
    pub fn parse(
        tool: BridgeTool,
        arguments: &Map<String, Value>,
        config: &ToolSearchConfig,
    ) -> Result<BridgeCall, BadBridgeCall> {
        match tool {
            BridgeTool::Search => {
                let (queries, list) = texts_of(arguments, "query", "queries")?;
                Ok(BridgeCall::Search(SearchCall {
                    queries,
                    list,
                    limit: limit(arguments.get("limit"), config),
                }))
            }
            BridgeTool::Describe => {
                let (names, list) = texts_of(arguments, "name", "names")?;
                Ok(BridgeCall::Describe(DescribeCall { names, list }))
            }
            BridgeTool::Call => real_call(arguments),
        }
    }
}

/// Reads the arguments of a call: an object, or its JSON text; nothing is an empty object.
pub fn arguments_of(value: Option<&Value>) -> Result<Map<String, Value>, BadBridgeCall> {
    let bad = |message: String| BadBridgeCall {
        message,
        path: Some("arguments".to_owned()),
        hint: Some("`arguments` is a JSON object of the tool's parameters, {} for none".to_owned()),
    };
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            Ok(Value::Null) => Ok(Map::new()),
            Ok(_) => Err(bad("`arguments` must be a JSON object".to_owned())),
            Err(error) => Err(bad(format!("`arguments` is not JSON: {error}"))),
        },
        Some(_) => Err(bad("`arguments` must be a JSON object".to_owned())),
    }
}

/// `null`, nothing and what is no number give the default; everything else is brought into the range.
fn limit(value: Option<&Value>, config: &ToolSearchConfig) -> usize {
    let number = match value {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        // A float beyond the range ends at the range's end.
        Some(number) if !number.is_nan() => {
            (number as usize).clamp(1, config.max_search_limit.max(1))
        }
        _ => config.search_default_limit,
    }
}

/// One text or a list of them, under either name.
fn texts_of(
    arguments: &Map<String, Value>,
    one: &str,
    many: &str,
) -> Result<(Vec<String>, bool), BadBridgeCall> {
    let bad = |message: String| BadBridgeCall {
        message,
        path: Some(format!("arguments.{one}")),
        hint: Some(format!("pass `{one}` as a string")),
    };
    let value = [one, many]
        .into_iter()
        .filter_map(|key| arguments.get(key))
        .find(|value| !value.is_null())
        .ok_or_else(|| bad(format!("`{one}` is required")))?;
    let (texts, list) = match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(list)) if text.trim_start().starts_with('[') => (texts_in(&list), true),
            _ => (vec![text.trim().to_owned()], false),
        },
        Value::Array(list) => (texts_in(list), true),
        Value::Number(_) | Value::Bool(_) => (vec![value.to_string()], false),
        _ => {
            return Err(bad(format!(
                "`{one}` must be a string or a list of strings"
            )));
        }
    };
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    match texts.len() {
        0 => Err(bad(format!("`{one}` is required and must not be blank"))),
        n if n > MOST_AT_ONCE => Err(bad(format!("at most {MOST_AT_ONCE} at once, not {n}"))),
        _ => Ok((texts, list)),
    }
}

fn texts_in(list: &[Value]) -> Vec<String> {
    let scalars = list.iter().filter_map(|value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    });
    scalars.collect()
}

fn real_call(given: &Map<String, Value>) -> Result<BridgeCall, BadBridgeCall> {
    let bad = |path: &str, message: String, hint: &str| BadBridgeCall {
        message,
        path: Some(path.to_owned()),
        hint: Some(hint.to_owned()),
    };
    let inner;
    let given = match given.get("calls").filter(|_| !given.contains_key("name")) {
        None => given,
        Some(calls) => {
            inner = only_call(calls)?;
            &inner
        }
    };
    let name = match given.get("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.trim(),
        Some(_) | None => {
            return Err(bad(
                "arguments.name",
                "`name` is required: the name of the tool to run".to_owned(),
                "find tools with tool_search",
            ));
        }
    };
    if let Some(bridge) = BridgeTool::parse(name) {
        return Err(bad(
            "arguments.name",
            format!(
                "tool_call runs real tools, and `{}` is a bridge tool",
                bridge.as_str()
            ),
            &format!("call `{}` directly", bridge.as_str()),
        ));
    }
    let name = name.to_owned();
    if given.contains_key("arguments") {
        let arguments = arguments_of(given.get("arguments"))?;
        return Ok(BridgeCall::Call { name, arguments });
    }
    // Some models forget the name of the member, or the member itself.
    let others: Vec<(&String, &Value)> = given.iter().filter(|(key, _)| *key != "name").collect();
    let arguments = match others.as_slice() {
        [(key, value @ (Value::Object(_) | Value::String(_)))]
            if matches!(key.as_str(), "args" | "parameters" | "params" | "input") =>
        {
            arguments_of(Some(value))?
        }
        others => others
            .iter()
            .map(|(key, value)| ((*key).clone(), (*value).clone()))
            .collect(),
    };
    Ok(BridgeCall::Call { name, arguments })
}

/// The one call of a batch of one.
fn only_call(calls: &Value) -> Result<Map<String, Value>, BadBridgeCall> {
    let parsed;
    let calls = match calls {
        Value::String(text) => {
            parsed = serde_json::from_str(text).unwrap_or_default();
            &parsed
        }
        calls => calls,
    };
    let bad = |message: &str| BadBridgeCall {
        message: message.to_owned(),
        path: Some("arguments.calls".to_owned()),
        hint: Some("pass `name` and `arguments`, one tool in each tool_call".to_owned()),
    };
    match calls {
        Value::Object(call) => Ok(call.clone()),
        Value::Array(list) => match list.as_slice() {
            [Value::Object(call)] => Ok(call.clone()),
            [] | [_] => Err(bad("`calls` holds no call")),
            _ => Err(bad("tool_call runs one tool at a time")),
        },
        _ => Err(bad("`calls` holds no call")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(tool: BridgeTool, arguments: Value) -> Result<BridgeCall, BadBridgeCall> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        BridgeCall::parse(tool, &arguments, &ToolSearchConfig::default())
    }

    fn check_search(arguments: Value, queries: &[&str], list: bool, limit: usize) {
        let queries = queries.iter().map(|query| (*query).to_owned()).collect();
        let expected = BridgeCall::Search(SearchCall {
            queries,
            list,
            limit,
        });
        assert_eq!(parse(BridgeTool::Search, arguments), Ok(expected));
    }

    #[test]
    fn reads_queries_in_every_shape() {
        check_search(json!({"query": " send email "}), &["send email"], false, 5);
        check_search(json!({"query": ["a", " ", "b"]}), &["a", "b"], true, 5);
        check_search(json!({"queries": ["a"]}), &["a"], true, 5);
        check_search(json!({"queries": "a"}), &["a"], false, 5);
        check_search(json!({"query": null, "queries": ["a"]}), &["a"], true, 5);
        check_search(json!({"query": "[\"a\",\"b\"]"}), &["a", "b"], true, 5);
        check_search(json!({"query": "[not json"}), &["[not json"], false, 5);
        check_search(json!({"query": 7}), &["7"], false, 5);
    }

    #[test]
    fn brings_limits_into_range() {
        for (limit, expected) in [
            (json!(null), 5),
            (json!(3), 3),
            (json!(3.9), 3),
            (json!("4"), 4),
            (json!(0), 1),
            (json!(-7), 1),
            (json!(999), 20),
            (json!(1e300), 20),
            (json!("many"), 5),
            (json!([1]), 5),
        ] {
            check_search(
                json!({"query": "a", "limit": limit}),
                &["a"],
                false,
                expected,
            );
        }
    }

    #[test]
    fn says_what_is_missing() {
        for arguments in [
            json!({}),
            json!({"query": " "}),
            json!({"query": []}),
            json!({"query": {}}),
            json!({"query": null}),
        ] {
            let bad = parse(BridgeTool::Search, arguments).unwrap_err();
            assert!(bad.message.contains("`query`"), "{bad:?}");
        }
        assert!(
            parse(BridgeTool::Describe, json!({}))
                .unwrap_err()
                .message
                .contains("`name` is required")
        );
        assert!(
            parse(BridgeTool::Call, json!({"arguments": {}}))
                .unwrap_err()
                .message
                .contains("`name` is required")
        );
        let many: Vec<String> = (0..30).map(|n| n.to_string()).collect();
        assert!(
            parse(BridgeTool::Search, json!({"query": many}))
                .unwrap_err()
                .message
                .contains("at most 20")
        );
    }

    #[test]
    fn reads_names_in_every_shape() {
        let check = |arguments, names: &[&str], list| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(
                parse(BridgeTool::Describe, arguments),
                Ok(BridgeCall::Describe(DescribeCall { names, list }))
            );
        };
        check(json!({"name": "a"}), &["a"], false);
        check(json!({"name": ["a", "b"]}), &["a", "b"], true);
        check(json!({"names": ["a"]}), &["a"], true);
    }

    #[test]
    fn reads_calls_in_every_shape() {
        let x = json!({"x": 1});
        for arguments in [
            json!({"name": "t", "arguments": {"x": 1}}),
            json!({"name": " t ", "arguments": "{\"x\":1}"}),
            json!({"calls": [{"name": "t", "arguments": {"x": 1}}]}),
            json!({"calls": {"name": "t", "arguments": {"x": 1}}}),
            json!({"calls": "[{\"name\":\"t\",\"arguments\":{\"x\":1}}]"}),
            json!({"name": "t", "args": {"x": 1}}),
            json!({"name": "t", "parameters": "{\"x\":1}"}),
            json!({"name": "t", "x": 1}),
        ] {
            let expected = BridgeCall::Call {
                name: "t".to_owned(),
                arguments: x.as_object().unwrap().clone(),
            };
            assert_eq!(parse(BridgeTool::Call, arguments), Ok(expected));
        }
        for arguments in [
            json!({"name": "t"}),
            json!({"name": "t", "arguments": null}),
            json!({"name": "t", "arguments": " "}),
            json!({"name": "t", "arguments": {}}),
        ] {
            let expected = BridgeCall::Call {
                name: "t".to_owned(),
                arguments: Map::new(),
            };
            assert_eq!(parse(BridgeTool::Call, arguments), Ok(expected));
        }
    }

    #[test]
    fn refuses_calls_that_cannot_be_read() {
        for (arguments, message) in [
            (
                json!({"name": "t", "arguments": "{x"}),
                "`arguments` is not JSON",
            ),
            (
                json!({"name": "t", "arguments": [1]}),
                "must be a JSON object",
            ),
            (
                json!({"name": "t", "arguments": "[1]"}),
                "must be a JSON object",
            ),
            (
                json!({"calls": [{"name": "a"}, {"name": "b"}]}),
                "one tool at a time",
            ),
            (json!({"calls": []}), "holds no call"),
            (
                json!({"name": "tool_call", "arguments": {}}),
                "is a bridge tool",
            ),
            (
                json!({"name": "Tool-Search", "arguments": {}}),
                "is a bridge tool",
            ),
        ] {
            let bad = parse(BridgeTool::Call, arguments).unwrap_err();
            assert!(bad.message.contains(message), "{bad:?}");
        }
    }
}
