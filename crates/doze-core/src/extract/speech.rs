//! What the person demanded: rules, corrections and preferences, in English; other languages are in [`super::cjk`].

use std::sync::LazyLock;

use regex::Regex;

use super::said::Said;
use super::shape::{MAX_BODY, MAX_TITLE, capitalised, files, imperative, short};
use super::{Extracted, cjk, gate, standing};
use crate::model::{Kind, Origin};

/// Characters of a sentence that tells who owns what; a longer one tells a story.
const MAX_OWNERSHIP: usize = 160;

/// A rule for all times: always, never, from now on.
static LASTING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)\b(?:always|never|from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future|next\s+time|every\s+time|whenever|remember\s+(?:that|to|this)|keep\s+in\s+mind|by\s+default|under\s+no\s+circumstances|for\s+all\s+(?:new\s+)?\w+)\b",
    )
    .expect("a valid pattern")
});

/// A preference of the speaker.
static LIKING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\bi(?:['’]d|\s+would)\s+rather\b|\bi\s+(?:(?:really|also|just|always|never|strongly|generally|usually|do|personally|do\s+not|don[’\x27]t|would|[’\x27]d)\s+)?(?:prefer|like|love|hate|dislike|want)\b.*\b(?:over|instead|rather|than|not|in\s+all|to\s+be|always|never|when|for)\b|\bi\s+(?:always|never|strongly|generally|usually|really)?\s*prefer\b|\bmy\s+preference\b")
        .expect("a valid pattern")
});

/// One thing in place of another.
static CONTRAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)(?:^|[,;:.]\s*|\b(?:please|we|should|must|to|just|and)\s+)(?:use|using|run|running|prefer|write|name|put|keep|import|call|target|go\s+with)\s+\S.*\b(?:instead\s+of|rather\s+than|not|in\s+place\s+of)\s+\S
        |\bprefer\s+\S.*\sover\s+\S
        |^\s*(?:no|nope|nah|actually|wrong|stop)\s*[,.:!–—-]+\s*(?:please\s+)?(?:we\s+)?(?:use|run|put|keep|write|call|name)\s+\S+\s+\S",
    )
    .expect("a valid pattern")
});

/// A `not` that belongs to a verb and sets nothing against anything.
static PLAIN_NOT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:is|are|was|were|am|be|do|does|did|will|would|should|must|can|could|have|has|had|or|why|if)\s+not\b|n['’]t\b")
        .expect("a valid pattern")
});

static INSTEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:instead\s+of|rather\s+than|in\s+place\s+of)\b").expect("a valid pattern")
});

/// Where something is, with a value that can be looked up: a number, a name in code marks, a path.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:no|actually|note|and|so|btw|fyi)\s*[,:]?\s+)*(?:the|our)?\s*\w[\w\s-]{2,40}\s+(?:listens|runs|lives|sits|(?:is|are)\s+(?:deployed|hosted|served|located|stored|kept|published)|(?:has\s+|was\s+)?moved)\s+(?:now\s+)?(?:on|in|at|to|under|from)\s+(?:port\s+)?(?:\w*\d[\w.:]*|`[^`]+`|[\w.-]+/[\w./-]*)",
    )
    .expect("a valid pattern")
});

/// A prohibition that begins a sentence and forbids something of a lasting sort.
static PROHIBITION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:no\s*[,.!–—-]+\s*|please\s+|and\s+|also,?\s+|ok(?:ay)?,?\s+|but\s+)*(?:do\s+not|don['’]t|stop)\s+(?:ever\s+)?(?:use|using|add|adding|write|writing|put|putting|import|importing|mock|mocking|commit|committing|push|pushing|introduce|introducing|hardcode|hard-code|edit|editing|modify|modifying|rely|skip|skipping|mention|mentioning|format|rebase|squash|amend|disable|suppress|create|creating|install|installing|depend)\s+\S",
    )
    .expect("a valid pattern")
});

/// The end of a habit, or of a prohibition: what shall no longer be done each time, and what may be done from now on. A
/// permission without such words is for once.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:no|ok(?:ay)?|please|and|also|but)\s*[,.:!–—-]*\s+)*(?:(?:stop|quit)\s+\w+ing|(?:no\s+need\s+to|you\s+(?:no\s+longer\s+(?:need|have)\s+to|do\s+not\s+(?:need|have)\s+to|don['’]t\s+(?:need|have)\s+to))\s+\w+)\s+\S.*\b(?:(?:before|after|on|for|with|in)\s+(?:each|every|all)|every\s+time|all\s+the\s+time|by\s+default|any\s?more)\b
        |^(?:(?:ok(?:ay)?|and|also|but|from\s+now\s+on)\s*[,:]?\s+)*(?:you\s+(?:may|can|are\s+(?:now\s+)?allowed\s+to)|it(?:['’]s|\s+is)\s+(?:now\s+)?(?:ok(?:ay)?|fine|allowed)\s+(?:for\s+you\s+)?to)\s+\w+\s+\S.*\b(?:from\s+now\s+on|going\s+forward|any\s?time|whenever\s+you\s+(?:like|want|need))\b",
    )
    .expect("a valid pattern")
});

/// What holds no more, or holds since: told of a thing or of a team, and not to somebody for once.
static CHANGED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:no|ok(?:ay)?|and|also|but|so|btw|fyi|note|actually)\s*[,:]?\s+)*(?:
(?:we|our\s+team|(?:the|this)\s+(?:team|project|repo|repository))\s+(?:no\s+longer|(?:do|does)(?:\s+not|n['’]t))\s+\S.*
            |no\s+longer\s+\w+\s+\S+\s+\S.*
            |we(?:['’]ve|\s+have)?\s+(?:just\s+)?(?:replaced|switched|dropped|retired|got\s+rid\s+of|moved\s+away\s+from)\s+\S+\s+\S.*
            |\S.{2,60}\s(?:is|are)\s+(?:now\s+)?(?:allowed|permitted|fine|ok(?:ay)?|forbidden)\s.*\b(?:now|again)[.!]?$
            |(?:the|our)\s.{2,40}\s(?:is|are|runs?|listens?|lives?)\s+(?:on|in|at)\s+\S+(?:\s+\S+)?\s+now[.!]?$
            |\S.{2,40}\s(?:is|are|has|have)\s+(?:gone|out|dead|left)\s*[,;]\s*\S.{6,}
            |(?:use|merge|work|open|push|write|run|deploy|commit)\b.*\b(?:any\s?more|from\s+now\s+on)[.!]?$
        )",
    )
    .expect("a valid pattern")
});

/// How things are done here, in the words of a team.
static CUSTOM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:no|also|and|but|well|actually|note|so)\s*[,:]?\s+)*(?:we|our\s+\w+|this\s+(?:project|repo|repository|codebase|package|crate)|the\s+(?:project|repo|repository|codebase|team))\s+(?:\w+ly\s+|do\s+not\s+|don['’]t\s+|does\s+not\s+|doesn['’]t\s+|only\s+)?(?:uses?|keeps?|writes?|names?|targets?|supports?|requires?|deploys?|follows?|pins?|runs?|stores?|publish(?:es)?|mocks?|avoids?|prefers?|ban(?:s|ned)?|(?:moved|switched|migrated)\s+(?:over\s+)?(?:from\s+\S+\s+)?to|upgraded\s+to|renamed|decided\s+to)\s+\S",
    )
    .expect("a valid pattern")
});

/// Who answers for what: a person or a team by name.
static OWNERSHIP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:(?i:no|actually|note|and|so|btw|fyi|please)\s*[,:]?\s+)*(?:
            (?P<who>@[\w-]+|[A-Z][\w.-]*(?:\s+(?:and\s+)?[A-Z][\w.-]*)*|(?i:the|our)\s+(?:[\w-]+\s+){1,2}team)\s+(?:(?:now\s+)?(?:owns?|maintains?|looks?\s+after)|(?:takes?|took|(?:has|have)\s+taken)\s+over\s+.{2,60}\sfrom|(?:is|are)(?:\s+now)?\s+(?:responsible\s+for|in\s+charge\s+of|the\s+(?:owners?|maintainers?|contacts?|experts?)\s+(?:of|for|on)))\s+\S
            |(?:\S+\s+){1,5}(?:is|are)\s+(?:owned|maintained|looked\s+after)\s+by\s+(?:@[\w-]+|[A-Z]\w+|(?:the\s+)?(?:[\w-]+\s+){1,2}team)\b
            |(?:\S+\s+){1,5}belongs?\s+to\s+(?:@[\w-]+|[A-Z]\w+|(?:the\s+)?(?:[\w-]+\s+){1,2}team)\b
            |(?i:always\s+)?(?i:ask|ping|check\s+with|talk\s+to)\s+(?:@[\w-]+|[A-Z]\w+|(?:the\s+)?(?:[\w-]+\s+){1,2}team)\s+(?:about|before|for\s+anything|when(?:ever)?)\s+\S
        )",
    )
    .expect("a valid pattern")
});

/// Words that stand where a name would and name nobody.
static NOBODY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:i|we|you|it|he|she|they|this|that|these|those|who|what|which|nobody|each|every|one|there|here|if|when|the)$")
        .expect("a valid pattern")
});

/// What a part of the system is built on, by a name of its own.
static BUILT_ON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^(?:(?i:no|actually|note|and|so|btw|fyi)\s*[,:]?\s+)*(?i:the|our)\s+(?:[\w-]+\s+){1,3}(?:uses|runs\s+on|is\s+(?:written|built)\s+(?:in|with|on)|is\s+backed\s+by|depends\s+on|talks\s+to|stores\s+\w+\s+in)\s+(?:[A-Z][\w.+\#-]*|`[^`]+`)(?:\s+[\w.-]+){0,6}[.!]?$",
    )
    .expect("a valid pattern")
});

/// What there shall be none of: `No default exports in our code base`.
static NONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:and|also|please|but)\s*,?\s+)*no\s+(?P<what>[\w.-]+)(?:\s+[\w.-]+){0,3}\s+(?:in|on|for|from|under|without|outside|inside|to|before|after|except)\s+\S",
    )
    .expect("a valid pattern")
});
/// What is reported to be missing, or comforts.
const NO_RULE: &[&str] = &[
    "need",
    "idea",
    "problem",
    "way",
    "rush",
    "worries",
    "change",
    "error",
    "issue",
    "luck",
    "difference",
    "failure",
    "warning",
    "match",
    "result",
    "response",
    "reason",
    "clue",
    "output",
    "diff",
    "update",
    "answer",
    "one",
    "longer",
    "more",
    "matter",
    "doubt",
    "sign",
    "space",
    "room",
    "test",
    "file",
];

/// What is forbidden, or wanted, in as many words.
static RULED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^\w[^?]{4,100}\s(?:is|are)\s+(?:strictly\s+)?(?:forbidden|prohibited|banned|not\s+allowed|off[\s-]limits)\b",
    )
    .expect("a valid pattern")
});
static WANTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:please\s+)?(?:prefer\s+\S+.*\s(?:for|over|in|when)\s+\S
        |(?:answer|reply|respond|write|speak|talk)\s+(?:to\s+me\s+|me\s+|your\s+\w+\s+)?in\s+(?:english|german|french|spanish|italian|portuguese|dutch|turkish|polish|russian|ukrainian|chinese|japanese|korean|deutsch|plain\s+\w+)\b)",
    )
    .expect("a valid pattern")
});

/// What something is meant to be.
static MEANT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)\b(?:is|are|was|were)\s+(?:not\s+)?(?:generally|intentionally|deliberately|explicitly|supposed\s+to|meant\s+to|designed\s+to|required\s+to|allowed\s+to|expected\s+to|by\s+design|on\s+purpose|backwards?[\s-]compatible|deprecated|owned\s+by|maintained\s+by|generated\s+(?:by|from))\b",
    )
    .expect("a valid pattern")
});

/// How something has to be or behave, by its name.
static SHALL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:no|yes|ok(?:ay)?|and|but|so|also|i\s+think|imo|actually|for\s+example)\s*[,:]?\s+)*(?:the|our|each|every|all|an?|both|`[^`]+`)\s*[\w\s`./'-]{2,60}?\s(?:should|must|has\s+to|have\s+to|needs?\s+to|ought\s+to)\s+(?:also\s+|not\s+|never\s+|always\s+|only\s+|just\s+)*(?P<verb>\w+)\s+(?P<rest>\S+)",
    )
    .expect("a valid pattern")
});

/// In all projects of the speaker, and not in all of one repository or team.
static EVERYWHERE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:in|for|across)\s+(?:(?:all|every|any)(?:\s+of)?\s+(?:my\s+)?(?:projects?|repos?|repositories)|all\s+my\s+code)\b")
        .expect("a valid pattern")
});

fn is_everywhere(sentence: &str) -> bool {
    EVERYWHERE.find(sentence).is_some_and(|found| {
        let next = sentence[found.end()..].split_whitespace().next().unwrap_or_default();
        !matches!(next, "of" | "in" | "under" | "inside" | "within" | "on" | "here" | "that" | "which")
    })
}

static BECAUSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:because|since|so\s+that|otherwise|due\s+to|as\s+it|to\s+avoid)\b")
        .expect("a valid pattern")
});

/// A sentence that only gives the reason for the one before.
static REASON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:because|since|otherwise|the\s+reason|that\s+(?:way|would|breaks)|it\s+(?:breaks|fails|misses|causes)|they\s+\w+)\b").expect("a valid pattern")
});

static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:run|use|with|via|through)\s+`([^`]{3,80})`").expect("a valid pattern")
});

/// What is told outright, when it tells more than of this moment.
fn told(sentence: &str) -> Option<(Kind, f64)> {
    let is_kept = gate::lasts(sentence) && gate::stands_alone(sentence);
    is_kept.then_some((Kind::Fact, 0.8))
}

/// The rules, preferences and facts among what the person said.
pub(super) fn find(said: &[Said<'_>]) -> Vec<Extracted> {
    said.iter().filter(|said| said.is_meant()).filter_map(found).collect()
}

fn found(said: &Said<'_>) -> Option<Extracted> {
    let sentence = said.sentence;
    let own = said.unquoted();
    let (kind, confidence) = judge(&own)
        .or_else(|| cjk::judge(&own))
        .or_else(|| standing::judge(&own))
        .or_else(|| said.is_demanded.then_some(()).and_then(|()| told(sentence)))?;
    let reason = said.next.filter(|next| REASON.is_match(next) && next.chars().count() <= 200);
    let told = if sentence.len() < said.whole.len() { capitalised(sentence) } else { sentence.to_owned() };
    let body = reason.map_or_else(|| told.clone(), |reason| format!("{told} {reason}"));
    let kind = if kind == Kind::Convention && BECAUSE.is_match(&body) { Kind::Decision } else { kind };
    Some(Extracted {
        kind,
        title: short(&imperative(sentence), MAX_TITLE),
        files: files(&body),
        body: short(&body, MAX_BODY),
        topic_key: None,
        confidence,
        evidence: vec![said.ordinal],
        origin: Origin::Person,
        at: said.event.at,
        everywhere: is_everywhere(sentence),
    })
}

/// What an English sentence amounts to, and how sure that is.
fn judge(sentence: &str) -> Option<(Kind, f64)> {
    if is_ownership(sentence) {
        return Some((Kind::Ownership, 0.75));
    }
    if !gate::stands_alone(sentence) {
        return None;
    }
    let lasting = LASTING.is_match(sentence);
    let (kind, confidence) = if LIKING.is_match(sentence) {
        (Kind::Preference, if lasting { 0.9 } else { 0.8 })
    } else if lasting && is_order(sentence) {
        (Kind::Convention, 0.85)
    } else if PROHIBITION.is_match(sentence) || ENDS.is_match(sentence) || is_contrast(sentence) {
        (Kind::Convention, 0.75)
    } else if WANTED.is_match(sentence) {
        (Kind::Preference, 0.75)
    } else if CUSTOM.is_match(sentence)
        || RULED.is_match(sentence)
        || is_changed(sentence)
        || forbids_a_thing(sentence)
    {
        (Kind::Convention, 0.7)
    } else if BUILT_ON.is_match(sentence) {
        (Kind::Fact, 0.66)
    } else if PLACE.is_match(sentence) {
        (Kind::Fact, 0.7)
    } else if MEANT.is_match(sentence) {
        (Kind::Fact, 0.66)
    } else if says_how_it_shall_be(sentence) {
        (Kind::Decision, 0.66)
    } else {
        return None;
    };
    let kind = match kind {
        Kind::Convention if is_everywhere(sentence) => Kind::Preference,
        Kind::Convention if COMMAND.is_match(sentence) => Kind::Command,
        kind => kind,
    };
    Some((kind, confidence))
}

/// `Anna owns billing` says all it has to in three words.
fn is_ownership(sentence: &str) -> bool {
    let is_named = OWNERSHIP.captures(sentence).is_some_and(|found| {
        let who = found.name("who").map_or("", |who| who.as_str());
        !NOBODY.is_match(who.split_whitespace().next().unwrap_or_default()) || who.ends_with("team")
    });
    is_named && sentence.chars().count() <= MAX_OWNERSHIP && gate::lasts(sentence)
}

/// `The list should show the newest first`, and not `the tests should pass`.
fn says_how_it_shall_be(sentence: &str) -> bool {
    SHALL.captures(sentence).is_some_and(|found| {
        let (verb, rest) = (found["verb"].to_lowercase(), found["rest"].to_lowercase());
        let is_state =
            matches!(&verb[..], "pass" | "work" | "compile" | "succeed" | "run" | "finish" | "look" | "have");
        let is_done = verb == "be"
            && matches!(
                rest.trim_end_matches(['.', ',', '!']),
                "fixed"
                    | "done"
                    | "green"
                    | "ok"
                    | "fine"
                    | "good"
                    | "possible"
                    | "easy"
                    | "enough"
                    | "working"
                    | "able"
                    | "ready"
            );
        !is_state && !is_done
    })
}

/// A change is told with a word of time, or as one.
fn is_changed(sentence: &str) -> bool {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i)\b(?:no\s+longer|any\s?more|now|again|from\s+now\s+on|replaced|switched|dropped|retired|rid\s+of|away\s+from|gone|out|dead|left)\b",
        )
        .expect("a valid pattern")
    });
    CHANGED.is_match(sentence) && TIME.is_match(sentence)
}

fn forbids_a_thing(sentence: &str) -> bool {
    NONE.captures(sentence).is_some_and(|found| {
        let what = found["what"].to_lowercase();
        !NO_RULE.contains(&what.as_str()) && !NO_RULE.contains(&what.trim_end_matches('s'))
    })
}

fn is_contrast(sentence: &str) -> bool {
    CONTRAST.is_match(sentence) && (INSTEAD.is_match(sentence) || !PLAIN_NOT.is_match(sentence))
}

static ORDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:no|ok(?:ay)?|please|also|and|but|so|well|actually|from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future|next\s+time|remember\s+(?:that|to)|keep\s+in\s+mind(?:\s+that)?|(?:in|for|on|if|after|before|whenever|when|every\s+time)\b[^,]{1,60},|whenever\b[^,]*|every\s+time\b[^,]*|for\s+all\s+(?:new\s+)?\w+|by\s+default)\s*[,:]?\s+)*
        (?:please\s+)?(?:you\s+(?:should|must|can|need)\b|we\s+|always\b|never\b|do\s+not\b|don['’]t\b|make\s+sure\b|use\b|run\b|write\b|put\b|keep\b|add\b|ask\b|check\b|prefer\b|include\b|avoid\b|name\b|commit\b|push\b|test\b|update\b|the\s+\w+|all\s+\w+|our\s+\w+|tests?\b|i\s+)",
    )
    .expect("a valid pattern")
});

/// What always or never happens, told as it is (`always fails`), after these words.
static ADVERB: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\b(?:always|never)\s+(\w+)").expect("a valid pattern"));

/// Tells somebody to do something, or how something must be, from its first words on.
fn is_order(sentence: &str) -> bool {
    let tells = |verb: &str| {
        let verb = verb.to_lowercase();
        let third_person = verb.ends_with('s') && !verb.ends_with("ss");
        let past = verb.ends_with("ed")
            && !matches!(&verb[..], "embed" | "need" | "seed" | "feed" | "proceed" | "exceed");
        third_person || past || verb == "mind"
    };
    ORDER.is_match(sentence) && !ADVERB.captures(sentence).is_some_and(|found| tells(&found[1]))
}
