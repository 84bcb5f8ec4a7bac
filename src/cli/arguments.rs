//! What can be written on the command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::api::types::Format;
use crate::logging::{self, InvalidLevel};

/// A sidecar for AI agents that have more MCP tools than their model can bear.
///
/// It connects to the MCP servers of its configuration, and shows a model either all of their tools or, where their schemas would take too much of its context, three tools to search, describe and call the others.
#[derive(Debug, Parser)]
#[command(
    name = "toolcrib",
    disable_version_flag = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Examples:
  toolcrib demo                                   see what it does, without any configuration
  toolcrib check                                  is my configuration right?
  toolcrib search 'open a pull request'           which tool would a model find?
  toolcrib call mcp_github_get_me '{}'            call a tool as a model would
  toolcrib serve                                  speak JSON-RPC with an agent on stdin and stdout

Exit status:
  0 fine                             3 the configuration is invalid
  1 the tool or the search said no   4 a server could not be reached
  2 wrong usage                      5 refused by policy"
)]
pub struct Arguments {
    /// Print the version.
    #[arg(long, short = 'V')]
    pub version: bool,
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Configuration file, YAML or JSON, instead of the one that is found.
    #[arg(long, global = true, value_name = "PATH")]
    pub config: Option<PathBuf>,
    /// Write the log to this file, instead of one a day in the folder for logs.
    #[arg(long, global = true, value_name = "PATH")]
    pub log_file: Option<PathBuf>,
    /// What is logged: a level, or directives such as `info,toolcrib::server=trace`.
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info", value_parser = log_level)]
    pub log_level: String,
    /// Text for people, or JSON for programs.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    pub format: OutputFormat,
    /// When to use colour; `auto` is on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
}

/// Also refused where the command keeps no log.
fn log_level(given: &str) -> Result<String, InvalidLevel> {
    logging::filter(given).map(|_| given.to_owned())
}

fn share(given: &str) -> Result<f64, &'static str> {
    let share = given.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or("a number from 0 to 1 is needed")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Speak JSON-RPC with an agent over stdin and stdout.
    #[command(after_help = "\
Examples:
  toolcrib serve
      what an agent spawns; it ends when its stdin is closed
  echo '{\"id\":1,\"method\":\"assembleTools\",\"params\":{\"contextLength\":200000}}' | toolcrib serve
      one message a line is the other framing; every answer is printed before it ends
  toolcrib serve --log-file toolcrib.log --log-level debug
      see what happens meanwhile; stdout holds the protocol and nothing else")]
    Serve(Serve),
    /// Speak LSP with an editor about the configuration file.
    #[command(after_help = "\
Examples:
  toolcrib lsp
      what an editor spawns to show mistakes while you type")]
    Lsp,
    /// List all tools of all servers and what their schemas cost.
    #[command(after_help = "\
Examples:
  toolcrib tools
  toolcrib tools --server github --server slack
  toolcrib tools --context-length 32000
      would a model with so many tokens of context see them directly, or bridged?
  toolcrib tools --format json --write anthropic
      the very array that a host gets for its model")]
    Tools(Tools),
    /// Search the tools as a model would with `tool_search`.
    #[command(after_help = "\
Examples:
  toolcrib search 'send a message to a channel'
  toolcrib search calendar --limit 3
  toolcrib search 'open a PR' --explain
      what each tool owes to which rule
  toolcrib search 'open a PR' --format json | jq -r '.matches[].name'")]
    Search(Search),
    /// Show tools in full as a model would see them with `tool_describe`.
    #[command(after_help = "\
Examples:
  toolcrib describe mcp_github_create_issue
  toolcrib describe mcp_github_create_issue mcp_slack_post_message
  toolcrib describe mcp_github_create_issue --format json | jq .")]
    Describe(Describe),
    /// Call a tool as a model would with `tool_call`.
    #[command(after_help = "\
Examples:
  toolcrib call mcp_github_get_me
  toolcrib call mcp_units_convert '{\"value\": 26.2, \"from\": \"mi\", \"to\": \"km\"}'
  jq -n '{query: \"bread\"}' | toolcrib call mcp_notes_search_notes -
  toolcrib call mcp_github_get_me --format json
      the whole answer: outcome, content blocks, how long it took

Exit status:
  0 the tool answered          4 its server could not be reached
  1 it said that it failed     5 policy refused the call, which was not sent
  2 the arguments do not fit")]
    Call(Call),
    /// Start all servers and show how they are.
    #[command(after_help = "\
Examples:
  toolcrib status
  toolcrib status --format json | jq '.servers[] | select(.state != \"ready\")'

Exit status 4 says that a server could not be reached.")]
    Status,
    /// Check the configuration without starting anything.
    #[command(after_help = "\
Examples:
  toolcrib check
  toolcrib check --config ./toolcrib.yaml
  toolcrib check --connect
      start every server as well, and stop them again

Exit status 3 says that the configuration has errors; warnings and hints alone give 0.")]
    Check(Check),
    /// See it at work on five small servers of its own, without configuration or network.
    #[command(after_help = "\
Examples:
  toolcrib demo
  toolcrib demo --format json")]
    Demo,
    /// Print the wire contract or the schema of the configuration.
    #[command(after_help = "\
Examples:
  toolcrib schema
      the methods and their types, as an OpenRPC document
  toolcrib schema config > toolcrib.schema.json
      for an editor that completes YAML by a JSON Schema")]
    Schema(Schema),
    /// Write the schema documents and the clients for Python, TypeScript and Go.
    #[command(after_help = "\
Examples:
  toolcrib codegen
      write ./schema and the generated files of ./clients
  toolcrib codegen --check
      write nothing; exit status 1 where a file is not what would be written")]
    Codegen(Codegen),
    /// Measure how well the search ranks, by queries with the tools they should find.
    #[command(after_help = "\
Examples:
  toolcrib eval queries.jsonl
      one query a line: {\"query\": \"open a ticket\", \"expected\": [\"mcp_github_create_issue\"]}
  toolcrib eval queries.yaml --min-recall-at-5 0.9
      a list of the same in YAML; exit status 1 where the search is worse than that
  toolcrib eval recorded.jsonl --explain
      what `toolcrib serve --record recorded.jsonl` wrote, and why each miss is one")]
    Eval(Eval),
    /// A built-in server of the demo.
    #[command(name = crate::demo::COMMAND, hide = true)]
    DemoServer { name: String },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// How messages are told apart; `auto` looks at the first byte of the host.
    #[arg(long, value_name = "FRAMING", default_value = "auto")]
    pub framing: FramingArgument,
    /// Append each search and the server's tool that was called next to this file, one JSON object a line, for `toolcrib
    /// eval`. The secrets of the configuration are left out, and the file becomes readable by its owner alone.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FramingArgument {
    /// As in LSP: `Content-Length` and an empty line before each message.
    Headers,
    /// One message a line.
    Lines,
    Auto,
}

#[derive(Debug, Args)]
pub struct Tools {
    /// Only tools of this server; may be given more than once.
    #[arg(long = "server", value_name = "NAME")]
    pub servers: Vec<String>,
    /// Tokens that the model can hold.
    #[arg(long, value_name = "TOKENS")]
    pub context_length: Option<u64>,
    /// How `--format json` writes the array of tools.
    #[arg(long, value_name = "API", default_value = "openai")]
    pub write: ApiArgument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApiArgument {
    Openai,
    OpenaiResponses,
    Anthropic,
    Gemini,
    Mcp,
}

impl From<ApiArgument> for Format {
    fn from(api: ApiArgument) -> Format {
        match api {
            ApiArgument::Openai => Format::Openai,
            ApiArgument::OpenaiResponses => Format::OpenaiResponses,
            ApiArgument::Anthropic => Format::Anthropic,
            ApiArgument::Gemini => Format::Gemini,
            ApiArgument::Mcp => Format::Mcp,
        }
    }
}

#[derive(Debug, Args)]
pub struct Search {
    /// What is to be done, in words.
    #[arg(required = true, num_args = 1.., value_name = "QUERY")]
    pub query: Vec<String>,
    /// Most tools to show; the configuration's limits apply.
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Show what each tool owes to which rule of the ranking.
    #[arg(long)]
    pub explain: bool,
}

#[derive(Debug, Args)]
pub struct Describe {
    /// Names of tools, as the model sees them.
    #[arg(required = true, num_args = 1.., value_name = "NAME")]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Call {
    /// Name of the tool, as the model sees it.
    pub name: String,
    /// Its arguments as a JSON object, or `-` to read them from stdin; `{}` where absent.
    #[arg(value_name = "ARGUMENTS", allow_hyphen_values = true)]
    pub arguments: Option<String>,
    /// Approve the call where its server asks for approval; without this a person at the terminal is asked.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct Check {
    /// Start every server as well, and stop them again.
    #[arg(long)]
    pub connect: bool,
}

#[derive(Debug, Args)]
pub struct Schema {
    /// Which of the two.
    #[arg(default_value = "api")]
    pub which: SchemaArgument,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaArgument {
    /// The methods of `serve` and their types.
    Api,
    /// The configuration file.
    Config,
}

#[derive(Debug, Args)]
pub struct Codegen {
    /// Folder that holds `schema` and `clients`.
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub root: PathBuf,
    /// Write nothing, and say whether anything would change.
    #[arg(long)]
    pub check: bool,
}

#[derive(Debug, Args)]
pub struct Eval {
    /// File with one query a line, as JSON, or with a list of queries in YAML; lines that begin with `#` say nothing. Queries
    /// for tools that there are not are left out, with a warning.
    pub queries: PathBuf,
    /// Exit status 1 where less than this share of the expected tools, from 0 to 1, is among the first five.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub min_recall_at_5: Option<f64>,
    /// Show what each tool of a miss owes to which rule of the ranking.
    #[arg(long)]
    pub explain: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_contradicts_itself_nowhere() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_that_people_see_teaches_by_example() {
        let command = Arguments::command();
        for command in command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
        {
            let name = command.get_name();
            let after_help = command.get_after_help().map(ToString::to_string);
            let after_help = after_help.unwrap_or_default();
            assert!(after_help.contains(&format!("toolcrib {name}")), "{name}");
        }
    }

    #[test]
    fn options_that_hold_everywhere_stand_before_or_behind_the_command() {
        for line in [
            ["toolcrib", "--format", "json", "call", "x", "-"],
            ["toolcrib", "call", "x", "-", "--format", "json"],
        ] {
            let arguments = Arguments::try_parse_from(line).unwrap();
            assert_eq!(arguments.global.format, OutputFormat::Json);
            let Some(Command::Call(call)) = arguments.command else {
                panic!("{line:?}");
            };
            assert_eq!(call.arguments.as_deref(), Some("-"));
        }
    }
}
