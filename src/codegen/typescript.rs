//! Describes the contract to the TypeScript templates.

use serde_json::{Value, json};

use crate::codegen::GenerateError;
use crate::codegen::contract::{Contract, Field, Method, Shape, Type, TypeKind};
use crate::codegen::render::render;
use crate::codegen::{is_lifecycle, with_values};

pub fn types(contract: &Contract) -> Result<String, GenerateError> {
    let context = json!({
        "protocol_version": contract.protocol_version,
        "types": contract.types.iter().map(type_of).collect::<Vec<_>>(),
    });
    Ok(render(
        include_str!("templates/typescript_types.ts.j2"),
        &context,
    )?)
}

pub fn methods(contract: &Contract) -> Result<String, GenerateError> {
    let methods = |methods: &[Method]| -> Vec<Value> {
        methods
            .iter()
            .filter(|it| !is_lifecycle(&it.name))
            .map(|it| method(contract, it))
            .collect()
    };
    let context = json!({
        "requests": methods(&contract.requests),
        "host_requests": methods(&contract.host_requests),
        "notifications": methods(&contract.notifications),
    });
    Ok(render(
        include_str!("templates/typescript_methods.ts.j2"),
        &context,
    )?)
}

fn type_of(it: &Type) -> Value {
    let mut value = json!({ "name": it.name, "doc": it.doc, "open": it.outbound });
    match &it.kind {
        TypeKind::Enum { values } => {
            value["kind"] = "enum".into();
            let note = if it.outbound {
                "\n\nA newer sidecar may send words that are not listed."
            } else {
                ""
            };
            value["doc"] = format!("{}{note}", with_values(&it.doc, values))
                .trim()
                .into();
            value["words"] = values.iter().map(|it| it.value.as_str()).collect();
        }
        TypeKind::Struct { fields, tag } => {
            value["kind"] = "struct".into();
            value["tag"] = match tag {
                Some(tag) => json!({ "name": tag.member, "value": tag.value }),
                None => Value::Null,
            };
            value["fields"] = fields
                .iter()
                .map(|field| field_of(field, it.inbound))
                .collect();
        }
        TypeKind::Union { cases, .. } => {
            value["kind"] = "union".into();
            let note =
                "A newer sidecar may send cases that are not listed: give a `switch` a `default`.";
            value["doc"] = format!("{}\n\n{note}", it.doc).into();
            value["cases"] = cases.iter().map(|it| it.type_name.as_str()).collect();
        }
    }
    value
}

/// What a host writes may hold `undefined`, so that it can pass on what it may not have.
fn field_of(field: &Field, inbound: bool) -> Value {
    let mut type_name = match (&field.shape, inbound) {
        (Shape::Any, true) => "unknown".to_string(),
        (Shape::Object, true) => "object".to_string(),
        (shape, _) => type_name(shape, ""),
    };
    if field.nullable {
        type_name += " | null";
    }
    if !field.required && inbound && field.shape != Shape::Any {
        type_name += " | undefined";
    }
    let mark = if field.required { "" } else { "?" };
    json!({ "name": format!("{}{mark}", field.name), "doc": field.doc, "type": type_name })
}

fn method(contract: &Contract, method: &Method) -> Value {
    let fields = match contract.find_type(&method.params).map(|it| &it.kind) {
        Some(TypeKind::Struct { fields, .. }) => fields.as_slice(),
        _ => &[],
    };
    json!({
        "name": method.name,
        "doc": method.doc,
        "params": method.params,
        "may_be_left_out": fields.iter().all(|it| !it.required),
        "result": type_name(&method.result, "t."),
        "answer": match &method.result {
            Shape::Object => "object".to_string(),
            shape => type_name(shape, "t."),
        },
    })
}

fn type_name(shape: &Shape, scope: &str) -> String {
    match shape {
        Shape::Nothing => "void".to_string(),
        Shape::Bool => "boolean".to_string(),
        Shape::Integer(_) | Shape::Number => "number".to_string(),
        Shape::String => "string".to_string(),
        Shape::Any => format!("{scope}Json"),
        Shape::Object => format!("{scope}JsonObject"),
        Shape::List(item) => format!("{}[]", type_name(item, scope)),
        Shape::Map(item) => format!("{{ [name: string]: {} }}", type_name(item, scope)),
        Shape::Named(name) => format!("{scope}{name}"),
    }
}
