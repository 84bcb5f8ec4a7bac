//! The pure core on what real servers list, where their lists lie beside this repository.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use serde_json::{Map, Value};
use toolcrib::catalog::host::HostTools;
use toolcrib::catalog::scope::Scope;
use toolcrib::catalog::view::View;
use toolcrib::catalog::{Catalog, Tool};
use toolcrib::names::ToolId;
use toolcrib::schema::Format;
use toolcrib::schema::refs;

use crate::catalogs;

/// All of them in one, built once for all tests.
fn catalog() -> Option<&'static Catalog> {
    static CATALOG: LazyLock<Option<Catalog>> =
        LazyLock::new(|| catalogs::lists().map(catalogs::joined));
    CATALOG.as_ref()
}

/// Everything in a schema that some model API is known to refuse.
fn refused(schema: &Value, format: Format) -> Vec<String> {
    let mut found: Vec<String> = refs::dangling(schema)
        .into_iter()
        .map(|(path, reference)| format!("{path} refers to {reference}"))
        .collect();
    if schema["type"] != "object" || !schema["properties"].is_object() {
        found.push("is no object with properties".to_owned());
    }
    for keyword in ["allOf", "anyOf", "oneOf", "not", "enum"] {
        if schema.get(keyword).is_some() {
            found.push(format!("{keyword} at the root"));
        }
    }
    inside(schema, "", format, &mut found);
    found
}

fn inside(schema: &Value, path: &str, format: Format, found: &mut Vec<String>) {
    let Value::Object(members) = schema else {
        if !schema.is_boolean() {
            found.push(format!("{path} is no schema"));
        }
        return;
    };
    if let Some(Value::Object(properties)) = members.get("properties") {
        for name in properties.keys() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
                found.push(format!("{path} has the property {name:?}"));
            }
        }
    }
    if members.get("type").is_some_and(|name| name == "array") && !members.contains_key("items") {
        found.push(format!("{path} is a list of nothing"));
    }
    if format == Format::Gemini {
        const TAKEN: [&str; 17] = [
            "type",
            "format",
            "title",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "properties",
            "additionalProperties",
            "required",
            "$ref",
            "$defs",
        ];
        for keyword in members
            .keys()
            .filter(|keyword| !TAKEN.contains(&keyword.as_str()) && *keyword != "nullable")
        {
            found.push(format!("{path} has the keyword {keyword}"));
        }
        if members.get("type").is_some_and(Value::is_array)
            || members.contains_key("$ref") && members.len() > 1
        {
            found.push(format!(
                "{path} has a list of types, or a $ref with others beside it"
            ));
        }
    }
    toolcrib::schema::each_subschema(members, &mut |step, value| {
        inside(value, &format!("{path}{step}"), format, found)
    });
}

fn parameters(tool: &Tool, format: Format) -> Value {
    let mut value: Value = serde_json::from_str(tool.definition(format)).unwrap();
    match format {
        Format::Openai => value["function"]["parameters"].take(),
        Format::OpenaiResponses => value["parameters"].take(),
        Format::Anthropic => value["input_schema"].take(),
        Format::Gemini => value["parametersJsonSchema"].take(),
        Format::Mcp => value["inputSchema"].take(),
    }
}

#[test]
fn every_model_api_takes_every_tool() {
    let Some(catalog) = catalog() else { return };
    let mut problems = Vec::new();
    // The other formats write the same parameters as Anthropic's.
    for format in [Format::Anthropic, Format::Gemini] {
        for tool in catalog.tools().iter() {
            let schema = parameters(tool, format);
            problems.extend(
                refused(&schema, format)
                    .into_iter()
                    .map(|problem| format!("{} {}: {problem}", format.as_str(), tool.exposed)),
            );
            if format == Format::Anthropic && !jsonschema::meta::is_valid(&schema) {
                problems.push(format!("{} is no schema of 2020-12", tool.exposed));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "{} problems:\n{}",
        problems.len(),
        problems[..problems.len().min(40)].join("\n")
    );
}

#[test]
fn mcp_passes_on_what_the_server_sent() {
    let Some(catalog) = catalog() else { return };
    let mut changed = Vec::new();
    for (server, tools) in catalogs::lists().unwrap() {
        for sent in tools
            .iter()
            .filter(|sent| sent.input_schema["type"] == "object")
        {
            let tool = catalog.by_id(&ToolId::new(&server, &sent.name)).unwrap();
            let was_cleaned = catalog
                .warnings()
                .iter()
                .any(|warning| warning.tool.as_deref() == Some(tool.exposed.as_str()));
            if !was_cleaned && parameters(tool, Format::Mcp) != sent.input_schema {
                changed.push(tool.exposed.to_string());
            }
        }
    }
    assert!(changed.is_empty(), "{changed:?}");
}

#[test]
fn every_schema_can_be_checked_and_every_name_found() {
    let Some(catalog) = catalog() else { return };
    let scope = Scope::default();
    let view = View {
        catalog,
        host: &HostTools::default(),
        scope: &scope,
        bridged: true,
    };
    let start = Instant::now();
    for tool in catalog.tools().iter() {
        assert!(tool.checker().is_compiled(), "{}", tool.exposed);
        assert!(Arc::ptr_eq(
            view.resolve_name(tool.exposed.as_str()).unwrap(),
            tool
        ));
        let _ = tool.checker().check(&Map::new());
        let line = toolcrib::schema::signature::signature(&tool.input_schema);
        assert!(line.chars().count() <= 600, "{line}");
    }
    eprintln!(
        "{} checks compiled and signatures written in {:?}",
        catalog.tools().len(),
        start.elapsed()
    );
}
