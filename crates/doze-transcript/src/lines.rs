//! A file as lines of bounded length, with the offset of each.

use std::io::{self, BufRead};

/// A buffer larger than this is given back after the line that needed it.
const KEPT: usize = 1 << 20;

/// What a step over the file found; the bytes of a line are in [`Lines::bytes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line with its line end.
    Whole,
    /// What stands after the last line end: a line that is still being written, or the last one of a file that ends
    /// without a line end.
    Tail,
    /// A line above the limit; its bytes are gone.
    TooLong,
    /// As [`Line::TooLong`], and its end is not written yet.
    TooLongTail,
}

/// Steps over the lines of a file.
pub(crate) struct Lines<R> {
    source: R,
    /// The bytes of the line just read, its line end included.
    pub(crate) bytes: Vec<u8>,
    /// Where the line just read begins.
    pub(crate) start: u64,
    /// Where the next line begins.
    pub(crate) end: u64,
    max: usize,
}

impl<R: BufRead> Lines<R> {
    /// Reads on from `offset`, where `source` already stands.
    pub(crate) fn new(source: R, offset: u64, max: usize) -> Self {
        Self { source, bytes: Vec::new(), start: offset, end: offset, max }
    }

    /// The next line; `None` at the end.
    pub(crate) fn step(&mut self) -> io::Result<Option<Line>> {
        self.start = self.end;
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        if self.piece()? == 0 {
            return Ok(None);
        }
        if self.bytes.ends_with(b"\n") {
            return Ok(Some(Line::Whole));
        }
        if self.bytes.len() < self.max {
            return Ok(Some(Line::Tail));
        }
        self.skip().map(Some)
    }

    /// Passes over the rest of a line that is too long.
    fn skip(&mut self) -> io::Result<Line> {
        loop {
            if self.piece()? == 0 {
                return Ok(Line::TooLongTail);
            }
            if self.bytes.ends_with(b"\n") {
                self.bytes.clear();
                return Ok(Line::TooLong);
            }
        }
    }

    /// Reads up to a line end, at most as much as a line may hold.
    fn piece(&mut self) -> io::Result<usize> {
        self.bytes.clear();
        let read = io::Read::take(&mut self.source, self.max as u64).read_until(b'\n', &mut self.bytes)?;
        self.end += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_offsets_and_long_ones_are_passed_over() {
        let text = b"ab\n\n0123456789\ncd\n0123456789";
        let mut lines = Lines::new(&text[..], 100, 8);
        let mut seen = Vec::new();
        while let Some(line) = lines.step().unwrap() {
            seen.push((line, lines.start - 100, lines.end - 100));
        }
        use Line::*;
        assert_eq!(
            seen,
            [(Whole, 0, 3), (Whole, 3, 4), (TooLong, 4, 15), (Whole, 15, 18), (TooLongTail, 18, 28)]
        );
    }

    #[test]
    fn the_buffer_stays_within_the_limit() {
        let text = vec![b'x'; 10_000_000];
        let mut lines = Lines::new(&text[..], 0, 1 << 20);
        assert_eq!(lines.step().unwrap(), Some(Line::TooLongTail));
        assert!(lines.bytes.capacity() <= 1 << 20, "{}", lines.bytes.capacity());
    }
}
