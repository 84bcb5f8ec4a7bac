//! Cuts a text into the pieces of words that a BERT model knows.
//!
//! The rules are those of BERT's "uncased" tokenizer: small letters without accents, signs and Chinese characters alone,
//! then for each word the longest known beginning, again and again (WordPiece).

use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::search::encoder::Unsuited;

/// A longer word is not cut, but unknown.
const MAX_WORD: usize = 100;

/// How the piece of a word begins that does not begin the word.
const INSIDE: &str = "##";

pub(super) struct Tokenizer {
    ids: FxHashMap<Box<str>, u32>,
    begin: u32,
    end: u32,
    unknown: u32,
}

impl Tokenizer {
    /// From the lines of a `vocab.txt`; the number of a line is the number of its token.
    pub fn new(vocabulary: &str) -> Result<Tokenizer, Unsuited> {
        let lines = vocabulary.lines().map(|line| line.trim_end_matches('\r'));
        let ids: FxHashMap<Box<str>, u32> = lines.map(Box::from).zip(0..).collect();
        let special = |name| ids.get(name).copied().ok_or(Unsuited::Vocabulary(name));
        Ok(Tokenizer {
            begin: special("[CLS]")?,
            end: special("[SEP]")?,
            unknown: special("[UNK]")?,
            ids,
        })
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The tokens of a text between those for its begin and end, `most` in all.
    pub fn tokens(&self, text: &str, most: usize) -> Vec<u32> {
        let most = most.saturating_sub(1);
        let mut res = vec![self.begin];
        let mut word = String::new();
        for c in text.chars().filter(|c| !is_ignored(*c)) {
            if c.is_whitespace() {
                self.push_word(&mut word, &mut res);
            } else if is_ideograph(c) {
                self.push_word(&mut word, &mut res);
                word.push(c);
                self.push_word(&mut word, &mut res);
            } else {
                for c in std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c)) {
                    if is_punctuation(c) {
                        self.push_word(&mut word, &mut res);
                        word.push(c);
                        self.push_word(&mut word, &mut res);
                    } else {
                        word.extend(c.to_lowercase().nfd().filter(|c| !is_combining_mark(*c)));
                    }
                }
            }
            if res.len() >= most {
                break;
            }
        }
        self.push_word(&mut word, &mut res);
        res.truncate(most);
        res.push(self.end);
        res
    }

    /// Adds the pieces of the word, and empties it.
    fn push_word(&self, word: &mut String, tokens: &mut Vec<u32>) {
        if word.is_empty() {
            return;
        }
        let before = tokens.len();
        if word.chars().count() > MAX_WORD || !self.push_pieces(word, tokens) {
            tokens.truncate(before);
            tokens.push(self.unknown);
        }
        word.clear();
    }

    /// Whether the word is made of known pieces to its end.
    fn push_pieces(&self, word: &str, tokens: &mut Vec<u32>) -> bool {
        let mut piece = String::with_capacity(INSIDE.len() + word.len());
        let mut start = 0;
        while start < word.len() {
            piece.clear();
            if start > 0 {
                piece.push_str(INSIDE);
            }
            let prefix = piece.len();
            piece.push_str(&word[start..]);
            loop {
                if let Some(id) = self.ids.get(&*piece) {
                    tokens.push(*id);
                    break;
                }
                piece.pop();
                if piece.len() <= prefix {
                    return false;
                }
            }
            start += piece.len() - prefix;
        }
        true
    }
}

/// Control and format characters, such as a soft hyphen or a zero-width space.
fn is_ignored(c: char) -> bool {
    if matches!(c, '\t' | '\n' | '\r') {
        return false;
    }
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fffd}' | '\u{e000}'..='\u{f8ff}')
}

/// The blocks of CJK ideographs; not kana, not hangul.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ceaf}' | '\u{f900}'..='\u{faff}' | '\u{2f800}'..='\u{2fa1f}')
}

/// All ASCII signs, also those that Unicode calls symbols, and the punctuation that occurs in real texts.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}'
            | '\u{2045}'..='\u{2051}' | '\u{2053}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}'
            | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff03}' | '\u{ff05}'..='\u{ff0a}' | '\u{ff0c}'..='\u{ff0f}'
            | '\u{ff1a}' | '\u{ff1b}' | '\u{ff1f}' | '\u{ff20}' | '\u{ff3b}'..='\u{ff3d}' | '\u{ff5f}'..='\u{ff65}' | '・')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const VOCABULARY: &str =
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\nrun\n##ning\n-\n天\ncafe\n,\n!\nnaive\n…";

    fn check(text: &str, expect: Expect) {
        let tokenizer = Tokenizer::new(VOCABULARY).unwrap();
        let words: Vec<&str> = VOCABULARY.lines().collect();
        let tokens = tokenizer.tokens(text, 10);
        let found: Vec<&str> = tokens.iter().map(|id| words[*id as usize]).collect();
        expect.assert_eq(&found.join(" "));
    }

    #[test]
    fn cuts_words_into_the_longest_known_pieces() {
        check(
            "unaffable running",
            expect!["[CLS] un ##aff ##able run ##ning [SEP]"],
        );
        check("unaffablex run", expect!["[CLS] [UNK] run [SEP]"]);
        check("##able", expect!["[CLS] [UNK] [UNK] [UNK] [SEP]"]);
    }

    #[test]
    fn case_and_accents_do_not_count() {
        check(
            "CAFÉ Cafe\u{301} naïve",
            expect!["[CLS] cafe cafe naive [SEP]"],
        );
    }

    #[test]
    fn signs_and_ideographs_stand_alone() {
        check("run-un,run!", expect!["[CLS] run - un , run ! [SEP]"]);
        check("天run天", expect!["[CLS] 天 run 天 [SEP]"]);
        check("run…", expect!["[CLS] run … [SEP]"]);
    }

    #[test]
    fn invisible_characters_are_passed_over() {
        check("r\u{200b}un\u{ad}\0", expect!["[CLS] run [SEP]"]);
        check("run\u{a0}un\n\trun", expect!["[CLS] run un run [SEP]"]);
        check(" \n", expect!["[CLS] [SEP]"]);
    }

    #[test]
    fn a_text_is_cut_at_so_many_tokens() {
        check(
            "run run run run run run run run run run run",
            expect!["[CLS] run run run run run run run run [SEP]"],
        );
        check(
            "un un un un un un un unaffable",
            expect!["[CLS] un un un un un un un un [SEP]"],
        );
    }

    #[test]
    fn a_word_of_absurd_length_is_unknown() {
        check(&"un".repeat(51), expect!["[CLS] [UNK] [SEP]"]);
    }

    #[test]
    fn a_vocabulary_without_the_special_tokens_is_refused() {
        let missing = Tokenizer::new("[UNK]\n[SEP]\nrun").err();
        assert_eq!(missing, Some(Unsuited::Vocabulary("[CLS]")));
    }
}
