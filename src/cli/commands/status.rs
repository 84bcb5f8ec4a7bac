//! `toolcrib status`: all servers started, and how they are.

use crate::api::host::Host;
use crate::api::manage;
use crate::cli::arguments::Global;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::cli::progress::show_while_starting;
use crate::cli::render;
use crate::cli::session::{source, with_servers};

pub async fn run(global: &Global, output: &Output) -> anyhow::Result<Exit> {
    with_servers(source(global), Host::nobody(), async |session| {
        show_while_starting(&session.hub, session.settled()).await;
        let status = manage::status(&session.sidecar).await;
        output.print(&status, || render::status::text(&status, output.width))?;
        Ok(match session.unreachable().is_empty() {
            true => Exit::Fine,
            false => Exit::Unreachable,
        })
    })
    .await
}
