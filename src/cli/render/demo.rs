//! The walk through toolcrib that `toolcrib demo` takes, told in a page.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::api::types::{
    CallResult, CatalogStatus, Decision, DispatchParams, Mode, ResolveParams, ResolveResult,
    ServerStatus,
};
use crate::cli::layout::{
    Cell, Table, counted, first_sentence, grouped, harmless, one_line, shortened, wrapped,
};
use crate::cli::render::describe::signature;
use crate::cli::render::search::Found;
use crate::cli::style::{BAD, FAINT, GOOD, HEADING, NAME, paint};

/// A page is read best when its lines are not too long, on a wide screen too.
const MAX_COLUMNS: usize = 100;

const INDENT: &str = "   ";

/// Everything that the demo did and was answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Walk {
    pub servers: Vec<ServerStatus>,
    pub catalog: CatalogStatus,
    /// What models of different sizes see.
    pub views: Vec<View>,
    pub search: Exchange<DispatchParams, CallResult>,
    pub describe: Exchange<DispatchParams, CallResult>,
    pub call: Exchange<DispatchParams, CallResult>,
    /// What hooks see of a call through the bridge.
    pub resolve: Exchange<ResolveParams, ResolveResult>,
    /// The same call, of a tool that needs an approval which nobody gives.
    pub refused: Exchange<DispatchParams, CallResult>,
    /// Processes of the demo that still run after its end.
    pub processes_left: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    pub decision: Decision,
    /// The number of tools in the array for the model.
    pub tools: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange<Params, Result> {
    pub params: Params,
    pub result: Result,
}

pub fn text(walk: &Walk, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(MAX_COLUMNS).min(MAX_COLUMNS);
    let page = Page { walk, columns };
    [
        page.introduction(),
        page.tools(),
        page.views(),
        page.bridge(),
        page.hooks(),
        page.end(),
    ]
    .join("\n")
}

struct Page<'a> {
    walk: &'a Walk,
    columns: usize,
}

impl Page<'_> {
    fn introduction(&self) -> String {
        let text = "toolcrib stands between an AI agent and its MCP servers. Before each call of the model the agent asks it \
                    which tools to send, and hands it the tool calls of the model. This is one such conversation, with \
                    servers that come with the program.";
        let lines = wrapped(text, self.columns);
        lines.join("\n") + "\n"
    }

    fn tools(&self) -> String {
        let mut table = Table::new(&["SERVER", "TOOLS#", "TOKENS#"]);
        for server in &self.walk.servers {
            table.row([
                Cell::styled(NAME, one_line(&server.name)),
                grouped(server.tools).into(),
                grouped(server.tokens).into(),
            ]);
        }
        let catalog = &self.walk.catalog;
        table.row([
            "together".into(),
            grouped(catalog.tools).into(),
            grouped(catalog.tokens).into(),
        ]);
        let servers = counted(self.walk.servers.len() as u64, "MCP server");
        heading(&format!(
            "1. The tools of {servers}, each a process of its own"
        )) + &table.text(INDENT, None)
            + &self.prose(
                "Sent as they are, their schemas cost that many tokens in every call of a model.",
            )
    }

    fn views(&self) -> String {
        let mut table = Table::new(&[
            "CONTEXT#",
            "ALL TOOLS WOULD TAKE#",
            "SO IT SEES",
            "TOOLS#",
            "TOKENS#",
        ]);
        for view in &self.walk.views {
            let decision = &view.decision;
            let context = decision.context_length.unwrap_or_default();
            let (mode, style) = match decision.mode {
                Mode::Direct => ("the tools themselves", GOOD),
                Mode::Bridged => ("the bridge", NAME),
            };
            table.row([
                grouped(context).into(),
                percent(decision.deferrable_tokens, context).into(),
                Cell::styled(style, mode),
                grouped(view.tools as u64).into(),
                grouped(decision.visible_tokens).into(),
            ]);
        }
        let saved = self
            .walk
            .views
            .iter()
            .map(|view| view.decision.saved_tokens)
            .max();
        heading("2. What a model sees depends on how much it can hold")
            + &table.text(INDENT, None)
            + &self.prose(&format!(
                "From 10 % of the context on, three bridge tools stand for all others: tool_search, tool_describe and \
                 tool_call. Here that keeps {} tokens out of every call of the smaller model.",
                grouped(saved.unwrap_or_default())
            ))
    }

    fn bridge(&self) -> String {
        let walk = self.walk;
        let mut text = heading("3. How the smaller model finds a tool and calls it");
        text += &self.call(&walk.search.params);
        text += &self.found(&walk.search.result);
        text += &self.call(&walk.describe.params);
        text += &self.described(&walk.describe.result);
        text += &self.call(&walk.call.params);
        text += &self.answer(&walk.call.result);
        text
    }

    fn hooks(&self) -> String {
        let walk = self.walk;
        let mut text = heading("4. Hooks and approvals see the real tool, never the bridge");
        text += &self.prose(
            "Before it runs hooks, an agent asks toolcrib what a call comes to. For `calendar` the configuration says \
             `approval: ask`, and nobody answers here, so the call is not sent.",
        );
        let asked = arguments(walk.resolve.params.arguments.as_ref());
        let asked = format!("{} {asked}", walk.resolve.params.name);
        text += &self.line("agent", "resolve", &asked);
        text += &self.indented(&resolved(&walk.resolve.result));
        text += &self.call(&walk.refused.params);
        text += &self.answer(&walk.refused.result);
        text
    }

    fn end(&self) -> String {
        let left = match self.walk.processes_left {
            0 => paint(GOOD, "nothing is left behind"),
            n_left => paint(
                BAD,
                &format!("{} still run", counted(n_left as u64, "process")),
            ),
        };
        heading(&format!("5. All servers are stopped, {left}"))
            + &self.prose("Next: `toolcrib --help`, then a configuration with your own servers and `toolcrib check`.")
    }

    /// A call as the model makes it.
    fn call(&self, params: &DispatchParams) -> String {
        self.line("model", &params.name, &arguments(params.arguments.as_ref()))
    }

    fn line(&self, who: &str, name: &str, arguments: &str) -> String {
        let room = self
            .columns
            .saturating_sub(INDENT.len() + who.len() + name.len() + 4);
        let arguments = shortened(arguments, room.max(20));
        let who = paint(FAINT, &format!("{who} >"));
        format!("{INDENT}{who} {} {arguments}\n", paint(NAME, name))
    }

    fn found(&self, result: &CallResult) -> String {
        let Ok(found) = serde_json::from_str::<Found>(&result.content) else {
            return self.indented(&one_line(&result.content));
        };
        let mut table = Table::new(&["", ""]);
        for hit in &found.matches {
            table.row([
                harmless(&hit.name).into(),
                first_sentence(&hit.description).into(),
            ]);
        }
        let text = table.text(&INDENT.repeat(2), Some(self.columns));
        let without_titles = text.split_once('\n').map_or("", |(_, rows)| rows);
        without_titles.to_owned()
    }

    fn described(&self, result: &CallResult) -> String {
        let tool: Value = serde_json::from_str(&result.content).unwrap_or_default();
        let name = tool["name"].as_str().unwrap_or_default();
        self.indented(&format!(
            "{}{}",
            one_line(name),
            signature(&tool["parameters"])
        ))
    }

    fn answer(&self, result: &CallResult) -> String {
        let style = if result.is_error { BAD } else { GOOD };
        let lines = wrapped(&one_line(&result.content), self.room());
        let lines = lines
            .iter()
            .map(|line| format!("{INDENT}{INDENT}{}\n", paint(style, line)));
        lines.collect()
    }

    fn indented(&self, text: &str) -> String {
        let lines = wrapped(&harmless(text), self.room());
        let lines = lines.iter().map(|line| format!("{INDENT}{INDENT}{line}\n"));
        lines.collect()
    }

    fn prose(&self, text: &str) -> String {
        let lines = wrapped(text, self.columns.saturating_sub(INDENT.len()).max(20));
        let lines = lines
            .iter()
            .map(|line| format!("{INDENT}{}\n", paint(FAINT, line)));
        lines.collect()
    }

    fn room(&self) -> usize {
        self.columns.saturating_sub(2 * INDENT.len()).max(20)
    }
}

/// The real tool of a call, and what it says of itself.
fn resolved(result: &ResolveResult) -> String {
    let Some(tool) = &result.tool else {
        return "no tool".to_owned();
    };
    let arguments = Value::Object(result.arguments.clone());
    let server = tool.server.as_deref().unwrap_or("the host");
    let hints = tool.annotations.as_ref();
    let hint = match hints.and_then(|hints| hints["destructiveHint"].as_bool()) {
        Some(true) => " (destructive)",
        _ => "",
    };
    format!("{} {arguments} of {server}{hint}", tool.name)
}

fn heading(text: &str) -> String {
    format!("{}\n", paint(HEADING, text))
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

fn arguments(arguments: Option<&Value>) -> String {
    match arguments {
        Some(arguments) => arguments.to_string(),
        None => Value::Object(Map::new()).to_string(),
    }
}
