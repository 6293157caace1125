//! Whose turn it is. Tools run on threads that may block, and those are there for everybody: an agent that sends a
//! thousand calls at once gets its answers one after another, and a hook does not wait behind it.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Calls of one connection that run at once.
const AT_ONCE: usize = 4;
/// Calls of one connection that are under way, those that wait for their turn included. One more is refused.
pub(crate) const MOST: usize = 64;

/// The threads that all connections together may take. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Semaphore>);

impl Turns {
    /// So many calls run at once, whoever makes them.
    pub fn new(calls: usize) -> Self {
        Self(Arc::new(Semaphore::new(calls)))
    }
}

/// Why a call has no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Too many are under way.
    Full,
    /// It panicked.
    Panicked,
}

/// The calls of one connection.
pub(crate) struct Line {
    places: Arc<Semaphore>,
    own: Arc<Semaphore>,
    all: Turns,
}

impl Line {
    pub(crate) fn new(all: Turns) -> Self {
        Self { places: Arc::new(Semaphore::new(MOST)), own: Arc::new(Semaphore::new(AT_ONCE)), all }
    }

    /// Does `work` on a thread that may block, when it is its turn.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Broken> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Broken::Full)?;
        // They are never closed.
        let own = Arc::clone(&self.own).acquire_owned().await.map_err(|_| Broken::Full)?;
        let turn = Arc::clone(&self.all.0).acquire_owned().await.map_err(|_| Broken::Full)?;
        let done = tokio::task::spawn_blocking(move || {
            // The turn is the thread's own: a client that takes its call back gets no second one.
            let _turn = (place, own, turn);
            work()
        });
        done.await.map_err(|_| Broken::Panicked)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, Sender, channel};

    use tokio::runtime::{Builder, Runtime};
    use tokio::task::JoinHandle;

    use super::*;

    /// Calls that have begun tell so and go on when they are let.
    struct Gate {
        runtime: Runtime,
        began: Receiver<()>,
        tell: Sender<()>,
        open: Sender<()>,
        wait: Arc<Mutex<Receiver<()>>>,
    }

    impl Gate {
        fn new() -> Self {
            let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let ((tell, began), (open, wait)) = (channel(), channel());
            Self { runtime, began, tell, open, wait: Arc::new(Mutex::new(wait)) }
        }

        fn call(&self, line: &Arc<Line>) -> JoinHandle<Result<(), Broken>> {
            let (line, tell, wait) = (Arc::clone(line), self.tell.clone(), Arc::clone(&self.wait));
            let work = move || {
                tell.send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            };
            self.runtime.spawn(async move { line.run(work).await })
        }
    }

    #[test]
    fn a_connection_runs_four_at_once_and_is_refused_more_than_it_may_have_under_way() {
        let gate = Gate::new();
        let line = Arc::new(Line::new(Turns::new(100)));
        let calls: Vec<_> = (0..MOST).map(|_| gate.call(&line)).collect();
        for _ in 0..AT_ONCE {
            gate.began.recv().unwrap();
        }
        // The runtime may look at a new call before one that waits in its queue.
        while line.places.available_permits() > 0 {
            std::thread::yield_now();
        }
        assert_eq!(gate.runtime.block_on(gate.call(&line)).unwrap(), Err(Broken::Full));
        assert!(gate.began.try_recv().is_err(), "the fifth waits");
        for _ in 0..MOST {
            gate.open.send(()).unwrap();
        }
        for call in calls {
            assert_eq!(gate.runtime.block_on(call).unwrap(), Ok(()));
        }
        gate.open.send(()).unwrap();
        assert_eq!(gate.runtime.block_on(gate.call(&line)).unwrap(), Ok(()), "its places are free again");
    }

    #[test]
    fn all_connections_together_have_a_bound_and_a_call_that_is_taken_back_keeps_its_thread() {
        let gate = Gate::new();
        let turns = Turns::new(5);
        let lines: Vec<_> = (0..2).map(|_| Arc::new(Line::new(turns.clone()))).collect();
        let calls: Vec<_> = (0..8).map(|at| gate.call(&lines[at % 2])).collect();
        for _ in 0..5 {
            gate.began.recv().unwrap();
        }
        calls.iter().for_each(JoinHandle::abort);
        for call in calls {
            let _ = gate.runtime.block_on(call);
        }
        assert_eq!(turns.0.available_permits(), 0, "five threads are still at work");
        for _ in 0..5 {
            gate.open.send(()).unwrap();
        }
        let all = Arc::clone(&turns.0);
        drop(gate.runtime.block_on(all.acquire_many(5)).unwrap());
        assert!(gate.began.try_recv().is_err(), "what was taken back before its turn never began");
    }

    #[test]
    fn a_panic_is_told_and_gives_its_turn_back() {
        let gate = Gate::new();
        let line = Line::new(Turns::new(1));
        for _ in 0..3 {
            assert_eq!(gate.runtime.block_on(line.run(|| panic!("no"))), Err::<(), _>(Broken::Panicked));
        }
    }
}
