//! Reads values as their keys take them, and collects every problem on the way.

mod collections;
mod scalars;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::document::node::Content;
use crate::config::document::spot::Spot;
use crate::config::expand::{ExpandError, expand};
use crate::config::filter::Globs;
use crate::config::keys::{Effect, Key, Table, is_remark};
use crate::config::kind::Kind;
use crate::config::{Problem, Severity, pointer};

/// So many problems that it is not worth looking for what was meant.
const MANY_PROBLEMS: usize = 1000;

/// Reads one configuration.
pub struct Reader<'a> {
    pub lookup: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that relative paths start from.
    pub base: &'a Path,
    /// How bad it is that a variable is not set; what needs it keeps its text where that is no error.
    pub unset: Severity,
    pub problems: Vec<Problem>,
    /// What was put in for variables.
    pub expanded: BTreeSet<String>,
    /// Variables that were warned of.
    warned: BTreeSet<String>,
}

/// A value as its key takes it.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    Text(String),
    Word(&'static str),
    Path(PathBuf),
    Number(f64),
    Count(usize),
    Duration(Duration),
    /// An interval that is switched off.
    Never,
    Texts(Vec<String>),
    Globs(Globs),
    TextMap(BTreeMap<String, String>),
    TextsMap(BTreeMap<String, Vec<String>>),
    /// A word that stands for a table.
    Short(&'static str),
    /// Left to whoever asks for it.
    Unread,
}

/// A key that was given, with its value.
#[derive(Debug, Clone)]
pub struct Given<'n> {
    pub key: &'static Key,
    pub spot: Spot<'n>,
    pub reading: Reading,
}

/// The keys that a mapping gives, each at most once; what could not be read is left out.
#[derive(Debug, Default)]
pub struct Readings<'n> {
    given: Vec<Given<'n>>,
}

impl<'n> Readings<'n> {
    pub fn get(&self, name: &str) -> Option<&Given<'n>> {
        self.given.iter().find(|given| given.key.name == name)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Given<'n>> {
        self.given.iter()
    }

    pub fn text(&self, name: &str) -> Option<String> {
        match &self.get(name)?.reading {
            Reading::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub fn word(&self, name: &str) -> Option<&'static str> {
        match self.get(name)?.reading {
            Reading::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn path(&self, name: &str) -> Option<PathBuf> {
        match &self.get(name)?.reading {
            Reading::Path(path) => Some(path.clone()),
            _ => None,
        }
    }

    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)?.reading {
            Reading::Number(number) => Some(number),
            _ => None,
        }
    }

    pub fn count(&self, name: &str) -> Option<usize> {
        match self.get(name)?.reading {
            Reading::Count(count) => Some(count),
            _ => None,
        }
    }

    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name)?.reading {
            Reading::Duration(duration) => Some(duration),
            _ => None,
        }
    }

    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        match &self.get(name)?.reading {
            Reading::Texts(texts) => Some(texts.clone()),
            _ => None,
        }
    }

    pub fn globs(&self, name: &str) -> Option<Globs> {
        match &self.get(name)?.reading {
            Reading::Globs(globs) => Some(globs.clone()),
            _ => None,
        }
    }

    pub fn text_map(&self, name: &str) -> Option<BTreeMap<String, String>> {
        match &self.get(name)?.reading {
            Reading::TextMap(map) => Some(map.clone()),
            _ => None,
        }
    }

    pub fn texts_map(&self, name: &str) -> Option<BTreeMap<String, Vec<String>>> {
        match &self.get(name)?.reading {
            Reading::TextsMap(map) => Some(map.clone()),
            _ => None,
        }
    }
}

impl<'a> Reader<'a> {
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<String>, base: &'a Path) -> Reader<'a> {
        Reader {
            lookup,
            base,
            unset: Severity::Error,
            problems: Vec::new(),
            expanded: BTreeSet::new(),
            warned: BTreeSet::new(),
        }
    }

    /// Reads the keys of a mapping; what is no mapping is a problem and has no keys.
    pub fn table<'n>(&mut self, spot: &Spot<'n>, table: &'static Table) -> Readings<'n> {
        let mut readings = Readings::default();
        let Some(entries) = spot.entries() else {
            if spot.node.content != Content::Null {
                let kind = spot.node.content.kind();
                self.at_value(
                    spot,
                    Severity::Error,
                    format!("must be a mapping, not {kind}"),
                );
            }
            return readings;
        };
        for entry in entries {
            let value = spot.value(entry);
            let Some(key) = table.find(&entry.key) else {
                self.unknown_key(&value, &entry.key, table);
                continue;
            };
            self.judge_effect(&value, &entry.key, key.effect);
            if entry.value.content == Content::Null {
                continue;
            }
            if let Some(first) = readings
                .given
                .iter()
                .find(|given| given.key.name == key.name)
            {
                if first.spot.node.content == value.node.content {
                    continue;
                }
                let used = pointer::keys(&first.spot.path).last().unwrap_or_default();
                let message = format!("`{}` means the same as `{used}`, which is used", entry.key);
                self.at_key(&value, Severity::Warning, message);
                continue;
            }
            if let Some(reading) = self.value(&value, &key.kind) {
                readings.given.push(Given {
                    key,
                    spot: value,
                    reading,
                });
            }
        }
        readings
    }

    fn value(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<Reading> {
        match kind {
            Kind::Any | Kind::Servers | Kind::Table(_) => Some(Reading::Unread),
            Kind::TableOr { short, .. } => match &spot.node.content {
                Content::Map(_) => Some(Reading::Unread),
                _ => self.word(spot, kind, short, None).map(Reading::Short),
            },
            Kind::Program => self.program(spot, kind),
            Kind::Path => self.path(spot, kind).map(Reading::Path),
            Kind::PathOr(words) => self.path_or(spot, kind, words),
            Kind::Url => self.url(spot, kind),
            Kind::Word {
                accepted,
                otherwise,
            } => self
                .word(spot, kind, accepted, *otherwise)
                .map(Reading::Word),
            Kind::Number { least, most } => self.number(spot, kind, *least, *most),
            Kind::Count { least, most } => self.count(spot, kind, *least, *most),
            Kind::Duration { least, most } => self.duration(spot, kind, *least, *most),
            Kind::Interval { least, most } => self.interval(spot, kind, *least, *most),
            Kind::Arguments => self.arguments(spot, kind).map(Reading::Texts),
            Kind::Environment => self.environment(spot, kind).map(Reading::TextMap),
            Kind::Headers => self.headers(spot, kind).map(Reading::TextMap),
            Kind::VariableNames => self.variable_names(spot, kind).map(Reading::Texts),
            Kind::Globs => self.globs(spot, kind).map(Reading::Globs),
            Kind::TextMap => self.text_map(spot, kind).map(Reading::TextMap),
            Kind::TextsMap => self.texts_map(spot, kind).map(Reading::TextsMap),
        }
    }

    fn unknown_key(&mut self, spot: &Spot<'_>, name: &str, table: &Table) {
        if is_remark(name) {
            return;
        }
        if let Some((_, instead)) = table.instead.iter().find(|(known, _)| *known == name) {
            let message = format!("`{name}` is not read, write `{instead}`");
            self.at_key(spot, Severity::Warning, message);
            return;
        }
        // Where so much is wrong, it is no spelling mistake.
        let near = match self.problems.len() {
            0..MANY_PROBLEMS => nearest(name, table),
            _ => None,
        };
        match near {
            Some(near) => {
                let message = format!("unknown key `{name}`, did you mean `{near}`?");
                self.at_key(spot, Severity::Warning, message);
            }
            None if table.shared => {}
            None => {
                self.at_key(spot, Severity::Warning, format!("unknown key `{name}`"));
            }
        }
    }

    fn judge_effect(&mut self, spot: &Spot<'_>, name: &str, effect: Effect) {
        let Effect::Nothing(instead) = effect else {
            return;
        };
        let mut message = format!("`{name}` has no effect in toolcrib");
        if !instead.is_empty() {
            message = format!("{message}, {instead}");
        }
        self.at_key(spot, Severity::Hint, message);
    }

    /// Puts variables into a text of the configuration.
    fn expand(&mut self, spot: &Spot<'_>, text: &str) -> Option<String> {
        let expansion = match expand(text, self.lookup) {
            Ok(expansion) => expansion,
            Err(error) => {
                let unset = matches!(error, ExpandError::Unset { .. });
                let severity = if unset { self.unset } else { Severity::Error };
                self.at_value(spot, severity, error.to_string());
                return (severity != Severity::Error).then(|| text.to_owned());
            }
        };
        for (name, value) in expansion.used {
            let remark = if value.is_empty() {
                "is empty"
            } else if value.trim() != value {
                "begins or ends with a blank or a line break"
            } else {
                ""
            };
            if !remark.is_empty() && self.warned.insert(name.clone()) {
                let message = format!("the value of the variable `{name}` {remark}");
                self.at_value(spot, Severity::Warning, message);
            }
            self.expanded.insert(value);
        }
        Some(expansion.text)
    }

    /// Reports something about a value.
    pub fn at_value(&mut self, spot: &Spot<'_>, severity: Severity, message: impl Into<String>) {
        let range = spot.node.range.or(spot.key_range);
        let problem = Problem::new(severity, message, spot.path.clone(), range);
        self.problems.push(problem);
    }

    /// Reports something about a key, or about what the value of a key lacks.
    pub fn at_key(&mut self, spot: &Spot<'_>, severity: Severity, message: impl Into<String>) {
        let range = spot.key_range.or(spot.node.range);
        let problem = Problem::new(severity, message, spot.path.clone(), range);
        self.problems.push(problem);
    }

    fn must_be(&mut self, spot: &Spot<'_>, kind: &Kind) {
        let expected = kind.expected();
        self.at_value(spot, Severity::Error, format!("must be {expected}"));
    }
}

/// The key that was probably meant.
fn nearest(name: &str, table: &Table) -> Option<&'static str> {
    let plain = |name: &str| name.replace(['_', '-'], "").to_lowercase();
    let given = plain(name);
    let distance = |known: &&'static str| strsim::damerau_levenshtein(&given, &plain(known));
    let near = table.names().min_by_key(|known| distance(known))?;
    let tolerated = match given.chars().count() {
        // Hosts have keys such as `toolsets` beside our `tools`.
        _ if table.shared => 1,
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    (distance(&near) <= tolerated).then_some(near)
}
