//! Guards the shape of the house: imports run one way, the core stays pure, third-party protocols stay in their rooms.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms of `src/`, from the ground up. A module may use its own row and the rows above it in this list.
const ROWS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "names", "text", "redact", "config", "tokens", "schema", "search", "catalog", "policy",
            "bridge", "assembly", "call", "output",
        ],
    ),
    (
        "shell",
        &["config_file", "logging", "encoder", "server", "hub"],
    ),
    ("surface", &["rpc", "api"]),
    ("fronts", &["lsp", "demo", "codegen", "cli"]),
];

/// What the core may not name: whatever waits, starts, reads or looks at the clock.
const BANNED_IN_CORE: &[&str] = &[
    "tokio",
    "rmcp",
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "std::io",
    "Instant::now",
    "SystemTime",
    "Mutex",
    "RwLock",
    "println!",
    "tracing",
];

/// Third-party crates that may be named in these rooms only.
const AT_HOME: &[(&str, &[&str])] = &[
    ("rmcp", &["server"]),
    ("tower_lsp", &["lsp"]),
    ("jsonrpsee", &["rpc", "api"]),
    ("saphyr_parser", &["config"]),
    ("serde_yaml", &["cli"]),
    ("jsonschema", &["schema", "config"]),
    ("minijinja", &["codegen"]),
    ("clap", &["cli"]),
    ("anstream", &["cli"]),
    ("rust_stemmers", &["search"]),
    ("tracing_appender", &["logging"]),
    (
        "rustix",
        &[
            "server",
            "rpc",
            "logging",
            "config_file",
            "encoder",
            "cli",
            "demo",
        ],
    ),
];

struct Source {
    path: PathBuf,
    /// The top-level module that the file belongs to.
    room: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                let inside = path.strip_prefix(&root).unwrap();
                let first = inside
                    .components()
                    .next()
                    .unwrap()
                    .as_os_str()
                    .to_string_lossy();
                let room = first.trim_end_matches(".rs").to_owned();
                let text = fs::read_to_string(&path).unwrap();
                found.push(Source {
                    path: inside.to_owned(),
                    room,
                    text,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The lines that are code: without comments, and without what comes after `#[cfg(test)]`.
fn code_lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(number, line)| (number + 1, line))
}

fn row_of(room: &str) -> Option<usize> {
    ROWS.iter().position(|(_, rooms)| rooms.contains(&room))
}

#[test]
fn every_module_has_a_room() {
    let strays: Vec<_> = sources()
        .into_iter()
        .filter(|it| !matches!(it.room.as_str(), "lib" | "main") && row_of(&it.room).is_none())
        .map(|it| it.path)
        .collect();
    assert!(
        strays.is_empty(),
        "no room is named in tests/it/house.rs for {strays:?}"
    );
}

#[test]
fn imports_run_one_way() {
    let mut wrong = Vec::new();
    for source in sources() {
        let Some(own) = row_of(&source.room) else {
            continue;
        };
        for (number, line) in code_lines(&source) {
            for used in line.split("crate::").skip(1) {
                let room: String = used
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let Some(theirs) = row_of(&room) else {
                    continue;
                };
                if theirs > own {
                    wrong.push(format!(
                        "{}:{number} uses {room} ({} from {})",
                        source.path.display(),
                        ROWS[theirs].0,
                        ROWS[own].0
                    ));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "imports run from front to core only:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_core_takes_values_and_returns_values() {
    let mut wrong = Vec::new();
    for source in sources()
        .into_iter()
        .filter(|it| row_of(&it.room) == Some(0))
    {
        for (number, line) in code_lines(&source) {
            for word in BANNED_IN_CORE.iter().filter(|word| line.contains(**word)) {
                wrong.push(format!("{}:{number} names {word}", source.path.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "the core waits for nothing and looks at nothing:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn third_party_crates_stay_in_their_rooms() {
    let homes: BTreeMap<_, _> = AT_HOME.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources().into_iter().filter(|it| it.room != "main") {
        for (number, line) in code_lines(&source) {
            for (name, rooms) in &homes {
                if line.contains(&format!("{name}::")) && !rooms.contains(&source.room.as_str()) {
                    wrong.push(format!(
                        "{}:{number} names {name}, whose room is {rooms:?}",
                        source.path.display()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|it| !it.text.starts_with("//!"))
        .map(|it| it.path)
        .collect();
    assert!(
        silent.is_empty(),
        "the first line of a file is a `//!` that says which question it answers: {silent:?}"
    );
}
