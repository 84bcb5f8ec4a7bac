//! `toolcrib schema`: the documents that other programs read the wire contract and the configuration by.

use crate::cli::arguments::{Schema, SchemaArgument};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::codegen::openrpc;
use crate::config::json_schema;

/// JSON for people and programs alike: the document is the same.
pub fn run(args: &Schema, output: &Output) -> anyhow::Result<Exit> {
    let document = match args.which {
        SchemaArgument::Api => openrpc::document()?,
        SchemaArgument::Config => serde_json::to_string_pretty(&json_schema())?,
    };
    output.text(&document)?;
    Ok(Exit::Fine)
}
