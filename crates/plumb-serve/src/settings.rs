//! Settings that the files of servers share: how they are read, and what is refused.

use std::collections::BTreeMap;

use plumb_engine::{Address, Cidr, Endpoint, Family};
use plumb_measure::ByteSize;
use serde::{Deserialize, Deserializer, de};

use crate::{ServeError, SettingError};

/// The smallest limit of a request line with its headers, which hyper needs.
const HEADER_KIB_MIN: u64 = 8;

/// Refuses numbers that are zero or above their limit: each with its name and its limit.
///
/// # Errors
/// [`SettingError::Count`] for the first of them.
pub fn check_counts(
    counts: impl IntoIterator<Item = (&'static str, usize, usize)>,
) -> Result<(), ServeError> {
    let wrong = counts.into_iter().find(|(_, value, most)| *value == 0 || value > most);
    wrong
        .map_or(Ok(()), |(name, value, most)| Err(SettingError::Count { name, value, most }.into()))
}

/// Refuses a limit of the request line and its headers below 8 KiB.
///
/// # Errors
/// [`SettingError::HeaderSize`].
pub fn check_header_size(size: ByteSize) -> Result<(), ServeError> {
    if size < kib(HEADER_KIB_MIN) { Err(SettingError::HeaderSize.into()) } else { Ok(()) }
}

/// Refuses names that [`Accounts`](crate::accounts::Accounts) cannot hold, and empty passwords.
///
/// # Errors
/// [`SettingError::User`] or [`SettingError::Password`] for the first of them.
pub fn check_users(passwords: &BTreeMap<String, String>) -> Result<(), ServeError> {
    for (name, password) in passwords {
        if name.is_empty() || name.contains(':') {
            return Err(SettingError::User { name: name.clone() }.into());
        }
        if password.is_empty() {
            return Err(SettingError::Password { name: name.clone() }.into());
        }
    }
    Ok(())
}

/// A default of `count` KiB.
///
/// # Panics
/// When `count` is zero.
#[must_use]
pub fn kib(count: u64) -> ByteSize {
    ByteSize::new(count << 10).unwrap_or_else(|| unreachable!("no default is a size of zero"))
}

/// Reads a list of blocks of addresses, each a text such as `10.1.0.0/16`.
///
/// # Errors
/// Those of `from`, and for a text that is no block of addresses.
pub fn cidrs<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Cidr>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
}

/// True for an address to listen on, at `port` unless it names one, that others reach; one that is
/// none is refused later.
#[must_use]
pub fn is_open(listen: &str, port: u16) -> bool {
    let found = Address::parse(listen, port).and_then(|it| Endpoint::resolve(&it, Family::Any));
    found.is_ok_and(|endpoints| !endpoints.iter().all(Endpoint::is_local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_named() {
        check_counts([("a", 1, 1), ("b", 2, 2)]).unwrap();
        for (value, expected) in [(0, "b is 0: write a number from 1 to 2"), (3, "b is 3")] {
            let wrong = check_counts([("a", 1, 1), ("b", value, 2)]).unwrap_err().to_string();
            assert!(wrong.starts_with(expected), "{wrong}");
        }
        check_header_size(kib(8)).unwrap();
        let less = ByteSize::new(8 * 1024 - 1).unwrap();
        let wrong = check_header_size(less).unwrap_err().to_string();
        assert_eq!(wrong, "front.header-size must be at least 8KiB");
    }

    #[test]
    fn a_user_has_a_name_without_a_colon() {
        let users = |name: &str, password: &str| {
            let users = [("anna", "secret"), (name, password)];
            check_users(&users.map(|(name, word)| (name.to_owned(), word.to_owned())).into())
        };
        users("ben", "x").unwrap();
        for name in ["", "a:b"] {
            let wrong = users(name, "x").unwrap_err();
            assert!(wrong.to_string().starts_with(&format!("`{name}` cannot be a user")));
        }
        let wrong = users("ben", "").unwrap_err().to_string();
        assert!(wrong.starts_with("the password of `ben` is empty"), "{wrong}");
    }

    #[test]
    fn an_address_is_open_when_others_reach_it() {
        for listen in ["127.0.0.1:0", "[::1]:1", "unix:/tmp/x", "no address at all"] {
            assert!(!is_open(listen, 1), "{listen}");
        }
        assert!(is_open("0.0.0.0:80", 1) && is_open("192.0.2.1", 1));
    }
}
