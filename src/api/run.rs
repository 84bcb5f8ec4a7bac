//! Sends a call to its server, with whatever has to be allowed and waited for, and reads what came of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::api::approval::{self, Passed};
use crate::api::dispatch::{Answered, Turn};
use crate::api::methods::Progress;
use crate::api::spill::spill;
use crate::api::types::{DispatchParams, Outcome, ProgressNotification, Truncated};
use crate::api::wire;
use crate::call::ToolCall;
use crate::catalog::{Origin, Tool};
use crate::hub::{Entry, Hub};
use crate::names::{ServerName, ToolId};
use crate::output::failure::Failure;
use crate::output::{self, Answer, Rendered};
use crate::server::call::Caller;
use crate::server::{Call, CallEnd};

/// How long a call waits for a server whose process is being replaced.
const REPLACE_LIMIT: Duration = Duration::from_secs(5);

/// `started` is when the host's own limit on the whole call began.
pub async fn run(
    turn: &Turn<'_>,
    params: &DispatchParams,
    call: ToolCall,
    started: Instant,
) -> Answered {
    let ToolCall {
        tool, arguments, ..
    } = call;
    let failed = |outcome, message: &str| Answered::of_tool(outcome, output::error(message), &tool);
    let Origin::Mcp(id) = &tool.origin else {
        return failed(Outcome::Error, "the host runs this tool itself");
    };
    let deadline = params
        .timeout_ms
        .map(|limit| started + Duration::from_millis(limit));
    match approval::pass(turn, params, &tool, id, &arguments, deadline).await {
        Ok(Passed::Unasked) => {}
        Ok(Passed::Asked) => {
            if let Err(refused) = approval::still_allowed(turn, &tool, id).await {
                return Answered::of_tool(Outcome::Refused, refused, &tool);
            }
        }
        Err(refused) => return Answered::of_tool(Outcome::Refused, refused, &tool),
    }
    let Some(caller) = caller_of(turn.hub, &id.server).await else {
        let reason = format!(
            "`{}` was not called: its server `{}` is being replaced or is not in use any more; try again in a few seconds, or go on without it",
            tool.exposed, id.server
        );
        return failed(Outcome::Error, &reason);
    };
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let end = send(turn, params, &caller, id, arguments, left).await;
    finish(turn, &tool, end).await
}

/// The way to a server, once the process of its last configuration has ended.
async fn caller_of(hub: &Hub, server: &ServerName) -> Option<Caller> {
    let found = hub.wait_for(REPLACE_LIMIT, |snapshot| {
        match snapshot.servers.get(server) {
            Some(Entry::Running { caller, .. }) => Some(Some(caller.clone())),
            Some(Entry::Changing { .. }) => None,
            Some(Entry::Disabled { .. } | Entry::Broken { .. }) | None => Some(None),
        }
    });
    found.await.flatten()
}

async fn send(
    turn: &Turn<'_>,
    params: &DispatchParams,
    caller: &Caller,
    id: &ToolId,
    arguments: Map<String, Value>,
    timeout: Option<Duration>,
) -> CallEnd {
    let host = turn.sidecar.host();
    let call = Call {
        tool: id.tool.clone(),
        arguments,
        timeout,
    };
    let told = params.call_id.clone().filter(|_| host.wants_progress());
    caller
        .call(call, |progress| {
            if let Some(call_id) = &told {
                host.tell::<Progress>(ProgressNotification {
                    call_id: call_id.clone(),
                    session_id: params.session_id.clone(),
                    progress: progress.progress,
                    total: progress.total,
                    message: progress.message,
                });
            }
        })
        .await
}

async fn finish(turn: &Turn<'_>, tool: &Arc<Tool>, end: CallEnd) -> Answered {
    let failed =
        |outcome, failure: Failure<'_>| Answered::of_tool(outcome, failure.content(tool), tool);
    match end {
        CallEnd::Answer(answer) => {
            let answer = Answer {
                content: answer.content,
                structured_content: answer.structured,
                is_error: answer.is_error,
            };
            let limits = &turn.snapshot.config.output;
            let outcome = if answer.is_error {
                Outcome::ToolError
            } else {
                Outcome::Ok
            };
            let max_chars = limits.max_chars.unwrap_or(output::DEFAULT_MAX_CHARS);
            let (content, truncated) = match output::render(&answer, tool, max_chars) {
                Rendered::Whole(content) => (content, None),
                Rendered::Long(long) => {
                    let path = spill(
                        limits.spill_dir.as_deref(),
                        turn.sidecar.spill_folder(),
                        tool,
                        &long,
                    )
                    .await;
                    let path = path.as_deref().map(wire::path);
                    let truncated = Truncated {
                        original_bytes: long.original_bytes(),
                        path: path.clone(),
                    };
                    (long.content(path.as_deref()), Some(truncated))
                }
            };
            Answered {
                blocks: Some(answer.content),
                structured_content: answer.structured_content,
                truncated,
                ..Answered::of_tool(outcome, content, tool)
            }
        }
        CallEnd::Protocol {
            code,
            message,
            data,
        } => failed(
            Outcome::Error,
            Failure::Protocol {
                code: &code.to_string(),
                message: &message,
                data: data.as_ref(),
            },
        ),
        CallEnd::Timeout { limit, .. } => failed(Outcome::Timeout, Failure::Timeout { limit }),
        CallEnd::Lost { message } => {
            failed(Outcome::UnknownOutcome, Failure::Lost { reason: &message })
        }
        CallEnd::Unavailable { message, retry_in } => failed(
            Outcome::Error,
            Failure::Unavailable {
                reason: &message,
                retry_in,
            },
        ),
    }
}
