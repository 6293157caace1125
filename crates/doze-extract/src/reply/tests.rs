use doze_core::model::Kind;
use proptest::prelude::*;

use super::*;

const WHOLE: &str = r#"{"summary":{"request":"Fix the pool","workDone":"Set forks","outcome":"done","openItems":["docs"]},"memories":[{"type":"command","title":"Run vitest with forks","body":"npx vitest --pool=forks works where threads hang","topicKey":"test/pool","files":["vitest.config.ts"],"confidence":0.8},{"type":"lesson","title":"Threads hang","body":"Native module is not thread safe","topicKey":null,"files":[],"confidence":0.5}]}"#;

fn titles(text: &str) -> Vec<String> {
    parse(text).unwrap().memories.into_iter().map(|memory| memory.title).collect()
}

#[test]
fn a_reply_as_it_was_asked_for_is_read_whole() {
    let reply = parse(WHOLE).unwrap();
    let summary = reply.summary.unwrap();
    assert_eq!((summary.request.as_str(), summary.work_done.as_str()), ("Fix the pool", "Set forks"));
    assert_eq!(
        (summary.outcome.as_str(), summary.open_items.as_slice()),
        ("done", ["docs".to_owned()].as_slice())
    );
    assert_eq!(reply.memories.len(), 2);
    let first = &reply.memories[0];
    assert_eq!(
        (first.kind, first.topic_key.as_deref(), first.confidence),
        (Kind::Command, Some("test/pool"), 0.8)
    );
    assert_eq!(first.files, ["vitest.config.ts"]);
    assert_eq!((reply.memories[1].topic_key.as_deref(), reply.cut_off), (None, false));
}

#[test]
fn what_models_put_round_it_does_not_matter() {
    let dressed = [
        format!("```json\n{WHOLE}\n```"),
        format!(
            "Sure! Here is what I {{found}} in [run 3]:\n\n{WHOLE}\n\nLet me know {{if}} more is needed."
        ),
        format!("<think>maybe {{\"memories\":[]}} or {{\"title\":\"a\",\"body\":\"b\"}}</think>{WHOLE}"),
        format!("so I decide </think>\n{WHOLE}"),
        format!("{{\"memories\":[]}}\nOn second thought:\n{WHOLE}"),
        format!("{{\"result\": {WHOLE}}}"),
        format!("\u{feff}{WHOLE}"),
        format!("[{WHOLE}]"),
        format!("Here: [ {WHOLE}"),
        format!("<THINK>a < b, </reasoning> {{\"memories\":[]}}</THINK>{WHOLE}"),
        format!("</think></think>{WHOLE}<thinking>enough?"),
        format!(r#"{{"type":"result","result":{}}}"#, serde_json::Value::from(WHOLE)),
    ];
    for text in dressed {
        assert_eq!(titles(&text), ["Run vitest with forks", "Threads hang"], "{text}");
    }
}

#[test]
fn other_shapes_of_the_same_are_understood() {
    let table = [
        (r#"[{"type":"decision","title":"A","body":"b"}]"#, Kind::Decision, 0.6),
        (
            r#"{"memories":[{"kind":"Env Quirk","name":"A","content":"b","confidence":"0.7"}]}"#,
            Kind::EnvQuirk,
            0.7,
        ),
        (r#"{"memories":{"type":"wisdom","title":"A","body":["b","c"],"confidence":7}}"#, Kind::Lesson, 1.0),
        (r#"{"Memories":[{"TYPE":"spec","Title":"A","Body":"b","confidence":null}]}"#, Kind::Spec, 0.6),
        (r#"{"memories":[{"type":3,"title":"A","body":"b","confidence":-2}]}"#, Kind::Lesson, 0.1),
        (r#"{"memories":[{"type":"command","title":"A","body":"b","confidence":0.4},]}"#, Kind::Command, 0.4),
    ];
    for (text, kind, confidence) in table {
        let reply = parse(text).unwrap();
        let [only] = reply.memories.as_slice() else { panic!("{text}: {reply:?}") };
        assert_eq!((only.kind, only.title.as_str(), only.confidence), (kind, "A", confidence), "{text}");
    }
    let files = r#"[{"title":"A","body":"b","files":"a.rs, b.rs","topic_key":"none"}]"#;
    assert_eq!(parse(files).unwrap().memories[0].files, ["a.rs", "b.rs"]);
    assert_eq!(parse(files).unwrap().memories[0].topic_key, None);
}

#[test]
fn nothing_to_keep_is_not_the_same_as_nothing_readable() {
    for text in [r#"{"memories":[]}"#, "[]", "```json\n[]\n```", r#"{"summary":null,"memories":[]}"#] {
        assert_eq!(parse(text), Ok(Reply::default()), "{text}");
    }
    let summary_only = parse(r#"{"summary":{"request":"x"},"memories":[]}"#).unwrap();
    assert_eq!(summary_only.summary.unwrap().outcome, "unknown");
    let unreadable = [
        "",
        r#"{"memories":[{"type":"lesson","title":"A"#,
        r#"{"memories":["#,
        "I could not find anything.",
        "see [1] and []",
        "{}",
        r#"{"error":"rate limit"}"#,
        "[1,2]",
        "<think>[]",
    ];
    for text in unreadable {
        assert_eq!(parse(text), Err(Unparsable), "{text}");
    }
}

#[test]
fn bounds_are_those_of_the_document() {
    let item = format!(
        r#"{{"title":"{}","body":"{}","topicKey":"{}"}}"#,
        "t".repeat(300),
        "b".repeat(3000),
        "k".repeat(300)
    );
    let reply = parse(&format!(r#"{{"memories":[{}]}}"#, vec![item; 9].join(","))).unwrap();
    assert_eq!(reply.memories.len(), MAX_MEMORIES);
    let first = &reply.memories[0];
    assert_eq!((first.title.len(), first.body.len()), (TITLE_CHARS, BODY_CHARS));
    assert_eq!(first.topic_key.as_ref().unwrap().len(), TOPIC_CHARS);
    // Six are taken before any is checked.
    let empty = r#"{"title":"","body":""}"#;
    let late = format!(r#"{{"memories":[{},{{"title":"A","body":"b"}}]}}"#, [empty; 6].join(","));
    assert_eq!(parse(&late).unwrap().memories, []);
}

#[test]
fn of_a_reply_that_broke_off_the_complete_part_is_kept() {
    let second = WHOLE.find("{\"type\":\"lesson\"").unwrap();
    let reply = parse(&WHOLE[..second + 30]).unwrap();
    assert!(reply.cut_off && reply.summary.is_some());
    assert_eq!(reply.memories.len(), 1);
    assert_eq!(
        titles(&format!("```json\n{}", &WHOLE[..WHOLE.len() - 2])),
        ["Run vitest with forks", "Threads hang"]
    );
}

#[test]
fn a_memory_may_speak_of_thoughts() {
    let text = r#"{"memories":[{"title":"Strip <think> first","body":"a </think> without its start ends all before it"}]}"#;
    assert_eq!(titles(text), ["Strip <think> first"]);
    assert_eq!(titles(&format!("```json\n{text}\n```")), ["Strip <think> first"]);
}

#[test]
fn memories_without_an_object_round_them_are_collected() {
    let lines = "{\"title\":\"A\",\"body\":\"b\"}\n{\"title\":\"C\",\"body\":\"d\"}\n{\"memories\":[]}";
    assert_eq!(titles(lines), ["A", "C"]);
}

/// Cut anywhere, a reply never says less than what was complete in it, and never anything else.
#[test]
fn a_cut_anywhere_loses_only_what_was_not_complete() {
    let whole = parse(WHOLE).unwrap();
    let ends: Vec<usize> = ["0.8}", "0.5}"].iter().map(|end| WHOLE.find(end).unwrap() + end.len()).collect();
    let summary_ends = WHOLE.find("]}").unwrap() + 2;
    for end in 0..WHOLE.len() {
        let cut = &WHOLE[..end];
        for text in [cut.to_owned(), format!("Sure:\n```json\n{cut}")] {
            let complete = ends.iter().filter(|at| **at <= end).count();
            match parse(&text) {
                Ok(reply) => {
                    assert!(reply.memories.len() >= complete && reply.cut_off, "{text}");
                    for (memory, known) in reply.memories.iter().zip(&whole.memories) {
                        assert_eq!((&memory.title, &memory.body), (&known.title, &known.body), "{text}");
                    }
                    assert!(end < summary_ends || reply.summary == whole.summary, "{text}");
                }
                Err(Unparsable) => assert!(end <= summary_ends && complete == 0, "{text}"),
            }
        }
    }
}

#[test]
fn nothing_is_read_again_and_again() {
    let mib = 1 << 20;
    let long = "1,".repeat(mib / 2);
    let hostile = [
        "[".repeat(mib),
        "{\"a\":".repeat(mib / 5),
        "[{".repeat(mib / 2),
        format!("{}{long}", "[".repeat(120)),
        format!("{}{long} x", "[".repeat(120)),
        format!("{}{} x", "[\n".repeat(120), "1,\n".repeat(mib / 3)),
        format!("{}<think>", "</think>".repeat(mib / 8)),
        format!("{}</think>", "<think>".repeat(mib / 7)),
        "<".repeat(mib),
        "{\"\\".repeat(mib / 3),
        format!("{{\"memories\":[{}", "{\"title\":\"A\",\"body\":\"b\"},".repeat(mib / 24)),
        format!("{{{}}}", (0..mib / 8).map(|n| format!("\"{n}\":1")).collect::<Vec<_>>().join(",")),
    ];
    let start = std::time::Instant::now();
    for text in &hostile {
        let _ = parse(text);
    }
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn brackets_of_the_prose_before_a_reply_are_none_of_it() {
    for before in ["[", "[[", "[ [[ ", "[[1] ", "([{ "] {
        let reply = parse(&format!("{before}\n{WHOLE}\n"));
        assert_eq!(reply.map(|reply| reply.memories), parse(WHOLE).map(|reply| reply.memories), "{before}");
    }
}

proptest! {
    #[test]
    fn whatever_is_read_is_within_its_bounds(text in r#"(\{|\}|\[|\]|"|,|:|\\|<think>|</think>|"memories":\[|"title":"|"body":"|"summary":\{|"confidence":|[a-zé0-9 \n]){0,80}"#) {
        if let Ok(reply) = parse(&text) {
            prop_assert!(reply.memories.len() <= MAX_MEMORIES);
            for memory in &reply.memories {
                prop_assert!(!memory.title.is_empty() && !memory.body.is_empty());
                prop_assert!(memory.title.chars().count() <= TITLE_CHARS && memory.body.chars().count() <= BODY_CHARS);
                prop_assert!((0.1..=1.0).contains(&memory.confidence));
            }
        }
    }

    #[test]
    fn prose_round_a_reply_changes_nothing(before in "[a-zé(){\\[<>,.' \n]{0,60}", after in "[a-zé(){}\\]\\[<>,.' \n]{0,60}") {
        prop_assert_eq!(parse(&format!("{before}\n{WHOLE}\n{after}")).unwrap().memories, parse(WHOLE).unwrap().memories);
    }
}

proptest! {
    #[test]
    fn no_cut_leaves_a_part_of_a_secret(before in 0usize..900, field in 0usize..9, glued in any::<bool>()) {
        let body = "aB3dE5fG7hI9jK1mN2pQ4rS6tU8vW0xY1zA2";
        let filler = "ab ".repeat(before / 3);
        let said = format!("{filler}ghp_{body}{}", if glued { "" } else { " and more" });
        let mut memory = serde_json::json!({"type": "lesson", "title": "t", "body": "b"});
        let mut summary = serde_json::json!({"request": "r"});
        match field {
            0..=1 => memory[["title", "body"][field]] = said.into(),
            2 => memory["topicKey"] = said.into(),
            3 => memory["files"] = serde_json::json!([said]),
            4 => memory["files"] = said.into(),
            5..=6 => summary[["request", "workDone"][field - 5]] = said.into(),
            7 => summary["openItems"] = serde_json::json!([said]),
            _ => summary["openItems"] = said.into(),
        }
        let reply = parse(&serde_json::json!({"summary": summary, "memories": [memory]}).to_string()).unwrap();
        let told = format!("{reply:?}");
        for at in 0..body.len() - 7 {
            prop_assert!(!told.contains(&body[at..at + 8]), "{}", told);
        }
    }
}

#[test]
fn half_a_character_spoils_one_character() {
    let reply =
        parse(r#"{"memories":[{"title":"Emoji \ud83d here","body":"b"},{"title":"T","body":"b"}]}"#).unwrap();
    assert_eq!(reply.memories.len(), 2);
    assert_eq!(reply.memories[0].title, "Emoji \u{fffd} here");
}
