//! Real processes that misbehave as servers were reported to: each does what the header of its script expects.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::config::ServerConfig;
use toolcrib::server::{Call, CallEnd, Event, ServerState};

use crate::server::rig::{Rig, fakes, object, python, text};

/// Runs the script's own steps; what concerns the model's view of a result is left to others.
async fn check(script: &str) {
    check_mode(script, None).await;
}

/// The same in another mode than the header names.
async fn check_mode(script: &str, mode: Option<&str>) {
    let source = std::fs::read_to_string(fakes().join(script)).unwrap();
    let header = source
        .lines()
        .find_map(|line| line.strip_prefix("# expect: "));
    let header: Value = serde_json::from_str(header.unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let args = match mode {
        Some(mode) => vec![mode.to_owned()],
        None => strings(&header["args"]),
    };
    let args: Vec<String> = args
        .into_iter()
        .map(|arg| match arg.starts_with('<') {
            true => dir
                .path()
                .join(arg.trim_matches(['<', '>']))
                .display()
                .to_string(),
            false => arg,
        })
        .collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let mut rig = Rig::start(with_needs(python(script, &args), &header["needs"]));
    if header["connect"] == "error" {
        let error = failure(&mut rig).await;
        assert!(error.1.len() > 20, "{error:?}");
        return rig.stop().await;
    }
    rig.state(ServerState::Ready).await;
    check_tools(&rig, &header["tools"]);
    let steps = header["steps"].as_array().cloned().unwrap_or_default();
    for step in &steps {
        check_step(&rig, step).await;
    }
    check_parallel(&rig, &header["parallel"]).await;
    check_verdict(&rig, &header["verdict"]).await;
    rig.stop().await;
}

fn with_needs(mut config: ServerConfig, needs: &Value) -> ServerConfig {
    let seconds = |name: &str| needs[name].as_f64().map(Duration::from_secs_f64);
    if let Some(limit) = seconds("call_limit_s").or(seconds("idle_limit_s")) {
        config.timeout = limit;
    }
    if let Some(limit) = seconds("total_limit_s") {
        config.max_timeout = limit;
    }
    if let Some(limit) = seconds("start_limit_s") {
        config.connect_timeout = limit;
    }
    config.max_concurrency = needs["max_in_flight"].as_u64().map(|n| n as usize);
    config
}

async fn failure(rig: &mut Rig) -> (&'static str, String) {
    rig.event(|event| match event {
        Event::Status(_, status) => {
            let error = status.error.as_ref()?;
            Some((error.kind, error.message.clone()))
        }
        _ => None,
    })
    .await
}

fn check_tools(rig: &Rig, expected: &Value) {
    let Some(listed) = rig.seen.iter().find_map(|event| match event {
        Event::Tools(_, listed) => Some(listed),
        _ => None,
    }) else {
        panic!("no tools were listed");
    };
    let mut names: Vec<&str> = listed.tools.iter().map(|tool| tool.name.as_str()).collect();
    names.retain(|&name| name != "verdict");
    names.sort_unstable();
    match expected {
        Value::Null => {}
        Value::Number(n) => assert_eq!(names.len() as u64, n.as_u64().unwrap()),
        // A tool whose schema is too deep for any parser is the one that may be missing.
        expected => {
            let mut expected = strings(expected);
            expected.sort_unstable();
            expected.retain(|name| name != "deep" || names.contains(&"deep"));
            assert_eq!(names, expected);
        }
    }
}

async fn check_step(rig: &Rig, step: &Value) {
    // What a removed tool's name leads to is decided by who owns the catalog.
    if step["outcome"] == "refused" {
        return;
    }
    let interval = step["interval_s"].as_f64().unwrap_or(0.0);
    for n in 0..step["repeat"].as_u64().unwrap_or(1) {
        let pause = match n {
            0 => step["wait_s"].as_f64().unwrap_or(0.0),
            _ => interval,
        };
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        let started = Instant::now();
        let tool = step["call"].as_str().unwrap();
        let mut args = step["args"].clone();
        if args["text"] == "<300 KB>" {
            args["text"] = json!("z".repeat(300_000));
        }
        let end = rig
            .call_with(Call::new(tool, object(args.clone())), |_| {})
            .await;
        let took = started.elapsed().as_secs_f64();
        let shown = text(&end);
        let step_text = match step["text"].as_str() {
            Some("<300 KB>") => args["text"].as_str(),
            other => other,
        };
        assert_eq!(outcome(&end), step["outcome"], "{tool}: {shown}");
        if let Some(expected) = step_text {
            assert_eq!(shown, expected);
        }
        if let Some(part) = step["text_contains"].as_str() {
            let all = format!("{end:?}");
            assert!(all.contains(part), "{tool}: {all}");
        }
        if let (Some(n), CallEnd::Answer(answer)) = (step["blocks"].as_u64(), &end) {
            assert_eq!(answer.content.len() as u64, n);
        }
        if let Some(max) = step["max_s"].as_f64() {
            assert!(took <= max, "{tool} took {took} s");
        }
    }
}

async fn check_parallel(rig: &Rig, parallel: &Value) {
    let Some(tool) = parallel["call"].as_str() else {
        return;
    };
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..parallel["count"].as_u64().unwrap() {
        let caller = rig.handle.caller();
        let call = Call::new(tool, object(json!({ "arg": n })));
        calls.spawn(async move { caller.call(call, |_| {}).await });
    }
    for end in calls.join_all().await {
        assert_eq!(outcome(&end), parallel["outcome"], "{}", text(&end));
    }
}

async fn check_verdict(rig: &Rig, verdict: &Value) {
    let Some(expected) = verdict.as_object() else {
        return;
    };
    let told: Value = serde_json::from_str(&text(&rig.call("verdict", json!({})).await)).unwrap();
    for (fact, expected) in expected {
        let found = &told[fact];
        match expected["min"].as_u64() {
            Some(min) => assert!(found.as_u64() >= Some(min), "{fact}: {told}"),
            None => assert_eq!(found, expected, "{fact}: {told}"),
        }
    }
}

fn outcome(end: &CallEnd) -> &'static str {
    match end {
        CallEnd::Answer(answer) if answer.is_error => "tool_error",
        CallEnd::Answer(_) => "ok",
        CallEnd::Protocol { .. } | CallEnd::Unavailable { .. } => "error",
        CallEnd::Timeout { .. } => "timeout",
        CallEnd::Lost { .. } => "unknown_outcome",
    }
}

fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .map(|item| item.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn other_modes_of_the_same_faults_are_survived() {
    check_mode("frame_id_types.py", Some("float")).await;
    check_mode("list_cursor_loop.py", Some("counter")).await;
    check_mode("proc_stderr_flood.py", Some("solid")).await;
    check_mode("spawn_exit_with_stderr.py", Some("init")).await;
}

#[tokio::test]
async fn answers_that_all_have_one_id_are_an_error_in_time() {
    let mut config = python("frame_id_types.py", &["const"]);
    config.connect_timeout = Duration::from_secs(8);
    let mut rig = Rig::start(config);
    let (kind, message) = failure(&mut rig).await;
    assert_eq!(kind, "timeout");
    assert!(
        message.contains("under ids that no request had"),
        "{message}"
    );
    rig.stop().await;
}

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $case() {
                check(concat!(stringify!($case), ".py")).await;
            }
        )*

        #[test]
        fn every_script_is_run() {
            let cases = [$(concat!(stringify!($case), ".py")),*];
            let mut scripts: Vec<String> = std::fs::read_dir(fakes())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.ends_with(".py") && name != "fakemcp.py")
                .collect();
            scripts.sort();
            assert_eq!(scripts, cases);
        }
    };
}

cases! {
    call_all_blocks,
    call_args_object_only,
    call_big_outputs,
    call_cancel_probe,
    call_error_kinds,
    call_fragile_serial,
    call_progress,
    call_progress_forever,
    call_slow,
    call_slow_and_fast,
    call_structured_and_text,
    call_structured_only,
    chg_grow_shrink,
    chg_odd_params,
    chg_race,
    conn_dies_after_n,
    conn_dies_mid_call,
    frame_content_length,
    frame_drip,
    frame_dup_response,
    frame_id_types,
    frame_json_noise,
    hand_error_for_notif,
    hand_future_version,
    hand_old_version,
    hand_strict_order,
    hand_unknown_notif,
    list_anyof,
    list_cursor_loop,
    list_dangling_ref,
    list_dialects,
    list_empty_schema,
    list_long_names,
    list_odd_types,
    list_output_schema_ref,
    list_pages,
    list_recursive,
    list_ref_defs,
    list_root_ref,
    list_same_names,
    proc_block_buffered,
    proc_clean_exit,
    proc_stderr_flood,
    proc_write_before_read,
    spawn_env_probe,
    spawn_exit_with_stderr,
    spawn_slow_start,
    srv_asks_roots,
    srv_pings,
    srv_sampling_in_call,
    srv_unknown_request,
}
