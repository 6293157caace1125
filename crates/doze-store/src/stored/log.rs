//! Entries of the change log: what one change set changed.

use doze_core::model::{OwnerId, SessionKey};
use serde::{Deserialize, Serialize};

use super::{Keep, StoredKey};
use crate::change::{Changed, LoggedChange};

/// One entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredChanges {
    owner: String,
    #[serde(default)]
    what: Vec<StoredChanged>,
}

/// One change; a kind this build does not know reads as `other`, which nobody indexes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum StoredChanged {
    Memory {
        id: String,
    },
    MemoryGone {
        id: String,
    },
    Session(StoredKey),
    SessionGone(StoredKey),
    Events {
        key: StoredKey,
        first: u64,
        count: u64,
    },
    EventReplaced {
        key: StoredKey,
        ordinal: u64,
    },
    Project {
        id: String,
    },
    ProjectGone {
        id: String,
    },
    Dream {
        id: String,
    },
    Vectors {
        doc: String,
    },
    #[serde(other)]
    Other,
}

impl StoredChanges {
    /// The entry of a change set.
    pub(crate) fn new(owner: &OwnerId, what: Vec<Changed>) -> Self {
        Self { owner: owner.as_str().to_owned(), what: what.into_iter().map(StoredChanged::from).collect() }
    }

    /// The changes as a follower sees them; a set nobody has to look at gives one `Other`.
    pub(crate) fn into_logged(self, seq: u64) -> Vec<LoggedChange> {
        let owner = OwnerId::from(self.owner);
        if self.what.is_empty() {
            return vec![LoggedChange { seq, owner, what: Changed::Other }];
        }
        self.what
            .into_iter()
            .map(|what| LoggedChange { seq, owner: owner.clone(), what: what.into() })
            .collect()
    }
}

impl From<Changed> for StoredChanged {
    fn from(what: Changed) -> Self {
        match what {
            Changed::Memory(id) => Self::Memory { id: id.keep() },
            Changed::MemoryGone(id) => Self::MemoryGone { id: id.keep() },
            Changed::Session(key) => Self::Session(key.keep()),
            Changed::SessionGone(key) => Self::SessionGone(key.keep()),
            Changed::Events { session, first, count } => Self::Events { key: session.keep(), first, count },
            Changed::EventReplaced { session, ordinal } => {
                Self::EventReplaced { key: session.keep(), ordinal }
            }
            Changed::Project(id) => Self::Project { id: id.keep() },
            Changed::ProjectGone(id) => Self::ProjectGone { id: id.keep() },
            Changed::Dream(id) => Self::Dream { id: id.keep() },
            Changed::Vectors { doc } => Self::Vectors { doc },
            Changed::Other => Self::Other,
        }
    }
}

impl From<StoredChanged> for Changed {
    fn from(what: StoredChanged) -> Self {
        match what {
            StoredChanged::Memory { id } => Self::Memory(id.into()),
            StoredChanged::MemoryGone { id } => Self::MemoryGone(id.into()),
            StoredChanged::Session(key) => Self::Session(SessionKey::back(key)),
            StoredChanged::SessionGone(key) => Self::SessionGone(SessionKey::back(key)),
            StoredChanged::Events { key, first, count } => {
                Self::Events { session: SessionKey::back(key), first, count }
            }
            StoredChanged::EventReplaced { key, ordinal } => {
                Self::EventReplaced { session: SessionKey::back(key), ordinal }
            }
            StoredChanged::Project { id } => Self::Project(id.into()),
            StoredChanged::ProjectGone { id } => Self::ProjectGone(id.into()),
            StoredChanged::Dream { id } => Self::Dream(id.into()),
            StoredChanged::Vectors { doc } => Self::Vectors { doc },
            StoredChanged::Other => Self::Other,
        }
    }
}
