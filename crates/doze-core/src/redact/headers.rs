//! Secrets in HTTP headers, URLs and signed query strings.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Found;
use super::keys::starts_word;
use super::value::is_placeholder;
use crate::text::regex;

static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"://|(?i-u:bearer|basic|authorization|cookie|[?&](?:sig|x-amz-signature|x-goog-signature)=|accountkey=|sharedaccesskey=)|(?-u: --?pass(?:in|out)? pass:| -a | -u | --user[ =]|sshpass | -p|"auth\\*"[ \t\n]{0,16}:[ \t]{0,4}\\*")"#,
    )
});

/// Longest part of a URL or header that is read.
const LONGEST: usize = 8 * 1024;

pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut from = 0;
    while let Some(mark) = MARKS.find_at(text, from) {
        from = mark.end();
        let next = match mark.as_str() {
            "://" => url_password(text, mark.end()).map(|range| (range, "url-credentials")),
            " -u " | " --user " | " --user=" => {
                user_option(text, mark.end()).map(|range| (range, "url-credentials"))
            }
            " -p" => password_option(text, mark.start(), mark.end()).map(|range| (range, "secret")),
            " -a " => redis_option(text, mark.start(), mark.end()).map(|range| (range, "secret")),
            option if option.ends_with(" pass:") => {
                password_at(text, mark.end()).map(|range| (range, "secret"))
            }
            auth if auth.starts_with("\"auth") => {
                docker_auth(text, mark.end()).map(|range| (range, "registry-auth"))
            }
            "sshpass " => sshpass(text, mark.end()).map(|range| (range, "secret")),
            word => match word.to_ascii_lowercase().as_str() {
                "bearer" if starts_word(text, mark.start()) => {
                    scheme(text, mark.end(), false).map(|range| (range, "bearer"))
                }
                "basic" if starts_word(text, mark.start()) => {
                    scheme(text, mark.end(), true).map(|range| (range, "basic"))
                }
                "authorization" => authorization(text, mark.end()),
                "cookie" => cookie(text, mark.range()).map(|range| (range, "cookie")),
                "accountkey=" | "sharedaccesskey=" => {
                    parameter(text, mark.end()).map(|range| (range, "azure-key"))
                }
                _ => parameter(text, mark.end()).map(|range| (range, "url-signature")),
            },
        };
        if let Some((range, rule)) =
            next.filter(|(range, _)| found.last().is_none_or(|last| last.range.end <= range.start))
        {
            from = range.end.max(from);
            found.push(Found { range, rule });
        }
    }
    found
}

fn take(text: &str, at: usize, longest: usize, fits: impl Fn(u8) -> bool) -> usize {
    let bytes = &text.as_bytes()[at..];
    let mut length = bytes.iter().take(longest).take_while(|b| fits(**b)).count();
    while !text.is_char_boundary(at + length) {
        length -= 1;
    }
    length
}

fn is_delimiter(b: u8) -> bool {
    b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
}

/// The password in `scheme://user:password@host`. It may hold an unescaped `@`.
fn url_password(text: &str, at: usize) -> Option<Range<usize>> {
    const LONGEST_USERINFO: usize = 1024;
    let authority =
        take(text, at, LONGEST_USERINFO, |b| !is_delimiter(b) && !matches!(b, b'/' | b'?' | b'#'));
    let authority = with_slash(text, at).unwrap_or(&text[at..at + authority]);
    let Some(user_end) = authority.find(':') else { return lone_token(text, at, authority) };
    if authority.starts_with("[redacted:") {
        return None;
    }
    let end = authority.rfind('@').filter(|end| *end > user_end + 1)?;
    let password = &authority[user_end + 1..end];
    let named = password.starts_with(['$', '{', '%', '[', '<', '('])
        && !password.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
    (!named && !is_placeholder(password)).then_some(at + user_end + 1..at + end)
}

/// `https://token@host`: a user name as long and mixed as only a token is.
fn lone_token(text: &str, at: usize, authority: &str) -> Option<Range<usize>> {
    let token = &authority[..authority.find('@')?];
    let mixed = token.bytes().any(|b| b.is_ascii_digit()) && token.bytes().any(|b| b.is_ascii_alphabetic());
    let plain = token.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    let web = text[..at].ends_with("http://") || text[..at].ends_with("https://");
    (web && mixed && plain && token.len() >= 20).then_some(at..at + token.len())
}

/// A user and password in which a slash or the like stands unescaped: no port, and an `@` behind it.
fn with_slash(text: &str, at: usize) -> Option<&str> {
    let length = take(text, at, 200, |b| !is_delimiter(b) && !matches!(b, b',' | b')' | b'(' | b'['));
    let whole = &text[at..at + length];
    let (colon, end) = (whole.find(':')?, whole.rfind('@')?);
    let port = whole[colon + 1..].bytes().take_while(u8::is_ascii_digit).count();
    let is_port = port > 0 && whole[colon + 1 + port..].starts_with(['/', '?', '#']);
    let user = !whole[..colon].contains(['/', '?', '#', '@']);
    // `https://user:pw@host/@scope/name`: an `@` after a slash begins something new.
    let scope = whole[..end].ends_with('/');
    (!is_port && user && colon < end && !scope).then(|| &whole[..=end])
}

/// `curl -u user:password`.
fn user_option(text: &str, at: usize) -> Option<Range<usize>> {
    let quote = take(text, at, 3, |b| matches!(b, b'"' | b'\'' | b'\\'));
    let start = at + quote;
    let length = take(text, start, 256, |b| !is_delimiter(b));
    let value = &text[start..start + length];
    let colon = value.find(':')?;
    let password = &value[colon + 1..];
    let fits = password.len() >= 3
        && colon > 0
        && !password.starts_with(['$', '{', '[', '<', '/'])
        && !is_placeholder(password)
        && !(password.bytes().all(|b| b.is_ascii_digit())
            && value[..colon].bytes().all(|b| b.is_ascii_digit()));
    fits.then_some(start + colon + 1..start + length)
}

/// `docker login -p password`, `mysql -ppassword`; elsewhere `-p` means a port, a path and much else.
fn password_option(text: &str, option: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[option.saturating_sub(120)..option];
    let line = before.rsplit(|b| *b == b'\n').next().unwrap_or(before);
    let has = |word: &[u8]| line.windows(word.len()).any(|window| window == word);
    let spaced = text[at..].starts_with(' ');
    let mysql = has(b"mysql") || has(b"mariadb");
    let is_port = text[at..].trim_start().starts_with(|c: char| c.is_ascii_digit());
    let argument =
        spaced && !text[at..].trim_start_matches(' ').starts_with(['-', '<', '>', '|', '&', ';', '\n']);
    let asks = if spaced { has(b"login") || argument && (mysql || has(b"psql") && !is_port) } else { mysql };
    if asks { password_at(text, at) } else { None }
}

/// `redis-cli -a password`.
fn redis_option(text: &str, option: usize, at: usize) -> Option<Range<usize>> {
    let before = &text.as_bytes()[option.saturating_sub(120)..option];
    let line = before.rsplit(|b| *b == b'\n').next().unwrap_or(before);
    let is_redis = [b"redis-cli" as &[u8], b"valkey-cli"]
        .iter()
        .any(|client| line.windows(client.len()).any(|window| window == *client));
    if is_redis { password_at(text, at) } else { None }
}

/// `"auth": "…"` in a registry's configuration: user and password in base64.
fn docker_auth(text: &str, at: usize) -> Option<Range<usize>> {
    let length = take(text, at, LONGEST, |b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='));
    let value = &text[at..at + length];
    let closes = text[at + length..].starts_with(['"', '\\']);
    let is_base64 = length >= 8 && length % 4 == 0 && value.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    (is_base64 && closes).then_some(at..at + length)
}

fn sshpass(text: &str, at: usize) -> Option<Range<usize>> {
    text[at..].starts_with("-p").then(|| password_at(text, at + 2)).flatten()
}

fn password_at(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text.len() - text[at..].trim_start_matches([' ', '\'', '"']).len();
    let length = take(text, start, 256, |b| !is_delimiter(b));
    let value = &text[start..start + length];
    (!value.is_empty() && !value.starts_with(['$', '[', '<']) && !is_placeholder(value))
        .then_some(start..start + length)
}

fn is_credential(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b':' | b'%')
}

/// What follows `Bearer ` or `Basic ` outside a header: long, and not made like a word.
fn scheme(text: &str, at: usize, base64: bool) -> Option<Range<usize>> {
    let blank = take(text, at, 4, |b| matches!(b, b' ' | b'\t' | b':'));
    let start = at + blank;
    let length = take(text, start, LONGEST, is_credential);
    let value = text[start..start + length].trim_end_matches(['.', ':', '/']);
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let upper = value.bytes().skip(1).filter(u8::is_ascii_uppercase).count();
    let lower = value.bytes().any(|b| b.is_ascii_lowercase());
    let fits = if base64 {
        value.len() >= 8
            && ((upper > 0 && lower && digits > 0) || value.ends_with('='))
            && !value.contains(['.', '-', ':'])
    } else {
        value.len() >= 12
            && (digits > 0 || upper >= 2 || (value.len() >= 24 && !value.contains(['-', '.', '/'])))
    };
    (blank > 0 && fits && !is_placeholder(value)).then_some(start..start + value.len())
}

/// The value of an `Authorization` header; its scheme stays.
fn authorization(text: &str, at: usize) -> Option<(Range<usize>, &'static str)> {
    let closing = take(text, at, 4, |b| matches!(b, b'"' | b'\'' | b'\\' | b']'));
    let mut start = at + closing;
    start += take(text, start, 4, |b| matches!(b, b' '));
    if !text[start..].starts_with([':', '=', ',']) {
        return None;
    }
    start += 1;
    start += take(text, start, 8, |b| matches!(b, b' ' | b'"' | b'\'' | b'\\'));
    let word = take(text, start, 16, |b| b.is_ascii_alphabetic() || b == b'-');
    let rule = match text[start..start + word].to_ascii_lowercase().as_str() {
        "bearer" => "bearer",
        "basic" => "basic",
        _ => "authorization",
    };
    let spaced = text[start + word..].starts_with(' ');
    if word > 0 && spaced {
        start += word + 1;
    }
    let length = take(text, start, LONGEST, is_credential);
    let value = &text[start..start + length];
    let bare_word = value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'.' || b == b'_');
    let minimum = if rule == "authorization" { 12 } else { 6 };
    let mixed = rule == "basic" && value.bytes().skip(1).any(|b| b.is_ascii_uppercase());
    let names_it = bare_word && !mixed && (value.len() < 16 || value.contains(['.', '_']));
    (value.len() >= minimum && !names_it && !is_placeholder(value)).then_some((start..start + length, rule))
}

/// What a `Cookie` or `Set-Cookie` header or a `--cookie` option carries, to its end.
fn cookie(text: &str, name: Range<usize>) -> Option<Range<usize>> {
    let closing = take(text, name.end, 4, |b| matches!(b, b'"' | b'\'' | b'\\'));
    let rest = &text[name.end + closing..];
    let rest = match rest.strip_prefix(':') {
        Some(rest) => rest,
        None => {
            rest.strip_prefix([' ', '=']).filter(|_| closing == 0 && text[..name.start].ends_with("--"))?
        }
    };
    let blank = rest.len() - rest.trim_start_matches(' ').len();
    let start = text.len() - rest.len() + blank;
    let start = start + take(text, start, 4, |b| matches!(b, b'"' | b'\'' | b'\\'));
    let length = take(text, start, LONGEST, |b| !matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b'`'));
    let value = text[start..start + length].trim_end();
    let (name, content) = value.split_once('=')?;
    let is_name = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'));
    (is_name && content.len() >= 6 && !content.starts_with(['$', '{', '<', '[']))
        .then_some(start..start + value.len())
}

/// A parameter that is a key or a signature by its name alone.
fn parameter(text: &str, at: usize) -> Option<Range<usize>> {
    let length = take(text, at, LONGEST, |b| {
        b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'%' | b'-' | b'_')
    });
    (length >= 16 && !is_placeholder(&text[at..at + length])).then_some(at..at + length)
}
