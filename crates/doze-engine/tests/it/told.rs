//! What people are told of runs that are read: which failed, what was spent, and which session is meant.

use doze_engine::{DreamRequest, Forget, Problem, Reader, SessionListRequest, TaskRequest, Who};
use jiff::SignedDuration;

use crate::jobs::{NOTHING, run};
use crate::kit::{Kit, prompt, turn};

fn failed(kit: &Kit) -> u64 {
    kit.engine.queue(&kit.owner).unwrap().failed
}

fn names(kit: &Kit, request: &SessionListRequest) -> Vec<String> {
    let page = kit.engine.sessions(&kit.owner, request).unwrap();
    page.items.into_iter().map(|session| session.key.session).collect()
}

#[test]
fn a_run_counts_as_failed_while_that_is_what_became_of_it_today() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fails = || kit.jobs_by(kit.script("fails.sh", "echo no credit >&2; exit 3"));
    fails();
    for (session, first) in [("one", 1), ("two", 30)] {
        kit.commit(run(session, &cwd, first));
    }
    kit.run_jobs();
    for _ in 0..2 {
        kit.engine.extract_again(&kit.owner, "one").unwrap();
        assert_eq!(failed(&kit), 1, "what waits again has not failed");
        kit.run_jobs();
        assert_eq!(failed(&kit), 2, "runs are counted, not attempts");
    }
    let only = SessionListRequest { failed: true, limit: 1, ..Default::default() };
    let first = kit.engine.sessions(&kit.owner, &only).unwrap();
    let rest = SessionListRequest { cursor: first.next.clone(), ..only.clone() };
    let mut listed = [names(&kit, &only), names(&kit, &rest)].concat();
    listed.sort();
    assert_eq!(listed, ["one", "two"]);
    assert!(kit.engine.sessions(&kit.owner, &rest).unwrap().next.is_none());

    kit.jobs_by(kit.replies(NOTHING));
    kit.engine.extract_again(&kit.owner, "one").unwrap();
    kit.run_jobs();
    let all = SessionListRequest { failed: true, limit: 10, ..Default::default() };
    assert_eq!((failed(&kit), names(&kit, &all)), (1, vec!["two".to_owned()]));
    kit.pass(SignedDuration::from_hours(24));
    assert_eq!((failed(&kit), names(&kit, &all)), (0, vec!["two".to_owned()]), "it was yesterday");
    kit.engine.forget(&kit.owner, &Forget::Session { session: "two".into(), memories: false }, true).unwrap();
    assert!(names(&kit, &all).is_empty());
}

#[test]
fn what_failed_costs_what_it_was_asked_and_ends_the_day_as_well() {
    let cwd_of = |kit: &Kit| kit.project("shop");
    let tokens = |kit: &Kit| kit.engine.extraction(&kit.owner).unwrap().usage.tokens;
    for said in ["exit 3", "echo no reply; exit 0"] {
        let kit = Kit::new();
        let cwd = cwd_of(&kit);
        let command = kit.script("fails.sh", said);
        let with_limit = |limit: u64| {
            kit.switches(|switches| {
                switches.extractors.jobs = Who::Command;
                switches.extractors.command = command.clone();
                switches.extractors.tokens_per_day = limit;
            });
        };
        with_limit(2_500);
        kit.commit(run("one", &cwd, 1));
        kit.commit(run("two", &cwd, 30));
        kit.run_jobs();
        assert_eq!(kit.state("two").0, "queued", "{said}: the second waits for the next day");
        assert!(tokens(&kit) > 100, "{said}: {}", tokens(&kit));
        with_limit(tokens(&kit));
        let status = kit.engine.extraction(&kit.owner).unwrap();
        assert!(status.spent_until.is_some_and(|until| until > kit.engine_time()), "{status:?}");
        let again = kit.engine.extract_again(&kit.owner, "two").unwrap();
        assert_eq!((again.extraction.as_str(), again.spent_until), ("queued", status.spent_until));
        // Rules cost nothing, so that nothing is spent.
        kit.switches(|switches| switches.extractors.jobs = Who::Rules);
        assert_eq!(kit.engine.extraction(&kit.owner).unwrap().spent_until, None);
        assert_eq!(kit.engine.extract_again(&kit.owner, "one").unwrap().spent_until, None);
    }
    // A dream counts likewise, and a program that does not start costs nothing.
    for (command, is_spent) in [("exit 3", true), ("", false)] {
        let kit = Kit::new();
        let cwd = cwd_of(&kit);
        let mut command = kit.script("fails.sh", command);
        if !is_spent {
            let broken = kit.path("broken");
            std::fs::write(&broken, "#!/no/such/interpreter\n").unwrap();
            std::fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            command = vec![broken.to_string_lossy().into_owned()];
        }
        kit.switches(|switches| {
            switches.extractors.dreams = Who::Command;
            switches.extractors.command = command;
        });
        kit.commit(turn("s", "a", &cwd, crate::kit::long_session("Use pnpm here.")));
        kit.engine.dream(&kit.owner, &DreamRequest { by_hand: true, ..Default::default() }).unwrap();
        assert_eq!(kit.engine.extraction(&kit.owner).unwrap().usage.calls, 1);
        assert_eq!(tokens(&kit) > 0, is_spent);
    }
}

#[test]
fn a_session_goes_by_six_characters_of_its_beginning_that_fit_no_other_one() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for (session, id) in [("0f2c6a1e-one", 1), ("0f2c6a1f-two", 2), ("0f2c6a1f-two-more", 3), ("s-8", 4)] {
        kit.commit(turn(session, "a", &cwd, vec![prompt(id, &format!("Please do {session}"))]));
    }
    let named = |given: &str| kit.engine.session(&kit.owner, given).map(|session| session.key.session);
    for (given, whole) in [
        ("0f2c6a1e", "0f2c6a1e-one"),
        ("0f2c6a1f-two", "0f2c6a1f-two"),
        ("0f2c6a1f-two-", "0f2c6a1f-two-more"),
        ("s-8", "s-8"),
    ] {
        assert_eq!(named(given).unwrap(), whole, "{given}");
    }
    for given in ["0f2c6", "s-", "", "0f2c6a1e-one-more", "ffffffff"] {
        let error = named(given).unwrap_err();
        assert_eq!(error.problem, Problem::NotFound, "{given}");
        assert!(error.hint.contains("`doze sessions`"), "{}", error.hint);
    }
    let several = named("0f2c6a1").unwrap_err();
    assert_eq!(several.problem, Problem::Invalid);
    assert!(several.message.contains("0f2c6a1e-one, 0f2c6a1f-two, 0f2c6a1f-two-more"), "{}", several.message);

    // What deletes takes a beginning as well, and never more than one session.
    let forget = |session: &str| {
        let what = Forget::Session { session: session.into(), memories: false };
        kit.engine.forget(&kit.owner, &what, true).map(|gone| gone.sessions)
    };
    assert_eq!(forget("0f2c6a1f").unwrap_err().problem, Problem::Invalid);
    assert_eq!(forget("0f2c6a1e").unwrap(), 1);
    assert_eq!(named("0f2c6a1f-two").unwrap(), "0f2c6a1f-two");
    assert!(kit.engine.digest(&kit.owner, "0f2c6a1f-two-m").unwrap().contains("Please do"));
}

#[test]
fn looking_at_tasks_makes_no_project() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let reader = |cwd: &str| Reader { cwd: Some(cwd.to_owned()), ..Default::default() };
    let tasks = |cwd: &str| kit.engine.tasks(&kit.owner, &reader(cwd)).unwrap().len();
    assert_eq!((tasks(&cwd), tasks("/nowhere/nodir")), (0, 0));
    assert_eq!(kit.engine.status(&kit.owner).unwrap().projects, 0);

    let set = TaskRequest { id: "T-1".into(), title: Some("Move the port".into()), ..Default::default() };
    kit.engine.set_task(&kit.owner, &reader(&cwd), &set).unwrap();
    assert_eq!((tasks(&cwd), tasks("/nowhere/nodir")), (1, 0));
    assert_eq!(kit.engine.status(&kit.owner).unwrap().projects, 1);
    let untitled = TaskRequest { id: "T-2".into(), ..Default::default() };
    let error = kit.engine.set_task(&kit.owner, &reader(&cwd), &untitled).unwrap_err();
    assert!(error.hint.contains("doze task set T-2 TITLE"), "{}", error.hint);
}
