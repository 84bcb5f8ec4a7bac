//! The command line: reads what is asked, asks the sidecar, prints what it says.

mod arguments;
mod commands;
mod exit;
mod layout;
mod output;
mod progress;
mod record_file;
mod render;
mod session;
mod style;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{CommandFactory, Parser};
use serde_json::json;
use tokio::runtime::Builder;

use crate::api::types::PROTOCOL_VERSION;
use crate::cli::arguments::{Arguments, Command, OutputFormat};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Output, complain};
use crate::cli::style::{BAD, paint};
use crate::demo;

/// Does what the arguments ask for; the first of them is the name of the program.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Whoever closed the stream does not want to know.
            let _ = error.print();
            return match error.exit_code() {
                0 => Exit::Fine.into(),
                _ => Exit::WrongUsage.into(),
            };
        }
    };
    let output = Output::new(arguments.global.format, arguments.global.color);
    match obey(arguments, &output) {
        Ok(code) => code,
        Err(error) if is_reader_gone(&error) => Exit::Fine.into(),
        Err(error) => {
            complain(&format!("{} {error:#}", paint(BAD, "error:")));
            let failure = error.downcast_ref::<Failure>();
            let unusable = failure.and_then(|failure| failure.unusable.as_ref());
            if let (Some(unusable), OutputFormat::Json) = (unusable, output.format) {
                // Whoever closed the stream does not want to know.
                let _ = output.json(unusable);
            }
            failure.map_or(Exit::SaidNo, |failure| failure.exit).into()
        }
    }
}

fn obey(arguments: Arguments, output: &Output) -> anyhow::Result<ExitCode> {
    if arguments.version {
        return version(output).map(ExitCode::from);
    }
    let Some(command) = arguments.command else {
        // As if nothing had been written at all.
        let _ = Arguments::command().print_help();
        return Ok(Exit::WrongUsage.into());
    };
    let global = arguments.global;
    let keeps_log = matches!(command, Command::Serve(_) | Command::Lsp);
    let _log = match global.log_file {
        // A command that runs for a moment keeps a log only for those who want one.
        Some(_) if !keeps_log => Some(session::start_log(&global)?),
        _ => None,
    };
    let exit = match command {
        Command::DemoServer { name } => serve_demo(&name),
        Command::Schema(args) => commands::schema::run(&args, output),
        Command::Codegen(args) => commands::codegen::run(&args, output),
        Command::Serve(args) => return wait_for(commands::serve::serve(&global, args)),
        Command::Lsp => return wait_for(commands::serve::lsp(&global)),
        Command::Tools(args) => wait_for(commands::tools::run(&global, args, output)),
        Command::Search(args) => wait_for(commands::search::run(&global, args, output)),
        Command::Describe(args) => wait_for(commands::describe::run(&global, args, output)),
        Command::Call(args) => wait_for(commands::call::run(&global, args, output)),
        Command::Status => wait_for(commands::status::run(&global, output)),
        Command::Check(args) => wait_for(commands::check::run(&global, args, output)),
        Command::Demo => wait_for(commands::demo::run(output)),
        Command::Eval(args) => wait_for(commands::eval::run(&global, args, output)),
    };
    exit.map(ExitCode::from)
}

fn version(output: &Output) -> anyhow::Result<Exit> {
    let version = env!("CARGO_PKG_VERSION");
    let value = json!({"version": version, "protocolVersions": [PROTOCOL_VERSION]});
    output.print(&value, || format!("toolcrib {version}"))?;
    Ok(Exit::Fine)
}

fn serve_demo(name: &str) -> anyhow::Result<Exit> {
    match demo::serve(name) {
        Some(served) => served.map(|()| Exit::Fine).map_err(Into::into),
        None => {
            let message = format!(
                "no built-in server is named `{name}`: {}",
                demo::SERVERS.join(", ")
            );
            Err(Failure::new(Exit::WrongUsage, message).into())
        }
    }
}

/// Does not wait for a person who was asked and has not answered.
fn wait_for<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads that wait for servers")?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(Duration::ZERO);
    result
}

/// `| head` has seen enough, which is no error.
fn is_reader_gone(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<io::Error>();
    cause.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
