//! What a caller hands in outside a bound is refused, never cut (`R14`), and long texts that are shortened are told.

use doze_core::model::TaskRef;
use doze_engine::{CommitRequest, Problem, WorkRequest};

use crate::kit::{Kit, agent, answer, prompt, reader, turn};

fn work(cwd: &str) -> WorkRequest {
    WorkRequest {
        agent: Some(agent("alex")),
        reader: reader(cwd, "alex"),
        session: Some("s".to_owned()),
        ..Default::default()
    }
}

#[test]
fn work_outside_a_bound_is_refused_and_names_it() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let long = |max: usize| Some("ü".repeat(max));
    let many = |count: usize, max: usize| Some(vec!["ü".repeat(max); count]);
    let request = |extra: usize| {
        vec![
            ("task_prompt", WorkRequest { task_prompt: long(20_000 + extra), ..work(&cwd) }),
            ("last_activity", WorkRequest { last_activity: long(2_000 + extra), ..work(&cwd) }),
            ("summary", WorkRequest { summary: long(20_000 + extra), ..work(&cwd) }),
            ("task_id", WorkRequest { task_id: long(512 + extra), ..work(&cwd) }),
            ("next_steps[0]", WorkRequest { next_steps: many(3, 1_000 + extra), ..work(&cwd) }),
            ("next_steps", WorkRequest { next_steps: many(50 + extra, 9), ..work(&cwd) }),
            ("unfinished", WorkRequest { unfinished: many(50 + extra, 9), ..work(&cwd) }),
            ("files_touched", WorkRequest { files_touched: many(200 + extra, 9), ..work(&cwd) }),
            ("touch", WorkRequest { touch: vec!["a".to_owned(); 200 + extra], ..work(&cwd) }),
            ("touch[0]", WorkRequest { touch: vec!["ü".repeat(512 + extra)], ..work(&cwd) }),
        ]
    };
    for (field, request) in request(0) {
        kit.engine.set_work(&kit.owner, &request).unwrap_or_else(|error| panic!("{field}: {error}"));
    }
    let before = kit.engine.works(&kit.owner, &reader(&cwd, "alex")).unwrap();
    assert_eq!(before[0].task_prompt.as_ref().map(|text| text.chars().count()), Some(20_000), "kept whole");
    for (field, request) in request(1) {
        let error = kit.engine.set_work(&kit.owner, &request).unwrap_err();
        assert_eq!(error.problem, Problem::Invalid, "{field}");
        assert!(error.message.starts_with(&format!("{field} ")), "{field}: {}", error.message);
        assert!(error.message.chars().any(|c| c.is_ascii_digit()), "it names the bound: {}", error.message);
    }
    let after = kit.engine.works(&kit.owner, &reader(&cwd, "alex")).unwrap();
    assert_eq!(before, after, "a refused call changes nothing");
}

#[test]
fn noted_files_are_the_last_ones() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for piece in 0..3 {
        let touch = (0..100).map(|at| format!("f{}", piece * 100 + at)).collect();
        kit.engine.set_work(&kit.owner, &WorkRequest { touch, ..work(&cwd) }).unwrap();
    }
    let files = &kit.engine.works(&kit.owner, &reader(&cwd, "alex")).unwrap()[0].files_touched;
    assert_eq!((files.len(), files[0].as_str(), files[199].as_str()), (200, "f100", "f299"));
}

#[test]
fn a_commit_outside_a_bound_is_refused_whole() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let base = || turn("s", "a", &cwd, vec![prompt(1, "go")]);
    let task = |id: usize, title: usize| {
        Some(TaskRef { id: "i".repeat(id), title: "t".repeat(title), ..Default::default() })
    };
    let cases = [
        ("changed_files", CommitRequest { changed_files: vec!["a".to_owned(); 1_001], ..base() }),
        ("changed_files", CommitRequest { changed_files: vec!["a".repeat(4_097)], ..base() }),
        ("events", CommitRequest { events: vec![prompt(1, "x"); 50_001], ..base() }),
        ("task.id", CommitRequest { task: task(513, 1), ..base() }),
        ("task.title", CommitRequest { task: task(1, 1_001), ..base() }),
    ];
    for (field, request) in cases {
        let error = kit.engine.commit(&kit.owner, request).unwrap_err();
        assert_eq!(error.problem, Problem::Invalid, "{field}");
        assert!(error.message.starts_with(field), "{field}: {}", error.message);
    }
    assert!(kit.engine.session(&kit.owner, "s").is_err(), "nothing of it was kept");
}

#[test]
fn a_text_that_lost_its_middle_is_told() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let long = format!("begin {} end", "wörd ".repeat(20_000));
    let mut request = turn("s", "a", &cwd, vec![prompt(1, &long), answer(2, "short")]);
    request.commit_id = Some("c".to_owned());
    assert_eq!(kit.commit(request.clone()).cut, 1);
    assert_eq!(kit.commit(request).cut, 1, "the same commit gets the same answer");
    assert_eq!(kit.commit(turn("s", "a", &cwd, vec![answer(3, "short")])).cut, 0);
    let appended = kit.engine.append(&kit.owner, turn("s", "a", &cwd, vec![prompt(4, &long)])).unwrap();
    assert_eq!(appended.cut, 1);
    for events in [vec![prompt(5, "go")], vec![]] {
        let task = Some(TaskRef { spec: long.clone(), prompt: long.clone(), ..Default::default() });
        let request = CommitRequest { task, ..turn("t", "a", &cwd, events) };
        assert_eq!(kit.commit(request).cut, 2, "the task's texts count, each once");
    }
}
