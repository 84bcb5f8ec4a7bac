//! `toolcrib codegen`: the generated files, written or compared.

use serde_json::json;

use crate::cli::arguments::Codegen;
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::codegen;

pub fn run(args: &Codegen, output: &Output) -> anyhow::Result<Exit> {
    let (files, verb, exit) = match args.check {
        true => {
            let stale = codegen::check(&args.root)?;
            let exit = if stale.is_empty() {
                Exit::Fine
            } else {
                Exit::SaidNo
            };
            (stale, "stale", exit)
        }
        false => (codegen::write(&args.root)?, "written", Exit::Fine),
    };
    output.print(&json!({verb: files}), || {
        if files.is_empty() {
            return "everything is up to date".to_owned();
        }
        files
            .iter()
            .map(|file| format!("{verb}: {file}\n"))
            .collect()
    })?;
    Ok(exit)
}
