//! Whether every tool is first by each of its names.

use toolcrib::catalog::Tool;
use toolcrib::search::Index;

/// More tools than have one name.
const DEPTH: usize = 500;

/// The queries that are a tool's name and do not have it first, each with what came instead; and how many were asked.
pub fn missed(index: &Index) -> (Vec<String>, usize) {
    let mut missed = Vec::new();
    let mut n_queries = 0;
    for tool in index.tools() {
        for query in names(tool) {
            n_queries += 1;
            let hits = index.search(&query, DEPTH, |_| true).hits;
            let best = hits.first().map_or(0.0, |hit| hit.score);
            // Tools of one name tie, and none of them is before the others.
            let mut first = hits.iter().take_while(|hit| hit.score == best);
            if !first.any(|hit| hit.tool.exposed == tool.exposed) {
                let instead = hits
                    .first()
                    .map_or("nothing", |hit| hit.tool.exposed.as_str());
                missed.push(format!("`{query}` finds {instead}"));
            }
        }
    }
    (missed, n_queries)
}

/// The ways to write a tool's name, with and without its server.
fn names(tool: &Tool) -> Vec<String> {
    let name = tool.original_name();
    let spaced = name.replace(['_', '-', '/', '.'], " ");
    let mut res = vec![
        tool.exposed.to_string(),
        name.to_owned(),
        name.to_uppercase(),
        spaced.clone(),
    ];
    if let Some(server) = tool.server() {
        res.push(format!("{server} {name}"));
        res.push(format!("{server}_{name}"));
        res.push(format!("{server} {spaced}"));
    }
    res
}
