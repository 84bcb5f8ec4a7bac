//! What a model reads when it has searched for tools or asked for one's description.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::bridge::{BridgeTool, DescribeCall};
use crate::call::Problem;
use crate::catalog::Tool;
use crate::catalog::view::View;
use crate::schema::MAX_DEPTH;
use crate::schema::normalise::normalise;
use crate::schema::signature::signature;
use crate::text::{MAX_HIT_DESCRIPTION, shorten};
use crate::tokens;

/// Larger schemas are shown without their longest texts, in characters.
const MAX_SCHEMA: usize = 64_000;

/// The most servers that an answer without matches names.
const MOST_SERVERS: usize = 60;

/// What stands in the place of the server of a host's own tool.
const HOST: &str = "host";

/// What was found for one query, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    pub query: &'a str,
    pub hits: Vec<&'a Tool>,
    /// Whether even the best hit is doubtful.
    pub weak: bool,
}

/// A server that could have been searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Available<'a> {
    pub server: &'a str,
    pub tools: usize,
    /// Why its tools may be missing, such as `starting` or `needs a login`.
    pub note: Option<String>,
}

/// What whole schemas an answer may hold.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Tokens of all of them together.
    pub tokens: usize,
    /// Whether the very first hit is whole even if it takes more.
    pub best: bool,
}

/// The answer to a search: `matches` for one query, `results` for a list of them.
///
/// As many of the best hits as there is room for carry their whole schema as `parameters`, so that a model can call them
/// at once; the others a signature such as `(repo: string, state?: "open"|"closed")`.
pub fn search_result(
    found: &[Found],
    list: bool,
    total_available: usize,
    servers: &[Available],
    room: Room,
) -> String {
    let mut writer = HitWriter {
        room,
        whole: BTreeSet::new(),
    };
    let mut answer = Map::new();
    match found {
        [one] if !list => {
            answer.insert("query".to_owned(), one.query.into());
            answer.insert("total_available".to_owned(), total_available.into());
            writer.write(one, &mut answer);
        }
        several => {
            answer.insert("total_available".to_owned(), total_available.into());
            let results = several.iter().map(|one| {
                let mut result = Map::new();
                result.insert("query".to_owned(), one.query.into());
                writer.write(one, &mut result);
                Value::Object(result)
            });
            let results = results.collect();
            answer.insert("results".to_owned(), Value::Array(results));
        }
    }
    if found.iter().any(|one| one.hits.is_empty()) {
        answer.insert("available_servers".to_owned(), overview(servers));
    }
    Value::Object(answer).to_string()
}

/// The answer to a request for descriptions. A single name that means no tool is a problem; in a list it is told as `not_found`.
pub fn describe_result(view: &View, call: &DescribeCall) -> Result<String, Box<Problem>> {
    if let ([name], false) = (call.names.as_slice(), call.list) {
        let tool = view.resolve_name(name).map_err(|problem| {
            Box::new(Problem::of_name(name, problem, view).through(BridgeTool::Describe))
        })?;
        let mut answer = Map::new();
        answer.insert("name".to_owned(), tool.exposed.as_str().into());
        describe(tool, &mut answer);
        return Ok(Value::Object(answer).to_string());
    }
    let mut tools = Map::new();
    let mut not_found = Vec::new();
    let mut near = BTreeSet::new();
    for name in &call.names {
        match view.resolve_name(name) {
            Ok(tool) => {
                let mut entry = Map::new();
                describe(tool, &mut entry);
                tools.insert(tool.exposed.as_str().to_owned(), Value::Object(entry));
            }
            Err(_) => {
                near.extend(
                    view.suggest(name)
                        .into_iter()
                        .map(|tool| tool.exposed.as_str()),
                );
                not_found.push(Value::from(name.as_str()));
            }
        }
    }
    let mut answer = Map::new();
    let is_complete = not_found.is_empty();
    answer.insert("tools".to_owned(), Value::Object(tools));
    answer.insert("not_found".to_owned(), Value::Array(not_found));
    if !is_complete {
        let hint = if near.is_empty() {
            "find tools with tool_search".to_owned()
        } else {
            let near: Vec<&str> = near.into_iter().take(10).collect();
            format!(
                "similar names are {}; or find tools with tool_search",
                near.join(", ")
            )
        };
        answer.insert("hint".to_owned(), hint.into());
    }
    Ok(Value::Object(answer).to_string())
}

/// The schema that a model is shown: the server's own, unless that is none or endless.
pub fn shown_schema(tool: &Tool) -> Value {
    let schema = &tool.input_schema;
    if !schema.is_object() {
        return normalise(schema).schema;
    }
    if tokens::characters(&schema.to_string()) <= MAX_SCHEMA {
        return schema.clone();
    }
    let mut shorter = schema.clone();
    without_long_texts(&mut shorter, 0);
    if tokens::characters(&shorter.to_string()) <= MAX_SCHEMA {
        return shorter;
    }
    json!({"type": "object", "properties": {}, "description": format!("too large to show; in short: {}", signature(schema))})
}

fn describe(tool: &Tool, answer: &mut Map<String, Value>) {
    answer.insert("server".to_owned(), server_of(tool).into());
    answer.insert("description".to_owned(), tool.shown_description().into());
    answer.insert("parameters".to_owned(), shown_schema(tool));
}

fn server_of(tool: &Tool) -> &str {
    tool.server().map_or(HOST, |server| server.as_str())
}

struct HitWriter<'a> {
    /// What is left of it.
    room: Room,
    /// Tools whose schema stands in this answer already.
    whole: BTreeSet<&'a str>,
}

impl<'a> HitWriter<'a> {
    fn write(&mut self, found: &Found<'a>, answer: &mut Map<String, Value>) {
        let matches: Vec<Value> = found.hits.iter().map(|tool| self.entry(tool)).collect();
        let hint = match (matches.is_empty(), found.weak) {
            (true, _) => Some(
                "no tool matches; search again with other words: the action and its object in English, or the name of a service",
            ),
            (false, true) => {
                Some("none of these matches well; if none fits, search again with other words")
            }
            (false, false) => None,
        };
        answer.insert("matches".to_owned(), Value::Array(matches));
        if let Some(hint) = hint {
            answer.insert("hint".to_owned(), hint.into());
        }
    }

    fn entry(&mut self, tool: &'a Tool) -> Value {
        let name = tool.exposed.as_str();
        json!({
            "name": name,
            "server": server_of(tool),
            "description": shorten(&tool.shown_description(), MAX_HIT_DESCRIPTION),
            "parameters": self.parameters(tool),
        })
    }

    fn parameters(&mut self, tool: &'a Tool) -> Value {
        let name = tool.exposed.as_str();
        let is_due = std::mem::take(&mut self.room.best);
        if (is_due || self.room.tokens > 0) && !self.whole.contains(name) {
            let schema = shown_schema(tool);
            let cost = tokens::of_characters(tokens::characters(&schema.to_string())) as usize;
            if is_due || cost <= self.room.tokens {
                self.room.tokens = self.room.tokens.saturating_sub(cost);
                self.whole.insert(name);
                return schema;
            }
        }
        signature(&tool.input_schema).into()
    }
}

fn overview(servers: &[Available]) -> Value {
    let shown = servers.iter().take(MOST_SERVERS).map(|available| {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), available.server.into());
        entry.insert("tools".to_owned(), available.tools.into());
        if let Some(note) = &available.note {
            entry.insert("note".to_owned(), note.as_str().into());
        }
        Value::Object(entry)
    });
    let mut shown: Vec<Value> = shown.collect();
    if servers.len() > MOST_SERVERS {
        shown.push(json!({"name": format!("… {} more", servers.len() - MOST_SERVERS)}));
    }
    Value::Array(shown)
}

/// Cuts what explains, keeps what a call needs.
fn without_long_texts(value: &mut Value, depth: usize) {
    const LONGEST: usize = 100;
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(members) => {
            for keyword in ["examples", "example", "$comment", "markdownDescription"] {
                if !members.get(keyword).is_some_and(Value::is_object) {
                    members.shift_remove(keyword);
                }
            }
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = shorten(text, LONGEST).into_owned();
            }
            members
                .values_mut()
                .for_each(|value| without_long_texts(value, depth + 1));
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| without_long_texts(value, depth + 1)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use expect_test::{Expect, expect};

    use super::*;
    use crate::catalog::Catalog;
    use crate::catalog::host::HostTools;
    use crate::catalog::listing::{ListedTool, build};
    use crate::catalog::scope::Scope;
    use crate::names::ServerName;

    fn catalog() -> Catalog {
        let server = ServerName::new("git").unwrap();
        let listed = vec![
            ListedTool {
                name: "create_issue".to_owned(),
                description: Some("Creates an issue.".to_owned()),
                input_schema: json!({"type": "object", "properties": {"title": {"type": "string"}, "body": {"type": "string"}}, "required": ["title"]}),
                ..ListedTool::default()
            },
            ListedTool {
                name: "list".to_owned(),
                ..ListedTool::default()
            },
        ];
        Catalog::default().with_server(&server, build(&server, listed, |_| true))
    }

    /// Room for so many tokens of schemas.
    fn of(tokens: usize) -> Room {
        Room {
            tokens,
            best: false,
        }
    }

    fn searched(room: Room, queries: &[(&str, &[usize], bool)], list: bool) -> String {
        let catalog = catalog();
        let tools = catalog.tools();
        let found: Vec<Found> = queries
            .iter()
            .map(|(query, hits, weak)| Found {
                query,
                hits: hits.iter().map(|&at| tools[at].as_ref()).collect(),
                weak: *weak,
            })
            .collect();
        let servers = [
            Available {
                server: "git",
                tools: 2,
                note: None,
            },
            Available {
                server: "mail",
                tools: 0,
                note: Some("starting".to_owned()),
            },
        ];
        search_result(&found, list, 2, &servers, room)
    }

    fn check(text: &str, expected: Expect) {
        expected.assert_eq(text);
    }

    #[test]
    fn answers_one_query_with_matches() {
        check(
            &searched(of(800), &[("issue", &[0, 1], false)], false),
            expect![[
                r#"{"query":"issue","total_available":2,"matches":[{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title"]}},{"name":"mcp_git_list","server":"git","description":"`list` of the server `git`.","parameters":{"type":"object","properties":{}}}]}"#
            ]],
        );
    }

    #[test]
    fn the_best_hit_alone_is_whole_whatever_it_costs_when_it_is_due() {
        let room = Room {
            tokens: 0,
            best: true,
        };
        let queries: [(&str, &[usize], bool); 2] =
            [("issue", &[0, 1], false), ("list", &[1, 0], false)];
        check(
            &searched(room, &queries, true),
            expect![[
                r#"{"total_available":2,"results":[{"query":"issue","matches":[{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title"]}},{"name":"mcp_git_list","server":"git","description":"`list` of the server `git`.","parameters":"()"}]},{"query":"list","matches":[{"name":"mcp_git_list","server":"git","description":"`list` of the server `git`.","parameters":"()"},{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":"(title: string, body?: string)"}]}]}"#
            ]],
        );
    }

    #[test]
    fn hits_beyond_the_budget_carry_a_signature() {
        check(
            &searched(of(10), &[("issue", &[0, 1], true)], false),
            expect![[
                r#"{"query":"issue","total_available":2,"matches":[{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":"(title: string, body?: string)"},{"name":"mcp_git_list","server":"git","description":"`list` of the server `git`.","parameters":{"type":"object","properties":{}}}],"hint":"none of these matches well; if none fits, search again with other words"}"#
            ]],
        );
    }

    #[test]
    fn no_match_gives_an_overview() {
        check(
            &searched(of(800), &[("zzz", &[], false)], false),
            expect![[
                r#"{"query":"zzz","total_available":2,"matches":[],"hint":"no tool matches; search again with other words: the action and its object in English, or the name of a service","available_servers":[{"name":"git","tools":2},{"name":"mail","tools":0,"note":"starting"}]}"#
            ]],
        );
    }

    #[test]
    fn a_list_is_answered_per_query_and_no_schema_twice() {
        check(
            &searched(of(800), &[("a", &[0], false), ("b", &[0], false)], true),
            expect![[
                r#"{"total_available":2,"results":[{"query":"a","matches":[{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title"]}}]},{"query":"b","matches":[{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":"(title: string, body?: string)"}]}]}"#
            ]],
        );
    }

    fn described(names: &[&str], list: bool) -> String {
        let catalog = catalog();
        let host = HostTools::from(vec![Arc::new(Tool::host(
            "now",
            Some("Tells the time."),
            None,
            true,
        ))]);
        let scope = Scope::default();
        let view = View {
            catalog: &catalog,
            host: &host,
            scope: &scope,
            bridged: true,
        };
        let call = DescribeCall {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            list,
        };
        describe_result(&view, &call).unwrap_or_else(|problem| problem.content())
    }

    #[test]
    fn describes_one_tool() {
        check(
            &described(&["create_issue"], false),
            expect![[
                r#"{"name":"mcp_git_create_issue","server":"git","description":"Creates an issue.","parameters":{"type":"object","properties":{"title":{"type":"string"},"body":{"type":"string"}},"required":["title"]}}"#
            ]],
        );
        check(
            &described(&["mcp_git_create_isue"], false),
            expect![[
                r#"{"error":"there is no tool `mcp_git_create_isue`; similar names are `mcp_git_create_issue`, `mcp_git_list`","hint":"find tools with tool_search"}"#
            ]],
        );
    }

    #[test]
    fn describes_a_list() {
        check(
            &described(&["now", "gone"], true),
            expect![[
                r#"{"tools":{"now":{"server":"host","description":"Tells the time.","parameters":{"type":"object","properties":{}}}},"not_found":["gone"],"hint":"find tools with tool_search"}"#
            ]],
        );
    }

    #[test]
    fn endless_schemas_are_shown_in_short() {
        let server = ServerName::new("s").unwrap();
        let properties = |n: usize, description: &str| -> Map<String, Value> {
            (0..n)
                .map(|n| {
                    (
                        format!("p{n}"),
                        json!({"type": "string", "description": description}),
                    )
                })
                .collect()
        };
        for (n, words) in [(40, "word ".repeat(1000)), (5000, "x".to_owned())] {
            let listed = ListedTool {
                name: "t".to_owned(),
                input_schema: json!({"type": "object", "properties": properties(n, &words)}),
                ..ListedTool::default()
            };
            let listing = build(&server, vec![listed], |_| true);
            let shown = shown_schema(&listing.tools[0]);
            assert!(tokens::characters(&shown.to_string()) <= MAX_SCHEMA);
            assert!(shown.to_string().contains("p1"));
        }
    }
}
