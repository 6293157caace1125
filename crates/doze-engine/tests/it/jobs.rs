//! Run-end jobs and dreams that ask somebody, with a script in the place of a model.

use std::sync::mpsc::channel;

use doze_core::model::{
    Memory, SessionEnd, SessionKind, SessionOutcome, Status, TaskRef, Verification, WorkStatus,
};
use doze_engine::{
    CommitRequest, DreamRequest, Extractors, Forget, ImportRequest, ListRequest, MemoryRequest, NextJob,
    Problem, SessionName, StatusFilter, Who, WorkRequest,
};
use jiff::SignedDuration;

use crate::kit::{Kit, agent, answer, long_session, memory, prompt, reader, reply, tool, turn};

pub(crate) const NOTHING: &str =
    r#"{"summary":{"request":"r","workDone":"w","outcome":"o","openItems":[]},"memories":[]}"#;

impl Kit {
    pub(crate) fn replies(&self, reply: &str) -> Vec<String> {
        let file = self.path("reply.json");
        std::fs::write(&file, reply).unwrap();
        self.script("replies.sh", &format!("cat {}", file.display()))
    }

    pub(crate) fn jobs_by(&self, command: Vec<String>) {
        self.switches(|switches| {
            switches.extractors = Extractors { jobs: Who::Command, command, ..switches.extractors.clone() };
        });
    }

    pub(crate) fn next(&self) -> NextJob {
        self.engine.next_job(&self.owner).unwrap()
    }

    /// Runs what may run now, and answers how many jobs that were.
    pub(crate) fn run_jobs(&self) -> usize {
        let mut count = 0;
        while let NextJob::Run(key) = self.next() {
            self.engine.run_job(&self.owner, &key).unwrap();
            count += 1;
        }
        count
    }

    pub(crate) fn state(&self, session: &str) -> (String, String) {
        let session = self.engine.session(&self.owner, session).unwrap();
        let extraction = self.engine.extractions_of(&self.owner, &[session]).unwrap().remove(0);
        (extraction.state, extraction.reason)
    }

    pub(crate) fn asked(&self) -> String {
        std::fs::read_to_string(self.path("asked")).unwrap_or_default()
    }

    /// What the last digest says that the person asked.
    fn user_asked(&self) -> String {
        let asked = self.asked();
        let (_, digest) = asked.rsplit_once("## User asked\n").unwrap();
        digest.split("\n\n## ").next().unwrap().to_owned()
    }

    pub(crate) fn extracted(&self) -> Vec<Memory> {
        let request =
            ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
        let all = self.engine.memories(&self.owner, &request).unwrap().items;
        all.into_iter().filter(|memory| memory.verification == Verification::Extraction).collect()
    }
}

pub(crate) fn run(session: &str, cwd: &str, first: i64) -> CommitRequest {
    let events = vec![
        prompt(first, "The suite hangs, please fix it"),
        tool(first + 1, "vitest --pool=threads", "timeout in worker", true),
        answer(first + 2, "I switched the pool to forks. Still to do: bump vitest."),
    ];
    CommitRequest { end: SessionEnd::Session, ..turn(session, "claude-code", cwd, events) }
}

#[test]
fn a_run_is_read_when_it_ends_and_only_once() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(&reply(&[memory("test/pool", "Use the forks pool", "Threads hang on sqlite.")])));
    let committed = kit.commit(run("s", &cwd, 1));
    assert_eq!((committed.extraction.as_str(), kit.state("s").0.as_str()), ("queued", "queued"));
    assert_eq!(kit.run_jobs(), 1);
    assert_eq!(kit.state("s"), ("done".to_owned(), String::new()));

    let asked = kit.asked();
    assert!(asked.contains("## User asked\nThe suite hangs, please fix it"), "{asked}");
    assert!(asked.contains("FAILED Bash: timeout in worker") && !asked.contains("--pool=threads"), "{asked}");
    let [memory] = kit.extracted().try_into().unwrap();
    assert_eq!(
        (memory.title.as_str(), memory.body.as_str()),
        ("Use the forks pool", "Threads hang on sqlite.")
    );
    assert_eq!((memory.confidence, memory.files), (0.7, vec!["src/pool.ts".to_owned()]));
    assert!(!memory.source.events.is_empty() && memory.source.session.as_deref() == Some("s"));
    let summary = kit.engine.session(&kit.owner, "s").unwrap().summary.unwrap();
    assert_eq!((summary.request.as_str(), summary.outcome.as_str()), ("Fix the pool", "green"));
    assert!(kit.brief(&cwd, "claude-code").contains("Left open last time: bump vitest"));

    // Nothing new, nothing to read; the same commit again neither.
    kit.commit(run("s", &cwd, 1));
    let again = CommitRequest { commit_id: Some("again".into()), ..run("s", &cwd, 1) };
    assert_eq!(kit.commit(again).extraction, "skipped: nothing is new");
    assert_eq!((kit.run_jobs(), kit.extracted().len()), (0, 1));
}

#[test]
fn a_conversation_ends_after_ten_silent_minutes_and_an_assignment_after_every_turn() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(NOTHING));
    let talk = |n| CommitRequest { end: SessionEnd::Turn, ..run("talk", &cwd, n) };
    kit.commit(talk(1));
    assert!(matches!(kit.next(), NextJob::Wait(Some(_))));
    kit.pass(SignedDuration::from_mins(9));
    kit.commit(talk(10));
    kit.pass(SignedDuration::from_mins(9));
    assert_eq!(kit.run_jobs(), 0, "it said something nine minutes ago");
    kit.pass(SignedDuration::from_mins(2));
    assert_eq!(kit.run_jobs(), 1);
    assert_eq!(kit.user_asked().matches("The suite hangs").count(), 2, "both turns in one digest");

    let assigned = CommitRequest { kind: Some(SessionKind::Assignment), ..talk(30) };
    let assigned = CommitRequest { session: "task".into(), ..assigned };
    assert_eq!(kit.commit(assigned).extraction, "queued");
    assert_eq!(kit.run_jobs(), 1);

    for (session, kind, end) in [
        ("discussion", Some(SessionKind::Discussion), SessionEnd::Session),
        ("helper", Some(SessionKind::Subagent), SessionEnd::Session),
        ("quits", None, SessionEnd::Quit),
    ] {
        let commit = CommitRequest { session: session.into(), kind, end, ..run(session, &cwd, 50) };
        assert!(kit.commit(commit).extraction.starts_with("skipped: "), "{session}");
    }
    assert_eq!(kit.run_jobs(), 0);
}

#[test]
fn a_job_that_waited_while_extraction_was_off_is_skipped_even_if_it_is_back_on() {
    for memory_off in [false, true] {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        let command = kit.replies(&reply(&[memory("", "Use the forks pool", "Threads hang on sqlite.")]));
        kit.jobs_by(command.clone());
        kit.commit(run("s", &cwd, 1));
        kit.switches(|switches| {
            switches.memory_enabled = !memory_off;
            switches.extractors.jobs = if memory_off { Who::Command } else { Who::Off };
        });
        kit.jobs_by(command);
        // What comes after the switch is read, and what came before is not read with it.
        let later = vec![prompt(20, "Now the linter, please"), answer(21, "Done.")];
        kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "claude-code", &cwd, later) });
        kit.commit(run("other", &cwd, 40));
        kit.switches(|switches| switches.extractors.jobs = Who::Off);
        assert_eq!(kit.run_jobs(), 0);
        let (state, reason) = kit.state("other");
        assert_eq!(
            (state.as_str(), reason.as_str()),
            ("skipped", "extraction was switched off while it waited")
        );

        let kit = Kit::new();
        let cwd = kit.project("shop");
        let command = kit.replies(NOTHING);
        kit.jobs_by(command.clone());
        kit.commit(run("s", &cwd, 1));
        kit.switches(|switches| switches.extractors.jobs = Who::Off);
        kit.jobs_by(command);
        let later = vec![prompt(20, "Now the linter, please"), answer(21, "Done.")];
        kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "claude-code", &cwd, later) });
        assert_eq!(kit.run_jobs(), 1);
        assert!(kit.user_asked().starts_with("Now the linter"), "{}", kit.asked());
    }
}

#[test]
fn a_conversation_without_a_turn_is_not_read_a_task_is_and_an_import_asks_nobody() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(NOTHING));
    let silent = |session: &str| CommitRequest {
        end: SessionEnd::Session,
        ..turn(session, "claude-code", &cwd, vec![prompt(1, &format!("Is anybody there in {session}?"))])
    };
    kit.commit(silent("s"));
    kit.run_jobs();
    assert_eq!(kit.state("s"), ("skipped".into(), "no turn of it was finished".into()));
    let task =
        TaskRef { id: "t1".into(), title: "Look".into(), spec: "Everywhere".into(), prompt: String::new() };
    kit.commit(CommitRequest { task: Some(task), ..silent("t") });
    kit.run_jobs();
    assert_eq!(kit.state("t").0, "empty");
    assert!(kit.asked().contains("Project task: Look\nSpec: Everywhere\n"), "{}", kit.asked());

    let before = kit.asked();
    let past = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/testdata/sessions/codex/09-fnox.jsonl");
    let request = ImportRequest { path: past.to_owned(), ..Default::default() };
    assert_eq!(kit.engine.import(&kit.owner, &request).unwrap().added, 1);
    assert_eq!((kit.run_jobs(), kit.asked()), (0, before));
}

#[test]
fn whoever_is_asked_is_stopped_when_extraction_is_switched_off() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let begun = kit.path("begun");
    // It waits for a word that never comes; whoever opens the pipe knows that it runs.
    rustix::fs::mkfifoat(rustix::fs::CWD, &begun, 0o600.into()).unwrap();
    kit.jobs_by(kit.script("waits.sh", &format!("echo begun > {}; exec tail -f /dev/null", begun.display())));
    kit.commit(run("s", &cwd, 1));
    let NextJob::Run(key) = kit.next() else { panic!("nothing to run") };
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    let (done, ended) = channel();
    let worker = std::thread::spawn(move || done.send(engine.run_job(&owner, &key)).unwrap());
    assert_eq!(std::fs::read_to_string(&begun).unwrap().trim(), "begun");
    assert_eq!(kit.state("s").0, "running");
    kit.switches(|switches| switches.memory_enabled = false);
    ended.recv().unwrap().unwrap();
    worker.join().unwrap();
    assert_eq!(kit.state("s"), ("skipped".into(), "extraction was switched off while it ran".into()));
}

#[test]
fn what_is_still_going_on_is_not_read_yet() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(NOTHING));
    let talk = |n| CommitRequest { end: SessionEnd::Turn, ..run("talk", &cwd, n) };
    let work = |status| WorkRequest {
        agent: Some(agent("claude-code")),
        reader: reader(&cwd, "claude-code"),
        session: Some("talk".into()),
        status: Some(status),
        ..WorkRequest::default()
    };
    kit.commit(talk(1));
    // The next turn takes half an hour; its tools are told of as they are used.
    for _ in 0..4 {
        kit.pass(SignedDuration::from_mins(8));
        kit.engine.set_work(&kit.owner, &work(WorkStatus::Running)).unwrap();
        assert_eq!(kit.run_jobs(), 0);
    }
    kit.pass(SignedDuration::from_mins(11));
    assert_eq!(kit.run_jobs(), 1);
}

#[test]
fn what_the_end_of_the_application_cuts_off_is_not_read_nor_what_waited() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(NOTHING));
    kit.commit(CommitRequest { end: SessionEnd::Turn, ..run("talk", &cwd, 1) });
    assert_eq!(kit.state("talk").0, "queued");
    kit.commit(CommitRequest { end: SessionEnd::Quit, ..run("talk", &cwd, 10) });
    kit.pass(SignedDuration::from_mins(11));
    assert_eq!((kit.run_jobs(), kit.asked().as_str()), (0, ""));
    assert_eq!(kit.state("talk"), ("skipped".into(), "the application quits".into()));
    // It is taken up again, and ends as it should.
    kit.commit(run("talk", &cwd, 20));
    assert_eq!(kit.run_jobs(), 1);
}

#[test]
fn a_discussion_and_an_ignored_project_are_never_read_whoever_asks() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(NOTHING));
    let kind = Some(SessionKind::Discussion);
    kit.commit(CommitRequest { kind, ..run("talk", &cwd, 1) });
    let answer = kit.engine.extract_again(&kit.owner, "talk").unwrap();
    assert_eq!(answer.extraction, "skipped: discussion sessions are not learned from");
    kit.commit(run("s", &cwd, 20));
    let ignored = |on| kit.engine.ignore_project(&kit.owner, &cwd, on).unwrap();
    ignored(true);
    assert_eq!((kit.run_jobs(), kit.asked().as_str()), (1, ""));
    assert_eq!(kit.state("s"), ("skipped".into(), "the project is ignored".into()));
    assert_eq!(
        kit.engine.extract_again(&kit.owner, "s").unwrap().extraction,
        "skipped: the project is ignored"
    );
    ignored(false);
    assert_eq!(kit.engine.extract_again(&kit.owner, "s").unwrap().extraction, "queued");
}

/// A program that waits for a word through `go` before it replies, and says through `begun` that it runs.
pub(crate) fn held(kit: &Kit, reply: &str) -> Vec<String> {
    let (begun, go, file) = (kit.path("begun"), kit.path("go"), kit.path("held.json"));
    for pipe in [&begun, &go] {
        rustix::fs::mkfifoat(rustix::fs::CWD, pipe, 0o600.into()).unwrap();
    }
    std::fs::write(&file, reply).unwrap();
    let body =
        format!("echo begun > {}; cat {} > /dev/null; cat {}", begun.display(), go.display(), file.display());
    kit.script("held.sh", &body)
}

/// Does something while somebody is asked, and lets them reply then.
pub(crate) fn meanwhile(kit: &Kit, ask: impl FnOnce() + Send, act: impl FnOnce()) {
    std::thread::scope(|scope| {
        let asking = scope.spawn(ask);
        assert_eq!(std::fs::read_to_string(kit.path("begun")).unwrap().trim(), "begun");
        act();
        std::fs::write(kit.path("go"), "go").unwrap();
        asking.join().unwrap();
    });
}

#[test]
fn what_is_forgotten_or_read_by_another_while_somebody_is_asked_is_not_kept() {
    let found = reply(&[memory("", "Use the forks pool", "Threads hang on sqlite.")]);
    let forgets: [(&str, Forget); 2] =
        [("session", Forget::Session { session: "s".into(), memories: true }), ("all", Forget::All)];
    for (what, forget) in forgets {
        for by_dream in [false, true] {
            let kit = Kit::new();
            let cwd = kit.project("shop");
            let command = held(&kit, &found);
            kit.switches(|switches| {
                switches.extractors.jobs = if by_dream { Who::Off } else { Who::Command };
                switches.extractors.dreams = if by_dream { Who::Command } else { Who::Rules };
                switches.extractors.command = command;
            });
            kit.commit(CommitRequest {
                end: SessionEnd::Session,
                ..turn("s", "a", &cwd, long_session("Hi"))
            });
            let ask = || {
                if by_dream {
                    let by_hand = DreamRequest { by_hand: true, ..Default::default() };
                    kit.engine.dream(&kit.owner, &by_hand).unwrap();
                } else {
                    let NextJob::Run(key) = kit.next() else { panic!("nothing to run") };
                    kit.engine.run_job(&kit.owner, &key).unwrap();
                }
            };
            meanwhile(&kit, ask, || {
                kit.engine.forget(&kit.owner, &forget, true).unwrap();
            });
            assert_eq!(kit.extracted().len(), 0, "{what} {by_dream}");
        }
    }
}

#[test]
fn what_a_run_taught_goes_where_its_project_went_meanwhile() {
    for by_dream in [false, true] {
        let kit = Kit::new();
        let (shop, store) = (kit.project("shop"), kit.project("store"));
        let command = held(&kit, &reply(&[memory("", "Use the forks pool", "Threads hang on sqlite.")]));
        kit.switches(|switches| {
            switches.extractors.jobs = if by_dream { Who::Off } else { Who::Command };
            switches.extractors.dreams = if by_dream { Who::Command } else { Who::Rules };
            switches.extractors.command = command;
        });
        kit.commit(turn("other", "a", &store, vec![prompt(1, "Hello")]));
        kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "a", &shop, long_session("Hi")) });
        let ask = || {
            if by_dream {
                let by_hand = DreamRequest { by_hand: true, ..Default::default() };
                kit.engine.dream(&kit.owner, &by_hand).unwrap();
            } else {
                let NextJob::Run(key) = kit.next() else { panic!("nothing to run") };
                kit.engine.run_job(&kit.owner, &key).unwrap();
            }
        };
        meanwhile(&kit, ask, || {
            kit.engine.merge_projects(&kit.owner, &shop, &store).unwrap();
        });
        assert!(kit.brief(&store, "a").contains("forks pool"), "{by_dream}");
    }
}

#[test]
fn a_job_and_a_dream_side_by_side_read_a_range_once() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let command = held(&kit, &reply(&[memory("", "Use the forks pool", "Threads hang on sqlite.")]));
    kit.switches(|switches| {
        switches.extractors.jobs = Who::Command;
        switches.extractors.dreams = Who::Command;
        switches.extractors.command = command;
    });
    kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "a", &cwd, long_session("Hi")) });
    let ask = || {
        let by_hand = DreamRequest { by_hand: true, ..Default::default() };
        let dream = kit.engine.dream(&kit.owner, &by_hand).unwrap();
        assert_eq!(dream.changes.len(), 0, "{dream:?}");
    };
    meanwhile(&kit, ask, || {
        // More was said since, and the job reads all of it.
        let more = vec![prompt(900, "And the linter?"), answer(901, "It is fine.")];
        let command = kit.replies(&reply(&[memory("", "Use the forks pool", "Threads hang on sqlite.")]));
        kit.switches(|switches| {
            switches.extractors.jobs = Who::Command;
            switches.extractors.dreams = Who::Command;
            switches.extractors.command = command;
        });
        kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "a", &cwd, more) });
        assert_eq!(kit.run_jobs(), 1);
    });
    assert_eq!(kit.extracted().len(), 1);
    let again = CommitRequest { commit_id: Some("x".into()), ..run("s", &cwd, 900) };
    let count = || {
        let own = SessionName { agent: Some("a".into()), ..SessionName::from("s") };
        kit.engine.session(&kit.owner, own).unwrap().event_count
    };
    let events = count();
    kit.commit(CommitRequest { events: Vec::new(), ..again });
    assert_eq!(count(), events);
    assert_eq!(kit.run_jobs(), 0, "the dream did not put the ledger back");
}

#[test]
fn a_failure_is_told_and_not_tried_again_unless_asked() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.script("fails.sh", "echo '{\"memories\":[]}'; echo no credit >&2; exit 3"));
    kit.commit(run("s", &cwd, 1));
    assert_eq!(kit.run_jobs(), 1);
    let (state, reason) = kit.state("s");
    assert!(state == "failed" && reason.contains("no credit") && reason.contains('3'), "{reason}");
    assert_eq!((kit.run_jobs(), kit.engine.queue(&kit.owner).unwrap().failed), (0, 1));

    kit.jobs_by(kit.replies(&reply(&[memory("", "Use the forks pool", "Threads hang on sqlite.")])));
    assert_eq!(kit.engine.extract_again(&kit.owner, "s").unwrap().extraction, "queued");
    assert_eq!((kit.run_jobs(), kit.state("s").0.as_str(), kit.extracted().len()), (1, "done", 1));
    let unknown = kit.engine.extract_again(&kit.owner, "nobody").unwrap_err();
    assert_eq!(unknown.problem, Problem::NotFound);
}

#[test]
fn nothing_to_save_and_what_cannot_be_read_are_told_apart() {
    for (said, state, reason) in [
        ("I could not find anything, sorry!", "skipped", "the reply could not be read"),
        ("", "skipped", "the reply could not be read"),
        ("[]", "empty", "nothing worth keeping was found"),
        (NOTHING, "empty", "a summary was kept, and nothing else was worth keeping"),
    ] {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        kit.jobs_by(kit.replies(said));
        kit.commit(run("s", &cwd, 1));
        assert_eq!(kit.run_jobs(), 1);
        assert_eq!(kit.state("s"), (state.to_owned(), reason.to_owned()), "{said}");
    }
}

#[test]
fn a_topic_is_replaced_and_one_the_person_wrote_is_left_alone() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let kept = MemoryRequest {
        title: Some("Deploy on Fridays only".into()),
        body: "We deploy on Friday mornings.".into(),
        topic_key: Some("deploy/day".into()),
        reader: reader(&cwd, "x"),
        by_person: true,
        ..Default::default()
    };
    kit.engine.add(&kit.owner, &kept).unwrap();
    let first = memory("test/pool", "Use the forks pool", "Threads hang on sqlite.");
    let theirs = memory("deploy/day", "Deploy on Mondays", "The team deploys each Monday at noon.");
    kit.jobs_by(kit.replies(&reply(&[first, theirs])));
    kit.commit(run("one", &cwd, 1));
    kit.run_jobs();
    let [before] = kit.extracted().try_into().unwrap();

    let second = memory("test/pool", "Use the vmThreads pool", "Forks leak file handles on macOS runners.");
    kit.jobs_by(kit.replies(&reply(&[second])));
    kit.commit(run("two", &cwd, 30));
    kit.run_jobs();
    let active: Vec<Memory> =
        kit.extracted().into_iter().filter(|memory| memory.status == Status::Active).collect();
    let [after] = active.try_into().unwrap();
    assert_eq!((after.id, after.title.as_str()), (before.id, "Use the vmThreads pool"));
    assert!((after.confidence - (before.confidence + 0.1)).abs() < 1e-9);
    assert_eq!((after.evidence_count, kit.extracted().len()), (before.evidence_count + 1, 2));
    let found = kit.found(&cwd, "deploy");
    assert!(found.iter().any(|body| body == "We deploy on Friday mornings."), "{found:?}");
    assert!(!found.iter().any(|body| body.contains("Monday")), "{found:?}");
}

#[test]
fn the_budget_of_a_day_is_a_hard_stop_and_what_waits_goes_on_the_next_day() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let command = kit.replies(NOTHING);
    kit.switches(|switches| {
        switches.extractors.jobs = Who::Command;
        switches.extractors.command = command;
        switches.extractors.calls_per_day = 1;
    });
    kit.commit(run("one", &cwd, 1));
    kit.commit(run("two", &cwd, 30));
    assert_eq!(kit.run_jobs(), 1);
    let NextJob::Wait(Some(until)) = kit.next() else { panic!("the budget is spent") };
    assert!(until > kit.engine_time());
    let status = kit.engine.extraction(&kit.owner).unwrap();
    assert_eq!((status.usage.calls, status.calls), (1, Some(1)));
    assert!(status.usage.tokens > 100, "{status:?}");
    assert_eq!(kit.engine.queue(&kit.owner).unwrap().pending, 1);
    kit.pass(SignedDuration::from_hours(24));
    assert_eq!(kit.run_jobs(), 1);
}

#[test]
fn a_job_survives_the_process_but_not_three_of_them() {
    let mut kit = Kit::new();
    let cwd = kit.project("shop");
    let command = kit.replies(NOTHING);
    kit.jobs_by(command.clone());
    kit.commit(run("s", &cwd, 1));
    for _ in 0..3 {
        assert!(matches!(kit.next(), NextJob::Run(_)));
        assert!(matches!(kit.next(), NextJob::Wait(None)), "it is taken");
        kit.reopen();
        // Extraction is chosen before the workers start, as the process does it.
        kit.jobs_by(command.clone());
        kit.engine.recover_jobs(&kit.owner).unwrap();
    }
    assert_eq!(kit.state("s"), ("failed".into(), "it was cut off 3 times".into()));
    assert_eq!(kit.run_jobs(), 0);
}

#[test]
fn a_job_whose_end_could_not_be_recorded_is_run_again_without_a_restart() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    kit.jobs_by(kit.replies(NOTHING));
    kit.commit(run("s", &cwd, 1));
    let NextJob::Run(key) = kit.next() else { panic!("nothing waits") };
    // Whatever the worker wants to record fails, also that it failed.
    let again = meddler.clone();
    meddler.at_now(move || {
        again.at_now(|| panic!("the disk is full"));
        panic!("the disk is full")
    });
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| kit.engine.run_job(&kit.owner, &key)));
    assert!(ran.is_err() && meddler.is_done());
    assert_eq!(kit.state("s").0, "running");
    assert_eq!(kit.run_jobs(), 1);
    assert_eq!(kit.state("s").0, "empty");
}

#[test]
fn what_is_forgotten_or_secret_is_never_kept() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    kit.jobs_by(kit.replies(&reply(&[memory("", "Log in", &format!("The token is {secret}, keep it."))])));
    kit.commit(run("s", &cwd, 1));
    kit.run_jobs();
    let [kept] = kit.extracted().try_into().unwrap();
    assert!(kept.body.contains("[redacted:") && !kept.body.contains(&secret), "{}", kept.body);
    kit.engine.forget(&kit.owner, &Forget::Memory(kept.id), true).unwrap();
    kit.commit(run("t", &cwd, 30));
    kit.run_jobs();
    assert_eq!((kit.extracted(), kit.state("t").0.as_str()), (vec![], "empty"));

    // A session that is forgotten takes its job along.
    kit.commit(run("u", &cwd, 60));
    kit.engine.forget(&kit.owner, &Forget::Session { session: "u".into(), memories: false }, true).unwrap();
    assert_eq!(kit.run_jobs(), 0);
}

#[test]
fn one_range_is_read_once_by_rules_whether_a_job_or_a_dream_comes_first() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.switches(|switches| switches.extractors.jobs = Who::Rules);
    let rule = long_session("No, use pnpm instead of npm in this repository.");
    kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "a", &cwd, rule) });
    assert_eq!((kit.run_jobs(), kit.state("s").0.as_str()), (1, "done"));
    assert!(kit.brief(&cwd, "b").contains("pnpm"));
    let dream = kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    assert_eq!(dream.sessions.len(), 0, "{dream:?}");
}

#[test]
fn a_dream_asks_the_chosen_extractor_retries_a_failure_and_passes_over_what_cannot_be_read() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let dreams_by = |command: Vec<String>| {
        kit.switches(|switches| {
            switches.extractors.dreams = Who::Command;
            switches.extractors.command = command;
        });
    };
    let dream = || {
        let dream =
            kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
        let told: Vec<_> = dream.sessions.iter().map(|told| (told.outcome, told.reason.clone())).collect();
        (told, dream.changes.len())
    };
    let commit = |session: &str| {
        let events = long_session("Please migrate the orders table to the new schema.");
        let events = events.into_iter().map(|event| doze_core::model::Event {
            id: format!("{session}-{}", event.id).as_str().into(),
            ..event
        });
        kit.commit(CommitRequest { end: SessionEnd::Session, ..turn(session, "a", &cwd, events.collect()) });
    };
    commit("s");
    dreams_by(kit.script("fails.sh", "exit 7"));
    let (told, changes) = dream();
    assert_eq!((told[0].0, changes), (SessionOutcome::Retry, 0));
    dreams_by(kit.replies("no idea"));
    assert_eq!(dream(), (vec![(SessionOutcome::Skipped, "the reply could not be read".into())], 0));
    assert_eq!(dream(), (vec![], 0), "it counts as read");
    assert_eq!(kit.engine.extraction(&kit.owner).unwrap().usage.unreadable, 1, "and is counted");

    commit("t");
    dreams_by(kit.replies(&reply(&[memory(
        "",
        "Migrate the orders table first",
        "Other tables refer to it.",
    )])));
    let (told, changes) = dream();
    assert_eq!((told[0].0, changes, kit.extracted().len()), (SessionOutcome::Extracted, 1, 1));
    assert!(kit.asked().contains("[tool Bash]"), "a dream tells what was run");
    assert_eq!(dream(), (vec![], 0));
}

#[test]
fn a_session_whose_extractor_fails_is_tried_less_and_less_and_given_up_aloud() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let events = long_session("Please migrate the orders table to the new schema.");
    kit.commit(CommitRequest { end: SessionEnd::Session, ..turn("s", "a", &cwd, events) });
    let command = kit.script("fails.sh", &format!("echo >> {}; exit 7", kit.path("calls").display()));
    kit.switches(|switches| {
        switches.extractors.dreams = Who::Command;
        switches.extractors.command = command;
    });
    let calls = || std::fs::read_to_string(kit.path("calls")).map_or(0, |calls| calls.lines().count());
    // A sweep every two hours for eleven days: how many hours lie between the tries, and what is said in between.
    let (mut tries, mut said, mut last) = (Vec::new(), Vec::new(), 0);
    for hour in (0..24 * 11).step_by(2) {
        let before = calls();
        let dream = kit.engine.dream(&kit.owner, &DreamRequest::default()).unwrap();
        let [told] = dream.sessions.as_slice() else { panic!("{hour}: {dream:?}") };
        if calls() > before {
            tries.push(hour - last);
            last = hour;
            assert_eq!(told.outcome, SessionOutcome::Retry, "{told:?}");
        } else if said.last() != Some(&told.reason) {
            said.push(told.reason.clone());
        }
        kit.pass(SignedDuration::from_hours(2));
    }
    assert_eq!(tries, [0, 2, 2, 8, 16, 32, 64, 128]);
    let waits =
        (3..8).map(|times| format!("its extraction failed {times} times; it waits for a later sweep"));
    let given_up = "its extraction failed 8 times; doze dream by hand tries it again".to_owned();
    assert_eq!(said, waits.chain([given_up]).collect::<Vec<_>>());

    let dream =
        || kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    assert_eq!(dream().sessions[0].outcome, SessionOutcome::Retry);
    let command = kit.replies(&reply(&[memory("", "Migrate the orders table first", "Others refer to it.")]));
    kit.switches(|switches| {
        switches.extractors.dreams = Who::Command;
        switches.extractors.command = command;
    });
    assert_eq!(dream().sessions[0].outcome, SessionOutcome::Extracted);
    assert_eq!(dream().sessions, [], "what succeeded is read");
}

#[test]
fn a_digest_is_shown_without_being_asked_for() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(run("s", &cwd, 1));
    let digest = kit.engine.digest(&kit.owner, "s").unwrap();
    assert!(
        digest.starts_with("## User asked\nThe suite hangs") && digest.ends_with("bump vitest."),
        "{digest}"
    );
    assert!(kit.engine.digest(&kit.owner, "nobody").is_err());
}
