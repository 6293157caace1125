//! What the person brought up and the agent carried out, what the agent proposed and the person wanted, and what the
//! person finds bad, with the reason.

use std::sync::LazyLock;

use regex::Regex;

use super::findings::finding;
use super::rounds::{Round, is_of_program, is_prompt, rounds};
use super::shape::{MAX_BODY, capitalised, imperative, sentences};
use super::{Extracted, cjk, gate, plain, signs};
use crate::model::{Event, Kind, Origin};
use crate::report::before_paste;
use crate::text;

/// Sentences of the agent's account that are quoted.
const MAX_ACCOUNT: usize = 3;
/// Wishes of each sort kept of one session, the latest.
const MAX_OF_SORT: usize = 4;
/// A longer prompt is a task with its description.
const MAX_PROMPT: usize = 400;
const MAX_REQUEST: usize = 240;
/// Characters of a prompt that is read as one sentence.
const MAX_WHOLE: usize = 100;
/// Characters of a prompt that only agrees.
const MAX_CONSENT: usize = 60;
/// Sentences at the end of an answer among which a proposal may stand.
const MAX_CLOSING: usize = 4;

/// What stands before an order and softens it.
const LEAD: &str = r"(?:(?:ok(?:ay)?|yes|yeah|yep|no|nope|but|and|so|also|then|now|well|hm+|actually|instead|please|pls|just|maybe|perhaps|first|good|great|thanks)[,.:;!]*\s+|i\s+(?:think|guess|would\s+say)\s+(?:that\s+)?|i['’]d\s+say\s+|let['’]?s\s+|let\s+us\s+|(?:we|you|it)\s+(?:should|could|can|must)\s+(?:also\s+|just\s+|better\s+)?|(?:can|could|should|shall|would)\s+(?:we|you|it)\s+(?:also\s+|just\s+|maybe\s+|please\s+|rather\s+)*|(?:how\s+about|what\s+if|why\s+not|why\s+don['’]t)\s+(?:we\s+|you\s+)?|i(?:\s+would|['’]d)?\s+(?:want|like)\s+(?:you\s+)?to\s+)";

/// A way of doing it that the person brings up. Without a person before them the verbs are those of lasting behaviour:
/// to add or to fix something is a task.
static SUGGESTS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:but|and|so|ok(?:ay)?|yes|hmm+|no)[,\s]+)*(?:(?:maybe|perhaps|i\s+think|i(?:['’]d|\s+would)\s+say|shouldn['’]t|how\s+about)\s+(?:that\s+)?(?:(?:we|you|it)\s+)?(?:should(?:n['’]t)?\s+|could\s+|better\s+)?(?P<order>(?:use|show|keep|store|call|name|prefer|return|default\s+to)\s+.+)|(?:maybe\s+|perhaps\s+|i\s+think\s+|i(?:['’]d|\s+would)\s+say\s+)it\s+should\s+(?P<it>\w+\s+.+))$",
    )
});

/// A question that wants the product to behave in another way.
static ASKS_FOR: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)(?:^|\s)(?:can|could|should|shall)(?:n['’]t)?\s+(?:we|it|you)\s+(?:also\s+|just\s+|not\s+|maybe\s+)*(?P<order>\w+\s.*\b(?:instead|automatically|by\s+default|always|as\s+well|too|rather|everywhere)\b.*?)[?.!\s]*$",
    )
});

/// A change of how something behaves or looks, asked for outright.
static REQUESTS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(&format!(
        r"(?i)^{LEAD}*(?P<order>(?:use|show|swap|prefix|suffix|rename|make|keep|return|change|move|replace|drop|hide|print|store|save|put|display|default|allow|support|treat|clear|include|exclude|skip|limit|sort|order|log|switch|merge|split|reuse|raise|throw|wrap|restrict|require|prefer|reject|accept|cache|redact|strip|normali[sz]e)\s.{{6,200}}?)[?.!\s]*$"
    ))
});

/// The same in Korean, Japanese and Chinese: how something shall be from now on.
static REQUESTS_CJK: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?:(?:으로|로|도록|하게|대신|말고).{0,30}(?:바꿔|변경해|해\s?주세요|해줘|하자|합시다|처리해|표시해|사용해|수정해)|(?:改成|改为|改為|换成|換成|显示为|默认|改用|应该|應該).{2,60}|(?:に変更|にして|するように|ではなく|代わりに).{0,30}(?:ください|してほしい|しよう|お願い|て。?$))",
    )
});

/// What an order may be about without being a decision: the work itself.
static TASK: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:\w+)\s+(?:sure|me|us|a\s+(?:pr|commit|branch|plan|list|summary)|the\s+(?:pr|branch|commit|changes?|plan|todo)|(?:\w+\s+){0,3}(?:tests?|docs?|changelog|readme|comments?|todos?|pr|prs|commits?|branch(?:es)?|worktree|issues?)\b)",
    )
});

/// The agent could not do it, or asks back.
static UNDONE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\b(?:could\s+not|couldn['’]t|cannot|can['’]t|unable|failed\s+to|not\s+possible|would\s+you|do\s+you\s+want|should\s+i|which\s+(?:one|of)|no\s+response\s+requested)\b",
    )
});

/// Words in front of an account that say only that there is one.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^\W*(?:(?:done|updated|perfect|great|fixed|implemented|yes|good\s+point|all\s+set|both\s+places\s+updated|완료|完成|好的|できました)[!.。:,—–-]+\s*)*(?:now\s+(?:,\s*)?)?(?:i\s+(?:have\s+)?|i['’]ve\s+)?",
    )
});

/// The next prompt takes it back.
static OBJECTS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^\W*(?:no\b|nope|wrong|undo|revert|that['’]?s\s+(?:not|wrong)|not\s+what|stop\b|don['’]t\b|why\s+(?:did|is|are|do)|hm+\b|아니|不对|不對|不是|违|違う|違い)",
    )
});

/// The agent asks whether it shall do something.
static PROPOSES: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)(?:^|,\s+|\s)(?:should|shall|would\s+you\s+like|do\s+you\s+want|want|may)\s+(?:i|we|me\s+to|me)\s+(?:also\s+|instead\s+|then\s+|to\s+)*(?P<what>(?:add|use|make|change|move|keep|store|show|return|call|rename|replace|drop|remove|switch|extend|wrap|split|merge|treat|skip|pass|default|register|expose|limit|cache|reuse|raise|share|include|update)\s.{8,200}?)\?",
    )
});

/// Yes, and nothing else that would need reading.
static CONSENTS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^\W*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|please\s+do|do\s+(?:it|that|so)|go\s+(?:ahead|for\s+it)|sounds\s+good|lgtm|makes\s+sense|agreed|correct|perfect|네|예|넵|응|그래|좋아|좋습니다|부탁|진행|好|好的|可以|行|是的|对|没问题|はい|お願い|うん|ええ|いいです|それで)(?:\b|[\s!.,。！，]|$)",
    )
});

/// What the person finds bad, and why.
static COMPLAINT: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:no|ok|so|but|and|also|hey)[,\s]+)*(?P<what>(?:the|these|those|our|all|every|having|using|such)\s.{4,120}?\s(?:is|are|was|were|looks?|feels?)\s+(?:really\s+|very\s+|just\s+|too\s+|kind\s+of\s+|a\s+bit\s+)*(?:not\s+(?:useful|helpful|needed|necessary|worth\s+it)|useless|annoying|unnecessary|confusing|misleading|noisy|distracting|pointless|redundant|overkill|ugly|fragile|flaky)\b.*?(?:\b(?:and|because|since|as)\b|,).{6,160}?)(?:,?\s+so\s+(?:please\s+)?\w+\s.*)?[.!]?$",
    )
});

/// What these events tell.
pub(super) fn find(events: &[&(u64, Event)]) -> Vec<Extracted> {
    let rounds = rounds(events);
    let mut found = Vec::new();
    let agreed = [agreed(&rounds), picked(&rounds), planned(&rounds)].concat();
    for mut sort in [complaints(events), carried_out(&rounds), agreed] {
        found.extend(sort.split_off(sort.len().saturating_sub(MAX_OF_SORT)));
    }
    found
}

/// What the person asked for, where the agent then changed something and told what it is now.
fn carried_out(rounds: &[Round<'_>]) -> Vec<Extracted> {
    let mut found = Vec::new();
    for (at, round) in rounds.iter().enumerate() {
        let Some((asked_at, asked)) = round.prompt else { continue };
        let (Some(wish), Some((done_at, done))) = (wished(&asked.text), done(rounds, at)) else { continue };
        let account = account(&done.text, &format!("{} {}", wish.body, wish.title));
        // What points elsewhere is headed by what came of it.
        let heads = account.iter().find(|sentence| sentence.split_whitespace().count() > 5);
        let title = match (wish.stands_alone, heads) {
            (true, _) => wish.title,
            (false, Some(heads)) => heads.clone(),
            (false, None) => continue,
        };
        let is_named = |text: &str| signs::names_something(text) || text.contains(['"', '“']);
        let has_account =
            !account.is_empty() && [&wish.body, &account.join(" ")].iter().any(|text| is_named(text));
        if wish.needs_account && !has_account {
            continue;
        }
        found.push(Extracted {
            evidence: vec![*asked_at, *done_at],
            origin: Origin::Person,
            ..finding(
                Kind::Decision,
                wish.confidence,
                &title,
                &fitting(wish.body, &account),
                *asked_at,
                asked,
            )
        });
    }
    found
}

/// The closing answer of a round in which something was changed and that nobody took back.
pub(super) fn done<'a>(rounds: &[Round<'a>], at: usize) -> Option<&'a (u64, Event)> {
    let round = &rounds[at];
    let closing = round.closing().filter(|_| round.has_changes())?;
    let start = text::cut(&closing.1.text, 300);
    let next = rounds.get(at + 1).and_then(|next| next.prompt);
    let is_taken_back = next.is_some_and(|(_, event)| OBJECTS.is_match(&event.text));
    (!UNDONE.is_match(start) && !is_taken_back).then_some(closing)
}

/// The text and as many sentences of the account as fit.
fn fitting(text: String, account: &[String]) -> String {
    account.iter().fold(text, |text, sentence| {
        let fits = text.chars().count() + sentence.chars().count() < MAX_BODY;
        if fits { format!("{text} {sentence}") } else { text }
    })
}

/// What the agent says that it is now, in its words, as far as it is about the wish.
fn account(answer: &str, wish: &str) -> Vec<String> {
    sentences(answer, true)
        .into_iter()
        .filter(|sentence| {
            !gate::is_question(sentence) && !is_status(sentence) && !gate::is_one_off(sentence)
        })
        .map(bare)
        .filter(|sentence| sentence.split_whitespace().count() >= 4 || cjk::is_mostly(sentence))
        .enumerate()
        // What it says first is what it is about; what only opens a block of code says nothing without it.
        .filter(|(at, sentence)| {
            let is_about = shares_words(sentence, wish) || signs::names_something(sentence);
            *at == 0 || is_about && !sentence.ends_with(':')
        })
        .map(|(_, sentence)| match sentence.strip_suffix(':') {
            Some(opening) => format!("{opening}."),
            None => sentence,
        })
        .take(MAX_ACCOUNT)
        .collect()
}

/// A sentence of an account without the words that say only that there is one.
pub(super) fn bare(sentence: &str) -> String {
    // What begins with a name reports on it, not on who did something.
    let told = if sentence.starts_with('`') { sentence.into() } else { DONE.replace(sentence, "") };
    capitalised(told.trim())
}

/// That tests pass and the like.
pub(super) fn is_status(sentence: &str) -> bool {
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?i)^\W*(?:all\s+)?(?:the\s+)?(?:\w+\s+)?(?:tests?|checks?|lint(?:er)?|build|ci|formatting)\b.{0,40}\b(?:pass(?:es|ed|ing)?|green|clean|succe\w+)\b|\blet\s+me\s+(?:know|run|check|verify)\b|^(?:no\s+other|verified|validat)",
        )
    });
    STATUS.is_match(sentence)
}

/// The wish as it is told: a sentence that ends.
fn asked_for(sentence: &str) -> String {
    let sentence = sentence.trim();
    let end = if sentence.ends_with(['.', '!', '?', '。', '？', '…', ':']) { "" } else { "." };
    format!("The person asked: {sentence}{end}")
}

/// What a person wants, in their words.
struct Wish {
    title: String,
    body: String,
    confidence: f64,
    /// The title says it without what was said before.
    stands_alone: bool,
    /// It is only worth something with what became of it.
    needs_account: bool,
}

/// The suggestion in a prompt, when it can stand for itself; a short prompt stands for itself as a whole.
fn wished(prompt: &str) -> Option<Wish> {
    let sentences = sentences(before_paste(prompt), false);
    if let Some(order) = sentences.iter().find_map(|sentence| suggested(sentence)) {
        let body = format!("{}.", capitalised(order));
        let title = order.to_owned();
        return Some(Wish { title, body, confidence: 0.7, stands_alone: true, needs_account: false });
    }
    let length = prompt.chars().count();
    let asked = sentences.iter().find(|sentence| {
        ASKS_FOR.is_match(sentence) && sentence.contains('`') && !gate::is_one_off(sentence)
    });
    if let Some(asked) = asked.filter(|_| length <= MAX_PROMPT) {
        return Some(Wish {
            title: imperative(asked),
            body: asked_for(asked),
            confidence: 0.7,
            stands_alone: true,
            needs_account: false,
        });
    }
    // A short prompt is one wish, whatever marks it has in it.
    let whole = text::one_line(prompt);
    let whole = (whole.chars().count() <= MAX_WHOLE).then_some(whole.as_str());
    let (sentence, order) = whole
        .into_iter()
        .chain(sentences.iter().copied())
        .find_map(|sentence| Some((sentence, requested(sentence)?)))?;
    (length <= MAX_REQUEST && sentences.len() <= 3).then(|| Wish {
        title: order.clone(),
        body: asked_for(sentence),
        confidence: 0.52,
        stands_alone: gate::stands_alone(&order),
        needs_account: true,
    })
}

/// The suggestion in a sentence.
fn suggested(sentence: &str) -> Option<&str> {
    let parts = SUGGESTS.captures(sentence)?;
    let order = parts.name("order").or_else(|| parts.name("it"))?.as_str();
    let order = order.trim_end_matches(['?', '.', '!', ' ', ',']);
    let object = order.split_whitespace().nth(1)?.to_lowercase();
    let points =
        matches!(object.as_str(), "it" | "this" | "that" | "them" | "these" | "those" | "both" | "something");
    (!points && gate::stands_alone(order)).then_some(order)
}

/// The change that a sentence asks for.
fn requested(sentence: &str) -> Option<String> {
    if gate::is_one_off(sentence) {
        return None;
    }
    if cjk::is_mostly(sentence) {
        let order = sentence.trim_end_matches(['.', '!', '?', '。', '！', '？', ' ']);
        return (REQUESTS_CJK.is_match(sentence) && signs::names_something(sentence))
            .then(|| order.to_owned());
    }
    let order = REQUESTS.captures(sentence)?.name("order")?.as_str();
    let is_here = order.trim_end().ends_with("here");
    (!TASK.is_match(order) && !is_here).then(|| order.to_owned())
}

/// What the agent proposed, the person wanted, and the agent then did.
fn agreed(rounds: &[Round<'_>]) -> Vec<Extracted> {
    let mut found = Vec::new();
    for (at, pair) in rounds.windows(2).enumerate() {
        let (Some((proposed_at, proposal)), Some((said_at, said))) = (pair[0].closing(), pair[1].prompt)
        else {
            continue;
        };
        let consents = said.text.chars().count() <= MAX_CONSENT && CONSENTS.is_match(&said.text);
        let (true, Some((done_at, done))) = (consents, done(rounds, at + 1)) else { continue };
        let sentences = sentences(&proposal.text, true);
        let late = sentences.len().saturating_sub(MAX_CLOSING);
        let proposed = sentences.iter().enumerate().skip(late).find_map(|(place, sentence)| {
            let what = PROPOSES.captures(sentence)?.name("what")?.as_str().to_owned();
            let lasts = signs::names_something(&what) && gate::stands_alone(&what);
            lasts.then(|| (what, sentences.get(place + 1).filter(|next| !gate::is_question(next))))
        });
        let Some((what, reason)) = proposed else { continue };
        let body = format!("Agreed with the person: {what}.");
        let body = reason.map_or(body.clone(), |reason| format!("{body} {reason}"));
        let account = account(&done.text, &what);
        found.push(Extracted {
            evidence: vec![*proposed_at, *said_at, *done_at],
            origin: Origin::Person,
            ..finding(Kind::Decision, 0.72, &what, &fitting(body, &account), *said_at, said)
        });
    }
    found
}

/// The option of an agent's list that the person named by its number or letter.
fn picked(rounds: &[Round<'_>]) -> Vec<Extracted> {
    let mut found = Vec::new();
    for pair in rounds.windows(2) {
        let (Some((told_at, told)), Some((said_at, said))) = (pair[0].closing(), pair[1].prompt) else {
            continue;
        };
        let Some(mark) = PICKS.captures(said.text.trim()).and_then(|found| found.get(1)) else { continue };
        let Some(option) = option(&told.text, mark.as_str()) else { continue };
        found.push(Extracted {
            evidence: vec![*told_at, *said_at],
            origin: Origin::Person,
            ..finding(
                Kind::Decision,
                0.68,
                &option,
                &format!("Of the agent's options the person chose: {option}"),
                *said_at,
                said,
            )
        });
    }
    found
}

/// The person names an option, and says no more.
static PICKS: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:(?:let['’]?s\s+|please\s+)?(?:go\s+with|do|take|use|i\s+(?:prefer|choose))\s+)?(?:option|number|no\.?|choice|옵션|方案|选项|案)?\s*#?([1-9]|[a-d])\s*(?:번(?:으로|이요|요|안)?|안|番(?:で)?|で|です|吧|号)?(?:\s*(?:please|진행|부탁|でお願いします|로)\S*)?[.!。]?$",
    )
});

/// The line of a list that a number or a letter marks, when it is the only one and the list offers a choice.
fn option(answer: &str, mark: &str) -> Option<String> {
    static ITEM: LazyLock<Regex> = LazyLock::new(|| {
        text::regex(
            r"(?im)^\s*(?:[-*]\s+)?(?:option\s+|옵션\s*|方案\s*|案\s*)?([1-9]|[a-d])\s*(?:[.)、:]|번[.:]?|안[.:])\s+(.{8,300})$",
        )
    });
    if !gate::is_question(sentences(answer, true).last()?) && !answer.contains(['?', '？']) {
        return None;
    }
    let mut items = ITEM.captures_iter(answer).filter(|item| item[1].eq_ignore_ascii_case(mark));
    let item = items.next()?[2].trim().to_owned();
    let lasts = items.next().is_none() && !gate::is_one_off(&item) && !TASK.is_match(&item);
    (lasts && (gate::has_substance(&item) || cjk::is_mostly(&item))).then_some(item)
}

/// Plans that the person accepted, and that were carried out: what they are for, in the agent's words.
fn planned(rounds: &[Round<'_>]) -> Vec<Extracted> {
    let mut found = Vec::new();
    for round in rounds.iter().filter(|round| round.has_changes()) {
        for (ordinal, event) in round.events {
            let Some(plan) = accepted_plan(event) else { continue };
            let heading = plan.lines().map(str::trim).find(|line| line.starts_with('#'));
            let title = heading.map(|line| PLAN_WORD.replace(line, "").trim().to_owned());
            let why: Vec<String> = sentences(&plain::plain(&plan), true)
                .into_iter()
                .filter(|sentence| gate::has_substance(sentence) && !gate::is_one_off(sentence))
                .filter(|sentence| !gate::is_question(sentence))
                .map(str::to_owned)
                .take(MAX_ACCOUNT)
                .collect();
            let Some(title) = title.filter(|title| gate::has_substance(title) && !why.is_empty()) else {
                continue;
            };
            found.push(Extracted {
                origin: Origin::Person,
                ..finding(
                    Kind::Decision,
                    0.66,
                    &title,
                    fitting("Plan the person accepted.".to_owned(), &why).as_str(),
                    *ordinal,
                    event,
                )
            });
        }
    }
    found
}

/// Words in the heading of a plan that say only that it is one.
static PLAN_WORD: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^#+\s*(?:(?:the\s+)?(?:implementation\s+)?plan\s*(?:for|to)?\s*[:—–-]?\s*|계획\s*[:—-]?\s*|计划\s*[:：]?\s*)?",
    )
});

/// The plan that a tool put before the person, who accepted it.
fn accepted_plan(event: &Event) -> Option<String> {
    let tool = event.tool.as_ref().filter(|tool| tool.name == "ExitPlanMode" && !tool.failed)?;
    let is_accepted = text::cut(&tool.output, 400).to_lowercase().contains("approved");
    let input: serde_json::Value = serde_json::from_str(&tool.input).ok()?;
    input.get("plan")?.as_str().filter(|_| is_accepted).map(str::to_owned)
}

/// What the person finds bad, with the reason: a preference, whatever was to be done about it then.
fn complaints(events: &[&(u64, Event)]) -> Vec<Extracted> {
    let prompts = events.iter().filter(|(_, event)| is_prompt(event) && !is_of_program(&event.text));
    prompts
        .flat_map(|(ordinal, event)| {
            sentences(before_paste(&event.text), false).into_iter().filter_map(move |sentence| {
                let what =
                    COMPLAINT.captures(sentence)?.name("what")?.as_str().trim_end_matches(['.', ',', ' ']);
                let is_kept =
                    gate::has_substance(what) && !gate::is_question(what) && !gate::is_one_off(what);
                is_kept.then(|| Extracted {
                    origin: Origin::Person,
                    ..finding(Kind::Preference, 0.7, what, &format!("{what}."), *ordinal, event)
                })
            })
        })
        .collect()
}

/// Two longer words in common.
fn shares_words(sentence: &str, order: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() >= 4)
            .map(str::to_lowercase)
            .collect()
    };
    let known = words(order);
    words(sentence).iter().filter(|word| known.contains(word)).count() >= 2
}
