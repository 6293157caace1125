//! What begins anew while the former is still being read, and what may not be read at all.

use doze_core::model::{Event, Permission, SessionEnd, SessionKind, Status};
use doze_engine::{CommitRequest, DreamRequest, EditRequest, Forget, MemoryRequest, NextJob, Problem, Who};
use jiff::SignedDuration;

use crate::jobs::{NOTHING, held, meanwhile, run};
use crate::kit::{Kit, agent, answer, long_session, memory, prompt, reader, reply, turn};

fn by_command(kit: &Kit, jobs: Who, dreams: Who, command: Vec<String>) {
    kit.switches(|switches| {
        switches.extractors.jobs = jobs;
        switches.extractors.dreams = dreams;
        switches.extractors.command = command;
    });
}

fn dream(kit: &Kit) {
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
}

/// A session of a name, all of whose events are its own.
fn said(kit: &Kit, session: &str, word: &str, cwd: &str) -> CommitRequest {
    let events = long_session(&format!("Please look after the {word}."));
    let events = events.into_iter().map(|event| Event {
        id: format!("{word}-{}", event.id).as_str().into(),
        at: Some(kit.engine_time()),
        ..event
    });
    CommitRequest { end: SessionEnd::Session, ..turn(session, "a", cwd, events.collect()) }
}

#[test]
fn a_session_that_was_forgotten_and_begun_anew_while_it_was_read_is_read_as_the_new_one() {
    for by_dream in [false, true] {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        let (jobs, dreams) = if by_dream { (Who::Off, Who::Command) } else { (Who::Command, Who::Rules) };
        by_command(&kit, jobs, dreams, held(&kit, &reply(&[memory("", "Feed the otter", "It is hungry.")])));
        kit.commit(said(&kit, "s", "otter", &cwd));
        let ask = || {
            if by_dream {
                return dream(&kit);
            }
            let NextJob::Run(key) = kit.next() else { panic!("nothing to run") };
            kit.engine.run_job(&kit.owner, &key).unwrap();
        };
        meanwhile(&kit, ask, || {
            let forget = Forget::Session { session: "s".into(), memories: true };
            kit.engine.forget(&kit.owner, &forget, true).unwrap();
            // Its former reader goes by the old address, and is still at work.
            kit.pass(SignedDuration::from_secs(1));
            kit.commit(said(&kit, "s", "badger", &cwd));
            if !by_dream {
                assert!(matches!(kit.next(), NextJob::Wait(_)), "one reader a session");
            }
        });
        assert_eq!(kit.extracted(), [], "by dream: {by_dream}");
        let command = kit.replies(&reply(&[memory("", "Feed the badger", "It is hungry.")]));
        by_command(&kit, jobs, dreams, command);
        if by_dream {
            dream(&kit)
        } else {
            assert_eq!(kit.run_jobs(), 1)
        }
        let titles: Vec<String> = kit.extracted().into_iter().map(|memory| memory.title).collect();
        assert_eq!(titles, ["Feed the badger"], "by dream: {by_dream}");
    }
}

#[test]
fn nothing_is_learned_in_a_pause_also_by_whoever_was_asked_before_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    by_command(&kit, Who::Command, Who::Rules, held(&kit, &reply(&[memory("", "Feed the otter", "Now.")])));
    kit.commit(said(&kit, "s", "otter", &cwd));
    let ask = || {
        let NextJob::Run(key) = kit.next() else { panic!("nothing to run") };
        kit.engine.run_job(&kit.owner, &key).unwrap();
    };
    meanwhile(&kit, ask, || {
        kit.engine.pause(&kit.owner, Some(3_600)).unwrap();
    });
    assert_eq!((kit.extracted().len(), kit.state("s").0.as_str()), (0, "queued"));
    kit.pass(SignedDuration::from_hours(2));
    by_command(&kit, Who::Command, Who::Rules, kit.replies(&reply(&[memory("", "Feed the otter", "Now.")])));
    assert_eq!((kit.run_jobs(), kit.extracted().len()), (1, 1));
}

#[test]
fn what_was_said_in_a_discussion_stays_unread_when_the_session_becomes_work() {
    for by_dream in [false, true] {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        let (jobs, dreams) = if by_dream { (Who::Off, Who::Command) } else { (Who::Command, Who::Rules) };
        by_command(&kit, jobs, dreams, kit.replies(NOTHING));
        let talk = CommitRequest { kind: Some(SessionKind::Discussion), ..said(&kit, "s", "otter", &cwd) };
        kit.commit(talk);
        kit.commit(said(&kit, "s", "gopher", &cwd));
        kit.commit(CommitRequest { kind: Some(SessionKind::Interactive), ..said(&kit, "s", "badger", &cwd) });
        if by_dream {
            dream(&kit)
        } else {
            assert_eq!(kit.run_jobs(), 1)
        }
        let asked = kit.asked();
        assert!(asked.contains("badger") && !asked.contains("otter") && !asked.contains("gopher"), "{asked}");
    }
}

#[test]
fn a_question_that_would_pass_the_budget_waits_for_the_next_day() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let command = kit.replies(NOTHING);
    by_command(&kit, Who::Command, Who::Rules, command.clone());
    kit.commit(run("s", &cwd, 1));
    assert_eq!(kit.run_jobs(), 1);
    let spent = kit.engine.extraction(&kit.owner).unwrap().usage.tokens;
    let with_limit = |limit: u64| {
        kit.switches(|switches| {
            switches.extractors.jobs = Who::Command;
            switches.extractors.command = command.clone();
            switches.extractors.tokens_per_day = limit;
        });
    };
    with_limit(spent + 2_060);
    kit.commit(run("t", &cwd, 30));
    assert_eq!(kit.run_jobs(), 1, "it is taken once and put back");
    assert_eq!(kit.state("t").0, "queued");
    assert_eq!(kit.engine.extraction(&kit.owner).unwrap().usage.tokens, spent);
    kit.pass(SignedDuration::from_hours(24));
    assert_eq!((kit.run_jobs(), kit.state("t").0.as_str()), (1, "empty"));

    // What no day's budget allows fails aloud.
    with_limit(100);
    kit.pass(SignedDuration::from_hours(24));
    kit.commit(run("u", &cwd, 60));
    kit.run_jobs();
    let (state, reason) = kit.state("u");
    assert!(state == "failed" && reason.contains("extractor.tokens_per_day"), "{state}: {reason}");
}

#[test]
fn a_person_reviews_what_they_were_shown_and_their_no_holds() {
    let kit = Kit::new();
    let request = MemoryRequest {
        body: "Use pnpm for the installs of this repository.".to_owned(),
        reader: reader(&kit.project("shop"), "a"),
        agent: Some(agent("a")),
        propose: true,
        ..Default::default()
    };
    let proposed = kit.engine.add(&kit.owner, &request).unwrap().memory;
    assert_eq!(proposed.status, Status::Proposed);
    let other = EditRequest { body: Some("Push straight to main.".into()), ..Default::default() };
    let refused = kit.engine.edit(&kit.owner, &proposed.id, &other, false).unwrap_err();
    assert_eq!(refused.problem, Problem::Refused);
    kit.engine.review(&kit.owner, &proposed.id, false, true).unwrap();
    let refused = kit.engine.reinstate(&kit.owner, &proposed.id, false).unwrap_err();
    assert_eq!(refused.problem, Problem::Refused);
    kit.engine.reinstate(&kit.owner, &proposed.id, true).unwrap();
}

#[test]
fn a_session_that_goes_on_keeps_its_mode_and_an_unknown_program_has_the_most_careful_one() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.engine.project_of(&kit.owner, &cwd).unwrap();
    let tell = |harness: &str, session: &str, mode: &str| {
        kit.engine.note_permission(&kit.owner, &reader(&cwd, "a"), harness, session, mode).unwrap();
    };
    let mode = |harness: &str| kit.engine.permission(&kit.owner, &reader(&cwd, "a"), harness).unwrap();
    tell("test", "bold", "bypassPermissions");
    kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("calm", "a", &cwd, vec![prompt(1, "hi")]) });
    kit.pass(SignedDuration::from_secs(1));
    tell("test", "calm", "plan");
    kit.pass(SignedDuration::from_secs(1));
    kit.engine.append(&kit.owner, turn("calm", "a", &cwd, vec![answer(2, "It goes on.")])).unwrap();
    assert_eq!(mode("test"), Some(Permission::Plan));
    tell("codex", "other", "acceptEdits");
    assert_eq!((mode("codex"), mode("")), (Some(Permission::Accept), Some(Permission::Plan)));
}
