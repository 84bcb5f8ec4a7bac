//! Tests of the whole, each area in a module of its own.

mod endpoint;
mod host;
mod lsp;
mod stdio;
