use proptest::prelude::*;

use super::*;
use crate::model::ToolUse;

fn input<'a>(output: Option<&'a str>, events: &'a [Event]) -> SummaryInput<'a> {
    SummaryInput {
        summary: None,
        output,
        changed_files: &[],
        tokens: Tokens { input: 45_000, output: 12_000 },
        outcome: Outcome::Success,
        task: None,
        events,
    }
}

fn of_output(output: &str) -> Summary {
    summarise(&input(Some(output), &[]))
}

fn said(id: u32, text: &str) -> Event {
    Event::new(id.to_string(), EventKind::Answer, Origin::Agent, text)
}

fn asked(id: u32, text: &str) -> Event {
    Event::new(id.to_string(), EventKind::Prompt, Origin::Person, text)
}

fn ran(id: u32, output: &str, failed: bool) -> Event {
    let mut event = Event::new(id.to_string(), EventKind::Tool, Origin::Tool, "");
    event.tool = Some(ToolUse { name: "Bash".into(), input: "{}".into(), output: output.into(), failed });
    event
}

#[test]
fn the_seeds_example_gives_the_seeds_summary() {
    let output = "Let me look at it.\n\
        Changed borders from dashed to solid with lower opacity\n\
        Used TERM_HOVER and TERM_BORDER theme tokens instead of hardcoded rgba\n\
        Committed `ad8ed51`\n\
        Unfinished: agent-session.ts recovery context improvements remain unstaged\n\
        SUMMARY: Redesigned MultiPaneView pagination bar with styled arrow buttons\n";
    let files = ["/home/dev/app/apps/web/src/components/MultiPaneView.tsx".to_owned()];
    let summary = summarise(&SummaryInput { changed_files: &files, ..input(Some(output), &[]) });
    assert_eq!(summary.what, "Redesigned MultiPaneView pagination bar with styled arrow buttons");
    assert_eq!(
        summary.decisions,
        [
            "Changed borders from dashed to solid with lower opacity",
            "Used TERM_HOVER and TERM_BORDER theme tokens instead of hardcoded rgba",
        ]
    );
    assert_eq!(summary.files_changed, ["src/components/MultiPaneView.tsx"]);
    assert_eq!(summary.unfinished, ["agent-session.ts recovery context improvements remain unstaged"]);
    assert_eq!(summary.commits, ["ad8ed51"]);
    assert_eq!(summary.tokens, Tokens { input: 45_000, output: 12_000 });
    assert_eq!(summary.outcome, "completed");
}

#[test]
fn what_falls_back_step_by_step() {
    let table = [
        ("SUMMARY: one\nSUMMARY: the last of them", "the last of them"),
        ("**SUMMARY:** bold words here", "bold words here"),
        ("总结：重新设计了翻页按钮", "重新设计了翻页按钮"),
        ("Here's what I did: rebuilt the parser from scratch", "rebuilt the parser from scratch"),
        ("Here's what I changed:\n- parser\n- lexer\n\nBye", "parser; lexer"),
        (
            "ok\nThe first of the substantial lines.\nRunning the tests of this package now\n{\"json\": \"is not a sentence\"}\n\
             The second of the substantial lines.\nThe third of the substantial lines.\nThe fourth of the substantial lines.",
            "The second of the substantial lines. — The third of the substantial lines. — The fourth of the substantial lines.",
        ),
        ("ok\nfine", "Task completed"),
        ("", "Task completed"),
    ];
    for (output, expected) in table {
        assert_eq!(of_output(output).what, expected, "{output}");
    }
    let given =
        SummaryInput { summary: Some("Rebuilt the\nparser."), ..input(Some("SUMMARY: other words"), &[]) };
    assert_eq!(summarise(&given).what, "Rebuilt the parser.");
    let short = SummaryInput { summary: Some("ok"), ..input(Some("SUMMARY: other words"), &[]) };
    assert_eq!(summarise(&short).what, "other words");
    let failed = SummaryInput { outcome: Outcome::Failed, ..input(None, &[]) };
    assert_eq!(
        (summarise(&failed).what, summarise(&failed).outcome),
        ("Task failed".into(), "failed".into())
    );
    assert_eq!(of_output("").outcome, "unknown");
    assert_eq!(of_output(&format!("SUMMARY: {}", "long ".repeat(100))).what.chars().count(), MAX_WHAT);
}

#[test]
fn decisions_are_prose_and_capped() {
    let table: &[(&str, &[&str])] = &[
        ("- Chose redb over sled", &["Chose redb over sled"]),
        ("We keep the lock because two writers collide.", &["We keep the lock because two writers collide."]),
        ("将虚线边框改为实线边框", &["将虚线边框改为实线边框"]),
        ("选择redb而不是sled", &["选择redb而不是sled"]),
        ("SQLiteからredbに変更しました", &["SQLiteからredbに変更しました"]),
        ("SQLite에서 redb로 변경했습니다", &["SQLite에서 redb로 변경했습니다"]),
        ("```\n// because of code\n```\n> because of a quote", &[]),
        ("diff --git a/x b/x\n+ // changed from a to b\n", &[]),
        ("The tests pass.", &[]),
    ];
    for (output, expected) in table {
        assert_eq!(of_output(output).decisions, *expected, "{output}");
    }
    let reasons: String = (0..8).map(|i| format!("Step{i} is slow because of reason{i}\n")).collect();
    let many = of_output(&format!("{reasons}Chose redb over sled\n"));
    assert_eq!(many.decisions.len(), MAX_DECISIONS);
    assert_eq!(many.decisions[0], "Chose redb over sled");
    assert!(of_output(&format!("because {}", "x ".repeat(400))).decisions[0].chars().count() <= MAX_ITEM);
}

#[test]
fn unfinished_takes_lines_and_lists() {
    let table: &[(&str, &[&str])] = &[
        ("TODO: write the docs", &["write the docs"]),
        ("- TODO add tests for the parser", &["add tests for the parser"]),
        ("Unfinished: the docs\nremaining: the tests", &["the docs", "the tests"]),
        ("## Remaining\n\n- docs for a\n- tests for b\n\nAll good.", &["docs for a", "tests for b"]),
        ("**Remaining work:**\n1. docs for a\n2. [x] done\n", &["docs for a", "done"]),
        ("Open items:\n- [x] finished one\n- [ ] open one\n", &["open one"]),
        ("I left one: TODO: rename it", &["rename it"]),
        ("Remaining: none", &[]),
        ("The remaining tests pass now.", &[]),
        ("未完成：补充文档\n", &["补充文档"]),
        ("残り：ドキュメント", &["ドキュメント"]),
        ("- [ ] still to be done", &["still to be done"]),
        ("TODO:\n- a b c\n- d e f\n- g h i\n- j k l", &["a b c", "d e f", "g h i"]),
    ];
    for (output, expected) in table {
        assert_eq!(of_output(output).unfinished, *expected, "{output}");
    }
    let next = of_output("Next steps:\n1. Wire the engine\n2. Test it\n");
    assert_eq!(next.next_steps, ["Wire the engine", "Test it"]);
}

#[test]
fn commits_are_those_of_this_session() {
    let table: &[(&str, &[&str])] = &[
        ("Committed `ad8ed51`", &["ad8ed51"]),
        (
            "[main 1a2b3c4] fix it\n[main (root-commit) 2a2b3c4] first\n[detached HEAD 3a2b3c4] x",
            &["1a2b3c4", "2a2b3c4", "3a2b3c4"],
        ),
        ("Done in commit abc1234.", &["abc1234"]),
        (
            "[main 1a2b3c4] first\nCommitted `2a2b3c4`\n[main 3a2b3c4] last",
            &["1a2b3c4", "2a2b3c4", "3a2b3c4"],
        ),
        ("Committed `1a2b3c4`\n[main 2a2b3c4] last", &["1a2b3c4", "2a2b3c4"]),
        ("Committed as `abc1234` (commit abc1234def0)", &["abc1234"]),
        ("I committed defaced walls", &[]),
        ("See 1a2b3c4 for it", &[]),
    ];
    for (output, expected) in table {
        assert_eq!(of_output(output).commits, *expected, "{output}");
    }
    let full = "0123456789abcdef0123456789abcdef01234567";
    let events = [
        ran(1, "commit 9999999aaaa\n[main aaaaaa1] one\n", false),
        ran(2, "[main bbbbbb2] refused\n", true),
        Event::new("3", EventKind::Commit, Origin::Tool, format!("{full} two")),
        said(4, "Committed `cccccc3` and then `dddddd4`."),
    ];
    assert_eq!(summarise(&input(None, &events)).commits, ["aaaaaa1", "0123456", "cccccc3"]);
    let many: String = (0..8).map(|i| format!("[main {i}aaaaaa] x\n")).collect();
    assert_eq!(of_output(&many).commits, ["3aaaaaa", "4aaaaaa", "5aaaaaa", "6aaaaaa", "7aaaaaa"]);
}

#[test]
fn files_are_short_and_named_once() {
    let told =
        ["/a/b/c/d/e.rs", "C:\\x\\y\\z\\w.ts", "e.rs", "./src/lib.rs", "/other/c/d/e.rs"].map(String::from);
    let mut event = Event::new("1", EventKind::File, Origin::Tool, "");
    event.path = Some("/q/src/lib.rs".into());
    let events = [event];
    let summary = summarise(&SummaryInput { changed_files: &told, ..input(None, &events) });
    assert_eq!(summary.files_changed, ["c/d/e.rs", "y/z/w.ts", "e.rs", "src/lib.rs", "q/src/lib.rs"]);
}

#[test]
fn events_alone_tell_the_story() {
    let events = [
        Event::new("0", EventKind::Prompt, Origin::Injected, "reminder"),
        asked(1, "<system-reminder>x</system-reminder>Add a dark mode\nto the settings"),
        said(2, "I'll start.\nTODO: ask about colours\nWe store it locally because accounts are optional."),
        ran(3, "because the tool says so\nTODO: tool noise", false),
        asked(4, "also in the header"),
        said(
            5,
            "Dark mode works in the settings and in the header.\n\nNext steps:\n- Add a test for the toggle",
        ),
    ];
    let summary = summarise(&input(None, &events));
    assert_eq!(summary.request, "Add a dark mode to the settings");
    assert_eq!(summary.goal, summary.request);
    assert_eq!(
        summary.what,
        "Dark mode works in the settings and in the header. — Add a test for the toggle"
    );
    assert_eq!(
        summary.work_done,
        "Dark mode works in the settings and in the header. Add a test for the toggle"
    );
    assert_eq!(summary.decisions, ["We store it locally because accounts are optional."]);
    assert_eq!(summary.unfinished, Vec::<String>::new());
    assert_eq!(summary.next_steps, ["Add a test for the toggle"]);
    assert_eq!(summary.outcome, "completed");
    let task = TaskRef { title: "Dark mode".into(), ..TaskRef::default() };
    assert_eq!(summarise(&SummaryInput { task: Some(&task), ..input(None, &[]) }).request, "Dark mode");
}

proptest! {
    #[test]
    fn nothing_panics_and_caps_hold(text in "(TODO: |because |SUMMARY: |- \\[ \\] |Next steps:|Committed `|[0-9a-f]{7}|`|[a-z ]{1,20}|\\PC|\\n){0,60}") {
        let events = [said(1, &text), asked(2, &text), ran(3, &text, false)];
        let summary = summarise(&input(Some(&text), &events));
        prop_assert!(summary.what.chars().count() <= MAX_WHAT && !summary.what.is_empty());
        prop_assert!(summary.decisions.len() <= MAX_DECISIONS);
        prop_assert!(summary.unfinished.len() <= MAX_UNFINISHED);
        prop_assert!(summary.commits.len() <= MAX_COMMITS);
        let items = summary.decisions.iter().chain(&summary.unfinished).chain(&summary.next_steps);
        prop_assert!(items.clone().all(|item| item.chars().count() <= MAX_ITEM && !item.contains('\n')));
    }
}
