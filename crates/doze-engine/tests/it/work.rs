//! Work states, and whose session is read.

use doze_engine::{CommitRequest, Problem, RecoverRequest, SessionName, TranscriptRef, WorkRequest};

use crate::kit::{Kit, agent, answer, reader, turn};

fn request(cwd: &str, task: Option<&str>) -> WorkRequest {
    WorkRequest {
        agent: Some(agent("alex")),
        reader: reader(cwd, "alex"),
        session: Some("s".to_owned()),
        task_id: task.map(str::to_owned),
        ..Default::default()
    }
}

fn told(kit: &Kit, cwd: &str) -> String {
    let request = RecoverRequest { reader: reader(cwd, "alex"), ..Default::default() };
    kit.engine.recover(&kit.owner, &request).unwrap().told.text
}

#[test]
fn another_task_begins_anew_though_the_one_before_never_ended() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let set = |request: WorkRequest| kit.engine.set_work(&kit.owner, &request).unwrap().work;
    set(WorkRequest { task_prompt: Some("build the gate".to_owned()), ..request(&cwd, None) });
    let first = set(WorkRequest {
        next_steps: Some(vec!["paint the gate".to_owned()]),
        touch: vec!["a.ts".to_owned()],
        ..request(&cwd, Some("T1"))
    });
    assert_eq!(first.task_prompt.as_deref(), Some("build the gate"), "it gets its id later");
    for same in [None, Some("T1"), Some("")] {
        let known = set(WorkRequest { last_activity: Some("on it".to_owned()), ..request(&cwd, same) });
        assert_eq!((known.next_steps.len(), known.files_touched.len()), (1, 1), "{same:?}");
    }
    kit.pass(jiff::SignedDuration::from_mins(5));
    set(WorkRequest { task_id: Some("T1".to_owned()), ..request(&cwd, None) });
    let next = set(WorkRequest {
        task_prompt: Some("build the wall".to_owned()),
        touch: vec!["b.ts".to_owned()],
        ..request(&cwd, Some("T2"))
    });
    assert!(next.started_at > first.started_at, "{next:?}");
    let text = told(&kit, &cwd);
    assert!(text.contains("build the wall") && text.contains("b.ts"), "{text}");
    for old in ["paint the gate", "a.ts", "build the gate", "on it"] {
        assert!(!text.contains(old), "{old}: {text}");
    }
}

#[test]
fn files_of_a_work_state_are_told_as_those_of_a_summary() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let touch = ["/home/x/repo/src/deep/game/board.ts", "deep/game/board.ts", "/home/x/repo/README.md"];
    let touched = WorkRequest { touch: touch.map(str::to_owned).to_vec(), ..request(&cwd, Some("T1")) };
    kit.engine.set_work(&kit.owner, &touched).unwrap();
    let text = told(&kit, &cwd);
    assert!(text.contains("Files changed: deep/game/board.ts, x/repo/README.md"), "{text}");
}

#[test]
fn names_that_nobody_sees_are_refused() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for blank in ["", " ", "\u{200b}", " \u{200b} "] {
        let session = WorkRequest { session: Some(blank.to_owned()), ..request(&cwd, None) };
        let error = kit.engine.set_work(&kit.owner, &session).unwrap_err();
        assert_eq!((error.problem, error.message.as_str()), (Problem::Invalid, "session is empty"));
        let by = WorkRequest { agent: Some(agent(blank)), ..request(&cwd, None) };
        assert_eq!(kit.engine.set_work(&kit.owner, &by).unwrap_err().message, "agent is empty");
        let error = kit.engine.commit(&kit.owner, turn("s", blank, &cwd, Vec::new())).unwrap_err();
        assert_eq!(error.message, "agent is empty");
    }
}

#[test]
fn a_session_is_read_by_its_name_only_when_that_is_one() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    for (by, cwd) in [("alex", &shop), ("sam", &shop), ("alex", &web)] {
        let mut run = turn("job-one-1", by, cwd, Vec::new());
        run.output = Some(format!("SUMMARY: {by} did the job in {}", cwd.rsplit('/').next().unwrap()));
        kit.commit(run);
    }
    let named = |agent: Option<&str>, cwd: Option<&String>| SessionName {
        session: "job-one-1".to_owned(),
        agent: agent.map(Into::into),
        cwd: cwd.cloned(),
        ..Default::default()
    };
    let did = |named: SessionName| {
        let session = kit.engine.session(&kit.owner, named)?;
        Ok::<_, doze_engine::EngineError>(session.summary.unwrap().what)
    };
    assert_eq!(did(named(Some("sam"), None)).unwrap(), "sam did the job in shop");
    assert_eq!(did(named(None, Some(&web))).unwrap(), "alex did the job in web");
    assert_eq!(did(named(Some("alex"), Some(&shop))).unwrap(), "alex did the job in shop");
    for (many, hint) in [(named(None, None), "--agent "), (named(Some("alex"), None), "--in-project ")] {
        let error = did(many.clone()).unwrap_err();
        assert_eq!(error.problem, Problem::Invalid, "{many:?}");
        assert!(error.hint.contains("doze digest job-one-1 ") && error.hint.contains(hint), "{}", error.hint);
        assert_eq!(kit.engine.digest(&kit.owner, many).unwrap_err().problem, Problem::Invalid);
    }
    assert_eq!(did(named(Some("sam"), Some(&web))).unwrap_err().problem, Problem::NotFound);
    assert!(kit.engine.digest(&kit.owner, named(Some("sam"), None)).is_ok());
}

#[test]
fn a_path_that_is_wrong_ends_no_run() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let steps = Some(vec!["paint the gate".to_owned()]);
    let work = WorkRequest {
        task_prompt: Some("build the gate".to_owned()),
        next_steps: steps,
        ..request(&cwd, None)
    };
    kit.engine.set_work(&kit.owner, &work).unwrap();
    let commit = |path: &str| {
        let transcript = Some(TranscriptRef { path: path.to_owned(), format: None });
        kit.engine.commit(&kit.owner, CommitRequest { transcript, ..turn("s", "alex", &cwd, Vec::new()) })
    };
    for path in ["", "typo.jsonl"] {
        assert_eq!(commit(path).unwrap_err().problem, Problem::Invalid, "{path}");
    }
    let missing = format!("{cwd}/typo.jsonl");
    let kept = commit(&missing).unwrap();
    assert!(kept.extraction.contains(&missing), "{}", kept.extraction);
    assert!(told(&kit, &cwd).contains("paint the gate"));
    // What the call itself tells is an end.
    let events = vec![answer(1, "SUMMARY: the gate is built")];
    let transcript = Some(TranscriptRef { path: missing, format: None });
    kit.commit(CommitRequest { transcript, ..turn("s", "alex", &cwd, events) });
    assert!(!told(&kit, &cwd).contains("paint the gate"));
}
