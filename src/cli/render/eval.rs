//! How well a search found what it should.

use serde_json::{Map, Value, json};

use crate::cli::layout::{Table, grouped, one_line};
use crate::cli::render::explain;
use crate::cli::style::{FAINT, NAME, paint};
use crate::search::measure::CUTS;
use crate::search::trial::{Case, Miss, Row, Trial};

/// What came of the queries of a file.
pub struct Report<'a> {
    pub cases: &'a [Case],
    /// Of these cases, in their order.
    pub trial: &'a Trial,
    /// Queries of which nobody knows what is right.
    pub skipped: usize,
    /// Queries that expect only tools that there are not.
    pub unknown: usize,
    /// Whether misses are told with their reasons.
    pub explain: bool,
}

impl Report<'_> {
    pub fn recall_at_5(&self) -> f64 {
        let recalls = CUTS.iter().zip(self.trial.mean.recall);
        let mut at_5 = recalls.filter(|(cut, _)| **cut == 5);
        at_5.next().map_or(0.0, |(_, recall)| recall)
    }

    /// Shares are from 0 to 1.
    pub fn json(&self) -> Value {
        let mean = &self.trial.mean;
        let mut summary = Map::new();
        summary.insert("queries".to_owned(), self.cases.len().into());
        summary.insert("skipped".to_owned(), self.skipped.into());
        summary.insert("unknown".to_owned(), self.unknown.into());
        for (cut, recall) in CUTS.iter().zip(mean.recall) {
            summary.insert(format!("recallAt{cut}"), recall.into());
        }
        summary.insert("meanReciprocalRank".to_owned(), mean.mrr.into());
        let misses = self
            .misses()
            .map(|(case, row, miss)| self.miss_json(case, row, miss));
        summary.insert("misses".to_owned(), misses.collect());
        Value::Object(summary)
    }

    pub fn text(&self, columns: Option<usize>) -> String {
        let mean = &self.trial.mean;
        let titles = ["RECALL@1#", "RECALL@3#", "RECALL@5#", "RECALL@10#", "MRR#"];
        let mut table = Table::new(&titles);
        let [first, three, five, ten] = mean
            .recall
            .map(|share| format!("{:.1} %", share * 100.0).into());
        table.row([first, three, five, ten, format!("{:.3}", mean.mrr).into()]);
        let mut text = table.text("", columns);
        let misses: Vec<_> = self.misses().collect();
        let queries = plural(self.cases.len(), "query", "queries");
        let missed = plural(misses.len(), "miss", "misses");
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(", {skipped} skipped that expect nothing"),
        };
        let unknown = match self.unknown {
            0 => String::new(),
            unknown => format!(", {unknown} left out that expect an unknown tool"),
        };
        text.push_str(&format!("{queries}, {missed}{skipped}{unknown}\n"));
        for (case, _, miss) in misses {
            text.push_str(&self.miss_text(case, miss));
        }
        text
    }

    fn misses(&self) -> impl Iterator<Item = (&Case, &Row, &Miss)> {
        let rows = self.cases.iter().zip(&self.trial.rows);
        rows.filter_map(|(case, row)| Some((case, row, row.miss.as_ref()?)))
    }

    fn miss_text(&self, case: &Case, miss: &Miss) -> String {
        let query = paint(NAME, &one_line(&case.query));
        let place = match &miss.expected {
            Some((rank, _)) => format!("at rank {rank}"),
            None => "not found".to_owned(),
        };
        let expected = one_line(&case.expected.join(" or "));
        let label = |label: &str| paint(FAINT, label);
        let mut text = format!("\n{query}\n  {} {expected}, {place}\n", label("expected:"));
        if !self.explain {
            let came = miss.came.iter().map(|hit| hit.tool.exposed.as_str());
            let came = match miss.came.is_empty() {
                true => "nothing".to_owned(),
                false => one_line(&came.collect::<Vec<_>>().join(", ")),
            };
            text.push_str(&format!("  {} {came}\n", label("instead: ")));
            return text;
        }
        text.push_str(&format!("  {}\n", explain::words(&miss.words)));
        let expected = miss.expected.iter().map(|(_, hit)| hit);
        for hit in miss.came.iter().chain(expected) {
            text.push_str(&explain::hit_text(hit, "  "));
        }
        text
    }

    fn miss_json(&self, case: &Case, row: &Row, miss: &Miss) -> Value {
        let mut value = json!({
            "query": row.query,
            "expected": case.expected,
            "rank": miss.expected.as_ref().map(|(rank, _)| rank),
        });
        let came = miss.came.iter();
        value["instead"] = match self.explain {
            true => came.map(explain::hit_json).collect(),
            false => came.map(|hit| hit.tool.exposed.as_str()).collect(),
        };
        if let (true, Some((_, hit))) = (self.explain, &miss.expected) {
            value["found"] = explain::hit_json(hit);
        }
        value
    }
}

fn plural(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", grouped(number as u64)),
    }
}
