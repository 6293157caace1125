//! Any bytes as a session file: a report or an error, never a panic; every kept text is bounded, and a file that is read while it
//! grows gives every event that reading it whole gives.
#![no_main]

use std::collections::HashSet;
use std::io::Cursor as Bytes;

use doze_core::model::Event;
use doze_transcript::{Limits, Report, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let limits = Limits { record: 8 << 10, text: 512, input: 256, output: 256 };
    let mut whole = Vec::new();
    let Ok(mut report) = read(Bytes::new(file), None, &limits, &mut |event| whole.push(event)) else {
        return;
    };
    whole.extend(report.cursor.release_answer());
    for event in &whole {
        bounded(event, &limits);
    }
    // The first half at a line's end, as a file looks in the middle of a session; then all of it.
    let middle = file.len() / 2;
    let Some(cut) = file[..middle].iter().rposition(|byte| *byte == b'\n').map(|at| at + 1) else { return };
    let mut grown = Vec::new();
    let Ok(first) = read(Bytes::new(&file[..cut]), None, &limits, &mut |event| grown.push(event)) else {
        return;
    };
    if first.format != report.format {
        return;
    }
    let second = read(Bytes::new(file), Some(first.cursor), &limits, &mut |event| grown.push(event));
    let Ok(Report { mut cursor, restarted, .. }) = second else { panic!("the grown file is refused") };
    grown.extend(cursor.release_answer());
    if !restarted {
        // Copies are dropped within one read only, so the grown file may tell an event twice; it may not lose one.
        let told: HashSet<_> = grown.iter().map(|event| event.id.as_str()).collect();
        for event in &whole {
            assert!(told.contains(event.id.as_str()), "{} is lost when the file grows", event.id);
        }
    }
});

/// Twice the limit leaves room for the mark between head and tail.
fn bounded(event: &Event, limits: &Limits) {
    assert!(event.text.len() <= 2 * limits.text, "a text of {} bytes", event.text.len());
    if let Some(tool) = &event.tool {
        assert!(tool.input.len() <= 2 * limits.input, "an input of {} bytes", tool.input.len());
        assert!(tool.output.len() <= 2 * limits.output, "an output of {} bytes", tool.output.len());
    }
}
