//! The values of the table as the program uses them.

use std::path::PathBuf;
use std::time::Duration;

use doze_core::rank::Profile;
use doze_engine::{Cron, Extractors, Key};
use serde_json::Value;

use super::Config;

/// Every setting, typed. In the order of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `memory.enabled`
    pub memory_enabled: bool,
    /// `memory.engine`
    pub memory_engine: String,
    /// `memory.brief_tokens`
    pub brief_tokens: usize,
    /// `hooks.prompt_search`
    pub prompt_search: bool,
    /// `search.profile`
    pub search_profile: Profile,
    /// `extractor` and what goes with it, `command`, and `dream.extractor`.
    pub extractors: Extractors,
    /// `dream.enabled`
    pub dream_enabled: bool,
    /// `dream.code`
    pub dream_code: bool,
    /// `dream.agent`
    pub dream_agent: bool,
    /// `dream.interval_seconds`
    pub dream_interval: Duration,
    /// `dream.cron`
    pub dream_cron: Option<Cron>,
    /// `dream.idle_minutes`; 0 for none.
    pub dream_idle_minutes: i64,
    /// `dream.on_battery`
    pub dream_on_battery: bool,
    /// `embedder`
    pub embedder: String,
    /// `embedder.library`
    pub embedder_library: Option<PathBuf>,
    /// `embedder.url`.
    pub embedder_url: Option<String>,
    /// `embedder.sha256`, checked when it was loaded.
    pub embedder_sha256: String,
    /// `embedder.max_bytes`.
    pub embedder_max_bytes: u64,
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
        let list = |name: &str| {
            let items = value(name).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let some = |text: String| (!text.is_empty()).then_some(text);
        Self {
            memory_enabled: on("memory.enabled"),
            memory_engine: text("memory.engine"),
            brief_tokens: size("memory.brief_tokens"),
            prompt_search: on("hooks.prompt_search"),
            search_profile: text("search.profile").parse().unwrap_or(Profile::Default),
            extractors: Extractors {
                jobs: text("extractor").parse().unwrap_or_default(),
                dreams: text("dream.extractor").parse().unwrap_or_default(),
                model: text("extractor.model"),
                url: text("extractor.url"),
                api: text("extractor.api").parse().ok(),
                key: some(text("extractor.key")).map(Key::new),
                command: list("command"),
                calls_per_day: number("extractor.calls_per_day"),
                tokens_per_day: number("extractor.tokens_per_day"),
            },
            dream_enabled: on("dream.enabled"),
            dream_code: on("dream.code"),
            dream_agent: on("dream.agent"),
            dream_interval: Duration::from_secs(number("dream.interval_seconds")),
            // Checked when it was loaded.
            dream_cron: text("dream.cron").parse().ok(),
            dream_idle_minutes: i64::try_from(number("dream.idle_minutes")).unwrap_or(i64::MAX),
            dream_on_battery: on("dream.on_battery"),
            embedder: text("embedder"),
            embedder_url: some(text("embedder.url")),
            embedder_sha256: text("embedder.sha256"),
            embedder_max_bytes: number("embedder.max_bytes"),
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
