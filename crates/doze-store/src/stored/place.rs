//! Where an event lies.

use doze_core::model::SessionKey;
use serde::{Deserialize, Serialize};

/// Session, harness, ordinal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPlace(pub(crate) String, pub(crate) String, pub(crate) u64);

impl StoredPlace {
    /// As callers see it.
    pub(crate) fn into_place(self) -> (SessionKey, u64) {
        (SessionKey { session: self.0, harness: self.1 }, self.2)
    }
}
