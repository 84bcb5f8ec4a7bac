//! Which words a text consists of: the same for what is indexed and for what is asked.

use std::cell::RefCell;
use std::hash::Hasher;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use rustc_hash::{FxHashSet, FxHasher};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use crate::search::runs::{self, Shape};
use crate::search::stems::{MAX_WORD, Stems};
use crate::search::vectors::Place;

thread_local! {
    static STEMS: RefCell<Stems> = RefCell::new(Stems::new());
}

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
    pub term: Term,
    /// Whether it says nothing about what a text is about.
    pub is_stop: bool,
    /// Where its vector is; none for stop words and unknown ones.
    pub place: Option<Place>,
    /// Letters that have its stem among them, and where.
    pub letters: &'a str,
    pub start: u32,
    pub length: u16,
}

impl<'a> Word<'a> {
    /// Not a field: most who read words have no use for it.
    pub fn stem(&self) -> &'a str {
        let start = self.start as usize;
        &self.letters[start..start + usize::from(self.length)]
    }
}

/// Calls `take` with every word of a text, in order: cut at everything that is no letter or digit and at camelCase,
/// lower-cased, without diacritics, stemmed as English; runs of Chinese, Japanese and Korean as pairs of characters.
pub(super) fn each(text: &str, mut take: impl FnMut(Word)) {
    let bytes = text.as_bytes();
    STEMS.with_borrow_mut(|stems| {
        stems.clear();
        runs::each(text, |run, shape| match shape {
            Shape::Plain => stems.read(&bytes[run.start..], run.len(), &mut take),
            Shape::Mixed => cut_camel_case(&text[run.clone()], |word| {
                stems.read(&bytes[run.start + word.start..], word.len(), &mut take);
            }),
            Shape::Wide => wide(&text[run], stems, &mut take),
        });
        stems.hand_on(&mut take);
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
    each(text, |word| res.push((word.stem().to_owned(), word.term)));
    res
}

/// What stands for a single word in lower case, which is not remembered; for an endless one, what stands for its
/// beginning.
pub(super) fn term(word: &str) -> Term {
    let word = head(word, MAX_WORD);
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
        cut_camel_case(run, |word| res.push(fold(&run[word])));
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

/// `createPullRequest` → `create`, `Pull`, `Request`; `HTTPServer` → `HTTP`, `Server`; `listVMs` → `list`, `VMs`.
fn cut_camel_case(run: &str, mut take: impl FnMut(Range<usize>)) {
    let bytes = run.as_bytes();
    let mut start = 0;
    for at in 1..bytes.len() {
        if !bytes[at].is_ascii_uppercase() {
            continue;
        }
        let ends_acronym = || {
            let next = bytes.get(at + 1);
            next.is_some_and(u8::is_ascii_lowercase) && !is_plural(bytes, at + 1)
        };
        if !bytes[at - 1].is_ascii_uppercase() || ends_acronym() {
            take(start..at);
            start = at;
        }
    }
    take(start..bytes.len());
}

/// Whether the letter here is the `s` that ends an acronym, as in `APIs` and `listVMsByName`.
fn is_plural(bytes: &[u8], at: usize) -> bool {
    let next = bytes.get(at + 1);
    bytes[at] == b's' && !next.is_some_and(u8::is_ascii_lowercase)
}

/// Words of a run that has characters beyond ASCII.
fn wide(run: &str, stems: &mut Stems, take: &mut impl FnMut(Word)) {
    for piece in run.split(is_mark).filter(|piece| !piece.is_empty()) {
        let is_folded = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        match piece.bytes().all(is_folded) {
            true => stems.read(piece.as_bytes(), piece.len(), take),
            false => folded(piece, stems, take),
        }
    }
}

/// Whether a character is one of the dashes, quotes, bullets, arrows and signs that are in no word, whatever stands
/// beside them. In English most of what is beyond ASCII is, and to pass over it is quicker than to fold it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{2000}'..='\u{203f}' | '\u{2190}'..='\u{22ff}')
}

fn folded(run: &str, stems: &mut Stems, take: &mut impl FnMut(Word)) {
    let mut word = String::new();
    let mut cjk: Vec<char> = Vec::new();
    let mut was_lower = false;
    let mut flush = |word: &mut String, stems: &mut Stems| {
        if !word.is_empty() {
            stems.read_folded(word, take);
            word.clear();
        }
    };
    for c in run.nfkc() {
        if is_cjk(c) {
            flush(&mut word, stems);
            cjk.push(c);
            continue;
        }
        pairs(&mut cjk, |pair| flush(pair, stems));
        if !c.is_alphanumeric() && canonical_combining_class(c) == 0 {
            flush(&mut word, stems);
            was_lower = false;
            continue;
        }
        if was_lower && c.is_uppercase() {
            flush(&mut word, stems);
        }
        was_lower = c.is_lowercase();
        fold_char(c, &mut word);
    }
    pairs(&mut cjk, |pair| flush(pair, stems));
    flush(&mut word, stems);
}

/// Hands on the characters of a run two by two, or the one that there is.
fn pairs(cjk: &mut Vec<char>, mut take: impl FnMut(&mut String)) {
    let mut give = |chars: &[char]| take(&mut chars.iter().collect());
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

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expect: Expect) {
        let words: Vec<String> = of(text).into_iter().map(|(word, _)| word).collect();
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
    fn marks_only_part_words() {
        check(
            "user’s “listVMs”—a→b…‘API’ naïve•Café",
            expect!["user s list vms a b api naiv cafe"],
        );
        for mark in ('\0'..=char::MAX).filter(|c| is_mark(*c)) {
            assert_eq!(canonical_combining_class(mark), 0);
            for c in [mark].into_iter().nfkc() {
                assert!(!c.is_alphanumeric() && !is_cjk(c), "{mark:?} has {c:?}");
            }
        }
    }

    #[test]
    fn takes_anything() {
        check("", expect![""]);
        check("_-. \u{0}\u{301}", expect![""]);
        assert_eq!(of(&"A".repeat(100))[0].0.len(), 64);
    }
}
