//! Turns what the core and the servers say into wire types, by hand.

use std::path::Path;
use std::time::Duration;

use crate::api::types;
use crate::assembly::{self, Mode, Reason};
use crate::bridge::BridgeTool;
use crate::catalog::warning::Warning;
use crate::catalog::{Origin, Tool};
use crate::config::{self, TransportConfig};
use crate::hub::{Entry, Snapshot};
use crate::names::ServerName;
use crate::schema;
use crate::server;

pub fn problem(problem: &config::Problem) -> types::Problem {
    let position = |it: config::Position| types::Position {
        line: it.line,
        character: it.character,
    };
    types::Problem {
        severity: match problem.severity {
            config::Severity::Error => types::Severity::Error,
            config::Severity::Warning => types::Severity::Warning,
            config::Severity::Hint => types::Severity::Hint,
        },
        message: problem.message.clone(),
        path: problem.path.clone(),
        range: problem.range.map(|it| types::Range {
            start: position(it.start),
            end: position(it.end),
        }),
    }
}

pub fn problems(problems: &[config::Problem]) -> Vec<types::Problem> {
    problems.iter().map(problem).collect()
}

pub fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub fn format(format: types::Format) -> schema::Format {
    match format {
        types::Format::Openai => schema::Format::Openai,
        types::Format::OpenaiResponses => schema::Format::OpenaiResponses,
        types::Format::Anthropic => schema::Format::Anthropic,
        types::Format::Gemini => schema::Format::Gemini,
        types::Format::Mcp => schema::Format::Mcp,
    }
}

pub fn mode(mode: Mode) -> types::Mode {
    match mode {
        Mode::Direct => types::Mode::Direct,
        Mode::Bridged => types::Mode::Bridged,
    }
}

pub fn decision(decision: &assembly::Decision) -> types::Decision {
    types::Decision {
        mode: mode(decision.mode),
        reason: match decision.reason {
            Reason::Off => types::Reason::Off,
            Reason::On => types::Reason::On,
            Reason::NothingDeferrable => types::Reason::NothingDeferrable,
            Reason::BelowThreshold => types::Reason::BelowThreshold,
            Reason::AtThreshold => types::Reason::AtThreshold,
            Reason::Pinned => types::Reason::Pinned,
        },
        deferrable_tools: decision.deferrable_tools,
        deferrable_tokens: decision.deferrable_tokens,
        visible_tokens: decision.visible_tokens,
        threshold_tokens: decision.threshold_tokens,
        context_length: decision.context_length,
        saved_tokens: decision.saved_tokens,
    }
}

pub fn warning(warning: &Warning) -> types::Warning {
    types::Warning {
        kind: warning.kind.as_str().to_owned(),
        message: warning.message.clone(),
        tool: warning.tool.clone(),
        server: warning.server.clone(),
    }
}

pub fn bridge(tool: BridgeTool) -> types::BridgeTool {
    match tool {
        BridgeTool::Search => types::BridgeTool::ToolSearch,
        BridgeTool::Describe => types::BridgeTool::ToolDescribe,
        BridgeTool::Call => types::BridgeTool::ToolCall,
    }
}

pub fn tool_ref(tool: &Tool) -> types::ToolRef {
    let name = tool.exposed.as_str().to_owned();
    match &tool.origin {
        Origin::Mcp(id) => types::ToolRef {
            name,
            source: types::ToolSource::Mcp,
            server: Some(id.server.as_str().to_owned()),
            original_name: Some(id.tool.as_str().to_owned()),
            toolset: Some(format!("mcp-{}", id.server)),
            annotations: tool.annotations().cloned(),
        },
        Origin::Host => types::ToolRef {
            name,
            source: types::ToolSource::Host,
            server: None,
            original_name: None,
            toolset: None,
            annotations: None,
        },
    }
}

pub fn log_level(level: server::LogLevel) -> types::LogLevel {
    match level {
        server::LogLevel::Debug => types::LogLevel::Debug,
        server::LogLevel::Info => types::LogLevel::Info,
        server::LogLevel::Warning => types::LogLevel::Warning,
        server::LogLevel::Error => types::LogLevel::Error,
    }
}

pub fn names(servers: &[ServerName]) -> Vec<String> {
    servers.iter().map(|it| it.as_str().to_owned()).collect()
}

/// Every server of the configuration, sorted by name.
pub fn servers(snapshot: &Snapshot) -> Vec<types::ServerStatus> {
    snapshot
        .servers
        .iter()
        .map(|(name, entry)| server(snapshot, name, entry))
        .collect()
}

pub fn server(snapshot: &Snapshot, name: &ServerName, entry: &Entry) -> types::ServerStatus {
    let tools = snapshot.catalog.server_tools(name);
    let bare = types::ServerStatus {
        name: name.as_str().to_owned(),
        transport: entry.config().map_or(types::Transport::Stdio, |config| {
            transport(&config.transport)
        }),
        state: types::ServerState::Configured,
        tools: tools.len() as u64,
        tokens: tools.iter().map(|tool| tool.tokens as u64).sum(),
        protocol_version: None,
        server_info: None,
        pid: None,
        attempt: None,
        retry_in_ms: None,
        error: None,
        stderr_tail: None,
        dropped: None,
        manifest_age_ms: None,
        first_use_ms: None,
    };
    match entry {
        Entry::Disabled { .. } => types::ServerStatus {
            state: types::ServerState::Disabled,
            ..bare
        },
        Entry::Changing { .. } => types::ServerStatus {
            state: types::ServerState::Connecting,
            ..bare
        },
        Entry::Broken { reason } => {
            let error = types::ServerError {
                kind: "configInvalid".to_owned(),
                message: reason.clone(),
            };
            types::ServerStatus {
                state: types::ServerState::Failed,
                error: Some(error),
                ..bare
            }
        }
        Entry::Running { caller, .. } => running(snapshot, name, &caller.status(), bare),
    }
}

fn running(
    snapshot: &Snapshot,
    name: &ServerName,
    status: &server::Status,
    bare: types::ServerStatus,
) -> types::ServerStatus {
    let by_catalog = snapshot
        .catalog
        .servers()
        .find(|(it, _)| *it == name)
        .map(|(_, tools)| &tools.dropped);
    let dropped: Vec<_> = status
        .dropped
        .iter()
        .chain(by_catalog.into_iter().flat_map(|it| it.iter()))
        .map(|it| types::DroppedTool {
            tool: it.tool.clone(),
            reason: it.reason.clone(),
        })
        .collect();
    types::ServerStatus {
        state: match status.state {
            server::ServerState::Configured | server::ServerState::Stopped => {
                types::ServerState::Configured
            }
            server::ServerState::Connecting => types::ServerState::Connecting,
            server::ServerState::Ready => types::ServerState::Ready,
            server::ServerState::Backoff => types::ServerState::Backoff,
            server::ServerState::Parked => types::ServerState::Parked,
            server::ServerState::Failed => types::ServerState::Failed,
        },
        protocol_version: status.protocol_version.clone(),
        server_info: status.server_info.as_ref().map(|it| types::Implementation {
            name: it.name.clone(),
            version: it.version.clone(),
        }),
        pid: status.pid,
        attempt: status.attempt,
        retry_in_ms: status.retry_in().map(millis),
        error: status.error.as_ref().map(|it| types::ServerError {
            kind: it.kind.to_owned(),
            message: it.message.clone(),
        }),
        stderr_tail: (!status.stderr_tail.is_empty()).then(|| status.stderr_tail.clone()),
        dropped: (!dropped.is_empty()).then_some(dropped),
        ..bare
    }
}

fn transport(transport: &TransportConfig) -> types::Transport {
    match transport {
        TransportConfig::Stdio(_) => types::Transport::Stdio,
        TransportConfig::Http(http) if http.sse => types::Transport::Sse,
        TransportConfig::Http(_) => types::Transport::Http,
    }
}

pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
