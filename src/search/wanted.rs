//! Which tools does the user want for words of a query, by keywords or by an alias, and for how much of it?

use std::collections::BTreeMap;

use crate::search::alias::Aliased;
use crate::search::naming::Called;
use crate::search::query::Query;
use crate::search::score::{Doc, Shelf};
use crate::search::weights::Weights;
use crate::search::words::{self, Term};

/// An entry of `tools.tool_search.keywords`, read.
pub(super) struct Keywords {
    words: Vec<Term>,
    target: Called,
}

/// A tool that the user wants for a part of a query.
pub(super) struct Wanted {
    pub doc: Doc,
    /// How much of the query that is.
    pub share: f32,
}

/// Entries that have a word and a target.
pub(super) fn parse(keywords: &BTreeMap<String, Vec<String>>) -> Vec<Keywords> {
    let parse = |(target, texts): (&String, &Vec<String>)| {
        let words = texts.iter().flat_map(|text| words::of(text));
        let words: Vec<Term> = words.map(|(_, term)| term).collect();
        let target = Called::new(target)?;
        (!words.is_empty()).then_some(Keywords { words, target })
    };
    keywords.iter().filter_map(parse).collect()
}

/// Every tool once, with the largest part of the query for which it is wanted.
pub(super) fn find(
    keywords: &[Keywords],
    aliased: &[Aliased],
    query: &Query,
    shelf: &Shelf,
    weights: &Weights,
) -> Vec<Wanted> {
    let mut res: Vec<Wanted> = aliased
        .iter()
        .map(|it| Wanted {
            doc: it.doc,
            share: it.share,
        })
        .collect();
    for entry in keywords {
        let share = entry.share(query, weights);
        if share == 0.0 {
            continue;
        }
        for (segment, start) in shelf.iter() {
            let is_shown = |tool: &u16| entry.target.is_shown(&segment.tools[usize::from(*tool)]);
            let tools = segment.names.find(&entry.target).filter(is_shown);
            res.extend(tools.map(|tool| Wanted {
                doc: start + Doc::from(tool),
                share,
            }));
        }
    }
    res.sort_by(|a, b| a.doc.cmp(&b.doc).then(b.share.total_cmp(&a.share)));
    res.dedup_by_key(|it| it.doc);
    res
}

impl Keywords {
    /// Which share of the query they are, rare words counting more.
    fn share(&self, query: &Query, weights: &Weights) -> f32 {
        let (mut whole, mut had) = (0.0, 0.0);
        for asked in &query.asked {
            let worth = asked.worth_of_all(weights);
            whole += worth;
            if self.words.contains(&asked.term) {
                had += worth;
            }
        }
        if whole > 0.0 { had / whole } else { 0.0 }
    }
}
