//! A sidecar for AI agents that have more MCP tools than their model can bear.

// The core: values in, values out.
pub mod catalog;
pub mod config;
pub mod names;
pub mod redact;

// The surface.
pub mod api;
pub mod rpc;

// The fronts.
pub mod logging;
pub mod lsp;
