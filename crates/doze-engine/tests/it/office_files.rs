//! The folder of the original office program, read and written (S0.7, S0.8, S0.42).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use doze_core::model::{AgentId, SessionEnd, Status, Verification, WorkStatus};
use doze_engine::{
    ContextRequest, EngineError, Exported, Forget, ImportForm, ImportRequest, Imported, ListRequest, Problem,
    RecoverRequest, SessionListRequest, StatusFilter, WorkRequest,
};
use serde_json::{Value, json};

use crate::kit::{Kit, agent, answer, prompt, reader, turn};

/// A kit whose clock goes behind everything that the folders tell.
fn later() -> Kit {
    let kit = Kit::new();
    kit.pass(jiff::SignedDuration::from_hours(24 * 30));
    kit
}

/// A folder with these files.
fn tree(kit: &Kit, name: &str, files: &[(&str, Value)]) -> PathBuf {
    let root = kit.path(name);
    for (place, value) in files {
        let path = root.join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = match value {
            Value::String(text) => text.clone(),
            value => serde_json::to_string_pretty(value).unwrap(),
        };
        fs::write(path, text).unwrap();
    }
    root
}

fn summary(at: &str, what: &str) -> Value {
    json!({
        "timestamp": at,
        "what": what,
        "decisions": ["Changed borders from dashed to solid", "选择了主题变量"],
        "filesChanged": ["src/components/MultiPaneView.tsx"],
        "unfinished": ["agent-session.ts changes remain unstaged"],
        "commits": ["ad8ed51"],
        "tokens": {"input": 45_000, "output": 12_000},
    })
}

fn fact(id: &str, category: &str, text: &str, count: u32) -> Value {
    json!({
        "id": id,
        "category": category,
        "fact": text,
        "reinforceCount": count,
        "createdAt": "2026-03-10T08:00:00.000Z",
        "lastSeen": "2026-03-17T14:30:00.000Z",
    })
}

/// What the program wrote in a week, with what only this copy of it knows, and an agent whose id is no file's name.
fn a_week() -> Vec<(&'static str, Value)> {
    let newest = summary("2026-03-17T14:30:00.123Z", "Redesigned the pagination bar");
    let older = summary("2026-03-16T09:00:00Z", "优化翻页按钮");
    vec![
        (
            "sessions/alex-2.json",
            json!({"latest": newest, "history": [newest, older], "agentId": "alex-2", "schema": 2}),
        ),
        ("sessions/claude%2Fmain.json", json!({"latest": older, "history": [older]})),
        (
            "agents/alex-2.json",
            json!({"agentId": "alex-2", "facts": [
                fact("0123456789ab", "codebase_pattern", "Uses TERM_HOVER theme tokens for interactive elements", 2),
                fact("e3b0c44298fc", "user_preference", "用户喜欢实线边框而不是虚线边框", 5),
                fact("fedcba987654", "odd_category", "@types/node version conflicts are pre-existing", 1),
            ]}),
        ),
        (
            "shared.json",
            json!({"items": [{
                "id": "aaaaaaaaaaaa",
                "fact": "This monorepo uses pnpm workspaces",
                "source": "alex-2",
                "confirmedBy": ["alex-2", "alex-3"],
                "createdAt": "2026-03-12T10:00:00.000Z",
            }]}),
        ),
        (
            "work-state/alex-2.json",
            json!({
                "startedAt": "2026-03-17T15:00:00.000Z",
                "updatedAt": "2026-03-17T15:10:00.000Z",
                "status": "failed",
                "taskId": "task-9",
                "taskPrompt": "Add rate limiting",
                "cwd": "/srv/app",
                "summary": "Add rate limiting",
                "nextSteps": ["Wire it in"],
                "unfinished": [],
                "filesTouched": ["src/limit.ts"],
                "lastActivity": "ran cargo check",
                "pid": 4711,
            }),
        ),
        ("work-state/alex-3.json", Value::Null),
        (
            "memory.json",
            json!({
                "reviewPatterns": [
                    {"pattern": "Missing error handling", "count": 3, "lastSeen": 1_773_700_000_000_i64},
                    {"pattern": "No tests", "count": 1, "lastSeen": 1_773_700_000_001_i64,
                     "seen": ["Uses TERM_HOVER theme tokens for interactive elements"]},
                ],
                "techPreferences": ["PixiJS v8", "Vite"],
                "projectHistory": [
                    {"summary": "Snake game", "tech": "PixiJS", "completedAt": 1_773_600_000_000_i64, "reviewPassed": true,
                     "ratings": {"creativity": 4, "visual": 2, "humour": 3.5}},
                    {"summary": "Tetris", "tech": "Canvas", "completedAt": 1_773_650_000_000_i64, "reviewPassed": false, "id": "p2",
                     "remarks": ["Missing error handling"]},
                ],
            }),
        ),
    ]
}

fn import(kit: &Kit, root: &Path, cwd: &str) -> Result<Imported, EngineError> {
    let request = ImportRequest {
        path: root.to_string_lossy().into_owned(),
        form: ImportForm::Office,
        cwd: Some(cwd.to_owned()),
        ..Default::default()
    };
    kit.engine.import(&kit.owner, &request)
}

fn export(kit: &Kit, to: &Path, cwd: &str) -> Result<Exported, EngineError> {
    kit.engine.export_office(&kit.owner, &reader(cwd, "x"), &to.to_string_lossy())
}

/// Every file of a folder with its JSON, `null` ones left out: they are states that were cleared.
fn files(root: &Path) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let value: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            if !value.is_null() {
                found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), value);
            }
        }
    }
    found
}

#[test]
fn a_folder_comes_out_as_it_went_in_and_is_not_touched() {
    let kit = later();
    let cwd = kit.project("shop");
    let root = tree(&kit, "old/memory", &a_week());
    let before: Vec<_> = files(&root).into_iter().collect();
    // The folder above is what a person knows: ~/.bit-office.
    let done = import(&kit, root.parent().unwrap(), &cwd).unwrap();
    assert_eq!((done.read, done.added, done.known, done.damaged), (14, 14, 0, 0), "{done:?}");
    assert_eq!(
        files(&root).into_iter().collect::<Vec<_>>(),
        before,
        "the program's own files stay as they are"
    );
    let again = import(&kit, &root, &cwd).unwrap();
    assert_eq!((again.read, again.added, again.known), (14, 0, 14), "{again:?}");
    let out = export(&kit, &kit.path("out/deep"), &cwd).unwrap();
    assert_eq!((out.files, out.records, out.problems.len()), (6, 14, 0));
    assert_eq!(files(&kit.path("out/deep")), files(&root));
    // What was written is what is known: reading it changes nothing.
    let own = import(&kit, &kit.path("out/deep"), &cwd).unwrap();
    assert_eq!((own.added, own.known, own.damaged), (0, 14, 0), "{own:?}");
}

#[test]
fn what_was_read_is_told_as_if_it_had_been_learned_here() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    import(&kit, &tree(&kit, "data/memory", &a_week()), &cwd).unwrap();
    let request = ContextRequest { reader: reader(&cwd, "alex-2"), ..Default::default() };
    let told = kit.engine.context(&kit.owner, &request).unwrap();
    for line in [
        "- Missing error handling (flagged 3x)",
        "Technology the person approved: PixiJS v8; Vite",
        "- \"Snake game\" [creativity:4/5, visual:2/5, humour:3.5/5] avg=3.2 → improve: visual, humour",
        "===== AGENT KNOWLEDGE =====\nPreference: 用户喜欢实线边框而不是虚线边框\nCodebase: Uses TERM_HOVER",
        "===== PROJECT KNOWLEDGE =====\n- This monorepo uses pnpm workspaces",
    ] {
        assert!(told.told.text.contains(line), "{line}\n{}", told.told.text);
    }
    let request = RecoverRequest { reader: reader(&cwd, "alex-2"), ..Default::default() };
    let found = kit.engine.recover(&kit.owner, &request).unwrap();
    assert_eq!(found.work.unwrap().status, WorkStatus::Failed);
    assert!(found.told.text.contains("- Task: Add rate limiting\n"), "{}", found.told.text);
    let roster = kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &["claude/main".into()]).unwrap().told;
    assert!(
        roster.text.starts_with("[claude/main] Last: \"优化翻页按钮\" (commit ad8ed51) — "),
        "{}",
        roster.text
    );
    // The next clean commit ends what was left open, and the third sighting shares what was known twice.
    let mut done = turn(
        "s",
        "alex-2",
        &cwd,
        vec![
            prompt(1, "The project uses TERM_HOVER theme tokens for interactive elements."),
            answer(2, "SUMMARY: rate limiting is in"),
        ],
    );
    done.end = SessionEnd::Session;
    let facts = kit.commit(done).facts;
    assert_eq!((facts.added + facts.reinforced, facts.promoted), (1, 1), "{facts:?}");
    assert!(kit.engine.works(&kit.owner, &reader(&cwd, "alex-2")).unwrap().is_empty());
}

#[test]
fn damaged_and_partial_files_give_what_they_have_and_name_the_rest() {
    let kit = later();
    let cwd = kit.project("shop");
    let long = "x".repeat(8_001);
    let root = tree(
        &kit,
        "old",
        &[
            (
                "sessions/cut.json",
                json!(format!(
                    "{{\"latest\":{},\"history\":[{},{{\"what\":\"hal",
                    summary("2026-03-17T14:30:00Z", "whole"),
                    summary("2026-03-16T14:30:00Z", "older")
                )),
            ),
            (
                "sessions/odd.json",
                json!({"history": [{"what": 5}, "x", {"what": "no time"}], "latest": null}),
            ),
            ("sessions/empty.json", json!("")),
            (
                "agents/bare.json",
                json!([fact("1", "lesson_learned", "Only the list of an older form stands here", 1)]),
            ),
            (
                "agents/mixed.json",
                json!({"facts": [
                    {"category": "lesson_learned"}, 7, fact("2", "lesson_learned", &long, 1),
                    {"fact": "Only its text is left of this one"},
                    {"fact": "This count is a word instead", "reinforceCount": "many", "createdAt": "yesterday"},
                ]}),
            ),
            ("agents/list.json", json!({"facts": "none"})),
            ("agents/not-json.json", json!("<html>")),
            ("work-state/a.json", json!({"summary": "no status at all"})),
            ("work-state/b.json", json!({"status": "paused", "summary": "x"})),
            ("work-state/c.json", json!([1])),
            ("work-state/d.json.123.tmp", json!("half")),
            (
                "memory.json",
                json!({"reviewPatterns": [{"count": 2}], "techPreferences": ["Vite", 3], "projectHistory": {}}),
            ),
        ],
    );
    let done = import(&kit, &root, &cwd).unwrap();
    insta::assert_snapshot!(done.problems.join("\n"), @"
    sessions/cut.json: it is damaged at line 1, and read up to there as far as possible
    sessions/empty.json: it is empty
    agents/not-json.json: it is damaged at line 1, and read up to there as far as possible
    sessions/odd.json: history[1]: it is no object
    sessions/odd.json: history[0]: what is no text
    sessions/odd.json: history[0]: it says nothing
    sessions/odd.json: history[2]: timestamp is missing; it counts as of now
    agents/list.json: facts is no list
    agents/mixed.json: facts[1]: it is no object
    agents/mixed.json: facts[0]: fact is missing
    agents/mixed.json: facts[2]: fact is longer than 8000 characters
    agents/mixed.json: facts[4]: createdAt is no time
    agents/mixed.json: facts[4]: reinforceCount is no count
    work-state/b.json: status paused is none that is known and counts as interrupted
    work-state/c.json: it is no object
    memory.json: reviewPatterns[0]: pattern is missing
    memory.json: projectHistory is no list
    memory.json: techPreferences holds what is no text
    ");
    assert_eq!(done.damaged as usize, done.problems.len());
    let kept = kit.engine.sessions(
        &kit.owner,
        &SessionListRequest { reader: reader(&cwd, "cut"), office: true, limit: 30, ..Default::default() },
    );
    let kept: Vec<String> =
        kept.unwrap().items.into_iter().map(|session| session.summary.unwrap().what).collect();
    assert_eq!(kept, ["whole", "older"]);
    let states = kit.engine.works(&kit.owner, &doze_engine::Reader::default()).unwrap();
    let mut states: Vec<_> = states.iter().map(|work| (work.agent.id.as_str(), work.status)).collect();
    states.sort_unstable_by_key(|(agent, _)| *agent);
    assert_eq!(states, [("a", WorkStatus::Running), ("b", WorkStatus::Interrupted)]);
    assert_eq!(kit.engine.learned(&kit.owner).unwrap().tech_preferences, ["Vite"]);
}

#[test]
fn secrets_are_taken_out_and_counted_and_the_rest_comes_back() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let mut newest = summary("2026-03-17T14:30:00.000Z", &format!("Rotated {secret} everywhere"));
    newest["note"] = json!(secret);
    let root = tree(
        &kit,
        "old",
        &[
            ("sessions/a.json", json!({"latest": newest, "history": [newest]})),
            (
                "agents/a.json",
                json!({"agentId": "a", "facts": [
                    fact("1", "lesson_learned", &format!("The deploy token is {secret} for now"), 1),
                    fact("2", "lesson_learned", "The deploy runs at night only", 1),
                ]}),
            ),
        ],
    );
    let done = import(&kit, &root, &cwd).unwrap();
    // The newest session stands twice in its file, with two secrets each time.
    assert_eq!(done.redacted.values().sum::<u64>(), 5, "{done:?}");
    export(&kit, &kit.path("out"), &cwd).unwrap();
    let (mut given, out) = (files(&root), files(&kit.path("out")));
    let text = serde_json::to_string(&out).unwrap();
    assert!(!text.contains("ghp_") && !kit.store_bytes().windows(8).any(|bytes| bytes == b"ghp_abcd"));
    // Everything but the secret is there.
    let mask = |value: &Value| {
        let words = value.as_str().unwrap().split(' ').count();
        json!(words)
    };
    let (was, is) = (&given["sessions/a.json"]["latest"], &out["sessions/a.json"]["latest"]);
    assert_eq!(mask(&was["what"]), mask(&is["what"]));
    assert_eq!((&was["decisions"], &was["tokens"]), (&is["decisions"], &is["tokens"]));
    let facts = given.get_mut("agents/a.json").unwrap()["facts"].as_array_mut().unwrap();
    assert_eq!(out["agents/a.json"]["facts"][1], facts[1]);
}

#[test]
fn what_was_forgotten_does_not_come_back_with_its_folder() {
    let kit = later();
    let cwd = kit.project("shop");
    let root = tree(&kit, "old", &a_week());
    import(&kit, &root, &cwd).unwrap();
    let list = ListRequest {
        reader: reader(&cwd, "alex-2"),
        limit: 100,
        status: StatusFilter::All,
        ..Default::default()
    };
    let facts = kit.engine.memories(&kit.owner, &list).unwrap().items;
    assert!(facts.iter().all(|memory| memory.verification == Verification::Import));
    let gone = facts.iter().find(|memory| memory.body.contains("TERM_HOVER")).unwrap();
    kit.engine.forget(&kit.owner, &Forget::Memory(gone.id.clone()), true).unwrap();
    let sessions =
        SessionListRequest { reader: reader(&cwd, "alex-2"), office: true, limit: 30, ..Default::default() };
    let newest = kit.engine.sessions(&kit.owner, &sessions).unwrap().items.remove(0).key.session;
    kit.engine
        .forget(&kit.owner, &Forget::Session { session: newest.into(), memories: false }, true)
        .unwrap();
    kit.engine.forget_learned(&kit.owner, "missing error handling").unwrap();
    let again = import(&kit, &root, &cwd).unwrap();
    assert_eq!((again.added, again.known, again.left_out), (0, 11, 3), "{again:?}");
    export(&kit, &kit.path("out"), &cwd).unwrap();
    let text = serde_json::to_string(&files(&kit.path("out"))).unwrap();
    for word in ["TERM_HOVER", "Redesigned the pagination", "Missing error handling"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn what_is_learned_here_is_written_as_the_program_reads_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let said = "The user prefers solid borders over dashed ones everywhere.";
    let mut done = turn(
        "s-1",
        "claude-code/Explore",
        &cwd,
        vec![prompt(1, said), answer(2, "SUMMARY: borders are solid")],
    );
    done.end = SessionEnd::Session;
    kit.commit(done);
    let work = WorkRequest {
        agent: Some(agent("..")),
        reader: reader(&cwd, ".."),
        session: Some("s-2".to_owned()),
        task_prompt: Some("Look around".to_owned()),
        ..Default::default()
    };
    kit.engine.set_work(&kit.owner, &work).unwrap();
    export(&kit, &kit.path("out"), &cwd).unwrap();
    let out = files(&kit.path("out"));
    let names: Vec<&str> = out.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["agents/claude-code%2FExplore.json", "sessions/claude-code%2FExplore.json", "work-state/%2E..json"]
    );
    let fact = &out["agents/claude-code%2FExplore.json"]["facts"][0];
    assert_eq!(out["agents/claude-code%2FExplore.json"]["agentId"], "claude-code/Explore");
    assert_eq!((&fact["category"], &fact["reinforceCount"]), (&json!("user_preference"), &json!(1)));
    assert_eq!(fact["id"].as_str().unwrap().len(), 12);
    assert_eq!(fact["createdAt"], "2026-03-01T02:01:00.000Z");
    let sessions = &out["sessions/claude-code%2FExplore.json"];
    assert_eq!(
        (&sessions["latest"], &sessions["latest"]["what"]),
        (&sessions["history"][0], &json!("borders are solid"))
    );
    assert_eq!(out["work-state/%2E..json"]["status"], "running");
    // Another machine takes it in whole.
    let other = Kit::new();
    let there = other.project("shop");
    let done = import(&other, &kit.path("out"), &there).unwrap();
    assert_eq!((done.added, done.damaged), (3, 0), "{done:?}");
    export(&other, &other.path("out"), &there).unwrap();
    assert_eq!(files(&other.path("out")), out);
}

#[test]
fn what_is_too_much_is_kept_and_not_recalled_and_the_caps_hold() {
    let kit = later();
    let cwd = kit.project("shop");
    let facts: Vec<Value> = (0..60)
        .map(|n| {
            fact(&n.to_string(), "lesson_learned", &format!("Server number {n} restarts on its own day"), n)
        })
        .collect();
    let sessions: Vec<Value> = (10..50)
        .rev()
        .map(|n| summary(&format!("2026-02-01T10:{n}:00.000Z"), &format!("step {n}")))
        .collect();
    let root = tree(
        &kit,
        "old",
        &[
            ("agents/a.json", json!({"agentId": "a", "facts": facts})),
            ("sessions/a.json", json!({"latest": sessions[0], "history": sessions})),
        ],
    );
    let done = import(&kit, &root, &cwd).unwrap();
    assert_eq!(done.added, 100);
    assert_eq!(done.problems, ["agents/a.json: 10 facts beyond 50 were kept as stale, the least reinforced"]);
    let list = |status| {
        let list = ListRequest { reader: reader(&cwd, "a"), limit: 100, status, ..Default::default() };
        kit.engine.memories(&kit.owner, &list).unwrap().items
    };
    assert_eq!(list(StatusFilter::Active).len(), 50);
    let stale = list(StatusFilter::Only(Status::Stale));
    assert!(stale.len() == 10 && stale.iter().all(|memory| memory.reinforce_count < 10));
    let out = export(&kit, &kit.path("out"), &cwd).unwrap();
    assert_eq!(out.records, 50 + 30);
    assert_eq!(files(&kit.path("out"))["sessions/a.json"]["history"].as_array().unwrap().len(), 30);
}

#[test]
fn a_place_that_is_not_free_and_one_that_is_no_office_are_refused_with_the_next_step() {
    let kit = Kit::at_home();
    let cwd = kit.project("shop");
    let root = tree(&kit, "old", &a_week());
    let error = export(&kit, &kit.path("out"), &cwd).unwrap_err();
    assert_eq!(
        (error.problem, error.message.as_str()),
        (Problem::NotFound, "nothing is known of that project")
    );
    import(&kit, &root, &cwd).unwrap();
    let error = export(&kit, &root, &cwd).unwrap_err();
    assert!(
        error.problem == Problem::Refused
            && error.message.ends_with("is not empty, and nothing is overwritten")
    );
    assert!(export(&kit, &root.join("shared.json"), &cwd).is_err());
    assert_eq!(export(&kit, Path::new("out"), &cwd).unwrap_err().problem, Problem::Invalid);
    fs::create_dir(kit.path("free")).unwrap();
    export(&kit, &kit.path("free"), &cwd).unwrap();
    assert!(kit.path("free/shared.json").is_file());

    fs::create_dir(kit.path("nothing")).unwrap();
    let error = import(&kit, &kit.path("nothing"), &cwd).unwrap_err();
    assert!(error.message.ends_with("nothing holds no memory of an office"), "{error}");
    let home = kit.path("home").to_string_lossy().into_owned();
    fs::create_dir(&home).unwrap();
    let error = import(&kit, &root, &home).unwrap_err();
    assert!(error.message.ends_with("is no project"), "{error}");
    let no_cwd = ImportRequest { path: root.to_string_lossy().into_owned(), ..Default::default() };
    let error = kit.engine.import(&kit.owner, &no_cwd).unwrap_err();
    assert!(error.message.starts_with("cwd is missing") && error.hint.contains("--cwd"), "{error}");
    kit.engine.ignore_project(&kit.owner, &cwd, true).unwrap();
    assert_eq!(import(&kit, &root, &cwd).unwrap_err().problem, Problem::Refused);
}

#[test]
fn links_and_pipes_in_a_folder_are_not_followed() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let root =
        tree(&kit, "old", &[("agents/a.json", json!({"facts": []})), ("shared.json", json!({"items": []}))]);
    fs::write(kit.path("secret.json"), "{\"facts\":[{\"fact\":\"Stands somewhere else on this disk\"}]}")
        .unwrap();
    std::os::unix::fs::symlink(kit.path("secret.json"), root.join("agents/link.json")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let pipe = root.join("agents/pipe.json");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let done = import(&kit, &root, &cwd).unwrap();
    assert_eq!(
        done.problems,
        [
            "agents/link.json: it is a link and was not followed",
            "agents/pipe.json: it cannot be read (it is not a regular file)"
        ]
    );
    let list = ListRequest {
        reader: doze_engine::Reader { agent: Some(AgentId::new("link")), ..Default::default() },
        limit: 9,
        ..Default::default()
    };
    assert!(kit.engine.memories(&kit.owner, &list).unwrap().items.is_empty());
}

#[test]
fn what_lies_ahead_of_the_clock_counts_as_of_now_once() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let game =
        json!({"summary": "Snake game", "tech": "js", "completedAt": "2031-01-01T00:00:00Z", "ratings": {}});
    let running = json!({"startedAt": "2031-01-01T00:00:00Z", "updatedAt": "2031-01-01T00:00:00Z",
                         "status": "running", "taskPrompt": "a task of the future", "summary": "x"});
    let root = tree(
        &kit,
        "ahead",
        &[
            (
                "sessions/f.json",
                json!({"history": [summary("2031-01-01T00:00:00Z", "a run of a wrong clock")]}),
            ),
            ("agents/f.json", json!({"agentId": "f", "facts": []})),
            ("work-state/f.json", running),
            ("memory.json", json!({"projectHistory": [game]})),
        ],
    );
    let first = import(&kit, &root, &cwd).unwrap();
    assert_eq!((first.added, first.damaged), (3, 4), "{first:?}");
    let told = "sessions/f.json: history[0]: timestamp lies ahead of the clock and counts as of now";
    assert!(first.problems.iter().any(|problem| problem == told), "{first:?}");
    kit.pass(jiff::SignedDuration::from_mins(5));
    let again = import(&kit, &root, &cwd).unwrap();
    assert_eq!((again.added, again.known), (0, first.read), "{again:?}");
    kit.commit(turn("now", "f", &cwd, vec![prompt(1, "go on"), answer(2, "SUMMARY: today's run is done")]));
    let roster = kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &["f".into()]).unwrap();
    assert!(roster.told.text.contains("a run of a wrong clock"), "it was imported after that: {roster:?}");
    let mut now = turn("later", "f", &cwd, vec![answer(3, "SUMMARY: tomorrow's run is done")]);
    now.events[0].at = None;
    kit.commit(now);
    let roster = kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &["f".into()]).unwrap();
    assert!(roster.told.text.contains("tomorrow's run"), "{roster:?}");
}

#[test]
fn of_a_file_with_too_many_facts_a_thousand_are_kept_and_the_rest_is_told() {
    let kit = later();
    let cwd = kit.project("shop");
    let facts: Vec<Value> = (0..1_500)
        .map(|n| {
            fact("x", "lesson_learned", &format!("case {n} is about thing number {}", n * 7), 1 + n / 1_490)
        })
        .collect();
    let root = tree(
        &kit,
        "many",
        &[
            ("agents/a.json", json!({"agentId": "a", "facts": facts})),
            ("sessions/a.json", json!({"history": []})),
        ],
    );
    let list = ListRequest {
        reader: reader(&cwd, "a"),
        limit: 500,
        status: StatusFilter::All,
        ..Default::default()
    };
    let kept = || {
        let (mut count, mut request) = (0, list.clone());
        loop {
            let page = kit.engine.memories(&kit.owner, &request).unwrap();
            count += page.items.len();
            request.cursor = page.next;
            if request.cursor.is_none() {
                return count;
            }
        }
    };
    for (added, known) in [(1_000, 0), (0, 1_000)] {
        let done = import(&kit, &root, &cwd).unwrap();
        assert_eq!((done.added, done.known, done.left_out, kept()), (added, known, 500, 1_000));
        let reason = "agents/a.json: 500 facts beyond 1000 were left out, the least reinforced";
        assert!(done.problems.iter().any(|problem| problem == reason), "{done:?}");
    }
    // The best of them are in, and what is kept beside the fifty is in nobody's way.
    let done =
        kit.commit(turn("s", "a", &cwd, vec![answer(1, "Note: case 1499 is about thing number 10493.")]));
    assert_eq!((done.facts.added, done.facts.reinforced), (0, 1));
}

#[test]
fn an_entry_that_comes_back_into_its_file_is_known_though_it_was_gone_for_a_while() {
    let kit = later();
    let cwd = kit.project("shop");
    let write = |facts: &[&str]| {
        let facts: Vec<Value> = facts.iter().map(|text| fact("x", "lesson_learned", text, 1)).collect();
        let files =
            [("agents/a.json", json!({"agentId": "a", "facts": facts})), ("sessions/a.json", json!({}))];
        tree(&kit, "office", &files)
    };
    let both = ["Seeds run after the migrations", "The broker needs QUARTZ_PORT exported"];
    import(&kit, &write(&both), &cwd).unwrap();
    let list = ListRequest { reader: reader(&cwd, "a"), limit: 9, ..Default::default() };
    let known = kit.engine.memories(&kit.owner, &list).unwrap().items;
    let seeds = known.iter().find(|memory| memory.body.contains("Seeds")).unwrap();
    let edit = doze_engine::EditRequest { body: Some("Seeds are gone".to_owned()), ..Default::default() };
    kit.engine.edit(&kit.owner, &seeds.id, &edit, true).unwrap();
    import(&kit, &write(&both[1..]), &cwd).unwrap();
    let again = import(&kit, &write(&both), &cwd).unwrap();
    assert_eq!((again.added, again.known), (0, 2), "{again:?}");
    // What is in force counts, not a former version of the same words.
    let facts = [fact("x", "lesson_learned", both[1], 9)];
    let files = [("agents/a.json", json!({"agentId": "a", "facts": facts})), ("sessions/a.json", json!({}))];
    let broker = known.iter().find(|memory| memory.body == both[1]).unwrap();
    kit.engine.feedback(&kit.owner, &broker.id, doze_engine::Verdict::Stale, true).unwrap();
    kit.commit(turn("s", "a", &cwd, vec![answer(1, &format!("Important: {}.", both[1]))]));
    import(&kit, &tree(&kit, "office", &files), &cwd).unwrap();
    let active = kit.engine.memories(&kit.owner, &list).unwrap().items;
    let broker = active.iter().find(|memory| memory.body.contains("QUARTZ_PORT")).unwrap();
    assert_eq!(broker.reinforce_count, 9, "{active:?}");
}

#[test]
fn the_work_states_that_an_export_has_no_place_for_are_told() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for session in ["S1", "S2", "S3"] {
        let work = WorkRequest {
            agent: Some(agent("w")),
            reader: reader(&cwd, "w"),
            session: Some(session.to_owned()),
            task_prompt: Some(format!("task {session}")),
            ..Default::default()
        };
        kit.engine.set_work(&kit.owner, &work).unwrap();
        kit.pass(jiff::SignedDuration::from_secs(1));
    }
    let done = export(&kit, &kit.path("out"), &cwd).unwrap();
    assert_eq!((done.records, done.left_out), (1, 2));
    assert_eq!(
        done.problems,
        ["work-state of w: 2 older work states left out, the file of an agent holds one: S2, S1"]
    );
    assert_eq!(files(&kit.path("out"))["work-state/w.json"]["taskPrompt"], "task S3");
}

#[test]
fn what_a_file_said_more_goes_with_what_was_forgotten() {
    let kit = later();
    let cwd = kit.project("shop");
    let said = "The cellar of Anton opens with the word mackerel";
    let beside = |mut record: Value, more: &str| {
        record["quote"] = json!(format!("near: {more}"));
        record
    };
    let told = json!({
        "timestamp": "2026-03-17T14:30:00Z", "what": "Painted the fence of the yard", "decisions": [],
        "filesChanged": [], "unfinished": [], "commits": [], "tokens": {"input": 1, "output": 2}, "raw": said,
    });
    let root = tree(
        &kit,
        "office",
        &[
            (
                "agents/fg.json",
                json!({"agentId": "fg", "note": said, "facts": [
                    fact("abcabcabcabc", "lesson_learned", said, 2),
                    beside(fact("abdabdabdabd", "lesson_learned", "Another fact stays here for good", 1), said),
                    beside(fact("abeabeabeabe", "lesson_learned", "The gate is closed at night", 1), "a lamp"),
                ]}),
            ),
            (
                "sessions/fg.json",
                json!({"latest": told, "history": [told], "topnote": "Painted the fence of the yard"}),
            ),
        ],
    );
    import(&kit, &root, &cwd).unwrap();
    let list = ListRequest { everywhere: true, limit: 9, ..Default::default() };
    let memories = kit.engine.memories(&kit.owner, &list).unwrap().items;
    let one = memories.into_iter().find(|memory| memory.body.contains("mackerel")).unwrap();
    kit.engine.forget(&kit.owner, &Forget::Memory(one.id), true).unwrap();
    let written = |name: &str| {
        export(&kit, &kit.path(name), &cwd).unwrap();
        format!("{:?}", files(&kit.path(name)))
    };
    let left = written("once");
    assert!(!left.contains("mackerel"), "{left}");
    for kept in ["Another fact stays", "near: a lamp", "Painted the fence", "topnote"] {
        assert!(left.contains(kept), "{kept}: {left}");
    }
    let sessions = SessionListRequest { reader: reader(&cwd, "fg"), limit: 9, ..Default::default() };
    let session = kit.engine.sessions(&kit.owner, &sessions).unwrap().items.remove(0).key.session;
    let forget = Forget::Session { session: session.into(), memories: false };
    kit.engine.forget(&kit.owner, &forget, true).unwrap();
    kit.commit(turn("new", "fg", &cwd, vec![answer(1, "SUMMARY: an unrelated run")]));
    let left = written("twice");
    assert!(left.contains("unrelated run") && !left.contains("the fence"), "{left}");
}

#[test]
fn an_id_as_long_as_a_files_name_can_be_is_written_and_a_longer_one_is_told() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for length in [250, 251] {
        let work = WorkRequest {
            agent: Some(agent(&"x".repeat(length))),
            reader: reader(&cwd, "w"),
            task_prompt: Some("task".to_owned()),
            ..Default::default()
        };
        kit.engine.set_work(&kit.owner, &work).unwrap();
    }
    let done = export(&kit, &kit.path("out"), &cwd).unwrap();
    assert_eq!((done.records, done.problems.len()), (1, 1), "{done:?}");
}
