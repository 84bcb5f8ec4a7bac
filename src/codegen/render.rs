//! Fills a template: the text of one generated file.

use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;

use crate::codegen::prose;

/// Fills one template with the description of a language's file.
pub fn render(template: &str, context: &Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_keep_trailing_newline(true);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("comment", comment);
    environment.add_filter("jsdoc", jsdoc);
    environment.add_filter("uncapitalised", uncapitalised);
    environment.render_str(template, context)
}

/// `doc|comment("// ")`: the text as lines that begin so, 82 columns wide.
fn comment(text: &str, prefix: &str) -> String {
    let lines = prose::wrap(text, 82 - prefix.chars().count());
    let lines: Vec<String> = lines
        .iter()
        .map(|it| format!("{prefix}{it}").trim_end().to_string())
        .collect();
    lines.join("\n")
}

/// `doc|jsdoc("  ")`: the text as a comment of its own, indented.
fn jsdoc(text: &str, indent: &str) -> String {
    let single = format!("{indent}/** {text} */");
    if !text.contains('\n') && single.chars().count() <= 88 {
        return single;
    }
    format!(
        "{indent}/**\n{}\n{indent} */",
        comment(text, &format!("{indent} * "))
    )
}

/// For Go, where a comment is a sentence that begins with the name.
fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |it| it.to_lowercase().chain(letters).collect())
}
