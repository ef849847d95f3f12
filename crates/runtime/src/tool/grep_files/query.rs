//! What a search looks for and how it is told: the arguments, understood.

use attache_kernel::id::nearest;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::types::{Types, TypesBuilder};
use serde_json::Value;

use super::super::{
    ToolOutput, arguments::Arguments, file_filter::FileFilter, file_guard::Readable,
};
use crate::tool::workspace::{Location, Workspace};

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 16 << 10;
/// The most memory of a compiled pattern.
const MAX_COMPILED: usize = 10 << 20;
/// The most memory that each thread uses to search for it faster.
const MAX_CACHE: usize = 4 << 20;

/// How many matching lines, or files, are shown unless asked otherwise.
const DEFAULT_LIMIT: usize = 200;
/// How many are shown at most.
pub(super) const MAX_LIMIT: usize = 2000;
/// How many lines around a match are shown at most.
const MAX_CONTEXT: usize = 50;

/// What is looked for, and how it is told.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) base: Location,
    pub(super) matcher: RegexMatcher,
    pub(super) pattern: String,
    pub(super) mode: Mode,
    pub(super) lines: LineMode,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) limit: usize,
    pub(super) filter: Option<FileFilter>,
    pub(super) types: Option<Types>,
}

/// What is told about a file that matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Its matching lines.
    Content,
    /// Its path.
    Files,
    /// Its path and how many lines match.
    Count,
}

/// Whether a match may go beyond a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineMode {
    /// It may not.
    Single,
    /// It may where the pattern says `\n`.
    Multiple,
    /// It may, and `.` means the end of a line as well.
    DotAll,
}

/// How the pattern is to be read.
#[derive(Debug, Clone, Copy)]
struct Reading {
    ignore_case: bool,
    fixed_strings: bool,
}

impl Query {
    pub(super) fn new(
        arguments: Value,
        workspace: &Workspace,
        readable: &Readable,
    ) -> Result<Self, ToolOutput> {
        let mut arguments = Arguments::new(arguments)?;
        let pattern = arguments.required_text("pattern")?;
        let path = arguments.text("path")?;
        let glob = arguments.text("glob")?;
        let file_type = arguments.text("type")?;
        let mode = arguments.choice("mode", MODES, Mode::Content)?;
        let context = arguments.number("context")?.unwrap_or(0);
        let before = arguments.number("before")?.unwrap_or(context);
        let after = arguments.number("after")?.unwrap_or(context);
        let reading = Reading {
            ignore_case: arguments.flag("ignore_case")?,
            fixed_strings: arguments.flag("fixed_strings")?,
        };
        let multiline = arguments.flag("multiline")?;
        let limit = arguments.number("head_limit")?.filter(|limit| *limit > 0);
        arguments.disregard("-n");
        arguments.finish()?;

        let base = match path {
            Some(path) => readable.find(workspace, &path)?,
            None => readable.find_top(workspace)?,
        };
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(ToolOutput::error(format!(
                "the pattern has {} bytes; the maximum is {MAX_PATTERN_BYTES}. Search for a part of \
                 it.",
                pattern.len()
            )));
        }
        let (matcher, lines) = reading.compile(&pattern, multiline)?;
        Ok(Self {
            base,
            matcher,
            pattern,
            mode,
            lines,
            before: before.min(MAX_CONTEXT),
            after: after.min(MAX_CONTEXT),
            limit: limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT),
            filter: glob.as_deref().map(FileFilter::of_list).transpose()?,
            types: file_type.as_deref().map(types_of).transpose()?,
        })
    }
}

const MODES: &[(&[&str], Mode)] = &[
    (&["content", "lines"], Mode::Content),
    (&["files", "files_with_matches"], Mode::Files),
    (&["count", "counts"], Mode::Count),
];

impl Reading {
    fn compile(
        self,
        pattern: &str,
        multiline: bool,
    ) -> Result<(RegexMatcher, LineMode), ToolOutput> {
        if multiline {
            let matcher = self.build(pattern, LineMode::DotAll);
            return Ok((matcher.map_err(|error| self.refuse(pattern, &error))?, LineMode::DotAll));
        }
        let single = match self.build(pattern, LineMode::Single) {
            Ok(matcher) => return Ok((matcher, LineMode::Single)),
            Err(error) => error,
        };
        // Who writes `\n` wants to match it.
        if matches!(single.kind(), grep_regex::ErrorKind::NotAllowed(_))
            && let Ok(matcher) = self.build(pattern, LineMode::Multiple)
        {
            return Ok((matcher, LineMode::Multiple));
        }
        Err(self.refuse(pattern, &single))
    }

    fn build(self, pattern: &str, lines: LineMode) -> Result<RegexMatcher, grep_regex::Error> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_CACHE)
            .case_insensitive(self.ignore_case)
            .fixed_strings(self.fixed_strings)
            .dot_matches_new_line(lines == LineMode::DotAll);
        if lines == LineMode::Single {
            builder.line_terminator(Some(b'\n'));
        }
        builder.build(pattern)
    }

    fn refuse(self, pattern: &str, error: &grep_regex::Error) -> ToolOutput {
        let text = error.to_string();
        if text.contains("size limit") {
            return ToolOutput::error(
                "the pattern is too large once compiled. Use fewer or smaller repetitions ({n}), or \
                 a smaller class such as [a-z] instead of \\w.",
            );
        }
        if self.fixed_strings {
            return ToolOutput::error(format!("invalid pattern: {error}"));
        }
        // The matcher wraps the pattern before it reads it; the parser alone knows the right place.
        let reason = regex_syntax::parse(pattern)
            .err()
            .map_or_else(|| error.to_string(), |error| error.to_string());
        ToolOutput::error(format!(
            "invalid pattern: {reason}\nTo search for the text itself, set fixed_strings=true."
        ))
    }
}

/// The type of that name, or the one that has files of that extension.
fn types_of(name: &str) -> Result<Types, ToolOutput> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let definitions = builder.definitions();
    let extension = format!("*.{name}");
    let known = definitions
        .iter()
        .find(|definition| definition.name().eq_ignore_ascii_case(name))
        .or_else(|| definitions.iter().find(|definition| definition.globs().contains(&extension)));
    let Some(known) = known else {
        let near = nearest(name, definitions.iter().map(ignore::types::FileTypeDef::name));
        let hint = near.map_or_else(
            || "use glob instead, e.g. *.ext".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        return Err(ToolOutput::error(format!("unknown type {name}; {hint}")));
    };
    builder
        .select(known.name())
        .build()
        .map_err(|error| ToolOutput::error(format!("type {name}: {error}")))
}
