//! Reads one message: a request, a notification, an answer of the host, or something that is none of them.

use jsonrpsee::types::{Id, Params};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::api::error::{INVALID_REQUEST, PARSE_ERROR};
use crate::rpc::frame::Framing;

pub(crate) enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Params<'static>,
    },
    Answer {
        /// `None` where it is of a kind that we never send.
        id: Option<String>,
        outcome: Result<Box<RawValue>, Failure>,
    },
    /// To be answered with this error.
    Invalid(Invalid),
}

pub(crate) struct Request {
    pub(crate) id: Id<'static>,
    pub(crate) method: String,
    pub(crate) params: Params<'static>,
}

pub(crate) struct Invalid {
    /// The id as the host wrote it, if it is a number or a string; else `null`.
    pub(crate) id: Box<RawValue>,
    pub(crate) code: i32,
    pub(crate) message: String,
}

/// An error of JSON-RPC.
#[derive(Debug, Clone, Deserialize, Serialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Failure {
    #[serde(default)]
    pub code: i32,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absent.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Message {
    /// Reads a message; only line framing may leave `jsonrpc` out.
    pub(crate) fn parse(bytes: &[u8], framing: Framing) -> Message {
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Message::Invalid(Invalid::new(PARSE_ERROR, "the message is not UTF-8"));
        };
        if text.trim_start().starts_with('[') {
            return Message::Invalid(match serde_json::from_str::<&RawValue>(text) {
                Ok(_) => Invalid::new(INVALID_REQUEST, "batches are not supported"),
                Err(error) => Invalid::new(PARSE_ERROR, &format!("invalid JSON: {error}")),
            });
        }
        match serde_json::from_str::<Envelope>(text) {
            Ok(envelope) => envelope.read(framing),
            Err(error) if error.is_data() => Message::Invalid(Invalid::new(
                INVALID_REQUEST,
                &format!("the message is not a request: {error}"),
            )),
            Err(error) => {
                Message::Invalid(Invalid::new(PARSE_ERROR, &format!("invalid JSON: {error}")))
            }
        }
    }
}

impl Envelope<'_> {
    fn read(&self, framing: Framing) -> Message {
        let version_is_right = match self.jsonrpc {
            Some(version) => version.get() == "\"2.0\"",
            None => framing == Framing::Lines,
        };
        if !version_is_right {
            return self.refuse("`jsonrpc` must be \"2.0\"");
        }
        let Some(method) = self.method else {
            return self.read_answer();
        };
        let Ok(method) = serde_json::from_str::<String>(method.get()) else {
            return self.refuse("`method` must be a string");
        };
        let params = Params::new(self.params.map(RawValue::get)).into_owned();
        let Some(raw_id) = self.id else {
            return Message::Notification { method, params };
        };
        match read_id(raw_id) {
            Some(id) => Message::Request(Request { id, method, params }),
            None => self.refuse("`id` must be a string or an integer from 0"),
        }
    }

    fn read_answer(&self) -> Message {
        let outcome = match (self.error, self.result) {
            (Some(error), _) => {
                Err(
                    serde_json::from_str(error.get()).unwrap_or_else(|_| Failure {
                        code: 0,
                        message: error.get().to_owned(),
                        data: None,
                    }),
                )
            }
            (None, Some(result)) => Ok(result.to_owned()),
            (None, None) => return self.refuse("`method` is missing"),
        };
        let id = self
            .id
            .and_then(|id| serde_json::from_str::<String>(id.get()).ok());
        Message::Answer { id, outcome }
    }

    fn refuse(&self, message: &str) -> Message {
        let mut invalid = Invalid::new(INVALID_REQUEST, message);
        let can_be_answered =
            |id: &&RawValue| matches!(id.get().as_bytes(), [b'"' | b'-' | b'0'..=b'9', ..]);
        if let Some(id) = self.id.filter(can_be_answered) {
            invalid.id = id.to_owned();
        }
        Message::Invalid(invalid)
    }
}

impl Invalid {
    pub(crate) fn new(code: i32, message: &str) -> Invalid {
        Invalid {
            id: RawValue::NULL.to_owned(),
            code,
            message: message.to_owned(),
        }
    }

    pub(crate) fn into_answer(self) -> String {
        error_answer(&self.id, self.code, self.message)
    }
}

/// The answer of a request that failed.
pub(crate) fn error_answer(id: impl Serialize, code: i32, message: impl Into<String>) -> String {
    let error = Failure {
        code,
        message: message.into(),
        data: None,
    };
    answer(id, Err(error))
}

/// The answer of a request.
pub(crate) fn answer(id: impl Serialize, outcome: Result<Box<RawValue>, Failure>) -> String {
    #[derive(Serialize)]
    struct Answer<I> {
        jsonrpc: &'static str,
        id: I,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
    }
    let (result, error) = match outcome {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    let answer = Answer {
        jsonrpc: "2.0",
        id,
        result,
        error,
    };
    serde_json::to_string(&answer).expect("ids, results and errors are JSON already")
}

fn read_id(raw: &RawValue) -> Option<Id<'static>> {
    match raw.get().as_bytes().first()? {
        b'"' => serde_json::from_str(raw.get())
            .ok()
            .map(|id: String| Id::Str(id.into())),
        b'0'..=b'9' => raw.get().parse().ok().map(Id::Number),
        _ => None,
    }
}
