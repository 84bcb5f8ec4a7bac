//! Keeps the last words of a server: the end of its standard error, cleaned.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::sync::CancellationToken;

use crate::redact::Redactor;

const MAX_LINES: usize = 200;
const MAX_BYTES: usize = 32 << 10;
const MAX_LINE: usize = 1_000;
/// Lines in an error message: package managers say what is wrong a few lines before their end.
const SUMMARY_LINES: usize = 5;

/// The last lines that a server wrote beside the protocol; clones share them.
///
/// A lock, because the writer must never wait for a reader and a reader may come at any time.
#[derive(Clone, Default)]
pub struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    secrets: Arc<Redactor>,
    drained: CancellationToken,
}

impl Tail {
    pub fn new(secrets: Redactor) -> Tail {
        Tail {
            lines: Arc::default(),
            secrets: Arc::new(secrets),
            drained: CancellationToken::new(),
        }
    }

    /// Adds a line, cleaned and cut.
    pub fn push(&self, line: &str) {
        let line = cut(&self.secrets.redact(&clean(line)), MAX_LINE);
        if line.trim().is_empty() {
            return;
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(line);
        while lines.len() > MAX_LINES || lines.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            lines.pop_front();
        }
    }

    /// The text without the secrets that the server was given.
    pub fn hide_secrets(&self, text: &str) -> String {
        self.secrets.redact(text).into_owned()
    }

    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// The last lines in one, for an error message; empty if there are none.
    pub fn summary(&self) -> String {
        let lines = self.lines();
        let last = lines.len().saturating_sub(SUMMARY_LINES);
        let last: Vec<String> = lines[last..].iter().map(|line| cut(line, 300)).collect();
        last.join(" | ")
    }

    /// Reads a stream to its end, so that the server never blocks on it.
    pub async fn drain(self, mut stream: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 << 10];
        let mut line: Vec<u8> = Vec::new();
        while let Ok(n @ 1..) = stream.read(&mut buffer).await {
            for part in buffer[..n].split_inclusive(|&byte| byte == b'\n' || byte == b'\r') {
                line.extend_from_slice(part);
                let is_whole = part.ends_with(b"\n") || part.ends_with(b"\r");
                // Without an end of line in sight it is cut, or a server that writes none would fill the memory.
                if is_whole || line.len() >= MAX_LINE {
                    self.push(&String::from_utf8_lossy(&line));
                    line.clear();
                }
            }
        }
        self.push(&String::from_utf8_lossy(&line));
        self.drained.cancel();
    }

    /// Ends when the stream was read to its end.
    pub async fn drained(&self) {
        self.drained.cancelled().await;
    }
}

/// The text without escape sequences, control characters and characters that reorder or hide others.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // A control sequence ends with its first letter or the like.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // An operating system command ends with BEL or ESC and a backslash.
                Some(']') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' {
                            break;
                        }
                        if c == '\u{1b}' {
                            chars.next_if_eq(&'\\');
                            break;
                        }
                    }
                }
                _ => {}
            },
            '\t' => out.push(' '),
            c if c.is_control() || is_hidden(c) => {}
            c => out.push(c),
        }
    }
    out
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// At most so many characters, with a sign where something was cut.
pub fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn tail_of(text: &[u8]) -> Vec<String> {
        let tail = Tail::default();
        tail.clone().drain(text).await;
        tail.lines()
    }

    #[tokio::test]
    async fn escapes_and_control_characters_are_stripped() {
        assert_eq!(
            tail_of(b"\x1b[31mred\x1b[0m \x1b]0;title\x07\x08x\n\xe2\x80\xaelast").await,
            ["red x", "last"]
        );
    }

    #[tokio::test]
    async fn a_flood_keeps_its_last_lines_within_bounds() {
        let mut flood = b"x".repeat(1 << 20);
        flood.extend_from_slice(b"\nlast\n");
        for text in [flood, "line\n".repeat(100_000).into_bytes()] {
            let lines = tail_of(&text).await;
            assert!(lines.len() <= MAX_LINES);
            assert!(lines.iter().map(String::len).sum::<usize>() <= MAX_BYTES);
        }
    }

    #[test]
    fn the_summary_is_the_last_lines() {
        let tail = Tail::default();
        assert_eq!(tail.summary(), "");
        for line in ["one", "two", "", "three", "four", "five", "six"] {
            tail.push(line);
        }
        assert_eq!(tail.summary(), "two | three | four | five | six");
    }
}
