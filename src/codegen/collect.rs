//! Reads the contract off the list of methods and the schemas of its types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::api::types::PROTOCOL_VERSION;
use crate::codegen::contract::{
    Case, Contract, EnumValue, Field, Method, Shape, Tag, Type, TypeKind, Width,
};
use crate::codegen::schemas::{Schemas, Signature};

/// A wire type that the clients could not express.
#[derive(Debug, thiserror::Error)]
#[error("`{place}`: {problem}")]
pub struct CollectError {
    place: String,
    problem: String,
}

/// Reads the contract off the list of methods.
pub fn collect() -> Result<Contract, CollectError> {
    let schemas = Schemas::of_all_methods(SchemaSettings::draft2020_12());
    let mut types = Types::default();
    types.add(schemas.inbound, Direction::In)?;
    types.add(schemas.outbound, Direction::Out)?;

    let methods = |signatures: Vec<Signature>| {
        signatures
            .into_iter()
            .map(method)
            .collect::<Result<Vec<_>, _>>()
    };
    Ok(Contract {
        protocol_version: PROTOCOL_VERSION,
        requests: methods(schemas.requests)?,
        host_requests: methods(schemas.host_requests)?,
        notifications: methods(schemas.notifications)?,
        types: types.with_tags()?,
    })
}

fn method(signature: Signature) -> Result<Method, CollectError> {
    let params = match shape(&signature.params, signature.name)? {
        (Shape::Named(name), false) => name,
        _ => return Err(error(signature.name, "params must be a struct")),
    };
    Ok(Method {
        name: signature.name.to_string(),
        doc: clean(signature.doc),
        params,
        result: shape(&signature.result, signature.name)?.0,
    })
}

#[derive(Clone, Copy)]
enum Direction {
    In,
    Out,
}

#[derive(Default)]
struct Types {
    types: Vec<Type>,
}

impl Types {
    fn add(
        &mut self,
        definitions: Map<String, Value>,
        direction: Direction,
    ) -> Result<(), CollectError> {
        for (name, schema) in definitions {
            let kind = kind(&name, &schema)?;
            match self.types.iter_mut().find(|it| it.name == name) {
                Some(known) if known.kind == kind => match direction {
                    Direction::In => known.inbound = true,
                    Direction::Out => known.outbound = true,
                },
                Some(_) => {
                    let problem = "goes both ways and looks different on each: split it, or give its fields the same attributes for reading and writing";
                    return Err(error(&name, problem));
                }
                None => self.types.push(Type {
                    doc: description(&schema),
                    name,
                    kind,
                    inbound: matches!(direction, Direction::In),
                    outbound: matches!(direction, Direction::Out),
                }),
            }
        }
        Ok(())
    }

    /// Hands every case of a union its tag, so that the case can be a type of its own in every language.
    fn with_tags(mut self) -> Result<Vec<Type>, CollectError> {
        let mut tags: Vec<(String, Tag)> = Vec::new();
        for it in &self.types {
            let TypeKind::Union { tag, cases } = &it.kind else {
                continue;
            };
            for case in cases {
                let tag = Tag {
                    member: tag.clone(),
                    value: case.value.clone(),
                };
                tags.push((case.type_name.clone(), tag));
            }
        }
        for (name, new_tag) in tags {
            if let Some(place) = self.mention_outside_of_unions(&name) {
                let problem = format!("is a case of a union and so cannot be used in `{place}`");
                return Err(error(&name, &problem));
            }
            let found = self.types.iter_mut().find(|it| it.name == name);
            let Some(Type {
                kind: TypeKind::Struct { tag, .. },
                ..
            }) = found
            else {
                return Err(error(&name, "a case of a union must be a struct"));
            };
            if tag.replace(new_tag).is_some() {
                return Err(error(&name, "is a case of more than one union"));
            }
        }
        Ok(self.types)
    }

    fn mention_outside_of_unions(&self, name: &str) -> Option<&str> {
        let mentions = |it: &&Type| match &it.kind {
            TypeKind::Struct { fields, .. } => fields.iter().any(|it| mentions(&it.shape, name)),
            TypeKind::Enum { .. } | TypeKind::Union { .. } => false,
        };
        self.types.iter().find(mentions).map(|it| it.name.as_str())
    }
}

fn mentions(shape: &Shape, name: &str) -> bool {
    match shape {
        Shape::Named(it) => it == name,
        Shape::List(item) | Shape::Map(item) => mentions(item, name),
        _ => false,
    }
}

fn kind(name: &str, schema: &Value) -> Result<TypeKind, CollectError> {
    if let Some(cases) = schema.get("oneOf").and_then(Value::as_array) {
        return match cases.iter().all(|it| it["type"] == "string") {
            true => Ok(TypeKind::Enum {
                values: enum_values(cases),
            }),
            false => union(name, cases),
        };
    }
    match schema["type"].as_str() {
        Some("string") if schema.get("enum").is_some() => Ok(TypeKind::Enum {
            values: enum_values(std::slice::from_ref(schema)),
        }),
        Some("object") if schema.get("additionalProperties").is_none() => Ok(TypeKind::Struct {
            fields: fields(name, schema)?,
            tag: None,
        }),
        _ => Err(error(
            name,
            "a type with a name must be a struct, a list of words or a tagged union",
        )),
    }
}

/// Words with documentation are one `const` each, those without share an `enum`.
fn enum_values(schemas: &[Value]) -> Vec<EnumValue> {
    let mut values = Vec::new();
    for schema in schemas {
        let words = schema.get("enum").and_then(Value::as_array);
        let words = words.into_iter().flatten().chain(schema.get("const"));
        let doc = if schema.get("const").is_some() {
            description(schema)
        } else {
            String::new()
        };
        values.extend(words.filter_map(Value::as_str).map(|it| EnumValue {
            value: it.to_string(),
            doc: doc.clone(),
        }));
    }
    values
}

fn union(name: &str, schemas: &[Value]) -> Result<TypeKind, CollectError> {
    let mut tag = None;
    let mut cases = Vec::new();
    for schema in schemas {
        let constants: Vec<(&String, &str)> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(name, property)| Some((name, property.get("const")?.as_str()?)))
            .collect();
        let &[(member, value)] = constants.as_slice() else {
            return Err(error(
                name,
                "cases must be told apart by one tag; no `untagged`",
            ));
        };
        if *tag.get_or_insert(member) != member {
            return Err(error(name, "all cases must have the same tag"));
        }
        let Some(type_name) = reference(schema) else {
            return Err(error(name, "each case must hold a struct with a name"));
        };
        cases.push(Case {
            value: value.to_string(),
            type_name,
            doc: description(schema),
        });
    }
    match tag {
        Some(tag) => Ok(TypeKind::Union {
            tag: tag.clone(),
            cases,
        }),
        None => Err(error(name, "a union without cases")),
    }
}

fn fields(name: &str, schema: &Value) -> Result<Vec<Field>, CollectError> {
    if schema.get("allOf").is_some() || schema.get("$ref").is_some() {
        return Err(error(name, "no `flatten`: write the fields out"));
    }
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(field, property)| {
            let place = format!("{name}.{field}");
            let (shape, nullable) = shape(property, &place)?;
            let required = required.contains(&field.as_str());
            Ok(Field {
                name: field.clone(),
                doc: description(property),
                shape,
                required,
                nullable: nullable && required,
            })
        })
        .collect()
}

/// The shape of a value, and whether it may be `null`.
fn shape(schema: &Value, place: &str) -> Result<(Shape, bool), CollectError> {
    if let Some(name) = reference(schema) {
        return Ok((Shape::Named(name), false));
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        return match options.as_slice() {
            [option, null] if null["type"] == "null" => Ok((shape(option, place)?.0, true)),
            _ => Err(error(place, "no `untagged`: use a tagged union")),
        };
    }
    if let Some(types) = schema.get("type").and_then(Value::as_array) {
        let mut single = schema.clone();
        return match types.as_slice() {
            [option, null] if null == "null" => {
                single["type"] = option.clone();
                Ok((shape(&single, place)?.0, true))
            }
            _ => Err(error(place, "may be of one type only, or `null`")),
        };
    }
    let Some(name) = schema.get("type").and_then(Value::as_str) else {
        let constrained = schema
            .as_object()
            .is_some_and(|it| it.keys().any(|it| it != "description"));
        return match constrained {
            true => Err(error(place, "a schema that the clients cannot express")),
            false => Ok((Shape::Any, false)),
        };
    };
    let shape = match name {
        "null" => Shape::Nothing,
        "boolean" => Shape::Bool,
        "integer" => match schema["format"].as_str() {
            Some("uint32") => Shape::Integer(Width::Unsigned32),
            Some("uint64") => Shape::Integer(Width::Unsigned64),
            _ => return Err(error(place, "integers of the wire are `u32` or `u64`")),
        },
        "number" => Shape::Number,
        "string" => Shape::String,
        "array" => Shape::List(Box::new(shape(&schema["items"], place)?.0)),
        "object" => match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Shape::Object,
            Some(values) => Shape::Map(Box::new(shape(values, place)?.0)),
            None => return Err(error(place, "give the struct a name")),
        },
        _ => return Err(error(place, "an unknown type of JSON Schema")),
    };
    Ok((shape, false))
}

fn reference(schema: &Value) -> Option<String> {
    let path = schema.get("$ref")?.as_str()?;
    path.strip_prefix("#/$defs/").map(str::to_string)
}

fn description(schema: &Value) -> String {
    clean(schema["description"].as_str().unwrap_or_default())
}

/// Doc comments keep the space after their slashes.
fn clean(doc: &str) -> String {
    let lines: Vec<&str> = doc.lines().map(str::trim).collect();
    lines.join("\n").trim().to_string()
}

fn error(place: &str, problem: &str) -> CollectError {
    CollectError {
        place: place.to_string(),
        problem: problem.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use serde_json::json;

    fn check_kind(schema: Value, expected: Expect) {
        match kind("T", &schema) {
            Ok(kind) => expected.assert_eq(&format!("{kind:?}")),
            Err(error) => expected.assert_eq(&error.to_string()),
        }
    }

    #[test]
    fn words_with_and_without_documentation_are_one_list() {
        let schema = json!({ "oneOf": [
            { "type": "string", "enum": ["ok"] },
            { "type": "string", "const": "error", "description": "It failed." },
        ]});
        check_kind(
            schema,
            expect![[
                r#"Enum { values: [EnumValue { value: "ok", doc: "" }, EnumValue { value: "error", doc: "It failed." }] }"#
            ]],
        );
    }

    #[test]
    fn untagged_union_is_refused() {
        let schema = json!({ "oneOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }] });
        check_kind(
            schema,
            expect!["`T`: cases must be told apart by one tag; no `untagged`"],
        );
    }

    #[test]
    fn flattened_struct_is_refused() {
        let schema = json!({ "type": "object", "properties": {}, "$ref": "#/$defs/Other" });
        check_kind(schema, expect!["`T`: no `flatten`: write the fields out"]);
    }

    #[test]
    fn value_of_two_types_is_refused() {
        let schema =
            json!({ "type": "object", "properties": { "a": { "type": ["string", "integer"] } } });
        check_kind(schema, expect!["`T.a`: may be of one type only, or `null`"]);
    }

    #[test]
    fn null_counts_only_where_the_field_is_required() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "type": ["string", "null"] }, "b": { "type": ["string", "null"] } },
            "required": ["a"],
        });
        let TypeKind::Struct { fields, .. } = kind("T", &schema).unwrap() else {
            panic!("a struct")
        };
        let seen: Vec<_> = fields.iter().map(|it| (it.required, it.nullable)).collect();
        assert_eq!(seen, [(true, true), (false, false)]);
    }

    #[test]
    fn every_type_that_is_mentioned_is_collected() {
        let contract = collect().unwrap();
        let mut named = Vec::new();
        for it in &contract.types {
            match &it.kind {
                TypeKind::Struct { fields, .. } => named.extend(fields.iter().map(|it| &it.shape)),
                TypeKind::Union { cases, .. } => {
                    assert!(
                        cases
                            .iter()
                            .all(|it| contract.find_type(&it.type_name).is_some())
                    );
                }
                TypeKind::Enum { values } => assert!(!values.is_empty(), "{}", it.name),
            }
        }
        let all = [
            &contract.requests,
            &contract.host_requests,
            &contract.notifications,
        ];
        for method in all.into_iter().flatten() {
            assert!(
                contract.find_type(&method.params).is_some(),
                "{}",
                method.params
            );
            named.push(&method.result);
        }
        for mut shape in named {
            while let Shape::List(item) | Shape::Map(item) = shape {
                shape = item;
            }
            if let Shape::Named(name) = shape {
                assert!(contract.find_type(name).is_some(), "{name}");
            }
        }
    }
}
