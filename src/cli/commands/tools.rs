//! `toolcrib tools`: all tools, what they cost, and what a model would see.

use std::sync::Arc;

use crate::api::assemble::assemble_tools;
use crate::api::host::Host;
use crate::api::types::{AssembleToolsParams, Scope};
use crate::catalog::Tool;
use crate::cli::arguments::{Global, Tools};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::render;
use crate::cli::session::{Session, source, with_servers};

pub async fn run(global: &Global, args: Tools, output: &Output) -> anyhow::Result<Exit> {
    with_servers(source(global), Host::nobody(), async |session| {
        refuse_unknown(session, &args.servers)?;
        session.settle().await;
        let is_wanted = |tool: &&Arc<Tool>| {
            let server = tool.server().map(|server| server.as_str());
            args.servers.is_empty()
                || args
                    .servers
                    .iter()
                    .any(|name| Some(name.as_str()) == server)
        };
        let scope = Scope {
            servers: (!args.servers.is_empty()).then(|| args.servers.clone()),
            ..Scope::default()
        };
        let params = AssembleToolsParams {
            context_length: args.context_length,
            format: Some(args.write.into()),
            scope: Some(scope),
            wait_ms: Some(0),
            ..AssembleToolsParams::default()
        };
        let result = assemble_tools(&session.sidecar, params).await?;
        let snapshot = session.hub.snapshot();
        let tools: Vec<_> = snapshot
            .catalog
            .tools()
            .iter()
            .filter(is_wanted)
            .cloned()
            .collect();
        output.print(&result, || {
            render::tools::text(&tools, &result.decision, output.width)
        })?;
        Ok(match session.is_cut_off() {
            true => Exit::Unreachable,
            false => Exit::Fine,
        })
    })
    .await
}

fn refuse_unknown(session: &Session, servers: &[String]) -> Result<(), Failure> {
    let known: Vec<String> = session
        .servers()
        .into_iter()
        .map(|server| server.name)
        .collect();
    match servers.iter().find(|server| !known.contains(server)) {
        None => Ok(()),
        Some(server) => Err(Failure::new(
            Exit::WrongUsage,
            format!(
                "no server is named `{server}`: the configuration has {}",
                known.join(", ")
            ),
        )),
    }
}
