//! The name of a commit, made from its content.

use std::os::unix::fs::MetadataExt;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The `commit_id` of these parameters when the caller gave none: a hash of everything in them but `commit_id`, and of
/// the size and the time of the session file they name, since that file is content too: a session that has gone on is
/// another commit. JSON objects are kept sorted by key, so the order of fields does not matter.
pub fn commit_id(params: &Value) -> String {
    let mut hash = Sha256::new();
    match params {
        Value::Object(fields) => {
            for (name, value) in
                fields.iter().filter(|(name, value)| *name != "commit_id" && !value.is_null())
            {
                hash.update(name.as_bytes());
                hash.update(b"\0");
                hash.update(value.to_string().as_bytes());
                hash.update(b"\0");
            }
        }
        other => hash.update(other.to_string().as_bytes()),
    }
    let transcript = params.pointer("/transcript/path").and_then(Value::as_str);
    if let Some(meta) = transcript.and_then(|path| std::fs::metadata(path).ok()) {
        hash.update(meta.size().to_be_bytes());
        hash.update(meta.mtime().to_be_bytes());
        hash.update(meta.mtime_nsec().to_be_bytes());
    }
    format!("c-{}", &doze_core::model::hex(&hash.finalize())[..32])
}

/// Gives the parameters a `commit_id` unless they have one. Done before the first attempt, so that a commit that was
/// taken in without its answer arriving, and is spooled then, is not taken in twice.
pub fn ensure_commit_id(params: &mut Value) -> String {
    if let Some(id) = params.get("commit_id").and_then(Value::as_str) {
        return id.to_owned();
    }
    let id = commit_id(params);
    if let Value::Object(fields) = params {
        fields.insert("commit_id".to_owned(), Value::String(id.clone()));
    }
    id
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_follows_the_content_and_nothing_else() {
        let a =
            json!({"session": "s", "agent": "a", "cwd": "/x", "events": [{"type": "prompt", "text": "hi"}]});
        let mut b: Value = serde_json::from_str(
            r#"{"events":[{"text":"hi","type":"prompt"}],"cwd":"/x","agent":"a","session":"s","summary":null}"#,
        )
        .unwrap();
        assert_eq!(commit_id(&a), commit_id(&b));
        let id = ensure_commit_id(&mut b);
        assert_eq!(b["commit_id"], json!(id));
        assert_eq!(commit_id(&b), id, "the id is not part of what it names");
        assert_eq!(ensure_commit_id(&mut b), id);
        b["cwd"] = json!("/y");
        assert_ne!(commit_id(&b), id);
        assert_eq!(ensure_commit_id(&mut json!({"commit_id": "mine"})), "mine");
    }

    #[test]
    fn a_session_file_that_grew_is_another_commit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, "one\n").unwrap();
        let params = json!({"session": "s", "agent": "a", "cwd": "/x", "transcript": {"path": path}});
        let before = commit_id(&params);
        assert_eq!(commit_id(&params), before);
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_ne!(commit_id(&params), before);
    }
}
