//! Tells a secret from a word that only stands in its place.

/// How a value stands behind its name; the barer, the more it must look like a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// In quotes, or between tags.
    Quoted,
    /// `NAME=value` or `--name value`.
    Tight,
    /// `name: value`, `name = value`: also the form of code and prose.
    Loose {
        /// The value is all there is on the rest of its line, and the name all before it.
        alone: bool,
    },
}

/// What the name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    /// A password or passphrase: may be any word.
    Password,
    /// A key or a secret.
    Key,
    /// A token: the word has many other meanings.
    Token,
}

/// Whether `value` stands where a value will be: `xxxx`, `...`, `<token>`, `your-key-here`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let filler = |c: char| matches!(c, 'x' | 'X' | '*' | '.' | '-' | '_' | '#' | '?' | '…' | '•' | '●');
    if value.ends_with("...") || value.ends_with('…') {
        return true;
    }
    let crosses = value.chars().filter(|c| matches!(c, 'x' | 'X' | '*' | '•' | '●')).count();
    if value.chars().all(filler) || (crosses >= 6 && crosses * 4 >= value.chars().count() * 3) {
        return true;
    }
    let head: String = value.chars().take(24).flat_map(char::to_lowercase).collect();
    let starts = [
        "your-",
        "your_",
        "your ",
        "yourapi",
        "yourkey",
        "yourtoken",
        "yourpass",
        "yoursecret",
        "placeholder",
        "replace-",
        "replace_",
        "insert-",
        "insert_",
        "xxxx",
        "****",
        "...",
        "…",
        "<",
        "dummy-",
        "redacted",
        "[redacted",
        "enter-",
        "enter_",
        "put-",
        "put_",
        "todo",
        "tbd",
        "fill-",
        "fill_",
    ];
    starts.iter().any(|start| head.starts_with(start))
}

/// Whether `value`, standing behind a name that promises a secret, is one.
pub(super) fn is_secret(name: &str, value: &str, promise: Promise, style: Style) -> bool {
    let value = value.trim();
    if value.is_empty() || is_placeholder(value) || is_reference(value) || is_word_of_code(name, value) {
        return false;
    }
    let long_enough = match promise {
        Promise::Password => 3,
        Promise::Key => 4,
        Promise::Token => 8,
    };
    if is_variable_name(value)
        || value.chars().count() < long_enough
        || (is_path(value) && !is_random(value))
        || is_address(value)
    {
        return false;
    }
    let has_digit = value.chars().any(char::is_numeric);
    let all_digits = value.chars().all(|c| c.is_numeric() || matches!(c, '.' | ',' | '_' | '-'));
    match (promise, style) {
        (Promise::Token | Promise::Key, _) if all_digits && value.len() < 16 => false,
        (Promise::Token, Style::Quoted) => {
            !is_prose(value) && (has_digit || value.len() >= 16 || is_mixed(value))
        }
        (_, Style::Quoted) => !is_prose(value),
        (_, _) if is_code(value) => false,
        (Promise::Token, Style::Tight) => has_digit || value.len() >= 12 || is_mixed(value),
        (_, Style::Tight) => true,
        (Promise::Token, Style::Loose { .. }) => has_digit || is_mixed(value),
        (_, Style::Loose { alone }) => {
            let symbols =
                value.chars().any(|c| c.is_ascii_punctuation() && !matches!(c, '_' | '.' | '-' | ':' | '/'));
            has_digit
                || symbols
                || (alone && value.chars().count() >= 6 && value.chars().all(char::is_lowercase))
        }
    }
}

/// A name for a value kept elsewhere: `$VAR`, `${VAR}`, `{{ x }}`, `process.env.X`, `os.environ["X"]`.
fn is_reference(value: &str) -> bool {
    let starts = [
        "$",
        "{",
        "%(",
        "@@",
        "!",
        "process.env",
        "import.meta",
        "os.environ",
        "os.getenv",
        "os.Getenv",
        "env.",
        "env(",
        "env!(",
        "ENV[",
        "env[",
        "secrets.",
        "vars.",
        "System.getenv",
        "std::env",
        "getenv",
        "Deno.env",
        "config.",
        "settings.",
        "self.",
        "this.",
        "args.",
        "var.",
        "local.",
        "data.",
        "op://",
        "vault:",
        "arn:aws",
        "ref+",
        "file://",
        "&",
        "=",
        "keyring:",
    ];
    let whole = value.len() > 2 && value.starts_with('%') && value.ends_with('%');
    let strict_bang = value.starts_with("!Ref")
        || value.starts_with("!Sub")
        || value.starts_with("!secret")
        || value.starts_with("!ENV");
    let named = starts.iter().any(|start| match *start {
        "!" => strict_bang,
        "$" => {
            let name = value.strip_prefix('$').and_then(|rest| rest.chars().next());
            name.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '{' | '(' | '_'))
                && !is_dollar_hash(value)
        }
        "&" | "=" => value.starts_with(start) && value.len() < 3,
        start => value.starts_with(start),
    });
    named || whole || ["${", "{{", "#{", "$("].iter().any(|mark| value.contains(mark))
}

/// `OP_SERVICE_ACCOUNT_TOKEN`: the name of an environment variable that holds a secret.
fn is_variable_name(value: &str) -> bool {
    let screaming = value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    screaming
        && value.contains('_')
        && ["TOKEN", "KEY", "SECRET", "PASS", "PWD", "CREDENTIAL"].iter().any(|word| value.contains(word))
}

/// `$2b$10$…`, `$argon2id$…`: a hashed password.
fn is_dollar_hash(value: &str) -> bool {
    value.matches('$').count() >= 3
}

/// A type, a literal of a language, the name itself.
fn is_word_of_code(name: &str, value: &str) -> bool {
    const WORDS: &[&str] = &[
        "string",
        "str",
        "text",
        "bytes",
        "bool",
        "boolean",
        "int",
        "integer",
        "number",
        "float",
        "any",
        "object",
        "unknown",
        "true",
        "false",
        "null",
        "none",
        "nil",
        "undefined",
        "void",
        "self",
        "this",
        "required",
        "optional",
        "hidden",
        "default",
        "varchar",
        "char",
        "password",
        "passwd",
        "secret",
        "token",
        "key",
        "apikey",
        "api_key",
        "credential",
        "credentials",
        "passphrase",
        "bearer",
        "basic",
        "yes",
        "no",
        "on",
        "off",
        "empty",
        "missing",
        "invalid",
        "expired",
        "valid",
        "set",
        "unset",
        "example",
        "value",
        "input",
        "prompt",
        "new",
        "await",
        "async",
        "return",
        "function",
        "fn",
        "auto",
        "inherit",
        "plaintext",
        "encrypted",
        "sha256",
        "sha512",
        "bcrypt",
        "argon2",
        "utf-8",
        "utf8",
        "base64",
        "hex",
        "ascii",
        "never",
        "always",
        "latest",
    ];
    let value = value.trim_matches(|c: char| matches!(c, '?' | '!' | ',' | ';' | '&'));
    let squeeze = |text: &str| text.to_lowercase().replace(['_', '-', '.'], "");
    WORDS.iter().any(|word| value.eq_ignore_ascii_case(word)) || squeeze(value) == squeeze(name)
}

/// An unquoted expression: a call, an index, a dotted or scoped path, an identifier written as code writes them.
fn is_code(value: &str) -> bool {
    let identifier = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
            && part.len() <= 32
            && part.chars().filter(char::is_ascii_digit).count() <= 1
    };
    let head = value.split(['(', '[', '<', '{']).next().unwrap_or(value);
    let called = head.len() < value.len();
    let parts: Vec<&str> =
        head.split("::").flat_map(|part| part.split("->")).flat_map(|part| part.split('.')).collect();
    let all_identifiers = parts.iter().all(|part| identifier(part.trim_end_matches(['?', '!'])));
    let camel =
        value.bytes().any(|b| b.is_ascii_uppercase()) && value.bytes().any(|b| b.is_ascii_lowercase());
    let snake = head.contains('_') && !head.bytes().any(|b| b.is_ascii_digit());
    let no_digits = !head.bytes().any(|b| b.is_ascii_digit());
    (all_identifiers && (called || parts.len() > 1 || (no_digits && (camel || snake))))
        || value.contains("=>")
        || value.starts_with("::")
}

fn is_path(value: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "C:\\", "c:\\", "D:\\", "\\\\"];
    starts.iter().any(|start| value.starts_with(start))
        && value
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '/' | '\\' | '.' | '_' | '-' | '~' | ':' | ' '))
}

/// An address of its own; what is secret in it, another rule finds.
fn is_address(value: &str) -> bool {
    value.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+')
    })
}

/// Upper and lower case and a digit, in a length no word has.
fn is_random(value: &str) -> bool {
    value.len() >= 24
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_uppercase())
        && value.bytes().any(|b| b.is_ascii_lowercase())
        && !value.contains('.')
}

fn is_mixed(value: &str) -> bool {
    let upper_inside = value.chars().skip(1).filter(|c| c.is_uppercase()).count();
    value.len() >= 12 && upper_inside >= 3 && value.chars().any(char::is_lowercase)
}

/// A quoted sentence (`password: "Password is required"`), not a passphrase.
fn is_prose(value: &str) -> bool {
    let words = value.split_whitespace().count();
    let sentence = value.starts_with(char::is_uppercase)
        || value.ends_with(['.', '?', '!', ':', '…'])
        || value.contains('{');
    let speaks_of_it = ["password", "token", "secret", "key", "required", "must", "enter"]
        .iter()
        .any(|word| value.to_lowercase().contains(word));
    (words >= 2 && speaks_of_it) || (words >= 3 && sentence) || words > 8
}
