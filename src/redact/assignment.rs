//! Finds the values of keys that say that they hold a secret, in whatever notation: shell, YAML, JSON, headers, fields.

use std::ops::Range;

use crate::redact::{REDACTED, is_mixed, run};

/// A key is looked at up to this length, so that a long text without blanks takes no longer than any other.
const LONGEST_KEY: usize = 64;

pub(super) fn find(text: &str, secrets: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for (at, separator) in text.match_indices(['=', ':']) {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let after = bytes.get(at + 1).copied();
        let is_operator = matches!(before, Some(b'=' | b':' | b'!' | b'<' | b'>'))
            || matches!(after, Some(b'=' | b':' | b'>'));
        if is_operator || at < done {
            continue;
        }
        let Some(holds) = key_before(text, at).and_then(what_it_holds) else {
            continue;
        };
        if let Some(value) = value_after(text, at + 1, separator == "=", holds) {
            done = value.end;
            secrets.push(value);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Holds {
    /// Everything up to the end of the line, as in a header.
    SecretLine,
    Secret,
    /// A secret where it is assigned by `=`; in prose and data, something to look up by.
    PerhapsSecret,
}

fn key_before(text: &str, at: usize) -> Option<&str> {
    let mut end = at;
    let mut skip = |what: &[u8]| {
        if end > 0 && what.contains(&text.as_bytes()[end - 1]) {
            end -= 1;
        }
    };
    skip(b" ");
    skip(b"\"'");
    skip(b"\\");
    let bytes = text.as_bytes();
    let is_key = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_' || **byte == b'-';
    let length = bytes[..end]
        .iter()
        .rev()
        .take(LONGEST_KEY)
        .take_while(is_key)
        .count();
    (length > 0).then(|| &text[end - length..end])
}

fn what_it_holds(key: &str) -> Option<Holds> {
    const LINES: &[&str] = &["authorization", "cookie"];
    const ENDINGS: &[&str] = &[
        "token",
        "apikey",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "credential",
        "credentials",
    ];
    const WORDS: &[&str] = &["pwd", "pat", "jwt"];
    const KINDS_OF_KEYS: &[&str] = &[
        "access",
        "account",
        "api",
        "app",
        "auth",
        "client",
        "encryption",
        "license",
        "master",
        "private",
        "secret",
        "service",
        "signing",
        "subscription",
    ];
    let mut words = words(key);
    let last = words.pop()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    if LINES.contains(&last) {
        Some(Holds::SecretLine)
    } else if WORDS.contains(&last) || ENDINGS.iter().any(|ending| last.ends_with(ending)) {
        Some(Holds::Secret)
    } else if last == "key" {
        let kind = words.pop().unwrap_or_default();
        Some(if KINDS_OF_KEYS.contains(&kind.as_str()) {
            Holds::Secret
        } else {
            Holds::PerhapsSecret
        })
    } else {
        None
    }
}

/// The words of a name, in lower case, whichever way they are joined.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let is_joint = c == '_' || c == '-';
        if is_joint || (was_lower && c.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if !is_joint && let Some(word) = words.last_mut() {
            word.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    words
}

fn value_after(text: &str, at: usize, is_assigned: bool, holds: Holds) -> Option<Range<usize>> {
    let mut start = at + run(text, at, |byte| byte == b' ' || byte == b'\t');
    // An optional value, as Rust shows it.
    if text[start..].starts_with("Some(") {
        start += "Some(".len();
    }
    let rest = &text[start..];
    let quote = ["\"", "'", "\\\""]
        .into_iter()
        .find(|quote| rest.starts_with(quote));
    start += quote.map_or(0, str::len);
    let rest = &text[start..];
    let is_reference = rest.starts_with('$');
    if is_reference || rest.starts_with(REDACTED) {
        return None;
    }
    let is_certain = match holds {
        Holds::SecretLine => true,
        Holds::Secret => is_assigned || quote.is_some() || is_no_prose(rest),
        Holds::PerhapsSecret => is_assigned,
    };
    if !is_certain {
        return None;
    }
    let length = match quote {
        Some(quote) => quoted_length(rest, quote),
        None if holds == Holds::SecretLine => run(rest, 0, |byte| {
            !matches!(byte, b'\r' | b'\n' | b'"' | b'\'')
        }),
        None => run(rest, 0, |byte| !is_delimiter(byte)),
    };
    let is_no_secret = matches!(
        &rest[..length],
        "" | "null" | "None" | "none" | "true" | "false"
    );
    (!is_no_secret).then_some(start..start + length)
}

/// Tells `token: a1b2c3`, as YAML says it, from `token: expected a name`.
fn is_no_prose(value: &str) -> bool {
    const SHORTEST: usize = 6;
    const LOOKED_AT: usize = 100;
    let value = value.as_bytes();
    let length = value
        .iter()
        .take(LOOKED_AT)
        .take_while(|byte| !is_delimiter(**byte))
        .count();
    length >= SHORTEST && is_mixed(&value[..length])
}

fn quoted_length(text: &str, quote: &str) -> usize {
    if quote.len() > 1 {
        return text.find(quote).unwrap_or(text.len());
    }
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if quote.starts_with(c) => return at,
            _ => {}
        }
    }
    text.len()
}

fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b",;&)}]\"'`<>\\".contains(&byte)
}
