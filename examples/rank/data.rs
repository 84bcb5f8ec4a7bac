//! Reads the data sets of a retrieval folder: which tools there are, and what is asked for among them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolcrib::catalog::listing::{ListedTool, build};
use toolcrib::catalog::{Tool, Tools};
use toolcrib::names::ServerName;
use toolcrib::search::{Group, Index};

const TOOLS: &str = "tools.jsonl";
const QUERIES: &str = "queries.jsonl";

/// The tools of one data set, indexed, and the queries that are asked among them.
pub struct Dataset {
    pub index: Index,
    pub queries: Vec<Query>,
    ids: Ids,
}

#[derive(Deserialize)]
pub struct Query {
    pub id: String,
    pub query: String,
    /// Ids of tools; none where no tool serves.
    pub relevant: Vec<String>,
    pub kind: String,
}

/// The id of a tool in its data set, by its server and its name.
type Ids = HashMap<(Option<ServerName>, String), String>;

/// A tool as a server of the catalogs lists it, and as a row of a data set beside its id and server.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(default)]
    input_schema: Value,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    server: String,
    #[serde(flatten)]
    tool: Listed,
}

/// What a server of the catalogs has said.
#[derive(Deserialize)]
struct Recorded {
    server: String,
    tools: Vec<Listed>,
}

/// The names of all data sets of a folder, sorted.
pub fn names(retrieval: &Path) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(retrieval)
        .with_context(|| format!("cannot read the folder `{}`", retrieval.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().join(QUERIES).is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    anyhow::ensure!(
        !names.is_empty(),
        "no folder in `{}` has a `{QUERIES}`",
        retrieval.display()
    );
    names.sort();
    Ok(names)
}

impl Dataset {
    /// Reads a data set; one without tools of its own asks among those of the catalogs. Nothing can be said of one that
    /// has no tools at all, or no queries.
    pub fn read(retrieval: &Path, name: &str, catalogs: &Path) -> anyhow::Result<Dataset> {
        let folder = retrieval.join(name);
        let asked = folder.join(QUERIES);
        let queries: Vec<Query> = lines(&asked)?;
        anyhow::ensure!(!queries.is_empty(), "`{}` has no queries", asked.display());
        let tools = folder.join(TOOLS);
        let has_tools = tools.is_file();
        let (index, ids) = match has_tools {
            true => index_of_rows(lines(&tools)?)?,
            false => index_of_catalogs(catalogs)?,
        };
        let from = if has_tools { &tools } else { catalogs };
        anyhow::ensure!(
            index.tools().next().is_some(),
            "`{}` has no tools",
            from.display()
        );
        Ok(Dataset {
            index,
            queries,
            ids,
        })
    }

    /// The id of a tool of the index.
    pub fn id(&self, tool: &Tool) -> anyhow::Result<&str> {
        let key = (tool.server().cloned(), tool.original_name().to_owned());
        let id = self.ids.get(&key);
        let id = id.with_context(|| format!("`{}` has no id", tool.exposed))?;
        Ok(id)
    }
}

fn index_of_rows(rows: Vec<Row>) -> anyhow::Result<(Index, Ids)> {
    let mut ids = Ids::new();
    let mut host = Vec::new();
    let mut servers: BTreeMap<ServerName, Vec<ListedTool>> = BTreeMap::new();
    for Row { id, server, tool } in rows {
        let server = match server.as_str() {
            "" => None,
            name => Some(ServerName::new(name)?),
        };
        // A listing keeps the first of several tools of one name.
        let key = (server.clone(), tool.name.clone());
        ids.entry(key).or_insert(id);
        match server {
            Some(server) => servers.entry(server).or_default().push(tool.into()),
            None => host.push(
                Tool::host(
                    &tool.name,
                    tool.description.as_deref(),
                    Some(tool.input_schema),
                    true,
                )
                .into(),
            ),
        }
    }
    let mut index = Index::default();
    if !host.is_empty() {
        index = index.with(Group::Host, &Tools::from(host));
    }
    for (server, tools) in servers {
        index = with_server(&index, server, tools);
    }
    Ok((index, ids))
}

fn index_of_catalogs(catalogs: &Path) -> anyhow::Result<(Index, Ids)> {
    let entries = fs::read_dir(catalogs)
        .with_context(|| format!("cannot read the catalogs in `{}`", catalogs.display()))?;
    let mut ids = Ids::new();
    let mut index = Index::default();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let text = read(&path)?;
        let recorded: Recorded = serde_json::from_str(&text)
            .with_context(|| format!("`{}` is no catalog", path.display()))?;
        let server = ServerName::new(&recorded.server)?;
        for tool in &recorded.tools {
            let key = (Some(server.clone()), tool.name.clone());
            ids.insert(key, format!("{server}/{}", tool.name));
        }
        let tools = recorded.tools.into_iter().map(ListedTool::from).collect();
        index = with_server(&index, server, tools);
    }
    Ok((index, ids))
}

fn with_server(index: &Index, server: ServerName, listed: Vec<ListedTool>) -> Index {
    let listing = build(&server, listed, |_| true);
    let tools = Tools::from(listing.tools);
    index.with(Group::Server(server), &tools)
}

impl From<Listed> for ListedTool {
    fn from(listed: Listed) -> ListedTool {
        ListedTool {
            name: listed.name,
            title: listed.title,
            description: listed.description,
            input_schema: listed.input_schema,
            extra: listed.extra,
        }
    }
}

/// One value a line.
fn lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = read(path)?;
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line)
                .map_err(|error| anyhow!("{}:{}: {error}", path.display(), number + 1))
        })
        .collect()
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const QUERY: &str = r#"{"id": "1", "query": "a", "relevant": [], "kind": "phrase"}"#;
    const TOOL: &str = r#"{"id": "1", "server": "s", "name": "t"}"#;
    const CATALOG: &str = r#"{"server": "s", "tools": [{"name": "t"}]}"#;

    /// Reads a data set of these files, with or without a catalog; says what is wrong.
    fn wrong(queries: &str, tools: Option<&str>, catalog: Option<&str>) -> Option<String> {
        let folder = TempDir::new().unwrap();
        let (set, catalogs) = (folder.path().join("set"), folder.path().join("catalogs"));
        fs::create_dir(&set).unwrap();
        fs::create_dir(&catalogs).unwrap();
        fs::write(set.join(QUERIES), queries).unwrap();
        if let Some(tools) = tools {
            fs::write(set.join(TOOLS), tools).unwrap();
        }
        if let Some(catalog) = catalog {
            fs::write(catalogs.join("s.json"), catalog).unwrap();
        }
        let read = Dataset::read(folder.path(), "set", &catalogs);
        let error = read.err()?.to_string();
        Some(error.replace(&format!("{}/", folder.path().display()), ""))
    }

    #[test]
    fn an_empty_data_set_is_an_error() {
        assert_eq!(wrong(QUERY, Some(TOOL), None), None);
        assert_eq!(wrong(QUERY, None, Some(CATALOG)), None);
        let no_tools = |folder: &str| Some(format!("`{folder}` has no tools"));
        assert_eq!(
            wrong(QUERY, Some(""), Some(CATALOG)),
            no_tools("set/tools.jsonl")
        );
        assert_eq!(wrong(QUERY, None, None), no_tools("catalogs"));
        let empty = r#"{"server": "s", "tools": []}"#;
        assert_eq!(wrong(QUERY, None, Some(empty)), no_tools("catalogs"));
        let no_queries = Some("`set/queries.jsonl` has no queries".to_owned());
        assert_eq!(wrong("\n", Some(TOOL), None), no_queries);
    }
}
