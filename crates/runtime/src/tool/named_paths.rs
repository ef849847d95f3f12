//! The files that a command or a call names, as they really lie: seen from where it runs, links followed.
//!
//! It is for rules about files. Every literal word of the command that may be a path counts as one, seen from
//! its working directory and from every directory it goes to.

use std::path::{Component, Path, PathBuf};

use attache_kernel::rights::{
    command::{Survey, Word, survey, survey_words},
    rule::{Call, RealPath},
    tool_name::{BuiltinTool, ToolName},
};
use serde_json::Value;

use super::{Foresight, ForesightFuture, ToolContext, off_thread::foreseen};

/// The number of directories that a command is followed to, and of paths that are looked up.
const MOST_DIRECTORIES: usize = 8;
const MOST_PATHS: usize = 512;

/// The files that the command of a call names. This reads the disk: call it where blocking is allowed.
pub(crate) fn named_paths(root: &Path, arguments: &Value) -> Vec<RealPath> {
    let survey = match arguments.get("command") {
        Some(Value::String(script)) => survey(script),
        Some(Value::Array(words)) => match words.as_slice() {
            [Value::String(shell), Value::String(option), Value::String(script)]
                if shell.ends_with("sh") && option.ends_with('c') =>
            {
                survey(script)
            }
            words => survey_words(words.iter().filter_map(Value::as_str)),
        },
        _ => return Vec::new(),
    };
    let workdir = arguments.get("workdir").and_then(Value::as_str).unwrap_or_default();
    let directories = directories(root.join(workdir), &survey);
    let mut paths: Vec<RealPath> = Vec::new();
    for word in words(&survey) {
        for directory in &directories {
            if paths.len() >= MOST_PATHS {
                return paths;
            }
            paths.push(real_path(root, &directory.join(word)));
        }
    }
    paths
}

/// Where a call that reads leads, if a rule asks about files.
pub(crate) fn foresee_reading<'a>(
    tool: &ToolName,
    arguments: &Value,
    context: &'a ToolContext,
) -> Option<ForesightFuture<'a>> {
    let is_reader = tool.builtin().is_some_and(|tool| BuiltinTool::READERS.contains(&tool));
    if !is_reader || !context.files.asks() {
        return None;
    }
    let root = context.workspace.root().to_owned();
    let (tool, arguments) = (tool.clone(), arguments.clone());
    Some(Box::pin(foreseen(&context.cancel, move |_| Foresight {
        paths: linked_paths(&root, &tool, &arguments),
        ..Foresight::default()
    })))
}

/// The files that a call which reads names, where they lie elsewhere than the call says. This reads the disk.
pub(crate) fn linked_paths(root: &Path, tool: &ToolName, arguments: &Value) -> Vec<RealPath> {
    let is_reader = tool.builtin().is_some_and(|tool| BuiltinTool::READERS.contains(&tool));
    let named = if is_reader { Call::new(tool, arguments).named_paths() } else { Vec::new() };
    let paths = named.iter().map(|path| root.join(path));
    let linked = paths.filter(|path| followed(path) != path.components().collect::<PathBuf>());
    linked.map(|path| real_path(root, &path)).collect()
}

/// Where a path really leads, as rules see it.
pub(crate) fn real_path(root: &Path, path: &Path) -> RealPath {
    let absolute = followed(path);
    let below = absolute.strip_prefix(root).ok().map(Path::to_string_lossy);
    RealPath::new(below.as_deref(), &absolute.to_string_lossy())
}

/// The working directory, and those that the command goes to.
fn directories(first: PathBuf, survey: &Survey) -> Vec<PathBuf> {
    let mut directories = vec![first];
    for launch in survey.launches.iter().chain(&survey.guesses) {
        let words: Vec<&str> = launch.command.words.iter().filter_map(Word::literal).collect();
        let (["cd" | "pushd", .., target], true) =
            (words.as_slice(), directories.len() < MOST_DIRECTORIES)
        else {
            continue;
        };
        let reached: Vec<PathBuf> = directories.iter().map(|from| from.join(target)).collect();
        directories.extend(reached);
        directories.truncate(MOST_DIRECTORIES);
    }
    directories
}

/// The words that may be paths: themselves, the value of an option or a variable, and files that are
/// redirected.
fn words(survey: &Survey) -> impl Iterator<Item = &str> {
    let seen = survey.launches.iter().map(|launch| (launch, 1));
    let guessed = survey.guesses.iter().map(|launch| (launch, 0));
    seen.chain(guessed).flat_map(|(launch, first)| {
        let targets = launch.command.redirections.iter().map(|redirection| &redirection.target);
        let words = launch.command.words.iter().skip(first).chain(targets);
        let texts = words.filter_map(Word::literal).filter(|text| !text.is_empty());
        texts.flat_map(|text| {
            let value = text.split_once('=').map(|(_, value)| value);
            let itself = (!text.starts_with('-')).then_some(text);
            itself.into_iter().chain(value.filter(|value| !value.is_empty()))
        })
    })
}

/// The path with its links followed, as far as there is something.
pub(crate) fn followed(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            part => {
                real.push(part);
                if let Ok(followed) = real.canonicalize() {
                    real = followed;
                }
            }
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_followed_from_where_the_command_runs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("secret")).unwrap();
        fs::write(root.join("secret/a"), "x").unwrap();
        fs::write(root.join(".env"), "x").unwrap();
        symlink(".env", root.join("envlink")).unwrap();
        symlink("secret", root.join("slink")).unwrap();
        let named = |arguments: Value| -> Vec<String> {
            named_paths(&root, &arguments).iter().map(ToString::to_string).collect()
        };
        for (arguments, expected) in [
            (json!({"command": "cat envlink"}), ".env"),
            (json!({"command": "cat slink/a"}), "secret/a"),
            (json!({"command": "cd secret && cat a"}), "secret/a"),
            (json!({"command": "cd x/../secret; head a"}), "secret/a"),
            (json!({"command": "cat a", "workdir": "slink"}), "secret/a"),
            (json!({"command": ["bash", "-lc", "cd slink && cat a"]}), "secret/a"),
            (json!({"command": ["cat", "envlink"]}), ".env"),
            (json!({"command": "cd secret && echo x > new"}), "secret/new"),
            (json!({"command": "tool --file=envlink"}), ".env"),
            (json!({"command": "cat /etc/../etc/hostname"}), "/etc/hostname"),
        ] {
            let named = named(arguments.clone());
            assert!(named.iter().any(|path| path == expected), "{arguments}: {named:?}");
        }
        assert!(named(json!({"command": "ls"})).is_empty());
        assert!(named(json!({"cmd": 1})).is_empty());
        let many = "w ".repeat(2000);
        assert_eq!(named(json!({"command": format!("echo {many}")})).len(), MOST_PATHS);
    }
}
