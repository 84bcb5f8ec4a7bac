//! Where the answers of the command line go: text for people or JSON for programs, on standard output.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use serde::Serialize;

use crate::cli::arguments::{ColorWhen, OutputFormat};

/// Colour is written by whoever makes a text, and taken out here where it is not wanted.
pub struct Output {
    pub format: OutputFormat,
    /// Columns of the terminal; `None` where nobody looks at one.
    pub width: Option<usize>,
}

impl Output {
    pub fn new(format: OutputFormat, color: ColorWhen) -> Output {
        let choice = match color {
            ColorWhen::Auto => ColorChoice::Auto,
            ColorWhen::Always => ColorChoice::Always,
            ColorWhen::Never => ColorChoice::Never,
        };
        choice.write_global();
        Output {
            format,
            width: terminal_width(),
        }
    }

    /// One line of JSON, or what `text` makes for people.
    pub fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> io::Result<()> {
        match self.format {
            OutputFormat::Text => self.text(&text()),
            OutputFormat::Json => self.json(value),
        }
    }

    pub fn json<T: Serialize>(&self, value: &T) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        let mut stdout = io::stdout().lock();
        stdout.write_all(&line)?;
        stdout.flush()
    }

    pub fn text(&self, text: &str) -> io::Result<()> {
        let mut stdout = AutoStream::auto(io::stdout().lock());
        stdout.write_all(text.as_bytes())?;
        if !text.ends_with('\n') && !text.is_empty() {
            stdout.write_all(b"\n")?;
        }
        stdout.flush()
    }
}

/// For people at a terminal only; there is no better place for an error of writing it.
pub fn complain(text: &str) {
    let mut stderr = AutoStream::auto(io::stderr().lock());
    // Whoever closed standard error does not want to know.
    let _ = writeln!(stderr, "{}", text.trim_end());
}

fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    if !stdout.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(stdout).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
