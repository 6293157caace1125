//! Reading one JSON document from a stream that may never end.
//!
//! An agent writes its payload to the hook's stdin and may keep the pipe open, so the end of the document is found by
//! counting brackets, not by waiting for the end of the stream. Nothing is parsed here.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest document that is read, in bytes. A tool's answer can be large; more than this is not a payload.
pub(super) const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Longest total wait for the document.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(200);

/// Finds the end of the first JSON object or array in bytes that arrive in pieces.
#[derive(Debug, Default)]
struct Scanner {
    depth: u32,
    started: bool,
    in_string: bool,
    escaped: bool,
}

impl Scanner {
    /// Reads the next bytes; answers how many of them belong to the document when it ends among them.
    ///
    /// # Errors
    /// When the first byte that is not white space or a byte order mark opens no object or array.
    fn feed(&mut self, bytes: &[u8]) -> Result<Option<usize>, NotADocument> {
        for (index, &byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'{' | b'[' => {
                    self.started = true;
                    self.depth = self.depth.saturating_add(1);
                }
                b'}' | b']' if self.started => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Ok(Some(index + 1));
                    }
                }
                b'"' if self.started => self.in_string = true,
                b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => {}
                _ if !self.started => return Err(NotADocument),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// The stream does not start with a JSON object or array.
#[derive(Debug)]
struct NotADocument;

/// Reads one document from `source`, or nothing: not when it is no JSON object, ends too early, is longer than
/// [`MAX_BYTES`] or has not arrived after `wait`.
pub(super) fn read(mut source: impl Read + AsFd, wait: Duration) -> Option<Vec<u8>> {
    let deadline = Instant::now() + wait;
    let mut scanner = Scanner::default();
    let mut document = Vec::with_capacity(4096);
    let mut filled = 0;
    loop {
        wait_readable(&source, deadline)?;
        if document.len() - filled < 4096 {
            document.resize((document.len() * 2).max(8192), 0);
        }
        let room = document.get_mut(filled..)?;
        let read = match source.read(room) {
            Ok(0) => return None,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        let end = scanner.feed(document.get(filled..filled + read)?).ok()?;
        let length = filled + end.unwrap_or(read);
        if length > MAX_BYTES {
            return None;
        }
        if end.is_some() {
            document.truncate(length);
            return Some(document);
        }
        filled = length;
    }
}

/// Waits until `source` has bytes or ended; nothing when the deadline passed first.
fn wait_readable(source: &impl AsFd, deadline: Instant) -> Option<()> {
    loop {
        let left = deadline.checked_duration_since(Instant::now())?;
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut [PollFd::new(source, PollFlags::IN)], Some(&left)) {
            Ok(0) => return None,
            Ok(_) => return Some(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn through_a_pipe(pieces: &[&[u8]], wait: Duration) -> Option<Vec<u8>> {
        let (mut writer, reader) = UnixStream::pair().unwrap();
        for piece in pieces {
            writer.write_all(piece).unwrap();
        }
        // The writer stays open until the answer is there: only the document's own end may stop the reader.
        read(&reader, wait)
    }

    #[test]
    fn the_document_ends_where_its_brackets_close() {
        let cases: [(&[&[u8]], &str); 5] = [
            (&[br#"{"a":1}"#], r#"{"a":1}"#),
            (&[b"\xEF\xBB\xBF\n {\"a\"", br#":"}\"]{"}trailing"#], "\u{feff}\n {\"a\":\"}\\\"]{\"}"),
            (&[br#"{"a":{"b":[1,2]}}"#, br#"{"second":1}"#], r#"{"a":{"b":[1,2]}}"#),
            (&[br#"{"a":"\"#, br#"\"}"#], r#"{"a":"\\"}"#),
            (&[b"[]"], "[]"),
        ];
        for (pieces, wanted) in cases {
            let read = through_a_pipe(pieces, Duration::from_secs(5)).unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), wanted);
        }
    }

    #[test]
    fn what_is_no_document_is_nothing_at_once() {
        let start = Instant::now();
        assert!(through_a_pipe(&[b"hello {}"], Duration::from_secs(60)).is_none());
        assert!(through_a_pipe(&[b"}"], Duration::from_secs(60)).is_none());
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_document_that_does_not_end_is_given_up_after_the_wait() {
        assert!(through_a_pipe(&[b"{\"a\":"], Duration::from_millis(20)).is_none());
        assert!(through_a_pipe(&[], Duration::from_millis(20)).is_none());
    }

    #[test]
    fn a_closed_stream_is_nothing() {
        let (writer, reader) = UnixStream::pair().unwrap();
        drop(writer);
        assert!(read(&reader, Duration::from_secs(60)).is_none());
    }

    #[test]
    fn a_document_above_the_bound_is_nothing() {
        let (mut writer, reader) = UnixStream::pair().unwrap();
        let feeder = std::thread::spawn(move || {
            let _ = writer.write_all(b"{\"a\":\"");
            let _ = writer.write_all(&vec![b'x'; MAX_BYTES + 1]);
            let _ = writer.write_all(b"\"}");
        });
        assert!(read(&reader, Duration::from_secs(60)).is_none());
        drop(reader);
        feeder.join().unwrap();
    }
}
