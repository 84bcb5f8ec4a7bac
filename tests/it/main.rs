//! Tests that look at toolcrib from outside, in one binary.

mod codegen;
mod encoder;
mod endpoint;
mod host;
mod house;
mod lsp;
mod server;
mod server_fakes;
mod server_processes;
mod stdio;
mod wire;
