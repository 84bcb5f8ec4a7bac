//! How many bytes the index holds over the tools of real servers, the tools themselves left out.

#[expect(dead_code, reason = "the catalog of all of them is for other benches")]
#[path = "../tests/it/catalogs.rs"]
mod catalogs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib::catalog::Tools;
use toolcrib::catalog::listing::build;
use toolcrib::search::{Group, Index};

/// The system's allocator, with a count of the bytes that are held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    let Some(lists) = catalogs::lists() else {
        return;
    };
    let groups: Vec<(Group, Tools)> = lists
        .into_iter()
        .map(|(server, tools)| {
            let listing = build(&server, tools, |_| true);
            (Group::Server(server), Tools::from(listing.tools))
        })
        .collect();
    // What all indexes share is made by the first.
    drop(Index::default().search("warm up", 1, |_| true));
    let before = HELD.load(Ordering::Relaxed);
    let index = groups
        .iter()
        .cloned()
        .fold(Index::default(), |index, (group, tools)| {
            index.with(group, &tools)
        });
    let after = HELD.load(Ordering::Relaxed);
    println!(
        "the index over {} tools holds {:.2} MB",
        index.tools().count(),
        (after - before) as f64 / 1e6
    );
}
