//! An agent in a rule: `Task(reviewer)`, `Task(review-*)`, `Task(subagent_type:reviewer)`.

use super::ToolRuleErrorKind;
use crate::id::AgentKey;

/// The arguments of a call that name the agent.
const NAMING: &[&str] = &["subagent_type", "name", "agent", "agent_type", "agent_name"];
/// Arguments that do not.
const OTHERS: &[&str] =
    &["prompt", "task", "description", "model", "run_in_background", "resume", "inputs"];

/// A name of an agent in a rule, with `*` for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentPattern {
    /// What stands between the stars, as in keys.
    pieces: Vec<String>,
}

impl AgentPattern {
    pub(super) fn parse(text: &str) -> Result<Self, ToolRuleErrorKind> {
        let name = match text.split_once(':') {
            Some((argument, name)) if NAMING.contains(&argument.trim()) => name.trim(),
            Some((argument, _)) if OTHERS.contains(&argument.trim()) => {
                return Err(ToolRuleErrorKind::BadAgent);
            }
            _ => text.trim(),
        };
        let written: Vec<&str> = name.split('*').collect();
        let last = written.len() - 1;
        let pieces: Vec<String> = written
            .iter()
            .enumerate()
            .map(|(index, piece)| {
                let key = AgentKey::from_name(piece).to_string();
                let is_gap = |letter: char| !letter.is_alphanumeric() && !"+#".contains(letter);
                // A gap next to a star is one in the middle of a name.
                let before = if index > 0 && piece.starts_with(is_gap) { "-" } else { "" };
                let after = if index < last && piece.ends_with(is_gap) { "-" } else { "" };
                if key.is_empty() { before.to_owned() } else { format!("{before}{key}{after}") }
            })
            .collect();
        if pieces.len() == 1 && pieces.iter().all(String::is_empty) {
            return Err(ToolRuleErrorKind::EmptyPattern);
        }
        Ok(Self { pieces })
    }

    pub(super) fn matches(&self, agent: &AgentKey) -> bool {
        let key = agent.to_string();
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else {
            return false;
        };
        if self.pieces.len() == 1 {
            return key == *first;
        }
        let inner =
            key.strip_prefix(first.as_str()).and_then(|key| key.strip_suffix(last.as_str()));
        let Some(mut rest) = inner else { return false };
        let middle = self.pieces.get(1..self.pieces.len() - 1).unwrap_or_default();
        middle.iter().all(|piece| match rest.split_once(piece.as_str()) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_as_keys() {
        for (pattern, meant, others) in [
            ("k1", &["k1", "K1"][..], &["k11", "k"][..]),
            ("subagent_type:k1", &["k1"], &["subagent-type-k1", "k2"]),
            ("name: Code Reviewer", &["code-reviewer"], &["reviewer"]),
            ("plugin:reviewer", &["plugin-reviewer"], &["reviewer"]),
            ("code-*", &["code-review", "CodeReview"], &["code", "codex"]),
            ("*-reviewer", &["code-reviewer"], &["reviewer"]),
            ("a*c*e", &["abcde", "ace"], &["ae", "abce1"]),
            ("*", &["any"], &[]),
        ] {
            let pattern = AgentPattern::parse(pattern).unwrap();
            for name in meant {
                assert!(pattern.matches(&AgentKey::from_name(name)), "{pattern:?} {name}");
            }
            for name in others {
                assert!(!pattern.matches(&AgentKey::from_name(name)), "{pattern:?} {name}");
            }
        }
        for pattern in ["model:opus", "prompt:*"] {
            assert_eq!(AgentPattern::parse(pattern), Err(ToolRuleErrorKind::BadAgent));
        }
        for pattern in ["", "subagent_type:", "--"] {
            assert_eq!(AgentPattern::parse(pattern), Err(ToolRuleErrorKind::EmptyPattern));
        }
    }
}
