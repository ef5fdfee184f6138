//! What a recording keeps of secrets.
//!
//! Tokens against forged requests stay: nobody can use one without the cookie, and a scenario made
//! of the recording needs to find where they come from.

use plumb_wire::secret::{self, Found, Notation, is_forgery_token};

/// What is done with secrets before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// They are masked.
    Masked,
    /// They are written as they are.
    Kept,
}

impl Secrets {
    /// The value of the header `name`, in lower case.
    pub(crate) fn header(self, name: &str, value: &str) -> String {
        self.written(value, |value| secret::in_header(name, value))
    }

    /// A URL, or another reference, with the values of its query and its fragment.
    pub(crate) fn url(self, url: &str) -> String {
        self.written(url, secret::in_url)
    }

    /// The text of a body of the content type `mime`.
    pub(crate) fn body(self, mime: &str, text: &str) -> String {
        self.written(text, |text| Notation::of(mime, text).secrets(text))
    }

    fn written(self, text: &str, find: impl Fn(&str) -> Vec<Found>) -> String {
        if self == Self::Kept {
            return text.into();
        }
        let mut found = find(text);
        found.retain(|secret| !is_forgery_token(&secret.name));
        secret::masked(text, &found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_tokens_against_forged_requests_stay() {
        let header = |name, value| Secrets::Masked.header(name, value);
        assert_eq!(header("x-csrf-token", "Fetch"), "Fetch");
        assert_eq!(header("cookie", "csrf=1; sid=2"), "csrf=MASKED; sid=MASKED");
        assert_eq!(header("x-api-key", "77"), "MASKED");
        assert_eq!(Secrets::Masked.url("/in?_csrf=7&pwd=1"), "/in?_csrf=7&pwd=MASKED");
        let body = |text| Secrets::Masked.body("application/json", text);
        assert_eq!(body(r#"{"csrf":"a","pwd":"b"}"#), r#"{"csrf":"a","pwd":"MASKED"}"#);
    }

    #[test]
    fn all_is_kept_on_demand() {
        assert_eq!(Secrets::Kept.header("cookie", "a=1"), "a=1");
        assert_eq!(Secrets::Kept.url("http://h/p?pwd=1"), "http://h/p?pwd=1");
        assert_eq!(Secrets::Kept.body("", "pwd=1"), "pwd=1");
    }
}
