//! Searches, by words alone or with a sentence encoder that has read all tools.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use toolcrib::config;
use toolcrib::encoder::{Handle, Meanings};
use toolcrib::search::Index;
use toolcrib::search::explain::Explanation;

use crate::data::{Dataset, Query};

/// How long a sentence encoder may take for the tools of a data set, some thousand of them on a slow machine; and for
/// one query.
const TOOLS_LIMIT: Duration = Duration::from_secs(3600);
const QUERY_LIMIT: Duration = Duration::from_secs(30);

pub struct Ranker {
    encoder: Option<Handle>,
}

impl Ranker {
    /// `auto`, or the folder of a model.
    pub fn new(model: Option<&Path>) -> Ranker {
        let model = match model {
            None => config::Encoder::Off,
            Some(path) if path == "auto" => config::Encoder::Auto,
            Some(path) => config::Encoder::Path(path.to_owned()),
        };
        Ranker {
            // Why it cannot be used is also told to whoever waits for it.
            encoder: Handle::start(&model, |_| ()),
        }
    }

    pub fn name(&self) -> &'static str {
        match self.encoder {
            None => "toolcrib",
            Some(_) => "toolcrib+encoder",
        }
    }

    /// Waits until the encoder has read all tools.
    pub async fn prepare(&self, index: &Index) -> anyhow::Result<()> {
        if let Some(encoder) = &self.encoder {
            let read = encoder.reader().read(index, TOOLS_LIMIT).await;
            read.map_err(|reason| anyhow!("{reason}"))?;
        }
        Ok(())
    }

    /// The ids of the best tools, best first.
    pub async fn rank<'a>(
        &self,
        dataset: &'a Dataset,
        query: &Query,
        limit: usize,
    ) -> anyhow::Result<Vec<&'a str>> {
        let meanings = self.meanings(dataset, query).await?;
        let semantic = meanings.as_ref().and_then(|meanings| meanings.of(0));
        let index = &dataset.index;
        let answer = index.search_with(&query.query, limit, |_| true, semantic);
        let ids = answer.hits.iter().map(|hit| dataset.id(&hit.tool));
        ids.collect()
    }

    /// The best tools, with how sure they are.
    pub async fn explain(
        &self,
        dataset: &Dataset,
        query: &Query,
        limit: usize,
    ) -> anyhow::Result<Explanation> {
        let meanings = self.meanings(dataset, query).await?;
        let semantic = meanings.as_ref().and_then(|meanings| meanings.of(0));
        let index = &dataset.index;
        Ok(index.explain_with(&query.query, limit, |_| true, semantic))
    }

    async fn meanings(&self, dataset: &Dataset, query: &Query) -> anyhow::Result<Option<Meanings>> {
        let Some(encoder) = &self.encoder else {
            return Ok(None);
        };
        let texts = std::slice::from_ref(&query.query);
        let reader = encoder.reader();
        let meanings = reader.meanings(&dataset.index, texts, QUERY_LIMIT).await;
        let failed = || format!("the sentence encoder did not read the query `{}`", query.id);
        meanings.with_context(failed).map(Some)
    }
}
