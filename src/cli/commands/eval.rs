//! `toolcrib eval`: how well the search finds what it should, over the tools of the configuration.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::host::Host;
use crate::cli::arguments::{Eval, Global};
use crate::cli::exit::{Exit, Failure};
use crate::cli::layout::one_line;
use crate::cli::output::{Output, complain};
use crate::cli::render::eval::Report;
use crate::cli::session::{source, with_servers};
use crate::cli::style::{BAD, WARNING, paint};
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

/// A query with the place in the file where it stands.
#[derive(Debug)]
struct Item {
    /// Such as `:12` for a line.
    place: String,
    query: Query,
}

pub async fn run(global: &Global, args: Eval, output: &Output) -> anyhow::Result<Exit> {
    let items = read(&args.queries)?;
    let all = items.len();
    let known: Vec<(String, Case)> = items
        .into_iter()
        .filter(|item| !item.query.expected.is_empty())
        .map(|Item { place, query }| {
            let Query {
                query, expected, ..
            } = query;
            (place, Case { query, expected })
        })
        .collect();
    let skipped = all - known.len();
    let shown_path = args.queries.display();
    if known.is_empty() {
        let message = format!("no query of `{shown_path}` expects a tool");
        return Err(Failure::new(Exit::WrongUsage, message).into());
    }
    with_servers(source(global), Host::nobody(), async |session| {
        session.settle().await;
        session.encoded(ENCODER_LIMIT).await;
        let snapshot = session.hub.snapshot();
        let n_known = known.len();
        let mut cases = Vec::with_capacity(n_known);
        for (place, case) in known {
            let unknown = case.unknown(&snapshot.index);
            for name in &unknown {
                let warning = paint(WARNING, "warning:");
                complain(&format!(
                    "{warning} {shown_path}{place}: there is no tool `{}`",
                    one_line(name)
                ));
            }
            if unknown.len() < case.expected.len() {
                cases.push(case);
            }
        }
        if cases.is_empty() {
            let message = format!("no query of `{shown_path}` expects a tool that there is");
            return Err(Failure::new(Exit::WrongUsage, message).into());
        }
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
        let report = Report {
            cases: &cases,
            trial: &trial,
            skipped,
            unknown: n_known - cases.len(),
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

fn read(path: &Path) -> anyhow::Result<Vec<Item>> {
    let wrong = |message: String| Failure::new(Exit::WrongUsage, message);
    let text = fs::read_to_string(path)
        .map_err(|error| wrong(format!("cannot read `{}`: {error}", path.display())))?;
    let items = parse(&text).map_err(|reason| wrong(format!("{}:{reason}", path.display())))?;
    if items.is_empty() {
        return Err(wrong(format!("`{}` has no queries", path.display())).into());
    }
    Ok(items)
}

/// Reads a list in YAML or JSON, or one JSON object a line; either with lines that begin with `#` and say nothing.
fn parse(text: &str) -> Result<Vec<Item>, String> {
    // Files that were put together from others have the mark of their encoding on any line.
    let bare = |line| str::trim_start(line).trim_start_matches('\u{feff}').trim();
    let is_said = |line: &str| !line.is_empty() && !line.starts_with('#');
    let lines = text.lines().map(bare).zip(1_usize..);
    let first = lines.clone().find(|(line, _)| is_said(line));
    if first.is_some_and(|(line, _)| !line.starts_with('{')) {
        let queries: Vec<Query> = serde_yaml::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| format!(" {error}"))?;
        let item = |(query, number)| Item {
            place: format!(": item {number}"),
            query,
        };
        return Ok(queries.into_iter().zip(1_usize..).map(item).collect());
    }
    lines
        .filter(|(line, _)| is_said(line))
        .map(|(line, number)| match serde_json::from_str(line) {
            Ok(query) => Ok(Item {
                place: format!(":{number}"),
                query,
            }),
            Err(error) => Err(format!("{number}: {error}")),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(items) => {
                let shown = items.iter().map(|Item { query, .. }| {
                    format!("{}: {}", query.query, query.expected.join(" "))
                });
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
    fn a_byte_order_mark_and_comments_are_passed_over() {
        let lines = "\u{feff}# mine\r\n\r\n{\"query\": \"a\", \"expected\": [\"t\"]}\r\n  # more\n\u{feff}{\"query\": \"b\", \"expected\": []}";
        assert_eq!(shown(lines), "a: t; b: ");
        let places: Vec<String> = parse(lines)
            .unwrap()
            .into_iter()
            .map(|it| it.place)
            .collect();
        assert_eq!(places, [":3", ":5"]);
        let yaml = "\u{feff}# mine\n- {query: a, expected: [t]}\n";
        assert_eq!(shown(yaml), "a: t");
        assert_eq!(parse(yaml).unwrap()[0].place, ": item 1");
        assert_eq!(
            shown("\u{feff}[{\"query\": \"a\", \"expected\": []}]"),
            "a: "
        );
        assert_eq!(shown("\u{feff}# nothing\n"), "");
        let wrong = "# mine\n{\"query\": \"a\", \"expected\": [\"t\"]}\n// more\n";
        assert!(shown(wrong).starts_with("error:3: "), "{}", shown(wrong));
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
