//! What each hit of a search owes to which rule.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::catalog::Tool;
use crate::search::fields::{self, Field, N_FIELDS};
use crate::search::naming::Naming;
use crate::search::outcome::{Found, Outcome};
use crate::search::rank::{self, Ranked};
use crate::search::score::saturated;
use crate::search::verdict::Confidence;
use crate::search::words::{self, Term};
use crate::search::{Shared, Verdict};

/// A ranking with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The words of the query that count, as they were understood.
    pub words: Vec<QueryWord>,
    /// The hits of [`crate::search::Index::search`], in the same order.
    pub hits: Vec<ExplainedHit>,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq)]
pub struct QueryWord {
    /// Its stem.
    pub stem: String,
    /// How rare it is among the tools.
    pub worth: f32,
    /// Whether some tool has the very word.
    pub is_known: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedHit {
    pub tool: Arc<Tool>,
    pub score: f32,
    /// None for a tool that was found by its name or an alias: then it is what was meant.
    pub confidence: Option<Confidence>,
    /// They add up to the score.
    pub contributions: Vec<Contribution>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Contribution {
    pub rule: Rule,
    pub amount: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    /// The query is the tool's name; nothing else counts.
    Named(Naming),
    /// The query has the words of an alias of the user's.
    Alias,
    /// A word of the query, given by its stem, stands in a field.
    Word { stem: String, field: Field },
    /// A word that stands for one of the query does: a near-synonym, or what an unknown word is like.
    NearWord { stem: String },
    /// The tool means what the query means.
    Meaning,
    /// The tool fits one part of a long query.
    Part,
    /// Words of the query are keywords or an alias that the user gave the tool, and meaning alone would count for more.
    Wanted,
    /// The query has the words of the tool's name, or words like them.
    NameCoverage,
    /// The tool has the words of the query, or words like them in its name.
    QueryCoverage,
    /// The tool's server has several good tools.
    Server,
}

impl ExplainedHit {
    pub fn is_weak(&self) -> bool {
        self.confidence.is_some_and(Confidence::is_weak)
    }
}

impl Explanation {
    pub(super) fn of(outcome: &Outcome, shared: &Shared) -> Explanation {
        let words = outcome.query.asked.iter().map(|asked| QueryWord {
            stem: asked.text.clone(),
            worth: asked.worth,
            is_known: asked.known,
        });
        let hits = outcome.found.iter().map(|found| {
            let hit = outcome.hit(found);
            ExplainedHit {
                contributions: contributions(found, outcome, shared),
                tool: hit.tool,
                score: hit.score,
                confidence: found.confidence,
            }
        });
        Explanation {
            words: words.collect(),
            hits: hits.collect(),
            verdict: outcome.verdict(),
        }
    }
}

fn contributions(found: &Found, outcome: &Outcome, shared: &Shared) -> Vec<Contribution> {
    let mut res = Vec::new();
    let mut add = |rule, amount| {
        if amount != 0.0 {
            res.push(Contribution { rule, amount });
        }
    };
    if let Some(naming) = found.naming {
        add(Rule::Named(naming), found.score);
        return res;
    }
    add(Rule::Alias, found.alias);
    let Some(Ranked {
        mixed,
        raised,
        name,
        query,
        server,
        ..
    }) = found.ranked
    else {
        return res;
    };
    let weights = &shared.weights;
    let blend = outcome.scores.blend(weights);
    let scale = rank::scale(blend, weights);
    let scales = outcome.scores.scales(&outcome.query, weights);
    let frequencies = frequencies(outcome.shelf.tool(found.doc), shared);
    for asked in &outcome.query.asked {
        let own = frequencies.get(&asked.term).copied().unwrap_or_default();
        let near: f32 = asked
            .near
            .iter()
            .filter_map(|(term, part)| Some(part * frequencies.get(term)?.iter().sum::<f32>()))
            .sum();
        let all = own.iter().sum::<f32>() + near;
        if all == 0.0 {
            continue;
        }
        let score = asked.worth * saturated(all, weights) * scales.words * scale;
        for (field, frequency) in Field::ALL.into_iter().zip(own) {
            let stem = asked.text.clone();
            add(Rule::Word { stem, field }, score * frequency / all);
        }
        let stem = asked.text.clone();
        add(Rule::NearWord { stem }, score * near / all);
    }
    let words = outcome.scores.words_of(found.doc) * scales.words;
    let meaning = outcome.scores.meaning_of(found.doc) * scales.meaning;
    add(Rule::Meaning, meaning * scale);
    if outcome.query.wishes.len() > 1 {
        add(Rule::Part, (mixed - raised - words - meaning) * scale);
    }
    add(Rule::Wanted, raised * scale);
    let covered = mixed * blend.coverage(name, query);
    let by_query = mixed * blend.coverage(0.0, query);
    add(Rule::NameCoverage, (covered - by_query) * scale);
    add(Rule::QueryCoverage, by_query * scale);
    add(
        Rule::Server,
        (mixed + covered) * weights.server * server * scale,
    );
    res
}

/// How much each word of a tool counts in each of its fields.
fn frequencies(tool: &Tool, shared: &Shared) -> FxHashMap<Term, [f32; N_FIELDS]> {
    let Shared {
        options, weights, ..
    } = shared;
    let mut res: FxHashMap<Term, [f32; N_FIELDS]> = FxHashMap::default();
    let mut lengths = [0; N_FIELDS];
    for (field, text) in fields::texts(tool, options, &weights.limits) {
        words::each(&text, |word| {
            lengths[field as usize] += 1;
            if !(field.is_prose() && word.is_stop) {
                res.entry(word.term).or_default()[field as usize] += 1.0;
            }
        });
    }
    for counts in res.values_mut() {
        for (field, count) in counts.iter_mut().enumerate() {
            *count *= weights.fields[field].share(lengths[field]);
        }
    }
    res
}
