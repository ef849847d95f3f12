//! The palette: what each colour means, once for the whole program.

use owo_colors::{OwoColorize as _, Style};

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
    /// Something beside the point.
    Faint,
    /// A heading.
    Strong,
}

/// Paints a text; the printer takes the paint off where it does not belong.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    let style = match tone {
        Tone::Name => Style::new().cyan(),
        Tone::Good => Style::new().green(),
        Tone::Warning => Style::new().yellow(),
        Tone::Bad => Style::new().red(),
        Tone::Faint => Style::new().dimmed(),
        Tone::Strong => Style::new().bold(),
    };
    text.style(style).to_string()
}
