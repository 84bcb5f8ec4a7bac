//! What is known of words that were met before.
//!
//! To stem a word costs more than everything else that is done to it, and words repeat.

use rust_stemmers::{Algorithm, Stemmer};

use crate::search::runs::eight;
use crate::search::vectors::{Place, Vectors};
use crate::search::words::{Term, Word, head, is_stop_word};

/// Raw words whose stems are remembered, for each thread; a catalog of 6,500 tools has 25,000.
const REMEMBERED: usize = 32_768;

const N_SLOTS: usize = 2 * REMEMBERED;

/// The longest word that is told from another one, in bytes.
pub(super) const MAX_WORD: usize = 64;

/// Words that are read before they are handed on.
const BATCH: usize = 64;

pub(super) struct Stems {
    stemmer: Stemmer,
    /// Open addressing by the key of a raw word: one more than its number in `known`; zero is free.
    slots: Box<[u16]>,
    /// In the order in which words were met, so that the common ones lie together.
    known: Vec<Known>,
    /// The stems of known words, end to end.
    letters: String,
    /// The numbers of words that were read and not yet handed on. If words were read and used in turns, each look-up
    /// would wait for what is done with the word before.
    read: Vec<u16>,
}

struct Known {
    key: Key,
    term: Term,
    place: Option<Place>,
    start: u32,
    length: u16,
    is_stop: bool,
}

/// What a raw word is known by: its letters, if there are no more than eight, and else a hash of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key(u64);

impl Stems {
    pub fn new() -> Stems {
        Stems {
            stemmer: Stemmer::create(Algorithm::English),
            slots: vec![0; N_SLOTS].into(),
            known: Vec::with_capacity(REMEMBERED),
            letters: String::new(),
            read: Vec::with_capacity(BATCH),
        }
    }

    /// Reads the word of so many letters and digits of ASCII at the start of `text`, whichever their case; of an endless
    /// one, its beginning.
    pub fn read(&mut self, text: &[u8], length: usize, take: &mut impl FnMut(Word)) {
        let length = length.min(MAX_WORD);
        let key = Key::of(text, length);
        let number = self.find(key).unwrap_or_else(|slot| {
            let word = String::from_utf8_lossy(&text[..length]).to_ascii_lowercase();
            self.learn(&word, key, slot)
        });
        self.push(number, take);
    }

    /// Reads a word without capitals, in whatever letters.
    pub fn read_folded(&mut self, word: &str, take: &mut impl FnMut(Word)) {
        if word.is_ascii() {
            return self.read(word.as_bytes(), word.len(), take);
        }
        let word = head(word, MAX_WORD);
        let key = Key::of_wide(word);
        let number = self
            .find(key)
            .unwrap_or_else(|slot| self.learn(word, key, slot));
        self.push(number, take);
    }

    /// Hands on what was read.
    pub fn hand_on(&mut self, take: &mut impl FnMut(Word)) {
        for number in &self.read {
            let known = &self.known[usize::from(*number)];
            take(Word {
                term: known.term,
                is_stop: known.is_stop,
                place: known.place,
                letters: &self.letters,
                start: known.start,
                length: known.length,
            });
        }
        self.read.clear();
        if self.known.len() > REMEMBERED - BATCH {
            self.slots.fill(0);
            self.known.clear();
            self.letters.clear();
        }
    }

    /// Forgets what was read and not handed on.
    pub fn clear(&mut self) {
        self.read.clear();
    }

    fn push(&mut self, number: usize, take: &mut impl FnMut(Word)) {
        self.read.push(number as u16);
        if self.read.len() == BATCH {
            self.hand_on(take);
        }
    }

    /// The number of a known word, or the slot where it belongs.
    fn find(&self, key: Key) -> Result<usize, usize> {
        let mut slot = key.slot();
        loop {
            let number = usize::from(self.slots[slot]).checked_sub(1).ok_or(slot)?;
            if self.known[number].key == key {
                return Ok(number);
            }
            slot = (slot + 1) % N_SLOTS;
        }
    }

    #[cold]
    fn learn(&mut self, word: &str, key: Key, slot: usize) -> usize {
        let stem = match word.is_ascii() {
            true => self.stemmer.stem(word),
            false => word.into(),
        };
        let term = Term::of(&stem);
        let is_stop = is_stop_word(term);
        self.known.push(Known {
            key,
            term,
            place: match is_stop {
                true => None,
                false => Vectors::embedded().find(&stem),
            },
            start: self.letters.len() as u32,
            length: stem.len() as u16,
            is_stop,
        });
        self.letters.push_str(&stem);
        self.slots[slot] = self.known.len() as u16;
        self.known.len() - 1
    }
}

impl Key {
    /// No eight letters of ASCII have this bit.
    const HASHED: u64 = 1 << 63;

    /// The key of a word of so many letters and digits of ASCII at the start of `text`, whichever their case.
    #[inline]
    fn of(text: &[u8], length: usize) -> Key {
        // This bit makes a letter a small one; digits have it.
        const SMALL: u64 = u64::from_le_bytes([0x20; 8]);
        let mut key = eight(text, length) | SMALL;
        for at in (8..length).step_by(8) {
            key = mixed(key) ^ (eight(&text[at..], length - at) | SMALL) | Key::HASHED;
        }
        Key(key)
    }

    /// The key of a word that is not of ASCII alone.
    fn of_wide(word: &str) -> Key {
        Key(Term::of(word).hash() | Key::HASHED)
    }

    fn slot(self) -> usize {
        mixed(self.0) as usize % N_SLOTS
    }
}

/// A number each of whose bits depends on all bits of another one.
fn mixed(number: u64) -> u64 {
    let product = u128::from(number) * 0x9e37_79b9_7f4a_7c15;
    product as u64 ^ (product >> 64) as u64
}
