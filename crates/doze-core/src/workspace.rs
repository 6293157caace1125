//! What dreams leave in a workspace: sections of one `DREAMING.md` (S3.9), or one file an entry (S3.10). Made here as
//! texts; a file that a person has edited keeps every line that is not doze's own.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::model::{Memory, hex};
use crate::{redact, text};

/// Entries that `DREAMING.md` holds at most, the newest ones (S3.9).
pub const MAX_SECTIONS: usize = 50;
/// Characters of a title that is made of the content.
const MAX_TITLE: usize = 80;
/// What the second line of an entry begins with.
const SOURCE: &str = "_source: ";

/// One memory as a workspace shows it: redacted, without control characters, tags escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    title: String,
    source: String,
    at: Timestamp,
    content: String,
}

/// By what a section is known again as doze's own: how many lines it has, and the hash of them. A section that
/// somebody has changed is theirs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Its lines.
    pub lines: usize,
    /// Their SHA-256, in hex.
    pub hash: String,
}

/// A `DREAMING.md` as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dreaming {
    /// The text; empty when nothing is left in it.
    pub text: String,
    /// doze's own sections in it.
    pub standing: BTreeSet<Mark>,
    /// doze's own sections that were in the file as it was.
    pub found: BTreeSet<Mark>,
}

impl Entry {
    /// What a workspace shows of a memory.
    pub fn of(memory: &Memory) -> Self {
        let content = safe(text::clean(&memory.body).trim());
        let title = safe(&text::one_line(&memory.title));
        let title = if title.is_empty() {
            text::cut_ellipsis(&text::one_line(&content), MAX_TITLE).into_owned()
        } else {
            title
        };
        let content = if content.is_empty() { title.clone() } else { content };
        let source = memory.source.session.as_deref().unwrap_or("doze");
        Self { title, source: safe(&text::one_line(source)), at: memory.created_at, content }
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// When what it tells happened.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// The entry as a section of `DREAMING.md`.
    pub fn section(&self) -> String {
        format!("## {}\n{SOURCE}{} | {}_\n{}\n", self.title, self.source, self.time(), self.content)
    }

    /// By what its section is known again.
    pub fn mark(&self) -> Mark {
        let section = self.section();
        let lines: Vec<&str> = section.lines().collect();
        Mark { lines: lines.len(), hash: hash_of(&lines) }
    }

    /// The name of its own file, which its content alone decides.
    pub fn file_name(&self) -> String {
        let hash = hex(&Sha256::digest(self.content.as_bytes()));
        format!("consolidated_{}.md", &hash[..12])
    }

    /// What stands in that file.
    pub fn file(&self) -> String {
        let (name, session) = (quoted(&self.title), quoted(&self.source));
        let head = format!("name: {name}\nsource_session: {session}\ncreated_at: {}", self.time());
        format!("---\n{head}\n---\n\n{}\n", self.content)
    }

    fn time(&self) -> String {
        self.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

/// The file with the entries that belong in it, and without other sections of doze's own. `own` are the marks of all
/// that doze may have written there, `entries` what should stand there. Of two with one title the newer stays, and a
/// title that somebody else's section has is left to them.
pub fn dreaming(file: &str, own: &BTreeSet<Mark>, entries: &[Entry]) -> Dreaming {
    let pieces = pieces(file, own);
    let mut wanted = newest(entries, &pieces);
    let found = pieces.iter().filter_map(|piece| piece.mark.clone()).collect();
    let mut standing: BTreeSet<Mark> = BTreeSet::new();
    let mut text = String::with_capacity(file.len());
    let mut skips_blank = false;
    for piece in &pieces {
        let Some(mark) = &piece.mark else {
            if !(std::mem::take(&mut skips_blank) && piece.text.trim().is_empty()) {
                text.push_str(piece.text);
            }
            continue;
        };
        skips_blank = false;
        if let Some(at) = wanted.iter().position(|entry| entry.mark() == *mark) {
            wanted.remove(at);
            standing.insert(mark.clone());
            text.push_str(piece.text);
        } else if let Some(at) = wanted.iter().position(|entry| Some(entry.title.as_str()) == piece.title()) {
            // The same title with other words: the new ones take its place.
            let entry = wanted.remove(at);
            standing.insert(entry.mark());
            text.push_str(&entry.section());
        } else {
            skips_blank = true;
        }
    }
    if skips_blank {
        let kept = text.trim_end_matches(['\n', '\r']).len();
        text.truncate(kept);
        if kept > 0 {
            text.push('\n');
        }
    }
    for entry in wanted {
        if !text.is_empty() {
            text.push_str(if text.ends_with('\n') { "" } else { "\n" });
            text.push_str(if text.ends_with("\n\n") || text.ends_with("\n\r\n") { "" } else { "\n" });
        }
        standing.insert(entry.mark());
        text.push_str(&entry.section());
    }
    Dreaming { text, standing, found }
}

/// A line of somebody else's, or a section of doze's own.
struct Piece<'a> {
    text: &'a str,
    mark: Option<Mark>,
}

impl Piece<'_> {
    /// The title of the section that begins here.
    fn title(&self) -> Option<&str> {
        self.text.lines().next()?.strip_prefix("## ").map(str::trim)
    }
}

fn pieces<'a>(file: &'a str, own: &BTreeSet<Mark>) -> Vec<Piece<'a>> {
    let lengths: BTreeSet<usize> = own.iter().map(|mark| mark.lines).collect();
    let lines: Vec<&str> = file.split_inclusive('\n').collect();
    let mut pieces = Vec::new();
    let (mut at, mut start) = (0, 0);
    while at < lines.len() {
        let mark = lines[at].starts_with("## ").then(|| own_section(&lines[at..], &lengths, own)).flatten();
        let count = mark.as_ref().map_or(1, |mark| mark.lines);
        let end = start + lines[at..at + count].iter().map(|line| line.len()).sum::<usize>();
        pieces.push(Piece { text: &file[start..end], mark });
        (at, start) = (at + count, end);
    }
    pieces
}

fn own_section(lines: &[&str], lengths: &BTreeSet<usize>, own: &BTreeSet<Mark>) -> Option<Mark> {
    let mut marks = lengths.iter().filter(|length| **length > 0).filter_map(|length| {
        let hash = hash_of(lines.get(..*length)?);
        Some(Mark { lines: *length, hash })
    });
    marks.rfind(|mark| own.contains(mark))
}

/// The entries to show, oldest first: the newest of each title, as many as there is room for beside other people's.
fn newest(entries: &[Entry], pieces: &[Piece<'_>]) -> Vec<Entry> {
    let others: Vec<&Piece<'_>> = pieces.iter().filter(|piece| piece.mark.is_none()).collect();
    let mut titles: BTreeSet<&str> = others.iter().filter_map(|piece| piece.title()).collect();
    let sourced = others.windows(2).filter(|two| two[0].title().is_some() && two[1].text.starts_with(SOURCE));
    let room = MAX_SECTIONS.saturating_sub(sourced.count());
    let mut newest: Vec<&Entry> = entries.iter().collect();
    newest.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.content.cmp(&b.content)));
    newest.retain(|entry| titles.insert(&entry.title));
    newest.truncate(room);
    newest.into_iter().rev().cloned().collect()
}

/// The hash of some lines, whatever their ends are.
fn hash_of(lines: &[&str]) -> String {
    let mut hash = Sha256::new();
    for line in lines {
        hash.update(line.trim_end().as_bytes());
        hash.update(b"\n");
    }
    hex(&hash.finalize())
}

fn safe(words: &str) -> String {
    text::escape_tags(redact::redact(words).text.trim()).into_owned()
}

/// A text as a YAML value: bare where that is safe, else in double quotes.
fn quoted(words: &str) -> String {
    let is_plain = words.starts_with(|c: char| c.is_alphabetic())
        && !words.contains(": ")
        && !words.contains(" #")
        && !words.ends_with([':', ' '])
        && !matches!(
            words.to_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if is_plain {
        return words.to_owned();
    }
    format!("\"{}\"", words.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests;
