//! Whose a session is, what a commit is, and what a folder that is read in again may change.

use std::fs;
use std::path::PathBuf;

use doze_core::model::{Outcome, SessionEnd, TaskRef, Tokens, WorkStatus};
use doze_engine::{
    CommitAnswer, CommitRequest, ContextRequest, Forget, ImportForm, ImportRequest, Imported, Reader,
    RecoverRequest, SessionListRequest, SessionName, WorkRequest,
};
use serde_json::{Value, json};

use crate::kit::{Kit, agent, answer, prompt, reader, turn};

fn printed(session: &str, by: &str, cwd: &str, output: &str) -> CommitRequest {
    let mut request = turn(session, by, cwd, Vec::new());
    (request.end, request.output) = (SessionEnd::Session, Some(output.to_owned()));
    request
}

fn set_work(kit: &Kit, cwd: &str, by: &str, session: &str, prompt: &str) {
    let request = WorkRequest {
        agent: Some(agent(by)),
        reader: reader(cwd, by),
        session: Some(session.to_owned()),
        task_prompt: Some(prompt.to_owned()),
        ..Default::default()
    };
    kit.engine.set_work(&kit.owner, &request).unwrap();
}

fn states(kit: &Kit, cwd: &str, by: &str) -> usize {
    kit.engine.works(&kit.owner, &reader(cwd, by)).unwrap().len()
}

fn told(kit: &Kit, cwd: &str, by: &str, session: Option<&str>) -> String {
    let request =
        RecoverRequest { reader: reader(cwd, by), session: session.map(str::to_owned), ..Default::default() };
    kit.engine.recover(&kit.owner, &request).unwrap().told.text
}

fn did(kit: &Kit, cwd: &str, by: &str) -> Vec<String> {
    let request = SessionListRequest { reader: reader(cwd, by), limit: 50, ..Default::default() };
    let page = kit.engine.sessions(&kit.owner, &request).unwrap();
    page.items.into_iter().filter_map(|session| Some(session.summary?.what)).collect()
}

#[test]
fn a_session_of_the_same_name_of_another_agent_or_project_is_another_session() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    let runs = [("alex", &shop), ("sam", &shop), ("alex", &web)];
    let commit = |by: &str, cwd: &str, n: usize| {
        let said = format!("SUMMARY: {by} built part {n} in {}", cwd.rsplit('/').next().unwrap());
        kit.commit(printed("1", by, cwd, &said))
    };
    for (n, (by, cwd)) in runs.into_iter().enumerate() {
        set_work(&kit, cwd, by, "1", "go on");
        let done: CommitAnswer = commit(by, cwd, n);
        assert_eq!((done.session.as_str(), done.events.new, done.is_repeat), ("1", 1, false));
        assert!(done.summary.what.contains(&format!("{by} built part {n}")), "{done:?}");
        assert_eq!(states(&kit, cwd, by), 0);
    }
    for (n, (by, cwd)) in runs.into_iter().enumerate() {
        assert!(commit(by, cwd, n).is_repeat, "a retry is one");
        let done = did(&kit, cwd, by);
        assert!(done.len() == 1 && done[0].contains(&format!("{by} built part {n}")), "{done:?}");
        assert!(told(&kit, cwd, by, Some("1")).contains(&done[0]));
    }
    assert_eq!(told(&kit, &web, "sam", Some("1")), "", "nobody is told of another project's session");
    // It goes on as what it is.
    kit.engine.append(&kit.owner, turn("1", "sam", &shop, vec![answer(5, "one more word")])).unwrap();
    kit.commit(printed("1", "sam", &shop, "SUMMARY: sam went on with it"));
    assert_eq!(did(&kit, &shop, "sam"), ["sam went on with it"]);
    assert!(did(&kit, &shop, "alex")[0].contains("part 0"));
}

#[test]
fn a_session_stays_what_it_is_when_the_name_is_free_again_and_names_that_look_like_marks_are_others() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    kit.commit(printed("1", "alex", &shop, "SUMMARY: alex built the gate"));
    kit.commit(printed("1", "sam", &shop, "SUMMARY: sam built the wall"));
    let of_alex =
        SessionName { session: "1".to_owned(), agent: Some("alex".into()), ..SessionName::default() };
    let plain = Forget::Session { session: of_alex, memories: false };
    kit.engine.forget(&kit.owner, &plain, true).unwrap();
    kit.commit(printed("1", "sam", &shop, "SUMMARY: sam went on with the wall"));
    assert_eq!(did(&kit, &shop, "sam"), ["sam went on with the wall"], "it is one session");
    kit.commit(printed("build~0123456789ab", "sam", &shop, "SUMMARY: sam built another thing"));
    assert_eq!(told(&kit, &shop, "sam", Some("build")), "");
}

#[test]
fn a_session_goes_by_the_id_that_a_list_shows_as_by_the_name_its_agent_gave_it() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    kit.commit(printed("same", "alex", &shop, "SUMMARY: alex built the gate"));
    for (by, cwd) in [("sam", &shop), ("alex", &web)] {
        kit.commit(printed("same", by, cwd, &format!("SUMMARY: {by} built the wall")));
        let list = SessionListRequest { reader: reader(cwd, by), limit: 9, ..Default::default() };
        let shown = kit.engine.sessions(&kit.owner, &list).unwrap().items.remove(0).key.session;
        assert!(shown.starts_with("same~"), "{shown}");
        for (told_as, done_as) in [("same", &*shown), (&*shown, "same"), (&*shown, &*shown)] {
            set_work(&kit, cwd, by, told_as, "the job that crashed");
            for name in ["same", &*shown] {
                assert!(told(&kit, cwd, by, Some(name)).contains("the job that crashed"), "{told_as} {name}");
                kit.engine.work(&kit.owner, &reader(cwd, by), Some(name)).unwrap();
            }
            assert_eq!(states(&kit, cwd, by), 1, "it is one");
            let done = format!("SUMMARY: {by} did the job told as {} and {}", told_as.len(), done_as.len());
            assert_eq!(kit.commit(printed(done_as, by, cwd, &done)).session, done_as);
            assert_eq!(states(&kit, cwd, by), 0, "{told_as} {done_as}");
        }
        assert_eq!(did(&kit, cwd, by).len(), 1, "{by}");
        set_work(&kit, cwd, by, "same", "one more");
        assert_eq!(kit.engine.clear_work(&kit.owner, &reader(cwd, by), Some(&shown)).unwrap(), 1);
    }
    assert_eq!(did(&kit, &shop, "alex"), ["alex built the gate"]);
}

#[test]
fn a_harness_keeps_its_session_wherever_it_moves_and_whichever_helper_speaks() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    for (n, (by, cwd)) in [("test", &shop), ("test/Explore", &shop), ("test", &web)].into_iter().enumerate() {
        kit.commit(turn("3f1c", by, cwd, vec![answer(n as i64, &format!("word {n}"))]));
    }
    assert_eq!(kit.engine.session(&kit.owner, "3f1c").unwrap().event_count, 3);
}

#[test]
fn a_commit_that_differs_in_anything_is_kept_and_a_retry_changes_nothing_but_ends_the_run() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let same = || printed("s", "alex", &cwd, "All done. Tests pass.");
    let task = |id: &str| TaskRef { id: id.to_owned(), ..TaskRef::default() };
    let commits = [
        same(),
        CommitRequest { tokens: Some(Tokens { input: 10, output: 5 }), ..same() },
        CommitRequest { task: Some(task("T-1")), ..same() },
        CommitRequest { task: Some(task("T-2")), ..same() },
        CommitRequest { outcome: Some(Outcome::Failed), ..same() },
        CommitRequest { end: SessionEnd::Turn, ..same() },
    ];
    for request in &commits {
        assert!(!kit.commit(request.clone()).is_repeat, "{request:?}");
    }
    let turns = kit.engine.session(&kit.owner, "s").unwrap().turns;
    for request in &commits {
        assert!(kit.commit(request.clone()).is_repeat, "{request:?}");
    }
    let session = kit.engine.session(&kit.owner, "s").unwrap();
    assert_eq!((session.turns, turns, session.summary.unwrap().tokens.input), (6, 6, 0));
    assert_eq!(
        kit.engine.session(&kit.owner, "s~task-3").unwrap().summary.unwrap().tokens.input,
        10,
        "they were those of the task before"
    );
    // The next task of the session ends with the same words.
    set_work(&kit, &cwd, "alex", "s", "the next task");
    assert!(kit.commit(same()).is_repeat);
    assert_eq!(states(&kit, &cwd, "alex"), 0, "its run is over");
    // An old copy out of a spool says nothing of the run that is on now.
    let spooled = CommitRequest { commit_id: Some("c".to_owned()), ..same() };
    kit.commit(spooled.clone());
    set_work(&kit, &cwd, "alex", "s", "the run after that");
    assert!(kit.commit(spooled).is_repeat);
    assert_eq!(states(&kit, &cwd, "alex"), 1);
}

#[test]
fn each_task_of_a_session_has_a_summary_of_its_own() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let commit = |task: &str, output: &str, input: u64| {
        let request = printed("main-session", "alex", &cwd, output);
        let id = task.to_owned();
        let task = TaskRef { prompt: format!("do {task}"), id, ..TaskRef::default() };
        let tokens = Some(Tokens { input, output: 1 });
        kit.pass(jiff::SignedDuration::from_mins(1));
        kit.commit(CommitRequest { task: Some(task), tokens, ..request }).summary
    };
    commit("T1", "SUMMARY: task one began\nTODO: the second half of one", 10);
    assert_eq!(commit("T1", "SUMMARY: task one ended nicely", 5).tokens.input, 15, "it is one task");
    let two = commit("T2", "SUMMARY: task two began\nTODO: more of two", 3);
    assert_eq!((two.what.as_str(), two.tokens.input), ("task two began", 3));
    assert!(!format!("{two:?}").contains("half of one"), "{two:?}");
    let two = commit("T2", "SUMMARY: task two ended nicely", 4);
    assert_eq!((two.tokens.input, two.request.as_str()), (7, "do T2"));
    assert_eq!(did(&kit, &cwd, "alex"), ["task two ended nicely", "task one ended nicely"]);
    commit("T1", "SUMMARY: task one once more", 1);
    assert_eq!(
        did(&kit, &cwd, "alex"),
        ["task one once more", "task two ended nicely", "task one ended nicely"]
    );
    let context = ContextRequest { reader: reader(&cwd, "alex"), ..Default::default() };
    assert_eq!(kit.engine.context(&kit.owner, &context).unwrap().sessions.len(), 3);
    let text = told(&kit, &cwd, "alex", None);
    assert!(text.contains("one once more") && !text.contains("task two"), "{text}");
    // It is one session still: by a beginning of its name, and when it is forgotten.
    assert_eq!(kit.engine.session(&kit.owner, "main-s").unwrap().turns, 5);
    let forget = Forget::Session { session: "main-session".into(), memories: false };
    assert_eq!(kit.engine.forget(&kit.owner, &forget, true).unwrap().sessions, 1);
    assert!(did(&kit, &cwd, "alex").is_empty());
}

#[test]
fn what_is_said_again_in_another_session_counts_though_every_word_is_the_same() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let said = "Important: deploys go through the staging cluster first.\nSUMMARY: deployed the service";
    let commit = |session: &str, by: &str| kit.commit(printed(session, by, &cwd, said)).facts;
    assert_eq!(commit("1", "alex").added, 1);
    assert_eq!(commit("2", "alex").reinforced, 1);
    let third = commit("3", "alex");
    assert_eq!((third.reinforced, third.promoted), (1, 1), "the third sighting shares it");
    let note = "Note: the queue worker must run on a single node only.";
    kit.commit(printed("4", "kim", &cwd, note));
    assert_eq!(kit.commit(printed("5", "sam", &cwd, note)).facts.promoted, 1, "two found it on their own");
}

#[test]
fn a_task_that_broke_off_is_not_told_once_a_later_session_ended_well() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    set_work(&kit, &cwd, "alex", "A", "the OLD task that crashed");
    kit.pass(jiff::SignedDuration::from_mins(5));
    let mut broken = printed("B", "alex", &cwd, "trying");
    broken.outcome = Some(Outcome::Failed);
    kit.commit(broken);
    assert!(told(&kit, &cwd, "alex", None).contains("OLD task"), "that one did not end well");
    kit.pass(jiff::SignedDuration::from_mins(5));
    kit.commit(printed("C", "alex", &cwd, "SUMMARY: finished the NEW task cleanly"));
    let text = told(&kit, &cwd, "alex", None);
    assert!(text.contains("NEW task") && !text.contains("OLD task"), "{text}");
    assert!(told(&kit, &cwd, "alex", Some("A")).contains("OLD task"), "by its name it is still told");
    kit.pass(jiff::SignedDuration::from_mins(5));
    let mut broken = printed("C2", "alex", &cwd, "SUMMARY: the next one went wrong");
    broken.outcome = Some(Outcome::Failed);
    kit.commit(broken);
    let text = told(&kit, &cwd, "alex", None);
    assert!(text.contains("went wrong") && !text.contains("OLD task"), "it was given up for good: {text}");
    // One that runs beside another is told although the other ended.
    for (session, task) in [("D", "the task beside it"), ("E", "the short task")] {
        set_work(&kit, &cwd, "alex", session, task);
    }
    kit.pass(jiff::SignedDuration::from_mins(5));
    set_work(&kit, &cwd, "alex", "D", "the task beside it");
    kit.commit(printed("E", "alex", &cwd, "SUMMARY: the short one is done"));
    assert!(told(&kit, &cwd, "alex", None).contains("the task beside it"));
}

#[test]
fn a_run_that_ends_in_a_pause_is_over_and_another_task_begins_anew() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    set_work(&kit, &cwd, "alex", "A", "the task before the pause");
    kit.engine.pause(&kit.owner, None).unwrap();
    kit.commit(printed("A", "alex", &cwd, "SUMMARY: done while nothing is kept"));
    kit.engine.resume(&kit.owner).unwrap();
    assert_eq!((states(&kit, &cwd, "alex"), did(&kit, &cwd, "alex").len()), (0, 0));

    set_work(&kit, &cwd, "alex", "B", "the task that fails");
    let mut failed = printed("B", "alex", &cwd, "it went wrong");
    failed.outcome = Some(Outcome::Failed);
    kit.commit(failed);
    set_work(&kit, &cwd, "alex", "B", "the next task");
    let work = kit.engine.works(&kit.owner, &reader(&cwd, "alex")).unwrap().remove(0);
    assert_eq!((work.status, work.task_prompt.as_deref()), (WorkStatus::Running, Some("the next task")));
}

#[test]
fn a_run_that_quits_is_interrupted_until_it_goes_on() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let commit = |end: SessionEnd, text: &str| {
        let mut request = printed("s", "alex", &cwd, text);
        request.end = end;
        kit.commit(request);
        kit.engine.session(&kit.owner, "s").unwrap().outcome
    };
    assert_eq!(commit(SessionEnd::Quit, "partial work on the login page"), Outcome::Interrupted);
    let roster = || kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &[]).unwrap().told.text;
    assert!(roster().contains("\" — interrupted, "), "{}", roster());
    assert_eq!(commit(SessionEnd::Session, "SUMMARY: the login page is done"), Outcome::Success);
    assert!(!roster().contains("interrupted"), "{}", roster());
}

#[test]
fn agents_that_find_the_same_at_once_share_it_and_none_is_lost() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let agents: Vec<String> = (0..12).map(|n| format!("agent-{n:02}")).collect();
    let begin = std::sync::Barrier::new(agents.len());
    std::thread::scope(|scope| {
        for by in &agents {
            let (kit, cwd, begin) = (&kit, &cwd, &begin);
            scope.spawn(move || {
                let own = format!("Note: the module of {by} keeps its cache in a folder called {by}.");
                for (n, said) in
                    ["Note: the queue worker must run on a single node only.", &own].into_iter().enumerate()
                {
                    begin.wait();
                    kit.commit(printed(&format!("{by}-{n}"), by, cwd, said));
                }
            });
        }
    });
    let request = ContextRequest { reader: reader(&cwd, "agent-00"), ..Default::default() };
    let shared = kit.engine.context(&kit.owner, &request).unwrap().shared;
    let [fact] = shared.as_slice() else { panic!("one fact is everybody's: {shared:#?}") };
    let mut finders = fact.confirmed_by.clone();
    finders.sort();
    assert_eq!(finders, agents);
    let again = kit.commit(printed(
        "agent-00-0",
        "agent-00",
        &cwd,
        "Note: the queue worker must run on a single node only.",
    ));
    assert!(again.is_repeat && again.facts.added == 1, "{again:?}");
}

#[test]
fn agents_that_change_a_number_at_once_all_stand_by_what_they_say() {
    let kit = Kit::new();
    let agents: Vec<String> = (0..24).map(|n| format!("agent-{n:02}")).collect();
    for project in ["shop", "blog", "till", "depot"] {
        let cwd = kit.project(project);
        std::thread::scope(|scope| {
            for by in &agents {
                let (kit, cwd) = (&kit, &cwd);
                scope.spawn(move || {
                    for n in 0..3 {
                        let said = format!("Note: the ledger keeps {} copies for all the agents.", n + 2);
                        kit.commit(printed(&format!("{by}-{project}-{n}"), by, cwd, &said));
                    }
                });
            }
        });
        let context = |by: &str| {
            let request = ContextRequest { reader: reader(&cwd, by), ..Default::default() };
            kit.engine.context(&kit.owner, &request).unwrap()
        };
        let shared = context("nobody").shared;
        assert!(!shared.is_empty());
        for by in &agents {
            for own in context(by).facts {
                let same = shared.iter().find(|shared| shared.body == own.body);
                assert!(same.is_none_or(|shared| shared.confirmed_by.contains(by)), "{by}: {shared:#?}");
            }
        }
    }
}

#[test]
fn a_roster_of_many_agents_tells_the_latest_and_how_many_more_there_are() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for n in 0..60 {
        let by = format!("a{n:02}");
        kit.commit(printed(&by, &by, &cwd, &format!("SUMMARY: member {n} finished its part")));
        kit.pass(jiff::SignedDuration::from_secs(1));
    }
    let roster = kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &[]).unwrap();
    assert_eq!((roster.agents.len(), roster.more), (50, 10));
    assert!(roster.told.text.starts_with("[a59] ") && roster.told.text.ends_with("\n(+10 more agents)"));
    let named = kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &["a03".into()]).unwrap();
    assert_eq!((named.agents.len(), named.more), (1, 0));
}

#[test]
fn a_state_told_while_nothing_is_kept_says_so() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let told = || {
        let request =
            WorkRequest { agent: Some(agent("alex")), reader: reader(&cwd, "alex"), ..Default::default() };
        kit.engine.set_work(&kit.owner, &request).unwrap().skipped
    };
    kit.engine.pause(&kit.owner, Some(60)).unwrap();
    assert!(told().unwrap().starts_with("paused until "));
    assert_eq!(states(&kit, &cwd, "alex"), 0);
    kit.engine.resume(&kit.owner).unwrap();
    assert_eq!((told(), states(&kit, &cwd, "alex")), (None, 1));
}

/// The memory of an office with two agents.
fn tree(kit: &Kit, count: u32) -> PathBuf {
    let root = kit.path("office");
    let at = |day: u32| format!("2026-01-{day:02}T10:00:00.000Z");
    let summary = |day: u32| {
        json!({"timestamp": at(day), "what": format!("finished the page of day {day}"), "decisions": [],
               "filesChanged": [], "unfinished": [], "commits": [], "tokens": {"input": 1, "output": 1}})
    };
    let fact = |n: u32, count: u32| {
        json!({"id": format!("f{n}"), "category": "workflow_habit", "createdAt": at(1), "lastSeen": at(2),
               "fact": format!("Always run the check called stage-{n} before committing"), "reinforceCount": count})
    };
    let patterns: Vec<Value> = (0..25)
        .map(|n| json!({"pattern": format!("case {n} is not handled"), "count": n + 1, "lastSeen": 1_760_000_000_000_i64}))
        .collect();
    let files = [
        ("sessions/g.json", json!({"latest": summary(3), "history": [summary(3), summary(2)]})),
        ("sessions/h.json", json!({"history": [summary(4)]})),
        ("agents/g.json", json!({"agentId": "g", "facts": [fact(1, count), fact(2, 1)]})),
        (
            "shared.json",
            json!({"items": [{"id": "s", "fact": "This repo uses pnpm workspaces", "source": "g",
                              "confirmedBy": ["g"], "createdAt": at(1)}]}),
        ),
        (
            "work-state/g.json",
            json!({"startedAt": at(1), "updatedAt": at(1), "status": "running", "taskPrompt": "an old task",
                   "summary": "x", "nextSteps": [], "unfinished": [], "filesTouched": []}),
        ),
        (
            "memory.json",
            json!({"reviewPatterns": patterns, "techPreferences": (0..12).map(|n| format!("T{n}")).collect::<Vec<_>>(),
                   "projectHistory": [{"summary": "Game", "completedAt": 1_760_000_000_000_i64, "reviewPassed": true,
                                       "ratings": {"visual": 99, "creativity": 4, "engagement": 0.5}}]}),
        ),
    ];
    for (place, value) in files {
        let path = root.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    }
    root
}

fn import(kit: &Kit, root: &std::path::Path, cwd: &str) -> Imported {
    let request = ImportRequest {
        path: root.to_string_lossy().into_owned(),
        form: ImportForm::Office,
        cwd: Some(cwd.to_owned()),
        ..Default::default()
    };
    kit.engine.import(&kit.owner, &request).unwrap()
}

fn counts(kit: &Kit, cwd: &str) -> Vec<u32> {
    let request = ContextRequest { reader: reader(cwd, "g"), ..Default::default() };
    kit.engine.context(&kit.owner, &request).unwrap().facts.iter().map(|fact| fact.reinforce_count).collect()
}

#[test]
fn a_folder_read_into_a_second_project_is_whole_there_and_again_changes_nothing() {
    let kit = Kit::new();
    let root = tree(&kit, 2);
    for name in ["shop", "web"] {
        let cwd = kit.project(name);
        let first = import(&kit, &root, &cwd);
        assert_eq!(did(&kit, &cwd, "g").len(), 2, "{name}: {first:?}");
        assert_eq!(did(&kit, &cwd, "h").len(), 1, "{name}: {first:?}");
        let again = import(&kit, &root, &cwd);
        assert_eq!((again.added, again.read), (0, first.read), "{name}: {again:?}");
    }
}

#[test]
fn a_folder_read_again_brings_nothing_back_and_lowers_no_count() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let root = tree(&kit, 2);
    let first = import(&kit, &root, &cwd);
    assert_eq!(first.left_out, 7, "five patterns and two preferences beyond what is kept: {first:?}");
    assert!(first.problems.iter().any(|problem| problem.contains("ratings.visual is outside 1 to 5")));
    let learned = kit.engine.learned(&kit.owner).unwrap();
    assert_eq!(learned.projects[0].ratings, [("creativity".to_owned(), 4.0)]);
    assert_eq!(counts(&kit, &cwd), [2, 1]);
    // The run that the program had left there ends here.
    assert!(told(&kit, &cwd, "g", None).contains("an old task"));
    kit.commit(turn("s", "g", &cwd, vec![prompt(1, "go on"), answer(2, "SUMMARY: it is done now")]));
    import(&kit, &root, &cwd);
    assert_eq!(states(&kit, &cwd, "g"), 0, "a run that is over does not run again");
    // The program has counted on meanwhile; then it is reset.
    tree(&kit, 7);
    import(&kit, &root, &cwd);
    assert_eq!(counts(&kit, &cwd), [7, 1]);
    tree(&kit, 1);
    assert_eq!(import(&kit, &root, &cwd).added, 0);
    assert_eq!(counts(&kit, &cwd), [7, 1]);
    // What was changed here is not brought back as it was.
    let list =
        doze_engine::ListRequest { reader: Reader { ..reader(&cwd, "g") }, limit: 9, ..Default::default() };
    let memories = kit.engine.memories(&kit.owner, &list).unwrap().items;
    let one = memories.iter().find(|memory| memory.body.contains("stage-2")).unwrap();
    let edit = doze_engine::EditRequest { body: Some("Stage two is gone".to_owned()), ..Default::default() };
    kit.engine.edit(&kit.owner, &one.id, &edit, true).unwrap();
    assert_eq!(import(&kit, &root, &cwd).added, 0);
    assert_eq!(counts(&kit, &cwd).len(), 2);
}

#[test]
fn a_folder_that_leads_out_of_the_tree_is_not_followed_and_damaged_letters_are_named() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let root = tree(&kit, 2);
    let elsewhere = kit.path("elsewhere");
    fs::rename(root.join("agents"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, root.join("agents")).unwrap();
    fs::write(
        root.join("sessions/l.json"),
        b"{\"history\":[{\"timestamp\":\"2026-01-05T10:00:00Z\",\"what\":\"caf\xe9 page\"}]}",
    )
    .unwrap();
    let done = import(&kit, &root, &cwd);
    let named = |text: &str| done.problems.iter().any(|problem| problem.contains(text));
    assert!(
        named("agents: it is a link") && named("sessions/l.json: it is not UTF-8 at 1 place;"),
        "{done:?}"
    );
    assert!(counts(&kit, &cwd).is_empty());
    assert_eq!(did(&kit, &cwd, "l").len(), 1);
}

/// Runs of one agent's session, each of another task.
fn with_tasks(kit: &Kit, cwd: &str, by: &str, session: &str, tasks: &[(&str, &str)]) {
    for (id, output) in tasks {
        let task = Some(TaskRef { id: (*id).to_owned(), ..TaskRef::default() });
        kit.pass(jiff::SignedDuration::from_mins(1));
        kit.commit(CommitRequest { task, ..printed(session, by, cwd, output) });
    }
}

#[test]
fn the_record_of_an_ended_task_replaces_no_session_and_none_of_another_name() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    kit.commit(printed("job~task-1", "victim", &web, "SUMMARY: precious work of the victim"));
    kit.commit(printed("job~task-2", "alex", &shop, "SUMMARY: precious work of alex"));
    with_tasks(
        &kit,
        &shop,
        "alex",
        "job",
        &[("A", "SUMMARY: did task A"), ("B", "SUMMARY: did task B"), ("C", "SUMMARY: did task C")],
    );
    assert_eq!(did(&kit, &web, "victim"), ["precious work of the victim"]);
    assert_eq!(did(&kit, &shop, "alex"), ["did task C", "did task B", "did task A", "precious work of alex"]);
    let forget = |session: &str| {
        let what = Forget::Session { session: session.into(), memories: false };
        kit.engine.forget(&kit.owner, &what, true).unwrap()
    };
    forget("job");
    assert_eq!(did(&kit, &shop, "alex"), ["precious work of alex"], "that is no task of it");
    assert_eq!(did(&kit, &web, "victim"), ["precious work of the victim"]);
    // Names that begin alike as far as a mark lets them be kept.
    for name in ["1", "2"].map(|end| format!("{}{end}", "n".repeat(511))) {
        let said = |task: &str| format!("SUMMARY: did task {task} of {}", &name[511..]);
        let (a, b) = (said("A"), said("B"));
        with_tasks(&kit, &shop, &format!("w{}", &name[511..]), &name, &[("A", &a), ("B", &b)]);
        with_tasks(&kit, &shop, "one", &name, &[("A", &a), ("B", &b)]);
    }
    assert_eq!(did(&kit, &shop, "w1"), ["did task B of 1", "did task A of 1"]);
    assert_eq!(did(&kit, &shop, "w2"), ["did task B of 2", "did task A of 2"]);
    assert_eq!(did(&kit, &shop, "one").len(), 4);
}

#[test]
fn a_late_commit_of_one_task_leaves_the_work_state_of_another() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let begin = |task: &str, prompt: &str| {
        let request = WorkRequest {
            agent: Some(agent("alex")),
            reader: reader(&cwd, "alex"),
            session: Some("s".to_owned()),
            task_id: Some(task.to_owned()),
            task_prompt: Some(prompt.to_owned()),
            ..Default::default()
        };
        kit.engine.set_work(&kit.owner, &request).unwrap();
    };
    let end = |task: &str, outcome: Outcome| {
        let task = Some(TaskRef { id: task.to_owned(), ..TaskRef::default() });
        let said = format!("SUMMARY: an end of {task:?} as {outcome:?}");
        kit.commit(CommitRequest { task, outcome: Some(outcome), ..printed("s", "alex", &cwd, &said) });
    };
    begin("A", "write the lexer");
    begin("B", "write the parser");
    for outcome in [Outcome::Success, Outcome::Failed] {
        end("A", outcome);
        let work = kit.engine.works(&kit.owner, &reader(&cwd, "alex")).unwrap();
        assert_eq!((work.len(), work[0].status), (1, WorkStatus::Running), "{outcome:?}");
        assert!(told(&kit, &cwd, "alex", None).contains("write the parser"), "{outcome:?}");
    }
    end("B", Outcome::Failed);
    let work = kit.engine.works(&kit.owner, &reader(&cwd, "alex")).unwrap();
    assert_eq!(work[0].status, WorkStatus::Failed, "that is its own end");
    end("B", Outcome::Success);
    assert_eq!(states(&kit, &cwd, "alex"), 0);
}

#[test]
fn what_a_run_printed_last_counts_beside_events_and_once() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let output = "Important: the lights of the yard are switched by a timer.\nSUMMARY: the job is done";
    let table = [
        (vec![prompt(1, "do it please")], 2),
        (vec![answer(2, "some earlier answer")], 2),
        (vec![prompt(3, "do it now"), answer(4, &format!("{output}\n"))], 2),
        (vec![], 1),
    ];
    for (n, (events, expected)) in table.into_iter().enumerate() {
        let (session, by) = (format!("run-{n}"), format!("agent-{n}"));
        let request = CommitRequest { events, ..printed(&session, &by, &cwd, output) };
        let done = kit.commit(request);
        assert_eq!((done.events.new, done.facts.added), (expected, 1), "{n}: {done:?}");
        assert_eq!(done.summary.what, "the job is done");
        let recover = RecoverRequest { reader: reader(&cwd, &by), ..Default::default() };
        let messages = kit.engine.recover(&kit.owner, &recover).unwrap().messages;
        let last = messages.last().map(|message| message.text.clone()).unwrap_or_default();
        assert!(last.contains("switched by a timer"), "{n}: {messages:?}");
    }
}
