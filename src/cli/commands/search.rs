//! `toolcrib search`: what a model finds with `tool_search`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::api::host::Host;
use crate::cli::arguments::{Global, Search};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output::Output;
use crate::cli::render;
use crate::cli::render::search::Found;
use crate::cli::session::{Session, source, with_servers};

/// How long a sentence encoder may take to read its model and the vectors that it made before.
const ENCODER_LIMIT: Duration = Duration::from_secs(3);

/// How long it may take for the query.
const QUERY_LIMIT: Duration = Duration::from_secs(10);

pub async fn run(global: &Global, args: Search, output: &Output) -> anyhow::Result<Exit> {
    let query = args.query.join(" ");
    if query.trim().is_empty() {
        return Err(Failure::new(
            Exit::WrongUsage,
            "the query is blank: say in words what is to be done",
        )
        .into());
    }
    with_servers(source(global), Host::nobody(), async |session| {
        session.settle().await;
        session.encoded(ENCODER_LIMIT).await;
        if args.explain {
            return explain(session, &query, args.limit, output).await;
        }
        let mut arguments = json!({"query": query});
        if let Some(limit) = args.limit {
            arguments["limit"] = limit.into();
        }
        let answer: Value = session.bridge("tool_search", arguments).await?;
        let found: Found = serde_json::from_value(answer.clone())?;
        output.print(&answer, || render::search::text(&found, output.width))?;
        Ok(match found.matches.is_empty() {
            true if session.is_cut_off() => Exit::Unreachable,
            true => Exit::SaidNo,
            false => Exit::Fine,
        })
    })
    .await
}

/// The same tools as a model would find, with the reasons.
async fn explain(
    session: &Session,
    query: &str,
    limit: Option<u64>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let snapshot = session.hub.snapshot();
    let limits = &snapshot.config.tool_search;
    let limit = limit.map_or(limits.search_default_limit, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let limit = limit.clamp(1, limits.max_search_limit.max(1));
    let texts = [query.to_owned()];
    let meanings = match &snapshot.encoder {
        Some(encoder) => encoder.meanings(&snapshot.index, &texts, QUERY_LIMIT).await,
        None => None,
    };
    let semantic = meanings.as_ref().and_then(|it| it.of(0));
    let explanation = snapshot
        .index
        .explain_with(query, limit, |tool| tool.deferrable, semantic);
    output.print(&render::explain::json(&explanation), || {
        render::explain::text(&explanation)
    })?;
    Ok(match explanation.hits.is_empty() {
        true if session.is_cut_off() => Exit::Unreachable,
        true => Exit::SaidNo,
        false => Exit::Fine,
    })
}
