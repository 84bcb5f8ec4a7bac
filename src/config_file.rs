//! Finds the configuration file and reads it, with the variables that it names.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{self, Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::config::document::MAX_BYTES;
use crate::config::{self, Parsed, Problem, Severity};

/// Names of configurations of other programs, or of ours, that may lie in a project.
///
/// They are never read unasked: whoever hands over a folder would decide which programs are started.
const IN_PROJECTS: [&str; 6] = [
    "toolcrib.yaml",
    "toolcrib.yml",
    "toolcrib.json",
    ".mcp.json",
    "mcp.json",
    ".cursor/mcp.json",
];

/// How long a file may be away while an editor puts a new one in its place.
const RENAME_PAUSE: Duration = Duration::from_millis(50);

/// Where the configuration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    File(PathBuf),
    /// Nowhere; the configuration is empty.
    Nowhere(Nowhere),
}

/// Where was looked for a configuration in vain. Shown, it says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nowhere {
    pub looked: Vec<PathBuf>,
    /// Files of the current folder that are only read when they are named.
    pub not_read: Vec<PathBuf>,
}

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("there is no `{}`", .path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is a folder, the path of a file is needed", .path.display())]
    Folder { path: PathBuf },
    #[error("`{}` is not a regular file", .path.display())]
    NotRegular { path: PathBuf },
    #[error("`{}` has more than {MAX_BYTES} bytes", .path.display())]
    TooLarge { path: PathBuf },
    #[error("`{}` is not UTF-8 text from byte {at} on, save it as UTF-8", .path.display())]
    NotUtf8 { path: PathBuf, at: usize },
    #[error("cannot read `{}`", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Finds the configuration: the file that is named, that `TOOLCRIB_CONFIG` names, else the first that is there of
/// `toolcrib/config.yaml` in the user's configuration folder and `~/.hermes/config.yaml`.
///
/// A file that is named need not be there; reading it will say so.
pub fn locate(named: Option<&Path>) -> Place {
    let place = locate_by(
        named,
        &|name| std::env::var_os(name).map(PathBuf::from),
        &|path| path.exists(),
    );
    match place {
        Place::File(path) => Place::File(path::absolute(&path).unwrap_or(path)),
        Place::Nowhere(nowhere) => Place::Nowhere(nowhere),
    }
}

fn locate_by(
    named: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<PathBuf>,
    exists: &dyn Fn(&Path) -> bool,
) -> Place {
    let set = |name: &str| variable(name).filter(|value| !value.as_os_str().is_empty());
    if let Some(path) = named.map(Path::to_owned).or_else(|| set("TOOLCRIB_CONFIG")) {
        return Place::File(path);
    }
    let home = set(HOME);
    let config_home = set("XDG_CONFIG_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| home.as_ref().map(|home| home.join(".config")));
    let ours = config_home.map(|folder| folder.join("toolcrib").join("config.yaml"));
    let of_hermes = home.map(|home| home.join(".hermes").join("config.yaml"));
    let looked: Vec<PathBuf> = ours.into_iter().chain(of_hermes).collect();
    if let Some(path) = looked.iter().find(|path| exists(path)) {
        return Place::File(path.clone());
    }
    let here = IN_PROJECTS.map(PathBuf::from);
    let not_read = here.into_iter().filter(|path| exists(path)).collect();
    Place::Nowhere(Nowhere { looked, not_read })
}

/// Reads a file and what it configures.
pub fn load(path: &Path) -> Result<Parsed, ReadError> {
    let text = read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(config::parse(&text, folder, lookup))
}

/// Reads the text of a file.
///
/// One that is missing is looked for once more a moment later: editors save by putting a new file in the old one's
/// place. May block that long.
pub fn read(path: &Path) -> Result<String, ReadError> {
    read_after(path, || thread::sleep(RENAME_PAUSE))
}

fn read_after(path: &Path, pause: impl FnOnce()) -> Result<String, ReadError> {
    match read_once(path) {
        Err(ReadError::Missing { .. }) => {
            pause();
            read_once(path)
        }
        result => result,
    }
}

fn read_once(path: &Path) -> Result<String, ReadError> {
    let unreadable = |source: io::Error| {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::NotFound => ReadError::Missing { path },
            _ => ReadError::Unreadable { path, source },
        }
    };
    // Looked at before it is opened: opening a pipe waits for its other end.
    let metadata = path.metadata().map_err(unreadable)?;
    let path_buf = || path.to_owned();
    if metadata.is_dir() {
        return Err(ReadError::Folder { path: path_buf() });
    }
    if !metadata.is_file() && path != Path::new("/dev/null") {
        return Err(ReadError::NotRegular { path: path_buf() });
    }
    let mut bytes = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    let file = File::open(path).map_err(unreadable)?;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_BYTES {
        return Err(ReadError::TooLarge { path: path_buf() });
    }
    String::from_utf8(bytes).map_err(|error| ReadError::NotUtf8 {
        path: path_buf(),
        at: error.utf8_error().valid_up_to(),
    })
}

/// The value of a variable, or of one of the names that stand for places: `userHome`, `workspaceFolder`,
/// `workspaceFolderBasename`, `pathSeparator` and `/`.
pub fn lookup(name: &str) -> Option<String> {
    let folder = || std::env::current_dir().ok();
    let path = match name {
        "userHome" => std::env::home_dir(),
        "workspaceFolder" => folder(),
        "workspaceFolderBasename" => folder().and_then(|path| path.file_name().map(PathBuf::from)),
        "pathSeparator" | "/" => Some(PathBuf::from(path::MAIN_SEPARATOR_STR)),
        _ => std::env::var_os(name).map(PathBuf::from),
    };
    path?.into_os_string().into_string().ok()
}

#[cfg(not(windows))]
const HOME: &str = "HOME";
#[cfg(windows)]
const HOME: &str = "USERPROFILE";

impl ReadError {
    /// The error as one of the problems of a configuration.
    pub fn problem(&self) -> Problem {
        let mut message = self.to_string();
        if let ReadError::Unreadable { source, .. } = self {
            message = format!("{message}: {source}");
        }
        Problem::new(Severity::Error, message, String::new(), None)
    }
}

impl Nowhere {
    /// That there is none as one of the problems of a configuration.
    pub fn problem(&self) -> Problem {
        Problem::new(Severity::Error, self.to_string(), String::new(), None)
    }
}

impl fmt::Display for Nowhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no configuration")?;
        let quoted = |path: &PathBuf| format!("`{}`", path.display());
        let looked: Vec<String> = self.looked.iter().map(quoted).collect();
        if !looked.is_empty() {
            write!(f, " at {}", looked.join(" or "))?;
        }
        match self.not_read.first() {
            Some(path) => write!(
                f,
                "; `{0}` in this folder is only read when it is named: `--config ./{0}`",
                path.display()
            ),
            None => f.write_str("; write one there or name one with `--config FILE`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use expect_test::expect;

    use super::*;

    /// Where is looked with these variables, in a world that has these files.
    fn located(named: Option<&str>, variables: &[(&str, &str)], files: &[&str]) -> String {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let exists = |path: &Path| files.iter().any(|file| Path::new(file) == path);
        match locate_by(named.map(Path::new), &variable, &exists) {
            Place::File(path) => path.display().to_string(),
            Place::Nowhere(nowhere) => nowhere.to_string(),
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_first_place_wins() {
        let all = [
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "/x"),
            ("TOOLCRIB_CONFIG", "t.yaml"),
        ];
        let files = [
            "/x/toolcrib/config.yaml",
            "/h/.hermes/config.yaml",
            "/h/.config/toolcrib/config.yaml",
        ];
        assert_eq!(located(Some("a.json"), &all, &files), "a.json");
        assert_eq!(located(None, &all, &files), "t.yaml");
        assert_eq!(located(None, &all[..2], &files), "/x/toolcrib/config.yaml");
        assert_eq!(
            located(None, &all[..1], &files),
            "/h/.config/toolcrib/config.yaml"
        );
        assert_eq!(
            located(None, &all[..1], &files[..2]),
            "/h/.hermes/config.yaml"
        );
        let relative = [
            ("HOME", "/h"),
            ("XDG_CONFIG_HOME", "x"),
            ("TOOLCRIB_CONFIG", ""),
        ];
        assert_eq!(
            located(None, &relative, &files),
            "/h/.config/toolcrib/config.yaml"
        );
    }

    #[test]
    #[cfg(unix)]
    fn nothing_found_says_where_was_looked() {
        expect!["no configuration at `/h/.config/toolcrib/config.yaml` or `/h/.hermes/config.yaml`; write one there or name one with `--config FILE`"]
            .assert_eq(&located(None, &[("HOME", "/h")], &[]));
        expect!["no configuration; write one there or name one with `--config FILE`"]
            .assert_eq(&located(None, &[], &[]));
    }

    #[test]
    #[cfg(unix)]
    fn a_file_of_the_current_folder_is_never_taken_by_itself() {
        expect!["no configuration at `/h/.config/toolcrib/config.yaml` or `/h/.hermes/config.yaml`; `.mcp.json` in this folder is only read when it is named: `--config ./.mcp.json`"]
            .assert_eq(&located(None, &[("HOME", "/h")], &["mcp.json", ".mcp.json"]));
    }

    #[test]
    fn relative_paths_start_from_the_files_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        fs::write(&path, "mcp_servers: {s: {command: c, cwd: sub}}").unwrap();
        let parsed = load(&path).unwrap();
        let config::TransportConfig::Stdio(stdio) = &parsed.config.servers["s"].transport else {
            panic!("not stdio");
        };
        assert_eq!(
            stdio.cwd.as_deref(),
            Some(folder.path().join("sub").as_path())
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let shown = |path: &Path| {
            let shown = read(path).unwrap_err().problem().message;
            shown.replace(&folder.path().display().to_string(), "DIR")
        };
        assert_eq!(
            shown(folder.path()),
            "`DIR` is a folder, the path of a file is needed"
        );
        assert_eq!(shown(&folder.path().join("none")), "there is no `DIR/none`");
        let large = folder.path().join("large");
        fs::write(&large, vec![b' '; MAX_BYTES + 1]).unwrap();
        assert_eq!(shown(&large), "`DIR/large` has more than 1048576 bytes");
        let latin = folder.path().join("latin");
        fs::write(&latin, b"a: \xe9\n").unwrap();
        assert_eq!(
            shown(&latin),
            "`DIR/latin` is not UTF-8 text from byte 3 on, save it as UTF-8"
        );
    }

    #[test]
    fn a_file_that_is_being_replaced_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.yaml");
        let text = read_after(&path, || fs::write(&path, "{}").unwrap());
        assert_eq!(text.unwrap(), "{}");
    }

    #[test]
    fn places_have_names() {
        assert_eq!(lookup("/"), Some(path::MAIN_SEPARATOR_STR.to_owned()));
        let folder = std::env::current_dir().unwrap();
        assert_eq!(lookup("workspaceFolder").as_deref(), folder.to_str());
        assert_eq!(
            lookup("workspaceFolderBasename").as_deref(),
            folder.file_name().and_then(|name| name.to_str())
        );
        assert!(lookup("PATH").is_some());
        assert_eq!(lookup("TOOLCRIB_SURELY_NOT_SET"), None);
    }
}
