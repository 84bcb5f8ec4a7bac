//! Groups of tools that are indexed together, and what is known of all of them.

use std::sync::Arc;

use crate::catalog::Tools;
use crate::search::Group;
use crate::search::lexicon::{Lexicon, Likeness};
use crate::search::segment::{Segment, sorted};
use crate::search::weights::Weights;
use crate::search::words::Term;

/// Segments in the order of their groups. The servers are one layer; a session's own tools are another, so that a
/// session costs only what it adds.
#[derive(Default)]
pub(super) struct Layer {
    pub segments: Vec<Arc<Segment>>,
    lexicon: Lexicon,
    pub n_tools: usize,
}

impl Layer {
    /// The layer with other tools of one group; no other group's segments are touched.
    pub fn replace(&self, group: &Group, tools: Option<&Tools>, weights: &Weights) -> Layer {
        let start = self.segments.partition_point(|it| it.group < *group);
        let end = self.segments.partition_point(|it| it.group <= *group);
        let mut segments = self.segments.clone();
        let mut lexicon = None;
        let mut new = Vec::new();
        let gone: Vec<Arc<Segment>> = segments.splice(start..end, []).collect();
        for gone in &gone {
            lexicon = Some(
                lexicon
                    .as_ref()
                    .unwrap_or(&self.lexicon)
                    .replace(&gone.terms(), &[]),
            );
        }
        let sorted = tools.map(sorted).unwrap_or_default();
        for chunk in sorted.chunks(Segment::MAX_TOOLS) {
            let (segment, words) = Segment::build(group.clone(), chunk, weights);
            lexicon = Some(
                lexicon
                    .as_ref()
                    .unwrap_or(&self.lexicon)
                    .replace(&[], &words),
            );
            new.push(Arc::new(segment));
        }
        segments.splice(start..start, new);
        Layer {
            n_tools: segments.iter().map(|segment| segment.tools.len()).sum(),
            segments,
            lexicon: lexicon.unwrap_or_else(|| self.lexicon.clone()),
        }
    }
}

/// What is known of the tools of several layers.
pub(super) struct Statistics<'a> {
    pub layers: [&'a Layer; 2],
    pub n_tools: usize,
}

impl<'a> Statistics<'a> {
    pub fn new(layers: [&'a Layer; 2]) -> Statistics<'a> {
        Statistics {
            n_tools: layers.iter().map(|layer| layer.n_tools).sum(),
            layers,
        }
    }

    pub fn n_tools(&self, term: Term) -> u32 {
        self.layers
            .iter()
            .map(|layer| layer.lexicon.n_tools(term))
            .sum()
    }

    /// BM25's inverse document frequency; 0 for a word that no tool has.
    pub fn idf(&self, term: Term) -> f32 {
        let with = self.n_tools(term) as f32;
        if with == 0.0 {
            return 0.0;
        }
        (1.0 + (self.n_tools as f32 - with + 0.5) / (with + 0.5)).ln()
    }

    pub fn like(&self, unknown: &str, mut take: impl FnMut(Likeness, Term)) {
        for layer in self.layers {
            layer
                .lexicon
                .like(unknown, |likeness, term, _| take(likeness, term));
        }
    }

    pub fn segments(&self) -> impl Iterator<Item = &'a Arc<Segment>> + use<'a> {
        self.layers.into_iter().flat_map(|layer| &layer.segments)
    }
}
