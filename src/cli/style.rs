//! The few colours of the command line, and what each is for.

use anstyle::{AnsiColor, Style};

pub const HEADING: Style = Style::new().bold();
/// The name of a tool or a server.
pub const NAME: Style = AnsiColor::Cyan.on_default();
/// What may be skipped in reading.
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const WARNING: Style = AnsiColor::Yellow.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();

pub fn paint(style: Style, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{style}{text}{style:#}")
}
