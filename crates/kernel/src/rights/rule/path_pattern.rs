//! A path in a rule, with the meaning of a `.gitignore` line: `src/**`, `/docs/*.md`, `*.lock`.
//!
//! A pattern with a `/` before its end is tied to the workspace's root, one without matches at any
//! depth; one that ends in a plain name or in `/` means the whole directory. As in Claude Code, `//x`
//! is an absolute path and `~/x` lies in the home directory.

mod glob;
mod location;
mod place;

pub(super) use self::location::{From, Location, Spot};
use self::{
    glob::{Glyph, Reach, Segment, Spelling, alternatives, segments},
    place::Place,
};
pub use self::{location::RealPath, place::Effect};
use super::ToolRuleErrorKind;

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
