//! A sidecar for AI agents that have more MCP tools than their model can bear.

// The core: values in, values out.
pub mod assembly;
pub mod bridge;
pub mod call;
pub mod catalog;
pub mod config;
pub mod names;
pub mod output;
pub mod policy;
pub mod redact;
pub mod schema;
pub mod search;
pub mod text;
pub mod tokens;

// The shell: processes and change.
pub mod config_file;
pub mod encoder;
pub mod hub;
pub mod logging;
pub mod server;

// The surface: methods and messages.
pub mod api;
pub mod rpc;

// The fronts: they translate.
pub mod cli;
pub mod codegen;
pub mod demo;
pub mod lsp;
