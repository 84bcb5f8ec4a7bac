//! All the tools that can be called, in one immutable order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::listing::{Dropped, Listing};
use crate::catalog::memo::Memo;
use crate::catalog::warning::{Warning, WarningKind};
use crate::names::{ExposedName, ServerName, ToolId};
use crate::schema::Format;
use crate::schema::project::Definition;
use crate::schema::validate::Checker;
use crate::text::fold;
use crate::tokens;

pub mod host;
pub mod listing;
pub mod memo;
pub mod scope;
pub mod view;
pub mod warning;

/// A tool that a model can call, wherever it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub origin: Origin,
    /// The name under which the model sees it.
    pub exposed: ExposedName,
    pub title: Option<String>,
    /// Cleaned of hidden characters; empty where the server gave none.
    pub description: String,
    /// JSON Schema of the arguments, as it was sent but for hidden characters; `null` where none was sent.
    pub input_schema: Value,
    /// The other members of the MCP tool as the server sent them: `annotations`, `outputSchema`, `icons`, `_meta`….
    pub extra: Map<String, Value>,
    /// Whether the tool may be left out of the array and found by search.
    pub deferrable: bool,
    /// Estimated tokens of its definition.
    pub tokens: usize,
    /// What was worked out from the other fields before.
    pub memo: Memo,
}

/// Who runs a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    Mcp(ToolId),
    Host,
}

impl Tool {
    /// One of the host's own tools, as the host sent it.
    pub fn host(
        name: &str,
        description: Option<&str>,
        parameters: Option<Value>,
        defer: bool,
    ) -> Tool {
        Tool {
            origin: Origin::Host,
            exposed: ExposedName::verbatim(name),
            title: None,
            description: description.unwrap_or_default().to_owned(),
            input_schema: parameters.unwrap_or_default(),
            extra: Map::new(),
            deferrable: defer,
            tokens: 0,
            memo: Memo::default(),
        }
        .counted()
    }

    /// The server that runs the tool; `None` for the host's own.
    pub fn server(&self) -> Option<&ServerName> {
        match &self.origin {
            Origin::Mcp(id) => Some(&id.server),
            Origin::Host => None,
        }
    }

    /// The name that its server gave it, or the host.
    pub fn original_name(&self) -> &str {
        match &self.origin {
            Origin::Mcp(id) => id.tool.as_str(),
            Origin::Host => self.exposed.as_str(),
        }
    }

    /// MCP's hints, as the server sent them.
    pub fn annotations(&self) -> Option<&Value> {
        self.extra.get("annotations")
    }

    /// What a model is told about the tool; never empty for a tool of a server.
    pub fn shown_description(&self) -> Cow<'_, str> {
        match (&self.origin, &self.title) {
            _ if !self.description.trim().is_empty() => Cow::Borrowed(&self.description),
            (Origin::Host, _) => Cow::Borrowed(""),
            (Origin::Mcp(_), Some(title)) if !title.trim().is_empty() => Cow::Borrowed(title),
            (Origin::Mcp(id), _) => {
                Cow::Owned(format!("`{}` of the server `{}`.", id.tool, id.server))
            }
        }
    }

    /// The JSON text of the tool as one element of `tools`; worked out once for each format.
    pub fn definition(&self, format: Format) -> &str {
        self.memo.definition(format, || {
            Definition {
                name: self.exposed.as_str(),
                title: self.title.as_deref(),
                description: &self.shown_description(),
                input_schema: &self.input_schema,
                extra: &self.extra,
                as_given: self.origin == Origin::Host,
            }
            .write(format)
        })
    }

    /// Characters of its definition. Counted in one format whatever the host asks for, so that the numbers of a session compare.
    pub fn characters(&self) -> usize {
        self.memo
            .characters(|| tokens::characters(self.definition(Format::Openai)))
    }

    /// The check of its arguments; compiled on the first call.
    pub fn checker(&self) -> &Checker {
        self.memo.checker(|| Checker::new(&self.input_schema))
    }

    fn counted(mut self) -> Tool {
        self.tokens = tokens::of_characters(self.characters()) as usize;
        self
    }

    fn renamed(&self, exposed: ExposedName) -> Tool {
        let mut tool = self.clone();
        tool.exposed = exposed;
        tool.counted()
    }
}

/// Tools that share one owner and change together: one server's, or one session's host tools.
pub type Tools = Arc<[Arc<Tool>]>;

/// The tools of all servers at one moment.
///
/// Sorted by exposed name, which is unique; the order and the names depend on which tools there are, never on which came first.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    generation: u64,
    servers: BTreeMap<ServerName, ServerTools>,
    /// Every tool under its plain name, sorted by name and id; names may repeat.
    plain: Tools,
    tools: Tools,
    characters: usize,
    warnings: Arc<[Warning]>,
    /// Every server by its folded name.
    folded_servers: Arc<BTreeMap<String, ServerName>>,
}

/// What one server adds to the catalog.
#[derive(Debug, Clone, Default)]
pub struct ServerTools {
    /// Sorted by exposed name.
    pub tools: Tools,
    /// Estimated tokens of all of them.
    pub tokens: u64,
    /// Tools that were listed and cannot be used.
    pub dropped: Arc<[Dropped]>,
    warnings: Arc<[Warning]>,
    /// Under their plain names.
    listed: Tools,
}

impl Catalog {
    /// The catalog with a server's tools in place of those that it had; of the next generation.
    pub fn with_server(&self, server: &ServerName, listing: Listing) -> Catalog {
        let listed: Tools = listing.tools.into();
        let characters: usize = listed.iter().map(|tool| tool.characters()).sum();
        let added = ServerTools {
            tools: listed.clone(),
            tokens: tokens::of_characters(characters),
            dropped: listing.dropped.into(),
            warnings: listing.warnings.into(),
            listed: listed.clone(),
        };
        let mut servers = self.servers.clone();
        servers.insert(server.clone(), added);
        self.next(servers, merged(&self.plain, server, &listed))
    }

    /// The catalog without a server; of the next generation if it was there.
    pub fn without_server(&self, server: &ServerName) -> Catalog {
        let mut servers = self.servers.clone();
        if servers.remove(server).is_none() {
            return self.clone();
        }
        self.next(servers, merged(&self.plain, server, &[]))
    }

    /// Whether a server's tools are these already, so that a new generation would tell nothing new.
    pub fn lists(&self, server: &ServerName, listing: &Listing) -> bool {
        self.servers.get(server).is_some_and(|known| {
            *known.listed == *listing.tools
                && *known.dropped == *listing.dropped
                && *known.warnings == *listing.warnings
        })
    }

    /// Grows by one with every change.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Every tool, sorted by exposed name.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// A server's tools; none where it is unknown.
    pub fn server_tools(&self, server: &ServerName) -> &[Arc<Tool>] {
        self.servers.get(server).map_or(&[], |known| &known.tools)
    }

    /// Every server that has listed its tools, by name.
    pub fn servers(&self) -> impl Iterator<Item = (&ServerName, &ServerTools)> {
        self.servers.iter()
    }

    /// The tool of exactly this name.
    pub fn get(&self, exposed: &str) -> Option<&Arc<Tool>> {
        let at = self
            .tools
            .binary_search_by(|tool| tool.exposed.as_str().cmp(exposed))
            .ok()?;
        self.tools.get(at)
    }

    pub fn by_id(&self, id: &ToolId) -> Option<&Arc<Tool>> {
        self.server_tools(&id.server)
            .iter()
            .find(|tool| matches!(&tool.origin, Origin::Mcp(other) if other == id))
    }

    /// Estimated tokens of all definitions.
    pub fn tokens(&self) -> u64 {
        tokens::of_characters(self.characters)
    }

    /// What is odd about the servers' tools.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The server that a tool's own name claims it for, if that is another's: `github__create_issue` of a server `notes`.
    pub(crate) fn claimed_server(&self, tool: &Tool) -> Option<&ServerName> {
        let own = tool.server()?;
        let (claimed, _) = tool.original_name().split_once("__")?;
        let claimed = self.folded_servers.get(&fold(claimed))?;
        (fold(own.as_str()) != fold(claimed.as_str())).then_some(claimed)
    }

    fn next(&self, mut servers: BTreeMap<ServerName, ServerTools>, plain: Tools) -> Catalog {
        let (tools, renamed) = with_unique_names(&plain);
        for (name, server) in &mut servers {
            server.tools = if renamed.contains(name) {
                let own = tools.iter().filter(|tool| tool.server() == Some(name));
                own.cloned().collect()
            } else {
                server.listed.clone()
            };
        }
        let by_fold = servers
            .keys()
            .map(|server| (fold(server.as_str()), server.clone()));
        let mut catalog = Catalog {
            generation: self.generation + 1,
            characters: tools.iter().map(|tool| tool.characters()).sum(),
            folded_servers: Arc::new(by_fold.collect()),
            warnings: Arc::default(),
            servers,
            plain,
            tools,
        };
        let mut warnings: Vec<Warning> = Vec::new();
        for server in catalog.servers.values() {
            warnings.extend(server.warnings.iter().cloned());
        }
        warnings.extend(catalog.tools.iter().filter_map(|tool| catalog.posing(tool)));
        catalog.warnings = warnings.into();
        catalog
    }

    fn posing(&self, tool: &Tool) -> Option<Warning> {
        let claimed = self.claimed_server(tool)?;
        let message = format!(
            "the name `{}` imitates a tool of the server `{claimed}`",
            tool.original_name()
        );
        Some(Warning::of_tool(WarningKind::LookAlike, tool, message))
    }
}

/// All tools but a server's, and its new ones, in order.
fn merged(all: &[Arc<Tool>], server: &ServerName, new: &[Arc<Tool>]) -> Tools {
    let mut others = all
        .iter()
        .filter(|tool| tool.server() != Some(server))
        .peekable();
    let mut new = new.iter().peekable();
    let mut merged = Vec::with_capacity(all.len() + new.len());
    loop {
        let take_new = match (others.peek(), new.peek()) {
            (Some(other), Some(own)) => order(own, other).is_lt(),
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (None, None) => return merged.into(),
        };
        merged.extend(if take_new { new.next() } else { others.next() }.cloned());
    }
}

fn order(a: &Tool, b: &Tool) -> std::cmp::Ordering {
    let id = |tool: &Tool| match &tool.origin {
        Origin::Mcp(id) => Some(id.clone()),
        Origin::Host => None,
    };
    a.exposed.cmp(&b.exposed).then_with(|| id(a).cmp(&id(b)))
}

/// Of tools with one plain name none keeps it: a server that comes later could take a name from another, and with it the calls
/// that are meant for that one. Tells the servers whose tools are not as they were listed.
fn with_unique_names(plain: &Tools) -> (Tools, Vec<ServerName>) {
    let is_repeated = |pair: &[Arc<Tool>]| pair[0].exposed == pair[1].exposed;
    if !plain.windows(2).any(is_repeated) {
        return (plain.clone(), Vec::new());
    }
    let mut changed = Vec::new();
    let mut tools: Vec<Arc<Tool>> = Vec::with_capacity(plain.len());
    for namesakes in plain.chunk_by(|a, b| a.exposed == b.exposed) {
        for tool in namesakes {
            match &tool.origin {
                Origin::Mcp(id) if namesakes.len() > 1 => {
                    changed.push(id.server.clone());
                    tools.push(Arc::new(tool.renamed(ExposedName::distinct(id))));
                }
                _ => tools.push(tool.clone()),
            }
        }
    }
    tools.sort_by(|a, b| order(a, b));
    // A name made up to equal another's hashed one gains its server nothing: the later of the two is left out.
    tools.dedup_by(|later, earlier| {
        let is_repeated = later.exposed == earlier.exposed;
        if is_repeated {
            changed.extend(later.server().cloned());
        }
        is_repeated
    });
    (tools.into(), changed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::listing::{ListedTool, build};

    pub(crate) fn server(name: &str) -> ServerName {
        ServerName::new(name).unwrap()
    }

    fn listing(name: &str, tools: &[&str]) -> Listing {
        let listed = tools.iter().map(|tool| ListedTool {
            name: (*tool).to_owned(),
            ..ListedTool::default()
        });
        build(&server(name), listed.collect(), |_| true)
    }

    fn catalog(servers: &[(&str, &[&str])]) -> Catalog {
        servers
            .iter()
            .fold(Catalog::default(), |catalog, (name, tools)| {
                catalog.with_server(&server(name), listing(name, tools))
            })
    }

    fn names(catalog: &Catalog) -> Vec<&str> {
        catalog
            .tools()
            .iter()
            .map(|tool| tool.exposed.as_str())
            .collect()
    }

    #[test]
    fn is_sorted_by_name_whoever_came_first() {
        let one = catalog(&[("b", &["y", "x"]), ("a", &["z"])]);
        let other = catalog(&[("a", &["z"]), ("b", &["x", "y"])]);
        assert_eq!(names(&one), ["mcp_a_z", "mcp_b_x", "mcp_b_y"]);
        assert_eq!(names(&one), names(&other));
    }

    #[test]
    fn every_change_is_a_generation() {
        let first = catalog(&[("a", &["x"])]);
        let changed = first.with_server(&server("a"), listing("a", &["y"]));
        let gone = changed.without_server(&server("a"));
        assert_eq!(
            [first.generation(), changed.generation(), gone.generation()],
            [1, 2, 3]
        );
        assert_eq!(names(&changed), ["mcp_a_y"]);
        assert_eq!(names(&gone), Vec::<&str>::new());
        assert_eq!(gone.without_server(&server("a")).generation(), 3);
        assert_eq!(names(&first), ["mcp_a_x"], "an old catalog stays as it was");
    }

    #[test]
    fn knows_whether_a_list_is_new() {
        let known = catalog(&[("a", &["x"])]);
        assert!(known.lists(&server("a"), &listing("a", &["x"])));
        assert!(!known.lists(&server("a"), &listing("a", &["x", "y"])));
        assert!(!known.lists(&server("b"), &listing("b", &[])));
    }

    #[test]
    fn tools_of_one_plain_name_are_told_apart_whoever_came_first() {
        let servers: [(&str, &[&str]); 3] = [
            ("a.b", &["c"]),
            ("a_b", &["c", "d"]),
            ("a", &["b.c", "b/c"]),
        ];
        let one = catalog(&servers);
        let mut backwards = servers;
        backwards.reverse();
        let other = catalog(&backwards);
        assert_eq!(names(&one), names(&other));
        assert_eq!(names(&one).len(), 5);
        for (name, known) in one.servers() {
            for tool in known.tools.iter() {
                assert_eq!(tool.server(), Some(name));
                assert!(Arc::ptr_eq(one.get(tool.exposed.as_str()).unwrap(), tool));
            }
        }
        assert!(
            one.get("mcp_a_b_c").is_none(),
            "a name that two could have had is nobody's"
        );
    }

    #[test]
    fn a_plain_name_comes_back_when_the_other_goes() {
        let both = catalog(&[("a.b", &["c"]), ("a_b", &["c"])]);
        assert!(
            names(&both)
                .iter()
                .all(|name| name.starts_with("mcp_a_b_c_"))
        );
        let one = both.without_server(&server("a.b"));
        assert_eq!(names(&one), ["mcp_a_b_c"]);
        assert_eq!(
            one.server_tools(&server("a_b"))[0].exposed.as_str(),
            "mcp_a_b_c"
        );
    }

    #[test]
    fn a_name_made_up_to_equal_a_hashed_one_is_left_out() {
        let id = ToolId::new(&server("a"), "b/c");
        let forged = ExposedName::distinct(&id)
            .as_str()
            .strip_prefix("mcp_a_")
            .unwrap()
            .to_owned();
        let catalog = catalog(&[("a", &["b.c", "b/c", &forged])]);
        let names = names(&catalog);
        assert_eq!(names.len(), 2);
        assert_eq!(catalog.server_tools(&server("a")).len(), 2);
    }

    #[test]
    fn flags_names_that_claim_another_server() {
        let catalog = catalog(&[
            ("shadow", &["github__create_issue", "a__b"]),
            ("github", &["create_issue"]),
        ]);
        let flagged: Vec<_> = catalog
            .warnings()
            .iter()
            .map(|warning| (warning.kind, warning.tool.as_deref()))
            .collect();
        assert_eq!(
            flagged,
            [(
                WarningKind::LookAlike,
                Some("mcp_shadow_github__create_issue")
            )]
        );
    }

    #[test]
    fn counts_tokens_once_for_all() {
        let catalog = catalog(&[("a", &["x", "y"])]);
        let characters: usize = catalog
            .tools()
            .iter()
            .map(|tool| tool.definition(Format::Openai).len())
            .sum();
        assert_eq!(catalog.tokens(), characters.div_ceil(4) as u64);
    }

    #[test]
    fn host_tools_are_defined_as_the_host_sent_them() {
        let parameters =
            json!({"type": "object", "properties": {"$x": {"type": "array"}}, "strict": true});
        let tool = Tool::host("now", None, Some(parameters.clone()), false);
        assert_eq!(
            tool.definition(Format::Openai),
            format!(
                r#"{{"type":"function","function":{{"name":"now","parameters":{parameters}}}}}"#
            )
        );
        assert_eq!(
            Tool::host("now", Some("Time."), None, false).definition(Format::Anthropic),
            r#"{"name":"now","description":"Time.","input_schema":{"type":"object","properties":{}}}"#
        );
    }
}
