//! What is odd about tools, for the author of a host or of a configuration.

use crate::catalog::Tool;

/// Something odd that nothing fails of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub kind: WarningKind,
    pub message: String,
    /// The tool by the name that the model sees.
    pub tool: Option<String>,
    pub server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WarningKind {
    /// A server's text held characters that nobody sees.
    HiddenText,
    /// A tool's name imitates another.
    LookAlike,
    /// A schema refers to what is not there.
    DanglingReference,
    /// A schema says what JSON Schema does not have.
    OddSchema,
    /// A tool is not shown because the host has one of its name.
    HostToolWins,
    /// A tool of the host is not shown because it has the name of a bridge tool.
    BridgeName,
    /// More tools than some model APIs take.
    ManyTools,
}

impl WarningKind {
    pub fn as_str(self) -> &'static str {
        match self {
            WarningKind::HiddenText => "hiddenText",
            WarningKind::LookAlike => "lookAlike",
            WarningKind::DanglingReference => "danglingReference",
            WarningKind::OddSchema => "oddSchema",
            WarningKind::HostToolWins => "hostToolWins",
            WarningKind::BridgeName => "bridgeName",
            WarningKind::ManyTools => "manyTools",
        }
    }
}

impl Warning {
    pub(crate) fn of_tool(kind: WarningKind, tool: &Tool, message: String) -> Warning {
        Warning {
            kind,
            message,
            tool: Some(tool.exposed.as_str().to_owned()),
            server: tool.server().map(|server| server.as_str().to_owned()),
        }
    }
}
