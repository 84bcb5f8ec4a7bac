//! How well a search found what it should.

use serde::Serialize;

use crate::cli::commands::eval::Ranked;
use crate::cli::layout::{Cell, Table, counted, one_line};
use crate::cli::style::{BAD, GOOD, WARNING, paint};

/// What is printed as JSON: shares are of all queries, from 0 to 1.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary<'a> {
    pub queries: usize,
    pub first: f64,
    pub among_five: f64,
    pub mean_reciprocal_rank: f64,
    pub ranked: &'a [Ranked],
}

impl Summary<'_> {
    pub fn of(ranked: &[Ranked]) -> Summary<'_> {
        let share = |sum: f64| match ranked.len() {
            0 => 0.0,
            queries => sum / queries as f64,
        };
        let within = |most: usize| {
            let ranks = ranked.iter().filter_map(|query| query.rank);
            share(ranks.filter(|rank| *rank <= most).count() as f64)
        };
        let reciprocal = ranked.iter().filter_map(|query| query.rank);
        Summary {
            queries: ranked.len(),
            first: within(1),
            among_five: within(5),
            mean_reciprocal_rank: share(reciprocal.map(|rank| 1.0 / rank as f64).sum()),
            ranked,
        }
    }
}

pub fn text(ranked: &[Ranked], columns: Option<usize>) -> String {
    let mut table = Table::new(&["RANK#", "QUERY", "EXPECTED", "FIRST INSTEAD"]);
    for query in ranked {
        let (rank, style) = match query.rank {
            Some(1) => ("1".to_owned(), GOOD),
            Some(rank) => (rank.to_string(), WARNING),
            None => ("-".to_owned(), BAD),
        };
        let instead = match query.rank {
            Some(1) => "",
            _ => query.first.as_deref().unwrap_or("nothing was found"),
        };
        table.row([
            Cell::styled(style, rank),
            one_line(&query.query).into(),
            query.expected.join(" or ").into(),
            instead.into(),
        ]);
    }
    let summary = Summary::of(ranked);
    let share = |share: f64| paint(GOOD, &format!("{:.1} %", share * 100.0));
    format!(
        "{}\n{}: the right tool is first in {}, among the first five in {}, mean reciprocal rank {:.3}\n",
        table.text("", columns),
        counted(summary.queries as u64, "query").replace("querys", "queries"),
        share(summary.first),
        share(summary.among_five),
        summary.mean_reciprocal_rank
    )
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::expect;

    use super::*;

    fn ranked(query: &str, rank: Option<usize>, first: Option<&str>) -> Ranked {
        Ranked {
            query: query.into(),
            expected: vec!["mcp_a_b".into()],
            rank,
            first: first.map(str::to_owned),
        }
    }

    #[test]
    fn shows_each_query_and_the_whole() {
        let ranked = [
            ranked("open a ticket", Some(1), Some("mcp_a_b")),
            ranked("bug", Some(4), Some("mcp_x_y")),
            ranked("zzz", None, None),
        ];
        expect![[r#"
            RANK  QUERY          EXPECTED  FIRST INSTEAD
               1  open a ticket  mcp_a_b
               4  bug            mcp_a_b   mcp_x_y
               -  zzz            mcp_a_b   nothing was found

            3 queries: the right tool is first in 33.3 %, among the first five in 66.7 %, mean reciprocal rank 0.417
        "#]].assert_eq(&strip_str(&text(&ranked, None)).to_string());
    }

    #[test]
    fn no_queries_are_no_division_by_zero() {
        assert_eq!(Summary::of(&[]).mean_reciprocal_rank, 0.0);
    }
}
