//! The server over a real socket, with callers that behave well, badly and very badly.

use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Barrier, Mutex};
use std::time::Instant;

use doze_client::{CallError, Client, Paths};
use doze_protocol::{ErrorKind, Id, Params, parse_params};
use serde_json::json;

use super::*;

const GENEROUS: Duration = Duration::from_secs(30);

fn soon() -> Instant {
    Instant::now() + GENEROUS
}

/// Answers enough to test the shell: echoes, panics, waits, and answers too much.
struct Toy {
    /// Both sides of `wait` meet here: the call has begun, the call may end.
    begun: Mutex<mpsc::Sender<()>>,
    gate: Barrier,
    uid: u32,
}

impl Handler for Toy {
    fn methods(&self) -> Vec<String> {
        ["status", "echo", "wait"].map(str::to_owned).to_vec()
    }

    fn call(&self, method: &str, params: Params, peer: &Peer) -> Result<Value, WireError> {
        assert_eq!(peer.uid, self.uid);
        match method {
            "status" => Ok(json!({"version": "0", "ready": true, "client": peer.client})),
            "echo" => parse_params(params),
            "panic" => panic!("a fault in a handler"),
            "large" => {
                let params: Value = parse_params(params)?;
                Ok("x".repeat(usize::try_from(params["size"].as_u64().unwrap()).unwrap()).into())
            }
            "wait" => {
                let _ = self.begun.lock().unwrap().send(());
                self.gate.wait();
                Ok(json!("waited"))
            }
            other => Err(WireError::unknown_method(other)),
        }
    }

    fn memory_switch(&self) -> doze_mcp::MemorySwitch {
        doze_mcp::MemorySwitch::new(true)
    }

    fn open_mcp(&self, _params: Params) -> Result<doze_mcp::Project, WireError> {
        Err(WireError::unknown_method("mcp.open"))
    }

    fn reload(&self, _settings: &Settings) {}

    fn drain(&self) {}

    fn close(&self) {}
}

struct Running {
    dir: tempfile::TempDir,
    paths: Paths,
    toy: Arc<Toy>,
    begun: mpsc::Receiver<()>,
    shutdown: Shutdown,
    thread: Option<std::thread::JoinHandle<bool>>,
}

impl Running {
    fn start(limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let paths = Paths::in_home(dir.path(), uid);
        let (sender, begun) = mpsc::channel();
        let toy = Arc::new(Toy { begun: Mutex::new(sender), gate: Barrier::new(2), uid });
        let shutdown = Shutdown::default();
        let server = Server::new(Arc::clone(&toy) as Arc<dyn Handler>, limits, shutdown.clone());
        let (ready, is_ready) = mpsc::channel();
        let places = paths.clone();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let (listener, _) = crate::socket::listen(&places).unwrap();
                ready.send(()).unwrap();
                server.serve(listener).await
            })
        });
        is_ready.recv().unwrap();
        Self { dir, paths, toy, begun, shutdown, thread: Some(thread) }
    }

    fn socket(&self) -> PathBuf {
        self.paths.sockets[0].clone()
    }

    fn client(&self) -> Client {
        Client::connect(&self.paths, "toy/1", soon()).unwrap()
    }

    fn raw(&self) -> Raw {
        Raw::connect(&self.socket())
    }

    /// Ends the server; whether it drained in time.
    fn end(mut self) -> bool {
        self.shutdown.begin();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.begin();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        assert!(self.dir.path().exists());
    }
}

/// A caller that speaks bytes.
struct Raw {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
}

impl Raw {
    fn connect(path: &Path) -> Self {
        let writer = UnixStream::connect(path).unwrap();
        writer.set_read_timeout(Some(GENEROUS)).unwrap();
        Self { reader: BufReader::new(writer.try_clone().unwrap()), writer }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).unwrap();
    }

    fn answer(&mut self) -> Response {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).unwrap();
        Response::parse(&line).unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&line)))
    }

    fn greet(&mut self) {
        self.send(b"{\"id\":0,\"method\":\"hello\",\"params\":{\"protocol\":1,\"client\":\"raw\"}}\n");
        assert!(self.answer().outcome.is_ok());
    }

    fn is_closed(&mut self) -> bool {
        match self.reader.read(&mut [0]) {
            Ok(size) => size == 0,
            Err(error) => error.kind() == IoKind::ConnectionReset,
        }
    }
}

fn kind(answer: &Response) -> ErrorKind {
    answer.outcome.as_ref().unwrap_err().kind
}

fn daemon_error(error: CallError) -> WireError {
    match error {
        CallError::Daemon(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_client_is_greeted_and_answered() {
    let running = Running::start(Limits::default());
    let mut client = running.client();
    let server = client.server().unwrap();
    assert_eq!(server.capabilities.max_frame_bytes, MAX_FRAME_BYTES);
    assert!(server.capabilities.methods.iter().any(|method| method == "stop"));
    assert!(server.server.starts_with("dozed/"));
    let text = json!({"text": "ü\n😀".repeat(100_000)});
    assert_eq!(client.call("echo", text.clone(), soon()).unwrap(), text);
    assert_eq!(client.call("status", json!({}), soon()).unwrap()["client"], "toy/1");
    let error = daemon_error(client.call("fly", json!({}), soon()).unwrap_err());
    assert_eq!(error.kind, ErrorKind::UnknownMethod);
    assert!(running.end());
}

#[test]
fn bad_lines_are_answered_and_the_connection_lives_on() {
    let running = Running::start(Limits { frame_bytes: 1000, ..Limits::default() });
    let mut raw = running.raw();
    let deep = format!("{{\"id\":1,\"method\":\"echo\",\"params\":{{\"a\":{}", "[".repeat(900));
    let lines: [(&[u8], ErrorKind); 5] = [
        (b"not json", ErrorKind::Invalid),
        (b"\xff\xfe\xfd", ErrorKind::Invalid),
        (b"[1,2]", ErrorKind::Invalid),
        (deep.as_bytes(), ErrorKind::Invalid),
        (&[b'x'; 5000], ErrorKind::TooLarge),
    ];
    for (line, expected) in lines {
        raw.send(line);
        raw.send(b"\n");
        assert_eq!(kind(&raw.answer()), expected, "{}", String::from_utf8_lossy(line));
    }
    raw.send(b"\n \r\n{\"id\":7,\"method\":\"echo\",\"params\":{\"a\":1}}\r\n");
    assert_eq!(raw.answer(), Response::new(json!(7), Ok(json!({"a": 1}))));
}

#[test]
fn a_line_beyond_the_limit_is_told_before_it_ends_and_costs_no_memory() {
    let running = Running::start(Limits { frame_bytes: 1000, ..Limits::default() });
    let mut raw = running.raw();
    for _ in 0..100 {
        raw.send(&[b'x'; 10_000]);
    }
    let answer = raw.answer();
    assert_eq!(kind(&answer), ErrorKind::TooLarge);
    assert!(answer.outcome.unwrap_err().message.contains("1000"));
    raw.send(b"xx\n{\"id\":1,\"method\":\"echo\"}\n");
    assert_eq!(raw.answer().id, json!(1).into());
}

#[test]
fn requests_sent_ahead_are_answered_in_order_and_notifications_not_at_all() {
    let running = Running::start(Limits::default());
    let mut raw = running.raw();
    let mut all = Vec::new();
    for id in 0..500 {
        all.extend(format!("{{\"id\":{id},\"method\":\"echo\",\"params\":{{\"n\":{id}}}}}\n").bytes());
        all.extend(b"{\"method\":\"echo\",\"params\":{}}\n");
    }
    raw.send(&all);
    for id in 0..500 {
        assert_eq!(raw.answer(), Response::new(json!(id), Ok(json!({"n": id}))));
    }
}

#[test]
fn half_a_line_is_never_carried_out() {
    let running = Running::start(Limits::default());
    let mut raw = running.raw();
    // Complete JSON, but the newline that makes it a request is missing.
    raw.send(b"{\"id\":1,\"method\":\"stop\"}");
    raw.writer.shutdown(std::net::Shutdown::Write).unwrap();
    let answer = raw.answer();
    assert_eq!((answer.id.clone(), kind(&answer)), (Id::default(), ErrorKind::Invalid));
    assert!(raw.is_closed());
    assert!(!running.shutdown.has_begun());
}

#[test]
fn a_line_that_never_ends_is_given_up() {
    let running = Running::start(Limits { frame_time: Duration::from_millis(30), ..Limits::default() });
    let mut silent = running.raw();
    silent.greet();
    let mut slow = running.raw();
    slow.greet();
    slow.send(b"{\"id\":1,");
    assert_eq!(kind(&slow.answer()), ErrorKind::Invalid);
    assert!(slow.is_closed());
    silent.send(b"{\"id\":1,\"method\":\"echo\"}\n");
    assert_eq!(silent.answer().id, json!(1).into(), "a silent caller may stay as long as it likes");
}

#[test]
fn a_caller_that_does_not_read_is_let_go() {
    let limits = Limits { connections: 1, write_time: Duration::from_millis(30), ..Limits::default() };
    let running = Running::start(limits);
    let mut raw = running.raw();
    raw.send(b"{\"id\":1,\"method\":\"large\",\"params\":{\"size\":4000000}}\n");
    // It holds the only place, until the server has had enough.
    let deadline = soon();
    while Client::connect(&running.paths, "toy/1", soon()).is_err() {
        assert!(Instant::now() < deadline);
    }
    let mut line = Vec::new();
    let _ = raw.reader.read_until(b'\n', &mut line);
    assert!(line.len() < 4_000_000, "only what fits into the socket's buffers was sent");
}

#[test]
fn an_answer_beyond_the_limit_is_an_error_and_not_a_broken_line() {
    let running = Running::start(Limits { frame_bytes: 1000, ..Limits::default() });
    let mut client = running.client();
    let error = daemon_error(client.call("large", json!({"size": 2000}), soon()).unwrap_err());
    assert_eq!(error.kind, ErrorKind::TooLarge);
    assert!(client.call("large", json!({"size": 900}), soon()).is_ok());
}

#[test]
fn a_panic_costs_one_call() {
    let running = Running::start(Limits::default());
    let mut client = running.client();
    let error = daemon_error(client.call("panic", json!({}), soon()).unwrap_err());
    assert_eq!(error.kind, ErrorKind::Internal);
    assert_eq!(client.call("echo", json!({"a": 1}), soon()).unwrap(), json!({"a": 1}));
}

#[test]
fn more_calls_than_there_is_room_for_are_told_busy_but_status_answers() {
    let limits = Limits { calls: 1, call_wait: Duration::from_millis(20), ..Limits::default() };
    let running = Running::start(limits);
    let mut waiting = running.client();
    let waiter = std::thread::spawn(move || waiting.call("wait", json!({}), soon()).unwrap());
    running.begun.recv_timeout(GENEROUS).unwrap();
    let mut client = running.client();
    let error = daemon_error(client.call("echo", json!({}), soon()).unwrap_err());
    assert_eq!(error.kind, ErrorKind::Busy);
    assert_eq!(client.call("status", json!({}), soon()).unwrap()["ready"], true);
    running.toy.gate.wait();
    assert_eq!(waiter.join().unwrap(), json!("waited"));
    assert!(client.call("echo", json!({}), soon()).is_ok());
}

#[test]
fn a_caller_that_does_not_greet_is_let_go() {
    let running = Running::start(Limits { first_time: Duration::from_millis(30), ..Limits::default() });
    let mut silent = running.raw();
    assert_eq!(kind(&silent.answer()), ErrorKind::Invalid);
    assert!(silent.is_closed());
    // A byte now and then does not help.
    let mut drip = running.raw();
    drip.writer.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    let (mut told, deadline) = (Vec::new(), soon());
    // The answer may come in parts; once it is sent nothing is taken any more.
    while !told.ends_with(b"\n") {
        assert!(Instant::now() < deadline);
        let _ = drip.writer.write_all(b"{");
        let _ = drip.reader.read_until(b'\n', &mut told);
    }
    assert!(Response::parse(&told).is_some_and(|answer| kind(&answer) == ErrorKind::Invalid));
}

#[test]
fn silent_callers_make_room_for_new_ones() {
    let running = Running::start(Limits { connections: 4, ..Limits::default() });
    let mut waiting = running.client();
    let waiter = std::thread::spawn(move || waiting.call("wait", json!({}), soon()).unwrap());
    running.begun.recv_timeout(GENEROUS).unwrap();
    let mut half_open: Vec<Raw> = (0..20).map(|_| running.raw()).collect();
    for raw in &mut half_open {
        // Those that were sent away already do not take it.
        let _ = raw.writer.write_all(b"{\"id\":1,");
    }
    for n in 0..10 {
        let mut client = running.client();
        assert_eq!(client.call("echo", json!({"n": n}), soon()).unwrap(), json!({"n": n}));
    }
    assert!(half_open.first_mut().unwrap().is_closed());
    running.toy.gate.wait();
    assert_eq!(waiter.join().unwrap(), json!("waited"), "who has a request under way is not disturbed");
}

#[test]
fn a_caller_is_told_busy_when_all_others_are_at_work() {
    let running = Running::start(Limits { connections: 1, ..Limits::default() });
    let mut first = running.client();
    std::thread::scope(|scope| {
        scope.spawn(|| first.call("wait", json!({}), soon()).unwrap());
        running.begun.recv_timeout(GENEROUS).unwrap();
        let mut second = running.raw();
        assert_eq!(kind(&second.answer()), ErrorKind::Busy);
        assert!(second.is_closed());
        running.toy.gate.wait();
    });
    // The place is free again as soon as the server has seen that the answer is out.
    let deadline = soon();
    while Client::connect(&running.paths, "toy/1", soon()).is_err() {
        assert!(Instant::now() < deadline);
    }
    assert!(matches!(first.call("echo", json!({}), soon()), Err(CallError::Lost { .. })));
}

#[test]
fn an_old_client_gets_status_and_stop_and_nothing_else() {
    let running = Running::start(Limits::default());
    let mut raw = running.raw();
    let mut ask = |method: &str, params: Value| {
        raw.send(&doze_protocol::Request::new(1, method, params).to_line());
        raw.answer().outcome
    };
    let mismatch = ask("hello", json!({"protocol": 0, "client": "old"})).unwrap_err();
    assert_eq!((mismatch.code, mismatch.protocol), (doze_protocol::code::PROTOCOL, Some([1, 1])));
    assert_eq!(ask("echo", json!({})).unwrap_err(), mismatch);
    assert_eq!(ask("status", json!({})).unwrap()["client"], "old");
    assert_eq!(ask("hello", json!({"protocol": 99, "client": "new"})).unwrap()["protocol"], 1);
    assert!(ask("echo", json!({})).is_ok());
    assert!(ask("hello", json!({})).unwrap_err().message.contains("protocol"));
    assert_eq!(ask("stop", json!({})).unwrap(), json!({"stopping": true, "pid": std::process::id()}));
    assert!(raw.is_closed());
    assert!(running.end());
}

#[test]
fn at_the_end_running_calls_are_finished_and_silent_callers_sent_away() {
    let running = Running::start(Limits::default());
    let mut silent = running.raw();
    let mut waiting = running.client();
    let waiter = std::thread::spawn(move || waiting.call("wait", json!({}), soon()).unwrap());
    running.begun.recv_timeout(GENEROUS).unwrap();
    running.shutdown.begin();
    assert!(silent.is_closed());
    running.toy.gate.wait();
    assert_eq!(waiter.join().unwrap(), json!("waited"));
    let socket = running.socket();
    assert!(running.end());
    assert!(!socket.exists());
}

#[test]
fn a_call_that_does_not_end_does_not_hold_up_the_end() {
    let running = Running::start(Limits { drain_time: Duration::from_millis(20), ..Limits::default() });
    let mut raw = running.raw();
    raw.send(b"{\"id\":1,\"method\":\"wait\"}\n");
    running.begun.recv_timeout(GENEROUS).unwrap();
    let toy = Arc::clone(&running.toy);
    let mut running = running;
    running.shutdown.begin();
    // The runtime waits for its blocking threads when it is dropped: let the call go once the server has given up.
    assert!(raw.is_closed());
    toy.gate.wait();
    assert!(!running.thread.take().unwrap().join().unwrap());
}

#[test]
fn hundred_callers_at_once_are_all_answered() {
    let running = Running::start(Limits::default());
    let paths = &running.paths;
    std::thread::scope(|scope| {
        for caller in 0..100 {
            scope.spawn(move || {
                let mut client = Client::connect(paths, "toy/1", soon()).unwrap();
                for n in 0..20 {
                    let params = json!({"caller": caller, "n": n});
                    assert_eq!(client.call("echo", params.clone(), soon()).unwrap(), params);
                }
            });
        }
    });
}
