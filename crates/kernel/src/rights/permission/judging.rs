//! The function that judges a call: allow, ask or deny.
//!
//! The steps are taken in one order, and the first that speaks decides: rights and deny rules, ask
//! rules, what always asks, allow rules, what changes nothing, and all else. A question becomes a
//! refusal for an agent that may not ask.

use serde_json::Value;

use super::{
    Foresight, Permission,
    policy::{ApprovalPolicy, AutoApproval, Policy, Stance, WorkspaceAccess},
    rules::PermissionRule,
};
use crate::{
    agent::definition::ApprovalMode,
    rights::{
        confinement::Confinement,
        filter::{COMPLETE_TASK, ToolSet},
        protected::{protected_above, protected_names},
        rule::{
            Call, Match, RealPath, ToolRule, Uncovered, protected_by_command, uncovered,
            uncovered_part,
        },
        tool_name::{BuiltinTool, ToolName},
    },
};

/// A call that is to begin.
#[derive(Debug, Clone, Copy)]
pub struct Proposed<'a> {
    /// The tool.
    pub tool: &'a ToolName,
    /// Its arguments.
    pub arguments: &'a Value,
    /// What was found out about it.
    pub foresight: &'a Foresight,
    /// Why the tool itself wants somebody to be asked, if it does.
    pub asks: Option<&'a str>,
}

/// What is decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The decision.
    pub permission: Permission,
    /// Why, for people.
    pub reason: String,
    /// The rule that decided, as it was written.
    pub rule: Option<String>,
}

/// Judges a call of an agent with those rights.
pub fn judge(
    proposed: &Proposed<'_>,
    rights: &ToolSet,
    stance: Stance,
    policy: &Policy,
) -> Judgement {
    if matches!(proposed.tool, ToolName::Host(name) if name == COMPLETE_TASK) {
        return Judgement::allow("it hands in the result");
    }
    let call = Call::new(proposed.tool, proposed.arguments);
    let judging = Judging { proposed, call, stance, policy };
    let judgement = judging
        .refused_by_rights(rights)
        .or_else(|| judging.refused_by_rule())
        .or_else(|| judging.refused_while_planning())
        .or_else(|| judging.asked_by_rule())
        .unwrap_or_else(|| judging.without_matching_rule(rights));
    match (&judgement.permission, stance.questions) {
        (Permission::Ask { reason }, ApprovalMode::Suppress) => {
            let reason = format!("{reason}; this agent may not ask for approval");
            Judgement { rule: judgement.rule, ..Judgement::deny(reason) }
        }
        _ => judgement,
    }
}

impl Judgement {
    fn allow(reason: impl Into<String>) -> Self {
        Self { permission: Permission::Allow, reason: reason.into(), rule: None }
    }

    fn ask(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { permission: Permission::Ask { reason: reason.clone() }, reason, rule: None }
    }

    fn deny(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self { permission: Permission::Deny { reason: reason.clone() }, reason, rule: None }
    }

    fn by(self, rule: &PermissionRule) -> Self {
        Self { rule: Some(rule.written.clone()), ..self }
    }
}

/// A call under judgement, and what it is judged by.
struct Judging<'a> {
    proposed: &'a Proposed<'a>,
    call: Call<'a>,
    stance: Stance,
    policy: &'a Policy,
}

impl Judging<'_> {
    fn builtin(&self) -> Option<BuiltinTool> {
        self.proposed.tool.builtin()
    }

    /// Whether it is a tool whose calls name files.
    fn is_file_tool(&self) -> bool {
        self.is_writer() || self.builtin().is_some_and(|tool| BuiltinTool::READERS.contains(&tool))
    }

    fn is_writer(&self) -> bool {
        self.builtin().is_some_and(|tool| BuiltinTool::WRITERS.contains(&tool))
    }

    fn refused_by_rights(&self, rights: &ToolSet) -> Option<Judgement> {
        let Proposed { tool, arguments, foresight, .. } = self.proposed;
        let mut refusal = rights.check(tool, arguments).err();
        if refusal.is_none() && self.is_file_tool() {
            refusal = foresight.paths.iter().find_map(|path| rights.check_file(tool, path).err());
        }
        if refusal.is_none() && self.builtin().is_some_and(BuiltinTool::is_shell) {
            refusal = foresight.paths.iter().find_map(|path| rights.check_named(tool, path).err());
        }
        refusal.map(|refusal| {
            let rule = refusal.rule();
            Judgement { rule, ..Judgement::deny(refusal.to_string()) }
        })
    }

    /// How a rule of a deny or ask list matches: by what the call says, and by where its files lie.
    fn matched(&self, rule: &ToolRule) -> Match {
        let Proposed { foresight, .. } = self.proposed;
        if self.matches_real(rule) {
            return Match::Yes;
        }
        let matched = rule.matches(&self.call);
        if !self.builtin().is_some_and(BuiltinTool::is_shell) {
            return matched;
        }
        let is_harmless = self.call.doubt(self.policy.root.as_deref()).is_none();
        let named = foresight.paths.iter().map(|path| rule.matches_named(path, is_harmless));
        named.max().unwrap_or(Match::No).max(matched)
    }

    /// How a rule of an ask list matches: what it excepts does not count.
    fn asks(&self, rule: &PermissionRule) -> Match {
        let matched = self.matched(&rule.rule);
        if matched == Match::No || rule.except.is_empty() || !self.call.is_understood() {
            return matched;
        }
        let Proposed { tool, foresight, .. } = self.proposed;
        let is_excepted = |path| rule.except.iter().any(|rule| rule.allows_file(tool, path));
        let is_covered = rule.except.iter().any(|rule| rule.tools().covers(tool))
            && uncovered(&rule.except, &self.call).is_none()
            && (!self.is_file_tool() || foresight.paths.iter().all(is_excepted));
        if is_covered { Match::No } else { matched }
    }

    fn refused_by_rule(&self) -> Option<Judgement> {
        let rules = &self.policy.rules.deny;
        let denying = rules.iter().find(|rule| self.matched(&rule.rule) == Match::Yes)?;
        let said = self.said(&denying.rule, &format!("the rule {denying} denies it"));
        Some(Judgement::deny(said).by(denying))
    }

    /// Whether a rule matches by where the files of the call really lie.
    fn matches_real(&self, rule: &ToolRule) -> bool {
        let Proposed { tool, foresight, .. } = self.proposed;
        self.is_file_tool() && foresight.paths.iter().any(|path| rule.matches_change(tool, path))
    }

    /// What a rule says. A rule is held against a call whose arguments cannot be read, too.
    fn said(&self, rule: &ToolRule, sentence: &str) -> String {
        if let (Some(path), false) = (self.call.unclear_path(), self.matches_real(rule)) {
            return format!(
                "`{path}` has `..` in it, so where it leads cannot be judged, and {sentence}; write the path without `..`"
            );
        }
        let is_shell = self.builtin().is_some_and(BuiltinTool::is_shell);
        if is_shell || self.call.is_understood() {
            return sentence.to_owned();
        }
        format!("its arguments cannot be judged, so {sentence}")
    }

    fn refused_while_planning(&self) -> Option<Judgement> {
        if !self.stance.only_plans {
            return None;
        }
        let changes = match self.proposed.tool {
            ToolName::Builtin(tool) if tool.is_shell() => self.allowed_as_harmless().is_none(),
            ToolName::Builtin(tool) => BuiltinTool::WRITERS.contains(tool),
            ToolName::Mcp { .. } => self.allowed_as_harmless().is_none(),
            ToolName::Host(_) => false,
        };
        changes.then(|| Judgement::deny("this agent plans: it may change nothing"))
    }

    fn asked_by_rule(&self) -> Option<Judgement> {
        let mut rules = self.policy.rules.ask.iter();
        let asking = rules.find(|rule| self.asks(rule) == Match::Yes)?;
        let said = self.said(&asking.rule, &format!("the rule {asking} asks"));
        Some(Judgement::ask(said).by(asking))
    }

    /// What becomes of a call that no deny or ask rule is seen to match. A rule that may match makes
    /// an allowed call a question. A line that is not understood may match every rule, so there the rule
    /// is named only if the line would be allowed without it.
    fn without_matching_rule(&self, rights: &ToolSet) -> Judgement {
        let unclear = self.unclear_rule().or_else(|| self.asked_by_rights(rights));
        if let Some(unclear) = &unclear
            && self.call.is_understood()
        {
            return unclear.clone();
        }
        let judgement = self
            .always_asked()
            .or_else(|| self.allowed_by_rule())
            .or_else(|| self.allowed_as_harmless())
            .unwrap_or_else(|| self.all_else());
        match (&judgement.permission, unclear) {
            (Permission::Allow, Some(unclear)) => unclear,
            _ => judgement,
        }
    }

    fn unclear_rule(&self) -> Option<Judgement> {
        let rules = &self.policy.rules;
        let unclear = |rule: &&PermissionRule| self.matched(&rule.rule) == Match::Unclear;
        if let Some(rule) = rules.ask.iter().find(|rule| self.asks(rule) == Match::Unclear) {
            let reason = format!("it cannot be told whether the rule {rule} asks about it");
            return Some(Judgement::ask(reason).by(rule));
        }
        let rule = rules.deny.iter().find(unclear)?;
        let reason = format!("it cannot be told whether the rule {rule} denies it");
        Some(Judgement::ask(reason).by(rule))
    }

    fn asked_by_rights(&self, rights: &ToolSet) -> Option<Judgement> {
        if !self.builtin().is_some_and(BuiltinTool::is_shell) {
            return None;
        }
        let unclear = rights.unclear(&self.call)?;
        let reason = format!("it cannot be told whether the agent's rule `{unclear}` denies it");
        Some(Judgement { rule: Some(unclear.to_string()), ..Judgement::ask(reason) })
    }

    fn always_asked(&self) -> Option<Judgement> {
        let Proposed { arguments, asks, .. } = self.proposed;
        if is_escalated(arguments) && self.builtin().is_some_and(BuiltinTool::is_shell) {
            return Some(Judgement::ask("it is to run outside of the sandbox"));
        }
        if let Some(path) = self.protected_path() {
            return Some(Judgement::ask(format!("`{path}` is a protected path")));
        }
        asks.map(Judgement::ask)
    }

    /// The protected path that the call would write to, by what it says or where it leads.
    fn protected_path(&self) -> Option<String> {
        let root = self.policy.root.as_deref();
        let around = || root.filter(|root| protected_above(root).is_some());
        let is_protected = |path: &&RealPath| {
            protected_names(path.names()).is_some()
                || self.policy.protected.iter().any(|folder| path.is_below(folder))
        };
        if !self.is_writer() {
            let is_shell = self.builtin().is_some_and(BuiltinTool::is_shell);
            let is_harmless = || self.call.doubt(root).is_none();
            // The sandbox keeps such a workspace read-only.
            let is_held = self.policy.confinement == Confinement::Whole;
            if is_shell
                && !is_held
                && let Some(around) = around()
                && !is_harmless()
            {
                return Some(around.to_owned());
            }
            let named = || {
                let is_harmless = is_harmless();
                let mut paths = self.proposed.foresight.paths.iter().filter(|_| !is_harmless);
                paths.find(is_protected)
            };
            return protected_by_command(&self.call, root)
                .or_else(|| named().map(ToString::to_string));
        }
        let is_around = around().is_some();
        let is_protected =
            |path: &&RealPath| is_protected(path) || (is_around && path.is_in_workspace());
        let real = self.proposed.foresight.paths.iter().find(is_protected);
        real.map(ToString::to_string).or_else(|| self.call.protected_path(root))
    }

    fn allowed_by_rule(&self) -> Option<Judgement> {
        let Proposed { tool, foresight, .. } = self.proposed;
        let rules: Vec<&PermissionRule> =
            self.policy.rules.allow.iter().filter(|rule| rule.rule.tools().covers(tool)).collect();
        if rules.is_empty() || !self.call.is_understood() {
            return None;
        }
        let covers = |rules: &[&PermissionRule]| {
            let is_allowed = |path| rules.iter().any(|rule| rule.rule.allows_file(tool, path));
            uncovered(rules.iter().map(|rule| &rule.rule), &self.call).is_none()
                && (!self.is_file_tool() || foresight.paths.iter().all(is_allowed))
        };
        if let Some(rule) = rules.iter().find(|rule| covers(&[rule])) {
            return Some(Judgement::allow(format!("the rule {rule} allows it")).by(rule));
        }
        if covers(&rules) {
            let needed = fewest(rules, covers);
            let reason = format!("the rules {} allow its parts", described(&needed));
            return Some(Judgement { rule: Some(written(&needed)), ..Judgement::allow(reason) });
        }
        let beside_reading = |rules: &[&PermissionRule]| self.parts(rules) == Ok(true);
        if !beside_reading(&rules) || !self.stays_in_workspace() {
            return None;
        }
        let needed = fewest(rules, beside_reading);
        let (word, allow) = if needed.len() == 1 { ("rule", "allows") } else { ("rules", "allow") };
        let described = described(&needed);
        let reason =
            format!("the {word} {described} {allow} a part of it, and the rest only reads");
        Some(Judgement { rule: Some(written(&needed)), ..Judgement::allow(reason) })
    }

    /// Whether rules cover a part of a command line, the rest only reading; else what is neither.
    fn parts(&self, rules: &[&PermissionRule]) -> Result<bool, Uncovered> {
        let rules = rules.iter().map(|rule| &rule.rule);
        uncovered_part(rules, &self.call, self.policy.root.as_deref())
    }

    /// Whether a command that goes to another directory stays in the workspace, links followed.
    fn stays_in_workspace(&self) -> bool {
        !self.call.goes_elsewhere(self.policy.root.as_deref())
            || self.proposed.foresight.paths.iter().all(RealPath::is_in_workspace)
    }

    fn allowed_as_harmless(&self) -> Option<Judgement> {
        let reads = || Judgement::allow("it only reads");
        match self.proposed.tool {
            ToolName::Builtin(BuiltinTool::Shell | BuiltinTool::ExecCommand) => {
                self.call.doubt(self.policy.root.as_deref()).is_none().then(reads)
            }
            ToolName::Builtin(BuiltinTool::WriteStdin) => self.call.types_nothing().then(reads),
            ToolName::Builtin(tool) if BuiltinTool::READERS.contains(tool) => Some(reads()),
            // The tool looked and found nothing that it could change: the call will fail, and say why.
            ToolName::Builtin(tool) if BuiltinTool::WRITERS.contains(tool) => {
                let Foresight { paths, preview, .. } = self.proposed.foresight;
                (paths.is_empty() && preview.is_some())
                    .then(|| Judgement::allow("it would change nothing"))
            }
            ToolName::Builtin(BuiltinTool::TodoWrite) => {
                Some(Judgement::allow("it changes nothing but the list of things to do"))
            }
            ToolName::Builtin(tool) if BuiltinTool::DELEGATION.contains(tool) => {
                Some(Judgement::allow("the calls of a subagent are judged one by one"))
            }
            ToolName::Builtin(_) => None,
            tool @ ToolName::Mcp { .. } => self.policy.harmless_tools.contains(tool).then(reads),
            ToolName::Host(_) => Some(Judgement::allow("the host's tool asks for nothing")),
        }
    }

    fn all_else(&self) -> Judgement {
        if self.builtin().is_some_and(BuiltinTool::is_shell) {
            return self.other_command();
        }
        if self.is_writer() {
            return self.other_write();
        }
        Judgement::ask(match self.proposed.tool {
            ToolName::Builtin(BuiltinTool::WebFetch | BuiltinTool::WebSearch) => {
                "it reaches the network".to_owned()
            }
            tool => format!("`{tool}` is not known to be harmless"),
        })
    }

    fn other_command(&self) -> Judgement {
        let doubt = if self.builtin() == Some(BuiltinTool::WriteStdin) {
            let doubt = "it types into a running program".to_owned();
            if !self.proposed.foresight.is_confined {
                return Judgement::ask(doubt);
            }
            doubt
        } else {
            let rules: Vec<&PermissionRule> = self.policy.rules.allow.iter().collect();
            let doubt = || {
                let doubt = self.call.doubt(self.policy.root.as_deref());
                doubt.map_or_else(|| "its arguments cannot be read".to_owned(), |it| it.to_string())
            };
            match self.parts(&rules) {
                Err(what) => format!("no rule allows {what}"),
                Ok(_) => doubt(),
            }
        };
        match self.automatic() {
            Automatic::Yes => Judgement::allow("it runs in the sandbox"),
            Automatic::NotHere(why) => Judgement::ask(format!("{doubt}, and {why}")),
            Automatic::No => Judgement::ask(doubt),
        }
    }

    fn other_write(&self) -> Judgement {
        let paths = &self.proposed.foresight.paths;
        let outside = paths.iter().find(|path| !path.is_in_workspace());
        if let Some(path) = outside {
            return Judgement::ask(format!("it writes outside of the workspace: `{path}`"));
        }
        let ask = || Judgement::ask("it writes");
        if paths.is_empty() || self.policy.workspace == WorkspaceAccess::ReadOnly {
            return ask();
        }
        if self.stance.accepts_edits
            && self.policy.approval != ApprovalPolicy::Untrusted
            && self.policy.auto != AutoApproval::Nothing
        {
            return Judgement::allow("the agent's permissionMode accepts edits in the workspace");
        }
        match self.automatic() {
            Automatic::Yes => Judgement::allow("it writes in the workspace"),
            Automatic::NotHere(why) => Judgement::ask(format!("it writes, and {why}")),
            Automatic::No => ask(),
        }
    }

    /// Whether what the sandbox holds needs no question.
    fn automatic(&self) -> Automatic {
        let wanted = self.policy.approves_in_sandbox(self.stance);
        match (wanted, self.policy.confinement) {
            (false, _) => Automatic::No,
            (true, Confinement::Whole) => Automatic::Yes,
            (true, Confinement::Partial) => {
                Automatic::NotHere("the sandbox holds only in part here")
            }
            (true, Confinement::None) => Automatic::NotHere("there is no sandbox here"),
        }
    }
}

/// Those of the rules without which they would not suffice.
fn fewest<'r>(
    rules: Vec<&'r PermissionRule>,
    suffice: impl Fn(&[&'r PermissionRule]) -> bool,
) -> Vec<&'r PermissionRule> {
    let mut needed = rules;
    for index in (0..needed.len()).rev() {
        let mut fewer = needed.clone();
        fewer.remove(index);
        if suffice(&fewer) {
            needed = fewer;
        }
    }
    needed
}

fn written(rules: &[&PermissionRule]) -> String {
    let names: Vec<&str> = rules.iter().map(|rule| rule.written.as_str()).collect();
    names.join(", ")
}

fn described(rules: &[&PermissionRule]) -> String {
    let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
    rules.join(" and ")
}

/// Whether what the sandbox holds needs no question.
enum Automatic {
    Yes,
    No,
    /// It would not, with the whole sandbox.
    NotHere(&'static str),
}

/// Whether a call is to run outside of the sandbox; a value that is not understood is a yes.
fn is_escalated(arguments: &Value) -> bool {
    !matches!(
        arguments.get("with_escalated_permissions"),
        None | Some(Value::Null | Value::Bool(false))
    )
}
