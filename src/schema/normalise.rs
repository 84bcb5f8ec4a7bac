//! Turns whatever a server calls a schema into one valid JSON Schema (2020-12) of an object, changing no more than it must.
//!
//! Providers refuse a whole request for one odd schema, and a validator refuses to compile it.
//! Meant are the odd things that real servers send: names of another language's types, `required: null`,
//! a root that is only a `$ref`, keywords of older drafts, references to what is not there.

use serde_json::{Map, Value, json};

use crate::schema::{MAX_DEPTH, ONE, each_subschema_mut, refs};

/// A schema made whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    /// Has `type: object` and `properties` at its root; every reference leads somewhere.
    pub schema: Value,
    /// What the server's author should know.
    pub faults: Vec<Fault>,
}

/// Something in a schema that no model API or validator would accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Was sent, and is no object.
    NotASchema,
    /// A `$ref` that leads nowhere; the place takes any value.
    DanglingReference { path: String, reference: String },
    /// A type that JSON does not have; the place takes any value where it has no plain meaning.
    UnknownType { name: String },
}

/// Makes a schema whole. `null` is taken as a tool without parameters.
pub fn normalise(schema: &Value) -> Normal {
    let Value::Object(members) = schema else {
        let faults = match schema {
            Value::Null => Vec::new(),
            _ => vec![Fault::NotASchema],
        };
        return Normal {
            schema: json!({"type": "object", "properties": {}}),
            faults,
        };
    };
    let mut faults: Vec<Fault> = refs::dangling(schema)
        .into_iter()
        .map(|(path, reference)| Fault::DanglingReference { path, reference })
        .collect();
    let mut root = Value::Object(with_root_reference_resolved(schema, members));
    tidy(&mut root, 0, &mut faults);
    as_object_schema(&mut root);
    for (path, _) in refs::dangling(&root) {
        if let Some(Value::Object(place)) = root.pointer_mut(&path) {
            place.shift_remove("$ref");
        }
    }
    Normal {
        schema: root,
        faults,
    }
}

/// What the name of a type is in JSON Schema; `None` where it has no plain meaning there.
pub fn json_type(name: &str) -> Option<&'static str> {
    const TYPES: [(&str, &[&str]); 7] = [
        ("string", &["str", "text", "char"]),
        ("integer", &["int", "int32", "int64", "long"]),
        ("number", &["float", "double", "decimal", "num"]),
        ("boolean", &["bool"]),
        ("array", &["list", "tuple", "set"]),
        ("object", &["dict", "map", "struct"]),
        ("null", &["none", "nil", "nonetype"]),
    ];
    let lower = name.to_ascii_lowercase();
    TYPES
        .into_iter()
        .find(|(json, others)| *json == lower || others.contains(&lower.as_str()))
        .map(|(json, _)| json)
}

/// The root's own members, and those of what it refers to.
fn with_root_reference_resolved(
    schema: &Value,
    members: &Map<String, Value>,
) -> Map<String, Value> {
    let mut root = members.clone();
    let Some(reference) = root.shift_remove("$ref") else {
        return root;
    };
    let target = reference
        .as_str()
        .and_then(|reference| refs::resolve_fully(schema, reference))
        .and_then(Value::as_object);
    for (keyword, value) in target.into_iter().flatten() {
        if keyword != "$ref" && !root.contains_key(keyword) {
            root.insert(keyword.clone(), value.clone());
        }
    }
    root
}

fn as_object_schema(root: &mut Value) {
    let Value::Object(members) = root else {
        return;
    };
    if members.get("type").and_then(Value::as_str) != Some("object") {
        match members.get_mut("type") {
            Some(other) => *other = json!("object"),
            None => {
                members.shift_insert(0, "type".to_owned(), json!("object"));
            }
        }
    }
    if !members.contains_key("properties") {
        let at = members
            .keys()
            .position(|key| key == "type")
            .map_or(0, |at| at + 1);
        members.shift_insert(at, "properties".to_owned(), json!({}));
    }
}

fn tidy(schema: &mut Value, depth: usize, faults: &mut Vec<Fault>) {
    match schema {
        Value::Object(_) if depth > MAX_DEPTH => *schema = json!({}),
        Value::Object(members) => {
            tidy_members(members, faults);
            each_subschema_mut(members, &mut |value| tidy(value, depth + 1, faults));
        }
        Value::Bool(_) => {}
        // A bare name of a type.
        Value::String(name) => {
            *schema = match json_type(name) {
                Some(name) => json!({ "type": name }),
                None => json!({}),
            };
        }
        _ => *schema = json!({}),
    }
}

fn tidy_members(members: &mut Map<String, Value>, faults: &mut Vec<Fault>) {
    // A schema has few of the keywords that there are.
    members.retain(|keyword, value| !is_base(keyword, value) && fits(keyword, value));
    tidy_type(members, faults);
    modernise(members);
    allow_null_where_nullable(members);
}

/// Base addresses and what goes with them: with them gone, every reference is one into this very schema.
fn is_base(keyword: &str, value: &Value) -> bool {
    match keyword {
        "$schema" | "$id" | "$comment" | "$vocabulary" | "$recursiveRef" | "$recursiveAnchor" => {
            true
        }
        "id" => value.is_string(),
        _ => false,
    }
}

/// The shape of a keyword's value.
enum Shape {
    Text,
    Anchor,
    Flag,
    Number,
    Count,
    /// Of anything, and not empty.
    List,
    Names,
    Named,
    NamedNames,
}

const SHAPES: [(&str, Shape); 37] = [
    ("$ref", Shape::Text),
    ("$anchor", Shape::Anchor),
    ("$dynamicRef", Shape::Text),
    ("$dynamicAnchor", Shape::Anchor),
    ("title", Shape::Text),
    ("description", Shape::Text),
    ("pattern", Shape::Text),
    ("format", Shape::Text),
    ("contentEncoding", Shape::Text),
    ("contentMediaType", Shape::Text),
    ("deprecated", Shape::Flag),
    ("readOnly", Shape::Flag),
    ("writeOnly", Shape::Flag),
    ("uniqueItems", Shape::Flag),
    ("minimum", Shape::Number),
    ("maximum", Shape::Number),
    ("multipleOf", Shape::Number),
    ("minLength", Shape::Count),
    ("maxLength", Shape::Count),
    ("minItems", Shape::Count),
    ("maxItems", Shape::Count),
    ("minProperties", Shape::Count),
    ("maxProperties", Shape::Count),
    ("minContains", Shape::Count),
    ("maxContains", Shape::Count),
    ("examples", Shape::List),
    ("enum", Shape::List),
    ("required", Shape::Names),
    ("allOf", Shape::List),
    ("anyOf", Shape::List),
    ("oneOf", Shape::List),
    ("prefixItems", Shape::List),
    ("$defs", Shape::Named),
    ("definitions", Shape::Named),
    ("patternProperties", Shape::Named),
    ("dependentSchemas", Shape::Named),
    ("dependentRequired", Shape::NamedNames),
];

/// Whether a keyword's value can be meant, other than `required: null` or `minimum: "none"`; mends what can be mended.
fn fits(keyword: &str, value: &mut Value) -> bool {
    if keyword == "properties" && !value.is_object() {
        *value = json!({});
    }
    if ONE.contains(&keyword) {
        return !value.is_null() && (!value.is_array() || keyword == "items");
    }
    let Some((_, shape)) = SHAPES.iter().find(|(name, _)| *name == keyword) else {
        return true;
    };
    match shape {
        Shape::Text => value.is_string(),
        Shape::Anchor => value.as_str().is_some_and(is_anchor),
        Shape::Flag => value.is_boolean(),
        Shape::Number => {
            as_number(value);
            value.is_number()
        }
        Shape::Count => {
            as_number(value);
            value
                .as_f64()
                .is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
        }
        Shape::Names => match value {
            Value::Array(names) => {
                names.retain(Value::is_string);
                true
            }
            _ => false,
        },
        Shape::List => value.as_array().is_some_and(|list| !list.is_empty()),
        Shape::Named => value.is_object(),
        Shape::NamedNames => match value {
            Value::Object(named) => {
                named.retain(|_, names| {
                    let names = names.as_array();
                    names.is_some_and(|names| names.iter().all(Value::is_string))
                });
                true
            }
            _ => false,
        },
    }
}

fn is_anchor(name: &str) -> bool {
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins_well
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// Takes a number in quotes for a number.
fn as_number(value: &mut Value) {
    if let Value::String(text) = value
        && let Ok(number) = text.trim().parse::<serde_json::Number>()
    {
        *value = Value::Number(number);
    }
}

fn tidy_type(members: &mut Map<String, Value>, faults: &mut Vec<Fault>) {
    let Some(value) = members.get_mut("type") else {
        return;
    };
    let mut unknown = |name: &str| {
        faults.push(Fault::UnknownType {
            name: name.to_owned(),
        })
    };
    let kept = match value {
        Value::String(name) => match json_type(name) {
            Some(json) => {
                if json != name {
                    unknown(name);
                    *value = json!(json);
                }
                true
            }
            None => {
                unknown(name);
                false
            }
        },
        Value::Array(names) => {
            let mut known: Vec<Value> = Vec::new();
            let mut all_known = !names.is_empty();
            for name in names.iter() {
                match name.as_str().and_then(json_type).map(Value::from) {
                    Some(json) if known.contains(&json) => {}
                    Some(json) => known.push(json),
                    None => {
                        unknown(name.as_str().unwrap_or("?"));
                        all_known = false;
                    }
                }
            }
            *value = Value::Array(known);
            all_known
        }
        _ => false,
    };
    if !kept {
        members.shift_remove("type");
    }
}

/// Rewrites keywords of older drafts.
fn modernise(members: &mut Map<String, Value>) {
    for (flag, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        match members.get_mut(flag) {
            Some(Value::Bool(exclusive)) => {
                let exclusive = *exclusive;
                let bound = members.get(limit).cloned();
                members.shift_remove(flag);
                if let (true, Some(bound)) = (exclusive, bound) {
                    members.shift_remove(limit);
                    members.insert(flag.to_owned(), bound);
                }
            }
            Some(bound) => {
                as_number(bound);
                if !bound.is_number() {
                    members.shift_remove(flag);
                }
            }
            None => {}
        }
    }
    let rest = members.shift_remove("additionalItems");
    if let Some(Value::Array(_)) = members.get("items")
        && let Some(first) = members.shift_remove("items")
    {
        if first.as_array().is_some_and(|list| !list.is_empty()) {
            members.entry("prefixItems").or_insert(first);
        }
        if let Some(rest) = rest {
            members.insert("items".to_owned(), rest);
        }
    }
    if let Some(Value::Object(dependencies)) = members.shift_remove("dependencies") {
        let (names, schemas): (Vec<_>, Vec<_>) = dependencies
            .into_iter()
            .partition(|(_, dependency)| dependency.is_array());
        for (keyword, part) in [("dependentRequired", names), ("dependentSchemas", schemas)] {
            if !part.is_empty() {
                let part = Value::Object(part.into_iter().collect());
                members.entry(keyword).or_insert(part);
            }
        }
    }
}

/// OpenAPI's `nullable: true` in JSON Schema's words.
fn allow_null_where_nullable(members: &mut Map<String, Value>) {
    let Some(Value::Bool(nullable)) = members.get("nullable") else {
        members.shift_remove("nullable");
        return;
    };
    let nullable = *nullable;
    members.shift_remove("nullable");
    if !nullable {
        return;
    }
    if let Some(Value::Array(options)) = members.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    match members.get_mut("type") {
        Some(Value::Array(names)) => {
            if !names.contains(&json!("null")) {
                names.push(json!("null"));
            }
        }
        Some(name) if name != "null" => *name = json!([name.take(), "null"]),
        Some(_) => {}
        None => {
            if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
                branches.push(json!({"type": "null"}));
            } else if let Some(reference) = members.shift_remove("$ref") {
                members.insert(
                    "anyOf".to_owned(),
                    json!([{"$ref": reference}, {"type": "null"}]),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, expected: Value) {
        let normal = normalise(&schema);
        assert_eq!(normal.schema.to_string(), expected.to_string());
        assert!(
            jsonschema::meta::is_valid(&normal.schema),
            "{}",
            normal.schema
        );
    }

    #[test]
    fn leaves_a_good_schema_as_it_is() {
        let schema = json!({
            "type": "object",
            "properties": {
                "state": {"type": "string", "enum": ["open", "closed"], "default": "open", "description": "d"},
                "value": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "null"}]},
                "node": {"$ref": "#/$defs/Node"},
            },
            "required": ["state"],
            "additionalProperties": false,
            "$defs": {"Node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}},
        });
        check(schema.clone(), schema);
    }

    #[test]
    fn gives_every_tool_an_object_with_properties() {
        let empty = json!({"type": "object", "properties": {}});
        for schema in [
            Value::Null,
            json!({}),
            json!({"type": "object"}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            json!({"$schema": 7, "type": ["object", "null"], "properties": null}),
            json!({"$ref": "#"}),
            json!({"type": "string"}),
            json!([]),
        ] {
            check(schema, empty.clone());
        }
        check(
            json!({"properties": {"a": {}}, "required": null}),
            json!({"type": "object", "properties": {"a": {}}}),
        );
    }

    #[test]
    fn resolves_a_root_reference() {
        check(
            json!({"$ref": "#/definitions/T", "definitions": {"T": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}}),
            json!({
                "definitions": {"T": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
                "type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
            }),
        );
    }

    #[test]
    fn reads_the_type_names_of_other_languages() {
        check(
            json!({"type": "object", "properties": {
                "int": {"type": "int"}, "any": {"type": "any"}, "none": {"type": "None"}, "blank": {"type": ""},
                "multi": {"type": ["string", "null"]}, "mixed": {"type": ["str", "uuid"]}, "empty": {"type": []}, "bare": "str", "number": 7,
            }}),
            json!({"type": "object", "properties": {
                "int": {"type": "integer"}, "any": {}, "none": {"type": "null"}, "blank": {},
                "multi": {"type": ["string", "null"]}, "mixed": {}, "empty": {}, "bare": {"type": "string"}, "number": {},
            }}),
        );
    }

    #[test]
    fn reads_older_drafts() {
        check(
            json!({"type": "object", "properties": {
                "tuple": {"type": "array", "items": [{"type": "string"}], "additionalItems": false},
                "plain": {"type": "array", "items": {"type": "string"}, "additionalItems": false},
                "more": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false},
            }, "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
            json!({"type": "object", "properties": {
                "tuple": {"type": "array", "prefixItems": [{"type": "string"}], "items": false},
                "plain": {"type": "array", "items": {"type": "string"}},
                "more": {"type": "number", "maximum": 9, "exclusiveMinimum": 0},
            }, "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
        );
    }

    #[test]
    fn reads_nullable() {
        check(
            json!({"type": "object", "properties": {
                "a": {"type": "string", "nullable": true, "enum": ["x"]},
                "b": {"anyOf": [{"type": "string"}], "nullable": true},
                "c": {"$ref": "#/$defs/C", "nullable": true},
                "d": {"type": "string", "nullable": false},
            }, "$defs": {"C": {"type": "integer"}}}),
            json!({"type": "object", "properties": {
                "a": {"type": ["string", "null"], "enum": ["x", null]},
                "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "c": {"anyOf": [{"$ref": "#/$defs/C"}, {"type": "null"}]},
                "d": {"type": "string"},
            }, "$defs": {"C": {"type": "integer"}}}),
        );
    }

    #[test]
    fn drops_keywords_that_cannot_be_meant() {
        check(
            json!({"type": "object", "properties": {
                "a": {"type": "string", "required": true, "minLength": "3", "maxLength": -1, "enum": [], "pattern": null},
                "b": {"anyOf": []}, "c": {"items": null, "type": "array"},
            }, "required": ["a", 7], "additionalProperties": null}),
            json!({"type": "object", "properties": {
                "a": {"type": "string", "minLength": 3},
                "b": {}, "c": {"type": "array"},
            }, "required": ["a"]}),
        );
    }

    #[test]
    fn names_references_that_lead_nowhere() {
        let normal = normalise(
            &json!({"type": "object", "properties": {"language": {"$ref": "#/$defs/Missing", "description": "d"}}}),
        );
        assert_eq!(
            normal.schema["properties"]["language"],
            json!({"description": "d"})
        );
        assert_eq!(
            normal.faults,
            [Fault::DanglingReference {
                path: "/properties/language".to_owned(),
                reference: "#/$defs/Missing".to_owned(),
            }]
        );
    }

    #[test]
    fn survives_endless_depth_and_circles() {
        let mut deep = json!(true);
        for _ in 0..400 {
            deep = json!({"type": "object", "properties": {"a": deep}});
        }
        let depth = normalise(&deep)
            .schema
            .to_string()
            .matches("properties")
            .count();
        assert!(depth <= MAX_DEPTH + 2, "{depth}");
        normalise(
            &json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}),
        );
    }

    #[test]
    fn data_is_not_taken_for_schemas() {
        let schema = json!({"type": "object", "properties": {
            "properties": {"type": "object", "default": {"type": "int", "required": null}},
            "type": {"const": {"$ref": "#/nowhere"}},
        }});
        check(schema.clone(), schema);
    }
}
