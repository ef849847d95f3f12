//! What an approval for the session covers: the same kind of command, the same file, the same host.
//!
//! A call is covered if each of its parts was approved, in one answer or in several. What cannot be told
//! apart safely (a script, an interpreter, a redirection, a call outside of the sandbox) covers nothing but
//! the very same call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Call,
    call::{Line, Subject},
};
use crate::rights::{
    command::{Parsed, Redirection, SimpleCommand, parse},
    permission::Foresight,
    tool_name::{BuiltinTool, ToolName},
};

/// One part of what somebody approved for the session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionGrant {
    /// Commands that begin with these words.
    Command(Vec<String>),
    /// Any call of the tool on this file.
    File {
        /// The tool; one for all that write.
        tool: ToolName,
        /// The real path, where it is known.
        path: String,
    },
    /// Asking this host.
    Host(String),
    /// Every call of this tool.
    Tool(ToolName),
    /// The same call with the same arguments.
    Same {
        /// The tool.
        tool: ToolName,
        /// The arguments.
        arguments: Value,
    },
}

/// Programs whose first argument is a command of its own.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "deno",
    "docker",
    "dotnet",
    "flutter",
    "gh",
    "git",
    "go",
    "gradle",
    "./gradlew",
    "helm",
    "just",
    "kubectl",
    "make",
    "mix",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rails",
    "rake",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
    "zig",
];
/// Of these, the subcommands that run the program their argument names.
const RUNNERS: &[&str] = &["run", "exec", "x", "dlx", "tool", "script"];
/// Programs of which only the very same call is covered: they run what their arguments say, or what they
/// do cannot be undone.
const ONLY_THE_SAME: &[&str] = &[
    ".",
    "awk",
    "bash",
    "builtin",
    "bunx",
    "chmod",
    "chown",
    "command",
    "curl",
    "dash",
    "dd",
    "doas",
    "env",
    "eval",
    "exec",
    "find",
    "fish",
    "gawk",
    "kill",
    "killall",
    "ksh",
    "lua",
    "mkfs",
    "mv",
    "nice",
    "node",
    "nohup",
    "npx",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pkill",
    "pnpx",
    "python",
    "python2",
    "python3",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "scp",
    "sed",
    "setsid",
    "sh",
    "shred",
    "source",
    "ssh",
    "su",
    "sudo",
    "tee",
    "time",
    "timeout",
    "truncate",
    "uvx",
    "watch",
    "wget",
    "xargs",
    "zsh",
];

impl SessionGrant {
    /// What approving a call for the session covers, a grant for each of its parts.
    pub fn of_call(tool: &ToolName, arguments: &Value, foresight: &Foresight) -> Vec<Self> {
        let same = || vec![Self::Same { tool: tool.clone(), arguments: arguments.clone() }];
        let is_escalated =
            arguments.get("with_escalated_permissions").is_some_and(|value| *value != false);
        if is_escalated {
            return same();
        }
        match (tool, Call::new(tool, arguments).subject()) {
            (_, Subject::Shell(lines)) => commands(lines).unwrap_or_else(same),
            (_, Subject::Paths(_)) if !foresight.paths.is_empty() => {
                let files = foresight.paths.iter();
                files.map(|path| Self::file(tool, path.to_string())).collect()
            }
            (_, Subject::Paths(paths)) => {
                paths.iter().map(|path| Self::file(tool, path.to_string())).collect()
            }
            (_, Subject::Host(host)) => vec![Self::Host(host.clone())],
            (ToolName::Mcp { .. } | ToolName::Builtin(BuiltinTool::WebSearch), _) => {
                vec![Self::Tool(tool.clone())]
            }
            _ => same(),
        }
    }

    fn file(tool: &ToolName, path: String) -> Self {
        let writes = tool.builtin().is_some_and(|tool| BuiltinTool::WRITERS.contains(&tool));
        let tool = if writes { BuiltinTool::EditFile.into() } else { tool.clone() };
        Self::File { tool, path }
    }
}

/// The beginnings of all commands; none if one of them has none that is safe to approve.
fn commands(lines: &[Line]) -> Option<Vec<SessionGrant>> {
    let mut grants = Vec::new();
    for line in lines {
        let commands = match line {
            Line::Text(text) => match parse(text) {
                Parsed::Plain(commands) => commands,
                Parsed::Complex(_) => return None,
            },
            Line::Words(words) => vec![SimpleCommand::of_words(words.iter().map(String::as_str))],
        };
        for command in &commands {
            let grant = SessionGrant::Command(beginning(command)?);
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
    }
    (!grants.is_empty()).then_some(grants)
}

/// The words that tell what kind of command it is.
fn beginning(command: &SimpleCommand) -> Option<Vec<String>> {
    if !command.assignments.is_empty() || !command.redirections.iter().all(Redirection::is_harmless)
    {
        return None;
    }
    let words: Vec<&str> =
        command.words.iter().map(|word| word.literal()).collect::<Option<_>>()?;
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if ONLY_THE_SAME.contains(&name) || name.starts_with("python") || name.starts_with("mkfs") {
        return None;
    }
    if !WITH_SUBCOMMANDS.contains(program) {
        return Some(vec![(*program).to_owned()]);
    }
    let is_plain = |word: &&&str| {
        word.starts_with(|letter: char| letter.is_ascii_alphanumeric())
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_:.".contains(letter))
    };
    let subcommand = arguments.first().filter(is_plain)?;
    let mut beginning = vec![(*program).to_owned(), (*subcommand).to_owned()];
    if RUNNERS.contains(subcommand) {
        beginning.push((*arguments.get(1).filter(is_plain)?).to_owned());
    }
    Some(beginning)
}

impl fmt::Display for SessionGrant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(words) => write!(formatter, "`{} …`", words.join(" ")),
            Self::File { path, .. } => write!(formatter, "`{path}`"),
            Self::Host(host) => write!(formatter, "`{host}`"),
            Self::Tool(tool) => write!(formatter, "every call of `{tool}`"),
            Self::Same { .. } => formatter.write_str("the same call"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rights::rule::RealPath;

    fn grants(tool: BuiltinTool, arguments: &Value) -> Vec<String> {
        let foresight = Foresight::default();
        let grants = SessionGrant::of_call(&tool.into(), arguments, &foresight);
        grants.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_command_covers_its_kind() {
        let cases: &[(&str, &[&str])] = &[
            ("cargo test --workspace", &["`cargo test …`"]),
            ("git commit -m 'a b'", &["`git commit …`"]),
            ("npm run build", &["`npm run build …`"]),
            ("make", &["the same call"]),
            ("mkdir -p a/b", &["`mkdir …`"]),
            (
                "cargo build && cargo test 2>&1 | tail -5",
                &["`cargo build …`", "`cargo test …`", "`tail …`"],
            ),
            // What only the same call covers.
            ("rm -rf target", &["the same call"]),
            ("python3 -c 'print(1)'", &["the same call"]),
            ("/usr/bin/python3.11 x.py", &["the same call"]),
            ("bash -c 'ls'", &["the same call"]),
            ("git -c core.pager=x log", &["the same call"]),
            ("cargo run -- --help", &["the same call"]),
            ("npx some-package", &["the same call"]),
            ("echo a > b", &["the same call"]),
            ("FOO=1 make test", &["the same call"]),
            ("echo $(date)", &["the same call"]),
            ("$CMD x", &["the same call"]),
            ("ls; rm x", &["the same call"]),
            ("echo 'unfinished", &["the same call"]),
            ("", &["the same call"]),
        ];
        for (command, expected) in cases {
            let found = grants(BuiltinTool::Shell, &json!({"command": command}));
            assert_eq!(found, *expected, "{command}");
        }
    }

    #[test]
    fn leaving_the_sandbox_is_approved_for_the_same_call_alone() {
        let arguments = json!({"command": "cargo test", "with_escalated_permissions": true});
        assert_eq!(grants(BuiltinTool::Shell, &arguments), ["the same call"]);
        let arguments = json!({"command": "cargo test", "with_escalated_permissions": "yes"});
        assert_eq!(grants(BuiltinTool::Shell, &arguments), ["the same call"]);
        let arguments = json!({"command": "cargo test", "with_escalated_permissions": false});
        assert_eq!(grants(BuiltinTool::Shell, &arguments), ["`cargo test …`"]);
    }

    #[test]
    fn a_file_is_the_real_one_for_every_tool_that_writes_and_not_for_reading() {
        let arguments = json!({"path": "link"});
        let foresight = Foresight {
            paths: vec![RealPath::new(Some("src/real.rs"), "/w/src/real.rs")],
            ..Foresight::default()
        };
        let of = |tool: BuiltinTool| SessionGrant::of_call(&tool.into(), &arguments, &foresight);
        assert_eq!(of(BuiltinTool::WriteFile), of(BuiltinTool::EditFile));
        assert_ne!(of(BuiltinTool::WriteFile), of(BuiltinTool::ReadFile));
        assert_eq!(of(BuiltinTool::EditFile)[0].to_string(), "`src/real.rs`");
    }

    #[test]
    fn hosts_and_tools() {
        assert_eq!(
            grants(BuiltinTool::WebFetch, &json!({"url": "https://a.example/x?y"})),
            ["`a.example`"]
        );
        assert_eq!(
            grants(BuiltinTool::WebSearch, &json!({"query": "x"})),
            ["every call of `web_search`"]
        );
        let other = ToolName::Host("weekday".into());
        let same = SessionGrant::of_call(&other, &json!({"a": 1}), &Foresight::default());
        assert_eq!(same, [SessionGrant::Same { tool: other, arguments: json!({"a": 1}) }]);
    }
}
