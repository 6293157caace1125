//! The vocabulary: the records every other crate passes around.

mod dream;
mod event;
mod ids;
mod memory;
mod permission;
mod project;
mod session;
mod space;

pub use dream::{
    Dream, DreamChange, DreamOp, DreamResult, DreamedSession, LeftAlone, SessionOutcome, UndoLeft, steps,
};
pub use event::{Event, EventKind, Origin, ToolUse};
pub use ids::{
    AgentId, DreamId, EventId, MemoryId, OwnerId, ProjectId, SessionKey, content_hash, fingerprint, hex,
    uuid_v7,
};
pub use memory::{CONTRADICTS, Context, Face, Kind, Memory, PATTERN_KEY, Source, Status, Verification};
pub use permission::Permission;
pub use project::Project;
pub use session::{
    AgentRef, Mode, Outcome, Session, SessionEnd, SessionKind, Summary, TaskRef, Tokens, WorkState,
    WorkStatus,
};
pub use space::{Scope, Space};

/// A closed set of words with one spelling each: `as_str` writes it, `FromStr` reads it back.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            /// Every value, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that stands for this value on the wire, in the store and on a screen.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::UnknownWord;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::model::UnknownWord { word: word.to_owned(), expected: &[$($word),+] }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

/// A word outside a closed set; the message lists the words that would have been right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word {word:?}, expected one of {}", expected.join(", "))]
pub struct UnknownWord {
    /// The word that was given.
    pub word: String,
    /// The words of the set.
    pub expected: &'static [&'static str],
}
