//! Starts the command line, or the supervisor of a server where this process was started as one.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(status) = toolcrib::server::shim::run_if_asked() {
        return status;
    }
    toolcrib::cli::run(std::env::args_os())
}
