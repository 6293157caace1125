//! Raw history is found by meaning once nobody is at work, and what is forgotten of it is found by nothing.

use std::time::{Duration, Instant};

use doze_engine::{Forget, IndexState, SearchRequest};

use crate::kit::{Kit, answer, prompt, reader, turn};

const ASKED: &str = "My automobile makes a grinding noise whenever I press the pedal to stop.";

fn index(kit: &Kit) -> IndexState {
    kit.engine.status(&kit.owner).unwrap().index
}

fn wait_until(kit: &Kit, is_so: impl Fn(&IndexState) -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so(&index(kit)) {
        assert!(Instant::now() < until, "{:?}", index(kit));
        std::thread::yield_now();
    }
}

/// What a search of the history finds, and how near each is.
fn found(kit: &Kit, cwd: &str, query: &str) -> Vec<(String, Option<f64>)> {
    let request = SearchRequest {
        reader: reader(cwd, "a"),
        query: query.to_owned(),
        history: true,
        ..SearchRequest::default()
    };
    let hits = kit.engine.search(&kit.owner, &request).unwrap().hits;
    hits.into_iter().map(|hit| (hit.memory.body, hit.explain.semantic_score)).collect()
}

fn commit(kit: &Kit, cwd: &str, session: &str) {
    let events = vec![
        prompt(1, ASKED),
        answer(2, "The pads are worn; have the shop replace both sides."),
        prompt(3, "go on"),
        prompt(4, "Which paint suits a kitchen with little light, and how many coats does it take?"),
    ];
    kit.commit(turn(session, "a", cwd, events));
}

#[test]
fn a_prompt_is_found_by_its_meaning_also_after_a_restart() {
    let mut kit = Kit::new();
    let cwd = kit.project("shop");
    commit(&kit, &cwd, "s");
    kit.reopen_with_model();
    wait_until(&kit, |index| index.turns == 2 && index.pages_waiting == 0);
    // No word in common.
    let hits = found(&kit, &cwd, "brakes of a car");
    assert_eq!(hits.first().map(|(text, _)| text.as_str()), Some(ASKED), "{hits:?}");
    // What replies to it is found by its words, and is as near as part of what it replies to.
    let hits = found(&kit, &cwd, "the pads of a noisy car brake are worn");
    let near =
        |is_meant: &dyn Fn(&str) -> bool| hits.iter().find(|(text, _)| is_meant(text)).and_then(|hit| hit.1);
    let (reply, asked) = (near(&|text| text.starts_with("The pads")), near(&|text| text == ASKED));
    let (reply, asked) = (reply.unwrap(), asked.unwrap());
    assert!((reply - asked * 0.6).abs() < 0.01, "{reply} {asked}");

    // Kept: nothing is embedded again, and no model is loaded for it.
    kit.reopen_with_model();
    wait_until(&kit, |index| index.turns == 2);
    assert_eq!((index(&kit).pages_waiting, index(&kit).model_state), (0, "unloaded"));
    assert_eq!(found(&kit, &cwd, "brakes of a car").first().map(|(text, _)| text.as_str()), Some(ASKED));
}

#[test]
fn what_is_forgotten_of_a_session_is_near_to_nothing() {
    let mut kit = Kit::new();
    let cwd = kit.project("shop");
    commit(&kit, &cwd, "s");
    commit(&kit, &kit.project("other"), "t");
    kit.reopen_with_model();
    wait_until(&kit, |index| index.turns == 4);
    let forget = Forget::Session { session: "s".into(), memories: false };
    kit.engine.forget(&kit.owner, &forget, true).unwrap();
    wait_until(&kit, |index| index.turns == 2);
    assert_eq!(found(&kit, &cwd, "brakes of a car"), []);
    kit.reopen_with_model();
    wait_until(&kit, |index| index.turns == 2 && index.pages_waiting == 0);
}
