//! What the server proves itself with.

use std::path::PathBuf;

use plumb_engine::EngineError;
use plumb_engine::tls::ServerTlsOptions;
use serde::Deserialize;
use tokio_rustls::TlsAcceptor;

/// What a server proves itself with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TlsFiles {
    /// PEM file of the certificate, followed by those that vouch for it.
    pub cert: PathBuf,
    /// PEM file of its key.
    pub key: PathBuf,
}

/// TLS with the certificate and the key of `files`, as every server here speaks it.
///
/// # Errors
/// [`EngineError::Tls`] names the file that does not serve.
pub fn acceptor(files: &TlsFiles) -> Result<TlsAcceptor, EngineError> {
    let (cert, key) = (Some(files.cert.clone()), Some(files.key.clone()));
    let options = ServerTlsOptions { tls: true, cert, key, client_ca: None };
    Ok(TlsAcceptor::from(plumb_engine::TlsAcceptor::new(&options, &[])?.config()))
}
