//! Adding a memory by hand: one gate for every caller, so that the same thing said twice is one record.

use doze_core::duplicate::{Relation, relation};
use doze_core::model::{
    AgentRef, Face, Kind, Memory, OwnerId, PATTERN_KEY, Scope, Source, Space, Status, Verification,
    content_hash,
};
use doze_core::{redact, text};
use doze_store::{ChangeSet, Snapshot};
use std::collections::BTreeMap;

use super::{MAX_FILE, MAX_FILES, MAX_TAG, MAX_TAGS, MAX_TITLE, MAX_TOPIC, body_bound};
use crate::commit::Finds;
use crate::names::{check_agent, check_chars, check_count, safe_agent};
use crate::recall::Reader;
use crate::switches::Silence;
use crate::{Engine, EngineError, Resolved};

/// Characters of a title made from the body.
const TITLE_FROM_BODY: usize = 80;
/// The confidence of what a person or an agent states.
const BY_PERSON: f64 = 0.9;
const BY_AGENT: f64 = 0.6;
/// What saying it again adds to the confidence (S1.18).
const SAID_AGAIN: f64 = 0.1;
/// Memories compared word by word before the caller's is taken as new.
const MAX_COMPARED: usize = 50;

/// `memory.add`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryRequest {
    /// One line; made from the body when absent.
    pub title: Option<String>,
    /// The knowledge.
    pub body: String,
    /// What sort; `fact` when absent.
    pub kind: Option<Kind>,
    /// A seed's own label.
    pub native_kind: Option<String>,
    /// Which face; `office` in an agent's space, else `project`.
    pub face: Option<Face>,
    /// Which space; the project's where there is one, else the user's.
    pub space: Option<Space>,
    /// Who says so.
    pub agent: Option<AgentRef>,
    /// Where.
    pub reader: Reader,
    /// One active memory per key.
    pub topic_key: Option<String>,
    /// Files it speaks of.
    pub files: Vec<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// How sure the caller is, 0.1–1.
    pub confidence: Option<f64>,
    /// A person said it, not an agent.
    pub by_person: bool,
    /// It waits for a person, whatever it says.
    pub propose: bool,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddOutcome {
    /// It is new.
    Added,
    /// It was known.
    Reinforced,
    /// It replaced an older statement.
    Superseded,
    /// It took the place of the memory with its topic key.
    Merged,
    /// It waits for a person.
    Proposed,
}

/// `memory.add`'s answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Added {
    /// What became of it.
    pub outcome: AddOutcome,
    /// The record as it stands now.
    pub memory: Memory,
    /// How often each redaction rule struck.
    pub redacted: BTreeMap<String, u64>,
    /// Why no agent is told of it for now, although a person's word was taken.
    pub silence: Option<Silence>,
}

/// Text that may be stored, and what was taken out of it.
pub(super) struct Cleaned {
    pub(super) text: String,
    pub(super) redacted: BTreeMap<String, u64>,
}

impl Cleaned {
    /// A body within its bound.
    pub(super) fn body(given: &str, max: usize) -> Result<Self, EngineError> {
        Self::of("body", given, max)
    }

    /// A topic key within its bound.
    pub(super) fn topic(given: &str) -> Result<Self, EngineError> {
        let topic = Self::of("topic_key", given, MAX_TOPIC)?;
        let text = text::topic_key(&topic.text);
        if text.starts_with(PATTERN_KEY) {
            return Err(EngineError::invalid(format!(
                "topic keys under {PATTERN_KEY} are for patterns that dreams find"
            )));
        }
        Ok(Self { text, ..topic })
    }

    fn of(field: &str, given: &str, max: usize) -> Result<Self, EngineError> {
        check_chars(field, given, max)?;
        let clean = text::clean(given);
        let redacted = redact::redact(clean.trim());
        let hits = redacted.hits.iter().map(|(rule, count)| ((*rule).to_owned(), *count)).collect();
        let text = redacted.text.into_owned();
        if text.trim().is_empty() {
            return Err(EngineError::invalid(format!("{field} is empty")));
        }
        Ok(Self { text, redacted: hits })
    }
}

/// A title within its bound, on one line.
pub(super) fn cleaned_title(given: &str) -> Result<String, EngineError> {
    Ok(text::one_line(&Cleaned::of("title", given, MAX_TITLE)?.text))
}

/// The title of a memory that was given none: the beginning of its body.
pub(crate) fn title_of(body: &str) -> String {
    text::cut_ellipsis(&text::one_line(body), TITLE_FROM_BODY).into_owned()
}

/// A list of short texts within its bounds.
pub(super) fn bounded_list(
    field: &str,
    given: &[String],
    count: usize,
    max: usize,
) -> Result<Vec<String>, EngineError> {
    check_count(field, given.len(), count)?;
    given
        .iter()
        .map(|item| Cleaned::of(field, item, max).map(|cleaned| text::one_line(&cleaned.text)))
        .collect()
}

impl Engine {
    /// Adds a memory, or confirms, replaces or merges the one it speaks of.
    pub fn add(&self, owner: &OwnerId, request: &MemoryRequest) -> Result<Added, EngineError> {
        self.note_activity();
        if let Some(agent) = &request.agent {
            check_agent(agent)?;
        }
        let request = &MemoryRequest { agent: request.agent.clone().map(safe_agent), ..request.clone() };
        let place = self.place_for(owner, request)?;
        let silence = self.silence(owner, place.as_ref().and_then(|place| place.project.as_ref()))?;
        let scope = scope_for(place.as_ref(), request)?;
        // A person's own word is taken while memory is off or paused. Of a project that is ignored nothing is kept.
        match silence {
            Some(Silence::Ignored) if !request.by_person || scope.project().is_some() => {
                return Err(Silence::Ignored.refusal());
            }
            Some(silence) if !request.by_person => return Err(silence.refusal()),
            _ => {}
        }
        let silence = silence.filter(|silence| *silence != Silence::Ignored);
        let body = Cleaned::body(&request.body, body_bound(face_of(request, &scope), request.by_person))?;
        let mut redacted = body.redacted;
        let title = match &request.title {
            Some(title) => {
                let cleaned = Cleaned::of("title", title, MAX_TITLE)?;
                for (rule, count) in cleaned.redacted {
                    *redacted.entry(rule).or_default() += count;
                }
                text::one_line(&cleaned.text)
            }
            None => title_of(&body.text),
        };
        let memory = self.new_memory(owner, request, scope.clone(), title, body.text)?;
        if !request.by_person {
            self.refuse_forgotten(owner, &memory)?;
        }
        let (outcome, memory) = if memory.face == Face::Office && scope.space() == Space::Agent {
            let (outcome, memory, found) = self.change_scope(&scope, |snapshot| {
                self.admit_by_hand(snapshot, owner, &memory, request.by_person)
            })?;
            if let (Some(agent), Some(project)) = (scope.agent().cloned(), scope.project()) {
                self.share_later(owner, project, Finds::of(agent, found));
            }
            (outcome, memory)
        } else {
            self.change_scope(&scope, |snapshot| match request.propose {
                true => self.proposed(snapshot, owner, memory.clone()),
                false => self.settle(snapshot, owner, memory.clone(), request.by_person),
            })?
        };
        Ok(Added { outcome, memory, redacted, silence })
    }

    /// What a person forgot comes back by a person's word alone (`R8`).
    fn refuse_forgotten(&self, owner: &OwnerId, memory: &Memory) -> Result<(), EngineError> {
        let snapshot = self.store().snapshot()?;
        let graves = self.graves_in(&snapshot, owner, memory.scope.project())?;
        if graves.map_or(Ok(false), |graves| graves.holds(&memory.body))? {
            return Err(EngineError::refused("it was forgotten, and only a person brings it back")
                .hint("a person says it again with  doze remember"));
        }
        Ok(())
    }

    /// Where the caller stands. A new project is minted for what is kept there, and for nothing that is refused.
    fn place_for(&self, owner: &OwnerId, request: &MemoryRequest) -> Result<Option<Resolved>, EngineError> {
        if !request.by_person
            && let Some(silence) = self.silence(owner, None)?
        {
            return Err(silence.refusal());
        }
        match (&request.reader.project, &request.reader.cwd) {
            (None, Some(cwd)) => self.project_of(owner, cwd).map(Some),
            _ => self.place_of_reader(owner, &request.reader),
        }
    }

    fn new_memory(
        &self,
        owner: &OwnerId,
        request: &MemoryRequest,
        scope: Scope,
        title: String,
        body: String,
    ) -> Result<Memory, EngineError> {
        let now = self.now();
        let kind = request.kind.unwrap_or(Kind::Fact);
        let topic_key = request.topic_key.as_deref().map(Cleaned::topic).transpose()?;
        let native_kind = request
            .native_kind
            .as_deref()
            .map(|kind| Cleaned::of("native_kind", kind, MAX_TAG))
            .transpose()?;
        Ok(Memory {
            id: self.new_memory_id(),
            owner: owner.clone(),
            face: face_of(request, &scope),
            kind,
            native_kind: native_kind.map(|cleaned| cleaned.text),
            tags: bounded_list("tags", &request.tags, MAX_TAGS, MAX_TAG)?,
            topic_key: topic_key.map(|cleaned| cleaned.text),
            files: bounded_list("files", &request.files, MAX_FILES, MAX_FILE)?,
            confidence: confidence(request)?,
            evidence_count: 1,
            reinforce_count: 1,
            applied_count: 0,
            confirmed_by: Vec::new(),
            pinned: false,
            status: Status::Active,
            superseded_by: None,
            verification: if request.by_person { Verification::Human } else { Verification::Agent },
            source: Source { agent: request.agent.clone(), ..Source::default() },
            contexts: Vec::new(),
            created_at: now,
            updated_at: now,
            last_confirmed_at: now,
            content_hash: content_hash(kind.as_str(), &title, &body),
            file_ref: None,
            scope,
            title,
            body,
        })
    }

    /// Where a new statement meets what is known in its space.
    fn settle(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        new: Memory,
        by_person: bool,
    ) -> Result<(ChangeSet, (AddOutcome, Memory)), EngineError> {
        let set = ChangeSet::new(owner.clone());
        if let Some(topic) = &new.topic_key
            && let Some(id) = snapshot.memory_by_topic(owner, &new.scope, topic)?
            && let Some(former) = snapshot.memory(owner, &id)?
        {
            return self.merge_topic(set, former, new, by_person);
        }
        match self.closest(snapshot, owner, &new)? {
            None => Ok(added(set, new)),
            Some((known, Relation::Duplicate)) => Ok(self.said_again(set, known, by_person)),
            Some((known, _)) if !by_person && self.is_persons(snapshot, owner, &known)? => {
                Ok(propose(set, new))
            }
            Some((mut known, _)) => {
                known.status = Status::Superseded;
                known.superseded_by = Some(new.id.clone());
                let set = set.put_memory(known).put_memory(new.clone());
                Ok((set, (AddOutcome::Superseded, new)))
            }
        }
    }

    /// A statement that waits for a person, unless it is known or waits already. A person's topic is nobody else's.
    fn proposed(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        new: Memory,
    ) -> Result<(ChangeSet, (AddOutcome, Memory)), EngineError> {
        let set = ChangeSet::new(owner.clone());
        if let Some(topic) = &new.topic_key
            && let Some(id) = snapshot.memory_by_topic(owner, &new.scope, topic)?
            && let Some(former) = snapshot.memory(owner, &id)?.filter(Memory::is_protected)
        {
            return self.merge_topic(set, former, new, false);
        }
        for id in snapshot.memories_by_hash(owner, &new.scope, &new.content_hash)? {
            if let Some(known) = snapshot.memory(owner, &id)? {
                match known.status {
                    Status::Proposed => return Ok((set, (AddOutcome::Proposed, known))),
                    Status::Active => return Ok((set, (AddOutcome::Reinforced, known))),
                    _ => {}
                }
            }
        }
        Ok(propose(set, new))
    }

    /// The other active memory of the space that says the same, or that a newer statement replaces.
    pub(super) fn closest(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        new: &Memory,
    ) -> Result<Option<(Memory, Relation)>, EngineError> {
        for id in snapshot.memories_by_hash(owner, &new.scope, &new.content_hash)? {
            let known = snapshot.memory(owner, &id)?;
            if let Some(known) = known.filter(|known| known.status == Status::Active && known.id != new.id) {
                return Ok(Some((known, Relation::Duplicate)));
            }
        }
        let mut update = None;
        for id in self.inner.index.similar(
            owner,
            &new.scope,
            &format!("{} {}", new.title, new.body),
            snapshot.seq()?,
            MAX_COMPARED,
        ) {
            let Some(known) = snapshot.memory(owner, &id)?.filter(|known| known.status == Status::Active)
            else {
                continue;
            };
            if known.id == new.id || known.scope != new.scope || known.kind != new.kind {
                continue;
            }
            match relation(&known.body, &new.body) {
                Relation::Duplicate => return Ok(Some((known, Relation::Duplicate))),
                Relation::Update if update.is_none() => update = Some((known, Relation::Update)),
                _ => {}
            }
        }
        Ok(update)
    }

    fn said_again(
        &self,
        set: ChangeSet,
        mut known: Memory,
        by_person: bool,
    ) -> (ChangeSet, (AddOutcome, Memory)) {
        known.reinforce_count += 1;
        known.evidence_count += 1;
        known.confidence = (known.confidence + SAID_AGAIN).min(1.0);
        known.last_confirmed_at = self.now();
        if by_person {
            known.verification = Verification::Human;
        }
        (set.put_memory(known.clone()), (AddOutcome::Reinforced, known))
    }

    /// S1.18: the id stays, the text is the new one, the former text is kept as a superseded version (`R5`).
    fn merge_topic(
        &self,
        set: ChangeSet,
        former: Memory,
        new: Memory,
        by_person: bool,
    ) -> Result<(ChangeSet, (AddOutcome, Memory)), EngineError> {
        if former.is_protected() && !by_person {
            let topic = former.topic_key.as_deref().unwrap_or_default();
            return Err(EngineError::refused(format!("a person wrote the memory with the topic {topic}"))
                .hint("choose another topic_key, or ask the person"));
        }
        if former.content_hash == new.content_hash {
            return Ok(self.said_again(set, former, by_person));
        }
        let merged = Memory {
            title: new.title,
            body: new.body,
            files: new.files,
            tags: new.tags,
            confidence: (former.confidence + SAID_AGAIN).min(1.0),
            evidence_count: former.evidence_count + 1,
            verification: new.verification,
            source: new.source,
            updated_at: new.updated_at,
            last_confirmed_at: new.last_confirmed_at,
            content_hash: new.content_hash,
            ..former.clone()
        };
        let version = Memory {
            id: self.new_memory_id(),
            status: Status::Superseded,
            superseded_by: Some(merged.id.clone()),
            pinned: false,
            ..former
        };
        let set = set.put_memory(version).put_memory(merged.clone());
        Ok((set, (AddOutcome::Merged, merged)))
    }
}

/// Whose the memory will be.
fn scope_for(place: Option<&Resolved>, request: &MemoryRequest) -> Result<Scope, EngineError> {
    let project = place.and_then(Resolved::id).cloned();
    let space = request.space.unwrap_or(if project.is_some() { Space::Project } else { Space::User });
    match (space, project, &request.agent) {
        (Space::User, _, _) => Ok(Scope::User),
        (Space::Project, Some(project), _) => Ok(Scope::Project(project)),
        (Space::Project, None, _) => {
            Err(EngineError::invalid("space project needs a project or cwd that is one"))
        }
        (Space::Agent, project, Some(agent)) => Ok(Scope::Agent { project, agent: agent.id.clone() }),
        (Space::Agent, _, None) => Err(EngineError::invalid("space agent needs an agent")),
        (Space::Bank, _, _) => Err(EngineError::refused("the bank keeps only what a person has seen")
            .hint("choose space user, project or agent")),
        (Space::Team | Space::Member, _, _) => {
            Err(EngineError::invalid("team and member memory is written through the team's own calls"))
        }
    }
}

fn face_of(request: &MemoryRequest, scope: &Scope) -> Face {
    let default = if scope.space() == Space::Agent { Face::Office } else { Face::Project };
    request.face.unwrap_or(default)
}

fn confidence(request: &MemoryRequest) -> Result<f64, EngineError> {
    match request.confidence {
        None => Ok(if request.by_person { BY_PERSON } else { BY_AGENT }),
        Some(confidence) if (0.1..=1.0).contains(&confidence) => Ok(confidence),
        Some(_) => Err(EngineError::invalid("confidence is outside 0.1–1")),
    }
}

fn added(set: ChangeSet, memory: Memory) -> (ChangeSet, (AddOutcome, Memory)) {
    (set.put_memory(memory.clone()), (AddOutcome::Added, memory))
}

/// A person's statement is in the way: the new one waits until a person settles it.
fn propose(set: ChangeSet, mut memory: Memory) -> (ChangeSet, (AddOutcome, Memory)) {
    memory.status = Status::Proposed;
    (set.put_memory(memory.clone()), (AddOutcome::Proposed, memory))
}
