//! What a round of work made of something: the closing answer of a round in which something was changed, put together
//! from the sentences that say how it behaves now and why.

use std::sync::LazyLock;

use regex::Regex;

use super::findings::finding;
use super::rounds::{Round, rounds};
use super::shape::{MAX_BODY, sentences};
use super::{Extracted, cjk, gate, signs, wishes};
use crate::model::{Event, Kind, Origin};
use crate::text;

/// What the sentence that heads an outcome must weigh, and one that is told with it.
const HEAVY: i32 = 3;
const TOLD: i32 = 1;
/// Outcomes kept of one session, the latest.
const MAX_OUTCOMES: usize = 3;
/// Characters that a sentence may have to be told with another.
const MAX_SENTENCE: usize = 260;

/// How something behaves now, as against before.
static CHANGED: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\b(?:now|instead|rather\s+than|no\s+longer|so\s+(?:that|the|it|each|every|all|a|an|both|no)|automatically|falls?\s+back|by\s+default|only\s+(?:when|if)|even\s+(?:if|when)|whenever|both|every|always|never|without|before|after|unless|until|from\s+\S+\s+to)\b|이제|대신|자동|더\s?이상|하도록|되도록|不再|现在|現在|自动|自動|默认|改为|改為|ようになりました|ようにしました|代わりに|自動的に|→",
    )
});

/// What was done to it.
static DID: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)^(?:\W*)(?:i\s+(?:have\s+|also\s+)*|i['’]ve\s+(?:also\s+)?)?(?:added|changed|updated|replaced|removed|moved|renamed|extracted|made|switched|extended|introduced|implemented|wrapped|reused|kept|dropped|split|merged|converted|refactored|fixed|restricted|stopped|registered|exposed)\b|추가|변경|수정|제거|교체|통합|添加|新增|修改|替换|替換|移除|改成|追加|変更|修正|削除|置き換え",
    )
});

/// The round was about trouble.
static TROUBLE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\b(?:fix(?:e[sd])?|bug|errors?|fail(?:s|ed|ing|ure)?|crash(?:e[sd])?|broken|wrong|hang(?:s|ing)?|root\s+cause|regression|flaky|leak|incorrect(?:ly)?)\b|오류|에러|버그|실패|원인|错误|錯誤|失败|失敗|修复|崩溃|バグ|エラー|不具合",
    )
});

/// What became of the rounds, the latest, save those in `known`, which was found already.
pub(super) fn find(events: &[&(u64, Event)], known: &[Extracted]) -> Vec<Extracted> {
    let rounds = rounds(events);
    let mut found: Vec<Extracted> = rounds
        .iter()
        .enumerate()
        .filter(|(_, round)| round.has_changes())
        .filter_map(|(at, round)| outcome(round, wishes::done(&rounds, at)?))
        .filter(|outcome| {
            let is_known = |closing: &u64| known.iter().any(|known| known.evidence.contains(closing));
            !outcome.evidence.iter().any(is_known)
        })
        .collect();
    found.split_off(found.len().saturating_sub(MAX_OUTCOMES))
}

fn outcome(round: &Round<'_>, (ordinal, closing): &(u64, Event)) -> Option<Extracted> {
    let told: Vec<(i32, String)> = sentences(&closing.text, true)
        .into_iter()
        .filter(|sentence| !gate::is_question(sentence) && !wishes::is_status(sentence))
        .map(|sentence| (weight(sentence), wishes::bare(sentence)))
        .filter(|(weight, sentence)| *weight >= TOLD && may_be_told(sentence))
        .collect();
    let (_, head) = told
        .iter()
        .filter(|(weight, sentence)| *weight >= HEAVY && gate::stands_alone(sentence))
        .max_by_key(|(weight, _)| *weight)?;
    let mut room = MAX_BODY;
    let mut body: Vec<&str> = Vec::new();
    for (_, sentence) in &told {
        let length = sentence.chars().count() + 1;
        let reserved =
            if body.contains(&head.as_str()) || sentence == head { 0 } else { head.chars().count() + 1 };
        if length + reserved <= room {
            room -= length;
            body.push(sentence);
        }
    }
    let asked = round.prompt.map_or("", |(_, prompt)| prompt.text.as_str());
    let is_trouble =
        TROUBLE.is_match(text::cut(asked, 1_000)) || TROUBLE.is_match(text::cut(&closing.text, 600));
    let kind = if is_trouble { Kind::Lesson } else { Kind::Decision };
    Some(Extracted { origin: Origin::Agent, ..finding(kind, 0.52, head, &body.join(" "), *ordinal, closing) })
}

/// What a sentence of a closing answer weighs: a change of behaviour, by name, for a reason.
fn weight(sentence: &str) -> i32 {
    let bare = wishes::bare(sentence);
    let names = sentence.matches('`').count() / 2;
    let signs = signs::weight(&bare).clamp(-4, 3);
    i32::from(CHANGED.is_match(sentence))
        + i32::from(DID.is_match(sentence))
        + i32::from(names >= 1)
        + i32::from(names >= 2)
        // That something was done is the point here.
        + if signs::is_report(&bare) { (signs + 4).min(2) } else { signs.min(2) }
}

fn may_be_told(sentence: &str) -> bool {
    let length = sentence.chars().count();
    let is_said = sentence.split_whitespace().count() >= 4 || cjk::is_mostly(sentence);
    is_said && length <= MAX_SENTENCE && !gate::is_one_off(sentence) && signs::names_something(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_behaviour_is_heavier_than_a_report() {
        for outcome in [
            "Changed `load()` to return an error instead of `nil`, so the command exits with a failure.",
            "`app clear` now clears every running worker, not only the current profile's.",
            "이제 `load()`는 실패하면 오류를 반환하므로 명령이 중단됩니다.",
            "现在 `load()` 失败时会返回错误，因此命令会停止。",
        ] {
            assert!(weight(outcome) >= HEAVY, "{} {outcome}", weight(outcome));
        }
        for report in ["I opened the pull request.", "The branch is pushed.", "Ran `cargo fmt`.", "All done."]
        {
            assert!(weight(report) < HEAVY, "{} {report}", weight(report));
        }
    }
}
