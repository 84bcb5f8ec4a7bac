//! What becomes of running servers and their calls when the configuration changes.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use toolcrib::config;
use toolcrib::hub::{Entry, Hub, Loaded};
use toolcrib::server::call::Caller;
use toolcrib::server::{Call, CallEnd};

use crate::server::rig::{LIMIT, fakes, object, options, text};

const VARIABLE: &str = "only-known-by-a-variable";

/// A hub with one server `fake`, whose entry is a script of `tests/fakes` and what else is given.
struct Rig {
    hub: Hub,
}

fn loaded(servers: &Value) -> Loaded {
    let text = json!({ "mcp_servers": servers }).to_string();
    let lookup = |name: &str| (name == "GIVEN").then(|| VARIABLE.to_owned());
    let parsed = config::parse(&text, Path::new("/"), lookup);
    assert!(!parsed.has_errors(), "{:?}", parsed.problems);
    Loaded { path: None, parsed }
}

fn script(name: &str, arg: &str, more: Value) -> Value {
    let mut entry = object(json!({
        "command": "python3",
        "args": [fakes().join(name).display().to_string(), arg],
        "env": {"PYTHONDONTWRITEBYTECODE": "1"},
    }));
    entry.extend(object(more));
    Value::Object(entry)
}

impl Rig {
    fn start(servers: &Value) -> Rig {
        let (options, _) = options();
        let (hub, _) = Hub::start(loaded(servers), options);
        Rig { hub }
    }

    async fn running(&self) -> Caller {
        let caller = self
            .hub
            .wait_for(LIMIT, |snapshot| match snapshot.servers.get("fake") {
                Some(Entry::Running { caller, .. }) => Some(caller.clone()),
                _ => None,
            });
        let caller = caller.await.expect("it does not run");
        timeout(LIMIT, caller.settled()).await.unwrap();
        caller
    }

    async fn stop(self) {
        timeout(LIMIT, self.hub.stop()).await.unwrap();
    }
}

/// Begins a call of the tool `work`, and waits until it is at work.
async fn start(caller: &Caller) -> JoinHandle<CallEnd> {
    let (steps, mut stepped) = mpsc::unbounded_channel();
    let (caller, call) = (caller.clone(), Call::new("work", object(json!({}))));
    let call = tokio::spawn(async move { caller.call(call, |step| drop(steps.send(step))).await });
    let step = timeout(LIMIT, stepped.recv()).await.unwrap();
    assert!(step.is_some(), "{:?}", call.await);
    call
}

#[tokio::test]
async fn calls_in_flight_end_well_when_their_server_is_changed_or_removed() {
    let entry = |level: &str| json!({"fake": script("call_progress.py", "2", json!({"env": {"LEVEL": level}}))});
    for after in [entry("2"), json!({})] {
        let rig = Rig::start(&entry("1"));
        let caller = rig.running().await;
        let pid = caller.status().pid;
        let call = start(&caller).await;
        rig.hub.configure(loaded(&after)).await;
        let late = caller
            .call(Call::new("work", object(json!({}))), |_| {})
            .await;
        assert_eq!(
            text(&late),
            "unavailable: server `fake` is being ended, as its configuration has changed; the call was not sent"
        );
        assert_eq!(text(&call.await.unwrap()), "finished with token");
        if after != json!({}) {
            let next = rig.running().await;
            assert_ne!(next.status().pid, pid);
        }
        rig.stop().await;
    }
}

#[tokio::test]
async fn a_server_removed_and_added_again_waits_for_the_former_process() {
    let entry = json!({"fake": script("call_progress.py", "2", json!({}))});
    let rig = Rig::start(&entry);
    let caller = rig.running().await;
    let call = start(&caller).await;
    rig.hub.configure(loaded(&json!({}))).await;
    rig.hub.configure(loaded(&entry)).await;
    let snapshot = rig.hub.snapshot();
    assert!(matches!(snapshot.servers["fake"], Entry::Changing { .. }));
    let next = rig.running().await;
    assert!(call.is_finished());
    assert_eq!(text(&call.await.unwrap()), "finished with token");
    assert!(next.status().pid.is_some());
    rig.stop().await;
}

#[tokio::test]
async fn the_end_of_the_hub_grants_no_grace() {
    let entry = json!({"fake": script("call_progress.py", "30", json!({}))});
    let rig = Rig::start(&entry);
    let caller = rig.running().await;
    let call = start(&caller).await;
    rig.hub.configure(loaded(&json!({}))).await;
    let started = Instant::now();
    rig.stop().await;
    assert!(text(&call.await.unwrap()).contains("the server was stopped"));
    // The process is deaf while it sleeps, and is ended by force two seconds later.
    assert!(
        started.elapsed() < Duration::from_millis(4500),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn what_a_variable_held_is_hidden_in_the_words_of_every_server() {
    let echo =
        "import os, sys; sys.exit(f\"{os.environ['CONN']} and pa55word of {os.environ['LEVEL']}\")";
    let rig = Rig::start(&json!({
        "fake": {
            "command": "python3",
            "args": ["-c", echo],
            "env": {
                "CONN": "${GIVEN}",
                "DB": "postgres://u:pa55word@h",
                "LEVEL": "another-token and debug",
            },
        },
        "other": {"command": "python3", "enabled": false, "env": {"API_TOKEN": "another-token"}},
    }));
    let status = rig.running().await.status();
    let expected = "[redacted] and [redacted] of [redacted] and debug";
    assert_eq!(status.stderr_tail, [expected]);
    assert!(status.error.unwrap().message.ends_with(expected));
    rig.stop().await;
}
