//! What a query asks for: its words, what each is worth, and which other words may stand for them.

use rustc_hash::FxHashMap;

use crate::search::languages;
use crate::search::layer::Statistics;
use crate::search::lexicon::Likeness;
use crate::search::synonyms;
use crate::search::vectors::{Embedding, Place, Vectors};
use crate::search::weights::Weights;
use crate::search::words::{self, Term};

/// A query, read.
pub(super) struct Query {
    /// The distinct words, in order; without stop words unless there is nothing else.
    pub asked: Vec<Asked>,
    /// The whole, then its parts where it asks for several things.
    pub wishes: Vec<Wish>,
}

/// A word of a query.
pub(super) struct Asked {
    pub text: String,
    pub term: Term,
    pub place: Option<Place>,
    /// How much the word is worth: how rare it is, or the rarest of those that stand for it; 0 where no tool has any.
    pub worth: f32,
    /// Whether some tool has the word itself.
    pub known: bool,
    /// Other words that count a part of this one, and which part.
    pub near: Vec<(Term, f32)>,
    /// The wishes that have the word, a bit each.
    pub wishes: u32,
    times: u32,
}

/// Something that is asked for: the whole query, or a sentence of it.
pub(super) struct Wish {
    /// Where it points; none where no word of it has a vector.
    pub direction: Option<Embedding>,
    pub n_words: usize,
}

const WHOLE: u32 = 1;

/// The rest of a query with more parts is one part.
const MAX_PARTS: usize = 8;

impl Query {
    pub fn parse(text: &str, statistics: &Statistics, weights: &Weights) -> Query {
        let translation = languages::translate(text, |word| {
            words::is_english(word)
                || words::of(word)
                    .iter()
                    .any(|(_, term)| statistics.n_tools(*term) > 0)
        });
        let translated = translation.map(|it| format!("{} {}", it.content, it.english));
        let text = translated.as_deref().unwrap_or(text);
        let mut reader = Reader::default();
        for clause in clauses(text) {
            reader.read(clause, weights.part_from);
        }
        reader.finish(weights.part_from);
        let Reader {
            mut asked, parts, ..
        } = reader;
        if asked.is_empty() {
            words::each(text, |word| {
                if asked.iter().all(|asked| asked.term != word.term) {
                    asked.push(Asked::new(word, WHOLE));
                }
            });
        }

        let is_long = asked.len() >= weights.filler_from;
        for asked in &mut asked {
            asked.weigh(statistics, weights);
            asked.worth *= 1.0 + weights.repetition * (asked.times as f32).ln();
            if is_long && words::is_filler_word(asked.term) {
                asked.worth *= weights.filler;
            }
        }

        // What is left of another language says nothing, not even how long the query is.
        if translated.is_some() && asked.iter().any(|asked| asked.worth > 0.0) {
            asked.retain(|asked| asked.worth > 0.0 || asked.place.is_some());
        }

        let direction = |places: &[Place]| Vectors::embedded().embed(&[(1.0, places)]);
        let whole: Vec<Place> = asked.iter().filter_map(|asked| asked.place).collect();
        let mut wishes = vec![Wish {
            direction: direction(&whole),
            n_words: asked.len(),
        }];
        if parts.len() > 1 && asked.len() >= weights.parts_from {
            wishes.extend(parts.iter().map(|part| Wish {
                direction: direction(&part.places),
                n_words: part.n_words,
            }));
        } else {
            for asked in &mut asked {
                asked.wishes = WHOLE;
            }
        }
        Query { asked, wishes }
    }
}

/// Gathers words into parts that are long enough to stand alone.
#[derive(Default)]
struct Reader {
    asked: Vec<Asked>,
    parts: Vec<Part>,
    is_part_complete: bool,
}

#[derive(Default)]
struct Part {
    places: Vec<Place>,
    n_words: usize,
}

impl Reader {
    fn read(&mut self, clause: &str, part_from: usize) {
        let needs_new = self.parts.is_empty() || self.is_part_complete;
        if needs_new && self.parts.len() < MAX_PARTS {
            self.parts.push(Part::default());
        }
        let number = self.parts.len();
        let Some(part) = self.parts.last_mut() else {
            return;
        };
        words::each(clause, |word| {
            if word.is_stop {
                return;
            }
            let known = self.asked.iter_mut().find(|asked| asked.term == word.term);
            let is_new_here = match known {
                Some(asked) => {
                    asked.times += 1;
                    let is_new_here = asked.wishes & 1 << number == 0;
                    asked.wishes |= 1 << number;
                    is_new_here
                }
                None => {
                    self.asked.push(Asked::new(word, WHOLE | 1 << number));
                    true
                }
            };
            if is_new_here {
                part.n_words += 1;
                part.places.extend(word.place);
            }
        });
        self.is_part_complete = part.n_words >= part_from;
    }

    /// Adds a last part that is too short to the one before it.
    fn finish(&mut self, part_from: usize) {
        let number = self.parts.len();
        if number < 2 || self.parts[number - 1].n_words >= part_from {
            return;
        }
        self.parts.pop();
        let (last, before) = (1 << number, 1 << (number - 1));
        let part = &mut self.parts[number - 2];
        for asked in &mut self.asked {
            if asked.wishes & last != 0 && asked.wishes & before == 0 {
                asked.wishes |= before;
                part.n_words += 1;
                part.places.extend(asked.place);
            }
            asked.wishes &= !last;
        }
    }
}

/// Cuts a query where another wish may begin.
fn clauses(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let bytes = text.as_bytes();
        let cut = (0..bytes.len()).find_map(|at| Some((at, separator(&bytes[at..])?)));
        let (clause, after) = match cut {
            Some((at, length)) => (&text[..at], Some(&text[at + length..])),
            None => (text, None),
        };
        rest = after;
        Some(clause)
    })
}

/// The length of what separates two clauses, where something does.
fn separator(text: &[u8]) -> Option<usize> {
    let is_before_blank = text.get(1).is_none_or(u8::is_ascii_whitespace);
    match text.first()? {
        b';' | b'?' | b'!' | b'\n' | b'+' => Some(1),
        b'.' | b',' | b':' if is_before_blank => Some(1),
        b' ' => [" and ", " then ", " also "]
            .iter()
            .find(|word| text.starts_with(word.as_bytes()))
            .map(|word| word.len() - 1),
        _ => None,
    }
}

impl Asked {
    fn new(word: words::Word, wishes: u32) -> Asked {
        Asked {
            text: word.stem().to_owned(),
            term: word.term,
            place: word.place,
            worth: 0.0,
            known: false,
            near: Vec::new(),
            wishes,
            times: 1,
        }
    }

    /// Finds out how rare the word is, and what may stand for it.
    fn weigh(&mut self, statistics: &Statistics, weights: &Weights) {
        self.known = statistics.n_tools(self.term) > 0;
        let synonyms = synonyms::of(self.term)
            .iter()
            .filter(|other| statistics.n_tools(**other) > 0)
            .map(|other| (*other, weights.synonym));
        if self.known {
            self.near = synonyms.collect();
            self.worth = statistics.idf(self.term);
            return;
        }
        // `the` is no beginning of `theme`.
        if words::is_stop_word(self.term) {
            return;
        }
        let mut near: FxHashMap<Term, f32> = synonyms.collect();
        statistics.like(&self.text, |likeness, other| {
            let part = match likeness {
                Likeness::Beginning => weights.prefix,
                Likeness::OneLetter => weights.typo,
            };
            let best = near.entry(other).or_default();
            *best = best.max(part);
        });
        self.near = near.into_iter().collect();
        self.near.sort_unstable_by_key(|(other, _)| *other);
        let rarities = self.near.iter().map(|(other, _)| statistics.idf(*other));
        self.worth = rarities.fold(0.0, f32::max);
    }
}
