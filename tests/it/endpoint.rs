//! Hosts that are hasty, wrong, slow, or gone.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use jsonrpsee::types::ErrorObjectOwned;
use jsonrpsee::{Extensions, RpcModule};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolcrib::api::error::ApiError;
use toolcrib::api::methods::{CloseSession, Dispatch, OpenUrl, Progress, Status};
use toolcrib::api::types::{EmptyResult, OpenUrlParams, ProgressNotification};
use toolcrib::rpc::endpoint::{Exit, Options};
use toolcrib::rpc::frame::Framing;
use toolcrib::rpc::lane::{Lane, LaneMessage};
use toolcrib::rpc::peer::Peer;
use toolcrib::rpc::table::{self, CallContext};

use crate::host::{BOTH, Host, Served};

const ASKED: Duration = Duration::from_secs(60);

/// What the methods below share with the test.
#[derive(Clone)]
struct Stage {
    /// A permit lets one `wait` go on.
    gate: Arc<Semaphore>,
    /// Hears of every handler that begins, and of every one whose future was dropped before it was done.
    events: Sender<&'static str>,
}

/// Tells the test that the future that owns it was dropped.
struct Dropped(Sender<&'static str>, &'static str);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

fn served(options: Options) -> (Served, Stage, Receiver<&'static str>) {
    let (events, heard) = channel();
    let stage = Stage {
        gate: Arc::new(Semaphore::new(0)),
        events,
    };
    let mut module = RpcModule::new(stage.clone());
    module
        .register_async_method("echo", |params, _, _| async move {
            Ok::<_, ErrorObjectOwned>(
                RawValue::from_string(params.as_str().unwrap_or("null").to_owned()).unwrap(),
            )
        })
        .unwrap();
    module
        .register_async_method("wait", |params, stage, _| async move {
            let on_drop = begin(&stage, "wait begun", "wait dropped");
            stage.gate.acquire().await.unwrap().forget();
            std::mem::forget(on_drop);
            params.as_str().map(str::len)
        })
        .unwrap();
    module
        .register_async_method("ask", |_, stage, extensions| async move {
            let on_drop = begin(&stage, "ask begun", "ask dropped");
            let answer = peer(&extensions)
                .call("approve", json!({"tool": "write"}), ASKED)
                .await;
            std::mem::forget(on_drop);
            match answer {
                Ok(result) => result.get().to_owned(),
                Err(error) => error.to_string(),
            }
        })
        .unwrap();
    module
        .register_async_method("ask-impatiently", |_, _, extensions| async move {
            let answer = peer(&extensions)
                .call("approve", json!({}), Duration::from_millis(20))
                .await;
            answer.unwrap_err().to_string()
        })
        .unwrap();
    module
        .register_async_method("report", |_, _, extensions| async move {
            for progress in 0..20 {
                peer(&extensions).notify("progress", json!({ "progress": progress }));
                tokio::task::yield_now().await;
            }
            "done"
        })
        .unwrap();
    module
        .register_async_method("pretty", |_, _, _| async move {
            RawValue::from_string("{\"a\":\r\n  [1,\n  2]}".to_owned()).ok()
        })
        .unwrap();
    module
        .register_async_method("panic", |_, _, _| async move {
            if true {
                panic!("this handler always panics");
            }
            ""
        })
        .unwrap();
    module
        .register_async_method("initialize", |_, stage, _| async move {
            stage.gate.acquire().await.unwrap().forget();
            "ready"
        })
        .unwrap();
    module
        .register_async_method("shutdown", |_, _, _| async move { Value::Null })
        .unwrap();
    let served = Served {
        methods: module.into(),
        lane: None,
        options,
    };
    (served, stage, heard)
}

fn begin(stage: &Stage, begun: &'static str, dropped: &'static str) -> Dropped {
    let _ = stage.events.send(begun);
    Dropped(stage.events.clone(), dropped)
}

fn peer(extensions: &Extensions) -> Peer {
    extensions.get::<CallContext>().unwrap().peer.clone()
}

fn start(framing: Framing) -> (Host, Stage, Receiver<&'static str>) {
    let (served, stage, events) = served(Options::default());
    (Host::start(framing, served), stage, events)
}

/// Waits until a handler says this.
fn hear(events: &Receiver<&'static str>, expected: &str) {
    while events.recv_timeout(Duration::from_secs(30)).unwrap() != expected {}
}

/// Sees that the conversation lives on.
fn check_alive(host: &mut Host) {
    host.request("alive", "echo", json!({"n": 1}));
    assert_eq!(host.result("alive"), json!({"n": 1}));
}

#[test]
fn malformed_json_is_an_error_and_the_conversation_lives_on() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        for text in ["{\"id\": 1,", "{\"id\": }", "{} {}", "[1, 2", "\"\u{1}\""] {
            host.send_text(text);
            assert_eq!(host.error(Value::Null), -32700, "{text}");
        }
        host.send_raw(match framing {
            Framing::Lines => b"{\"\xff\"}\n".to_vec(),
            Framing::Headers => b"Content-Length: 5\r\n\r\n{\"\xff\"}".to_vec(),
        });
        assert_eq!(host.error(Value::Null), -32700);
        check_alive(&mut host);
        host.finish();
    }
}

#[test]
fn a_stray_line_among_lines_is_an_error_and_the_conversation_lives_on() {
    let (mut host, ..) = start(Framing::Lines);
    check_alive(&mut host);
    host.send_raw("warning: something else writes here\n");
    assert_eq!(host.error(Value::Null), -32700);
    check_alive(&mut host);
    host.finish();
}

#[test]
fn a_stray_line_among_headers_ends_the_conversation_once_all_is_answered() {
    let (mut host, stage, _events) = start(Framing::Headers);
    host.request(1, "wait", json!({}));
    host.send_raw("something else writes here\r\n");
    assert_eq!(host.error(Value::Null), -32700);
    stage.gate.add_permits(1);
    assert_eq!(host.result(1), json!(2));
    assert_eq!(host.exit(), Exit::PositionLost);
}

#[test]
fn an_absurd_length_ends_the_conversation() {
    let (mut host, ..) = start(Framing::Headers);
    host.send_raw("Content-Length: 2000000000\r\n\r\n{}");
    assert_eq!(host.error(Value::Null), -32600);
    assert_eq!(host.exit(), Exit::PositionLost);
}

#[test]
fn a_batch_is_refused_once() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.send(json!([
            {"jsonrpc": "2.0", "id": 1, "method": "echo"},
            {"jsonrpc": "2.0", "id": 2, "method": "echo"},
        ]));
        assert_eq!(host.error(Value::Null), -32600);
        host.send_text("[]");
        assert_eq!(host.error(Value::Null), -32600);
        check_alive(&mut host);
        host.finish();
    }
}

#[test]
fn headers_in_lower_case_and_a_content_type_are_fine() {
    let (mut host, ..) = start(Framing::Headers);
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"echo"}"#;
    host.send_raw(format!(
        "content-type: application/vscode-jsonrpc\r\ncontent-length: {}\r\n\r\n{text}",
        text.len()
    ));
    assert_eq!(host.next(), json!({"id": 1, "result": null}));
    host.finish();
}

#[test]
fn ids_are_strings_or_integers_from_0() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        for id in [json!(0), json!(u64::MAX), json!(""), json!("é\n\"")] {
            host.request(id.clone(), "echo", json!({}));
            assert_eq!(host.result(id), json!({}));
        }
        for id in [json!(1.5), json!(-1), json!(1.0)] {
            host.request(id.clone(), "echo", json!({}));
            assert_eq!(host.error(id), -32600);
        }
        for id in [json!(null), json!(true), json!({}), json!([1])] {
            host.request(id, "echo", json!({}));
            assert_eq!(host.error(Value::Null), -32600);
        }
        check_alive(&mut host);
        host.finish();
    }
}

#[test]
fn what_is_not_a_request_is_refused() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        for (message, id) in [
            (json!({"jsonrpc": "2.0", "id": 1}), json!(1)),
            (json!({"jsonrpc": "2.0", "id": 1, "method": 5}), json!(1)),
            (
                json!({"jsonrpc": "1.0", "id": 1, "method": "echo"}),
                json!(1),
            ),
            (json!({}), Value::Null),
        ] {
            host.send(message);
            assert_eq!(host.error(id), -32600);
        }
        host.send_text(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"echo"}"#);
        assert_eq!(host.error(Value::Null), -32600);
        host.finish();
    }
}

#[test]
fn only_lines_may_leave_the_version_out() {
    let (mut host, ..) = start(Framing::Lines);
    host.send(json!({"id": 1, "method": "echo", "unknown": "member"}));
    assert_eq!(host.result(1), Value::Null);
    host.finish();

    let (mut host, ..) = start(Framing::Headers);
    host.send(json!({"id": 1, "method": "echo"}));
    assert_eq!(host.error(1), -32600);
    host.finish();
}

#[test]
fn unknown_methods_are_errors_and_unknown_notifications_are_not() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.notify("unknown", json!({}));
        host.notify("$/unknown", json!([1]));
        host.notify("initialized", json!({}));
        host.request(1, "unknown", json!({}));
        assert_eq!(host.error(1), -32601);
        host.finish();
    }
}

#[test]
fn slow_requests_delay_nobody() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        for id in 0..1000 {
            host.request(id, "wait", json!({}));
        }
        check_alive(&mut host);
        stage.gate.add_permits(1000);
        let mut ids: Vec<i64> = (0..1000)
            .map(|_| host.next()["id"].as_i64().unwrap())
            .collect();
        ids.sort();
        assert_eq!(ids, Vec::from_iter(0..1000));
        host.finish();
    }
}

#[test]
fn too_many_requests_are_refused_at_once_and_a_cancel_still_works() {
    for framing in BOTH {
        let (mut host, stage, events) = start(framing);
        for id in 0..1500 {
            host.request(id, "wait", json!({}));
        }
        for id in 1024..1500 {
            assert_eq!(host.error(id), -32001);
        }
        for _ in 0..1024 {
            hear(&events, "wait begun");
        }
        host.cancel(7);
        assert_eq!(host.error(7), -32800);
        hear(&events, "wait dropped");
        check_alive(&mut host);
        stage.gate.add_permits(1023);
        for _ in 0..1023 {
            assert_eq!(host.next()["result"], 2);
        }
        host.finish();
    }
}

#[test]
fn a_burst_of_quick_requests_is_no_crowd() {
    for framing in BOTH {
        let (served, ..) = served(Options {
            max_in_flight: 4,
            ..Options::default()
        });
        let mut host = Host::start(framing, served);
        for id in 0..2000 {
            host.request(id, "echo", json!({}));
        }
        for _ in 0..2000 {
            assert_eq!(host.next()["result"], json!({}));
        }
        host.finish();
    }
}

#[test]
fn open_questions_to_the_host_block_nothing() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        for id in 0..300 {
            host.request(id, "ask", json!({}));
        }
        for id in 1000..1200 {
            host.request(id, "echo", json!({}));
        }
        let mut questions = Vec::new();
        let mut n_echoes = 0;
        while questions.len() < 300 || n_echoes < 200 {
            let message = host.next();
            if message["method"] == "approve" {
                assert_eq!(message["params"], json!({"tool": "write"}));
                questions.push(message["id"].as_str().unwrap().to_owned());
            } else {
                assert_eq!(message["result"], json!({}));
                n_echoes += 1;
            }
        }
        for id in questions {
            host.send(json!({"jsonrpc": "2.0", "id": id, "result": {"decision": "allow"}}));
        }
        for _ in 0..300 {
            assert_eq!(host.next()["result"], r#"{"decision":"allow"}"#);
        }
        host.finish();
    }
}

#[test]
fn a_host_may_refuse_a_question() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request(1, "ask", json!({}));
        let id = host.next()["id"].clone();
        host.send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": -1, "message": "no"}}));
        assert_eq!(host.result(1), "the host refused: no (-1)");
        host.finish();
    }
}

#[test]
fn a_cancelled_question_is_cancelled_at_the_host_and_a_late_answer_does_no_harm() {
    for framing in BOTH {
        let (mut host, _stage, events) = start(framing);
        host.request(1, "ask", json!({}));
        let question = host.next();
        host.cancel(1);
        assert_eq!(
            host.next(),
            json!({"method": "$/cancelRequest", "params": {"id": question["id"]}})
        );
        assert_eq!(host.error(1), -32800);
        hear(&events, "ask dropped");
        for id in [question["id"].clone(), json!("t999"), json!(5), json!(null)] {
            host.send(json!({"jsonrpc": "2.0", "id": id, "result": {"decision": "allow"}}));
        }
        check_alive(&mut host);
        host.finish();
    }
}

#[test]
fn a_question_that_takes_too_long_is_taken_back() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request(1, "ask-impatiently", json!({}));
        let question = host.next();
        assert_eq!(host.next()["params"], json!({"id": question["id"]}));
        assert_eq!(host.result(1), "the host did not answer within 20ms");
        host.finish();
    }
}

#[test]
fn a_panic_fails_its_own_request_only() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        host.request(1, "wait", json!({}));
        host.request(2, "panic", json!({}));
        assert_eq!(host.error(2), -32603);
        stage.gate.add_permits(1);
        assert_eq!(host.result(1), 2);
        host.finish();
    }
}

#[test]
fn exit_ends_at_once_with_the_input_still_open() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request(1, "shutdown", json!(null));
        assert_eq!(host.result(1), Value::Null);
        host.request(2, "echo", json!({}));
        assert_eq!(host.error(2), -32600);
        host.notify("exit", json!(null));
        let exit = host.exit();
        assert_eq!(
            exit,
            Exit::Asked {
                after_shutdown: true
            }
        );
        assert_eq!(exit.status(), 0);
    }
}

#[test]
fn exit_without_shutdown_fails_and_open_requests_are_cancelled() {
    for framing in BOTH {
        let (mut host, _stage, events) = start(framing);
        host.request(1, "wait", json!({}));
        hear(&events, "wait begun");
        host.notify("exit", json!(null));
        assert_eq!(host.error(1), -32800);
        hear(&events, "wait dropped");
        let exit = host.exit();
        assert_eq!(
            exit,
            Exit::Asked {
                after_shutdown: false
            }
        );
        assert_eq!(exit.status(), 1);
    }
}

#[test]
fn exit_right_behind_shutdown_waits_for_its_answer() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request(1, "shutdown", json!({}));
        host.notify("exit", json!({}));
        assert_eq!(host.result(1), Value::Null);
        assert_eq!(
            host.exit(),
            Exit::Asked {
                after_shutdown: true
            }
        );
    }
}

#[test]
fn exit_does_not_wait_for_ever_for_what_is_before_it() {
    for framing in BOTH {
        let (served, ..) = served(Options {
            exit_grace: Duration::from_millis(500),
            ..Options::default()
        });
        let mut host = Host::start(framing, served);
        host.request(1, "initialize", json!({}));
        host.request(2, "echo", json!({}));
        host.notify("exit", json!({}));
        assert_eq!(host.error(1), -32800);
        assert_eq!(host.error(2), -32800);
        assert_eq!(
            host.exit(),
            Exit::Asked {
                after_shutdown: false
            }
        );
    }
}

#[test]
fn a_host_that_dies_during_a_question_is_noticed() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request(1, "ask", json!({}));
        assert_eq!(host.next()["method"], "approve");
        host.close();
        assert_eq!(host.result(1), "the host is gone");
        assert_eq!(host.exit(), Exit::EndOfInput);
    }
}

#[test]
fn a_question_after_the_end_fails_at_once() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        host.request(1, "wait", json!({}));
        check_alive(&mut host);
        let peer = host.peer.clone();
        host.close();
        stage.gate.add_permits(1);
        assert_eq!(host.result(1), 2);
        assert_eq!(host.exit(), Exit::EndOfInput);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let answer = runtime.block_on(peer.call("approve", json!({}), ASKED));
        assert_eq!(answer.unwrap_err().to_string(), "the host is gone");
        peer.notify("log", json!({}));
    }
}

#[test]
fn running_requests_are_answered_after_the_end_of_input() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        for id in 0..10 {
            host.request(id, "wait", json!({}));
        }
        host.close();
        stage.gate.add_permits(10);
        for _ in 0..10 {
            assert_eq!(host.next()["result"], 2);
        }
        assert_eq!(host.exit(), Exit::EndOfInput);
    }
}

#[test]
fn a_last_line_needs_no_end() {
    let (mut host, ..) = start(Framing::Lines);
    host.send_raw(r#"{"id": 1, "method": "echo"}"#);
    host.close();
    assert_eq!(host.result(1), Value::Null);
    assert_eq!(host.exit(), Exit::EndOfInput);
}

#[test]
fn no_input_at_all_is_fine() {
    let (mut host, ..) = start(Framing::Lines);
    host.peer.notify("toolsChanged", json!({}));
    host.close();
    assert_eq!(host.exit(), Exit::EndOfInput);
}

#[test]
fn requests_right_behind_initialize_wait_for_it_in_order() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        host.request("i", "initialize", json!({}));
        for id in 0..50 {
            host.request(id, "wait", json!({}));
        }
        host.request("s", "shutdown", json!({}));
        host.cancel(3);
        assert_eq!(host.error(3), -32800);
        stage.gate.add_permits(1);
        assert_eq!(host.result("i"), "ready");
        assert_eq!(host.result("s"), Value::Null);
        stage.gate.add_permits(49);
        for _ in 0..49 {
            assert_eq!(host.next()["result"], 2);
        }
        host.finish();
    }
}

#[test]
fn initialize_can_be_cancelled() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request("i", "initialize", json!({}));
        host.request(1, "echo", json!({}));
        host.cancel("i");
        assert_eq!(host.error("i"), -32800);
        assert_eq!(host.result(1), json!({}));
        host.finish();
    }
}

#[test]
fn an_id_in_flight_cannot_be_used_again() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        host.request("i", "initialize", json!({}));
        host.request(1, "wait", json!({}));
        host.request(1, "echo", json!({}));
        assert_eq!(host.error(1), -32600);
        stage.gate.add_permits(1);
        assert_eq!(host.result("i"), "ready");
        host.request(1, "echo", json!({}));
        assert_eq!(host.error(1), -32600);
        stage.gate.add_permits(1);
        assert_eq!(host.result(1), 2);
        host.request(1, "echo", json!({}));
        assert_eq!(host.result(1), json!({}));
        host.finish();
    }
}

#[test]
fn every_request_is_answered_once_however_its_cancel_races() {
    for framing in BOTH {
        let (mut host, stage, _events) = start(framing);
        for id in 0..2000 {
            host.request(id, if id % 2 == 0 { "echo" } else { "wait" }, json!({}));
            stage.gate.add_permits(1);
            host.cancel(id);
        }
        host.cancel(99_999);
        host.cancel(-1);
        host.notify("$/cancelRequest", json!(null));
        let mut ids = Vec::new();
        for _ in 0..2000 {
            let message = host.next();
            let is_answer = !message["result"].is_null() || message["error"]["code"] == -32800;
            assert!(is_answer, "{message}");
            ids.push(message["id"].as_i64().unwrap());
        }
        ids.sort();
        assert_eq!(ids, Vec::from_iter(0..2000));
        host.finish();
    }
}

#[test]
fn progress_comes_in_order_and_before_the_answer() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        for id in 0..20 {
            host.request(id, "report", json!({}));
            for progress in 0..20 {
                assert_eq!(
                    host.next(),
                    json!({"method": "progress", "params": {"progress": progress}})
                );
            }
            assert_eq!(host.result(id), "done");
        }
        host.finish();
    }
}

#[test]
fn what_is_told_before_the_first_message_is_written_behind_it() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.peer.notify("toolsChanged", json!({"generation": 1}));
        host.request(1, "echo", json!({}));
        assert_eq!(host.next()["params"], json!({"generation": 1}));
        assert_eq!(host.result(1), json!({}));
        host.finish();
    }
}

#[test]
fn a_message_over_the_limit_is_refused_and_the_conversation_lives_on() {
    for framing in BOTH {
        let (served, ..) = served(Options {
            max_message: 1000,
            ..Options::default()
        });
        let mut host = Host::start(framing, served);
        host.request(1, "echo", json!({"text": "x".repeat(100_000)}));
        assert_eq!(host.error(Value::Null), -32600);
        check_alive(&mut host);
        host.finish();
    }
}

#[test]
fn a_host_may_write_much_before_it_reads() {
    for framing in BOTH {
        let (served, ..) = served(Options::default());
        let mut host = Host::start_without_reading(framing, served);
        let text = "x".repeat(2000);
        for id in 0..20_000 {
            host.request(id, "echo", json!({ "text": text }));
        }
        host.begin_to_read();
        let mut ids = Vec::new();
        for _ in 0..20_000 {
            let message = host.next();
            assert_eq!(message["result"]["text"], text);
            ids.push(message["id"].as_i64().unwrap());
        }
        ids.sort();
        assert_eq!(ids, Vec::from_iter(0..20_000));
        host.finish();
    }
}

#[test]
fn requests_are_refused_while_too_much_is_unread() {
    for framing in BOTH {
        let (served, _stage, events) = served(Options {
            max_unread: 300_000,
            ..Options::default()
        });
        let mut host = Host::start_without_reading(framing, served);
        host.request(1, "wait", json!({}));
        hear(&events, "wait begun");
        for _ in 0..5 {
            let message = "x".repeat(100_000);
            host.peer.notify("log", json!({ "message": message }));
        }
        host.request(2, "echo", json!({}));
        host.cancel(1);
        hear(&events, "wait dropped");
        host.begin_to_read();
        for _ in 0..5 {
            assert_eq!(host.next()["method"], "log");
        }
        assert_eq!(host.error(2), -32001);
        assert_eq!(host.error(1), -32800);
        check_alive(&mut host);
        host.finish();
    }
}

#[test]
fn reading_goes_on_after_a_host_has_caught_up() {
    for framing in BOTH {
        let (served, ..) = served(Options {
            max_unread: 100_000,
            ..Options::default()
        });
        let mut host = Host::start_without_reading(framing, served);
        let peer = host.peer.clone();
        host.request(0, "echo", json!({}));
        for _ in 0..400 {
            peer.notify("log", json!({"message": "x".repeat(1000)}));
        }
        host.request(1, "echo", json!({}));
        host.begin_to_read();
        let mut answered = Vec::new();
        for _ in 0..402 {
            let message = host.next();
            if message["method"].is_null() {
                answered.push(message["id"].as_i64().unwrap());
            }
        }
        assert_eq!(answered.len(), 2);
        host.finish();
    }
}

#[test]
fn a_host_that_does_not_read_any_more_ends_the_conversation() {
    for framing in BOTH {
        let (served, _stage, events) = served(Options::default());
        let mut host = Host::start_without_reading(framing, served);
        host.request(1, "wait", json!({}));
        hear(&events, "wait begun");
        host.request(2, "echo", json!({}));
        host.stop_reading();
        host.request(3, "echo", json!({}));
        hear(&events, "wait dropped");
        assert_eq!(host.exit(), Exit::OutputClosed);
    }
}

#[test]
fn a_result_that_is_laid_out_over_lines_stays_one_message() {
    for framing in BOTH {
        let (mut host, ..) = start(framing);
        host.request(1, "pretty", json!({}));
        assert_eq!(host.result(1), json!({"a": [1, 2]}));
        check_alive(&mut host);
        host.finish();
    }
}

/// Serves three methods of the list.
fn served_list(options: Options) -> Served {
    let mut module = RpcModule::new("context");
    table::method::<Status, _, _, _>(&mut module, |_, _, _| async move { panic!("no status") })
        .unwrap();
    table::method::<CloseSession, _, _, _>(&mut module, |context, params, _| async move {
        assert_eq!(*context, "context");
        match params.session_id.as_str() {
            "known" => Ok(EmptyResult {}),
            other => Err(ApiError::UnknownSession(other.to_owned())),
        }
    })
    .unwrap();
    table::method::<Dispatch, _, _, _>(&mut module, |_, params, call| async move {
        let progress = ProgressNotification {
            call_id: params.call_id.clone().unwrap_or_default(),
            session_id: None,
            progress: 0.5,
            total: None,
            message: None,
        };
        call.peer.tell::<Progress>(&progress);
        let question = OpenUrlParams {
            url: params.name,
            purpose: "login".to_owned(),
            server: None,
        };
        let answer = call.peer.ask::<OpenUrl>(&question, ASKED).await;
        Err(ApiError::NotSupported(format!("{answer:?}")))
    })
    .unwrap();
    Served {
        methods: module.into(),
        lane: None,
        options,
    }
}

#[test]
fn methods_of_the_list_are_served() {
    for framing in BOTH {
        let mut host = Host::start(framing, served_list(Options::default()));
        host.request(1, "closeSession", json!({"sessionId": "known"}));
        assert_eq!(host.result(1), json!({}));
        host.request(2, "closeSession", json!({"sessionId": "x"}));
        let message = "no session has the id `x`";
        let data = json!({"kind": "unknownSession", "message": message, "retryable": false});
        let error = json!({"code": -32803, "message": message, "data": data});
        assert_eq!(host.next(), json!({"id": 2, "error": error}));
        for (params, expected) in [
            (
                json!([5]),
                "invalid params: expected an object with named members",
            ),
            (json!(null), "invalid params: missing field `sessionId`"),
            (
                json!({"sessionId": 5}),
                "invalid params: `sessionId`: invalid type: integer `5`, expected a string",
            ),
        ] {
            host.request(3, "closeSession", params);
            let error = json!({"code": -32602, "message": expected});
            assert_eq!(host.next(), json!({"id": 3, "error": error}));
        }
        host.request(4, "status", json!({}));
        assert_eq!(host.error(4), -32603);
        host.finish();
    }
}

#[test]
fn hosts_are_told_and_asked_under_the_prefix_of_the_methods() {
    for framing in BOTH {
        let mut host = Host::start(
            framing,
            served_list(Options {
                prefix: "toolcrib/",
                ..Options::default()
            }),
        );
        let params = json!({"name": "https://a.example", "callId": "c"});
        host.request(1, "dispatch", params.clone());
        assert_eq!(host.error(1), -32601);
        host.request(2, "toolcrib/dispatch", params.clone());
        let progress = json!({"callId": "c", "progress": 0.5});
        assert_eq!(
            host.next(),
            json!({"method": "toolcrib/progress", "params": progress})
        );
        let question = host.next();
        assert_eq!(question["method"], "toolcrib/openUrl");
        let id = question["id"].clone();
        host.send(json!({"jsonrpc": "2.0", "id": id, "result": {"opened": true}}));
        assert_eq!(
            host.next()["error"]["message"],
            "Ok(OpenUrlResult { opened: true })"
        );

        host.peer.opt_out(vec!["progress".to_owned()]);
        host.request(3, "toolcrib/dispatch", params);
        let id = host.next()["id"].clone();
        host.send(json!({"jsonrpc": "2.0", "id": id, "result": {"opened": "yes"}}));
        let message = host.next()["error"]["message"].to_string();
        assert!(message.contains("Malformed"), "{message}");
        host.finish();
    }
}

#[test]
fn the_lane_gets_what_the_table_does_not_know_in_order() {
    for framing in BOTH {
        let (mut served, ..) = served(Options {
            prefix: "toolcrib/",
            ..Options::default()
        });
        served.lane = Some(Box::new(|_| {
            Lane::spawn(|mut messages| async move {
                let mut notified = Vec::new();
                while let Some(message) = messages.recv().await {
                    match message {
                        LaneMessage::Notification { method, params } => {
                            notified.push(json!([method, params]));
                        }
                        LaneMessage::Request {
                            method,
                            params,
                            answer,
                        } => {
                            let result = json!([method, params, std::mem::take(&mut notified)]);
                            let raw = serde_json::value::to_raw_value(&result).unwrap();
                            let _ = answer.send(Ok(raw));
                        }
                    }
                }
            })
        }));
        let mut host = Host::start(framing, served);
        host.request(1, "initialize", json!({}));
        for version in 1..20 {
            host.notify("didChange", json!({ "version": version }));
        }
        host.request(2, "echo", json!([5]));
        host.request(3, "toolcrib/echo", json!({}));
        assert_eq!(host.result(1), json!(["initialize", "{}", []]));
        let changes: Vec<Value> = (1..20)
            .map(|version| json!(["didChange", format!("{{\"version\":{version}}}")]))
            .collect();
        let mut answers = [host.next(), host.next()];
        answers.sort_by_key(|answer| answer["id"].as_i64());
        assert_eq!(answers[0]["result"], json!(["echo", "[5]", changes]));
        assert_eq!(answers[1]["result"], json!({}));
        host.finish();
    }
}
