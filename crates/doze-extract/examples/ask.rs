//! Asks an OpenAI-compatible server about the digest on stdin and fails unless the answer can be read. `just test-model`
//! runs it against a real one.

use std::io::Read;
use std::time::{Duration, Instant};

use doze_extract::{Api, Endpoint, Extractor, Subject, Wish, prompt, reply};

/// A small machine with a small model may take long.
const TIMEOUT: Duration = Duration::from_secs(600);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("say where the server is, as http://127.0.0.1:8080/v1")?;
    let mut digest = String::new();
    std::io::stdin().read_to_string(&mut digest)?;
    let model = std::env::args().nth(2).unwrap_or_default();
    let extractor = Extractor::Http(Endpoint { url, api: Api::OpenAi, model, key: None });
    let start = Instant::now();
    let wish = Wish { gave_up: &|| false, again: &|| true };
    let answer =
        extractor.ask(&prompt(Subject { title: "CI hangs", spec: None }, &digest), TIMEOUT, &wish)?;
    println!("answered in {:?}, {} tokens:\n{}\n", start.elapsed(), answer.tokens, answer.text.trim());
    let reply = reply::parse(&answer.text)?;
    println!("read as: {reply:#?}");
    Ok(())
}
