//! One call: the version rule, the caller's turn, and the handler on a thread that may block.

use std::sync::Arc;

use doze_protocol::{
    ErrorKind, Hello, HelloAnswer, Id, Incoming, Negotiation, Params, Response, WireError, mcp::OpenAnswer,
    method, negotiate, parse_params, parse_request, system::StopAnswer,
};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;
use tracing::{debug, error};

use super::{Peer, Shared};

/// The name in the answer to `hello`.
const SERVER: &str = concat!("dozed/", env!("CARGO_PKG_VERSION"));

/// A line longer than this is read on a thread that may block: it takes milliseconds.
const LONG_LINE: usize = 64 * 1024;

/// What is known of the caller of a connection.
pub(super) struct Caller {
    shared: Arc<Shared>,
    peer: Peer,
    /// The version it asked for, when there is none in common.
    mismatch: Option<u32>,
    stop: bool,
    face: Option<OpenFace>,
}

/// A face that was opened, with its place among those that may be open at once.
pub(super) struct OpenFace {
    pub(super) face: doze_mcp::Project,
    pub(super) place: OwnedSemaphorePermit,
}

impl Caller {
    pub(super) fn new(shared: Arc<Shared>, peer: Peer) -> Self {
        Self { shared, peer, mismatch: None, stop: false, face: None }
    }

    /// What it calls itself.
    pub(super) fn name(&self) -> &str {
        &self.peer.client
    }

    /// Whether it called `stop`.
    pub(super) fn wants_stop(&self) -> bool {
        self.stop
    }

    /// The face that the rest of the connection speaks, once one was opened.
    pub(super) fn take_face(&mut self) -> Option<OpenFace> {
        self.face.take()
    }

    /// The line that answers `line`; `None` for a notification.
    pub(super) async fn answer(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        let parsed = if line.len() > LONG_LINE {
            match tokio::task::spawn_blocking(move || parse_request(&line)).await {
                Ok(parsed) => parsed,
                Err(_) => return Some(Response::new(Value::Null, Err(fault())).to_line()),
            }
        } else {
            parse_request(&line)
        };
        match parsed {
            Ok(Incoming { id, method, params }) => {
                let outcome = self.dispatch(&method, params).await;
                id.map(|id| self.bounded(id, outcome))
            }
            Err(bad) => Some(Response::new(bad.id, Err(bad.error)).to_line()),
        }
    }

    async fn dispatch(&mut self, method: &str, params: Params) -> Result<Value, WireError> {
        match method {
            method::HELLO => self.hello(params),
            method::STOP => {
                self.stop = true;
                to_value(&StopAnswer { stopping: true, pid: std::process::id() })
            }
            _ => {
                if let Some(theirs) = self.mismatch.filter(|_| !method::is_version_free(method)) {
                    return Err(WireError::protocol_mismatch(theirs));
                }
                match method {
                    method::MCP_OPEN => self.open_mcp(params).await,
                    _ => self.handle(method, params).await,
                }
            }
        }
    }

    async fn open_mcp(&mut self, params: Params) -> Result<Value, WireError> {
        let limit = self.shared.limits.faces;
        let place = Arc::clone(&self.shared.faces).try_acquire_owned().map_err(|_| {
            WireError::busy(format!("{limit} agents are connected already"))
                .with_hint("close an agent that is not needed, and call again")
        })?;
        let handler = Arc::clone(&self.shared.handler);
        let face = tokio::task::spawn_blocking(move || handler.open_mcp(params)).await;
        let face = face.map_err(|_| fault())??;
        self.face = Some(OpenFace { face, place });
        to_value(&OpenAnswer { face: "project".to_owned() })
    }

    fn hello(&mut self, params: Params) -> Result<Value, WireError> {
        let hello: Hello = parse_params(params)?;
        self.peer.client = hello.client_label();
        match negotiate(hello.protocol) {
            Negotiation::Speak(protocol) => {
                self.mismatch = None;
                let capabilities = self.shared.capabilities.clone();
                to_value(&HelloAnswer { protocol, server: SERVER.to_owned(), capabilities })
            }
            Negotiation::Mismatch => {
                self.mismatch = Some(hello.protocol);
                Err(WireError::protocol_mismatch(hello.protocol))
            }
        }
    }

    async fn handle(&self, method: &str, params: Params) -> Result<Value, WireError> {
        let _turn = match method {
            // How the daemon is can be asked even when it has its hands full; that is when people ask.
            method::STATUS => None,
            _ => Some(self.turn().await?),
        };
        let handler = Arc::clone(&self.shared.handler);
        let (name, peer) = (method.to_owned(), self.peer.clone());
        match tokio::task::spawn_blocking(move || handler.call(&name, params, &peer)).await {
            Ok(outcome) => outcome,
            Err(failed) => {
                error!(method, panicked = failed.is_panic(), "A call broke off");
                Err(fault())
            }
        }
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit, WireError> {
        let limits = &self.shared.limits;
        match tokio::time::timeout(limits.call_wait, Arc::clone(&self.shared.calls).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => {
                debug!(client = self.name(), "No turn for a call");
                Err(WireError::busy(format!("{} calls are running", limits.calls)))
            }
        }
    }

    /// Answers have the same bound as requests.
    fn bounded(&self, id: Id, outcome: Result<Value, WireError>) -> Vec<u8> {
        let limit = self.shared.limits.frame_bytes;
        let line = Response::new(id.clone(), outcome).to_line();
        if line.len() <= limit + 1 {
            return line;
        }
        let error = WireError::new(ErrorKind::TooLarge, format!("the answer is longer than {limit} bytes"))
            .with_hint("ask for less at a time with limit and cursor");
        Response::new(id, Err(error)).to_line()
    }
}

fn to_value(answer: &impl serde::Serialize) -> Result<Value, WireError> {
    serde_json::to_value(answer).map_err(|_| fault())
}

fn fault() -> WireError {
    WireError::internal("the call broke off; nothing of it can be relied on")
}
