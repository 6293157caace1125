use std::borrow::Cow;

use proptest::prelude::*;

use super::redact;

/// `n` characters in which every class a key needs occurs. Test keys are put together here and not written out, so
/// that no scanner takes this file for a leak.
fn body(n: usize) -> String {
    "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ".chars().cycle().take(n).collect()
}

fn hex(n: usize) -> String {
    "0123456789abcdef".chars().cycle().take(n).collect()
}

fn upper(n: usize) -> String {
    "A2B3C4D5E6F7".chars().cycle().take(n).collect()
}

fn key(parts: &[&str]) -> String {
    parts.concat()
}

/// Compares all rows before it fails, so that one run tells everything.
#[track_caller]
fn assert_rows<'a>(rows: impl IntoIterator<Item = (String, Cow<'a, str>)>) {
    let wrong: Vec<String> = rows
        .into_iter()
        .filter(|(text, expected)| redact(text).text != expected.as_ref())
        .map(|(text, expected)| format!("{text}\n  gave     {}\n  expected {expected}\n", redact(&text).text))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Every key is found bare, in a sentence, in quotes, behind an escape and in an assignment, always by its own rule.
#[track_caller]
fn assert_key(rule: &str, secret: &str) {
    let settings =
        [("", ""), ("see ", ", ok"), ("\"", "\""), ("line\\n", "\\nnext"), ("密钥", "。"), ("TOKEN=", "\n")];
    assert_rows(settings.map(|(before, after)| {
        (format!("{before}{secret}{after}"), format!("{before}[redacted:{rule}]{after}").into())
    }));
    assert_eq!(redact(secret).hits.into_iter().collect::<Vec<_>>(), [(rule, 1)]);
}

#[test]
fn keys_are_known_by_their_form() {
    let (b, h) = (body(100), hex(64));
    let table = [
        ("aws-key", key(&["AK", "IA", &upper(16)])),
        ("aws-key", key(&["AS", "IA", &upper(16)])),
        ("github", key(&["gh", "p_", &b[..36]])),
        ("github", key(&["gh", "o_", &b[..36]])),
        ("github", key(&["gh", "u_", &b[..36]])),
        ("github", key(&["gh", "s_", &b[..36]])),
        ("github", key(&["gh", "r_", &b[..36]])),
        ("github", key(&["github", "_pat_", &b[..22], "_", &b[..59]])),
        ("gitlab", key(&["gl", "pat-", &b[..20]])),
        ("gitlab", key(&["gl", "dt-", &b[..20]])),
        ("bitbucket", key(&["AT", "BB", &b[..32]])),
        ("atlassian", key(&["ATA", "TT3", &b[..80]])),
        ("slack", key(&["xo", "xb-", "123456789012-123456789012-", &b[..24]])),
        ("slack", key(&["xo", "xp-", "1234567890-", &b[..24]])),
        ("slack", key(&["xa", "pp-1-A012-", &b[..24]])),
        ("discord", key(&["MT", &b[..22], ".", &b[..6], ".", &b[..38]])),
        ("telegram", key(&["123456789", ":AA", &b[..33]])),
        ("anthropic", key(&["sk-", "ant-api03-", &b[..40], "-", &b[..40], "AA"])),
        ("openai", key(&["sk-", "proj-", &b[..48]])),
        ("openai", key(&["sk-", &b[..48]])),
        ("openai", key(&["sk-", &"a".repeat(48)])),
        ("openrouter", key(&["sk-", "or-v1-", &h])),
        ("google", key(&["AI", "za", &b[..35]])),
        ("google", key(&["GOC", "SPX-", &b[..28]])),
        ("groq", key(&["gs", "k_", &b[..52]])),
        ("huggingface", key(&["h", "f_", &b[..34]])),
        ("replicate", key(&["r", "8_", &b[..37]])),
        ("xai", key(&["x", "ai-", &b[..80]])),
        ("perplexity", key(&["pp", "lx-", &b[..48]])),
        ("stripe", key(&["sk_", "live_", &b[..24]])),
        ("stripe", key(&["rk_", "test_", &b[..24]])),
        ("stripe", key(&["wh", "sec_", &b[..32]])),
        ("npm", key(&["np", "m_", &b[..36]])),
        ("pypi", key(&["py", "pi-", "AgEIcHlwaS5vcmc", &b[..60]])),
        ("crates-io", key(&["ci", "o", &b[..32]])),
        ("rubygems", key(&["ruby", "gems_", &h[..48]])),
        ("digitalocean", key(&["do", "p_v1_", &h])),
        ("sendgrid", key(&["S", "G.", &b[..22], ".", &b[..43]])),
        ("twilio", key(&["S", "K", &h[..32]])),
        ("shopify", key(&["shp", "at_", &h[..32]])),
        ("vault", key(&["hv", "s.", &b[..24]])),
        ("databricks", key(&["da", "pi", &h[..32]])),
        ("jwt", key(&["ey", "J", &b[..20], ".ey", "J", &b[..30], ".", &b[..43]])),
    ];
    for (rule, secret) in table {
        assert_key(rule, &secret);
    }
}

#[test]
fn keys_side_by_side_are_each_found() {
    let (one, two) = (key(&["do", "p_v1_", &hex(64)]), key(&["gh", "p_", &body(36)]));
    assert_eq!(redact(&format!("{one}{two}")).text, "[redacted:digitalocean][redacted:github]");
    let pair = format!("{},{}/{}", key(&["AK", "IA", &upper(16)]), body(20), body(19));
    assert_eq!(redact(&pair).text, "[redacted:aws-key],[redacted:aws-secret]");
}

#[test]
fn webhooks_lose_their_path() {
    let slack = format!("https://hooks.slack.com/services/{}/{}/{} now", "T0123ABCD", "B0123ABCD", body(24));
    assert_eq!(redact(&slack).text, "https://hooks.slack.com/services/[redacted:slack-webhook] now");
    let discord = format!("https://discord.com/api/webhooks/123456789012345678/{}", body(68));
    assert_eq!(redact(&discord).text, "https://discord.com/api/webhooks/[redacted:discord-webhook]");
    assert_eq!(redact("GET /api/webhooks/orders/latest").text, "GET /api/webhooks/orders/latest");
}

fn pem(kind: &str, lines: &[&str], newline: &str) -> String {
    let dashes = "-".repeat(5);
    let mut all = vec![format!("{dashes}BEGIN {kind}{dashes}")];
    all.extend(lines.iter().map(|line| (*line).to_owned()));
    all.push(format!("{dashes}END {kind}{dashes}"));
    all.join(newline)
}

#[test]
fn private_keys_go_whole_or_cut_off() {
    let line = body(64);
    let lines = [line.as_str(), line.as_str(), "abcd=="];
    let kinds = [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ];
    for kind in kinds {
        for newline in ["\n", "\r\n", "\\n", "\\r\\n"] {
            let text = format!("before {}{newline}after", pem(kind, &lines, newline));
            assert_eq!(
                redact(&text).text,
                format!("before [redacted:private-key]{newline}after"),
                "{kind} {newline:?}"
            );
        }
        let whole = pem(kind, &lines, "\n");
        let cut_at_end = &whole[..whole.len() - 50];
        assert_eq!(redact(cut_at_end).text, "[redacted:private-key]", "{kind}");
        let cut_at_start = &whole[whole.find('\n').unwrap() + 11..];
        assert_eq!(redact(cut_at_start).text, "[redacted:private-key]", "{kind}");
    }
    let headed =
        pem("RSA PRIVATE KEY", &["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,00", "", &line], "\n");
    assert_eq!(redact(&headed).text, "[redacted:private-key]");
    let numbered: String = pem("PRIVATE KEY", &lines, "\n")
        .lines()
        .enumerate()
        .map(|(n, l)| format!("{:>6}→{l}\n", n + 1))
        .collect();
    assert_eq!(redact(&numbered).text, "     1→[redacted:private-key]\n");
    let spaced = pem("PRIVATE KEY", &lines, " ");
    assert_eq!(redact(&format!("KEY={spaced} x")).text, "KEY=[redacted:private-key] x");
    let cut_then_prose = format!("{}\n{line}\nThen the log says more.", &whole_head("PRIVATE KEY"));
    assert_eq!(redact(&cut_then_prose).text, "[redacted:private-key]\nThen the log says more.");
}

fn whole_head(kind: &str) -> String {
    format!("{0}BEGIN {kind}{0}", "-".repeat(5))
}

#[test]
fn labels_certificates_and_public_keys_stay() {
    let line = body(64);
    for text in [
        format!("Look for {} in the file.", whole_head("PRIVATE KEY")),
        pem("CERTIFICATE", &[&line], "\n"),
        pem("PUBLIC KEY", &[&line], "\n"),
        pem("PRIVATE KEY", &["..."], "\n"),
    ] {
        assert_eq!(redact(&text).text, text);
    }
}

#[test]
fn private_blocks_go() {
    let table = [
        ("a <private>b</private> c", "a [redacted:private] c"),
        ("a <PRIVATE>b\nc</Private>d", "a [redacted:private]d"),
        ("a <private>b <private>c</private> d</private> e", "a [redacted:private] e"),
        ("a <private>never closed", "a [redacted:private]"),
        ("the `<private>` tag hides text", "the `<private>` tag hides text"),
    ];
    for (text, expected) in table {
        assert_eq!(redact(text).text, expected);
    }
}

#[test]
fn headers_and_urls_lose_their_secret_only() {
    let b = body(40);
    let table = [
        (format!("Authorization: Bearer {b}"), "Authorization: Bearer [redacted:bearer]".to_owned()),
        (format!("curl -H \"authorization: bearer {b}\" x"), "curl -H \"authorization: bearer [redacted:bearer]\" x".into()),
        (format!(r#"{{"cmd":"curl -H \"Authorization: Bearer {b}\""}}"#), r#"{"cmd":"curl -H \"Authorization: Bearer [redacted:bearer]\""}"#.into()),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==".into(), "Authorization: Basic [redacted:basic]".into()),
        (format!("Authorization: token {b}"), "Authorization: token [redacted:authorization]".into()),
        (format!("'Authorization': '{b}'"), "'Authorization': '[redacted:authorization]'".into()),
        (format!("x-api-key: {b}"), "x-api-key: [redacted:secret]".into()),
        (format!("PRIVATE-TOKEN: {b}"), "PRIVATE-TOKEN: [redacted:secret]".into()),
        ("Cookie: session=abcdef123456; theme=dark".into(), "Cookie: [redacted:cookie]".into()),
        ("postgres://app:s3cr3t@db:5432/x".into(), "postgres://app:[redacted:url-credentials]@db:5432/x".into()),
        ("mysql://root:p@ss/w0rd@db/x".into(), "mysql://root:[redacted:url-credentials]@db/x".into()),
        ("redis://:hunter2@localhost:6379/0".into(), "redis://:[redacted:url-credentials]@localhost:6379/0".into()),
        ("https://user:changeme@example.com/a".into(), "https://user:[redacted:url-credentials]@example.com/a".into()),
        ("mongodb+srv://u:p4ssw0rd@c0.mongodb.net".into(), "mongodb+srv://u:[redacted:url-credentials]@c0.mongodb.net".into()),
        ("curl -u admin:hunter2 http://x".into(), "curl -u admin:[redacted:url-credentials] http://x".into()),
        (
            format!("git remote add o https://{}@github.com/x/y", &b[..20]),
            "git remote add o https://[redacted:url-credentials]@github.com/x/y".into(),
        ),
        ("sshpass -p hunter2 ssh host".into(), "sshpass -p [redacted:secret] ssh host".into()),
        (
            format!("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={b}==;EndpointSuffix=core"),
            "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=[redacted:azure-key];EndpointSuffix=core".into(),
        ),
        (format!("https://x.blob.core.windows.net/c?sv=2022&sig={b}%3D&se=1"), "https://x.blob.core.windows.net/c?sv=2022&sig=[redacted:url-signature]&se=1".into()),
    ];
    assert_rows(table.map(|(text, expected)| (text, expected.into())));
}

#[test]
fn assignments_lose_their_value_only() {
    let b = body(24);
    let table = [
        ("password=hunter2", "password=[redacted:secret]"),
        ("PASSWORD=changeme", "PASSWORD=[redacted:secret]"),
        ("password: changeme", "password: [redacted:secret]"),
        ("password = changeme", "password = [redacted:secret]"),
        ("export DB_PASSWORD='p@ss word'", "export DB_PASSWORD='[redacted:secret]'"),
        ("DB_PASSWORD=hunter2!@#)x", "DB_PASSWORD=[redacted:secret]"),
        ("db_pass: s3cret!", "db_pass: [redacted:secret]"),
        ("\"password\": \"correct horse\",", "\"password\": \"[redacted:secret]\","),
        ("{\"api_key\":\"BODY\"}", "{\"api_key\":\"[redacted:secret]\"}"),
        (r#"{\"api_key\": \"BODY\", \"a\": 1}"#, r#"{\"api_key\": \"[redacted:secret]\", \"a\": 1}"#),
        (r#"{\\\"apiKey\\\":\\\"BODY\\\"}"#, r#"{\\\"apiKey\\\":\\\"[redacted:secret]\\\"}"#),
        ("client_secret: BODY", "client_secret: [redacted:secret]"),
        ("  secret: \"BODY\" # note", "  secret: \"[redacted:secret]\" # note"),
        ("aws_secret_access_key = BODY", "aws_secret_access_key = [redacted:secret]"),
        ("AWS Secret Access Key [None]: BODY", "AWS Secret Access Key [None]: [redacted:secret]"),
        ("const apiKey: string = \"BODY\";", "const apiKey: string = \"[redacted:secret]\";"),
        ("static API_KEY: &str = \"BODY\";", "static API_KEY: &str = \"[redacted:secret]\";"),
        ("os.environ[\"API_KEY\"] = \"BODY\"", "os.environ[\"API_KEY\"] = \"[redacted:secret]\""),
        ("token := \"BODY\"", "token := \"[redacted:secret]\""),
        (":token => 'BODY'", ":token => '[redacted:secret]'"),
        ("mysql --password hunter2 db", "mysql --password [redacted:secret] db"),
        ("mysql --password=hunter2 db", "mysql --password=[redacted:secret] db"),
        ("deploy --token BODY --yes", "deploy --token [redacted:secret] --yes"),
        ("https://x/y?access_token=BODY&z=1", "https://x/y?access_token=[redacted:secret]&z=1"),
        ("Server=x;Password=hunter2;Trusted=no", "Server=x;Password=[redacted:secret];Trusted=no"),
        ("<password>hunter2</password>", "<password>[redacted:secret]</password>"),
        ("machine x login me password hunter2", "machine x login me password [redacted:secret]"),
        ("//registry.npmjs.org/:_authToken=BODY", "//registry.npmjs.org/:_authToken=[redacted:secret]"),
        ("密码：hunter2。然后", "密码：[redacted:secret]。然后"),
        ("数据库密码是hunter2，请记住", "数据库密码是[redacted:secret]，请记住"),
        ("パスワード：「ひみつ123」", "パスワード：「[redacted:secret]」"),
        ("비밀번호: hunter2", "비밀번호: [redacted:secret]"),
        ("Пароль: hunter2", "Пароль: [redacted:secret]"),
        ("the password is hunter2.", "the password is [redacted:secret]."),
        ("ENV SECRET_KEY_BASE BODY", "ENV SECRET_KEY_BASE [redacted:secret]"),
        (
            "aws configure set aws_secret_access_key BODY",
            "aws configure set aws_secret_access_key [redacted:secret]",
        ),
        ("docker login -u me -p hunter2", "docker login -u me -p [redacted:secret]"),
        ("mysql -u root -phunter2 db", "mysql -u root -p[redacted:secret] db"),
        ("device_key=BODY", "device_key=[redacted:secret]"),
        ("password: \"cut off at the en", "password: \"[redacted:secret] off at the en"),
        ("PASSWORD=12345678", "PASSWORD=[redacted:secret]"),
        ("user_pwd = 'abc123'", "user_pwd = '[redacted:secret]'"),
        ("CREATE USER x WITH PASSWORD 'hunter2';", "CREATE USER x WITH PASSWORD '[redacted:secret]';"),
    ];
    assert_rows(table.map(|(text, expected)| (text.replace("BODY", &b), expected.into())));
}

#[test]
fn what_only_names_a_secret_stays() {
    let table = [
        "const key = process.env.API_KEY;",
        "apiKey: process.env.API_KEY,",
        "password = os.environ[\"DB_PASSWORD\"]",
        "token = os.getenv('TOKEN')",
        "PASSWORD=${DB_PASSWORD}",
        "PASSWORD=$DB_PASSWORD",
        "TOKEN=$(cat token.txt)",
        "password: <your-password>",
        "password: \"<your-password>\"",
        "api_key = \"your-api-key-here\"",
        "api_key: xxxxxxxxxxxxxxxx",
        "password: ********",
        "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "function login(user: string, password: string) {",
        "token: string;",
        "password: Option<String>,",
        "pub token: AuthToken,",
        "password = get_password()",
        "password = getpass.getpass(\"Password: \")",
        "login(user, password=password)",
        "connect(password=user_password)",
        "const token = response.data.token;",
        "token = self.token",
        "if (password == input) {",
        "password: \"Password is required\"",
        "<input type=\"password\" name=\"x\">",
        "secret: ${{ secrets.DEPLOY_KEY }}",
        "password: {{ vault_password }}",
        "max_tokens: 4096",
        "\"input_tokens\": 123456, \"output_tokens\": 99",
        "tokens: 1234567",
        "token_type: bearer",
        "PASSWORD_FILE=/run/secrets/db_password",
        "secretName: db-credentials",
        "The token is invalid and the password is wrong.",
        "Bearer authentication is required",
        "Authorization: Bearer ${token}",
        "Authorization: Bearer <token>",
        "headers.Authorization = `Bearer ${token}`",
        "Basic usage: see below",
        "550e8400-e29b-41d4-a716-446655440000",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "/home/dev/app/src/token/password.rs",
        "https://example.com:8080/path?x=1",
        "git@github.com:user/repo.git",
        "https://github.com/user/repo@v1",
        "postgres://user:${PASSWORD}@host/db",
        "postgres://user:<password>@host/db",
        "sk-learn-pipeline-with-many-words",
        "class=\"sk-fading-circle sk-cube-grid-animation\"",
        "hf_hub_download(repo_id=x)",
        "npm_config_registry and npm_lifecycle_event",
        "password:",
        "--password",
        "--token --verbose",
        "Enter your password: ",
        "api key: not set",
        "use std::secret::Token;",
        "forgot_password_url = \"/reset\"",
        "secret santa list",
        "token: \"identifier\"",
        "[redacted:github]",
        "password=[redacted:secret]",
        "Bearer [redacted:jwt]",
        "tokenizer = \"cl100k_base\"",
        "let tokens = tokenize(text);",
        "密码：<你的密码>",
        "OPENAI_API_KEY=\"sk-...\"",
        "mkdir -p a/b && docker run -p 8080:80 x",
        "https://some-user@example.com/x",
        "1password = \"latest\"",
        "token: `OP_SERVICE_ACCOUNT_TOKEN`",
        "test/secret_refs.bats:187:\t# cycle",
        "password must be at least 8 characters",
        "Use password base64 or OAuth2 to log in",
        "log in as admin with the new form",
        "ssh in as deploy / root",
        "user guide and docs2024",
        "try the passphrase prompt when it appears to be gone for",
        "pin version 4711 of the API",
        "the WLAN key is missing",
    ];
    assert_rows(table.map(|text| (text.to_owned(), text.into())));
    for text in table {
        let redacted = redact(text);
        assert!(redacted.hits.is_empty() && matches!(redacted.text, Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn plain_words_and_digits_are_secrets_where_they_are_called_so() {
    let words = ["correct horse battery staple", "gravel-otter-window-plume", "Gravel Otter Window Plume"];
    let mnemonic = "abandon ability able about above absent absorb abstract absurd abuse access this";
    let phrase = words[0];
    let table = [
        (format!("passphrase: {phrase}"), "passphrase: [redacted:secret]"),
        (format!("The password is {phrase}."), "The password is [redacted:secret]."),
        (format!("password was {phrase}, change it"), "password was [redacted:secret], change it"),
        (
            format!("the passphrase is {phrase} for the vault"),
            "the passphrase is [redacted:secret] for the vault",
        ),
        (format!("pass phrase = {}", words[1]), "pass phrase = [redacted:secret]"),
        (format!("Passphrase: {}\nnext", words[2]), "Passphrase: [redacted:secret]\nnext"),
        (format!("seed phrase: {mnemonic}"), "seed phrase: [redacted:secret]"),
        (format!("recovery phrase is {mnemonic}\n"), "recovery phrase is [redacted:secret]\n"),
        (format!("mnemonic=\"{mnemonic}\""), "mnemonic=\"[redacted:secret]\""),
        (format!("{{\"passphrase\": \"{phrase}\"}}"), "{\"passphrase\": \"[redacted:secret]\"}"),
        (format!("Always use the passphrase {phrase}."), "Always use the passphrase [redacted:secret]."),
        ("Use PIN 4711 for the test card".into(), "Use PIN [redacted:secret] for the test card"),
        ("user admin and password Pluto99".into(), "user admin and password [redacted:secret]"),
        (
            "log in as root with hunter2 on the bastion".into(),
            "log in as root with [redacted:secret] on the bastion",
        ),
        ("ssh in as deploy / Sommer77xq!".into(), "ssh in as deploy / [redacted:secret]!"),
        (
            "Our wifi key is kranich55xq, for the phones".into(),
            "Our wifi key is [redacted:secret], for the phones",
        ),
        ("以后登录密码都用 Pluto99zz".into(), "以后登录密码都用 [redacted:secret]"),
        ("my pin is 4821".into(), "my pin is [redacted:secret]"),
        ("PIN: 482133, ok".into(), "PIN: [redacted:secret], ok"),
        ("card_pin=4821".into(), "card_pin=[redacted:secret]"),
        ("\"pin\": 4821}".into(), "\"pin\": [redacted:secret]}"),
        ("The PIN code is \"4821\".".into(), "The PIN code is \"[redacted:secret]\"."),
        ("PIN码是4821。".into(), "PIN码是[redacted:secret]。"),
        ("暗証番号は4821です".into(), "暗証番号は[redacted:secret]です"),
        ("the passcode is 482133".into(), "the passcode is [redacted:secret]"),
        ("Your verification code: 482133".into(), "Your verification code: [redacted:secret]"),
        (
            "recovery codes: a1b2-c3d4, e5f6-g7h8".into(),
            "recovery codes: [redacted:recovery-code], [redacted:recovery-code]",
        ),
        (
            "Backup codes (keep them safe):\n1. 1234 5678".replace("1234 5678", "12345678")
                + "\n2. 87654321\nThen log in",
            "Backup codes (keep them safe):\n1. [redacted:recovery-code]\n2. [redacted:recovery-code]\nThen log in",
        ),
        (
            "\"recovery_codes\": [\"a1b2c3d4e5\", \"f6g7h8i9j0\"]".into(),
            "\"recovery_codes\": [\"[redacted:recovery-code]\", \"[redacted:recovery-code]\"]",
        ),
    ];
    assert_rows(table.map(|(text, expected)| (text, expected.into())));
}

#[test]
fn configuration_of_well_known_tools_loses_its_secrets() {
    let (line, b) = (body(64), body(40));
    let account = pem("PRIVATE KEY", &[&line, &line], "\\n");
    let twice = pem("PRIVATE KEY", &[&line, &line], "\\\\n");
    let table = [
        ("device key: 3f9c-77ab-01de-9f3c".to_owned(), "device key: [redacted:secret]".to_owned()),
        (
            "recovery key: EsTb 1".replace("EsTb 1", "EsTb-4kLm-9pQr"),
            "recovery key: [redacted:secret]".into(),
        ),
        (format!("PrivateKey = {}=", &b[..39]), "PrivateKey = [redacted:secret]".into()),
        (format!("PresharedKey = {}=", &b[..39]), "PresharedKey = [redacted:secret]".into()),
        ("Set-Cookie: sid=abcdef123456; Path=/; HttpOnly".into(), "Set-Cookie: [redacted:cookie]".into()),
        ("{\"cookie\": \"sid=abcdef123456\"}".into(), "{\"cookie\": \"[redacted:cookie]\"}".into()),
        ("curl --cookie \"sid=abcdef123456\" x".into(), "curl --cookie \"[redacted:cookie]\" x".into()),
        ("curl -H 'Cookie: sid=abcdef123456' x".into(), "curl -H 'Cookie: [redacted:cookie]' x".into()),
        (
            "-H \"Authorization: Basic dXNlcjpwYXNz\"".into(),
            "-H \"Authorization: Basic [redacted:basic]\"".into(),
        ),
        (
            "machine example.com\n  login me\n  password hunter2\n".into(),
            "machine example.com\n  login me\n  password [redacted:secret]\n".into(),
        ),
        (
            "machine x login me\npassword hunter2".into(),
            "machine x login me\npassword [redacted:secret]".into(),
        ),
        ("mysql -u root -p hunter2 db".into(), "mysql -u root -p [redacted:secret] db".into()),
        (
            "mysqldump --user=x --password='s3 cret' db".into(),
            "mysqldump --user=x --password='[redacted:secret]' db".into(),
        ),
        ("psql -h db -p hunter2 app".into(), "psql -h db -p [redacted:secret] app".into()),
        ("PGPASSWORD=hunter2 psql -h db".into(), "PGPASSWORD=[redacted:secret] psql -h db".into()),
        ("MYSQL_PWD=hunter2 mysql".into(), "MYSQL_PWD=[redacted:secret] mysql".into()),
        (
            "Server=db;Database=x;User Id=sa;Password=P@ssw0rd;".into(),
            "Server=db;Database=x;User Id=sa;Password=[redacted:secret];".into(),
        ),
        ("Data Source=db;Uid=sa;Pwd=hunter2;".into(), "Data Source=db;Uid=sa;Pwd=[redacted:secret];".into()),
        (
            "host=db user=x password=hunter2 dbname=y".into(),
            "host=db user=x password=[redacted:secret] dbname=y".into(),
        ),
        (format!("AGE-SECRET{}", key(&["-KEY-1", &upper(58)])), "[redacted:age]".into()),
        (
            format!("{{\"type\": \"service_account\", \"private_key\": \"{account}\\n\", \"x\": 1}}"),
            "{\"type\": \"service_account\", \"private_key\": \"[redacted:private-key]\\n\", \"x\": 1}"
                .into(),
        ),
        (
            format!("{{\\\"private_key\\\": \\\"{twice}\\\"}}"),
            "{\\\"private_key\\\": \\\"[redacted:private-key]\\\"}".into(),
        ),
        (pem("PGP PRIVATE KEY BLOCK", &["Version: 1", "", &line], "\r\n"), "[redacted:private-key]".into()),
    ];
    assert_rows(table.map(|(text, expected)| (text, expected.into())));
}

#[test]
fn talk_about_secrets_stays() {
    let table = [
        "password is required",
        "passphrase: string",
        "const password = getPassword()",
        "password is never stored in the log",
        "The password is sent over the wire without encryption",
        "the passphrase is read from the keychain once",
        "password: must have eight or more characters",
        "passphrase is empty unless the user sets one",
        "The password is correct now and login works again",
        "pin is connected to 3.3V",
        "PIN: GPIO17",
        "pin: 1.2.3",
        "pin is 13 on this board",
        "We pin version 2024 of the compiler",
        "spin: 1234",
        "The pin was 2024.1.0 before",
        "OTP is off by default",
        "the recovery codes are shown once",
        "recovery codes: see docs/2fa.md",
        "backup codes\nare generated by the server",
        "Cookie: none",
        "\"cookie\": \"strict\"",
        "document.cookie is not readable",
        "psql -h db -p 5432 app",
        "mysql -u root -p < dump.sql",
        "mysql -u root -p -e 'select 1'",
        "login page and password field",
        "security code review: 12 findings",
        "seed phrase: never ask the user for it",
    ];
    for text in table {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn invisible_characters_hide_no_secret() {
    let token = key(&["gh", "p_", &body(36)]);
    for hidden in [
        "\u{200b}",
        "\u{200d}",
        "\u{200c}",
        "\u{2060}",
        "\u{ad}",
        "\u{feff}",
        "\u{fe0f}",
        "\u{e0101}",
        "\u{200e}",
    ] {
        let split = format!("{}{hidden}{}", &token[..9], &token[9..]);
        assert_eq!(redact(&format!("see {split}, ok")).text, "see [redacted:github], ok", "{hidden:?}");
        let word = format!("pass{hidden}word=hunt{hidden}er2");
        assert_eq!(redact(&word).text, "password=[redacted:secret]", "{hidden:?}");
    }
    assert!(matches!(redact("a\u{200b}b").text, Cow::Borrowed("a\u{200b}b")));
}

#[test]
fn escapes_glue_and_line_ends_hide_no_key() {
    let (token, b) = (key(&["gh", "p_", &body(36)]), body(80));
    let ant = key(&["sk-", "ant-api03-", &b[..40]]);
    let aws = key(&["AK", "IA", &upper(16)]);
    let rows = [
        (format!("\\u001b[31m{token}\\u001b[0m"), "\\u001b[31m[redacted:github]\\u001b[0m".to_owned()),
        (format!("\u{1b}[1;31m{token}\u{1b}[0m"), "\u{1b}[1;31m[redacted:github]\u{1b}[0m".into()),
        (format!("\\x1b[31m{aws}"), "\\x1b[31m[redacted:aws-key]".into()),
        (format!("x%3D{aws}"), "x%3D[redacted:aws-key]".into()),
        (format!("token%3D{token}"), "token%3D[redacted:github]".into()),
        (format!("\\u0022{token}\\u0022"), "\\u0022[redacted:github]\\u0022".into()),
        (format!("s-1{token}"), "s-1[redacted:github]".into()),
        (format!("key{ant}"), "key[redacted:anthropic]".into()),
        (format!("{ant}\n{}\nnext", &b[..30]), "[redacted:anthropic]\nnext".into()),
        (format!("{ant}\r\n{}", &b[..30]), "[redacted:anthropic]".into()),
        (
            format!("{ant}\nThe next line with 12345678"),
            "[redacted:anthropic]\nThe next line with 12345678".into(),
        ),
        (format!("{ant}\n{ant}\n"), "[redacted:anthropic]\n[redacted:anthropic]\n".into()),
        (format!("{}\n{}\n", key(&["sk-", "proj-", &b[..40]]), &b[..20]), "[redacted:openai]\n".into()),
        (format!("tok\u{200b}{token}"), "tok[redacted:github]".into()),
        (format!("tok\u{200b}{aws}"), "tok[redacted:aws-key]".into()),
    ];
    assert_rows(rows.map(|(text, expected)| (text, expected.into())));
    for text in ["mypypi-mirror-2024-of-the-company", "taskrunner-1-of-many-words", "atglpat-less words"] {
        assert_eq!(redact(text).text, text);
    }
}

#[test]
fn values_stand_in_many_places() {
    let table = [
        ("password%3Dhunter2%26x", "password%3D[redacted:secret]%26x"),
        ("%22password%22%3A%22hunter2%22", "%22password%22%3A%22[redacted:secret]%22"),
        (
            r#"{"name":"DB_PASSWORD","value":"hunter2"}"#,
            r#"{"name":"DB_PASSWORD","value":"[redacted:secret]"}"#,
        ),
        (
            r#"{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"}"#,
            r#"{\"name\":\"DB_PASSWORD\",\"value\":\"[redacted:secret]\"}"#,
        ),
        ("- name: DB_PASSWORD\n  value: changeme\n", "- name: DB_PASSWORD\n  value: [redacted:secret]\n"),
        (
            "- name: DB_PASSWORD\n  value: \"changeme\"\n",
            "- name: DB_PASSWORD\n  value: \"[redacted:secret]\"\n",
        ),
        ("password: |\n  changeme\nnext: 1", "password: |\n  [redacted:secret]\nnext: 1"),
        ("password: >-\n  hunter2\n  more\nnext: 1", "password: >-\n  [redacted:secret]\nnext: 1"),
        ("password:\n- hunter2\n- name: x", "password:\n- [redacted:secret]\n- name: x"),
        ("\"password\": [\"changeme\"]", "\"password\": [\"[redacted:secret]\"]"),
        ("password = \"\"\"changeme\"\"\"", "password = \"\"\"[redacted:secret]\"\"\""),
        ("Password is: hunter2", "Password is: [redacted:secret]"),
        ("Das Passwort lautet hunter2.", "Das Passwort lautet [redacted:secret]."),
        ("pw: hunter2", "pw: [redacted:secret]"),
        ("pass: hunter2", "pass: [redacted:secret]"),
        ("password -> hunter2", "password -> [redacted:secret]"),
        ("password\u{a0}=\u{a0}hunter2", "password\u{a0}=\u{a0}[redacted:secret]"),
        ("openssl rsa -passin pass:hunter2 -in k", "openssl rsa -passin pass:[redacted:secret] -in k"),
        ("redis-cli -h db -a hunter2 ping", "redis-cli -h db -a [redacted:secret] ping"),
        (
            r#"{"auths":{"r":{"auth":"dXNlcjpwYXNz"}}}"#,
            r#"{"auths":{"r":{"auth":"[redacted:registry-auth]"}}}"#,
        ),
    ];
    assert_rows(table.map(|(text, expected)| (text.to_owned(), expected.into())));
    let named = [
        "password:\n- at least eight characters\n- one digit",
        "password:\n- username",
        "first pass: parse2trees",
        "pass: 120, fail: 3",
        "--- PASS: TestTranscript2AtUuid (0.00s)",
        "pass: quickly over it",
        "scopes for the token: [\"read\", \"write\"]",
        "ls -a src",
        "\"auth\": \"required\"",
        "name: DB_PASSWORD\nvalue: ${DB_PASSWORD}",
        "the password is: required",
        "password -> string",
    ];
    assert_rows(named.map(|text| (text.to_owned(), text.into())));
}

#[test]
fn hostile_text_takes_linear_time() {
    let n = 300_000;
    for unit in [
        "sk-",
        "eyJ",
        "-eyJ",
        ".eyJ",
        "ghp_",
        "token=\"",
        "token='",
        "password:\\\"",
        "://a:",
        "<private>",
        "Bearer ",
        "AKIA",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----",
        "secret secret ",
        "Cookie:a=",
        "密码",
        "1234567890:AA",
        ".123456",
        "a.123456.",
        "-----BEGIN ",
        "token: ",
        "hooks.slack.com/services/",
        "passwordpassword",
        " -u a",
        "\\n",
        "sk-x",
        "sk-a-",
        "pin: ",
        "passphrase: abc ",
        "recovery codes:\n",
        "recovery codes: a1b2c3 ",
        "\u{200b}a",
        "xpypi-",
        "password:\n- a1\n",
        "password: |\n a",
        "password: [\"",
        "password=\"\"\"",
        "password\",",
        "password%3D",
        "sk-ant-a1a1a1a1a1a1a1a1a1\n",
    ] {
        let text = unit.repeat(n / unit.len());
        let started = std::time::Instant::now();
        redact(&text);
        let took = started.elapsed();
        assert!(took.as_secs() < 10, "{unit:?} took {took:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn redacting_again_changes_nothing(
        text in "(password|passphrase: |pin is |recovery codes: |a1b2-c3d4|1234|gravel otter |\u{200b}|token|secret|api_key|DB_PASS|密码|：|是|=|: | = |\"|'|\\\\|\\[redacted:x\\]|Bearer |Basic |Authorization: |Cookie: |https://|://u:|@| -u | -p|login |ENV |AccountKey=|[?&]sig=|<private>|</private>|\
            sk-|ghp_|AKIA|eyJ|:AA|SG\\.|1234567890|[a-zA-Z0-9]{1,45}|[A-Z0-9]{16}|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|\\n|\\\\n| |,|;|\\PC){0,40}",
    ) {
        let once = redact(&text);
        let twice = redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert!(twice.hits.is_empty());
    }

    #[test]
    fn any_text_is_survived(text in any::<String>()) {
        let redacted = redact(&text);
        prop_assert_eq!(redacted.hits.is_empty(), matches!(redacted.text, Cow::Borrowed(_)));
    }
}

#[test]
fn what_a_sentence_or_a_table_tells_is_hidden() {
    for (text, secret) in [
        ("Das Passwort für staging ist Kr0kodil77xQz, immer dieses benutzen.", "Kr0kodil77xQz"),
        ("My passwd for the VPN: Kaktus77xyzw", "Kaktus77xyzw"),
        ("| password | Tulpe99xqzz |", "Tulpe99xqzz"),
        ("Always use `API_KEY` `7f3a9c1e5b8d2f604a7c9e1b3d5f8062` here.", "7f3a9c1e5b8d2f604a7c9e1b3d5f8062"),
        ("The PIN of the build phone is 739154.", "739154"),
        (
            "Use the token wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzKEYQQQQQ for staging.",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzKEYQQQQQ",
        ),
        ("Use the token Zq3vT8nLw2KdYc5RbXj7 there.", "Zq3vT8nLw2KdYc5RbXj7"),
        ("Log in as user admin and password Stern55Himmel there.", "Stern55Himmel"),
    ] {
        let told = redact(text);
        assert!(!told.text.contains(secret), "{}", told.text);
        assert_eq!(redact(&told.text).text, told.text, "{text}");
    }
    for text in [
        "The password for the admin page is stored in 1Password.",
        "The token for CI is rotated every 30 days.",
        "| token | count |",
        "| password | required |",
        "Use the token TERM_ACCENT for highlights.",
        "Put the key in config/app2.toml.",
        "The token in src/auth2/token.rs is checked.",
        "The pin for the build is python 3.12.",
    ] {
        assert_eq!(redact(text).text, text);
    }
}
