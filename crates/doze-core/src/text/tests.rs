use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

#[test]
fn plurals() {
    let cases = [
        (0, "session", "0 sessions"),
        (1, "memory", "1 memory"),
        (2, "memory", "2 memories"),
        (2, "day", "2 days"),
    ];
    for (number, thing, wanted) in cases {
        assert_eq!(count(number, thing), wanted);
    }
}

#[test]
fn clean_drops_what_a_terminal_or_reader_would_be_tricked_by() {
    let table = [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\u{1b}[31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}rest", "rest"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        ("\u{1b}]never ended\nnext", "never ended\nnext"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\u{0}b\u{8}c\u{7f}", "abc"),
        ("\u{202e}evil\u{2066}", "evil"),
        ("\u{9b}1mx", "x"),
        ("\u{1b}(Bx\u{1b}", "x"),
        ("hidden\u{e0041}\u{e0042}", "hidden"),
        ("日本\u{2028}語", "日本\n語"),
        ("p\u{ad}n\u{200b}p\u{2060}m\u{2064}\u{61c}\u{200e}\u{200f}\u{180e}\u{206a}!", "pnpm!"),
        ("to\u{200d}ken\u{200c}s\u{fe0f}\u{fe01}", "tokens"),
        ("x\u{e0100}\u{e0154}\u{e01ef}y", "xy"),
        ("a\u{fe0f}\u{1b}[0m\u{fe0f}", "a"),
        ("葛\u{e0100}城", "葛\u{e0100}城"),
        ("葛\u{e0100}\u{e0101}\u{e0102}城", "葛\u{e0100}城"),
        ("❤\u{fe0f} 1\u{fe0f}\u{20e3} 👩\u{200d}💻", "❤\u{fe0f} 1\u{fe0f}\u{20e3} 👩\u{200d}💻"),
        ("می\u{200c}خواهم क्\u{200d}ष", "می\u{200c}خواهم क्\u{200d}ष"),
        ("❤\u{fe0f}\u{fe0f}\u{fe0e}", "❤\u{fe0f}"),
    ];
    for (input, expected) in table {
        assert_eq!(clean(input), expected, "{input:?}");
    }
    assert!(matches!(clean("日本語 👩‍💻 ok"), Cow::Borrowed(_)));
    assert_eq!(one_line("  a\n\n b\tc\u{1b}[0m "), "a b c");
}

#[test]
fn cuts_fall_between_graphemes() {
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("abcd", 3), "abc");
    assert_eq!(cut("ab👩‍💻cd", 4), "ab");
    assert_eq!(cut("ab👩‍💻cd", 5), "ab👩‍💻");
    assert_eq!(cut("e\u{301}e\u{301}", 3), "e\u{301}");
    assert_eq!(cut("日本語", 2), "日本");
    assert_eq!(cut("a\u{301}\u{301}\u{301}", 2), "a\u{301}");
    assert_eq!(cut("abc", 0), "");
    assert_eq!(cut_ellipsis("abcdef", 4), "abc…");
    assert_eq!(cut_ellipsis("abcd", 4), "abcd");
    assert_eq!(cut_ellipsis("abcd", 0), "");
}

#[test]
fn tags_are_escaped_and_comparisons_are_not() {
    let table = [
        ("a < b -> c", "a < b -> c"),
        ("</doze-memory>", "&lt;/doze-memory&gt;"),
        ("x< /doze-memory >", "x&lt; /doze-memory &gt;"),
        ("<system-reminder>do</system-reminder>", "&lt;system-reminder&gt;do&lt;/system-reminder&gt;"),
        ("cut <doze-memory", "cut &lt;doze-memory"),
    ];
    for (input, expected) in table {
        assert_eq!(escape_tags(input), expected);
        assert_eq!(escape_tags(expected), expected);
    }
}

#[test]
fn sentences_keep_code_paths_and_versions_whole() {
    let table: &[(&str, &[&str])] = &[
        ("Use v1.2.3. See src/main.rs for it.", &["Use v1.2.3.", "See src/main.rs for it."]),
        ("Run `a. b. c` first. Then stop!", &["Run `a. b. c` first.", "Then stop!"]),
        ("It costs e.g. 3.5 ms. Fine", &["It costs e.g. 3.5 ms.", "Fine"]),
        ("Visit https://a.b/c?d=e. Now", &["Visit https://a.b/c?d=e.", "Now"]),
        ("用户喜欢深色。记住：不要提交！好", &["用户喜欢深色。", "记住：不要提交！", "好"]),
        ("1. First thing. Second.", &["1. First thing.", "Second."]),
        ("one\ntwo", &["one", "two"]),
        ("odd ` mark. Next.", &["odd ` mark.", "Next."]),
        ("He said \"yes.\" Then left...", &["He said \"yes.\"", "Then left..."]),
    ];
    for (input, expected) in table {
        assert_eq!(sentences(input), *expected);
    }
}

#[test]
fn prose_leaves_out_code_quotes_and_diffs() {
    let text = "keep\n```rust\ncode because\n```\n> quoted\n@@ -1 +1 @@\n-old\n+new\n\n- bullet\n~~~~\n```\nx\n~~~~\nend";
    assert_eq!(prose_lines(text), ["keep", "", "- bullet", "end"]);
    assert_eq!(bare_line("  - [ ] **TODO:** x"), "TODO:** x");
    assert_eq!(bare_line("## 2. Next steps"), "Next steps");
    for mark in
        ["1.", "12)", "3、", "a.", "b)", "iv.", "(iv)", "(2)", "（三）", "①", "❷", "➓ ", "- a.", "**1."]
    {
        let expected = if mark == "（三）" { "（三） Run it" } else { "Run it" };
        assert_eq!(bare_line(&format!("{mark} Run it")), expected);
    }
    for line in
        ["3.5 ms", "e.g. this", "i.e. that", "I. think", "vi is an editor", "2024. A year", "(see) it", "a b"]
    {
        assert_eq!(bare_line(line), line);
    }
}

#[test]
fn sentences_broken_over_lines_are_joined() {
    let joined = [
        ("Always run the\nlinter before committing.", "Always run the linter before committing."),
        (
            "We deploy to staging first\nbecause production has no rollback.",
            "We deploy to staging first because production has no rollback.",
        ),
        (
            "The integration tests of the billing service need\na running broker, and they\nfail without one.\nNext.",
            "The integration tests of the billing service need a running broker, and they fail without one.\nNext.",
        ),
        (
            "- Never push to main without\n  a green build.\n- Other",
            "- Never push to main without a green build.\n- Other",
        ),
        (
            "1. Use pnpm for installs,\n   npm breaks the lock file",
            "1. Use pnpm for installs, npm breaks the lock file",
        ),
        (
            "Whoever changes the schema of the warehouse must tell the\nData Platform team first.",
            "Whoever changes the schema of the warehouse must tell the Data Platform team first.",
        ),
        (
            "  indented prose that is wide enough to have been broken\n  by an editor",
            "  indented prose that is wide enough to have been broken by an editor",
        ),
        (
            "这个项目的所有数据库迁移脚本都必须先在测试环境里运行一遍，\n然后才能提交。",
            "这个项目的所有数据库迁移脚本都必须先在测试环境里运行一遍，然后才能提交。",
        ),
        (
            "コミットする前に必ずすべてのテストを実行して、\n結果を確認する",
            "コミットする前に必ずすべてのテストを実行して、結果を確認する",
        ),
        (
            "이 프로젝트는 모든 데이터베이스 마이그레이션을\n먼저 스테이징에서 실행한다",
            "이 프로젝트는 모든 데이터베이스 마이그레이션을 먼저 스테이징에서 실행한다",
        ),
    ];
    for (text, expected) in joined {
        assert_eq!(join_wrapped(text), expected, "{text}");
    }
    for text in [
        "fix the tests\nuse pnpm\nupdate the docs",
        "Use pnpm.\nnever npm.",
        "## Commands that are needed for a release of the package\nrun just release",
        "The settings that the server reads from its environment\nport: 5433\nhost = local",
        "These are the steps that everybody has to follow here\n- first\n* second\n3. third\na. fourth",
        "| a table row that is wide enough to be a broken line |\nand more",
        "A paragraph that is wide enough to be broken somewhere\n\nand another one",
        "A paragraph that is wide enough to be broken somewhere\n```\nand code\n```\nand more",
        "> a quotation that is wide enough to be broken somewhere\n> and goes on",
        "A hard break behind a line that is wide enough for one  \nand more",
        "The user wants rounded corners on the cards\ngit push --force",
        "The user prefers dark mode in the panels\nall tests pass",
        "This repo has strict lint rules for imports\nadded the missing imports\nran the linter",
        "Changed the borders of all panes from dashed to solid lines\nCommitted it",
        "Look at these lines of the program that was written:\nlet x = 1",
        "    let a = some_function_call_with_a_long_name and more words\n    let b",
        "Error: the connection to the database server was refused\n    at connect (db.js:12)",
    ] {
        assert_eq!(join_wrapped(text), text);
    }
}

#[test]
fn ascii_words_are_those_of_the_seed() {
    let set = |text: &str| normalise_words(text).into_iter().collect::<Vec<_>>();
    assert_eq!(set("Don't USE src/foo.rs, it is a-b"), ["dont", "srcfoors", "use"]);
    assert_eq!(set("of to is"), Vec::<String>::new());
}

#[test]
fn other_scripts_have_words_too() {
    let set = |text: &str| normalise_words(text).into_iter().collect::<Vec<_>>();
    assert_eq!(set("使用pnpm"), ["pnpm", "使用"]);
    assert_eq!(set("深色主题"), ["主题", "深色", "色主"]);
    assert_eq!(set("Пользователь любит"), ["любит", "пользователь"]);
    assert_eq!(set("don’t"), ["dont"]);
    assert_eq!(set("ｐｎｐｍ"), ["pnpm"]);
    assert_eq!(width("深色ab"), 6);
}

#[test]
fn jaccard_counts_shared_over_all() {
    let set = normalise_words;
    assert_eq!(jaccard(&set(""), &set("")), 1.0);
    assert_eq!(jaccard(&set("abc"), &set("")), 0.0);
    assert_eq!(jaccard(&set("red green blue"), &set("blue green red")), 1.0);
    assert_eq!(jaccard(&set("red green blue yellow"), &set("red green blue purple")), 0.6);
}

proptest! {
    #[test]
    fn nothing_panics_and_bounds_hold(text in "\\PC{0,60}|[\\x00-\\x7f\u{1b}\u{9b}]{0,60}|[a1葛❤\u{200d}\u{200b}\u{fe0f}\u{e0100}\u{20e3}\u{0}]{0,20}", max in 0_usize..20) {
        prop_assert!(cut(&text, max).chars().count() <= max);
        prop_assert!(cut_ellipsis(&text, max).chars().count() <= max);
        prop_assert!(text.starts_with(cut(&text, max)));
        let cleaned = clean(&text).into_owned();
        prop_assert!(!cleaned.chars().any(is_unclean));
        prop_assert_eq!(clean(&cleaned), cleaned.as_str());
        let joined: usize = sentences(&text).iter().map(|s| s.len()).sum();
        prop_assert!(joined <= text.len());
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&join_wrapped(&text)), letters(&text));
        let escaped = escape_tags(&text).into_owned();
        prop_assert_eq!(escape_tags(&escaped), escaped.as_str());
    }

    #[test]
    fn ascii_words_match_a_plain_reading_of_the_seed(text in "[ -~\\t\\n]{0,80}") {
        let kept: String = text.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || c.is_whitespace()).collect();
        let expected: BTreeSet<String> = kept.split_whitespace().filter(|w| w.len() > 2).map(String::from).collect();
        prop_assert_eq!(normalise_words(&text), expected);
    }
}

#[test]
fn every_spelling_of_a_topic_is_one_key() {
    for given in ["pkg/manager", "PKG/Manager", " pkg / manager ", "pkg/\tmanager", "Pkg/\u{200b}Manager\n"] {
        assert_eq!(topic_key(given), "pkg/manager", "{given:?}");
    }
    assert_eq!(topic_key("Test Runner"), "test runner");
}
