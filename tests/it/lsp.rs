//! An editor that has a configuration open.

use std::thread;
use std::time::Duration;

use expect_test::expect;
use jsonrpsee::RpcModule;
use serde_json::{Value, json};
use toolcrib::config::{Position, Problem, Range, Severity};
use toolcrib::lsp;
use toolcrib::rpc::endpoint::{Exit, Options};
use toolcrib::rpc::frame::Framing;

use crate::host::{BOTH, Host, Served};

const CONFIG: &str = "file:///home/me/toolcrib.yaml";

/// Finds every `bad` of the text; takes the longer, the less there is to read, and breaks down at `panic`.
fn diagnose(text: &str) -> Vec<Problem> {
    assert!(!text.contains("panic"), "this text makes the check panic");
    thread::sleep(Duration::from_millis(
        20_u64.saturating_sub(text.len() as u64),
    ));
    let mut problems = Vec::new();
    for (line, content) in (0..).zip(text.lines()) {
        for (at, _) in content.match_indices("bad") {
            let character = content[..at].encode_utf16().count() as u32;
            problems.push(Problem {
                severity: Severity::Warning,
                message: "this is bad".to_owned(),
                path: String::new(),
                range: Some(Range {
                    start: Position { line, character },
                    end: Position {
                        line,
                        character: character + 3,
                    },
                }),
            });
        }
    }
    problems
}

fn start(framing: Framing) -> Host {
    let mut module = RpcModule::new(());
    module
        .register_async_method("status", |_, _, _| async move { "fine" })
        .unwrap();
    let served = Served {
        methods: module.into(),
        lane: Some(Box::new(|peer| lsp::lane(peer, diagnose))),
        options: Options {
            prefix: lsp::PREFIX,
            ..Options::default()
        },
    };
    Host::start(framing, served)
}

fn start_initialized(framing: Framing) -> Host {
    let mut host = start(framing);
    host.request("i", "initialize", json!({"capabilities": {}}));
    host.notify("initialized", json!({}));
    host.result("i");
    host
}

impl Host {
    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 0, "text": text});
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    fn change(&mut self, version: i32, changes: Value) {
        let document = json!({"uri": CONFIG, "version": version});
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.notify("textDocument/didChange", params);
    }

    /// Version and ranges of the diagnostics that come next, for the open configuration.
    fn diagnostics(&mut self) -> String {
        let message = self.next();
        assert_eq!(message["method"], "textDocument/publishDiagnostics");
        let params = &message["params"];
        assert_eq!(params["uri"], CONFIG);
        let ranges: Vec<String> = params["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|diagnostic| diagnostic["range"].to_string())
            .collect();
        format!("{}: {}", params["version"], ranges.join(", "))
    }
}

#[test]
fn an_editor_may_say_everything_without_waiting() {
    for framing in BOTH {
        let mut host = start(framing);
        host.request(1, "initialize", json!({"capabilities": {}}));
        host.notify("initialized", json!({}));
        host.open(CONFIG, "bad");
        host.request(2, "toolcrib/status", json!(null));
        let result = host.result(1);
        expect![[r#"
            {
              "capabilities": {
                "textDocumentSync": {
                  "openClose": true,
                  "change": 2
                }
              },
              "serverInfo": {
                "name": "toolcrib",
                "version": "0.1.0"
              }
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&result).unwrap());
        let mut messages = [host.next(), host.next()];
        messages.sort_by_key(|message| message["id"].as_i64());
        let [diagnostics, status] = messages;
        assert_eq!(diagnostics["method"], "textDocument/publishDiagnostics");
        assert_eq!(status, json!({"id": 2, "result": "fine"}));
        host.request(3, "shutdown", json!(null));
        host.notify("exit", json!(null));
        assert_eq!(host.next(), json!({"id": 3, "result": null}));
        let exit = host.exit();
        assert_eq!(
            exit,
            Exit::Asked {
                after_shutdown: true
            }
        );
    }
}

#[test]
fn everything_is_answered_after_the_end_of_input() {
    for framing in BOTH {
        let mut host = start(framing);
        host.request(1, "initialize", json!({"capabilities": {}}));
        host.open(CONFIG, "bad");
        host.close();
        host.result(1);
        expect![[r#"0: {"start":{"line":0,"character":0},"end":{"line":0,"character":3}}"#]]
            .assert_eq(&host.diagnostics());
        assert_eq!(host.exit(), Exit::EndOfInput);
    }
}

#[test]
fn requests_need_initialize_first_and_only_once() {
    for framing in BOTH {
        let mut host = start(framing);
        let position =
            json!({"textDocument": {"uri": CONFIG}, "position": {"line": 0, "character": 0}});
        host.request(1, "textDocument/hover", position);
        assert_eq!(host.error(1), -32002);
        host.request(2, "toolcrib/status", json!({}));
        assert_eq!(host.result(2), "fine");
        host.request(3, "initialize", json!({}));
        assert_eq!(host.error(3), -32602);
        host.request(4, "initialize", json!({"capabilities": {}}));
        assert_eq!(host.result(4)["serverInfo"]["name"], "toolcrib");
        host.request(5, "initialize", json!({"capabilities": {}}));
        assert_eq!(host.error(5), -32600);
        host.finish();
    }
}

#[test]
fn unknown_requests_are_errors_and_unknown_notifications_are_not() {
    for framing in BOTH {
        let mut host = start_initialized(framing);
        host.notify("unknown", json!({}));
        host.notify("$/setTrace", json!({"value": "off"}));
        for method in ["unknown", "status", "toolcrib/unknown", "$/unknown"] {
            host.request(1, method, json!({}));
            assert_eq!(host.error(1), -32601, "{method}");
        }
        host.finish();
    }
}

#[test]
fn diagnostics_follow_the_text() {
    for framing in BOTH {
        let mut host = start_initialized(framing);
        host.open(CONFIG, "a: ä😀bad\nb: good\n");
        expect![[r#"0: {"start":{"line":0,"character":6},"end":{"line":0,"character":9}}"#]]
            .assert_eq(&host.diagnostics());
        let range =
            json!({"start": {"line": 1, "character": 3}, "end": {"line": 1, "character": 7}});
        host.change(1, json!([{"range": range, "text": "bad bad"}]));
        expect![[r#"1: {"start":{"line":0,"character":6},"end":{"line":0,"character":9}}, {"start":{"line":1,"character":3},"end":{"line":1,"character":6}}, {"start":{"line":1,"character":7},"end":{"line":1,"character":10}}"#]]
            .assert_eq(&host.diagnostics());
        host.change(2, json!([{"text": "good"}]));
        expect!["2: "].assert_eq(&host.diagnostics());
        host.notify(
            "textDocument/didClose",
            json!({"textDocument": {"uri": CONFIG}}),
        );
        expect!["null: "].assert_eq(&host.diagnostics());
        host.finish();
    }
}

#[test]
fn a_diagnostic_says_what_is_wrong_and_how_bad_it_is() {
    let mut host = start_initialized(Framing::Headers);
    host.open(CONFIG, "bad");
    let message = host.next();
    expect![[r#"
        {
          "range": {
            "start": {
              "line": 0,
              "character": 0
            },
            "end": {
              "line": 0,
              "character": 3
            }
          },
          "severity": 2,
          "source": "toolcrib",
          "message": "this is bad"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&message["params"]["diagnostics"][0]).unwrap());
    host.finish();
}

#[test]
fn changes_are_dealt_with_in_order_however_long_each_takes() {
    for framing in BOTH {
        let mut host = start_initialized(framing);
        host.open(CONFIG, "");
        for version in 1..20 {
            host.change(version, json!([{"text": "x".repeat(version as usize)}]));
        }
        for version in 0..20 {
            assert_eq!(host.diagnostics(), format!("{version}: "));
        }
        host.finish();
    }
}

#[test]
fn other_files_are_left_alone() {
    let mut host = start_initialized(Framing::Headers);
    host.open("file:///home/me/docker-compose.yaml", "bad");
    host.notify(
        "textDocument/didClose",
        json!({"textDocument": {"uri": "file:///home/me/docker-compose.yaml"}}),
    );
    host.finish();
}

#[test]
fn a_check_that_panics_costs_its_own_diagnostics_only() {
    for framing in BOTH {
        let mut host = start_initialized(framing);
        host.open(CONFIG, "panic");
        host.change(1, json!([{"text": "bad"}]));
        expect![[r#"1: {"start":{"line":0,"character":0},"end":{"line":0,"character":3}}"#]]
            .assert_eq(&host.diagnostics());
        host.notify("textDocument/didOpen", json!({"wrong": "params"}));
        host.notify("textDocument/didChange", json!([5]));
        host.request(1, "shutdown", json!(null));
        assert_eq!(host.result(1), Value::Null);
        host.request(2, "textDocument/hover", json!({}));
        assert_eq!(host.error(2), -32600);
        host.notify("exit", json!(null));
        assert_eq!(host.exit().status(), 0);
    }
}
