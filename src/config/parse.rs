//! Makes a configuration of a tree, and says of every entry that cannot be used why.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::config::document::node::{Content, Node};
use crate::config::document::spot::Spot;
use crate::config::keys::{self, is_remark};
use crate::config::read::{Reader, Reading, Readings};
use crate::config::server;
use crate::config::{
    Config, DecisionScope, Encoder, OutputConfig, Parsed, Problem, ServerConfig, Severity,
    ToolSearchConfig, ToolSearchMode, pointer,
};
use crate::names::{ExposedName, ServerName, ToolId};

/// Reads a tree; `problems` are those that the text itself has.
pub fn tree(
    root: &Node,
    problems: Vec<Problem>,
    base: &Path,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Parsed {
    let mut reader = Reader::new(lookup, base);
    reader.problems = problems;
    let root = Spot::root(root);
    let top = reader.table(&root, &keys::TOP);
    let (tool_search, output) = tools(&mut reader, &top);
    let servers = match top.get("mcp_servers") {
        Some(given) => servers(&mut reader, &given.spot),
        None => Servers::default(),
    };
    if top.get("mcp_servers").is_none() {
        hint_at_servers(&mut reader, &root);
    }
    let Reader {
        mut problems,
        expanded,
        ..
    } = reader;
    problems.sort_by_key(|problem| problem.range.map(|range| range.start));
    let (good, broken) = servers.divide(&problems);
    Parsed {
        config: Config {
            servers: good,
            tool_search,
            output,
            expanded,
        },
        problems,
        broken,
        blank: root.node.content == Content::Null,
    }
}

/// Entries of `mcp_servers` in the order of the file, with the pointers to them.
#[derive(Default)]
struct Servers(Vec<(ServerName, String, Option<ServerConfig>)>);

impl Servers {
    /// An entry with an error anywhere in it is not used.
    fn divide(
        self,
        problems: &[Problem],
    ) -> (
        BTreeMap<ServerName, ServerConfig>,
        Vec<(ServerName, String)>,
    ) {
        let mut of_entries: HashMap<&str, Vec<&Problem>> = HashMap::new();
        for problem in problems {
            let entry = pointer::head(&problem.path, 2);
            of_entries.entry(entry).or_default().push(problem);
        }
        let mut good = BTreeMap::new();
        let mut broken = Vec::new();
        for (name, path, server) in self.0 {
            let mut within = of_entries
                .remove(path.as_str())
                .unwrap_or_default()
                .into_iter();
            let error = within.clone().find(|it| it.severity == Severity::Error);
            match (error, server) {
                (None, Some(server)) => {
                    good.insert(name, server);
                }
                (error, _) => {
                    let reason = error.or_else(|| within.next());
                    let reason = reason.map_or_else(String::new, |problem| {
                        let inner = &problem.path[path.len()..];
                        let place = inner.trim_start_matches('/');
                        if place.is_empty() {
                            problem.message.clone()
                        } else {
                            format!("`{place}`: {}", problem.message)
                        }
                    });
                    broken.push((name, reason));
                }
            }
        }
        (good, broken)
    }
}

fn servers(reader: &mut Reader<'_>, spot: &Spot<'_>) -> Servers {
    let mut servers = Servers::default();
    let Some(entries) = spot.entries() else {
        let message = "must be a mapping of names to servers";
        reader.at_value(spot, Severity::Error, message);
        return servers;
    };
    let mut prefixes: BTreeMap<String, ServerName> = BTreeMap::new();
    for entry in entries {
        let entry_spot = spot.value(entry);
        if entry.value.content.scalar_text().is_some() && is_remark(&entry.key) {
            continue;
        }
        let name = match ServerName::new(&entry.key) {
            Ok(name) => name,
            Err(error) => {
                reader.at_key(&entry_spot, Severity::Error, error.to_string());
                continue;
            }
        };
        // Names that differ only in characters that no model API takes would share the names of their tools.
        let prefix = ExposedName::of(&ToolId::new(&name, "")).as_str().to_owned();
        match prefixes.get(&prefix) {
            Some(other) => {
                let message = format!(
                    "the tools of `{name}` and `{other}` begin with the same `{prefix}`, those of equal names get a suffix"
                );
                reader.at_key(&entry_spot, Severity::Warning, message);
            }
            None => {
                prefixes.insert(prefix, name.clone());
            }
        }
        let server = server::read(reader, &entry_spot);
        servers.0.push((name, entry_spot.path, server));
    }
    servers
}

/// Says so where the servers stand under the name that other hosts give them.
fn hint_at_servers(reader: &mut Reader<'_>, root: &Spot<'_>) {
    let entries = root.entries().unwrap_or_default();
    for entry in entries {
        let known = ["servers", "context_servers", "mcp"].contains(&entry.key.as_str());
        if known && matches!(entry.value.content, Content::Map(_)) {
            let spot = root.value(entry);
            let message = format!(
                "`{}` is not read, servers are looked for in `mcp_servers`",
                entry.key
            );
            reader.at_key(&spot, Severity::Hint, message);
        }
    }
}

fn tools(reader: &mut Reader<'_>, top: &Readings<'_>) -> (ToolSearchConfig, OutputConfig) {
    let mut tool_search = ToolSearchConfig::default();
    let mut output = OutputConfig::default();
    let Some(given) = top.get("tools") else {
        return (tool_search, output);
    };
    let tools = reader.table(&given.spot, &keys::TOOLS);
    if let Some(given) = tools.get("tool_search") {
        match given.reading {
            Reading::Short(mode) => tool_search.enabled = search_mode(mode),
            _ => tool_search = tool_search_table(reader, &given.spot),
        }
    }
    if let Some(given) = tools.get("output") {
        let table = reader.table(&given.spot, &keys::OUTPUT);
        output.max_chars = table.count("max_chars");
        output.spill_dir = table.path("spill_dir");
    }
    (tool_search, output)
}

fn tool_search_table(reader: &mut Reader<'_>, spot: &Spot<'_>) -> ToolSearchConfig {
    let table = reader.table(spot, &keys::TOOL_SEARCH);
    let mut config = ToolSearchConfig::default();
    if let Some(mode) = table.word("enabled") {
        config.enabled = search_mode(mode);
    }
    if let Some(percent) = table.number("threshold_pct") {
        config.threshold_pct = percent;
    }
    if let Some(limit) = table.count("max_search_limit") {
        config.max_search_limit = limit;
    }
    if let Some(limit) = table.count("search_default_limit") {
        config.search_default_limit = limit;
    }
    if config.search_default_limit > config.max_search_limit {
        let most = config.max_search_limit;
        config.search_default_limit = most;
        if let Some(given) = table.get("search_default_limit") {
            let message = format!("must be at most `max_search_limit`, {most} is used");
            reader.at_value(&given.spot, Severity::Warning, message);
        }
    }
    if table.word("decision") == Some("session") {
        config.decision = DecisionScope::Session;
    }
    if let Some(tokens) = table.count("hit_tokens") {
        config.hit_tokens = tokens;
    }
    config.encoder = match table.get("encoder").map(|given| &given.reading) {
        Some(Reading::Path(path)) => Encoder::Path(path.clone()),
        Some(Reading::Word("auto")) => Encoder::Auto,
        _ => Encoder::Off,
    };
    config.aliases = table.text_map("aliases").unwrap_or_default();
    config.keywords = table.texts_map("keywords").unwrap_or_default();
    config
}

fn search_mode(word: &str) -> ToolSearchMode {
    match word {
        "on" => ToolSearchMode::On,
        "off" => ToolSearchMode::Off,
        _ => ToolSearchMode::Auto,
    }
}
