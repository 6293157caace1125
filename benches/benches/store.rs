//! What 64 agents that end their turns at the same time wait for: durable, acknowledged commits of one session with four
//! events each. Against SQLite as most peers use it (a connection each, WAL, synchronous=FULL, a transaction a commit) and
//! against bare redb with a group commit of its own, which is the floor: no index, no change log, no checksum.

mod peers;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use doze_core::model::{
    AgentRef, Event, EventKind, Mode, Origin, Outcome, Session, SessionEnd, SessionKey, SessionKind, Summary,
};
use doze_store::{ChangeSet, KnownIn, Options, Store};
use jiff::Timestamp;

const THREADS: u64 = 64;
const EVENTS: u64 = 4;

/// Runs `commit` with the numbers `0..commits` from all threads and tells how long that took.
fn from_all_threads(commits: u64, commit: &(impl Fn(usize, u64) + Sync)) -> Duration {
    let next = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..THREADS as usize {
            let next = &next;
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= commits {
                        return;
                    }
                    commit(thread, number);
                }
            });
        }
    });
    start.elapsed()
}

/// Numbers that no earlier sample used, so that every commit is a new session.
fn fresh(counter: &AtomicU64, commits: u64) -> u64 {
    counter.fetch_add(commits, Ordering::Relaxed)
}

fn doze(folder: &Path) -> Store {
    Store::open(&folder.join("store.redb"), Options::default()).expect("the store opens")
}

fn change_set(number: u64) -> ChangeSet {
    let key = SessionKey::new(format!("session-{number}"), "bench");
    let at = Timestamp::from_second(1_700_000_000 + number as i64).expect("a time after 2023");
    let session = Session {
        key: key.clone(),
        owner: "local:0".into(),
        project: Some("project".into()),
        agent: AgentRef { id: "bench".into(), name: "bench".into(), harness: "bench".into() },
        cwd: "/home/dev/app".into(),
        mode: Mode::Code,
        kind: SessionKind::Interactive,
        ended: Some(SessionEnd::Session),
        outcome: Outcome::Success,
        started_at: at,
        last_event_at: at,
        heard_at: at,
        event_count: EVENTS,
        rounds: 1,
        turns: 1,
        summary: Some(Summary { what: peers::text(number, 9), ..Summary::default() }),
        task: None,
        team: None,
        transcript: None,
    };
    let events = (0..EVENTS).map(|ordinal| {
        let text = peers::text(number, ordinal);
        Event { at: Some(at), ..Event::new(format!("{number}-{ordinal}"), EventKind::Answer, Origin::Agent, text) }
    });
    ChangeSet::new("local:0".into()).put_session(session).append_events(
        key,
        KnownIn::Project(Some("project".into())),
        0,
        events.collect(),
    )
}

fn commits(c: &mut Criterion) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on a real disk");
    let mut group = c.benchmark_group("commits");
    group.throughput(Throughput::Elements(1));
    group.sampling_mode(SamplingMode::Flat);
    group.sample_size(10).warm_up_time(Duration::from_secs(2)).measurement_time(Duration::from_secs(10));

    let counter = AtomicU64::new(0);
    let store = doze(folder.path());
    group.bench_function("doze", |b| {
        b.iter_custom(|commits| {
            let first = fresh(&counter, commits);
            from_all_threads(commits, &|_, number| {
                store.apply(change_set(first + number)).expect("the commit is acknowledged");
            })
        });
    });
    store.close();

    let counter = AtomicU64::new(0);
    let sqlite = peers::Sqlite::open(folder.path(), THREADS as usize);
    group.bench_function("sqlite", |b| {
        b.iter_custom(|commits| {
            let first = fresh(&counter, commits);
            from_all_threads(commits, &|thread, number| sqlite.commit(thread, first + number, EVENTS))
        });
    });
    drop(sqlite);

    let counter = AtomicU64::new(0);
    let redb = peers::GroupedRedb::open(folder.path());
    group.bench_function("redb", |b| {
        b.iter_custom(|commits| {
            let first = fresh(&counter, commits);
            from_all_threads(commits, &|_, number| redb.commit(first + number, EVENTS))
        });
    });
    group.finish();
}

criterion_group!(benches, commits);
criterion_main!(benches);
