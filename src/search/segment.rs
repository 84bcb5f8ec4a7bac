//! The postings of one group of tools, built once and never changed.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::catalog::{Tool, Tools};
use crate::search::Group;
use crate::search::encoder::semantic::{self, Key};
use crate::search::fields::{self, N_FIELDS};
use crate::search::naming::Names;
use crate::search::weights::Weights;
use crate::search::words::{self, Term};

/// Tools of one group in the order of their names, at most [`Segment::MAX_TOOLS`] of them.
pub(super) struct Segment {
    pub group: Group,
    pub tools: Box<[Arc<Tool>]>,
    /// Open addressing by the hash of a term; zero is free.
    slots: Box<[u64]>,
    /// The postings of the term in slot `s` are `postings[starts[s]..starts[s + 1]]`.
    starts: Box<[u32]>,
    postings: Box<[Posting]>,
    pub called: Names,
    /// The words of the tools' names, one tool's after the other's.
    names: Box<[Term]>,
    /// The words of tool `t`'s name are `names[name_starts[t]..name_starts[t + 1]]`.
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

impl Posting {
    /// A frequency is kept to 1/1024, up to 64.
    const STEPS: f32 = 1024.0;

    pub fn frequency(self) -> f32 {
        f32::from(self.frequency) * (1.0 / Posting::STEPS)
    }
}

/// A distinct word of a segment, for the lexicon.
pub(super) struct Word {
    pub term: Term,
    pub text: Box<str>,
    pub n_tools: u32,
}

impl Segment {
    pub const MAX_TOOLS: usize = u16::MAX as usize;

    /// Indexes tools; and says which words they have, in the order of their terms.
    pub fn build(group: Group, tools: &[Arc<Tool>], weights: &Weights) -> (Segment, Vec<Word>) {
        let mut ids: FxHashMap<Term, u32> = FxHashMap::default();
        let mut words: Vec<Word> = Vec::new();
        let mut entries: Vec<(u32, Posting)> = Vec::with_capacity(tools.len() * 48);
        let mut names = Vec::with_capacity(tools.len() * 4);
        let mut name_starts = vec![0];
        let mut frequencies: Vec<f32> = Vec::new();
        let mut found: Vec<(u32, u8)> = Vec::new();
        for (number, tool) in tools.iter().enumerate() {
            let mut lengths = [0u32; N_FIELDS];
            fields::visit(tool, &weights.limits, |field, text| {
                words::each(text, |word, term| {
                    let id = *ids.entry(term).or_insert_with(|| {
                        words.push(Word {
                            term,
                            text: word.into(),
                            n_tools: 0,
                        });
                        words.len() as u32 - 1
                    });
                    lengths[field as usize] += 1;
                    found.push((id, field as u8));
                    if field == fields::Field::Name {
                        names.push(term);
                    }
                });
            });
            name_starts.push(names.len() as u32);
            frequencies.resize(words.len(), 0.0);
            let shares: [f32; N_FIELDS] =
                std::array::from_fn(|field| weights.fields[field].share(lengths[field]));
            for (id, field) in &found {
                frequencies[*id as usize] += shares[*field as usize];
            }
            for (id, _) in found.drain(..) {
                let frequency = std::mem::take(&mut frequencies[id as usize]);
                if frequency > 0.0 {
                    words[id as usize].n_tools += 1;
                    let steps = (frequency * Posting::STEPS).round().clamp(1.0, 65_535.0);
                    entries.push((
                        id,
                        Posting {
                            tool: number as u16,
                            frequency: steps as u16,
                        },
                    ));
                }
            }
        }

        let n_slots = (words.len() * 3 / 2 + 1).next_power_of_two();
        let mut slots = vec![0; n_slots].into_boxed_slice();
        let mut starts = vec![0; n_slots + 1].into_boxed_slice();
        let slot_of: Vec<u32> = words
            .iter()
            .map(|word| {
                let mut slot = word.term.hash() as usize & (n_slots - 1);
                while slots[slot] != 0 {
                    slot = (slot + 1) & (n_slots - 1);
                }
                slots[slot] = word.term.hash();
                starts[slot + 1] = word.n_tools;
                slot as u32
            })
            .collect();
        for slot in 0..n_slots {
            starts[slot + 1] += starts[slot];
        }
        let mut next = starts.clone();
        let blank = Posting {
            tool: 0,
            frequency: 0,
        };
        let mut postings = vec![blank; entries.len()].into_boxed_slice();
        for (id, posting) in entries {
            let place = &mut next[slot_of[id as usize] as usize];
            postings[*place as usize] = posting;
            *place += 1;
        }
        words.sort_unstable_by_key(|word| word.term);
        let segment = Segment {
            called: Names::new(tools),
            group,
            tools: tools.into(),
            slots,
            starts,
            postings,
            names: names.into(),
            name_starts: name_starts.into(),
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

    /// Every term of the segment and how many of its tools have it, in the order of terms.
    pub fn terms(&self) -> Vec<(Term, u32)> {
        let mut res: Vec<(Term, u32)> = (0..self.slots.len())
            .filter_map(|slot| {
                let term = Term::from_hash(self.slots[slot])?;
                Some((term, self.starts[slot + 1] - self.starts[slot]))
            })
            .collect();
        res.sort_unstable();
        res
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
    pub fn name(&self, tool: usize) -> &[Term] {
        &self.names[self.name_starts[tool] as usize..self.name_starts[tool + 1] as usize]
    }
}

/// Tools in the order in which equal scores are shown.
pub(super) fn sorted(tools: &Tools) -> Vec<Arc<Tool>> {
    let mut res = tools.to_vec();
    res.sort_by(|a, b| a.original_name().cmp(b.original_name()));
    res
}
