//! A commit on its way into the store: known again when it is repeated, kept with what it shares, decided anew when
//! somebody changed what was read.

use std::collections::BTreeMap;
use std::sync::Arc;

use doze_core::model::SessionKey;
use doze_store::{ApplyError, ChangeSet, Family, Snapshot, session_aux_key};
use serde::{Deserialize, Serialize};

use super::learn::Learned;
use super::sharing::Finds;
use super::{CommitAnswer, EventCounts, FactCounts, Work};
use crate::{CONFLICT_RETRIES, EngineError, Problem};

/// The part of an answer that is kept so that a repeated commit gets the same one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Receipt {
    /// Added, reinforced, promoted.
    pub(super) facts: [u64; 3],
    /// New, known, skipped.
    events: [u64; 3],
    redacted: BTreeMap<String, u64>,
    #[serde(default)]
    cut: u64,
    extraction: String,
}

impl Receipt {
    pub(super) fn of(answer: &CommitAnswer) -> Self {
        Self {
            facts: [answer.facts.added, answer.facts.reinforced, answer.facts.promoted],
            events: [answer.events.new, answer.events.known, answer.events.skipped],
            redacted: answer.redacted.clone(),
            cut: answer.cut,
            extraction: answer.extraction.clone(),
        }
    }
}

impl Work<'_> {
    /// Decides on a snapshot and keeps the commit with what it shares; starts over when somebody changed what was read.
    pub(super) fn keep(
        &self,
        commit_id: &str,
        mut decide: impl FnMut(&Snapshot) -> Result<(ChangeSet, CommitAnswer), EngineError>,
    ) -> Result<CommitAnswer, EngineError> {
        let (engine, owner) = (self.engine, self.owner);
        for _ in 0..CONFLICT_RETRIES {
            let snapshot = engine.store().snapshot()?;
            self.learned.take();
            let (set, mut answer) = decide(&snapshot)?;
            if set.changes.is_empty() {
                return Ok(answer);
            }
            let Learned { space, finds, shown } = self.learned.take();
            let receipt = Some((receipt_key(&self.key(&snapshot)?, commit_id), Receipt::of(&answer)));
            let mut finds = Finds { agent: self.request.agent.id.clone(), found: finds, shown, receipt };
            let project = self.place.id().filter(|_| !finds.found.is_empty());
            let (due, rest) = match project {
                Some(project) => engine.due(&snapshot, owner, project, &finds)?,
                None => Default::default(),
            };
            drop(snapshot);
            let (seq, mut promoted, is_alone) = match project.filter(|_| !due.is_empty()) {
                Some(project) => {
                    let due = Finds { found: due, ..finds.clone() };
                    match engine.keep_and_share(owner, project, due, set)? {
                        Some(kept) => kept,
                        None => continue,
                    }
                }
                None => match engine.store().apply(set) {
                    Ok(applied) => (applied.seq, 0, true),
                    Err(ApplyError::Conflict { .. }) => continue,
                    Err(error) => return Err(error.into()),
                },
            };
            if let Some(project) = project.filter(|_| !rest.is_empty()) {
                // A fellow may have found it at that moment. The commit itself is kept by now; what is not shared is
                // shared when it is seen again.
                finds.found = rest;
                if let Some((_, receipt)) = &mut finds.receipt {
                    receipt.facts[2] += promoted;
                }
                promoted += engine.share_later(owner, project, finds);
            }
            if let Some((scope, facts)) = space.filter(|_| is_alone) {
                engine.inner.known_facts.keep((owner.clone(), scope), seq, Arc::new(facts));
            }
            if !answer.is_repeat {
                answer.seq = seq;
                answer.facts.promoted = promoted;
            }
            return Ok(answer);
        }
        Err(EngineError::new(Problem::Busy, "others kept changing the same session").hint("try again"))
    }

    /// What was answered to the same commit before, if it was taken in.
    pub(super) fn answered(
        &self,
        snapshot: &Snapshot,
        commit_id: &str,
    ) -> Result<Option<CommitAnswer>, EngineError> {
        let key = self.key(snapshot)?;
        let Some(bytes) = snapshot.aux(self.owner, Family::Receipt, &receipt_key(&key, commit_id))? else {
            return Ok(None);
        };
        let Ok(receipt) = serde_json::from_slice::<Receipt>(&bytes) else { return Ok(None) };
        let ([added, reinforced, promoted], [new, known, skipped]) = (receipt.facts, receipt.events);
        let summary =
            snapshot.session(self.owner, &key)?.and_then(|session| session.summary).unwrap_or_default();
        Ok(Some(CommitAnswer {
            session: self.request.session.clone(),
            project: self.place.id().map(ToString::to_string),
            seq: self.engine.store().seq(),
            summary,
            facts: FactCounts { added, reinforced, promoted },
            events: EventCounts { new, known, skipped },
            redacted: receipt.redacted,
            cut: receipt.cut,
            extraction: receipt.extraction,
            is_repeat: true,
        }))
    }

    /// A run may say to the word what it said before: that is kept already, but the run has ended all the same. A commit
    /// with an id of its own may be an old copy out of a spool, which says nothing of the run that is on now.
    pub(super) fn repeated(&self, snapshot: &Snapshot) -> Result<ChangeSet, EngineError> {
        let nothing = ChangeSet::new(self.owner.clone());
        if self.request.commit_id.is_some() {
            return Ok(nothing);
        }
        let agent = &self.request.agent.id;
        for session in [Some(self.request.session.as_str()), None] {
            if snapshot.work(self.owner, agent, self.place.id(), session)?.is_some() {
                let outcome = self.outcome(snapshot.session(self.owner, &self.key(snapshot)?)?.as_ref());
                return self.with_work(snapshot, nothing, outcome);
            }
        }
        Ok(nothing)
    }
}

pub(super) fn receipt_key(key: &SessionKey, commit_id: &str) -> String {
    session_aux_key(key, commit_id)
}
