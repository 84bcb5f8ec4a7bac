//! Tells the person at the terminal why nothing happens yet.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::api::types::{ServerState, ServerStatus};
use crate::api::wire;
use crate::cli::layout::{one_line, shortened};
use crate::cli::output::complain;
use crate::hub::Hub;

/// Before this nobody has begun to wonder.
const QUIET: Duration = Duration::from_millis(400);
/// How often the line on a terminal is written anew.
const TICK: Duration = Duration::from_millis(200);
/// How often a line is added where there is no terminal.
const SLOW_TICK: Duration = Duration::from_secs(5);

const MAX_LINE: usize = 78;

/// Waits for servers; says on standard error which are missing if that takes a while.
pub async fn show_while_starting(hub: &Hub, wait: impl Future<Output = ()>) {
    let is_live = io::stderr().is_terminal();
    let (first, period) = match is_live {
        true => (QUIET, TICK),
        false => (SLOW_TICK, SLOW_TICK),
    };
    let mut ticks = interval_at(Instant::now() + first, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut line = LiveLine {
        is_live,
        shown: String::new(),
    };
    tokio::pin!(wait);
    loop {
        tokio::select! {
            () = &mut wait => return,
            _ = ticks.tick() => {
                if let Some(text) = text(&wire::servers(&hub.snapshot())) {
                    line.show(&text);
                }
            }
        }
    }
}

/// `starting github, slack (3 of 5 ready)`; nothing where nothing is starting.
fn text(servers: &[ServerStatus]) -> Option<String> {
    let names = |state: fn(ServerState) -> bool| -> Vec<String> {
        let matching = servers.iter().filter(|server| state(server.state));
        matching.map(|server| one_line(&server.name)).collect()
    };
    let starting =
        names(|state| matches!(state, ServerState::Configured | ServerState::Connecting));
    if starting.is_empty() {
        return None;
    }
    let ready = names(|state| state == ServerState::Ready).len();
    let enabled = names(|state| state != ServerState::Disabled).len();
    let counts = format!(" ({ready} of {enabled} ready)");
    let room = MAX_LINE.saturating_sub(counts.len());
    let starting = format!("starting {}", starting.join(", "));
    Some(format!("{}{counts}", shortened(&starting, room)))
}

/// A line of a terminal that is written over, and gone at the end.
struct LiveLine {
    is_live: bool,
    shown: String,
}

impl LiveLine {
    fn show(&mut self, text: &str) {
        if self.shown == text {
            return;
        }
        text.clone_into(&mut self.shown);
        if self.is_live {
            // Whoever closed standard error does not want to know.
            let _ = write!(io::stderr(), "\r\x1b[2K{text}");
        } else {
            complain(text);
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        if self.is_live && !self.shown.is_empty() {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::types::Transport;

    #[test]
    fn names_the_servers_that_are_missing() {
        let server = |name: &str, state| ServerStatus {
            name: name.into(),
            transport: Transport::Stdio,
            state,
            tools: 0,
            tokens: 0,
            protocol_version: None,
            server_info: None,
            pid: None,
            attempt: None,
            retry_in_ms: None,
            error: None,
            stderr_tail: None,
            dropped: None,
            manifest_age_ms: None,
            first_use_ms: None,
        };
        let ready = server("a", ServerState::Ready);
        let slow = server("slow", ServerState::Connecting);
        let off = server("off", ServerState::Disabled);
        assert_eq!(text(&[ready.clone(), off]), None);
        let text = text(&[ready, slow]);
        assert_eq!(text.as_deref(), Some("starting slow (1 of 2 ready)"));
    }
}
