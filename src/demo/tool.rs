//! What a tool of a built-in server is: a type for its arguments, which is its schema as well, and a function.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A tool over the state of its server.
pub struct Tool<State> {
    pub name: &'static str,
    title: &'static str,
    description: String,
    input_schema: Value,
    effect: Effect,
    run: Run<State>,
}

type Run<State> = Box<dyn Fn(&mut State, Value) -> Result<Answer, String>>;

/// What a tool does to its server's state; becomes MCP's hints.
#[derive(Clone, Copy)]
pub enum Effect {
    Reads,
    Adds,
    /// Overwrites or removes; doing it twice changes no more than doing it once.
    Replaces,
}

/// What a tool says: a text, and the same as a value where programs may want it.
#[derive(Debug)]
pub struct Answer {
    pub text: String,
    pub structured: Option<Value>,
}

impl<State: 'static> Tool<State> {
    /// The documentation of `Arguments` becomes the description, that of its fields goes into the schema.
    pub fn new<Arguments: DeserializeOwned + JsonSchema + 'static>(
        name: &'static str,
        title: &'static str,
        effect: Effect,
        run: fn(&mut State, Arguments) -> Result<Answer, String>,
    ) -> Tool<State> {
        let (description, input_schema) = description_and_schema::<Arguments>();
        Tool {
            name,
            title,
            description,
            input_schema,
            effect,
            run: Box::new(move |state, arguments| {
                let arguments = serde_json::from_value(arguments)
                    .map_err(|error| format!("invalid arguments for `{name}`: {error}"))?;
                run(state, arguments)
            }),
        }
    }

    /// The tool as `tools/list` shows it.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": self.effect.hints(),
        })
    }

    pub fn call(&self, state: &mut State, arguments: Value) -> Result<Answer, String> {
        (self.run)(state, arguments)
    }
}

impl Effect {
    fn hints(self) -> Value {
        match self {
            Effect::Reads => json!({"readOnlyHint": true, "openWorldHint": false}),
            Effect::Adds => {
                json!({"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false})
            }
            Effect::Replaces => {
                json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false})
            }
        }
    }
}

impl Answer {
    pub fn text(text: impl Into<String>) -> Answer {
        Answer {
            text: text.into(),
            structured: None,
        }
    }

    /// A value, and its JSON for clients that read text only.
    pub fn structured(value: Value) -> Answer {
        Answer {
            text: value.to_string(),
            structured: Some(value),
        }
    }
}

fn description_and_schema<Arguments: JsonSchema>() -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Arguments>();
    let mut schema = schema.to_value();
    unwrap_lines(&mut schema);
    let mut description = String::new();
    if let Some(members) = schema.as_object_mut() {
        members.remove("title");
        if let Some(Value::String(text)) = members.remove("description") {
            description = text;
        }
        members
            .entry("properties")
            .or_insert_with(|| Map::new().into());
    }
    (description, schema)
}

/// Source lines are wrapped for people; a description is one line.
fn unwrap_lines(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if name == "description" => *text = text.replace('\n', " "),
                    _ => unwrap_lines(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_lines),
        _ => {}
    }
}

/// A call as its client sees it: the text, after `error: ` where the tool says no.
#[cfg(test)]
pub fn call<State: 'static>(
    server: &mut crate::demo::server::Server<State>,
    name: &str,
    arguments: Value,
) -> String {
    let tool = server.tools.iter().find(|tool| tool.name == name).unwrap();
    match tool.call(&mut server.state, arguments) {
        Ok(answer) => answer.text,
        Err(message) => format!("error: {message}"),
    }
}
