//! All words of many segments: in how many tools each stands, and which are like a word that none of them has.

use crate::search::segment::Word;
use crate::search::words::Term;

/// Sorted by term, so that segments come and go by one merge.
#[derive(Clone, Default)]
pub(super) struct Lexicon {
    terms: Vec<Term>,
    entries: Vec<Entry>,
    /// The entries whose term begins with the bits `b` are `buckets[b]..buckets[b + 1]`.
    buckets: Vec<u32>,
    /// The words' letters; those of words that went stay until they are the greater part.
    letters: String,
}

#[derive(Clone, Copy)]
struct Entry {
    n_tools: u32,
    start: u32,
    length: u16,
    /// The first letter and the set of letters, to pass over most words without looking at them.
    first: u8,
    letters: u32,
}

const BUCKET_BITS: u32 = 12;

impl Lexicon {
    /// The lexicon without a segment's words (in how many tools each was) and with another's; both in the order of terms.
    pub fn replace(&self, gone: &[(Term, u32)], new: &[Word]) -> Lexicon {
        let mut res = Lexicon {
            terms: Vec::with_capacity(self.terms.len() + new.len()),
            entries: Vec::with_capacity(self.terms.len() + new.len()),
            buckets: Vec::new(),
            letters: self.letters.clone(),
        };
        let mut gone = gone.iter().peekable();
        let mut new = new.iter().peekable();
        for (term, entry) in self.terms.iter().zip(&self.entries) {
            while let Some(word) = new.next_if(|word| word.term < *term) {
                res.push(word);
            }
            let mut entry = *entry;
            if let Some(word) = new.next_if(|word| word.term == *term) {
                entry.n_tools += word.n_tools;
            }
            if let Some((_, n_tools)) = gone.next_if(|(gone, _)| gone == term) {
                entry.n_tools -= n_tools;
            }
            if entry.n_tools > 0 {
                res.terms.push(*term);
                res.entries.push(entry);
            }
        }
        for word in new {
            res.push(word);
        }
        res.forget_letters();
        res.buckets = vec![0; (1 << BUCKET_BITS) + 1];
        for term in &res.terms {
            res.buckets[bucket(*term) + 1] += 1;
        }
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
            Some(at) => self.entries[start + at].n_tools,
            None => 0,
        }
    }

    /// Calls `take` with each word that begins with an unknown one or is a beginning of it, or that differs from it by
    /// one letter.
    pub fn like(&self, unknown: &str, mut take: impl FnMut(Likeness, Term, &str)) {
        if !unknown.is_ascii() || unknown.len() < 3 {
            return;
        }
        let letters = set_of_letters(unknown);
        let first = unknown.as_bytes()[0];
        for (term, entry) in self.terms.iter().zip(&self.entries) {
            let length = usize::from(entry.length);
            let may_differ = unknown.len() >= 5
                && length.abs_diff(unknown.len()) <= 1
                && (letters ^ entry.letters).count_ones() <= 2;
            if entry.first != first && !may_differ {
                continue;
            }
            let word = self.word(entry);
            if !word.is_ascii() {
                continue;
            }
            if word.starts_with(unknown) || (length >= 4 && unknown.starts_with(word)) {
                take(Likeness::Beginning, *term, word);
            } else if may_differ && differs_by_one(unknown.as_bytes(), word.as_bytes()) {
                take(Likeness::OneLetter, *term, word);
            }
        }
    }

    fn word(&self, entry: &Entry) -> &str {
        let start = entry.start as usize;
        &self.letters[start..start + usize::from(entry.length)]
    }

    fn push(&mut self, word: &Word) {
        self.terms.push(word.term);
        self.entries.push(Entry {
            n_tools: word.n_tools,
            start: self.letters.len() as u32,
            length: word.text.len().min(usize::from(u16::MAX)) as u16,
            first: word.text.as_bytes().first().copied().unwrap_or(0),
            letters: set_of_letters(&word.text),
        });
        self.letters.push_str(&word.text);
    }

    fn forget_letters(&mut self) {
        let used: usize = self
            .entries
            .iter()
            .map(|entry| usize::from(entry.length))
            .sum();
        if self.letters.len() < 4096 + used * 2 {
            return;
        }
        let mut letters = String::with_capacity(used);
        for entry in &mut self.entries {
            let start = entry.start as usize;
            entry.start = letters.len() as u32;
            letters.push_str(&self.letters[start..start + usize::from(entry.length)]);
        }
        self.letters = letters;
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Likeness {
    Beginning,
    OneLetter,
}

fn bucket(term: Term) -> usize {
    (term.hash() >> (64 - BUCKET_BITS)) as usize
}

fn set_of_letters(word: &str) -> u32 {
    word.bytes().fold(0, |set, byte| set | 1 << (byte & 31))
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
