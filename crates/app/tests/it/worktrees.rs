//! `isolation: worktree` on real repositories: what is carried over, what comes back, what is left.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{Gate, ScriptedServer, Turn, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::providers::{completes, lab, used};

const AGENTS: &str = r#"{"smith": {"description": "d", "prompt": "You write.", "tools": ["Read", "Write", "shell"], "isolation": "worktree"}}"#;
const RUN: [&str; 8] = ["run", "smith", "do it", "--agents", AGENTS, "--approve", "all", "--json"];

fn shell(command: &str) -> Turn {
    tool_call("call_1", "shell", &json!({ "command": command })).using(used(10))
}

/// A project whose model runs these commands, one a turn, and hands in its answer.
fn yard(commands: &[&str]) -> (ScriptedServer, TestProject) {
    let (server, project) = yard_with(commands, "");
    server.answer(WireApi::Chat.answer(&completes("done")));
    (server, project)
}

/// The same with these settings, whose model does not hand in its answer yet.
fn yard_with(commands: &[&str], settings: &str) -> (ScriptedServer, TestProject) {
    let server = ScriptedServer::start();
    for command in commands {
        server.answer(WireApi::Chat.answer(&shell(command)));
    }
    let project = lab(&server, WireApi::Chat, settings);
    fs::remove_dir(project.root().join(".git")).unwrap();
    (server, project)
}

fn script(server: &ScriptedServer, commands: &[&str]) {
    for command in commands {
        server.answer(WireApi::Chat.answer(&shell(command)));
    }
    server.answer(WireApi::Chat.answer(&completes("done")));
}

fn git_output(project: &TestProject, folder: &Path, arguments: &[&str]) -> Output {
    Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", project.home())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn git_in(project: &TestProject, folder: &Path, arguments: &[&str]) -> String {
    let output = git_output(project, folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn git(project: &TestProject, arguments: &[&str]) -> String {
    git_in(project, &project.root(), arguments)
}

/// A repository with one commit of all that is there.
fn commit_all(project: &TestProject) {
    git(project, &["init", "--quiet", "--initial-branch=main"]);
    git(project, &["add", "--all"]);
    git(project, &["commit", "--quiet", "-m", "first"]);
}

/// Everything a run must leave as it is: files, index, branches, worktrees and stash.
#[derive(Debug, PartialEq)]
struct Books {
    files: BTreeMap<PathBuf, Found>,
    index: Vec<u8>,
    refs: String,
    worktrees: String,
    stash: String,
}

#[derive(Debug, PartialEq, Clone)]
enum Found {
    File(Vec<u8>, bool),
    Link(PathBuf),
}

fn tree(folder: &Path) -> BTreeMap<PathBuf, Found> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                found.insert(name, Found::Link(fs::read_link(&path).unwrap()));
            } else if kind.is_dir() {
                if !path.ends_with(".git") {
                    left.push(path);
                }
            } else if !path.ends_with(".git") {
                let executable = fs::metadata(&path).unwrap().permissions().mode() & 0o100 != 0;
                found.insert(name, Found::File(fs::read(&path).unwrap(), executable));
            }
        }
    }
    found
}

fn books(project: &TestProject) -> Books {
    Books {
        files: tree(&project.root()),
        index: fs::read(project.root().join(".git/index")).unwrap(),
        refs: git(project, &["for-each-ref"]),
        worktrees: git(project, &["worktree", "list", "--porcelain"]),
        stash: git(project, &["stash", "list"]),
    }
}

fn result(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn worktrees_left(project: &TestProject) -> Vec<OsString> {
    let entries = fs::read_dir(project.home().join(".attache/worktrees")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name()).filter(|name| name != ".lock").collect()
}

/// The files of a commit, in a folder.
fn files_of(project: &TestProject, commit: &str) -> BTreeMap<PathBuf, Found> {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("archive.tar");
    git(project, &["archive", "--output", archive.to_str().unwrap(), commit]);
    let out = folder.path().join("files");
    fs::create_dir(&out).unwrap();
    let unpacked = Command::new("tar").arg("xf").arg(&archive).arg("-C").arg(&out).status();
    assert!(unpacked.unwrap().success());
    tree(&out)
}

/// A working tree with every kind of change that git knows.
fn dirty(project: &TestProject) {
    for name in ["staged", "unstaged", "gone", "renamed old", "mode", "both", "removed"] {
        project.file(&format!("{name}.txt"), format!("{name} one\n"));
    }
    project.file(".gitignore", "ignored*\nbuild/\n");
    symlink("staged.txt", project.root().join("link")).unwrap();
    let other = project.home().join("other");
    fs::create_dir(&other).unwrap();
    git_in(project, &other, &["init", "--quiet"]);
    fs::write(other.join("inner.txt"), "inner\n").unwrap();
    git_in(project, &other, &["add", "--all"]);
    git_in(project, &other, &["commit", "--quiet", "-m", "inner"]);
    commit_all(project);
    let other = other.to_str().unwrap().to_owned();
    git(project, &["submodule", "--quiet", "add", &other, "sub"]);
    git(project, &["commit", "--quiet", "-m", "sub"]);
    project.file("stashed.txt", "stashed");
    git(project, &["stash", "push", "--quiet", "--include-untracked"]);

    let root = project.root();
    project.file("staged.txt", "staged two\n");
    git(project, &["add", "staged.txt"]);
    project.file("both.txt", "both staged\n");
    git(project, &["add", "both.txt"]);
    project.file("both.txt", "both unstaged\n");
    project.file("unstaged.txt", b"unstaged \xff two\n");
    fs::remove_file(root.join("gone.txt")).unwrap();
    git(project, &["rm", "--quiet", "removed.txt"]);
    git(project, &["mv", "renamed old.txt", "renamed new.txt"]);
    fs::set_permissions(root.join("mode.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(root.join("link")).unwrap();
    symlink("elsewhere/none", root.join("link")).unwrap();
    project.file("untracked/new file.txt", "new\n");
    project.file("new\nline\t\"quoted\".txt", "odd\n");
    fs::write(root.join(OsStr::from_bytes(b"latin-\xe9.txt")), "latin\n").unwrap();
    project.file("bin.dat", [0, 159, 146, 150, 0, 10]);
    project.file("ignored.log", "ignored\n");
    project.file("build/out.o", "built\n");
    project.file("nested/inner.txt", "a repository of its own\n");
    git_in(project, &root.join("nested"), &["init", "--quiet"]);
    project.file("sub/inner.txt", "dirty in the submodule\n");
}

/// What of the parent's files a worktree starts with.
fn carried(mut files: BTreeMap<PathBuf, Found>) -> BTreeMap<PathBuf, Found> {
    let left_out = ["ignored.log", "build", "nested", "sub"];
    files.retain(|path, _| !left_out.iter().any(|name| path.starts_with(name)));
    files
}

#[test]
fn outside_of_a_repository_it_is_an_error_before_any_model_is_called() {
    let (server, project) = yard(&[]);
    let ran = project.run(&RUN);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("needs a git repository"), "{ran:?}");
    git(&project, &["init", "--quiet"]);
    let ran = project.run(&RUN);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("needs a commit to start from"), "{ran:?}");
    commit_all(&project);
    let ran = Command::new(env!("CARGO_BIN_EXE_attache"))
        .args(RUN)
        .current_dir(project.root())
        .env_clear()
        .env("HOME", project.home())
        .env("LAB_KEY", "k")
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("there is no `git` in PATH"), "{said}");
    assert_eq!(server.requests().len(), 0);
    assert_eq!(worktrees_left(&project), [""; 0]);
}

#[test]
fn an_unchanged_worktree_leaves_nothing() {
    // What git ignores does not count as a change.
    let (server, project) =
        yard(&["echo x > ignored.new && cat both.txt 'untracked/new file.txt'"]);
    dirty(&project);
    let before = books(&project);
    let ran = project.run(&RUN);
    let result = result(&ran);
    assert_eq!((ran.code, &result["changes"]), (Some(0), &Value::Null), "{ran:?}");
    assert_eq!(project.json(&["output", "last", "--json"])["changes"], Value::Null);
    let told = String::from_utf8_lossy(&server.requests()[1].body).into_owned();
    assert!(told.contains(r"both unstaged\nnew\n"), "{told}");
    assert_eq!(books(&project), before);
    assert_eq!(worktrees_left(&project), [""; 0]);
}

#[test]
fn a_dirty_parent_is_carried_over_and_the_changes_come_back_as_branch_and_patch() {
    let commands = [
        "echo more >> both.txt; rm unstaged.txt; mv mode.txt 'moved here.txt'; chmod +x staged.txt",
        "printf '\\0\\1' >> bin.dat; ln -sf x link; printf 'caf\\351\\n' > \"$(printf 'n\\351w.txt')\"; \
         rm new*line*; echo secret > ignored.log; git init -q clone 2>/dev/null; echo y > 'a b.txt'",
    ];
    let (_server, project) = yard(&commands);
    dirty(&project);
    let before = books(&project);
    let ran = project.run(&RUN);
    let result = result(&ran);
    let changes = &result["changes"];
    let id = result["agent_id"].as_str().unwrap();
    let branch = changes["branch"].as_str().unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(branch, format!("attache/{id}"));
    assert_eq!(&project.json(&["output", id, "--json"])["changes"], changes);
    let files: Vec<_> =
        changes["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect();
    for file in
        ["both.txt", "unstaged.txt", "mode.txt", "moved here.txt", "bin.dat", "link", "a b.txt"]
    {
        assert!(files.contains(&file), "{file}: {files:?}");
    }
    assert!(
        !files.iter().any(|file| file.contains("ignored") || file.contains("clone")),
        "{files:?}"
    );

    let after = books(&project);
    assert_eq!((&after.files, &after.index), (&before.files, &before.index));
    assert_eq!((&after.worktrees, &after.stash), (&before.worktrees, &before.stash));
    let added: Vec<_> = after.refs.lines().filter(|line| !before.refs.contains(line)).collect();
    assert!(matches!(added[..], [line] if line.ends_with(branch)), "{added:?}");
    assert_eq!(worktrees_left(&project), [""; 0]);

    // The branch starts with the files as they were, submodule included.
    let start = format!("{branch}^");
    assert_eq!(files_of(&project, &start), carried(before.files.clone()));
    assert!(git(&project, &["ls-tree", &start, "sub"]).starts_with("160000 commit"));
    let who = git(&project, &["log", "-2", "--format=%an <%ae> %cn", branch]);
    assert_eq!(who, "attache <attache@localhost> attache\n".repeat(2));

    // The patch leads from the parent's files to those of the branch.
    let patch = changes["patch"].as_str().unwrap();
    git(&project, &["apply", "--check", patch]);
    git(&project, &["apply", patch]);
    assert_eq!(carried(tree(&project.root())), files_of(&project, branch));

    // It is printed as it was kept, and so is its reverse: it has what commands wrote, too.
    let printed = project.command(&["transcript", id, "--diff"]).output().unwrap();
    assert_eq!(printed.stdout, fs::read(patch).unwrap(), "{printed:?}");
    let reverse = project.command(&["transcript", id, "--diff", "--reverse"]).output().unwrap();
    project.file("reverse.patch", reverse.stdout);
    git(&project, &["apply", "reverse.patch"]);
    fs::remove_file(project.root().join("reverse.patch")).unwrap();
    assert_eq!(carried(tree(&project.root())), carried(before.files));
}

#[test]
fn nothing_in_a_repository_starts_a_program() {
    let (_server, project) = yard(&["echo two >> one.txt; echo new > new.txt"]);
    project.file("one.txt", "one\n");
    project.file(".gitattributes", "* filter=evil diff=evil\n");
    let other = project.home().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("inner.txt"), "inner\n").unwrap();
    git_in(&project, &other, &["init", "--quiet"]);
    git_in(&project, &other, &["add", "--all"]);
    git_in(&project, &other, &["commit", "--quiet", "-m", "inner"]);
    commit_all(&project);
    git(&project, &["submodule", "--quiet", "add", other.to_str().unwrap(), "sub"]);
    git(&project, &["commit", "--quiet", "-m", "sub"]);
    let marks = project.home().join("marks");
    fs::create_dir(&marks).unwrap();
    let trap = |name: &str, then: &str| {
        let path = project.home().join(format!("trap-{name}"));
        let text = format!("#!/bin/sh\necho x >> '{}/{name}'\n{then}\n", marks.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    for (key, name, then) in [
        ("filter.evil.clean", "clean", "cat"),
        ("filter.evil.smudge", "smudge", "cat"),
        ("core.fsmonitor", "fsmonitor", ""),
        ("diff.evil.textconv", "textconv", "cat \"$1\""),
        ("diff.external", "external", ""),
        ("core.pager", "pager", "cat"),
        ("core.sshCommand", "ssh", ""),
        ("core.editor", "editor", ""),
        ("gpg.program", "gpg", "exit 1"),
    ] {
        git(&project, &["config", key, &trap(name, then)]);
    }
    git(&project, &["config", "filter.evil.required", "true"]);
    git(&project, &["config", "commit.gpgSign", "true"]);
    let inner = project.root().join("sub");
    git_in(&project, &inner, &["config", "core.fsmonitor", &trap("submodule", "")]);
    for hook in
        ["post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit"]
    {
        fs::create_dir_all(project.root().join(".git/hooks")).unwrap();
        let trap = trap(&format!("hook-{hook}"), "");
        fs::copy(&trap, project.root().join(".git/hooks").join(hook)).unwrap();
    }
    project.file("one.txt", "one, changed\n");

    let ran = project.run(&RUN);
    let result = result(&ran);
    assert_eq!(result["changes"]["files"], json!(["new.txt", "one.txt"]), "{ran:?}");
    let marked = || -> Vec<_> {
        let entries = fs::read_dir(&marks).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(marked(), [""; 0]);
    // The traps work: plain git falls into them.
    for arguments in [
        &["status"][..],
        &["add", "--all"],
        &["diff", "--cached"],
        &["-c", "diff.external=", "show", "--textconv"],
        &["checkout", "--quiet", "-b", "b"],
        &["worktree", "add", "../tree"],
    ] {
        git_output(&project, &project.root(), arguments);
    }
    let marked = marked();
    for name in ["clean", "smudge", "fsmonitor", "submodule", "hook-post-checkout"] {
        assert!(marked.contains(&name.to_owned()), "{name}: {marked:?}");
    }
}

#[test]
fn filters_of_the_user_stay_on() {
    let (_server, project) = yard(&["cat one.txt; echo LOUD >> one.txt"]);
    project.file("~/.gitconfig", "[filter \"quiet\"]\nclean = tr A-Z a-z\nsmudge = tr a-z A-Z\n");
    project.file(".gitattributes", "one.txt filter=quiet\n");
    project.file("one.txt", "ONE\n");
    commit_all(&project);
    assert_eq!(git(&project, &["show", "HEAD:one.txt"]), "one\n");
    let changes = result(&project.run(&RUN))["changes"].clone();
    let branch = changes["branch"].as_str().unwrap();
    assert_eq!(git(&project, &["show", &format!("{branch}:one.txt")]), "one\nloud\n");
    assert_eq!(changes["files"], json!(["one.txt"]));
}

#[test]
fn a_run_in_a_folder_below_works_in_that_folder_and_git_works_there() {
    let (server, project) = yard(&[
        "pwd; cat here.txt ../../one.txt; git status --short; git log --oneline | wc -l; echo x > new.txt",
        "echo x >> ../../.git && echo wrote-$((40 + 2))",
    ]);
    project.file("one.txt", "above\n");
    project.file("deep/er/here.txt", "here\n");
    commit_all(&project);
    let ran = project.run_in("deep/er", &RUN);
    let result = result(&ran);
    assert_eq!(result["changes"]["files"], json!(["new.txt"]), "{ran:?}");
    let told = String::from_utf8_lossy(&server.requests()[1].body).into_owned();
    let id = result["agent_id"].as_str().unwrap();
    assert!(told.contains(&format!("worktrees/{id}/deep/er\\nhere\\nabove\\n1\\n")), "{told}");
    let branch = result["changes"]["branch"].as_str().unwrap();
    assert_eq!(git(&project, &["show", &format!("{branch}:deep/er/new.txt")]), "x\n");
}

#[test]
fn a_resumed_run_goes_on_in_its_worktree() {
    let (server, project) = yard(&["echo first > first.txt"]);
    project.file("one.txt", "one\n");
    commit_all(&project);
    project.file("dirty.txt", "dirty\n");
    let first = result(&project.run(&RUN));
    let id = first["agent_id"].as_str().unwrap();
    script(&server, &["cat first.txt dirty.txt && echo second > second.txt"]);
    let again = ["run", "--resume", id, "more", "--agents", AGENTS, "--approve", "all", "--json"];
    let ran = project.run(&again);
    let second = result(&ran);
    assert_eq!(second["changes"]["branch"], first["changes"]["branch"], "{ran:?}");
    assert_eq!(second["changes"]["files"], json!(["first.txt", "second.txt"]));
    let told = String::from_utf8_lossy(&server.requests()[3].body).into_owned();
    assert!(told.contains(r"first\ndirty\n"), "{told}");
    let patch = second["changes"]["patch"].as_str().unwrap();
    git(&project, &["apply", patch]);
    assert!(project.root().join("second.txt").exists());
    assert_eq!(worktrees_left(&project), [""; 0]);
    // A run that changed nothing has no branch: going on begins with the files of today.
    script(&server, &["true"]);
    let third = result(&project.run(&RUN));
    assert_eq!(third["changes"], Value::Null);
    script(&server, &["cat second.txt > third.txt"]);
    let id = third["agent_id"].as_str().unwrap();
    let again = ["run", "--resume", id, "more", "--agents", AGENTS, "--approve", "all", "--json"];
    let fourth = result(&project.run(&again));
    assert_eq!(fourth["changes"]["files"], json!(["third.txt"]));
}

/// Starts a run that is killed after its first command; gives its id.
fn killed(server: &ScriptedServer, project: &TestProject, command: &str) -> String {
    let before = server.requests().len();
    server.answer(WireApi::Chat.answer(&shell(command)));
    server.answer(WireApi::Chat.answer(&completes("never")).gated(&Gate::new(), 0));
    let mut command = project.command(&RUN);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    server.wait_for_request(before + 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let left = worktrees_left(project);
    let lease = left.iter().find(|name| name.as_bytes().ends_with(b".json")).unwrap();
    lease.to_str().unwrap().trim_end_matches(".json").to_owned()
}

#[test]
fn a_killed_run_leaves_its_worktree_to_be_resumed() {
    let (server, project) = yard(&["true"]);
    project.file("one.txt", "one\n");
    commit_all(&project);
    project.run(&RUN);
    let id = killed(&server, &project, "echo half > half.txt");
    // It can be resumed, so it stays.
    let cleaned = project.json(&["clean", "--json"]);
    assert_eq!(cleaned["worktrees"], json!([]), "{cleaned}");
    script(&server, &["cat half.txt && echo rest > rest.txt"]);
    let again = ["run", "--resume", &id, "--agents", AGENTS, "--approve", "all", "--json"];
    let ran = project.run(&again);
    let result = result(&ran);
    assert_eq!(result["changes"]["files"], json!(["half.txt", "rest.txt"]), "{ran:?}");
    assert_eq!(worktrees_left(&project), [""; 0]);
    assert_eq!(git(&project, &["worktree", "list"]).lines().count(), 1);
}

/// Somebody who looks at what an agent did does not find their files out of step when it goes on.
#[test]
fn a_branch_that_somebody_has_checked_out_stays_as_it_is() {
    let (server, project) = yard(&["echo half > half.txt"]);
    project.file("one.txt", "one\n");
    commit_all(&project);
    let first = result(&project.run(&RUN));
    let branch = first["changes"]["branch"].as_str().unwrap();
    git(&project, &["checkout", "--quiet", branch]);
    let before = git(&project, &["rev-parse", "HEAD"]);
    script(&server, &["cat half.txt && echo rest > rest.txt"]);
    let id = first["agent_id"].as_str().unwrap();
    let again = ["run", "--resume", id, "--agents", AGENTS, "--approve", "all", "--json"];
    let second = result(&project.run(&again));
    assert_eq!(second["changes"]["files"], json!(["half.txt", "rest.txt"]), "{second}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    assert_eq!(git(&project, &["rev-parse", "HEAD"]), before);
    let own = format!("attache/{}", second["agent_id"].as_str().unwrap());
    assert_eq!(second["changes"]["branch"], own.as_str());
    assert_eq!(git(&project, &["show", &format!("{own}:rest.txt")]), "rest\n");
}

#[test]
fn an_agent_whose_branch_is_gone_goes_on_with_its_files_and_that_is_said() {
    let (server, project) = yard(&["echo half > half.txt"]);
    project.file("one.txt", "one\n");
    commit_all(&project);
    let first = result(&project.run(&RUN));
    git(&project, &["branch", "-D", first["changes"]["branch"].as_str().unwrap()]);
    script(&server, &["cat half.txt && echo rest > rest.txt"]);
    let id = first["agent_id"].as_str().unwrap();
    let again = ["run", "--resume", id, "--agents", AGENTS, "--approve", "all", "--json"];
    let ran = project.run(&again);
    let notice =
        format!("the branch attache/{id} is gone: the agent goes on with the files it had");
    assert!(ran.stderr.contains(&notice), "{ran:?}");
    let second = result(&ran);
    assert_eq!(second["changes"]["files"], json!(["half.txt", "rest.txt"]), "{second}");
    let own = format!("attache/{}", second["agent_id"].as_str().unwrap());
    assert_eq!(second["changes"]["branch"], own.as_str());
    // One that changed nothing never had a branch to keep.
    script(&server, &["true"]);
    let idle = result(&project.run(&RUN));
    script(&server, &["true"]);
    let ran =
        project.run(&["run", "--resume", idle["agent_id"].as_str().unwrap(), "--agents", AGENTS]);
    assert!(!ran.stderr.contains("is gone"), "{ran:?}");
}

#[test]
fn people_are_told_where_the_changes_are() {
    let (_server, project) = yard(&["echo half > half.txt"]);
    project.file("one.txt", "one\n");
    commit_all(&project);
    let ran = project.run(&RUN[..RUN.len() - 1]);
    let told = |said: &str| {
        let line = said.lines().find(|line| line.starts_with("changes: 1 file on branch attache/"));
        assert!(line.is_some_and(|line| line.ends_with(" --diff | git apply")), "{said}");
    };
    told(&ran.stderr);
    told(&project.run(&["output", "last"]).stderr);
}

#[test]
fn worktrees_without_a_run_are_cleaned_up_and_their_changes_kept() {
    let (server, project) = yard(&["true"]);
    project.file("one.txt", "one\n");
    commit_all(&project);
    project.run(&RUN);
    let id = killed(&server, &project, "echo half > half.txt");
    let directory = project.home().join(".attache/worktrees").join(&id);
    let ran = project.run(&["clean", "--older-than", "0s", "--dry-run"]);
    assert!(ran.stdout.contains("would remove the worktree") && directory.exists(), "{ran:?}");
    let ran = project.run(&["clean", "--older-than", "0s"]);
    assert!(ran.stdout.contains("removed the worktree") && !directory.exists(), "{ran:?}");
    assert_eq!(worktrees_left(&project), [""; 0]);
    assert_eq!(git(&project, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(git(&project, &["show", &format!("attache/{id}:half.txt")]), "half\n");
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let (server, project) = yard(&[]);
    server.always(WireApi::Chat.answer(&completes("done")));
    project.file("one.txt", "one\n");
    commit_all(&project);
    project.file("dirty.txt", "dirty\n");
    let before = books(&project);
    let children: Vec<_> = (0..8)
        .map(|_| {
            project.command(&RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    assert_eq!(books(&project), before);
    assert_eq!(worktrees_left(&project), [""; 0]);
}

#[test]
fn children_of_one_run_work_in_worktrees_at_once() {
    let (server, project) = yard_with(&[], "[subagents]\nmax_depth = 2\n");
    let asked = json!({"subagent_type": "smith", "prompt": "work", "description": "do the work"});
    let fan_out = (1..=8).fold(Turn::empty(), |turn, number| {
        turn.then_tool_call(&format!("call_{number}"), "Task", &asked)
    });
    server.answer(WireApi::Chat.answer(&fan_out.using(used(10))));
    server.always(WireApi::Chat.answer(&completes("done")));
    project.file("one.txt", "one\n");
    commit_all(&project);
    project.file("dirty.txt", "dirty\n");
    let before = books(&project);
    let boss = r#"{"description": "d", "prompt": "You delegate.", "tools": ["Task", "Read", "Write", "shell"]}"#;
    let agents = format!("{}, \"boss\": {boss}}}", AGENTS.trim_end_matches('}').to_owned() + "}");
    let run = ["run", "boss", "do it", "--agents", &agents, "--approve", "all", "--json"];
    let ran = project.run(&run);
    let result = result(&ran);
    assert_eq!(
        (&result["status"], &result["tree"]["agents"]),
        (&json!("goal"), &json!(9)),
        "{ran:?}"
    );
    let told = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert_eq!(told.matches(r#"\"status\":\"goal\""#).count(), 8, "{told}");
    assert_eq!(books(&project), before);
    assert_eq!(worktrees_left(&project), [""; 0]);
}

#[test]
fn a_branch_begins_with_the_files_of_its_turn() {
    let (server, project) = yard(&["echo 1 > one", "echo 2 > two; rm first.txt", "echo 3 > three"]);
    project.file("first.txt", "first\n");
    commit_all(&project);
    let run = result(&project.run(&RUN));
    let id = run["agent_id"].as_str().unwrap();
    let before = books(&project);
    let branch_at = |turn: &str, command: &str| {
        script(&server, &[command]);
        let ran = project.run(&[
            "run",
            "--resume",
            id,
            "--at",
            turn,
            "go on",
            "--agents",
            AGENTS,
            "--approve",
            "all",
            "--json",
        ]);
        let branch = result(&ran)["changes"]["branch"].as_str().unwrap().to_owned();
        let files = files_of(&project, &branch).into_keys();
        let files: Vec<String> = files.map(|path| path.display().to_string()).collect();
        (files.into_iter().filter(|name| !name.contains('/')).collect::<Vec<_>>().join(" "), ran)
    };
    let (files, ran) = branch_at("1", "echo 4 > four");
    assert_eq!(files, "first.txt four one", "{ran:?}");
    assert!(!ran.stderr.contains("were not kept"), "{ran:?}");
    let (files, _) = branch_at("2", "echo 4 > four");
    assert_eq!(files, "four one two");
    // A branch can be branched off as well, and what it began with counts.
    let branch = project.json(&["tasks", "--all", "--json"])[0]["agent_id"].clone();
    script(&server, &["echo 5 > five"]);
    let again = result(&project.run(&[
        "run",
        "--resume",
        branch.as_str().unwrap(),
        "--at",
        "1",
        "go on",
        "--agents",
        AGENTS,
        "--approve",
        "all",
        "--json",
    ]));
    let again = files_of(&project, again["changes"]["branch"].as_str().unwrap());
    for (name, is_there) in [("two", true), ("four", true), ("five", true), ("three", false)] {
        assert_eq!(again.contains_key(Path::new(name)), is_there, "{name}");
    }
    // Nothing of the project has changed but its branches.
    let after = books(&project);
    assert_eq!(
        (&after.files, &after.index, &after.stash),
        (&before.files, &before.index, &before.stash)
    );
    // A transcript of an earlier version does not tell; the caller is told.
    let transcript = run["transcript"].as_str().unwrap();
    let lines = fs::read_to_string(transcript).unwrap();
    let without: String = lines.lines().filter(|line| !line.contains("files_kept")).fold(
        String::new(),
        |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        },
    );
    assert_ne!(lines, without);
    fs::write(transcript, without).unwrap();
    let (files, ran) = branch_at("1", "echo 4 > four");
    assert_eq!(files, "four one three two");
    assert!(ran.stderr.contains("the files after turn 1 were not kept"), "{ran:?}");
    server.assert_done();
}

#[test]
fn what_may_not_be_read_may_not_be_read_in_the_copy() {
    let server = ScriptedServer::start();
    let project = lab(&server, WireApi::Chat, "");
    fs::remove_dir(project.root().join(".git")).unwrap();
    let root = project.root().display().to_string();
    let settings = fs::read_to_string(project.home().join(".attache/config.toml")).unwrap();
    let deny = format!("sandbox_deny_read = [\"{root}/vault\"]\n");
    let rules =
        format!("\n[permissions]\ndeny = [\"Read(secret/**)\", \"Read(/{root}/absolute/**)\"]\n");
    project.file("~/.attache/config.toml", format!("{deny}{settings}{rules}"));
    for folder in ["secret", "absolute", "vault"] {
        project.file(&format!("{folder}/v"), "SWORD".to_owned() + "FISH\n");
    }
    project.file("open", "free to read\n");
    commit_all(&project);
    let script_of = |folder: &str| {
        format!("python3 -c \"print(open('{folder}/v').read())\"; cat open; echo ended")
    };
    let commands: Vec<String> =
        ["secret", "absolute", "vault"].iter().map(|folder| script_of(folder)).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    for folder in ["secret", "absolute", "vault"] {
        let call = tool_call("call_1", "Read", &json!({"path": format!("{folder}/v")}));
        server.answer(WireApi::Chat.answer(&call.using(used(10))));
    }
    script(&server, &commands);
    let ran = project.run(&RUN);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told = String::from_utf8_lossy(&server.requests().last().unwrap().body).into_owned();
    assert!(told.contains("free to read"), "{told}");
    assert!(!told.contains("SWORDFISH"), "{told}");
}
