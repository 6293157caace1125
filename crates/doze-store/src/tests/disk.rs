//! A disk in memory that counts, fails on demand, and forgets what was not synced when the power goes.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex, MutexGuard};

use redb::StorageBackend;

/// Clones are handles on the same bytes.
#[derive(Clone, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

/// Called when a sync begins, before anything of it is durable, with the images a power loss could leave now.
type OnSync = Box<dyn FnMut(Vec<Vec<u8>>) + Send>;

#[derive(Default)]
struct State {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// What was written since the last sync, in order.
    pending: Vec<Pending>,
    syncs: u64,
    /// Writes that still succeed; then every write, growth and sync fails so.
    fail_after: Option<(u64, ErrorKind)>,
    on_sync: Option<OnSync>,
    random: u64,
}

enum Pending {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

impl Disk {
    /// A disk that holds these bytes, all of them durable.
    pub(super) fn holding(bytes: Vec<u8>) -> Self {
        let disk = Self::default();
        disk.state().live.clone_from(&bytes);
        disk.state().durable = bytes;
        disk
    }

    /// The bytes as they are read now.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.state().live.clone()
    }

    /// What is left when the power goes now and nothing unsynced was lucky.
    pub(super) fn durable(&self) -> Vec<u8> {
        self.state().durable.clone()
    }

    pub(super) fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// From now on `writes` more writes succeed, then everything that changes something fails.
    pub(super) fn fail_after(&self, writes: u64, kind: ErrorKind) {
        self.state().fail_after = Some((writes, kind));
    }

    pub(super) fn heal(&self) {
        self.state().fail_after = None;
    }

    pub(super) fn on_sync(&self, f: impl FnMut(Vec<Vec<u8>>) + Send + 'static) {
        self.state().on_sync = Some(Box::new(f));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn allow(&mut self) -> Result<()> {
        match &mut self.fail_after {
            Some((0, kind)) => Err(Error::from(*kind)),
            Some((left, _)) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The durable bytes with an arbitrary part of the pending writes on top: a disk reorders, and tears a write in
    /// units of a sector.
    fn torn(&mut self) -> Vec<u8> {
        let mut image = self.durable.clone();
        let pending = std::mem::take(&mut self.pending);
        for write in &pending {
            match write {
                Pending::Length(length) => image.resize(*length, 0),
                Pending::Bytes(at, bytes) => {
                    for (sector, part) in bytes.chunks(512).enumerate() {
                        let from = at + sector * 512;
                        if self.lucky() && from + part.len() <= image.len() {
                            image[from..from + part.len()].copy_from_slice(part);
                        }
                    }
                }
            }
        }
        self.pending = pending;
        image
    }

    /// A coin (xorshift), the same sequence in every run.
    fn lucky(&mut self) -> bool {
        self.random ^= 0x9e37_79b9_7f4a_7c15;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random & 1 == 1
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64> {
        Ok(self.state().live.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let (state, at) = (self.state(), offset as usize);
        let bytes = state.live.get(at..at + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let mut state = self.state();
        state.allow()?;
        state.live.resize(len as usize, 0);
        state.pending.push(Pending::Length(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> Result<()> {
        let mut state = self.state();
        state.syncs += 1;
        if matches!(state.fail_after, Some((0, _))) {
            state.allow()?;
        }
        if let Some(mut on_sync) = state.on_sync.take() {
            let images = vec![state.durable.clone(), state.torn(), state.live.clone()];
            drop(state);
            on_sync(images);
            state = self.state();
            state.on_sync = Some(on_sync);
        }
        state.durable = state.live.clone();
        state.pending.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let mut state = self.state();
        state.allow()?;
        let at = offset as usize;
        if state.live.len() < at + data.len() {
            state.live.resize(at + data.len(), 0);
        }
        state.live[at..at + data.len()].copy_from_slice(data);
        state.pending.push(Pending::Bytes(at, data.to_vec()));
        Ok(())
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Disk")
    }
}
