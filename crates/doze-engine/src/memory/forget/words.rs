//! Forgotten words in what others said and did: events, summaries, tasks and work states. The sentence that says them
//! goes, the rest stays; of the event that a memory came from nothing stays, because it was made of that.

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{Event, OwnerId, ProjectId, Session, SessionKey, WorkState};
use doze_core::text::Statements;
use doze_store::{ChangeSet, Family, SessionFilter, Snapshot, Subject};

use super::{Evidence, FORGOTTEN, Gone, foreign};
use crate::EngineError;
use crate::asking::Who;
use crate::commit::is_of_harness;
use crate::office::{foreign_session_key, foreign_work_key};
use crate::task::without_words;

/// Sessions of a project that are looked through, the newest, and events read at once.
const MAX_SESSIONS: usize = 1_000;
const EVENTS_READ: u64 = 256;
/// Bytes of events that are written anew in one change set; of more nothing is left.
const MAX_BYTES: usize = 32 << 20;
/// How an escaped letter in JSON begins, and its bytes.
const ESCAPED: &str = r"\u";
const ESCAPE: usize = r"\u0000".len();

/// Adds the blanking of what memories came from and, if `everywhere`, of what says the same in their projects. Answers
/// how many sentences said it there.
pub(super) fn without(
    snapshot: &Snapshot,
    set: ChangeSet,
    gone: &Gone,
    everywhere: bool,
) -> Result<(ChangeSet, u64), EngineError> {
    let owner = set.owner.clone();
    let statements = Statements::of(gone.statements.iter().map(String::as_str));
    let sources = sources(snapshot, &owner, gone, &statements)?;
    let mut blanks = Blanks { snapshot, set, statements, lines: 0, bytes: 0 };
    for (session, ordinals) in sources.values() {
        blanks.session(session.clone(), ordinals, everywhere)?;
    }
    if everywhere && !blanks.statements.is_empty() {
        let mut seen: BTreeSet<SessionKey> = sources.into_keys().collect();
        for place in &gone.places {
            // What is known everywhere may have been said anywhere.
            let filter = SessionFilter { project: place.clone().map(Some), ..SessionFilter::default() };
            for session in snapshot.sessions(&owner, &filter, None, MAX_SESSIONS)?.items {
                if seen.insert(session.key.clone()) {
                    blanks.session(session, &BTreeSet::new(), true)?;
                }
            }
        }
        let is_there = |project: Option<&ProjectId>| {
            gone.places.contains(&None) || gone.places.contains(&project.cloned())
        };
        for work in snapshot.works(&owner)?.into_iter().filter(|work| is_there(work.project.as_ref())) {
            blanks.work(work)?;
        }
        let tasks = gone.places.iter().flatten();
        for project in tasks {
            let set = std::mem::replace(&mut blanks.set, ChangeSet::new(owner.clone()));
            let take_out = |text: &str| taken_out(&blanks.statements, text);
            let (set, lines) = without_words(snapshot, set, project, &take_out)?;
            (blanks.set, blanks.lines) = (set, blanks.lines + lines);
        }
        blanks.set = foreign::without(snapshot, blanks.set, &gone.places, &blanks.statements)?;
    }
    Ok((blanks.set, blanks.lines))
}

/// A session with the ordinals of some of its events.
type Source = (Session, BTreeSet<u64>);

/// The sessions, and their events, that memories came from.
fn sources(
    snapshot: &Snapshot,
    owner: &OwnerId,
    gone: &Gone,
    statements: &Statements,
) -> Result<BTreeMap<SessionKey, Source>, EngineError> {
    let mut sources: BTreeMap<SessionKey, Source> = BTreeMap::new();
    for (name, events) in &gone.evidence {
        let named = snapshot.sessions_named(owner, name)?;
        for event in events {
            let mut meant: Vec<&Session> = named.iter().filter(|session| may_be_of(event, session)).collect();
            if meant.len() > 1 {
                // Which harness saw it again was not noted.
                let mut saying = Vec::new();
                for session in &meant {
                    let at = event.ordinal..event.ordinal.saturating_add(1);
                    let events = snapshot.events(owner, &session.key, at)?;
                    if events.iter().any(|(_, event)| texts(event).any(|text| says(statements, text))) {
                        saying.push(*session);
                    }
                }
                meant = if saying.is_empty() { meant } else { saying };
            }
            for session in meant {
                let source = sources.entry(session.key.clone());
                let (_, ordinals) = source.or_insert_with(|| (session.clone(), BTreeSet::new()));
                ordinals.insert(event.ordinal);
            }
        }
    }
    Ok(sources)
}

/// Whether a session is one that evidence with its name may come from: another harness, agent or project may have one of
/// that name.
fn may_be_of(event: &Evidence, session: &Session) -> bool {
    let moves = is_of_harness(&session.agent.id, &session.key.harness);
    let is_its_agents = event
        .agent
        .as_ref()
        .is_none_or(|agent| agent.harness == session.key.harness && (moves || agent.id == session.agent.id));
    let is_its_place = moves || event.project.is_none() || event.project == session.project;
    is_its_agents && is_its_place
}

fn says(statements: &Statements, text: &str) -> bool {
    taken_out(statements, text).is_some()
}

/// A text without the sentences that say one of the statements, and how many those were. A record of a program may have
/// its letters written as `\u00fc`.
pub(super) fn taken_out(statements: &Statements, text: &str) -> Option<(String, u64)> {
    let plain = unescaped(text);
    statements.taken_out(plain.as_deref().unwrap_or(text), FORGOTTEN)
}

/// A text with the letters that JSON escapes by their number written as letters; `None` when it has none. What is no
/// letter, a quotation mark for one, stays as it is.
fn unescaped(text: &str) -> Option<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(ESCAPED) {
        let (before, escapes) = rest.split_at(at);
        let units: Vec<u16> =
            std::iter::successors(unit(escapes), |(_, behind)| unit(behind)).map(|(unit, _)| unit).collect();
        if units.is_empty() {
            out.push_str(&rest[..at + ESCAPED.len()]);
            rest = &escapes[ESCAPED.len()..];
            continue;
        }
        rest = &escapes[units.len() * ESCAPE..];
        // A record within a record has its backslashes escaped as well.
        out.push_str(before.trim_end_matches('\\'));
        for letter in char::decode_utf16(units) {
            match letter {
                Ok(c) if c.is_alphanumeric() || !(c.is_ascii() || c.is_control()) => out.push(c),
                Ok(c) => out.push_str(&format!("{ESCAPED}{:04x}", u32::from(c))),
                Err(half) => out.push_str(&format!("{ESCAPED}{:04x}", half.unpaired_surrogate())),
            }
        }
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// The number of the escape that a text begins with, and what follows it.
fn unit(text: &str) -> Option<(u16, &str)> {
    let digits = text.strip_prefix(ESCAPED)?.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((u16::from_str_radix(digits, 16).ok()?, &text[ESCAPE..]))
}

fn texts(event: &Event) -> impl Iterator<Item = &str> {
    let tool = event.tool.iter().flat_map(|tool| [tool.input.as_str(), tool.output.as_str()]);
    [event.text.as_str()].into_iter().chain(tool)
}

/// A change set that blanks, while it grows.
struct Blanks<'a> {
    snapshot: &'a Snapshot,
    set: ChangeSet,
    statements: Statements,
    lines: u64,
    bytes: usize,
}

impl Blanks<'_> {
    /// Blanks in a session: the events it was learned from as a whole, else the sentences that say it.
    fn session(
        &mut self,
        mut session: Session,
        sources: &BTreeSet<u64>,
        everywhere: bool,
    ) -> Result<(), EngineError> {
        let (owner, key) = (self.set.owner.clone(), session.key.clone());
        let mut replaced: Vec<(u64, Event)> = Vec::new();
        for ordinal in sources {
            let events = self.snapshot.events(&owner, &key, *ordinal..ordinal.saturating_add(1))?;
            replaced.extend(events.into_iter().map(|(ordinal, event)| (ordinal, blanked(event))));
        }
        let mut start = if everywhere { 0 } else { session.event_count };
        while start < session.event_count {
            let end = session.event_count.min(start + EVENTS_READ);
            for (ordinal, event) in self.snapshot.events(&owner, &key, start..end)? {
                if !sources.contains(&ordinal) {
                    replaced.extend(self.event(event).map(|event| (ordinal, event)));
                }
            }
            start = end;
        }
        let is_told = self.record(&mut session);
        let beside = self.snapshot.aux(&owner, Family::Other, &foreign_session_key(&key))?;
        let is_beside =
            everywhere && beside.is_some_and(|record| foreign::are_said_in(&self.statements, &record));
        if replaced.is_empty() && !is_told && !is_beside {
            return Ok(());
        }
        let empty = ChangeSet::new(owner);
        // What is committed to it meanwhile must not be taken back.
        let mut set = std::mem::replace(&mut self.set, empty)
            .expect_seen(self.snapshot, Subject::Session(key.clone()))?;
        for (ordinal, event) in replaced {
            // What the model made of the words goes with them.
            set = set
                .replace_event(key.clone(), ordinal, event)
                .delete_aux(Family::Vectors, crate::index::turns::record_of(&key, ordinal));
        }
        for extractor in Who::LEDGERS {
            set = set.delete_aux(Family::Candidates, crate::dream::session_record(&key, extractor));
        }
        self.set = set.delete_aux(Family::Other, foreign_session_key(&key)).put_session(session);
        Ok(())
    }

    /// An event without the sentences that say it, if there are any.
    fn event(&mut self, mut event: Event) -> Option<Event> {
        let before = self.lines;
        self.text(&mut event.text);
        if let Some(tool) = &mut event.tool {
            self.text(&mut tool.input);
            self.text(&mut tool.output);
        }
        if self.lines == before {
            return None;
        }
        self.bytes += texts(&event).map(str::len).sum::<usize>();
        Some(if self.bytes > MAX_BYTES { blanked(event) } else { event })
    }

    /// Blanks what is told of a session.
    fn record(&mut self, session: &mut Session) -> bool {
        let before = self.lines;
        if let Some(task) = &mut session.task {
            [&mut task.title, &mut task.spec, &mut task.prompt].into_iter().for_each(|text| self.text(text));
        }
        if let Some(summary) = &mut session.summary {
            let texts = [
                &mut summary.what,
                &mut summary.request,
                &mut summary.work_done,
                &mut summary.goal,
                &mut summary.progress,
            ];
            texts.into_iter().for_each(|text| self.text(text));
            let lists = [
                &mut summary.decisions,
                &mut summary.unfinished,
                &mut summary.open_items,
                &mut summary.next_steps,
            ];
            lists.into_iter().for_each(|list| self.list(list));
        }
        self.lines > before
    }

    /// Blanks in a work state.
    fn work(&mut self, mut work: WorkState) -> Result<(), EngineError> {
        let before = self.lines;
        self.text(&mut work.summary);
        for text in work.task_prompt.iter_mut().chain(&mut work.last_activity) {
            self.text(text);
        }
        self.list(&mut work.next_steps);
        self.list(&mut work.unfinished);
        if self.lines == before {
            return Ok(());
        }
        let subject = Subject::Work(work.agent.id.clone(), work.project.clone(), work.session.clone());
        let empty = ChangeSet::new(self.set.owner.clone());
        let mut set = std::mem::replace(&mut self.set, empty).expect_seen(self.snapshot, subject)?;
        if let Some(project) = &work.project {
            set = set.delete_aux(Family::Other, foreign_work_key(project, work.agent.id.as_str()));
        }
        self.set = set.put_work(work);
        Ok(())
    }

    fn text(&mut self, text: &mut String) {
        if let Some((left, count)) = taken_out(&self.statements, text) {
            *text = left;
            self.lines += count;
        }
    }

    /// The entries of a list that say nothing else go.
    fn list(&mut self, list: &mut Vec<String>) {
        list.retain_mut(|entry| {
            let before = self.lines;
            self.text(entry);
            self.lines == before || entry != FORGOTTEN
        });
    }
}

fn blanked(mut event: Event) -> Event {
    event.text = FORGOTTEN.to_owned();
    if let Some(tool) = &mut event.tool {
        tool.input = FORGOTTEN.to_owned();
        tool.output = FORGOTTEN.to_owned();
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_found_in_a_record_whose_letters_are_escaped() {
        let statements = Statements::of([
            "Die Schlüssel für den Tresor liegen bei Jörg im Büro",
            "保险柜的密码写在抽屉里",
        ]);
        for said in [
            r#"{"note": "Die Schl\u00fcssel f\u00fcr den Tresor liegen bei J\u00F6rg im B\u00fcro", "n": 1}"#,
            r#"{\"note\": \"Die Schl\\u00fcssel f\\u00fcr den Tresor liegen bei J\\u00f6rg im B\\u00fcro\"}"#,
            r#"{"note": "\u4fdd\u9669\u67dc\u7684\u5bc6\u7801\u5199\u5728\u62bd\u5c49\u91cc"}"#,
        ] {
            assert!(taken_out(&statements, said).is_some(), "{said}");
        }
        for other in [r#"{"note": "J\u00f6rg"}"#, r"\u", r"C:\users\u12", r"\ud83d and \u00", r"\u00üü"] {
            assert_eq!(taken_out(&statements, other), None, "{other}");
        }
        assert_eq!(unescaped(r#"\ud83d\ude00 \u0022a\u0022"#).as_deref(), Some("😀 \\u0022a\\u0022"));
    }
}
