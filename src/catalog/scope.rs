//! Which tools a session may see and call.

use std::collections::BTreeSet;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::catalog::Tool;

/// A filter on the tools of servers; the default lets every tool in. The host's own tools are always in.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    servers: Option<BTreeSet<String>>,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{glob}` is not a glob: {reason}")]
pub struct BadGlob {
    pub glob: String,
    pub reason: String,
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
            include: include.map(globs).transpose()?,
            exclude: exclude.map(globs).transpose()?,
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
                .is_none_or(|globs| globs.is_match(name))
            && !self
                .exclude
                .as_ref()
                .is_some_and(|globs| globs.is_match(name))
    }
}

fn globs(list: &[String]) -> Result<GlobSet, BadGlob> {
    let bad = |glob: &str, error: globset::Error| BadGlob {
        glob: glob.to_owned(),
        reason: error.kind().to_string(),
    };
    let mut set = GlobSetBuilder::new();
    for glob in list {
        let compiled = GlobBuilder::new(glob)
            .literal_separator(false)
            .build()
            .map_err(|error| bad(glob, error))?;
        set.add(compiled);
    }
    set.build().map_err(|error| bad(&list.join(", "), error))
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
            error.to_string().starts_with("`[` is not a glob: "),
            "{error}"
        );
    }

    #[test]
    fn the_hosts_own_tools_are_always_in() {
        let scope = Scope::compile(Some(&[]), Some(&[]), Some(&["*".to_owned()])).unwrap();
        assert!(scope.admits(&Tool::host("now", None, None, false)));
    }
}
