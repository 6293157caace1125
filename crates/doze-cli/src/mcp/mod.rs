//! `doze mcp`: carries MCP messages between an agent's pipes and the daemon.
//!
//! The standard output holds messages and nothing else. An agent is never left without an answer: while the daemon is
//! away every request is answered with an error that says what to do, and when it is back the connection is made
//! again, with the client's own greeting.

mod pending;
mod refusal;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use doze_client::Client;
use doze_protocol::mcp::OpenParams;
use doze_protocol::{Exit, MAX_FRAME_BYTES, method};
use serde_json::{Value, json};

use crate::error::{CommandError, CommandResult};
use crate::{app, caller, daemon};
use pending::Pending;
use refusal::{Refusal, refusal};

/// Longest wait for the daemon when an agent starts or asks.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for answers that are still out when the agent has said its last.
const LAST_ANSWERS: Duration = Duration::from_secs(60);
/// The client's name in the daemon's log.
const NAME: &str = concat!("doze-mcp/", env!("CARGO_PKG_VERSION"));
/// The id of a greeting that is repeated for a new connection: no client's own.
const AGAIN: &str = "doze:again";
/// Codes of JSON-RPC: no JSON, and a server's own.
const NO_JSON: i64 = -32700;
const AWAY: i64 = -32001;

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// The tools to offer
    #[arg(long, default_value = "project", value_parser = ["project"])]
    face: String,
    /// What the agent may store: plan (nothing), review (you accept it first), accept or autonomous (at once). Without
    /// it what the agent's hooks tell, else review
    #[arg(long, value_parser = ["plan", "review", "accept", "autonomous"])]
    mode: Option<String>,
    /// The project, by a folder in it
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<std::path::PathBuf>,
    /// The agent's program
    #[arg(long)]
    harness: Option<String>,
}

/// What both directions share.
struct Bridge {
    open: OpenParams,
    pending: Mutex<Pending>,
    out: Mutex<io::Stdout>,
}

/// A connection to the daemon, with the thread that reads it.
struct Line {
    stream: UnixStream,
    reader: JoinHandle<()>,
}

/// `doze mcp`. Ends when the agent closes its end.
pub(crate) fn run(args: &Args) -> CommandResult {
    let open = OpenParams {
        face: args.face.clone(),
        cwd: app::folder(args.cwd.as_deref())?,
        harness: args.harness.clone().or(caller::agent().map(str::to_owned)).unwrap_or_default(),
        mode: args.mode.clone(),
    };
    let bridge = Arc::new(Bridge { open, pending: Mutex::default(), out: Mutex::new(io::stdout()) });
    carry(&bridge)
}

fn carry(bridge: &Arc<Bridge>) -> CommandResult {
    let mut input = BufReader::new(io::stdin().lock());
    let mut line: Option<Line> = None;
    while let Some(message) = next_message(&mut input)? {
        let Some(message) = message else {
            bridge.answer_error(&Value::Null, NO_JSON, "the message is longer than it may be");
            continue;
        };
        if message.trim_ascii().is_empty() {
            continue;
        }
        let Ok(read) = serde_json::from_slice::<Value>(&message) else {
            bridge.answer_error(&Value::Null, NO_JSON, "the message is no JSON");
            continue;
        };
        if let Some(Refusal { id, code, message }) = refusal(&read) {
            bridge.answer_error(&id, code, &message);
            continue;
        }
        lock(&bridge.pending).note(&read);
        if line.as_ref().is_some_and(|line| line.reader.is_finished()) {
            line = None;
        }
        if line.is_none() {
            match connect(bridge, &read) {
                Ok(made) => line = Some(made),
                Err(error) => {
                    bridge.give_up(&error.message, &error.hint);
                    continue;
                }
            }
        }
        if let Some(made) = &mut line
            && send(&mut made.stream, &message).is_err()
        {
            // Its reader tells everybody who waits.
            let _ = made.stream.shutdown(std::net::Shutdown::Both);
        }
    }
    // What is still out is waited for, then the connection ends.
    let until = Instant::now() + LAST_ANSWERS;
    if let Some(line) = line {
        while !lock(&bridge.pending).is_empty() && !line.reader.is_finished() && Instant::now() < until {
            thread::park_timeout(Duration::from_millis(20));
        }
        let _ = line.stream.shutdown(std::net::Shutdown::Both);
        let _ = line.reader.join();
    }
    Ok(Exit::Done)
}

/// The next line; `Some(None)` when it was too long and is passed over; `None` at the end.
fn next_message(input: &mut impl BufRead) -> Result<Option<Option<Vec<u8>>>, CommandError> {
    let mut message = Vec::new();
    let failed = |error: io::Error| CommandError::io("the standard input", &error);
    let limit = MAX_FRAME_BYTES as u64 + 1;
    let read = input.by_ref().take(limit).read_until(b'\n', &mut message).map_err(failed)?;
    if read == 0 {
        return Ok(None);
    }
    if message.last() == Some(&b'\n') || (read as u64) < limit {
        return Ok(Some(Some(message)));
    }
    // The rest of it is passed over piece by piece.
    loop {
        let piece = input.fill_buf().map_err(failed)?;
        let (used, is_end) = match piece.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        input.consume(used);
        if is_end {
            return Ok(Some(None));
        }
    }
}

/// Connects, opens the face, and greets again for a client that has greeted before.
fn connect(bridge: &Arc<Bridge>, next: &Value) -> Result<Line, CommandError> {
    let deadline = Instant::now() + PATIENCE;
    let mut client = Client::connect(&daemon::paths()?, NAME, deadline)?;
    let open = serde_json::to_value(&bridge.open).unwrap_or_default();
    client.call(method::MCP_OPEN, open, deadline)?;
    let lost = |error: io::Error| CommandError::io("the daemon", &error);
    let (mut stream, ahead) = client.into_stream().map_err(lost)?;
    let greeting = lock(&bridge.pending).greeting(next, AGAIN);
    for message in greeting {
        send(&mut stream, message.to_string().as_bytes()).map_err(lost)?;
    }
    let read = stream.try_clone().map_err(lost)?;
    let (bridge, asker) = (Arc::clone(bridge), thread::current());
    let reader = thread::spawn(move || {
        bridge.bring(io::Cursor::new(ahead).chain(read));
        bridge.give_up("dozed went away", "");
        asker.unpark();
    });
    Ok(Line { stream, reader })
}

fn send(stream: &mut UnixStream, message: &[u8]) -> io::Result<()> {
    stream.write_all(message)?;
    if message.last() != Some(&b'\n') {
        stream.write_all(b"\n")?;
    }
    Ok(())
}

impl Bridge {
    /// Brings what the daemon says to the agent, until it says no more.
    fn bring(&self, from: impl Read) {
        let mut from = BufReader::new(from);
        let mut message = Vec::new();
        loop {
            message.clear();
            match from.read_until(b'\n', &mut message) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if message.last() != Some(&b'\n') {
                return;
            }
            let id = serde_json::from_slice::<Value>(&message).ok().and_then(|read| read.get("id").cloned());
            if id.as_ref().and_then(Value::as_str) == Some(AGAIN) {
                continue;
            }
            // Written first: who sees that nothing is pending may end the process.
            self.write(&message);
            if let Some(id) = id {
                lock(&self.pending).done(&id);
            }
        }
    }

    /// Answers everything that is still out with an error. Without a hint it is the daemon that is missing.
    fn give_up(&self, reason: &str, hint: &str) {
        let waiting = lock(&self.pending).take();
        let hint = if hint.is_empty() { "run `doze up` and call again" } else { hint };
        for id in waiting {
            let told = format!("{reason}; {hint}");
            self.answer_error(&id, AWAY, &told);
        }
    }

    fn answer_error(&self, id: &Value, code: i64, message: &str) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        self.write(format!("{answer}\n").as_bytes());
    }

    fn write(&self, message: &[u8]) {
        let mut out = lock(&self.out);
        if out.write_all(message).and_then(|()| out.flush()).is_err() {
            // Nobody reads any more.
            std::process::exit(0);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
