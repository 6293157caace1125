use Relation::{Distinct, Duplicate, Update};
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn hashes_are_alike_as_their_words_are(
        a in proptest::collection::btree_set(0_u64..14, 0..12),
        b in proptest::collection::btree_set(0_u64..14, 0..12),
    ) {
        let words = |set: &BTreeSet<u64>| set.iter().map(u64::to_string).collect::<BTreeSet<_>>();
        let (these, those): (Vec<u64>, Vec<u64>) = (a.iter().copied().collect(), b.iter().copied().collect());
        prop_assert_eq!(is_alike(&these, &those), jaccard(&words(&a), &words(&b)) > SAME_ABOVE);
    }
}

#[test]
fn one_rule_in_other_words_is_one_rule() {
    let table = [
        ("Always run `make check` before you commit", "Please always run `make check` before committing"),
        ("Always run `make check` before committing", "Always run `make check` before each commit"),
        (
            "Never push directly to main, open a pull request",
            "Do not push straight to main; open a pull request",
        ),
        ("Never commit generated files", "Do not commit generated files"),
        ("Use pnpm, not npm", "use pnpm not npm"),
        ("Use pnpm, not npm.", "Please use pnpm not npm here"),
        ("Run the full suite in production", "Run the full suite in prod"),
        ("Never deploy during the freeze", "Never deploy during a freeze"),
        ("Skip the slow tests on CI", "Skip the slow tests in the CI"),
        ("Retry the job when the build fails", "Retry the job if the build fails"),
        ("Uses TERM_HOVER theme tokens here", "The project uses TERM_HOVER theme tokens here"),
        ("Write `a -> b` for every step", "Always write `a -> b` for each step"),
    ];
    for (one, other) in table {
        assert_eq!(relation(one, other), Duplicate, "{one} / {other}");
        assert_eq!(relation(other, one), Duplicate, "{other} / {one}");
    }
    let stated = (
        "The API listens on port 3000 when the flag is set",
        "The API listens on port 4000 if the flag is set",
    );
    assert_eq!(relation(stated.0, stated.1), Update);
    for (one, other) in [
        ("Run the linter before you commit", "Run the linter after you commit"),
        ("Run `make check` before you commit", "Run `make check` before you push"),
    ] {
        assert_ne!(relation(one, other), Duplicate, "{one} / {other}");
    }
    for (one, other) in [
        ("Never edit v1/schema.sql by hand", "Never edit v2/schema.sql by hand"),
        ("Never edit v2/schema.sql by hand", "Never edit 2023/report.md by hand"),
        ("The v1 API listens on port 3000", "The v2 API listens on port 4000"),
        ("Never push to main on Fridays", "Never push to main"),
        ("Never push to main on Fridays", "Never push to main on Mondays"),
        ("The API listens on port 3000", "The API listens on port 3001 in test"),
        ("The dev API listens on port 3000", "The API listens on port 4000"),
        ("Never deploy on Fridays", "Never deploy on Fridays without Dana"),
        ("Always keep x <= y in pool checks", "Always keep x >= y in pool checks"),
        ("The API listens on port 3000", "The admin API listens on port 4000"),
        ("Keep the coverage above 80", "Keep the frontend coverage above 60"),
        ("Never mock the database", "Always mock the external database"),
        ("Always run the linter for generated code", "Always skip running the linter for generated code"),
        ("Merging needs a review and a green build", "Merging needs a review or a green build"),
        ("总是使用tab缩进代码", "总是避免使用tab缩进代码"),
        ("Pin react to ~18.2.0 in this repo", "Pin react to ^18.2.0 in this repo"),
        ("Coordinates are sent as lat, lng", "Coordinates are sent as lng, lat"),
        ("Never commit files to the repo", "Never commit binary files to the repo"),
        ("Never touch the migrations folder", "Never touch the old migrations folder"),
        ("Cache every response for ten minutes", "Cache every response for admins for ten minutes"),
        ("Always push to our fork first", "Always push to their fork first"),
        ("Never push to my branch", "Never push to your branch"),
        ("Always ask her before a merge", "Always ask him before a merge"),
        (
            "Always write the release notes before tagging a new release",
            "Always write the migration notes before tagging a new release",
        ),
    ] {
        assert_eq!(relation(one, other), Distinct, "{one} / {other}");
        assert_eq!(relation(other, one), Distinct, "{other} / {one}");
    }
}

#[test]
fn the_seeds_threshold_is_strict() {
    assert!(!is_duplicate("red green blue yellow", "red green blue purple"));
    assert!(is_duplicate(
        "user prefers solid borders over dashed borders",
        "user prefers solid borders instead of dashed borders"
    ));
    assert!(is_duplicate("", ""));
    assert!(!is_duplicate("something said here", ""));
}

#[test]
fn details_decide_what_similarity_cannot() {
    let table = [
        ("red green blue yellow", "red green blue purple", Distinct),
        (
            "User prefers solid borders over dashed borders",
            "user prefers solid borders instead of dashed borders",
            Duplicate,
        ),
        ("The database listens on port 5432", "The database listens on port 5433", Update),
        ("The database listens on port 5432", "the database listens on port 5432.", Duplicate),
        ("The database listens on port 5432", "The database now listens on port 5433", Update),
        ("port 5432", "port 5433", Update),
        (
            "The api service listens on port 8000 in dev",
            "The web service listens on port 8001 in dev",
            Distinct,
        ),
        ("This project uses React 18.2.0", "This project uses React 19.0.0", Update),
        ("This project uses React v18", "This project uses React 18", Duplicate),
        ("Always push to the main branch", "Never push to the main branch", Update),
        ("Never push to the main branch", "Do not push to the main branch", Duplicate),
        ("Run the linter before committing changes", "Run the linter after committing changes", Update),
        ("Use npm for installs", "Use pnpm not npm for installs", Update),
        ("use pnpm not npm for installs", "use npm not pnpm for installs", Update),
        (
            "User prefers solid borders over dashed borders",
            "User prefers dashed borders over solid borders",
            Update,
        ),
        ("Alice owns the billing service code", "Bob owns the billing service code", Distinct),
        ("Deploys of the web app go to Vercel", "Deploys of the web app go to Netlify", Distinct),
        (
            "The handler in src/a.rs has a race condition",
            "The handler in src/b.rs has a race condition",
            Distinct,
        ),
        (
            "The default config lives in config/app.toml",
            "The default config lives in config/main.toml",
            Update,
        ),
        (
            "Use TERM_HOVER theme token for button colors",
            "Use TERM_BORDER theme token for button colors",
            Distinct,
        ),
        ("Issue 123 is about the login page", "Issue 124 is about the login page", Distinct),
        ("The tests need node to run here", "The tests need node 20 to run here", Update),
        ("The tests need node 20 to run here", "The tests need node to run here", Distinct),
        ("The timeout is 30 seconds", "The timeout is 30s long", Distinct),
        ("Run `pnpm test` before committing", "Run `pnpm lint` before committing", Distinct),
        ("Run `pnpm test` before committing", "Always run pnpm test before committing", Duplicate),
        ("Server A runs version 1.2", "Server B runs version 1.3", Distinct),
        ("The user wants dark mode by default", "The user does not want dark mode by default", Update),
        ("Use Bun instead of Node for scripts", "Use Node instead of Bun for scripts", Update),
        ("本项目使用pnpm管理依赖", "本项目使用npm管理依赖", Distinct),
        ("本项目使用pnpm管理依赖", "本项目使用pnpm来管理依赖", Duplicate),
        ("提交前必须运行测试", "提交前不要运行测试", Update),
        ("端口是5432", "端口是5433", Update),
        ("总是推送到主分支", "不要推送到主分支", Update),
        ("用户喜欢深色主题和大字体", "用户喜欢深色主题和大字体。", Duplicate),
        ("用户喜欢深色主题", "项目使用浅色图标", Distinct),
        ("Пользователь любит тёмную тему", "пользователь любит тёмную тему", Duplicate),
        ("Tests use a real database", "The build takes ten minutes", Distinct),
    ];
    for (older, newer, expected) in table {
        assert_eq!(relation(older, newer), expected, "{older} | {newer}");
    }
}

#[test]
fn a_changed_word_or_place_is_a_changed_detail() {
    let table = [
        (
            "Use tabs for indentation in python files of this project.",
            "Use spaces for indentation in python files of this project.",
            Update,
        ),
        (
            "We decided to enable caching for the product pages",
            "We decided to disable caching for the product pages",
            Update,
        ),
        ("Never import auth from ui in this code", "Never import ui from auth in this code", Distinct),
        ("Never import auth from ui", "Never import ui from auth", Distinct),
        (
            "the billing service is owned by the alice team",
            "the billing service is owned by the bob team",
            Distinct,
        ),
        (
            "the primary database cluster lives in frankfurt",
            "the primary database cluster lives in dublin",
            Distinct,
        ),
        ("the customer data is hosted in eu", "the customer data is hosted in us", Distinct),
        (
            "we use redux for the admin module state handling",
            "we use zustand for the cart module state handling",
            Distinct,
        ),
        (
            "Always run make lint before you commit changes",
            "Always run make test before you commit changes",
            Distinct,
        ),
        (
            "Worked on setting up eslint for the web app",
            "Worked on setting up prettier for the web app",
            Distinct,
        ),
        ("Port 80 of the proxy goes to 8080", "Port 8080 of the proxy goes to 80", Distinct),
        (
            "Backups are copied from staging every night",
            "Backups are copied to staging every night",
            Distinct,
        ),
        ("Feature flags are on by default here", "Feature flags are off by default here", Distinct),
        ("Write the native extension in C++", "Write the native extension in C#", Distinct),
        ("前端直接调用后端", "后端直接调用前端", Distinct),
        ("用户喜欢深色主题和大字体", "用户喜欢浅色主题和大字体", Distinct),
        // The same in other words.
        (
            "Run the linter before committing changes",
            "Always run the linter before committing changes",
            Duplicate,
        ),
        ("Run the linter before committing", "Before committing, run the linter", Duplicate),
        (
            "User prefers thin solid borders over dashed borders",
            "The user prefers thin solid borders over any dashed borders",
            Duplicate,
        ),
        (
            "The user prefers a compact layout in the header",
            "The user likes a compact layout in the header",
            Duplicate,
        ),
        (
            "The integration tests need a running postgres database locally",
            "The integration tests require a running postgres database locally",
            Duplicate,
        ),
        ("This project uses pnpm workspaces", "This project is using pnpm workspaces", Duplicate),
        (
            "Run the full integration test suite before pushing",
            "Run the whole integration test suite before pushing",
            Duplicate,
        ),
        ("Worker 1 listens on 7001", "Worker 2 listens on 7002", Distinct),
        ("Worker 1 listens on 7001", "Worker 1 listens on 7003", Update),
        ("Lane 1 takes 30 seconds to warm up", "Lane 2 takes 40 seconds to warm up", Distinct),
        ("Lane 2 takes 30 seconds to warm up", "Lane 2 takes 40 seconds to warm up", Update),
        ("Service s0 listens on its port p0 at boot", "Service s1 listens on its port p1 at boot", Distinct),
        ("工作进程1监听7001端口", "工作进程2监听7002端口", Distinct),
        ("Use Node 18 with pnpm 8 in this repo", "Use Node 20 with pnpm 9 in this repo", Update),
        ("The database listens on port 5432", "The database listens on port 5433", Update),
        ("用户喜欢深色主题和大字体", "用户很喜欢深色主题和大字体", Duplicate),
    ];
    let wrong: Vec<_> = table
        .into_iter()
        .filter(|(older, newer, expected)| relation(older, newer) != *expected)
        .map(|(older, newer, _)| (older, newer, relation(older, newer)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

proptest! {
    #[test]
    fn repetition_is_mutual(
        a in "(use |tabs |spaces |from |to |ui |auth |import |never |the |Alice |12 |深色|run |running |e2e |[a-c]{1,3} ){0,9}",
        b in "(use |tabs |spaces |from |to |ui |auth |import |never |the |Alice |12 |深色|run |running |e2e |[a-c]{1,3} ){0,9}",
    ) {
        prop_assert_eq!(relation(&a, &b) == Duplicate, relation(&b, &a) == Duplicate);
        prop_assert_eq!(relation(&a, &a), Duplicate);
    }

    #[test]
    fn another_content_word_is_never_a_duplicate(
        a in "[b-df-hj-np-tv-z]{4,8}", b in "[b-df-hj-np-tv-z]{4,8}", at in 0_usize..8,
    ) {
        prop_assume!(!a.starts_with(&b) && !b.starts_with(&a));
        let place = |word: &str| {
            let mut words = vec!["deploys", "web", "app", "need", "manual", "approval", "every", "friday"];
            words.insert(at, word);
            words.join(" ")
        };
        prop_assert_ne!(relation(&place(&a), &place(&b)), Duplicate);
    }

    #[test]
    fn hashes_tell_what_the_words_tell(
        a in "(alpha |bravo |charlie |delta |echo ){0,6}", b in "(alpha |bravo |charlie |delta |golf ){0,6}",
    ) {
        prop_assert_eq!(Parts::of(&a).has_words_of(&Parts::of(&b)), is_duplicate(&a, &b));
    }

    #[test]
    fn a_text_is_never_news_to_itself(text in "\\PC{0,80}") {
        prop_assert_eq!(relation(&text, &text), Duplicate);
    }

    #[test]
    fn another_number_is_never_a_duplicate(a in 10_u32..99999, b in 10_u32..99999, text in "[a-z ]{0,60}") {
        prop_assume!(a != b);
        let (older, newer) = (format!("{text} {a} things"), format!("{text} {b} things"));
        prop_assert_ne!(relation(&older, &newer), Duplicate);
    }
}

/// Pairs of which both must stand, whichever was said first.
#[test]
fn what_holds_of_another_thing_or_part_replaces_nothing() {
    let table = [
        // What can be forbidden or demanded of many things.
        ("Never edit files in lib/generated.", "Never edit files in lib/vendored."),
        ("Always lint the files in web/shop.", "Always lint the files in web/admin."),
        ("Never use port 3000 for tests.", "Never use port 5432 for tests."),
        ("Always test on Python 3.9.", "Always test on Python 3.12."),
        ("Always retry on 429.", "Always retry on 503."),
        ("Never deploy between 9 and 11.", "Never deploy between 14 and 16."),
        ("禁止使用 3000 端口。", "禁止使用 5432 端口。"),
        ("ポート3000は絶対に使わないでください。", "ポート5432は絶対に使わないでください。"),
        // A choice for one part, and the other way round for another.
        ("Always use tabs, not spaces, in Go files.", "Always use spaces, not tabs, in Python files."),
        ("Always use npm to install packages.", "Always use pnpm, not npm, to install mobile packages."),
        ("Always use Postgres for storage.", "Always use SQLite instead of Postgres for mobile storage."),
        ("Always use yarn here.", "Always use npm there."),
        // Short words and modal verbs tell things apart.
        ("Always use 2 spaces in js files.", "Always use 4 spaces in py files."),
        ("The eu limit is 100 requests.", "The us limit is 200 requests."),
        ("Always wait 5 seconds before a restart.", "Always wait 10 seconds after a restart."),
        ("Users can upload 5 files.", "Users must upload 2 files."),
        // A number that names a thing.
        ("The rate limit for plan 2 is 100 requests.", "The rate limit for plan 3 is 500 requests."),
        ("Our public API in v1 returns 50 items.", "Our public API in v2 returns 100 items."),
        ("The budget for May 2025 is 500 dollars.", "The budget for May 2026 is 800 dollars."),
        // What one says more narrows it, or makes the list longer.
        (
            "Always run the linter before committing.",
            "Always run the linter and the type checker before committing.",
        ),
        ("Never connect to the database.", "Never connect to the database as root."),
        ("Never restart the worker.", "Never restart the worker manually."),
        ("Never log request bodies.", "Never log request bodies containing passwords."),
        ("Never edit the schema.", "Never edit the schema once it is released."),
        ("Never send emails to customers.", "Never send emails to customers after 10 pm."),
        ("必须使用 SQLite 数据库。", "测试时必须使用 SQLite 数据库。"),
        ("只对管理员开放导出", "只对非管理员开放导出"),
        ("重试次数最多为三次", "重试次数最多为十三次"),
        ("必ず本番のログを確認してください。", "必ず本番以外のログを確認してください。"),
        // The form of a word tells which thing is meant.
        ("Never edit the routing module.", "Never edit the routes module."),
        ("Never touch the logging package.", "Never touch the log package."),
        ("Never retry failed jobs.", "Never retry failing jobs."),
        // News about another thing.
        ("The web app uses React.", "The mobile app now uses React."),
        ("Dana owns the billing service.", "Dana owns the search service now."),
        // Nothing says that the first no longer holds.
        ("Always use black for formatting.", "Always use ruff for formatting."),
        ("From now on, always run the api tests.", "From now on, always run the web tests."),
        ("From now on, never edit files in vendor/a.", "From now on, never edit files in lib/b."),
    ];
    for (one, other) in table {
        assert_eq!(relation(one, other), Distinct, "{one} / {other}");
        assert_eq!(relation(other, one), Distinct, "{other} / {one}");
    }
}

#[test]
fn what_says_that_it_has_changed_is_news() {
    let table = [
        ("The session token expires after 15 minutes.", "The session token now expires after 30 minutes."),
        ("Dana owns the billing service.", "Omar owns the billing service now."),
        ("The API lives in services/api.", "The API lives in apps/api now."),
        ("Dana owns the billing service.", "Omar took over the billing service from Dana."),
        ("Use the legacy client for exports", "Stop using the legacy client for exports"),
        (
            "Always run the full test suite before every commit.",
            "Stop running the full test suite before every commit.",
        ),
        (
            "Always run the full test suite before every commit.",
            "You no longer need to run the full test suite before every commit.",
        ),
        ("Never push to main.", "You may push to main from now on."),
        ("We use Redis for the session store.", "We no longer use Redis for the session store."),
        ("Mocks are forbidden in integration tests.", "Mocks are allowed in integration tests now."),
        ("We support Internet Explorer 11.", "We dropped support for Internet Explorer 11."),
        ("We use MySQL for the orders.", "We replaced MySQL by Postgres for the orders."),
        ("We use Mocha for the unit tests.", "We switched the unit tests from Mocha to Vitest."),
        ("Always squash commits before merging.", "No longer squash commits before merging."),
        ("Always use black for formatting.", "From now on always use ruff for formatting."),
        ("Always answer in German.", "Always answer in English from now on."),
        ("We use Jest for unit tests.", "We switched from Jest to Vitest for unit tests."),
        ("Our default branch is master.", "We renamed the default branch from master to main."),
        (
            "The API listens on port 3000.",
            "The API does not listen on port 3000 anymore, it listens on port 4000.",
        ),
        (
            "We use REST for the public API because clients know it.",
            "We use GraphQL instead of REST for the public API because clients need fewer calls.",
        ),
        ("API 运行在 3000 端口。", "API 现在运行在 4000 端口。"),
        ("提交前必须运行测试。", "提交前无需运行测试。"),
        ("ログは必ず残してください。", "ログは残さないでください。"),
        ("マイグレーションは必ず手で書いてください。", "マイグレーションは手で書かないでください。"),
        ("항상 npm을 쓰세요.", "npm을 쓰지 마세요."),
        ("Der Dienst darf Adressen schreiben.", "Der Dienst darf nie Adressen schreiben."),
    ];
    for (older, newer) in table {
        assert_eq!(relation(older, newer), Update, "{older} / {newer}");
    }
    // "Must" is no negation in Japanese, and who speaks in other case says the same.
    assert_eq!(relation("必ずテストを書かなければなりません", "テストを書かなければならない"), Duplicate);
    assert_eq!(relation("The API listens on port 3000.", "the api listens on port 3000"), Duplicate);
    assert_eq!(
        relation("Verwende immer Tabs zum Einrücken.", "Bitte verwende immer Tabs zum Einrücken."),
        Duplicate
    );
}

#[test]
fn the_office_goes_by_the_seeds_words_where_there_are_words() {
    let office = |a: &str, b: &str| Parts::of(a).office_relation_to(&Parts::of(b));
    let table = [
        ("the tests need a running database", "the tests need a database running", Duplicate),
        ("reads config files and env files", "reads env files and config files", Duplicate),
        ("deploy the web app every monday", "deploy the web app every friday", Duplicate),
        ("deploy the web app every monday at 9", "deploy the web app every monday at 10", Update),
        ("deploy the web app every monday", "never deploy the web app every monday", Update),
        ("Dana owns the billing service code", "Omar owns the billing service code", Distinct),
        // Paraphrases below the threshold are new facts.
        ("run the linter before committing", "run the linter before you commit", Distinct),
        // The same in other alphabets, and with signs that are no ASCII.
        ("кэш содержит ключ локали пользователя системы", "кэш содержит ключ локали пользователя", Duplicate),
        ("η κρυφή μνήμη περιέχει το κλειδί", "η κρυφή μνήμη περιέχει πάντα το κλειδί", Duplicate),
        ("the tests need a running database — here", "the tests need a database running here", Duplicate),
        ("le café ouvre le port 3000 du service", "le café ouvre le port 4000 du service", Update),
        // Scripts without spaces go by the finer rule.
        ("只对管理员开放导出", "只对非管理员开放导出", Distinct),
    ];
    for (older, newer, expected) in table {
        assert_eq!(office(older, newer), expected, "{older} / {newer}");
    }
}

#[test]
fn numbers_in_words_are_numbers_and_marks_are_none_of_a_text() {
    for (older, newer) in [
        ("the worker pool has two workers per core", "the worker pool has three workers per core"),
        ("Retry a failed upload twice before giving up", "Retry a failed upload once before giving up"),
        ("the nightly job keeps ten minutes of logs", "the nightly job keeps twenty minutes of logs"),
        ("в пуле два рабочих на каждое ядро", "в пуле десять рабочих на каждое ядро"),
    ] {
        assert_ne!(
            Parts::of(older).office_relation_to(&Parts::of(newer)),
            Relation::Duplicate,
            "{older} / {newer}"
        );
    }
    for (older, newer) in [
        ("use pnpm and never npm for the web app", "use pnpm and never `npm` for the web app"),
        ("use vitest instead of jest for unit tests", "use vitest instead of **jest** for \"unit tests\""),
        ("the release must not be squashed here", "the release must **not** be squashed here !"),
        ("the worker pool has 2 workers per core", "the worker pool has two workers per core"),
    ] {
        assert_eq!(
            Parts::of(older).office_relation_to(&Parts::of(newer)),
            Relation::Duplicate,
            "{older} / {newer}"
        );
    }
}

#[test]
fn one_cause_is_no_news_about_another() {
    let cause = |file: &str| {
        format!("The root cause is that `src/{file}.rs` reads the setting before it is written.")
    };
    assert_eq!(relation(&cause("part32"), &cause("part112")), Relation::Distinct);
}
