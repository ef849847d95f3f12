//! The sandbox, tried from inside with real commands.

mod levels;
mod life;
mod protection;
mod ways_out;

use std::{
    ffi::OsString,
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use attache_runtime::internal::sandbox::{Helper, Mode, Part, Policy, ResourceLimits, Sandbox};
use tempfile::TempDir;

/// A workspace and the directories beside it, with a policy for them.
struct Yard {
    top: TempDir,
    policy: Policy,
}

impl Yard {
    fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = top.path().join(name);
            fs::create_dir(&path).unwrap();
            path.canonicalize().unwrap()
        };
        let policy = Policy {
            mode: Mode::WorkspaceWrite,
            workspace: at("workspace"),
            temp_dir: at("temp"),
            writable_roots: Vec::new(),
            network: false,
            writable_git: false,
            deny_read: Vec::new(),
            read_only: Vec::new(),
            shown: Vec::new(),
            limits: ResourceLimits::default(),
        };
        Self { top, policy }
    }

    /// A path beside the workspace.
    fn beside(&self, name: &str) -> PathBuf {
        self.top.path().canonicalize().unwrap().join(name)
    }

    /// A path in the workspace.
    fn inside(&self, name: &str) -> PathBuf {
        self.policy.workspace.join(name)
    }

    /// A shell command in the sandbox, ready to be started in the workspace.
    fn command(&self, sandbox: &Sandbox, script: &str) -> Command {
        let arguments = [OsString::from("-c"), OsString::from(script)];
        let mut command = sandbox.command(&self.policy, "sh".as_ref(), &arguments).unwrap();
        command.current_dir(&self.policy.workspace).env("TMPDIR", &self.policy.temp_dir);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, script: &str) -> Output {
        self.command(&sandbox(), script).output().unwrap()
    }

    /// What is in the workspace, sorted.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.policy.workspace).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn sandbox() -> Sandbox {
    Sandbox::new(Helper::at(env!("CARGO_BIN_EXE_attache-sandbox")))
}

/// Whether this machine has namespaces; a test that needs them says that it did not check.
fn has_namespaces() -> bool {
    let sandbox = sandbox();
    if !sandbox.level().namespaces {
        println!("not checked: {}", sandbox.lacks().join("; "));
    }
    sandbox.level().namespaces
}

/// The sandbox as it is here, and as it is on machines that lack a part.
fn sandboxes() -> [(&'static str, Sandbox); 2] {
    [("whole", sandbox()), ("no namespaces", sandbox().without(Part::Namespaces))]
}

fn shown(output: &Output) -> String {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    format!("{}\n{out}{err}", output.status)
}
