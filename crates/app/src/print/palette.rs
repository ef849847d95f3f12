//! The palette: what each colour means, once for the whole program.
//!
//! A painted text holds marks instead of terminal codes: characters that Unicode reserves for use inside a
//! program. Only the writer turns marks into codes, so no code that comes with a text reaches a terminal.

use super::visible::visible;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A name to act on.
    Name,
    /// Something that went well.
    Good,
    /// Something to look at.
    Warning,
    /// Something that is wrong.
    Bad,
    /// Secondary text.
    Faint,
    /// A heading.
    Strong,
}

/// Whether a stream shows colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    On,
    Off,
}

const TONES: [(char, Tone); 6] = [
    ('\u{fdd0}', Tone::Name),
    ('\u{fdd1}', Tone::Good),
    ('\u{fdd2}', Tone::Warning),
    ('\u{fdd3}', Tone::Bad),
    ('\u{fdd4}', Tone::Faint),
    ('\u{fdd5}', Tone::Strong),
];
const END: char = '\u{fdd6}';

impl Tone {
    fn code(self) -> &'static str {
        match self {
            Self::Name => "\u{1b}[36m",
            Self::Good => "\u{1b}[32m",
            Self::Warning => "\u{1b}[33m",
            Self::Bad => "\u{1b}[31m",
            Self::Faint => "\u{1b}[2m",
            Self::Strong => "\u{1b}[1m",
        }
    }

    fn mark(self) -> char {
        TONES.iter().find(|(_, tone)| *tone == self).map_or(END, |(mark, _)| *mark)
    }
}

/// Paints a text after making it visible; the writer removes the paint where colours are off.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    format!("{}{}{END}", tone.mark(), visible(text))
}

/// A text as a stream shows it: visible, the marks as codes or gone.
pub(crate) fn rendered(text: &str, colours: Colours) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(is_mark) {
        let (before, from) = rest.split_at(at);
        shown.push_str(&visible(before));
        let mut letters = from.chars();
        let mark = letters.next();
        rest = letters.as_str();
        if colours == Colours::On {
            let tone = TONES.iter().find(|(known, _)| Some(*known) == mark);
            shown.push_str(tone.map_or("\u{1b}[0m", |(_, tone)| tone.code()));
        }
    }
    shown.push_str(&visible(rest));
    shown
}

/// The pieces of a painted text, each with its paint.
pub(crate) fn toned(text: &str) -> Vec<(Option<Tone>, &str)> {
    let mut pieces = Vec::new();
    let mut tone = None;
    let mut rest = text;
    while let Some(at) = rest.find(is_mark) {
        let (before, from) = rest.split_at(at);
        pieces.push((tone, before));
        let mut letters = from.chars();
        let mark = letters.next();
        rest = letters.as_str();
        tone = TONES.iter().find(|(known, _)| Some(*known) == mark).map(|(_, tone)| *tone);
    }
    pieces.push((tone, rest));
    pieces.retain(|(_, piece)| !piece.is_empty());
    pieces
}

/// A text without its paint.
pub(crate) fn unpainted(text: &str) -> String {
    text.replace(is_mark, "")
}

fn is_mark(letter: char) -> bool {
    letter == END || TONES.iter().any(|(mark, _)| *mark == letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_codes_are_written() {
        let text = format!("{} {}", paint(Tone::Bad, "error:"), "no \u{1b}[32mmodel\u{202e}");
        assert_eq!(
            rendered(&text, Colours::On),
            "\u{1b}[31merror:\u{1b}[0m no \\u001b[32mmodel\\u202e"
        );
        assert_eq!(rendered(&text, Colours::Off), "error: no \\u001b[32mmodel\\u202e");
        assert_eq!(paint(Tone::Good, "\u{fdd3}x"), "\u{fdd1}\\ufdd3x\u{fdd6}");
    }
}
