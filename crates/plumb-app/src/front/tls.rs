//! What the server proves itself with.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::AppError;
use crate::config::TlsConfig;

/// TLS with the certificate and the key of `files`.
///
/// # Errors
/// [`AppError::Tls`] names the file that cannot be used.
pub(crate) fn acceptor(files: &TlsConfig) -> Result<TlsAcceptor, AppError> {
    let wrong = |path: &Path, cause: String| AppError::Tls { path: path.into(), cause };
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
