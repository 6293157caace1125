//! What was asked, agreed, run and changed in the rounds of a session.

use super::*;

#[test]
fn a_failure_stands_with_its_cause_its_remedy_and_its_file() {
    let failed = ran("just lint", "error: no such table `accounts`", true);
    let told = answered(
        "The `accounts` table is created by the second migration, but the linter runs only the first one. I'll pass `--all` to the migration step.",
    );
    let all = extract(&session(vec![said("lint please"), failed, told, changed("/srv/app/justfile")]));
    let lesson = all.iter().find(|found| found.kind == Kind::Lesson).unwrap();
    assert_eq!(
        lesson.body,
        "The `accounts` table is created by the second migration, but the linter runs only the first one. Tried next: pass `--all` to the migration step. `just lint` failed: error: no such table `accounts`. Changed: srv/app/justfile."
    );
    assert_eq!(lesson.evidence, [1, 2, 3]);
}

#[test]
fn what_the_person_wanted_counts_when_it_was_done_and_not_taken_back() {
    let proposal = "The `--agent` path skips the setup. Should I also call `ensure_setup()` in `enable_agent`? That would create the branch at once.";
    let done = "All paths through `enable` now call `ensure_setup()`. All tests pass.";
    let round = |consent: &str, file: bool, next: &str| {
        let file = file.then(|| changed("enable.rs"));
        let events = [said("are all paths the same?"), answered(proposal), said(consent)].into_iter();
        found(events.chain(file).chain([answered(done), said(next)]).collect())
    };
    let agreed = (Kind::Decision, "Call `ensure_setup()` in `enable_agent`".to_owned());
    for consent in ["yes", "ok do it", "sure!", "네", "好的", "はい、お願いします"] {
        assert!(round(consent, true, "thanks").contains(&agreed), "{consent}");
    }
    assert!(!round("yes", false, "thanks").contains(&agreed));
    assert!(!round("yes", true, "no, undo that").contains(&agreed));
    assert!(!round("what does it cost?", true, "thanks").contains(&agreed));
}

#[test]
fn a_change_that_was_asked_for_is_a_decision() {
    let table = [
        (
            "let's prefix it with \"Last: \" in both places",
            "Both places now show the prefix \"Last: \".",
            Some("Prefix it with \"Last: \" in both places"),
        ),
        (
            "ok, change it to use AgentType as well",
            "Done! Now both flows read the name of the agent from `AgentType`.",
            Some("Both flows read the name of the agent from `AgentType`"),
        ),
        (
            "`load()`가 실패하면 경고 대신 오류를 내도록 변경해 주세요",
            "`load()`는 이제 실패하면 오류를 반환합니다.",
            Some("`load()`가 실패하면 경고 대신 오류를 내도록 변경해 주세요"),
        ),
        ("change the tests for `load()` too", "Changed the tests for `load()`.", None),
        ("show me the diff of `load()`", "Here is the diff of `load()`.", None),
        ("keep going with `load()`", "I could not find `load()`.", None),
    ];
    for (prompt, answer, title) in table {
        let decisions: Vec<String> =
            found(vec![said("hello"), answered("hi"), said(prompt), changed("a.rs"), answered(answer)])
                .into_iter()
                .filter(|(kind, _)| *kind == Kind::Decision)
                .map(|(_, title)| title)
                .collect();
        assert_eq!(decisions.first().map(String::as_str), title, "{prompt}");
    }
}

#[test]
fn an_option_is_chosen_by_its_number() {
    let offered = "Two ways are open:\n\n1. Read `REPO_PATH` from the environment only\n2. Let `get_db()` take a hint from the caller\n\nWhich one do you prefer?";
    for pick in ["2", "option 2", "2번으로 진행해주세요", "2番でお願いします", "方案2"] {
        assert_eq!(
            found(vec![said("plan it"), answered(offered), said(pick)]),
            [(Kind::Decision, "Let `get_db()` take a hint from the caller".to_owned())],
            "{pick}"
        );
    }
    for other in ["3", "2 files are missing", "why 2?"] {
        assert_eq!(found(vec![said("plan it"), answered(offered), said(other)]), [], "{other}");
    }
}

#[test]
fn a_plan_that_was_accepted_and_carried_out_is_a_decision() {
    let plan = |output: &str| {
        let input = serde_json::json!({ "plan": "# Plan: Resolve the repository in one place\n\nEvery tool asks `from_cwd()`, which fails outside a repository. `get_db()` takes a hint instead.\n\n1. Change `runtime.py`" });
        let mut event = Event::new("e", EventKind::Tool, Origin::Tool, "");
        event.tool = Some(ToolUse {
            name: "ExitPlanMode".into(),
            input: input.to_string(),
            output: output.into(),
            failed: false,
        });
        event
    };
    let title = "Resolve the repository in one place";
    let is_found = |events: Vec<Event>| found(events).iter().any(|(_, found)| found == title);
    let approved = "User has approved your plan. You can now start coding.";
    assert!(is_found(vec![said("plan"), plan(approved), changed("runtime.py"), answered("Done.")]));
    assert!(!is_found(vec![said("plan"), plan(approved), answered("I wait.")]));
    assert!(!is_found(vec![said("plan"), plan("rejected"), changed("runtime.py"), answered("Done.")]));
}

#[test]
fn a_command_ends_where_its_end_was_seen_and_a_script_is_a_shell() {
    let tool = |name: &str, input: &str, output: &str| {
        let mut event = Event::new("e", EventKind::Tool, Origin::Tool, "");
        event.tool =
            Some(ToolUse { name: name.into(), input: input.into(), output: output.into(), failed: false });
        event
    };
    let start = |command: &str| {
        let input = serde_json::json!({ "cmd": command }).to_string();
        tool(
            "exec_command",
            &input,
            "Wall time: 30 seconds\nProcess running with session ID 99248\nOutput:\n",
        )
    };
    let look = |output: &str| tool("write_stdin", "{\"session_id\":99248,\"chars\":\"\"}", output);
    let test = [(Kind::Command, "Test with `mise run test`".to_owned())];
    assert_eq!(found(vec![start("mise run test"), look("Process exited with code 0\nOutput:\nok")]), test);
    assert_eq!(found(vec![start("mise run test"), look("Process exited with code 1\nOutput:\nbad")]), []);
    assert_eq!(found(vec![start("mise run test")]), []);
    let script = "const r = await tools.exec_command({cmd:\"mise run test\",workdir:\"/a\"}); text(r.output)";
    assert_eq!(found(vec![tool("exec", script, "Script completed\nOutput:\nok")]), test);
    assert_eq!(found(vec![tool("exec", script, "Script completed\nOutput:\n3 failed")]), []);
}

#[test]
fn what_a_closing_answer_has_run_counts_as_run() {
    let told =
        "Opened it.\n\nVerified with:\n\n- `just build`\n- `just test`\n\n`just deploy` could not run here.";
    assert_eq!(
        found(vec![said("make it"), answered(told)]),
        [(Kind::Command, "Build with `just build`, test with `just test`".to_owned())]
    );
    assert_eq!(found(vec![said("make it"), answered("`just test` failed.")]), []);
}

#[test]
fn how_something_is_meant_is_a_fact_and_how_it_shall_be_a_decision() {
    let table = [
        ("yes, the old format is intentionally kept readable", Some(Kind::Fact)),
        ("the list should show the newest entry first", Some(Kind::Decision)),
        ("每个任务都统一使用 `just` 来运行", Some(Kind::Convention)),
        ("커밋 메시지는 영어로 작성해야 합니다", Some(Kind::Convention)),
        ("テストには本番のデータを使わないでください", Some(Kind::Convention)),
        ("the tests should pass now", None),
        ("the bug should be fixed", None),
        ("i feel like this config is not easy to edit", None),
    ];
    for (text, kind) in table {
        let kinds: Vec<Kind> = found(vec![said(text)]).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds.first().copied(), kind, "{text}");
    }
}

#[test]
fn a_narrow_run_that_passes_is_not_enough() {
    let narrow = || ran("go test -run TestFetch ./...", "ok", false);
    let broad = |output: &str, failed: bool| ran("mise run test", output, failed);
    let failing = "--- FAIL: TestResume (0.02s)\nFAIL";
    let lessons = |events: Vec<Event>| -> Vec<String> {
        let all = extract(&session(events)).into_iter();
        all.filter(|found| found.kind == Kind::Lesson).map(|found| found.body).collect()
    };
    assert_eq!(
        lessons(vec![narrow(), broad(failing, true), changed("a.go"), broad("ok", false)]),
        [
            "`go test -run TestFetch ./...` passed, but `mise run test` failed in `TestResume`; it worked after more changes."
        ]
    );
    assert_eq!(lessons(vec![narrow(), broad(failing, true)]), Vec::<String>::new());
    assert_eq!(lessons(vec![broad(failing, true), broad("ok", false)]), Vec::<String>::new());
}

#[test]
fn what_made_a_failing_command_work_is_a_lesson() {
    let failing = "Error: connect ECONNREFUSED 127.0.0.1:5432";
    let told = |between: Vec<Event>| {
        let first = ran("npm test", failing, true);
        let all = [vec![first], between, vec![ran("npm test", "ok, 12 passed", false)]].concat();
        let lessons = extract(&session(all)).into_iter().filter(|found| found.kind == Kind::Lesson);
        lessons.map(|lesson| (lesson.title, lesson.body)).collect::<Vec<_>>()
    };
    assert_eq!(
        told(vec![ran("docker compose up -d db", "Started", false)]),
        [(
            "Run `docker compose up -d db` before `npm test`".to_owned(),
            format!("`npm test` failed: {failing}. After `docker compose up -d db` it worked.")
        )]
    );
    // What only looks around mends nothing, nor does what came before the last failure.
    assert_eq!(told(vec![ran("ls -la", "src", false)]), []);
    let before = vec![ran("docker compose up -d db", "Started", false), ran("npm test", failing, true)];
    assert_eq!(told(before), []);
}

#[test]
fn what_a_person_asks_to_remember_is_kept_whatever_its_form() {
    for (text, title) in [
        ("Remember: never push to main.", "Never push to main"),
        (
            "Please remember this for later: the staging database is read only.",
            "The staging database is read only",
        ),
        ("Important: the importer reads two files at once.", "The importer reads two files at once"),
    ] {
        let all = found(vec![said(text)]);
        assert_eq!(all.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>(), [title], "{text}");
    }
    assert_eq!(found(vec![said("Remember: I will be back later today.")]), []);
}
