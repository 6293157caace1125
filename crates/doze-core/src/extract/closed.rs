//! What became of a trouble before its session ended: a finding that the same session later removed is told with what
//! removed it, so that nobody takes it for the present state.

use std::sync::LazyLock;

use regex::Regex;

use super::rounds::rounds;
use super::shape::{MAX_BODY, sentences};
use super::{Extracted, gate, wishes};
use crate::model::{Event, Kind, Origin};
use crate::text;

/// Characters of a sentence that may be told with another.
const MAX_SENTENCE: usize = 200;
/// Shorter names are too common to connect two sentences.
const MIN_NAME: usize = 6;

/// What was done to something, or how it is now.
static DONE: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(
        r"(?i)\b(?:added|changed|updated|replaced|removed|moved|renamed|extracted|switched|implemented|wrapped|fixed|restricted|registered|reject(?:s|ed)|share[sd]?|now)\b|추가|수정|변경|이제|修复|添加|修改|现在|修正|追加|変更",
    )
});
/// What was only planned, or is still open.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    text::regex(r"(?i)\b(?:will|should|would|could|plan|todo|not\s+yet|remains?|still|proposal|next)\b")
});

/// Adds to each finding of the agent what the session says of its end, and drops a plain statement of how things were.
pub(super) fn close(events: &[&(u64, Event)], found: Vec<Extracted>) -> Vec<Extracted> {
    let ends = ends(events);
    let mut closed = Vec::new();
    for mut one in found {
        let is_finding = one.origin == Origin::Agent && matches!(one.kind, Kind::Lesson | Kind::Fact);
        let end = ends.iter().rev().find(|end| is_finding && is_end_of(end, &one));
        let Some(end) = end else {
            closed.push(one);
            continue;
        };
        let told = format!(" Later in that session: {}", end.sentence);
        let fits = one.body.chars().count() + told.chars().count() <= MAX_BODY;
        if fits {
            one.body.push_str(&told);
            one.evidence.push(end.ordinal);
            one.kind = Kind::Lesson;
        }
        if fits || one.kind == Kind::Lesson {
            closed.push(one);
        }
    }
    closed
}

/// A sentence that reports a change, with the names in it.
struct End {
    ordinal: u64,
    sentence: String,
    names: Vec<String>,
}

fn is_end_of(end: &End, one: &Extracted) -> bool {
    let last = one.evidence.last().copied().unwrap_or_default();
    let told = one.body.contains(end.sentence.trim_end_matches('.'));
    let about = names(&one.title);
    end.ordinal > last && !told && !about.is_empty() && about.iter().any(|name| end.names.contains(name))
}

/// The reports in the closing answers of rounds in which something was changed.
fn ends(events: &[&(u64, Event)]) -> Vec<End> {
    let rounds = rounds(events);
    let closings = (0..rounds.len()).filter_map(|at| wishes::done(&rounds, at));
    closings
        .flat_map(|(ordinal, event)| sentences(&event.text, true).into_iter().map(|said| (*ordinal, said)))
        .filter(|(_, said)| {
            let is_report = DONE.is_match(said) && !OPEN.is_match(said);
            is_report && !gate::is_question(said) && !gate::is_one_off(said) && !wishes::is_status(said)
        })
        .map(|(ordinal, said)| End { ordinal, names: names(said), sentence: wishes::bare(said) })
        .filter(|end| end.sentence.chars().count() <= MAX_SENTENCE && !end.sentence.ends_with(':'))
        .collect()
}

/// What stands in code marks, without the brackets of a call.
fn names(text: &str) -> Vec<String> {
    let marked = text.split('`').skip(1).step_by(2);
    marked
        .map(|name| name.trim_end_matches("()").to_owned())
        .filter(|name| name.chars().count() >= MIN_NAME && !name.contains(' '))
        .collect()
}
