//! Slips: unknown keys that look like a known one, and the key that was most likely meant.
//!
//! An agent whose file tries to restrict it, in words that are not understood, must not end up with more than its author
//! intended. A key counts as a slip if it is a few letters away from a restriction, or if another host restricts agents by it.

use super::{
    keys::fold,
    lists::split_commas,
    node::{Member, Scalar},
};
use crate::rights::{rule::ToolRule, tool_name::ToolPattern};

/// The restrictions that are read, folded, and how each is written.
const RESTRICTIONS: [(&str, &str); 13] = [
    ("tools", "tools"),
    ("allowedtools", "tools"),
    ("disallowedtools", "disallowedTools"),
    ("deniedtools", "disallowedTools"),
    ("excludetools", "disallowedTools"),
    ("excludedtools", "disallowedTools"),
    ("disabledfeatures", "disabledFeatures"),
    ("readonly", "readonly"),
    ("sandboxmode", "sandbox_mode"),
    ("permission", "permission"),
    ("permissions", "permission"),
    ("permissionmode", "permissionMode"),
    ("approvalmode", "approvalMode"),
];

/// Words of other hosts, folded, and the key that says the same here.
const FOREIGN: [(&[&str], &str); 4] = [
    (&["sandbox", "sandboxed", "sandboxing", "sandboxpolicy", "sandboxtype"], "sandbox_mode"),
    (
        &[
            "deny",
            "denied",
            "denylist",
            "denyrules",
            "deniedcommands",
            "denycommands",
            "disallow",
            "disallowed",
            "disallowedcommands",
            "forbid",
            "forbidden",
            "forbiddencommands",
            "blocked",
            "blockedcommands",
            "blocklist",
            "blacklist",
            "banned",
            "restrict",
            "restricted",
            "restriction",
            "restrictions",
        ],
        "disallowedTools",
    ),
    (
        &[
            "allow",
            "allowed",
            "allowlist",
            "allowonly",
            "allowedcommands",
            "allowcommands",
            "whitelist",
            "toolset",
            "toolsets",
        ],
        "tools",
    ),
    (
        &[
            "accessmode",
            "fileaccess",
            "network",
            "networkaccess",
            "networkmode",
            "internet",
            "internetaccess",
            "webaccess",
        ],
        "permission",
    ),
];

/// The other keys, folded, and how each is written.
const OTHERS: [(&str, &str); 35] = [
    ("name", "name"),
    ("agenttype", "agentType"),
    ("displayname", "displayName"),
    ("description", "description"),
    ("whentouse", "whenToUse"),
    ("keywords", "keywords"),
    ("color", "color"),
    ("model", "model"),
    ("modelconfig", "modelConfig"),
    ("provider", "provider"),
    ("endpoint", "endpoint"),
    ("temperature", "temperature"),
    ("topp", "topP"),
    ("thinkingbudget", "thinkingBudget"),
    ("effort", "effort"),
    ("parameters", "parameters"),
    ("forkcontext", "forkContext"),
    ("basedir", "baseDir"),
    ("promptconfig", "promptConfig"),
    ("systemprompt", "systemPrompt"),
    ("initialmessages", "initialMessages"),
    ("runconfig", "runConfig"),
    ("maxturns", "maxTurns"),
    ("maxtimeseconds", "maxTimeSeconds"),
    ("timeoutseconds", "maxTimeSeconds"),
    ("timeoutmins", "timeout_mins"),
    ("graceperiodseconds", "gracePeriodSeconds"),
    ("maxtokens", "maxTokens"),
    ("maxcostusd", "maxCostUsd"),
    ("inputconfig", "inputConfig"),
    ("outputconfig", "outputConfig"),
    ("executionmode", "executionMode"),
    ("background", "background"),
    ("isolation", "isolation"),
    ("mcpservers", "mcpServers"),
];

/// Other words for a limit, folded, and the key that says the same here.
const LIMITS: [(&[&str], &str); 4] = [
    (
        &[
            "timeout",
            "timeoutms",
            "timeoutsec",
            "timeoutsecs",
            "timelimit",
            "timelimitseconds",
            "maxtime",
            "maxduration",
        ],
        "maxTimeSeconds",
    ),
    (&["maxiterations", "iterationlimit", "turnlimit", "turns"], "maxTurns"),
    (&["tokenlimit", "tokenbudget", "budgettokens", "maxtotaltokens"], "maxTokens"),
    (&["maxcost", "maxbudget", "costlimit", "budget", "budgetusd", "maxusd"], "maxCostUsd"),
];

/// What a word about tools says of them, and the key that says the same here.
const ABOUT_TOOLS: [(&[&str], &str); 2] = [
    (
        &[
            "deny", "denied", "disallow", "disable", "exclude", "block", "forbid", "restrict",
            "banned",
        ],
        "disallowedTools",
    ),
    (&["allow", "permitted", "enabled", "only"], "tools"),
];

/// The restriction that an unknown key was most likely meant for; none if the key means something else.
pub(crate) fn meant_restriction(written: &str) -> Option<&'static str> {
    let folded = fold(written.trim());
    let foreign = FOREIGN.iter().find(|(words, _)| words.contains(&folded.as_str()));
    if let Some((_, meant)) = foreign {
        return Some(meant);
    }
    let near = RESTRICTIONS
        .iter()
        .map(|(known, meant)| (strsim::osa_distance(&folded, known), known, meant))
        .filter(|(distance, known, _)| *distance <= if known.len() < 8 { 1 } else { 2 })
        .min_by_key(|(distance, ..)| *distance);
    if let Some((.., meant)) = near {
        return Some(meant);
    }
    let about_tools =
        ABOUT_TOOLS.iter().find(|(words, _)| words.iter().any(|word| folded.contains(word)));
    about_tools.filter(|_| folded.contains("tool")).map(|(_, meant)| *meant)
}

/// Whether a word is the key of a restriction, and a text a value that it can have.
pub(crate) fn is_restriction_with(key: &str, value: &str) -> bool {
    let folded = fold(key);
    let is_plain = key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
    let Some((_, meant)) = RESTRICTIONS.iter().find(|(known, _)| is_plain && *known == folded)
    else {
        return false;
    };
    match *meant {
        "tools" | "disallowedTools" | "disabledFeatures" => {
            let list = value.trim_matches(['[', ']', '"', '\'', ' ']);
            let is_tool = |entry: &str| {
                let entry = entry.trim_matches(['"', '\'', ' ', '!']);
                entry == "*" || ToolRule::parse_denial(entry).is_ok()
            };
            !list.is_empty() && split_commas(list).into_iter().any(is_tool)
        }
        _ => !value.is_empty() && !value.contains(' '),
    }
}

/// The restriction that an unknown key with that value was most likely meant for: `bash: false`,
/// `allow_shell: no`, `no_tools: true`.
pub(crate) fn meant_switch(member: &Member) -> Option<&'static str> {
    let value = member.value.scalar()?.text.trim().to_ascii_lowercase();
    let folded = fold(member.key.trim());
    if folded == "approvalpolicy" {
        return (value == "untrusted").then_some("approvalMode");
    }
    let is_about_tools = |word: &str| {
        !word.is_empty()
            && (word == "tools" || ToolPattern::parse(word).is_ok())
            && !word.starts_with("mcp")
    };
    let without = |prefixes: &[&str]| {
        prefixes.iter().any(|prefix| folded.strip_prefix(prefix).is_some_and(is_about_tools))
    };
    let is_meant = match value.as_str() {
        "false" | "no" | "off" | "deny" | "denied" | "never" | "none" | "disabled" | "ask" => {
            is_about_tools(&folded) || without(&["allow", "enable", "can", "use"])
        }
        "true" | "yes" | "on" | "always" => without(&["no", "disable", "deny", "block", "forbid"]),
        _ => false,
    };
    is_meant.then_some("disallowedTools")
}

/// Whether a key that is about the network switches it on: that restricts nothing.
pub(crate) fn grants(member: &Member) -> bool {
    let folded = fold(member.key.trim());
    let is_about_network =
        ["network", "internet", "web"].iter().any(|word| folded.starts_with(word));
    is_about_network && member.value.scalar().and_then(Scalar::as_bool) == Some(true)
}

/// The key other than a restriction that an unknown key was most likely meant for.
pub(crate) fn meant_key(written: &str) -> Option<&'static str> {
    let folded = fold(written.trim());
    let limit = LIMITS.iter().find(|(words, _)| words.contains(&folded.as_str()));
    if let Some((_, meant)) = limit {
        return Some(meant);
    }
    let distance = |known: &str| strsim::osa_distance(&folded, known);
    let near = OTHERS
        .iter()
        .filter(|(known, _)| distance(known) <= if known.len() < 8 { 1 } else { 2 })
        .min_by_key(|(known, _)| distance(known));
    near.map(|(_, meant)| *meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_lead_to_the_key_that_was_meant() {
        for (written, meant) in [
            ("max_turn", "maxTurns"),
            ("modle", "model"),
            ("timeout", "maxTimeSeconds"),
            ("time-limit", "maxTimeSeconds"),
            ("desciption", "description"),
            ("maxcost", "maxCostUsd"),
            ("max_iterations", "maxTurns"),
            ("temprature", "temperature"),
            ("mcp_server", "mcpServers"),
        ] {
            assert_eq!(meant_key(written), Some(meant), "{written}");
            assert_eq!(meant_restriction(written), None, "{written}");
        }
    }

    #[test]
    fn slips_lead_to_the_restriction_that_was_meant() {
        for (written, meant) in [
            ("disalowedTools", "disallowedTools"),
            ("dissallowed_tools", "disallowedTools"),
            ("disallow-tools", "disallowedTools"),
            ("blockedTools", "disallowedTools"),
            ("tools_denied", "disallowedTools"),
            ("tool", "tools"),
            ("tolls", "tools"),
            ("enabled_tools", "tools"),
            ("toolsAllowed", "tools"),
            ("permision", "permission"),
            ("permisions", "permission"),
            ("permissonMode", "permissionMode"),
            ("read_onyl", "readonly"),
            ("sandbox", "sandbox_mode"),
            ("sandboxMod", "sandbox_mode"),
            ("deny", "disallowedTools"),
            ("allow", "tools"),
            ("disabledFeature", "disabledFeatures"),
            ("network", "permission"),
            ("internet_access", "permission"),
        ] {
            assert_eq!(meant_restriction(written), Some(meant), "{written}");
        }
    }

    /// Unknown keys of real files, and words that are near by chance.
    #[test]
    fn keys_that_mean_something_else_are_no_slips() {
        for written in [
            "capabilities",
            "type",
            "role",
            "level",
            "phases",
            "extensions",
            "expect_tools_present",
            "expect_tools_absent",
            "exclude_extensions",
            "tier",
            "priority",
            "status",
            "output",
            "extends",
            "services",
            "cli_tool",
            "tool_categories",
            "specialized_tools",
            "tool_choice",
            "mission",
            "roles",
            "tasks",
            "topics",
            "models",
            "prompt_mode",
            "run_mode",
            "session",
            "sandbox_workspace_write",
            "approval_policy",
            "mcp_tools",
            "ready",
            "allowed_models",
        ] {
            assert_eq!(meant_restriction(written), None, "{written}");
            let is_slip = ["models", "roles", "prompt_mode", "run_mode"].contains(&written);
            assert!(is_slip || meant_key(written).is_none(), "{written}: {:?}", meant_key(written));
        }
    }
}
