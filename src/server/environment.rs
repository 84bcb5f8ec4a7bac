//! Decides which environment a server gets: a safe part of ours, and what its configuration says.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::config::StdioConfig;

/// Names and values, as the operating system keeps them.
pub type Environment = BTreeMap<OsString, OsString>;

/// What a program needs to find itself at home. Everything else may be a secret of somebody else.
const SAFE: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "SHELL", "TMPDIR", "TZ",
];

/// Without these a Windows program opens no socket and finds no folder of its own.
const SAFE_ON_WINDOWS: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

const SAFE_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The whole environment of a server: the safe part of `own`, the variables named in `env_from`, then its own `env`.
pub fn of_server(own: &Environment, config: &StdioConfig) -> Environment {
    let mut environment: Environment = own
        .iter()
        .filter(|(name, _)| is_safe(name, cfg!(windows)) || is_named(name, &config.env_from))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for (name, value) in &config.env {
        if cfg!(windows) {
            environment.retain(|known, _| !known.eq_ignore_ascii_case(name));
        }
        environment.insert(name.into(), value.into());
    }
    environment
}

/// A variable's value; on Windows the case of its name does not matter.
pub fn get<'a>(environment: &'a Environment, name: &str) -> Option<&'a OsStr> {
    if cfg!(windows) {
        let mut all = environment.iter();
        return all
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_os_str());
    }
    environment.get(OsStr::new(name)).map(OsString::as_os_str)
}

fn is_safe(name: &OsStr, on_windows: bool) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if on_windows {
        let upper = name.to_ascii_uppercase();
        return SAFE.contains(&upper.as_str())
            || SAFE_ON_WINDOWS.contains(&upper.as_str())
            || SAFE_PREFIXES.iter().any(|prefix| upper.starts_with(prefix));
    }
    SAFE.contains(&name) || SAFE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_named(name: &OsStr, names: &[String]) -> bool {
    names.iter().any(|named| name == OsStr::new(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn a_server_gets_the_safe_part_and_what_is_configured_and_nothing_else() {
        let own = environment(&[
            ("PATH", "/bin"),
            ("HOME", "/home/me"),
            ("LC_ALL", "C"),
            ("XDG_CACHE_HOME", "/c"),
            ("OPENAI_API_KEY", "secret"),
            ("GITHUB_TOKEN", "given"),
            ("LD_PRELOAD", "x.so"),
        ]);
        let config = StdioConfig {
            command: String::new(),
            args: vec![],
            env: [("X", "1"), ("HOME", "/elsewhere")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            env_from: vec!["GITHUB_TOKEN".to_owned(), "UNSET".to_owned()],
            cwd: None,
        };
        assert_eq!(
            of_server(&own, &config),
            environment(&[
                ("GITHUB_TOKEN", "given"),
                ("HOME", "/elsewhere"),
                ("LC_ALL", "C"),
                ("PATH", "/bin"),
                ("X", "1"),
                ("XDG_CACHE_HOME", "/c"),
            ])
        );
    }

    #[test]
    fn windows_programs_find_their_system_folders() {
        for name in ["SystemRoot", "Path", "PATHEXT", "ProgramFiles(x86)", "Temp"] {
            assert!(is_safe(OsStr::new(name), true), "{name}");
        }
        assert!(!is_safe(OsStr::new("AWS_SECRET_ACCESS_KEY"), true));
        assert!(!is_safe(OsStr::new("SYSTEMROOT"), false));
    }
}
