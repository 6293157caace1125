use doze_core::model::{Kind, SessionEnd, Space, WorkStatus};
use doze_core::render::recovery::{FIRST_LINE, LAST_LINE};
use doze_engine::{
    BriefRequest, ContextRequest, MemoryRequest, Reader, RecoverRequest, SearchRequest, Switches,
    TaskRequest, TaskStatus, WorkRequest,
};

use crate::kit::{Kit, agent, answer, prompt, reader, turn};

#[test]
fn a_resumed_session_is_not_told_twice_but_a_compacted_one_is() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "Note: the staging API listens on port 5433.")]));
    let told = |source: &str| {
        let request = BriefRequest {
            reader: reader(&cwd, "a"),
            session: Some("next".to_owned()),
            source: Some(source.to_owned()),
            inject: true,
            ..Default::default()
        };
        !kit.engine.brief(&kit.owner, &request).unwrap().text.is_empty()
    };
    assert_eq!(
        ["resume", "startup", "resume", "compact", "clear"].map(told),
        [true, true, false, true, true]
    );
    let last = kit.engine.last_brief(&kit.owner, None).unwrap();
    assert!(last.text.contains("5433"));
    let id = last.memories[0].clone();
    assert_eq!(kit.engine.why(&kit.owner, &id).unwrap().shown, 4);
}

#[test]
fn what_stands_in_the_instruction_files_is_left_out() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let add = |body: &str| {
        let request = MemoryRequest {
            body: body.to_owned(),
            kind: Some(Kind::Convention),
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap();
    };
    add("Every handler returns a typed error.");
    add("Migrations are generated, never edited by hand.");
    std::fs::write(format!("{cwd}/CLAUDE.md"), "# Rules\n- Every handler returns a typed error.\n").unwrap();
    let brief = kit.brief(&cwd, "a");
    assert!(brief.contains("Migrations") && !brief.contains("typed error"), "{brief}");
}

#[test]
fn nothing_is_captured_or_injected_while_paused_ignored_or_off() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let say = |session: &str| {
        kit.commit(turn(session, "a", &cwd, vec![prompt(1, "Note: the broker needs a license.")]))
    };
    kit.engine.pause(&kit.owner, Some(3600)).unwrap();
    assert!(say("s1").extraction.contains("paused"));
    kit.pass(jiff::SignedDuration::from_hours(2));
    assert_eq!(say("s2").events.new, 1, "the pause is over");
    assert!(!kit.brief(&cwd, "a").is_empty());
    kit.engine.ignore_project(&kit.owner, &cwd, true).unwrap();
    assert!(kit.brief(&cwd, "a").is_empty() && say("s3").extraction.contains("ignored"));
    kit.engine.ignore_project(&kit.owner, &cwd, false).unwrap();
    kit.engine.set_switches(&kit.owner, Switches { memory_enabled: false, ..Switches::default() });
    assert!(kit.brief(&cwd, "a").is_empty() && say("s4").extraction.contains("off"));
}

#[test]
fn recovery_prefers_the_work_state_and_a_commit_clears_only_its_own() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let work = |session: &str, activity: &str| {
        let request = WorkRequest {
            agent: Some(agent("alex")),
            reader: reader(&cwd, "alex"),
            session: Some(session.to_owned()),
            task_prompt: Some(format!("Build the {session} page")),
            last_activity: Some(activity.to_owned()),
            touch: vec!["src/app.tsx".to_owned()],
            ..Default::default()
        };
        kit.engine.set_work(&kit.owner, &request).unwrap()
    };
    work("one", "Edit src/app.tsx");
    kit.pass(jiff::SignedDuration::from_mins(1));
    let state = work("two", "Bash: npm test");
    assert_eq!((state.work.status, state.work.files_touched.len()), (WorkStatus::Running, 1));
    let recover = RecoverRequest { reader: reader(&cwd, "alex"), ..Default::default() };
    let found = kit.engine.recover(&kit.owner, &recover).unwrap();
    assert!(
        found.told.text.starts_with(FIRST_LINE) && found.told.text.ends_with(LAST_LINE),
        "{}",
        found.told.text
    );
    assert!(found.told.text.contains("two page"));
    assert_eq!((found.session.as_deref(), found.others), (Some("two"), vec!["one".to_owned()]));
    let mut done = turn("two", "alex", &cwd, vec![answer(1, "SUMMARY: the second page is built")]);
    done.end = SessionEnd::Session;
    kit.commit(done);
    let found = kit.engine.recover(&kit.owner, &recover).unwrap();
    assert_eq!(found.session.as_deref(), Some("one"), "the other run is still open");
    kit.engine.clear_work(&kit.owner, &recover.reader, None).unwrap();
    let found = kit.engine.recover(&kit.owner, &recover).unwrap();
    assert!(found.told.text.contains("second page"), "{}", found.told.text);
}

#[test]
fn the_office_reads_its_knowledge_and_its_roster() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn(
        "s",
        "alex",
        &cwd,
        vec![
            prompt(1, "The user prefers solid borders over dashed ones everywhere."),
            answer(2, "SUMMARY: borders are solid now\nCommitted `ad8ed51`"),
        ],
    ));
    let request = ContextRequest { reader: reader(&cwd, "alex"), ..Default::default() };
    let context = kit.engine.context(&kit.owner, &request).unwrap().told.text;
    assert!(context.contains("===== AGENT KNOWLEDGE =====\nPreference: "), "{context}");
    let roster = kit.engine.roster(&kit.owner, &reader(&cwd, "alex"), &[]).unwrap().told.text;
    assert!(roster.starts_with("[alex] Last: \"borders are solid now\" (commit ad8ed51) — "), "{roster}");
    let idle = kit.engine.roster(&kit.owner, &reader(&cwd, "alex"), &["sam".into()]).unwrap().told.text;
    assert_eq!(idle, "[sam] idle (no recent activity)");
}

#[test]
fn history_is_searched_when_asked_and_a_window_lists_what_happened() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn(
        "s",
        "a",
        &cwd,
        vec![prompt(1, "why is the kumquat exporter slow?"), answer(2, "It buffers.")],
    ));
    let search = |query: &str, history, since: Option<&str>| {
        let request = SearchRequest {
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            query: query.to_owned(),
            history,
            since: since.map(|text| text.parse().unwrap()),
            ..Default::default()
        };
        kit.engine.search(&kit.owner, &request).unwrap().hits
    };
    assert!(search("kumquat", false, None).is_empty());
    let hits = search("kumquat", true, None);
    assert!(
        hits.iter()
            .any(|hit| hit.memory.native_kind.as_deref() == Some("event") && hit.memory.id.as_str() == "s#0")
    );
    assert!(search("", true, None).is_empty());
    assert_eq!(search(" ", true, Some("2026-01-01T00:00:00Z")).len(), 3, "prompt, answer, summary");
    assert!(search("kumquat", true, Some("2027-01-01T00:00:00Z")).is_empty());
}

#[test]
fn a_deleted_index_is_rebuilt_and_nothing_is_lost() {
    let mut kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "Note: the persimmon service owns all invoices.")]));
    assert_eq!(kit.found(&cwd, "persimmon").len(), 1);
    kit.engine.close();
    std::fs::remove_dir_all(kit.index_folder()).unwrap();
    kit.reopen();
    assert_eq!(kit.found(&cwd, "persimmon").len(), 1);
    kit.reopen();
    assert_eq!(kit.found(&cwd, "persimmon").len(), 1, "and follows from where it was");
}

#[test]
fn no_query_is_an_error_and_the_limit_is_told() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for query in ["\"", "a AND (", "*", "field:x", "💥", "\u{0}", "中文", &"x".repeat(100_000)] {
        kit.found(&cwd, query);
    }
    for limit in [0, 101] {
        let request = SearchRequest { query: "x".to_owned(), limit, ..Default::default() };
        assert_eq!(kit.engine.search(&kit.owner, &request).unwrap_err().message, "limit is outside 1–100");
    }
}

#[test]
fn tasks_and_open_items_reach_the_brief() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn(
        "s",
        "a",
        &cwd,
        vec![
            prompt(1, "Note: the staging API listens on port 5433."),
            answer(2, "Done.\nRemaining: write the changelog"),
        ],
    ));
    let set = |id: &str, title: &str, status| {
        let request = TaskRequest {
            id: id.to_owned(),
            title: Some(title.to_owned()),
            status: Some(status),
            spec: None,
        };
        kit.engine.set_task(&kit.owner, &reader(&cwd, "a"), &request).unwrap();
    };
    set("1", "Fix the cart", TaskStatus::InProgress);
    set("2", "Paint the door", TaskStatus::Todo);
    set("3", "Ship the invoice page", TaskStatus::Review);
    let brief = kit.brief(&cwd, "a");
    for (text, is_there) in [
        ("Fix the cart", true),
        ("Paint the door", false),
        ("Ship the invoice page", true),
        ("write the changelog", true),
    ] {
        assert_eq!(brief.contains(text), is_there, "{text}: {brief}");
    }
    let rename = TaskRequest { id: "1".to_owned(), status: Some(TaskStatus::Done), ..Default::default() };
    let task = kit.engine.set_task(&kit.owner, &reader(&cwd, "a"), &rename).unwrap();
    assert_eq!((task.title.as_str(), task.status), ("Fix the cart", TaskStatus::Done));
    assert!(!kit.brief(&cwd, "a").contains("Fix the cart"));
}

#[test]
fn a_memory_whose_files_are_gone_is_found_last() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    std::fs::write(format!("{cwd}/here.rs"), "").unwrap();
    let add = |body: &str, file: &str| {
        let request = MemoryRequest {
            body: body.to_owned(),
            files: vec![file.to_owned()],
            reader: Reader { cwd: Some(cwd.clone()), ..Default::default() },
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap();
    };
    add("The parser keeps its tables in one place.", "gone.rs");
    add("The parser of the shop is generated by a script.", "here.rs");
    let found = kit.found(&cwd, "parser");
    assert_eq!(found.len(), 2);
    assert!(found[0].contains("generated"), "{found:?}");
}

#[test]
fn what_is_stored_stays_readable_while_memory_is_off() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    kit.commit(turn("s", "a", &cwd, vec![prompt(1, "Note: the staging API listens on port 5433.")]));
    kit.engine.set_switches(&kit.owner, Switches { memory_enabled: false, ..Switches::default() });
    assert_eq!(kit.found(&cwd, "staging").len(), 1);
    let list = doze_engine::ListRequest { reader: reader(&cwd, "a"), limit: 5, ..Default::default() };
    let memory = kit.engine.memories(&kit.owner, &list).unwrap().items.remove(0);
    kit.engine.forget(&kit.owner, &doze_engine::Forget::Memory(memory.id), true).unwrap();
    assert!(kit.found(&cwd, "staging").is_empty());
}

#[test]
fn who_stands_nowhere_searches_everywhere_and_who_stands_somewhere_only_there() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    kit.commit(turn("s1", "a", &shop, vec![prompt(1, "Note: the shop's falcon cache lives in Redis.")]));
    kit.commit(turn("s2", "b", &web, vec![prompt(2, "Note: the web falcon cache lives in memory.")]));
    kit.commit(turn("s3", "b", &web, vec![prompt(3, "the falcon word alone teaches nothing")]));
    let user = MemoryRequest {
        body: "I like falcon jokes.".to_owned(),
        space: Some(Space::User),
        ..Default::default()
    };
    kit.engine.add(&kit.owner, &user).unwrap();
    let find = |reader: Reader, history: bool| {
        let request =
            SearchRequest { reader, query: "falcon".to_owned(), history, limit: 50, ..Default::default() };
        let hits = kit.engine.search(&kit.owner, &request).unwrap().hits;
        let mut scopes: Vec<String> = hits.iter().map(|hit| hit.memory.scope.space().to_string()).collect();
        scopes.sort();
        (scopes.join(" "), hits)
    };
    let at = |cwd: &str| Reader { cwd: Some(cwd.to_owned()), ..Default::default() };
    assert_eq!(find(Reader::default(), false).0, "agent agent user");
    let nowhere = find(Reader::default(), true).1;
    assert!(nowhere.iter().any(|hit| hit.memory.body.contains("the falcon word alone")), "history too");
    for reader in [at(&shop), Reader { project: Some("shop".to_owned()), ..Default::default() }] {
        let (spaces, hits) = find(reader, true);
        assert!(spaces.contains("agent") && spaces.contains("user"), "{spaces}");
        assert!(
            hits.iter().all(|hit| !hit.memory.body.contains("web") && !hit.memory.body.contains("alone"))
        );
    }
    assert_eq!(find(at("/"), true).0, "user", "a folder that is no project is a place as well");
    let spaces = |spaces| Reader { spaces, ..Default::default() };
    assert_eq!(find(spaces(vec![Space::User]), false).0, "user");
    assert_eq!(find(spaces(vec![Space::Agent]), false).0, "agent agent");
    let agent = Reader { agent: Some("b".into()), ..Default::default() };
    let (found, hits) = find(agent, true);
    assert_eq!(found, "agent user", "an agent finds what is its own");
    assert!(hits.iter().all(|hit| !hit.memory.body.contains("shop")));
}

#[test]
fn a_brief_that_was_kept_tells_what_one_made_anew_tells() {
    let mut kit = Kit::new();
    let cwd = kit.project("shop");
    let kinds = [Kind::Decision, Kind::Lesson, Kind::Command, Kind::Convention, Kind::Fact];
    let add = |kit: &Kit, number: usize| {
        let request = MemoryRequest {
            body: format!("Queue q{number} feeds worker w{number}."),
            kind: Some(kinds[number % kinds.len()]),
            confidence: Some(0.1 + (number * 7 % 90) as f64 / 100.0),
            reader: reader(&cwd, "a"),
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap().memory.id
    };
    // More than a brief looks at.
    let mut ids: Vec<_> = (0..420).map(|number| add(&kit, number)).collect();
    for round in 0..6 {
        kit.brief(&cwd, "a");
        kit.pass(jiff::SignedDuration::from_mins(1));
        // Said again, taken away, added; in one round so many that what is kept does not do any more.
        let gone = if round == 3 { 60 } else { 3 };
        add(&kit, 40 * round);
        for id in ids.split_off(ids.len() - gone) {
            kit.engine.forget(&kit.owner, &doze_engine::Forget::Memory(id), true).unwrap();
        }
        ids.push(add(&kit, 1_000 + round));
        let kept = kit.brief(&cwd, "a");
        kit.reopen();
        assert_eq!(kept, kit.brief(&cwd, "a"), "round {round}");
        assert!(kept.contains("Queue q"));
    }
}
