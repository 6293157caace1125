//! A client that knows nothing but the wire: one JSON object a line.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use crate::PATIENCE;

/// An error as the daemon answered it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `error.code`
    pub code: i64,
    /// `error.data.kind`
    pub kind: String,
    /// `error.message`
    pub message: String,
    /// `error.data.hint`
    pub hint: String,
}

/// One connection to the daemon.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    last_id: u64,
}

impl Client {
    /// Connects without a word. The error is the operating system's.
    pub fn connect(socket: &Path) -> std::io::Result<Self> {
        let writer = UnixStream::connect(socket)?;
        writer.set_read_timeout(Some(PATIENCE))?;
        writer.set_write_timeout(Some(PATIENCE))?;
        let reader = BufReader::new(writer.try_clone()?);
        Ok(Self { reader, writer, last_id: 0 })
    }

    /// Connects and says hello; `None` while nobody answers there.
    pub fn greet(socket: &Path) -> Option<Self> {
        let mut client = Self::connect(socket).ok()?;
        client.try_call("hello", &hello()).ok()?.ok()?;
        Some(client)
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.write_all(bytes)
    }

    /// Tells the daemon that no more bytes will come.
    pub fn finish_sending(&self) {
        // A daemon that has closed the connection already knows.
        let _ = self.writer.shutdown(std::net::Shutdown::Write);
    }

    /// The next line as JSON; `None` when the daemon closed the connection.
    ///
    /// Panics when nothing comes for [`PATIENCE`] or when the line is not JSON.
    pub fn read(&mut self) -> Option<Value> {
        match self.try_read() {
            Ok(answer) => answer,
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => None,
            Err(e) => panic!("no answer from the daemon: {e}"),
        }
    }

    fn try_read(&mut self) -> std::io::Result<Option<Value>> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Ok(None);
        }
        Ok(Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line}"))))
    }

    /// Calls a method. The outer error means that the connection ended before the answer came.
    pub fn try_call(&mut self, method: &str, params: &Value) -> std::io::Result<Result<Value, Failure>> {
        self.last_id += 1;
        let id = self.last_id;
        let mut line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        line.push('\n');
        self.send(line.as_bytes())?;
        let Some(mut answer) = self.try_read()? else {
            return Err(ErrorKind::UnexpectedEof.into());
        };
        assert_eq!(answer["id"], id, "the answer to {method} carries another id: {answer}");
        Ok(match answer.get("error") {
            Some(error) => Err(failure(error)),
            None => Ok(answer["result"].take()),
        })
    }

    /// Calls a method and takes its answer or its error.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, Failure> {
        match self.try_call(method, &params) {
            Ok(outcome) => outcome,
            Err(e) => panic!("{method}: the connection failed: {e}"),
        }
    }

    /// Calls a method that has to work.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        match self.ask(method, params) {
            Ok(result) => result,
            Err(failure) => panic!("{method} failed: {failure:?}"),
        }
    }

    /// Calls a method that has to fail.
    #[track_caller]
    pub fn fail(&mut self, method: &str, params: Value) -> Failure {
        match self.ask(method, params) {
            Err(failure) => failure,
            Ok(result) => panic!("{method} should have failed, but answered {result}"),
        }
    }
}

fn hello() -> Value {
    json!({"protocol": 1, "client": "doze-tests"})
}

/// Reads an error, which has to be complete.
fn failure(error: &Value) -> Failure {
    let text = |value: &Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => panic!("an error lacks message, data.kind or data.hint: {error}"),
    };
    Failure {
        code: error["code"].as_i64().unwrap_or_else(|| panic!("an error lacks its code: {error}")),
        kind: text(&error["data"]["kind"]),
        message: text(&error["message"]),
        hint: text(&error["data"]["hint"]),
    }
}
