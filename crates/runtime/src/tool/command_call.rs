//! What the tools that run commands have in common: the command as a call gives it, where it runs, and
//! how it is shown in a question.

use attache_kernel::rights::{rule::Call, tool_name::BuiltinTool};
use serde_json::Value;

use super::{
    Foresight, ToolContext, ToolOutput,
    arguments::{ArgumentError, Arguments, mistyped},
    named_paths::named_paths,
};
use crate::{
    process::{CommandLine, Reach},
    tool::workspace::Kind,
};

/// Whether a command is known to change nothing.
pub(super) fn only_reads(tool: BuiltinTool, arguments: &Value, context: &ToolContext) -> bool {
    let root = context.workspace.root().to_str();
    Call::new(&tool.into(), arguments).doubt(root).is_none()
}

/// A command as a call gives it.
#[derive(Debug)]
pub(super) struct CommandCall {
    pub(super) command: CommandLine,
    pub(super) workdir: Option<String>,
    pub(super) reach: Reach,
    justification: Option<String>,
}

impl CommandCall {
    /// Reads what the tools have in common.
    pub(super) fn read(arguments: &mut Arguments) -> Result<Self, ArgumentError> {
        let expected = "a string, or an array of strings";
        let command = arguments
            .value("command")
            .ok_or(ArgumentError::Missing { name: "command", expected })?;
        let command = match command {
            Value::String(script) => CommandLine::Script(script),
            Value::Array(words) => CommandLine::Words(
                words
                    .iter()
                    .map(|word| word.as_str().map(str::to_owned))
                    .collect::<Option<_>>()
                    .ok_or_else(|| mistyped("command", expected, &Value::Array(words)))?,
            ),
            other => return Err(mistyped("command", expected, &other)),
        };
        let workdir = arguments.text("workdir")?;
        let is_escalated = arguments.flag("with_escalated_permissions")?;
        let justification = arguments.text("justification")?;
        // What other hosts say along with a command, and OpenAI's own shell tool.
        for name in ["description", "type", "user", "login"] {
            arguments.disregard(name);
        }
        arguments.refuse("env", "set variables in the command")?;
        let reach = if is_escalated { Reach::Escalated } else { Reach::Sandboxed };
        Ok(Self { command, workdir, reach, justification })
    }

    /// The same with no more reach than it needs: a command that was judged to change nothing may run programs
    /// that a file of the workspace names, as `git status` does, so it can write nothing.
    pub(super) fn confined(self, only_reads: bool) -> Self {
        let reach = match self.reach {
            Reach::Sandboxed if only_reads => Reach::Reading,
            reach => reach,
        };
        Self { reach, ..self }
    }

    /// The command as it is shown in a question.
    pub(super) fn preview(&self) -> String {
        let mut text = self.command.to_string();
        if let Some(workdir) = &self.workdir {
            text.push_str("\n(in ");
            text.push_str(workdir);
            text.push(')');
        }
        if self.reach == Reach::Escalated {
            text.push_str("\n(outside of the sandbox");
            if let Some(justification) = &self.justification {
                text.push_str(": ");
                text.push_str(justification);
            }
            text.push(')');
        }
        text
    }

    /// What is known of the command before it is judged.
    pub(super) fn foresee(
        &self,
        arguments: &Value,
        context: &ToolContext,
    ) -> impl Future<Output = Foresight> + Send + use<> {
        let preview = Some(self.preview());
        let (root, arguments) = (context.workspace.root().to_owned(), arguments.clone());
        async move {
            let named = tokio::task::spawn_blocking(move || named_paths(&root, &arguments));
            Foresight { paths: named.await.unwrap_or_default(), preview, ..Foresight::default() }
        }
    }

    /// The directory it runs in, which lies beneath a root of the workspace.
    pub(super) async fn directory(
        &self,
        context: &ToolContext,
    ) -> Result<std::path::PathBuf, ToolOutput> {
        let Some(workdir) = self.workdir.clone() else {
            return Ok(context.workspace.root().to_owned());
        };
        let workspace = context.workspace.clone();
        let found = tokio::task::spawn_blocking(move || {
            let location = workspace.resolve(&workdir)?;
            if location.kind() == Kind::File {
                return Err(ToolOutput::error(format!("workdir `{workdir}` is not a directory")));
            }
            Ok(location.absolute())
        });
        found.await.unwrap_or_else(|_| Err(ToolOutput::error("workdir could not be looked up")))
    }
}
