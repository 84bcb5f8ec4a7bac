//! Describes the configuration to editors, from the same table of keys that reads it.

use serde_json::{Map, Value, json};

use crate::config::keys::{self, Effect, Key, REMARKS, Table};
use crate::config::kind::{Kind, Words};

/// A text that holds a variable may become anything.
const VARIABLE: &str = r"\$\{";

/// The JSON Schema (2020-12) of a configuration file.
///
/// It accepts what is read without an error or a warning, and keys of others where they have a place.
pub fn json_schema() -> Value {
    let mut schema = of_table(&keys::TOP);
    let mut whole = Map::new();
    whole.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    whole.insert("title".to_owned(), json!("Configuration of toolcrib"));
    whole.insert(
        "description".to_owned(),
        json!("MCP servers, and how their tools are shown to a model. Other programs may keep keys of their own beside them."),
    );
    whole.append(&mut schema);
    Value::Object(whole)
}

fn of_table(table: &Table) -> Map<String, Value> {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.to_owned(), Value::Object(of_key(key)));
        for alias in key.aliases {
            let mut schema = of_kind(&key.kind);
            let description = format!("The same as `{}`. {}", key.name, key.doc);
            schema.insert("description".to_owned(), json!(description));
            properties.insert((*alias).to_owned(), Value::Object(schema));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!(["object", "null"]));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if table.shared {
        schema.insert("additionalProperties".to_owned(), json!(true));
    } else {
        schema.insert(
            "patternProperties".to_owned(),
            json!({remarks_pattern(): true}),
        );
        schema.insert("additionalProperties".to_owned(), json!(false));
    }
    schema
}

fn of_key(key: &Key) -> Map<String, Value> {
    let mut schema = of_kind(&key.kind);
    schema.insert("description".to_owned(), json!(key.doc));
    if let Effect::Nothing(instead) = key.effect
        && !instead.is_empty()
    {
        let description = format!("{} Instead: {instead}.", key.doc);
        schema.insert("description".to_owned(), json!(description));
    }
    // The table holds JSON, which a test makes sure of.
    if let Ok(default) = serde_json::from_str::<Value>(key.default) {
        schema.insert("default".to_owned(), default);
    }
    let examples: Vec<Value> = key
        .examples
        .iter()
        .filter_map(|example| serde_json::from_str(example).ok())
        .collect();
    if !examples.is_empty() {
        schema.insert("examples".to_owned(), json!(examples));
    }
    schema
}

fn of_kind(kind: &Kind) -> Map<String, Value> {
    let schema = match kind {
        Kind::Any => json!({}),
        Kind::Program => {
            json!({"type": ["string", "null"], "pattern": format!(r"^\s*\S+\s*$|[/\\]|{VARIABLE}")})
        }
        Kind::Path => json!({"type": ["string", "null"], "pattern": r"\S"}),
        Kind::PathOr(words) => {
            let spelled = spelled(words).into_iter().filter(|word| !word.is_string());
            let rest = json!({"type": ["string", "null"], "pattern": r"\S"});
            json!({"anyOf": [rest, {"enum": spelled.collect::<Vec<_>>()}]})
        }
        Kind::Url => json!({
            "type": ["string", "null"],
            "pattern": format!(r"^\s*[hH][tT][tT][pP][sS]?://[^\s/?#:]\S*\s*$|{VARIABLE}"),
        }),
        Kind::Word { accepted, .. } => Value::Object(of_words(accepted, true)),
        Kind::Number { least, most } => json!({
            "type": ["number", "string", "null"],
            "minimum": least, "maximum": most,
            "pattern": format!(r"^\s*[0-9._]+\s*$|{VARIABLE}"),
        }),
        Kind::Count { least, most } => json!({
            "type": ["integer", "string", "null"],
            "minimum": least, "maximum": most,
            "pattern": format!(r"^\s*[0-9_]+\s*$|{VARIABLE}"),
        }),
        Kind::Duration { least, most } => json!({
            "type": ["number", "string", "null"],
            "minimum": least, "maximum": most,
            "pattern": duration_pattern(),
        }),
        Kind::Interval { least, most } => json!({
            "anyOf": [
                {"type": ["number", "string"], "minimum": least, "maximum": most, "pattern": duration_pattern()},
                {"enum": [false, 0, "off", "no", "never", null]},
            ],
        }),
        Kind::Arguments => json!({"type": ["array", "string", "null"], "items": scalar()}),
        Kind::Environment => json!({
            "type": ["object", "null"],
            "propertyNames": {"pattern": "^[^=]+$"},
            "additionalProperties": scalar(),
        }),
        Kind::Headers => json!({
            "type": ["object", "null"],
            "propertyNames": {"pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},
            "additionalProperties": scalar(),
        }),
        Kind::VariableNames => {
            one_or_more(&json!({"type": "string", "pattern": r"^[^=]*[^=\s][^=]*$"}))
        }
        Kind::Globs => one_or_more(&json!({"type": "string"})),
        Kind::TextMap => json!({"type": ["object", "null"], "additionalProperties": scalar()}),
        Kind::TextsMap => json!({
            "type": ["object", "null"],
            "additionalProperties": {"type": ["array", "string", "number", "boolean"], "items": scalar()},
        }),
        Kind::Table(table) => Value::Object(of_table(table)),
        Kind::TableOr { table, short } => {
            json!({"anyOf": [of_table(table), of_words(short, false)]})
        }
        Kind::Servers => {
            let server = of_server();
            let remark = json!({"type": ["string", "number", "boolean", "null"]});
            json!({
                "type": ["object", "null"],
                "propertyNames": {"pattern": r"\S"},
                "patternProperties": {remarks_pattern(): {"anyOf": [remark, server]}},
                "additionalProperties": server,
            })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn of_server() -> Value {
    let mut schema = of_table(&keys::SERVER);
    schema.insert("type".to_owned(), json!("object"));
    let names = ["command", "url"]
        .iter()
        .filter_map(|name| keys::SERVER.find(name));
    let required: Vec<Value> = names
        .flat_map(|key| key.aliases.iter().chain([&key.name]))
        .map(|name| json!({"required": [name]}))
        .collect();
    schema.insert("anyOf".to_owned(), json!(required));
    Value::Object(schema)
}

fn of_words(words: Words, or_variable: bool) -> Map<String, Value> {
    let mut accepted = spelled(words);
    accepted.push(Value::Null);
    let words = json!({"enum": accepted});
    let variable = json!({"type": "string", "pattern": VARIABLE});
    let schema = if or_variable {
        json!({"anyOf": [words, variable]})
    } else {
        words
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Each word as a text, and as the number or boolean that looks the same.
fn spelled(words: Words) -> Vec<Value> {
    let mut spelled: Vec<Value> = words.iter().map(|(word, _)| json!(word)).collect();
    let others = words
        .iter()
        .filter_map(|(word, _)| serde_json::from_str(word).ok());
    spelled.extend(others);
    spelled
}

fn one_or_more(item: &Value) -> Value {
    json!({"anyOf": [item, {"type": "array", "items": item}, {"type": "null"}]})
}

fn scalar() -> Value {
    json!({"type": ["string", "number", "boolean"]})
}

fn duration_pattern() -> String {
    format!(r"^\s*[0-9._]+\s*(ms|s|m|min|h)?\s*$|{VARIABLE}")
}

/// The pattern of keys that are remarks or extensions.
fn remarks_pattern() -> String {
    let escaped = REMARKS.map(|prefix| prefix.replace('$', r"\$"));
    format!("^({})", escaped.join("|"))
}

#[cfg(test)]
mod tests;
