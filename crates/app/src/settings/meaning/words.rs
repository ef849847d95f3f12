//! Settings that are one of a few words.
//!
//! A setting has the type of the thing it sets: a word is read as that type, which is not duplicated here.

use attache_kernel::{agent::definition::reading::NameFrom, rights::permission::ApprovalPolicy};
use attache_runtime::internal::{
    agents::discovery::DiscoveryMode, model::wire::WireApi, sandbox::Mode, store::Durability,
};

/// A type whose values are words in the settings.
pub(crate) trait Words: Copy + 'static {
    /// All the words, as they are written.
    const WORDS: &'static [&'static str];

    /// What the word means, if it is one.
    fn of_word(word: &str) -> Option<Self>;

    /// The word, as it is written.
    #[cfg(test)]
    fn as_word(self) -> &'static str;
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal,)+ }) => {
        impl Words for $name {
            const WORDS: &'static [&'static str] = &[$($word,)+];

            fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            #[cfg(test)]
            fn as_word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

words!(ApprovalPolicy {
    Untrusted = "untrusted",
    OnRequest = "on-request",
    Never = "never",
});

words!(Mode {
    ReadOnly = "read-only",
    WorkspaceWrite = "workspace-write",
    DangerFullAccess = "danger-full-access",
});

words!(WireApi {
    Responses = "responses",
    Chat = "chat",
    Anthropic = "anthropic",
    Gemini = "gemini",
});

words!(Durability {
    Process = "process",
    Machine = "machine",
});

words!(DiscoveryMode {
    Auto = "auto",
    Manual = "manual",
});

words!(NameFrom {
    Frontmatter = "frontmatter",
    Filename = "filename",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_means_what_it_says() {
        macro_rules! check {
            ($($name:ident),+) => {
                $(for word in $name::WORDS {
                    assert_eq!($name::of_word(word).map($name::as_word), Some(*word));
                })+
            };
        }
        check!(ApprovalPolicy, WireApi, Durability, DiscoveryMode, NameFrom, Mode);
        assert_eq!(WireApi::of_word("Chat"), None);
    }
}
