//! An answer that is arriving: whole lines are final at once, the last one when it ends.
//!
//! Lines of a table wait for each other, because its columns are as wide as its widest row.

use super::item::Piece;

/// How much reasoning is kept to show its end.
const MOST_THOUGHT: usize = 400;

/// What has arrived of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Stream {
    /// Everything that is final already.
    done: String,
    /// What is not.
    rest: String,
    /// The code block that the rest begins in.
    fence: Option<String>,
    thought: String,
}

impl Stream {
    /// What has arrived and is not final.
    pub(crate) fn rest(&self) -> Piece {
        self.piece(self.rest.clone())
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
        let lines = self.rest.get(..whole)?;
        let is_table = |line: &str| self.fence.is_none() && line.trim_start().starts_with('|');
        let waiting: usize =
            lines.split_inclusive('\n').rev().take_while(|line| is_table(line)).map(str::len).sum();
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
    fn an_answer_that_was_not_what_was_shown_is_shown_whole() {
        let mut stream = Stream::default();
        stream.text("a key: sk-1\n");
        assert_eq!(texts([stream.whole("a key: [masked]\n")]), ["a key: [masked]\n"]);
    }
}
