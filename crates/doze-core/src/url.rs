//! Addresses as text: what of one may be told, and whether it is this machine's.

use core::net::IpAddr;

/// The address as it may be told or logged: without a name and a password, and without the query and the fragment, which
/// may hold a key.
pub fn shown(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    match path.split_once("://") {
        Some((scheme, rest)) => format!("{scheme}://{}", without_userinfo(rest)),
        None => path.to_owned(),
    }
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
