//! Background runs of clients: each is driven by a process of its own, so that it outlives the server.

use std::{ffi::OsString, process::Stdio};

use attache_kernel::id::RunId;
use attache_runtime::internal::tasks::{DetachedOrder, DetachedSubject, LaunchFuture, Launcher};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
};

use crate::{background::MARK, cli::Globals};

/// Starts this program again for each run.
#[derive(Debug)]
pub(super) struct ProcessLauncher {
    globals: Globals,
}

impl ProcessLauncher {
    pub(super) fn new(globals: &Globals) -> Self {
        Self { globals: Globals { quiet: true, json: true, ..globals.clone() } }
    }

    /// The command line of a run.
    fn words(&self, order: &DetachedOrder) -> Vec<OsString> {
        let cwd = order.working_directory.clone().or_else(|| self.globals.cwd.clone());
        let globals = Globals { cwd, ..self.globals.clone() };
        let mut words: Vec<OsString> = vec![MARK.into()];
        words.extend(globals.words());
        words.extend(["run", "--background", "--mcp-session"].map(OsString::from));
        words.push(order.session.as_str().into());
        let mut add = |option: &str, value: &str| {
            words.push(format!("{option}={value}").into());
        };
        order.description.iter().for_each(|words| add("--description", words));
        order.model.iter().for_each(|model| add("--model", model));
        for (name, value) in &order.inputs {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            add("--input", &format!("{name}={value}"));
        }
        add("--file", "-");
        match &order.who {
            DetachedSubject::Agent(name) => words.extend(["--".into(), name.into()]),
            DetachedSubject::Earlier(run) => {
                words.push(format!("--resume={}", run.as_str()).into());
            }
        }
        words
    }

    async fn begun(&self, order: DetachedOrder) -> std::io::Result<Result<RunId, String>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(self.words(&order))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A process that ended already says why.
            stdin.write_all(order.task.as_bytes()).await.unwrap_or_default();
        }
        let mut said = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut said).await?;
        }
        if let Some(id) = field(&said, &["agent_id"]) {
            return Ok(Ok(RunId::new(id)));
        }
        let mut complaint = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut complaint).await?;
        }
        child.wait().await?;
        let last = complaint.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        let message = field(last, &["error", "message"]).unwrap_or_else(|| last.to_owned());
        Ok(Err(match field(last, &["error", "hint"]) {
            Some(hint) => format!("{message} ({hint})"),
            None => message,
        }))
    }
}

fn field(text: &str, path: &[&str]) -> Option<String> {
    let object: Value = serde_json::from_str(text).ok()?;
    let value = path.iter().try_fold(&object, |value, key| value.get(key))?;
    value.as_str().map(str::to_owned)
}

impl Launcher for ProcessLauncher {
    fn launch(&self, order: DetachedOrder) -> LaunchFuture<'_> {
        Box::pin(async move {
            self.begun(order).await.unwrap_or_else(|error| {
                Err(format!("cannot start a process in the background: {error}"))
            })
        })
    }
}
