//! Whatever a rule and a command hold, matching ends; what a rule denies for sure it never allows.
#![no_main]

use attache_kernel::rights::{
    command,
    rule::{Call, ToolRule, uncovered},
    tool_name::{BuiltinTool, ToolName},
};
use libfuzzer_sys::fuzz_target;
use serde_json::json;

fuzz_target!(|input: (&str, &str)| {
    let (pattern, command) = input;
    let _ = command::parse(command);
    let Ok(rule) = ToolRule::parse(&format!("Bash({pattern})")) else { return };
    let tool = ToolName::Builtin(BuiltinTool::Shell);
    let arguments = json!({ "command": command });
    let call = Call::new(&tool, &arguments);
    if uncovered(std::slice::from_ref(&rule), &call).is_none() {
        assert!(
            rule.denies(&call),
            "allowed, and yet not seen when denying: {pattern:?} {command:?}"
        );
    }
});
