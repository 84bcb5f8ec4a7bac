//! Takes out of the log what does not belong into it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

use crate::redact::{self, Redactor};
use crate::text;

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
        let event = String::from_utf8_lossy(bytes);
        let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
        let event = match &*secrets {
            Some(secrets) => secrets.redact(&event),
            None => redact::redact(&event),
        };
        self.0.write_all(printable(&event).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// One event is one line, whatever is in it.
fn printable(event: &str) -> Cow<'_, str> {
    let Some(line) = event.strip_suffix('\n') else {
        return text::escape(event, &[]);
    };
    match text::escape(line, &[]) {
        Cow::Borrowed(_) => Cow::Borrowed(event),
        Cow::Owned(line) => Cow::Owned(line + "\n"),
    }
}
