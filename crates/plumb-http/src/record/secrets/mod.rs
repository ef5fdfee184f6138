//! What is a secret, and what stands in its place.
//!
//! Secrets are known by their names: those of headers, of fields in forms, in queries and in JSON.
//! Tokens against forged requests are none: nobody can use one without the cookie, and a scenario
//! made of the recording needs to find where they come from.

mod json;
mod multipart;

use super::form::decoded;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "MASKED";

/// Parts of names that give a secret away; letters and digits only, in lower case.
const PARTS: [&str; 16] = [
    "password",
    "passwd",
    "passwort",
    "kennwort",
    "passphrase",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
    "assertion",
    "samlresponse",
    "sessionid",
    "signature",
];
/// Whole names that do.
const WHOLE: [&str; 12] = [
    "pass", "oldpass", "newpass", "userpass", "jpass", "pwd", "pw", "pin", "otp", "auth", "sid",
    "jwt",
];
/// Parts of the names of tokens against forged requests.
const HARMLESS: [&str; 3] = ["csrf", "xsrf", "verificationtoken"];

/// What is done with secrets before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// They become [`MASK`].
    Masked,
    /// They are written as they are.
    Kept,
}

/// True for the name of a field, query parameter or header that holds a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    !HARMLESS.iter().any(|part| plain.contains(part))
        && (PARTS.iter().any(|part| plain.contains(part))
            || WHOLE.contains(&plain.as_str())
            || plain.ends_with("pwd"))
}

impl Secrets {
    /// The value of the header `name`, in lower case.
    pub(crate) fn header(self, name: &str, value: &str) -> String {
        if self == Self::Kept {
            return value.into();
        }
        match name {
            "cookie" => {
                let cookies = value.split(';').map(|cookie| assigned(cookie.trim()));
                cookies.collect::<Vec<_>>().join("; ")
            }
            "set-cookie" => match value.split_once(';') {
                Some((cookie, attributes)) => format!("{};{attributes}", assigned(cookie.trim())),
                None => assigned(value.trim()),
            },
            // the scheme tells how, the rest who
            "authorization" | "proxy-authorization" => match value.split_once(' ') {
                Some((scheme, _)) => format!("{scheme} {MASK}"),
                None => MASK.into(),
            },
            "location" | "content-location" | "referer" | "refresh" => self.url(value),
            _ if is_secret(name) => MASK.into(),
            _ => value.into(),
        }
    }

    /// A URL, or another reference, with the values of its query and its fragment.
    pub(crate) fn url(self, url: &str) -> String {
        let (before, fragment) = match url.split_once('#') {
            Some((before, fragment)) => (before, Some(fragment)),
            None => (url, None),
        };
        let mut text = match before.split_once('?') {
            Some((path, query)) => format!("{path}?{}", self.form(query)),
            None => before.into(),
        };
        if let Some(fragment) = fragment {
            text.push('#');
            text += &self.form(fragment);
        }
        text
    }

    /// Pairs of a query or a form, encoded as they are.
    pub(crate) fn form(self, text: &str) -> String {
        if self == Self::Kept {
            return text.into();
        }
        let masked = |pair: &str| match pair.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret(&decoded(name)) => {
                format!("{name}={MASK}")
            }
            _ => pair.to_owned(),
        };
        text.split('&').map(masked).collect::<Vec<_>>().join("&")
    }

    /// The text of a body of the content type `mime`.
    pub(crate) fn body(self, mime: &str, text: String) -> String {
        if self == Self::Kept {
            return text;
        }
        let kind = mime.to_ascii_lowercase();
        if kind.starts_with("application/x-www-form-urlencoded") {
            self.form(&text)
        } else if kind.starts_with("multipart/form-data") {
            multipart::masked(mime, &text).unwrap_or(text)
        } else if kind.contains("json") || text.trim_start().starts_with(['{', '[']) {
            json::masked(&text)
        } else {
            text
        }
    }
}

/// `name=value` without the value.
fn assigned(cookie: &str) -> String {
    match cookie.split_once('=') {
        Some((name, value)) if !value.is_empty() => format!("{name}={MASK}"),
        Some(_) => cookie.into(),
        None => MASK.into(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_is_masked_once_and_for_all(
            text in r#"(\PC|[;&=?#"\r\n-]|password=|name="pwd"|Content-Disposition: x){0,40}"#,
        ) {
            let boundary = "multipart/form-data; boundary=-";
            for mime in ["application/x-www-form-urlencoded", "application/json", boundary] {
                let once = Secrets::Masked.body(mime, text.clone());
                prop_assert_eq!(Secrets::Masked.body(mime, once.clone()), once);
            }
            for name in ["cookie", "set-cookie", "authorization", "location", "x-token", "accept"] {
                let once = Secrets::Masked.header(name, &text);
                prop_assert_eq!(Secrets::Masked.header(name, &once), once);
            }
        }
    }

    #[test]
    fn names_give_secrets_away() {
        for name in [
            "password",
            "j_password",
            "sap-password",
            "Passwd",
            "client_secret",
            "access_token",
            "X-Api-Key",
            "user[password]",
            "pin",
            "sid",
            "db_pwd",
            "SAMLResponse",
            "oldPass",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "user",
            "pinned",
            "side",
            "x-csrf-token",
            "csrfmiddlewaretoken",
            "key",
            "passenger",
            "__RequestVerificationToken",
            "author",
            "pwdx",
            "compass_x",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn headers_keep_what_is_no_secret() {
        let header = |name, value| Secrets::Masked.header(name, value);
        assert_eq!(header("cookie", "a=1; b=x=y;c="), "a=MASKED; b=MASKED; c=");
        assert_eq!(header("cookie", "lonely"), "MASKED");
        assert_eq!(
            header("set-cookie", "sid=77; Path=/; HttpOnly"),
            "sid=MASKED; Path=/; HttpOnly"
        );
        assert_eq!(header("authorization", "Basic ZGVtbw=="), "Basic MASKED");
        assert_eq!(header("authorization", "ZGVtbw=="), "MASKED");
        assert_eq!(header("x-auth-token", "77"), "MASKED");
        assert_eq!(header("x-csrf-token", "Fetch"), "Fetch");
        assert_eq!(
            header("location", "/in?token=7&a=1#id_token=8"),
            "/in?token=MASKED&a=1#id_token=MASKED"
        );
        assert_eq!(header("accept", "*/*"), "*/*");
        assert_eq!(Secrets::Kept.header("cookie", "a=1"), "a=1");
    }

    #[test]
    fn forms_and_queries_keep_their_encoding() {
        let form = |text| Secrets::Masked.form(text);
        assert_eq!(form("user=a%20b&pass%77ord=x+y&c"), "user=a%20b&pass%77ord=MASKED&c");
        assert_eq!(form("password="), "password=");
        assert_eq!(Secrets::Masked.url("http://h/p?pwd=1"), "http://h/p?pwd=MASKED");
        assert_eq!(Secrets::Kept.url("http://h/p?pwd=1"), "http://h/p?pwd=1");
    }

    #[test]
    fn bodies_are_read_as_their_type_says() {
        let body = |mime, text: &str| Secrets::Masked.body(mime, text.into());
        assert_eq!(body("application/x-www-form-urlencoded", "pin=1&a=2"), "pin=MASKED&a=2");
        assert_eq!(body("application/json; charset=utf-8", "{\"pin\":1}"), "{\"pin\":\"MASKED\"}");
        assert_eq!(body("text/plain", "[{\"pwd\": \"x\"}]"), "[{\"pwd\": \"MASKED\"}]");
        assert_eq!(body("text/html", "<p>password=1"), "<p>password=1");
    }
}
