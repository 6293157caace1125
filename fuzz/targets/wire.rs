//! Any bytes on the socket are a request or an error that names what is wrong, in one line that reads back.
#![no_main]

use doze_protocol::{Incoming, Params, Response, WireError, method, parse_params, parse_request};
use doze_protocol::{memory, recall, session, work};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fuzz_target!(|line: &[u8]| {
    match parse_request(line) {
        Ok(request) => {
            reads_back(&request);
            parameters(request.method.as_str(), request.params);
        }
        Err(bad) => {
            well_formed(&bad.error);
            let answer = Response::new(bad.id, Err(bad.error));
            let line = answer.to_line();
            one_line(&line);
            assert_eq!(Response::parse(&line).as_ref(), Some(&answer));
        }
    }
    if let Some(answer) = Response::parse(line) {
        let line = answer.to_line();
        one_line(&line);
        assert!(Response::parse(&line).is_some());
    }
});

/// The id of a request comes back in its answer.
fn reads_back(request: &Incoming) {
    let Some(id) = request.id.clone() else { return };
    let answer = Response::new(id, Ok(Value::Null));
    let line = answer.to_line();
    one_line(&line);
    assert_eq!(Response::parse(&line).as_ref(), Some(&answer));
}

/// The methods with the richest parameters; unknown ones are tried as a commit, the richest of them.
fn parameters(name: &str, params: Params) {
    match name {
        method::MEMORY_ADD => check::<memory::AddParams>(params),
        method::MEMORY_EDIT => check::<memory::EditParams>(params),
        method::RECALL_SEARCH => check::<recall::SearchParams>(params),
        method::RECALL_RECOVER => check::<recall::RecoverParams>(params),
        method::SESSION_APPEND => check::<session::AppendParams>(params),
        method::WORK_SET => check::<work::SetParams>(params),
        _ => check::<session::CommitParams>(params),
    }
}

fn check<T: DeserializeOwned + Serialize>(params: Params) {
    match parse_params::<T>(params) {
        Ok(read) => {
            let written = serde_json::to_value(&read).expect("what was read can be written");
            assert!(parse_params::<T>(written.clone()).is_ok(), "does not read back: {written}");
        }
        Err(error) => well_formed(&error),
    }
}

/// An error is short, says something and has one line.
fn well_formed(error: &WireError) {
    assert!(!error.message.is_empty() && error.message.len() < 4096, "{}", error.message);
}

fn one_line(line: &[u8]) {
    assert!(line.iter().filter(|byte| **byte == b'\n').count() == 1 && line.ends_with(b"\n"));
}
