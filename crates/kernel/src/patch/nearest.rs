//! The lines of a text that come nearest to lines that are not in it.

use std::collections::BTreeMap;

/// The shortest line that says where it is; brackets are everywhere.
const MIN_TELLING: usize = 3;

/// Where most of the wanted lines are, blanks around them aside; `None` if none of them is anywhere. The
/// answer is where the first wanted line would be. The cost is linear.
pub fn nearest_lines(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, line) in wanted.iter().enumerate() {
        if line.trim().len() >= MIN_TELLING {
            places.entry(line.trim()).or_insert(at);
        }
    }
    // How many lines say that the first one is there.
    let mut votes: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(place) = places.get(line.trim()) {
            *votes.entry(at.saturating_sub(*place)).or_default() += 1;
        }
    }
    let best = votes.into_iter().max_by_key(|(at, votes)| (*votes, std::cmp::Reverse(*at)));
    best.map(|(at, _)| at)
}
