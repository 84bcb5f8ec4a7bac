//! The postings of one group of tools, built once and never changed.

use std::sync::{Arc, OnceLock};

use crate::catalog::{Tool, Tools};
use crate::search::encoder::semantic::{self, Key};
use crate::search::fields::{self, Field, N_FIELDS};
use crate::search::naming::Names;
use crate::search::vectors::{Embedding, Place, Vectors};
use crate::search::weights::Weights;
use crate::search::words::{self, Term};
use crate::search::{Group, Options};

/// Tools of one group in the order of their names, at most [`Segment::MAX_TOOLS`] of them.
pub(super) struct Segment {
    pub group: Group,
    pub tools: Box<[Arc<Tool>]>,
    pub names: Names,
    /// Where each tool points.
    pub directions: Box<[Embedding]>,
    /// Open addressing by the hash of a term; zero is free.
    slots: Box<[u64]>,
    /// The postings of the term in slot `s` are `postings[starts[s]..starts[s + 1]]`.
    starts: Box<[u32]>,
    postings: Box<[Posting]>,
    /// The words of tool `t`'s name are `name_words[name_starts[t]..name_starts[t + 1]]`.
    name_words: Box<[NameWord]>,
    name_starts: Box<[u32]>,
    /// Made when a sentence encoder asks for them.
    keys: OnceLock<Box<[Key]>>,
}

/// A word in a tool: how often and where it stands, in one number.
#[derive(Clone, Copy)]
pub(super) struct Posting {
    pub tool: u16,
    frequency: u16,
}

/// A word of a tool's own name.
#[derive(Clone, Copy)]
pub(super) struct NameWord {
    pub term: Term,
    pub place: Option<Place>,
}

/// The distinct words of a segment, for the lexicon.
#[derive(Default)]
pub(super) struct Words {
    pub all: Vec<Word>,
    letters: String,
}

pub(super) struct Word {
    pub term: Term,
    pub n_tools: u32,
    start: u32,
    length: u32,
}

impl Words {
    pub fn text(&self, word: &Word) -> &str {
        &self.letters[word.start as usize..(word.start + word.length) as usize]
    }
}

impl Posting {
    /// A frequency is kept to 1/1024, up to 64.
    const STEPS: f32 = 1024.0;

    fn new(tool: u16, frequency: f32) -> Posting {
        Posting {
            tool,
            frequency: (frequency * Posting::STEPS + 0.5) as u16,
        }
    }

    pub fn frequency(self) -> f32 {
        f32::from(self.frequency) * (1.0 / Posting::STEPS)
    }
}

impl Segment {
    pub const MAX_TOOLS: usize = u16::MAX as usize;

    /// Indexes tools, and says which words they have.
    pub fn build(
        group: Group,
        tools: &[Arc<Tool>],
        options: &Options,
        weights: &Weights,
    ) -> (Segment, Words) {
        let mut builder = Builder::with_capacity(tools.len());
        for tool in tools {
            builder.add(tool, options, weights);
        }
        let words = builder.ids.words;
        let (slots, starts, postings) = lay_out(&words.all, &builder.entries);
        let segment = Segment {
            group,
            tools: tools.into(),
            names: Names::new(tools),
            directions: builder.directions.into(),
            slots,
            starts,
            postings,
            name_words: builder.name_words.into(),
            name_starts: builder.name_starts.into(),
            keys: OnceLock::new(),
        };
        (segment, words)
    }

    /// The tools that have a word; most terms are in few segments, so this is quickest where there is none.
    pub fn postings(&self, term: Term) -> &[Posting] {
        let mask = self.slots.len() - 1;
        let mut slot = term.hash() as usize & mask;
        loop {
            let found = self.slots[slot];
            if found == term.hash() {
                let range = self.starts[slot] as usize..self.starts[slot + 1] as usize;
                return &self.postings[range];
            }
            if found == 0 {
                return &[];
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Every term of the segment and how many of its tools have it.
    pub fn terms(&self) -> Vec<(Term, u32)> {
        (0..self.slots.len())
            .filter_map(|slot| {
                let term = Term::from_hash(self.slots[slot])?;
                Some((term, self.starts[slot + 1] - self.starts[slot]))
            })
            .collect()
    }

    /// Whether a tool has a word.
    pub fn has(&self, tool: usize, term: Term) -> bool {
        let postings = self.postings(term);
        postings
            .binary_search_by_key(&tool, |posting| usize::from(posting.tool))
            .is_ok()
    }

    /// The keys of the tools' texts; the first call makes them.
    pub fn keys(&self) -> &[Key] {
        let key = |tool: &Arc<Tool>| Key::of(&semantic::text(tool));
        self.keys
            .get_or_init(|| self.tools.iter().map(key).collect())
    }

    /// The keys, if they were made already.
    pub fn made_keys(&self) -> Option<&[Key]> {
        self.keys.get().map(|keys| &**keys)
    }

    /// The words of a tool's own name.
    pub fn name(&self, tool: usize) -> &[NameWord] {
        &self.name_words[self.name_starts[tool] as usize..self.name_starts[tool + 1] as usize]
    }
}

/// Tools in the order in which equal scores are shown.
pub(super) fn sorted(tools: &Tools) -> Vec<Arc<Tool>> {
    let mut res = tools.to_vec();
    res.sort_by(|a, b| a.original_name().cmp(b.original_name()));
    res
}

/// The stems of a field that say where it points.
const MAX_PLACES: usize = 80;

/// Most tools have no more distinct words.
const USUAL_WORDS: usize = 40;

#[derive(Default)]
struct Builder {
    ids: Ids,
    /// In the order of tools.
    entries: Vec<(u32, Posting)>,
    directions: Vec<Embedding>,
    name_words: Vec<NameWord>,
    name_starts: Vec<u32>,
    /// For one tool at a time, and kept for the next one: its words with their fields, and each of them once.
    found: Vec<(u32, Field)>,
    distinct: Vec<u32>,
    name_places: Vec<Place>,
    text_places: Vec<Place>,
    parameter_places: Vec<Place>,
}

impl Builder {
    fn with_capacity(n_tools: usize) -> Builder {
        let mut name_starts = Vec::with_capacity(n_tools + 1);
        name_starts.push(0);
        Builder {
            entries: Vec::with_capacity(n_tools * USUAL_WORDS),
            directions: Vec::with_capacity(n_tools),
            name_starts,
            ..Builder::default()
        }
    }

    fn add(&mut self, tool: &Tool, options: &Options, weights: &Weights) {
        let mut lengths = [0; N_FIELDS];
        for (field, text) in fields::texts(tool, options, &weights.limits) {
            lengths[field as usize] += self.read(field, &text);
        }
        self.name_starts.push(self.name_words.len() as u32);

        let [name, text, parameters] = weights.directions;
        let direction = Vectors::embedded().embed(&[
            (name, &self.name_places),
            (text, &self.text_places),
            (parameters, &self.parameter_places),
        ]);
        self.directions
            .push(direction.unwrap_or_else(Embedding::nowhere));
        self.name_places.clear();
        self.text_places.clear();
        self.parameter_places.clear();

        let number = (self.directions.len() - 1) as u16;
        let shares: [f32; N_FIELDS] =
            std::array::from_fn(|field| weights.fields[field].share(lengths[field]));
        let Ids { words, here, .. } = &mut self.ids;
        for (id, field) in self.found.drain(..) {
            here[id as usize].frequency += shares[field as usize];
        }
        for id in self.distinct.drain(..) {
            let here = std::mem::take(&mut here[id as usize]);
            if here.frequency > 0.0 {
                words.all[id as usize].n_tools += 1;
                self.entries
                    .push((id, Posting::new(number, here.frequency)));
            }
        }
    }

    /// Takes in a text, and gives the number of its words.
    fn read(&mut self, field: Field, text: &str) -> u32 {
        let (bit, places) = match field {
            Field::Name | Field::Server | Field::Keywords => (1, &mut self.name_places),
            Field::Description => (2, &mut self.text_places),
            Field::ParameterNames | Field::ParameterTexts => (4, &mut self.parameter_places),
        };
        let is_prose = field.is_prose();
        let mut length = 0;
        words::each(text, |word| {
            length += 1;
            // Queries are read without stop words, but a tool may be named by one.
            if is_prose && word.is_stop {
                return;
            }
            let id = self.ids.of(word);
            self.found.push((id, field));
            let lists = &mut self.ids.here[id as usize].lists;
            if *lists == 0 {
                self.distinct.push(id);
            }
            if *lists & bit == 0 {
                *lists |= bit;
                if places.len() < MAX_PLACES {
                    places.extend(word.place);
                }
            }
            if field == Field::Name {
                self.name_words.push(NameWord {
                    term: word.term,
                    place: word.place,
                });
            }
        });
        length
    }
}

/// Numbers for the words of a segment, in the order in which they are met.
#[derive(Default)]
struct Ids {
    words: Words,
    /// By id.
    here: Vec<Here>,
    /// Open addressing by the hash of a term; at most half of it is taken.
    slots: Vec<Option<(Term, u32)>>,
}

/// A word in the tool at hand.
#[derive(Clone, Copy, Default)]
struct Here {
    frequency: f32,
    /// A bit for each list of places in which the word was looked for.
    lists: u8,
}

impl Ids {
    fn of(&mut self, word: words::Word) -> u32 {
        match self.find(word.term) {
            Some(id) => id,
            None => self.add(word),
        }
    }

    fn find(&self, term: Term) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = term.hash() as usize & mask;
        loop {
            let (found, id) = self.slots[slot]?;
            if found == term {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[cold]
    fn add(&mut self, word: words::Word) -> u32 {
        let id = self.here.len() as u32;
        let Words { all, letters } = &mut self.words;
        let stem = word.stem();
        all.push(Word {
            term: word.term,
            n_tools: 0,
            start: letters.len() as u32,
            length: stem.len() as u32,
        });
        letters.push_str(stem);
        self.here.push(Here::default());
        if self.slots.len() < 2 * all.len() {
            self.slots = vec![None; (2 * self.slots.len()).max(1024)];
            for id in 0..=id {
                self.put(id);
            }
        } else {
            self.put(id);
        }
        id
    }

    fn put(&mut self, id: u32) {
        let term = self.words.all[id as usize].term;
        let mask = self.slots.len() - 1;
        let mut slot = term.hash() as usize & mask;
        while self.slots[slot].is_some() {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = Some((term, id));
    }
}

type Layout = (Box<[u64]>, Box<[u32]>, Box<[Posting]>);

/// Slots, starts and postings of words whose `entries` name them by their number.
fn lay_out(words: &[Word], entries: &[(u32, Posting)]) -> Layout {
    let n_slots = (words.len() * 4 / 3 + 1).next_power_of_two();
    let mut slots = vec![0; n_slots];
    let mut starts = vec![0; n_slots + 1];
    let slot_of: Vec<usize> = words
        .iter()
        .map(|word| {
            let mut slot = word.term.hash() as usize & (n_slots - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (n_slots - 1);
            }
            slots[slot] = word.term.hash();
            starts[slot + 1] = word.n_tools;
            slot
        })
        .collect();
    for slot in 0..n_slots {
        starts[slot + 1] += starts[slot];
    }
    let mut next = starts.clone();
    let mut postings = vec![Posting::new(0, 0.0); entries.len()];
    for (word, posting) in entries {
        let place = &mut next[slot_of[*word as usize]];
        postings[*place as usize] = *posting;
        *place += 1;
    }
    (slots.into(), starts.into(), postings.into())
}
