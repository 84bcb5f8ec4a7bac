//! Starts the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = toolcrib::server::shim::run_if_asked() {
        return code;
    }
    use toolcrib::api::{host::Host, sidecar::{Sidecar, StartOptions}, source::Source};
    let args: Vec<String> = std::env::args().collect();
    let config = args.iter().position(|a| a == "--config").map(|i| args[i + 1].clone());
    let (input, output) = toolcrib::rpc::stdio::take().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let code = runtime.block_on(async {
        let endpoint = toolcrib::rpc::endpoint::Endpoint::new(Default::default());
        let host = Host::peer(endpoint.peer());
        let options = StartOptions { config: config.map_or(Source::Search, |c| Source::File(c.into())), shim: std::env::current_exe().unwrap() };
        let sidecar = Sidecar::new(options, host);
        let methods = toolcrib::api::table::methods(sidecar.clone());
        let exit = endpoint.run(input, output, methods, None).await.unwrap();
        sidecar.stop().await;
        exit.status()
    });
    std::process::exit(code as i32)
}
