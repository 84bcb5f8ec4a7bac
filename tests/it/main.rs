//! Tests that look at toolcrib from outside, in one binary.

mod catalogs;
mod cli;
mod codegen;
mod encoder;
mod endpoint;
mod host;
mod house;
mod lsp;
mod real_catalogs;
mod record;
mod rust_client;
mod search_quality;
mod serve;
mod server;
mod server_fakes;
mod server_processes;
mod sidecar;
mod stdio;
mod wire;
