//! Writes the definition of a tool the way a model API wants it.
//!
//! Every API refuses the whole request for one schema that it does not like, so what each is known to refuse is
//! rewritten or left out. That loses nothing: arguments are checked against the server's own schema.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::schema::normalise::normalise;
use crate::schema::rename::Renames;
use crate::schema::{Format, MAX_DEPTH, each_subschema_mut, gemini, refs};

/// Branches of the root that are laid together; the largest of 6,474 real tools has some dozens.
pub(super) const MAX_BRANCHES: usize = 500;

/// What a definition is written from.
#[derive(Debug, Clone, Copy)]
pub struct Definition<'a> {
    pub name: &'a str,
    pub title: Option<&'a str>,
    pub description: &'a str,
    /// JSON Schema of the arguments as it was sent.
    pub input_schema: &'a Value,
    /// Further members of an MCP tool.
    pub extra: &'a Map<String, Value>,
    /// A host knows its model API: what it sends is passed on as long as it is an object with properties.
    pub as_given: bool,
}

impl Definition<'_> {
    /// The compact JSON text of one element of `tools`; the same definition gives the same bytes.
    pub fn write(&self, format: Format) -> String {
        let parameters = if self.as_given && is_object_schema(self.input_schema) {
            Cow::Borrowed(self.input_schema)
        } else {
            Cow::Owned(parameters(self.input_schema, format))
        };
        let mut function = Object::default();
        if format == Format::OpenaiResponses {
            function.add("type", "function");
        }
        function.add("name", self.name);
        if format == Format::Mcp
            && let Some(title) = self.title
        {
            function.add("title", title);
        }
        if !self.description.is_empty() || format == Format::Gemini {
            function.add("description", self.description);
        }
        match format {
            Format::Openai => {
                function.add("parameters", &*parameters);
                return format!(r#"{{"type":"function","function":{}}}"#, function.finish());
            }
            Format::OpenaiResponses => function.add("parameters", &*parameters),
            Format::Anthropic => function.add("input_schema", &*parameters),
            Format::Gemini => function.add("parametersJsonSchema", &*parameters),
            Format::Mcp => {
                function.add("inputSchema", &*parameters);
                for (key, value) in self.extra {
                    function.add(key, value);
                }
            }
        }
        function.finish()
    }
}

/// A JSON object that is written member by member, without a copy of what is in it.
#[derive(Default)]
struct Object<'a> {
    keys: Vec<&'a str>,
    text: Vec<u8>,
}

impl<'a> Object<'a> {
    /// Adds a member; of several of one name the first is the one.
    fn add(&mut self, key: &'a str, value: &(impl Serialize + ?Sized)) {
        if self.keys.contains(&key) {
            return;
        }
        self.text
            .push(if self.keys.is_empty() { b'{' } else { b',' });
        self.keys.push(key);
        self.write(key);
        self.text.push(b':');
        self.write(value);
    }

    fn write(&mut self, value: &(impl Serialize + ?Sized)) {
        let written = serde_json::to_writer(&mut self.text, value);
        written.expect("texts and JSON values can be written to memory");
    }

    fn finish(mut self) -> String {
        self.text.push(b'}');
        String::from_utf8(self.text).expect("JSON is written in UTF-8")
    }
}

fn is_object_schema(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "object")
        && crate::schema::properties(schema).is_some()
}

/// The schema of the arguments for a format; always `type: object` with `properties`.
pub fn parameters(sent: &Value, format: Format) -> Value {
    if format == Format::Mcp {
        return for_mcp(sent);
    }
    let mut schema = normalise(sent).schema;
    merge_combinators(&mut schema);
    if format == Format::Gemini {
        schema = gemini::rewrite(&schema);
    } else {
        complete(&mut schema, 0);
    }
    Renames::of(&schema).apply(&mut schema);
    for (path, _) in refs::dangling(&schema) {
        if let Some(Value::Object(place)) = schema.pointer_mut(&path) {
            place.shift_remove("$ref");
        }
    }
    schema
}

/// As it was sent, but that MCP itself wants an object at the root.
fn for_mcp(sent: &Value) -> Value {
    match sent {
        Value::Object(members) if members.get("type").and_then(Value::as_str) == Some("object") => {
            sent.clone()
        }
        Value::Object(members) if !members.contains_key("$ref") => {
            let mut members = members.clone();
            members.insert("type".to_owned(), json!("object"));
            Value::Object(members)
        }
        _ => normalise(sent).schema,
    }
}

/// No API takes `allOf`, `anyOf`, `oneOf`, `not` or `enum` at the root: the properties of all branches are laid together.
fn merge_combinators(root: &mut Value) {
    let whole = root.clone();
    if let Value::Object(members) = root {
        merge_into(members, &whole, &mut { MAX_BRANCHES }, 0);
    }
}

/// Lays the branches of a schema into it, required where every one of them requires.
/// `budget` is the number of branches that may still be looked at: references can fan out without end.
pub(super) fn merge_into(
    members: &mut Map<String, Value>,
    root: &Value,
    budget: &mut usize,
    depth: usize,
) {
    /// Branches of branches of branches are as deep as anyone writes.
    const DEEPEST: usize = 4;
    for keyword in ["not", "enum", "const"] {
        members.shift_remove(keyword);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = members.shift_remove(keyword) else {
            continue;
        };
        if depth > DEEPEST {
            continue;
        }
        let mut in_all: Option<Vec<String>> = None;
        for branch in &branches {
            let Value::Object(branch) = refs::followed(root, branch) else {
                continue;
            };
            let Some(left) = budget.checked_sub(1) else {
                break;
            };
            *budget = left;
            let mut branch = branch.clone();
            merge_into(&mut branch, root, budget, depth + 1);
            let required: Vec<String> = names(&branch).map(str::to_owned).collect();
            in_all = Some(match in_all {
                None => required,
                Some(others) if keyword == "allOf" => [others, required].concat(),
                Some(others) => others
                    .into_iter()
                    .filter(|name| required.contains(name))
                    .collect(),
            });
            lay_properties(members, branch);
        }
        let mut required: Vec<Value> = names(members).map(Value::from).collect();
        for name in in_all.unwrap_or_default() {
            if !required.iter().any(|other| *other == name) {
                required.push(name.into());
            }
        }
        if !required.is_empty() {
            members.insert("required".to_owned(), Value::Array(required));
        }
    }
}

fn lay_properties(members: &mut Map<String, Value>, branch: Map<String, Value>) {
    for (keyword, value) in branch {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(more)) => {
                let properties = members.entry("properties").or_insert_with(|| json!({}));
                if let Value::Object(properties) = properties {
                    for (name, property) in more {
                        properties.entry(name).or_insert(property);
                    }
                }
            }
            ("required" | "additionalProperties", _) => {}
            (_, value) => {
                members.entry(keyword).or_insert(value);
            }
        }
    }
}

fn names(members: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let list = members.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Lists say of what, and schemas are objects.
fn complete(schema: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({"not": {}}),
        Value::Object(members) => {
            if is_list(members) && !members.contains_key("items") {
                members.insert("items".to_owned(), json!({}));
            }
            let flags: Vec<(String, Value)> = [
                "additionalProperties",
                "unevaluatedProperties",
                "unevaluatedItems",
            ]
            .into_iter()
            .filter_map(|key| {
                Some((
                    key.to_owned(),
                    members.get(key).filter(|value| value.is_boolean())?.clone(),
                ))
            })
            .collect();
            each_subschema_mut(members, &mut |value| complete(value, depth + 1));
            for (key, flag) in flags {
                members.insert(key, flag);
            }
        }
        _ => {}
    }
}

pub(super) fn is_list(members: &Map<String, Value>) -> bool {
    match members.get("type") {
        Some(Value::String(name)) => name == "array",
        Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, sent: Value, expected: Value) {
        assert_eq!(
            parameters(&sent, format).to_string(),
            expected.to_string(),
            "{}",
            format.as_str()
        );
    }

    const PROVIDERS: [Format; 4] = [
        Format::Openai,
        Format::OpenaiResponses,
        Format::Anthropic,
        Format::Gemini,
    ];

    #[test]
    fn writes_each_format_in_its_shape() {
        let schema =
            json!({"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]});
        let mut extra = Map::new();
        extra.insert("annotations".to_owned(), json!({"readOnlyHint": true}));
        let definition = Definition {
            name: "mcp_s_find",
            title: Some("Find"),
            description: "Finds ä.",
            input_schema: &schema,
            extra: &extra,
            as_given: false,
        };
        let parameters =
            r#"{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}"#;
        let check = |format, expected: String| assert_eq!(definition.write(format), expected);
        check(
            Format::Openai,
            format!(
                r#"{{"type":"function","function":{{"name":"mcp_s_find","description":"Finds ä.","parameters":{parameters}}}}}"#
            ),
        );
        check(
            Format::OpenaiResponses,
            format!(
                r#"{{"type":"function","name":"mcp_s_find","description":"Finds ä.","parameters":{parameters}}}"#
            ),
        );
        check(
            Format::Anthropic,
            format!(
                r#"{{"name":"mcp_s_find","description":"Finds ä.","input_schema":{parameters}}}"#
            ),
        );
        check(
            Format::Gemini,
            format!(
                r#"{{"name":"mcp_s_find","description":"Finds ä.","parametersJsonSchema":{parameters}}}"#
            ),
        );
        check(
            Format::Mcp,
            format!(
                r#"{{"name":"mcp_s_find","title":"Find","description":"Finds ä.","inputSchema":{parameters},"annotations":{{"readOnlyHint":true}}}}"#
            ),
        );
    }

    #[test]
    fn every_provider_gets_an_object_with_properties() {
        for sent in [
            json!(null),
            json!({}),
            json!({"type": "object"}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            json!({"$ref": "#"}),
            json!(7),
        ] {
            for format in PROVIDERS {
                check(
                    format,
                    sent.clone(),
                    json!({"type": "object", "properties": {}}),
                );
            }
        }
        check(
            Format::Mcp,
            json!({"properties": {"a": {}}}),
            json!({"properties": {"a": {}}, "type": "object"}),
        );
        check(
            Format::Mcp,
            json!(null),
            json!({"type": "object", "properties": {}}),
        );
    }

    #[test]
    fn mcp_gets_the_schema_as_it_was_sent() {
        let sent = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"a": {"type": "str"}}, "oneOf": [{}]});
        check(Format::Mcp, sent.clone(), sent);
    }

    #[test]
    fn lays_the_branches_of_the_root_together() {
        check(
            Format::Openai,
            json!({
                "type": "object",
                "properties": {"op": {"type": "string"}},
                "required": ["op"],
                "oneOf": [
                    {"properties": {"id": {"type": "integer"}, "x": {}}, "required": ["id", "x"]},
                    {"$ref": "#/$defs/B"},
                ],
                "allOf": [{"properties": {"all": {}}, "required": ["all"]}, {"required": ["more"]}],
                "$defs": {"B": {"properties": {"name": {"type": "string"}, "x": {}}, "required": ["name", "x"]}},
            }),
            json!({
                "type": "object",
                "properties": {"op": {"type": "string"}, "all": {}, "id": {"type": "integer"}, "x": {}, "name": {"type": "string"}},
                "required": ["op", "all", "more", "x"],
                "$defs": {"B": {"properties": {"name": {"type": "string"}, "x": {}}, "required": ["name", "x"]}},
            }),
        );
    }

    #[test]
    fn lists_say_of_what_and_schemas_are_objects() {
        check(
            Format::Anthropic,
            json!({"type": "object", "properties": {"a": {"type": "array"}, "b": true, "t": {"type": "array", "prefixItems": [{}], "items": false}}, "additionalProperties": false}),
            json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {}, "t": {"type": "array", "prefixItems": [{}], "items": {"not": {}}}}, "additionalProperties": false}),
        );
    }

    #[test]
    fn keeps_unions_and_references_inside() {
        let schema = json!({"type": "object", "properties": {
            "value": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "null"}]},
            "node": {"$ref": "#/$defs/N"},
        }, "$defs": {"N": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}}});
        check(Format::Openai, schema.clone(), schema);
    }

    #[test]
    fn every_provider_gets_property_names_that_it_takes() {
        for format in PROVIDERS {
            check(
                format,
                json!({"type": "object", "properties": {"$filter": {"type": "string"}}, "required": ["$filter"]}),
                json!({"type": "object", "properties": {"_filter": {"type": "string"}}, "required": ["_filter"]}),
            );
        }
    }

    #[test]
    fn no_reference_is_left_dangling() {
        for format in PROVIDERS {
            check(
                format,
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/Missing"}, "b": {"$ref": "http://x.test/y"}}}),
                json!({"type": "object", "properties": {"a": {}, "b": {}}}),
            );
        }
    }

    #[test]
    fn restores_the_names_that_it_showed() {
        let sent = json!({"properties": {"$filter": {}, "a": {"properties": {"x y": {}}}}});
        let shown = Renames::of(&normalise(&sent).schema);
        for format in PROVIDERS {
            let mut schema = parameters(&sent, format);
            assert!(Renames::of(&schema).is_empty(), "{schema}");
            shown.apply(&mut schema);
            assert!(schema["properties"].get("_filter").is_some());
        }
    }
}
