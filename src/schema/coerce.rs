//! Reads a model's arguments as they were meant: `"42"` for a number, one value for a list of one, JSON text for an object.
//!
//! A value that fits its schema is never touched, and what cannot be read otherwise stays for the check to refuse.

use serde_json::{Map, Value, json};

use crate::schema::refs;

/// Deeper arguments are left to the check.
const MAX_DEPTH: usize = 16;

/// Reads the arguments by a normalised schema.
pub fn coerce(arguments: &mut Map<String, Value>, schema: &Value) {
    coerce_members(arguments, schema, schema, 0);
}

fn coerce_members(object: &mut Map<String, Value>, schema: &Value, root: &Value, depth: usize) {
    let Some(properties) = crate::schema::properties(schema) else {
        return;
    };
    let mut dropped = Vec::new();
    for (name, value) in object.iter_mut() {
        let Some(property) = properties.get(name) else {
            continue;
        };
        let property = refs::followed(root, property);
        let is_required = crate::schema::required(schema).any(|required| required == name);
        if value.is_null() && !is_required && !accepts(property, value, root) {
            // Models write `null` for "not given" where the server means absence.
            dropped.push(name.clone());
            continue;
        }
        coerce_value(value, property, root, depth);
    }
    for name in dropped {
        object.shift_remove(&name);
    }
}

fn coerce_value(value: &mut Value, schema: &Value, root: &Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    if !accepts(schema, value, root)
        && let Some(read) = type_names(schema, root)
            .into_iter()
            .find_map(|name| read_as(name, value, schema, root))
    {
        *value = read;
    }
    match value {
        Value::Object(object) => {
            if let Some(schema) = the_branch(schema, "object", root) {
                coerce_members(object, schema, root, depth + 1);
            }
        }
        Value::Array(list) => {
            let items = the_branch(schema, "array", root).and_then(|schema| schema.get("items"));
            if let Some(items) = items {
                let items = refs::followed(root, items);
                for value in list {
                    coerce_value(value, items, root, depth + 1);
                }
            }
        }
        _ => {}
    }
}

/// The value as a type, if it can be read so.
fn read_as(name: &str, value: &Value, schema: &Value, root: &Value) -> Option<Value> {
    let text = value.as_str().map(str::trim);
    match (name, text) {
        ("integer", Some(text)) => integer(text),
        ("number", Some(text)) => text
            .parse::<serde_json::Number>()
            .ok()
            .map(Value::Number)
            .filter(|number| number.as_f64().is_some_and(f64::is_finite)),
        ("boolean", Some(text)) => match text.to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        ("null", Some(text)) => text.eq_ignore_ascii_case("null").then_some(Value::Null),
        ("object", Some("")) => {
            let branch = the_branch(schema, "object", root)?;
            crate::schema::required(branch)
                .next()
                .is_none()
                .then(|| json!({}))
        }
        ("object", Some(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        ("array", Some(text)) => Some(
            serde_json::from_str(text)
                .ok()
                .filter(Value::is_array)
                .unwrap_or_else(|| json!([value])),
        ),
        ("array", None) if !value.is_null() => Some(json!([value])),
        ("string", None) if value.is_number() || value.is_boolean() => {
            Some(Value::String(value.to_string()))
        }
        _ => None,
    }
}

fn integer(text: &str) -> Option<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Some(json!(number));
    }
    let number = text.parse::<f64>().ok()?;
    let is_exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    is_exact.then(|| json!(number as i64))
}

/// Whether a value is of a type that the schema names; a schema that names none takes every value.
fn accepts(schema: &Value, value: &Value, root: &Value) -> bool {
    let names = type_names(schema, root);
    names.is_empty() || names.into_iter().any(|name| is_of_type(value, name))
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

/// The types that a schema names, its branches included; empty where some branch takes any.
fn type_names<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    match schema.get("type") {
        Some(Value::String(name)) => return vec![name],
        Some(Value::Array(names)) => return names.iter().filter_map(Value::as_str).collect(),
        _ => {}
    }
    if let Some(constants) = constants(schema) {
        return constants.iter().map(type_of).collect();
    }
    let mut all = Vec::new();
    for branch in branches(schema, root) {
        let names = match branch.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => match constants(branch) {
                Some(constants) => constants.iter().map(type_of).collect(),
                None => return Vec::new(),
            },
        };
        all.extend(names);
    }
    all
}

fn constants(schema: &Value) -> Option<&[Value]> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(constant), _) => Some(std::slice::from_ref(constant)),
        (None, Some(Value::Array(options))) => Some(options),
        _ => None,
    }
}

fn type_of(value: &Value) -> &'static str {
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

fn branches<'a>(schema: &'a Value, root: &'a Value) -> impl Iterator<Item = &'a Value> {
    ["anyOf", "oneOf"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_array())
        .flatten()
        .map(|branch| refs::followed(root, branch))
}

/// The schema itself or the only one of its branches that is of a type.
fn the_branch<'a>(schema: &'a Value, name: &str, root: &'a Value) -> Option<&'a Value> {
    let mut candidates = branches(schema, root).filter(|branch| match branch.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(names)) => names.iter().any(|one| one == name),
        _ => false,
    });
    match (candidates.next(), candidates.next()) {
        (None, _) => Some(schema),
        (Some(branch), None) => Some(branch),
        (Some(_), Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coerces one argument `x` by its schema.
    fn check(schema: Value, value: Value, expected: Value) {
        let root = json!({"type": "object", "properties": {"x": schema}, "$defs": {"Box": {"type": "object", "properties": {"n": {"type": "integer"}}}}});
        let mut arguments = json!({"x": value, "unknown": "7"});
        coerce(arguments.as_object_mut().unwrap(), &root);
        assert_eq!(
            arguments,
            json!({"x": expected, "unknown": "7"}),
            "{schema}",
            schema = root["properties"]["x"]
        );
    }

    #[test]
    fn reads_text_as_the_type_that_is_wanted() {
        check(json!({"type": "integer"}), json!("42"), json!(42));
        check(json!({"type": "integer"}), json!(" 42.0 "), json!(42));
        check(json!({"type": "number"}), json!("4.5"), json!(4.5));
        check(json!({"type": "boolean"}), json!("true"), json!(true));
        check(json!({"type": "boolean"}), json!("False"), json!(false));
        check(
            json!({"type": ["integer", "null"]}),
            json!("null"),
            json!(null),
        );
        check(json!({"type": "array"}), json!("[1,2]"), json!([1, 2]));
        check(
            json!({"type": "object"}),
            json!("{\"a\":1}"),
            json!({"a": 1}),
        );
        check(json!({"type": "object"}), json!(" "), json!({}));
        check(json!({"enum": [1, 2]}), json!("2"), json!(2));
    }

    #[test]
    fn tries_the_members_of_a_union_in_order() {
        check(
            json!({"type": ["integer", "boolean"]}),
            json!("true"),
            json!(true),
        );
        check(
            json!({"anyOf": [{"type": "integer"}, {"type": "object"}, {"type": "null"}]}),
            json!("5"),
            json!(5),
        );
    }

    #[test]
    fn leaves_what_fits() {
        check(
            json!({"type": ["integer", "string"]}),
            json!("42"),
            json!("42"),
        );
        check(json!({}), json!("42"), json!("42"));
        check(
            json!({"anyOf": [{"type": "integer"}, {}]}),
            json!("42"),
            json!("42"),
        );
        check(json!({"type": "string"}), json!("[1]"), json!("[1]"));
        check(json!({"enum": ["1", 2]}), json!("1"), json!("1"));
    }

    #[test]
    fn leaves_what_cannot_be_read() {
        check(json!({"type": "integer"}), json!("many"), json!("many"));
        check(json!({"type": "integer"}), json!("1.5"), json!("1.5"));
        check(json!({"type": "number"}), json!("NaN"), json!("NaN"));
        check(json!({"type": "boolean"}), json!("yes"), json!("yes"));
        check(
            json!({"type": "object", "required": ["a"]}),
            json!(""),
            json!(""),
        );
        check(json!({"type": "object"}), json!("[1]"), json!("[1]"));
    }

    #[test]
    fn makes_a_list_of_one() {
        check(
            json!({"type": "array", "items": {"type": "string"}}),
            json!("a"),
            json!(["a"]),
        );
        check(
            json!({"type": "array", "items": {"type": "integer"}}),
            json!("7"),
            json!([7]),
        );
        check(json!({"type": "array"}), json!({"a": 1}), json!([{"a": 1}]));
    }

    #[test]
    fn makes_text_of_a_number() {
        check(json!({"type": "string"}), json!(42), json!("42"));
        check(json!({"type": "string"}), json!(true), json!("true"));
    }

    #[test]
    fn reaches_nested_places_and_references() {
        let schema = json!({"type": "array", "items": {"$ref": "#/$defs/Box"}});
        check(
            schema,
            json!(["{\"n\":\"1\"}", {"n": "2"}]),
            json!([{"n": 1}, {"n": 2}]),
        );
        check(
            json!({"anyOf": [{"$ref": "#/$defs/Box"}, {"type": "null"}]}),
            json!({"n": "3"}),
            json!({"n": 3}),
        );
    }

    #[test]
    fn null_for_an_optional_parameter_is_absence() {
        let root = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": ["string", "null"]}, "d": {}}, "required": ["b"]});
        let mut arguments = json!({"a": null, "b": null, "c": null, "d": null});
        coerce(arguments.as_object_mut().unwrap(), &root);
        assert_eq!(arguments, json!({"b": null, "c": null, "d": null}));
    }

    #[test]
    fn survives_circles() {
        let root = json!({"properties": {"x": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}});
        let mut arguments = json!({"x": {"x": "1"}});
        coerce(arguments.as_object_mut().unwrap(), &root);
        assert_eq!(arguments, json!({"x": {"x": "1"}}));
    }
}
