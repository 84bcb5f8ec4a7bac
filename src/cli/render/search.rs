//! What a search found.

use serde::Deserialize;

use crate::cli::layout::{counted, harmless, one_line, wrapped};
use crate::cli::style::{FAINT, NAME, paint};

/// The answer of `tool_search`, as far as people read it.
#[derive(Debug, Deserialize)]
pub struct Found {
    pub query: String,
    #[serde(default)]
    pub total_available: u64,
    pub matches: Vec<Match>,
    #[serde(default)]
    pub hint: Option<String>,
    #[serde(default)]
    pub available_servers: Vec<Available>,
}

#[derive(Debug, Deserialize)]
pub struct Available {
    pub name: String,
    #[serde(default)]
    pub tools: Option<u64>,
    /// Why its tools may be missing.
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Match {
    pub name: String,
    #[serde(default)]
    pub server: Option<String>,
    #[serde(default)]
    pub description: String,
}

/// Lines without a terminal are as long as they are.
pub fn text(found: &Found, columns: Option<usize>) -> String {
    if found.matches.is_empty() {
        return nothing(found);
    }
    let mut text = String::new();
    for found in &found.matches {
        let server = found.server.as_deref().unwrap_or("host");
        let name = paint(NAME, &harmless(&found.name));
        let server = paint(FAINT, &format!("({})", harmless(server)));
        text.push_str(&format!("{name} {server}\n"));
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(4).max(16));
        for line in wrapped(&one_line(&found.description), room) {
            text.push_str(&format!("    {line}\n"));
        }
    }
    if let Some(hint) = &found.hint {
        text.push_str(&format!("\n{}\n", harmless(hint)));
    }
    let shown = found.matches.len();
    let total = counted(found.total_available, "tool");
    let footer = format!("{shown} of {total}; `toolcrib describe NAME` shows the arguments");
    text.push_str(&format!("\n{}\n", paint(FAINT, &footer)));
    text
}

fn nothing(found: &Found) -> String {
    let mut text = format!("no tool was found for `{}`\n", one_line(&found.query));
    if let Some(hint) = &found.hint {
        text.push_str(&format!("{}\n", harmless(hint)));
    }
    if !found.available_servers.is_empty() {
        let servers = found.available_servers.iter().map(|server| {
            let tools = server.tools.map(|tools| counted(tools, "tool"));
            let about: Vec<String> = tools.into_iter().chain(server.note.clone()).collect();
            match about.is_empty() {
                true => server.name.clone(),
                false => format!("{} ({})", server.name, about.join(", ")),
            }
        });
        let servers = servers.collect::<Vec<_>>().join(", ");
        text.push_str(&format!("servers: {}\n", harmless(&servers)));
    }
    text
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::*;

    fn check(found: Value, expected: Expect) {
        let found: Found = serde_json::from_value(found).unwrap();
        expected.assert_eq(&strip_str(&text(&found, Some(40))).to_string());
    }

    #[test]
    fn shows_each_tool_with_its_server_and_description() {
        check(
            json!({"query": "issue", "total_available": 42, "matches": [
                {"name": "mcp_github_create_issue", "server": "github", "description": "Opens a new issue in a repository, with labels.", "parameters": {}},
                {"name": "todo", "description": "Adds\nan item."},
            ]}),
            expect![[r#"
                mcp_github_create_issue (github)
                    Opens a new issue in a repository,
                    with labels.
                todo (host)
                    Adds an item.

                2 of 42 tools; `toolcrib describe NAME` shows the arguments
            "#]],
        );
    }

    #[test]
    fn says_what_to_try_where_nothing_was_found() {
        check(
            json!({"query": "zzz", "total_available": 42, "matches": [], "hint": "use other words", "available_servers": [{"name": "a", "tools": 42}, {"name": "b", "tools": 0, "note": "starting"}, {"name": "…"}]}),
            expect![[r#"
                no tool was found for `zzz`
                use other words
                servers: a (42 tools), b (0 tools, starting), …
            "#]],
        );
    }
}
