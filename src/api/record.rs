//! Keeps what a model searched for and what it called then, where the user asked for it: the material of `toolcrib eval`.

use std::collections::{BTreeMap, VecDeque};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use serde::Serialize;
use tokio::sync::{mpsc, oneshot};
use tracing::warn;

/// Searches of one session that wait for a call; older ones count as having led to none.
const WAITING: usize = 20;

/// Sessions whose searches wait for a call.
const SESSIONS: usize = 1000;

/// Writes in a thread of its own. Cheap to clone; nothing is ever waited for.
#[derive(Clone)]
pub struct Recorder {
    events: mpsc::UnboundedSender<Event>,
}

enum Event {
    Searched { session: String, search: Search },
    Called { session: String, tool: String },
    Closed { session: String },
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
    /// Appends to a file, which is made for this user alone.
    pub fn open(path: &Path) -> io::Result<Recorder> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path)?;
        let (events, mut received) = mpsc::unbounded_channel();
        let mut log = Log {
            file,
            waiting: BTreeMap::new(),
            is_broken: false,
        };
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

    pub fn searched(&self, session: &str, query: &str, shown: Vec<String>) {
        let search = Search {
            query: query.to_owned(),
            shown,
        };
        self.send(Event::Searched {
            session: session.to_owned(),
            search,
        });
    }

    pub fn called(&self, session: &str, tool: &str) {
        self.send(Event::Called {
            session: session.to_owned(),
            tool: tool.to_owned(),
        });
    }

    pub fn closed(&self, session: &str) {
        self.send(Event::Closed {
            session: session.to_owned(),
        });
    }

    /// Writes what still waits for a call, as having led to none.
    pub async fn finish(&self) {
        let (done, finished) = oneshot::channel();
        self.send(Event::Flush(done));
        // A thread that has ended has nothing to write any more.
        let _ = finished.await;
    }

    fn send(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

struct Log<Sink: Write> {
    file: Sink,
    waiting: BTreeMap<String, VecDeque<Search>>,
    is_broken: bool,
}

impl<Sink: Write> Log<Sink> {
    fn take(&mut self, event: Event) {
        match event {
            Event::Searched { session, search } => {
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
                let expected = [tool];
                for search in self.waiting.remove(&session).unwrap_or_default() {
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

    /// A file that cannot be written any more is warned of once.
    fn write(&mut self, search: &Search, expected: &[String]) {
        let line = Line {
            query: &search.query,
            expected,
            shown: &search.shown,
        };
        let text = serde_json::to_string(&line).unwrap_or_default();
        if let Err(error) = writeln!(self.file, "{text}").and_then(|()| self.file.flush())
            && !self.is_broken
        {
            self.is_broken = true;
            warn!(%error, "searches are not recorded any more");
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(events: impl IntoIterator<Item = Event>, expected: Expect) {
        let mut log = Log {
            file: Vec::new(),
            waiting: BTreeMap::new(),
            is_broken: false,
        };
        for event in events {
            log.take(event);
        }
        log.give_up_all();
        expected.assert_eq(&String::from_utf8(log.file).unwrap());
    }

    fn searched(session: &str, query: &str) -> Event {
        let search = Search {
            query: query.to_owned(),
            shown: vec!["mcp_a_x".to_owned()],
        };
        Event::Searched {
            session: session.to_owned(),
            search,
        }
    }

    fn called(session: &str, tool: &str) -> Event {
        Event::Called {
            session: session.to_owned(),
            tool: tool.to_owned(),
        }
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
}
