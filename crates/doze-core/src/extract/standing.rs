//! How things stand, told without a word like `always`: what something is and not, what every one of a sort needs, what has
//! to be done before or after something. The form tells that it holds beyond the moment.

use std::sync::LazyLock;

use regex::Regex;

use super::gate;
use crate::model::Kind;

/// Words that open a sentence and say nothing.
const LEAD: &str = r"^(?:(?:no|also|and|but|note|so|btw|fyi|please|well|actually|oh)\s*[,:]?\s+)*(?:that\s+)?(?:(?:the|our)\s+)?";

/// What a form makes a sentence, how sure that is, and the form behind [`LEAD`].
const FORMS: &[(Kind, f64, &str)] = &[
    // The test database is on port 5433, not 5432; secrets come from Vault, not from .env files.
    (
        Kind::Fact,
        0.7,
        r"[\w][\w\s./-]{2,50}?\s(?:is|are|comes?|lives?|goes|runs?)\s+(?:now\s+)?(?:on|in|from|called|named|at|to|under|with|by)\s+\S[^,;]{0,60},\s+(?:and\s+)?not\s+\S",
    ),
    // Migrations run with `pnpm db:migrate`, never by hand.
    (Kind::Convention, 0.75, r"[\w][\w\s`./:@-]{5,80},\s+(?:but\s+)?never\s+\w+\s+\S"),
    // Every PR needs a changelog fragment.
    (
        Kind::Convention,
        0.7,
        r"(?:every|each|all|any)\s+(?:new\s+)?[\w][\w\s-]{1,40}?\s(?:(?:needs?|gets?|requires?|carries|carry)\s+(?:its\s+own|an?|one|at\s+least|to\s+be)|(?:has|have)\s+(?:its\s+own|exactly\s+one|at\s+least|to\s+be))\s+\S",
    ),
    // All new services are written in Rust; dates in the API are always ISO 8601.
    (
        Kind::Convention,
        0.7,
        r"(?:every|each|all|new)\s+[\w][\w\s-]{1,40}?\s(?:is|are)\s+(?:written|built|made|tested|deployed|stored|kept|named|formatted|reviewed|signed)\s+(?:in|with|on|as|by|under|to)\s+\S",
    ),
    // You have to be on the VPN to reach the staging cluster; you need to run `make gen` after you changed a .proto file.
    (
        Kind::Convention,
        0.7,
        r"you\s+(?:have|need)\s+to\s+\S.{5,100}?\s(?:(?:after|before|when|whenever|if)\s+you|to\s+(?:reach|access|use|run|build|deploy|connect|log|sign|see|test))\b",
    ),
    // Ask before you delete any file.
    (
        Kind::Convention,
        0.75,
        r"(?:always\s+)?ask\s+(?:me\s+|us\s+)?(?:first\s+)?before\s+(?:you\s+\w+|\w+ing)\s+(?:any|a|an|anything|files?)\b",
    ),
    // Don't touch anything in vendor/.
    (
        Kind::Convention,
        0.75,
        r"(?:do\s+not|don['’]t)\s+(?:ever\s+)?(?:touch|change|delete|remove|rename|move|open|edit)\s+(?:any(?:thing)?|everything|files?|what(?:ever)?\s+is)\s+(?:\w+\s+)?(?:in|under|below|inside)\s+\S",
    ),
    // Error messages must never include the user's email.
    (Kind::Convention, 0.75, r"[\w][\w\s-]{2,40}?\s(?:must|may|should)\s+(?:never|always|only)\s+\w+\s+\S"),
    // Postgres has to be 15; our Python is 3.11.
    (
        Kind::Fact,
        0.7,
        r"[A-Z][\w.+#-]*(?:\s[\w.]+)?\s+(?:is|has\s+to\s+be|must\s+be|must\s+stay(?:\s+at)?|stays\s+at|is\s+pinned\s+to)\s+(?:on\s+|at\s+)?(?:version\s+)?v?\d[\w.]*[,.;!]?(?:\s|$)",
    ),
    // Generate mocks with mockery, not gomock.
    (
        Kind::Convention,
        0.75,
        r"[A-Za-z]+e?\s+\S[^,;]{1,50}\s(?:with|in|on|via|through|from|using|by)\s+\S[^,;]{0,40},\s+not\s+(?:with\s+|in\s+|on\s+|via\s+|by\s+)?\S",
    ),
];

/// Shorter ones.
const MORE_FORMS: &[(Kind, f64, &str)] = &[
    // Keep functions under 40 lines; keep commit messages in imperative mood.
    (Kind::Convention, 0.75, r"keep\s+(?:\w+\s+)?\w+s\s+(?:under|below|within|in|short|small)\b.*\w"),
    // Our default branch is `trunk`.
    (Kind::Fact, 0.7, r"[\w][\w\s-]{3,40}?\sis\s+(?:called\s+|named\s+)?`[^`]+`[.!]?$"),
    // Feature flags live in config/flags.yaml.
    (
        Kind::Fact,
        0.7,
        r"[\w][\w\s-]{3,40}?\s(?:lives?|sits?|belongs?|goes?)\s+(?:in|under|below)\s+(?:`[^`]+`|[\w.-]+/[\w./-]*)",
    ),
    // Dates in the API are always ISO 8601 in UTC.
    (
        Kind::Convention,
        0.75,
        r"[\w][\w\s-]{3,40}?\s(?:is|are)\s+always\s+(?:in|on|written|named|kept|stored|given|sent|(?-i:[A-Z]{2,})|`)",
    ),
    // The mobile app supports iOS 15 and up.
    (Kind::Fact, 0.66, r"[\w][\w\s-]{2,30}?\ssupports?\s+\S+\s+v?\d"),
];

static PATTERNS: LazyLock<Vec<(Kind, f64, Regex)>> = LazyLock::new(|| {
    let compiled = FORMS.iter().chain(MORE_FORMS).map(|(kind, confidence, form)| {
        let flags = if form.starts_with("[A-Z]") { "" } else { "(?i)" };
        let lead = if flags.is_empty() { LEAD.replacen('^', "^(?i:", 1) + ")" } else { LEAD.to_owned() };
        (*kind, *confidence, Regex::new(&format!("{flags}{lead}{form}")).expect("a valid pattern"))
    });
    compiled.collect()
});

/// What a sentence amounts to by its form.
pub(super) fn judge(sentence: &str) -> Option<(Kind, f64)> {
    if !gate::stands_alone(sentence) || gate::is_past(sentence) {
        return None;
    }
    PATTERNS
        .iter()
        .find(|(.., form)| form.is_match(sentence))
        .map(|(kind, confidence, _)| (*kind, *confidence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_by_its_form_is_told_from_what_happens() {
        for (sentence, kind) in [
            ("The test database is on port 5433, not 5432.", Kind::Fact),
            ("The release branch is called release/next, not main.", Kind::Fact),
            ("Secrets come from Vault, not from .env files.", Kind::Fact),
            ("Migrations run with `pnpm db:migrate`, never by hand.", Kind::Convention),
            ("Every PR needs a changelog fragment under changes/.", Kind::Convention),
            ("All new services are written in Rust, the old ones stay in Go.", Kind::Convention),
            ("You have to be on the VPN to reach the staging cluster.", Kind::Convention),
            ("You need to run `make gen` after you changed a .proto file.", Kind::Convention),
            ("Ask before you delete any file.", Kind::Convention),
            ("Don't touch anything in vendor/, that gets overwritten by the sync job.", Kind::Convention),
            ("Error messages must never include the user's email.", Kind::Convention),
            ("Postgres has to be 15, with 16 the extension doesn't load.", Kind::Fact),
            ("Our Python is 3.11, don't use syntax from 3.12.", Kind::Fact),
            ("Please keep commit messages in imperative mood, under 60 chars.", Kind::Convention),
            ("Keep functions under 40 lines.", Kind::Convention),
            ("Our default branch is `trunk`.", Kind::Fact),
            ("Feature flags live in config/flags.yaml.", Kind::Fact),
            ("Dates in the API are always ISO 8601 in UTC.", Kind::Convention),
            ("The mobile app supports iOS 15 and up.", Kind::Fact),
            ("Generate mocks with mockery, not gomock, because gomock is unmaintained.", Kind::Convention),
        ] {
            assert_eq!(judge(sentence).map(|(kind, _)| kind), Some(kind), "{sentence}");
        }
        for sentence in [
            "You need to fix the tests before we go on.",
            "The build is on fire, not again please.",
            "The error is in the parser, not sure why.",
            "Don't change the tests, fix the code.",
            "It crashed on port 5433, not on 5432.",
            "The deploy failed with a timeout, not with a crash.",
            "All tests are green with the new parser.",
            "The last run was on Node 18, not Node 20.",
            "Every test has a different error.",
            "Ask before lunch.",
            "Keep the server running in the background.",
            "The tests are always slow on Mondays.",
            "Node is 3 times faster than before.",
        ] {
            assert_eq!(judge(sentence), None, "{sentence}");
        }
    }
}
