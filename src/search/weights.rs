//! The numbers that the ranking was tuned to, in one place.

use crate::search::fields::{Limits, N_FIELDS, Weighing};

/// Everything that was measured; see `benches/` and `examples/rank.rs` for how.
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
    /// What a tool gains whose name the query covers whole.
    pub name_coverage: f32,
    /// What the tools of the best server gain.
    pub server: f32,
    /// The part that words have in a score where a sentence encoder has the rest.
    pub words_beside_sentences: f32,
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
            ],
            limits: Limits {
                description: 300,
                parameter_text: 200,
                parameter_texts: 2000,
            },
            saturation: 1.5,
            synonym: 0.12,
            prefix: 0.5,
            typo: 0.4,
            name_coverage: 0.5,
            server: 0.7,
            words_beside_sentences: 0.35,
        }
    }
}
