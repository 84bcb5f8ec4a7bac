//! Turns the answer of a tool into what a model reads: a JSON text with `result` or `error`, and never too much of it.

use serde_json::{Map, Value};

use crate::catalog::Tool;
use crate::tokens;

mod blocks;
mod cut;
pub mod failure;

/// Characters of one answer that reach the model.
pub const DEFAULT_MAX_CHARS: usize = 100_000;

/// A tool's answer, as its server sent it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    pub content: Vec<Value>,
    pub structured_content: Option<Value>,
    pub is_error: bool,
}

/// What the model reads of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Rendered {
    Whole(String),
    /// Too much: the whole is to be kept somewhere, and the model told where.
    Long(Long),
}

/// An answer that is longer than a model may read at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Long {
    /// All that there is to read; for a file.
    pub text: String,
    /// Of such a file.
    pub extension: &'static str,
    is_error: bool,
    max_chars: usize,
}

impl Answer {
    /// Reads a result, whatever its server takes for one: blocks may be missing, `null`, one instead of a list, or bare texts.
    pub fn from_result(mut result: Map<String, Value>) -> Answer {
        let content = match result.shift_remove("content") {
            Some(Value::Array(list)) => list,
            None | Some(Value::Null) => Vec::new(),
            Some(one) => vec![one],
        };
        let structured = ["structuredContent", "toolResult"]
            .into_iter()
            .filter_map(|key| result.shift_remove(key))
            .find(|value| !value.is_null());
        Answer {
            content: content.into_iter().map(blocks::as_block).collect(),
            structured_content: structured,
            is_error: result
                .get("isError")
                .is_some_and(|flag| flag == true || flag == "true"),
        }
    }
}

/// Writes an answer for the model.
///
/// Text comes first, block by block, with a placeholder for what is no text. Structured content is added under its own
/// name where it says more than the text, and is the result where there is no text. Base64 never reaches the model.
pub fn render(answer: &Answer, tool: &Tool, max_chars: usize) -> Rendered {
    let binary = blocks::binary(&answer.content);
    let texts: Vec<String> = answer
        .content
        .iter()
        .map(|block| blocks::text_of(block, &binary))
        .collect();
    let structured = answer.structured_content.as_ref();
    let structured = structured.map(|value| blocks::without_binary(value, &binary));
    let structured = structured.filter(|value| !blocks::is_repeated(value, &texts));
    let text = texts.join("\n");
    let text = match (text.trim().is_empty(), &structured) {
        (true, None) if answer.is_error => failure::silent_error(tool),
        _ => text,
    };
    let key = if answer.is_error { "error" } else { "result" };
    let has_text = !text.trim().is_empty();
    let written = structured.as_ref().map(Value::to_string);
    let length = tokens::characters(&text) + written.as_deref().map_or(0, tokens::characters);
    if length > max_chars {
        return Rendered::Long(match written {
            Some(structured) if has_text => {
                Long::new(format!("{text}\n{structured}"), "txt", answer, max_chars)
            }
            Some(structured) => Long::new(structured, "json", answer, max_chars),
            None => Long::new(text, "txt", answer, max_chars),
        });
    }
    let mut content = Map::new();
    match structured {
        Some(structured) if has_text => {
            content.insert(key.to_owned(), text.into());
            content.insert("structuredContent".to_owned(), structured);
        }
        Some(structured) => {
            content.insert(key.to_owned(), structured);
        }
        None => {
            content.insert(key.to_owned(), text.into());
        }
    }
    Rendered::Whole(Value::Object(content).to_string())
}

/// An error that is ours, for the model: `{"error": …}`.
pub fn error(message: &str) -> String {
    in_object("error", message)
}

impl Long {
    fn new(text: String, extension: &'static str, answer: &Answer, max_chars: usize) -> Long {
        Long {
            text,
            extension,
            is_error: answer.is_error,
            max_chars,
        }
    }

    pub fn original_bytes(&self) -> u64 {
        self.text.len() as u64
    }

    /// The beginning and the end, and between them how much is missing and where the whole is.
    pub fn content(&self, path: Option<&str>) -> String {
        let key = if self.is_error { "error" } else { "result" };
        in_object(key, &cut::head_and_tail(&self.text, self.max_chars, path))
    }
}

fn in_object(key: &str, text: &str) -> String {
    let mut content = Map::new();
    content.insert(key.to_owned(), text.into());
    Value::Object(content).to_string()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::catalog::listing::{ListedTool, build};
    use crate::names::ServerName;

    fn tool() -> std::sync::Arc<Tool> {
        let listed = ListedTool {
            name: "find".to_owned(),
            ..ListedTool::default()
        };
        let mut listing = build(&ServerName::new("notes").unwrap(), vec![listed], |_| true);
        listing.tools.remove(0)
    }

    fn rendered(result: Value, max_chars: usize) -> Rendered {
        let Value::Object(result) = result else {
            panic!("a result is an object");
        };
        render(&Answer::from_result(result), &tool(), max_chars)
    }

    fn check(result: Value, expected: Expect) {
        match rendered(result, DEFAULT_MAX_CHARS) {
            Rendered::Whole(content) => expected.assert_eq(&content),
            Rendered::Long(_) => panic!("is not long"),
        }
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    #[test]
    fn texts_are_joined_and_not_escaped_more_than_they_must() {
        check(
            json!({"content": [text("ä\"中"), text("B")]}),
            expect![[r#"{"result":"ä\"中\nB"}"#]],
        );
        check(json!({"content": []}), expect![[r#"{"result":""}"#]]);
    }

    #[test]
    fn every_block_is_there_in_order() {
        check(
            json!({"content": [
                text("A"),
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
                {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "file:///r.txt", "mimeType": "text/plain", "text": "inside"}},
                {"type": "resource", "resource": {"uri": "file:///r.pdf", "mimeType": "application/pdf", "blob": "JVBERi0="}},
                {"type": "resource_link", "uri": "https://example.test/x", "name": "x", "size": 7000},
                {"type": "hologram", "payload": [1, 2]},
                text("E"),
            ]}),
            expect![[
                r#"{"result":"A\n[image image/png, 8 bytes]\n[audio audio/wav, 4 bytes]\n[resource file:///r.txt]\ninside\n[resource file:///r.pdf application/pdf, 5 bytes]\n[link x: https://example.test/x, 7 kB]\n[block of unknown type `hologram`: {\"payload\":[1,2]}]\nE"}"#
            ]],
        );
    }

    #[test]
    fn structured_content_alone_is_the_result() {
        for content in [json!([]), json!(null), json!([text(" \n")])] {
            check(
                json!({"content": content, "structuredContent": {"answer": 42}}),
                expect![[r#"{"result":{"answer":42}}"#]],
            );
        }
        check(
            json!({"structuredContent": {"answer": 42}, "isError": true}),
            expect![[r#"{"error":{"answer":42}}"#]],
        );
    }

    #[test]
    fn structured_content_is_added_where_it_says_more() {
        check(
            json!({"content": [text("6 items")], "structuredContent": {"items": [1]}}),
            expect![[r#"{"result":"6 items","structuredContent":{"items":[1]}}"#]],
        );
        check(
            json!({"content": [text("{\n  \"items\": [1]\n}")], "structuredContent": {"items": [1]}}),
            expect![[r#"{"result":"{\n  \"items\": [1]\n}"}"#]],
        );
    }

    #[test]
    fn a_wrapped_mirror_is_a_mirror() {
        check(
            json!({"content": [text("x")], "structuredContent": {"result": "x"}}),
            expect![[r#"{"result":"x"}"#]],
        );
        check(
            json!({"content": [text("7")], "structuredContent": {"result": 7}}),
            expect![[r#"{"result":"7"}"#]],
        );
        check(
            json!({"content": [text("{\"a\":1}"), text("two")], "structuredContent": {"result": [{"a": 1}, "two"]}}),
            expect![[r#"{"result":"{\"a\":1}\ntwo"}"#]],
        );
    }

    #[test]
    fn errors_are_never_empty() {
        check(
            json!({"content": [text("disk full")], "isError": true}),
            expect![[r#"{"error":"disk full"}"#]],
        );
        check(
            json!({"content": [], "isError": true}),
            expect![[
                r#"{"error":"`mcp_notes_find` of the server `notes` reported an error and did not say which"}"#
            ]],
        );
    }

    #[test]
    fn odd_results_are_read() {
        check(
            json!({"content": "bare"}),
            expect![[r#"{"result":"bare"}"#]],
        );
        check(
            json!({"content": ["a", 7, text("b")]}),
            expect![[r#"{"result":"a\n7\nb"}"#]],
        );
        check(
            json!({"content": {"type": "text", "text": "one"}}),
            expect![[r#"{"result":"one"}"#]],
        );
        check(
            json!({"toolResult": {"old": true}}),
            expect![[r#"{"result":{"old":true}}"#]],
        );
        check(json!({}), expect![[r#"{"result":""}"#]]);
    }

    #[test]
    fn base64_never_reaches_the_model() {
        let data = "QUJD".repeat(50_000);
        let image = json!({"type": "image", "data": data, "mimeType": "image/png"});
        check(
            json!({
                "content": [image, text(&json!({"img": data}).to_string()), text(&format!("data:image/png;base64,{data} and more"))],
                "structuredContent": {"img": data, "uri": format!("data:image/png;base64,{data}"), "n": 1},
            }),
            expect![[
                r#"{"result":"[image image/png, 150 kB]\n{\"img\":\"[image image/png, 150 kB]\"}\ndata:image/png;base64,[image image/png, 150 kB] and more","structuredContent":{"img":"[image image/png, 150 kB]","uri":"data:image/png;base64,[image image/png, 150 kB]","n":1}}"#
            ]],
        );
        check(
            json!({"content": [image, text(&json!({"img": data}).to_string())], "structuredContent": {"img": data}}),
            expect![[
                r#"{"result":"[image image/png, 150 kB]\n{\"img\":\"[image image/png, 150 kB]\"}"}"#
            ]],
        );
    }

    #[test]
    fn hidden_instructions_are_taken_out_of_answers() {
        check(
            json!({"content": [text("a\u{e0041}\u{e0042}b")]}),
            expect![[r#"{"result":"ab"}"#]],
        );
    }

    fn long(result: Value, max_chars: usize) -> Long {
        match rendered(result, max_chars) {
            Rendered::Long(long) => long,
            Rendered::Whole(content) => panic!("is whole: {content}"),
        }
    }

    #[test]
    fn long_answers_keep_their_ends_and_say_where_the_rest_is() {
        let lines: String = (1..=14_000)
            .map(|n| format!("line {n} of the long answer\n"))
            .collect();
        let long = long(json!({"content": [text(&lines)]}), 50_000);
        assert_eq!(long.text, lines);
        assert_eq!(
            (long.original_bytes(), long.extension),
            (lines.len() as u64, "txt")
        );
        let content = long.content(Some("/tmp/answer.txt"));
        let value: Value = serde_json::from_str(&content).unwrap();
        let text = value["result"].as_str().unwrap();
        assert!(text.chars().count() <= 50_000);
        assert!(text.starts_with("line 1 of") && text.ends_with("line 14000 of the long answer\n"));
        assert!(
            text.contains("the whole answer is in the file /tmp/answer.txt"),
            "{text}"
        );
        assert!(!long.content(None).contains("the file"));
    }

    #[test]
    fn a_long_error_stays_an_error() {
        let long = long(
            json!({"content": [text(&"e".repeat(200_000))], "isError": true}),
            50_000,
        );
        let value: Value = serde_json::from_str(&long.content(None)).unwrap();
        assert!(value["error"].as_str().unwrap().starts_with("eee"));
    }

    #[test]
    fn long_structured_content_is_cut_like_text() {
        let items: Vec<usize> = (0..5000).collect();
        let alone = long(json!({"structuredContent": {"items": items}}), 1000);
        assert_eq!(alone.extension, "json");
        assert!(serde_json::from_str::<Value>(&alone.text).is_ok());
        let both = long(
            json!({"content": [text("5000 items")], "structuredContent": {"items": items}}),
            1000,
        );
        assert!(
            both.content(None)
                .starts_with("{\"result\":\"5000 items\\n{\\\"items\\\":[0,1,2,")
        );
    }
}
