//! Ranks the tools of public data sets for their queries and writes what came out, to be measured by anyone.
//!
//!     cargo run --release --example rank -- --out runs

mod data;
mod names;
mod ranker;
mod verdicts;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use serde_json::json;

use crate::data::Dataset;
use crate::ranker::Ranker;

/// How many tools a ranking has; the measures look at no more than ten.
const DEPTH: usize = 100;

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
    /// Write nothing; print which share of the answers would be weak, by threshold and kind of query. Among the tools
    /// of real servers where no data set is named.
    #[arg(long, conflicts_with = "out")]
    verdicts: bool,
    /// Write nothing; ask for every tool by each of its names, and fail where it is not first. Among the tools of real
    /// servers where no data set is named.
    #[arg(long, conflicts_with_all = ["out", "verdicts", "encoder"])]
    names: bool,
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
    let names = match arguments.datasets.as_slice() {
        [] if arguments.verdicts || arguments.names => vec!["real".to_owned()],
        [] => known.clone(),
        named => named.to_vec(),
    };
    for name in &names {
        let all = known.join(", ");
        anyhow::ensure!(
            known.contains(name),
            "there is no data set `{name}` in `{}`, but {all}",
            retrieval.display()
        );
    }
    let ranker = Ranker::new(arguments.encoder.as_deref());
    for name in &names {
        let dataset = Dataset::read(retrieval, name, catalogs)?;
        if arguments.verdicts {
            print!("{}", verdicts::table(&ranker, &dataset).await?);
            continue;
        }
        if arguments.names {
            let (missed, n_queries) = names::missed(&dataset.index);
            let n_tools = dataset.index.tools().count();
            println!(
                "{name}: {n_queries} names of {n_tools} tools, {} not first",
                missed.len()
            );
            anyhow::ensure!(missed.is_empty(), "{}", missed.join("\n"));
            continue;
        }
        fs::create_dir_all(&arguments.out)
            .with_context(|| format!("cannot make the folder `{}`", arguments.out.display()))?;
        let path = arguments
            .out
            .join(format!("{name}.{}.jsonl", ranker.name()));
        let n_queries = write(&ranker, &dataset, &path).await?;
        let n_tools = dataset.index.tools().count();
        println!(
            "{}: {n_queries} queries among {n_tools} tools",
            path.display()
        );
    }
    Ok(())
}

/// Writes the ranking of every query that some tool serves, and says how many those are.
async fn write(ranker: &Ranker, dataset: &Dataset, path: &Path) -> anyhow::Result<usize> {
    ranker.prepare(&dataset.index).await?;
    let failed = || format!("cannot write `{}`", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(failed)?);
    let served = dataset.queries.iter().filter(|it| !it.relevant.is_empty());
    let mut n_queries = 0;
    for query in served {
        let ranked = ranker.rank(dataset, query, DEPTH).await?;
        writeln!(file, "{}", json!({"id": query.id, "ranked": ranked})).with_context(failed)?;
        n_queries += 1;
    }
    file.flush().with_context(failed)?;
    Ok(n_queries)
}
