//! Configuration: one declared table of keys, four layers over the built-in values, and the origin of every value.

mod edit;
mod generate;
mod keys;
mod live;
mod settings;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use doze_core::redact::redact;
use doze_core::url::Address;
use doze_protocol::system::{ConfigAnswer, ConfigValue};
use serde_json::Value;

pub use edit::set_in_file;
pub use generate::{default_file, schema};
pub use keys::{KEYS, Key, Kind};
pub use live::Live;
pub use settings::Settings;

/// Longest configuration file. The complete one is a few kilobytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Where a value comes from, weakest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The table of keys.
    BuiltIn,
    /// The preset of that name.
    Preset(String),
    /// The configuration file.
    File(PathBuf),
    /// The variable of that name.
    Env(&'static str),
    /// The command line.
    Flag,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Env(name) => write!(f, "${name}"),
            Self::Flag => f.write_str("command line"),
        }
    }
}

/// What is shown of a secret that is set.
const MASK: &str = "[set]";

/// One thing that is wrong with the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands.
    pub origin: Origin,
    /// What is wrong, with the key's name.
    pub message: String,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("{} is not TOML: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// Keys or values are wrong.
    #[error("{}", list(problems))]
    Wrong {
        /// Everything that is wrong, not only the first.
        problems: Vec<Problem>,
    },
    /// A key was set in the file, but something stronger decides.
    #[error("{key} is set by {origin}, which is stronger than the file")]
    Overridden {
        /// The key.
        key: String,
        /// Who decides.
        origin: Origin,
    },
    /// The key of one extractor would be shown to another.
    #[error(
        "extractor.key was not given for {to}; empty it with  doze config set extractor.key ''  and set that of {to} \
         afterwards"
    )]
    KeyOfAnother {
        /// Who would be shown it.
        to: String,
    },
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(|p| format!("{}: {}", p.origin, p.message)).collect();
    lines.join("; ")
}

/// Where values come from. Handed in, so that a test can be another process.
pub struct Sources<'a> {
    /// Keys from the command line.
    pub flags: &'a BTreeMap<String, String>,
    /// Reads a variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// The file and its text; `None` when there is none.
    pub file: Option<(&'a Path, &'a str)>,
}

/// A whole configuration that has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    values: BTreeMap<&'static str, (Value, Origin)>,
}

impl Config {
    /// Puts the layers together: command line > variables > file > preset > built-in.
    pub fn load(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let mut given: BTreeMap<&'static str, (Value, Origin)> = BTreeMap::new();
        if let Some((path, text)) = sources.file {
            let origin = Origin::File(path.to_owned());
            for (name, value) in flatten(path, text)? {
                accept(&name, value, origin.clone(), &mut given, &mut problems);
            }
        }
        for key in KEYS {
            let set = key.env.iter().find_map(|name| (sources.env)(name).map(|text| (*name, text)));
            if let Some((name, text)) = set.filter(|(_, text)| !text.trim().is_empty()) {
                accept(key.name, key.parse(&text), Origin::Env(name), &mut given, &mut problems);
            }
        }
        for (name, text) in sources.flags {
            let value = keys::find(name).map_or_else(|| text.as_str().into(), |key| key.parse(text));
            accept(name, value, Origin::Flag, &mut given, &mut problems);
        }
        if !problems.is_empty() {
            return Err(ConfigError::Wrong { problems });
        }
        let config = Self { values: complete(given) };
        match config.wrong_model().or_else(|| config.wrong_address("extractor.url")) {
            Some(problem) => Err(ConfigError::Wrong { problems: vec![problem] }),
            None => Ok(config),
        }
    }

    /// A model that is fetched is pinned: without its hash anything could come from its address.
    fn wrong_model(&self) -> Option<Problem> {
        let text = |name| self.get(name).and_then(|(value, _)| value.as_str()).unwrap_or_default();
        let wrong = |name, reason: &str| {
            let origin = self.get(name).map_or(Origin::BuiltIn, |(_, origin)| origin.clone());
            Some(Problem { origin, message: format!("{name}: {reason}") })
        };
        let (url, sha256) = (text("embedder.url"), text("embedder.sha256"));
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        match () {
            () if !sha256.is_empty() && !is_hash => {
                wrong("embedder.sha256", "expected 64 hexadecimal digits, as `sha256sum` prints them")
            }
            () if url.is_empty() => None,
            () if self.wrong_address("embedder.url").is_some() => self.wrong_address("embedder.url"),
            () if sha256.is_empty() => {
                wrong("embedder.url", "a model is only fetched with its hash; set embedder.sha256 first")
            }
            () => None,
        }
    }

    /// An address that is set and that nobody could be asked at.
    fn wrong_address(&self, name: &str) -> Option<Problem> {
        let (value, origin) = self.get(name)?;
        let url = value.as_str().unwrap_or_default();
        let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
        let is_right = rest.is_some_and(|rest| {
            rest.starts_with(|first: char| first.is_alphanumeric() || first == '[')
                && !rest.contains(|c: char| c.is_whitespace() || c.is_control())
        });
        (!url.is_empty() && !is_right).then(|| Problem {
            origin: origin.clone(),
            message: format!(
                "{name}: expected an address that begins with http:// or https:// and names a host"
            ),
        })
    }

    /// The value and the origin of a key of the table.
    pub fn get(&self, name: &str) -> Option<(&Value, &Origin)> {
        self.values.get(name).map(|(value, origin)| (value, origin))
    }

    /// Every key with its value and origin, secrets masked.
    pub fn answer(&self) -> ConfigAnswer {
        let masked = |name: &str, value: &Value| match value {
            Value::String(text) if text.is_empty() => value.clone(),
            Value::String(_) if keys::find(name).is_some_and(|key| key.kind == Kind::Secret) => MASK.into(),
            Value::String(text) => hidden(text),
            Value::Array(items) => {
                items.iter().map(|item| item.as_str().map_or(Value::Null, hidden)).collect()
            }
            other => other.clone(),
        };
        self.values
            .iter()
            .map(|(name, (value, origin))| {
                let restart = keys::find(name).is_some_and(|key| key.restart);
                let value = ConfigValue { value: masked(name, value), origin: origin.to_string(), restart };
                ((*name).to_owned(), value)
            })
            .collect()
    }

    /// The values as the program uses them.
    pub fn settings(&self) -> Settings {
        Settings::from_config(self)
    }
}

/// A text as it may be shown: the secrets in it are not, nor what an address has in front of its host and behind its
/// path.
fn hidden(text: &str) -> Value {
    let address = Address::of(text);
    if address.scheme.is_empty() || text.contains(char::is_whitespace) {
        return redact(text).text.into();
    }
    let login = if address.userinfo.is_empty() { "" } else { "[redacted:login]@" };
    let query = if address.query.is_empty() { "" } else { "?[redacted:query]" };
    format!("{}{login}{}{query}", address.scheme, redact(address.place).text).into()
}

fn accept(
    name: &str,
    value: Value,
    origin: Origin,
    given: &mut BTreeMap<&'static str, (Value, Origin)>,
    problems: &mut Vec<Problem>,
) {
    match keys::find(name) {
        None => problems.push(Problem { origin, message: unknown(name) }),
        Some(key) => match key.check(&value) {
            Err(reason) => problems.push(Problem { origin, message: format!("{name}: {reason}") }),
            Ok(()) => {
                given.insert(key.name, (value, origin));
            }
        },
    }
}

/// Puts the preset and the built-in values under what was given.
fn complete(mut given: BTreeMap<&'static str, (Value, Origin)>) -> BTreeMap<&'static str, (Value, Origin)> {
    let preset = given.get("preset").and_then(|(value, _)| value.as_str()).unwrap_or("doze").to_owned();
    for (name, value) in keys::preset(&preset) {
        given.entry(name).or_insert_with(|| (value.to_value(), Origin::Preset(preset.clone())));
    }
    for key in KEYS {
        given.entry(key.name).or_insert_with(|| (key.default_value(), Origin::BuiltIn));
    }
    given
}

/// What to say of a key that does not exist.
fn unknown(name: &str) -> String {
    let nearest = KEYS
        .iter()
        .map(|key| (strsim::jaro_winkler(name, key.name), key.name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, _)| *likeness > 0.8);
    match nearest {
        Some((_, nearest)) => format!("there is no key {name:?}; did you mean {nearest:?}?"),
        None => format!("there is no key {name:?}; `doze config schema` lists the keys"),
    }
}

/// The keys of a file with their dotted names. `"a.b" = 1` is the same as `b = 1` under `[a]`: only so can `embedder`
/// and `embedder.library` stand in one file.
fn flatten(path: &Path, text: &str) -> Result<BTreeMap<String, Value>, ConfigError> {
    let syntax = |message: String| ConfigError::Syntax { path: path.to_owned(), message };
    let table: toml::Table = toml::from_str(text).map_err(|error| syntax(one_line(&error.to_string())))?;
    let mut flat = BTreeMap::new();
    flatten_into(table, String::new(), &mut flat);
    Ok(flat)
}

fn flatten_into(table: toml::Table, prefix: String, flat: &mut BTreeMap<String, Value>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(inner) => flatten_into(inner, name, flat),
            other => {
                // Dates and non-finite numbers have no JSON form; as text they fail the check of their key.
                let value = serde_json::to_value(&other).unwrap_or_else(|_| other.to_string().into());
                flat.insert(name, value);
            }
        }
    }
}

/// The text of the file; `None` when there is none. A pipe or a device is not waited for.
fn text_of(path: &Path) -> Result<Option<String>, ConfigError> {
    match doze_engine::read_text(path, MAX_FILE_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Read { path: path.to_owned(), source }),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
