//! Checks where keys and values stand, and what is no YAML.

use expect_test::{Expect, expect};

use super::*;

/// Shows each key and value with the text that its range covers, then the problems.
fn check(text: &str, expected: Expect) {
    let document = Document::parse(text);
    let mut shown = String::new();
    if let Some(root) = &document.root {
        show(root, text, 0, &mut shown);
    }
    for problem in &document.problems {
        shown.push_str(&format!("{problem}\n"));
    }
    expected.assert_eq(&shown);
}

fn show(node: &Node, text: &str, depth: usize, shown: &mut String) {
    let indent = "  ".repeat(depth);
    match &node.content {
        Content::List(items) => {
            shown.push_str(&format!("list {:?}\n", covered(text, node.range)));
            for item in items {
                shown.push_str(&format!("{indent}- "));
                show(item, text, depth + 1, shown);
            }
        }
        Content::Map(entries) => {
            shown.push_str(&format!("map {:?}\n", covered(text, node.range)));
            for entry in entries {
                shown.push_str(&format!("{indent}{:?} ", covered(text, entry.key_range)));
                show(&entry.value, text, depth + 1, shown);
            }
        }
        content => shown.push_str(&format!("{content:?} {:?}\n", covered(text, node.range))),
    }
}

/// The text of a range, counted as an editor counts.
fn covered(text: &str, range: Option<Range>) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let range = range.unwrap();
    let lines: Vec<Vec<u16>> = text
        .split_inclusive('\n')
        .map(|line| line.encode_utf16().collect())
        .collect();
    let mut units = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let number = number as u32;
        let from = if number == range.start.line {
            range.start.character
        } else {
            0
        };
        let to = if number == range.end.line {
            range.end.character
        } else {
            u32::MAX
        };
        if number >= range.start.line && number <= range.end.line {
            units.extend(&line[(from as usize)..(to as usize).min(line.len())]);
        }
    }
    String::from_utf16(&units).unwrap()
}

#[test]
fn every_key_and_value_knows_its_place() {
    check(
        "# c\na: 1\nb:\n  c: [1, 'x',]  # d\n  d:\n  e: \"q\" # r\n\nf: |\n  hi\n\n",
        expect![[r#"
            map "a: 1\nb:\n  c: [1, 'x',]  # d\n  d:\n  e: \"q\" # r\n\nf: |\n  hi"
            "a" Number(1.0, "1") "1"
            "b" map "c: [1, 'x',]  # d\n  d:\n  e: \"q\""
              "c" list "[1, 'x',]"
                - Number(1.0, "1") "1"
                - Text("x") "'x'"
              "d" Null "d"
              "e" Text("q") "\"q\""
            "f" Text("hi\n") "hi"
        "#]],
    );
}

#[test]
fn columns_count_utf16_units() {
    check(
        "\u{feff}é😀: '😀'\r\n\"😀\": [é, 😀x]\r\n",
        expect![[r#"
            map "é😀: '😀'\r\n\"😀\": [é, 😀x]"
            "é😀" Text("😀") "'😀'"
            "\"😀\"" list "[é, 😀x]"
              - Text("é") "é"
              - Text("😀x") "😀x"
        "#]],
    );
}

#[test]
fn scalars_are_those_of_yaml_1_2() {
    check(
        "[on, yes, TRUE, 0x1F, 1.10, 1_000, .nan, -3, 1.2.3, ~, inf, !!str 5, '5', 08]",
        expect![[r#"
            list "[on, yes, TRUE, 0x1F, 1.10, 1_000, .nan, -3, 1.2.3, ~, inf, !!str 5, '5', 08]"
            - Text("on") "on"
            - Text("yes") "yes"
            - Bool(true, "TRUE") "TRUE"
            - Number(31.0, "0x1F") "0x1F"
            - Number(1.1, "1.10") "1.10"
            - Text("1_000") "1_000"
            - Number(NaN, ".nan") ".nan"
            - Number(-3.0, "-3") "-3"
            - Text("1.2.3") "1.2.3"
            - Null "~"
            - Text("inf") "inf"
            - Text("5") "!!str 5"
            - Text("5") "'5'"
            - Number(8.0, "08") "08"
        "#]],
    );
}

#[test]
fn json_is_read_with_comments_tabs_and_surrogates() {
    check(
        "{\n\t// a \"comment\"\n\t\"u\": \"http://x//y\", /* b */\n\t\"\\ud83d\\ude00\": \"\\uD83D\\uDE00 \\\" // no\", \"z\": {},\n}",
        expect![[r#"
            map "{\n\t// a \"comment\"\n\t\"u\": \"http://x//y\", /* b */\n\t\"\\ud83d\\ude00\": \"\\uD83D\\uDE00 \\\" // no\", \"z\": {},\n}"
            "\"u\"" Text("http://x//y") "\"http://x//y\""
            "\"\\ud83d\\ude00\"" Text("😀 \" // no") "\"\\uD83D\\uDE00 \\\" // no\""
            "\"z\"" map "{}"
        "#]],
    );
}

#[test]
fn an_unquoted_address_in_braces_is_no_comment() {
    check(
        "{url: http://x/y}",
        expect![[r#"
            map "{url: http://x/y}"
            "url" Text("http://x/y") "http://x/y"
        "#]],
    );
}

#[test]
fn merge_keys_bring_what_is_not_there() {
    check(
        "base: &b {t: 1, u: 2}\nmore: &m {u: 3, v: 4}\ns:\n  <<: [*b, *m]\n  t: 9\nw: *b\n",
        expect![[r#"
            map "base: &b {t: 1, u: 2}\nmore: &m {u: 3, v: 4}\ns:\n  <<: [*b, *m]\n  t: 9\nw: *b"
            "base" map "&b {t: 1, u: 2}"
              "t" Number(1.0, "1") "1"
              "u" Number(2.0, "2") "2"
            "more" map "&m {u: 3, v: 4}"
              "u" Number(3.0, "3") "3"
              "v" Number(4.0, "4") "4"
            "s" map "<<: [*b, *m]\n  t: 9"
              "t" Number(9.0, "9") "9"
              "u" Number(2.0, "2") "2"
              "v" Number(4.0, "4") "4"
            "w" map "&b {t: 1, u: 2}"
              "t" Number(1.0, "1") "1"
              "u" Number(2.0, "2") "2"
        "#]],
    );
}

#[test]
fn all_duplicate_keys_are_reported() {
    check(
        "a: 1\nb: {c: 1, \"c\": 2}\na: 2\nl: [{x: 1, x: 2}]\n",
        expect![[r#"
            map "a: 1\nb: {c: 1, \"c\": 2}\na: 2\nl: [{x: 1, x: 2}]"
            "a" Number(1.0, "1") "1"
            "b" map "{c: 1, \"c\": 2}"
              "c" Number(1.0, "1") "1"
            "l" list "[{x: 1, x: 2}]"
              - map "{x: 1, x: 2}"
                "x" Number(1.0, "1") "1"
            2:11: error: the key `c` is here twice (/b/c)
            3:1: error: the key `a` is here twice (/a)
            4:12: error: the key `x` is here twice (/l/0/x)
        "#]],
    );
}

#[test]
fn odd_keys_are_reported_and_the_rest_is_read() {
    check(
        "? [1, 2]\n: x\n8080: y\n<<: 5\n&k z: {<<: [*k]}\n",
        expect![[r#"
            map "? [1, 2]\n: x\n8080: y\n<<: 5\n&k z: {<<: [*k]}"
            "8080" Text("y") "y"
            "&k z" map "{<<: [*k]}"
            1:3: error: a key must be text
            5:1: error: `<<` takes a mapping or a list of mappings (/z/<<)
            4:5: error: `<<` takes a mapping or a list of mappings (/<<)
        "#]],
    );
}

#[test]
fn syntax_errors_have_a_place() {
    for (text, expected) in [
        (
            "a:\n\tb: 1\n",
            expect!["2:2: error: a tab cannot indent YAML, use spaces (/a)"],
        ),
        (
            "a: b: c\n",
            expect![
                "1:5: error: a `:` is not expected here, put a value that holds `: ` in quotes"
            ],
        ),
        (
            "a: 'x\nb: 1\n",
            expect!["1:4: error: a quote is opened here and not closed (/a)"],
        ),
        (
            "a: \"x",
            expect!["1:4: error: a quote is opened here and not closed (/a)"],
        ),
        (
            "{\"a\": 1 \"b\": 2}",
            expect!["1:12: error: expected `,` or `}`"],
        ),
        ("[1, 2", expect!["1:6: error: expected `,` or `]` (/2)"]),
        (
            "a: *x\n",
            expect!["1:4: error: the alias names no anchor above (/a)"],
        ),
        (
            "a: &x [*x]\n",
            expect!["1:8: error: an alias to something that it is a part of (/a/0)"],
        ),
        (
            "a: [x, ${X}]\n",
            expect!["1:9: error: put `${…}` in quotes where it stands in `[…]` or `{…}` (/a/2)"],
        ),
        (
            "a: @x\n",
            expect!["1:4: error: a value cannot begin with this character, put it in quotes (/a)"],
        ),
        (
            "a: 1\n---\nb: 2\n",
            expect!["2:1: error: a second document begins here, only one is read"],
        ),
        (
            "{\"a\": 1}}",
            expect!["1:9: error: not valid YAML: misplaced bracket"],
        ),
        (
            "a\0: 1",
            expect!["1:2: error: a NUL character stands here, save the file as UTF-8 text"],
        ),
        (
            "a: \"x\0y\"",
            expect!["1:6: error: a NUL character stands here, save the file as UTF-8 text"],
        ),
        (
            "a: {b:\tx}",
            expect!["1:8: error: a tab follows the `:`, use a space (/a)"],
        ),
    ] {
        let document = Document::parse(text);
        assert!(document.root.is_none(), "{text:?}");
        let problems: Vec<_> = document.problems.iter().map(ToString::to_string).collect();
        expected.assert_eq(&problems.join("\n"));
    }
}

#[test]
fn nothing_is_no_problem() {
    for text in ["", "\n", "# only a comment\n", "\u{feff}"] {
        let document = Document::parse(text);
        assert!(
            document.root.is_none() && document.problems.is_empty(),
            "{text:?}"
        );
    }
}

#[test]
fn what_would_take_too_much_is_refused() {
    let mut laughs = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for pair in ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"] {
        let (from, to) = pair.split_at(1);
        laughs.push_str(&format!(
            "{to}: &{to} [{}]\n",
            vec![format!("*{from}"); 10].join(",")
        ));
    }
    let mut towers = format!("a0: &a0 {}{}\n", "[".repeat(100), "]".repeat(100));
    for level in 1..50 {
        let below = level - 1;
        let (open, close) = ("[".repeat(100), "]".repeat(100));
        towers.push_str(&format!("a{level}: &a{level} {open}*a{below}{close}\n"));
    }
    let block: String = (0..200)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    for (text, expected) in [
        ("[".repeat(100_000), "nested more than 128 levels deep"),
        (block, "nested more than 128 levels deep"),
        (laughs, "the anchors and aliases stand for too much"),
        (
            format!("- &a {}\n{}", "x".repeat(300_000), "- *a\n".repeat(1000)),
            "the anchors and aliases stand for too much",
        ),
        (
            format!(
                "{}{}{}",
                "&a [".repeat(100),
                "1,".repeat(50_000),
                "]".repeat(100)
            ),
            "the anchors and aliases stand for too much",
        ),
        (towers, "the anchors and aliases stand for too much"),
        (
            "x".repeat(MAX_BYTES + 1),
            "the text has more than 1048576 bytes",
        ),
    ] {
        let document = Document::parse(&text);
        assert_eq!(document.problems[0].message, expected);
        assert!(document.root.is_none());
    }
}

#[test]
fn places_lead_to_pointers_and_back() {
    let document = Document::parse("mcp_servers:\n  a/b:\n    args: [x, yy]\n");
    let at = |line, character| document.pointer_at(Position { line, character });
    assert_eq!(at(1, 3).unwrap(), "/mcp_servers/a~1b");
    assert_eq!(at(2, 6).unwrap(), "/mcp_servers/a~1b/args");
    assert_eq!(at(2, 14).unwrap(), "/mcp_servers/a~1b/args/1");
    assert_eq!(at(9, 0).unwrap(), "");
    let spot = document.find("/mcp_servers/a~1b/args/1").unwrap();
    assert_eq!(spot.node.content, Content::Text("yy".to_owned()));
    let spot = document.find("/mcp_servers/a~1b").unwrap();
    assert_eq!(
        spot.key_range.unwrap().start,
        Position {
            line: 1,
            character: 2
        }
    );
    assert!(document.find("/mcp_servers/c").is_none());
    assert!(document.find("/mcp_servers/a~1b/args/x").is_none());
}
