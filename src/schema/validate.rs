//! Whether a model's arguments fit a tool, and what it should do where they don't.
//!
//! A schema that cannot be compiled, or is too large to be worth it, lets everything pass: its server will judge.
//! Nothing is fetched, whatever a `$ref` says.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Map, Value};

use crate::schema::coerce::coerce;
use crate::schema::normalise::normalise;
use crate::schema::rename::Renames;
use crate::text::{fold, shorten};

/// Larger schemas are not compiled, in bytes; the largest of 6,474 real ones has 50,000.
const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// How many errors are looked at for the best one.
const MAX_ERRORS: usize = 50;

/// The longest explanation, in characters.
const MAX_MESSAGE: usize = 600;

/// The check of one tool's arguments.
#[derive(Debug)]
pub struct Checker {
    /// Made whole; what the arguments are read by.
    schema: Value,
    renames: Renames,
    /// `None` where the schema cannot be compiled.
    validator: Option<Validator>,
}

/// Why arguments do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// A fragment, such as `` `arguments.limit` must be integer, not string ``.
    pub message: String,
    /// Place in the arguments, such as `arguments.a.b[0]`.
    pub path: String,
    /// The keyword of the schema that is not met.
    pub constraint: String,
    pub hint: Option<String>,
}

impl Checker {
    /// Compiles the check of a tool's schema, as the server sent it.
    pub fn new(sent: &Value) -> Checker {
        let schema = normalise(sent).schema;
        let validator = compile(&schema);
        Checker {
            renames: Renames::of(&schema),
            schema,
            validator,
        }
    }

    /// Whether arguments are checked against the whole schema; else only coerced.
    pub fn is_compiled(&self) -> bool {
        self.validator.is_some()
    }

    /// The arguments as they are to be sent, or the one thing that is most worth telling about them.
    pub fn check(
        &self,
        arguments: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ArgumentProblem> {
        let mut arguments = arguments.clone();
        self.renames.restore(&mut arguments);
        if let Some(problem) = self.missing(&arguments) {
            return Err(problem);
        }
        coerce(&mut arguments, &self.schema);
        let Some(validator) = &self.validator else {
            return Ok(arguments);
        };
        let value = Value::Object(arguments);
        if !validator.is_valid(&value) {
            let errors: Vec<_> = validator.iter_errors(&value).take(MAX_ERRORS).collect();
            if errors.iter().all(|error| !is_engine_fault(error))
                && let Some(best) = best(&errors)
            {
                return Err(self.explain(best, &value));
            }
        }
        match value {
            Value::Object(arguments) => Ok(arguments),
            _ => Ok(Map::new()),
        }
    }

    /// A parameter that is required and not there; asked before anything else, as a model that guesses hits it most.
    fn missing(&self, arguments: &Map<String, Value>) -> Option<ArgumentProblem> {
        let missing: Vec<&str> = crate::schema::required(&self.schema)
            .filter(|name| !arguments.contains_key(*name))
            .collect();
        if missing.is_empty() {
            return None;
        }
        let properties = crate::schema::properties(&self.schema);
        let strangers = arguments
            .keys()
            .map(String::as_str)
            .filter(|key| !properties.is_some_and(|properties| properties.contains_key(*key)));
        let is_one = missing.len() == 1;
        Some(ArgumentProblem {
            message: shorten(
                &format!(
                    "required {} {} {} missing",
                    if is_one { "parameter" } else { "parameters" },
                    quoted(&missing),
                    if is_one { "is" } else { "are" },
                ),
                MAX_MESSAGE,
            )
            .into_owned(),
            path: "arguments".to_owned(),
            constraint: "required".to_owned(),
            hint: nearest(missing[0], strangers)
                .map(|given| format!("`{given}` is not a parameter; is `{}` meant?", missing[0])),
        })
    }

    fn explain(&self, error: &ValidationError, value: &Value) -> ArgumentProblem {
        let path = place(&error.instance_path().to_string(), value);
        let constraint = error.kind().keyword().to_owned();
        let (message, hint) = match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                (format!("`{path}` lacks the required `{name}`"), None)
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let names: Vec<&str> = unexpected.iter().map(String::as_str).collect();
                let hint = self.known_names(error, &names);
                (format!("`{path}` takes no {}", quoted(&names)), hint)
            }
            ValidationErrorKind::Type { kind } => {
                let wanted = match kind {
                    TypeKind::Single(one) => one.to_string(),
                    TypeKind::Multiple(several) => {
                        let names: Vec<String> =
                            several.iter().map(|one| one.to_string()).collect();
                        names.join(" or ")
                    }
                };
                (
                    format!(
                        "`{path}` must be {wanted}, not {}",
                        kind_of(error.instance())
                    ),
                    None,
                )
            }
            ValidationErrorKind::Enum { options } => (
                format!(
                    "`{path}` must be one of {}",
                    shorten(&options.to_string(), 300)
                ),
                None,
            ),
            ValidationErrorKind::Constant { expected_value } => (
                format!(
                    "`{path}` must be {}",
                    shorten(&expected_value.to_string(), 300)
                ),
                None,
            ),
            ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => (
                format!("`{path}` fits none of the forms that it may have"),
                Some("see the schema in `parameters`".to_owned()),
            ),
            ValidationErrorKind::OneOfMultipleValid { .. } => (
                format!("`{path}` fits more than one of the forms of which it may have one"),
                None,
            ),
            _ => (
                format!("`{path}`: {}", error.masked_with("the value")),
                None,
            ),
        };
        ArgumentProblem {
            message: shorten(&message, MAX_MESSAGE).into_owned(),
            path,
            constraint,
            hint,
        }
    }

    /// The parameters that there are, at the root, for names that there are not.
    fn known_names(&self, error: &ValidationError, unexpected: &[&str]) -> Option<String> {
        if !error.instance_path().is_empty() {
            return None;
        }
        let known: Vec<&str> = crate::schema::properties(&self.schema)?
            .keys()
            .map(String::as_str)
            .collect();
        if let Some(near) = nearest(unexpected[0], known.iter().copied()) {
            return Some(format!("is `{near}` meant instead of `{}`?", unexpected[0]));
        }
        Some(match known.as_slice() {
            [] => "the tool has no parameters".to_owned(),
            known => format!(
                "the parameters are {}",
                quoted(&known[..known.len().min(30)])
            ),
        })
    }
}

fn compile(schema: &Value) -> Option<Validator> {
    if crate::tokens::characters(&schema.to_string()) > MAX_SCHEMA_BYTES {
        return None;
    }
    let build = |schema: &Value| {
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(false)
            .build(schema)
            .ok()
    };
    build(schema).or_else(|| build(&without_patterns(schema.clone(), 0)))
}

/// The one keyword whose values come in dialects: a regular expression that we cannot compile costs itself, not the tool's check.
fn without_patterns(mut schema: Value, depth: usize) -> Value {
    if let Value::Object(members) = &mut schema
        && depth <= crate::schema::MAX_DEPTH
    {
        members.shift_remove("pattern");
        if members.shift_remove("patternProperties").is_some() {
            // What these would have allowed must not be refused as unknown.
            members.shift_remove("additionalProperties");
            members.shift_remove("unevaluatedProperties");
        }
        crate::schema::each_subschema_mut(members, &mut |value| {
            *value = without_patterns(value.take(), depth + 1);
        });
    }
    schema
}

/// A fault of the check rather than of the arguments.
fn is_engine_fault(error: &ValidationError) -> bool {
    matches!(
        error.kind(),
        ValidationErrorKind::BacktrackLimitExceeded { .. }
            | ValidationErrorKind::RegexEngineFailure { .. }
            | ValidationErrorKind::Referencing(_)
    )
}

/// The error nearest to the root that says most; out of the branches of a union, the one whose type was meant.
fn best<'a, 'i>(errors: &'a [ValidationError<'i>]) -> Option<&'a ValidationError<'i>> {
    let best = errors.iter().min_by_key(|error| {
        (
            depth(error),
            branches(error).is_some(),
            matches!(error.kind(), ValidationErrorKind::FalseSchema),
        )
    })?;
    let Some(branches) = branches(best) else {
        return Some(best);
    };
    let mut meant = branches.iter().filter(|errors| {
        !errors.iter().any(|error| {
            let rules_out = matches!(
                error.kind(),
                ValidationErrorKind::Type { .. } | ValidationErrorKind::Constant { .. }
            );
            rules_out && depth(error) <= depth(best)
        })
    });
    match (meant.next(), meant.next()) {
        (Some(errors), None) => self::best(errors).or(Some(best)),
        _ => Some(best),
    }
}

fn branches<'a>(error: &'a ValidationError) -> Option<&'a [Vec<ValidationError<'static>>]> {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            Some(context)
        }
        _ => None,
    }
}

fn depth(error: &ValidationError) -> usize {
    error.instance_path().segments().count()
}

/// A JSON pointer as a model writes it: `arguments.a.b[0]`.
fn place(pointer: &str, value: &Value) -> String {
    let mut path = "arguments".to_owned();
    let mut at = Some(value);
    for step in pointer.split('/').skip(1) {
        let key = step.replace("~1", "/").replace("~0", "~");
        match at {
            Some(Value::Array(list)) => {
                path.push_str(&format!("[{key}]"));
                at = key.parse::<usize>().ok().and_then(|index| list.get(index));
            }
            _ => {
                path.push_str(&format!(".{key}"));
                at = at.and_then(|value| value.get(&key));
            }
        }
    }
    path
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn quoted(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The name that is most like another; `None` where none is like it.
fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.75;
    let folded = fold(name);
    among
        .map(|other| {
            let other_folded = fold(other);
            let contains = other_folded.contains(&folded) || folded.contains(&other_folded);
            let bonus = if contains && other_folded.len() > 2 {
                0.2
            } else {
                0.0
            };
            (other, strsim::jaro_winkler(&folded, &other_folded) + bonus)
        })
        .filter(|(_, likeness)| *likeness >= ALIKE)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(other, _)| other)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn run(schema: &Value, arguments: Value) -> Result<Value, ArgumentProblem> {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object");
        };
        Checker::new(schema).check(&arguments).map(Value::Object)
    }

    fn check_refused(schema: Value, arguments: Value, expected: Expect) {
        let problem = run(&schema, arguments).expect_err("is refused");
        let hint = problem
            .hint
            .map(|hint| format!("\nhint: {hint}"))
            .unwrap_or_default();
        expected.assert_eq(&format!(
            "{} ({}): {}{hint}",
            problem.path, problem.constraint, problem.message
        ));
    }

    fn check_passes(schema: Value, arguments: Value) {
        assert_eq!(run(&schema, arguments.clone()), Ok(arguments));
    }

    fn issue() -> Value {
        json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 2},
                "state": {"type": "string", "enum": ["open", "closed"]},
                "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
                "limit": {"type": "integer", "maximum": 100},
                "value": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"type": "null"}]},
            },
            "required": ["title"],
            "additionalProperties": false,
        })
    }

    #[test]
    fn tells_which_parameter_is_missing() {
        check_refused(
            issue(),
            json!({"titel": "x"}),
            expect![[r#"
                arguments (required): required parameter `title` is missing
                hint: `titel` is not a parameter; is `title` meant?"#]],
        );
        check_refused(
            json!({"required": ["a", "b"]}),
            json!({}),
            expect!["arguments (required): required parameters `a`, `b` are missing"],
        );
    }

    #[test]
    fn tells_the_place_and_what_is_wanted_there() {
        check_refused(
            issue(),
            json!({"title": "xy", "labels": [{"name": "bug"}, {"nam": "x"}]}),
            expect![
                "arguments.labels[1] (required): `arguments.labels[1]` lacks the required `name`"
            ],
        );
        check_refused(
            issue(),
            json!({"title": "xy", "limit": "many"}),
            expect!["arguments.limit (type): `arguments.limit` must be integer, not string"],
        );
        check_refused(
            issue(),
            json!({"title": "xy", "limit": 101}),
            expect![
                "arguments.limit (maximum): `arguments.limit`: the value is greater than the maximum of 100"
            ],
        );
        check_refused(
            issue(),
            json!({"title": "xy", "state": "shut"}),
            expect![[
                r#"arguments.state (enum): `arguments.state` must be one of ["open","closed"]"#
            ]],
        );
    }

    #[test]
    fn tells_of_parameters_that_there_are_not() {
        check_refused(
            issue(),
            json!({"title": "xy", "label": "x"}),
            expect![[r#"
                arguments (additionalProperties): `arguments` takes no `label`
                hint: is `labels` meant instead of `label`?"#]],
        );
        check_refused(
            json!({"properties": {}, "additionalProperties": false}),
            json!({"random_string": ""}),
            expect![[r#"
                arguments (additionalProperties): `arguments` takes no `random_string`
                hint: the tool has no parameters"#]],
        );
    }

    #[test]
    fn explains_the_branch_that_was_meant() {
        check_refused(
            issue(),
            json!({"title": "xy", "value": {"y": 1}}),
            expect!["arguments.value (required): `arguments.value` lacks the required `x`"],
        );
        check_refused(
            issue(),
            json!({"title": "xy", "value": [true]}),
            expect![[r#"
                arguments.value (anyOf): `arguments.value` fits none of the forms that it may have
                hint: see the schema in `parameters`"#]],
        );
    }

    #[test]
    fn every_branch_of_a_union_arrives_unchanged() {
        for value in [json!(1), json!({"x": 1}), json!(null)] {
            check_passes(issue(), json!({"title": "xy", "value": value}));
        }
    }

    #[test]
    fn a_secret_is_not_repeated_in_the_message() {
        let problem = run(
            &json!({"properties": {"token": {"type": "string", "maxLength": 3}}}),
            json!({"token": "hunter2"}),
        );
        assert!(!format!("{problem:?}").contains("hunter2"));
    }

    #[test]
    fn what_cannot_be_checked_passes() {
        check_passes(
            json!({"properties": {"a": {"pattern": "("}}}),
            json!({"a": "x"}),
        );
        check_passes(
            json!({"properties": {"a": {"$ref": "http://127.0.0.1:9/s.json"}, "b": {"$ref": "#/$defs/No"}}}),
            json!({"a": 1, "b": "x"}),
        );
        check_passes(
            json!({"properties": {"a": {"type": "any"}, "b": {"type": "uuid"}}}),
            json!({"a": [1], "b": 2}),
        );
        check_passes(
            json!({"properties": {"a": {"type": "string", "format": "uri"}}}),
            json!({"a": "no uri"}),
        );
        check_passes(json!({"$ref": "#"}), json!({"a": 1}));
        check_passes(json!("no schema"), json!({"a": 1}));
        check_passes(
            json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"allOf": [{"$ref": "#/$defs/B"}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}}}),
            json!({"a": 1}),
        );
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_costs_only_itself() {
        check_refused(
            json!({"properties": {"a": {"type": "string", "pattern": "("}, "n": {"type": "integer"}}}),
            json!({"a": "x", "n": "y"}),
            expect!["arguments.n (type): `arguments.n` must be integer, not string"],
        );
        check_passes(
            json!({"properties": {}, "patternProperties": {"(": {}}, "additionalProperties": false}),
            json!({"x": 1}),
        );
    }

    #[test]
    fn patterns_that_look_around_are_understood() {
        let schema = json!({"properties": {"a": {"pattern": "^(?!x).+$"}}});
        check_passes(schema.clone(), json!({"a": "ok"}));
        check_refused(
            schema,
            json!({"a": "xa"}),
            expect![[
                r#"arguments.a (pattern): `arguments.a`: the value does not match "^(?!x).+$""#
            ]],
        );
    }

    #[test]
    fn a_hostile_pattern_ends() {
        let hostile = format!("{}!", "a".repeat(60));
        let _ = run(
            &json!({"properties": {"a": {"pattern": "^(?=(a+)+$)(a+)+$"}}}),
            json!({"a": hostile}),
        );
        let _ = run(
            &json!({"properties": {"a": {"pattern": "(a{900}){900}{900}"}}}),
            json!({"a": "a"}),
        );
    }

    #[test]
    fn names_that_were_shown_differently_find_back() {
        let schema = json!({"properties": {"$filter": {"type": "string"}}, "required": ["$filter"], "additionalProperties": false});
        assert_eq!(
            run(&schema, json!({"_filter": "x"})),
            Ok(json!({"$filter": "x"}))
        );
        assert_eq!(
            run(&schema, json!({"$filter": "x"})),
            Ok(json!({"$filter": "x"}))
        );
    }

    #[test]
    fn recursive_schemas_are_checked_to_the_bottom() {
        let schema = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}}});
        check_passes(schema.clone(), json!({"root": {"children": [{}]}}));
        check_refused(
            schema,
            json!({"root": {"children": [{"children": [{"children": [7]}]}]}}),
            expect![
                "arguments.root.children[0].children[0].children[0] (type): `arguments.root.children[0].children[0].children[0]` must be object, not number"
            ],
        );
    }
}
