//! Reads single values: texts, words, numbers, times, paths, addresses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::Severity;
use crate::config::document::node::Content;
use crate::config::document::spot::Spot;
use crate::config::kind::{Kind, Words};
use crate::config::read::{Reader, Reading};

impl Reader<'_> {
    /// A text with its variables put in.
    pub(super) fn text(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<String> {
        let Content::Text(text) = &spot.node.content else {
            self.must_be(spot, kind);
            return None;
        };
        let text = self.expand(spot, text)?;
        self.without_nul(spot, text)
    }

    pub(super) fn without_nul(&mut self, spot: &Spot<'_>, text: String) -> Option<String> {
        if text.contains('\0') {
            self.at_value(spot, Severity::Error, "must not hold a NUL character");
            return None;
        }
        Some(text)
    }

    pub(super) fn program(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<Reading> {
        let text = self.text(spot, kind)?;
        if text.trim().is_empty() {
            self.must_be(spot, kind);
            return None;
        }
        if text.trim().contains(char::is_whitespace) && !text.contains(['/', '\\']) {
            let message =
                "the whole text is taken for the name of a program, arguments belong in `args`";
            self.at_value(spot, Severity::Warning, message);
        }
        let program = match text.strip_prefix("~/").zip((self.lookup)("userHome")) {
            Some((rest, home)) => Path::new(&home).join(rest).to_string_lossy().into_owned(),
            None => text,
        };
        Some(Reading::Text(program))
    }

    pub(super) fn path(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<PathBuf> {
        let text = self.text(spot, kind)?;
        if text.trim().is_empty() {
            self.must_be(spot, kind);
            return None;
        }
        Some(self.whole_path(&text))
    }

    pub(super) fn path_or(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        words: Words,
    ) -> Option<Reading> {
        if let Content::Text(text) = &spot.node.content {
            let text = self.expand(spot, text)?;
            if find_word(&text, words).is_none() && !text.trim().is_empty() {
                let text = self.without_nul(spot, text)?;
                return Some(Reading::Path(self.whole_path(&text)));
            }
        }
        self.word(spot, kind, words, None).map(Reading::Word)
    }

    /// `~` is the user's home, and a relative path starts from the configuration's folder.
    fn whole_path(&self, text: &str) -> PathBuf {
        let home = || (self.lookup)("userHome").map(PathBuf::from);
        let path = match text.strip_prefix('~') {
            Some("") => home(),
            Some(rest) if rest.starts_with(['/', '\\']) => {
                home().map(|home| home.join(rest.trim_start_matches(['/', '\\'])))
            }
            _ => None,
        };
        self.base.join(path.unwrap_or_else(|| PathBuf::from(text)))
    }

    pub(super) fn url(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<Reading> {
        let text = self.text(spot, kind)?;
        let url = text.trim();
        let lower = url.to_ascii_lowercase();
        let rest = lower
            .strip_prefix("http://")
            .or_else(|| lower.strip_prefix("https://"));
        let has_host = rest.is_some_and(|rest| {
            rest.starts_with(|c: char| !matches!(c, '/' | '?' | '#' | ':'))
                && !url.contains(|c: char| c.is_whitespace() || c.is_control())
        });
        // What is not known of a server that is switched off cannot be checked.
        let unknown = self.unset != Severity::Error && url.contains("${");
        if !has_host && !unknown {
            self.must_be(spot, kind);
            return None;
        }
        Some(Reading::Text(url.to_owned()))
    }

    pub(super) fn number(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        least: f64,
        most: f64,
    ) -> Option<Reading> {
        let number = self.plain_number(spot, kind)?;
        Some(Reading::Number(self.within(spot, number, least, most)))
    }

    pub(super) fn count(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        least: usize,
        most: usize,
    ) -> Option<Reading> {
        let number = self.plain_number(spot, kind)?;
        if number.fract() != 0.0 {
            let message = format!("must be a whole number, {} is used", number.trunc());
            self.at_value(spot, Severity::Warning, message);
        }
        let count = self.within(spot, number.trunc(), least as f64, most as f64);
        Some(Reading::Count(count as usize))
    }

    pub(super) fn duration(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        least: f64,
        most: f64,
    ) -> Option<Reading> {
        let seconds = self.seconds(spot, kind)?;
        if seconds <= 0.0 {
            self.must_be(spot, kind);
            return None;
        }
        let in_seconds = matches!(spot.node.content, Content::Number(..));
        if in_seconds && seconds >= 10_000.0 && seconds.is_finite() {
            let message =
                format!("{seconds} seconds, write `{seconds}ms` if milliseconds are meant");
            self.at_value(spot, Severity::Hint, message);
        }
        let seconds = self.within(spot, seconds, least, most);
        Some(Reading::Duration(Duration::from_secs_f64(seconds)))
    }

    pub(super) fn interval(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        least: f64,
        most: f64,
    ) -> Option<Reading> {
        const OFF: Words = &[
            ("false", "false"),
            ("off", "false"),
            ("no", "false"),
            ("never", "false"),
        ];
        if let Some(text) = spot.node.content.scalar_text()
            && find_word(text, OFF).is_some()
        {
            return Some(Reading::Never);
        }
        let seconds = self.seconds(spot, kind)?;
        if seconds == 0.0 {
            return Some(Reading::Never);
        }
        if seconds < 0.0 {
            self.must_be(spot, kind);
            return None;
        }
        let seconds = self.within(spot, seconds, least, most);
        Some(Reading::Duration(Duration::from_secs_f64(seconds)))
    }

    /// One of some words, by its meaning.
    pub(super) fn word(
        &mut self,
        spot: &Spot<'_>,
        kind: &Kind,
        words: Words,
        otherwise: Option<&'static str>,
    ) -> Option<&'static str> {
        let text = match &spot.node.content {
            Content::Text(text) => Some(self.expand(spot, text)?),
            content => content.scalar_text().map(str::to_owned),
        };
        let found = text.as_deref().and_then(|text| find_word(text, words));
        match (found, otherwise) {
            (Some(word), _) => Some(word),
            (None, Some(word)) => {
                let message = format!("must be {}, `{word}` is used", kind.expected());
                self.at_value(spot, Severity::Warning, message);
                Some(word)
            }
            (None, None) => {
                self.must_be(spot, kind);
                None
            }
        }
    }

    /// A finite number, or a text that is one.
    fn plain_number(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<f64> {
        let number = match &spot.node.content {
            Content::Number(number, _) => Some(*number),
            Content::Text(text) => decimal(&self.expand(spot, text)?),
            _ => None,
        };
        match number {
            Some(number) if !number.is_nan() => Some(number),
            _ => {
                self.must_be(spot, kind);
                None
            }
        }
    }

    /// A number of seconds, or a text with a unit.
    fn seconds(&mut self, spot: &Spot<'_>, kind: &Kind) -> Option<f64> {
        let Content::Text(text) = &spot.node.content else {
            return self.plain_number(spot, kind);
        };
        let text = self.expand(spot, text)?;
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match &text[digits.len()..] {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => 0.0,
        };
        match decimal(digits) {
            Some(number) if factor > 0.0 => Some(number * factor),
            _ => {
                self.must_be(spot, kind);
                None
            }
        }
    }

    /// Moves a number to the nearest bound.
    fn within(&mut self, spot: &Spot<'_>, number: f64, least: f64, most: f64) -> f64 {
        let clamped = number.clamp(least, most);
        if clamped != number {
            let message = format!("must be from {least} to {most}, {clamped} is used");
            self.at_value(spot, Severity::Warning, message);
        }
        clamped
    }
}

/// The meaning of a word; capitals and outer blanks do not matter.
fn find_word(text: &str, words: Words) -> Option<&'static str> {
    let text = text.trim();
    let (_, meaning) = words
        .iter()
        .find(|(spelling, _)| spelling.eq_ignore_ascii_case(text))?;
    Some(meaning)
}

/// A number in digits; `10_000` is one, as YAML 1.1 had it, `inf` and `1e5` are not.
fn decimal(text: &str) -> Option<f64> {
    let text = text.trim().replace('_', "");
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    if !text.chars().all(numeric) {
        return None;
    }
    text.parse().ok()
}
