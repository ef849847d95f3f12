//! The built-in tools on real files.

mod apply_patch;
mod arguments;
mod bounded;
mod catalogue;
mod edit_file;
mod ending;
mod exec_command;
mod foresight;
mod glob_files;
mod grep_files;
mod hostile;
mod list_dir;
mod planted;
mod read_file;
mod rights;
mod shell;
mod swaps;
mod view_image;
mod web_fetch;
mod web_search;
mod workspace;
mod write_file;
mod writing_hostile;

use std::{fs, os::unix::fs::symlink, path::Path, sync::Arc};

use attache_runtime::internal::tool::{
    FileGuard, Foresight, Tool, ToolContext, ToolOutput, artifacts::Artifacts,
    catalogue::builtin_tools, workspace::Workspace,
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

    /// What a file of the workspace holds.
    fn content(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }

    /// The names in a directory of the workspace.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root().join(path)).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
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

    /// Calls a tool as a run does: what the call would change is found out first.
    fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let tool = self.tool(tool);
        let foresight = tool.foresee(&arguments, &self.context);
        let foresight = foresight.map(|foresight| runtime.block_on(foresight)).unwrap_or_default();
        self.call_after(tool, arguments, foresight)
    }

    fn call_after(&self, tool: &dyn Tool, arguments: Value, foresight: Foresight) -> ToolOutput {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let context = ToolContext { foresight: Arc::new(foresight), ..self.context.clone() };
        runtime.block_on(tool.call(arguments, &context))
    }

    /// A call in a runtime that goes on afterwards, with what it started.
    async fn answer(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.tool(tool).call(arguments, &self.context).await
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
