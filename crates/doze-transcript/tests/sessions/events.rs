//! Who said what: the events of real sessions and of the cases that mislead.

use doze_core::model::{Event, EventKind, Origin};

use crate::{read_all, sample};

/// One event on one line.
fn line(event: &Event) -> String {
    let said = match (&event.tool, &event.path) {
        (Some(tool), _) => {
            format!(
                "{}{} {} => {}",
                tool.name,
                if tool.failed { " FAILED" } else { "" },
                tool.input,
                tool.output
            )
        }
        (_, Some(path)) => path.clone(),
        _ => event.text.clone(),
    };
    let said: String = said.replace('\n', " ").chars().take(70).collect();
    format!("{} {} {}", event.kind, event.origin, said.trim_end())
}

fn told(name: &str) -> String {
    read_all(&sample(name)).1.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn of_kind(name: &str, kind: EventKind) -> Vec<Event> {
    read_all(&sample(name)).1.into_iter().filter(|event| event.kind == kind).collect()
}

#[test]
fn claude_code_in_order() {
    insta::assert_snapshot!(told("claude-code/06-v2074-tiny.jsonl"), @r##"
    prompt person create me a .github/CODEOWNERS - attach the @entireio/cli-maintainers
    tool tool Write {"content":"# Default code owners for all files\n* @entireio/cli
    file agent /Users/dev/workspace/cli/.github/CODEOWNERS
    answer agent Created [.github/CODEOWNERS](.github/CODEOWNERS) with `@entireio/cli-m
    "##);
}

#[test]
fn gemini_in_order() {
    insta::assert_snapshot!(told("gemini/01-tiny.json"), @r##"
    prompt person add new text to test-gemini.txt
    answer agent Please provide the text you would like to add to `test-gemini.txt`.
    prompt person ",how are you"
    tool tool read_file {"file_path":"test-gemini.txt"} => hello from gemini
    tool tool write_file {"content":"hello from gemini,how are you","file_path":"tes
    file agent test-gemini.txt
    answer agent I have added the text ",how are you" to `test-gemini.txt`.
    "##);
}

#[test]
fn gemini_lines_in_order() {
    insta::assert_snapshot!(told("gemini/07-jsonl-v040.jsonl"), @r##"
    prompt person Say hello and list files.
    tool tool run_shell_command {"command":"ls -F","description":"List files in the
    answer agent Hello! I listed the files.
    "##);
}

#[test]
fn an_sdk_stream_in_order() {
    insta::assert_snapshot!(told("anthropic-messages/01-action-turns.json"), @r##"
    answer agent I'll help you with this task. Let me start by examining the file to un
    tool tool Read {"file_path":"/path/to/sample/file.py"} => def example_function()
    answer agent I can see the debug print statement that needs to be removed. Let me f
    tool tool Edit {"file_path":"/path/to/sample/file.py","new_string":"def example_
    file agent /path/to/sample/file.py
    answer agent Perfect! I've successfully removed the debug print statement from the
    tool tool mcp__github__add_pull_request_review_comment {"body":"Removed debug pr
    answer agent Great! I've successfully completed the requested task:  1. ✅ Located t
    "##);
}

#[test]
fn every_event_has_an_id_of_its_own() {
    let table = std::fs::read_to_string(crate::sessions().join("EXPECTED.tsv")).unwrap();
    for name in table.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let Ok(bytes) = std::fs::read(crate::sessions().join(name)) else { continue };
        if name.starts_with("cursor") || name.starts_with("copilot") {
            continue;
        }
        let (_, events) = read_all(&bytes);
        let ids: std::collections::BTreeSet<_> = events.iter().map(|event| event.id.as_str()).collect();
        assert!(!ids.contains("") && ids.len() == events.len(), "{name}");
    }
}

#[test]
fn the_words_of_a_refusal_are_the_persons() {
    let events = read_all(&sample("claude-code/20-v2130-ansi-mid.jsonl")).1;
    let refused = events
        .iter()
        .position(|event| event.tool.as_ref().is_some_and(|t| t.output.contains(" doesn't want")));
    let refused = refused.unwrap();
    assert!(events[refused].tool.as_ref().unwrap().failed);
    let said = &events[refused + 1];
    assert_eq!((said.kind, said.origin), (EventKind::Prompt, Origin::Person));
    assert_eq!(said.text, "branch and PR. but also is there any other way to solve this?");
}

#[test]
fn a_prompt_taken_from_the_queue_is_told_once() {
    let prompts = of_kind("claude-code/20-v2130-ansi-mid.jsonl", EventKind::Prompt);
    assert_eq!(prompts.iter().filter(|event| event.text == "does it fail locally?").count(), 1);
}

#[test]
fn answers_to_questions_are_the_persons_decisions() {
    let prompts = of_kind("claude-code/25-v21227-windows.jsonl", EventKind::Prompt);
    let decision = "Entire CLI'yi hangi yöntemle kuralım?: Manuel zip (Önerilen)";
    assert!(prompts.iter().any(|event| event.text == decision && event.origin == Origin::Person));
    let notices = of_kind("claude-code/25-v21227-windows.jsonl", EventKind::Notice);
    assert!(notices.iter().any(|event| event.text.contains("zip ile C:\\Users\\dev\\bin")));
}

#[test]
fn what_the_harness_injects_is_never_the_persons() {
    let table = std::fs::read_to_string(crate::sessions().join("EXPECTED.tsv")).unwrap();
    let marks = [
        "<system-reminder>",
        "<environment_context>",
        "# AGENTS.md",
        "<ide_",
        "<local-command",
        "Caveat: The",
        "<heartbeat>",
        "<task-notification",
        "<agent-notification",
        "This session is being continued",
        "[Request interrupted",
    ];
    for name in table.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let Ok(bytes) = std::fs::read(crate::sessions().join(name)) else { continue };
        if name.starts_with("cursor") || name.starts_with("copilot") {
            continue;
        }
        for event in read_all(&bytes).1.iter().filter(|event| event.origin == Origin::Person) {
            assert!(!marks.iter().any(|mark| event.text.starts_with(mark)), "{name}: {}", event.text);
        }
    }
}

#[test]
fn commits_and_files_are_told_with_their_calls() {
    let commits = of_kind("claude-code/08-v2076-summary-commits.jsonl", EventKind::Commit);
    assert_eq!(commits.len(), 2);
    assert!(commits[0].text.split_once(' ').unwrap().0.len() >= 7);
    let files = of_kind("codex/05-mise-patch.jsonl", EventKind::File);
    let paths: std::collections::BTreeSet<_> =
        files.iter().filter_map(|event| event.path.as_deref()).collect();
    assert_eq!(paths.len(), 2);
    assert!(paths.iter().all(|path| path.contains("/mise/")), "{paths:?}");
}

#[test]
fn helpers_files_are_told_and_their_talk_is_not() {
    let name = "claude-code/04-v1098-big-sidechain-ansi.jsonl";
    let (report, events) = read_all(&sample(name));
    let count = |kind| events.iter().filter(|event| event.kind == kind).count() as u64;
    assert_eq!(count(EventKind::Tool), report.counts.tool_calls);
    assert_eq!(count(EventKind::Prompt), 2);
    assert!(count(EventKind::File) >= report.counts.files_changed);
}

#[test]
fn old_codex_items_without_envelope_are_read() {
    let rollout = concat!(
        r#"{"id":"s1","timestamp":"2025-05-07T17:24:21.123Z","instructions":null,"git":{"branch":"main"}}"#,
        "\n",
        r#"{"record_type":"state"}"#,
        "\n",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n<cwd>/home/a/x</cwd>\n</environment_context>"}]}"#,
        "\n",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}"#,
        "\n",
        r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"apply_patch\",\"*** Begin Patch\\n*** Update File: a.rs\\n*** End Patch\"]}","call_id":"c1"}"#,
        "\n",
        r#"{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"Done\\n\",\"metadata\":{\"exit_code\":0}}"}"#,
        "\n",
        r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"false\"]}","call_id":"c2"}"#,
        "\n",
        r#"{"type":"function_call_output","call_id":"c2","output":"{\"output\":\"\",\"metadata\":{\"exit_code\":1}}"}"#,
        "\n",
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}"#,
        "\n",
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"fix it"}]}"#,
        "\n",
    );
    let (report, events) = read_all(rollout.as_bytes());
    assert_eq!((report.meta.session_id.as_str(), report.meta.cwd.as_str()), ("s1", "/home/a/x"));
    assert_eq!(report.counts.user_prompts, 2);
    insta::assert_snapshot!(events.iter().map(line).collect::<Vec<_>>().join("\n"), @r##"
    prompt person fix it
    tool tool shell {"command":["apply_patch","*** Begin Patch\n*** Update File: a.r
    file agent a.rs
    tool tool shell FAILED {"command":["false"]} =>
    answer agent Done.
    prompt person fix it
    "##);
}

#[test]
fn an_openai_array_pairs_results_and_numbers_repeated_ids() {
    let array = r#"[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"go"}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c","content":"a.rs"},
        {"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{\"all\":1}"}}]},
        {"role":"tool","tool_call_id":"c","content":"b.rs"},
        {"role":"assistant","content":"ok"}]"#;
    let (report, events) = read_all(array.as_bytes());
    assert_eq!((report.counts.tool_calls, report.counts.assistant_turns), (1, 3));
    let ids: Vec<_> = events.iter().filter(|e| e.kind == EventKind::Tool).map(|e| e.id.as_str()).collect();
    assert_eq!(ids, ["c", "c#2"]);
    insta::assert_snapshot!(events.iter().map(line).collect::<Vec<_>>().join("\n"), @r##"
    prompt person go
    tool tool ls {} => a.rs
    tool tool ls {"all":1} => b.rs
    answer agent ok
    "##);
}

#[test]
fn a_text_action_of_swe_agent_takes_the_next_message_as_its_output() {
    let history = r#"{"environment":"x","history":[{"role":"system","content":"s"},
        {"role":"user","content":"demo","is_demo":true},{"role":"user","content":"the issue"},
        {"role":"assistant","content":"look","action":"ls","thought":"t"},{"role":"user","content":"a.rs"},
        {"role":"assistant","content":"done","action":""}]}"#;
    let events = read_all(history.as_bytes()).1;
    insta::assert_snapshot!(events.iter().map(line).collect::<Vec<_>>().join("\n"), @r##"
    prompt person the issue
    answer agent look
    tool tool action ls => a.rs
    answer agent done
    "##);
}

#[test]
fn text_from_the_web_is_told_as_such() {
    let array = r#"{"system":"s","messages":[
        {"role":"assistant","content":[{"type":"tool_use","id":"w","name":"WebFetch","input":{"url":"https://example.org"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"w","content":"page"}]}]}"#;
    assert_eq!(read_all(array.as_bytes()).1[0].origin, Origin::Web);
}

/// Lines of a Claude Code session: what stands beside the common members, and the message's content.
fn claude_lines(lines: &[(&str, &str)]) -> Vec<u8> {
    let line = |(at, (members, message)): (usize, &(&str, &str))| {
        format!(
            r#"{{"sessionId":"s","uuid":"u{at}","timestamp":"2026-01-01T00:00:0{at}Z",{members},"message":{message}}}"#
        )
    };
    lines.iter().enumerate().map(line).collect::<Vec<_>>().join("\n").into_bytes()
}

const CALL: &str = r#""type":"assistant""#;
const USER: &str = r#""type":"user""#;

#[test]
fn an_approved_plan_is_the_persons() {
    let bytes = claude_lines(&[
        (
            CALL,
            r##"{"id":"m","content":[{"type":"tool_use","id":"t","name":"ExitPlanMode","input":{"plan":"# Do it"}}]}"##,
        ),
        (
            USER,
            r#"{"content":[{"type":"tool_result","tool_use_id":"t","content":"User has approved your plan."}]}"#,
        ),
    ]);
    insta::assert_snapshot!(read_all(&bytes).1.iter().map(line).collect::<Vec<_>>().join("\n"), @r"
    tool tool ExitPlanMode # Do it => User has approved your plan.
    notice person Approved plan: # Do it
    ");
}

#[test]
fn one_queued_prompt_logged_twice_is_told_once() {
    let queue = |operation: &str| {
        format!(r#"{{"type":"queue-operation","operation":"{operation}","content":"and tests"}}"#)
    };
    let attachment = r#"{"type":"attachment","uuid":"a","sessionId":"s","attachment":{"type":"queued_command","prompt":"and tests","commandMode":"prompt"}}"#;
    let bytes = [&queue("enqueue"), &queue("remove"), attachment].join("\n");
    let (report, events) = read_all(bytes.as_bytes());
    assert_eq!(events.iter().map(line).collect::<Vec<_>>(), ["prompt person and tests"]);
    assert_eq!((report.counts.queued_prompts, report.counts.user_prompts), (1, 0));
}

#[test]
fn a_failed_edit_changes_no_file_and_the_harness_notes_are_none() {
    let edit = |id: &str, path: &str| {
        format!(
            r#"{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"Edit","input":{{"file_path":"{path}"}}}}]}}"#
        )
    };
    let result = |id: &str, failed: bool| {
        format!(
            r#"{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"x","is_error":{failed}}}]}}"#
        )
    };
    let bytes = claude_lines(&[
        (CALL, &edit("a", "/x/a.rs")),
        (USER, &result("a", true)),
        (CALL, &edit("b", "/x/b.rs")),
        (USER, &result("b", false)),
        (CALL, &edit("c", "/home/a/.claude/projects/-x/memory/MEMORY.md")),
        (USER, &result("c", false)),
    ]);
    let (report, events) = read_all(&bytes);
    let files: Vec<_> = events.iter().filter_map(|event| event.path.as_deref()).collect();
    assert_eq!((files, report.counts.files_changed), (vec!["/x/b.rs"], 1));
}

#[test]
fn what_a_search_of_the_models_own_found_is_from_the_web() {
    let bytes = claude_lines(&[(
        CALL,
        r#"{"id":"m","content":[{"type":"server_tool_use","id":"t","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"web_search_result","title":"T","url":"https://example.org"}]}]}"#,
    )]);
    let events = read_all(&bytes).1;
    assert_eq!(
        events.iter().map(line).collect::<Vec<_>>(),
        [r#"tool web web_search {"query":"q"} => T https://example.org"#]
    );
}

#[test]
fn a_gemini_message_told_again_is_told_once() {
    let lines = [
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}"#,
        r#"{"id":"1","type":"user","content":"go"}"#,
        r#"{"id":"2","type":"gemini","content":"looking","toolCalls":[{"id":"t","name":"write_file","args":{"file_path":"a.rs"},"status":"executing"}]}"#,
        r#"{"id":"2","type":"gemini","content":"looking","toolCalls":[{"id":"t","name":"write_file","args":{"file_path":"a.rs"},"status":"success","resultDisplay":"ok"}]}"#,
        r#"{"$set":{"messages":[{"id":"1","type":"user","content":"go"}]}}"#,
        r#"{"id":"3","type":"gemini","content":"done"}"#,
    ];
    let (report, events) = read_all(lines.join("\n").as_bytes());
    assert_eq!(
        (report.counts.user_prompts, report.counts.assistant_turns, report.counts.tool_calls),
        (1, 2, 1)
    );
    insta::assert_snapshot!(events.iter().map(line).collect::<Vec<_>>().join("\n"), @r#"
    prompt person go
    answer agent looking
    tool tool write_file {"file_path":"a.rs"} => ok
    file agent a.rs
    answer agent done
    "#);
}

fn gemini(lines: &[&str]) -> Vec<u8> {
    let head = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}"#;
    [&[head], lines].concat().join("\n").into_bytes()
}

#[test]
fn a_gemini_rewind_takes_back_the_message_it_names_and_all_after_it() {
    const KEPT: &str = r#"{"id":"1","type":"user","content":"first"}"#;
    const SAID: &str = r#"{"id":"2","type":"gemini","content":"yes"}"#;
    const WRONG: &str = r#"{"id":"3","type":"user","content":"wrong"}"#;
    const DONE: &str = r#"{"id":"4","type":"gemini","content":"did it","toolCalls":[{"id":"t","name":"write_file","args":{"file_path":"a.rs"},"status":"success","resultDisplay":"ok"}]}"#;
    const RIGHT: &str = r#"{"id":"5","type":"user","content":"right"}"#;
    const TO_3: &str = r#"{"$rewindTo":"3"}"#;
    const TO_5: &str = r#"{"$rewindTo":"5"}"#;
    const TO_NONE: &str = r#"{"$rewindTo":"nowhere"}"#;
    const SET: &str = r#"{"$set":{"lastUpdated":"2026-01-02T00:00:00Z"}}"#;
    let both = "prompt person first|answer agent yes|prompt person right";
    let table: &[(&[&str], &str, u64)] = &[
        (&[KEPT, SAID, WRONG, DONE, TO_3, RIGHT], both, 2),
        (&[KEPT, SAID, WRONG, TO_3, WRONG, DONE, SET, TO_3, RIGHT], both, 2),
        (&[KEPT, SAID, RIGHT, TO_5, WRONG, DONE, TO_3, RIGHT], both, 2),
        (&[KEPT, SAID, WRONG, DONE, TO_NONE, RIGHT], "prompt person right", 1),
        (&[KEPT, SAID, WRONG, DONE, TO_3], "prompt person first|answer agent yes", 1),
        (
            &[KEPT, r#"{"$set":{"messages":[{"id":"3","type":"user","content":"wrong"}]}}"#, TO_3, RIGHT],
            "prompt person first|prompt person right",
            2,
        ),
    ];
    for (lines, expected, prompts) in table {
        let (report, events) = read_all(&gemini(lines));
        assert_eq!(events.iter().map(line).collect::<Vec<_>>().join("|"), *expected, "{lines:?}");
        assert_eq!((report.counts.user_prompts, report.counts.tool_calls), (*prompts, 0), "{lines:?}");
        assert_eq!(report.counts.records as usize, lines.len() + 1);
        assert_eq!(report.counts.bad_lines, 0);
    }
    let (report, _) = read_all(&gemini(&[KEPT, SET, TO_NONE]));
    assert_eq!(report.meta.end, "2026-01-02T00:00:00Z");
}

#[test]
fn a_gemini_rewind_in_a_later_read_takes_back_what_was_not_told() {
    let before = gemini(&[
        r#"{"id":"1","type":"user","content":"first"}"#,
        r#"{"id":"2","type":"gemini","content":"no"}"#,
        "",
    ]);
    let (report, events) = crate::read_from(&before, None).unwrap();
    assert_eq!(events.iter().map(line).collect::<Vec<_>>(), ["prompt person first"]);
    let after = [
        before,
        br#"{"$rewindTo":"2"}
{"id":"3","type":"gemini","content":"yes"}"#
            .to_vec(),
    ]
    .concat();
    let (mut report, mut events) = crate::read_from(&after, Some(report.cursor)).unwrap();
    events.extend(report.cursor.release_answer());
    assert_eq!(events.iter().map(line).collect::<Vec<_>>(), ["answer agent yes"]);
}

#[test]
fn a_call_without_a_result_is_told_when_the_session_is_over() {
    let call = r#"{"id":"m","content":[{"type":"text","text":"I try"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}},{"type":"tool_use","id":"w","name":"WebFetch","input":{}}]}"#;
    let (mut report, mut events) = read_all(&claude_lines(&[(CALL, call)]));
    events.extend(report.cursor.release_calls());
    assert_eq!(report.cursor.release_calls(), []);
    insta::assert_snapshot!(events.iter().map(line).collect::<Vec<_>>().join("\n"), @r#"
    answer agent I try
    tool tool Bash FAILED {"command":"make"} =>
    tool web WebFetch FAILED {} =>
    "#);
    assert!(events[1].tool.as_ref().unwrap().failed);

    let running = r#"{"id":"2","type":"gemini","content":"","toolCalls":[{"id":"t","name":"run_shell_command","args":{"command":"make"},"status":"executing"}]}"#;
    let (mut report, events) = read_all(&gemini(&[running, running]));
    assert_eq!(events, []);
    let calls = report.cursor.release_calls();
    assert_eq!(calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["t"]);

    let finished = running.replace("executing", "success");
    let (mut report, events) = read_all(&gemini(&[running, &finished]));
    assert_eq!((events.len(), report.cursor.release_calls()), (1, Vec::new()));

    let twice = r#"[{"role":"user","content":"go"},
        {"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"f","arguments":"1"}}]},
        {"role":"tool","tool_call_id":"c","content":"ok"},
        {"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"f","arguments":"2"}}]}]"#;
    let (mut report, _) = read_all(twice.as_bytes());
    assert_eq!(report.cursor.release_calls()[0].id.as_str(), "c#2");
}
