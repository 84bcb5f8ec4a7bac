//! Runs the network: from the tokens of texts to one vector a text.

use serde::Deserialize;

use crate::search::encoder::Unsuited;
use crate::search::encoder::matrix::{Linear, halve, whole};
use crate::search::encoder::tensors::Tensors;

/// How large a model is, and of which kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub vocabulary: usize,
    positions: usize,
    width: usize,
    inner_width: usize,
    heads: usize,
    layers: usize,
    epsilon: f32,
}

pub(super) struct Model {
    shape: Shape,
    /// A row for each token, in halves as in `Linear`.
    words: Box<[u16]>,
    /// A row for each place in the text; that of the first kind of text is added, for there is no second text.
    places: Box<[f32]>,
    norm: Norm,
    layers: Box<[Layer]>,
}

struct Layer {
    /// Queries, keys and values side by side.
    attention: Linear,
    mixed: Linear,
    mixed_norm: Norm,
    inner: Linear,
    outer: Linear,
    outer_norm: Norm,
}

/// Brings each row to mean 0 and variance 1, then to what the model has learnt.
struct Norm {
    weights: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    vocab_size: usize,
    max_position_embeddings: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_attention_heads: usize,
    num_hidden_layers: usize,
    layer_norm_eps: f32,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl Shape {
    /// From a `config.json`.
    pub fn parse(config: &str) -> Result<Shape, Unsuited> {
        let config: Config =
            serde_json::from_str(config).map_err(|error| Unsuited::Config(error.to_string()))?;
        for (key, found, expected) in [
            ("model_type", config.model_type, "bert"),
            ("hidden_act", config.hidden_act, "gelu"),
            (
                "position_embedding_type",
                config.position_embedding_type,
                "absolute",
            ),
        ] {
            if found != expected {
                return Err(Unsuited::Kind {
                    key,
                    found,
                    expected,
                });
            }
        }
        let heads = config.num_attention_heads;
        if heads == 0 || config.hidden_size == 0 || !config.hidden_size.is_multiple_of(heads) {
            let message = format!(
                "{heads} heads do not share a width of {}",
                config.hidden_size
            );
            return Err(Unsuited::Config(message));
        }
        if config.max_position_embeddings < 2 || config.intermediate_size == 0 {
            let message = "a model of no size".to_owned();
            return Err(Unsuited::Config(message));
        }
        Ok(Shape {
            vocabulary: config.vocab_size,
            positions: config.max_position_embeddings,
            width: config.hidden_size,
            inner_width: config.intermediate_size,
            heads,
            layers: config.num_hidden_layers,
            epsilon: config.layer_norm_eps,
        })
    }
}

impl Model {
    pub fn new(shape: Shape, tensors: &Tensors<'_>) -> Result<Model, Unsuited> {
        let (width, inner) = (shape.width, shape.inner_width);
        let get = |name: &str, shape: &[usize]| -> Result<Vec<f32>, Unsuited> {
            Ok(tensors.get(name, shape)?.collect())
        };
        let weights =
            |name: &str, n_out: usize, n_in: usize| get(&format!("{name}.weight"), &[n_out, n_in]);
        let bias = |name: &str, n_out: usize| get(&format!("{name}.bias"), &[n_out]);
        let linear = |name: &str, n_out: usize, n_in: usize| -> Result<Linear, Unsuited> {
            Ok(Linear::new(
                n_in,
                &weights(name, n_out, n_in)?,
                &bias(name, n_out)?,
            ))
        };
        let norm = |name: &str| -> Result<Norm, Unsuited> {
            Ok(Norm {
                weights: get(&format!("{name}.weight"), &[width])?,
                bias: bias(name, width)?,
                epsilon: shape.epsilon,
            })
        };
        let layer = |number: usize| -> Result<Layer, Unsuited> {
            let name = |part: &str| format!("encoder.layer.{number}.{part}");
            let mut attention = (Vec::new(), Vec::new());
            for part in ["query", "key", "value"] {
                let name = name(&format!("attention.self.{part}"));
                attention.0.extend(weights(&name, width, width)?);
                attention.1.extend(bias(&name, width)?);
            }
            Ok(Layer {
                attention: Linear::new(width, &attention.0, &attention.1),
                mixed: linear(&name("attention.output.dense"), width, width)?,
                mixed_norm: norm(&name("attention.output.LayerNorm"))?,
                inner: linear(&name("intermediate.dense"), inner, width)?,
                outer: linear(&name("output.dense"), width, inner)?,
                outer_norm: norm(&name("output.LayerNorm"))?,
            })
        };
        let words = tensors.get(
            "embeddings.word_embeddings.weight",
            &[shape.vocabulary, width],
        )?;
        let mut places = weights("embeddings.position_embeddings", shape.positions, width)?;
        let kinds = weights("embeddings.token_type_embeddings", 2, width)?;
        for place in places.chunks_exact_mut(width) {
            add(place, &kinds[..width]);
        }
        Ok(Model {
            words: words.map(halve).collect(),
            places: places.into(),
            norm: norm("embeddings.LayerNorm")?,
            layers: (0..shape.layers).map(layer).collect::<Result<_, _>>()?,
            shape,
        })
    }

    pub fn width(&self) -> usize {
        self.shape.width
    }

    /// How many tokens a text may have.
    pub fn positions(&self) -> usize {
        self.shape.positions
    }

    /// The mean of what the network makes of a text's tokens, for each text.
    pub fn run(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let width = self.shape.width;
        // The rows of all texts stand below one another; only in the attention does a text stay by itself.
        let mut rows = self.embed(texts);
        for layer in &self.layers {
            let attention = layer.attention.apply(&rows);
            let mut mixed = Vec::with_capacity(rows.len());
            let mut first = 0;
            for text in texts {
                let end = first + text.len() * 3 * width;
                self.attend(&attention[first..end], &mut mixed);
                first = end;
            }
            add(&mut rows, &layer.mixed.apply(&mixed));
            layer.mixed_norm.apply(&mut rows);
            let mut inner = layer.inner.apply(&rows);
            inner.iter_mut().for_each(|it| *it = gelu(*it));
            add(&mut rows, &layer.outer.apply(&inner));
            layer.outer_norm.apply(&mut rows);
        }
        let mut left = &rows[..];
        let mean = |text: &Vec<u32>| {
            let own = left.split_off(..text.len() * width).unwrap_or_default();
            let mut sum = vec![0.0; width];
            own.chunks_exact(width).for_each(|row| add(&mut sum, row));
            let share = 1.0 / text.len().max(1) as f32;
            sum.iter_mut().for_each(|it| *it *= share);
            sum
        };
        texts.iter().map(mean).collect()
    }

    fn embed(&self, texts: &[Vec<u32>]) -> Vec<f32> {
        let width = self.shape.width;
        let mut rows = Vec::with_capacity(texts.iter().map(Vec::len).sum::<usize>() * width);
        for text in texts {
            for (token, place) in text.iter().zip(self.places.chunks_exact(width)) {
                let word = &self.words[*token as usize * width..][..width];
                rows.extend(word.iter().zip(place).map(|(word, it)| whole(*word) + it));
            }
        }
        self.norm.apply(&mut rows);
        rows
    }

    /// Each token of one text looks at all of them: the mean of their values, by how well its query fits their keys.
    fn attend(&self, rows: &[f32], out: &mut Vec<f32>) {
        let (width, part) = (self.shape.width, self.shape.width / self.shape.heads);
        let n_tokens = rows.len() / (3 * width);
        let scale = 1.0 / (part as f32).sqrt();
        let start = out.len();
        out.resize(start + n_tokens * width, 0.0);
        let mut keys = vec![0.0; part * n_tokens];
        let mut fits = vec![0.0; n_tokens];
        for head in (0..width).step_by(part) {
            for (token, row) in rows.chunks_exact(3 * width).enumerate() {
                for (at, key) in row[width + head..][..part].iter().enumerate() {
                    keys[at * n_tokens + token] = *key;
                }
            }
            let out = out[start..].chunks_exact_mut(width);
            for (row, out) in rows.chunks_exact(3 * width).zip(out) {
                fits.fill(0.0);
                for (query, keys) in row[head..][..part].iter().zip(keys.chunks_exact(n_tokens)) {
                    add_times(&mut fits, query * scale, keys);
                }
                softmax(&mut fits);
                let mean = &mut out[head..][..part];
                for (fit, row) in fits.iter().zip(rows.chunks_exact(3 * width)) {
                    add_times(mean, *fit, &row[2 * width + head..][..part]);
                }
            }
        }
    }
}

impl Norm {
    fn apply(&self, rows: &mut [f32]) {
        let width = self.weights.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = sum(row, |it| it) / width as f32;
            let variance = sum(row, |it| (it - mean) * (it - mean)) / width as f32;
            let scale = 1.0 / (variance + self.epsilon).sqrt();
            for ((it, weight), bias) in row.iter_mut().zip(&self.weights).zip(&self.bias) {
                *it = (*it - mean) * scale * weight + bias;
            }
        }
    }
}

fn add(sum: &mut [f32], other: &[f32]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += other;
    }
}

fn add_times(sum: &mut [f32], times: f32, other: &[f32]) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum += times * other;
    }
}

/// A sum in eight lanes, which the processor can add at once; in one, each step would wait for the one before.
fn sum(numbers: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (eights, rest) = numbers.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for eight in eights {
        for (lane, number) in lanes.iter_mut().zip(eight) {
            *lane += of(*number);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|it| of(*it)).sum::<f32>()
}

fn softmax(numbers: &mut [f32]) {
    let largest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    numbers.iter_mut().for_each(|it| *it = exp(*it - largest));
    let share = 1.0 / sum(numbers, |it| it);
    numbers.iter_mut().for_each(|it| *it *= share);
}

/// x·Φ(x), with Φ by Abramowitz and Stegun's formula 7.1.26, whose error is below 1.5e-7.
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let polynomial = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t
        + 0.254_829_6)
        * t;
    let beyond = 0.5 * polynomial * exp(-z * z);
    x * if x < 0.0 { beyond } else { 1.0 - beyond }
}

/// The exponential to about seven digits, made of steps that a processor does for many numbers at once; 0 far below.
fn exp(x: f32) -> f32 {
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Adding and taking away 1.5·2²³ rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    let rest = x - whole * LN_2_HIGH - whole * LN_2_LOW;
    let power = 1.0
        + rest
            * (1.0
                + rest
                    * (0.5
                        + rest
                            * (0.166_666_67
                                + rest
                                    * (0.041_666_67
                                        + rest * (0.008_333_333 + rest * 0.001_388_889)))));
    // The whole number stands in the lowest bits of `rounded`; moved up, it is a power of two's exponent.
    power * f32::from_bits((rounded.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_norm_brings_rows_to_mean_and_variance() {
        let norm = Norm {
            weights: vec![2.0; 10],
            bias: vec![1.0; 10],
            epsilon: 1e-12,
        };
        let mut rows: Vec<f32> = (0..20).map(|it| ((it * it) % 17) as f32).collect();
        norm.apply(&mut rows);
        for row in rows.chunks(10) {
            let mean = row.iter().sum::<f32>() / 10.0;
            let variance = row.iter().map(|it| (it - mean).powi(2)).sum::<f32>() / 10.0;
            assert!((mean - 1.0).abs() < 1e-5, "{mean}");
            assert!((variance - 4.0).abs() < 1e-4, "{variance}");
        }
    }

    #[test]
    fn a_softmax_shares_one_by_size() {
        let mut numbers = [1.0, 2.0, 3.0, -1000.0];
        softmax(&mut numbers);
        let expected = [0.090_030_57, 0.244_728_48, 0.665_240_94, 0.0];
        for (number, expected) in numbers.iter().zip(expected) {
            assert!((number - expected).abs() < 1e-6, "{numbers:?}");
        }
    }

    #[test]
    fn the_exponential_is_right_to_six_digits() {
        for step in -870..=880 {
            let x = step as f32 / 10.0;
            let error = (f64::from(exp(x)) / f64::from(x).exp() - 1.0).abs();
            assert!(error < 3e-6, "{x}: {error}");
        }
        assert!(exp(-1e30) < 1e-37);
    }

    #[test]
    fn gelu_is_the_exact_one() {
        // Values of x·Φ(x) to six digits.
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_345),
            (-1.0, -0.158_655),
            (0.5, 0.345_731),
            (-3.0, -0.004_049_7),
            (10.0, 10.0),
            (-20.0, 0.0),
        ] {
            assert!((gelu(x) - expected).abs() < 2e-6, "{x}: {}", gelu(x));
        }
    }

    #[test]
    fn only_the_known_kind_of_model_is_taken() {
        let config = |changes: &[(&str, serde_json::Value)]| {
            let mut res = serde_json::json!({"model_type": "bert", "hidden_act": "gelu", "vocab_size": 9,
                "max_position_embeddings": 8, "hidden_size": 4, "intermediate_size": 8, "num_attention_heads": 2,
                "num_hidden_layers": 1, "layer_norm_eps": 1e-12});
            for (key, value) in changes {
                res[key] = value.clone();
            }
            Shape::parse(&res.to_string())
                .map(drop)
                .map_err(|error| error.to_string())
        };
        assert_eq!(config(&[]), Ok(()));
        let refused = [
            (
                ("model_type", "roberta".into()),
                "its `model_type` is roberta, only bert is known here",
            ),
            (
                ("hidden_act", "relu".into()),
                "its `hidden_act` is relu, only gelu is known here",
            ),
            (
                ("num_attention_heads", 3.into()),
                "its configuration is not as expected: 3 heads do not share a width of 4",
            ),
        ];
        for (change, message) in refused {
            assert_eq!(config(&[change]), Err(message.to_owned()));
        }
        assert!(Shape::parse("{}").is_err());
    }
}
