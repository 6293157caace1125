//! Where a test may end a sweep in the middle. Without the feature `test-faults`, which only tests turn on, reaching
//! one of these places does nothing and the names are not in the program.

/// The places, in the order in which a sweep reaches them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "test-faults"), allow(unreachable_pub, reason = "public for tests alone"))]
pub enum Break {
    /// The sweep is on record as running, and nothing else has happened.
    Begun,
    /// It is decided which sessions are read.
    Chosen,
    /// A session's digest is made; nobody was asked yet.
    Digested,
    /// Somebody replied; the reply is nowhere but in memory.
    Answered,
    /// What a session yielded is kept.
    Kept,
    /// The plan is made; nothing of it is applied.
    Planned,
    /// Plan, checkpoints and journal are applied.
    Applied,
}

#[cfg(not(feature = "test-faults"))]
pub(super) fn reach(_: Break) {}

#[cfg(feature = "test-faults")]
pub(super) use armed::reach;
#[cfg(feature = "test-faults")]
pub use armed::{ALL, arm};

#[cfg(feature = "test-faults")]
mod armed {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Break;

    /// Every place with the name it has in `DOZE_BREAK_AT`.
    pub const ALL: [(Break, &str); 7] = [
        (Break::Begun, "begun"),
        (Break::Chosen, "chosen"),
        (Break::Digested, "digested"),
        (Break::Answered, "answered"),
        (Break::Kept, "kept"),
        (Break::Planned, "planned"),
        (Break::Applied, "applied"),
    ];

    thread_local! {
        static ARMED: Cell<Option<(Break, u32)>> = const { Cell::new(None) };
    }

    /// How often this process has reached the place that its environment names.
    static REACHED: AtomicU32 = AtomicU32::new(0);

    /// The next sweep on this thread unwinds, with the place as its payload, when it reaches it for the `nth` time,
    /// counted from 1.
    pub fn arm(place: Break, nth: u32) {
        ARMED.set(Some((place, nth)));
    }

    /// Unwinds the sweep if the thread is armed, or the whole process, without warning, if its environment
    /// says `DOZE_BREAK_AT=PLACE` or `PLACE:NTH`.
    pub(in crate::dream) fn reach(place: Break) {
        match ARMED.get() {
            Some((armed, 1)) if armed == place => {
                ARMED.set(None);
                std::panic::resume_unwind(Box::new(place));
            }
            Some((armed, nth)) if armed == place => ARMED.set(Some((armed, nth - 1))),
            _ => {}
        }
        let Ok(wanted) = std::env::var("DOZE_BREAK_AT") else { return };
        let (name, nth) = wanted.split_once(':').unwrap_or((&wanted, "1"));
        let is_here = ALL.iter().any(|(known, called)| *known == place && *called == name);
        if is_here && Some(REACHED.fetch_add(1, Ordering::Relaxed) + 1) == nth.parse().ok() {
            std::process::abort();
        }
    }
}
