//! Where a `$ref` leads, inside the schema that it stands in and nowhere else.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::schema::{MAX_DEPTH, each_subschema};

/// The subschema that a reference leads to; `None` where it dangles or leads out of the schema. Nothing is ever fetched.
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() {
        return Some(root);
    }
    if fragment.starts_with('/') {
        return root.pointer(&percent_decoded(fragment));
    }
    find_anchor(root, fragment, 0)
}

/// A reference's target, through references that are nothing but references; `None` for a circle as well.
pub fn resolve_fully<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    /// Real schemas chain two or three.
    const LONGEST_CHAIN: usize = 16;
    let mut target = resolve(root, reference)?;
    for _ in 0..LONGEST_CHAIN {
        let Some(next) = target.get("$ref").and_then(Value::as_str) else {
            return Some(target);
        };
        target = resolve(root, next)?;
    }
    None
}

/// A schema itself, or what it refers to where it refers.
pub fn followed<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => resolve_fully(root, reference).unwrap_or(schema),
        None => schema,
    }
}

/// Every reference that leads nowhere, with the place where it stands.
pub fn dangling(root: &Value) -> Vec<(String, String)> {
    // Most schemas refer to nothing, and need no paths.
    if !refers(root, 0) {
        return Vec::new();
    }
    let mut search = Search {
        root,
        path: String::new(),
        anchors: None,
        found: Vec::new(),
    };
    search.walk(root, 0);
    search.found
}

/// A key as a part of a JSON pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Whether a schema or anything in it has a reference.
fn refers(schema: &Value, depth: usize) -> bool {
    let Value::Object(members) = schema else {
        return false;
    };
    // The schemas in `properties` are counted as two levels deeper here, as it is taken for one itself.
    depth <= 2 * MAX_DEPTH
        && (members.contains_key("$ref")
            || subschemas(members).any(|value| refers(value, depth + 1)))
}

struct Search<'a> {
    root: &'a Value,
    path: String,
    /// Gathered once, when the first reference asks for one.
    anchors: Option<BTreeSet<&'a str>>,
    found: Vec<(String, String)>,
}

impl<'a> Search<'a> {
    fn walk(&mut self, schema: &'a Value, depth: usize) {
        let Value::Object(members) = schema else {
            return;
        };
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(reference) = members.get("$ref").and_then(Value::as_str)
            && !self.leads_somewhere(reference)
        {
            self.found.push((self.path.clone(), reference.to_owned()));
        }
        each_subschema(members, &mut |step, value| {
            let length = self.path.len();
            self.path.push_str(step);
            self.walk(value, depth + 1);
            self.path.truncate(length);
        });
    }

    fn leads_somewhere(&mut self, reference: &str) -> bool {
        match reference.strip_prefix('#') {
            Some(anchor) if !anchor.is_empty() && !anchor.starts_with('/') => {
                let root = self.root;
                let anchors = self.anchors.get_or_insert_with(|| {
                    let mut anchors = BTreeSet::new();
                    collect_anchors(root, 0, &mut anchors);
                    anchors
                });
                anchors.contains(anchor)
            }
            _ => resolve(self.root, reference).is_some(),
        }
    }
}

fn collect_anchors<'a>(schema: &'a Value, depth: usize, anchors: &mut BTreeSet<&'a str>) {
    let Value::Object(members) = schema else {
        return;
    };
    if depth > MAX_DEPTH {
        return;
    }
    anchors.extend(members.get("$anchor").and_then(Value::as_str));
    for value in subschemas(members) {
        collect_anchors(value, depth + 1, anchors);
    }
}

fn find_anchor<'a>(schema: &'a Value, anchor: &str, depth: usize) -> Option<&'a Value> {
    let members = schema.as_object()?;
    if members.get("$anchor").and_then(Value::as_str) == Some(anchor) {
        return Some(schema);
    }
    if depth > MAX_DEPTH {
        return None;
    }
    subschemas(members).find_map(|value| find_anchor(value, anchor, depth + 1))
}

/// Every object inside that may be a schema.
fn subschemas(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    schema.values().flat_map(|value| match value {
        Value::Array(list) => list.as_slice(),
        value => std::slice::from_ref(value),
    })
}

fn percent_decoded(fragment: &str) -> String {
    if !fragment.contains('%') {
        return fragment.to_owned();
    }
    let bytes = fragment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = fragment
            .get(at + 1..at + 3)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(code) if bytes[at] == b'%' => {
                decoded.push(code);
                at += 3;
            }
            _ => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn follows_pointers_and_anchors() {
        let root = json!({
            "properties": {"a/b": {"anyOf": [{"type": "string"}]}},
            "$defs": {"One": {"type": "integer"}, "Two": {"$anchor": "two", "type": "null"}, "Chain": {"$ref": "#/$defs/One"}},
        });
        let check = |reference, expected: Option<Value>| {
            assert_eq!(
                resolve_fully(&root, reference).cloned(),
                expected,
                "{reference}"
            );
        };
        check("#/$defs/One", Some(json!({"type": "integer"})));
        check("#/%24defs/One", Some(json!({"type": "integer"})));
        check("#/$defs/Chain", Some(json!({"type": "integer"})));
        check("#/properties/a~1b/anyOf/0", Some(json!({"type": "string"})));
        check("#two", Some(json!({"$anchor": "two", "type": "null"})));
        check("#/$defs/Missing", None);
        check("other.json#/x", None);
        check("http://127.0.0.1:9/schema.json", None);
        check("#%e4%zz", None);
    }

    #[test]
    fn a_circle_of_references_leads_nowhere() {
        let root = json!({"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}});
        assert_eq!(resolve_fully(&root, "#/$defs/A"), None);
    }

    #[test]
    fn tells_where_a_dangling_reference_stands() {
        let root = json!({
            "properties": {"language": {"$ref": "#/$defs/Missing"}, "list": {"items": {"$ref": "x.json"}}},
            "default": {"$ref": "#/only/data"},
        });
        assert_eq!(
            dangling(&root),
            [
                (
                    "/properties/language".to_owned(),
                    "#/$defs/Missing".to_owned()
                ),
                ("/properties/list/items".to_owned(), "x.json".to_owned()),
            ]
        );
    }
}
