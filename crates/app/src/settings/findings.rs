//! Findings: what is to be told about settings that could be loaded.
//!
//! A key or rule that is not understood may be a restriction. Where the user wrote it, it is a slip, and no run
//! starts until it is corrected. In a file of somebody else it is a notice, and every call is asked about
//! as long as it may restrict something.

use std::path::Path;

use super::{
    error::SettingsError,
    layer::{
        check::{Checked, Unknown},
        claude::ask_always,
        merge::lay_over,
    },
    notice::Notice,
    written::Table,
};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What was left aside, to be told once.
    pub(crate) notices: Vec<Notice>,
    /// Keys and rules of the user that are not understood.
    pub(crate) slips: Vec<SettingsError>,
}

impl Findings {
    /// Notes the keys that do not exist, in a layer that the user wrote or trusts.
    pub(super) fn slipped(&mut self, unknown: Vec<Unknown>) {
        let mut unknown = unknown;
        unknown.sort_by_key(|unknown| unknown.origin.place().map(|place| place.line));
        self.slips.extend(unknown.into_iter().map(SettingsError::from));
    }

    /// Notes the keys that do not exist, or may not be set, in a file of an untrusted project. What `merged`
    /// asks about is extended if one of them may be a restriction.
    pub(super) fn untrusted(&mut self, file: &Path, checked: &mut Checked, merged: &mut Table) {
        let unknown = std::mem::take(&mut checked.unknown);
        let (restricting, others): (Vec<_>, Vec<_>) =
            unknown.into_iter().partition(Unknown::may_restrict);
        if !restricting.is_empty() {
            lay_over(merged, ask_always(file));
        }
        self.notices.extend(Notice::unclear_restrictions(file, &restricting));
        self.notices.extend(Notice::unknown_keys(file, &others));
        self.notices.extend(Notice::withheld_keys(file, std::mem::take(&mut checked.withheld)));
    }
}

impl From<Unknown> for SettingsError {
    fn from(unknown: Unknown) -> Self {
        let Unknown { key, nearest, origin } = unknown;
        Self::UnknownKey { key: key.to_string(), nearest, origin }
    }
}
