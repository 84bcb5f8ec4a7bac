//! Reads named tensors out of a safetensors file.
//!
//! The file: the length of a header in 8 bytes, the header in JSON (name → type, shape, where), the numbers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::search::encoder::Unsuited;

/// A header longer than this is none: a model has some hundred tensors of a hundred bytes each.
const MAX_HEADER: usize = 4 << 20;

pub(super) struct Tensors<'a> {
    entries: BTreeMap<String, Entry>,
    numbers: &'a [u8],
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Member {
    Tensor(Entry),
    /// `__metadata__`
    Other(#[allow(dead_code)] IgnoredAny),
}

#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'a> Tensors<'a> {
    pub fn parse(file: &'a [u8]) -> Result<Tensors<'a>, Unsuited> {
        let (length, rest) = file.split_first_chunk::<8>().ok_or(Unsuited::Damaged)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        if length > MAX_HEADER || length > rest.len() {
            return Err(Unsuited::Damaged);
        }
        let (header, numbers) = rest.split_at(length);
        let members: BTreeMap<String, Member> =
            serde_json::from_slice(header).map_err(|_| Unsuited::Damaged)?;
        let entries = members.into_iter().filter_map(|(name, it)| match it {
            Member::Tensor(entry) => Some((name, entry)),
            Member::Other(_) => None,
        });
        Ok(Tensors {
            entries: entries.collect(),
            numbers,
        })
    }

    /// The numbers of a tensor of this shape; it may be part of a larger model of which BERT is a part.
    pub fn get(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<impl Iterator<Item = f32> + use<'a>, Unsuited> {
        let size = shape
            .iter()
            .try_fold(size_of::<f32>(), |size, it| size.checked_mul(*it));
        let whole_name = format!("bert.{name}");
        let entry = self
            .entries
            .get(name)
            .or_else(|| self.entries.get(&whole_name));
        let bytes = entry
            .filter(|entry| entry.dtype == "F32" && entry.shape == shape)
            .and_then(|entry| self.numbers.get(entry.data_offsets.0..entry.data_offsets.1))
            .filter(|bytes| Some(bytes.len()) == size)
            .ok_or_else(|| Unsuited::Tensor(name.to_owned()))?;
        let (numbers, _) = bytes.as_chunks::<4>();
        Ok(numbers.iter().map(|it| f32::from_le_bytes(*it)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, numbers: &[f32]) -> Vec<u8> {
        let mut res = (header.len() as u64).to_le_bytes().to_vec();
        res.extend(header.as_bytes());
        res.extend(numbers.iter().flat_map(|it| it.to_le_bytes()));
        res
    }

    const HEADER: &str = r#"{"__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [4, 12]},
        "half": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]},
        "far": {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
        "vast": {"dtype": "F32", "shape": [9223372036854775808, 2], "data_offsets": [0, 0]},
        "lies": {"dtype": "F32", "shape": [3], "data_offsets": [0, 4]},
        "bert.b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#;

    #[test]
    fn finds_tensors_by_name_and_shape() {
        let file = file(HEADER, &[1.0, 2.0, 3.0]);
        let tensors = Tensors::parse(&file).unwrap();
        let get = |name: &str, shape: &[usize]| -> Result<Vec<f32>, Unsuited> {
            Ok(tensors.get(name, shape)?.collect())
        };
        assert_eq!(get("a", &[2, 1]), Ok(vec![2.0, 3.0]));
        assert_eq!(get("b", &[1]), Ok(vec![1.0]));
        for (name, shape) in [
            ("a", &[2][..]),
            ("half", &[2]),
            ("far", &[2]),
            ("lies", &[3]),
            ("vast", &[1 << 63, 2]),
            ("c", &[1]),
        ] {
            let missing = Err(Unsuited::Tensor(name.to_owned()));
            assert_eq!(get(name, shape), missing);
        }
    }

    #[test]
    fn a_damaged_file_is_no_model() {
        let whole = file(HEADER, &[]);
        for damaged in [
            &b""[..],
            b"short",
            &[255; 64],
            &whole[..whole.len() - 1],
            &file("[]", &[]),
        ] {
            assert!(matches!(Tensors::parse(damaged), Err(Unsuited::Damaged)));
        }
    }
}
