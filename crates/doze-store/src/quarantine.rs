//! Values that cannot be read: skipped, remembered, counted, never a panic.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::envelope::Damage;
use crate::error::ReadError;

/// How many damaged values are remembered by name. More are still skipped.
const REMEMBERED: usize = 1024;

/// A value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// The table it lies in.
    pub table: String,
    /// Its key, for people to read.
    pub key: String,
    /// What is wrong with it.
    pub why: String,
}

/// The damaged values met since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Quarantine(Mutex<BTreeMap<(String, String), String>>);

impl Quarantine {
    /// Remembers a damaged value; says it in the log the first time.
    pub(crate) fn add(&self, table: &str, key: String, damage: &Damage) {
        let mut known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let place = (table.to_owned(), key);
        if known.len() < REMEMBERED && !known.contains_key(&place) {
            tracing::error!(table, key = place.1, %damage, "a stored value is damaged and was skipped");
            known.insert(place, damage.to_string());
        }
    }

    /// All that are remembered.
    pub(crate) fn list(&self) -> Vec<Quarantined> {
        let known = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known
            .iter()
            .map(|((table, key), why)| Quarantined {
                table: table.clone(),
                key: key.clone(),
                why: why.clone(),
            })
            .collect()
    }
}

/// Runs something that touches pages of the file. redb panics on some damaged pages; such a panic becomes an error.
pub(crate) fn guarded<T, E>(
    damaged: impl FnOnce(String) -> E,
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a page is damaged".to_owned());
        Err(damaged(text))
    })
}

/// [`guarded`] for reads.
pub(crate) fn guarded_read<T>(read: impl FnOnce() -> Result<T, ReadError>) -> Result<T, ReadError> {
    guarded(ReadError::Damaged, read)
}
