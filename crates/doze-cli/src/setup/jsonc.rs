//! Reading a settings file so that it can be changed in place.
//!
//! Settings belong to their user: comments, order, line ends and indentation stay as they are. So the file is read
//! into a tree of byte ranges, and `edit` changes only the bytes between them. Comments and trailing commas are
//! understood because Gemini's settings and many hand-kept files have them.

use std::ops::Range;

use serde_json::Value;

/// Longest settings file, in bytes.
pub(crate) const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Deepest nesting.
const MAX_DEPTH: usize = 64;

/// A value of the file and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: NodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeKind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar(Value),
}

/// A key with its value; `start` is where the key begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Member {
    pub(crate) start: usize,
    pub(crate) key: String,
    pub(crate) value: Node,
}

impl Node {
    /// The value under a key of an object; of several with the same key the last, as JSON readers do.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The members of an object; none for all else.
    pub(crate) fn members(&self) -> &[Member] {
        match &self.kind {
            NodeKind::Object(members) => members,
            _ => &[],
        }
    }

    /// The items of an array; none for all else.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.kind {
            NodeKind::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.kind, NodeKind::Object(_))
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.kind, NodeKind::Array(_))
    }
}

/// Why a file is no settings file: what was found at which line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct SyntaxError {
    pub(crate) line: usize,
    pub(crate) reason: &'static str,
}

/// Reads a whole file; a byte order mark at its start is passed over.
pub(crate) fn parse(text: &str) -> Result<Node, SyntaxError> {
    let mut reader =
        Reader { text, at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 } };
    if text.len() > MAX_BYTES {
        return Err(reader.error("the file is larger than 4 MiB"));
    }
    let node = reader.value(0)?;
    reader.skip_blank()?;
    if reader.at < text.len() {
        return Err(reader.error("there is something after the end of the document"));
    }
    Ok(node)
}

/// The position after white space and comments that start at `at`.
pub(crate) fn after_blank(text: &str, at: usize) -> usize {
    let mut reader = Reader { text, at };
    // The text was read before, so its comments are known to end.
    let _ = reader.skip_blank();
    reader.at
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, reason: &'static str) -> SyntaxError {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        SyntaxError { line: before.iter().filter(|&&byte| byte == b'\n').count() + 1, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n') => self.at += 1,
                Some(b'/') if self.rest().starts_with("//") => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some(b'/') if self.rest().starts_with("/*") => match self.rest().find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return Err(self.error("a comment does not end")),
                },
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        self.skip_blank()?;
        if depth > MAX_DEPTH {
            return Err(self.error("it is nested too deeply"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => NodeKind::Object(self.members(depth)?),
            Some(b'[') => NodeKind::Array(self.items(depth)?),
            Some(b'"') => NodeKind::Scalar(Value::String(self.string()?)),
            Some(_) => NodeKind::Scalar(self.word()?),
            None => return Err(self.error("a value is missing")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, SyntaxError> {
        let mut members = Vec::new();
        self.at += 1;
        while self.goes_on(b'}', members.is_empty())? {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a key in double quotes"));
            }
            let key = self.string()?;
            self.skip_blank()?;
            if self.peek() != Some(b':') {
                return Err(self.error("expected a colon after a key"));
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            members.push(Member { start, key, value });
        }
        Ok(members)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Node>, SyntaxError> {
        let mut items = Vec::new();
        self.at += 1;
        while self.goes_on(b']', items.is_empty())? {
            items.push(self.value(depth + 1)?);
        }
        Ok(items)
    }

    /// Passes over a comma, and over `close` when the container ends; answers whether another element follows.
    fn goes_on(&mut self, close: u8, is_first: bool) -> Result<bool, SyntaxError> {
        self.skip_blank()?;
        if !is_first && self.peek() == Some(b',') {
            self.at += 1;
            self.skip_blank()?;
        } else if !is_first && self.peek() != Some(close) {
            return Err(self.error("expected a comma or a closing bracket"));
        }
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(_) => Ok(true),
            None => Err(self.error("a bracket is not closed")),
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let start = self.at;
        let mut escaped = false;
        for (offset, byte) in self.rest().bytes().enumerate().skip(1) {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    let end = start + offset + 1;
                    let quoted = self.text.get(start..end).unwrap_or_default();
                    let text =
                        serde_json::from_str(quoted).map_err(|_| self.error("a string is not valid"))?;
                    self.at = end;
                    return Ok(text);
                }
                b'\n' => break,
                _ => {}
            }
        }
        Err(self.error("a string does not end"))
    }

    fn word(&mut self) -> Result<Value, SyntaxError> {
        let end = self
            .rest()
            .find(|c: char| c.is_whitespace() || ",]}/:\"[{".contains(c))
            .unwrap_or(self.rest().len());
        let word = self.rest().get(..end).unwrap_or_default();
        let value = serde_json::from_str(word).map_err(|_| self.error("expected a value"))?;
        self.at += end;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_where_they_stand() {
        let text =
            "\u{feff}{ // why\r\n  \"a\": [1, {\"b\": \"x\\\"y\"},],\r\n  /* c */ \"d\": null\r\n}\r\n";
        let root = parse(text).unwrap();
        let items = root.get("a").unwrap().items();
        assert_eq!(&text[items[0].span.clone()], "1");
        assert_eq!(&text[items[1].span.clone()], "{\"b\": \"x\\\"y\"}");
        assert_eq!(items[1].get("b").unwrap().text(), Some("x\"y"));
        assert_eq!(&text[root.members()[1].start..][..3], "\"d\"");
        assert_eq!(root.get("d").unwrap().kind, NodeKind::Scalar(Value::Null));
        assert!(root.is_object() && root.get("a").unwrap().is_array() && root.get("x").is_none());
    }

    #[test]
    fn a_broken_file_is_told_with_its_line() {
        let cases = [
            ("", 1, "a value is missing"),
            ("{\n\"a\": 1\n\"b\": 2}", 3, "expected a comma or a closing bracket"),
            ("{\n  a: 1}", 2, "expected a key in double quotes"),
            ("{\"a\" 1}", 1, "expected a colon after a key"),
            ("{\"a\": tru}", 1, "expected a value"),
            ("{\"a\": \"x\n\"}", 1, "a string does not end"),
            ("{\"a\": [1}", 1, "expected a comma or a closing bracket"),
            ("{\n\n", 3, "a bracket is not closed"),
            ("{} x", 1, "there is something after the end of the document"),
            ("/* x", 1, "a comment does not end"),
            ("[,]", 1, "expected a value"),
        ];
        for (text, line, reason) in cases {
            assert_eq!(parse(text), Err(SyntaxError { line, reason }), "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(parse(&deep).unwrap_err().reason, "it is nested too deeply");
        assert_eq!(parse(&" ".repeat(MAX_BYTES + 1)).unwrap_err().reason, "the file is larger than 4 MiB");
    }
}
