//! Whether a user's own queries find the tools that they should, and what came instead.

use std::sync::Arc;

use crate::catalog::Tool;
use crate::search::encoder::semantic::Semantic;
use crate::search::explain::{ExplainedHit, QueryWord};
use crate::search::measure::{Measures, mean, measure};
use crate::search::{Index, Verdict};

/// A query and the tools that should be found, by any of their names: as the model sees it, as the server gave it, or
/// both with `/` between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub query: String,
    /// Any of these serves; none where no tool should be good enough.
    pub expected: Vec<String>,
}

impl Case {
    /// The expected names that no tool of the index has; nothing is measured by them.
    pub fn unknown<'c>(&'c self, index: &Index) -> Vec<&'c str> {
        let names = self.expected.iter().map(String::as_str);
        names
            .filter(|name| !index.tools().any(|tool| is_called(tool, name)))
            .collect()
    }
}

/// What came of all queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// In the order of the cases.
    pub rows: Vec<Row>,
    /// Over the cases for which a tool is expected that there is.
    pub mean: Measures,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub query: String,
    pub measures: Measures,
    pub verdict: Verdict,
    /// Whether an expected tool is one of the index: without any, there is nothing to measure.
    pub is_measured: bool,
    /// What went wrong; none where an expected tool is among the first, or where rightly nothing good is.
    pub miss: Option<Miss>,
}

/// What came instead, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    pub words: Vec<QueryWord>,
    pub came: Vec<ExplainedHit>,
    /// The first expected tool further down, with its rank from 1.
    pub expected: Option<(usize, ExplainedHit)>,
}

/// How far down an expected tool is looked for, to tell why it is not further up.
const DEPTH: usize = 100;

/// Runs all cases; a case is a miss if no expected tool is among the first `depth`.
pub fn run(index: &Index, cases: &[Case], depth: usize) -> Trial {
    run_with(index, cases, depth, |_| None)
}

/// As `run`, with what a sentence encoder makes of the query of each case, by its number.
pub fn run_with<'s>(
    index: &Index,
    cases: &[Case],
    depth: usize,
    semantic: impl Fn(usize) -> Option<Semantic<'s>>,
) -> Trial {
    let rows: Vec<Row> = cases
        .iter()
        .enumerate()
        .map(|(number, case)| run_case(index, case, depth, semantic(number)))
        .collect();
    let measured: Vec<Measures> = rows
        .iter()
        .filter(|row| row.is_measured)
        .map(|row| row.measures)
        .collect();
    Trial {
        mean: mean(&measured),
        rows,
    }
}

fn run_case(index: &Index, case: &Case, depth: usize, semantic: Option<Semantic<'_>>) -> Row {
    let explanation = index.explain_with(&case.query, depth.max(DEPTH), |_| true, semantic);
    let expectations = expectations(index, &case.expected);
    // Each hit stands for the expectation that it meets, and one that meets none for itself.
    let met = |hit: &ExplainedHit| {
        expectations
            .iter()
            .position(|tools| tools.iter().any(|tool| is_same(tool, &hit.tool)))
    };
    let ranked: Vec<(bool, usize)> = explanation
        .hits
        .iter()
        .enumerate()
        .map(|(rank, hit)| met(hit).map_or((false, rank), |expected| (true, expected)))
        .collect();
    let right: Vec<((bool, usize), f64)> = (0..expectations.len())
        .map(|it| ((true, it), 1.0))
        .collect();
    let first = ranked.iter().position(|(is_right, _)| *is_right);
    let is_miss = match case.expected.is_empty() {
        true => explanation.verdict == Verdict::Good,
        false => !expectations.is_empty() && first.is_none_or(|rank| rank >= depth),
    };
    let miss = is_miss.then(|| Miss {
        words: explanation.words.clone(),
        came: explanation.hits.iter().take(depth).cloned().collect(),
        expected: first.map(|rank| (rank + 1, explanation.hits[rank].clone())),
    });
    Row {
        query: case.query.clone(),
        measures: measure(&ranked, &right),
        verdict: explanation.verdict,
        is_measured: !expectations.is_empty(),
        miss,
    }
}

/// The tools that the expected names stand for, a list for each expectation.
///
/// Several tools may have a name, and either of them meets the expectation. Names that have a tool in common are one
/// expectation, so that no tool counts twice. Names that no tool has are none.
fn expectations<'i>(index: &'i Index, names: &[String]) -> Vec<Vec<&'i Arc<Tool>>> {
    let mut apart: Vec<Vec<&Arc<Tool>>> = Vec::new();
    for name in names {
        let mut tools: Vec<&Arc<Tool>> =
            index.tools().filter(|tool| is_called(tool, name)).collect();
        if tools.is_empty() {
            continue;
        }
        let is_shared = |tool: &&Arc<Tool>| tools.iter().any(|it| is_same(it, tool));
        let (joined, others): (Vec<_>, Vec<_>) = apart
            .into_iter()
            .partition(|expectation| expectation.iter().any(is_shared));
        tools.extend(joined.into_iter().flatten());
        apart = others;
        apart.push(tools);
    }
    apart
}

fn is_same(one: &Tool, other: &Tool) -> bool {
    one.exposed == other.exposed && one.origin == other.origin
}

fn is_called(tool: &Tool, name: &str) -> bool {
    let original = tool.original_name();
    let behind_server = || {
        let server = tool.server()?.as_str();
        name.strip_prefix(server)?.strip_prefix('/')
    };
    tool.exposed.as_str() == name || original == name || behind_server() == Some(original)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value};

    use super::*;
    use crate::catalog::Tools;
    use crate::catalog::listing::{ListedTool, build};
    use crate::names::ServerName;
    use crate::search::Group;

    /// Two trackers with a tool of the same name, and other tools.
    fn index() -> Index {
        let servers = [
            ("a", ["create_issue", "close_issue"]),
            ("b", ["create_issue", "read_mail"]),
        ];
        let mut index = Index::default();
        for (server, names) in servers {
            let server = ServerName::new(server).unwrap();
            let listed = names.map(|name| ListedTool {
                name: name.to_owned(),
                title: None,
                description: None,
                input_schema: Value::Null,
                extra: Map::new(),
            });
            let tools = build(&server, listed.into(), |_| true).tools;
            index = index.with(Group::Server(server), &Tools::from(tools));
        }
        index
    }

    fn case(query: &str, expected: &[&str]) -> Case {
        Case {
            query: query.to_owned(),
            expected: expected.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    /// Recall at 1 and 5.
    fn recall(query: &str, expected: &[&str]) -> (f64, f64) {
        let trial = run(&index(), &[case(query, expected)], 5);
        (trial.mean.recall[0], trial.mean.recall[2])
    }

    #[test]
    fn a_name_that_several_tools_have_is_one_expectation() {
        assert_eq!(recall("create issue", &["create_issue"]), (1.0, 1.0));
        let trial = run(&index(), &[case("create issue", &["create_issue"])], 5);
        assert_eq!(trial.mean.ndcg, 1.0);
    }

    #[test]
    fn a_tool_counts_once_however_often_and_by_whichever_name_it_is_expected() {
        assert_eq!(recall("read mail", &["read_mail", "read_mail"]), (1.0, 1.0));
        let names = ["mcp_b_read_mail", "read_mail", "b/read_mail"];
        assert_eq!(recall("read mail", &names), (1.0, 1.0));
        let names = ["a/create_issue", "b/create_issue", "create_issue"];
        assert_eq!(recall("create issue", &names), (1.0, 1.0));
        let names = ["create_issue", "mcp_a_create_issue"];
        assert_eq!(recall("create issue", &names), (1.0, 1.0));
    }

    #[test]
    fn different_tools_are_different_expectations() {
        let names = ["a/create_issue", "b/create_issue"];
        assert_eq!(recall("create issue", &names), (0.5, 1.0));
    }

    #[test]
    fn what_is_expected_and_not_there_is_not_measured() {
        let cases = [
            case("read mail", &["read_mail", "send_mail"]),
            case("send mail", &["send_mail"]),
        ];
        assert_eq!(cases[0].unknown(&index()), ["send_mail"]);
        assert_eq!(cases[1].unknown(&index()), ["send_mail"]);
        let trial = run(&index(), &cases, 5);
        assert_eq!(trial.mean.recall, [1.0; 4]);
        assert_eq!(trial.rows[1].miss, None);
        assert!(trial.rows[0].is_measured && !trial.rows[1].is_measured);
    }
}
