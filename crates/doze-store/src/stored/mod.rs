//! The records as they lie in the file. Private, so that the engine's types can change without the file, and the
//! file without the engine. Fields that are unknown are ignored, fields that are missing get the default written
//! beside them: older and newer files stay readable.

mod dream;
mod event;
mod log;
mod memory;
mod place;
mod project;
mod session;

pub(crate) use event::{EventMark, StoredEvent, known_in_agent, known_in_session};
pub(crate) use log::StoredChanges;
pub(crate) use memory::MemoryFacts;
pub(crate) use place::StoredPlace;
pub(crate) use project::{aliases, remove_alias};
pub(crate) use session::{
    AGENT_FACETS, AGENT_IN_PROJECT_FACETS, SessionFacts, agent_facet, agent_in_project_facet, countdown,
    counted, facets, project_facet,
};

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use doze_core::model::{
    AgentId, AgentRef, DreamId, EventId, MemoryId, OwnerId, ProjectId, Scope, SessionKey,
};
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type with a stored form.
pub(crate) trait Keep: Sized {
    /// The stored form.
    type Kept: Serialize + DeserializeOwned;
    /// Turns the record into its stored form.
    fn keep(self) -> Self::Kept;
    /// Turns the stored form into the record.
    fn back(kept: Self::Kept) -> Self;
}

macro_rules! kept_as_is {
    ($($kind:ty),+) => {$(
        impl Keep for $kind {
            type Kept = Self;
            fn keep(self) -> Self { self }
            fn back(kept: Self) -> Self { kept }
        }
    )+};
}
kept_as_is!(String, bool, u32, u64);

macro_rules! kept_as_text {
    ($($kind:ty),+) => {$(
        impl Keep for $kind {
            type Kept = String;
            fn keep(self) -> String { self.as_str().to_owned() }
            fn back(kept: String) -> Self { Self::from(kept) }
        }
    )+};
}
kept_as_text!(AgentId, DreamId, EventId, MemoryId, OwnerId, ProjectId);

impl<T: Keep> Keep for Option<T> {
    type Kept = Option<T::Kept>;
    fn keep(self) -> Self::Kept {
        self.map(T::keep)
    }
    fn back(kept: Self::Kept) -> Self {
        kept.map(T::back)
    }
}

impl<T: Keep> Keep for Vec<T> {
    type Kept = Vec<T::Kept>;
    fn keep(self) -> Self::Kept {
        self.into_iter().map(T::keep).collect()
    }
    fn back(kept: Self::Kept) -> Self {
        kept.into_iter().map(T::back).collect()
    }
}

/// A value that is kept as one word or one line of text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<T>(pub(crate) T);

impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parse<T>(PhantomData<T>);
        impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Parse<T> {
            type Value = Text<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Text<T>, E> {
                text.parse().map(Text).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Parse(PhantomData))
    }
}

macro_rules! kept_as_word {
    ($($kind:ty),+ $(,)?) => {$(
        impl $crate::stored::Keep for $kind {
            type Kept = $crate::stored::Text<Self>;
            fn keep(self) -> Self::Kept { $crate::stored::Text(self) }
            fn back(kept: Self::Kept) -> Self { kept.0 }
        }
    )+};
}
pub(crate) use kept_as_word;
// A number with a fraction goes through text because that gives back the very same number.
kept_as_word!(Timestamp, f64);

/// A scope, kept as its key.
#[derive(Debug, Clone)]
pub(crate) struct ScopeText(Scope);

impl Serialize for ScopeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.key())
    }
}

impl<'de> Deserialize<'de> for ScopeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let key = String::deserialize(deserializer)?;
        Scope::from_key(&key).map(ScopeText).ok_or_else(|| D::Error::custom("not the key of a scope"))
    }
}

impl Keep for Scope {
    type Kept = ScopeText;
    fn keep(self) -> ScopeText {
        ScopeText(self)
    }
    fn back(kept: ScopeText) -> Self {
        kept.0
    }
}

/// Declares the stored form of a record: the same fields, each with what a file that lacks it means.
macro_rules! record {
    ($(#[$meta:meta])* $stored:ident for $record:ident { $($field:ident: $kind:ty = $default:expr),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub(crate) struct $stored { $($field: <$kind as $crate::stored::Keep>::Kept),+ }

        impl Default for $stored {
            fn default() -> Self {
                Self { $($field: <$kind as $crate::stored::Keep>::keep($default)),+ }
            }
        }

        impl $crate::stored::Keep for $record {
            type Kept = $stored;
            fn keep(self) -> $stored {
                $stored { $($field: <$kind as $crate::stored::Keep>::keep(self.$field)),+ }
            }
            fn back(kept: $stored) -> Self {
                Self { $($field: <$kind as $crate::stored::Keep>::back(kept.$field)),+ }
            }
        }
    };
}
pub(crate) use record;

record! {
    /// An agent as a caller names it.
    StoredAgent for AgentRef {
        id: AgentId = AgentId::new(""),
        name: String = String::new(),
        harness: String = String::new(),
    }
}

record! {
    /// The name of a session.
    StoredKey for SessionKey {
        session: String = String::new(),
        harness: String = String::new(),
    }
}

/// An agent nobody named.
fn nobody() -> AgentRef {
    AgentRef { id: AgentId::new(""), name: String::new(), harness: String::new() }
}
