//! In which order tools answer a query.

use std::sync::Arc;

use crate::catalog::Tool;
use crate::search::encoder::semantic::Key;
use crate::search::layer::Statistics;
use crate::search::naming::{Called, Naming};
use crate::search::query::Asked;
use crate::search::segment::Segment;
use crate::search::synonyms;
use crate::search::weights::Weights;

/// A tool by its place in the order of layers, segments and names, which is also the order of equal scores.
pub(super) type Doc = u32;

/// The tools whose names are compared with the query.
const NAMES_READ: usize = 60;

/// The tools by which servers are compared, and how many of one server.
const SERVERS_READ: usize = 200;
const TOOLS_OF_A_SERVER: usize = 3;

/// All segments, laid end to end.
pub(super) struct Shelf<'a> {
    segments: Vec<&'a Arc<Segment>>,
    starts: Vec<Doc>,
    pub n_docs: usize,
}

impl<'a> Shelf<'a> {
    pub fn new(statistics: &Statistics<'a>) -> Shelf<'a> {
        let segments: Vec<&Arc<Segment>> = statistics.segments().collect();
        let mut n_docs = 0;
        let starts = segments
            .iter()
            .map(|segment| {
                let start = n_docs as Doc;
                n_docs += segment.tools.len();
                start
            })
            .collect();
        Shelf {
            segments,
            starts,
            n_docs,
        }
    }

    /// The number of a tool's segment, and the tool's number in it.
    fn place(&self, doc: Doc) -> (usize, usize) {
        let segment = self.starts.partition_point(|start| *start <= doc) - 1;
        (segment, (doc - self.starts[segment]) as usize)
    }

    /// The keys of all tools, in the order of docs; `None` where nobody has made them yet.
    pub fn keys(&self) -> Option<Vec<&'a [Key]>> {
        let keys = self.segments.iter().map(|segment| segment.made_keys());
        keys.collect()
    }

    pub fn tool(&self, doc: Doc) -> &'a Arc<Tool> {
        let (segment, tool) = self.place(doc);
        &self.segments[segment].tools[tool]
    }
}

/// The tools that the query is the name of, closest first.
pub(super) fn named(shelf: &Shelf, query: &str) -> Vec<(Naming, Doc)> {
    let Some(called) = Called::new(query) else {
        return Vec::new();
    };
    let mut res = Vec::new();
    for (segment, start) in shelf.segments.iter().zip(&shelf.starts) {
        for tool in segment.called.find(&called) {
            if let Some(naming) = called.naming(&segment.tools[usize::from(tool)]) {
                res.push((naming, start + Doc::from(tool)));
            }
        }
    }
    res.sort_unstable();
    res
}

/// The words' part of every tool's score, by tool.
pub(super) fn lexical(shelf: &Shelf, asked: &[Asked], weights: &Weights) -> Vec<f32> {
    let mut scores = vec![0.0; shelf.n_docs];
    let mut rest = scores.as_mut_slice();
    let mut frequencies: Vec<f32> = Vec::new();
    let mut touched: Vec<u16> = Vec::new();
    let k1 = weights.saturation;
    for segment in &shelf.segments {
        let (scores, after) = rest.split_at_mut(segment.tools.len());
        rest = after;
        for asked in asked {
            let whole = asked.idf * (k1 + 1.0);
            let own = segment.postings(asked.term);
            let mut near = asked
                .near
                .iter()
                .map(|(term, part)| (segment.postings(*term), *part))
                .filter(|(postings, _)| !postings.is_empty())
                .peekable();
            if near.peek().is_none() {
                for posting in own {
                    let frequency = posting.frequency();
                    scores[usize::from(posting.tool)] += whole * frequency / (frequency + k1);
                }
                continue;
            }
            frequencies.resize(segment.tools.len().max(frequencies.len()), 0.0);
            for (postings, part) in std::iter::once((own, 1.0)).chain(near) {
                for posting in postings {
                    let sum = &mut frequencies[usize::from(posting.tool)];
                    if *sum == 0.0 {
                        touched.push(posting.tool);
                    }
                    *sum += part * posting.frequency();
                }
            }
            for tool in touched.drain(..) {
                let frequency = std::mem::take(&mut frequencies[usize::from(tool)]);
                scores[usize::from(tool)] += whole * frequency / (frequency + k1);
            }
        }
    }
    scores
}

/// Blends scores with cosines: each by its own best, the scores for so large a part.
pub(super) fn mix(scores: &mut [f32], cosines: &[f32], part: f32) {
    let best = |numbers: &[f32]| numbers.iter().copied().fold(1e-6, f32::max);
    let (best_score, best_cosine) = (best(scores), best(cosines));
    for (score, cosine) in scores.iter_mut().zip(cosines) {
        *score = part * *score / best_score + (1.0 - part) * cosine.max(0.0) / best_cosine;
    }
}

/// The best of those that have a score, best first.
pub(super) fn best(scores: &[f32], n: usize) -> Vec<Doc> {
    let mut res: Vec<Doc> = (0..scores.len() as Doc)
        .filter(|doc| scores[*doc as usize] > 0.0)
        .collect();
    let order = |a: &Doc, b: &Doc| {
        let (a_score, b_score) = (scores[*a as usize], scores[*b as usize]);
        b_score.total_cmp(&a_score).then(a.cmp(b))
    };
    if n < res.len() {
        res.select_nth_unstable_by(n, order);
        res.truncate(n);
    }
    res.sort_unstable_by(order);
    res
}

/// Raises tools whose names the query covers, then tools of servers that have several good ones.
pub(super) fn raise(
    scores: &mut [f32],
    shelf: &Shelf,
    asked: &[Asked],
    statistics: &Statistics,
    weights: &Weights,
) {
    for doc in best(scores, NAMES_READ) {
        let (segment, tool) = shelf.place(doc);
        let mut total = 0.0;
        let mut covered = 0.0;
        for word in shelf.segments[segment].name(tool) {
            let idf = statistics.idf(*word);
            total += idf;
            let is_asked = asked
                .iter()
                .any(|asked| asked.term == *word || synonyms::of(asked.term).contains(word));
            if is_asked {
                covered += idf;
            }
        }
        if total > 0.0 {
            scores[doc as usize] *= 1.0 + weights.name_coverage * covered / total;
        }
    }

    let mut servers: Vec<(f32, u32)> = vec![(0.0, 0); shelf.segments.len()];
    for doc in best(scores, SERVERS_READ) {
        let (sum, seen) = &mut servers[shelf.place(doc).0];
        if (*seen as usize) < TOOLS_OF_A_SERVER {
            *seen += 1;
            *sum += scores[doc as usize] / *seen as f32;
        }
    }
    let top = servers.iter().map(|(sum, _)| *sum).fold(0.0, f32::max);
    let n_with_hits = servers.iter().filter(|(sum, _)| *sum > 0.0).count();
    if n_with_hits < 2 {
        return;
    }
    let mut rest = scores;
    for (segment, (sum, _)) in shelf.segments.iter().zip(&servers) {
        let (scores, after) = rest.split_at_mut(segment.tools.len());
        rest = after;
        let factor = 1.0 + weights.server * sum / top;
        for score in scores {
            *score *= factor;
        }
    }
}
