//! Checks what configurations mean, and what is said of those that are wrong.

use std::path::Path;

use expect_test::{Expect, expect};

use super::*;

mod samples;

/// The variables that tests know.
fn lookup(name: &str) -> Option<String> {
    let value = match name {
        "TOKEN" => "t0ken-value",
        "EMPTY" => "",
        "NEWLINE" => "t0ken-value\n",
        "EVIL" => "a b;$(touch x) \"q\", x: ${TOKEN}\nmcp_servers: {}",
        "SECONDS" => "12",
        "userHome" => "/home/u",
        "workspaceFolder" => "/srv",
        "pathSeparator" | "/" => "/",
        _ => return None,
    };
    Some(value.to_owned())
}

fn parsed(text: &str) -> Parsed {
    parse(text, Path::new("/etc/crib"), lookup)
}

/// Shows every problem with the text that its range covers.
fn problems(text: &str) -> String {
    let mut shown = String::new();
    for problem in parsed(text).problems {
        let line = match problem.range {
            Some(range) if range.start.line == range.end.line => {
                let line = text.lines().nth(range.start.line as usize).unwrap_or("");
                let units: Vec<u16> = line.encode_utf16().collect();
                let (from, to) = (range.start.character, range.end.character);
                String::from_utf16(&units[from as usize..to as usize]).unwrap()
            }
            Some(_) => "…".to_owned(),
            None => "-".to_owned(),
        };
        shown.push_str(&format!("{problem} <{line}>\n"));
    }
    shown
}

fn check_problems(text: &str, expected: Expect) {
    expected.assert_eq(&problems(text));
}

/// Problems of one server's entry, given in flow style.
fn check_server(entry: &str, expected: Expect) {
    check_problems(&format!("mcp_servers: {{s: {entry}}}"), expected);
}

/// The one server of a configuration without problems.
fn server(entry: &str) -> ServerConfig {
    let text = format!("mcp_servers: {{s: {entry}}}");
    let parsed = parsed(&text);
    assert_eq!(parsed.problems, [], "{text}");
    let (_, server) = parsed.config.servers.into_iter().next().unwrap();
    server
}

fn stdio(entry: &str) -> StdioConfig {
    match server(entry).transport {
        TransportConfig::Stdio(stdio) => stdio,
        TransportConfig::Http(http) => panic!("{http:?}"),
    }
}

fn http(entry: &str) -> HttpConfig {
    match server(entry).transport {
        TransportConfig::Http(http) => http,
        TransportConfig::Stdio(stdio) => panic!("{stdio:?}"),
    }
}

fn tool_search(value: &str) -> ToolSearchConfig {
    parsed(&format!("tools: {{tool_search: {value}}}"))
        .config
        .tool_search
}

#[test]
fn one_bad_entry_disables_no_other() {
    let text = "\
mcp_servers:
  nothing:
  text: npx
  list: [npx]
  neither: {env: {A: 1}}
  both: {url: https://h/mcp, command: npx}
  good: {command: npx}
  '': {command: npx}
  bad: {command: npx, timeout: soon}
";
    let parsed = parsed(text);
    let names: Vec<_> = parsed
        .config
        .servers
        .keys()
        .map(ServerName::as_str)
        .collect();
    assert_eq!(names, ["both", "good"]);
    check_problems(
        text,
        expect![[r#"
            2:3: error: must be a mapping with `command` or `url`, not nothing (/mcp_servers/nothing) <nothing>
            3:3: error: must be a mapping with `command` or `url`, not text (/mcp_servers/text) <text>
            4:3: error: must be a mapping with `command` or `url`, not a list (/mcp_servers/list) <list>
            5:3: error: needs `command` or `url` (/mcp_servers/neither) <neither>
            6:30: warning: `command` is not used because there is `url` (/mcp_servers/both/command) <command>
            8:3: error: a server needs a name that is not blank (/mcp_servers/) <''>
            9:32: error: must be a time above 0, in seconds or such as `500ms`, `30s`, `2m` (/mcp_servers/bad/timeout) <soon>
        "#]],
    );
    let broken: Vec<_> = parsed
        .broken
        .iter()
        .map(|(name, reason)| format!("{name}: {reason}"))
        .collect();
    expect![[r#"
        nothing: must be a mapping with `command` or `url`, not nothing
        text: must be a mapping with `command` or `url`, not text
        list: must be a mapping with `command` or `url`, not a list
        neither: needs `command` or `url`
        bad: `timeout`: must be a time above 0, in seconds or such as `500ms`, `30s`, `2m`"#]]
    .assert_eq(&broken.join("\n"));
}

#[test]
fn unknown_keys_are_warned_of_with_the_nearest_one() {
    check_server(
        "{comand: npx, command: npx, tools: {includes: []}, frobnicate: 1, _note: x, x-y: 1}",
        expect![[r#"
            1:19: warning: unknown key `comand`, did you mean `command`? (/mcp_servers/s/comand) <comand>
            1:54: warning: unknown key `includes`, did you mean `include`? (/mcp_servers/s/tools/includes) <includes>
            1:69: warning: unknown key `frobnicate` (/mcp_servers/s/frobnicate) <frobnicate>
        "#]],
    );
    check_problems(
        "tools:\n  tool_search: {treshold_pct: 5, mode: auto}\n  outputs: {}\nmcp-servers: {}\n",
        expect![[r#"
            2:17: warning: unknown key `treshold_pct`, did you mean `threshold_pct`? (/tools/tool_search/treshold_pct) <treshold_pct>
            2:34: warning: unknown key `mode` (/tools/tool_search/mode) <mode>
            3:3: warning: unknown key `outputs`, did you mean `output`? (/tools/outputs) <outputs>
            4:1: warning: unknown key `mcp-servers`, did you mean `mcpServers`? (/mcp-servers) <mcp-servers>
        "#]],
    );
}

#[test]
fn keys_of_others_are_left_alone() {
    check_problems(
        "model: {default: x}\ntoolsets: [a]\ntools: {connectors: {enabled: true}}\nmcp: {client: true}\nmcp_servers: {}\n",
        expect![""],
    );
}

#[test]
fn servers_under_another_name_are_hinted_at() {
    check_problems(
        "{\"servers\": {\"a\": {\"command\": \"x\"}}}",
        expect![[r#"
            1:2: hint: `servers` is not read, servers are looked for in `mcp_servers` (/servers) <"servers">
        "#]],
    );
}

#[test]
fn keys_of_other_hosts_mean_what_they_mean_there() {
    let stdio = stdio(
        "{type: stdio, command: c, workdir: sub, envVars: {A: 1}, env_vars: [B], disabled: false}",
    );
    assert_eq!(stdio.cwd.unwrap(), Path::new("/etc/crib/sub"));
    assert_eq!(stdio.env["A"], "1");
    assert_eq!(stdio.env_from, ["B"]);
    let http = http("{type: streamableHttp, serverUrl: 'https://h', http_headers: {X: y}}");
    assert_eq!(
        (http.url.as_str(), http.headers["X"].as_str()),
        ("https://h", "y")
    );
    assert!(!http.sse);
    let server =
        server("{command: c, startup_timeout_sec: 5, tool_timeout_sec: 6, keepalive_interval: 7}");
    assert_eq!(server.connect_timeout, Duration::from_secs(5));
    assert_eq!(server.timeout, Duration::from_secs(6));
    assert_eq!(server.keepalive, Some(Duration::from_secs(7)));
    check_server(
        "{command: c, excludeTools: [x], autoApprove: [y], type: http, transport: stdio, sampling: {enabled: false}}",
        expect![[r#"
            1:15: error: needs `url` (/mcp_servers/s) <s>
            1:31: warning: `excludeTools` is not read, write `tools: {exclude: […]}` (/mcp_servers/s/excludeTools) <excludeTools>
            1:50: hint: `autoApprove` has no effect in toolcrib, see `approval` (/mcp_servers/s/autoApprove) <autoApprove>
            1:80: warning: `transport` means the same as `type`, which is used (/mcp_servers/s/transport) <transport>
        "#]],
    );
}

#[test]
fn transports_are_chosen() {
    assert!(http("{url: 'http://h/sse', transport: sse}").sse);
    assert!(!http("{url: ' HTTPS://h:1/x '}").sse);
    assert_eq!(http("{url: ' HTTPS://h:1/x '}").url, "HTTPS://h:1/x");
    assert_eq!(
        http("{url: 'https://h', command: null, args: null, env: null}").url,
        "https://h"
    );
    check_server(
        "{url: 'https://h', command: c, type: stdio}",
        expect![[r#"
            1:19: warning: `url` is not used because there is `command` (/mcp_servers/s/url) <url>
        "#]],
    );
    check_server(
        "{command: c, transport: websocket}",
        expect![[r#"
            1:42: error: must be `stdio`, `http` or `sse` (/mcp_servers/s/transport) <websocket>
        "#]],
    );
    for url in [
        "h/mcp",
        "ws://h",
        "https://",
        "http:///x",
        "https://a b",
        "' '",
    ] {
        let found = problems(&format!("mcp_servers: {{s: {{url: {url}}}}}"));
        assert!(found.contains("must be an address"), "{url}: {found}");
    }
    check_server(
        "{url: 'https://h', env: {A: 1}}",
        expect![[r#"
            1:37: hint: `env` has no effect with `url` (/mcp_servers/s/env) <env>
        "#]],
    );
}

#[test]
fn arguments_come_in_many_forms() {
    let args = |args: &str| stdio(&format!("{{command: c, args: {args}}}")).args;
    assert_eq!(args("[a b, 1.10, true, '']"), ["a b", "1.10", "true", ""]);
    assert_eq!(args("null"), [""; 0]);
    assert_eq!(args("'[\"a b\", 2, false]'"), ["a b", "2", "false"]);
    assert_eq!(args("'-y \"a b\" $HOME'"), ["-y", "a b", "$HOME"]);
    assert_eq!(
        args("'${EVIL} ${TOKEN}'"),
        [lookup("EVIL").unwrap(), lookup("TOKEN").unwrap()]
    );
    check_server(
        "{command: c, args: [a, null, [b], {c: d}]}",
        expect![[r#"
            1:41: error: must be text, not nothing (/mcp_servers/s/args/1) <null>
            1:47: error: must be text, not a list (/mcp_servers/s/args/2) <[b]>
            1:52: error: must be text, not a mapping (/mcp_servers/s/args/3) <{c: d}>
        "#]],
    );
    for args in ["'[a'", "'{\"a\": 1}'", "'a \"b'", "'[[1]]'"] {
        let found = problems(&format!("mcp_servers: {{s: {{command: c, args: {args}}}}}"));
        assert!(
            found.contains("a text must be arguments with closed quotes or a JSON list"),
            "{found}"
        );
    }
    check_server(
        "{command: c, args: 5}",
        expect![[r#"
            1:37: error: must be a list of texts (/mcp_servers/s/args) <5>
        "#]],
    );
}

#[test]
fn environments_are_text_as_it_was_written() {
    let env = stdio("{command: c, env: {A: 1.10, B: True, C: on, D: 0x1F, E: ''}}").env;
    let env: Vec<_> = env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(env, ["A=1.10", "B=True", "C=on", "D=0x1F", "E="]);
    check_server(
        "{command: c, env: {A: , B: [1], 'C=D': x}}",
        expect![[r#"
            1:37: error: must be text, not nothing (/mcp_servers/s/env/A) <A>
            1:45: error: must be text, not a list (/mcp_servers/s/env/B) <[1]>
            1:50: error: `C=D` cannot be the name of a variable (/mcp_servers/s/env/C=D) <'C=D'>
        "#]],
    );
    check_server(
        "{command: c, env: [A=1], env_from: [A, '']}",
        expect![[r#"
            1:36: error: must be a mapping of names of variables to texts (/mcp_servers/s/env) <[A=1]>
            1:57: error: cannot be the name of a variable (/mcp_servers/s/env_from/1) <''>
        "#]],
    );
}

#[test]
fn headers_are_valid_headers() {
    let headers =
        http("{url: 'https://h', headers: {Authorization: ' Bearer x ', X-N: 5}}").headers;
    assert_eq!(headers["Authorization"], "Bearer x");
    assert_eq!(headers["X-N"], "5");
    check_server(
        "{url: 'https://h', headers: {'A B': x, C: \"a\\nb\"}}",
        expect![[r#"
            1:47: error: `A B` cannot be the name of a header (/mcp_servers/s/headers/A B) <'A B'>
            1:60: error: the value of a header must not hold line breaks or control characters (/mcp_servers/s/headers/C) <"a\nb">
        "#]],
    );
}

#[test]
fn variables_are_put_in_everywhere() {
    let stdio = stdio(
        "{command: '${userHome}/bin/x', args: ['${TOKEN}', '${NOPE:-d}'], env: {A: 'x${env:TOKEN}'}, cwd: '${workspaceFolder}${/}sub'}",
    );
    assert_eq!(stdio.command, "/home/u/bin/x");
    assert_eq!(stdio.args, ["t0ken-value", "d"]);
    assert_eq!(stdio.env["A"], "xt0ken-value");
    assert_eq!(stdio.cwd.unwrap(), Path::new("/srv/sub"));
    let http = http("{url: 'https://${NOPE:-h}/x', headers: {A: 'Bearer ${TOKEN}', B: '$${X}'}}");
    assert_eq!(http.url, "https://h/x");
    assert_eq!(http.headers["A"], "Bearer t0ken-value");
    assert_eq!(http.headers["B"], "${X}");
    let server = server(
        "{command: c, timeout: '${SECONDS}', enabled: '${NOPE:-off}', tools: {include: '${NOPE:-a*}'}}",
    );
    assert_eq!(server.timeout, Duration::from_secs(12));
    assert!(!server.enabled);
    assert!(server.tools.admits("ab") && !server.tools.admits("b"));
}

#[test]
fn a_variable_adds_nothing_but_text() {
    let stdio = stdio("{command: c, args: ['${EVIL}'], env: {A: '${EVIL}'}}");
    assert_eq!(stdio.args, [lookup("EVIL").unwrap()]);
    assert_eq!(stdio.env["A"], lookup("EVIL").unwrap());
}

#[test]
fn unset_variables_are_errors_that_name_them() {
    let text = "mcp_servers:\n  s:\n    command: c\n    env:\n      KEY: Bearer ${NOPE}\n  t:\n    command: d\n";
    check_problems(
        text,
        expect![[r#"
            5:12: error: the variable `NOPE` is not set, set it or write `${NOPE:-default}` (/mcp_servers/s/env/KEY) <Bearer ${NOPE}>
        "#]],
    );
    let parsed = parsed(text);
    assert_eq!(parsed.config.servers.len(), 1);
    assert_eq!(
        parsed.broken[0].1,
        "`env/KEY`: the variable `NOPE` is not set, set it or write `${NOPE:-default}`"
    );
}

#[test]
fn a_server_that_is_off_needs_no_variables() {
    let text =
        "mcp_servers: {s: {disabled: true, url: 'https://${NOPE}/', headers: {A: '${NOPE}'}}}";
    check_problems(
        text,
        expect![[r#"
            1:40: hint: the variable `NOPE` is not set, set it or write `${NOPE:-default}` (/mcp_servers/s/url) <'https://${NOPE}/'>
            1:73: hint: the variable `NOPE` is not set, set it or write `${NOPE:-default}` (/mcp_servers/s/headers/A) <'${NOPE}'>
        "#]],
    );
    let parsed = parsed(text);
    assert!(parsed.config.servers.values().all(|server| !server.enabled));
    assert_eq!(parsed.config.servers.len(), 1);
}

#[test]
fn hidden_blanks_and_empty_values_are_warned_of_once() {
    check_server(
        "{command: c, args: ['${NEWLINE}', '${EMPTY}'], env: {A: '${NEWLINE}', B: '${EMPTY:-d}'}}",
        expect![[r#"
            1:38: warning: the value of the variable `NEWLINE` begins or ends with a blank or a line break (/mcp_servers/s/args/0) <'${NEWLINE}'>
            1:52: warning: the value of the variable `EMPTY` is empty (/mcp_servers/s/args/1) <'${EMPTY}'>
        "#]],
    );
}

#[test]
fn times_have_units() {
    let timeout = |text: &str| server(&format!("{{command: c, timeout: {text}}}")).timeout;
    assert_eq!(timeout("30"), Duration::from_secs(30));
    assert_eq!(timeout("0.5"), Duration::from_millis(500));
    assert_eq!(timeout("500ms"), Duration::from_millis(500));
    assert_eq!(timeout("'1.5 s'"), Duration::from_millis(1500));
    assert_eq!(timeout("2m"), Duration::from_secs(120));
    assert_eq!(timeout("1h"), Duration::from_secs(3600));
    for bad in ["0", "-1", "soon", "5d", "[1]", "true", ".nan", "''", "1e3s"] {
        let found = problems(&format!(
            "mcp_servers: {{s: {{command: c, timeout: {bad}}}}}"
        ));
        assert!(
            found.contains("error: must be a time above 0"),
            "{bad}: {found}"
        );
    }
    check_server(
        "{command: c, timeout: 60000, connect_timeout: .inf, max_timeout: 5}",
        expect![[r#"
            1:40: hint: 60000 seconds, write `60000ms` if milliseconds are meant (/mcp_servers/s/timeout) <60000>
            1:64: warning: must be from 0.01 to 86400, 86400 is used (/mcp_servers/s/connect_timeout) <.inf>
            1:83: warning: is shorter than `timeout`, which has no effect then (/mcp_servers/s/max_timeout) <5>
        "#]],
    );
    assert_eq!(
        server("{command: c, timeout: 2h}").max_timeout,
        Duration::from_secs(7200)
    );
}

#[test]
fn the_keepalive_can_be_switched_off() {
    let keepalive = |text: &str| server(&format!("{{command: c, keepalive: {text}}}")).keepalive;
    for off in ["0", "false", "off", "never", "'0'"] {
        assert_eq!(keepalive(off), None, "{off}");
    }
    assert_eq!(keepalive("1"), Some(Duration::from_secs(1)));
    assert_eq!(keepalive("null"), Some(Duration::from_secs(180)));
}

#[test]
fn settings_of_a_server_are_read() {
    let found = server(
        "{command: c, max_concurrency: 3, protocol: stateless, trust: untrusted, approval: ask, enabled: 'No'}",
    );
    assert_eq!(found.max_concurrency, Some(3));
    assert_eq!(found.protocol, Protocol::Stateless);
    assert_eq!(found.trust, Trust::Untrusted);
    assert_eq!(found.approval, Approval::Ask);
    assert!(!found.enabled);
    assert_eq!(
        server("{command: c, supports_parallel_tool_calls: false}").max_concurrency,
        Some(1)
    );
    assert_eq!(
        server("{command: c}"),
        ServerConfig::new(server("{command: c}").transport)
    );
    check_server(
        "{command: c, trust: partly, max_concurrency: 0, approval: perhaps, disabled: true, enabled: true}",
        expect![[r#"
            1:38: warning: must be `full` or `untrusted`, `untrusted` is used (/mcp_servers/s/trust) <partly>
            1:63: warning: must be from 1 to 10000, 1 is used (/mcp_servers/s/max_concurrency) <0>
            1:76: error: must be `allow`, `ask` or `deny` (/mcp_servers/s/approval) <perhaps>
            1:95: warning: contradicts `enabled`, the server is not used (/mcp_servers/s/disabled) <true>
        "#]],
    );
    assert_eq!(
        parsed("mcp_servers: {s: {command: c, trust: partly}}")
            .config
            .servers["s"]
            .trust,
        Trust::Untrusted
    );
}

#[test]
fn filters_admit_by_globs() {
    let tools = server("{command: c, tools: {include: 'get_*', exclude: [get_secret]}}").tools;
    assert!(tools.admits("get_a") && !tools.admits("get_secret") && !tools.admits("put_a"));
    assert!(
        !server("{command: c, tools: {include: []}}")
            .tools
            .admits("a")
    );
    assert!(
        server("{command: c, tools: {include: null}}")
            .tools
            .admits("a")
    );
    check_server(
        "{command: c, tools: {include: ['a[', b], exclude: {c: d}}}",
        expect![[r#"
            1:49: error: is not a valid glob: unclosed character class; missing ']' (/mcp_servers/s/tools/include/0) <'a['>
            1:68: error: must be a list of names or globs (/mcp_servers/s/tools/exclude) <{c: d}>
        "#]],
    );
}

#[test]
fn programs_with_blanks_are_questioned() {
    check_server(
        "{command: npx -y x}",
        expect![[r#"
            1:28: warning: the whole text is taken for the name of a program, arguments belong in `args` (/mcp_servers/s/command) <npx -y x>
        "#]],
    );
    assert_eq!(stdio("{command: '/my apps/x'}").command, "/my apps/x");
    assert_eq!(stdio("{command: '~/x'}").command, "/home/u/x");
    check_server(
        "{command: ' '}",
        expect![[r#"
            1:28: error: must be the name or path of a program, as text (/mcp_servers/s/command) <' '>
        "#]],
    );
}

#[test]
fn names_that_look_alike_are_warned_of() {
    check_problems(
        "mcp_servers:\n  my server: {command: c}\n  my_server: {command: c}\n  _note: remark\n  _s: {command: c}\n",
        expect![[r#"
            3:3: warning: the tools of `my_server` and `my server` begin with the same `mcp_my_server_`, those of equal names get a suffix (/mcp_servers/my_server) <my_server>
        "#]],
    );
}

#[test]
fn tool_search_has_short_forms() {
    for (value, mode) in [
        ("true", ToolSearchMode::Auto),
        ("false", ToolSearchMode::Off),
        ("'on'", ToolSearchMode::On),
        ("off", ToolSearchMode::Off),
        ("AUTO", ToolSearchMode::Auto),
        ("null", ToolSearchMode::Auto),
        ("yes", ToolSearchMode::Auto),
        ("1", ToolSearchMode::Auto),
        ("No", ToolSearchMode::Off),
        ("0", ToolSearchMode::Off),
        ("{enabled: true}", ToolSearchMode::On),
        ("{enabled: on}", ToolSearchMode::On),
        ("{enabled: ' Yes '}", ToolSearchMode::On),
        ("{enabled: 1}", ToolSearchMode::On),
        ("{enabled: off}", ToolSearchMode::Off),
        ("{enabled: false}", ToolSearchMode::Off),
        ("{enabled: 0}", ToolSearchMode::Off),
        ("{enabled: no}", ToolSearchMode::Off),
        ("{enabled: auto}", ToolSearchMode::Auto),
        ("{enabled: null}", ToolSearchMode::Auto),
        ("{}", ToolSearchMode::Auto),
    ] {
        assert_eq!(
            problems(&format!("tools: {{tool_search: {value}}}")),
            "",
            "{value}"
        );
        assert_eq!(tool_search(value).enabled, mode, "{value}");
    }
    check_problems(
        "tools: {tool_search: sometimes}",
        expect![[r#"
            1:22: error: must be a mapping, or `auto`, `off` or `on` (/tools/tool_search) <sometimes>
        "#]],
    );
    check_problems(
        "tools: {tool_search: {enabled: sometimes, listing: auto, defer: [a]}}",
        expect![[r#"
            1:32: error: must be `auto`, `on` or `off` (/tools/tool_search/enabled) <sometimes>
            1:58: hint: `defer` has no effect in toolcrib, the host says per tool whether it may be deferred (/tools/tool_search/defer) <defer>
        "#]],
    );
}

#[test]
fn limits_are_moved_to_their_bounds() {
    let limits = |value: &str| {
        let config = tool_search(value);
        (config.search_default_limit, config.max_search_limit)
    };
    assert_eq!(limits("{}"), (5, 20));
    assert_eq!(
        limits("{search_default_limit: 999, max_search_limit: 999}"),
        (50, 50)
    );
    assert_eq!(limits("{max_search_limit: 0}"), (1, 1));
    assert_eq!(limits("{max_search_limit: 3}"), (3, 3));
    assert_eq!(
        limits("{search_default_limit: 3.9, max_search_limit: '4'}"),
        (3, 4)
    );
    assert_eq!(
        limits("{search_default_limit: many, max_search_limit: null}"),
        (5, 20)
    );
    let percent = |value: &str| tool_search(&format!("{{threshold_pct: {value}}}")).threshold_pct;
    assert_eq!(
        [
            percent("-5"),
            percent("'12.5'"),
            percent("101"),
            percent(".inf")
        ],
        [0.0, 12.5, 100.0, 100.0]
    );
    assert_eq!(
        [
            percent(".nan"),
            percent("much"),
            percent("null"),
            percent("true")
        ],
        [10.0; 4]
    );
    check_problems(
        "tools: {tool_search: {threshold_pct: 500, max_search_limit: 10, search_default_limit: 12, hit_tokens: 1.5}}",
        expect![[r#"
            1:38: warning: must be from 0 to 100, 100 is used (/tools/tool_search/threshold_pct) <500>
            1:87: warning: must be at most `max_search_limit`, 10 is used (/tools/tool_search/search_default_limit) <12>
            1:103: warning: must be a whole number, 1 is used (/tools/tool_search/hit_tokens) <1.5>
        "#]],
    );
    check_problems(
        "tools: {tool_search: {threshold_pct: .nan, max_search_limit: [1]}}",
        expect![[r#"
            1:38: error: must be a number from 0 to 100 (/tools/tool_search/threshold_pct) <.nan>
            1:62: error: must be a whole number from 1 to 50 (/tools/tool_search/max_search_limit) <[1]>
        "#]],
    );
}

#[test]
fn the_rest_of_tool_search_is_read() {
    let found = tool_search(
        "{decision: session, hit_tokens: 0, encoder: models/x, aliases: {ticket: mcp_j_create}, keywords: {mcp_j_create: [a, b], t: c}}",
    );
    assert_eq!(found.decision, DecisionScope::Session);
    assert_eq!(found.hit_tokens, 0);
    assert_eq!(found.encoder, Encoder::Path("/etc/crib/models/x".into()));
    assert_eq!(found.aliases["ticket"], "mcp_j_create");
    assert_eq!(found.keywords["mcp_j_create"], ["a", "b"]);
    assert_eq!(found.keywords["t"], ["c"]);
    for (value, encoder) in [
        ("auto", Encoder::Auto),
        ("true", Encoder::Auto),
        ("off", Encoder::Off),
        ("false", Encoder::Off),
    ] {
        assert_eq!(
            tool_search(&format!("{{encoder: {value}}}")).encoder,
            encoder
        );
    }
}

#[test]
fn output_is_read() {
    let output = parsed("tools: {output: {max_chars: 50_000, spill_dir: ~/spill}}")
        .config
        .output;
    assert_eq!(output.max_chars, Some(50_000));
    assert_eq!(output.spill_dir.unwrap(), Path::new("/home/u/spill"));
    check_problems(
        "tools: {output: {max_chars: 1, spill_dir: 5}}",
        expect![[r#"
            1:29: warning: must be from 100 to 100000000, 100 is used (/tools/output/max_chars) <1>
            1:43: error: must be a path, as text (/tools/output/spill_dir) <5>
        "#]],
    );
}

#[test]
fn wrong_shapes_are_errors_and_the_rest_is_read() {
    for text in ["5", "- a", "just text"] {
        assert!(
            problems(text).contains("error: must be a mapping, not"),
            "{text}"
        );
    }
    check_problems(
        "mcp_servers: [a]\ntools: on\n",
        expect![[r#"
            1:14: error: must be a mapping of names to servers (/mcp_servers) <[a]>
            2:8: error: must be a mapping, not text (/tools) <on>
        "#]],
    );
    check_problems(
        "mcp_servers: {s: {command: c, tools: x}}\ntools: {output: 5, tool_search: off}\n",
        expect![[r#"
            1:38: error: must be a mapping, not text (/mcp_servers/s/tools) <x>
            2:17: error: must be a mapping, not a number (/tools/output) <5>
        "#]],
    );
}

#[test]
fn a_duplicate_key_breaks_its_server_only() {
    let text = "mcp_servers:\n  a: {command: c, command: d}\n  b: {command: c}\n  b: {command: d}\n  e: {command: e}\n";
    check_problems(
        text,
        expect![[r#"
            2:19: error: the key `command` is here twice (/mcp_servers/a/command) <command>
            4:3: error: the key `b` is here twice (/mcp_servers/b) <b>
        "#]],
    );
    let parsed = parsed(text);
    assert_eq!(parsed.config.servers.len(), 1);
    assert_eq!(parsed.broken.len(), 2);
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "\
base: &base {command: npx, timeout: 5, env: {A: 1}}
mcp_servers:
  a: {<<: *base, args: [a]}
  b: {<<: *base, timeout: 6}
  c: *base
";
    let parsed = parsed(text);
    assert_eq!(parsed.problems, []);
    let timeouts: Vec<_> = parsed
        .config
        .servers
        .values()
        .map(|server| server.timeout.as_secs())
        .collect();
    assert_eq!(timeouts, [5, 6, 5]);
}

#[test]
fn nothing_but_comments_is_blank() {
    for text in ["", "# mcp_servers:\n", "---\n", "null"] {
        let parsed = parsed(text);
        assert!(parsed.blank && parsed.problems.is_empty(), "{text:?}");
        assert_eq!(parsed.config, Config::default());
    }
    assert!(!parsed("mcp_servers:\n").blank);
    assert!(!parsed("a: b: c").blank);
}

#[test]
fn an_inline_configuration_has_paths_without_ranges() {
    let value = serde_json::json!({
        "mcpServers": {"s": {"command": "c", "args": ["${TOKEN}", 5]}, "t": {"comand": 1}},
        "tools": {"tool_search": {"enabled": "maybe"}},
    });
    let parsed = parse_value(value.as_object().unwrap(), Path::new("/"), lookup);
    let shown: Vec<_> = parsed.problems.iter().map(ToString::to_string).collect();
    expect![[r#"
        error: must be `auto`, `on` or `off` (/tools/tool_search/enabled)
        warning: unknown key `comand`, did you mean `command`? (/mcpServers/t/comand)
        error: needs `command` or `url` (/mcpServers/t)"#]]
    .assert_eq(&shown.join("\n"));
    let TransportConfig::Stdio(stdio) = &parsed.config.servers["s"].transport else {
        panic!("not stdio");
    };
    assert_eq!(stdio.args, ["t0ken-value", "5"]);
}

#[test]
fn problems_are_shown_as_compilers_do() {
    let parsed = parsed("mcp_servers:\n  gh:\n    comand: x\n    url: https://h\n");
    assert_eq!(
        parsed.problems[0].in_file("config.yaml").to_string(),
        "config.yaml:3:5: warning: unknown key `comand`, did you mean `command`? (/mcp_servers/gh/comand)"
    );
    let whole = Problem::new(Severity::Error, "too large", String::new(), None);
    assert_eq!(
        whole.in_file("c.yaml").to_string(),
        "c.yaml: error: too large"
    );
    assert_eq!(whole.to_string(), "error: too large");
}

#[test]
fn mangled_texts_are_survived() {
    let pieces = [
        "\"", "'", "{", "}", "[", "]", ":", ": ", ",", "\n", "\t", "  ", "- ", "&a ", "*a", "<<: ",
        "${", "}", "|\n", "#", "// ", "/*", "\\", "\\ud83d", "\\ude00", "😀", "\r", "---\n", "!!",
        "? ", "null", "~", "%", "\0", "\u{85}", "\u{2028}", "\u{feff}",
    ];
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 33) as usize % below
    };
    for sample in [samples::HERMES, samples::DOT_MCP_JSON] {
        for _ in 0..1000 {
            let mut text: Vec<char> = sample.chars().collect();
            for _ in 0..=random(4) {
                let from = random(text.len());
                let to = (from + random(12)).min(text.len());
                text.splice(from..to, pieces[random(pieces.len())].chars());
            }
            let text: String = text.into_iter().collect();
            let whole = text.encode_utf16().count() as u32;
            for problem in parsed(&text).problems {
                let range = problem.range.unwrap();
                assert!(range.start <= range.end, "{text:?} {problem}");
                assert!(
                    range.end.line <= whole && range.end.character <= whole,
                    "{text:?} {problem}"
                );
            }
        }
    }
}
