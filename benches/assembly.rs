//! What it costs to take a server's tools in and to assemble the array, on what real servers list.

#[path = "../tests/it/catalogs.rs"]
mod catalogs;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use toolcrib::assembly::{Request, assemble};
use toolcrib::catalog::host::HostTools;
use toolcrib::catalog::listing::build;
use toolcrib::catalog::scope::Scope;
use toolcrib::catalog::view::View;
use toolcrib::config::{ToolSearchConfig, ToolSearchMode};
use toolcrib::schema::Format;

fn assembly(criterion: &mut Criterion) {
    let Some(lists) = catalogs::lists() else {
        return;
    };
    let (server, tools) = lists
        .iter()
        .find(|(_, tools)| tools.len() == 40)
        .unwrap_or(&lists[0])
        .clone();
    let listing = build(&server, tools.clone(), |_| true);
    let catalog = catalogs::joined(lists);
    criterion.bench_function("build the listing of one server", |bencher| {
        bencher.iter_batched(
            || tools.clone(),
            |tools| build(&server, tools, |_| true),
            criterion::BatchSize::SmallInput,
        );
    });
    criterion.bench_function("replace one server of all", |bencher| {
        bencher.iter_batched(
            || listing.clone(),
            |listing| catalog.with_server(&server, listing),
            criterion::BatchSize::SmallInput,
        );
    });
    for enabled in [ToolSearchMode::Off, ToolSearchMode::On] {
        let config = ToolSearchConfig {
            enabled,
            ..ToolSearchConfig::default()
        };
        let scope = Scope::default();
        let view = View {
            catalog: &catalog,
            host: &HostTools::default(),
            scope: &scope,
            bridged: false,
        };
        let (format, context_length, pinned) = (Format::Openai, None, None);
        let request = Request {
            view,
            config: &config,
            format,
            context_length,
            pinned,
        };
        criterion.bench_function(
            &format!("assemble all tools, tool search {enabled:?}"),
            |bencher| {
                bencher.iter(|| black_box(assemble(&request)));
            },
        );
    }
    let scope = Scope::default();
    let view = View {
        catalog: &catalog,
        host: &HostTools::default(),
        scope: &scope,
        bridged: true,
    };
    criterion.bench_function("suggest names for an unknown one", |bencher| {
        bencher.iter(|| black_box(view.resolve_name("github_make_new_issue").is_err()));
    });
}

criterion_group!(benches, assembly);
criterion_main!(benches);
