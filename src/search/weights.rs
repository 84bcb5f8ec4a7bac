//! The numbers that the ranking was tuned to, in one place.

use crate::search::fields::{Limits, N_FIELDS, Weighing};

/// Everything that was measured; `tests/it/search_quality.rs` holds what came of it.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    /// In the order of [`crate::search::fields::Field`].
    pub fields: [Weighing; N_FIELDS],
    pub limits: Limits,
    /// BM25's saturation: how soon more of the same word stops to count.
    pub saturation: f32,
    /// What a near-synonym counts of the word itself.
    pub synonym: f32,
    /// What a word counts that begins with an unknown query word, or is a beginning of it.
    pub prefix: f32,
    /// What a word counts that differs from an unknown query word by one letter.
    pub typo: f32,
    /// How much more a word counts that is asked for several times, by the logarithm of how often.
    pub repetition: f32,
    /// What a filler word counts of another one, in a query of at least so many words.
    pub filler: f32,
    pub filler_from: usize,
    /// A part of a query has at least so many words, and a query that is cut in parts at least so many in all.
    pub part_from: usize,
    pub parts_from: usize,
    /// How much the best part counts against the whole query.
    pub part: f32,
    /// How much name, description and parameters count for the direction of a tool, however long they are.
    pub directions: [f32; 3],
    /// How much the words count against the meaning.
    pub words: Share,
    /// The same where the meaning is a sentence encoder's.
    pub words_beside_sentences: Share,
    /// The tools whose names are compared with the query, and by which servers are compared.
    pub pool: usize,
    /// What a tool gains whose name the query covers whole.
    pub name_coverage: f32,
    /// The cosine from which on a query's word covers a bit of another one in a name.
    pub alike_from: f32,
    /// What the tools of the best server gain.
    pub server: f32,
    /// The best tools of a server that count for it.
    pub tools_of_a_server: u32,
    /// What a tool gains by an alias that is the whole query; by one that is a part of it, that part.
    pub alias: f32,
}

/// The longer a query, the more its words count against its meaning.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub base: f32,
    /// For each word.
    pub slope: f32,
    pub least: f32,
    pub most: f32,
}

impl Share {
    pub fn of(&self, n_words: usize) -> f32 {
        (self.base + self.slope * n_words as f32).clamp(self.least, self.most)
    }
}

impl Default for Weights {
    fn default() -> Weights {
        let field = |weight, length_share, usual_length| Weighing {
            weight,
            length_share,
            usual_length,
        };
        Weights {
            fields: [
                field(2.0, 0.5, 3.0),
                field(1.5, 0.7, 1.5),
                field(1.0, 0.4, 20.0),
                field(1.4, 0.4, 4.5),
                field(0.25, 0.2, 25.0),
                field(2.0, 0.0, 3.0),
            ],
            limits: Limits {
                description: 400,
                parameter_text: 200,
                parameter_texts: 2000,
            },
            saturation: 1.5,
            synonym: 0.12,
            prefix: 0.5,
            typo: 0.4,
            repetition: 0.3,
            filler: 0.5,
            filler_from: 6,
            part_from: 4,
            parts_from: 8,
            part: 0.4,
            directions: [1.0, 1.0, 0.3],
            words: Share {
                base: 0.3,
                slope: 0.02,
                least: 0.35,
                most: 0.8,
            },
            words_beside_sentences: Share {
                base: 0.35,
                slope: 0.0,
                least: 0.2,
                most: 0.6,
            },
            pool: 50,
            name_coverage: 0.4,
            alike_from: 0.1,
            server: 0.2,
            tools_of_a_server: 3,
            alias: 1.0,
        }
    }
}
