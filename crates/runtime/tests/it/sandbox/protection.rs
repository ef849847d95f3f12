//! Protected paths: existing or not, they are as they were after any command.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, symlink},
    },
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use attache_runtime::internal::sandbox::Mode;

use super::{Yard, has_namespaces, sandbox, shown};

/// Runs git in the yard's workspace, outside of the sandbox.
fn git(yard: &Yard, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    git.args(arguments).current_dir(&yard.policy.workspace).env("HOME", yard.top.path());
    assert!(git.stdout(Stdio::null()).status().unwrap().success(), "git {arguments:?}");
}

#[test]
fn a_workspace_whose_name_is_not_utf8_is_confined_like_any_other() {
    let mut yard = Yard::new();
    let odd = yard.policy.workspace.join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&odd).unwrap();
    yard.policy.workspace = odd;
    let output = yard.run("echo x > inside; echo x > ../outside; echo x > .mcp.json; true");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(yard.inside("inside").exists(), "{}", shown(&output));
    assert!(!yard.inside("../outside").exists(), "{}", shown(&output));
    assert!(!yard.inside(".mcp.json").is_file(), "{}", shown(&output));
}

#[test]
fn missing_ones_cannot_be_created() {
    if !has_namespaces() {
        return;
    }
    for (script, at) in [
        ("mkdir -p .claude/agents && echo x > .claude/agents/evil.md", ".claude"),
        ("echo '{}' > .mcp.json", ".mcp.json"),
        ("mkdir -p .github/agents && echo x > .github/agents/evil.agent.md", ".github"),
        ("git init . && echo x > .git/hooks/pre-commit", ".git"),
        ("mkdir a && echo x > a/config.toml && mv a .attache", ".attache"),
        ("echo x > a && ln a .codex", ".codex"),
        ("ln -s /etc .gemini", ".gemini"),
        ("rmdir .cursor && mkdir .cursor", ".cursor"),
        ("mv .wave b && mkdir .wave", ".wave"),
    ] {
        let yard = Yard::new();
        let outside = Yard::new();
        let prepared = script.replace("rmdir .cursor && ", "").replace("mv .wave b && ", "");
        let mut control = Command::new("sh");
        control.args(["-c", &prepared]).current_dir(&outside.policy.workspace);
        assert!(control.output().unwrap().status.success(), "the control: {script}");
        assert!(outside.inside(at).symlink_metadata().is_ok(), "the control: {script}");

        let output = yard.run(script);
        assert!(!output.status.success(), "{script}: {}", shown(&output));
        assert!(yard.inside(at).symlink_metadata().is_err(), "{script}: {:?}", yard.names());
    }
}

#[test]
fn nothing_is_left_of_the_placeholders() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    let output = yard.run("echo made > made; test -d .claude");
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(yard.names(), ["made"]);
}

#[test]
fn commands_share_placeholders() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    let sandbox = sandbox();
    thread::scope(|scope| {
        for number in 0..8 {
            let (yard, sandbox) = (&yard, &sandbox);
            let _handle = scope.spawn(move || {
                for _ in 0..5 {
                    let output = yard.command(sandbox, "mkdir .claude/agents").output().unwrap();
                    let text = shown(&output);
                    assert!(text.contains("Read-only file system"), "{number}: {text}");
                }
            });
        }
    });
    assert_eq!(yard.names(), Vec::<String>::new());
}

#[test]
fn placeholders_of_a_killed_supervisor_are_removed_by_the_next() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    let sandbox = sandbox();
    let mut command = yard.command(&sandbox, "echo started; exec sleep 1000");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut stdout, &mut [0; 8]).unwrap();
    child.kill().unwrap();
    let _status = child.wait().unwrap();
    assert!(
        yard.names().contains(&".claude".to_owned()),
        "a SIGKILL leaves them: {:?}",
        yard.names()
    );
    assert!(yard.run("true").status.success());
    assert_eq!(yard.names(), Vec::<String>::new());
}

#[test]
fn placeholders_of_a_killed_supervisor_are_removed_with_its_run() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    let sandbox = sandbox();
    let mut killed = yard.command(&sandbox, "echo ready; exec sleep 1000");
    let mut killed = killed.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(killed.stdout.take().unwrap());
    let _length = output.read_line(&mut line).unwrap();
    killed.kill().unwrap();
    let _status = killed.wait().unwrap();
    let _end = output.read_line(&mut line).unwrap();
    assert!(yard.inside(".claude").is_dir());

    let mut other = yard
        .command(&sandbox, "echo ready; read line")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(other.stdout.take().unwrap());
    let _length = output.read_line(&mut line).unwrap();
    sandbox.remove_leftovers(&yard.policy);
    assert!(yard.inside(".claude").is_dir(), "another command holds it");
    drop(other.stdin.take());
    let _status = other.wait().unwrap();
    assert_eq!(yard.names(), [""; 0]);

    fs::create_dir(yard.inside(".claude")).unwrap();
    sandbox.remove_leftovers(&yard.policy);
    assert_eq!(yard.names(), [".claude"], "somebody made it");
}

#[test]
fn spare_placeholders_are_used_again_and_only_while_they_are_empty() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    let spares = yard.beside("home/placeholders");
    let sandbox = sandbox().keeping_spares_in(spares.clone());
    let kept = || -> Vec<(PathBuf, u64)> {
        let entries = fs::read_dir(&spares).unwrap().map(Result::unwrap);
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().ino())).collect()
    };
    let inodes = || kept().into_iter().map(|(_, inode)| inode).collect::<BTreeSet<u64>>();
    let run = |script: &str| yard.command(&sandbox, script).output().unwrap();

    let output = run("test -d .claude && ! mkdir .claude/agents");
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(yard.names(), [""; 0]);
    let first = inodes();
    assert!(first.len() > 5, "{first:?}");

    let output = run("test -d .claude && ! mkdir .claude/agents");
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!((yard.names(), inodes()), (Vec::new(), first));

    for (spare, _) in kept() {
        fs::create_dir(spare.join("agents")).unwrap();
    }
    let output = run("test -d .claude && ! test -e .claude/agents");
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(yard.names(), [""; 0]);
}

#[test]
fn what_others_create_in_a_placeholder_stays() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    let mut command = yard.command(&sandbox(), "echo started; read line");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    std::io::Read::read_exact(&mut stdout, &mut [0; 8]).unwrap();
    fs::write(yard.inside(".claude/settings.json"), "{}").unwrap();
    drop(child.stdin.take());
    let _status = child.wait().unwrap();
    assert_eq!(yard.names(), [".claude"]);
    assert!(yard.inside(".claude/settings.json").is_file());
}

#[test]
fn existing_ones_stay_as_they_are() {
    if !has_namespaces() {
        return;
    }
    let yard = Yard::new();
    git(&yard, &["init", "-q", "."]);
    fs::create_dir_all(yard.inside(".github/workflows")).unwrap();
    fs::create_dir_all(yard.inside("elsewhere")).unwrap();
    symlink("elsewhere", yard.inside(".codex")).unwrap();
    fs::write(yard.inside(".mcp.json"), "{}").unwrap();
    for script in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "mv .git old",
        "rm -rf .git/hooks",
        "chmod 777 .git/config",
        "echo x > .mcp.json",
        "mv .mcp.json old",
        "mv .github old",
        "mkdir .github/agents/x",
        "rm .codex",
        "mv .codex old",
        "echo x > .codex/agents.toml",
        "echo x > elsewhere/agents.toml",
        "mv elsewhere old",
    ] {
        let output = yard.run(script);
        assert!(!output.status.success(), "{script}: {}", shown(&output));
    }
    let output = yard.run("echo x > .github/workflows/ci.yml && echo x > .gitignore && git status");
    assert!(output.status.success(), "the rest is writable: {}", shown(&output));
    let names = [".codex", ".git", ".github", ".gitignore", ".mcp.json", "elsewhere"];
    assert_eq!(yard.names(), names);
}

#[test]
fn writable_git_opens_all_but_what_runs_programs() {
    if !has_namespaces() {
        return;
    }
    let mut yard = Yard::new();
    git(&yard, &["init", "-q", "."]);
    let commit = "echo x > a && git add a && git -c user.name=a -c user.email=a@b commit -qm x";
    assert!(!yard.run(commit).status.success(), "a commit has to be escalated");
    yard.policy.writable_git = true;
    let output = yard.run(commit);
    assert!(output.status.success(), "{}", shown(&output));
    for script in [
        "echo x > .git/hooks/pre-commit",
        "rm -rf .git/hooks",
        "mv .git/hooks old",
        "echo x >> .git/config",
        "echo x > new && mv new .git/config",
        "mkdir -p .git/modules/evil",
        "echo ../evil > .git/commondir",
        "rm .git/commondir",
        "echo '[core]' > .git/config.worktree",
        "echo '* filter=evil' > .git/info/attributes",
        "mkdir -p .git/worktrees/evil",
        "mv .git old",
    ] {
        let output = yard.run(script);
        assert!(!output.status.success(), "{script}: {}", shown(&output));
    }
    git(&yard, &["fsck"]);
    for placeholder in ["commondir", "config.worktree", "modules", "worktrees"] {
        let path = yard.inside(".git").join(placeholder);
        assert!(path.symlink_metadata().is_err(), "{placeholder} is left");
    }
}

#[test]
fn those_that_lie_deeper_stay_as_they_are() {
    if !has_namespaces() {
        return;
    }
    let mut yard = Yard::new();
    for directory in ["vendor/lib", "a/.claude/agents", "a/.github/agents"] {
        fs::create_dir_all(yard.inside(directory)).unwrap();
    }
    git(&yard, &["init", "-q", "vendor/lib"]);
    fs::write(yard.inside("a/.mcp.json"), "{}").unwrap();
    for script in [
        "echo x > vendor/lib/.git/hooks/pre-commit",
        "git -C vendor/lib config core.fsmonitor evil",
        "mv vendor/lib/.git old",
        "mv vendor old",
        "mv vendor/lib old",
        "echo x > a/.claude/agents/evil.md",
        "echo x > a/.github/agents/evil.agent.md",
        "echo x > a/.mcp.json",
    ] {
        let output = yard.run(script);
        assert!(!output.status.success(), "{script}: {}", shown(&output));
    }
    let output =
        yard.run("echo x > vendor/lib/b && echo x > a/.github/c && git -C vendor/lib status");
    assert!(output.status.success(), "the rest is writable: {}", shown(&output));
    yard.policy.writable_git = true;
    let output = yard.run("git -C vendor/lib add b && ! echo x > vendor/lib/.git/hooks/pre-commit");
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn further_roots_are_writable_and_protected() {
    if !has_namespaces() {
        return;
    }
    let mut yard = Yard::new();
    let further = yard.beside("further");
    fs::create_dir(&further).unwrap();
    assert!(!yard.run("echo x > ../further/a").status.success());
    yard.policy.writable_roots = vec![further, yard.beside("missing")];
    let output = yard.run("echo x > ../further/a");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!yard.run("mkdir -p ../further/.claude/agents").status.success());
    yard.policy.mode = Mode::ReadOnly;
    assert!(!yard.run("echo x > ../further/a").status.success(), "read-only is read-only");
    assert!(!yard.run("echo x > a").status.success());
    assert!(yard.run("echo x > $TMPDIR/a").status.success());
}

#[test]
fn workspace_in_a_hidden_directory_is_there() {
    if !has_namespaces() {
        return;
    }
    let mut yard = Yard::new();
    fs::write(yard.beside("secret"), "key").unwrap();
    yard.policy.deny_read = vec![yard.top.path().to_owned()];
    let output = yard.run("echo x > a && cat a && echo x > $TMPDIR/b");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(!yard.run("cat ../secret").status.success());
    assert!(!yard.run("ls ..").status.success());
    assert!(!yard.run("echo x > ../new").status.success());
    yard.policy.deny_read = vec![yard.inside("a"), yard.beside("missing")];
    let output = yard.run("cat a");
    assert!(shown(&output).contains("Permission denied"), "{}", shown(&output));
}
