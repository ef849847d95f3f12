//! `shell`: real commands, and what can go wrong with them.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use attache_runtime::internal::{
    process::{CommandEnvironment, CommandSandbox, CommandSetup, Processes},
    sandbox::{Helper, Mode, Policy, ResourceLimits, Sandbox},
    store::Secrets,
    tool::artifacts::Artifacts,
};
use serde_json::{Value, json};

use super::{Fixture, peak_memory_mb};

impl Fixture {
    /// The same, with commands that run like this.
    pub(super) fn with_commands(mut self, setup: CommandSetup) -> Self {
        let root = self.root().to_owned();
        let artifacts = Arc::clone(&self.context.artifacts);
        self.context.processes = Arc::new(Processes::new(Arc::new(setup), root, artifacts));
        self
    }

    /// The same, with commands that run in the sandbox.
    pub(super) fn sandboxed(self) -> Self {
        let policy = Policy {
            mode: Mode::WorkspaceWrite,
            workspace: self.root().to_owned(),
            temp_dir: "/tmp".into(),
            writable_roots: Vec::new(),
            network: false,
            writable_git: false,
            deny_read: Vec::new(),
            read_only: Vec::new(),
            shown: Vec::new(),
            limits: ResourceLimits::default(),
        };
        let helper = Helper::at(env!("CARGO_BIN_EXE_attache-sandbox"));
        let sandbox = Some(CommandSandbox { sandbox: Arc::new(Sandbox::new(helper)), policy });
        self.with_commands(CommandSetup { sandbox, ..CommandSetup::default() })
    }

    /// A fixture whose commands run bare, and one whose commands run in the sandbox.
    pub(super) fn both() -> [Self; 2] {
        [Self::new(), Self::new().sandboxed()]
    }

    fn masking(mut self, key: &str) -> Self {
        let artifacts = Artifacts::new(self.outer().join("artifacts"));
        self.context.artifacts = Arc::new(artifacts.masking(Secrets::new([key])));
        self.with_commands(CommandSetup::default())
    }

    fn shell(&self, command: &str) -> String {
        self.call("shell", json!({"command": command})).text
    }
}

/// The answer without the line about the exit.
pub(super) fn output(text: &str) -> &str {
    text.rsplit_once("\n[").unwrap().0
}

#[test]
fn a_command_that_cannot_run_says_why() {
    let fixture = Fixture::with(&[("plain.txt", "x"), ("sub/a", "x")]);
    fixture.link("out", fixture.outer().join("secret"));
    fixture.write("script.sh", "#!/no/such/interpreter\n");
    let script = fixture.root().join("script.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for (arguments, message) in [
        (json!({}), "parameter `command` (a string, or an array of strings) is required"),
        (
            json!({"command": 1}),
            "parameter `command` must be a string, or an array of strings, not 1",
        ),
        (
            json!({"command": ["ls", 1]}),
            "parameter `command` must be a string, or an array of strings, not an array",
        ),
        (json!({"command": ""}), "the command is empty"),
        (json!({"command": " \n"}), "the command is empty"),
        (json!({"command": []}), "the command is empty"),
        (
            json!({"command": "echo a\u{0}b"}),
            "the command contains a NUL character; write such bytes with printf '\\0'",
        ),
        (
            json!({"command": ["no-such-program"]}),
            "cannot run `no-such-program`: no such program in PATH",
        ),
        (json!({"command": "true", "workdir": "nowhere"}), "no such file or directory: nowhere"),
        (
            json!({"command": "true", "workdir": "plain.txt"}),
            "workdir `plain.txt` is not a directory",
        ),
        (
            json!({"command": "true", "run_in_background": true}),
            "parameter `run_in_background` must be false; use exec_command for a command that keeps running, not true",
        ),
        (
            json!({"command": "true", "env": {"LD_PRELOAD": "x"}}),
            "parameter `env` is not taken; set variables in the command",
        ),
        (
            json!({"command": "x".repeat(2 << 20)}),
            "the command is longer than 1 MB; write it to a file and run that",
        ),
    ] {
        let text = fixture.error("shell", arguments.clone());
        assert!(text.starts_with(message), "{arguments}\n{text}");
    }
    for workdir in ["out", "..", "/", "sub/../.."] {
        let text = fixture.error("shell", json!({"command": "pwd", "workdir": workdir}));
        assert!(text.contains("outside"), "{workdir}: {text}");
    }
    let refused = |program: &Path| fixture.error("shell", json!({"command": [program]}));
    assert!(refused(&fixture.root().join("plain.txt")).contains("permission denied"));
    assert!(refused(&script).contains("its interpreter is missing"));
    assert!(refused(&fixture.root().join("absent")).contains("no such program"));
    // What a shell cannot find it says itself.
    let text = fixture.error("shell", json!({"command": "no-such-program"}));
    assert!(text.contains("not found") && text.contains("[exit code 127, "), "{text}");
    let patch = fixture.shell("apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF");
    assert!(patch.contains("call the tool apply_patch with the patch"), "{patch}");
}

#[test]
fn a_workspace_that_is_gone_is_named() {
    let fixture = Fixture::new();
    fs::remove_dir(fixture.root()).unwrap();
    let text = fixture.error("shell", json!({"command": "true"}));
    assert!(text.contains("is gone"), "{text}");
}

#[test]
fn output_and_exit_are_told() {
    let fixture = Fixture::with(&[("sub/file", "x")]);
    assert!(
        fixture
            .shell("echo one; echo two >&2; echo three")
            .starts_with("one\ntwo\nthree\n[exit code 0, ")
    );
    assert!(fixture.shell("true").starts_with("(no output)\n[exit code 0, "));
    let failed = fixture.error("shell", json!({"command": "echo x; exit 3"}));
    assert!(failed.starts_with("x\n[exit code 3, ") && failed.ends_with(" s]"), "{failed}");
    assert!(
        fixture
            .error("shell", json!({"command": "kill -SEGV $$"}))
            .contains("[killed by SIGSEGV, ")
    );
    assert!(fixture.shell("printf 'no newline'").starts_with("no newline\n[exit code 0, "));
    assert_eq!(output(&fixture.text("shell", json!({"command": "ls", "workdir": "sub"}))), "file");
    assert_eq!(
        output(&fixture.text("shell", json!({"command": ["printf", "%s|", "a b", "$HOME"]}))),
        "a b|$HOME|"
    );
    let login = json!({"type": "exec", "command": ["bash", "-lc", "echo hi"], "working_directory": null, "timeout_ms": 9000, "env": {}, "user": null});
    assert!(output(&fixture.text("shell", login)).ends_with("hi"));
    // It is bash, and reads none of the user's files.
    assert_eq!(output(&fixture.shell("[[ a == a ]] && echo $-")), "hBc");
}

#[test]
fn output_is_made_readable() {
    let fixture = Fixture::new();
    assert_eq!(
        output(&fixture.shell(r"printf '\033[1;31mred\033[0m\n10%%\r20%%\r100%%\ndone\n'")),
        "red\n100%\ndone"
    );
    assert_eq!(output(&fixture.shell(r"printf 'bad \377 byte\n'")), "bad \u{fffd} byte");
    let binary = fixture.shell("head -c 100000 /dev/zero");
    assert!(
        binary
            .starts_with("[binary output, 97 KB, not shown; redirect it to a file]\n[exit code 0"),
        "{binary}"
    );
}

#[test]
fn it_has_no_input_and_no_terminal() {
    let fixture = Fixture::new();
    assert_eq!(output(&fixture.shell("cat; echo end")), "end");
    assert_eq!(output(&fixture.shell("test -t 0 || test -t 1 || test -t 2 || echo none")), "none");
    // Nothing of ours is open in it: no more than in any process that the tests start.
    let count = "ls /proc/self/fd | wc -l";
    let other = Command::new("sh").args(["-c", count]).output().unwrap().stdout;
    assert_eq!(output(&fixture.shell(count)), String::from_utf8(other).unwrap().trim());
}

#[test]
fn long_output_is_cut_and_kept_whole() {
    let fixture = Fixture::new();
    let output = fixture.call("shell", json!({"command": "seq 1 100000"}));
    assert!(!output.is_error);
    assert!(output.text.starts_with("1\n2\n") && output.text.contains("\n100000\n[exit code 0"));
    assert!(
        output.text.contains(" lines (") && output.text.len() < 32_000,
        "{}",
        output.text.len()
    );
    let kept = fs::read_to_string(&output.artifacts[0]).unwrap();
    assert!(kept.lines().enumerate().all(|(index, line)| line == (index + 1).to_string()));
    assert_eq!(kept.lines().count(), 100_000);
}

#[test]
fn endless_output_is_bounded_in_memory_and_on_disk() {
    let fixture = Fixture::new();
    let before = peak_memory_mb();
    let output = fixture.call(
        "shell",
        json!({"command": "yes 0123456789012345678901234567890123456789 | head -c 100000000"}),
    );
    assert!(output.text.contains("left out; its beginning: "), "{}", output.text.len());
    let kept = fs::metadata(&output.artifacts[0]).unwrap().len();
    assert!((63 << 20..=65 << 20).contains(&kept), "{kept} bytes");
    let after = peak_memory_mb();
    assert!(after < before + 40, "{before} MB before, {after} MB after");
}

#[test]
fn keys_are_masked_also_across_pieces_of_the_output() {
    let key = "sk-0123456789abcdef";
    let fixture = Fixture::new().masking(key);
    let short = fixture.shell("printf 'sk-01234567'; printf '89abcdef'");
    assert_eq!(output(&short), "***");
    let long = fixture.call("shell", json!({"command": "for i in $(seq 20000); do echo 'a key sk-0123456789abcdef in a line'; done"}));
    let kept = fs::read_to_string(&long.artifacts[0]).unwrap();
    assert!(!kept.contains(key) && !long.text.contains(key));
    assert_eq!(kept.matches("***").count(), 20_000);
}

#[test]
fn the_environment_is_clean_and_has_manners() {
    let variables = [
        ("PATH", "/usr/bin:/bin"),
        ("HOUSE_TOKEN", "t0ps3cret"),
        ("COLOUR", "blue"),
        ("PAGER", "less"),
    ];
    let environment = CommandEnvironment::cleaned(variables, &Secrets::default());
    let setup = CommandSetup { environment, ..CommandSetup::default() };
    let fixture = Fixture::new().with_commands(setup);
    let text = fixture.shell("env");
    assert!(
        text.contains("COLOUR=blue\n")
            && text.contains("PAGER=cat\n")
            && text.contains("TERM=dumb\n"),
        "{text}"
    );
    assert!(!text.contains("HOUSE_TOKEN") && !text.contains("CARGO_"), "{text}");
    assert!(text.contains(&format!("PWD={}\n", fixture.root().display())), "{text}");
}

#[test]
fn the_temporary_directory_lasts_for_the_run_and_no_longer() {
    let fixture = Fixture::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let directory = runtime.block_on(async {
        let first = fixture
            .answer("shell", json!({"command": "echo kept > $TMPDIR/file; echo $TMPDIR"}))
            .await;
        let second = fixture.answer("shell", json!({"command": "cat $TMPDIR/file"})).await;
        assert_eq!(output(&second.text), "kept");
        output(&first.text).to_owned()
    });
    assert!(Path::new(&directory).is_dir());
    drop(fixture);
    drop(runtime);
    assert!(!Path::new(&directory).exists());
}

#[test]
fn a_command_longer_than_an_argument_may_be_runs() {
    let fixture = Fixture::new();
    let long = format!("x='{}'; echo ${{#x}}; ls $TMPDIR | wc -l", "a".repeat(200_000));
    assert_eq!(output(&fixture.shell(&long)), "200000\n1");
    assert_eq!(output(&fixture.shell("ls $TMPDIR | wc -l")), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_at_once_each_get_their_own_output() {
    let fixture = Fixture::new();
    let answers = (0..100).map(|number| {
        let command = format!("sleep 0.1; echo {number}");
        fixture.answer("shell", json!({ "command": command }))
    });
    for (number, answer) in futures_util::future::join_all(answers).await.iter().enumerate() {
        assert_eq!(output(&answer.text), number.to_string());
    }
}

/// The descriptors, zombies and temporary files of this process.
fn leftovers(temporary: &Path) -> (usize, usize, usize) {
    let count = |path: &Path| fs::read_dir(path).unwrap().count();
    let parent = format!("PPid:\t{}", std::process::id());
    let is_our_zombie = |entry: &fs::DirEntry| {
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        status.contains("State:\tZ") && status.contains(&parent)
    };
    let zombies = fs::read_dir("/proc").unwrap().flatten().filter(is_our_zombie).count();
    (count(Path::new("/proc/self/fd")), zombies, count(temporary))
}

/// In a process of its own: other tests of this one open and close descriptors at the same time.
#[test]
fn a_thousand_commands_leave_nothing_behind() {
    const ALONE: &str = "ATTACHE_TEST_ALONE";
    #[expect(clippy::disallowed_methods, reason = "a test that starts itself again")]
    if std::env::var_os(ALONE).is_none() {
        let this = std::env::current_exe().unwrap();
        let name = "tools::shell::a_thousand_commands_leave_nothing_behind";
        let ran = Command::new(this).args([name, "--exact"]).env(ALONE, "1").output().unwrap();
        let told = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = |fixture: &Fixture, commands: usize| {
        runtime.block_on(async {
            for number in 0..commands / 10 {
                let batch = (0..10).map(|_| {
                    let command = match number % 3 {
                        0 => "true",
                        1 => "echo some output",
                        _ => "sleep 1000 & exit 1",
                    };
                    fixture.answer("shell", json!({ "command": command }))
                });
                futures_util::future::join_all(batch).await;
            }
        });
    };
    let setup =
        || CommandSetup { temporary_root: temporary.path().to_owned(), ..CommandSetup::default() };
    let fixture = Fixture::new().with_commands(setup());
    run(&fixture, 30);
    let (descriptors, _, files) = leftovers(temporary.path());
    run(&fixture, 1000);
    // The tasks of the last commands may be about to end.
    let began = Instant::now();
    loop {
        let after = leftovers(temporary.path());
        if after.0 <= descriptors && after.1 == 0 && after.2 == files {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{after:?}, {descriptors} before");
        std::thread::yield_now();
    }
    drop(fixture);
    drop(runtime);
    assert_eq!(leftovers(temporary.path()).2, 0);
}

#[test]
fn whoever_is_asked_sees_the_command() {
    let fixture = Fixture::new();
    let preview = |arguments: Value| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let foresight = fixture.tool("shell").foresee(&arguments, &fixture.context);
        runtime.block_on(foresight.unwrap()).preview.unwrap()
    };
    assert_eq!(preview(json!({"command": "make\nmake test"})), "make\nmake test");
    assert_eq!(
        preview(json!({"command": ["git", "commit", "-m", "it's done"]})),
        r"git commit -m 'it'\''s done'"
    );
    let escalated = json!({"command": "apt install x", "workdir": "sub", "with_escalated_permissions": true, "justification": "needs x"});
    assert_eq!(preview(escalated), "apt install x\n(in sub)\n(outside of the sandbox: needs x)");
}
