//! Which tools a session may see and call.

use std::collections::BTreeSet;

use crate::catalog::Tool;
use crate::config::filter::{BadGlob, Globs};

/// A filter on the tools of servers; the default lets every tool in. The host's own tools are always in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scope {
    servers: Option<BTreeSet<String>>,
    include: Option<Globs>,
    exclude: Option<Globs>,
}

impl Scope {
    /// Compiles names of servers, and globs over the names that the model sees. An absent list lets all in, an empty one none.
    pub fn compile(
        servers: Option<&[String]>,
        include: Option<&[String]>,
        exclude: Option<&[String]>,
    ) -> Result<Scope, BadGlob> {
        Ok(Scope {
            servers: servers.map(|names| names.iter().cloned().collect()),
            include: include
                .map(<[String]>::to_vec)
                .map(Globs::new)
                .transpose()?,
            exclude: exclude
                .map(<[String]>::to_vec)
                .map(Globs::new)
                .transpose()?,
        })
    }

    /// Whether the session may see and call a tool.
    pub fn admits(&self, tool: &Tool) -> bool {
        let Some(server) = tool.server() else {
            return true;
        };
        let name = tool.exposed.as_str();
        self.servers
            .as_ref()
            .is_none_or(|names| names.contains(server.as_str()))
            && self
                .include
                .as_ref()
                .is_none_or(|globs| globs.contains(name))
            && !self
                .exclude
                .as_ref()
                .is_some_and(|globs| globs.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::listing::{ListedTool, build};
    use crate::names::ServerName;

    fn admitted(
        servers: Option<&[&str]>,
        include: Option<&[&str]>,
        exclude: Option<&[&str]>,
    ) -> Vec<String> {
        let owned = |list: Option<&[&str]>| {
            list.map(|list| {
                list.iter()
                    .map(|item| (*item).to_owned())
                    .collect::<Vec<_>>()
            })
        };
        let [servers, include, exclude] = [owned(servers), owned(include), owned(exclude)];
        let scope =
            Scope::compile(servers.as_deref(), include.as_deref(), exclude.as_deref()).unwrap();
        let mut names = Vec::new();
        for server in ["git", "web"] {
            let listed = ["get", "put"].map(|name| ListedTool {
                name: name.to_owned(),
                ..ListedTool::default()
            });
            let listing = build(&ServerName::new(server).unwrap(), listed.into(), |_| true);
            let tools = listing.tools.iter().filter(|tool| scope.admits(tool));
            names.extend(tools.map(|tool| tool.exposed.as_str().replace("mcp_", "")));
        }
        names
    }

    #[test]
    fn the_default_lets_all_in() {
        assert_eq!(
            admitted(None, None, None),
            ["git_get", "git_put", "web_get", "web_put"]
        );
    }

    #[test]
    fn narrows_by_server_and_glob() {
        assert_eq!(admitted(Some(&["git"]), None, None), ["git_get", "git_put"]);
        assert_eq!(
            admitted(None, Some(&["mcp_*_get"]), None),
            ["git_get", "web_get"]
        );
        assert_eq!(
            admitted(None, None, Some(&["mcp_git_*"])),
            ["web_get", "web_put"]
        );
        assert_eq!(
            admitted(Some(&["git"]), Some(&["*get"]), Some(&["*git*"])),
            Vec::<String>::new()
        );
        assert_eq!(admitted(Some(&[]), None, None), Vec::<String>::new());
        assert_eq!(admitted(None, Some(&[]), None), Vec::<String>::new());
        assert_eq!(admitted(None, None, Some(&[])).len(), 4);
    }

    #[test]
    fn names_the_glob_that_is_none() {
        let error =
            Scope::compile(None, Some(&["ok".to_owned(), "[".to_owned()]), None).unwrap_err();
        assert!(
            error.to_string().starts_with("the glob `[` is not valid: "),
            "{error}"
        );
    }

    #[test]
    fn the_hosts_own_tools_are_always_in() {
        let scope = Scope::compile(Some(&[]), Some(&[]), Some(&["*".to_owned()])).unwrap();
        assert!(scope.admits(&Tool::host("now", None, None, false)));
    }
}
