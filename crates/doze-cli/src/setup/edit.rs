//! Putting a value into a settings file, or taking one out, without touching the bytes around it.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::jsonc::{self, Node, after_blank};

/// How a file is laid out, so that what is added looks like the rest.
struct Layout {
    newline: &'static str,
    indent: String,
}

impl Layout {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indent = text
            .lines()
            .skip(1)
            .map(|line| leading_blanks(line).to_owned())
            .find(|indent| !indent.is_empty())
            .unwrap_or_else(|| "  ".to_owned());
        Self { newline, indent }
    }
}

fn leading_blanks(line: &str) -> &str {
    line.get(..line.len() - line.trim_start_matches([' ', '\t']).len()).unwrap_or_default()
}

/// The indentation of the line on which `at` stands.
fn indent_at(text: &str, at: usize) -> &str {
    let before = text.get(..at).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    leading_blanks(text.get(start..).unwrap_or_default())
}

/// The file with `"key": value` added at the end of `object`.
pub(crate) fn insert_member(text: &str, object: &Node, key: &str, value: &Value) -> String {
    let last = object.members().last().map(|member| member.value.span.end);
    insert(text, object, last, Some(key), value)
}

/// The file with `value` added at the end of `array`.
pub(crate) fn insert_item(text: &str, array: &Node, value: &Value) -> String {
    insert(text, array, array.items().last().map(|item| item.span.end), None, value)
}

fn insert(text: &str, container: &Node, last_end: Option<usize>, key: Option<&str>, value: &Value) -> String {
    let layout = Layout::of(text);
    let open_end = container.span.start + 1;
    let close = container.span.end - 1;
    let inside = text.get(open_end..close).unwrap_or_default();
    // What stands on one line stays there; an empty container opens up, unless it is part of a one-line document.
    let is_root = text.get(container.span.end..).unwrap_or_default().trim().is_empty();
    let on_lines = match last_end {
        Some(_) => inside.contains('\n'),
        None => is_root || text.trim_end().contains('\n'),
    };
    let outer = indent_at(text, container.span.start).to_owned();
    let inner = format!("{outer}{}", layout.indent);
    let mut entry = render(key, value, on_lines.then_some((&layout, inner.as_str())));

    // What follows the last element up to the bracket may be a comment; the new element goes behind it.
    let content_end = open_end + inside.trim_end().len();
    let has_comma = last_end.is_some_and(|end| text.as_bytes().get(after_blank(text, end)) == Some(&b','));
    // Who ends a list with a comma gets one.
    entry.push_str(if has_comma { "," } else { "" });
    let mut changed = String::with_capacity(text.len() + entry.len() + 64);
    let mut copied = 0;
    if let Some(end) = last_end.filter(|_| !has_comma) {
        changed.push_str(text.get(..end).unwrap_or_default());
        changed.push(',');
        copied = end;
    }
    changed.push_str(text.get(copied..content_end).unwrap_or_default());
    if on_lines {
        changed.extend([layout.newline, inner.as_str(), &entry]);
        if !text.get(content_end..close).unwrap_or_default().contains('\n') {
            changed.extend([layout.newline, outer.as_str()]);
        } else {
            changed.push_str(text.get(content_end..close).unwrap_or_default());
        }
    } else {
        let is_spaced = last_end.is_some() && (inside.contains("\": ") || inside.contains(", "));
        changed.extend([if is_spaced { " " } else { "" }, &entry]);
        changed.push_str(text.get(content_end..close).unwrap_or_default());
    }
    changed.push_str(text.get(close..).unwrap_or_default());
    changed
}

fn render(key: Option<&str>, value: &Value, on_lines: Option<(&Layout, &str)>) -> String {
    let Some((layout, inner)) = on_lines else {
        return match key {
            Some(key) => format!("{}:{value}", Value::from(key)),
            None => value.to_string(),
        };
    };
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(layout.indent.as_bytes());
    // Writing a value into memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    let pretty =
        String::from_utf8(bytes).unwrap_or_default().replace('\n', &format!("{}{inner}", layout.newline));
    match key {
        Some(key) => format!("{}: {pretty}", Value::from(key)),
        None => pretty,
    }
}

/// The file with a string replaced by another.
pub(crate) fn replace_string(text: &str, node: &Node, new: &str) -> String {
    let before = text.get(..node.span.start).unwrap_or_default();
    let after = text.get(node.span.end..).unwrap_or_default();
    format!("{before}{}{after}", Value::from(new))
}

/// The file without the `index`th element of `container`; a container that loses its last becomes empty.
pub(crate) fn remove(text: &str, container: &Node, index: usize) -> String {
    let spans: Vec<(usize, usize)> = match &container.kind {
        jsonc::NodeKind::Object(members) => {
            members.iter().map(|member| (member.start, member.value.span.end)).collect()
        }
        jsonc::NodeKind::Array(items) => items.iter().map(|item| (item.span.start, item.span.end)).collect(),
        jsonc::NodeKind::Scalar(_) => Vec::new(),
    };
    let Some(&(start, end)) = spans.get(index) else { return text.to_owned() };
    let before = text.get(..start).unwrap_or_default();
    let lead = before.trim_end().len();
    let comma_at =
        |end: usize| Some(after_blank(text, end)).filter(|&at| text.as_bytes().get(at) == Some(&b','));

    let mut cuts = Vec::new();
    if let Some(comma) = comma_at(end) {
        // Between an element and its comma there may be a comment; it goes with the element.
        cuts.push(lead..comma + 1);
    } else {
        let previous = index.checked_sub(1).and_then(|index| spans.get(index));
        cuts.extend(previous.and_then(|&(_, end)| comma_at(end)).map(|comma| comma..comma + 1));
        cuts.push(lead..end);
    }
    let mut changed = String::with_capacity(text.len());
    let mut copied = 0;
    for cut in cuts {
        changed.push_str(text.get(copied..cut.start.max(copied)).unwrap_or_default());
        copied = cut.end;
    }
    let mut rest = text.get(copied..).unwrap_or_default();
    if spans.len() == 1 && changed.ends_with(['{', '[']) {
        rest = rest.trim_start();
    }
    changed + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_member(text: &str) -> String {
        insert_member(text, &jsonc::parse(text).unwrap(), "k", &json!({"a": [1]}))
    }

    #[test]
    fn a_new_member_looks_like_the_rest() {
        let cases = [
            ("{}\n", "{\n  \"k\": {\n    \"a\": [\n      1\n    ]\n  }\n}\n"),
            ("{\"x\":1}", r#"{"x":1,"k":{"a":[1]}}"#),
            ("{\"x\": 1}\n", "{\"x\": 1, \"k\":{\"a\":[1]}}\n"),
            ("{\n}\n", "{\n  \"k\": {\n    \"a\": [\n      1\n    ]\n  }\n}\n"),
            ("{\n\t\"x\": 1\n}\n", "{\n\t\"x\": 1,\n\t\"k\": {\n\t\t\"a\": [\n\t\t\t1\n\t\t]\n\t}\n}\n"),
            (
                "{\r\n    \"x\": 1\r\n}\r\n",
                "{\r\n    \"x\": 1,\r\n    \"k\": {\r\n        \"a\": [\r\n            1\r\n        ]\r\n    }\r\n}\r\n",
            ),
            (
                "{\n  \"x\": 1 // last\n}",
                "{\n  \"x\": 1, // last\n  \"k\": {\n    \"a\": [\n      1\n    ]\n  }\n}",
            ),
            (
                "{\n  \"x\": 1, // last\n}",
                "{\n  \"x\": 1, // last\n  \"k\": {\n    \"a\": [\n      1\n    ]\n  },\n}",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(with_member(text), wanted, "{text:?}");
            jsonc::parse(&with_member(text)).unwrap();
        }
    }

    #[test]
    fn an_item_goes_to_the_end_of_a_nested_array() {
        let text = "{\n  \"h\": {\n    \"S\": []\n  }\n}\n";
        let root = jsonc::parse(text).unwrap();
        let array = root.get("h").unwrap().get("S").unwrap();
        assert_eq!(
            insert_item(text, array, &json!(7)),
            "{\n  \"h\": {\n    \"S\": [\n      7\n    ]\n  }\n}\n"
        );
    }

    #[test]
    fn taking_out_what_was_put_in_gives_the_same_bytes() {
        for text in ["{\"x\":1}", "{\n  \"x\": 1\n}\n", "{\r\n\t\"x\": 1\r\n}", "{\n  \"x\": 1 // c\n}"] {
            let added = with_member(text);
            assert_eq!(remove(&added, &jsonc::parse(&added).unwrap(), 1), text, "{text:?}");
        }
    }

    #[test]
    fn any_element_can_be_taken_out() {
        let text = "[\n  1,\n  // about two\n  2,\n  3 // three\n]";
        let cases = [
            (0, "[\n  // about two\n  2,\n  3 // three\n]"),
            (1, "[\n  1,\n  // about two\n  3 // three\n]"),
            (2, "[\n  1,\n  // about two\n  2 // three\n]"),
            (9, text),
        ];
        for (index, wanted) in cases {
            assert_eq!(remove(text, &jsonc::parse(text).unwrap(), index), wanted);
        }
        assert_eq!(remove("[ 1 ]", &jsonc::parse("[ 1 ]").unwrap(), 0), "[]");
        assert_eq!(remove("[1,2,]", &jsonc::parse("[1,2,]").unwrap(), 1), "[1,]");
        assert_eq!(remove("{\"a\":1,\"b\":2}", &jsonc::parse("{\"a\":1,\"b\":2}").unwrap(), 0), "{\"b\":2}");
    }

    #[test]
    fn a_string_is_replaced_where_it_stands() {
        let text = "{\"a\": \"old\" /* c */}";
        let root = jsonc::parse(text).unwrap();
        assert_eq!(replace_string(text, root.get("a").unwrap(), "n\"w"), "{\"a\": \"n\\\"w\" /* c */}");
    }
}
