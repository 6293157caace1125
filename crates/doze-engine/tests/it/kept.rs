//! What stays as it is, and how much of a thing is kept.

use std::io::Write;

use doze_core::model::{Event, Memory, SessionEnd, SessionKind, Tokens};
use doze_engine::{
    BriefRequest, DreamRequest, Forget, ImportRequest, ListRequest, SearchRequest, SessionListRequest,
    StatusFilter, TranscriptRef,
};
use jiff::SignedDuration;

use crate::kit::{Kit, answer, long_session, prompt, reader, turn};

fn all(kit: &Kit) -> Vec<Memory> {
    let request =
        ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
    kit.engine.memories(&kit.owner, &request).unwrap().items
}

#[test]
fn the_office_lists_an_agents_30_newest_sessions() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for number in 0..33 {
        kit.pass(SignedDuration::from_mins(1));
        let said = Event { at: None, ..answer(number, "Built the page.") };
        let mut request = turn(&format!("s{number}"), "alex", &cwd, vec![said]);
        request.end = SessionEnd::Session;
        kit.commit(request);
    }
    let request = |office| SessionListRequest {
        reader: reader(&cwd, "alex"),
        office,
        limit: 100,
        ..Default::default()
    };
    let names = |office| -> Vec<String> {
        let page = kit.engine.sessions(&kit.owner, &request(office)).unwrap();
        page.items.into_iter().map(|session| session.key.session).collect()
    };
    let office = names(true);
    assert_eq!((office.len(), office[0].as_str(), office[29].as_str()), (30, "s32", "s3"));
    assert_eq!(names(false).len(), 33, "history has them all");
}

#[test]
fn a_discussion_teaches_nothing_now_or_in_a_dream() {
    let learned = |kind| {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        let mut request =
            turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository."));
        request.kind = Some(kind);
        request.end = SessionEnd::Session;
        let at_once = kit.commit(request).facts;
        kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
        (at_once.added, all(&kit).len())
    };
    assert_eq!(learned(SessionKind::Discussion), (0, 0));
    assert!(learned(SessionKind::Interactive).1 > 0, "the same words teach elsewhere");
}

#[test]
fn reading_searching_and_showing_change_no_memory() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "Remember: seeds run after the migrations.")]));
    let before = all(&kit);
    assert!(!before.is_empty());
    for _ in 0..3 {
        kit.pass(SignedDuration::from_hours(5));
        let search = SearchRequest { reader: reader(&cwd, "a"), query: "seeds".into(), ..Default::default() };
        assert!(!kit.engine.search(&kit.owner, &search).unwrap().hits.is_empty());
        let brief = BriefRequest {
            reader: reader(&cwd, "a"),
            session: Some("t".into()),
            inject: true,
            ..Default::default()
        };
        kit.engine.brief(&kit.owner, &brief).unwrap();
        for memory in &before {
            kit.engine.memory(&kit.owner, &memory.id).unwrap();
            kit.engine.why(&kit.owner, &memory.id).unwrap();
        }
    }
    assert_eq!(all(&kit), before);
}

#[test]
fn the_journal_keeps_what_dreams_did_and_of_idle_ones_the_last_hundred() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    let dream = || {
        kit.pass(SignedDuration::from_secs(1));
        kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap()
    };
    let first = dream();
    assert!(!first.changes.is_empty());
    // What a person took back is remembered by its journal, however often nothing happens since.
    kit.engine.undo_dream(&kit.owner, Some(&first.id)).unwrap();
    for _ in 0..130 {
        dream();
    }
    let kept = kit.engine.dream_log(&kit.owner, 1000, None).unwrap().items;
    // The last one, the hundred idle ones before it, and the first.
    assert_eq!((kept.len(), kept.last().map(|dream| &dream.id)), (102, Some(&first.id)));
    assert!(kept.windows(2).all(|pair| pair[0].started_at > pair[1].started_at), "the newest ones");
}

#[test]
fn the_same_commit_from_many_at_once_counts_once() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let request = || {
        let mut request = turn("s", "a", &cwd, vec![prompt(1, "Remember: seeds run after the migrations.")]);
        request.commit_id = Some("c-1".into());
        request.tokens = Some(Tokens { input: 100, output: 10 });
        request
    };
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| kit.commit(request()));
        }
    });
    let session = kit.engine.session(&kit.owner, "s").unwrap();
    assert_eq!(session.turns, 1);
    assert_eq!(session.summary.unwrap().tokens, Tokens { input: 100, output: 10 });
}

/// A line of a Claude Code session at a minute of the kit's clock.
fn line(kit: &Kit, id: &str, text: &str) -> String {
    let at = kit.engine_time();
    format!(
        "{}\n",
        serde_json::json!({"type": "user", "uuid": id, "sessionId": "s", "timestamp": at, "version": "2.1.20",
            "message": {"role": "user", "content": text}})
    )
}

#[test]
fn what_was_said_while_paused_does_not_come_in_afterwards() {
    // With the hook called during the pause, and with the daemon away at that time.
    for is_told_meanwhile in [true, false] {
        let kit = Kit::new();
        let cwd = kit.project("shop");
        let path = kit.path("session.jsonl");
        let stop = || {
            let mut request = turn("s", "a", &cwd, vec![]);
            request.transcript =
                Some(TranscriptRef { path: path.to_string_lossy().into_owned(), format: None });
            kit.commit(request)
        };
        let add = |id: &str, text: &str| {
            let mut file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
            file.write_all(line(&kit, id, text).as_bytes()).unwrap();
        };
        add("u1", "Build the harvest page");
        assert_eq!(stop().events.new, 1);
        kit.pass(SignedDuration::from_mins(1));
        kit.engine.pause(&kit.owner, None).unwrap();
        kit.pass(SignedDuration::from_mins(1));
        add("u2", "the wedding is on Friday");
        if is_told_meanwhile {
            assert_eq!(stop().events.new, 0);
        }
        kit.pass(SignedDuration::from_mins(1));
        kit.engine.resume(&kit.owner).unwrap();
        kit.pass(SignedDuration::from_mins(1));
        add("u3", "Now the seed script");
        assert_eq!(stop().events.new, 1, "told meanwhile: {is_told_meanwhile}");
        let session = kit.engine.session(&kit.owner, "s").unwrap();
        assert_eq!(session.event_count, 2);
    }
}

#[test]
fn an_import_knows_what_it_has_read() {
    let kit = Kit::new();
    let folder = kit.path("old");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("s.jsonl"), line(&kit, "u1", "Build the harvest page")).unwrap();
    let request = ImportRequest { path: folder.to_string_lossy().into_owned(), ..Default::default() };
    let told = || {
        let done = kit.engine.import(&kit.owner, &request).unwrap();
        (done.read, done.added, done.known)
    };
    assert_eq!((told(), told(), told()), ((1, 1, 0), (1, 0, 1), (1, 0, 1)));
}

#[test]
fn a_dream_by_hand_tells_of_sessions_that_are_too_old_for_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, long_session("No, use pnpm instead of npm in this repository.")));
    kit.pass(SignedDuration::from_hours(24 * 60));
    let by_hand = DreamRequest { by_hand: true, ..Default::default() };
    let dream = kit.engine.dream(&kit.owner, &by_hand).unwrap();
    assert!(dream.reason.contains("older than 30 days: 1 unread session"), "{}", dream.reason);
    let far = DreamRequest { max_age_days: Some(3650), ..by_hand };
    assert_eq!(kit.engine.dream(&kit.owner, &far).unwrap().sessions.len(), 1);
}

#[test]
fn a_forgotten_session_does_not_come_back_with_its_file() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let path = kit.path("session.jsonl");
    let add = |id: &str, text: &str| {
        let mut file = std::fs::File::options().create(true).append(true).open(&path).unwrap();
        file.write_all(line(&kit, id, text).as_bytes()).unwrap();
    };
    let commit = |session: &str| {
        let mut request = turn(session, "a", &cwd, vec![]);
        request.transcript = Some(TranscriptRef { path: path.to_string_lossy().into_owned(), format: None });
        kit.commit(request).events.new
    };
    add("u1", "the wedding is on Friday");
    assert_eq!(commit("s"), 1);
    let what = Forget::Session { session: "s".into(), memories: true };
    kit.engine.forget(&kit.owner, &what, true).unwrap();
    kit.pass(SignedDuration::from_mins(1));
    assert_eq!(commit("s"), 0);
    let import = ImportRequest { path: path.to_string_lossy().into_owned(), ..Default::default() };
    kit.engine.import(&kit.owner, &import).unwrap();
    assert!(kit.engine.session(&kit.owner, "s").map_or(0, |session| session.event_count) == 0);
    add("u2", "Now the seed script");
    assert_eq!(commit("s"), 1, "what comes later is kept");
}

#[test]
fn forgotten_words_go_wherever_they_were_repeated() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn(
        "s",
        "a",
        &cwd,
        vec![prompt(1, "Remember: the zanzibar gateway needs a client certificate.")],
    ));
    let said = "As you said, the zanzibar gateway needs a client certificate. I will add one.";
    kit.commit(turn("t", "b", &cwd, vec![prompt(2, "Go on"), answer(3, said)]));
    let memory = all(&kit).into_iter().find(|memory| memory.body.contains("zanzibar")).unwrap();
    kit.engine.forget(&kit.owner, &Forget::Memory(memory.id), true).unwrap();
    let history = SearchRequest {
        reader: reader(&cwd, "b"),
        query: "zanzibar".into(),
        history: true,
        ..Default::default()
    };
    assert!(kit.engine.search(&kit.owner, &history).unwrap().hits.is_empty());
    let other = SearchRequest { query: "go on".into(), ..history };
    assert!(!kit.engine.search(&kit.owner, &other).unwrap().hits.is_empty(), "the rest of the session stays");
}
