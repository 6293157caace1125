//! The tools over MCP with the real programs: `doze mcp` on an agent's pipes, the daemon behind it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use doze_tests::{Home, until};
use serde_json::{Value, json};

/// An agent's end of the pipes.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Agent {
    fn start(home: &Home, args: &[&str]) -> Self {
        let project = home.project("app");
        let mut command = Command::new(home.doze_program());
        command.arg("mcp").args(args).arg("--cwd").arg(project).arg("--harness").arg("claude-code");
        command.env_clear().envs(home.environment());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, next: 0 }
    }

    fn greeted(home: &Home, args: &[&str]) -> Self {
        let mut agent = Self::start(home, args);
        let hello = agent.ask("initialize", hello("2025-06-18"));
        assert_eq!(hello["result"]["serverInfo"]["name"], "doze", "{hello}");
        agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        agent
    }

    fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no frame: {line:?}: {error}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The text a tool answers, and whether it is an error.
    fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text, result["isError"] == true)
    }

    fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input.take();
        let _ = self.child.wait();
    }
}

fn hello(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
}

fn lesson(title: &str, body: &str) -> Value {
    json!({"type": "lesson", "title": title, "body": body, "topicKey": null, "files": null})
}

#[test]
fn an_agent_records_finds_and_judges_in_its_own_project() {
    let home = Home::new();
    let _daemon = home.start();
    let mut agent = Agent::greeted(&home, &["--mode", "accept"]);
    assert_eq!(agent.tools(), ["memory_search", "memory_record", "memory_feedback", "task_context"]);
    let (told, failed) = agent.call("memory_record", lesson("Use the forks pool", "Threads hang on sqlite."));
    assert!(told.starts_with("Kept.") && !failed, "{told}");

    let (found, _) = agent.call("memory_search", json!({"query": "forks pool", "limit": "3", "type": null}));
    let found: Value = serde_json::from_str(&found).unwrap();
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["title"], &hit["type"], &hit["ageDays"]),
        (&json!("Use the forks pool"), &json!("lesson"), &json!(0))
    );
    let id = hit["id"].as_str().unwrap().to_owned();
    let memory = home.client().call("memory.get", json!({ "id": id }));
    assert_eq!(
        (&memory["verification"], &memory["source"]["harness"]),
        (&json!("agent"), &json!("claude-code"))
    );

    let (told, failed) = agent.call("memory_feedback", json!({"id": id, "verdict": "wrong"}));
    assert!(told.contains("wrong") && !failed, "{told}");
    let (found, _) = agent.call("memory_search", json!({"query": "forks pool"}));
    assert_eq!(found, r#"{"hits":[]}"#);

    // Another project's memory is none.
    let elsewhere = home.project("other");
    let other =
        home.client().call("memory.add", json!({"body": "The other one listens on 4000", "cwd": elsewhere}));
    let (told, failed) = agent.call("memory_feedback", json!({"id": other["id"], "verdict": "helpful"}));
    assert!(failed && told.contains("in this project"), "{told}");
    let (found, _) = agent.call("memory_search", json!({"query": "listens on 4000"}));
    assert_eq!(found, r#"{"hits":[]}"#);

    for (arguments, told) in [
        (json!({}), "title is missing"),
        (lesson(&"x".repeat(121), "b"), "title has 121 characters"),
        (lesson("t", &"x".repeat(801)), "body has 801 characters"),
        (json!({"type": "preference", "title": "t", "body": "b"}), "type has to be one of"),
        (json!({"type": "lesson", "title": "t", "body": "b", "topicKey": "k".repeat(81)}), "topicKey has 81"),
    ] {
        let arguments = if arguments == json!({}) { json!({"type": "lesson"}) } else { arguments };
        let (answer, failed) = agent.call("memory_record", arguments);
        assert!(failed && answer.contains(told), "{answer}");
    }
}

#[test]
fn the_mode_decides_and_follows_the_hooks() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let mut agent = Agent::greeted(&home, &[]);
    let (told, failed) = agent.call("memory_record", lesson("Use the forks pool", "Threads hang on sqlite."));
    assert!(told.contains("doze review") && !failed, "{told}");
    assert_eq!(agent.call("memory_search", json!({"query": "forks pool"})).0, r#"{"hits":[]}"#, "it waits");

    let mut mode = |mode: &str| {
        let agent = json!({"id": "claude-code", "harness": "claude-code"});
        let params =
            json!({"agent": agent, "cwd": home.project("app"), "session": "s", "permission_mode": mode});
        client.call("work.set", params);
    };
    mode("plan");
    let (told, failed) = agent.call("memory_record", lesson("Build first", "The tests need the binary."));
    assert!(told.contains("plan mode") && failed, "{told}");
    mode("acceptEdits");
    let (told, failed) = agent.call("memory_record", lesson("Build first", "The tests need the binary."));
    assert!(told.starts_with("Kept.") && !failed, "{told}");
    // Another session of the agent: what it may do is not this one's.
    let other = |mode: &str, session: &str| {
        let params = json!({"agent": "claude-code", "cwd": home.project("app"), "session": session,
                            "permission_mode": mode});
        home.client().call("work.set", params);
    };
    other("plan", "t");
    let (told, failed) = agent.call("memory_record", lesson("Build twice", "The first one is cold."));
    assert!(told.contains("plan mode") && failed, "{told}");
    other("bypassPermissions", "t");
    mode("default");
    let found: Value =
        serde_json::from_str(&agent.call("memory_search", json!({"query": "build first"})).0).unwrap();
    let id = found["hits"][0]["id"].as_str().unwrap().to_owned();
    let (told, failed) = agent.call("memory_feedback", json!({"id": id, "verdict": "stale"}));
    assert!(told.contains(&format!("doze feedback {id} stale")) && failed, "{told}");
}

#[test]
fn what_a_person_wrote_is_theirs_and_off_is_off() {
    let home = Home::new();
    let _daemon = home.start();
    let mut client = home.client();
    let cwd = home.project("app");
    let kept = client.call(
        "memory.add",
        json!({"body": "We deploy on Fridays", "topic_key": "deploy/day", "cwd": cwd, "human": true}),
    );
    let task = json!({"id": "t1", "title": "Fix the pool", "spec": "vitest only", "status": "in_progress", "cwd": cwd});
    client.call("task.set", task);
    let mut agent = Agent::greeted(&home, &["--mode", "autonomous"]);
    let mut taken = lesson("Deploy on Mondays", "Each Monday at noon.");
    taken["topicKey"] = json!("deploy/day");
    let (told, failed) = agent.call("memory_record", taken);
    assert!(failed && told.contains("a person wrote"), "{told}");
    let (told, failed) = agent.call("memory_feedback", json!({"id": kept["id"], "verdict": "wrong"}));
    assert!(failed && told.contains("a person wrote"), "{told}");
    let (told, _) = agent.call("task_context", json!({}));
    assert!(told.starts_with("Task: Fix the pool\nSpec: vitest only\nStatus: in_progress"), "{told}");

    client.call("config", json!({"set": {"memory.enabled": false}}));
    assert_eq!(agent.read()["method"], "notifications/tools/list_changed", "it is told to look again");
    assert_eq!(agent.tools(), ["task_context"]);
    for (tool, arguments) in [
        ("memory_search", json!({"query": "deploy"})),
        ("memory_record", lesson("t", "b")),
        ("memory_feedback", json!({"id": kept["id"], "verdict": "helpful"})),
    ] {
        let (told, failed) = agent.call(tool, arguments);
        assert!(failed && told.starts_with("memory is off"), "{tool}: {told}");
    }
    let (told, failed) = agent.call("task_context", json!({}));
    assert!(!failed && told.starts_with("Task: Fix the pool") && !told.contains("memory"), "{told}");
}

#[test]
fn every_request_is_answered_whatever_comes_and_whoever_goes() {
    let home = Home::new();
    let daemon = home.start();
    let mut agent = Agent::start(&home, &["--mode", "accept"]);
    let answer = agent.ask("initialize", hello("1999-01-01"));
    assert!(answer["result"]["protocolVersion"].as_str().unwrap() > "2025", "{answer}");
    agent.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    agent.send("no json at all");
    assert_eq!(agent.read()["error"]["code"], -32700);
    let unknown = agent.ask("tools/call", json!({"name": "rm_rf", "arguments": {}}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("rm_rf"), "{unknown}");
    agent.send(&format!("\"{}\"", "x".repeat(9 << 20)));
    assert_eq!(agent.read()["error"]["code"], -32700);
    assert_eq!(agent.tools().len(), 4);

    daemon.kill();
    // The first request may still meet the dying line; each is answered.
    let away = until("the daemon to be missed", || {
        let answer = agent.ask("tools/list", json!({}));
        answer["error"]["message"].as_str().map(str::to_owned)
    });
    assert!(away.contains("doze up"), "{away}");
    let daemon = home.start();
    assert_eq!(agent.tools().len(), 4, "it is back, and the agent need not know");

    // At the end of the input what is still out is answered, then it ends.
    for id in 100..120 {
        let params = json!({"name": "memory_search", "arguments": {"query": "anything"}});
        agent
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string());
    }
    agent.input.take();
    let mut ids: Vec<u64> = (0..20).map(|_| agent.read()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (100..120).collect::<Vec<_>>());
    assert!(agent.child.wait().unwrap().success());

    // An open line does not hold up the daemon's end.
    let _open = Agent::greeted(&home, &[]);
    assert_eq!(daemon.terminate().code, Some(0));
}

#[test]
fn an_agent_that_floods_is_answered_in_turn_and_holds_nobody_up() {
    let home = Home::new();
    let _daemon = home.start();
    let mut agent = Agent::greeted(&home, &["--mode", "accept"]);
    let mut flood = String::new();
    for id in 1..=1_000 {
        let params = json!({"name": "memory_search", "arguments": {"query": "anything at all"}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        flood.push_str(&format!("{call}\n"));
    }
    let mut input = agent.input.take().unwrap();
    let writer = std::thread::spawn(move || {
        input.write_all(flood.as_bytes()).unwrap();
        input
    });
    // Everything else goes on meanwhile.
    let mut client = home.client();
    for _ in 0..20 {
        assert!(client.call("status", json!({}))["ready"] == true);
    }
    let answers: Vec<Value> = (0..1_000).map(|_| agent.read()).collect();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=1_000).collect::<Vec<_>>());
    for answer in &answers {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let is_full = text.starts_with("64 calls are under way") && answer["result"]["isError"] == true;
        assert!(is_full || text == r#"{"hits":[]}"#, "{text}");
    }
    agent.input = Some(writer.join().unwrap());
    let (found, _) = agent.call("memory_search", json!({"query": "anything"}));
    assert_eq!(found, r#"{"hits":[]}"#);
}

#[test]
fn a_merge_of_projects_leaves_an_open_connection_where_it_is() {
    let home = Home::new();
    let _daemon = home.start();
    let mut agent = Agent::greeted(&home, &["--mode", "accept"]);
    agent.call("memory_record", lesson("Use the forks pool", "Threads hang on sqlite."));
    let mut client = home.client();
    let into = home.project("whole");
    client.call("memory.add", json!({"body": "The broker needs a license.", "cwd": into}));
    client.call("project.merge", json!({"from": home.project("app"), "into": into}));
    let (found, failed) = agent.call("memory_search", json!({"query": "forks pool broker license"}));
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((found["hits"].as_array().unwrap().len(), failed), (2, false), "{found}");
    let (told, failed) = agent.call("memory_record", lesson("Build first", "The tests need the binary."));
    assert!(told.starts_with("Kept.") && !failed, "{told}");
    for hit in found["hits"].as_array().unwrap() {
        let judged = agent.call("memory_feedback", json!({"id": hit["id"], "verdict": "helpful"}));
        assert_eq!(judged, ("Noted: helpful.".to_owned(), false));
    }
    assert!(agent.call("task_context", json!({})).0.starts_with("No task"));
}

#[test]
fn what_is_no_request_is_answered_with_its_id_and_nothing_lingers() {
    let home = Home::new();
    let _daemon = home.start();
    let mut agent = Agent::greeted(&home, &[]);
    let call = |id: Value, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    for (message, id, code) in [
        (call(json!(900), json!([1])), json!(900), -32602),
        (call(json!(901), json!({"name": "memory_search", "arguments": [1]})), json!(901), -32602),
        (call(json!(902), json!({})), json!(902), -32602),
        (call(json!(1.5), json!({"name": "memory_search"})), json!(1.5), -32600),
        (call(json!(1u64 << 63), json!({"name": "memory_search"})), json!(1u64 << 63), -32600),
        (call(Value::Null, json!({"name": "memory_search"})), Value::Null, -32600),
        (json!({"id": 903, "method": "ping"}), json!(903), -32600),
        (json!({"jsonrpc": "1.0", "id": 904, "method": "ping"}), json!(904), -32600),
        (json!([{"jsonrpc": "2.0", "id": 905, "method": "ping"}]), Value::Null, -32600),
        (json!({"jsonrpc": "2.0", "id": 906, "method": "no/such", "params": {}}), json!(906), -32601),
        (json!({"jsonrpc": "2.0", "id": 907, "method": "no/such", "params": null}), json!(907), -32601),
    ] {
        agent.send(&message.to_string());
        let answer = agent.read();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{message}: {answer}");
    }
    // What nobody answers disturbs nobody.
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/nothing", "params": [1]}),
        json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 78, "error": {"code": -1, "message": "no"}}),
        json!({"jsonrpc": "2.0", "id": 79, "result": 7}),
    ] {
        agent.send(&message.to_string());
    }
    assert_eq!(agent.ask("ping", json!({}))["result"], json!({}));
    let begun = std::time::Instant::now();
    agent.input.take();
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut agent.output, &mut rest).unwrap();
    assert!(agent.child.wait().unwrap().success() && begun.elapsed().as_secs() < 30, "{rest}");
}
