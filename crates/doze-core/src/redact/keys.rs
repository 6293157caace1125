//! Keys and tokens that their own form gives away, mostly a prefix. The forms are those the issuers publish.

use std::sync::LazyLock;

use regex::Regex;

use super::Found;
use super::value::is_placeholder;
use crate::text::regex;

/// The characters a key may consist of behind its prefix.
#[derive(Debug, Clone, Copy)]
enum Chars {
    Alnum,
    Upper,
    Hex,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Dash,
    /// Letters, digits, `_`, `-`, `.`.
    Dot,
    /// Letters, digits, `+`, `/`, `=`.
    Base64,
}

impl Chars {
    fn has(self, b: u8) -> bool {
        match self {
            Self::Alnum => b.is_ascii_alphanumeric(),
            Self::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Hex => b.is_ascii_hexdigit(),
            Self::Word => b.is_ascii_alphanumeric() || b == b'_',
            Self::Dash => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'),
            Self::Dot => b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'),
            Self::Base64 => b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='),
        }
    }
}

/// How many such characters follow.
#[derive(Debug, Clone, Copy)]
enum Len {
    AtLeast(usize),
    Exactly(usize),
}
use Chars::{Alnum, Base64, Dash, Dot, Hex, Upper, Word};
use Len::{AtLeast, Exactly};

/// Rule, prefix, characters, length. Of two prefixes that begin alike the longer stands first.
const KEYS: &[(&str, &str, Chars, Len)] = &[
    ("aws-key", "AKIA", Upper, Exactly(16)),
    ("aws-key", "ASIA", Upper, Exactly(16)),
    ("aws-key", "ABIA", Upper, Exactly(16)),
    ("aws-key", "ACCA", Upper, Exactly(16)),
    ("github", "github_pat_", Word, AtLeast(22)),
    ("github", "ghp_", Alnum, AtLeast(30)),
    ("github", "gho_", Alnum, AtLeast(30)),
    ("github", "ghu_", Alnum, AtLeast(30)),
    ("github", "ghs_", Dot, AtLeast(30)),
    ("github", "ghr_", Alnum, AtLeast(30)),
    ("gitlab", "glpat-", Dot, AtLeast(16)),
    ("gitlab", "gldt-", Dash, AtLeast(16)),
    ("gitlab", "glrt-", Dot, AtLeast(16)),
    ("gitlab", "glcbt-", Dash, AtLeast(16)),
    ("gitlab", "glptt-", Dash, AtLeast(16)),
    ("gitlab", "glft-", Dash, AtLeast(16)),
    ("gitlab", "glsoat-", Dash, AtLeast(16)),
    ("gitlab", "glimt-", Dash, AtLeast(16)),
    ("gitlab", "glagent-", Dash, AtLeast(16)),
    ("gitlab", "GR1348941", Dash, AtLeast(20)),
    ("atlassian", "ATATT3", Dash, AtLeast(40)),
    ("bitbucket", "ATCTT3", Dash, AtLeast(40)),
    ("bitbucket", "ATBB", Alnum, AtLeast(24)),
    ("slack", "xoxb-", Dash, AtLeast(10)),
    ("slack", "xoxp-", Dash, AtLeast(10)),
    ("slack", "xoxa-", Dash, AtLeast(10)),
    ("slack", "xoxr-", Dash, AtLeast(10)),
    ("slack", "xoxs-", Dash, AtLeast(10)),
    ("slack", "xoxo-", Dash, AtLeast(10)),
    ("slack", "xoxc-", Dash, AtLeast(10)),
    ("slack", "xoxd-", Dash, AtLeast(10)),
    ("slack", "xoxe-", Dash, AtLeast(10)),
    ("slack", "xoxe.xox", Dash, AtLeast(10)),
    ("slack", "xapp-", Dash, AtLeast(10)),
    ("slack-webhook", "hooks.slack.com/services/", Chars::Dash, AtLeast(0)),
    ("slack-webhook", "hooks.slack.com/workflows/", Chars::Dash, AtLeast(0)),
    ("discord-webhook", "/api/webhooks/", Chars::Dash, AtLeast(0)),
    ("telegram", ":AA", Dash, Exactly(33)),
    ("anthropic", "sk-ant-", Dash, AtLeast(16)),
    ("openrouter", "sk-or-", Dash, AtLeast(20)),
    ("openai", "sk-proj-", Dash, AtLeast(16)),
    ("openai", "sk-svcacct-", Dash, AtLeast(16)),
    ("openai", "sk-admin-", Dash, AtLeast(16)),
    ("openai", "sk-None-", Dash, AtLeast(16)),
    ("openai", "sk-", Dash, AtLeast(20)),
    ("google", "AIza", Dash, AtLeast(30)),
    ("google", "GOCSPX-", Dash, AtLeast(20)),
    ("google", "ya29.", Dot, AtLeast(20)),
    ("google", "1//0", Dash, AtLeast(30)),
    ("groq", "gsk_", Alnum, AtLeast(20)),
    ("huggingface", "hf_", Alnum, AtLeast(20)),
    ("huggingface", "api_org_", Alnum, AtLeast(30)),
    ("replicate", "r8_", Alnum, AtLeast(30)),
    ("xai", "xai-", Alnum, AtLeast(20)),
    ("perplexity", "pplx-", Alnum, AtLeast(20)),
    ("nvidia", "nvapi-", Dash, AtLeast(20)),
    ("together", "tgp_v1_", Dash, AtLeast(20)),
    ("cerebras", "csk-", Alnum, AtLeast(30)),
    ("fireworks", "fw_", Alnum, AtLeast(20)),
    ("tavily", "tvly-", Dash, AtLeast(20)),
    ("jina", "jina_", Dash, AtLeast(30)),
    ("langsmith", "lsv2_pt_", Word, AtLeast(20)),
    ("langsmith", "lsv2_sk_", Word, AtLeast(20)),
    ("pinecone", "pcsk_", Word, AtLeast(30)),
    ("stripe", "sk_live_", Alnum, AtLeast(10)),
    ("stripe", "sk_test_", Alnum, AtLeast(10)),
    ("stripe", "rk_live_", Alnum, AtLeast(10)),
    ("stripe", "rk_test_", Alnum, AtLeast(10)),
    ("stripe", "whsec_", Base64, AtLeast(20)),
    ("elevenlabs", "sk_", Hex, AtLeast(40)),
    ("npm", "npm_", Alnum, AtLeast(30)),
    ("pypi", "pypi-", Dash, AtLeast(16)),
    ("crates-io", "cio", Alnum, Exactly(32)),
    ("rubygems", "rubygems_", Hex, AtLeast(32)),
    ("nuget", "oy2", Alnum, Exactly(43)),
    ("docker", "dckr_pat_", Dash, AtLeast(20)),
    ("docker", "dckr_oat_", Dash, AtLeast(20)),
    ("digitalocean", "dop_v1_", Hex, AtLeast(40)),
    ("digitalocean", "doo_v1_", Hex, AtLeast(40)),
    ("digitalocean", "dor_v1_", Hex, AtLeast(40)),
    ("sendgrid", "SG.", Dot, AtLeast(40)),
    ("twilio", "SK", Hex, Exactly(32)),
    ("databricks", "dapi", Hex, Exactly(32)),
    ("shopify", "shpat_", Hex, AtLeast(32)),
    ("shopify", "shpca_", Hex, AtLeast(32)),
    ("shopify", "shppa_", Hex, AtLeast(32)),
    ("shopify", "shpss_", Hex, AtLeast(32)),
    ("square", "sq0atp-", Dash, AtLeast(20)),
    ("square", "sq0csp-", Dash, AtLeast(20)),
    ("linear", "lin_api_", Alnum, AtLeast(30)),
    ("notion", "ntn_", Alnum, AtLeast(30)),
    ("figma", "figd_", Dash, AtLeast(30)),
    ("doppler", "dp.pt.", Alnum, AtLeast(30)),
    ("doppler", "dp.st.", Dot, AtLeast(30)),
    ("vault", "hvs.", Dash, AtLeast(20)),
    ("vault", "hvb.", Dash, AtLeast(20)),
    ("grafana", "glsa_", Word, AtLeast(30)),
    ("grafana", "glc_", Base64, AtLeast(30)),
    ("sentry", "sntrys_", Base64, AtLeast(30)),
    ("sentry", "sntryu_", Hex, AtLeast(30)),
    ("supabase", "sbp_", Hex, AtLeast(30)),
    ("supabase", "sb_secret_", Dash, AtLeast(20)),
    ("planetscale", "pscale_tkn_", Dot, AtLeast(30)),
    ("planetscale", "pscale_pw_", Dot, AtLeast(30)),
    ("newrelic", "NRAK-", Upper, AtLeast(20)),
    ("heroku", "HRKU-", Dash, AtLeast(30)),
    ("netlify", "nfp_", Alnum, AtLeast(30)),
    ("fly", "fm2_", Base64, AtLeast(30)),
    ("postman", "PMAK-", Dash, AtLeast(40)),
    ("tailscale", "tskey-", Dash, AtLeast(16)),
    ("onepassword", "ops_eyJ", Base64, AtLeast(40)),
    ("age", "AGE-SECRET-KEY-1", Upper, AtLeast(40)),
    ("jwt", "eyJ", Dash, AtLeast(0)),
];

static PREFIXES: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives: Vec<String> = KEYS.iter().map(|(_, prefix, ..)| ::regex::escape(prefix)).collect();
    // The alternatives are fixed literals; the table test builds this expression.
    regex(&alternatives.join("|"))
});

pub(super) fn find(text: &str) -> Vec<Found> {
    let mut found = discord_tokens(text);
    let mut from = 0;
    // A key may follow directly on another one.
    let mut last_end = 0;
    while let Some(hit) = PREFIXES.find_at(text, from) {
        from = hit.end();
        let Some(&(rule, prefix, chars, len)) = KEYS.iter().find(|(_, prefix, ..)| *prefix == hit.as_str())
        else {
            continue;
        };
        let range = match prefix {
            "eyJ" => jwt_end(text, hit.start()).map(|end| hit.start()..end),
            ":AA" => telegram(text, hit.start(), chars, len),
            "/api/webhooks/" | "hooks.slack.com/services/" | "hooks.slack.com/workflows/" => {
                webhook(text, hit.start(), hit.end())
            }
            _ => {
                let begins = starts_word(text, hit.start())
                    || hit.start() == last_end
                    || is_certain(prefix, &text[hit.end()..], chars);
                begins
                    .then(|| key_end(text, hit.end(), chars, len))
                    .flatten()
                    .map(|end| if WRAPPED.contains(&rule) { next_line(text, end, chars) } else { end })
                    .map(|end| hit.start()..end)
            }
        };
        let Some(range) = range else { continue };
        if is_placeholder(&text[hit.end()..range.end])
            || (prefix == "sk-" && !is_unlike_words(&text[range.clone()]))
        {
            // Not looked at again from each prefix inside it: that would be quadratic.
            from = range.end;
            continue;
        }
        (from, last_end) = (range.end, range.end);
        let follower = if rule == "aws-key" { aws_secret(text, range.end) } else { None };
        found.push(Found { range, rule });
        if let Some(range) = follower {
            (from, last_end) = (range.end, range.end);
            found.push(Found { range, rule: "aws-secret" });
        }
    }
    found
}

/// Rules whose keys are so long that terminals and mails break them.
const WRAPPED: &[&str] = &["anthropic", "openai", "openrouter", "slack", "pypi", "sendgrid"];

/// Shortest rest of a broken key.
const SHORTEST_REST: usize = 8;

/// Where a key that its line end breaks goes on: in the next line, which holds nothing else.
fn next_line(text: &str, end: usize, chars: Chars) -> usize {
    let rest = &text[end..];
    let Some(next) = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")) else { return end };
    let start = text.len() - next.len();
    let length = run(text, start, chars);
    let line = &text[start..start + length];
    let closes = next[length..].chars().next().is_none_or(|c| matches!(c, '\n' | '\r' | '"' | '\'' | '`'));
    let is_key = PREFIXES.find(line).is_some_and(|prefix| prefix.start() == 0);
    let fits = length >= SHORTEST_REST && line.bytes().any(|b| b.is_ascii_digit()) && closes && !is_key;
    if fits { start + length } else { end }
}

/// Prefixes that say it also in the middle of a word: longer than a syllable, and closed by a mark.
fn is_certain(prefix: &str, body: &str, chars: Chars) -> bool {
    const LOOKED_AT: usize = 64;
    let length = body.bytes().take(LOOKED_AT).take_while(|b| chars.has(*b)).count();
    let body = &body[..length];
    let random = |part: &str| {
        part.len() >= 16
            && part.bytes().any(|b| b.is_ascii_digit())
            && part.bytes().any(|b| b.is_ascii_alphabetic())
    };
    prefix.len() >= 4 && prefix.ends_with(['_', '-']) && body.split(['-', '_', '.']).any(random)
}

/// Whether a word may start here: not behind a letter or digit, unless those are an escape: `\n`, `%3D`, `\u0022`,
/// the colour of a terminal.
pub(super) fn starts_word(text: &str, at: usize) -> bool {
    let before = &text.as_bytes()[..at];
    let hex = u8::is_ascii_hexdigit;
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] if hex(a) && hex(b) => true,
        [.., b'\\', b'x', a, b] if hex(a) && hex(b) => true,
        [.., b'\\', b'u', a, b, c, d] if [a, b, c, d].into_iter().all(hex) => true,
        [colour @ .., b'm'] if is_colour(colour) => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

/// `[31;1` behind an escape character, raw or written out: `\u001b`, `\x1b`, `\033`, `\e`.
fn is_colour(before: &[u8]) -> bool {
    let digits = before.iter().rev().take(20).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    let Some(escape) = before[..before.len() - digits].strip_suffix(b"[") else { return false };
    [b"\x1b" as &[u8], b"u001b", b"u001B", b"x1b", b"x1B", b"033", b"\\e"]
        .iter()
        .any(|end| escape.ends_with(end))
}

fn run(text: &str, at: usize, chars: Chars) -> usize {
    text.as_bytes()[at..].iter().take_while(|b| chars.has(**b)).count()
}

fn key_end(text: &str, at: usize, chars: Chars, len: Len) -> Option<usize> {
    let run = match len {
        Exactly(n) => text.as_bytes()[at..].iter().take(n + 1).take_while(|b| chars.has(**b)).count(),
        AtLeast(_) => run(text, at, chars),
    };
    let length = match len {
        Exactly(n) => {
            let next = text.as_bytes().get(at + run);
            (run == n && !next.is_some_and(u8::is_ascii_alphanumeric)).then_some(n)?
        }
        AtLeast(n) => (run >= n).then_some(run)?,
    };
    let body = &text[at..at + length];
    // A dot at the end is the sentence's.
    let body = if matches!(chars, Dot) { body.trim_end_matches('.') } else { body };
    Some(at + body.len())
}

/// `sk-` begins class names and the like as well: a key has a digit or a long part without hyphens.
fn is_unlike_words(key: &str) -> bool {
    let head = &key[..key.len().min(200)];
    head.split(['-', '_']).any(|part| part.len() >= 20)
        || (head.bytes().filter(u8::is_ascii_digit).count() >= 3
            && head.split('-').any(|part| part.len() >= 12))
}

/// Three parts (five when encrypted), the last of which may be cut off.
fn jwt_end(text: &str, at: usize) -> Option<usize> {
    let before = &text.as_bytes()[..at];
    let escaped = matches!(before, [.., b'\\', b'n' | b'r' | b't']);
    if before.last().is_some_and(|b| Dash.has(*b)) && !escaped {
        return None;
    }
    let header = run(text, at, Dash);
    let payload_at = at + header + 1;
    if header < 10 || text.as_bytes().get(at + header) != Some(&b'.') {
        return None;
    }
    let payload = run(text, payload_at, Dash);
    if payload < 10 {
        return None;
    }
    let mut end = payload_at + payload;
    for _ in 0..3 {
        if text.as_bytes().get(end) != Some(&b'.') {
            break;
        }
        let part = run(text, end + 1, Dash);
        if part == 0 {
            break;
        }
        end += 1 + part;
    }
    Some(end)
}

/// `123456789:AA…`: a bot's number stands before the colon.
fn telegram(text: &str, colon: usize, chars: Chars, len: Len) -> Option<std::ops::Range<usize>> {
    let digits = text.as_bytes()[..colon].iter().rev().take(11).take_while(|b| b.is_ascii_digit()).count();
    let start = colon - digits;
    let boundary =
        start == 0 || !text.as_bytes()[start - 1].is_ascii_alphanumeric() || starts_word(text, start);
    let end = key_end(text, colon + 3, chars, len)?;
    ((8..=10).contains(&digits) && boundary).then_some(start..end)
}

/// The secret part of a webhook's address: its path.
fn webhook(text: &str, start: usize, path: usize) -> Option<std::ops::Range<usize>> {
    let host = &text.as_bytes()[..start];
    if text[start..].starts_with("/api")
        && !(host.ends_with(b"discord.com") || host.ends_with(b"discordapp.com"))
    {
        return None;
    }
    let length = text.as_bytes()[path..].iter().take_while(|b| Dash.has(**b) || **b == b'/').count();
    let secret = &text[path..path + length];
    let long_part = secret.split('/').any(|part| part.len() >= 16 && !is_placeholder(part));
    (long_part && secret.contains('/')).then_some(path..path + length)
}

/// The secret that stands right behind an access key id, as in exported credentials.
fn aws_secret(text: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let rest = text.as_bytes().get(at..)?;
    let gap = rest
        .iter()
        .take(6)
        .take_while(|b| matches!(b, b' ' | b',' | b':' | b';' | b'\t' | b'"' | b'\'' | b'|' | b'\n'))
        .count();
    let start = at + gap;
    let end = key_end(text, start, Base64, Exactly(40))?;
    (gap > 0 && text[start..end].bytes().any(|b| b.is_ascii_lowercase())).then_some(start..end)
}

/// Discord's bot tokens have no prefix, only three parts of 24–28, 6 and 27 or more characters.
fn discord_tokens(text: &str) -> Vec<Found> {
    let bytes = text.as_bytes();
    let mut found: Vec<Found> = Vec::new();
    for (dot, _) in text.match_indices('.') {
        if bytes.get(dot + 7) != Some(&b'.') || !bytes[dot + 1..dot + 7].iter().all(|b| Dash.has(*b)) {
            continue;
        }
        let mut head = bytes[..dot].iter().rev().take(30).take_while(|b| Dash.has(**b)).count();
        if head < 30 && matches!(bytes[..dot - head], [.., b'\\']) {
            head = head.saturating_sub(1); // The letter of an escape such as `\n`.
        }
        let start = dot - head.min(28);
        let tail = bytes[dot + 8..].iter().take(80).take_while(|b| Dash.has(**b)).count();
        let fits = (24..=28).contains(&head)
            && (27..80).contains(&tail)
            && matches!(bytes[start], b'M' | b'N' | b'O');
        if fits && found.last().is_none_or(|last| last.range.end <= start) {
            found.push(Found { range: start..dot + 8 + tail, rule: "discord" });
        }
    }
    found
}
