//! Measures round trips over the Rust client of the example beside it.

#[path = "host/sidecar.rs"]
#[expect(dead_code, reason = "a host uses more of it")]
mod sidecar;

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use toolcrib::api::methods::{AssembleTools, Status};
use toolcrib::api::types::{
    AssembleToolsParams, ConfigSource, InitializeParams, PROTOCOL_VERSION, StatusParams,
};

use crate::sidecar::{Handler, Sidecar};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, config, count] = arguments.as_slice() else {
        anyhow::bail!("arguments: the program, a configuration, how many times");
    };
    let count: usize = count.parse()?;
    let params = InitializeParams {
        protocol_version: PROTOCOL_VERSION,
        config: Some(ConfigSource {
            path: Some(config.clone()),
            inline: None,
        }),
        ..InitializeParams::default()
    };
    let handler: Handler = Arc::new(|_, _| Box::pin(async { None }));
    let sidecar = Sidecar::spawn(program, params, handler).await?;
    let mut params = AssembleToolsParams {
        context_length: Some(32_000),
        wait_ms: Some(20_000),
        ..AssembleToolsParams::default()
    };
    params.known_digest = Some(
        sidecar
            .request::<AssembleTools>(params.clone())
            .await?
            .digest,
    );
    let again = sidecar.request::<AssembleTools>(params.clone()).await?;
    anyhow::ensure!(again.unchanged, "the tools have changed");

    let status = median(count, || sidecar.request::<Status>(StatusParams {})).await?;
    let assemble = median(count, || sidecar.request::<AssembleTools>(params.clone())).await?;
    println!("{}", json!({ "status": status, "assembleTools": assemble }));
    Ok(sidecar.close().await?)
}

/// In microseconds; the first calls do not count.
async fn median<T, E, F: Future<Output = Result<T, E>>>(
    count: usize,
    work: impl Fn() -> F,
) -> Result<f64, E> {
    let mut measured = Vec::new();
    for _ in 0..count + count / 5 {
        let started = Instant::now();
        work().await?;
        measured.push(started.elapsed());
    }
    let mut kept = measured.split_off(count / 5);
    kept.sort();
    Ok((kept[count / 2].as_nanos() / 100) as f64 / 10.0)
}
