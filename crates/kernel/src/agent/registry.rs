//! The registry: which definition a name means, once every file is read.
//!
//! Precedence is builtin < user < project < session; within a project the nearest folder wins, then the
//! dialect's rank, then the path. What loses is kept with the winner, and what is broken still wins: a broken
//! project file never falls back to the user's in silence.

use std::{borrow::Cow, collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::Serialize;

use crate::{
    agent::definition::{
        Code, Definition, Diagnostic, Dialect, Position, Scope, Severity, Trust,
        dialect::agent_stem,
        reading::{FileStatus, Reading},
    },
    id::{AgentKey, nearest},
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
    /// The file; none is built in or given on the command line.
    pub path: Option<PathBuf>,
    /// How many folders above the working directory its project folder lies.
    pub distance: u32,
    /// Whether the user trusts this very content.
    pub trust: Trust,
}

/// What a definition comes down to in this session.
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
    /// One record a name, in order of the names.
    pub records: Vec<Record>,
    /// Names that two files of one place claim.
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
    /// What is wrong or odd about it.
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

/// A name that two files of one scope and dialect claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conflict {
    /// The name's key.
    pub name: String,
    /// The scope of both.
    pub scope: Scope,
    /// The dialect of both.
    pub dialect: Dialect,
    /// The file that counts.
    #[serde(serialize_with = "path_text::path")]
    pub winner: PathBuf,
    /// The files that do not.
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
    /// Two files of one place claim a name.
    Conflict,
    /// A file in an agents folder is no definition.
    NotADefinition,
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
            by_key.entry(AgentKey::of(&candidate.name())).or_default().push(candidate);
        }
        let mut records = Vec::with_capacity(by_key.len());
        let mut conflicts = Vec::new();
        for (key, mut claimants) in by_key {
            claimants.sort_by(Candidate::precedence);
            let mut claimants = claimants.into_iter();
            let Some(winner) = claimants.next() else { continue };
            let losers: Vec<Candidate> = claimants.collect();
            conflicts.extend(conflicts_of(&key, &winner, &losers));
            discovery_events.extend(losers.iter().map(|loser| winner.beats(loser)));
            records.push(winner.into_record(&losers, &appraise));
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

    /// The record of that name, whatever its state.
    pub fn record(&self, name: &str) -> Result<&Record, LookupError> {
        let key = AgentKey::of(name);
        self.records.iter().find(|record| AgentKey::of(&record.name) == key).ok_or_else(|| {
            let names = || self.records.iter().map(|record| record.name.as_str());
            LookupError::Unknown {
                name: name.to_owned(),
                nearest: nearest(name, names()).map(str::to_owned),
                available: names().map(str::to_owned).collect(),
            }
        })
    }
}

/// Why a name cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LookupError {
    /// There is no such agent.
    #[error("there is no agent `{name}`")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The name most like it.
        nearest: Option<String>,
        /// All names.
        available: Vec<String>,
    },
    /// Its file has errors.
    #[error("the agent `{name}` cannot be run: its file has errors")]
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
            Some(name) if !AgentKey::of(name).is_empty() => name.to_owned(),
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

    fn conflict_warning(&self, losers: &[Self]) -> Option<Diagnostic> {
        let rivals: Vec<String> = losers
            .iter()
            .filter(|loser| self.conflicts_with(loser))
            .filter_map(|loser| loser.path.as_deref().map(|path| path.display().to_string()))
            .collect();
        (!rivals.is_empty()).then(|| {
            let message =
                format!("the same name is claimed by {}; this file counts", rivals.join(", "));
            Diagnostic::warning(Code::Conflict, Position::START, message)
                .with_hint("rename or remove one of them")
        })
    }

    fn not_a_definition(&self) -> DiscoveryEvent {
        let why = self.reading.diagnostics.first().map(|diagnostic| diagnostic.message.as_str());
        DiscoveryEvent {
            kind: DiscoveryKind::NotADefinition,
            name: None,
            path: self.path.clone(),
            message: format!("no definition: {}", why.unwrap_or("it says nothing of an agent")),
        }
    }

    fn beats(&self, loser: &Self) -> DiscoveryEvent {
        let kind = if self.conflicts_with(loser) {
            DiscoveryKind::Conflict
        } else {
            DiscoveryKind::Override
        };
        let message = match kind {
            DiscoveryKind::Conflict => format!(
                "two files of one place are called `{}`: {} counts, {} does not",
                self.name(),
                self.whereabouts(),
                loser.whereabouts()
            ),
            _ => format!("{} overrides {}", self.whereabouts(), loser.whereabouts()),
        };
        DiscoveryEvent { kind, name: Some(self.name()), path: self.path.clone(), message }
    }

    fn whereabouts(&self) -> String {
        match &self.path {
            Some(path) => format!("{} ({})", path.display(), self.scope.as_str()),
            None => format!("the {} agent", self.scope.as_str()),
        }
    }

    fn into_record(
        self,
        losers: &[Self],
        appraise: impl Fn(&Definition, Trust) -> Appraisal,
    ) -> Record {
        let name = self.name();
        let definition = self.reading.definition.clone();
        let status = match (self.reading.status, &definition) {
            (FileStatus::Active, Some(agent)) if agent.disabled => Status::Disabled,
            (FileStatus::Active, Some(_)) => Status::Active,
            _ => Status::Invalid,
        };
        let appraisal =
            definition.as_ref().map(|agent| appraise(agent, self.trust)).unwrap_or_default();
        let mut diagnostics = self.reading.diagnostics.clone();
        diagnostics.extend(self.conflict_warning(losers));
        diagnostics.sort_by_key(Diagnostic::position);
        Record {
            name,
            scope: self.scope,
            dialect: self.dialect,
            source_path: self.path,
            status,
            definition,
            effective_tools: appraisal.effective_tools,
            withheld_tools: appraisal.withheld_tools,
            effective_model: appraisal.effective_model,
            trusted: self.trust,
            overrides: losers
                .iter()
                .map(|loser| Override { source_path: loser.path.clone(), scope: loser.scope })
                .collect(),
            diagnostics,
        }
    }
}

/// The conflicts among the claimants of a name, whether or not the winner is part of them.
fn conflicts_of(key: &AgentKey, winner: &Candidate, losers: &[Candidate]) -> Vec<Conflict> {
    let mut conflicts: Vec<Conflict> = Vec::new();
    let mut claimants: Vec<&Candidate> = vec![winner];
    claimants.extend(losers);
    for (index, first) in claimants.iter().enumerate() {
        let earlier = claimants.iter().take(index).any(|other| other.conflicts_with(first));
        let rivals: Vec<PathBuf> = claimants
            .iter()
            .skip(index + 1)
            .filter(|other| first.conflicts_with(other))
            .filter_map(|other| other.path.clone())
            .collect();
        if let Some(path) = first.path.clone().filter(|_| !earlier && !rivals.is_empty()) {
            conflicts.push(Conflict {
                name: key.to_string(),
                scope: first.scope,
                dialect: first.dialect,
                winner: path,
                losers: rivals,
            });
        }
    }
    conflicts
}

#[cfg(test)]
mod tests;
