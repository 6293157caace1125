//! The faces of doze over the Model Context Protocol, served inside the daemon: one connection, one project, for as long
//! as an agent runs.
//!
//! It may not print, reach beyond the project it was opened for, or speak for a person: what comes over it is an agent's
//! word. What to keep and what to find are the engine's business.

mod arguments;
mod project;
mod tools;

use std::future::Future;

use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};

pub use project::{Opening, Project};

/// Serves a face until its client leaves or `ended` says that the process does. `max_line` bounds a message, in bytes.
pub async fn serve<R, W>(face: Project, read: R, write: W, max_line: usize, ended: impl Future<Output = ()>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = AsyncRwTransport::<RoleServer, R, W>::new(read, write).with_max_line_length(max_line);
    let served = async {
        match face.serve(transport).await {
            Ok(running) => drop(running.waiting().await),
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => tracing::debug!(error = %error, "An MCP client did not begin"),
        }
    };
    tokio::select! {
        () = served => {}
        () = ended => {}
    }
}
