//! Who sits at the table: when all seats are taken, the caller that has been silent longest makes room.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;

/// What a caller is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is under way since then.
    Idle(Instant),
    /// A request is carried out or its answer is written.
    Busy,
    /// It was asked to go.
    Leaving,
}

/// One connection's place.
#[derive(Debug)]
pub(super) struct Seat {
    state: Mutex<State>,
    leave: Notify,
}

impl Seat {
    /// A request came in. `false` when the caller was sent away before: then it is not carried out.
    pub(super) fn begin(&self) -> bool {
        self.change(|state| match state {
            State::Leaving => State::Leaving,
            _ => State::Busy,
        }) == State::Busy
    }

    /// The answer is out.
    pub(super) fn rest(&self) {
        self.change(|state| match state {
            State::Busy => State::Idle(Instant::now()),
            other => other,
        });
    }

    /// Waits until the seat is needed by somebody else.
    pub(super) async fn is_needed(&self) {
        self.leave.notified().await;
    }

    fn idle_since(&self) -> Option<Instant> {
        match self.change(|state| state) {
            State::Idle(since) => Some(since),
            _ => None,
        }
    }

    /// Sends the caller away unless a request came in meanwhile.
    fn vacate(&self) -> bool {
        let state = self.change(|state| match state {
            State::Idle(_) => State::Leaving,
            other => other,
        });
        if state == State::Leaving {
            self.leave.notify_one();
        }
        state == State::Leaving
    }

    fn change(&self, to: impl FnOnce(State) -> State) -> State {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = to(*state);
        *state
    }
}

/// The seats of a server. Used by the one task that accepts.
#[derive(Debug)]
pub(super) struct Seats {
    limit: usize,
    taken: Vec<Weak<Seat>>,
}

impl Seats {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: Vec::new() }
    }

    /// A seat, if need be that of the caller that has been silent longest; `None` when all are busy.
    pub(super) fn take(&mut self) -> Option<Arc<Seat>> {
        self.taken.retain(|seat| seat.strong_count() > 0);
        let seats: Vec<Arc<Seat>> = self.taken.iter().filter_map(Weak::upgrade).collect();
        let staying = seats.iter().filter(|seat| seat.change(|state| state) != State::Leaving).count();
        if staying >= self.limit && !Self::make_room(&seats) {
            return None;
        }
        let state = Mutex::new(State::Idle(Instant::now()));
        let seat = Arc::new(Seat { state, leave: Notify::new() });
        self.taken.push(Arc::downgrade(&seat));
        Some(seat)
    }

    fn make_room(seats: &[Arc<Seat>]) -> bool {
        let mut idle: Vec<_> =
            seats.iter().filter_map(|seat| Some((seat.idle_since()?, Arc::clone(seat)))).collect();
        idle.sort_by_key(|(since, _)| *since);
        idle.iter().any(|(_, seat)| seat.vacate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_silent_makes_room_and_the_busy_never() {
        let mut seats = Seats::new(3);
        let [first, second, third] = std::array::from_fn(|_| seats.take().unwrap());
        assert!(first.begin(), "the first one is at work");
        let fourth = seats.take().unwrap();
        assert!(!second.begin(), "the second one was sent away, so what it says now is not carried out");
        assert!(third.begin() && fourth.begin());
        assert!(seats.take().is_none(), "everybody is at work");
        first.rest();
        third.rest();
        let fifth = seats.take().unwrap();
        assert!(!first.begin() && third.begin(), "the first one has been silent longer");
        drop((fifth, fourth));
        assert!(seats.take().is_some(), "who left makes room");
        assert!(third.begin());
    }
}
