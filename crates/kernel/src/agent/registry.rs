//! The registry: which definition a name means, once every file is read.
//!
//! Precedence is builtin < user < project < session; within a project the nearest folder wins, then the
//! dialect's rank, then the path. What loses is kept with the winner, and what is broken still wins: a broken
//! project file never falls back to the user's in silence. Two files of one place whose names differ but have one key are
//! both kept: the name as written finds each, the key finds the first.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use crate::{
    agent::definition::{
        Code, Definition, Diagnostic, Dialect, Position, Scope, Severity, Trust,
        dialect::agent_stem,
        reading::{FileStatus, Reading},
    },
    id::{AgentKey, nearest, nearest_few},
    model::choice::ModelChoice,
    path_text,
    rights::filter::WithheldTool,
};

/// A file that may define an agent, read and placed.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What it yielded.
    pub reading: Arc<Reading>,
    /// Where it comes from.
    pub scope: Scope,
    /// Whose format it is.
    pub dialect: Dialect,
    /// The file; `None` for agents that are built in or given on the command line.
    pub path: Option<PathBuf>,
    /// How many folders above the working directory its project folder lies.
    pub distance: u32,
    /// Whether the user trusts exactly this content.
    pub trust: Trust,
}

/// What a definition amounts to in this session: its tools and its model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Appraisal {
    /// The tools it gets, by canonical name.
    pub effective_tools: Vec<String>,
    /// The tools it asks for and does not get.
    pub withheld_tools: Vec<WithheldTool>,
    /// The model it would run on.
    pub effective_model: Option<ModelChoice>,
}

/// All agents there are.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Inventory {
    /// One record a name, in order of the keys.
    pub records: Vec<Record>,
    /// Names that two files of one place have.
    pub conflicts: Vec<Conflict>,
    /// What happened while looking.
    pub discovery_events: Vec<DiscoveryEvent>,
}

/// One agent: the definition that won its name, and what it comes down to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// The name as written.
    pub name: String,
    /// Where it comes from.
    pub scope: Scope,
    /// Whose format it is.
    pub dialect: Dialect,
    /// The file.
    #[serde(serialize_with = "path_text::optional")]
    pub source_path: Option<PathBuf>,
    /// Whether it can be run.
    pub status: Status,
    /// What it says.
    pub definition: Option<Arc<Definition>>,
    /// The tools it gets.
    pub effective_tools: Vec<String>,
    /// The tools it does not get.
    pub withheld_tools: Vec<WithheldTool>,
    /// The model it would run on.
    pub effective_model: Option<ModelChoice>,
    /// Whether the user trusts it.
    pub trusted: Trust,
    /// The definitions of the same name that lost, strongest first.
    pub overrides: Vec<Override>,
    /// Its problems.
    pub diagnostics: Vec<Diagnostic>,
}

/// Whether an agent can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It can.
    Active,
    /// Its file has errors.
    Invalid,
    /// Its file switches it off.
    Disabled,
}

impl Status {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Invalid => "invalid",
            Self::Disabled => "disabled",
        }
    }
}

/// A definition that lost its name to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Override {
    /// Its file.
    #[serde(serialize_with = "path_text::optional")]
    pub source_path: Option<PathBuf>,
    /// Where it comes from.
    pub scope: Scope,
}

/// A name that two files of one scope and dialect have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The name's key.
    pub name: String,
    /// The scope of both.
    pub scope: Scope,
    /// The dialect of both.
    pub dialect: Dialect,
    /// The file that is used.
    #[serde(serialize_with = "path_text::path")]
    pub winner: PathBuf,
    /// The files that are not used.
    #[serde(serialize_with = "path_text::list")]
    pub losers: Vec<PathBuf>,
}

/// Something that happened while looking for agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DiscoveryEvent {
    /// What happened.
    pub kind: DiscoveryKind,
    /// The agent it is about.
    pub name: Option<String>,
    /// The file or folder it is about.
    #[serde(serialize_with = "path_text::optional")]
    pub path: Option<PathBuf>,
    /// A sentence for people.
    pub message: String,
}

/// What can happen while looking for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveryKind {
    /// A definition took the place of another.
    Override,
    /// Two files of one place have one name.
    Conflict,
    /// A file in an agents folder is not a definition.
    NotADefinition,
    /// A link to a folder was not followed.
    LinkNotFollowed,
    /// A folder could not be read, or not in full.
    Unreadable,
    /// The feature is switched off.
    Disabled,
}

impl Inventory {
    /// Puts the candidates in order. `appraise` says what a winning definition comes down to.
    pub fn new(
        candidates: Vec<Candidate>,
        mut discovery_events: Vec<DiscoveryEvent>,
        appraise: impl Fn(&Definition, Trust) -> Appraisal,
    ) -> Self {
        let mut by_key: BTreeMap<AgentKey, Vec<Candidate>> = BTreeMap::new();
        for candidate in candidates {
            if candidate.reading.status == FileStatus::NotADefinition {
                discovery_events.push(candidate.not_a_definition());
                continue;
            }
            by_key.entry(AgentKey::from_name(&candidate.name())).or_default().push(candidate);
        }
        let mut records = Vec::with_capacity(by_key.len());
        let mut conflicts = Vec::new();
        for (key, mut claimants) in by_key {
            claimants.sort_by(Candidate::precedence);
            conflicts.extend(conflicts_among(&key, &claimants));
            for claim in claims(claimants) {
                discovery_events.extend(claim.events(&key));
                records.push(claim.into_record(&key, &appraise));
            }
        }
        Self { records, conflicts, discovery_events }
    }

    /// The agent of that name, if it can be run.
    pub fn find(&self, name: &str) -> Result<&Record, LookupError> {
        let record = self.record(name)?;
        match record.status {
            Status::Active => Ok(record),
            Status::Disabled => Err(LookupError::Disabled {
                name: record.name.clone(),
                path: record.source_path.clone(),
            }),
            Status::Invalid => Err(LookupError::Invalid {
                name: record.name.clone(),
                path: record.source_path.clone(),
                diagnostics: record
                    .diagnostics
                    .iter()
                    .filter(|diagnostic| diagnostic.severity == Severity::Error)
                    .cloned()
                    .collect(),
            }),
        }
    }

    /// The record of that name, in any state.
    pub fn record(&self, name: &str) -> Result<&Record, LookupError> {
        let exact = self.records.iter().find(|record| record.name == name.trim());
        let key = AgentKey::from_name(name);
        exact
            .or_else(|| self.records.iter().find(|record| AgentKey::from_name(&record.name) == key))
            .ok_or_else(|| self.not_found(name, &key))
    }

    /// Why there is no record of that name.
    fn not_found(&self, name: &str, key: &AgentKey) -> LookupError {
        let misread = self.discovery_events.iter().find(|event| {
            let stem = event.path.as_deref().and_then(agent_stem);
            event.kind == DiscoveryKind::NotADefinition
                && stem.is_some_and(|stem| AgentKey::from_name(&stem) == *key)
        });
        if let Some(DiscoveryEvent { path: Some(path), message, .. }) = misread {
            return LookupError::NotADefinition {
                name: name.to_owned(),
                path: path.clone(),
                reason: message.clone(),
            };
        }
        let names = || self.records.iter().map(|record| record.name.as_str());
        LookupError::Unknown {
            name: name.to_owned(),
            meant: nearest(name, names()).map(str::to_owned),
            nearest: nearest_few(name, names(), NEAREST).into_iter().map(str::to_owned).collect(),
            total: self.records.len(),
        }
    }
}

/// How many names an unknown one is answered with.
const NEAREST: usize = 5;
/// How many files of one name are named.
const NAMED_RIVALS: usize = 5;

/// Why a name cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LookupError {
    /// There is no such agent.
    #[error("there is no agent `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name that was most likely meant.
        meant: Option<String>,
        /// The names most like it, best first.
        nearest: Vec<String>,
        /// How many agents there are.
        total: usize,
    },
    /// There is a file of that name, but it is not a definition.
    #[error("there is no agent `{name}`: {} is not a definition", path.display())]
    NotADefinition {
        /// What was asked for.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why it is not a definition.
        reason: String,
    },
    /// Its file has errors.
    #[error("the agent `{name}` cannot be run: its definition has errors")]
    Invalid {
        /// The agent.
        name: String,
        /// Its file.
        path: Option<PathBuf>,
        /// The errors.
        diagnostics: Vec<Diagnostic>,
    },
    /// Its file switches it off.
    #[error("the agent `{name}` is switched off in its file")]
    Disabled {
        /// The agent.
        name: String,
        /// Its file.
        path: Option<PathBuf>,
    },
}

impl Candidate {
    /// The name as written, or the file's where nothing could be read.
    pub fn name(&self) -> String {
        let declared = self.reading.definition.as_ref().map(|agent| agent.agent_type.as_str());
        match declared {
            Some(name) if !AgentKey::from_name(name).is_empty() => name.to_owned(),
            _ => {
                let stem = self.path.as_deref().and_then(agent_stem);
                stem.map_or_else(|| "unnamed".to_owned(), Cow::into_owned)
            }
        }
    }

    fn precedence(&self, other: &Self) -> std::cmp::Ordering {
        other
            .scope
            .cmp(&self.scope)
            .then_with(|| self.distance.cmp(&other.distance))
            .then_with(|| self.dialect.rank().cmp(&other.dialect.rank()))
            .then_with(|| self.path.cmp(&other.path))
    }

    /// Whether nothing but the order of the paths decides between the two.
    fn conflicts_with(&self, other: &Self) -> bool {
        self.path.is_some()
            && self.scope == other.scope
            && self.distance == other.distance
            && self.dialect == other.dialect
    }

    fn not_a_definition(&self) -> DiscoveryEvent {
        let why = self.reading.diagnostics.first().map(|diagnostic| diagnostic.message.as_str());
        DiscoveryEvent {
            kind: DiscoveryKind::NotADefinition,
            name: None,
            path: self.path.clone(),
            message: why.unwrap_or("it says nothing of an agent").to_owned(),
        }
    }

    fn whereabouts(&self) -> String {
        match &self.path {
            Some(path) => format!("{} ({})", path.display(), self.scope.as_str()),
            None => format!("the {} agent", self.scope.as_str()),
        }
    }
}

/// A definition that won its name, and those that lost it.
struct Claim {
    winner: Candidate,
    losers: Vec<Candidate>,
    /// The file that the key of this one's name finds, where that is another.
    found_by_key: Option<PathBuf>,
}

/// Who gets which name among the claimants of one key, strongest first. A file that only the order of the paths puts
/// behind one of another name keeps its own.
fn claims(claimants: Vec<Candidate>) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for claimant in claimants {
        let name = claimant.name();
        let own = by_name.get(&name).copied();
        let Some(first) = claims.first_mut() else {
            by_name.insert(name, 0);
            claims.push(Claim { winner: claimant, losers: Vec::new(), found_by_key: None });
            continue;
        };
        if own.is_none() && first.winner.conflicts_with(&claimant) {
            let found_by_key = first.winner.path.clone();
            by_name.insert(name, claims.len());
            claims.push(Claim { winner: claimant, losers: Vec::new(), found_by_key });
            continue;
        }
        if let Some(claim) = claims.get_mut(own.unwrap_or_default()) {
            claim.losers.push(claimant);
        }
    }
    claims
}

impl Claim {
    /// The files that only the order of the paths puts behind the winner.
    fn rivals(&self) -> Vec<&Path> {
        let rivals = self.losers.iter().filter(|loser| self.winner.conflicts_with(loser));
        rivals.filter_map(|loser| loser.path.as_deref()).collect()
    }

    fn events(&self, key: &AgentKey) -> Vec<DiscoveryEvent> {
        let event = |kind: DiscoveryKind, message: String| DiscoveryEvent {
            kind,
            name: Some(self.winner.name()),
            path: self.winner.path.clone(),
            message,
        };
        let mut events = Vec::new();
        if let Some(first) = &self.found_by_key {
            let message = format!(
                "`{}` and the agent of {} share the key `{key}`, which finds the latter; use the name as written",
                self.winner.name(),
                first.display()
            );
            events.push(event(DiscoveryKind::Conflict, message));
        }
        let rivals = self.rivals();
        if !rivals.is_empty() {
            let message = format!(
                "{} files of one place are called `{}`: {} is used, not {}",
                rivals.len() + 1,
                self.winner.name(),
                self.winner.whereabouts(),
                some_of(&rivals)
            );
            events.push(event(DiscoveryKind::Conflict, message));
        }
        for loser in self.losers.iter().filter(|loser| !self.winner.conflicts_with(loser)) {
            let message =
                format!("{} overrides {}", self.winner.whereabouts(), loser.whereabouts());
            events.push(event(DiscoveryKind::Override, message));
        }
        events
    }

    fn warnings(&self, key: &AgentKey) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        let rivals = self.rivals();
        if !rivals.is_empty() {
            let message = format!("{} has the same name; this file is used", some_of(&rivals));
            let hint = "rename or remove one of them";
            warnings.push(
                Diagnostic::warning(Code::Conflict, Position::START, message).with_hint(hint),
            );
        }
        if let Some(first) = &self.found_by_key {
            let message =
                format!("{} has the same key, `{key}`, and is found by it", first.display());
            let hint = format!("use the name as written, `{}`, or rename one", self.winner.name());
            warnings.push(
                Diagnostic::warning(Code::Conflict, Position::START, message).with_hint(hint),
            );
        }
        warnings
    }

    fn into_record(
        self,
        key: &AgentKey,
        appraise: impl Fn(&Definition, Trust) -> Appraisal,
    ) -> Record {
        let warnings = self.warnings(key);
        let Self { winner, losers, .. } = self;
        let name = winner.name();
        let definition = winner.reading.definition.clone();
        let status = match (winner.reading.status, &definition) {
            (FileStatus::Active, Some(agent)) if agent.disabled => Status::Disabled,
            (FileStatus::Active, Some(_)) => Status::Active,
            _ => Status::Invalid,
        };
        let appraisal =
            definition.as_ref().map(|agent| appraise(agent, winner.trust)).unwrap_or_default();
        let mut diagnostics = winner.reading.diagnostics.clone();
        diagnostics.extend(warnings);
        diagnostics.sort_by_key(Diagnostic::position);
        Record {
            name,
            scope: winner.scope,
            dialect: winner.dialect,
            source_path: winner.path,
            status,
            definition,
            effective_tools: appraisal.effective_tools,
            withheld_tools: appraisal.withheld_tools,
            effective_model: appraisal.effective_model,
            trusted: winner.trust,
            overrides: losers
                .into_iter()
                .map(|loser| Override { source_path: loser.path, scope: loser.scope })
                .collect(),
            diagnostics,
        }
    }
}

/// A few of many files.
fn some_of(paths: &[&Path]) -> String {
    let named: Vec<String> =
        paths.iter().take(NAMED_RIVALS).map(|path| path.display().to_string()).collect();
    let named = named.join(", ");
    match paths.len().saturating_sub(NAMED_RIVALS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The conflicts among the claimants of a key, whether or not the winner is part of them.
fn conflicts_among(key: &AgentKey, claimants: &[Candidate]) -> Vec<Conflict> {
    let mut conflicts: Vec<(u32, Conflict)> = Vec::new();
    for claimant in claimants {
        let Some(path) = &claimant.path else { continue };
        // There are no more of these than places.
        let known = conflicts.iter_mut().find(|(distance, conflict)| {
            *distance == claimant.distance
                && conflict.scope == claimant.scope
                && conflict.dialect == claimant.dialect
        });
        match known {
            Some((_, conflict)) => conflict.losers.push(path.clone()),
            None => conflicts.push((
                claimant.distance,
                Conflict {
                    name: key.to_string(),
                    scope: claimant.scope,
                    dialect: claimant.dialect,
                    winner: path.clone(),
                    losers: Vec::new(),
                },
            )),
        }
    }
    let conflicts = conflicts.into_iter().map(|(_, conflict)| conflict);
    conflicts.filter(|conflict| !conflict.losers.is_empty()).collect()
}

#[cfg(test)]
mod tests;
