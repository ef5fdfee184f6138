//! Certificates and keys from files, and the authorities that are believed.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsError;

/// Permission of everybody to read or write.
const OTHERS: u32 = 0o006;

/// Who we say we are.
#[derive(Debug)]
pub(super) struct Identity {
    /// Our certificate first, then those that lead to its authority.
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    /// The files of certificate and key.
    pub(super) files: (PathBuf, PathBuf),
}

impl Identity {
    /// Reads both files, or neither. A key that everybody may read is refused: a group may, as
    /// the group `ssl-cert` does on Debian.
    pub(super) fn of(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<Self>, TlsError> {
        let (cert, key) = match (cert, key) {
            (None, None) => return Ok(None),
            (Some(cert), Some(key)) => (cert, key),
            (Some(_), None) => return Err(TlsError::Half { missing: "--key FILE" }),
            (None, Some(_)) => return Err(TlsError::Half { missing: "--cert FILE" }),
        };
        let chain = certificates(cert)?;
        let read = TlsError::file(key, "a private key");
        let file = std::fs::metadata(key).map_err(|cause| read(pem::Error::Io(cause)))?;
        let mode = file.permissions().mode() & 0o777;
        if mode & OTHERS != 0 {
            return Err(TlsError::OpenKey { file: key.to_owned(), mode });
        }
        let files = (cert.to_owned(), key.to_owned());
        let key = PrivateKeyDer::from_pem_file(key).map_err(read)?;
        Ok(Some(Self { chain, key, files }))
    }
}

/// The authorities in `file`.
pub(super) fn authorities(file: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(certificates(file)?);
    if usable == 0 {
        return Err(TlsError::NoCertificate { file: file.to_owned() });
    }
    Ok(roots)
}

/// The authorities that this machine trusts, where `SSL_CERT_FILE` and `SSL_CERT_DIR` or the
/// system say.
pub(super) fn trusted() -> Result<RootCertStore, TlsError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(found.certs);
    if usable == 0 {
        let cause = found.errors.first().map_or(String::new(), |error| format!(" ({error})"));
        return Err(TlsError::NobodyTrusted { cause });
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = TlsError::file(file, "certificates");
    let found = CertificateDer::pem_file_iter(file).map_err(&wrong)?;
    let found = found.collect::<Result<Vec<_>, _>>().map_err(&wrong)?;
    if found.is_empty() {
        return Err(TlsError::NoCertificate { file: file.to_owned() });
    }
    Ok(found)
}
