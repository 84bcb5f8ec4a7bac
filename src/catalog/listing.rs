//! Turns what a server listed into tools that are safe to show.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::catalog::memo::Memo;
use crate::catalog::warning::{Warning, WarningKind};
use crate::catalog::{Origin, Tool};
use crate::names::{BRIDGE_TOOLS, ExposedName, ServerName, ToolId};
use crate::schema::MAX_DEPTH;
use crate::schema::normalise::{Fault, normalise};
use crate::text::{self, LookAlike, MAX_DESCRIPTION};

/// A tool as a server listed it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ListedTool {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// `null` where it sent none.
    pub input_schema: Value,
    /// The members that are not named here.
    pub extra: Map<String, Value>,
}

/// One server's tools, ready for the catalog.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// Sorted by exposed name and id.
    pub tools: Vec<Arc<Tool>>,
    pub dropped: Vec<Dropped>,
    pub warnings: Vec<Warning>,
}

/// A tool that was listed and cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The name that the server gave it.
    pub tool: String,
    pub reason: String,
}

/// Builds the tools of a server. `keep` is the configuration's filter, asked with the server's own name of a tool.
pub fn build(server: &ServerName, listed: Vec<ListedTool>, keep: impl Fn(&str) -> bool) -> Listing {
    let mut listing = Listing::default();
    let mut seen = BTreeSet::new();
    for tool in listed {
        if tool.name.is_empty() {
            listing.drop("", "it has no name");
        } else if seen.contains(&tool.name) {
            listing.drop(
                &tool.name,
                "the server lists another tool of this name before",
            );
        } else if keep(&tool.name) {
            seen.insert(tool.name.clone());
            listing.add(server, tool);
        }
    }
    listing.tools.sort_by(|a, b| super::order(a, b));
    listing
}

impl Listing {
    fn drop(&mut self, tool: &str, reason: &str) {
        self.dropped.push(Dropped {
            tool: tool.to_owned(),
            reason: reason.to_owned(),
        });
    }

    fn add(&mut self, server: &ServerName, listed: ListedTool) {
        let id = ToolId::new(server, &listed.name);
        let mut cleaner = Cleaner::default();
        let description = cleaner.text(listed.description.unwrap_or_default());
        let mut input_schema = listed.input_schema;
        cleaner.schema(&mut input_schema, 0);
        let mut extra = listed.extra;
        for member in ["annotations", "outputSchema"] {
            if let Some(value) = extra.get_mut(member) {
                cleaner.schema(value, 0);
            }
        }
        let tool = Tool {
            exposed: ExposedName::of(&id),
            origin: Origin::Mcp(id),
            title: listed.title.map(|title| cleaner.text(title)),
            description: text::shorten(&description, MAX_DESCRIPTION).into_owned(),
            input_schema,
            extra,
            deferrable: true,
            tokens: 0,
            memo: Memo::default(),
        }
        .counted();
        self.warn(&tool, cleaner.suspicious);
        self.tools.push(Arc::new(tool));
    }

    fn warn(&mut self, tool: &Tool, has_hidden_text: bool) {
        let name = tool.original_name();
        let mut warn = |kind, message| self.warnings.push(Warning::of_tool(kind, tool, message));
        if has_hidden_text || text::clean(name).suspicious {
            let message = format!(
                "hidden characters were removed from the texts of `{}`",
                tool.exposed
            );
            warn(WarningKind::HiddenText, message);
        }
        match text::look_alike(name, &BRIDGE_TOOLS) {
            Some(LookAlike::Bridge(bridge)) => {
                warn(
                    WarningKind::LookAlike,
                    format!("the name `{name}` imitates the bridge tool `{bridge}`"),
                );
            }
            Some(LookAlike::MixedScript) => {
                let message = format!(
                    "the name `{name}` has look-alike letters of another script among Latin ones"
                );
                warn(WarningKind::LookAlike, message);
            }
            None => {}
        }
        let mut unknown_types = BTreeSet::new();
        for fault in normalise(&tool.input_schema).faults {
            match fault {
                Fault::NotASchema => {
                    let message = format!(
                        "the input schema of `{}` is no schema; it takes any arguments",
                        tool.exposed
                    );
                    warn(WarningKind::OddSchema, message);
                }
                Fault::DanglingReference { path, reference } => {
                    let message = format!(
                        "`{path}` in the input schema of `{}` refers to `{reference}`, which is not there; it takes any value",
                        tool.exposed
                    );
                    warn(WarningKind::DanglingReference, message);
                }
                Fault::UnknownType { name } => {
                    unknown_types.insert(format!("`{name}`"));
                }
            }
        }
        if !unknown_types.is_empty() {
            let names: Vec<String> = unknown_types.into_iter().collect();
            let message = format!(
                "the input schema of `{}` names types that JSON Schema does not have: {}",
                tool.exposed,
                names.join(", ")
            );
            warn(WarningKind::OddSchema, message);
        }
    }
}

/// Takes hidden characters out of a tool's texts.
#[derive(Default)]
struct Cleaner {
    suspicious: bool,
}

impl Cleaner {
    fn text(&mut self, text: String) -> String {
        let cleaned = text::clean(&text);
        self.suspicious |= cleaned.suspicious;
        match cleaned.text {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(cleaned) => cleaned,
        }
    }

    /// Every text in a schema but those that a call must repeat to the letter: names, constants, patterns.
    fn schema(&mut self, value: &mut Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::String(text) => *text = self.text(std::mem::take(text)),
            Value::Array(list) => list
                .iter_mut()
                .for_each(|value| self.schema(value, depth + 1)),
            Value::Object(members) => {
                for (keyword, value) in members {
                    self.suspicious |= text::clean(keyword).suspicious;
                    let is_exact = matches!(
                        keyword.as_str(),
                        "enum" | "const" | "pattern" | "required" | "$ref"
                    );
                    if is_exact && !value.is_object() {
                        self.inspect(value);
                    } else {
                        self.schema(value, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// Only looks.
    fn inspect(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.suspicious |= text::clean(text).suspicious,
            Value::Array(list) => list.iter().for_each(|value| self.inspect(value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(name: &str, description: &str, input_schema: Value) -> ListedTool {
        ListedTool {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            input_schema,
            ..ListedTool::default()
        }
    }

    fn built(tools: Vec<ListedTool>) -> Listing {
        build(&ServerName::new("s").unwrap(), tools, |_| true)
    }

    #[test]
    fn keeps_a_good_tool_as_it_is() {
        let schema = json!({"$schema": "x", "type": "object", "properties": {"q": {"enum": ["a\u{200b}"], "description": "Die Größe"}}});
        let listing = built(vec![listed("find", "Finds.\n- x", schema.clone())]);
        let tool = &listing.tools[0];
        assert_eq!(
            (tool.description.as_str(), &tool.input_schema),
            ("Finds.\n- x", &schema)
        );
        assert_eq!(
            tool.tokens,
            tool.definition(crate::schema::Format::Openai)
                .chars()
                .count()
                .div_ceil(4)
        );
        assert!(tool.deferrable);
    }

    #[test]
    fn cleans_every_text_and_says_so() {
        let evil = "No\u{e0041}tes\u{202e} \u{1b}[2Jx";
        let mut tool = listed(
            "notes",
            evil,
            json!({"properties": {"q": {"description": evil, "enum": ["k\u{200d}"]}, "enum": {"title": evil}}}),
        );
        tool.title = Some(evil.to_owned());
        tool.extra.insert(
            "annotations".to_owned(),
            json!({"title": evil, "readOnlyHint": true}),
        );
        let listing = built(vec![tool]);
        let tool = &listing.tools[0];
        assert_eq!(tool.description, "Notes x");
        assert_eq!(tool.title.as_deref(), Some("Notes x"));
        assert_eq!(
            tool.input_schema,
            json!({"properties": {"q": {"description": "Notes x", "enum": ["k\u{200d}"]}, "enum": {"title": "Notes x"}}})
        );
        assert_eq!(
            tool.annotations(),
            Some(&json!({"title": "Notes x", "readOnlyHint": true}))
        );
        assert_eq!(listing.warnings.len(), 1);
        assert_eq!(listing.warnings[0].kind, WarningKind::HiddenText);
    }

    #[test]
    fn caps_endless_descriptions() {
        let listing = built(vec![listed("a", &"x".repeat(20_000), Value::Null)]);
        assert_eq!(
            listing.tools[0].description.chars().count(),
            MAX_DESCRIPTION
        );
    }

    #[test]
    fn filters_drops_and_sorts() {
        let tools = ["b", "a", "", "a", "secret"].map(|name| listed(name, "", Value::Null));
        let listing = build(&ServerName::new("s").unwrap(), tools.into(), |name| {
            name != "secret"
        });
        let names: Vec<_> = listing
            .tools
            .iter()
            .map(|tool| tool.original_name())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let dropped: Vec<_> = listing
            .dropped
            .iter()
            .map(|dropped| dropped.tool.as_str())
            .collect();
        assert_eq!(dropped, ["", "a"]);
    }

    #[test]
    fn warns_of_odd_names_and_schemas() {
        let listing = built(vec![
            listed("re\u{430}d_file", "", Value::Null),
            listed(
                "tool_call",
                "",
                json!({"properties": {"a": {"type": "any"}, "b": {"$ref": "#/$defs/Missing"}}}),
            ),
            listed("list", "", json!([])),
        ]);
        let kinds: Vec<_> = listing
            .warnings
            .iter()
            .map(|warning| warning.kind.as_str())
            .collect();
        assert_eq!(
            kinds,
            [
                "lookAlike",
                "lookAlike",
                "danglingReference",
                "oddSchema",
                "oddSchema"
            ]
        );
        assert!(
            listing.warnings[2].message.contains("`/properties/b`"),
            "{}",
            listing.warnings[2].message
        );
        assert!(listing.warnings[2].message.contains("`#/$defs/Missing`"));
    }

    #[test]
    fn a_tool_that_says_nothing_is_described_by_its_name() {
        let listing = built(vec![listed("find", " ", Value::Null)]);
        assert_eq!(
            listing.tools[0].shown_description(),
            "`find` of the server `s`."
        );
    }
}
