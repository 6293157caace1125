//! Turns a change set into what the writer has to do: everything checked, every record serialised, on the caller's
//! thread. After this step only the disk can refuse.

use doze_core::model::{
    Dream, Event, Memory, OwnerId, Project, Scope, Session, SessionKey, Status, WorkState, hex,
};

use crate::change::{Change, ChangeSet, Changed, Family, KnownIn, Subject};
use crate::envelope::{seal, seal_json, seal_record, seal_vectors};
use crate::error::ApplyError;
use crate::stored::{
    EventMark, StoredChanges, StoredEvent, countdown, facets, known_in_agent, known_in_session,
};

/// Bytes one part of a key may have.
const MAX_NAME: usize = 16 << 10;

/// A change set, ready to write.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) owner: OwnerId,
    /// Subject, its revision key, the revision it must have.
    pub(crate) expects: Vec<(Subject, String, u64)>,
    pub(crate) ops: Vec<Op>,
    /// The sealed entry of the change log.
    pub(crate) log: Vec<u8>,
    /// About how much there is to write.
    pub(crate) bytes: usize,
}

/// One change, ready to write.
#[derive(Debug)]
pub(crate) enum Op {
    PutMemory { id: String, scope: String, topic: Option<String>, hash: String, value: Vec<u8> },
    DeleteMemory { id: String },
    PutSession { key: SessionKey, facets: [String; 4], down: u64, value: Vec<u8> },
    DeleteSession { key: SessionKey },
    PutEvents { key: SessionKey, known_in: String, first: u64, events: Vec<([u8; 16], Vec<u8>)> },
    ReplaceEvent { key: SessionKey, ordinal: u64, event: Event },
    PutWork { agent: String, project: String, session: String, value: Vec<u8> },
    ClearWork { agent: String, project: String, session: String },
    PutProject { id: String, aliases: Vec<String>, value: Vec<u8> },
    DeleteProject { id: String },
    PutDream { id: String, value: Vec<u8> },
    DeleteDream { id: String },
    PutAux { family: Family, key: String, value: Vec<u8> },
    DeleteAux { family: Family, key: String },
    PutVectors { doc: String, model: String, value: Vec<u8> },
    DeleteVectors { doc: String },
}

/// Checks and serialises a change set. `max_bytes` bounds the whole of it.
pub(crate) fn prepare(set: ChangeSet, max_bytes: usize) -> Result<Prepared, ApplyError> {
    let ChangeSet { owner, expects, changes } = set;
    name("owner", owner.as_str())?;
    let mut ops = Vec::with_capacity(changes.len());
    let mut log = Vec::new();
    let mut bytes = 0;
    for change in changes {
        let (op, changed) = prepare_one(&owner, change)?;
        bytes += op.bytes();
        if bytes > max_bytes {
            return invalid(format!("it has more than {max_bytes} bytes; send it in pieces"));
        }
        log.extend(changed);
        ops.push(op);
    }
    let log = seal_json(&StoredChanges::new(&owner, log)).map_err(unwritable)?;
    let expects = expects.into_iter().map(|(subject, revision)| {
        let key = subject.key();
        (subject, key, revision)
    });
    Ok(Prepared { expects: expects.collect(), owner, ops, log, bytes })
}

fn prepare_one(owner: &OwnerId, change: Change) -> Result<(Op, Option<Changed>), ApplyError> {
    Ok(match change {
        Change::PutMemory(memory) => put_memory(owner, *memory)?,
        Change::DeleteMemory(id) => {
            (Op::DeleteMemory { id: id.as_str().to_owned() }, Some(Changed::MemoryGone(id)))
        }
        Change::PutSession(session) => put_session(owner, *session)?,
        Change::DeleteSession(key) => {
            (Op::DeleteSession { key: key.clone() }, Some(Changed::SessionGone(key)))
        }
        Change::AppendEvents { session, known_in, first, events } => {
            let known_in = match known_in {
                KnownIn::Project(project) => part("project", project.as_ref().map_or("", |id| id.as_str()))?,
                KnownIn::Agent(agent, project) => known_in_agent(&agent, project.as_ref()),
                KnownIn::Session => known_in_session(&session),
            };
            put_events(session, known_in, first, events)?
        }
        Change::ReplaceEvent { session, ordinal, event } => (
            Op::ReplaceEvent { key: session.clone(), ordinal, event },
            Some(Changed::EventReplaced { session, ordinal }),
        ),
        Change::PutWork(work) => (put_work(owner, *work)?, None),
        Change::ClearWork { agent, project, session } => {
            let project = project.map_or(String::new(), |id| id.as_str().to_owned());
            let agent = agent.as_str().to_owned();
            (Op::ClearWork { agent, project, session: session.unwrap_or_default() }, None)
        }
        Change::PutProject(project) => put_project(owner, *project)?,
        Change::DeleteProject(id) => {
            (Op::DeleteProject { id: id.as_str().to_owned() }, Some(Changed::ProjectGone(id)))
        }
        Change::PutDream(dream) => put_dream(owner, *dream)?,
        Change::DeleteDream(id) => (Op::DeleteDream { id: id.as_str().to_owned() }, Some(Changed::Dream(id))),
        Change::PutAux { family, key, value } => {
            name("key", &key)?;
            (Op::PutAux { family, key, value: seal(&value) }, None)
        }
        Change::DeleteAux { family, key } => (Op::DeleteAux { family, key }, None),
        Change::PutVectors { doc, model, vectors } => {
            name("doc", &doc)?;
            name("model", &model)?;
            let value = sealed_vectors(&vectors)?;
            (Op::PutVectors { doc: doc.clone(), model, value }, Some(Changed::Vectors { doc }))
        }
        Change::DeleteVectors { doc } => {
            (Op::DeleteVectors { doc: doc.clone() }, Some(Changed::Vectors { doc }))
        }
    })
}

fn put_memory(owner: &OwnerId, memory: Memory) -> Result<(Op, Option<Changed>), ApplyError> {
    let id = name("memory id", memory.id.as_str())?;
    check_memory(owner, &memory)?;
    let topic = memory.topic_key.clone().filter(|_| memory.status == Status::Active);
    name("topic_key", topic.as_deref().unwrap_or("none"))?;
    let changed = Changed::Memory(memory.id.clone());
    let (scope, hash) = (memory.scope.key(), memory.content_hash.clone());
    let value = seal_record(memory).map_err(unwritable)?;
    Ok((Op::PutMemory { id, scope, topic, hash, value }, Some(changed)))
}

/// What a memory must satisfy to be read back as it is: its owner, a scope whose key is unambiguous, a number.
fn check_memory(owner: &OwnerId, memory: &Memory) -> Result<(), ApplyError> {
    same_owner(owner, &memory.owner)?;
    if Scope::from_key(&memory.scope.key()).as_ref() != Some(&memory.scope) {
        return invalid("scope: a name in it is empty or holds a NUL".into());
    }
    part("content_hash", &memory.content_hash)?;
    if !memory.confidence.is_finite() {
        return invalid("confidence is not a number".into());
    }
    Ok(())
}

fn put_session(owner: &OwnerId, session: Session) -> Result<(Op, Option<Changed>), ApplyError> {
    same_owner(owner, &session.owner)?;
    let key = session_key(&session.key)?;
    part("agent", session.agent.id.as_str())?;
    let project = part("project", session.project.as_ref().map_or("", |id| id.as_str()))?;
    let facets = facets(Some(&project), session.agent.id.as_str());
    let down = countdown(session.last_event_at);
    let value = seal_record(session).map_err(unwritable)?;
    Ok((Op::PutSession { key: key.clone(), facets, down, value }, Some(Changed::Session(key))))
}

fn put_events(
    session: SessionKey,
    known_in: String,
    first: u64,
    events: Vec<Event>,
) -> Result<(Op, Option<Changed>), ApplyError> {
    let key = session_key(&session)?;
    let count = events.len() as u64;
    if first.checked_add(count).is_none() {
        return invalid("first: the ordinals do not fit 64 bits".into());
    }
    let mut sealed = Vec::with_capacity(events.len());
    for event in events {
        let fingerprint = event.fingerprint();
        let mark = EventMark { mark: hex(&fingerprint), known_in: known_in.clone() };
        sealed.push((fingerprint, seal_json(&StoredEvent::new(mark, event)).map_err(unwritable)?));
    }
    Ok((
        Op::PutEvents { key, known_in, first, events: sealed },
        Some(Changed::Events { session, first, count }),
    ))
}

fn put_work(owner: &OwnerId, work: WorkState) -> Result<Op, ApplyError> {
    same_owner(owner, &work.owner)?;
    let agent = part("agent", work.agent.id.as_str())?;
    let project = part("project", work.project.as_ref().map_or("", |id| id.as_str()))?;
    let session = part("session", work.session.as_deref().unwrap_or(""))?;
    Ok(Op::PutWork { agent, project, session, value: seal_record(work).map_err(unwritable)? })
}

fn put_project(owner: &OwnerId, project: Project) -> Result<(Op, Option<Changed>), ApplyError> {
    same_owner(owner, &project.owner)?;
    let id = name("project id", project.id.as_str())?;
    for alias in &project.aliases {
        name("alias", alias)?;
    }
    let (aliases, changed) = (project.aliases.clone(), Changed::Project(project.id.clone()));
    Ok((Op::PutProject { id, aliases, value: seal_record(project).map_err(unwritable)? }, Some(changed)))
}

fn put_dream(owner: &OwnerId, dream: Dream) -> Result<(Op, Option<Changed>), ApplyError> {
    same_owner(owner, &dream.owner)?;
    let id = name("dream id", dream.id.as_str())?;
    for change in &dream.changes {
        for memory in change.before.iter().chain([&change.after]) {
            check_memory(owner, memory)?;
        }
    }
    let changed = Changed::Dream(dream.id.clone());
    Ok((Op::PutDream { id, value: seal_record(dream).map_err(unwritable)? }, Some(changed)))
}

fn sealed_vectors(vectors: &[Vec<f32>]) -> Result<Vec<u8>, ApplyError> {
    let dim = vectors.first().map_or(0, Vec::len);
    if dim == 0 || vectors.iter().any(|vector| vector.len() != dim) {
        return invalid("vectors: there must be at least one, all of one length above 0".into());
    }
    if vectors.iter().flatten().any(|component| !component.is_finite()) {
        return invalid("vectors: a component is not a number".into());
    }
    Ok(seal_vectors(vectors))
}

impl Op {
    /// About how many bytes it writes.
    fn bytes(&self) -> usize {
        const KEYS: usize = 64;
        KEYS + match self {
            Self::PutMemory { value, .. }
            | Self::PutSession { value, .. }
            | Self::PutWork { value, .. }
            | Self::PutProject { value, .. }
            | Self::PutDream { value, .. }
            | Self::PutAux { value, .. }
            | Self::PutVectors { value, .. } => value.len(),
            Self::PutEvents { events, .. } => events.iter().map(|(_, value)| value.len() + KEYS).sum(),
            Self::ReplaceEvent { event, .. } => event.text.len(),
            _ => 0,
        }
    }
}

fn same_owner(set: &OwnerId, record: &OwnerId) -> Result<(), ApplyError> {
    if set == record { Ok(()) } else { invalid("owner: a record belongs to somebody else".into()) }
}

fn session_key(key: &SessionKey) -> Result<SessionKey, ApplyError> {
    name("session", &key.session)?;
    part("session", &key.session)?;
    part("harness", &key.harness)?;
    Ok(key.clone())
}

/// A part of a key that other names are joined to with NULs.
fn part(what: &str, text: &str) -> Result<String, ApplyError> {
    if text.contains('\0') {
        return invalid(format!("{what}: it holds a NUL"));
    }
    if text.len() > MAX_NAME {
        return invalid(format!("{what}: it has more than {MAX_NAME} bytes"));
    }
    Ok(text.to_owned())
}

/// A name that must not be empty.
fn name(what: &str, text: &str) -> Result<String, ApplyError> {
    if text.is_empty() || text.len() > MAX_NAME {
        return invalid(format!("{what}: it must have 1 to {MAX_NAME} bytes"));
    }
    Ok(text.to_owned())
}

fn invalid<T>(why: String) -> Result<T, ApplyError> {
    Err(ApplyError::Invalid(why))
}

fn unwritable(error: serde_json::Error) -> ApplyError {
    ApplyError::Invalid(format!("a record cannot be written as JSON: {error}"))
}
