//! A JSON document cut into its messages while it is read, without ever holding more than one.
//!
//! A parser that wants the whole document sound would lose all of it to one half character, or to a writer that is
//! in the middle of rewriting it. So this only follows strings and brackets, and hands out the bytes of each message
//! and of each other member of the root.

/// The members of a root object that hold messages.
const LISTS: [&str; 4] = ["messages", "history", "trajectory", "items"];

/// A part of a document; its bytes are in [`Splitter::part`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// One message; the name of the list it stands in, empty for a root array.
    Record(&'static str),
    /// Another member of the root, as an object with this one member.
    Member,
    /// A message or member above its limit; its bytes are gone.
    TooLong,
}

/// Follows the structure of a document byte by byte.
pub(crate) struct Splitter {
    /// The bytes of the part being read.
    pub(crate) part: Vec<u8>,
    max_record: usize,
    max_member: usize,
    depth: u32,
    /// The list being read, and the depth of its items.
    list: Option<(&'static str, u32)>,
    has_list: bool,
    in_string: bool,
    escaped: bool,
    overflow: bool,
}

impl Splitter {
    /// Parts above these sizes are told as [`Part::TooLong`].
    pub(crate) fn new(max_record: usize, max_member: usize) -> Self {
        Self {
            part: Vec::new(),
            max_record,
            max_member,
            depth: 0,
            list: None,
            has_list: false,
            in_string: false,
            escaped: false,
            overflow: false,
        }
    }

    /// Whether the document, or nothing at all, is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.depth == 0
    }

    /// Whether a list of messages was met.
    pub(crate) fn has_list(&self) -> bool {
        self.has_list
    }

    /// Takes one byte; answers with a part when that byte ended one. The caller reads and then clears
    /// [`Splitter::part`].
    pub(crate) fn feed(&mut self, byte: u8) -> Option<Part> {
        if self.in_string {
            self.follow_string(byte);
            return None;
        }
        match byte {
            b'"' => {
                self.in_string = self.depth > 0;
                self.keep(byte);
            }
            b'[' | b'{' => self.open(byte),
            b']' | b'}' => return self.close(byte),
            b',' if self.depth == self.level() => return self.finish(),
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => self.keep(byte),
        }
        None
    }

    fn follow_string(&mut self, byte: u8) {
        self.keep(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
    }

    /// The depth at which parts stand side by side.
    fn level(&self) -> u32 {
        self.list.map_or(1, |(_, depth)| depth)
    }

    fn open(&mut self, byte: u8) {
        self.depth = self.depth.saturating_add(1);
        match (byte, self.depth, self.list) {
            (b'[', 1, _) => self.list = Some(("", 1)),
            (_, 1, _) => self.list = None,
            (b'[', 2, None) => match self.list_name() {
                Some(name) => {
                    self.list = Some((name, 2));
                    self.part.clear();
                }
                None => self.keep(byte),
            },
            _ => self.keep(byte),
        }
        self.has_list |= self.list.is_some();
    }

    fn close(&mut self, byte: u8) -> Option<Part> {
        if self.depth > self.level() {
            self.depth -= 1;
            self.keep(byte);
            return None;
        }
        let part = self.finish();
        if self.depth == self.level() {
            self.list = None;
        }
        self.depth = self.depth.saturating_sub(1);
        part
    }

    /// The list whose opening bracket follows the member's name just read.
    fn list_name(&self) -> Option<&'static str> {
        let name = self.part.strip_prefix(b"\"")?.strip_suffix(b"\":")?;
        LISTS.into_iter().find(|list| list.as_bytes() == name)
    }

    fn keep(&mut self, byte: u8) {
        let max = if self.list.is_some() { self.max_record } else { self.max_member };
        if self.depth == 0 || self.overflow {
            return;
        }
        if self.part.len() >= max {
            self.overflow = true;
            self.part = Vec::new();
            return;
        }
        self.part.push(byte);
    }

    fn finish(&mut self) -> Option<Part> {
        if std::mem::take(&mut self.overflow) {
            return Some(Part::TooLong);
        }
        if self.part.is_empty() {
            return None;
        }
        if let Some((name, _)) = self.list {
            return Some(Part::Record(name));
        }
        self.part.insert(0, b'{');
        self.part.push(b'}');
        Some(Part::Member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, max: usize) -> (Vec<(Part, String)>, bool) {
        let mut splitter = Splitter::new(max, max);
        let mut parts = Vec::new();
        for byte in text.bytes() {
            if let Some(part) = splitter.feed(byte) {
                parts.push((part, String::from_utf8(std::mem::take(&mut splitter.part)).unwrap()));
            }
        }
        (parts, splitter.is_complete())
    }

    #[test]
    fn a_root_array_gives_its_items() {
        let (parts, complete) = split(r#" [ {"a": "],\"}"}, {"b": [1, {}]}, 3 ] "#, 100);
        let items: Vec<_> = parts.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(items, [r#"{"a":"],\"}"}"#, r#"{"b":[1,{}]}"#, "3"]);
        assert!(complete && parts.iter().all(|(part, _)| *part == Part::Record("")));
    }

    #[test]
    fn a_root_object_gives_messages_and_other_members() {
        let text = r#"{"id": "x", "n": {"messages": [1]}, "messages": [{"a":1},{"b":2}], "end": [3]}"#;
        let (parts, complete) = split(text, 100);
        let expected = [
            (Part::Member, r#"{"id":"x"}"#),
            (Part::Member, r#"{"n":{"messages":[1]}}"#),
            (Part::Record("messages"), r#"{"a":1}"#),
            (Part::Record("messages"), r#"{"b":2}"#),
            (Part::Member, r#"{"end":[3]}"#),
        ];
        let parts: Vec<_> = parts.iter().map(|(part, text)| (*part, text.as_str())).collect();
        assert_eq!(parts, expected);
        assert!(complete);
    }

    #[test]
    fn long_and_cut_parts_do_not_cost_the_others() {
        let (parts, complete) = split(r#"[{"a":"0123456789"},{"b":1},{"c":"#, 10);
        let parts: Vec<_> = parts.iter().map(|(part, text)| (*part, text.as_str())).collect();
        assert_eq!(parts, [(Part::TooLong, ""), (Part::Record(""), r#"{"b":1}"#)]);
        assert!(!complete);
    }

    #[test]
    fn a_part_is_held_up_to_its_limit_only() {
        let mut splitter = Splitter::new(1 << 16, 1 << 10);
        for byte in b"[{\"a\":\"".iter().copied().chain(std::iter::repeat_n(b'x', 1 << 20)) {
            assert_eq!(splitter.feed(byte), None);
            assert!(splitter.part.capacity() <= 1 << 16);
        }
    }
}
