//! Finds the program behind a `command`, or says what is wrong with it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::config::StdioConfig;
use crate::server::environment::{self, Environment};

/// Programs that people install for themselves, where a sidecar that was started from a desktop does not see their PATH.
const LAUNCHERS: &[&str] = &[
    "uv", "uvx", "npx", "node", "npm", "bunx", "bun", "deno", "pipx",
];

/// Where they lie then; `~` is the home folder.
const LAUNCHER_FOLDERS: &[&str] = &[
    "~/.local/bin",
    "/usr/local/bin",
    "~/.cargo/bin",
    "/opt/homebrew/bin",
];

/// A program that can be started as it is.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    pub cwd: Option<PathBuf>,
    /// With the program's own folder on its PATH, where it was found beside it: `npx` is a script that needs `node`.
    pub environment: Environment,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error("`cwd` does not exist: `{}`; create the folder or change the setting", .0.display())]
    CwdMissing(PathBuf),
    #[error("`cwd` is not a folder: `{}`", .0.display())]
    CwdNotADirectory(PathBuf),
    #[error("command `{command}` was not found{}; install it, or give its full path as `command`", looked(.looked_in))]
    NotFound {
        command: String,
        looked_in: Vec<PathBuf>,
    },
    #[error("command `{}` is not executable; set its execute permission, or name its interpreter as `command`", .0.display())]
    NotExecutable(PathBuf),
    #[error("`command` is empty")]
    Empty,
}

/// Resolves the command on the environment that the child will have.
pub fn find(config: &StdioConfig, environment: Environment) -> Result<Program, ProgramError> {
    let home = environment::get(&environment, "HOME")
        .or_else(|| environment::get(&environment, "USERPROFILE"))
        .map(PathBuf::from);
    let cwd = folder(config.cwd.as_deref(), home.as_deref())?;
    let command = config.command.trim();
    if command.is_empty() {
        return Err(ProgramError::Empty);
    }
    if command.contains('/') || (cfg!(windows) && command.contains('\\')) {
        let path = expand_home(Path::new(command), home.as_deref());
        let base = match &cwd {
            Some(cwd) => cwd.clone(),
            None => std::env::current_dir().unwrap_or_default(),
        };
        let path = base.join(path);
        return match with_extensions(&path, &environment)
            .into_iter()
            .find(|path| path.exists())
        {
            Some(path) if is_executable(&path) => Ok(Program {
                path,
                cwd,
                environment,
            }),
            Some(path) => Err(ProgramError::NotExecutable(path)),
            None => Err(ProgramError::NotFound {
                command: path.display().to_string(),
                looked_in: vec![],
            }),
        };
    }
    on_path(command, cwd, environment, home.as_deref())
}

fn on_path(
    command: &str,
    cwd: Option<PathBuf>,
    mut environment: Environment,
    home: Option<&Path>,
) -> Result<Program, ProgramError> {
    let listed: Vec<PathBuf> = environment::get(&environment, "PATH")
        .map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default();
    let further: Vec<PathBuf> = LAUNCHER_FOLDERS
        .iter()
        .filter(|_| LAUNCHERS.contains(&command))
        .map(|folder| expand_home(Path::new(folder), home))
        .filter(|folder| folder.is_absolute() && !listed.contains(folder))
        .collect();
    let mut not_executable = None;
    for (n, folder) in listed.iter().chain(&further).enumerate() {
        for path in with_extensions(&folder.join(command), &environment) {
            if is_executable(&path) {
                if n >= listed.len() {
                    let folders = [folder].into_iter().chain(&listed);
                    if let Ok(path) = std::env::join_paths(folders) {
                        environment.insert("PATH".into(), path);
                    }
                }
                let path = std::path::absolute(&path).unwrap_or(path);
                return Ok(Program {
                    path,
                    cwd,
                    environment,
                });
            }
            if path.is_file() {
                not_executable.get_or_insert(path);
            }
        }
    }
    match not_executable {
        Some(path) => Err(ProgramError::NotExecutable(path)),
        None => Err(ProgramError::NotFound {
            command: command.to_owned(),
            looked_in: listed.into_iter().chain(further).collect(),
        }),
    }
}

/// The folder to start in: as configured, else ours, but never the root folder, which nobody meant.
fn folder(cwd: Option<&Path>, home: Option<&Path>) -> Result<Option<PathBuf>, ProgramError> {
    let Some(cwd) = cwd else {
        let is_root = std::env::current_dir().is_ok_and(|cwd| cwd.parent().is_none());
        return Ok(home
            .filter(|home| is_root && home.is_dir())
            .map(Path::to_owned));
    };
    let cwd = expand_home(cwd, home);
    match std::fs::metadata(&cwd) {
        Err(_) => Err(ProgramError::CwdMissing(cwd)),
        Ok(found) if !found.is_dir() => Err(ProgramError::CwdNotADirectory(cwd)),
        Ok(_) => Ok(Some(std::path::absolute(&cwd).unwrap_or(cwd))),
    }
}

fn expand_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// The spellings under which a program may lie on disk: on Windows with each extension that is taken for a program.
fn with_extensions(path: &Path, environment: &Environment) -> Vec<PathBuf> {
    if !cfg!(windows) {
        return vec![path.to_owned()];
    }
    let extensions = environment::get(environment, "PATHEXT")
        .and_then(|value| value.to_str())
        .unwrap_or(".COM;.EXE;.BAT;.CMD");
    candidates(path, extensions)
}

fn candidates(path: &Path, extensions: &str) -> Vec<PathBuf> {
    let extensions = extensions
        .split(';')
        .filter(|extension| extension.len() > 1);
    let has_one = path.extension().is_some_and(|own| {
        let mut all = extensions.clone();
        all.any(|extension| own.eq_ignore_ascii_case(&extension[1..]))
    });
    if has_one {
        return vec![path.to_owned()];
    }
    extensions
        .map(|extension| {
            let mut name = OsString::from(path);
            name.push(extension);
            PathBuf::from(name)
        })
        .collect()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

fn looked(folders: &[PathBuf]) -> String {
    if folders.is_empty() {
        return String::new();
    }
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| format!("`{}`", folder.display()))
        .collect();
    format!(" (looked in {})", folders.join(", "))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn config(command: &str, cwd: Option<&Path>) -> StdioConfig {
        StdioConfig {
            command: command.to_owned(),
            args: vec![],
            env: [].into(),
            env_from: vec![],
            cwd: cwd.map(Path::to_owned),
        }
    }

    fn environment(path: &Path, home: &Path) -> Environment {
        [("PATH", path), ("HOME", home)]
            .map(|(name, value)| (name.into(), value.into()))
            .into()
    }

    fn program(path: &Path, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_command_is_looked_up_on_the_path_of_the_child() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        program(&bin.join("server"), 0o755);
        let found = find(&config("server", None), environment(&bin, dir.path())).unwrap();
        assert_eq!(found.path, bin.join("server"));
    }

    #[test]
    fn a_launcher_is_found_in_its_usual_places_and_finds_its_neighbours() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        let local = dir.path().join(".local/bin");
        program(&local.join("uvx"), 0o755);
        let found = find(&config("uvx", None), environment(&bin, dir.path())).unwrap();
        assert_eq!(found.path, local.join("uvx"));
        let path = format!("{}:{}", local.display(), bin.display());
        assert_eq!(
            environment::get(&found.environment, "PATH"),
            Some(path.as_ref())
        );
    }

    #[test]
    fn each_mistake_has_its_own_error() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        program(&bin.join("plain"), 0o644);
        let check = |command: &str, cwd: Option<&Path>| {
            find(&config(command, cwd), environment(&bin, dir.path())).unwrap_err()
        };
        assert_eq!(
            check("nowhere", None),
            ProgramError::NotFound {
                command: "nowhere".to_owned(),
                looked_in: vec![bin.clone()]
            }
        );
        assert_eq!(
            check("plain", None),
            ProgramError::NotExecutable(bin.join("plain"))
        );
        assert_eq!(
            check("./bin/plain", Some(dir.path())),
            ProgramError::NotExecutable(dir.path().join("./bin/plain"))
        );
        assert_eq!(
            check("plain", Some(&dir.path().join("none"))),
            ProgramError::CwdMissing(dir.path().join("none"))
        );
        assert_eq!(
            check("plain", Some(&bin.join("plain"))),
            ProgramError::CwdNotADirectory(bin.join("plain"))
        );
        assert_eq!(check(" ", None), ProgramError::Empty);
        assert!(check("npx", None).to_string().contains("/usr/local/bin"));
    }

    #[test]
    fn windows_programs_are_tried_with_their_extensions() {
        let paths = candidates(Path::new("tool"), ".EXE;.CMD");
        assert_eq!(paths, [Path::new("tool.EXE"), Path::new("tool.CMD")]);
        assert_eq!(
            candidates(Path::new("tool.cmd"), ".EXE;.CMD"),
            [Path::new("tool.cmd")]
        );
    }
}
