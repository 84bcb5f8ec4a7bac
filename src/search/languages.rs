//! What words of other languages mean, as far as tools are concerned.
//!
//! The tables are small: what tools do and what they do it to. They serve queries in a language that a catalog does not
//! speak, and texts of tools that are not in English.
//!
//! Whether a word is one of another language is no question for the word vectors: they know `fichier`, for some tools
//! are described in French. A word that a table has is that language's unless it is listed as English too.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::UnicodeNormalization;

use crate::search::stems::MAX_WORD;
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

/// The same for a text without a word that only English has.
const CERTAIN_UNOPPOSED: f32 = 2.5;

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
    let is_worth_a_try = |word: &&str| match is_certainly_english(word, &is_english) {
        true => is_shadowed(word),
        false => {
            let token = Token::new(word, &is_english);
            !token.is_english && LATIN.iter().any(|it| it.begins(&token))
        }
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
    let translation = (best.evidence >= enough).then(|| best.translation(&tokens))?;
    (!translation.english.is_empty()).then_some(translation)
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
    match word.is_ascii() && has_capital(word) {
        true => is_known_as_english(&word.to_ascii_lowercase(), is_english),
        false => is_known_as_english(word, is_english),
    }
}

/// Whether a word that passes for an English one is another language's all the same.
fn is_shadowed(word: &str) -> bool {
    if !SHADOWED_HEADS.has(word) {
        return false;
    }
    let word = word.to_ascii_lowercase();
    !ENGLISH.contains(word.as_str()) && LATIN.iter().any(|language| language.claims(&word))
}

/// English words that a table has too, or that begin as a word of a table; a test asks that each of them is needed.
///
/// Chosen from Debian's list of American English words (package `wamerican`, free to use), and gone through by hand: a
/// few that are rather the other language's are left out.
static ENGLISH: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| include_str!("languages/english.txt").lines().collect());

/// Whether a word in lower case needs no translation.
fn is_known_as_english(word: &str, is_english: impl Fn(&str) -> bool) -> bool {
    word.is_ascii() && (word.len() < HEAD || is_english(word) || ENGLISH.contains(word))
}

static SHADOWED_HEADS: LazyLock<Heads> = LazyLock::new(|| {
    let mut res = Heads::default();
    for language in LATIN.iter().filter(|language| language.claims_words) {
        let prefixes = language.prefixes.keys();
        let words = language.meanings.keys().chain(prefixes);
        words.for_each(|word| res.add(word));
    }
    res
});

/// How words begin, a bit for each three letters of ASCII whatever their case; most words begin in no such way.
struct Heads([u64; 512]);

impl Default for Heads {
    fn default() -> Heads {
        Heads([0; 512])
    }
}

impl Heads {
    fn add(&mut self, word: &str) {
        if let Some((at, bit)) = Heads::place(word) {
            self.0[at] |= bit;
        }
    }

    fn has(&self, word: &str) -> bool {
        Heads::place(word).is_some_and(|(at, bit)| self.0[at] & bit != 0)
    }

    fn place(word: &str) -> Option<(usize, u64)> {
        let letters = word.as_bytes().first_chunk::<HEAD>()?;
        let letter = |number: usize, byte: &u8| number << 5 | usize::from(byte & 31);
        let number = letters.iter().fold(0, letter);
        Some((number / 64, 1 << (number % 64)))
    }
}

impl Token {
    fn new(text: &str, is_english: impl Fn(&str) -> bool) -> Token {
        let text: String = text.nfc().flat_map(char::to_lowercase).collect();
        let mut is_english_binding = false;
        words::each(&text, |word| is_english_binding |= word.is_stop);
        Token {
            folded: words::fold(&text),
            is_english_binding,
            is_english: is_known_as_english(&text, is_english),
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
    /// First words of entries that have several, and all of their words.
    first_words: FxHashSet<String>,
    any_words: FxHashSet<String>,
    /// The longest beginning, in bytes.
    longest_prefix: usize,
    /// In characters, where the language has no blanks.
    longest: usize,
    /// Whether a word without its diacritics is still the same word to a reader.
    folds: bool,
    /// Whether words are made by writing others one behind the other.
    has_compounds: bool,
    /// Whether its words are long enough to be told from English ones that happen to be written alike.
    claims_words: bool,
}

static CHINESE: LazyLock<Language> =
    LazyLock::new(|| Language::parse(include_str!("languages/zh.txt")));
static JAPANESE: LazyLock<Language> =
    LazyLock::new(|| Language::parse(include_str!("languages/ja.txt")));

static LATIN: LazyLock<[Language; 5]> = LazyLock::new(|| {
    let folding = |table| Language {
        folds: true,
        claims_words: true,
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
        let mut keys = vec![words::fold(&key), spelt_out(&key), key];
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            if let Some((first, _)) = key.split_once(' ') {
                self.first_words.insert(first.to_owned());
                self.any_words.extend(key.split(' ').map(str::to_owned));
            }
            let meanings = match is_prefix {
                true => {
                    self.longest_prefix = self.longest_prefix.max(key.len());
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
        self.any_words.contains(&token.text)
            || self
                .meaning(token)
                .is_some_and(|(meaning, _)| !meaning.is_empty())
    }

    /// Whether a word in lower case that is not listed as English is this language's, whoever else knows it.
    fn claims(&self, word: &str) -> bool {
        self.claims_words
            && match self.meanings.get(word) {
                Some(meaning) => !meaning.is_empty(),
                None => self.by_prefix(word, HEAD).is_some(),
            }
    }

    /// Whether what was found may be English as well.
    fn is_english(&self, tokens: &[Token]) -> bool {
        let is_english = |token: &Token| {
            let is_short = token.text.len() < HEAD;
            token.is_english && (is_short || ENGLISH.contains(token.text.as_str()))
        };
        match tokens {
            [token] => token.is_english && (is_english(token) || !self.claims(&token.text)),
            _ => tokens.iter().all(is_english),
        }
    }

    /// What a word means, and how sure that is.
    fn meaning(&self, token: &Token) -> Option<(String, f32)> {
        let folded = || self.meanings.get(&token.folded).filter(|_| self.folds);
        let whole = self.meanings.get(&token.text).or_else(folded);
        if let Some(meaning) = whole {
            return Some((meaning.clone(), 1.0));
        }
        let begun = self
            .by_prefix(&token.text, HEAD)
            .or_else(|| self.by_prefix(&token.folded, MIN_PREFIX));
        // `projekt*` is no more than the beginning of `projektdateien`.
        let parts = self.by_parts(&token.folded);
        match begun {
            Some(meaning) => Some(
                parts
                    .filter(|(_, sureness)| *sureness == 1.0)
                    .unwrap_or_else(|| (meaning.to_owned(), 1.0)),
            ),
            None => parts,
        }
    }

    fn by_prefix(&self, word: &str, least: usize) -> Option<&str> {
        let ends = word.char_indices().map(|(at, _)| at).chain([word.len()]);
        let head = ends.clone().nth(HEAD)?;
        if !self.heads.contains(&word[..head]) {
            return None;
        }
        let shortest = ends.clone().nth(least)?;
        (shortest..=word.len().min(self.longest_prefix))
            .rev()
            .filter(|end| word.is_char_boundary(*end))
            .find_map(|end| self.prefixes.get(&word[..end]).map(String::as_str))
    }

    /// `projektdateien` → `project file`: the longest known word at the end, and what is before it if that is known.
    fn by_parts(&self, word: &str) -> Option<(String, f32)> {
        const SHORTEST: usize = 4;
        let lengths = 2 * SHORTEST..=MAX_WORD;
        if !self.has_compounds || !lengths.contains(&word.len()) || !word.is_ascii() {
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
            let tokens = &tokens[at..at + length];
            let is_english = match meaning.is_empty() {
                true => tokens.iter().any(|token| token.is_english_binding),
                false => self.is_english(tokens),
            };
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
    /// Whether a text of so many words is in this language beyond doubt.
    fn is_certain(&self, n_tokens: usize) -> bool {
        let n_found: usize = self.found.iter().map(|it| it.end - it.start).sum();
        let is_unopposed = self.evidence >= CERTAIN_UNOPPOSED && self.against == 0.0;
        self.evidence >= CERTAIN || is_unopposed || n_found == n_tokens
    }

    fn translation(&self, tokens: &[Token]) -> Translation {
        let mut content = String::new();
        let mut english = String::new();
        let mut at = 0;
        let is_certain = self.is_certain(tokens.len());
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
            if !found.is_english || is_certain {
                add(&mut english, &found.meaning);
            }
        }
        tokens[at..]
            .iter()
            .for_each(|token| add(&mut content, &token.text));
        Translation { content, english }
    }
}

/// `löschen` → `loeschen`, as it is written where there are no dots.
fn spelt_out(word: &str) -> String {
    let word = word.replace('ä', "ae").replace('ö', "oe");
    word.replace('ü', "ue").replace('ß', "ss")
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
#[cfg(test)]
mod tests {
    use super::*;

    /// Queries, and the English words that are made of them; `-` for those that are read as English.
    fn check(queries: &[(&str, &str)]) {
        let mut wrong = String::new();
        for (query, expected) in queries {
            let translation = translate(query, words::is_english);
            let found = translation.map_or("-".to_owned(), |it| it.english);
            if found != *expected {
                wrong.push_str(&format!("{query}: {found}, not {expected}\n"));
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    }

    #[test]
    fn reads_french() {
        check(&[
            ("supprimer le fichier", "delete file"),
            // The other word is the same in English.
            ("envoyer un message", "send"),
            ("modifier le fichier", "modify file"),
            ("supprimer la branche", "delete branch"),
            ("ajouter un commentaire au ticket", "add comment"),
            ("lister les dossiers", "list folder"),
            (
                "créer une facture pour un client",
                "create invoice customer",
            ),
            ("creer une facture", "create invoice"),
            ("télécharger les pièces jointes", "download attachment"),
            ("telecharger la piece jointe", "download attachment"),
            ("rechercher un vol", "search flight"),
            ("interroger la base de données", "query database"),
            ("exporter le tableau de bord", "export dashboard"),
            ("météo à Lyon demain", "weather tomorrow"),
        ]);
    }

    #[test]
    fn reads_spanish() {
        check(&[
            ("crear una incidencia", "create issue"),
            ("borrar el archivo", "delete file"),
            ("enviar un mensaje al canal", "send message channel"),
            ("listar las ramas del repositorio", "list branch repository"),
            ("buscar vuelos para mañana", "search flight tomorrow"),
            ("buscar vuelos baratos a Madrid", "search flight"),
            ("añadir un evento al calendario", "add event calendar"),
            ("anadir un evento al calendario", "add event calendar"),
            (
                "actualizar la configuración de la red",
                "update settings network",
            ),
            ("consultar la base de datos", "get query database"),
            ("reporte de errores", "report"),
        ]);
    }

    #[test]
    fn reads_portuguese() {
        check(&[
            ("criar uma tarefa", "create task"),
            ("excluir o arquivo", "delete file"),
            ("enviar mensagem", "send message"),
            ("criar pasta", "create folder"),
            ("listar os pedidos do cliente", "list order customer"),
            ("adicionar um comentário", "add comment"),
            ("adicionar um comentario", "add comment"),
            ("previsão do tempo amanhã", "forecast time weather tomorrow"),
            ("atualizar a planilha", "update spreadsheet"),
            ("consultar o banco de dados", "query database"),
            ("renomear a página", "rename page"),
        ]);
    }

    #[test]
    fn reads_german() {
        check(&[
            ("Datei löschen", "file delete"),
            ("Datei loeschen", "file delete"),
            ("Nachricht an den Kanal senden", "message channel send"),
            ("Projektdateien auflisten", "project file list"),
            (
                "neuen Termin im Kalender anlegen",
                "new event appointment calendar create",
            ),
            ("Wetter morgen in Berlin", "weather tomorrow"),
            ("Rechnung als PDF herunterladen", "invoice download"),
            ("Benutzer zur Gruppe hinzufügen", "user group add"),
            ("Benutzer hinzufugen", "user add"),
            ("Liste der offenen Aufgaben", "list task"),
            ("Seite im Browser öffnen", "page open"),
        ]);
    }

    #[test]
    fn reads_vietnamese() {
        check(&[
            ("gửi tin nhắn", "send message"),
            ("gui tin nhan", "send message"),
            ("xóa tệp", "delete file"),
            ("xoa tep tin", "delete file"),
            ("tạo thư mục mới", "create folder directory new"),
            ("tao thu muc moi", "create folder directory new invite"),
            ("cập nhật tài khoản khách hàng", "update account customer"),
            ("cap nhat tai khoan khach hang", "update account customer"),
            ("liệt kê các nhánh", "list branch"),
            ("danh sach don hang", "list order"),
            ("tìm chuyến bay", "find flight"),
            ("tim chuyen bay", "find flight"),
            ("dự báo thời tiết ngày mai", "forecast weather tomorrow"),
            ("du bao thoi tiet ngay mai", "forecast weather tomorrow"),
        ]);
    }

    #[test]
    fn reads_chinese() {
        check(&[
            ("删除文件", "delete file"),
            ("刪除檔案", "delete file"),
            ("发送消息", "send message"),
            ("创建日历事件", "create calendar event"),
            ("列出所有分支", "list branch"),
            ("搜索航班", "search flight"),
            ("查询数据库", "query database"),
            ("明天的天气", "tomorrow weather"),
        ]);
    }

    #[test]
    fn reads_japanese() {
        check(&[
            ("ファイルを削除する", "file delete"),
            ("メッセージを送信", "message send"),
            ("カレンダーに予定を追加", "calendar schedule event add"),
            ("フォルダの一覧を表示", "folder list show"),
            ("明日の天気", "tomorrow weather"),
            ("データベースを検索", "database search"),
            ("画像をアップロードしてください", "image upload"),
            ("ブランチを作成", "branch create"),
        ]);
    }

    #[test]
    fn english_stays_english() {
        let queries = [
            "delete file",
            "send message",
            "modify file",
            "message service",
            "list pages",
            "plan a route",
            "film notes",
            "web search",
            "pasta recipe",
            "film in Los Angeles",
            "hotel in Rio de Janeiro",
            "red team report",
            "hole in one",
            "change the lecture plan",
            "public transport to La Paz",
            "export tables",
            "mail the dossier",
            "video editor",
            "analyse the data",
            "assignee of the ticket",
            "validators",
            "activities in El Paso",
        ];
        check(&queries.map(|query| (query, "-")));
    }

    #[test]
    fn listed_english_words_are_needed() {
        let is_in_a_table = |word: &str| {
            LATIN.iter().any(|it| {
                it.any_words.contains(word)
                    || it.meanings.contains_key(word)
                    || it.by_prefix(word, HEAD).is_some()
            })
        };
        let words = ENGLISH.iter().filter(|word| !is_in_a_table(word));
        assert_eq!(words.collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    /// Each of these would take minutes if all endings of all endings of a word were looked up.
    #[test]
    fn a_text_without_end_takes_no_longer_than_it_is() {
        for word in [
            "verq",
            "aktual",
            "such",
            "supprim",
            "cap nhat",
            "e\u{301}\u{323}",
            "é",
            "数据",
        ] {
            let text = word.repeat(400_000 / word.len());
            let _ = translate(&text, |_| false);
            let _ = translate(&format!("supprimer {text}"), |_| false);
        }
    }
}
