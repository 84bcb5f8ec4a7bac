//! JSON Schemas of tools: made whole, written for a model API, checked against the arguments of a call.

use serde_json::{Map, Value};

pub mod coerce;
mod gemini;
pub mod normalise;
pub mod project;
pub mod refs;
pub mod rename;
pub mod signature;
pub mod validate;

/// A model API's way of writing a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// OpenAI chat completions, and the many APIs that follow it.
    #[default]
    Openai,
    /// OpenAI responses: flat.
    OpenaiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini function declarations with `parametersJsonSchema`.
    Gemini,
    /// The MCP tool under the name that the model sees.
    Mcp,
}

impl Format {
    pub const ALL: [Format; 5] = [
        Format::Openai,
        Format::OpenaiResponses,
        Format::Anthropic,
        Format::Gemini,
        Format::Mcp,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Format::Openai => "openai",
            Format::OpenaiResponses => "openai-responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
            Format::Mcp => "mcp",
        }
    }

    pub fn parse(name: &str) -> Option<Format> {
        Format::ALL
            .into_iter()
            .find(|format| format.as_str() == name)
    }
}

/// Deeper schemas than this are cut: what no model reads may not cost us the stack.
pub const MAX_DEPTH: usize = 128;

/// Keywords whose value is one schema.
const ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// Keywords whose value is a list of schemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "oneOf", "prefixItems", "items"];

/// Keywords whose value is an object of schemas.
const NAMED: [&str; 6] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

/// Shows each direct subschema of a schema, in the order in which they stand.
pub fn each_subschema_mut(schema: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Value)) {
    for (keyword, value) in schema {
        match value {
            Value::Array(list) if LIST.contains(&keyword.as_str()) => {
                list.iter_mut().for_each(&mut *visit);
            }
            Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                named.values_mut().for_each(&mut *visit);
            }
            value if ONE.contains(&keyword.as_str()) && !value.is_array() => visit(value),
            _ => {}
        }
    }
}

/// Shows each direct subschema of a schema with its path from there, such as `/properties/name`.
pub fn each_subschema<'a>(schema: &'a Map<String, Value>, visit: &mut dyn FnMut(&str, &'a Value)) {
    for (keyword, value) in schema {
        match value {
            Value::Array(list) if LIST.contains(&keyword.as_str()) => {
                for (at, value) in list.iter().enumerate() {
                    visit(&format!("/{keyword}/{at}"), value);
                }
            }
            Value::Object(named) if NAMED.contains(&keyword.as_str()) => {
                for (name, value) in named {
                    visit(&format!("/{keyword}/{}", refs::escape(name)), value);
                }
            }
            value if ONE.contains(&keyword.as_str()) && !value.is_array() => {
                visit(&format!("/{keyword}"), value);
            }
            _ => {}
        }
    }
}

/// The properties that a schema names at its root.
pub fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The names that a schema requires at its root.
pub fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let list = schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}
