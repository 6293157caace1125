//! Finds marked blocks (`<name …>…</name>`) in text that nobody promised to be well formed.

use std::ops::Range;

/// What an opening tag without its closing tag means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unclosed {
    /// The block was cut off: it reaches to the end of the text. Such blocks may be nested.
    ToEnd,
    /// It was no block; the tag stays.
    Leave,
}

/// The blocks of `text` whose lower-case name `policy` knows, outermost only, in order. A tag that stands alone in
/// a code span (`` `<private>` ``) is only spoken of and opens nothing. Takes time linear in the text.
pub(crate) fn blocks(text: &str, policy: impl Fn(&str) -> Option<Unclosed>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // Names for which no closing tag follows any more, so that each is looked for in vain only once.
    let mut hopeless: Vec<String> = Vec::new();
    let mut from = 0;
    while let Some(tag) = next_tag(text, from) {
        from = tag.end;
        let Some(unclosed) = policy(&tag.name).filter(|_| !tag.closing && !tag.empty) else { continue };
        if hopeless.contains(&tag.name) {
            continue;
        }
        let end = match (block_end(text, &tag, unclosed == Unclosed::ToEnd), unclosed) {
            (Some(end), _) => end,
            (None, Unclosed::ToEnd) => text.len(),
            (None, Unclosed::Leave) => {
                hopeless.push(tag.name);
                continue;
            }
        };
        found.push(tag.start..end);
        from = end;
    }
    found
}

fn block_end(text: &str, open: &Tag, nested: bool) -> Option<usize> {
    let mut depth = 1_usize;
    let mut from = open.end;
    while let Some(tag) = next_tag(text, from) {
        from = tag.end;
        if tag.name != open.name || tag.empty {
            continue;
        }
        if tag.closing {
            depth -= 1;
        } else if nested {
            depth += 1;
        }
        if depth == 0 {
            let rest = &text[tag.end..];
            let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            return Some(if rest[blank..].starts_with('>') { tag.end + blank + 1 } else { tag.end });
        }
    }
    None
}

struct Tag {
    start: usize,
    /// Behind the name.
    end: usize,
    name: String,
    closing: bool,
    /// `<name/>`, which holds nothing.
    empty: bool,
}

fn next_tag(text: &str, from: usize) -> Option<Tag> {
    const LONGEST_NAME: usize = 40;
    let mut from = from;
    loop {
        let start = from + text.get(from..)?.find('<')?;
        from = start + 1;
        let closing = text[from..].starts_with('/');
        let name_at = from + usize::from(closing);
        let length = text[name_at..]
            .bytes()
            .take(LONGEST_NAME + 1)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            .count();
        let end = name_at + length;
        let boundary = text[end..].chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, '>' | '/'));
        if length == 0 || length > LONGEST_NAME || !boundary || is_mention(text, start, end) {
            continue;
        }
        let empty = text[end..].trim_start_matches([' ', '\t']).starts_with("/>");
        return Some(Tag { start, end, name: text[name_at..end].to_ascii_lowercase(), closing, empty });
    }
}

fn is_mention(text: &str, start: usize, end: usize) -> bool {
    text[..start].ends_with('`') && text[end..].starts_with(">`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, unclosed: Unclosed) -> String {
        let mut out = String::new();
        let mut at = 0;
        for block in blocks(text, |name| (name == "private").then_some(unclosed)) {
            out.push_str(&text[at..block.start]);
            at = block.end;
        }
        out + &text[at..]
    }

    #[test]
    fn blocks_end_where_a_reader_would_say() {
        let table = [
            ("a<private>b</private>c", "ac"),
            ("a<PRIVATE>b</Private >c", "ac"),
            ("a<private note=\"x\">b</private>c", "ac"),
            ("a<private>b<private>c</private>d</private>e", "ae"),
            ("a<private>b", "a"),
            ("a<private", "a"),
            ("a<privateer>b", "a<privateer>b"),
            ("a`<private>`b", "a`<private>`b"),
            ("a<private/>b", "a<private/>b"),
            ("a</private>b", "a</private>b"),
            ("a<b<private>c</private>", "a<b"),
        ];
        for (input, expected) in table {
            assert_eq!(kept(input, Unclosed::ToEnd), expected, "{input}");
        }
        assert_eq!(kept("a<private>b", Unclosed::Leave), "a<private>b");
        assert_eq!(kept("a<private><private>b</private>c", Unclosed::Leave), "ac");
    }

    #[test]
    fn unclosed_tags_cost_linear_time() {
        let text = "<private>".repeat(200_000);
        assert!(blocks(&text, |name| (name == "private").then_some(Unclosed::Leave)).is_empty());
        assert_eq!(blocks(&text, |name| (name == "private").then_some(Unclosed::ToEnd)).len(), 1);
    }
}
