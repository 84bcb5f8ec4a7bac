//! The wire fixtures as the sidecar's own types read and write them; the clients' tests do the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toolcrib::api::types::*;
use toolcrib::codegen;

/// Reads a value as the type and writes it again.
fn again<T: Serialize + DeserializeOwned>(text: &str) -> Result<Value, String> {
    let read: T = serde_json::from_str(text).map_err(|it| it.to_string())?;
    let written = serde_json::to_string(&read).map_err(|it| it.to_string())?;
    serde_json::from_str(&written).map_err(|it| it.to_string())
}

macro_rules! again_by_name {
    ($name:expr, $text:expr; $($type:ident)*) => {
        match $name {
            $(stringify!($type) => again::<$type>($text),)*
            name => panic!("no type `{name}` in tests/it/wire.rs"),
        }
    };
}

fn again_as(name: &str, text: &str) -> Result<Value, String> {
    again_by_name!(name, text;
        InitializeParams InitializeResult AssembleToolsParams AssembleToolsResult DispatchParams DispatchResult
        ResolveParams ResolveResult ReloadParams ReloadResult StatusParams StatusResult CloseSessionParams
        ShutdownParams EmptyResult ApproveParams ApproveResult ElicitParams ElicitResult SampleParams
        OpenUrlParams OpenUrlResult ToolsChangedNotification ServerStatusNotification ProgressNotification
        LogNotification ServerStatus Problem Position
    )
}

fn files() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "json"));
    paths.sort();
    let read = |path: &Path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    paths
        .iter()
        .map(|it| {
            (
                it.file_stem().unwrap().to_string_lossy().into_owned(),
                read(it),
            )
        })
        .collect()
}

/// Every case with a place to name it by.
fn cases() -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    for (file, content) in files() {
        for case in content["cases"].as_array().into_iter().flatten() {
            cases.push((
                format!("{file}: {} {}", case["type"], case["name"]),
                case.clone(),
            ));
        }
    }
    cases
}

/// `1` and `1.0` are the same number.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => left == right,
    }
}

#[test]
fn fixtures_survive_reading_and_writing() {
    let cases = cases();
    assert!(cases.len() > 50, "{} cases", cases.len());
    for (place, case) in cases {
        let written = again_as(case["type"].as_str().unwrap(), &case["value"].to_string());
        if case["rust"] == "refused" {
            assert!(written.unwrap_err().contains("unknown variant"), "{place}");
            continue;
        }
        let expected = case.get("encoded").unwrap_or(&case["value"]);
        let written = written.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(
            same(&written, expected),
            "{place}\n  written: {written}\n expected: {expected}"
        );
    }
}

#[test]
fn errors_carry_what_a_host_can_branch_on() {
    for (_, content) in files() {
        for case in content["errors"].as_array().into_iter().flatten() {
            let data = serde_json::from_value::<ErrorData>(case["error"]["data"].clone());
            let is_failure = case["error"]["code"] == toolcrib::api::error::REQUEST_FAILED;
            let kind = data.ok().filter(|_| is_failure).map(|it| it.kind);
            assert_eq!(kind.as_deref(), case["kind"].as_str(), "{}", case["name"]);
        }
    }
}

#[test]
fn every_message_of_the_contract_has_a_fixture() {
    let document: Value = serde_json::from_str(codegen::OPENRPC).unwrap();
    let covered: BTreeSet<String> = cases()
        .iter()
        .map(|(_, it)| it["type"].as_str().unwrap().to_owned())
        .collect();
    let mut missing = BTreeSet::new();
    for method in document["methods"].as_array().unwrap() {
        for schema in [&method["x-params"], &method["result"]["schema"]] {
            let name = schema["$ref"]
                .as_str()
                .map(|it| it.rsplit('/').next().unwrap_or(it));
            missing.extend(name.filter(|it| !covered.contains(*it)).map(str::to_owned));
        }
    }
    assert!(
        missing.is_empty(),
        "no fixture in tests/wire for {missing:?}"
    );
}

#[test]
fn fixtures_use_every_field() {
    let document: Value = serde_json::from_str(codegen::OPENRPC).unwrap();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut used = BTreeSet::new();
    for (_, case) in cases() {
        use_fields(
            case["type"].as_str().unwrap(),
            &case["value"],
            schemas,
            &mut used,
        );
    }
    for (_, content) in files() {
        for case in content["errors"].as_array().into_iter().flatten() {
            use_fields("ErrorData", &case["error"]["data"], schemas, &mut used);
        }
    }
    let all = schemas.iter().flat_map(|(name, schema)| {
        schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(move |(field, _)| format!("{name}.{field}"))
    });
    let missing: Vec<String> = all.filter(|it| !used.contains(it)).collect();
    assert!(
        missing.is_empty(),
        "no fixture in tests/wire uses {missing:?}"
    );
}

fn use_fields(
    type_name: &str,
    value: &Value,
    schemas: &Map<String, Value>,
    used: &mut BTreeSet<String>,
) {
    let schema = &schemas[type_name];
    for case in schema["oneOf"].as_array().into_iter().flatten() {
        if case["properties"]["kind"]["const"] == value["kind"]
            && case["allOf"][0]["$ref"].is_string()
        {
            use_schema(&case["allOf"][0], value, schemas, used);
        }
    }
    for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
        let Some(member) = value.get(field).filter(|it| !it.is_null()) else {
            continue;
        };
        used.insert(format!("{type_name}.{field}"));
        use_schema(schema, member, schemas, used);
    }
}

fn use_schema(
    schema: &Value,
    value: &Value,
    schemas: &Map<String, Value>,
    used: &mut BTreeSet<String>,
) {
    if let Some(name) = schema["$ref"].as_str() {
        use_fields(name.rsplit('/').next().unwrap(), value, schemas, used);
    }
    for option in schema["anyOf"]
        .as_array()
        .into_iter()
        .chain(schema["allOf"].as_array())
        .flatten()
    {
        use_schema(option, value, schemas, used);
    }
    for item in value.as_array().into_iter().flatten() {
        use_schema(&schema["items"], item, schemas, used);
    }
}
