//! A project and the names it goes by.

use jiff::Timestamp;

use super::{OwnerId, ProjectId};

/// A project. Its id is minted once; everything it can be recognised by is an alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Opaque, minted once.
    pub id: ProjectId,
    /// Whose it is.
    pub owner: OwnerId,
    /// What people call it: the folder's name.
    pub name: String,
    /// The folder it was last seen in.
    pub root: String,
    /// `dir:<git common folder>`, `path:<folder>`, `remote:<normalised url>`, `root:<commit>`, `file:<identity>`.
    pub aliases: Vec<String>,
    /// When doze first saw it.
    pub created_at: Timestamp,
    /// Nothing is captured from it and nothing injected into it.
    pub ignored: bool,
}
