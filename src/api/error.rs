//! Says what went wrong in the numbers and words of the wire contract; no other file knows the numbers.

use jsonrpsee::types::ErrorObjectOwned;

use crate::api::types::{ErrorData, Problem};

/// The text is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The message is JSON, but not a request, or not one that may be sent now.
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;
/// Too many requests are in flight; the same one may succeed later.
pub const OVERLOADED: i32 = -32001;
pub const CANCELLED: i32 = -32800;
/// The request could not be served; `kind` in the error's data says why.
pub const REQUEST_FAILED: i32 = -32803;

/// What the host did wrong, or what it asked for and cannot have.
///
/// What a model or a server did wrong is never an error but a result that says so.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApiError {
    /// Names the member that is wrong.
    #[error("invalid params: {0}")]
    InvalidParams(String),
    #[error("the configuration is invalid: {}", first_of(.0))]
    ConfigInvalid(Vec<Problem>),
    #[error("there is no configuration at `{0}`")]
    ConfigNotFound(String),
    #[error("no server is named `{0}`")]
    UnknownServer(String),
    #[error("no session has the id `{0}`")]
    UnknownSession(String),
    /// A sentence about what is not supported.
    #[error("{0}")]
    NotSupported(String),
    /// Our own fault.
    #[error("internal error: {0}")]
    Internal(String),
}

impl ApiError {
    pub fn code(&self) -> i32 {
        match self {
            ApiError::InvalidParams(_) => INVALID_PARAMS,
            ApiError::Internal(_) => INTERNAL_ERROR,
            ApiError::ConfigInvalid(_)
            | ApiError::ConfigNotFound(_)
            | ApiError::UnknownServer(_)
            | ApiError::UnknownSession(_)
            | ApiError::NotSupported(_) => REQUEST_FAILED,
        }
    }

    /// What a host can branch on; `None` where the code says it all.
    pub fn data(&self) -> Option<ErrorData> {
        let (kind, server, problems) = match self {
            ApiError::InvalidParams(_) | ApiError::Internal(_) => return None,
            ApiError::ConfigInvalid(problems) => ("configInvalid", None, Some(problems.clone())),
            ApiError::ConfigNotFound(_) => ("configNotFound", None, None),
            ApiError::UnknownServer(server) => ("unknownServer", Some(server.clone()), None),
            ApiError::UnknownSession(_) => ("unknownSession", None, None),
            ApiError::NotSupported(_) => ("notSupported", None, None),
        };
        Some(ErrorData {
            kind: kind.to_owned(),
            message: self.to_string(),
            server,
            retryable: false,
            problems,
        })
    }
}

impl From<ApiError> for ErrorObjectOwned {
    fn from(error: ApiError) -> ErrorObjectOwned {
        ErrorObjectOwned::owned(error.code(), error.to_string(), error.data())
    }
}

fn first_of(problems: &[Problem]) -> String {
    let Some(first) = problems.first() else {
        return "it cannot be read".to_owned();
    };
    let place = if first.path.is_empty() {
        String::new()
    } else {
        format!(" at `{}`", first.path)
    };
    match problems.len() {
        1 => format!("{}{place}", first.message),
        n_problems => format!("{}{place}, and {} more", first.message, n_problems - 1),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::api::types::Severity;

    fn check(error: ApiError, expected: Expect) {
        let object = ErrorObjectOwned::from(error);
        expected.assert_eq(&serde_json::to_string_pretty(&object).unwrap());
    }

    #[test]
    fn an_unknown_server_is_named() {
        check(
            ApiError::UnknownServer("github".into()),
            expect![[r#"
                {
                  "code": -32803,
                  "message": "no server is named `github`",
                  "data": {"kind":"unknownServer","message":"no server is named `github`","server":"github","retryable":false}
                }"#]],
        );
    }

    #[test]
    fn an_invalid_config_carries_every_problem() {
        let problem = |path: &str| Problem {
            severity: Severity::Error,
            message: "unknown key".into(),
            path: path.into(),
            range: None,
        };
        check(
            ApiError::ConfigInvalid(vec![problem("/a"), problem("/b")]),
            expect![[r#"
                {
                  "code": -32803,
                  "message": "the configuration is invalid: unknown key at `/a`, and 1 more",
                  "data": {"kind":"configInvalid","message":"the configuration is invalid: unknown key at `/a`, and 1 more","retryable":false,"problems":[{"severity":"error","message":"unknown key","path":"/a"},{"severity":"error","message":"unknown key","path":"/b"}]}
                }"#]],
        );
    }

    #[test]
    fn wrong_params_need_no_data() {
        check(
            ApiError::InvalidParams("missing field `name`".into()),
            expect![[r#"
                {
                  "code": -32602,
                  "message": "invalid params: missing field `name`"
                }"#]],
        );
    }
}
