//! The commands against a daemon made of a closure: what they ask, how they show the answer, how they end.

use std::fs;
use std::process::Stdio;

use crate::common::{FakeDaemon, Home, error, finish};
use serde_json::{Value, json};

/// A project's id, and what the daemon answers about it.
const PROJECT: &str = "01a229c9-5bd6-7caf-adbe-157048fcabcc";

fn projects() -> Value {
    json!({"items": [{"id": PROJECT, "name": "shop", "root": "/home/dev/shop"}], "next": null})
}

fn memory() -> Value {
    json!({
        "id": "0198a1b2-0000-7000-8000-000000000001", "space": "project", "kind": "command", "status": "active",
        "title": "just itest", "body": "Use just itest instead of make test, which misses the broker.",
        "verification": "human", "confidence": 0.9, "reinforce_count": 3, "pinned": true,
        "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z",
        "last_confirmed_at": "2020-01-01T00:00:00Z",
    })
}

#[test]
fn without_a_daemon_the_error_names_the_command_that_helps() {
    let home = Home::new();
    for arguments in [
        &["search", "port"][..],
        &["list"],
        &["status"],
        &["brief"],
        &["remember", "x"],
        &["dream"],
        &["stop"],
    ] {
        let ran = home.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (69, ""), "{arguments:?}");
        assert_eq!(ran.stderr, "doze: dozed is not running\n  → start it:  doze up\n", "{arguments:?}");
    }
}

#[test]
fn a_commit_without_a_daemon_is_kept_and_a_wrong_one_is_refused() {
    let home = Home::new();
    let commit = ["commit", "--session", "s-1", "--agent", "alex", "--cwd", "/app", "--summary", "done"];
    let ran = home.run(&commit);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "kept s-1; it will be read when the daemon runs:  doze up\n"),
        "{}",
        ran.stderr
    );
    let ran = home.run(&[&["--json"][..], &commit].concat());
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &answer["session"], &answer["spooled"]), (0, &json!("s-1"), &json!(true)));
    assert_eq!(home.spool().len(), 1, "the same commit again is the same file");

    let ran = home.run(&["commit", "--agent", "alex", "--cwd", "/app", "--summary", "no session"]);
    assert_eq!((ran.code, home.spool().len()), (65, 1), "{}", ran.stderr);
    assert!(ran.stderr.contains("session"), "{}", ran.stderr);
}

#[test]
fn what_is_missing_is_told_with_the_option_or_the_command_that_says_it() {
    let home = Home::new();
    let known = json!({"extractor.api": {"value": "openai", "origin": "built-in"},
                       "extractor.key": {"value": "[set]", "origin": "built-in"}});
    let _daemon = FakeDaemon::start(&home, move |method, _| match method {
        "config" => known.clone(),
        "session.digest" => json!({"session": "s-1", "text": "", "tokens": 0}),
        _ => json!({"items": [], "next": null}),
    });
    for (arguments, code, says) in [
        (&["commit", "--session", "s"][..], 65, "the commit names no agent\n  → say it with  --agent ID"),
        (
            &["commit", "--agent", "a", "--session", "", "no-such.json"],
            65,
            "doze commit --session NAME --agent ID",
        ),
        (&["task", "list", "--cwd", "no-such-folder"], 65, "there is no folder"),
        (&["config", "show", "nope"], 1, "there is no key nope\n  → all of them:  doze config show"),
    ] {
        let ran = home.run(arguments);
        assert!(ran.code == code && ran.stderr.contains(says), "{arguments:?}: {} {}", ran.code, ran.stderr);
    }
    let empty = home.run(&["digest", "s-1"]);
    assert!(empty.code == 1 && empty.stdout.starts_with("nothing to distill: "), "{}", empty.stdout);
    let one: Value =
        serde_json::from_str(&home.run(&["--json", "config", "show", "extractor.api"]).stdout).unwrap();
    assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["extractor.api"]);
}

#[test]
fn a_commit_names_the_program_of_its_agent() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, _| json!({"session": "s", "extraction": "queued"}));
    assert_eq!(home.run(&["commit", "--session", "s", "--agent", "alex", "--harness", "codex"]).code, 0);
    assert_eq!(daemon.next().1["agent"], json!({"id": "alex", "harness": "codex"}));
}

#[test]
fn a_wrong_command_line_is_2() {
    let home = Home::new();
    for arguments in
        [&["serach"][..], &["search"], &["feedback", "i", "nice"], &["forget", "--all"], &["edit", "i"]]
    {
        assert_eq!(home.run(arguments).code, 2, "{arguments:?}");
    }
    assert_eq!(home.run(&["--help"]).code, 0);
    let overview = home.run(&[]);
    assert_eq!(overview.code, 0);
    assert!(overview.stdout.contains("doze try ") && overview.stdout.contains("doze --help"));
    assert_eq!(home.run(&["--version"]).stdout, concat!("doze ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn errors_of_the_daemon_become_exit_statuses() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, |_, params| match params["id"].as_str().unwrap() {
        "gone" => error(-32001, "not_found", "no memory goes by that id", "doze list"),
        "long" => error(-32602, "invalid", "id: 900 is more than 64", "h"),
        "busy" => error(-32004, "busy", "shutting down", "h"),
        "no" => error(-32003, "refused", "not yours", "h"),
        _ => error(-32603, "internal", "oops", "h"),
    });
    for (id, code) in [("gone", 1), ("long", 65), ("busy", 75), ("no", 77), ("?", 70)] {
        assert_eq!(home.run(&["show", id]).code, code, "{id}");
    }
    assert_eq!(home.run(&["show", "gone"]).stderr, "doze: no memory goes by that id\n  → doze list\n");
}

#[test]
fn a_search_is_numbered_and_says_where_from() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |method, _| {
        if method == "project.list" {
            return projects();
        }
        json!({"hits": [{"id": "m1", "title": "Staging API listens on 5433", "body": "Staging API listens on 5433\u{1b}[2J",
            "kind": "fact", "project": PROJECT, "created_at": "2020-01-01T00:00:00Z", "source": {"agent": "codex"}}],
            "took_ms": 1, "lexical": "on", "semantic": "failed"})
    });
    let ran = home.run(&["search", "which", "port?", "--limit", "3"]);
    assert_eq!(ran.code, 0);
    let age = ran.stdout.split("fact · ").nth(1).unwrap().lines().next().unwrap().to_owned();
    let shown = ran.stdout.replace(&format!("fact · {age}"), "fact · AGE");
    assert_eq!(
        shown,
        " 1  Staging API listens on 5433[2J                                    fact · AGE\n    m1 · shop · from codex\nby words alone: meaning was not searched (failed)\n"
    );
    let (method, params) = daemon.next();
    assert_eq!(
        (method.as_str(), &params["query"], &params["limit"]),
        ("recall.search", &json!("which port?"), &json!(3))
    );
    assert_eq!(params["cwd"], json!(fs::canonicalize(home.path()).unwrap()));
}

#[test]
fn nothing_found_is_1_in_both_forms() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(
        &home,
        |_, _| json!({"hits": [], "took_ms": 1, "lexical": "on", "semantic": "off"}),
    );
    assert_eq!(home.run(&["search", "x"]).code, 1);
    let ran = home.run(&["search", "x", "--json"]);
    assert_eq!(ran.code, 1);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer, json!({"hits": [], "took_ms": 1, "lexical": "on", "semantic": "off"}));
}

#[test]
fn json_is_the_answer_unchanged_fields_of_tomorrow_included() {
    let home = Home::new();
    let daemon =
        FakeDaemon::start(&home, |_, _| json!({"items": [memory()], "next": null, "new_field": [1.5, "x"]}));
    let ran = home.run(&["--json", "list"]);
    assert_eq!(ran.code, 0);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer, json!({"items": [memory()], "next": null, "new_field": [1.5, "x"]}));
    assert_eq!(daemon.next().0, "memory.list");
    assert!(daemon.is_quiet(), "ids stay ids, so nobody asks for names");
}

#[test]
fn a_memory_is_listed_with_its_id_and_marks_and_shown_with_all() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, |method, _| match method {
        "memory.list" => json!({"items": [memory()], "next": "c2"}),
        _ => memory(),
    });
    let listed = home.run(&["list"]).stdout;
    assert!(
        listed.contains("command · ")
            && listed.contains("from you · pinned · said 3 times\n")
            && listed.contains("doze list --cursor c2"),
        "{listed}"
    );
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let shown = home.run(&["show", "x"]).stdout;
    assert!(
        shown.contains("kind        command")
            && shown.contains("confidence  0.90, you said so")
            && shown.contains("misses the broker."),
        "{shown}"
    );
}

#[test]
fn a_pipe_is_no_person() {
    let home = Home::new();
    let daemon = FakeDaemon::start(
        &home,
        |_, _| json!({"id": "m1", "outcome": "added", "memory": memory(), "redacted": {"aws": 1}}),
    );
    let ran = home.run(&["remember", "use", "just", "itest", "--kind", "command", "--topic", "tests"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.starts_with("remembered: just itest\n") && ran.stdout.contains("1 secret taken out"),
        "{}",
        ran.stdout
    );
    let (_, params) = daemon.next();
    assert_eq!(
        (&params["human"], &params["body"], &params["topic_key"]),
        (&json!(false), &json!("use just itest"), &json!("tests"))
    );
    let mut command = home.command(&["remember", "x"]);
    finish(command.env("CLAUDECODE", "1").stdin(Stdio::null()));
    assert_eq!(daemon.next().1["agent"], "claude-code");
}

#[test]
fn a_commit_comes_from_a_document_with_the_options_laid_over_it() {
    let home = Home::new();
    let daemon = FakeDaemon::start(
        &home,
        |_, _| json!({"session": "s", "seq": 4, "summary": {"what": "did it"}, "extraction": "off"}),
    );
    let mut command = home.command(&["commit", "-", "--end", "turn"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        br#"{"session":"s","agent":"a","end":"session","cwd":"/p"}"#,
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("committed s: did it\n"));
    let mut params = daemon.next().1;
    assert!(params.as_object_mut().unwrap().remove("commit_id").is_some());
    assert_eq!(params, json!({"session": "s", "agent": "a", "end": "turn", "cwd": "/p"}));

    assert_eq!(home.run(&["commit", "--session", "s2", "--agent", "b", "--summary", "x"]).code, 0);
    assert_eq!(daemon.next().1["summary"], "x");
    let file = home.path().join("broken.json");
    fs::write(&file, "{").unwrap();
    assert_eq!(home.run(&["commit", "broken.json"]).code, 65);
    assert_eq!(home.run(&["commit", "absent.json"]).code, 65);
}

#[test]
fn texts_for_agents_are_printed_alone() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(
        &home,
        |_, _| json!({"text": "# Project memory\n- a\n", "tokens": 5, "memories": []}),
    );
    for arguments in [&["brief"][..], &["recover", "alex"], &["context", "alex"], &["roster"]] {
        assert_eq!(home.run(arguments).stdout, "# Project memory\n- a\n", "{arguments:?}");
    }
}

#[test]
fn an_empty_text_is_told_beside_the_text() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, |_, _| json!({"text": "", "tokens": 0, "memories": []}));
    let ran = home.run(&["brief"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with("doze: there is nothing to tell here yet\n"), "{}", ran.stderr);
    let ran = home.run(&["brief", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
}

#[test]
fn a_dream_tells_what_and_why() {
    let home = Home::new();
    let mut after = memory();
    after["title"] = json!("Staging API listens on 5433");
    after["body"] = json!("5433");
    after["project"] = json!(PROJECT);
    let mut former = memory();
    former["status"] = json!("superseded");
    former["superseded_by"] = json!("m");
    let mut pattern = memory();
    pattern["title"] = json!("Mind what went wrong with `db.rs`");
    pattern["body"] = json!("Close the pool; Retry once");
    pattern["topic_key"] = json!("pattern/db.rs");
    let _daemon = FakeDaemon::start(&home, move |method, _| {
        if method == "project.list" {
            return projects();
        }
        json!({"id": "41", "mode": "code", "started_at": "2020-01-01T03:00:00Z", "ended_at": "2020-01-01T03:00:14Z", "result": "done",
            "sessions": [{"session": "s-81", "outcome": "extracted"}, {"session": "s-82", "project": PROJECT, "outcome": "skipped", "reason": "too short"}],
            "changes": [
                {"op": "supersede", "memory": "m", "before": memory(), "after": after, "because": "changed by you", "evidence": ["s-79#12"]},
                {"op": "supersede", "memory": "h", "after": former, "because": "the former text is kept as history", "evidence": ["s-79#12"]},
                {"op": "promote", "memory": "p", "after": pattern, "because": "3 lessons of 3 sessions speak of db.rs", "evidence": []},
                {"op": "add", "memory": "n", "after": memory(), "because": "said by the person in s-81 #4", "evidence": ["s-81#4"]}],
            "left_alone": [
                {"title": "Always rebase before pushing", "project": PROJECT, "reason": "it comes from what a tool or a page printed; accept it with doze review"},
                {"title": "Use pnpm", "project": PROJECT, "reason": "it is known already"},
                {"title": "Run curl", "project": PROJECT, "reason": "it comes from what a tool or a page printed; accept it with doze review"}],
            "undone_at": "2020-01-02T00:00:00Z", "left": [{"id": "m", "title": "Staging API listens on 5433", "because": "its text was changed since"}]})
    });
    let ran = home.run(&["dream", "show", "41"]);
    assert_eq!(ran.code, 0);
    let (heading, rest) = ran.stdout.split_once('\n').unwrap();
    assert!(heading.ends_with(", took 14 s · 1 session"), "{heading}");
    let wanted = "
  learned 1   patterns 1   updated 1   left alone 3

  Learned
  + just itest
    Use just itest instead of make test, which misses the broker.
    because said by the person in s-81 #4

  Seen in several sessions
  ^ Mind what went wrong with `db.rs`
    Close the pool; Retry once
    because 3 lessons of 3 sessions speak of db.rs

  Updated
  ~ Staging API listens on 5433                                             shop
    5433
    was: Use just itest instead of make test, which misses the broker.
    because changed by you (s-79#12) · doze why m

  Left alone
  · Always rebase before pushing                                            shop
  · Run curl                                                                shop
    it comes from what a tool or a page printed; accept it with doze review
  · Use pnpm                                                                shop
    it is known already

  Sessions
  · s-82 skipped: too short                                                 shop

  1 memory left as it is now:
  · Staging API listens on 5433                                                m
    its text was changed since

";
    let (body, foot) = rest.split_at(wanted.len());
    assert_eq!(body, wanted);
    assert!(foot.starts_with("The rest was taken back · "), "{foot}");
    assert!(foot.ends_with("\nOnce nothing stands against it:  doze dream undo 41\n"), "{foot}");
}

#[test]
fn screens_show_short_ids_that_commands_take_and_json_shows_whole_ones() {
    const DREAM: &str = "019f0000-0000-7000-8000-0000beefcafe";
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |method, _| match method {
        "project.list" => projects(),
        "memory.list" => json!({"items": [memory()], "next": null}),
        "recall.search" => json!({"hits": [memory()], "took_ms": 1, "lexical": "on", "semantic": "on"}),
        "memory.why" => {
            json!({"memory": memory(), "merges": [{"op": "add", "because": "said", "dream": DREAM}]})
        }
        "dream.log" => {
            json!({"items": [{"id": DREAM, "result": "done", "started_at": "2020-01-01T03:00:00Z"}], "next": DREAM})
        }
        "dream.undo" => json!({"id": DREAM, "restored": ["a"]}),
        "dream.show" => json!({"id": DREAM, "started_at": "2020-01-01T03:00:00Z", "result": "done",
            "changes": [{"op": "add", "after": memory(), "because": "said", "evidence": []}]}),
        _ => memory(),
    });
    let cases: &[(&[&str], &[&str])] = &[
        (&["list"], &["    00000001 · "]),
        (&["search", "broker"], &["    00000001"]),
        (
            &["why", "00000001"],
            &["doze feedback 00000001 wrong", "doze forget 00000001", "doze dream show beefcafe"],
        ),
        (&["dream", "log"], &["beefcafe  0 changes"]),
        (&["dream", "show", "beefcafe"], &["Dream beefcafe · ", "doze dream undo beefcafe"]),
        (&["dream", "undo", "beefcafe"], &["dream beefcafe is taken back"]),
    ];
    for (arguments, wanted) in cases {
        let shown = home.run(arguments).stdout;
        for line in *wanted {
            assert!(shown.contains(line), "{arguments:?}: {line} in {shown}");
        }
        let asked = std::iter::from_fn(|| Some(daemon.next())).find(|(name, _)| name != "project.list");
        if let Some(given) = arguments.iter().find(|word| ["00000001", "beefcafe"].contains(word)) {
            assert_eq!(asked.unwrap().1["id"], **given, "the daemon knows which one that is");
        }
        while !daemon.is_quiet() {}
        let whole = home.run(&[&["--json"][..], arguments].concat()).stdout;
        let id = if arguments[0] == "dream" { DREAM } else { "0198a1b2-0000-7000-8000-000000000001" };
        assert!(whole.contains(id), "{whole}");
        daemon.next();
    }
    let more = home.run(&["dream", "log"]).stdout;
    assert!(more.ends_with(&format!("more:  doze dream log --cursor {DREAM}\n")), "{more}");
    daemon.next();
    home.run(&["dream", "log", "--cursor", DREAM]);
    assert_eq!(daemon.next().1["cursor"], DREAM);
}

#[test]
fn an_undo_tells_what_went_and_what_stays() {
    let answers = [
        json!({"id": "41", "undone_at": "2020-01-02T00:00:00Z", "restored": ["a", "b"], "confirmed_since": ["b"],
            "left": [{"id": "m", "title": "Use pnpm", "because": "its text was changed since"}]}),
        json!({"id": "41", "restored": [], "left": [{"id": "m", "title": "Use pnpm", "because": "its text was changed since"}]}),
    ];
    let left = "\n  1 memory left as it is now:\n  · Use pnpm                                                                   m\n    its text was changed since\n";
    let wanted = [
        (
            0,
            format!(
                "dream 41 is taken back, with what it did to 2 memories\n  1 of them had been confirmed or shown since; that went with them\n{left}  what its sessions say is not learned again, unless another session says it\n"
            ),
        ),
        (1, format!("nothing of dream 41 is taken back\n{left}")),
    ];
    for (answer, (code, text)) in answers.into_iter().zip(wanted) {
        let home = Home::new();
        let _daemon = FakeDaemon::start(&home, move |_, _| answer.clone());
        let ran = home.run(&["dream", "undo", "41"]);
        assert_eq!((ran.code, ran.stdout), (code, text));
    }
}

#[test]
fn completions_need_no_daemon() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, 0);
        assert!(ran.stdout.contains("doze"), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    let mut command = home.command(&["completions", "bash"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn remembering_reads_a_dash_from_the_standard_input() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, _| json!({"id": "m1", "outcome": "added", "memory": memory()}));
    let mut command = home.command(&["remember", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"line one\nline two").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(daemon.next().1["body"], "line one\nline two");
}

#[test]
fn lists_for_people_are_read_to_their_last_page() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(&home, |method, params| {
        let page = params["cursor"].as_str().map_or(0, |cursor| cursor.parse::<usize>().unwrap());
        let next = if page < 2 { json!((page + 1).to_string()) } else { Value::Null };
        let item = match method {
            "project.list" => {
                json!({"id": format!("p{page}"), "name": format!("project-{page}"), "root": "/x"})
            }
            _ => json!({"id": format!("m{page}"), "title": format!("waits-{page}"), "status": "proposed"}),
        };
        json!({"items": [item], "next": next})
    });
    for (command, word) in [(&["project", "list"][..], "project-"), (&["review"], "waits-")] {
        let ran = home.run(command);
        for page in 0..3 {
            assert!(ran.stdout.contains(&format!("{word}{page}")), "{}{}", ran.stdout, ran.stderr);
        }
    }
    let ran = home.run(&["--json", "project", "list"]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["next"], "1", "a program goes on by itself");
}

#[test]
fn promoting_asks_for_the_file_by_name_or_by_its_whole_path() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, params| {
        let path = params["path"].as_str().unwrap();
        let outcome = if path == "CLAUDE.md" { "added" } else { "known" };
        json!({"id": "m1", "path": format!("/shop/{}", path.rsplit('/').next().unwrap()), "outcome": outcome,
            "line": "- just itest: misses no\u{1b}[2Jthing"})
    });
    let ran = home.run(&["promote", "m1", "--to", "CLAUDE.md"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "/shop/CLAUDE.md says it now; where agents read that file, the brief leaves it out\n    - just itest: misses no[2Jthing\n"
    );
    let here = json!(fs::canonicalize(home.path()).unwrap());
    let (method, params) = daemon.next();
    assert_eq!(method, "memory.promote");
    assert_eq!(params, json!({"id": "m1", "path": "CLAUDE.md", "cwd": here, "human": false}));
    let ran = home.run(&["promote", "m1", "--to", "web/AGENTS.md"]);
    assert_eq!(ran.stdout.lines().next(), Some("/shop/AGENTS.md says it already"));
    assert_eq!(daemon.next().1["path"], json!(format!("{}/web/AGENTS.md", here.as_str().unwrap())));
}

#[test]
fn what_is_remembered_while_nobody_is_told_says_so() {
    let home = Home::new();
    let _daemon = FakeDaemon::start(
        &home,
        |_, params| json!({"id": "m1", "outcome": "added", "memory": memory(), "redacted": {}, "silence": params["body"]}),
    );
    for (silence, said) in [
        ("off", "  memory is off, so no agent is told; on:  doze config set memory.enabled true"),
        ("paused", "  paused, so no agent is told; go on:  doze resume"),
    ] {
        let ran = home.run(&["remember", silence]);
        assert_eq!((ran.code, ran.stdout.lines().last()), (0, Some(said)), "{}", ran.stderr);
        assert!(said.chars().count() <= 80);
    }
}

#[test]
fn tasks_are_listed_told_and_shown() {
    let home = Home::new();
    let task = |id: &str, title: &str, status: &str, spec: Value| json!({"id": id, "title": title, "status": status, "spec": spec, "updated_at": "2020-01-01T00:00:00Z"});
    let daemon = FakeDaemon::start(&home, move |method, params| match method {
        "task.list" => json!({"next": null, "items": [
            task("T-2", "Move the port", "in_progress", json!("\n# Why\nparallel runs collide")),
            task("T-1", "Old one", "done", Value::Null),
        ]}),
        _ => task(
            params["id"].as_str().unwrap(),
            "Move the port",
            params["status"].as_str().unwrap_or("todo"),
            Value::Null,
        ),
    });
    let ran = home.run(&["task", "list"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("Move the port ") && lines[0].contains("in progress · "), "{}", ran.stdout);
    assert_eq!(&lines[1..], ["    T-2 · # Why"]);
    assert_eq!(daemon.next().1["status"], Value::Null);
    assert!(home.run(&["task", "list", "--all"]).stdout.contains("Old one"));
    daemon.next();
    assert_eq!(home.run(&["task", "show", "T-2"]).stdout.lines().last(), Some("parallel runs collide"));
    daemon.next();

    let ran = home.run(&["task", "set", "T-3", "Move", "the", "port", "--status", "review"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "T-3 is review: Move the port\n"), "{}", ran.stderr);
    let (method, params) = daemon.next();
    assert_eq!(
        (method.as_str(), &params["title"], &params["status"], &params["spec"]),
        ("task.set", &json!("Move the port"), &json!("review"), &Value::Null)
    );
    let mut command = home.command(&["task", "set", "T-3", "--spec", "-"]);
    fs::write(home.path().join("spec.md"), "as told\n").unwrap();
    assert_eq!(finish(command.stdin(fs::File::open(home.path().join("spec.md")).unwrap())).code, 0);
    assert_eq!(daemon.next().1["spec"], json!("as told\n"));
}

#[test]
fn a_task_that_is_not_there_is_not_found_and_one_that_is_gets_done() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |method, _| match method {
        "task.list" => json!({"items": [{"id": "T-2", "title": "Move", "status": "todo"}], "next": null}),
        _ => json!({"id": "T-2", "title": "Move", "status": "done"}),
    });
    let ran = home.run(&["task", "done", "T-9"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.contains("no task T-9 here"), "{}", ran.stderr);
    assert_eq!(daemon.next().0, "task.list");
    let ran = home.run(&["--json", "task", "done", "T-2"]);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &answer["status"]), (0, &json!("done")));
    assert_eq!(daemon.next().0, "task.list");
    assert_eq!(daemon.next().1["status"], json!("done"));
    assert_eq!(home.run(&["task", "set", "T-2", "--status", "nearly"]).code, 2);
}

#[test]
fn a_digest_is_the_text_alone() {
    let home = Home::new();
    let daemon = FakeDaemon::start(&home, |_, params| match params["session"].as_str().unwrap() {
        "s-1" => json!({"session": "s-1", "text": "## User asked\nmove the port", "tokens": 9}),
        _ => json!({"session": "s-2", "text": "", "tokens": 0}),
    });
    let ran = home.run(&["digest", "s-1", "--extractor", "claude"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "## User asked\nmove the port\n"), "{}", ran.stderr);
    let (method, params) = daemon.next();
    assert_eq!((method.as_str(), &params["extractor"]), ("session.digest", &json!("claude")));
    assert_eq!(home.run(&["digest", "s-2"]).code, 1);
}
