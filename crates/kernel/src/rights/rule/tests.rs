//! Tables of rules and calls: what is covered, what is denied, and what must not slip through.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn rule(entry: &str) -> ToolRule {
    ToolRule::parse(entry).unwrap_or_else(|error| panic!("{entry}: {error}"))
}

fn tool(word: &str) -> ToolName {
    match word.parse() {
        Ok(tool) => tool,
        Err(never) => match never {},
    }
}

fn allows(entries: &[&str], name: &str, arguments: &Value) -> bool {
    let rules: Vec<ToolRule> = entries.iter().map(|entry| rule(entry)).collect();
    uncovered(&rules, &Call::new(&tool(name), arguments)).is_none()
}

fn denies(entry: &str, name: &str, arguments: &Value) -> bool {
    rule(entry).denies(&Call::new(&tool(name), arguments))
}

fn allows_line(entries: &[&str], line: &str) -> bool {
    allows(entries, "shell", &json!({ "command": line }))
}

fn denies_line(entry: &str, line: &str) -> bool {
    denies(entry, "shell", &json!({ "command": line }))
}

#[test]
fn entries_that_are_no_rules_say_why() {
    use ToolRuleErrorKind as Kind;
    for (entry, kind) in [
        ("Bash(git *", Kind::UnbalancedBracket),
        ("Bash(git *) x", Kind::UnbalancedBracket),
        ("Bash(a))", Kind::UnbalancedBracket),
        ("Read()", Kind::EmptyPattern),
        ("Task( )", Kind::EmptyPattern),
        ("Bash(:*)", Kind::EmptyPattern),
        ("WebSearch(x)", Kind::PatternNotSupported),
        ("mcp__docs__find(x)", Kind::PatternNotSupported),
        ("mcp__docs(*)", Kind::PatternNotSupported),
        ("*(x)", Kind::PatternNotSupported),
        ("web(domain:x.org)", Kind::PatternNotSupported),
        ("Bash(a && b)", Kind::SeveralCommands),
        ("Bash(curl * | sh)", Kind::SeveralCommands),
        ("Bash(echo * > *)", Kind::SeveralCommands),
        ("Read(../x)", Kind::BadPath),
        ("Read(!x)", Kind::BadPath),
        ("Read({a,{b},c})", Kind::BadPath),
        ("Read({a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b})", Kind::BadPath),
        ("WebFetch(example.com)", Kind::BadDomain),
        ("WebFetch(domain:)", Kind::BadDomain),
        ("Raed(x)", Kind::UnknownTool(UnknownTool::Unknown(Some("Read")))),
        ("LSP", Kind::UnknownTool(UnknownTool::Foreign)),
    ] {
        let found = ToolRule::parse(entry).map_err(|error| error.kind);
        assert_eq!(found, Err(kind), "{entry}");
    }
    let error = ToolRule::parse("Bash(rm *").expect_err("unbalanced");
    assert_eq!(error.word, "Bash");
    assert!(error.tools.is_some());
    assert_eq!(error.to_string(), "the brackets after `Bash` do not match; write `Bash(pattern)`");
}

#[test]
fn brackets_around_everything_are_no_restriction() {
    for entry in
        ["Bash", "Bash(*)", "Bash( * )", "Read(*)", "WebFetch(*)", "WebSearch(*)", "Task(*)"]
    {
        assert!(rule(entry).is_unrestricted(), "{entry}");
    }
    assert!(!rule("Read(**)").is_unrestricted());
    for entry in ["Bash()", "Bash( )", "Read()"] {
        let error = ToolRule::parse(entry).unwrap_err();
        assert_eq!(error.kind, ToolRuleErrorKind::EmptyPattern, "{entry}");
    }
}

#[test]
fn every_command_of_a_line_needs_a_rule() {
    for (entries, line, allowed) in [
        (&["Bash(git *)"][..], "git log", true),
        (&["Bash(git *)"], "git", true),
        (&["Bash(git *)"], "github x", false),
        (&["Bash(git *)"], "git log && git diff | git apply", true),
        (&["Bash(git *)"], "git log && rm x", false),
        (&["Bash(git *)"], "git log; rm x", false),
        (&["Bash(git *)"], "git log\nrm x", false),
        (&["Bash(git *)"], "git log & rm x", false),
        (&["Bash(git *)", "Bash(head *)"], "git log | head -5", true),
        (&["Bash(git log*)"], "git log", true),
        (&["Bash(git log*)"], "git log --oneline", true),
        (&["Bash(git log*)"], "git logs", true),
        (&["Bash(git log*)"], "git diff", false),
        (&["Bash(git status)"], "git status", true),
        (&["Bash(git status)"], "git   status", true),
        (&["Bash(git status)"], "git status -s", false),
        (&["Bash(npm run test:*)"], "npm run test", true),
        (&["Bash(npm run test:*)"], "npm run test --watch", true),
        (&["Bash(npm run test:*)"], "npm run test:unit", true),
        (&["Bash(npm run test:*)"], "npm run tests", false),
        (&["Bash(git * main)"], "git checkout main", true),
        (&["Bash(git * main)"], "git checkout dev", false),
        (&["Bash(git *)"], "GIT log", false),
        (&["Bash(git *)"], "", false),
        (&["Bash(git *)"], "# git log", false),
        (&["Bash"], "rm -rf / > x", true),
        (&["Bash(*)", "Bash(git *)"], "rm -rf /", true),
        (&["Read"], "git log", false),
        (&[], "git log", false),
    ] {
        assert_eq!(allows_line(entries, line), allowed, "{entries:?} {line:?}");
    }
}

#[test]
fn a_rule_allows_only_what_is_written() {
    for (entry, line, allowed) in [
        ("Bash(git *)", "git log > f", false),
        ("Bash(git *)", "git log 2>&1 >/dev/null", true),
        ("Bash(git *)", "git log &> f", false),
        ("Bash(git *)", "git apply < f", false),
        ("Bash(git *)", "git apply <<< x", false),
        ("Bash(git *)", "git log > /dev/null > f", false),
        ("Bash(git *)", "git log $(rm x)", false),
        ("Bash(git *)", "git log `rm x`", false),
        ("Bash(git *)", "git log \"$(rm x)\"", false),
        ("Bash(git *)", "git diff <(rm x)", false),
        ("Bash(git *)", "(git log)", false),
        ("Bash(git *)", "if git log; then git log; fi", false),
        ("Bash(git *)", "git log 'unclosed", false),
        ("Bash(git *)", "sudo git log", false),
        ("Bash(git *)", "env git log", false),
        ("Bash(git *)", "/tmp/git log", false),
        ("Bash(git *)", "./git log", false),
        ("Bash(git *)", "FOO=1 git log", false),
        ("Bash(FOO=1 git *)", "FOO=1 git log", true),
        ("Bash(git *)", "X=1; git log", false),
        ("Bash(git *)", "git log '$(x)' \"; rm x\" \\; # | rm", true),
        ("Bash(git *)", "git log $X \"$Y\" *.md {a,b} ~/x", true),
        ("Bash(git *)", "git$X log", false),
        ("Bash(git *)", "$X log", false),
        ("Bash(git *)", "{git,rm} log", false),
        ("Bash(git *)", "'git log'", false),
        ("Bash(git *)", "'git /x'/y", false),
        ("Bash(git log *)", "git 'log x'", false),
        ("Bash(git log *)", "git $X", false),
        ("Bash(git log *)", "git l*g x", false),
        ("Bash(echo $HOME)", "echo $HOME", true),
        ("Bash(echo $HOME)", "echo $PATH", false),
        ("Bash(ls *.md)", "ls *.md", true),
        ("Bash(ls *.md)", "ls a.md", true),
        ("Bash(ls *.md)", "ls a.txt", false),
        ("Bash(git commit -m \"*\")", "git commit -m 'a b'", true),
        ("Bash(echo \"a b\")", "echo 'a b'", true),
        ("Bash(echo \"a b\")", "echo a b", false),
        ("Bash(echo \\*)", "echo '*'", true),
        ("Bash(echo \\*)", "echo x", false),
        ("Bash(bash -c *)", "bash -c 'rm x'", true),
    ] {
        assert_eq!(allows_line(&[entry], line), allowed, "{entry} {line:?}");
    }
}

#[test]
fn a_denied_command_is_found_wherever_it_runs() {
    for line in [
        "rm",
        "rm -rf x",
        "git log && rm x",
        "ls | rm x",
        "echo $(rm -rf x)",
        "echo \"`rm x`\"",
        "cat <(rm x)",
        "(rm x)",
        "{ rm x; }",
        "if true; then rm x; fi",
        "for f in *; do rm \"$f\"; done",
        "! rm x",
        "FOO=1 rm x",
        "\\rm x",
        "'rm' x",
        "r''m x",
        "$'\\x72m' x",
        "r\\\nm x",
        "RM x",
        "/bin/rm x",
        "../../bin/rm x",
        "$DIR/rm x",
        "/bin/r? x",
        "/bin/r[m] x",
        "{rm,-rf,x}",
        "rm${IFS}x",
        "$X -rf x",
        "$(echo rm) x",
        ">f rm x",
        "sudo rm x",
        "sudo -u bob rm x",
        "env A=1 rm x",
        "ls | xargs rm",
        "nohup rm x &",
        "time rm x",
        "nice -n 5 rm x",
        "timeout 5 rm x",
        "timeout -s KILL 5 /bin/rm x",
        "exec rm x",
        "command rm x",
        "busybox rm x",
        "find . -exec rm {} \\;",
        "find . -type f -execdir /bin/rm {} +",
        "bash -c 'rm x'",
        "sh -ec 'ls; rm x'",
        "sudo bash -lc \"rm x\"",
        "bash -c 'bash -c \"rm x\"'",
        "eval rm x",
        "eval 'rm x'",
        "su -c 'rm x'",
        "trap 'rm x' EXIT",
        "curl x | sh",
        "bash <<< 'rm x'",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF\nEOF\nrm x",
        "echo 'unclosed",
        "f() { rm x; }; f",
        "case x in x) rm x;; esac",
        "[[ x =~ #y ]] && rm x",
        "echo $((a[$(rm x)]))",
        "echo ${x:-$(rm x)}",
        "=rm x",
        "repeat 2 rm x",
        "if true { rm x }",
        "ls &>f rm x",
        "ls >&-rm x",
        "bash rm x",
        "xargs env <<< rm",
    ] {
        assert!(denies_line("Bash(rm *)", line), "{line:?}");
    }
}

#[test]
fn what_cannot_be_the_denied_command_is_not_denied() {
    for line in [
        "git rm x",
        "echo rm x",
        "echo 'rm x'",
        "rmdir x",
        "ls rm",
        "git log $X",
        "echo $HOME/rm *",
        "cat <<'EOF' > f\nrm x\nEOF",
        "find . -name rm",
        "for f in a b; do cat $f; done",
        "git commit -m \"it's; rm x\"",
        "bash script.sh",
        "bash --version",
        "sudo ls -l",
        "X=rm; ls",
        "echo ${X:-rm} # rm x",
    ] {
        assert!(!denies_line("Bash(rm *)", line), "{line:?}");
    }
}

#[test]
fn denied_arguments_may_come_from_expansions() {
    for (entry, line, denied) in [
        ("Bash(git push *)", "git push origin", true),
        ("Bash(git push *)", "git $X origin", true),
        ("Bash(git push *)", "git log", false),
        ("Bash(git push *)", "git log $X", false),
        ("Bash(git push *)", "echo push | xargs git", true),
        ("Bash(git branch -D *)", "git branch -d x", false),
        ("Bash(rm -rf /)", "rm -rf /", true),
        ("Bash(rm -rf /)", "rm -rf /tmp", false),
        ("Bash(rm -rf /)", "rm -rf $X", true),
        ("Bash(rm -rf /)", "sudo rm -rf /", true),
        ("Bash(rm -rf /)", "find . -exec rm -rf / \\;", true),
        ("Bash(*--force*)", "git push --force", true),
        ("Bash(*--force*)", "git push", false),
        ("Bash(FOO=1 *)", "FOO=1 ls", true),
    ] {
        assert_eq!(denies_line(entry, line), denied, "{entry} {line:?}");
    }
}

#[test]
fn commands_come_as_text_or_as_words() {
    let git = &["Bash(git *)"];
    for (arguments, allowed) in [
        (json!({"command": ["git", "log"]}), true),
        (json!({"command": ["git", "log; rm x", "$(rm x)"]}), true),
        (json!({"command": ["bash", "-lc", "git log && git diff"]}), true),
        (json!({"command": ["/bin/sh", "-c", "git log"]}), true),
        (json!({"command": ["bash", "-lc", "git log; rm x"]}), false),
        (json!({"command": ["/tmp/bash", "-lc", "git log"]}), false),
        (json!({"command": ["rm", "x"]}), false),
        (json!({"command": []}), false),
        (json!({"command": ["git", 1]}), false),
        (json!({"command": 1}), false),
        (json!({"cmd": "git log"}), true),
        (json!({"command": "git log", "cmd": "rm x"}), false),
        (json!({}), false),
        (json!(null), false),
        (json!("git log"), false),
    ] {
        for name in ["shell", "exec_command"] {
            assert_eq!(allows(git, name, &arguments), allowed, "{name} {arguments}");
        }
    }
    for (arguments, denied) in [
        (json!({"command": ["git", "log", "rm x"]}), false),
        (json!({"command": ["bash", "-lc", "rm x"]}), true),
        (json!({"command": ["/tmp/bash", "-xlc", "rm x"]}), true),
        (json!({"command": ["sudo", "rm", "x"]}), true),
        (json!({"command": []}), true),
        (json!({}), true),
        (json!(null), true),
    ] {
        assert_eq!(denies("Bash(rm *)", "shell", &arguments), denied, "{arguments}");
    }
    assert!(allows(git, "write_stdin", &json!({"session_id": 1, "chars": ""})));
    assert!(!allows(git, "write_stdin", &json!({"session_id": 1, "chars": "git log\n"})));
    assert!(denies("Bash(rm *)", "write_stdin", &json!({"chars": "rm x\n"})));
    assert!(!denies("Bash(rm *)", "write_stdin", &json!({"chars": "y\n"})));
}

#[test]
fn paths_match_as_in_a_gitignore_file() {
    for (entry, path, allowed) in [
        ("Read(src/**)", "src/a/b.rs", true),
        ("Read(src/**)", "./src/a.rs", true),
        ("Read(src/**)", "src//./a.rs", true),
        ("Read(src/**)", "lib/src/a.rs", false),
        ("Read(src/**)", "srcs/a.rs", false),
        ("Read(/src/**)", "src/a.rs", true),
        ("Read(./src/**)", "src/a.rs", true),
        ("Read(src/**)", "src/../../etc/passwd", false),
        ("Read(src/**)", "../x", false),
        ("Read(src/**)", "/src/a.rs", false),
        ("Read(src/**)", "src\\..\\x", false),
        ("Read(**)", "any/thing", true),
        ("Read(**)", "~/x", false),
        ("Read(src)", "src/a/b.rs", true),
        ("Read(src/)", "src/a/b.rs", true),
        ("Read(src)", "lib/src/a.rs", true),
        ("Read(*.md)", "a.md", true),
        ("Read(*.md)", "docs/a.md", true),
        ("Read(*.md)", "a.mdx", false),
        ("Read(docs/*.md)", "docs/a.md", true),
        ("Read(docs/*.md)", "docs/x/a.md", false),
        ("Read(docs/*.md)", "a.md", false),
        ("Read(docs/*)", "docs/x/a.md", false),
        ("Read(**/test/*.rs)", "a/b/test/x.rs", true),
        ("Read(**/test/*.rs)", "test/x.rs", true),
        ("Read(a/**/z)", "a/z", true),
        ("Read(a/**/z)", "a/b/c/z", true),
        ("Read(a?c/[x-z!]*)", "abc/y1", true),
        ("Read(a?c/[x-z!]*)", "abc/a1", false),
        ("Read(/[!a]x)", "bx", true),
        ("Read(/[!a]x)", "ax", false),
        ("Read(*.{ts,tsx})", "a/b.tsx", true),
        ("Read({src,lib}/{a,b}.rs)", "lib/b.rs", true),
        ("Read({src,lib}/{a,b}.rs)", "lib/c.rs", false),
        ("Read({a,{b,c}}.rs)", "c.rs", true),
        ("Read(users/{id}/*)", "users/{id}/x", true),
        ("Read(app/(group)/**)", "app/(group)/x", true),
        ("Read(//etc/**)", "/etc/hosts", true),
        ("Read(//etc/**)", "etc/hosts", false),
        ("Read(~/x)", "x", false),
        ("Read(README.md)", "README.MD", false),
    ] {
        let arguments = json!({ "path": path });
        assert_eq!(allows(&[entry], "Read", &arguments), allowed, "{entry} {path}");
    }
}

#[test]
fn a_denied_path_is_denied_by_every_way_to_it() {
    for (entry, name, arguments, denied) in [
        ("Read(.env)", "Read", json!({"path": ".env"}), true),
        ("Read(.env)", "Read", json!({"path": "./a/.env"}), true),
        ("Read(.env)", "Read", json!({"path": "a/.ENV"}), true),
        ("Read(.env)", "Read", json!({"path": "/work/.env"}), true),
        ("Read(.env)", "Read", json!({"path": "x/../y"}), true),
        ("Read(.env)", "Read", json!({"path": "env"}), false),
        ("Read(.env)", "Read", json!({"file_path": ".env"}), true),
        ("Read(.env)", "Read", json!({"paths": ["a", ".env"]}), true),
        ("Read(.env)", "Read", json!({}), true),
        ("Read(.env)", "Read", json!({"path": 1}), true),
        ("Read(.env)", "Grep", json!({"pattern": "x", "path": ".env"}), true),
        ("Read(.env)", "Grep", json!({"pattern": "x"}), false),
        ("Read(.env)", "Edit", json!({"path": ".env"}), false),
        ("Read(src/*)", "Read", json!({"path": "src/a/b"}), true),
        ("Read(src/**)", "Read", json!({"path": "/w/src/a"}), true),
        ("Read(~/.ssh/**)", "Read", json!({"path": "/home/x/.ssh/id"}), true),
        ("Read(~/.ssh/**)", "Read", json!({"path": "a/b"}), false),
        ("Read(//etc/passwd)", "Read", json!({"path": "/etc/passwd"}), true),
        ("Read(//w/x/secret)", "Read", json!({"path": "secret"}), true),
        ("Read(//w/x/secret)", "Read", json!({"path": "a"}), false),
        ("Grep(secret/**)", "Grep", json!({"pattern": "x"}), true),
        ("Grep(secret/**)", "Grep", json!({"pattern": "x", "path": "secret/a"}), true),
        ("Grep(secret/**)", "Grep", json!({"pattern": "x", "path": "src"}), false),
        ("Grep(secret/**)", "Read", json!({"path": "secret/a"}), false),
        ("Glob(secret/**)", "Glob", json!({"pattern": "src/**/*.rs"}), false),
        ("Glob(secret/**)", "Glob", json!({"pattern": "**/*.rs"}), true),
        ("Glob(secret/**)", "Glob", json!({"pattern": "src/../secret/*"}), true),
        ("Edit(docs/**)", "Edit", json!({"path": "docs/a"}), true),
        ("Edit(docs/**)", "Write", json!({"path": "docs/a"}), true),
        ("Edit(docs/**)", "Write", json!({"path": "src/a"}), false),
        ("Write(docs/**)", "Edit", json!({"path": "docs/a"}), true),
    ] {
        assert_eq!(denies(entry, name, &arguments), denied, "{entry} {name} {arguments}");
    }
}

#[test]
fn files_are_judged_where_they_really_lie() {
    let inside = |path: &str| RealPath::new(Some(path), &format!("/secrets/ws/{path}"));
    let outside = |path: &str| RealPath::new(None, path);
    for (entry, name, path, denied) in [
        ("Read(.env)", "Grep", inside("a/.env"), true),
        ("Read(.env)", "Grep", inside("a/b"), false),
        ("Read(.env)", "Read", outside("/x/.env"), true),
        ("Read(secrets/**)", "Read", inside("secrets/a"), true),
        // The workspace itself lies in a directory of that name.
        ("Read(secrets/**)", "Read", inside("a"), false),
        ("Read(//secrets/ws/a)", "Read", inside("a"), true),
        ("Read(//etc/a)", "Read", inside("a"), false),
        ("Read(~/a)", "Read", inside("a"), true),
        ("Grep(a)", "Read", inside("a"), false),
        ("Read(a)", "Read", inside("b\\a"), true),
    ] {
        assert_eq!(rule(entry).denies_file(&tool(name), &path), denied, "{entry} {name} {path}");
    }
    for (entry, name, path, allowed) in [
        ("Read(src/**)", "Read", inside("src/a"), true),
        ("Read(src/**)", "Read", inside("other"), false),
        ("Read(src/**)", "Read", outside("/src/a"), false),
        ("Read(src/**)", "Grep", inside("src/a"), false),
        ("Read(//secrets/ws/**)", "Read", inside("a"), true),
        ("Read(//x/**)", "Read", outside("/x/a"), true),
        ("Read", "Read", outside("/x/a"), true),
    ] {
        assert_eq!(rule(entry).allows_file(&tool(name), &path), allowed, "{entry} {name} {path}");
    }
}

#[test]
fn trees_are_covered_whole() {
    for (entry, arguments, allowed) in [
        ("Grep(src/**)", json!({"pattern": "x", "path": "src"}), true),
        ("Grep(src/**)", json!({"pattern": "x", "path": "src/a"}), true),
        ("Grep(src/**)", json!({"pattern": "x"}), false),
        ("Grep(src/**)", json!({"pattern": "x", "path": "."}), false),
        ("Grep(**)", json!({"pattern": "x"}), true),
        ("Grep(src/*.rs)", json!({"pattern": "x", "path": "src"}), false),
        ("Grep(src/*.rs)", json!({"pattern": "x", "path": "src/a.rs"}), true),
    ] {
        assert_eq!(allows(&[entry], "Grep", &arguments), allowed, "{entry} {arguments}");
    }
    assert!(allows(&["Glob(src/**)"], "Glob", &json!({"pattern": "src/**/*.rs"})));
    assert!(!allows(&["Glob(src/**)"], "Glob", &json!({"pattern": "src/../**"})));
    assert!(!allows(&["Glob(src/**)"], "Glob", &json!({"pattern": "/src/*"})));
    assert!(allows(&["LS(src/)"], "LS", &json!({"path": "src/a"})));
}

#[test]
fn every_file_of_a_patch_counts() {
    let patch = "*** Begin Patch\n*** Update File: docs/a.md\n*** Move to: docs/b.md\n@@\n-x\n+y\n\
                 *** Add File: src/c.rs\n+z\n*** Delete File: old/d\n*** End Patch\n";
    let arguments = json!({ "patch": patch });
    let all = ["apply_patch(docs/**)", "apply_patch(src/*)", "apply_patch(old/)"];
    assert!(allows(&all, "apply_patch", &arguments));
    for missing in 0..all.len() {
        let mut rules = all.to_vec();
        rules.remove(missing);
        assert!(!allows(&rules, "apply_patch", &arguments), "{rules:?}");
    }
    for entry in ["Edit(docs/b.md)", "Write(src/**)", "apply_patch(old/**)"] {
        assert!(denies(entry, "apply_patch", &arguments), "{entry}");
    }
    assert!(!denies("Edit(lib/**)", "apply_patch", &arguments));
    assert!(!allows(&["apply_patch(**)"], "apply_patch", &json!({"patch": "nothing"})));
    assert!(denies("apply_patch(x)", "apply_patch", &json!({"patch": "nothing"})));
}

#[test]
fn an_address_is_the_same_in_every_spelling() {
    let entry = "WebFetch(domain:127.0.0.1)";
    let hosts = [
        ("127.0.0.1", true, true),
        ("127.0.0.1.", true, true),
        ("127.1", true, true),
        ("127.0.1", true, true),
        ("2130706433", true, true),
        ("0x7f.1", true, true),
        ("0X7F000001", true, true),
        ("0177.0.0.1", true, true),
        ("0177.0x0.00.01", true, true),
        ("127.0.0.2", false, false),
        ("127.0.0.1.example.com", false, false),
        ("0x7f.com", false, false),
        ("127.0.0.0.1", true, false),
        ("127.0.0.256", true, false),
        ("4294967296", true, false),
        ("09.1", true, false),
        ("a.1", true, false),
        ("a.0x", true, false),
    ];
    for (host, denied, allowed) in hosts {
        let arguments = json!({ "url": format!("http://{host}:80/") });
        assert_eq!(denies(entry, "WebFetch", &arguments), denied, "{host}");
        assert_eq!(allows(&[entry], "WebFetch", &arguments), allowed, "{host}");
    }
    for entry in ["WebFetch(domain:127.1)", "WebFetch(domain:0x7f000001)"] {
        assert!(allows(&[entry], "WebFetch", &json!({ "url": "http://127.0.0.1/" })), "{entry}");
    }
    assert!(ToolRule::parse("WebFetch(domain:127.0.0.300)").is_err());
}

#[test]
fn hosts_match_with_those_below_them() {
    for (entry, url, allowed, denied) in [
        ("WebFetch(domain:example.com)", "https://example.com/x", true, true),
        ("WebFetch(domain:example.com)", "http://EXAMPLE.com.:8080?x", true, true),
        ("WebFetch(domain:example.com)", "https://docs.example.com", true, true),
        ("WebFetch(domain:example.com)", "https://badexample.com", false, false),
        ("WebFetch(domain:example.com)", "https://example.com.evil.org", false, false),
        ("WebFetch(domain:example.com)", "https://example.com@evil.org", false, true),
        ("WebFetch(domain:example.com)", "https://evil.org/example.com", false, false),
        ("WebFetch(domain:example.com)", "https://evil.org\\.example.com", false, true),
        ("WebFetch(domain:example.com)", "file:///etc/passwd", false, true),
        ("WebFetch(domain:example.com)", "example.com", false, true),
        ("WebFetch(domain:*.example.com)", "https://a.example.com", true, true),
        ("WebFetch(domain:*.example.com)", "https://example.com", false, true),
    ] {
        let arguments = json!({ "url": url });
        assert_eq!(allows(&[entry], "WebFetch", &arguments), allowed, "{entry} {url}");
        assert_eq!(denies(entry, "WebFetch", &arguments), denied, "{entry} {url}");
    }
}

#[test]
fn agents_match_by_their_keys() {
    for (entry, agent, matched) in [
        ("Task(code-reviewer)", "CodeReviewer", true),
        ("Agent(Explore, Plan)", "plan", true),
        ("Agent(Explore, Plan)", "other", false),
    ] {
        let task = json!({ "subagent_type": agent, "prompt": "x" });
        assert_eq!(allows(&[entry], "Task", &task), matched, "{entry} {agent}");
        assert_eq!(denies(entry, "Task", &task), matched, "{entry} {agent}");
        let run = json!({ "name": agent, "task": "x" });
        assert_eq!(denies(entry, "subagent_run", &run), matched, "{entry} {agent}");
        assert!(!allows(&[entry], "subagent_run", &run));
    }
    assert!(denies("Task(x)", "Task", &json!({})));
}

proptest! {
    #[test]
    fn any_text_is_a_rule_or_an_error(entry in any::<String>()) {
        drop(ToolRule::parse(&entry));
        drop(ToolRule::parse(&format!("Bash({entry})")));
        drop(ToolRule::parse(&format!("Read({entry})")));
        drop(ToolRule::parse(&format!("WebFetch(domain:{entry})")));
    }

    #[test]
    fn what_a_pattern_covers_it_also_denies(
        pattern in "[ab/*?. ]{1,8}",
        text in "[ab/. ]{0,8}",
    ) {
        for (tool, key) in [("Bash", "command"), ("Read", "path")] {
            let entry = format!("{tool}({pattern})");
            let arguments = json!({ key: text });
            if ToolRule::parse(&entry).is_ok() && allows(&[&entry], tool, &arguments) {
                prop_assert!(denies(&entry, tool, &arguments));
            }
        }
    }

    #[test]
    fn a_path_glob_is_what_a_regular_expression_says(
        pattern in "[ab*?]{1,6}",
        name in "[ab]{0,6}",
    ) {
        let expected = slow_match(&pattern, &name);
        let entry = format!("Read(/d/{pattern})");
        prop_assume!(pattern != "**" && !name.is_empty());
        prop_assert_eq!(
            allows(&[&entry], "Read", &json!({"path": format!("d/{name}")})),
            expected
        );
    }
}

fn slow_match(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('*') => {
            let mut tail = text.chars();
            loop {
                if slow_match(rest.as_str(), tail.as_str()) {
                    return true;
                }
                if tail.next().is_none() {
                    return false;
                }
            }
        }
        Some(wanted) => {
            let mut tail = text.chars();
            tail.next().is_some_and(|letter| wanted == '?' || wanted == letter)
                && slow_match(rest.as_str(), tail.as_str())
        }
    }
}

#[test]
fn a_rule_stays_about_its_files_wherever_a_run_works() {
    let read = ToolName::Builtin(BuiltinTool::ReadFile);
    let denies = |rule: &str, root: &str, path: &str| {
        let rule = ToolRule::parse_denial(rule).unwrap();
        let rule = rule.anchored(&["/w/p"], Effect::Restricts).seen_from(root);
        let arguments = json!({ "path": path });
        let text = rule.denies(&Call::new(&read, &arguments));
        let whole = if path.starts_with('/') { path.to_owned() } else { format!("{root}/{path}") };
        let below = whole.strip_prefix(&format!("{root}/"));
        let real = rule.denies_file(&read, &RealPath::new(below, &whole));
        assert_eq!(text, real, "{rule} in {root}: {path}");
        text
    };
    for (rule, root, path, is_denied) in [
        ("Read(secret/**)", "/w/p", "secret/a", true),
        ("Read(secret/**)", "/w/p/secret", "a", true),
        ("Read(secret/**)", "/w/p/secret/deep", "a/b", true),
        ("Read(secret/**)", "/w/p/open", "a", false),
        ("Read(secret/**)", "/w/p/open", "secret/a", false),
        ("Read(secret)", "/w/p/x/secret", "a", true),
        ("Read(s?cret)", "/w/p/secret/x", "a", true),
        ("Read(/sub/b)", "/w/p/sub", "b", true),
        ("Read(/sub/b)", "/w/p/sub", "sub/b", false),
        ("Read(/sub/b)", "/w/p/sub", "/w/p/sub/b", true),
        ("Read(*.pem)", "/elsewhere", "x/k.pem", true),
        ("Read(secret/**)", "/elsewhere", "secret/a", true),
        ("Read(//w/p/secret/**)", "/w/p/secret", "a", true),
        ("Read(//w/p/**/.env)", "/w/p/x", "y/.env", true),
        ("Read(//w/q/**)", "/w/p", "a", false),
    ] {
        assert_eq!(denies(rule, root, path), is_denied, "{rule} in {root}: {path}");
    }
    let allows = |rule: &str, root: &str, path: &str| {
        let rule = ToolRule::parse(rule).unwrap();
        let rule = rule.anchored(&["/w/p"], Effect::Allows).seen_from(root);
        uncovered([&rule], &Call::new(&read, &json!({ "path": path }))).is_none()
    };
    for (rule, root, path, is_allowed) in [
        ("Read(src/**)", "/w/p", "src/a", true),
        ("Read(src/**)", "/w/p", "/w/p/src/a", true),
        ("Read(src/**)", "/w/p/src", "a", true),
        ("Read(src/**)", "/w/p/secret", "src/a", false),
        ("Read(src/**)", "/elsewhere", "src/a", false),
        ("Read(*.md)", "/elsewhere", "a.md", false),
    ] {
        assert_eq!(allows(rule, root, path), is_allowed, "{rule} in {root}: {path}");
    }
    // A copy has the rules of what it was copied from.
    for rule in ["Read(secret/**)", "Read(//w/p/secret/**)"] {
        let rule = ToolRule::parse_denial(rule).unwrap().anchored(&["/w"], Effect::Restricts);
        let rule = match rule.to_string().as_str() {
            "Read(secret/**)" => {
                let rule = ToolRule::parse_denial("Read(secret/**)").unwrap();
                rule.anchored(&["/w/p"], Effect::Restricts)
            }
            _ => rule,
        };
        let rule = rule.seen_from("/copies/1").copied("/w/p", "/copies/1");
        let denies = |path: &str| {
            let whole = format!("/copies/1/{path}");
            rule.denies_file(&read, &RealPath::new(Some(path), &whole))
        };
        assert!(denies("secret/a") && !denies("x/secret/a") && !denies("b"), "{rule}");
    }
}
