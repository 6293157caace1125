//! The client against daemons that behave well, badly, or not at all.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use doze_client::{CallError, Client, Paths, create_private_dir};
use doze_protocol::{Exit, Id, Response, WireError, parse_params, parse_request};
use serde_json::{Value, json};

const GENEROUS: Duration = Duration::from_secs(20);

fn soon() -> Instant {
    Instant::now() + GENEROUS
}

fn home(dir: &Path) -> Paths {
    let paths = Paths::in_home(dir, rustix::process::geteuid().as_raw());
    create_private_dir(paths.sockets[0].parent().unwrap()).unwrap();
    paths
}

/// Answers one connection with what `answer` makes of each method; `None` closes it.
fn daemon(paths: &Paths, answer: impl Fn(&str, Id) -> Option<Vec<u8>> + Send + 'static) -> JoinHandle<()> {
    let listener = UnixListener::bind(&paths.sockets[0]).unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut writer = stream.try_clone().unwrap();
        for line in BufReader::new(stream).split(b'\n') {
            let Ok(line) = line else { return };
            let request = parse_request(&line).unwrap();
            match answer(&request.method, request.id.unwrap_or_default()) {
                Some(bytes) => {
                    if writer.write_all(&bytes).is_err() {
                        return;
                    }
                }
                None => return,
            }
        }
    })
}

fn hello(id: Id, protocol: u32) -> Vec<u8> {
    Response::new(id, Ok(json!({"protocol": protocol, "server": "dozed/0.1.0", "capabilities": {}})))
        .to_line()
}

#[test]
fn a_call_is_answered_also_in_pieces_and_by_several_calls() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let handle = daemon(&paths, |method, id| {
        Some(match method {
            "hello" => hello(id, 1),
            "fail" => Response::new(id, Err(WireError::not_found("no such thing"))).to_line(),
            _ => Response::new(id, Ok(json!({"text": "ü".repeat(100_000)}))).to_line(),
        })
    });
    let mut client = Client::connect(&paths, "test", soon()).unwrap();
    assert_eq!(client.server().unwrap().server, "dozed/0.1.0");
    let answer = client.call("recall.brief", json!({}), soon()).unwrap();
    assert_eq!(answer["text"].as_str().unwrap().len(), 200_000);
    let error = client.call("fail", Value::Null, soon()).unwrap_err();
    assert!(matches!(&error, CallError::Daemon(e) if e.message == "no such thing"), "{error:?}");
    assert_eq!(client.call_as::<Value>("again", Value::Null, soon()).unwrap()["text"], answer["text"]);
    drop(client);
    handle.join().unwrap();
}

#[test]
fn nobody_there_is_told_with_the_place_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let error = Client::connect(&paths, "test", soon()).unwrap_err();
    assert!(matches!(error, CallError::Connect { .. }), "{error:?}");
    assert_eq!(error.exit(), Exit::Unreachable);
    assert!(error.hint().contains("doze up"));

    // A socket file without a process behind it.
    drop(UnixListener::bind(&paths.sockets[0]).unwrap());
    match Client::connect(&paths, "test", soon()).unwrap_err() {
        CallError::Connect { path, source } => {
            assert_eq!(path, paths.sockets[0]);
            assert_eq!(source.kind(), std::io::ErrorKind::ConnectionRefused);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stale_socket_in_the_first_place_does_not_hide_the_daemon_in_the_second() {
    let dir = tempfile::tempdir().unwrap();
    let mut paths = home(dir.path());
    let second = dir.path().join("run/second.sock");
    drop(UnixListener::bind(&paths.sockets[0]).unwrap());
    let mut reachable = paths.clone();
    reachable.sockets = vec![second.clone()];
    let handle = daemon(&reachable, |_, id| Some(hello(id, 1)));
    paths.sockets = vec![paths.sockets[0].clone(), second];
    drop(Client::connect(&paths, "test", soon()).unwrap());
    handle.join().unwrap();
}

#[test]
fn a_frozen_daemon_costs_no_more_than_the_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let budget = Duration::from_millis(60);

    // It listens, accepts into its queue, and never answers.
    let listener = UnixListener::bind(&paths.sockets[0]).unwrap();
    let started = Instant::now();
    let error = Client::connect(&paths, "test", started + budget).unwrap_err();
    assert!(matches!(error, CallError::Timeout { doing: "waiting for the answer", .. }), "{error:?}");
    assert!(started.elapsed() >= budget && started.elapsed() < GENEROUS);

    // Its queue is full: connect itself would wait for ever.
    rustix::net::listen(&listener, 0).unwrap();
    let mut attempts = 0;
    let error = loop {
        let started = Instant::now();
        let error = Client::connect(&paths, "test", started + budget).unwrap_err();
        assert!(started.elapsed() < GENEROUS);
        attempts += 1;
        if attempts == 8 || !matches!(error, CallError::Timeout { doing: "waiting for the answer", .. }) {
            break error;
        }
    };
    assert!(matches!(error, CallError::Timeout { doing: "connecting", .. }), "{error:?}");
}

#[test]
fn a_deadline_in_the_past_asks_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let _listener = UnixListener::bind(&paths.sockets[0]).unwrap();
    let error = Client::connect(&paths, "test", Instant::now()).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
}

#[test]
fn a_daemon_that_trickles_is_given_up_at_the_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let listener = UnixListener::bind(&paths.sockets[0]).unwrap();
    let handle = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // Each byte arrives in time, the line never does. The pause is the trickle itself: nothing waits for it.
        while stream.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let started = Instant::now();
    let error = Client::connect(&paths, "test", started + Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    assert!(started.elapsed() < GENEROUS);
    handle.join().unwrap();
}

#[test]
fn a_late_answer_is_not_taken_for_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let handle = daemon(&paths, |method, id| match method {
        "hello" => Some(hello(id, 1)),
        _ => Some(Vec::new()),
    });
    let mut client = Client::connect(&paths, "test", soon()).unwrap();
    let error = client.call("slow", json!({}), Instant::now() + Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }));
    let error = client.call("next", json!({}), soon()).unwrap_err();
    assert!(matches!(error, CallError::Lost { .. }), "{error:?}");
    drop(client);
    handle.join().unwrap();
}

#[test]
fn what_is_no_daemon_is_told_apart_from_one_that_went_away() {
    for (bytes, garbled) in [
        (Some(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), true),
        (Some(Response::new(json!(99), Ok(json!({}))).to_line()), true),
        (Some(Response::new(json!(0), Ok(json!("hi"))).to_line()), true),
        (None, false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let paths = home(dir.path());
        let handle = daemon(&paths, move |_, _| bytes.clone());
        let error = Client::connect(&paths, "test", soon()).unwrap_err();
        assert_eq!(matches!(error, CallError::Garbled), garbled, "{error:?}");
        assert_eq!(matches!(error, CallError::Lost { .. }), !garbled, "{error:?}");
        handle.join().unwrap();
    }
}

#[test]
fn another_version_is_refused_except_for_status_and_stop() {
    for newer in [true, false] {
        let answer = move |method: &str, id: Id| {
            Some(match (method, newer) {
                ("hello", true) => hello(id, 9),
                ("hello", false) => Response::new(id, Err(WireError::protocol_mismatch(1))).to_line(),
                _ => Response::new(id, Ok(json!({"version": "9.0.0"}))).to_line(),
            })
        };
        let dir = tempfile::tempdir().unwrap();
        let paths = home(dir.path());
        let handle = daemon(&paths, answer);
        let error = Client::connect(&paths, "test", soon()).unwrap_err();
        assert_eq!(error.exit(), Exit::Protocol, "{error:?}");
        handle.join().unwrap();

        std::fs::remove_file(&paths.sockets[0]).unwrap();
        let handle = daemon(&paths, answer);
        let mut client = Client::connect_any_version(&paths, "test", soon()).unwrap();
        assert_eq!(client.call("status", Value::Null, soon()).unwrap()["version"], "9.0.0");
        drop(client);
        handle.join().unwrap();
    }
}

#[test]
fn a_commit_has_the_same_id_on_the_wire_and_in_the_spool() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let listener = UnixListener::bind(&paths.sockets[0]).unwrap();
    let handle = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        let mut writer = stream.try_clone().unwrap();
        let mut lines = BufReader::new(stream).split(b'\n');
        let greeting = parse_request(&lines.next().unwrap().unwrap()).unwrap();
        writer.write_all(&hello(greeting.id.unwrap(), 1)).unwrap();
        // Taken in, but the answer never comes.
        let params = parse_request(&lines.next().unwrap().unwrap()).unwrap().params;
        parse_params::<Value>(params).unwrap()["commit_id"].clone()
    });
    let params = json!({"session": "s", "agent": "a", "cwd": "/x", "summary": "did it"});
    let mut client = Client::connect(&paths, "test", soon()).unwrap();
    client.call("session.commit", params.clone(), soon()).unwrap_err();
    let sent = handle.join().unwrap();
    let spool = doze_client::Spool::new(&paths.spool);
    spool.put("session.commit", params).unwrap();
    let mut spooled = Value::Null;
    spool
        .drain(|request| {
            spooled = request.params["commit_id"].clone();
            doze_client::Verdict::Remove
        })
        .unwrap();
    assert!(sent.is_string());
    assert_eq!(spooled, sent);
}

#[test]
fn a_request_that_fits_no_line_is_not_sent() {
    let dir = tempfile::tempdir().unwrap();
    let paths = home(dir.path());
    let handle = daemon(&paths, |_, id| {
        let capabilities = json!({"max_frame_bytes": 1000});
        let answer = json!({"protocol": 1, "server": "dozed/0.1.0", "capabilities": capabilities});
        Some(Response::new(id, Ok(answer)).to_line())
    });
    let mut client = Client::connect(&paths, "test", soon()).unwrap();
    let error = client.call("session.commit", json!({"output": "x".repeat(1000)}), soon()).unwrap_err();
    assert!(matches!(error, CallError::TooLarge { limit: 1000, .. }), "{error:?}");
    assert!(client.call("status", Value::Null, soon()).is_ok(), "the connection is still good");
    drop(client);
    handle.join().unwrap();
}

#[test]
fn a_folder_in_tmp_that_is_not_ours_alone_is_not_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let mut paths = home(dir.path());
    paths.local = dir.path().join("tmp");
    std::fs::create_dir(&paths.local).unwrap();
    std::fs::set_permissions(&paths.local, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    paths.sockets = vec![paths.local.join("s")];
    let _listener = UnixListener::bind(&paths.sockets[0]).unwrap();
    match Client::connect(&paths, "test", soon()).unwrap_err() {
        CallError::Connect { source, .. } => assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied),
        other => panic!("{other:?}"),
    }
}
