//! One summary a task (S0.1, S0.3): a session that goes on with another task leaves what is told of the one before as a
//! record of its own, and the next one tells of its own events only.

use std::borrow::Cow;

use doze_core::model::{Session, SessionEnd, SessionKey, TaskRef, hex};
use doze_store::{ChangeSet, Family, Snapshot, Subject, session_aux_key};
use sha2::{Digest, Sha256};

use super::Work;
use super::identity::stem;
use crate::EngineError;

/// Stands behind the name of a session whose task has ended, before the number of its turn.
const TASK_MARK: &str = "~task-";
/// Hexadecimal digits that tell a long name from those that begin alike.
const HASH_DIGITS: usize = 12;

impl Work<'_> {
    /// Adds that a session goes on with a task, if one is given. When it is another one than before, what is told of the
    /// former is kept beside it. A task without an id is no other one. Answers also at which event the task began.
    pub(super) fn with_task(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        session: &mut Session,
        task: Option<&TaskRef>,
    ) -> Result<(ChangeSet, u64), EngineError> {
        let before = snapshot.session(self.owner, &session.key)?.filter(|before| before.summary.is_some());
        let known = before.as_ref().and_then(|before| before.task.as_ref());
        let is_other = task
            .zip(known)
            .is_some_and(|(task, known)| !task.id.is_empty() && !known.id.is_empty() && task.id != known.id);
        session.task = task.cloned().or(session.task.take());
        let key = began_key(&session.key);
        let Some(before) = before.filter(|_| is_other) else {
            let bytes = snapshot.aux(self.owner, Family::Other, &key)?;
            let began = bytes.and_then(|bytes| String::from_utf8(bytes).ok()?.parse().ok());
            return Ok((set, began.unwrap_or_default()));
        };
        let began = session.event_count;
        session.summary = None;
        let own = session.key.session.clone();
        let ended = self.ended(snapshot, before)?;
        set = set
            .expect_seen(snapshot, Subject::Session(ended.key.clone()))?
            .put_aux(Family::Other, key, began.to_string().into_bytes())
            .put_aux(Family::Other, task_of_key(&ended.key), own.into_bytes())
            .put_session(ended);
        Ok((set, began))
    }

    /// What is kept of a task that has ended: a session without events, so that nobody reads them twice, under the first
    /// name that nobody else has.
    fn ended(&self, snapshot: &Snapshot, session: Session) -> Result<Session, EngineError> {
        let name = |turn: u64| format!("{}{TASK_MARK}{turn}", short(&session.key.session));
        let mut turn = session.turns;
        while !snapshot.sessions_named(self.owner, &name(turn))?.is_empty() {
            turn += 1;
        }
        Ok(Session {
            key: SessionKey::new(name(turn), session.key.harness.clone()),
            ended: Some(SessionEnd::Session),
            event_count: 0,
            rounds: 0,
            transcript: None,
            ..session
        })
    }
}

fn began_key(key: &SessionKey) -> String {
    session_aux_key(key, "task-began")
}

/// Where it is noted which session a record is a task of. It goes with the record.
fn task_of_key(key: &SessionKey) -> String {
    session_aux_key(key, "task-of")
}

/// As much of a name as leaves room for the number of a task; of a longer one a hash tells it from those that begin alike.
fn short(name: &str) -> Cow<'_, str> {
    if stem(name) == name {
        return Cow::Borrowed(name);
    }
    let hash = hex(&Sha256::digest(name)[..HASH_DIGITS / 2]);
    let begin = &name[..name.floor_char_boundary(stem(name).len() - HASH_DIGITS - 1)];
    Cow::Owned(format!("{begin}-{hash}"))
}

/// The name of the session that a record is a task of.
pub(super) fn session_of_task(name: &str) -> Option<&str> {
    let (session, turn) = name.rsplit_once(TASK_MARK)?;
    (!turn.is_empty() && turn.bytes().all(|byte| byte.is_ascii_digit())).then_some(session)
}

/// What is kept of the tasks that a session has ended, also of those that its agent went on with by the name that a list
/// shows, and of theirs.
pub(crate) fn tasks_of(snapshot: &Snapshot, session: &Session) -> Result<Vec<Session>, EngineError> {
    let begin = format!("{}{TASK_MARK}", short(&session.key.session));
    let mut tasks = Vec::new();
    for name in snapshot.session_names(&session.owner, &begin, usize::MAX)? {
        let key = SessionKey::new(name, session.key.harness.clone());
        let of = snapshot.aux(&session.owner, Family::Other, &task_of_key(&key))?;
        // A session may be called so and be none of its tasks.
        if of.as_deref() != Some(session.key.session.as_bytes()) {
            continue;
        }
        if let Some(task) = snapshot.session(&session.owner, &key)? {
            tasks.extend(tasks_of(snapshot, &task)?);
            tasks.push(task);
        }
    }
    Ok(tasks)
}
