//! Connection strings of ODBC: `KEY=VALUE;...`, in which a value that holds `;` or braces stands in braces.
//!
//! # Source
//! ODBC Programmer's Reference, `SQLDriverConnect`, "Connection Strings".

use std::collections::BTreeMap;
use std::fmt;

/// Attributes of a connection, by name in capital letters.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<String, String>);

/// Why a text is no connection string. No message repeats a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrongAttributes {
    /// A password, or what is as good as one, stands in it.
    Secret,
    /// What is wrong, and what was expected.
    Complaint(String),
}

/// Names of passwords.
const PASSWORDS: [&str; 2] = ["PWD", "PASSWORD"];
/// What the names of other secrets contain.
const SECRETS: [&str; 6] = ["PWD", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN"];
/// What says where the server is, in the order in which it is shown.
const PLACES: [&str; 7] =
    ["DSN", "DRIVER", "SERVER", "SERVERNAME", "HOSTNAME", "SERVERNODE", "DBQ"];

impl Attributes {
    /// Reads a connection string, or the name of a data source alone.
    ///
    /// # Errors
    /// [`WrongAttributes`] when it is neither, or holds a secret.
    pub fn parse(text: &str) -> Result<Self, WrongAttributes> {
        let wrong = |complaint: &str| WrongAttributes::Complaint(complaint.into());
        if text.contains('\0') {
            return Err(wrong("a byte of zero stands in it"));
        }
        if !text.contains('=') {
            let name = text.trim();
            if name.is_empty() || name.contains([';', '{', '}']) {
                return Err(wrong("behind odbc: stands neither a data source nor KEY=VALUE;..."));
            }
            return Ok(Self(BTreeMap::from([("DSN".to_owned(), name.to_owned())])));
        }
        let mut found = BTreeMap::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([';', ' ']);
            if rest.is_empty() {
                break;
            }
            let (key, behind) = rest
                .split_once('=')
                .ok_or_else(|| wrong("something other than KEY=VALUE stands at its end"))?;
            let key = key.trim().to_ascii_uppercase();
            if !is_name(&key) {
                return Err(wrong("a key is no name of letters, digits, spaces and _"));
            }
            if SECRETS.iter().any(|secret| key.contains(secret)) {
                return Err(WrongAttributes::Secret);
            }
            let (value, behind) = value_of(behind).ok_or_else(|| {
                wrong(&format!("the value of {key} begins with {{ and has no }}"))
            })?;
            rest = behind;
            if found.insert(key.clone(), value).is_some() {
                return Err(wrong(&format!("{key} stands in it twice")));
            }
        }
        let found = Self(found);
        match (found.get("DSN"), found.get("DRIVER"), found.get("FILEDSN")) {
            (Some(_), None, None) | (None, Some(_), None) => Ok(found),
            (None, None, None) => Err(wrong("it names no DSN and no DRIVER")),
            (_, _, Some(_)) => Err(wrong("FILEDSN is not read: name a DSN, or a DRIVER")),
            (Some(_), Some(_), None) => Err(wrong("it names a DSN and a DRIVER: name one of them")),
        }
    }

    /// The value of `key`, which is in capital letters.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The connection string, with a password where there is one, for the driver alone.
    #[must_use]
    pub fn connection_string(&self, password: Option<&str>) -> String {
        let mut out = String::new();
        let given = self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        for (key, value) in given.chain(password.map(|it| (PASSWORDS[0], it))) {
            out.extend([key, "="]);
            if value.contains([';', '{', '}', '=', ' ']) && key != "DSN" {
                out.extend(["{", &value.replace('}', "}}"), "}"]);
            } else {
                out.push_str(value);
            }
            out.push(';');
        }
        out
    }

    /// The data source, or the driver and the server, as messages name them.
    #[must_use]
    pub fn place(&self) -> String {
        let mut named: Vec<&str> = PLACES.iter().filter_map(|key| self.get(key)).collect();
        named.extend(self.get("PORT"));
        format!("odbc:{}", named.join(":"))
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // a driver may call a secret by a name that is not known here
        f.debug_tuple("Attributes").field(&self.place()).finish()
    }
}

fn is_name(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ')
}

/// The value that `text` begins with, and what stands behind its semicolon; `None` when a brace is not
/// closed, or something follows it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let Some(mut rest) = text.trim_start().strip_prefix('{') else {
        let (value, behind) = text.split_once(';').unwrap_or((text, ""));
        return Some((value.trim().to_owned(), behind));
    };
    let mut value = String::new();
    loop {
        let (inner, behind) = rest.split_once('}')?;
        value.push_str(inner);
        match behind.strip_prefix('}') {
            Some(more) => {
                value.push('}');
                rest = more;
            }
            None => {
                let behind = behind.trim_start();
                return match behind.strip_prefix(';') {
                    Some(behind) => Some((value, behind)),
                    None => behind.is_empty().then_some((value, behind)),
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_alone_is_a_data_source() {
        let found = Attributes::parse("erp test").unwrap();
        assert_eq!(found.get("DSN"), Some("erp test"));
        assert_eq!(found.connection_string(None), "DSN=erp test;");
        assert_eq!(found.place(), "odbc:erp test");
    }

    #[test]
    fn values_in_braces_hold_anything() {
        let found = Attributes::parse("driver={PostgreSQL Unicode}; Server=db1;Opt={a;b}}c} ;");
        let found = found.unwrap();
        assert_eq!(found.get("DRIVER"), Some("PostgreSQL Unicode"));
        assert_eq!((found.get("SERVER"), found.get("OPT")), (Some("db1"), Some("a;b}c")));
        let written = found.connection_string(Some("p;w}d"));
        assert_eq!(written, "DRIVER={PostgreSQL Unicode};OPT={a;b}}c};SERVER=db1;PWD={p;w}}d};");
        assert_eq!(found.place(), "odbc:PostgreSQL Unicode:db1");
        assert!(!format!("{found:?}").contains("a;b"));
    }

    #[test]
    fn secrets_are_refused_and_not_repeated() {
        for text in ["DSN=a;PWD=sesame", "DSN=a;password={sesame}", "DSN=a;AccessToken=sesame"] {
            assert_eq!(Attributes::parse(text), Err(WrongAttributes::Secret), "{text}");
        }
    }

    #[test]
    fn what_is_no_connection_string_says_what_was_expected() {
        for (text, expected) in [
            ("", "neither"),
            ("a;b", "neither"),
            ("DSN=a;sesame", "other than KEY=VALUE"),
            ("DSN=a;b-c=sesame", "a key is no name"),
            ("DSN=a;B={sesame", "no }"),
            ("DSN=a;B={sesame}x", "no }"),
            ("DSN=a;dsn=sesame", "DSN stands in it twice"),
            ("SERVER=sesame", "no DSN and no DRIVER"),
            ("DSN=a;DRIVER=sesame", "name one"),
            ("FILEDSN=sesame", "not read"),
        ] {
            let Err(WrongAttributes::Complaint(complaint)) = Attributes::parse(text) else {
                unreachable!("{text} is refused")
            };
            assert!(complaint.contains(expected) && !complaint.contains("sesame"), "{complaint}");
        }
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in "(DSN=)?[ -~é]{0,60}") {
            let _ = Attributes::parse(&text);
        }

        #[test]
        fn what_was_written_is_read_again(value in "[ -~]{0,20}") {
            let value = value.trim();
            let found = Attributes(BTreeMap::from([
                ("DRIVER".to_owned(), "d".to_owned()),
                ("X".to_owned(), value.to_owned()),
            ]));
            prop_assert_eq!(Attributes::parse(&found.connection_string(None)), Ok(found));
        }
    }
}
