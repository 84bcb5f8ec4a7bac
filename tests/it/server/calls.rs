//! How calls end, and what the server hears of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib::config::ServerConfig;
use toolcrib::server::process::Exit;
use toolcrib::server::{Ask, Call, CallEnd, Event, HostSupport, Progress, Root, ServerState};

use crate::server::fake::{Peer, Peers, dial, discovered, listed};
use crate::server::rig::{Rig, object, stdio, text};

fn config() -> ServerConfig {
    ServerConfig {
        timeout: Duration::from_secs(10),
        max_timeout: Duration::from_secs(30),
        ..stdio("fake", &[])
    }
}

async fn ready(config: ServerConfig) -> (Rig, Peer, Peers) {
    ready_for(config, HostSupport::default()).await
}

async fn ready_for(config: ServerConfig, support: HostSupport) -> (Rig, Peer, Peers) {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over_for(dial, config, support);
    let peer = peers.ready(&["t"]).await;
    rig.state(ServerState::Ready).await;
    (rig, peer, peers)
}

fn start(rig: &Rig) -> JoinHandle<CallEnd> {
    start_with(rig, None, |_| {})
}

fn start_with(
    rig: &Rig,
    timeout: Option<Duration>,
    on_progress: impl FnMut(Progress) + Send + 'static,
) -> JoinHandle<CallEnd> {
    let caller = rig.handle.caller();
    let call = Call {
        timeout,
        ..Call::new("t", object(json!({"b": 1, "a": 2})))
    };
    tokio::spawn(async move { caller.call(call, on_progress).await })
}

#[tokio::test(start_paused = true)]
async fn a_call_is_sent_as_it_is_and_its_answer_comes_back() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let call = start(&rig);
    let request = peer.expect("tools/call").await;
    assert_eq!(
        request["params"].to_string(),
        json!({"_meta": {"progressToken": request["id"]}, "name": "t", "arguments": {"b": 1, "a": 2}})
            .to_string()
    );
    let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
    answer["result"] = json!({
        "content": [{"type": "text", "text": "x", "_meta": {"z": 1, "a": 2}}],
        "structuredContent": [1],
        "_meta": {"k": "v"},
    });
    // The id comes back as a string, a second answer follows, and one that nobody asked for comes first.
    answer["id"] = json!(request["id"].to_string());
    peer.send(json!({"jsonrpc": "2.0", "id": "ghost", "result": {}}))
        .await;
    peer.send(answer.clone()).await;
    answer["result"] = json!({"content": []});
    peer.send(answer).await;
    let CallEnd::Answer(answer) = call.await.unwrap() else {
        panic!();
    };
    assert_eq!(answer.structured, Some(json!([1])));
    assert_eq!(answer.meta, Some(object(json!({"k": "v"}))));
    assert_eq!(
        answer.content[0].to_string(),
        r#"{"type":"text","text":"x","_meta":{"z":1,"a":2}}"#
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_cancels_it_at_the_server() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let call = start(&rig);
    let request = peer.expect("tools/call").await;
    call.abort();
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    // The late answer is nobody's, and the next call has another id.
    peer.finish(&request, "late").await;
    let call = start(&rig);
    let next = peer.expect("tools/call").await;
    assert_ne!(next["id"], request["id"]);
    peer.finish(&next, "done").await;
    assert_eq!(text(&call.await.unwrap()), "done");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_never_overtakes_its_call() {
    let (rig, mut peer, _peers) = ready(config()).await;
    for n in 0..100 {
        let call = start(&rig);
        for _ in 0..n % 10 {
            tokio::task::yield_now().await;
        }
        call.abort();
    }
    let mut open = Vec::new();
    // A last call tells where the others end.
    let last = start_with(&rig, Some(Duration::from_secs(5)), |_| {});
    let mut n_cancelled = 0;
    while !last.is_finished() {
        let message = peer.read().await.unwrap();
        match message["method"].as_str().unwrap() {
            "tools/call" => open.push(message["id"].clone()),
            "notifications/cancelled" => {
                let id = &message["params"]["requestId"];
                let at = open.iter().position(|open| open == id);
                open.remove(at.expect("cancelled before it was sent"));
                n_cancelled += 1;
            }
            other => panic!("{other}"),
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(open, [Value::Null; 0]);
    assert!(n_cancelled > 50, "{n_cancelled}");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_call_and_the_server_is_told() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let started = Instant::now();
    let call = start(&rig);
    let request = peer.expect("tools/call").await;
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    assert_eq!(started.elapsed().as_secs(), 10);
    assert_eq!(
        text(&call.await.unwrap()),
        "timeout: tool `t` of server `fake` gave no sign of life for 10 s (setting `timeout`); \
         the call was cancelled, but may have had its effect"
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn progress_keeps_a_call_alive_up_to_the_hard_limit() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = seen.clone();
    let call = start_with(&rig, None, move |step| {
        steps.lock().unwrap().push(step.progress as i64);
    });
    let request = peer.expect("tools/call").await;
    let token = request["params"]["_meta"]["progressToken"].clone();
    for n in 0..4 {
        tokio::time::sleep(Duration::from_secs(7)).await;
        let params = json!({"progressToken": token, "progress": n, "message": "still there"});
        peer.notify("notifications/progress", params).await;
        // Progress of something else is no sign of this call's life.
        let params = json!({"progressToken": "other", "progress": 99});
        peer.notify("notifications/progress", params).await;
    }
    let end = call.await.unwrap();
    assert_eq!(
        text(&end),
        "timeout: tool `t` of server `fake` did not finish within 30 s (setting `max_timeout`); \
         the call was cancelled, but may have had its effect"
    );
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3]);
    peer.expect("notifications/cancelled").await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn all_progress_comes_before_the_answer_and_in_order() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = seen.clone();
    let call = start_with(&rig, None, move |step| {
        steps.lock().unwrap().push(step.progress as i64);
    });
    let request = peer.expect("tools/call").await;
    let mut output = String::new();
    for n in 0..200 {
        let params = json!({"progressToken": request["id"], "progress": n});
        let step = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        output += &format!("{step}\n");
    }
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"content": []}});
    output += &format!("{answer}\n");
    peer.write(&output).await;
    call.await.unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..200).collect::<Vec<i64>>());
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn of_a_flood_of_progress_the_newest_arrives() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let steps = seen.clone();
    let call = start_with(&rig, None, move |step| {
        steps.lock().unwrap().push(step.progress as i64);
    });
    let request = peer.expect("tools/call").await;
    let mut output = String::new();
    for n in 0..600 {
        let params = json!({"progressToken": request["id"], "progress": n});
        let step = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        output += &format!("{step}\n");
    }
    peer.write(&output).await;
    peer.finish(&request, "done").await;
    assert_eq!(text(&call.await.unwrap()), "done");
    let seen = seen.lock().unwrap().clone();
    assert!(seen.len() >= 256 && seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.last(), Some(&599));
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_callers_own_limit_is_hard() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let call = start_with(&rig, Some(Duration::from_secs(3)), |_| {});
    let request = peer.expect("tools/call").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let params = json!({"progressToken": request["id"], "progress": 1});
    peer.notify("notifications/progress", params).await;
    let CallEnd::Timeout { limit, total, .. } = call.await.unwrap() else {
        panic!();
    };
    assert_eq!((limit.as_secs(), total), (3, true));
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_queue_of_a_serial_server_costs_no_call_its_time() {
    let serial = ServerConfig {
        max_concurrency: Some(1),
        ..config()
    };
    let (rig, mut peer, _peers) = ready(serial).await;
    let calls: Vec<_> = (0..4).map(|_| start(&rig)).collect();
    for n in 0..3 {
        let request = peer.expect("tools/call").await;
        peer.expect_silence(Duration::from_secs(9)).await;
        peer.finish(&request, "done").await;
        // One that waits may be given up at any time, and is never sent.
        if n == 0 {
            calls[3].abort();
        }
    }
    for call in calls.into_iter().take(3) {
        assert_eq!(text(&call.await.unwrap()), "done");
    }
    peer.expect_silence(Duration::from_secs(9)).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_callers_own_limit_counts_the_queue_and_what_stayed_there_was_not_sent() {
    let serial = ServerConfig {
        max_concurrency: Some(1),
        ..config()
    };
    let (rig, mut peer, _peers) = ready(serial).await;
    let started = Instant::now();
    let first = start(&rig);
    let request = peer.expect("tools/call").await;
    let second = start_with(&rig, Some(Duration::from_secs(3)), |_| {});
    let third = start_with(&rig, Some(Duration::from_secs(7)), |_| {});
    assert_eq!(
        text(&second.await.unwrap()),
        "unavailable: server `fake` was busy with other calls for 3 s (the caller's limit); the call was not sent"
    );
    assert_eq!(started.elapsed().as_secs(), 3);
    tokio::time::sleep(Duration::from_secs(2)).await;
    peer.finish(&request, "done").await;
    assert_eq!(text(&first.await.unwrap()), "done");
    // The third waited for five seconds, so two are left for the tool.
    peer.expect("tools/call").await;
    let end = third.await.unwrap();
    assert!(
        text(&end).contains("did not finish within 7 s (the caller's limit)"),
        "{end:?}"
    );
    assert_eq!(started.elapsed().as_secs(), 7);
    peer.expect("notifications/cancelled").await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn new_limits_hold_for_the_next_calls_without_a_restart() {
    let serial = ServerConfig {
        max_concurrency: Some(1),
        ..config()
    };
    let (mut rig, mut peer, _peers) = ready(serial.clone()).await;
    let calls = [start(&rig), start(&rig)];
    let first = peer.expect("tools/call").await;
    peer.expect_silence(Duration::from_secs(1)).await;
    rig.handle.configure(ServerConfig {
        max_concurrency: Some(2),
        timeout: Duration::from_secs(4),
        ..serial.clone()
    });
    // The one in the queue may go, and has the new limit; the first keeps its own.
    let started = Instant::now();
    peer.expect("tools/call").await;
    peer.expect("notifications/cancelled").await;
    assert_eq!(started.elapsed().as_secs(), 4);
    peer.finish(&first, "done").await;
    let ends: Vec<String> = {
        let [first, second] = calls;
        vec![text(&first.await.unwrap()), text(&second.await.unwrap())]
    };
    assert_eq!(ends[0], "done");
    assert!(ends[1].contains("no sign of life for 4 s"), "{}", ends[1]);
    rig.handle.configure(ServerConfig {
        max_timeout: Duration::from_secs(2),
        keepalive: Some(Duration::from_secs(20)),
        ..serial
    });
    let started = Instant::now();
    let calls = [start(&rig), start(&rig)];
    for _ in 0..2 {
        // One at a time again.
        peer.expect("tools/call").await;
        peer.expect("notifications/cancelled").await;
    }
    assert_eq!(started.elapsed().as_secs(), 4);
    for call in calls {
        let end = call.await.unwrap();
        assert!(text(&end).contains("did not finish within 2 s"), "{end:?}");
    }
    peer.expect("ping").await;
    assert!(started.elapsed().as_secs() <= 40, "{:?}", started.elapsed());
    assert_eq!(rig.states(), [ServerState::Connecting, ServerState::Ready]);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_longer_connect_timeout_helps_a_server_that_was_given_up() {
    let (dial, mut peers) = dial();
    let short = ServerConfig {
        connect_timeout: Duration::from_secs(2),
        ..config()
    };
    let mut rig = Rig::over(dial, short.clone());
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(peers.next().await);
    }
    rig.state(ServerState::Parked).await;
    drop(silent);
    let started = Instant::now();
    rig.handle.configure(ServerConfig {
        connect_timeout: Duration::from_secs(20),
        ..short
    });
    let mut peer = peers.next().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    peer.shake_hands().await;
    peer.list(&["t"]).await;
    rig.state(ServerState::Ready).await;
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_serial_server_is_not_listed_beside_a_call() {
    let serial = ServerConfig {
        max_concurrency: Some(1),
        ..config()
    };
    let (rig, mut peer, _peers) = ready(serial).await;
    let call = start(&rig);
    let request = peer.expect("tools/call").await;
    peer.notify("notifications/tools/list_changed", json!({}))
        .await;
    peer.expect_silence(Duration::from_secs(5)).await;
    peer.finish(&request, "done").await;
    call.await.unwrap();
    peer.expect("tools/list").await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_process_ends_all_calls_at_once_with_its_last_words() {
    let (mut rig, mut peer, mut peers) = ready(config()).await;
    let calls = [start(&rig), start(&rig)];
    for _ in 0..2 {
        peer.expect("tools/call").await;
    }
    let started = Instant::now();
    peer.exit(Exit::Code(7), "panic: index out of range");
    for call in calls {
        assert_eq!(
            text(&call.await.unwrap()),
            "lost: the answer of tool `t` of server `fake` was lost: the process ended with exit code 7; \
             its last words: panic: index out of range; the call may have had its effect and was not repeated"
        );
    }
    assert!(started.elapsed() < Duration::from_secs(1));
    // Neither is sent to the next process.
    let mut peer = peers.ready(&["t"]).await;
    rig.state(ServerState::Ready).await;
    peer.expect_silence(Duration::from_secs(20)).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_not_sent_goes_to_the_next_process() {
    let (rig, peer, mut peers) = ready(config()).await;
    peer.exit(Exit::Code(1), "");
    // Whether or not the end was noticed yet, nothing of it was written.
    let call = start(&rig);
    let mut peer = peers.ready(&["t"]).await;
    let request = peer.expect("tools/call").await;
    peer.finish(&request, "done").await;
    assert_eq!(text(&call.await.unwrap()), "done");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_come_back_soon_is_unavailable_and_says_when() {
    let (mut rig, mut peer, mut peers) = ready(config()).await;
    // A call that works proves that the connection was of use.
    let call = start(&rig);
    let request = peer.expect("tools/call").await;
    peer.finish(&request, "done").await;
    call.await.unwrap();
    peer.exit(Exit::Code(3), "out of memory");
    rig.state(ServerState::Backoff).await;
    let started = Instant::now();
    let call = start(&rig);
    let _silent = peers.next().await;
    let end = call.await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 5);
    assert_eq!(
        text(&end),
        "unavailable: server `fake` is still starting: the process ended with exit code 3; \
         its last words: out of memory; try again in a moment; the call was not sent"
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_first_start_is_waited_for() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, stdio("fake", &[]));
    let call = start(&rig);
    let mut peer = peers.next().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    peer.shake_hands().await;
    peer.list(&["t"]).await;
    rig.state(ServerState::Ready).await;
    let request = peer.expect("tools/call").await;
    peer.finish(&request, "late").await;
    assert_eq!(text(&call.await.unwrap()), "late");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_reads_nothing_costs_each_call_its_limit_and_no_more() {
    let (rig, peer, _peers) = ready(config()).await;
    let started = Instant::now();
    let caller = rig.handle.caller();
    let big = Call::new("t", object(json!({"text": "x".repeat(1 << 20)})));
    let calls: Vec<_> = (0..3)
        .map(|_| {
            let (caller, big) = (caller.clone(), big.clone());
            tokio::spawn(async move { caller.call(big, |_| {}).await })
        })
        .collect();
    for call in calls {
        assert!(matches!(call.await.unwrap(), CallEnd::Timeout { .. }));
    }
    assert_eq!(started.elapsed().as_secs(), 10);
    drop(peer);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_too_long_to_be_held_fails_its_call_and_no_other() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let calls = [start(&rig), start(&rig)];
    let first = peer.expect("tools/call").await;
    let second = peer.expect("tools/call").await;
    peer.write(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":\"",
        first["id"]
    ))
    .await;
    let chunk = "x".repeat(1 << 20);
    for _ in 0..65 {
        peer.write(&chunk).await;
    }
    peer.write("\"}}\n").await;
    peer.finish(&second, "done").await;
    let mut ends = Vec::new();
    for call in calls {
        ends.push(text(&call.await.unwrap()));
    }
    ends.sort();
    assert_eq!(
        ends,
        [
            "done",
            "protocol error -32603: an answer of more than 64 MiB was thrown away"
        ]
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_question_for_the_person_goes_to_the_host_and_its_answer_back() {
    let support = HostSupport {
        elicit_form: true,
        ..HostSupport::default()
    };
    let (mut rig, mut peer, _peers) = ready_for(config(), support).await;
    let call = start(&rig);
    let request = peer.expect("tools/call").await;
    let params = json!({"message": "Name?", "requestedSchema": {"type": "object"}});
    peer.send(
        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}),
    )
    .await;
    let asked = loop {
        match rig.events.recv().await.unwrap() {
            Event::Request(asked) => break asked,
            other => rig.seen.push_back(other),
        }
    };
    assert!(matches!(&asked.ask, Ask::Elicit { message, .. } if message == "Name?"));
    // The person takes longer than a tool may be silent, and others go on meanwhile.
    tokio::time::sleep(Duration::from_secs(25)).await;
    peer.send(json!({"jsonrpc": "2.0", "id": 0, "method": "ping"}))
        .await;
    peer.expect_answer(json!(0)).await;
    let answer = json!({"action": "accept", "content": {"name": "Ada"}});
    asked.reply.send(Ok(answer.clone())).unwrap();
    assert_eq!(peer.expect_answer(json!("q")).await["result"], answer);
    peer.finish(&request, "hello Ada").await;
    assert_eq!(text(&call.await.unwrap()), "hello Ada");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_may_not_ask_without_end() {
    let support = HostSupport {
        sampling: true,
        ..HostSupport::default()
    };
    let (rig, mut peer, _peers) = ready_for(config(), support).await;
    for n in 0..33 {
        let ask =
            json!({"jsonrpc": "2.0", "id": n, "method": "sampling/createMessage", "params": {}});
        peer.send(ask).await;
    }
    let refused = peer.expect_answer(json!(32)).await;
    assert_eq!(
        refused["error"]["message"],
        "too many questions are open already"
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_stateless_server_gets_its_input_with_the_call_repeated() {
    let (dial, mut peers) = dial();
    let support = HostSupport {
        roots: vec![Root {
            uri: "file:///work".to_owned(),
            name: None,
        }],
        ..HostSupport::default()
    };
    let mut rig = Rig::over_for(dial, config(), support);
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    peer.refuse(&initialize, -32022, Value::Null).await;
    let discover = peer.expect("server/discover").await;
    peer.answer(&discover, discovered()).await;
    let list = peer.expect("tools/list").await;
    peer.answer(&list, listed(&["t"])).await;
    peer.expect("subscriptions/listen").await;
    rig.state(ServerState::Ready).await;
    let call = start(&rig);
    let first = peer.expect("tools/call").await;
    let required = json!({
        "resultType": "input_required",
        "inputRequests": {"where": {"method": "roots/list"}},
        "requestState": {"opaque": true},
    });
    peer.answer(&first, required).await;
    let second = peer.expect("tools/call").await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(second["params"]["arguments"], first["params"]["arguments"]);
    assert_eq!(second["params"]["requestState"], json!({"opaque": true}));
    assert_eq!(
        second["params"]["inputResponses"],
        json!({"where": {"roots": [{"uri": "file:///work"}]}})
    );
    let required = json!({
        "resultType": "input_required",
        "inputRequests": {"who": {"method": "elicitation/create"}},
    });
    peer.answer(&second, required).await;
    assert_eq!(
        text(&call.await.unwrap()),
        "tool error: tool `t` of server `fake` did not run: it needs input that could not be given: \
         `elicitation/create` was not offered by this client"
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn calls_to_a_server_that_was_stopped_end() {
    let (rig, mut peer, _peers) = ready(config()).await;
    let caller = rig.handle.caller();
    let running = start(&rig);
    peer.expect("tools/call").await;
    let stop = tokio::spawn(rig.stop());
    let end = running.await.unwrap();
    assert!(
        text(&end).contains("was lost: the server was stopped"),
        "{end:?}"
    );
    drop(peer);
    stop.await.unwrap();
    let end = caller.call(Call::new("t", Map::new()), |_| {}).await;
    assert_eq!(
        text(&end),
        "unavailable: server `fake` was stopped; the call was not sent"
    );
}
