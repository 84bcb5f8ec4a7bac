//! What a query asks for: its words, what each is worth, and which other words may stand for them.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::search::languages;
use crate::search::layer::Statistics;
use crate::search::lexicon::Likeness;
use crate::search::stems::MAX_WORD;
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

/// How much of a query is read, in bytes. A model asks in a sentence or two; each of its words is looked for in every
/// tool, and an unknown one is compared with all that are known.
const MAX_LENGTH: usize = 4096;

/// What is read of a query.
pub(super) fn read_part(text: &str) -> &str {
    words::head(text, MAX_LENGTH)
}

impl Query {
    pub fn parse(text: &str, statistics: &Statistics, weights: &Weights) -> Query {
        let translation = languages::translate(text, |word| is_understood(word, statistics));
        let translated = translation.map(|it| format!("{} {}", it.content, it.english));
        let text = translated.as_deref().unwrap_or(text);
        let mut reader = Reader::default();
        for clause in clauses(text) {
            reader.read(clause, weights.part_from);
        }
        reader.finish(weights.part_from);
        let Reader {
            mut asked,
            mut numbers,
            parts,
            ..
        } = reader;
        if asked.is_empty() {
            words::each(text, |word| {
                numbers.entry(word.term).or_insert_with(|| {
                    asked.push(Asked::new(word, WHOLE));
                    asked.len() - 1
                });
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

        join_and_part(text, &mut asked, &numbers, statistics, weights);

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
    /// Where in `asked` each word is.
    numbers: FxHashMap<Term, usize>,
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
            let is_new_here = match self.numbers.get(&word.term) {
                Some(known) => {
                    let asked = &mut self.asked[*known];
                    asked.times += 1;
                    let is_new_here = asked.wishes & 1 << number == 0;
                    asked.wishes |= 1 << number;
                    is_new_here
                }
                None => {
                    self.numbers.insert(word.term, self.asked.len());
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

/// A query in English, as far as it is understood, for a reader who knows no other language.
pub(super) fn in_english<'t>(text: &'t str, statistics: &Statistics) -> Cow<'t, str> {
    let is_understood = |word: &str| is_understood(word, statistics);
    let Some(translation) = languages::translate(text, is_understood) else {
        return Cow::Borrowed(text);
    };
    let mut res = translation.english;
    let is_between = |c: char| !c.is_alphanumeric() || words::is_cjk(c);
    for word in translation.content.split(is_between) {
        let word = word.to_lowercase();
        if word.is_ascii() && is_understood(&word) {
            res.push(' ');
            res.push_str(&word);
        }
    }
    Cow::Owned(res)
}

/// Whether a word needs no translation.
fn is_understood(word: &str, statistics: &Statistics) -> bool {
    words::is_english(word)
        || words::of(word)
            .iter()
            .any(|(_, term)| statistics.n_tools(*term) > 0)
}

/// Lets two words that follow each other stand for the one that tools make of them, as `file system` for `filesystem`,
/// and a word that no tool has for the two that it is made of, as `keyring` for `key ring`.
fn join_and_part(
    text: &str,
    asked: &mut [Asked],
    numbers: &FxHashMap<Term, usize>,
    statistics: &Statistics,
    weights: &Weights,
) {
    let is_known = |term: Term| statistics.n_tools(term) > 0;
    let words = words::plain(text);
    // Where among those asked for each of them is.
    let places: Vec<Option<usize>> = words
        .iter()
        .map(|word| numbers.get(&words::term(word)).copied())
        .collect();
    for (pair, places) in words.windows(2).zip(places.windows(2)) {
        if places.iter().all(Option::is_none) {
            continue;
        }
        let joined = words::term(&pair.concat());
        if is_known(joined) {
            for place in places.iter().flatten() {
                asked[*place].add_near(joined, weights.joined, statistics);
            }
        }
    }
    for (word, place) in words.iter().zip(&places) {
        let Some(asked) = place.map(|place| &mut asked[place]).filter(|it| !it.known) else {
            continue;
        };
        for (first, last) in halves(word) {
            if is_known(first) && is_known(last) {
                asked.add_near(first, weights.joined / 2.0, statistics);
                asked.add_near(last, weights.joined / 2.0, statistics);
            }
        }
    }
}

/// The two words that a word may be made of, wherever it is cut.
fn halves(word: &str) -> impl Iterator<Item = (Term, Term)> {
    const SHORTEST: usize = 3;
    let word = words::head(word, MAX_WORD);
    let cuts = match word.is_ascii() {
        true => SHORTEST..(word.len() + 1).saturating_sub(SHORTEST),
        false => 0..0,
    };
    cuts.map(|cut| (words::term(&word[..cut]), words::term(&word[cut..])))
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

    /// What the word is of all that is asked for; one that no tool has is worth something there too.
    pub fn worth_of_all(&self, weights: &Weights) -> f32 {
        match self.known {
            true => self.worth,
            false => self.worth.max(weights.unknown_worth),
        }
    }

    /// Lets a word that some tool has count so much of this one.
    fn add_near(&mut self, term: Term, part: f32, statistics: &Statistics) {
        match self.near.iter_mut().find(|(near, _)| *near == term) {
            Some((_, known)) => *known = known.max(part),
            None => self.near.push((term, part)),
        }
        if !self.known {
            self.worth = self.worth.max(statistics.idf(term));
        }
    }
}
