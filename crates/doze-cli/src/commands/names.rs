//! Projects' names in place of their ids, which say nothing to a person.

use std::collections::HashMap;

use doze_protocol::project::ProjectRecord;
use doze_protocol::{List, method};
use serde_json::json;

use crate::app::{self, App};
use crate::screen::one_line;

/// Most projects whose names are asked for.
const MOST: u64 = 1_000;

/// Characters of an id that stand for one without a name.
const SHORT: usize = 8;

/// Names of projects by their ids.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<String, String>);

impl Names {
    /// Asks the daemon for them. With `--json` ids stay ids and nothing is asked; a daemon that does not answer costs
    /// no more than the names.
    pub(crate) fn ask(app: &mut App) -> Self {
        if app.is_json() {
            return Self::default();
        }
        let answer = app.call(method::PROJECT_LIST, json!({"limit": MOST}));
        let list = answer.and_then(|answer| app::read::<List<ProjectRecord>>(&answer));
        list.map(|list| Self::of(&list.items)).unwrap_or_default()
    }

    /// The names of these projects.
    pub(crate) fn of(projects: &[ProjectRecord]) -> Self {
        let named = projects.iter().filter(|project| !project.name.trim().is_empty());
        Self(named.map(|project| (project.id.clone(), one_line(&project.name))).collect())
    }

    /// The project's name, else the beginning of its id.
    pub(crate) fn name(&self, id: &str) -> String {
        self.0.get(id).cloned().unwrap_or_else(|| one_line(id).chars().take(SHORT).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_without_a_name_goes_by_the_beginning_of_its_id() {
        let project = |id: &str, name: &str| ProjectRecord {
            id: id.to_owned(),
            name: name.to_owned(),
            ..ProjectRecord::default()
        };
        let names = Names::of(&[project("p1", "shop\n"), project("01a229c9-5bd6", " ")]);
        assert_eq!(names.name("p1"), "shop");
        assert_eq!(names.name("01a229c9-5bd6"), "01a229c9");
        assert_eq!(names.name("数"), "数");
    }
}
