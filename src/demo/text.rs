//! The text workshop: counting, changing, comparing and encoding texts, without any state.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::demo::encoding;
use crate::demo::server::Server;
use crate::demo::tool::{Answer, Effect, Tool};

/// Longer texts would make the comparison of two of them take too long.
const MAX_DIFF_LINES: usize = 2000;

pub fn server() -> Server<()> {
    use Effect::Reads;
    Server {
        name: "text",
        instructions: "Exact work on texts: counting, changing, comparing and encoding.",
        tools: vec![
            Tool::new("count_words", "Count words", Reads, count_words),
            Tool::new("slugify", "Make a slug", Reads, slugify),
            Tool::new("diff_texts", "Compare two texts", Reads, diff_texts),
            Tool::new("replace_text", "Replace in a text", Reads, replace_text),
            Tool::new(
                "change_case",
                "Change upper and lower case",
                Reads,
                change_case,
            ),
            Tool::new("sort_lines", "Sort lines", Reads, sort_lines),
            Tool::new("wrap_text", "Wrap lines", Reads, wrap_text),
            Tool::new("hash_text", "Hash a text", Reads, hash_text),
            Tool::new("encode_text", "Encode a text", Reads, encode_text),
            Tool::new("decode_text", "Decode a text", Reads, decode_text),
        ],
        state: (),
    }
}

/// Counts the words, characters, lines and sentences of a text and can list its most frequent words.
/// Use this whenever a length is asked for or a limit has to be kept: language models are not good at
/// counting.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CountWords {
    /// The text to count.
    text: String,
    /// Number of the most frequent words to list with their counts; 0 for none.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    top: usize,
    /// Words that are left out of the list of frequent ones, in whichever case.
    #[serde(default)]
    stop_words: Vec<String>,
}

fn count_words(_: &mut (), arguments: CountWords) -> Result<Answer, String> {
    let text = &arguments.text;
    let words: Vec<String> = words(text).map(str::to_lowercase).collect();
    let mut answer = json!({
        "words": words.len(),
        "characters": text.chars().count(),
        "characters_without_blanks": text.chars().filter(|c| !c.is_whitespace()).count(),
        "lines": text.lines().count(),
        "sentences": sentences(text),
    });
    if arguments.top > 0 {
        let stop_words: BTreeSet<_> = arguments
            .stop_words
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for word in words.iter().filter(|word| !stop_words.contains(*word)) {
            *counts.entry(word).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let top = counts.into_iter().take(arguments.top.min(100));
        let top: Vec<_> = top
            .map(|(word, count)| json!({"word": word, "count": count}))
            .collect();
        answer["top"] = top.into();
    }
    Ok(Answer::structured(answer))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| !(c.is_alphanumeric() || c == '\'' || c == '’' || c == '-');
    text.split(is_separator)
        .filter(|word| word.chars().any(char::is_alphanumeric))
}

/// A sentence ends with `.`, `!`, `?` or `…`, followed by a blank or the end.
fn sentences(text: &str) -> usize {
    let ended = |word: &str| {
        word.trim_end_matches(['"', '\'', ')', '”', '’'])
            .ends_with(['.', '!', '?', '…'])
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = words.iter().filter(|word| ended(word)).count();
    let has_open_end = words.last().is_some_and(|word| !ended(word));
    ends + usize::from(has_open_end)
}

/// Turns a title into a slug for addresses and file names: lower case, accents removed, everything but
/// letters and digits replaced by a separator, no separator at the ends. "Crème brûlée, 2nd try!"
/// becomes "creme-brulee-2nd-try".
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Slugify {
    /// The text to turn into a slug.
    text: String,
    /// What stands between two words.
    #[serde(default)]
    separator: SlugSeparator,
    /// Most characters of the slug. It is cut between words where that is possible.
    #[serde(default = "eighty")]
    #[schemars(range(min = 1, max = 200))]
    max_length: usize,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
enum SlugSeparator {
    #[default]
    #[serde(rename = "-")]
    Dash,
    #[serde(rename = "_")]
    Underscore,
    #[serde(rename = ".")]
    Dot,
}

fn eighty() -> usize {
    80
}

fn slugify(_: &mut (), arguments: Slugify) -> Result<Answer, String> {
    let max_length = within("max_length", arguments.max_length, 1, 200)?;
    let separator = match arguments.separator {
        SlugSeparator::Dash => "-",
        SlugSeparator::Underscore => "_",
        SlugSeparator::Dot => ".",
    };
    let plain: String = arguments
        .text
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .collect();
    let plain = plain.to_lowercase();
    let mut slug = String::new();
    for word in plain
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let length = slug.chars().count() + separator.len() + word.chars().count();
        if slug.is_empty() {
            slug = word.chars().take(max_length).collect();
        } else if length <= max_length {
            slug.push_str(separator);
            slug.push_str(word);
        } else {
            break;
        }
    }
    if slug.is_empty() {
        return Err("`text` has neither letters nor digits".into());
    }
    Ok(Answer::text(slug))
}

/// Compares two texts line by line and returns the difference in the unified form: lines that begin
/// with a minus sign are only in the old text, lines with a plus sign only in the new one. Returns
/// "no difference" when the texts are the same.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiffTexts {
    /// The text before the change.
    old: String,
    /// The text after the change.
    new: String,
    /// Number of unchanged lines to show around each change.
    #[serde(default = "three")]
    #[schemars(range(min = 0, max = 50))]
    context_lines: usize,
    /// Whether lines that differ only in blanks count as the same.
    #[serde(default)]
    ignore_whitespace: bool,
}

fn three() -> usize {
    3
}

fn diff_texts(_: &mut (), arguments: DiffTexts) -> Result<Answer, String> {
    let context = within("context_lines", arguments.context_lines, 0, 50)?;
    let old: Vec<&str> = arguments.old.lines().collect();
    let new: Vec<&str> = arguments.new.lines().collect();
    if old.len().max(new.len()) > MAX_DIFF_LINES {
        return Err(format!("a text may have at most {MAX_DIFF_LINES} lines"));
    }
    let is_same = |left: &str, right: &str| match arguments.ignore_whitespace {
        false => left == right,
        true => left.split_whitespace().eq(right.split_whitespace()),
    };
    let changes = changes(&old, &new, is_same);
    let is_shown = |at: usize| {
        let around = at.saturating_sub(context)..(at + context + 1).min(changes.len());
        changes[around].iter().any(|(sign, _)| *sign != ' ')
    };
    let mut lines = Vec::new();
    let mut is_gap = false;
    for (at, (sign, line)) in changes.iter().enumerate() {
        if !is_shown(at) {
            is_gap = true;
            continue;
        }
        if is_gap && !lines.is_empty() {
            lines.push("...".to_owned());
        }
        is_gap = false;
        lines.push(format!("{sign}{line}"));
    }
    if lines.is_empty() {
        return Ok(Answer::text("no difference"));
    }
    Ok(Answer::text(lines.join("\n")))
}

/// By the longest common subsequence of lines.
fn changes<'a>(
    old: &[&'a str],
    new: &[&'a str],
    is_same: impl Fn(&str, &str) -> bool,
) -> Vec<(char, &'a str)> {
    let width = new.len() + 1;
    let mut common = vec![0u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if is_same(old[i], new[j]) {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut changes = Vec::new();
    while i < old.len() || j < new.len() {
        let both = i < old.len() && j < new.len();
        if both && is_same(old[i], new[j]) {
            changes.push((' ', new[j]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (both && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            changes.push(('-', old[i]));
            i += 1;
        } else {
            changes.push(('+', new[j]));
            j += 1;
        }
    }
    changes
}

/// Replaces pieces of a text by others, one replacement after the other, and returns the new text and
/// how often each piece was found. Pieces are taken to the letter: there are no regular expressions,
/// and a dot is a dot.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceText {
    /// The text to change.
    text: String,
    /// The replacements, in the order in which they are made. At most 50.
    #[schemars(length(min = 1, max = 50))]
    replacements: Vec<Replacement>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Replacement {
    /// The piece to look for, to the letter.
    #[schemars(length(min = 1))]
    find: String,
    /// What to put in its place. An empty text removes the piece.
    replace: String,
    /// Which of the places to change.
    #[serde(default)]
    occurrences: Occurrences,
    /// Whether the piece has to stand between blanks, signs or the ends of the text.
    #[serde(default)]
    whole_words: bool,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Occurrences {
    #[default]
    All,
    First,
    Last,
}

fn replace_text(_: &mut (), arguments: ReplaceText) -> Result<Answer, String> {
    if !(1..=50).contains(&arguments.replacements.len()) {
        return Err("`replacements` has to hold 1 to 50 items".into());
    }
    let mut text = arguments.text;
    let mut counts = Vec::new();
    for replacement in &arguments.replacements {
        let places = places(&text, replacement)?;
        for at in places.iter().rev() {
            text.replace_range(*at..at + replacement.find.len(), &replacement.replace);
        }
        counts.push(places.len());
    }
    Ok(Answer::structured(
        json!({"text": text, "replaced": counts}),
    ))
}

fn places(text: &str, replacement: &Replacement) -> Result<Vec<usize>, String> {
    let find = replacement.find.as_str();
    if find.is_empty() {
        return Err("`find` is empty".into());
    }
    let is_whole = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + find.len()..].chars().next();
        ![before, after]
            .into_iter()
            .flatten()
            .any(char::is_alphanumeric)
    };
    let mut places: Vec<usize> = text
        .match_indices(find)
        .map(|(at, _)| at)
        .filter(|at| !replacement.whole_words || is_whole(*at))
        .collect();
    match replacement.occurrences {
        Occurrences::All => {}
        Occurrences::First => places.truncate(1),
        Occurrences::Last => {
            places.drain(..places.len().saturating_sub(1));
        }
    }
    Ok(places)
}

/// Changes the case of a text, or joins its words in one of the ways in which programmers write names.
/// "Tool search result" becomes "tool_search_result" in snake case and "ToolSearchResult" in Pascal
/// case.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeCase {
    /// The text to change.
    text: String,
    /// The case wanted. Upper, lower, title and sentence keep blanks and signs; the others keep only
    /// letters and digits.
    case: Case,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Case {
    Upper,
    Lower,
    Title,
    Sentence,
    Snake,
    Kebab,
    Camel,
    Pascal,
    Constant,
}

fn change_case(_: &mut (), arguments: ChangeCase) -> Result<Answer, String> {
    let text = &arguments.text;
    let joined = |separator: &str, change: fn(&str) -> String| -> String {
        let parts: Vec<String> = parts_of_name(text)
            .iter()
            .map(|part| change(part))
            .collect();
        parts.join(separator)
    };
    Ok(Answer::text(match arguments.case {
        Case::Upper => text.to_uppercase(),
        Case::Lower => text.to_lowercase(),
        Case::Title => {
            let pieces = text.split_inclusive(char::is_whitespace);
            pieces.map(capitalised).collect()
        }
        Case::Sentence => capitalised(text),
        Case::Snake => joined("_", str::to_lowercase),
        Case::Kebab => joined("-", str::to_lowercase),
        Case::Constant => joined("_", str::to_uppercase),
        Case::Pascal => joined("", capitalised),
        Case::Camel => {
            let mut parts = parts_of_name(text).into_iter();
            let first = parts.next().unwrap_or_default().to_lowercase();
            first + &parts.map(|part| capitalised(&part)).collect::<String>()
        }
    }))
}

/// Splits at everything but letters and digits, and where a capital follows a small letter.
fn parts_of_name(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        let begins = !before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase());
        if c.is_alphanumeric() {
            match parts.last_mut() {
                Some(part) if !begins => part.push(c),
                _ => parts.push(c.into()),
            }
        }
        before = c;
    }
    parts
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().collect::<String>() + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}

/// Sorts the lines of a text, and can remove lines that occur twice and empty ones. Numbers can be
/// sorted by their value, so that 9 comes before 10.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SortLines {
    /// The text whose lines are sorted.
    text: String,
    /// By what the lines are sorted.
    #[serde(default)]
    by: SortKey,
    /// Whether the order is reversed.
    #[serde(default)]
    descending: bool,
    /// Whether only the first of several equal lines is kept.
    #[serde(default)]
    unique: bool,
    /// Whether empty lines are removed.
    #[serde(default)]
    drop_empty: bool,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SortKey {
    /// Letters, capitals and small ones alike.
    #[default]
    Text,
    /// The first number in the line; lines without one come last.
    Number,
    /// The number of characters.
    Length,
}

fn sort_lines(_: &mut (), arguments: SortLines) -> Result<Answer, String> {
    let mut lines: Vec<&str> = arguments.text.lines().collect();
    if arguments.drop_empty {
        lines.retain(|line| !line.trim().is_empty());
    }
    match arguments.by {
        SortKey::Text => lines.sort_by_key(|line| line.to_lowercase()),
        SortKey::Number => {
            lines.sort_by(|left, right| first_number(left).total_cmp(&first_number(right)));
        }
        SortKey::Length => lines.sort_by_key(|line| line.chars().count()),
    }
    if arguments.descending {
        lines.reverse();
    }
    if arguments.unique {
        let mut seen = BTreeSet::new();
        lines.retain(|line| seen.insert(*line));
    }
    Ok(Answer::text(lines.join("\n")))
}

fn first_number(line: &str) -> f64 {
    let Some(at) = line.find(|c: char| c.is_ascii_digit()) else {
        return f64::INFINITY;
    };
    let digits = &line[at..];
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let number: f64 = digits[..end]
        .trim_end_matches('.')
        .parse()
        .unwrap_or(f64::INFINITY);
    if line[..at].ends_with('-') {
        -number
    } else {
        number
    }
}

/// Wraps the paragraphs of a text so that no line is longer than a number of characters, for e-mails,
/// commit messages and comments. Paragraphs are told apart by empty lines; words that are longer than
/// a line are not broken.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrapText {
    /// The text to wrap.
    text: String,
    /// Most characters of a line.
    #[serde(default = "eighty")]
    #[schemars(range(min = 10, max = 400))]
    width: usize,
    /// What every line begins with, for example "> " or "// ". It counts as part of the width.
    #[serde(default)]
    prefix: String,
}

fn wrap_text(_: &mut (), arguments: WrapText) -> Result<Answer, String> {
    let width = within("width", arguments.width, 10, 400)?;
    let prefix = &arguments.prefix;
    let mut lines = Vec::new();
    for (nth, paragraph) in paragraphs(&arguments.text).iter().enumerate() {
        if nth > 0 {
            lines.push(prefix.trim_end().to_owned());
        }
        let mut line = prefix.clone();
        let mut is_empty = true;
        for word in paragraph.split_whitespace() {
            let length = line.chars().count() + word.chars().count() + usize::from(!is_empty);
            if !is_empty && length > width {
                lines.push(std::mem::replace(&mut line, prefix.clone()));
                is_empty = true;
            }
            if !is_empty {
                line.push(' ');
            }
            line.push_str(word);
            is_empty = false;
        }
        lines.push(line);
    }
    Ok(Answer::text(lines.join("\n")))
}

fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in text.lines() {
        match paragraphs.last_mut() {
            Some(paragraph) if !line.trim().is_empty() => {
                paragraph.push_str(line);
                paragraph.push('\n');
            }
            Some(paragraph) if !paragraph.is_empty() => paragraphs.push(String::new()),
            _ => {}
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

/// Computes the checksum of a text in UTF-8, for comparing it with a published one or for telling
/// whether a text has changed. Not suited to storing passwords.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HashText {
    /// The text to hash, to the byte: blanks and line breaks at its ends count.
    text: String,
    /// The algorithm.
    #[serde(default)]
    algorithm: Algorithm,
    /// How the checksum is written.
    #[serde(default)]
    encoding: HashEncoding,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Algorithm {
    Sha224,
    #[default]
    Sha256,
    Sha384,
    Sha512,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum HashEncoding {
    #[default]
    Hex,
    Base64,
}

fn hash_text(_: &mut (), arguments: HashText) -> Result<Answer, String> {
    let bytes = arguments.text.as_bytes();
    let digest = match arguments.algorithm {
        Algorithm::Sha224 => Sha224::digest(bytes).to_vec(),
        Algorithm::Sha256 => Sha256::digest(bytes).to_vec(),
        Algorithm::Sha384 => Sha384::digest(bytes).to_vec(),
        Algorithm::Sha512 => Sha512::digest(bytes).to_vec(),
    };
    Ok(Answer::text(match arguments.encoding {
        HashEncoding::Hex => encoding::to_hex(&digest),
        HashEncoding::Base64 => encoding::to_base64(&digest),
    }))
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    /// Letters, digits, + and /, padded with =.
    Base64,
    /// Two hexadecimal digits a byte.
    Hex,
    /// Percent signs, as in the query of an address.
    Url,
}

/// Encodes a text in UTF-8 as base64, as hexadecimal digits or with percent signs for an address. Use
/// decode_text for the way back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EncodeText {
    /// The text to encode.
    text: String,
    /// The encoding wanted.
    encoding: Encoding,
    /// For base64: whether - and _ stand for + and /, and the padding is left out.
    #[serde(default)]
    url_safe: bool,
}

fn encode_text(_: &mut (), arguments: EncodeText) -> Result<Answer, String> {
    let bytes = arguments.text.as_bytes();
    Ok(Answer::text(match arguments.encoding {
        Encoding::Hex => encoding::to_hex(bytes),
        Encoding::Url => encoding::to_percent(bytes),
        Encoding::Base64 if arguments.url_safe => encoding::to_base64(bytes)
            .trim_end_matches('=')
            .replace('+', "-")
            .replace('/', "_"),
        Encoding::Base64 => encoding::to_base64(bytes),
    }))
}

/// Decodes a text that was encoded as base64, as hexadecimal digits or with percent signs. Both
/// alphabets of base64 are understood, with and without padding. What is not text in UTF-8 is refused.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DecodeText {
    /// The encoded text.
    encoded: String,
    /// How it was encoded.
    encoding: Encoding,
}

fn decode_text(_: &mut (), arguments: DecodeText) -> Result<Answer, String> {
    let bytes = match arguments.encoding {
        Encoding::Hex => encoding::from_hex(&arguments.encoded),
        Encoding::Url => encoding::from_percent(&arguments.encoded),
        Encoding::Base64 => encoding::from_base64(&arguments.encoded),
    };
    let bytes = bytes.ok_or("`encoded` is not a text in that encoding")?;
    let text = String::from_utf8(bytes).map_err(|_| "the decoded bytes are not UTF-8")?;
    Ok(Answer::text(text))
}

fn within(name: &str, value: usize, min: usize, max: usize) -> Result<usize, String> {
    if !(min..=max).contains(&value) {
        return Err(format!("`{name}` has to be {min} to {max}, not {value}"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::demo::tool::call;

    fn check(name: &str, arguments: serde_json::Value, expected: expect_test::Expect) {
        expected.assert_eq(&call(&mut server(), name, arguments));
    }

    #[test]
    fn counts() {
        let text = "Don't panic. It is 42, isn't it? Yes";
        check(
            "count_words",
            json!({"text": text, "top": 2, "stop_words": ["IT"]}),
            expect![[
                r#"{"words":8,"characters":36,"characters_without_blanks":29,"lines":1,"sentences":3,"top":[{"word":"42","count":1},{"word":"don't","count":1}]}"#
            ]],
        );
    }

    #[test]
    fn makes_slugs() {
        check(
            "slugify",
            json!({"text": "  Über-Straße №5 ", "separator": "_"}),
            expect!["uber_straße_no5"],
        );
        check(
            "slugify",
            json!({"text": "one two three", "max_length": 8}),
            expect!["one-two"],
        );
    }

    #[test]
    fn shows_what_differs() {
        let (old, new) = ("a\nb\nc\nd\ne\nf", "a\nB\nc\nd\ne\nf\ng");
        check(
            "diff_texts",
            json!({"old": old, "new": new, "context_lines": 1}),
            expect![[r#"
                 a
                -b
                +B
                 c
                ...
                 f
                +g"#]],
        );
        check(
            "diff_texts",
            json!({"old": "a  b", "new": "a b", "ignore_whitespace": true}),
            expect!["no difference"],
        );
    }

    #[test]
    fn replaces_to_the_letter() {
        let replacements = json!([
            {"find": "a.b", "replace": "x"},
            {"find": "cat", "replace": "dog", "whole_words": true},
            {"find": "o", "replace": "0", "occurrences": "last"},
        ]);
        check(
            "replace_text",
            json!({"text": "a.b acb cat concat oo", "replacements": replacements}),
            expect![[r#"{"text":"x acb dog concat o0","replaced":[1,1,1]}"#]],
        );
        check(
            "replace_text",
            json!({"text": "a", "replacements": [{"find": "", "replace": "x"}]}),
            expect!["error: `find` is empty"],
        );
    }

    #[test]
    fn changes_case() {
        let cases = [
            "upper", "title", "sentence", "snake", "kebab", "camel", "pascal", "constant",
        ];
        let answers = cases.map(|case| {
            call(
                &mut server(),
                "change_case",
                json!({"text": "parse jsonText, twice", "case": case}),
            )
        });
        expect![[r#"
            PARSE JSONTEXT, TWICE
            Parse Jsontext, Twice
            Parse jsontext, twice
            parse_json_text_twice
            parse-json-text-twice
            parseJsonTextTwice
            ParseJsonTextTwice
            PARSE_JSON_TEXT_TWICE"#]]
        .assert_eq(&answers.join("\n"));
    }

    #[test]
    fn sorts_and_wraps_lines() {
        check(
            "sort_lines",
            json!({"text": "b 10\nA 9\n\nA 9\nc -3", "by": "number", "unique": true, "drop_empty": true}),
            expect![[r#"
                c -3
                A 9
                b 10"#]],
        );
        check(
            "wrap_text",
            json!({"text": "one two three\nfour\n\nfive", "width": 12, "prefix": "> "}),
            expect![[r#"
                > one two
                > three four
                >
                > five"#]],
        );
    }

    #[test]
    fn hashes_and_encodes() {
        check(
            "hash_text",
            json!({"text": "abc"}),
            expect!["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
        );
        check(
            "encode_text",
            json!({"text": "a?>", "encoding": "base64", "url_safe": true}),
            expect!["YT8-"],
        );
        check(
            "decode_text",
            json!({"encoded": "YT8-", "encoding": "base64"}),
            expect!["a?>"],
        );
        check(
            "decode_text",
            json!({"encoded": "ff", "encoding": "hex"}),
            expect!["error: the decoded bytes are not UTF-8"],
        );
    }
}
