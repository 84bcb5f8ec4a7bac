//! What is made of a server's list of tools, and of its changes.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::server::{Event, ListedTools, ServerState};

use crate::server::fake::{Peer, dial, listed};
use crate::server::rig::{Rig, stdio};

const CHANGED: &str = "notifications/tools/list_changed";

fn names(listed: &ListedTools) -> Vec<&str> {
    listed.tools.iter().map(|tool| tool.name.as_str()).collect()
}

async fn ready(tools: &[&str]) -> (Rig, Peer, crate::server::fake::Peers) {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, stdio("fake", &[]));
    let peer = peers.ready(tools).await;
    rig.state(ServerState::Ready).await;
    (rig, peer, peers)
}

/// How many lists were told of so far.
fn n_told(rig: &mut Rig) -> usize {
    rig.states();
    let told = rig
        .seen
        .iter()
        .filter(|event| matches!(event, Event::Tools(..)));
    told.count()
}

#[tokio::test(start_paused = true)]
async fn pages_are_joined_and_bad_tools_are_named() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, stdio("fake", &[]));
    let mut peer = peers.next().await;
    peer.shake_hands().await;
    let first = peer.expect("tools/list").await;
    assert_eq!(first["params"].get("cursor"), None);
    peer.answer(
        &first,
        json!({"tools": [{"name": "a"}, {"name": 5}], "nextCursor": "x"}),
    )
    .await;
    let second = peer.expect("tools/list").await;
    assert_eq!(second["params"]["cursor"], "x");
    peer.answer(
        &second,
        json!({"tools": [{"name": "b"}, {"name": "a", "title": "other"}]}),
    )
    .await;
    let listed = rig.tools().await;
    assert_eq!(names(&listed), ["a", "b"]);
    let dropped: Vec<&str> = listed.dropped.iter().map(|it| it.tool.as_str()).collect();
    assert_eq!(dropped, ["#2", "a"]);
    let status = rig.state(ServerState::Ready).await;
    assert_eq!(status.dropped, listed.dropped);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_stopped_with_a_warning() {
    let (dial, mut peers) = dial();
    let mut rig = Rig::over(dial, stdio("fake", &[]));
    let mut peer = peers.next().await;
    peer.shake_hands().await;
    for _ in 0..2 {
        let list = peer.expect("tools/list").await;
        let mut page = listed(&["a"]);
        page["nextCursor"] = json!("again");
        peer.answer(&list, page).await;
    }
    let listed = rig.tools().await;
    assert_eq!(names(&listed), ["a"]);
    assert!(listed.warnings[0].contains("pagination"), "{listed:?}");
    rig.state(ServerState::Ready).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_notifications_is_one_request_and_one_event() {
    let (mut rig, mut peer, _peers) = ready(&["a"]).await;
    for params in [json!([]), Value::Null, json!("x"), json!({}), json!(5)] {
        peer.notify(CHANGED, params).await;
    }
    peer.list(&["a", "b"]).await;
    assert_eq!(names(&rig.tools().await), ["a", "b"]);
    peer.expect_silence(Duration::from_secs(5)).await;
    assert_eq!(n_told(&mut rig), 2);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_without_news_is_asked_for_once_more() {
    let (mut rig, mut peer, _peers) = ready(&["a"]).await;
    peer.notify(CHANGED, json!({})).await;
    peer.list(&["a"]).await;
    peer.list(&["a", "b"]).await;
    assert_eq!(names(&rig.tools().await), ["a", "b"]);
    peer.expect_silence(Duration::from_secs(5)).await;
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_believed_only_when_it_is_confirmed() {
    let (mut rig, mut peer, _peers) = ready(&["a"]).await;
    peer.notify(CHANGED, json!({})).await;
    peer.list(&[]).await;
    peer.list(&["b"]).await;
    assert_eq!(names(&rig.tools().await), ["b"]);
    peer.notify(CHANGED, json!({})).await;
    peer.list(&[]).await;
    peer.list(&[]).await;
    assert_eq!(names(&rig.tools().await), [""; 0]);
    assert_eq!(n_told(&mut rig), 3);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_after_a_restart_is_checked_as_well() {
    let (mut rig, peer, mut peers) = ready(&["a"]).await;
    drop(peer);
    let mut peer = peers.ready(&[]).await;
    rig.state(ServerState::Ready).await;
    peer.list(&[]).await;
    peer.list(&["a", "b"]).await;
    assert_eq!(names(&rig.tools().await), ["a", "b"]);
    assert_eq!(n_told(&mut rig), 2);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had_leaves_the_old_one() {
    let (mut rig, mut peer, _peers) = ready(&["a"]).await;
    peer.notify(CHANGED, json!({})).await;
    for _ in 0..2 {
        let list = peer.expect("tools/list").await;
        peer.refuse(&list, -32603, Value::Null).await;
    }
    peer.expect_silence(Duration::from_secs(5)).await;
    assert_eq!(n_told(&mut rig), 1);
    rig.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_back_with_the_same_tools_is_no_news() {
    let (mut rig, peer, mut peers) = ready(&["a"]).await;
    drop(peer);
    let _peer = peers.ready(&["a"]).await;
    rig.state(ServerState::Ready).await;
    assert_eq!(n_told(&mut rig), 1);
    rig.stop().await;
}
