//! How a store is opened.

/// Sizes and bounds of an open store.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of pages redb keeps in memory.
    pub cache_bytes: usize,
    /// Change sets that may wait for the writer; a further [`crate::Store::apply`] blocks until there is room.
    pub queue: usize,
    /// Change sets that share one transaction at most.
    pub batch: usize,
    /// Bytes of one change set at most; a larger one is refused as invalid.
    pub max_set_bytes: usize,
    /// Change sets the log keeps at most, confirmed or not. A follower that fell further behind rebuilds.
    pub max_changes: u64,
    /// Bytes that must be free on the disk before anything is written.
    pub min_free_bytes: u64,
    /// What a commit promises; only tests may lower it, to prove that they notice.
    #[cfg(test)]
    pub(crate) durability: redb::Durability,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache_bytes: 32 << 20,
            queue: 1024,
            batch: 512,
            max_set_bytes: 256 << 20,
            max_changes: 1_000_000,
            min_free_bytes: 16 << 20,
            #[cfg(test)]
            durability: redb::Durability::Immediate,
        }
    }
}

impl Options {
    /// What every commit promises: on disk when it returns.
    pub(crate) fn durability(&self) -> redb::Durability {
        #[cfg(test)]
        return self.durability;
        #[cfg(not(test))]
        redb::Durability::Immediate
    }
}
