//! Changing and judging a memory. What a person wrote only a person may change or condemn (S1.36).

use std::collections::BTreeSet;

use doze_core::duplicate::{Relation, relation};
use doze_core::model::{
    AgentId, Face, Kind, Memory, MemoryId, Origin, OwnerId, Scope, Space, Status, Verification, content_hash,
};
use doze_core::promote::text_of;
use doze_core::text;
use doze_store::{ChangeSet, Snapshot};

use super::add::{Cleaned, bounded_list, cleaned_title, title_of};
use super::{MAX_FILE, MAX_FILES, MAX_TAG, MAX_TAGS, body_bound};
use crate::commit::{Finds, Found};
use crate::names::{check_given, safe_name};
use crate::recall::{Reader, said_by_person};
use crate::{Engine, EngineError, Problem};

/// How much a helpful verdict adds to the confidence (S1.19).
const HELPFUL: f64 = 0.1;
/// Agents that are named as finders of one memory.
const MAX_FINDERS: usize = 256;

/// What somebody thinks of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It helped: more confidence, the age starts over.
    Helpful,
    /// It is wrong: retracted.
    Wrong,
    /// It is out of date.
    Stale,
}

/// `memory.edit`: given fields replace, the rest stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditRequest {
    /// The new title.
    pub title: Option<String>,
    /// The new text.
    pub body: Option<String>,
    /// The new kind.
    pub kind: Option<Kind>,
    /// The new topic key; an empty one takes it away.
    pub topic_key: Option<String>,
    /// The new labels.
    pub tags: Option<Vec<String>>,
    /// The new files.
    pub files: Option<Vec<String>>,
}

impl Engine {
    /// Changes the text of a memory. A person who edits vouches for it.
    pub fn edit(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        request: &EditRequest,
        by_person: bool,
    ) -> Result<Memory, EngineError> {
        self.change_memory(owner, id, |snapshot, mut memory| {
            self.refuse_agent(snapshot, owner, &memory, by_person)?;
            self.refuse_against_person(snapshot, owner, &memory, by_person)?;
            if memory.status == Status::Proposed && !by_person {
                // The person accepts what they were shown.
                return Err(EngineError::refused(format!("memory {id} waits for the person's review"))
                    .hint("say it anew instead: doze remember"));
            }
            memory.kind = request.kind.unwrap_or(memory.kind);
            if request.topic_key.as_deref().is_some_and(|topic| topic.trim().is_empty()) {
                memory.topic_key = None;
            } else if let Some(topic) = &request.topic_key {
                let topic = Cleaned::topic(topic)?.text;
                let holder =
                    snapshot.memory_by_topic(owner, &memory.scope, &topic)?.filter(|holder| holder != id);
                if let Some(holder) = holder {
                    return Err(EngineError::refused(format!("memory {holder} holds the topic {topic}")));
                }
                memory.topic_key = Some(topic);
            }
            if let Some(title) = &request.title {
                memory.title = cleaned_title(title)?;
            }
            if let Some(body) = &request.body {
                let body = Cleaned::body(body, body_bound(memory.face, by_person))?.text;
                if request.title.is_none() && is_taken_from(&memory.title, &memory.body) {
                    memory.title = title_of(&body);
                }
                memory.body = body;
            }
            if let Some(tags) = &request.tags {
                memory.tags = bounded_list("tags", tags, MAX_TAGS, MAX_TAG)?;
            }
            if let Some(files) = &request.files {
                memory.files = bounded_list("files", files, MAX_FILES, MAX_FILE)?;
            }
            memory.content_hash = content_hash(memory.kind.as_str(), &memory.title, &memory.body);
            memory.updated_at = self.now();
            self.refuse_contradiction(snapshot, owner, &memory, by_person)?;
            vouch(&mut memory, by_person);
            Ok(put(owner, memory))
        })
    }

    /// Pins or unpins a memory; a pinned one is never changed by a dream.
    pub fn pin(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        pinned: bool,
        by_person: bool,
    ) -> Result<Memory, EngineError> {
        if !by_person {
            // What is pinned is beyond the reach of agents and dreams: an agent could lock anything away.
            return Err(EngineError::refused("only a person pins or unpins a memory")
                .hint("run it yourself, in a terminal"));
        }
        self.change_memory(owner, id, |_, mut memory| {
            // Who vouches for it stays as it is, so that unpinning takes back all of it.
            memory.pinned = pinned;
            Ok(put(owner, memory))
        })
    }

    /// Judges a memory (S1.19). An agent judges what is in force only: what waits for a person, or what one took out of
    /// force, is the person's to settle.
    pub fn feedback(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        verdict: Verdict,
        by_person: bool,
    ) -> Result<Memory, EngineError> {
        self.change_memory(owner, id, |snapshot, mut memory| {
            self.refuse_agent(snapshot, owner, &memory, by_person)?;
            if !by_person && memory.status != Status::Active {
                return Err(EngineError::refused(format!(
                    "memory {id} is {}; an agent judges what is in force",
                    memory.status
                )));
            }
            match verdict {
                Verdict::Helpful => {
                    memory.confidence = (memory.confidence + HELPFUL).min(1.0);
                    memory.last_confirmed_at = self.now();
                }
                Verdict::Wrong | Verdict::Stale => {
                    self.refuse_against_person(snapshot, owner, &memory, by_person)?;
                    memory.status = if verdict == Verdict::Wrong { Status::Retracted } else { Status::Stale };
                    // Their verdict stands against agents and dreams, as their word would.
                    vouch(&mut memory, by_person);
                }
            }
            let mut set = ChangeSet::new(owner.clone());
            if memory.status != Status::Active {
                // They rest until the next dream.
                let told = patterns_telling(snapshot, std::slice::from_ref(&memory))?;
                let awake = told.into_iter().filter(|pattern| pattern.status == Status::Active);
                set = awake
                    .fold(set, |set, pattern| set.put_memory(Memory { status: Status::Stale, ..pattern }));
            }
            Ok((set.put_memory(memory.clone()), memory))
        })
    }

    /// Settles a proposed memory: accepted it is in force, else retracted.
    pub fn review(
        &self,
        owner: &OwnerId,
        id: &MemoryId,
        accept: bool,
        by_person: bool,
    ) -> Result<Memory, EngineError> {
        self.change_memory(owner, id, |snapshot, mut memory| {
            if memory.status != Status::Proposed {
                return Err(EngineError::invalid(format!("memory {id} is {}, not proposed", memory.status))
                    .hint("nothing is to be decided about it; what waits:  doze review"));
            }
            if !by_person {
                let verdict = if accept { "--accept" } else { "--reject" };
                return Err(EngineError::refused("only a person settles a proposed memory")
                    .hint(format!("run it yourself, in a terminal:  doze review {id} {verdict}")));
            }
            let mut set = ChangeSet::new(owner.clone());
            if accept {
                memory.status = Status::Active;
                memory.verification = Verification::Human;
                memory.last_confirmed_at = self.now();
                // One active memory per topic key (S1.18) and per statement: the accepted one replaces the former.
                let former = match &memory.topic_key {
                    Some(topic) => snapshot.memory_by_topic(owner, &memory.scope, topic)?,
                    None => None,
                };
                let former = former.map(|former| snapshot.memory(owner, &former)).transpose()?.flatten();
                let former = match former {
                    Some(former) => Some(former),
                    None => self.closest(snapshot, owner, &memory)?.map(|(known, _)| known),
                };
                if let Some(mut former) = former {
                    former.status = Status::Superseded;
                    former.superseded_by = Some(memory.id.clone());
                    set = set.put_memory(former);
                }
            } else {
                memory.status = Status::Retracted;
                vouch(&mut memory, true);
            }
            Ok((set.put_memory(memory.clone()), memory))
        })
    }

    /// Brings a stale, retracted or superseded memory back.
    pub fn reinstate(&self, owner: &OwnerId, id: &MemoryId, by_person: bool) -> Result<Memory, EngineError> {
        self.change_memory(owner, id, |snapshot, mut memory| {
            if !matches!(memory.status, Status::Stale | Status::Retracted | Status::Superseded) {
                return Err(EngineError::invalid(format!("memory {id} is {} already", memory.status)));
            }
            self.refuse_agent(snapshot, owner, &memory, by_person)?;
            refuse_if_protected(&memory, by_person)?;
            self.refuse_contradiction(snapshot, owner, &memory, by_person)?;
            if let Some(topic) = &memory.topic_key
                && let Some(other) = snapshot.memory_by_topic(owner, &memory.scope, topic)?
            {
                return Err(EngineError::refused(format!("memory {other} holds the topic {topic} now"))
                    .hint(format!("run `doze feedback {other} stale` first")));
            }
            memory.status = Status::Active;
            memory.superseded_by = None;
            memory.last_confirmed_at = self.now();
            vouch(&mut memory, by_person);
            Ok(put(owner, memory))
        })
    }

    /// Another agent found the same (S0.35), told by its words: those of a shared or an agent's fact of the project.
    pub fn confirm_words(
        &self,
        owner: &OwnerId,
        reader: &Reader,
        body: &str,
        agent: &AgentId,
    ) -> Result<Memory, EngineError> {
        let snapshot = self.store().snapshot()?;
        let place = self.place_of_reader(owner, reader)?;
        let scopes = self.scopes_of(&snapshot, owner, place.as_ref(), reader)?;
        let memories = self.active_memories(&snapshot, owner, &scopes)?;
        drop(snapshot);
        let known = memories
            .iter()
            .filter(|memory| relation(text_of(memory), body) == Relation::Duplicate)
            .max_by_key(|memory| memory.scope.space() == Space::Project);
        match known {
            Some(memory) => self.confirm(owner, &memory.id, agent),
            None => Err(EngineError::new(Problem::NotFound, "no memory says this")),
        }
    }

    /// Another agent found the same (S0.35), which shares an agent's fact with its project.
    pub fn confirm(&self, owner: &OwnerId, id: &MemoryId, agent: &AgentId) -> Result<Memory, EngineError> {
        check_given("agent", agent.as_str())?;
        // An agent with a blank behind its name is no other agent.
        let name = text::visible(&safe_name(agent.as_str())).trim().to_owned();
        let agent = &AgentId::new(name.clone());
        let confirmed = self.change_memory(owner, id, |snapshot, mut memory| {
            self.refuse_agent(snapshot, owner, &memory, false)?;
            if memory.status != Status::Active {
                let status = memory.status;
                return Err(EngineError::refused(format!("the memory is {status}, and not in force"))
                    .hint(format!("see  doze show {id}")));
            }
            let is_own = memory.scope.agent() == Some(agent)
                || memory.source.agent.as_ref().is_some_and(|source| source.id == *agent);
            if is_own || memory.confirmed_by.contains(&name) || memory.confirmed_by.len() >= MAX_FINDERS {
                return Ok(put(owner, memory));
            }
            memory.confirmed_by.push(name.clone());
            memory.evidence_count += 1;
            memory.last_confirmed_at = self.now();
            Ok(put(owner, memory))
        })?;
        if let (Face::Office, Some(agent), Some(project)) =
            (confirmed.face, confirmed.scope.agent().cloned(), confirmed.scope.project())
        {
            let text = text_of(&confirmed).to_owned();
            let found = vec![Found { own: confirmed.clone(), text, origin: Origin::Agent }];
            self.share_later(owner, project, Finds::of(agent, found));
        }
        Ok(confirmed)
    }
}

/// The patterns, save those of a person, that tell of memories which are no longer in force: a dream finds them anew
/// without these.
pub(crate) fn patterns_telling(snapshot: &Snapshot, ended: &[Memory]) -> Result<Vec<Memory>, EngineError> {
    let mut told = Vec::new();
    let places: BTreeSet<(&OwnerId, &Scope)> =
        ended.iter().map(|memory| (&memory.owner, &memory.scope)).collect();
    for (owner, scope) in places {
        let is_cited = |id: &str| ended.iter().any(|memory| memory.id.as_str() == id);
        let tells = |other: &Memory| !other.is_protected() && other.cited().any(is_cited);
        told.extend(snapshot.memories(owner, scope)?.into_iter().filter(tells));
    }
    Ok(told)
}

impl Engine {
    /// While memory is off or paused, and in an ignored project, only a person changes anything (S1.6).
    fn refuse_agent(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        memory: &Memory,
        by_person: bool,
    ) -> Result<(), EngineError> {
        if by_person {
            return Ok(());
        }
        let project = memory.scope.project().map(|id| snapshot.project(owner, id)).transpose()?.flatten();
        self.silence(owner, project.as_ref())?.map_or(Ok(()), |silence| Err(silence.refusal()))
    }

    /// Whether a person wrote, pinned or said a memory: an agent's word does not take its place.
    pub(super) fn is_persons(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        memory: &Memory,
    ) -> Result<bool, EngineError> {
        Ok(memory.is_protected()
            || !said_by_person(snapshot, owner, std::slice::from_ref(memory))?.is_empty())
    }

    /// An agent changes and condemns nothing that a person wrote, pinned or said in a session (S1.36).
    pub(super) fn refuse_against_person(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        memory: &Memory,
        by_person: bool,
    ) -> Result<(), EngineError> {
        refuse_if_protected(memory, by_person)?;
        if by_person || said_by_person(snapshot, owner, std::slice::from_ref(memory))?.is_empty() {
            return Ok(());
        }
        Err(EngineError::refused(format!("the user said what memory {} says", memory.id))
            .hint("run the command yourself in a terminal"))
    }

    /// An agent puts nothing into force that contradicts what a person vouches for.
    fn refuse_contradiction(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        memory: &Memory,
        by_person: bool,
    ) -> Result<(), EngineError> {
        if by_person {
            return Ok(());
        }
        match self.closest(snapshot, owner, memory)? {
            Some((known, Relation::Update)) if known.is_protected() => Err(EngineError::refused(format!(
                "a person vouches for memory {}, which says otherwise",
                known.id
            ))
            .hint("run the command yourself in a terminal")),
            _ => Ok(()),
        }
    }
}

/// Whether a title is the beginning of a body, whole or cut, and so says nothing of its own.
fn is_taken_from(title: &str, body: &str) -> bool {
    let title = title.trim_end_matches('…').trim();
    !title.is_empty() && text::one_line(body).starts_with(title)
}

fn put(owner: &OwnerId, memory: Memory) -> (ChangeSet, Memory) {
    (ChangeSet::new(owner.clone()).put_memory(memory.clone()), memory)
}

fn vouch(memory: &mut Memory, by_person: bool) {
    if by_person {
        memory.verification = Verification::Human;
    }
}

fn refuse_if_protected(memory: &Memory, by_person: bool) -> Result<(), EngineError> {
    if memory.is_protected() && !by_person {
        return Err(EngineError::refused(format!("a person wrote or pinned memory {}", memory.id))
            .hint("run the command yourself in a terminal"));
    }
    Ok(())
}
