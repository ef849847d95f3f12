//! An answer that is arriving: whole lines are final at once, the last one when it ends.
//!
//! Lines of a table wait for each other, because its columns are as wide as its widest row.

use super::item::Piece;

/// How much of what is not final is shown.
const MOST_REST: usize = 16 * 1024;
/// How much reasoning is kept to show its end.
const MOST_THOUGHT: usize = 400;

/// What has arrived of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stream {
    /// Everything that is final already.
    done: String,
    /// What is not.
    rest: String,
    /// How much of it are whole rows of a table.
    table: usize,
    /// The code block that the rest begins in.
    fence: Option<String>,
    thought: String,
}

impl Stream {
    /// What has arrived and is not final; of much, the end. A frame costs the same, however long a line or a table is.
    pub(crate) fn rest(&self) -> Piece {
        let from = self.rest.len().saturating_sub(MOST_REST);
        let from = (from..self.rest.len()).find(|at| self.rest.is_char_boundary(*at));
        let end = self.rest.get(from.unwrap_or_default()..).unwrap_or_default();
        let is_cut = end.len() < self.rest.len();
        let line = end.find('\n').filter(|_| is_cut).map_or(0, |at| at + 1);
        self.piece(end.get(line..).unwrap_or(end).to_owned())
    }

    /// The end of the reasoning, while there is no text.
    pub(crate) fn thinking(&self) -> &str {
        &self.thought
    }

    /// A piece of reasoning arrived.
    pub(crate) fn thought(&mut self, text: &str) {
        self.thought.push_str(text);
        let length = self.thought.chars().count();
        if length > MOST_THOUGHT * 2 {
            self.thought = self.thought.chars().skip(length - MOST_THOUGHT).collect();
        }
    }

    /// A piece of text arrived; what is final with it.
    pub(crate) fn text(&mut self, text: &str) -> Option<Piece> {
        self.thought.clear();
        self.rest.push_str(text);
        let whole = self.rest.rfind('\n').map(|at| at + 1)?;
        // Rows that wait already are not looked at again.
        let new = self.rest.get(self.table..whole)?;
        let is_table = |line: &str| self.fence.is_none() && line.trim_start().starts_with('|');
        let waiting: usize =
            new.split_inclusive('\n').rev().take_while(|line| is_table(line)).map(str::len).sum();
        if waiting == new.len() {
            self.table = whole;
            return None;
        }
        self.table = waiting;
        let left = self.rest.split_off(whole - waiting);
        let ready = std::mem::replace(&mut self.rest, left);
        self.finished(ready)
    }

    /// The answer is whole; what is final with it and was not before.
    pub(crate) fn whole(&mut self, text: &str) -> Option<Piece> {
        self.thought.clear();
        self.rest.clear();
        let rest = if let Some(rest) = text.strip_prefix(self.done.as_str()) {
            rest.to_owned()
        } else {
            // What was shown is not the beginning of what was said.
            self.done.clear();
            self.fence = None;
            text.to_owned()
        };
        let piece = self.finished(rest);
        *self = Self::default();
        piece
    }

    /// Nothing more comes; what is final with it.
    pub(crate) fn end(&mut self) -> Option<Piece> {
        let rest = std::mem::take(&mut self.rest);
        self.table = 0;
        let piece = self.finished(rest);
        *self = Self::default();
        piece
    }

    fn finished(&mut self, text: String) -> Option<Piece> {
        if text.is_empty() || (self.done.is_empty() && text.trim().is_empty()) {
            return None;
        }
        let piece = self.piece(text);
        self.done.push_str(&piece.text);
        for line in piece.text.lines() {
            fence_after(&mut self.fence, line);
        }
        Some(piece)
    }

    fn piece(&self, text: String) -> Piece {
        Piece { text, fence: self.fence.clone(), is_first: self.done.trim().is_empty() }
    }
}

/// Opens or closes a code block, if the line does.
pub(crate) fn fence_after(fence: &mut Option<String>, line: &str) {
    let marks = line.trim_start().strip_prefix("```").or(line.trim_start().strip_prefix("~~~"));
    let Some(language) = marks else { return };
    *fence = match fence {
        Some(_) => None,
        None => Some(language.trim_matches('`').trim().to_lowercase()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(pieces: impl IntoIterator<Item = Option<Piece>>) -> Vec<String> {
        pieces.into_iter().flatten().map(|piece| piece.text).collect()
    }

    #[test]
    fn pieces_and_the_whole_give_the_same_text() {
        let answer = "One\ntwo\n\n| a |\n|---|\n| b |\n\n```rust\nfn x() {}\n```\nend";
        for size in [1, 2, 7, 1000] {
            let mut stream = Stream::default();
            let letters: Vec<char> = answer.chars().collect();
            let mut pieces: Vec<_> = letters
                .chunks(size)
                .map(|piece| stream.text(&piece.iter().collect::<String>()))
                .collect();
            pieces.push(stream.whole(answer));
            let pieces = texts(pieces);
            assert_eq!(pieces.concat(), answer);
            assert!(
                pieces.iter().any(|piece| piece.contains("| a |\n|---|\n| b |\n")),
                "{pieces:?}"
            );
        }
    }

    #[test]
    fn a_piece_inside_of_a_code_block_knows_its_language() {
        let mut stream = Stream::default();
        assert_eq!(stream.text("```Rust\n").map(|piece| piece.fence), Some(None));
        assert_eq!(stream.text("let x;\n").map(|piece| piece.fence), Some(Some("rust".to_owned())));
        assert_eq!(
            stream.text("```\nafter").and_then(|piece| piece.fence),
            Some("rust".to_owned())
        );
        assert_eq!(stream.end().map(|piece| piece.fence), Some(None));
    }

    #[test]
    fn of_much_that_is_not_final_the_end_is_shown() {
        let mut stream = Stream::default();
        for row in 0..10_000 {
            stream.text(&format!("| row {row} |\n"));
        }
        let rest = stream.rest();
        assert!(rest.text.len() <= MOST_REST && rest.text.starts_with("| row "), "{rest:?}");
        assert!(rest.text.ends_with("| row 9999 |\n"), "{rest:?}");
        let mut stream = Stream::default();
        stream.text(&"数".repeat(100_000));
        assert!((1..=MOST_REST).contains(&stream.rest().text.len()));
    }

    #[test]
    fn an_answer_that_was_not_what_was_shown_is_shown_whole() {
        let mut stream = Stream::default();
        stream.text("a key: sk-1\n");
        assert_eq!(texts([stream.whole("a key: [masked]\n")]), ["a key: [masked]\n"]);
    }
}
