//! The Rust client of the example plays the conversation that all clients play.

#[path = "../../examples/host/sidecar.rs"]
mod sidecar;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jsonrpsee::core::client::{Error, Subscription};
use serde_json::{Value, json};
use toolcrib::api::methods::*;
use toolcrib::api::types::*;

use sidecar::{Handler, Sidecar};

const PROGRAM: &str = env!("CARGO_BIN_EXE_toolcrib");

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/testing")
}

struct Player {
    said: Vec<Value>,
    asked: Arc<Mutex<Option<Value>>>,
    progress: HashMap<String, Vec<f64>>,
}

impl Player {
    fn say(&mut self, step: &str, facts: Value) {
        let mut line = json!({ "step": step });
        let (Some(line), Value::Object(facts)) = (line.as_object_mut(), facts) else {
            panic!("an object")
        };
        line.extend(facts);
        self.said.push(Value::Object(line.clone()));
    }

    fn handler(&self) -> Handler {
        let asked = Arc::clone(&self.asked);
        Arc::new(move |method, params: Value| {
            let decision = if params["arguments"]["title"] == "yes" {
                "allow"
            } else {
                "deny"
            };
            *asked.lock().unwrap() = Some(params);
            Box::pin(async move { (method == "approve").then(|| json!({ "decision": decision })) })
        })
    }

    async fn hear(&mut self, progress: &mut Subscription<ProgressNotification>) {
        let it = progress.next().await.unwrap().unwrap();
        self.progress
            .entry(it.call_id)
            .or_default()
            .push(it.progress);
    }

    async fn turns(&mut self, sidecar: &Sidecar) -> String {
        let first = sidecar
            .request::<AssembleTools>(assemble(None))
            .await
            .unwrap();
        self.say(
            "assemble",
            json!({ "mode": first.decision.mode, "reason": first.decision.reason, "tools": names(&first) }),
        );
        let again = sidecar
            .request::<AssembleTools>(assemble(Some(&first.digest)))
            .await
            .unwrap();
        self.say(
            "again",
            json!({ "unchanged": again.unchanged, "tools": again.tools.is_some().then_some(1) }),
        );

        let found = result(
            sidecar,
            "tool_search",
            json!({ "query": "give back arguments" }),
            None,
        )
        .await;
        let content: Value = serde_json::from_str(&found.content).unwrap();
        let (name, server) = (
            &content["matches"][0]["name"],
            &content["matches"][0]["server"],
        );
        self.say(
            "search",
            json!({ "bridge": found.bridge, "first": name, "server": server }),
        );

        let arguments = json!({ "name": "clock", "arguments": { "zone": "UTC" } });
        let DispatchResult::Host(left) = sidecar
            .dispatch(call("tool_call", arguments, None))
            .await
            .unwrap()
        else {
            panic!("a call for the host");
        };
        self.say(
            "host",
            json!({ "tool": left.tool.name, "source": left.tool.source, "arguments": left.arguments, "bridge": left.bridge }),
        );
        first.digest
    }

    async fn calls(&mut self, sidecar: &Sidecar) {
        let arguments = json!({ "name": "mcp_safe_write", "arguments": { "title": "yes" } });
        let params = ResolveParams {
            name: "tool_call".into(),
            arguments: Some(arguments),
            session_id: None,
        };
        let resolved = sidecar.request::<Resolve>(params).await.unwrap();
        let tool = resolved.tool.unwrap();
        self.say(
            "resolve",
            json!({ "tool": tool.name, "server": tool.server, "originalName": tool.original_name, "arguments": resolved.arguments }),
        );
        for (step, title) in [("approved", "yes"), ("denied", "no")] {
            let it = result(
                sidecar,
                "mcp_safe_write",
                json!({ "title": title }),
                Some(step),
            )
            .await;
            let asked = self.asked.lock().unwrap().take().unwrap();
            let asked = json!({ "callId": asked["callId"], "tool": asked["tool"]["name"], "arguments": asked["arguments"] });
            self.say(
                step,
                json!({ "outcome": it.outcome, "isError": it.is_error, "asked": asked }),
            );
        }
        let mut progress = sidecar.subscribe::<Progress>().await.unwrap();
        let it = result(sidecar, "mcp_desk_slow", json!({ "steps": 3 }), Some("p")).await;
        for _ in 0..3 {
            self.hear(&mut progress).await;
        }
        let seen: Vec<u64> = self.progress["p"].iter().map(|it| *it as u64).collect();
        self.say("progress", json!({ "seen": seen, "content": text(&it) }));
    }

    async fn trouble(&mut self, sidecar: &Sidecar) {
        let mut progress = sidecar.subscribe::<Progress>().await.unwrap();
        let slow = sidecar.dispatch(call("mcp_desk_slow", json!({ "steps": 1000 }), Some("c")));
        tokio::select! {
            _ = slow => panic!("it was not cancelled"),
            _ = progress.next() => {}
        }
        self.say("cancel", json!({ "error": "cancelled" }));
        let mut count = 0;
        for _ in 0..1000 {
            count = text(&result(sidecar, "mcp_desk_cancelled", json!({}), None).await)
                .parse()
                .unwrap();
            if count > 0 {
                break;
            }
        }
        self.say("reached", json!({ "count": count }));

        let it = result(sidecar, "mcp_desk_nothing", json!({}), None).await;
        self.say(
            "unknown",
            json!({ "outcome": it.outcome, "isError": it.is_error }),
        );
        let params = ReloadParams {
            servers: Some(vec!["nowhere".into()]),
            config: None,
        };
        let Err(Error::Call(error)) = sidecar.request::<Reload>(params).await else {
            panic!("an error")
        };
        let data: ErrorData = serde_json::from_str(error.data().unwrap().get()).unwrap();
        self.say(
            "error",
            json!({ "code": error.code(), "kind": data.kind, "retryable": data.retryable }),
        );
    }

    async fn reload(&mut self, sidecar: &Sidecar, after: &str, digest: &str) {
        let params = ReloadParams {
            config: Some(file(after)),
            servers: None,
        };
        let done = sidecar.request::<Reload>(params).await.unwrap();
        self.say(
            "reload",
            json!({ "added": done.added, "removed": done.removed, "changed": done.changed, "unchanged": done.unchanged }),
        );
        let changed = sidecar
            .request::<AssembleTools>(assemble(Some(digest)))
            .await
            .unwrap();
        self.say(
            "changed",
            json!({ "unchanged": changed.unchanged, "mode": changed.decision.mode, "tools": names(&changed) }),
        );
    }

    async fn kill(&mut self, sidecar: &Sidecar) {
        let mut progress = sidecar.subscribe::<Progress>().await.unwrap();
        let slow = |id| sidecar.dispatch(call("mcp_desk_slow", json!({ "steps": 1000 }), Some(id)));
        let killed = async {
            while !["k1", "k2"]
                .iter()
                .all(|it| self.progress.contains_key(*it))
            {
                self.hear(&mut progress).await;
            }
            let pid = rustix::process::Pid::from_raw(sidecar.pid().unwrap() as i32).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            Instant::now()
        };
        let (one, other, started) = tokio::join!(slow("k1"), slow("k2"), killed);
        let errors = [closed(one), closed(other)];
        self.say(
            "killed",
            json!({ "errors": errors, "promptly": started.elapsed() < Duration::from_secs(1) }),
        );
        let status = sidecar.request::<Status>(StatusParams {}).await;
        self.say("dead", json!({ "error": closed(status) }));
    }
}

fn closed<T>(end: Result<T, Error>) -> &'static str {
    match end {
        Err(Error::RestartNeeded(_)) => "closed",
        Err(_) => "another error",
        Ok(_) => "an answer",
    }
}

fn file(path: &str) -> ConfigSource {
    ConfigSource {
        path: Some(path.to_owned()),
        inline: None,
    }
}

fn introduce(config: &str) -> InitializeParams {
    let capabilities = HostCapabilities {
        approval: Some(true),
        progress: Some(true),
        ..HostCapabilities::default()
    };
    InitializeParams {
        protocol_version: PROTOCOL_VERSION,
        capabilities: Some(capabilities),
        config: Some(file(config)),
        ..InitializeParams::default()
    }
}

fn assemble(known_digest: Option<&str>) -> AssembleToolsParams {
    let clock = HostTool {
        name: "clock".into(),
        description: Some("Tells the time.".into()),
        parameters: Some(json!({ "type": "object" })),
        defer: None,
    };
    AssembleToolsParams {
        context_length: Some(200_000),
        host_tools: Some(vec![clock]),
        known_digest: known_digest.map(str::to_owned),
        wait_ms: Some(20_000),
        ..AssembleToolsParams::default()
    }
}

fn names(assembly: &AssembleToolsResult) -> Vec<String> {
    let tools: Vec<Value> = serde_json::from_str(assembly.tools.as_ref().unwrap().get()).unwrap();
    tools
        .iter()
        .map(|it| it["function"]["name"].as_str().unwrap().to_owned())
        .collect()
}

fn call(name: &str, arguments: Value, call_id: Option<&str>) -> DispatchParams {
    DispatchParams {
        name: name.to_owned(),
        arguments: Some(arguments),
        call_id: call_id.map(str::to_owned),
        ..DispatchParams::default()
    }
}

async fn result(
    sidecar: &Sidecar,
    name: &str,
    arguments: Value,
    call_id: Option<&str>,
) -> CallResult {
    match sidecar
        .dispatch(call(name, arguments, call_id))
        .await
        .unwrap()
    {
        DispatchResult::Result(it) => it,
        DispatchResult::Host(it) => panic!("{it:?}"),
    }
}

fn text(it: &CallResult) -> String {
    let content: Value = serde_json::from_str(&it.content).unwrap();
    content["result"].as_str().unwrap().to_owned()
}

async fn play(before: &str, after: &str) -> Vec<Value> {
    let mut player = Player {
        said: Vec::new(),
        asked: Arc::default(),
        progress: HashMap::new(),
    };
    let sidecar = Sidecar::spawn(PROGRAM, introduce(before), player.handler())
        .await
        .unwrap();
    let info = sidecar.info.clone();
    player.say(
        "initialize",
        json!({ "protocolVersion": info.protocol_version, "server": info.server_info.name }),
    );
    let digest = player.turns(&sidecar).await;
    player.calls(&sidecar).await;
    player.trouble(&sidecar).await;
    player.reload(&sidecar, after, &digest).await;
    player.kill(&sidecar).await;
    sidecar.close().await.unwrap();

    let sidecar = Sidecar::spawn(PROGRAM, introduce(after), player.handler())
        .await
        .unwrap();
    sidecar
        .request::<AssembleTools>(assemble(None))
        .await
        .unwrap();
    let servers = sidecar
        .request::<Status>(StatusParams {})
        .await
        .unwrap()
        .servers;
    let names: Vec<_> = servers.iter().map(|it| &it.name).collect();
    let ready = servers.iter().all(|it| it.state == ServerState::Ready);
    player.say("restart", json!({ "servers": names, "ready": ready }));
    let pid = rustix::process::Pid::from_raw(sidecar.pid().unwrap() as i32).unwrap();
    sidecar.close().await.unwrap();
    if rustix::process::test_kill_process(pid).is_err() {
        player.say("closed", json!({}));
    }
    player.said
}

#[test]
fn rust_client_plays_the_conversation_of_all_clients() {
    let scratch = tempfile::tempdir().unwrap();
    let configs = Command::new("python3")
        .arg(folder().join("conversation_configs.py"))
        .arg(scratch.path())
        .status();
    if !configs.is_ok_and(|it| it.success()) {
        eprintln!("skipped: the MCP server of this test needs python3");
        return;
    }
    let path = |name: &str| scratch.path().join(name).to_string_lossy().into_owned();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let played = async {
        let patience = Duration::from_secs(120);
        tokio::time::timeout(patience, play(&path("before.json"), &path("after.json")))
            .await
            .unwrap()
    };
    let said = runtime.block_on(played);
    let expected = std::fs::read_to_string(folder().join("conversation.jsonl")).unwrap();
    let expected: Vec<Value> = expected
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    for (said, expected) in said.iter().zip(&expected) {
        assert_eq!(said, expected);
    }
    assert_eq!(said.len(), expected.len());
}
