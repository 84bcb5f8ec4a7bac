//! Whether a user's own queries find the tools that they should, and what came instead.

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

/// What came of all queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// In the order of the cases.
    pub rows: Vec<Row>,
    /// Over the cases for which a tool is expected.
    pub mean: Measures,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub query: String,
    pub measures: Measures,
    pub verdict: Verdict,
    /// Expected tools that are in no group of the index.
    pub unknown: Vec<String>,
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
    let measured: Vec<Measures> = cases
        .iter()
        .zip(&rows)
        .filter(|(case, _)| !case.expected.is_empty())
        .map(|(_, row)| row.measures)
        .collect();
    Trial {
        mean: mean(&measured),
        rows,
    }
}

fn run_case(index: &Index, case: &Case, depth: usize, semantic: Option<Semantic<'_>>) -> Row {
    let explanation = index.explain_with(&case.query, depth.max(DEPTH), |_| true, semantic);
    // Each hit stands for the expectation that it meets, and one that meets none for itself.
    let met = |hit: &ExplainedHit| {
        case.expected
            .iter()
            .position(|name| is_called(&hit.tool, name))
    };
    let ranked: Vec<(bool, usize)> = explanation
        .hits
        .iter()
        .enumerate()
        .map(|(rank, hit)| met(hit).map_or((false, rank), |expected| (true, expected)))
        .collect();
    let right: Vec<((bool, usize), f64)> = (0..case.expected.len())
        .map(|it| ((true, it), 1.0))
        .collect();
    let first = ranked.iter().position(|(is_right, _)| *is_right);
    let is_miss = match case.expected.is_empty() {
        true => explanation.verdict == Verdict::Good,
        false => first.is_none_or(|rank| rank >= depth),
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
        unknown: case
            .expected
            .iter()
            .filter(|name| !index.tools().any(|tool| is_called(tool, name)))
            .cloned()
            .collect(),
        miss,
    }
}

fn is_called(tool: &Tool, name: &str) -> bool {
    let original = tool.original_name();
    let behind_server = || {
        let server = tool.server()?.as_str();
        name.strip_prefix(server)?.strip_prefix('/')
    };
    tool.exposed.as_str() == name || original == name || behind_server() == Some(original)
}
