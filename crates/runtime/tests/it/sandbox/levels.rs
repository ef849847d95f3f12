//! Levels: what is in force where a machine offers less, and that it is said.

use std::fs;

use attache_kernel::rights::confinement::Confinement;
use attache_runtime::internal::sandbox::{Helper, Mode, Part, Sandbox, refusal_hint};

use super::{Yard, sandbox, shown};

#[test]
fn level_says_what_is_missing() {
    let whole = sandbox();
    println!("here: {:?} {:?}", whole.level(), whole.lacks());
    for part in [Part::Namespaces, Part::Landlock, Part::Seccomp] {
        let lesser = sandbox().without(part);
        let level = lesser.level();
        let is_there = match part {
            Part::Namespaces => level.namespaces,
            Part::Landlock => level.landlock > 0,
            Part::Seccomp => level.seccomp,
        };
        assert!(!is_there, "{part:?}: {level:?}");
        assert!(!lesser.lacks().is_empty(), "{part:?}");
        assert_ne!(level.confinement(Mode::WorkspaceWrite), Confinement::Whole, "{part:?}");
    }
    assert_eq!(whole.level().confinement(Mode::DangerFullAccess), Confinement::None);
}

#[test]
fn helper_that_does_not_work_confines_nothing_and_starts_nothing() {
    let broken = Sandbox::new(Helper::at("/no/such/helper"));
    assert_eq!(broken.level().confinement(Mode::ReadOnly), Confinement::None);
    assert!(broken.lacks()[0].contains("does not work"), "{:?}", broken.lacks());
    let yard = Yard::new();
    assert!(yard.command(&broken, "true").output().is_err());
}

#[test]
fn without_namespaces_files_are_still_restricted() {
    let lesser = sandbox().without(Part::Namespaces);
    if lesser.level().landlock == 0 {
        println!("not checked: {}", lesser.lacks().join("; "));
        return;
    }
    let mut yard = Yard::new();
    fs::create_dir(yard.beside("keys")).unwrap();
    fs::write(yard.beside("keys/id"), "secret").unwrap();
    fs::write(yard.beside("plain"), "plain").unwrap();
    yard.policy.deny_read = vec![yard.beside("keys")];
    for (script, succeeds) in [
        ("echo x > a", true),
        ("cat ../plain", true),
        ("cat ../keys/id", false),
        ("echo x > ../plain", false),
        ("python3 -c 'import socket; socket.socket()'", false),
        ("test -e /proc/1/root/etc", false),
    ] {
        let output = yard.command(&lesser, script).output().unwrap();
        assert_eq!(output.status.success(), succeeds, "{script}: {}", shown(&output));
    }
}

#[test]
fn refused_commands_are_recognised() {
    let mut yard = Yard::new();
    let key = yard.beside("key");
    fs::write(&key, "secret").unwrap();
    yard.policy.deny_read.push(key.clone());
    let read_key = format!("cat {}", key.display());
    for (script, why) in [
        ("echo x > /etc/attache-test", "write only to the workspace"),
        ("mkdir .claude/agents", "write only to the workspace"),
        ("python3 -c 'import socket; socket.socket()'", "no network"),
        ("python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 80)'", "no network"),
        (read_key.as_str(), "cannot read places of keys"),
    ] {
        let output = yard.run(script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let hint = refusal_hint(&yard.policy, output.status.code(), &stderr);
        assert!(hint.is_some_and(|hint| hint.contains(why)), "{script}: {}", shown(&output));
    }
    for script in ["cat missing", "touch a; chmod 0 a; cat a", "touch b; ./b", "exit 3"] {
        let output = yard.run(script);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let hint = refusal_hint(&yard.policy, output.status.code(), &stderr);
        assert_eq!((hint, output.status.success()), (None, false), "{script}: {}", shown(&output));
    }
}

#[test]
fn network_can_be_allowed() {
    use std::{io::Read as _, net::TcpListener};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port})).sendall(b\"hello\")'"
    );
    let mut yard = Yard::new();
    assert!(!yard.run(&script).status.success());
    yard.policy.network = true;
    let output = yard.run(&script);
    assert!(output.status.success(), "{}", shown(&output));
    let mut text = String::new();
    let _length = listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    assert_eq!(text, "hello");
    let unix = "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'";
    assert!(!yard.run(unix).status.success(), "unix sockets are never allowed");
}
