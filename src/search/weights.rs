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
    /// What two words of the query count that a tool writes as one, as `file system` for `filesystem`.
    pub joined: f32,
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
    /// Where the meaning of a query is that of its words.
    pub by_words: Blend,
    /// Where it is a sentence encoder's.
    pub by_sentences: Blend,
    /// What word vectors count of the meaning beside a sentence encoder, as far as the query's words are some tool's:
    /// not at all below the first number, whole above the second. A word that no tool has is worth at least so much.
    pub word_vectors: f32,
    pub fits: (f32, f32),
    pub unknown_worth: f32,
    /// From this cosine of a sentence encoder on, some tool means what the query means, whatever the user's keywords say.
    pub sure_meaning: f32,
    /// The tools whose names are compared with the query, and by which servers are compared.
    pub pool: usize,
    /// The cosine from which on a query's word covers a bit of another one in a name.
    pub alike_from: f32,
    /// What the tools of the best server gain.
    pub server: f32,
    /// The best tools of a server that count for it.
    pub tools_of_a_server: u32,
    /// What a tool gains by an alias that is the whole query; by one that is a part of it, that part.
    pub alias: f32,
}

/// What words, meaning and name come to together.
#[derive(Clone, Debug)]
pub(super) struct Blend {
    /// How much the words count against the meaning: at first, more for each word of the query, at least, at most.
    pub words_base: f32,
    pub words_slope: f32,
    pub words_least: f32,
    pub words_most: f32,
    /// What a tool gains whose name the query covers whole.
    pub name_coverage: f32,
    /// What a tool gains that covers the query whole.
    pub query_coverage: f32,
    /// What it gains besides if both are true.
    pub mutual_coverage: f32,
}

impl Blend {
    /// What a tool gains whose name the query covers to such a share, and that covers such a share of the query.
    pub fn coverage(&self, name: f32, query: f32) -> f32 {
        self.name_coverage * name
            + self.query_coverage * query
            + self.mutual_coverage * name * query
    }

    /// The longer a query, the more its words count against its meaning.
    pub fn words(&self, n_words: usize) -> f32 {
        let share = self.words_base + self.words_slope * n_words as f32;
        share.clamp(self.words_least, self.words_most)
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
                field(0.3, 0.2, 25.0),
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
            joined: 0.8,
            repetition: 0.3,
            filler: 0.5,
            filler_from: 6,
            part_from: 4,
            parts_from: 8,
            part: 0.4,
            directions: [1.0, 1.0, 0.3],
            by_words: Blend {
                words_base: 0.3,
                words_slope: 0.02,
                words_least: 0.35,
                words_most: 0.8,
                name_coverage: 0.4,
                query_coverage: 0.25,
                mutual_coverage: 0.3,
            },
            by_sentences: Blend {
                words_base: 0.2,
                words_slope: 0.02,
                words_least: 0.25,
                words_most: 0.5,
                name_coverage: 0.2,
                query_coverage: 0.0,
                mutual_coverage: 0.0,
            },
            word_vectors: 0.2,
            fits: (0.2, 0.5),
            unknown_worth: 3.0,
            sure_meaning: 0.5,
            pool: 50,
            alike_from: 0.1,
            server: 0.2,
            tools_of_a_server: 3,
            alias: 1.0,
        }
    }
}
