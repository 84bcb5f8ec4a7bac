//! `toolcrib check`: every problem of the configuration, and on request whether its servers answer.

use serde::Serialize;

use crate::api::host::Host;
use crate::api::manage;
use crate::api::types::{Problem, ServerStatus};
use crate::api::wire;
use crate::cli::arguments::{Check, Global, OutputFormat};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::progress::show_while_starting;
use crate::cli::render;
use crate::cli::session::{file_name, nowhere, source, with_servers};
use crate::config::Parsed;
use crate::hub::Loaded;

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
        return Err(Failure::new(Exit::ConfigInvalid, nowhere.to_string()).into());
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
        output.print(&checked, || render::status::text(&status, output.width))?;
        Ok(match session.unreachable().is_empty() {
            true => Exit::Fine,
            false => Exit::Unreachable,
        })
    })
    .await
}

fn text(loaded: &Loaded, checked: &Checked) -> String {
    render::problems::text(&file_name(loaded), &checked.problems)
}
