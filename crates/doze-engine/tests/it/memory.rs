use doze_core::model::{Kind, MemoryId, Space, Status, Verification};
use doze_engine::{
    AddOutcome, DreamRequest, EditRequest, Forget, ListRequest, MemoryRequest, Problem, Reader, StatusFilter,
    Switches, Verdict,
};

use crate::kit::{Kit, agent, answer, prompt, reader, turn};

fn at(cwd: &str, body: &str) -> MemoryRequest {
    MemoryRequest {
        body: body.to_owned(),
        reader: Reader { cwd: Some(cwd.to_owned()), ..Default::default() },
        ..Default::default()
    }
}

#[test]
fn the_same_said_twice_is_one_record_and_a_new_value_replaces_the_old() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let add = |body: &str| kit.engine.add(&kit.owner, &at(&cwd, body)).unwrap();
    let first = add("The staging API listens on port 5432.");
    assert_eq!(first.outcome, AddOutcome::Added);
    let again = add("The staging API listens on port 5432");
    assert_eq!((again.outcome, again.memory.id), (AddOutcome::Reinforced, first.memory.id.clone()));
    let newer = add("The staging API listens on port 5433.");
    assert_eq!(newer.outcome, AddOutcome::Superseded);
    let former = kit.engine.memory(&kit.owner, &first.memory.id).unwrap();
    assert_eq!((former.status, former.superseded_by), (Status::Superseded, Some(newer.memory.id)));
    assert_eq!(kit.found(&cwd, "staging port"), ["The staging API listens on port 5433."]);
    assert_eq!(add("Never push to main.").outcome, AddOutcome::Added);
    assert_ne!(add("Always push to main.").outcome, AddOutcome::Reinforced);
}

#[test]
fn a_topic_key_keeps_the_id_and_the_former_text() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let with_topic = |body: &str, by_person| MemoryRequest {
        topic_key: Some("package-manager".to_owned()),
        kind: Some(Kind::Convention),
        by_person,
        ..at(&cwd, body)
    };
    let first = kit.engine.add(&kit.owner, &with_topic("Use yarn.", false)).unwrap().memory;
    let merged = kit.engine.add(&kit.owner, &with_topic("Use pnpm for every workspace.", false)).unwrap();
    assert_eq!((merged.outcome, &merged.memory.id), (AddOutcome::Merged, &first.id));
    assert!((merged.memory.confidence - 0.7).abs() < 1e-9 && merged.memory.evidence_count == 2);
    let former = ListRequest {
        reader: reader(&cwd, "a"),
        status: StatusFilter::Only(Status::Superseded),
        limit: 10,
        ..Default::default()
    };
    let former = kit.engine.memories(&kit.owner, &former).unwrap().items;
    assert_eq!(former.iter().map(|memory| memory.body.as_str()).collect::<Vec<_>>(), ["Use yarn."]);
    assert_eq!(former[0].superseded_by.as_ref(), Some(&first.id));
    kit.engine.add(&kit.owner, &with_topic("Use pnpm 9.", true)).unwrap();
    let refused = kit.engine.add(&kit.owner, &with_topic("Use bun.", false)).unwrap_err();
    assert_eq!(refused.problem, Problem::Refused);
}

#[test]
fn bounds_are_told_and_never_silently_cut() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let long = |n| "x".repeat(n);
    let cases = [
        (at(&cwd, "  "), "body is empty"),
        (MemoryRequest { by_person: true, ..at(&cwd, &long(8_001)) }, "body is longer than 8000 characters"),
        (MemoryRequest { title: Some(long(121)), ..at(&cwd, "b") }, "title is longer than 120 characters"),
        (
            MemoryRequest { topic_key: Some(long(81)), ..at(&cwd, "b") },
            "topic_key is longer than 80 characters",
        ),
        (
            MemoryRequest { topic_key: Some("Pattern / src/db.rs".to_owned()), ..at(&cwd, "b") },
            "topic keys under pattern/ are for patterns that dreams find",
        ),
        (
            MemoryRequest { tags: vec!["t".to_owned(); 33], ..at(&cwd, "b") },
            "tags holds more than 32 entries",
        ),
        (MemoryRequest { confidence: Some(1.5), ..at(&cwd, "b") }, "confidence is outside 0.1–1"),
        (MemoryRequest { space: Some(Space::Agent), ..at(&cwd, "b") }, "space agent needs an agent"),
    ];
    for (request, message) in cases {
        let error = kit.engine.add(&kit.owner, &request).unwrap_err();
        assert_eq!((error.problem, error.message.as_str()), (Problem::Invalid, message));
    }
}

#[test]
fn feedback_changes_confidence_and_agents_cannot_condemn_what_a_person_wrote() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let by_agent = kit.engine.add(&kit.owner, &at(&cwd, "Run the linter first.")).unwrap().memory;
    let helpful = kit.engine.feedback(&kit.owner, &by_agent.id, Verdict::Helpful, false).unwrap();
    assert!((helpful.confidence - by_agent.confidence - 0.1).abs() < 1e-9);
    let wrong = kit.engine.feedback(&kit.owner, &by_agent.id, Verdict::Wrong, false).unwrap();
    assert_eq!(wrong.status, Status::Retracted);
    assert!(kit.found(&cwd, "linter").is_empty());
    assert_eq!(kit.engine.reinstate(&kit.owner, &by_agent.id, false).unwrap().status, Status::Active);
    assert_eq!(kit.found(&cwd, "linter").len(), 1);

    let by_person = MemoryRequest { by_person: true, ..at(&cwd, "Never deploy on Fridays.") };
    let by_person = kit.engine.add(&kit.owner, &by_person).unwrap().memory;
    assert_eq!(by_person.verification, Verification::Human);
    let edit = EditRequest { body: Some("Deploy on Fridays.".to_owned()), ..Default::default() };
    for refused in [
        kit.engine.feedback(&kit.owner, &by_person.id, Verdict::Stale, false).map(|_| ()),
        kit.engine.edit(&kit.owner, &by_person.id, &edit, false).map(|_| ()),
        kit.engine.forget(&kit.owner, &Forget::Memory(by_person.id.clone()), false).map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().problem, Problem::Refused);
    }
    assert_eq!(kit.engine.edit(&kit.owner, &by_person.id, &edit, true).unwrap().body, "Deploy on Fridays.");
}

#[test]
fn forgetting_is_hard() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn(
        "s",
        "a",
        &cwd,
        vec![prompt(1, "Remember: the zanzibar gateway needs a client certificate.")],
    ));
    let list =
        ListRequest { reader: reader(&cwd, "a"), status: StatusFilter::All, limit: 10, ..Default::default() };
    let memory = kit.engine.memories(&kit.owner, &list).unwrap().items.remove(0);
    kit.engine.forget(&kit.owner, &Forget::Memory(memory.id.clone()), true).unwrap();
    assert_eq!(kit.engine.memory(&kit.owner, &memory.id).unwrap_err().problem, Problem::NotFound);
    let history = doze_engine::SearchRequest {
        reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
        query: "zanzibar".to_owned(),
        history: true,
        ..Default::default()
    };
    assert!(
        kit.engine.search(&kit.owner, &history).unwrap().hits.is_empty(),
        "the words are gone from history too"
    );
    let again = kit.commit(turn(
        "s2",
        "a",
        &cwd,
        vec![prompt(2, "Remember: the zanzibar gateway needs a client certificate.")],
    ));
    assert_eq!(again.facts.added, 0, "a tombstone keeps it away");
}

#[test]
fn forgetting_takes_the_twin_of_another_face_and_every_former_version() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = "Remember: the zanzibar gateway needs a client certificate.";
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, fact)]));
    let says = "The zanzibar gateway needs a client certificate";
    let twin = kit.engine.add(&kit.owner, &at(&cwd, says)).unwrap().memory;
    let all = |kit: &Kit| {
        let list =
            ListRequest { status: StatusFilter::All, everywhere: true, limit: 99, ..Default::default() };
        kit.engine.memories(&kit.owner, &list).unwrap().items
    };
    assert!(all(&kit).len() >= 2);
    let gone = kit.engine.forget(&kit.owner, &Forget::Memory(twin.id), true).unwrap();
    assert_eq!((gone.memories, all(&kit).len()), (2, 0), "{:?}", all(&kit));

    let marks = |text: &str| kit.engine.add(&kit.owner, &at(&cwd, text)).unwrap().memory.id;
    let (sharp, _) = (marks("Always use C# for the new tools."), marks("Always use C++ for the old tools."));
    let _ = marks("Always use C++ for the new tools.");
    let before = all(&kit).len();
    let gone = kit.engine.forget(&kit.owner, &Forget::Memory(sharp), true).unwrap();
    assert_eq!((gone.memories, all(&kit).len()), (1, before - 1), "another mark is another thing");
    kit.engine.forget(&kit.owner, &Forget::All, true).unwrap();

    let version = |port: u32| {
        let body = format!("The parcel API listens on port {port}.");
        kit.engine.add(&kit.owner, &at(&cwd, &body)).unwrap().memory.id
    };
    let (_, _, last) = (version(3000), version(4000), version(5000));
    assert_eq!(all(&kit).len(), 3);
    let gone = kit.engine.forget(&kit.owner, &Forget::Memory(last), true).unwrap();
    assert_eq!((gone.memories, all(&kit).len()), (3, 0));
}

#[test]
fn the_opposite_of_what_was_forgotten_can_be_learned() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let learns = |session: &str, id: i64, text: &str| {
        kit.commit(turn(session, "a", &cwd, vec![prompt(id, text)])).facts.added
    };
    assert_eq!(learns("s1", 1, "Remember: use npm for scripts, not yarn."), 1);
    let list =
        ListRequest { reader: reader(&cwd, "a"), status: StatusFilter::All, limit: 10, ..Default::default() };
    let memory = kit.engine.memories(&kit.owner, &list).unwrap().items.remove(0);
    kit.engine.forget(&kit.owner, &Forget::Memory(memory.id), true).unwrap();
    assert_eq!(learns("s2", 2, "Remember: use npm for scripts, not yarn."), 0);
    assert_eq!(learns("s3", 3, "Remember: use yarn for scripts, not npm."), 1);
}

#[test]
fn forgetting_a_session_keeps_what_was_learned_unless_asked() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = |id, text: &str| vec![prompt(id, text)];
    kit.commit(turn("s1", "a", &cwd, fact(1, "Remember: seeds run after migrations.")));
    kit.commit(turn("s2", "a", &cwd, fact(2, "Remember: the broker needs QUARTZ_PORT exported.")));
    let forget = |session: &str, memories| Forget::Session { session: session.into(), memories };
    let first = kit.engine.forget(&kit.owner, &forget("s1", false), true).unwrap();
    assert_eq!((first.sessions, first.memories, first.events), (1, 0, 1));
    assert!(kit.brief(&cwd, "a").contains("migrations"));
    let second = kit.engine.forget(&kit.owner, &forget("s2", true), true).unwrap();
    assert_eq!((second.sessions, second.memories), (1, 1));
    assert!(!kit.brief(&cwd, "a").contains("QUARTZ_PORT"));
    assert_eq!(kit.engine.session(&kit.owner, "s1").unwrap_err().problem, Problem::NotFound);
}

#[test]
fn pages_are_stable_and_complete() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for n in 0..7 {
        let topic = format!("topic-{n}");
        let request = MemoryRequest {
            topic_key: Some(topic.clone()),
            ..at(&cwd, &format!("Fact number {n} about {topic}."))
        };
        kit.engine.add(&kit.owner, &request).unwrap();
    }
    let mut request = ListRequest { reader: reader(&cwd, "a"), limit: 3, ..Default::default() };
    let mut seen: Vec<MemoryId> = Vec::new();
    loop {
        let page = kit.engine.memories(&kit.owner, &request).unwrap();
        seen.extend(page.items.into_iter().map(|memory| memory.id));
        match page.next {
            Some(next) => request.cursor = Some(next),
            None => break,
        }
    }
    let mut unique = seen.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((seen.len(), unique.len()), (7, 7));
    request.cursor = Some("nonsense".to_owned());
    assert_eq!(kit.engine.memories(&kit.owner, &request).unwrap_err().problem, Problem::Invalid);
}

#[test]
fn owners_never_see_each_other() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let mine = kit.engine.add(&kit.owner, &at(&cwd, "The vault code is in the red binder.")).unwrap().memory;
    let other = "local:2".into();
    assert_eq!(kit.engine.memory(&other, &mine.id).unwrap_err().problem, Problem::NotFound);
    assert_eq!(
        kit.engine.forget(&other, &Forget::Memory(mine.id.clone()), true).unwrap_err().problem,
        Problem::NotFound
    );
    kit.engine.forget(&other, &Forget::All, true).unwrap();
    kit.engine.project_of(&other, &cwd).unwrap();
    let request = doze_engine::SearchRequest {
        reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
        everywhere: true,
        query: "vault".to_owned(),
        history: true,
        ..Default::default()
    };
    assert!(kit.engine.search(&other, &request).unwrap().hits.is_empty());
    assert_eq!(kit.found(&cwd, "vault").len(), 1);
}

#[test]
fn an_office_fact_added_by_hand_passes_the_office_rule() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = |body: &str| MemoryRequest {
        space: Some(Space::Agent),
        agent: Some(agent("alex")),
        reader: reader(&cwd, "alex"),
        ..at(&cwd, body)
    };
    let first = kit.engine.add(&kit.owner, &fact("red green blue yellow")).unwrap();
    let other = kit.engine.add(&kit.owner, &fact("red green blue purple")).unwrap();
    assert_eq!(
        (first.outcome, other.outcome),
        (AddOutcome::Added, AddOutcome::Added),
        "0.6 exactly is new (S0.28)"
    );
    let again = kit.engine.add(&kit.owner, &fact("red green blue yellow")).unwrap();
    assert_eq!((again.outcome, again.memory.reinforce_count), (AddOutcome::Reinforced, 2));
}

#[test]
fn what_contradicts_a_person_waits_for_review() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let by_person = MemoryRequest { by_person: true, ..at(&cwd, "The staging API listens on port 5432.") };
    kit.engine.add(&kit.owner, &by_person).unwrap();
    let propose = || kit.engine.add(&kit.owner, &at(&cwd, "The staging API listens on port 5433.")).unwrap();
    let proposed = propose();
    assert_eq!((proposed.outcome, proposed.memory.status), (AddOutcome::Proposed, Status::Proposed));
    assert_eq!(kit.found(&cwd, "staging port"), ["The staging API listens on port 5432."]);
    assert!(!kit.brief(&cwd, "a").contains("5433"));
    let id = proposed.memory.id;
    assert_eq!(kit.engine.review(&kit.owner, &id, true, false).unwrap_err().problem, Problem::Refused);
    let accepted = kit.engine.review(&kit.owner, &id, true, true).unwrap();
    assert_eq!((accepted.status, accepted.verification), (Status::Active, Verification::Human));
    assert_eq!(kit.engine.review(&kit.owner, &id, true, true).unwrap_err().problem, Problem::Invalid);
    let bank = MemoryRequest { space: Some(Space::Bank), ..at(&cwd, "b") };
    assert_eq!(kit.engine.add(&kit.owner, &bank).unwrap_err().problem, Problem::Refused);
}

#[test]
fn no_detour_of_an_agent_leads_round_the_person() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let by_person = MemoryRequest { by_person: true, ..at(&cwd, "The staging API listens on port 5432.") };
    kit.engine.add(&kit.owner, &by_person).unwrap();
    let proposed = kit.engine.add(&kit.owner, &at(&cwd, "The staging API listens on port 5433.")).unwrap();
    let proposed = proposed.memory.id;
    let other =
        kit.engine.add(&kit.owner, &at(&cwd, "Releases are cut from the main branch.")).unwrap().memory;
    let condemned = kit.engine.add(&kit.owner, &at(&cwd, "Fixtures live in tests/data.")).unwrap().memory;
    kit.engine.feedback(&kit.owner, &condemned.id, Verdict::Wrong, true).unwrap();
    let edit =
        EditRequest { body: Some("The staging API listens on port 5434.".to_owned()), ..Default::default() };
    let refused = [
        kit.engine.feedback(&kit.owner, &proposed, Verdict::Stale, false),
        kit.engine.feedback(&kit.owner, &proposed, Verdict::Helpful, false),
        kit.engine.reinstate(&kit.owner, &condemned.id, false),
        kit.engine.feedback(&kit.owner, &condemned.id, Verdict::Stale, false),
        kit.engine.edit(&kit.owner, &other.id, &edit, false),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().problem, Problem::Refused);
    }
    // What an agent put out of force may come back, but not against what a person has said since.
    let old = kit.engine.add(&kit.owner, &at(&cwd, "The nightly job starts at 3 o'clock.")).unwrap().memory;
    kit.engine.feedback(&kit.owner, &old.id, Verdict::Stale, false).unwrap();
    let since = MemoryRequest { by_person: true, ..at(&cwd, "The nightly job starts at 4 o'clock.") };
    kit.engine.add(&kit.owner, &since).unwrap();
    assert_eq!(kit.engine.reinstate(&kit.owner, &old.id, false).unwrap_err().problem, Problem::Refused);
    assert_eq!(kit.engine.reinstate(&kit.owner, &condemned.id, true).unwrap().status, Status::Active);
}

#[test]
fn an_agent_changes_nothing_that_the_user_said_in_a_session() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let rule = "From now on, always run the migrations before the tests.";
    let rounds = (0..4).flat_map(|round| {
        let text = if round == 0 { rule.to_owned() } else { format!("do part {round}") };
        [prompt(2 * round, &text), answer(2 * round + 1, "That part is in place.")]
    });
    kit.commit(turn("s1", "x", &cwd, rounds.collect()));
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    let list = ListRequest { everywhere: true, limit: 10, ..Default::default() };
    let learned = kit.engine.memories(&kit.owner, &list).unwrap().items.remove(0);
    assert!(learned.body.contains("run the migrations") && !learned.is_protected(), "{learned:?}");

    let edit = EditRequest { body: Some("Never run the migrations.".to_owned()), ..Default::default() };
    let refused = [
        kit.engine.edit(&kit.owner, &learned.id, &edit, false).map(drop),
        kit.engine.feedback(&kit.owner, &learned.id, Verdict::Wrong, false).map(drop),
        kit.engine.feedback(&kit.owner, &learned.id, Verdict::Stale, false).map(drop),
        kit.engine.forget(&kit.owner, &Forget::Memory(learned.id.clone()), false).map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().problem, Problem::Refused);
    }
    // That it helped is no change of what was said, and the person may do everything.
    kit.engine.feedback(&kit.owner, &learned.id, Verdict::Helpful, false).unwrap();
    kit.engine.edit(&kit.owner, &learned.id, &edit, true).unwrap();
}

#[test]
fn while_memory_is_off_or_paused_only_a_person_changes_anything() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let id = kit.engine.add(&kit.owner, &at(&cwd, "Run the linter first.")).unwrap().memory.id;
    let stale = kit.engine.add(&kit.owner, &at(&cwd, "Seeds run after the migrations.")).unwrap().memory.id;
    kit.engine.feedback(&kit.owner, &stale, Verdict::Stale, false).unwrap();
    let attempts = |by_person| {
        let edit = EditRequest { body: Some("Run the linter last.".to_owned()), ..Default::default() };
        let dream = DreamRequest { by_hand: true, ..Default::default() };
        [
            kit.engine.edit(&kit.owner, &id, &edit, by_person).map(|_| ()),
            kit.engine.feedback(&kit.owner, &id, Verdict::Helpful, by_person).map(|_| ()),
            kit.engine.reinstate(&kit.owner, &stale, by_person).map(|_| ()),
            kit.engine.confirm(&kit.owner, &id, &"b".into()).map(|_| ()),
            kit.engine.dream(&kit.owner, &dream).map(|_| ()),
        ]
    };
    kit.engine.pause(&kit.owner, None).unwrap();
    for refused in attempts(false) {
        assert_eq!(refused.unwrap_err().problem, Problem::Refused);
    }
    kit.engine.resume(&kit.owner).unwrap();
    kit.engine.set_switches(&kit.owner, Switches { memory_enabled: false, ..Switches::default() });
    for refused in attempts(false) {
        assert_eq!(refused.unwrap_err().problem, Problem::Refused);
    }
    let of_person = attempts(true);
    assert!(of_person[..3].iter().all(Result::is_ok), "{of_person:?}");
}

#[test]
fn confirming_notes_another_agent_once() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "Remember: seeds run after the migrations.")]));
    let all = ListRequest { reader: reader(&cwd, "a"), limit: 10, ..Default::default() };
    let id = kit.engine.memories(&kit.owner, &all).unwrap().items.remove(0).id;
    let confirmed = |agent: &str| kit.engine.confirm(&kit.owner, &id, &agent.into()).unwrap().confirmed_by;
    assert!(confirmed("a").is_empty(), "an agent does not confirm itself");
    assert_eq!(confirmed("b"), ["b"]);
    assert_eq!(confirmed("b"), ["b"]);
    let anybody = Reader { cwd: Some(cwd.clone()), ..Default::default() };
    let by_words = kit
        .engine
        .confirm_words(&kit.owner, &anybody, "Seeds run after the migrations", &"c".into())
        .unwrap();
    assert_ne!(by_words.id, id, "two found it, so the project shares it by now");
    assert_eq!(
        (by_words.scope.space(), by_words.confirmed_by),
        (Space::Project, vec!["a".into(), "b".into(), "c".into()])
    );
    let unknown = kit.engine.confirm_words(&kit.owner, &anybody, "something else entirely", &"c".into());
    assert_eq!(unknown.unwrap_err().problem, Problem::NotFound);
}

#[test]
fn a_forgotten_text_is_nowhere_in_the_store() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = |id| vec![prompt(id, "Note: the tamarillo gateway needs a client certificate.")];
    kit.commit(turn("s1", "a", &cwd, fact(1)));
    assert_eq!(kit.commit(turn("s2", "b", &cwd, fact(2))).facts.promoted, 1);
    kit.engine.dream(&kit.owner, &doze_engine::DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    let all = ListRequest { everywhere: true, status: StatusFilter::All, limit: 10, ..Default::default() };
    let mut records = kit.engine.memories(&kit.owner, &all).unwrap().items;
    kit.engine.forget(&kit.owner, &Forget::Memory(records.remove(0).id), true).unwrap();
    assert!(kit.engine.memories(&kit.owner, &all).unwrap().items.is_empty(), "every copy went with it");
    // Compaction waits for the index's reader; every quiet time tries again.
    let is_gone = (0..1_000).any(|_| {
        kit.engine.tidy(&kit.owner).unwrap();
        !kit.store_bytes().windows(9).any(|window| window == b"tamarillo")
    });
    assert!(is_gone);
}

#[test]
fn a_title_made_from_the_body_follows_it_and_one_that_was_given_stays() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let edited = |title: Option<&str>, body: &str| {
        let request = MemoryRequest { title: title.map(str::to_owned), ..at(&cwd, body) };
        let memory = kit.engine.add(&kit.owner, &request).unwrap().memory;
        let edit =
            EditRequest { body: Some("The broker listens on 1884 in CI.".to_owned()), ..Default::default() };
        kit.engine.edit(&kit.owner, &memory.id, &edit, true).unwrap().title
    };
    assert_eq!(edited(None, "Use pnpm for every install."), "The broker listens on 1884 in CI.");
    let long = "Migrations run before the seed script, because it reads a column that only they add to it.";
    assert_eq!(edited(None, long), "The broker listens on 1884 in CI.");
    assert_eq!(edited(Some("Broker port"), "Port 1883 serves the message broker."), "Broker port");
}

#[test]
fn a_memory_goes_by_any_end_or_beginning_of_its_id_that_is_its_alone() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let add = |n: u32| {
        let request = MemoryRequest {
            title: Some(format!("Heron {n}")),
            body: format!("Herons of sort {n} eat {} fish a day.", n * 3),
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap().memory.id
    };
    let find = |given: &str| kit.engine.memory_id(&kit.owner, given);
    let first = add(1);
    let text = first.as_str();
    assert_eq!(find(&text[..8]).unwrap(), first, "the beginning, as long as it is the only one");
    let others: Vec<_> = (2..9).map(add).collect();
    for id in [&first, others.last().unwrap()] {
        for part in [id.as_str(), &id.as_str()[24..], &id.as_str()[4..], &id.as_str()[24..].to_uppercase()] {
            assert_eq!(find(part).unwrap(), *id, "{part}");
        }
    }
    let error = find(&text[..8]).unwrap_err();
    assert_eq!(error.problem, Problem::Invalid);
    assert!(
        error.message.contains(&format!("{first} (Heron 1)")) && error.message.ends_with(" and more"),
        "{error}"
    );
    assert_eq!(error.message.matches(&text[..8]).count(), 6, "it and five candidates: {error}");
    // Too short, no part of an id, or nobody's: found by nothing.
    for none in [&text[33..], "", "fish", "beef0bad", "%", "\u{fc}\u{fc}"] {
        let found = find(none).and_then(|id| kit.engine.memory(&kit.owner, &id));
        assert_eq!(found.unwrap_err().problem, Problem::NotFound, "{none}");
    }
    let stranger = kit.engine.memory_id(&"local:2".into(), &text[24..]);
    assert_eq!(stranger.unwrap_err().problem, Problem::NotFound, "one owner's ids are not another's");
}

#[test]
fn an_empty_topic_key_takes_the_key_away() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let keyed = MemoryRequest { topic_key: Some("port".to_owned()), ..at(&cwd, "the port is 8080") };
    let first = kit.engine.add(&kit.owner, &keyed).unwrap().memory;
    let edit = EditRequest { topic_key: Some(String::new()), ..Default::default() };
    assert_eq!(kit.engine.edit(&kit.owner, &first.id, &edit, true).unwrap().topic_key, None);
    let again = MemoryRequest { body: "the port is 9090 now".to_owned(), ..keyed };
    assert_ne!(kit.engine.add(&kit.owner, &again).unwrap().memory.id, first.id, "the key is free again");
}
