//! The table, its layers, and what is made from it.

use std::fs;

use doze_core::rank::Profile;
use doze_engine::Who;
use serde_json::json;

use super::*;

fn load(file: &str, env: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let env: BTreeMap<&str, &str> = env.iter().copied().collect();
    let flags = flags.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Config::load(&Sources {
        flags: &flags,
        env: &|name| env.get(name).map(|value| (*value).to_owned()),
        file: Some((Path::new("/etc/doze.toml"), file)),
    })
}

fn wrong(file: &str) -> Vec<String> {
    match load(file, &[], &[]).unwrap_err() {
        ConfigError::Wrong { problems } => problems.into_iter().map(|problem| problem.message).collect(),
        other => vec![other.to_string()],
    }
}

fn shown(config: &Config, name: &str) -> (Value, String) {
    let (value, origin) = config.get(name).unwrap();
    (value.clone(), origin.to_string())
}

#[test]
fn the_table_is_sound() {
    let mut names: Vec<&str> =
        KEYS.iter().flat_map(|key| key.env.iter().copied().chain([key.name])).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name is used twice");
    for key in KEYS {
        key.check(&key.default_value()).unwrap();
        assert!(key.doc.ends_with('.') && !key.env.is_empty(), "{}", key.name);
        assert!(key.name.matches('.').count() <= 1, "{}", key.name);
    }
    for preset in ["doze", "openorc", "jiuwen", "office"] {
        for (name, value) in keys::preset(preset) {
            keys::find(name).unwrap().check(&value.to_value()).unwrap();
        }
    }
}

#[test]
fn the_stronger_layer_wins_and_is_named() {
    let file = "preset = \"jiuwen\"\n[dream]\ninterval_seconds = 100\ncode = false\n";
    let config = load(file, &[("DREAMING_INTERVAL", "200")], &[]).unwrap();
    assert_eq!(shown(&config, "dream.enabled"), (json!(false), "preset jiuwen".into()));
    assert_eq!(shown(&config, "dream.code"), (json!(false), "/etc/doze.toml".into()));
    assert_eq!(shown(&config, "dream.interval_seconds"), (json!(200), "$DREAMING_INTERVAL".into()));
    assert_eq!(shown(&config, "memory.enabled"), (json!(true), "built-in".into()));

    let env = [("DREAMING_INTERVAL", "200"), ("DOZE_DREAM_INTERVAL_SECONDS", "300"), ("DOZE_PRESET", " ")];
    let config = load(file, &env, &[("dream.enabled", "on")]).unwrap();
    assert_eq!(shown(&config, "dream.interval_seconds").0, json!(300));
    assert_eq!(shown(&config, "dream.enabled"), (json!(true), "command line".into()));
    assert_eq!(config.settings().dream_interval.as_secs(), 300);
}

#[test]
fn each_preset_restores_its_own_defaults() {
    let of = |preset: &str| load(&format!("preset = \"{preset}\""), &[], &[]).unwrap().settings();
    assert!(of("doze").memory_enabled && of("doze").dream_enabled && of("doze").embedder == "builtin");
    assert!(!of("openorc").memory_enabled && !of("openorc").dream_enabled);
    assert_eq!((of("openorc").extractors.jobs, of("doze").extractors.jobs), (Who::Auto, Who::Off));
    assert_eq!(
        (of("openorc").search_profile, of("doze").search_profile),
        (Profile::OpenOrc, Profile::Default)
    );
    assert!(of("jiuwen").memory_enabled && !of("jiuwen").dream_enabled);
    assert!(of("office").embedder == "off" && !of("office").dream_enabled);
}

#[test]
fn everything_wrong_is_told_at_once_with_a_suggestion() {
    let problems =
        wrong("memory.enable = true\nextractor = \"gpt\"\ndream.interval_seconds = 0\nzzz = 1\npreset = 7\n");
    assert_eq!(
        problems,
        [
            "dream.interval_seconds: 0 is outside 1 to 31536000",
            "extractor: expected one of off, rules, auto, claude, codex, gemini, opencode, http, command, found \"gpt\"",
            "there is no key \"memory.enable\"; did you mean \"memory.enabled\"?",
            "preset: expected one of doze, openorc, jiuwen, office, found 7",
            "there is no key \"zzz\"; `doze config schema` lists the keys",
        ]
    );
    assert_eq!(
        wrong("[lgo]\nlevel = \"warn\""),
        ["there is no key \"lgo.level\"; did you mean \"log.level\"?"]
    );
    assert!(wrong("memory = 5")[0].contains("there is no key \"memory\""));
    assert!(wrong("[dream]\ncron = \"often\"")[0].starts_with("dream.cron: "));
    assert!(wrong("dream.interval_seconds = 2026-01-01")[0].contains("expected a whole number"));
    assert!(wrong("dream.enabled = \"yes\"")[0].contains("expected true or false, found \"yes\""));
    assert!(wrong("a = [")[0].starts_with("/etc/doze.toml is not TOML"));
    let error = load("", &[("DOZE_DREAM_ENABLED", "maybe")], &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "$DOZE_DREAM_ENABLED: dream.enabled: expected true or false, found \"maybe\""
    );
}

#[test]
fn a_model_is_fetched_only_with_its_hash() {
    let hash = "a1".repeat(32);
    let of = |url: &str, sha256: &str| {
        load(&format!("\"embedder.url\" = \"{url}\"\n\"embedder.sha256\" = \"{sha256}\""), &[], &[])
    };
    let settings = of("https://h/m.tar.gz", &hash).unwrap().settings();
    assert_eq!(settings.embedder_url.as_deref(), Some("https://h/m.tar.gz"));
    assert_eq!((settings.embedder_sha256, settings.embedder_max_bytes), (hash.clone(), 256 << 20));
    assert_eq!(of("", &hash).unwrap().settings().embedder_url, None);
    let told = |url: &str, sha256: &str| of(url, sha256).unwrap_err().to_string();
    assert!(told("https://h/m.tar.gz", "").ends_with("set embedder.sha256 first"));
    assert!(told("file:///m.tar.gz", &hash).contains("embedder.url: expected an address"));
    assert!(told("https://h/m.tar.gz", "abc").contains("embedder.sha256: expected 64"));
}

#[test]
fn an_address_is_one_that_somebody_can_be_asked_at() {
    let of = |url: &str| load(&format!("\"extractor.url\" = \"{url}\""), &[], &[]);
    for right in [
        "",
        "http://127.0.0.1:8080/v1",
        "https://models.example.com",
        "http://[::1]:8080/v1",
        "http://me:pw@host/v1",
    ] {
        of(right).unwrap();
    }
    for wrong in ["foo", "ftp://x", "http://", "http:///v1", "127.0.0.1:8080", "http://a b", " http://h"] {
        let told = of(wrong).unwrap_err().to_string();
        assert!(told.contains("extractor.url: expected an address"), "{wrong}: {told}");
    }
}

#[test]
fn a_key_beside_its_own_prefix_stands_in_quotes_or_alone_in_its_table() {
    let config = load("embedder = \"ort\"\n\"embedder.library\" = \"/l.so\"", &[], &[]).unwrap();
    assert_eq!(config.settings().embedder_library, Some("/l.so".into()));
    let config = load("[embedder]\nidle_seconds = 5", &[], &[]).unwrap();
    assert_eq!(
        (config.settings().embedder_idle.as_secs(), config.settings().embedder.as_str()),
        (5, "builtin")
    );
}

#[test]
fn secrets_are_masked_when_shown() {
    let key = ["AKIA", "QWERTYUIOPASDFGH"].concat();
    let config = load(&format!("\"embedder.library\" = \"/opt/{key}\""), &[], &[]).unwrap();
    let answer = config.answer();
    assert!(!answer["embedder.library"].value.to_string().contains(&key));
    assert_eq!(answer.len(), KEYS.len());

    let file = format!("\"extractor.key\" = \"plain words\"\ncommand = [\"ask\", \"--key={key}\"]");
    let config = load(&file, &[], &[]).unwrap();
    let answer = config.answer();
    assert_eq!(answer["extractor.key"].value, json!("[set]"));
    assert!(!serde_json::to_string(&answer).unwrap().contains(&key), "{answer:?}");
    assert!(!format!("{:?}", config.settings()).contains("plain words"));
}

#[test]
fn a_key_is_not_handed_on_to_whoever_is_chosen_next() {
    let dir = tempfile::tempdir().unwrap();
    let live = Live::load(dir.path().join("doze.toml"), BTreeMap::new(), &|_| None).unwrap();
    let set = |key: &str, value: &str| {
        live.set(&BTreeMap::from([(key.to_owned(), json!(value))]), |_| {}).map(drop)
    };
    set("extractor", "claude").unwrap();
    set("extractor.key", "sk-one").unwrap();
    set("extractor.model", "haiku").unwrap();
    set("extractor.url", "http://localhost:8080").unwrap();
    let refused = set("extractor", "http").unwrap_err().to_string();
    assert!(
        refused.starts_with("extractor.key was not given for http at http://localhost:8080; "),
        "{refused}"
    );
    set("extractor", "off").unwrap();
    assert!(set("dream.extractor", "http").is_err(), "also not by a detour");
    set("extractor.key", "").unwrap();
    set("dream.extractor", "http").unwrap();
    set("extractor.key", "sk-two").unwrap();
    assert!(set("extractor.url", "http://elsewhere.example").is_err());
    assert_eq!(live.current().settings().extractors.url, "http://localhost:8080");
}

#[test]
fn an_address_is_shown_without_a_login_and_a_query() {
    for (url, shown) in [
        ("http://h/v1", "http://h/v1"),
        ("https://me:pw@h:1/v1?k=zq", "https://[redacted:login]@h:1/v1?[redacted:query]"),
    ] {
        let config = load(&format!("\"extractor.url\" = \"{url}\""), &[], &[]).unwrap();
        assert_eq!(config.answer()["extractor.url"].value, json!(shown));
        assert_eq!(config.settings().extractors.url, url);
    }
}

#[test]
fn a_list_is_read_from_a_file_a_variable_and_a_call() {
    let of = |file: &str, env: &[(&str, &str)]| load(file, env, &[]).unwrap().settings().extractors.command;
    assert_eq!(of("command = [\"ask\", \"a b\"]", &[]), ["ask", "a b"]);
    assert_eq!(of("", &[("DOZE_COMMAND", "ask -q")]), ["ask", "-q"]);
    assert_eq!(of("", &[("DOZE_COMMAND", "[\"ask\", \"a b\"]")]), ["ask", "a b"]);
    assert_eq!(
        wrong("command = \"ask\""),
        ["command: expected a list of texts, as [\"a\", \"b\"], found \"ask\""]
    );
}

#[test]
fn the_default_file_says_everything_and_changes_nothing() {
    let built_in = load("", &[], &[]).unwrap();
    assert_eq!(load(&default_file(), &[], &[]).unwrap(), built_in);
    let taken: String = default_file()
        .lines()
        .map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        .fold(String::new(), |text, line| text + line + "\n");
    let config = load(&taken, &[], &[]).unwrap();
    assert_eq!(config.settings(), built_in.settings());
    for key in KEYS {
        assert_eq!(shown(&config, key.name).1, "/etc/doze.toml", "{} is not in the default file", key.name);
    }
}

#[test]
fn the_generated_files_have_not_drifted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    for (name, made) in [("doze.toml", default_file()), ("doze.schema.json", schema)] {
        let path = folder.join(name);
        if std::env::var_os("UPDATE_CONFIG").is_some() {
            fs::write(&path, &made).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == made, "config/{name} has drifted; run this test with UPDATE_CONFIG=1");
    }
}

#[test]
fn setting_a_key_keeps_comments_and_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sub/doze.toml");
    let set = |key: &str, value: Value| set_in_file(&path, [(key, &value)], |_| Ok(()));
    set("memory.enabled", json!(false)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "[memory]\nenabled = false\n");

    fs::write(&path, "# mine\npreset = \"doze\" # quiet\n\n[dream] # nightly\nenabled = true   # yes\n")
        .unwrap();
    set("preset", json!("office")).unwrap();
    set("dream.enabled", json!(false)).unwrap();
    set("dream.interval_seconds", json!(60)).unwrap();
    set("embedder", json!("off")).unwrap();
    set("embedder.idle_seconds", json!(9)).unwrap();
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r#"
    # mine
    preset = "office" # quiet
    embedder = "off"
    "embedder.idle_seconds" = 9

    [dream] # nightly
    enabled = false   # yes
    interval_seconds = 60
    "#);
    let text = fs::read_to_string(&path).unwrap();
    let settings = load(&text, &[], &[]).unwrap().settings();
    assert_eq!((settings.embedder.as_str(), settings.embedder_idle.as_secs()), ("off", 9));

    for (key, value) in [("dream.enabled", json!("x")), ("dreams", json!(1))] {
        assert!(matches!(set(key, value).unwrap_err(), ConfigError::Wrong { .. }));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "a refused change writes nothing");

    fs::write(&path, "[embedder]\nidle_seconds = 5\n").unwrap();
    set("embedder", json!("off")).unwrap();
    let settings = load(&fs::read_to_string(&path).unwrap(), &[], &[]).unwrap().settings();
    assert_eq!((settings.embedder.as_str(), settings.embedder_idle.as_secs()), ("off", 5));
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real.toml"), dir.path().join("doze.toml"));
    fs::write(&real, "").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    set_in_file(&link, [("dream.enabled", &json!(false))], |_| Ok(())).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("enabled = false"));
}

#[test]
fn a_change_is_in_force_at_once_and_a_broken_file_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("doze.toml");
    let env = |name: &str| (name == "DOZE_EMBEDDER").then(|| "off".to_owned());
    let live = Live::load(path.clone(), BTreeMap::new(), &env).unwrap();
    assert_eq!(live.current().settings().embedder, "off");
    let set = |key: &str, value: Value| live.set(&BTreeMap::from([(key.to_owned(), value)]), |_| ());
    assert!(!set("dream.enabled", json!(false)).unwrap().settings().dream_enabled);
    assert!(!live.current().settings().dream_enabled);
    let error = set("embedder", json!("builtin")).unwrap_err();
    assert_eq!(error.to_string(), "embedder is set by $DOZE_EMBEDDER, which is stronger than the file");

    fs::write(&path, "dream.enabled = 3").unwrap();
    assert!(live.reload(|_| ()).is_err());
    assert!(!live.current().settings().dream_enabled);
    fs::write(&path, "").unwrap();
    assert!(live.reload(|_| ()).unwrap().settings().dream_enabled);
}

#[test]
fn nothing_is_written_that_would_leave_the_whole_file_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("doze.toml");
    let live = Live::load(path.clone(), BTreeMap::new(), &|_| None).unwrap();
    let set = |key: &str, value: &str| live.set(&BTreeMap::from([(key.to_owned(), json!(value))]), |_| ());
    let error = set("embedder.url", "https://h/m.tar.gz").unwrap_err().to_string();
    assert!(error.ends_with("set embedder.sha256 first"), "{error}");
    set("embedder.sha256", "abc").unwrap_err();
    assert!(!path.exists());
    set("log.level", "warn").unwrap();
    set("embedder.sha256", &"a1".repeat(32)).unwrap();
    set("embedder.url", "https://h/m.tar.gz").unwrap();
    set("embedder.sha256", "").unwrap_err();
    assert!(live.reload(|_| ()).unwrap().settings().embedder_url.is_some());
}

#[test]
fn changes_at_the_same_time_all_stay() {
    let dir = tempfile::tempdir().unwrap();
    let live = Live::load(dir.path().join("doze.toml"), BTreeMap::new(), &|_| None).unwrap();
    let changes = [
        ("dream.enabled", json!(false)),
        ("dream.code", json!(false)),
        ("dream.interval_seconds", json!(61)),
        ("embedder", json!("off")),
        ("memory.brief_tokens", json!(500)),
        ("hooks.prompt_search", json!(true)),
        ("log.level", json!("warn")),
        ("history.max_age_days", json!(7)),
    ];
    // Whoever obeys is told of them in the order in which they are in force.
    let obeyed = std::sync::Mutex::new(None);
    let obey = |config: &Config| *obeyed.lock().unwrap() = Some(config.answer());
    std::thread::scope(|scope| {
        for (key, value) in &changes {
            scope.spawn(|| live.set(&BTreeMap::from([((*key).to_owned(), value.clone())]), obey).unwrap());
        }
    });
    assert_eq!(obeyed.lock().unwrap().take(), Some(live.current().answer()));
    live.reload(|_| ()).unwrap();
    for (key, value) in changes {
        assert_eq!(shown(&live.current(), key).0, value, "{key}");
    }
}

#[test]
fn a_file_that_is_no_file_is_told_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("doze.toml");
    fs::write(&path, "dream.enabled = false").unwrap();
    let live = Live::load(path.clone(), BTreeMap::new(), &|_| None).unwrap();
    let odd: [(&str, &dyn Fn()); 3] = [
        ("not a regular file", &|| {
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
        ("not a regular file", &|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap()),
        ("longer than", &|| fs::File::create(&path).unwrap().set_len(1 << 30).unwrap()),
    ];
    for (why, make) in odd {
        fs::remove_file(&path).unwrap();
        make();
        for error in [
            live.reload(|_| ()).map(drop).unwrap_err(),
            live.set(&BTreeMap::from([("dream.enabled".to_owned(), json!(true))]), |_| ())
                .map(drop)
                .unwrap_err(),
            Live::load(path.clone(), BTreeMap::new(), &|_| None).map(drop).unwrap_err(),
        ] {
            let error = crate::StartError::from(error);
            assert_eq!(error.exit, doze_protocol::Exit::Config);
            assert!(error.message.contains(why) && error.message.contains("doze.toml"), "{error}");
        }
        assert!(!live.current().settings().dream_enabled, "the old configuration stays in force");
    }
}

#[test]
fn what_a_restart_is_needed_for_is_told() {
    let later: Vec<&str> = KEYS.iter().filter(|key| key.restart).map(|key| key.name).collect();
    assert_eq!(
        later,
        [
            "embedder",
            "embedder.library",
            "embedder.url",
            "embedder.sha256",
            "embedder.max_bytes",
            "embedder.idle_seconds",
            "store.cache_bytes",
            "log.target"
        ]
    );
    let answer = load("", &[], &[]).unwrap().answer();
    assert!(answer["embedder"].restart && !answer["log.level"].restart);
    let told = default_file().replace("\n# ", " ").matches("In force from the next start on.").count();
    assert_eq!(told, later.len());
}
