//! What may stand at a place of a configuration, for an editor's hover and completion.

use crate::config::keys::{self, Key, Table};
use crate::config::kind::Kind;
use crate::config::pointer;

/// The key that a JSON pointer ends with, or whose value it points into.
pub fn key_at(path: &str) -> Option<&'static Key> {
    let mut key = None;
    let mut inside = Inside::Table(&keys::TOP);
    for name in pointer::keys(path) {
        match inside {
            Inside::Table(table) => {
                let found = table.find(&name)?;
                key = Some(found);
                inside = Inside::of(found);
            }
            Inside::Servers => {
                key = None;
                inside = Inside::Table(&keys::SERVER);
            }
            Inside::Value => {}
        }
    }
    key
}

/// The keys that a mapping at a JSON pointer may have; `None` where its keys are names of the user's.
pub fn table_at(path: &str) -> Option<&'static Table> {
    let mut inside = Inside::Table(&keys::TOP);
    for name in pointer::keys(path) {
        inside = match inside {
            Inside::Table(table) => Inside::of(table.find(&name)?),
            Inside::Servers => Inside::Table(&keys::SERVER),
            Inside::Value => return None,
        };
    }
    match inside {
        Inside::Table(table) => Some(table),
        Inside::Servers | Inside::Value => None,
    }
}

/// What the value of a key is made of.
enum Inside {
    Table(&'static Table),
    Servers,
    Value,
}

impl Inside {
    fn of(key: &'static Key) -> Inside {
        match key.kind {
            Kind::Table(table) | Kind::TableOr { table, .. } => Inside::Table(table),
            Kind::Servers => Inside::Servers,
            _ => Inside::Value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lead_to_keys() {
        let name = |path: &str| key_at(path).map(|key| key.name);
        assert_eq!(name("/mcpServers"), Some("mcp_servers"));
        assert_eq!(name("/mcp_servers/gh"), None);
        assert_eq!(name("/mcp_servers/gh/serverUrl"), Some("url"));
        assert_eq!(name("/mcp_servers/gh/env/TOKEN"), Some("env"));
        assert_eq!(name("/mcp_servers/gh/tools/include/0"), Some("include"));
        assert_eq!(name("/tools/tool_search/enabled"), Some("enabled"));
        assert_eq!(name("/model/default"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn pointers_lead_to_the_keys_of_a_mapping() {
        let first = |path: &str| table_at(path).map(|table| table.keys[0].name);
        assert_eq!(first(""), Some("mcp_servers"));
        assert_eq!(first("/mcp_servers"), None);
        assert_eq!(first("/mcp_servers/gh"), Some("command"));
        assert_eq!(first("/mcp_servers/gh/tools"), Some("include"));
        assert_eq!(first("/mcp_servers/gh/env"), None);
        assert_eq!(first("/tools/tool_search"), Some("enabled"));
        assert_eq!(first("/model"), None);
    }
}
