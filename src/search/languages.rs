//! What words of other languages mean, as far as tools are concerned.
//!
//! The tables are small: what tools do and what they do it to. They serve queries in a language that a catalog does not
//! speak, and texts of tools that are not in English.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::UnicodeNormalization;

use crate::search::words::{self, is_cjk};

/// A text in another language, as far as it is understood.
#[derive(Debug, PartialEq)]
pub(super) struct Translation {
    /// The text without words that only bind others.
    pub content: String,
    /// English words for what is understood of it.
    pub english: String,
}

/// How sure it must be that a text is in a language: one word that is no English one will do, but for each word that
/// binds others in English there must be one more.
const ENOUGH: f32 = 2.0;

/// From here on words are translated that happen to be English ones too, as the Spanish `red`.
const CERTAIN: f32 = 4.0;

/// The longest run of tokens that is one entry.
const MAX_TOKENS: usize = 4;

/// The shortest beginning of a word that is told from a word of another language, in characters.
const HEAD: usize = 3;

/// The shortest beginning of a word without its diacritics that is told from a word of another language.
const MIN_PREFIX: usize = 5;

/// Reads a text of another language; none if there is nothing to it. `is_english` tells words that need no translation.
pub(super) fn translate(text: &str, is_english: impl Fn(&str) -> bool) -> Option<Translation> {
    if text.chars().any(is_cjk) {
        return without_blanks(text);
    }
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    // Most texts are English, and for them this is all that is done.
    let is_worth_a_try = |word: &&str| {
        if is_certainly_english(word, &is_english) {
            return false;
        }
        let token = Token::new(word, &is_english);
        !token.is_english && LATIN.iter().any(|it| it.begins(&token))
    };
    words.clone().find(is_worth_a_try)?;
    let tokens: Vec<Token> = words.map(|word| Token::new(word, &is_english)).collect();
    let readings = LATIN.iter().map(|language| language.read(&tokens));
    let best = readings.reduce(|best, it| {
        if it.evidence > best.evidence {
            it
        } else {
            best
        }
    })?;
    let enough = ENOUGH * (1.0 + best.against);
    (best.evidence >= enough).then(|| best.translation(&tokens))
}

/// Chinese and Japanese: the longest entry that the rest of a run begins with, again and again.
fn without_blanks(text: &str) -> Option<Translation> {
    let is_japanese = text.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}'));
    let languages: &[&Language] = match is_japanese {
        true => &[&JAPANESE, &CHINESE],
        false => &[&CHINESE],
    };
    let mut english = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut step = first.len_utf8();
        if is_cjk(first) {
            let found = languages.iter().find_map(|language| language.longest(rest));
            if let Some((length, meaning)) = found {
                add(&mut english, meaning);
                step = length;
            }
        }
        rest = &rest[step..];
    }
    (!english.is_empty()).then(|| Translation {
        content: text.to_owned(),
        english,
    })
}

struct Token {
    /// In lower case, with its diacritics.
    text: String,
    folded: String,
    /// Whether it needs no translation.
    is_english: bool,
    /// Whether it is one of the words that bind others in English.
    is_english_binding: bool,
}

/// Whether a word needs no translation, as far as can be said before it is read as a token.
fn is_certainly_english(word: &str, is_english: impl Fn(&str) -> bool) -> bool {
    let has_capital = |word: &str| word.bytes().any(|byte| byte.is_ascii_uppercase());
    word.is_ascii()
        && (word.len() < 3
            || match has_capital(word) {
                true => is_english(&word.to_ascii_lowercase()),
                false => is_english(word),
            })
}

impl Token {
    fn new(text: &str, is_english: impl Fn(&str) -> bool) -> Token {
        let text: String = text.nfc().flat_map(char::to_lowercase).collect();
        let mut is_english_binding = false;
        words::each(&text, |word| is_english_binding |= word.is_stop);
        Token {
            folded: words::fold(&text),
            is_english_binding,
            is_english: text.is_ascii() && (text.len() < 3 || is_english(&text)),
            text,
        }
    }
}

/// One language's words, each with the English ones that it stands for; nothing for words that only bind others.
#[derive(Default)]
struct Language {
    meanings: FxHashMap<String, String>,
    /// The beginnings of words that may end in many ways.
    prefixes: FxHashMap<String, String>,
    /// The first characters of those: most words begin with none of them.
    heads: FxHashSet<String>,
    /// First words of entries that have several.
    first_words: FxHashSet<String>,
    /// In characters, where the language has no blanks.
    longest: usize,
    /// Whether a word without its diacritics is still the same word to a reader.
    folds: bool,
    /// Whether words are made by writing others one behind the other.
    has_compounds: bool,
}

static CHINESE: LazyLock<Language> =
    LazyLock::new(|| Language::parse(include_str!("languages/zh.txt")));
static JAPANESE: LazyLock<Language> =
    LazyLock::new(|| Language::parse(include_str!("languages/ja.txt")));

static LATIN: LazyLock<[Language; 5]> = LazyLock::new(|| {
    let folding = |table| Language {
        folds: true,
        ..Language::parse(table)
    };
    [
        folding(include_str!("languages/es.txt")),
        folding(include_str!("languages/pt.txt")),
        folding(include_str!("languages/fr.txt")),
        Language {
            has_compounds: true,
            ..folding(include_str!("languages/de.txt"))
        },
        Language::parse(include_str!("languages/vi.txt")),
    ]
});

impl Language {
    /// `english words = word, several words, beginning*`, a line each; `-` for words that only bind others.
    fn parse(table: &str) -> Language {
        let mut res = Language::default();
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        for (english, entries) in lines.filter_map(|line| line.split_once(" = ")) {
            let english = if english == "-" { "" } else { english };
            for entry in entries.split(", ") {
                res.insert(entry, english);
            }
        }
        res
    }

    fn insert(&mut self, entry: &str, english: &str) {
        let (entry, is_prefix) = match entry.strip_suffix('*') {
            Some(entry) => (entry, true),
            None => (entry, false),
        };
        self.longest = self.longest.max(entry.chars().count());
        let tokens: Vec<&str> = entry.split(|c: char| !c.is_alphanumeric()).collect();
        let key = tokens.join(" ");
        let folded = words::fold(&key);
        let keys = if folded == key {
            vec![key]
        } else {
            vec![key, folded]
        };
        for key in keys {
            if let Some((first, _)) = key.split_once(' ') {
                self.first_words.insert(first.to_owned());
            }
            let meanings = match is_prefix {
                true => {
                    self.heads.insert(key.chars().take(HEAD).collect());
                    &mut self.prefixes
                }
                false => &mut self.meanings,
            };
            // A word of several meanings stands for all of them.
            let meaning = meanings.entry(key).or_default();
            if !format!(" {meaning} ").contains(&format!(" {english} ")) {
                add(meaning, english);
            }
        }
    }

    /// The longest entry that a text begins with: its length in bytes, and its meaning.
    fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let mut ends: Vec<usize> = ends.take(self.longest).collect();
        ends.reverse();
        ends.into_iter().find_map(|end| {
            let meaning = self.meanings.get(&text[..end])?;
            Some((end, meaning.as_str()))
        })
    }

    fn begins(&self, token: &Token) -> bool {
        self.first_words.contains(&token.text)
            || self
                .meaning(token)
                .is_some_and(|(meaning, _)| !meaning.is_empty())
    }

    /// What a word means, and how sure that is.
    fn meaning(&self, token: &Token) -> Option<(String, f32)> {
        let folded = || self.meanings.get(&token.folded).filter(|_| self.folds);
        let whole = self.meanings.get(&token.text).or_else(folded);
        let whole = whole.map(String::as_str);
        let known = whole
            .or_else(|| self.by_prefix(&token.text, HEAD))
            .or_else(|| self.by_prefix(&token.folded, MIN_PREFIX));
        match known {
            Some(meaning) => Some((meaning.to_owned(), 1.0)),
            None => self.by_parts(&token.folded),
        }
    }

    fn by_prefix(&self, word: &str, least: usize) -> Option<&str> {
        let ends = word.char_indices().map(|(at, _)| at).chain([word.len()]);
        let head = ends.clone().nth(HEAD)?;
        let shortest = ends.clone().nth(least)?;
        if !self.heads.contains(&word[..head]) {
            return None;
        }
        (shortest..=word.len())
            .rev()
            .filter(|end| word.is_char_boundary(*end))
            .find_map(|end| self.prefixes.get(&word[..end]).map(String::as_str))
    }

    /// `projektdateien` → `project file`: the longest known word at the end, and what is before it if that is known.
    fn by_parts(&self, word: &str) -> Option<(String, f32)> {
        const SHORTEST: usize = 4;
        if !self.has_compounds || word.len() < 2 * SHORTEST || !word.is_ascii() {
            return None;
        }
        let known = |part: &str| {
            let meaning = self.meanings.get(part).map(String::as_str);
            meaning.or_else(|| self.by_prefix(part, MIN_PREFIX))
        };
        let cuts = SHORTEST..=word.len() - SHORTEST;
        cuts.into_iter().find_map(|cut| {
            let (first, last) = word.split_at(cut);
            let last = known(last).filter(|meaning| !meaning.is_empty())?;
            let bare = ["es", "en", "s", "n"]
                .iter()
                .filter_map(|joint| first.strip_suffix(joint));
            let first = std::iter::once(first).chain(bare).find_map(known);
            let mut meaning = first.unwrap_or_default().to_owned();
            add(&mut meaning, last);
            // Names may end like words: Rutland, Hermitage.
            Some((meaning, if first.is_some() { 1.0 } else { 0.5 }))
        })
    }

    /// Goes through a text, the longest entries first.
    fn read(&self, tokens: &[Token]) -> Reading {
        let mut res = Reading::default();
        let mut at = 0;
        while at < tokens.len() {
            let found = (1..=MAX_TOKENS.min(tokens.len() - at))
                .rev()
                .find_map(|length| {
                    let tokens = &tokens[at..at + length];
                    let (meaning, sureness) = match tokens {
                        [token] => self.meaning(token)?,
                        _ => (self.meaning_of_several(tokens)?, 1.0),
                    };
                    Some((length, meaning, sureness))
                });
            let Some((length, meaning, sureness)) = found else {
                res.against += f32::from(u8::from(tokens[at].is_english_binding));
                at += 1;
                continue;
            };
            let is_english = tokens[at..at + length].iter().all(|token| token.is_english);
            res.evidence += match (meaning.is_empty(), is_english) {
                (false, false) => 2.0 * sureness,
                (false, true) => 0.25,
                (true, false) => 0.5,
                (true, true) => 0.25,
            };
            res.found.push(Found {
                start: at,
                end: at + length,
                meaning,
                is_english,
            });
            at += length;
        }
        res
    }

    fn meaning_of_several(&self, tokens: &[Token]) -> Option<String> {
        if !self.first_words.contains(&tokens[0].text)
            && !self.first_words.contains(&tokens[0].folded)
        {
            return None;
        }
        let join = |text: fn(&Token) -> &str| {
            let texts: Vec<&str> = tokens.iter().map(text).collect();
            self.meanings.get(&texts.join(" ")).cloned()
        };
        let whole = join(|token| &token.text);
        whole.or_else(|| join(|token| &token.folded).filter(|_| self.folds))
    }
}

/// A text as read in one language.
#[derive(Default)]
struct Reading {
    evidence: f32,
    /// How many words bind others in English and do not belong to this language.
    against: f32,
    found: Vec<Found>,
}

struct Found {
    start: usize,
    end: usize,
    meaning: String,
    is_english: bool,
}

impl Reading {
    fn translation(&self, tokens: &[Token]) -> Translation {
        let mut content = String::new();
        let mut english = String::new();
        let mut at = 0;
        for found in &self.found {
            tokens[at..found.start]
                .iter()
                .for_each(|token| add(&mut content, &token.text));
            at = found.end;
            if !found.meaning.is_empty() {
                tokens[found.start..found.end]
                    .iter()
                    .for_each(|token| add(&mut content, &token.text));
            }
            if !found.is_english || self.evidence >= CERTAIN {
                add(&mut english, &found.meaning);
            }
        }
        tokens[at..]
            .iter()
            .for_each(|token| add(&mut content, &token.text));
        Translation { content, english }
    }
}

fn add(text: &mut String, words: &str) {
    if words.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(words);
}
