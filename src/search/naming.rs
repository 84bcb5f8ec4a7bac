//! Which tools a query calls by name, however it is written.

use std::sync::Arc;

use crate::catalog::Tool;
use crate::search::words::{self, Term};

/// How closely a query is a tool's name; the smaller, the closer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Naming {
    /// The name that the model sees or that the server gave, to the letter; the server's name may stand before it.
    Exact,
    /// All words of an alias of the user's, and few others.
    Alias,
    /// The same words.
    Words,
    /// The same letters, with or without the server's name.
    Letters,
    /// The last part of a name that has several, as in `repos/list`, or the name without the server's in front.
    Leaf,
}

impl Naming {
    /// Above all scores of tools that are not named.
    pub fn score(self) -> f32 {
        match self {
            Naming::Exact => 2.0,
            Naming::Alias => 1.95,
            Naming::Words => 1.9,
            Naming::Letters => 1.8,
            Naming::Leaf => 1.7,
        }
    }
}

/// Every way to write the names of a segment's tools, as a hash of its letters.
pub(super) struct Names {
    /// Sorted.
    keys: Box<[(Term, u16)]>,
}

impl Names {
    pub fn new(tools: &[Arc<Tool>]) -> Names {
        let mut keys: Vec<(Term, u16)> = Vec::with_capacity(tools.len() * 4);
        let (mut full, mut other) = (String::new(), String::new());
        for (number, tool) in tools.iter().enumerate() {
            let mut add = |letters: &str| {
                keys.extend(key(letters).map(|key| (key, number as u16)));
            };
            let original = tool.original_name();
            full.clear();
            full.push_str("mcp");
            push_letters(tool.server().map_or("", |it| it.as_str()), &mut full);
            let server_end = full.len();
            push_letters(original, &mut full);
            let (server, name) = (&full["mcp".len()..server_end], &full[server_end..]);
            add(name);
            if !server.is_empty() {
                add(&full["mcp".len()..]);
                add(&full);
            }
            other.clear();
            push_letters(tool.exposed.as_str(), &mut other);
            if other != full {
                add(&other);
            }
            if let Some(last) = last_part(original) {
                other.clear();
                other.push_str(server);
                push_letters(last, &mut other);
                if other.len() > server.len() {
                    add(&other[server.len()..]);
                    add(&other);
                }
            } else if let Some(leaf) = name.strip_prefix(server) {
                add(leaf);
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Names { keys: keys.into() }
    }

    /// The tools that the query may be the name of.
    pub fn find(&self, query: &Called) -> impl Iterator<Item = u16> {
        let start = self.keys.partition_point(|(key, _)| *key < query.key);
        let found = self.keys[start..].iter();
        found
            .take_while(|(key, _)| *key == query.key)
            .map(|(_, tool)| *tool)
    }
}

/// A query read as a name.
pub(super) struct Called {
    text: String,
    words: String,
    letters: String,
    key: Term,
}

impl Called {
    /// None for a query without a letter.
    pub fn new(query: &str) -> Option<Called> {
        let letters = letters(query);
        Some(Called {
            text: query.trim().to_owned(),
            words: spaced(query),
            key: key(&letters)?,
            letters,
        })
    }

    /// Whether this is the name under which the model sees a tool.
    pub fn is_shown(&self, tool: &Tool) -> bool {
        self.text == tool.exposed.as_str()
    }

    /// How closely this is the name of a tool; none if it is not.
    pub fn naming(&self, tool: &Tool) -> Option<Naming> {
        let server = tool.server().map_or("", |server| server.as_str());
        let exposed = tool.exposed.as_str();
        let original = tool.original_name();
        let behind_server = strip_server(&self.text, server);
        if self.text == exposed || self.text == original || behind_server == Some(original) {
            return Some(Naming::Exact);
        }
        let original_words = spaced(original);
        let behind_mcp = self.words.strip_prefix("mcp ").unwrap_or(&self.words);
        let behind_server = strip_server(behind_mcp, &spaced(server));
        if self.words == original_words
            || self.words == spaced(exposed)
            || behind_server == Some(&original_words)
        {
            return Some(Naming::Words);
        }
        let spellings = Spellings::of(tool);
        let without_mcp = self.letters.strip_prefix("mcp").unwrap_or(&self.letters);
        let without_server = without_mcp
            .strip_prefix(&spellings.server)
            .unwrap_or(&self.letters);
        if self.letters == spellings.exposed
            || self.letters == spellings.original
            || without_server == spellings.original
        {
            return Some(Naming::Letters);
        }
        let leaf = spellings.leaf?;
        (self.letters == leaf || without_server == leaf).then_some(Naming::Leaf)
    }
}

/// What stands behind the server's name and something that is no part of a word.
fn strip_server<'a>(text: &'a str, server: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(server).filter(|_| !server.is_empty())?;
    let name = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
    (name.len() < rest.len()).then_some(name)
}

/// The letters and digits of a tool's names, and nothing between them.
struct Spellings {
    exposed: String,
    server: String,
    original: String,
    leaf: Option<String>,
}

impl Spellings {
    fn of(tool: &Tool) -> Spellings {
        let original = letters(tool.original_name());
        let server = letters(tool.server().map_or("", |server| server.as_str()));
        let last = last_part(tool.original_name());
        let leaf = match last {
            Some(last) => Some(letters(last)),
            None => original
                .strip_prefix(&server)
                .filter(|_| !server.is_empty())
                .map(str::to_owned),
        };
        Spellings {
            exposed: letters(tool.exposed.as_str()),
            leaf: leaf.filter(|leaf| !leaf.is_empty()),
            server,
            original,
        }
    }
}

/// What stands behind the last separator of a name that has several parts.
fn last_part(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let is_separator = |at: usize| match bytes[at] {
        b'/' | b'.' | b':' => true,
        b'_' | b'-' => at > 0 && bytes[at - 1] == bytes[at],
        _ => false,
    };
    let at = (0..bytes.len()).rev().find(|at| is_separator(*at))?;
    Some(&name[at + 1..])
}

fn letters(text: &str) -> String {
    let mut res = String::with_capacity(text.len());
    push_letters(text, &mut res);
    res
}

fn push_letters(text: &str, res: &mut String) {
    if text.is_ascii() {
        let letters = text.bytes().filter(u8::is_ascii_alphanumeric);
        res.extend(letters.map(|byte| char::from(byte.to_ascii_lowercase())));
    } else {
        let folded = words::fold(text);
        res.extend(folded.chars().filter(|c| c.is_alphanumeric()));
    }
}

/// The words as they are written, one blank between them: `createIssue` and `Create-issue` are `create issue`.
fn spaced(text: &str) -> String {
    words::plain(text).join(" ")
}

fn key(letters: &str) -> Option<Term> {
    (!letters.is_empty()).then(|| Term::of(letters))
}
