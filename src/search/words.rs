//! Which words a text consists of: the same for what is indexed and for what is asked.

use std::cell::RefCell;
use std::hash::Hasher;
use std::num::NonZeroU64;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashSet, FxHasher};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use crate::search::vectors::{Place, Vectors};

/// Raw words whose stems are remembered, for each thread; a catalog of 6,500 tools has 25,000.
const REMEMBERED: usize = 32_768;

/// The longest word that is told from another one, in bytes.
const MAX_WORD: usize = 64;

/// What stands for a word in an index: a hash of its stem.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Term(NonZeroU64);

impl Term {
    pub fn of(stem: &str) -> Term {
        let mut hasher = FxHasher::default();
        hasher.write(stem.as_bytes());
        // The last steps of MurmurHash3, so that every bit of the result may choose a slot.
        let mut hash = hasher.finish() ^ stem.len() as u64;
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        Term(NonZeroU64::new(hash ^ (hash >> 33)).unwrap_or(NonZeroU64::MIN))
    }

    /// The term of a hash; zero is none.
    pub fn from_hash(hash: u64) -> Option<Term> {
        NonZeroU64::new(hash).map(Term)
    }

    pub fn hash(self) -> u64 {
        self.0.get()
    }
}

/// A word of a text.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub stem: &'a str,
    pub term: Term,
    /// Whether it says nothing about what a text is about.
    pub is_stop: bool,
    /// Where its vector is; none for stop words and unknown ones.
    pub place: Option<Place>,
}

/// Calls `take` with every word of a text, in order: cut at everything that is no letter or digit and at camelCase,
/// lower-cased, without diacritics, stemmed as English; runs of Chinese, Japanese and Korean as pairs of characters.
pub(super) fn each(text: &str, mut take: impl FnMut(Word)) {
    STEMS.with_borrow_mut(|stems| {
        let bytes = text.as_bytes();
        let mut lower = String::new();
        let mut at = 0;
        while at < bytes.len() {
            if CLASS[bytes[at] as usize] == Class::Other {
                at += 1;
                continue;
            }
            let start = at;
            let mut shape = 0;
            while at < bytes.len() && CLASS[bytes[at] as usize] != Class::Other {
                shape |= CLASS[bytes[at] as usize] as u8;
                at += 1;
            }
            let run = &text[start..at];
            if shape & Class::Wide as u8 != 0 {
                wide(run, stems, &mut take);
            } else if shape & Class::Upper as u8 != 0 {
                cut_camel_case(run, |word| {
                    lower.clear();
                    lower.push_str(head(word, MAX_WORD));
                    lower.make_ascii_lowercase();
                    stems.give(&lower, &mut take);
                });
            } else {
                stems.give(run, &mut take);
            }
        }
    });
}

/// At most the first `limit` bytes of a text, cut at a character.
pub(super) fn head(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// All words of a text.
pub(super) fn of(text: &str) -> Vec<(String, Term)> {
    let mut res = Vec::new();
    each(text, |word| res.push((word.stem.to_owned(), word.term)));
    res
}

/// What stands for a single word in lower case, which is not remembered.
pub(super) fn term(word: &str) -> Term {
    match word.is_ascii() {
        true => Term::of(&Stemmer::create(Algorithm::English).stem(word)),
        false => Term::of(word),
    }
}

/// The words of a text, cut as [`each`] cuts them, without diacritics and in lower case but not stemmed.
pub(super) fn plain(text: &str) -> Vec<String> {
    let mut res = Vec::new();
    let runs = text.split(|c: char| !c.is_alphanumeric());
    for run in runs.filter(|run| !run.is_empty()) {
        cut_camel_case(run, |word| res.push(fold(word)));
    }
    res
}

/// A text without diacritics and in lower case, the way in which words are compared.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut res = String::with_capacity(text.len());
    for c in text.nfkc() {
        fold_char(c, &mut res);
    }
    res
}

pub(super) fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

/// What a byte can be in a word. Bytes of characters beyond ASCII are looked at again, one character at a time.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Other = 0,
    Lower = 1,
    Upper = 2,
    Digit = 4,
    Wide = 8,
}

const CLASS: [Class; 256] = {
    let mut res = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        res[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            0x80.. => Class::Wide,
            _ => Class::Other,
        };
        byte += 1;
    }
    res
};

/// `createPullRequest` → `create`, `Pull`, `Request`; `HTTPServer` → `HTTP`, `Server`; `listVMs` → `list`, `VMs`.
fn cut_camel_case<'a>(run: &'a str, mut take: impl FnMut(&'a str)) {
    let bytes = run.as_bytes();
    let class = |at: usize| bytes.get(at).map(|byte| CLASS[*byte as usize]);
    let mut start = 0;
    for at in 1..bytes.len() {
        if class(at) != Some(Class::Upper) {
            continue;
        }
        let cut = match class(at - 1) {
            Some(Class::Upper) => class(at + 1) == Some(Class::Lower) && !is_plural(bytes, at + 1),
            _ => true,
        };
        if cut {
            take(&run[start..at]);
            start = at;
        }
    }
    take(&run[start..]);
}

/// Whether the letter here is the `s` that ends an acronym, as in `APIs` and `listVMsByName`.
fn is_plural(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b's'
        && bytes
            .get(at + 1)
            .is_none_or(|next| CLASS[*next as usize] != Class::Lower)
}

/// Words of a run that has characters beyond ASCII.
fn wide(run: &str, stems: &mut Stems, take: &mut impl FnMut(Word)) {
    let mut word = String::new();
    let mut cjk: Vec<char> = Vec::new();
    let mut was_lower = false;
    for c in run.nfkc() {
        if is_cjk(c) {
            stems.flush(&mut word, take);
            cjk.push(c);
            continue;
        }
        pairs(&mut cjk, take);
        if !c.is_alphanumeric() && canonical_combining_class(c) == 0 {
            stems.flush(&mut word, take);
            was_lower = false;
            continue;
        }
        if was_lower && c.is_uppercase() {
            stems.flush(&mut word, take);
        }
        was_lower = c.is_lowercase();
        fold_char(c, &mut word);
    }
    pairs(&mut cjk, take);
    stems.flush(&mut word, take);
}

fn pairs(cjk: &mut Vec<char>, take: &mut impl FnMut(Word)) {
    let mut give = |chars: &[char]| {
        let pair: String = chars.iter().collect();
        take(Word {
            stem: &pair,
            term: Term::of(&pair),
            is_stop: false,
            place: None,
        });
    };
    match cjk.len() {
        0 => return,
        1 => give(cjk),
        _ => cjk.windows(2).for_each(give),
    }
    cjk.clear();
}

/// Adds the letter without its diacritics, in lower case.
fn fold_char(c: char, res: &mut String) {
    match c {
        'ß' => res.push_str("ss"),
        'æ' | 'Æ' => res.push_str("ae"),
        'œ' | 'Œ' => res.push_str("oe"),
        'ø' | 'Ø' => res.push('o'),
        'ł' | 'Ł' => res.push('l'),
        'đ' | 'Đ' | 'ð' | 'Ð' => res.push('d'),
        'þ' | 'Þ' => res.push_str("th"),
        'ı' => res.push('i'),
        _ if c.is_ascii() => res.push(c.to_ascii_lowercase()),
        // A syllable of Hangul or a kana with its mark is one letter, not a letter with a diacritic.
        _ if is_cjk(c) => res.push(c),
        _ => decompose_canonical(c, |part| {
            if canonical_combining_class(part) == 0 {
                res.extend(part.to_lowercase());
            }
        }),
    }
}

static STOP_WORDS: LazyLock<FxHashSet<Term>> =
    LazyLock::new(|| stems(include_str!("stop_words.txt")));

static FILLER_WORDS: LazyLock<FxHashSet<Term>> =
    LazyLock::new(|| stems(include_str!("filler_words.txt")));

/// The stems of a list of words; without [`STEMS`], which asks for it.
fn stems(list: &str) -> FxHashSet<Term> {
    let stemmer = Stemmer::create(Algorithm::English);
    list.split_whitespace()
        .map(|word| Term::of(&stemmer.stem(word)))
        .collect()
}

/// Whether a word says nothing about what a text is about.
pub(super) fn is_stop_word(term: Term) -> bool {
    STOP_WORDS.contains(&term)
}

/// Whether a word is English, as far as the vectors know.
pub(super) fn is_english(word: &str) -> bool {
    let mut res = false;
    each(word, |word| res |= word.is_stop || word.place.is_some());
    res
}

/// Whether a word is one of those that people wrap a wish in.
pub(super) fn is_filler_word(term: Term) -> bool {
    FILLER_WORDS.contains(&term)
}

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::new(Stems::new());
}

/// Stemming costs more than everything else that is done to a word, and words repeat.
struct Stems {
    stemmer: Stemmer,
    /// Open addressing by the hash of the raw word, which stands for it as a term stands for a stem.
    slots: Box<[Known]>,
    n_known: usize,
    /// The stems of known words, end to end.
    letters: String,
}

#[derive(Clone, Copy)]
struct Known {
    /// None where the slot is free.
    raw: Option<Term>,
    term: Term,
    place: Option<Place>,
    start: u32,
    length: u16,
    is_stop: bool,
}

impl Known {
    const FREE: Known = Known {
        raw: None,
        term: Term(NonZeroU64::MIN),
        place: None,
        start: 0,
        length: 0,
        is_stop: false,
    };
}

impl Stems {
    fn new() -> Stems {
        Stems {
            stemmer: Stemmer::create(Algorithm::English),
            slots: vec![Known::FREE; REMEMBERED.next_power_of_two() * 2].into(),
            n_known: 0,
            letters: String::new(),
        }
    }

    /// Hands on the stem of a word in lower case; of an endless one, that of its beginning.
    fn give(&mut self, word: &str, take: &mut impl FnMut(Word)) {
        let word = head(word, MAX_WORD);
        let raw = Term::of(word);
        let mask = self.slots.len() - 1;
        let mut slot = raw.hash() as usize & mask;
        let known = loop {
            let known = self.slots[slot];
            match known.raw {
                Some(it) if it == raw => break known,
                Some(_) => slot = (slot + 1) & mask,
                None => break self.learn(word, raw, slot),
            }
        };
        let start = known.start as usize;
        take(Word {
            stem: &self.letters[start..start + usize::from(known.length)],
            term: known.term,
            is_stop: known.is_stop,
            place: known.place,
        });
    }

    #[cold]
    fn learn(&mut self, word: &str, raw: Term, slot: usize) -> Known {
        let stem = match word.is_ascii() {
            true => self.stemmer.stem(word),
            false => word.into(),
        };
        if self.n_known >= REMEMBERED {
            self.slots.fill(Known::FREE);
            self.n_known = 0;
            self.letters.clear();
        }
        let term = Term::of(&stem);
        let is_stop = STOP_WORDS.contains(&term);
        let known = Known {
            raw: Some(raw),
            term,
            place: match is_stop {
                true => None,
                false => Vectors::embedded().find(&stem),
            },
            start: self.letters.len() as u32,
            length: stem.len() as u16,
            is_stop,
        };
        self.letters.push_str(&stem);
        self.slots[slot] = known;
        self.n_known += 1;
        known
    }

    fn flush(&mut self, word: &mut String, take: &mut impl FnMut(Word)) {
        if !word.is_empty() {
            self.give(word, take);
            word.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    fn check(text: &str, expect: Expect) {
        let words: Vec<String> = super::of(text).into_iter().map(|(word, _)| word).collect();
        expect.assert_eq(&words.join(" "));
    }

    #[test]
    fn splits_identifiers() {
        check("createPullRequest", expect!["creat pull request"]);
        check("mcp_git-hub.list:issues", expect!["mcp git hub list issu"]);
        check(
            "HTTPServer listVMsByName APIs",
            expect!["http server list vms by name api"],
        );
        check(
            "readCoreV1NamespacedPod k8s S3Bucket",
            expect!["read core v1 namespac pod k8s s3 bucket"],
        );
    }

    #[test]
    fn stems_english() {
        check(
            "scheduling meetings for companies",
            expect!["schedul meet for compani"],
        );
    }

    #[test]
    fn folds_case_and_diacritics() {
        check(
            "Lönekörning LÖNEKÖRNING lonekorning",
            expect!["lonekorn lonekorn lonekorn"],
        );
        check("Погода и прогноз", expect!["погода и прогноз"]);
        check("Đặng Straße", expect!["dang strass"]);
        check("e\u{301}cole ＡＰＩ", expect!["ecol api"]);
    }

    #[test]
    fn pairs_characters_of_scripts_without_blanks() {
        check("查询天气, 雨", expect!["查询 询天 天气 雨"]);
        check("创建GitLab合并请求", expect!["创建 git lab 合并 并请 请求"]);
    }

    #[test]
    fn takes_anything() {
        check("", expect![""]);
        check("_-. \u{0}\u{301}", expect![""]);
        assert_eq!(super::of(&"A".repeat(100))[0].0.len(), 64);
    }
}
