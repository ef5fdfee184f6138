//! Why there can be no TLS, before anything is connected.

use std::path::{Path, PathBuf};

/// What the library says of a certificate of X.509 version 1.
const VERSION_1: &str = "UnsupportedCertVersion";

/// Why certificates, keys or names do not serve. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not what its option asks for.
    #[error("cannot read {file}: {cause}; expected {expected} in PEM form")]
    File {
        /// Which.
        file: PathBuf,
        /// What happened.
        cause: String,
        /// What belongs into it.
        expected: &'static str,
    },
    /// A file without a certificate in it.
    #[error(
        "{file} holds no certificate that can be used; expected lines from BEGIN CERTIFICATE to \
         END CERTIFICATE"
    )]
    NoCertificate {
        /// Which.
        file: PathBuf,
    },
    /// Everybody on this machine may read or write the private key.
    #[error("{file} may be read or written by everybody ({mode:03o}): chmod o-rw {file}")]
    OpenKey {
        /// Which.
        file: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The certificate belongs to another key, or cannot be used.
    #[error("{cert} and {key} do not serve together: {cause}")]
    Pair {
        /// The certificate.
        cert: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        cause: rustls::Error,
    },
    /// A certificate of the form that has no extensions, and so no names.
    #[error("{cert} is a certificate of X.509 version 1: {remedy}", remedy = Self::MAKE_VERSION_3)]
    Version1 {
        /// The certificate.
        cert: PathBuf,
    },
    /// One of two options that belong together.
    #[error("--cert and --key belong together: {missing} is missing")]
    Half {
        /// The other one.
        missing: &'static str,
    },
    /// A server without a certificate.
    #[error("a TLS server needs --cert FILE and --key FILE")]
    NoIdentity,
    /// No name to check the certificate against.
    #[error("`{name}` is no name that a certificate can be for; write --server-name NAME")]
    ServerName {
        /// As given.
        name: String,
    },
    /// The machine trusts nobody.
    #[error(
        "this machine has no certificates of trusted authorities{cause}; name the authority with \
         --ca FILE"
    )]
    NobodyTrusted {
        /// What was found instead; empty: nothing.
        cause: String,
    },
    /// An option of TLS without TLS.
    #[error("{option} means nothing without --tls: add --tls, or leave it out")]
    Switch {
        /// The option.
        option: &'static str,
    },
    /// The library refuses what the options ask for.
    #[error("cannot prepare TLS: {cause}")]
    Setup {
        /// What it says.
        cause: rustls::Error,
    },
}

impl TlsError {
    /// The error of a certificate and a key that do not serve together.
    pub fn pair(files: &(PathBuf, PathBuf)) -> impl FnOnce(rustls::Error) -> Self {
        let (cert, key) = files.clone();
        move |cause| match cause {
            rustls::Error::InvalidCertificate(wrong) if Self::is_of_version_1(&wrong) => {
                Self::Version1 { cert }
            }
            cause => Self::Pair { cert, key, cause },
        }
    }

    /// What to do about a certificate of X.509 version 1.
    pub const MAKE_VERSION_3: &str =
        "make one of version 3, as openssl x509 -req does with -extfile FILE";

    /// True for what the library says of a certificate of X.509 version 1.
    #[must_use]
    pub fn is_of_version_1(wrong: &rustls::CertificateError) -> bool {
        matches!(wrong, rustls::CertificateError::Other(other) if other.to_string() == VERSION_1)
    }

    /// The error of `file`, which should hold what is `expected`.
    pub fn file(
        file: &Path,
        expected: &'static str,
    ) -> impl Fn(rustls::pki_types::pem::Error) -> Self {
        let file = file.to_owned();
        move |cause| {
            use rustls::pki_types::pem::Error;
            let cause = match cause {
                Error::Io(cause) => cause.to_string(),
                Error::NoItemsFound => "nothing of the kind is in it".into(),
                other => other.to_string(),
            };
            Self::File { file: file.clone(), cause, expected }
        }
    }
}
