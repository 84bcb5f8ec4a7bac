//! Builds the tree from the events of the YAML parser, without recursion.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use crate::config::document::MAX_DEPTH;
use crate::config::document::complaint::{in_plain_words, too_deep};
use crate::config::document::node::{Content, Entry, Node};
use crate::config::document::source::Source;
use crate::config::{Problem, Range, Severity, pointer};

/// How much all anchors (`&name`) and aliases (`*name`) of a text may stand for: a small file could fill the memory.
const MAX_COPIED: usize = 100_000;

const TOO_MUCH: &str = "the anchors and aliases stand for too much";

pub struct Builder<'s> {
    source: &'s Source,
    /// The collections that are open.
    stack: Vec<Open>,
    anchors: HashMap<usize, Node>,
    /// The weight of what anchors and aliases have stood for so far.
    copied: usize,
    root: Option<Node>,
    problems: Vec<Problem>,
}

/// A mapping or list that has not ended yet.
struct Open {
    /// Index of its first character.
    start: usize,
    /// Index behind what was last read of it.
    end: usize,
    /// The bracket that ends it, if any.
    bracket: Option<char>,
    anchor: usize,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<Node>),
    Map {
        entries: Vec<Entry>,
        keys: HashSet<String>,
        key: Option<Key>,
        /// Values of the merge key `<<`.
        merged: Vec<Node>,
    },
}

/// A key whose value has not been read yet.
struct Key {
    text: String,
    range: Range,
    /// Whether it is YAML's `<<`.
    merges: bool,
    /// Whether the mapping has this key already, or it is none that can be used.
    dropped: bool,
}

impl<'s> Builder<'s> {
    pub fn new(source: &'s Source) -> Builder<'s> {
        Builder {
            source,
            stack: Vec::new(),
            anchors: HashMap::new(),
            copied: 0,
            root: None,
            problems: Vec::new(),
        }
    }

    /// The tree and what is wrong with it; a text that cannot be read to its end has none.
    pub fn build(mut self) -> (Option<Node>, Vec<Problem>) {
        match self.read() {
            Ok(()) => (self.root, self.problems),
            Err(problem) => {
                self.problems.push(problem);
                (None, self.problems)
            }
        }
    }

    fn read(&mut self) -> Result<(), Problem> {
        let mut parser = Parser::new_from_str(self.source.scanned());
        let mut documents = 0;
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| self.syntax_error(&error))?;
            match event {
                Event::DocumentStart(_) => {
                    documents += 1;
                    if documents > 1 {
                        let message = "a second document begins here, only one is read";
                        return Err(self.error(message, self.range(span)));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    self.scalar(text, style, anchor, tag.as_deref(), span)?;
                }
                Event::SequenceStart(anchor, _) => {
                    self.open(span, anchor, OpenContent::List(Vec::new()))?;
                }
                Event::MappingStart(anchor, _) => {
                    let content = OpenContent::Map {
                        entries: Vec::new(),
                        keys: HashSet::new(),
                        key: None,
                        merged: Vec::new(),
                    };
                    self.open(span, anchor, content)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close()?,
                Event::Alias(id) => self.alias(id, span)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<(), Problem> {
        let (start, end) = (span.start.index(), span.end.index());
        let end = self.source.scalar_end(start, end, style);
        let range = self.source.range(start, end);
        if let Some(around) = self.stack.last_mut() {
            around.end = end;
        }
        if self.awaits_key() {
            if anchor > 0 {
                let node = Node::new(Content::Text(text.clone().into_owned()), Some(range));
                self.anchors.insert(anchor, node);
            }
            let merges = style == ScalarStyle::Plain && text == "<<";
            self.key(text.into_owned(), range, merges);
            return Ok(());
        }
        let range = match self.pending_key() {
            // An empty value has no place of its own.
            Some(key) if range.start == range.end => key.range,
            _ => range,
        };
        let content = Content::of_scalar(text.into_owned(), style == ScalarStyle::Plain, tag);
        self.finish(Node::new(content, Some(range)), anchor)
    }

    fn key(&mut self, text: String, range: Range, merges: bool) {
        let path = self.path();
        let Some(OpenContent::Map { keys, key, .. }) =
            self.stack.last_mut().map(|open| &mut open.content)
        else {
            return;
        };
        let dropped = !keys.insert(text.clone());
        if dropped {
            self.problems.push(Problem::new(
                Severity::Error,
                format!("the key `{text}` is here twice"),
                pointer::child(&path, &text),
                Some(range),
            ));
        }
        *key = Some(Key {
            text,
            range,
            merges,
            dropped,
        });
    }

    fn open(&mut self, span: Span, anchor: usize, content: OpenContent) -> Result<(), Problem> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(self.error(too_deep(), self.range(span)));
        }
        let (start, end) = (span.start.index(), span.end.index());
        self.stack.push(Open {
            start,
            end,
            bracket: self.source.closing_bracket(start, end),
            anchor,
            content,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Problem> {
        let Some(open) = self.stack.pop() else {
            return Ok(());
        };
        let content = match open.content {
            OpenContent::List(items) => Content::List(items),
            OpenContent::Map {
                entries, merged, ..
            } => Content::Map(self.merge(entries, merged)),
        };
        // The parser lets a collection end where the next token begins, behind comments and blank lines.
        let end = match open.bracket {
            Some(bracket) => self.source.behind(bracket, open.end),
            None => open.end,
        };
        if let Some(around) = self.stack.last_mut() {
            around.end = end;
        }
        let range = self.source.range(open.start, end);
        self.finish(Node::new(content, Some(range)), open.anchor)
    }

    fn alias(&mut self, id: usize, span: Span) -> Result<(), Problem> {
        let Some(node) = self.anchors.get(&id) else {
            let message = "an alias to something that it is a part of";
            return Err(self.error(message, self.range(span)));
        };
        let depth = MAX_DEPTH - self.stack.len();
        let Some(weight) = node.weight(MAX_COPIED - self.copied, depth) else {
            return Err(self.error(TOO_MUCH, self.range(span)));
        };
        self.copied += weight;
        if let Some(around) = self.stack.last_mut() {
            around.end = span.end.index();
        }
        let node = node.clone();
        self.finish(node, 0)
    }

    /// Puts a node that is complete into the collection around it.
    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        if anchor > 0 {
            let Some(weight) = node.weight(MAX_COPIED - self.copied, MAX_DEPTH) else {
                return Err(self.error(TOO_MUCH, node.range.unwrap_or_default()));
            };
            self.copied += weight;
            self.anchors.insert(anchor, node.clone());
        }
        if self.awaits_key() {
            self.key_from(node);
            return Ok(());
        }
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.content {
            OpenContent::List(items) => items.push(node),
            OpenContent::Map {
                entries,
                key,
                merged,
                ..
            } => match key.take() {
                Some(key) if key.dropped => {}
                Some(key) if key.merges => merged.push(node),
                Some(key) => entries.push(Entry {
                    key: key.text,
                    key_range: Some(key.range),
                    value: node,
                }),
                None => {}
            },
        }
        Ok(())
    }

    /// Takes a node where a key was expected: the scalar behind an alias, or a collection, which no key can be.
    fn key_from(&mut self, node: Node) {
        let range = node.range.unwrap_or_default();
        match node.content.scalar_text() {
            Some(text) => self.key(text.to_owned(), range, false),
            None => {
                let path = self.path();
                self.problems.push(Problem::new(
                    Severity::Error,
                    "a key must be text",
                    path,
                    Some(range),
                ));
                if let Some(OpenContent::Map { key, .. }) =
                    self.stack.last_mut().map(|open| &mut open.content)
                {
                    *key = Some(Key {
                        text: String::new(),
                        range,
                        merges: false,
                        dropped: true,
                    });
                }
            }
        }
    }

    /// Adds what `<<` brings: keys of the mapping itself win over it, and earlier mappings over later ones.
    fn merge(&mut self, mut entries: Vec<Entry>, merged: Vec<Node>) -> Vec<Entry> {
        let mut sources = Vec::new();
        for node in merged {
            match node.content {
                Content::List(items) => sources.extend(items),
                _ => sources.push(node),
            }
        }
        let mut keys: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for source in sources {
            let Content::Map(brought) = source.content else {
                let path = pointer::child(&pointer_of(&self.stack), "<<");
                self.problems.push(Problem::new(
                    Severity::Error,
                    "`<<` takes a mapping or a list of mappings",
                    path,
                    source.range,
                ));
                continue;
            };
            for entry in brought {
                if keys.insert(entry.key.clone()) {
                    entries.push(entry);
                }
            }
        }
        entries
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.stack.last(),
            Some(Open {
                content: OpenContent::Map { key: None, .. },
                ..
            })
        )
    }

    fn pending_key(&self) -> Option<&Key> {
        match &self.stack.last()?.content {
            OpenContent::Map { key, .. } => key.as_ref(),
            OpenContent::List(_) => None,
        }
    }

    /// The JSON pointer of the innermost open collection.
    fn path(&self) -> String {
        let around = self.stack.len().saturating_sub(1);
        pointer_of(&self.stack[..around])
    }

    fn range(&self, span: Span) -> Range {
        self.source.range(span.start.index(), span.end.index())
    }

    fn error(&self, message: impl Into<String>, range: Range) -> Problem {
        Problem::new(
            Severity::Error,
            message,
            pointer_of(&self.stack),
            Some(range),
        )
    }

    fn syntax_error(&self, error: &ScanError) -> Problem {
        let start = self.source.position(error.marker().index());
        let end = self.source.position(error.marker().index() + 1);
        let end = if end.line == start.line { end } else { start };
        let message = if self.source.is_variable_at(error.marker().index()) {
            "put `${…}` in quotes where it stands in `[…]` or `{…}`".to_owned()
        } else {
            in_plain_words(error.info())
        };
        self.error(message, Range { start, end })
    }
}

/// The JSON pointer of what is read next inside these collections.
fn pointer_of(open: &[Open]) -> String {
    let mut path = String::new();
    for open in open {
        path = match &open.content {
            OpenContent::List(items) => pointer::child(&path, &items.len().to_string()),
            OpenContent::Map { key: Some(key), .. } => pointer::child(&path, &key.text),
            OpenContent::Map { key: None, .. } => path,
        };
    }
    path
}
