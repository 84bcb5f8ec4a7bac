//! Answers the two bridge tools that only look: `tool_search` and `tool_describe`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::api::dispatch::{Answered, Turn};
use crate::api::types::Outcome;
use crate::bridge::results::{Available, Found, Room, describe_result, search_result};
use crate::bridge::{BridgeTool, DescribeCall, SearchCall};
use crate::catalog::Tool;
use crate::hub::session::{Change, IndexOf};
use crate::hub::{Entry, Snapshot};
use crate::search::{Answer, Verdict};
use crate::server::ServerState;

/// After this many searches without a call, the best hit is shown whole whatever it costs.
const SEARCHES_BEFORE_WHOLE: u64 = 3;

/// How long a search waits for what its queries mean before it goes without: some ten times what one takes.
const MEANINGS_LIMIT: Duration = Duration::from_millis(250);

pub async fn search(turn: &Turn<'_>, call: &SearchCall) -> Answered {
    let of = IndexOf {
        generation: turn.snapshot.catalog.generation(),
        config_revision: turn.snapshot.config_revision,
    };
    let index = turn.session.host.index(of, &turn.snapshot.index);
    let meanings = match &turn.snapshot.encoder {
        Some(encoder) => {
            encoder
                .meanings(&index, &call.queries, MEANINGS_LIMIT)
                .await
        }
        None => None,
    };
    let view = turn.view();
    let admit = |tool: &Tool| {
        tool.deferrable
            && view
                .get(tool.exposed.as_str())
                .is_some_and(|it| it.origin == tool.origin)
    };
    let answer = |(number, query)| {
        let semantic = meanings.as_ref().and_then(|it| it.of(number));
        index.search_with(query, call.limit, admit, semantic)
    };
    let queries = call.queries.iter().map(String::as_str).enumerate();
    let answers: Vec<(&str, Answer)> = queries
        .map(|(number, query)| (query, answer((number, query))))
        .collect();
    let found: Vec<Found<'_>> = answers
        .iter()
        .map(|(query, answer)| Found {
            query,
            hits: answer.hits.iter().map(|hit| &*hit.tool).collect(),
            weak: answer.verdict != Verdict::Good,
        })
        .collect();
    let room = Room {
        tokens: turn.snapshot.config.tool_search.hit_tokens,
        best: turn.session.counts.searches_in_a_row + 1 >= SEARCHES_BEFORE_WHOLE,
    };
    let notes = notes(&turn.snapshot);
    let searchable = view.tools().filter(|tool| tool.deferrable);
    let counted = counted(searchable.map(|tool| &**tool), &notes);
    let n_searchable = counted.iter().map(|available| available.tools).sum();
    let content = search_result(&found, call.list, n_searchable, &counted, room);
    turn.hub.change_session(turn.session_id, Change::Searched);
    if let Some(recorder) = turn.sidecar.recorder() {
        for (query, answer) in &answers {
            let shown = answer
                .hits
                .iter()
                .map(|hit| hit.tool.exposed.as_str().to_owned());
            let config = &turn.snapshot.config;
            recorder.searched(turn.session_id, config, query, shown.collect());
        }
    }
    Answered::new(Outcome::Ok, content).through(Some(BridgeTool::Search))
}

pub fn describe(turn: &Turn<'_>, call: &DescribeCall) -> Answered {
    turn.hub.change_session(turn.session_id, Change::Described);
    match describe_result(&turn.view(), call) {
        Ok(content) => Answered::new(Outcome::Ok, content).through(Some(BridgeTool::Describe)),
        Err(problem) => {
            let outcome = if problem.refused {
                Outcome::Refused
            } else {
                Outcome::Error
            };
            Answered::new(outcome, problem.content()).through(Some(BridgeTool::Describe))
        }
    }
}

/// What a model should know of servers that are not ready.
fn notes(snapshot: &Snapshot) -> BTreeMap<&str, Option<String>> {
    let entries = snapshot
        .servers
        .iter()
        .filter(|(_, entry)| !matches!(entry, Entry::Disabled { .. }));
    entries
        .map(|(name, entry)| (name.as_str(), note(entry)))
        .collect()
}

fn note(entry: &Entry) -> Option<String> {
    let state = match entry {
        Entry::Running { caller, .. } => caller.status().state,
        Entry::Changing { .. } => ServerState::Connecting,
        Entry::Broken { .. } => return Some("not usable: its configuration is wrong".to_owned()),
        Entry::Disabled { .. } => return None,
    };
    match state {
        ServerState::Ready => None,
        ServerState::Configured | ServerState::Connecting => Some("starting".to_owned()),
        ServerState::Backoff | ServerState::Parked => Some("not reachable now".to_owned()),
        ServerState::Failed | ServerState::Stopped => {
            Some("not usable: it did not start".to_owned())
        }
    }
}

fn counted<'a>(
    tools: impl Iterator<Item = &'a Tool>,
    notes: &BTreeMap<&'a str, Option<String>>,
) -> Vec<Available<'a>> {
    let mut counts: BTreeMap<&str, usize> = notes.keys().map(|name| (*name, 0)).collect();
    for tool in tools {
        *counts
            .entry(tool.server().map_or("host", |it| it.as_str()))
            .or_default() += 1;
    }
    let available = counts
        .into_iter()
        .filter(|(name, tools)| *tools > 0 || notes.get(name).is_some_and(Option::is_some));
    available
        .map(|(server, tools)| Available {
            server,
            tools,
            note: notes.get(server).cloned().flatten(),
        })
        .collect()
}
