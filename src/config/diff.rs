//! What changes between two configurations, by what takes effect and not by how it is written.

use crate::config::{Config, Diff, ServerConfig};

pub fn diff(old: &Config, new: &Config) -> Diff {
    let mut diff = Diff {
        tool_search_changed: old.tool_search != new.tool_search,
        output_changed: old.output != new.output,
        ..Diff::default()
    };
    for (name, server) in &new.servers {
        let list = match old.servers.get(name) {
            None => &mut diff.added,
            Some(before) if before == server => &mut diff.unchanged,
            Some(before) => {
                if needs_new_connection(before, server) {
                    diff.restarted.push(name.clone());
                }
                &mut diff.changed
            }
        };
        list.push(name.clone());
    }
    let gone = old
        .servers
        .keys()
        .filter(|name| !new.servers.contains_key(*name));
    diff.removed = gone.cloned().collect();
    diff
}

/// Whether a running connection cannot be kept: what it was made from is different.
fn needs_new_connection(old: &ServerConfig, new: &ServerConfig) -> bool {
    old.enabled != new.enabled || old.transport != new.transport || old.protocol != new.protocol
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config;
    use crate::names::ServerName;

    fn parsed(text: &str) -> Config {
        let parsed = config::parse(text, Path::new("/"), |_| None);
        assert_eq!(parsed.problems, [], "{text}");
        parsed.config
    }

    fn names(names: &[ServerName]) -> Vec<&str> {
        names.iter().map(ServerName::as_str).collect()
    }

    #[test]
    fn every_server_is_in_one_list() {
        let old = parsed(
            "mcp_servers: {a: {command: a}, b: {command: b}, c: {command: c}, d: {command: d}}",
        );
        let new = parsed(
            "mcp_servers: {e: {command: e}, d: {command: d, approval: ask}, c: {command: c, env: {X: 1}}, b: {command: b}}",
        );
        let diff = diff(&old, &new);
        assert_eq!(names(&diff.added), ["e"]);
        assert_eq!(names(&diff.removed), ["a"]);
        assert_eq!(names(&diff.changed), ["c", "d"]);
        assert_eq!(names(&diff.restarted), ["c"]);
        assert_eq!(names(&diff.unchanged), ["b"]);
        assert!(!diff.tool_search_changed && !diff.output_changed);
    }

    #[test]
    fn another_spelling_is_no_change() {
        let old = parsed("mcp_servers: {a: {command: a, timeout: 120, args: [x, '1']}}");
        let new = parsed(
            "mcpServers: {a: {type: stdio, args: 'x 1', command: a, timeout: 2m, enabled: yes}}",
        );
        assert_eq!(names(&diff(&old, &new).unchanged), ["a"]);
    }

    #[test]
    fn settings_are_told_apart() {
        let old = parsed("tools: {tool_search: off}");
        let new = parsed("tools: {tool_search: off, output: {max_chars: 1000}}");
        let diff = diff(&old, &new);
        assert!(diff.output_changed && !diff.tool_search_changed);
    }
}
