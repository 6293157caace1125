//! Projects' names in place of their ids, which say nothing to a person.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use doze_protocol::project::ProjectRecord;
use doze_protocol::{List, method};
use serde_json::json;

use crate::app::{self, App};
use crate::screen::{one_line, tilde};

/// Most projects whose names are asked for at once.
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
        let answer = app.call_all(method::PROJECT_LIST, json!({"limit": MOST}));
        let list = answer.and_then(|answer| app::read::<List<ProjectRecord>>(&answer));
        list.map(|list| Self::of(&list.items)).unwrap_or_default()
    }

    /// The names of these projects; those that share one go by their folder's parent too, `code/shop`, and by the
    /// whole folder where that is the same as well.
    pub(crate) fn of(projects: &[ProjectRecord]) -> Self {
        let named: Vec<&ProjectRecord> =
            projects.iter().filter(|project| !project.name.trim().is_empty()).collect();
        let spellings: [fn(&ProjectRecord) -> String; 3] = [
            |project| one_line(&project.name),
            with_parent,
            |project| one_line(&tilde(Path::new(&project.root))),
        ];
        let mut names = HashMap::new();
        let mut open = named;
        for (index, spelling) in spellings.iter().enumerate() {
            let is_last = index + 1 == spellings.len();
            let mut by_name: BTreeMap<String, Vec<&ProjectRecord>> = BTreeMap::new();
            for project in open.drain(..) {
                by_name.entry(spelling(project)).or_default().push(project);
            }
            for (name, same) in by_name {
                if same.len() > 1 && !is_last {
                    open.extend(same);
                } else {
                    names.extend(same.into_iter().map(|project| (project.id.clone(), name.clone())));
                }
            }
        }
        Self(names)
    }

    /// The project's name, else the beginning of its id.
    pub(crate) fn name(&self, id: &str) -> String {
        self.0.get(id).cloned().unwrap_or_else(|| one_line(id).chars().take(SHORT).collect())
    }
}

/// The name after that of the folder's parent.
fn with_parent(project: &ProjectRecord) -> String {
    let parent = Path::new(&project.root).parent().and_then(Path::file_name);
    let parent = parent.map(|parent| format!("{}/", parent.to_string_lossy())).unwrap_or_default();
    one_line(&format!("{parent}{}", project.name))
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

    #[test]
    fn projects_of_one_name_are_told_apart_by_where_they_are() {
        let project = |id: &str, name: &str, root: &str| ProjectRecord {
            id: id.to_owned(),
            name: name.to_owned(),
            root: root.to_owned(),
            ..ProjectRecord::default()
        };
        let names = Names::of(&[
            project("a", "shop", "/home/dev/code/shop"),
            project("b", "shop", "/home/dev/old/shop"),
            project("c", "api", "/x/one/src/api"),
            project("d", "api", "/x/two/src/api"),
            project("e", "web", "/home/dev/code/web"),
        ]);
        let told = ["a", "b", "c", "d", "e"].map(|id| names.name(id));
        assert_eq!(told, ["code/shop", "old/shop", "/x/one/src/api", "/x/two/src/api", "web"]);
    }
}
