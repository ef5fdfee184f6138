//! How much TLS is asked for, in the words of `libpq` and of the clients of MariaDB and MySQL.

use std::path::Path;

use crate::LoginError;

/// The name by which the authorities of this machine are trusted.
pub(crate) const MACHINE: &str = "system";

/// How much TLS is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SslMode {
    /// None.
    Disable,
    /// Where the server offers it; whoever the server is.
    Prefer,
    /// Always; whoever the server is.
    Require,
    /// Always, with a certificate of an authority that is trusted.
    VerifyCa,
    /// The same, and the certificate names the host.
    VerifyFull,
}

impl SslMode {
    /// The mode called `name`, where the certificates of trusted authorities are in the file `authorities`.
    /// As for `libpq`, with such a file `require` means `verify-ca`; with the authorities of this machine
    /// (`system`), which certify anybody, it is `verify-full` or an error. Otherwise it is `prefer` when none
    /// is named.
    ///
    /// # Source
    /// PostgreSQL's documentation, "Database Connection Control Functions": `sslmode`, `sslrootcert`.
    ///
    /// # Errors
    /// [`LoginError::Url`] lists the modes.
    pub fn of(name: Option<&str>, authorities: Option<&Path>) -> Result<Self, LoginError> {
        let of_machine = authorities == Some(Path::new(MACHINE));
        let mode = match name {
            None if of_machine => Self::VerifyFull,
            Some("disable") => Self::Disable,
            None | Some("prefer") => Self::Prefer,
            Some("require") if authorities.is_some() => Self::VerifyCa,
            Some("require") => Self::Require,
            Some("verify-ca") => Self::VerifyCa,
            Some("verify-full") => Self::VerifyFull,
            Some(_) => {
                return Err(LoginError::Url {
                    complaint:
                        "sslmode is none of disable, prefer, require, verify-ca, verify-full".into(),
                });
            }
        };
        if of_machine && mode != Self::VerifyFull {
            return Err(LoginError::Url {
                complaint: "the authorities of this machine (sslrootcert=system) certify anybody, so \
                            the host is verified as well: write sslmode=verify-full, or leave sslmode out"
                    .into(),
            });
        }
        Ok(mode)
    }

    /// The mode called `name` by clients of MariaDB and MySQL; `PREFERRED` when none is named.
    ///
    /// # Errors
    /// [`LoginError::Url`] lists the modes.
    pub fn of_mysql(name: Option<&str>) -> Result<Self, LoginError> {
        let name = name.map(str::to_ascii_uppercase);
        match name.as_deref() {
            Some("DISABLED") => Ok(Self::Disable),
            None | Some("PREFERRED") => Ok(Self::Prefer),
            Some("REQUIRED") => Ok(Self::Require),
            Some("VERIFY_CA") => Ok(Self::VerifyCa),
            Some("VERIFY_IDENTITY") => Ok(Self::VerifyFull),
            Some(_) => Err(LoginError::Url {
                complaint: "ssl-mode is none of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, \
                            VERIFY_IDENTITY"
                    .into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_mean_what_they_mean_for_libpq() {
        let file = Some(Path::new("root.pem"));
        assert_eq!(SslMode::of(None, None).unwrap(), SslMode::Prefer);
        assert_eq!(SslMode::of(None, file).unwrap(), SslMode::Prefer);
        assert_eq!(SslMode::of(Some("require"), None).unwrap(), SslMode::Require);
        assert_eq!(SslMode::of(Some("require"), file).unwrap(), SslMode::VerifyCa);
        let error = SslMode::of(Some("allow"), None).unwrap_err().to_string();
        assert!(error.contains("verify-full"), "{error}");
    }

    #[test]
    fn with_the_authorities_of_this_machine_nothing_weaker_than_the_name_is_verified() {
        let system = Some(Path::new("system"));
        assert_eq!(SslMode::of(None, system).unwrap(), SslMode::VerifyFull);
        assert_eq!(SslMode::of(Some("verify-full"), system).unwrap(), SslMode::VerifyFull);
        for weak in ["disable", "prefer", "require", "verify-ca"] {
            let error = SslMode::of(Some(weak), system).unwrap_err().to_string();
            assert!(error.contains("sslrootcert=system"), "{weak}: {error}");
        }
    }
}
