//! The network against a second one, written as plainly as it can be, on small random weights.

use std::collections::BTreeMap;

use crate::search::encoder::small::{HEADS, LAYERS, Small, WIDTH};

use super::*;

impl Small {
    fn linear(&self, name: &str, x: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let weights = &self.tensors[&format!("{name}.weight")];
        let bias = &self.tensors[&format!("{name}.bias")];
        let product = |row: &Vec<f64>, at: usize| -> f64 {
            let weights = &weights[at * row.len()..][..row.len()];
            let terms = row.iter().zip(weights).map(|(a, b)| a * f64::from(*b));
            terms.sum::<f64>() + f64::from(bias[at])
        };
        let apply = |row: &Vec<f64>| (0..bias.len()).map(|at| product(row, at)).collect();
        x.iter().map(apply).collect()
    }

    fn norm(&self, name: &str, x: &mut [Vec<f64>]) {
        let weights = &self.tensors[&format!("{name}.weight")];
        let bias = &self.tensors[&format!("{name}.bias")];
        for row in x {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / row.len() as f64;
            for (at, it) in row.iter_mut().enumerate() {
                *it = (*it - mean) / (variance + 1e-12).sqrt() * f64::from(weights[at])
                    + f64::from(bias[at]);
            }
        }
    }

    /// The mean of the last layer's rows.
    fn run(&self, tokens: &[usize]) -> Vec<f64> {
        let row = |name: &str, at: usize| {
            &self.tensors[&format!("embeddings.{name}.weight")][at * WIDTH..]
        };
        let mut x: Vec<Vec<f64>> = tokens
            .iter()
            .enumerate()
            .map(|(place, token)| {
                let parts = [
                    row("word_embeddings", *token),
                    row("position_embeddings", place),
                    row("token_type_embeddings", 0),
                ];
                (0..WIDTH)
                    .map(|at| parts.iter().map(|it| f64::from(it[at])).sum())
                    .collect()
            })
            .collect();
        self.norm("embeddings.LayerNorm", &mut x);
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let [query, key, value] = ["query", "key", "value"]
                .map(|part| self.linear(&name(&format!("attention.self.{part}")), &x));
            let mut mixed = vec![vec![0.0; WIDTH]; x.len()];
            let part = WIDTH / HEADS;
            for head in 0..HEADS {
                let own = head * part..(head + 1) * part;
                for (query, mixed) in query.iter().zip(&mut mixed) {
                    let fit = |key: &Vec<f64>| -> f64 {
                        let terms = own.clone().map(|at| query[at] * key[at]);
                        (terms.sum::<f64>() / (part as f64).sqrt()).exp()
                    };
                    let fits: Vec<f64> = key.iter().map(fit).collect();
                    let total: f64 = fits.iter().sum();
                    for (fit, value) in fits.iter().zip(&value) {
                        own.clone()
                            .for_each(|at| mixed[at] += fit / total * value[at]);
                    }
                }
            }
            let added = |x: &[Vec<f64>], y: &[Vec<f64>]| -> Vec<Vec<f64>> {
                let add =
                    |(a, b): (&Vec<f64>, &Vec<f64>)| a.iter().zip(b).map(|(a, b)| a + b).collect();
                x.iter().zip(y).map(add).collect()
            };
            x = added(&x, &self.linear(&name("attention.output.dense"), &mixed));
            self.norm(&name("attention.output.LayerNorm"), &mut x);
            let mut inner = self.linear(&name("intermediate.dense"), &x);
            inner
                .iter_mut()
                .flatten()
                .for_each(|it| *it = *it * 0.5 * (1.0 + erf(*it / 2f64.sqrt())));
            x = added(&x, &self.linear(&name("output.dense"), &inner));
            self.norm(&name("output.LayerNorm"), &mut x);
        }
        (0..WIDTH)
            .map(|at| x.iter().map(|row| row[at]).sum::<f64>() / x.len() as f64)
            .collect()
    }
}

/// By its power series, which is quick and exact enough for small numbers; 1 for large ones.
fn erf(x: f64) -> f64 {
    if x.abs() > 5.0 {
        return x.signum();
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

const TEXTS: [(&str, &[usize]); 4] = [
    ("open doors", &[2, 4, 6, 8, 3]),
    ("", &[2, 3]),
    (
        "close the window, open the door",
        &[2, 5, 1, 7, 1, 4, 1, 6, 3],
    ),
    ("window", &[2, 7, 3]),
];

#[test]
fn the_network_does_what_a_plain_one_does() {
    let small = Small::made_up();
    let encoder = small.encoder().unwrap();
    let tokens: Vec<Vec<u32>> = TEXTS
        .iter()
        .map(|(text, expected)| {
            let tokens = encoder.tokenizer.tokens(text, MAX_TOKENS);
            let found: Vec<usize> = tokens.iter().map(|it| *it as usize).collect();
            assert_eq!(found, *expected, "{text}");
            tokens
        })
        .collect();
    for ((text, tokens), found) in TEXTS.iter().zip(encoder.model.run(&tokens)) {
        for (found, expected) in found.iter().zip(small.run(tokens)) {
            assert!(
                (f64::from(*found) - expected).abs() < 1e-4,
                "{text}: {found} {expected}"
            );
        }
    }
}

#[test]
fn a_text_says_the_same_alone_and_among_others() {
    let encoder = Small::made_up().encoder().unwrap();
    let texts = TEXTS.map(|(text, _)| text);
    let together = encoder.encode(&texts);
    for (text, sentence) in texts.iter().zip(together) {
        assert_eq!(encoder.encode(&[text]), [sentence], "{text}");
    }
}

#[test]
fn a_longer_text_than_the_model_has_places_is_cut() {
    let encoder = Small::made_up().encoder().unwrap();
    let long = "open ".repeat(1000);
    assert_eq!(
        encoder.encode(&[&long]),
        encoder.encode(&["open ".repeat(10)])
    );
}

#[test]
fn files_that_do_not_fit_one_another_are_refused() {
    let small = Small::made_up();
    let refused = |change: &dyn Fn(&mut Small)| {
        let mut small = Small {
            tensors: BTreeMap::new(),
            config: small.config.clone(),
            file: small.file.clone(),
        };
        change(&mut small);
        small.encoder().err().map(|error| error.to_string())
    };
    assert_eq!(refused(&|_| {}), None);
    let replace = |from: &'static str, to: &'static str| {
        move |small: &mut Small| small.config = small.config.replace(from, to)
    };
    assert_eq!(
        refused(&replace("\"vocab_size\":9", "\"vocab_size\":10")).as_deref(),
        Some("its vocabulary has 9 words, its weights are for 10")
    );
    assert_eq!(
        refused(&replace(
            "\"num_hidden_layers\":2",
            "\"num_hidden_layers\":3"
        ))
        .as_deref(),
        Some(
            "its `model.safetensors` has no `encoder.layer.2.attention.self.query.weight` of 32-bit numbers in the \
             shape that `config.json` says"
        )
    );
    assert_eq!(
        refused(&|small| small.file.truncate(small.file.len() - 1)).as_deref(),
        Some(
            "its `model.safetensors` has no `encoder.layer.1.output.LayerNorm.bias` of 32-bit numbers in the shape \
             that `config.json` says"
        )
    );
}
