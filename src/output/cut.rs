//! The beginning and the end of a text that is too long, and what is said between them.

use crate::output::blocks::size;
use crate::tokens;

/// Room for the note, in characters.
const NOTE: usize = 400;

/// A run of base64 this long is never cut in two, as half of it is of no use.
const LONG_RUN: usize = 256;

/// At most `max_chars` characters: two thirds from the beginning, the rest from the end.
pub(super) fn head_and_tail(text: &str, max_chars: usize, path: Option<&str>) -> String {
    let path_length = path.map_or(0, tokens::characters);
    let room = max_chars
        .saturating_sub(NOTE + path_length)
        .max(max_chars / 4);
    let total = tokens::characters(text);
    let head_end = head_end(text, byte_of(text, room * 2 / 3));
    let tail_start = tail_start(text, byte_of(text, total.saturating_sub(room / 3))).max(head_end);
    let (head, tail) = (&text[..head_end], &text[tail_start..]);
    let left_out = tokens::characters(&text[head_end..tail_start]);
    let whereabouts = match path {
        Some(path) => format!(
            "the whole answer is in the file {path} ({})",
            size(text.len())
        ),
        None => format!("the whole answer has {}", size(text.len())),
    };
    format!(
        "{head}\n\n[… {left_out} of {total} characters are left out here; {whereabouts}. \
         To see less at once, call the tool again with a filter, a limit or the next page. …]\n\n{tail}"
    )
}

/// The byte where the n-th character begins.
fn byte_of(text: &str, n: usize) -> usize {
    text.char_indices().nth(n).map_or(text.len(), |(at, _)| at)
}

/// The last good place to stop at or before a byte: behind a line if one ends near, in front of base64.
fn head_end(text: &str, at: usize) -> usize {
    if let Some((start, _)) = base64_around(text, at) {
        return start;
    }
    let near = text[..at].rfind('\n').map(|line_end| line_end + 1);
    near.filter(|end| at - end <= 200).unwrap_or(at)
}

/// The first good place to go on at or behind a byte.
fn tail_start(text: &str, at: usize) -> usize {
    if let Some((_, end)) = base64_around(text, at) {
        return end;
    }
    let near = text[at..].find('\n').map(|line_end| at + line_end + 1);
    near.filter(|start| start - at <= 200).unwrap_or(at)
}

/// The run of base64 that a cut at a byte would go through.
fn base64_around(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let is_base64 = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    };
    let before = bytes[..at]
        .iter()
        .rev()
        .take_while(|byte| is_base64(byte))
        .count();
    let behind = bytes[at..]
        .iter()
        .take_while(|byte| is_base64(byte))
        .count();
    let run = &bytes[at - before..at + behind];
    // Words and rows of one letter are long as well, but not of all kinds of letters.
    let sample = &run[..run.len().min(LONG_RUN)];
    let has = |kind: fn(&u8) -> bool| sample.iter().any(kind);
    let is_mixed =
        has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    let is_cut = before > 0 && behind > 0;
    (is_cut && run.len() >= LONG_RUN && is_mixed).then_some((at - before, at + behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_the_limit_and_between_characters() {
        for text in [
            "ä中🚨".repeat(3000),
            "word \n".repeat(3000),
            "x".repeat(9000),
        ] {
            for max in [1000, 1001, 1002, 2500] {
                let cut = head_and_tail(&text, max, Some("/a/path"));
                assert!(tokens::characters(&cut) <= max, "{max}");
                assert!(cut.contains(" characters are left out here"));
            }
        }
    }

    #[test]
    fn keeps_whole_lines_where_it_can() {
        let text: String = (0..1000).map(|n| format!("row {n}\n")).collect();
        let cut = head_and_tail(&text, 1000, None);
        let (head, tail) = cut.split_once("\n\n[… ").unwrap();
        assert!(head.ends_with('\n') && text.starts_with(head));
        let tail = tail.split_once("]\n\n").unwrap().1;
        assert!(tail.starts_with("row ") && text.ends_with(tail));
    }

    #[test]
    fn base64_is_kept_or_left_out_but_never_cut() {
        let data = "QUJDRa9".repeat(400);
        let text = format!("before {data} after {}", "tail ".repeat(20));
        let cut = head_and_tail(&text, 1000, None);
        assert!(cut.starts_with("before \n\n[… "), "{cut}");
        assert!(!cut.contains("QUJD"));
    }

    #[test]
    fn says_how_much_is_missing() {
        let cut = head_and_tail(&"x".repeat(10_000), 1000, None);
        let kept = cut.chars().filter(|c| *c == 'x').count();
        // The note itself holds one.
        assert!(
            cut.contains(&format!("{} of 10000 characters", 10_000 - (kept - 1))),
            "{cut}"
        );
    }
}
