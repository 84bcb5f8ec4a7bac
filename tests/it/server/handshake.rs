//! What is said before a server is ready, and what is made of answers of every kind.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::config::{HttpConfig, Protocol, ServerConfig, TransportConfig};
use toolcrib::server::{Event, HostSupport, LogLevel, Root, ServerState};

use crate::server::fake::{Peer, dial, discovered, initialized, listed};
use crate::server::rig::{Rig, stdio, text};

fn config() -> ServerConfig {
    stdio("fake", &[])
}

fn with_protocol(protocol: Protocol) -> ServerConfig {
    ServerConfig {
        protocol,
        ..config()
    }
}

/// The failure that is told first.
async fn error(rig: &mut Rig) -> (&'static str, String) {
    rig.event(|event| match event {
        Event::Status(_, status) => {
            let error = status.error.as_ref()?;
            Some((error.kind, error.message.clone()))
        }
        _ => None,
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn initialize_comes_first_and_initialized_second() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    assert_eq!(
        initialize["params"],
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "toolcrib", "version": env!("CARGO_PKG_VERSION")},
        })
    );
    assert_eq!(initialize["id"], 1);
    peer.expect_silence(Duration::from_secs(5)).await;
    peer.answer(&initialize, initialized("2024-11-05")).await;
    peer.expect("notifications/initialized").await;
    peer.list(&["a"]).await;
    let status = rig.state(ServerState::Ready).await;
    assert_eq!(status.protocol_version.as_deref(), Some("2024-11-05"));
    assert_eq!(status.server_info.unwrap().name, "fake");
    assert_eq!(status.instructions.as_deref(), Some("be kind"));
    assert_eq!(status.pid, Some(4711));
    assert_eq!((status.error, status.attempt), (None, None));
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_host_can_do_is_offered() {
    let (dial, mut peers) = dial();
    let support = HostSupport {
        elicit_form: true,
        elicit_url: true,
        sampling: true,
        roots: vec![Root {
            uri: "file:///work".to_owned(),
            name: None,
        }],
    };
    let rig = Rig::over_for(dial, config(), support);
    let mut peer = peers.next().await;
    let initialize = peer.shake_hands().await;
    assert_eq!(
        initialize["params"]["capabilities"],
        json!({"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}})
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_offers_what_the_host_can_do_by_now() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let peer = peers.ready(&["a"]).await;
    rig.state(ServerState::Ready).await;
    rig.host.send_replace(HostSupport {
        sampling: true,
        ..HostSupport::default()
    });
    rig.handle.restart();
    drop(peer);
    let initialize = peers.next().await.shake_hands().await;
    assert_eq!(
        initialize["params"]["capabilities"],
        json!({"sampling": {}})
    );
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn pings_and_noise_before_the_answer_do_no_harm() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    peer.write("starting up...\n{\"level\":\"info\",\"id\":1}\n\n[]\n42\n")
        .await;
    peer.notify("server.initialized", json!(5)).await;
    peer.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    let pong = peer.expect_answer(json!(1)).await;
    assert_eq!(pong["result"], json!({}));
    peer.answer(&initialize, initialized("2025-06-18")).await;
    peer.expect("notifications/initialized").await;
    peer.list(&["a"]).await;
    rig.state(ServerState::Ready).await;
    let tail = rig.handle.status().stderr_tail;
    assert_eq!(tail[0], "stdout: starting up...");
    // Nothing but the ping was answered.
    peer.expect_silence(Duration::from_secs(5)).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_version_is_warned_of_and_lived_with() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    peer.answer(&initialize, initialized("2099-01-01")).await;
    peer.expect("notifications/initialized").await;
    peer.list(&["a"]).await;
    let status = rig.state(ServerState::Ready).await;
    assert_eq!(status.protocol_version.as_deref(), Some("2099-01-01"));
    let warned = rig.seen.iter().any(|event| match event {
        Event::Log { level, message, .. } => {
            *level == LogLevel::Warning && message.contains("`2099-01-01`")
        }
        _ => false,
    });
    assert!(warned, "{:?}", rig.seen);
    rig.stop().await;
}

/// Refuses `initialize` as a server of the stateless revision does, and goes on as one.
async fn be_stateless(peer: &mut Peer) {
    let initialize = peer.expect("initialize").await;
    peer.refuse(&initialize, -32022, json!({"supported": ["2026-07-28"]}))
        .await;
    discover(peer).await;
}

async fn discover(peer: &mut Peer) {
    let discover = peer.expect("server/discover").await;
    assert_meta(&discover);
    peer.answer(&discover, discovered()).await;
    let list = peer.expect("tools/list").await;
    assert_meta(&list);
    peer.answer(&list, listed(&["a"])).await;
    let listen = peer.expect("subscriptions/listen").await;
    assert_eq!(
        listen["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
}

fn assert_meta(request: &Value) {
    let meta = &request["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(
        meta["io.modelcontextprotocol/clientInfo"]["name"],
        "toolcrib"
    );
    assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_says_so_leads_to_the_stateless_revision_which_is_remembered() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    be_stateless(&mut peer).await;
    let status = rig.state(ServerState::Ready).await;
    assert_eq!(status.protocol_version.as_deref(), Some("2026-07-28"));
    assert_eq!(status.server_info.unwrap().version.as_deref(), Some("2"));
    // It tells of a change, and calls carry what they must.
    peer.notify("notifications/tools/list_changed", json!({}))
        .await;
    let list = peer.expect("tools/list").await;
    peer.answer(&list, listed(&["a", "b"])).await;
    assert_eq!(rig.tools().await.tools.len(), 2);
    let caller = rig.handle.caller();
    let call = tokio::spawn(async move {
        let call = toolcrib::server::Call::new("a", serde_json::Map::new());
        caller.call(call, |_| {}).await
    });
    let request = peer.expect("tools/call").await;
    assert_meta(&request);
    peer.finish(&request, "done").await;
    assert_eq!(text(&call.await.unwrap()), "done");
    drop(peer);
    discover(&mut peers.next().await).await;
    rig.state(ServerState::Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_process_that_ends_over_the_probe_is_started_again() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    peer.refuse(&initialize, -32601, Value::Null).await;
    peer.expect("server/discover").await;
    drop(peer);
    discover(&mut peers.next().await).await;
    rig.state(ServerState::Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_configuration_may_put_the_stateless_revision_first() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, with_protocol(Protocol::Stateless));
    discover(&mut peers.next().await).await;
    rig.state(ServerState::Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_no_discovery_is_asked_in_the_old_way() {
    // It refuses, it keeps silent, it answers nonsense, or it ends.
    for case in 0..4 {
        let (dial, mut peers) = dial();
        let mut rig = Rig::over(dial, with_protocol(Protocol::Stateless));
        let mut peer = peers.next().await;
        let discover = peer.expect("server/discover").await;
        match case {
            0 => peer.refuse(&discover, -32601, Value::Null).await,
            1 => {}
            2 => peer.answer(&discover, json!({})).await,
            _ => {
                drop(peer);
                peer = peers.next().await;
            }
        }
        peer.shake_hands().await;
        peer.list(&["a"]).await;
        rig.state(ServerState::Ready).await;
        rig.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_to_the_probe_still_counts() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, with_protocol(Protocol::Stateless));
    let mut peer = peers.next().await;
    let discover = peer.expect("server/discover").await;
    peer.expect("initialize").await;
    peer.answer(&discover, discovered()).await;
    peer.list(&["a"]).await;
    let status = rig.state(ServerState::Ready).await;
    assert_eq!(status.protocol_version.as_deref(), Some("2026-07-28"));
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_older_version_in_common_is_asked_for() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    let data = json!({"supported": ["2024-11-05"], "requested": "2025-11-25"});
    peer.refuse(&initialize, -32602, data).await;
    let again = peer.expect("initialize").await;
    assert_eq!(again["params"]["protocolVersion"], "2024-11-05");
    peer.answer(&again, initialized("2024-11-05")).await;
    peer.expect("notifications/initialized").await;
    peer.list(&["a"]).await;
    rig.state(ServerState::Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn no_version_in_common_is_an_error_that_names_both_sides() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, with_protocol(Protocol::Legacy));
    let mut peer = peers.next().await;
    let initialize = peer.expect("initialize").await;
    peer.refuse(&initialize, -32022, json!({"supported": ["2077-01-01"]}))
        .await;
    let status = rig.state(ServerState::Failed).await;
    let error = status.error.unwrap();
    assert_eq!(error.kind, "protocolVersion");
    assert!(error.message.contains("2077-01-01"), "{}", error.message);
    assert!(error.message.contains("2025-11-25"), "{}", error.message);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_told_from_one_that_speaks_nonsense() {
    let cases = [
        (
            "",
            "alive but silent: no byte on its standard output within 60 s",
        ),
        ("hello\nthere\n", "2 lines that are not protocol"),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}\n",
            "answers under ids that no request had",
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n",
            "`initialize` was not answered within 60 s",
        ),
    ];
    for (output, expected) in cases {
        let (dial, mut peers) = dial();
        let mut rig = Rig::over(dial, config());
        let mut peer = peers.next().await;
        peer.write(output).await;
        peer.tail.push("loading model");
        let (kind, message) = error(&mut rig).await;
        assert_eq!(kind, "timeout");
        assert!(message.contains(expected), "{message}");
        assert!(message.contains("loading model"), "{message}");
        rig.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn header_framing_is_recognised_at_once() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    peer.write("Content-Length: 20\r\n\r\n").await;
    let status = rig.state(ServerState::Failed).await;
    assert_eq!(status.error.unwrap().kind, "framing");
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_refused_fails_the_start_unless_no_tools_were_promised() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, config());
    let mut peer = peers.next().await;
    peer.shake_hands().await;
    let list = peer.expect("tools/list").await;
    peer.refuse(&list, -32603, Value::Null).await;
    let (kind, message) = error(&mut rig).await;
    assert_eq!(kind, "toolsList");
    assert_eq!(message, "`tools/list` failed: refused (code -32603)");
    drop(peer);
    // The next one has no tools, and says so.
    let mut peer = peers.next().await;
    peer.shake_hands().await;
    let list = peer.expect("tools/list").await;
    peer.refuse(&list, -32601, Value::Null).await;
    rig.state(ServerState::Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn servers_behind_urls_are_declined_politely() {
    let mut rig = Rig::start(ServerConfig::new(TransportConfig::Http(HttpConfig {
        url: "http://127.0.0.1:1/mcp".to_owned(),
        headers: [].into(),
        sse: false,
    })));
    let status = rig.state(ServerState::Failed).await;
    assert_eq!(status.error.unwrap().kind, "notSupported");
    rig.stop().await;
}
