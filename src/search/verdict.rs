//! Whether a hit is likely to be what was meant.

use crate::search::layer::Statistics;
use crate::search::query::{Asked, Query};
use crate::search::score::{Doc, Scores, Shelf};

/// Below this confidence a hit is weak.
///
/// It flags most queries for which there is no tool, and hardly any keywords and phrases for which there is one;
/// `examples/rank --verdicts` prints the shares.
pub const WEAK: f32 = 0.55;

/// The cosines of a sentence encoder are lower than those of word vectors.
///
/// With this factor about as many answers are weak with an encoder as without one.
const OF_SENTENCES: f32 = 1.5;

/// A tool that has no word of the query, and points elsewhere, has nothing to do with it.
const UNRELATED: f32 = 0.15;

/// What a word counts that a tool has in other words, or that it has misspelt.
const NEAR: f32 = 0.7;

/// A tool need not have more words than this of a long query.
const ENOUGH_WORDS: f32 = 8.0;

/// How sure a tool is to be what the query means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Confidence {
    /// Which share of the query's words the tool has, the rare ones counting more; words of no tool at all count too.
    pub words: f32,
    /// The cosine of query and tool.
    pub meaning: f32,
}

impl Confidence {
    /// Half by words, half by meaning: the best single number found to tell whether the right tool is there at all.
    pub fn total(self) -> f32 {
        (self.words + self.meaning) / 2.0
    }

    pub fn is_weak(self) -> bool {
        self.total() < WEAK
    }

    pub(super) fn is_nil(self) -> bool {
        self.words == 0.0 && self.meaning < UNRELATED
    }
}

/// Tells how sure tools are for one query.
pub(super) struct Judge<'a> {
    shelf: &'a Shelf<'a>,
    query: &'a Query,
    scores: &'a Scores,
    worth_of_unknown: f32,
    total: f32,
}

impl<'a> Judge<'a> {
    pub fn new(
        shelf: &'a Shelf,
        query: &'a Query,
        scores: &'a Scores,
        statistics: &Statistics,
    ) -> Judge<'a> {
        let mut res = Judge {
            shelf,
            query,
            scores,
            worth_of_unknown: statistics.idf_of(0),
            total: 0.0,
        };
        let worth: f32 = query.asked.iter().map(|asked| res.worth(asked)).sum();
        let n_words = query.asked.len().max(1) as f32;
        res.total = worth * (ENOUGH_WORDS / n_words).min(1.0);
        res
    }

    pub fn confidence(&self, doc: Doc) -> Confidence {
        let (segment, tool) = self.shelf.place(doc);
        let segment = self.shelf.segments[segment];
        let mut covered = 0.0;
        for asked in &self.query.asked {
            let part = match segment.has(tool, asked.term) {
                true => 1.0,
                false if asked.near.iter().any(|(term, _)| segment.has(tool, *term)) => NEAR,
                false => 0.0,
            };
            covered += part * self.worth(asked);
        }
        Confidence {
            words: if self.total > 0.0 {
                (covered / self.total).min(1.0)
            } else {
                0.0
            },
            meaning: match self.scores.has_sentences {
                true => (self.scores.meaning_of(doc) * OF_SENTENCES).min(1.0),
                false => self.scores.meaning_of(doc),
            },
        }
    }

    /// A word that no tool has is the rarest of all; but numbers and keys are arguments, which no tool has.
    fn worth(&self, asked: &Asked) -> f32 {
        match asked.known {
            true => asked.worth,
            false if asked.text.bytes().any(|byte| byte.is_ascii_digit()) => 0.0,
            false => self.worth_of_unknown,
        }
    }
}
