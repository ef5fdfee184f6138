//! `postgres://[USER@]HOST[:PORT][/DATABASE][?NAME=VALUE&...]`, as `psql` reads it, `mysql://`, with the
//! options of the clients of MariaDB and MySQL, `mssql://`, with those of SQL Server, and `hana://`; `odbc:`
//! with a data source or a connection string behind it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

#[cfg(feature = "odbc")]
use plumb_sql::odbc::Attributes;

use crate::LoginError;
use crate::product::Product;

/// What a URL says; what it leaves open is asked of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// The kind of database.
    pub product: Product,
    /// User.
    pub user: Option<String>,
    /// Host name, number, or the path of a socket.
    pub host: Option<String>,
    /// Port.
    pub port: Option<u16>,
    /// Database.
    pub database: Option<String>,
    /// Parameters behind the question mark, each of [`Product::parameters`].
    pub parameters: BTreeMap<String, String>,
    /// What a driver of ODBC is told.
    #[cfg(feature = "odbc")]
    pub attributes: Attributes,
}

/// A parameter of both kinds, which may stand in both places.
const USER: &str = "user";

/// How a data source of ODBC begins.
pub(crate) const ODBC: &str = "odbc:";

impl Url {
    /// Reads `text`. No message repeats it: it may hold a password.
    ///
    /// # Errors
    /// [`LoginError::PasswordInUrl`], or [`LoginError::Url`] with what was expected.
    pub fn parse(text: &str) -> Result<Self, LoginError> {
        if let Some(attributes) = text.strip_prefix(ODBC) {
            return of_odbc(attributes);
        }
        let (product, rest) = Product::of_url(text).ok_or_else(|| {
            wrong("it does not begin with postgres://, mysql://, mssql://, hana:// or odbc:")
        })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // the last @: a password that was written without escapes must not become a host
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (login, place),
            None => ("", authority),
        };
        if login.contains(':') {
            return Err(password_in_url(product));
        }
        let (host, port) = place_of(place)?;
        let mut url = Self {
            product,
            user: given(login)?,
            host: given(host)?,
            port: port.map(port_of).transpose()?,
            database: given(database)?,
            parameters: BTreeMap::new(),
            #[cfg(feature = "odbc")]
            attributes: Attributes::default(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            url.take(pair)?;
        }
        Ok(url)
    }

    /// Takes one parameter.
    fn take(&mut self, pair: &str) -> Result<(), LoginError> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value)?;
        match name {
            "password" => return Err(password_in_url(self.product)),
            USER => self.user = Some(value),
            known if !self.product.parameters().contains(&known) => {
                return Err(self.not_understood(known));
            }
            "host" => self.host = Some(value),
            "port" => self.port = Some(port_of(&value)?),
            "dbname" => self.database = Some(value),
            known => {
                self.parameters.insert(known.into(), value);
            }
        }
        Ok(())
    }

    fn not_understood(&self, name: &str) -> LoginError {
        let known = self.product.parameters().join(", ");
        let name: String = name.chars().take(40).collect();
        wrong(&format!("the parameter `{name}` is not understood (understood are {known}, {USER})"))
    }
}

/// What a driver of ODBC is told.
#[cfg(feature = "odbc")]
fn of_odbc(attributes: &str) -> Result<Url, LoginError> {
    use plumb_sql::odbc::WrongAttributes;

    let attributes = Attributes::parse(attributes).map_err(|trouble| match trouble {
        WrongAttributes::Secret => password_in_url(Product::Odbc),
        WrongAttributes::Complaint(complaint) => LoginError::Url { complaint },
    })?;
    Ok(Url {
        product: Product::Odbc,
        user: attributes.get("UID").map(str::to_owned),
        host: None,
        port: None,
        database: attributes.get("DATABASE").map(str::to_owned),
        parameters: BTreeMap::new(),
        attributes,
    })
}

/// The same of a program that is built without them.
#[cfg(not(feature = "odbc"))]
fn of_odbc(_: &str) -> Result<Url, LoginError> {
    Err(LoginError::NoOdbc)
}

fn password_in_url(product: Product) -> LoginError {
    LoginError::PasswordInUrl { remedy: product.keeps_passwords() }
}

/// Host and port of `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`.
fn place_of(place: &str) -> Result<(&str, Option<&str>), LoginError> {
    if place.contains(',') {
        return Err(wrong("several hosts are named: name the one to measure"));
    }
    if let Some(inner) = place.strip_prefix('[') {
        let (host, behind) =
            inner.split_once(']').ok_or_else(|| wrong("`]` is missing after an IPv6 address"))?;
        return match behind.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if behind.is_empty() => Ok((host, None)),
            None => Err(wrong("something other than a port follows the `]`")),
        };
    }
    Ok(match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    })
}

fn port_of(digits: &str) -> Result<u16, LoginError> {
    // what stands there may be half of a password: it is not repeated
    digits
        .parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| wrong("behind the host stands no port from 1 to 65535"))
}

fn given(text: &str) -> Result<Option<String>, LoginError> {
    let text = decoded(text)?;
    Ok((!text.is_empty()).then_some(text))
}

/// `text` without its `%` escapes.
fn decoded(text: &str) -> Result<String, LoginError> {
    for behind in text.split('%').skip(1) {
        let digits = behind.as_bytes().get(..2);
        let digits = digits.ok_or_else(|| wrong("a % without two digits behind it"))?;
        if digits == b"00" || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong("a % is not followed by two hexadecimal digits other than 00"));
        }
    }
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| wrong("its % escapes are not UTF-8"))
}

fn wrong(complaint: &str) -> LoginError {
    LoginError::Url { complaint: complaint.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_part_is_read() {
        let url = Url::parse("postgres://me%40home@db1:6000/sales?sslmode=verify-full").unwrap();
        assert_eq!(url.user.as_deref(), Some("me@home"));
        assert_eq!((url.host.as_deref(), url.port), (Some("db1"), Some(6000)));
        assert_eq!(url.database.as_deref(), Some("sales"));
        assert_eq!(url.parameters["sslmode"], "verify-full");
        let url = Url::parse("postgresql://[::1]:7/?host=/run/postgresql&user=me").unwrap();
        assert_eq!((url.host.as_deref(), url.port), (Some("/run/postgresql"), Some(7)));
        assert_eq!((url.user.as_deref(), url.database), (Some("me"), None));
        let url = Url::parse("postgres://").unwrap();
        assert_eq!((url.user, url.host, url.port, url.database), (None, None, None, None));
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for text in [
            "postgres://me:sesame@db1/x",
            "postgres://me:ses@me@db1/x",
            "postgres://db1/x?password=sesame",
            "mysql://me:sesame@db1/x",
        ] {
            let error = Url::parse(text).unwrap_err();
            assert!(matches!(error, LoginError::PasswordInUrl { .. }), "{error}");
            assert!(!error.to_string().contains("ses"), "{error}");
        }
    }

    #[test]
    fn what_is_no_target_says_what_was_expected() {
        for (text, expected) in [
            ("db1", "begin with postgres://, mysql://, mssql://, hana:// or odbc:"),
            ("postgres://db1:sesame", "no port from 1 to 65535"),
            ("postgres://[::1", "`]` is missing"),
            ("postgres://a,b/x", "several hosts"),
            ("postgres://a/x?sslmod=require", "`sslmod` is not understood"),
            ("postgres://a%4/x", "% without two digits"),
            ("postgres://a%zz/x", "two hexadecimal digits"),
            ("postgres://a%+1/x", "two hexadecimal digits"),
            ("postgres://a%00/x", "other than 00"),
            ("postgres://a%ff/x", "not UTF-8"),
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("sesame"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in "(postgres://|mysql://|mssql://|hana://|odbc:)?[ -~]{0,60}") {
            let _ = Url::parse(&text);
        }
    }
}
