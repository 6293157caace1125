//! Whatever comes over the socket, the daemon answers with an error that says what is wrong, and serves everybody else.

use std::os::unix::fs::PermissionsExt;

use doze_tests::{Client, Home};
use serde_json::{Value, json};

fn raw(home: &Home) -> Client {
    Client::connect(&home.socket()).expect("the daemon listens")
}

fn is_well(home: &Home) {
    assert_eq!(home.client().call("status", json!({}))["ready"], true);
}

/// The kind of the error in an answer.
fn kind(answer: &Value) -> &str {
    answer["error"]["data"]["kind"].as_str().unwrap_or_else(|| panic!("not an error: {answer}"))
}

#[test]
fn a_bad_line_costs_only_itself() {
    let home = Home::new();
    let _daemon = home.start();
    let deep =
        format!("{{\"id\":1,\"method\":\"m\",\"params\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let lines: &[&[u8]] = &[
        b"hello",
        b"{\"id\":1",
        b"\xff\xfe\x00\x01",
        b"[]",
        b"[{\"id\":1,\"method\":\"status\"}]",
        b"{}",
        b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"status\"}",
        b"{\"id\":{},\"method\":\"status\"}",
        b"{\"id\":1,\"method\":\"status\",\"params\":[1]}",
        deep.as_bytes(),
    ];
    let mut client = home.client();
    for line in lines {
        client.send(line).unwrap();
        client.send(b"\n").unwrap();
        let answer = client.read().expect("the connection stays");
        assert_eq!(kind(&answer), "invalid", "{}", String::from_utf8_lossy(line));
    }
    assert_eq!(client.call("status", json!({}))["ready"], true);
}

#[test]
fn a_line_may_come_in_pieces_and_several_at_once() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    for byte in b"{\"id\":\"slow\",\"method\":\"status\"}\n" {
        client.send(&[*byte]).unwrap();
    }
    assert_eq!(client.read().unwrap()["id"], "slow");
    client.send(b"{\"id\":1,\"method\":\"status\"}\n{\"id\":2,\"method\":\"status\"}\n").unwrap();
    let ids: Vec<_> = (0..2).map(|_| client.read().unwrap()["id"].as_u64().unwrap()).collect();
    assert!(ids.contains(&1) && ids.contains(&2), "{ids:?}");
}

#[test]
fn a_line_above_the_limit_is_too_large_and_its_memory_is_given_back() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = raw(&home);
    client.send(b"{\"id\":0,\"method\":\"hello\",\"params\":{\"protocol\":1}}\n").unwrap();
    let limit =
        client.read().unwrap()["result"]["capabilities"]["max_frame_bytes"].as_u64().expect("a limit");
    let piece = vec![b'a'; 1 << 20];
    for _ in 0..=limit >> 20 {
        // The daemon may close before it has been told everything.
        if client.send(&piece).is_err() {
            break;
        }
    }
    let _ = client.send(b"\n");
    if let Some(answer) = client.read() {
        assert_eq!(kind(&answer), "too_large");
    }
    is_well(&home);
}

#[test]
fn connections_that_say_nothing_or_break_off_disturb_nobody() {
    let home = Home::new();
    let _daemon = home.start();
    let mut silent: Vec<_> = (0..100).map(|_| raw(&home)).collect();
    for (number, client) in silent.iter_mut().enumerate() {
        if number % 2 == 0 {
            client.send(b"{\"id\":1,\"method\":\"sta").unwrap();
        }
    }
    is_well(&home);
    silent.iter().for_each(Client::finish_sending);
    drop(silent);
    is_well(&home);
}

#[test]
fn versions_are_settled_before_anything_else() {
    let home = Home::new();
    let _daemon = home.start();
    let mut newer = raw(&home);
    assert_eq!(newer.call("hello", json!({"protocol": 99, "client": "future"}))["protocol"], 1);

    let mut older = raw(&home);
    let failure = older.fail("hello", json!({"protocol": 0, "client": "past"}));
    assert_eq!(failure.kind, "refused");
    assert_eq!(older.call("status", json!({}))["ready"], true);
    older.fail("memory.list", json!({}));
    is_well(&home);
}

#[test]
fn no_method_takes_nonsense_for_a_fault_of_its_own() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = raw(&home);
    let answer = client.call("hello", json!({"protocol": 1, "client": "tests"}));
    let methods: Vec<String> = serde_json::from_value(answer["capabilities"]["methods"].clone()).unwrap();
    assert!(methods.iter().any(|method| method == "session.commit"), "{methods:?}");
    let long = "x".repeat(200_000);
    let nonsense = [
        json!({}),
        Value::Null,
        json!({"session": 5, "agent": [], "cwd": {}, "query": [], "limit": -1, "id": 5, "path": 5}),
        json!({"session": "", "agent": "", "cwd": "", "query": "", "id": "", "body": "", "title": "", "path": ""}),
        json!({"session": "\u{0}", "agent": "\u{0}", "cwd": "\u{0}", "query": "\u{0}", "id": "\u{0}", "path": "\u{0}"}),
        json!({"session": long, "agent": long, "cwd": long, "query": long, "id": long, "body": long, "path": long}),
        json!({"session": "s", "agent": "a", "cwd": "../..", "query": "\" OR * NOT (", "id": "../x",
               "path": "/nonexistent", "limit": 1e300, "cursor": "?", "since": "yesterday", "events": [{"type": "x"}]}),
    ];
    for method in methods.iter().filter(|method| *method != "stop") {
        for params in &nonsense {
            if let Err(failure) = client.ask(method, params.clone()) {
                assert_ne!(
                    failure.kind,
                    "internal",
                    "{method} with {:.200}: {failure:?}",
                    params.to_string()
                );
                assert!(
                    failure.message.len() < 2_000,
                    "{method}: a message of {} bytes",
                    failure.message.len()
                );
            }
        }
    }
    let failure = client.fail("memory.explode", json!({}));
    assert_eq!(failure.kind, "unknown_method");
    is_well(&home);
}

#[test]
fn no_query_is_ever_an_error() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let queries = [
        "",
        "   ",
        "\"",
        "a AND",
        "NOT",
        "title:(",
        "*",
        "~",
        "[a TO",
        "{",
        "\\",
        "日本語",
        "🦀",
        "a:b:c",
        "-",
        "+x",
        "^2",
    ];
    for query in queries {
        let answer = client.call("recall.search", json!({"query": query, "cwd": home.project("app")}));
        assert_eq!(answer["hits"], json!([]), "{query}");
    }
}

#[test]
fn only_the_owner_reaches_the_socket() {
    let home = Home::new();
    let _daemon = home.start();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.socket()), 0o600);
    assert_eq!(mode(home.socket().parent().unwrap()), 0o700);
}

/// The most memory a process has had, in bytes.
#[cfg(target_os = "linux")]
fn peak(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the kernel tells it");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number of kB") * 1024
}

#[cfg(target_os = "linux")]
#[test]
fn what_no_method_reads_takes_no_more_room_than_its_line() {
    let home = Home::new();
    let daemon = home.start();
    let before = peak(daemon.pid());
    let small = r#"{"a":1},"#.repeat(1_000_000);
    let objects = format!("[{}0]", &small[..small.len() - 8 * 10]);
    let lines = [
        format!(r#"{{"id":1,"method":"work.list","params":{{"cwd":"/a","x":{objects}}}}}"#),
        format!(r#"{{"id":1,"method":"work.list","y":{objects},"params":{{"cwd":"/a"}}}}"#),
        format!(r#"{{"id":1,"method":"nobody.knows","params":{{"x":{objects}}}}}"#),
        format!(
            r#"{{"id":1,"method":"session.append","params":{{"agent":"a","session":"s","cwd":"/a","events":[{{"type":"tool","tool":{{"name":"t","input":{objects}}}}}]}}}}"#
        ),
    ];
    let mut client = home.client();
    for line in lines {
        client.send(line.as_bytes()).unwrap();
        client.send(b"\n").unwrap();
        assert_eq!(client.read().expect("it is answered")["id"], 1);
    }
    let taken = peak(daemon.pid()) - before;
    assert!(taken < 200 << 20, "{} MiB for lines of 8", taken >> 20);
    is_well(&home);
}
