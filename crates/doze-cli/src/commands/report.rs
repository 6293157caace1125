//! The page about a sweep that a person reads in the morning: what was learned and changed, sort by sort, each with its
//! reason and the way to look closer.

use std::collections::BTreeSet;
use std::io;

use doze_protocol::Exit;
use doze_protocol::dream::{DreamChange, DreamRecord, LeftAlone, UndoLeft};
use doze_protocol::memory::MemoryRecord;
use jiff::Timestamp;

use super::draw;
use super::names::Names;
use crate::screen::{Screen, count, one_line, short_ids, wrap_within};

/// What changes are sorted into, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Learned,
    Patterns,
    Updated,
    Merged,
    SaidAgain,
    Apart,
    Retired,
}

impl Sort {
    const ALL: [Self; 7] = [
        Self::Learned,
        Self::Patterns,
        Self::Updated,
        Self::Merged,
        Self::SaidAgain,
        Self::Apart,
        Self::Retired,
    ];

    /// The heading, and what it is called where all are counted.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Learned => ("Learned", "learned"),
            Self::Patterns => ("Seen in several sessions", "patterns"),
            Self::Updated => ("Updated", "updated"),
            Self::Merged => ("Merged", "merged"),
            Self::SaidAgain => ("Said again", "said again"),
            Self::Apart => ("Kept apart", "kept apart"),
            Self::Retired => ("Retired", "retired"),
        }
    }

    fn sign(self, screen: &Screen<'_>) -> String {
        match self {
            Self::Learned => screen.green("+"),
            Self::Patterns => screen.green("^"),
            Self::Updated | Self::Merged => "~".to_owned(),
            Self::SaidAgain => "=".to_owned(),
            Self::Apart => "?".to_owned(),
            Self::Retired => screen.red("-"),
        }
    }

    fn of(change: &DreamChange, dream: &DreamRecord) -> Self {
        let is_pattern = change
            .after
            .as_ref()
            .is_some_and(|after| after.topic_key.as_deref().is_some_and(|key| key.starts_with("pattern/")));
        match change.op.as_str() {
            "retire" => Self::Retired,
            "add" if change.after.as_ref().is_some_and(|after| after.status == "proposed") => Self::Apart,
            _ if is_pattern => Self::Patterns,
            "add" if former(dream, change).is_some() => Self::Updated,
            "supersede" => Self::Updated,
            "merge" => Self::Merged,
            "reinforce" => Self::SaidAgain,
            _ => Self::Learned,
        }
    }
}

/// The changes that a person wants to see: of two that are one step, which are the record that goes and the one that
/// takes its place, only the latter.
fn told(dream: &DreamRecord) -> Vec<&DreamChange> {
    let changed: BTreeSet<&str> = dream.changes.iter().map(|change| change.memory.as_str()).collect();
    let gives_way = |change: &DreamChange| {
        matches!(change.op.as_str(), "merge" | "supersede")
            && change.after.as_ref().is_some_and(|after| {
                after.status == "superseded"
                    && after.superseded_by.as_deref().is_some_and(|by| changed.contains(by))
            })
    };
    dream.changes.iter().filter(|change| !gives_way(change)).collect()
}

/// What a changed record was, or what made way for it.
fn former<'a>(dream: &'a DreamRecord, change: &'a DreamChange) -> Option<&'a MemoryRecord> {
    let makes_way = |other: &&DreamChange| {
        let by = other.after.as_ref().and_then(|after| after.superseded_by.as_deref());
        by == Some(change.memory.as_str())
    };
    let replaced = || dream.changes.iter().find(makes_way).and_then(|other| other.before.as_ref());
    change.before.as_ref().filter(|before| before.status == "active").or_else(replaced)
}

/// The whole page.
pub(super) fn page(
    screen: &mut Screen<'_>,
    dream: &DreamRecord,
    names: &Names,
    now: Timestamp,
) -> io::Result<Exit> {
    screen.line(screen.bold(&heading(dream, names, now)))?;
    if dream.result != "done" && !dream.reason.is_empty() {
        screen.line(format!("  {}: {}", one_line(&dream.result), one_line(&dream.reason)))?;
    }
    let told = told(dream);
    let sorts: Vec<(Sort, Vec<&DreamChange>)> = Sort::ALL
        .into_iter()
        .map(|sort| {
            (sort, told.iter().copied().filter(|change| Sort::of(change, dream) == sort).collect::<Vec<_>>())
        })
        .filter(|(_, changes)| !changes.is_empty())
        .collect();
    counts(screen, &sorts, dream.left_alone.len())?;
    for (sort, changes) in &sorts {
        section(screen, sort.names().0)?;
        for one in changes {
            // Of a dry run there is nothing yet to look at, of what was taken back nothing any more.
            let is_left = || dream.left.iter().any(|left| left.id == one.memory);
            let is_there = !dream.dry_run && (dream.undone_at.is_none() || is_left());
            change(screen, *sort, one, former(dream, one), names, is_there)?;
        }
    }
    left_alone(screen, &dream.left_alone, names)?;
    not_read(screen, dream, names)?;
    if !dream.dry_run && !dream.changes.is_empty() {
        footer(screen, dream, now)?;
    }
    Ok(draw::found(matches!(dream.result.as_str(), "failed" | "skipped")))
}

fn section(screen: &mut Screen<'_>, name: &str) -> io::Result<()> {
    screen.blank()?;
    screen.line(screen.bold(&format!("  {name}")))
}

/// `Dream 1d05c4fe · 7 h, took 14 s · 10 sessions of 3 projects`.
fn heading(dream: &DreamRecord, names: &Names, now: Timestamp) -> String {
    let took = match (dream.started_at.parse::<Timestamp>(), dream.ended_at.parse::<Timestamp>()) {
        (Ok(started), Ok(ended)) if ended.as_second() > started.as_second() => {
            format!(", took {} s", ended.as_second() - started.as_second())
        }
        _ => String::new(),
    };
    let when = draw::ago(now, &dream.started_at).unwrap_or_default();
    let read =
        || dream.sessions.iter().filter(|session| !matches!(session.outcome.as_str(), "skipped" | "retry"));
    let sessions = count(read().count() as u64, "session");
    let projects: BTreeSet<&str> = read().filter_map(|session| session.project.as_deref()).collect();
    let place = match projects.len() {
        0 => String::new(),
        1 => projects.iter().map(|project| format!(" of {}", names.name(project))).collect(),
        many => format!(" of {}", count(many as u64, "project")),
    };
    let dry = if dream.dry_run { " · dry run, nothing was changed" } else { "" };
    let id = if dream.dry_run { String::new() } else { format!(" {}", short_ids(&dream.id)) };
    one_line(&format!("Dream{id} · {when}{took} · {sessions}{place}{dry}"))
}

/// How much there is of each sort.
fn counts(screen: &mut Screen<'_>, sorts: &[(Sort, Vec<&DreamChange>)], left_alone: usize) -> io::Result<()> {
    let of_sorts = sorts.iter().map(|(sort, changes)| (sort.names().1, changes.len()));
    let all = of_sorts.chain([("left alone", left_alone)]).filter(|(_, number)| *number > 0);
    let told: Vec<String> = all.map(|(name, number)| format!("{name} {number}")).collect();
    if told.is_empty() {
        return Ok(());
    }
    screen.blank()?;
    screen.line(format!("  {}", told.join("   ")))
}

fn change(
    screen: &mut Screen<'_>,
    sort: Sort,
    change: &DreamChange,
    former: Option<&MemoryRecord>,
    names: &Names,
    is_there: bool,
) -> io::Result<()> {
    let shown = change.after.as_ref().or(change.before.as_ref());
    let (title, more) = shown.map_or_else(
        || (change.memory.clone(), String::new()),
        |memory| draw::headline_and_more(&memory.title, &memory.body),
    );
    let place = shown.and_then(|memory| memory.project.as_deref()).map(|project| names.name(project));
    let lead = format!("  {} ", sort.sign(screen));
    draw::headline_rows(screen, &lead, &title, &place.unwrap_or_default())?;
    let mut lines = Vec::new();
    if matches!(sort, Sort::Learned | Sort::Patterns | Sort::Updated | Sort::Apart) {
        lines.extend(wrap_within(&more, "    ", screen.columns(), 4));
    }
    if let Some(former) = former.filter(|former| sort == Sort::Updated && former.body != former.title) {
        lines.extend(wrap_within(&format!("was: {}", former.body), "    ", screen.columns(), 2));
    }
    for line in lines {
        screen.line(line)?;
    }
    let closer = if is_there { format!(" · doze why {}", short_ids(&change.memory)) } else { String::new() };
    for line in wrap_within(&format!("{}{closer}", short_ids(&because(change))), "    ", screen.columns(), 3)
    {
        screen.line(screen.dim(&line))?;
    }
    Ok(())
}

/// Why a sweep changed something, and the events that speak for it unless the sentence names their session itself.
fn because(change: &DreamChange) -> String {
    let session = |event: &str| event.split('#').next().unwrap_or_default().to_owned();
    let named = change.evidence.iter().all(|event| change.because.contains(&session(event)));
    if named {
        return format!("because {}", change.because);
    }
    format!("because {} ({})", change.because, change.evidence.join(", "))
}

/// What might have changed and did not, each reason once.
fn left_alone(screen: &mut Screen<'_>, left: &[LeftAlone], names: &Names) -> io::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    section(screen, "Left alone")?;
    let mut reasons: Vec<&str> = Vec::new();
    for one in left {
        if !reasons.contains(&one.reason.as_str()) {
            reasons.push(&one.reason);
        }
    }
    for reason in reasons {
        for one in left.iter().filter(|one| one.reason == reason) {
            let project = one.project.as_deref().map(|project| names.name(project)).unwrap_or_default();
            draw::headline_rows(screen, "  · ", &one.title, &project)?;
        }
        for line in wrap_within(&short_ids(reason), "    ", screen.columns(), 3) {
            screen.line(screen.dim(&line))?;
        }
    }
    Ok(())
}

/// The sessions that were chosen and did not yield what was hoped for, and why.
fn not_read(screen: &mut Screen<'_>, dream: &DreamRecord, names: &Names) -> io::Result<()> {
    let passed: Vec<_> = dream.sessions.iter().filter(|session| !session.reason.is_empty()).collect();
    if passed.is_empty() {
        return Ok(());
    }
    section(screen, "Sessions")?;
    for session in passed {
        let project = session.project.as_deref().map(|project| names.name(project)).unwrap_or_default();
        let said = format!("{} {}: {}", session.session, session.outcome, session.reason);
        draw::headline_rows(screen, "  · ", &short_ids(&said), &project)?;
    }
    Ok(())
}

/// That it was taken back, or how to.
fn footer(screen: &mut Screen<'_>, dream: &DreamRecord, now: Timestamp) -> io::Result<()> {
    let undo = format!("doze dream undo {}", one_line(&short_ids(&dream.id)));
    left(screen, &dream.left)?;
    screen.blank()?;
    let Some(at) = &dream.undone_at else {
        return screen.line(format!("Undo all of it:  {undo}"));
    };
    let when = draw::ago(now, at).unwrap_or_default();
    if dream.left.is_empty() {
        return screen.line(format!("Taken back · {when}"));
    }
    screen.line(format!("The rest was taken back · {when}"))?;
    screen.line(format!("Once nothing stands against it:  {undo}"))
}

/// What an undo left as it is, and why.
pub(super) fn left(screen: &mut Screen<'_>, left: &[UndoLeft]) -> io::Result<()> {
    if left.is_empty() {
        return Ok(());
    }
    screen.blank()?;
    screen.line(format!("  {} left as it is now:", count(left.len() as u64, "memory")))?;
    for one in left {
        draw::headline_and_reason(screen, "  · ", &one.title, &short_ids(&one.id), &one.because)?;
    }
    Ok(())
}
