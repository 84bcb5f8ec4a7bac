//! `toolcrib demo`: a walk through everything, on the servers that come with the program.

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::api::assemble::assemble_tools;
use crate::api::dispatch::{dispatch, resolve};
use crate::api::host::Host;
use crate::api::manage;
use crate::api::source::Source;
use crate::api::types::{
    AssembleToolsParams, CallResult, DispatchParams, DispatchResult, ResolveParams,
};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::progress::show_while_starting;
use crate::cli::render;
use crate::cli::render::demo::{Exchange, View, Walk};
use crate::cli::session::{Session, shim, with_servers};
use crate::demo;

/// A model that holds all tools easily, and one that does not.
const CONTEXTS: [u64; 2] = [200_000, 32_000];

const QUERY: &str = "how many km are 26.2 miles";

pub async fn run(output: &Output) -> anyhow::Result<Exit> {
    // Servers that keep files keep them in here, so that nothing is left even of one that is killed.
    let folder = TempDir::with_prefix("toolcrib-demo-")?;
    let source = Source::Inline(config(&folder)?);
    let mut walk = with_servers(source, Host::nobody(), walk).await?;
    let pids = walk.servers.iter().filter_map(|server| server.pid);
    walk.processes_left = pids.filter(|pid| is_running(*pid)).count();
    folder.close()?;
    output.print(&walk, || render::demo::text(&walk, output.width))?;
    Ok(Exit::Fine)
}

fn config(folder: &TempDir) -> anyhow::Result<Map<String, Value>> {
    let program = shim()?;
    let mut servers = Map::new();
    for name in demo::SERVERS {
        let mut server = json!({
            "command": program,
            "args": [demo::COMMAND, name],
            "env": {"TMPDIR": folder.path()},
        });
        if name == "calendar" {
            server["approval"] = "ask".into();
        }
        servers.insert(name.to_owned(), server);
    }
    let mut config = Map::new();
    config.insert("mcp_servers".to_owned(), servers.into());
    Ok(config)
}

async fn walk(session: &Session) -> anyhow::Result<Walk> {
    show_while_starting(&session.hub, session.settled()).await;
    if let Some(server) = session.unreachable().first() {
        let text = render::status::warning(server);
        return Err(Failure::new(Exit::Unreachable, text).into());
    }
    let mut views = Vec::new();
    for context_length in CONTEXTS {
        let params = AssembleToolsParams {
            context_length: Some(context_length),
            ..AssembleToolsParams::default()
        };
        let result = assemble_tools(&session.sidecar, params).await?;
        let tools = result.tools.as_ref().map_or("[]", |tools| tools.get());
        views.push(View {
            tools: serde_json::from_str::<Vec<&serde_json::value::RawValue>>(tools)?.len(),
            decision: result.decision,
        });
    }
    let search = call(session, "tool_search", json!({"query": QUERY, "limit": 3})).await?;
    let describe = call(
        session,
        "tool_describe",
        json!({"name": "mcp_units_convert"}),
    )
    .await?;
    let arguments = json!({"value": 26.2, "from": "mi", "to": "km"});
    let arguments = json!({"name": "mcp_units_convert", "arguments": arguments});
    let convert = call(session, "tool_call", arguments).await?;
    let cancel = json!({"name": "mcp_calendar_cancel_event", "arguments": {"event_id": 3}});
    let params = ResolveParams {
        session_id: None,
        name: "tool_call".to_owned(),
        arguments: Some(cancel.clone()),
    };
    let resolved = Exchange {
        result: resolve(&session.sidecar, params.clone()).await?,
        params,
    };
    let refused = call(session, "tool_call", cancel).await?;
    let status = manage::status(&session.sidecar).await;
    Ok(Walk {
        servers: status.servers,
        catalog: status.catalog,
        views,
        search,
        describe,
        call: convert,
        resolve: resolved,
        refused,
        processes_left: 0,
    })
}

async fn call(
    session: &Session,
    name: &str,
    arguments: Value,
) -> anyhow::Result<Exchange<DispatchParams, CallResult>> {
    let params = DispatchParams {
        name: name.to_owned(),
        arguments: Some(arguments),
        ..DispatchParams::default()
    };
    match dispatch(&session.sidecar, params.clone()).await? {
        DispatchResult::Result(result) => Ok(Exchange { params, result }),
        DispatchResult::Host(call) => {
            anyhow::bail!(
                "`{}` is a tool of a host, and there is none",
                call.tool.name
            )
        }
    }
}

/// Whether a process of this number can be signalled; one that was waited for cannot.
fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}
