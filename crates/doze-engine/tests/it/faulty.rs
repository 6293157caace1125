//! A disk that fails in the middle of a sweep: the error is told, nothing is half done, and the next sweep completes.

use std::io::{Error, ErrorKind, Result};
use std::sync::{Arc, Mutex};

use doze_core::model::{Dream, DreamResult, Event, Memory, SessionEnd};
use doze_engine::{CommitRequest, DreamRequest, DreamVerdict, Engine, ListRequest, Problem, StatusFilter};
use doze_store::Store;
use jiff::SignedDuration;
use redb::StorageBackend;

use crate::kit::{Kit, long_session, turn};

/// A disk in memory. Clones are handles on the same bytes.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// Writes, growths and syncs so far.
    done: u64,
    /// How many more succeed, if they are counted.
    left: Option<u64>,
}

impl Disk {
    fn holding(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { bytes, ..State::default() })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap())
    }

    fn change(&self, act: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        self.with(|state| {
            state.done += 1;
            match &mut state.left {
                Some(0) => return Err(Error::from(ErrorKind::StorageFull)),
                Some(left) => *left -= 1,
                None => {}
            }
            act(&mut state.bytes);
            Ok(())
        })
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64> {
        Ok(self.with(|state| state.bytes.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let at = offset as usize;
        self.with(|state| {
            let bytes = state.bytes.get(at..at + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
            out.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.change(|bytes| bytes.resize(len as usize, 0))
    }

    fn sync_data(&self) -> Result<()> {
        self.change(|_| {})
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let at = offset as usize;
        self.change(|bytes| {
            let end = bytes.len().max(at + data.len());
            bytes.resize(end, 0);
            bytes[at..at + data.len()].copy_from_slice(data);
        })
    }
}

impl Kit {
    /// The engine of this kit on another disk.
    fn on(&mut self, disk: &Disk) {
        self.engine.close();
        let store = Store::open_with_backend(disk.clone(), doze_store::Options::default()).unwrap();
        self.engine = Engine::open_on(store, self.options("on-disk"), self.clock.clone()).unwrap();
    }

    /// The memories and the journal, without the ids that were drawn.
    fn stand(&self) -> (Vec<Memory>, Vec<Dream>) {
        let request =
            ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
        let mut memories = self.engine.memories(&self.owner, &request).unwrap().items;
        memories.iter_mut().for_each(|memory| memory.id = "an id".into());
        memories.sort_by(|a, b| (&a.body, a.face).cmp(&(&b.body, b.face)));
        let mut dreams = self.engine.dream_log(&self.owner, 99, None).unwrap().items;
        for dream in &mut dreams {
            dream.id = "an id".into();
            dream.reason.clear();
            for change in &mut dream.changes {
                change.after.id = "an id".into();
                change.before.iter_mut().for_each(|before| before.id = "an id".into());
            }
        }
        (memories, dreams)
    }
}

fn by_hand() -> DreamRequest {
    DreamRequest { by_hand: true, ..Default::default() }
}

#[test]
fn whatever_write_of_a_sweep_fails_nothing_is_half_done_and_the_next_one_completes() {
    let mut kit = Kit::new();
    let disk = Disk::default();
    kit.on(&disk);
    let cwd = kit.project("shop");
    for (session, rule) in [
        ("s", "No, use pnpm instead of npm in this repository."),
        ("t", "Never edit the generated client by hand."),
    ] {
        let events = long_session(rule).into_iter();
        let events = events.map(|event| Event { id: format!("{session}-{}", event.id).into(), ..event });
        let committed = turn(session, "a", &cwd, events.collect());
        kit.commit(CommitRequest { end: SessionEnd::Session, ..committed });
    }
    kit.engine.close();
    let image = disk.with(|state| state.bytes.clone());

    let disk = Disk::holding(image.clone());
    kit.on(&disk);
    let before = kit.stand();
    let first = disk.with(|state| state.done);
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let writes = disk.with(|state| state.done) - first;
    let expected = kit.stand();
    assert!(expected.0.len() > before.0.len() && expected.1.len() == 1 && writes > 20, "{writes}");

    for left in (0..writes).step_by(4).chain([writes - 1]) {
        let disk = Disk::holding(image.clone());
        kit.on(&disk);
        disk.with(|state| state.left = Some(left));
        let error = match kit.engine.dream(&kit.owner, &by_hand()) {
            Err(error) => error,
            // The last writes of a transaction may be done a moment after it has been answered.
            Ok(_) => {
                assert_eq!(kit.stand(), expected, "after {left} of {writes} writes");
                continue;
            }
        };
        assert_eq!(error.problem, Problem::Unavailable, "after {left} of {writes} writes: {error:?}");
        assert!(error.message.contains("disk is full"), "{}", error.message);
        assert_eq!(kit.stand(), before, "after {left} of {writes} writes nothing is half done");
        // Whether or not that could be noted, it is not tried again at once.
        let verdict = kit.engine.dream_verdict(&kit.owner, 0).unwrap();
        assert!(matches!(verdict, DreamVerdict::Wait { .. }), "{verdict:?}");

        disk.with(|state| state.left = None);
        kit.engine.dream(&kit.owner, &by_hand()).unwrap();
        let mut completed = kit.stand();
        // A write that was told as failed may have reached the disk all the same; then there was nothing left to do.
        completed.1.retain(|dream| dream.result == DreamResult::Done);
        assert_eq!(completed, expected, "after {left} of {writes} writes and another sweep");
        assert_eq!(kit.engine.dream_status(&kit.owner).unwrap().broke_off, None);
    }
}

#[test]
fn a_sweep_that_cannot_be_noted_asks_nobody() {
    let mut kit = Kit::new();
    let disk = Disk::default();
    kit.on(&disk);
    let cwd = kit.project("shop");
    let events = long_session("Please look after the orders.");
    kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "a", &cwd, events) });
    let command = kit.script("asked.sh", "exit 1");
    kit.switches(|switches| {
        switches.extractors.dreams = doze_engine::Who::Command;
        switches.extractors.command = command;
    });
    disk.with(|state| state.left = Some(0));
    for _ in 0..3 {
        kit.pass(SignedDuration::from_hours(5));
        let verdict = kit.engine.dream_verdict(&kit.owner, 0).unwrap();
        assert!(matches!(verdict, DreamVerdict::Run { .. }), "it is tried at the usual pace");
        kit.engine.dream(&kit.owner, &DreamRequest::default()).unwrap_err();
    }
    assert!(!kit.path("asked").exists(), "nobody was asked and nothing was paid for");
}
