//! `toolcrib check`: every problem of the configuration, and on request whether its servers answer.

use serde::Serialize;

use crate::api::host::Host;
use crate::api::manage;
use crate::api::types::{Problem, ServerStatus};
use crate::api::wire;
use crate::cli::arguments::{Check, Global, OutputFormat};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::progress::show_while_starting;
use crate::cli::render;
use crate::cli::session::{Session, file_name, no_configuration, nowhere, source, with_servers};
use crate::config::{self, Parsed, pointer};
use crate::hub::Loaded;
use crate::names::{ExposedName, ServerName, ToolId};

/// What is printed as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked {
    config_path: Option<String>,
    problems: Vec<Problem>,
    /// With `--connect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    servers: Option<Vec<ServerStatus>>,
}

pub async fn run(global: &Global, args: Check, output: &Output) -> anyhow::Result<Exit> {
    let source = source(global);
    if let Some(nowhere) = nowhere(&source) {
        return Err(no_configuration(&nowhere).into());
    }
    let loaded = match source.load() {
        Ok(loaded) => loaded,
        Err(error) => Loaded {
            path: global.config.clone(),
            parsed: Parsed {
                problems: vec![error.problem()],
                ..Parsed::default()
            },
        },
    };
    let mut checked = Checked {
        config_path: loaded.path.as_deref().map(wire::path),
        problems: wire::problems(&loaded.parsed.problems),
        servers: None,
    };
    if loaded.parsed.has_errors() || !args.connect {
        output.print(&checked, || text(&loaded, &checked))?;
        return Ok(match loaded.parsed.has_errors() {
            true => Exit::ConfigInvalid,
            false => Exit::Fine,
        });
    }
    if output.format == OutputFormat::Text {
        output.text(&text(&loaded, &checked))?;
    }
    with_servers(source, Host::nobody(), async |session| {
        show_while_starting(&session.hub, session.settled()).await;
        let status = manage::status(&session.sidecar).await;
        checked.servers = Some(status.servers.clone());
        let idle = wire::problems(&idle(session));
        checked.problems.extend(idle.iter().cloned());
        output.print(&checked, || {
            let mut text = render::status::text(&status, output.width);
            if !idle.is_empty() {
                text.push_str(&render::problems::text(&file_name(&loaded), &idle));
            }
            text
        })?;
        Ok(match session.unreachable().is_empty() {
            true => Exit::Fine,
            false => Exit::Unreachable,
        })
    })
    .await
}

/// Characters of an exposed name that are never a hash's.
const UNHASHED: usize = 55;

/// Aliases and keywords for tools that no server has. A server that does not answer may have them.
fn idle(session: &Session) -> Vec<config::Problem> {
    let snapshot = session.hub.snapshot();
    let silent: Vec<String> = session
        .unreachable()
        .iter()
        .filter_map(|server| {
            let server = ServerName::new(&server.name).ok()?;
            // Of a long name the end may be a hash.
            let prefix = ExposedName::of(&ToolId::new(&server, "")).to_string();
            Some(prefix.chars().take(UNHASHED).collect())
        })
        .collect();
    let options = &snapshot.config.tool_search;
    let aliases = options.aliases.iter();
    let aliases = aliases.map(|(words, tool)| ("aliases", words, tool));
    let keywords = options.keywords.keys();
    let keywords = keywords.map(|tool| ("keywords", tool, tool));
    let is_idle = |tool: &str| {
        snapshot.catalog.get(tool).is_none()
            && !silent.iter().any(|prefix| tool.starts_with(prefix))
    };
    aliases
        .chain(keywords)
        .filter(|(_, _, tool)| is_idle(tool))
        .map(|(key, member, tool)| config::Problem {
            severity: config::Severity::Warning,
            message: format!(
                "no server has a tool `{tool}`; give its name as `toolcrib tools` shows it, such as `mcp_tracker_create_issue`"
            ),
            path: pointer::child(&format!("/tools/tool_search/{key}"), member),
            range: None,
        })
        .collect()
}

fn text(loaded: &Loaded, checked: &Checked) -> String {
    render::problems::text(&file_name(loaded), &checked.problems)
}
