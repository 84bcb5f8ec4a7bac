//! Decides, with the host's help, whether a call may be sent.

use serde_json::{Map, Value};

use crate::api::dispatch::Turn;
use crate::api::methods::Approve;
use crate::api::types::{ApprovalDecision, ApproveParams, DispatchParams};
use crate::api::wire;
use crate::catalog::Tool;
use crate::config::ServerConfig;
use crate::hub::session::Change;
use crate::names::ToolId;
use crate::output::failure::Failure;
use crate::policy::{self, Pin, Verdict};

/// `Err` holds what the model reads of the refusal. Without an answer nothing is approved.
pub async fn pass(
    turn: &Turn<'_>,
    params: &DispatchParams,
    tool: &Tool,
    id: &ToolId,
    config: &ServerConfig,
    arguments: &Map<String, Value>,
) -> Result<(), String> {
    let denied = |reason: &str| Failure::Denied { reason }.content(tool);
    let pin = turn.snapshot.pins.get(id);
    let approved = turn.session.approved.contains(&tool.exposed);
    let reason = match policy::decide(tool, config, pin, approved) {
        Verdict::Allow => return Ok(()),
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
    let (decision, message) = match host.ask_terminal(&question).await {
        Some(true) => (ApprovalDecision::Allow, None),
        Some(false) => (ApprovalDecision::Deny, None),
        None => match host.ask::<Approve>(question).await {
            Ok(answer) => (answer.decision, answer.message),
            Err(error) => {
                return Err(denied(&format!(
                    "{reason}, and it was not approved: {error}"
                )));
            }
        },
    };
    match decision {
        ApprovalDecision::Allow => {}
        ApprovalDecision::AllowSession => {
            turn.hub
                .change_session(turn.session_id, Change::Approved(tool.exposed.clone()));
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
    Ok(())
}
