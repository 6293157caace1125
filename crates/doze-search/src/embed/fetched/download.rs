//! One archive over HTTP: bounded in size and time, hashed while it comes, and gone again unless it is the right one.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use doze_core::model::hex;
use doze_core::url::is_loopback;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use ureq::Agent;

use super::{FetchedModel, Patience, UNFINISHED};
use crate::embed::model::EmbedError;

/// Addresses that an archive may be handed on to: hosts of models keep them elsewhere. The hash says what may come.
const MAX_REDIRECTS: u32 = 5;
/// How often the caller is asked whether it still wants the model.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// What the thread that reads and the one that waits tell each other.
#[derive(Default)]
struct Progress {
    bytes: AtomicU64,
    /// Nobody waits any more.
    abandoned: AtomicBool,
}

/// Fetches the archive into a file beside the models, which is deleted when it is dropped. The reading is done on a
/// thread of its own, which is left behind when its server does not answer.
pub(super) fn download(
    model: &FetchedModel,
    patience: Patience,
    gave_up: &dyn Fn() -> bool,
) -> Result<NamedTempFile, EmbedError> {
    let disk = |error: std::io::Error| model.failed(format!("{}: {error}", model.folder.display()));
    // For its owner alone, as the library makes them.
    let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&model.folder).map_err(disk)?;
    let mut out = file.reopen().map_err(disk)?;
    let progress = Arc::new(Progress::default());
    let (send, done) = channel();
    let (seen, wanted) = (Arc::clone(&progress), model.clone());
    thread::Builder::new()
        .name("fetch".into())
        .spawn(move || drop(send.send(transfer(&wanted, patience, &mut out, &seen))))
        .map_err(disk)?;
    let mut heard = (0, Instant::now());
    let outcome = loop {
        match done.recv_timeout(ASKED_EVERY) {
            Ok(outcome) => break outcome,
            Err(RecvTimeoutError::Disconnected) => break Err("the download broke off".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if gave_up() {
            progress.abandoned.store(true, Ordering::Release);
            return Err(EmbedError::GivenUp);
        }
        let bytes = progress.bytes.load(Ordering::Acquire);
        if bytes != heard.0 {
            heard = (bytes, Instant::now());
        } else if heard.1.elapsed() > patience.silence {
            progress.abandoned.store(true, Ordering::Release);
            break Err(format!("nothing came for {} s, after {bytes} bytes", patience.silence.as_secs()));
        }
    };
    let found = outcome.map_err(|reason| model.failed(reason))?;
    if found != model.sha256 {
        return Err(model.failed(format!(
            "what came has the SHA-256 {found} and not the one in embedder.sha256; nothing was kept"
        )));
    }
    Ok(file)
}

/// Reads the answer into `out`; its hash.
fn transfer(
    model: &FetchedModel,
    patience: Patience,
    out: &mut File,
    progress: &Progress,
) -> Result<String, String> {
    let too_large = || format!("it is larger than embedder.max_bytes, {}", model.max_bytes);
    let mut response = agent(&model.url, patience)
        .get(&model.url)
        // The bytes that were hashed, and no other form of them.
        .header("accept-encoding", "identity")
        .call()
        .map_err(|error| error.to_string())?;
    if response.status().as_u16() != 200 {
        return Err(format!("the server answers {}", response.status()));
    }
    if response.body().content_length().is_some_and(|length| length > model.max_bytes) {
        return Err(too_large());
    }
    let mut body = response.body_mut().with_config().limit(u64::MAX).reader();
    let (mut hash, mut buffer, mut bytes) = (Sha256::new(), vec![0; 64 << 10], 0);
    loop {
        let read = body.read(&mut buffer).map_err(|error| format!("{error}, after {bytes} bytes"))?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        if bytes > model.max_bytes {
            return Err(too_large());
        }
        if progress.abandoned.load(Ordering::Acquire) {
            return Err("nobody waits for it any more".to_owned());
        }
        hash.update(&buffer[..read]);
        out.write_all(&buffer[..read]).map_err(|error| format!("it cannot be written: {error}"))?;
        progress.bytes.store(bytes, Ordering::Release);
    }
    Ok(hex(&hash.finalize()))
}

fn agent(url: &str, patience: Patience) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(MAX_REDIRECTS)
        .timeout_global(Some(patience.longest));
    // What this machine serves is not asked for elsewhere, whatever proxy the environment names.
    if is_loopback(url) { config.proxy(None).build().into() } else { config.build().into() }
}
