//! All the tools that can be called, in one immutable order, and the index over them.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::names::{ExposedName, ServerName, ToolId};

/// A tool that a model can call, wherever it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub origin: Origin,
    /// The name under which the model sees it.
    pub exposed: ExposedName,
    pub title: Option<String>,
    /// Cleaned of hidden characters; empty where the server gave none.
    pub description: String,
    /// JSON Schema of the arguments, as it was sent.
    pub input_schema: Value,
    /// The other members of the MCP tool as the server sent them: `annotations`, `outputSchema`, `icons`, `_meta`….
    pub extra: Map<String, Value>,
    /// Whether the tool may be left out of the array and found by search.
    pub deferrable: bool,
    /// Estimated tokens of its definition.
    pub tokens: usize,
}

/// Who runs a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    Mcp(ToolId),
    Host,
}

impl Tool {
    /// The server that runs the tool; `None` for the host's own.
    pub fn server(&self) -> Option<&ServerName> {
        match &self.origin {
            Origin::Mcp(id) => Some(&id.server),
            Origin::Host => None,
        }
    }

    /// The name that its server gave it, or the host.
    pub fn original_name(&self) -> &str {
        match &self.origin {
            Origin::Mcp(id) => id.tool.as_str(),
            Origin::Host => self.exposed.as_str(),
        }
    }

    /// MCP's hints, as the server sent them.
    pub fn annotations(&self) -> Option<&Value> {
        self.extra.get("annotations")
    }
}

/// Tools that share one owner and change together: one server's, or one session's host tools.
pub type Tools = Arc<[Arc<Tool>]>;
