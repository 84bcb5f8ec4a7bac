//! What is wrong with a configuration, line by line.

use anstyle::Style;

use crate::api::types::{Problem, Severity};
use crate::cli::layout::{counted, one_line};
use crate::cli::style::{BAD, FAINT, GOOD, WARNING, paint};

/// `file` is what the person called it; problems without a place in it name their path in the configuration.
pub fn text(file: &str, problems: &[Problem]) -> String {
    let mut sorted: Vec<&Problem> = problems.iter().collect();
    sorted.sort_by_key(|problem| {
        let start = problem.range.map(|range| range.start);
        start.map_or((0, 0), |start| (start.line, start.character))
    });
    let mut text = String::new();
    for problem in sorted {
        let place = match problem.range {
            Some(range) => {
                let start = range.start;
                format!("{file}:{}:{}", start.line + 1, start.character + 1)
            }
            None => file.to_owned(),
        };
        let (word, style) = severity(problem.severity);
        let word = paint(style, &format!("{word}:"));
        let message = one_line(&problem.message);
        let path = match problem.path.as_str() {
            "" => String::new(),
            path => paint(FAINT, &format!(" ({})", one_line(path))),
        };
        text.push_str(&format!("{place}: {word} {message}{path}\n"));
    }
    text.push_str(&summary(file, problems));
    text
}

fn summary(file: &str, problems: &[Problem]) -> String {
    let counts = [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Hint, "hint"),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(severity, noun)| {
            let matching = problems
                .iter()
                .filter(|problem| problem.severity == severity);
            (matching.count() as u64, noun)
        })
        .filter(|(count, _)| *count > 0)
        .map(|(count, noun)| counted(count, noun))
        .collect();
    if counts.is_empty() {
        return format!("{file}: {}\n", paint(GOOD, "fine"));
    }
    format!("{}\n", counts.join(", "))
}

fn severity(severity: Severity) -> (&'static str, Style) {
    match severity {
        Severity::Error => ("error", BAD),
        Severity::Warning => ("warning", WARNING),
        Severity::Hint => ("hint", FAINT),
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use expect_test::{Expect, expect};

    use super::*;
    use crate::api::types::{Position, Range};

    fn problem(severity: Severity, message: &str, path: &str, line: Option<u32>) -> Problem {
        let range = line.map(|line| Range {
            start: Position { line, character: 4 },
            end: Position { line, character: 9 },
        });
        Problem {
            severity,
            message: message.into(),
            path: path.into(),
            range,
        }
    }

    fn check(problems: &[Problem], expected: Expect) {
        let text = text("toolcrib.yaml", problems);
        expected.assert_eq(&strip_str(&text).to_string());
    }

    #[test]
    fn stand_in_the_order_of_the_file_as_editors_read_them() {
        check(
            &[
                problem(Severity::Hint, "`x` is the default", "/b", Some(6)),
                problem(
                    Severity::Error,
                    "`command` is\nmissing",
                    "/mcp_servers/a",
                    Some(2),
                ),
                problem(Severity::Error, "not YAML", "", None),
            ],
            expect![[r#"
                toolcrib.yaml: error: not YAML
                toolcrib.yaml:3:5: error: `command` is missing (/mcp_servers/a)
                toolcrib.yaml:7:5: hint: `x` is the default (/b)
                2 errors, 1 hint
            "#]],
        );
    }

    #[test]
    fn a_configuration_without_any_is_fine() {
        check(
            &[],
            expect![[r#"
            toolcrib.yaml: fine
        "#]],
        );
    }
}
