//! Tables: each step of the filter, and what it reports.

use serde_json::json;

use super::*;
use crate::{id::AgentName, rights::rule::RealPath};

/// What a host with one MCP server and one tool of its own offers.
fn host() -> ToolSet {
    let builtin = BuiltinTool::ALL.iter().copied().map(ToolName::Builtin);
    let others = ["mcp__docs__find", "mcp__docs__read", "deploy"];
    ToolSet::of_host(builtin.chain(others.into_iter().map(tool)))
}

fn tool(word: &str) -> ToolName {
    match word.parse() {
        Ok(tool) => tool,
        Err(never) => match never {},
    }
}

/// A case under test: a trusted agent of the user in the foreground that may not delegate, unless told
/// otherwise.
struct Case {
    definition: Definition,
    parent: ToolSet,
    trust: Trust,
    schedule: Schedule,
    delegation: Delegation,
}

impl Case {
    fn new() -> Self {
        let mut definition = Definition::named(AgentName::new("Code Reviewer"));
        definition.source = Scope::User;
        Self {
            definition,
            parent: host(),
            trust: Trust::Trusted,
            schedule: Schedule::Foreground,
            delegation: Delegation { depth: 1, max_depth: 1 },
        }
    }

    fn listing(entries: &[&str]) -> Self {
        Self::new().with(|case| case.definition.tools = ToolAccess::List(owned(entries)))
    }

    fn disallowing(entries: &[&str]) -> Self {
        Self::new().with(|case| case.definition.disallowed_tools = owned(entries))
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn defined_in(self, source: Scope, trust: Trust) -> Self {
        self.with(|case| (case.definition.source, case.trust) = (source, trust))
    }

    fn below(self, parent: &[&str]) -> Self {
        self.with(|case| case.parent = ToolSet::of_host(parent.iter().map(|word| tool(word))))
    }

    fn filter(&self) -> Filtered {
        filter(&FilterRequest {
            definition: &self.definition,
            trust: self.trust,
            parent: &self.parent,
            schedule: self.schedule,
            delegation: self.delegation,
        })
    }

    fn names(&self) -> Vec<String> {
        self.filter().tools.names().map(ToString::to_string).collect()
    }

    fn withheld(&self) -> Vec<(String, String)> {
        self.filter()
            .withheld
            .into_iter()
            .map(|withheld| (withheld.tool, withheld.reason.to_string()))
            .collect()
    }

    fn allows_line(&self, line: &str) -> bool {
        let arguments = json!({ "command": line });
        self.filter().tools.check(&tool("shell"), &arguments).is_ok()
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|&(tool, reason)| (tool.to_owned(), reason.to_owned())).collect()
}

const UNTRUSTED: &str = "untrusted agents may not use it; run `attache trust code-reviewer`";
const NOT_OF_PARENT: &str = "the agent's parent does not have it";
const TOO_DEEP: &str = "Sub-agents are not enabled in this nested context: agents may not delegate at depth 1; `subagents.max_depth` is 1";

#[test]
fn access_matrix() {
    let explore = ["read_file", "glob_files", "grep_files", "list_dir"];
    let reading = ["read_file", "list_dir", "glob_files", "grep_files"];
    assert_eq!(
        Case::listing(&explore).defined_in(Scope::Builtin, Trust::Untrusted).names(),
        reading
    );
    let plan = ["read_file", "glob_files", "grep_files"];
    assert_eq!(Case::listing(&plan).defined_in(Scope::Builtin, Trust::Untrusted).names(), plan);
    let rest = [
        "read_file",
        "list_dir",
        "glob_files",
        "grep_files",
        "web_fetch",
        "web_search",
        "view_image",
        "Skill",
        "SlashCommand",
        "mcp__docs__find",
        "mcp__docs__read",
        "deploy",
    ];
    for source in [Scope::User, Scope::Project, Scope::Session] {
        let all_but_shell = Case::disallowing(&["shell"]).defined_in(source, Trust::Untrusted);
        assert_eq!(all_but_shell.names(), rest, "{source:?}");
        let two = Case::listing(&["Read", "Write", "Bash", "apply_patch", "Grep", "Edit"])
            .defined_in(source, Trust::Untrusted);
        assert_eq!(two.names(), ["read_file", "grep_files"], "{source:?}");
    }
}

#[test]
fn cases_of_the_source_document() {
    let builtin = Case::listing(&["Bash", "Write"]).defined_in(Scope::Builtin, Trust::Untrusted);
    assert!(builtin.names().contains(&"shell".to_owned()));
    assert!(builtin.names().contains(&"write_file".to_owned()));
    let nothing = Case::new().defined_in(Scope::Builtin, Trust::Untrusted).below(&[]);
    assert!(nothing.filter().tools.is_empty());
    let blocked =
        Case::new().defined_in(Scope::Builtin, Trust::Untrusted).below(&["Task", "TodoWrite"]);
    assert!(blocked.filter().tools.is_empty());
    let shell = Case::new().defined_in(Scope::User, Trust::Untrusted).below(&["shell"]);
    assert!(shell.filter().tools.is_empty());
    let disallowed = Case::disallowing(&["read_file"])
        .defined_in(Scope::Builtin, Trust::Untrusted)
        .below(&["read_file"]);
    assert!(disallowed.filter().tools.is_empty());
}

#[test]
fn any_word_of_the_shell_family_allows_it() {
    let family = ["shell", "exec_command", "write_stdin"];
    for word in [
        "shell",
        "local_shell",
        "exec_command",
        "write_stdin",
        "Bash",
        "bash",
        "run_shell_command",
        "execute",
    ] {
        assert_eq!(Case::listing(&[word]).names(), family, "{word}");
        let without = Case::disallowing(&[word]).names();
        assert!(!family.iter().any(|name| without.contains(&(*name).to_owned())), "{word}");
    }
    assert_eq!(Case::listing(&["Bash"]).below(&["shell"]).names(), ["shell"]);
    assert_eq!(Case::listing(&["Bash"]).below(&["shell"]).withheld(), []);
}

#[test]
fn omitted_and_empty_lists_differ() {
    assert!(Case::new().names().len() > 10);
    let none = Case::listing(&[]);
    assert_eq!(none.names(), Vec::<String>::new());
    assert_eq!(none.withheld(), []);
    let every = Case::listing(&["*"]);
    assert_eq!(every.filter(), Case::new().filter());
}

#[test]
fn complete_task_is_always_there_and_in_no_list() {
    let complete_task = tool(COMPLETE_TASK);
    let case = Case::listing(&[COMPLETE_TASK]).below(&["read_file", COMPLETE_TASK]);
    let filtered = case.filter();
    assert_eq!(filtered.withheld, []);
    assert!(!filtered.tools.contains(&complete_task));
    assert!(filtered.tools.check(&complete_task, &json!({})).is_ok());
    let denied = Case::disallowing(&[COMPLETE_TASK, "*"]).filter();
    assert!(denied.tools.check(&complete_task, &json!(null)).is_ok());
}

#[test]
fn background_runs_get_only_what_needs_nobody() {
    let case = Case::new().with(|case| case.schedule = Schedule::Background);
    assert_eq!(
        case.names(),
        [
            "read_file",
            "list_dir",
            "glob_files",
            "grep_files",
            "edit_file",
            "shell",
            "exec_command",
            "write_stdin",
            "web_fetch",
            "web_search",
            "view_image",
            "Skill",
            "SlashCommand",
        ]
    );
    let reason = "background runs may not use it; run the agent in the foreground";
    let names: Vec<String> = case.withheld().into_iter().map(|(tool, _)| tool).collect();
    assert_eq!(
        names,
        [
            "write_file",
            "apply_patch",
            "TodoWrite",
            "Task",
            "TaskOutput",
            "TaskStop",
            "subagent_list",
            "subagent_describe",
            "subagent_run",
            "mcp__docs__find",
            "mcp__docs__read",
            "deploy",
        ]
    );
    assert!(case.withheld().iter().all(|(_, why)| why == reason));
}

#[test]
fn delegation_ends_at_the_depth_that_is_set() {
    let delegation =
        ["Task", "TaskOutput", "TaskStop", "subagent_list", "subagent_describe", "subagent_run"];
    for (depth, max_depth, lifted) in
        [(1, 1, false), (1, 2, true), (2, 2, false), (2, 5, true), (1, 0, false)]
    {
        let case = Case::listing(&delegation)
            .with(|case| case.delegation = Delegation { depth, max_depth });
        let expected: &[&str] = if lifted { &delegation } else { &[] };
        assert_eq!(case.names(), expected, "{depth} of {max_depth}");
        let todo = Case::listing(&["TodoWrite"])
            .with(|case| case.delegation = Delegation { depth, max_depth });
        assert_eq!(todo.withheld(), pairs(&[("TodoWrite", "only the main agent has it")]));
    }
    let nested = Case::listing(&["Task", "Read"]);
    assert_eq!(nested.withheld(), pairs(&[("Task", TOO_DEEP)]));
}

#[test]
fn patterns_in_the_list_allow_alternatives() {
    let case = Case::listing(&["Bash(git *)", "Bash(npm test)", "Read(src/**)", "Grep"]);
    assert_eq!(case.withheld(), []);
    for (line, allowed) in [
        ("git log", true),
        ("npm test", true),
        ("git log && npm test | git apply", true),
        ("git log && rm x", false),
        ("git log > x", false),
        ("npm install", false),
    ] {
        assert_eq!(case.allows_line(line), allowed, "{line}");
    }
    let tools = case.filter().tools;
    let read = |path: &str| tools.check(&tool("Read"), &json!({ "path": path }));
    assert!(read("src/a.rs").is_ok());
    assert!(read("a.rs").is_err());
    assert!(Case::listing(&["Bash(git *)", "Bash"]).allows_line("rm x"));
    assert!(
        !Case::listing(&["Bash(git *)"])
            .defined_in(Scope::User, Trust::Untrusted)
            .allows_line("git log")
    );
}

#[test]
fn patterns_in_the_deny_list_take_away_calls() {
    let case = Case::disallowing(&["Bash(rm *)", "Read(.env)"]);
    assert!(case.allows_line("git log"));
    assert!(!case.allows_line("git log; sudo rm x"));
    let tools = case.filter().tools;
    assert!(tools.check(&tool("Read"), &json!({"path": "a/.env"})).is_err());
    assert!(tools.check(&tool("Grep"), &json!({"path": ".env"})).is_err());
    assert!(tools.check(&tool("Read"), &json!({"path": "a"})).is_ok());
    let file = |path: &str| RealPath::new(Some(path), &format!("/ws/{path}"));
    assert!(tools.tells_files_apart(&tool("Grep")));
    assert!(tools.check_file(&tool("Grep"), &file("a/.env")).is_err());
    assert!(tools.check_file(&tool("Grep"), &file("a/env")).is_ok());
    let listed = Case::listing(&["Read(src/**)", "Grep"]).filter().tools;
    assert!(listed.check_file(&tool("Read"), &file("src/a")).is_ok());
    let Err(refusal) = listed.check_file(&tool("Read"), &file("other.txt")) else {
        panic!("it is covered by no rule");
    };
    assert!(refusal.to_string().ends_with("does not cover the path `other.txt`"), "{refusal}");
    assert!(!listed.tells_files_apart(&tool("Grep")));
    let both = Case::listing(&["Bash(git *)"])
        .with(|case| case.definition.disallowed_tools = owned(&["Bash(git push *)"]));
    assert!(both.allows_line("git log"));
    assert!(!both.allows_line("git push"));
}

/// Denying `Read` denies every way to what a file contains, and to its name.
#[test]
fn a_bare_denial_of_read_takes_away_every_reader() {
    for entry in ["Read", "read_file", "ReadFile", "Read(*)", "read*", "Read()"] {
        let case = Case::disallowing(&[entry]);
        for lost in ["read_file", "grep_files", "glob_files", "list_dir", "view_image"] {
            assert!(!case.names().contains(&lost.to_owned()), "{entry}: {lost}");
            let withheld = case.withheld();
            let reason = &withheld.iter().find(|(tool, _)| tool == lost).expect("reported").1;
            assert!(reason.contains(&format!("has `{entry}`")), "{entry}: {reason}");
        }
        assert!(case.names().contains(&"shell".to_owned()), "{entry}");
    }
    let searching = Case::disallowing(&["Grep"]).names();
    assert!(searching.contains(&"read_file".to_owned()));
    assert!(searching.contains(&"glob_files".to_owned()));
}

#[test]
fn restrictions_that_are_not_understood_fail_closed() {
    let case =
        Case::disallowing(&["Bash(rm *", "Read()", "Nonsense", "deploy(x)", "mcp__docs__find(x)"]);
    let names = case.names();
    for lost in ["shell", "exec_command", "read_file", "deploy", "mcp__docs__find"] {
        assert!(!names.contains(&lost.to_owned()), "{lost}");
    }
    assert!(names.contains(&"mcp__docs__read".to_owned()));
    let (_, reason) =
        case.withheld().into_iter().find(|(tool, _)| tool == "shell").expect("reported");
    assert_eq!(
        reason,
        "the definition's disallowedTools has `Bash(rm *`, which cannot be read: the brackets after \
         `Bash` do not match; write `Bash(pattern)`"
    );
}

#[test]
fn wildcards_in_the_deny_list_take_away_what_they_match() {
    let case = Case::disallowing(&["*_file", "mcp__docs__f*", "d?ploy", "*shell*(rm *)"]);
    let names = case.names();
    for lost in [
        "read_file",
        "grep_files",
        "write_file",
        "edit_file",
        "shell",
        "exec_command",
        "mcp__docs__find",
        "deploy",
    ] {
        assert!(!names.contains(&lost.to_owned()), "{lost}");
    }
    for kept in ["mcp__docs__read", "web_fetch"] {
        assert!(names.contains(&kept.to_owned()), "{kept}");
    }
    let reason =
        ("read_file".to_owned(), "the definition's disallowedTools has `*_file`".to_owned());
    assert!(case.withheld().contains(&reason), "{:?}", case.withheld());
    let switched = Case::new().with(|case| case.definition.disabled_features = owned(&["web*"]));
    assert!(!switched.names().iter().any(|name| name.starts_with("web_")));
}

#[test]
fn disabled_features_are_tools_or_names_of_other_hosts() {
    for (feature, lost) in [
        ("WebSearchRequest", &["web_search"][..]),
        ("web_search_request", &["web_search"]),
        ("webSearchRequest", &["web_search"]),
        ("ViewImageTool", &["view_image"]),
        ("view_image", &["view_image"]),
        ("WebSearch", &["web_search"]),
        ("Bash", &["shell", "exec_command", "write_stdin"]),
        ("unified_exec", &["exec_command", "write_stdin"]),
        ("deploy", &["deploy"]),
        ("mcp__docs", &["mcp__docs__find", "mcp__docs__read"]),
    ] {
        let case = Case::new().with(|case| case.definition.disabled_features = owned(&[feature]));
        let mut expected = Case::new().names();
        expected.retain(|name| !lost.contains(&name.as_str()));
        assert_eq!(case.names(), expected, "{feature}");
    }
    let partly = Case::listing(&["Bash"])
        .with(|case| case.definition.disabled_features = owned(&["unified_exec"]));
    let reason = "the definition's disabledFeatures has `unified_exec`";
    assert_eq!(partly.withheld(), pairs(&[("exec_command", reason), ("write_stdin", reason)]));
    let rule = Case::new().with(|case| case.definition.disabled_features = owned(&["Bash(rm *)"]));
    assert!(rule.allows_line("ls") && !rule.allows_line("rm x"));
    let unknown = Case::listing(&["Read"])
        .with(|case| case.definition.disabled_features = owned(&["Telepathy"]));
    assert_eq!(unknown.names(), ["read_file"]);
    assert_eq!(
        unknown.withheld(),
        pairs(&[(
            "Telepathy",
            "the definition's disabledFeatures names it, but there is no such feature or tool"
        )])
    );
}

#[test]
fn what_is_listed_and_withheld_is_reported() {
    let case = Case::listing(&[
        "Read",
        "Bash",
        "Write",
        "Raed",
        "LSP",
        "mcp__web",
        "mcp__web__get",
        "mcp__docs__nothing",
        "mcp__docs",
        "Bash(a|b)",
        "deploy",
    ])
    .defined_in(Scope::Project, Trust::Untrusted);
    assert_eq!(case.names(), ["read_file", "mcp__docs__find", "mcp__docs__read", "deploy"]);
    let not_configured = "the MCP server `web` is not configured; add it under `mcp_servers`";
    assert_eq!(
        case.withheld(),
        pairs(&[
            ("shell", UNTRUSTED),
            ("write_file", UNTRUSTED),
            ("Raed", "there is no tool `Raed`; did you mean `Read`?"),
            ("LSP", "`LSP` is a tool of another host, with no counterpart here"),
            ("mcp__web", not_configured),
            ("mcp__web__get", not_configured),
            (
                "mcp__docs__nothing",
                "the MCP server `docs` offers no such tool to the agent's parent"
            ),
            (
                "Bash(a|b)",
                "a rule of `Bash` is about one command, without `;`, `|`, `&`, brackets or \
                 redirections; write one rule for each command"
            ),
        ])
    );
    let narrow = Case::listing(&["Read", "Bash", "Edit"]).below(&["read_file"]);
    assert_eq!(narrow.withheld(), pairs(&[("shell", NOT_OF_PARENT), ("edit_file", NOT_OF_PARENT)]));
    let all = Case::disallowing(&["WebFetch"])
        .below(&["web_fetch", "exec_command", "Task"])
        .defined_in(Scope::User, Trust::Untrusted);
    assert_eq!(
        all.withheld(),
        pairs(&[
            ("exec_command", UNTRUSTED),
            ("web_fetch", "the definition's disallowedTools has `WebFetch`"),
            ("Task", TOO_DEEP),
        ])
    );
}

#[test]
fn withheld_tools_are_written_as_text() {
    let case = Case::listing(&["Bash"]).defined_in(Scope::User, Trust::Untrusted);
    let written = serde_json::to_value(case.filter().withheld).expect("serialisable");
    assert_eq!(written, json!([{"tool": "shell", "reason": UNTRUSTED}]));
}

#[test]
fn refusals_tell_the_model_what_to_do() {
    let tools = Case::listing(&["Bash(git *)", "Bash(npm test)"]).filter().tools;
    let refusal = |name: &str, arguments| match tools.check(&tool(name), &arguments) {
        Err(refusal) => refusal.to_string(),
        Ok(()) => "allowed".to_owned(),
    };
    assert_eq!(
        refusal("Read", json!({"path": "a"})),
        "the tool `read_file` is not available to this agent"
    );
    assert_eq!(
        refusal("Bash", json!({"command": "git log | rm x"})),
        "this agent may use `shell` only for `Bash(git *)`, `Bash(npm test)`; that does not cover `rm x`"
    );
}

#[test]
fn values_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<ToolSet>();
    shared::<Filtered>();
    shared::<ToolRule>();
    shared::<Refusal>();
}

#[test]
fn an_unclear_restriction_keeps_the_dangerous_tools_away_trusted_or_not() {
    for trust in [Trust::Trusted, Trust::Untrusted] {
        let case = Case::new().defined_in(Scope::User, trust).with(|case| {
            case.definition.unclear_restrictions = owned(&["disalowedTools"]);
        });
        let names = case.names();
        assert!(names.contains(&"read_file".to_owned()), "{names:?}");
        for name in ["shell", "exec_command", "write_file", "edit_file", "mcp__docs__find"] {
            assert!(!names.contains(&name.to_owned()), "{name}");
            let reason = case.withheld().into_iter().find(|(tool, _)| tool == name).unwrap().1;
            assert!(reason.contains("`disalowedTools` looks like a restriction"), "{reason}");
        }
    }
}

#[test]
fn of_denied_calls_the_last_entry_that_matches_decides() {
    let case = Case::new().with(|case| {
        case.definition.deny_tools = owned(&[
            "shell",
            "!shell(git *)",
            "shell(git push*)",
            "!shell(git push --dry-run*)",
            "write_file",
            "!write_file(/docs/**)",
            "web_search",
            "!shell(no such",
        ]);
    });
    let Filtered { tools, .. } = case.filter();
    let ran = |line: &str| tools.check(&tool("shell"), &json!({ "command": line })).is_ok();
    for (line, expected) in [
        ("git status", true),
        ("git status && git log", true),
        ("git push --dry-run x", true),
        ("git status; git push --dry-run", true),
        ("git push", false),
        ("git -C . push", false),
        ("ls", false),
        ("git status && rm x", false),
        ("git status > x", false),
        ("git status $(rm x)", false),
        ("env git status", false),
    ] {
        assert_eq!(ran(line), expected, "{line}");
    }
    let wrote = |path: &str| tools.check(&tool("write_file"), &json!({ "path": path })).is_ok();
    assert!(wrote("docs/a.md") && !wrote("src/a.rs"));
    assert!(!tools.contains(&tool("web_search")));
    // What another list takes away is not given back.
    let narrow = case.with(|case| case.definition.disallowed_tools = owned(&["Bash"]));
    assert!(!narrow.filter().tools.contains(&tool("shell")));
}

#[test]
fn all_may_be_denied_but_some_tools() {
    let case = Case::new().with(|case| {
        case.definition.deny_tools = owned(&["*", "!read_file", "!grep_files"]);
    });
    assert_eq!(case.names(), ["read_file", "grep_files"]);
    let unknown = Case::new().with(|case| case.definition.deny_tools = owned(&["Frobnicate"]));
    assert!(unknown.names().is_empty());
}
