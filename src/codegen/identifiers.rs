//! Turns the names of the wire into the identifiers of each language.

/// `originalName` → `original_name`.
pub fn snake(name: &str) -> String {
    words(name).join("_")
}

/// `serverId` → `ServerID`: Go writes abbreviations in capitals.
pub fn go_exported(name: &str) -> String {
    words(name)
        .iter()
        .map(|it| match it.as_str() {
            "id" | "url" | "uri" | "http" | "sse" | "mcp" => it.to_uppercase(),
            "pid" => "PID".to_string(),
            "openai" => "OpenAI".to_string(),
            _ => capitalised(it),
        })
        .collect()
}

/// `class` → `class_`.
pub fn python(name: &str) -> String {
    const KEYWORDS: [&str; 35] = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
        "continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
        "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
        "try", "while", "with", "yield",
    ];
    let name = snake(name);
    if KEYWORDS.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in name.chars() {
        let separates = matches!(letter, '_' | '-' | '/' | '.');
        if separates || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        after_lower = letter.is_lowercase() || letter.is_ascii_digit();
        if !separates && let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|it| !it.is_empty());
    words
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_each_language() {
        assert_eq!(snake("retryInMs"), "retry_in_ms");
        assert_eq!(snake("OpenUrlParams"), "open_url_params");
        assert_eq!(go_exported("tool_error"), "ToolError");
        assert_eq!(go_exported("sessionId"), "SessionID");
        assert_eq!(go_exported("OpenUrlParams"), "OpenURLParams");
        assert_eq!(go_exported("openai-responses"), "OpenAIResponses");
        assert_eq!(python("class"), "class_");
        assert_eq!(python("knownDigest"), "known_digest");
    }
}
