//! Which texts of a tool are indexed, and how much a word in each of them counts.

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

/// Calls `take` with every text that a tool is found by, and the field that it belongs to.
pub(super) fn visit(
    tool: &Tool,
    options: &Options,
    limits: &Limits,
    mut take: impl FnMut(Field, &str),
) {
    take(Field::Name, head(tool.original_name(), limits.description));
    if let Some(server) = tool.server() {
        take(Field::Server, server.as_str());
    }
    let description = head(description(tool), limits.description);
    take(Field::Description, description);
    if !description.is_ascii()
        && let Some(translation) = languages::translate(description, words::is_english)
    {
        take(Field::Description, &translation.english);
    }
    let keywords = options.keywords.get(tool.exposed.as_str());
    for keyword in keywords.into_iter().flatten() {
        take(Field::Keywords, keyword);
    }
    let mut parameters = Parameters {
        limits,
        names_left: MAX_PARAMETERS,
        texts_left: limits.parameter_texts,
        take,
    };
    parameters.visit(&tool.input_schema, 0);
}

/// What says what the tool does; its title where there is nothing else.
fn description(tool: &Tool) -> &str {
    match tool.description.is_empty() {
        true => tool.title.as_deref().unwrap_or(""),
        false => &tool.description,
    }
}

struct Parameters<'l, Take> {
    limits: &'l Limits,
    names_left: usize,
    texts_left: usize,
    take: Take,
}

impl<Take: FnMut(Field, &str)> Parameters<'_, Take> {
    /// Names, descriptions and enum values of all properties, nested ones too.
    ///
    /// It goes through a schema's few members, which is quicker than to look each of them up, and looks at what a value
    /// is before it reads the key, which lies elsewhere in memory.
    fn visit(&mut self, schema: &Value, depth: usize) {
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
                        (self.take)(Field::ParameterNames, name);
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

    fn text(&mut self, text: &str) {
        let text = head(text, self.limits.parameter_text.min(self.texts_left));
        self.texts_left -= text.len();
        if !text.is_empty() {
            (self.take)(Field::ParameterTexts, text);
        }
    }
}
