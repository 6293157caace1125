use std::collections::BTreeSet;

use doze_core::model::{Dream, DreamOp, DreamResult, Event, Face, Kind, SessionEnd, SessionOutcome, Status};
use doze_engine::{
    DreamRequest, DreamVerdict, EditRequest, ListRequest, Machine, MemoryRequest, Problem, Reader, Schedule,
    SearchRequest, StatusFilter, Switches,
};
use jiff::SignedDuration;

use crate::kit::{Kit, answer, long_session, prompt, reader, tool, turn};

fn by_hand() -> DreamRequest {
    DreamRequest { by_hand: true, ..Default::default() }
}

fn all(kit: &Kit) -> Vec<doze_core::model::Memory> {
    let request =
        ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
    kit.engine.memories(&kit.owner, &request).unwrap().items
}

#[test]
fn a_dream_learns_tells_why_and_the_second_changes_nothing() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    let dry = kit.engine.dream(&kit.owner, &DreamRequest { dry_run: true, ..by_hand() }).unwrap();
    assert!(dry.dry_run && !dry.changes.is_empty(), "{dry:?}");
    assert!(
        all(&kit).iter().all(|memory| memory.face == doze_core::model::Face::Office),
        "a dry run keeps nothing"
    );

    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!((dream.result, dream.sessions[0].outcome), (DreamResult::Done, SessionOutcome::Extracted));
    assert!(dream.changes.iter().all(|change| !change.because.is_empty() && !change.evidence.is_empty()));
    assert!(kit.brief(&cwd, "b").contains("pnpm"), "{}", kit.brief(&cwd, "b"));

    let before = all(&kit);
    let second = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!((second.result, second.changes.len()), (DreamResult::Nothing, 0));
    assert_eq!(all(&kit), before);
}

#[test]
fn undo_takes_back_all_that_nobody_changed_since_and_tells_the_rest() {
    let learnt = || {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
        let before = all(&kit);
        let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
        (kit, before, dream)
    };
    let (kit, before, dream) = learnt();
    let undone = kit.engine.undo_dream(&kit.owner, Some(&dream.id)).unwrap();
    assert!(!undone.restored.is_empty() && undone.left.is_empty(), "{undone:?}");
    assert_eq!(all(&kit), before);
    let again = kit.engine.undo_dream(&kit.owner, Some(&dream.id)).unwrap_err();
    assert!(again.message.contains("undone already"), "{}", again.message);

    // Shown and found helpful since: the dream's own work all the same.
    let (kit, before, dream) = learnt();
    let id = dream.changes[0].after.id.clone();
    kit.engine.feedback(&kit.owner, &id, doze_engine::Verdict::Helpful, false).unwrap();
    let undone = kit.engine.undo_dream(&kit.owner, None).unwrap();
    assert_eq!((undone.confirmed_since, undone.left), (vec![id], vec![]));
    assert_eq!(all(&kit), before);

    // An agent cannot lock anything away; taken up by a person it is theirs. The rest goes.
    let (kit, before, dream) = learnt();
    assert!(dream.changes.len() > 1, "{dream:?}");
    let id = dream.changes[0].after.id.clone();
    assert_eq!(kit.engine.pin(&kit.owner, &id, true, false).unwrap_err().problem, Problem::Refused);
    kit.engine.pin(&kit.owner, &id, true, true).unwrap();
    let undone = kit.engine.undo_dream(&kit.owner, None).unwrap();
    assert_eq!(undone.left.iter().map(|left| &left.id).collect::<Vec<_>>(), [&id]);
    assert!(undone.left[0].because.contains("pinned"), "{undone:?}");
    let kept: Vec<_> = all(&kit).into_iter().filter(|memory| !before.contains(memory)).collect();
    assert_eq!(kept.iter().map(|memory| &memory.id).collect::<Vec<_>>(), [&id]);
    let nothing = kit.engine.undo_dream(&kit.owner, None).unwrap();
    assert_eq!((nothing.restored.len(), nothing.left.len()), (0, 1));
    kit.engine.forget(&kit.owner, &doze_engine::Forget::Memory(id), true).unwrap();
    let rest = kit.engine.undo_dream(&kit.owner, None).unwrap();
    assert_eq!((rest.restored, rest.left), (vec![], vec![]));
    assert_eq!(all(&kit), before);
}

#[test]
fn undo_brings_no_forgotten_words_back() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    for change in &dream.changes {
        kit.engine.forget(&kit.owner, &doze_engine::Forget::Memory(change.after.id.clone()), true).unwrap();
    }
    let forgotten = all(&kit);
    kit.engine.undo_dream(&kit.owner, None).unwrap();
    assert_eq!(all(&kit), forgotten);
}

#[test]
fn what_a_person_wrote_survives_every_dream() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let request = MemoryRequest {
        body: "Use npm in this repository, never pnpm.".to_owned(),
        reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
        kind: Some(doze_core::model::Kind::Preference),
        by_person: true,
        ..Default::default()
    };
    let written = kit.engine.add(&kit.owner, &request).unwrap().memory;
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    kit.pass(SignedDuration::from_hours(24 * 900));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let kept = kit.engine.memory(&kit.owner, &written.id).unwrap();
    assert_eq!((kept.status, kept.body), (Status::Active, written.body));
}

#[test]
fn forgotten_words_do_not_come_back_in_a_dream() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let events = long_session("No, use pnpm instead of npm in this repository.");
    kit.commit(turn("s", "a", &cwd, events.clone()));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let learned: Vec<_> = all(&kit).into_iter().filter(|memory| memory.body.contains("pnpm")).collect();
    assert!(!learned.is_empty());
    for memory in learned {
        kit.engine.forget(&kit.owner, &doze_engine::Forget::Memory(memory.id), true).unwrap();
    }
    let repeated = events.into_iter().map(|mut event| {
        event.id = format!("again-{}", event.id).into();
        event
    });
    kit.commit(turn("s2", "a", &cwd, repeated.collect()));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let back: Vec<String> =
        all(&kit).into_iter().map(|memory| memory.body).filter(|body| body.contains("pnpm")).collect();
    assert!(back.is_empty(), "{back:?}");
}

#[test]
fn a_scheduled_dream_leaves_open_sessions_alone_and_says_why_it_waits() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let status = kit.engine.dream_status(&kit.owner).unwrap();
    assert!(status.why_not.unwrap().contains("just started"));
    let mut request = turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository."));
    kit.commit(request.clone());
    let scheduled = kit.engine.dream(&kit.owner, &DreamRequest::default()).unwrap();
    assert_eq!(scheduled.result, DreamResult::Nothing);
    assert!(scheduled.sessions.iter().any(|session| session.reason.contains("open")), "{scheduled:?}");
    request.end = SessionEnd::Session;
    request.commit_id = Some("end".to_owned());
    kit.commit(request);
    assert_eq!(kit.engine.dream_status(&kit.owner).unwrap().waiting, 1);
    let scheduled = kit.engine.dream(&kit.owner, &DreamRequest::default()).unwrap();
    assert_eq!(scheduled.result, DreamResult::Done);
    let brief = kit
        .engine
        .brief(&kit.owner, &doze_engine::BriefRequest { reader: reader(&cwd, "z"), ..Default::default() });
    assert!(brief.unwrap().text.contains("pnpm"));
}

#[test]
fn a_checkpoint_leaves_only_new_rounds_to_read() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let events = long_session("No, use pnpm instead of npm in this repository.");
    kit.commit(turn("s", "a", &cwd, events));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(kit.engine.dream_status(&kit.owner).unwrap().waiting, 0);
    kit.commit(turn("s", "a", &cwd, vec![crate::kit::answer(200, "One more step is in place.")]));
    let second = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let [session] = second.sessions.as_slice() else { panic!("{second:?}") };
    assert_eq!(
        (session.outcome, session.reason.as_str()),
        (SessionOutcome::Skipped, "it has 1 new round, 4 are needed")
    );

    // Told once, and again only when it grew.
    let third = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(third.sessions, []);
    kit.commit(turn("s", "a", &cwd, vec![crate::kit::answer(201, "And one more step after that.")]));
    let fourth = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(fourth.sessions[0].reason, "it has 2 new rounds, 4 are needed");
}

#[test]
fn what_was_left_alone_is_in_the_journal_until_it_is_forgotten() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let said = "No, use pnpm instead of npm in this repository.";
    kit.commit(turn("s", "a", &cwd, long_session(said)));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let learned = all(&kit)
        .into_iter()
        .find(|memory| memory.body.contains("pnpm") && memory.reinforce_count < 3)
        .unwrap();
    for memory in all(&kit).iter().filter(|memory| memory.body.contains("pnpm")) {
        kit.engine.feedback(&kit.owner, &memory.id, doze_engine::Verdict::Wrong, true).unwrap();
    }
    let again = long_session(said).into_iter().map(|mut event| {
        event.id = format!("again-{}", event.id).into();
        event.at = event.at.map(|at| at + SignedDuration::from_mins(200));
        event
    });
    kit.commit(turn("s2", "b", &cwd, again.collect()));
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let left = dream.left_alone.iter().find(|left| left.reason == "it was marked wrong");
    assert!(left.is_some_and(|left| left.title.contains("pnpm") && left.project.is_some()), "{dream:?}");
    assert_eq!(kit.engine.dream_record(&kit.owner, Some(&dream.id)).unwrap(), dream);

    kit.engine.forget(&kit.owner, &doze_engine::Forget::Memory(learned.id), true).unwrap();
    for dream in kit.engine.dream_log(&kit.owner, 9, None).unwrap().items {
        let told: Vec<&str> = dream
            .changes
            .iter()
            .map(|change| change.because.as_str())
            .chain(dream.left_alone.iter().map(|left| left.title.as_str()))
            .collect();
        assert!(!told.iter().any(|line| line.contains("pnpm")), "{told:?}");
    }
}

#[test]
fn what_a_person_took_back_stays_so_until_something_new_speaks_for_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let learned = all(&kit)
        .into_iter()
        .find(|memory| memory.face == Face::Project && memory.body.contains("pnpm"))
        .unwrap();
    // The same words a second time, as an agent's edit leaves them, and something that is due to be retired.
    let add = |body: &str, kind: Kind| {
        let request = MemoryRequest {
            body: body.to_owned(),
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            kind: Some(kind),
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap().memory.id
    };
    add("The tunnel to the warehouse drops at noon.", Kind::EnvQuirk);
    kit.pass(SignedDuration::from_hours(24 * 200));
    let twin = add("Blue kingfishers nest in the reeds.", learned.kind);
    let edit = EditRequest {
        title: Some(learned.title.clone()),
        body: Some(learned.body.clone()),
        ..Default::default()
    };
    kit.engine.edit(&kit.owner, &twin, &edit, false).unwrap();

    let before = all(&kit);
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let ops = |dream: &Dream| dream.changes.iter().map(|change| change.op).collect::<BTreeSet<_>>();
    assert!(ops(&dream).is_superset(&BTreeSet::from([DreamOp::Merge, DreamOp::Retire])), "{dream:?}");
    kit.pass(SignedDuration::from_mins(5));
    kit.engine.undo_dream(&kit.owner, None).unwrap();
    assert_eq!(all(&kit), before);
    for _ in 0..2 {
        kit.pass(SignedDuration::from_hours(30));
        let again = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
        assert_eq!((again.result, again.changes), (DreamResult::Nothing, vec![]));
        assert_eq!(all(&kit), before);
    }

    let said_again =
        long_session("No, use pnpm instead of npm in this repository.").into_iter().map(|event| Event {
            id: format!("again-{}", event.id).into(),
            at: event.at.map(|at| at + SignedDuration::from_hours(24 * 201)),
            ..event
        });
    kit.commit(turn("s2", "b", &cwd, said_again.collect()));
    let acted = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert!(ops(&acted).contains(&DreamOp::Merge) && !ops(&acted).contains(&DreamOp::Retire), "{acted:?}");
}

#[test]
fn the_log_of_dreams_has_pages_that_bring_each_once() {
    let kit = Kit::new();
    let log = |limit, cursor: Option<&str>| kit.engine.dream_log(&kit.owner, limit, cursor).unwrap();
    let mut dreamt = Vec::new();
    for _ in 0..5 {
        kit.pass(SignedDuration::from_mins(1));
        dreamt.insert(0, kit.engine.dream(&kit.owner, &by_hand()).unwrap().id);
    }
    let first = log(2, None);
    // What is dreamt while somebody reads moves nothing.
    kit.pass(SignedDuration::from_mins(1));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let (mut seen, mut cursor) = (first.items, first.next);
    while let Some(next) = cursor {
        let page = log(2, Some(&next));
        seen.extend(page.items);
        cursor = page.next;
    }
    assert_eq!(seen.into_iter().map(|dream| dream.id).collect::<Vec<_>>(), dreamt);
    for bad in ["", "2", "x"] {
        let error = kit.engine.dream_log(&kit.owner, 2, Some(bad)).unwrap_err();
        assert!(error.problem == Problem::Invalid && error.message.starts_with("cursor"), "{bad}");
    }
}

#[test]
fn a_dream_goes_by_the_end_or_the_beginning_of_its_id() {
    let kit = Kit::new();
    let id = kit.engine.dream(&kit.owner, &by_hand()).unwrap().id;
    let find = |given: &str| kit.engine.dream_id(&kit.owner, given);
    let text = id.as_str();
    for part in [text, &text[28..], &text[..8], &text[32..].to_uppercase()] {
        assert_eq!(find(part).unwrap(), id, "{part}");
    }
    assert_eq!(find("beef0bad").unwrap_err().problem, Problem::NotFound);
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let error = find(&text[..8]).unwrap_err();
    assert!(error.problem == Problem::Invalid && error.message.contains(text), "{}", error.message);
}

#[test]
fn the_status_says_when_and_why_in_every_way_of_waiting() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let set = |change: &dyn Fn(&mut Schedule)| {
        let mut switches = Switches::default();
        change(&mut switches.schedule);
        kit.engine.set_switches(&kit.owner, switches);
    };
    let status = || kit.engine.dream_status(&kit.owner).unwrap();
    let why_not = || status().why_not.unwrap_or_default();
    let due = |time: SignedDuration| Some(kit.engine_time() + time);
    let minutes = SignedDuration::from_mins;

    // It is noon. A schedule that is put in force has missed nothing yet.
    set(&|schedule| schedule.cron = Some("0 3 * * *".parse().unwrap()));
    assert_eq!(
        (status().next, why_not().as_str()),
        (due(minutes(15 * 60)), "the next sweep is in 15 h, when dream.cron says so")
    );
    assert_eq!(status().last_why, None);
    kit.pass(minutes(15 * 60 + 5));
    kit.clock.set_machine(Machine { on_battery: Some(true), load: None });
    assert!(why_not().contains("on battery"), "{}", why_not());
    kit.clock.set_machine(Machine { on_battery: Some(false), load: Some(9.0) });
    assert!(why_not().contains("machine is busy"), "{}", why_not());
    kit.clock.set_machine(Machine::default());
    let DreamVerdict::Run { because } = kit.engine.dream_verdict(&kit.owner, 0).unwrap() else { panic!() };
    kit.engine.dream(&kit.owner, &DreamRequest { because, ..Default::default() }).unwrap();
    assert_eq!(status().last_why.unwrap(), "it ran because dream.cron said so: no session has anything new");
    assert_eq!(status().next, due(minutes(23 * 60 + 55)));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert!(status().last_why.unwrap().starts_with("it ran because somebody asked for it: "));
    kit.engine.note_failed_dream(&kit.owner, kit.engine_time(), "the disk is full").unwrap();
    assert_eq!(status().last_why.unwrap(), "it broke off: the disk is full");

    set(&|schedule| schedule.idle = Some(minutes(20)));
    assert!(
        why_not().starts_with("the next sweep is in 3 h")
            || why_not().starts_with("the next sweep is in 4 h")
    );
    kit.pass(minutes(60));
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    assert_eq!(status().next, due(minutes(20)));
    kit.pass(minutes(19));
    assert_eq!(why_not(), "the next sweep is in 1 min");
    kit.engine.search(&kit.owner, &SearchRequest { query: "pnpm".to_owned(), ..Default::default() }).unwrap();
    kit.pass(minutes(19));
    assert_eq!(why_not(), "the next sweep is in 1 min", "who searches is at work");
    kit.pass(minutes(1));
    assert_eq!((status().next, status().why_not), (due(minutes(0)), None));
}

#[test]
fn what_the_days_cap_has_no_room_for_is_read_the_next_day_and_holds_nobody_up() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let tell = |session: &str, port: u32| {
        let teams = ["amber", "birch", "cedar", "delta", "ember"];
        let events = teams.iter().zip(0..).flat_map(|(team, at)| {
            let said = format!("The {team} service listens on port {port}.");
            [prompt(1, &said), answer(1, "That is noted, the next one please.")].map(|event| Event {
                id: format!("{session}-{at}-{}", event.kind).as_str().into(),
                at: Some(kit.engine_time()),
                ..event
            })
        });
        let events: Vec<Event> = events.collect();
        kit.commit(doze_engine::CommitRequest {
            end: SessionEnd::Session,
            ..turn(session, "a", &cwd, events)
        });
    };
    let ports = |port: u32| {
        let known = all(&kit).into_iter().filter(|memory| memory.status == Status::Active);
        known.filter(|memory| memory.face == Face::Project && memory.body.contains(&port.to_string())).count()
    };
    let dream = || kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    tell("first", 5000);
    dream();
    assert_eq!(ports(5000), 5);
    kit.pass(SignedDuration::from_hours(48));
    tell("second", 6000);
    let told = dream();
    assert_eq!((ports(5000), ports(6000)), (2, 3), "{told:?}");
    assert_eq!(kit.engine.dream_status(&kit.owner).unwrap().waiting, 1, "it is read tomorrow");
    // Today it is passed over, and others are read.
    tell("third", 6000);
    let told = dream();
    let outcome =
        |session: &str| told.sessions.iter().find(|told| told.session == session).map(|told| told.outcome);
    assert_eq!(
        (outcome("second"), outcome("third")),
        (Some(SessionOutcome::Skipped), Some(SessionOutcome::Extracted))
    );
    kit.pass(SignedDuration::from_hours(24));
    dream();
    assert_eq!((ports(5000), ports(6000)), (0, 5));
    assert!(dream().changes.is_empty());
}

#[test]
fn a_program_that_ran_is_missing_no_more() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let work = |first: i64, output: &str, failed: bool| -> Vec<Event> {
        let rounds = (0..5).flat_map(|round| {
            let id = first + 10 * round;
            [prompt(id, "go on"), answer(id + 1, &format!("Step {round} of part {first} is in place."))]
        });
        let mut events: Vec<Event> = rounds.collect();
        events.insert(2, tool(first + 5, "zztool lint", output, failed));
        events
    };
    let quirk = |kit: &Kit| {
        let found = all(kit).into_iter().find(|memory| memory.kind == Kind::EnvQuirk);
        found.map(|memory| (memory.title, memory.status))
    };
    let title = "`zztool` is not installed on this machine".to_owned();
    kit.commit(turn("s1", "a", &cwd, work(1, "bash: zztool: command not found", true)));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(quirk(&kit), Some((title.clone(), Status::Active)));
    kit.commit(turn("s2", "a", &cwd, work(101, "0 problems", false)));
    let dream = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(quirk(&kit), Some((title.clone(), Status::Stale)), "{dream:?}");
    assert!(dream.changes.iter().any(|change| change.because == "`zztool` ran in s2"), "{dream:?}");
    // It is gone once more.
    kit.commit(turn("s3", "a", &cwd, work(201, "bash: zztool: command not found", true)));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(quirk(&kit), Some((title, Status::Active)));
}

#[test]
fn an_agents_word_against_what_the_person_said_waits_for_a_person() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session("Never push to the main branch.")));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    let request = doze_engine::MemoryRequest {
        body: "Always push to the main branch.".to_owned(),
        kind: Some(doze_core::model::Kind::Convention),
        reader: reader(&cwd, "builder"),
        ..Default::default()
    };
    let added = kit.engine.add(&kit.owner, &request).unwrap();
    assert_eq!(added.outcome, doze_engine::AddOutcome::Proposed);
    assert!(kit.brief(&cwd, "a").contains("Never push to the main branch"));
}
