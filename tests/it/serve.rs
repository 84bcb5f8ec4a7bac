//! The sidecar as a host meets it: the program itself, spoken to over its pipes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::sidecar::{Sidecar, value_of};

/// Two of the servers that come with the program.
fn config(extra: &str) -> String {
    let binary = env!("CARGO_BIN_EXE_toolcrib");
    format!(
        "mcp_servers:\n  notes: {{command: {binary:?}, args: [__demo-server, notes]{extra}}}\n  text: {{command: {binary:?}, args: [__demo-server, text]}}\n"
    )
}

fn started(extra: &str) -> Sidecar {
    let mut sidecar = Sidecar::start(&config(extra));
    sidecar.request("initialize", json!({"protocolVersion": 1}));
    sidecar
}

fn assemble(sidecar: &mut Sidecar, params: Value) -> Value {
    let mut all = json!({"waitMs": 20000});
    all.as_object_mut()
        .unwrap()
        .extend(params.as_object().unwrap().clone());
    sidecar.request("assembleTools", all)
}

fn names(assembly: &Value) -> Vec<&str> {
    let name = |tool: &'static str| move |it: &Value| it["function"][tool].as_str().is_some();
    let tools = assembly["tools"].as_array().unwrap();
    assert!(tools.iter().all(name("name")));
    tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect()
}

fn server<'a>(answer: &'a Value, name: &str) -> &'a Value {
    answer["servers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == name)
        .unwrap()
}

#[test]
fn tools_pass_through_below_the_threshold_and_are_bridged_from_it_on() {
    let mut sidecar = started("");
    let small = assemble(&mut sidecar, json!({"contextLength": 1_000_000}));
    assert_eq!(small["decision"]["mode"], "direct");
    assert!(
        names(&small).contains(&"mcp_notes_search_notes"),
        "{:?}",
        names(&small)
    );
    let tokens = small["decision"]["deferrableTokens"].as_u64().unwrap();
    let at = assemble(&mut sidecar, json!({"contextLength": tokens * 10}));
    assert_eq!(names(&at), ["tool_search", "tool_describe", "tool_call"]);
    assert_eq!(at["decision"]["reason"], "atThreshold");
    let below = assemble(&mut sidecar, json!({"contextLength": tokens * 10 + 10}));
    assert_eq!(below["decision"]["reason"], "belowThreshold");
}

#[test]
fn the_same_input_gives_the_same_bytes_and_a_known_digest_spares_them() {
    let mut sidecar = started("");
    let first = assemble(&mut sidecar, json!({}));
    let again = assemble(&mut sidecar, json!({"sessionId": "another"}));
    assert_eq!(first["tools"].to_string(), again["tools"].to_string());
    let known = assemble(&mut sidecar, json!({"knownDigest": first["digest"]}));
    assert_eq!(known["unchanged"], true);
    assert_eq!(known.get("tools"), None);
    assert_eq!(known["digest"], first["digest"]);
}

#[test]
fn a_found_tool_is_called_through_the_bridge_and_by_its_own_name() {
    let mut sidecar = started("");
    assemble(&mut sidecar, json!({"contextLength": 1000}));
    let found = sidecar.request(
        "dispatch",
        json!({"name": "tool_search", "arguments": {"query": "count words"}}),
    );
    let matches = &value_of(&found)["matches"];
    assert_eq!(matches[0]["name"], "mcp_text_count_words", "{matches}");
    let arguments = json!({"text": "three small words"});
    let call = json!({"name": "tool_call", "arguments": {"name": "mcp_text_count_words", "arguments": arguments}});
    let bridged = sidecar.request("dispatch", call.clone());
    assert_eq!(bridged["outcome"], "ok", "{bridged}");
    assert_eq!(bridged["bridge"], "tool_call");
    assert_eq!(bridged["tool"]["originalName"], "count_words");
    let direct = sidecar.request(
        "dispatch",
        json!({"name": "mcp_text_count_words", "arguments": arguments}),
    );
    assert_eq!(direct["content"], bridged["content"]);
    let resolved = sidecar.request("resolve", call);
    assert_eq!(resolved["tool"], bridged["tool"]);
    assert_eq!(resolved["arguments"], arguments);
}

#[test]
fn arguments_that_do_not_fit_are_refused_with_the_schema() {
    let mut sidecar = started("");
    assemble(&mut sidecar, json!({}));
    let refused = sidecar.request(
        "dispatch",
        json!({"name": "mcp_text_count_words", "arguments": {}}),
    );
    assert_eq!(refused["outcome"], "refused");
    let content = value_of(&refused);
    assert!(
        content["error"].as_str().unwrap().contains("text"),
        "{content}"
    );
    assert_eq!(content["parameters"]["type"], "object");
}

#[test]
fn a_host_runs_its_own_tools_itself() {
    let mut sidecar = started("");
    let now = json!({"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}});
    let assembly = assemble(
        &mut sidecar,
        json!({"hostTools": [now], "contextLength": 1000}),
    );
    assert_eq!(names(&assembly)[0], "now");
    let call = sidecar.request("dispatch", json!({"name": "now", "arguments": ""}));
    assert_eq!(
        call,
        json!({"kind": "host", "tool": {"name": "now", "source": "host"}, "arguments": {}})
    );
}

#[test]
fn what_is_out_of_scope_is_neither_found_nor_described_nor_called() {
    let mut sidecar = started("");
    assemble(
        &mut sidecar,
        json!({"contextLength": 1000, "scope": {"servers": ["notes"]}}),
    );
    let found = sidecar.request(
        "dispatch",
        json!({"name": "tool_search", "arguments": {"query": "count words text"}}),
    );
    assert!(
        !value_of(&found).to_string().contains("mcp_text_"),
        "{found}"
    );
    let described = json!({"name": "tool_describe", "arguments": {"name": "mcp_text_count_words"}});
    let described = sidecar.request("dispatch", described);
    assert_eq!(value_of(&described).get("parameters"), None);
    let arguments = json!({"text": "a"});
    let called = sidecar.request(
        "dispatch",
        json!({"name": "mcp_text_count_words", "arguments": arguments}),
    );
    assert_eq!(called["outcome"], "refused");
    let elsewhere =
        json!({"sessionId": "free", "name": "mcp_text_count_words", "arguments": arguments});
    assert_eq!(sidecar.request("dispatch", elsewhere)["outcome"], "ok");
}

#[test]
fn a_configuration_with_errors_replaces_nothing() {
    let mut sidecar = started("");
    let before = assemble(&mut sidecar, json!({}));
    sidecar.write_config("mcp_servers:\n  notes: {comand: nothing}\n");
    let error = sidecar.error("reload", json!({}));
    assert_eq!(error["code"], -32803);
    assert_eq!(error["data"]["kind"], "configInvalid");
    assert!(!error["data"]["problems"].as_array().unwrap().is_empty());
    assert_eq!(error["data"]["problems"][0]["path"], "/mcp_servers/notes");
    let after = assemble(&mut sidecar, json!({}));
    assert_eq!(after["digest"], before["digest"]);
    assert_eq!(server(&after, "notes")["state"], "ready");
    let missing = sidecar.error(
        "reload",
        json!({"config": {"path": "/nowhere/at/all.yaml"}}),
    );
    assert_eq!(missing["data"]["kind"], "configNotFound");
}

#[test]
fn reload_keeps_unchanged_servers_connected() {
    let mut sidecar = started("");
    let before = assemble(&mut sidecar, json!({}));
    sidecar.write_config(&config(", env: {X: \"1\"}"));
    let reloaded = sidecar.request("reload", json!({}));
    assert_eq!(reloaded["changed"], json!(["notes"]));
    assert_eq!(reloaded["restarted"], json!(["notes"]));
    assert_eq!(reloaded["unchanged"], json!(["text"]));
    let after = assemble(&mut sidecar, json!({}));
    assert_eq!(
        server(&after, "text")["pid"],
        server(&before, "text")["pid"]
    );
    assert_ne!(
        server(&after, "notes")["pid"],
        server(&before, "notes")["pid"]
    );
    assert_eq!(
        after["digest"], before["digest"],
        "a restarted server that lists the same changes nothing"
    );
    sidecar.write_config(&config(
        ", env: {X: \"1\"}, tools: {exclude: [delete_note]}",
    ));
    let reloaded = sidecar.request("reload", json!({}));
    assert_eq!(reloaded["changed"], json!(["notes"]));
    assert_eq!(reloaded["restarted"], json!([]));
    let filtered = assemble(&mut sidecar, json!({}));
    assert_eq!(
        server(&filtered, "notes")["pid"],
        server(&after, "notes")["pid"]
    );
    assert!(!names(&filtered).contains(&"mcp_notes_delete_note"));
    let unknown = sidecar.error("reload", json!({"servers": ["nobody"]}));
    assert_eq!(unknown["data"]["kind"], "unknownServer");
}

#[test]
fn nothing_is_approved_because_nobody_answered() {
    let call = json!({"name": "mcp_notes_list_notes", "arguments": {}});
    let mut silent = started(", approval: ask");
    assemble(&mut silent, json!({}));
    assert_eq!(
        silent.request("dispatch", call.clone())["outcome"],
        "refused"
    );

    let mut sidecar = Sidecar::start(&config(", approval: ask"));
    sidecar.request(
        "initialize",
        json!({"protocolVersion": 1, "capabilities": {"approval": true}}),
    );
    assemble(&mut sidecar, json!({}));
    for (answer, outcome) in [
        (
            json!({"error": {"code": -32601, "message": "no"}}),
            "refused",
        ),
        (
            json!({"result": {"decision": "deny", "message": "not today"}}),
            "refused",
        ),
        (json!({"result": {"decision": "maybe"}}), "refused"),
        (json!({"result": {"decision": "allow"}}), "ok"),
        (json!({"result": {"decision": "allowSession"}}), "ok"),
    ] {
        let id = sidecar.send("dispatch", call.clone());
        let asked = sidecar.next_request("approve");
        assert_eq!(asked["params"]["tool"]["originalName"], "list_notes");
        sidecar.answer(&asked, answer.clone());
        let result = sidecar.result(id);
        assert_eq!(result["outcome"], outcome, "{answer}: {result}");
    }
    assert_eq!(
        sidecar.request("dispatch", call.clone())["outcome"],
        "ok",
        "allowed for the session"
    );
    let other = json!({"sessionId": "other", "name": "mcp_notes_list_notes", "arguments": {}});
    let id = sidecar.send("dispatch", other);
    let asked = sidecar.next_request("approve");
    sidecar.notify("$/cancelRequest", json!({"id": id}));
    assert_eq!(sidecar.message(id)["error"]["code"], -32800);
    let taken_back = sidecar.next_notification("$/cancelRequest");
    assert_eq!(taken_back["params"]["id"], asked["id"]);
}

#[test]
fn a_script_may_pipe_its_requests_in() {
    let mut sidecar = Sidecar::start(&config(""));
    let ids = [
        sidecar.send("initialize", json!({"protocolVersion": 1})),
        sidecar.send("assembleTools", json!({"waitMs": 20000})),
        sidecar.send("status", json!({})),
    ];
    sidecar.close_input();
    for id in ids {
        assert!(sidecar.message(id).get("result").is_some());
    }
    assert_eq!(sidecar.wait(), Some(0));
}

#[test]
fn initialize_may_bring_the_configuration() {
    let mut sidecar = Sidecar::start("mcp_servers: {never: {command: this-is-not-started}}\n");
    let binary = env!("CARGO_BIN_EXE_toolcrib");
    let inline =
        json!({"mcp_servers": {"text": {"command": binary, "args": ["__demo-server", "text"]}}});
    let both = json!({"protocolVersion": 1, "config": {"inline": inline, "path": "x"}});
    assert_eq!(sidecar.error("initialize", both)["code"], -32602);
    let result = sidecar.request(
        "initialize",
        json!({"protocolVersion": 1, "config": {"inline": inline}}),
    );
    assert_eq!(result["configPath"], Value::Null);
    let assembly = assemble(&mut sidecar, json!({}));
    assert_eq!(assembly["servers"].as_array().unwrap().len(), 1);
    assert_eq!(server(&assembly, "text")["state"], "ready");
}

#[test]
fn an_entry_that_cannot_be_used_is_told_and_the_others_start() {
    let mut sidecar = started(", env: {TOKEN: \"${SURELY_NOT_SET_ANYWHERE}\"}");
    let assembly = assemble(&mut sidecar, json!({}));
    assert_eq!(server(&assembly, "notes")["state"], "failed");
    assert_eq!(server(&assembly, "notes")["error"]["kind"], "configInvalid");
    assert!(
        server(&assembly, "notes")["error"]["message"]
            .as_str()
            .unwrap()
            .contains("SURELY_NOT_SET_ANYWHERE")
    );
    assert_eq!(server(&assembly, "text")["state"], "ready");
}

#[test]
fn sessions_are_counted_and_forgotten() {
    let mut sidecar = started("");
    assemble(
        &mut sidecar,
        json!({"sessionId": "s", "contextLength": 1000}),
    );
    for name in [
        "tool_search",
        "tool_search",
        "tool_describe",
        "mcp_notes_list_notes",
    ] {
        let arguments = match name {
            "tool_search" => json!({"query": "notes"}),
            "tool_describe" => json!({"name": "mcp_notes_list_notes"}),
            _ => json!({}),
        };
        sidecar.request(
            "dispatch",
            json!({"sessionId": "s", "name": name, "arguments": arguments}),
        );
    }
    let status = sidecar.request("status", json!({}));
    let session = &status["sessions"][0];
    let counts = json!([
        session["sessionId"],
        session["searches"],
        session["describes"],
        session["calls"],
        session["mode"]
    ]);
    assert_eq!(counts, json!(["s", 2, 1, 1, "bridged"]));
    assert_eq!(
        sidecar.request("closeSession", json!({"sessionId": "s"})),
        json!({})
    );
    assert_eq!(
        sidecar.error("closeSession", json!({"sessionId": "s"}))["data"]["kind"],
        "unknownSession"
    );
}

#[test]
fn a_host_is_told_of_new_tools_once_a_change() {
    let mut sidecar = started("");
    let told = sidecar.next_notification("toolsChanged");
    assert!(told["params"]["generation"].as_u64().unwrap() >= 1);
    let mut quiet = Sidecar::start(&config(""));
    let opted = json!({"protocolVersion": 1, "optOutNotifications": ["toolsChanged", "serverStatus", "log"]});
    quiet.request("initialize", opted);
    assemble(&mut quiet, json!({}));
    quiet.request("status", json!({}));
    assert_eq!(quiet.notifications(), Vec::<Value>::new());
}

#[test]
fn a_result_too_long_for_the_model_is_kept_whole_in_a_private_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = format!(
        "tools: {{output: {{max_chars: 2000, spill_dir: {:?}}}}}\n",
        folder.path()
    );
    let mut sidecar = Sidecar::start(&format!("{}{output}", config("")));
    sidecar.request("initialize", json!({"protocolVersion": 1}));
    assemble(&mut sidecar, json!({}));
    let text = "a long line of words\n".repeat(2000);
    let call =
        json!({"name": "mcp_text_change_case", "arguments": {"text": text, "case": "upper"}});
    let result = sidecar.request("dispatch", call);
    assert_eq!(result["outcome"], "ok", "{}", result["content"]);
    assert!(result["content"].as_str().unwrap().len() < 4000);
    let path = result["truncated"]["path"].as_str().unwrap();
    assert!(Path::new(path).starts_with(folder.path()));
    assert_eq!(
        fs::read_to_string(path)
            .unwrap()
            .matches("A LONG LINE OF WORDS")
            .count(),
        2000
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
