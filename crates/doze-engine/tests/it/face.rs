//! The project face as OpenOrc's document promises it (S1): who may write what and when, what nobody is told, how a
//! search ranks and pages.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use doze_core::model::{Event, Kind, Memory, Space, Status};
use doze_core::rank::Profile;
use doze_engine::{
    AddOutcome, ContextRequest, DreamRequest, EditRequest, EngineError, ListRequest, MemoryRequest, Problem,
    Reader, SearchRequest, SemanticState, Silence, StatusFilter, Switches, TaskRequest,
};

use crate::kit::{Kit, agent, answer, long_session, prompt, reader, turn};

fn at(cwd: &str, body: &str) -> MemoryRequest {
    MemoryRequest { body: body.to_owned(), reader: reader(cwd, "a"), ..Default::default() }
}

fn by_person(cwd: &str, body: &str) -> MemoryRequest {
    MemoryRequest { by_person: true, ..at(cwd, body) }
}

fn switched_off(kit: &Kit) {
    kit.engine.set_switches(&kit.owner, Switches { memory_enabled: false, ..Switches::default() });
}

fn refused<T: std::fmt::Debug>(result: Result<T, EngineError>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.problem, Problem::Refused, "{error}");
    error.message
}

#[test]
fn an_agent_says_800_characters_and_a_person_more() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let (fits, long) = ("ü".repeat(800), "ü".repeat(801));
    let memory = kit.engine.add(&kit.owner, &at(&cwd, &fits)).unwrap().memory;
    let error = kit.engine.add(&kit.owner, &at(&cwd, &long)).unwrap_err();
    assert_eq!(
        (error.problem, error.message.as_str()),
        (Problem::Invalid, "body is longer than 800 characters")
    );
    let edit = EditRequest { body: Some(long.clone()), ..Default::default() };
    let error = kit.engine.edit(&kit.owner, &memory.id, &edit, false).unwrap_err();
    assert_eq!(error.message, "body is longer than 800 characters");
    assert_eq!(kit.engine.edit(&kit.owner, &memory.id, &edit, true).unwrap().body, long);
    kit.engine.add(&kit.owner, &by_person(&cwd, &"ö".repeat(8_000))).unwrap();
    // The bound is the project face's; an agent's own facts are the office's.
    let own =
        MemoryRequest { space: Some(Space::Agent), agent: Some(agent("a")), ..at(&cwd, &"ä".repeat(801)) };
    assert_eq!(kit.engine.add(&kit.owner, &own).unwrap().outcome, AddOutcome::Added);
}

#[test]
fn while_memory_is_off_or_paused_only_a_person_adds() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let add = |request: MemoryRequest| kit.engine.add(&kit.owner, &request);
    switched_off(&kit);
    assert_eq!(refused(add(at(&cwd, "The linter needs node 20."))), "memory is off");
    assert!(kit.engine.projects(&kit.owner).unwrap().is_empty(), "nothing is minted for what is refused");
    let own = add(by_person(&cwd, "The broker needs a license.")).unwrap();
    assert_eq!((own.outcome, own.silence), (AddOutcome::Added, Some(Silence::Off)));
    // Saved memories stay: they are found, changed and settled as ever, and a task is still told and kept.
    assert_eq!(kit.found(&cwd, "license").len(), 1);
    let edit = EditRequest { body: Some("The broker needs a new license.".to_owned()), ..Default::default() };
    kit.engine.edit(&kit.owner, &own.memory.id, &edit, true).unwrap();
    let task = TaskRequest { id: "T-1".to_owned(), title: Some("Renew it".to_owned()), ..Default::default() };
    kit.engine.set_task(&kit.owner, &reader(&cwd, "a"), &task).unwrap();
    assert!(kit.brief(&cwd, "a").is_empty());

    kit.engine.set_switches(&kit.owner, Switches::default());
    kit.engine.pause(&kit.owner, Some(3600)).unwrap();
    assert_eq!(refused(add(at(&cwd, "The linter needs node 20."))), "doze is paused");
    assert_eq!(add(by_person(&cwd, "Use tabs.")).unwrap().silence, Some(Silence::Paused));
    kit.engine.resume(&kit.owner).unwrap();
    assert_eq!(add(at(&cwd, "The linter needs node 20.")).unwrap().silence, None);
}

#[test]
fn of_an_ignored_project_nothing_is_kept() {
    let kit = Kit::new();
    let cwd = kit.project("secret-client");
    kit.engine.add(&kit.owner, &at(&cwd, "The linter needs node 20.")).unwrap();
    kit.engine.ignore_project(&kit.owner, &cwd, true).unwrap();
    let user = |request| MemoryRequest { space: Some(Space::User), ..request };
    for request in [
        at(&cwd, "The broker needs a license."),
        by_person(&cwd, "The broker needs a license."),
        user(at(&cwd, "The person likes tabs.")),
    ] {
        assert_eq!(refused(kit.engine.add(&kit.owner, &request)), "the project is ignored");
    }
    let task = TaskRequest { id: "T-1".to_owned(), title: Some("x".to_owned()), ..Default::default() };
    assert_eq!(refused(kit.engine.set_task(&kit.owner, &reader(&cwd, "a"), &task)), "the project is ignored");
    let own = kit.engine.add(&kit.owner, &user(by_person(&cwd, "I like tabs."))).unwrap();
    assert_eq!(own.silence, None, "what is the person's own is told elsewhere");
}

fn propose(kit: &Kit, cwd: &str) -> (Memory, Memory) {
    let known = kit.engine.add(&kit.owner, &by_person(cwd, "The staging API listens on port 5432.")).unwrap();
    let new = kit.engine.add(&kit.owner, &at(cwd, "The staging API listens on port 5433.")).unwrap();
    assert_eq!(new.outcome, AddOutcome::Proposed);
    (known.memory, new.memory)
}

#[test]
fn what_is_proposed_is_told_to_nobody_until_it_is_settled() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let (_, proposed) = propose(&kit, &cwd);
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    let dream = kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    assert!(dream.changes.iter().all(|change| change.after.id != proposed.id), "{dream:?}");
    assert_eq!(kit.engine.memory(&kit.owner, &proposed.id).unwrap(), proposed);
    let context = ContextRequest { reader: reader(&cwd, "a"), ..Default::default() };
    let recover = doze_engine::RecoverRequest { reader: reader(&cwd, "a"), ..Default::default() };
    let texts = [
        kit.brief(&cwd, "a"),
        kit.engine.context(&kit.owner, &context).unwrap().told.text,
        kit.engine.recover(&kit.owner, &recover).unwrap().told.text,
        kit.found(&cwd, "staging API port 5433").join("\n"),
    ];
    for text in texts {
        assert!(!text.contains("5433"), "{text}");
    }
    let waiting = ListRequest {
        reader: reader(&cwd, "a"),
        status: StatusFilter::Only(Status::Proposed),
        limit: 10,
        ..Default::default()
    };
    assert_eq!(kit.engine.memories(&kit.owner, &waiting).unwrap().items, [proposed]);
}

#[test]
fn an_accepted_proposal_replaces_what_it_contradicts_and_a_rejected_one_nothing() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let (known, proposed) = propose(&kit, &cwd);
    kit.engine.review(&kit.owner, &proposed.id, false, true).unwrap();
    assert_eq!(kit.found(&cwd, "staging port"), [known.body.as_str()]);
    let again =
        kit.engine.add(&kit.owner, &at(&cwd, "The staging API listens on port 5433.")).unwrap().memory;
    kit.engine.review(&kit.owner, &again.id, true, true).unwrap();
    assert_eq!(kit.found(&cwd, "staging port"), ["The staging API listens on port 5433."]);
    let former = kit.engine.memory(&kit.owner, &known.id).unwrap();
    assert_eq!((former.status, former.superseded_by), (Status::Superseded, Some(again.id)));
}

#[test]
fn a_search_ranks_by_the_profile_that_is_set() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let with = |kind, body: &str| MemoryRequest { kind: Some(kind), ..at(&cwd, body) };
    kit.engine.add(&kit.owner, &with(Kind::Spec, "The broker speaks AMQP.")).unwrap();
    kit.engine
        .add(&kit.owner, &with(Kind::Lesson, "Start the broker before the many tests that use it."))
        .unwrap();
    let scores = |profile| {
        let request = SearchRequest {
            reader: reader(&cwd, "a"),
            query: "broker".to_owned(),
            profile,
            ..Default::default()
        };
        let hits = kit.engine.search(&kit.owner, &request).unwrap().hits;
        hits.into_iter().map(|hit| (hit.memory.kind, hit.score)).collect::<Vec<_>>()
    };
    let (ours, theirs) = (scores(None), scores(Some(Profile::OpenOrc)));
    assert_eq!(ours, scores(Some(Profile::Default)));
    assert_ne!(ours, theirs);
    assert_eq!(theirs[0].0, Kind::Lesson, "a lesson weighs more than a specification");
    kit.engine.set_switches(&kit.owner, Switches { profile: Profile::OpenOrc, ..Switches::default() });
    assert_eq!(scores(None), theirs);
    assert_eq!(scores(Some(Profile::Default)), ours);
}

#[test]
fn task_shaped_lessons_are_found_and_retracted_and_foreign_advice_is_not() {
    let kit = Kit::new();
    let (shop, other) = (kit.project("shop"), kit.project("other"));
    let lesson = |cwd: &str, body: &str| {
        let request = MemoryRequest { kind: Some(Kind::Lesson), ..at(cwd, body) };
        kit.engine.add(&kit.owner, &request).unwrap().memory
    };
    let good = lesson(&shop, "Run vitest with --pool=forks, because worker threads crash the native addon.");
    let wrong = lesson(&shop, "Vitest is flaky here, so retry its pool thrice.");
    lesson(&other, "Vitest and its pool of forks are not used.");
    kit.engine.feedback(&kit.owner, &wrong.id, doze_engine::Verdict::Wrong, false).unwrap();
    let request = SearchRequest {
        reader: reader(&shop, "b"),
        query: "fix the vitest --pool=forks crash".to_owned(),
        profile: Some(Profile::OpenOrc),
        ..Default::default()
    };
    let hits = kit.engine.search(&kit.owner, &request).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| &hit.memory.id).collect::<Vec<_>>(), [&good.id]);
}

#[test]
fn a_busy_project_crowds_nobody_out() {
    let kit = Kit::new();
    let (busy, quiet) = (kit.project("busy"), kit.project("quiet"));
    for n in 0..60 {
        let body = format!("Staging port staging port of service{n}x is {}.", 4000 + n);
        let topic_key = Some(format!("service{n}x"));
        kit.engine.add(&kit.owner, &MemoryRequest { topic_key, ..at(&busy, &body) }).unwrap();
    }
    let body = "Somewhere in the handbook it says which port the old staging machine once used.";
    kit.engine.add(&kit.owner, &at(&quiet, body)).unwrap();
    assert_eq!(kit.found(&quiet, "staging port"), [body]);
}

#[test]
fn pages_go_on_beyond_five_hundred() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let mut all = BTreeSet::new();
    // The clock stands still: all are equally old, and the order of the pages holds all the same.
    for n in 0..503 {
        let topic = format!("topic-{n}");
        let body = format!("Fact number {n} about {topic}.");
        let request = MemoryRequest { topic_key: Some(topic), ..at(&cwd, &body) };
        all.insert(kit.engine.add(&kit.owner, &request).unwrap().memory.id);
    }
    let page = |limit, cursor| {
        let request = ListRequest { reader: reader(&cwd, "a"), limit, cursor, ..Default::default() };
        kit.engine.memories(&kit.owner, &request)
    };
    let first = page(500, None).unwrap();
    let rest = page(500, first.next.clone()).unwrap();
    assert_eq!((first.items.len(), rest.items.len(), rest.next), (500, 3, None));
    let seen: Vec<_> = first.items.into_iter().chain(rest.items).map(|memory| memory.id).collect();
    assert!(seen.is_sorted_by(|a, b| a > b), "ties fall to the younger id");
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), all);
    assert_eq!(page(501, None).unwrap_err().message, "limit is outside 1–500");
}

#[test]
fn while_memory_is_off_nothing_is_embedded_and_words_still_find() {
    let kit = Kit::with_model();
    let cwd = kit.project("shop");
    switched_off(&kit);
    kit.engine.add(&kit.owner, &by_person(&cwd, "The car needs new brakes before winter.")).unwrap();
    let search = |query: &str| {
        let request =
            SearchRequest { reader: reader(&cwd, "a"), query: query.to_owned(), ..Default::default() };
        let found = kit.engine.search(&kit.owner, &request).unwrap();
        (found.hits.len(), found.semantic)
    };
    assert_eq!(search("brakes"), (1, SemanticState::Off));
    assert_eq!(search("automobile maintenance"), (0, SemanticState::Off));
    let index = kit.engine.status(&kit.owner).unwrap().index;
    assert_eq!((index.vectors, index.model_state), (0, "unloaded"), "nobody loads the model");

    kit.engine.set_switches(&kit.owner, Switches::default());
    let until = Instant::now() + Duration::from_secs(120);
    // Without a word in common: only meaning finds it, as soon as it has a vector.
    while search("automobile maintenance").0 == 0 {
        assert!(Instant::now() < until, "{:?}", kit.engine.status(&kit.owner).unwrap().index);
        std::thread::yield_now();
    }
    // Off again: the model is gone, and nothing that comes gets a vector.
    switched_off(&kit);
    kit.engine.add(&kit.owner, &by_person(&cwd, "The kitchen is painted green.")).unwrap();
    assert_eq!(search("kitchen"), (1, SemanticState::Off), "the follower is through with it");
    while kit.engine.status(&kit.owner).unwrap().index.model_state != "unloaded" {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    let index = kit.engine.status(&kit.owner).unwrap().index;
    assert_eq!((index.vectors, index.model_reason.as_str()), (1, ""));
}

#[test]
fn open_items_are_those_of_the_last_five_runs() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.engine.add(&kit.owner, &at(&cwd, "The linter needs node 20.")).unwrap();
    for run in 0..6 {
        let events: Vec<Event> = vec![
            prompt(10 * run + 1, &format!("do part {run}")),
            answer(10 * run + 2, &format!("Done.\nRemaining: polish corner {run}\nTODO: paint wall {run}")),
        ];
        kit.commit(turn(&format!("s{run}"), "a", &cwd, events));
        kit.pass(jiff::SignedDuration::from_mins(1));
    }
    let brief = kit.brief(&cwd, "a");
    let open: Vec<&str> =
        brief.lines().filter_map(|line| line.strip_prefix("- Left open last time: ")).collect();
    assert_eq!(open.len(), 6, "{brief}");
    assert!(open[0].ends_with('5') && open[5].ends_with('3'), "the newest run first: {open:?}");
    for run in [0, 1, 2] {
        assert!(open.iter().all(|item| !item.ends_with(&run.to_string())), "{open:?}");
    }
}

#[test]
fn a_brief_says_who_said_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn(
        "s",
        "a",
        &cwd,
        vec![
            prompt(1, "Note: the staging API listens on port 5433."),
            answer(2, "I learned that the broker must be restarted after every schema change."),
        ],
    ));
    kit.engine.add(&kit.owner, &at(&cwd, "The linter needs node 20.")).unwrap();
    kit.engine.add(&kit.owner, &by_person(&cwd, "Use pnpm.")).unwrap();
    let brief = kit.brief(&cwd, "a");
    for (words, label) in
        [("5433", "said by the user"), ("node 20", "saved by an agent"), ("Use pnpm", "from the user")]
    {
        let line = brief.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{brief}"));
        assert!(line.contains(&format!(", {label})")), "{line}");
    }
    let of_agent = brief.lines().find(|line| line.contains("schema change"));
    assert!(of_agent.is_none_or(|line| line.contains("found in a session")), "{of_agent:?}");
}

#[test]
fn helpful_is_surer_and_younger_and_what_is_stale_is_gone_from_sight() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let memory = kit.engine.add(&kit.owner, &at(&cwd, "The linter needs node 20.")).unwrap().memory;
    kit.pass(jiff::SignedDuration::from_hours(24 * 40));
    let judge = |verdict| kit.engine.feedback(&kit.owner, &memory.id, verdict, false).unwrap();
    let helpful = judge(doze_engine::Verdict::Helpful);
    assert!((helpful.confidence - memory.confidence - 0.1).abs() < 1e-9);
    assert_eq!(helpful.last_confirmed_at, kit.engine_time());
    for _ in 0..9 {
        judge(doze_engine::Verdict::Helpful);
    }
    assert!((kit.engine.memory(&kit.owner, &memory.id).unwrap().confidence - 1.0).abs() < 1e-9);
    assert_eq!(judge(doze_engine::Verdict::Stale).status, Status::Stale);
    assert!(kit.found(&cwd, "linter").is_empty() && kit.brief(&cwd, "a").is_empty());
    // Its topic, and a retracted one's, is free again.
    let reader = Reader { cwd: Some(cwd.clone()), ..Default::default() };
    let with_topic = MemoryRequest {
        topic_key: Some("linter".to_owned()),
        reader,
        body: "Use the linter of the workspace.".to_owned(),
        ..Default::default()
    };
    let first = kit.engine.add(&kit.owner, &with_topic).unwrap().memory;
    kit.engine.feedback(&kit.owner, &first.id, doze_engine::Verdict::Wrong, false).unwrap();
    let second =
        kit.engine.add(&kit.owner, &MemoryRequest { body: "Lint by hand.".to_owned(), ..with_topic });
    let second = second.unwrap();
    assert_eq!((second.outcome, second.memory.id != first.id), (AddOutcome::Added, true));
}
