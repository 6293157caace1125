//! Single memories: adding, reading, changing, judging, forgetting them, and telling where they came from.

mod add;
mod change;
mod forget;
mod promote;
mod read;
mod tombstone;
mod traces;

use doze_core::model::{Face, Memory, MemoryId, OwnerId, Scope};
use doze_store::{ChangeSet, Snapshot, Subject};

pub(crate) use forget::are_said_in;

use crate::{Engine, EngineError};

pub(crate) use add::title_of;
pub use add::{AddOutcome, Added, MemoryRequest};
pub(crate) use change::patterns_telling;
pub use change::{EditRequest, Verdict};
pub(crate) use forget::FORGOTTEN;
pub use forget::{Forget, Forgotten};
pub use promote::Promoted;
pub(crate) use promote::copies_key;
pub(crate) use read::event_named;
pub use read::{EvidenceLine, ListRequest, Page, StatusFilter, Step, Why};

/// Bounds of what a caller may hand in (S1.36, S4; `R14`: outside is an error, never a silent cut).
pub(crate) const MAX_TITLE: usize = 120;
pub(crate) const MAX_BODY: usize = 8_000;
/// What an agent may say in the project face; a person may say more.
pub(crate) const MAX_BODY_OF_AGENT: usize = 800;
pub(crate) const MAX_TOPIC: usize = 80;
pub(crate) const MAX_FILES: usize = 20;
pub(crate) const MAX_FILE: usize = 512;
pub(crate) const MAX_TAGS: usize = 32;
pub(crate) const MAX_TAG: usize = 64;

/// How long a body may be.
fn body_bound(face: Face, by_person: bool) -> usize {
    if face == Face::Project && !by_person { MAX_BODY_OF_AGENT } else { MAX_BODY }
}

impl Engine {
    /// Decides about one memory on a snapshot and writes it; starts over when somebody changed it meanwhile.
    fn change_memory<T>(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        mut decide: impl FnMut(&Snapshot, Memory) -> Result<(ChangeSet, T), EngineError>,
    ) -> Result<T, EngineError> {
        let answer = self.decide(&format!("memory {id} keeps changing"), |snapshot| {
            let memory = snapshot.memory(owner, id)?.ok_or_else(|| EngineError::not_found("memory", id))?;
            let scope = Subject::Scope(memory.scope.clone());
            let (set, answer) = decide(snapshot, memory)?;
            let set = set.expect_seen(snapshot, Subject::Memory(id.clone()))?.expect_seen(snapshot, scope)?;
            Ok((set, answer))
        })?;
        self.write_workspaces(owner);
        Ok(answer)
    }

    /// Decides about a scope on a snapshot and writes; starts over when somebody changed it meanwhile.
    fn change_scope<T>(
        &self,
        scope: &Scope,
        mut decide: impl FnMut(&Snapshot) -> Result<(ChangeSet, T), EngineError>,
    ) -> Result<T, EngineError> {
        self.decide("others keep writing to the same space", |snapshot| {
            let (set, answer) = decide(snapshot)?;
            Ok((set.expect_seen(snapshot, Subject::Scope(scope.clone()))?, answer))
        })
    }
}
