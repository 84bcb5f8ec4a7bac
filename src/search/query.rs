//! What a query asks for: its words, what each is worth, and which other words may stand for them.

use rustc_hash::FxHashMap;

use crate::search::layer::Statistics;
use crate::search::lexicon::Likeness;
use crate::search::synonyms;
use crate::search::weights::Weights;
use crate::search::words::{self, Term};

/// A word of a query.
pub(super) struct Asked {
    pub text: String,
    pub term: Term,
    /// How rare the word is, or the rarest of those that stand for it; 0 where no tool has any.
    pub idf: f32,
    /// Whether some tool has the word itself.
    pub known: bool,
    /// Other words that count a part of this one, and which part.
    pub near: Vec<(Term, f32)>,
}

/// The distinct words of a query, in order; without stop words unless there is nothing else.
pub(super) fn parse(query: &str, statistics: &Statistics, weights: &Weights) -> Vec<Asked> {
    let mut distinct: Vec<(String, Term)> = Vec::new();
    words::each(query, |word, term| {
        if distinct.iter().all(|(_, known)| *known != term) {
            distinct.push((word.to_owned(), term));
        }
    });
    let is_stop = |term: &Term| synonyms::is_stop_word(*term);
    if distinct.iter().any(|(_, term)| !is_stop(term)) {
        distinct.retain(|(_, term)| !is_stop(term));
    }
    distinct
        .into_iter()
        .map(|(text, term)| Asked::new(text, term, statistics, weights))
        .collect()
}

impl Asked {
    fn new(text: String, term: Term, statistics: &Statistics, weights: &Weights) -> Asked {
        let known = statistics.n_tools(term) > 0;
        let mut near: Vec<(Term, f32)> = synonyms::of(term)
            .iter()
            .filter(|other| statistics.n_tools(**other) > 0)
            .map(|other| (*other, weights.synonym))
            .collect();
        if !known {
            let mut like: FxHashMap<Term, f32> = near.iter().copied().collect();
            statistics.like(&text, |likeness, other| {
                let part = match likeness {
                    Likeness::Beginning => weights.prefix,
                    Likeness::OneLetter => weights.typo,
                };
                let best = like.entry(other).or_insert(0.0);
                *best = best.max(part);
            });
            near = like.into_iter().collect();
            near.sort_unstable_by_key(|(other, _)| *other);
        }
        let idf = match known {
            true => statistics.idf(term),
            false => near
                .iter()
                .map(|(other, _)| statistics.idf(*other))
                .fold(0.0, f32::max),
        };
        Asked {
            text,
            term,
            idf,
            known,
            near,
        }
    }
}
