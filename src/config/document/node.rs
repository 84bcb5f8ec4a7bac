//! What a tree of keys and values is made of.

use saphyr_parser::Tag;
use serde_json::{Map, Value};

use crate::config::Range;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub content: Content,
    /// `None` where there is no text, as in a configuration sent by a host.
    pub range: Option<Range>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Null,
    /// With the text as it was written.
    Bool(bool, String),
    /// With the text as it was written.
    Number(f64, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_range: Option<Range>,
    pub value: Node,
}

impl Node {
    pub(super) fn new(content: Content, range: Option<Range>) -> Node {
        Node { content, range }
    }

    /// The tree of a JSON object, without ranges.
    pub fn of_object(object: &Map<String, Value>) -> Node {
        let entries = object.iter().map(|(key, value)| Entry {
            key: key.clone(),
            key_range: None,
            value: Node::of_value(value),
        });
        Node::new(Content::Map(entries.collect()), None)
    }

    fn of_value(value: &Value) -> Node {
        let content = match value {
            Value::Null => Content::Null,
            Value::Bool(value) => Content::Bool(*value, value.to_string()),
            Value::Number(number) => {
                Content::Number(number.as_f64().unwrap_or(f64::NAN), number.to_string())
            }
            Value::String(text) => Content::Text(text.clone()),
            Value::Array(items) => Content::List(items.iter().map(Node::of_value).collect()),
            Value::Object(object) => return Node::of_object(object),
        };
        Node::new(content, None)
    }

    /// How much a copy of the tree from here down takes, in nodes of ordinary size.
    ///
    /// `None` where that is more than `budget`, or the tree goes deeper than `depth`.
    pub(super) fn weight(&self, budget: usize, depth: usize) -> Option<usize> {
        let of_text = |text: &str| text.len() / 32;
        let mut weight = 1 + self.content.scalar_text().map_or(0, of_text);
        let mut add = |key: &str, node: &Node| -> Option<()> {
            weight += of_text(key);
            weight += node.weight(budget.checked_sub(weight)?, depth.checked_sub(1)?)?;
            Some(())
        };
        match &self.content {
            Content::List(items) => items.iter().try_for_each(|item| add("", item))?,
            Content::Map(entries) => entries
                .iter()
                .try_for_each(|entry| add(&entry.key, &entry.value))?,
            _ => {}
        }
        (weight <= budget).then_some(weight)
    }
}

impl Content {
    /// Resolves a scalar as YAML 1.2 does: `on`, `yes` and `1.2.3` are text.
    pub(super) fn of_scalar(text: String, plain: bool, tag: Option<&Tag>) -> Content {
        let core = tag.filter(|tag| tag.is_yaml_core_schema());
        if !plain || core.is_some_and(|tag| tag.suffix == "str") {
            return Content::Text(text);
        }
        match text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Content::Null,
            "true" | "True" | "TRUE" => Content::Bool(true, text),
            "false" | "False" | "FALSE" => Content::Bool(false, text),
            _ => match number(&text) {
                Some(value) => Content::Number(value, text),
                None => Content::Text(text),
            },
        }
    }

    /// The text of a scalar, as it was written.
    pub fn scalar_text(&self) -> Option<&str> {
        match self {
            Content::Null => Some(""),
            Content::Bool(_, text) | Content::Number(_, text) | Content::Text(text) => Some(text),
            Content::List(_) | Content::Map(_) => None,
        }
    }

    /// What kind of value this is, in a message.
    pub fn kind(&self) -> &'static str {
        match self {
            Content::Null => "nothing",
            Content::Bool(..) => "true or false",
            Content::Number(..) => "a number",
            Content::Text(_) => "text",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }
}

/// The value of a plain scalar that YAML's core schema takes for a number.
fn number(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let radix = |digits: &str, radix| {
        let plain = digits.chars().all(|c| c.is_digit(radix));
        let value = u64::from_str_radix(digits, radix).ok()?;
        plain.then_some(value as f64)
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    // Rust would also take `inf`, `infinity` and `nan`.
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    if !text.chars().all(numeric) {
        return None;
    }
    text.parse().ok()
}
