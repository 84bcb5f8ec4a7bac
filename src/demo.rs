//! The MCP servers that come with the program, so that it can be seen at work without a network, keys or other programs.
//!
//! Each is a real server in a process of its own: the program started again with a hidden command.

mod calendar;
mod date;
mod encoding;
mod files;
mod notes;
mod server;
mod text;
mod tool;
mod units;

use std::io;

/// The hidden command that turns the program into one of the servers.
pub const COMMAND: &str = "__demo-server";

/// The names of the servers.
pub const SERVERS: [&str; 5] = ["calendar", "files", "notes", "text", "units"];

/// Serves until standard input ends; `None` where no server has this name.
pub fn serve(name: &str) -> Option<io::Result<()>> {
    let input = io::stdin().lock();
    let output = io::stdout().lock();
    Some(match name {
        "calendar" => server::serve(calendar::server(), input, output),
        "files" => files::server().and_then(|server| server::serve(server, input, output)),
        "notes" => server::serve(notes::server(), input, output),
        "text" => server::serve(text::server(), input, output),
        "units" => server::serve(units::server(), input, output),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definitions() -> Vec<(&'static str, Value)> {
        fn of<State: 'static>(server: server::Server<State>) -> Vec<Value> {
            server.tools.iter().map(tool::Tool::definition).collect()
        }
        let servers = [
            ("calendar", of(calendar::server())),
            ("files", of(files::server().unwrap())),
            ("notes", of(notes::server())),
            ("text", of(text::server())),
            ("units", of(units::server())),
        ];
        assert_eq!(servers.each_ref().map(|(name, _)| *name), SERVERS);
        let tools = servers.into_iter().flat_map(|(server, tools)| {
            tools
                .into_iter()
                .map(move |definition| (server, definition))
        });
        tools.collect()
    }

    #[test]
    fn every_tool_says_what_it_and_each_of_its_arguments_is_for() {
        for (server, definition) in definitions() {
            let name = &definition["name"];
            let words = definition["description"]
                .as_str()
                .unwrap()
                .split(' ')
                .count();
            assert!(words >= 15, "{server} {name}");
            let schema = &definition["inputSchema"];
            assert!(jsonschema::meta::is_valid(schema), "{server} {name}");
            assert_eq!(schema["additionalProperties"], json!(false), "{name}");
            for (argument, schema) in schema["properties"].as_object().unwrap() {
                assert!(
                    schema["description"].is_string(),
                    "{server} {name} {argument}"
                );
            }
        }
    }

    /// The demo shows the tools directly to a model with 200,000 tokens and bridged to one with 32,000.
    #[test]
    fn the_tools_are_many_and_cost_what_real_ones_do() {
        let definitions = definitions();
        assert_eq!(definitions.len(), 42);
        let characters: usize = definitions
            .iter()
            .map(|(_, tool)| {
                tool["description"].to_string().len() + tool["inputSchema"].to_string().len()
            })
            .sum();
        let tokens_at_least = characters / 5;
        let tokens_at_most = characters / 3;
        assert!(tokens_at_least > 42 * 150);
        assert!(tokens_at_most < 20_000);
    }
}
