//! Checks that the schema and the parser agree.

use std::path::Path;

use jsonschema::Validator;

use super::*;
use crate::config::{self, Severity, pointer};

fn validator() -> Validator {
    jsonschema::validator_for(&json_schema()).unwrap()
}

/// A configuration with one value under one key, and the pointer to it.
fn with_value(table: &str, key: &str, value: Value) -> (Value, String) {
    let (config, path) = match table {
        "server" => {
            let mut server = json!({"command": "c"});
            if ["url", "serverUrl", "httpUrl"].contains(&key) {
                server = json!({});
            }
            server[key] = value;
            (json!({"mcp_servers": {"s": server}}), "/mcp_servers/s")
        }
        "server_tools" => {
            let server = json!({"command": "c", "tools": {key: value}});
            (
                json!({"mcp_servers": {"s": server}}),
                "/mcp_servers/s/tools",
            )
        }
        "tool_search" => (
            json!({"tools": {"tool_search": {key: value}}}),
            "/tools/tool_search",
        ),
        "output" => (json!({"tools": {"output": {key: value}}}), "/tools/output"),
        "tools" => (json!({"tools": {key: value}}), "/tools"),
        _ => (json!({key: value}), ""),
    };
    let path = pointer::child(path, key);
    (config, path)
}

/// The tables of keys with their names here.
fn tables() -> [(&'static str, &'static Table); 6] {
    [
        ("top", &keys::TOP),
        ("tools", &keys::TOOLS),
        ("tool_search", &keys::TOOL_SEARCH),
        ("output", &keys::OUTPUT),
        ("server", &keys::SERVER),
        ("server_tools", &keys::SERVER_TOOLS),
    ]
}

/// Whether the parser has nothing against what stands at a pointer.
fn parser_accepts(config: &Value, path: &str) -> Result<(), String> {
    let lookup = |name: &str| (name == "userHome").then(|| "/home/u".to_owned());
    let parsed = config::parse_value(config.as_object().unwrap(), Path::new("/"), lookup);
    let mut problems = parsed.problems.iter();
    let against = problems.find(|problem| {
        problem.severity != Severity::Hint
            && (problem.path == path || problem.path.starts_with(&format!("{path}/")))
    });
    against.map_or(Ok(()), |problem| Err(problem.to_string()))
}

#[test]
fn the_schema_accepts_what_the_parser_accepts() {
    let validator = validator();
    let zoo = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(3),
        json!(7.5),
        json!(-1),
        json!(200),
        json!(1e9),
        json!(1e12),
        json!(""),
        json!(" "),
        json!("x"),
        json!("auto"),
        json!("on"),
        json!("off"),
        json!("5"),
        json!("30s"),
        json!("1_000"),
        json!("soon"),
        json!("http://h/x"),
        json!("ftp://h"),
        json!("untrusted"),
        json!("ask"),
        json!("legacy"),
        json!("session"),
        json!("${NOPE:-}x"),
        json!("/a b"),
        json!("a b"),
        json!([]),
        json!(["x"]),
        json!(["x", 5, true]),
        json!([null]),
        json!([["x"]]),
        json!({}),
        json!({"x": "y"}),
        json!({"x": 5}),
        json!({"x": null}),
        json!({"x": ["y"]}),
        json!({"x": {"y": 1}}),
        json!({"a=b": "c"}),
        json!({"a b": "c"}),
        json!({"enabled": "maybe"}),
        json!({"include": ["x"]}),
        json!({"include": 5}),
        json!({"s": {"command": "c"}}),
        json!({"s": {"url": "http://h"}}),
        json!({"s": {}}),
        json!({"": {"command": "c"}}),
        json!({"_s": 1}),
        json!({"s": {"command": "c", "x-note": 1}}),
    ];
    let mut compared = 0;
    let mut different = Vec::new();
    for (name, table) in tables() {
        for key in table.names() {
            for value in &zoo {
                let (config, path) = with_value(name, key, value.clone());
                let accepted = parser_accepts(&config, &path);
                let valid = validator.is_valid(&config);
                // A schema looks neither into variables nor at the size of a number in quotes.
                let opaque = |text: &str| text.contains("${") || text.starts_with(char::is_numeric);
                let may_be_valid = value.as_str().is_some_and(opaque);
                if valid != accepted.is_ok() && !(valid && may_be_valid) {
                    different.push(format!("{config} valid: {valid}, parser: {accepted:?}"));
                }
                compared += 1;
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(compared > 3000);
}

#[test]
fn unknown_keys_are_flagged_where_the_parser_warns() {
    let validator = validator();
    for (name, table) in tables() {
        let (config, path) = with_value(name, "frobnicate", json!(1));
        assert_eq!(validator.is_valid(&config), table.shared, "{config}");
        assert_eq!(
            parser_accepts(&config, &path).is_ok(),
            table.shared,
            "{config}"
        );
        let (config, path) = with_value(name, "x-mine", json!(1));
        assert!(
            validator.is_valid(&config) && parser_accepts(&config, &path).is_ok(),
            "{config}"
        );
        for (key, _) in table.instead {
            let (config, path) = with_value(name, key, json!(["x"]));
            assert!(
                !validator.is_valid(&config) && parser_accepts(&config, &path).is_err(),
                "{config}"
            );
        }
    }
}

#[test]
fn defaults_and_examples_are_accepted() {
    let validator = validator();
    for (name, table) in tables() {
        for key in table.keys {
            for text in key
                .examples
                .iter()
                .chain([&key.default])
                .filter(|text| !text.is_empty())
            {
                let value: Value = serde_json::from_str(text).unwrap();
                let (config, path) = with_value(name, key.name, value);
                assert!(validator.is_valid(&config), "{config}");
                assert_eq!(parser_accepts(&config, &path), Ok(()), "{config}");
            }
        }
    }
}

#[test]
fn defaults_are_what_is_used_when_nothing_is_said() {
    for (name, table) in tables() {
        for key in table.keys.iter().filter(|key| !key.default.is_empty()) {
            let default: Value = serde_json::from_str(key.default).unwrap();
            let read = |value: Value| {
                let (config, _) = with_value(name, key.name, value);
                config::parse_value(config.as_object().unwrap(), Path::new("/"), |_| None).config
            };
            assert_eq!(read(default), read(Value::Null), "{}", key.name);
        }
    }
}

#[test]
fn every_key_is_described() {
    for (_, table) in tables() {
        for key in table.keys {
            assert!(key.doc.ends_with('.'), "{}", key.name);
        }
        let mut names: Vec<_> = table.names().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), table.names().count(), "a name is taken twice");
    }
}

#[test]
fn the_schema_is_one_of_2020_12() {
    assert!(jsonschema::meta::is_valid(&json_schema()));
    assert_eq!(
        json_schema()["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}
