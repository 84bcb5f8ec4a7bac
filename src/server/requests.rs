//! Decides what a server gets when it asks something of us.

use std::future::Future;

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::names::ServerName;
use crate::server::incoming::Fault;
use crate::server::tail::cut;
use crate::server::{Ask, ElicitMode, Event, HostSupport, ServerRequest};

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
pub const INTERNAL_ERROR: i64 = -32603;

/// The answer, or who has to be asked for it.
#[derive(Debug, PartialEq)]
pub enum Reply {
    Now(Result<Value, Fault>),
    Ask(Ask),
}

/// Only what was offered to the server is passed on; everything else is refused at once.
pub fn reply(support: &HostSupport, method: &str, params: Value) -> Reply {
    match method {
        "ping" => Reply::Now(Ok(json!({}))),
        "roots/list" if !support.roots.is_empty() => Reply::Now(Ok(roots(support))),
        "sampling/createMessage" if support.sampling => match params {
            Value::Object(params) => Reply::Ask(Ask::Sample { params }),
            _ => Reply::invalid("params are not an object"),
        },
        "elicitation/create" if support.elicits() => elicit(support, params),
        "roots/list" | "sampling/createMessage" | "elicitation/create" => {
            Reply::refuse(format!("`{method}` was not offered by this client"))
        }
        _ => Reply::refuse(format!(
            "method `{}` is not known to this client",
            cut(method, 100)
        )),
    }
}

/// Passes a question on to the host. The question is out when this returns; what it returns waits for the answer.
pub fn ask_host(
    server: &ServerName,
    events: &mpsc::UnboundedSender<Event>,
    ask: Ask,
) -> impl Future<Output = Result<Value, Fault>> + Send + 'static {
    let (reply, answer) = oneshot::channel();
    let request = ServerRequest {
        server: server.clone(),
        ask,
        reply,
    };
    // If nobody listens any more, the reply is dropped, which is a refusal.
    let _ = events.send(Event::Request(request));
    async move {
        match answer.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(message)) => Err(Fault::new(INTERNAL_ERROR, message)),
            Err(_) => Err(Fault::new(INTERNAL_ERROR, "nobody answered")),
        }
    }
}

fn roots(support: &HostSupport) -> Value {
    let roots: Vec<Value> = support
        .roots
        .iter()
        .map(|root| match &root.name {
            Some(name) => json!({"uri": root.uri, "name": name}),
            None => json!({"uri": root.uri}),
        })
        .collect();
    json!({ "roots": roots })
}

fn elicit(support: &HostSupport, params: Value) -> Reply {
    let Value::Object(mut params) = params else {
        return Reply::invalid("params are not an object");
    };
    let mode = match params.get("mode").and_then(Value::as_str) {
        Some("url") if support.elicit_url => ElicitMode::Url,
        None | Some("form") if support.elicit_form => ElicitMode::Form,
        other => {
            let mode = cut(other.unwrap_or("form"), 100);
            return Reply::invalid(format!("elicitation mode `{mode}` was not offered"));
        }
    };
    Reply::Ask(Ask::Elicit {
        mode,
        message: text(&mut params, "message").unwrap_or_default(),
        requested_schema: params.remove("requestedSchema").filter(Value::is_object),
        url: text(&mut params, "url"),
    })
}

fn text(params: &mut Map<String, Value>, name: &str) -> Option<String> {
    match params.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

impl Reply {
    fn refuse(message: String) -> Reply {
        Reply::Now(Err(Fault::new(METHOD_NOT_FOUND, message)))
    }

    fn invalid(message: impl Into<String>) -> Reply {
        Reply::Now(Err(Fault::new(INVALID_PARAMS, message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::Root;

    fn code(support: &HostSupport, method: &str, params: Value) -> i64 {
        match reply(support, method, params) {
            Reply::Now(Err(fault)) => fault.code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_not_offered_is_refused() {
        let none = HostSupport::default();
        for method in [
            "roots/list",
            "sampling/createMessage",
            "elicitation/create",
            "vendor/thing",
        ] {
            assert_eq!(code(&none, method, json!({})), METHOD_NOT_FOUND);
        }
        let form_only = HostSupport {
            elicit_form: true,
            ..none
        };
        let url = json!({"mode": "url", "url": "https://example.test"});
        assert_eq!(code(&form_only, "elicitation/create", url), INVALID_PARAMS);
        assert_eq!(
            code(&form_only, "elicitation/create", json!([])),
            INVALID_PARAMS
        );
    }

    #[test]
    fn pings_and_roots_are_answered_at_once() {
        let support = HostSupport {
            roots: vec![Root {
                uri: "file:///work".to_owned(),
                name: None,
            }],
            ..HostSupport::default()
        };
        assert_eq!(
            reply(&support, "ping", Value::Null),
            Reply::Now(Ok(json!({})))
        );
        assert_eq!(
            reply(&support, "roots/list", json!([])),
            Reply::Now(Ok(json!({"roots": [{"uri": "file:///work"}]})))
        );
    }

    #[test]
    fn a_form_goes_to_the_host() {
        let support = HostSupport {
            elicit_form: true,
            ..HostSupport::default()
        };
        let params = json!({"message": "Name?", "requestedSchema": {"type": "object"}});
        assert_eq!(
            reply(&support, "elicitation/create", params),
            Reply::Ask(Ask::Elicit {
                mode: ElicitMode::Form,
                message: "Name?".to_owned(),
                requested_schema: Some(json!({"type": "object"})),
                url: None,
            })
        );
    }
}
