//! Finds what a URL should not have shown: user and password, and tokens in its query or path.

use std::ops::Range;

use crate::redact::{REDACTED, is_mixed, run};

/// Parameters that hold a secret only where they are part of a URL; others are known by their names anywhere.
const PARAMETERS: &[&str] = &["auth", "code", "sig", "signature", "session", "sid"];

/// A mixed value of a query this long is taken for a token, whatever it is called.
const TOKEN_IN_QUERY: usize = 20;

/// A mixed part of a path this long is taken for a token; it is longer than a UUID.
const TOKEN_IN_PATH: usize = 40;

pub(super) fn find(text: &str, secrets: &mut Vec<Range<usize>>) {
    const SEPARATOR: &str = "://";
    let mut done = 0;
    for (at, _) in text.match_indices(SEPARATOR) {
        let authority = at + SEPARATOR.len();
        let is_last_of_authority = |byte| is_end(byte) || matches!(byte, b'/' | b'?' | b'#');
        let path = authority + run(text, authority, |byte| !is_last_of_authority(byte));
        if let Some(user) = text[authority..path].rfind('@')
            && user > 0
            && &text[authority..authority + user] != REDACTED
        {
            secrets.push(authority..authority + user);
        }
        // A URL within a URL has its own user, and is a part of the other's path or query for the rest.
        if at < done {
            continue;
        }
        let query = path
            + run(text, path, |byte| {
                !is_end(byte) && byte != b'?' && byte != b'#'
            });
        find_in_path(text, path..query, secrets);
        if text[query..].starts_with('?') {
            let start = query + 1;
            let end = start + run(text, start, |byte| !is_end(byte) && byte != b'#');
            find_in_query(text, start..end, secrets);
            done = end;
        } else {
            done = query;
        }
    }
}

fn find_in_path(text: &str, path: Range<usize>, secrets: &mut Vec<Range<usize>>) {
    let mut start = path.start;
    for part in text[path].split('/') {
        let is_token = part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if part.len() >= TOKEN_IN_PATH && is_token && is_mixed(part.as_bytes()) {
            secrets.push(start..start + part.len());
        }
        start += part.len() + 1;
    }
}

fn find_in_query(text: &str, query: Range<usize>, secrets: &mut Vec<Range<usize>>) {
    let mut start = query.start;
    for parameter in text[query].split('&') {
        if let Some((name, value)) = parameter.split_once('=') {
            let is_named = PARAMETERS.contains(&name.to_ascii_lowercase().as_str());
            let looks_like_one = value.len() >= TOKEN_IN_QUERY && is_mixed(value.as_bytes());
            if !value.is_empty() && value != REDACTED && (is_named || looks_like_one) {
                let value_start = start + name.len() + 1;
                secrets.push(value_start..value_start + value.len());
            }
        }
        start += parameter.len() + 1;
    }
}

/// Ends a URL in running text.
fn is_end(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\"'`<>(){}|\\^".contains(&byte)
}
