//! `toolcrib schema`: the documents that other programs read the wire contract and the configuration by.

use crate::cli::arguments::{Schema, SchemaArgument};
use crate::cli::exit::Exit;
use crate::cli::output::Output;
use crate::codegen::{CONFIG_SCHEMA, OPENRPC};

/// JSON for people and programs alike: the document is the same.
pub fn run(args: &Schema, output: &Output) -> anyhow::Result<Exit> {
    let document = match args.which {
        SchemaArgument::Api => OPENRPC,
        SchemaArgument::Config => CONFIG_SCHEMA,
    };
    output.text(document)?;
    Ok(Exit::Fine)
}
