//! What a failure may tell of what somebody printed: without secrets, in clean characters, and cut. In this order: half
//! a secret is recognised by nobody.

use std::borrow::Cow;

use doze_core::redact::redact;
use doze_core::text;
use doze_core::url::Address;

use crate::Extractor;

/// Shorter secrets are no secrets, and blanking them would blank words.
const MIN_SECRET: usize = 4;
/// What stands in the place of what the configuration holds.
const BLANK: &str = "[redacted:configured]";

/// Knows the secrets that an extractor was configured with, so that whoever is asked cannot hand them back.
#[derive(Debug, Default)]
pub(crate) struct Teller {
    secrets: Vec<String>,
}

impl Teller {
    pub(crate) fn of(extractor: &Extractor) -> Self {
        let mut secrets = match extractor {
            Extractor::Agent { key, .. } => key.iter().map(|key| key.secret().to_owned()).collect(),
            Extractor::Http(endpoint) => {
                let mut secrets = Address::of(&endpoint.url).secrets();
                secrets.extend(endpoint.key.iter().map(|key| key.secret().to_owned()));
                secrets
            }
            Extractor::Command { .. } => Vec::new(),
        };
        secrets.retain(|secret| secret.len() >= MIN_SECRET);
        // One may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets }
    }

    /// The text without what was configured.
    pub(crate) fn blanked<'a>(&self, said: &'a str) -> Cow<'a, str> {
        let mut said = Cow::Borrowed(said);
        for secret in &self.secrets {
            if said.contains(secret.as_str()) {
                said = Cow::Owned(said.replace(secret.as_str(), BLANK));
            }
        }
        said
    }

    fn whole(&self, said: &str) -> String {
        redact(&self.blanked(&text::clean(said))).text.into_owned()
    }

    /// The first characters of it.
    pub(crate) fn start(&self, said: &str, max_chars: usize) -> String {
        text::cut(self.whole(said).trim(), max_chars).to_owned()
    }

    /// Its last bytes.
    pub(crate) fn end(&self, said: &str, max_bytes: usize) -> String {
        let whole = self.whole(said);
        let whole = whole.trim();
        whole[whole.ceil_char_boundary(whole.len().saturating_sub(max_bytes))..].to_owned()
    }
}

/// Text whose end was lost at a bound, without the word that it broke off in.
pub(crate) fn without_broken_word(text: &str) -> &str {
    &text[..text.rfind(char::is_whitespace).unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Agent, Api, Endpoint, Key};

    const BODY: &str = "aB3dE5fG7hI9jK1mN2pQ4rS6tU8vW0xY1zA2";

    fn survives(told: &str, secret: &str) -> bool {
        (0..=secret.len() - 8).any(|at| told.contains(&secret[at..at + 8]))
    }

    #[test]
    fn what_was_configured_is_never_handed_back() {
        let http = |url: &str, key: Option<&str>| {
            Extractor::Http(Endpoint {
                url: url.into(),
                api: Api::OpenAi,
                model: String::new(),
                key: key.map(Key::new),
            })
        };
        let agent = Extractor::Agent {
            agent: Agent::Claude,
            program: "/bin/claude".into(),
            model: None,
            key: Some(Key::new(BODY)),
        };
        for extractor in [
            http("http://h", Some(BODY)),
            http(&format!("http://me:{BODY}@h/v1"), None),
            http(&format!("http://h/v1?key={BODY}&x=1"), None),
            http(&format!("http://h/v1?{BODY}"), None),
            agent,
        ] {
            let teller = Teller::of(&extractor);
            for said in [format!("Bad key given: {BODY}"), format!("x{BODY}x"), format!("{BODY}{BODY}")] {
                for told in [teller.start(&said, 40), teller.end(&said, 40), teller.blanked(&said).into()] {
                    assert!(!survives(&told, BODY), "{told}");
                }
            }
        }
        // A password as it was written and as it was meant.
        let told = Teller::of(&http("http://me:p%40ssword@h", None)).start("p%40ssword or p@ssword", 90);
        assert!(!told.contains("ssword"), "{told}");
    }

    #[test]
    fn an_end_is_cut_at_a_character() {
        let long = format!("é{}", "x".repeat(9));
        assert_eq!(Teller::default().end(&long, 10), &long[2..]);
        assert_eq!(Teller::default().end("short", 10), "short");
        assert_eq!(without_broken_word("one two thr"), "one two");
        assert_eq!(without_broken_word("one"), "");
    }

    proptest! {
        #[test]
        fn no_cut_leaves_a_part_of_a_secret(
            before in 0usize..60,
            after in 0usize..60,
            max in 0usize..120,
            form in 0usize..4,
        ) {
            let secret = match form {
                0 => format!("ghp_{BODY}"),
                1 => format!("sk-ant-api03-{BODY}{BODY}-AA"),
                2 => format!("Authorization: Bearer {BODY}"),
                _ => format!("password=\"{BODY}\""),
            };
            let said = format!("{}{secret}{}", "a ".repeat(before), " b".repeat(after));
            for told in [Teller::default().start(&said, max), Teller::default().end(&said, max)] {
                prop_assert!(!survives(&told, BODY), "{}", told);
            }
        }
    }
}
