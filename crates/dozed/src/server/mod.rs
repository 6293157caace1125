//! Accepting connections, answering them, and ending in order.

mod call;
mod connection;
mod frames;
mod seats;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use doze_protocol::{Capabilities, MAX_FRAME_BYTES, Params, Response, WireError};
use interprocess::local_socket::tokio::prelude::*;
use interprocess::local_socket::tokio::{Listener, Stream};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tracing::{debug, info, warn};

use crate::config::Settings;
use seats::Seats;

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The user; always the daemon's own over the socket.
    pub uid: u32,
    /// The process, for the log only.
    pub pid: Option<i32>,
    /// What it calls itself in `hello`; empty before that.
    pub client: String,
}

/// What the process calls for everything but `hello` and `stop`. Called from threads that may block, several at once.
pub trait Handler: Send + Sync + 'static {
    /// The methods it answers, for `capabilities`; the server's own are added to them.
    fn methods(&self) -> Vec<String>;

    /// Answers a call. A panic is contained and answered as `internal`.
    fn call(&self, method: &str, params: Params, peer: &Peer) -> Result<Value, WireError>;

    /// Opens a face that speaks MCP over the rest of a connection.
    fn open_mcp(&self, params: Params) -> Result<doze_mcp::Project, WireError>;

    /// Tells those faces when memory is switched on or off.
    fn memory_switch(&self) -> doze_mcp::MemorySwitch;

    /// The configuration was read again.
    fn reload(&self, settings: &Settings);

    /// The end was asked for, and running calls are finished: what may be cut short is.
    fn drain(&self);

    /// All calls have ended; nothing will be called after this.
    fn close(&self);
}

/// What the server allows.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at once. One more takes the place of the one that has been silent longest; when all have a request
    /// under way it is told `busy` and closed.
    pub connections: usize,
    /// Connections of these that speak MCP. They stay open as long as an agent runs, and must not take every place.
    pub faces: usize,
    /// Calls at once; more wait.
    pub calls: usize,
    /// Calls of tools over MCP at once, beside those; more wait.
    pub tools: usize,
    /// How long a call waits for its turn before it is told `busy`.
    pub call_wait: Duration,
    /// Bytes of a line.
    pub frame_bytes: usize,
    /// How long a new connection may take until its first line, `hello`, is complete.
    pub first_time: Duration,
    /// How long a line may take from its first byte to its last. A connection without a line in the making may stay.
    pub frame_time: Duration,
    /// How long a caller may take to read its answer.
    pub write_time: Duration,
    /// How long calls may go on after the end was asked for.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            faces: 128,
            calls: 64,
            tools: 16,
            call_wait: Duration::from_secs(10),
            frame_bytes: MAX_FRAME_BYTES,
            first_time: Duration::from_secs(5),
            frame_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(10),
        }
    }
}

/// Asks the server to end: no new connections, no new calls, running ones are finished. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shutdown {
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { sender: Arc::new(watch::Sender::new(false)) }
    }
}

impl Shutdown {
    /// Asks for the end.
    pub fn begin(&self) {
        self.sender.send_replace(true);
    }

    /// Whether the end was asked for.
    pub fn has_begun(&self) -> bool {
        *self.sender.borrow()
    }

    /// Waits until the end is asked for.
    pub(crate) async fn begun(&self) {
        // Cannot fail: this value holds the sender.
        let _ = self.sender.subscribe().wait_for(|begun| *begun).await;
    }
}

/// What all connections share.
struct Shared {
    handler: Arc<dyn Handler>,
    limits: Limits,
    shutdown: Shutdown,
    calls: Arc<Semaphore>,
    faces: Arc<Semaphore>,
    mcp: doze_mcp::Common,
    capabilities: Capabilities,
}

/// The server: answers connections of one listener until its end is asked for.
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// A server that calls `handler`.
    pub fn new(handler: Arc<dyn Handler>, limits: Limits, shutdown: Shutdown) -> Self {
        let mut methods = handler.methods();
        for own in
            [doze_protocol::method::HELLO, doze_protocol::method::STOP, doze_protocol::method::MCP_OPEN]
        {
            if !methods.iter().any(|method| method == own) {
                methods.push(own.to_owned());
            }
        }
        let capabilities = Capabilities { max_frame_bytes: limits.frame_bytes, methods };
        let calls = Arc::new(Semaphore::new(limits.calls));
        let faces = Arc::new(Semaphore::new(limits.faces));
        let mcp =
            doze_mcp::Common { turns: doze_mcp::Turns::new(limits.tools), memory: handler.memory_switch() };
        Self { shared: Arc::new(Shared { handler, limits, shutdown, calls, faces, mcp, capabilities }) }
    }

    /// Serves until the end is asked for and all calls have ended. Answers whether they ended in time.
    pub async fn serve(self, listener: Listener) -> bool {
        let mut connections = JoinSet::new();
        let mut seats = Seats::new(self.shared.limits.connections);
        let uid = rustix::process::geteuid().as_raw();
        loop {
            tokio::select! {
                biased;
                () = self.shared.shutdown.begun() => break,
                Some(_) = connections.join_next() => {}
                accepted = listener.accept() => match accepted {
                    Ok(stream) => self.admit(stream, uid, &mut seats, &mut connections),
                    Err(error) => {
                        warn!(error = %error, "A connection could not be accepted");
                        // Out of descriptors most likely: the next attempt fails as well unless somebody leaves.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        // Nobody connects to a server that ends; whoever comes now finds nobody and can start the next one.
        drop(listener);
        info!(connections = connections.len(), "Draining");
        self.shared.handler.drain();
        let drained = async { while connections.join_next().await.is_some() {} };
        tokio::time::timeout(self.shared.limits.drain_time, drained).await.is_ok()
    }

    fn admit(&self, stream: Stream, uid: u32, seats: &mut Seats, connections: &mut JoinSet<()>) {
        let peer = match peer_of(&stream) {
            Ok(peer) => peer,
            Err(error) => {
                debug!(error = %error, "A caller was gone before it could be looked at");
                return;
            }
        };
        let shared = Arc::clone(&self.shared);
        let seat = if peer.uid == uid {
            let refusal =
                || WireError::busy(format!("{} connections are at work", shared.limits.connections));
            seats.take().ok_or_else(refusal)
        } else {
            warn!(uid = peer.uid, pid = peer.pid, "Refused a caller of another user");
            Err(WireError::refused("only the daemon's own user may call"))
        };
        match seat {
            Ok(seat) => {
                connections.spawn(connection::serve(shared, stream, peer, seat));
            }
            Err(error) => {
                connections.spawn(refuse(stream, error));
            }
        }
    }
}

/// Tells why and closes. The line is small enough for any socket's buffer, so this takes no time.
async fn refuse(mut stream: Stream, error: WireError) {
    let line = Response::new(Value::Null, Err(error)).to_line();
    let _ = tokio::time::timeout(Duration::from_secs(1), stream.write_all(&line)).await;
}

fn peer_of(stream: &Stream) -> io::Result<Peer> {
    let credentials = stream.peer_creds()?;
    let uid = credentials.euid().ok_or(io::ErrorKind::Unsupported)?;
    Ok(Peer { uid, pid: credentials.pid(), client: String::new() })
}

#[cfg(test)]
mod tests;
