//! Makes a server of one entry of `mcp_servers`.

use crate::config::document::node::Content;
use crate::config::document::spot::Spot;
use crate::config::keys;
use crate::config::read::{Reader, Reading, Readings};
use crate::config::{
    Approval, HttpConfig, Protocol, ServerConfig, Severity, StdioConfig, ToolFilter,
    TransportConfig, Trust,
};

/// Reads one entry; `None`, with a problem, where it does not say how the server is reached.
pub fn read(reader: &mut Reader<'_>, spot: &Spot<'_>) -> Option<ServerConfig> {
    if spot.entries().is_none() {
        let kind = spot.node.content.kind();
        let message = format!("must be a mapping with `command` or `url`, not {kind}");
        reader.at_key(spot, Severity::Error, message);
        return None;
    }
    // A server is often switched off because there is no token for it.
    let off = is_switched_off(spot);
    reader.unset = if off { Severity::Hint } else { Severity::Error };
    let entry = reader.table(spot, &keys::SERVER);
    let server = of_entry(reader, spot, &entry, off);
    reader.unset = Severity::Error;
    server
}

fn of_entry(
    reader: &mut Reader<'_>,
    spot: &Spot<'_>,
    entry: &Readings<'_>,
    off: bool,
) -> Option<ServerConfig> {
    let tools = tool_filter(reader, entry);
    let enabled = is_enabled(reader, entry);
    let transport = transport(reader, spot, entry, off)?;
    let mut server = ServerConfig::new(transport);
    server.enabled = enabled;
    server.tools = tools;
    if let Some(timeout) = entry.duration("timeout") {
        server.timeout = timeout;
    }
    server.max_timeout = server.max_timeout.max(server.timeout);
    if let Some(timeout) = entry.duration("max_timeout") {
        server.max_timeout = timeout;
    }
    if let Some(timeout) = entry.duration("connect_timeout") {
        server.connect_timeout = timeout;
    }
    server.max_concurrency = match entry.word("supports_parallel_tool_calls") {
        Some("off") => Some(1),
        _ => None,
    };
    if let Some(calls) = entry.count("max_concurrency") {
        server.max_concurrency = Some(calls);
    }
    match entry.get("keepalive").map(|given| &given.reading) {
        Some(Reading::Duration(interval)) => server.keepalive = Some(*interval),
        Some(Reading::Never) => server.keepalive = None,
        _ => {}
    }
    server.protocol = match entry.word("protocol") {
        Some("stateless") => Protocol::Stateless,
        Some("legacy") => Protocol::Legacy,
        _ => Protocol::Auto,
    };
    server.trust = match entry.word("trust") {
        Some("untrusted") => Trust::Untrusted,
        _ => Trust::Full,
    };
    server.approval = match entry.word("approval") {
        Some("ask") => Approval::Ask,
        Some("deny") => Approval::Deny,
        _ => Approval::Allow,
    };
    warn_of_short_maximum(reader, entry, &server);
    Some(server)
}

/// How the server is reached: by `transport` where it says so, else by `url`, else by `command`.
fn transport(
    reader: &mut Reader<'_>,
    spot: &Spot<'_>,
    entry: &Readings<'_>,
    off: bool,
) -> Option<TransportConfig> {
    let asked = entry.word("transport");
    let url = entry.text("url");
    let command = entry.text("command");
    let over_http = match asked {
        Some("stdio") => false,
        Some(_) => true,
        None => url.is_some(),
    };
    let missing = match (over_http, &url, &command) {
        (true, None, _) => "needs `url`",
        (false, _, None) if asked.is_some() => "needs `command`",
        (false, _, None) => "needs `command` or `url`",
        _ => "",
    };
    if !missing.is_empty() {
        let unusable = ["url", "command"].map(|name| given_but_wrong(spot, entry, name));
        if !unusable.contains(&true) {
            let severity = if off {
                Severity::Warning
            } else {
                Severity::Error
            };
            reader.at_key(spot, severity, missing);
        }
        return None;
    }
    warn_of_unused(reader, entry, over_http);
    if over_http {
        return Some(TransportConfig::Http(HttpConfig {
            url: url?,
            headers: entry.text_map("headers").unwrap_or_default(),
            sse: asked == Some("sse"),
        }));
    }
    Some(TransportConfig::Stdio(StdioConfig {
        command: command?,
        args: entry.texts("args").unwrap_or_default(),
        env: entry.text_map("env").unwrap_or_default(),
        env_from: entry.texts("env_from").unwrap_or_default(),
        cwd: entry.path("cwd"),
    }))
}

/// Whether a key has a value that could not be read, which was reported already.
fn given_but_wrong(spot: &Spot<'_>, entry: &Readings<'_>, name: &str) -> bool {
    let given = spot.entries().unwrap_or_default().iter().any(|it| {
        let key = keys::SERVER.find(&it.key);
        key.is_some_and(|key| key.name == name) && it.value.content != Content::Null
    });
    given && entry.get(name).is_none()
}

fn warn_of_unused(reader: &mut Reader<'_>, entry: &Readings<'_>, over_http: bool) {
    let (used, other, details): (&str, &str, &[&str]) = if over_http {
        ("url", "command", &["args", "env", "env_from", "cwd"])
    } else {
        ("command", "url", &["headers"])
    };
    for given in entry.iter() {
        let name = given.key.name;
        if name == other {
            let message = format!("`{other}` is not used because there is `{used}`");
            reader.at_key(&given.spot, Severity::Warning, message);
        } else if details.contains(&name) {
            let message = format!("`{name}` has no effect with `{used}`");
            reader.at_key(&given.spot, Severity::Hint, message);
        }
    }
}

fn warn_of_short_maximum(reader: &mut Reader<'_>, entry: &Readings<'_>, server: &ServerConfig) {
    if server.max_timeout < server.timeout
        && entry.get("timeout").is_some()
        && let Some(given) = entry.get("max_timeout")
    {
        let message = "is shorter than `timeout`, which has no effect then";
        reader.at_value(&given.spot, Severity::Warning, message);
    }
}

fn tool_filter(reader: &mut Reader<'_>, entry: &Readings<'_>) -> ToolFilter {
    let Some(given) = entry.get("tools") else {
        return ToolFilter::default();
    };
    let table = reader.table(&given.spot, &keys::SERVER_TOOLS);
    ToolFilter {
        include: table.globs("include"),
        exclude: table.globs("exclude").unwrap_or_default(),
    }
}

fn is_enabled(reader: &mut Reader<'_>, entry: &Readings<'_>) -> bool {
    let enabled = entry.word("enabled").map(|word| word == "on");
    let disabled = entry.word("disabled").map(|word| word == "on");
    if let (Some(enabled), Some(disabled)) = (enabled, disabled)
        && enabled == disabled
        && let Some(given) = entry.get("disabled")
    {
        let message = "contradicts `enabled`, the server is not used";
        reader.at_value(&given.spot, Severity::Warning, message);
    }
    enabled != Some(false) && disabled != Some(true)
}

/// Whether an entry is switched off, as far as that can be seen before it is read.
fn is_switched_off(spot: &Spot<'_>) -> bool {
    let says = |name: &str, words: [&str; 4]| {
        let mut entries = spot.entries().unwrap_or_default().iter();
        let value = entries.find(|entry| entry.key == name);
        let text = value.and_then(|entry| entry.value.content.scalar_text());
        text.is_some_and(|text| {
            words
                .iter()
                .any(|word| text.trim().eq_ignore_ascii_case(word))
        })
    };
    says("enabled", ["false", "off", "no", "0"]) || says("disabled", ["true", "on", "yes", "1"])
}
