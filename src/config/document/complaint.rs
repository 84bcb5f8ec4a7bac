//! What the YAML parser complains about, in the words of someone who edits a file.

use crate::config::document::MAX_DEPTH;

pub fn in_plain_words(complaint: &str) -> String {
    let known = [
        ("tabs disallowed", "a tab cannot indent YAML, use spaces"),
        ("tab cannot be used", "a tab cannot indent YAML, use spaces"),
        (
            "mapping values are not allowed",
            "a `:` is not expected here, put a value that holds `: ` in quotes",
        ),
        (
            "invalid indentation in quoted scalar",
            "a quote is opened here and not closed",
        ),
        (
            "found unexpected end of stream",
            "a quote is opened here and not closed",
        ),
        ("expected ',' or '}'", "expected `,` or `}`"),
        ("expected ',' or ']'", "expected `,` or `]`"),
        ("found unknown anchor", "the alias names no anchor above"),
        (
            "unexpected character",
            "a value cannot begin with this character, put it in quotes",
        ),
    ];
    if complaint.contains("recursion limit") {
        return too_deep();
    }
    for (words, plain) in known {
        if complaint.contains(words) {
            return plain.to_owned();
        }
    }
    format!("not valid YAML: {complaint}")
}

pub fn too_deep() -> String {
    format!("nested more than {MAX_DEPTH} levels deep")
}
