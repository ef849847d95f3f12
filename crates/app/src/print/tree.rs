//! A tree of runs for people: a line for each run, with a bar on the time line of the whole tree.
//!
//! It fits the width it is given, from 40 columns on. Of many children of one run the failed, the
//! running and the longest are shown, and the rest is summed up in a line.

use std::{collections::BTreeMap, fmt::Write as _};

use unicode_width::UnicodeWidthStr as _;

use super::{
    number::{count, grouped, money, time},
    palette::{Tone, paint},
    table::clip,
    transcript::Detail,
    visible::one_line,
};
use crate::run_tree::{Branch, RunTree, SpanKind};

/// How many children of one run are shown.
const MOST_CHILDREN: usize = 30;
/// The least width there is.
const NARROWEST: usize = 40;

/// What a line shows beside name and bar, by the width there is.
struct Layout {
    label: usize,
    bar: usize,
    has_numbers: bool,
    has_cost: bool,
}

impl Layout {
    fn new(columns: usize) -> Self {
        let columns = columns.max(NARROWEST);
        let (has_numbers, has_cost) = (columns >= 80, columns >= 96);
        let label = (columns * 3 / 10).clamp(16, 44);
        let numbers = if has_numbers { 21 } else { 0 } + if has_cost { 11 } else { 0 };
        // The mark, the time and the blanks between.
        let rest = columns.saturating_sub(label + numbers + 15);
        Self { label, bar: rest.max(6), has_numbers, has_cost }
    }
}

/// The tree as text, in that many columns.
pub(crate) fn rendered(tree: &RunTree, columns: usize, detail: Detail) -> String {
    let layout = Layout::new(columns);
    let mut text = String::new();
    let head = format!(
        "{} · {} · {} · {}",
        count(tree.agents as u64, "agent"),
        time(tree.duration_ms),
        count(tree.total_tokens, "token"),
        tree.cost_usd.map_or_else(|| "cost unknown".to_owned(), money),
    );
    line(&mut text, &paint(Tone::Strong, &head));
    let status = tree.runs.first().map(|run| run.status.as_str()).unwrap_or_default();
    line(&mut text, &paint(Tone::Faint, &format!("{} {status}", one_line(&tree.agent_id))));
    line(&mut text, &axis(tree, &layout));
    let kept = kept(tree, detail);
    let last = last_of_level(tree);
    let mut folds: BTreeMap<usize, Fold> = BTreeMap::new();
    let mut hidden_below = None;
    for (index, run) in tree.runs.iter().enumerate() {
        if hidden_below.is_some_and(|level| run.level > level) {
            folds.entry(hidden_below.unwrap_or_default()).or_default().below += 1;
            continue;
        }
        hidden_below = None;
        for level in folds.keys().copied().filter(|level| *level > run.level).collect::<Vec<_>>() {
            told(&mut text, &mut folds, level);
        }
        if kept.get(index).copied().unwrap_or(true) {
            line(&mut text, &row(run, tree, &layout, last.get(index).copied().unwrap_or(true)));
        } else {
            folds.entry(run.level).or_default().add(run);
            hidden_below = Some(run.level);
        }
    }
    for level in folds.keys().copied().rev().collect::<Vec<_>>() {
        told(&mut text, &mut folds, level);
    }
    for problem in &tree.unreadable {
        line(&mut text, &paint(Tone::Warning, &format!("not shown: {}", one_line(problem))));
    }
    text
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Runs that are not shown one by one.
#[derive(Default)]
struct Fold {
    statuses: BTreeMap<String, usize>,
    below: usize,
    tokens: u64,
    shortest: Option<u64>,
    longest: u64,
}

impl Fold {
    fn add(&mut self, run: &Branch) {
        *self.statuses.entry(run.status.clone()).or_default() += 1;
        let took = run.duration_ms();
        self.tokens += run.total_tokens;
        self.shortest = Some(self.shortest.unwrap_or(took).min(took));
        self.longest = self.longest.max(took);
    }
}

fn told(text: &mut String, folds: &mut BTreeMap<usize, Fold>, level: usize) {
    let Some(fold) = folds.remove(&level) else { return };
    let all: usize = fold.statuses.values().sum();
    let statuses = match fold.statuses.iter().next() {
        Some((only, _)) if fold.statuses.len() == 1 => format!("all {only}"),
        _ => {
            let each = fold.statuses.iter().map(|(status, runs)| format!("{runs} {status}"));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let mut said = format!("… and {} more: {}", grouped(all as u64), one_line(&statuses));
    if fold.below > 0 {
        // Writing to a string cannot fail.
        write!(said, ", with {} below them", grouped(fold.below as u64)).unwrap_or_default();
    }
    let times = format!("{} to {}", time(fold.shortest.unwrap_or_default()), time(fold.longest));
    let said = format!("{said} ({times}, {}; --full shows all)", count(fold.tokens, "token"));
    line(text, &format!("{}{}", "  ".repeat(level.min(8)), paint(Tone::Faint, &said)));
}

/// Which runs are shown: of more than a screen of children, those that matter most.
fn kept(tree: &RunTree, detail: Detail) -> Vec<bool> {
    let mut kept = vec![true; tree.runs.len()];
    if detail == Detail::Full {
        return kept;
    }
    let mut families: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, run) in tree.runs.iter().enumerate().skip(1) {
        families.entry(run.parent_id.as_deref().unwrap_or_default()).or_default().push(index);
    }
    for family in families.values_mut().filter(|family| family.len() > MOST_CHILDREN) {
        family.sort_by_key(|index| {
            let run = tree.runs.get(*index);
            let matters = run.map(|run| (run.is_good(), !run.is_open()));
            (matters, std::cmp::Reverse(run.map(Branch::duration_ms)), *index)
        });
        for index in family.iter().skip(MOST_CHILDREN) {
            if let Some(kept) = kept.get_mut(*index) {
                *kept = false;
            }
        }
    }
    kept
}

/// Of each run, whether no other of its level follows below the same run.
fn last_of_level(tree: &RunTree) -> Vec<bool> {
    let mut last = vec![true; tree.runs.len()];
    // The levels at which a run follows, seen from the end.
    let mut follows: Vec<bool> = Vec::new();
    for (run, last) in tree.runs.iter().zip(&mut last).rev() {
        follows.truncate(run.level + 1);
        follows.resize(run.level + 1, false);
        if let Some(follows) = follows.get_mut(run.level) {
            *last = !*follows;
            *follows = true;
        }
    }
    last
}

/// The scale above the bars.
fn axis(tree: &RunTree, layout: &Layout) -> String {
    let end = time(tree.duration_ms);
    let room = layout.bar.saturating_sub(end.width() + 1);
    let scale = format!("{}0{}{end}", " ".repeat(layout.label + 3), " ".repeat(room));
    paint(Tone::Faint, &scale)
}

fn row(run: &Branch, tree: &RunTree, layout: &Layout, is_last: bool) -> String {
    let (mark, tone) = match run.status.as_str() {
        "goal" => ("✓", Tone::Good),
        "running" => ("●", Tone::Name),
        "queued" => ("◌", Tone::Faint),
        "interrupted" | "gone" => ("!", Tone::Warning),
        _ => ("✗", Tone::Bad),
    };
    let branch = match (run.level, is_last) {
        (0, _) => String::new(),
        (level, is_last) => {
            let corner = if is_last { "└ " } else { "├ " };
            format!("{}{corner}", "  ".repeat(level.saturating_sub(1).min(6)))
        }
    };
    let again = if run.resumed_from.is_some() { "↻ " } else { "" };
    let mut name = format!("{again}{}", one_line(&run.agent_type));
    if !run.is_good() && !run.is_open() {
        write!(name, " [{}]", one_line(&run.status)).unwrap_or_default();
    }
    if !run.description.is_empty() {
        write!(name, ": {}", one_line(&run.description)).unwrap_or_default();
    }
    let name = clip(&name, layout.label.saturating_sub(branch.width()));
    let name = format!("{branch}{name}");
    let name = format!("{name}{}", " ".repeat(layout.label.saturating_sub(name.width())));
    let took = format!("{:>11}", time(run.duration_ms()));
    let mut row = format!("{} {name} {} {took}", paint(tone, mark), bar(run, tree, layout.bar));
    if layout.has_numbers {
        let numbers = format!(" {:>4} t {:>9} tok", run.turns, grouped(run.total_tokens));
        row.push_str(&paint(Tone::Faint, &numbers));
    }
    if layout.has_cost {
        let cost = run.cost_usd.map_or_else(|| "–".to_owned(), money);
        row.push_str(&paint(Tone::Faint, &format!(" {cost:>10}")));
    }
    row.trim_end().to_owned()
}

/// A run on the time line: `░` waits, `▓` the model answers, `█` a tool works, `━` neither.
fn bar(run: &Branch, tree: &RunTree, columns: usize) -> String {
    let whole = tree.duration_ms.max(1);
    let column = |at: u64| {
        let at = u128::from(at.min(whole)) * columns as u128 / u128::from(whole);
        usize::try_from(at).unwrap_or(columns)
    };
    let mut cells = vec![' '; columns];
    let mut fill = |begin: u64, end: u64, cell: char| {
        let first = column(begin).min(columns.saturating_sub(1));
        let after = column(end).max(first + 1).min(columns);
        cells.iter_mut().take(after).skip(first).for_each(|drawn| *drawn = cell);
    };
    fill(run.begin_ms, run.end_ms, '━');
    if run.work_ms > run.begin_ms {
        fill(run.begin_ms, run.work_ms, '░');
    }
    // What would cover less than half a column does not hide what is around it.
    let least = whole / (2 * columns.max(1) as u64);
    for kind in [SpanKind::Turn, SpanKind::Call] {
        let cell = if kind == SpanKind::Turn { '▓' } else { '█' };
        for span in run.spans.iter().filter(|span| span.kind == kind) {
            if span.end_ms.saturating_sub(span.begin_ms) >= least {
                fill(span.begin_ms, span.end_ms, cell);
            }
        }
    }
    let tone = match run.status.as_str() {
        "goal" => Tone::Good,
        "running" => Tone::Name,
        "queued" => Tone::Faint,
        "interrupted" | "gone" => Tone::Warning,
        _ => Tone::Bad,
    };
    let drawn: String = cells.into_iter().collect();
    paint(tone, &drawn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::palette::unpainted;

    fn run(id: &str, level: usize, begin_ms: u64, end_ms: u64) -> Branch {
        Branch {
            agent_id: id.to_owned(),
            parent_id: (level > 0).then(|| "0".to_owned()),
            resumed_from: None,
            agent_type: "researcher-数据库\u{202e}".to_owned(),
            description: "a rather long description\nof what is to be done here and now".to_owned(),
            model: "m".to_owned(),
            status: "goal".to_owned(),
            error: None,
            started_at: String::new(),
            level,
            begin_ms,
            work_ms: begin_ms,
            end_ms,
            turns: 12,
            tool_uses: 3,
            total_tokens: 1_234_567,
            cost_usd: Some(0.5),
            spans: Vec::new(),
        }
    }

    fn tree(runs: Vec<Branch>) -> RunTree {
        RunTree {
            agent_id: "0".to_owned(),
            started_at: String::new(),
            duration_ms: runs.iter().map(|run| run.end_ms).max().unwrap_or_default(),
            agents: runs.len(),
            total_tokens: 0,
            cost_usd: None,
            runs,
            unreadable: Vec::new(),
        }
    }

    #[test]
    fn lines_fit_every_width_from_40_columns_on() {
        let mut runs = vec![run("0", 0, 0, 700_000)];
        runs.extend((1..60).map(|number| run(&number.to_string(), 1, number, number * 10_000)));
        let tree = tree(runs);
        for columns in [40, 41, 60, 79, 80, 95, 96, 100, 200] {
            let text = unpainted(&rendered(&tree, columns, Detail::Full));
            for line in text.lines().skip(1) {
                assert!(line.width() <= columns, "{columns}: {} {line}", line.width());
            }
        }
    }

    #[test]
    fn a_bar_stands_where_its_run_does() {
        let tree = tree(vec![run("0", 0, 0, 1000), run("1", 1, 500, 750)]);
        let drawn = |index: usize| unpainted(&bar(&tree.runs[index], &tree, 8));
        assert_eq!((drawn(0), drawn(1)), ("━━━━━━━━".to_owned(), "    ━━  ".to_owned()));
        let mut queued = run("2", 1, 250, 1000);
        queued.work_ms = 750;
        assert_eq!(unpainted(&bar(&queued, &tree, 8)), "  ░░░░━━");
    }
}
