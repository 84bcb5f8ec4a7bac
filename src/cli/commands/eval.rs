//! `toolcrib eval`: how well the search finds what it should, over the tools of the configuration.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::host::Host;
use crate::cli::arguments::{Eval, Global};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::{Output, complain};
use crate::cli::render::eval::Report;
use crate::cli::session::{source, with_servers};
use crate::cli::style::{BAD, paint};
use crate::search::trial::{self, Case};

/// A query that has no right tool among so many is a miss.
const DEPTH: usize = 5;

/// How long a sentence encoder may take for all tools, some thousand of them on a slow machine; and for one query.
const ENCODER_LIMIT: Duration = Duration::from_secs(1200);
const QUERY_LIMIT: Duration = Duration::from_secs(10);

/// An item of the file of queries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    query: String,
    /// Any of these is right; where there are none, nobody knows what is.
    expected: Vec<String>,
    /// What `serve --record` writes besides.
    #[serde(default, rename = "shown")]
    _shown: IgnoredAny,
}

pub async fn run(global: &Global, args: Eval, output: &Output) -> anyhow::Result<Exit> {
    let queries = read(&args.queries)?;
    let all = queries.len();
    let known = queries
        .into_iter()
        .filter(|query| !query.expected.is_empty());
    let cases: Vec<Case> = known
        .map(
            |Query {
                 query, expected, ..
             }| Case { query, expected },
        )
        .collect();
    let skipped = all - cases.len();
    if cases.is_empty() {
        let message = format!("no query of `{}` expects a tool", args.queries.display());
        return Err(Failure::new(Exit::WrongUsage, message).into());
    }
    with_servers(source(global), Host::nobody(), async |session| {
        session.settle().await;
        session.encoded(ENCODER_LIMIT).await;
        let snapshot = session.hub.snapshot();
        let mut meanings = Vec::with_capacity(cases.len());
        for case in &cases {
            let texts = std::slice::from_ref(&case.query);
            meanings.push(match &snapshot.encoder {
                Some(encoder) => encoder.meanings(&snapshot.index, texts, QUERY_LIMIT).await,
                None => None,
            });
        }
        let semantic = |case: usize| meanings[case].as_ref()?.of(0);
        let trial = trial::run_with(&snapshot.index, &cases, DEPTH, semantic);
        let unknown = cases.iter().flat_map(|case| case.unknown(&snapshot.index));
        if let Some(name) = unknown.into_iter().next() {
            let message = format!("`{name}` is expected, but there is no such tool");
            return Err(Failure::new(Exit::WrongUsage, message).into());
        }
        let report = Report {
            cases: &cases,
            trial: &trial,
            skipped,
            explain: args.explain,
        };
        output.print(&report.json(), || report.text(output.width))?;
        let reached = report.recall_at_5();
        Ok(match args.min_recall_at_5 {
            Some(wanted) if reached < wanted => {
                let message = format!("recall@5 is {reached:.3}, and {wanted:.3} is wanted");
                complain(&format!("{} {message}", paint(BAD, "error:")));
                Exit::SaidNo
            }
            _ => Exit::Fine,
        })
    })
    .await
}

fn read(path: &Path) -> anyhow::Result<Vec<Query>> {
    let wrong = |message: String| Failure::new(Exit::WrongUsage, message);
    let text = fs::read_to_string(path)
        .map_err(|error| wrong(format!("cannot read `{}`: {error}", path.display())))?;
    let queries = parse(&text).map_err(|reason| wrong(format!("{}:{reason}", path.display())))?;
    if queries.is_empty() {
        return Err(wrong(format!("`{}` has no queries", path.display())).into());
    }
    Ok(queries)
}

/// Reads a list in YAML or JSON, or one JSON object a line.
fn parse(text: &str) -> Result<Vec<Query>, String> {
    let is_lines = text.trim_start().starts_with('{') || text.trim().is_empty();
    if !is_lines {
        return serde_yaml::from_str(text).map_err(|error| format!(" {error}"));
    }
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| format!("{}: {error}", number + 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(queries) => {
                let shown = queries
                    .iter()
                    .map(|query| format!("{}: {}", query.query, query.expected.join(" ")));
                shown.collect::<Vec<_>>().join("; ")
            }
            Err(reason) => format!("error:{reason}"),
        }
    }

    #[test]
    fn queries_are_lines_of_json_or_a_list_of_yaml() {
        let lines = "{\"query\": \"a\", \"expected\": [\"t\"]}\n\n{\"query\": \"b\", \"expected\": [], \"shown\": [\"t\"]}\n";
        assert_eq!(shown(lines), "a: t; b: ");
        let yaml = "# mine\n- query: a\n  expected: [t, u]\n- {query: b, expected: [t]}\n";
        assert_eq!(shown(yaml), "a: t u; b: t");
        assert_eq!(shown("[{\"query\": \"a\", \"expected\": [\"t\"]}]"), "a: t");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let wrong = "{\"query\": \"a\", \"expected\": [\"t\"]}\n{\"query\": 1}\n";
        assert!(shown(wrong).starts_with("error:2: "), "{}", shown(wrong));
        let wrong = "- {query: a, expected: [t], expects: x}\n";
        assert!(
            shown(wrong).contains("unknown field `expects`"),
            "{}",
            shown(wrong)
        );
    }
}
