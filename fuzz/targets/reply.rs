//! Any text as the reply of a model: what is read is within its bounds, and reading it takes no longer than its length allows.
#![no_main]

use doze_extract::reply::{self, BODY_CHARS, MAX_FILES, MAX_MEMORIES, TITLE_CHARS, TOPIC_CHARS};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(reply) = reply::parse(&String::from_utf8_lossy(bytes)) else { return };
    assert!(reply.memories.len() <= MAX_MEMORIES);
    for memory in &reply.memories {
        assert!(!memory.title.trim().is_empty() && !memory.title.contains('\n'), "{memory:?}");
        assert!(memory.title.chars().count() <= TITLE_CHARS, "{memory:?}");
        assert!(!memory.body.trim().is_empty() && memory.body.chars().count() <= BODY_CHARS, "{memory:?}");
        assert!(memory.topic_key.as_ref().is_none_or(|key| key.chars().count() <= TOPIC_CHARS), "{memory:?}");
        assert!(memory.files.len() <= MAX_FILES && (0.1..=1.0).contains(&memory.confidence), "{memory:?}");
    }
});
