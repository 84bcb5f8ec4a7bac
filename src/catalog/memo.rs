//! What is worked out about a tool at most once.

use std::fmt;
use std::sync::OnceLock;

use crate::schema::Format;
use crate::schema::validate::Checker;

/// Results that follow from a tool's other fields. A clone starts empty, and no two differ: what differs is the tool.
#[derive(Default)]
pub struct Memo {
    definitions: [OnceLock<Box<str>>; Format::ALL.len()],
    characters: OnceLock<usize>,
    checker: OnceLock<Box<Checker>>,
}

impl Memo {
    pub(super) fn definition(&self, format: Format, write: impl FnOnce() -> String) -> &str {
        self.definitions[format as usize].get_or_init(|| write().into_boxed_str())
    }

    pub(super) fn characters(&self, count: impl FnOnce() -> usize) -> usize {
        *self.characters.get_or_init(count)
    }

    pub(super) fn checker(&self, compile: impl FnOnce() -> Checker) -> &Checker {
        self.checker.get_or_init(|| Box::new(compile()))
    }
}

impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Memo) -> bool {
        true
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memo")
    }
}
