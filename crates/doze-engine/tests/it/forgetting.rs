//! What forgetting takes and what it leaves: the session that is meant, every sentence that says it, what comes in
//! meanwhile, and copies in other words.

use doze_core::model::{AgentRef, Face, Memory, SessionEnd, Status, TaskRef};
use doze_engine::{
    CommitRequest, ContextRequest, DreamRequest, Forget, Forgotten, ListRequest, MemoryRequest, Problem,
    RecoverRequest, SearchRequest, SessionName, StatusFilter, TaskRequest, WorkRequest,
};

use crate::kit::{Kit, agent, answer, prompt, reader, turn};

fn all(kit: &Kit) -> Vec<Memory> {
    let request =
        ListRequest { everywhere: true, status: StatusFilter::All, limit: 500, ..Default::default() };
    kit.engine.memories(&kit.owner, &request).unwrap().items
}

fn that_says(kit: &Kit, words: &str) -> Memory {
    let mut found = all(kit);
    found.retain(|memory| memory.body.contains(words));
    assert!(!found.is_empty(), "{words}");
    found.remove(0)
}

fn forget(kit: &Kit, words: &str) -> Forgotten {
    let what = Forget::Memory(that_says(kit, words).id);
    kit.engine.forget(&kit.owner, &what, true).unwrap()
}

fn forget_session(kit: &Kit, session: impl Into<SessionName>) -> Result<Forgotten, doze_engine::EngineError> {
    let what = Forget::Session { session: session.into(), memories: true };
    kit.engine.forget(&kit.owner, &what, true)
}

fn said(session: &str, by: AgentRef, cwd: &str, id: i64, text: &str) -> CommitRequest {
    CommitRequest { agent: by, ..turn(session, "x", cwd, vec![prompt(id, text)]) }
}

fn harness(name: &str) -> AgentRef {
    AgentRef { id: name.into(), name: name.to_owned(), harness: name.to_owned() }
}

fn history(kit: &Kit, cwd: &str, word: &str) -> usize {
    let request = SearchRequest {
        reader: doze_engine::Reader { cwd: Some(cwd.to_owned()), ..Default::default() },
        query: word.to_owned(),
        history: true,
        ..Default::default()
    };
    kit.engine.search(&kit.owner, &request).unwrap().hits.len()
}

#[test]
fn what_an_earlier_session_said_holds_again_when_the_later_one_is_forgotten_with_its_memories() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for (session, id, port) in [("old", 1, 3000), ("mid", 2, 4000), ("new", 3, 5000)] {
        let rounds = (0..4).flat_map(|round| {
            let at = 20 * id + 2 * round;
            [prompt(at, &format!("do part {round} of {session}")), answer(at + 1, "That part is in place.")]
        });
        let told = prompt(20 * id + 10, &format!("The API listens on port {port}."));
        let events = rounds.chain([told]).collect();
        kit.commit(CommitRequest { agent: harness("codex"), ..turn(session, "x", &cwd, events) });
        kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    }
    let standing = |port: &str| -> Vec<Status> {
        let found = all(&kit).into_iter().filter(|memory| memory.body.contains(port));
        found.filter(|memory| memory.face == Face::Project).map(|memory| memory.status).collect()
    };
    let ports = || ["3000", "4000", "5000"].map(standing);
    assert_eq!(ports(), [vec![Status::Superseded], vec![Status::Superseded], vec![Status::Active]]);
    // The one in the middle leaves no gap.
    forget_session(&kit, "mid").unwrap();
    assert_eq!(ports(), [vec![Status::Superseded], vec![], vec![Status::Active]]);
    forget_session(&kit, "new").unwrap();
    assert_eq!(ports(), [vec![Status::Active], vec![], vec![]]);
}

#[test]
fn of_sessions_with_one_name_only_the_one_that_is_meant_goes() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    let runs = [
        (harness("claude-code"), &shop, "the walnut service is restarted by hand"),
        (harness("codex"), &web, "the ledger uses serialisable isolation everywhere"),
        (agent("alex"), &shop, "the zanzibar gateway needs a client certificate"),
        (agent("alex"), &web, "the osprey queue needs a broker of its own"),
    ];
    for (n, (by, cwd, fact)) in runs.iter().enumerate() {
        kit.commit(said("main-1", by.clone(), cwd, n as i64, &format!("Remember: {fact}.")));
    }
    let refused = forget_session(&kit, "main-1").unwrap_err();
    assert_eq!(refused.problem, Problem::Invalid);
    for part in
        ["main-1 fits 4 sessions", "main-1 of claude-code in project shop", "main-1 of codex in", "main-1~"]
    {
        assert!(refused.message.contains(part), "{part}: {}", refused.message);
    }
    assert!(refused.hint.contains("doze forget --session main-1 --agent "), "{}", refused.hint);
    let by = |agent: Option<&str>, harness: Option<&str>, project: Option<&str>| SessionName {
        session: "main-1".to_owned(),
        agent: agent.map(Into::into),
        harness: harness.map(str::to_owned),
        project: project.map(str::to_owned),
        cwd: None,
    };
    let of_alex = forget_session(&kit, by(Some("alex"), None, None)).unwrap_err();
    let (_, place) = of_alex.hint.split_once(" --in-project ").unwrap();
    let shown = by(Some("alex"), None, Some(place));
    assert!(kit.engine.find_project(&kit.owner, shown.project.as_deref().unwrap()).is_ok(), "{place}");
    assert_eq!(forget_session(&kit, by(Some("sam"), None, None)).unwrap_err().problem, Problem::NotFound);
    assert_eq!(all(&kit).len(), 4, "nothing has happened yet");

    let steps = [
        (by(None, Some("codex"), None), "ledger", &web),
        (by(Some("alex"), None, Some("shop")), "zanzibar", &shop),
        (by(Some("alex"), None, None), "osprey", &web),
        ("main-1".into(), "walnut", &shop),
    ];
    for (n, (named, word, cwd)) in steps.into_iter().enumerate() {
        assert!(history(&kit, cwd, word) > 0, "{word}");
        let gone = forget_session(&kit, named).unwrap();
        assert_eq!((gone.sessions, gone.memories), (1, 1), "{word}");
        assert!(all(&kit).len() == 3 - n && history(&kit, cwd, word) == 0, "{word}");
    }
}

#[test]
fn a_session_of_another_agent_under_a_name_that_is_free_again_keeps_its_past() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    kit.commit(said("main", agent("alex"), &shop, 1, "Remember: the walnut service is restarted by hand."));
    kit.pass(jiff::SignedDuration::from_mins(1));
    forget_session(&kit, "main").unwrap();
    let old = "Remember: the zanzibar gateway needs a client certificate.";
    assert_eq!(kit.commit(said("main", agent("sam"), &shop, 2, old)).events.new, 1, "it was never forgotten");
    let again = said("main", agent("alex"), &shop, 1, "Remember: the walnut service is restarted by hand.");
    assert_eq!(kit.commit(again).events.new, 0);
    // Evidence of a session that is gone is not looked for in the one that has its name now.
    kit.commit(said(
        "other",
        agent("kim"),
        &shop,
        3,
        "Remember: the osprey queue needs a broker of its own.",
    ));
    let what = Forget::Session { session: "other".into(), memories: false };
    kit.engine.forget(&kit.owner, &what, true).unwrap();
    kit.pass(jiff::SignedDuration::from_mins(1));
    let mut anew = said("other", agent("lee"), &shop, 4, "Please look at the heron page.");
    anew.events[0].at = None;
    kit.commit(anew);
    forget(&kit, "osprey");
    assert!(history(&kit, &shop, "heron") > 0);
}

#[test]
fn a_forgotten_session_takes_its_own_work_state_and_no_other() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    let runs = [("alex", &shop), ("sam", &shop), ("alex", &web)];
    for (n, (by, cwd)) in runs.into_iter().enumerate() {
        kit.commit(turn("1", by, cwd, vec![answer(n as i64, &format!("word {n} of it"))]));
        let request = WorkRequest {
            agent: Some(agent(by)),
            reader: reader(cwd, by),
            session: Some("1".to_owned()),
            ..Default::default()
        };
        kit.engine.set_work(&kit.owner, &request).unwrap();
    }
    let states = |by: &str, cwd: &str| kit.engine.works(&kit.owner, &reader(cwd, by)).unwrap().len();
    for (by, cwd, left) in [("sam", &shop, [1, 0, 1]), ("alex", &shop, [0, 0, 1])] {
        let named = SessionName {
            session: "1".to_owned(),
            agent: Some(by.into()),
            project: Some(cwd.clone()),
            ..SessionName::default()
        };
        forget_session(&kit, named).unwrap();
        assert_eq!(runs.map(|(by, cwd)| states(by, cwd)), left, "{by}");
    }
}

#[test]
fn what_was_forgotten_stands_in_no_summary_task_message_or_work_state_and_the_rest_stays() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = "the staging tenant of Acme Corp has the code name bluebird";
    let mut run = turn("a", "l1", &cwd, Vec::new());
    run.end = SessionEnd::Session;
    run.output = Some(format!(
        "Important: {fact}.\nSUMMARY: Set up the pages. Wrote down that {fact}, then fixed nine tests. All is green.\n\
         TODO: tell sam that {fact}\nTODO: bump the version"
    ));
    run.task = Some(TaskRef {
        id: "T1".into(),
        title: "Pages".into(),
        spec: String::new(),
        prompt: format!("Build the pages. Remember that {fact}."),
    });
    kit.commit(run);
    kit.commit(turn(
        "b",
        "l2",
        &cwd,
        vec![answer(5, &format!("The form works. As noted, {fact}. Tests pass."))],
    ));
    let work = WorkRequest {
        agent: Some(agent("l2")),
        reader: reader(&cwd, "l2"),
        session: Some("b".to_owned()),
        task_prompt: Some(format!("Note that {fact}. Build the search page.")),
        next_steps: Some(vec![format!("write that {fact}"), "ship it".to_owned()]),
        last_activity: Some("ran the tests".to_owned()),
        ..Default::default()
    };
    kit.engine.set_work(&kit.owner, &work).unwrap();
    let task = TaskRequest {
        id: "T2".into(),
        title: Some("Docs".into()),
        spec: Some(format!("Say there: {fact}\nSay who pays.")),
        ..Default::default()
    };
    kit.engine.set_task(&kit.owner, &reader(&cwd, "x"), &task).unwrap();

    let gone = forget(&kit, "bluebird");
    assert!(gone.lines >= 7, "{gone:?}");
    let told = |session: &str, by: &str| {
        let request = RecoverRequest {
            reader: reader(&cwd, by),
            session: Some(session.to_owned()),
            ..Default::default()
        };
        kit.engine.recover(&kit.owner, &request).unwrap()
    };
    let sessions: Vec<_> =
        ["a", "b"].into_iter().map(|name| kit.engine.session(&kit.owner, name).unwrap()).collect();
    let tasks = kit.engine.tasks(&kit.owner, &reader(&cwd, "x")).unwrap();
    let left = format!("{sessions:?} {tasks:?} {:?} {:?}", told("a", "l1"), told("b", "l2"));
    assert!(!left.contains("bluebird"), "{left}");
    for kept in [
        "All is green.",
        "bump the version",
        "Build the pages.",
        "The form works.",
        "Tests pass.",
        "Build the search page.",
        "ship it",
        "ran the tests",
        "Say who pays.",
    ] {
        assert!(left.contains(kept), "{kept}: {left}");
    }
    assert_eq!((history(&kit, &cwd, "bluebird"), history(&kit, &cwd, "form") > 0), (0, true));
    // The next commit of the session tells of it anew, from what is left.
    kit.commit(turn("a", "l1", &cwd, vec![answer(9, "SUMMARY: went on with the pages")]));
    assert!(!format!("{:?}", kit.engine.session(&kit.owner, "a").unwrap()).contains("bluebird"));
}

#[test]
fn a_commit_in_flight_does_not_bring_back_what_is_forgotten_meanwhile() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    let fact = "Remember: the zanzibar gateway needs a client certificate.";
    kit.commit(turn("s", "alex", &cwd, vec![prompt(1, fact)]));
    let id = that_says(&kit, "zanzibar").id;
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    // The commit draws the id of its own fact after it has looked whether that was forgotten.
    meddler.at_random(move || {
        engine.forget(&owner, &Forget::Memory(id), true).unwrap();
    });
    let done = kit.commit(turn("t", "sam", &cwd, vec![prompt(2, fact)]));
    assert!(meddler.is_done() && done.facts.added == 0, "{done:?}");
    assert_eq!(all(&kit), []);
}

#[test]
fn what_was_kept_while_it_was_being_forgotten_goes_as_well() {
    let (kit, meddler) = Kit::disturbed();
    let cwd = kit.project("shop");
    let fact = "Remember: the zanzibar gateway needs a client certificate.";
    kit.commit(turn("s", "alex", &cwd, vec![prompt(1, fact)]));
    let (engine, owner) = (kit.engine.clone(), kit.owner.clone());
    let between = turn("t", "sam", &cwd, vec![prompt(2, fact)]);
    // The first forget draws a key after it has read the spaces, and nobody had that one before.
    meddler.at_random(move || {
        assert_eq!(engine.commit(&owner, between).unwrap().facts.added, 1);
    });
    let gone = forget(&kit, "zanzibar");
    assert!(meddler.is_done() && all(&kit).is_empty(), "{gone:?} {:?}", all(&kit));
}

#[test]
fn a_fact_that_fellows_say_in_other_words_is_one_and_is_forgotten_in_all_of_them() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let says = |session: &str, by: &str, id: i64, text: &str| {
        kit.commit(turn(session, by, &cwd, vec![answer(id, text)])).facts
    };
    says("x", "x", 1, "Important: always run the linter before committing.");
    // More than six words in ten are common.
    assert_eq!(says("y", "y", 2, "Note: always run the linter right before committing.").promoted, 1);
    let request = ContextRequest { reader: reader(&cwd, "z"), ..Default::default() };
    let shared = kit.engine.context(&kit.owner, &request).unwrap().shared;
    assert!(shared.len() == 1 && shared[0].confirmed_by.contains(&"y".to_owned()), "{shared:?}");
    let what = Forget::Memory(shared[0].id.clone());
    assert_eq!(kit.engine.forget(&kit.owner, &what, true).unwrap().memories, 3);
    assert_eq!(all(&kit), []);
    for (n, text) in
        ["always run the linter before committing.", "always run the linter right before committing."]
            .into_iter()
            .enumerate()
    {
        assert_eq!(says(&format!("q{n}"), "q", 5 + n as i64, &format!("Note: {text}")).added, 0, "{text}");
    }
}

#[test]
fn a_memory_of_a_person_in_other_words_stays() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let by_hand = |body: &str, by_person: bool| {
        let request = MemoryRequest {
            body: body.to_owned(),
            by_person,
            reader: reader(&cwd, "a"),
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap();
    };
    by_hand("Always run the linter before committing", true);
    kit.commit(turn("y", "y", &cwd, vec![answer(2, "Note: always execute linters before each commit.")]));
    forget(&kit, "execute linters");
    let left = all(&kit);
    assert!(left.len() == 1 && left[0].body.contains("run the linter"), "{left:?}");
}

#[test]
fn a_forgotten_session_takes_its_tasks_also_one_that_went_on_by_its_listed_name() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let run = |session: &str, task: Option<&str>, said: &str| {
        let task = task.map(|id| TaskRef { id: id.to_owned(), ..TaskRef::default() });
        let output = Some(format!("SUMMARY: {said}"));
        kit.pass(jiff::SignedDuration::from_mins(1));
        kit.commit(CommitRequest { task, output, ..turn(session, "k", &cwd, Vec::new()) });
    };
    run("s3", Some("A"), "the secret plan A");
    run("s3", Some("B"), "the plan B");
    run("s3~task-1", None, "the secret plan A went on");
    run("s3~task-1", Some("C"), "the secret plan C beside it");
    run("s3~task-7", None, "a session that is no task");
    assert_eq!(forget_session(&kit, "s3").unwrap().events, 4);
    let list = doze_engine::SessionListRequest { reader: reader(&cwd, "k"), limit: 9, ..Default::default() };
    let left = kit.engine.sessions(&kit.owner, &list).unwrap().items;
    assert_eq!(left.iter().map(|session| &*session.key.session).collect::<Vec<_>>(), ["s3~task-7"]);
    assert!(!kit.brief(&cwd, "k").contains("plan"));
}

#[test]
fn a_session_of_no_project_and_one_of_an_odd_name_are_told_by_the_hint() {
    let kit = Kit::at_home();
    let (home, shop) = (kit.path("home"), kit.project("shop"));
    std::fs::create_dir_all(&home).unwrap();
    let home = home.canonicalize().unwrap().to_string_lossy().into_owned();
    let run = |session: &str, by: AgentRef, cwd: &str| {
        let fact = format!("Remember: the walnut service of {} is restarted by hand.", by.name);
        kit.commit(said(session, by, cwd, 1, &fact));
    };
    let command = |named: SessionName| forget_session(&kit, named).unwrap_err().hint;
    run("both-1", agent("alex"), &home);
    run("both-1", agent("alex"), &shop);
    let hint = kit.engine.session(&kit.owner, "both-1").unwrap_err().hint;
    assert!(hint.ends_with("doze digest both-1 --in-project ''"), "{hint}");
    let hint = command("both-1".into());
    assert!(hint.ends_with("doze forget --session both-1 --in-project ''"), "{hint}");
    let outside = SessionName { project: Some(String::new()), ..SessionName::from("both-1") };
    assert_eq!(forget_session(&kit, outside.clone()).unwrap().sessions, 1);
    assert_eq!(forget_session(&kit, outside).unwrap_err().problem, Problem::NotFound);
    assert_eq!(forget_session(&kit, "both-1").unwrap().sessions, 1, "the other one is alone now");

    run("both-2", agent("alex"), &shop);
    run("both-2", agent("alex"), &home);
    let hint = command("both-2".into());
    assert!(hint.contains("--in-project shop"), "{hint}");
    run("it's; two", agent("alex"), &shop);
    run("it's; two", agent("sam"), &shop);
    let hint = command("it's; two".into());
    assert!(hint.ends_with(r"doze forget --session 'it'\''s; two' --agent alex"), "{hint}");
    run("--all", agent("alex"), &shop);
    run("--all", AgentRef { harness: "codex".to_owned(), ..agent("alex") }, &shop);
    let hint = command("--all".into());
    assert!(hint.contains("doze forget --session=--all --harness "), "{hint}");
    assert!(hint.ends_with("''") || hint.ends_with("codex"), "{hint}");
    let hint = kit.engine.digest(&kit.owner, "--all").unwrap_err().hint;
    assert!(hint.contains("doze digest --harness ") && hint.ends_with(" -- --all"), "{hint}");
}

#[test]
fn what_an_agent_forgets_takes_nothing_from_the_person_now_or_later() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let rule = "From now on, always run the migrations before the tests.";
    let by_agent =
        || MemoryRequest { body: rule.to_owned(), reader: reader(&cwd, "builder"), ..Default::default() };
    let add = || kit.engine.add(&kit.owner, &by_agent()).unwrap().memory.id;
    let forgotten = kit.engine.forget(&kit.owner, &Forget::Memory(add()), false).unwrap();
    assert_eq!(forgotten.memories, 1);
    // The person says it in a session.
    let rounds = (0..4).flat_map(|round| {
        let text = if round == 0 { rule.to_owned() } else { format!("do part {round}") };
        [prompt(2 * round, &text), answer(2 * round + 1, "That part is in place.")]
    });
    kit.commit(turn("s1", "x", &cwd, rounds.collect()));
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    that_says(&kit, "run the migrations");

    // An agent's copy of it goes without it.
    let space = Some(doze_core::model::Space::Agent);
    let copy = MemoryRequest { space, agent: Some(agent("builder")), ..by_agent() };
    let copy = kit.engine.add(&kit.owner, &copy).unwrap().memory.id;
    let forgotten = kit.engine.forget(&kit.owner, &Forget::Memory(copy), false);
    assert!(forgotten.is_ok_and(|gone| gone.memories == 1));
    that_says(&kit, "run the migrations");

    // A person's forgetting keeps it out, whoever forgot it before.
    forget(&kit, "run the migrations");
    let again = CommitRequest { agent: harness("codex"), ..turn("s2", "x", &cwd, vec![prompt(50, rule)]) };
    kit.commit(again);
    kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    assert_eq!(all(&kit), []);
}

#[test]
fn what_another_session_said_as_well_outlives_the_forgotten_one() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let rule = "From now on, always run the migrations before the tests.";
    for (session, first) in [("s1", 0), ("s2", 20)] {
        let rounds = (0..4).flat_map(|round| {
            let text = if round == 0 { rule.to_owned() } else { format!("do part {round}") };
            [prompt(first + 2 * round, &text), answer(first + 2 * round + 1, "That part is in place.")]
        });
        kit.commit(turn(session, "x", &cwd, rounds.collect()));
        kit.pass(jiff::SignedDuration::from_hours(1));
        kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
    }
    assert_eq!(that_says(&kit, "run the migrations").source.events.len(), 2);
    assert_eq!(forget_session(&kit, "s1").unwrap().memories, 0);
    let left = that_says(&kit, "run the migrations");
    assert_eq!((left.source.session.as_deref(), left.evidence_count), (Some("s2"), 1));
    assert!(left.source.events.iter().all(|event| event.starts_with("s2#")), "{left:?}");
    assert_eq!(forget_session(&kit, "s2").unwrap().memories, 1);
    assert_eq!(all(&kit), []);
}

#[test]
fn a_session_that_is_brought_after_its_words_were_forgotten_comes_without_them() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let rule = "Always page Zenobia before a release.";
    kit.commit(said("now", harness("codex"), &cwd, 1, rule));
    forget(&kit, "Zenobia");
    let text = format!("Look at the changelog first. {rule} Then tag the build.");
    let old = said("old", harness("claude-code"), &cwd, 2, &text);
    assert_eq!(kit.commit(old.clone()).events.new, 1);
    assert_eq!(history(&kit, &cwd, "Zenobia"), 0);
    assert_ne!(history(&kit, &cwd, "changelog"), 0);
    // Told again it is the same event.
    let again = CommitRequest { commit_id: Some("again".to_owned()), ..old };
    assert_eq!(kit.commit(again).events.new, 0);
    // What is said after it was forgotten is another matter: it stands where it was said.
    kit.commit(said("later", harness("codex"), &cwd, 700, &text));
    assert_ne!(history(&kit, &cwd, "Zenobia"), 0);
}

#[test]
fn an_agent_brings_nothing_back_that_a_person_forgot() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = "the vault of Zenobia holds the gateway keys";
    let tell = |session: &str, output: &str| {
        let output = Some(output.to_owned());
        kit.commit(CommitRequest { output, ..turn(session, "q", &cwd, Vec::new()) })
    };
    tell("one", &format!("Note: {fact}"));
    forget(&kit, "Zenobia");
    let again = tell("two", &format!("Note: {fact}\nSUMMARY: wrote the notes"));
    assert_eq!((again.facts.added, again.summary.what.contains("Zenobia")), (0, false));
    assert!(!tell("three", &format!("SUMMARY: {fact}")).summary.what.contains("Zenobia"));
    assert_eq!(history(&kit, &cwd, "Zenobia"), 0);
    let work = WorkRequest {
        agent: Some(agent("q")),
        reader: reader(&cwd, "q"),
        summary: Some(fact.to_owned()),
        ..Default::default()
    };
    assert!(!kit.engine.set_work(&kit.owner, &work).unwrap().work.summary.contains("Zenobia"));
    let mut add = MemoryRequest {
        body: fact.to_owned(),
        agent: Some(agent("q")),
        reader: reader(&cwd, "q"),
        ..Default::default()
    };
    assert_eq!(kit.engine.add(&kit.owner, &add).unwrap_err().problem, Problem::Refused);
    add.by_person = true;
    assert!(kit.engine.add(&kit.owner, &add).is_ok());
}

#[test]
fn forgotten_words_stay_out_however_they_are_quoted_capitalised_or_asked_for() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let tell = |session: &str, fact: &str| {
        let output = Some(format!("Note: {fact}"));
        kit.commit(CommitRequest { output, ..turn(session, "q", &cwd, Vec::new()) }).facts.added
    };
    assert_eq!(tell("one", "Run the script `zenobia.sh` before every release"), 1);
    forget(&kit, "zenobia.sh");
    let again = [
        "Please run the script zenobia.sh before every release.",
        "run the script \"Zenobia.sh\" before every release, please!",
    ];
    for (n, fact) in again.into_iter().enumerate() {
        assert_eq!(tell(&format!("again{n}"), fact), 0, "{fact}");
    }
    assert_eq!(tell("other", "Run the script `zenobia.sh` after every release"), 1, "another word");
}

#[test]
fn what_was_forgotten_of_a_project_stays_out_in_the_one_it_became_part_of() {
    let kit = Kit::new();
    let (old, new) = (kit.project("old"), kit.project("new"));
    let rule = "Always page Zenobia before a release.";
    kit.commit(said("one", harness("codex"), &old, 1, rule));
    forget(&kit, "Zenobia");
    kit.commit(said("two", harness("codex"), &new, 2, "Always tag the build after a release."));
    kit.engine.merge_projects(&kit.owner, &old, &new).unwrap();
    assert_eq!(kit.commit(said("three", harness("codex"), &new, 3, rule)).facts.added, 0);
}

#[test]
fn a_title_that_says_little_is_anybodys_after_its_memory_was_forgotten() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let add = |body: &str| {
        let request = MemoryRequest {
            title: Some("Ports".to_owned()),
            body: body.to_owned(),
            reader: reader(&cwd, "a"),
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap()
    };
    add("The gateway of Zenobia listens on 4000.");
    forget(&kit, "Zenobia");
    add("The parcel API listens on 3000.");
    kit.commit(said("s", harness("codex"), &cwd, 700, "Ports matter here. Look at the Ports of the shop."));
    assert_ne!(history(&kit, &cwd, "Ports"), 0);
}

#[test]
fn a_forgotten_project_does_not_come_back_with_its_sessions() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let told = said("one", harness("codex"), &cwd, 1, "Always page Zenobia before a release.");
    kit.commit(told.clone());
    kit.engine.forget(&kit.owner, &Forget::Project(cwd.clone()), true).unwrap();
    kit.commit(CommitRequest { commit_id: Some("again".to_owned()), ..told });
    assert_eq!((all(&kit), history(&kit, &cwd, "Zenobia")), (vec![], 0));
}

#[test]
fn a_session_that_is_older_replaces_nothing() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(said("new", harness("codex"), &cwd, 50, "Note: the parcel API listens on port 4000."));
    let older =
        kit.commit(said("old", harness("codex"), &cwd, 5, "Note: the parcel API listens on port 3000."));
    assert_eq!(older.facts.added, 0);
    assert!(that_says(&kit, "4000").status == Status::Active);
}
