//! What it costs to index tools, to take in a change of one server, and to answer a query.

#[expect(dead_code, reason = "the catalog of all of them is for other benches")]
#[path = "../tests/it/catalogs.rs"]
mod catalogs;

use std::cell::LazyCell;
use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use toolcrib::catalog::Tools;
use toolcrib::catalog::listing::{ListedTool, build};
use toolcrib::names::ServerName;
use toolcrib::search::{Group, Index};

type Server = (ServerName, Vec<ListedTool>);
type Servers = Vec<Server>;
type Groups = Vec<(Group, Tools)>;

/// As models ask: the action and the object, the service where it is known, now and then a whole sentence.
const QUERIES: [&str; 6] = [
    "create issue",
    "list open pull requests of a repository",
    "send slack message to channel",
    "convert currency",
    "read the contents of a file, then search it for a pattern",
    "show me the errors in the logs of the last hour and restart the service",
];

/// Made-up servers, then some, many and all of the real ones, then all of them eight times under other names.
fn search(criterion: &mut Criterion) {
    measure(criterion, 500, || made_up(500));
    let Some(real) = catalogs::lists() else {
        return;
    };
    for most in [34, 527, usize::MAX] {
        let (servers, n_tools) = fitting(&real, most);
        measure(criterion, n_tools, || {
            servers.into_iter().cloned().collect()
        });
    }
    let n_tools = real.iter().map(|(_, tools)| tools.len()).sum::<usize>();
    measure(criterion, 8 * n_tools, || {
        (0..8).flat_map(|copy| copies(&real, copy)).collect()
    });
}

/// Nothing is made before it is measured: a filter may leave out most of it.
fn measure(criterion: &mut Criterion, n_tools: usize, servers: impl FnOnce() -> Servers) {
    let groups = LazyCell::new(|| groups(servers()));
    let full = LazyCell::new(|| index(&groups));
    let mut group = criterion.benchmark_group("search");
    group.sample_size(10);
    let size = |what: &str| BenchmarkId::new(what, n_tools);
    group.bench_function(size("build"), |bencher| {
        let groups = &*groups;
        bencher.iter_with_large_drop(|| index(groups));
    });
    group.bench_function(size("update one server"), |bencher| {
        let (name, tools) = groups
            .iter()
            .min_by_key(|(_, tools)| tools.len().abs_diff(40))
            .expect("there are servers");
        let full = &*full;
        bencher.iter_batched(
            || name.clone(),
            |name| full.with(name, tools),
            BatchSize::SmallInput,
        );
    });
    group.bench_function(size("query"), |bencher| {
        let full = &*full;
        let mut queries = QUERIES.iter().cycle();
        bencher.iter(|| {
            let query = queries.next().copied().unwrap_or_default();
            black_box(full.search(query, 5, |_| true))
        });
    });
    group.finish();
}

fn groups(servers: Servers) -> Groups {
    servers
        .into_iter()
        .map(|(server, tools)| {
            let listing = build(&server, tools, |_| true);
            (Group::Server(server), Tools::from(listing.tools))
        })
        .collect()
}

fn index(groups: &Groups) -> Index {
    let groups = groups.iter().cloned();
    groups.fold(Index::default(), |index, (group, tools)| {
        index.with(group, &tools)
    })
}

/// The first servers that have so many tools together, without those that would be too much, and how many they have.
fn fitting(servers: &[Server], most: usize) -> (Vec<&Server>, usize) {
    let mut n_tools = 0;
    let fitting = servers.iter().filter(|(_, tools)| {
        let fits = tools.len() <= most - n_tools;
        if fits {
            n_tools += tools.len();
        }
        fits
    });
    (fitting.collect(), n_tools)
}

fn copies(servers: &[Server], copy: usize) -> impl Iterator<Item = Server> {
    servers.iter().map(move |(server, tools)| {
        let server = ServerName::new(&format!("{server}-{copy}")).expect("it is not blank");
        (server, tools.clone())
    })
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
