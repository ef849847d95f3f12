//! Runs that go on in a process of their own, which outlives this one.

use std::{ffi::OsString, io, process::Stdio};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use crate::background::MARK;

/// Starts this program again, with these global options.
pub(super) struct Detached {
    pub(super) globals: Vec<OsString>,
    pub(super) group: Group,
}

/// The process group that it begins in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// This one's.
    Same,
    /// One of its own: the terminal is gone, and the shell's end sends this one's group another SIGHUP.
    Own,
}

impl Detached {
    /// Resumes a run there; the id under which it goes on, or why it does not.
    pub(super) async fn resume(&self, id: &str, text: &str) -> Result<String, String> {
        let mut words: Vec<OsString> = self.globals.clone();
        words.extend(["--quiet", "--json", "run", "--background"].map(OsString::from));
        words.extend(["--resume", id, "-f", "-"].map(OsString::from));
        let begun = begun(&words, text, self.group).await;
        let (said, complaint) = begun.map_err(|error| error.to_string())?;
        let object: Option<Value> = serde_json::from_str(&said).ok();
        let new = object.and_then(|it| it.get("agent_id")?.as_str().map(str::to_owned));
        new.ok_or_else(|| {
            let last = complaint.lines().rfind(|line| !line.trim().is_empty());
            last.unwrap_or("it did not begin").to_owned()
        })
    }
}

/// What the process says on its standard output and error until the run has begun, or it ended.
async fn begun(words: &[OsString], text: &str, group: Group) -> io::Result<(String, String)> {
    let mut command = Command::new(std::env::current_exe()?);
    if group == Group::Own {
        command.process_group(0);
    }
    let mut child = command
        .arg(MARK)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that ended already says why.
        stdin.write_all(text.as_bytes()).await.unwrap_or_default();
    }
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut said).await?;
    }
    let mut complaint = String::new();
    if let (true, Some(mut stderr)) = (said.is_empty(), child.stderr.take()) {
        stderr.read_to_string(&mut complaint).await?;
    }
    Ok((said, complaint))
}
