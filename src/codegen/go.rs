//! Describes the contract to the Go templates.

use serde_json::{Value, json};

use crate::codegen::GenerateError;
use crate::codegen::contract::{Contract, Field, Method, Shape, Type, TypeKind, Width};
use crate::codegen::identifiers::go_exported;
use crate::codegen::is_lifecycle;
use crate::codegen::render::render;

pub fn types(contract: &Contract) -> Result<String, GenerateError> {
    let view = View { contract };
    let context = json!({
        "protocol_version": contract.protocol_version,
        "types": contract.types.iter().map(|it| view.type_of(it)).collect::<Vec<_>>(),
    });
    Ok(render(include_str!("templates/go_types.go.j2"), &context)?)
}

pub fn methods(contract: &Contract) -> Result<String, GenerateError> {
    let view = View { contract };
    let methods = |methods: &[Method]| -> Vec<Value> {
        methods
            .iter()
            .filter(|it| !is_lifecycle(&it.name))
            .map(|it| view.method(it))
            .collect()
    };
    let context = json!({
        "requests": methods(&contract.requests),
        "host_requests": methods(&contract.host_requests),
        "notifications": methods(&contract.notifications),
    });
    Ok(render(
        include_str!("templates/go_methods.go.j2"),
        &context,
    )?)
}

struct View<'a> {
    contract: &'a Contract,
}

impl View<'_> {
    fn type_of(&self, it: &Type) -> Value {
        let mut value =
            json!({ "name": go_exported(&it.name), "doc": it.doc, "open": it.outbound });
        match &it.kind {
            TypeKind::Enum { values } => {
                value["kind"] = "enum".into();
                let word = |word: &crate::codegen::contract::EnumValue| json!({ "name": go_exported(&word.value), "value": word.value, "doc": word.doc });
                value["words"] = values.iter().map(word).collect();
            }
            TypeKind::Struct { fields, tag } => {
                value["kind"] = "struct".into();
                value["tag"] = match tag {
                    Some(tag) => json!({ "wire": tag.member, "value": tag.value }),
                    None => Value::Null,
                };
                value["fields"] = fields
                    .iter()
                    .map(|field| self.field(field, it.outbound))
                    .collect();
            }
            TypeKind::Union { tag, cases } => {
                value["kind"] = "union".into();
                value["tag"] = json!({ "name": go_exported(tag), "wire": tag });
                let case = |case: &crate::codegen::contract::Case| json!({ "value": case.value, "type": go_exported(&case.type_name), "doc": case.doc });
                value["cases"] = cases.iter().map(case).collect();
            }
        }
        value
    }

    fn field(&self, field: &Field, outbound: bool) -> Value {
        let type_name = self.type_name(&field.shape, outbound);
        let holds_nothing_as_it_is = matches!(
            field.shape,
            Shape::Any | Shape::Object | Shape::List(_) | Shape::Map(_)
        ) || self.is_enum(&field.shape);
        let type_name = match (field.required && !field.nullable) || holds_nothing_as_it_is {
            true => type_name,
            false => format!("*{type_name}"),
        };
        let omit = if field.required { "" } else { ",omitzero" };
        json!({
            "name": go_exported(&field.name),
            "wire": format!("{}{omit}", field.name),
            "doc": field.doc,
            "type": type_name,
        })
    }

    fn is_enum(&self, shape: &Shape) -> bool {
        let Shape::Named(name) = shape else {
            return false;
        };
        let kind = self.contract.find_type(name).map(|it| &it.kind);
        matches!(kind, Some(TypeKind::Enum { .. }))
    }

    fn method(&self, method: &Method) -> Value {
        let result = match &method.result {
            Shape::Named(name) => json!(go_exported(name)),
            _ => Value::Null,
        };
        json!({
            "name": go_exported(&method.name),
            "wire": method.name,
            "doc": method.doc,
            "params": go_exported(&method.params),
            "result": result,
        })
    }

    /// What comes in is kept as it was sent, so that no digit and no order of members is lost.
    fn type_name(&self, shape: &Shape, outbound: bool) -> String {
        match shape {
            Shape::Nothing => "struct{}".to_string(),
            Shape::Bool => "bool".to_string(),
            Shape::Integer(Width::Unsigned32) => "uint32".to_string(),
            Shape::Integer(Width::Unsigned64) => "uint64".to_string(),
            Shape::Number => "float64".to_string(),
            Shape::String => "string".to_string(),
            Shape::Any | Shape::Object if outbound => "json.RawMessage".to_string(),
            Shape::Any => "any".to_string(),
            Shape::Object => "map[string]any".to_string(),
            Shape::List(item) => format!("[]{}", self.type_name(item, outbound)),
            Shape::Map(item) => format!("map[string]{}", self.type_name(item, outbound)),
            Shape::Named(name) => go_exported(name),
        }
    }
}
