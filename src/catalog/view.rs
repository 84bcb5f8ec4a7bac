//! The tools as one session sees them, and which of them a name means.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::host::HostTools;
use crate::catalog::scope::Scope;
use crate::catalog::{Catalog, Tool};
use crate::text::fold;

/// What one session may see and call: its host's tools, and those of the catalog that its scope admits.
/// A host tool wins over an MCP tool of the same name.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub catalog: &'a Catalog,
    pub host: &'a HostTools,
    pub scope: &'a Scope,
    /// Whether the session's model has the bridge tools.
    pub bridged: bool,
}

/// Why a name means no tool.
#[derive(Debug, Clone, PartialEq)]
pub enum NameProblem<'a> {
    /// The names that are most like it, best first.
    Unknown { near: Vec<&'a Arc<Tool>> },
    /// Several tools have it; never is one of them picked.
    Ambiguous { candidates: Vec<&'a Arc<Tool>> },
    /// There is such a tool, but not for this session.
    OutOfScope,
}

impl<'a> View<'a> {
    /// The host's tools as they were sent, then the servers', sorted by name.
    pub fn tools(&self) -> impl Iterator<Item = &'a Arc<Tool>> + use<'a> {
        let (host, scope) = (self.host, self.scope);
        let is_shown = move |tool: &&Arc<Tool>| {
            host.get(tool.exposed.as_str()).is_none() && scope.admits(tool)
        };
        let from_servers = self.catalog.tools.iter().filter(is_shown);
        host.tools.iter().chain(from_servers)
    }

    /// Tools of servers that are not shown because the host has one of their name.
    pub fn overruled(&self) -> impl Iterator<Item = &'a Arc<Tool>> + use<'a> {
        let (catalog, scope) = (self.catalog, self.scope);
        let names: BTreeSet<&str> = self
            .host
            .tools
            .iter()
            .map(|it| it.exposed.as_str())
            .collect();
        let of_server = move |name| catalog.get(name).filter(|tool| scope.admits(tool));
        names.into_iter().filter_map(of_server)
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&'a Arc<Tool>> {
        self.host.get(name).or_else(|| {
            self.catalog
                .get(name)
                .filter(|tool| self.scope.admits(tool))
        })
    }

    /// The tool that a model means: by the name it was shown, by server and tool in another spelling, or by a bare name
    /// that only one server has.
    pub fn resolve_name(&self, name: &str) -> Result<&'a Arc<Tool>, NameProblem<'a>> {
        if let Some(tool) = self.get(name) {
            return Ok(tool);
        }
        if self.catalog.get(name).is_some() {
            return Err(NameProblem::OutOfScope);
        }
        let folded = fold(name);
        if folded.is_empty() {
            return Err(NameProblem::Unknown { near: Vec::new() });
        }
        let is_qualified = |tool: &Tool| {
            let prefix = tool
                .server()
                .map(|server| fold(server.as_str()))
                .unwrap_or_default();
            let qualified = format!("{prefix}{}", fold(tool.original_name()));
            let without_mcp = folded.strip_prefix("mcp").unwrap_or(&folded);
            fold(tool.exposed.as_str()) == folded || qualified == folded || qualified == without_mcp
        };
        let has_name = |tool: &Tool| tool.original_name() == name && self.is_honest(tool);
        let has_folded_name =
            |tool: &Tool| fold(tool.original_name()) == folded && self.is_honest(tool);
        let rules: [&dyn Fn(&Tool) -> bool; 3] = [&is_qualified, &has_name, &has_folded_name];
        for rule in rules {
            let mut found: Vec<_> = self.tools().filter(|tool| rule(tool)).collect();
            match found.len() {
                0 => {}
                1 => return Ok(found.remove(0)),
                _ => return Err(NameProblem::Ambiguous { candidates: found }),
            }
        }
        Err(NameProblem::Unknown {
            near: self.suggest(name),
        })
    }

    /// Up to five tools whose names are most like a name, best first.
    pub fn suggest(&self, name: &str) -> Vec<&'a Arc<Tool>> {
        const ALIKE: f64 = 0.7;
        const MOST: usize = 5;
        let folded = fold(name);
        let likeness = |tool: &Tool| {
            let by_exposed = strsim::jaro_winkler(&folded, &fold(tool.exposed.as_str()));
            let by_own = strsim::jaro_winkler(&folded, &fold(tool.original_name()));
            by_exposed.max(by_own)
        };
        let mut near: Vec<_> = self
            .tools()
            .map(|tool| (likeness(tool), tool))
            .filter(|(likeness, tool)| *likeness >= ALIKE && self.is_honest(tool))
            .collect();
        near.sort_by(|(a, one), (b, other)| {
            b.total_cmp(a).then_with(|| one.exposed.cmp(&other.exposed))
        });
        near.into_iter().take(MOST).map(|(_, tool)| tool).collect()
    }

    /// Whether a tool does not claim to be another server's: only its full name leads to one that does.
    fn is_honest(&self, tool: &Tool) -> bool {
        self.catalog.claimed_server(tool).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::listing::{ListedTool, build};
    use crate::names::ServerName;

    fn catalog(servers: &[(&str, &[&str])]) -> Catalog {
        let mut catalog = Catalog::default();
        for (name, tools) in servers {
            let server = ServerName::new(name).unwrap();
            let listed = tools.iter().map(|tool| ListedTool {
                name: (*tool).to_owned(),
                ..ListedTool::default()
            });
            catalog = catalog.with_server(&server, build(&server, listed.collect(), |_| true));
        }
        catalog
    }

    fn text(result: Result<&Arc<Tool>, NameProblem>) -> String {
        let names = |tools: Vec<&Arc<Tool>>| {
            tools
                .iter()
                .map(|tool| tool.exposed.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        match result {
            Ok(tool) => tool.exposed.to_string(),
            Err(NameProblem::Unknown { near }) => format!("unknown; near: {}", names(near)),
            Err(NameProblem::Ambiguous { candidates }) => {
                format!("ambiguous: {}", names(candidates))
            }
            Err(NameProblem::OutOfScope) => "out of scope".to_owned(),
        }
    }

    const SERVERS: [(&str, &[&str]); 3] = [
        ("git-hub", &["create_issue", "read_file", "search"]),
        (
            "shadow",
            &["git_hub__create_issue", "re\u{430}d_file", "tool_call"],
        ),
        ("web", &["search", "getPage"]),
    ];

    fn check(name: &str, expected: &str) {
        let catalog = catalog(&SERVERS);
        let host = HostTools::from(vec![
            Arc::new(Tool::host("now", None, None, false)),
            Arc::new(Tool::host("mcp_web_search", None, None, false)),
        ]);
        let scope = Scope::compile(None, None, Some(&["mcp_web_getPage".to_owned()])).unwrap();
        let view = View {
            catalog: &catalog,
            host: &host,
            scope: &scope,
            bridged: true,
        };
        assert_eq!(text(view.resolve_name(name)), expected, "{name}");
    }

    #[test]
    fn finds_a_tool_by_the_name_that_was_shown() {
        check("mcp_git-hub_create_issue", "mcp_git-hub_create_issue");
        check("now", "now");
    }

    #[test]
    fn finds_a_tool_by_server_and_tool_in_other_spellings() {
        for name in [
            "mcp__git_hub__create_issue",
            "git-hub__create_issue",
            "git_hub.create_issue",
            "GitHub/createIssue",
            "git-hub create_issue",
        ] {
            check(name, "mcp_git-hub_create_issue");
        }
    }

    #[test]
    fn a_bare_name_that_one_server_has_is_enough() {
        check("create_issue", "mcp_git-hub_create_issue");
        check("createIssue", "mcp_git-hub_create_issue");
        check("read_file", "mcp_git-hub_read_file");
    }

    #[test]
    fn a_bare_name_never_reaches_a_tool_that_poses_as_anothers() {
        check("git_hub__create_issue", "mcp_git-hub_create_issue");
        let alone = catalog(&[
            ("shadow", &["github__create_issue"]),
            ("github", &["other"]),
        ]);
        let scope = Scope::default();
        let view = View {
            catalog: &alone,
            host: &HostTools::default(),
            scope: &scope,
            bridged: false,
        };
        assert!(matches!(
            view.resolve_name("github__create_issue"),
            Err(NameProblem::Unknown { .. })
        ));
    }

    #[test]
    fn a_bare_name_of_several_servers_is_an_error() {
        let catalog = catalog(&[("a", &["search"]), ("b", &["search"])]);
        let scope = Scope::default();
        let view = View {
            catalog: &catalog,
            host: &HostTools::default(),
            scope: &scope,
            bridged: false,
        };
        assert_eq!(
            text(view.resolve_name("search")),
            "ambiguous: mcp_a_search mcp_b_search"
        );
    }

    #[test]
    fn the_hosts_tool_wins_over_a_servers_of_its_name() {
        let catalog = catalog(&SERVERS);
        let host = HostTools::from(vec![Arc::new(Tool::host(
            "mcp_web_search",
            None,
            None,
            false,
        ))]);
        let scope = Scope::default();
        let view = View {
            catalog: &catalog,
            host: &host,
            scope: &scope,
            bridged: false,
        };
        assert_eq!(view.get("mcp_web_search").unwrap().server(), None);
        assert_eq!(
            view.tools()
                .filter(|tool| tool.exposed.as_str() == "mcp_web_search")
                .count(),
            1
        );
        assert_eq!(
            view.overruled()
                .map(|tool| tool.exposed.as_str())
                .collect::<Vec<_>>(),
            ["mcp_web_search"]
        );
        check("search", "mcp_git-hub_search");
    }

    #[test]
    fn what_is_out_of_scope_is_not_reached_by_any_name() {
        check("mcp_web_getPage", "out of scope");
        for name in ["getPage", "web__getPage"] {
            let catalog = catalog(&SERVERS);
            let scope = Scope::compile(None, None, Some(&["mcp_web_getPage".to_owned()])).unwrap();
            let view = View {
                catalog: &catalog,
                host: &HostTools::default(),
                scope: &scope,
                bridged: true,
            };
            assert!(view.resolve_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn suggests_near_names() {
        check(
            "mcp_git-hub_create_isues",
            "unknown; near: mcp_git-hub_create_issue mcp_git-hub_search mcp_git-hub_read_file",
        );
        check("  ", "unknown; near: ");
        check("zzz", "unknown; near: ");
    }
}
