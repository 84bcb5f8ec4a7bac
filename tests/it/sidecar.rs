//! `toolcrib serve` as a child, for tests: a home of its own, and a host that keeps what it reads.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ends the child when dropped; the servers go with it.
pub struct Sidecar {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<Value>,
    /// Read, but not asked for yet.
    kept: VecDeque<Value>,
    last_id: u64,
    home: TempDir,
}

impl Sidecar {
    pub fn start(config: &str) -> Sidecar {
        let program = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        Sidecar::start_by(program, config, &[])
    }

    /// Started by a program that is given the arguments, with more options for `serve`.
    pub fn start_by(mut program: Command, config: &str, options: &[&str]) -> Sidecar {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.yaml");
        fs::write(&path, config).unwrap();
        let mut child = program
            .arg("serve")
            .args(options)
            .arg("--config")
            .arg(&path)
            .env("HOME", home.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                let message = serde_json::from_str(&line.unwrap()).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Sidecar {
            child,
            input,
            output,
            kept: VecDeque::new(),
            last_id: 0,
            home,
        }
    }

    pub fn write_config(&self, text: &str) {
        fs::write(self.config_path(), text).unwrap();
    }

    pub fn config_path(&self) -> PathBuf {
        self.home.path().join("config.yaml")
    }

    /// Sends a request; returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.write(
            &json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}),
        );
        self.last_id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Answers a request of the sidecar with a `result` or an `error`.
    pub fn answer(&mut self, request: &Value, answer: Value) {
        let mut message = json!({"jsonrpc": "2.0", "id": request["id"]});
        message
            .as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        self.write(&message);
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.result(id)
    }

    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let message = self.message(id);
        message
            .get("error")
            .unwrap_or_else(|| panic!("no error: {message}"))
            .clone()
    }

    pub fn result(&mut self, id: u64) -> Value {
        let message = self.message(id);
        message
            .get("result")
            .unwrap_or_else(|| panic!("no result: {message}"))
            .clone()
    }

    /// The whole answer to a request.
    pub fn message(&mut self, id: u64) -> Value {
        self.next(|message| message["id"] == id && message.get("method").is_none())
    }

    pub fn next_request(&mut self, method: &str) -> Value {
        self.next(|message| message["method"] == method && message.get("id").is_some())
    }

    pub fn next_notification(&mut self, method: &str) -> Value {
        self.next(|message| message["method"] == method && message.get("id").is_none())
    }

    /// Notifications that came so far and were not asked for.
    pub fn notifications(&mut self) -> Vec<Value> {
        self.kept.extend(self.output.try_iter());
        self.kept
            .iter()
            .filter(|it| it.get("method").is_some() && it.get("id").is_none())
            .cloned()
            .collect()
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The exit status, once the child has ended by itself.
    pub fn wait(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < end, "the sidecar did not end");
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn next(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).unwrap();
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self
                .output
                .recv_timeout(left)
                .expect("the message did not come");
            if wanted(&message) {
                return message;
            }
            self.kept.push_back(message);
        }
    }

    fn write(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("the input is closed");
        input.write_all(format!("{message}\n").as_bytes()).unwrap();
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        self.input = None;
        // Whether it goes by itself in time or has to be made to: nothing it started outlives it.
        let end = Instant::now() + Duration::from_secs(15);
        while Instant::now() < end && self.child.try_wait().is_ok_and(|status| status.is_none()) {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The JSON that a dispatch hands to the model.
pub fn value_of(result: &Value) -> Value {
    serde_json::from_str(result["content"].as_str().unwrap()).unwrap()
}
