//! Cutting a text into sentences, and a sentence into title, body and files.

use std::sync::LazyLock;

use regex::Regex;

use crate::report::own_sentences;
use crate::text;
use crate::tokens::is_cjk;

/// Characters of a title and of a body (S1.11).
pub(super) const MAX_TITLE: usize = 80;
pub(super) const MAX_BODY: usize = 400;
/// Files named by one memory.
const MAX_FILES: usize = 5;
/// Sentences looked at in one text, and lines beyond which a text is taken for a paste.
const MAX_SENTENCES: usize = 200;
const MAX_OWN_LINES: usize = 40;
const MAX_REPORT_LINES: usize = 300;
/// Lines at each end of a paste that are taken for the speaker's own.
const PASTE_ENDS: usize = 3;

/// The sentences that a speaker says in a text: code blocks, quotations, tables, headings, pasted logs and talk about
/// memories are not among them.
pub(super) fn sentences(text: &str, by_agent: bool) -> Vec<&str> {
    lined(text, by_agent).into_iter().map(|(_, sentence)| sentence).collect()
}

/// The same with the line that each stands on, counted among the lines of prose.
pub(super) fn lined(text: &str, by_agent: bool) -> Vec<(usize, &str)> {
    let lines = text::prose_lines(text);
    // People paste logs without fencing them; agents write long reports.
    let max = if by_agent { MAX_REPORT_LINES } else { MAX_OWN_LINES };
    let own = |at: usize| lines.len() <= max || at < PASTE_ENDS || at + PASTE_ENDS >= lines.len();
    lines
        .iter()
        .enumerate()
        .filter(|(at, line)| own(*at) && is_speech(line))
        .flat_map(|(at, line)| {
            own_sentences(text::bare_line(line), by_agent).into_iter().map(move |sentence| (at, sentence))
        })
        .take(MAX_SENTENCES)
        .collect()
}

/// Not a heading, a table row, an indented block or a log line.
fn is_speech(line: &str) -> bool {
    let inner = line.trim_start();
    !line.starts_with('\t')
        && !line.starts_with("    ")
        && !inner.starts_with(['#', '|', '<', '$', '{', '}', '/', '@', '"', '“', '['])
        && !inner.contains('\u{1b}')
}

static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)^(?:(?:i\s+think\s+(?:it|that)['’]?s\s+(?:fine|ok(?:ay)?|good)|no|nope|nah|ok(?:ay)?|yes|yeah|well|so|and|but|also|oh|hey|sorry|actually|again|please|pls|just|remember(?:\s+(?:that|to))?|keep\s+in\s+mind(?:\s+that)?|note(?:\s+that)?|important|from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future|next\s+time|you\s+(?:should|must|need\s+to|have\s+to)|make\s+sure\s+(?:that\s+you|you|to)|let(?:['’]s|\s+us)|be\s+sure\s+to|i\s+(?:want|need|would\s+like|(?:'|’)d\s+like)\s+you\s+to)(?:\s*[,:;.!–—-]+\s*|\s+))+",
    )
    .expect("a valid pattern")
});

/// A `no` that turns something down, and is no part of what follows: not `no need to`, `no default exports`.
static TURNS_DOWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^no(?:\W*[,.:;!–—-]|\s+(?:we|i|you|it|that|this|the|use|run|do|don['’]t|please|put|keep|just|always|never|not|actually|let)\b)")
        .expect("a valid pattern")
});
static NO: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?i)^no\s").expect("a valid pattern"));

static FIRST_PERSON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:we|i)\s+(?:(?P<not>do\s+not|don['’]t)\s+)?(?P<adverb>(?:always|never|only|strongly|usually|generally|really)\s+)?(?P<verb>use|prefer|run|keep|put|write|name|commit|want|like|target|pin|avoid|follow|deploy|test|store|require|support|publish|mock)\b\s*(?P<rest>.*)$")
        .expect("a valid pattern")
});

/// A sentence as an order without the words around it: `no, we use pnpm here` becomes `Use pnpm here`.
pub(super) fn imperative(sentence: &str) -> String {
    let sentence = sentence.trim();
    let keeps_no = NO.is_match(sentence) && !TURNS_DOWN.is_match(sentence);
    let bare = if keeps_no { sentence.into() } else { LEAD.replace(sentence, "") };
    let bare = bare.trim().trim_end_matches(['.', '!', '。', '！', ' ', ',', ';', ':']);
    let order = match FIRST_PERSON.captures(bare) {
        Some(parts) => {
            let adverb = parts.name("adverb").map_or("", |m| m.as_str());
            let not = if parts.name("not").is_some() { "do not " } else { "" };
            let verb = match &parts["verb"].to_lowercase()[..] {
                "like" | "want" => "prefer".to_owned(),
                verb => verb.to_owned(),
            };
            format!("{not}{}{verb} {}", adverb.to_lowercase(), &parts["rest"])
        }
        None => bare.to_owned(),
    };
    capitalised(order.trim())
}

/// Upper case for the first letter, unless the text begins with a name in its own spelling (`iOS`, `x86`) or is written
/// in a script without capitals.
pub(super) fn capitalised(text: &str) -> String {
    let first_word = text.split_whitespace().next().unwrap_or_default();
    let plain = !text.chars().any(is_cjk)
        && first_word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '\'' | '’' | ',' | ':'));
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if plain => first.to_uppercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// The text as one line of at most `max` characters, cut between words where there are any, a cut one with `…`.
pub(super) fn short(text: &str, max: usize) -> String {
    let text = text::one_line(text);
    let cut = text::cut(&text, max);
    if cut.len() == text.len() {
        return text;
    }
    let cut = text::cut(&text, max.saturating_sub(1));
    let end = match cut.rfind(' ') {
        Some(blank) if blank * 2 > cut.len() => blank,
        _ => cut.len(),
    };
    format!("{}…", cut[..end].trim_end_matches([' ', ',', ';', ':', '(', '`']))
}

/// Where a sentence may end before it ends: what follows says why, or what for, and takes nothing back.
static CLAUSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:,?\s+(?:which|so\s+that|so|because|since|instead\s+of|rather\s+than)\s|\s*[;—–(]\s*|:\s)",
    )
    .expect("a valid pattern")
});
/// Characters that the start of a sentence must have to head it.
const MIN_TITLE: usize = 30;

/// A sentence as a title: whole, or up to the last of its clauses that fits, or cut.
pub(super) fn headline(sentence: &str) -> String {
    let whole = text::one_line(sentence);
    if whole.chars().count() <= MAX_TITLE {
        return whole;
    }
    let is_open = |head: &str| head.matches('`').count() % 2 == 1;
    let heads = CLAUSE.find_iter(&whole).map(|end| whole[..end.start()].trim_end());
    let best =
        heads.take_while(|head| head.chars().count() <= MAX_TITLE).filter(|head| !is_open(head)).last();
    match best.filter(|head| head.chars().count() >= MIN_TITLE) {
        Some(head) => head.to_owned(),
        None => short(&whole, MAX_TITLE),
    }
}

static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[\s`'\x22(])((?:\./)?(?:[\w@.-]+/)*[\w@-][\w@.-]*\.[a-z][a-z0-9]{0,7})(?:$|[\s`'\x22):,;.])",
    )
    .expect("a valid pattern")
});

/// Names of one letter, version numbers and domains look like files but are none.
static NO_FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:e\.g|i\.e|etc|v?\d[\d.]*\w*|[\w.-]+\.(?:com|org|net|io|dev))$")
        .expect("a valid pattern")
});

/// The files that a text names, relative ones only.
pub(super) fn files(text: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for found in FILE.captures_iter(text).filter_map(|found| found.get(1)) {
        let file = found.as_str().trim_start_matches("./");
        if !NO_FILE.is_match(file) && !files.iter().any(|known| known == file) {
            files.push(file.to_owned());
        }
        if files.len() == MAX_FILES {
            break;
        }
    }
    files
}
