//! Where the paths of a rule begin: the directories it was written for, seen from the workspace of a run.
//!
//! A rule stays about the same files, wherever a run works. Below its directories it is exact. Elsewhere a
//! rule that restricts means such a path at any place, and one that allows means nothing.

use super::{Base, Glyph, Location, PathPattern, Reach, RealPath, Segment, Spelling};

/// Whether a rule takes away or gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It denies or asks.
    Restricts,
    /// It allows.
    Allows,
}

/// Where a pattern was put.
#[derive(Debug, Clone)]
pub(super) struct Place {
    effect: Effect,
    /// The directories that it is about; none where it says so itself.
    anchors: Vec<Vec<String>>,
    /// The pattern from the root of the file system.
    absolute: Vec<Vec<Segment>>,
    /// The workspace, and the pattern below it.
    seen: Option<Seen>,
}

#[derive(Debug, Clone)]
struct Seen {
    workspace: Vec<String>,
    below: Vec<Vec<Segment>>,
}

/// From where it is looked at makes no other pattern of it.
impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.effect == other.effect && self.absolute == other.absolute
    }
}

impl Eq for Place {}

impl PathPattern {
    /// The same pattern, about paths in these directories; one that has its place keeps it.
    pub(in crate::rights::rule) fn anchored(mut self, anchors: &[&str], effect: Effect) -> Self {
        if self.place.is_some() || self.base == Base::Home {
            return self;
        }
        let anchors: Vec<Vec<String>> = match self.base {
            Base::Workspace => anchors.iter().filter_map(|anchor| names(anchor)).collect(),
            Base::Root | Base::Home => Vec::new(),
        };
        let mut absolute = Vec::new();
        for alternative in &self.alternatives {
            let begins_anywhere =
                effect == Effect::Restricts && alternative.first() == Some(&Segment::Deep);
            if self.base == Base::Root || begins_anywhere {
                absolute.push(alternative.clone());
            } else {
                absolute.extend(anchors.iter().map(|anchor| below(anchor, alternative)));
            }
        }
        self.place = Some(Place { effect, anchors, absolute, seen: None });
        self
    }

    /// The same pattern for a run that works in that directory.
    pub(in crate::rights::rule) fn seen_from(mut self, workspace: &str) -> Self {
        let Some(place) = &mut self.place else { return self };
        let Some(workspace) = names(workspace) else {
            place.seen = None;
            return self;
        };
        let mut below = rest(&place.absolute, &workspace, place.effect);
        if self.base == Base::Workspace
            && place.effect == Effect::Restricts
            && !place.holds(&workspace)
        {
            below.extend(self.alternatives.iter().cloned());
        }
        place.seen = Some(Seen { workspace, below });
        self
    }

    /// The same pattern, which means the files of a copy of that directory as well.
    pub(in crate::rights::rule) fn copied(mut self, original: &str, copy: &str) -> Self {
        let (Some(place), Some(original), Some(copy)) =
            (&mut self.place, names(original), names(copy))
        else {
            return self;
        };
        let copied: Vec<Vec<Segment>> = rest(&place.absolute, &original, place.effect)
            .iter()
            .map(|alternative| below(&copy, alternative))
            .collect();
        let anchors: Vec<Vec<String>> = place
            .anchors
            .iter()
            .filter_map(|anchor| match anchor.strip_prefix(original.as_slice()) {
                Some(inside) => Some([copy.as_slice(), inside].concat()),
                None => original.starts_with(anchor).then(|| copy.clone()),
            })
            .collect();
        for alternative in copied {
            if !place.absolute.contains(&alternative) {
                place.absolute.push(alternative);
            }
        }
        for anchor in anchors {
            if !place.anchors.contains(&anchor) {
                place.anchors.push(anchor);
            }
        }
        let workspace = place.seen.as_ref().map(|seen| seen.workspace.join("/"));
        match workspace {
            Some(workspace) => self.seen_from(&format!("/{workspace}")),
            None => self,
        }
    }

    /// The directories it is about, if it is to be said: they are not the workspace alone.
    pub(in crate::rights::rule) fn foreign_anchors(&self) -> Vec<String> {
        let Some(place) = &self.place else { return Vec::new() };
        let workspace = place.seen.as_ref().map(|seen| &seen.workspace);
        if place.anchors.len() == 1 && place.anchors.first() == workspace {
            return Vec::new();
        }
        place.anchors.iter().map(|names| format!("/{}", names.join("/"))).collect()
    }
}

impl Place {
    /// Whether it means that path for certain.
    pub(super) fn covers(&self, path: &Location) -> bool {
        let (alternatives, names) = match (path, &self.seen) {
            (Location::Workspace(names), Some(seen)) => (&seen.below, names),
            (Location::Absolute(names), _) => (&self.absolute, names),
            (Location::Workspace(_), None) | (Location::Elsewhere(_), _) => return false,
        };
        alternatives.iter().any(|segments| Reach::along(segments, names, Spelling::Exact).is_whole)
    }

    /// Whether it means that file for certain.
    pub(super) fn covers_real(&self, path: &RealPath) -> bool {
        self.covers(&path.absolute)
    }

    /// The alternatives that say all about a path below the workspace.
    pub(super) fn below_workspace(&self) -> Option<&[Vec<Segment>]> {
        self.seen.as_ref().map(|seen| seen.below.as_slice())
    }

    /// The pattern from the root of the file system.
    pub(super) fn absolute(&self) -> &[Vec<Segment>] {
        &self.absolute
    }

    /// Whether a whole path lies where the pattern is exact.
    pub(super) fn holds(&self, names: &[String]) -> bool {
        self.anchors.is_empty() || self.anchors.iter().any(|anchor| names.starts_with(anchor))
    }
}

/// The names of a whole path.
fn names(path: &str) -> Option<Vec<String>> {
    match Location::from_path(path) {
        Location::Absolute(names) => Some(names),
        Location::Workspace(_) | Location::Elsewhere(_) => None,
    }
}

/// A pattern below a directory.
fn below(directory: &[String], pattern: &[Segment]) -> Vec<Segment> {
    let letters = |name: &String| name.chars().map(Glyph::Letter).collect();
    let names = directory.iter().map(|name| Segment::Name(letters(name)));
    names.chain(pattern.iter().cloned()).collect()
}

/// What is left of patterns below a directory.
fn rest(patterns: &[Vec<Segment>], directory: &[String], effect: Effect) -> Vec<Vec<Segment>> {
    let spelling = match effect {
        Effect::Restricts => Spelling::AnyCase,
        Effect::Allows => Spelling::Exact,
    };
    let mut rests: Vec<Vec<Segment>> = Vec::new();
    for pattern in patterns {
        let (active, is_above) = Reach::positions(pattern, directory, spelling);
        let mut found: Vec<Vec<Segment>> = (active.iter().enumerate())
            .filter(|(_, is_active)| **is_active)
            .filter_map(|(position, _)| pattern.get(position..).map(<[Segment]>::to_vec))
            .collect();
        // What means a directory above means all that is in it.
        if is_above && effect == Effect::Restricts {
            found.push(vec![Segment::Deep]);
        }
        for rest in found {
            if !rests.contains(&rest) {
                rests.push(rest);
            }
        }
    }
    rests
}
