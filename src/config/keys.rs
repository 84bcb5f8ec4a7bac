//! Every key that a configuration may hold: what it takes, what it does, what it is when absent.
//!
//! One table drives the parser, the JSON Schema and the editor, so that they cannot disagree.

use crate::config::kind::Kind;

/// One key of a table.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// The same key as other hosts spell it.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    /// What it does, in Markdown.
    pub doc: &'static str,
    /// JSON; empty for none.
    pub default: &'static str,
    /// JSON values.
    pub examples: &'static [&'static str],
    pub effect: Effect,
}

/// Whether toolcrib acts on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Here,
    /// Known from another host and accepted without a word.
    Elsewhere,
    /// Known from another host; a hint says that it changes nothing here, and what does.
    Nothing(&'static str),
}

/// The keys of one kind of mapping.
#[derive(Debug)]
pub struct Table {
    pub keys: &'static [Key],
    /// Whether others keep keys of their own here, which are left alone.
    pub shared: bool,
    /// Keys of other hosts with what to write instead.
    pub instead: &'static [(&'static str, &'static str)],
}

impl Table {
    /// The key of this name or alias.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys
            .iter()
            .find(|key| key.name == name || key.aliases.contains(&name))
    }

    /// Names and aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys
            .iter()
            .flat_map(|key| key.aliases.iter().copied().chain([key.name]))
    }
}

/// Whether a key is a remark or an extension, which is nobody's mistake.
pub fn is_remark(name: &str) -> bool {
    REMARKS.iter().any(|prefix| name.starts_with(prefix))
}

/// How keys begin that are remarks or extensions.
pub const REMARKS: [&str; 4] = ["_", "x-", "$", "//"];

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key {
        name,
        aliases: &[],
        kind,
        doc,
        default: "",
        examples: &[],
        effect: Effect::Here,
    }
}

/// A key of another host that changes nothing here.
const fn elsewhere(name: &'static str, effect: Effect) -> Key {
    Key {
        effect,
        ..key(
            name,
            Kind::Any,
            "Known from other hosts; has no effect in toolcrib.",
        )
    }
}

impl Key {
    const fn aliases(self, aliases: &'static [&'static str]) -> Key {
        Key { aliases, ..self }
    }

    const fn default(self, default: &'static str) -> Key {
        Key { default, ..self }
    }

    const fn examples(self, examples: &'static [&'static str]) -> Key {
        Key { examples, ..self }
    }
}

const SWITCH: Kind = Kind::Word {
    accepted: &[
        ("true", "on"),
        ("false", "off"),
        ("on", "on"),
        ("off", "off"),
        ("yes", "on"),
        ("no", "off"),
        ("1", "on"),
        ("0", "off"),
    ],
    otherwise: None,
};

pub static TOP: Table = Table {
    keys: &[
        key(
            "mcp_servers",
            Kind::Servers,
            "The MCP servers, by name. A tool `t` of a server `s` is shown to the model as `mcp_s_t`.",
        )
        .aliases(&["mcpServers"])
        .examples(&[r#"{"github": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN:-}"}}}"#]),
        key(
            "tools",
            Kind::Table(&TOOLS),
            "How tools and their results are shown to the model.",
        ),
    ],
    shared: true,
    instead: &[],
};

pub static TOOLS: Table = Table {
    keys: &[
        key(
            "tool_search",
            Kind::TableOr {
                table: &TOOL_SEARCH,
                short: &[
                    ("true", "auto"),
                    ("false", "off"),
                    ("on", "on"),
                    ("off", "off"),
                    ("auto", "auto"),
                    ("yes", "auto"),
                    ("no", "off"),
                    ("1", "auto"),
                    ("0", "off"),
                ],
            },
            "When tools are replaced by `tool_search`, `tool_describe` and `tool_call`. \
             `true` stands for `{enabled: auto}`, `false` for `{enabled: off}`.",
        )
        .examples(&["true", r#"{"enabled": "auto", "threshold_pct": 10}"#]),
        key(
            "output",
            Kind::Table(&OUTPUT),
            "What happens to long results.",
        ),
    ],
    shared: true,
    instead: &[],
};

pub static TOOL_SEARCH: Table = Table {
    keys: &[
        key(
            "enabled",
            Kind::Word {
                accepted: &[
                    ("auto", "auto"),
                    ("on", "on"),
                    ("off", "off"),
                    ("true", "on"),
                    ("false", "off"),
                    ("yes", "on"),
                    ("no", "off"),
                    ("1", "on"),
                    ("0", "off"),
                ],
                otherwise: None,
            },
            "`auto`: tools are searched for when their schemas take more of the model's context than `threshold_pct`; \
             `on`: always; `off`: never.",
        )
        .default(r#""auto""#),
        key(
            "threshold_pct",
            Kind::Number { least: 0.0, most: 100.0 },
            "With `enabled: auto`, the percentage of the model's context from which on tools are searched for.",
        )
        .default("10")
        .examples(&["5", "12.5"]),
        key(
            "search_default_limit",
            Kind::Count { least: 1, most: 50 },
            "How many tools a search finds when the model names no limit; at most `max_search_limit`.",
        )
        .default("5"),
        key(
            "max_search_limit",
            Kind::Count { least: 1, most: 50 },
            "How many tools a search may find at most.",
        )
        .default("20"),
        key(
            "decision",
            Kind::Word {
                accepted: &[("turn", "turn"), ("session", "session")],
                otherwise: None,
            },
            "`turn`: whether tools are searched for is decided anew each turn; \
             `session`: a session keeps its first decision, which keeps the model's prompt cache warm.",
        )
        .default(r#""turn""#),
        key(
            "hit_tokens",
            Kind::Count { least: 0, most: 100_000 },
            "How many tokens of whole schemas one search may return, so that the model need not ask for them.",
        )
        .default("800"),
        key(
            "encoder",
            Kind::PathOr(&[("off", "off"), ("false", "off"), ("auto", "auto"), ("on", "auto"), ("true", "auto")]),
            "The sentence encoder that helps the ranking with other words and languages: `off`, `auto` \
             (a model found on this machine) or the folder of a model.",
        )
        .default(r#""off""#)
        .examples(&[r#""auto""#, r#""~/models/all-MiniLM-L6-v2""#]),
        key(
            "aliases",
            Kind::TextMap,
            "Words of yours for a tool, by the name that the model sees.",
        )
        .examples(&[r#"{"ticket": "mcp_jira_create_issue"}"#]),
        key(
            "keywords",
            Kind::TextsMap,
            "Further words to find a tool by, under the name that the model sees.",
        )
        .examples(&[r#"{"mcp_jira_create_issue": ["ticket", "bug report"]}"#]),
        elsewhere("listing", Effect::Elsewhere),
        elsewhere("listing_max_tokens", Effect::Elsewhere),
        elsewhere("defer", Effect::Nothing("the host says per tool whether it may be deferred")),
    ],
    shared: false,
    instead: &[],
};

pub static OUTPUT: Table = Table {
    keys: &[
        key(
            "max_chars",
            Kind::Count { least: 100, most: 100_000_000 },
            "How many characters of a result reach the model; the rest is kept in a file that the model is told of.",
        )
        .examples(&["50000"]),
        key(
            "spill_dir",
            Kind::Path,
            "Where longer results are kept whole; by default a private folder that is removed at the end.",
        )
        .examples(&[r#""~/.cache/toolcrib/results""#]),
    ],
    shared: false,
    instead: &[],
};

pub static SERVER: Table = Table {
    keys: &[
        key(
            "command",
            Kind::Program,
            "The program to start, which speaks MCP over its standard input and output.",
        )
        .examples(&[r#""npx""#, r#""uvx""#, r#""/usr/local/bin/my-server""#]),
        key(
            "args",
            Kind::Arguments,
            "Its arguments. No shell sees them; a text is split at blanks, quotes hold together.",
        )
        .default("[]")
        .examples(&[r#"["-y", "@modelcontextprotocol/server-filesystem", "${userHome}/notes"]"#]),
        key(
            "env",
            Kind::Environment,
            "Variables for the program, on top of a small safe part of toolcrib's own (`PATH`, `HOME`, …).",
        )
        .aliases(&["envVars", "environment"])
        .default("{}")
        .examples(&[r#"{"LOG_LEVEL": "debug", "PORT": 8080}"#]),
        key(
            "env_from",
            Kind::VariableNames,
            "Names of variables that are passed on from toolcrib's own environment.",
        )
        .aliases(&["envFrom", "env_vars"])
        .default("[]")
        .examples(&[r#"["GITHUB_TOKEN", "HTTPS_PROXY"]"#]),
        key(
            "cwd",
            Kind::Path,
            "The folder to start the program in, relative to the configuration file.",
        )
        .aliases(&["workdir", "workingDirectory", "working_directory"])
        .examples(&[r#""~/projects/app""#, r#""./server""#]),
        key(
            "url",
            Kind::Url,
            "The address of a server that speaks MCP over HTTP.",
        )
        .aliases(&["serverUrl", "httpUrl"])
        .examples(&[r#""https://mcp.example.com/mcp""#]),
        key(
            "headers",
            Kind::Headers,
            "HTTP headers to send with every request.",
        )
        .aliases(&["http_headers"])
        .default("{}")
        .examples(&[r#"{"Authorization": "Bearer ${TOKEN:-none}"}"#]),
        key(
            "transport",
            Kind::Word {
                accepted: &[
                    ("stdio", "stdio"),
                    ("http", "http"),
                    ("sse", "sse"),
                    ("streamable-http", "http"),
                    ("streamable_http", "http"),
                    ("streamablehttp", "http"),
                    ("streamableHttp", "http"),
                    ("local", "stdio"),
                    ("remote", "http"),
                ],
                otherwise: None,
            },
            "How the server is spoken to. By default `stdio` with a `command` and `http` with a `url`; \
             `sse` is the old HTTP transport, which is also tried by itself where the new one is refused.",
        )
        .aliases(&["type", "transportType"]),
        key(
            "timeout",
            Kind::Duration { least: 0.01, most: 604_800.0 },
            "How long a call may go without an answer or progress, in seconds.",
        )
        .aliases(&["tool_timeout_sec"])
        .default("300")
        .examples(&["30", r#""500ms""#, r#""2m""#]),
        key(
            "max_timeout",
            Kind::Duration { least: 0.01, most: 604_800.0 },
            "How long a call may take in all, whatever progress it reports, in seconds.",
        )
        .aliases(&["maxTimeout"])
        .default("3600")
        .examples(&[r#""30m""#]),
        key(
            "connect_timeout",
            Kind::Duration { least: 0.01, most: 86_400.0 },
            "How long a server may take from its start to its list of tools, in seconds.",
        )
        .aliases(&["connectTimeout", "startup_timeout_sec"])
        .default("60")
        .examples(&["120"]),
        key(
            "max_concurrency",
            Kind::Count { least: 1, most: 10_000 },
            "How many calls may be on their way to the server at once; by default as many as come.",
        )
        .aliases(&["maxConcurrency"])
        .examples(&["1", "8"]),
        key(
            "keepalive",
            Kind::Interval { least: 0.05, most: 86_400.0 },
            "How often an idle connection is checked, in seconds; `false` or `0` for never.",
        )
        .aliases(&["keepalive_interval"])
        .default("180")
        .examples(&["30", "false"]),
        key(
            "protocol",
            Kind::Word {
                accepted: &[("auto", "auto"), ("stateless", "stateless"), ("legacy", "legacy")],
                otherwise: None,
            },
            "`auto`: `initialize` first, the stateless protocol where the server asks for it; \
             `stateless`: the other way round; `legacy`: `initialize` only.",
        )
        .default(r#""auto""#),
        key(
            "trust",
            Kind::Word {
                accepted: &[("full", "full"), ("untrusted", "untrusted")],
                otherwise: Some("untrusted"),
            },
            "`untrusted`: the server's hints such as *read-only* are not believed, and a tool whose definition \
             changed needs approval again.",
        )
        .default(r#""full""#),
        key(
            "approval",
            Kind::Word {
                accepted: &[("allow", "allow"), ("ask", "ask"), ("deny", "deny")],
                otherwise: None,
            },
            "What happens before a tool of this server runs: nothing, the host is asked, or it is refused.",
        )
        .default(r#""allow""#),
        key("enabled", SWITCH, "Whether the server is used.").default("true"),
        key("disabled", SWITCH, "The opposite of `enabled`, as some hosts spell it.").default("false"),
        key(
            "tools",
            Kind::Table(&SERVER_TOOLS),
            "Which of the server's tools are used, by the names that the server gives them.",
        )
        .examples(&[r#"{"include": ["get_*", "list_*"], "exclude": ["list_secrets"]}"#]),
        key(
            "supports_parallel_tool_calls",
            SWITCH,
            "`false` is short for `max_concurrency: 1`.",
        ),
        elsewhere("auth", Effect::Elsewhere),
        elsewhere("oauth", Effect::Elsewhere),
        elsewhere("lazy", Effect::Elsewhere),
        elsewhere("sampling", Effect::Elsewhere),
        elsewhere("elicitation", Effect::Elsewhere),
        elsewhere("description", Effect::Elsewhere),
        elsewhere("idle_timeout_seconds", Effect::Nothing("")),
        elsewhere("max_lifetime_seconds", Effect::Nothing("")),
        elsewhere("lifecycle", Effect::Nothing("")),
        elsewhere("ssl_verify", Effect::Nothing("")),
        elsewhere("client_cert", Effect::Nothing("")),
        elsewhere("client_key", Effect::Nothing("")),
        elsewhere("identity_header", Effect::Nothing("write it to `headers`")),
        elsewhere(
            "strict_redirect_headers",
            Effect::Nothing(""),
        ),
        elsewhere("skip_preflight", Effect::Elsewhere),
        elsewhere("alwaysAllow", Effect::Nothing("see `approval`")),
        elsewhere("autoApprove", Effect::Nothing("see `approval`")),
    ],
    shared: false,
    instead: &[
        ("includeTools", "tools: {include: […]}"),
        ("excludeTools", "tools: {exclude: […]}"),
        ("enabled_tools", "tools: {include: […]}"),
        ("disabled_tools", "tools: {exclude: […]}"),
        ("disabledTools", "tools: {exclude: […]}"),
        ("bearer_token_env_var", "headers: {Authorization: \"Bearer ${NAME}\"}"),
        ("env_http_headers", "headers: {NAME: \"${VARIABLE}\"}"),
        ("envFile", "env_from: […]"),
        ("include", "tools: {include: […]}"),
        ("exclude", "tools: {exclude: […]}"),
    ],
};

pub static SERVER_TOOLS: Table = Table {
    keys: &[
        key(
            "include",
            Kind::Globs,
            "Only tools whose names fit one of these globs.",
        )
        .examples(&[r#"["get_*", "list_*"]"#, r#""search""#]),
        key(
            "exclude",
            Kind::Globs,
            "No tools whose names fit one of these globs, whatever `include` says.",
        )
        .examples(&[r#"["delete_*"]"#]),
        elsewhere("resources", Effect::Elsewhere),
        elsewhere("prompts", Effect::Elsewhere),
    ],
    shared: false,
    instead: &[],
};
