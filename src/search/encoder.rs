//! Which sentences mean nearly the same, by a small neural network (BERT, as all-MiniLM-L6-v2 is one)?
//!
//! Optional: the files of a model are handed in, none comes with the binary. All of it is plain arithmetic on the
//! processor, in memory; whoever holds an [`Encoder`] decides when and where it runs.

use serde_json::{Map, Value};

use crate::search::encoder::model::{Model, Shape};
use crate::search::encoder::sentence::Sentence;
use crate::search::encoder::tensors::Tensors;
use crate::search::encoder::tokens::Tokenizer;

mod matrix;
mod model;
pub mod semantic;
pub mod sentence;
mod tensors;
mod tokens;

/// Further words of a text are not read; so the cost of a text has a limit. The model was trained on texts this long.
const MAX_TOKENS: usize = 128;

/// A model that is ready to run.
pub struct Encoder {
    tokenizer: Tokenizer,
    model: Model,
}

/// The contents of a model's files.
pub struct Files<'a> {
    /// `config.json`
    pub config: &'a str,
    /// `1_Pooling/config.json`, which says how a text's vector is made of those of its tokens
    pub pooling: Option<&'a str>,
    /// `tokenizer_config.json`
    pub tokenizer: Option<&'a str>,
    /// `vocab.txt`
    pub vocabulary: &'a str,
    /// `model.safetensors`
    pub weights: &'a [u8],
}

/// Why a model cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsuited {
    #[error("its configuration is not as expected: {0}")]
    Config(String),
    #[error("its `{key}` is {found}, only {expected} is known here")]
    Kind {
        key: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error("its `vocab.txt` has no `{0}`")]
    Vocabulary(&'static str),
    #[error("its vocabulary has {vocabulary} words, its weights are for {weights}")]
    VocabularySize { vocabulary: usize, weights: usize },
    #[error("its `model.safetensors` is damaged or no such file")]
    Damaged,
    #[error(
        "its `model.safetensors` has no `{0}` of 32-bit numbers in the shape that `config.json` says"
    )]
    Tensor(String),
}

impl Encoder {
    pub fn new(files: &Files<'_>) -> Result<Encoder, Unsuited> {
        let shape = Shape::parse(files.config)?;
        check(files.pooling, "pooling_mode_mean_tokens")?;
        check(files.tokenizer, "do_lower_case")?;
        let tokenizer = Tokenizer::new(files.vocabulary)?;
        if tokenizer.len() != shape.vocabulary {
            return Err(Unsuited::VocabularySize {
                vocabulary: tokenizer.len(),
                weights: shape.vocabulary,
            });
        }
        let model = Model::new(shape, &Tensors::parse(files.weights)?)?;
        Ok(Encoder { tokenizer, model })
    }

    /// How many numbers a sentence of this model has.
    pub fn width(&self) -> usize {
        self.model.width()
    }

    /// What the texts say, each by itself; together they are quicker than one after the other.
    pub fn encode<T: AsRef<str>>(&self, texts: &[T]) -> Vec<Sentence> {
        let most = MAX_TOKENS.min(self.model.positions());
        let tokens: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| self.tokenizer.tokens(text.as_ref(), most))
            .collect();
        let vectors = self.model.run(&tokens);
        vectors
            .iter()
            .map(|vector| Sentence::of_numbers(vector))
            .collect()
    }
}

/// A member of a JSON file must be `true`; where there is no such file or member, it is.
fn check(file: Option<&str>, key: &'static str) -> Result<(), Unsuited> {
    let members: Map<String, Value> = serde_json::from_str(file.unwrap_or("{}"))
        .map_err(|error| Unsuited::Config(error.to_string()))?;
    match members.get(key) {
        None | Some(Value::Bool(true)) => Ok(()),
        Some(found) => Err(Unsuited::Kind {
            key,
            found: found.to_string(),
            expected: "true",
        }),
    }
}

#[cfg(test)]
pub mod small;
#[cfg(test)]
mod tests;
