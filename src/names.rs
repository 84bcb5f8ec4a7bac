//! The names that a tool has: the server's, the one it was given there, and the one the model sees.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// The longest name that every model API accepts for a function, in characters.
pub const MAX_EXPOSED_NAME: usize = 64;

/// The names of the three bridge tools, in the order in which the model sees them.
pub const BRIDGE_TOOLS: [&str; 3] = ["tool_search", "tool_describe", "tool_call"];

/// The key of a server in the configuration; never empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerName(Arc<str>);

/// The name that a server gave to its tool, sent back to it to the letter.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Arc<str>);

/// What routes a call: a tool of a server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ToolId {
    pub server: ServerName,
    pub tool: ToolName,
}

/// The name under which a model sees a tool; looked up, never parsed back.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExposedName(Arc<str>);

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a server needs a name that is not blank")]
pub struct BlankServerName;

impl ServerName {
    /// Takes any key that is not blank.
    pub fn new(name: &str) -> Result<ServerName, BlankServerName> {
        if name.trim().is_empty() {
            return Err(BlankServerName);
        }
        Ok(ServerName(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToolName {
    pub fn new(name: &str) -> ToolName {
        ToolName(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ToolId {
    pub fn new(server: &ServerName, tool: &str) -> ToolId {
        ToolId {
            server: server.clone(),
            tool: ToolName::new(tool),
        }
    }
}

impl ExposedName {
    /// A name that is already what the model sees: a host's own tool, or what a model asked for.
    pub fn verbatim(name: &str) -> ExposedName {
        ExposedName(name.into())
    }

    /// `mcp_<server>_<tool>` in the characters that every model API takes, shortened by a hash where it is too long.
    pub fn of(id: &ToolId) -> ExposedName {
        let full = format!("mcp_{}_{}", id.server, id.tool);
        let sanitised: String = full
            .chars()
            .map(|c| if is_plain(c) { c } else { '_' })
            .collect();
        if sanitised.len() <= MAX_EXPOSED_NAME {
            return ExposedName(sanitised.into());
        }
        ExposedName(shortened(&sanitised, &sanitised).into())
    }

    /// The name of a tool whose plain name another tool of the catalog has already: told apart by a hash of its exact id.
    pub fn distinct(id: &ToolId) -> ExposedName {
        let plain = ExposedName::of(id);
        let exact = format!("{}\0{}", id.server, id.tool);
        ExposedName(shortened(plain.as_str(), &exact).into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The first 55 characters of an ASCII name, `_`, and the first 8 hexadecimal digits of the SHA-256 of `hashed`.
fn shortened(name: &str, hashed: &str) -> String {
    let head = &name[..name.len().min(MAX_EXPOSED_NAME - 9)];
    let digest = Sha256::digest(hashed.as_bytes());
    let hex: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{head}_{hex}")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

macro_rules! shown_as_text {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    )*};
}
shown_as_text!(ServerName, ToolName, ExposedName);

#[cfg(test)]
mod tests {
    use super::*;

    fn exposed(server: &str, tool: &str) -> String {
        ExposedName::of(&ToolId::new(&ServerName::new(server).unwrap(), tool))
            .as_str()
            .to_owned()
    }

    #[test]
    fn exposes_server_and_tool() {
        assert_eq!(exposed("github", "create_issue"), "mcp_github_create_issue");
        assert_eq!(exposed("my server", "look.up/ß"), "mcp_my_server_look_up__");
        assert_eq!(exposed("dash-ed", "a-b"), "mcp_dash-ed_a-b");
    }

    #[test]
    fn shortens_names_over_64_characters_by_a_hash_of_the_whole() {
        let name = exposed("server", &"x".repeat(80));
        assert_eq!(name.len(), 64);
        assert_eq!(&name[..56], &format!("mcp_server_{}_", "x".repeat(44)));
        assert_eq!(&name[56..], "025a5e0c");
        assert_eq!(exposed("s", &"x".repeat(58)).len(), 64);
    }

    #[test]
    fn tells_tools_of_one_plain_name_apart() {
        let server = ServerName::new("s").unwrap();
        let names: Vec<_> = ["a.b", "a/b"]
            .map(|tool| ExposedName::distinct(&ToolId::new(&server, tool)))
            .into();
        assert_ne!(names[0], names[1]);
        assert!(
            names
                .iter()
                .all(|name| name.as_str().starts_with("mcp_s_a_b_"))
        );
    }

    #[test]
    fn a_server_needs_a_name() {
        assert_eq!(ServerName::new(" "), Err(BlankServerName));
    }
}
