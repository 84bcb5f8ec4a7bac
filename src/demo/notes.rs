//! The notebook: short texts with tags, kept in memory.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::demo::server::Server;
use crate::demo::tool::{Answer, Effect, Tool};

pub struct Notebook {
    notes: BTreeMap<u32, Note>,
    last_id: u32,
}

struct Note {
    title: String,
    body: String,
    tags: BTreeSet<String>,
    pinned: bool,
    colour: Colour,
    /// Larger is later; the notebook knows no clock.
    revision: u32,
}

pub fn server() -> Server<Notebook> {
    use Effect::{Adds, Reads, Replaces};
    Server {
        name: "notes",
        instructions: "A notebook. Search before you create a note, so that one subject has one note.",
        tools: vec![
            Tool::new("create_note", "Create a note", Adds, create_note),
            Tool::new("get_note", "Read a note", Reads, get_note),
            Tool::new("list_notes", "List notes", Reads, list_notes),
            Tool::new("search_notes", "Search notes", Reads, search_notes),
            Tool::new("update_note", "Change a note", Replaces, update_note),
            Tool::new("append_to_note", "Append to a note", Adds, append_to_note),
            Tool::new("tag_note", "Add and remove tags", Replaces, tag_note),
            Tool::new("list_tags", "List tags", Reads, list_tags),
            Tool::new("delete_note", "Delete a note", Replaces, delete_note),
        ],
        state: Notebook::with_examples(),
    }
}

/// Creates a note in the notebook and returns its id. Use this for anything the user asks you to
/// remember, write down or save for later. Search for an existing note on the same subject first and
/// append to it instead if there is one; notes with the same title are allowed but confuse people.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateNote {
    /// Short title that is shown in lists, without Markdown. At most 120 characters.
    #[schemars(length(min = 1, max = 120))]
    title: String,
    /// Text of the note. Markdown is kept as it is and rendered when the note is shown.
    #[serde(default)]
    body: String,
    /// Tags to find the note by later, in lower case and without the number sign, for example
    /// "recipes" or "work/planning". Tags that do not exist yet are created.
    #[serde(default)]
    tags: Vec<String>,
    /// Whether the note is kept at the top of every list.
    #[serde(default)]
    pinned: bool,
    /// Colour of the card in the overview. It has no meaning of its own.
    #[serde(default)]
    colour: Colour,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Colour {
    #[default]
    None,
    Yellow,
    Green,
    Blue,
    Red,
}

fn create_note(notebook: &mut Notebook, arguments: CreateNote) -> Result<Answer, String> {
    let title = checked_title(&arguments.title)?;
    let id = notebook.add(Note {
        title,
        body: arguments.body,
        tags: tags(&arguments.tags)?,
        pinned: arguments.pinned,
        colour: arguments.colour,
        revision: 0,
    });
    let note = notebook.get(id)?;
    Ok(Answer::text(format!("created note {id}: {}", note.title)))
}

/// Returns one note in full: title, text, tags, colour and whether it is pinned. Use this after
/// search_notes or list_notes when the shortened text that they return is not enough to answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetNote {
    /// Id of the note, as returned by create_note, list_notes or search_notes.
    note_id: u32,
}

fn get_note(notebook: &mut Notebook, arguments: GetNote) -> Result<Answer, String> {
    let note = notebook.get(arguments.note_id)?;
    Ok(Answer::structured(json!({
        "note_id": arguments.note_id,
        "title": note.title,
        "body": note.body,
        "tags": note.tags,
        "pinned": note.pinned,
        "colour": note.colour,
    })))
}

/// Lists the notes of the notebook, pinned ones first, with their ids, titles, tags and the first
/// line of their text. Use filters to keep the answer short; use search_notes instead when you are
/// looking for words inside the notes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListNotes {
    /// Only notes that carry all of these tags. An empty list means all notes.
    #[serde(default)]
    tags: Vec<String>,
    /// Order of the notes behind the pinned ones.
    #[serde(default)]
    sort: Sort,
    /// Most notes to return in one answer.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
    /// Number of notes to skip, for reading a long list page by page.
    #[serde(default)]
    offset: usize,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Sort {
    /// Last changed first.
    #[default]
    Updated,
    /// Created first, first.
    Created,
    /// By title, A to Z.
    Title,
}

fn twenty() -> usize {
    20
}

fn list_notes(notebook: &mut Notebook, arguments: ListNotes) -> Result<Answer, String> {
    let limit = within("limit", arguments.limit, 1, 100)?;
    let wanted = tags(&arguments.tags)?;
    let mut found: Vec<_> = notebook
        .notes
        .iter()
        .filter(|(_, note)| wanted.is_subset(&note.tags))
        .collect();
    match arguments.sort {
        Sort::Created => {}
        Sort::Updated => found.sort_by_key(|(_, note)| std::cmp::Reverse(note.revision)),
        Sort::Title => found.sort_by_key(|(_, note)| note.title.to_lowercase()),
    }
    found.sort_by_key(|(_, note)| !note.pinned);
    let shown: Vec<_> = found
        .iter()
        .skip(arguments.offset)
        .take(limit)
        .map(|(id, note)| note.summary(**id))
        .collect();
    Ok(Answer::structured(
        json!({"total": found.len(), "notes": shown}),
    ))
}

/// Finds notes by the words in their titles, texts and tags. Upper and lower case are the same. A
/// note has to hold every word of the query; notes with a match in the title come first. Returns ids,
/// titles, tags and the line around the first match, not the whole text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchNotes {
    /// Words to look for, separated by blanks. Parts of words are found too: "meet" finds "meeting".
    #[schemars(length(min = 1))]
    query: String,
    /// Only notes that carry all of these tags.
    #[serde(default)]
    tags: Vec<String>,
    /// Where to look.
    #[serde(default)]
    fields: Fields,
    /// Most notes to return.
    #[serde(default = "twenty")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Fields {
    #[default]
    All,
    Title,
    Body,
}

fn search_notes(notebook: &mut Notebook, arguments: SearchNotes) -> Result<Answer, String> {
    let limit = within("limit", arguments.limit, 1, 100)?;
    let words: Vec<String> = arguments
        .query
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let Some(first_word) = words.first() else {
        return Err("`query` is blank: give at least one word".into());
    };
    let wanted = tags(&arguments.tags)?;
    let mut found: Vec<_> = notebook
        .notes
        .iter()
        .filter(|(_, note)| wanted.is_subset(&note.tags))
        .filter(|(_, note)| {
            let text = note.searched(arguments.fields);
            words.iter().all(|word| text.contains(word.as_str()))
        })
        .collect();
    found.sort_by_key(|(_, note)| !note.title.to_lowercase().contains(first_word.as_str()));
    let shown: Vec<_> = found
        .iter()
        .take(limit)
        .map(|(id, note)| {
            let mut summary = note.summary(**id);
            let line = note
                .body
                .lines()
                .find(|line| line.to_lowercase().contains(first_word));
            if let Some(line) = line {
                summary["excerpt"] = line.into();
            }
            summary
        })
        .collect();
    Ok(Answer::structured(
        json!({"total": found.len(), "notes": shown}),
    ))
}

/// Changes parts of a note and leaves the rest as it is. Text that is given replaces the old text as a
/// whole: to add to a note without losing what it says use append_to_note, and to change its tags
/// use tag_note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateNote {
    /// Id of the note to change.
    note_id: u32,
    /// New title. Left out, the title stays.
    #[serde(default)]
    title: Option<String>,
    /// New text in Markdown, instead of all of the old one. Left out, the text stays.
    #[serde(default)]
    body: Option<String>,
    /// Whether the note is kept at the top of every list from now on.
    #[serde(default)]
    pinned: Option<bool>,
    /// New colour of the card.
    #[serde(default)]
    colour: Option<Colour>,
}

fn update_note(notebook: &mut Notebook, arguments: UpdateNote) -> Result<Answer, String> {
    let title = arguments.title.as_deref().map(checked_title).transpose()?;
    let note = notebook.change(arguments.note_id)?;
    if let Some(title) = title {
        note.title = title;
    }
    if let Some(body) = arguments.body {
        note.body = body;
    }
    note.pinned = arguments.pinned.unwrap_or(note.pinned);
    note.colour = arguments.colour.unwrap_or(note.colour);
    Ok(Answer::text(format!(
        "changed note {}: {}",
        arguments.note_id, note.title
    )))
}

/// Adds text to the end of a note without touching what is there. Suited to running lists such as a
/// shopping list, a diary or the minutes of a meeting.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AppendToNote {
    /// Id of the note to add to.
    note_id: u32,
    /// Text to add, in Markdown.
    #[schemars(length(min = 1))]
    text: String,
    /// What stands between the old text and the new one.
    #[serde(default)]
    separator: Separator,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Separator {
    /// A line break.
    #[default]
    Line,
    /// An empty line.
    Paragraph,
    /// A line break and a dash: the text becomes an item of a list.
    ListItem,
    /// Nothing at all.
    None,
}

fn append_to_note(notebook: &mut Notebook, arguments: AppendToNote) -> Result<Answer, String> {
    let note = notebook.change(arguments.note_id)?;
    let separator = match arguments.separator {
        Separator::Line => "\n",
        Separator::Paragraph => "\n\n",
        Separator::ListItem => "\n- ",
        Separator::None => "",
    };
    let separator = if note.body.is_empty() {
        separator.trim_start()
    } else {
        separator
    };
    note.body.push_str(separator);
    note.body.push_str(&arguments.text);
    Ok(Answer::text(format!(
        "note {} now has {} lines",
        arguments.note_id,
        note.body.lines().count()
    )))
}

/// Adds tags to a note and removes tags from it in one step. Tags that the note has already, or does
/// not have, are no error. Returns the tags that the note has afterwards.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TagNote {
    /// Id of the note.
    note_id: u32,
    /// Tags to add, in lower case and without the number sign.
    #[serde(default)]
    add: Vec<String>,
    /// Tags to remove. A tag in both lists is removed.
    #[serde(default)]
    remove: Vec<String>,
}

fn tag_note(notebook: &mut Notebook, arguments: TagNote) -> Result<Answer, String> {
    let (add, remove) = (tags(&arguments.add)?, tags(&arguments.remove)?);
    let note = notebook.change(arguments.note_id)?;
    note.tags.extend(add);
    note.tags.retain(|tag| !remove.contains(tag));
    Ok(Answer::structured(
        json!({"note_id": arguments.note_id, "tags": note.tags}),
    ))
}

/// Lists all tags in use with the number of notes that carry each, the most used first. Call this
/// before you invent a tag, so that one subject does not end up under several spellings.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListTags {
    /// Only tags that begin with this text, for example "work/".
    #[serde(default)]
    prefix: String,
    /// Only tags that at least this many notes carry.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    min_count: usize,
}

fn one() -> usize {
    1
}

fn list_tags(notebook: &mut Notebook, arguments: ListTags) -> Result<Answer, String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in notebook.notes.values().flat_map(|note| &note.tags) {
        *counts.entry(tag).or_default() += 1;
    }
    let mut counts: Vec<_> = counts
        .into_iter()
        .filter(|(tag, count)| tag.starts_with(&arguments.prefix) && *count >= arguments.min_count)
        .collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let tags: Vec<_> = counts
        .into_iter()
        .map(|(tag, count)| json!({"tag": tag, "notes": count}))
        .collect();
    Ok(Answer::structured(json!({"tags": tags})))
}

/// Deletes a note for good. There is no wastebasket and no way to undo this, so ask the user first
/// unless they have asked for the deletion in so many words.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteNote {
    /// Id of the note to delete.
    note_id: u32,
    /// Title of the note, as a check that the id is the right one. Left out, nothing is checked.
    #[serde(default)]
    expected_title: Option<String>,
}

fn delete_note(notebook: &mut Notebook, arguments: DeleteNote) -> Result<Answer, String> {
    let id = arguments.note_id;
    let note = notebook.get(id)?;
    if let Some(expected) = arguments.expected_title
        && expected != note.title
    {
        return Err(format!(
            "note {id} is called `{}`, not `{expected}`: nothing was deleted",
            note.title
        ));
    }
    notebook.notes.remove(&id);
    Ok(Answer::text(format!("deleted note {id}")))
}

impl Notebook {
    fn with_examples() -> Notebook {
        let mut notebook = Notebook {
            notes: BTreeMap::new(),
            last_id: 0,
        };
        let examples = [
            (
                "Team meeting",
                "Agenda: release date, hiring, the office move.\nBring the numbers of last month.",
                ["meetings", "work"],
            ),
            (
                "Marathon plan",
                "Race: 42.195 km, in October.\nLong run every Sunday, never more than 32 km.",
                ["running", "sport"],
            ),
            (
                "Bread",
                "500 g flour, 350 g water, 10 g salt.\nBake at 240 degrees for 40 minutes.",
                ["kitchen", "recipes"],
            ),
        ];
        for (title, body, tags) in examples {
            notebook.add(Note {
                title: title.into(),
                body: body.into(),
                tags: tags.map(str::to_owned).into(),
                pinned: false,
                colour: Colour::None,
                revision: 0,
            });
        }
        notebook
    }

    fn add(&mut self, mut note: Note) -> u32 {
        self.last_id += 1;
        note.revision = self.next_revision();
        self.notes.insert(self.last_id, note);
        self.last_id
    }

    fn get(&self, id: u32) -> Result<&Note, String> {
        self.notes.get(&id).ok_or_else(|| unknown(id))
    }

    fn change(&mut self, id: u32) -> Result<&mut Note, String> {
        let revision = self.next_revision();
        let note = self.notes.get_mut(&id).ok_or_else(|| unknown(id))?;
        note.revision = revision;
        Ok(note)
    }

    fn next_revision(&self) -> u32 {
        let newest = self.notes.values().map(|note| note.revision).max();
        newest.unwrap_or_default() + 1
    }
}

fn unknown(id: u32) -> String {
    format!("there is no note {id}: list_notes and search_notes return the ids that exist")
}

impl Note {
    fn summary(&self, id: u32) -> Value {
        let first_line = self.body.lines().next().unwrap_or_default();
        json!({"note_id": id, "title": self.title, "tags": self.tags, "excerpt": first_line})
    }

    fn searched(&self, fields: Fields) -> String {
        let mut text = String::new();
        if fields != Fields::Body {
            text.push_str(&self.title);
            text.push('\n');
        }
        if fields != Fields::Title {
            text.push_str(&self.body);
        }
        if fields == Fields::All {
            for tag in &self.tags {
                text.push('\n');
                text.push_str(tag);
            }
        }
        text.to_lowercase()
    }
}

fn checked_title(title: &str) -> Result<String, String> {
    let title = title.trim();
    if title.is_empty() || title.chars().count() > 120 {
        return Err("`title` has to have 1 to 120 characters".into());
    }
    Ok(title.to_owned())
}

fn tags(tags: &[String]) -> Result<BTreeSet<String>, String> {
    let tags = tags.iter().map(|tag| {
        let tag = tag.trim().trim_start_matches('#').to_lowercase();
        if tag.is_empty() {
            return Err("a tag cannot be blank".to_owned());
        }
        Ok(tag)
    });
    tags.collect()
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

    #[test]
    fn keeps_notes_while_it_runs() {
        let mut server = server();
        let mut log = String::new();
        for (name, arguments) in [
            (
                "create_note",
                json!({"title": " Ideas ", "tags": ["#Work", "x"], "colour": "blue"}),
            ),
            (
                "append_to_note",
                json!({"note_id": 4, "text": "first", "separator": "list_item"}),
            ),
            (
                "append_to_note",
                json!({"note_id": 4, "text": "second", "separator": "list_item"}),
            ),
            (
                "tag_note",
                json!({"note_id": 4, "add": ["later"], "remove": ["x"]}),
            ),
            ("update_note", json!({"note_id": 2, "pinned": true})),
            ("get_note", json!({"note_id": 4})),
            ("list_notes", json!({"limit": 2})),
            ("search_notes", json!({"query": "WATER salt"})),
            ("list_tags", json!({"min_count": 2})),
            (
                "delete_note",
                json!({"note_id": 4, "expected_title": "Bread"}),
            ),
            ("delete_note", json!({"note_id": 4})),
            ("get_note", json!({"note_id": 4})),
            ("create_note", json!({"title": " "})),
            ("list_notes", json!({"limit": 0})),
            ("create_note", json!({"title": "x", "colour": "pink"})),
        ] {
            log += &format!("{name}: {}\n", call(&mut server, name, arguments));
        }
        expect![[r#"
            create_note: created note 4: Ideas
            append_to_note: note 4 now has 1 lines
            append_to_note: note 4 now has 2 lines
            tag_note: {"note_id":4,"tags":["later","work"]}
            update_note: changed note 2: Marathon plan
            get_note: {"note_id":4,"title":"Ideas","body":"- first\n- second","tags":["later","work"],"pinned":false,"colour":"blue"}
            list_notes: {"total":4,"notes":[{"note_id":2,"title":"Marathon plan","tags":["running","sport"],"excerpt":"Race: 42.195 km, in October."},{"note_id":4,"title":"Ideas","tags":["later","work"],"excerpt":"- first"}]}
            search_notes: {"total":1,"notes":[{"note_id":3,"title":"Bread","tags":["kitchen","recipes"],"excerpt":"500 g flour, 350 g water, 10 g salt."}]}
            list_tags: {"tags":[{"tag":"work","notes":2}]}
            delete_note: error: note 4 is called `Ideas`, not `Bread`: nothing was deleted
            delete_note: deleted note 4
            get_note: error: there is no note 4: list_notes and search_notes return the ids that exist
            create_note: error: `title` has to have 1 to 120 characters
            list_notes: error: `limit` has to be 1 to 100, not 0
            create_note: error: invalid arguments for `create_note`: unknown variant `pink`, expected one of `none`, `yellow`, `green`, `blue`, `red`
        "#]].assert_eq(&log);
    }
}
