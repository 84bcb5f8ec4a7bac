//! A model of a few hundred numbers, which look random and are the same each time.

use std::collections::BTreeMap;

use serde_json::json;

use crate::search::encoder::matrix::{halve, whole};
use crate::search::encoder::{Encoder, Files, Unsuited};

pub const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nopen\nclose\ndoor\nwindow\n##s";
pub const WIDTH: usize = 8;
pub const INNER: usize = 20;
pub const HEADS: usize = 2;
pub const LAYERS: usize = 2;
pub const PLACES: usize = 12;

/// Numbers that look random, and are the same each time.
struct Random(u64);

impl Random {
    fn numbers(&mut self, n: usize) -> Vec<f32> {
        let next = |_| {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(next).collect()
    }
}

fn shapes() -> Vec<(String, Vec<usize>)> {
    let mut res = vec![
        (
            "embeddings.word_embeddings.weight".to_owned(),
            vec![9, WIDTH],
        ),
        (
            "embeddings.position_embeddings.weight".to_owned(),
            vec![PLACES, WIDTH],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![2, WIDTH],
        ),
    ];
    let mut part = |name: String, shape: &[usize]| {
        res.push((format!("{name}.weight"), shape.to_vec()));
        res.push((format!("{name}.bias"), shape[..1].to_vec()));
    };
    part("embeddings.LayerNorm".to_owned(), &[WIDTH]);
    for layer in 0..LAYERS {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        for linear in ["query", "key", "value"] {
            part(name(&format!("attention.self.{linear}")), &[WIDTH, WIDTH]);
        }
        part(name("attention.output.dense"), &[WIDTH, WIDTH]);
        part(name("attention.output.LayerNorm"), &[WIDTH]);
        part(name("intermediate.dense"), &[INNER, WIDTH]);
        part(name("output.dense"), &[WIDTH, INNER]);
        part(name("output.LayerNorm"), &[WIDTH]);
    }
    res
}

pub struct Small {
    pub tensors: BTreeMap<String, Vec<f32>>,
    pub config: String,
    pub file: Vec<u8>,
}

impl Small {
    pub fn made_up() -> Small {
        let mut random = Random(7);
        let (mut header, mut bytes) = (serde_json::Map::new(), Vec::new());
        let mut tensors = BTreeMap::new();
        for (name, shape) in shapes() {
            let numbers = random.numbers(shape.iter().product());
            // What 16 bits hold, so that both networks have the very same weights.
            let numbers: Vec<f32> = numbers.iter().map(|it| whole(halve(*it))).collect();
            let start = bytes.len();
            bytes.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
            let entry =
                json!({"dtype": "F32", "shape": shape, "data_offsets": [start, bytes.len()]});
            header.insert(name.clone(), entry);
            tensors.insert(name, numbers);
        }
        let header = serde_json::Value::Object(header).to_string();
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(bytes);
        let config = json!({"model_type": "bert", "hidden_act": "gelu", "vocab_size": 9,
            "max_position_embeddings": PLACES, "hidden_size": WIDTH, "intermediate_size": INNER,
            "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "layer_norm_eps": 1e-12});
        Small {
            tensors,
            config: config.to_string(),
            file,
        }
    }

    pub fn encoder(&self) -> Result<Encoder, Unsuited> {
        Encoder::new(&Files {
            config: &self.config,
            pooling: None,
            tokenizer: None,
            vocabulary: VOCABULARY,
            weights: &self.file,
        })
    }
}
