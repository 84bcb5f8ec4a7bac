//! A host in Rust: the tools of one turn, a search among them, and the call of the tool that was found.
//!
//!     cargo run --example host -- path/to/toolcrib path/to/toolcrib.yaml "what to look for"

mod sidecar;

use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};
use toolcrib::api::methods::{AssembleTools, Progress};
use toolcrib::api::types::{
    AssembleToolsParams, ConfigSource, DispatchParams, DispatchResult, HostCapabilities,
    InitializeParams, PROTOCOL_VERSION,
};

use crate::sidecar::{Handler, Sidecar};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "arguments: the program, a configuration, what to look for";
    let (Some(program), Some(config), Some(query)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        anyhow::bail!(usage);
    };
    let config = std::path::absolute(config)?.to_string_lossy().into_owned();
    let params = InitializeParams {
        protocol_version: PROTOCOL_VERSION,
        capabilities: Some(HostCapabilities {
            approval: Some(true),
            progress: Some(true),
            ..HostCapabilities::default()
        }),
        config: Some(ConfigSource {
            path: Some(config),
            inline: None,
        }),
        ..InitializeParams::default()
    };
    let sidecar = Sidecar::spawn(program, params, Arc::new(answer) as Handler).await?;
    let version = sidecar.info.server_info.version.as_deref().unwrap_or("?");
    eprintln!("toolcrib {version} runs as process {:?}", sidecar.pid());
    for problem in &sidecar.info.problems {
        eprintln!("{} ({})", problem.message, problem.path);
    }
    let mut progress = sidecar.subscribe::<Progress>().await?;
    tokio::spawn(async move {
        while let Some(Ok(it)) = progress.next().await {
            eprintln!("{} is at {}", it.call_id, it.progress);
        }
    });

    let params = AssembleToolsParams {
        context_length: Some(32_000),
        wait_ms: Some(10_000),
        ..AssembleToolsParams::default()
    };
    let assembly = sidecar.request::<AssembleTools>(params).await?;
    println!("for the model: {}", assembly.tools.context("no tools")?);

    let found = call(
        &sidecar,
        "tool_search",
        json!({ "query": query, "limit": 1 }),
    )
    .await?;
    println!("found: {found}");
    let found: Value = serde_json::from_str(&found)?;
    if let Some(name) = found["matches"][0]["name"].as_str() {
        println!(
            "answer: {}",
            call(
                &sidecar,
                "tool_call",
                json!({ "name": name, "arguments": {} })
            )
            .await?
        );
    }
    Ok(sidecar.close().await?)
}

async fn call(sidecar: &Sidecar, name: &str, arguments: Value) -> anyhow::Result<String> {
    let params = DispatchParams {
        name: name.to_owned(),
        arguments: Some(arguments),
        call_id: Some(name.to_owned()),
        ..DispatchParams::default()
    };
    match sidecar.dispatch(params).await? {
        DispatchResult::Result(result) => Ok(result.content),
        DispatchResult::Host(call) => anyhow::bail!("`{}` is for the host to run", call.tool.name),
    }
}

/// A real host asks the person.
fn answer(
    method: String,
    params: Value,
) -> std::pin::Pin<Box<dyn Future<Output = Option<Value>> + Send>> {
    Box::pin(async move {
        if method != "approve" {
            return None;
        }
        eprintln!("allowed: {}", params["tool"]["name"]);
        Some(json!({ "decision": "allow" }))
    })
}
