//! Takes out of the log what does not belong into it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

use crate::redact::{self, Redactor};

/// Secrets that are known from the configuration, for every log of the process.
static SECRETS: RwLock<Option<Redactor>> = RwLock::new(None);

/// Takes these secrets out of the log from now on, besides everything that looks like one.
pub(super) fn hide(secrets: Redactor) {
    *SECRETS.write().unwrap_or_else(PoisonError::into_inner) = Some(secrets);
}

/// Lets no secret and no control character through; each write is one event.
pub(super) struct Clean<Output>(pub(super) Output);

impl<Output: Write> Write for Clean<Output> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
        let text = match &*secrets {
            Some(secrets) => secrets.redact(&text),
            None => redact::redact(&text),
        };
        self.0.write_all(printable(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Escapes what could move a terminal's cursor, forge a line or turn the direction of reading.
fn printable(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let (line, end) = match text.strip_suffix('\n') {
        Some(line) => (line, "\n"),
        None => (text, ""),
    };
    if !line.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    for c in line.chars() {
        if is_harmful(c) {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean.push_str(end);
    Cow::Owned(clean)
}
