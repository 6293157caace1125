//! Forgetting what the office learned and what its agents found: a sentence that goes from one of them goes from the
//! other too (`R8`).

use std::collections::{BTreeMap, BTreeSet};

use doze_core::model::{Face, Memory, MemoryId, OwnerId};
use doze_core::office::{self, MAX_SUMMARY, MAX_TECH};
use doze_core::text::Statements;
use doze_core::{promote, text};
use doze_store::{ChangeSet, Family, Snapshot};

use super::learned::{TOLD, cleaned, grave_of_tech, names_in, told_in, with_learned};
use super::record::Foreign;
use crate::memory::are_said_in;
use crate::{Engine, EngineError, Forget, Problem, encoded};

impl Engine {
    /// Drops what says this, for good: neither a review nor an import brings it back. Facts of agents that say it go too,
    /// but for those that a person vouches for. Answers how many entries and facts.
    pub fn forget_learned(&self, owner: &OwnerId, text: &str) -> Result<usize, EngineError> {
        self.owe_compaction(owner)?;
        let line = as_kept(text);
        let mut count = self.decide("others keep writing what the office learned", |snapshot| {
            self.without_entries(snapshot, ChangeSet::new(owner.clone()), [text, &line], false)
        })?;
        for id in self.facts_with(owner, &line)? {
            match self.forget(owner, &Forget::Memory(id), false) {
                Ok(forgotten) => count += usize::try_from(forgotten.memories).unwrap_or(usize::MAX),
                Err(error) if matches!(error.problem, Problem::Refused | Problem::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Adds that the entries which say exactly one of these are dropped for good. Answers how many.
    pub(crate) fn without_entries<'t>(
        &self,
        snapshot: &Snapshot,
        mut set: ChangeSet,
        said: impl IntoIterator<Item = &'t str>,
        by_agent: bool,
    ) -> Result<(ChangeSet, usize), EngineError> {
        let mut learned = self.learned_in(snapshot, &set.owner)?;
        let said: Vec<&str> = said.into_iter().collect();
        let (mut count, mut graves) = (0, BTreeSet::new());
        for text in &said {
            let gone = learned.forget(text);
            count += gone;
            if gone > 0 {
                graves.extend(graves_of(text));
            }
        }
        if count == 0 {
            return Ok((set, 0));
        }
        let mut told = told_in(snapshot, &set.owner)?;
        let (kept, statements) = (names_in(&learned), Statements::of(said));
        // A foreign file may have said it beside another entry.
        let says_it = |beside: &Foreign| encoded(beside).is_ok_and(|bytes| are_said_in(&statements, &bytes));
        told.retain(|key, beside| kept.contains(key) && !says_it(beside));
        set = with_learned(snapshot, set, &learned)?.put_aux(Family::Other, TOLD, encoded(&told)?);
        Ok((self.bury(snapshot, set, &BTreeSet::from([None]), &graves, by_agent)?, count))
    }

    /// The facts of the office's agents, in all projects, that say exactly this.
    fn facts_with(&self, owner: &OwnerId, said: &str) -> Result<Vec<MemoryId>, EngineError> {
        let same = office::key(said);
        let says_it = |memory: &Memory| {
            memory.face == Face::Office && !same.is_empty() && office::key(promote::text_of(memory)) == same
        };
        let snapshot = self.store().snapshot()?;
        let mut found = Vec::new();
        for scope in snapshot.scopes(owner)? {
            found.extend(
                snapshot.memories(owner, &scope)?.into_iter().filter(says_it).map(|memory| memory.id),
            );
        }
        Ok(found)
    }
}

/// A text as an entry keeps it: on one line, without secrets.
fn as_kept(text: &str) -> String {
    text::one_line(&cleaned(text, &mut BTreeMap::new()))
}

/// Under which texts it is remembered that an entry was forgotten, whose text is cut at its bound.
fn graves_of(text: &str) -> Vec<String> {
    let line = as_kept(text);
    let (summary, tech) = (text::cut(&line, MAX_SUMMARY), text::cut(&line, MAX_TECH));
    let graves = [text, &line, summary].map(str::to_owned).into_iter();
    graves.chain([text, &line, tech].map(grave_of_tech)).collect()
}
