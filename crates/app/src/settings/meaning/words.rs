//! Settings that are one of a few words.

macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident {
        $($(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal,)+
    }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name {
            $($(#[doc = $variant_doc])+ $variant,)+
        }

        impl $name {
            /// All the words, as they are written.
            pub(crate) const WORDS: &'static [&'static str] = &[$($word,)+];

            /// The word, as it is written.
            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// What the word means, if it is one.
            pub(crate) fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// When a person is asked before a tool runs, in the words of Codex.
    ApprovalPolicy {
        /// Before everything that is not known to be harmless.
        Untrusted = "untrusted",
        /// When something failed in the sandbox.
        OnFailure = "on-failure",
        /// When a call needs it.
        OnRequest = "on-request",
        /// Never: what would need it is refused.
        Never = "never",
    }
}

words! {
    /// How a provider is talked to.
    WireApi {
        /// The Responses API.
        Responses = "responses",
        /// The Chat Completions API.
        Chat = "chat",
        /// The Messages API of Anthropic.
        Anthropic = "anthropic",
        /// Gemini's `generateContent`.
        Gemini = "gemini",
    }
}

words! {
    /// What a transcript survives at the end of a turn.
    Durability {
        /// The death of the process.
        Process = "process",
        /// The death of the machine: each turn waits for the disk.
        Machine = "machine",
    }
}

words! {
    /// Where agents are looked for.
    Discovery {
        /// In all the places where agents are kept.
        Auto = "auto",
        /// Only where told.
        Manual = "manual",
    }
}

words! {
    /// What an agent's name is taken from.
    NameFrom {
        /// The file's frontmatter; the file's name where that has none.
        Frontmatter = "frontmatter",
        /// The file's name.
        Filename = "filename",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_means_what_it_says() {
        macro_rules! check {
            ($($name:ident),+) => {
                $(for word in $name::WORDS {
                    assert_eq!($name::of_word(word).map($name::as_str), Some(*word));
                })+
            };
        }
        check!(ApprovalPolicy, WireApi, Durability, Discovery, NameFrom);
        assert_eq!(WireApi::of_word("Chat"), None);
    }
}
