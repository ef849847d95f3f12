//! Rights as a transcript's header holds them: each tool with its rules as they were written. A rule that is
//! about other directories than the run's own names them.
//!
//! Reading fails closed. A rule that cannot be read back allows nothing, a denial that cannot be read
//! back takes the whole tool away, and so does everything else that is not understood.

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Map, Value};

use super::tool_set::{Constraint, ToolSet, is_never_filtered};
use crate::rights::{
    rule::{Effect, Prohibition, ToolRule},
    tool_name::ToolName,
};

const ONLY: &str = "only";
const NEVER: &str = "never";
const EXCEPT: &str = "except";
const RULE: &str = "rule";
const IN: &str = "in";

impl Serialize for ToolSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.grants.len()))?;
        for (tool, constraints) in &self.grants {
            let constraints: Vec<_> = constraints.iter().map(written).collect();
            map.serialize_entry(&tool.to_string(), &constraints)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value::Object(tools) = Value::deserialize(deserializer)? else {
            return Ok(Self::default());
        };
        let grants = tools.iter().filter_map(|(name, constraints)| {
            let Ok(tool) = name.parse::<ToolName>();
            let constraints = constraints.as_array()?;
            let read = constraints.iter().map(|constraint| read(constraint, &tool));
            let constraints = read.collect::<Option<Vec<_>>>()?;
            // A name that means another tool now grants neither.
            let is_same = tool.to_string() == *name && !is_never_filtered(&tool);
            is_same.then_some((tool, constraints))
        });
        Ok(Self { grants: grants.collect() })
    }
}

fn written(constraint: &Constraint) -> Value {
    let list = |rules: &[ToolRule]| rules.iter().map(written_rule).collect::<Value>();
    let mut fields = Map::new();
    match constraint {
        Constraint::Only(rules) => {
            fields.insert(ONLY.to_owned(), list(rules));
        }
        Constraint::Never(denial) => {
            fields.insert(NEVER.to_owned(), written_rule(denial.rule()));
            if !denial.exceptions().is_empty() {
                fields.insert(EXCEPT.to_owned(), list(denial.exceptions()));
            }
        }
    }
    Value::Object(fields)
}

fn written_rule(rule: &ToolRule) -> Value {
    let anchors = rule.foreign_anchors();
    if anchors.is_empty() {
        return Value::String(rule.to_string());
    }
    let fields = [(RULE, Value::String(rule.to_string())), (IN, Value::from(anchors))];
    Value::Object(fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
}

/// A rule with the directories it is about; none if it cannot be read back.
fn read_rule(
    value: &Value,
    effect: Effect,
    parse: impl Fn(&str) -> Option<ToolRule>,
) -> Option<ToolRule> {
    let fields = match value {
        Value::String(rule) => return parse(rule),
        Value::Object(fields) if fields.len() == 2 => fields,
        _ => return None,
    };
    let anchors = fields.get(IN)?.as_array()?.iter();
    let anchors = anchors.map(Value::as_str).collect::<Option<Vec<_>>>()?;
    Some(parse(fields.get(RULE)?.as_str()?)?.anchored(&anchors, effect))
}

/// The restriction; none if it cannot be told what is restricted.
fn read(constraint: &Value, tool: &ToolName) -> Option<Constraint> {
    let constraint = constraint.as_object()?;
    let known = if constraint.contains_key(NEVER) { &[NEVER, EXCEPT][..] } else { &[ONLY][..] };
    if constraint.is_empty() || !constraint.keys().all(|key| known.contains(&key.as_str())) {
        return None;
    }
    if let Some(rules) = constraint.get(ONLY) {
        let parse = |rule: &str| ToolRule::parse(rule).ok();
        let rules = rules.as_array()?.iter();
        let rules = rules.filter_map(|rule| read_rule(rule, Effect::Allows, parse));
        return Some(Constraint::Only(rules.filter(|rule| rule.tools().covers(tool)).collect()));
    }
    let parse = |rule: &str| ToolRule::parse_denial(rule).ok();
    let rule = read_rule(constraint.get(NEVER)?, Effect::Restricts, parse)?;
    if !rule.restrains(tool) {
        return None;
    }
    // An exception that cannot be read back excepts nothing.
    let mut denial = Prohibition::from(rule);
    let exceptions = constraint.get(EXCEPT).and_then(Value::as_array).into_iter().flatten();
    for exception in exceptions.filter_map(|rule| read_rule(rule, Effect::Allows, parse)) {
        denial.except(exception);
    }
    Some(Constraint::Never(denial))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rights::tool_name::BuiltinTool;

    fn rights(written: Value) -> ToolSet {
        serde_json::from_value(written).unwrap()
    }

    #[test]
    fn what_cannot_be_read_back_is_not_granted() {
        let read: ToolName = BuiltinTool::ReadFile.into();
        for written in [
            json!(null),
            json!("all"),
            json!([]),
            json!({"Read": []}),
            json!({"read_file": null}),
            json!({"read_file": "all"}),
            json!({"read_file": [{}]}),
            json!({"read_file": [{"only": "Read(src/**)"}]}),
            json!({"read_file": [{"never": ["Read(.env)"]}]}),
            json!({"read_file": [{"never": "Read(.env"}]}),
            json!({"read_file": [{"never": "Bash(git *)"}]}),
            json!({"read_file": [{"only": ["Read"], "unless": "Sunday"}]}),
            json!({"read_file": [{"unless": "Sunday"}]}),
            json!({"read_file": [{"only": ["Read"], "except": ["Read"]}]}),
            json!({"read_file": [{"except": ["Read"]}]}),
            json!({"complete_task": []}),
        ] {
            assert_eq!(rights(written.clone()), ToolSet::default(), "{written}");
        }
        for written in [json!(["Read(src/**"]), json!([]), json!([7]), json!(["Bash"])] {
            let rights = rights(json!({"read_file": [{"only": written}]}));
            let passed = rights.check(&read, &json!({"path": "src/a.rs"}));
            assert!(passed.is_err(), "{written}");
        }
    }

    #[test]
    fn rules_are_kept_as_they_were_written() {
        let written = json!({
            "grep_files": [{"never": "Read(.env)"}],
            "read_file": [{"only": ["Read(src/**)", "Read(docs/*.md)"]}, {"never": "Read(.env)"}],
            "shell": [{"never": "Bash", "except": ["Bash(git status)"]}],
            "mcp__docs__find": [],
            "deploy": [],
        });
        let rights = rights(written.clone());
        assert_eq!(serde_json::to_value(&rights).unwrap(), written);
        let read: ToolName = BuiltinTool::ReadFile.into();
        assert!(rights.check(&read, &json!({"path": "src/a.rs"})).is_ok());
        assert!(rights.check(&read, &json!({"path": "b.rs"})).is_err());
        let shell: ToolName = BuiltinTool::Shell.into();
        assert!(rights.check(&shell, &json!({"command": "git status"})).is_ok());
        assert!(rights.check(&shell, &json!({"command": "git push"})).is_err());
    }
}
