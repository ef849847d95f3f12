//! A path pattern taken apart: names with wildcards, and how far they get along a path.

use super::{Base, ToolRuleErrorKind};

/// How many alternatives `{a,b}` may come to.
const MAX_ALTERNATIVES: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`: any number of directories.
    Deep,
    /// One name.
    Name(Vec<Glyph>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Glyph {
    Letter(char),
    One,
    Many,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// How letters are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Exact,
    /// As file systems do that do not tell upper from lower case.
    AnyCase,
}

/// How far a pattern gets along a path.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// The pattern ends with the path.
    pub(super) is_whole: bool,
    /// The pattern ends at a directory above it.
    pub(super) is_above: bool,
    /// The pattern goes on below it.
    pub(super) is_begun: bool,
}

impl Reach {
    pub(super) fn along(segments: &[Segment], names: &[String], spelling: Spelling) -> Self {
        let (mut active, is_above) = Self::positions(segments, names, spelling);
        let is_whole = active.pop() == Some(true);
        Self { is_whole, is_above, is_begun: active.contains(&true) }
    }

    /// The positions of a pattern that are reached at the end of a path, and whether the pattern ended
    /// before.
    pub(super) fn positions(
        segments: &[Segment],
        names: &[String],
        spelling: Spelling,
    ) -> (Vec<bool>, bool) {
        let end = segments.len();
        let mut active = vec![false; end + 1];
        reach(&mut active, segments, 0);
        let mut is_above = false;
        for name in names {
            is_above |= active.get(end) == Some(&true);
            let mut next = vec![false; end + 1];
            for (position, segment) in segments.iter().enumerate() {
                if active.get(position) != Some(&true) {
                    continue;
                }
                match segment {
                    Segment::Deep => reach(&mut next, segments, position),
                    Segment::Name(glyphs) if matches_name(glyphs, name, spelling) => {
                        reach(&mut next, segments, position + 1);
                    }
                    Segment::Name(_) => {}
                }
            }
            active = next;
        }
        (active, is_above)
    }
}

/// Marks a position, and those after it that need no name.
fn reach(active: &mut [bool], segments: &[Segment], position: usize) {
    let mut position = position;
    while let Some(slot) = active.get_mut(position) {
        *slot = true;
        if segments.get(position) != Some(&Segment::Deep) {
            break;
        }
        position += 1;
    }
}

/// Whether a name matches; on a mismatch the last `*` takes one letter more.
fn matches_name(glyphs: &[Glyph], name: &str, spelling: Spelling) -> bool {
    let mut rest = name.chars();
    let mut position = 0;
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        let mut ahead = rest.clone();
        match (glyphs.get(position), ahead.next()) {
            (None, None) => return true,
            (Some(Glyph::Many), _) => {
                position += 1;
                retry = Some((position, rest.clone()));
                continue;
            }
            (Some(glyph), Some(letter)) if glyph.matches(letter, spelling) => {
                position += 1;
                rest = ahead;
                continue;
            }
            _ => {}
        }
        let Some((after_star, from)) = &mut retry else {
            return false;
        };
        if from.next().is_none() {
            return false;
        }
        position = *after_star;
        rest = from.clone();
    }
}

impl Glyph {
    fn matches(&self, letter: char, spelling: Spelling) -> bool {
        let matches = |letter: char| match self {
            Self::Letter(wanted) => *wanted == letter,
            Self::One | Self::Many => true,
            Self::Class { negated, ranges } => {
                let within = ranges.iter().any(|(first, last)| (*first..=*last).contains(&letter));
                within != *negated
            }
        };
        matches(letter)
            || (spelling == Spelling::AnyCase
                && (matches(letter.to_ascii_lowercase()) || matches(letter.to_ascii_uppercase())))
    }
}

pub(super) fn segments(text: &str, base: Base) -> Result<Vec<Segment>, ToolRuleErrorKind> {
    let is_directory = text.ends_with('/');
    let body = text.trim_end_matches('/');
    let is_tied = body.contains('/') || base != Base::Workspace;
    let mut segments = Vec::new();
    if !is_tied {
        segments.push(Segment::Deep);
    }
    for name in body.split('/') {
        match name {
            "" | "." => {}
            ".." => return Err(ToolRuleErrorKind::BadPath),
            "**" => segments.push(Segment::Deep),
            _ => segments.push(Segment::Name(glyphs(name))),
        }
    }
    segments.dedup_by(|second, first| *second == Segment::Deep && *first == Segment::Deep);
    let is_plain_name = matches!(
        segments.last(),
        Some(Segment::Name(glyphs)) if glyphs.iter().all(|glyph| matches!(glyph, Glyph::Letter(_)))
    );
    if is_directory || is_plain_name {
        segments.push(Segment::Deep);
    }
    match segments.as_slice() {
        [] => Err(ToolRuleErrorKind::EmptyPattern),
        _ => Ok(segments),
    }
}

fn glyphs(name: &str) -> Vec<Glyph> {
    let mut glyphs = Vec::with_capacity(name.len());
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        let glyph = match letter {
            '*' => Glyph::Many,
            '?' => Glyph::One,
            '\\' => Glyph::Letter(letters.next().unwrap_or('\\')),
            '[' => match class(letters.as_str()) {
                Some((class, rest)) => {
                    letters = rest.chars();
                    class
                }
                None => Glyph::Letter('['),
            },
            _ => Glyph::Letter(letter),
        };
        if glyph != Glyph::Many || glyphs.last() != Some(&Glyph::Many) {
            glyphs.push(glyph);
        }
    }
    glyphs
}

/// A class such as `[a-z]` after its opening bracket, and what follows it.
fn class(text: &str) -> Option<(Glyph, &str)> {
    let inner = text.strip_prefix(['!', '^']);
    let negated = inner.is_some();
    let inner = inner.unwrap_or(text);
    // A bracket right at the beginning is a member.
    let end =
        inner.char_indices().skip(1).find(|(_, letter)| *letter == ']').map(|(index, _)| index)?;
    let (members, rest) = inner.split_at_checked(end)?;
    let mut ranges = Vec::new();
    let mut letters = members.chars();
    while let Some(first) = letters.next() {
        let mut ahead = letters.clone();
        match (ahead.next(), ahead.next()) {
            (Some('-'), Some(last)) => {
                ranges.push((first, last));
                letters = ahead;
            }
            _ => ranges.push((first, first)),
        }
    }
    Some((Glyph::Class { negated, ranges }, rest.strip_prefix(']')?))
}

/// Writes out `{a,b}`.
pub(super) fn alternatives(text: &str) -> Result<Vec<String>, ToolRuleErrorKind> {
    let mut open = vec![text.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        if open.len() + done.len() >= MAX_ALTERNATIVES {
            return Err(ToolRuleErrorKind::BadPath);
        }
        match first_choice(&text) {
            Some((before, choices, after)) => {
                open.extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
            // Braces within braces, in a way that is not written out here.
            None if text.contains('{') && text.contains(',') => {
                return Err(ToolRuleErrorKind::BadPath);
            }
            None => done.push(text),
        }
    }
    Ok(done)
}

/// The first innermost `{a,b}` of a text, and what stands around it.
fn first_choice(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut searched = text;
    loop {
        let (before, rest) = searched.split_once('}')?;
        if let Some((head, inner)) = before.rsplit_once('{')
            && inner.contains(',')
        {
            let start = text.len() - searched.len() + head.len();
            let (before, _) = text.split_at_checked(start)?;
            return Some((before, inner.split(',').collect(), rest));
        }
        searched = rest;
    }
}
