//! What came back, as checks and extractions see it.

/// An answer that is complete.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The status code.
    pub status: u16,
    /// The address that answered, behind all redirects: its [`path_of`] of the base, or with another
    /// server in front of that. Empty when nobody needs it.
    pub address: &'a str,
    /// Bytes of content that came, whether they were kept or not.
    pub length: u64,
    /// From the moment the request was due until the last byte, in nanoseconds.
    pub took_ns: u64,
    /// The head as it came; empty when nobody needs it.
    pub head: &'a [u8],
    /// The content; empty when nobody needs it.
    pub content: &'a [u8],
}

/// The path of `target` alone: without its query, and without what stands behind a `;` in its parts, such
/// as a session that a server writes there for who does not have it as a cookie yet.
///
/// # Source
/// RFC 3986, section 3.3, on parameters of segments.
#[must_use]
pub fn path_of(target: &str) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let names = path.split('/').map(|part| part.split(';').next().unwrap_or_default());
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_no_query_and_no_parameters() {
        for (target, path) in [
            ("/home;jsessionid=B2?a=/;b", "/home"),
            ("/;jsessionid=A1", "/"),
            ("/a;v=1/b;w/#c", "/a/b/"),
            ("/a/b", "/a/b"),
        ] {
            assert_eq!(path_of(target), path);
        }
    }
}
