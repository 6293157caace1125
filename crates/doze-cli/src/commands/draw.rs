//! How memories, hits and what was done to them look.

use std::io;

use doze_protocol::memory::{AddAnswer, ForgetAnswer, MemoryRecord, PromoteAnswer, WhyAnswer};
use doze_protocol::recall::{Hit, SearchAnswer};
use doze_protocol::system::ImportAnswer;
use doze_protocol::{Exit, List};
use jiff::Timestamp;

use super::names::Names;
use crate::screen::{Screen, age, count, one_line, short_ids, width, wrap, wrap_within};

/// What stands under a headline is set in by this.
const INDENT: &str = "    ";

/// An age, or nothing for a time that cannot be read.
pub(crate) fn ago(now: Timestamp, then: &str) -> Option<String> {
    then.parse().ok().map(|then| age(now, then))
}

/// Found, or nothing found.
pub(super) fn found(is_empty: bool) -> Exit {
    if is_empty { Exit::Nothing } else { Exit::Done }
}

/// A text for an agent, alone.
pub(super) fn text(screen: &mut Screen<'_>, text: &str) -> io::Result<Exit> {
    screen.text(text)?;
    Ok(found(text.trim().is_empty()))
}

/// A text for an agent, laid out to be read by a person: headings bold, list items folded under their dash.
pub(crate) fn brief_text(screen: &mut Screen<'_>, text: &str) -> io::Result<()> {
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            let heading = one_line(heading.trim_start_matches('#'));
            screen.line(screen.bold(&format!("  {heading}")))?;
            continue;
        }
        let (dash, said) = line.strip_prefix("- ").map_or(("", line), |item| ("- ", item));
        let indent = if dash.is_empty() { "  " } else { INDENT };
        for (index, line) in wrap(said, indent, screen.columns()).iter().enumerate() {
            match line.strip_prefix(INDENT) {
                Some(first) if index == 0 && !dash.is_empty() => screen.line(format!("  - {first}"))?,
                _ => screen.line(line)?,
            }
        }
    }
    Ok(())
}

pub(super) fn hits(
    screen: &mut Screen<'_>,
    answer: &SearchAnswer,
    names: &Names,
    now: Timestamp,
) -> io::Result<Exit> {
    hit_rows(screen, &answer.hits, names, now)?;
    let semantic_is_missing = matches!(answer.semantic.as_str(), "failed" | "timeout" | "loading");
    if answer.hits.is_empty() {
        screen.line("nothing found; other words may help, or  doze search --history …")?;
    }
    if semantic_is_missing {
        let why = match answer.semantic.as_str() {
            "loading" => "the model is still at work on the memories; ask again in a moment".to_owned(),
            other => format!("meaning was not searched ({})", one_line(other)),
        };
        screen.line(screen.dim(&format!("by words alone: {why}")))?;
    }
    Ok(found(answer.hits.is_empty()))
}

/// Hits, numbered, best first.
fn hit_rows(screen: &mut Screen<'_>, hits: &[Hit], names: &Names, now: Timestamp) -> io::Result<()> {
    for (index, hit) in hits.iter().enumerate() {
        let agent = hit.source.agent.as_deref().or(hit.source.harness.as_deref());
        entry(
            screen,
            &format!("{:>2}  ", index + 1),
            &Row { title: &hit.title, body: &hit.body, kind: &hit.kind, created_at: &hit.created_at },
            [
                Some(short_ids(&hit.id)),
                hit.project.as_deref().map(|project| names.name(project)),
                agent.map(|agent| format!("from {agent}")),
            ],
            now,
        )?;
        if let Some(explain) = &hit.explain {
            let rank = |rank: Option<u32>| rank.map_or_else(|| "–".to_owned(), |rank| rank.to_string());
            screen.line(screen.dim(&format!(
                "    score {:.3}: words {}, meaning {}, fused {:.3} × kind {:.2} × confidence {:.2} × age {:.2}",
                hit.score,
                rank(explain.lexical_rank),
                rank(explain.semantic_rank),
                explain.fused,
                explain.kind_weight,
                explain.confidence_factor,
                explain.age_factor,
            )))?;
        }
    }
    Ok(())
}

/// What a list shows of a memory or a hit.
pub(crate) struct Row<'a> {
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) created_at: &'a str,
}

/// One of a list: what it says over as many lines as it takes, its kind and age at the right edge, and the details
/// dimmed below.
pub(crate) fn entry(
    screen: &mut Screen<'_>,
    lead: &str,
    row: &Row<'_>,
    details: impl IntoIterator<Item = Option<String>>,
    now: Timestamp,
) -> io::Result<()> {
    let right = joined([Some(row.kind.to_owned()), ago(now, row.created_at)]);
    let (head, more) = headline_and_more(row.title, row.body);
    headline_rows(screen, lead, &head, &right)?;
    for line in wrap_within(&more, INDENT, screen.columns(), 3) {
        screen.line(line)?;
    }
    for line in wrap(&joined(details), INDENT, screen.columns()) {
        screen.line(screen.dim(&line))?;
    }
    Ok(())
}

/// A headline after a `lead` of our own, folded to leave the right edge to `right`.
pub(super) fn headline_rows(screen: &mut Screen<'_>, lead: &str, head: &str, right: &str) -> io::Result<()> {
    let room = screen.columns().saturating_sub(width(right) + 2);
    for (index, line) in wrap_within(head, INDENT, room, 3).iter().enumerate() {
        match line.strip_prefix(INDENT) {
            Some(first) if index == 0 => screen.row_after(lead, first, right)?,
            _ => screen.line(line)?,
        }
    }
    Ok(())
}

/// A headline, and dimmed below it why.
pub(super) fn headline_and_reason(
    screen: &mut Screen<'_>,
    lead: &str,
    head: &str,
    right: &str,
    reason: &str,
) -> io::Result<()> {
    headline_rows(screen, lead, head, right)?;
    for line in wrap_within(&short_ids(reason), INDENT, screen.columns(), 3) {
        screen.line(screen.dim(&line))?;
    }
    Ok(())
}

/// The title, or the body's start when there is none.
pub(super) fn headline(title: &str, body: &str) -> String {
    one_line(if title.trim().is_empty() { body } else { title })
}

/// What stands first, and what the body says beyond it. A title that is but the start of its body stands for nothing
/// that the body does not say.
pub(super) fn headline_and_more(title: &str, body: &str) -> (String, String) {
    let (title, body) = (one_line(title), one_line(body));
    let start = title.trim_end_matches(['…', '.', ' ']);
    if title.is_empty() || (!body.is_empty() && body.starts_with(start)) {
        (body, String::new())
    } else {
        (title, body)
    }
}

pub(crate) fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts: Vec<String> =
        parts.into_iter().flatten().map(|part| one_line(&part)).filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

fn one_indented(line: &str) -> String {
    format!("    {}", one_line(line))
}

/// Who says so, in a word or two.
fn origin(memory: &MemoryRecord) -> String {
    let agent = memory.source.agent.as_deref().or(memory.source.harness.as_deref());
    match (memory.verification.as_str(), agent) {
        ("human", _) => "from you".to_owned(),
        ("import", _) => "imported".to_owned(),
        (_, Some(agent)) => format!("from {agent}"),
        ("agent", None) => "from an agent".to_owned(),
        (_, None) => "from a session".to_owned(),
    }
}

/// What speaks for a memory, in words.
fn verified(memory: &MemoryRecord) -> String {
    match memory.verification.as_str() {
        "human" => "you said so".to_owned(),
        "rule" => "a rule found it in a session".to_owned(),
        "extraction" => "a model found it in a session".to_owned(),
        "import" => "taken over from elsewhere".to_owned(),
        "agent" => "an agent said so".to_owned(),
        other => other.to_owned(),
    }
}

/// What is special about a memory.
fn marks(memory: &MemoryRecord) -> Vec<Option<String>> {
    let said = u64::from(memory.reinforce_count);
    vec![
        (memory.status != "active" && !memory.status.is_empty()).then(|| memory.status.clone()),
        memory.superseded_by.as_deref().map(|id| format!("by {}", short_ids(id))),
        memory.pinned.then(|| "pinned".to_owned()),
        (said > 1).then(|| format!("said {said} times")),
    ]
}

/// What was asked of a list, as it is typed again.
pub(super) struct ListAsked {
    /// What leaves memories out.
    pub(super) filters: Vec<String>,
    /// Where to look, and how many to show.
    pub(super) place: Vec<String>,
}

impl ListAsked {
    fn is_everywhere(&self) -> bool {
        self.place.iter().any(|word| word == EVERYWHERE)
    }
}

/// The option that lists all projects.
pub(super) const EVERYWHERE: &str = "--everywhere";

pub(super) fn memories(
    screen: &mut Screen<'_>,
    list: &List<MemoryRecord>,
    names: &Names,
    now: Timestamp,
    asked: &ListAsked,
) -> io::Result<Exit> {
    for memory in &list.items {
        memory_row(screen, memory, names, now)?;
    }
    if list.items.is_empty() && asked.filters.is_empty() {
        screen.line("nothing here yet; agents fill it as they work, or you with  doze remember …")?;
        if !asked.is_everywhere() {
            screen.line("what other projects have:  doze list --everywhere")?;
        }
    } else if list.items.is_empty() {
        let place = one_line(&asked.place.join(" "));
        screen.line(format!("nothing fits; all that is here:  doze list {place}"))?;
    }
    if let Some(cursor) = &list.next {
        screen.line(format!(
            "more:  doze list {}",
            one_line(
                &[&asked.filters[..], &asked.place, &["--cursor".to_owned(), cursor.clone()]]
                    .concat()
                    .join(" ")
            )
        ))?;
    }
    Ok(found(list.items.is_empty()))
}

fn memory_row(
    screen: &mut Screen<'_>,
    memory: &MemoryRecord,
    names: &Names,
    now: Timestamp,
) -> io::Result<()> {
    let mut details = vec![
        Some(short_ids(&memory.id)),
        memory.project.as_deref().map(|project| names.name(project)),
        Some(origin(memory)),
    ];
    details.extend(marks(memory));
    entry(
        screen,
        "",
        &Row { title: &memory.title, body: &memory.body, kind: &memory.kind, created_at: &memory.created_at },
        details,
        now,
    )
}

pub(super) fn proposed(
    screen: &mut Screen<'_>,
    list: &List<MemoryRecord>,
    names: &Names,
    now: Timestamp,
) -> io::Result<Exit> {
    for memory in &list.items {
        memory_row(screen, memory, names, now)?;
    }
    screen.line(match list.items.is_empty() {
        true => "nothing waits for a decision",
        false => "decide with  doze review ID --accept  or  doze review ID --reject",
    })?;
    Ok(found(list.items.is_empty()))
}

/// One memory with all there is to tell.
pub(super) fn memory(
    screen: &mut Screen<'_>,
    memory: &MemoryRecord,
    names: &Names,
    now: Timestamp,
) -> io::Result<Exit> {
    for line in wrap(&headline(&memory.title, &memory.body), "", screen.columns()) {
        screen.line(screen.bold(&line))?;
    }
    if memory.title.trim() != memory.body.trim() {
        for line in wrap(&memory.body, "  ", screen.columns()) {
            screen.line(line)?;
        }
    }
    screen.blank()?;
    let space = joined([
        Some(memory.space.clone()),
        memory.project.as_deref().map(|project| names.name(project)),
        memory.agent.clone().map(|agent| format!("agent {agent}")),
        memory.team.clone().map(|team| format!("team {team}")),
    ]);
    let kind = match &memory.native_kind {
        Some(native) if *native != memory.kind => format!("{} ({native})", memory.kind),
        _ => memory.kind.clone(),
    };
    let dated = |time: &str| ago(now, time).map(|age| format!("{age} ({time})"));
    let fields = [
        ("kind", kind),
        ("space", space),
        (
            "origin",
            joined([
                Some(origin(memory)),
                memory.source.session.clone().map(|session| format!("session {session}")),
            ]),
        ),
        ("learned", dated(&memory.created_at).unwrap_or_default()),
        ("confirmed", dated(&memory.last_confirmed_at).unwrap_or_default()),
        ("confidence", format!("{:.2}, {}", memory.confidence, verified(memory))),
        ("marks", joined(marks(memory))),
        ("topic", memory.topic_key.clone().unwrap_or_default()),
        ("tags", memory.tags.join(", ")),
        ("files", memory.files.join(", ")),
        ("cites", joined(cited(memory))),
        ("id", memory.id.clone()),
    ];
    for (name, value) in fields {
        if !value.trim().is_empty() {
            screen.line(format!("  {name:<12}{}", one_line(&value)))?;
        }
    }
    Ok(Exit::Done)
}

pub(super) fn why(
    screen: &mut Screen<'_>,
    why: &WhyAnswer,
    names: &Names,
    now: Timestamp,
) -> io::Result<Exit> {
    memory(screen, &why.memory, names, now)?;
    screen.blank()?;
    screen.line(screen.bold("Where it came from"))?;
    for event in &why.events {
        let when = event.at.as_deref().and_then(|at| ago(now, at));
        let kind = Some(event.kind.clone()).filter(|kind| *kind != event.origin);
        let right = joined([when, Some(event.origin.clone()), kind]);
        headline_rows(screen, "  ", &event.text, &right)?;
        screen.line(screen.dim(&one_indented(&event.event)))?;
    }
    if why.events.is_empty() {
        screen.line("  nobody's session: it was told directly, or its session is gone")?;
    }
    if !why.merges.is_empty() {
        screen.blank()?;
        screen.line(screen.bold("What happened to it"))?;
        for change in &why.merges {
            let when = change.at.as_deref().and_then(|at| ago(now, at));
            let said = short_ids(&format!("{}: {}", change.op, change.because));
            headline_rows(screen, "  ", &said, &when.unwrap_or_default())?;
            if let Some(dream) = &change.dream {
                screen.line(screen.dim(&one_indented(&format!("doze dream show {}", short_ids(dream)))))?;
            }
        }
    }
    screen.blank()?;
    screen.line(format!("  shown to agents  {}", count(why.injections, "time")))?;
    for (name, value) in &why.scores {
        let (name, value) = score(name, *value);
        screen.line(format!("  {name:<15}  {value}"))?;
    }
    if !why.retires.is_empty() {
        for line in wrap(&format!("What would retire it: {}", why.retires), "  ", screen.columns()) {
            screen.line(line)?;
        }
    }
    screen.blank()?;
    let id = one_line(&short_ids(&why.memory.id));
    screen.line(format!("Wrong?      doze feedback {id} wrong"))?;
    screen.line(format!("Delete it:  doze forget {id}"))?;
    Ok(Exit::Done)
}

/// The memories that a pattern cites.
fn cited(memory: &MemoryRecord) -> impl Iterator<Item = Option<String>> {
    let is_pattern = memory.topic_key.as_deref().is_some_and(|key| key.starts_with("pattern/"));
    let ids = memory.contexts.iter().filter_map(|context| context.origin.as_deref());
    ids.filter(move |_| is_pattern).map(|id| Some(short_ids(id)))
}

/// What a score is made of, in words; a part that is not known here as it is called.
fn score(name: &str, value: f64) -> (String, String) {
    // Never negative, and far from what does not fit.
    let whole = value.max(0.0).trunc() as u64;
    match name {
        "age_days" => (
            "last confirmed".to_owned(),
            if whole == 0 { "today".to_owned() } else { format!("{} ago", count(whole, "day")) },
        ),
        "evidence" => ("independent sources".to_owned(), whole.to_string()),
        other => (one_line(other), format!("{value:.2}")),
    }
}

pub(super) fn added(screen: &mut Screen<'_>, answer: &AddAnswer) -> io::Result<Exit> {
    let what = match answer.outcome.as_str() {
        "added" => "remembered",
        "reinforced" => "known already, now better proven",
        "superseded" => "remembered; it replaces an older one, which is kept as history",
        "merged" => "merged into what was known",
        "proposed" => "noted; it waits for  doze review",
        other => other,
    };
    let title = headline(&answer.memory.title, &answer.memory.body);
    screen.line(format!("{}: {title}", one_line(what)))?;
    screen.line(screen.dim(&one_indented(&joined([
        Some(short_ids(&answer.id)),
        Some(answer.memory.kind.clone()),
        Some(answer.memory.space.clone()),
    ]))))?;
    match answer.silence.as_deref() {
        Some("off") => {
            screen.line("  memory is off, so no agent is told; on:  doze config set memory.enabled true")?;
        }
        Some(_) => screen.line("  paused, so no agent is told; go on:  doze resume")?,
        None => {}
    }
    let redacted: u64 = answer.redacted.values().sum();
    if redacted > 0 {
        let rules: Vec<String> = answer.redacted.keys().map(|rule| one_line(rule)).collect();
        screen.line(format!(
            "  {} taken out before it was stored: {}",
            count(redacted, "secret"),
            rules.join(", ")
        ))?;
    }
    Ok(Exit::Done)
}

pub(super) fn promoted(screen: &mut Screen<'_>, answer: &PromoteAnswer) -> io::Result<Exit> {
    let path = one_line(&answer.path);
    screen.line(match answer.outcome.as_str() {
        "known" => format!("{path} says it already"),
        _ => format!("{path} says it now; where agents read that file, the brief leaves it out"),
    })?;
    for line in wrap_within(&answer.line, INDENT, screen.columns(), 6) {
        screen.line(screen.dim(&line))?;
    }
    Ok(Exit::Done)
}

pub(super) fn forgotten(screen: &mut Screen<'_>, answer: ForgetAnswer) -> io::Result<Exit> {
    let gone = [(answer.memories, "memory"), (answer.sessions, "session"), (answer.events, "event")];
    let mut parts: Vec<String> =
        gone.iter().filter(|(number, _)| *number > 0).map(|(number, thing)| count(*number, thing)).collect();
    if answer.lines > 0 {
        parts.push(format!("{} that said it elsewhere", count(answer.lines, "sentence")));
    }
    let is_empty = parts.is_empty();
    screen.line(if is_empty {
        "nothing was there to forget".to_owned()
    } else {
        format!("forgotten: {}", parts.join(", "))
    })?;
    Ok(found(is_empty))
}

/// What could not be read or written, a line each.
pub(crate) fn problems(screen: &mut Screen<'_>, problems: &[String]) -> io::Result<()> {
    for problem in problems {
        screen.line(format!("  {}", one_line(problem)))?;
    }
    Ok(())
}

/// What an import of sessions did, in a line.
pub(crate) fn import_line(answer: &ImportAnswer) -> String {
    import_line_of(answer, "session")
}

/// What an import did, in a line.
pub(super) fn import_line_of(answer: &ImportAnswer, thing: &str) -> String {
    let redacted: u64 = answer.redacted.values().sum();
    // Of a folder of sessions whole files are left out, of an office its records.
    let left_out = if thing == "session" { "path" } else { thing };
    let parts = [
        (answer.added, format!("{} new", answer.added)),
        (answer.known, format!("{} known already", answer.known)),
        (answer.damaged, format!("{} damaged", answer.damaged)),
        (answer.left_out, format!("{} left out", count(answer.left_out, left_out))),
        (redacted, format!("{} taken out", count(redacted, "secret"))),
    ];
    let mut line = format!("{} read", count(answer.read, thing));
    if answer.read > 0 && answer.added + answer.known + answer.damaged == 0 {
        line += ", nothing in it to keep";
    }
    for (_, part) in parts.into_iter().filter(|(number, _)| *number > 0) {
        line += &format!(", {part}");
    }
    line
}
