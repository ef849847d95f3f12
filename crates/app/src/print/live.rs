//! The live part of a terminal: one line an agent at the bottom, with a clock that ticks; above it what
//! stays, and the model's text as it arrives.
//!
//! It only computes what to write: the time and the width come in as arguments. The cursor always stands at
//! the end of the live lines, so erasing them leaves nothing behind.

use std::time::{Duration, Instant};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::{
    palette::{Colours, Tone, paint, rendered, unpainted},
    table::clip,
    visible::visible,
};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// When and where a change is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Instant,
    pub(super) columns: usize,
}

/// A run's clock: what it said, and since when it goes on from there.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiveClock {
    elapsed: Duration,
    /// None while the run waits for somebody, which does not count as time.
    goes_since: Option<Instant>,
}

impl LiveClock {
    /// One that said so at that moment.
    pub(super) fn showing(elapsed_seconds: u64, now: Instant) -> Self {
        Self { elapsed: Duration::from_secs(elapsed_seconds), goes_since: Some(now) }
    }

    pub(super) fn pause(&mut self, now: Instant) {
        *self = Self { elapsed: self.at(now), goes_since: None };
    }

    pub(super) fn go_on(&mut self, now: Instant) {
        self.goes_since.get_or_insert(now);
    }

    fn at(self, now: Instant) -> Duration {
        let since = self.goes_since.map(|since| now.saturating_duration_since(since));
        self.elapsed + since.unwrap_or_default()
    }
}

/// What an agent is doing.
#[derive(Debug, Clone)]
pub(super) struct LiveLine {
    pub(super) agent: String,
    /// `turn 3/30`.
    pub(super) turn: String,
    pub(super) clock: LiveClock,
    pub(super) max_seconds: u64,
    /// The tool in hand, or what else is waited for.
    pub(super) doing: String,
}

/// Something to show.
#[derive(Debug)]
pub(super) enum Change {
    /// A line that stays.
    Line(String),
    /// A piece of an agent's text.
    Text { id: String, piece: String },
    /// What an agent says next does not continue its text.
    TextEnd { id: String },
    /// What an agent is doing now.
    Doing { id: String, line: LiveLine },
    /// An agent is done.
    Done { id: String },
    /// Somebody else writes to the terminal: nothing is drawn until this is taken back.
    Hold,
    /// The terminal is free again.
    Release,
}

/// The live lines, and how many of them are drawn.
#[derive(Debug)]
pub(super) struct LiveScreen {
    colours: Colours,
    agents: Vec<(String, LiveLine)>,
    /// The last line of each agent's text, while it has no end.
    unfinished: Vec<(String, String)>,
    /// The widths of the lines that are drawn.
    drawn: Vec<usize>,
    frame: usize,
    /// While somebody else writes: the lines that wait.
    held: Option<Vec<String>>,
}

impl LiveScreen {
    pub(super) fn new(colours: Colours) -> Self {
        Self {
            colours,
            agents: Vec::new(),
            unfinished: Vec::new(),
            drawn: Vec::new(),
            frame: 0,
            held: None,
        }
    }

    /// Takes a change in; what to write.
    pub(super) fn take(&mut self, change: Change, moment: Moment) -> String {
        let mut above = Vec::new();
        match change {
            Change::Line(line) => {
                above.extend(line.lines().map(str::to_owned));
            }
            Change::Text { id, piece } => self.text(&id, &piece, moment, &mut above),
            Change::TextEnd { id } => self.finish_text(&id, &mut above),
            Change::Doing { id, line } => {
                match self.agents.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, old)) => *old = line,
                    None => self.agents.push((id, line)),
                }
            }
            Change::Hold => {
                let erased = self.erased(moment.columns);
                self.drawn.clear();
                self.held.get_or_insert_default();
                return erased;
            }
            Change::Release => above.extend(self.held.take().unwrap_or_default()),
            Change::Done { id } => {
                self.finish_text(&id, &mut above);
                self.agents.retain(|(known, _)| *known != id);
            }
        }
        self.redraw(&above, moment)
    }

    /// Ends the text of an agent whose next words do not continue it.
    fn finish_text(&mut self, id: &str, above: &mut Vec<String>) {
        if let Some(at) = self.unfinished.iter().position(|(known, _)| known == id) {
            let (_, text) = self.unfinished.remove(at);
            if !text.trim().is_empty() {
                above.push(paint(Tone::Faint, &text));
            }
        }
    }

    fn text(&mut self, id: &str, piece: &str, moment: Moment, above: &mut Vec<String>) {
        if !self.unfinished.iter().any(|(known, _)| known == id) {
            self.unfinished.push((id.to_owned(), String::new()));
        }
        let mut texts = self.unfinished.iter_mut();
        let Some((_, line)) = texts.find(|(known, _)| known == id) else { return };
        for letter in visible(piece).replace('\t', "    ").chars() {
            if letter == '\n' {
                above.push(paint(Tone::Faint, line));
                line.clear();
                continue;
            }
            if line.width() + letter.width().unwrap_or_default() >= moment.columns {
                // Broken at a blank, if there is one in the second half.
                let at = line.rfind(' ').filter(|at| at * 2 > line.len()).unwrap_or(line.len());
                let rest = line.split_off(at);
                above.push(paint(Tone::Faint, line));
                rest.trim_start().clone_into(line);
            }
            line.push(letter);
        }
    }

    /// Lets the clocks go on.
    pub(super) fn tick(&mut self, moment: Moment) -> String {
        self.frame += 1;
        self.redraw(&[], moment)
    }

    /// Takes the live lines away; unfinished text stays.
    pub(super) fn clear(&mut self, moment: Moment) -> String {
        let mut above = self.held.take().unwrap_or_default();
        let ids: Vec<String> = self.unfinished.iter().map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.finish_text(&id, &mut above);
        }
        self.agents.clear();
        self.redraw(&above, moment)
    }

    /// Whether a clock ticks.
    pub(super) fn is_ticking(&self) -> bool {
        !self.agents.is_empty()
    }

    fn redraw(&mut self, above: &[String], moment: Moment) -> String {
        if let Some(waiting) = &mut self.held {
            waiting.extend_from_slice(above);
            return String::new();
        }
        let mut written = self.erased(moment.columns);
        for line in above {
            written.push_str(&rendered(line, self.colours));
            written.push('\n');
        }
        let lines = self.lines(moment);
        self.drawn = lines.iter().map(|line| unpainted(line).width()).collect();
        let lines: Vec<String> = lines.iter().map(|line| rendered(line, self.colours)).collect();
        written.push_str(&lines.join("\n"));
        written
    }

    /// Erases what is drawn, also where the terminal has become narrower and broke the lines.
    fn erased(&self, columns: usize) -> String {
        let rows: usize =
            self.drawn.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        match rows {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            rows => format!("\r\u{1b}[{}A\u{1b}[J", rows - 1),
        }
    }

    fn lines(&self, moment: Moment) -> Vec<String> {
        let most = moment.columns.saturating_sub(1).max(1);
        let texts = self.unfinished.iter().filter(|(_, text)| !text.trim().is_empty());
        let mut lines: Vec<String> =
            texts.map(|(_, text)| paint(Tone::Faint, &clip(text, most))).collect();
        let spinner = SPINNER.get(self.frame % SPINNER.len()).copied().unwrap_or_default();
        for (_, line) in &self.agents {
            let elapsed = line.clock.at(moment.now).as_secs();
            let clock = match line.max_seconds {
                0 => format!("{elapsed}s"),
                most => format!("{elapsed}s/{most}s"),
            };
            let parts = [line.turn.as_str(), &clock, &line.doing];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let agent = clip(&line.agent, most / 2);
            let rest = most.saturating_sub(agent.width() + 5);
            let said = clip(&parts.join(" · "), rest);
            lines.push(format!("{spinner} [{}] {said}", paint(Tone::Name, &agent)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(as_of: Instant) -> LiveLine {
        LiveLine {
            agent: "Explore".to_owned(),
            turn: "turn 1/30".to_owned(),
            clock: LiveClock::showing(2, as_of),
            max_seconds: 120,
            doing: "read_file \"src/main.rs\"".to_owned(),
        }
    }

    #[test]
    fn the_clock_goes_on_inside_a_turn_and_nothing_stale_is_left() {
        let began = Instant::now();
        let mut screen = LiveScreen::new(Colours::Off);
        let at = |seconds| Moment { now: began + Duration::from_secs(seconds), columns: 60 };
        let drawn = screen.take(Change::Doing { id: "a".into(), line: line(began) }, at(0));
        assert_eq!(drawn, "⠋ [Explore] turn 1/30 · 2s/120s · read_file \"src/main.rs\"");
        let ticked = screen.tick(at(3));
        assert_eq!(ticked, "\r\u{1b}[J⠙ [Explore] turn 1/30 · 5s/120s · read_file \"src/main.rs\"");
        let stays = screen.take(Change::Line("✓ done".into()), at(3));
        assert!(stays.starts_with("\r\u{1b}[J✓ done\n⠙ [Explore]"), "{stays:?}");
        // The line broke in two on a terminal that is narrower now.
        let cleared = screen.clear(Moment { now: began, columns: 40 });
        assert_eq!(cleared, "\r\u{1b}[1A\u{1b}[J");
        assert!(!screen.is_ticking());
    }

    #[test]
    fn waiting_for_somebody_does_not_count_as_time() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut clock = LiveClock::showing(2, began);
        clock.pause(at(1));
        // A second question changes nothing.
        clock.pause(at(4));
        assert_eq!(clock.at(at(7)).as_secs(), 3);
        clock.go_on(at(7));
        clock.go_on(at(8));
        assert_eq!(clock.at(at(9)).as_secs(), 5);
    }

    #[test]
    fn nothing_is_drawn_while_somebody_else_writes() {
        let began = Instant::now();
        let mut screen = LiveScreen::new(Colours::Off);
        let moment = Moment { now: began, columns: 60 };
        screen.take(Change::Doing { id: "a".into(), line: line(began) }, moment);
        assert_eq!(screen.take(Change::Hold, moment), "\r\u{1b}[J");
        assert_eq!(screen.tick(moment), "");
        assert_eq!(screen.take(Change::Line("meanwhile".into()), moment), "");
        let released = screen.take(Change::Release, moment);
        assert!(released.starts_with("meanwhile\n⠙ [Explore]"), "{released:?}");
    }

    #[test]
    fn text_streams_in_lines_above_the_live_line() {
        let began = Instant::now();
        let mut screen = LiveScreen::new(Colours::Off);
        let moment = Moment { now: began, columns: 20 };
        screen.take(Change::Doing { id: "a".into(), line: line(began) }, moment);
        let first = screen.take(Change::Text { id: "a".into(), piece: "I lo".into() }, moment);
        assert!(first.contains("I lo\n⠋ [Explore]"), "{first:?}");
        let more = Change::Text { id: "a".into(), piece: "ok\nfor\u{1b}[2J".into() };
        let second = screen.take(more, moment);
        assert!(second.starts_with("\r\u{1b}[1A\u{1b}[JI look\n"), "{second:?}");
        assert!(second.contains("for\\u001b[2J\n⠋"), "{second:?}");
        let end = screen.take(Change::Done { id: "a".into() }, moment);
        assert_eq!(end, "\r\u{1b}[1A\u{1b}[Jfor\\u001b[2J\n");
    }
}
