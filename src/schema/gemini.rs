//! What Gemini takes of JSON Schema, and how the rest is said there.
//!
//! Its documented keywords are few; what else a schema says is written with them or left out.

use serde_json::{Map, Value, json};

use crate::schema::project::{MAX_BRANCHES, is_list, merge_into};
use crate::schema::refs;

/// References into the tree are written out down to here, as only those to `$defs` are taken.
const MAX_WRITTEN_OUT: usize = 3;
const MAX_DEPTH: usize = 64;

/// References that fan out end here; the largest of 6,474 real tools has some thousands of schemas inside.
const MAX_SCHEMAS: usize = 20_000;

/// Rewrites a normalised schema.
pub(super) fn rewrite(root: &Value) -> Value {
    let mut rewriter = Rewriter {
        root,
        budget: MAX_SCHEMAS,
    };
    let mut schema = rewriter.rewrite(root, 0, 0);
    let definitions = ["$defs", "definitions"]
        .into_iter()
        .filter_map(|keyword| root.get(keyword)?.as_object())
        .flatten();
    let definitions: Map<String, Value> = definitions
        .map(|(name, definition)| (name.clone(), rewriter.rewrite(definition, 0, 0)))
        .collect();
    if let Value::Object(members) = &mut schema {
        members.entry("properties").or_insert_with(|| json!({}));
        if !definitions.is_empty() {
            members.insert("$defs".to_owned(), Value::Object(definitions));
        }
    }
    schema
}

struct Rewriter<'a> {
    root: &'a Value,
    /// Schemas that may still be written.
    budget: usize,
}

impl Rewriter<'_> {
    fn rewrite(&mut self, schema: &Value, depth: usize, written_out: usize) -> Value {
        let Value::Object(members) = schema else {
            return json!({});
        };
        if depth > MAX_DEPTH || self.budget == 0 {
            return json!({});
        }
        self.budget -= 1;
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.rewrite_reference(reference, depth, written_out);
        }
        let mut members = members.clone();
        self.merge_all_of(&mut members);
        let nullable = single_type(&mut members);
        let mut written = Map::new();
        for (keyword, value) in &members {
            let inner = |value: &Value| self.rewrite(value, depth + 1, written_out);
            write_keyword(keyword, value, &members, inner, &mut written);
        }
        infer_type(&mut written);
        if nullable {
            written.insert("nullable".to_owned(), json!(true));
        }
        if is_list(&written) {
            written.entry("items").or_insert_with(|| json!({}));
        }
        if written.get("type").is_some_and(|name| name == "object") {
            written.entry("properties").or_insert_with(|| json!({}));
        }
        keep_known_required(&mut written);
        Value::Object(written)
    }

    fn rewrite_reference(&mut self, reference: &str, depth: usize, written_out: usize) -> Value {
        for prefix in ["#/$defs/", "#/definitions/"] {
            if let Some(name) = reference.strip_prefix(prefix)
                && !name.contains('/')
            {
                return json!({ "$ref": format!("#/$defs/{name}") });
            }
        }
        match refs::resolve_fully(self.root, reference) {
            Some(target) if written_out < MAX_WRITTEN_OUT => {
                self.rewrite(target, depth + 1, written_out + 1)
            }
            _ => json!({}),
        }
    }

    /// `allOf` is not taken; unions beside it are.
    fn merge_all_of(&self, members: &mut Map<String, Value>) {
        if !members.contains_key("allOf") {
            return;
        }
        let unions: Vec<(String, Value)> = ["anyOf", "oneOf"]
            .into_iter()
            .filter_map(|keyword| members.shift_remove_entry(keyword))
            .collect();
        merge_into(members, self.root, &mut { MAX_BRANCHES }, 0);
        members.extend(unions);
    }
}

fn write_keyword(
    keyword: &str,
    value: &Value,
    members: &Map<String, Value>,
    mut inner: impl FnMut(&Value) -> Value,
    written: &mut Map<String, Value>,
) {
    match keyword {
        "type" | "title" | "description" | "minItems" | "maxItems" | "minimum" | "maximum"
        | "required" => {
            written.insert(keyword.to_owned(), value.clone());
        }
        "exclusiveMinimum" | "exclusiveMaximum" => {
            let limit = if keyword == "exclusiveMinimum" {
                "minimum"
            } else {
                "maximum"
            };
            written.entry(limit).or_insert_with(|| value.clone());
        }
        "format" if takes_format(members, value) => {
            written.insert(keyword.to_owned(), value.clone());
        }
        "const" => {
            written.insert("enum".to_owned(), json!([value]));
        }
        "enum" => {
            let options = value.as_array().into_iter().flatten();
            let options: Vec<Value> = options
                .filter(|option| !option.is_null())
                .cloned()
                .collect();
            if !options.is_empty() {
                written.insert(keyword.to_owned(), Value::Array(options));
            }
        }
        "properties" => {
            let properties = value.as_object().into_iter().flatten();
            let properties = properties
                .map(|(name, value)| (name.clone(), inner(value)))
                .collect();
            written.insert(keyword.to_owned(), Value::Object(properties));
        }
        "items" | "additionalProperties" if value.is_object() => {
            written.insert(keyword.to_owned(), inner(value));
        }
        "prefixItems" | "anyOf" | "oneOf" => {
            let schemas = value.as_array().into_iter().flatten().map(inner).collect();
            let keyword = if keyword == "oneOf" { "anyOf" } else { keyword };
            written.insert(keyword.to_owned(), Value::Array(schemas));
        }
        _ => {}
    }
}

/// A list of types as one type, or as branches; tells whether `null` was among them.
fn single_type(members: &mut Map<String, Value>) -> bool {
    let mut nullable = false;
    if let Some(Value::Array(names)) = members.get("type") {
        nullable = names.iter().any(|name| name == "null");
        let mut others: Vec<Value> = names
            .iter()
            .filter(|name| *name != "null")
            .cloned()
            .collect();
        match others.len() {
            0 => {
                members.insert("type".to_owned(), json!("null"));
                return false;
            }
            1 => {
                members.insert("type".to_owned(), others.remove(0));
            }
            _ => {
                members.shift_remove("type");
                let branches = others
                    .into_iter()
                    .map(|name| branch_of_type(members, name))
                    .collect();
                for keyword in [
                    "items",
                    "prefixItems",
                    "properties",
                    "required",
                    "additionalProperties",
                ] {
                    members.shift_remove(keyword);
                }
                members.insert("anyOf".to_owned(), Value::Array(branches));
            }
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = members.get(keyword) else {
            continue;
        };
        let is_null = |branch: &Value| branch.get("type").is_some_and(|name| name == "null");
        let mut others: Vec<Value> = branches
            .iter()
            .filter(|branch| !is_null(branch))
            .cloned()
            .collect();
        if others.len() == branches.len() {
            continue;
        }
        nullable = true;
        match (others.len(), others.pop()) {
            (1, Some(Value::Object(only))) if !only.contains_key("$ref") => {
                members.shift_remove(keyword);
                for (key, value) in only {
                    members.entry(key).or_insert(value);
                }
            }
            (_, Some(last)) => {
                others.push(last);
                members.insert(keyword.to_owned(), Value::Array(others));
            }
            (_, None) => {
                members.shift_remove(keyword);
            }
        }
    }
    nullable
}

/// One type out of several, with the keywords that are about it.
fn branch_of_type(members: &Map<String, Value>, name: Value) -> Value {
    let about: &[&str] = match name.as_str() {
        Some("array") => &["items", "prefixItems"],
        Some("object") => &["properties", "required", "additionalProperties"],
        _ => &[],
    };
    let mut branch = Map::new();
    branch.insert("type".to_owned(), name);
    for keyword in about {
        if let Some(value) = members.get(*keyword) {
            branch.insert((*keyword).to_owned(), value.clone());
        }
    }
    Value::Object(branch)
}

fn takes_format(members: &Map<String, Value>, format: &Value) -> bool {
    let format = format.as_str().unwrap_or_default();
    match members.get("type").and_then(Value::as_str) {
        Some("string") => matches!(format, "enum" | "date-time"),
        Some("integer") => matches!(format, "int32" | "int64"),
        Some("number") => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Each branch of a union needs a type, and a list of values one as well.
fn infer_type(written: &mut Map<String, Value>) {
    if written.contains_key("type") || written.contains_key("anyOf") {
        return;
    }
    let options = written.get("enum").and_then(Value::as_array);
    let name = match options.map(Vec::as_slice) {
        Some([first, rest @ ..]) if rest.iter().all(|other| kind(other) == kind(first)) => {
            kind(first)
        }
        Some(_) => {
            // Values of several types have no type that could be named.
            written.shift_remove("enum");
            return;
        }
        None if written.contains_key("properties") => "object",
        None if written.contains_key("items") => "array",
        None => return,
    };
    written.shift_insert(0, "type".to_owned(), json!(name));
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Only what is a property can be required.
fn keep_known_required(written: &mut Map<String, Value>) {
    let Some(Value::Array(names)) = written.get("required") else {
        return;
    };
    let properties = written.get("properties").and_then(Value::as_object);
    let known: Vec<Value> = names
        .iter()
        .filter(|name| {
            name.as_str().is_some_and(|name| {
                properties.is_some_and(|properties| properties.contains_key(name))
            })
        })
        .cloned()
        .collect();
    if known.is_empty() {
        written.shift_remove("required");
    } else {
        written.insert("required".to_owned(), Value::Array(known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Format;
    use crate::schema::project::parameters;

    /// One property `x`, before and after.
    fn check(property: Value, expected: Value) {
        let sent = json!({"type": "object", "properties": {"x": property}});
        let expected = json!({"type": "object", "properties": {"x": expected}});
        assert_eq!(
            parameters(&sent, Format::Gemini).to_string(),
            expected.to_string()
        );
    }

    #[test]
    fn drops_formats_that_are_not_taken() {
        check(
            json!({"type": "string", "format": "uri"}),
            json!({"type": "string"}),
        );
        check(
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "format": "date-time"}),
        );
        check(
            json!({"type": "integer", "format": "int64"}),
            json!({"type": "integer", "format": "int64"}),
        );
    }

    #[test]
    fn lists_of_types_become_nullable_or_branches() {
        check(
            json!({"type": ["string", "null"]}),
            json!({"type": "string", "nullable": true}),
        );
        check(
            json!({"type": ["string", "array"], "items": {"type": "integer"}}),
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}),
        );
        check(
            json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d"}),
            json!({"description": "d", "type": "integer", "nullable": true}),
        );
    }

    #[test]
    fn every_branch_has_a_type() {
        check(
            json!({"anyOf": [{"const": 1}, {"enum": ["z"]}]}),
            json!({"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["z"]}]}),
        );
        check(json!({"enum": ["a", 1, null]}), json!({}));
    }

    #[test]
    fn says_with_few_keywords_what_others_say() {
        check(
            json!({"type": "integer", "exclusiveMinimum": 0, "multipleOf": 2}),
            json!({"type": "integer", "minimum": 0}),
        );
        check(
            json!({"type": "object", "propertyNames": {"pattern": "^x"}, "additionalProperties": {"type": "number"}, "minProperties": 1}),
            json!({"type": "object", "additionalProperties": {"type": "number"}, "properties": {}}),
        );
        check(
            json!({"type": "array"}),
            json!({"type": "array", "items": {}}),
        );
        check(
            json!({"type": "array", "items": {"type": "object"}}),
            json!({"type": "array", "items": {"type": "object", "properties": {}}}),
        );
        check(
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "gone"]}, {"properties": {"b": true}}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}),
        );
    }

    #[test]
    fn references_lead_to_defs_alone() {
        let sent = json!({
            "type": "object",
            "properties": {
                "node": {"$ref": "#/definitions/N", "description": "siblings are refused"},
                "tree": {"$ref": "#/properties/node"},
            },
            "definitions": {"N": {"type": "object", "properties": {"next": {"$ref": "#/definitions/N"}}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "node": {"$ref": "#/$defs/N"},
                "tree": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}},
            },
            "$defs": {"N": {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}}},
        });
        assert_eq!(
            parameters(&sent, Format::Gemini).to_string(),
            expected.to_string()
        );
    }

    #[test]
    fn circles_through_the_tree_end() {
        let sent = json!({"properties": {"a": {"properties": {"b": {"$ref": "#/properties/a"}}}}});
        let written = parameters(&sent, Format::Gemini).to_string();
        assert!(written.len() < 1000, "{written}");
    }
}
