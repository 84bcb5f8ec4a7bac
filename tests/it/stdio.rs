//! Standard input and output of a real process, of whatever kind the host made them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jsonrpsee::RpcModule;
use serde_json::{Value, json};
use toolcrib::rpc::endpoint::{Endpoint, Options};
use toolcrib::rpc::stdio;

/// The process under test: this very binary, as a sidecar that prints and starts a child that reads and prints.
#[test]
#[ignore = "the other tests run it in a process of its own"]
fn sidecar() {
    let (input, output) = stdio::take().unwrap();
    println!("a stray line");
    let child = Command::new("sh")
        .args(["-c", "echo another; cat"])
        .status();
    assert!(child.unwrap().success());
    let mut module = RpcModule::new(());
    module
        .register_async_method("big", |_, _, _| async move { "x".repeat(1_000_000) })
        .unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let endpoint = Endpoint::new(Options::default());
    let exit = runtime.block_on(endpoint.run(input, output, module.into(), None));
    std::process::exit(exit.unwrap().status().into());
}

fn start(stdin: impl Into<Stdio>, stdout: impl Into<Stdio>) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stdio::sidecar", "--ignored", "--nocapture"])
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads past what the test harness prints before the sidecar takes the streams away.
fn skip_harness(output: &mut impl BufRead) {
    for expected in ["\n", "running 1 test\n"] {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, expected);
    }
}

fn check_answer(line: &str, id: u64) {
    let answer: Value = serde_json::from_str(line).unwrap();
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"].as_str().unwrap().len(), 1_000_000);
}

fn finish(mut child: Child) {
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    assert!(stderr.contains("a stray line\nanother\n"), "{stderr}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn request(id: u64) -> String {
    format!("{}\n", json!({"id": id, "method": "big"}))
}

fn check_conversation(child: Child, mut input: impl Write + Send + 'static, output: impl Read) {
    let mut output = BufReader::new(output);
    skip_harness(&mut output);
    for id in 0..3 {
        input.write_all(request(id).as_bytes()).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        check_answer(&line, id);
    }
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    finish(child);
}

#[test]
fn pipes_carry_the_protocol_and_nothing_else() {
    let mut child = start(Stdio::piped(), Stdio::piped());
    let input = child.stdin.take().unwrap();
    let output = child.stdout.take().unwrap();
    check_conversation(child, input, output);
}

#[test]
fn sockets_will_do_also_where_the_host_made_them_non_blocking() {
    for is_nonblocking in [false, true] {
        let (input, stdin) = UnixStream::pair().unwrap();
        let (output, stdout) = UnixStream::pair().unwrap();
        stdin.set_nonblocking(is_nonblocking).unwrap();
        stdout.set_nonblocking(is_nonblocking).unwrap();
        output
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let child = start(OwnedFd::from(stdin), OwnedFd::from(stdout));
        check_conversation(child, input, output);
    }
}

#[test]
fn files_will_do() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, request(1) + &request(2)).unwrap();
    let child = start(File::open(&input).unwrap(), File::create(&output).unwrap());
    finish(child);
    let mut output = BufReader::new(File::open(output).unwrap());
    skip_harness(&mut output);
    let lines: Vec<String> = output.lines().map(Result::unwrap).collect();
    assert_eq!(lines.len(), 2);
    let mut ids: Vec<_> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64())
        .collect();
    ids.sort();
    assert_eq!(ids, [Some(1), Some(2)]);
}
