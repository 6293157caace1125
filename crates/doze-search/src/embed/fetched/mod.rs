//! A model that is fetched when it is first needed, in place of the built-in one (S1.21, S1.22).
//!
//! What comes must have the SHA-256 that the person pinned and may not be larger than they allow, else nothing of it is
//! kept. It is a tar archive, compressed with gzip or not, with one `.onnx` file, `tokenizer.json`, and for ONNX Runtime
//! the other three JSON files of such models; the rest of it is left out. It lies in a folder named by its hash, with the
//! hash of every file beside them, and each load looks at them again. That guards against damage: a broken disk, a copy
//! that was cut short, an editor. It does not guard against somebody who may write the folder, since they may write the
//! hashes too; the folder is its owner's alone.

mod download;
mod kept;
#[cfg(test)]
mod tests;
mod unpack;

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use doze_core::url;

use super::model::{EmbedError, ModelId};
use super::ort::ModelFiles;

/// The length of its vectors, which is that of the built-in model's (S1.20).
const DIM: usize = 384;
/// What is being fetched begins with this; what a killed process left of it is deleted before the next attempt.
const UNFINISHED: &str = ".fetching-";
/// How long a fetch may take in all, and how long a server may keep silent.
const LONGEST: Duration = Duration::from_secs(3600);
const SILENCE: Duration = Duration::from_secs(60);
/// Characters of a name that people are told.
const NAME_CHARS: usize = 60;

/// Deletes what a killed process left of a model that is not wanted any more, in the folder of fetched models. Nothing
/// may be fetching into it.
///
/// # Errors
/// The folder cannot be read, or what lies there not be deleted. No folder is no error.
pub fn clear_unfinished(folder: &Path) -> io::Result<()> {
    match clear(folder, |name| name.starts_with(UNFINISHED)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        cleared => cleared,
    }
}

fn clear(folder: &Path, is_in_the_way: impl Fn(&str) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_in_the_way(&entry.file_name().to_string_lossy()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Where a model comes from and what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedModel {
    /// The archive's address, http or https.
    pub url: String,
    /// The SHA-256 of the archive, in lower-case hex.
    pub sha256: String,
    /// A larger archive is refused; unpacked it may be four times as large.
    pub max_bytes: u64,
    /// The folder of fetched models.
    pub folder: PathBuf,
}

/// How patient a fetch is.
#[derive(Debug, Clone, Copy)]
struct Patience {
    longest: Duration,
    silence: Duration,
}

impl FetchedModel {
    /// Which model it is: its hash is the archive's, so that this is known before anything is fetched.
    pub fn id(&self) -> ModelId {
        ModelId { name: self.name(), sha256: self.sha256.clone(), dim: DIM }
    }

    /// Its files, fetched unless they are here and what they were. It may take as long as a download does; `gave_up` is
    /// looked at all the while.
    ///
    /// # Errors
    /// It cannot be fetched or is not what was pinned; nothing is kept then. Or the caller gave up.
    pub fn files(&self, gave_up: &dyn Fn() -> bool) -> Result<ModelFiles, EmbedError> {
        self.files_within(Patience { longest: LONGEST, silence: SILENCE }, gave_up)
    }

    fn files_within(&self, patience: Patience, gave_up: &dyn Fn() -> bool) -> Result<ModelFiles, EmbedError> {
        if gave_up() {
            return Err(EmbedError::GivenUp);
        }
        let folder = self.folder.join(&self.sha256);
        if let Some(files) = kept::read(&folder, &self.sha256, self.max_unpacked()) {
            return self.sorted(files);
        }
        self.fetch(&folder, patience, gave_up)?;
        let files = kept::read(&folder, &self.sha256, self.max_unpacked())
            .ok_or_else(|| self.failed("it was not what had been written when it was read again".into()))?;
        self.sorted(files)
    }

    /// Puts the model into `folder`, whole or not at all.
    fn fetch(&self, folder: &Path, patience: Patience, gave_up: &dyn Fn() -> bool) -> Result<(), EmbedError> {
        let disk = |error: io::Error| self.failed(format!("{}: {error}", self.folder.display()));
        private_folder(&self.folder).map_err(disk)?;
        if folder.exists() {
            tracing::warn!(path = %folder.display(), "the embedding model is not what it was; it is fetched again");
        }
        // What is not as it came, and what a killed process left.
        self.clear(|name| name == self.sha256 || name.starts_with(UNFINISHED)).map_err(disk)?;
        let archive = download::download(self, patience, gave_up)?;
        let new = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(&self.folder)
            .map_err(disk)?;
        let hashes = unpack::unpack(archive.as_file(), new.path(), self.max_unpacked())
            .map_err(|reason| self.failed(reason))?;
        kept::write(new.path(), &self.sha256, hashes).map_err(disk)?;
        // From here on the folder is the model's, and no longer removed with its name.
        let new = new.keep();
        fs::rename(&new, folder).map_err(|error| {
            drop(fs::remove_dir_all(&new));
            disk(error)
        })?;
        // The model before this one.
        let is_model = |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.clear(|name| is_model(name) && name != self.sha256).map_err(disk)?;
        tracing::info!(url = url::shown(&self.url), sha256 = self.sha256, "The embedding model was fetched");
        Ok(())
    }

    /// Bytes of its files together, at most.
    fn max_unpacked(&self) -> u64 {
        self.max_bytes.saturating_mul(4)
    }

    /// Deletes what lies among the models and has such a name.
    fn clear(&self, is_in_the_way: impl Fn(&str) -> bool) -> io::Result<()> {
        clear(&self.folder, is_in_the_way)
    }

    /// Which file is what.
    fn sorted(&self, mut files: BTreeMap<String, Vec<u8>>) -> Result<ModelFiles, EmbedError> {
        let model = files.keys().find(|name| name.ends_with(unpack::MODEL)).cloned().unwrap_or_default();
        let mut take = |name: &str| files.remove(name);
        Ok(ModelFiles {
            name: self.name(),
            onnx: take(&model).ok_or_else(|| self.failed("there is no model in it".into()))?,
            tokenizer: take(unpack::TOKENIZER)
                .ok_or_else(|| self.failed("there is no tokenizer.json in it".into()))?,
            config: take("config.json").unwrap_or_default(),
            special_tokens_map: take("special_tokens_map.json").unwrap_or_default(),
            tokenizer_config: take("tokenizer_config.json").unwrap_or_default(),
            weights: files.into_iter().collect(),
        })
    }

    /// The archive's name without its endings.
    fn name(&self) -> String {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        let bare =
            [".gz", ".tgz", ".tar"].iter().fold(file, |name, end| name.strip_suffix(end).unwrap_or(name));
        let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name: String = bare.chars().filter(plain).take(NAME_CHARS).collect();
        if name.is_empty() { "fetched".to_owned() } else { name }
    }

    fn failed(&self, reason: String) -> EmbedError {
        EmbedError::Fetch { url: url::shown(&self.url), reason }
    }
}

fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
