//! Upkeep: `status`, `pause`, `resume`, `config`, `import`, `export`, `backup`, `events`.

use std::collections::BTreeMap;

use doze_engine::{ImportForm, ImportRequest, Queue, Status};
use doze_protocol::system::{
    BackupAnswer, BackupParams, ChangeItem, ConfigAnswer, ConfigParams, EngineStatus, EventsAnswer,
    EventsParams, ExportAnswer, ExportParams, ExtractionStatus, ImportAnswer, ImportParams, IndexStatus,
    ModelStatus, PauseAnswer, PauseParams, QueueStatus, SpoolStatus, StatusAnswer,
};
use doze_protocol::{PROTOCOL, Params, WireError, parse_params};
use serde_json::Value;

use super::{Dispatch, answer, given, told};

/// What only the process knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessFacts {
    /// The engine that remembers, as configured.
    pub(crate) memory_engine: String,
    /// Commits in the spool.
    pub(crate) spool: SpoolStatus,
    /// Resident memory, in bytes.
    pub(crate) rss_bytes: u64,
    /// The clock's offset for trials, in seconds.
    pub(crate) clock_offset: Option<i64>,
}

/// The process around the engine.
pub(crate) trait Process: Send + Sync {
    /// Facts for `status`.
    fn facts(&self) -> ProcessFacts;
    /// Changes settings and answers all of them. They are in force when this returns, but for those that the answer
    /// marks as heeded at the next start only.
    fn config(&self, set: &BTreeMap<String, Value>) -> Result<ConfigAnswer, WireError>;
    /// Where a backup goes when the caller names no place.
    fn backup_path(&self) -> std::path::PathBuf;
}

impl Dispatch {
    pub(super) fn status(&self, _: Params) -> Result<Value, WireError> {
        let status = self.engine.status(&self.owner).map_err(told)?;
        let facts = self.process.facts();
        answer(&StatusAnswer {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: PROTOCOL,
            pid: std::process::id(),
            ready: true,
            memories: status.memories,
            sessions: status.sessions,
            projects: status.projects,
            queue: queue(&self.engine.queue(&self.owner).map_err(told)?),
            extraction: extraction(self.engine.extraction(&self.owner).map_err(told)?),
            dream: self.dream_state()?,
            index: index(&status),
            model: model(&status),
            engine: engine_of(&facts.memory_engine),
            spool: facts.spool,
            store_bytes: status.store_bytes,
            rss_bytes: facts.rss_bytes,
            problem: problem(&status),
            http: None,
            paused_until: status.paused_until.map(|until| until.to_string()),
            clock_offset: facts.clock_offset,
        })
    }

    pub(super) fn pause(&self, params: Params) -> Result<Value, WireError> {
        let params: PauseParams = parse_params(params)?;
        let until = self.engine.pause(&self.owner, params.duration.map(|span| span.seconds)).map_err(told)?;
        answer(&PauseAnswer { paused: true, paused_until: Some(until.to_string()) })
    }

    pub(super) fn resume(&self, _: Params) -> Result<Value, WireError> {
        self.engine.resume(&self.owner).map_err(told)?;
        answer(&PauseAnswer { paused: false, paused_until: None })
    }

    pub(super) fn config(&self, params: Params) -> Result<Value, WireError> {
        let params: ConfigParams = parse_params(params)?;
        answer(&self.process.config(&params.set)?)
    }

    pub(super) fn import(&self, params: Params) -> Result<Value, WireError> {
        let params: ImportParams = parse_params(params)?;
        let form = match params.format.as_deref() {
            None | Some("auto") => ImportForm::Auto,
            Some("transcripts") => ImportForm::Transcripts,
            Some("office") => ImportForm::Office,
            Some(other) => {
                return Err(WireError::invalid(
                    "format",
                    format!("{other:?} cannot be imported, only auto, transcripts and office"),
                ));
            }
        };
        let request = ImportRequest {
            path: params.path,
            form,
            cwd: params.cwd,
            agent: params.agent.as_ref().map(given::agent),
            since: given::since(params.since.as_ref())?,
        };
        let (engine, owner) = (self.engine.clone(), self.owner.clone());
        let done = self.imports.run(move || engine.import(&owner, &request)).map_err(told)?;
        answer(&ImportAnswer {
            read: done.read,
            added: done.added,
            known: done.known,
            damaged: done.damaged,
            left_out: done.left_out,
            problems: done.problems,
            redacted: done.redacted,
        })
    }

    pub(super) fn export(&self, params: Params) -> Result<Value, WireError> {
        let params: ExportParams = parse_params(params)?;
        if let Some(other) = params.format.as_deref().filter(|format| *format != "office") {
            return Err(WireError::invalid("format", format!("{other:?} cannot be written, only office")));
        }
        let reader = given::reader(None, params.cwd, params.project, None)?;
        let done = self.engine.export_office(&self.owner, &reader, &params.path).map_err(told)?;
        answer(&ExportAnswer {
            path: params.path,
            files: done.files,
            records: done.records,
            left_out: done.left_out,
            problems: done.problems,
        })
    }

    pub(super) fn backup(&self, params: Params) -> Result<Value, WireError> {
        let params: BackupParams = parse_params(params)?;
        let path = params.path.map_or_else(|| self.process.backup_path(), Into::into);
        let done = self.engine.backup(&path).map_err(told)?;
        answer(&BackupAnswer {
            path: path.to_string_lossy().into_owned(),
            bytes: done.bytes,
            seq: done.seq,
            sha256: done.sha256,
        })
    }

    pub(super) fn events(&self, params: Params) -> Result<Value, WireError> {
        let params: EventsParams = parse_params(params)?;
        let limit = given::limit(params.limit, 100, 1_000)?;
        let page = self.engine.events_since(&self.owner, params.since.unwrap_or(0), limit).map_err(told)?;
        answer(&EventsAnswer {
            items: page
                .items
                .into_iter()
                .map(|item| ChangeItem {
                    seq: item.seq,
                    record: item.record.to_owned(),
                    op: item.op.to_owned(),
                    id: item.id,
                })
                .collect(),
            next: page.next,
            missed: page.missed,
        })
    }
}

/// The built-in engine is on when it is the one that remembers; there is no other yet.
fn engine_of(configured: &str) -> EngineStatus {
    EngineStatus { builtin: if configured == "builtin" { "on" } else { "off" }.to_owned(), external: None }
}

fn queue(queue: &Queue) -> QueueStatus {
    QueueStatus {
        pending: queue.pending,
        running: queue.running,
        oldest_s: queue.oldest_seconds,
        failed: queue.failed,
    }
}

fn extraction(status: doze_engine::ExtractionStatus) -> ExtractionStatus {
    ExtractionStatus {
        sentence: status.sentence,
        extractor: status.extractor,
        dream_extractor: status.dreams,
        model: status.model,
        calls_today: status.usage.calls,
        budget: status.calls,
        tokens_today: status.usage.tokens,
        token_budget: status.tokens,
        unreadable_today: status.usage.unreadable,
        spent_until: status.spent_until.map(|until| until.to_string()),
    }
}

fn index(status: &Status) -> IndexStatus {
    IndexStatus {
        lexical_seq: status.index.lexical_seq,
        vector_seq: status.index.vector_seq,
        seq: status.seq,
        turns: status.index.turns as u64,
        pages_waiting: status.index.pages_waiting as u64,
    }
}

fn model(status: &Status) -> ModelStatus {
    let id = status.index.model.as_ref();
    ModelStatus {
        id: id.map(|id| id.name.clone()),
        state: status.index.model_state.to_owned(),
        dim: id.and_then(|id| u32::try_from(id.dim).ok()),
        sha256: id.map(|id| id.sha256.clone()),
    }
}

/// The one thing a person should do first, if there is one.
fn problem(status: &Status) -> Option<String> {
    if let Some(reason) = &status.not_writable {
        return Some(format!("nothing can be written: {reason}"));
    }
    if status.quarantined > 0 {
        return Some(format!("{} damaged records are left out of answers", status.quarantined));
    }
    (!status.index.model_reason.is_empty()).then(|| {
        format!(
            "search goes by words alone, because the embedding model failed: {}; it is tried again after a minute, then \
             less often; what is set:  doze config show embedder",
            status.index.model_reason
        )
    })
}
