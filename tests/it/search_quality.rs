//! The ranking finds what it should among the tools of real servers, where their lists lie beside this repository.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use toolcrib::catalog::Tools;
use toolcrib::catalog::listing::build;
use toolcrib::search::{Group, Index, Verdict};

use crate::catalogs;

struct Query {
    text: String,
    /// `server/tool`; any of them serves.
    right: Vec<String>,
    kind: String,
}

fn index() -> Option<Index> {
    let lists = catalogs::lists()?;
    Some(
        lists
            .into_iter()
            .fold(Index::default(), |index, (server, tools)| {
                let listing = build(&server, tools, |_| true);
                index.with(Group::Server(server), &Tools::from(listing.tools))
            }),
    )
}

fn queries() -> Option<Vec<Query>> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/retrieval/real/queries.jsonl");
    let Ok(text) = std::fs::read_to_string(path) else {
        eprintln!("skipped: there are no queries in ../shared/retrieval");
        return None;
    };
    let parse = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        let right = row["relevant"].as_array().unwrap().iter();
        Query {
            text: row["query"].as_str().unwrap().to_owned(),
            right: right.map(|id| id.as_str().unwrap().to_owned()).collect(),
            kind: row["kind"].as_str().unwrap().to_owned(),
        }
    };
    Some(text.lines().map(parse).collect())
}

#[test]
fn the_right_tool_is_among_the_first_five() {
    let (Some(index), Some(queries)) = (index(), queries()) else {
        return;
    };
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut weak: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for query in &queries {
        let answer = index.search(&query.text, 5, |_| true);
        let ids = answer.hits.iter().map(|hit| {
            format!(
                "{}/{}",
                hit.tool.server().unwrap(),
                hit.tool.original_name()
            )
        });
        let is_found = ids.into_iter().any(|id| query.right.contains(&id));
        let (yes, all) = found.entry(&query.kind).or_default();
        (*yes, *all) = (*yes + usize::from(is_found), *all + 1);
        let (yes, all) = weak.entry(&query.kind).or_default();
        (*yes, *all) = (
            *yes + usize::from(answer.verdict != Verdict::Good),
            *all + 1,
        );
    }
    let share = |of: &BTreeMap<&str, (usize, usize)>, kind: &str| {
        let (yes, all) = of[kind];
        yes as f64 / all as f64
    };
    for (kind, least) in [
        ("keyword", 0.98),
        ("phrase", 0.96),
        ("paraphrase", 0.3),
        ("non-english", 1.0),
    ] {
        let share = share(&found, kind);
        assert!(share >= least, "{kind}: {share:.3} is below {least}");
    }
    for (kind, most) in [("keyword", 0.03), ("phrase", 0.1)] {
        let share = share(&weak, kind);
        assert!(
            share <= most,
            "{kind}: {share:.3} are weak, more than {most}"
        );
    }
    let flagged = share(&weak, "absent");
    assert!(
        flagged >= 0.6,
        "only {flagged:.3} of what is not there is called weak"
    );
}

#[test]
fn every_tool_is_first_by_its_names() {
    let Some(index) = index() else {
        return;
    };
    for tool in index.tools().step_by(61) {
        let (server, name) = (tool.server().unwrap(), tool.original_name());
        let exposed = tool.exposed.to_string();
        for query in [
            exposed,
            name.to_owned(),
            format!("{server} {name}"),
            format!("{server}_{name}"),
        ] {
            let answer = index.search(&query, 20, |_| true);
            let best = answer.hits[0].score;
            let is_first = answer
                .hits
                .iter()
                .any(|hit| hit.score == best && hit.tool == *tool);
            assert!(is_first, "{query}");
        }
    }
}
