//! The scores as a page.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::labels::Part;
use crate::score::{Noted, Score, family};

/// One line for each session and each sum.
pub(crate) fn summary(scores: &[Score]) -> String {
    let mut page = String::from(
        "| sessions | kept | say a note | point at one | notes | said | pointed at | in reach of quoting | negatives kept |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for part in [Part::Tuned, Part::Blind] {
        let of_part: Vec<&Score> = scores.iter().filter(|score| score.part == part).collect();
        for score in &of_part {
            row(&mut page, &format!("{} ({})", score.id, score.language), &[score]);
        }
        row(&mut page, if part == Part::Tuned { "**tuned**" } else { "**blind**" }, &of_part);
    }
    let kinds: BTreeSet<&str> =
        scores.iter().flat_map(|score| &score.notes).map(|note| family(&note.kind)).collect();
    page.push_str("\n| notes of | tuned said | tuned pointed at | blind said | blind pointed at |\n|---|--:|--:|--:|--:|\n");
    for kind in kinds {
        let cell = |part: Part, is_it: &dyn Fn(&Noted) -> bool| {
            let of_kind =
                || scores.iter().filter(move |score| score.part == part).flat_map(|score| &score.notes);
            let all = of_kind().filter(|note| family(&note.kind) == kind).count();
            let hit = of_kind().filter(|note| family(&note.kind) == kind && is_it(note)).count();
            format!("{hit}/{all}")
        };
        let said = |note: &Noted| note.said;
        let pointed = |note: &Noted| note.pointed_at;
        let cells = [
            cell(Part::Tuned, &said),
            cell(Part::Tuned, &pointed),
            cell(Part::Blind, &said),
            cell(Part::Blind, &pointed),
        ];
        let _ = writeln!(page, "| {kind} | {} |", cells.join(" | "));
    }
    page
}

fn row(page: &mut String, name: &str, scores: &[&Score]) {
    let memories = || scores.iter().flat_map(|score| &score.memories);
    let notes = || scores.iter().flat_map(|score| &score.notes);
    let kept = memories().count();
    let all = notes().count();
    let share = |hit: usize, all: usize| match all {
        0 => "–".to_owned(),
        all => format!("{hit} ({:.2})", hit as f64 / all as f64),
    };
    let _ = writeln!(
        page,
        "| {name} | {kept} | {} | {} | {all} | {} | {} | {} | {} |",
        share(memories().filter(|memory| memory.says).count(), kept),
        share(memories().filter(|memory| memory.points).count(), kept),
        share(notes().filter(|note| note.said).count(), all),
        share(notes().filter(|note| note.pointed_at).count(), all),
        share(notes().filter(|note| note.reachable).count(), all),
        scores.iter().map(|score| score.trapped.len()).sum::<usize>(),
    );
}

/// Every memory and every missed note of a session.
pub(crate) fn shown(score: &Score) -> String {
    let mut page = format!("\n## {}\n", score.id);
    for memory in &score.memories {
        let mark = match (memory.says, memory.points) {
            (true, _) => "says",
            (_, true) => "points",
            _ => "–",
        };
        let _ = writeln!(page, "{mark:>6} [{}] {}", memory.kind, memory.text);
    }
    for note in score.notes.iter().filter(|note| !note.said) {
        let mark = if note.pointed_at { "pointed at" } else { "missed" };
        let _ = writeln!(page, "{mark:>10}: [{}] {}", note.kind, note.text);
    }
    page
}
