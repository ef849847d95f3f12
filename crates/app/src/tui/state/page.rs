//! A full screen over the conversation: a text to read, or a list to choose from.

use attache_kernel::id::RunId;
use attache_runtime::internal::store::RunState;
use ratatui::{layout::Size, text::Line};

use crate::{
    print::palette::{Tone, unpainted},
    tui::text::wrapped,
};

/// The lines of a page that are not its text: title, rule, keys.
const FRAME_LINES: u16 = 3;

/// How much room a page has for its text.
pub(crate) fn room(screen: Size) -> Size {
    Size::new(screen.width.max(1), screen.height.saturating_sub(FRAME_LINES).max(1))
}

/// How far the rest of a line that is broken stands to the right.
pub(crate) const HANG: usize = 4;

/// A full screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Page {
    Text(TextPage),
    List(ListPage),
}

/// A text that can be scrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextPage {
    pub(crate) title: String,
    /// Painted lines.
    pub(crate) lines: Vec<String>,
    /// The first line that is shown.
    pub(crate) scroll: usize,
    /// Whether its end is shown, also when it grows.
    pub(crate) follows: bool,
    /// The run whose transcript it is, while that goes on.
    pub(crate) run: Option<RunId>,
    /// The list that it was opened from.
    pub(crate) back: Option<Box<ListPage>>,
    /// The agent that it shows.
    pub(crate) agent: Option<String>,
}

/// A list with a chosen row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListPage {
    pub(crate) kind: ListKind,
    pub(crate) rows: Vec<Row>,
    pub(crate) chosen: usize,
    /// A message that is being written to the chosen run.
    pub(crate) message: Option<String>,
}

/// What a list is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// Every run, of any process.
    Tasks,
    /// Earlier conversations.
    Conversations,
    /// The agents there are.
    Agents,
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The run, or the agent.
    pub(crate) id: String,
    /// What is shown, a cell for each column of its list.
    pub(crate) cells: Vec<Cell>,
    /// What has become of the run; none for an agent.
    pub(crate) state: Option<RunState>,
    /// The turns of the run that are over.
    pub(crate) turns: u32,
}

/// A cell of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) tone: Option<Tone>,
    pub(crate) text: String,
    /// The same where there is little room.
    pub(crate) short: String,
}

impl Cell {
    pub(crate) fn new(
        tone: impl Into<Option<Tone>>,
        text: impl Into<String>,
        short: impl Into<String>,
    ) -> Self {
        Self { tone: tone.into(), text: text.into(), short: short.into() }
    }

    /// A cell without a short form.
    pub(crate) fn same(tone: impl Into<Option<Tone>>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { tone: tone.into(), short: text.clone(), text }
    }
}

impl Row {
    /// Whether the run goes on.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, Some(RunState::Running | RunState::Queued))
    }
}

impl ListPage {
    pub(crate) fn new(kind: ListKind, rows: Vec<Row>) -> Self {
        Self { kind, rows, chosen: 0, message: None }
    }

    /// The row that keys act on.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.rows.get(self.chosen)
    }

    /// Takes new rows; the chosen one stays chosen.
    pub(crate) fn refresh(&mut self, rows: Vec<Row>) {
        let chosen = self.row().map(|row| row.id.clone());
        let at = rows.iter().position(|row| Some(&row.id) == chosen.as_ref());
        self.chosen = at.unwrap_or(self.chosen).min(rows.len().saturating_sub(1));
        self.rows = rows;
    }

    /// Moves the choice.
    pub(crate) fn step(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }
}

impl TextPage {
    pub(crate) fn new(title: impl Into<String>, text: &str) -> Self {
        Self {
            title: title.into(),
            lines: text.lines().map(str::to_owned).collect(),
            scroll: 0,
            follows: false,
            run: None,
            back: None,
            agent: None,
        }
    }

    /// The first line of the last screen: those after it fill the room, each in as many rows as it takes.
    pub(crate) fn last(&self, room: Size) -> usize {
        let mut rows = 0;
        let taken = self.lines.iter().rev().take_while(|line| {
            rows += wrapped(Line::raw(unpainted(line)), room.width.into(), HANG).len();
            rows <= usize::from(room.height)
        });
        let shown = taken.count().max(1);
        self.lines.len().saturating_sub(shown)
    }

    /// Scrolls; at the end of a run that goes on, its page follows it.
    pub(crate) fn step(&mut self, by: isize, room: Size) {
        let last = self.last(room);
        let from = if self.follows { last } else { self.scroll };
        self.scroll = from.saturating_add_signed(by).min(last);
        self.follows = self.run.is_some() && self.scroll == last;
    }
}

impl Page {
    /// Whether it changes by itself.
    pub(crate) fn is_live(&self) -> bool {
        match self {
            Self::Text(page) => page.run.is_some() || page.agent.is_some(),
            Self::List(list) => list.kind != ListKind::Conversations,
        }
    }

    /// Whether what was read again is what it shows already.
    pub(crate) fn shows(&self, read: &Self) -> bool {
        match (self, read) {
            (Self::List(list), Self::List(new)) => list.kind == new.kind && list.rows == new.rows,
            (Self::Text(page), Self::Text(new)) => {
                page.title == new.title && page.lines == new.lines && page.run == new.run
            }
            (Self::List(_), Self::Text(_)) | (Self::Text(_), Self::List(_)) => false,
        }
    }
}
