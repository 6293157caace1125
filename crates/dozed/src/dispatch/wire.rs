//! Engine records as the wire spells them.

use doze_core::model::{
    AgentRef, Dream, DreamChange, Event, Memory, Scope, Session, Source, Summary, TaskRef, Tokens, UndoLeft,
    WorkState,
};
use doze_core::rank::Explain;
use doze_core::render::Rendered;
use doze_engine::{Forgotten, Hit, ProjectCard, Task};
use doze_protocol::memory::{ForgetAnswer, MemoryRecord, Quote};
use doze_protocol::session as wire;
use doze_protocol::work::{TaskRecord, WorkRecord};
use doze_protocol::{Agent, Json, dream, memory, project, recall};

pub(super) fn agent(agent: &AgentRef) -> Agent {
    Agent { id: agent.id.to_string(), name: agent.name.clone(), harness: agent.harness.clone() }
}

pub(super) fn forgotten(gone: Forgotten) -> ForgetAnswer {
    let Forgotten { memories, sessions, events, lines } = gone;
    ForgetAnswer { memories, sessions, events, lines }
}

pub(super) fn memory(memory: &Memory) -> MemoryRecord {
    let (team, member) = match &memory.scope {
        Scope::Team(team) => (Some(team.clone()), None),
        Scope::Member { team, member } => (Some(team.clone()), Some(member.clone())),
        _ => (None, None),
    };
    MemoryRecord {
        id: memory.id.to_string(),
        owner: memory.owner.to_string(),
        space: memory.scope.space().to_string(),
        project: memory.scope.project().map(ToString::to_string),
        agent: memory.scope.agent().map(ToString::to_string),
        team,
        member,
        face: memory.face.to_string(),
        kind: memory.kind.to_string(),
        native_kind: memory.native_kind.clone(),
        title: memory.title.clone(),
        body: memory.body.clone(),
        tags: memory.tags.clone(),
        topic_key: memory.topic_key.clone(),
        files: memory.files.clone(),
        confidence: memory.confidence,
        evidence_count: memory.evidence_count,
        reinforce_count: memory.reinforce_count,
        applied_count: memory.applied_count,
        confirmed_by: memory.confirmed_by.clone(),
        pinned: memory.pinned,
        status: memory.status.to_string(),
        superseded_by: memory.superseded_by.as_ref().map(ToString::to_string),
        verification: memory.verification.to_string(),
        source: source(&memory.source),
        contexts: quotes(memory),
        created_at: memory.created_at.to_string(),
        updated_at: memory.updated_at.to_string(),
        last_confirmed_at: memory.last_confirmed_at.to_string(),
        content_hash: memory.content_hash.clone(),
        file_ref: memory.file_ref.clone(),
    }
}

fn source(source: &Source) -> memory::Source {
    memory::Source {
        agent: source.agent.as_ref().map(|agent| agent.id.to_string()),
        harness: source
            .agent
            .as_ref()
            .map(|agent| agent.harness.clone())
            .filter(|harness| !harness.is_empty()),
        session: source.session.clone(),
        task: source.task.clone(),
        team: source.team.clone(),
        events: source.events.clone(),
    }
}

fn quotes(memory: &Memory) -> Vec<Quote> {
    memory
        .contexts
        .iter()
        .map(|context| Quote {
            snippet: context.snippet.clone(),
            conversation_id: context.conversation_id.clone(),
            message_id: context.message_id.clone(),
            origin: context.origin.clone(),
        })
        .collect()
}

pub(super) fn hit(hit: &Hit, explain: bool) -> recall::Hit {
    let record = memory(&hit.memory);
    recall::Hit {
        id: record.id,
        title: record.title,
        body: record.body,
        kind: record.kind,
        native_kind: record.native_kind,
        space: record.space,
        project: record.project,
        score: hit.score,
        confidence: record.confidence,
        created_at: record.created_at,
        source: record.source,
        snippet: hit.snippet.clone(),
        contexts: (!record.contexts.is_empty()).then_some(record.contexts),
        explain: explain.then(|| explained(&hit.explain)),
    }
}

fn explained(explain: &Explain) -> recall::Explain {
    recall::Explain {
        lexical_rank: explain.lexical_rank,
        lexical_score: explain.lexical_score,
        semantic_rank: explain.semantic_rank,
        semantic_score: explain.semantic_score,
        fused: explain.fused,
        kind_weight: explain.kind_weight,
        confidence_factor: explain.confidence_factor,
        age_factor: explain.age_factor,
    }
}

pub(super) fn text(told: &Rendered) -> recall::RecallText {
    recall::RecallText {
        text: told.text.clone(),
        tokens: told.tokens as u64,
        memories: told.memories.iter().map(ToString::to_string).collect(),
    }
}

fn tokens(tokens: Tokens) -> wire::Tokens {
    wire::Tokens { input: tokens.input, output: tokens.output }
}

pub(super) fn commit_summary(summary: &Summary) -> wire::CommitSummary {
    wire::CommitSummary {
        what: summary.what.clone(),
        decisions: summary.decisions.clone(),
        files_changed: summary.files_changed.clone(),
        unfinished: summary.unfinished.clone(),
        commits: summary.commits.clone(),
        tokens: tokens(summary.tokens),
    }
}

fn summary(summary: &Summary) -> wire::Summary {
    wire::Summary {
        what: summary.what.clone(),
        decisions: summary.decisions.clone(),
        files_changed: summary.files_changed.clone(),
        unfinished: summary.unfinished.clone(),
        commits: summary.commits.clone(),
        tokens: tokens(summary.tokens),
        request: summary.request.clone(),
        work_done: summary.work_done.clone(),
        outcome: summary.outcome.clone(),
        open_items: summary.open_items.clone(),
        goal: summary.goal.clone(),
        progress: summary.progress.clone(),
        next_steps: summary.next_steps.clone(),
    }
}

pub(super) fn session_item(session: &Session) -> wire::SessionItem {
    wire::SessionItem {
        session: session.key.session.clone(),
        project: session.project.as_ref().map(ToString::to_string),
        agent: agent(&session.agent),
        cwd: session.cwd.clone(),
        mode: session.mode.to_string(),
        kind: session.kind.to_string(),
        ended: session.ended.map(|end| end.to_string()),
        outcome: session.outcome.to_string(),
        started_at: session.started_at.to_string(),
        last_event_at: session.last_event_at.to_string(),
        events: session.event_count,
        rounds: session.rounds,
        summary: session.summary.as_ref().map(summary),
        extraction: None,
    }
}

pub(super) fn extraction(extraction: doze_engine::Extraction) -> wire::Extraction {
    wire::Extraction {
        state: extraction.state,
        reason: extraction.reason,
        extractor: extraction.extractor,
        memories: extraction.memories.iter().map(ToString::to_string).collect(),
    }
}

pub(super) fn session(session: &Session, extraction: wire::Extraction) -> wire::SessionRecord {
    let item = session_item(session);
    wire::SessionRecord {
        session: item.session,
        project: item.project,
        agent: item.agent,
        cwd: item.cwd,
        mode: item.mode,
        kind: item.kind,
        ended: item.ended,
        outcome: item.outcome,
        started_at: item.started_at,
        last_event_at: item.last_event_at,
        events: item.events,
        turns: session.turns,
        task: session.task.as_ref().map(task_ref),
        team: session.team.clone(),
        transcript: session.transcript.clone(),
        summary: item.summary,
        extraction,
    }
}

fn task_ref(task: &TaskRef) -> wire::Task {
    wire::Task {
        id: task.id.clone(),
        title: task.title.clone(),
        spec: task.spec.clone(),
        prompt: task.prompt.clone(),
    }
}

pub(super) fn event(event: &Event) -> wire::Event {
    wire::Event {
        id: Some(event.id.to_string()),
        at: event.at.map(|at| at.to_string()),
        kind: event.kind.to_string(),
        text: event.text.clone(),
        origin: Some(event.origin.to_string()),
        tool: event.tool.as_ref().map(|tool| wire::ToolCall {
            name: tool.name.clone(),
            // Inputs that are JSON go back as JSON, raw ones as the text they are.
            input: Json::of(&tool.input),
            output: tool.output.clone(),
            failed: tool.failed,
        }),
        path: event.path.clone(),
        cwd: event.cwd.clone(),
    }
}

pub(super) fn work(work: &WorkState) -> WorkRecord {
    WorkRecord {
        agent: agent(&work.agent),
        project: work.project.as_ref().map(ToString::to_string),
        session: work.session.clone(),
        status: work.status.to_string(),
        started_at: work.started_at.to_string(),
        updated_at: work.updated_at.to_string(),
        task_id: work.task_id.clone(),
        task_prompt: work.task_prompt.clone(),
        cwd: work.cwd.clone(),
        summary: work.summary.clone(),
        next_steps: work.next_steps.clone(),
        unfinished: work.unfinished.clone(),
        files_touched: work.files_touched.clone(),
        last_activity: work.last_activity.clone(),
        skipped: None,
    }
}

pub(super) fn task(task: &Task) -> TaskRecord {
    TaskRecord {
        id: task.id.clone(),
        project: task.project.clone(),
        title: task.title.clone(),
        spec: Some(task.spec.clone()).filter(|spec| !spec.is_empty()),
        status: task.status.to_string(),
        created_at: task.created_at.to_string(),
        updated_at: task.updated_at.to_string(),
    }
}

pub(super) fn project(card: &ProjectCard) -> project::ProjectRecord {
    project::ProjectRecord {
        id: card.project.id.to_string(),
        name: card.project.name.clone(),
        root: card.project.root.clone(),
        aliases: card.project.aliases.clone(),
        created_at: card.project.created_at.to_string(),
        ignored: card.project.ignored,
        memories: card.memories,
        sessions: card.sessions,
    }
}

pub(super) fn dream(dream: &Dream) -> dream::DreamRecord {
    dream::DreamRecord {
        id: dream.id.to_string(),
        mode: dream.mode.to_string(),
        dry_run: dream.dry_run,
        started_at: dream.started_at.to_string(),
        ended_at: dream.ended_at.to_string(),
        result: dream.result.to_string(),
        reason: dream.reason.clone(),
        sessions: dream
            .sessions
            .iter()
            .map(|session| dream::DreamSession {
                session: session.session.clone(),
                project: session.project.as_ref().map(ToString::to_string),
                outcome: session.outcome.to_string(),
                reason: session.reason.clone(),
            })
            .collect(),
        changes: dream.changes.iter().map(dream_change).collect(),
        left_alone: dream
            .left_alone
            .iter()
            .map(|left| dream::LeftAlone {
                title: left.title.clone(),
                project: left.project.as_ref().map(ToString::to_string),
                reason: left.reason.clone(),
            })
            .collect(),
        undone_at: dream.undone_at.map(|at| at.to_string()),
        left: undo_left(&dream.undo_left),
    }
}

pub(super) fn undo_left(left: &[UndoLeft]) -> Vec<dream::UndoLeft> {
    let one = |left: &UndoLeft| dream::UndoLeft {
        id: left.id.to_string(),
        title: left.title.clone(),
        because: left.because.clone(),
    };
    left.iter().map(one).collect()
}

fn dream_change(change: &DreamChange) -> dream::DreamChange {
    dream::DreamChange {
        op: change.op.to_string(),
        memory: change.after.id.to_string(),
        before: change.before.as_ref().map(memory),
        after: Some(memory(&change.after)),
        because: change.because.clone(),
        evidence: change.evidence.clone(),
    }
}

pub(super) fn dream_item(dream: &Dream) -> dream::DreamItem {
    dream::DreamItem {
        id: dream.id.to_string(),
        mode: dream.mode.to_string(),
        dry_run: dream.dry_run,
        started_at: dream.started_at.to_string(),
        ended_at: dream.ended_at.to_string(),
        result: dream.result.to_string(),
        reason: dream.reason.clone(),
        sessions: dream.sessions.iter().filter(|session| session.outcome.is_read()).count() as u64,
        changes: dream.steps() as u64,
        undone_at: dream.undone_at.map(|at| at.to_string()),
    }
}
