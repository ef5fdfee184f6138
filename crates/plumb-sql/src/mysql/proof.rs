//! How a client of MariaDB and MySQL proves that it knows a password, which never goes over a connection
//! that others could read.
//!
//! # Source
//! MariaDB's documentation, "Connection": `mysql_native_password`; MySQL Internals, "Caching SHA-2
//! Pluggable Authentication".

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

/// A method by which a password is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `mysql_native_password`.
    Native,
    /// `caching_sha2_password`.
    CachingSha2,
}

impl Method {
    /// The method called `name`; `None` when it is not known here.
    pub fn named(name: &[u8]) -> Option<Self> {
        match name {
            // before there were names, there was only this one
            b"mysql_native_password" | b"" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            _ => None,
        }
    }

    /// As the protocol names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// What proves `password` to whoever chose `salt`; of no password, nothing.
    pub fn proof(self, password: &str, salt: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        let hash = |algorithm: &'static Algorithm, text: &[u8]| digest(algorithm, text);
        let (once, mask) = match self {
            Self::Native => {
                let algorithm = &SHA1_FOR_LEGACY_USE_ONLY;
                let once = hash(algorithm, password.as_bytes());
                let twice = hash(algorithm, once.as_ref());
                (once, hash(algorithm, &[salt, twice.as_ref()].concat()))
            }
            Self::CachingSha2 => {
                let once = hash(&SHA256, password.as_bytes());
                let twice = hash(&SHA256, once.as_ref());
                (once, hash(&SHA256, &[twice.as_ref(), salt].concat()))
            }
        };
        once.as_ref().iter().zip(mask.as_ref()).map(|(a, b)| a ^ b).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `sha1(b"...")` of Python's hashlib makes of the same formula.
    #[test]
    fn proofs_are_those_of_the_servers() {
        let salt = b"abcdefghijklmnopqrst";
        let hex =
            |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(Method::Native.proof("sesame", salt)), NATIVE);
        assert_eq!(hex(Method::CachingSha2.proof("sesame", salt)), CACHING_SHA2);
        assert!(Method::Native.proof("", salt).is_empty());
    }

    const NATIVE: &str = "613e55086a4cff7ee5e72155de2dc8f9a411472c";
    const CACHING_SHA2: &str = "1ec72bde06563fbbd3b7ca9429446f15fe7322aa5823c6f9ca21771ce4206c1e";
}
