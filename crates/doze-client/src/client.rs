//! One connection to the daemon.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use doze_protocol::{Hello, HelloAnswer, MAX_FRAME_BYTES, Request, Response, WireError, method};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connect::{connect_any, remaining};
use crate::{CallError, Paths, ensure_commit_id};

/// One connection to the daemon: blocking, one call at a time, never longer than the deadline.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    /// Bytes read beyond the last answer.
    rest: Vec<u8>,
    next_id: u64,
    server: Option<HelloAnswer>,
    limit: usize,
    /// A call was given up: its answer may still come, so nothing else can be asked here.
    broken: bool,
}

impl Client {
    /// Connects to the first place at which a daemon answers and agrees on a version. `name` is for the daemon's log,
    /// as `doze/0.1.0`.
    pub fn connect(paths: &Paths, name: &str, deadline: Instant) -> Result<Self, CallError> {
        let mut client = Self::connect_any_version(paths, name, deadline)?;
        if let Some(mismatch) = client.mismatch() {
            client.broken = true;
            return Err(CallError::Daemon(mismatch));
        }
        Ok(client)
    }

    /// As [`Client::connect`], but a daemon of another version will do. Only `status` and `stop` may be called then.
    pub fn connect_any_version(paths: &Paths, name: &str, deadline: Instant) -> Result<Self, CallError> {
        let stream = connect_any(paths, deadline)?;
        let mut client = Self {
            stream,
            rest: Vec::new(),
            next_id: 0,
            server: None,
            limit: MAX_FRAME_BYTES,
            broken: false,
        };
        let hello = serde_json::to_value(Hello::new(name)).unwrap_or_default();
        match client.call(method::HELLO, hello, deadline) {
            Ok(answer) => {
                let answer: HelloAnswer = serde_json::from_value(answer).map_err(|_| CallError::Garbled)?;
                client.limit = answer.capabilities.max_frame_bytes;
                client.server = Some(answer);
            }
            Err(CallError::Daemon(error)) if error.code == doze_protocol::code::PROTOCOL => {}
            Err(error) => return Err(error),
        }
        Ok(client)
    }

    /// What the daemon said of itself; `None` when it speaks no version of ours.
    pub fn server(&self) -> Option<&HelloAnswer> {
        self.server.as_ref()
    }

    /// The connection itself, without time limits, and what was read of it beyond the last answer: for a caller that goes
    /// on in another language.
    pub fn into_stream(self) -> io::Result<(UnixStream, Vec<u8>)> {
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)?;
        Ok((self.stream, self.rest))
    }

    fn mismatch(&self) -> Option<WireError> {
        match &self.server {
            Some(server) => server.check().err(),
            None => Some(WireError::protocol_mismatch(doze_protocol::PROTOCOL)),
        }
    }

    /// Calls a method and waits for its answer until `deadline`. A commit without a `commit_id` is given one: the same
    /// that [`crate::Spool::put`] gives it, so that one whose acknowledgement was late is not taken in twice.
    pub fn call(&mut self, method: &str, mut params: Value, deadline: Instant) -> Result<Value, CallError> {
        if self.broken {
            return Err(CallError::Lost { source: io::ErrorKind::NotConnected.into() });
        }
        if method == method::SESSION_COMMIT {
            ensure_commit_id(&mut params);
        }
        let id = self.next_id;
        self.next_id += 1;
        let line = Request::new(id, method, params).to_line();
        if line.len() > self.limit + 1 {
            return Err(CallError::TooLarge { bytes: line.len() - 1, limit: self.limit });
        }
        let started = Instant::now();
        self.broken = true;
        let failed = |doing| {
            move |source: io::Error| match source.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    CallError::Timeout { doing, after: started.elapsed() }
                }
                _ => CallError::Lost { source },
            }
        };
        self.send(&line, deadline).map_err(failed("sending"))?;
        let answer = self.receive(deadline).map_err(failed("waiting for the answer"))?;
        let answer = Response::parse(&answer).ok_or(CallError::Garbled)?;
        // A null id answers a line that could not be read as a request at all.
        if answer.id != id.into() && !answer.id.is_null() {
            return Err(CallError::Garbled);
        }
        self.broken = false;
        answer.outcome.map_err(CallError::Daemon)
    }

    /// As [`Client::call`], with the answer read into its type.
    pub fn call_as<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
        deadline: Instant,
    ) -> Result<T, CallError> {
        let answer = self.call(method, params, deadline)?;
        serde_json::from_value(answer).map_err(|_| CallError::Garbled)
    }

    fn send(&mut self, mut line: &[u8], deadline: Instant) -> io::Result<()> {
        while !line.is_empty() {
            self.stream.set_write_timeout(Some(remaining(deadline)?))?;
            match self.stream.write(line) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(sent) => line = &line[sent..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next line, without its newline.
    fn receive(&mut self, deadline: Instant) -> io::Result<Vec<u8>> {
        let mut searched = 0;
        let mut chunk = [0; 16 * 1024];
        loop {
            if let Some(end) = self.rest[searched..].iter().position(|byte| *byte == b'\n') {
                let tail = self.rest.split_off(searched + end + 1);
                let mut line = std::mem::replace(&mut self.rest, tail);
                line.pop();
                return Ok(line);
            }
            searched = self.rest.len();
            if searched > self.limit.max(MAX_FRAME_BYTES) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the answer is longer than a line may be",
                ));
            }
            self.stream.set_read_timeout(Some(remaining(deadline)?))?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.rest.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
