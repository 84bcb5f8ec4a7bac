//! Files as they are written for other hosts.

use super::*;

#[test]
fn a_hermes_configuration_works_as_it_is() {
    let text = HERMES;
    let parsed = parsed(text);
    let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
    expect!["52:5: hint: `idle_timeout_seconds` has no effect in toolcrib (/mcp_servers/files/idle_timeout_seconds)"]
        .assert_eq(&problems.join("\n"));
    let shown: Vec<_> = parsed
        .config
        .servers
        .iter()
        .map(|(name, server)| {
            format!(
                "{name} {} {:?} {:?} {:?}",
                server.enabled, server.timeout, server.keepalive, server.trust
            )
        })
        .collect();
    expect![[r#"
        files false 300s Some(180s) Untrusted
        github true 120s Some(180s) Full
        linear true 300s Some(60s) Full"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(parsed.config.tool_search.max_search_limit, 25);
    assert_eq!(parsed.config.secrets(), ["t0ken-value"]);
}

#[test]
fn a_dot_mcp_json_works_as_it_is() {
    let text = DOT_MCP_JSON;
    let parsed = parsed(text);
    let problems: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
    expect![[r#"14:80: hint: `alwaysAllow` has no effect in toolcrib, see `approval` (/mcpServers/old/alwaysAllow)"#]]
        .assert_eq(&problems.join("\n"));
    let transports: Vec<_> = parsed
        .config
        .servers
        .values()
        .map(|server| format!("{:?}", server.transport))
        .collect();
    expect![[r#"
        Stdio(StdioConfig { command: "/home/u/bin/db-server", n_args: 2, env: ["DB_URL", "NAME"], env_from: [], cwd: None })
        Http(HttpConfig { url: "http://localhost:8080/sse", headers: [], sse: true })
        Http(HttpConfig { url: "https://search.example.com/mcp", headers: ["Authorization"], sse: false })"#]]
    .assert_eq(&transports.join("\n"));
}

pub const HERMES: &str = r#"
model:
  default: some/model
  provider: auto
toolsets: [all]
terminal:
  backend: local
timeouts:
  mcp:
    tool_call: 200
mcp:
  client: true
mcp_discovery_timeout: 1.5
tools:
  connectors:
    enabled: true
  tool_search:
    enabled: auto
    threshold_pct: 5.0
    search_default_limit: 5
    max_search_limit: 25
    listing: auto
    listing_max_tokens: 4000
mcp_servers:
  github:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-github"]
    env:
      GITHUB_PERSONAL_ACCESS_TOKEN: ${TOKEN}
    timeout: 120
    connect_timeout: 60
    tools:
      include: [create_issue, "list_*"]
      resources: false
      prompts: false
    supports_parallel_tool_calls: true
  linear:
    url: https://mcp.linear.app/mcp
    auth: oauth
    oauth:
      client_name: Hermes Agent
      scope: read
    keepalive_interval: 60
    sampling:
      enabled: false
  files:
    command: uvx
    args: mcp-server-files --root "~/my notes"
    enabled: off
    trust: untrusted
    lazy: true
    idle_timeout_seconds: 600
"#;

pub const DOT_MCP_JSON: &str = r#"{
	"mcpServers": {
		"database": {
			"type": "stdio",
			"command": "${userHome}/bin/db-server",
			"args": ["--config", "${DB_CONFIG:-/etc/db.json}"],
			"env": {"DB_URL": "${DB_URL:-postgres:\/\/localhost\/x}", "NAME": "\ud83d\ude00"}
		},
		"search": {
			"type": "http",
			"url": "https://search.example.com/mcp",
			"headers": {"Authorization": "Bearer ${TOKEN}"}
		},
		"old": {"type": "sse", "url": "http://localhost:8080/sse", "disabled": true, "alwaysAllow": []}
	}
}
"#;
