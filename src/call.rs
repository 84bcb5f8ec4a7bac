//! Which tool a call of the model is for, and with which arguments: what `dispatch` does and `resolve` tells.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::bridge::parse::arguments_of;
use crate::bridge::results::shown_schema;
use crate::bridge::{BadBridgeCall, BridgeCall, BridgeTool, DescribeCall, SearchCall};
use crate::catalog::view::{NameProblem, View};
use crate::catalog::{Origin, Tool};
use crate::config::ToolSearchConfig;
use crate::names::BRIDGE_TOOLS;
use crate::schema::validate::ArgumentProblem;

/// What a call is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolution {
    Search(SearchCall),
    Describe(DescribeCall),
    /// A tool of a server, with arguments that fit it.
    Mcp(ToolCall),
    /// A tool of the host, which runs it itself.
    Host(ToolCall),
    /// Nothing can be run; the model is told why.
    Problem(Problem),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub tool: Arc<Tool>,
    /// As they are to be sent.
    pub arguments: Map<String, Value>,
    /// Whether the model called it through `tool_call`.
    pub bridged: bool,
}

/// Why a call leads nowhere, for the model to mend.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub message: String,
    /// Place in the arguments, such as `arguments.a.b[0]`.
    pub path: Option<String>,
    /// The keyword of the tool's schema that is not met.
    pub constraint: Option<String>,
    pub hint: Option<String>,
    /// Whether the call is refused as it is; else the tool could not be found.
    pub refused: bool,
    pub bridge: Option<BridgeTool>,
    /// The real tool, where the name leads to one.
    pub tool: Option<Arc<Tool>>,
    /// As the model gave them; empty where they could not be read.
    pub arguments: Map<String, Value>,
}

/// Finds the tool that is meant and brings the arguments into shape. Starts and sends nothing.
pub fn resolve(
    view: &View,
    config: &ToolSearchConfig,
    name: &str,
    arguments: Option<&Value>,
) -> Resolution {
    let arguments = match arguments_of(arguments) {
        Ok(arguments) => arguments,
        Err(bad) => {
            let bridge = BridgeTool::parse(name);
            let tool = view
                .resolve_name(name)
                .ok()
                .filter(|_| bridge.is_none())
                .cloned();
            return Resolution::Problem(Problem {
                bridge,
                tool,
                ..Problem::of_bridge_call(bad)
            });
        }
    };
    // A name that the model was shown for a tool of the host means that tool.
    let is_shown = !view.bridged || !BRIDGE_TOOLS.contains(&name);
    let is_hosts = is_shown
        && view
            .get(name)
            .is_some_and(|tool| tool.origin == Origin::Host);
    match BridgeTool::parse(name) {
        Some(bridge) if !is_hosts => match BridgeCall::parse(bridge, &arguments, config) {
            Ok(BridgeCall::Search(search)) => Resolution::Search(search),
            Ok(BridgeCall::Describe(describe)) => Resolution::Describe(describe),
            Ok(BridgeCall::Call { name, arguments }) => real(view, name.as_str(), arguments, true),
            Err(bad) => Resolution::Problem(Problem::of_bridge_call(bad).through(bridge)),
        },
        _ => real(view, name, arguments, false),
    }
}

fn real(view: &View, name: &str, given: Map<String, Value>, bridged: bool) -> Resolution {
    let bridge = bridged.then_some(BridgeTool::Call);
    let tool = match view.resolve_name(name) {
        Ok(tool) => tool.clone(),
        Err(problem) => {
            let problem = Problem::of_name(name, problem, view);
            return Resolution::Problem(Problem {
                bridge,
                arguments: given,
                ..problem
            });
        }
    };
    // A host checks what it runs itself; only what came through the bridge has no schema in front of the model's API.
    if tool.origin == Origin::Host && !bridged {
        return Resolution::Host(ToolCall {
            tool,
            arguments: given,
            bridged,
        });
    }
    match tool.checker().check(&given) {
        Ok(arguments) => {
            let call = ToolCall {
                tool,
                arguments,
                bridged,
            };
            match call.tool.origin {
                Origin::Host => Resolution::Host(call),
                Origin::Mcp(_) => Resolution::Mcp(call),
            }
        }
        Err(problem) => Resolution::Problem(Problem {
            bridge,
            arguments: given,
            ..Problem::of_arguments(tool, problem)
        }),
    }
}

impl Problem {
    /// A name that means no tool of the session.
    pub fn of_name(name: &str, problem: NameProblem, view: &View) -> Problem {
        let elsewhere = if view.bridged {
            "find tools with tool_search"
        } else {
            "call one of the tools that you were given, by its exact name"
        };
        let list = |tools: &[&Arc<Tool>]| {
            let names: Vec<String> = tools
                .iter()
                .map(|tool| format!("`{}`", tool.exposed))
                .collect();
            names.join(", ")
        };
        let (message, hint, refused) = match problem {
            NameProblem::Unknown { near } if near.is_empty() => {
                (format!("there is no tool `{name}`"), elsewhere, false)
            }
            NameProblem::Unknown { near } => (
                format!(
                    "there is no tool `{name}`; similar names are {}",
                    list(&near)
                ),
                elsewhere,
                false,
            ),
            NameProblem::Ambiguous { candidates } => (
                format!("`{name}` may be any of {}", list(&candidates)),
                "call one of them by its full name",
                false,
            ),
            NameProblem::OutOfScope => (
                format!("the tool `{name}` is not available in this session"),
                "do not try it again; use another tool",
                true,
            ),
        };
        Problem {
            message,
            path: None,
            constraint: None,
            hint: Some(hint.to_owned()),
            refused,
            bridge: None,
            tool: None,
            arguments: Map::new(),
        }
    }

    /// The same problem, met through a bridge tool.
    pub fn through(self, bridge: BridgeTool) -> Problem {
        Problem {
            bridge: Some(bridge),
            ..self
        }
    }

    /// What the model reads: a JSON text with `error`, and what it needs to do better.
    pub fn content(&self) -> String {
        let mut content = Map::new();
        content.insert("error".to_owned(), self.message.as_str().into());
        for (key, value) in [("path", &self.path), ("constraint", &self.constraint)] {
            if let Some(value) = value {
                content.insert(key.to_owned(), value.as_str().into());
            }
        }
        if let (Some(tool), Some(_)) = (&self.tool, &self.constraint) {
            content.insert("parameters".to_owned(), shown_schema(tool));
        }
        if let Some(hint) = &self.hint {
            content.insert("hint".to_owned(), hint.as_str().into());
        }
        Value::Object(content).to_string()
    }

    fn of_bridge_call(bad: BadBridgeCall) -> Problem {
        Problem {
            message: bad.message,
            path: bad.path,
            constraint: None,
            hint: bad.hint,
            refused: true,
            bridge: None,
            tool: None,
            arguments: Map::new(),
        }
    }

    fn of_arguments(tool: Arc<Tool>, problem: ArgumentProblem) -> Problem {
        Problem {
            message: format!("`{}` was not called: {}", tool.exposed, problem.message),
            path: Some(problem.path),
            constraint: Some(problem.constraint),
            hint: Some(problem.hint.unwrap_or_else(|| {
                "call it again with arguments that fit `parameters`".to_owned()
            })),
            refused: true,
            bridge: None,
            tool: Some(tool),
            arguments: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::catalog::Catalog;
    use crate::catalog::host::HostTools;
    use crate::catalog::listing::{ListedTool, build};
    use crate::catalog::scope::Scope;
    use crate::names::ServerName;

    fn run(bridged: bool, name: &str, arguments: Value) -> Resolution {
        let mut catalog = Catalog::default();
        for (server, tools) in [
            ("git", ["create_issue", "search"]),
            ("web", ["search", "secret"]),
        ] {
            let server = ServerName::new(server).unwrap();
            let listed = tools.map(|name| ListedTool {
                name: name.to_owned(),
                input_schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": if name == "create_issue" { json!(["n"]) } else { json!([]) }}),
                ..ListedTool::default()
            });
            catalog = catalog.with_server(&server, build(&server, listed.into(), |_| true));
        }
        let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let host = HostTools::from(vec![
            Arc::new(Tool::host("now", None, Some(parameters), true)),
            Arc::new(Tool::host("tool_search", None, None, false)),
            Arc::new(Tool::host("toolCall", None, None, false)),
        ]);
        let scope = Scope::compile(None, None, Some(&["mcp_web_secret".to_owned()])).unwrap();
        let view = View {
            catalog: &catalog,
            host: &host,
            scope: &scope,
            bridged,
        };
        resolve(&view, &ToolSearchConfig::default(), name, Some(&arguments))
    }

    fn check(name: &str, arguments: Value, expected: Expect) {
        expected.assert_eq(&text(&run(true, name, arguments)));
    }

    fn text(resolution: &Resolution) -> String {
        let call = |kind: &str, call: &ToolCall| {
            let through = if call.bridged {
                " through the bridge"
            } else {
                ""
            };
            format!(
                "{kind} {} {}{through}",
                call.tool.exposed,
                Value::Object(call.arguments.clone())
            )
        };
        match resolution {
            Resolution::Search(search) => format!("search {:?} {}", search.queries, search.limit),
            Resolution::Describe(describe) => format!("describe {:?}", describe.names),
            Resolution::Mcp(mcp) => call("mcp", mcp),
            Resolution::Host(host) => call("host", host),
            Resolution::Problem(problem) => {
                let outcome = if problem.refused { "refused" } else { "error" };
                let bridge = problem.bridge.map_or("-", BridgeTool::as_str);
                let tool = problem
                    .tool
                    .as_ref()
                    .map_or("-", |tool| tool.exposed.as_str());
                format!("{outcome} {bridge} {tool}: {}", problem.content())
            }
        }
    }

    #[test]
    fn a_deferred_tool_runs_directly_and_through_the_bridge() {
        check(
            "mcp_git_create_issue",
            json!({"n": "1"}),
            expect![[r#"mcp mcp_git_create_issue {"n":1}"#]],
        );
        check(
            "tool_call",
            json!({"name": "mcp_git_create_issue", "arguments": {"n": 1}}),
            expect![[r#"mcp mcp_git_create_issue {"n":1} through the bridge"#]],
        );
        check(
            "create_issue",
            json!("{\"n\":1}"),
            expect![[r#"mcp mcp_git_create_issue {"n":1}"#]],
        );
    }

    #[test]
    fn nothing_is_an_empty_object() {
        for arguments in [json!(null), json!(""), json!(" "), json!({}), json!("null")] {
            check(
                "mcp_git_search",
                arguments,
                expect!["mcp mcp_git_search {}"],
            );
        }
    }

    #[test]
    fn the_bridge_tools_are_the_real_ones_while_bridged() {
        check(
            "tool_search",
            json!({"query": "x", "limit": 99}),
            expect![[r#"search ["x"] 20"#]],
        );
        check(
            "tool_describe",
            json!({"name": "x"}),
            expect![[r#"describe ["x"]"#]],
        );
        assert_eq!(
            text(&run(false, "tool_search", json!({"query": "x"}))),
            r#"host tool_search {"query":"x"}"#
        );
        assert_eq!(
            text(&run(false, "tool_describe", json!({"name": "x"}))),
            r#"describe ["x"]"#
        );
    }

    #[test]
    fn the_hosts_tools_go_to_the_host() {
        check(
            "toolCall",
            json!({"n": 1}),
            expect![[r#"host toolCall {"n":1}"#]],
        );
        check(
            "now",
            json!({"n": "as given"}),
            expect![[r#"host now {"n":"as given"}"#]],
        );
        check(
            "tool_call",
            json!({"name": "now", "arguments": {"n": "2"}}),
            expect![[r#"host now {"n":2} through the bridge"#]],
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_not_sent() {
        check(
            "tool_call",
            json!({"name": "create_issue", "arguments": {}}),
            expect![[
                r#"refused tool_call mcp_git_create_issue: {"error":"`mcp_git_create_issue` was not called: required parameter `n` is missing","path":"arguments","constraint":"required","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"hint":"call it again with arguments that fit `parameters`"}"#
            ]],
        );
        check(
            "mcp_git_search",
            json!([1]),
            expect![[
                r#"refused - mcp_git_search: {"error":"`arguments` must be a JSON object","path":"arguments","hint":"`arguments` is a JSON object of the tool's parameters, {} for none"}"#
            ]],
        );
    }

    #[test]
    fn names_that_mean_no_tool_are_explained() {
        check(
            "mcp_git_create_isue",
            json!({}),
            expect![[
                r#"error - -: {"error":"there is no tool `mcp_git_create_isue`; similar names are `mcp_git_create_issue`, `mcp_git_search`","hint":"find tools with tool_search"}"#
            ]],
        );
        check(
            "tool_call",
            json!({"name": "search"}),
            expect![[
                r#"error tool_call -: {"error":"`search` may be any of `mcp_git_search`, `mcp_web_search`","hint":"call one of them by its full name"}"#
            ]],
        );
        check(
            "mcp_web_secret",
            json!({}),
            expect![[
                r#"refused - -: {"error":"the tool `mcp_web_secret` is not available in this session","hint":"do not try it again; use another tool"}"#
            ]],
        );
        check(
            "tool_call",
            json!({"name": "tool_call", "arguments": {}}),
            expect![[
                r#"refused tool_call -: {"error":"tool_call runs real tools, and `tool_call` is a bridge tool","path":"arguments.name","hint":"call `tool_call` directly"}"#
            ]],
        );
    }
}
