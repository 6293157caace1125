//! The engine with what keeps it company in this process: the dispatcher, the sweeper and the spool's drain.

mod jobs;
mod spool;
mod sweeper;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use doze_client::{Paths, Spool};
use doze_core::model::{Mode, OwnerId};
use doze_engine::{
    EmbedderChoice, Engine, Environment, FetchedModel, Options, Schedule, Surroundings, Switches,
    SystemEnvironment, Who, clear_unfinished, local_owner,
};
use doze_protocol::system::{ConfigAnswer, SpoolStatus};
use doze_protocol::{Exit, Params, WireError};
use jiff::SignedDuration;
use serde_json::Value;
use tracing::warn;

use crate::config::{Live, Settings};
use crate::dispatch::{Dispatch, Process, ProcessFacts};
use crate::logs::LogLevel;
use crate::run::{Opening, StartError};
use crate::server::{Handler, Peer};
use jobs::Workers;
use spool::Drain;
use sweeper::Sweeper;

/// The variable that shifts the wall clock for trials, in seconds.
const CLOCK_OFFSET: &str = "DOZE_CLOCK_OFFSET";

/// Everything behind the socket.
pub struct Daemon {
    parts: Parts,
    dispatch: Arc<Dispatch>,
    drain: Drain,
}

/// What follows the configuration while it runs. The keys that nothing here heeds are marked in the table: they are in
/// force from the next start on.
#[derive(Clone)]
struct Parts {
    engine: Engine,
    owner: OwnerId,
    sweeper: Arc<Sweeper>,
    workers: Arc<Workers>,
    level: LogLevel,
    memory: doze_mcp::MemorySwitch,
}

impl Parts {
    /// Puts settings in force.
    fn apply(&self, settings: &Settings) {
        self.level.set(&settings.log_level);
        self.engine.set_switches(&self.owner, switches(settings));
        // Told afterwards: who looks at its tools again sees the new ones.
        self.memory.set(settings.memory_enabled);
        self.sweeper.look();
    }
}

impl Daemon {
    /// Opens store and indexes and starts the threads. The lock is held by the caller.
    pub fn open(opening: &Opening) -> Result<Self, StartError> {
        let clock_offset = clock_offset()?;
        let environment: Arc<dyn Environment> =
            Arc::new(SystemEnvironment { clock_offset_seconds: clock_offset.unwrap_or(0) });
        let settings = &opening.settings;
        let paths = &opening.paths;
        for folder in [&paths.data, &paths.cache] {
            doze_client::create_private_dir(folder)
                .map_err(|error| StartError::new(Exit::Internal, &error))?;
        }
        let options = Options {
            store: paths.store(),
            index: paths.index(),
            cache_bytes: settings.store_cache_bytes,
            embedder: embedder(settings),
            model: model(settings, paths),
            model_idle: settings.embedder_idle,
            surroundings: surroundings(),
            switches: switches(settings),
        };
        if options.model.is_none()
            && let Err(error) = clear_unfinished(&models(paths))
        {
            warn!(%error, "What is left of a model that was being fetched could not be deleted");
        }
        let engine = Engine::open(options, environment)
            .map_err(|error| StartError::new(Exit::Internal, &error).with_hint(error.hint.clone()))?;
        let owner = local_owner(rustix::process::geteuid().as_raw());
        let spool = Spool::new(&paths.spool);
        let failed = |error: std::io::Error| StartError::new(Exit::Internal, &error);
        let sweeper = Sweeper::start(engine.clone(), owner.clone()).map_err(failed)?;
        let workers = Workers::start(&engine, &owner).map_err(failed)?;
        let parts = Parts {
            engine: engine.clone(),
            owner: owner.clone(),
            sweeper: Arc::new(sweeper),
            workers: Arc::new(workers),
            level: opening.level.clone(),
            memory: doze_mcp::MemorySwitch::new(settings.memory_enabled),
        };
        let around = Around {
            config: Arc::clone(&opening.config),
            parts: parts.clone(),
            spool: Spool::new(&paths.spool),
            backups: paths.backups(),
            clock_offset,
        };
        let dispatch = Arc::new(Dispatch::new(engine, owner.clone(), Arc::new(around)));
        let drain = Drain::start(spool, Arc::clone(&dispatch)).map_err(failed)?;
        Ok(Self { parts, dispatch, drain })
    }
}

impl Handler for Daemon {
    fn methods(&self) -> Vec<String> {
        Dispatch::methods().map(str::to_owned).collect()
    }

    fn call(&self, method: &str, params: Params, _peer: &Peer) -> Result<Value, WireError> {
        self.dispatch.call(method, params)
    }

    fn open_mcp(&self, params: Params) -> Result<doze_mcp::Project, WireError> {
        self.dispatch.mcp_open(params)
    }

    fn memory_switch(&self) -> doze_mcp::MemorySwitch {
        self.parts.memory.clone()
    }

    fn reload(&self, settings: &Settings) {
        self.parts.apply(settings);
    }

    fn drain(&self) {
        // Whoever is asked just now is not waited for, be it by a job or by a dream that somebody calls for.
        self.parts.engine.stop_asking();
    }

    fn close(&self) {
        self.drain.stop();
        self.parts.sweeper.stop();
        self.parts.workers.stop();
        if let Err(error) = self.parts.engine.leave_nothing_forgotten(&self.parts.owner) {
            warn!(error = %doze_engine::chain(&error), "Freed pages were not given up");
        }
        self.parts.engine.close();
    }
}

/// What the dispatcher asks of the process.
struct Around {
    config: Arc<Live>,
    parts: Parts,
    spool: Spool,
    backups: PathBuf,
    clock_offset: Option<i64>,
}

impl Process for Around {
    fn facts(&self) -> ProcessFacts {
        let level = self.spool.level();
        let settings = self.config.current().settings();
        ProcessFacts {
            memory_engine: settings.memory_engine,
            spool: SpoolStatus {
                pending: level.files as u64,
                bytes: level.bytes,
                quarantined: level.quarantined as u64,
                lost: level.lost,
            },
            rss_bytes: resident_bytes(),
            clock_offset: self.clock_offset,
        }
    }

    fn config(&self, set: &BTreeMap<String, Value>) -> Result<ConfigAnswer, WireError> {
        if set.is_empty() {
            return Ok(self.config.current().answer());
        }
        let config = self
            .config
            .set(set, |config| self.parts.apply(&config.settings()))
            .map_err(|error| WireError::invalid("set", doze_engine::chain(&error)))?;
        Ok(config.answer())
    }

    fn backup_path(&self) -> PathBuf {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        self.backups.join(format!("doze-{now}.redb"))
    }
}

fn embedder(settings: &Settings) -> EmbedderChoice {
    match (settings.embedder.as_str(), &settings.embedder_library) {
        ("off", _) => EmbedderChoice::Off,
        ("ort", Some(library)) => EmbedderChoice::Ort(library.clone()),
        ("ort", None) => EmbedderChoice::Ort(PathBuf::from("libonnxruntime.so")),
        _ => EmbedderChoice::BuiltIn,
    }
}

/// The model that is fetched, if one is configured.
fn model(settings: &Settings, paths: &Paths) -> Option<FetchedModel> {
    settings.embedder_url.clone().map(|url| FetchedModel {
        url,
        sha256: settings.embedder_sha256.to_ascii_lowercase(),
        max_bytes: settings.embedder_max_bytes,
        folder: models(paths),
    })
}

/// Where fetched models are.
fn models(paths: &Paths) -> PathBuf {
    paths.data.join("models")
}

fn switches(settings: &Settings) -> Switches {
    let mut modes = Vec::new();
    if settings.dream_code {
        modes.push(Mode::Code);
    }
    if settings.dream_agent {
        modes.push(Mode::Agent);
    }
    Switches {
        memory_enabled: settings.memory_enabled,
        prompt_search: settings.prompt_search,
        profile: settings.search_profile,
        brief_tokens: settings.brief_tokens,
        history_max_bytes: settings.history_max_bytes,
        history_max_age_days: settings.history_max_age_days,
        extractors: settings.extractors.clone(),
        schedule: Schedule {
            enabled: settings.dream_enabled && settings.extractors.dreams != Who::Off && !modes.is_empty(),
            interval: SignedDuration::try_from(settings.dream_interval).unwrap_or(SignedDuration::MAX),
            cron: settings.dream_cron.clone(),
            idle: (settings.dream_idle_minutes > 0)
                .then(|| SignedDuration::from_mins(settings.dream_idle_minutes)),
            on_battery: settings.dream_on_battery,
            modes,
        },
    }
}

/// Reads the machine once: where home is and where temporary files go.
fn surroundings() -> Surroundings {
    let real = |path: PathBuf| {
        let real = path.canonicalize().unwrap_or(path);
        real.to_string_lossy().into_owned()
    };
    let home = std::env::home_dir().filter(|home| home.is_absolute()).map(real);
    let temp_roots =
        [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")].map(real).to_vec();
    Surroundings { home, temp_roots }
}

fn clock_offset() -> Result<Option<i64>, StartError> {
    let Ok(text) = std::env::var(CLOCK_OFFSET) else { return Ok(None) };
    match text.trim().parse::<i64>() {
        Ok(seconds) if seconds.unsigned_abs() < 200 * 365 * 24 * 3600 => Ok(Some(seconds)),
        _ => Err(StartError {
            exit: Exit::Config,
            message: format!("{CLOCK_OFFSET}={text:?} is no number of seconds"),
            hint: "unset it, or give seconds, as in DOZE_CLOCK_OFFSET=-86400".to_owned(),
        }),
    }
}

/// Resident memory of this process; 0 where the system does not tell.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
