//! What a server wants to see before it answers.

/// The realm of a `Basic` challenge in the value of a `WWW-Authenticate` line: empty when it names
/// none, `None` when Basic is not among what it offers.
#[must_use]
pub fn basic_realm(value: &str) -> Option<String> {
    let at = scheme(value, "basic")?;
    let rest = &value[at..];
    let Some(start) = rest.to_ascii_lowercase().find("realm=") else {
        return Some(String::new());
    };
    let realm = &rest[start + "realm=".len()..];
    Some(match realm.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => realm.split([',', ' ']).next().unwrap_or_default().into(),
    })
}

/// What a `Negotiate` challenge in the value of a `WWW-Authenticate` line brings, in Base64: empty for the
/// first of them, `None` when Negotiate is not among what the server offers.
///
/// # Source
/// RFC 4559, section 4.1.
#[must_use]
pub fn negotiate_token(value: &str) -> Option<&str> {
    let at = scheme(value, "negotiate")?;
    let rest = value[at..].trim_start_matches(' ');
    rest.split([',', ' ']).next()
}

/// Where the parameters of the scheme `name` begin. Quoted text is no scheme.
fn scheme(value: &str, name: &str) -> Option<usize> {
    let (mut quoted, mut word) = (false, 0);
    for (at, c) in value.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            ' ' | ',' => {
                if value[word..at].eq_ignore_ascii_case(name) {
                    return Some(at);
                }
                word = at + 1;
            }
            _ => {}
        }
    }
    (!quoted && value[word..].eq_ignore_ascii_case(name)).then_some(value.len())
}

/// A quoted text up to its closing quote, the opening one left out.
pub(super) fn unquoted(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_realm_of_a_basic_challenge_is_found() {
        let realm = |value| basic_realm(value);
        assert_eq!(
            realm("Basic realm=\"SAP NetWeaver [DEV/000]\"").unwrap(),
            "SAP NetWeaver [DEV/000]"
        );
        assert_eq!(realm("basic realm=plain, charset=\"UTF-8\"").unwrap(), "plain");
        assert_eq!(realm("Basic").unwrap(), "");
        assert_eq!(realm(r#"Basic realm="a \"b\"""#).unwrap(), "a \"b\"");
        assert_eq!(realm("Negotiate, Basic realm=\"x\"").unwrap(), "x");
    }

    #[test]
    fn a_negotiation_brings_a_token_or_begins() {
        for (value, token) in [
            ("Negotiate", Some("")),
            ("negotiate YIIB+/==", Some("YIIB+/==")),
            ("Negotiate  YII=, Basic realm=\"x\"", Some("YII=")),
            ("Basic realm=\"Negotiate YII=\"", None),
            ("Basic realm=\"x\", Negotiate", Some("")),
            ("Negotiate, Basic realm=\"x\"", Some("")),
            ("", None),
        ] {
            assert_eq!(negotiate_token(value), token, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_value_is_read(value in "(Negotiate|Basic|realm=|\"|,| |=|[A-Za-z]|\\PC){0,20}") {
            let (_, _) = (negotiate_token(&value), basic_realm(&value));
        }
    }

    #[test]
    fn other_schemes_are_not_basic() {
        assert_eq!(basic_realm("Negotiate"), None);
        assert_eq!(basic_realm("Digest realm=\"Basic realm=x\", qop=\"auth\""), None);
        assert_eq!(basic_realm("Basically realm=x"), None);
        assert_eq!(basic_realm(""), None);
    }
}
