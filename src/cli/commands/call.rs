//! `toolcrib call`: one tool call, as a model would make it.

use std::io::{self, BufRead, IsTerminal, Read};

use serde_json::Value;

use crate::api::dispatch::{dispatch, resolve};
use crate::api::host::Host;
use crate::api::types::{
    ApproveParams, CallResult, DispatchParams, DispatchResult, Outcome, ResolveParams,
};
use crate::cli::arguments::{Call, Global};
use crate::cli::exit::{Exit, Failure};
use crate::cli::layout::one_line;
use crate::cli::output::{Output, complain};
use crate::cli::render::answer;
use crate::cli::session::{Session, source, with_servers};
use crate::cli::style::{NAME, paint};

pub async fn run(global: &Global, args: Call, output: &Output) -> anyhow::Result<Exit> {
    let arguments = arguments(args.arguments.as_deref())?;
    let host = match args.yes {
        true => Host::terminal(|_| true),
        false if is_somebody_there() && args.arguments.as_deref() != Some("-") => {
            Host::terminal(ask)
        }
        false => Host::nobody(),
    };
    with_servers(source(global), host, async |session| {
        session.settle_for(&args.name).await;
        let params = DispatchParams {
            name: args.name.clone(),
            arguments: Some(arguments),
            ..DispatchParams::default()
        };
        let DispatchResult::Result(result) = dispatch(&session.sidecar, params.clone()).await?
        else {
            return Err(
                Failure::new(Exit::SaidNo, "the tool is run by a host, and there is none").into(),
            );
        };
        let texts = answer::texts(&result, &args.name);
        output.print(&result, || texts.answer.clone())?;
        if !texts.complaint.is_empty() {
            complain(&texts.complaint);
        }
        let exit = match result.outcome {
            Outcome::Refused if does_not_fit(session, params).await? => Exit::WrongUsage,
            outcome => Exit::of_call(outcome, is_server_up(session, &result)),
        };
        if exit == Exit::Unreachable {
            session.complain_of_unreachable();
        }
        Ok(exit)
    })
    .await
}

/// Whether it is the arguments that are wrong, and not the policy that says no.
async fn does_not_fit(session: &Session, params: DispatchParams) -> anyhow::Result<bool> {
    let params = ResolveParams {
        session_id: params.session_id,
        name: params.name,
        arguments: params.arguments,
    };
    let resolved = resolve(&session.sidecar, params).await?;
    Ok(resolved.problem.is_some())
}

/// A tool that is not known may be one of a server that could not be reached.
fn is_server_up(session: &Session, result: &CallResult) -> bool {
    let server = result.tool.as_ref().and_then(|tool| tool.server.as_ref());
    let unreachable = session.unreachable();
    match server {
        Some(server) => unreachable.iter().all(|other| other.name != *server),
        None => unreachable.is_empty(),
    }
}

fn arguments(given: Option<&str>) -> anyhow::Result<Value> {
    let wrong = |reason: String| {
        let hint =
            "give a JSON object, such as '{\"query\": \"bread\"}', or `-` and the object on stdin";
        Failure::new(Exit::WrongUsage, format!("{reason}\n{hint}"))
    };
    let mut text = given.unwrap_or_default().to_owned();
    if text == "-" {
        text.clear();
        io::stdin()
            .lock()
            .read_to_string(&mut text)
            .map_err(|error| wrong(format!("cannot read the arguments from stdin: {error}")))?;
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Default::default()));
    }
    match serde_json::from_str(&text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(Value::Null) => Ok(Value::Object(Default::default())),
        Ok(_) => Err(wrong("the arguments are JSON, but not an object".to_owned()).into()),
        Err(error) => Err(wrong(format!("the arguments are not JSON: {error}")).into()),
    }
}

fn is_somebody_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Blocks until the person has answered; anything but yes is no.
fn ask(question: &ApproveParams) -> bool {
    let name = paint(NAME, &one_line(&question.tool.name));
    let arguments = one_line(&Value::Object(question.arguments.clone()).to_string());
    let reason = one_line(&question.reason);
    complain(&format!("{reason}\nrun {name} with {arguments}? [y/N]"));
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(_) => matches!(line.trim().to_lowercase().as_str(), "y" | "yes"),
        Err(_) => false,
    }
}
