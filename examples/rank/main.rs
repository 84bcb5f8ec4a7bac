//! Ranks the tools of public data sets for their queries and writes what came out, to be measured by anyone.
//!
//!     cargo run --release --example rank -- --out runs

mod data;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Parser;
use serde_json::json;
use toolcrib::config;
use toolcrib::encoder::Handle;
use toolcrib::search::Index;

use crate::data::{Dataset, Query};

/// How many tools a ranking has; the measures look at no more than ten.
const DEPTH: usize = 100;

/// How long a sentence encoder may take for the tools of a data set, some thousand of them on a slow machine; and for
/// one query.
const TOOLS_LIMIT: Duration = Duration::from_secs(3600);
const QUERY_LIMIT: Duration = Duration::from_secs(30);

/// Ranks the tools of the data sets of a retrieval folder for their queries.
///
/// Writes `<dataset>.toolcrib.jsonl`, with a sentence encoder `<dataset>.toolcrib+encoder.jsonl`, a query a line:
/// {"id": …, "ranked": [tool id, …]}.
#[derive(Parser)]
#[command(name = "rank", max_term_width = 100)]
struct Arguments {
    /// Data sets; all of the folder where none is named.
    datasets: Vec<String>,
    /// The folder of the data sets, each a folder with `queries.jsonl` and mostly `tools.jsonl`.
    #[arg(long, value_name = "FOLDER", default_value = "../shared/retrieval")]
    retrieval: PathBuf,
    /// What real servers list, for data sets without tools of their own [default: `catalogs` beside the retrieval folder].
    #[arg(long, value_name = "FOLDER")]
    catalogs: Option<PathBuf>,
    /// The folder to write to.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    out: PathBuf,
    /// Rank with a sentence encoder too: `auto`, or the folder of a model.
    #[arg(long, value_name = "MODEL")]
    encoder: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let retrieval = &arguments.retrieval;
    let beside = retrieval.join("../catalogs");
    let catalogs = arguments.catalogs.as_deref().unwrap_or(&beside);
    let known = data::names(retrieval)?;
    for name in &arguments.datasets {
        let all = known.join(", ");
        anyhow::ensure!(
            known.contains(name),
            "there is no data set `{name}` in `{}`, but {all}",
            retrieval.display()
        );
    }
    let names = match arguments.datasets.as_slice() {
        [] => &known,
        named => named,
    };
    let ranker = Ranker::new(arguments.encoder.as_deref());
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot make the folder `{}`", arguments.out.display()))?;
    for name in names {
        let dataset = Dataset::read(retrieval, name, catalogs)?;
        let path = arguments
            .out
            .join(format!("{name}.{}.jsonl", ranker.name()));
        let n_queries = ranker.write(&dataset, &path).await?;
        let n_tools = dataset.index.tools().count();
        println!(
            "{}: {n_queries} queries among {n_tools} tools",
            path.display()
        );
    }
    Ok(())
}

/// Searches, by words alone or with a sentence encoder.
struct Ranker {
    encoder: Option<Handle>,
}

impl Ranker {
    fn new(model: Option<&Path>) -> Ranker {
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

    /// What the files are called that it writes.
    fn name(&self) -> &'static str {
        match self.encoder {
            None => "toolcrib",
            Some(_) => "toolcrib+encoder",
        }
    }

    /// Writes the ranking of every query that some tool serves, and says how many those are.
    async fn write(&self, dataset: &Dataset, path: &Path) -> anyhow::Result<usize> {
        self.prepare(&dataset.index).await?;
        let failed = || format!("cannot write `{}`", path.display());
        let mut file = BufWriter::new(File::create(path).with_context(failed)?);
        let served = dataset.queries.iter().filter(|it| !it.relevant.is_empty());
        let mut n_queries = 0;
        for query in served {
            let ranked = self.rank(dataset, query).await?;
            writeln!(file, "{}", json!({"id": query.id, "ranked": ranked})).with_context(failed)?;
            n_queries += 1;
        }
        file.flush().with_context(failed)?;
        Ok(n_queries)
    }

    /// Waits until the encoder has read all tools.
    async fn prepare(&self, index: &Index) -> anyhow::Result<()> {
        if let Some(encoder) = &self.encoder {
            let read = encoder.reader().read(index, TOOLS_LIMIT).await;
            read.map_err(|reason| anyhow!("{reason}"))?;
        }
        Ok(())
    }

    /// The ids of the best tools, best first.
    async fn rank<'a>(&self, dataset: &'a Dataset, query: &Query) -> anyhow::Result<Vec<&'a str>> {
        let text = &query.query;
        let meanings = match &self.encoder {
            None => None,
            Some(encoder) => {
                let texts = std::slice::from_ref(text);
                let reader = encoder.reader();
                let meanings = reader.meanings(&dataset.index, texts, QUERY_LIMIT).await;
                Some(meanings.with_context(|| {
                    format!("the sentence encoder did not read the query `{}`", query.id)
                })?)
            }
        };
        let semantic = meanings.as_ref().and_then(|meanings| meanings.of(0));
        let answer = dataset.index.search_with(text, DEPTH, |_| true, semantic);
        let ids = answer.hits.iter().map(|hit| dataset.id(&hit.tool));
        ids.collect()
    }
}
