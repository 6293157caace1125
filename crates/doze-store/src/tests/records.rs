//! Records for tests: some by hand, any by proptest.

use doze_core::model::{
    AgentId, AgentRef, Context, Dream, DreamChange, DreamId, DreamOp, DreamResult, DreamedSession, Event,
    EventKind, Face, Kind, LeftAlone, Memory, MemoryId, Mode, Origin, Outcome, OwnerId, Project, ProjectId,
    Scope, Session, SessionEnd, SessionKey, SessionKind, SessionOutcome, Source, Status, Summary, TaskRef,
    Tokens, ToolUse, UndoLeft, Verification, WorkState, WorkStatus, content_hash,
};
use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::me;

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn agent(id: &str) -> AgentRef {
    AgentRef { id: id.into(), name: id.into(), harness: "codex".into() }
}

pub(super) fn memory(id: &str, scope: Scope, body: &str) -> Memory {
    Memory {
        id: id.into(),
        owner: me(),
        scope,
        face: Face::Project,
        kind: Kind::Lesson,
        native_kind: None,
        title: "a title".into(),
        body: body.into(),
        tags: Vec::new(),
        topic_key: None,
        files: Vec::new(),
        confidence: 0.7,
        evidence_count: 1,
        reinforce_count: 0,
        applied_count: 0,
        confirmed_by: Vec::new(),
        pinned: false,
        status: Status::Active,
        superseded_by: None,
        verification: Verification::Rule,
        source: Source::default(),
        contexts: Vec::new(),
        created_at: at(1),
        updated_at: at(2),
        last_confirmed_at: at(3),
        content_hash: content_hash("lesson", "a title", body),
        file_ref: None,
    }
}

pub(super) fn session(name: &str, last_event: i64) -> Session {
    Session {
        key: SessionKey::new(name, "codex"),
        owner: me(),
        project: Some("p".into()),
        agent: agent("codex"),
        cwd: "/home/dev/app".into(),
        mode: Mode::Code,
        kind: SessionKind::Interactive,
        ended: None,
        outcome: Outcome::Success,
        started_at: at(0),
        last_event_at: at(last_event),
        heard_at: at(last_event),
        event_count: 0,
        rounds: 0,
        turns: 0,
        summary: None,
        task: None,
        team: None,
        transcript: None,
    }
}

pub(super) fn event(id: &str, text: &str) -> Event {
    Event::new(id, EventKind::Prompt, Origin::Person, text)
}

pub(super) fn project(id: &str, aliases: &[&str]) -> Project {
    Project {
        id: id.into(),
        owner: me(),
        name: id.into(),
        root: format!("/home/dev/{id}"),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
        created_at: at(5),
        ignored: false,
    }
}

pub(super) fn work(agent_id: &str, project: Option<&str>, session: Option<&str>) -> WorkState {
    WorkState {
        owner: me(),
        agent: agent(agent_id),
        project: project.map(ProjectId::from),
        session: session.map(str::to_owned),
        started_at: at(1),
        updated_at: at(2),
        status: WorkStatus::Running,
        task_id: None,
        task_prompt: None,
        cwd: None,
        summary: "half way".into(),
        next_steps: Vec::new(),
        unfinished: Vec::new(),
        files_touched: Vec::new(),
        last_activity: None,
    }
}

/// Any text, control characters and other scripts included.
pub(super) fn text() -> BoxedStrategy<String> {
    vec(any::<char>(), 0..12).prop_map(|chars| chars.into_iter().collect()).boxed()
}

/// A name: not empty, no NUL.
pub(super) fn name() -> BoxedStrategy<String> {
    vec(any::<char>().prop_filter("no NUL", |c| *c != '\0'), 1..8)
        .prop_map(|chars| chars.into_iter().collect())
        .boxed()
}

fn time() -> BoxedStrategy<Timestamp> {
    (-60_000_000_000i64..250_000_000_000, 0..1_000_000_000i32)
        .prop_map(|(second, nano)| Timestamp::new(second, nano).unwrap())
        .boxed()
}

fn texts() -> BoxedStrategy<Vec<String>> {
    vec(text(), 0..3).boxed()
}

fn any_agent() -> BoxedStrategy<AgentRef> {
    (name(), text(), name())
        .prop_map(|(id, name, harness)| AgentRef { id: AgentId::new(id), name, harness })
        .boxed()
}

pub(super) fn any_scope() -> BoxedStrategy<Scope> {
    prop_oneof![
        Just(Scope::User),
        Just(Scope::Bank),
        name().prop_map(|project| Scope::Project(project.into())),
        (of(name()), name()).prop_map(|(project, agent)| Scope::Agent {
            project: project.map(ProjectId::from),
            agent: agent.into()
        }),
        name().prop_map(Scope::Team),
        (name(), name()).prop_map(|(team, member)| Scope::Member { team, member }),
    ]
    .boxed()
}

pub(super) fn any_memory() -> BoxedStrategy<Memory> {
    let words = (select(Face::ALL), select(Kind::ALL), select(Status::ALL), select(Verification::ALL));
    let texts_of = (of(text()), text(), text(), texts(), of(name()), texts(), texts(), of(text()));
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<bool>(), 0.0..1.0f64);
    let source = (of(any_agent()), of(text()), of(text()), of(text()), texts())
        .prop_map(|(agent, session, task, team, events)| Source { agent, session, task, team, events });
    let context = (text(), of(text()), of(text()), of(text())).prop_map(
        |(snippet, conversation_id, message_id, origin)| Context {
            snippet,
            conversation_id,
            message_id,
            origin,
        },
    );
    let times = (time(), time(), time());
    (name(), any_scope(), words, texts_of, numbers, source, vec(context, 0..3), times, of(name()))
        .prop_map(|(id, scope, words, texts, numbers, source, contexts, times, superseded_by)| Memory {
            id: MemoryId::new(id),
            owner: me(),
            scope,
            face: words.0,
            kind: words.1,
            native_kind: texts.0,
            content_hash: content_hash(words.1.as_str(), &texts.1, &texts.2),
            title: texts.1,
            body: texts.2,
            tags: texts.3,
            topic_key: texts.4,
            files: texts.5,
            confidence: numbers.4,
            evidence_count: numbers.0,
            reinforce_count: numbers.1,
            applied_count: numbers.2,
            confirmed_by: texts.6,
            pinned: numbers.3,
            status: words.2,
            superseded_by: superseded_by.map(MemoryId::from),
            verification: words.3,
            source,
            contexts,
            created_at: times.0,
            updated_at: times.1,
            last_confirmed_at: times.2,
            file_ref: texts.7,
        })
        .boxed()
}

pub(super) fn any_event() -> BoxedStrategy<Event> {
    let tool = (text(), text(), text(), any::<bool>()).prop_map(|(name, input, output, failed)| ToolUse {
        name,
        input,
        output,
        failed,
    });
    (
        name(),
        of(time()),
        select(EventKind::ALL),
        select(Origin::ALL),
        text(),
        of(tool),
        of(text()),
        of(text()),
    )
        .prop_map(|(id, at, kind, origin, text, tool, path, cwd)| Event {
            id: id.into(),
            at,
            kind,
            origin,
            text,
            tool,
            path,
            cwd,
        })
        .boxed()
}

fn any_summary() -> BoxedStrategy<Summary> {
    let lists = (texts(), texts(), texts(), texts(), texts(), texts());
    let lines = (text(), text(), text(), text(), text(), text());
    (lists, lines, any::<u64>(), any::<u64>())
        .prop_map(|(lists, lines, input, output)| Summary {
            what: lines.0,
            decisions: lists.0,
            files_changed: lists.1,
            unfinished: lists.2,
            commits: lists.3,
            tokens: Tokens { input, output },
            request: lines.1,
            work_done: lines.2,
            outcome: lines.3,
            open_items: lists.4,
            goal: lines.4,
            progress: lines.5,
            next_steps: lists.5,
        })
        .boxed()
}

pub(super) fn any_session() -> BoxedStrategy<Session> {
    let task = (text(), text(), text(), text()).prop_map(|(id, title, spec, prompt)| TaskRef {
        id,
        title,
        spec,
        prompt,
    });
    let words =
        (select(Mode::ALL), select(SessionKind::ALL), of(select(SessionEnd::ALL)), select(Outcome::ALL));
    let who = (name(), name(), of(name()), any_agent(), text());
    let numbers = (any::<u64>(), any::<u64>(), any::<u64>());
    (who, words, (time(), time(), time()), numbers, of(any_summary()), of(task), of(text()), of(text()))
        .prop_map(|(who, words, times, numbers, summary, task, team, transcript)| Session {
            key: SessionKey::new(who.0, who.1),
            owner: me(),
            project: who.2.map(ProjectId::from),
            agent: who.3,
            cwd: who.4,
            mode: words.0,
            kind: words.1,
            ended: words.2,
            outcome: words.3,
            started_at: times.0,
            last_event_at: times.1,
            heard_at: times.2,
            event_count: numbers.0,
            rounds: numbers.1,
            turns: numbers.2,
            summary,
            task,
            team,
            transcript,
        })
        .boxed()
}

pub(super) fn any_work() -> BoxedStrategy<WorkState> {
    let texts_of = (of(text()), of(text()), of(text()), text(), of(text()));
    let lists = (texts(), texts(), texts());
    (any_agent(), of(name()), of(name()), (time(), time()), select(WorkStatus::ALL), texts_of, lists)
        .prop_map(|(agent, project, session, times, status, texts, lists)| WorkState {
            owner: me(),
            agent,
            project: project.map(ProjectId::from),
            session,
            started_at: times.0,
            updated_at: times.1,
            status,
            task_id: texts.0,
            task_prompt: texts.1,
            cwd: texts.2,
            summary: texts.3,
            next_steps: lists.0,
            unfinished: lists.1,
            files_touched: lists.2,
            last_activity: texts.4,
        })
        .boxed()
}

pub(super) fn any_project() -> BoxedStrategy<Project> {
    (name(), text(), text(), vec(name(), 0..3), time(), any::<bool>())
        .prop_map(|(id, name, root, aliases, created_at, ignored)| Project {
            id: id.into(),
            owner: me(),
            name,
            root,
            aliases,
            created_at,
            ignored,
        })
        .boxed()
}

pub(super) fn any_dream() -> BoxedStrategy<Dream> {
    let change = (select(DreamOp::ALL), of(any_memory()), any_memory(), text(), texts()).prop_map(
        |(op, before, after, because, evidence)| DreamChange { op, before, after, because, evidence },
    );
    let session = (text(), of(name()), select(SessionOutcome::ALL), text()).prop_map(
        |(session, project, outcome, reason)| DreamedSession {
            session,
            project: project.map(ProjectId::from),
            outcome,
            reason,
        },
    );
    let left = (name(), text(), text(), any::<bool>()).prop_map(|(id, title, because, is_final)| UndoLeft {
        id: MemoryId::new(id),
        title,
        because,
        is_final,
    });
    let alone = (text(), of(name()), text()).prop_map(|(title, project, reason)| LeftAlone {
        title,
        project: project.map(ProjectId::from),
        reason,
    });
    let words = (select(Mode::ALL), any::<bool>(), select(DreamResult::ALL));
    let lists = (vec(session, 0..3), vec(change, 0..3), vec(left, 0..3), vec(alone, 0..3));
    (name(), words, (time(), time(), of(time())), text(), lists)
        .prop_map(|(id, words, times, reason, (sessions, changes, undo_left, left_alone))| Dream {
            id: DreamId::new(id),
            owner: OwnerId::clone(&me()),
            mode: words.0,
            dry_run: words.1,
            started_at: times.0,
            ended_at: times.1,
            result: words.2,
            reason,
            sessions,
            changes,
            undone_at: times.2,
            undo_left,
            left_alone,
        })
        .boxed()
}
