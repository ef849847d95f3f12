//! Names: an agent's name as written, the key it is looked up by, and the ids of runs, sessions and
//! tool calls, which are always given by the caller.

use std::{borrow::Borrow, fmt};

use serde::{Deserialize, Serialize};

/// An agent's name as its file writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentName(String);

impl AgentName {
    /// A name, kept as written but for surrounding blanks.
    pub fn new(written: &str) -> Self {
        Self(written.trim().to_owned())
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key it is looked up by.
    pub fn key(&self) -> AgentKey {
        AgentKey::from_name(&self.0)
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

/// What an agent is looked up by: lower case, camel humps split, `+` read as `plus` and `#` as `sharp`, every run of other
/// characters than letters and digits one `-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AgentKey(String);

impl AgentKey {
    /// The longest key a definition may have.
    pub const MAX_CHARS: usize = 64;

    /// The key of a name.
    pub fn from_name(name: &str) -> Self {
        let mut key = String::with_capacity(name.len() + 4);
        let mut previous: Option<char> = None;
        let mut letters = name.chars().peekable();
        while let Some(letter) = letters.next() {
            let spoken = match letter {
                '+' => Some("plus"),
                '#' => Some("sharp"),
                _ => None,
            };
            if let Some(word) = spoken {
                if !key.is_empty() {
                    key.push('-');
                }
                key.push_str(word);
            }
            if !letter.is_alphanumeric() {
                previous = None;
                continue;
            }
            let next_is_lower = letters.peek().is_some_and(|next| next.is_lowercase());
            let hump = previous.is_some_and(|before| {
                letter.is_uppercase()
                    && (before.is_lowercase()
                        || before.is_numeric()
                        || (before.is_uppercase() && next_is_lower))
            });
            if (previous.is_none() || hump) && !key.is_empty() {
                key.push('-');
            }
            key.extend(letter.to_lowercase());
            previous = Some(letter);
        }
        Self(key)
    }

    /// The key itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing is left of the name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is longer than a key may be.
    pub fn is_too_long(&self) -> bool {
        self.0.chars().count() > Self::MAX_CHARS
    }
}

impl Borrow<str> for AgentKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// An id, kept as given.
            pub fn new(given: impl Into<String>) -> Self {
                Self(given.into())
            }

            /// The id as given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }
    )+};
}

ids! {
    /// One run of an agent: `agent-<uuid>`.
    RunId,
    /// A session: everything that one call of the program or one conversation starts.
    SessionId,
    /// One tool call, unique within its conversation.
    ToolCallId,
    /// One question whether a call may begin.
    QuestionId,
    /// One letter that was left for a run, unique among all.
    LetterId,
}

/// How like two names are, from 0 to 1, case aside.
fn likeness(wanted: &str, candidate: &str) -> f64 {
    strsim::jaro_winkler(wanted, &candidate.to_lowercase())
}

/// The candidates most like `wanted`, best first.
pub fn nearest_few<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    count: usize,
) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut rated: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| {
            // A name that holds the whole word is nearer than one that only begins like it.
            let holds = !wanted.is_empty() && candidate.to_lowercase().contains(&wanted);
            (likeness(&wanted, candidate) + if holds { 1.0 } else { 0.0 }, candidate)
        })
        .collect();
    rated.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(right.1)));
    rated.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// The candidate most like `wanted`, if one is like enough to be meant.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (likeness(&wanted, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fold_case_humps_and_punctuation() {
        for (name, key) in [
            ("explore", "explore"),
            ("Explore", "explore"),
            ("EXPLORE", "explore"),
            ("C# MCP Expert", "c-sharp-mcp-expert"),
            ("C# Expert", "c-sharp-expert"),
            ("C++ Expert", "c-plus-plus-expert"),
            ("c++", "c-plus-plus"),
            ("F#/C#", "f-sharp-c-sharp"),
            ("+1", "plus-1"),
            ("codeReviewer", "code-reviewer"),
            ("MCPExpert", "mcp-expert"),
            ("code_reviewer--v2", "code-reviewer-v2"),
            ("v2Agent", "v2-agent"),
            ("  --x-- ", "x"),
            ("代码 审查", "代码-审查"),
            ("!!!", ""),
            ("", ""),
        ] {
            assert_eq!(AgentKey::from_name(name).as_str(), key, "{name:?}");
        }
    }

    #[test]
    fn key_of_a_key_is_itself() {
        for name in ["C# MCP Expert", "C++", "MCPExpert", "ÉcoleÜber", "a1B2c3"] {
            let key = AgentKey::from_name(name);
            assert_eq!(AgentKey::from_name(key.as_str()), key);
        }
    }

    #[test]
    fn nearest_is_what_was_meant_or_nothing() {
        let names = ["Explore", "Plan", "code-reviewer"];
        assert_eq!(nearest("explor", names), Some("Explore"));
        assert_eq!(nearest("CODE-REVIEWR", names), Some("code-reviewer"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest_few("reviewer", names, 2), ["code-reviewer", "Explore"]);
        assert_eq!(nearest_few("plan", names, 1), ["Plan"]);
    }
}
