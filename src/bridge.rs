//! The three tools that stand for all deferred ones: what a model is told of them, and what it can ask of them.

use serde_json::{Map, Value, json};

use crate::config::ToolSearchConfig;
use crate::names::BRIDGE_TOOLS;
use crate::schema::Format;
use crate::schema::project::Definition;
use crate::text::fold;

pub(crate) mod parse;
pub mod results;

/// One of the bridge tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BridgeTool {
    Search,
    Describe,
    Call,
}

impl BridgeTool {
    /// In the order in which the model sees them.
    pub const ALL: [BridgeTool; 3] = [BridgeTool::Search, BridgeTool::Describe, BridgeTool::Call];

    pub fn as_str(self) -> &'static str {
        BRIDGE_TOOLS[self as usize]
    }

    /// The bridge tool that a name means, in any spelling: no other tool can be reached by a name that looks like one.
    pub fn parse(name: &str) -> Option<BridgeTool> {
        let folded = fold(name);
        BridgeTool::ALL
            .into_iter()
            .find(|tool| fold(tool.as_str()) == folded)
    }
}

/// What a model asks of the bridge.
#[derive(Debug, Clone, PartialEq)]
pub enum BridgeCall {
    Search(SearchCall),
    Describe(DescribeCall),
    /// Run a real tool.
    Call {
        name: String,
        arguments: Map<String, Value>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchCall {
    /// At least one, none blank.
    pub queries: Vec<String>,
    /// Whether a list was given, and is to be answered.
    pub list: bool,
    /// Matches for each query.
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribeCall {
    /// At least one, none blank.
    pub names: Vec<String>,
    pub list: bool,
}

/// What is wrong with a call of a bridge tool, for the model to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadBridgeCall {
    pub message: String,
    pub path: Option<String>,
    pub hint: Option<String>,
}

/// The three elements of `tools`. Their bytes follow from the configuration and the format alone.
pub fn definitions(config: &ToolSearchConfig, format: Format) -> [String; 3] {
    BridgeTool::ALL.map(|tool| {
        let (description, parameters) = texts(tool, config);
        Definition {
            name: tool.as_str(),
            title: None,
            description: &description,
            input_schema: &parameters,
            extra: &Map::new(),
            as_given: false,
        }
        .write(format)
    })
}

fn texts(tool: BridgeTool, config: &ToolSearchConfig) -> (String, Value) {
    match tool {
        BridgeTool::Search => (
            "Finds tools that are connected but not listed here, for the services, files and data this user works with. \
             Search before you say that something cannot be done, and before you work around it. Write the query in \
             English: action and object, and the service if you know it. Run a match with tool_call. If no match fits, \
             search once more with other words."
                .to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "Such as `create issue github` or `send email`."},
                    "limit": {
                        "type": "integer",
                        "description": format!(
                            "Number of matches, {} by default, {} at most.",
                            config.search_default_limit, config.max_search_limit
                        ),
                    },
                },
                "required": ["query"],
            }),
        ),
        BridgeTool::Describe => (
            "Shows the whole description and JSON Schema of a tool that tool_search found. Needed only where a match \
             has a short signature as its `parameters`."
                .to_owned(),
            json!({
                "type": "object",
                "properties": {"name": {"type": "string", "description": "The `name` of the match."}},
                "required": ["name"],
            }),
        ),
        BridgeTool::Call => (
            "Runs a tool that tool_search found and returns its answer.".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The `name` of the match."},
                    "arguments": {"type": "object", "description": "Fitting the `parameters` of the match; {} for none."},
                },
                "required": ["name", "arguments"],
            }),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens;

    #[test]
    fn definitions_are_short_and_follow_from_the_configuration_alone() {
        let config = ToolSearchConfig::default();
        let definitions = definitions(&config, Format::Openai);
        let characters: usize = definitions
            .iter()
            .map(|text| tokens::characters(text))
            .sum();
        assert!(
            tokens::of_characters(characters) <= 350,
            "{}",
            tokens::of_characters(characters)
        );
        for (text, name) in definitions.iter().zip(BRIDGE_TOOLS) {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(value["function"]["name"], name);
            assert!(value["function"]["parameters"]["properties"].is_object());
        }
    }

    #[test]
    fn only_spellings_of_the_bridge_are_the_bridge() {
        assert_eq!(BridgeTool::parse("tool_search"), Some(BridgeTool::Search));
        assert_eq!(BridgeTool::parse("toolCall"), Some(BridgeTool::Call));
        assert_eq!(BridgeTool::parse("mcp_s_tool_call"), None);
        assert_eq!(BridgeTool::parse("tool_calls"), None);
    }
}
