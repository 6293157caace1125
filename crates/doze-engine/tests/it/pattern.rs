//! Lessons of several sessions about one thing, and the one above them.

use doze_core::model::{Face, Memory, Status};
use doze_engine::{DreamRequest, EditRequest, Forget, ListRequest, StatusFilter, Verdict};

use crate::jobs::run;
use crate::kit::{Kit, answer, memory, prompt, reply, turn};

/// A run that taught a lesson about the pool.
fn learn(kit: &Kit, session: &str, cwd: &str, first: i64, title: &str) {
    kit.jobs_by(kit.replies(&reply(&[memory("", title, &format!("{title}, as the run showed."))])));
    kit.commit(run(session, cwd, first));
    kit.run_jobs();
}

fn dream(kit: &Kit) {
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
}

fn active(kit: &Kit) -> Vec<Memory> {
    let request = ListRequest { everywhere: true, limit: 500, ..Default::default() };
    let all = kit.engine.memories(&kit.owner, &request).unwrap().items;
    all.into_iter().filter(|memory| memory.status == Status::Active).collect()
}

fn pattern(kit: &Kit) -> Option<Memory> {
    active(kit).into_iter().find(Memory::is_pattern)
}

fn forget(kit: &Kit, memory: &Memory) {
    kit.engine.forget(&kit.owner, &Forget::Memory(memory.id.clone()), true).unwrap();
}

const LESSONS: [(&str, &str); 3] = [
    ("one", "Close every worker before the suite ends"),
    ("two", "Give the slow fixtures a longer timeout"),
    ("three", "Seed the random order for a failing shard"),
];

#[test]
fn lessons_of_three_sessions_are_cited_by_one_and_forgotten_from_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for (place, (session, title)) in (0..).zip(LESSONS) {
        assert_eq!(pattern(&kit), None);
        learn(&kit, session, &cwd, 1 + 20 * place, title);
        dream(&kit);
    }
    let found = pattern(&kit).unwrap();
    assert_eq!(found.title, "Mind what went wrong with `src/pool.ts`");
    assert!(LESSONS.iter().all(|(_, title)| found.body.contains(title)), "{found:?}");
    let why = kit.engine.why(&kit.owner, &found.id).unwrap();
    assert_eq!(why.history[0].because, "3 lessons of 3 sessions speak of src/pool.ts");
    assert!(!why.evidence.is_empty() && why.retires.contains("fewer than three"), "{why:?}");

    let cited = |title: &str| active(&kit).into_iter().find(|memory| memory.title == title).unwrap();
    forget(&kit, &cited(LESSONS[0].1));
    let left = active(&kit);
    assert!(left.iter().all(|memory| !memory.body.contains(LESSONS[0].1)), "{left:?}");
    let words = cited(LESSONS[1].1);
    assert!(
        kit.engine
            .why(&kit.owner, &words.id)
            .unwrap()
            .evidence
            .iter()
            .all(|line| line.quote != "[forgotten]")
    );
    dream(&kit);
    assert_eq!(pattern(&kit), None, "two lessons are left");
    let journal = kit.engine.dream_log(&kit.owner, 100, None).unwrap().items;
    assert!(!journal.is_empty());
    let told = format!("{journal:?}");
    assert!(!told.contains(LESSONS[0].1), "no journal keeps the words of what a pattern cited: {told}");

    learn(&kit, "four", &cwd, 90, "Pin the runner to one core on battery");
    dream(&kit);
    let again = pattern(&kit).unwrap();
    assert!(again.body.contains("Pin the runner") && !again.body.contains(LESSONS[0].1), "{again:?}");

    // A pattern that is forgotten takes nobody's evidence with it, and does not come back.
    forget(&kit, &again);
    let words = kit.engine.why(&kit.owner, &cited(LESSONS[2].1).id).unwrap().evidence;
    assert!(words.iter().all(|line| line.quote != "[forgotten]"), "{words:?}");
    learn(&kit, "five", &cwd, 120, "Drop the shared cache between two shards");
    dream(&kit);
    assert_eq!(pattern(&kit), None);
}

#[test]
fn a_pattern_rests_while_it_tells_of_what_is_wrong() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let all = LESSONS.into_iter().chain([("four", "Pin the runner to one core on battery")]);
    for (place, (session, title)) in (0..).zip(all) {
        learn(&kit, session, &cwd, 1 + 20 * place, title);
    }
    dream(&kit);
    assert!(pattern(&kit).is_some());
    let wrong = active(&kit).into_iter().find(|memory| memory.title == LESSONS[1].1).unwrap();
    kit.engine.feedback(&kit.owner, &wrong.id, Verdict::Wrong, true).unwrap();
    assert_eq!(pattern(&kit), None, "it still tells of it");
    dream(&kit);
    let again = pattern(&kit).unwrap();
    assert!(!again.body.contains(LESSONS[1].1) && again.body.contains(LESSONS[0].1), "{again:?}");
}

#[test]
fn what_a_person_made_of_a_pattern_outlives_what_it_cites() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for (place, (session, title)) in (0..).zip(LESSONS) {
        learn(&kit, session, &cwd, 1 + 20 * place, title);
        dream(&kit);
    }
    let found = pattern(&kit).unwrap();
    let edit = EditRequest { body: Some("Ask Dana before touching the pool.".into()), ..Default::default() };
    kit.engine.edit(&kit.owner, &found.id, &edit, true).unwrap();
    let cited = active(&kit).into_iter().find(|memory| memory.title == LESSONS[0].1).unwrap();
    forget(&kit, &cited);
    let kept = active(&kit).into_iter().find(|memory| memory.id == found.id).unwrap();
    assert_eq!(kept.body, "Ask Dana before touching the pool.");
    assert!(kept.contexts.iter().all(|context| context.origin.as_deref() != Some(cited.id.as_str())));
}

#[test]
fn undone_lessons_are_told_by_no_pattern_in_whatever_order_the_dreams_are_undone() {
    let causes = [
        "never closes its file, so the next run fails",
        "ignores the timeout, so a stuck worker is never freed",
        "reads the cache before the lock is held, so it may be stale",
    ];
    for oldest_first in [true, false] {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        let mut dreams = Vec::new();
        for (place, cause) in (0..).zip(causes) {
            let first = 1 + 50 * place;
            let mut events = vec![prompt(first, "why does it fail?")];
            events.push(answer(first + 1, &format!("The cause is that `open_pool()` {cause}.")));
            for round in 1..6 {
                events.push(prompt(first + 3 * round, "go on"));
                events.push(answer(
                    first + 3 * round + 1,
                    &format!("Step {round} of part {place} is in place."),
                ));
            }
            kit.commit(turn(&format!("s{place}"), "a", &cwd, events));
            dreams.push(
                kit.engine
                    .dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() })
                    .unwrap()
                    .id,
            );
        }
        assert!(pattern(&kit).is_some(), "{:?}", active(&kit));
        if !oldest_first {
            dreams.reverse();
        }
        for id in &dreams {
            kit.engine.undo_dream(&kit.owner, Some(id)).unwrap();
            let told = kit.brief(&cwd, "b");
            assert!(!told.contains("Mind what went wrong"), "{told}");
        }
        let list =
            ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
        let left = kit.engine.memories(&kit.owner, &list).unwrap().items;
        let learned = left.iter().filter(|memory| memory.face == Face::Project);
        assert_eq!(learned.count(), 0, "{left:?}");
    }
}
