//! A tool's parameters in one short line that a model reads like code: `(repo: string, state?: "open"|"closed" = "open")`.

use serde_json::{Map, Value, json};

use crate::schema::{normalise::json_type, properties, refs, required};
use crate::text::shorten;

/// The longest signature, in characters; the rest of it is to be had from `tool_describe`.
const MAX_LENGTH: usize = 600;
/// Members of objects inside objects are shown down to here.
const MAX_DEPTH: usize = 3;
const MAX_OPTIONS: usize = 8;
/// Members of an object inside, so that references that fan out cost no time.
const MAX_MEMBERS: usize = 8;
const MAX_DEFAULT: usize = 40;

/// Writes the signature of a schema as the server sent it.
pub fn signature(schema: &Value) -> String {
    let schema = refs::followed(schema, schema);
    let merged = merged(schema);
    let mut members = members_of(merged.as_ref().unwrap_or(schema), schema, 0);
    // Arguments that have no names of their own are one of several objects, or a map.
    let is_nameless = |keyword: &str| schema.get(keyword).is_some_and(|it| !it.is_boolean());
    if members.is_empty()
        && ["oneOf", "anyOf", "additionalProperties"]
            .into_iter()
            .any(is_nameless)
    {
        members.push(format!("arguments: {}", type_of(schema, schema, 0)));
    }
    let whole = format!("({})", members.join(", "));
    if whole.chars().count() <= MAX_LENGTH {
        return whole;
    }
    let mut line = String::from("(");
    let mut shown = 0;
    for member in &members {
        if line.chars().count() + member.chars().count() > MAX_LENGTH - 40 {
            break;
        }
        line.push_str(member);
        line.push_str(", ");
        shown += 1;
    }
    format!("{line}… {} more)", members.len() - shown)
}

/// The properties of a schema and of all that it has to be besides, in one; none where it stands alone.
fn merged(schema: &Value) -> Option<Value> {
    let parts = schema.get("allOf")?.as_array()?;
    let parts = parts.iter().take(MAX_MEMBERS);
    let all: Vec<&Value> = std::iter::once(schema)
        .chain(parts.map(|part| refs::followed(schema, part)))
        .collect();
    let mut members = Map::new();
    for (name, property) in all.iter().filter_map(|part| properties(part)).flatten() {
        let known = members.entry(name.as_str());
        known.or_insert_with(|| property.clone());
    }
    let required: Vec<&str> = all.iter().flat_map(|part| required(part)).collect();
    Some(json!({"properties": members, "required": required}))
}

/// `name: type` of each property, the required ones first, each part in the server's order.
fn members_of(schema: &Value, root: &Value, depth: usize) -> Vec<String> {
    let Some(properties) = properties(schema) else {
        return Vec::new();
    };
    let required: Vec<&str> = required(schema).collect();
    let (first, then): (Vec<_>, Vec<_>) = properties
        .iter()
        .partition(|(name, _)| required.contains(&name.as_str()));
    let write = |(name, property): (&String, &Value), mark: &str| {
        let name = if is_plain(name) {
            name.clone()
        } else {
            Value::from(name.as_str()).to_string()
        };
        format!(
            "{name}{mark}: {}{}",
            type_of(property, root, depth),
            default_of(property)
        )
    };
    let first = first.into_iter().map(|member| write(member, ""));
    let then = then.into_iter().map(|member| write(member, "?"));
    if depth == 0 {
        return first.chain(then).collect();
    }
    let mut members: Vec<String> = first.chain(then).take(MAX_MEMBERS).collect();
    if properties.len() > MAX_MEMBERS {
        members.push("…".to_owned());
    }
    members
}

fn type_of(schema: &Value, root: &Value, depth: usize) -> String {
    let schema = refs::followed(root, schema);
    let Value::Object(members) = schema else {
        return "any".to_owned();
    };
    if let Some(constant) = members.get("const") {
        return shorten(&constant.to_string(), MAX_DEFAULT).into_owned();
    }
    if let Some(Value::Array(options)) = members.get("enum") {
        return options_of(options);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = members.get(keyword)
            && depth < MAX_DEPTH
        {
            let shown = branches.iter().take(MAX_OPTIONS);
            let rest = (branches.len() > MAX_OPTIONS).then(|| "…".to_owned());
            return joined(
                shown
                    .map(|branch| type_of(branch, root, depth + 1))
                    .chain(rest),
            );
        }
    }
    if let Some(Value::Array(parts)) = members.get("allOf")
        && let [part] = parts.as_slice()
        && depth < MAX_DEPTH
    {
        return type_of(part, root, depth + 1);
    }
    match members.get("type") {
        Some(Value::String(name)) => named_type(name, members, root, depth),
        Some(Value::Array(names)) => joined(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(|name| named_type(name, members, root, depth)),
        ),
        _ if members.contains_key("properties") => named_type("object", members, root, depth),
        _ if members.contains_key("items") => named_type("array", members, root, depth),
        _ => "any".to_owned(),
    }
}

fn named_type(name: &str, members: &Map<String, Value>, root: &Value, depth: usize) -> String {
    match json_type(name) {
        Some("array") => match members.get("items") {
            Some(items @ Value::Object(_)) if depth < MAX_DEPTH => {
                let item = type_of(items, root, depth + 1);
                if item.contains('|') {
                    format!("({item})[]")
                } else {
                    format!("{item}[]")
                }
            }
            _ => "any[]".to_owned(),
        },
        Some("object") => object_type(members, root, depth),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

fn object_type(members: &Map<String, Value>, root: &Value, depth: usize) -> String {
    if depth >= MAX_DEPTH {
        return "object".to_owned();
    }
    // A map has no order of its own, so an object is written from its properties as they stand.
    let schema = Value::Object(
        ["properties", "required"]
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), members.get(key)?.clone())))
            .collect(),
    );
    let inner = members_of(&schema, root, depth + 1);
    match (inner.as_slice(), members.get("additionalProperties")) {
        ([], Some(values @ Value::Object(_))) => {
            format!("{{[key]: {}}}", type_of(values, root, depth + 1))
        }
        ([], _) => "object".to_owned(),
        (inner, _) => format!("{{{}}}", inner.join(", ")),
    }
}

fn options_of(options: &[Value]) -> String {
    let mut shown: Vec<String> = options
        .iter()
        .take(MAX_OPTIONS)
        .map(|option| shorten(&option.to_string(), MAX_DEFAULT).into_owned())
        .collect();
    if options.len() > MAX_OPTIONS {
        shown.push(format!("… {} more", options.len() - MAX_OPTIONS));
    }
    shown.join("|")
}

fn joined(types: impl Iterator<Item = String>) -> String {
    let mut different: Vec<String> = Vec::new();
    for name in types {
        if !different.contains(&name) {
            different.push(name);
        }
    }
    different.join("|")
}

fn default_of(schema: &Value) -> String {
    match schema.get("default") {
        None | Some(Value::Null) => String::new(),
        Some(default) => {
            let text = default.to_string();
            if text.chars().count() <= MAX_DEFAULT {
                format!(" = {text}")
            } else {
                String::new()
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expected: Expect) {
        expected.assert_eq(&signature(&schema));
    }

    #[test]
    fn arguments_without_names_of_their_own_are_told_by_their_type() {
        let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        check(
            json!({"type": "object", "oneOf": [one("id"), one("email")]}),
            expect!["(arguments: {id: string}|{email: string})"],
        );
        check(
            json!({"type": "object", "allOf": [one("id"), {"$ref": "#/$defs/more"}], "$defs": {"more": one("email")}}),
            expect!["(id: string, email: string)"],
        );
        check(
            json!({"required": ["id"], "allOf": [{"properties": {"id": {"type": "string"}}}, {"properties": {"id": {}, "n": {"type": "integer"}}}]}),
            expect!["(id: string, n?: integer)"],
        );
        check(json!({"type": ["object", "null"]}), expect!["()"]);
        check(
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            expect!["(arguments: {[key]: number})"],
        );
        check(
            json!({"type": "object", "additionalProperties": false}),
            expect!["()"],
        );
        check(json!({}), expect!["()"]);
    }

    #[test]
    fn writes_required_parameters_first() {
        check(
            json!({"properties": {
                "state": {"type": "string", "enum": ["open", "closed"], "default": "open"},
                "repo": {"type": "string"},
                "labels": {"type": "array", "items": {"type": "string"}},
                "limit": {"type": ["integer", "null"], "default": null},
            }, "required": ["repo"]}),
            expect![[
                r#"(repo: string, state?: "open"|"closed" = "open", labels?: string[], limit?: integer|null)"#
            ]],
        );
    }

    #[test]
    fn writes_nested_objects_unions_and_references() {
        check(
            json!({
                "properties": {
                    "filter": {"$ref": "#/$defs/Filter"},
                    "value": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"x": {"type": "int"}}}, {"type": "null"}]},
                    "map": {"type": "object", "additionalProperties": {"type": "number"}},
                    "any": {}, "free": {"type": "object"}, "list": {"type": "array"},
                    "odd-name": {"const": 1},
                    "ids": {"type": "array", "items": {"enum": [1, 2]}},
                },
                "$defs": {"Filter": {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}},
            }),
            expect![[
                r#"(filter?: {query: string}, value?: integer|{x?: integer}|null, map?: {[key]: number}, any?: any, free?: object, list?: any[], "odd-name"?: 1, ids?: (1|2)[])"#
            ]],
        );
    }

    #[test]
    fn no_parameters_are_an_empty_pair() {
        for schema in [
            json!({}),
            json!(null),
            json!({"type": "object", "properties": {}}),
            json!({"$ref": "#"}),
        ] {
            check(schema, expect!["()"]);
        }
    }

    #[test]
    fn circles_end() {
        check(
            json!({"properties": {"node": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}}}),
            expect!["(node?: {children?: {children?: any[]}[]})"],
        );
    }

    #[test]
    fn long_signatures_say_what_is_left_out() {
        let properties: Map<String, Value> = (0..100)
            .map(|n| (format!("parameter_{n}"), json!({"type": "string"})))
            .collect();
        let line = signature(&json!({"properties": properties, "required": ["parameter_99"]}));
        assert!(
            line.starts_with("(parameter_99: string, parameter_0?: string, "),
            "{line}"
        );
        assert!(line.ends_with("… 76 more)"), "{line}");
        assert!(line.chars().count() <= MAX_LENGTH);
        let options: Vec<usize> = (0..20).collect();
        check(
            json!({"properties": {"n": {"enum": options}}}),
            expect!["(n?: 0|1|2|3|4|5|6|7|… 12 more)"],
        );
    }
}
