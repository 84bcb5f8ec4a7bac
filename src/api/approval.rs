//! Decides, with the host's help, whether a call may be sent.

use std::time::Instant;

use serde_json::{Map, Value};

use crate::api::dispatch::Turn;
use crate::api::methods::Approve;
use crate::api::types::{ApprovalDecision, ApproveParams, DispatchParams};
use crate::api::wire;
use crate::catalog::view::View;
use crate::catalog::{Origin, Tool};
use crate::hub::Snapshot;
use crate::hub::session::{Change, Session};
use crate::names::ToolId;
use crate::output::failure::Failure;
use crate::policy::{self, Pin, Verdict};

/// How a call was allowed.
pub enum Passed {
    Unasked,
    /// Meanwhile things may have changed; see [`still_allowed`].
    Asked,
}

/// `Err` holds what the model reads of the refusal. Without an answer, in time where there is a deadline, nothing is approved.
pub async fn pass(
    turn: &Turn<'_>,
    params: &DispatchParams,
    tool: &Tool,
    id: &ToolId,
    arguments: &Map<String, Value>,
    deadline: Option<Instant>,
) -> Result<Passed, String> {
    let denied = |reason: &str| Failure::Denied { reason }.content(tool);
    let approved = turn.session.approved.contains(id);
    let reason = match decide(&turn.snapshot, tool, id, approved) {
        Verdict::Allow => return Ok(Passed::Unasked),
        Verdict::Deny { reason } => return Err(denied(&reason)),
        Verdict::Ask { reason } => reason,
    };
    let host = turn.sidecar.host();
    if !host.can_approve() {
        return Err(denied(&format!(
            "{reason}, and there is nobody to ask for approval"
        )));
    }
    let question = ApproveParams {
        session_id: params.session_id.clone(),
        call_id: params.call_id.clone(),
        tool: wire::tool_ref(tool),
        arguments: arguments.clone(),
        reason: reason.clone(),
    };
    let asked = async {
        match host.ask_terminal(&question).await {
            Some(true) => Ok((ApprovalDecision::Allow, None)),
            Some(false) => Ok((ApprovalDecision::Deny, None)),
            None => {
                let answer = host.ask::<Approve>(question.clone()).await;
                answer.map(|it| (it.decision, it.message))
            }
        }
    };
    let answer = match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.into(), asked)
            .await
            .map_err(|_| {
                denied(&format!(
                    "{reason}, and nobody answered in the time that the call had"
                ))
            })?,
        None => asked.await,
    };
    let (decision, message) =
        answer.map_err(|error| denied(&format!("{reason}, and it was not approved: {error}")))?;
    match decision {
        ApprovalDecision::Allow => {}
        ApprovalDecision::AllowSession => {
            let change = Change::Approved(id.clone());
            turn.hub.change_session(turn.session_id, change);
        }
        ApprovalDecision::Deny => {
            let said = message.map_or_else(
                || "the user denied it".to_owned(),
                |it| format!("the user denied it: {it}"),
            );
            return Err(denied(&said));
        }
    }
    turn.hub.pin(id.clone(), Pin::of(tool));
    Ok(Passed::Asked)
}

/// Whether what the host has allowed is still what would be sent: while it was asked, the configuration, the session's scope or
/// the tool may have changed.
pub async fn still_allowed(turn: &Turn<'_>, tool: &Tool, id: &ToolId) -> Result<(), String> {
    let session = turn.hub.session(turn.session_id).await;
    let snapshot = turn.hub.snapshot();
    let denied = |reason: &str| Failure::Denied { reason }.content(tool);
    let now = view_of(&snapshot, &session).get(tool.exposed.as_str());
    if now.is_none_or(|now| **now != *tool) {
        return Err(denied(
            "it has changed, or is not available any more, since it was approved",
        ));
    }
    match decide(&snapshot, tool, id, true) {
        Verdict::Deny { reason } => Err(denied(&reason)),
        Verdict::Allow | Verdict::Ask { .. } => Ok(()),
    }
}

/// Why the policy keeps a tool from being run at all.
pub fn forbidden(turn: &Turn<'_>, tool: &Tool) -> Option<String> {
    let Origin::Mcp(id) = &tool.origin else {
        return None;
    };
    match decide(&turn.snapshot, tool, id, false) {
        Verdict::Deny { reason } => Some(reason),
        Verdict::Allow | Verdict::Ask { .. } => None,
    }
}

fn decide(snapshot: &Snapshot, tool: &Tool, id: &ToolId, approved: bool) -> Verdict {
    match snapshot
        .servers
        .get(&id.server)
        .and_then(|entry| entry.config())
    {
        Some(config) => policy::decide(tool, config, snapshot.pins.get(id), approved),
        None => Verdict::Deny {
            reason: format!("its server `{}` is not in use", id.server),
        },
    }
}

/// What a session sees of a snapshot.
pub fn view_of<'a>(snapshot: &'a Snapshot, session: &'a Session) -> View<'a> {
    let assembled = session.assembled.as_ref();
    View {
        catalog: &snapshot.catalog,
        host: &session.host.tools,
        scope: &session.scope,
        bridged: assembled
            .is_some_and(|it| it.assembly.decision.mode == crate::assembly::Mode::Bridged),
    }
}
