//! What the server proves itself with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use tokio_rustls::TlsAcceptor;

use crate::ServeError;

/// What a server proves itself with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsFiles {
    /// PEM file of the certificate, followed by those that vouch for it.
    pub cert: PathBuf,
    /// PEM file of its key.
    pub key: PathBuf,
}

/// TLS with the certificate and the key of `files`.
///
/// # Errors
/// [`ServeError::Tls`] names the file that cannot be used.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, ServeError> {
    let wrong = |path: &Path, cause: String| ServeError::Tls { path: path.into(), cause };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(&files.cert, error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong(&files.cert, "no certificate stands in it".into()));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| wrong(&files.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(certificates, key))
        .map_err(|error| wrong(&files.key, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
