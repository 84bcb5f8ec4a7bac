//! Decides, for one turn, between showing tools as they are and showing the bridge, and writes the array.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::bridge;
use crate::catalog::Tool;
use crate::catalog::view::View;
use crate::catalog::warning::{Warning, WarningKind};
use crate::config::{ToolSearchConfig, ToolSearchMode};
use crate::names::BRIDGE_TOOLS;
use crate::schema::Format;
use crate::tokens;

/// The threshold where nobody knows the model's context, in tokens.
const THRESHOLD_OF_UNKNOWN_CONTEXT: u64 = 20_000;

/// What some model APIs take at most.
const MANY_TOOLS: usize = 128;

/// What an assembly is made from, and nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Its `bridged` is what is decided here, and not read.
    pub view: View<'a>,
    pub config: &'a ToolSearchConfig,
    pub format: Format,
    /// Tokens of the model in use, where the host knows them.
    pub context_length: Option<u64>,
    /// The mode that the session keeps.
    pub pinned: Option<Mode>,
}

/// The tools for the next model call. The same request gives the same bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Assembly {
    /// A JSON array.
    pub tools: String,
    /// Of `tools`: the same bytes have the same digest, and no others.
    pub digest: String,
    pub decision: Decision,
    pub warnings: Vec<Warning>,
}

/// Why the tools are shown as they are, or bridged.
///
/// Tokens are counted in one format whatever format is written, so that the numbers of a session can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub mode: Mode,
    pub reason: Reason,
    pub deferrable_tools: u64,
    pub deferrable_tokens: u64,
    /// Of the array as it is.
    pub visible_tokens: u64,
    /// `None` where no threshold was asked.
    pub threshold_tokens: Option<u64>,
    pub context_length: Option<u64>,
    /// By how much the array is smaller than it would be without the bridge.
    pub saved_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Direct,
    Bridged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    Off,
    On,
    NothingDeferrable,
    BelowThreshold,
    AtThreshold,
    Pinned,
}

impl Decision {
    /// The mode that a session keeps from here on, where it keeps its first one. A turn that had nothing to decide, such as
    /// one before any server was ready, decides nothing for the others.
    pub fn to_pin(&self) -> Option<Mode> {
        match self.reason {
            Reason::BelowThreshold | Reason::AtThreshold | Reason::Pinned => Some(self.mode),
            Reason::Off | Reason::On | Reason::NothingDeferrable => None,
        }
    }
}

/// Decides and writes.
pub fn assemble(request: &Request) -> Assembly {
    let Request {
        view,
        config,
        format,
        ..
    } = *request;
    let mut warnings = Vec::new();
    let mut visible: Vec<&Tool> = Vec::new();
    let mut deferrable: Vec<&Tool> = Vec::new();
    let mut order: Vec<&Tool> = Vec::new();
    for tool in view.tools() {
        order.push(tool);
        if tool.deferrable {
            &mut deferrable
        } else {
            &mut visible
        }
        .push(tool);
    }
    let deferrable_characters = characters(&deferrable);
    let deferrable_tokens = tokens::of_characters(deferrable_characters);
    let (mode, reason, threshold_tokens) = decide(request, deferrable_tokens);

    let mut elements: Vec<&str> = Vec::with_capacity(order.len() + BRIDGE_TOOLS.len());
    let direct_characters = characters(&order);
    let definitions;
    let visible_characters = match mode {
        Mode::Direct => {
            elements.extend(order.iter().map(|tool| tool.definition(format)));
            if elements.len() > MANY_TOOLS {
                warnings.push(many_tools(elements.len()));
            }
            direct_characters
        }
        Mode::Bridged => {
            let (posing, visible): (Vec<&Tool>, Vec<&Tool>) = visible
                .into_iter()
                .partition(|tool| BRIDGE_TOOLS.contains(&tool.exposed.as_str()));
            warnings.extend(posing.into_iter().map(bridge_name));
            elements.extend(visible.iter().map(|tool| tool.definition(format)));
            definitions = bridge::definitions(config, format);
            elements.extend(definitions.iter().map(String::as_str));
            characters(&visible) + bridge_characters(config)
        }
    };
    let tools = format!("[{}]", elements.join(","));

    warnings.extend(view.overruled().map(|tool| host_tool_wins(tool)));
    warnings.extend(catalog_warnings(&view));
    Assembly {
        digest: digest(&tools),
        tools,
        decision: Decision {
            mode,
            reason,
            deferrable_tools: deferrable.len() as u64,
            deferrable_tokens,
            visible_tokens: tokens::of_characters(visible_characters),
            threshold_tokens,
            context_length: request.context_length,
            saved_tokens: tokens::of_characters(direct_characters)
                .saturating_sub(tokens::of_characters(visible_characters)),
        },
        warnings,
    }
}

/// From how many deferrable tokens on tools are bridged: a percentage of the context, or a fixed number where that is unknown.
pub fn threshold(context_length: Option<u64>, threshold_pct: f64) -> u64 {
    match context_length {
        None | Some(0) => THRESHOLD_OF_UNKNOWN_CONTEXT,
        Some(context) => (context as f64 * threshold_pct / 100.0) as u64,
    }
}

fn decide(request: &Request, deferrable_tokens: u64) -> (Mode, Reason, Option<u64>) {
    match (request.config.enabled, request.pinned) {
        (ToolSearchMode::Off, _) => return (Mode::Direct, Reason::Off, None),
        (ToolSearchMode::Auto, Some(mode)) => return (mode, Reason::Pinned, None),
        _ if deferrable_tokens == 0 => return (Mode::Direct, Reason::NothingDeferrable, None),
        (ToolSearchMode::On, _) => return (Mode::Bridged, Reason::On, None),
        (ToolSearchMode::Auto, None) => {}
    }
    let threshold = threshold(request.context_length, request.config.threshold_pct);
    if deferrable_tokens >= threshold {
        (Mode::Bridged, Reason::AtThreshold, Some(threshold))
    } else {
        (Mode::Direct, Reason::BelowThreshold, Some(threshold))
    }
}

fn characters(tools: &[&Tool]) -> usize {
    tools.iter().map(|tool| tool.characters()).sum()
}

fn bridge_characters(config: &ToolSearchConfig) -> usize {
    let definitions = bridge::definitions(config, Format::Openai);
    definitions
        .iter()
        .map(|text| tokens::characters(text))
        .sum()
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is odd about the tools that this session sees.
fn catalog_warnings(view: &View) -> Vec<Warning> {
    let all = view.catalog.warnings();
    if all.is_empty() {
        return Vec::new();
    }
    let names: BTreeSet<&str> = view.tools().map(|tool| tool.exposed.as_str()).collect();
    let concerns = |warning: &&Warning| {
        warning
            .tool
            .as_deref()
            .is_none_or(|tool| names.contains(tool))
    };
    all.iter().filter(concerns).cloned().collect()
}

fn host_tool_wins(tool: &Tool) -> Warning {
    let message = format!(
        "the host has a tool `{}` of its own; the server's is left out",
        tool.exposed
    );
    Warning::of_tool(WarningKind::HostToolWins, tool, message)
}

fn bridge_name(tool: &Tool) -> Warning {
    let message = format!(
        "the host's tool `{}` is left out: while tools are bridged, this is the name of a bridge tool",
        tool.exposed
    );
    Warning::of_tool(WarningKind::BridgeName, tool, message)
}

fn many_tools(n_tools: usize) -> Warning {
    Warning {
        kind: WarningKind::ManyTools,
        message: format!(
            "{n_tools} tools are shown, and some model APIs take {MANY_TOOLS} at most"
        ),
        tool: None,
        server: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::Catalog;
    use crate::catalog::listing::{ListedTool, build};
    use crate::catalog::scope::Scope;
    use crate::names::ServerName;

    /// The four tools of the published reference, under the names that they have there.
    fn reference() -> Vec<Arc<Tool>> {
        [
            (
                "github_create_issue",
                "Open a new issue in a GitHub repository",
                &["title", "body"][..],
            ),
            (
                "github_search_repos",
                "Search GitHub for matching repositories",
                &["query"],
            ),
            (
                "slack_send_message",
                "Post a message into a Slack channel",
                &["channel", "text"],
            ),
            (
                "calendar_create_event",
                "Add an event to the user's calendar",
                &["title", "start"],
            ),
        ]
        .map(|(name, description, parameters)| {
            let properties: serde_json::Map<String, Value> = parameters
                .iter()
                .map(|name| ((*name).to_owned(), json!({"type": "string"})))
                .collect();
            let schema = json!({"type": "object", "properties": properties});
            Arc::new(Tool::host(name, Some(description), Some(schema), true))
        })
        .into()
    }

    fn config(enabled: ToolSearchMode, threshold_pct: f64) -> ToolSearchConfig {
        ToolSearchConfig {
            enabled,
            threshold_pct,
            ..ToolSearchConfig::default()
        }
    }

    struct Setting {
        catalog: Catalog,
        host: Vec<Arc<Tool>>,
        scope: Scope,
        config: ToolSearchConfig,
        context_length: Option<u64>,
        pinned: Option<Mode>,
        format: Format,
    }

    impl Setting {
        fn new(enabled: ToolSearchMode) -> Setting {
            Setting {
                catalog: Catalog::default(),
                host: Vec::new(),
                scope: Scope::default(),
                config: config(enabled, 10.0),
                context_length: None,
                pinned: None,
                format: Format::Openai,
            }
        }

        fn with_server(mut self, name: &str, tools: &[&str]) -> Setting {
            let server = ServerName::new(name).unwrap();
            let listed = tools.iter().map(|tool| ListedTool {
                name: (*tool).to_owned(),
                ..ListedTool::default()
            });
            self.catalog = self
                .catalog
                .with_server(&server, build(&server, listed.collect(), |_| true));
            self
        }

        fn assemble(&self) -> Assembly {
            assemble(&Request {
                view: View {
                    catalog: &self.catalog,
                    host: &self.host.clone().into(),
                    scope: &self.scope,
                    bridged: false,
                },
                config: &self.config,
                format: self.format,
                context_length: self.context_length,
                pinned: self.pinned,
            })
        }
    }

    fn names(assembly: &Assembly) -> Vec<String> {
        let tools: Vec<Value> = serde_json::from_str(&assembly.tools).unwrap();
        let name = |tool: &Value| {
            tool.get("function").unwrap_or(tool)["name"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        tools.iter().map(name).collect()
    }

    #[test]
    fn costs_what_the_reference_says() {
        let mut setting = Setting::new(ToolSearchMode::On);
        setting.host = reference();
        let each: Vec<usize> = setting.host.iter().map(|tool| tool.tokens).collect();
        assert_eq!(each, [54, 48, 53, 54]);
        assert_eq!(setting.assemble().decision.deferrable_tokens, 207);
    }

    #[test]
    fn the_threshold_is_a_share_of_the_context() {
        assert_eq!(threshold(Some(200_000), 10.0), 20_000);
        assert_eq!(threshold(Some(128_000), 10.0), 12_800);
        assert_eq!(threshold(Some(65_536), 10.0), 6_553);
        assert_eq!(threshold(Some(200_000), 100.0), 200_000);
        assert_eq!(threshold(Some(200_000), 0.0), 0);
        assert_eq!(threshold(None, 10.0), 20_000);
        assert_eq!(threshold(Some(0), 10.0), 20_000);
    }

    #[test]
    fn bridges_from_the_threshold_on() {
        let mut setting = Setting::new(ToolSearchMode::Auto);
        setting.host = reference();
        let mut check = |context, expected: (Mode, Reason, Option<u64>)| {
            setting.context_length = context;
            let decision = setting.assemble().decision;
            assert_eq!(
                (decision.mode, decision.reason, decision.threshold_tokens),
                expected,
                "{context:?}"
            );
        };
        check(Some(2_070), (Mode::Bridged, Reason::AtThreshold, Some(207)));
        check(Some(2_079), (Mode::Bridged, Reason::AtThreshold, Some(207)));
        check(
            Some(2_080),
            (Mode::Direct, Reason::BelowThreshold, Some(208)),
        );
        check(None, (Mode::Direct, Reason::BelowThreshold, Some(20_000)));
        check(
            Some(0),
            (Mode::Direct, Reason::BelowThreshold, Some(20_000)),
        );
        setting.config = config(ToolSearchMode::Auto, 0.0);
        setting.context_length = Some(1_000_000);
        assert_eq!(setting.assemble().decision.mode, Mode::Bridged);
    }

    #[test]
    fn on_and_off_ask_for_no_threshold() {
        for (enabled, mode, reason) in [
            (ToolSearchMode::On, Mode::Bridged, Reason::On),
            (ToolSearchMode::Off, Mode::Direct, Reason::Off),
        ] {
            let decision = Setting::new(enabled)
                .with_server("s", &["x"])
                .assemble()
                .decision;
            assert_eq!(
                (decision.mode, decision.reason, decision.threshold_tokens),
                (mode, reason, None)
            );
        }
    }

    #[test]
    fn nothing_to_defer_is_direct_even_when_on() {
        let mut setting = Setting::new(ToolSearchMode::On);
        setting.host = vec![Arc::new(Tool::host("now", None, None, false))];
        let assembly = setting.assemble();
        assert_eq!(
            (assembly.decision.mode, assembly.decision.reason),
            (Mode::Direct, Reason::NothingDeferrable)
        );
        assert_eq!(names(&assembly), ["now"]);
        assert_eq!(Setting::new(ToolSearchMode::Auto).assemble().tools, "[]");
    }

    #[test]
    fn a_session_keeps_its_mode() {
        let mut setting = Setting::new(ToolSearchMode::Auto).with_server("s", &["x"]);
        setting.context_length = Some(10);
        for (pinned, mode) in [(Mode::Direct, Mode::Direct), (Mode::Bridged, Mode::Bridged)] {
            setting.pinned = Some(pinned);
            let decision = setting.assemble().decision;
            assert_eq!((decision.mode, decision.reason), (mode, Reason::Pinned));
        }
        setting.catalog = Catalog::default();
        let decision = setting.assemble().decision;
        assert_eq!(
            (decision.mode, decision.reason),
            (Mode::Bridged, Reason::Pinned)
        );
        setting.config.enabled = ToolSearchMode::Off;
        assert_eq!(setting.assemble().decision.reason, Reason::Off);
    }

    #[test]
    fn a_turn_without_tools_pins_nothing() {
        let mut setting = Setting::new(ToolSearchMode::Auto);
        assert_eq!(setting.assemble().decision.to_pin(), None);
        setting = setting.with_server("s", &["x"]);
        assert_eq!(setting.assemble().decision.to_pin(), Some(Mode::Direct));
    }

    #[test]
    fn the_order_is_host_then_servers_then_bridge() {
        let mut setting = Setting::new(ToolSearchMode::Off)
            .with_server("b", &["y", "x"])
            .with_server("a", &["z"]);
        setting.host = vec![
            Arc::new(Tool::host("zoom", None, None, false)),
            Arc::new(Tool::host("ask", None, None, true)),
        ];
        assert_eq!(
            names(&setting.assemble()),
            ["zoom", "ask", "mcp_a_z", "mcp_b_x", "mcp_b_y"]
        );
        setting.config.enabled = ToolSearchMode::On;
        let assembly = setting.assemble();
        assert_eq!(
            names(&assembly),
            ["zoom", "tool_search", "tool_describe", "tool_call"]
        );
        assert_eq!(assembly.decision.deferrable_tools, 4);
    }

    #[test]
    fn numbers_add_up() {
        let tools: Vec<String> = (0..40)
            .map(|n| format!("tool_number_{n}_with_a_name_of_some_length"))
            .collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let mut setting = Setting::new(ToolSearchMode::Off).with_server("s", &tools);
        setting.host = vec![Arc::new(Tool::host("now", None, None, false))];
        let cost = |assembly: &Assembly| {
            let tools: Vec<Value> = serde_json::from_str(&assembly.tools).unwrap();
            let characters: usize = tools
                .iter()
                .map(|tool| tool.to_string().chars().count())
                .sum();
            characters.div_ceil(4) as u64
        };
        let direct = setting.assemble();
        setting.config.enabled = ToolSearchMode::On;
        let bridged = setting.assemble();
        assert_eq!(direct.decision.visible_tokens, cost(&direct));
        assert_eq!(bridged.decision.visible_tokens, cost(&bridged));
        assert_eq!(direct.decision.saved_tokens, 0);
        assert_eq!(
            bridged.decision.saved_tokens,
            cost(&direct) - cost(&bridged)
        );
        assert_eq!(
            bridged.decision.deferrable_tokens,
            direct.decision.deferrable_tokens
        );
    }

    #[test]
    fn the_same_request_gives_the_same_bytes() {
        for format in Format::ALL {
            let mut one = Setting::new(ToolSearchMode::Off)
                .with_server("b", &["y"])
                .with_server("a", &["z"]);
            let mut other = Setting::new(ToolSearchMode::Off)
                .with_server("a", &["z"])
                .with_server("b", &["y"]);
            (one.format, other.format) = (format, format);
            assert_eq!(one.assemble().tools, other.assemble().tools);
            assert_eq!(one.assemble().digest, other.assemble().digest);
            assert_ne!(
                one.assemble().digest,
                other.with_server("b", &["x"]).assemble().digest
            );
        }
    }

    #[test]
    fn the_bridge_does_not_change_with_the_tools_behind_it() {
        let few = Setting::new(ToolSearchMode::On).with_server("a", &["x"]);
        let many = Setting::new(ToolSearchMode::On)
            .with_server("a", &["x", "y"])
            .with_server("b", &["z"]);
        assert_eq!(few.assemble().tools, many.assemble().tools);
        assert_eq!(few.assemble().digest, many.assemble().digest);
    }

    #[test]
    fn the_hosts_tool_wins_and_a_warning_says_so() {
        let mut setting = Setting::new(ToolSearchMode::Off).with_server("a", &["x", "y"]);
        setting.host = vec![Arc::new(Tool::host(
            "mcp_a_x",
            Some("the host's"),
            None,
            false,
        ))];
        let assembly = setting.assemble();
        assert_eq!(names(&assembly), ["mcp_a_x", "mcp_a_y"]);
        assert!(assembly.tools.contains("the host's"));
        let kinds: Vec<_> = assembly
            .warnings
            .iter()
            .map(|warning| (warning.kind, warning.server.as_deref()))
            .collect();
        assert_eq!(kinds, [(WarningKind::HostToolWins, Some("a"))]);
    }

    #[test]
    fn the_bridge_tools_are_the_real_ones_while_bridged() {
        let mut setting = Setting::new(ToolSearchMode::On).with_server("a", &["x"]);
        setting.host = vec![
            Arc::new(Tool::host("tool_search", Some("the host's"), None, false)),
            Arc::new(Tool::host("now", None, None, false)),
        ];
        let assembly = setting.assemble();
        assert_eq!(
            names(&assembly),
            ["now", "tool_search", "tool_describe", "tool_call"]
        );
        assert!(!assembly.tools.contains("the host's"));
        assert_eq!(assembly.warnings[0].kind, WarningKind::BridgeName);
        setting.config.enabled = ToolSearchMode::Off;
        assert_eq!(
            names(&setting.assemble()),
            ["tool_search", "now", "mcp_a_x"]
        );
        assert_eq!(setting.assemble().warnings, []);
    }

    #[test]
    fn warns_of_many_tools_and_of_what_is_odd_in_scope() {
        let tools: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let mut setting = Setting::new(ToolSearchMode::Off)
            .with_server("a", &tools)
            .with_server("b", &["tool_call"]);
        let kinds = |setting: &Setting| {
            setting
                .assemble()
                .warnings
                .iter()
                .map(|warning| warning.kind)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(&setting),
            [WarningKind::ManyTools, WarningKind::LookAlike]
        );
        setting.scope = Scope::compile(Some(&["a".to_owned()]), None, None).unwrap();
        assert_eq!(kinds(&setting), [WarningKind::ManyTools]);
        setting.config.enabled = ToolSearchMode::On;
        assert_eq!(kinds(&setting), []);
    }

    #[test]
    fn every_tool_is_direct_or_can_be_searched() {
        for n in 0..64u32 {
            let on = |bit: u32| n & (1 << bit) != 0;
            let mut setting = Setting::new(if on(0) {
                ToolSearchMode::On
            } else {
                ToolSearchMode::Auto
            });
            setting.config.threshold_pct = if on(1) { 0.0 } else { 100.0 };
            setting.context_length = on(2).then_some(500);
            if on(3) {
                setting = setting.with_server("a", &["x", "y"]);
            }
            if on(4) {
                setting = setting.with_server("b", &["x", "z"]);
            }
            setting.host = vec![
                Arc::new(Tool::host("h", None, None, on(5))),
                Arc::new(Tool::host("mcp_a_x", None, None, on(1))),
            ];
            let assembly = setting.assemble();
            let direct = names(&assembly);
            let is_bridged = assembly.decision.mode == Mode::Bridged;
            let view = View {
                catalog: &setting.catalog,
                host: &setting.host.clone().into(),
                scope: &setting.scope,
                bridged: is_bridged,
            };
            for tool in view.tools() {
                let is_direct = direct.iter().any(|name| name == tool.exposed.as_str());
                let is_searchable = is_bridged && tool.deferrable;
                assert!(is_direct ^ is_searchable, "{n}: {}", tool.exposed);
                assert!(view.resolve_name(tool.exposed.as_str()).is_ok());
            }
        }
    }
}
