//! The lines of an agent's text that tell what was decided, left open and committed.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::{bare_line, one_line, regex, sentences, width};

/// Lines longer than this are data, not prose.
const MAX_LINE: usize = 4_000;

/// `SUMMARY: …`; the last one, because a text may repeat the instruction that asks for it.
pub(super) fn summary_line(text: &str) -> Option<String> {
    text.lines().rev().filter(|line| line.len() <= MAX_LINE).find_map(|line| {
        let told = SUMMARY.captures(bare_line(line))?.get(1)?.as_str();
        let told = plain(told);
        (width(&told) >= 4).then_some(told)
    })
}

/// What follows "Here's what I did": the rest of the line, or the list behind it.
pub(super) fn what_i_did(lines: &[&str]) -> Option<String> {
    let at = lines.iter().rposition(|line| line.len() <= MAX_LINE && WHAT_I_DID.is_match(line))?;
    let behind = WHAT_I_DID.find(lines[at]).map(|found| bare_line(&lines[at][found.end()..]))?;
    let rest = plain(behind.trim_start_matches([':', '：', ',', '.', ' ']));
    if width(&rest) > 10 {
        return Some(rest);
    }
    let list = lines[at + 1..].iter().skip_while(|line| line.trim().is_empty());
    let items: Vec<String> =
        list.take_while(|line| !line.trim().is_empty()).take(4).map(|line| plain(line)).collect();
    (!items.is_empty()).then(|| items.join("; "))
}

/// The last three lines that say something, joined.
pub(super) fn last_substantial(lines: &[&str]) -> Option<String> {
    let mut kept: Vec<String> = Vec::new();
    for line in lines.iter().rev().filter(|line| is_substantial(line)) {
        kept.push(plain(line));
        if kept.len() == 3 {
            break;
        }
    }
    kept.reverse();
    (!kept.is_empty()).then(|| kept.join(" — "))
}

/// The first lines of a text that say something: its account of the work.
pub(super) fn account(lines: &[&str]) -> Option<String> {
    let told: Vec<String> =
        lines.iter().filter(|line| is_substantial(line)).take(6).map(|line| plain(line)).collect();
    (!told.is_empty()).then(|| told.join(" "))
}

/// A line without its marks, and without emphasis inside.
fn plain(line: &str) -> String {
    one_line(bare_line(line)).replace("**", "")
}

fn is_substantial(line: &str) -> bool {
    const NOISE: [&str; 8] = ["{", "[Agent ", "Running", "Using ", "|", "#", "::", "["];
    let line = line.trim();
    line.len() <= MAX_LINE
        && width(bare_line(line)) > 20
        && !NOISE.iter().any(|start| line.starts_with(start))
        && !line.ends_with([':', '：', '?', '？'])
}

/// S0.15: lines that tell of a change from one thing to another, a choice, or a reason. Changes and choices come
/// before mere reasons when there are too many; each kind in the order of the text.
pub(super) fn decisions(lines: &[&str], found: &mut Vec<String>) {
    let mut told: Vec<(bool, String)> = Vec::new();
    for line in lines.iter().filter(|line| line.len() <= MAX_LINE).map(|line| bare_line(line)) {
        if CHOICE.is_match(line) {
            told.push((false, telling_part(line, &CHOICE)));
        } else if REASON.is_match(line) && !line.ends_with([':', '：']) && !PROGRESS.is_match(line) {
            told.push((true, telling_part(line, &REASON)));
        }
    }
    if told.len() > super::MAX_DECISIONS {
        told.sort_by_key(|(mere_reason, _)| *mere_reason);
    }
    found.extend(told.into_iter().map(|(_, line)| line));
}

/// A line that fits, else the sentence in it that the pattern matches.
fn telling_part(line: &str, pattern: &Regex) -> String {
    if line.chars().count() <= super::MAX_ITEM {
        return plain(line);
    }
    plain(sentences(line).into_iter().find(|sentence| pattern.is_match(sentence)).unwrap_or(line))
}

/// S0.14: what stands behind TODO, unfinished or remaining, on the line or in the list below; open check boxes too.
pub(super) fn unfinished(lines: &[&str], found: &mut Vec<String>) {
    listed(lines, &UNFINISHED, found);
}

/// What stands behind "Next steps", the same way.
pub(super) fn next_steps(lines: &[&str], found: &mut Vec<String>) {
    listed(lines, &NEXT_STEPS, found);
}

fn listed(lines: &[&str], heading: &Regex, found: &mut Vec<String>) {
    let mut lines = lines.iter().filter(|line| line.len() <= MAX_LINE).peekable();
    while let Some(line) = lines.next() {
        let bare = bare_line(line);
        if let Some(captures) = heading.captures(bare) {
            let rest =
                captures.name("rest").or_else(|| captures.name("inline")).map_or("", |rest| rest.as_str());
            let rest = plain(rest.trim_start_matches(['*', '_', ':', '：', ' ', '-', '–', '—']));
            if !rest.is_empty() {
                if !is_nothing(&rest) {
                    found.push(rest);
                }
                continue;
            }
            // A heading: its list follows, perhaps after blank lines.
            while lines.next_if(|line| line.trim().is_empty()).is_some() {}
            while let Some(item) = lines.next_if(is_item) {
                let text = plain(item);
                if !is_done(item) && !is_nothing(&text) {
                    found.push(text);
                }
            }
        } else if std::ptr::eq(heading, &*UNFINISHED) && line.trim_start().starts_with("- [ ] ") {
            found.push(plain(bare));
        }
    }
}

/// A list item, or a plain line directly under its heading.
fn is_item(line: &&&str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with('#') && !line.starts_with("**") && !line.ends_with([':', '：'])
}

fn is_done(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("- [x]") || line.starts_with("- [X]") || line.contains('✅') || line.contains("~~")
}

fn is_nothing(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    const NOTHING: &[&str] = &[
        "",
        "none",
        "nothing",
        "n/a",
        "na",
        "no",
        "nil",
        "0",
        "无",
        "無",
        "没有",
        "なし",
        "ありません",
        "없음",
        "нет",
    ];
    NOTHING.contains(&text.as_str())
        || text.starts_with("none ")
        || text.starts_with("nothing ")
        || text.starts_with("no ")
}

/// ``Committed `abc1234` ``, `commit abc1234`: in what an agent says.
pub(super) fn told_commits(text: &str) -> Vec<String> {
    hashes(text, &TOLD_COMMIT).map(|(_, hash)| hash).collect()
}

/// `[branch abc1234] subject` at a line's start: how git tells of a new commit. Other hashes that git prints may be
/// of any age.
pub(super) fn git_commits(text: &str) -> Vec<String> {
    hashes(text, &GIT_COMMIT).map(|(_, hash)| hash).collect()
}

/// Both, in the order in which a text tells them.
pub(super) fn all_commits(text: &str) -> Vec<String> {
    let mut found: Vec<(usize, String)> =
        hashes(text, &GIT_COMMIT).chain(hashes(text, &TOLD_COMMIT)).collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, hash)| hash).collect()
}

/// The hash of a commit event, `<hash> <subject>`.
pub(super) fn commit_event(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    is_hash(word).then(|| short_hash(word))
}

/// The hashes that a pattern finds, each with its place.
fn hashes<'t>(text: &'t str, pattern: &'static Regex) -> impl Iterator<Item = (usize, String)> + use<'t> {
    let captured =
        pattern.captures_iter(text).filter_map(|captures| captures.iter().skip(1).flatten().next());
    // A word of seven letters from a to f is a word.
    captured
        .filter(|hash| hash.as_str().bytes().any(|b| b.is_ascii_digit()))
        .map(|hash| (hash.start(), short_hash(hash.as_str())))
}

fn is_hash(word: &str) -> bool {
    (7..=64).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Hashes of up to twelve characters stay as they were told; a full one is cut to seven.
fn short_hash(hash: &str) -> String {
    if hash.len() <= 12 { hash.to_owned() } else { hash.chars().take(7).collect() }
}

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?i:(?:\*\*|__)?(?:summary|总结|摘要|小结|總結|要約|まとめ|요약|резюме|итог|zusammenfassung|resumen|résumé)(?:\*\*|__)?\s*[:：](?:\*\*|__)?)\s*(\S.*)$",
    )
});

static WHAT_I_DID: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bhere(?:'s|’s| is| are)\s+(?:what|everything)\s+(?:I|I've|I’ve|we|was)?\s*(?:have\s+)?(?:did|done|changed|built|implemented|added|fixed|made|updated)\b|以下是我(?:所)?(?:做|完成|修改)的[^：:]{0,10}|変更内容は以下",
    )
});

static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"(?i)\b(?:changed|switched|moved|migrated|converted|replaced|renamed|raised|lowered|increased|reduced|bumped|updated)\b.{0,80}\bfrom\b.{1,80}\bto\b|",
        r"\b(?:chose|chosen|choose|picked|preferred|favou?red|selected)\b.{1,80}\b(?:over|instead of|rather than)\b|",
        r"\b(?:used|using|use|kept|keep|went with|made)\b.{1,80}\b(?:instead of|rather than)\b|",
        r"\b(?:decided|opted|settled)\s+(?:to|on|for|against|not)\b|\bwent with\b|",
        r"[从由将把].{1,40}(?:改为|改成|换成|替换为|迁移到|切换到|调整为)|(?:选择|选用|采用|使用|决定).{1,40}(?:而不是|而非|代替|取代)|决定(?:使用|采用|不|将|把|用|改|保留|放弃)|選擇.{1,40}而不是|",
        r"から.{1,40}(?:に|へ)(?:変更|移行|切り替え|置き換え)|ではなく.{1,60}(?:を|に)(?:選|採用|使|し)|(?:ことに|に)決め|(?:ことに)しました|を採用し|",
        r"에서.{1,40}(?:으로|로)\s*(?:변경|전환|교체|이전)|대신.{1,60}(?:선택|사용|채택)|하기로\s*(?:결정|했)"
    ))
});

static REASON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\bbecause\b|因为|由于|因為|なぜなら|という理由|때문에"));

/// The agent says what it is about to do; the reason belongs to that step only.
static PROGRESS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?i:I'll|I’ll|I'm|I’m|I am|I will|let me|let's|next I|now I)\b"));

static UNFINISHED: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?:(?i:(?:the\s+)?(?:to-?dos?|unfinished|remaining|still\s+(?:to\s+do|open|missing|left)|left\s+to\s+do|not\s+(?:yet\s+)?done(?:\s+yet)?|open\s+(?:items|issues|questions|points)|outstanding|follow-?ups?)",
        r"(?:\s+(?:work|items?|tasks?|issues?|todos?|steps?|things?|points?|parts?|changes?|list|is|are)){0,3}(?:\s*\([^)]{0,40}\))?(?:\*\*|__)?\s*(?:[:：—–]|\s-\s|$)(?:\*\*|__)?)",
        r"|(?:未完成|待办|待辦|剩余|剩餘|尚未完成|遗留|还需要?|残り|残作業|未完了|未対応|남은|미완료)(?:的?(?:工作|事项|任务|问题|部分|作業|課題|タスク|\s*작업))?(?:\*\*)?\s*(?:[:：]|$)",
        r"|TODO(?:\([^)]{0,30}\))?\s|(?i:unfinished|remaining work is|remaining tasks are)\s)(?P<rest>.*)$",
        r"|\b(?:TODO(?:\([^)]{0,30}\))?|(?i:unfinished|remaining(?:\s+(?:work|tasks?|items?))?))\s*[:：]\s*(?P<inline>.+)$"
    ))
});

static NEXT_STEPS: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?:(?i:(?:the\s+|suggested\s+|possible\s+|recommended\s+)?next(?:\s+steps?|\s+up)?(?:\s+(?:is|are|would\s+be))?(?:\s*\([^)]{0,40}\))?|what's next)(?:\*\*|__)?\s*(?:[:：—–]|$)(?:\*\*|__)?",
        r"|(?:下一步|后续步骤|後續步驟|接下来|次のステップ|今後の(?:作業|予定)|다음 단계)(?:\*\*)?\s*(?:[:：]|$))(?P<rest>.*)$",
        r"|\b(?i:next\s+steps?)\s*[:：]\s*(?P<inline>.+)$"
    ))
});

static TOLD_COMMIT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\bcommitt?(?:ed|s)?(?:\s+(?:as|in|it\s+as|hash|id|sha|is|to\s+\S{1,40}\s+as)){0,2}\s*[:：]?\s*(?:\(|\[)?(?:`([0-9a-f]{7,40})`|([0-9a-f]{7,40})\b)|(?:提交|コミット|커밋)[^\n`0-9a-f]{0,12}`?([0-9a-f]{7,40})\b",
    )
});

static GIT_COMMIT: LazyLock<Regex> = LazyLock::new(|| regex(r"(?m)^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] "));
