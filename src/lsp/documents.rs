//! Keeps the text of a document the same as the editor's.

use std::ops::Range;

use tower_lsp::lsp_types::{Position, TextDocumentContentChangeEvent, Url};

/// A document that is open in the editor.
#[derive(Debug)]
pub(super) struct Document {
    version: i32,
    text: String,
    /// Once a configuration, a document stays one while it is open, whatever is being typed.
    is_config: bool,
}

impl Document {
    pub(super) fn new(uri: &Url, version: i32, text: String) -> Document {
        Document {
            version,
            is_config: is_named_like_config(uri) || has_config_key(&text),
            text,
        }
    }

    pub(super) fn version(&self) -> i32 {
        self.version
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the document is toolcrib's configuration rather than any other file in YAML or JSON.
    pub(super) fn is_config(&self) -> bool {
        self.is_config
    }

    /// Takes over the editor's changes, each of which relies on those before it.
    pub(super) fn change(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>) {
        for change in changes {
            match change.range {
                Some(range) => {
                    let start = offset(&self.text, range.start);
                    let end = offset(&self.text, range.end).max(start);
                    self.text.replace_range(start..end, &change.text);
                }
                None => self.text = change.text,
            }
        }
        self.version = version;
        self.is_config |= has_config_key(&self.text);
    }
}

fn is_named_like_config(uri: &Url) -> bool {
    let name = uri.path().rsplit('/').next().unwrap_or_default();
    name.trim_start_matches('.').starts_with("toolcrib.")
}

/// Configurations of hosts hold our keys among their own, under any name.
fn has_config_key(text: &str) -> bool {
    const KEYS: [&str; 3] = ["mcp_servers", "mcpServers", "tool_search"];
    text.lines().any(|line| {
        let line = line.trim_start_matches([' ', '\t', '{', '"', '\'']);
        KEYS.into_iter().any(|key| {
            line.strip_prefix(key)
                .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
        })
    })
}

/// The byte at a position; one past the end of its line or of the text is taken for that end.
fn offset(text: &str, position: Position) -> usize {
    let line = line(text, position.line);
    let mut units = 0;
    for (at, c) in text[line.clone()].char_indices() {
        // A position within a surrogate pair is taken for the one before it.
        units += c.len_utf16();
        if units > position.character as usize {
            return line.start + at;
        }
    }
    line.end
}

/// Where a line lies, without its end; lines end in `\n`, `\r\n` or `\r`.
fn line(text: &str, number: u32) -> Range<usize> {
    let bytes = text.as_bytes();
    let mut start = 0;
    for _ in 0..number {
        match end_of_line(bytes, start) {
            end if end == bytes.len() => return end..end,
            end if bytes[end..].starts_with(b"\r\n") => start = end + 2,
            end => start = end + 1,
        }
    }
    start..end_of_line(bytes, start)
}

fn end_of_line(bytes: &[u8], start: usize) -> usize {
    bytes[start..]
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r'))
        .map_or(bytes.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use tower_lsp::lsp_types;

    use super::*;

    fn check(text: &str, changes: &[(Option<[u32; 4]>, &str)], expected: Expect) {
        let mut document = document("file:///a.txt", text);
        let changes = changes
            .iter()
            .map(|(range, text)| TextDocumentContentChangeEvent {
                range: range.map(|[from_line, from, to_line, to]| {
                    lsp_types::Range::new(
                        Position::new(from_line, from),
                        Position::new(to_line, to),
                    )
                }),
                range_length: None,
                text: (*text).to_owned(),
            })
            .collect();
        document.change(2, changes);
        expected.assert_eq(&format!("{:?}", document.text()));
        assert_eq!(document.version(), 2);
    }

    fn document(uri: &str, text: &str) -> Document {
        Document::new(&Url::parse(uri).unwrap(), 1, text.to_owned())
    }

    #[test]
    fn a_change_without_a_range_is_the_whole_text() {
        check(
            "a",
            &[(None, "b\nc"), (Some([1, 0, 1, 1]), "d")],
            expect![[r#""b\nd""#]],
        );
    }

    #[test]
    fn changes_rely_on_those_before_them() {
        check(
            "one\ntwo\n",
            &[
                (Some([0, 0, 1, 0]), ""),
                (Some([0, 3, 0, 3]), "!"),
                (Some([1, 0, 1, 0]), "end"),
            ],
            expect![[r#""two!\nend""#]],
        );
    }

    #[test]
    fn characters_are_utf16_code_units() {
        check("ä😀b", &[(Some([0, 3, 0, 4]), "c")], expect![[r#""ä😀c""#]]);
        check("ä😀b", &[(Some([0, 1, 0, 3]), "")], expect![[r#""äb""#]]);
        check("ä😀b", &[(Some([0, 2, 0, 3]), "")], expect![[r#""äb""#]]);
    }

    #[test]
    fn every_end_of_line_counts() {
        check(
            "a\r\nb\rc\nd",
            &[(Some([3, 0, 3, 1]), "D"), (Some([1, 0, 1, 1]), "B")],
            expect![[r#""a\r\nB\rc\nD""#]],
        );
        check(
            "a\r\nb",
            &[(Some([0, 9, 1, 0]), " ")],
            expect![[r#""a b""#]],
        );
    }

    #[test]
    fn positions_outside_of_the_text_are_taken_for_its_ends() {
        check(
            "a\nb",
            &[(Some([0, 9, 0, 9]), "!")],
            expect![[r#""a!\nb""#]],
        );
        check(
            "a\nb",
            &[(Some([9, 9, 10, 0]), "!")],
            expect![[r#""a\nb!""#]],
        );
        check("ab", &[(Some([0, 2, 0, 1]), "!")], expect![[r#""ab!""#]]);
    }

    #[test]
    fn a_config_is_known_by_its_name_or_its_keys() {
        let is_config = |uri, text| document(uri, text).is_config();
        assert!(is_config("file:///home/.toolcrib.yaml", ""));
        assert!(is_config("file:///etc/toolcrib.json", "{}"));
        assert!(is_config("untitled:Untitled-1", "model: a\nmcp_servers:\n"));
        assert!(is_config("file:///a.json", "{\"mcpServers\": {}}"));
        assert!(is_config("file:///a.yaml", "tools:\n  tool_search: {}"));
        assert!(!is_config(
            "file:///toolcrib/docker-compose.yml",
            "services:\n"
        ));
        assert!(!is_config(
            "file:///a.md",
            "about mcp_servers and tool_search"
        ));
    }
}
