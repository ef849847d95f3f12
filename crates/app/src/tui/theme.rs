//! The theme: which style each meaning has.
//!
//! Only the sixteen colours of the terminal are used, so a light and a dark background both work; with
//! `NO_COLOR` there are only bold, dim and underlined.

use ratatui::style::{Color, Modifier, Style};

use crate::print::palette::{Colours, Tone};

/// The styles of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    colours: Colours,
}

impl Theme {
    pub(crate) fn new(colours: Colours) -> Self {
        Self { colours }
    }

    /// The style of a meaning.
    pub(crate) fn tone(self, tone: Tone) -> Style {
        match tone {
            Tone::Name => self.coloured(Color::Cyan),
            Tone::Good => self.coloured(Color::Green),
            Tone::Warning => self.coloured(Color::Yellow),
            Tone::Bad => self.coloured(Color::Red),
            Tone::Faint => Style::new().add_modifier(Modifier::DIM),
            Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// What the user writes.
    pub(crate) fn user(self) -> Style {
        self.coloured(Color::Blue).add_modifier(Modifier::BOLD)
    }

    /// Code inside of a sentence.
    pub(crate) fn code(self) -> Style {
        match self.colours {
            Colours::On => Style::new().fg(Color::Cyan),
            Colours::Off => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    /// The row that a key acts on.
    pub(crate) fn chosen(self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::REVERSED)
    }

    /// A word that a language reserves.
    pub(crate) fn keyword(self) -> Style {
        self.coloured(Color::Magenta)
    }

    /// A text in quotes, inside of code.
    pub(crate) fn string(self) -> Style {
        self.coloured(Color::Green)
    }

    /// A number, inside of code.
    pub(crate) fn number(self) -> Style {
        self.coloured(Color::Yellow)
    }

    fn coloured(self, colour: Color) -> Style {
        match self.colours {
            Colours::On => Style::new().fg(colour),
            Colours::Off => Style::new(),
        }
    }
}
