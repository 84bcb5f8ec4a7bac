//! The list of all tools, and how a model would see them.

use std::collections::BTreeSet;
use std::sync::Arc;

use anstyle::Style;

use crate::api::types::{Decision, Mode, Reason};
use crate::catalog::Tool;
use crate::cli::layout::{Cell, Table, counted, first_sentence, grouped};
use crate::cli::style::{FAINT, NAME, paint};

pub fn text(tools: &[Arc<Tool>], decision: &Decision, columns: Option<usize>) -> String {
    let mut table = Table::new(&["NAME", "SERVER", "TOKENS#", "DESCRIPTION"]);
    for tool in tools {
        table.row([
            Cell::styled(NAME, tool.exposed.as_str()),
            tool.server()
                .map_or("(host)", |server| server.as_str())
                .into(),
            grouped(tool.tokens as u64).into(),
            Cell::styled(Style::new(), first_sentence(&tool.description)),
        ]);
    }
    let servers: BTreeSet<_> = tools.iter().filter_map(|tool| tool.server()).collect();
    let tokens: usize = tools.iter().map(|tool| tool.tokens).sum();
    let totals = format!(
        "{} of {}, {} tokens",
        counted(tools.len() as u64, "tool"),
        counted(servers.len() as u64, "server"),
        grouped(tokens as u64),
    );
    let list = match tools.is_empty() {
        true => String::new(),
        false => table.text("", columns) + "\n",
    };
    format!("{list}{totals}\n{}\n", paint(FAINT, &decided(decision)))
}

/// One sentence about why a model sees the tools as it does.
pub fn decided(decision: &Decision) -> String {
    let model = match decision.context_length {
        Some(tokens) => format!("a model with {} tokens of context", grouped(tokens)),
        None => "a model whose context is not known".to_owned(),
    };
    let seen = match decision.mode {
        Mode::Direct => "sees them directly",
        Mode::Bridged => "sees three bridge tools instead",
    };
    let threshold = decision.threshold_tokens.map(grouped).unwrap_or_default();
    let why = match decision.reason {
        Reason::Off => "tool search is switched off".to_owned(),
        Reason::On => "tool search is switched on".to_owned(),
        Reason::NothingDeferrable => "there is nothing to leave out".to_owned(),
        Reason::BelowThreshold => format!(
            "{} tokens are below the threshold of {threshold}",
            grouped(decision.deferrable_tokens)
        ),
        Reason::AtThreshold => format!(
            "{} tokens reach the threshold of {threshold}",
            grouped(decision.deferrable_tokens)
        ),
        Reason::Pinned => "the session keeps its first decision".to_owned(),
    };
    format!("{model} {seen}: {why}")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::{Expect, expect};
    use serde_json::{Map, json};

    use super::*;
    use crate::catalog::Origin;
    use crate::names::{ExposedName, ServerName, ToolId};

    fn tool(server: &str, name: &str, description: &str, tokens: usize) -> Arc<Tool> {
        let id = ToolId::new(&ServerName::new(server).unwrap(), name);
        Arc::new(Tool {
            exposed: ExposedName::of(&id),
            origin: Origin::Mcp(id),
            title: None,
            description: description.into(),
            input_schema: json!({"type": "object"}),
            extra: Map::new(),
            deferrable: true,
            tokens,
            memo: Default::default(),
        })
    }

    fn decision(context_length: Option<u64>, mode: Mode, reason: Reason) -> Decision {
        Decision {
            mode,
            reason,
            deferrable_tools: 2,
            deferrable_tokens: 1_550,
            visible_tokens: 1_550,
            threshold_tokens: context_length.map(|tokens| tokens / 10),
            context_length,
            saved_tokens: 0,
        }
    }

    fn check(tools: &[Arc<Tool>], decision: &Decision, columns: Option<usize>, expected: Expect) {
        expected.assert_eq(&strip_str(&text(tools, decision, columns)).to_string());
    }

    #[test]
    fn lists_what_each_tool_costs_and_what_a_model_would_see() {
        let tools = [
            tool(
                "github",
                "create_issue",
                "Opens a new issue\nin a repository.",
                1_430,
            ),
            tool("slack", "post", "", 120),
        ];
        check(
            &tools,
            &decision(Some(200_000), Mode::Direct, Reason::BelowThreshold),
            Some(64),
            expect![[r#"
                NAME                     SERVER  TOKENS  DESCRIPTION
                mcp_github_create_issue  github   1,430  Opens a new issue in a…
                mcp_slack_post           slack      120

                2 tools of 2 servers, 1,550 tokens
                a model with 200,000 tokens of context sees them directly: 1,550 tokens are below the threshold of 20,000
            "#]],
        );
        check(
            &tools,
            &decision(None, Mode::Bridged, Reason::On),
            None,
            expect![[r#"
                NAME                     SERVER  TOKENS  DESCRIPTION
                mcp_github_create_issue  github   1,430  Opens a new issue in a repository.
                mcp_slack_post           slack      120

                2 tools of 2 servers, 1,550 tokens
                a model whose context is not known sees three bridge tools instead: tool search is switched on
            "#]],
        );
    }

    #[test]
    fn an_empty_catalog_is_said_in_words() {
        check(
            &[],
            &decision(Some(8_000), Mode::Direct, Reason::NothingDeferrable),
            Some(80),
            expect![[r#"
                0 tools of 0 servers, 0 tokens
                a model with 8,000 tokens of context sees them directly: there is nothing to leave out
            "#]],
        );
    }
}
