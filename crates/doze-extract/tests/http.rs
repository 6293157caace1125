//! Models behind HTTP as a scripted server on this machine.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use doze_extract::{Api, Endpoint, Extractor, Failure, Key, Wish};
use serde_json::Value;

const LONG: Duration = Duration::from_secs(60);
const ANSWER: &str =
    r#"{"choices":[{"message":{"content":"[]"}}],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#;

/// Until it is not wanted any more.
fn until(gave_up: &dyn Fn() -> bool) -> Wish<'_> {
    Wish { gave_up, again: &|| true }
}

/// What one request asked for.
struct Seen {
    line: String,
    headers: Vec<String>,
    body: Value,
}

/// A server that gives each connection the next of its answers, whole as they stand, and tells what it was asked.
fn serve(answers: Vec<String>) -> (String, Receiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (send, seen) = channel();
    thread::spawn(move || {
        for answer in answers {
            let Ok((mut stream, _)) = listener.accept() else { return };
            send.send(read(&stream)).unwrap();
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, seen)
}

fn read(stream: &TcpStream) -> Seen {
    let mut lines = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        match line.trim() {
            "" => break,
            line => head.push(line.to_ascii_lowercase()),
        }
    }
    let length =
        head.iter().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    Seen { line: head.remove(0), headers: head, body: serde_json::from_slice(&body).unwrap_or_default() }
}

fn ok(body: &str) -> String {
    with("200 OK", "", body)
}

fn with(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn at(url: &str, api: Api, key: Option<&str>) -> Extractor {
    Extractor::Http(Endpoint { url: url.into(), api, model: "small".into(), key: key.map(Key::new) })
}

fn told(extractor: &Extractor) -> String {
    extractor.ask("x", LONG, &until(&|| false)).unwrap_err().to_string()
}

#[test]
fn each_language_is_spoken_with_its_key_and_its_schema() {
    let ollama = r#"{"message":{"content":"[]"},"prompt_eval_count":3,"eval_count":4}"#;
    let anthropic =
        r#"{"content":[{"type":"text","text":"[]"}],"usage":{"input_tokens":3,"output_tokens":4}}"#;
    let table = [
        (
            Api::OpenAi,
            ANSWER,
            "post /v1/chat/completions ",
            "authorization: bearer sk-1",
            "/response_format/json_schema/schema/type",
        ),
        (Api::Ollama, ollama, "post /v1/api/chat ", "authorization: bearer sk-1", "/format/type"),
        (Api::Anthropic, anthropic, "post /v1/messages ", "x-api-key: sk-1", "/max_tokens"),
    ];
    for (api, answer, line, header, pointer) in table {
        let (url, seen) = serve(vec![ok(answer)]);
        let said = at(&url, api, Some("sk-1")).ask("the prompt", LONG, &until(&|| false)).unwrap();
        assert_eq!((said.text.as_str(), said.tokens), ("[]", 7), "{api:?}");
        let seen = seen.recv().unwrap();
        assert!(seen.line.starts_with(line), "{}", seen.line);
        assert!(seen.headers.iter().any(|known| known == header), "{:?}", seen.headers);
        assert!(seen.body.pointer(pointer).is_some(), "{}", seen.body);
        assert_eq!(seen.body["messages"][0]["content"], "the prompt");
        assert_eq!((&seen.body["stream"], &seen.body["model"]), (&Value::Bool(false), &Value::from("small")));
    }
}

#[test]
fn a_server_without_schemas_is_asked_again_in_plain_words() {
    let refused = with("400 Bad Request", "", r#"{"error":{"message":"response_format is not supported"}}"#);
    let (url, seen) = serve(vec![refused.clone(), refused, ok(ANSWER)]);
    assert_eq!(at(&url, Api::OpenAi, None).ask("x", LONG, &until(&|| false)).unwrap().text, "[]");
    assert!(seen.recv().unwrap().body["response_format"].is_object());
    let held = seen.recv().unwrap().body;
    assert_eq!(held["response_format"]["type"], "json_object");
    assert_eq!(held["response_format"]["schema"]["properties"]["memories"]["maxItems"], 6);
    let plain = seen.recv().unwrap();
    assert_eq!(plain.body.as_object().unwrap().len(), 3, "{}", plain.body);
    assert!(!plain.headers.iter().any(|header| header.starts_with("authorization")));
}

#[test]
fn a_refusal_says_what_to_do() {
    let refused = |status: &str, body: &str| {
        let (url, _seen) = serve(vec![with(status, "", body); 3]);
        told(&at(&url, Api::OpenAi, Some("sk-1")))
    };
    let key = refused("401 Unauthorized", r#"{"error":{"message":"bad key"}}"#);
    assert!(key.ends_with("status 401: bad key; set extractor.key") && !key.contains("sk-1"), "{key}");
    let model = refused("404 Not Found", r#"{"error":"model small not found"}"#);
    assert!(model.ends_with("model small not found; check extractor.url and extractor.model"), "{model}");
    let page = refused("502 Bad Gateway", "<html>\nno\n</html>");
    assert!(page.ends_with("status 502: <html> no </html>"), "{page}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = told(&at(&format!("http://me:secret@{nobody}/v1"), Api::OpenAi, None));
    assert_eq!(
        said,
        format!("http://{nobody}/v1: nobody answers there; start the server or correct extractor.url")
    );
    assert!(told(&at("not an address", Api::OpenAi, None)).contains("extractor.url"));
}

#[test]
fn what_reached_a_server_may_cost_and_what_did_not_costs_nothing() {
    let was_sent =
        |url: &str| at(url, Api::OpenAi, None).ask("x", LONG, &until(&|| false)).unwrap_err().was_sent();
    for answer in [with("500 Internal Server Error", "", ""), ok("{}")] {
        let (url, _seen) = serve(vec![answer; 3]);
        assert!(was_sent(&url));
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{nobody}/v1"), "not an address".to_owned()] {
        assert!(!was_sent(&url), "{url}");
    }
}

#[test]
fn a_key_follows_no_redirect() {
    let (elsewhere, stolen) = serve(vec![ok(ANSWER)]);
    let (url, _seen) = serve(vec![with(
        "307 Temporary Redirect",
        &format!("location: {elsewhere}/chat/completions\r\n"),
        "",
    )]);
    let said = told(&at(&url, Api::OpenAi, Some("sk-1")));
    assert!(said.contains("it only points to http://127.0.0.1") && said.contains("extractor.url"), "{said}");
    assert!(stolen.try_recv().is_err());
}

#[test]
fn an_answer_that_is_none_is_told() {
    for body in ["", "{}", "<html>", r#"{"choices":[{"message":{"content":null}}]}"#] {
        let (url, _seen) = serve(vec![ok(body)]);
        let failure = at(&url, Api::OpenAi, None).ask("x", LONG, &until(&|| false)).unwrap_err();
        assert!(matches!(failure, Failure::NoReply { .. }), "{body}: {failure}");
    }
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"choices\"".to_owned();
    let (url, _seen) = serve(vec![cut]);
    assert!(matches!(
        at(&url, Api::OpenAi, None).ask("x", LONG, &until(&|| false)),
        Err(Failure::Http { .. })
    ));
    let (url, _seen) = serve(vec![ok(&"x".repeat(5 << 20))]);
    assert!(told(&at(&url, Api::OpenAi, None)).ends_with("its answer is larger than 4194304 bytes"));
}

/// A server that takes the question and never answers.
fn silent() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (send, taken) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read(&stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        send.send(stream).unwrap();
    });
    (url, taken)
}

#[test]
fn a_server_that_does_not_answer_is_left() {
    let (url, _taken) = silent();
    let failure =
        at(&url, Api::OpenAi, None).ask("x", Duration::from_secs(1), &until(&|| false)).unwrap_err();
    assert!(matches!(failure, Failure::TimedOut { seconds: 1, .. }), "{failure}");

    let (url, taken) = silent();
    let start = Instant::now();
    let failure =
        at(&url, Api::OpenAi, None).ask("x", LONG, &until(&|| taken.try_recv().is_ok())).unwrap_err();
    assert!(matches!(failure, Failure::GivenUp) && start.elapsed() < Duration::from_secs(30), "{failure}");
}

#[test]
fn each_further_request_needs_leave() {
    let refused = with("400 Bad Request", "", "{}");
    let (url, seen) = serve(vec![refused.clone(), refused.clone(), refused]);
    let asked = std::cell::Cell::new(0);
    let again = || asked.replace(asked.get() + 1) < 1;
    let wish = Wish { gave_up: &|| false, again: &again };
    let failure = at(&url, Api::OpenAi, None).ask("x", LONG, &wish).unwrap_err();
    assert!(matches!(failure, Failure::Spent), "{failure}");
    assert_eq!((asked.get(), seen.iter().take(2).count()), (2, 2));
    assert!(seen.try_recv().is_err(), "nothing was asked without leave");
}

#[test]
fn a_server_hands_back_neither_the_key_nor_what_stands_in_the_address() {
    let key = "k9X2mQ7vB4nL8pR3tZ6w";
    let body = format!(r#"{{"error":{{"message":"{}Bad key given: {key}"}}}}"#, "x ".repeat(140));
    for status in ["401 Unauthorized", "200 OK"] {
        let (url, seen) = serve(vec![with(status, "", &body)]);
        let asked = url.replace("http://", "http://me:Pa55w0rd!@") + "?api_key=q-W3rty-uiop";
        let said = told(&at(&asked, Api::Anthropic, Some(key)));
        assert!(!said.contains("k9X2") && !said.contains("Pa55") && !said.contains("W3rty"), "{said}");
        assert_eq!(seen.recv().unwrap().line, "post /v1/messages?api_key=q-w3rty-uiop http/1.1");
    }
    let (url, _seen) = serve(vec![with(
        "302 Found",
        "location: http://u:Pa55w0rd@elsewhere.example/a?key=q-W3rty-uiop\r\n",
        "",
    )]);
    let said = told(&at(&url, Api::OpenAi, None));
    assert!(said.contains("points to http://elsewhere.example/a;"), "{said}");
}

#[test]
fn a_packed_answer_is_called_so_and_half_a_character_is_read() {
    let (url, seen) = serve(vec![with("200 OK", "content-encoding: gzip\r\n", "\u{1f}\u{8b}")]);
    assert!(told(&at(&url, Api::OpenAi, None)).contains("its answer is packed (gzip)"));
    assert!(seen.recv().unwrap().headers.contains(&"accept-encoding: identity".to_owned()));
    let broken = ok(r#"{"choices":[{"message":{"content":"[] \ud83d"}}]}"#);
    let (url, _seen) = serve(vec![broken]);
    assert_eq!(at(&url, Api::OpenAi, None).ask("x", LONG, &until(&|| false)).unwrap().text, "[] \u{fffd}");
}
