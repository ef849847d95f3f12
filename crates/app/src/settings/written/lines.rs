//! From byte offsets of a text to lines and columns, in constant or logarithmic time.
//!
//! A hostile file may put a megabyte on one line; counting its characters anew for every value would
//! take minutes, so the counts are kept per block.

use std::{path::Path, sync::Arc};

use crate::settings::origin::{Origin, Place};

const BLOCK: usize = 256;

/// The lines of a file's text.
pub(crate) struct Lines<'a> {
    path: Arc<Path>,
    text: &'a str,
    starts: Vec<usize>,
    characters_before_block: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of `text`, read from `path`.
    pub(crate) fn new(path: &Path, text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(
                text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1),
            )
            .collect();
        let mut before = 0;
        let mut characters_before_block = Vec::with_capacity(text.len() / BLOCK + 1);
        for block in text.as_bytes().chunks(BLOCK) {
            characters_before_block.push(before);
            before += characters(block);
        }
        characters_before_block.push(before);
        Self { path: path.into(), text, starts, characters_before_block }
    }

    /// The place of a byte offset.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        let column = self.characters_before(offset) - self.characters_before(start) + 1;
        Place { path: Arc::clone(&self.path), line: small(line), column: small(column) }
    }

    /// The place of a line and a column counted in bytes, both from 1.
    pub(crate) fn at(&self, line: usize, column: usize) -> Place {
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        self.place(start + column.saturating_sub(1))
    }

    /// The origin of what stands at a byte offset.
    pub(crate) fn origin(&self, offset: usize) -> Origin {
        Origin::File(self.place(offset))
    }

    fn characters_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        let counted = self.characters_before_block.get(block).copied().unwrap_or(0);
        let rest = self.text.as_bytes().get(block * BLOCK..offset).unwrap_or_default();
        counted + characters(rest)
    }
}

/// How many characters begin in these bytes of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_lines_and_characters() {
        let text = "a\nüü = 1\n\nx";
        let lines = Lines::new(Path::new("f"), text);
        for (needle, line, column) in [("a", 1, 1), ("= 1", 2, 4), ("x", 4, 1)] {
            let place = lines.place(text.find(needle).expect(needle));
            assert_eq!((place.line, place.column), (line, column), "{needle}");
        }
        let end = lines.place(text.len());
        assert_eq!((end.line, end.column), (4, 2));
    }

    #[test]
    fn counts_across_blocks() {
        for length in [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK, 5 * BLOCK + 7] {
            let text = "ü".repeat(length);
            let lines = Lines::new(Path::new("f"), &text);
            for characters in [0, 1, length / 2, length] {
                let place = lines.place(characters * 2);
                assert_eq!(place.column as usize, characters + 1, "{length} {characters}");
            }
        }
    }
}
