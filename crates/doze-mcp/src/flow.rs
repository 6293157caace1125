//! A client that sends and does not read: its answers would pile up in memory. While an answer cannot be written, no
//! more than a little is read of what the client says next.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that are read while an answer waits to be written: some hundreds of calls.
const AHEAD: usize = 32 * 1024;

/// The two halves of a connection, which know of each other.
pub(crate) fn bounded<R, W>(read: R, write: W) -> (Reader<R>, Writer<W>) {
    let flow = Arc::new(Flow::default());
    (Reader { inner: read, flow: Arc::clone(&flow) }, Writer { inner: write, flow })
}

#[derive(Debug, Default)]
struct Flow(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// An answer waits to be written.
    is_stuck: bool,
    /// Bytes read since.
    ahead: usize,
    /// Who waits to read on.
    reader: Option<Waker>,
}

impl Flow {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the client says.
#[derive(Debug)]
pub(crate) struct Reader<R> {
    inner: R,
    flow: Arc<Flow>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Reader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.flow.state();
        if state.is_stuck && state.ahead >= AHEAD {
            state.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        let mut state = self.flow.state();
        if state.is_stuck {
            state.ahead += buffer.filled().len() - before;
        }
        read
    }
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Writer<W> {
    inner: W,
    flow: Arc<Flow>,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Writer<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        let mut state = self.flow.state();
        match &written {
            Poll::Pending => state.is_stuck = true,
            Poll::Ready(_) => {
                (state.is_stuck, state.ahead) = (false, 0);
                if let Some(reader) = state.reader.take() {
                    reader.wake();
                }
            }
        }
        drop(state);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Reads until nothing more comes, and answers how much came.
    fn read_all(reader: &mut Reader<&[u8]>, context: &mut Context<'_>, most: usize) -> usize {
        let mut total = 0;
        while total < most {
            let mut space = [0; 1024];
            let mut buffer = ReadBuf::new(&mut space);
            if Pin::new(&mut *reader).poll_read(context, &mut buffer).is_pending() {
                break;
            }
            total += buffer.filled().len();
        }
        total
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_not_listened_to_until_it_does() {
        let said = vec![b'x'; 10 * AHEAD];
        let (ours, mut theirs) = duplex(8);
        let (mut reader, mut writer) = bounded(said.as_slice(), ours);
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let context = &mut Context::from_waker(&waker);
        assert_eq!(read_all(&mut reader, context, 4 * AHEAD), 4 * AHEAD, "nothing is in the way");

        assert!(Pin::new(&mut writer).poll_write(context, b"12345678").is_ready());
        assert!(Pin::new(&mut writer).poll_write(context, b"9").is_pending());
        assert_eq!(read_all(&mut reader, context, 4 * AHEAD), AHEAD);
        let before = woken.0.load(Ordering::SeqCst);

        theirs.read_exact(&mut [0; 8]).await.unwrap();
        assert!(Pin::new(&mut writer).poll_write(context, b"9").is_ready());
        assert!(woken.0.load(Ordering::SeqCst) > before, "whoever waits to read is told");
        assert_eq!(read_all(&mut reader, context, 4 * AHEAD), 4 * AHEAD);
    }

    #[tokio::test]
    async fn a_client_that_leaves_without_reading_is_noticed() {
        let (ours, theirs) = duplex(1);
        let (_reader, mut writer) = bounded(&b""[..], ours);
        let context = &mut Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut writer).poll_write(context, b"1").is_ready());
        assert!(Pin::new(&mut writer).poll_write(context, b"2").is_pending());
        drop(theirs);
        assert!(matches!(Pin::new(&mut writer).poll_write(context, b"2"), Poll::Ready(Err(_))));
        assert!(!writer.flow.state().is_stuck);
    }
}
