//! A value with the way to it: what is pointed at when something is wrong with it.

use crate::config::document::node::{Content, Entry, Node};
use crate::config::{Range, pointer};

#[derive(Debug, Clone)]
pub struct Spot<'n> {
    pub node: &'n Node,
    /// JSON pointer.
    pub path: String,
    /// Where the key stands; `None` for the root and for elements of lists.
    pub key_range: Option<Range>,
}

impl<'n> Spot<'n> {
    pub fn root(node: &'n Node) -> Spot<'n> {
        Spot {
            node,
            path: String::new(),
            key_range: None,
        }
    }

    /// The value of an entry.
    pub fn value(&self, entry: &'n Entry) -> Spot<'n> {
        Spot {
            node: &entry.value,
            path: pointer::child(&self.path, &entry.key),
            key_range: entry.key_range,
        }
    }

    /// An element of a list.
    pub fn element(&self, index: usize, node: &'n Node) -> Spot<'n> {
        Spot {
            node,
            path: pointer::child(&self.path, &index.to_string()),
            key_range: None,
        }
    }

    /// The entries of a mapping.
    pub fn entries(&self) -> Option<&'n [Entry]> {
        match &self.node.content {
            Content::Map(entries) => Some(entries),
            _ => None,
        }
    }
}
