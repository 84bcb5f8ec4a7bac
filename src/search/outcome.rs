//! One search from the query to its hits, with everything that led there.

use std::sync::Arc;

use crate::catalog::Tool;
use crate::search::encoder::semantic::Semantic;
use crate::search::layer::Statistics;
use crate::search::naming::Naming;
use crate::search::query::{self, Query};
use crate::search::rank::{self, Ranked};
use crate::search::score::{Doc, Scores, Shelf};
use crate::search::verdict::{Confidence, Judge};
use crate::search::{Answer, Hit, Shared, Verdict, alias, wanted};

pub(super) struct Outcome<'a> {
    pub shelf: Shelf<'a>,
    pub query: Query,
    pub scores: Scores,
    /// Best first.
    pub found: Vec<Found>,
}

/// A hit, and how it came to be one.
pub(super) struct Found {
    pub doc: Doc,
    pub score: f32,
    /// None for a tool that was named or has an alias: then it is what was meant.
    pub confidence: Option<Confidence>,
    pub naming: Option<Naming>,
    /// What an alias in the query adds.
    pub alias: f32,
    /// None for a tool that was found by its name or an alias alone.
    pub ranked: Option<Ranked>,
}

impl<'a> Outcome<'a> {
    pub fn find(
        text: &str,
        limit: usize,
        admit: impl Fn(&Tool) -> bool,
        semantic: Option<Semantic<'_>>,
        shared: &Shared,
        statistics: &Statistics<'a>,
    ) -> Outcome<'a> {
        let weights = &shared.weights;
        let text = query::read_part(text);
        let shelf = Shelf::new(statistics);
        let query = Query::parse(text, statistics, weights);
        let aliased = alias::find(&shared.aliases, text, &shelf);
        let wanted = || wanted::find(&shared.keywords, &aliased, &query, &shelf, weights);
        let scores = Scores::new(&shelf, &query, semantic, wanted, weights);
        let (ranked, scores) =
            rank::ranked(&shelf, &query, scores, statistics, weights, limit, &admit);
        let judge = Judge::new(&shelf, &query, &scores, statistics);
        let mut found: Vec<Found> = ranked.iter().map(Found::ranked).collect();
        let mut special = Vec::new();
        for (naming, doc) in rank::named(&shelf, text) {
            special.push((doc, Some(naming), 0.0));
        }
        for aliased in aliased {
            special.push((aliased.doc, aliased.naming(), weights.alias * aliased.share));
        }
        special.retain(|(doc, ..)| admit(shelf.tool(*doc)));
        if !special.is_empty() {
            for (doc, naming, alias) in special {
                let at = found.iter().position(|found| found.doc == doc);
                let at = at.unwrap_or_else(|| {
                    found.push(Found::unranked(doc));
                    found.len() - 1
                });
                found[at].favour(naming, alias);
            }
            found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.doc.cmp(&b.doc)));
        }
        // Hits are judged until there are enough of them.
        let mut judged = Vec::with_capacity(limit.min(found.len()));
        for mut found in found {
            if judged.len() == limit {
                break;
            }
            if found.naming.is_none() && found.alias == 0.0 {
                let confidence = judge.confidence(found.doc);
                if confidence.is_nil() {
                    continue;
                }
                found.confidence = Some(confidence);
            }
            judged.push(found);
        }
        Outcome {
            found: judged,
            shelf,
            query,
            scores,
        }
    }

    pub fn verdict(&self) -> Verdict {
        match self.found.iter().any(|found| !found.is_weak()) {
            true => Verdict::Good,
            false if self.found.is_empty() => Verdict::Nothing,
            false => Verdict::Weak,
        }
    }

    pub fn hit(&self, found: &Found) -> Hit {
        Hit {
            tool: Arc::clone(self.shelf.tool(found.doc)),
            score: found.score,
            weak: found.is_weak(),
        }
    }

    pub fn answer(&self) -> Answer {
        Answer {
            hits: self.found.iter().map(|found| self.hit(found)).collect(),
            verdict: self.verdict(),
        }
    }
}

impl Found {
    fn ranked(ranked: &Ranked) -> Found {
        Found {
            score: ranked.score,
            ranked: Some(*ranked),
            ..Found::unranked(ranked.doc)
        }
    }

    fn unranked(doc: Doc) -> Found {
        Found {
            doc,
            score: 0.0,
            confidence: None,
            naming: None,
            alias: 0.0,
            ranked: None,
        }
    }

    fn is_weak(&self) -> bool {
        self.confidence.is_some_and(Confidence::is_weak)
    }

    /// Puts the tool before others. Tools that are named in the same way are equal.
    fn favour(&mut self, naming: Option<Naming>, alias: f32) {
        self.naming = match (self.naming, naming) {
            (Some(old), Some(new)) => Some(old.min(new)),
            (old, new) => old.or(new),
        };
        self.alias = self.alias.max(alias);
        let ranked = self.ranked.map_or(0.0, |ranked| ranked.score);
        self.score = match self.naming {
            Some(naming) => naming.score(),
            None => ranked + self.alias,
        };
    }
}
