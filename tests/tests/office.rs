//! An office over the real socket: an orchestrator that is killed in the middle of its work, a folder of the original
//! program through the command, and input that no office should send.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use doze_tests::Home;
use serde_json::{Value, json};

/// The example of the client crate, which `cargo test --workspace` builds.
fn orchestrator() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let built = own.ancestors().find(|folder| folder.join("examples").is_dir()).unwrap();
    let program = built.join("examples/orchestrator");
    assert!(program.is_file(), "{} is not built: run `cargo test --workspace`", program.display());
    program
}

fn start(home: &Home, project: &Path, arguments: &[&str]) -> Child {
    Command::new(orchestrator())
        .arg(project)
        .args(arguments)
        .env_clear()
        .envs(home.environment())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> {
    BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap)
}

#[test]
fn a_killed_orchestrator_recovers_its_three_agents() {
    let home = Home::new();
    let daemon = home.start();
    let project = home.project("shop");
    // Seven steps: alex has finished, sam and kim are in the middle.
    let mut first = start(&home, &project, &["7"]);
    let told: Vec<String> = lines(&mut first).take_while(|line| line != "waiting to be killed").collect();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(told[0], "0 agents were at work");
    assert!(told.contains(&"alex is done: built the cart page".to_owned()), "{told:?}");
    // The daemon goes down with it: the last commit made everything before it durable.
    daemon.kill();
    let _daemon = home.start();

    let mut second = start(&home, &project, &[]);
    let told: Vec<String> = lines(&mut second).collect();
    assert!(second.wait().unwrap().success());
    assert_eq!(told[0], "2 agents were at work");
    let has = |line: &str| assert!(told.iter().any(|told| told == line), "{line}\n{}", told.join("\n"));
    has("alex begins, knowing 1 facts");
    has("sam goes on: run them");
    has("kim goes on: run them");
    has("[Session recovered] Your previous session was lost. Here's what you were doing:");
    has("- Task: Build the checkout page");
    has("- Files changed: src/search.tsx");
    has("sam is done: built the checkout page");
    has("kim is done: built the search page");
    let roster: Vec<&String> = told.iter().rev().take(3).collect();
    for agent in
        ["[alex] Last: \"built the cart page\"", "[sam] Last: \"built the checkout page\"", "[kim] Last: "]
    {
        assert!(roster.iter().any(|line| line.starts_with(agent)), "{roster:?}");
    }
    let mut client = home.client();
    assert_eq!(client.call("work.list", json!({"cwd": project}))["items"], json!([]));
    // All three found the same, so it is the project's by now.
    let context = client.call("recall.context", json!({"agent": "new", "cwd": project}));
    assert!(context["text"].as_str().unwrap().starts_with("===== PROJECT KNOWLEDGE =====\n- "), "{context}");
    assert_eq!(context["shared"][0]["confirmed_by"].as_array().unwrap().len(), 3, "{context}");
}

#[test]
fn a_folder_of_the_original_program_goes_in_and_out_by_command() {
    let home = Home::new();
    let _daemon = home.start();
    let project = home.project("shop");
    let root = home.user_home().join(".bit-office/memory");
    std::fs::create_dir_all(root.join("agents")).unwrap();
    let fact = json!({
        "id": "x", "category": "user_preference", "fact": "User prefers solid borders over dashed borders", "reinforceCount": 2,
        "createdAt": "2026-03-10T08:00:00.000Z", "lastSeen": "2026-03-17T14:30:00.000Z",
    });
    let file = json!({"agentId": "alex-2", "facts": [fact]});
    std::fs::write(root.join("agents/alex-2.json"), file.to_string()).unwrap();
    std::fs::write(root.join("shared.json"), "{\"items\":[{").unwrap();
    let ran = home.doze(["import", "--format", "office"]).cwd(&project).run().ok();
    assert!(
        ran.stdout.starts_with("1 record read, 1 new, 1 damaged\n  shared.json: it is damaged at line 1"),
        "{}",
        ran.stdout
    );
    let ran = home.doze(["context", "alex-2"]).cwd(&project).run().ok();
    assert_eq!(
        ran.stdout,
        "===== AGENT KNOWLEDGE =====\nPreference: User prefers solid borders over dashed borders\n"
    );
    let ran = home.doze(["export", "../out"]).cwd(&project).run().ok();
    assert!(ran.stdout.ends_with("out  (1 record in 1 file)\n"), "{}", ran.stdout);
    let out = std::fs::read(project.join("../out/agents/alex-2.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), file);
    let ran = home.doze(["export", "../out"]).cwd(&project).run();
    assert_eq!(ran.code, 77, "{}", ran.stderr);
    assert!(ran.stderr.contains("is not empty, and nothing is overwritten"), "{}", ran.stderr);
}

#[test]
fn what_an_office_learns_across_projects_is_told_and_shown_by_commands() {
    let home = Home::new();
    let _daemon = home.start();
    let project = home.project("shop");
    let doze = |args: &[&str], input: &str| home.doze(args).cwd(&project).stdin(input).run();
    assert_eq!(doze(&["office"], "").code, 1, "nothing yet");
    let review = "VERDICT: FAIL\n1. Buttons overlap on small screens\n2. The score never resets\n";
    assert_eq!(doze(&["office", "review"], review).stdout, "2 new, 0 known, 0 left out\n");
    assert_eq!(doze(&["office", "review", "-"], review).stdout, "0 new, 2 known, 0 left out\n");
    std::fs::write(project.join("plan.md"), "TECH: PixiJS v8\n").unwrap();
    assert_eq!(doze(&["office", "plan", "plan.md"], "").stdout, "1 new, 0 known, 0 left out\n");
    let built = ["office", "project", "--summary", "A card game", "--tech", "PixiJS", "--rating", "visual=4"];
    assert_eq!(doze(&built, "").stdout, "noted: A card game  (visual 4)\n");
    let learned = "  2 x  Buttons overlap on small screens\n  2 x  The score never resets\napproved:  PixiJS v8\n\
                   built:  A card game with PixiJS  (visual 4)\n";
    assert_eq!(doze(&["office"], "").stdout, learned);
    assert_eq!(doze(&["office", "forget", "The score never resets"], "").stdout, "dropped 1 entry\n");
    assert_eq!(doze(&["office", "project", "--rating", "charm=4"], "").code, 65, "no such axis");

    let mut client = home.client();
    let fact = json!({"agent": "alex", "cwd": project, "space": "agent", "face": "office",
        "body": "The parcel queue needs two brokers"});
    let id = client.call("memory.add", fact)["memory"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        doze(&["confirm", &id, "--agent", "sam"], "").stdout,
        format!("noted: sam found {id} as well\n")
    );
    assert!(doze(&["context", "kim"], "").stdout.contains("two brokers"), "it is the project's now");
}

#[test]
fn what_no_office_should_send_is_refused_by_name_and_the_connection_goes_on() {
    let home = Home::new();
    let _daemon = home.start();
    let project = home.project("shop");
    let mut client = home.client();
    let at = |agent: &str| json!({"agent": agent, "cwd": project});
    assert_eq!(client.call("recall.context", at("nobody"))["text"], "");
    assert_eq!(client.call("recall.recover", at("nobody"))["text"], "");
    let failure = client.fail("work.get", at("nobody"));
    assert_eq!((failure.kind.as_str(), failure.message.as_str()), ("not_found", "no work state of nobody"));
    for (method, params, message) in [
        ("work.set", json!({"agent": "", "cwd": project}), "agent is empty"),
        ("work.set", json!({"agent": "a", "cwd": project, "status": "paused"}), "status: "),
        (
            "recall.context",
            json!({"agent": "a", "cwd": project, "budget": 5}),
            "budget: 5 is outside 16 to 20000",
        ),
        (
            "office.project",
            json!({"summary": "x", "ratings": {"visual": 9}}),
            "ratings.visual is outside 1 to 5",
        ),
        ("office.review", json!({"verdict": "FAIL"}), "missing field `text`"),
        (
            "import",
            json!({"path": project, "format": "office", "cwd": project}),
            "holds no memory of an office",
        ),
        (
            "export",
            json!({"path": "/nowhere", "format": "archive"}),
            "format: \"archive\" cannot be written, only office",
        ),
    ] {
        let failure = client.fail(method, params);
        assert!(failure.kind == "invalid" && failure.message.contains(message), "{method}: {failure:?}");
    }
    // Fifty megabytes of output do not fit into a line; in pieces they would.
    let mut line = br#"{"jsonrpc":"2.0","id":1,"method":"session.commit","params":{"session":"s","agent":"a","cwd":"/","output":""#.to_vec();
    line.resize(line.len() + (50 << 20), b'x');
    line.extend_from_slice(b"\"}}\n");
    client.send(&line).unwrap();
    let answer = client.read().unwrap();
    assert_eq!((&answer["error"]["data"]["kind"], &answer["id"]), (&json!("too_large"), &Value::Null));
    let done =
        client.call("session.commit", json!({"session": "s", "agent": "../x", "cwd": project, "output": ""}));
    assert_eq!(done["summary"]["what"], "Task completed");
    assert_eq!(client.call("office.review", json!({"text": "没有裁决"}))["added"], 0);
}
