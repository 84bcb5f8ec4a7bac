//! `toolcrib eval`: how well the search finds what it should, over the tools of the configuration.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::api::host::Host;
use crate::cli::arguments::{Eval, Global};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::render;
use crate::cli::session::{source, with_servers};

/// Deeper than this nobody looks.
const DEPTH: usize = 10;

/// How long a sentence encoder may take for all tools, some thousand of them on a slow machine; and for one query.
const ENCODER_LIMIT: Duration = Duration::from_secs(1200);
const QUERY_LIMIT: Duration = Duration::from_secs(10);

/// A line of the file of queries.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    query: String,
    /// Any of these is right.
    expected: Vec<String>,
}

/// Where the first right tool stood for one query.
#[derive(Debug, Serialize)]
pub struct Ranked {
    pub query: String,
    pub expected: Vec<String>,
    /// From 1; absent where it was not among the first ten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// What stood first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
}

pub async fn run(global: &Global, args: Eval, output: &Output) -> anyhow::Result<Exit> {
    let queries = read(&args.queries)?;
    with_servers(source(global), Host::nobody(), async |session| {
        session.settle().await;
        let snapshot = session.hub.snapshot();
        let unknown = |name: &&String| snapshot.catalog.get(name).is_none();
        if let Some(name) = queries
            .iter()
            .flat_map(|query| &query.expected)
            .find(unknown)
        {
            let message = format!("`{name}` is expected, but there is no such tool");
            return Err(Failure::new(Exit::WrongUsage, message).into());
        }
        session.encoded(ENCODER_LIMIT).await;
        let mut ranked = Vec::with_capacity(queries.len());
        for Query { query, expected } in queries {
            let texts = std::slice::from_ref(&query);
            let meanings = match &snapshot.encoder {
                Some(encoder) => encoder.meanings(&snapshot.index, texts, QUERY_LIMIT).await,
                None => None,
            };
            let semantic = meanings.as_ref().and_then(|it| it.of(0));
            let answer =
                snapshot
                    .index
                    .search_with(&query, DEPTH, |tool| tool.deferrable, semantic);
            let mut names = answer
                .hits
                .iter()
                .map(|hit| hit.tool.exposed.as_str().to_owned());
            let rank = names.clone().position(|name| expected.contains(&name));
            ranked.push(Ranked {
                first: names.next(),
                rank: rank.map(|at| at + 1),
                query,
                expected,
            });
        }
        output.print(&render::eval::Summary::of(&ranked), || {
            render::eval::text(&ranked, output.width)
        })?;
        Ok(Exit::Fine)
    })
    .await
}

fn read(path: &Path) -> anyhow::Result<Vec<Query>> {
    let wrong = |message: String| Failure::new(Exit::WrongUsage, message);
    let text = fs::read_to_string(path)
        .map_err(|error| wrong(format!("cannot read `{}`: {error}", path.display())))?;
    let mut queries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let query = serde_json::from_str(line)
            .map_err(|error| wrong(format!("{}:{}: {error}", path.display(), number + 1)))?;
        queries.push(query);
    }
    if queries.is_empty() {
        return Err(wrong(format!("`{}` has no queries", path.display())).into());
    }
    Ok(queries)
}
