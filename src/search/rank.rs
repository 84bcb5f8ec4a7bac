//! In which order tools answer a query.

use rustc_hash::FxHashMap;

use crate::catalog::Tool;
use crate::search::layer::Statistics;
use crate::search::naming::{Called, Naming};
use crate::search::query::{Asked, Query};
use crate::search::score::{Doc, Scores, Shelf};
use crate::search::segment::{NameWord, Segment};
use crate::search::vectors::{Embedding, Vectors};
use crate::search::weights::{Blend, Weights};
use crate::search::words::Term;

/// A tool that was compared, and what came out.
#[derive(Clone, Copy)]
pub(super) struct Ranked {
    pub doc: Doc,
    pub score: f32,
    /// Before name and server were looked at.
    pub mixed: f32,
    /// How much of that it owes to the user, who wants it for words of the query.
    pub raised: f32,
    /// Which share of the name is asked for, which share of the query the tool has, and which share of the best
    /// server's strength the tool's has.
    pub name: f32,
    pub query: f32,
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
    let pool_of = |scores: &Scores| {
        let mut mixed = scores.mixed(query, weights);
        let raised = scores.raise_wanted(&mut mixed);
        (best(&mixed, n), raised)
    };
    let (mut pool, mut raised) = pool_of(&scores);
    // Most sessions admit everything, so that all tools are asked about only once some of the best is refused.
    if pool.iter().any(|(_, doc)| !admit(shelf.tool(*doc))) {
        let segments = shelf.segments.iter();
        let tools = segments.flat_map(|segment| &segment.tools);
        let admitted: Vec<bool> = tools.map(|tool| admit(tool)).collect();
        scores.keep(&admitted);
        (pool, raised) = pool_of(&scores);
    }
    let mut coverage = Coverage::new(query, statistics, weights);
    let blend = scores.blend(weights);
    let compared = pool.iter().map(|(mixed, doc)| {
        let (segment, tool) = shelf.place(*doc);
        let (name, query) = coverage.of(shelf.segments[segment], tool);
        // What the user calls a tool is as good as its name.
        let name = name.max(scores.wanted(*doc));
        let raised = raised.iter().find(|(raised, _)| raised == doc);
        Ranked {
            doc: *doc,
            score: mixed * (1.0 + blend.coverage(name, query)),
            mixed: *mixed,
            raised: raised.map_or(0.0, |(_, by)| *by),
            name,
            query,
            server: 0.0,
        }
    });
    let ranked = raise_servers(compared.collect(), shelf, weights, blend);
    (ranked, scores)
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

/// Puts tools in order, those of servers that have several good ones before others.
fn raise_servers(
    mut res: Vec<Ranked>,
    shelf: &Shelf,
    weights: &Weights,
    blend: &Blend,
) -> Vec<Ranked> {
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
        ranked.score *= scale(blend, weights);
    }
    res
}

/// Makes the best score of all queries 1, so that scores of different queries look alike.
pub(super) fn scale(blend: &Blend, weights: &Weights) -> f32 {
    1.0 / ((1.0 + blend.coverage(1.0, 1.0)) * (1.0 + weights.server))
}

/// How much a query and a tool have of each other.
struct Coverage<'a> {
    query: &'a Query,
    statistics: &'a Statistics<'a>,
    weights: &'a Weights,
    directions: Vec<Option<Embedding>>,
    /// The words of names that were looked at. Names of good tools have many words in common.
    known: FxHashMap<Term, Known>,
    /// By word of a name, then by word of the query: how much the one stands for the other.
    alike: Vec<f32>,
    /// By word of the query, for one tool at a time.
    had: Vec<f32>,
}

/// A word of a name.
#[derive(Clone, Copy)]
struct Known {
    rarity: f32,
    /// How much of it is asked for.
    share: f32,
    /// Where its row in `alike` starts.
    start: usize,
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
            alike: Vec::new(),
            had: Vec::new(),
        }
    }

    /// Which share of the tool's name the query asks for, and which share of the query the tool has.
    fn of(&mut self, segment: &Segment, tool: usize) -> (f32, f32) {
        let n_asked = self.query.asked.len();
        self.had.clear();
        self.had.resize(n_asked, 0.0);
        let (mut whole, mut asked_for) = (0.0, 0.0);
        for word in segment.name(tool) {
            let known = match self.known.get(&word.term) {
                Some(known) => *known,
                None => self.learn(word),
            };
            whole += known.rarity;
            asked_for += known.rarity * known.share;
            let row = &self.alike[known.start..known.start + n_asked];
            for (had, alike) in self.had.iter_mut().zip(row) {
                *had = had.max(*alike);
            }
        }
        let name = if whole > 0.0 { asked_for / whole } else { 0.0 };
        (name, self.of_query(segment, tool))
    }

    /// Words in the name were looked at; the others are anywhere in the tool.
    fn of_query(&self, segment: &Segment, tool: usize) -> f32 {
        let (mut whole, mut had) = (0.0, 0.0);
        for (asked, in_name) in self.query.asked.iter().zip(&self.had) {
            let worth = asked.worth_of_all(self.weights);
            let near = || {
                let near = asked
                    .near
                    .iter()
                    .filter(|(term, _)| segment.has(tool, *term));
                near.fold(*in_name, |most, (_, part)| most.max(*part))
            };
            let has_it = *in_name == 1.0 || segment.has(tool, asked.term);
            whole += worth;
            had += worth * if has_it { 1.0 } else { near() };
        }
        if whole > 0.0 { had / whole } else { 0.0 }
    }

    /// All of a word that is asked for; of another one as much as it is like one that is.
    fn learn(&mut self, word: &NameWord) -> Known {
        let start = self.alike.len();
        let asked = &self.query.asked;
        if asked.iter().any(|asked| asked.term == word.term) {
            let is_it = |asked: &Asked| f32::from(u8::from(asked.term == word.term));
            self.alike.extend(asked.iter().map(is_it));
        } else {
            let direction = word.place.map(|place| Vectors::embedded().at(place));
            let from = self.weights.alike_from;
            for (asked, asked_direction) in asked.iter().zip(&self.directions) {
                let mut alike: f32 = 0.0;
                if let (Some(a), Some(b)) = (&direction, asked_direction) {
                    alike = alike.max((a.cosine(b) - from) / (1.0 - from));
                }
                let near = asked.near.iter().find(|(term, _)| *term == word.term);
                alike = alike.max(near.map_or(0.0, |(_, part)| *part));
                self.alike.push(alike);
            }
        }
        let known = Known {
            rarity: self.statistics.idf(word.term),
            share: self.alike[start..].iter().copied().fold(0.0, f32::max),
            start,
        };
        self.known.insert(word.term, known);
        known
    }
}
