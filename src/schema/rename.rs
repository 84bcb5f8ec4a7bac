//! Property names that a model API refuses: which other name each is shown under, and the way back.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::schema::{MAX_DEPTH, each_subschema, each_subschema_mut};

/// The longest property name that every API takes, in characters.
const MAX_KEY: usize = 64;

/// Property names as the server gave them, each with the one that is shown in its place. Empty for nearly every tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Renames(Vec<(String, String)>);

impl Renames {
    /// Finds a new name for each key outside `[A-Za-z0-9_.-]{1,64}`; none is the name of another property of the schema.
    pub fn of(schema: &Value) -> Renames {
        let mut keys = BTreeSet::new();
        collect_keys(schema, 0, &mut keys);
        let mut renames = Vec::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for key in keys.iter().filter(|key| !is_accepted(key)) {
            let mut shown: String = key
                .chars()
                .map(|c| if is_plain(c) { c } else { '_' })
                .collect();
            shown.truncate(MAX_KEY);
            if shown.is_empty() || keys.contains(&shown) || taken.contains(&shown) {
                shown.truncate(MAX_KEY - 9);
                shown = format!("{shown}_{}", short_hash(key));
            }
            taken.insert(shown.clone());
            renames.push((key.clone(), shown));
        }
        Renames(renames)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the shown names into a schema.
    pub fn apply(&self, schema: &mut Value) {
        if !self.is_empty() {
            self.apply_within(schema, 0);
        }
    }

    /// Writes the server's names back into the arguments of a call. Names that are the server's already stay.
    pub fn restore(&self, arguments: &mut Map<String, Value>) {
        if !self.is_empty() {
            self.restore_within(arguments, 0);
        }
    }

    fn shown(&self, key: &str) -> Option<&str> {
        let (_, shown) = self.0.iter().find(|(original, _)| original == key)?;
        Some(shown)
    }

    fn original(&self, key: &str) -> Option<&str> {
        let (original, _) = self.0.iter().find(|(_, shown)| shown == key)?;
        Some(original)
    }

    fn apply_within(&self, schema: &mut Value, depth: usize) {
        let Value::Object(members) = schema else {
            return;
        };
        if depth > MAX_DEPTH {
            return;
        }
        for keyword in ["properties", "dependentRequired", "dependentSchemas"] {
            if let Some(Value::Object(named)) = members.get_mut(keyword) {
                rename_keys(named, |key| self.shown(key));
            }
        }
        let dependent = members
            .get_mut("dependentRequired")
            .and_then(Value::as_object_mut);
        let mut lists: Vec<&mut Value> = dependent.into_iter().flat_map(Map::values_mut).collect();
        self.apply_to_lists(&mut lists);
        if let Some(required) = members.get_mut("required") {
            self.apply_to_lists(&mut [required]);
        }
        each_subschema_mut(members, &mut |value| self.apply_within(value, depth + 1));
    }

    fn apply_to_lists(&self, lists: &mut [&mut Value]) {
        for name in lists
            .iter_mut()
            .filter_map(|list| list.as_array_mut())
            .flatten()
        {
            if let Some(shown) = name.as_str().and_then(|name| self.shown(name)) {
                *name = Value::from(shown);
            }
        }
    }

    fn restore_within(&self, object: &mut Map<String, Value>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        rename_keys(object, |key| self.original(key));
        for value in object.values_mut() {
            match value {
                Value::Object(object) => self.restore_within(object, depth + 1),
                Value::Array(list) => {
                    for object in list.iter_mut().filter_map(Value::as_object_mut) {
                        self.restore_within(object, depth + 1);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Renames keys in place, so that their order stays; never onto a key that is there.
fn rename_keys<'a>(object: &mut Map<String, Value>, new_name: impl Fn(&str) -> Option<&'a str>) {
    if !object.keys().any(|key| new_name(key).is_some()) {
        return;
    }
    let old = std::mem::take(object);
    let taken: BTreeSet<String> = old.keys().cloned().collect();
    for (key, value) in old {
        let new = new_name(&key)
            .filter(|new| !taken.contains(*new))
            .map(str::to_owned);
        object.insert(new.unwrap_or(key), value);
    }
}

fn collect_keys(schema: &Value, depth: usize, keys: &mut BTreeSet<String>) {
    let Value::Object(members) = schema else {
        return;
    };
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(Value::Object(properties)) = members.get("properties") {
        keys.extend(properties.keys().cloned());
    }
    each_subschema(members, &mut |_, value| {
        collect_keys(value, depth + 1, keys)
    });
}

fn is_accepted(key: &str) -> bool {
    (1..=MAX_KEY).contains(&key.len()) && key.chars().all(is_plain)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')
}

fn short_hash(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn good_names_stay() {
        let schema = json!({"properties": {"a": {}, "b.c-D_9": {}, &"x".repeat(64): {}}});
        assert!(Renames::of(&schema).is_empty());
    }

    #[test]
    fn renames_at_every_level_and_finds_the_way_back() {
        let original = json!({
            "type": "object",
            "properties": {
                "$filter": {"type": "string"},
                "list": {"type": "array", "items": {"type": "object", "properties": {"a/b": {}, "a b": {}}, "required": ["a b"]}},
                "_filter": {},
                "": {},
            },
            "required": ["$filter", "list"],
        });
        let renames = Renames::of(&original);
        let mut schema = original.clone();
        renames.apply(&mut schema);
        assert_eq!(
            schema.to_string(),
            json!({
                "type": "object",
                "properties": {
                    "_filter_0c097d40": {"type": "string"},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a_b_c14cddc0": {}, "a_b": {}}, "required": ["a_b"]}},
                    "_filter": {},
                    "_e3b0c442": {},
                },
                "required": ["_filter_0c097d40", "list"],
            })
            .to_string()
        );
        let mut arguments = json!({"_filter_0c097d40": 1, "list": [{"a_b_c14cddc0": 2, "a_b": 3, "other": 4}], "_filter": 5});
        renames.restore(arguments.as_object_mut().unwrap());
        let back = json!({"$filter": 1, "list": [{"a/b": 2, "a b": 3, "other": 4}], "_filter": 5});
        assert_eq!(arguments.to_string(), back.to_string());
        renames.restore(arguments.as_object_mut().unwrap());
        assert_eq!(arguments, back);
    }

    #[test]
    fn shortens_names_that_are_too_long() {
        let key = "k".repeat(90);
        let renames = Renames::of(&json!({"properties": {&key: {}}}));
        assert_eq!(renames.shown(&key).map(str::len), Some(64));
    }
}
