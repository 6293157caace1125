//! The house rules that a compiler does not know: which room may use which, and what the page of promises may claim.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// The rooms from the ground up. A room may use only rooms before it, and of those only the named ones.
const ROOMS: [(&str, &[&str]); 13] = [
    ("doze-core", &[]),
    ("doze-files", &[]),
    ("doze-transcript", &["doze-core"]),
    ("doze-store", &["doze-core"]),
    ("doze-search", &["doze-core"]),
    ("doze-extract", &["doze-core"]),
    ("doze-dream", &["doze-core"]),
    (
        "doze-engine",
        &[
            "doze-core",
            "doze-files",
            "doze-transcript",
            "doze-store",
            "doze-search",
            "doze-extract",
            "doze-dream",
        ],
    ),
    ("doze-protocol", &[]),
    ("doze-client", &["doze-core", "doze-protocol"]),
    ("doze-mcp", &["doze-core", "doze-engine"]),
    ("dozed", &["doze-core", "doze-files", "doze-engine", "doze-mcp", "doze-protocol", "doze-client"]),
    ("doze-cli", &["doze-core", "doze-files", "doze-transcript", "doze-protocol", "doze-client"]),
];

/// What the ground floor may not touch: it has no I/O, no clock, no environment.
const OUTSIDE: [&str; 6] =
    ["std::fs::", "std::net::", "std::env::", "std::process::", "SystemTime::now(", "Timestamp::now("];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the repository")
}

/// Every Rust file below these folders of the repository.
fn sources(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let mut open: Vec<_> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("sources are UTF-8");
                found.push((path, source));
            }
        }
    }
    found
}

/// The rooms that a manifest names as dependencies of what is shipped, also those of one platform or of a build script,
/// and under another name. What only tests use is not among them.
fn used(manifest: &str) -> BTreeSet<String> {
    let manifest: Table = manifest.parse().expect("a manifest is TOML");
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let sections = platforms.filter_map(Value::as_table).chain([&manifest]);
    let lists =
        sections.flat_map(|section| ["dependencies", "build-dependencies"].map(|list| section.get(list)));
    let named = lists
        .flatten()
        .filter_map(Value::as_table)
        .flatten()
        .map(|(name, given)| given.get("package").and_then(Value::as_str).unwrap_or(name).to_owned());
    named.filter(|name| name.starts_with("doze")).collect()
}

#[test]
fn a_manifest_names_its_rooms_in_many_ways() {
    let manifest = r#"
        [dependencies]
        doze-a.workspace = true
        doze-b = { path = "../doze-b", optional = true }
        renamed = { package = "doze-c", path = "../doze-c" }
        serde = "1"
        [dependencies.doze-d]
        path = "../doze-d"
        [target.'cfg(unix)'.dependencies]
        doze-e = { path = "../doze-e" }
        [target.x86_64-unknown-linux-gnu.build-dependencies.doze-f]
        path = "../doze-f"
        [build-dependencies]
        doze-g.workspace = true
        [dev-dependencies]
        doze-z.workspace = true
    "#;
    let found: Vec<String> = used(manifest).into_iter().collect();
    assert_eq!(found, ["a", "b", "c", "d", "e", "f", "g"].map(|letter| format!("doze-{letter}")));
}

#[test]
fn a_room_uses_only_the_rooms_below_it() {
    let allowed: BTreeMap<&str, BTreeSet<String>> =
        ROOMS.iter().map(|(room, uses)| (*room, uses.iter().map(ToString::to_string).collect())).collect();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let allowed =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("{name} is not in the list of rooms"));
        let manifest = fs::read_to_string(path.join("Cargo.toml")).expect("a room has a manifest");
        let used = used(&manifest);
        let too_much: Vec<_> = used.difference(allowed).collect();
        assert!(too_much.is_empty(), "{name} may not use {too_much:?}");
    }
}

/// Places where a test may end a sweep, and disks that fail, are for tests.
#[test]
fn no_program_that_is_built_for_use_can_be_told_to_break_off() {
    let mut turned_on = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let mut section = "";
        for line in manifest.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with('[') {
                section = line;
            } else if line.contains("test-faults") {
                let is_declared = section == "[features]" && line == "test-faults = []";
                assert!(is_declared || section == "[dev-dependencies]", "{section} turns it on: {line}");
                turned_on += 1;
            }
        }
    }
    assert!(turned_on >= 3, "the feature has another name now");
}

#[test]
fn the_ground_floor_touches_nothing_outside() {
    for (path, source) in sources(&["crates/doze-core/src"]) {
        let product = source.split("#[cfg(test)]").next().unwrap();
        for word in OUTSIDE {
            assert!(!product.contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn no_file_is_too_long_to_read() {
    for (path, source) in sources(&["crates", "tests/src", "tests/tests"]) {
        let lines = source.lines().count();
        assert!(lines <= 800, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_test_that_a_promise_names_is_there() {
    let page = fs::read_to_string(root().join("docs/promises.md")).unwrap();
    let code: String = sources(&["crates", "tests/tests"]).into_iter().map(|(_, source)| source).collect();
    // Rows of a table with four columns; the heading and the line below it name no test.
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches(" | ").count() == 3);
    let mut named = 0;
    for row in rows {
        let last = row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap();
        // Names stand between backticks; the page may shorten one, and gives a module's where it says nothing by itself.
        for name in last.split('`').skip(1).step_by(2).filter(|name| *name != "untested") {
            let function = name.rsplit("::").next().unwrap();
            assert!(
                code.contains(&format!("fn {function}(")) || code.contains(&format!("mod {function}")),
                "docs/promises.md names a test that is not there: {name}"
            );
            named += 1;
        }
    }
    assert!(named > 50, "only {named} tests are named: has the page another form?");
}
