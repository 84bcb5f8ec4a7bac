//! Splits a command line into arguments, without anything else that a shell does.

#[derive(Debug, PartialEq, Eq)]
pub struct UnclosedQuote;

/// Splits at blanks; quotes hold together and are dropped.
///
/// A backslash is taken to the letter unless a blank, a quote or a backslash follows: paths of Windows stay whole.
pub fn split(line: &str) -> Result<Vec<String>, UnclosedQuote> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (Some('"') | None, '\\') => {
                let escaped = rest.next_if(|next| {
                    matches!(next, '"' | '\\')
                        || quote.is_none() && (*next == '\'' || next.is_whitespace())
                });
                word.get_or_insert_default().push(escaped.unwrap_or('\\'));
            }
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(UnclosedQuote);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(line: &str, expected: Expect) {
        expected.assert_eq(&format!("{:?}", split(line)));
    }

    #[test]
    fn splits_at_blanks_outside_quotes() {
        check(
            r#"-y "a b" 'c "d'  e'f'"#,
            expect![[r#"Ok(["-y", "a b", "c \"d", "ef"])"#]],
        );
        check("  ", expect!["Ok([])"]);
        check("'' x", expect![[r#"Ok(["", "x"])"#]]);
    }

    #[test]
    fn does_nothing_else_that_a_shell_does() {
        check(
            "$HOME `x` $(y) *.rs a|b # c",
            expect![[r##"Ok(["$HOME", "`x`", "$(y)", "*.rs", "a|b", "#", "c"])"##]],
        );
    }

    #[test]
    fn backslashes_of_paths_stay() {
        check(
            r#"C:\dir\x a\ b "c\"d" '\'"#,
            expect![[r#"Ok(["C:\\dir\\x", "a b", "c\"d", "\\"])"#]],
        );
    }

    #[test]
    fn a_quote_must_be_closed() {
        check("a 'b", expect!["Err(UnclosedQuote)"]);
    }
}
