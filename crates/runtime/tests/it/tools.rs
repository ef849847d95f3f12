//! The built-in tools on real files.

mod arguments;
mod bounded;
mod catalogue;
mod glob_files;
mod grep_files;
mod hostile;
mod list_dir;
mod read_file;
mod rights;
mod swaps;
mod view_image;
mod workspace;

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

use attache_runtime::tool::{
    FileGuard, Tool, ToolContext, ToolOutput, artifacts::Artifacts, catalogue::builtin_tools,
    workspace::Workspace,
};
use serde_json::Value;
use tempfile::TempDir;

/// A workspace with things around it that no tool may reach: `ws/` beside `secret/`.
struct Fixture {
    scratch: TempDir,
    context: ToolContext,
    tools: Vec<Arc<dyn Tool>>,
}

impl Fixture {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let outer = scratch.path();
        fs::create_dir(outer.join("ws")).unwrap();
        fs::create_dir(outer.join("secret")).unwrap();
        fs::write(outer.join("secret/key.txt"), "SECRET\n").unwrap();
        let artifacts = outer.join("artifacts");
        let workspace = Workspace::new(&outer.join("ws")).unwrap().allowing(artifacts.clone());
        Self {
            context: ToolContext::new(
                workspace,
                Artifacts::new(artifacts),
                FileGuard::unrestricted(),
            ),
            tools: builtin_tools(),
            scratch,
        }
    }

    /// A fixture with these files in its workspace.
    fn with(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        for (path, text) in files {
            fixture.write(path, text);
        }
        fixture
    }

    fn root(&self) -> &Path {
        self.context.workspace.root()
    }

    fn outer(&self) -> &Path {
        self.scratch.path()
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn fifo(&self, path: &str) {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, self.root().join(path), mode).unwrap();
    }

    fn tool(&self, name: &str) -> &dyn Tool {
        let named = |tool: &&Arc<dyn Tool>| tool.spec().name.to_string() == name;
        self.tools.iter().find(named).unwrap().as_ref()
    }

    fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.tool(tool).call(arguments, &self.context))
    }

    /// The text of a call that succeeds.
    fn text(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments);
        assert!(!output.is_error, "{}", output.text);
        output.text
    }

    /// The text of a call that fails.
    fn error(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments);
        assert!(output.is_error, "{}", output.text);
        output.text
    }
}

/// The most memory this process has had in use, in MB.
fn peak_memory_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes >> 10
}

/// Runs something as a user whom permissions bind; the superuser they do not.
fn as_nobody<T: Send>(fixture: &Fixture, action: impl FnOnce() -> T + Send) -> T {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(fixture.outer(), fs::Permissions::from_mode(0o755)).unwrap();
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                if rustix::process::geteuid().is_root() {
                    rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534)).unwrap();
                }
                action()
            })
            .join()
            .unwrap()
    })
}
