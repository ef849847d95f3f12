//! A path in a rule, with the meaning of a `.gitignore` line: `src/**`, `/docs/*.md`, `*.lock`.
//!
//! A pattern with a `/` before its end is tied to the workspace's root, one without matches at any
//! depth; one that ends in a plain name or in `/` means the whole directory. As in Claude Code, `//x`
//! is an absolute path and `~/x` lies in the home directory.

mod place;

use std::fmt;

pub use self::place::Effect;
use self::place::Place;
use super::ToolRuleErrorKind;

/// How many alternatives `{a,b}` may come to.
const MAX_ALTERNATIVES: usize = 64;

/// A path in a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    base: Base,
    alternatives: Vec<Vec<Segment>>,
    /// Where it was put; nowhere yet, it is about the workspace.
    place: Option<Place>,
}

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Workspace,
    Root,
    Home,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    /// `**`: any number of directories.
    Deep,
    /// One name.
    Name(Vec<Glyph>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Glyph {
    Letter(char),
    One,
    Many,
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// A path that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// Below the workspace's root, as names.
    Workspace(Vec<String>),
    /// From the root of the file system.
    Absolute(Vec<String>),
    /// Somewhere that cannot be told from the text.
    Elsewhere(String),
}

/// Where a file really lies: no link is left in its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealPath {
    /// Below the workspace's root, if it lies there.
    workspace: Option<Location>,
    absolute: Location,
}

/// A path that a command names: where it begins, and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) from: From,
    pub(super) names: Vec<String>,
}

/// Where a [`Spot`] begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Workspace,
    Root,
    Home,
    /// Some directory.
    Somewhere,
}

/// How letters are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Exact,
    /// As file systems do that do not tell upper from lower case.
    AnyCase,
}

impl Location {
    pub(super) fn from_path(path: &str) -> Self {
        let is_home = path == "~" || path.starts_with("~/");
        let mut names = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => return Self::Elsewhere(path.to_owned()),
                _ => names.push(name.to_owned()),
            }
        }
        if is_home || path.contains(['\\', '\0']) {
            Self::Elsewhere(path.to_owned())
        } else if path.starts_with('/') {
            Self::Absolute(names)
        } else {
            Self::Workspace(names)
        }
    }
}

impl Spot {
    /// A path as written, with its `..` worked out. It begins at `base` if it is relative.
    pub(super) fn from_path(path: &str, base: From) -> Self {
        let (mut from, path) = if path.starts_with('/') {
            (From::Root, path)
        } else if let Some(below) = path.strip_prefix('~') {
            (
                if below.is_empty() || below.starts_with('/') {
                    From::Home
                } else {
                    From::Somewhere
                },
                below,
            )
        } else {
            (base, path)
        };
        let mut names: Vec<String> = Vec::new();
        for name in path.split('/') {
            match name {
                "" | "." => {}
                ".." => {
                    if names.pop().is_none() && from != From::Root {
                        from = From::Somewhere;
                    }
                }
                _ => names.push(name.to_owned()),
            }
        }
        Self { from, names }
    }
}

impl RealPath {
    /// The names of the path below the workspace, or of the whole path elsewhere.
    pub(crate) fn names(&self) -> &[String] {
        match self.workspace.as_ref().unwrap_or(&self.absolute) {
            Location::Workspace(names) | Location::Absolute(names) => names,
            Location::Elsewhere(_) => &[],
        }
    }

    /// Whether it lies in the workspace.
    pub fn is_in_workspace(&self) -> bool {
        matches!(self.workspace, Some(Location::Workspace(_)))
    }

    /// Whether it lies in that directory, given by its whole path.
    pub(crate) fn is_below(&self, directory: &str) -> bool {
        let (Location::Absolute(names), Location::Absolute(above)) =
            (&self.absolute, Location::from_path(directory))
        else {
            return false;
        };
        names.starts_with(&above)
    }

    /// A file by its path below the workspace, if it lies there, and by its whole path.
    pub fn new(below_workspace: Option<&str>, absolute: &str) -> Self {
        Self {
            workspace: below_workspace.map(Location::from_path),
            absolute: Location::from_path(absolute),
        }
    }
}

/// Relative to the workspace; elsewhere, whole.
impl fmt::Display for RealPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.workspace.as_ref().unwrap_or(&self.absolute).fmt(formatter)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workspace(names) if names.is_empty() => formatter.write_str("."),
            Self::Workspace(names) => formatter.write_str(&names.join("/")),
            Self::Absolute(names) => write!(formatter, "/{}", names.join("/")),
            Self::Elsewhere(path) => formatter.write_str(path),
        }
    }
}

impl PathPattern {
    pub(super) fn parse(text: &str) -> Result<Self, ToolRuleErrorKind> {
        let (base, text) = if let Some(rest) = text.strip_prefix("//") {
            (Base::Root, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Base::Home, rest)
        } else {
            (Base::Workspace, text)
        };
        if text.starts_with('!') {
            return Err(ToolRuleErrorKind::BadPath);
        }
        let alternatives = alternatives(text)?
            .iter()
            .map(|text| segments(text, base))
            .collect::<Result<_, _>>()?;
        Ok(Self { base, alternatives, place: None })
    }

    /// Whether it means that path for certain.
    pub(super) fn covers(&self, path: &Location) -> bool {
        if let Some(place) = &self.place {
            return place.covers(path);
        }
        let names = match (self.base, path) {
            (Base::Workspace, Location::Workspace(names))
            | (Base::Root, Location::Absolute(names)) => names,
            (Base::Workspace | Base::Root | Base::Home, _) => return false,
        };
        self.alternatives
            .iter()
            .any(|segments| Reach::along(segments, names, Spelling::Exact).is_whole)
    }

    /// Whether it may mean that path, or a directory above it.
    pub(super) fn may_match(&self, path: &Location) -> bool {
        self.any_reach(path, |reach| reach.is_whole || reach.is_above)
    }

    /// Whether it means that file for certain.
    pub(super) fn covers_real(&self, path: &RealPath) -> bool {
        if let Some(place) = &self.place {
            return place.covers_real(path);
        }
        self.covers(&path.absolute) || path.workspace.as_ref().is_some_and(|path| self.covers(path))
    }

    /// Whether it may mean that file, or a directory above it.
    pub(super) fn may_match_real(&self, path: &RealPath) -> bool {
        if let (Some(place), Location::Absolute(names)) = (&self.place, &path.absolute)
            && place.holds(names)
        {
            let reach = |segments| Reach::along(segments, names, Spelling::AnyCase);
            let mut reaches = place.absolute().iter().map(|segments| reach(segments));
            return reaches.any(|reach| reach.is_whole || reach.is_above);
        }
        match (self.base, &path.workspace) {
            (Base::Workspace, Some(path)) => self.may_match(path),
            (Base::Workspace | Base::Root | Base::Home, _) => self.may_match(&path.absolute),
        }
    }

    /// Whether it may mean that path, or one above or below it.
    pub(super) fn may_match_below(&self, path: &Location) -> bool {
        self.any_reach(path, |reach| reach.is_whole || reach.is_above || reach.is_begun)
    }

    /// Whether it may mean a path that a command names, or a directory above it.
    pub(super) fn meets(&self, spot: &Spot) -> bool {
        self.spot_reach(spot, |reach| reach.is_whole || reach.is_above)
    }

    /// Whether it may mean a path that a command names, or one above or below it.
    pub(super) fn meets_below(&self, spot: &Spot) -> bool {
        self.spot_reach(spot, |reach| reach.is_whole || reach.is_above || reach.is_begun)
    }

    fn spot_reach(&self, spot: &Spot, wanted: impl Fn(Reach) -> bool) -> bool {
        let reach =
            |segments: &[Segment]| wanted(Reach::along(segments, &spot.names, Spelling::AnyCase));
        match (&self.place, spot.from) {
            (Some(place), From::Workspace) if let Some(below) = place.below_workspace() => {
                return below.iter().any(|segments| reach(segments));
            }
            (Some(place), From::Root) if place.holds(&spot.names) => {
                return place.absolute().iter().any(|segments| reach(segments));
            }
            _ => {}
        }
        self.alternatives.iter().any(|segments| match (self.base, spot.from) {
            (Base::Workspace, From::Workspace)
            | (Base::Root, From::Root)
            | (Base::Home, From::Home) => reach(segments),
            (Base::Workspace | Base::Home, _) => {
                let mut anywhere = vec![Segment::Deep];
                anywhere.extend_from_slice(segments);
                reach(&anywhere)
            }
            (Base::Root, _) => (0..segments.len())
                .filter_map(|index| segments.get(index..))
                .any(|rest| rest != [Segment::Deep] && reach(rest)),
        })
    }

    fn any_reach(&self, path: &Location, wanted: impl Fn(Reach) -> bool) -> bool {
        let names = match path {
            Location::Workspace(names) | Location::Absolute(names) => names,
            Location::Elsewhere(_) => return true,
        };
        let is_absolute = matches!(path, Location::Absolute(_));
        let reach = |segments: &[Segment]| wanted(Reach::along(segments, names, Spelling::AnyCase));
        if let Some(place) = &self.place {
            match place.below_workspace() {
                Some(below) if !is_absolute => {
                    return below.iter().any(|segments| reach(segments));
                }
                _ if is_absolute && place.holds(names) => {
                    return place.absolute().iter().any(|segments| reach(segments));
                }
                _ => {}
            }
        }
        self.alternatives.iter().any(|segments| match (self.base, is_absolute) {
            (Base::Workspace, false) | (Base::Root, true) => reach(segments),
            // The workspace or the home may be anywhere above.
            (Base::Workspace | Base::Home, _) => {
                let mut anywhere = vec![Segment::Deep];
                anywhere.extend_from_slice(segments);
                reach(&anywhere)
            }
            // The workspace may be any directory that the pattern passes through.
            (Base::Root, false) => (0..segments.len())
                .filter_map(|index| segments.get(index..))
                .any(|rest| rest != [Segment::Deep] && reach(rest)),
        })
    }
}

/// How far a pattern gets along a path.
#[derive(Clone, Copy)]
struct Reach {
    /// The pattern ends with the path.
    is_whole: bool,
    /// The pattern ends at a directory above it.
    is_above: bool,
    /// The pattern goes on below it.
    is_begun: bool,
}

impl Reach {
    fn along(segments: &[Segment], names: &[String], spelling: Spelling) -> Self {
        let (mut active, is_above) = Self::positions(segments, names, spelling);
        let is_whole = active.pop() == Some(true);
        Self { is_whole, is_above, is_begun: active.contains(&true) }
    }

    /// The positions of a pattern that are reached at the end of a path, and whether the pattern ended
    /// before.
    fn positions(segments: &[Segment], names: &[String], spelling: Spelling) -> (Vec<bool>, bool) {
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

fn segments(text: &str, base: Base) -> Result<Vec<Segment>, ToolRuleErrorKind> {
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
fn alternatives(text: &str) -> Result<Vec<String>, ToolRuleErrorKind> {
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
