//! The header `Host`, by which a request says whom it is for.

use hyper::header::HOST;
use hyper::{HeaderMap, Version};

/// Why a request is refused before anybody looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongHost {
    #[error("the header Host is missing: name the server that is asked")]
    Missing,
    #[error("the header Host stands there twice: send it once")]
    Double,
    #[error("the header Host is no host: write NAME or NAME:PORT")]
    Malformed,
}

/// Refuses a request that does not say once, and in the form of a host, whom it is for.
///
/// # Errors
/// [`WrongHost`].
///
/// # Source
/// RFC 9112, section 3.2.
pub(crate) fn check(version: Version, headers: &HeaderMap) -> Result<(), WrongHost> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(WrongHost::Double),
        (None, None) if version < Version::HTTP_11 => Ok(()),
        (None, None) => Err(WrongHost::Missing),
        (Some(host), None) => {
            let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(byte);
            let host = host.as_bytes();
            let well = !host.is_empty() && host.iter().all(plain);
            if well { Ok(()) } else { Err(WrongHost::Malformed) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(version: Version, hosts: &[&str]) -> Result<(), WrongHost> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(HOST, host.parse().unwrap());
        }
        check(version, &headers)
    }

    #[test]
    fn one_host_in_its_form_is_needed() {
        for host in ["erp", "erp.example.com:8000", "127.0.0.1", "[::1]:8000"] {
            assert_eq!(checked(Version::HTTP_11, &[host]), Ok(()), "{host}");
        }
        assert_eq!(checked(Version::HTTP_11, &[]), Err(WrongHost::Missing));
        assert_eq!(checked(Version::HTTP_10, &[]), Ok(()));
        assert_eq!(checked(Version::HTTP_11, &["a", "a"]), Err(WrongHost::Double));
        for host in ["", "a b", "a/b", "<script>", "a@b"] {
            assert_eq!(checked(Version::HTTP_11, &[host]), Err(WrongHost::Malformed), "{host}");
        }
    }
}
