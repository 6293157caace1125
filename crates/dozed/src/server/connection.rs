//! One connection: lines in, answers out, in order.

use std::sync::Arc;

use doze_protocol::{Response, WireError, code};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tracing::debug;

use super::call::{Caller, OpenFace};
use super::frames::{Frame, Frames};
use super::seats::Seat;
use super::{Peer, Shared};

/// Bytes read at a time. What a caller sends ahead beyond this stays in the kernel until its turn comes.
const PIECE: usize = 16 * 1024;

/// What came next on a connection.
enum Input {
    Frame(Frame),
    /// The caller said no more; `true` when it broke off inside a line.
    End(bool),
    /// A line took too long.
    TimedOut,
}

/// Serves one caller until it leaves, misbehaves, or the server ends.
pub(super) async fn serve<S>(shared: Arc<Shared>, mut stream: S, peer: Peer, seat: Arc<Seat>)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut frames = Frames::new(shared.limits.frame_bytes);
    let mut caller = Caller::new(Arc::clone(&shared), peer);
    // A hook may hand over its line and leave: what was sent is carried out, only nobody is told.
    let mut is_gone = false;
    let mut greeting = Some(Instant::now() + shared.limits.first_time);
    loop {
        let input = tokio::select! {
            biased;
            () = shared.shutdown.begun() => break,
            input = read(&mut stream, &mut frames, &shared, greeting) => input,
            () = seat.is_needed() => {
                debug!(client = caller.name(), "A silent caller made room for another");
                break;
            }
        };
        if !seat.begin() {
            break;
        }
        greeting = None;
        let (answer, goes_on) = match input {
            Input::Frame(Frame::Line(line)) => (caller.answer(line).await, true),
            Input::Frame(Frame::TooLong) => {
                (Some(failure(WireError::frame_too_large(shared.limits.frame_bytes))), true)
            }
            Input::End(false) => break,
            Input::End(true) => (Some(failure(incomplete("the line has no end"))), false),
            Input::TimedOut => (Some(failure(incomplete("the line took too long"))), false),
        };
        if let Some(line) = answer.filter(|_| !is_gone) {
            match tokio::time::timeout(shared.limits.write_time, stream.write_all(&line)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    debug!(error = %error, "A caller left before its answer");
                    is_gone = true;
                }
                Err(_) => {
                    debug!(client = caller.name(), "A caller does not read its answers");
                    break;
                }
            }
        }
        if let Some(open) = caller.take_face().filter(|_| !is_gone) {
            // Its seat stays taken: an agent may think for an hour and then ask.
            speak_mcp(&shared, stream, frames.into_rest(), open).await;
            return;
        }
        seat.rest();
        if caller.wants_stop() {
            // Only now, so that the answer to `stop` is out.
            shared.shutdown.begin();
        }
        if !goes_on {
            break;
        }
    }
    let _ = stream.shutdown().await;
}

/// Speaks MCP over the rest of a connection, beginning with what was sent ahead.
async fn speak_mcp<S>(shared: &Arc<Shared>, stream: S, ahead: Vec<u8>, open: OpenFace)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (read, write) = tokio::io::split(stream);
    let read = std::io::Cursor::new(ahead).chain(read);
    let (common, longest) = (&shared.mcp, shared.limits.frame_bytes);
    doze_mcp::serve(open.face, common, read, write, longest, shared.shutdown.begun()).await;
    drop(open.place);
}

/// The next frame; `first` is when the first one has to be there. May be dropped at any point without losing bytes.
async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    frames: &mut Frames,
    shared: &Shared,
    first: Option<Instant>,
) -> Input {
    let mut piece = vec![0; PIECE];
    let deadline = first.unwrap_or_else(|| Instant::now() + shared.limits.frame_time);
    loop {
        if let Some(frame) = frames.next() {
            return Input::Frame(frame);
        }
        // A timer runs only for the first line and while one is in the making: silent callers cost no wake-ups.
        let read = if first.is_some() || frames.is_open() {
            match tokio::time::timeout_at(deadline, stream.read(&mut piece)).await {
                Ok(read) => read,
                Err(_) => return Input::TimedOut,
            }
        } else {
            stream.read(&mut piece).await
        };
        match read {
            Ok(0) => return Input::End(frames.is_open()),
            Ok(size) => frames.push(&piece[..size]),
            Err(error) => {
                debug!(error = %error, "A connection broke");
                return Input::End(false);
            }
        }
    }
}

fn incomplete(message: &str) -> WireError {
    WireError::bad_request(code::PARSE, message)
}

fn failure(error: WireError) -> Vec<u8> {
    Response::new(Value::Null, Err(error)).to_line()
}
