//! Reads YAML or JSON into a tree in which every key and every value knows where it stands.
//!
//! JSON is read as YAML, which contains it.
//! The tree is ours rather than a YAML library's, because it keeps what was written (`1.10` in an environment is not
//! 1.1), goes on after a duplicate key, and bounds depth and aliases by itself.

mod builder;
mod complaint;
pub mod node;
mod source;
pub mod spot;

use crate::config::document::builder::Builder;
use crate::config::document::node::{Content, Node};
use crate::config::document::source::Source;
use crate::config::document::spot::Spot;
use crate::config::{Position, Problem, Range, Severity, pointer};

/// The largest text that is looked at, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// How deep mappings and lists may be nested.
pub const MAX_DEPTH: usize = 128;

/// A text as a tree, as far as it could be read.
#[derive(Debug, Clone)]
pub struct Document {
    /// `None` where the text cannot be read, or holds nothing but comments.
    pub root: Option<Node>,
    /// What is wrong with the text as YAML; what it means is not looked at.
    pub problems: Vec<Problem>,
}

impl Document {
    pub fn parse(text: &str) -> Document {
        if text.len() > MAX_BYTES {
            let message = format!("the text has more than {MAX_BYTES} bytes");
            let problem = Problem::new(Severity::Error, message, String::new(), None);
            return Document {
                root: None,
                problems: vec![problem],
            };
        }
        let source = Source::new(text);
        let (root, problems) = Builder::new(&source).build();
        Document { root, problems }
    }

    /// What stands at a JSON pointer.
    pub fn find(&self, pointer: &str) -> Option<Spot<'_>> {
        let mut spot = Spot::root(self.root.as_ref()?);
        for key in pointer::keys(pointer) {
            spot = match &spot.node.content {
                Content::Map(entries) => spot.value(entries.iter().find(|entry| entry.key == key)?),
                Content::List(items) => {
                    let index = key.parse().ok()?;
                    spot.element(index, items.get(index)?)
                }
                _ => return None,
            };
        }
        Some(spot)
    }

    /// The JSON pointer of the innermost key or value that covers a position.
    pub fn pointer_at(&self, position: Position) -> Option<String> {
        let mut node = self.root.as_ref()?;
        let mut path = String::new();
        'inner: loop {
            match &node.content {
                Content::Map(entries) => {
                    for entry in entries {
                        if covers(entry.key_range, position) {
                            return Some(pointer::child(&path, &entry.key));
                        }
                        if covers(entry.value.range, position) {
                            path = pointer::child(&path, &entry.key);
                            node = &entry.value;
                            continue 'inner;
                        }
                    }
                }
                Content::List(items) => {
                    for (index, item) in items.iter().enumerate() {
                        if covers(item.range, position) {
                            path = pointer::child(&path, &index.to_string());
                            node = item;
                            continue 'inner;
                        }
                    }
                }
                _ => {}
            }
            return Some(path);
        }
    }
}

fn covers(range: Option<Range>, position: Position) -> bool {
    range.is_some_and(|range| range.start <= position && position <= range.end)
}

#[cfg(test)]
mod tests;
