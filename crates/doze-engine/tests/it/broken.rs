//! A sweep that ends in the middle, at every place where it can: it is gone on with, and ends as if nothing had been.

use std::panic::{AssertUnwindSafe, catch_unwind};

use doze_core::model::{Dream, Event, Memory, SessionEnd, SessionOutcome};
use doze_engine::breaks::{ALL, Break, arm};
use doze_engine::{
    CommitRequest, DreamRequest, DreamVerdict, Extractors, ListRequest, StatusFilter, Switches, Who,
};
use jiff::SignedDuration;

use crate::kit::{Kit, long_session, memory, reply, turn};

/// What the sessions are about, each with what is learned from it.
const ABOUT: [(&str, &str, &str); 3] = [
    ("invoices", "Send invoices through the queue", "The mail server drops long connections."),
    ("orders", "Migrate the orders table first", "Other tables refer to it."),
    ("parcels", "Weigh parcels in grams", "The carrier rounds kilograms up."),
];

impl Kit {
    /// Three sessions that ended, and a program that replies to each and notes which it was asked about.
    fn with_three_sessions() -> Self {
        let kit = Self::new();
        let cwd = kit.project("shop");
        for (about, ..) in ABOUT {
            let events = long_session(&format!("Please look after the {about} now.")).into_iter();
            let events = events.map(|event| Event { id: format!("{about}-{}", event.id).into(), ..event });
            let committed = turn(about, "a", &cwd, events.collect());
            kit.commit(CommitRequest { end: SessionEnd::Session, ..committed });
        }
        kit.ask_the_program();
        kit
    }

    fn ask_the_program(&self) {
        let mut body = "case \"$(tail -n 100 \"$asked\")\" in\n".to_owned();
        for (about, title, text) in ABOUT {
            let answer = self.path(&format!("{about}.json"));
            std::fs::write(&answer, reply(&[memory("", title, text)])).unwrap();
            let calls = self.path("calls");
            body += &format!(
                "*\"the {about} now\"*) echo {about} >> {}; cat {};;\n",
                calls.display(),
                answer.display()
            );
        }
        body += "esac";
        let command = self.script("asked.sh", &body);
        let script = &command[1];
        // Each call sees its own prompt alone.
        let own = format!("#!/bin/sh\nasked=$(mktemp)\ncat > \"$asked\"\n{body}\nrm \"$asked\"\n");
        std::fs::write(script, own).unwrap();
        self.switches(|switches: &mut Switches| {
            switches.extractors = Extractors { dreams: Who::Command, command, ..switches.extractors.clone() };
        });
    }

    /// How often the program was asked about each session.
    fn calls(&self) -> [usize; 3] {
        let calls = std::fs::read_to_string(self.path("calls")).unwrap_or_default();
        ABOUT.map(|(about, ..)| calls.lines().filter(|line| *line == about).count())
    }

    /// Sweeps until the process "dies" at a place, and starts another one on the same files.
    fn die_at(&mut self, request: &DreamRequest, place: Break, nth: u32) {
        arm(place, nth);
        let died = catch_unwind(AssertUnwindSafe(|| self.engine.dream(&self.owner, request))).unwrap_err();
        assert_eq!(died.downcast_ref::<Break>(), Some(&place));
        self.reopen();
        self.ask_the_program();
    }

    fn journal(&self) -> Vec<Dream> {
        self.engine.dream_log(&self.owner, 99, None).unwrap().items
    }

    fn broke_off(&self) -> Option<String> {
        self.engine.dream_status(&self.owner).unwrap().broke_off
    }

    /// All that a sweep leaves, but for the ids it has drawn.
    fn end_state(&self) -> (Vec<Memory>, Vec<String>) {
        let request =
            ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
        let mut memories = self.engine.memories(&self.owner, &request).unwrap().items;
        for memory in &mut memories {
            memory.id = "an id".into();
            memory.contexts.iter_mut().for_each(|cited| cited.origin = None);
        }
        memories.sort_by(|a, b| a.body.cmp(&b.body));
        let told = self.journal().into_iter().map(|dream| {
            let changes: Vec<_> =
                dream.changes.iter().map(|c| (c.op, &c.after.title, &c.because, &c.evidence)).collect();
            format!("{:?} {:?} {changes:?} {:?}", dream.result, dream.sessions, dream.left_alone)
        });
        (memories, told.collect())
    }
}

fn by_hand() -> DreamRequest {
    DreamRequest { by_hand: true, ..Default::default() }
}

#[test]
fn killed_at_any_place_a_sweep_goes_on_and_nothing_is_asked_or_done_twice() {
    let whole = Kit::with_three_sessions();
    whole.engine.dream(&whole.owner, &by_hand()).unwrap();
    let (expected, asked_once) = (whole.end_state(), [1, 1, 1]);
    assert_eq!((whole.calls(), expected.0.len(), expected.1.len()), (asked_once, 4, 1), "{expected:?}");

    for (place, name) in ALL {
        let is_per_session = matches!(place, Break::Digested | Break::Answered | Break::Kept);
        for nth in 1..=if is_per_session { 3 } else { 1 } {
            let mut kit = Kit::with_three_sessions();
            kit.die_at(&by_hand(), place, nth);
            let at = format!("{name} {nth}");
            if place == Break::Applied {
                assert_eq!(kit.broke_off(), None, "{at}: it had come to its end");
            } else {
                assert!(kit.broke_off().unwrap().starts_with("a sweep broke off"), "{at}");
                assert_eq!(
                    (kit.end_state().0, kit.journal()),
                    (vec![], vec![]),
                    "{at}: nothing is half done"
                );
                let verdict = kit.engine.dream_verdict(&kit.owner, 0).unwrap();
                let DreamVerdict::Wait { why_not, .. } = verdict else { panic!("{verdict:?}") };
                assert_eq!(why_not, "a sweep broke off; it goes on in 2 min", "{at}");
                let request = kit.engine.next_dream(&kit.owner).unwrap();
                assert_eq!(request, by_hand(), "{at}: it goes on with what was asked for");
                let dream = kit.engine.dream(&kit.owner, &request).unwrap();
                assert!(dream.reason.contains("it goes on with what one kept"), "{}", dream.reason);
            }
            assert_eq!(kit.broke_off(), None, "{at}");
            assert_eq!(kit.end_state(), expected, "{at}");
            // A reply that was nowhere but in the memory of a process that is gone has to be asked for again.
            let mut asked = asked_once;
            if place == Break::Answered {
                asked[nth as usize - 1] = 2;
            }
            assert_eq!(kit.calls(), asked, "{at}");
            let again = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
            assert_eq!((again.changes, again.sessions, kit.calls()), (vec![], vec![], asked), "{at}");
        }
    }
}

#[test]
fn killed_again_and_again_a_sweep_comes_to_the_same_end() {
    let whole = Kit::with_three_sessions();
    whole.engine.dream(&whole.owner, &by_hand()).unwrap();
    let mut kit = Kit::with_three_sessions();
    for (place, _) in ALL.into_iter().filter(|(place, _)| !matches!(place, Break::Answered | Break::Applied))
    {
        kit.die_at(&by_hand(), place, 1);
    }
    assert!(kit.broke_off().unwrap().contains("(the 5th time in a row)"), "{:?}", kit.broke_off());
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!((kit.end_state(), kit.calls()), (whole.end_state(), [1, 1, 1]));
}

#[test]
fn what_grew_while_a_sweep_was_broken_off_is_left_to_a_later_one() {
    let mut kit = Kit::with_three_sessions();
    kit.die_at(&by_hand(), Break::Kept, 1);
    let cwd = kit.project("shop");
    let more = long_session("Please look after the invoices now.").into_iter();
    let more = more.map(|event| Event { id: format!("more-{}", event.id).into(), ..event }).collect();
    kit.commit(turn("invoices", "a", &cwd, more));
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(kit.calls(), [1, 1, 1], "what is kept is not asked for again");
    let later = kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(later.sessions.iter().map(|told| told.session.as_str()).collect::<Vec<_>>(), ["invoices"]);
    assert_eq!(kit.calls(), [2, 1, 1], "the rest is");
}

#[test]
fn a_session_that_ends_the_process_holds_up_the_others_three_times_at_most() {
    let mut kit = Kit::with_three_sessions();
    let scheduled = DreamRequest::default();
    for time in 1..=3 {
        kit.die_at(&scheduled, Break::Digested, 1);
        assert!(kit.broke_off().unwrap().contains("while it read invoices"), "{time}");
    }
    // A sweep that breaks off each time waits as long as one that fails.
    let verdict = kit.engine.dream_verdict(&kit.owner, 0).unwrap();
    let DreamVerdict::Wait { why_not, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(why_not, "the last 3 sweeps failed; the next one is in 8 h");
    assert_eq!(kit.engine.next_dream(&kit.owner).unwrap(), scheduled);

    kit.pass(SignedDuration::from_mins(481));
    let dream = kit.engine.dream(&kit.owner, &scheduled).unwrap();
    let invoices = dream.sessions.iter().find(|told| told.session == "invoices").unwrap();
    assert_eq!(
        (invoices.outcome, invoices.reason.as_str()),
        (SessionOutcome::Skipped, "its extraction failed 3 times; it waits for a later sweep")
    );
    assert_eq!(kit.calls(), [0, 1, 1]);
    kit.engine.dream(&kit.owner, &by_hand()).unwrap();
    assert_eq!(kit.calls(), [1, 1, 1], "by hand it is tried again");
}
