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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::listing::{ListedTool, build};
    use crate::names::ServerName;

    /// Numbers that are the same at every run.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % sides as u64) as usize
        }

        /// Anything: sometimes a schema, often not.
        fn value(&mut self, depth: usize) -> Value {
            const WORDS: [&str; 14] = [
                "string",
                "int",
                "#",
                "#/$defs/a",
                "#/properties/b",
                "#x",
                "http://x.test/y",
                "object",
                "array",
                "null",
                "",
                "(",
                "^a+$",
                "🏴\u{e0041}",
            ];
            match self.roll(if depth == 0 { 5 } else { 8 }) {
                0 => Value::Null,
                1 => json!(self.roll(2) == 0),
                2 => json!(self.roll(9) as f64 / 2.0 - 1.0),
                3 | 4 => json!(WORDS[self.roll(WORDS.len())]),
                5 => (0..self.roll(4)).map(|_| self.value(depth - 1)).collect(),
                _ => self.schema(depth - 1),
            }
        }

        fn schema(&mut self, depth: usize) -> Value {
            let keywords: Vec<&str> = ONE.into_iter().chain(LIST).chain(NAMED).collect();
            const OTHERS: [&str; 22] = [
                "type",
                "$ref",
                "enum",
                "const",
                "required",
                "pattern",
                "nullable",
                "minimum",
                "exclusiveMinimum",
                "minLength",
                "default",
                "format",
                "description",
                "title",
                "$id",
                "id",
                "$schema",
                "$anchor",
                "$dynamicRef",
                "uniqueItems",
                "examples",
                "dependentRequired",
            ];
            const NAMES: [&str; 6] = ["a", "b", "$c d", "", "properties", "type"];
            let mut members = Map::new();
            for _ in 0..self.roll(6) {
                let at = self.roll(keywords.len() + OTHERS.len());
                let keyword = keywords
                    .get(at)
                    .copied()
                    .unwrap_or_else(|| OTHERS[at - keywords.len()]);
                let value = if NAMED.contains(&keyword) && self.roll(4) > 0 {
                    let names = (0..self.roll(4)).map(|_| NAMES[self.roll(NAMES.len())].to_owned());
                    let names: Vec<String> = names.collect();
                    Value::Object(
                        names
                            .into_iter()
                            .map(|name| (name, self.value(depth)))
                            .collect(),
                    )
                } else {
                    self.value(depth)
                };
                members.insert(keyword.to_owned(), value);
            }
            Value::Object(members)
        }
    }

    #[test]
    fn nothing_that_a_server_can_send_breaks_a_definition_or_a_check() {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let server = ServerName::new("s").unwrap();
        let mut compiled = 0;
        for round in 0..600 {
            let sent = if round % 10 == 0 {
                dice.value(4)
            } else {
                dice.schema(5)
            };
            let listed = ListedTool {
                name: "t".to_owned(),
                input_schema: sent.clone(),
                ..ListedTool::default()
            };
            let listing = build(&server, vec![listed], |_| true);
            let tool = &listing.tools[0];
            for format in Format::ALL {
                let definition: Value = serde_json::from_str(tool.definition(format)).unwrap();
                assert!(definition.is_object());
                if format != Format::Mcp {
                    let schema = project::parameters(&sent, format);
                    assert!(
                        schema["type"] == "object" && schema["properties"].is_object(),
                        "{sent}"
                    );
                    assert_eq!(refs::dangling(&schema), [], "{sent}");
                }
            }
            signature::signature(&sent);
            compiled += usize::from(tool.checker().is_compiled());
            let arguments = dice.schema(3);
            let _ = tool.checker().check(arguments.as_object().unwrap());
        }
        assert!(compiled > 560, "{compiled}");
    }
}
