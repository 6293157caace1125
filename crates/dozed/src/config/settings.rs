//! The values of the table as the program uses them.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::{Config, cron};

/// Every setting, typed. One field a key of the table, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `preset`
    pub preset: String,
    /// `memory.enabled`
    pub memory_enabled: bool,
    /// `memory.engine`
    pub memory_engine: String,
    /// `memory.brief_tokens`
    pub brief_tokens: usize,
    /// `hooks.prompt_search`
    pub prompt_search: bool,
    /// `extractor`
    pub extractor: String,
    /// `dream.enabled`
    pub dream_enabled: bool,
    /// `dream.code`
    pub dream_code: bool,
    /// `dream.agent`
    pub dream_agent: bool,
    /// `dream.extractor`
    pub dream_extractor: String,
    /// `dream.interval_seconds`
    pub dream_interval: Duration,
    /// `dream.cron` with its seconds, as the scheduler wants it.
    pub dream_cron: Option<String>,
    /// `embedder`
    pub embedder: String,
    /// `embedder.library`
    pub embedder_library: Option<PathBuf>,
    /// `embedder.idle_seconds`
    pub embedder_idle: Duration,
    /// `history.max_bytes`
    pub history_max_bytes: u64,
    /// `history.max_age_days`
    pub history_max_age_days: i64,
    /// `store.cache_bytes`
    pub store_cache_bytes: usize,
    /// `log.level`
    pub log_level: String,
    /// `log.target`
    pub log_target: String,
}

impl Settings {
    pub(super) fn from_config(config: &Config) -> Self {
        let value = |name: &str| config.get(name).map(|(value, _)| value);
        let on = |name: &str| value(name).and_then(Value::as_bool).unwrap_or_default();
        let number = |name: &str| value(name).and_then(Value::as_u64).unwrap_or_default();
        let size = |name: &str| usize::try_from(number(name)).unwrap_or(usize::MAX);
        let text = |name: &str| value(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let some = |text: String| (!text.is_empty()).then_some(text);
        Self {
            preset: text("preset"),
            memory_enabled: on("memory.enabled"),
            memory_engine: text("memory.engine"),
            brief_tokens: size("memory.brief_tokens"),
            prompt_search: on("hooks.prompt_search"),
            extractor: text("extractor"),
            dream_enabled: on("dream.enabled"),
            dream_code: on("dream.code"),
            dream_agent: on("dream.agent"),
            dream_extractor: text("dream.extractor"),
            dream_interval: Duration::from_secs(number("dream.interval_seconds")),
            // Checked when it was loaded.
            dream_cron: cron::six_fields(&text("dream.cron")).ok().and_then(some),
            embedder: text("embedder"),
            embedder_library: some(text("embedder.library")).map(PathBuf::from),
            embedder_idle: Duration::from_secs(number("embedder.idle_seconds")),
            history_max_bytes: number("history.max_bytes"),
            history_max_age_days: i64::try_from(number("history.max_age_days")).unwrap_or(i64::MAX),
            store_cache_bytes: size("store.cache_bytes"),
            log_level: text("log.level"),
            log_target: text("log.target"),
        }
    }
}
