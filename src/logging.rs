//! Keeps the log: all of it in a file, warnings and worse on standard error, secrets nowhere.

use std::io::{self, Write};
use std::path::PathBuf;

use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber, error, warn};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::logging::clean::Clean;
use crate::redact::Redactor;

mod clean;
mod file;

/// What the log is to be like.
#[derive(Debug, Clone)]
pub struct Options {
    /// A level such as `debug`, or directives such as `info,toolcrib::server=trace`.
    pub level: String,
    /// A file to append to, instead of one for each day and process in the default folder.
    pub file: Option<PathBuf>,
}

/// Writes what is left in the log's queue when dropped; to be kept to the end of `main`.
pub struct Logging {
    /// `None` where only standard error is written to.
    file: Option<(WorkerGuard, ErrorCounter)>,
}

/// Takes these secrets out of the log from now on, besides everything that looks like one.
pub fn hide(secrets: Redactor) {
    clean::hide(secrets);
}

/// Starts the log of the process, panics included.
///
/// A log file that cannot be written is a warning on standard error and nothing worse.
pub fn start(options: &Options) -> Result<Logging, InvalidLevel> {
    let folder = file::default_folder(|name| std::env::var_os(name));
    let (subscriber, logging) = subscriber(options, folder, io::stderr)?;
    if let Err(error) = tracing::subscriber::set_global_default(subscriber) {
        // Somebody embeds us and keeps a log already.
        warn!(%error, "the log is another's");
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let payload = panic.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("panic");
        error!(place, "{message}");
    }));
    Ok(logging)
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a log level: use `off`, `error`, `warn`, `info`, `debug`, `trace`, \
     or directives such as `info,toolcrib::server=trace`"
)]
pub struct InvalidLevel(String);

/// Reads a log level or directives; rmcp tells little but warnings to anyone who does not ask.
pub fn filter(level: &str) -> Result<EnvFilter, InvalidLevel> {
    let invalid = || InvalidLevel(level.to_owned());
    // A word alone would be taken for the name of a part of the program.
    let is_level = |word: &str| word.parse::<LevelFilter>().is_ok();
    if !level
        .split(',')
        .all(|word| word.contains('=') || is_level(word.trim()))
    {
        return Err(invalid());
    }
    EnvFilter::builder()
        .parse(format!("info,rmcp=warn,{level}"))
        .map_err(|_| invalid())
}

fn subscriber<Stderr: Write>(
    options: &Options,
    folder: Option<PathBuf>,
    stderr: impl Fn() -> Stderr + Send + Sync + 'static,
) -> Result<(impl Subscriber + Send + Sync, Logging), InvalidLevel> {
    let filter = filter(&options.level)?;
    let (file, logging) = match file::open(options.file.as_deref(), folder.as_deref()) {
        Ok(appender) => {
            // The queue's thread takes the secrets out, so that whoever logs need not wait for it.
            let (file, guard) = NonBlockingBuilder::default()
                .thread_name("log")
                .finish(Clean(appender));
            let counter = file.error_counter();
            let logging = Logging {
                file: Some((guard, counter)),
            };
            (Some(file), logging)
        }
        Err(error) => {
            // Nobody listens to the log yet; where standard error is closed, nobody ever will.
            let _ = writeln!(
                Clean(stderr()),
                "warning: {error}; only warnings are logged, here"
            );
            (None, Logging { file: None })
        }
    };
    let to_file = file.map(|file| fmt::layer().with_ansi(false).with_writer(file));
    let to_stderr = fmt::layer()
        .with_ansi(false)
        .event_format(ForPeople)
        .with_writer(move || Clean(stderr()))
        .with_filter(LevelFilter::WARN);
    let subscriber = tracing_subscriber::registry()
        .with(filter)
        .with(to_file)
        .with(to_stderr);
    Ok((subscriber, logging))
}

impl Drop for Logging {
    fn drop(&mut self) {
        let Some((_, counter)) = &self.file else {
            return;
        };
        let dropped = counter.dropped_lines();
        if dropped > 0 {
            warn!(dropped, "the log was too busy to keep every line");
        }
    }
}

/// Writes events as a command line tool does.
struct ForPeople;

impl<S, N> FormatEvent<S, N> for ForPeople
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        let level = *event.metadata().level();
        let severity = match level {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "note",
        };
        write!(writer, "{severity}: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::{Arc, Mutex};

    use expect_test::{Expect, expect};
    use tracing::{debug, info, trace};

    use super::*;

    /// Standard error, kept.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Kept {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    /// Logs to a folder and returns what its only file and standard error hold; times are taken out.
    fn logged(level: &str, log: impl FnOnce()) -> (String, String) {
        let folder = tempfile::tempdir().unwrap();
        let stderr = Kept::default();
        let options = Options {
            level: level.to_owned(),
            file: None,
        };
        run(&options, Some(folder.path().join("a/b")), &stderr, log);
        let files: Vec<_> = fs::read_dir(folder.path().join("a/b"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        let [file] = files.as_slice() else {
            panic!("expected one file, found {files:?}");
        };
        let end = format!(".{}.log", std::process::id());
        assert!(file.to_str().unwrap().ends_with(&end), "{file:?}");
        let text = fs::read_to_string(file).unwrap();
        let without_times = text
            .lines()
            .map(|line| format!("{}\n", line.split_once("Z ").unwrap().1))
            .collect();
        (without_times, stderr.text())
    }

    fn run(options: &Options, folder: Option<PathBuf>, stderr: &Kept, log: impl FnOnce()) {
        let stderr = stderr.clone();
        let (subscriber, logging) = subscriber(options, folder, move || stderr.clone()).unwrap();
        tracing::subscriber::with_default(subscriber, || {
            log();
            drop(logging);
        });
    }

    fn check(level: &str, log: impl FnOnce(), file: Expect, stderr: Expect) {
        let (in_file, on_stderr) = logged(level, log);
        file.assert_eq(&in_file);
        stderr.assert_eq(&on_stderr);
    }

    #[test]
    fn warnings_go_to_standard_error_too() {
        check(
            "info",
            || {
                error!(server = "github", "lost");
                warn!("slow");
                info!(attempt = 2, "retried");
                debug!("not shown");
            },
            expect![[r#"
                ERROR toolcrib::logging::tests: lost server="github"
                 WARN toolcrib::logging::tests: slow
                 INFO toolcrib::logging::tests: retried attempt=2
            "#]],
            expect![[r#"
                error: lost server="github"
                warning: slow
            "#]],
        );
    }

    #[test]
    fn the_level_can_be_set_for_each_part() {
        check(
            "error,toolcrib=trace",
            || {
                trace!("shown");
                warn!(target: "rmcp::service", "shown");
                info!(target: "rmcp::service", "not shown");
                warn!(target: "other", "not shown");
            },
            expect![[r#"
                TRACE toolcrib::logging::tests: shown
                 WARN rmcp::service: shown
            "#]],
            expect![[r#"
                warning: shown
            "#]],
        );
        check(
            "rmcp=debug",
            || {
                debug!(target: "rmcp::service", "shown");
                info!("shown");
                debug!("not shown");
            },
            expect![[r#"
                DEBUG rmcp::service: shown
                 INFO toolcrib::logging::tests: shown
            "#]],
            expect![""],
        );
        assert!(filter("loud").is_err());
        assert!(filter("toolcrib=loud").is_err());
    }

    #[test]
    fn secrets_and_control_characters_are_not_logged() {
        check(
            "info",
            || {
                error!(header = "Bearer abc123DEF", "sent ghp_abcdef123456");
                warn!("a\nb\x1b[31mc\u{202e}d\re\u{9b}");
            },
            expect![[r#"
                ERROR toolcrib::logging::tests: sent [redacted] header="Bearer [redacted]"
                 WARN toolcrib::logging::tests: a\nb\x1b[31mc\u{202e}d\re\u{9b}
            "#]],
            expect![[r#"
                error: sent [redacted] header="Bearer [redacted]"
                warning: a\nb\x1b[31mc\u{202e}d\re\u{9b}
            "#]],
        );
    }

    #[test]
    fn a_named_file_is_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/my.log");
        let options = Options {
            level: "info".to_owned(),
            file: Some(file.clone()),
        };
        for message in ["first", "second"] {
            run(&options, None, &Kept::default(), || info!("{message}"));
        }
        let text = fs::read_to_string(file).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(
            text.contains("first") && text.ends_with("second\n"),
            "{text}"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let stderr = Kept::default();
        let options = Options {
            level: "info".to_owned(),
            file: None,
        };
        run(&options, Some(file.join("log")), &stderr, || warn!("later"));
        let text = stderr.text();
        assert!(text.starts_with("warning: the folder `"), "{text}");
        assert!(text.ends_with("\nwarning: later\n"), "{text}");
        run(&options, None, &stderr, || {});
        assert!(
            stderr
                .text()
                .contains("neither `XDG_STATE_HOME` nor `HOME` is set")
        );
    }
}
