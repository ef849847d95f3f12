//! A diagnostic: one problem of a definition file, with its place and what to do.
//!
//! Every rule has a [`Code`] of its own; `docs/formats/diagnostics.md` lists them all.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One problem of a definition file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Which rule.
    pub code: Code,
    /// What is wrong, as a sentence fragment.
    pub message: String,
    /// The line of the file, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };

    /// A place in a file, both counted from 1.
    pub fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }
}

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The agent runs, but not exactly as the file says.
    Warning,
    /// The agent cannot be run.
    Error,
}

impl Severity {
    /// The word used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
        /// Which rule a diagnostic comes from.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word used on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

codes! {
    /// The file cannot be read.
    Unreadable = "unreadable",
    /// The file is not a regular file.
    NotAFile = "not_a_file",
    /// The file is larger than a definition may be.
    TooLarge = "too_large",
    /// The file is not valid UTF-8.
    NotUtf8 = "not_utf8",
    /// The file is not a definition.
    NotADefinition = "not_a_definition",
    /// The YAML can be neither parsed nor recovered.
    YamlSyntax = "yaml_syntax",
    /// The TOML cannot be parsed.
    TomlSyntax = "toml_syntax",
    /// The JSON given for session agents cannot be parsed.
    JsonSyntax = "json_syntax",
    /// The header is not valid YAML and was read by the recovery rules.
    Recovered = "recovered",
    /// A key is written twice.
    DuplicateKey = "duplicate_key",
    /// A value has the wrong type.
    BadType = "bad_type",
    /// A value is of the right type but not one of those allowed.
    BadValue = "bad_value",
    /// A value that must hold something is empty.
    EmptyValue = "empty_value",
    /// A list has an empty entry.
    EmptyEntry = "empty_entry",
    /// A list has an entry twice.
    DuplicateEntry = "duplicate_entry",
    /// The name gives an empty key.
    EmptyName = "empty_name",
    /// The name's key is longer than 64 characters.
    NameTooLong = "name_too_long",
    /// The name does not fit the dialect's pattern.
    InvalidName = "invalid_name",
    /// The name differs from the key it is looked up by.
    NameNotNormalized = "name_not_normalized",
    /// The name differs from the file's.
    NameDiffersFromFile = "name_differs_from_file",
    /// There is no description.
    MissingDescription = "missing_description",
    /// There are no instructions.
    EmptyInstructions = "empty_instructions",
    /// `model` and `modelConfig.model` differ.
    ConflictingModel = "conflicting_model",
    /// A tool is not known.
    UnknownTool = "unknown_tool",
    /// None of the listed tools is known.
    NoKnownTool = "no_known_tool",
    /// A tool rule cannot be parsed.
    BadToolRule = "bad_tool_rule",
    /// A key is an accepted slip for another.
    MisnamedKey = "misnamed_key",
    /// A restriction is not understood; the agent loses what it may have restricted.
    RestrictionNotUnderstood = "restriction_not_understood",
    /// An unknown key looks like a restriction; the dangerous tools stay away until it is corrected.
    UnclearRestriction = "unclear_restriction",
    /// A key of the dialect was mapped to something narrower.
    RestrictionApplied = "restriction_applied",
    /// A key is not known, and kept.
    UnknownKey = "unknown_key",
    /// A key is known but has no effect here.
    UnusedKey = "unused_key",
    /// The output schema is not a JSON Schema that can be checked.
    InvalidSchema = "invalid_schema",
    /// The file has unresolved merge conflict markers.
    MergeConflict = "merge_conflict",
    /// A template variable is not known.
    UnknownVariable = "unknown_variable",
    /// A required input is named like a built-in variable.
    ReservedInput = "reserved_input",
    /// The base directory leads elsewhere than when the file was trusted.
    TrustLost = "trust_lost",
    /// Two files of one scope and dialect have one name.
    Conflict = "conflict",
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Diagnostic {
    fn new(severity: Severity, code: Code, at: Position, message: impl Into<String>) -> Self {
        let Position { line, column } = at;
        Self { severity, code, message: message.into(), line, column, hint: None }
    }

    /// An error at that place.
    pub fn error(code: Code, at: Position, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, at, message)
    }

    /// A warning at that place.
    pub fn warning(code: Code, at: Position, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, at, message)
    }

    /// A note at that place.
    pub fn note(code: Code, at: Position, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, at, message)
    }

    /// The same with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether it says that the agent may do less than its file seems to say.
    pub fn changes_rights(&self) -> bool {
        matches!(
            self.code,
            Code::RestrictionApplied | Code::RestrictionNotUnderstood | Code::UnclearRestriction
        )
    }

    /// Its place.
    pub fn position(&self) -> Position {
        Position::new(self.line, self.column)
    }
}
