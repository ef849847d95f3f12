//! Markdown as text with terminal codes, for a result that is printed once.
//!
//! Code stands as it was written, without a frame, so that it can be copied.

use std::fmt::Write as _;

use ratatui::{
    style::{Color, Modifier, Style},
    text::Line,
};

use super::{code::highlighted, lines};
use crate::tui::{
    state::{item::Piece, stream::fence_after},
    text::plain,
    theme::Theme,
};

/// The text, laid out for a terminal of that width.
pub(crate) fn printed(text: &str, width: usize, theme: Theme) -> String {
    let mut page = String::new();
    let mut prose = String::new();
    let mut fence = None;
    for line in plain(text).lines() {
        let before = fence.clone();
        fence_after(&mut fence, line);
        match (&before, &fence) {
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
            (Some(language), Some(_)) => put(&mut page, &highlighted(line, language, theme)),
            (None, Some(_)) | (Some(_), None) => {
                put_prose(&mut page, &mut prose, width, theme);
            }
        }
    }
    put_prose(&mut page, &mut prose, width, theme);
    page
}

fn put_prose(page: &mut String, prose: &mut String, width: usize, theme: Theme) {
    let piece = Piece { text: std::mem::take(prose), fence: None, is_first: true };
    for line in &lines(&piece, width, theme) {
        put(page, line);
    }
}

/// Adds a line, each of its pieces between the codes of its style and their end.
fn put(page: &mut String, line: &Line<'_>) {
    for span in &line.spans {
        let codes = codes(line.style.patch(span.style));
        if span.content.is_empty() {
            continue;
        }
        if codes.is_empty() {
            page.push_str(&span.content);
        } else {
            let codes = codes.join(";");
            write!(page, "\u{1b}[{codes}m{}\u{1b}[0m", span.content).unwrap_or_default();
        }
    }
    page.push('\n');
}

/// The codes of a style.
fn codes(style: Style) -> Vec<&'static str> {
    const MODIFIERS: [(Modifier, &str); 6] = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    const COLOURS: [(Color, &str); 6] = [
        (Color::Red, "31"),
        (Color::Green, "32"),
        (Color::Yellow, "33"),
        (Color::Blue, "34"),
        (Color::Magenta, "35"),
        (Color::Cyan, "36"),
    ];
    let modifiers = MODIFIERS.iter().filter(|(modifier, _)| style.add_modifier.contains(*modifier));
    let colour = COLOURS.iter().find(|(colour, _)| style.fg == Some(*colour));
    modifiers.map(|(_, code)| *code).chain(colour.map(|(_, code)| *code)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::palette::Colours;

    #[test]
    fn prose_is_styled_and_code_can_be_copied() {
        let text = "# Title\n\n- one **two**\n\n```sh\n  make -j2\n```\nend";
        let shown = printed(text, 40, Theme::new(Colours::On));
        let bare = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(bare, "Title\n\n• one two\n\n  make -j2\nend\n");
        assert!(shown.contains("\u{1b}[1;4mTitle\u{1b}[0m"), "{shown:?}");
        assert!(shown.contains("\u{1b}[1mtwo\u{1b}[0m"), "{shown:?}");
    }

    #[test]
    fn codes_in_the_text_do_not_reach_the_terminal() {
        let shown = printed("a\u{1b}[2Jb", 40, Theme::new(Colours::On));
        assert_eq!(shown, "a\\u001b[2Jb\n");
    }
}
