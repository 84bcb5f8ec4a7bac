//! One tool in full: its description, and its arguments as a table.

use serde_json::{Map, Value};

use crate::cli::layout::{Cell, Table, harmless, one_line, wrapped};
use crate::cli::style::{FAINT, NAME, paint};

/// Schemas nest deeper than people read.
const MAX_DEPTH: usize = 4;

/// `title` is the tool's name and where it is from.
pub fn text(title: &str, description: &str, parameters: &Value, columns: Option<usize>) -> String {
    let mut text = format!("{}\n", paint(NAME, &harmless(title)));
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(2).max(16));
    for paragraph in description
        .split("\n\n")
        .filter(|text| !text.trim().is_empty())
    {
        for line in wrapped(&one_line(paragraph), room) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text.push('\n');
    let mut arguments = Vec::new();
    collect(parameters, "", MAX_DEPTH, &mut arguments);
    if arguments.is_empty() {
        text.push_str(&format!("  {}\n", paint(FAINT, "no arguments")));
        return text;
    }
    let mut table = Table::new(&["ARGUMENT", "TYPE", "DEFAULT", "DESCRIPTION"]).wrapping();
    for argument in arguments {
        let default = match argument.default {
            Some(default) => Cell::styled(FAINT, default),
            None if argument.is_required => "required".into(),
            None => "".into(),
        };
        table.row([
            argument.name.into(),
            argument.type_name.into(),
            default,
            argument.description.into(),
        ]);
    }
    text.push_str(&table.text("  ", columns));
    text
}

/// In one line: `(value: number, from: string, decimals?: integer)`.
pub fn signature(parameters: &Value) -> String {
    let mut arguments = Vec::new();
    collect(parameters, "", 0, &mut arguments);
    let arguments = arguments.iter().map(|argument| {
        let mark = if argument.is_required { "" } else { "?" };
        format!("{}{mark}: {}", argument.name, argument.type_name)
    });
    format!("({})", arguments.collect::<Vec<_>>().join(", "))
}

struct Argument {
    /// `a.b` for a member, `a[]` for an item.
    name: String,
    type_name: String,
    is_required: bool,
    default: Option<String>,
    description: String,
}

fn collect(schema: &Value, prefix: &str, depth: usize, arguments: &mut Vec<Argument>) {
    let Some(properties) = schema["properties"].as_object() else {
        return;
    };
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, schema) in properties {
        let path = format!("{prefix}{}", one_line(name));
        arguments.push(Argument {
            name: path.clone(),
            type_name: one_line(&type_name(schema)),
            is_required: required.contains(&name.as_str()),
            default: default(schema),
            description: one_line(schema["description"].as_str().unwrap_or_default()),
        });
        if depth > 0 {
            collect(schema, &format!("{path}."), depth - 1, arguments);
            collect(
                &schema["items"],
                &format!("{path}[]."),
                depth - 1,
                arguments,
            );
        }
    }
}

/// An empty default says no more than that the argument may be left out.
fn default(schema: &Value) -> Option<String> {
    match schema.get("default")? {
        Value::Null => None,
        Value::String(text) => Some(one_line(text)),
        Value::Array(items) if items.is_empty() => None,
        value => Some(one_line(&value.to_string())),
    }
}

fn type_name(schema: &Value) -> String {
    let Some(schema) = schema.as_object() else {
        return "any".into();
    };
    if let Some(value) = schema.get("const") {
        return literal(value);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return joined(values.iter().filter(|value| !value.is_null()).map(literal));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(schemas) = schema.get(key).and_then(Value::as_array) {
            let names = schemas.iter().map(type_name);
            return joined(names.filter(|name| name != "null"));
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => with_items(name, schema),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            joined(
                names
                    .filter(|name| *name != "null")
                    .map(|name| with_items(name, schema)),
            )
        }
        _ => "any".into(),
    }
}

fn with_items(name: &str, schema: &Map<String, Value>) -> String {
    match schema.get("items") {
        Some(items) if name == "array" => {
            let items = type_name(items);
            if items.contains('|') && !items.starts_with('(') {
                format!("({items})[]")
            } else {
                format!("{items}[]")
            }
        }
        _ => name.to_owned(),
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Long choices would push the descriptions off the screen.
fn joined(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    names.dedup();
    if names.len() > 5 {
        names.truncate(4);
        names.push("…".into());
    }
    names.join("|")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    #[test]
    fn shows_nested_arguments_with_their_types_and_defaults() {
        let parameters = json!({
            "type": "object",
            "required": ["title", "recurrence"],
            "properties": {
                "title": {"type": "string", "description": "What it\nis called."},
                "colour": {"enum": ["red", "green"], "default": "red"},
                "attendees": {"type": "array", "items": {"type": "object", "properties": {
                    "mail": {"type": ["string", "null"], "default": null},
                }}},
                "recurrence": {"type": "object", "required": ["count"], "properties": {
                    "count": {"type": "integer", "description": "How often it takes place, the first time included."},
                }},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": 20},
                "matrix": {"type": "array", "items": {"type": "array", "items": {"type": ["string", "number"]}}},
                "free": true,
                "unit": {"oneOf": [{"const": "a"}, {"const": "b"}, {"const": "c"}, {"const": "d"}, {"const": "e"}, {"const": "f"}]},
            },
        });
        let description = "Creates an event in the calendar.\n\nSee also the others.";
        let text = text(
            "mcp_calendar_create_event",
            description,
            &parameters,
            Some(72),
        );
        expect![[r#"
            mcp_calendar_create_event
              Creates an event in the calendar.
              See also the others.

              ARGUMENT          TYPE                 DEFAULT   DESCRIPTION
              title             string               required  What it is called.
              colour            red|green            red
              attendees         object[]
              attendees[].mail  string
              recurrence        object               required
              recurrence.count  integer              required  How often it takes
                                                               place, the first time
                                                               included.
              limit             integer              20
              matrix            (string|number)[][]
              free              any
              unit              a|b|c|d|…
        "#]]
        .assert_eq(&strip_str(&text).to_string());
    }

    #[test]
    fn a_tool_may_have_no_arguments() {
        let text = text("mcp_x_ping", "", &json!({"type": "object"}), None);
        expect![[r#"
            mcp_x_ping

              no arguments
        "#]]
        .assert_eq(&strip_str(&text).to_string());
    }
}
