//! The screen: finished lines go above into the terminal's own scrollback, the live part stands below
//! and is drawn again where it changed.
//!
//! The inline viewport of ratatui has a fixed height and asks the terminal where its cursor is at every
//! change of size; the live part here is as high as what it shows and asks nobody.
//!
//! Invariant: what is above the live part is never written again, except after a change of size.

use ratatui::{
    backend::{Backend, ClearType},
    buffer::{Buffer, Cell},
    layout::{Position, Rect, Size},
    text::Line,
};

/// The live part: its lines, and where the cursor is in them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Frame {
    pub(crate) lines: Vec<Line<'static>>,
    /// Column and line; none hides the cursor.
    pub(crate) cursor: Option<(u16, u16)>,
}

/// A terminal that shows a conversation.
#[derive(Debug)]
pub(crate) struct Screen<B: Backend> {
    backend: B,
    size: Size,
    /// The row at which the live part begins.
    top: u16,
    shown: Buffer,
    cursor: Option<(u16, u16)>,
    /// Whether what is on the screen below `top` is not `shown`.
    is_stale: bool,
    /// How many rows on the screen were there before this program.
    above: u16,
}

impl<B: Backend> Screen<B> {
    /// A screen whose rows from `top` on are free.
    pub(crate) fn new(backend: B, top: u16) -> Result<Self, B::Error> {
        let size = backend.size()?;
        let top = top.min(size.height.saturating_sub(1));
        let (shown, cursor) = (Buffer::empty(Rect::ZERO), None);
        Ok(Self { backend, size, top, shown, cursor, is_stale: true, above: top })
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    pub(crate) fn backend_mut(&mut self) -> &mut B {
        &mut self.backend
    }

    /// Where the live part begins.
    pub(crate) fn top(&self) -> u16 {
        self.top
    }

    /// The screen is another one, whose rows from `top` on are free.
    pub(crate) fn replaced(&mut self, top: u16) {
        self.top = top.min(self.size.height.saturating_sub(1));
        self.is_stale = true;
    }

    /// Prints lines above the live part.
    pub(crate) fn print(&mut self, lines: &[Line<'static>]) -> Result<(), B::Error> {
        if lines.is_empty() {
            return Ok(());
        }
        self.clear_live()?;
        for rows in lines.chunks(usize::from(self.size.height.max(1))) {
            let height = u16::try_from(rows.len()).unwrap_or(self.size.height);
            self.make_room(height)?;
            let area = Rect::new(0, self.top, self.size.width, height);
            let drawn = drawn(rows, area);
            self.write(&Buffer::empty(area), &drawn)?;
            self.top += height;
        }
        // At least the first row of the live part is on the screen.
        self.make_room(1)
    }

    /// Draws the live part; what does not fit is left out at its beginning.
    pub(crate) fn draw(&mut self, frame: &Frame) -> Result<(), B::Error> {
        let most = usize::from(self.size.height);
        let left_out = frame.lines.len().saturating_sub(most);
        let lines = frame.lines.get(left_out..).unwrap_or_default();
        let height = u16::try_from(lines.len()).unwrap_or(self.size.height);
        if self.is_stale || height != self.shown.area.height {
            self.clear_live()?;
            self.make_room(height)?;
            self.shown = Buffer::empty(Rect::new(0, self.top, self.size.width, height));
            self.is_stale = false;
            self.cursor = None;
        }
        let next = drawn(lines, self.shown.area);
        let shown = std::mem::replace(&mut self.shown, Buffer::empty(Rect::ZERO));
        let is_same = shown == next;
        self.write(&shown, &next)?;
        self.shown = next;
        let cursor = frame.cursor.map(|(column, line)| {
            let line = usize::from(line).saturating_sub(left_out);
            (column.min(self.size.width.saturating_sub(1)), u16::try_from(line).unwrap_or_default())
        });
        if cursor != self.cursor || !is_same {
            match cursor {
                Some((column, line)) => {
                    let row = (self.top + line).min(self.size.height.saturating_sub(1));
                    self.backend.set_cursor_position(Position::new(column, row))?;
                    self.backend.show_cursor()?;
                }
                None => self.backend.hide_cursor()?,
            }
            self.cursor = cursor;
        }
        self.backend.flush()
    }

    /// The terminal has another size. Its lines were broken anew by the terminal, so the screen is
    /// emptied and shows the end of the conversation, which the caller lays out for the new width and for the rows
    /// that its live part leaves.
    pub(crate) fn resized(&mut self, size: Size, end: &[Line<'static>]) -> Result<(), B::Error> {
        let was = std::mem::replace(&mut self.size, size);
        let rows = usize::from(size.height);
        if end.len() < rows {
            // What others wrote may be on the screen as well; it goes into the scrollback.
            let taller = size.height.saturating_sub(was.height);
            let times = was.width.div_ceil(size.width.max(1)).max(1);
            let others = self.above.saturating_add(taller).saturating_mul(times);
            let last = size.height.saturating_sub(1);
            self.backend.set_cursor_position(Position::new(0, last))?;
            self.backend.append_lines(others.min(size.height))?;
        }
        self.clear_rows()?;
        self.replaced(0);
        self.above = 0;
        self.print(end.get(end.len().saturating_sub(rows)..).unwrap_or_default())
    }

    /// Empties the screen row by row: some terminals put a screen that is cleared at once into the scrollback.
    fn clear_rows(&mut self) -> Result<(), B::Error> {
        if self.size.height > 1 {
            self.backend.set_cursor_position(Position::new(0, 1))?;
            self.backend.clear_region(ClearType::AfterCursor)?;
        }
        self.backend.set_cursor_position(Position::new(0, 0))?;
        self.backend.clear_region(ClearType::CurrentLine)
    }

    /// Takes the live part away; what is written next stands in its place.
    pub(crate) fn finish(&mut self) -> Result<(), B::Error> {
        self.clear_live()?;
        self.backend.show_cursor()?;
        self.backend.flush()
    }

    fn clear_live(&mut self) -> Result<(), B::Error> {
        self.backend.set_cursor_position(Position::new(0, self.top))?;
        self.backend.clear_region(ClearType::AfterCursor)?;
        self.is_stale = true;
        Ok(())
    }

    /// Scrolls until that many rows from `top` on are on the screen.
    fn make_room(&mut self, height: u16) -> Result<(), B::Error> {
        let end = self.top.saturating_add(height.min(self.size.height));
        let missing = end.saturating_sub(self.size.height);
        if missing > 0 {
            let last = self.size.height.saturating_sub(1);
            self.backend.set_cursor_position(Position::new(0, last))?;
            self.backend.append_lines(missing)?;
            self.top -= missing.min(self.top);
            self.above -= missing.min(self.above);
        }
        Ok(())
    }

    fn write(&mut self, before: &Buffer, after: &Buffer) -> Result<(), B::Error> {
        let changed: Vec<(u16, u16, &Cell)> = before.diff(after);
        if changed.is_empty() { Ok(()) } else { self.backend.draw(changed.into_iter()) }
    }
}

fn drawn(lines: &[Line<'static>], area: Rect) -> Buffer {
    let mut buffer = Buffer::empty(area);
    for (row, line) in (area.y..area.bottom()).zip(lines) {
        buffer.set_line(area.x, row, line, area.width);
    }
    buffer
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;

    use super::*;

    fn lines(texts: &[&str]) -> Vec<Line<'static>> {
        texts.iter().map(|text| Line::raw((*text).to_owned())).collect()
    }

    fn frame(texts: &[&str]) -> Frame {
        Frame { lines: lines(texts), cursor: None }
    }

    fn rows(buffer: &Buffer) -> Vec<String> {
        let width = usize::from(buffer.area.width.max(1));
        let rows = buffer.content.chunks(width);
        rows.map(|row| row.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn finished_lines_go_above_and_into_the_scrollback() {
        let mut screen = Screen::new(TestBackend::new(10, 4), 0).unwrap();
        screen.draw(&frame(&["> a", "status"])).unwrap();
        screen.print(&lines(&["one", "two", "three"])).unwrap();
        screen.draw(&frame(&["> b", "status"])).unwrap();
        assert_eq!(rows(screen.backend.buffer()), ["two", "three", "> b", "status"]);
        assert_eq!(rows(screen.backend.scrollback()), ["one"]);
    }

    #[test]
    fn more_lines_than_the_screen_has_rows_are_all_kept() {
        let mut screen = Screen::new(TestBackend::new(10, 3), 1).unwrap();
        screen.draw(&frame(&["live"])).unwrap();
        let all: Vec<String> = (0..10).map(|line| format!("line {line}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        screen.print(&lines(&all)).unwrap();
        screen.draw(&frame(&["live"])).unwrap();
        let mut seen = rows(screen.backend.scrollback());
        seen.extend(rows(screen.backend.buffer()));
        assert_eq!(seen, [&[""][..], &all, &["live"]].concat());
    }

    #[test]
    fn a_live_part_that_grows_scrolls_and_one_that_shrinks_leaves_nothing() {
        let mut screen = Screen::new(TestBackend::new(10, 4), 2).unwrap();
        screen.draw(&frame(&["a"])).unwrap();
        screen.draw(&frame(&["a", "b", "c", "d", "e"])).unwrap();
        assert_eq!(rows(screen.backend.buffer()), ["b", "c", "d", "e"]);
        screen.draw(&frame(&["z"])).unwrap();
        assert_eq!(rows(screen.backend.buffer()), ["z", "", "", ""]);
    }

    #[test]
    fn after_a_change_of_size_only_the_end_is_shown() {
        let mut screen = Screen::new(TestBackend::new(10, 4), 0).unwrap();
        screen.print(&lines(&["one", "two", "three"])).unwrap();
        screen.backend.resize(6, 3);
        screen.resized(Size::new(6, 3), &lines(&["one", "two", "three"])).unwrap();
        screen.draw(&frame(&["> "])).unwrap();
        assert_eq!(rows(screen.backend.buffer()), ["two", "three", ">"]);
    }

    #[test]
    fn a_storm_of_sizes_repeats_nothing_in_the_scrollback_and_keeps_what_others_wrote() {
        let mut backend = TestBackend::new(10, 4);
        let before = Buffer::with_lines(["shell", "", "", ""]);
        backend.draw(Buffer::empty(before.area).diff(&before).into_iter()).unwrap();
        let mut screen = Screen::new(backend, 1).unwrap();
        screen.print(&lines(&["one", "two"])).unwrap();
        screen.draw(&frame(&["> "])).unwrap();
        for height in [5, 4, 6, 5, 4] {
            screen.backend.resize(10, height);
            screen.resized(Size::new(10, height), &lines(&["one", "two"])).unwrap();
            screen.draw(&frame(&["> "])).unwrap();
        }
        assert_eq!(rows(screen.backend.buffer()), ["one", "two", ">", ""]);
        let kept = rows(screen.backend.scrollback());
        assert!(kept.contains(&"shell".to_owned()), "{kept:?}");
        screen.print(&lines(&["three", "four", "five", "six"])).unwrap();
        screen.draw(&frame(&["> "])).unwrap();
        let kept = rows(screen.backend.scrollback()).len();
        for width in [8, 10, 6, 10] {
            screen.backend.resize(width, 4);
            screen.resized(Size::new(width, 4), &lines(&["four", "five", "six"])).unwrap();
            screen.draw(&frame(&["> "])).unwrap();
        }
        assert_eq!(rows(screen.backend.scrollback()).len(), kept, "nothing more went up");
    }

    #[test]
    fn nothing_is_written_when_nothing_changed() {
        let mut screen = Screen::new(TestBackend::new(10, 4), 0).unwrap();
        let frame = Frame { cursor: Some((1, 0)), ..frame(&["数据", "b"]) };
        screen.draw(&frame).unwrap();
        let before = screen.shown.clone();
        screen.draw(&frame).unwrap();
        assert_eq!(before.diff(&screen.shown), Vec::new());
        assert_eq!(screen.backend.cursor_position(), Position::new(1, 0));
    }
}
