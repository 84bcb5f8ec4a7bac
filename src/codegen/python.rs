//! Describes the contract to the Python templates.

use serde_json::{Value, json};

use crate::codegen::GenerateError;
use crate::codegen::contract::{Contract, Field, Method, Shape, Type, TypeKind};
use crate::codegen::identifiers::{python, snake};
use crate::codegen::render::render;
use crate::codegen::{is_lifecycle, with_values};

pub fn types(contract: &Contract) -> Result<String, GenerateError> {
    let view = View { contract };
    let of_kind = |wanted: fn(&TypeKind) -> bool| -> Vec<Value> {
        contract
            .types
            .iter()
            .filter(|it| wanted(&it.kind))
            .map(|it| view.type_of(it))
            .collect()
    };
    let context = json!({
        "protocol_version": contract.protocol_version,
        "enums": of_kind(|it| matches!(it, TypeKind::Enum { .. })),
        "structs": of_kind(|it| matches!(it, TypeKind::Struct { .. })),
        "unions": of_kind(|it| matches!(it, TypeKind::Union { .. })),
        "notifications": contract.notifications.iter().map(|it| view.method(it)).collect::<Vec<_>>(),
    });
    Ok(render(
        include_str!("templates/python_types.py.j2"),
        &context,
    )?)
}

pub fn methods(contract: &Contract) -> Result<String, GenerateError> {
    let view = View { contract };
    let requests = contract
        .requests
        .iter()
        .filter(|it| !is_lifecycle(&it.name));
    let context = json!({
        "requests": requests.map(|it| view.method(it)).collect::<Vec<_>>(),
        "host_requests": contract.host_requests.iter().map(|it| view.method(it)).collect::<Vec<_>>(),
        "notifications": contract.notifications.iter().map(|it| view.method(it)).collect::<Vec<_>>(),
    });
    Ok(render(
        include_str!("templates/python_methods.py.j2"),
        &context,
    )?)
}

struct View<'a> {
    contract: &'a Contract,
}

impl View<'_> {
    fn type_of(&self, it: &Type) -> Value {
        let mut value = json!({ "name": it.name, "doc": it.doc, "open": it.outbound });
        match &it.kind {
            TypeKind::Enum { values } => {
                let words: Vec<_> = values.iter().map(|it| &it.value).collect();
                let note = if it.outbound {
                    "\n\nA newer sidecar may send words that are not listed.\n"
                } else {
                    ""
                };
                value["doc"] = format!("{}{note}", with_values(&it.doc, values))
                    .trim_start()
                    .into();
                value["words"] = json!(words);
            }
            TypeKind::Struct { fields, tag } => {
                value["fields"] = fields.iter().map(|it| self.field(it, "")).collect();
                value["tag"] = match tag {
                    Some(tag) => {
                        json!({ "name": python(&tag.member), "wire": tag.member, "value": tag.value })
                    }
                    None => Value::Null,
                };
                let notification = self
                    .contract
                    .notifications
                    .iter()
                    .find(|method| method.params == it.name);
                value["method"] = json!(notification.map(|it| &it.name));
            }
            TypeKind::Union { tag, cases } => {
                value["tag"] = json!({ "name": python(tag), "wire": tag });
                value["decode"] = format!("{}_from_json", snake(&it.name)).into();
                let cases = cases
                    .iter()
                    .map(|it| json!({ "value": it.value, "type": it.type_name }));
                value["cases"] = cases.collect();
            }
        }
        value
    }

    /// `scope` is where the type's name is looked up: `types.` outside of its module.
    fn field(&self, field: &Field, scope: &str) -> Value {
        let name = python(&field.name);
        let optional = !field.required || field.nullable;
        let mut type_name = self.type_name(&field.shape, scope);
        if optional && field.shape != Shape::Any {
            type_name += " | None";
        }
        let found = match optional {
            true => format!("get(\"{}\")", field.name),
            false => format!("data[\"{}\"]", field.name),
        };
        let decoded = match (self.decode(&field.shape, "value"), optional) {
            (None, _) => found,
            (Some(decoded), true) => format!("None if (value := {found}) is None else {decoded}"),
            (Some(_), false) => self.decode(&field.shape, &found).unwrap_or(found),
        };
        let own = format!("self.{name}");
        let encoded = self
            .encode(&field.shape, &own)
            .unwrap_or_else(|| own.clone());
        let encoded = match field.nullable && encoded != own {
            true => format!("None if {own} is None else {encoded}"),
            false => encoded,
        };
        json!({
            "name": name,
            "wire": field.name,
            "doc": field.doc,
            "type": type_name,
            "required": field.required,
            "decode": decoded,
            "encode": encoded,
        })
    }

    fn method(&self, method: &Method) -> Value {
        let params = self.contract.find_type(&method.params);
        let fields = match params.map(|it| &it.kind) {
            Some(TypeKind::Struct { fields, .. }) => fields.as_slice(),
            _ => &[],
        };
        json!({
            "name": python(&method.name),
            "wire": method.name,
            "doc": method.doc,
            "params": method.params,
            "fields": fields.iter().map(|it| self.field(it, "types.")).collect::<Vec<_>>(),
            "result": self.type_name(&method.result, "types."),
            "decoder": self.decoder(&method.result),
            "encode": self.encode(&method.result, "result").unwrap_or("result".to_string()),
        })
    }

    fn type_name(&self, shape: &Shape, scope: &str) -> String {
        match shape {
            Shape::Nothing => "None".to_string(),
            Shape::Bool => "bool".to_string(),
            Shape::Integer(_) => "int".to_string(),
            Shape::Number => "float".to_string(),
            Shape::String => "str".to_string(),
            Shape::Any => "Any".to_string(),
            Shape::Object => "dict[str, Any]".to_string(),
            Shape::List(item) => format!("list[{}]", self.type_name(item, scope)),
            Shape::Map(item) => format!("dict[str, {}]", self.type_name(item, scope)),
            Shape::Named(name) => format!("{scope}{name}"),
        }
    }

    /// How to read the value `from`; nothing where it can be taken as it is.
    fn decode(&self, shape: &Shape, from: &str) -> Option<String> {
        match shape {
            Shape::List(item) => Some(format!(
                "[{} for item in {from}]",
                self.decode(item, "item")?
            )),
            Shape::Map(item) => Some(format!(
                "{{key: {} for key, item in {from}.items()}}",
                self.decode(item, "item")?
            )),
            Shape::Named(name) => match self.contract.find_type(name).map(|it| &it.kind)? {
                TypeKind::Enum { .. } => None,
                TypeKind::Struct { .. } => Some(format!("{name}.from_json({from})")),
                TypeKind::Union { .. } => Some(format!("{}_from_json({from})", snake(name))),
            },
            _ => None,
        }
    }

    fn encode(&self, shape: &Shape, from: &str) -> Option<String> {
        match shape {
            Shape::List(item) => Some(format!(
                "[{} for item in {from}]",
                self.encode(item, "item")?
            )),
            Shape::Map(item) => Some(format!(
                "{{key: {} for key, item in {from}.items()}}",
                self.encode(item, "item")?
            )),
            Shape::Named(name) => match self.contract.find_type(name).map(|it| &it.kind)? {
                TypeKind::Enum { .. } => None,
                TypeKind::Struct { .. } | TypeKind::Union { .. } => {
                    Some(format!("{from}.to_json()"))
                }
            },
            _ => None,
        }
    }

    /// The function that reads an answer.
    fn decoder(&self, shape: &Shape) -> String {
        match (shape, self.decode(shape, "data")) {
            (Shape::Nothing, _) => "nothing".to_string(),
            (Shape::Named(name), Some(decoded)) if decoded.contains(".from_json") => {
                format!("types.{name}.from_json")
            }
            (Shape::Named(name), Some(_)) => format!("types.{}_from_json", snake(name)),
            _ => "anything".to_string(),
        }
    }
}
