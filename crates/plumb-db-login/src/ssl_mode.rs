//! How much TLS is asked for, in the words of `libpq` and of the clients of MariaDB and MySQL.

use crate::LoginError;

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
    /// The mode called `name`; `prefer` when none is named. With a file of trusted authorities
    /// `require` means `verify-ca`, as it does for `libpq`.
    ///
    /// # Errors
    /// [`LoginError::Url`] lists the modes.
    pub fn of(name: Option<&str>, authorities: bool) -> Result<Self, LoginError> {
        match name {
            Some("disable") => Ok(Self::Disable),
            None | Some("prefer") => Ok(Self::Prefer),
            Some("require") if authorities => Ok(Self::VerifyCa),
            Some("require") => Ok(Self::Require),
            Some("verify-ca") => Ok(Self::VerifyCa),
            Some("verify-full") => Ok(Self::VerifyFull),
            Some(_) => Err(LoginError::Url {
                complaint: "sslmode is none of disable, prefer, require, verify-ca, verify-full"
                    .into(),
            }),
        }
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
        assert_eq!(SslMode::of(None, false).unwrap(), SslMode::Prefer);
        assert_eq!(SslMode::of(Some("require"), false).unwrap(), SslMode::Require);
        assert_eq!(SslMode::of(Some("require"), true).unwrap(), SslMode::VerifyCa);
        let error = SslMode::of(Some("allow"), false).unwrap_err().to_string();
        assert!(error.contains("verify-full"), "{error}");
    }
}
