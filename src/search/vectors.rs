//! How near in meaning are two texts, by the static word vectors that the binary carries?
//!
//! One small vector a word stem, made by `scripts/static_vectors`; a text points where the sum of its stems points.
//! The table is used where it lies in the binary: nothing is read, parsed or allocated before the first look-up.

use std::num::NonZeroU32;

/// How many numbers a vector has.
pub const DIMS: usize = 96;

const MAGIC: &[u8; 8] = b"tcvec\0\0\x01";

static EMBEDDED: Vectors<'static> = match Vectors::parse(include_bytes!("vectors.bin")) {
    Some(vectors) => vectors,
    None => panic!("`vectors.bin` is not a table of this version and width"),
};

/// Where the table has a stem; the same in every process of one build.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(NonZeroU32);

impl Place {
    fn new(index: usize) -> Option<Place> {
        u32::try_from(index + 1)
            .ok()
            .and_then(NonZeroU32::new)
            .map(Place)
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A table of stems in byte order, each with its row.
///
/// The bytes, all numbers little-endian: 8 of magic and version; the width and the number of stems, 4 each; where each
/// stem ends within the text that follows, 4 each; that text; the rows, one signed byte a number, on one common scale.
#[derive(Debug)]
pub struct Vectors<'a> {
    ends: &'a [u8],
    text: &'a [u8],
    rows: &'a [u8],
}

impl Vectors<'static> {
    /// The table in the binary.
    pub fn embedded() -> &'static Vectors<'static> {
        &EMBEDDED
    }
}

impl<'a> Vectors<'a> {
    const fn parse(bytes: &'a [u8]) -> Option<Self> {
        let Some((magic, rest)) = bytes.split_at_checked(MAGIC.len()) else {
            return None;
        };
        let mut at = 0;
        while at < MAGIC.len() {
            if magic[at] != MAGIC[at] {
                return None;
            }
            at += 1;
        }
        if rest.len() < 8 || number(rest, 0) != DIMS {
            return None;
        }
        let n_stems = number(rest, 1);
        let Some((ends, rest)) = rest.split_at(8).1.split_at_checked(4 * n_stems) else {
            return None;
        };
        let text_len = if n_stems == 0 {
            0
        } else {
            number(ends, n_stems - 1)
        };
        let Some((text, rows)) = rest.split_at_checked(text_len) else {
            return None;
        };
        if rows.len() != n_stems * DIMS {
            return None;
        }
        Some(Self { ends, text, rows })
    }

    /// How many stems have a vector.
    fn len(&self) -> usize {
        self.ends.len() / 4
    }

    /// The direction of a text, given as fields of stems with a weight each.
    ///
    /// Each field's vectors are added, a stem as often as it is given, and brought to length 1 before they are weighed: a long
    /// description does not drown the name. Stems without a vector are passed over; `None` if that leaves nothing.
    pub fn embed(&self, fields: &[(f32, &[Place])]) -> Option<Embedding> {
        let mut direction = [0.0; DIMS];
        for (weight, places) in fields {
            let sum = self.sum(places).map(|total| total as f32);
            let length = length(&sum);
            if length > 0.0 {
                for (total, number) in direction.iter_mut().zip(sum) {
                    *total += weight / length * number;
                }
            }
        }
        Embedding::new(&direction)
    }

    fn sum(&self, places: &[Place]) -> [i32; DIMS] {
        // As many as 16 bits bear, in which twice as many are added at a time as in 32.
        const MOST: usize = (i16::MAX / -(i8::MIN as i16)) as usize;
        let mut res = [0; DIMS];
        for places in places.chunks(MOST) {
            let mut sum = [0i16; DIMS];
            for place in places {
                for (total, &byte) in sum.iter_mut().zip(self.row(*place)) {
                    *total += i16::from(byte as i8);
                }
            }
            for (total, part) in res.iter_mut().zip(sum) {
                *total += i32::from(part);
            }
        }
        res
    }

    /// Where the table has a stem. It costs a dozen comparisons, so it is asked once a word and not once a text.
    pub fn find(&self, stem: &str) -> Option<Place> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.stem(middle).cmp(stem.as_bytes()) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Place::new(middle),
            }
        }
        None
    }

    /// The direction of a single stem.
    pub fn at(&self, place: Place) -> Embedding {
        let row = self.row(place);
        let numbers: [i8; DIMS] = std::array::from_fn(|at| row[at] as i8);
        Embedding::of(numbers)
    }

    fn stem(&self, place: usize) -> &'a [u8] {
        let start = if place == 0 {
            0
        } else {
            number(self.ends, place - 1)
        };
        self.text
            .get(start..number(self.ends, place))
            .unwrap_or_default()
    }

    fn row(&self, place: Place) -> &'a [u8] {
        &self.rows[place.index() * DIMS..(place.index() + 1) * DIMS]
    }
}

/// Where a text points, to within a part in 127.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    numbers: [i8; DIMS],
    /// One over the length of `numbers`.
    scale: f32,
}

impl Embedding {
    fn new(direction: &[f32; DIMS]) -> Option<Self> {
        let largest = largest(direction);
        if !largest.is_normal() {
            return None;
        }
        let numbers = direction.map(|number| nearest(number * (127.0 / largest)));
        Some(Self::of(numbers))
    }

    fn of(numbers: [i8; DIMS]) -> Self {
        let square = dot(&numbers, &numbers);
        let scale = if square > 0 {
            1.0 / (square as f32).sqrt()
        } else {
            0.0
        };
        Self { numbers, scale }
    }

    /// What points nowhere: as far from everything as what is unrelated.
    pub fn nowhere() -> Self {
        Self::of([0; DIMS])
    }

    /// From -1 to 1; 1 for texts that point the same way.
    pub fn cosine(&self, other: &Self) -> f32 {
        dot(&self.numbers, &other.numbers) as f32 * self.scale * other.scale
    }
}

fn dot(a: &[i8; DIMS], b: &[i8; DIMS]) -> i32 {
    a.iter()
        .zip(b)
        .map(|(&a, &b)| i32::from(a) * i32::from(b))
        .sum()
}

fn length(numbers: &[f32; DIMS]) -> f32 {
    numbers
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt()
}

/// The largest of the numbers without their signs. In eight rows, as in one each number would wait for the one before.
fn largest(numbers: &[f32; DIMS]) -> f32 {
    let mut largest = [0.0; 8];
    for numbers in numbers.as_chunks::<8>().0 {
        for (largest, number) in largest.iter_mut().zip(numbers) {
            if number.abs() > *largest {
                *largest = number.abs();
            }
        }
    }
    largest.into_iter().fold(0.0, f32::max)
}

/// The nearest whole number. `f32::round` is a call on processors without SSE4.1.
fn nearest(number: f32) -> i8 {
    (number + 0.5_f32.copysign(number)) as i32 as i8
}

/// The `place`-th of the little-endian 32-bit numbers in `bytes`.
const fn number(bytes: &[u8], place: usize) -> usize {
    let at = 4 * place;
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(stems: &[(&str, i8)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((DIMS as u32).to_le_bytes());
        bytes.extend((stems.len() as u32).to_le_bytes());
        let mut end = 0u32;
        for (stem, _) in stems {
            end += stem.len() as u32;
            bytes.extend(end.to_le_bytes());
        }
        for (stem, _) in stems {
            bytes.extend(stem.as_bytes());
        }
        for (place, (_, number)) in stems.iter().enumerate() {
            let mut row = [0u8; DIMS];
            row[place] = *number as u8;
            bytes.extend(row);
        }
        bytes
    }

    fn places(vectors: &Vectors, text: &str) -> Vec<Place> {
        text.split(' ')
            .filter_map(|stem| vectors.find(stem))
            .collect()
    }

    fn embed(vectors: &Vectors, text: &str) -> Option<Embedding> {
        vectors.embed(&[(1.0, &places(vectors, text))])
    }

    fn cosine(a: &str, b: &str) -> f32 {
        let vectors = Vectors::embedded();
        embed(vectors, a)
            .unwrap()
            .cosine(&embed(vectors, b).unwrap())
    }

    #[test]
    fn the_embedded_table_is_sorted_and_within_two_megabytes() {
        let vectors = Vectors::embedded();
        let stems: Vec<_> = (0..vectors.len())
            .map(|place| vectors.stem(place))
            .collect();
        assert!(stems.len() > 5_000, "{} stems", stems.len());
        assert!(stems.is_sorted_by(|a, b| a < b));
        assert!(include_bytes!("vectors.bin").len() <= 2_000_000);
    }

    #[test]
    fn every_stem_is_found_where_it_stands() {
        let vectors = Vectors::embedded();
        for place in 0..vectors.len() {
            let stem = std::str::from_utf8(vectors.stem(place)).unwrap();
            assert_eq!(vectors.find(stem), Place::new(place), "{stem}");
        }
    }

    #[test]
    fn words_of_one_meaning_are_nearer_than_words_of_different_ones() {
        for (word, near, far) in [
            ("email", "mail", "weather"),
            ("photo", "imag", "invoic"),
            ("purchas", "buy", "weather"),
            ("folder", "directori", "weather"),
            ("film", "movi", "databas"),
        ] {
            let near_cosine = cosine(word, near);
            let far_cosine = cosine(word, far);
            assert!(
                near_cosine > far_cosine + 0.2,
                "{word}: {near} {near_cosine}, {far} {far_cosine}"
            );
        }
    }

    #[test]
    fn a_text_without_a_known_stem_has_no_direction() {
        let vectors = Vectors::embedded();
        assert_eq!(embed(vectors, "qqzzx 天气"), None);
        assert_eq!(vectors.embed(&[(1.0, &[])]), None);
        assert_eq!(vectors.embed(&[]), None);
        let nowhere = Embedding::nowhere();
        assert_eq!(nowhere.cosine(&embed(vectors, "email").unwrap()), 0.0);
    }

    #[test]
    fn the_order_of_stems_does_not_matter() {
        let vectors = Vectors::embedded();
        assert_eq!(embed(vectors, "send email"), embed(vectors, "email send"));
    }

    #[test]
    fn a_field_counts_by_its_weight_and_not_by_its_length() {
        let bytes = table(&[("a", 10), ("b", 100)]);
        let vectors = Vectors::parse(&bytes).unwrap();
        let (a, b) = (embed(&vectors, "a").unwrap(), embed(&vectors, "b").unwrap());
        let (only_a, only_b) = (places(&vectors, "a"), places(&vectors, "b"));
        let even = vectors.embed(&[(1.0, &only_a), (1.0, &only_b)]).unwrap();
        assert!((even.cosine(&a) - even.cosine(&b)).abs() < 0.01);
        let mostly_a = vectors.embed(&[(3.0, &only_a), (1.0, &only_b)]).unwrap();
        assert!((mostly_a.cosine(&a) - 0.949).abs() < 0.01);
        assert!((a.cosine(&a) - 1.0).abs() < 1e-5);
    }

    #[test]
    fn a_table_that_is_cut_short_or_of_another_width_is_refused() {
        let bytes = table(&[("a", 1), ("bc", 2)]);
        assert!(Vectors::parse(&bytes).is_some());
        for len in 0..bytes.len() {
            assert!(Vectors::parse(&bytes[..len]).is_none(), "{len} bytes");
        }
        let mut wider = bytes.clone();
        wider[MAGIC.len()] += 1;
        assert!(Vectors::parse(&wider).is_none());
    }
}
