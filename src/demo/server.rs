//! How a built-in server speaks: MCP over standard input and output, one message a line, one after the other.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

use crate::demo::tool::{Answer, Tool};

/// A server: its name, what it tells a model about itself, and its tools over one state.
pub struct Server<State> {
    pub name: &'static str,
    pub instructions: &'static str,
    pub tools: Vec<Tool<State>>,
    pub state: State,
}

/// The revisions of MCP that are answered with themselves, the newest first.
const PROTOCOL_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// Answers each message before the next is read; ends with its input, or when nobody reads its answers.
pub fn serve<State: 'static>(
    mut server: Server<State>,
    input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    for line in input.split(b'\n') {
        let line = line?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let Some(answer) = server.answer(&line) else {
            continue;
        };
        let mut bytes = answer.to_string().into_bytes();
        bytes.push(b'\n');
        let written = output.write_all(&bytes).and_then(|()| output.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// What a request is refused with.
struct Refusal {
    code: i32,
    message: String,
}

impl<State: 'static> Server<State> {
    /// `None` for what is not answered: notifications, and answers that nobody asked for.
    fn answer(&mut self, line: &[u8]) -> Option<Value> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => {
                let refusal = Refusal::new(PARSE_ERROR, format!("not JSON: {error}"));
                return Some(refusal.answer(Value::Null));
            }
        };
        let Value::Object(mut message) = message else {
            let refusal = Refusal::new(INVALID_REQUEST, "a message is an object");
            return Some(refusal.answer(Value::Null));
        };
        let Some(Value::String(method)) = message.remove("method") else {
            let is_response = message.contains_key("result") || message.contains_key("error");
            let id = message.remove("id").unwrap_or_default();
            return (!is_response)
                .then(|| Refusal::new(INVALID_REQUEST, "a request has a `method`").answer(id));
        };
        let id = message.remove("id")?;
        let params = message.remove("params").unwrap_or_default();
        Some(match self.result(&method, params) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(refusal) => refusal.answer(id),
        })
    }

    fn result(&mut self, method: &str, params: Value) -> Result<Value, Refusal> {
        match method {
            "initialize" => Ok(self.introduction(&params)),
            "ping" => Ok(json!({})),
            "tools/list" => {
                let definitions: Vec<Value> = self.tools.iter().map(Tool::definition).collect();
                Ok(json!({"tools": definitions}))
            }
            "tools/call" => self.call(params),
            _ => Err(Refusal::new(
                METHOD_NOT_FOUND,
                format!("there is no method `{method}`"),
            )),
        }
    }

    fn introduction(&self, params: &Value) -> Value {
        let asked = params["protocolVersion"].as_str();
        let version = PROTOCOL_VERSIONS
            .into_iter()
            .find(|version| asked == Some(*version))
            .unwrap_or(PROTOCOL_VERSIONS[0]);
        json!({
            "protocolVersion": version,
            "capabilities": {"tools": {"listChanged": false}},
            "serverInfo": {
                "name": format!("toolcrib-{}", self.name),
                "version": env!("CARGO_PKG_VERSION"),
            },
            "instructions": self.instructions,
        })
    }

    fn call(&mut self, mut params: Value) -> Result<Value, Refusal> {
        let name = params["name"].as_str().unwrap_or_default();
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            return Err(Refusal::new(
                INVALID_PARAMS,
                format!("there is no tool `{name}`"),
            ));
        };
        let arguments = match params.get_mut("arguments").map(Value::take) {
            None | Some(Value::Null) => json!({}),
            Some(arguments) => arguments,
        };
        let (answer, is_error) = match tool.call(&mut self.state, arguments) {
            Ok(answer) => (answer, false),
            Err(message) => (Answer::text(message), true),
        };
        let mut result = json!({
            "content": [{"type": "text", "text": answer.text}],
            "isError": is_error,
        });
        if let Some(structured) = answer.structured {
            result["structuredContent"] = structured;
        }
        Ok(result)
    }
}

impl Refusal {
    fn new(code: i32, message: impl Into<String>) -> Refusal {
        Refusal {
            code,
            message: message.into(),
        }
    }

    fn answer(self, id: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": self.code, "message": self.message}})
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::demo::{notes, text};

    fn check(input: &str, expected: Expect) {
        let mut output = Vec::new();
        serve(text::server(), input.as_bytes(), &mut output).unwrap();
        expected.assert_eq(&String::from_utf8(output).unwrap());
    }

    #[test]
    fn agrees_on_the_revision_that_is_asked_for_or_offers_its_newest() {
        let version = |asked: &str| {
            let params = json!({"protocolVersion": asked});
            text::server().introduction(&params)["protocolVersion"].clone()
        };
        assert_eq!(version("2024-11-05"), "2024-11-05");
        assert_eq!(version("2025-11-25"), "2025-11-25");
        assert_eq!(version("1999-01-01"), "2025-11-25");
    }

    #[test]
    fn answers_requests_and_only_those() {
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"a","method":"ping"}

{"jsonrpc":"2.0","id":9,"result":{}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slugify","arguments":{"text":"Crème brûlée, 2nd try!"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"slugify","arguments":{"text":"…"}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"slugify"}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nothing"}}
{"jsonrpc":"2.0","id":5,"method":"server/discover"}
[1]
{"jsonrpc":
"#,
            expect![[r#"
                {"jsonrpc":"2.0","id":"a","result":{}}
                {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"creme-brulee-2nd-try"}],"isError":false}}
                {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`text` has neither letters nor digits"}],"isError":true}}
                {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"invalid arguments for `slugify`: missing field `text`"}],"isError":true}}
                {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"there is no tool `nothing`"}}
                {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"there is no method `server/discover`"}}
                {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is an object"}}
                {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON: EOF while parsing a value at line 1 column 11"}}
            "#]],
        );
    }

    #[test]
    fn gives_values_as_text_as_well() {
        let mut server = notes::server();
        let result = server.call(json!({"name": "list_tags", "arguments": {"prefix": "r"}}));
        let Ok(result) = result else {
            panic!("a tool that exists is called");
        };
        assert_eq!(
            result["structuredContent"].to_string(),
            result["content"][0]["text"]
        );
    }
}
