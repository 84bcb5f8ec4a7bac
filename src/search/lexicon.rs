//! All words of many segments: in how many tools each stands, and which are like a word that none of them has.

use std::ops::Range;

use crate::search::segment::{Word, Words};
use crate::search::words::Term;

/// Sorted by term, so that segments come and go by one merge.
#[derive(Clone, Default)]
pub(super) struct Lexicon {
    terms: Vec<Term>,
    n_tools: Vec<u32>,
    shapes: Vec<Shape>,
    /// Where a word's letters start.
    starts: Vec<u32>,
    /// The entries whose term begins with the bits `b` are `buckets[b]..buckets[b + 1]`.
    buckets: Vec<u32>,
    /// The words' letters; those of words that went stay until they are the greater part.
    letters: String,
}

/// What of a word shows that it is not like another one, without a look at its letters.
#[derive(Clone, Copy)]
struct Shape {
    letters: u32,
    length: u8,
    first: u8,
}

impl Shape {
    fn of(word: &str) -> Shape {
        Shape {
            letters: word.bytes().fold(0, |set, byte| set | 1 << (byte & 31)),
            length: word.len() as u8,
            first: word.as_bytes().first().copied().unwrap_or(0),
        }
    }
}

const BUCKET_BITS: u32 = 12;

impl Lexicon {
    /// The lexicon without a segment's words (in how many tools each was) and with another's.
    pub fn replace(&self, gone: &[(Term, u32)], new: &Words) -> Lexicon {
        let mut n_tools = self.n_tools.clone();
        // Where a word comes in, or goes out where none comes in.
        let mut cuts: Vec<(usize, Option<&Word>)> = Vec::new();
        for word in &new.all {
            match self.find(word.term) {
                Ok(at) => n_tools[at] += word.n_tools,
                Err(at) => cuts.push((at, Some(word))),
            }
        }
        for (term, n_gone) in gone {
            if let Ok(at) = self.find(*term) {
                n_tools[at] -= n_gone;
                if n_tools[at] == 0 {
                    cuts.push((at, None));
                }
            }
        }
        cuts.sort_unstable_by_key(|(at, word)| (*at, word.is_none(), word.map(|it| it.term)));

        let n_most = self.terms.len() + cuts.len();
        let mut res = Lexicon {
            terms: Vec::with_capacity(n_most),
            n_tools: Vec::with_capacity(n_most),
            shapes: Vec::with_capacity(n_most),
            starts: Vec::with_capacity(n_most),
            buckets: Vec::new(),
            letters: self.letters.clone(),
        };
        let copy = |res: &mut Lexicon, range: Range<usize>| {
            res.terms.extend_from_slice(&self.terms[range.clone()]);
            res.n_tools.extend_from_slice(&n_tools[range.clone()]);
            res.shapes.extend_from_slice(&self.shapes[range.clone()]);
            res.starts.extend_from_slice(&self.starts[range]);
        };
        // What lies between two cuts is copied in one piece.
        let mut from = 0;
        for (at, word) in cuts {
            copy(&mut res, from..at);
            from = at;
            match word {
                Some(word) => res.push(word, new.text(word)),
                None => from += 1,
            }
        }
        copy(&mut res, from..self.terms.len());
        res.forget_letters();
        res.buckets = buckets(&res.terms);
        res
    }

    /// In how many tools a word stands.
    pub fn n_tools(&self, term: Term) -> u32 {
        self.find(term).map_or(0, |at| self.n_tools[at])
    }

    /// Where a word is, or where it would be.
    fn find(&self, term: Term) -> Result<usize, usize> {
        let bucket = bucket(term);
        let Some([start, end]) = self.buckets.get(bucket..bucket + 2) else {
            return Err(0);
        };
        let (start, end) = (*start as usize, *end as usize);
        let terms = &self.terms[start..end];
        match terms.iter().position(|it| *it >= term) {
            Some(at) if terms[at] == term => Ok(start + at),
            Some(at) => Err(start + at),
            None => Err(end),
        }
    }

    /// Calls `take` with each word that begins with an unknown one or is a beginning of it, or that differs from it by
    /// one letter.
    pub fn like(&self, unknown: &str, mut take: impl FnMut(Likeness, Term, &str)) {
        if !unknown.is_ascii() || unknown.len() < 3 {
            return;
        }
        let shape = Shape::of(unknown);
        for (at, known) in self.shapes.iter().enumerate() {
            let may_differ = shape.length >= 5
                && known.length.abs_diff(shape.length) <= 1
                && has_at_most_two(shape.letters ^ known.letters);
            if known.first != shape.first && !may_differ {
                continue;
            }
            let word = self.word(at);
            let length = usize::from(known.length);
            if word.starts_with(unknown) || (length >= 4 && unknown.starts_with(word)) {
                take(Likeness::Beginning, self.terms[at], word);
            } else if may_differ && differs_by_one(unknown.as_bytes(), word.as_bytes()) {
                take(Likeness::OneLetter, self.terms[at], word);
            }
        }
    }

    fn word(&self, at: usize) -> &str {
        let start = self.starts[at] as usize;
        &self.letters[start..start + usize::from(self.shapes[at].length)]
    }

    fn push(&mut self, word: &Word, text: &str) {
        self.terms.push(word.term);
        self.n_tools.push(word.n_tools);
        self.shapes.push(Shape::of(text));
        self.starts.push(self.letters.len() as u32);
        self.letters.push_str(text);
    }

    fn forget_letters(&mut self) {
        let lengths = self.shapes.iter().map(|shape| usize::from(shape.length));
        let used: usize = lengths.sum();
        if self.letters.len() < 4096 + used * 2 {
            return;
        }
        let mut letters = String::with_capacity(used);
        for at in 0..self.terms.len() {
            let start = letters.len() as u32;
            letters.push_str(self.word(at));
            self.starts[at] = start;
        }
        self.letters = letters;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Likeness {
    Beginning,
    OneLetter,
}

/// Whether at most two bits are set; `count_ones` is slow on processors without an instruction for it.
fn has_at_most_two(bits: u32) -> bool {
    let without_one = bits & bits.wrapping_sub(1);
    without_one & without_one.wrapping_sub(1) == 0
}

fn bucket(term: Term) -> usize {
    (term.hash() >> (64 - BUCKET_BITS)) as usize
}

/// Where each bucket starts, and the last one ends.
fn buckets(terms: &[Term]) -> Vec<u32> {
    let mut res = vec![0; (1 << BUCKET_BITS) + 1];
    for (at, term) in terms.iter().enumerate() {
        res[bucket(*term) + 1] = at as u32 + 1;
    }
    // A bucket without terms ends where the one before does.
    for bucket in 1..res.len() {
        res[bucket] = res[bucket].max(res[bucket - 1]);
    }
    res
}

/// Whether one letter is inserted, dropped or changed, or two neighbours are swapped.
fn differs_by_one(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 => {
            let tail = |n: usize| short.get(same + n..) == long.get(same + n..);
            tail(1)
                || (same + 1 < short.len()
                    && short[same] == long[same + 1]
                    && short[same + 1] == long[same]
                    && tail(2))
        }
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}
