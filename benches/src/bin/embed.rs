//! How many texts a second the built-in model embeds, beside ONNX Runtime from Python with the same file, on one thread and on as
//! many as it likes. `embed PYTHON` names a Python that has `onnxruntime`, `tokenizers` and `numpy`.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use doze_benches::within;
use doze_search::{Embedder, RtenEmbedder};
use serde::Deserialize;

/// Words of each text, and how many texts of that length.
const LENGTHS: [(usize, usize); 3] = [(12, 400), (60, 200), (180, 60)];

#[derive(Deserialize)]
struct Peer {
    /// Texts a second.
    rate: f64,
    first: Vec<f32>,
}

fn main() -> ExitCode {
    let Some(python) = env::args().nth(1) else {
        eprintln!("usage: embed PYTHON   (with onnxruntime, tokenizers and numpy)");
        return ExitCode::FAILURE;
    };
    let mut model = RtenEmbedder::load().expect("the built-in model fits together");
    let mut ok = true;
    println!("| words | doze, one thread | ONNX Runtime, one thread | all cores | like |\n|--:|--:|--:|--:|--:|");
    let mut slowest = 0.0_f64;
    for (words, count) in LENGTHS {
        let texts: Vec<String> = (0..count).map(|number| text(number, words)).collect();
        let first = model.embed(&texts[0]).expect("a text has a vector");
        let start = Instant::now();
        for text in &texts {
            model.embed(text).expect("a text has a vector");
        }
        let rate = texts.len() as f64 / start.elapsed().as_secs_f64();
        let [one, all] = ["1", "0"].map(|threads| peer(&python, &texts, threads));
        let like: f32 = first.iter().zip(&one.first).map(|(a, b)| a * b).sum();
        println!(
            "| {words} | {rate:.0}/s | {:.0}/s ({:.2}) | {:.0}/s ({:.2}) | {like:.4} |",
            one.rate,
            one.rate / rate,
            all.rate,
            all.rate / rate
        );
        slowest = slowest.max(one.rate / rate);
        ok &= like > 0.99;
    }
    ok &= within("embed: ONNX Runtime on one thread, of doze", slowest, 1.0, "times");
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Sentences as they stand in notes, of about so many words.
fn text(number: usize, words: usize) -> String {
    let sentence = format!(
        "The job {number} of the nightly build reads its settings from config/part{}.toml and fails when port {} is taken. ",
        number % 13,
        3000 + number
    );
    let all: Vec<&str> = sentence.split_whitespace().cycle().take(words).collect();
    all.join(" ")
}

fn peer(python: &str, texts: &[String], threads: &str) -> Peer {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let model = here.join("../crates/doze-search/model");
    let mut process = Command::new(python)
        .arg(here.join("peers/hosts/embed_rate.py"))
        .args([model.join("minilm.onnx"), model.join("tokenizer.json")])
        .arg(threads)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the named Python starts");
    let mut input = process.stdin.take().expect("it was asked for");
    input.write_all(&serde_json::to_vec(texts).expect("texts are JSON")).expect("it reads its texts");
    drop(input);
    let output = process.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("it has onnxruntime, tokenizers and numpy")
}
