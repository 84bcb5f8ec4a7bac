//! `toolcrib serve`: the sidecar itself, for as long as its host stays.

use std::process::ExitCode;

use crate::api::host::Host;
use crate::api::sidecar::{Sidecar, StartOptions};
use crate::api::table;
use crate::cli::arguments::{FramingArgument, Global, Serve};
use crate::cli::session::{interrupted, shim, source};
use crate::rpc::endpoint::{Endpoint, Options};
use crate::rpc::frame::Framing;
use crate::rpc::stdio;

pub async fn run(global: &Global, args: Serve) -> anyhow::Result<ExitCode> {
    let (input, output) = stdio::take()?;
    let options = Options {
        framing: match args.framing {
            FramingArgument::Headers => Some(Framing::Headers),
            FramingArgument::Lines => Some(Framing::Lines),
            FramingArgument::Auto => None,
        },
        ..Options::default()
    };
    let endpoint = Endpoint::new(options);
    let start = StartOptions {
        config: source(global),
        shim: shim()?,
    };
    let sidecar = Sidecar::new(start, Host::peer(endpoint.peer()));
    let methods = table::methods(sidecar.clone());
    let status = tokio::select! {
        exit = endpoint.run(input, output, methods, None) => ExitCode::from(exit?.status()),
        exit = interrupted() => exit.into(),
    };
    sidecar.stop().await;
    Ok(status)
}
