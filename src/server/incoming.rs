//! Tells what a value from a server is: an answer, a request, a notification, or nothing of the kind.

use serde_json::{Map, Value};

/// One message of a server.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    Answer {
        id: AnswerId,
        outcome: Result<Value, Fault>,
    },
    Request {
        /// As sent, to be echoed to the letter.
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// JSON that is not JSON-RPC, or an answer to nothing: never answered, or a server that logs JSON gets into a loop.
    Noise,
}

/// The id of an answer; ours are all numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerId {
    Number(u64),
    Other(String),
}

/// An error answer, as far as it can be understood.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

/// The messages in a value: several, where it is a batch of the 2025-03-26 revision.
pub fn classify(value: Value) -> Vec<Incoming> {
    match value {
        Value::Array(items) if !items.is_empty() => items.into_iter().map(message).collect(),
        other => vec![message(other)],
    }
}

fn message(value: Value) -> Incoming {
    let Value::Object(mut members) = value else {
        return Incoming::Noise;
    };
    let id = members.remove("id").unwrap_or(Value::Null);
    if let Some(Value::String(method)) = members.remove("method") {
        let params = members.remove("params").unwrap_or(Value::Null);
        return match id {
            Value::String(_) | Value::Number(_) => Incoming::Request { id, method, params },
            _ => Incoming::Notification { method, params },
        };
    }
    match (outcome(&mut members), AnswerId::of(&id)) {
        (Some(outcome), Some(id)) => Incoming::Answer { id, outcome },
        _ => Incoming::Noise,
    }
}

fn outcome(members: &mut Map<String, Value>) -> Option<Result<Value, Fault>> {
    match (members.remove("result"), members.remove("error")) {
        // Some servers send both members and leave the unused one `null`.
        (Some(result), None | Some(Value::Null)) => Some(Ok(result)),
        (_, Some(error)) => Some(Err(Fault::of(error))),
        (None, None) => None,
    }
}

impl AnswerId {
    /// A number that comes back as a string or as a float is still that number.
    pub fn of(id: &Value) -> Option<AnswerId> {
        match id {
            Value::Number(number) => {
                Some(match number.as_u64().or_else(|| whole(number.as_f64()?)) {
                    Some(number) => AnswerId::Number(number),
                    None => AnswerId::Other(number.to_string()),
                })
            }
            Value::String(text) => {
                let number = text.parse().ok();
                let number = number.or_else(|| whole(text.parse().ok()?));
                Some(match number {
                    Some(number) => AnswerId::Number(number),
                    None => AnswerId::Other(text.clone()),
                })
            }
            _ => None,
        }
    }
}

fn whole(number: f64) -> Option<u64> {
    let is_exact = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    is_exact.then_some(number as u64)
}

impl Fault {
    pub fn new(code: i64, message: impl Into<String>) -> Fault {
        Fault {
            code,
            message: message.into(),
            data: None,
        }
    }

    fn of(error: Value) -> Fault {
        let Value::Object(mut members) = error else {
            let message = match error {
                Value::String(text) => text,
                Value::Null => "the server answered with an empty error".to_owned(),
                other => other.to_string(),
            };
            return Fault::new(0, message);
        };
        let data = members.remove("data").filter(|data| !data.is_null());
        let message = match members.remove("message") {
            Some(Value::String(text)) if !text.trim().is_empty() => text,
            Some(other) if !other.is_null() && !other.is_string() => other.to_string(),
            _ => "the server gave no message".to_owned(),
        };
        match members.remove("code") {
            Some(Value::Number(code)) => Fault {
                code: code
                    .as_i64()
                    .or_else(|| code.as_f64().map(|code| code as i64))
                    .unwrap_or(0),
                message,
                data,
            },
            // A code that is a word says more than any number in its place.
            Some(Value::String(code)) => match code.trim().parse() {
                Ok(code) => Fault {
                    code,
                    message,
                    data,
                },
                Err(_) => Fault {
                    code: 0,
                    message: format!("{code}: {message}"),
                    data,
                },
            },
            _ => Fault {
                code: 0,
                message,
                data,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let shown: Vec<String> = classify(serde_json::from_str(text).unwrap())
            .into_iter()
            .map(|message| match message {
                Incoming::Answer { id, outcome } => match outcome {
                    Ok(result) => format!("answer {id:?}: {result}"),
                    Err(fault) => format!(
                        "answer {id:?}: {} `{}` {:?}",
                        fault.code, fault.message, fault.data
                    ),
                },
                Incoming::Request { id, method, params } => {
                    format!("request {id}: {method} {params}")
                }
                Incoming::Notification { method, params } => {
                    format!("notification: {method} {params}")
                }
                Incoming::Noise => "noise".to_owned(),
            })
            .collect();
        expected.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn ids_match_in_every_spelling_of_their_number() {
        check(r#"{"id":3,"result":{}}"#, expect!["answer Number(3): {}"]);
        check(r#"{"id":"3","result":{}}"#, expect!["answer Number(3): {}"]);
        check(r#"{"id":3.0,"result":{}}"#, expect!["answer Number(3): {}"]);
        check(
            r#"{"id":"3.0","result":{}}"#,
            expect!["answer Number(3): {}"],
        );
        check(
            r#"{"id":"ghost","result":{}}"#,
            expect![[r#"answer Other("ghost"): {}"#]],
        );
    }

    #[test]
    fn answers_to_nothing_and_json_logs_are_noise() {
        for text in [
            r#"{"level":"info","msg":"request","id":1}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no id"}}"#,
            r#"{"jsonrpc":"2.0"}"#,
            "42",
            "[]",
            "null",
            r#""ready""#,
        ] {
            check(text, expect!["noise"]);
        }
    }

    #[test]
    fn a_batch_is_its_messages() {
        check(
            r#"[1,{"id":1,"result":null},{"method":"x","params":[]}]"#,
            expect![[r#"
                noise
                answer Number(1): null
                notification: x []"#]],
        );
    }

    #[test]
    fn odd_errors_keep_what_they_say() {
        check(
            r#"{"id":1,"error":{"code":"E42","message":"odd","data":{"a":1}}}"#,
            expect![[r#"answer Number(1): 0 `E42: odd` Some(Object {"a": Number(1)})"#]],
        );
        check(
            r#"{"id":1,"error":{"code":1}}"#,
            expect!["answer Number(1): 1 `the server gave no message` None"],
        );
        check(
            r#"{"id":1,"error":"went wrong"}"#,
            expect!["answer Number(1): 0 `went wrong` None"],
        );
        check(
            r#"{"id":1,"error":{"code":"-32602","message":"m"},"result":null}"#,
            expect!["answer Number(1): -32602 `m` None"],
        );
        check(
            r#"{"id":1,"result":{},"error":null}"#,
            expect!["answer Number(1): {}"],
        );
    }

    #[test]
    fn a_request_needs_an_id_and_a_null_id_is_none() {
        check(
            r#"{"id":9007199254740993,"method":"vendor/thing","params":{"a":1}}"#,
            expect![[r#"request 9007199254740993: vendor/thing {"a":1}"#]],
        );
        check(
            r#"{"id":null,"method":"notifications/tools/list_changed"}"#,
            expect!["notification: notifications/tools/list_changed null"],
        );
    }
}
