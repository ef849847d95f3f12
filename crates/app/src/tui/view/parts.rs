//! A line of parts, such as the status line: where the words have no room, the least important part becomes
//! shorter first, in up to three steps; then the gaps may become narrow; only then are parts left out.

use unicode_width::UnicodeWidthStr as _;

/// A part: how much it is worth, and its words, longest first.
pub(super) struct Part {
    worth: u8,
    forms: Vec<String>,
}

impl Part {
    pub(super) fn new<const N: usize>(worth: u8, forms: [&str; N]) -> Self {
        let mut forms: Vec<String> = forms.map(str::to_owned).into();
        forms.dedup();
        Self { worth, forms }
    }

    /// Whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        self.forms.first().is_none_or(String::is_empty)
    }

    fn shown(&self) -> &str {
        self.forms.first().map_or("", String::as_str)
    }

    fn shorten(&mut self) -> bool {
        let can = self.forms.len() > 1;
        if can {
            self.forms.remove(0);
        }
        can
    }
}

/// What stands between parts where there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// The same as anywhere: parts have several words.
    Wide,
    /// A blank: each part is one word by then.
    Narrow,
}

/// The parts in that width, in full if all fit.
pub(super) fn fitting(mut parts: Vec<Part>, gaps: Gaps, width: usize) -> String {
    let mut gap = " · ";
    loop {
        let shown: Vec<&str> = parts.iter().map(Part::shown).collect();
        let text = format!(" {}", shown.join(gap));
        if text.width() <= width || parts.len() <= 1 {
            return text;
        }
        if shorten(&mut parts) {
            continue;
        }
        if gap.len() > 1 && gaps == Gaps::Narrow {
            gap = " ";
            continue;
        }
        let least = parts.iter().map(|part| part.worth).min().unwrap_or_default();
        parts.retain(|part| part.worth != least);
    }
}

/// Shortens the part that is worth least among those that are longest in their words: nobody gets its last form
/// while another still has its first.
fn shorten(parts: &mut [Part]) -> bool {
    let longest = parts.iter().map(|part| part.forms.len()).max().unwrap_or_default();
    let candidates = parts.iter_mut().filter(|part| part.forms.len() == longest);
    candidates.min_by_key(|part| part.worth).is_some_and(Part::shorten)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Vec<Part> {
        vec![
            Part::new(2, ["Enter follows", "Enter", "⏎"]),
            Part::new(1, ["s stops", "s stop", "s"]),
            Part::new(9, ["q goes back", "q back", "q"]),
        ]
    }

    #[test]
    fn parts_become_short_step_by_step_and_the_least_important_goes_last() {
        for (width, expected) in [
            (38, " Enter follows · s stops · q goes back"),
            (37, " Enter follows · s stop · q goes back"),
            (24, " Enter · s stop · q back"),
            (10, " ⏎ · s · q"),
            (8, " ⏎ s q"),
            (4, " ⏎ q"),
            (2, " q"),
        ] {
            assert_eq!(fitting(keys(), Gaps::Narrow, width), expected, "{width}");
        }
        assert_eq!(fitting(keys(), Gaps::Wide, 8), " ⏎ · q");
    }
}
