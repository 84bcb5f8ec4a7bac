//! A server under test, whatever it runs on, and what came of it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use toolcrib::config::{ServerConfig, StdioConfig, TransportConfig};
use toolcrib::names::ServerName;
use toolcrib::server::dial::Dial;
use toolcrib::server::{
    Call, CallEnd, Event, HostSupport, ListedTools, Progress, ServerHandle, ServerOptions,
    ServerState, Status,
};

/// No test waits longer for anything.
pub const LIMIT: Duration = Duration::from_secs(60);

pub struct Rig {
    pub handle: ServerHandle,
    pub events: mpsc::UnboundedReceiver<Event>,
    pub seen: VecDeque<Event>,
    pub host: watch::Sender<HostSupport>,
}

/// A configuration for a Python script of `tests/fakes`.
pub fn python(script: &str, args: &[&str]) -> ServerConfig {
    let script = fakes().join(script);
    let mut all = vec![script.display().to_string()];
    all.extend(args.iter().map(|&arg| arg.to_owned()));
    stdio("python3", &all)
}

pub fn stdio(command: &str, args: &[String]) -> ServerConfig {
    ServerConfig::new(TransportConfig::Stdio(StdioConfig {
        command: command.to_owned(),
        args: args.to_vec(),
        env: [("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned())].into(),
        env_from: vec![],
        cwd: None,
    }))
}

pub fn fakes() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fakes")
}

pub fn name() -> ServerName {
    ServerName::new("fake").unwrap()
}

pub fn options() -> (ServerOptions, watch::Sender<HostSupport>) {
    let (host, support) = watch::channel(HostSupport::default());
    let shim = PathBuf::from(env!("CARGO_BIN_EXE_toolcrib"));
    (ServerOptions::new(shim, support), host)
}

impl Rig {
    pub fn start(config: ServerConfig) -> Rig {
        let (options, host) = options();
        let (sender, events) = mpsc::unbounded_channel();
        let handle = ServerHandle::spawn(name(), config, options, sender);
        Rig::of(handle, events, host)
    }

    pub fn over(dial: impl Dial, config: ServerConfig) -> Rig {
        Rig::over_for(dial, config, HostSupport::default())
    }

    pub fn over_for(dial: impl Dial, config: ServerConfig, support: HostSupport) -> Rig {
        let (options, host) = options();
        host.send_replace(support);
        let (sender, events) = mpsc::unbounded_channel();
        let handle = ServerHandle::spawn_with(dial, name(), config, options, sender);
        Rig::of(handle, events, host)
    }

    fn of(
        handle: ServerHandle,
        events: mpsc::UnboundedReceiver<Event>,
        host: watch::Sender<HostSupport>,
    ) -> Rig {
        Rig {
            handle,
            events,
            seen: VecDeque::new(),
            host,
        }
    }

    /// The next event of which the function makes something; the ones before it are kept in `seen`.
    pub async fn event<T>(&mut self, mut wanted: impl FnMut(&Event) -> Option<T>) -> T {
        let found = timeout(LIMIT * 10, async {
            loop {
                let event = self.events.recv().await.expect("the server is gone");
                let found = wanted(&event);
                self.seen.push_back(event);
                if let Some(found) = found {
                    return found;
                }
            }
        });
        match found.await {
            Ok(found) => found,
            Err(_) => panic!("it did not happen; seen: {:#?}", self.seen),
        }
    }

    pub async fn state(&mut self, state: ServerState) -> Status {
        self.event(|event| match event {
            Event::Status(_, status) if status.state == state => Some(Status::clone(status)),
            _ => None,
        })
        .await
    }

    pub async fn tools(&mut self) -> ListedTools {
        self.event(|event| match event {
            Event::Tools(_, tools) => Some(ListedTools::clone(tools)),
            _ => None,
        })
        .await
    }

    /// The states so far, in order.
    pub fn states(&mut self) -> Vec<ServerState> {
        while let Ok(event) = self.events.try_recv() {
            self.seen.push_back(event);
        }
        let states = self.seen.iter().filter_map(|event| match event {
            Event::Status(_, status) => Some(status.state),
            _ => None,
        });
        states.collect()
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> CallEnd {
        self.call_with(Call::new(tool, object(arguments)), |_| {})
            .await
    }

    pub async fn call_with(&self, call: Call, on_progress: impl FnMut(Progress) + Send) -> CallEnd {
        let caller = self.handle.caller();
        timeout(LIMIT, caller.call(call, on_progress))
            .await
            .expect("the call did not end")
    }

    pub async fn stop(self) {
        timeout(LIMIT, self.handle.stop())
            .await
            .expect("it did not stop");
    }
}

pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null => Map::new(),
        other => panic!("{other} is no object"),
    }
}

/// The text of an answer, or a line that tells how else the call ended.
pub fn text(end: &CallEnd) -> String {
    match end {
        CallEnd::Answer(answer) => {
            let texts = answer
                .content
                .iter()
                .filter_map(|block| block["text"].as_str());
            let texts: Vec<&str> = texts.collect();
            match answer.is_error {
                true => format!("tool error: {}", texts.join("\n")),
                false => texts.join("\n"),
            }
        }
        CallEnd::Protocol { code, message, .. } => format!("protocol error {code}: {message}"),
        CallEnd::Timeout { message, .. } => format!("timeout: {message}"),
        CallEnd::Lost { message } => format!("lost: {message}"),
        CallEnd::Unavailable { message, .. } => format!("unavailable: {message}"),
    }
}
