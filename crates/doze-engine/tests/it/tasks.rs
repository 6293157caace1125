//! Which task an agent is told that it works on (S1.34).

use doze_core::model::{TaskRef, WorkStatus};
use doze_engine::{CommitRequest, TaskRequest, TaskStatus, WorkRequest};
use jiff::SignedDuration;

use crate::kit::{Kit, agent, prompt, reader, turn};

const HARNESS: &str = "test";

fn set_task(kit: &Kit, cwd: &str, id: &str, status: TaskStatus) {
    let task = TaskRequest {
        id: id.to_owned(),
        title: Some(format!("Task {id}")),
        status: Some(status),
        ..Default::default()
    };
    kit.engine.set_task(&kit.owner, &reader(cwd, "a"), &task).unwrap();
}

fn work(kit: &Kit, cwd: &str, session: &str, task: &str, status: WorkStatus) {
    let request = WorkRequest {
        agent: Some(agent("a")),
        reader: reader(cwd, "a"),
        session: Some(session.to_owned()),
        task_id: Some(task.to_owned()),
        status: Some(status),
        ..Default::default()
    };
    kit.engine.set_work(&kit.owner, &request).unwrap();
}

fn commit(kit: &Kit, cwd: &str, session: &str, task: &str) {
    let task = TaskRef { id: task.to_owned(), title: format!("Told {task}"), ..Default::default() };
    let events = vec![prompt(1, "go on")];
    kit.commit(CommitRequest { task: Some(task), ..turn(session, "a", cwd, events) });
}

fn told(kit: &Kit, cwd: &str) -> Option<String> {
    let context = kit.engine.task_context(&kit.owner, &reader(cwd, "a"), HARNESS).unwrap();
    context.map(|context| context.task.title)
}

#[test]
fn only_work_that_runs_names_the_task_and_what_is_unknown_names_none() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    set_task(&kit, &cwd, "one", TaskStatus::InProgress);
    assert_eq!(told(&kit, &cwd).as_deref(), Some("Task one"), "the only one in progress");
    set_task(&kit, &cwd, "two", TaskStatus::InProgress);
    assert_eq!(told(&kit, &cwd), None, "of two nobody knows which");
    set_task(&kit, &cwd, "three", TaskStatus::Todo);
    commit(&kit, &cwd, "s1", "two");
    assert_eq!(told(&kit, &cwd).as_deref(), Some("Task two"), "the last session's");
    for over in [WorkStatus::Failed, WorkStatus::Cancelled, WorkStatus::Interrupted] {
        work(&kit, &cwd, "s2", "three", over);
        assert_eq!(told(&kit, &cwd).as_deref(), Some("Task two"), "{over:?} is over");
    }
    work(&kit, &cwd, "s2", "three", WorkStatus::Running);
    assert_eq!(told(&kit, &cwd).as_deref(), Some("Task three"));
    work(&kit, &cwd, "s3", "never told", WorkStatus::Running);
    assert_eq!(told(&kit, &cwd).as_deref(), Some("Task three"), "the next rule holds");
    kit.pass(SignedDuration::from_hours(12));
    assert_eq!(told(&kit, &cwd).as_deref(), Some("Task two"), "that run died without a word");
}

#[test]
fn folders_that_are_no_project_are_not_one_place() {
    let kit = Kit::at_home();
    let folder = |name: &str| {
        let path = kit.path("tmp").join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.canonicalize().unwrap().to_string_lossy().into_owned()
    };
    let (one, two) = (folder("one"), folder("two"));
    commit(&kit, &one, "s1", "secret");
    work(&kit, &one, "s1", "secret", WorkStatus::Running);
    assert_eq!(told(&kit, &one).as_deref(), Some("Told secret"));
    assert_eq!(told(&kit, &two), None);
    set_task(&kit, &one, "open", TaskStatus::InProgress);
    assert_eq!(told(&kit, &two), None);
    // A project that nobody has seen yet is none of them either.
    assert_eq!(told(&kit, &kit.project("new")), None);
}
