//! What Codex keeps about itself in its own folder. Read leniently: without it Codex decides.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Bytes of one of its files that are read; a longer one counts as unreadable.
const MAX_BYTES: u64 = 4 << 20;
/// Servers that are turned off by name.
const MAX_SERVERS: usize = 100;
/// Words in the names of small models (S1.13).
const SMALL: &[&str] = &["spark", "mini", "nano"];

/// `CODEX_HOME`, or `.codex` in the home; empty is unset.
pub(super) fn home() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CODEX_HOME").or_else(|| set("HOME").map(|home| home.join(".codex")))
}

/// The first of the account's models whose name contains spark, mini or nano, in the order and among those that Codex
/// itself offers: `models_cache.json` lists `{slug, visibility, priority}`.
pub(super) fn small_model(home: &Path) -> Option<String> {
    let cache: Value = serde_json::from_str(&read(&home.join("models_cache.json"))?).ok()?;
    let offered = |model: &&Value| !matches!(model["visibility"].as_str(), Some("hide" | "none"));
    let mut models: Vec<&Value> = cache["models"].as_array()?.iter().filter(offered).collect();
    models.sort_by_key(|model| model["priority"].as_i64().unwrap_or(i64::MAX));
    models
        .iter()
        .filter_map(|model| model["slug"].as_str())
        .find(|slug| is_name(slug) && SMALL.iter().any(|word| slug.contains(word)))
        .map(str::to_owned)
}

/// The servers that its configuration names.
pub(super) fn servers(home: &Path) -> Vec<String> {
    let config = read(&home.join("config.toml")).and_then(|text| text.parse::<toml::Table>().ok());
    let servers = config.as_ref().and_then(|config| config.get("mcp_servers")).and_then(|all| all.as_table());
    let names = servers.into_iter().flat_map(|all| all.keys());
    names.filter(|name| is_name(name) && !name.contains('.')).take(MAX_SERVERS).cloned().collect()
}

/// Plain enough for a command line; Codex allows no others.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    !text.is_empty() && text.len() <= 100 && !text.starts_with('-') && text.chars().all(plain)
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    ((read as u64) < MAX_BYTES).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_small_model_that_is_offered_is_taken() {
        let home = tempfile::tempdir().unwrap();
        let of = |cache: &str| {
            fs::write(home.path().join("models_cache.json"), cache).unwrap();
            small_model(home.path())
        };
        assert_eq!(small_model(home.path()), None);
        let cache = r#"{"fetched_at":"2026-01-01T00:00:00Z","models":[
            {"slug":"gpt-9","visibility":"list","priority":0},
            {"slug":"gpt-9-nano","visibility":"list","priority":7},
            {"slug":"gpt-9-codex-mini","visibility":"list","priority":3},
            {"slug":"gpt-8-spark","visibility":"hide","priority":1}]}"#;
        assert_eq!(of(cache).as_deref(), Some("gpt-9-codex-mini"));
        assert_eq!(
            of(r#"{"models":[{"slug":"gpt-9-nano"},{"slug":"x-spark"}]}"#).as_deref(),
            Some("gpt-9-nano")
        );
        for unusable in [
            "",
            "{",
            "[]",
            r#"{"models":{}}"#,
            r#"{"models":[{"slug":7},{"slug":"gpt-9"},{"slug":"--mini"},{"slug":"a mini"}]}"#,
        ] {
            assert_eq!(of(unusable), None, "{unusable}");
        }
    }

    #[test]
    fn every_server_of_the_configuration_is_named() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(servers(home.path()), Vec::<String>::new());
        let config = "model = \"x\"\n[mcp_servers.files]\ncommand = \"a\"\n[mcp_servers.\"b c\"]\ncommand = \"b\"\n[mcp_servers.git_hub]\nurl = \"u\"\n";
        fs::write(home.path().join("config.toml"), config).unwrap();
        assert_eq!(servers(home.path()), ["files", "git_hub"]);
        fs::write(home.path().join("config.toml"), "mcp_servers = 3").unwrap();
        assert_eq!(servers(home.path()), Vec::<String>::new());
    }
}
