//! What was forgotten stays forgotten in its project: a keyed hash of it keeps extraction, import and undo from bringing it
//! back (`R8`). The hash tells nothing about it to whoever reads the store without its key.

use std::collections::BTreeSet;

use doze_core::facts::without_label;
use doze_core::model::{AgentId, Origin, OwnerId, ProjectId, Session, SessionKey};
use doze_core::text::{is_telling, one_line, sentences};
use doze_store::{ChangeSet, Family, Snapshot, Subject};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::forget::FORGOTTEN;
use crate::commit::{former_ids, given_name, is_of_harness};
use crate::{Engine, EngineError};

const KEY: &str = "tombstone_key";
/// What a tombstone holds that an agent put up: it keeps nothing out that a person says. A person's holds when it was put
/// up.
const BY_AGENT: &[u8] = b"agent";

impl Engine {
    /// Whether this text was forgotten in a project, or in no project, so that who says it is not heard.
    pub(crate) fn is_forgotten(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        place: Option<&ProjectId>,
        text: &str,
        said_by: Origin,
    ) -> Result<bool, EngineError> {
        let Some(key) = snapshot.aux(owner, Family::Setting, KEY)? else { return Ok(false) };
        for grave in graves(&key, &places_of(snapshot, owner, place)?, text) {
            if snapshot.aux(owner, Family::Tombstone, &grave)?.is_some_and(|held| is_against(&held, said_by))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether this text was forgotten in any project: it would be told in all of them.
    pub(crate) fn is_forgotten_anywhere(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        text: &str,
        said_by: Origin,
    ) -> Result<bool, EngineError> {
        let Some(key) = snapshot.aux(owner, Family::Setting, KEY)? else { return Ok(false) };
        let mut places: Vec<Option<ProjectId>> = vec![None];
        for project in snapshot.projects(owner)? {
            places.extend(former_ids(&project.aliases).map(Some));
            places.push(Some(project.id));
        }
        for grave in graves(&key, &places, text) {
            if snapshot.aux(owner, Family::Tombstone, &grave)?.is_some_and(|held| is_against(&held, said_by))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether this text was forgotten in a project, or in no project, and the set, which holds only as long as it is not:
    /// somebody may forget it before the set is applied.
    pub(crate) fn unless_forgotten(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        place: Option<&ProjectId>,
        text: &str,
        said_by: Origin,
    ) -> Result<(ChangeSet, bool), EngineError> {
        let Some(key) = snapshot.aux(&set.owner, Family::Setting, KEY)? else {
            let first = Subject::Aux(Family::Setting, KEY.to_owned());
            return Ok((set.expect_seen(snapshot, first)?, false));
        };
        for grave in graves(&key, &places_of(snapshot, &set.owner, place)?, text) {
            let held = snapshot.aux(&set.owner, Family::Tombstone, &grave)?;
            if held.is_some_and(|held| is_against(&held, said_by)) {
                return Ok((set, true));
            }
            set = set.expect_seen(snapshot, Subject::Aux(Family::Tombstone, grave))?;
        }
        Ok((set, false))
    }

    /// What was forgotten in a project and in no project; `None` where nothing was.
    pub(crate) fn graves_in<'a>(
        &self,
        snapshot: &'a Snapshot,
        owner: &'a OwnerId,
        place: Option<&ProjectId>,
    ) -> Result<Option<Graves<'a>>, EngineError> {
        let Some(key) = snapshot.aux(owner, Family::Setting, KEY)? else { return Ok(None) };
        Ok(Some(Graves { snapshot, owner, places: places_of(snapshot, owner, place)?, key }))
    }

    /// Until when the events of a session were forgotten with it: neither its file nor its next commit brings them back.
    /// Another agent's session, or one of another project, is another one though it has the same name.
    pub(crate) fn session_forgotten_at(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        key: &SessionKey,
        agent: &AgentId,
        project: Option<&ProjectId>,
    ) -> Result<Option<Timestamp>, EngineError> {
        let Some(secret) = snapshot.aux(owner, Family::Setting, KEY)? else { return Ok(None) };
        let held = project.map(|id| snapshot.project(owner, id)).transpose()?.flatten();
        let former = held.iter().flat_map(|project| former_ids(&project.aliases));
        let mut at = None;
        for project in [project.cloned()].into_iter().chain(former.map(Some)) {
            let grave = session_hash(&secret, key, agent, project.as_ref());
            let told = snapshot.aux(owner, Family::Tombstone, &grave)?;
            at = at.max(told.and_then(|bytes| put_up_at(&bytes)));
        }
        Ok(at)
    }

    /// The same of a session that is there: one of its name was forgotten before it.
    pub(crate) fn forgotten_at(
        &self,
        snapshot: &Snapshot,
        owner: &OwnerId,
        session: &Session,
    ) -> Result<Option<Timestamp>, EngineError> {
        let project = session.project.as_ref();
        self.session_forgotten_at(snapshot, owner, &session.key, &session.agent.id, project)
    }

    /// Makes sure that there is a key, so that one set can bury a session and its memories.
    pub(super) fn mint_tombstone_key(&self, owner: &OwnerId) -> Result<(), EngineError> {
        if self.store().snapshot()?.aux(owner, Family::Setting, KEY)?.is_some() {
            return Ok(());
        }
        self.decide("others keep forgetting", |snapshot| {
            Ok((self.tombstone_key(snapshot, ChangeSet::new(owner.clone()))?.0, ()))
        })
    }

    /// Adds the tombstone of a session to a change set. The key must be there, see [`Self::mint_tombstone_key`].
    pub(super) fn bury_session(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        session: &Session,
    ) -> Result<ChangeSet, EngineError> {
        let (set, key) = self.tombstone_key(snapshot, set)?;
        let at = self.now().to_string().into_bytes();
        let grave = session_hash(&key, &session.key, &session.agent.id, session.project.as_ref());
        Ok(set.put_aux(Family::Tombstone, grave, at))
    }

    /// The key, minted in this set when there is none yet.
    fn tombstone_key(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
    ) -> Result<(ChangeSet, Vec<u8>), EngineError> {
        if let Some(key) = snapshot.aux(&set.owner, Family::Setting, KEY)? {
            return Ok((set, key));
        }
        let key = [self.random(), self.random(), self.random()].concat();
        // Two first forgets at once must not each write a key: the tombstones of one would mean nothing.
        let subject = Subject::Aux(Family::Setting, KEY.to_owned());
        Ok((set.expect_seen(snapshot, subject)?.put_aux(Family::Setting, KEY, key.clone()), key))
    }

    /// Adds tombstones for texts to a change set, which may be refused because the key was written meanwhile. An agent's
    /// takes the place of none of a person's.
    pub(crate) fn bury(
        &self,
        snapshot: &Snapshot,
        set: ChangeSet,
        places: &BTreeSet<Option<ProjectId>>,
        texts: &BTreeSet<String>,
        by_agent: bool,
    ) -> Result<ChangeSet, EngineError> {
        if texts.is_empty() {
            return Ok(set);
        }
        let (mut set, key) = self.tombstone_key(snapshot, set)?;
        for text in texts.iter().filter(|text| !text.trim().is_empty()) {
            for place in places {
                let grave = keyed_hash(&key, place.as_ref(), text);
                if by_agent && snapshot.aux(&set.owner, Family::Tombstone, &grave)?.is_some() {
                    continue;
                }
                let held = if by_agent { BY_AGENT.to_vec() } else { self.now().to_string().into_bytes() };
                set = set.put_aux(Family::Tombstone, grave, held);
            }
        }
        Ok(set)
    }
}

/// The tombstones of texts in a project and in no project.
pub(crate) struct Graves<'a> {
    snapshot: &'a Snapshot,
    owner: &'a OwnerId,
    places: Vec<Option<ProjectId>>,
    key: Vec<u8>,
}

impl Graves<'_> {
    /// Whether a person forgot a text.
    pub(crate) fn holds(&self, text: &str) -> Result<bool, EngineError> {
        for grave in graves(&self.key, &self.places, text) {
            let held = self.snapshot.aux(self.owner, Family::Tombstone, &grave)?;
            if held.is_some_and(|held| held != BY_AGENT) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a person forgot what was said at a time, after that.
    fn is_gone(&self, said: &str, at: Option<Timestamp>) -> Result<bool, EngineError> {
        for grave in graves(&self.key, &self.places, said) {
            let held = self.snapshot.aux(self.owner, Family::Tombstone, &grave)?;
            let forgotten_at = held.and_then(|held| put_up_at(&held));
            if forgotten_at.is_some_and(|forgotten| at.is_none_or(|at| at <= forgotten)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes out of a text the sentences that a person forgot: of what was said at a time, those that were forgotten after
    /// it; of what has none, all.
    pub(crate) fn blank(&self, text: &mut String, at: Option<Timestamp>) -> Result<(), EngineError> {
        let mut kept = String::new();
        let mut at_byte = 0;
        for sentence in sentences(text) {
            let said = without_label(sentence);
            // What says little is anybody's.
            if !is_telling(&said) || !self.is_gone(&said, at)? {
                continue;
            }
            let Some(start) = text[at_byte..].find(sentence).map(|found| at_byte + found) else { continue };
            kept.push_str(&text[at_byte..start]);
            kept.push_str(FORGOTTEN);
            at_byte = start + sentence.len();
        }
        if at_byte > 0 {
            kept.push_str(&text[at_byte..]);
            *text = kept;
        }
        Ok(())
    }
}

/// When a person put up a tombstone, if it tells.
fn put_up_at(held: &[u8]) -> Option<Timestamp> {
    std::str::from_utf8(held).ok()?.parse().ok()
}

/// SHA-256 over the key, what a session is called and whose it is: under which key it is kept depends on who has the name
/// already. The session of a harness is one wherever it moves.
fn session_hash(secret: &[u8], key: &SessionKey, agent: &AgentId, project: Option<&ProjectId>) -> String {
    let is_harness = is_of_harness(agent, &key.harness);
    let whose = if is_harness { "" } else { agent.as_str() };
    let place = project.filter(|_| !is_harness).map_or("", ProjectId::as_str);
    let mut hash = Sha256::new();
    hash.update(secret);
    let name = if is_harness { key.session.as_str() } else { given_name(&key.session, agent, project) };
    for part in ["session", name, &key.harness, whose, place] {
        hash.update(b"\0");
        hash.update(part.as_bytes());
    }
    doze_core::model::hex(&hash.finalize())
}

/// Whether a tombstone that holds this keeps out what somebody says.
fn is_against(held: &[u8], said_by: Origin) -> bool {
    held != BY_AGENT || said_by != Origin::Person
}

/// Where a text is looked for: in a project, in those that were merged into it, and in none.
fn places_of(
    snapshot: &Snapshot,
    owner: &OwnerId,
    place: Option<&ProjectId>,
) -> Result<Vec<Option<ProjectId>>, EngineError> {
    let held = place.map(|id| snapshot.project(owner, id)).transpose()?.flatten();
    let former = held.iter().flat_map(|project| former_ids(&project.aliases)).map(Some);
    Ok(place.cloned().map(Some).into_iter().chain(former).chain([None]).collect())
}

/// Where a text would lie that was forgotten in one of these places.
fn graves(key: &[u8], places: &[Option<ProjectId>], text: &str) -> Vec<String> {
    places.iter().map(|place| keyed_hash(key, place.as_ref(), text)).collect()
}

/// SHA-256 over the key, the project and a text as it is heard: however it is quoted, capitalised, asked for politely and
/// ended. Any other word or order may say something else.
fn keyed_hash(key: &[u8], place: Option<&ProjectId>, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(place.map_or("", ProjectId::as_str).as_bytes());
    hash.update(b"\0text\0");
    hash.update(heard(text).as_bytes());
    doze_core::model::hex(&hash.finalize())
}

/// A text without what is not heard of it.
fn heard(text: &str) -> String {
    let is_quote = |c: char| matches!(c, '\'' | '"' | '`' | '‘' | '’' | '“' | '”' | '«' | '»' | '「' | '」');
    let words = one_line(text).replace(is_quote, "").to_lowercase();
    let ends = |c: char| c.is_whitespace() || matches!(c, '.' | '!' | ',' | '。' | '！');
    let words = words.trim_matches(ends);
    let words = words.strip_prefix("please").filter(|rest| rest.starts_with(ends)).unwrap_or(words);
    let words = words.strip_suffix("please").filter(|rest| rest.ends_with(ends)).unwrap_or(words);
    words.trim_matches(ends).to_owned()
}
