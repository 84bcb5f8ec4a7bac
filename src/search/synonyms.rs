//! Which words stand for nearly the same thing.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::search::words::{self, Term};

static SYNONYMS: LazyLock<FxHashMap<Term, Vec<Term>>> =
    LazyLock::new(|| parse(include_str!("synonyms.txt")));

/// The near-synonyms of a word, in the order of the table.
pub(super) fn of(term: Term) -> &'static [Term] {
    SYNONYMS.get(&term).map_or(&[], Vec::as_slice)
}

fn parse(table: &str) -> FxHashMap<Term, Vec<Term>> {
    let mut res: FxHashMap<Term, Vec<Term>> = FxHashMap::default();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let class: Vec<Term> = words::of(line).into_iter().map(|(_, term)| term).collect();
        for term in &class {
            let others = res.entry(*term).or_default();
            for other in &class {
                if other != term && !others.contains(other) {
                    others.push(*other);
                }
            }
        }
    }
    res
}
