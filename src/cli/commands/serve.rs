//! `toolcrib serve` and `toolcrib lsp`: the sidecar itself, for as long as its host or editor stays.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::api::host::Host;
use crate::api::record::Recorder;
use crate::api::sidecar::{Sidecar, StartOptions};
use crate::api::table;
use crate::cli::arguments::{FramingArgument, Global, Serve};
use crate::cli::exit::{Exit, Failure};
use crate::cli::record_file;
use crate::cli::session::{interruption, shim, source, start_log};
use crate::config::{self, Problem};
use crate::config_file;
use crate::lsp;
use crate::rpc::endpoint::{Endpoint, Options};
use crate::rpc::frame::Framing;
use crate::rpc::lane::Lane;
use crate::rpc::peer::Peer;
use crate::rpc::stdio;

pub async fn serve(global: &Global, args: Serve) -> anyhow::Result<ExitCode> {
    let options = Options {
        framing: match args.framing {
            FramingArgument::Headers => Some(Framing::Headers),
            FramingArgument::Lines => Some(Framing::Lines),
            FramingArgument::Auto => None,
        },
        ..Options::default()
    };
    let recorder = args.record.as_deref().map(open).transpose()?;
    converse(global, recorder, options, |_| None).await
}

/// An editor can ask for the sidecar's own methods as well, under a prefix.
pub async fn lsp(global: &Global) -> anyhow::Result<ExitCode> {
    let options = Options {
        framing: Some(Framing::Headers),
        prefix: lsp::PREFIX,
        ..Options::default()
    };
    converse(global, None, options, |peer| {
        Some(lsp::lane(peer, diagnose))
    })
    .await
}

fn diagnose(text: &str) -> Vec<Problem> {
    let folder = env::current_dir().unwrap_or_default();
    config::parse(text, &folder, config_file::lookup).problems
}

fn open(path: &Path) -> anyhow::Result<Recorder> {
    let opened = record_file::open(path).map_err(|error| {
        let message = format!("cannot record to `{}`: {error}", path.display());
        Failure::new(Exit::WrongUsage, message)
    })?;
    let recorder = Recorder::start(opened.file, path, opened.warning);
    recorder.context("cannot start to record")
}

async fn converse(
    global: &Global,
    recorder: Option<Recorder>,
    options: Options,
    lane: impl FnOnce(Peer) -> Option<Lane>,
) -> anyhow::Result<ExitCode> {
    let interrupted = interruption();
    let (input, output) = stdio::take()?;
    let _log = start_log(global)?;
    let endpoint = Endpoint::new(options);
    let start = StartOptions {
        config: source(global),
        shim: shim()?,
        recorder,
    };
    let sidecar = Sidecar::new(start, Host::peer(endpoint.peer()));
    let methods = table::methods(sidecar.clone());
    let lane = lane(endpoint.peer());
    let status = tokio::select! {
        exit = endpoint.run(input, output, methods, lane) => ExitCode::from(exit?.status()),
        exit = interrupted => exit.into(),
    };
    sidecar.stop().await;
    Ok(status)
}
