//! What was forgotten stays forgotten: a keyed hash of its words keeps extraction, import and undo from bringing it
//! back (`R8`). The hash tells nothing about the words to whoever reads the store without its key.

use std::collections::BTreeSet;

use doze_core::model::OwnerId;
use doze_core::text::normalise_words;
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use sha2::{Digest, Sha256};

use crate::{Engine, EngineError};

const KEY: &str = "tombstone_key";

impl Engine {
    /// Whether a text with these words was forgotten.
    pub(crate) fn is_forgotten(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        text: &str,
    ) -> Result<bool, EngineError> {
        let Some(key) = snapshot.aux(owner, Family::Setting, KEY)? else { return Ok(false) };
        Ok(snapshot.aux(owner, Family::Tombstone, &keyed_hash(&key, text))?.is_some())
    }

    /// Adds tombstones for texts to a change set, which may be refused because the key was written meanwhile.
    pub(super) fn bury(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        texts: &BTreeSet<String>,
    ) -> Result<ChangeSet, EngineError> {
        if texts.is_empty() {
            return Ok(set);
        }
        let key = match snapshot.aux(&set.owner, Family::Setting, KEY)? {
            Some(key) => key,
            None => {
                let key = [self.random(), self.random(), self.random()].concat();
                // Two first forgets at once must not each write a key: the tombstones of one would mean nothing.
                let subject = Subject::Aux(Family::Setting, KEY.to_owned());
                set = set.expect_seen(snapshot, subject)?.put_aux(Family::Setting, KEY, key.clone());
                key
            }
        };
        for text in texts.iter().filter(|text| !text.trim().is_empty()) {
            set = set.put_aux(Family::Tombstone, keyed_hash(&key, text), Vec::new());
        }
        Ok(set)
    }
}

/// SHA-256 over the key and the sorted words of a text.
fn keyed_hash(key: &[u8], text: &str) -> String {
    let words = normalise_words(text);
    let mut hash = Sha256::new();
    hash.update(key);
    if words.is_empty() {
        // Too short or unusual for words: the text itself.
        hash.update(text.trim().to_lowercase().as_bytes());
    }
    for word in words {
        hash.update(word.as_bytes());
        hash.update(b"\0");
    }
    doze_core::model::hex(&hash.finalize())
}
