//! What holds for every call and every set of rules.

use proptest::prelude::*;
use serde_json::json;

use super::{
    tests::{all_tools, verdict},
    *,
};
use crate::{
    agent::definition::ApprovalMode,
    rights::{
        command::{Parsed, parse, survey},
        confinement::Confinement,
        tool_name::BuiltinTool,
    },
};

const ENTRIES: &[&str] = &[
    "Bash",
    "Bash(git *)",
    "Bash(rm *)",
    "Bash(ls *)",
    "Bash(cat *)",
    "Bash(cargo test *)",
    "Read(.env)",
    "Read",
    "Edit(src/**)",
    "Edit",
    "Write",
    "Write(docs/*)",
    "WebFetch(domain:a.b)",
];

const LINES: &[&str] = &[
    "ls",
    "git status",
    "rm x",
    "ls && rm x",
    "cat .env",
    "cat $X",
    "echo x > src/a",
    "cargo test",
    "echo $(rm x)",
    "case x in a) ls;; esac",
    "echo 'x",
    "curl x | sh",
    "tee .git/config",
    "ls > out",
];

fn entries() -> impl Strategy<Value = Vec<&'static str>> {
    proptest::collection::vec(proptest::sample::select(ENTRIES), 0..4)
}

/// Lines that look like shell, mostly nonsense.
fn line() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "ls",
        "cat",
        "rm",
        "git",
        "status",
        "log",
        "sort",
        "-o",
        "x",
        "$X",
        "$(",
        ")",
        "`",
        "'",
        "\"",
        "|",
        "||",
        "&&",
        ";",
        "&",
        "\n",
        ">",
        "<",
        "<<EOF\n",
        "EOF\n",
        "{",
        "}",
        "(",
        "((",
        "[[",
        "]]",
        "if",
        "then",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "case",
        "esac",
        "xargs",
        "find",
        "-exec",
        "\\;",
        "sh",
        "-c",
        "env",
        "A=b",
        "${X}",
        "${X:-",
        "*",
        "~",
        "\\",
        "#",
        "!",
        "=",
        "eval",
        "sed",
        "s/a/b/",
        "/dev/null",
        "2>&1",
        "<(",
        "$'",
        "\0",
        "function",
        "f()",
        "awk",
        "{print}",
    ]);
    let spaced =
        (piece, prop_oneof![Just(""), Just(" ")]).prop_map(|(piece, gap)| format!("{piece}{gap}"));
    prop_oneof![
        4 => proptest::collection::vec(spaced, 0..10).prop_map(|pieces| pieces.concat()),
        1 => proptest::sample::select(LINES).prop_map(str::to_owned),
        1 => any::<String>(),
    ]
}

fn policy(allow: &[&str], ask: &[&str], deny: &[&str]) -> Policy {
    let restricting = |entries: &[&str]| {
        entries.iter().flat_map(|entry| PermissionRule::restricting(entry, "settings").0).collect()
    };
    let rules = PermissionRules {
        allow: allow
            .iter()
            .filter_map(|it| PermissionRule::allowing(it, "settings").ok())
            .collect(),
        ask: restricting(ask),
        deny: restricting(deny),
    };
    Policy { rules, ..Policy::default() }
}

/// How far a judgement goes: the larger, the more is permitted.
fn width(judgement: &Judgement) -> u8 {
    match verdict(judgement) {
        "allow" => 2,
        "ask" => 1,
        _ => 0,
    }
}

fn shell(line: &str, rights: &ToolSet, stance: Stance, policy: &Policy) -> Judgement {
    let arguments = json!({ "command": line });
    let tool = ToolName::Builtin(BuiltinTool::Shell);
    let foresight = Foresight::default();
    let proposed =
        Proposed { tool: &tool, arguments: &arguments, foresight: &foresight, asks: None };
    judge(&proposed, rights, stance, policy)
}

fn write(path: &str, stance: Stance, policy: &Policy) -> Judgement {
    let arguments = json!({ "path": path, "content": "" });
    let tool = ToolName::Builtin(BuiltinTool::WriteFile);
    let real = RealPath::new(Some(path), &format!("/work/project/{path}"));
    let foresight = Foresight { paths: vec![real], ..Foresight::default() };
    let proposed =
        Proposed { tool: &tool, arguments: &arguments, foresight: &foresight, asks: None };
    judge(&proposed, &all_tools(), stance, policy)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_is_not_fully_understood_is_allowed(line in line(), allow in entries()) {
        let judged = shell(&line, &all_tools(), Stance::default(), &policy(&allow, &[], &[]));
        if survey(&line).blind_spot.is_some() {
            prop_assert_ne!(verdict(&judged), "allow", "{:?}", line);
        }
        // A pattern covers plain lists of commands only; what else is allowed is read-only or covered
        // by a rule for every command.
        let is_bare = allow.contains(&"Bash");
        let is_plain = matches!(parse(&line), Parsed::Plain(_));
        if judged.rule.is_some() && !is_bare {
            prop_assert!(is_plain, "{:?} is allowed by {:?}", line, judged.rule);
        }
    }

    #[test]
    fn a_deny_or_ask_rule_never_widens(
        line in line(), allow in entries(), ask in entries(), deny in entries(),
        further in proptest::sample::select(ENTRIES), denies in any::<bool>(),
    ) {
        let (mut more_ask, mut more_deny) = (ask.clone(), deny.clone());
        if denies { more_deny.push(further) } else { more_ask.push(further) }
        let (before, after) = (policy(&allow, &ask, &deny), policy(&allow, &more_ask, &more_deny));
        let rights = all_tools();
        let judged = |policy| width(&shell(&line, &rights, Stance::default(), policy));
        prop_assert!(judged(&after) <= judged(&before), "{:?} with {}", line, further);
    }

    #[test]
    fn an_allow_rule_never_beats_a_refusal_a_question_or_protection(
        line in line(), allow in entries(), ask in entries(), deny in entries(),
    ) {
        let rights = all_tools();
        let strict = shell(&line, &rights, Stance::default(), &policy(&[], &ask, &deny));
        let open = shell(&line, &rights, Stance::default(), &policy(&allow, &ask, &deny));
        if verdict(&strict) == "deny" {
            prop_assert_eq!(verdict(&open), "deny");
        }
        if strict.rule.is_some() {
            prop_assert_eq!(verdict(&open), verdict(&strict));
        }
        let accepting = Stance { accepts_edits: true, ..Stance::default() };
        let protected = write(".git/config", accepting, &policy(&allow, &ask, &deny));
        prop_assert_ne!(verdict(&protected), "allow");
    }

    #[test]
    fn a_child_is_never_wider_than_its_parent(
        line in line(), allow in entries(), deny in entries(),
        parent in stance(), child in stance(), kept in any::<bool>(),
    ) {
        let mut policy = policy(&allow, &[], &deny);
        policy.confinement = Confinement::Whole;
        let rights = all_tools();
        let fewer = ToolSet::of_host(kept.then_some(ToolName::Builtin(BuiltinTool::Shell)));
        let fewer = rights.intersection(&fewer);
        // What the child itself approves in the sandbox is what its definition may add.
        let child = Stance {
            questions: match child.questions {
                ApprovalMode::AutoApproveInSandbox => parent.questions,
                other => other,
            },
            ..child
        };
        let above = shell(&line, &rights, parent, &policy);
        let below = shell(&line, &fewer, child.under(parent), &policy);
        prop_assert!(width(&below) <= width(&above), "{:?}: {:?} under {:?}", line, below, above);
    }
}

fn stance() -> impl Strategy<Value = Stance> {
    let questions = prop_oneof![
        Just(ApprovalMode::RouteToParent),
        Just(ApprovalMode::Suppress),
        Just(ApprovalMode::AutoApproveInSandbox),
    ];
    (questions, any::<bool>(), any::<bool>()).prop_map(|(questions, accepts_edits, only_plans)| {
        Stance { questions, accepts_edits, only_plans }
    })
}
