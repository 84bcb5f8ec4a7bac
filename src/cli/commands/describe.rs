//! `toolcrib describe`: tools in full, as a model reads them with `tool_describe`.

use serde_json::{Value, json};

use crate::api::host::Host;
use crate::cli::arguments::{Describe, Global};
use crate::cli::exit::{Exit, Failure};
use crate::cli::layout::harmless;
use crate::cli::output::{Output, complain};
use crate::cli::render::describe;
use crate::cli::session::{source, with_servers};
use crate::cli::style::{BAD, paint};

pub async fn run(global: &Global, args: Describe, output: &Output) -> anyhow::Result<Exit> {
    if args.names.iter().any(|name| name.trim().is_empty()) {
        let message = "a name is blank: `toolcrib tools` lists the names there are";
        return Err(Failure::new(Exit::WrongUsage, message).into());
    }
    with_servers(source(global), Host::nobody(), async |session| {
        session.settle().await;
        let answer = session
            .bridge("tool_describe", json!({"name": args.names}))
            .await?;
        output.print(&answer, || text(&answer, output.width))?;
        let missing: Vec<&str> = answer["not_found"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !missing.is_empty() {
            let hint = answer["hint"].as_str().unwrap_or_default();
            let text = format!("there is no tool `{}`: {hint}", missing.join("`, `"));
            complain(&format!("{} {}", paint(BAD, "error:"), harmless(&text)));
        }
        Ok(match missing.is_empty() {
            true => Exit::Fine,
            false if session.is_cut_off() => Exit::Unreachable,
            false => Exit::SaidNo,
        })
    })
    .await
}

fn text(answer: &Value, columns: Option<usize>) -> String {
    let tools = answer["tools"].as_object().into_iter().flatten();
    let texts: Vec<String> = tools
        .map(|(name, tool)| {
            let title = format!("{name} ({})", tool["server"].as_str().unwrap_or_default());
            let description = tool["description"].as_str().unwrap_or_default();
            describe::text(&title, description, &tool["parameters"], columns)
        })
        .collect();
    texts.join("\n")
}
