//! The lines of a program's output, as a terminal would show them: a line that was written over, such
//! as a progress bar, counts as it was last.

use super::decoder::{Decoder, Piece};

/// A line that is longer goes on as it is: what was written over in it can no longer be told.
const LONGEST_LINE: usize = 8 << 10;

/// Turns bytes into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    decoder: Decoder,
    current: Current,
    /// Text that nobody has been shown yet.
    fresh: String,
}

/// The line that is still being written.
#[derive(Debug, Default)]
struct Current {
    text: String,
    /// Whether what comes next is written over it.
    is_over: bool,
    /// How many of its bytes somebody has been shown.
    shown: usize,
}

/// How much fresh text waits to be shown; of more, the newest.
const MOST_FRESH: usize = 16 << 10;

impl Lines {
    /// Takes bytes; `each` gets text as soon as it cannot change any more.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&str)) {
        let Self { decoder, current, fresh } = self;
        decoder.decode(bytes, |piece| current.take(&piece, fresh, &mut each));
    }

    /// Gives what the last line holds so far; what comes next is another piece of text.
    pub(super) fn flush(&mut self, mut each: impl FnMut(&str)) {
        self.show_current();
        if !self.current.text.is_empty() {
            each(&self.current.text);
        }
        self.current = Current::default();
    }

    /// The same at the end of all output.
    pub(super) fn finish(&mut self, mut each: impl FnMut(&str)) {
        let Self { decoder, current, fresh } = self;
        decoder.finish(|piece| current.take(&piece, fresh, &mut each));
        self.flush(each);
    }

    /// Whether the last line has no end, as a prompt has none.
    pub(super) fn ends_within_a_line(&self) -> bool {
        !self.current.text.is_empty()
    }

    /// The text that came since this was last asked.
    pub(super) fn fresh(&mut self) -> String {
        self.show_current();
        std::mem::take(&mut self.fresh)
    }

    fn show_current(&mut self) {
        let unshown = self.current.text.get(self.current.shown..).unwrap_or_default();
        show(&mut self.fresh, unshown);
        self.current.shown = self.current.text.len();
    }
}

impl Current {
    fn take(&mut self, piece: &Piece<'_>, fresh: &mut String, each: &mut impl FnMut(&str)) {
        match piece {
            Piece::Text(text) => {
                if std::mem::take(&mut self.is_over) {
                    self.write_over(fresh);
                }
                self.text.push_str(text);
                if self.text.len() > LONGEST_LINE {
                    self.end(fresh, each);
                }
            }
            Piece::LineEnd => {
                self.text.push('\n');
                self.end(fresh, each);
            }
            Piece::CarriageReturn => self.is_over = true,
            Piece::Backspace => {
                self.text.pop();
                self.shown = self.shown.min(self.text.len());
            }
        }
    }

    fn write_over(&mut self, fresh: &mut String) {
        if self.shown > 0 {
            show(fresh, "\n");
        }
        self.shown = 0;
        self.text.clear();
    }

    fn end(&mut self, fresh: &mut String, each: &mut impl FnMut(&str)) {
        show(fresh, self.text.get(self.shown..).unwrap_or_default());
        each(&self.text);
        self.text.clear();
        self.shown = 0;
        self.is_over = false;
    }
}

/// Adds text to be shown; the oldest is dropped if nobody looks.
fn show(fresh: &mut String, text: &str) {
    fresh.push_str(text);
    if fresh.len() > 2 * MOST_FRESH {
        let from = fresh.ceil_char_boundary(fresh.len() - MOST_FRESH);
        fresh.replace_range(..from, "…");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> String {
        let mut lines = Lines::default();
        let mut text = String::new();
        lines.push(bytes, |piece| text.push_str(piece));
        lines.finish(|piece| text.push_str(piece));
        text
    }

    #[test]
    fn what_was_written_over_is_gone() {
        for (bytes, text) in [
            (&b"10%\r20%\r100%\ndone\n"[..], "100%\ndone\n"),
            (b"a\r\nb\r\n", "a\nb\n"),
            (b"a\r\r\nb", "a\nb"),
            (b"abc\x08\x08x\n", "ax\n"),
            (b"no end", "no end"),
            (b"gone\rkept", "kept"),
            (b"stays\r", "stays"),
            (b"\r\n\r\n", "\n\n"),
        ] {
            assert_eq!(lines(bytes), text, "{bytes:?}");
        }
    }

    #[test]
    fn a_long_line_is_not_held_back() {
        let long = "x".repeat(3 * LONGEST_LINE);
        assert_eq!(lines(long.as_bytes()), long);
        let mut lines = Lines::default();
        let mut came = 0;
        lines.push(long.as_bytes(), |piece| came += piece.len());
        assert!(came > 0);
    }

    #[test]
    fn a_watcher_sees_a_line_before_its_end_and_nothing_twice() {
        let mut lines = Lines::default();
        lines.push(b"Name? ", |_| {});
        assert_eq!(lines.fresh(), "Name? ");
        lines.push(b"Ada\nHello\n10%", |_| {});
        assert_eq!(lines.fresh(), "Ada\nHello\n10%");
        lines.push(b"\r20%", |_| {});
        assert_eq!(lines.fresh(), "\n20%");
        assert_eq!(lines.fresh(), "");
    }

    #[test]
    fn a_watcher_that_does_not_look_costs_no_memory() {
        let mut lines = Lines::default();
        for _ in 0..1000 {
            lines.push("0123456789abcdé\n".repeat(100).as_bytes(), |_| {});
        }
        let fresh = lines.fresh();
        assert!(fresh.starts_with('…') && fresh.len() < 3 * MOST_FRESH, "{}", fresh.len());
    }
}
