//! The faces of doze over the Model Context Protocol, served inside the daemon: one connection, one project, for as long
//! as an agent runs.
//!
//! It may not print, reach beyond the project it was opened for, or speak for a person: what comes over it is an agent's
//! word. What to keep and what to find are the engine's business.

mod arguments;
mod face;
mod flow;
mod project;
mod switch;
mod tools;
mod turns;

use std::future::Future;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};

pub use project::{Opening, Project};
pub use switch::MemorySwitch;
pub use turns::Turns;

/// What all connections share.
#[derive(Debug, Clone)]
pub struct Common {
    /// The threads that their calls may take.
    pub turns: Turns,
    /// Tells them when memory goes on or off.
    pub memory: MemorySwitch,
}

/// Serves a project until its client leaves or `ended` says that the process does. `max_line` bounds a message, in bytes.
pub async fn serve<R, W>(
    project: Project,
    common: &Common,
    read: R,
    write: W,
    max_line: usize,
    ended: impl Future<Output = ()>,
) where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (read, write) = flow::bounded(read, write);
    let transport = AsyncRwTransport::<RoleServer, _, _>::new(read, write).with_max_line_length(max_line);
    let face = face::Face::new(project, turns::Line::new(common.turns.clone()));
    let memory = common.memory.watch();
    let served = async {
        match face.serve(transport).await {
            Ok(running) => {
                let client = running.peer().clone();
                tokio::select! {
                    _ = running.waiting() => {}
                    never = switch::tell(client, memory) => match never {},
                }
            }
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => tracing::debug!(error = %error, "An MCP client did not begin"),
        }
    };
    tokio::select! {
        () = served => {}
        () = ended => {}
    }
}
