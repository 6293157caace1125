//! Which project a folder belongs to (`R15`): pure rules over what was read from the folder.

use doze_core::model::Project;

use super::git::Repository;

/// What is known about a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A git work tree or bare repository.
    Repository(Repository),
    /// A plain folder that may be a project, the folders above whose project it may belong to, the nearest first, and
    /// its device, inode and birth time where it exists.
    Folder { path: String, above: Vec<String>, file_identity: Option<String> },
}

impl Place {
    /// The folder that stands for the project.
    pub(super) fn top(&self) -> &str {
        match self {
            Self::Repository(repository) => &repository.top,
            Self::Folder { path, .. } => path,
        }
    }

    /// The folder people know the project by: the main work tree, also when seen from another one.
    pub(super) fn main_folder(&self) -> &str {
        match self {
            Self::Repository(repository) => {
                repository.common.strip_suffix("/.git").unwrap_or(&repository.top)
            }
            Self::Folder { path, .. } => path,
        }
    }

    /// Everything this place can be recognised by.
    pub(super) fn aliases(&self) -> Vec<String> {
        match self {
            Self::Repository(repository) => {
                let mut aliases =
                    vec![format!("dir:{}", repository.common), format!("path:{}", repository.top)];
                aliases.extend(repository.file_identity.iter().map(|id| format!("file:{id}")));
                aliases
                    .extend(repository.remote.iter().filter(|r| !is_local(r)).map(|r| format!("remote:{r}")));
                aliases.extend(repository.roots.iter().map(|root| format!("root:{root}")));
                aliases
            }
            Self::Folder { path, file_identity, .. } => {
                let mut aliases = vec![format!("path:{path}")];
                aliases.extend(file_identity.iter().map(|id| format!("file:{id}")));
                aliases
            }
        }
    }
}

/// Finds the known project of a place. `by_alias` looks one alias up.
pub(super) fn recognise<E>(
    place: &Place,
    by_alias: &mut dyn FnMut(&str) -> Result<Option<Project>, E>,
) -> Result<Option<Project>, E> {
    match place {
        Place::Repository(repository) => recognise_repository(repository, by_alias),
        Place::Folder { path, above, file_identity } => {
            for folder in std::iter::once(path).chain(above) {
                let known = by_alias(&format!("path:{folder}"))?;
                if known.is_some() {
                    return Ok(known);
                }
            }
            match file_identity {
                Some(identity) => by_alias(&format!("file:{identity}")),
                None => Ok(None),
            }
        }
    }
}

fn recognise_repository<E>(
    repository: &Repository,
    by_alias: &mut dyn FnMut(&str) -> Result<Option<Project>, E>,
) -> Result<Option<Project>, E> {
    let mut own = vec![format!("dir:{}", repository.common)];
    own.extend(repository.file_identity.iter().map(|id| format!("file:{id}")));
    own.push(format!("path:{}", repository.top));
    for alias in own {
        if let Some(project) = by_alias(&alias)?
            && !is_another_repository(&project, repository)
        {
            return Ok(Some(project));
        }
    }
    if let Some(remote) = &repository.remote {
        let alias = if is_local(remote) { remote.clone() } else { format!("remote:{remote}") };
        if let Some(project) = by_alias(&alias)? {
            return Ok(Some(project));
        }
    }
    for root in &repository.roots {
        if let Some(project) = by_alias(&format!("root:{root}"))?
            && !is_fork(&project, repository)
        {
            return Ok(Some(project));
        }
    }
    Ok(None)
}

/// A folder that once held another repository. Where both know their first commits, none in common and no remote in
/// common tells. Where they do not (before the first commit, in a shallow clone), another `.git` folder without a
/// remote in common tells: a clone whose remote is renamed keeps its folder.
fn is_another_repository(project: &Project, repository: &Repository) -> bool {
    if shares_remote(project, repository) || shares_root(project, repository) {
        return false;
    }
    let knows_roots = with_prefix(project, "root:").next().is_some() && !repository.roots.is_empty();
    let was_repository = with_prefix(project, "dir:").next().is_some();
    let knows_files = with_prefix(project, "file:").next().is_some() && repository.file_identity.is_some();
    knows_roots || (was_repository && knows_files && !shares_file(project, repository))
}

fn shares_root(project: &Project, repository: &Repository) -> bool {
    with_prefix(project, "root:").any(|root| repository.roots.iter().any(|own| own == root))
}

fn shares_file(project: &Project, repository: &Repository) -> bool {
    repository.file_identity.as_ref().is_some_and(|own| with_prefix(project, "file:").any(|file| file == own))
}

/// The same history with another remote.
fn is_fork(project: &Project, repository: &Repository) -> bool {
    let has_remote = with_prefix(project, "remote:").next().is_some();
    has_remote && repository.remote.is_some() && !shares_remote(project, repository)
}

fn shares_remote(project: &Project, repository: &Repository) -> bool {
    repository.remote.as_ref().is_some_and(|own| with_prefix(project, "remote:").any(|remote| remote == own))
}

fn with_prefix<'a>(project: &'a Project, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    project.aliases.iter().filter_map(move |alias| alias.strip_prefix(prefix))
}

fn is_local(remote: &str) -> bool {
    remote.starts_with("dir:")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use doze_core::model::ProjectId;
    use jiff::Timestamp;

    use super::*;

    fn repository(common: &str, remote: Option<&str>, roots: &[&str]) -> Repository {
        Repository {
            top: common.trim_end_matches("/.git").to_owned(),
            common: common.to_owned(),
            remote: remote.map(str::to_owned),
            roots: roots.iter().map(|r| (*r).to_owned()).collect(),
            shallow: false,
            file_identity: None,
        }
    }

    fn project(id: &str, aliases: &[&str]) -> Project {
        Project {
            id: ProjectId::new(id),
            owner: "o".into(),
            name: id.into(),
            root: "/".into(),
            aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
            created_at: Timestamp::UNIX_EPOCH,
            ignored: false,
        }
    }

    fn recognised(place: &Place, known: &[Project]) -> Option<String> {
        let mut by_alias = |alias: &str| {
            Ok::<_, Infallible>(known.iter().find(|p| p.aliases.iter().any(|a| a == alias)).cloned())
        };
        let Ok(project) = recognise(place, &mut by_alias);
        project.map(|p| p.id.to_string())
    }

    #[test]
    fn repositories_are_recognised_by_folder_then_remote_then_history() {
        let known = [
            project("app", &["dir:/w/app/.git", "path:/w/app", "remote:h/o/app", "root:r1"]),
            project("bare", &["dir:/w/local/.git", "path:/w/local", "root:r2"]),
        ];
        let cases = [
            ("same folder", repository("/w/app/.git", Some("h/o/app"), &["r1"]), Some("app")),
            (
                "folder whose remote is new",
                repository("/w/local/.git", Some("h/o/local"), &["r2"]),
                Some("bare"),
            ),
            ("second clone", repository("/x/app/.git", Some("h/o/app"), &["r1"]), Some("app")),
            ("shallow clone", repository("/y/app/.git", Some("h/o/app"), &[]), Some("app")),
            ("fork", repository("/x/fork/.git", Some("h/me/app"), &["r1"]), None),
            ("renamed without remote", repository("/w/renamed/.git", None, &["r2"]), Some("bare")),
            ("local clone", repository("/x/copy/.git", Some("dir:/w/local/.git"), &["r2"]), Some("bare")),
            (
                "another repository in the same folder",
                repository("/w/app/.git", Some("h/z/other"), &["r9"]),
                None,
            ),
            ("before the first commit", repository("/w/app/.git", None, &[]), Some("app")),
        ];
        for (name, repository, expected) in cases {
            assert_eq!(recognised(&Place::Repository(repository), &known).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_plain_folder_belongs_to_the_nearest_known_folder_above() {
        let known = [project("a", &["path:/w/a"]), project("ab", &["path:/w/a/b"])];
        let folder = |path: &str| Place::Folder {
            path: path.into(),
            above: crate::project::paths::above(path, None, &[]),
            file_identity: None,
        };
        assert_eq!(recognised(&folder("/w/a/b/c"), &known).as_deref(), Some("ab"));
        assert_eq!(recognised(&folder("/w/a/x"), &known).as_deref(), Some("a"));
        assert_eq!(recognised(&folder("/w/ab"), &known), None);
    }
}
