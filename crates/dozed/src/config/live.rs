//! The configuration in force, and how it changes while the program runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::Value;

use super::{Config, ConfigError, Origin, Sources, set_in_file};

/// The configuration in force. Variables and command line are those of the start; the file is read again.
#[derive(Debug)]
pub struct Live {
    path: PathBuf,
    flags: BTreeMap<String, String>,
    env: BTreeMap<String, String>,
    current: RwLock<Arc<Config>>,
    /// Held from reading the file to putting it in force: of two changes at once neither may undo the other.
    changing: Mutex<()>,
}

impl Live {
    /// Loads the configuration. A file that is not there counts as empty.
    pub fn load(
        path: PathBuf,
        flags: BTreeMap<String, String>,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let names = super::KEYS.iter().flat_map(|key| key.env);
        let env = names.filter_map(|name| env(name).map(|value| ((*name).to_owned(), value))).collect();
        let config = load(&path, super::text_of(&path)?.as_deref(), &flags, &env)?;
        Ok(Self { path, flags, env, current: RwLock::new(Arc::new(config)), changing: Mutex::new(()) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The configuration in force.
    pub fn current(&self) -> Arc<Config> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the file again; `obey` puts it in force. When it is wrong the old configuration stays.
    pub fn reload(&self, obey: impl FnOnce(&Config)) -> Result<Arc<Config>, ConfigError> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let config = self.parse(super::text_of(&self.path)?.as_deref())?;
        Ok(self.put_in_force(config, obey))
    }

    /// Sets keys in the file; `obey` puts them in force. A key that a variable or the command line decides is refused:
    /// it would not be in force. Nothing is written when the file as a whole would be wrong.
    pub fn set(
        &self,
        changes: &BTreeMap<String, Value>,
        obey: impl FnOnce(&Config),
    ) -> Result<Arc<Config>, ConfigError> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.current();
        for key in changes.keys() {
            if let Some((_, origin @ (Origin::Env(_) | Origin::Flag))) = current.get(key) {
                return Err(ConfigError::Overridden { key: key.clone(), origin: origin.clone() });
            }
        }
        let changes = changes.iter().map(|(key, value)| (key.as_str(), value));
        let config = set_in_file(&self.path, changes, |text| {
            let config = self.parse(Some(text))?;
            refuse_foreign_key(&current, &config)?;
            Ok(config)
        })?;
        Ok(self.put_in_force(config, obey))
    }

    fn parse(&self, text: Option<&str>) -> Result<Config, ConfigError> {
        load(&self.path, text, &self.flags, &self.env)
    }

    fn put_in_force(&self, config: Config, obey: impl FnOnce(&Config)) -> Arc<Config> {
        obey(&config);
        let config = Arc::new(config);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&config);
        config
    }
}

/// A key stays with whom it was given for: another one is chosen without it.
fn refuse_foreign_key(before: &Config, after: &Config) -> Result<(), ConfigError> {
    let (before, after) = (before.settings().extractors, after.settings().extractors);
    match after.key_holder() {
        Some(to)
            if after.key.is_some()
                && after.key == before.key
                && before.key_holder().as_ref() != Some(&to) =>
        {
            Err(ConfigError::KeyOfAnother { to })
        }
        _ => Ok(()),
    }
}

fn load(
    path: &Path,
    text: Option<&str>,
    flags: &BTreeMap<String, String>,
    env: &BTreeMap<String, String>,
) -> Result<Config, ConfigError> {
    Config::load(&Sources { flags, env: &|name| env.get(name).cloned(), file: text.map(|text| (path, text)) })
}
