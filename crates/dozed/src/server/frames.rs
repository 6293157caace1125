//! Cutting a stream of bytes into lines, whatever pieces it comes in.

/// What the bytes so far hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// A line without its newline; never blank.
    Line(Vec<u8>),
    /// A line longer than it may be. Its rest is skipped.
    TooLong,
}

/// Bytes that have not been cut yet. Holds at most a line and one piece more.
#[derive(Debug)]
pub(super) struct Frames {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where there is no newline.
    searched: usize,
    limit: usize,
    skipping: bool,
}

/// A buffer that grew beyond this for one long line is given back.
const KEPT_CAPACITY: usize = 64 * 1024;

impl Frames {
    pub(super) fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, searched: 0, limit, skipping: false }
    }

    /// Takes in a piece.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > KEPT_CAPACITY {
            self.buffer = Vec::new();
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// What was taken in and not cut yet.
    pub(super) fn into_rest(mut self) -> Vec<u8> {
        self.buffer.split_off(self.start)
    }

    /// The next frame, if it is complete.
    pub(super) fn next(&mut self) -> Option<Frame> {
        loop {
            let Some(offset) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.buffer.len();
                return self.check_open_line();
            };
            let end = self.searched + offset;
            let line = &self.buffer[self.start..end];
            self.start = end + 1;
            self.searched = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            // Length first: whether a long blank line is told must not depend on the pieces it comes in.
            if line.len() > self.limit {
                return Some(Frame::TooLong);
            }
            if !line.trim_ascii().is_empty() {
                return Some(Frame::Line(line.to_vec()));
            }
        }
    }

    fn check_open_line(&mut self) -> Option<Frame> {
        if self.skipping {
            self.start = self.buffer.len();
            return None;
        }
        if self.buffer.len() - self.start <= self.limit {
            return None;
        }
        self.start = self.buffer.len();
        self.skipping = true;
        Some(Frame::TooLong)
    }

    /// Whether a line has begun and not ended.
    pub(super) fn is_open(&self) -> bool {
        self.skipping || !self.buffer[self.start..].trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(limit: usize, pieces: &[&[u8]]) -> (Vec<Frame>, bool) {
        let mut frames = Frames::new(limit);
        let mut found = Vec::new();
        for piece in pieces {
            frames.push(piece);
            found.extend(std::iter::from_fn(|| frames.next()));
            assert!(frames.buffer.len() - frames.start <= limit, "more is held than a line");
        }
        (found, frames.is_open())
    }

    fn line(text: &str) -> Frame {
        Frame::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_out_whole_and_blank_ones_not_at_all() {
        assert_eq!(cut(9, &[b"a\n\n \r\nbc\n"]), (vec![line("a"), line("bc")], false));
        assert_eq!(cut(9, &[b"a", b"b\nc"]), (vec![line("ab")], true));
        assert_eq!(cut(9, &[b"a\n", b" "]), (vec![line("a")], false));
    }

    #[test]
    fn a_long_line_is_told_once_and_the_next_one_is_read() {
        assert_eq!(cut(3, &[b"abc\nabcd\nx\n"]), (vec![line("abc"), Frame::TooLong, line("x")], false));
        let pieces: [&[u8]; 5] = [b"ab", b"cd", b"efgh", b"ij\nx", b"\n"];
        assert_eq!(cut(3, &pieces), (vec![Frame::TooLong, line("x")], false));
        assert_eq!(cut(3, &[b"abcd"]), (vec![Frame::TooLong], true));
        assert_eq!(cut(3, &[b"    \nx\n"]), (vec![Frame::TooLong, line("x")], false));
        assert_eq!(cut(3, &[b"    ", b"\nx\n"]), (vec![Frame::TooLong, line("x")], false));
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_split_does_not_matter(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b' '), any::<u8>()], 0..200),
            splits in proptest::collection::vec(0usize..200, 0..12),
        ) {
            let mut splits: Vec<usize> = splits.into_iter().map(|at| at.min(bytes.len())).collect();
            splits.sort_unstable();
            let mut pieces: Vec<&[u8]> = Vec::new();
            let mut from = 0;
            for at in splits.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[from..at]);
                from = at;
            }
            prop_assert_eq!(cut(7, &pieces), cut(7, &[&bytes]));
        }
    }
}
