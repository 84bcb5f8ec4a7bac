//! Keeps what a model searched for and what it called then, where the user asked for it: the material of `toolcrib eval`.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::warn;

use crate::api::host::Host;
use crate::api::methods;
use crate::api::record::lines::{Append, Lines};
use crate::api::types::{LogLevel, LogNotification};
use crate::catalog::Tool;
use crate::config::Config;
use crate::redact::Redactor;

mod lines;

/// Searches of one session that wait for a call; older ones count as having led to none.
const WAITING: usize = 20;

/// Sessions whose searches wait for a call.
const SESSIONS: usize = 1000;

/// How long the end of the process waits for what is still to be written.
const FINISH_LIMIT: Duration = Duration::from_secs(2);

/// Writes in a thread of its own. Cheap to clone; no search waits for it.
#[derive(Clone)]
pub struct Recorder {
    events: mpsc::UnboundedSender<Event>,
}

enum Event {
    /// From now on this host is told of what goes wrong.
    Tell(Host),
    Searched {
        session: String,
        config: Arc<Config>,
        search: Search,
    },
    /// Without the name of the tool where it is one of the host's.
    Called {
        session: String,
        tool: Option<String>,
    },
    Closed {
        session: String,
    },
    Flush(oneshot::Sender<()>),
}

struct Search {
    query: String,
    shown: Vec<String>,
}

/// One line of the file.
#[derive(Serialize)]
struct Line<'a> {
    query: &'a str,
    /// The tool that was called next; empty where none was.
    expected: &'a [String],
    /// What the search showed, best first.
    shown: &'a [String],
}

impl Recorder {
    /// Appends to a file that was opened for that and to be read; `warning` is what its host should hear of it.
    pub fn start(file: File, path: &Path, warning: Option<String>) -> io::Result<Recorder> {
        let (events, mut received) = mpsc::unbounded_channel();
        let mut log = Log::new(Lines::new(file), path.display().to_string());
        log.untold.extend(warning);
        thread::Builder::new()
            .name("record".to_owned())
            .spawn(move || {
                while let Some(event) = received.blocking_recv() {
                    log.take(event);
                }
                log.give_up_all();
            })?;
        Ok(Recorder { events })
    }

    /// Tells this host from now on what goes wrong, and what has gone wrong.
    pub fn tell(&self, host: Host) {
        self.send(Event::Tell(host));
    }

    /// The secrets of the configuration are not written.
    pub fn searched(&self, session: &str, config: &Arc<Config>, query: &str, shown: Vec<String>) {
        let search = Search {
            query: query.to_owned(),
            shown,
        };
        self.send(Event::Searched {
            session: session.to_owned(),
            config: config.clone(),
            search,
        });
    }

    /// A search that led to a tool of the host is forgotten: only in this conversation is there such a tool.
    pub fn called(&self, session: &str, tool: &Tool) {
        let is_served = tool.server().is_some();
        self.send(Event::Called {
            session: session.to_owned(),
            tool: is_served.then(|| tool.exposed.as_str().to_owned()),
        });
    }

    pub fn closed(&self, session: &str) {
        self.send(Event::Closed {
            session: session.to_owned(),
        });
    }

    /// Writes what still waits for a call, as having led to none. A file system that hangs is not waited for.
    pub async fn finish(&self) {
        let (done, finished) = oneshot::channel();
        self.send(Event::Flush(done));
        // A thread that has ended has nothing to write any more.
        let _ = timeout(FINISH_LIMIT, finished).await;
    }

    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

struct Log<Sink: Append> {
    file: Sink,
    /// What the file is called.
    path: String,
    host: Option<Host>,
    /// What no host has been told yet.
    untold: Vec<String>,
    /// What takes out the secrets of this configuration.
    redactor: (Arc<Config>, Redactor),
    waiting: BTreeMap<String, VecDeque<Search>>,
    is_broken: bool,
}

impl<Sink: Append> Log<Sink> {
    fn new(file: Sink, path: String) -> Log<Sink> {
        Log {
            file,
            path,
            host: None,
            untold: Vec::new(),
            redactor: <(Arc<Config>, Redactor)>::default(),
            waiting: BTreeMap::new(),
            is_broken: false,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Tell(host) => {
                self.host = Some(host);
                for message in std::mem::take(&mut self.untold) {
                    self.complain(message);
                }
            }
            Event::Searched {
                session,
                config,
                mut search,
            } => {
                search.query = self.without_secrets(&config, &search.query);
                if self.waiting.len() >= SESSIONS && !self.waiting.contains_key(&session) {
                    self.give_up_all();
                }
                let waiting = self.waiting.entry(session).or_default();
                waiting.push_back(search);
                if waiting.len() > WAITING
                    && let Some(oldest) = waiting.pop_front()
                {
                    self.write(&oldest, &[]);
                }
            }
            Event::Called { session, tool } => {
                let searches = self.waiting.remove(&session).unwrap_or_default();
                let Some(tool) = tool else {
                    return;
                };
                let expected = [tool];
                for search in searches {
                    self.write(&search, &expected);
                }
            }
            Event::Closed { session } => self.give_up(&session),
            Event::Flush(done) => {
                self.give_up_all();
                let _ = done.send(());
            }
        }
    }

    fn without_secrets(&mut self, config: &Arc<Config>, text: &str) -> String {
        if !Arc::ptr_eq(&self.redactor.0, config) {
            self.redactor = (config.clone(), Redactor::new(config.secrets()));
        }
        self.redactor.1.redact(text).into_owned()
    }

    fn give_up(&mut self, session: &str) {
        for search in self.waiting.remove(session).unwrap_or_default() {
            self.write(&search, &[]);
        }
    }

    fn give_up_all(&mut self) {
        for session in self.waiting.keys().cloned().collect::<Vec<_>>() {
            self.give_up(&session);
        }
    }

    /// That a search could not be written is told once; whether the next can be is seen then.
    fn write(&mut self, search: &Search, expected: &[String]) {
        let line = Line {
            query: &search.query,
            expected,
            shown: &search.shown,
        };
        let text = serde_json::to_string(&line).unwrap_or_default();
        if let Err(error) = self.file.append(&text)
            && !self.is_broken
        {
            self.is_broken = true;
            self.complain(format!(
                "a search could not be recorded in `{}`: {error}; if later ones cannot be either, nothing more is said",
                self.path
            ));
        }
    }

    fn complain(&mut self, message: String) {
        let Some(host) = &self.host else {
            self.untold.push(message);
            return;
        };
        warn!("{message}");
        host.tell::<methods::Log>(LogNotification {
            level: LogLevel::Warning,
            message,
            server: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    /// Keeps the lines; the file is full after so many bytes.
    struct Kept {
        text: String,
        room: usize,
    }

    impl Append for Kept {
        fn append(&mut self, line: &str) -> io::Result<()> {
            if self.text.len() + line.len() > self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.text.push_str(line);
            self.text.push('\n');
            Ok(())
        }
    }

    fn log(room: usize, events: impl IntoIterator<Item = Event>) -> Log<Kept> {
        let file = Kept {
            text: String::new(),
            room,
        };
        let mut log = Log::new(file, "r.jsonl".to_owned());
        for event in events {
            log.take(event);
        }
        log.give_up_all();
        log
    }

    fn check(events: impl IntoIterator<Item = Event>, expected: Expect) {
        expected.assert_eq(&log(usize::MAX, events).file.text);
    }

    fn searched(session: &str, query: &str) -> Event {
        searched_with(&Arc::default(), session, query)
    }

    fn searched_with(config: &Arc<Config>, session: &str, query: &str) -> Event {
        let search = Search {
            query: query.to_owned(),
            shown: vec!["mcp_a_x".to_owned()],
        };
        Event::Searched {
            session: session.to_owned(),
            config: config.clone(),
            search,
        }
    }

    fn called(session: &str, tool: &str) -> Event {
        Event::Called {
            session: session.to_owned(),
            tool: Some(tool.to_owned()),
        }
    }

    fn knowing(secret: &str) -> Arc<Config> {
        Arc::new(Config {
            expanded: [secret.to_owned()].into(),
            ..Config::default()
        })
    }

    #[test]
    fn searches_are_written_with_the_call_that_followed_in_their_session() {
        check(
            [
                searched("a", "one"),
                searched("b", "two"),
                searched("a", "three"),
                called("a", "mcp_a_y"),
            ],
            expect![[r#"
                {"query":"one","expected":["mcp_a_y"],"shown":["mcp_a_x"]}
                {"query":"three","expected":["mcp_a_y"],"shown":["mcp_a_x"]}
                {"query":"two","expected":[],"shown":["mcp_a_x"]}
            "#]],
        );
    }

    #[test]
    fn a_call_without_a_search_before_it_is_not_written() {
        check(
            [
                called("a", "mcp_a_y"),
                Event::Closed {
                    session: "a".to_owned(),
                },
            ],
            expect![""],
        );
    }

    #[test]
    fn a_search_that_led_to_a_tool_of_the_host_is_not_written() {
        let by_host = Event::Called {
            session: "a".to_owned(),
            tool: None,
        };
        check(
            [
                searched("a", "one"),
                searched("b", "two"),
                by_host,
                called("a", "mcp_a_y"),
                called("b", "mcp_a_y"),
            ],
            expect![[r#"
                {"query":"two","expected":["mcp_a_y"],"shown":["mcp_a_x"]}
            "#]],
        );
    }

    #[test]
    fn secrets_of_the_configuration_in_force_are_not_written() {
        let (before, after) = (knowing("correct horse"), knowing("battery staple"));
        check(
            [
                searched_with(&before, "a", "log in with correct horse"),
                searched_with(&after, "a", "log in with battery staple, Bearer abc123DEF"),
            ],
            expect![[r#"
                {"query":"log in with [redacted]","expected":[],"shown":["mcp_a_x"]}
                {"query":"log in with [redacted], Bearer [redacted]","expected":[],"shown":["mcp_a_x"]}
            "#]],
        );
    }

    #[test]
    fn a_full_file_is_told_of_once_and_tried_again() {
        let long = "long ".repeat(50);
        let events = [
            searched("a", &long),
            searched("a", &long),
            searched("a", "short"),
        ];
        let log = log(100, events);
        expect![[r#"
            {"query":"short","expected":[],"shown":["mcp_a_x"]}
        "#]]
        .assert_eq(&log.file.text);
        let [told] = log.untold.as_slice() else {
            panic!("{:?}", log.untold);
        };
        assert!(
            told.starts_with("a search could not be recorded in `r.jsonl`: "),
            "{told}"
        );
    }
}
