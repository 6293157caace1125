//! The table of keys: the one place where a setting is declared. The default file, the schema, the reference, the
//! checks and the variables all come from it.

use doze_engine::Cron;
use doze_protocol::bounds::{BUDGET_TOKENS_MAX, BUDGET_TOKENS_MIN};
use serde_json::{Value, json};

/// What a key may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// True or false.
    Bool(bool),
    /// A whole number from `min` to `max`.
    Int {
        /// The built-in value.
        default: i64,
        /// The smallest that is accepted.
        min: i64,
        /// The largest that is accepted.
        max: i64,
    },
    /// One of these words; the first is the built-in value.
    Choice(&'static [&'static str]),
    /// Any text; empty unless set.
    Text,
    /// A text that nobody is shown; empty unless set.
    Secret,
    /// A list of texts; empty unless set.
    List,
    /// A wall-clock schedule in cron syntax; empty means none.
    Cron,
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its dotted name.
    pub name: &'static str,
    /// What it may hold.
    pub kind: Kind,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// Variables that set it, the first that is set wins.
    pub env: &'static [&'static str],
    /// A change is in force from the next start on; all others are at once.
    pub restart: bool,
}

const GIB: i64 = 1024 * 1024 * 1024;
const MIB: i64 = 1024 * 1024;

/// Every key, in the order in which the default file shows them.
pub const KEYS: &[Key] = &[
    Key {
        name: "preset",
        kind: Kind::Choice(&["doze", "openorc", "jiuwen", "office"]),
        doc: "The defaults to start from. `openorc`: nothing is remembered and nothing swept until switched on; then \
              each run is summarised by its own agent, and searches rank as OpenOrc does. \
              `jiuwen`: no sweeps until switched on. `office`: rules and words only, no sweeps and no embedder.",
        env: &["DOZE_PRESET"],
        restart: false,
    },
    Key {
        name: "memory.enabled",
        kind: Kind::Bool(true),
        doc: "Capture, extraction, briefs and injection. Off keeps what is stored readable, editable and deletable.",
        env: &["DOZE_MEMORY_ENABLED"],
        restart: false,
    },
    Key {
        name: "memory.engine",
        kind: Kind::Choice(&["builtin"]),
        doc: "The engine that remembers; there is one so far. `status` tells it.",
        env: &["DOZE_MEMORY_ENGINE"],
        restart: false,
    },
    Key {
        name: "memory.brief_tokens",
        kind: Kind::Int { default: 1500, min: BUDGET_TOKENS_MIN as i64, max: BUDGET_TOKENS_MAX as i64 },
        doc: "The size of a brief when the caller names none, in tokens.",
        env: &["DOZE_MEMORY_BRIEF_TOKENS"],
        restart: false,
    },
    Key {
        name: "hooks.prompt_search",
        kind: Kind::Bool(false),
        doc: "Search the memories for every prompt and put what fits beside it.",
        env: &["DOZE_HOOKS_PROMPT_SEARCH"],
        restart: false,
    },
    Key {
        name: "search.profile",
        kind: Kind::Choice(&["default", "openorc", "jiuwen", "facts", "lesson", "bank"]),
        doc: "How a search ranks when it names no profile of its own.",
        env: &["DOZE_SEARCH_PROFILE"],
        restart: false,
    },
    Key {
        name: "extractor",
        kind: Kind::Choice(&[
            "off", "rules", "auto", "claude", "codex", "gemini", "opencode", "http", "command",
        ]),
        doc: "Who reads a run when it ends: nobody, the rules, the agent that did the work (`auto`), one agent's command \
              line whoever did it, a model behind `extractor.url` (`http`), or the program of `command`. Facts are \
              found by rules at every commit whatever this says.",
        env: &["DOZE_EXTRACTOR"],
        restart: false,
    },
    Key {
        name: "extractor.model",
        kind: Kind::Text,
        doc: "The model that `extractor` is asked to use; where that asks nobody by name (`off`, `rules`, `auto`), the \
              model that `dream.extractor` is asked to use. Each has its own unless this says another, and `auto` \
              ignores it.",
        env: &["DOZE_EXTRACTOR_MODEL"],
        restart: false,
    },
    Key {
        name: "extractor.url",
        kind: Kind::Text,
        doc: "Where the model of `http` is, as `http://127.0.0.1:8080/v1`.",
        env: &["DOZE_EXTRACTOR_URL"],
        restart: false,
    },
    Key {
        name: "extractor.api",
        kind: Kind::Choice(&["openai", "ollama", "anthropic"]),
        doc: "What is spoken at `extractor.url`: chat completions as OpenAI has them, Ollama's chat, or Anthropic's \
              messages.",
        env: &["DOZE_EXTRACTOR_API"],
        restart: false,
    },
    Key {
        name: "extractor.key",
        kind: Kind::Secret,
        doc: "The key that `extractor.url` asks for; for `claude` the Anthropic key that pays instead of the login. It \
              belongs to `extractor`, and where that asks nobody by name (`off`, `rules`, `auto`) to `dream.extractor`; \
              it is never shown to another one.",
        env: &["DOZE_EXTRACTOR_KEY"],
        restart: false,
    },
    Key {
        name: "extractor.calls_per_day",
        kind: Kind::Int { default: 200, min: 0, max: 1_000_000 },
        doc: "Times a day that an agent or a model is asked, by jobs and dreams together; 0 for no limit. What waits \
              goes on the next day.",
        env: &["DOZE_EXTRACTOR_CALLS_PER_DAY"],
        restart: false,
    },
    Key {
        name: "extractor.tokens_per_day",
        kind: Kind::Int { default: 2_000_000, min: 0, max: 1_000_000_000_000 },
        doc: "Tokens a day that asking may cost; 0 for no limit. Where nobody tells what an answer cost, or none came, \
              they are estimated.",
        env: &["DOZE_EXTRACTOR_TOKENS_PER_DAY"],
        restart: false,
    },
    Key {
        name: "command",
        kind: Kind::List,
        doc: "The program of the extractor `command` with its arguments, as [\"prog\", \"arg\"]: it reads the prompt on \
              stdin, prints a reply, and ends with 0.",
        env: &["DOZE_COMMAND"],
        restart: false,
    },
    Key {
        name: "dream.enabled",
        kind: Kind::Bool(true),
        doc: "Sweeps that consolidate while nobody works.",
        env: &["DOZE_DREAM_ENABLED"],
        restart: false,
    },
    Key {
        name: "dream.code",
        kind: Kind::Bool(true),
        doc: "Sweeps over sessions of coding agents.",
        env: &["DOZE_DREAM_CODE", "DREAMING_CODE_ENABLED"],
        restart: false,
    },
    Key {
        name: "dream.agent",
        kind: Kind::Bool(true),
        doc: "Sweeps over sessions of assistants in conversation.",
        env: &["DOZE_DREAM_AGENT", "DREAMING_AGENT_ENABLED"],
        restart: false,
    },
    Key {
        name: "dream.extractor",
        kind: Kind::Choice(&[
            "rules", "auto", "claude", "codex", "gemini", "opencode", "http", "command", "off",
        ]),
        doc: "Who reads the sessions of a sweep, as `extractor` says it. `auto` leaves a session whose agent cannot be \
              asked to the rules.",
        env: &["DOZE_DREAM_EXTRACTOR"],
        restart: false,
    },
    Key {
        name: "dream.interval_seconds",
        kind: Kind::Int { default: 14_400, min: 1, max: 31_536_000 },
        doc: "The pause between two sweeps. Less than a minute counts as a minute.",
        env: &["DOZE_DREAM_INTERVAL_SECONDS", "DREAMING_INTERVAL"],
        restart: false,
    },
    Key {
        name: "dream.cron",
        kind: Kind::Cron,
        doc: "A schedule by the clock instead of the interval, as `0 3 * * *` for three at night.",
        env: &["DOZE_DREAM_CRON"],
        restart: false,
    },
    Key {
        name: "dream.idle_minutes",
        kind: Kind::Int { default: 0, min: 0, max: 1_440 },
        doc: "Sweep, without waiting for the interval, when no agent has called for this many minutes and none says that \
              it runs; with `dream.cron` this is only how long the quiet must last. 0 leaves it to the interval, and the \
              quiet must last five minutes.",
        env: &["DOZE_DREAM_IDLE_MINUTES"],
        restart: false,
    },
    Key {
        name: "dream.on_battery",
        kind: Kind::Bool(false),
        doc: "Sweep on battery too.",
        env: &["DOZE_DREAM_ON_BATTERY"],
        restart: false,
    },
    Key {
        name: "embedder",
        kind: Kind::Choice(&["builtin", "ort", "off"]),
        doc: "Who finds by meaning: the built-in model, the same model through ONNX Runtime, or nobody.",
        env: &["DOZE_EMBEDDER"],
        restart: true,
    },
    Key {
        name: "embedder.library",
        kind: Kind::Text,
        doc: "The ONNX Runtime library for `embedder = \"ort\"`.",
        env: &["DOZE_EMBEDDER_LIBRARY"],
        restart: true,
    },
    Key {
        name: "embedder.url",
        kind: Kind::Text,
        doc: "The archive of a sentence-transformers model that is fetched when it is first needed and used in place of \
              the built-in one: a `.tar.gz` with one `.onnx` file and `tokenizer.json`, whose vectors have 384 numbers. \
              Empty fetches nothing.",
        env: &["DOZE_EMBEDDER_URL"],
        restart: true,
    },
    Key {
        name: "embedder.sha256",
        kind: Kind::Text,
        doc: "The SHA-256 of that archive, in hex. Nothing else is kept.",
        env: &["DOZE_EMBEDDER_SHA256"],
        restart: true,
    },
    Key {
        name: "embedder.max_bytes",
        kind: Kind::Int { default: 256 * MIB, min: 1, max: 64 * GIB },
        doc: "An archive longer than this is not fetched.",
        env: &["DOZE_EMBEDDER_MAX_BYTES"],
        restart: true,
    },
    Key {
        name: "embedder.idle_seconds",
        kind: Kind::Int { default: 300, min: 1, max: 604_800 },
        doc: "The model leaves memory after this long without work.",
        env: &["DOZE_EMBEDDER_IDLE_SECONDS"],
        restart: true,
    },
    Key {
        name: "history.max_bytes",
        kind: Kind::Int { default: 2 * GIB, min: MIB, max: 1024 * GIB },
        doc: "Raw events and summaries beyond this go, oldest first; those that a memory cites or that no sweep has \
              read go last. Memories stay.",
        env: &["DOZE_HISTORY_MAX_BYTES"],
        restart: false,
    },
    Key {
        name: "history.max_age_days",
        kind: Kind::Int { default: 0, min: 0, max: 36_500 },
        doc: "Sessions whose last event is older than this many days go, whatever cites them. 0 keeps them. Memories \
              stay.",
        env: &["DOZE_HISTORY_MAX_AGE_DAYS"],
        restart: false,
    },
    Key {
        name: "store.cache_bytes",
        kind: Kind::Int { default: 16 * MIB, min: MIB, max: 16 * GIB },
        doc: "Memory for pages of the store.",
        env: &["DOZE_STORE_CACHE_BYTES"],
        restart: true,
    },
    Key {
        name: "log.level",
        kind: Kind::Choice(&["info", "error", "warn", "debug", "trace"]),
        doc: "The least severe messages that are logged.",
        env: &["DOZE_LOG_LEVEL"],
        restart: false,
    },
    Key {
        name: "log.target",
        kind: Kind::Choice(&["stderr", "file"]),
        doc: "Where messages go: the standard error (and so the journal), or files of which a week is kept.",
        env: &["DOZE_LOG_TARGET"],
        restart: true,
    },
];

/// The built-in values that a preset replaces (S0.6, S1.37, S3.6).
pub(super) fn preset(name: &str) -> &'static [(&'static str, PresetValue)] {
    use PresetValue::{Bool, Word};
    match name {
        "openorc" => &[
            ("memory.enabled", Bool(false)),
            ("search.profile", Word("openorc")),
            ("extractor", Word("auto")),
            ("dream.enabled", Bool(false)),
        ],
        "jiuwen" => &[("dream.enabled", Bool(false))],
        "office" => &[("dream.enabled", Bool(false)), ("embedder", Word("off"))],
        _ => &[],
    }
}

/// A value of a preset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PresetValue {
    /// True or false.
    Bool(bool),
    /// A word of a choice.
    Word(&'static str),
}

impl PresetValue {
    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Bool(on) => on.into(),
            Self::Word(word) => word.into(),
        }
    }
}

/// The key of that name.
pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

impl Key {
    /// What it does, and when a change is in force if that is not at once.
    pub(super) fn told(&self) -> String {
        let later = if self.restart { " In force from the next start on." } else { "" };
        format!("{}{later}", self.doc)
    }

    /// The built-in value.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Bool(on) => on.into(),
            Kind::Int { default, .. } => default.into(),
            Kind::Choice(words) => words.first().copied().unwrap_or_default().into(),
            Kind::Text | Kind::Secret | Kind::Cron => "".into(),
            Kind::List => Value::Array(Vec::new()),
        }
    }

    /// Checks a value; the error completes "`key`: …".
    pub fn check(&self, value: &Value) -> Result<(), String> {
        match (self.kind, value) {
            (Kind::Bool(_), Value::Bool(_)) | (Kind::Text | Kind::Secret, Value::String(_)) => Ok(()),
            (Kind::List, Value::Array(items)) if items.iter().all(Value::is_string) => Ok(()),
            (Kind::List, value) => {
                Err(format!("expected a list of texts, as [\"a\", \"b\"], found {}", describe(value)))
            }
            (Kind::Secret, _) => Err("expected a text".to_owned()),
            (Kind::Int { min, max, .. }, value) => match value.as_i64() {
                Some(number) if (min..=max).contains(&number) => Ok(()),
                Some(number) => Err(format!("{number} is outside {min} to {max}")),
                None => {
                    Err(format!("expected a whole number from {min} to {max}, found {}", describe(value)))
                }
            },
            (Kind::Choice(words), Value::String(word)) if words.contains(&word.as_str()) => Ok(()),
            (Kind::Choice(words), value) => {
                Err(format!("expected one of {}, found {}", words.join(", "), describe(value)))
            }
            (Kind::Cron, Value::String(text)) if text.trim().is_empty() => Ok(()),
            (Kind::Cron, Value::String(text)) => {
                text.parse::<Cron>().map(|_| ()).map_err(|error| error.to_string())
            }
            (Kind::Bool(_), value) => Err(format!("expected true or false, found {}", describe(value))),
            (Kind::Text | Kind::Cron, value) => Err(format!("expected a text, found {}", describe(value))),
        }
    }

    /// Reads a value from a variable or the command line. What cannot be read stays a text, for [`Key::check`] to name.
    pub fn parse(&self, text: &str) -> Value {
        let trimmed = text.trim();
        let parsed = match self.kind {
            Kind::Bool(_) => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(Value::Bool(true)),
                "false" | "0" | "no" | "off" => Some(Value::Bool(false)),
                _ => None,
            },
            Kind::Int { .. } => trimmed.parse::<i64>().ok().map(Value::from),
            Kind::Choice(_) => Some(trimmed.into()),
            Kind::List if trimmed.starts_with('[') => serde_json::from_str(trimmed).ok(),
            Kind::List => Some(trimmed.split_whitespace().collect()),
            Kind::Text | Kind::Secret | Kind::Cron => None,
        };
        parsed.unwrap_or_else(|| text.into())
    }

    /// The schema of the value.
    pub(super) fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Bool(_) => json!({"type": "boolean"}),
            Kind::Int { min, max, .. } => json!({"type": "integer", "minimum": min, "maximum": max}),
            Kind::Choice(words) => json!({"type": "string", "enum": words}),
            Kind::Text | Kind::Secret | Kind::Cron => json!({"type": "string"}),
            Kind::List => json!({"type": "array", "items": {"type": "string"}}),
        };
        schema["default"] = self.default_value();
        schema["description"] = self.told().into();
        schema
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}
