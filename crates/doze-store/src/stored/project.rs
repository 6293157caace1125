//! Projects.

use doze_core::model::{OwnerId, Project, ProjectId};
use jiff::Timestamp;

use super::record;
use crate::envelope::{Damage, seal_json, unseal_json};

record! {
    /// A project.
    StoredProject for Project {
        id: ProjectId = ProjectId::new(""),
        owner: OwnerId = OwnerId::new(""),
        name: String = String::new(),
        root: String = String::new(),
        aliases: Vec<String> = Vec::new(),
        created_at: Timestamp = Timestamp::UNIX_EPOCH,
        ignored: bool = false,
    }
}

/// The aliases of a sealed project.
pub(crate) fn aliases(sealed: &[u8]) -> Result<Vec<String>, Damage> {
    unseal_json::<StoredProject>(sealed).map(|project| project.aliases)
}

/// A sealed project without one of its aliases.
pub(crate) fn remove_alias(sealed: &[u8], alias: &str) -> Result<Vec<u8>, Damage> {
    let mut project = unseal_json::<StoredProject>(sealed)?;
    project.aliases.retain(|known| known != alias);
    seal_json(&project).map_err(|error| Damage::Shape(error.to_string()))
}
