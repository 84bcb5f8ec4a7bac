//! Shows a problem of a configuration as editors do.

use tower_lsp::lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};

use crate::config::{self, Problem, Severity};

pub(super) fn diagnostic(problem: &Problem) -> Diagnostic {
    let severity = match problem.severity {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
        Severity::Hint => DiagnosticSeverity::HINT,
    };
    Diagnostic {
        // A problem without a place, such as an empty file, is shown at the top.
        range: problem.range.map(range).unwrap_or_default(),
        severity: Some(severity),
        source: Some(env!("CARGO_PKG_NAME").to_owned()),
        message: problem.message.clone(),
        ..Diagnostic::default()
    }
}

fn range(range: config::Range) -> Range {
    Range::new(position(range.start), position(range.end))
}

fn position(position: config::Position) -> Position {
    Position::new(position.line, position.character)
}
