//! What holds for all definitions, parents and calls: rights only ever shrink.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;
use crate::{id::AgentName, rights::rule::RealPath};

const TOOLS: &[&str] = &[
    "read_file",
    "list_dir",
    "glob_files",
    "grep_files",
    "write_file",
    "edit_file",
    "apply_patch",
    "shell",
    "exec_command",
    "write_stdin",
    "web_fetch",
    "web_search",
    "view_image",
    "TodoWrite",
    "Task",
    "TaskOutput",
    "subagent_run",
    "Skill",
    "mcp__docs__find",
    "mcp__web__get",
    "deploy",
    "complete_task",
];

const ENTRIES: &[&str] = &[
    "Read",
    "Bash",
    "Write",
    "Edit",
    "Grep",
    "Glob",
    "LS",
    "apply_patch",
    "WebFetch",
    "web",
    "search",
    "Task",
    "subagent_run",
    "TodoWrite",
    "mcp__docs",
    "mcp__web__get",
    "mcp__*",
    "*",
    "deploy",
    "complete_task",
    "Bash(git *)",
    "Bash(git log*)",
    "Bash(npm run test:*)",
    "Bash(rm *)",
    "Bash(ls)",
    "Bash(*)",
    "Bash(a | b)",
    "Bash(git *",
    "Read(src/**)",
    "Read(.env)",
    "Read(**)",
    "Edit(docs/*.md)",
    "Write(src/)",
    "Grep(src/**)",
    "apply_patch(docs/**)",
    "WebFetch(domain:example.com)",
    "Task(explore)",
    "Nonsense",
    "deploy(x)",
    "WebSearchRequest",
    "unified_exec",
    "",
];

fn tool(word: &str) -> ToolName {
    match word.parse() {
        Ok(tool) => tool,
        Err(never) => match never {},
    }
}

fn entries() -> impl Strategy<Value = Vec<String>> {
    let entry = prop_oneof![9 => select(ENTRIES).prop_map(str::to_owned), 1 => any::<String>()];
    vec(entry, 0..6)
}

fn definitions() -> impl Strategy<Value = Definition> {
    let access = prop_oneof![
        Just(ToolAccess::All),
        entries().prop_map(ToolAccess::List),
        entries().prop_map(ToolAccess::List)
    ];
    let source = select(vec![Scope::Builtin, Scope::User, Scope::Project]);
    let few = || vec(select(ENTRIES).prop_map(str::to_owned), 0..2);
    (access, few(), few(), source).prop_map(|(tools, disallowed, disabled, source)| {
        let mut definition = Definition::named(AgentName::new("agent"));
        definition.tools = tools;
        definition.disallowed_tools = disallowed;
        definition.disabled_features = disabled;
        definition.source = source;
        definition
    })
}

/// One step from a parent to its child.
#[derive(Debug, Clone)]
struct Step {
    definition: Definition,
    trust: Trust,
    schedule: Schedule,
    delegation: Delegation,
}

impl Step {
    fn below(&self, parent: &ToolSet) -> Filtered {
        filter(&FilterRequest {
            definition: &self.definition,
            trust: self.trust,
            parent,
            schedule: self.schedule,
            delegation: self.delegation,
        })
    }
}

fn steps() -> impl Strategy<Value = Step> {
    (
        definitions(),
        select(vec![Trust::Trusted, Trust::Trusted, Trust::Untrusted]),
        select(vec![Schedule::Foreground, Schedule::Foreground, Schedule::Background]),
        0..4_u32,
        0..4_u32,
    )
        .prop_map(|(definition, trust, schedule, depth, max_depth)| Step {
            definition,
            trust,
            schedule,
            delegation: Delegation { depth, max_depth },
        })
}

fn hosts() -> impl Strategy<Value = ToolSet> {
    prop_oneof![Just(TOOLS.to_vec()), prop::sample::subsequence(TOOLS, 0..TOOLS.len())]
        .prop_map(|names| ToolSet::of_host(names.into_iter().map(tool)))
}

fn calls() -> impl Strategy<Value = (ToolName, Value)> {
    let lines = select(vec![
        "git log",
        "git log --oneline",
        "git push",
        "git log && npm run test",
        "rm x",
        "ls",
        "git log > f",
        "git log 2>&1",
        "sudo rm x",
        "echo $(rm x)",
        "npm run test:unit",
        "$X",
        "",
    ]);
    let paths = select(vec!["src/a.rs", ".env", "docs/a.md", "../x", "/etc/passwd", "src", "."]);
    let arguments = prop_oneof![
        lines.prop_map(|line| json!({ "command": line, "chars": line })),
        paths.clone().prop_map(|path| json!({ "path": path })),
        paths.prop_map(|path| json!({ "patch": format!("*** Add File: {path}\n+x\n") })),
        select(vec!["https://example.com/a", "https://evil.org", "x"])
            .prop_map(|url| json!({ "url": url })),
        select(vec!["Explore", "other"])
            .prop_map(|name| json!({ "subagent_type": name, "name": name })),
        Just(json!({})),
        Just(json!(null)),
        any::<String>().prop_map(|text| json!({ "command": text, "path": text, "patch": text })),
    ];
    (select(TOOLS).prop_map(tool), arguments)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_child_is_wider_than_its_parent(
        host in hosts(),
        steps in vec(steps(), 1..4),
        calls in vec(calls(), 1..24),
    ) {
        let mut parent = host;
        for step in steps {
            let child = step.below(&parent).tools;
            for name in child.names() {
                prop_assert!(parent.contains(name), "{name}");
            }
            for (tool, arguments) in &calls {
                if child.check(tool, arguments).is_ok() {
                    prop_assert!(parent.check(tool, arguments).is_ok(), "{tool} {arguments}");
                }
                let file = RealPath::new(Some("a/.env"), "/ws/a/.env");
                if child.check_file(tool, &file).is_ok() {
                    prop_assert!(parent.check_file(tool, &file).is_ok(), "{tool}");
                }
            }
            parent = child;
        }
    }

    #[test]
    fn an_intersection_passes_no_call_that_either_side_refuses(
        host in hosts(),
        first in steps(),
        second in steps(),
        calls in vec(calls(), 1..24),
    ) {
        let (one, other) = (first.below(&host).tools, second.below(&host).tools);
        let both = one.intersection(&other);
        let file = RealPath::new(Some("a/.env"), "/ws/a/.env");
        for (tool, arguments) in &calls {
            let each = one.check(tool, arguments).is_ok() && other.check(tool, arguments).is_ok();
            prop_assert_eq!(both.check(tool, arguments).is_ok(), each, "{} {}", tool, arguments);
            let each = one.check_file(tool, &file).is_ok() && other.check_file(tool, &file).is_ok();
            prop_assert_eq!(both.check_file(tool, &file).is_ok(), each, "{}", tool);
        }
    }

    #[test]
    fn rights_are_read_back_as_they_were_written(host in hosts(), step in steps()) {
        let rights = step.below(&host).tools;
        let written = serde_json::to_string(&rights).unwrap();
        prop_assert_eq!(serde_json::from_str::<ToolSet>(&written).unwrap(), rights, "{}", written);
    }

    #[test]
    fn filtering_twice_changes_nothing(host in hosts(), first in steps(), second in steps()) {
        let parent = first.below(&host).tools;
        let once = second.below(&parent).tools;
        prop_assert_eq!(&second.below(&once).tools, &once);
    }

    #[test]
    fn a_tool_is_granted_or_reported_and_never_both(host in hosts(), step in steps()) {
        let Filtered { tools, withheld } = step.below(&host);
        for one in &withheld {
            prop_assert!(!tools.contains(&tool(&one.tool)) || one.tool.contains('('), "{one:?}");
            prop_assert!(!one.reason.to_string().is_empty());
        }
        if step.definition.tools == ToolAccess::All {
            for name in host.names().filter(|name| !tools.contains(name)) {
                let is_shell = name.builtin().is_some_and(BuiltinTool::is_shell);
                let is_reported = withheld.iter().any(|one| {
                    one.tool == name.to_string() || (is_shell && one.tool == "shell")
                });
                prop_assert!(is_reported, "{name}");
            }
        }
    }

    #[test]
    fn untrusted_agents_never_run_commands_or_write(host in hosts(), step in steps(), calls in vec(calls(), 1..24)) {
        let mut step = step;
        step.trust = Trust::Untrusted;
        step.definition.source = Scope::Project;
        let tools = step.below(&host).tools;
        for (tool, arguments) in &calls {
            let dangerous = tool.builtin().is_some_and(|tool| tool.is_shell() || BuiltinTool::WRITERS.contains(&tool));
            prop_assert!(!(dangerous && tools.check(tool, arguments).is_ok()), "{tool} {arguments}");
        }
    }
}
