//! A model that the person names is fetched over HTTP, used for their memories, and looked at again at each load.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use doze_tests::{Client, Home, until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The built-in model as an archive, as somebody would publish another one.
fn archive() -> Vec<u8> {
    let model = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/doze-search/model");
    let mut archive = tar::Builder::new(Vec::new());
    for file in ["minilm.onnx", "minilm.onnx.data", "tokenizer.json"] {
        archive.append_path_with_name(model.join(file), format!("mini/{file}")).unwrap();
    }
    archive.into_inner().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serves `body` on loopback to whoever asks, and counts them.
struct Mirror {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl Mirror {
    fn start(body: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mini.tar", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
                // Whoever asks may have been killed before the answer.
                drop(serve(stream, &body));
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: TcpStream, body: &[u8]) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    write!(stream, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)
}

fn config(url: &str, sha256: &str) -> String {
    format!("embedder.url = \"{url}\"\nembedder.sha256 = \"{sha256}\"\nembedder.idle_seconds = 1\n")
}

fn remember(client: &mut Client, home: &Home, body: &str) {
    let cwd = home.project("app");
    client.call("memory.add", json!({"body": body, "kind": "fact", "space": "project", "cwd": cwd}));
}

/// The best hit of a question that shares no word with its answer, once its meaning was searched.
fn meant(client: &mut Client, home: &Home, question: &str) -> Value {
    let cwd = home.project("app");
    until("the meaning to be searched", || {
        let answer = client.call("recall.search", json!({"query": question, "cwd": cwd, "limit": 1}));
        let hit = answer["hits"].get(0)?.clone();
        (answer["semantic"] == "on").then_some(hit)
    })
}

#[test]
fn a_model_is_fetched_when_it_is_needed_and_memories_get_its_vectors() {
    let body = archive();
    let hash = sha256(&body);
    let mirror = Mirror::start(body);
    let home = Home::with_config("");
    let daemon = home.start();
    let mut client = home.client();
    remember(&mut client, &home, "Automobiles are parked behind the warehouse");
    let question = "where do we leave the cars";
    assert!(meant(&mut client, &home, question)["body"].as_str().unwrap().contains("warehouse"));
    assert_eq!(daemon.terminate().code, Some(0));

    // Another model: the memory, which had vectors of the first, gets others.
    home.write_config(&config(&mirror.url, &hash));
    let daemon = home.start();
    let mut client = home.client();
    assert!(meant(&mut client, &home, question)["body"].as_str().unwrap().contains("warehouse"));
    let model = client.call("status", json!({}))["model"].clone();
    assert_eq!((&model["id"], &model["sha256"], &model["dim"]), (&json!("mini"), &json!(hash), &json!(384)));
    assert_eq!(mirror.asked(), 1);
    daemon.kill();

    // It is there after a crash, and not asked for again; what was changed meanwhile is.
    let folder = home.files().into_iter().find(|path| path.ends_with("tokenizer.json")).unwrap();
    let tokenizer = home.doze_home().join(folder);
    let daemon = home.start();
    assert!(meant(&mut home.client(), &home, question)["body"].as_str().unwrap().contains("warehouse"));
    assert_eq!(mirror.asked(), 1);
    daemon.kill();
    fs::write(&tokenizer, "{}").unwrap();
    let _daemon = home.start();
    assert!(meant(&mut home.client(), &home, question)["body"].as_str().unwrap().contains("warehouse"));
    assert_eq!(mirror.asked(), 2);
    assert_ne!(fs::read(&tokenizer).unwrap(), b"{}");
}

#[test]
fn of_a_model_that_is_not_the_pinned_one_nothing_is_kept_and_words_still_find() {
    let mirror = Mirror::start(archive());
    let home = Home::with_config(&config(&mirror.url, &"0".repeat(64)));
    let _daemon = home.start();
    let mut client = home.client();
    remember(&mut client, &home, "Automobiles are parked behind the warehouse");
    let problem = until("the failure to be told", || {
        client.call("status", json!({}))["problem"].as_str().map(str::to_owned)
    });
    assert!(problem.contains("SHA-256") && problem.contains("embedder.sha256"), "{problem}");
    let cwd = home.project("app");
    let answer = client.call("recall.search", json!({"query": "warehouse", "cwd": cwd}));
    assert_eq!((answer["hits"].as_array().unwrap().len(), &answer["semantic"]), (1, &json!("failed")));
    assert!(!home.files().iter().any(|path| path.to_string_lossy().contains("onnx")));
}
