//! What a user may configure, after everything that can be wrong with it has been found.

mod diff;
pub mod document;
mod expand;
pub mod filter;
mod json_schema;
pub mod keys;
pub mod kind;
pub mod outline;
mod parse;
pub mod pointer;
pub mod problem;
mod read;
pub mod secrets;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::config::document::Document;
use crate::config::document::node::Node;
use crate::config::filter::Globs;
use crate::names::ServerName;

/// Reads a YAML or JSON text.
///
/// Relative paths start from `base`, the folder of the file. `lookup` gives the values of variables, and those of
/// `userHome`, `workspaceFolder`, `workspaceFolderBasename`, `pathSeparator` and `/`.
/// All problems are found at once, in the order of the text; what has an error is left out of the configuration.
pub fn parse(text: &str, base: &Path, lookup: impl Fn(&str) -> Option<String>) -> Parsed {
    let document = Document::parse(text);
    match document.root {
        Some(root) => parse::tree(&root, document.problems, base, &lookup),
        None => Parsed {
            blank: document.problems.is_empty(),
            problems: document.problems,
            ..Parsed::default()
        },
    }
}

/// Reads a configuration that is no text, such as one that a host sends; its problems have no ranges.
pub fn parse_value(
    value: &Map<String, Value>,
    base: &Path,
    lookup: impl Fn(&str) -> Option<String>,
) -> Parsed {
    parse::tree(&Node::of_object(value), Vec::new(), base, &lookup)
}

/// What changes when `new` takes the place of `old`.
pub fn diff(old: &Config, new: &Config) -> Diff {
    diff::diff(old, new)
}

/// The JSON Schema (2020-12) of a configuration file, with descriptions, defaults and examples.
pub fn json_schema() -> Value {
    json_schema::json_schema()
}

/// What came of reading a configuration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parsed {
    /// What is in order; everything else has its default, or is left out.
    pub config: Config,
    pub problems: Vec<Problem>,
    /// Servers that cannot be used, in the order of the file, with the reason.
    pub broken: Vec<(ServerName, String)>,
    /// Whether there is nothing but comments, as in a file that an editor has not finished writing.
    pub blank: bool,
}

impl Parsed {
    pub fn has_errors(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }
}

/// What is different between two configurations: every server of both in one of the first four lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diff {
    pub added: Vec<ServerName>,
    pub removed: Vec<ServerName>,
    pub changed: Vec<ServerName>,
    pub unchanged: Vec<ServerName>,
    /// Those of `changed` whose connection has to be made anew.
    pub restarted: Vec<ServerName>,
    pub tool_search_changed: bool,
    pub output_changed: bool,
}

/// A whole configuration: every value checked and every `${VAR}` expanded.
#[derive(Clone, PartialEq, Default)]
pub struct Config {
    pub servers: BTreeMap<ServerName, ServerConfig>,
    pub tool_search: ToolSearchConfig,
    pub output: OutputConfig,
    /// What was put in for variables; see `secrets`.
    pub expanded: BTreeSet<String>,
}

/// One entry of `mcp_servers`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    pub enabled: bool,
    pub transport: TransportConfig,
    pub tools: ToolFilter,
    /// How long a call may be silent; progress starts it anew.
    pub timeout: Duration,
    /// How long a call may take in all.
    pub max_timeout: Duration,
    /// From the start of the process to its list of tools.
    pub connect_timeout: Duration,
    /// Calls in flight at once; `None` for no limit.
    pub max_concurrency: Option<usize>,
    /// How often an idle connection is checked; `None` for never.
    pub keepalive: Option<Duration>,
    pub protocol: Protocol,
    pub trust: Trust,
    pub approval: Approval,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TransportConfig {
    Stdio(StdioConfig),
    Http(HttpConfig),
}

#[derive(Clone, PartialEq)]
pub struct StdioConfig {
    pub command: String,
    pub args: Vec<String>,
    /// Laid over the safe part of the sidecar's own environment.
    pub env: BTreeMap<String, String>,
    /// Names of variables passed on from the sidecar's own environment.
    pub env_from: Vec<String>,
    pub cwd: Option<PathBuf>,
}

#[derive(Clone, PartialEq)]
pub struct HttpConfig {
    /// To the letter, without outer blanks.
    pub url: String,
    pub headers: BTreeMap<String, String>,
    /// Whether the old HTTP+SSE transport is asked for.
    pub sse: bool,
}

/// Which of a server's tools are used, by the names that the server gave them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolFilter {
    /// `None` for all.
    include: Option<Globs>,
    /// Wins over `include`.
    exclude: Globs,
}

/// Which revisions of MCP are tried, in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// `initialize` first, the stateless revision on a refusal that says so.
    #[default]
    Auto,
    /// The stateless revision first.
    Stateless,
    /// `initialize` only.
    Legacy,
}

/// Whether a server's own words about its tools are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    #[default]
    Full,
    /// Hints are not believed, and a tool whose definition changed needs approval again.
    Untrusted,
}

/// What happens before a tool is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approval {
    #[default]
    Allow,
    /// The host is asked.
    Ask,
    Deny,
}

/// `tools.tool_search`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSearchConfig {
    pub enabled: ToolSearchMode,
    /// Percent of the model's context, 0 to 100.
    pub threshold_pct: f64,
    /// 1 to `max_search_limit`.
    pub search_default_limit: usize,
    /// 1 to 50.
    pub max_search_limit: usize,
    pub decision: DecisionScope,
    /// Estimated tokens of whole schemas in one search result.
    pub hit_tokens: usize,
    pub encoder: Encoder,
    /// A model's words → the name of a tool, as the model sees it.
    pub aliases: BTreeMap<String, String>,
    /// The name of a tool, as the model sees it → further words to find it by.
    pub keywords: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearchMode {
    #[default]
    Auto,
    On,
    Off,
}

/// For how long a decision between direct and bridged holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DecisionScope {
    #[default]
    Turn,
    /// The first decision of a session is kept until it is closed.
    Session,
}

/// The sentence encoder behind the ranking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Encoder {
    #[default]
    Off,
    /// A model found in the data folder or in an installed Python package.
    Auto,
    Path(PathBuf),
}

/// `tools.output`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutputConfig {
    /// Characters of a result that reach the model; `None` for the default.
    pub max_chars: Option<usize>,
    /// Where longer results are kept whole; `None` for a private folder of the system's temporary one.
    pub spill_dir: Option<PathBuf>,
}

impl ServerConfig {
    /// A server of this transport with every other value at its default.
    pub fn new(transport: TransportConfig) -> ServerConfig {
        ServerConfig {
            enabled: true,
            transport,
            tools: ToolFilter::default(),
            timeout: Duration::from_secs(300),
            max_timeout: Duration::from_secs(3600),
            connect_timeout: Duration::from_secs(60),
            max_concurrency: None,
            keepalive: Some(Duration::from_secs(180)),
            protocol: Protocol::default(),
            trust: Trust::default(),
            approval: Approval::default(),
        }
    }
}

impl Default for ToolSearchConfig {
    fn default() -> ToolSearchConfig {
        ToolSearchConfig {
            enabled: ToolSearchMode::Auto,
            threshold_pct: 10.0,
            search_default_limit: 5,
            max_search_limit: 20,
            decision: DecisionScope::Turn,
            hit_tokens: 800,
            encoder: Encoder::Off,
            aliases: BTreeMap::new(),
            keywords: BTreeMap::new(),
        }
    }
}

/// Something wrong with a configuration, where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub severity: Severity,
    pub message: String,
    /// JSON pointer (RFC 6901).
    pub path: String,
    pub range: Option<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    Hint,
}

/// Zero-based, the end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub start: Position,
    pub end: Position,
}

/// Zero-based; `character` counts UTF-16 code units, as in LSP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position {
    pub line: u32,
    pub character: u32,
}

#[cfg(test)]
mod tests;
