//! Reads JSON that a server wrote almost right.

use serde_json::Value;

/// Levels of nesting that are kept; the parser's own limit is 128.
const MAX_DEPTH: usize = 110;

/// Stands where a value was nested too deep to be kept.
pub const TOO_DEEP: &str = "toolcrib: nested too deep";

/// Parses one message, after mending what can be mended without guessing.
///
/// Node emits half of a surrogate pair when a string is cut inside an emoji, Python emits `NaN`, and a schema may be
/// nested a thousand levels deep: each would cost the whole message, and the call would wait for it in vain.
pub fn parse(text: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(text) {
        return Some(value);
    }
    match text.first() {
        Some(b'{' | b'[') => serde_json::from_slice(&mend(text)).ok(),
        _ => None,
    }
}

/// Whether a part of this value was lost because it was nested too deep.
pub fn is_clipped(value: &Value) -> bool {
    match value {
        Value::String(text) => text == TOO_DEEP,
        Value::Array(items) => items.iter().any(is_clipped),
        Value::Object(members) => members.values().any(is_clipped),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn mend(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let mut mender = Mender {
        rest: text.as_bytes(),
        out: Vec::with_capacity(text.len()),
        depth: 0,
    };
    while let Some(&byte) = mender.rest.first() {
        mender.value_byte(byte);
    }
    mender.out
}

struct Mender<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
    depth: usize,
}

impl Mender<'_> {
    /// One step outside of strings.
    fn value_byte(&mut self, byte: u8) {
        match byte {
            b'"' => self.string(),
            b'{' | b'[' if self.depth == MAX_DEPTH => self.clip(),
            b'{' | b'[' => {
                self.depth += 1;
                self.keep(1);
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.keep(1);
            }
            _ => match ["NaN", "-Infinity", "Infinity"]
                .iter()
                .find(|word| self.rest.starts_with(word.as_bytes()))
            {
                Some(word) => self.replace(word.len(), b"null"),
                None => self.keep(1),
            },
        }
    }

    /// A whole string, from its opening to its closing quote.
    fn string(&mut self) {
        self.keep(1);
        while let Some(&byte) = self.rest.first() {
            match byte {
                b'"' => return self.keep(1),
                b'\\' => self.escape(),
                0..=0x1f => {
                    let escaped = format!("\\u{byte:04x}");
                    self.replace(1, escaped.as_bytes());
                }
                _ => self.keep(1),
            }
        }
    }

    fn escape(&mut self) {
        match self.rest.get(1) {
            Some(b'u') => match (unit(self.rest), unit(self.rest.get(6..).unwrap_or(&[]))) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => self.keep(12),
                (Some(0xd800..=0xdfff), _) => self.replace(6, b"\\ufffd"),
                (Some(_), _) => self.keep(6),
                (None, _) => self.replace(1, b"\\\\"),
            },
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.keep(2),
            _ => self.replace(1, b"\\\\"),
        }
    }

    /// Leaves out an object or array, strings inside it heeded.
    fn clip(&mut self) {
        let mut depth = 0_usize;
        let mut in_string = false;
        let mut at = 0;
        while let Some(&byte) = self.rest.get(at) {
            at += 1;
            match byte {
                b'\\' if in_string => at += 1,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        let marker = format!("\"{TOO_DEEP}\"");
        self.replace(at.min(self.rest.len()), marker.as_bytes());
    }

    fn keep(&mut self, n: usize) {
        let (kept, rest) = self.rest.split_at(n.min(self.rest.len()));
        self.out.extend_from_slice(kept);
        self.rest = rest;
    }

    fn replace(&mut self, n: usize, with: &[u8]) {
        self.out.extend_from_slice(with);
        self.rest = &self.rest[n..];
    }
}

/// The code unit of a `\uXXXX` at the start of the text.
fn unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &[u8], expected: Expect) {
        let shown = match parse(text) {
            Some(value) => value.to_string(),
            None => "unreadable".to_owned(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn half_of_a_surrogate_pair_becomes_the_replacement_character() {
        check(br#"{"a":"x\ud83d"}"#, expect![[r#"{"a":"x�"}"#]]);
        check(br#"{"a":"\ude00y"}"#, expect![[r#"{"a":"�y"}"#]]);
        check(
            br#"{"a":"\ud83d\ude00 \ud83d!"}"#,
            expect![[r#"{"a":"😀 �!"}"#]],
        );
        check(
            br#"{"a":"\\ud83d\ud83d"}"#,
            expect![[r#"{"a":"\\ud83d�"}"#]],
        );
    }

    #[test]
    fn numbers_that_json_does_not_have_become_null() {
        check(
            br#"{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN"}"#,
            expect![[r#"{"a":null,"b":[null,null],"c":"NaN"}"#]],
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_and_raw_control_characters_are_kept_as_text() {
        check(b"{\"a\":\"\xff\x01\"}", expect![[r#"{"a":"�\u0001"}"#]]);
        check(
            br#"{"a":"\x41\u00g0"}"#,
            expect![[r#"{"a":"\\x41\\u00g0"}"#]],
        );
    }

    #[test]
    fn a_value_nested_too_deep_is_replaced_and_its_neighbours_stay() {
        let deep = "{\"a\":[\"]\",".repeat(3000) + "1" + &"]}".repeat(3000);
        let value = parse(format!("{{\"deep\":{deep},\"plain\":1}}").as_bytes()).unwrap();
        assert_eq!(value["plain"], 1);
        assert!(is_clipped(&value["deep"]));
        assert!(!is_clipped(&value["plain"]));
    }

    #[test]
    fn no_text_is_too_broken_to_be_looked_at() {
        let whole =
            br#"{"id":1,"result":{"a":["\ud83d\ude00",NaN,-1.5e3,{"b":"\u0041"}],"c":null}}"#;
        for end in 0..whole.len() {
            parse(&whole[..end]);
            for byte in [b'"', b'\\', b'{', b']', b'u', 0xff, b'\n'] {
                let mut broken = whole.to_vec();
                broken[end] = byte;
                parse(&broken);
            }
        }
        parse(&b"[".repeat(100_000));
        parse(&b"{\"a\":".repeat(100_000));
    }

    #[test]
    fn what_is_not_json_stays_unreadable() {
        check(b"starting\xe2\x80\xa6", expect!["unreadable"]);
        check(b"{\"a\":", expect!["unreadable"]);
        check(b"{\"a\":\"\\", expect!["unreadable"]);
        check(b"[[[[}}}}]", expect!["unreadable"]);
    }
}
