//! The install scripts, with the real binaries and a prefix of their own.

use std::path::{Path, PathBuf};

use doze_tests::Home;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging").join(name)
}

#[test]
fn installing_twice_and_taking_out_leaves_what_is_remembered() {
    let home = Home::new();
    let prefix = home.path().join("prefix");
    let built = home.dozed().parent().unwrap().to_owned();
    for _ in 0..2 {
        let ran = home
            .program(&script("install.sh"))
            .arg("--from")
            .arg(&built)
            .arg("--prefix")
            .arg(&prefix)
            .arg("--no-service")
            .run()
            .ok();
        assert!(ran.stdout.contains("installed doze"), "{}", ran.stdout);
    }
    let mut names: Vec<_> =
        std::fs::read_dir(prefix.join("bin")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["doze", "dozed"]);
    let doze = prefix.join("bin/doze");
    home.program(&doze).arg("up").run().ok();
    home.program(&doze).args(["remember", "The test server listens on port 5433"]).run().ok();

    home.program(&script("uninstall.sh")).arg("--prefix").arg(&prefix).run().ok();
    assert!(!doze.exists());
    assert!(home.files().iter().any(|file| file.to_string_lossy().ends_with(".redb")), "{:?}", home.files());

    home.program(&script("uninstall.sh")).arg("--prefix").arg(&prefix).arg("--purge").run().ok();
    assert!(!home.doze_home().exists());
}

#[test]
fn a_missing_binary_is_said_before_anything_is_copied() {
    let home = Home::new();
    let prefix = home.path().join("prefix");
    let ran =
        home.program(&script("install.sh")).arg("--from").arg(home.path()).arg("--prefix").arg(&prefix).run();
    assert_eq!(ran.code, 66, "{}", ran.stderr);
    assert!(!prefix.exists());
}
