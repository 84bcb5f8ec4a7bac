//! Reads lists and mappings: arguments, environments, headers, globs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::Severity;
use crate::config::document::node::Content;
use crate::config::document::spot::Spot;
use crate::config::filter::{Globs, compile};
use crate::config::kind::Kind;
use crate::config::read::Reader;
use crate::config::read::words;

impl Reader<'_> {
    /// The arguments of a program. A text that is split is split before variables are put in, so that each stays whole.
    pub(super) fn arguments(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<Vec<String>> {
        match &spot.node.content {
            Content::List(items) => {
                let mut arguments = Vec::with_capacity(items.len());
                let mut complete = true;
                for (index, item) in items.iter().enumerate() {
                    match self.scalar(&spot.element(index, item)) {
                        Some(argument) => arguments.push(argument),
                        None => complete = false,
                    }
                }
                complete.then_some(arguments)
            }
            Content::Text(text) => {
                let words = match text.trim_start().chars().next() {
                    Some('[' | '{') => json_list(text),
                    _ => words::split(text).ok(),
                };
                let Some(words) = words else {
                    let message =
                        "a text must be arguments with closed quotes or a JSON list of texts";
                    self.at_value(spot, Severity::Error, message);
                    return None;
                };
                let mut arguments = Vec::with_capacity(words.len());
                for word in words {
                    let word = self.expand(spot, &word)?;
                    arguments.push(self.without_nul(spot, word)?);
                }
                Some(arguments)
            }
            _ => {
                self.must_be(spot, kind);
                None
            }
        }
    }

    pub(super) fn environment(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
    ) -> Option<BTreeMap<String, String>> {
        self.map(spot, kind, |reader, value, name| {
            if name.is_empty() || name.contains(['=', '\0']) {
                let message = format!("`{name}` cannot be the name of a variable");
                reader.at_key(value, Severity::Error, message);
                return None;
            }
            reader.scalar(value)
        })
    }

    pub(super) fn headers(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
    ) -> Option<BTreeMap<String, String>> {
        self.map(spot, kind, |reader, value, name| {
            if name.is_empty() || !name.chars().all(is_token) {
                let message = format!("`{name}` cannot be the name of a header");
                reader.at_key(value, Severity::Error, message);
                return None;
            }
            let text = reader.scalar(value)?;
            // Blanks around a header's value mean nothing, and a line break at its end would make it invalid.
            let text = text.trim();
            if text.contains(|c: char| c.is_control() && c != '\t') {
                let message =
                    "the value of a header must not hold line breaks or control characters";
                reader.at_value(value, Severity::Error, message);
                return None;
            }
            Some(text.to_owned())
        })
    }

    pub(super) fn variable_names(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<Vec<String>> {
        let spots = self.one_or_more(spot, kind)?;
        let mut names = Vec::with_capacity(spots.len());
        for spot in spots {
            let name = self.text(&spot, kind)?;
            if name.trim().is_empty() || name.contains('=') {
                let message = "cannot be the name of a variable";
                self.at_value(&spot, Severity::Error, message);
                return None;
            }
            names.push(name.trim().to_owned());
        }
        Some(names)
    }

    pub(super) fn globs(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<Globs> {
        let mut patterns = Vec::new();
        let mut complete = true;
        for spot in self.one_or_more(spot, kind)? {
            match self.text(&spot, kind) {
                Some(pattern) => {
                    if let Err(error) = compile(&pattern) {
                        let message = format!("is not a valid glob: {}", error.reason);
                        self.at_value(&spot, Severity::Error, message);
                        complete = false;
                    }
                    patterns.push(pattern);
                }
                None => complete = false,
            }
        }
        if !complete {
            return None;
        }
        match Globs::new(patterns) {
            Ok(globs) => Some(globs),
            Err(error) => {
                let message = format!("are not valid globs: {}", error.reason);
                self.at_value(spot, Severity::Error, message);
                None
            }
        }
    }

    pub(super) fn text_map(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
    ) -> Option<BTreeMap<String, String>> {
        self.map(spot, kind, |reader, value, _| reader.scalar(value))
    }

    pub(super) fn texts_map(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
    ) -> Option<BTreeMap<String, Vec<String>>> {
        self.map(spot, kind, |reader, value, _| {
            let spots = reader.one_or_more(value, kind)?;
            spots.iter().map(|spot| reader.scalar(spot)).collect()
        })
    }

    /// A mapping whose values are read one by one, so that each mistake is reported; `None` if there was one.
    fn map<T>(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        mut read: impl FnMut(&mut Self, &Spot<'_>, &str) -> Option<T>,
    ) -> Option<BTreeMap<String, T>> {
        let Some(entries) = spot.entries() else {
            self.must_be(spot, kind);
            return None;
        };
        let mut map = BTreeMap::new();
        let mut complete = true;
        for entry in entries {
            match read(self, &spot.value(entry), &entry.key) {
                Some(value) => {
                    map.insert(entry.key.clone(), value);
                }
                None => complete = false,
            }
        }
        complete.then_some(map)
    }

    /// The elements of a list, or the one scalar that stands for a list of itself.
    fn one_or_more<'n>(&mut self, spot: &Spot<'n>, kind: &Kind) -> Option<Vec<Spot<'n>>> {
        match &spot.node.content {
            Content::List(items) => {
                let elements = items.iter().enumerate();
                Some(
                    elements
                        .map(|(index, item)| spot.element(index, item))
                        .collect(),
                )
            }
            Content::Null | Content::Map(_) => {
                self.must_be(spot, kind);
                None
            }
            _ => Some(vec![spot.clone()]),
        }
    }

    /// A text, or a number or boolean as it was written.
    fn scalar(&mut self, spot: &Spot<'_>) -> Option<String> {
        let text = match &spot.node.content {
            Content::Text(text) => self.expand(spot, text)?,
            Content::Number(_, text) | Content::Bool(_, text) => text.clone(),
            content => {
                let message = format!("must be text, not {}", content.kind());
                self.at_value(spot, Severity::Error, message);
                return None;
            }
        };
        self.without_nul(spot, text)
    }
}

/// The scalars of a JSON list in a text.
fn json_list(text: &str) -> Option<Vec<String>> {
    let items: Vec<Value> = serde_json::from_str(text).ok()?;
    let scalar = |item: Value| match item {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    };
    items.into_iter().map(scalar).collect()
}

/// Whether a character may be in the name of a header (RFC 9110).
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}
