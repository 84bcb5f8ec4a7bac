//! Fetches all of a server's tools, and knows when to stop.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::catalog::listing::{Dropped, ListedTool};
use crate::server::connection::Connection;
use crate::server::decode;
use crate::server::mcp::{Failure, METHOD_NOT_FOUND};
use crate::server::outbox::SendError;
use crate::server::tail::cut;
use crate::server::wire::Ticket;

const MAX_PAGES: usize = 200;
const MAX_TOOLS: usize = 10_000;
const MAX_BYTES: usize = 32 << 20;
const LIMIT: Duration = Duration::from_secs(60);

/// More dropped tools than this are counted instead of named.
const MAX_DROPPED: usize = 100;

/// All that was listed, in the server's order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    pub tools: Vec<ListedTool>,
    pub dropped: Vec<Dropped>,
    pub warnings: Vec<String>,
}

/// Why there is no list at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    #[error("the connection ended before the tools were listed")]
    Closed,
    #[error("{0}")]
    Unusable(String),
}

/// Lists page by page.
pub async fn list_tools(connection: &Connection) -> Result<Listing, ListError> {
    let end = Instant::now() + LIMIT;
    let mut collector = Collector::default();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let params = match &cursor {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        let answer = timeout_at(
            end,
            connection.request("tools/list", params, Ticket::default()),
        );
        let result = match answer.await {
            Ok(Ok(result)) => result,
            Ok(Err(failure)) => {
                collector.after(failure, connection)?;
                return Ok(collector.finish());
            }
            Err(_) => {
                let problem = format!("not all pages came within {} s", LIMIT.as_secs());
                return collector.partial(problem);
            }
        };
        match collector.page(result)? {
            Some(next) => cursor = Some(next),
            None => return Ok(collector.finish()),
        }
    }
    collector.partial(format!("more than {MAX_PAGES} pages"))
}

#[derive(Default)]
struct Collector {
    listing: Listing,
    /// Where the tool of a name is.
    names: HashMap<String, usize>,
    cursors: HashSet<String>,
    bytes: usize,
    n_unnamed_drops: usize,
}

impl Collector {
    /// Takes a page in; returns the cursor of the next, if there is to be one.
    fn page(&mut self, result: Value) -> Result<Option<String>, ListError> {
        self.bytes += size(&result);
        let page = decode::page(result).map_err(unusable)?;
        let n_before = self.names.len();
        for tool in page.tools {
            match tool {
                Ok(tool) => self.tool(tool),
                Err(dropped) => self.drop(dropped),
            }
        }
        let Some(next) = page.next else {
            return Ok(None);
        };
        // An empty cursor may be a place to go on from, but is mostly another word for the end.
        let is_suspicious = !next.is_empty();
        let problem = if !self.cursors.insert(next.clone()) {
            format!("cursor `{}` came twice", cut(&next, 60))
        } else if self.names.len() == n_before {
            format!(
                "cursor `{}` follows a page with nothing new",
                cut(&next, 60)
            )
        } else if self.names.len() >= MAX_TOOLS {
            format!("more than {MAX_TOOLS} tools")
        } else if self.bytes >= MAX_BYTES {
            format!("more than {} MiB", MAX_BYTES >> 20)
        } else {
            return Ok(Some(next));
        };
        if is_suspicious {
            self.warn_of_pages(&problem);
        }
        Ok(None)
    }

    fn tool(&mut self, tool: ListedTool) {
        let reason = match self.names.get(&tool.name) {
            // A page may come twice.
            Some(at) if self.listing.tools[*at] == tool => return,
            Some(_) => "another tool of this server has the same name".to_owned(),
            None if self.names.len() < MAX_TOOLS => {
                let at = self.listing.tools.len();
                self.names.insert(tool.name.clone(), at);
                self.listing.tools.push(tool);
                return;
            }
            None => format!("the server lists more than {MAX_TOOLS} tools"),
        };
        self.drop(Dropped {
            tool: cut(&tool.name, 200),
            reason,
        });
    }

    fn drop(&mut self, dropped: Dropped) {
        if self.listing.dropped.len() < MAX_DROPPED {
            self.listing.dropped.push(dropped);
        } else {
            self.n_unnamed_drops += 1;
        }
    }

    /// What it means that a page was not had: nothing bad, where there are others, or where the server has no tools.
    fn after(&mut self, failure: Failure, connection: &Connection) -> Result<(), ListError> {
        let fault = match failure {
            Failure::Closed | Failure::NotSent(SendError::Closed) => return Err(ListError::Closed),
            Failure::NotSent(error) => return Err(unusable(error.to_string())),
            Failure::Fault(fault) => fault,
        };
        let said = cut(&fault.message, 300);
        if !self.names.is_empty() {
            self.warn_of_pages(&format!("a page was refused: {said}"));
            return Ok(());
        }
        if fault.code == METHOD_NOT_FOUND || !connection.agreed.declares_tools {
            return Ok(());
        }
        Err(unusable(format!("{said} (code {})", fault.code)))
    }

    /// What there is so far is better than nothing.
    fn partial(mut self, problem: String) -> Result<Listing, ListError> {
        if self.names.is_empty() {
            return Err(unusable(problem));
        }
        self.warn_of_pages(&problem);
        Ok(self.finish())
    }

    fn warn_of_pages(&mut self, problem: &str) {
        let n_tools = self.names.len();
        self.listing.warnings.push(format!(
            "pagination of `tools/list` was stopped: {problem}; {n_tools} tools are kept"
        ));
    }

    fn finish(mut self) -> Listing {
        if self.n_unnamed_drops > 0 {
            let n = self.n_unnamed_drops;
            let warnings = &mut self.listing.warnings;
            warnings.push(format!("{n} more tools were dropped"));
        }
        self.listing
    }
}

fn unusable(problem: String) -> ListError {
    ListError::Unusable(format!("`tools/list` failed: {problem}"))
}

fn size(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(names: &[&str], next: Option<&str>) -> Value {
        let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({"tools": tools, "nextCursor": next})
    }

    #[test]
    fn a_repeated_cursor_and_a_page_without_news_end_the_list() {
        let mut same = Collector::default();
        assert_eq!(same.page(page(&["a"], Some("x"))), Ok(Some("x".to_owned())));
        assert_eq!(same.page(page(&["b"], Some("x"))), Ok(None));
        assert_eq!(
            same.finish().warnings,
            ["pagination of `tools/list` was stopped: cursor `x` came twice; 2 tools are kept"]
        );
        let mut counter = Collector::default();
        assert_eq!(
            counter.page(page(&["a"], Some("1"))),
            Ok(Some("1".to_owned()))
        );
        assert_eq!(counter.page(page(&["a"], Some("2"))), Ok(None));
        assert_eq!(counter.listing.tools.len(), 1);
        assert_eq!(counter.listing.dropped, []);
    }

    #[test]
    fn an_empty_cursor_is_followed_once_and_is_no_reason_to_warn() {
        let mut collector = Collector::default();
        assert_eq!(
            collector.page(page(&["a"], Some(""))),
            Ok(Some(String::new()))
        );
        assert_eq!(collector.page(page(&["a"], Some(""))), Ok(None));
        assert_eq!(collector.finish().warnings, Vec::<String>::new());
    }

    #[test]
    fn tools_beyond_the_most_are_dropped_and_counted() {
        let mut collector = Collector::default();
        let names: Vec<String> = (0..MAX_TOOLS + 3).map(|at| format!("t{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(collector.page(page(&names, None)), Ok(None));
        let listing = collector.finish();
        assert_eq!(listing.tools.len(), MAX_TOOLS);
        let dropped: Vec<(&str, &str)> = listing
            .dropped
            .iter()
            .map(|it| (it.tool.as_str(), it.reason.as_str()))
            .collect();
        let reason = "the server lists more than 10000 tools";
        assert_eq!(
            dropped,
            [("t10000", reason), ("t10001", reason), ("t10002", reason)]
        );
    }

    #[test]
    fn the_first_of_two_tools_of_one_name_is_kept() {
        let mut collector = Collector::default();
        let tools = json!({"tools": [
            {"name": "a", "description": "one"},
            {"name": "a", "description": "two"},
        ]});
        assert_eq!(collector.page(tools), Ok(None));
        let listing = collector.finish();
        assert_eq!(listing.tools[0].description.as_deref(), Some("one"));
        assert_eq!(listing.tools.len(), 1);
        assert_eq!(
            listing.dropped,
            [Dropped {
                tool: "a".to_owned(),
                reason: "another tool of this server has the same name".to_owned()
            }]
        );
    }
}
