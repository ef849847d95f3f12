//! Restrictions: every dialect's way to limit an agent, translated into two lists of tools.
//!
//! Reading only narrows. A restriction that is not understood removes every tool it may be about, with
//! a warning; it never grants one.

use std::collections::HashSet;

use super::{
    Code, Diagnostic, Position,
    dialect::Dialect,
    fields::Fields,
    keys::Key,
    node::{Kind, Member, Scalar, Style},
    permission::{names_tools, permitted_tool},
};
use crate::rights::{
    rule::ToolRule,
    tool_name::{BuiltinTool, ToolName, ToolPattern},
};

/// Every tool of every MCP server.
pub(super) const ANY_MCP: &str = "mcp__*";

impl Fields {
    /// Reads a list of tools, of any key and shape.
    pub(crate) fn take_tools(&mut self, key: Key, member: &Member) {
        if let Kind::Map(members) = &member.value.kind {
            self.take_tool_switches(key, members);
            return;
        }
        if key == Key::DisallowedTools && self.lists_nothing_readable(member) {
            return;
        }
        let entries = self.entries(member);
        match key {
            Key::DisallowedTools => {
                let (words, places): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
                self.definition.disallowed_tools.extend(words);
                self.places.disallowed.extend(places);
            }
            Key::ToolsUnasked => self.take_unasked(member, &entries),
            _ => {
                if key == Key::ToolsSlip {
                    self.push(
                        Diagnostic::warning(
                            Code::MisnamedKey,
                            member.key_at,
                            format!("`{}` is read as `tools`", member.key),
                        )
                        .with_hint("rename it to `tools`"),
                    );
                }
                let (denied, entries): (Vec<_>, Vec<_>) =
                    entries.into_iter().partition(|(word, _)| negated(word).is_some());
                for (word, at) in denied {
                    let tool = negated(&word).unwrap_or_default();
                    let message = format!("`{word}` in `{}` takes `{tool}` away", member.key);
                    self.push(
                        Diagnostic::warning(Code::RestrictionNotUnderstood, at, message)
                            .with_hint(format!("write `disallowedTools: {tool}`")),
                    );
                    self.definition.disallowed_tools.push(tool.to_owned());
                    self.places.disallowed.push(at);
                }
                self.set_tools(entries);
            }
        }
    }

    /// `askTools` and `denyTools`: lists in which `!` excepts from the entries before it.
    pub(crate) fn take_excepting(&mut self, key: Key, member: &Member) {
        if matches!(member.value.kind, Kind::Map(_)) || self.lists_nothing_readable(member) {
            self.not_understood(member);
            return;
        }
        for (word, at) in self.entries(member) {
            let rule = word.strip_prefix('!').unwrap_or(&word);
            if let Err(error) = ToolRule::parse_denial(rule) {
                let done = if key == Key::AskTools { "asked about" } else { "refused" };
                let effect = match (word.starts_with('!'), &error.tools) {
                    (true, _) => "it excepts nothing".to_owned(),
                    (false, Some(_)) => format!("every call of `{}` is {done}", error.word),
                    (false, None) => format!("every call is {done}"),
                };
                let message = format!("`{word}` is not understood, so {effect}: {error}");
                self.push(Diagnostic::warning(Code::RestrictionNotUnderstood, at, message));
            }
            match key {
                Key::AskTools => self.definition.ask_tools.push(word),
                _ => self.definition.deny_tools.push(word),
            }
        }
    }

    /// `disabledFeatures`.
    pub(crate) fn take_features(&mut self, member: &Member) {
        if self.lists_nothing_readable(member) {
            return;
        }
        for (word, at) in self.entries(member) {
            if !self.definition.disabled_features.contains(&word) {
                self.definition.disabled_features.push(word);
                self.places.features.push(at);
            }
        }
    }

    /// Whether a list of denied tools is not a list. Then it is not known what to deny, and the agent must not
    /// run.
    fn lists_nothing_readable(&mut self, member: &Member) -> bool {
        let is_no_word = member.value.scalar().is_some_and(|scalar| {
            let is_value = scalar.as_bool().is_some() || scalar.as_float().is_some();
            scalar.style == Style::Plain && is_value
        });
        if is_no_word {
            self.bad_type(member, "a list of tools");
        }
        is_no_word
    }

    /// In its own host `allowedTools` lists what runs without asking. The author may have meant a limit, so every
    /// other tool is removed.
    fn take_unasked(&mut self, member: &Member, entries: &[(String, Position)]) {
        let patterns: Vec<ToolPattern> = entries
            .iter()
            .filter_map(|(word, _)| {
                let name = word.split_once('(').map_or(word.as_str(), |(name, _)| name);
                ToolPattern::parse(name).ok()
            })
            .collect();
        let listed = |tool: BuiltinTool| {
            patterns.iter().any(|pattern| pattern.covers(&ToolName::Builtin(tool)))
        };
        let others = BuiltinTool::ALL.iter().copied().filter(|tool| !listed(*tool));
        self.taken.extend(others.map(|tool| tool.as_str().to_owned()));
        let any_mcp = patterns.iter().any(|pattern| {
            matches!(pattern, ToolPattern::McpServer(_) | ToolPattern::AnyMcp | ToolPattern::Any)
                || matches!(pattern, ToolPattern::Exactly(tools)
                    if tools.iter().any(|tool| matches!(tool, ToolName::Mcp { .. })))
        });
        if !any_mcp {
            self.taken.push(ANY_MCP.to_owned());
        }
        self.push(
            Diagnostic::warning(
                Code::RestrictionApplied,
                member.key_at,
                format!("`{}` is read as a limit: every other tool is disallowed", member.key),
            )
            .with_hint("list what the agent may use in `tools`"),
        );
    }

    /// A mapping of switches. In opencode what is not named stays on. Elsewhere a mapping grants what it
    /// switches on and nothing else, unless it only switches off.
    fn take_tool_switches(&mut self, key: Key, members: &[Member]) {
        let takes_away = key == Key::DisallowedTools;
        let is_opencode = self.dialect() == Dialect::Opencode;
        let mut on: Vec<(String, Position)> = Vec::new();
        let mut off: Vec<(String, Position)> = Vec::new();
        let mut seen = HashSet::new();
        let mut only_off = !members.is_empty();
        for switch in members {
            let state = match switch.value.scalar() {
                // A name without a value is an entry of a list.
                Some(scalar) if scalar.is_null() && (takes_away || !is_opencode) => Some(true),
                Some(scalar) => scalar.as_bool(),
                None => None,
            };
            only_off &= state == Some(false);
            if state.is_none() {
                self.switch_not_understood(switch);
            }
            let word = switch.key.trim();
            let granted = state == Some(!takes_away);
            // A repeated switch grants only if it does so every time.
            let first = seen.insert(word);
            let side = if granted { &mut on } else { &mut off };
            if first || !granted {
                side.push((word.to_owned(), switch.key_at));
            }
        }
        if !takes_away {
            let is_all = |word: &str| word == "*" || word.eq_ignore_ascii_case("all");
            let all_off = off.iter().any(|(word, _)| is_all(word));
            off.retain(|(word, _)| !is_all(word));
            if all_off || (!is_opencode && !only_off) {
                self.set_tools(on);
            }
        }
        if is_opencode && !takes_away {
            self.take_patches(&off, &seen);
        }
        let (words, places): (Vec<_>, Vec<_>) = off.into_iter().unzip();
        self.definition.disallowed_tools.extend(words);
        self.places.disallowed.extend(places);
    }

    /// In opencode one permission guards every way to change a file: who may not edit may not patch, unless
    /// the switches say so.
    fn take_patches(&mut self, off: &[(String, Position)], named: &HashSet<&str>) {
        let tool = |word: &str| BuiltinTool::from_word(word);
        let is_edit =
            |word: &str| matches!(tool(word), Some(BuiltinTool::WriteFile | BuiltinTool::EditFile));
        let names_patch = named.iter().any(|word| tool(word) == Some(BuiltinTool::ApplyPatch));
        if !names_patch && off.iter().any(|(word, _)| is_edit(word)) {
            self.taken.push(BuiltinTool::ApplyPatch.as_str().to_owned());
        }
    }

    fn switch_not_understood(&mut self, switch: &Member) {
        let word = switch.key.trim();
        let message = format!(
            "the switch of `{word}` is neither on nor off; the agent does not get `{word}`"
        );
        self.push(
            Diagnostic::warning(Code::RestrictionNotUnderstood, switch.value.at, message)
                .with_hint("write true or false"),
        );
    }

    /// `readonly`, `sandbox_mode`, `permission`.
    pub(crate) fn take_restriction(&mut self, key: Key, member: &Member) {
        match key {
            Key::ReadOnly => {
                let value = member.value.scalar().and_then(Scalar::as_bool);
                match value {
                    Some(true) => self.take_writers(member, "a read-only agent only reads"),
                    Some(false) => {}
                    None if member.value.is_null() => {}
                    None => self.not_understood(member),
                }
            }
            Key::SandboxMode => {
                let word =
                    member.value.scalar().map(|scalar| scalar.text.trim().to_ascii_lowercase());
                match word.as_deref() {
                    Some("read-only") => {
                        self.take_writers(member, "a read-only sandbox only reads");
                    }
                    Some("workspace-write" | "danger-full-access" | "") => {}
                    _ => self.not_understood(member),
                }
            }
            _ => self.take_permission(member),
        }
    }

    /// Takes away what a permission is about; false if no tool is.
    pub(super) fn take_permitted(&mut self, word: &str) -> bool {
        match word {
            // The one permission that covers every way to change a file.
            "edit" => {
                self.taken.extend(BuiltinTool::WRITERS.iter().map(|tool| tool.as_str().to_owned()));
            }
            word if names_tools(permitted_tool(word)) => {
                self.taken.push(permitted_tool(word).to_owned());
            }
            _ => return false,
        }
        true
    }

    /// Takes away everything that changes files or runs commands.
    pub(crate) fn take_writers(&mut self, member: &Member, why: &str) {
        let tools = BuiltinTool::WRITERS.iter().chain(BuiltinTool::SHELL_FAMILY);
        self.taken.extend(tools.map(|tool| tool.as_str().to_owned()));
        self.push(Diagnostic::note(
            Code::RestrictionApplied,
            member.key_at,
            format!("`{}`: {why}; tools that write or run commands are disallowed", member.key),
        ));
    }

    /// Keeps a key that looks like a restriction, and with it the dangerous tools away from the agent.
    pub(crate) fn unclear_restriction(&mut self, member: &Member, meant: &str) {
        let what = match Key::read(&member.key) {
            Some(_) => format!("the value of `{}` is not understood", member.key),
            None => format!("`{}` is not a known key but looks like a restriction", member.key),
        };
        let message = format!(
            "{what}; the agent gets no tool that runs commands, writes or belongs to an MCP server until it is \
             corrected or removed"
        );
        self.push(
            Diagnostic::warning(Code::UnclearRestriction, member.key_at, message)
                .with_hint(format!("did you mean `{meant}`?")),
        );
        self.definition.unclear_restrictions.push(member.key.clone());
        self.definition.extras.insert(member.key.clone(), member.value.to_json());
    }

    /// Fails closed: the agent loses every tool that the restriction may be about.
    pub(crate) fn not_understood(&mut self, member: &Member) {
        if !self.take_permitted(&member.key) {
            let tools = BuiltinTool::WRITERS.iter().chain(BuiltinTool::SHELL_FAMILY);
            self.taken.extend(tools.map(|tool| tool.as_str().to_owned()));
            self.taken.push(ANY_MCP.to_owned());
        }
        self.push(
            Diagnostic::warning(
                Code::RestrictionNotUnderstood,
                member.value.at,
                format!(
                    "the restriction `{}` is not understood; the agent loses the tools it may be about",
                    member.key
                ),
            )
            .with_hint("use `tools` and `disallowedTools` instead"),
        );
    }
}

/// What an entry of a list of tools takes away: `!Bash`, `-Bash`, `not Bash`.
fn negated(word: &str) -> Option<&str> {
    let lower = word.get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case("not "));
    let tool = match word.strip_prefix(['!', '-']) {
        None if lower => word.get(4..)?,
        rest => rest?,
    };
    Some(tool.trim_start_matches('!').trim())
}
