//! Guards: hooks that decide about a call before it is made, in the host the file was written for.
//!
//! Hooks are not run here. A guard is a restriction, so the agent loses the tools that it guards.

use super::{
    Code, Diagnostic,
    fields::Fields,
    node::{Kind, Member, Node, Scalar},
    restriction::ANY_MCP,
};
use crate::rights::{
    rule::{ToolRule, ToolRuleError, ToolRuleErrorKind},
    tool_name::{BuiltinTool, UnknownTool},
};

impl Fields {
    /// `hooks`.
    pub(super) fn take_hooks(&mut self, member: &Member) {
        self.definition.hooks = Some(member.value.to_json()).filter(|hooks| !hooks.is_null());
        match &member.value.kind {
            Kind::Map(events) => events.iter().for_each(|event| self.take_hook(event)),
            Kind::List(items) if items.is_empty() => {}
            Kind::Scalar(scalar) if scalar.text.trim().is_empty() || scalar.is_null() => {}
            // A file or a list of hooks: nobody knows whether a guard is among them.
            Kind::Scalar(_) | Kind::List(_) => self.not_understood(member),
        }
    }

    fn take_hook(&mut self, event: &Member) {
        let folded: String = event.key.chars().filter(char::is_ascii_alphanumeric).collect();
        let groups: Vec<&Node> = match &event.value.kind {
            Kind::List(groups) => groups.iter().collect(),
            Kind::Scalar(scalar) if scalar.is_null() => return,
            Kind::Scalar(_) | Kind::Map(_) => vec![&event.value],
        };
        for group in groups {
            let guarded = match folded.to_ascii_lowercase().as_str() {
                "pretooluse" | "beforetool" | "permissionrequest" => matched(group),
                "beforeshellexecution" => vec![BuiltinTool::Shell.as_str().to_owned()],
                "beforereadfile" => vec![BuiltinTool::ReadFile.as_str().to_owned()],
                "beforemcpexecution" => vec![ANY_MCP.to_owned()],
                _ => return,
            };
            if guarded.is_empty() {
                continue;
            }
            let message = format!(
                "hooks are not run, so nothing would check the calls that `{}` guards; the agent loses `{}`",
                event.key,
                guarded.join("`, `")
            );
            self.push(
                Diagnostic::warning(Code::RestrictionNotUnderstood, group.at, message)
                    .with_hint("remove the hook, and say in `tools` or `disallowedTools` what it checks: Bash(git *)"),
            );
            self.taken.extend(guarded);
        }
    }
}

/// The tools that one entry of `PreToolUse` is about. A matcher is a regular expression; one that is more than
/// names stands for every tool that writes, runs commands or belongs to an MCP server.
fn matched(group: &Node) -> Vec<String> {
    let everything = || {
        let tools = BuiltinTool::WRITERS.iter().chain(BuiltinTool::SHELL_FAMILY);
        let tools = tools.map(|tool| tool.as_str().to_owned());
        tools.chain([ANY_MCP.to_owned()]).collect()
    };
    let Kind::Map(members) = &group.kind else { return everything() };
    if members.iter().any(|member| member.key == "hooks" && decides_nothing(&member.value)) {
        return Vec::new();
    }
    let matcher = members.iter().find(|member| member.key.trim().eq_ignore_ascii_case("matcher"));
    let Some(matcher) = matcher.and_then(|member| member.value.scalar()) else {
        return everything();
    };
    let mut guarded = Vec::new();
    for word in matcher.text.split(['|', ',']) {
        let word = word.trim().trim_start_matches(['^', '(']).trim_end_matches(['$', ')']);
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        if word.starts_with("mcp__") && !word.chars().all(is_name) {
            guarded.push(ANY_MCP.to_owned());
            continue;
        }
        if word.is_empty() || !word.chars().all(is_name) {
            return everything();
        }
        match ToolRule::parse_denial(word) {
            Ok(_) => guarded.push(word.to_owned()),
            // A tool of its host alone.
            Err(ToolRuleError {
                kind: ToolRuleErrorKind::UnknownTool(UnknownTool::Foreign),
                ..
            }) => {}
            Err(_) => return everything(),
        }
    }
    guarded
}

/// Whether nobody waits for any of these hooks: they look on.
fn decides_nothing(hooks: &Node) -> bool {
    let Kind::List(hooks) = &hooks.kind else { return false };
    hooks.iter().all(|hook| {
        let Kind::Map(members) = &hook.kind else { return false };
        let is_async = |member: &&Member| member.key == "async";
        let scalar = members.iter().find(is_async).and_then(|member| member.value.scalar());
        scalar.and_then(Scalar::as_bool) == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn guarded(group: &Value) -> Vec<String> {
        matched(&Node::from_json(group))
    }

    #[test]
    fn a_matcher_of_names_guards_these_tools() {
        let hooks = json!([{"type": "command", "command": "./check.sh"}]);
        for (matcher, expected) in [
            ("Bash", &["Bash"][..]),
            ("Edit|Write", &["Edit", "Write"]),
            ("^Bash$", &["Bash"]),
            ("NotebookEdit|mcp__db__.*", &["mcp__*"]),
            ("mcp__db__query", &["mcp__db__query"]),
        ] {
            assert_eq!(guarded(&json!({"matcher": matcher, "hooks": hooks})), expected);
        }
    }

    #[test]
    fn any_other_matcher_guards_what_writes_and_runs() {
        for group in [
            json!({"hooks": [{"command": "x"}]}),
            json!({"matcher": "*", "hooks": [{"command": "x"}]}),
            json!({"matcher": "", "hooks": [{"command": "x"}]}),
            json!({"matcher": "(Ba|z)sh", "hooks": [{"command": "x"}]}),
            json!("check.sh"),
        ] {
            let guarded = guarded(&group);
            for tool in ["shell", "write_file", "apply_patch", "mcp__*"] {
                assert!(guarded.iter().any(|it| it == tool), "{tool}: {group}");
            }
        }
    }

    #[test]
    fn hooks_that_nobody_waits_for_guard_nothing() {
        let looks_on = json!({"matcher": ".*", "hooks": [{"command": "x", "async": true}]});
        assert!(guarded(&looks_on).is_empty());
        let both = json!({"matcher": "Bash", "hooks": [{"command": "x", "async": true}, {"command": "y"}]});
        assert_eq!(guarded(&both), ["Bash"]);
    }
}
