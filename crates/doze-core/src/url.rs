//! Addresses as text: what of one may be told, and whether it is this machine's.

use core::net::IpAddr;

/// The address as it may be told or logged: without a name and a password, and without the query and the fragment, which
/// may hold a key.
pub fn shown(url: &str) -> String {
    let Address { scheme, place, .. } = Address::of(url);
    format!("{scheme}{place}")
}

/// Whether an address is this machine's own: a loopback address, `localhost`, or a name below it (RFC 6761 §6.3).
pub fn is_loopback(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let host_and_port = without_userinfo(authority(rest));
    let host = match host_and_port.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host_and_port.split(':').next().unwrap_or_default(),
    };
    let host = host.to_ascii_lowercase();
    let address = host.parse::<IpAddr>();
    address.is_ok_and(|address| address.is_loopback()) || host == "localhost" || host.ends_with(".localhost")
}

/// An address in its parts. One that is none is all `place`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address<'a> {
    /// `http://` or nothing.
    pub scheme: &'a str,
    /// A name and a password in front of the host, with the `@`.
    pub userinfo: &'a str,
    /// The host, its port and the path.
    pub place: &'a str,
    /// The query with its `?`.
    pub query: &'a str,
}

impl<'a> Address<'a> {
    /// Takes it apart. What follows a `#` is never sent and left out.
    pub fn of(url: &'a str) -> Self {
        let url = url.trim();
        let (scheme, rest) = url.find("://").map_or(("", url), |at| url.split_at(at + 3));
        let rest = rest.split('#').next().unwrap_or_default();
        let host_end = rest.find(['/', '\\', '?']).unwrap_or(rest.len());
        let (userinfo, rest) = rest.split_at(rest[..host_end].rfind('@').map_or(0, |at| at + 1));
        let (place, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        Self { scheme, userinfo, place, query }
    }

    /// What in it may be secret: the password, or a name that stands alone, and each value of the query; as written
    /// and as meant.
    pub fn secrets(&self) -> Vec<String> {
        let login = self.userinfo.trim_end_matches('@');
        let password = login.split_once(':').map_or(login, |(_, password)| password);
        let values = self.query.trim_start_matches('?').split('&');
        let values = values.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
        let written = std::iter::once(password).chain(values).filter(|part| !part.is_empty());
        written.flat_map(|part| [part.to_owned(), decoded(part)]).collect()
    }
}

/// Percent signs with their two digits as the byte they stand for.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(meant) => {
                out.push(meant);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// What stands before the path. A backslash ends it too, as some readers of addresses have it.
fn authority(rest: &str) -> &str {
    rest.split(['/', '\\', '?', '#']).next().unwrap_or_default()
}

fn without_userinfo(rest: &str) -> &str {
    authority(rest).rfind('@').and_then(|at| rest.get(at + 1..)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_without_a_password_and_without_a_key() {
        for (url, told) in [
            ("http://me:p@ss@127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
            ("https://h/a@b", "https://h/a@b"),
            ("https://h/v1?key=abc", "https://h/v1"),
            ("https://me@h?key=abc#x", "https://h"),
            ("https://h/m.tar.gz#part", "https://h/m.tar.gz"),
            ("no address?key=abc", "no address"),
            ("", ""),
        ] {
            assert_eq!(shown(url), told, "{url}");
        }
    }

    #[test]
    fn a_password_and_a_query_are_secret_as_written_and_as_meant() {
        let secrets = Address::of("http://me:p%40ss@h?key=abcd&flag").secrets();
        assert_eq!(secrets, ["p%40ss", "p@ss", "abcd", "abcd", "flag", "flag"]);
        assert_eq!(Address::of("https://token@h/v1").secrets(), ["token", "token"]);
        assert_eq!(Address::of("https://h/v1").secrets(), Vec::<String>::new());
    }

    #[test]
    fn this_machine_goes_by_few_names() {
        for url in [
            "http://127.0.0.1:80/v1",
            "http://LOCALHOST/m",
            "http://[::1]:8080/m",
            "http://me:pw@127.1.2.3",
            "http://a.localhost",
            "http://localhost?x=1",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "https://api.example.com/v1",
            "http://127.0.0.1.example.com",
            "http://127.0.0.1@example.com/",
            "http://example.com/@localhost",
            "http://localhost@example.com\\@localhost",
            "http://10.0.0.1",
            "http://xlocalhost",
            "localhost",
            "nonsense",
            "",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
