//! The program as a person or a script runs it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use expect_test::{Expect, expect};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::config::keys::{self, Effect};

/// How long a command may take, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a configuration, in which commands are run.
struct Place {
    folder: TempDir,
}

struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Place {
    /// With nothing in it.
    fn empty() -> Place {
        Place {
            folder: TempDir::new().unwrap(),
        }
    }

    /// With these servers in its configuration.
    fn with_servers(servers: Value) -> Place {
        let place = Place::empty();
        place.write(
            "toolcrib.json",
            &json!({"mcp_servers": servers}).to_string(),
        );
        place
    }

    /// With the built-in servers `notes` and `units`, the second of which asks before it is used.
    fn with_demo_servers() -> Place {
        let mut units = demo_server("units");
        units["approval"] = "ask".into();
        Place::with_servers(json!({"notes": demo_server("notes"), "units": units}))
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command
            .args(args)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("TOOLCRIB_CONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.path("toolcrib.json").exists() {
            command.env("TOOLCRIB_CONFIG", "toolcrib.json");
        }
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with_input(args, "")
    }

    fn run_with_input(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut child = self.command(args).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_owned();
        // A command that does not read ends the pipe early.
        thread::spawn(move || drop(stdin.write_all(&input)));
        end(child)
    }
}

fn demo_server(name: &str) -> Value {
    json!({"command": env!("CARGO_BIN_EXE_toolcrib"), "args": ["__demo-server", name]})
}

/// Waits for the end of a process; one that does not come to it is killed.
fn end(child: Child) -> Ran {
    let pid = Pid::from_child(&child);
    let (sender, receiver) = channel();
    thread::spawn(move || drop(sender.send(child.wait_with_output().unwrap())));
    let Ok(Output {
        status,
        stdout,
        stderr,
    }) = receiver.recv_timeout(PATIENCE)
    else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("the command has not ended after {PATIENCE:?}");
    };
    Ran {
        status: status.code(),
        stdout: String::from_utf8(stdout).unwrap(),
        stderr: String::from_utf8(stderr).unwrap(),
    }
}

impl Ran {
    #[track_caller]
    fn check(&self, status: i32, stdout: Expect, stderr: Expect) {
        stdout.assert_eq(&self.stdout);
        stderr.assert_eq(&self.stderr);
        assert_eq!(self.status, Some(status));
    }

    /// The one line of JSON on stdout.
    #[track_caller]
    fn json(&self, status: i32) -> Value {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.stdout);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

#[test]
fn tells_its_version_to_people_and_programs() {
    let place = Place::empty();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        place.run(&["--version"]).stdout,
        format!("toolcrib {version}\n")
    );
    let json = place.run(&["--version", "--format", "json"]).json(0);
    assert_eq!(json, json!({"version": version, "protocolVersions": [1]}));
}

#[test]
fn wrong_usage_is_status_2_with_nothing_on_stdout() {
    let place = Place::empty();
    let lines: [&[&str]; 10] = [
        &[],
        &["eval", "none.jsonl", "--min-recall-at-5", "NaN"],
        &["tools", "--log-level", "bogus"],
        &["schema", "--log-level", "bogus"],
        &["describe", ""],
        &["search", ""],
        &["nothing"],
        &["call"],
        &["tools", "--format", "xml"],
        &["__demo-server", "x"],
    ];
    for line in lines {
        let ran = place.run(line);
        assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{line:?}");
        assert!(!ran.stderr.is_empty(), "{line:?}");
    }
    assert_eq!(place.run(&["--help"]).status, Some(0));
}

#[test]
fn without_a_configuration_it_says_where_one_belongs() {
    let place = Place::empty();
    for command in ["tools", "status", "check"] {
        let ran = place.run(&[command]);
        assert_eq!(
            (ran.status, ran.stdout.as_str()),
            (Some(3), ""),
            "{command}"
        );
        assert!(
            ran.stderr.contains(".config/toolcrib/config.yaml"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn programs_read_why_a_configuration_cannot_be_used() {
    let place = Place::empty();
    for command in ["check", "tools", "status"] {
        let json = place.run(&[command, "--format", "json"]).json(3);
        assert_eq!(json["configPath"], Value::Null, "{command}");
        let message = json["problems"][0]["message"].as_str().unwrap();
        assert!(message.contains(".config/toolcrib/config.yaml"), "{json}");
    }
    place.write("bad.yaml", "mcp_servers: {b: {}}\n");
    let lines: [&[&str]; 6] = [
        &["check"],
        &["tools"],
        &["status"],
        &["search", "x"],
        &["describe", "x"],
        &["call", "x"],
    ];
    for line in lines {
        let options = ["--format", "json", "--config", "bad.yaml"];
        let json = place.run(&[line, &options].concat()).json(3);
        assert_eq!(json["problems"][0]["path"], "/mcp_servers/b", "{line:?}");
        let json = place.run(&[line, &["--format", "json", "--config", "none.yaml"]].concat());
        let message = json.json(3)["problems"][0]["message"].to_string();
        assert!(message.contains("none.yaml"), "{message}");
    }
}

#[test]
fn check_names_the_place_of_every_problem() {
    let place = Place::empty();
    place.write(
        "bad.yaml",
        "mcp_servers:\n  a: {command: x, timeout: soon}\n  b: {}\n",
    );
    place
        .run(&["check", "--config", "bad.yaml"])
        .check(3, expect![[r#"
            bad.yaml:2:28: error: must be a time above 0, in seconds or such as `500ms`, `30s`, `2m` (/mcp_servers/a/timeout)
            bad.yaml:3:3: error: needs `command` or `url` (/mcp_servers/b)
            2 errors
        "#]], expect![[""]]);
    let json = place
        .run(&["check", "--config", "bad.yaml", "--format", "json"])
        .json(3);
    assert_eq!(
        json["problems"][1]["range"]["start"],
        json!({"line": 2, "character": 2})
    );
    let ran = place.run(&["tools", "--config", "bad.yaml"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(3), ""));
    assert!(
        ran.stderr.contains("bad.yaml:2:28: error:"),
        "{}",
        ran.stderr
    );
    let missing = place.run(&["check", "--config", "missing.yaml"]);
    assert_eq!(missing.status, Some(3));
}

#[test]
fn check_starts_nothing_unless_asked_to() {
    let place = Place::empty();
    let script = format!("touch {}", place.path("started").display());
    let server = json!({"command": "sh", "args": ["-c", script]});
    place.write(
        "toolcrib.json",
        &json!({"mcp_servers": {"marker": server}}).to_string(),
    );
    assert_eq!(place.run(&["check"]).status, Some(0));
    assert!(!place.path("started").exists());
    assert_eq!(place.run(&["check", "--connect"]).status, Some(4));
    assert!(place.path("started").exists());
}

#[test]
fn check_says_which_aliases_and_keywords_are_of_no_tool() {
    let place = Place::empty();
    let config = json!({
        "mcp_servers": {"units": demo_server("units")},
        "tools": {"tool_search": {
            "aliases": {"miles to km": "mcp_units_convert", "a/b": "units/convert"},
            "keywords": {"mcp_units_convert": ["inches"], "mcp_units_nothing": ["x"]},
        }},
    });
    place.write("toolcrib.json", &config.to_string());
    assert!(place.run(&["check"]).stdout.contains("fine"));
    let ran = place.run(&["check", "--connect"]);
    assert_eq!(ran.status, Some(0));
    let problems: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|it| it.contains("warning"))
        .collect();
    expect![[r#"
        toolcrib.json: warning: no server has a tool `units/convert`; give its name as `toolcrib tools` shows it, such as `mcp_tracker_create_issue` (/tools/tool_search/aliases/a~1b)
        toolcrib.json: warning: no server has a tool `mcp_units_nothing`; give its name as `toolcrib tools` shows it, such as `mcp_tracker_create_issue` (/tools/tool_search/keywords/mcp_units_nothing)
        2 warnings"#]].assert_eq(&problems.join("\n"));
    let json = place
        .run(&["check", "--connect", "--format", "json"])
        .json(0);
    assert_eq!(
        json["problems"][0]["path"],
        "/tools/tool_search/aliases/a~1b"
    );
}

#[test]
fn lists_tools_with_their_cost_and_the_very_array_for_a_model() {
    let place = Place::with_demo_servers();
    place
        .run(&["tools", "--server", "units", "--context-length", "5000"])
        .check(0, expect![[r#"
            NAME                          SERVER  TOKENS  DESCRIPTION
            mcp_units_compare_quantities  units      287  Compares two quantities that may be in different units and says which is more, by how much and by which factor.
            mcp_units_convert             units      254  Converts a quantity from one unit of measurement to another of the same kind: lengths, masses, temperatures, volumes, areas, speeds, durations, amounts of data, energies and pressures.
            mcp_units_convert_many        units      233  Converts a list of quantities to one unit in a single call, for example all the ingredients of a recipe to grams or all the columns of a table to kilometres.
            mcp_units_list_units          units      139  Lists the units that the other tools understand, by kind of quantity, with their symbols and names.

            4 tools of 1 server, 913 tokens
            a model with 5,000 tokens of context sees three bridge tools instead: 912 tokens reach the threshold of 500
        "#]], expect![[""]]);
    let line = [
        "tools",
        "--format",
        "json",
        "--write",
        "anthropic",
        "--context-length",
        "200000",
    ];
    let direct = place.run(&line).json(0);
    assert_eq!(direct["decision"]["mode"], "direct");
    let names: Vec<&str> = direct["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names.len(), 13);
    assert!(direct["tools"][0]["input_schema"].is_object());
    let wrong = place.run(&["tools", "--server", "nobody"]);
    assert_eq!(wrong.status, Some(2));
    assert!(wrong.stderr.contains("notes, units"), "{}", wrong.stderr);
}

#[test]
fn searches_and_describes_as_a_model_would() {
    let place = Place::with_demo_servers();
    let found = place
        .run(&[
            "search", "convert", "a", "quantity", "--limit", "2", "--format", "json",
        ])
        .json(0);
    assert_eq!(found["query"], "convert a quantity");
    assert_eq!(found["matches"].as_array().unwrap().len(), 2);
    let nothing = place.run(&["search", "xyzzy"]);
    assert_eq!(nothing.status, Some(1));
    assert!(
        nothing
            .stdout
            .starts_with("no tool was found for `xyzzy`\n")
    );
    assert_eq!(place.run(&["search", " "]).status, Some(2));
    place
        .run(&["describe", "mcp_units_convert", "nothing_like_it"])
        .check(1, expect![[r#"
            mcp_units_convert (units)
              Converts a quantity from one unit of measurement to another of the same kind: lengths, masses, temperatures, volumes, areas, speeds, durations, amounts of data, energies and pressures. Use this instead of calculating yourself whenever the user mixes metric and imperial units. Currencies are not supported.

              ARGUMENT  TYPE     DEFAULT   DESCRIPTION
              value     number   required  The number to convert.
              from      string   required  Unit of the number, as a symbol or an English name, for example "mi", "mile" or "°F".
              to        string   required  Unit to convert to, as a symbol or an English name, for example "km".
              decimals  integer            Digits after the decimal point. Left out, the answer has up to 6 significant digits.
        "#]], expect![[r#"
            error: there is no tool `nothing_like_it`: find tools with tool_search
        "#]]);
}

#[test]
fn a_call_prints_the_answer_and_tells_who_said_no() {
    let place = Place::with_demo_servers();
    place
        .run(&["call", "mcp_notes_list_tags", r#"{"prefix": "w"}"#])
        .check(
            0,
            expect![[r#"
            {"tags":[{"tag":"work","notes":1}]}
        "#]],
            expect![[""]],
        );
    place
        .run_with_input(
            &["call", "mcp_notes_search_notes", "-"],
            r#"{"query": "bread"}"#,
        )
        .check(0, expect![[r#"
            {"total":1,"notes":[{"note_id":3,"title":"Bread","tags":["kitchen","recipes"],"excerpt":"500 g flour, 350 g water, 10 g salt."}]}
        "#]], expect![[""]]);
    place
        .run(&["call", "mcp_notes_get_note", r#"{"note_id": 9}"#])
        .check(
            1,
            expect![[""]],
            expect![[r#"
            error: mcp_notes_get_note says that it failed
            there is no note 9: list_notes and search_notes return the ids that exist
        "#]],
        );
    place
        .run(&["call", "mcp_notes_get_note", r#"{"note_id": []}"#])
        .check(
            2,
            expect![[""]],
            expect![[r#"
            error: mcp_notes_get_note was refused and not sent
            `mcp_notes_get_note` was not called: `arguments.note_id` must be integer, not array
        "#]],
        );
    place
        .run(&["call", "mcp_notes_get_note", "note_id=9"])
        .check(
            2,
            expect![[""]],
            expect![[r#"
            error: the arguments are not JSON: expected ident at line 1 column 2
            give a JSON object, such as '{"query": "bread"}', or `-` and the object on stdin
        "#]],
        );
    place
        .run_with_input(&["call", "mcp_notes_get_note", "-"], b"\xff")
        .check(
            2,
            expect![[""]],
            expect![[r#"
            error: cannot read the arguments from stdin: stream did not contain valid UTF-8
            give a JSON object, such as '{"query": "bread"}', or `-` and the object on stdin
        "#]],
        );
    let without = place.run(&["call", "mcp_notes_list_tags"]);
    let null = place.run(&["call", "mcp_notes_list_tags", "null"]);
    assert_eq!((null.status, null.stdout), (Some(0), without.stdout));
    assert_eq!(place.run(&["call", "mcp_nobody_does_this"]).status, Some(1));
    let json = place
        .run(&["call", "mcp_notes_list_tags", "--format", "json"])
        .json(0);
    assert_eq!(json["outcome"], "ok");
    assert_eq!(json["tool"]["server"], "notes");
}

#[test]
fn a_call_that_needs_approval_is_refused_unless_somebody_gives_it() {
    let place = Place::with_demo_servers();
    let arguments = r#"{"value": 26.2, "from": "mi", "to": "km"}"#;
    let refused = place.run(&["call", "mcp_units_convert", arguments]);
    assert_eq!((refused.status, refused.stdout.as_str()), (Some(5), ""));
    assert!(
        refused.stderr.contains("there is nobody to ask"),
        "{}",
        refused.stderr
    );
    place
        .run(&["call", "--yes", "mcp_units_convert", arguments])
        .check(
            0,
            expect![[r#"
            26.2 mi = 42.1648 km
        "#]],
            expect![[""]],
        );
}

#[test]
fn a_server_that_cannot_be_reached_is_status_4_and_does_not_spoil_the_others() {
    let broken = json!({"command": "sh", "args": ["-c", "echo no API_KEY >&2; exit 1"]});
    let place = Place::with_servers(json!({"broken": broken, "notes": demo_server("notes")}));
    let status = place.run(&["status", "--format", "json"]).json(4);
    let states: Vec<(&Value, bool)> = status["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| (&server["name"], server["state"] == "ready"))
        .collect();
    assert_eq!(states, [(&json!("broken"), false), (&json!("notes"), true)]);
    let people = place.run(&["status"]);
    assert!(people.stdout.contains("no API_KEY"), "{}", people.stdout);
    assert_eq!(place.run(&["call", "mcp_notes_list_tags"]).status, Some(0));
    assert_eq!(place.run(&["call", "mcp_broken_tool"]).status, Some(4));
    let tools = place.run(&["tools"]);
    assert_eq!(tools.status, Some(0));
    assert!(
        tools.stderr.contains("warning: server `broken`"),
        "{}",
        tools.stderr
    );
    let alone = Place::with_servers(json!({"broken": {"command": "there-is-no-such-program"}}));
    assert_eq!(alone.run(&["tools"]).status, Some(4));
}

#[test]
fn only_a_regular_file_is_recorded_to() {
    let place = Place::with_demo_servers();
    fs::create_dir(place.path("folder")).unwrap();
    let made = Command::new("mkfifo").arg(place.path("pipe")).status();
    assert!(made.unwrap().success());
    let _socket = UnixListener::bind(place.path("socket")).unwrap();
    symlink("nowhere", place.path("dangling")).unwrap();
    symlink("pipe", place.path("link")).unwrap();
    for (name, reason) in [
        ("folder", "it is a folder and no regular file"),
        ("pipe", "it is a named pipe and no regular file"),
        ("link", "it is a named pipe and no regular file"),
        ("socket", "it is a socket and no regular file"),
        ("/dev/null", "it is a device and no regular file"),
        ("dangling", "it is a symbolic link to nothing"),
    ] {
        let ran = place.run(&["serve", "--record", name]);
        assert_eq!(
            ran.stderr,
            format!("error: cannot record to `{name}`: {reason}\n")
        );
        assert_eq!(ran.status, Some(2));
    }
    symlink("recorded.jsonl", place.path("good")).unwrap();
    place.write("recorded.jsonl", "");
    assert_eq!(place.run(&["serve", "--record", "good"]).status, Some(0));
}

#[test]
fn eval_tells_where_the_right_tool_stood() {
    let place = Place::with_demo_servers();
    place.write(
        "queries.jsonl",
        r#"{"query": "mcp_notes_create_note", "expected": ["mcp_notes_create_note"]}

{"query": "xyzzy", "expected": ["mcp_units_convert"]}
"#,
    );
    let summary = place
        .run(&["eval", "queries.jsonl", "--format", "json"])
        .json(0);
    assert_eq!(
        summary,
        json!({
            "queries": 2,
            "skipped": 0,
            "unknown": 0,
            "recallAt1": 0.5,
            "recallAt3": 0.5,
            "recallAt5": 0.5,
            "recallAt10": 0.5,
            "meanReciprocalRank": 0.5,
            "misses": [
                {"query": "xyzzy", "expected": ["mcp_units_convert"], "rank": null, "instead": []},
            ],
        })
    );
    place.write(
        "queries.yaml",
        "- {query: mcp_notes_create_note, expected: [notes/create_note]}\n\
         - {query: xyzzy, expected: [mcp_units_convert]}\n\
         - {query: left open, expected: [], shown: [mcp_notes_get_note]}\n",
    );
    place
        .run(&["eval", "queries.yaml", "--min-recall-at-5", "0.9"])
        .check(
            1,
            expect![[r#"
                RECALL@1  RECALL@3  RECALL@5  RECALL@10  MRR
                  50.0 %    50.0 %    50.0 %     50.0 %  0.500
                2 queries, 1 miss, 1 skipped that expect nothing

                xyzzy
                  expected: mcp_units_convert, not found
                  instead:  nothing
            "#]],
            expect![[r#"
                error: recall@5 is 0.500, and 0.900 is wanted
            "#]],
        );
    let least = ["eval", "queries.yaml", "--min-recall-at-5", "0.5"];
    assert_eq!(place.run(&least).status, Some(0));
    place.write(
        "queries.jsonl",
        r#"{"query": "x", "expected": ["no_tool"]}"#,
    );
    assert_eq!(place.run(&["eval", "queries.jsonl"]).status, Some(2));
}

#[test]
fn eval_leaves_out_what_expects_a_tool_that_is_not_there() {
    let place = Place::with_demo_servers();
    place.write(
        "queries.jsonl",
        r#"# recorded
{"query": "mcp_notes_create_note", "expected": ["mcp_notes_create_note"]}
{"query": "what time is it", "expected": ["now"]}
{"query": "mcp_units_convert", "expected": ["mcp_units_convert", "mcp_units_exchange"]}
"#,
    );
    let warnings = expect![[r#"
        warning: queries.jsonl:3: there is no tool `now`
        warning: queries.jsonl:4: there is no tool `mcp_units_exchange`
    "#]];
    place.run(&["eval", "queries.jsonl"]).check(
        0,
        expect![[r#"
            RECALL@1  RECALL@3  RECALL@5  RECALL@10  MRR
             100.0 %   100.0 %   100.0 %    100.0 %  1.000
            2 queries, 0 misses, 1 left out that expect an unknown tool
        "#]],
        warnings,
    );
    let summary = place.run(&["eval", "queries.jsonl", "--format", "json"]);
    assert_eq!(summary.json(0)["unknown"], 1);
    place.write(
        "queries.jsonl",
        r#"{"query": "what time is it", "expected": ["now"]}"#,
    );
    place.run(&["eval", "queries.jsonl"]).check(
        2,
        expect![""],
        expect![[r#"
            warning: queries.jsonl:1: there is no tool `now`
            error: no query of `queries.jsonl` expects a tool that there is
        "#]],
    );
}

#[test]
fn a_search_explains_itself_on_request() {
    let place = Place::with_demo_servers();
    let ran = place.run(&["search", "--explain", "convert miles", "--limit", "1"]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("words: convert ("), "{}", ran.stdout);
    assert!(ran.stdout.contains("`convert` in name +"), "{}", ran.stdout);
    let args = ["search", "--explain", "convert miles", "--format", "json"];
    let json = place.run(&args).json(0);
    let best = &json["hits"][0];
    assert_eq!(best["name"], "mcp_units_convert");
    let reasons = best["reasons"].as_array().unwrap();
    let sum: f64 = reasons
        .iter()
        .map(|it| it["amount"].as_f64().unwrap())
        .sum();
    let score = best["score"].as_f64().unwrap();
    assert!((sum - score).abs() < 1e-3, "{json}");
}

#[test]
fn prints_the_documents_of_the_contract_and_the_configuration() {
    let place = Place::empty();
    let api: Value = serde_json::from_str(&place.run(&["schema"]).stdout).unwrap();
    assert!(api["openrpc"].is_string());
    let config: Value = serde_json::from_str(&place.run(&["schema", "config"]).stdout).unwrap();
    assert!(
        jsonschema::validator_for(&config)
            .unwrap()
            .is_valid(&json!({"mcp_servers": {}}))
    );
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let place = Place::empty();
    let mut child = place.command(&["schema"]).spawn().unwrap();
    let mut begin = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut begin).unwrap();
    let ran = end(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let place = Place::with_demo_servers();
    assert!(!place.run(&["tools"]).stdout.contains('\x1b'));
    assert!(
        place
            .run(&["tools", "--color", "always"])
            .stdout
            .contains('\x1b')
    );
}

/// The server keeps a pipe open for as long as it lives.
#[test]
fn an_interrupted_command_takes_its_servers_along() {
    let place = Place::empty();
    let script = "exec 3> alive; echo started >&3; exec sleep 1000";
    let server = json!({"command": "sh", "args": ["-c", script], "cwd": place.folder.path()});
    let config = json!({"mcp_servers": {"silent": server}});
    place.write("toolcrib.json", &config.to_string());
    let alive = place.path("alive");
    rustix::fs::mkfifoat(rustix::fs::CWD, &alive, rustix::fs::Mode::RWXU).unwrap();
    let child = place.command(&["status"]).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let (sender, lines) = channel();
    thread::spawn(move || {
        let reader = BufReader::new(fs::File::open(alive).unwrap());
        reader
            .lines()
            .for_each(|line| drop(sender.send(line.unwrap())));
    });
    assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("started"));
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(end(child).status, Some(130));
    assert_eq!(
        lines.recv_timeout(PATIENCE),
        Err(RecvTimeoutError::Disconnected)
    );
}

#[test]
fn the_demo_explains_itself_and_leaves_nothing_behind() {
    let place = Place::empty();
    fs::create_dir(place.path("tmp")).unwrap();
    let mut command = place.command(&["demo"]);
    let ran = end(command.env("TMPDIR", place.path("tmp")).spawn().unwrap());
    assert_eq!(
        (ran.status, ran.stderr.as_str()),
        (Some(0), ""),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.lines().count() <= 60);
    for fact in [
        "42  9,",
        "the bridge",
        "26.2 mi = 42.1648 km",
        "nobody to ask",
        "nothing is left behind",
    ] {
        assert!(ran.stdout.contains(fact), "{fact} in\n{}", ran.stdout);
    }
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0);
}

#[test]
fn the_demo_tells_programs_the_same() {
    let walk = Place::empty().run(&["demo", "--format", "json"]).json(0);
    let modes: Vec<&Value> = walk["views"]
        .as_array()
        .unwrap()
        .iter()
        .map(|view| &view["decision"]["mode"])
        .collect();
    assert_eq!(modes, ["direct", "bridged"]);
    assert_eq!(walk["catalog"]["tools"], 42);
    assert!(
        walk["search"]["result"]["content"]
            .as_str()
            .unwrap()
            .contains("mcp_units_convert")
    );
    assert_eq!(walk["call"]["result"]["tool"]["name"], "mcp_units_convert");
    assert_eq!(
        walk["resolve"]["result"]["tool"]["originalName"],
        "cancel_event"
    );
    assert_eq!(walk["refused"]["result"]["outcome"], "refused");
    assert_eq!(walk["processesLeft"], 0);
}

#[test]
fn serve_answers_every_line_of_a_pipe_and_ends_with_it() {
    let place = Place::with_demo_servers();
    let lines = [
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": 1, "optOutNotifications": ["serverStatus", "toolsChanged"]}}),
        json!({"id": 2, "method": "assembleTools", "params": {"contextLength": 200_000, "waitMs": 30_000}}),
        json!({"id": 3, "method": "dispatch", "params": {"name": "mcp_notes_list_tags", "arguments": "{\"prefix\": \"k\"}"}}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = place.run_with_input(&["serve"], &input);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let mut answers: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [1, 2, 3]);
    assert_eq!(answers[1]["result"]["decision"]["mode"], "direct");
    assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 13);
    let content = answers[2]["result"]["content"].as_str().unwrap();
    assert!(content.contains(r#"\"tag\":\"kitchen\""#), "{content}");
}

#[test]
fn serve_speaks_lsp_framing_to_those_who_begin_with_it() {
    let place = Place::with_servers(json!({}));
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "status"}).to_string();
    let input = format!("Content-Length: {}\r\n\r\n{request}", request.len());
    let ran = place.run_with_input(&["serve"], &input);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("Content-Length: "), "{}", ran.stdout);
    let forced = place.run_with_input(&["serve", "--framing", "lines"], format!("{request}\n"));
    assert!(
        forced.stdout.starts_with("{\"jsonrpc\":\"2.0\",\"id\":1,"),
        "{}",
        forced.stdout
    );
}

#[test]
fn a_built_in_server_ends_with_its_input() {
    let place = Place::empty();
    let mut child = place.command(&["__demo-server", "text"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    drop(stdin);
    assert_eq!(end(child).status, Some(0));
}

#[test]
fn lsp_shows_an_editor_what_is_wrong() {
    let opened = json!({"textDocument": {"uri": "file:///toolcrib.yaml", "languageId": "yaml", "version": 1, "text": "mcp_servers: 7\n"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}),
        json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}),
        json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "shutdown"}),
        json!({"jsonrpc": "2.0", "method": "exit"}),
    ];
    let framed = messages.map(|message| {
        let text = message.to_string();
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    });
    let ran = Place::empty().run_with_input(&["lsp"], framed.concat());
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("textDocument/publishDiagnostics"),
        "{}",
        ran.stdout
    );
}

#[test]
fn the_readme_names_every_key_and_every_command() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let tables = [
        &keys::SERVER,
        &keys::SERVER_TOOLS,
        &keys::TOOL_SEARCH,
        &keys::OUTPUT,
    ];
    let names = tables.into_iter().flat_map(|table| table.keys);
    for key in names.filter(|key| key.effect == Effect::Here) {
        let as_whole = format!("`{}`", key.name);
        let as_part = format!("`tools.{}`", key.name);
        assert!(
            readme.contains(&as_whole) || readme.contains(&as_part),
            "{}",
            key.name
        );
    }
    let help = Place::empty().run(&["--help"]).stdout;
    let commands = help.split_once("Commands:").unwrap().1;
    let commands = commands.split_once("\n\n").unwrap().0.lines();
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        let is_shown = readme.contains(&format!("`toolcrib {command}"));
        assert!(is_shown || command == "help", "{command}");
    }
}
