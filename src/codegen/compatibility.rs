//! Says what a host that was written against an older contract would trip over in a newer one.
//!
//! Adding an optional field, a method, a notification, a word or a case is free.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The breaks from one OpenRPC document of ours to a later one, a line each.
pub fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let inbound = reachable(old, Direction::In);
    let outbound = reachable(old, Direction::Out);
    let mut breaks = Vec::new();
    for method in items(&old["methods"]) {
        let name = text(&method["name"]);
        match items(&new["methods"]).find(|it| it["name"] == method["name"]) {
            Some(new_method) => method_breaks(name, method, new_method, &mut breaks),
            None => breaks.push(format!("`{name}`: the method is gone")),
        }
    }
    let old_schemas = &old["components"]["schemas"];
    let new_schemas = &new["components"]["schemas"];
    for (name, schema) in members(old_schemas) {
        let Some(new_schema) = new_schemas.get(name) else {
            breaks.push(format!("`{name}`: the type is gone"));
            continue;
        };
        let both_ways = Ways {
            inbound: inbound.contains(name),
            outbound: outbound.contains(name),
        };
        type_breaks(name, schema, new_schema, both_ways, &mut breaks);
    }
    for (name, error) in members(&old["components"]["errors"]) {
        let new_error = &new["components"]["errors"][name];
        if new_error["code"] != error["code"] {
            breaks.push(format!("`{name}`: the error has another code, or is gone"));
        }
        for kind in items(&error["data"]["kinds"]) {
            if !items(&new_error["data"]["kinds"]).any(|it| it == kind) {
                breaks.push(format!("`{name}`: the kind `{}` is gone", text(kind)));
            }
        }
    }
    breaks
}

fn method_breaks(name: &str, old: &Value, new: &Value, breaks: &mut Vec<String>) {
    if old["x-from"] != new["x-from"] {
        breaks.push(format!("`{name}`: is sent by the other side"));
    }
    if old["x-params"] != new["x-params"] {
        breaks.push(format!("`{name}`: the params have another type"));
    }
    if without_docs(&old["result"]["schema"]) != without_docs(&new["result"]["schema"]) {
        breaks.push(format!("`{name}`: the result has another type"));
    }
}

/// Who may send a type.
#[derive(Clone, Copy)]
struct Ways {
    inbound: bool,
    outbound: bool,
}

fn type_breaks(name: &str, old: &Value, new: &Value, ways: Ways, breaks: &mut Vec<String>) {
    let old_words = words(old);
    if !old_words.is_empty() {
        for word in old_words.difference(&words(new)) {
            breaks.push(format!("`{name}`: the word `{word}` is gone"));
        }
        return;
    }
    if let Some(cases) = old.get("oneOf") {
        for case in items(cases) {
            let case = without_docs(case);
            if !items(&new["oneOf"]).any(|it| without_docs(it) == case) {
                breaks.push(format!(
                    "`{name}`: a case is gone or has another tag: {case}"
                ));
            }
        }
        return;
    }
    if old["type"] != new["type"] {
        breaks.push(format!("`{name}`: is no longer of type {}", old["type"]));
        return;
    }
    for (field, schema) in members(&old["properties"]) {
        match new["properties"].get(field) {
            None => breaks.push(format!("`{name}.{field}`: the field is gone")),
            Some(new_schema) if without_docs(schema) != without_docs(new_schema) => {
                breaks.push(format!("`{name}.{field}`: has another type"));
            }
            Some(_) => {}
        }
    }
    let required = |schema: &Value| {
        items(&schema["required"])
            .map(|it| text(it).to_owned())
            .collect()
    };
    let (old_required, new_required): (BTreeSet<_>, BTreeSet<_>) = (required(old), required(new));
    if ways.inbound {
        for field in new_required.difference(&old_required) {
            breaks.push(format!("`{name}.{field}`: hosts must send it now"));
        }
    }
    if ways.outbound {
        for field in old_required.difference(&new_required) {
            breaks.push(format!("`{name}.{field}`: hosts can no longer rely on it"));
        }
    }
}

/// The words of a string with few values; schemas write them in two ways.
fn words(schema: &Value) -> BTreeSet<String> {
    let options = schema.get("oneOf").unwrap_or(&Value::Null);
    items(options)
        .chain([schema])
        .filter(|it| it["type"] == "string")
        .flat_map(|it| items(&it["enum"]).chain(it.get("const")))
        .map(|it| text(it).to_owned())
        .collect()
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    In,
    Out,
}

/// The names of the types that travel in one direction.
fn reachable(document: &Value, direction: Direction) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for method in items(&document["methods"]) {
        let host_sends = match direction {
            Direction::In => "host",
            Direction::Out => "sidecar",
        };
        let part = if method["x-from"] == host_sends {
            &method["x-params"]
        } else {
            &method["result"]
        };
        gather(part, document, &mut found);
    }
    if direction == Direction::Out {
        gather(&document["components"]["errors"], document, &mut found);
    }
    found
}

fn gather(value: &Value, document: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|it| gather(it, document, found)),
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(name) = reference.and_then(|it| it.strip_prefix("#/components/schemas/"))
                && found.insert(name.to_owned())
            {
                gather(&document["components"]["schemas"][name], document, found);
            }
            members.values().for_each(|it| gather(it, document, found));
        }
        _ => {}
    }
}

fn without_docs(schema: &Value) -> Value {
    match schema {
        Value::Array(values) => values.iter().map(without_docs).collect(),
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter(|(name, value)| *name != "description" || !value.is_string());
            Value::Object(
                kept.map(|(name, value)| (name.clone(), without_docs(value)))
                    .collect(),
            )
        }
        _ => schema.clone(),
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({
            "methods": [
                { "name": "ask", "x-from": "host", "x-params": schema("In"), "result": { "schema": schema("Out") } },
                { "name": "tell", "x-from": "sidecar", "x-params": schema("Out") },
            ],
            "components": {
                "schemas": {
                    "In": { "type": "object", "properties": { "a": { "type": "string", "description": "Doc." }, "b": { "type": ["string", "null"] } }, "required": ["a"] },
                    "Out": { "type": "object", "properties": { "word": schema("Word"), "union": schema("Union") }, "required": ["word"] },
                    "Word": { "oneOf": [{ "type": "string", "enum": ["x"] }, { "type": "string", "const": "y" }] },
                    "Union": { "oneOf": [{ "allOf": [schema("In")], "properties": { "kind": { "const": "in" } } }] },
                },
                "errors": { "Failed": { "code": -1, "data": { "kinds": ["k"] } } },
            },
        })
    }

    fn schema(name: &str) -> Value {
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    fn check(change: impl FnOnce(&mut Value), expected: Expect) {
        let mut new = document();
        change(&mut new);
        expected.assert_eq(&breaks(&document(), &new).join("\n"));
    }

    #[test]
    fn additions_and_documentation_are_free() {
        check(
            |it| {
                it["methods"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "name": "more", "x-from": "host" }));
                let schemas = &mut it["components"]["schemas"];
                schemas["In"]["properties"]["a"]["description"] = "Other.".into();
                schemas["In"]["properties"]["c"] = json!({ "type": ["string", "null"] });
                schemas["Out"]["properties"]["c"] = json!({ "type": "string" });
                schemas["Out"]["required"] = json!(["word", "c"]);
                schemas["Word"]["oneOf"][0]["enum"] = json!(["x", "z"]);
                schemas["Union"]["oneOf"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "properties": { "kind": { "const": "new" } } }));
            },
            expect![""],
        );
    }

    #[test]
    fn missing_method_is_a_break() {
        check(
            |it| it["methods"] = json!([]),
            expect![[r#"
            `ask`: the method is gone
            `tell`: the method is gone"#]],
        );
    }

    #[test]
    fn missing_field_or_type_is_a_break() {
        check(
            |it| {
                it["components"]["schemas"]["In"]["properties"]
                    .as_object_mut()
                    .unwrap()
                    .remove("b");
                it["components"]["schemas"]
                    .as_object_mut()
                    .unwrap()
                    .remove("Out");
            },
            expect![[r#"
                `In.b`: the field is gone
                `Out`: the type is gone"#]],
        );
    }

    #[test]
    fn new_required_param_is_a_break() {
        check(
            |it| it["components"]["schemas"]["In"]["required"] = json!(["a", "b"]),
            expect!["`In.b`: hosts must send it now"],
        );
    }

    #[test]
    fn member_of_an_answer_that_may_be_missing_now_is_a_break() {
        check(
            |it| it["components"]["schemas"]["Out"]["required"] = json!([]),
            expect!["`Out.word`: hosts can no longer rely on it"],
        );
    }

    #[test]
    fn changed_type_is_a_break() {
        check(
            |it| {
                it["components"]["schemas"]["In"]["properties"]["a"]["type"] = "integer".into();
                it["methods"][0]["result"]["schema"] = schema("In");
                it["methods"][1]["x-from"] = "host".into();
            },
            expect![[r#"
                `ask`: the result has another type
                `tell`: is sent by the other side
                `In.a`: has another type"#]],
        );
    }

    #[test]
    fn changed_tag_or_word_is_a_break() {
        check(
            |it| {
                it["components"]["schemas"]["Union"]["oneOf"][0]["properties"]["kind"]["const"] =
                    "inside".into();
                it["components"]["schemas"]["Word"]["oneOf"][1]["const"] = "why".into();
            },
            expect![[r##"
                `Word`: the word `y` is gone
                `Union`: a case is gone or has another tag: {"allOf":[{"$ref":"#/components/schemas/In"}],"properties":{"kind":{"const":"in"}}}"##]],
        );
    }

    #[test]
    fn changed_error_is_a_break() {
        check(
            |it| {
                it["components"]["errors"]["Failed"] =
                    json!({ "code": -2, "data": { "kinds": [] } })
            },
            expect![[r#"
            `Failed`: the error has another code, or is gone
            `Failed`: the kind `k` is gone"#]],
        );
    }
}
