//! Which tools a user wants for certain words.

use std::collections::BTreeMap;

use crate::search::naming::{Called, Naming};
use crate::search::score::{Doc, Shelf};
use crate::search::words::{self, Term};

/// From this share of a query on, an alias is what the query is about.
const MAIN_SHARE: f32 = 0.5;

/// An entry of `tools.tool_search.aliases`, read.
pub(super) struct Alias {
    words: Vec<Term>,
    target: Called,
}

/// A tool that an alias in the query stands for.
pub(super) struct Aliased {
    pub doc: Doc,
    /// How much of the query the alias is.
    pub share: f32,
}

impl Aliased {
    pub fn naming(&self) -> Option<Naming> {
        (self.share >= MAIN_SHARE).then_some(Naming::Alias)
    }
}

/// Aliases that have a word and a target.
pub(super) fn parse(aliases: &BTreeMap<String, String>) -> Vec<Alias> {
    let parse = |(text, target): (&String, &String)| {
        let words = content(text);
        let target = Called::new(target)?;
        (!words.is_empty()).then_some(Alias { words, target })
    };
    aliases.iter().filter_map(parse).collect()
}

/// The tools of all aliases whose words are in the query, the one with most words first.
pub(super) fn find(aliases: &[Alias], query: &str, shelf: &Shelf) -> Vec<Aliased> {
    if aliases.is_empty() {
        return Vec::new();
    }
    let asked = content(query);
    let is_asked = |term: &Term| asked.binary_search(term).is_ok();
    let mut res = Vec::new();
    for alias in aliases
        .iter()
        .filter(|alias| alias.words.iter().all(is_asked))
    {
        for (segment, start) in shelf.iter() {
            let tools = segment.names.find(&alias.target);
            for tool in
                tools.filter(|tool| alias.target.is_shown(&segment.tools[usize::from(*tool)]))
            {
                res.push(Aliased {
                    doc: start + Doc::from(tool),
                    share: alias.words.len() as f32 / asked.len() as f32,
                });
            }
        }
    }
    res.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.doc.cmp(&b.doc)));
    res
}

/// The distinct words of a text; without stop words unless there is nothing else.
fn content(text: &str) -> Vec<Term> {
    let all = words::of(text);
    let is_stop = |term: Term| words::is_stop_word(term);
    let has_content = all.iter().any(|(_, term)| !is_stop(*term));
    let mut res: Vec<Term> = all
        .into_iter()
        .map(|(_, term)| term)
        .filter(|term| !has_content || !is_stop(*term))
        .collect();
    res.sort_unstable();
    res.dedup();
    res
}
