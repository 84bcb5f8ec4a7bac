//! When a server is tried again, checked, started beside others, and ended.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolcrib::config::ServerConfig;
use toolcrib::server::ServerState::{self, Backoff, Connecting, Parked, Ready};
use toolcrib::server::process::Exit;
use toolcrib::server::{Call, Event, LogLevel};

use crate::server::fake::{dial, dial_after};
use crate::server::rig::{Rig, object, stdio, text};

fn config() -> ServerConfig {
    stdio("fake", &[])
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_start_is_tried_again_and_then_parked() {
    let (dial, mut peers) = dial_after(5);
    let started = Instant::now();
    let mut rig = Rig::over(dial, config());
    let status = rig.state(Parked).await;
    // 1 + 2 + 4 seconds, a fifth more or less.
    let took = started.elapsed().as_secs_f64();
    assert!((5.6..=8.4).contains(&took), "{took}");
    assert_eq!(
        rig.states(),
        [
            Connecting, Backoff, Connecting, Backoff, Connecting, Backoff, Connecting, Parked
        ]
    );
    assert_eq!(status.attempt, Some(5));
    assert_eq!(
        status.error.as_ref().unwrap().message,
        "refused by the test"
    );
    let wait = status.retry_in().unwrap().as_secs_f64();
    assert!((240.0..=360.0).contains(&wait), "{wait}");
    // It is tried now and then: in vain at first.
    rig.state(Parked).await;
    let mut peer = peers.next().await;
    peer.shake_hands().await;
    peer.list(&["t"]).await;
    let status = rig.state(Ready).await;
    assert_eq!((status.error, status.attempt), (None, None));
    assert!(started.elapsed().as_secs() > 480);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn use_wakes_a_parked_server() {
    let (dial, mut peers) = dial_after(4);
    let mut rig = Rig::over(dial, config());
    rig.state(Parked).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let started = Instant::now();
    let caller = rig.handle.caller();
    let call = tokio::spawn(async move {
        caller
            .call(Call::new("t", object(Value::Null)), |_| {})
            .await
    });
    let mut peer = peers.ready(&["t"]).await;
    let request = peer.expect("tools/call").await;
    peer.finish(&request, "awake").await;
    assert_eq!(text(&call.await.unwrap()), "awake");
    assert!(started.elapsed() < Duration::from_secs(1));
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn use_does_not_start_a_broken_server_all_the_time() {
    let (dial, mut peers) = dial_after(1_000);
    let mut rig = Rig::over(dial, config());
    rig.state(Parked).await;
    let n_before = rig.states().len();
    for _ in 0..10 {
        let end = rig.call("t", json!({})).await;
        assert!(text(&end).starts_with("unavailable: "), "{end:?}");
    }
    // Ten calls of five seconds, and an attempt every five seconds at most.
    let n_attempts = (rig.states().len() - n_before) / 2;
    assert!((5..=10).contains(&n_attempts), "{n_attempts}");
    assert!(peers.none());
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_as_soon_as_it_is_ready_is_parked_in_the_end() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    for _ in 0..4 {
        let peer = peers.ready(&["t"]).await;
        rig.state(Ready).await;
        peer.exit(Exit::Code(0), "");
    }
    let status = rig.state(Parked).await;
    assert_eq!(
        status.error.unwrap().message,
        "the process ended with exit code 0"
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_of_use_is_back_at_once_each_time() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    for _ in 0..10 {
        let mut peer = peers.ready(&["t"]).await;
        rig.state(Ready).await;
        let caller = rig.handle.caller();
        let call = tokio::spawn(async move {
            caller
                .call(Call::new("t", object(Value::Null)), |_| {})
                .await
        });
        let request = peer.expect("tools/call").await;
        peer.finish(&request, "done").await;
        call.await.unwrap();
        let lost = Instant::now();
        peer.exit(Exit::Signal(11), "");
        rig.state(Backoff).await;
        rig.state(Connecting).await;
        assert!(lost.elapsed() < Duration::from_secs(1));
    }
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_server_is_pinged_and_any_answer_will_do() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.ready(&["t"]).await;
    rig.state(Ready).await;
    let started = Instant::now();
    let ping = peer.expect("ping").await;
    assert_eq!(started.elapsed().as_secs(), 180);
    peer.refuse(&ping, -32601, Value::Null).await;
    let ping = peer.expect("ping").await;
    assert_eq!(started.elapsed().as_secs(), 360);
    peer.answer(&ping, json!({})).await;
    // The third one is not answered.
    peer.expect("ping").await;
    let status = rig.state(Backoff).await;
    assert_eq!(started.elapsed().as_secs(), 570);
    assert_eq!(status.error.unwrap().kind, "unresponsive");
    // The request was given up, and the input closed.
    peer.expect("notifications/cancelled").await;
    peer.expect_end().await;
    drop(peer);
    peers.ready(&["t"]).await;
    rig.state(Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_not_pinged() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(
        dial,
        ServerConfig {
            timeout: Duration::from_secs(1_000),
            ..config()
        },
    );
    let mut peer = peers.ready(&["t"]).await;
    rig.state(Ready).await;
    let caller = rig.handle.caller();
    let call = tokio::spawn(async move {
        caller
            .call(Call::new("t", object(Value::Null)), |_| {})
            .await
    });
    let request = peer.expect("tools/call").await;
    peer.expect_silence(Duration::from_secs(900)).await;
    peer.finish(&request, "done").await;
    assert_eq!(text(&call.await.unwrap()), "done");
    peer.expect("ping").await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_a_ping_after_its_call_is_alive() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.ready(&["t"]).await;
    rig.state(Ready).await;
    let ping = peer.expect("ping").await;
    let caller = rig.handle.caller();
    let call = tokio::spawn(async move {
        caller
            .call(Call::new("t", object(Value::Null)), |_| {})
            .await
    });
    let request = peer.expect("tools/call").await;
    tokio::time::sleep(Duration::from_secs(100)).await;
    // The ping was given up, but not the server.
    peer.expect("notifications/cancelled").await;
    peer.answer(&ping, json!({})).await;
    peer.finish(&request, "done").await;
    assert_eq!(text(&call.await.unwrap()), "done");
    assert_eq!(rig.states(), [Connecting, Ready]);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn only_so_many_servers_start_at_once_and_a_slow_one_gives_its_place_away() {
    let (host, support) = tokio::sync::watch::channel(Default::default());
    let options = toolcrib::server::ServerOptions::new("unused".into(), support);
    let (sender, _events) = tokio::sync::mpsc::unbounded_channel();
    let mut all = Vec::new();
    for _ in 0..5 {
        let (dial, peers) = dial();
        let name = crate::server::rig::name();
        let handle = toolcrib::server::ServerHandle::spawn_with(
            dial,
            name,
            config(),
            options.clone(),
            sender.clone(),
        );
        all.push((handle, peers));
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Four are starting and keep silent; the fifth waits for one of them.
    assert!(all[4].1.none());
    let _first = all[0].1.next().await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let _fifth = all[4].1.next().await;
    for (handle, _peers) in all {
        handle.stop().await;
    }
    drop(host);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_closes_the_input_and_says_so_last() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.ready(&["t"]).await;
    rig.state(Ready).await;
    let Rig {
        handle, mut events, ..
    } = rig;
    drop(handle);
    peer.expect_end().await;
    drop(peer);
    let mut last = None;
    while let Some(event) = events.recv().await {
        last = Some(event);
    }
    assert!(
        matches!(&last, Some(Event::Status(_, status)) if status.state == ServerState::Stopped),
        "{last:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_log_messages_is_cut_down() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.ready(&["t"]).await;
    rig.state(Ready).await;
    let long = "\u{1b}[31m".to_owned() + &"x".repeat(5_000);
    for n in 0..500 {
        let data = if n == 0 {
            json!(long)
        } else {
            json!({ "n": n })
        };
        let params = json!({"level": "critical", "logger": "db", "data": data});
        peer.notify("notifications/message", params).await;
    }
    tokio::time::sleep(Duration::from_secs(11)).await;
    peer.notify("notifications/message", json!({"data": "later"}))
        .await;
    let mut logs = Vec::new();
    while logs.last() != Some(&(LogLevel::Info, "later".to_owned())) {
        let log = rig.event(|event| match event {
            Event::Log { level, message, .. } => Some((*level, message.clone())),
            _ => None,
        });
        logs.push(log.await);
    }
    assert_eq!(logs.len(), 102);
    assert_eq!(
        logs[0],
        (LogLevel::Error, format!("db: {}…", "x".repeat(1_996)))
    );
    assert_eq!(logs[1], (LogLevel::Error, r#"db: {"n":1}"#.to_owned()));
    assert_eq!(
        logs[100],
        (
            LogLevel::Warning,
            "400 log messages were left out".to_owned()
        )
    );
    rig.stop().await;
}
