//! Events and the fingerprints they are known by.

use doze_core::model::{Event, SessionKey, hex};
use redb::{ReadableTable, StorageError};

use super::Writing;
use crate::change::Subject;
use crate::envelope::{seal_json, unseal_json};
use crate::stored::{EventMark, StoredEvent, StoredPlace};

impl Writing<'_, '_> {
    pub(super) fn put_events(
        &mut self,
        key: &SessionKey,
        known_in: &str,
        first: u64,
        events: &[([u8; 16], Vec<u8>)],
    ) -> Result<(), StorageError> {
        let (owner, name, harness) = (self.owner, key.session.as_str(), key.harness.as_str());
        for (ordinal, (fingerprint, value)) in (first..).zip(events) {
            let replaced = self.tables.events.insert((owner, name, harness, ordinal), value.as_slice())?;
            let old = replaced.and_then(|old| unseal_json::<EventMark>(old.value()).ok());
            if let Some(old) = old {
                self.forget_mark(&old, key, ordinal)?;
            }
            // The first one to bring an event keeps the mark: a fork or a resumed copy is the one that is known. Known
            // ones are rare here, so the mark is written first and put back, which spares a search for each new event.
            let marked = (owner, known_in, fingerprint.as_slice());
            let place = StoredPlace(name.to_owned(), harness.to_owned(), ordinal);
            let place = seal_json(&place).map_err(no_json)?;
            let former =
                self.tables.fingerprints.insert(marked, place.as_slice())?.map(|old| old.value().to_vec());
            if let Some(former) = former {
                self.tables.fingerprints.insert(marked, former.as_slice())?;
            }
        }
        self.touch(Subject::Session(key.clone()).key());
        Ok(())
    }

    /// Writes another text; the mark stays. An event that is not there stays absent.
    pub(super) fn replace_event(
        &mut self,
        key: &SessionKey,
        ordinal: u64,
        event: &Event,
    ) -> Result<(), StorageError> {
        let place = (self.owner, key.session.as_str(), key.harness.as_str(), ordinal);
        let mark = match self.tables.events.get(place)? {
            None => return Ok(()),
            Some(old) => unseal_json::<EventMark>(old.value()),
        };
        // Of a damaged event the mark is lost here; its entry in the fingerprint table still holds.
        let mark =
            mark.unwrap_or_else(|_| EventMark { mark: hex(&event.fingerprint()), known_in: String::new() });
        let value = seal_json(&StoredEvent::new(mark, event.clone())).map_err(no_json)?;
        self.tables.events.insert(place, value.as_slice())?;
        self.touch(Subject::Session(key.clone()).key());
        Ok(())
    }

    pub(super) fn delete_events(&mut self, key: &SessionKey) -> Result<(), StorageError> {
        let (owner, name, harness) = (self.owner, key.session.as_str(), key.harness.as_str());
        let mut marks = Vec::new();
        for row in self.tables.events.range((owner, name, harness, 0)..=(owner, name, harness, u64::MAX))? {
            let (row, value) = row?;
            match unseal_json::<EventMark>(value.value()) {
                Ok(mark) => marks.push((row.value().3, mark)),
                Err(damage) => {
                    let key = format!("{owner} {name} {harness} {}", row.value().3);
                    self.quarantine.add("events", key, &damage);
                }
            }
        }
        let all = (owner, name, harness, 0)..=(owner, name, harness, u64::MAX);
        self.tables.events.retain_in(all, |_, _| false)?;
        for (ordinal, mark) in marks {
            self.forget_mark(&mark, key, ordinal)?;
        }
        Ok(())
    }

    /// Takes a fingerprint out, if it still points at this event.
    fn forget_mark(&mut self, mark: &EventMark, key: &SessionKey, ordinal: u64) -> Result<(), StorageError> {
        let Some(bytes) = mark.bytes() else { return Ok(()) };
        let marked = (self.owner, mark.known_in.as_str(), bytes.as_slice());
        let here = StoredPlace(key.session.clone(), key.harness.clone(), ordinal);
        let points_here = match self.tables.fingerprints.get(marked)? {
            None => false,
            Some(place) => unseal_json::<StoredPlace>(place.value()).map_or(true, |place| place == here),
        };
        if points_here {
            self.tables.fingerprints.remove(marked)?;
        }
        Ok(())
    }
}

/// Strings and numbers always become JSON; the type wants an answer all the same.
fn no_json(error: serde_json::Error) -> StorageError {
    StorageError::Io(std::io::Error::other(error))
}
