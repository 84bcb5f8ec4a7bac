//! Finds the file that the log is written to, and removes old ones.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tracing_appender::rolling::{InitError, RollingFileAppender, Rotation};

/// How many days of logs are kept.
const DAYS_KEPT: usize = 7;

/// What log files of the default folder begin and end with; between them stand the day and the process.
const NAME: &str = "toolcrib";
const SUFFIX: &str = "log";

/// Why there is no log file.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error("there is no folder for the log: neither `XDG_STATE_HOME` nor `HOME` is set")]
    NoFolder,
    #[error("the folder `{}` for the log cannot be made: {error}", folder.display())]
    Folder { folder: PathBuf, error: io::Error },
    #[error("the log cannot be opened in `{}`: {error}", folder.display())]
    File { folder: PathBuf, error: InitError },
}

/// Opens the file given, or one of this day and process in the folder.
pub(super) fn open(
    file: Option<&Path>,
    folder: Option<&Path>,
) -> Result<RollingFileAppender, OpenError> {
    match file {
        Some(file) => open_named(file),
        None => open_of_today(folder.ok_or(OpenError::NoFolder)?),
    }
}

/// The folder for logs that the XDG Base Directory specification asks for.
pub(super) fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join(NAME))
}

fn open_named(file: &Path) -> Result<RollingFileAppender, OpenError> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    make_folder(folder)?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    RollingFileAppender::builder()
        .rotation(Rotation::NEVER)
        .filename_prefix(name)
        .build(folder)
        .map_err(|error| OpenError::File {
            folder: folder.to_owned(),
            error,
        })
}

fn open_of_today(folder: &Path) -> Result<RollingFileAppender, OpenError> {
    make_folder(folder)?;
    let days = u32::try_from(DAYS_KEPT).unwrap_or(u32::MAX);
    if let Some(oldest) = SystemTime::now().checked_sub(Duration::from_secs(24 * 60 * 60) * days) {
        remove_older(folder, oldest);
    }
    // The process stands in the name because every host starts a sidecar of its own.
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(NAME)
        .filename_suffix(format!("{}.{SUFFIX}", std::process::id()))
        .max_log_files(DAYS_KEPT)
        .build(folder)
        .map_err(|error| OpenError::File {
            folder: folder.to_owned(),
            error,
        })
}

fn make_folder(folder: &Path) -> Result<(), OpenError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| OpenError::Folder {
            folder: folder.to_owned(),
            error,
        })
}

/// Removes the logs of other processes, which the appender does not know.
fn remove_older(folder: &Path, oldest: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_log = name.to_str().is_some_and(|name| {
            name.starts_with(&format!("{NAME}.")) && name.ends_with(&format!(".{SUFFIX}"))
        });
        let is_old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|modified| modified < oldest);
        if is_log && is_old {
            // Another sidecar may have removed it meanwhile.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_logs_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let old = ["toolcrib.2020-01-01.7.log", "toolcrib.yaml", "other.log"];
        for name in old {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_older(folder.path(), SystemTime::now() + Duration::from_secs(60));
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["other.log", "toolcrib.yaml"]);
    }

    #[test]
    fn the_default_folder_follows_xdg() {
        let folder = |state: &str, home: &str| {
            let path = default_folder(|name| match name {
                "XDG_STATE_HOME" => Some(state.into()),
                "HOME" => Some(home.into()),
                _ => None,
            })?;
            Some(path.display().to_string())
        };
        assert_eq!(
            folder("/state", "/home").as_deref(),
            Some("/state/toolcrib")
        );
        assert_eq!(
            folder("relative", "/home").as_deref(),
            Some("/home/.local/state/toolcrib")
        );
        assert_eq!(folder("", ""), None);
    }
}
