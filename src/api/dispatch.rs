//! Answers `dispatch` and `resolve`: one tool call of the model, from its name to its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::approval;
use crate::api::error::ApiError;
use crate::api::methods::Progress;
use crate::api::search::{describe, search};
use crate::api::sidecar::Sidecar;
use crate::api::spill::spill;
use crate::api::types::*;
use crate::api::wire;
use crate::bridge::BridgeTool as CoreBridge;
use crate::call::{self, Resolution, ToolCall};
use crate::catalog::view::View;
use crate::catalog::{Origin, Tool};
use crate::hub::session::{Change, Session};
use crate::hub::{Entry, Hub, Snapshot};
use crate::names::ToolId;
use crate::output::failure::Failure;
use crate::output::{self, Answer, Rendered};
use crate::server::call::Caller;
use crate::server::{Call, CallEnd, ServerState as CoreState};

/// How long a call waits for a server that may still list the tool.
const LATE_TOOL_LIMIT: Duration = Duration::from_secs(15);

/// Everything that one call is answered from.
pub struct Turn<'a> {
    pub sidecar: &'a Sidecar,
    pub hub: &'a Hub,
    pub snapshot: Arc<Snapshot>,
    pub session_id: &'a str,
    pub session: Arc<Session>,
}

impl Turn<'_> {
    pub fn view(&self) -> View<'_> {
        View {
            catalog: &self.snapshot.catalog,
            host: &self.session.host,
            scope: &self.session.scope,
            bridged: self
                .session
                .assembled
                .as_ref()
                .is_some_and(|it| it.assembly.decision.mode == crate::assembly::Mode::Bridged),
        }
    }

    fn resolve(&self, name: &str, arguments: Option<&Value>) -> Resolution {
        call::resolve(
            &self.view(),
            &self.snapshot.config.tool_search,
            name,
            arguments,
        )
    }
}

/// What a call came to, before it is put in a wire result.
pub struct Answered {
    pub outcome: Outcome,
    pub content: String,
    pub tool: Option<Arc<Tool>>,
    pub bridge: Option<CoreBridge>,
    pub blocks: Option<Vec<Value>>,
    pub structured_content: Option<Value>,
    pub truncated: Option<Truncated>,
}

impl Answered {
    pub fn new(outcome: Outcome, content: String) -> Answered {
        Answered {
            outcome,
            content,
            tool: None,
            bridge: None,
            blocks: None,
            structured_content: None,
            truncated: None,
        }
    }

    pub fn of_tool(outcome: Outcome, content: String, tool: &Arc<Tool>) -> Answered {
        Answered {
            tool: Some(tool.clone()),
            ..Answered::new(outcome, content)
        }
    }

    pub fn through(self, bridge: Option<CoreBridge>) -> Answered {
        Answered { bridge, ..self }
    }
}

/// Runs in the request's own future: dropping it cancels the call at its server.
pub async fn dispatch(
    sidecar: &Sidecar,
    params: DispatchParams,
) -> Result<DispatchResult, ApiError> {
    let started = Instant::now();
    let hub = sidecar.hub().await;
    let mut turn = turn(
        sidecar,
        hub,
        params.session_id.as_deref().unwrap_or_default(),
    )
    .await;
    let mut resolution = turn.resolve(&params.name, params.arguments.as_ref());
    if let Some(waited) = wait_for_late_tool(&turn, &params, &resolution).await {
        turn.snapshot = waited;
        resolution = turn.resolve(&params.name, params.arguments.as_ref());
    }
    let answered = match resolution {
        Resolution::Search(call) => search(&turn, &call).await,
        Resolution::Describe(call) => describe(&turn, &call),
        Resolution::Host(ToolCall {
            tool,
            arguments,
            bridged,
        }) => {
            called(&turn, &tool);
            let bridge = bridged.then_some(BridgeTool::ToolCall);
            return Ok(DispatchResult::Host(HostCall {
                tool: wire::tool_ref(&tool),
                arguments,
                bridge,
            }));
        }
        Resolution::Mcp(call) => {
            called(&turn, &call.tool);
            let bridge = call.bridged.then_some(CoreBridge::Call);
            run(&turn, &params, call).await.through(bridge)
        }
        Resolution::Problem(problem) => Answered {
            tool: problem.tool.clone(),
            bridge: problem.bridge,
            ..Answered::new(
                if problem.refused {
                    Outcome::Refused
                } else {
                    Outcome::Error
                },
                problem.content(),
            )
        },
    };
    Ok(DispatchResult::Result(CallResult {
        content: answered.content,
        is_error: answered.outcome != Outcome::Ok,
        outcome: answered.outcome,
        tool: answered.tool.as_deref().map(wire::tool_ref),
        bridge: answered.bridge.map(wire::bridge),
        blocks: answered.blocks,
        structured_content: answered.structured_content,
        truncated: answered.truncated,
        elapsed_ms: wire::millis(started.elapsed()),
    }))
}

/// Tells what `dispatch` would do. Nothing is started, sent or remembered.
pub async fn resolve(sidecar: &Sidecar, params: ResolveParams) -> Result<ResolveResult, ApiError> {
    let turn = turn(
        sidecar,
        sidecar.hub().await,
        params.session_id.as_deref().unwrap_or_default(),
    )
    .await;
    let nothing = ResolveResult {
        tool: None,
        arguments: Default::default(),
        bridge: None,
        problem: None,
    };
    Ok(
        match turn.resolve(&params.name, params.arguments.as_ref()) {
            Resolution::Search(_) => ResolveResult {
                bridge: Some(BridgeTool::ToolSearch),
                ..nothing
            },
            Resolution::Describe(_) => ResolveResult {
                bridge: Some(BridgeTool::ToolDescribe),
                ..nothing
            },
            Resolution::Mcp(call) | Resolution::Host(call) => ResolveResult {
                tool: Some(wire::tool_ref(&call.tool)),
                arguments: call.arguments,
                bridge: call.bridged.then_some(BridgeTool::ToolCall),
                problem: None,
            },
            Resolution::Problem(problem) => ResolveResult {
                tool: problem.tool.as_deref().map(wire::tool_ref),
                arguments: problem.arguments.clone(),
                bridge: problem.bridge.map(wire::bridge),
                problem: Some(CallProblem {
                    message: problem.message,
                    path: problem.path,
                    hint: problem.hint,
                }),
            },
        },
    )
}

async fn turn<'a>(sidecar: &'a Sidecar, hub: &'a Hub, session_id: &'a str) -> Turn<'a> {
    let session = hub.session(session_id).await;
    Turn {
        sidecar,
        hub,
        snapshot: hub.snapshot(),
        session_id,
        session,
    }
}

/// A name that nobody has yet, while a server that may bring it is still starting: waits for that server's list.
async fn wait_for_late_tool(
    turn: &Turn<'_>,
    params: &DispatchParams,
    resolution: &Resolution,
) -> Option<Arc<Snapshot>> {
    let unknown = matches!(resolution, Resolution::Problem(problem) if problem.tool.is_none() && !problem.refused);
    if !unknown {
        return None;
    }
    let through_bridge = || {
        params
            .arguments
            .as_ref()
            .and_then(|it| it.get("name"))
            .and_then(Value::as_str)
    };
    let is_bridge = CoreBridge::parse(&params.name).is_some();
    let name = if is_bridge {
        through_bridge()?
    } else {
        params.name.as_str()
    };
    let starting = |snapshot: &Snapshot| {
        snapshot.servers.iter().any(|(server, entry)| {
            let prefix = crate::names::ExposedName::of(&ToolId::new(server, ""));
            let may_have_it = name.starts_with(prefix.as_str());
            may_have_it
                && match entry {
                    Entry::Running { caller, .. } => {
                        matches!(
                            caller.status().state,
                            CoreState::Configured | CoreState::Connecting
                        )
                    }
                    Entry::Changing { .. } => true,
                    Entry::Disabled { .. } | Entry::Broken { .. } => false,
                }
        })
    };
    if !starting(&turn.snapshot) {
        return None;
    }
    let limit = params
        .timeout_ms
        .map_or(LATE_TOOL_LIMIT, Duration::from_millis)
        .min(LATE_TOOL_LIMIT);
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        turn.hub
            .wait_for(left.min(Duration::from_millis(100)), |snapshot| {
                snapshot.catalog.get(name).map(|_| ())
            })
            .await;
        let snapshot = turn.hub.snapshot();
        if snapshot.catalog.get(name).is_some()
            || !starting(&snapshot)
            || Instant::now() >= deadline
        {
            return Some(snapshot);
        }
    }
}

/// Counts the call, and keeps it as what the searches before it were for.
fn called(turn: &Turn<'_>, tool: &Tool) {
    turn.hub.change_session(turn.session_id, Change::Called);
    if let Some(recorder) = turn.sidecar.recorder() {
        recorder.called(turn.session_id, tool.exposed.as_str());
    }
}

async fn run(turn: &Turn<'_>, params: &DispatchParams, call: ToolCall) -> Answered {
    let ToolCall {
        tool, arguments, ..
    } = call;
    let Origin::Mcp(id) = &tool.origin else {
        return Answered::of_tool(
            Outcome::Error,
            output::error("the host runs this tool itself"),
            &tool,
        );
    };
    let Some(Entry::Running { config, caller }) = turn.snapshot.servers.get(&id.server) else {
        let reason = format!(
            "server `{}` is being restarted; try again in a few seconds",
            id.server
        );
        return Answered::of_tool(Outcome::Error, output::error(&reason), &tool);
    };
    if let Err(refused) = approval::pass(turn, params, &tool, id, config, &arguments).await {
        return Answered::of_tool(Outcome::Refused, refused, &tool);
    }
    let end = send(turn.sidecar, params, caller, id, arguments).await;
    finish(turn, &tool, end).await
}

async fn send(
    sidecar: &Sidecar,
    params: &DispatchParams,
    caller: &Caller,
    id: &ToolId,
    arguments: serde_json::Map<String, Value>,
) -> CallEnd {
    let timeout = params.timeout_ms.map(Duration::from_millis);
    let call = Call {
        tool: id.tool.clone(),
        arguments,
        timeout,
    };
    let told = params
        .call_id
        .clone()
        .filter(|_| sidecar.host().wants_progress());
    caller
        .call(call, |progress| {
            if let Some(call_id) = &told {
                sidecar.host().tell::<Progress>(ProgressNotification {
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
                    let path = spill(limits.spill_dir.as_deref(), tool, &long).await;
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
