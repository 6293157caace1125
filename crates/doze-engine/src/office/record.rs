//! Records of the original office program: what they say, and how ours are written so that it reads them.

use std::collections::BTreeMap;

use doze_core::model::{
    AgentRef, Kind, Memory, Session, SessionKey, Summary, Tokens, WorkState, WorkStatus, hex,
};
use doze_core::office::{AXES, MAX_SUMMARY, MAX_TECH, ProjectRecord, RATINGS, ReviewPattern};
use doze_core::promote::text_of;
use doze_core::text;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub(super) type Object = Map<String, Value>;

/// What an entry of a foreign file said beyond what our record of it would be written as, so that writing the file
/// again loses nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Foreign {
    /// Its place in its list.
    pub(super) at: usize,
    /// Field → what ours was then, and what stood there; each an empty list for a field that is not there.
    rest: BTreeMap<String, (Vec<Value>, Vec<Value>)>,
}

impl Foreign {
    pub(super) fn of(at: usize, given: &Object, ours: &Object) -> Self {
        let one =
            |object: &Object, field: &str| -> Vec<Value> { object.get(field).cloned().into_iter().collect() };
        let fields = given.keys().chain(ours.keys());
        let rest = fields
            .filter(|field| given.get(*field) != ours.get(*field))
            .map(|field| (field.clone(), (one(ours, field), one(given, field))))
            .collect();
        Self { at, rest }
    }

    /// Puts back what stood there, where nothing of ours has changed since.
    pub(super) fn restore(&self, ours: &mut Object) {
        for (field, (then, given)) in &self.rest {
            if ours.get(field) != then.first() {
                continue;
            }
            match given.first() {
                Some(value) => ours.insert(field.clone(), value.clone()),
                None => ours.remove(field),
            };
        }
    }

    pub(super) fn from_bytes(bytes: Option<Vec<u8>>) -> Option<Self> {
        serde_json::from_slice(&bytes?).ok()
    }
}

/// Reads the fields of an object and notes what has another form than it should.
pub(super) struct Fields<'a> {
    object: &'a Object,
    /// Nothing happened after this time.
    now: Timestamp,
    /// Some time lay ahead of that.
    pub(super) is_ahead: bool,
    pub(super) notes: Vec<String>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(object: &'a Object, now: Timestamp) -> Self {
        Self { object, now, is_ahead: false, notes: Vec::new() }
    }

    fn given(&self, field: &str) -> Option<&'a Value> {
        self.object.get(field).filter(|value| !value.is_null())
    }

    fn note<T>(&mut self, field: &str, wanted: &str) -> Option<T> {
        self.notes.push(format!("{field} is no {wanted}"));
        None
    }

    pub(super) fn text(&mut self, field: &str) -> Option<String> {
        match self.given(field)? {
            Value::String(text) => Some(text.clone()).filter(|text| !text.trim().is_empty()),
            _ => self.note(field, "text"),
        }
    }

    pub(super) fn texts(&mut self, field: &str) -> Vec<String> {
        let Some(value) = self.given(field) else { return Vec::new() };
        let Value::Array(list) = value else { return self.note(field, "list").unwrap_or_default() };
        let texts: Vec<String> = list.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if texts.len() < list.len() {
            self.notes.push(format!("{field} holds what is no text"));
        }
        texts
    }

    pub(super) fn count(&mut self, field: &str) -> Option<u64> {
        let number = self.given(field)?;
        number.as_u64().or_else(|| self.note(field, "count"))
    }

    /// A time as the program writes it: text, or milliseconds since 1970. One that lies ahead was told by a wrong clock and
    /// counts as of now: the newest comes first everywhere, and it would stay that for years.
    pub(super) fn time(&mut self, field: &str) -> Option<Timestamp> {
        let time = match self.given(field)? {
            Value::String(text) => text.parse().ok(),
            Value::Number(ms) => ms.as_f64().and_then(|ms| Timestamp::from_millisecond(ms as i64).ok()),
            _ => None,
        };
        let time = time.or_else(|| self.note(field, "time"))?;
        if time > self.now {
            self.is_ahead = true;
            self.notes.push(format!("{field} lies ahead of the clock and counts as of now"));
        }
        Some(time.min(self.now))
    }

    fn flag(&mut self, field: &str) -> Option<bool> {
        let value = self.given(field)?;
        value.as_bool().or_else(|| self.note(field, "true or false"))
    }

    fn object(&mut self, field: &str) -> Option<&'a Object> {
        let value = self.given(field)?;
        value.as_object().or_else(|| self.note(field, "object"))
    }
}

/// A fact as a file tells it.
pub(super) struct GivenFact {
    pub(super) category: Option<String>,
    pub(super) fact: String,
    pub(super) reinforce_count: u32,
    pub(super) created_at: Timestamp,
    pub(super) last_seen: Timestamp,
    pub(super) source: Option<String>,
    pub(super) confirmed_by: Vec<String>,
}

/// An agent's fact or a shared one; `None` without its text.
pub(super) fn fact(fields: &mut Fields<'_>) -> Option<GivenFact> {
    let now = fields.now;
    let created_at = fields.time("createdAt");
    let last_seen = fields.time("lastSeen").or(created_at).unwrap_or(now);
    Some(GivenFact {
        category: fields.text("category"),
        fact: fields.text("fact")?,
        reinforce_count: fields.count("reinforceCount").and_then(|count| count.try_into().ok()).unwrap_or(1),
        created_at: created_at.unwrap_or(last_seen),
        last_seen,
        source: fields.text("source"),
        confirmed_by: fields.texts("confirmedBy"),
    })
}

/// The kind of a fact with this label (S0.25).
pub(super) fn kind_of(category: Option<&str>) -> Kind {
    match category {
        Some("user_preference") => Kind::Preference,
        Some("codebase_pattern" | "workflow_habit") => Kind::Convention,
        Some("lesson_learned") => Kind::Lesson,
        _ => Kind::Fact,
    }
}

fn category_of(memory: &Memory) -> &'static str {
    match (memory.native_kind.as_deref(), memory.kind) {
        (Some("user_preference"), _) | (None, Kind::Preference | Kind::Profile) => "user_preference",
        (Some("workflow_habit"), _) | (None, Kind::Command) => "workflow_habit",
        (Some("codebase_pattern"), _) | (None, Kind::Convention | Kind::Decision | Kind::Spec) => {
            "codebase_pattern"
        }
        _ => "lesson_learned",
    }
}

/// The id that the program gives a fact: the beginning of the hash of its letters and digits.
fn fact_id(fact: &str) -> String {
    let lower = fact.to_lowercase();
    let ascii: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    // A text of another script has no such letters, and all of those would be one.
    let letters =
        if ascii.is_empty() { lower.chars().filter(|c| c.is_alphanumeric()).collect() } else { ascii };
    hex(&Sha256::digest(letters.as_bytes())[..6])
}

pub(super) fn write_fact(memory: &Memory) -> Object {
    object(json!({
        "id": fact_id(text_of(memory)),
        "category": category_of(memory),
        "fact": text_of(memory),
        "reinforceCount": memory.reinforce_count,
        "createdAt": iso(memory.created_at),
        "lastSeen": iso(memory.last_confirmed_at),
    }))
}

pub(super) fn write_shared(memory: &Memory) -> Object {
    let source = memory.source.agent.as_ref().map_or("", |agent| agent.id.as_str());
    object(json!({
        "id": fact_id(text_of(memory)),
        "fact": text_of(memory),
        "source": source,
        "confirmedBy": memory.confirmed_by,
        "createdAt": iso(memory.created_at),
    }))
}

/// A summary with its time; `None` without both a text and a list that says something.
pub(super) fn summary(fields: &mut Fields<'_>) -> Option<(Option<Timestamp>, Summary)> {
    let at = fields.time("timestamp");
    let tokens = fields.object("tokens").map(|tokens| {
        let mut inner = Fields::of(tokens, fields.now);
        let tokens = Tokens {
            input: inner.count("input").unwrap_or_default(),
            output: inner.count("output").unwrap_or_default(),
        };
        (tokens, inner.notes)
    });
    let (tokens, notes) = tokens.unwrap_or_default();
    fields.notes.extend(notes.into_iter().map(|note| format!("tokens.{note}")));
    let summary = Summary {
        what: fields.text("what").unwrap_or_default(),
        decisions: fields.texts("decisions"),
        files_changed: fields.texts("filesChanged"),
        unfinished: fields.texts("unfinished"),
        commits: fields.texts("commits"),
        tokens,
        ..Summary::default()
    };
    let says = !summary.what.is_empty()
        || [&summary.decisions, &summary.files_changed, &summary.unfinished, &summary.commits]
            .iter()
            .any(|list| !list.is_empty());
    says.then_some((at, summary))
}

pub(super) fn write_summary(session: &Session, summary: &Summary) -> Object {
    object(json!({
        "timestamp": iso(session.last_event_at),
        "what": summary.what,
        "decisions": summary.decisions,
        "filesChanged": summary.files_changed,
        "unfinished": summary.unfinished,
        "commits": summary.commits,
        "tokens": {"input": summary.tokens.input, "output": summary.tokens.output},
    }))
}

/// The name of a session that a file tells of: the same entry has always the same one.
pub(super) fn session_key(agent: &AgentRef, written: &Object) -> SessionKey {
    let mut hash = Sha256::new();
    hash.update(agent.id.as_str());
    hash.update(b"\0");
    hash.update(Value::Object(written.clone()).to_string());
    SessionKey::new(format!("office-{}", hex(&hash.finalize()[..12])), "")
}

/// The parts of a work state, into one whose names and place are given.
pub(super) fn work(fields: &mut Fields<'_>, empty: WorkState) -> WorkState {
    let now = fields.now;
    let updated = fields.time("updatedAt");
    let started = fields.time("startedAt");
    let status = match fields.text("status") {
        None => WorkStatus::Running,
        Some(word) => word.parse().unwrap_or_else(|_| {
            fields.notes.push(format!("status {word} is none that is known and counts as interrupted"));
            WorkStatus::Interrupted
        }),
    };
    WorkState {
        started_at: started.or(updated).unwrap_or(now),
        updated_at: updated.or(started).unwrap_or(now),
        status,
        task_id: fields.text("taskId"),
        task_prompt: fields.text("taskPrompt"),
        cwd: fields.text("cwd"),
        summary: fields.text("summary").unwrap_or_default(),
        next_steps: fields.texts("nextSteps"),
        unfinished: fields.texts("unfinished"),
        files_touched: fields.texts("filesTouched"),
        last_activity: fields.text("lastActivity"),
        ..empty
    }
}

pub(super) fn write_work(work: &WorkState) -> Object {
    let mut written = object(json!({
        "startedAt": iso(work.started_at),
        "updatedAt": iso(work.updated_at),
        "status": work.status.as_str(),
        "summary": work.summary,
        "nextSteps": work.next_steps,
        "unfinished": work.unfinished,
        "filesTouched": work.files_touched,
    }));
    let optional = [
        ("taskId", &work.task_id),
        ("taskPrompt", &work.task_prompt),
        ("cwd", &work.cwd),
        ("lastActivity", &work.last_activity),
    ];
    for (field, text) in optional {
        if let Some(text) = text {
            written.insert(field.to_owned(), json!(text));
        }
    }
    written
}

pub(super) fn pattern(fields: &mut Fields<'_>) -> Option<ReviewPattern> {
    Some(ReviewPattern {
        pattern: fields.text("pattern")?,
        count: fields.count("count").and_then(|count| count.try_into().ok()).unwrap_or(1),
        last_seen: fields.time("lastSeen").unwrap_or(fields.now),
    })
}

pub(super) fn write_pattern(known: &ReviewPattern) -> Object {
    object(json!({
        "pattern": known.pattern,
        "count": known.count,
        "lastSeen": known.last_seen.as_millisecond(),
    }))
}

/// Another program may rate by other axes; what is told to agents is a word.
fn is_axis(name: &str) -> bool {
    (1..=MAX_AXIS).contains(&name.len())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// Bytes of an axis' name.
const MAX_AXIS: usize = 40;

pub(super) fn project(fields: &mut Fields<'_>) -> Option<ProjectRecord> {
    let given = fields.object("ratings").cloned().unwrap_or_default();
    let mut ratings: Vec<(String, f64)> = Vec::new();
    for (axis, rating) in given {
        match rating.as_f64() {
            _ if !is_axis(&axis) => fields.notes.push("ratings: the name of an axis is no word".to_owned()),
            Some(rating) if RATINGS.contains(&rating) => ratings.push((axis, rating)),
            Some(_) => fields.notes.push(format!("ratings.{axis} is outside 1 to 5")),
            None => fields.notes.push(format!("ratings.{axis} is no number")),
        }
    }
    // The document's axes come first, in its order; another program may have more.
    ratings.sort_by_key(|(axis, _)| {
        (AXES.iter().position(|known| known == axis).unwrap_or(AXES.len()), axis.clone())
    });
    Some(ProjectRecord {
        summary: text::cut(&fields.text("summary")?, MAX_SUMMARY).to_owned(),
        tech: text::cut(&fields.text("tech").unwrap_or_default(), MAX_TECH).to_owned(),
        completed_at: fields.time("completedAt").unwrap_or(fields.now),
        review_passed: fields.flag("reviewPassed").unwrap_or_default(),
        ratings,
    })
}

pub(super) fn write_project(known: &ProjectRecord) -> Object {
    let mut written = object(json!({
        "summary": known.summary,
        "tech": known.tech,
        "completedAt": known.completed_at.as_millisecond(),
        "reviewPassed": known.review_passed,
    }));
    if !known.ratings.is_empty() {
        // A whole number is written as one, as it was given.
        let number = |rating: f64| {
            if rating.fract() == 0.0 { json!(rating as i64) } else { json!(rating) }
        };
        let ratings: Object = known.ratings.iter().map(|(axis, n)| (axis.clone(), number(*n))).collect();
        written.insert("ratings".to_owned(), Value::Object(ratings));
    }
    written
}

pub(super) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// A time as JavaScript writes it.
fn iso(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_originals_and_no_two_of_another_script_are_one() {
        assert_eq!(fact_id("User prefers solid!"), fact_id("user PREFERS-solid"));
        assert_eq!(fact_id("User prefers solid").len(), 12);
        assert_ne!(fact_id("数据库端口是五四三三"), fact_id("服务器端口是五四三四"));
    }

    #[test]
    fn what_a_foreign_entry_said_more_is_put_back_until_ours_changes() {
        let given = object(json!({"id": "x1", "fact": "a", "mood": null, "n": 1}));
        let ours = object(json!({"id": "hash", "fact": "a", "n": 1, "extra": true}));
        let foreign = Foreign::of(3, &given, &ours);
        let bytes = serde_json::to_vec(&foreign).unwrap();
        assert_eq!(Foreign::from_bytes(Some(bytes)), Some(foreign.clone()));
        let mut again = ours.clone();
        foreign.restore(&mut again);
        assert_eq!(again, given);
        let mut changed = ours.clone();
        changed.insert("id".to_owned(), json!("other"));
        foreign.restore(&mut changed);
        assert_eq!((&changed["id"], changed.get("extra")), (&json!("other"), None));
    }

    #[test]
    fn a_field_of_another_form_is_noted_and_the_rest_is_read() {
        let given = object(json!({"fact": "x", "reinforceCount": "two", "createdAt": "once", "lastSeen": 0}));
        let mut fields = Fields::of(&given, Timestamp::MAX);
        let read = fact(&mut fields).unwrap();
        assert_eq!((read.reinforce_count, read.created_at), (1, Timestamp::UNIX_EPOCH));
        assert_eq!(fields.notes, ["createdAt is no time", "reinforceCount is no count"]);
    }

    #[test]
    fn a_time_that_lies_ahead_counts_as_of_now_and_is_told() {
        let now = Timestamp::UNIX_EPOCH;
        let given = object(
            json!({"fact": "x", "createdAt": "1969-01-01T00:00:00Z", "lastSeen": "2031-01-01T00:00:00Z"}),
        );
        let mut fields = Fields::of(&given, now);
        let read = fact(&mut fields).unwrap();
        assert!(read.created_at < now && read.last_seen == now && fields.is_ahead);
        assert_eq!(fields.notes, ["lastSeen lies ahead of the clock and counts as of now"]);
    }
}
