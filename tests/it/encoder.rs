//! The sentence encoder with the real model, where it is installed: does it say what the model's own library says?

use serde::Deserialize;
use serde_json::json;
use toolcrib::encoder::Folders;
use toolcrib::encoder::model::{self, Failure};
use toolcrib::search::encoder::sentence::Sentence;

use crate::sidecar::{Sidecar, value_of};

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

#[test]
fn a_host_is_told_how_to_get_a_missing_model_and_searches_without_it() {
    let binary = env!("CARGO_BIN_EXE_toolcrib");
    let servers =
        format!("mcp_servers:\n  notes: {{command: {binary:?}, args: [__demo-server, notes]}}\n");
    let with_encoder =
        |value: &str| format!("{servers}tools: {{tool_search: {{encoder: {value}}}}}\n");
    let mut sidecar = Sidecar::start(&with_encoder("nowhere/model"));
    sidecar.request("initialize", json!({"protocolVersion": 1}));
    let log = sidecar.next_notification("log");
    let message = log["params"]["message"].as_str().unwrap();
    assert_eq!(log["params"]["level"], "warning");
    assert!(message.contains("nowhere/model`"), "{message}");
    assert!(message.contains("pip install"), "{message}");

    let assembly = json!({"waitMs": 20000, "contextLength": 1000});
    sidecar.request("assembleTools", assembly);
    let call = json!({"name": "tool_search", "arguments": {"query": "find notes"}});
    let answer = value_of(&sidecar.request("dispatch", call.clone()));
    let first = &answer["matches"][0]["name"];
    assert_eq!(first, "mcp_notes_search_notes", "{answer}");

    // Turned off, nobody looks for a model any more.
    sidecar.write_config(&with_encoder("off"));
    sidecar.request("reload", json!({}));
    let logs = sidecar.notifications();
    assert!(!logs.iter().any(|it| it["method"] == "log"), "{logs:?}");
    let again = value_of(&sidecar.request("dispatch", call));
    assert_eq!(again["matches"], answer["matches"]);
}
