//! What it costs to index tools, to take in a change of one server, and to answer a query.

#[expect(dead_code, reason = "the catalog of all of them is for other benches")]
#[path = "../tests/it/catalogs.rs"]
mod catalogs;

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use toolcrib::catalog::Tools;
use toolcrib::catalog::listing::{ListedTool, build};
use toolcrib::names::ServerName;
use toolcrib::search::{Group, Index};

type Servers = Vec<(ServerName, Vec<ListedTool>)>;

/// As models ask: the action and the object, the service where it is known, now and then a whole sentence.
const QUERIES: [&str; 6] = [
    "create issue",
    "list open pull requests of a repository",
    "send slack message to channel",
    "convert currency",
    "read the contents of a file, then search it for a pattern",
    "show me the errors in the logs of the last hour and restart the service",
];

fn search(criterion: &mut Criterion) {
    for servers in sizes() {
        let groups: Vec<(Group, Tools)> = servers
            .into_iter()
            .map(|(server, tools)| {
                let listing = build(&server, tools, |_| true);
                (Group::Server(server), Tools::from(listing.tools))
            })
            .collect();
        let n_tools: usize = groups.iter().map(|(_, tools)| tools.len()).sum();
        let mut group = criterion.benchmark_group("search");
        group.sample_size(10);
        let size = |what: &str| BenchmarkId::new(what, n_tools);
        group.bench_function(size("build"), |bencher| {
            bencher.iter_with_large_drop(|| index(&groups));
        });
        let index = index(&groups);
        let changed = groups
            .iter()
            .min_by_key(|(_, tools)| tools.len().abs_diff(40));
        if let Some((name, tools)) = changed {
            group.bench_function(size("update one server"), |bencher| {
                bencher.iter_batched(
                    || name.clone(),
                    |name| index.with(name, tools, None),
                    BatchSize::SmallInput,
                );
            });
        }
        group.bench_function(size("query"), |bencher| {
            let mut queries = QUERIES.iter().cycle();
            bencher.iter(|| {
                let query = queries.next().copied().unwrap_or_default();
                black_box(index.search(query, 5, |_| true))
            });
        });
        group.finish();
    }
}

fn index(groups: &[(Group, Tools)]) -> Index {
    let groups = groups.iter().cloned();
    groups.fold(Index::default(), |index, (group, tools)| {
        index.with(group, &tools, None)
    })
}

/// Made-up servers, then some, many and all of the real ones, then all of them eight times under other names.
fn sizes() -> Vec<Servers> {
    let mut res = vec![made_up(500)];
    let Some(real) = catalogs::lists() else {
        return res;
    };
    for most in [34, 527] {
        let mut left: usize = most;
        let few = real.iter().filter(|(_, tools)| {
            let fits = tools.len() <= left;
            if fits {
                left -= tools.len();
            }
            fits
        });
        res.push(few.cloned().collect());
    }
    let copies = (0..8).flat_map(|copy| {
        real.iter().map(move |(server, tools)| {
            let server = ServerName::new(&format!("{server}-{copy}")).expect("it is not blank");
            (server, tools.clone())
        })
    });
    res.extend([real.clone(), copies.collect()]);
    res
}

fn made_up(n_tools: usize) -> Servers {
    const ACTIONS: [&str; 8] = [
        "create", "list", "get", "update", "delete", "search", "export", "share",
    ];
    const OBJECTS: [&str; 9] = [
        "issue",
        "invoice",
        "contact",
        "branch",
        "message",
        "calendar event",
        "file",
        "order",
        "report",
    ];
    let tool = |number: usize| {
        let (action, object) = (
            ACTIONS[number % ACTIONS.len()],
            OBJECTS[number % OBJECTS.len()],
        );
        ListedTool {
            name: format!("{action}_{}_{number}", object.replace(' ', "_")),
            description: Some(format!(
                "{action} one or more of the {object}s that the account can see, number {number}"
            )),
            input_schema: json!({"type": "object", "properties": {"id": {"type": "string", "description": format!("which {object}")}}}),
            ..ListedTool::default()
        }
    };
    let numbers: Vec<usize> = (0..n_tools).collect();
    numbers
        .chunks(40)
        .enumerate()
        .map(|(server, numbers)| {
            let server = ServerName::new(&format!("server-{server}")).expect("it is not blank");
            (server, numbers.iter().map(|number| tool(*number)).collect())
        })
        .collect()
}

criterion_group!(benches, search);
criterion_main!(benches);
