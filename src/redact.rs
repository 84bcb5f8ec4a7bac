//! Takes secrets out of text that a person or a model may read.

use std::borrow::Cow;
use std::ops::Range;

mod assignment;
mod token;
mod url;

/// Stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Takes out whatever looks like a secret: well-known tokens, values of keys such as `api_key`, and what URLs carry.
pub fn redact(text: &str) -> Cow<'_, str> {
    Redactor::default().redact(text)
}

/// Takes out known secrets besides what looks like one.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that none is taken apart by a part of it.
    values: Vec<String>,
}

/// A shorter value would take harmless words apart, and is no secret to rely on.
const SHORTEST_VALUE: usize = 6;

impl Redactor {
    /// Knows these secrets: to be given the values of a configuration, not its names. Very short ones are ignored.
    pub fn new<Value: AsRef<str>>(values: impl IntoIterator<Item = Value>) -> Redactor {
        let mut known = Vec::new();
        for value in values {
            let value = value.as_ref().trim();
            if value.len() < SHORTEST_VALUE {
                continue;
            }
            // Logged fields and JSON show quotes, backslashes and line breaks escaped.
            let escaped = format!("{value:?}");
            let escaped = &escaped[1..escaped.len() - 1];
            if escaped != value {
                known.push(escaped.to_owned());
            }
            known.push(value.to_owned());
        }
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
        known.dedup();
        Redactor { values: known }
    }

    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut secrets: Vec<Range<usize>> = Vec::new();
        for value in &self.values {
            secrets.extend(
                text.match_indices(value.as_str())
                    .map(|(start, found)| start..start + found.len()),
            );
        }
        token::find(text, &mut secrets);
        assignment::find(text, &mut secrets);
        url::find(text, &mut secrets);
        cut_out(text, secrets)
    }
}

/// Says no secret, unlike a derived one would.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

fn cut_out(text: &str, mut secrets: Vec<Range<usize>>) -> Cow<'_, str> {
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    secrets.sort_by_key(|secret| secret.start);
    let mut clean = String::with_capacity(text.len());
    let mut done = 0;
    for secret in secrets {
        if secret.start >= done {
            clean.push_str(&text[done..secret.start]);
            clean.push_str(REDACTED);
        }
        done = done.max(secret.end);
    }
    clean.push_str(&text[done..]);
    Cow::Owned(clean)
}

/// Whether a text holds both letters and digits, as chosen words rarely do and keys nearly always.
fn is_mixed(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit) && text.iter().any(u8::is_ascii_alphabetic)
}

/// How many bytes from `start` on satisfy the condition.
fn run(text: &str, start: usize, condition: impl Fn(u8) -> bool) -> usize {
    let rest = &text.as_bytes()[start..];
    rest.iter()
        .position(|byte| !condition(*byte))
        .unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let clean = redact(text);
        expected.assert_eq(&clean);
        assert_eq!(redact(&clean), clean, "a second time");
    }

    /// Sees that nothing is taken out.
    fn check_harmless(text: &str) {
        assert_eq!(redact(text), text);
    }

    #[test]
    fn well_known_tokens_are_taken_out() {
        check(
            "login with ghp_abcDEF123456 failed",
            expect!["login with [redacted] failed"],
        );
        check("(github_pat_11ABC_def456)", expect!["([redacted])"]);
        check(
            "sk-proj-abcdefgh12345678, xoxb-12-ab",
            expect!["[redacted], [redacted]"],
        );
        check("AKIAIOSFODNN7EXAMPLE", expect!["[redacted]"]);
        check(
            "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM",
            expect!["[redacted]"],
        );
        check(
            "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b",
            expect!["a [redacted] b"],
        );
        check("-----BEGIN PRIVATE KEY-----\nMIIE", expect!["[redacted]"]);
    }

    #[test]
    fn bearer_tokens_are_taken_out() {
        check(
            "Authorization: Bearer abc",
            expect!["Authorization: [redacted]"],
        );
        check(
            "sent bearer  abc.DEF-123~+/==",
            expect!["sent bearer  [redacted]"],
        );
        check_harmless("the bearer token was refused");
        check_harmless(r#"WWW-Authenticate: Bearer realm="https://a.example", scope="read""#);
    }

    #[test]
    fn values_of_secret_keys_are_taken_out() {
        check("token=abc&page=2", expect!["token=[redacted]&page=2"]);
        check(
            "GITHUB_TOKEN=abc NODE_ENV=production",
            expect!["GITHUB_TOKEN=[redacted] NODE_ENV=production"],
        );
        check(
            r#"{"apiKey": "a b", "n": 1}"#,
            expect![[r#"{"apiKey": "[redacted]", "n": 1}"#]],
        );
        check(
            r#"{\"client_secret\":\"abc\"}"#,
            expect![[r#"{\"client_secret\":\"[redacted]\"}"#]],
        );
        check(
            r#"password: "a\"b" }"#,
            expect![[r#"password: "[redacted]" }"#]],
        );
        check(
            "Config { token: Some(\"abc\"), n: 1 }",
            expect![[r#"Config { token: Some("[redacted]"), n: 1 }"#]],
        );
        check(
            "--api-key=abc --password = 'x y'",
            expect!["--api-key=[redacted] --password = '[redacted]'"],
        );
        check("password: hunter2", expect!["password: [redacted]"]);
        check(
            "X-Api-Key: abc-12345\ncookie: a=1; b=2\nhost: c",
            expect!["X-Api-Key: [redacted]\ncookie: [redacted]\nhost: c"],
        );
        check(
            "key=v1 secret=ß",
            expect!["key=[redacted] secret=[redacted]"],
        );
    }

    #[test]
    fn words_that_only_sound_like_secrets_are_kept() {
        check_harmless("unexpected token: expected a name");
        check_harmless("tokens=512 thresholdTokens: 20000 monkey=1");
        check_harmless("unknown key: `srevers1`");
        check_harmless("token=${GITHUB_TOKEN1} password: \"$PASSWORD\" secret=");
        check_harmless("Token::new(12345678) if key == value1 token => 1234567");
        check_harmless("sk-learn, ghp_ and AKIA");
        check_harmless("\"token\": null, \"password\": true");
        check_harmless("äöü:=ß");
    }

    #[test]
    fn urls_lose_their_passwords_and_tokens() {
        check(
            "https://me:pw@a.example/x",
            expect!["https://[redacted]@a.example/x"],
        );
        check(
            "postgres://me:p@w@localhost:5432/db",
            expect!["postgres://[redacted]@localhost:5432/db"],
        );
        check(
            "GET https://a.example/mcp?exaApiKey=1&code=2&page=3#access_token=4",
            expect![
                "GET https://a.example/mcp?exaApiKey=[redacted]&code=[redacted]&page=3#access_token=[redacted]"
            ],
        );
        check(
            "<https://a.example/?q=0123456789abcdef0123>",
            expect!["<https://a.example/?q=[redacted]>"],
        );
        check(
            "https://a.example/s/NDY5YjY4ZWUtNGJkOC00ZjE0LTk2YjItNGUyNDE5/mcp",
            expect!["https://a.example/s/[redacted]/mcp"],
        );
        check_harmless("https://a.example:8080/owner/repo/issues/12?page=3&q=word");
        check_harmless("file:///home/me/0a1b2c3d-e29b-41d4-a716-446655440000");
    }

    #[test]
    fn known_values_are_taken_out_escaped_or_not() {
        let redactor = Redactor::new(["correct horse", "correct", "quo\"te", "on"]);
        assert_eq!(
            redactor.redact(r#"on correct horse, correct, quo"te and "quo\"te""#),
            r#"on [redacted], [redacted], [redacted] and "[redacted]""#
        );
        assert_eq!(format!("{redactor:?}"), "Redactor(4 values)");
    }

    #[test]
    fn long_text_is_read_in_linear_time() {
        let start = std::time::Instant::now();
        for piece in [
            "token=",
            "key:",
            "pwd: a1",
            "://",
            "://a",
            "sk-",
            "a",
            "=",
            "?&",
            "bearer ",
            "\"",
            "\\",
            "-----BEGIN ",
            "cookie:$",
            "token:\"$",
        ] {
            redact(&piece.repeat(200_000));
        }
        assert!(start.elapsed().as_secs() < 60, "quadratic time takes hours");
    }
}
