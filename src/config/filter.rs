//! Which of a server's tools are used: include and exclude globs, compiled once.

use std::fmt;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::config::ToolFilter;

/// Names by shell globs: `*`, `?`, `[a-z]`, `{a,b}`; upper and lower case differ.
#[derive(Clone)]
pub struct Globs {
    patterns: Vec<String>,
    compiled: GlobSet,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the glob `{pattern}` is not valid: {reason}")]
pub struct BadGlob {
    pub pattern: String,
    pub reason: String,
}

impl Globs {
    pub fn new(patterns: Vec<String>) -> Result<Globs, BadGlob> {
        let mut builder = GlobSetBuilder::new();
        for pattern in &patterns {
            builder.add(compile(pattern)?);
        }
        let compiled = builder.build().map_err(|error| BadGlob {
            pattern: patterns.join(", "),
            reason: error.kind().to_string(),
        })?;
        Ok(Globs { patterns, compiled })
    }

    /// Whether a name fits a glob, or is one to the letter.
    pub fn contains(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern == name) || self.compiled.is_match(name)
    }

    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// Compiles one glob; tool names are no paths, so `*` stands for `/` as well.
pub(super) fn compile(pattern: &str) -> Result<Glob, BadGlob> {
    GlobBuilder::new(pattern)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
        .map_err(|error| BadGlob {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })
}

impl ToolFilter {
    /// `None` includes all tools, an empty list none.
    pub fn new(include: Option<Vec<String>>, exclude: Vec<String>) -> Result<ToolFilter, BadGlob> {
        Ok(ToolFilter {
            include: include.map(Globs::new).transpose()?,
            exclude: Globs::new(exclude)?,
        })
    }

    /// Whether a tool is used, by the name that its server gave it; exclusion wins.
    pub fn admits(&self, original_name: &str) -> bool {
        let included = self
            .include
            .as_ref()
            .is_none_or(|include| include.contains(original_name));
        included && !self.exclude.contains(original_name)
    }
}

impl Default for Globs {
    fn default() -> Globs {
        Globs {
            patterns: Vec::new(),
            compiled: GlobSet::empty(),
        }
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Globs) -> bool {
        self.patterns == other.patterns
    }
}

impl fmt::Debug for Globs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.patterns.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(include: Option<&[&str]>, exclude: &[&str]) -> ToolFilter {
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        ToolFilter::new(include.map(owned), owned(exclude)).unwrap()
    }

    #[test]
    fn admits_everything_by_default() {
        assert!(ToolFilter::default().admits("anything"));
    }

    #[test]
    fn an_empty_include_admits_nothing() {
        assert!(!filter(Some(&[]), &[]).admits("anything"));
    }

    #[test]
    fn exclude_beats_include() {
        let filter = filter(Some(&["*"]), &["x"]);
        assert!(filter.admits("y") && !filter.admits("x"));
    }

    #[test]
    fn globs_are_those_of_a_shell() {
        let filter = filter(Some(&["get_*", "list_{a,b}", "[xy]?"]), &[]);
        for name in ["get_", "get_a/b.c", "list_a", "x1"] {
            assert!(filter.admits(name), "{name}");
        }
        for name in ["Get_a", "forget_a", "list_c", "z1", "x"] {
            assert!(!filter.admits(name), "{name}");
        }
    }

    #[test]
    fn a_name_with_special_characters_fits_itself() {
        assert!(filter(Some(&["do[it]"]), &[]).admits("do[it]"));
        assert!(filter(Some(&[".."]), &[]).admits(".."));
    }

    #[test]
    fn an_invalid_glob_is_named() {
        let error = ToolFilter::new(None, vec!["a[".into()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the glob `a[` is not valid: unclosed character class; missing ']'"
        );
    }
}
