//! The contract of an agent: its typed inputs, its structured output, its example messages.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Fields;
use crate::{
    agent::definition::{
        Code, Diagnostic, InitialMessage, InitialRole, InputConfig, InputDefinition, InputType,
        OutputConfig,
        keys::Key,
        node::{Kind, Member, Node, to_object},
    },
    run::check_schema,
};

impl Fields {
    pub(super) fn take_initial_messages(&mut self, member: &Member) {
        let Kind::List(items) = &member.value.kind else {
            if !member.value.is_null() {
                self.bad_type(member, "a list of messages");
            }
            return;
        };
        for item in items {
            let message = message_of(item);
            if message.is_none() {
                self.push(
                    Diagnostic::error(
                        Code::BadType,
                        item.at,
                        "a message needs `role` and `content`",
                    )
                    .with_hint("write {role: user, content: \"…\"}; the role is user or assistant"),
                );
            }
            self.definition.prompt_config.initial_messages.extend(message);
        }
    }

    pub(super) fn take_inputs(&mut self, member: &Member) {
        self.places.inputs = Some(member.key_at);
        let Kind::Map(members) = &member.value.kind else {
            if !member.value.is_null() {
                self.bad_type(member, "a mapping of inputs");
            }
            return;
        };
        let inner =
            members.iter().find(|inner| inner.key == "inputs").map(|inner| &inner.value.kind);
        let members = match inner {
            Some(Kind::Map(inputs)) => inputs,
            _ => members,
        };
        let mut inputs = BTreeMap::new();
        for input in members {
            if let Some(definition) = self.input(input) {
                inputs.insert(input.key.clone(), definition);
            }
        }
        self.definition.input_config = Some(InputConfig { inputs });
    }

    pub(super) fn input(&mut self, member: &Member) -> Option<InputDefinition> {
        let Kind::Map(members) = &member.value.kind else {
            self.bad_type(member, "a mapping with `type`, `description` and `required`");
            return None;
        };
        let mut definition = InputDefinition {
            description: String::new(),
            input_type: InputType::String,
            required: false,
        };
        for inner in members {
            match inner.key.as_str() {
                "type" => {
                    let word = self.text(inner).unwrap_or_default();
                    let known = InputType::ALL.iter().find(|(name, _)| *name == word);
                    match known {
                        Some((_, input_type)) => definition.input_type = *input_type,
                        None => self.bad_value(inner, &InputType::ALL.map(|(name, _)| name)),
                    }
                }
                "description" => definition.description = self.text(inner).unwrap_or_default(),
                "required" => definition.required = self.flag(inner),
                _ => self.push(Diagnostic::note(
                    Code::UnknownKey,
                    inner.key_at,
                    format!("`{}` is not a known key of an input", inner.key),
                )),
            }
        }
        Some(definition)
    }

    pub(super) fn take_output(&mut self, key: Key, member: &Member) {
        if key == Key::OutputSchema {
            if member.value.is_null() {
                return;
            }
            let schema = self.schema(member);
            self.definition.output_config = Some(OutputConfig {
                output_name: "output".to_owned(),
                description: String::new(),
                schema,
            });
            return;
        }
        let Kind::Map(members) = &member.value.kind else {
            if !member.value.is_null() {
                self.bad_type(member, "a mapping with `outputName` and `schema`");
            }
            return;
        };
        let mut output = OutputConfig {
            output_name: "output".to_owned(),
            description: String::new(),
            schema: Value::Null,
        };
        for inner in members {
            match inner.key.as_str() {
                "outputName" | "output_name" => {
                    if let Some(name) = self.text(inner) {
                        output.output_name = name;
                    }
                }
                "description" => output.description = self.text(inner).unwrap_or_default(),
                "schema" => output.schema = self.schema(inner),
                _ => self.push(Diagnostic::note(
                    Code::UnknownKey,
                    inner.key_at,
                    format!("`{}` is not a known key of the output", inner.key),
                )),
            }
        }
        if output.schema.is_null() {
            self.push(
                Diagnostic::error(
                    Code::BadType,
                    member.key_at,
                    "`outputConfig` needs a JSON Schema in `schema`",
                )
                .with_hint("write schema: {type: object, properties: {…}, required: […]}"),
            );
        }
        self.definition.output_config = Some(output);
    }

    /// A JSON Schema; problems are reported at their place.
    fn schema(&mut self, member: &Member) -> Value {
        let schema = member.value.to_json();
        if schema.is_null() {
            return schema;
        }
        if !schema.is_object() {
            self.bad_type(member, "a JSON Schema");
            return schema;
        }
        if let Err(error) = check_schema(&schema) {
            let at = member.value.place_of(&error.path);
            let message = format!("`{}` is not a valid JSON Schema: {error}", member.key);
            let hint = if error.path.ends_with("/type") {
                "types are array, boolean, integer, null, number, object and string"
            } else {
                "write a schema such as {type: object, properties: {…}, required: […]}"
            };
            self.push(Diagnostic::error(Code::InvalidSchema, at, message).with_hint(hint));
        }
        schema
    }
}

fn message_of(node: &Node) -> Option<InitialMessage> {
    let Kind::Map(members) = &node.kind else {
        return None;
    };
    let object: Map<String, Value> = to_object(members);
    let role = match object.get("role")?.as_str()? {
        "user" => InitialRole::User,
        "assistant" | "model" => InitialRole::Assistant,
        _ => return None,
    };
    let content = object.get("content").or_else(|| object.get("text"))?.as_str()?.to_owned();
    Some(InitialMessage { role, content })
}
