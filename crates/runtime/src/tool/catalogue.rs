//! The built-in tools: the one place where they are registered.
//!
//! A tool is a file, its `.md`, and a line here.

use std::{sync::Arc, thread::available_parallelism};

use tokio::sync::Semaphore;

use super::{
    Tool, apply_patch::ApplyPatch, edit_file::EditFile, exec_command::ExecCommand,
    file_edits::FileTool, glob_files::GlobFiles, grep_files::GrepFiles, list_dir::ListDir,
    read_file::ReadFile, shell::Shell, todo_write::TodoWrite, view_image::ViewImage,
    web_fetch::WebFetch, write_file::WriteFile, write_stdin::WriteStdin,
};
use crate::delegation::delegation_tools;

/// Every built-in tool. Make them once and share them: the searches among them take turns, so that a
/// thousand agents that search at once do not start thousands of threads.
pub fn builtin_tools() -> Vec<Arc<dyn Tool>> {
    let turns = Arc::new(Semaphore::new(threads()));
    let mut tools = delegation_tools();
    let others: [Arc<dyn Tool>; 13] = [
        Arc::new(ReadFile::new()),
        Arc::new(ListDir::new()),
        Arc::new(GlobFiles::new(Arc::clone(&turns))),
        Arc::new(GrepFiles::new(turns)),
        Arc::new(ViewImage::new()),
        Arc::new(FileTool::<WriteFile>::new()),
        Arc::new(FileTool::<EditFile>::new()),
        Arc::new(FileTool::<ApplyPatch>::new()),
        Arc::new(Shell::new()),
        Arc::new(ExecCommand::new()),
        Arc::new(WriteStdin::new()),
        Arc::new(WebFetch::default()),
        Arc::new(TodoWrite::new()),
    ];
    tools.extend(others);
    tools
}

/// How many threads one search uses.
pub(super) fn threads() -> usize {
    available_parallelism().map_or(1, usize::from).min(12)
}
