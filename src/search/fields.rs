//! Which texts of a tool are indexed, and how much a word in each of them counts.

use std::borrow::Cow;

use serde_json::Value;

use crate::catalog::Tool;
use crate::search::words::{self, head};
use crate::search::{Options, languages};

/// Where a word of a tool stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    Name,
    Server,
    Description,
    ParameterNames,
    ParameterTexts,
    /// Words that the user gave the tool.
    Keywords,
}

impl Field {
    pub const ALL: [Field; N_FIELDS] = [
        Field::Name,
        Field::Server,
        Field::Description,
        Field::ParameterNames,
        Field::ParameterTexts,
        Field::Keywords,
    ];

    /// Whether its texts are sentences, whose stop words nobody looks for.
    pub fn is_prose(self) -> bool {
        matches!(self, Field::Description | Field::ParameterTexts)
    }
}

pub(super) const N_FIELDS: usize = 6;

/// BM25F's weight of a field, how strongly its length counts, and the length that is usual.
///
/// The usual lengths are constants, not averages of the catalog at hand: so that a tool's postings depend on nothing
/// but the tool, and a change of one server leaves those of all others as they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighing {
    pub weight: f32,
    pub length_share: f32,
    pub usual_length: f32,
}

impl Weighing {
    /// What one word counts in a field of so many words.
    pub fn share(&self, length: u32) -> f32 {
        let norm = 1.0 - self.length_share + self.length_share * length as f32 / self.usual_length;
        self.weight / norm
    }
}

/// How much of a text is read, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub description: usize,
    pub parameter_text: usize,
    pub parameter_texts: usize,
}

const MAX_DEPTH: usize = 6;
const MAX_PARAMETERS: usize = 256;
/// For most tools there are no more texts.
const USUAL_TEXTS: usize = 30;

/// Every text that a tool is found by, with the field that it belongs to.
///
/// They are gathered before any is read: what a tool says lies scattered in memory, and while one text is read no other
/// is on its way from there.
pub(super) fn texts<'t>(
    tool: &'t Tool,
    options: &'t Options,
    limits: &Limits,
) -> Vec<(Field, Cow<'t, str>)> {
    let name = head(tool.original_name(), limits.description);
    let description = head(description(tool), limits.description);
    let mut res = Vec::with_capacity(USUAL_TEXTS);
    res.push((Field::Name, Cow::Borrowed(name)));
    if let Some(server) = tool.server() {
        res.push((Field::Server, Cow::Borrowed(server.as_str())));
    }
    res.push((Field::Description, Cow::Borrowed(description)));
    if !description.is_ascii()
        && let Some(translation) = languages::translate(description, words::is_english)
    {
        res.push((Field::Description, Cow::Owned(translation.english)));
    }
    let keywords = options.keywords.get(tool.exposed.as_str());
    for keyword in keywords.into_iter().flatten() {
        res.push((Field::Keywords, Cow::Borrowed(keyword)));
    }
    let mut parameters = Parameters {
        limits,
        names_left: MAX_PARAMETERS,
        texts_left: limits.parameter_texts,
        texts: res,
    };
    parameters.visit(&tool.input_schema, 0);
    parameters.texts
}

/// What says what the tool does; its title where there is nothing else.
fn description(tool: &Tool) -> &str {
    match tool.description.is_empty() {
        true => tool.title.as_deref().unwrap_or(""),
        false => &tool.description,
    }
}

struct Parameters<'l, 't> {
    limits: &'l Limits,
    names_left: usize,
    texts_left: usize,
    texts: Vec<(Field, Cow<'t, str>)>,
}

impl<'t> Parameters<'_, 't> {
    /// Names, descriptions and enum values of all properties, nested ones too.
    ///
    /// It goes through a schema's few members, which is quicker than to look each of them up, and looks at what a value
    /// is before it reads the key, which lies elsewhere in memory.
    fn visit(&mut self, schema: &'t Value, depth: usize) {
        for (key, value) in schema.as_object().into_iter().flatten() {
            match value {
                Value::String(text) if depth > 0 && key == "description" => self.text(text),
                Value::Array(values) if depth > 0 && key == "enum" => {
                    for value in values.iter().filter_map(Value::as_str) {
                        self.text(value);
                    }
                }
                Value::Object(properties) if depth < MAX_DEPTH && key == "properties" => {
                    for (name, property) in properties {
                        if self.names_left == 0 {
                            return;
                        }
                        self.names_left -= 1;
                        let name = head(name, self.limits.parameter_text);
                        self.texts
                            .push((Field::ParameterNames, Cow::Borrowed(name)));
                        self.visit(property, depth + 1);
                    }
                }
                Value::Object(_) if depth < MAX_DEPTH && key == "items" => {
                    self.visit(value, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, text: &'t str) {
        let text = head(text, self.limits.parameter_text.min(self.texts_left));
        self.texts_left -= text.len();
        if !text.is_empty() {
            self.texts
                .push((Field::ParameterTexts, Cow::Borrowed(text)));
        }
    }
}
