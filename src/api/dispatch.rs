//! Answers `dispatch` and `resolve`: one tool call of the model, from its name to its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::approval::{self, view_of};
use crate::api::error::ApiError;
use crate::api::run::run;
use crate::api::search::{describe, search};
use crate::api::sidecar::Sidecar;
use crate::api::types::*;
use crate::api::wire;
use crate::bridge::BridgeTool as CoreBridge;
use crate::bridge::parse::arguments_of;
use crate::call::{self, Resolution, ToolCall};
use crate::catalog::Tool;
use crate::catalog::view::View;
use crate::hub::session::{Change, Session};
use crate::hub::{Entry, Hub, Snapshot};
use crate::names::{ExposedName, ServerName, ToolId};
use crate::output;
use crate::server::ServerState as CoreState;

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
        view_of(&self.snapshot, &self.session)
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
            run(&turn, &params, call, started).await.through(bridge)
        }
        Resolution::Problem(problem) => {
            let absent = wanted_name(&params)
                .filter(|_| problem.tool.is_none() && !problem.refused)
                .and_then(|name| absent_server(&turn.snapshot, name));
            let content = absent.map_or_else(|| problem.content(), |reason| output::error(&reason));
            let outcome = if problem.refused {
                Outcome::Refused
            } else {
                Outcome::Error
            };
            Answered {
                tool: problem.tool.clone(),
                bridge: problem.bridge,
                ..Answered::new(outcome, content)
            }
        }
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
    let given = || arguments_of(params.arguments.as_ref()).unwrap_or_default();
    let nothing = ResolveResult {
        tool: None,
        arguments: Default::default(),
        bridge: None,
        problem: None,
    };
    Ok(
        match turn.resolve(&params.name, params.arguments.as_ref()) {
            Resolution::Search(_) => ResolveResult {
                arguments: given(),
                bridge: Some(BridgeTool::ToolSearch),
                ..nothing
            },
            Resolution::Describe(_) => ResolveResult {
                arguments: given(),
                bridge: Some(BridgeTool::ToolDescribe),
                ..nothing
            },
            Resolution::Mcp(call) | Resolution::Host(call) => ResolveResult {
                tool: Some(wire::tool_ref(&call.tool)),
                bridge: call.bridged.then_some(BridgeTool::ToolCall),
                problem: approval::forbidden(&turn, &call.tool).map(|message| CallProblem {
                    message,
                    path: None,
                    hint: Some("use another tool, or tell the user".to_owned()),
                }),
                arguments: call.arguments,
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
    let name = wanted_name(params)?;
    let starting = |snapshot: &Snapshot| {
        named_servers(snapshot, name).any(|(_, entry)| {
            matches!(
                state_of(entry),
                Some(CoreState::Configured | CoreState::Connecting)
            )
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

/// The name of the tool that is meant, directly or through the bridge.
fn wanted_name(params: &DispatchParams) -> Option<&str> {
    if CoreBridge::parse(&params.name).is_none() {
        return Some(&params.name);
    }
    params.arguments.as_ref()?.get("name")?.as_str()
}

/// The servers whose tools would have a name like this.
fn named_servers<'a>(
    snapshot: &'a Snapshot,
    name: &'a str,
) -> impl Iterator<Item = (&'a ServerName, &'a Entry)> {
    snapshot.servers.iter().filter(move |(server, _)| {
        let prefix = ExposedName::of(&ToolId::new(server, ""));
        name.starts_with(prefix.as_str())
    })
}

/// `None` where the configuration keeps the server from being started.
fn state_of(entry: &Entry) -> Option<CoreState> {
    match entry {
        Entry::Running { caller, .. } => Some(caller.status().state),
        Entry::Changing { .. } => Some(CoreState::Connecting),
        Entry::Disabled { .. } | Entry::Broken { .. } => None,
    }
}

/// Why a tool is missing whose server has not listed anything yet.
fn absent_server(snapshot: &Snapshot, name: &str) -> Option<String> {
    let (server, entry) =
        named_servers(snapshot, name).max_by_key(|(server, _)| server.as_str().len())?;
    if !snapshot.catalog.server_tools(server).is_empty() {
        return None;
    }
    let (state, advice) = match state_of(entry) {
        Some(CoreState::Ready) => return None,
        Some(CoreState::Configured | CoreState::Connecting) => {
            ("is still starting", "try again in a few seconds")
        }
        Some(CoreState::Backoff | CoreState::Parked) => (
            "cannot be reached now",
            "try again later, or go on without it",
        ),
        Some(CoreState::Failed | CoreState::Stopped) | None => {
            ("is not running", "go on without it, and tell the user")
        }
    };
    Some(format!(
        "`{name}` cannot be called: its server `{server}` {state}; {advice}"
    ))
}

/// Counts the call, and keeps it as what the searches before it were for.
fn called(turn: &Turn<'_>, tool: &Tool) {
    turn.hub.change_session(turn.session_id, Change::Called);
    if let Some(recorder) = turn.sidecar.recorder() {
        recorder.called(turn.session_id, tool);
    }
}
