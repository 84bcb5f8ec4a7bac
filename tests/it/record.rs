//! What `serve --record` writes, and what it refuses to write to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::sidecar::Sidecar;

fn config(secret: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_toolcrib");
    format!(
        "mcp_servers:\n  text: {{command: {binary:?}, args: [__demo-server, text], env: {{SERVICE_TOKEN: {secret}}}}}\n"
    )
}

fn started(program: Command, path: &Path) -> Sidecar {
    let options = ["--record", path.to_str().unwrap()];
    let mut sidecar = Sidecar::start_by(program, &config("correct-horse"), &options);
    sidecar.request("initialize", json!({"protocolVersion": 1}));
    let now = json!({"name": "now", "description": "The time", "parameters": {"type": "object"}});
    let params = json!({"waitMs": 20000, "contextLength": 1000, "hostTools": [now]});
    sidecar.request("assembleTools", params);
    sidecar
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_toolcrib"))
}

fn search(sidecar: &mut Sidecar, query: &str) {
    let params = json!({"name": "tool_search", "arguments": {"query": query}});
    sidecar.request("dispatch", params);
}

fn ended(mut sidecar: Sidecar) {
    sidecar.close_input();
    assert_eq!(sidecar.wait(), Some(0));
}

/// Query and expected tools of each line.
fn recorded(text: &str) -> Vec<(String, Value)> {
    let read = |line| {
        let line: Value = serde_json::from_str(line).unwrap();
        (
            line["query"].as_str().unwrap().to_owned(),
            line["expected"].clone(),
        )
    };
    text.lines().map(read).collect()
}

#[test]
fn searches_are_recorded_without_secrets_and_only_for_tools_of_servers() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("recorded.jsonl");
    fs::write(&path, r#"{"query": "before", "expected": []}"#).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let mut sidecar = started(program(), &path);
    search(&mut sidecar, "count words of correct-horse");
    let arguments = json!({"text": "three small words"});
    let call = json!({"name": "mcp_text_count_words", "arguments": arguments});
    sidecar.request("dispatch", call);
    search(&mut sidecar, "what time is it");
    sidecar.request("dispatch", json!({"name": "now", "arguments": {}}));
    sidecar.write_config(&config("battery-staple"));
    sidecar.request("reload", json!({}));
    search(&mut sidecar, "sort battery-staple");
    ended(sidecar);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(
        recorded(&text),
        [
            ("before".to_owned(), json!([])),
            (
                "count words of [redacted]".to_owned(),
                json!(["mcp_text_count_words"])
            ),
            ("sort [redacted]".to_owned(), json!([])),
        ]
    );
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn two_sidecars_record_whole_lines_in_one_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("recorded.jsonl");
    let mut sidecars = [started(program(), &path), started(program(), &path)];
    let long = "words ".repeat(50);
    for _ in 0..100 {
        let params = json!({"name": "tool_search", "arguments": {"query": long}});
        let ids = sidecars
            .each_mut()
            .map(|sidecar| sidecar.send("dispatch", params.clone()));
        for (sidecar, id) in sidecars.iter_mut().zip(ids) {
            sidecar.result(id);
        }
    }
    sidecars.into_iter().for_each(ended);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(recorded(&text).len(), 200);
}

#[test]
fn a_host_is_told_once_that_searches_cannot_be_recorded() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("recorded.jsonl");
    // Longer than a file may become, for a program that is told so by an error.
    fs::write(&path, "# full\n".repeat(1000)).unwrap();
    let mut limited = Command::new("sh");
    let script = r#"trap '' XFSZ; ulimit -f 1; exec "$0" "$@""#;
    limited.args(["-c", script, env!("CARGO_BIN_EXE_toolcrib")]);
    let mut sidecar = started(limited, &path);
    for session in ["a", "b"] {
        let params =
            json!({"sessionId": session, "name": "tool_search", "arguments": {"query": "words"}});
        sidecar.request("dispatch", params);
        sidecar.request("closeSession", json!({"sessionId": session}));
    }
    let told = sidecar.next_notification("log");
    let message = told["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("a search could not be recorded in `"),
        "{message}"
    );
    assert_eq!(told["params"]["level"], "warning");
    sidecar.close_input();
    assert_eq!(sidecar.wait(), Some(0));
    let again = sidecar.notifications();
    assert!(!again.iter().any(|it| it["method"] == "log"), "{again:?}");
}
