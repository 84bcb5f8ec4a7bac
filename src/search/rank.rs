//! In which order tools answer a query.

use rustc_hash::FxHashMap;

use crate::catalog::Tool;
use crate::search::layer::Statistics;
use crate::search::naming::{Called, Naming};
use crate::search::query::Query;
use crate::search::score::{Doc, Scores, Shelf};
use crate::search::segment::NameWord;
use crate::search::vectors::{Embedding, Vectors};
use crate::search::weights::Weights;
use crate::search::words::Term;

/// A tool that was compared, and what came out.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub doc: Doc,
    pub score: f32,
    /// Before name and server were looked at.
    pub mixed: f32,
    /// Which share of the name is asked for, and which share of the best server's strength the tool's has.
    pub name: f32,
    pub server: f32,
}

/// The tools that the query is the name of, closest first.
pub(super) fn named(shelf: &Shelf, query: &str) -> Vec<(Naming, Doc)> {
    let Some(called) = Called::new(query) else {
        return Vec::new();
    };
    let mut res = Vec::new();
    for (segment, start) in shelf.iter() {
        for tool in segment.names.find(&called) {
            if let Some(naming) = called.naming(&segment.tools[usize::from(tool)]) {
                res.push((naming, start + Doc::from(tool)));
            }
        }
    }
    res.sort_unstable();
    res
}

/// The best `n` tools or more, best first, and the scores that they were found by.
pub(super) fn ranked(
    shelf: &Shelf,
    query: &Query,
    mut scores: Scores,
    statistics: &Statistics,
    weights: &Weights,
    n: usize,
    admit: &impl Fn(&Tool) -> bool,
) -> (Vec<Ranked>, Scores) {
    let n = n.max(weights.pool);
    let mut pool = best(&scores.mixed(query, weights), n);
    // Most sessions admit everything, so that all tools are asked about only once some of the best is refused.
    if pool.iter().any(|(_, doc)| !admit(shelf.tool(*doc))) {
        let segments = shelf.segments.iter();
        let tools = segments.flat_map(|segment| &segment.tools);
        let admitted: Vec<bool> = tools.map(|tool| admit(tool)).collect();
        scores.keep(&admitted);
        pool = best(&scores.mixed(query, weights), n);
    }
    let coverage = scores.blend(weights).name_coverage;
    let raised = raise(&pool, shelf, query, statistics, weights, coverage);
    (raised, scores)
}

/// The best `n` of those that have a score, best first.
fn best(scores: &[f32], n: usize) -> Vec<(f32, Doc)> {
    let best = scores.iter().copied().fold(0.0, f32::max);
    if best <= 0.0 {
        return Vec::new();
    }
    // Counting by steps of a thousandth finds out from where on scores are among the best without sorting them all.
    const STEPS: usize = 1024;
    let scale = STEPS as f32 / best;
    let step = |score: f32| (score * scale) as usize;
    let mut counts = [0u32; STEPS + 1];
    for score in scores {
        counts[step(*score).min(STEPS)] += 1;
    }
    let mut from = STEPS;
    let mut found = counts[STEPS] as usize;
    while found < n && from > 0 {
        from -= 1;
        found += counts[from] as usize;
    }
    let mut res: Vec<(f32, Doc)> = scores
        .iter()
        .zip(0..)
        .filter(|(score, _)| **score > 0.0 && step(**score) >= from)
        .map(|(score, doc)| (*score, doc))
        .collect();
    res.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    res.truncate(n);
    res
}

/// Raises tools whose names the query covers, then tools of servers that have several good ones.
fn raise(
    pool: &[(f32, Doc)],
    shelf: &Shelf,
    query: &Query,
    statistics: &Statistics,
    weights: &Weights,
    coverage: f32,
) -> Vec<Ranked> {
    let mut names = Coverage::new(query, statistics, weights);
    let mut res: Vec<Ranked> = pool
        .iter()
        .map(|(mixed, doc)| {
            let (segment, tool) = shelf.place(*doc);
            let name = names.of(shelf.segments[segment].name(tool));
            Ranked {
                doc: *doc,
                score: mixed * (1.0 + coverage * name),
                mixed: *mixed,
                name,
                server: 0.0,
            }
        })
        .collect();
    let order = |a: &Ranked, b: &Ranked| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc));
    res.sort_unstable_by(order);

    let mut servers: FxHashMap<usize, (u32, f32)> = FxHashMap::default();
    for ranked in &res {
        let (seen, sum) = servers.entry(shelf.place(ranked.doc).0).or_default();
        if *seen < weights.tools_of_a_server {
            *seen += 1;
            *sum += ranked.score / *seen as f32;
        }
    }
    let top = servers.values().map(|(_, sum)| *sum).fold(0.0, f32::max);
    if servers.len() > 1 {
        for ranked in &mut res {
            let (_, sum) = servers[&shelf.place(ranked.doc).0];
            ranked.server = sum / top;
            ranked.score *= 1.0 + weights.server * ranked.server;
        }
        res.sort_unstable_by(order);
    }
    for ranked in &mut res {
        ranked.score *= scale(coverage, weights);
    }
    res
}

/// Makes the best score of all queries 1, so that scores of different queries look alike.
pub(super) fn scale(coverage: f32, weights: &Weights) -> f32 {
    1.0 / ((1.0 + coverage) * (1.0 + weights.server))
}

/// Which share of a name a query asks for.
struct Coverage<'a> {
    query: &'a Query,
    statistics: &'a Statistics<'a>,
    weights: &'a Weights,
    directions: Vec<Option<Embedding>>,
    /// How rare a word is, and how much of it is asked for. Names of good tools have many words in common.
    known: FxHashMap<Term, (f32, f32)>,
}

impl<'a> Coverage<'a> {
    fn new(query: &'a Query, statistics: &'a Statistics, weights: &'a Weights) -> Coverage<'a> {
        let places = query.asked.iter().map(|asked| asked.place);
        Coverage {
            query,
            statistics,
            weights,
            directions: places
                .map(|place| place.map(|it| Vectors::embedded().at(it)))
                .collect(),
            known: FxHashMap::default(),
        }
    }

    fn of(&mut self, name: &[NameWord]) -> f32 {
        let (mut whole, mut asked_for) = (0.0, 0.0);
        for word in name {
            let (rarity, share) = match self.known.get(&word.term) {
                Some(known) => *known,
                None => {
                    let known = (self.statistics.idf(word.term), self.share(word));
                    self.known.insert(word.term, known);
                    known
                }
            };
            whole += rarity;
            asked_for += rarity * share;
        }
        if whole > 0.0 { asked_for / whole } else { 0.0 }
    }

    /// All of a word that is asked for; of another one as much as it is like one that is.
    fn share(&self, word: &NameWord) -> f32 {
        if self.query.asked.iter().any(|asked| asked.term == word.term) {
            return 1.0;
        }
        let direction = word.place.map(|place| Vectors::embedded().at(place));
        let from = self.weights.alike_from;
        let mut best: f32 = 0.0;
        for (asked, asked_direction) in self.query.asked.iter().zip(&self.directions) {
            if let (Some(a), Some(b)) = (&direction, asked_direction) {
                best = best.max((a.cosine(b) - from) / (1.0 - from));
            }
            if !asked.known {
                let near = asked.near.iter().find(|(term, _)| *term == word.term);
                best = best.max(near.map_or(0.0, |(_, part)| *part));
            }
        }
        best
    }
}
