//! How the servers are.

use anstyle::Style;

use crate::api::types::{ServerState, ServerStatus, StatusResult, Transport};
use crate::cli::layout::{Cell, Table, counted, grouped, one_line};
use crate::cli::style::{BAD, FAINT, GOOD, NAME, WARNING, paint};

/// Enough of a server's last words to see what it wants.
const SHOWN_STDERR_LINES: usize = 5;

pub fn text(status: &StatusResult, columns: Option<usize>) -> String {
    let config = status.config_path.as_deref().unwrap_or("none");
    let mut text = format!("{} {config}\n", paint(FAINT, "configuration:"));
    if status.servers.is_empty() {
        return text + "no servers are configured\n";
    }
    let titles = ["SERVER", "STATE", "TOOLS#", "TOKENS#", "TRANSPORT", "ABOUT"];
    let mut table = Table::new(&titles).wrapping();
    for server in &status.servers {
        let (word, style) = state(server.state);
        table.row([
            Cell::styled(NAME, one_line(&server.name)),
            Cell::styled(style, word),
            grouped(server.tools).into(),
            grouped(server.tokens).into(),
            transport(server.transport).into(),
            one_line(&about(server)).into(),
        ]);
    }
    text.push('\n');
    text.push_str(&table.text("", columns));
    text.push_str(&troubles(&status.servers));
    text.push_str(&format!(
        "\n{}, {} tokens\n",
        counted(status.catalog.tools, "tool"),
        grouped(status.catalog.tokens)
    ));
    text
}

/// Whether its tools can be called now, or soon enough.
pub fn is_reachable(server: &ServerStatus) -> bool {
    match server.state {
        ServerState::Ready | ServerState::Cached | ServerState::Disabled => true,
        ServerState::Configured
        | ServerState::Connecting
        | ServerState::Backoff
        | ServerState::Parked
        | ServerState::NeedsAuth
        | ServerState::Failed => false,
    }
}

pub fn is_disabled(server: &ServerStatus) -> bool {
    server.state == ServerState::Disabled
}

/// That a server is missing, in a line for standard error.
pub fn warning(server: &ServerStatus) -> String {
    let (word, _) = state(server.state);
    let reason = match &server.error {
        Some(error) => format!(": {}", one_line(&error.message)),
        None => String::new(),
    };
    let name = one_line(&server.name);
    format!(
        "{} server `{name}` is {word}{reason}",
        paint(WARNING, "warning:")
    )
}

fn state(state: ServerState) -> (&'static str, Style) {
    match state {
        ServerState::Disabled => ("disabled", FAINT),
        ServerState::Configured => ("configured", FAINT),
        ServerState::Cached => ("cached", GOOD),
        ServerState::Connecting => ("connecting", WARNING),
        ServerState::Ready => ("ready", GOOD),
        ServerState::Backoff => ("retrying", WARNING),
        ServerState::Parked => ("parked", BAD),
        ServerState::NeedsAuth => ("needs login", WARNING),
        ServerState::Failed => ("failed", BAD),
    }
}

fn transport(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "http",
        Transport::Sse => "sse",
    }
}

fn about(server: &ServerStatus) -> String {
    if let Some(error) = &server.error {
        return error.message.clone();
    }
    let info = server.server_info.as_ref().map(|info| match &info.version {
        Some(version) => format!("{} {version}", info.name),
        None => info.name.clone(),
    });
    let protocol = server
        .protocol_version
        .as_ref()
        .map(|version| format!("MCP {version}"));
    let parts: Vec<String> = [info, protocol].into_iter().flatten().collect();
    parts.join(", ")
}

/// What the table has no room for: last words, and tools that were left out.
fn troubles(servers: &[ServerStatus]) -> String {
    let mut text = String::new();
    for server in servers {
        let name = one_line(&server.name);
        if !is_reachable(server) {
            let said = about(server);
            let lines = server.stderr_tail.iter().flatten();
            let lines: Vec<&String> = lines.filter(|line| !said.contains(line.trim())).collect();
            let from = lines.len().saturating_sub(SHOWN_STDERR_LINES);
            for line in &lines[from..] {
                text.push_str(&format!(
                    "{} {}\n",
                    paint(FAINT, &format!("{name}:")),
                    one_line(line)
                ));
            }
        }
        for dropped in server.dropped.iter().flatten() {
            let tool = one_line(&dropped.tool);
            let reason = one_line(&dropped.reason);
            text.push_str(&format!(
                "{} tool `{tool}` of `{name}` is left out: {reason}\n",
                paint(WARNING, "warning:")
            ));
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("\n{text}")
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(servers: Value, expected: Expect) {
        let status = json!({
            "version": "0", "protocolVersion": 1, "uptimeMs": 1, "generation": 1, "configPath": "toolcrib.yaml",
            "catalog": {"tools": 40, "tokens": 12_000}, "servers": servers, "sessions": [],
        });
        let status: StatusResult = serde_json::from_value(status).unwrap();
        expected.assert_eq(&strip_str(&text(&status, Some(80))).to_string());
    }

    #[test]
    fn shows_every_server_and_what_troubles_it() {
        check(
            json!([
                {"name": "github", "transport": "http", "state": "ready", "tools": 40, "tokens": 12_000,
                 "protocolVersion": "2025-06-18", "serverInfo": {"name": "github-mcp", "version": "1.2"},
                 "dropped": [{"tool": "a\u{1b}b", "reason": "its name is taken"}]},
                {"name": "old", "transport": "stdio", "state": "disabled", "tools": 0, "tokens": 0},
                {"name": "broken", "transport": "stdio", "state": "failed", "tools": 0, "tokens": 0,
                 "error": {"kind": "exited", "message": "it ended with status 1 before it answered a single request"},
                 "stderrTail": ["1", "2", "3", "4", "5", "Error: API_KEY is not set"]},
            ]),
            expect![[r#"
                configuration: toolcrib.yaml

                SERVER  STATE     TOOLS  TOKENS  TRANSPORT  ABOUT
                github  ready        40  12,000  http       github-mcp 1.2, MCP 2025-06-18
                old     disabled      0       0  stdio
                broken  failed        0       0  stdio      it ended with status 1 before it
                                                            answered a single request

                warning: tool `a\u{1b}b` of `github` is left out: its name is taken
                broken: 2
                broken: 3
                broken: 4
                broken: 5
                broken: Error: API_KEY is not set

                40 tools, 12,000 tokens
            "#]],
        );
    }

    #[test]
    fn no_servers_is_said_in_words() {
        check(
            json!([]),
            expect![[r#"
            configuration: toolcrib.yaml
            no servers are configured
        "#]],
        );
    }
}
