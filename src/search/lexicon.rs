//! All words of many segments: in how many tools each stands, and which are like a word that none of them has.

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
    /// The lexicon without a segment's words (in how many tools each was) and with another's; both in the order of terms.
    pub fn replace(&self, gone: &[(Term, u32)], new: &Words) -> Lexicon {
        let n_most = self.terms.len() + new.all.len();
        let mut res = Lexicon {
            terms: Vec::with_capacity(n_most),
            n_tools: Vec::with_capacity(n_most),
            shapes: Vec::with_capacity(n_most),
            starts: Vec::with_capacity(n_most),
            buckets: vec![0; (1 << BUCKET_BITS) + 1],
            letters: self.letters.clone(),
        };
        let mut gone = gone.iter().peekable();
        let words = new;
        let mut new = words.all.iter().peekable();
        for (at, term) in self.terms.iter().enumerate() {
            while let Some(word) = new.next_if(|word| word.term < *term) {
                res.push_new(word, words.text(word));
            }
            let mut n_tools = self.n_tools[at];
            if let Some(word) = new.next_if(|word| word.term == *term) {
                n_tools += word.n_tools;
            }
            if let Some((_, n_gone)) = gone.next_if(|(gone, _)| gone == term) {
                n_tools -= n_gone;
            }
            if n_tools > 0 {
                res.push(*term, n_tools, self.shapes[at], self.starts[at]);
            }
        }
        for word in new {
            res.push_new(word, words.text(word));
        }
        res.forget_letters();
        for at in 1..res.buckets.len() {
            res.buckets[at] += res.buckets[at - 1];
        }
        res
    }

    /// In how many tools a word stands.
    pub fn n_tools(&self, term: Term) -> u32 {
        if self.terms.is_empty() {
            return 0;
        }
        let bucket = bucket(term);
        let (start, end) = (
            self.buckets[bucket] as usize,
            self.buckets[bucket + 1] as usize,
        );
        match self.terms[start..end].iter().position(|it| *it == term) {
            Some(at) => self.n_tools[start + at],
            None => 0,
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

    fn push(&mut self, term: Term, n_tools: u32, shape: Shape, start: u32) {
        self.terms.push(term);
        self.n_tools.push(n_tools);
        self.shapes.push(shape);
        self.starts.push(start);
        self.buckets[bucket(term) + 1] += 1;
    }

    fn push_new(&mut self, word: &Word, text: &str) {
        let start = self.letters.len() as u32;
        self.push(word.term, word.n_tools, Shape::of(text), start);
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
