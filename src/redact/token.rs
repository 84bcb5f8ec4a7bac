//! Finds tokens that tell by themselves what they are.

use std::ops::Range;

use crate::redact::run;

/// What tokens of well-known services begin with, and how many more characters make one.
const PREFIXES: &[(&str, usize)] = &[
    ("ghp_", 4),
    ("gho_", 4),
    ("ghu_", 4),
    ("ghs_", 4),
    ("ghr_", 4),
    ("github_pat_", 4),
    ("glpat-", 4),
    ("xoxa-", 4),
    ("xoxb-", 4),
    ("xoxe-", 4),
    ("xoxo-", 4),
    ("xoxp-", 4),
    ("xoxr-", 4),
    ("xoxs-", 4),
    ("xapp-", 8),
    ("sk-", 8),
    ("sk_live_", 8),
    ("sk_test_", 8),
    ("rk_live_", 8),
    ("rk_test_", 8),
    ("gsk_", 16),
    ("pplx-", 16),
    ("tvly-", 12),
    ("hf_", 24),
    ("npm_", 30),
    ("pypi-", 24),
    ("lin_api_", 8),
    ("figd_", 8),
    ("sntrys_", 8),
    ("dop_v1_", 8),
    ("shpat_", 8),
    ("AIza", 20),
    ("ya29.", 12),
    // The header of a JSON Web Token is an object, whose first two bytes come out like this.
    ("eyJ", 24),
];

/// An access key of AWS has this many capitals and digits in all.
const AWS_KEY: usize = 20;

pub(super) fn find(text: &str, secrets: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let is_start = at == 0 || !is_word(bytes[at - 1]);
        let length = if is_start { token_at(text, at) } else { None };
        if let Some(token) = length {
            secrets.push(token.clone());
            at = token.end;
        } else {
            at += 1;
        }
    }
}

/// The secret in the word that begins here.
fn token_at(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at..];
    match rest[0] {
        b'-' => private_key(text, at),
        b'A' if rest.starts_with(b"AKIA") || rest.starts_with(b"ASIA") => {
            let length = run(text, at, |byte| {
                byte.is_ascii_uppercase() || byte.is_ascii_digit()
            });
            (length >= AWS_KEY).then_some(at..at + length)
        }
        b'B' | b'b' => bearer(text, at),
        _ => None,
    }
    .or_else(|| {
        let (prefix, shortest) = PREFIXES
            .iter()
            .find(|(prefix, _)| rest.starts_with(prefix.as_bytes()))?;
        let length = run(text, at, |byte| is_word(byte) || byte == b'.');
        (length >= prefix.len() + shortest).then_some(at..at + length)
    })
}

fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "PRIVATE KEY-----";
    let rest = text[at..].strip_prefix(BEGIN)?;
    let kind = run(rest, 0, |byte| byte.is_ascii_uppercase() || byte == b' ');
    let is_private = rest[..kind].ends_with("PRIVATE KEY") && rest[kind..].starts_with("-----");
    if !is_private {
        return None;
    }
    let body = at + BEGIN.len() + kind;
    let end = text[body..]
        .find(END)
        .map_or(text.len(), |end| body + end + END.len());
    Some(at..end)
}

/// What follows `Bearer`, unless it is a word of a sentence or a parameter such as `realm="…"`.
fn bearer(text: &str, at: usize) -> Option<Range<usize>> {
    const SCHEME: &str = "bearer";
    const SHORTEST: usize = 6;
    let scheme = text.as_bytes().get(at..at + SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) {
        return None;
    }
    let blanks = run(text, at + SCHEME.len(), |byte| byte == b' ');
    if blanks == 0 {
        return None;
    }
    let start = at + SCHEME.len() + blanks;
    let length = run(text, start, |byte| {
        is_word(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
    });
    let token = &text[start..start + length];
    let is_sentence = token.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_parameter = token.ends_with('=') && text[start + length..].starts_with('"');
    (length >= SHORTEST && !is_sentence && !is_parameter).then_some(start..start + length)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
