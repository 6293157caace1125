//! The office face as its document promises it (S0): what an orchestrator learns, the running conversation, budgets,
//! work states told apart, and input that is not what it should be.

use std::collections::BTreeMap;

use doze_core::model::{Origin, Outcome, SessionEnd, WorkStatus};
use doze_core::render::recovery::{FIRST_LINE, LAST_LINE, RecoverySource};
use doze_core::tokens;
use doze_engine::{
    CommitRequest, ContextRequest, Forget, ListRequest, MemoryRequest, Problem, ProjectRequest, Reader,
    RecoverRequest, Recovered, Roster, SessionListRequest, Switches, Verdict, WorkRequest,
};
use jiff::SignedDuration;

use crate::kit::{Kit, agent, answer, prompt, reader, tool, turn};

fn context(kit: &Kit, cwd: &str, by: &str) -> doze_engine::ContextAnswer {
    let request = ContextRequest { reader: reader(cwd, by), ..Default::default() };
    kit.engine.context(&kit.owner, &request).unwrap()
}

fn recovered(kit: &Kit, cwd: &str, by: &str) -> Recovered {
    let request = RecoverRequest { reader: reader(cwd, by), ..Default::default() };
    kit.engine.recover(&kit.owner, &request).unwrap()
}

fn work(kit: &Kit, cwd: &str, by: &str, change: impl FnOnce(&mut WorkRequest)) {
    let mut request = WorkRequest { agent: Some(agent(by)), reader: reader(cwd, by), ..Default::default() };
    change(&mut request);
    kit.engine.set_work(&kit.owner, &request).unwrap();
}

fn ratings(list: &[(&str, f64)]) -> BTreeMap<String, f64> {
    list.iter().map(|(axis, n)| ((*axis).to_owned(), *n)).collect()
}

fn project(summary: &str, list: &[(&str, f64)]) -> ProjectRequest {
    ProjectRequest {
        summary: Some(summary.to_owned()).filter(|summary| !summary.is_empty()),
        tech: Some("PixiJS v8".to_owned()),
        ratings: ratings(list),
        review_passed: true,
    }
}

#[test]
fn the_next_project_learns_from_reviews_plans_and_ratings() {
    let kit = Kit::new();
    let cwd = kit.project("shop");

    let review = |text: &str| kit.engine.office_review(&kit.owner, None, text).unwrap().noted;
    let first =
        review("VERDICT: FAIL\n1. Missing error handling in the loader\n2. No tests for the empty cart");
    assert_eq!((first.added, first.known), (2, 0));
    assert_eq!(context(&kit, &cwd, "alex").told.text, "", "once is no pattern");
    let again = review("VERDICT: FAIL\n1. missing error handling, in the loader!");
    assert_eq!((again.added, again.known), (0, 1));
    assert_eq!(review("VERDICT: PASS\n1. Missing error handling in the loader").added, 0);
    for plan in ["TECH: Vite", "PLAN\nTECH: Zustand\nTECH: PixiJS v8", "TECH: vite"] {
        kit.engine.office_plan(&kit.owner, plan).unwrap();
    }
    kit.engine.office_project(&kit.owner, &project("Snake game", &[])).unwrap();
    let rated = project("", &[("visual", 2.0), ("creativity", 4.0)]);
    let (kept, _) = kit.engine.office_project(&kit.owner, &rated).unwrap();
    assert_eq!(kept.unwrap().summary, "Snake game", "ratings alone are the last project's");
    let text = context(&kit, &kit.project("another"), "sam").told.text;
    assert_eq!(
        text,
        "===== LEARNED FROM PREVIOUS PROJECTS =====\nCommon review issues to avoid:\n\
         - Missing error handling in the loader (flagged 2x)\n\
         Technology the person approved: Vite; Zustand; PixiJS v8\nRatings of recent projects:\n\
         - \"Snake game\" [creativity:4/5, visual:2/5] avg=3.0 → improve: visual"
    );
}

#[test]
fn what_the_office_learned_is_forgotten_for_good_and_never_holds_a_secret() {
    let kit = Kit::new();
    let text = "VERDICT: FAIL\n1. The token ghp_abcdefghijklmnopqrstuvwxyz0123456789 stands in the code\n\
                2. Buttons overlap on small screens";
    let done = kit.engine.office_review(&kit.owner, Some("FAIL"), text).unwrap();
    assert_eq!((done.noted.added, done.redacted.len()), (2, 1));
    assert!(!format!("{:?}", kit.engine.learned(&kit.owner).unwrap()).contains("ghp_"));
    assert_eq!(kit.engine.forget_learned(&kit.owner, "buttons overlap on small screens!").unwrap(), 1);
    assert_eq!(kit.engine.forget_learned(&kit.owner, "buttons overlap on small screens!").unwrap(), 0);
    let again = kit.engine.office_review(&kit.owner, Some("FAIL"), text).unwrap();
    assert_eq!((again.noted.added, again.left_out), (0, 1));
    kit.engine.forget(&kit.owner, &Forget::All, true).unwrap();
    assert!(kit.engine.learned(&kit.owner).unwrap().is_empty());
}

#[test]
fn a_sentence_is_forgotten_as_a_fact_and_as_a_review_pattern_at_once() {
    let kit = Kit::new();
    let (shop, web) = (kit.project("shop"), kit.project("web"));
    let flagged =
        "VERDICT: FAIL\n1. Never call the ledger twice in one request\n2. Buttons overlap on small screens";
    for _ in 0..2 {
        kit.engine.office_review(&kit.owner, Some("FAIL"), flagged).unwrap();
    }
    let fact = |by: &str, cwd: &str, body: &str| {
        let request = MemoryRequest {
            agent: Some(agent(by)),
            reader: reader(cwd, by),
            space: Some(doze_core::model::Space::Agent),
            face: Some(doze_core::model::Face::Office),
            body: body.to_owned(),
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap().memory.id
    };
    let ledger = fact("alex", &shop, "Never call the ledger twice in one request.");
    fact("sam", &web, "Buttons overlap on small screens");
    fact("sam", &web, "Dropdown menus hide behind the header on phones");
    let done = kit.engine.forget(&kit.owner, &Forget::Memory(ledger), true).unwrap();
    assert_eq!((done.memories, done.lines), (1, 1), "{done:?}");
    let text = context(&kit, &web, "kim").told.text;
    assert!(!text.contains("ledger") && text.contains("Buttons overlap"), "{text}");
    let again = kit.engine.office_review(&kit.owner, Some("FAIL"), flagged).unwrap();
    assert_eq!(again.left_out, 1, "no review brings it back");

    let gone = kit.engine.forget_learned(&kit.owner, "buttons overlap on small screens!").unwrap();
    assert_eq!(gone, 2, "the pattern and the fact");
    let facts = context(&kit, &web, "sam").facts;
    let left: Vec<&str> = facts.iter().map(|fact| fact.body.as_str()).collect();
    assert_eq!(left, ["Dropdown menus hide behind the header on phones"]);
}

#[test]
fn what_a_person_forgot_in_a_project_is_told_to_no_project() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let rule = "Never call the ledger twice in one request";
    kit.commit(turn("s", "a", &shop, vec![prompt(1, &format!("Note: {rule}."))]));
    let known = ListRequest { reader: reader(&shop, "a"), limit: 10, ..Default::default() };
    let id = kit.engine.memories(&kit.owner, &known).unwrap().items[0].id.clone();
    kit.engine.forget(&kit.owner, &Forget::Memory(id), true).unwrap();
    let flagged = format!("VERDICT: FAIL\n1. {rule}");
    for _ in 0..2 {
        assert_eq!(kit.engine.office_review(&kit.owner, Some("FAIL"), &flagged).unwrap().left_out, 1);
    }
}

#[test]
fn what_stands_in_an_agents_task_is_no_finding_of_its() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let fact = "the parcel queue needs two brokers here";
    kit.commit(turn("lead", "lead", &shop, vec![answer(1, &format!("Note: {fact}."))]));
    let text = context(&kit, &shop, "lead").told.text;
    assert!(text.contains(fact), "{text}");
    for (n, by) in ["w1", "w2", "w3"].into_iter().enumerate() {
        let mut task = prompt(10 + n as i64, &format!("{text}\n\nYour task: build the wall"));
        task.origin = Origin::Agent;
        let events = vec![task, answer(20 + n as i64, &format!("Note: {fact}. SUMMARY: the wall is built"))];
        let facts = kit.commit(turn(by, by, &shop, events)).facts;
        assert_eq!((facts.added, facts.promoted), (0, 0), "{by}: {facts:?}");
    }
}

#[test]
fn what_an_agent_reads_of_its_lost_session_is_no_finding_anew() {
    let kit = Kit::new();
    let shop = kit.project("shop");
    let report = "Note: the parcel queue needs two brokers here.";
    let tell =
        |session: &str, n: i64| kit.commit(turn(session, "alex", &shop, vec![answer(n, report)])).facts;
    assert_eq!(tell("one", 1).added, 1);
    assert!(recovered(&kit, &shop, "alex").told.text.contains("two brokers"));
    assert_eq!((tell("two", 2).reinforced, tell("three", 3).promoted), (0, 0), "it had it before it");
}

#[test]
fn ratings_outside_their_bounds_and_learning_in_silence_are_refused() {
    let kit = Kit::new();
    let message = |request: ProjectRequest| {
        let error = kit.engine.office_project(&kit.owner, &request).unwrap_err();
        (error.problem, error.message)
    };
    let invalid = |text: &str| (Problem::Invalid, text.to_owned());
    assert_eq!(message(project("x", &[("visual", 6.0)])), invalid("ratings.visual is outside 1 to 5"));
    assert_eq!(message(project("x", &[("visual", f64::NAN)])), invalid("ratings.visual is outside 1 to 5"));
    assert_eq!(
        message(project("x", &[("beauty", 3.0)])),
        invalid("ratings.beauty is none of creativity, visual, interaction, completeness, engagement")
    );
    assert_eq!(message(project("", &[("visual", 3.0)])), invalid("there is no project to rate"));
    assert_eq!(message(ProjectRequest::default()), invalid("summary and ratings are both missing"));
    kit.engine.set_switches(&kit.owner, Switches { memory_enabled: false, ..Switches::default() });
    assert_eq!(message(project("x", &[])), (Problem::Refused, "memory is off".to_owned()));
    assert!(kit.engine.office_plan(&kit.owner, "TECH: Vite").is_err());
    assert!(kit.engine.learned(&kit.owner).unwrap().is_empty());
}

#[test]
fn the_last_six_messages_of_a_running_session_are_at_hand() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let old = turn("old", "alex", &cwd, vec![answer(1, "SUMMARY: the cart is done")]);
    kit.commit(old);
    let events = (0..6)
        .flat_map(|n| {
            let id = 10 + 3 * n;
            [
                prompt(id, &format!("question {n}")),
                tool(id + 1, "ls", "a", false),
                answer(id + 2, &format!("reply {n}")),
            ]
        })
        .collect();
    kit.engine.append(&kit.owner, turn("new", "alex", &cwd, events)).unwrap();
    let found = recovered(&kit, &cwd, "alex");
    let told: Vec<(bool, &str)> =
        found.messages.iter().map(|message| (message.from_user, message.text.as_str())).collect();
    assert_eq!(
        told,
        [
            (true, "question 3"),
            (false, "reply 3"),
            (true, "question 4"),
            (false, "reply 4"),
            (true, "question 5"),
            (false, "reply 5")
        ]
    );
    assert_eq!(found.session.as_deref(), Some("new"));
    // Nothing better is known of the session that was lost, so its raw messages are told.
    assert_eq!(found.parts.as_ref().unwrap().source, RecoverySource::Legacy);
    let text = &found.told.text;
    assert!(text.starts_with(FIRST_LINE) && text.ends_with(LAST_LINE), "{text}");
    assert!(text.contains("- Recent conversation:\n  [User]: question 3\n  [You]: reply 3\n"), "{text}");
    let mut done = turn("new", "alex", &cwd, vec![answer(90, "SUMMARY: the checkout is done")]);
    done.end = SessionEnd::Session;
    kit.commit(done);
    let found = recovered(&kit, &cwd, "alex");
    assert_eq!(found.parts.as_ref().unwrap().source, RecoverySource::Summary);
    assert!(!found.told.text.contains("[User]"), "{}", found.told.text);
    let old = found.parts.unwrap().old_form(&found.messages);
    assert_eq!((old.last_result.as_deref(), old.recent_messages.len()), (Some("the checkout is done"), 6));
}

#[test]
fn a_run_that_did_not_do_what_was_asked_leaves_its_state_marked() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let ends = [
        ("failed", SessionEnd::Session, Some(Outcome::Failed), WorkStatus::Failed),
        ("cancelled", SessionEnd::Session, Some(Outcome::Cancelled), WorkStatus::Cancelled),
        ("interrupted", SessionEnd::Turn, Some(Outcome::Interrupted), WorkStatus::Interrupted),
        ("quit", SessionEnd::Quit, None, WorkStatus::Interrupted),
    ];
    for (by, end, outcome, status) in ends {
        // One told with its session, as hooks do, and one without, as the original did.
        for session in [Some(by.to_owned()), None] {
            work(&kit, &cwd, by, |request| {
                request.session = session;
                request.task_prompt = Some(format!("Build it, {by}"));
            });
        }
        let mut commit = turn(by, by, &cwd, vec![answer(1, "SUMMARY: half of it")]);
        (commit.end, commit.outcome) = (end, outcome);
        kit.commit(commit);
        let works = kit.engine.works(&kit.owner, &reader(&cwd, by)).unwrap();
        assert_eq!(works.iter().map(|work| work.status).collect::<Vec<_>>(), [status, status], "{by}");
        let text = recovered(&kit, &cwd, by).told.text;
        assert!(
            text.contains(&format!("Build it, {by}")) && text.contains(&format!("- Status: {status}\n")),
            "{text}"
        );
        let mut commit = turn(by, by, &cwd, vec![answer(2, "SUMMARY: all of it")]);
        (commit.end, commit.outcome) = (SessionEnd::Session, Some(Outcome::Success));
        kit.commit(commit);
        assert!(kit.engine.works(&kit.owner, &reader(&cwd, by)).unwrap().is_empty(), "{by}");
        assert!(!recovered(&kit, &cwd, by).told.text.contains("Status"));
    }
}

#[test]
fn a_crashed_orchestrator_finds_the_state_of_every_agent_that_ran() {
    let mut kit = Kit::new();
    let cwd = kit.project("shop");
    for (at, by) in ["alex", "sam", "kim"].into_iter().enumerate() {
        kit.pass(SignedDuration::from_secs(1));
        work(&kit, &cwd, by, |request| {
            request.task_id = Some(format!("T-{at}"));
            request.task_prompt = Some(format!("Build page {at}"));
            request.next_steps = Some(vec![format!("test page {at}")]);
            request.touch = vec![format!("src/page{at}.tsx")];
        });
    }
    work(&kit, &kit.project("elsewhere"), "alex", |_| ());
    kit.reopen();
    let everybody = Reader { cwd: Some(cwd.clone()), ..Default::default() };
    let works = kit.engine.works(&kit.owner, &everybody).unwrap();
    let told: Vec<_> =
        works.iter().map(|work| (work.agent.id.as_str(), work.task_id.as_deref().unwrap())).collect();
    assert_eq!(told, [("kim", "T-2"), ("sam", "T-1"), ("alex", "T-0")]);
    assert!(works.iter().all(|work| work.status == WorkStatus::Running));
    let text = recovered(&kit, &cwd, "sam").told.text;
    assert!(
        text.contains("- Task: Build page 1\n") && text.contains("- Next steps: test page 1\n"),
        "{text}"
    );
}

#[test]
fn what_an_agent_is_told_before_a_task_costs_530_tokens_at_most_and_is_told_as_fields_too() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let letters: Vec<char> = ('\u{4e00}'..='\u{9fa5}').collect();
    for (n, words) in letters.chunks(60).take(40).enumerate() {
        let request = MemoryRequest {
            body: words[..20 + n].iter().collect(),
            space: Some(doze_core::model::Space::Agent),
            agent: Some(agent("alex")),
            reader: reader(&cwd, "alex"),
            native_kind: Some("codebase_pattern".to_owned()),
            ..Default::default()
        };
        kit.engine.add(&kit.owner, &request).unwrap();
        let said = answer(n as i64, &format!("SUMMARY: built part {n}"));
        kit.commit(turn(&format!("s{n}"), "alex", &cwd, vec![said]));
    }
    let told = context(&kit, &cwd, "alex");
    assert!((250..=530).contains(&told.told.tokens), "{}", told.told.tokens);
    assert_eq!(told.told.tokens, tokens::estimate(&told.told.text));
    assert_eq!(told.facts.len() + told.shared.len(), told.told.memories.len());
    let lines = told.told.text.lines().filter(|line| line.starts_with("Codebase: ")).count();
    assert_eq!(lines, told.facts.len());
    let sessions = told.told.text.lines().filter(|line| line.contains("built part")).count();
    assert!(sessions > 0 && sessions == told.sessions.len(), "{}", told.told.text);
    let request = ContextRequest { reader: reader(&cwd, "alex"), budget: Some(60) };
    let small = kit.engine.context(&kit.owner, &request).unwrap();
    assert!(small.told.tokens <= 60 && small.facts.len() < told.facts.len());
}

#[test]
fn of_an_agent_that_nobody_knows_nothing_is_told() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    assert_eq!(context(&kit, &cwd, "nobody").told.text, "");
    let found = recovered(&kit, &cwd, "nobody");
    assert!(found.told.text.is_empty() && found.parts.is_none() && found.messages.is_empty());
    let Roster { told: roster, agents, .. } =
        kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &["nobody".into()]).unwrap();
    assert_eq!((roster.text.as_str(), agents.len()), ("[nobody] idle (no recent activity)", 1));
    let error = kit.engine.work(&kit.owner, &reader(&cwd, "nobody"), None).unwrap_err();
    assert_eq!((error.problem, error.message.as_str()), (Problem::NotFound, "no work state of nobody"));
    let list =
        SessionListRequest { reader: reader(&cwd, "nobody"), office: true, limit: 30, ..Default::default() };
    assert!(kit.engine.sessions(&kit.owner, &list).unwrap().items.is_empty());
    let none = RecoverRequest::default();
    assert_eq!(kit.engine.recover(&kit.owner, &none).unwrap_err().message, "agent is missing");
}

#[test]
fn empty_output_and_50_megabytes_of_it_are_a_session_like_any_other() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let mut empty = turn("empty", "alex", &cwd, Vec::new());
    (empty.output, empty.end) = (Some(" \n ".to_owned()), SessionEnd::Session);
    let done = kit.commit(empty);
    assert_eq!((done.summary.what.as_str(), done.facts.added, done.events.new), ("Task completed", 0, 0));
    let mut huge = turn("huge", "alex", &cwd, Vec::new());
    let line = "Compiling crate number something of the workspace, as always\n";
    let body = line.repeat((50 << 20) / line.len());
    huge.output =
        Some(format!("The user prefers solid borders everywhere.\n{body}SUMMARY: the build is green"));
    huge.end = SessionEnd::Session;
    let done = kit.commit(huge);
    assert_eq!((done.summary.what.as_str(), done.cut), ("the build is green", 1));
    assert_eq!(done.facts.added, 1, "the beginning is read as well as the end");
    assert!(kit.store_bytes().len() < 20 << 20, "the middle is not stored");
}

#[test]
fn an_id_with_the_separators_of_paths_is_a_name_like_any_other() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    for by in ["../../etc/passwd", "a/b", "a\\b", ".", "~", "agents/../x", "C:\\x"] {
        work(&kit, &cwd, by, |request| request.summary = Some(format!("state of {by}")));
        assert_eq!(
            kit.engine.work(&kit.owner, &reader(&cwd, by), None).unwrap().summary,
            format!("state of {by}")
        );
        let mut commit = turn(&format!("s/{by}"), by, &cwd, vec![answer(1, &format!("SUMMARY: did {by}"))]);
        commit.end = SessionEnd::Session;
        kit.commit(commit);
        assert!(recovered(&kit, &cwd, by).told.text.contains("did "), "{by}");
    }
    for (by, why) in [("", "agent is empty"), ("a\0b", "agent holds a control character")] {
        let request = WorkRequest { agent: Some(agent(by)), reader: reader(&cwd, by), ..Default::default() };
        assert_eq!(kit.engine.set_work(&kit.owner, &request).unwrap_err().message, why);
    }
    let long = "x".repeat(600);
    let request =
        WorkRequest { agent: Some(agent(&long)), reader: reader(&cwd, &long), ..Default::default() };
    assert_eq!(
        kit.engine.set_work(&kit.owner, &request).unwrap_err().message,
        "agent is longer than 512 bytes"
    );
}

#[test]
fn a_team_that_speaks_chinese_remembers_as_any_other() {
    let kit = Kit::new();
    let cwd = kit.project("商店");
    let said =
        "记住：数据库迁移必须先在测试环境里运行。\n总结完毕。\nSUMMARY: 重新设计了翻页按钮\n未完成：夜间模式";
    let mut commit =
        turn("一", "亚历克斯", &cwd, vec![prompt(1, "优化 MultiPaneView 翻页按钮"), answer(2, said)]);
    commit.end = SessionEnd::Session;
    let done = kit.commit(commit);
    assert_eq!(done.summary.what, "重新设计了翻页按钮");
    assert_eq!(done.facts.added, 1, "{done:?}");
    let again = turn("二", "亚历克斯", &cwd, vec![answer(3, "记住：数据库迁移必须先在测试环境里运行！")]);
    assert_eq!(kit.commit(again).facts.reinforced, 1);
    let other = turn("三", "亚历克斯", &cwd, vec![answer(4, "记住：按钮的颜色只用主题里的变量。")]);
    assert_eq!(kit.commit(other).facts.added, 1, "another fact of the same script is another fact");
    let told = context(&kit, &cwd, "亚历克斯");
    assert!(
        told.told.text.contains("Lesson: ") && told.told.text.contains("数据库迁移"),
        "{}",
        told.told.text
    );
    assert_eq!(told.facts.len(), 2);
    let roster = kit.engine.roster(&kit.owner, &reader(&cwd, "x"), &[]).unwrap().told;
    assert!(roster.text.starts_with("[亚历克斯] Last: \""), "{}", roster.text);
}

#[test]
fn what_a_fellow_knew_and_knows_no_more_confirms_nothing() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    // An event that was known already teaches nothing, so each is another one.
    let found = |session: i64, by: &str, fact: &str| {
        let said = answer(session, &format!("Important: {fact}"));
        kit.commit(turn(&session.to_string(), by, &cwd, vec![said])).facts
    };
    found(1, "alex", "every page needs a test of its own.");
    // Now it has been read what alex knows.
    found(2, "sam", "the build server is restarted at night.");
    let list = ListRequest { reader: reader(&cwd, "alex"), limit: 9, ..Default::default() };
    let known = kit.engine.memories(&kit.owner, &list).unwrap().items.remove(0);
    kit.engine.feedback(&kit.owner, &known.id, Verdict::Wrong, true).unwrap();
    let facts = found(3, "kim", "every page needs a test of its own.");
    assert_eq!((facts.added, facts.promoted), (1, 0), "alex's was wrong");
    let facts = found(4, "sam", "every page needs a test of its own.");
    assert_eq!((facts.added, facts.promoted), (1, 1), "kim's stands");
}

#[test]
fn ratings_of_a_project_that_was_forgotten_are_nobody_elses() {
    let kit = Kit::new();
    let rate = |n: f64| kit.engine.office_project(&kit.owner, &project("", &[("visual", n)])).unwrap().0;
    kit.engine.office_project(&kit.owner, &project("Snake game", &[("visual", 5.0)])).unwrap();
    kit.engine.office_project(&kit.owner, &project("Tetris", &[])).unwrap();
    assert_eq!(kit.engine.forget_learned(&kit.owner, "tetris").unwrap(), 1);
    assert_eq!(rate(1.0), None, "it was for the one that is gone");
    let again = kit.engine.office_project(&kit.owner, &project("Tetris", &[("visual", 1.0)])).unwrap().0;
    assert_eq!((again, rate(1.0)), (None, None));
    let learned = kit.engine.learned(&kit.owner).unwrap();
    assert_eq!((learned.projects.len(), learned.projects[0].ratings[0].1), (1, 5.0));
    kit.engine.office_project(&kit.owner, &project("Pong", &[])).unwrap();
    assert_eq!(rate(2.0).unwrap().summary, "Pong");
}

#[test]
fn what_was_cut_when_it_was_kept_is_forgotten_by_its_whole_text() {
    let kit = Kit::new();
    let (game, tech) = ("a very long summary ".repeat(30), "Very Long Technology ".repeat(10));
    kit.engine.office_project(&kit.owner, &project(&game, &[])).unwrap();
    kit.engine.office_plan(&kit.owner, &format!("TECH: {tech}")).unwrap();
    for text in [&game, &tech] {
        assert_eq!(kit.engine.forget_learned(&kit.owner, text).unwrap(), 1, "{text}");
    }
    assert_eq!(kit.engine.office_project(&kit.owner, &project(&game, &[])).unwrap().0, None);
    assert_eq!(kit.engine.office_plan(&kit.owner, &format!("TECH: {tech}")).unwrap().left_out, 1);
    assert!(kit.engine.learned(&kit.owner).unwrap().is_empty());
}

#[test]
fn one_agents_word_does_not_take_the_place_of_the_persons_and_another_sessions_does() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let in_force =
        || -> Vec<String> { context(&kit, &cwd, "alex").facts.into_iter().map(|fact| fact.body).collect() };
    let waits = || {
        let list = ListRequest {
            reader: reader(&cwd, "alex"),
            status: doze_engine::StatusFilter::Only(doze_core::model::Status::Proposed),
            limit: 9,
            ..Default::default()
        };
        kit.engine.memories(&kit.owner, &list).unwrap().items.len()
    };
    kit.commit(turn("s1", "alex", &cwd, vec![prompt(1, "Remember: the parcel API listens on port 3000.")]));
    let other = "Note: the parcel API listens on port 4000.";
    let done = kit.commit(turn("s2", "alex", &cwd, vec![answer(2, other)]));
    assert!(done.facts.added == 0 && in_force()[0].contains("3000") && waits() == 1, "{:?}", in_force());
    kit.commit(turn("s2", "alex", &cwd, vec![answer(3, &format!("{other} Really."))]));
    assert!(in_force()[0].contains("3000") && waits() == 1, "the same session is no second one");
    // The person says it again, and what stood against it has lost.
    kit.commit(turn("s3", "alex", &cwd, vec![prompt(4, "Remember: the parcel API listens on port 3000!")]));
    assert_eq!(waits(), 0);
    kit.commit(turn("s4", "alex", &cwd, vec![answer(5, &format!("{other} Again."))]));
    assert!(in_force()[0].contains("3000") && waits() == 1);
    kit.commit(turn("s5", "alex", &cwd, vec![answer(6, &format!("{other} Seen it."))]));
    assert!(in_force().len() == 1 && in_force()[0].contains("4000") && waits() == 0, "{:?}", in_force());
    // What an agent said is replaced by what it says next, and the person's word counts at once.
    kit.commit(turn("s6", "sam", &cwd, vec![answer(7, "Note: the ledger API listens on port 5000.")]));
    kit.commit(turn("s7", "sam", &cwd, vec![answer(8, "Note: the ledger API listens on port 6000.")]));
    let of_sam = |kit: &Kit| context(kit, &cwd, "sam").facts.into_iter().map(|f| f.body).collect::<Vec<_>>();
    assert!(of_sam(&kit).len() == 1 && of_sam(&kit)[0].contains("6000"), "{:?}", of_sam(&kit));
    kit.commit(turn("s8", "sam", &cwd, vec![prompt(9, "Remember: the ledger API listens on port 7000.")]));
    assert!(of_sam(&kit).len() == 1 && of_sam(&kit)[0].contains("7000"), "{:?}", of_sam(&kit));
}

#[test]
fn what_a_context_showed_an_agent_is_no_finding_of_its() {
    let kit = Kit::new();
    let cwd = kit.project("shop");
    let fact = "run the gateway check first thing";
    let tell = |session: &str, by: &str| {
        let output = Some(format!("Note: {fact}"));
        kit.commit(CommitRequest { output, ..turn(session, by, &cwd, Vec::new()) }).facts
    };
    assert_eq!(tell("s0", "r").added, 1);
    let shown = |agent: &str| context(&kit, &cwd, agent).told.text.contains(fact);
    assert!(shown("r"));
    for session in ["s1", "s2", "s3"] {
        assert_eq!(tell(session, "r").reinforced, 0);
    }
    // A second agent that was told nothing has found it itself; a third repeats what it is told.
    assert_eq!(tell("s4", "independent").promoted, 1);
    assert!(shown("told"));
    tell("s5", "told");
    let list = ListRequest { reader: reader(&cwd, "z"), limit: 9, ..Default::default() };
    let mut shared = kit.engine.memories(&kit.owner, &list).unwrap().items;
    shared.retain(|memory| memory.scope.agent().is_none());
    assert_eq!(shared[0].confirmed_by, ["r", "independent"]);
}
