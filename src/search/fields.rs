//! Which texts of a tool are indexed, and how much a word in each of them counts.

use serde_json::Value;

use crate::catalog::Tool;
use crate::search::words::head;

/// Where a word of a tool stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    Name,
    Server,
    Description,
    ParameterNames,
    ParameterTexts,
}

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

pub(super) const N_FIELDS: usize = 5;

const MAX_DEPTH: usize = 6;

/// Calls `take` with every text of the tool and the field that it belongs to.
pub(super) fn visit<'a>(tool: &'a Tool, limits: &Limits, mut take: impl FnMut(Field, &'a str)) {
    take(Field::Name, tool.original_name());
    if let Some(server) = tool.server() {
        take(Field::Server, server.as_str());
    }
    take(
        Field::Description,
        head(&tool.description, limits.description),
    );
    let mut left = limits.parameter_texts;
    parameters(&tool.input_schema, 0, &mut |field, text| {
        if field == Field::ParameterTexts {
            let text = head(text, limits.parameter_text.min(left));
            left -= text.len();
            take(field, text);
        } else {
            take(field, text);
        }
    });
}

/// How much of a text is read, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub description: usize,
    pub parameter_text: usize,
    pub parameter_texts: usize,
}

/// Names, descriptions and enum values of all properties, nested ones too.
fn parameters<'a>(schema: &'a Value, depth: usize, take: &mut impl FnMut(Field, &'a str)) {
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, property) in properties {
            take(Field::ParameterNames, name);
            if let Some(Value::String(text)) = property.get("description") {
                take(Field::ParameterTexts, text);
            }
            for value in property
                .get("enum")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if let Value::String(value) = value {
                    take(Field::ParameterTexts, value);
                }
            }
            parameters(property, depth + 1, take);
        }
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        parameters(items, depth + 1, take);
    }
}
