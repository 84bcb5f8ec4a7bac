//! What a key takes; `read` reads it, `json_schema` describes it.

use crate::config::keys::Table;

/// The values that a key takes; `null` is always the same as leaving the key out.
#[derive(Debug)]
pub enum Kind {
    /// Anything; not looked at.
    Any,
    /// The name or path of a program.
    Program,
    /// A path; `~` and paths relative to the configuration's folder are made whole.
    Path,
    /// One of these words, else a path.
    PathOr(Words),
    /// An `http` or `https` address.
    Url,
    /// One of these words; `true`, `1` and the like count as the words that they are written as.
    Word {
        accepted: Words,
        /// What any other word stands for, with a warning; `None` makes it an error.
        otherwise: Option<&'static str>,
    },
    /// A number within bounds; others are moved to the nearest bound with a warning.
    Number {
        least: f64,
        most: f64,
    },
    /// A whole number within bounds.
    Count {
        least: usize,
        most: usize,
    },
    /// Seconds, or text such as `500ms`, `30s`, `2m`, `1h`.
    Duration {
        least: f64,
        most: f64,
    },
    /// A duration, or `false` or `0` for none.
    Interval {
        least: f64,
        most: f64,
    },
    /// A list of texts and numbers, or one text that is split.
    Arguments,
    /// Values of environment variables by their names.
    Environment,
    /// Values of HTTP headers by their names.
    Headers,
    /// One name of an environment variable, or a list of them.
    VariableNames,
    /// One glob, or a list of them.
    Globs,
    /// Texts by names.
    TextMap,
    /// Texts, or lists of them, by names.
    TextsMap,
    Table(&'static Table),
    /// A mapping, or a word that stands for one whose `enabled` has the second value.
    TableOr {
        table: &'static Table,
        short: Words,
    },
    /// The servers by their names.
    Servers,
}

/// Spellings with what they mean.
pub type Words = &'static [(&'static str, &'static str)];

impl Kind {
    /// What it takes, as it goes on after "must be".
    pub fn expected(&self) -> String {
        match self {
            Kind::Any => "anything".to_owned(),
            Kind::Program => "the name or path of a program, as text".to_owned(),
            Kind::Path => "a path, as text".to_owned(),
            Kind::PathOr(words) => format!("{}, or a path", one_of(words)),
            Kind::Url => "an address that begins with `http://` or `https://`".to_owned(),
            Kind::Word { accepted, .. } => one_of(accepted),
            Kind::Number { least, most } => format!("a number from {least} to {most}"),
            Kind::Count { least, most } => format!("a whole number from {least} to {most}"),
            Kind::Duration { .. } => {
                "a time above 0, in seconds or such as `500ms`, `30s`, `2m`".to_owned()
            }
            Kind::Interval { .. } => {
                "a time in seconds or such as `30s`, `2m`, or `false`".to_owned()
            }
            Kind::Arguments => "a list of texts".to_owned(),
            Kind::Environment => "a mapping of names of variables to texts".to_owned(),
            Kind::Headers => "a mapping of names of headers to texts".to_owned(),
            Kind::VariableNames => "a list of names of variables".to_owned(),
            Kind::Globs => "a list of names or globs".to_owned(),
            Kind::TextMap => "a mapping of texts to texts".to_owned(),
            Kind::TextsMap => "a mapping of texts to lists of texts".to_owned(),
            Kind::Table(_) => "a mapping".to_owned(),
            Kind::TableOr { short, .. } => format!("a mapping, or {}", one_of(short)),
            Kind::Servers => "a mapping of names to servers".to_owned(),
        }
    }
}

/// The words that are spelled as they are meant: "`auto`, `on` or `off`".
fn one_of(words: Words) -> String {
    let mut meant: Vec<String> = Vec::new();
    for (_, meaning) in words {
        let word = format!("`{meaning}`");
        if !meant.contains(&word) {
            meant.push(word);
        }
    }
    match meant.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}
