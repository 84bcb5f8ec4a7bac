//! Writes the wire contract as an OpenRPC document.
//!
//! OpenRPC knows one direction only; `x-from` says who sends a message. A method without `result` is a notification.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::api::error;
use crate::api::types::PROTOCOL_VERSION;
use crate::codegen::GenerateError;
use crate::codegen::schemas::{Schemas, Signature};

/// A reason why a request is answered with an error.
struct ErrorClass {
    name: &'static str,
    code: i32,
    message: &'static str,
}

const ERRORS: [ErrorClass; 8] = [
    ErrorClass {
        name: "ParseError",
        code: error::PARSE_ERROR,
        message: "the message is not JSON",
    },
    ErrorClass {
        name: "InvalidRequest",
        code: error::INVALID_REQUEST,
        message: "the message is not a request",
    },
    ErrorClass {
        name: "MethodNotFound",
        code: error::METHOD_NOT_FOUND,
        message: "there is no such method",
    },
    ErrorClass {
        name: "InvalidParams",
        code: error::INVALID_PARAMS,
        message: "the params are not those of the method",
    },
    ErrorClass {
        name: "InternalError",
        code: error::INTERNAL_ERROR,
        message: "the sidecar is at fault",
    },
    ErrorClass {
        name: "Overloaded",
        code: error::OVERLOADED,
        message: "too many requests are in flight, try again",
    },
    ErrorClass {
        name: "Cancelled",
        code: error::CANCELLED,
        message: "the request was cancelled",
    },
    ErrorClass {
        name: "RequestFailed",
        code: error::REQUEST_FAILED,
        message: "the request could not be served; `data.kind` says why",
    },
];

/// The values of `data.kind` that this build sends; a newer one may send others.
const KINDS: [&str; 5] = [
    "configInvalid",
    "configNotFound",
    "unknownServer",
    "unknownSession",
    "notSupported",
];

/// The document, laid out for reading.
pub fn document() -> Result<String, GenerateError> {
    let mut settings = SchemaSettings::draft07();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut schemas = Schemas::of_all_methods(settings);

    let mut definitions = std::mem::take(&mut schemas.inbound);
    for (name, schema) in std::mem::take(&mut schemas.outbound) {
        definitions.entry(name).or_insert(schema);
    }
    let sent_by = |from: &str, signatures: &[Signature], answered: bool| -> Vec<Value> {
        signatures
            .iter()
            .map(|it| method(it, from, answered, &definitions))
            .collect()
    };
    let methods = [
        sent_by("host", &schemas.requests, true),
        sent_by("sidecar", &schemas.host_requests, true),
        sent_by("sidecar", &schemas.notifications, false),
    ]
    .concat();
    let document = json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "toolcrib",
            "version": PROTOCOL_VERSION.to_string(),
            "description": "What a host and the sidecar say to each other over stdin and stdout.",
        },
        "methods": methods,
        "components": { "schemas": definitions, "errors": errors() },
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn method(
    signature: &Signature,
    from: &str,
    answered: bool,
    definitions: &Map<String, Value>,
) -> Value {
    let (summary, description) = signature
        .doc
        .trim()
        .split_once('\n')
        .unwrap_or((signature.doc.trim(), ""));
    let mut method = json!({ "name": signature.name, "summary": summary.trim() });
    if !description.trim().is_empty() {
        let lines: Vec<&str> = description.trim().lines().map(str::trim).collect();
        method["description"] = lines.join("\n").into();
    }
    method["x-from"] = from.into();
    method["x-params"] = signature.params.clone();
    method["paramStructure"] = "by-name".into();
    method["params"] = params(definition(&signature.params, definitions)).into();
    if answered {
        method["result"] = json!({ "name": "result", "schema": signature.result });
        let errors = ERRORS
            .iter()
            .map(|it| json!({ "$ref": format!("#/components/errors/{}", it.name) }));
        method["errors"] = errors.collect();
    }
    method
}

fn definition<'a>(reference: &Value, definitions: &'a Map<String, Value>) -> Option<&'a Value> {
    let name = reference["$ref"]
        .as_str()?
        .strip_prefix("#/components/schemas/")?;
    definitions.get(name)
}

/// The members of the params, one by one, as OpenRPC wants them.
fn params(definition: Option<&Value>) -> Vec<Value> {
    let Some(definition) = definition else {
        return Vec::new();
    };
    let required = definition["required"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let properties = definition["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, schema)| {
            let is_required = required.iter().any(|it| it == name);
            json!({ "name": name, "required": is_required, "schema": schema })
        })
        .collect()
}

fn errors() -> Map<String, Value> {
    let described = |it: &ErrorClass| {
        let mut described = json!({ "code": it.code, "message": it.message });
        if it.code == error::REQUEST_FAILED {
            described["data"] =
                json!({ "schema": { "$ref": "#/components/schemas/ErrorData" }, "kinds": KINDS });
        }
        (it.name.to_string(), described)
    };
    ERRORS.iter().map(described).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::error::ApiError;

    #[test]
    fn every_kind_of_failure_is_listed() {
        let failures = [
            ApiError::ConfigInvalid(Vec::new()),
            ApiError::ConfigNotFound(String::new()),
            ApiError::UnknownServer(String::new()),
            ApiError::UnknownSession(String::new()),
            ApiError::NotSupported(String::new()),
        ];
        let kinds: Vec<String> = failures
            .iter()
            .filter_map(|it| Some(it.data()?.kind))
            .collect();
        assert_eq!(kinds, KINDS);
    }
}
