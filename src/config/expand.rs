//! Puts the values of variables into a text: `${NAME}`, `${NAME:-default}`, `${env:NAME}`.
//!
//! It works on one value after the file was read, so that a variable cannot add keys, arguments or further variables.

/// What came of a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// The variables whose values were put in, with these values.
    pub used: Vec<(String, String)>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    #[error("the variable `{name}` is not set, set it or write `${{{name}:-default}}`")]
    Unset { name: String },
    #[error("`{text}` names no variable, write `$${{` where `${{` itself is meant")]
    NotAName { text: String },
    #[error("`${{` is not closed by `}}`, write `$${{` where `${{` itself is meant")]
    Unclosed,
}

/// How deep defaults may hold variables with defaults.
const MAX_DEPTH: usize = 8;

/// Expands every variable of `text`; what a variable holds is taken to the letter.
///
/// A variable that is set to nothing counts as unset where there is a default, as in a shell.
pub fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Expansion, ExpandError> {
    let mut expansion = Expansion {
        text: String::with_capacity(text.len()),
        used: Vec::new(),
    };
    append(text, lookup, MAX_DEPTH, &mut expansion)?;
    Ok(expansion)
}

fn append(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    depth: usize,
    expansion: &mut Expansion,
) -> Result<(), ExpandError> {
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        if rest[..start].ends_with('$') {
            expansion.text.push_str(&rest[..start - 1]);
            expansion.text.push_str("${");
            rest = &rest[start + 2..];
            continue;
        }
        expansion.text.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let end = closing_brace(inside).ok_or(ExpandError::Unclosed)?;
        let (name, default) = match inside[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&inside[..end], None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if !is_name(name) || depth == 0 {
            let text = format!("${{{}}}", &inside[..end]);
            return Err(ExpandError::NotAName { text });
        }
        match (lookup(name), default) {
            (Some(value), None) => expansion.put(name, value),
            (Some(value), Some(_)) if !value.is_empty() => expansion.put(name, value),
            (_, Some(default)) => append(default, lookup, depth - 1, expansion)?,
            (None, None) => {
                let name = name.to_owned();
                return Err(ExpandError::Unset { name });
            }
        }
        rest = &inside[end + 1..];
    }
    expansion.text.push_str(rest);
    Ok(())
}

impl Expansion {
    fn put(&mut self, name: &str, value: String) {
        self.text.push_str(&value);
        self.used.push((name.to_owned(), value));
    }
}

/// The `}` that closes a variable; those of variables in its default do not.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 0;
    for (index, c) in text.char_indices() {
        match c {
            '{' if text[..index].ends_with('$') => open += 1,
            '}' if open == 0 => return Some(index),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Whether this can name a variable of an environment, `ProgramFiles(x86)` and the context name `/` included.
fn is_name(name: &str) -> bool {
    let usual = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '(' | ')');
    name == "/"
        || name.chars().all(usual) && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let lookup = |name: &str| {
            let value = match name {
                "A" => "1",
                "EMPTY" => "",
                "EVIL" => "a b;$(touch x) \"q\" ${A}",
                "userHome" => "/home/u",
                "/" => "/",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let got = match expand(text, &lookup) {
            Ok(expansion) => expansion.text,
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&got);
    }

    #[test]
    fn puts_values_in() {
        check("x${A}y${env:A}", expect!["x1y1"]);
        check("${userHome}${/}bin", expect!["/home/u/bin"]);
        check("$A $ {A} $", expect!["$A $ {A} $"]);
    }

    #[test]
    fn defaults_stand_in_for_unset_and_empty() {
        check("${NOPE:-d}${EMPTY:-e}${A:-f}", expect!["de1"]);
        check("[${NOPE:-}]", expect!["[]"]);
        check("[${EMPTY}]", expect!["[]"]);
        check("${NOPE:-${ALSO:-<${A}>}}!", expect!["<1>!"]);
        check("${env:NOPE:-d}", expect!["d"]);
    }

    #[test]
    fn a_value_is_not_expanded_again() {
        check("${EVIL}", expect![[r#"a b;$(touch x) "q" ${A}"#]]);
    }

    #[test]
    fn dollars_escape() {
        check("$${A} $$${A}", expect!["${A} $${A}"]);
    }

    #[test]
    fn names_what_is_missing() {
        check(
            "${NOPE}",
            expect!["error: the variable `NOPE` is not set, set it or write `${NOPE:-default}`"],
        );
        check(
            "${input:token}",
            expect![
                "error: `${input:token}` names no variable, write `$${` where `${` itself is meant"
            ],
        );
        check(
            "${}",
            expect!["error: `${}` names no variable, write `$${` where `${` itself is meant"],
        );
        check(
            "${A",
            expect!["error: `${` is not closed by `}`, write `$${` where `${` itself is meant"],
        );
    }
}
