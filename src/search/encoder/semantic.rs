//! How near in meaning are the tools to a query, by the vectors of their texts?

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use crate::catalog::Tool;
use crate::search::Options;
use crate::search::encoder::sentence::Sentence;
use crate::search::fields::{self, Field, Limits};
use crate::search::words::head;

/// How much of a description is read, in bytes.
const DESCRIPTION: usize = 800;

/// What a text is known by; equal texts have equal keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(pub [u8; 16]);

/// The vectors of texts.
#[derive(Clone, Default)]
pub struct Vectors {
    by_key: FxHashMap<Key, Arc<Sentence>>,
}

/// A query, and what is known of the tools among which it is asked.
#[derive(Clone, Copy)]
pub struct Semantic<'a> {
    pub query: &'a Sentence,
    pub vectors: &'a Vectors,
}

impl Key {
    pub fn of(text: &str) -> Key {
        let digest = Sha256::digest(text.as_bytes());
        Key(std::array::from_fn(|at| digest[at]))
    }
}

impl Vectors {
    pub fn get(&self, key: &Key) -> Option<&Arc<Sentence>> {
        self.by_key.get(key)
    }

    pub fn insert(&mut self, key: Key, sentence: Arc<Sentence>) {
        self.by_key.insert(key, sentence);
    }

    pub fn retain(&mut self, keep: impl Fn(&Key) -> bool) {
        self.by_key.retain(|key, _| keep(key));
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<Sentence>)> {
        self.by_key.iter()
    }
}

impl Semantic<'_> {
    /// The cosine of the query and each of the texts; `None` unless every one of them has a vector, for half a catalog
    /// would win over the other half.
    pub(in crate::search) fn cosines(&self, keys: &[&[Key]]) -> Option<Vec<f32>> {
        let keys = keys.iter().copied().flatten();
        keys.map(|key| Some(self.vectors.get(key)?.cosine(self.query)))
            .collect()
    }
}

/// The text by which a tool is compared with a query.
pub fn text(tool: &Tool) -> String {
    let mut res = String::with_capacity(256);
    if let Some(server) = tool.server() {
        push_words(&mut res, server.as_str());
        res.push(' ');
    }
    push_words(&mut res, tool.original_name());
    let title = tool.title.as_deref().unwrap_or_default();
    let description = Some(tool.description.as_str()).filter(|it| !it.trim().is_empty());
    res.push_str(": ");
    res.push_str(head(description.unwrap_or(title), DESCRIPTION));
    let names_only = Limits {
        description: 0,
        parameter_text: 64,
        parameter_texts: 0,
    };
    for (field, name) in fields::texts(tool, &Options::default(), &names_only) {
        if field == Field::ParameterNames {
            res.push(' ');
            res.extend(name.chars().map(|c| if c == '_' { ' ' } else { c }));
        }
    }
    res
}

/// Adds a name as words: `createPull_request` as `create Pull request`.
fn push_words(text: &mut String, name: &str) {
    let mut before: Option<char> = None;
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let starts_word = before.is_some_and(|before| {
            let after_small = before.is_ascii_lowercase() || before.is_ascii_digit();
            let ends_capitals =
                before.is_ascii_uppercase() && chars.peek().is_some_and(char::is_ascii_lowercase);
            c.is_ascii_uppercase() && (after_small || ends_capitals)
        });
        if starts_word {
            text.push(' ');
        }
        text.push(if matches!(c, '_' | '-' | '.') { ' ' } else { c });
        before = Some(c);
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(name: &str, description: &str, expect: Expect) {
        let schema = json!({"properties": {"issue_id": {"type": "string"}, "where": {"properties": {"city": {}}}}});
        let tool = Tool::host(name, Some(description), Some(schema), true);
        expect.assert_eq(&text(&tool));
    }

    #[test]
    fn a_tool_is_read_as_words() {
        check(
            "createPull_requestURLFor2Users",
            "Does it.",
            expect!["create Pull request URL For2 Users: Does it. issue id where city"],
        );
    }

    #[test]
    fn a_long_description_is_read_in_part() {
        let text = text(&Tool::host("x", Some(&"é".repeat(2000)), None, true));
        assert!(text.len() <= "x: ".len() + DESCRIPTION);
    }

    #[test]
    fn a_key_is_of_the_text_alone() {
        assert_eq!(Key::of("a"), Key::of("a"));
        assert_ne!(Key::of("a"), Key::of("b"));
    }

    #[test]
    fn half_known_tools_have_no_cosines() {
        let query = Sentence::of_numbers(&[1.0, 0.0]);
        let mut vectors = Vectors::default();
        let keys = [Key::of("a"), Key::of("b")];
        vectors.insert(keys[0], Arc::new(Sentence::of_numbers(&[1.0, 1.0])));
        let cosines = |vectors: &Vectors| {
            let semantic = Semantic {
                query: &query,
                vectors,
            };
            semantic.cosines(&[&keys[..1], &keys[1..]])
        };
        assert_eq!(cosines(&vectors), None);
        vectors.insert(keys[1], Arc::new(Sentence::of_numbers(&[0.0, 1.0])));
        let found = cosines(&vectors).unwrap();
        assert!((found[0] - 0.5f32.sqrt()).abs() < 1e-3 && found[1] == 0.0);
    }
}
