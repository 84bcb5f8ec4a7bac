//! Writes the schema documents and the clients' generated files from the one list of methods.

pub mod compatibility;

mod collect;
mod contract;

mod go;
mod identifiers;
mod openrpc;
mod prose;
mod python;
mod render;
mod schemas;
mod typescript;

use std::path::Path;
use std::{fs, io};

use crate::codegen::collect::CollectError;
use crate::codegen::contract::EnumValue;
use crate::config;

/// The methods, notifications and errors of the wire contract, as an OpenRPC document.
pub const OPENRPC: &str = include_str!("../schema/openrpc.json");

/// The JSON Schema of a configuration file.
pub const CONFIG_SCHEMA: &str = include_str!("../schema/config.schema.json");

/// The OpenRPC document as it was when this revision of the contract was fixed; never made again.
pub const BASELINE: &str = include_str!("../schema/v1.baseline.json");

/// Why the files could not be made.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    #[error(transparent)]
    Collect(#[from] CollectError),
    #[error("template: {0:#}")]
    Template(#[from] minijinja::Error),
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("`{path}`: {error}")]
    File {
        path: &'static str,
        error: io::Error,
    },
}

/// A file that is made and never written by hand.
#[derive(Debug)]
pub struct GeneratedFile {
    /// From the root of the repository, with slashes.
    pub path: &'static str,
    pub content: String,
}

/// Makes all files, in memory.
pub fn generate() -> Result<Vec<GeneratedFile>, GenerateError> {
    let contract = collect::collect()?;
    let file = |path, content| GeneratedFile { path, content };
    Ok(vec![
        file("schema/openrpc.json", openrpc::document()?),
        file(
            "schema/config.schema.json",
            serde_json::to_string_pretty(&config::json_schema())? + "\n",
        ),
        file(
            "clients/python/src/toolcrib/types.py",
            python::types(&contract)?,
        ),
        file(
            "clients/python/src/toolcrib/_methods.py",
            python::methods(&contract)?,
        ),
        file(
            "clients/typescript/src/types.ts",
            typescript::types(&contract)?,
        ),
        file(
            "clients/typescript/src/methods.ts",
            typescript::methods(&contract)?,
        ),
        file("clients/go/types.go", go::types(&contract)?),
        file("clients/go/methods.go", go::methods(&contract)?),
    ])
}

/// The paths of the files under `root` that are not what would be made now.
pub fn check(root: &Path) -> Result<Vec<&'static str>, GenerateError> {
    let mut stale = Vec::new();
    for file in generate()? {
        match fs::read(root.join(file.path)) {
            Ok(content) if content == file.content.as_bytes() => {}
            Ok(_) => stale.push(file.path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => stale.push(file.path),
            Err(error) => {
                return Err(GenerateError::File {
                    path: file.path,
                    error,
                });
            }
        }
    }
    Ok(stale)
}

/// Writes the files that are not up to date under `root` and returns their paths.
pub fn write(root: &Path) -> Result<Vec<&'static str>, GenerateError> {
    let stale = check(root)?;
    for GeneratedFile { path, content } in generate()? {
        if !stale.contains(&path) {
            continue;
        }
        let target = root.join(path);
        let folder = target.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&target, content))
            .map_err(|error| GenerateError::File { path, error })?;
    }
    Ok(stale)
}

/// The clients' runtimes say these, their users never do.
fn is_lifecycle(method: &str) -> bool {
    matches!(method, "initialize" | "shutdown")
}

/// The documentation of a list of words with that of the words.
fn with_values(doc: &str, values: &[EnumValue]) -> String {
    let documented: Vec<String> = values
        .iter()
        .filter(|it| !it.doc.is_empty())
        .map(|it| format!("- `{}`: {}", it.value, it.doc.replace('\n', " ")))
        .collect();
    match documented.is_empty() {
        true => doc.to_string(),
        false => format!("{doc}\n\n{}", documented.join("\n"))
            .trim()
            .to_string(),
    }
}
