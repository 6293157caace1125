//! Somebody else writes in the middle of an operation: nothing acknowledged is lost, nothing forgotten comes back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use doze_core::model::{Memory, MemoryId, Space, WorkStatus};
use doze_engine::{
    DreamRequest, Forget, ListRequest, MemoryRequest, Reader, StatusFilter, TaskRequest, TaskStatus,
    WorkRequest,
};

use crate::kit::{Kit, agent, answer, long_session, prompt, reader, turn};

const RULE: &str = "No, use pnpm instead of npm in this repository.";

fn all(kit: &Kit) -> Vec<Memory> {
    let request =
        ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
    kit.engine.memories(&kit.owner, &request).unwrap().items
}

fn by_hand() -> DreamRequest {
    DreamRequest { by_hand: true, ..Default::default() }
}

#[test]
fn a_forget_takes_back_no_event_that_was_committed_meanwhile() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "Remember: the zanzibar gateway needs a certificate.")]));
    let id = all(&kit).remove(0).id;
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    let between = turn("s", "a", &cwd, vec![answer(2, "The osprey queue is set up.")]);
    // The first forget draws a key, after it has read the session.
    meddler.at_random(move || {
        engine.append(&owner, between).unwrap();
    });
    kit.engine.forget(&kit.owner, &Forget::Memory(id), true).unwrap();
    assert!(meddler.is_done());
    kit.commit(turn("s", "a", &cwd, vec![answer(3, "The heron queue is set up.")]));
    let session = kit.engine.session(&kit.owner, "s").unwrap();
    assert_eq!(session.event_count, 3);
    for word in ["osprey", "heron"] {
        let request = doze_engine::SearchRequest {
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            query: word.to_owned(),
            history: true,
            ..Default::default()
        };
        assert!(!kit.engine.search(&kit.owner, &request).unwrap().hits.is_empty(), "{word}");
    }
}

#[test]
fn two_first_forgets_at_once_keep_both_away() {
    let (kit, meddler) = Kit::disturbed();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    let facts =
        ["Remember: the zanzibar gateway needs a certificate.", "Remember: the osprey queue needs Kafka."];
    kit.commit(turn("s1", "a", &shop, vec![prompt(1, facts[0])]));
    kit.commit(turn("s2", "a", &web, vec![prompt(2, facts[1])]));
    let id_of = |word: &str| all(&kit).into_iter().find(|memory| memory.body.contains(word)).unwrap().id;
    let (first, second) = (id_of("zanzibar"), id_of("osprey"));
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    meddler.at_random(move || {
        engine.forget(&owner, &Forget::Memory(second), true).unwrap();
    });
    kit.engine.forget(&kit.owner, &Forget::Memory(first), true).unwrap();
    assert!(meddler.is_done());
    let again = [(3, "s3", &shop, facts[0]), (4, "s4", &web, facts[1])];
    for (n, session, cwd, fact) in again {
        let committed = kit.commit(turn(session, "a", cwd, vec![prompt(n, fact)]));
        assert_eq!(committed.facts.added, 0, "{fact}");
    }
}

#[test]
fn what_is_forgotten_while_a_dream_runs_stays_forgotten() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session(RULE)));
    let dry = kit.engine.dream(&kit.owner, &DreamRequest { dry_run: true, ..by_hand() }).unwrap();
    let found: BTreeSet<String> = dry.changes.into_iter().map(|change| change.after.body).collect();
    let found: Vec<String> = found.into_iter().filter(|body| body.contains("pnpm")).collect();
    assert!(!found.is_empty());
    let said = found.into_iter().map(|body| {
        let reader = Reader { cwd: Some(cwd.clone()), ..Default::default() };
        let request = MemoryRequest { body, reader, ..Default::default() };
        kit.engine.add(&kit.owner, &request).unwrap().memory.id
    });
    let said: BTreeSet<MemoryId> = said.collect();
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    // The dream has read its sessions when it draws its own id.
    meddler.at_random(move || {
        for id in said {
            engine.forget(&owner, &Forget::Memory(id), true).unwrap();
        }
    });
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert!(meddler.is_done() && dream.sessions.len() == 1);
    let told = format!("{:?} {dream:?}", all(&kit));
    assert!(!told.contains("pnpm"), "{told}");
}

#[test]
fn what_is_forgotten_elsewhere_while_a_plan_is_made_is_not_learned() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session(RULE)));
    let dry = kit.engine.dream(&kit.owner, &DreamRequest { dry_run: true, ..by_hand() }).unwrap();
    let found = dry.changes.into_iter().map(|change| change.after.body).find(|body| body.contains("pnpm"));
    let request = MemoryRequest { body: found.unwrap(), space: Some(Space::User), ..Default::default() };
    let id = kit.engine.add(&kit.owner, &request).unwrap().memory.id;
    let (engine, owner, later) = (kit.engine.clone(), kit.owner.clone(), meddler.clone());
    // What is forgotten in no project is forgotten in all. First its own id is drawn, then those of what it learns, for which it has looked at what was forgotten.
    meddler.at_random(move || {
        later.at_random(move || {
            engine.forget(&owner, &Forget::Memory(id), true).unwrap();
        });
    });
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert!(meddler.is_done() && dream.sessions.len() == 1);
    let told = format!("{:?} {:?}", all(&kit), dream.changes);
    assert!(!told.contains("pnpm"), "{told}");
}

#[test]
fn forgetting_a_large_project_leaves_no_word_in_any_journal() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session(RULE)));
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert!(dream.changes.len() > 1);
    // So many memories that they go in several sets: a later one must not bring back what an earlier one blanked.
    for n in 0..210 {
        let request = MemoryRequest {
            body: format!("Fact{n} about subject{n}x."),
            topic_key: Some(format!("topic-{n}")),
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap();
    }
    kit.brief(&cwd, "a");
    let count = all(&kit).len() as u64;
    assert!(count > 210);
    let forgotten = kit.engine.forget(&kit.owner, &Forget::Project("shop".to_owned()), true).unwrap();
    assert!((forgotten.memories, forgotten.sessions) == (count, 1), "{forgotten:?}");
    assert_eq!(all(&kit), []);
    let told = format!("{:?}", kit.engine.dream_log(&kit.owner, 9, None).unwrap().items);
    assert!(!told.contains("pnpm") && told.contains("[forgotten]"), "{told}");
}

#[test]
fn a_merge_takes_tasks_works_and_aliases_along() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    kit.commit(turn("s1", "a", &shop, vec![prompt(1, "Remember: the shop speaks gRPC to billing.")]));
    kit.commit(turn("s2", "a", &web, vec![prompt(2, "Remember: the web app uses island rendering.")]));
    let task = |cwd: &str, id: &str, title: &str| {
        let request = TaskRequest { id: id.to_owned(), title: Some(title.to_owned()), ..Default::default() };
        kit.engine.set_task(&kit.owner, &reader(cwd, "a"), &request).unwrap();
        kit.pass(jiff::SignedDuration::from_secs(1));
    };
    task(&web, "t1", "old");
    task(&shop, "t1", "newer");
    task(&web, "t2", "of web");
    let request = WorkRequest {
        agent: Some(agent("a")),
        reader: reader(&web, "a"),
        session: Some("s2".to_owned()),
        status: Some(WorkStatus::Running),
        ..Default::default()
    };
    kit.engine.set_work(&kit.owner, &request).unwrap();
    let merged = kit.engine.merge_projects(&kit.owner, "web", "shop").unwrap();
    let mut tasks: Vec<_> = kit
        .engine
        .tasks(&kit.owner, &reader(&web, "a"))
        .unwrap()
        .into_iter()
        .map(|task| (task.id, task.title, task.project))
        .collect();
    tasks.sort();
    let project = Some(merged.id.to_string());
    let wanted =
        [("t1", "newer"), ("t2", "of web")].map(|(id, title)| (id.into(), title.into(), project.clone()));
    assert_eq!(tasks, wanted);
    let works = kit.engine.works(&kit.owner, &reader(&shop, "a")).unwrap();
    assert_eq!(works.iter().map(|work| work.session.as_deref()).collect::<Vec<_>>(), [Some("s2")]);
    assert_eq!(kit.engine.session(&kit.owner, "s2").unwrap().project, Some(merged.id));
}

#[test]
fn nothing_is_committed_to_a_project_that_was_merged_meanwhile() {
    let (kit, meddler) = Kit::disturbed();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    kit.commit(turn("s1", "a", &shop, vec![prompt(1, "go on")]));
    kit.commit(turn("s2", "a", &web, vec![prompt(2, "go on")]));
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    // A new memory's id is drawn after the commit has found its project.
    meddler.at_random(move || {
        seen.fetch_add(1, Ordering::SeqCst);
        engine.merge_projects(&owner, "web", "shop").unwrap();
    });
    let request = turn("s3", "a", &web, vec![prompt(3, "Remember: the web app uses island rendering.")]);
    let refused = kit.engine.commit(&kit.owner, request.clone()).unwrap_err();
    assert_eq!((refused.problem, calls.load(Ordering::SeqCst)), (doze_engine::Problem::Busy, 1));
    let committed = kit.commit(request);
    let projects = kit.engine.projects(&kit.owner).unwrap();
    assert_eq!(projects.len(), 1);
    assert_eq!(committed.project, Some(projects[0].project.id.to_string()));
    assert!(kit.brief(&web, "a").contains("island"));
}

#[test]
fn a_task_changed_meanwhile_keeps_both_changes() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    let reader = reader(&cwd, "a");
    let request = TaskRequest { id: "t".to_owned(), title: Some("first".to_owned()), ..Default::default() };
    kit.engine.set_task(&kit.owner, &reader, &request).unwrap();
    let (engine, owner, by) = (kit.engine.clone(), kit.owner.clone(), reader.clone());
    let renamed = TaskRequest { title: Some("renamed".to_owned()), ..request.clone() };
    // Finding the project asks for the time first.
    let again = Arc::clone(&meddler);
    meddler.at_now(move || {
        again.at_now(move || {
            engine.set_task(&owner, &by, &renamed).unwrap();
        });
    });
    let done = TaskRequest { status: Some(TaskStatus::Done), title: None, ..request };
    let set = kit.engine.set_task(&kit.owner, &reader, &done).unwrap();
    assert!(meddler.is_done());
    assert_eq!((set.title.as_str(), set.status), ("renamed", TaskStatus::Done));
    assert_eq!(kit.engine.tasks(&kit.owner, &reader).unwrap(), [set]);
}

#[test]
fn old_work_states_go_in_a_quiet_time() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let work = |name: &str| {
        let request =
            WorkRequest { agent: Some(agent(name)), reader: reader(&cwd, name), ..Default::default() };
        kit.engine.set_work(&kit.owner, &request).unwrap();
    };
    work("old");
    kit.pass(jiff::SignedDuration::from_hours(24 * 20));
    work("newer");
    kit.pass(jiff::SignedDuration::from_hours(24 * 11));
    kit.engine.tidy(&kit.owner).unwrap();
    let left = kit.engine.works(&kit.owner, &Reader::default()).unwrap();
    assert_eq!(left.iter().map(|work| work.agent.id.as_str()).collect::<Vec<_>>(), ["newer"]);
}

#[test]
fn a_backup_replaces_nothing_and_tells_the_change_it_holds() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "go on")]));
    let to = kit.path("backup.redb");
    let backup = kit.engine.backup(&to).unwrap();
    assert_eq!(backup.seq, kit.engine.status(&kit.owner).unwrap().seq);
    assert_eq!(backup.bytes, std::fs::metadata(&to).unwrap().len());
    for (name, beside) in [("backup.redb", "backup.redb"), ("other.redb", "other.redb.part")] {
        std::fs::write(kit.path(beside), "somebody's").unwrap();
        let refused = kit.engine.backup(&kit.path(name)).unwrap_err();
        assert_eq!(refused.problem, doze_engine::Problem::Refused, "{beside}");
        assert_eq!(std::fs::read(kit.path(beside)).unwrap(), b"somebody's");
    }
}

#[test]
fn the_last_number_there_is_asks_for_nothing() {
    let kit = Kit::new();
    let page = kit.engine.events_since(&kit.owner, u64::MAX, 10).unwrap();
    assert_eq!((page.items, page.next, page.missed), (vec![], u64::MAX, false));
}

#[test]
fn an_import_tells_what_it_left_out() {
    let kit = Kit::new();
    let deep = kit.path("sessions/1/2/3/4/5/6/7/8/9/10");
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("s.jsonl"), "{}\n").unwrap();
    let request = doze_engine::ImportRequest {
        path: kit.path("sessions").to_string_lossy().into_owned(),
        ..Default::default()
    };
    let imported = kit.engine.import(&kit.owner, &request).unwrap();
    assert_eq!((imported.read, imported.left_out), (0, 1));
}
