//! Lays out documentation as comments: the same words in every language.

/// Breaks Markdown into lines of at most `width` characters; paragraphs and list items stay apart.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks(text) {
        let indent = if block.starts_with("- ") { "  " } else { "" };
        let mut line = String::new();
        for word in block.split_whitespace() {
            if line.trim().is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() <= width {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(std::mem::replace(&mut line, format!("{indent}{word}")));
            }
        }
        lines.push(line);
    }
    lines
}

/// Paragraphs, list items and the empty lines between them.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines() {
        match blocks.last_mut() {
            Some(block) if !block.is_empty() && !line.is_empty() && !line.starts_with("- ") => {
                block.push(' ');
                block.push_str(line);
            }
            _ => blocks.push(line.to_string()),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_refilled_and_items_hang() {
        let text = "One two\nthree four.\n\nFive.\n- six seven eight\n- nine";
        let lines = [
            "One two",
            "three four.",
            "",
            "Five.",
            "- six seven",
            "  eight",
            "- nine",
        ];
        assert_eq!(wrap(text, 11), lines);
    }
}
