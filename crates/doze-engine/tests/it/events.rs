//! Which events are known: those of a session file in the whole project, those that a call tells in its session only.

use doze_core::model::{Event, EventKind, Origin};
use doze_engine::{
    CommitRequest, EventCounts, FactCounts, Forget, ListRequest, RecoverRequest, SessionName, TranscriptRef,
};

use crate::kit::{Kit, answer, prompt, reader, turn};

const RULE: &str = "Always run the acceptance suite before committing.";

/// What somebody said, as a caller tells it who gives neither ids nor times.
fn bare(kind: EventKind, text: &str) -> Event {
    let origin = if kind == EventKind::Prompt { Origin::Person } else { Origin::Agent };
    Event::new("", kind, origin, text)
}

/// The last messages of a session, as its agent is told them.
fn messages(kit: &Kit, cwd: &str, by: &str, session: &str) -> Vec<String> {
    let request =
        RecoverRequest { reader: reader(cwd, by), session: Some(session.to_owned()), ..Default::default() };
    let told = kit.engine.recover(&kit.owner, &request).unwrap();
    told.messages.into_iter().map(|message| message.text).collect()
}

#[test]
fn what_was_told_to_several_agents_was_told_to_each_of_them() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for (n, by) in ["alex", "sam", "kim"].into_iter().enumerate() {
        let report = format!("SUMMARY: {by} took part number {n} of the job");
        let events = vec![bare(EventKind::Prompt, RULE), bare(EventKind::Answer, &report)];
        let done = kit.commit(turn("x", by, &cwd, events.clone()));
        assert_eq!(done.events, EventCounts { new: 2, known: 0, skipped: 0 }, "{by}");
        assert_eq!(done.facts.added + done.facts.reinforced, 1, "{by}: {:?}", done.facts);
        assert_eq!(messages(&kit, &cwd, by, "x"), [RULE.to_owned(), report]);
        // Again in the same session, under another name of the call.
        let again = CommitRequest { commit_id: Some("again".to_owned()), ..turn("x", by, &cwd, events) };
        assert_eq!(kit.commit(again).events.known, 2);
    }
    let list = ListRequest { reader: reader(&cwd, "somebody-else"), limit: 10, ..Default::default() };
    let shared = kit.engine.memories(&kit.owner, &list).unwrap().items;
    assert_eq!(shared.len(), 1, "several found it on their own, so it is the project's: {shared:?}");
}

#[test]
fn ids_are_an_agents_own_and_a_fork_that_tells_its_events_again_counts_nothing() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let events = || vec![prompt(1, "continue"), answer(2, "done")];
    for (by, session) in [("alex", "y"), ("sam", "y")] {
        assert_eq!(kit.commit(turn(session, by, &cwd, events())).events.new, 2, "{by} {session}");
        assert_eq!(messages(&kit, &cwd, by, session), ["continue", "done"]);
    }
    let appended = kit.engine.append(&kit.owner, turn("y", "sam", &cwd, events())).unwrap();
    assert_eq!(appended.events, EventCounts { new: 0, known: 2, skipped: 0 }, "an append may be repeated");
    // With id, time and text of an event of the same agent's it is that event.
    let fork = [events(), vec![answer(3, "Note: the parcel queue needs two brokers here.")]].concat();
    let forked = kit.commit(turn("z", "alex", &cwd, fork));
    assert_eq!((forked.events, forked.facts.added), (EventCounts { new: 1, known: 2, skipped: 0 }, 1));
    let later = vec![Event { at: None, ..prompt(1, "continue") }, prompt(1, "and go on")];
    assert_eq!(
        kit.commit(turn("w", "alex", &cwd, later)).events.new,
        2,
        "another time or text is another event"
    );
}

#[test]
fn who_says_yes_twice_in_one_call_said_it_twice() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let said = [("yes", "step one"), ("yes", "step two")];
    let events: Vec<Event> = said
        .into_iter()
        .flat_map(|(asked, done)| [bare(EventKind::Prompt, asked), bare(EventKind::Answer, done)])
        .collect();
    assert_eq!(kit.commit(turn("s", "a", &cwd, events.clone())).events.new, 4);
    assert_eq!(messages(&kit, &cwd, "a", "s"), ["yes", "step one", "yes", "step two"]);
    // Who tells the whole session again, and one turn more, tells one turn.
    let mut longer = events;
    longer.push(bare(EventKind::Prompt, "yes"));
    let done = kit.commit(turn("s", "a", &cwd, longer));
    assert_eq!(done.events, EventCounts { new: 1, known: 4, skipped: 0 });
}

#[test]
fn forgetting_a_session_leaves_what_another_agent_was_told_in_the_same_words() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let events =
        || vec![bare(EventKind::Prompt, "look at the walrus module"), bare(EventKind::Answer, "I did")];
    for (by, session) in [("alex", "p1"), ("sam", "p2")] {
        kit.commit(turn(session, by, &cwd, events()));
    }
    let forget = Forget::Session { session: SessionName::from("p1"), memories: true };
    let forgotten = kit.engine.forget(&kit.owner, &forget, true).unwrap();
    assert_eq!((forgotten.sessions, forgotten.events), (1, 2));
    assert_eq!(messages(&kit, &cwd, "sam", "p2"), ["look at the walrus module", "I did"]);
    assert_eq!(kit.commit(turn("p3", "kim", &cwd, events())).events.new, 2);
    assert_eq!(messages(&kit, &cwd, "sam", "p2").len(), 2);
}

/// A session's file, as a harness writes it.
fn file(kit: &Kit, name: &str, cwd: &str, lines: &[(&str, &str)]) -> TranscriptRef {
    let mut text = String::new();
    for (id, (role, said)) in lines.iter().enumerate() {
        text += &format!(
            r#"{{"type":"{role}","uuid":"u{id}","parentUuid":null,"sessionId":"s","cwd":"{cwd}","timestamp":"2026-02-28T10:00:{id:02}Z","version":"2.1.0","message":{{"id":"m{id}","role":"{role}","content":[{{"type":"text","text":"{said}"}}]}}}}"#
        );
        text.push('\n');
    }
    let path = kit.path(name);
    std::fs::write(&path, text).unwrap();
    TranscriptRef { path: path.to_string_lossy().into_owned(), format: None }
}

fn from_file(session: &str, cwd: &str, transcript: TranscriptRef) -> CommitRequest {
    CommitRequest { transcript: Some(transcript), ..turn(session, "claude-code", cwd, Vec::new()) }
}

#[test]
fn a_fork_of_a_session_teaches_nothing_again() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let mut said =
        vec![("user", "Remember: migrations run before the seed script."), ("assistant", "Understood.")];
    let first = kit.commit(from_file("s", &cwd, file(&kit, "s.jsonl", &cwd, &said)));
    assert_eq!((first.events.new, first.facts.added), (2, 1));
    said.push(("user", "and now the other way"));
    let fork = kit.commit(from_file("fork", &cwd, file(&kit, "fork.jsonl", &cwd, &said)));
    assert_eq!(fork.events, EventCounts { new: 1, known: 2, skipped: 0 });
    assert_eq!(fork.facts, FactCounts::default());
    let web = kit.project("web");
    let elsewhere = kit.commit(from_file("s2", &web, file(&kit, "s2.jsonl", &web, &said)));
    assert_eq!((elsewhere.events.new, elsewhere.facts.added), (3, 1), "another project knows nothing of it");
}

#[test]
fn what_a_call_told_is_known_when_the_sessions_file_tells_it_too() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for (session, told_first) in [("s", true), ("t", false)] {
        let said = [("user", "fix the login"), ("assistant", "Done.")]
            .map(|(role, text)| (role, format!("{text} {session}")));
        let said: Vec<(&str, &str)> = said.iter().map(|(role, text)| (*role, text.as_str())).collect();
        let transcript = file(&kit, "file.jsonl", &cwd, &said);
        let events = kit.engine.preview(&transcript.path, None, true).unwrap().events.unwrap();
        let mut calls = [turn(session, "claude-code", &cwd, events), from_file(session, &cwd, transcript)];
        if !told_first {
            calls.reverse();
        }
        let done = calls.map(|call| kit.commit(call).events);
        assert_eq!((done[0].new, done[1].new, done[1].known), (2, 0, 2), "{session}: {done:?}");
    }
}
