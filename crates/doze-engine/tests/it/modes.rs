//! What an agent may do without asking is told by the hooks of its session, and by no other one's (S1.35).

use doze_core::model::{Permission, SessionEnd};
use doze_engine::CommitRequest;
use jiff::SignedDuration;

use crate::kit::{Kit, agent, prompt, reader, turn};

const HARNESS: &str = "claude-code";

struct Agents {
    kit: Kit,
    cwd: String,
}

impl Agents {
    fn new() -> Self {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        kit.engine.project_of(&kit.owner, &cwd).unwrap();
        Self { kit, cwd }
    }

    fn tell(&self, session: &str, mode: &str) {
        let reader = reader(&self.cwd, "a");
        self.kit.engine.note_permission(&self.kit.owner, &reader, HARNESS, session, mode).unwrap();
    }

    fn mode(&self) -> Option<Permission> {
        self.kit.engine.permission(&self.kit.owner, &reader(&self.cwd, "a"), HARNESS).unwrap()
    }

    fn commit(&self, session: &str, end: SessionEnd) {
        let mut by = agent("a");
        by.harness = HARNESS.to_owned();
        let events = vec![prompt(1, "hello")];
        self.kit.commit(CommitRequest { agent: by, end, ..turn(session, "a", &self.cwd, events) });
    }
}

#[test]
fn of_several_sessions_the_most_careful_mode_holds_until_it_ends() {
    let agents = Agents::new();
    assert_eq!(agents.mode(), None);
    agents.tell("one", "plan");
    agents.tell("two", "acceptEdits");
    assert_eq!(agents.mode(), Some(Permission::Plan), "another session's leave is not this one's");
    agents.kit.pass(SignedDuration::from_mins(1));
    agents.commit("one", SessionEnd::Turn);
    assert_eq!(agents.mode(), Some(Permission::Plan), "a turn is no end");
    agents.commit("one", SessionEnd::Session);
    assert_eq!(agents.mode(), Some(Permission::Accept));
    // It is taken up again in the mode that it had.
    agents.kit.pass(SignedDuration::from_secs(1));
    agents.tell("one", "plan");
    assert_eq!(agents.mode(), Some(Permission::Plan));
    agents.tell("one", "bypassPermissions");
    assert_eq!(agents.mode(), Some(Permission::Accept));
    let other = agents.kit.engine.permission(&agents.kit.owner, &reader(&agents.cwd, "a"), "codex").unwrap();
    assert_eq!(other, None, "and another harness's is none either");
}

#[test]
fn a_mode_that_nobody_told_again_for_twelve_hours_counts_no_more() {
    let agents = Agents::new();
    agents.tell("one", "bypassPermissions");
    for _ in 0..3 {
        agents.kit.pass(SignedDuration::from_hours(11));
        assert_eq!(agents.mode(), Some(Permission::Autonomous), "it goes on");
        agents.tell("one", "bypassPermissions");
    }
    agents.kit.pass(SignedDuration::from_hours(12));
    assert_eq!(agents.mode(), None, "yesterday's leave is none");
}

#[test]
fn modes_are_kept_within_a_bound_and_the_careful_ones_last() {
    let agents = Agents::new();
    agents.tell("careful", "plan");
    for session in 0..300 {
        agents.tell(&format!("s{session}"), "acceptEdits");
    }
    assert_eq!(agents.mode(), Some(Permission::Plan));
    let before = agents.kit.engine.status(&agents.kit.owner).unwrap().seq;
    agents.tell("careful", "plan");
    agents.tell("s299", "acceptEdits");
    assert_eq!(
        agents.kit.engine.status(&agents.kit.owner).unwrap().seq,
        before,
        "nothing new, nothing written"
    );
}
