//! Answers `assembleTools`: the tools of the next model call.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::error::ApiError;
use crate::api::sidecar::Sidecar;
use crate::api::types::*;
use crate::api::wire;
use crate::assembly::{self, Request};
use crate::catalog::Tool;
use crate::catalog::host::HostTools;
use crate::catalog::scope::Scope as CoreScope;
use crate::catalog::view::View;
use crate::config::DecisionScope;
use crate::hub::session::{Assembled, Change, Host, Inputs};

/// How long servers that are still starting are waited for, unless the host says.
const DEFAULT_WAIT: Duration = Duration::from_millis(1500);

/// Host tools and scope are remembered for the session, also when nothing else has changed.
pub async fn assemble_tools(
    sidecar: &Sidecar,
    params: AssembleToolsParams,
) -> Result<AssembleToolsResult, ApiError> {
    let scope = compile(params.scope.as_ref())?;
    let nameless = |it: &HostTool| it.name.trim().is_empty();
    if let Some(at) = params.host_tools.iter().flatten().position(nameless) {
        return Err(ApiError::InvalidParams(format!(
            "`hostTools[{at}]`: `name` is empty"
        )));
    }
    let hub = sidecar.hub().await;
    let wait = params.wait_ms.map_or(DEFAULT_WAIT, Duration::from_millis);
    if !wait.is_zero() {
        hub.settled(wait).await;
    }
    let id = params.session_id.as_deref().unwrap_or_default();
    let (session, latest_host) = hub.session_and_latest_host(id).await;
    let snapshot = hub.snapshot();
    let config = &snapshot.config.tool_search;
    let host = host_tools(
        params.host_tools.unwrap_or_default(),
        [&session.host, &latest_host],
    );
    let scope = if *session.scope == scope {
        session.scope.clone()
    } else {
        Arc::new(scope)
    };
    let from = Inputs {
        generation: snapshot.catalog.generation(),
        config_revision: snapshot.config_revision,
        format: wire::format(params.format.unwrap_or_default()),
        context_length: params.context_length,
        pinned: session
            .first_mode
            .filter(|_| config.decision == DecisionScope::Session),
    };
    let unchanged_inputs = |it: &&Arc<Assembled>| {
        it.from == from && Arc::ptr_eq(&host, &session.host) && Arc::ptr_eq(&scope, &session.scope)
    };
    let assembled = match session.assembled.as_ref().filter(unchanged_inputs) {
        Some(assembled) => assembled.clone(),
        None => {
            let view = View {
                catalog: &snapshot.catalog,
                host: &host.tools,
                scope: &scope,
                bridged: false,
            };
            let (format, context_length, pinned) = (from.format, from.context_length, from.pinned);
            let assembly = assembly::assemble(&Request {
                view,
                config,
                format,
                context_length,
                pinned,
            });
            let assembled = Arc::new(Assembled { from, assembly });
            hub.change_session(
                id,
                Change::Assembled {
                    host,
                    scope,
                    assembled: assembled.clone(),
                },
            );
            assembled
        }
    };
    let assembly = &assembled.assembly;
    let unchanged = params.known_digest.as_deref() == Some(assembly.digest.as_str());
    let tools = (!unchanged)
        .then(|| RawValue::from_string(assembly.tools.clone()))
        .transpose();
    Ok(AssembleToolsResult {
        tools: tools.map_err(|error| ApiError::Internal(error.to_string()))?,
        unchanged,
        digest: assembly.digest.clone(),
        generation: from.generation,
        decision: wire::decision(&assembly.decision),
        servers: wire::servers(&snapshot),
        warnings: assembly.warnings.iter().map(wire::warning).collect(),
    })
}

fn compile(scope: Option<&Scope>) -> Result<CoreScope, ApiError> {
    let Some(scope) = scope else {
        return Ok(CoreScope::default());
    };
    CoreScope::compile(
        scope.servers.as_deref(),
        scope.include.as_deref(),
        scope.exclude.as_deref(),
    )
    .map_err(|error| ApiError::InvalidParams(format!("`scope`: {error}")))
}

/// The session's tools where these are the same, or another session's: what was computed for them is kept.
fn host_tools(sent: Vec<HostTool>, known: [&Arc<Host>; 2]) -> Arc<Host> {
    for host in known {
        let known = &host.tools.tools;
        if known.len() == sent.len() && known.iter().zip(&sent).all(|(tool, it)| is(tool, it)) {
            return host.clone();
        }
    }
    let tool = |it: HostTool| {
        let (name, description) = (&it.name, it.description.as_deref());
        Tool::host(name, description, it.parameters, it.defer == Some(true))
    };
    let tools: Vec<Arc<Tool>> = sent.into_iter().map(|it| Arc::new(tool(it))).collect();
    Arc::new(Host::from(HostTools::from(tools)))
}

/// Whether a tool is what was made of the same tool of the host before.
fn is(tool: &Tool, sent: &HostTool) -> bool {
    tool.exposed.as_str() == sent.name
        && tool.description == sent.description.as_deref().unwrap_or_default()
        && tool.deferrable == (sent.defer == Some(true))
        && is_written_alike(
            &tool.input_schema,
            sent.parameters.as_ref().unwrap_or(&Value::Null),
        )
}

/// Whether two values are the same text: the order of members is part of what a model is shown.
fn is_written_alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len()
                && pairs.all(|((a_key, a), (b_key, b))| a_key == b_key && is_written_alike(a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_written_alike(a, b))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sent(description: &str) -> Vec<HostTool> {
        let tools = json!([
            {"name": "now"},
            {"name": "ask", "description": description, "parameters": {"type": "object"}, "defer": true},
        ]);
        serde_json::from_value(tools).unwrap()
    }

    #[test]
    fn a_host_that_sends_the_same_tools_again_has_them_made_once() {
        let none = Arc::default();
        let first = host_tools(sent("asks"), [&none, &none]);
        for known in [[&first, &none], [&none, &first]] {
            assert!(Arc::ptr_eq(&host_tools(sent("asks"), known), &first));
            let other = host_tools(sent("asks again"), known);
            assert!(!Arc::ptr_eq(&other, &first));
            assert_eq!(other.tools.tools[1].description, "asks again");
        }
        let in_order = |text: &str| -> Vec<HostTool> { serde_json::from_str(text).unwrap() };
        let ordered = in_order(r#"[{"name": "x", "parameters": {"a": [{"b": 1, "c": 2}]}}]"#);
        let other = in_order(r#"[{"name": "x", "parameters": {"a": [{"c": 2, "b": 1}]}}]"#);
        let known = host_tools(ordered.clone(), [&none, &none]);
        assert!(Arc::ptr_eq(&host_tools(ordered, [&none, &known]), &known));
        assert!(!Arc::ptr_eq(&host_tools(other, [&none, &known]), &known));
        let fewer = host_tools(sent("asks")[..1].to_vec(), [&first, &first]);
        assert_eq!(fewer.tools.tools.len(), 1);
    }
}
