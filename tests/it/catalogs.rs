//! What real servers list, where their lists lie beside this repository.

use std::path::PathBuf;

use serde_json::Value;
use toolcrib::catalog::Catalog;
use toolcrib::catalog::listing::{ListedTool, build};
use toolcrib::names::ServerName;

/// `None`, and a word on standard error, where they do not.
pub fn lists() -> Option<Vec<(ServerName, Vec<ListedTool>)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/catalogs");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: there are no lists of real servers in ../shared/catalogs");
        return None;
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    let mut lists = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
    {
        let name = file.file_stem().unwrap().to_string_lossy();
        let value: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let tools = value["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(listed)
            .collect();
        lists.push((ServerName::new(&name).unwrap(), tools));
    }
    Some(lists)
}

fn listed(tool: &Value) -> ListedTool {
    let mut members = tool.as_object().unwrap().clone();
    let mut text = |key| {
        members
            .shift_remove(key)
            .and_then(|value| value.as_str().map(str::to_owned))
    };
    let (name, title, description) = (text("name").unwrap(), text("title"), text("description"));
    let input_schema = members.shift_remove("inputSchema").unwrap_or_default();
    ListedTool {
        name,
        title,
        description,
        input_schema,
        extra: members,
    }
}

pub fn joined(lists: Vec<(ServerName, Vec<ListedTool>)>) -> Catalog {
    lists
        .into_iter()
        .fold(Catalog::default(), |catalog, (server, tools)| {
            let listing = build(&server, tools, |_| true);
            catalog.with_server(&server, listing)
        })
}
