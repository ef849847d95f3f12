//! How a command lives and ends: its streams, its status, and that nothing of it is left.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use attache_runtime::internal::sandbox::{Helper, Mode as SandboxMode, Sandbox};
use rustix::{
    fs::{Mode, OFlags},
    io::{FdFlags, fcntl_setfd},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use super::{Yard, sandbox, sandboxes, shown};

/// Starts a daemon, with a session of its own and no parent, and waits until it is one.
const DAEMON: &str =
    "exec 3>&1; (setsid sh -c 'echo up; exec sleep \"$0\" >&3' \"$MARKED\" &) | read up";

/// A sleep of so many seconds can be told from any other.
fn marked() -> String {
    format!("1000.{}", uuid::Uuid::new_v4().as_u128() % 1_000_000_000)
}

/// The process that has this argument.
fn find(marked: &str) -> Option<Pid> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let found = pids.find(|pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == marked.as_bytes())
    });
    found.and_then(Pid::from_raw)
}

fn lives(marked: &str) -> bool {
    find(marked).is_some()
}

/// Waits until it runs: for a moment of its `exec` it has no arguments.
fn wait_for(marked: &str, what: &str) -> Pid {
    let began = Instant::now();
    loop {
        if let Some(daemon) = find(marked) {
            return daemon;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: the daemon does not run");
        thread::yield_now();
    }
}

fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn status_is_that_of_the_command() {
    let yard = Yard::new();
    for (name, sandbox) in sandboxes() {
        for (script, code, signal) in [
            ("exit 0", Some(0), None),
            ("exit 7", Some(7), None),
            ("exit 137", Some(137), None),
            ("kill -KILL $$", None, Some(9)),
            ("kill -TERM $$", None, Some(15)),
            ("kill -SEGV $$", None, Some(11)),
            ("exec /no/such/program", Some(127), None),
        ] {
            let output = yard.command(&sandbox, script).output().unwrap();
            let found = (output.status.code(), output.status.signal());
            assert_eq!(found, (code, signal), "{name}: {script}: {}", shown(&output));
        }
    }
}

#[test]
fn program_that_is_missing_is_named() {
    let yard = Yard::new();
    for (name, sandbox) in sandboxes() {
        let mut command = sandbox.command(&yard.policy, "no-such-program".as_ref(), &[]).unwrap();
        let output = command.current_dir(&yard.policy.workspace).output().unwrap();
        assert_eq!(output.status.code(), Some(127), "{name}: {}", shown(&output));
        assert!(
            shown(&output).contains("cannot run no-such-program"),
            "{name}: {}",
            shown(&output)
        );
    }
}

#[test]
fn streams_are_the_callers() {
    let yard = Yard::new();
    for (name, sandbox) in sandboxes() {
        let mut command = yard.command(&sandbox, "cat; echo out; echo err >&2");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"in\n").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"in\nout\n", "{name}");
        assert_eq!(output.stderr, b"err\n", "{name}");
    }
}

#[test]
fn output_ends_when_the_command_closes_it() {
    let yard = Yard::new();
    for (name, sandbox) in sandboxes() {
        let mut command = yard.command(&sandbox, "exec >&- 2>&-; read line; exit 5");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut text = String::new();
        // Blocks for ever if a helper held it open.
        let _length = child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(5), "{name}");
    }
}

#[test]
fn descriptors_of_the_program_are_not_inherited() {
    let yard = Yard::new();
    let leaked = File::create(yard.beside("leaked")).unwrap();
    fcntl_setfd(&leaked, FdFlags::empty()).unwrap();
    let script = "for fd in /proc/self/fd/*; do readlink $fd; done | grep leaked";
    let outside = Command::new("sh").args(["-c", script]).output().unwrap();
    assert!(outside.status.success(), "the control: {}", shown(&outside));
    for (name, sandbox) in sandboxes() {
        let output = yard.command(&sandbox, script).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {}", shown(&output));
    }
}

#[test]
fn daemons_do_not_outlive_the_command() {
    let mut yard = Yard::new();
    let control = marked();
    let mut outside = Command::new("sh");
    outside.args(["-c", DAEMON]).env("MARKED", &control).stdout(Stdio::null());
    assert!(outside.status().unwrap().success());
    let daemon = wait_for(&control, "without the sandbox it outlives the command");
    kill_process(daemon, Signal::KILL).unwrap();

    for mode in [SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess] {
        yard.policy.mode = mode;
        for (name, sandbox) in sandboxes() {
            let marked = marked();
            let mut command = yard.command(&sandbox, DAEMON);
            let output = command.env("MARKED", &marked).output().unwrap();
            assert!(output.status.success(), "{name}: {}", shown(&output));
            assert!(!lives(&marked), "{name}, {mode:?}");
        }
    }
}

/// Starts a daemon in the sandbox, ends the command in some way, and waits for the daemon to be dead.
fn ends_everything(sandbox: &Sandbox, yard: &Yard, what: &str, end: impl Fn(&mut Child)) {
    let marked = marked();
    let script = format!("{DAEMON}; echo started; exec sleep 1000");
    let mut command = yard.command(sandbox, &script);
    let mut child = command.env("MARKED", &marked).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut started = [0; 8];
    stdout.read_exact(&mut started).unwrap();
    wait_for(&marked, what);
    end(&mut child);
    // The end of the stream: nobody holds it any more, and so nobody is left.
    let _length = stdout.read_to_end(&mut Vec::new()).unwrap();
    assert!(!lives(&marked), "{what}");
}

#[test]
fn killing_the_command_kills_everything() {
    let mut yard = Yard::new();
    for mode in [SandboxMode::WorkspaceWrite, SandboxMode::DangerFullAccess] {
        yard.policy.mode = mode;
        for (name, sandbox) in sandboxes() {
            for signal in [Signal::KILL, Signal::TERM] {
                let what = format!("{name}, {mode:?}, {signal:?}");
                ends_everything(&sandbox, &yard, &what, |child| {
                    kill(child, signal);
                    assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()), "{what}");
                });
            }
        }
    }
}

/// A program that starts a command as this one would, with these texts of its message replaced.
fn program_of(command: &Command, replaced: &[(&str, String)]) -> Command {
    let own = format!("\"program\":{}", std::process::id());
    let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
    let mut message = words[1].to_owned();
    for (from, to) in [(own.as_str(), "\"program\":@@".to_owned())].iter().chain(replaced) {
        assert!(message.contains(from), "{message}");
        message = message.replace(from, to);
    }
    // The shell is the program here.
    let mut program = Command::new("sh");
    program.args(["-c", "message=$(printf %s \"$2\" | sed s/@@/$$/); helper=$0; mark=$1; shift 2; \"$helper\" $mark \"$message\" \"$@\"; true"]);
    program.arg(command.get_program()).arg(words[0]).arg(message).args(&words[2..]);
    program.stdout(Stdio::piped());
    program
}

#[test]
fn what_a_command_planted_is_moved_when_the_program_dies() {
    for (name, sandbox) in sandboxes() {
        let yard = Yard::new();
        fs::create_dir_all(yard.inside("vendor/.git")).unwrap();
        let script = "mkdir -p sub/.git sub/a/.claude && echo started; exec sleep 1000";
        let command = yard.command(&sandbox, script);
        let into = yard.beside("planted");
        let moving = format!("\"planted\":\"{}\"", into.display());
        let mut program = program_of(&command, &[("\"planted\":null", moving)]);
        let mut program = program.current_dir(&yard.policy.workspace).spawn().unwrap();
        let mut stdout = program.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 8]).unwrap();
        assert!(yard.inside("sub/.git").is_dir(), "the control, {name}");
        program.kill().unwrap();
        let _status = program.wait().unwrap();
        let _length = stdout.read_to_end(&mut Vec::new()).unwrap();
        // The helper closed its output before, and ends when it is done.
        while !into.join("sub/a/.claude.planted").exists() {
            thread::yield_now();
        }
        assert!(!yard.inside("sub/.git").exists() && into.join("sub/.git.planted").is_dir());
        assert!(yard.inside("vendor/.git").is_dir(), "it was there before, {name}");
    }
}

#[test]
fn death_of_the_program_kills_everything() {
    let yard = Yard::new();
    for (name, sandbox) in sandboxes() {
        let marked = marked();
        let script = format!("{DAEMON}; echo started; exec sleep 1000");
        let command = yard.command(&sandbox, &script);
        let mut program = program_of(&command, &[]);
        program.env("MARKED", &marked).current_dir(&yard.policy.workspace);
        let mut program = program.spawn().unwrap();
        let mut stdout = program.stdout.take().unwrap();
        let mut started = [0; 8];
        stdout.read_exact(&mut started).unwrap();
        wait_for(&marked, name);
        program.kill().unwrap();
        let _status = program.wait().unwrap();
        let _length = stdout.read_to_end(&mut Vec::new()).unwrap();
        assert!(!lives(&marked), "{name}");
    }
}

#[test]
fn terminal_that_is_given_is_the_commands_own() {
    let yard = Yard::new();
    for (name, sandbox) in sandboxes() {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let leader = openpt(flags).unwrap();
        grantpt(&leader).unwrap();
        unlockpt(&leader).unwrap();
        let path = ptsname(&leader, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let follower = File::from(rustix::fs::open(&path, flags, Mode::empty()).unwrap());
        let script = "trap 'echo stopped; exit 3' INT; tty && echo own > /dev/tty; read line";
        let mut command = yard.command(&sandbox, script);
        command.stdin(follower.try_clone().unwrap()).stdout(follower.try_clone().unwrap());
        let mut child = command.stderr(follower).spawn().unwrap();
        // It holds the other end as well.
        drop(command);
        let mut leader = File::from(leader);
        let mut text = Vec::new();
        let mut has_typed = false;
        let mut piece = [0; 256];
        // The end of a terminal is an error.
        while let Ok(length @ 1..) = leader.read(&mut piece) {
            text.extend_from_slice(&piece[..length]);
            if !has_typed && String::from_utf8_lossy(&text).contains("own") {
                // Ctrl-C
                leader.write_all(&[3]).unwrap();
                has_typed = true;
            }
        }
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("/dev/") && text.contains("stopped"), "{name}: {text}");
        assert_eq!(child.wait().unwrap().code(), Some(3), "{name}: {text}");
    }
}

#[test]
fn other_users_than_root_have_it_too() {
    if !rustix::process::getuid().is_root() {
        println!("not checked: the other tests do");
        return;
    }
    let yard = Yard::new();
    let somebody = 12345;
    for path in [yard.top.path(), &yard.policy.workspace, &yard.policy.temp_dir] {
        std::os::unix::fs::chown(path, Some(somebody), Some(somebody)).unwrap();
    }
    // Where this user may run it.
    let helper = yard.beside("helper");
    fs::copy(env!("CARGO_BIN_EXE_attache-sandbox"), &helper).unwrap();
    let sandbox = Sandbox::new(Helper::at(helper));
    let run = |script: &str| {
        let mut command = yard.command(&sandbox, script);
        command.env_clear().env("PATH", "/usr/bin:/bin").uid(somebody).gid(somebody);
        command.output().unwrap()
    };
    let output = run(
        "id -u; grep CapEff /proc/self/status; echo x > a && cat a; ls /proc/1/cwd; echo x > ../b",
    );
    let text = shown(&output);
    if text.contains("cannot create namespaces") {
        println!("not checked: {text}");
        return;
    }
    assert!(text.contains("12345\nCapEff:\t0000000000000000\nx\n"), "{text}");
    assert!(text.contains("Read-only file system") && !output.status.success(), "{text}");
    assert!(!run("mkdir .claude/agents").status.success());
    assert_eq!(yard.names(), ["a"]);
}

#[test]
fn helper_without_its_program_starts_nothing() {
    let yard = Yard::new();
    let sandbox = sandbox();
    let command = yard.command(&sandbox, "touch started");
    let mut stranger = Command::new("sh");
    stranger
        .args(["-c", "\"$0\" \"$@\"; true"])
        .arg(command.get_program())
        .args(command.get_args());
    let output = stranger.output().unwrap();
    assert!(shown(&output).contains("the sandbox could not be set up"), "{}", shown(&output));
    assert_eq!(yard.names(), Vec::<String>::new());
}
