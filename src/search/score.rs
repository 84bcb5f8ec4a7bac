//! How much each tool has of what is asked for: in words, in meaning, and mixed.

use std::sync::Arc;

use crate::catalog::Tool;
use crate::search::encoder::semantic::{Key, Semantic};
use crate::search::fields::Field;
use crate::search::layer::Statistics;
use crate::search::query::{Asked, Query, Wish};
use crate::search::segment::{Posting, Segment};
use crate::search::wanted::Wanted;
use crate::search::weights::{Blend, Weights};

/// A tool by its place on the shelf, which is also the order of equal scores.
pub(super) type Doc = u32;

/// The segments of an index end to end: the session's own tools, then the servers' by name, each by name.
pub(super) struct Shelf<'a> {
    pub segments: Vec<&'a Arc<Segment>>,
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

    /// Each segment with the place of its first tool.
    pub fn iter(&self) -> impl Iterator<Item = (&'a Segment, Doc)> {
        let segments = self.segments.iter().zip(&self.starts);
        segments.map(|(segment, start)| (&***segment, *start))
    }

    /// The number of a tool's segment, and the tool's number in it.
    pub fn place(&self, doc: Doc) -> (usize, usize) {
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

/// What every tool has of every wish of a query.
pub(super) struct Scores {
    /// By wish, then by tool.
    words: Vec<Vec<f32>>,
    meaning: Vec<Option<Vec<f32>>>,
    /// Whether the meaning of the whole query is a sentence encoder's; that of the parts never is.
    pub has_sentences: bool,
    /// With a sentence encoder, the tools that the user wants for words of the query, and the least that they score.
    wanted: Vec<(Wanted, f32)>,
}

impl Scores {
    pub fn new(
        shelf: &Shelf,
        query: &Query,
        semantic: Option<Semantic<'_>>,
        wanted: impl FnOnce() -> Vec<Wanted>,
        weights: &Weights,
    ) -> Scores {
        let words = words(shelf, query, weights);
        let wishes = query.wishes.iter();
        let mut meaning: Vec<Option<Vec<f32>>> = wishes.map(|wish| meaning(shelf, wish)).collect();
        let sentences = semantic.and_then(|it| it.cosines(&shelf.keys()?));
        let has_sentences = sentences.is_some();
        let wanted = match &sentences {
            Some(sentences) => with_least(wanted(), query, &words[0], sentences, weights),
            None => Vec::new(),
        };
        if let (Some(sentences), Some(whole)) = (sentences, meaning.first_mut()) {
            let share = weights.word_vectors * fit(query, &words[0], weights);
            *whole = Some(beside(sentences, whole.as_deref(), share));
        }
        Scores {
            words,
            meaning,
            has_sentences,
            wanted,
        }
    }

    /// Takes tools out of the comparison.
    pub fn keep(&mut self, admitted: &[bool]) {
        self.wanted.retain(|(it, _)| admitted[it.doc as usize]);
        let all = self
            .words
            .iter_mut()
            .chain(self.meaning.iter_mut().flatten());
        for scores in all {
            for (score, is_admitted) in scores.iter_mut().zip(admitted) {
                if !is_admitted {
                    *score = 0.0;
                }
            }
        }
    }

    /// The sum of what a tool has of the whole query's words, before anything is compared.
    pub fn words_of(&self, doc: Doc) -> f32 {
        self.words[0][doc as usize]
    }

    /// The cosine of a tool and the whole query.
    pub fn meaning_of(&self, doc: Doc) -> f32 {
        self.meaning[0]
            .as_ref()
            .map_or(0.0, |meaning| meaning[doc as usize])
    }

    /// How much the whole query's words, and its meaning, come to in what [`Scores::mixed`] gives for each unit of them.
    pub fn scales(&self, query: &Query, weights: &Weights) -> Scales {
        let whole = if query.wishes.len() > 1 {
            1.0 - weights.part
        } else {
            1.0
        };
        let n_words = query.wishes.first().map_or(0, |wish| wish.n_words);
        let scales = self.scales_of(0, n_words, weights);
        Scales {
            words: scales.words * whole,
            meaning: scales.meaning * whole,
        }
    }

    /// How the whole query's words, its meaning and the names are blended.
    pub fn blend<'w>(&self, weights: &'w Weights) -> &'w Blend {
        match self.has_sentences {
            true => &weights.by_sentences,
            false => &weights.by_words,
        }
    }

    fn scales_of(&self, wish: usize, n_words: usize, weights: &Weights) -> Scales {
        // The meaning of a part is that of its words.
        let blend = match wish {
            0 => self.blend(weights),
            _ => &weights.by_words,
        };
        let share = blend.words(n_words);
        Scales::new(&self.words[wish], self.meaning[wish].as_deref(), share)
    }

    /// The share of the query for which the user wants a tool; only with a sentence encoder.
    pub fn wanted(&self, doc: Doc) -> f32 {
        let wanted = self.wanted.iter().find(|(it, _)| it.doc == doc);
        wanted.map_or(0.0, |(it, _)| it.share)
    }

    /// Gives tools that the user wants the least that they are to score; by how much each of them was raised.
    pub fn raise_wanted(&self, mixed: &mut [f32]) -> Vec<(Doc, f32)> {
        let raised = self.wanted.iter().map(|(it, least)| {
            let score = &mut mixed[it.doc as usize];
            let by = (least - *score).max(0.0);
            *score += by;
            (it.doc, by)
        });
        raised.collect()
    }

    /// Words and meaning in one number from 0 to 1, for the whole query and the part of it that fits best.
    pub fn mixed(&self, query: &Query, weights: &Weights) -> Vec<f32> {
        let mut wishes = query.wishes.iter().enumerate();
        let mut mix = |(number, wish): (usize, &Wish)| {
            let scales = self.scales_of(number, wish.n_words, weights);
            mix(
                &self.words[number],
                self.meaning[number].as_deref(),
                &scales,
            )
        };
        let Some(mut res) = wishes.next().map(&mut mix) else {
            return Vec::new();
        };
        let Some(mut best_part) = wishes.next().map(&mut mix) else {
            return res;
        };
        for wish in wishes {
            for (best, score) in best_part.iter_mut().zip(mix(wish)) {
                *best = best.max(score);
            }
        }
        for (score, best) in res.iter_mut().zip(best_part) {
            *score += weights.part * (best - *score);
        }
        res
    }
}

/// What a unit of words and a unit of meaning come to in a mixed score.
pub(super) struct Scales {
    pub words: f32,
    pub meaning: f32,
}

impl Scales {
    fn new(words: &[f32], meaning: Option<&[f32]>, share: f32) -> Scales {
        let share = meaning.map_or(1.0, |_| share);
        Scales {
            words: share / best(words),
            meaning: meaning.map_or(0.0, |meaning| (1.0 - share) / best(meaning)),
        }
    }
}

fn mix(words: &[f32], meaning: Option<&[f32]>, scales: &Scales) -> Vec<f32> {
    match meaning {
        None => words.iter().map(|words| words * scales.words).collect(),
        Some(meaning) => words
            .iter()
            .zip(meaning)
            .map(|(words, meaning)| words * scales.words + meaning * scales.meaning)
            .collect(),
    }
}

/// The cosine of every tool and the wish, where it is above 0.
fn meaning(shelf: &Shelf, wish: &Wish) -> Option<Vec<f32>> {
    let direction = wish.direction.as_ref()?;
    let mut res = Vec::with_capacity(shelf.n_docs);
    for segment in &shelf.segments {
        let cosines = segment.directions.iter().map(|it| it.cosine(direction));
        res.extend(cosines.map(|cosine| cosine.max(0.0)));
    }
    Some(res)
}

/// The least that tools score which the user wants for words of the query.
///
/// Beside a good cosine a word counts for little, which is right where there is a good one; but where all are poor, and
/// no tool has the other words either, the best of them is as much as a good one. So what the user said of a part of the
/// query counts in full for that part, and for the rest as far as neither words nor meaning speak for another tool.
fn with_least(
    wanted: Vec<Wanted>,
    query: &Query,
    words: &[f32],
    sentences: &[f32],
    weights: &Weights,
) -> Vec<(Wanted, f32)> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let of_others = |scores: &[f32]| {
        let mut res = scores.to_vec();
        for it in &wanted {
            res[it.doc as usize] = 0.0;
        }
        res
    };
    let by_words = fit(query, &of_others(words), weights);
    let by_meaning = best(&of_others(sentences)) / weights.sure_meaning;
    let known = by_words.max(by_meaning).min(1.0);
    let least = |it: Wanted| {
        let least = 1.0 - (1.0 - it.share) * known;
        (it, least)
    };
    wanted.into_iter().map(least).collect()
}

/// The cosines of sentences with a share of those of word vectors, both by their best.
fn beside(mut sentences: Vec<f32>, words: Option<&[f32]>, share: f32) -> Vec<f32> {
    sentences.iter_mut().for_each(|it| *it = it.max(0.0));
    if let Some(words) = words {
        let scale = share * best(&sentences) / best(words);
        for (sentence, word) in sentences.iter_mut().zip(words) {
            *sentence = (1.0 - share) * *sentence + scale * word;
        }
    }
    sentences
}

/// From 0 to 1, whether some tool has the words of the query, as a tool would that has all of them in its name.
///
/// Word vectors know words, so they lead astray where the query and its tool have none in common.
fn fit(query: &Query, words: &[f32], weights: &Weights) -> f32 {
    let worth = |asked: &Asked| asked.worth.max(weights.unknown_worth);
    let all: f32 = query.asked.iter().map(worth).sum();
    let in_name = saturated(weights.fields[Field::Name as usize].weight, weights);
    let fit = best(words) / (all * in_name).max(f32::MIN_POSITIVE);
    let (from, to) = weights.fits;
    ((fit - from) / (to - from)).clamp(0.0, 1.0)
}

fn best(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(f32::MIN_POSITIVE, f32::max)
}

/// BM25F over the fields of every tool, by wish, then by tool.
fn words(shelf: &Shelf, query: &Query, weights: &Weights) -> Vec<Vec<f32>> {
    let mut res = vec![vec![0.0; shelf.n_docs]; query.wishes.len()];
    let mut sums = Sums::default();
    for (segment, start) in shelf.iter() {
        for asked in &query.asked {
            sums.each(segment, asked, |tool, frequency| {
                let score = asked.worth * saturated(frequency, weights);
                let doc = start as usize + usize::from(tool);
                for (number, scores) in res.iter_mut().enumerate() {
                    if asked.wishes & 1 << number != 0 {
                        scores[doc] += score;
                    }
                }
            });
        }
    }
    res
}

/// How much a word counts that stands so often in a tool: ever less for once more.
pub(super) fn saturated(frequency: f32, weights: &Weights) -> f32 {
    frequency * (weights.saturation + 1.0) / (frequency + weights.saturation)
}

/// Adds up the frequencies of a word and of those that stand for it.
#[derive(Default)]
struct Sums {
    by_tool: Vec<f32>,
    touched: Vec<u16>,
}

impl Sums {
    fn each(&mut self, segment: &Segment, asked: &Asked, mut take: impl FnMut(u16, f32)) {
        let own = segment.postings(asked.term);
        let near = asked.near.iter().filter_map(|(term, part)| {
            let postings = segment.postings(*term);
            (!postings.is_empty()).then_some((postings, *part))
        });
        let mut near = near.peekable();
        if near.peek().is_none() {
            for posting in own {
                take(posting.tool, posting.frequency());
            }
            return;
        }
        let n_tools = segment.tools.len();
        if self.by_tool.len() < n_tools {
            self.by_tool.resize(n_tools, 0.0);
        }
        let own: (&[Posting], f32) = (own, 1.0);
        for (postings, part) in std::iter::once(own).chain(near) {
            for posting in postings {
                let sum = &mut self.by_tool[usize::from(posting.tool)];
                if *sum == 0.0 {
                    self.touched.push(posting.tool);
                }
                *sum += part * posting.frequency();
            }
        }
        for tool in self.touched.drain(..) {
            take(tool, std::mem::take(&mut self.by_tool[usize::from(tool)]));
        }
    }
}
