//! One summary a task (S0.1, S0.3): a session that goes on with another task leaves what is told of the one before as a
//! record of its own, and the next one tells of its own events only.

use doze_core::model::{Session, SessionEnd, SessionKey, TaskRef};
use doze_store::{ChangeSet, Family, Snapshot, session_aux_key};

use super::Work;
use super::identity::stem;
use crate::EngineError;

/// Stands behind the name of a session whose task has ended, before the number of its turn.
const TASK_MARK: &str = "~task-";

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
        set = set.put_aux(Family::Other, key, began.to_string().into_bytes()).put_session(ended(before));
        Ok((set, began))
    }
}

fn began_key(key: &SessionKey) -> String {
    session_aux_key(key, "task-began")
}

/// What is kept of a task that has ended: a session without events, so that nobody reads them twice.
fn ended(session: Session) -> Session {
    let name = format!("{}{TASK_MARK}{}", stem(&session.key.session), session.turns);
    Session {
        key: SessionKey::new(name, session.key.harness.clone()),
        ended: Some(SessionEnd::Session),
        event_count: 0,
        rounds: 0,
        transcript: None,
        ..session
    }
}

/// The name of the session that a record is a task of.
pub(super) fn session_of_task(name: &str) -> Option<&str> {
    let (session, turn) = name.rsplit_once(TASK_MARK)?;
    (!turn.is_empty() && turn.bytes().all(|byte| byte.is_ascii_digit())).then_some(session)
}

/// What is kept of the tasks that a session has ended.
pub(crate) fn tasks_of(snapshot: &Snapshot, session: &Session) -> Result<Vec<Session>, EngineError> {
    let name = stem(&session.key.session);
    let mut tasks = Vec::new();
    for other in snapshot.session_names(&session.owner, &format!("{name}{TASK_MARK}"), usize::MAX)? {
        if session_of_task(&other) == Some(name) {
            let key = SessionKey::new(other, session.key.harness.clone());
            let own = |task: &Session| {
                task.event_count == 0
                    && (&task.agent.id, &task.project) == (&session.agent.id, &session.project)
            };
            tasks.extend(snapshot.session(&session.owner, &key)?.filter(own));
        }
    }
    Ok(tasks)
}
