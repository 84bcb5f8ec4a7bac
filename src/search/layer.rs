//! Groups of tools that are indexed together, and what is known of all of them.

use std::sync::Arc;

use crate::catalog::Tools;
use crate::search::lexicon::{Lexicon, Likeness};
use crate::search::segment::{Segment, Words, sorted};
use crate::search::weights::Weights;
use crate::search::words::Term;
use crate::search::{Group, Options};

/// Segments in the order of their groups. The servers are one layer; a session's own tools are another, so that a
/// session costs only what it adds.
#[derive(Default)]
pub(super) struct Layer {
    pub segments: Vec<Arc<Segment>>,
    lexicon: Arc<Lexicon>,
    pub n_tools: usize,
}

impl Layer {
    /// The layer with other tools of one group; no other group's segments are touched.
    pub fn replace(
        &self,
        group: &Group,
        tools: Option<&Tools>,
        options: &Options,
        weights: &Weights,
    ) -> Layer {
        let start = self.segments.partition_point(|it| it.group < *group);
        let end = self.segments.partition_point(|it| it.group <= *group);
        let mut segments = self.segments.clone();
        let gone: Vec<Arc<Segment>> = segments.splice(start..end, []).collect();
        let sorted = tools.map(sorted).unwrap_or_default();
        let (new, words): (Vec<Arc<Segment>>, Vec<Words>) = sorted
            .chunks(Segment::MAX_TOOLS)
            .map(|tools| Segment::build(group.clone(), tools, options, weights))
            .map(|(segment, words)| (Arc::new(segment), words))
            .unzip();
        let none = Words::default();
        let mut lexicon = self.lexicon.clone();
        for at in 0..gone.len().max(new.len()) {
            let gone = gone.get(at).map(|segment| segment.terms());
            let new = words.get(at).unwrap_or(&none);
            lexicon = Arc::new(lexicon.replace(gone.as_deref().unwrap_or(&[]), new));
        }
        let n_tools = |segments: &[Arc<Segment>]| -> usize {
            segments.iter().map(|segment| segment.tools.len()).sum()
        };
        let n_tools = self.n_tools - n_tools(&gone) + n_tools(&new);
        segments.splice(start..start, new);
        Layer {
            n_tools,
            segments,
            lexicon,
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
        match self.n_tools(term) {
            0 => 0.0,
            with => self.idf_of(with),
        }
    }

    /// The same of a word that so many tools have.
    pub fn idf_of(&self, with: u32) -> f32 {
        let (all, with) = (self.n_tools as f32, with as f32);
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
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
