//! Prepares a text for the YAML parser and knows where each of its characters stood.

use saphyr_parser::ScalarStyle;

use crate::config::{Position, Range};

/// The text that the parser sees, with the places of the text that a person sees.
pub struct Source {
    scanned: String,
    chars: Vec<char>,
    /// For each character of `scanned`, and for its end, the UTF-16 units before it in the original.
    offsets: Vec<u32>,
    /// UTF-16 units before each line of the original.
    lines: Vec<u32>,
}

impl Source {
    pub fn new(text: &str) -> Source {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let original: Vec<char> = text.chars().collect();
        let mut offset = 0;
        let mut lines = vec![0];
        let mut original_offsets = Vec::with_capacity(original.len() + 1);
        for (index, c) in original.iter().enumerate() {
            original_offsets.push(offset);
            offset += c.len_utf16() as u32;
            let ends_line = *c == '\n' || *c == '\r' && original.get(index + 1) != Some(&'\n');
            if ends_line {
                lines.push(offset);
            }
        }
        original_offsets.push(offset);
        if !text.trim_start().starts_with(['{', '/']) {
            return Source {
                scanned: text.to_owned(),
                chars: original,
                offsets: original_offsets,
                lines,
            };
        }
        let (chars, offsets) = as_yaml(&original, &original_offsets);
        Source {
            scanned: chars.iter().collect(),
            chars,
            offsets,
            lines,
        }
    }

    pub fn scanned(&self) -> &str {
        &self.scanned
    }

    /// The place of a character by its index in the scanned text; the end of the text for every later index.
    pub fn position(&self, index: usize) -> Position {
        let last = self.offsets.len() - 1;
        let offset = self.offsets[index.min(last)];
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        Position {
            line: line as u32,
            character: offset - self.lines[line],
        }
    }

    /// Whether a `${` stands around a character, which YAML does not take inside braces and brackets.
    pub fn is_variable_at(&self, index: usize) -> bool {
        let around = &self.chars[index.saturating_sub(2)..(index + 2).min(self.chars.len())];
        around.windows(2).any(|pair| pair == ['$', '{'])
    }

    pub fn range(&self, start: usize, end: usize) -> Range {
        Range {
            start: self.position(start),
            end: self.position(end.max(start)),
        }
    }

    /// Where a scalar ends: the parser lets a double-quoted one end behind the comment that follows it, and a block
    /// one at the next token.
    pub fn scalar_end(&self, start: usize, end: usize, style: ScalarStyle) -> usize {
        let end = end.min(self.chars.len());
        let start = start.min(end);
        let text = &self.chars[start..end];
        let length = match style {
            ScalarStyle::DoubleQuoted => quoted_length(text).unwrap_or(text.len()),
            _ => text.len() - text.iter().rev().take_while(|c| c.is_whitespace()).count(),
        };
        start + length
    }

    /// The bracket that ends a collection whose beginning, with tag and anchor, is this.
    pub fn closing_bracket(&self, start: usize, end: usize) -> Option<char> {
        match self.chars.get(start..end)?.last()? {
            '{' => Some('}'),
            '[' => Some(']'),
            _ => None,
        }
    }

    /// The index behind the next bracket, which only blanks, commas and comments may precede.
    pub fn behind(&self, bracket: char, from: usize) -> usize {
        let mut in_comment = false;
        for (offset, c) in self.chars[from.min(self.chars.len())..].iter().enumerate() {
            match c {
                '\n' | '\r' => in_comment = false,
                '#' => in_comment = true,
                c if *c == bracket && !in_comment => return from + offset + 1,
                _ => {}
            }
        }
        from
    }
}

/// The length of a double-quoted scalar, with the tag or anchor before it and without what follows it.
fn quoted_length(text: &[char]) -> Option<usize> {
    let mut index = text.iter().position(|c| *c == '"')? + 1;
    while index < text.len() {
        match text[index] {
            '\\' => index += 2,
            '"' => return Some(index + 1),
            _ => index += 1,
        }
    }
    None
}

/// Makes YAML of what JSON files hold that YAML does not know: comments become blanks, and an escaped surrogate pair
/// becomes its character.
fn as_yaml(original: &[char], original_offsets: &[u32]) -> (Vec<char>, Vec<u32>) {
    let mut chars = Vec::with_capacity(original.len());
    let mut offsets = Vec::with_capacity(original_offsets.len());
    let mut quoted = false;
    let mut index = 0;
    while index < original.len() {
        let rest = &original[index..];
        let (put, taken) = match rest {
            ['"', ..] => {
                quoted = !quoted;
                ('"', 1)
            }
            ['\\', 'u', ..] if quoted && surrogate_pair(rest).is_some() => {
                (surrogate_pair(rest).unwrap_or('\u{fffd}'), 12)
            }
            ['\\', escaped, ..] if quoted => {
                chars.push('\\');
                offsets.push(original_offsets[index]);
                index += 1;
                (*escaped, 1)
            }
            ['/', '/' | '*', ..] if !quoted && stands_alone(&chars) => {
                let length = comment_length(rest);
                for (nth, c) in rest[..length].iter().enumerate() {
                    let blank = if matches!(c, '\n' | '\r') { *c } else { ' ' };
                    chars.push(blank);
                    offsets.push(original_offsets[index + nth]);
                }
                index += length;
                continue;
            }
            [c, ..] => (*c, 1),
            [] => break,
        };
        chars.push(put);
        offsets.push(original_offsets[index]);
        index += taken;
    }
    offsets.push(original_offsets[original.len()]);
    (chars, offsets)
}

/// Whether a comment can begin after these characters: the `//` of an unquoted URL is none.
fn stands_alone(before: &[char]) -> bool {
    before
        .last()
        .is_none_or(|c| c.is_whitespace() || matches!(c, '{' | '[' | '}' | ']' | ',' | '"'))
}

fn comment_length(text: &[char]) -> usize {
    if text[1] == '/' {
        let end = text.iter().position(|c| matches!(c, '\n' | '\r'));
        return end.unwrap_or(text.len());
    }
    let end = text[2..].windows(2).position(|pair| pair == ['*', '/']);
    end.map_or(text.len(), |end| end + 4)
}

/// The character of `\ud83d\ude00`.
fn surrogate_pair(text: &[char]) -> Option<char> {
    let unit = |text: &[char]| {
        let ['\\', 'u', digits @ ..] = text else {
            return None;
        };
        let digits: String = digits.iter().take(4).collect();
        u16::from_str_radix(&digits, 16).ok()
    };
    let units = [unit(text.get(..6)?)?, unit(text.get(6..12)?)?];
    if !(0xd800..0xdc00).contains(&units[0]) {
        return None;
    }
    char::decode_utf16(units).next()?.ok()
}
