//! The blocks of an answer as text, and what of the structured content the text does not say.

use serde_json::{Map, Value, json};

use crate::text::{shorten, without_tags};

/// Shorter data is no burden, and may be equal to another text by chance, in characters.
const MIN_BINARY: usize = 64;

/// The data of an image, a sound or a file in an answer, and what is shown in its place.
pub(super) struct Binary<'a> {
    data: &'a str,
    placeholder: String,
}

/// A block as an object, whatever was sent for one.
pub(super) fn as_block(block: Value) -> Value {
    match block {
        Value::Object(_) => block,
        Value::String(text) => json!({"type": "text", "text": text}),
        other => json!({"type": "text", "text": other.to_string()}),
    }
}

/// All that is base64 in the blocks.
pub(super) fn binary(blocks: &[Value]) -> Vec<Binary<'_>> {
    let found = blocks.iter().filter_map(|block| {
        let data = match kind(block) {
            "image" | "audio" => block.get("data"),
            "resource" => block
                .get("resource")
                .and_then(|resource| resource.get("blob")),
            _ => None,
        };
        let data = data.and_then(Value::as_str)?;
        (data.len() >= MIN_BINARY).then(|| Binary {
            data,
            placeholder: placeholder(block),
        })
    });
    found.collect()
}

/// A block as the model reads it.
pub(super) fn text_of(block: &Value, binary: &[Binary]) -> String {
    match kind(block) {
        "text" => {
            let text = block
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default();
            replaced(&without_tags(text), binary)
        }
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            match resource.get("text").and_then(Value::as_str) {
                Some(text) => {
                    let text = replaced(&without_tags(text), binary);
                    format!("[resource {}]\n{text}", field(resource, "uri"))
                }
                None => placeholder(block),
            }
        }
        _ => placeholder(block),
    }
}

/// A value with placeholders where it repeats a block's data.
pub(super) fn without_binary(value: &Value, binary: &[Binary]) -> Value {
    match value {
        _ if binary.is_empty() => value.clone(),
        Value::String(text) => replaced(text, binary).into(),
        Value::Array(list) => list
            .iter()
            .map(|value| without_binary(value, binary))
            .collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), without_binary(value, binary)));
            Value::Object(members.collect())
        }
        value => value.clone(),
    }
}

/// Whether the texts say a structured value already: as JSON, or bare where a server wraps what is no object in `result`.
pub(super) fn is_repeated(structured: &Value, texts: &[String]) -> bool {
    let parsed: Vec<Option<Value>> = texts
        .iter()
        .map(|text| serde_json::from_str(text.trim()).ok())
        .collect();
    let says = |at: usize, value: &Value| match value {
        Value::String(value) => *value == texts[at],
        Value::Null => matches!(texts[at].as_str(), "null" | "None"),
        value => parsed[at].as_ref() == Some(value),
    };
    let is_said = |value: &Value| (0..texts.len()).any(|at| says(at, value));
    let is_listed = |list: &Vec<Value>| {
        list.len() == texts.len() && list.iter().enumerate().all(|(at, value)| says(at, value))
    };
    let wrapped = only_member(structured, "result");
    is_said(structured)
        || wrapped.is_some_and(|value| is_said(value) || value.as_array().is_some_and(is_listed))
}

fn only_member<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let members: &Map<String, Value> = value.as_object()?;
    members.get(key).filter(|_| members.len() == 1)
}

fn kind(block: &Value) -> &str {
    match block.get("type").and_then(Value::as_str) {
        Some(kind) => kind,
        None if block.get("text").is_some_and(Value::is_string) => "text",
        None => "",
    }
}

/// What stands for a block that is no text.
fn placeholder(block: &Value) -> String {
    match kind(block) {
        kind @ ("image" | "audio") => {
            let mime = field(block, "mimeType");
            format!(
                "[{kind} {mime}, {}]",
                size(decoded_length(field(block, "data")))
            )
        }
        "resource" => {
            let resource = block.get("resource").unwrap_or(&Value::Null);
            let length = decoded_length(field(resource, "blob"));
            let words = ["uri", "mimeType"].map(|key| field(resource, key));
            format!("[resource {}, {}]", words.join(" ").trim(), size(length))
        }
        "resource_link" => {
            let mut words = format!("{}: {}", field(block, "name"), field(block, "uri"));
            for detail in ["mimeType", "description"] {
                let detail = field(block, detail);
                if !detail.is_empty() {
                    words = format!("{words}, {}", shorten(&without_tags(detail), 300));
                }
            }
            if let Some(bytes) = block.get("size").and_then(Value::as_u64) {
                words = format!("{words}, {}", size(bytes as usize));
            }
            format!("[link {words}]")
        }
        kind => {
            let mut rest = block.clone();
            if let Value::Object(members) = &mut rest {
                members.shift_remove("type");
            }
            format!(
                "[block of unknown type `{kind}`: {}]",
                shorten(&rest.to_string(), 200)
            )
        }
    }
}

fn field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn replaced(text: &str, binary: &[Binary]) -> String {
    let mut text = text.to_owned();
    for Binary { data, placeholder } in binary {
        if text.len() >= data.len() && text.contains(data) {
            text = text.replace(data, placeholder);
        }
    }
    text
}

fn decoded_length(base64: &str) -> usize {
    let padding = base64
        .bytes()
        .rev()
        .take(2)
        .filter(|byte| *byte == b'=')
        .count();
    (base64.len() / 4 * 3).saturating_sub(padding)
}

/// Bytes as a person says them.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", (bytes + 500) / 1_000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
