//! Which headers of a request a scenario sends, too.

/// Headers that belong to the connection, the client, or the user's cookies.
const LEFT_OUT: [&str; 14] = [
    "host",
    "content-length",
    "connection",
    "cookie",
    "cookie2",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "authorization",
];

/// True for a header that a scenario does not send.
#[must_use]
pub fn is_left_out(name: &str) -> bool {
    name.starts_with(':') || LEFT_OUT.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// True for a name and a value that can stand in the head of a request.
#[must_use]
pub fn is_sendable(name: &str, value: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token) && !value.contains(|c: char| c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_client_is_left_out() {
        for name in [":authority", "HOST", "Content-Length", "Cookie", "Authorization", "Upgrade"] {
            assert!(is_left_out(name), "{name}");
        }
        assert!(!is_left_out("Accept") && !is_left_out("If-None-Match"));
        assert!(is_sendable("X-A", "b c"));
        for (name, value) in [("", "a"), ("a b", "c"), ("a", "b\r\nc: d"), ("\u{e9}", "a")] {
            assert!(!is_sendable(name, value), "{name}");
        }
    }
}
