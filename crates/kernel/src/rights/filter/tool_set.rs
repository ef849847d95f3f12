//! A tool set: the tools an agent may use, each with everything that restricts it.
//!
//! A set comes from the host, or from another set by taking away; restrictions only add up. The same
//! set decides what the model is offered and, by [`ToolSet::check`], whether each call may run.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use crate::rights::{
    rule::{Call, Effect, Match, Prohibition, RealPath, ToolRule, Uncovered, uncovered},
    tool_name::{BuiltinTool, ToolName},
};

/// The tool by which an agent hands back its result. It is in no list and is never filtered.
pub const COMPLETE_TASK: &str = "complete_task";
/// Finds tools of MCP servers among those that an agent may call. It grants nothing, and is never filtered.
pub const MCP_SEARCH: &str = "mcp_search";
/// Calls a tool that was found; a run opens it and judges the call that is inside.
pub const MCP_CALL: &str = "mcp_call";

/// The tools an agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolSet {
    pub(super) grants: BTreeMap<ToolName, Vec<Constraint>>,
}

/// What restricts a tool; a call must satisfy all that its tool has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Constraint {
    /// Only what these rules together cover.
    Only(Vec<ToolRule>),
    /// Nothing that this rule matches, but for what it excepts.
    Never(Prohibition),
}

/// Why a call may not run, in words for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The agent does not have the tool.
    NotGranted {
        /// The tool.
        tool: ToolName,
    },
    /// The agent has the tool for other calls only.
    NotCovered {
        /// The tool.
        tool: ToolName,
        /// The rules that say for which calls.
        rules: Vec<ToolRule>,
        /// What they do not cover.
        what: Uncovered,
    },
    /// A rule forbids it, or may do so.
    Denied {
        /// The tool.
        tool: ToolName,
        /// The rule.
        rule: ToolRule,
    },
}

impl ToolSet {
    /// Everything the host offers: what a main agent has, and where every chain of agents begins.
    pub fn of_host(tools: impl IntoIterator<Item = ToolName>) -> Self {
        let grants = tools
            .into_iter()
            .filter(|tool| !is_never_filtered(tool))
            .map(|tool| (tool, Vec::new()))
            .collect();
        Self { grants }
    }

    /// Those of the tools that are kept, each with its restrictions and further ones.
    pub(super) fn narrow(&self, keep: impl Fn(&ToolName) -> Option<Vec<Constraint>>) -> Self {
        let mut grants = BTreeMap::new();
        for (tool, inherited) in &self.grants {
            let Some(further) = keep(tool) else { continue };
            let mut constraints = inherited.clone();
            for constraint in further {
                if !constraints.contains(&constraint) {
                    constraints.push(constraint);
                }
            }
            grants.insert(tool.clone(), constraints);
        }
        Self { grants }
    }

    /// The same set for a run that works in that directory. Rules that have no place yet are about it; those
    /// of an agent above stay about that one's directory.
    #[must_use]
    pub fn placed(self, root: &str) -> Self {
        self.with_rules(|rule, effect| rule.anchored(&[root], effect).seen_from(root))
    }

    /// The same set for a run in a copy of that directory.
    #[must_use]
    pub fn copied(self, original: &str, copy: &str) -> Self {
        self.with_rules(|rule, _| rule.copied(original, copy))
    }

    fn with_rules(mut self, change: impl Fn(ToolRule, Effect) -> ToolRule) -> Self {
        for constraint in self.grants.values_mut().flatten() {
            match constraint {
                Constraint::Only(rules) => {
                    for rule in rules {
                        *rule = change(rule.clone(), Effect::Allows);
                    }
                }
                Constraint::Never(denial) => {
                    *denial = denial.clone().map(
                        |rule| change(rule, Effect::Restricts),
                        |exception| change(exception, Effect::Allows),
                    );
                }
            }
        }
        self
    }

    /// The tools, in the order they are listed everywhere.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> + Clone {
        self.grants.keys()
    }

    /// Whether the agent has the tool, if only for some calls.
    pub fn contains(&self, tool: &ToolName) -> bool {
        self.grants.contains_key(tool)
    }

    /// Whether there is no tool in it.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// Whether a call with these arguments is within the rights. To be asked before every call.
    pub fn check(&self, tool: &ToolName, arguments: &Value) -> Result<(), Box<Refusal>> {
        if is_never_filtered(tool) {
            return Ok(());
        }
        let Some(constraints) = self.grants.get(tool) else {
            return Err(Box::new(Refusal::NotGranted { tool: tool.clone() }));
        };
        if constraints.is_empty() {
            return Ok(());
        }
        let call = Call::new(tool, arguments);
        let refusal = constraints.iter().find_map(|constraint| constraint.refuses(&call));
        refusal.map_or(Ok(()), |refusal| Err(Box::new(refusal)))
    }

    /// A rule about files of which it cannot be told whether the command of a call breaks it.
    pub fn unclear(&self, call: &Call<'_>) -> Option<&ToolRule> {
        self.denials(call.tool())
            .map(Prohibition::rule)
            .find(|rule| rule.matches(call) == Match::Unclear)
    }

    /// Whether a command may name a file, by the path it really has.
    pub fn check_named(&self, tool: &ToolName, path: &RealPath) -> Result<(), Box<Refusal>> {
        let mut denials = self.denials(tool).map(Prohibition::rule);
        match denials.find(|rule| rule.matches_named(path, true) == Match::Yes) {
            None => Ok(()),
            Some(rule) => Err(Box::new(Refusal::Denied { tool: tool.clone(), rule: rule.clone() })),
        }
    }

    /// The rules about files that a tool has been denied by.
    fn denials(&self, tool: &ToolName) -> impl Iterator<Item = &Prohibition> {
        let constraints = self.grants.get(tool).map(Vec::as_slice).unwrap_or_default();
        constraints.iter().filter_map(|constraint| match constraint {
            Constraint::Never(denial) if denial.rule().is_about_paths() => Some(denial),
            Constraint::Never(_) | Constraint::Only(_) => None,
        })
    }

    /// Whether no tool may read a file, by the path it really has: a rule denies reading it.
    pub fn withholds(&self, path: &RealPath) -> bool {
        self.denies_file(BuiltinTool::ReadFile, path)
    }

    /// Whether a rule about files denies anything to read.
    pub fn withholds_files(&self) -> bool {
        self.denies_files(BuiltinTool::ReadFile)
    }

    /// Whether no tool may change a file, by the path it really has: a rule denies writing it.
    pub fn keeps(&self, path: &RealPath) -> bool {
        self.denies_file(BuiltinTool::WriteFile, path)
    }

    /// Whether a rule about files denies anything to write.
    pub fn keeps_files(&self) -> bool {
        self.denies_files(BuiltinTool::WriteFile)
    }

    fn denies_file(&self, tool: BuiltinTool, path: &RealPath) -> bool {
        let tool = ToolName::Builtin(tool);
        let mut denials = self.grants.keys().flat_map(|granted| self.denials(granted));
        denials.any(|denial| denial.refuses_file(&tool, path))
    }

    fn denies_files(&self, tool: BuiltinTool) -> bool {
        let tool = ToolName::Builtin(tool);
        let mut denials = self.grants.keys().flat_map(|granted| self.denials(granted));
        denials.any(|denial| denial.rule().denial_reaches(&tool))
    }

    /// The tools that both sets have, each with the restrictions of both: a call passes only if both
    /// sets pass it. A server whose tools one set does not know yet (`mcp__server__*`) stands for those that
    /// the other set has of it.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = self.narrow(|tool| other.covering(tool).cloned());
        let of_whole_servers = other.narrow(|tool| {
            let is_named = self.contains(tool);
            self.covering(tool).filter(|_| !is_named).cloned()
        });
        both.grants.extend(of_whole_servers.grants);
        both
    }

    /// What restricts a tool that is in the set, by its name or with all of its server.
    fn covering(&self, tool: &ToolName) -> Option<&Vec<Constraint>> {
        let of_server = || match tool {
            ToolName::Mcp { server, .. } => {
                let all = ToolName::Mcp { server: server.clone(), tool: "*".to_owned() };
                self.grants.get(&all)
            }
            ToolName::Builtin(_) | ToolName::Host(_) => None,
        };
        self.grants.get(tool).or_else(of_server)
    }

    /// The same set without the files that these rules deny.
    #[must_use]
    pub fn without_files_of(&self, rules: impl IntoIterator<Item = Prohibition>) -> Self {
        let rules: Vec<Prohibition> =
            rules.into_iter().filter(Prohibition::is_about_paths).collect();
        self.narrow(|tool| {
            let reaching = rules.iter().filter(|rule| rule.rule().restrains(tool));
            Some(reaching.map(|rule| Constraint::Never(rule.clone())).collect())
        })
    }

    /// Whether some files are withheld from a tool by their paths.
    pub fn tells_files_apart(&self, tool: &ToolName) -> bool {
        let constraints = self.grants.get(tool).map(Vec::as_slice).unwrap_or_default();
        constraints.iter().any(|constraint| match constraint {
            Constraint::Only(rules) => rules.iter().any(ToolRule::is_about_paths),
            Constraint::Never(denial) => denial.is_about_paths(),
        })
    }

    /// Whether a tool may have a file, by the path it really has.
    ///
    /// [`check`](Self::check) judges the path a call names; which files that comes to, through links
    /// and below a directory, only the tool sees.
    pub fn check_file(&self, tool: &ToolName, path: &RealPath) -> Result<(), Box<Refusal>> {
        let Some(constraints) = self.grants.get(tool) else {
            return Err(Box::new(Refusal::NotGranted { tool: tool.clone() }));
        };
        let refusal = constraints.iter().find_map(|constraint| constraint.refuses_file(tool, path));
        refusal.map_or(Ok(()), |refusal| Err(Box::new(refusal)))
    }
}

impl Constraint {
    fn refuses(&self, call: &Call<'_>) -> Option<Refusal> {
        let tool = || call.tool().clone();
        match self {
            Self::Only(rules) => uncovered(rules, call).map(|what| Refusal::NotCovered {
                tool: tool(),
                rules: rules.clone(),
                what,
            }),
            Self::Never(denial) => denial.refuses(call).map(|left| match left {
                Some(what) => {
                    Refusal::NotCovered { tool: tool(), rules: denial.exceptions().to_vec(), what }
                }
                None => Refusal::Denied { tool: tool(), rule: denial.rule().clone() },
            }),
        }
    }
}

impl Constraint {
    fn refuses_file(&self, tool: &ToolName, path: &RealPath) -> Option<Refusal> {
        match self {
            Self::Only(rules) => {
                (!rules.iter().any(|rule| rule.allows_file(tool, path))).then(|| {
                    Refusal::NotCovered {
                        tool: tool.clone(),
                        rules: rules.clone(),
                        what: Uncovered::Path(path.to_string()),
                    }
                })
            }
            Self::Never(denial) => denial
                .refuses_file(tool, path)
                .then(|| Refusal::Denied { tool: tool.clone(), rule: denial.rule().clone() }),
        }
    }
}

impl Refusal {
    /// The rules that refuse the call, as they were written.
    pub fn rule(&self) -> Option<String> {
        match self {
            Self::NotGranted { .. } => None,
            Self::NotCovered { rules, .. } => {
                let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
                Some(rules.join(", "))
            }
            Self::Denied { rule, .. } => Some(rule.to_string()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted { tool } => {
                write!(formatter, "the tool `{tool}` is not available to this agent")
            }
            Self::NotCovered { tool, rules, what } => {
                let rules: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
                write!(
                    formatter,
                    "this agent may use `{tool}` only for {}; that does not cover {what}",
                    rules.join(", ")
                )
            }
            Self::Denied { tool, rule } => write!(
                formatter,
                "this agent may not use `{tool}` for `{rule}`, which this call is or cannot be told \
                 from"
            ),
        }
    }
}

pub(super) fn is_never_filtered(tool: &ToolName) -> bool {
    matches!(tool, ToolName::Host(name) if [COMPLETE_TASK, MCP_SEARCH, MCP_CALL].contains(&name.as_str()))
}
