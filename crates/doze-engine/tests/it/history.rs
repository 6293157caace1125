//! The history keeps within its bounds, and what was learned from it stays (`R6`).

use doze_core::model::{Event, SessionKind};
use doze_engine::{DreamRequest, SessionListRequest, Switches};
use jiff::SignedDuration;

use crate::kit::{Kit, answer, long_session, prompt, turn};

/// About twenty kilobytes of talk that teaches nothing.
fn talk(id: i64) -> Vec<Event> {
    vec![
        prompt(id, &format!("{id} {}", "lorem ipsum ".repeat(800))),
        answer(id + 1, &"dolor sit ".repeat(1_000)),
    ]
}

fn commit(kit: &Kit, session: &str, kind: SessionKind, events: Vec<Event>) {
    let mut request = turn(session, "a", &kit.project("shop"), events);
    request.kind = Some(kind);
    kit.commit(request);
}

/// The sessions that are left, the oldest first.
fn left(kit: &Kit) -> Vec<String> {
    let all = SessionListRequest { limit: 500, ..Default::default() };
    let sessions = kit.engine.sessions(&kit.owner, &all).unwrap().items;
    sessions.into_iter().rev().map(|session| session.key.session).collect()
}

fn tidy(kit: &Kit, switches: Switches) -> u64 {
    kit.engine.set_switches(&kit.owner, switches);
    kit.engine.tidy(&kit.owner).unwrap()
}

#[test]
fn the_oldest_go_first_and_those_still_needed_last() {
    let kit = Kit::new();
    commit(&kit, "cited", SessionKind::Interactive, {
        let mut events = long_session("Note: the quartz broker needs QUARTZ_PORT exported.");
        events.extend(talk(40));
        events
    });
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    commit(&kit, "unread", SessionKind::Interactive, talk(100));
    for (session, at) in [("c1", 200), ("c2", 300), ("c3", 400)] {
        commit(&kit, session, SessionKind::Cron, talk(at));
    }
    assert_eq!(left(&kit), ["cited", "unread", "c1", "c2", "c3"]);
    let at_most = |bytes| Switches { history_max_bytes: bytes, ..Switches::default() };

    assert_eq!(tidy(&kit, at_most(1 << 30)), 0);
    assert_eq!(tidy(&kit, at_most(200_000)), 0, "the file is larger, the history is not");
    assert_eq!(tidy(&kit, at_most(97_000)), 1);
    assert_eq!(left(&kit), ["cited", "unread", "c2", "c3"], "the oldest that nobody needs");
    assert_eq!(tidy(&kit, at_most(55_000)), 2);
    assert_eq!(left(&kit), ["cited", "unread"]);
    assert_eq!(tidy(&kit, at_most(30_000)), 1);
    assert_eq!(left(&kit), ["unread"]);
    assert_eq!(tidy(&kit, at_most(30_000)), 0, "below the bound nothing goes");
    assert_eq!(kit.found(&kit.project("shop"), "quartz broker").len(), 1, "what was learned stays");
}

#[test]
fn what_is_too_old_goes_and_zero_is_never() {
    let kit = Kit::new();
    commit(&kit, "old", SessionKind::Interactive, vec![prompt(1, "Note: the kelp tests need Redis.")]);
    let days = |days| Switches { history_max_age_days: days, ..Switches::default() };
    kit.pass(SignedDuration::from_hours(24 * 20));
    let mut recent = prompt(2, "go on");
    recent.at = Some("2026-03-20T12:00:00Z".parse().unwrap());
    commit(&kit, "new", SessionKind::Interactive, vec![recent]);
    assert_eq!(tidy(&kit, days(0)), 0);
    assert_eq!(tidy(&kit, days(30)), 0);
    assert_eq!(tidy(&kit, days(19)), 1);
    assert_eq!(left(&kit), ["new"]);
    assert_eq!(kit.found(&kit.project("shop"), "kelp").len(), 1, "what was learned stays");
}
