//! Which agents a model is told of when it may delegate.
//!
//! Invariant: however many agents there are, the list is short: it is paid for on every turn. Those
//! nearest to the user come first, of these the most used, and the others are found through `subagent_list`.

use std::{cmp::Reverse, collections::BTreeMap};

use attache_kernel::{
    agent::{
        definition::Scope,
        registry::{Record, Status},
    },
    id::AgentName,
};

/// How long the whole list may be, and one description in it.
const LONGEST_LIST: usize = 3 * 1024;
const LONGEST_DESCRIPTION: usize = 160;

/// The agents that can be run, those nearest to the user first.
pub(super) fn runnable(records: &[Record]) -> Vec<&Record> {
    let mut runnable: Vec<_> = records
        .iter()
        .filter(|record| record.status == Status::Active && record.definition.is_some())
        .collect();
    runnable.sort_by_key(|record| nearness(record));
    runnable
}

/// How near to the user an agent is.
fn nearness(record: &Record) -> u8 {
    match record.scope {
        Scope::Session | Scope::Project => 0,
        Scope::User => 1,
        Scope::Builtin => 2,
    }
}

/// The names alone, as many as fit on a line or two.
pub(super) fn names(records: &[Record]) -> String {
    const MOST: usize = 20;
    let runnable = runnable(records);
    let names: Vec<&str> = runnable.iter().take(MOST).map(|record| record.name.as_str()).collect();
    match runnable.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more (subagent_list)", names.join(", ")),
    }
}

/// The list for a tool's description. Built-in agents are always in it. Where not all fit, those of a scope
/// that are used most come first.
pub(super) fn list(records: &[Record], uses: impl FnOnce() -> BTreeMap<String, u32>) -> String {
    let runnable = runnable(records);
    let (builtin, mut others): (Vec<&Record>, Vec<&Record>) =
        runnable.iter().partition(|record| record.scope == Scope::Builtin);
    let builtin: Vec<String> = builtin.into_iter().map(line).collect();
    let mut left = LONGEST_LIST.saturating_sub(builtin.iter().map(String::len).sum());
    let is_too_long = others.iter().map(|record| line(record).len()).sum::<usize>() > left;
    if is_too_long {
        let uses = uses();
        let used = |record: &Record| {
            uses.get(&*AgentName::new(&record.name).key().to_string()).copied().unwrap_or_default()
        };
        others.sort_by_cached_key(|record| (nearness(record), Reverse(used(record))));
    }
    let mut lines = Vec::new();
    for record in &others {
        let line = line(record);
        if line.len() > left {
            break;
        }
        left -= line.len();
        lines.push(line);
    }
    let unnamed = others.len() - lines.len();
    lines.extend(builtin);
    if unnamed > 0 {
        lines.push(format!("({unnamed} more: subagent_list with a query)"));
    }
    lines.join("\n")
}

fn line(record: &Record) -> String {
    format!("- {}: {}", record.name, short_description(record))
}

/// The beginning of an agent's description.
pub(super) fn short_description(record: &Record) -> String {
    let definition = record.definition.as_deref();
    let description = definition.and_then(|definition| definition.when_to_use.as_deref());
    let mut words = description.unwrap_or_default().split_whitespace();
    let mut short = words.next().unwrap_or_default().to_owned();
    for word in words {
        if short.len() + 1 + word.len() > LONGEST_DESCRIPTION {
            short.push('…');
            break;
        }
        short.push(' ');
        short.push_str(word);
    }
    short.chars().take(LONGEST_DESCRIPTION).collect()
}
