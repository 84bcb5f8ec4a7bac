//! Registers handlers in the table of methods and reads their params.

use std::future::Future;
use std::sync::Arc;

use jsonrpsee::core::RegisterMethodError;
use jsonrpsee::types::{ErrorObjectOwned, Id, Params};
use jsonrpsee::{Extensions, RpcModule};
use serde::de::DeserializeOwned;

use crate::api::error::ApiError;
use crate::api::methods::Method;
use crate::rpc::peer::Peer;

/// What a handler knows about the request besides its params.
#[derive(Clone)]
pub struct CallContext {
    pub id: Id<'static>,
    pub peer: Peer,
}

/// Registers the handler of a method.
///
/// Each request runs in a task of its own. When the host cancels it, the handler's future is dropped;
/// when it panics, its request alone fails.
pub fn method<M, Context, Handler, Answer>(
    module: &mut RpcModule<Context>,
    handler: Handler,
) -> Result<(), RegisterMethodError>
where
    M: Method,
    M::Result: 'static,
    Context: Send + Sync + 'static,
    Handler: Fn(Arc<Context>, M::Params, CallContext) -> Answer + Clone + Send + Sync + 'static,
    Answer: Future<Output = Result<M::Result, ApiError>> + Send + 'static,
{
    module.register_async_method(M::NAME, move |params, context, extensions| {
        let handler = handler.clone();
        async move {
            let call = call_context(&extensions)?;
            let params = read_params(&params)?;
            // The counted pointer makes the result cloneable, as the table demands, without a clone of it.
            let result = handler(context, params, call).await.map(Arc::new)?;
            Ok::<_, ErrorObjectOwned>(result)
        }
    })?;
    Ok(())
}

/// Reads params as an object; absent and `null` are `{}`.
///
/// The message of an error says which member is wrong.
pub fn read_params<P: DeserializeOwned>(params: &Params<'_>) -> Result<P, ApiError> {
    let text = match params.as_str() {
        None | Some("null") => "{}",
        Some(text) if text.starts_with('{') => text,
        Some(_) => {
            return Err(ApiError::InvalidParams(
                "expected an object with named members".to_owned(),
            ));
        }
    };
    // Tracking the place costs time, so only params that are wrong are read with it.
    serde_json::from_str(text).or_else(|_| {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut deserializer).map_err(name_the_member)
    })
}

fn name_the_member(error: serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    const LONGEST_PATH: usize = 100;
    let mut path = error.path().to_string();
    if let Some((end, _)) = path.char_indices().nth(LONGEST_PATH) {
        path.truncate(end);
        path.push('…');
    }
    let message = error.inner().to_string();
    // The host has no use for the column in a text that its library wrote.
    let message = match message.rfind(" at line ") {
        Some(end) => &message[..end],
        None => &message,
    };
    ApiError::InvalidParams(match path.as_str() {
        "." => message.to_owned(),
        _ => format!("`{path}`: {message}"),
    })
}

fn call_context(extensions: &Extensions) -> Result<CallContext, ApiError> {
    extensions
        .get()
        .cloned()
        .ok_or_else(|| ApiError::Internal("the request came without its context".to_owned()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::api::types::{AssembleToolsParams, DispatchParams, StatusParams};

    fn check<P: DeserializeOwned>(params: Option<&str>, expected: Expect) {
        let text = match read_params::<P>(&Params::new(params)) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn absent_and_null_params_are_empty() {
        check::<AssembleToolsParams>(None, expect!["fine"]);
        check::<AssembleToolsParams>(Some(" null "), expect!["fine"]);
        check::<StatusParams>(None, expect!["fine"]);
    }

    #[test]
    fn positional_params_are_refused() {
        check::<AssembleToolsParams>(
            Some("[5]"),
            expect!["invalid params: expected an object with named members"],
        );
        check::<StatusParams>(
            Some("[]"),
            expect!["invalid params: expected an object with named members"],
        );
        check::<StatusParams>(
            Some("5"),
            expect!["invalid params: expected an object with named members"],
        );
    }

    #[test]
    fn the_wrong_member_is_named() {
        check::<DispatchParams>(Some("{}"), expect!["invalid params: missing field `name`"]);
        check::<DispatchParams>(
            Some(r#"{"name": "a", "timeoutMs": "soon"}"#),
            expect![[r#"invalid params: `timeoutMs`: invalid type: string "soon", expected u64"#]],
        );
        check::<AssembleToolsParams>(
            Some(r#"{"hostTools": [{"name": "a"}, {"description": "b"}]}"#),
            expect!["invalid params: `hostTools[1]`: missing field `name`"],
        );
        check::<AssembleToolsParams>(
            Some(r#"{"format": "xml"}"#),
            expect![
                "invalid params: `format`: unknown variant `xml`, expected one of `openai`, `openai-responses`, `anthropic`, `gemini`, `mcp`"
            ],
        );
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        let deep = format!(r#"{{"name": "a", "arguments": {}"#, "[".repeat(100_000));
        check::<DispatchParams>(
            Some(&deep),
            expect![
                "invalid params: `arguments[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][…`: recursion limit exceeded"
            ],
        );
    }
}
