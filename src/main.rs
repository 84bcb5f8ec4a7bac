//! Starts the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = toolcrib::server::shim::run_if_asked() {
        return code;
    }
    ExitCode::SUCCESS
}
