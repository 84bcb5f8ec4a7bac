//! The sentence encoder with the real model, where it is installed: does it say what the model's own library says?

use serde::Deserialize;
use toolcrib::encoder::Folders;
use toolcrib::encoder::model::{self, Failure};
use toolcrib::search::encoder::sentence::Sentence;

/// A text, and the vector that sentence-transformers 6.2 makes of it with all-MiniLM-L6-v2 and 128 tokens at most: a
/// signed byte a number, in hexadecimal digits.
#[derive(Deserialize)]
struct Expected {
    text: String,
    vector: String,
}

impl Expected {
    fn sentence(&self) -> Sentence {
        let byte = |at| u8::from_str_radix(&self.vector[at..at + 2], 16).unwrap() as i8;
        Sentence::of_bytes((0..self.vector.len()).step_by(2).map(byte).collect())
    }
}

#[test]
fn sentences_are_those_of_the_reference_library() {
    let folders = Folders::of_this_process(None);
    let loaded = match model::load(&folders.models) {
        Ok(loaded) => loaded,
        Err(failure @ Failure::Nowhere { .. }) => {
            println!("skipped: {failure}");
            return;
        }
        Err(failure) => panic!("{failure}"),
    };
    let lines = include_str!("../fixtures/sentences.jsonl").lines();
    let mut expected: Vec<Expected> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The arithmetic is some hundred times slower without optimisation.
    if cfg!(debug_assertions) {
        expected.retain(|it| it.text.len() < 32);
    }
    let texts: Vec<&str> = expected.iter().map(|it| it.text.as_str()).collect();
    let found = loaded.encoder.encode(&texts);
    let wrong: Vec<_> = expected
        .iter()
        .zip(&found)
        .map(|(expected, found)| (&expected.text, expected.sentence().cosine(found)))
        .filter(|(_, cosine)| *cosine < 0.999)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
