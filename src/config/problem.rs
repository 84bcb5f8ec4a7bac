//! Shows a problem to a person: `config.yaml:12:5: error: unknown key …`.

use std::fmt;

use crate::config::{Problem, Range, Severity};

impl Problem {
    pub fn new(
        severity: Severity,
        message: impl Into<String>,
        path: String,
        range: Option<Range>,
    ) -> Problem {
        Problem {
            severity,
            message: message.into(),
            path,
            range,
        }
    }

    /// The problem with the name of its file, in the form that editors and compilers share.
    pub fn in_file<'a>(&'a self, file: &'a str) -> impl fmt::Display + 'a {
        InFile {
            problem: self,
            file: Some(file),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = InFile {
            problem: self,
            file: None,
        };
        shown.fmt(f)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Hint => "hint",
        })
    }
}

struct InFile<'a> {
    problem: &'a Problem,
    file: Option<&'a str>,
}

impl fmt::Display for InFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = self.file {
            write!(f, "{file}:")?;
        }
        if let Some(range) = self.problem.range {
            let start = range.start;
            write!(f, "{}:{}:", start.line + 1, start.character + 1)?;
        }
        if self.file.is_some() || self.problem.range.is_some() {
            f.write_str(" ")?;
        }
        write!(f, "{}: {}", self.problem.severity, self.problem.message)?;
        if !self.problem.path.is_empty() {
            write!(f, " ({})", self.problem.path)?;
        }
        Ok(())
    }
}
