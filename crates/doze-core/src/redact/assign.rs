//! Secrets that a name in front of them gives away: `DB_PASSWORD=…`, `"api_key": "…"`, `--token …`, `密码：…`.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Found;
use super::value::{Promise, Style, is_secret};
use crate::text::regex;

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i-u:password|passwd|passphrase|passcode|[_.-]pass\b|\bpass[_=]|\bpass\b|\bpw\b|\bpwd\b|[_-]pwd|passwort|secret|token|credential|",
        r"(?:api|access|account|private|signing|encryption|auth|master|license|service|deploy|device|webhook|session|app|recovery|pre-?shared|pairing|storage|wallet|unlock|backup)[_ -]?key|",
        r"(?-u:\b_auth\b))|密码|密碼|口令|密钥|密鑰|令牌|私钥|パスワード|秘密鍵|トークン|暗証番号|비밀번호|비밀 키|암호|토큰|(?i:пароль|токен)|contraseña|mot de passe"
    ))
});

/// `name: Type = "value"` in the languages that put types there.
static TYPED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^(?-u:[:]?\s?[&A-Za-z][A-Za-z0-9_<>&' \[\].?|]{0,40}?\s?=\s?[bfr@]?["'`])"#));

/// `"name": "DB_PASSWORD", "value": "…"`, also over a line end.
static VALUE_KEY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^\\{0,3}["'`]?(?-u:[ \t]{0,8},?(?:[ \t\r\n]|\\n){0,40}\\{0,3}["']?(?i:value)\\{0,3}["']?[ \t]{0,8}[:=])"#,
    )
});

/// The value stands below its name: a block (`|`, `>-`) or a list of YAML.
static BELOW: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?-u:[ \t]{0,8}(?:(?P<block>[|>][+-]?[0-9]?[+-]?)[ \t]{0,8}\r?\n(?P<indent>[ \t]{1,40})|\r?\n[ \t]{0,40}(?P<list>-)[ \t]{1,8}))",
    )
});

/// Longest value that is read to find its closing quote.
const LONGEST: usize = 4096;

pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(word) = WORDS.find_at(text, from) {
        from = word.end();
        let Some(name) = Name::around(text, word.range()) else { continue };
        from = name.range.end.max(from);
        let Some((value, style)) = value_behind(text, &name) else { continue };
        if name.may_have(text, &text[value.clone()])
            && is_secret(&text[name.range.clone()], &text[value.clone()], name.promise, style)
        {
            from = value.end;
            found.push(Found { range: value, rule: "secret" });
        }
    }
    found
}

struct Name {
    range: Range<usize>,
    promise: Promise,
    flag: bool,
}

impl Name {
    /// `pass: 12` counts tests, `pass: fast` names a stage: behind the short words only what no word is, and behind
    /// `pass` only where it begins something.
    fn may_have(&self, text: &str, value: &str) -> bool {
        let name = &text[self.range.clone()];
        let is_pass = name.eq_ignore_ascii_case("pass");
        if !is_pass && !name.eq_ignore_ascii_case("pw") || text[self.range.end..].starts_with('=') {
            return true;
        }
        let before = text[..self.range.start].trim_end_matches(' ');
        let begins =
            starts_line(text, self.range.start) || before.ends_with(['"', '\'', ',', ';', '{', '(', '/']);
        // `--- PASS: TestName2`: a test runner speaks.
        (!is_pass || begins && name != "PASS")
            && value.len() >= 6
            && value.bytes().any(|b| b.is_ascii_alphabetic())
            && value.bytes().any(|b| b.is_ascii_digit())
    }

    /// The whole name round a telling word; `None` where the rest of it says that no secret follows.
    fn around(text: &str, word: Range<usize>) -> Option<Self> {
        const LONGEST_NAME: usize = 64;
        let bytes = text.as_bytes();
        let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'$');
        let found = text[word.clone()].trim_end_matches(['_', '=']);
        let word = word.start..word.start + found.len();
        let mut before =
            bytes[..word.start].iter().rev().take(LONGEST_NAME).take_while(|b| is_name(b)).count();
        if text[..word.start - before].ends_with('\\') && before > 0 {
            // The letter of an escape such as `\n` is no part of the name.
            before -= 1;
        }
        let start = word.start - before;
        let after = bytes[word.end..].iter().take(LONGEST_NAME).take_while(|b| is_name(b)).count();
        let end = word.end + text[word.end..word.end + after].trim_end_matches(['-', '.', '$']).len();
        let tail: String = text[word.end..end].to_ascii_lowercase().replace(['_', '-', '.'], "");
        let lower = found.to_lowercase();
        let promise = match lower.as_str() {
            l if l.contains("pass")
                || l.contains("pwd")
                || matches!(
                    l,
                    "密码"
                        | "密碼"
                        | "口令"
                        | "パスワード"
                        | "暗証番号"
                        | "비밀번호"
                        | "암호"
                        | "пароль"
                        | "contraseña"
                ) =>
            {
                Promise::Password
            }
            "token" | "トークン" | "토큰" | "токен" | "令牌" => Promise::Token,
            _ => Promise::Key,
        };
        let range = start..end;
        (!is_other_thing(&lower, &tail, &text[range.clone()])).then_some(Self {
            flag: text[range.clone()].starts_with('-'),
            range,
            promise,
        })
    }
}

/// Names that hold a telling word and mean something else: `max_tokens`, `token_count`, `PASSWORD_FILE`.
fn is_other_thing(word: &str, tail: &str, name: &str) -> bool {
    const TAILS: &[&str] = &[
        "type",
        "count",
        "limit",
        "name",
        "length",
        "len",
        "url",
        "uri",
        "path",
        "file",
        "dir",
        "expiry",
        "expires",
        "expiresat",
        "expiresin",
        "expiration",
        "ttl",
        "field",
        "policy",
        "prompt",
        "usage",
        "budget",
        "version",
        "endpoint",
        "header",
        "format",
        "regex",
        "pattern",
        "min",
        "max",
        "required",
        "reset",
        "strength",
        "ref",
        "class",
        "label",
        "input",
        "provider",
        "manager",
        "store",
        "arn",
        "id",
        "ids",
        "size",
        "kind",
        "index",
        "window",
        "cost",
        "price",
        "stream",
        "list",
        "set",
        "map",
        "error",
        "valid",
        "enabled",
        "exists",
        "hint",
        "helper",
        "command",
        "cmd",
        "env",
        "var",
        "rotation",
        "scope",
        "scopes",
        "for",
    ];
    let generic = match (word, tail) {
        (_, "") => false,
        ("credential", "s") => false,
        (_, tail)
            if tail.starts_with('s')
                && !tail.starts_with("secret")
                && word != "api"
                && !tail.starts_with("salt") =>
        {
            true
        }
        (_, tail) => {
            let continues = ["iz", "is", "less", "ary", "ive", "ly", "ed", "er", "ator"]
                .iter()
                .any(|start| tail.starts_with(start));
            continues || TAILS.iter().any(|end| tail.ends_with(end))
        }
    };
    let lower = name.to_ascii_lowercase();
    let product = lower.ends_with("1password") || lower.ends_with("onepassword");
    generic
        || product
        || [
            "max_",
            "num_",
            "n_",
            "total_",
            "input_",
            "output_",
            "cached_",
            "prompt_",
            "completion_",
            "eos_",
            "bos_",
            "pad_",
            "next_page_",
        ]
        .iter()
        .any(|start| word == "token" && lower.starts_with(start))
}

/// Where the value behind `name` stands.
fn value_behind(text: &str, name: &Name) -> Option<(Range<usize>, Style)> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(b'\n');
    let blank = |i: usize| blank(text, i.min(bytes.len()));
    if let Some(key) = VALUE_KEY.find(&text[name.range.end..]) {
        return read(text, name.range.end + key.end(), name, true);
    }
    let mut i = name.range.end;
    // What closes the name: quotes, also escaped, an index, emphasis.
    while matches!(at(i), b'"' | b'\'' | b'`' | b'\\' | b']' | b'*') && i < name.range.end + 8 {
        if at(i) == b'\\' && !matches!(at(i + 1), b'"' | b'\'' | b'\\') {
            return None;
        }
        i += 1;
    }
    let closed = i > name.range.end;
    let gap = blank(i);
    let rest = &text[i + gap..];
    if rest.starts_with('[') {
        // `AWS Secret Access Key [None]: value`
        let close = rest.bytes().take(32).position(|b| b == b']')?;
        let behind = i + gap + close + 1;
        return (at(behind) == b':').then(|| read(text, behind + 1, name, false)).flatten();
    }
    if let Some(typed) = TYPED.find(rest).filter(|_| !closed && (rest.starts_with(':') || gap > 0)) {
        return read(text, i + gap + typed.end() - 1, name, false);
    }
    if let Some(encoded) = url_encoded(text, i + gap) {
        return Some((encoded, Style::Tight));
    }
    for separator in [":=", "=>", "->", "→", "：", "＝", "=", ":"] {
        let Some(behind) = rest.strip_prefix(separator) else { continue };
        if behind.starts_with('=')
            || (separator == ":" && behind.starts_with(':'))
            || (separator == ":" && behind.starts_with("//"))
        {
            return None;
        }
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        if separator == ":" && digits > 0 && behind[digits..].starts_with(':') {
            return None; // `tests/password.rs:12:`: a place in a file.
        }
        if let Some(below) = below(text, text.len() - behind.len()) {
            return Some(below);
        }
        let tight = separator == "=" && gap == 0 && !behind.starts_with([' ', '\t']);
        return read(text, text.len() - behind.len(), name, tight);
    }
    let head = &text[..name.range.start];
    if gap > 0 && !closed && (head.ends_with("ENV ") || head.ends_with("configure set ")) {
        return read(text, i + gap, name, true);
    }
    let behind_flag = name.flag && gap > 0 && !closed && !rest.starts_with(['-', '|', '>', '<', '&', ';']);
    if behind_flag || (gap > 0 && is_netrc(text, name.range.start)) {
        return read(text, i + gap, name, true);
    }
    if gap > 0 && rest.starts_with('\'') && text[name.range.clone()].bytes().all(|b| b.is_ascii_uppercase()) {
        return read(text, i + gap, name, false); // SQL: WITH PASSWORD '…'
    }
    if rest.starts_with('>') && gap == 0 && text[..name.range.start].ends_with('<') {
        let start = i + 1;
        let length = bounded(text, start, |b| matches!(b, b'<' | b'\n'));
        return at(start + length).eq(&b'<').then_some((start..start + length, Style::Quoted));
    }
    said(text, i + gap)
}

/// `password%3Dvalue`, `%22password%22%3A%22value%22`.
fn url_encoded(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text[at..].strip_prefix("%22").unwrap_or(&text[at..]);
    let value = ["%3D", "%3d", "%3A", "%3a"].iter().find_map(|mark| rest.strip_prefix(mark))?;
    let value = value.strip_prefix("%20").unwrap_or(value);
    let value = value.strip_prefix("%22").unwrap_or(value);
    let start = text.len() - value.len();
    let length = bounded(text, start, |b| is_end(b) || matches!(b, b'&' | b',' | b';' | b')'));
    let value = &text[start..start + length];
    let end = ["%26", "%22", "%2C", "%2c", "%7D", "%7d", "%0A", "%0a"]
        .iter()
        .filter_map(|mark| value.find(mark))
        .min()
        .unwrap_or(length);
    Some(start..start + end)
}

/// A block or a list below a name: all its lines, or all its items that are a single word.
fn below(text: &str, at: usize) -> Option<(Range<usize>, Style)> {
    const MOST_LINES: usize = 64;
    let head = BELOW.captures(&text[at..])?;
    let start = at + head.get(0)?.end();
    let indent = head.name("indent").map_or("", |indent| indent.as_str());
    let is_list = head.name("list").is_some();
    let (mut next, mut end) = (start, start);
    for line in text[start..].split_inclusive('\n').take(MOST_LINES) {
        let content = line.trim_end();
        let belongs = match (next == start, is_list) {
            (true, _) => !content.is_empty(),
            (false, false) => content.starts_with(indent),
            (false, true) => content.trim_start().starts_with("- "),
        };
        let word = content.trim_start().trim_start_matches("- ").trim_matches(['"', '\'']);
        let is_item = !word.contains([' ', ':']) && word.bytes().any(|b| b.is_ascii_digit());
        if !belongs || is_list && !is_item || next - start > LONGEST {
            break;
        }
        end = next + content.len();
        next += line.len();
    }
    let style = if is_list { Style::Loose { alone: false } } else { Style::Quoted };
    (end > start).then_some((start..end, style))
}

/// White space before a value, that which breaks no line and that of wide scripts included.
fn blank(text: &str, at: usize) -> usize {
    let is_blank = |c: &char| matches!(c, ' ' | '\t' | '\u{a0}' | '\u{202f}' | '\u{2007}' | '\u{3000}');
    text[at..].chars().take(16).take_while(is_blank).map(char::len_utf8).sum()
}

/// `the password is hunter2`, `密码是 hunter2`: only what cannot be a word of the sentence.
fn said(text: &str, at: usize) -> Option<(Range<usize>, Style)> {
    let rest = &text[at..];
    let verb = [
        "is ", "was ", "is:", "was:", "lautet ", "lautet:", "ist ", "ist:", "est ", "es ", "为", "為", "是",
        "は", "는 ", "은 ", "это ",
    ]
    .iter()
    .find(|verb| rest.starts_with(**verb))?;
    let behind = rest[verb.len()..].trim_start_matches([' ', ':', '：', '"', '\'', '`', '「', '“']);
    let start = text.len() - behind.len();
    let length = bounded(text, start, |b| {
        b.is_ascii_whitespace()
            || !b.is_ascii()
            || matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'\\')
    });
    let value = text[start..start + length].trim_end_matches(['.', '!', '?', ':']);
    let has = |test: fn(&u8) -> bool| value.bytes().any(|b| test(&b));
    let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && value.len() >= 6;
    mixed.then_some((start..start + value.len(), Style::Loose { alone: false }))
}

/// `login NAME` stands right before the name, on its line or, where the name begins one, on the line before.
fn is_netrc(text: &str, name: usize) -> bool {
    let before = &text.as_bytes()[name.saturating_sub(120)..name];
    let mut lines = before.rsplit(|b| *b == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.next().filter(|line| !line.is_empty()).or_else(|| lines.next()).unwrap_or_default();
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).rev().nth(1) == Some(b"login")
}

/// Reads a value from `at`, past blanks and an opening quote.
fn read(text: &str, at: usize, name: &Name, tight: bool) -> Option<(Range<usize>, Style)> {
    let bytes = text.as_bytes();
    let mut start = at + blank(text, at);
    // An array with one secret, or the first of several.
    let inner = text[start..].strip_prefix('[').map(|inner| inner.trim_start_matches([' ', '\n', '\r']));
    let array = inner.filter(|inner| inner.starts_with(['"', '\'', '\\']));
    if let Some(inner) = array {
        start = text.len() - inner.len();
    }
    // String prefixes of some languages, and the CJK quotes.
    if matches!(bytes.get(start..start + 2), Some([b'b' | b'f' | b'r' | b'u' | b'@', b'"' | b'\''])) {
        start += 1;
    }
    for (open, close) in [("“", '”'), ("「", '」'), ("‘", '’')] {
        if let Some(inner) = text[start..].strip_prefix(open) {
            let length = inner
                .char_indices()
                .take(LONGEST)
                .find(|(_, c)| *c == close || *c == '\n')
                .map_or(inner.len(), |(i, _)| i);
            let begin = text.len() - inner.len();
            return Some((begin..begin + length.min(inner.len()), Style::Quoted));
        }
    }
    for fence in ["\"\"\"", "'''"] {
        let Some(inner) = text[start..].strip_prefix(fence) else { continue };
        let begin = text.len() - inner.len();
        let length = bounded(text, begin, |_| false);
        let length = text[begin..begin + length].find(fence).unwrap_or(length);
        return Some((begin..begin + length, Style::Quoted));
    }
    let slashes = bytes[start..].iter().take(8).take_while(|b| **b == b'\\').count();
    let quote = bytes.get(start + slashes).copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    if let Some(quote) = quote {
        let begin = start + slashes + 1;
        if let Some(end) = closing_quote(text, begin, quote, slashes) {
            // A list behind `secret:` or `token:` mostly names things.
            let is_named = array.is_some() && name.promise != Promise::Password;
            return Some((begin..end, if is_named { Style::Loose { alone: false } } else { Style::Quoted }));
        }
        // Cut off before its closing quote.
        let length = bounded(text, begin, |b| b.is_ascii_whitespace() || b == quote);
        return Some((begin..begin + length, Style::Quoted));
    }
    if slashes > 0 {
        return None;
    }
    let line_start = starts_line(text, name.range.start);
    let shell = (tight && line_start) || name.flag;
    let length = bounded(text, start, |b| {
        is_end(b) || (!shell && matches!(b, b',' | b';' | b'&' | b')' | b']' | b'}')) || (shell && b == b';')
    });
    // A CJK full stop or comma ends an unquoted value as well.
    let value = &text[start..start + length];
    let value = &value[..value.find(['。', '，', '；', '、', '）', '」', '！']).unwrap_or(value.len())];
    let value = if tight { value } else { value.trim_end_matches('.') };
    let end = start + value.len();
    let rest_of_line = text[end..].lines().next().unwrap_or("");
    let ends_line = rest_of_line.trim().is_empty() || rest_of_line.trim_start().starts_with('#');
    let argument = text[..name.range.start].ends_with(['(', ',']) || text[..name.range.start].ends_with(", ");
    let style = match tight && !argument || name.flag {
        true => Style::Tight,
        false => Style::Loose { alone: line_start && ends_line },
    };
    Some((start..end, style))
}

fn is_end(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
}

/// Whether only blanks, a list mark, `export` or the like stand before `at` on its line.
fn starts_line(text: &str, at: usize) -> bool {
    let head = &text.as_bytes()[at.saturating_sub(40)..at];
    let line = head.rsplit(|b| *b == b'\n').next().unwrap_or(head);
    let line = match line.windows(2).rposition(|pair| pair == b"\\n") {
        Some(escape) => &line[escape + 2..],
        None => line,
    };
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let line = line.trim_start_matches([' ', '\t', '-', '*', '#', '+']).trim_start();
    matches!(
        line.trim_end(),
        "" | "export" | "set" | "ENV" | "env" | "ARG" | "setx" | "\"" | "'" | "let" | "$env:"
    )
}

/// Bytes up to the first that ends the value, never inside a character.
fn bounded(text: &str, at: usize, ends: impl Fn(u8) -> bool) -> usize {
    let bytes = &text.as_bytes()[at..];
    let mut length = bytes.iter().take(LONGEST).take_while(|b| !ends(**b)).count();
    while !text.is_char_boundary(at + length) {
        length -= 1;
    }
    length
}

/// The quote that closes one opened with `slashes` backslashes before it: it has as many itself.
fn closing_quote(text: &str, at: usize, quote: u8, slashes: usize) -> Option<usize> {
    let bytes = &text.as_bytes()[at..];
    let mut run = 0;
    for (i, b) in bytes.iter().enumerate().take(LONGEST) {
        match *b {
            b'\\' => run += 1,
            b'\n' => return None,
            b if b == quote && run <= slashes => return Some(at + i - run),
            _ => run = 0,
        }
        if *b == quote {
            run = 0;
        }
    }
    None
}
