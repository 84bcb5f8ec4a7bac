//! A sidecar for AI agents that have more MCP tools than their model can bear.

// The core: values in, values out.
pub mod catalog;
pub mod config;
pub mod names;

// The shell: it owns processes and change.
pub mod server;

// The surface.
pub mod api;
