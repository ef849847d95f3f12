//! What a run changed: in its result, in its transcript, and as a patch that git takes both ways.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use attache_testkit::{
    project::{Ran, TestProject},
    scripted_server::{ScriptedServer, Turn, WireApi, tool_call},
};
use serde_json::{Value, json};

use crate::providers::{completes, lab};

const AGENTS: &str = r#"{"smith": {"description": "d", "prompt": "You write.", "tools": ["Read", "Write", "Edit", "apply_patch"]}}"#;
const RUN: [&str; 8] = ["run", "smith", "do it", "--agents", AGENTS, "--approve", "all", "--json"];

fn call(tool: &str, arguments: &Value) -> Turn {
    tool_call("call_1", tool, arguments)
}

/// A project whose model makes these calls, one a turn, and hands in its answer.
fn project(calls: impl IntoIterator<Item = Turn>) -> (ScriptedServer, TestProject) {
    let server = ScriptedServer::start();
    for turn in calls.into_iter().chain([completes("done")]) {
        server.answer(WireApi::Chat.answer(&turn));
    }
    let project = lab(&server, WireApi::Chat, "");
    (server, project)
}

fn result(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The files below a folder with their content and whether they are executable.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with(".git") {
                    left.push(path);
                }
                continue;
            }
            let executable = fs::metadata(&path).unwrap().permissions().mode() & 0o100 != 0;
            let content = fs::read(&path).unwrap();
            found.insert(path.strip_prefix(folder).unwrap().to_owned(), (content, executable));
        }
    }
    found
}

fn git(folder: &Path, arguments: &[&str], input: &[u8]) {
    let mut child = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let patch = String::from_utf8_lossy(input);
    assert!(output.status.success(), "git {arguments:?}: {said}\n{patch}");
}

fn write(folder: &Path, files: &BTreeMap<PathBuf, (Vec<u8>, bool)>) {
    for (path, (content, executable)) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn edit(path: &str, old: &str, new: &str) -> Turn {
    call("edit_file", &json!({"path": path, "old_string": old, "new_string": new}))
}

/// Names and contents that patches are known to get wrong.
fn awkward_calls() -> Vec<Turn> {
    let patch = "*** Begin Patch\n*** Add File: new/deep/file.txt\n+one\n+two\n*** Add File: empty.txt\n\
                 *** Delete File: gone.txt\n*** Delete File: hollow.txt\n\
                 *** Update File: run.sh\n*** Move to: bin/start me.sh\n@@\n-echo one\n+echo two\n\
                 *** Update File: plain.txt\n*** Move to: moved.txt\n*** End Patch";
    vec![
        edit("a b.txt", "middle", "MIDDLE"),
        edit("qu\"ote\\s\n.txt", "x", "y"),
        edit("crlf.txt", "two\nthree", "2\n3\n4"),
        edit("no_newline.txt", "end", "END"),
        edit("ümläut.txt", "ä", "ö"),
        call("apply_patch", &json!({"patch": patch})),
        edit("new/deep/file.txt", "two", "2"),
        edit("back.txt", "one", "two"),
        edit("back.txt", "two", "one"),
        call("write_file", &json!({"path": "last.txt", "content": "no newline"})),
    ]
}

fn awkward_files() -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
    let long = lines(50);
    let files = [
        ("a b.txt", format!("{long}middle\n{long}"), false),
        ("qu\"ote\\s\n.txt", "x\n".to_owned(), false),
        ("crlf.txt", "one\r\ntwo\r\nthree\r\nfour\r\n".to_owned(), false),
        ("no_newline.txt", "start\nend".to_owned(), false),
        ("ümläut.txt", "ä\n".to_owned(), false),
        ("gone.txt", "gone\nfor good".to_owned(), false),
        ("hollow.txt", String::new(), false),
        ("run.sh", "#!/bin/sh\necho one\n".to_owned(), true),
        ("plain.txt", "plain\n".to_owned(), false),
        ("back.txt", "one\n".to_owned(), false),
    ];
    let with_bytes = |(path, text, executable): (&str, String, bool)| {
        (PathBuf::from(path), (text.into_bytes(), executable))
    };
    files.into_iter().map(with_bytes).collect()
}

#[test]
fn the_patch_of_a_run_applies_both_ways() {
    let (_server, project) = project(awkward_calls());
    write(&project.root(), &awkward_files());
    let before = tree(&project.root());
    let ran = project.run(&RUN);
    let result = result(&ran);
    assert_eq!(result["status"], "goal", "{result}");
    let after = tree(&project.root());
    assert_ne!(before, after);
    assert_eq!(after[Path::new("bin/start me.sh")], (b"#!/bin/sh\necho two\n".to_vec(), true));

    let forward = project.command(&["transcript", "last", "--diff"]).output().unwrap();
    let reverse = project.command(&["transcript", "last", "--diff", "--reverse"]).output().unwrap();
    assert!(forward.stderr.is_empty() && reverse.stderr.is_empty(), "{forward:?}");
    let kept = result["changes"]["patch"].as_str().unwrap();
    assert_eq!(fs::read(kept).unwrap(), forward.stdout);

    for repository in ["none", "empty", "committed"] {
        let scratch = tempfile::tempdir().unwrap();
        write(scratch.path(), &before);
        if repository != "none" {
            git(scratch.path(), &["init", "-q"], b"");
        }
        if repository == "committed" {
            git(scratch.path(), &["add", "-A"], b"");
            git(scratch.path(), &["commit", "-qm", "before"], b"");
        }
        for (patch, expected) in [(&forward.stdout, &after), (&reverse.stdout, &before)] {
            git(scratch.path(), &["apply", "--check"], patch);
            git(scratch.path(), &["apply"], patch);
            assert_eq!(&tree(scratch.path()), expected, "{repository}");
        }
        // Git reverses the patch to the same end.
        git(scratch.path(), &["apply"], &forward.stdout);
        git(scratch.path(), &["apply", "-R"], &forward.stdout);
        assert_eq!(tree(scratch.path()), before, "{repository}");
        if repository == "committed" {
            git(scratch.path(), &["update-index", "-q", "--refresh"], b"");
            git(scratch.path(), &["apply", "--index"], &forward.stdout);
            git(scratch.path(), &["commit", "-qm", "after"], b"");
        }
    }
}

/// In a subfolder git silently skips a patch whose paths do not begin at the top of the repository.
#[test]
fn the_patch_of_a_run_in_a_subfolder_applies_from_every_folder_of_its_repository() {
    for folder in ["src", "so urce/\"deep\""] {
        let patch = "*** Begin Patch\n*** Update File: plain.txt\n*** Move to: moved.txt\n@@\n-plain\n+PLAIN\n*** End Patch";
        let (_server, project) = project([
            call("write_file", &json!({"path": "new.txt", "content": "n\n"})),
            edit("lib.rs", "parse", "scan"),
            call("apply_patch", &json!({ "patch": patch })),
        ]);
        let root = project.root();
        fs::remove_dir(root.join(".git")).unwrap();
        project.file(&format!("{folder}/lib.rs"), "fn parse() {}\n");
        project.file(&format!("{folder}/plain.txt"), "plain\n");
        git(&root, &["init", "-q"], b"");
        git(&root, &["add", "-A"], b"");
        git(&root, &["commit", "-qm", "before"], b"");
        let before = tree(&root);
        let ran = project.run_in(folder, &RUN);
        let result = result(&ran);
        assert_eq!(
            result["changes"]["files"],
            json!(["lib.rs", "moved.txt", "new.txt", "plain.txt"]),
            "{ran:?}"
        );
        let after = tree(&root);
        let kept = fs::read(result["changes"]["patch"].as_str().unwrap()).unwrap();
        let forward = project.command(&["transcript", "last", "--diff"]).output().unwrap();
        assert_eq!(forward.stdout, kept);
        for place in [root.join(folder), root.clone()] {
            let reverse =
                project.command(&["transcript", "last", "--diff", "--reverse"]).output().unwrap();
            assert!(reverse.stderr.is_empty(), "{reverse:?}");
            git(&place, &["apply"], &reverse.stdout);
            assert_eq!(tree(&root), before, "{}", place.display());
            git(&place, &["apply"], &kept);
            assert_eq!(tree(&root), after, "{}", place.display());
        }
    }
}

#[test]
fn the_reverse_patch_leaves_out_what_something_else_changed_since() {
    let (_server, project) = project([
        edit("src/main.py", "print(1)", "print(2)"),
        call("write_file", &json!({"path": "changed.txt", "content": "x\n"})),
        call("write_file", &json!({"path": "gone.txt", "content": "x\n"})),
        call(
            "apply_patch",
            &json!({"patch": "*** Begin Patch\n*** Delete File: back.txt\n*** End Patch"}),
        ),
    ]);
    fs::write(project.root().join("back.txt"), "b\n").unwrap();
    let before = tree(&project.root());
    assert_eq!(result(&project.run(&RUN))["status"], "goal");
    fs::write(project.root().join("changed.txt"), "y\n").unwrap();
    fs::remove_file(project.root().join("gone.txt")).unwrap();
    fs::write(project.root().join("back.txt"), "other\n").unwrap();
    let reverse = project.command(&["transcript", "last", "--diff", "--reverse"]).output().unwrap();
    git(&project.root(), &["apply"], &reverse.stdout);
    let after = tree(&project.root());
    let main = Path::new("src/main.py");
    assert_eq!(after[main], before[main]);
    assert_eq!(after[Path::new("changed.txt")].0, b"y\n");
    let said = String::from_utf8_lossy(&reverse.stderr);
    for expected in [
        "changed.txt is not in the patch: it was changed after the run's file tools wrote it",
        "gone.txt is not in the patch: it is gone",
        "back.txt is not in the patch: there is a file of that name again",
    ] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_file_that_a_command_removed_is_not_listed() {
    let agents = AGENTS.replace("\"apply_patch\"", "\"apply_patch\", \"Bash\"");
    let (_server, project) = project([
        call("write_file", &json!({"path": "gone.txt", "content": "x\n"})),
        call("write_file", &json!({"path": "kept.txt", "content": "x\n"})),
        call("shell", &json!({"command": "rm gone.txt"})),
    ]);
    let run = RUN.map(|word| if word == AGENTS { agents.as_str() } else { word });
    let result = result(&project.run(&run));
    assert_eq!(result["changes"]["files"], json!(["kept.txt"]), "{result}");
}

#[test]
fn the_result_names_what_changed() {
    let (_server, project) = project([
        edit("src/main.py", "print(1)", "print(2)"),
        call("write_file", &json!({"path": "a/new.txt", "content": "x\n"})),
        edit("src/main.py", "zork", "y"),
    ]);
    let ran = project.run(&RUN);
    let result = result(&ran);
    let changes = &result["changes"];
    assert_eq!(changes["files"], json!(["a/new.txt", "src/main.py"]), "{result}");
    assert_eq!(changes["branch"], Value::Null);
    let id = result["agent_id"].as_str().unwrap();
    let patch = changes["patch"].as_str().unwrap();
    assert!(patch.ends_with(&format!("{id}.artifacts/changes.patch")), "{patch}");
    let expected = "diff --git a/a/new.txt b/a/new.txt\nnew file mode 100644\n--- /dev/null\n\
                    +++ b/a/new.txt\n@@ -0,0 +1 @@\n+x\ndiff --git a/src/main.py b/src/main.py\n\
                    --- a/src/main.py\n+++ b/src/main.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n";
    assert_eq!(fs::read_to_string(patch).unwrap(), expected);
    let mode = fs::metadata(patch).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_run_that_changed_nothing_says_so() {
    let (_server, project) = project([edit("src/main.py", "zork", "y")]);
    let result = result(&project.run(&RUN));
    assert_eq!(result["changes"], Value::Null);
    for arguments in
        [&["transcript", "last", "--diff"][..], &["transcript", "last", "--diff", "--reverse"]]
    {
        let ran = project.run(arguments);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(0)), "{ran:?}");
        assert!(ran.stderr.contains("changed no files"), "{ran:?}");
    }
    let ran = project.run(&["transcript", "last", "--reverse"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn nothing_is_written_unasked() {
    let (_server, project) = project([edit("src/main.py", "print(1)", "print(2)")]);
    let mut arguments = RUN.to_vec();
    arguments.retain(|word| !matches!(*word, "--approve" | "all"));
    let result = result(&project.run(&arguments));
    assert_eq!(result["changes"], Value::Null);
    let content = fs::read_to_string(project.root().join("src/main.py")).unwrap();
    assert_eq!(content, "print(1)\n");
}

#[test]
fn a_transcript_shows_the_diffs_and_nothing_steers_the_terminal() {
    let long = lines(100);
    let (_server, project) = project([
        edit("src/main.py", "print(1)", "print('\u{1b}[31m')"),
        call("write_file", &json!({"path": "long.txt", "content": long})),
    ]);
    project.run(&RUN);
    let brief = project.run(&["transcript", "last"]).stdout;
    assert!(brief.contains("    -print(1)\n    +print('\\u001b[31m')\n"), "{brief}");
    assert!(brief.contains("    +line 58\n    … 41 more lines\n"), "{brief}");
    let full = project.run(&["transcript", "last", "--full"]).stdout;
    assert!(full.contains("    +line 99\n"), "{full}");
}

#[test]
fn the_patch_of_a_resumed_run_is_its_own() {
    let (server, project) = project([edit("src/main.py", "print(1)", "print(2)")]);
    let first = result(&project.run(&RUN));
    let id = first["agent_id"].as_str().unwrap();
    for turn in [edit("src/main.py", "print(2)", "print(3)"), completes("done")] {
        server.answer(WireApi::Chat.answer(&turn));
    }
    let resume = [
        "run",
        "--resume",
        id,
        "go on",
        "--agents",
        AGENTS,
        "--approve",
        "all",
        "--json",
        "--trust",
    ];
    let ran = project.run(&resume);
    let second = result(&ran);
    assert_eq!(second["changes"]["files"], json!(["src/main.py"]), "{ran:?}");
    let patch = |id: &Value| project.run(&["transcript", id.as_str().unwrap(), "--diff"]).stdout;
    assert!(patch(&second["agent_id"]).ends_with("-print(2)\n+print(3)\n"));
    assert!(patch(&first["agent_id"]).ends_with("-print(1)\n+print(2)\n"));
}

/// A file size limit stands for a full disk: the old file stays, and the agent is told.
#[test]
fn a_full_disk_leaves_the_old_file() {
    let grow = json!({"path": "big.txt", "old_string": "x", "new_string": "y".repeat(200), "replace_all": true});
    let (server, project) = project([call("edit_file", &grow)]);
    let old = "x\n".repeat(4000);
    project.file("big.txt", &old);
    let attache = env!("CARGO_BIN_EXE_attache");
    let words: Vec<String> =
        RUN.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let script = format!("trap '' XFSZ; ulimit -f 400; exec {attache} {}", words.join(" "));
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(project.root()).env_clear();
    command
        .env("HOME", project.home())
        .env("PATH", "/usr/bin:/bin")
        .env("LAB_KEY", "sk-lab-0123456789abcdef");
    let output = command.output().unwrap();
    let result: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(result["changes"], Value::Null, "{result}");
    assert_eq!(fs::read_to_string(project.root().join("big.txt")).unwrap(), old);
    let names: Vec<_> =
        fs::read_dir(project.root()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with(".attache-")), "{names:?}");
    let told = server.requests().last().unwrap().json().to_string();
    assert!(told.contains("cannot write big.txt: file too large; it was left as it is"), "{told}");
}

/// Keys are in no file that this program keeps; the patch says where one was.
#[test]
fn a_key_is_masked_in_what_is_kept() {
    let key = "sk-lab-0123456789abcdef";
    let (_server, project) = project([edit("env.txt", "port=1", "port=2")]);
    project.file("env.txt", format!("key={key}\nport=1\n"));
    project.run(&RUN);
    assert_eq!(
        fs::read_to_string(project.root().join("env.txt")).unwrap(),
        format!("key={key}\nport=2\n")
    );
    let patch = project.run(&["transcript", "last", "--diff"]).stdout;
    assert!(patch.contains(" key=***\n-port=1\n+port=2\n"), "{patch}");
    for (path, (content, _)) in tree(&project.home().join(".attache/sessions")) {
        assert!(!String::from_utf8_lossy(&content).contains(key), "{}", path.display());
    }
}

/// Numbered lines.
fn lines(count: usize) -> String {
    let lines: Vec<String> = (0..count).map(|line| format!("line {line}\n")).collect();
    lines.concat()
}
