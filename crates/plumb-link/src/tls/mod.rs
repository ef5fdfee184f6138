//! TLS under every layer: who is believed, who we say we are, and the bytes of one connection.
//!
//! `options.rs` holds what a user may say, `identity.rs` reads certificates and keys, `link.rs`
//! moves bytes, `words.rs` says what went wrong.

mod identity;
mod link;
mod options;
mod words;

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::WebPkiClientVerifier;
use rustls::{CipherSuite, ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use identity::{Identity, authorities, trusted};
pub use link::{Tls, proof};
pub use options::{ServerTlsOptions, TlsOptions, TrustOptions};
pub use plumb_socket::TlsError;
pub use words::{speaks, wrong_certificate};

/// Makes the links of connections to one server.
#[derive(Clone, Debug)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// As [`demanding`](TlsConnector::demanding) says.
    demanding: bool,
}

impl TlsConnector {
    /// Connections to `host`, a name or number without a port, on which one of `alpn` is spoken;
    /// without any, nothing is negotiated.
    ///
    /// # Errors
    /// [`TlsError`] names the file, or the name, that does not serve.
    pub fn new(options: &TrustOptions, host: &str, alpn: &[&[u8]]) -> Result<Self, TlsError> {
        let name = options.server_name.as_deref().unwrap_or(host);
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| TlsError::ServerName { name: name.to_owned() })?;
        let roots = match &options.ca {
            Some(file) => authorities(file)?,
            None => trusted()?,
        };
        let building = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|cause| TlsError::Setup { cause })?
            .with_root_certificates(roots);
        let mut config = match Identity::of(options.cert.as_deref(), options.key.as_deref())? {
            None => building.with_no_client_auth(),
            Some(identity) => building
                .with_client_auth_cert(identity.chain, identity.key)
                .map_err(TlsError::pair(&identity.files))?,
        };
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        if !options.tls_resume {
            config.resumption = Resumption::disabled();
        }
        let connector = Self { config: Arc::new(config), name, demanding: false };
        connector.session().map_err(|cause| TlsError::Setup { cause })?;
        Ok(connector)
    }

    /// The same, for connections of use only where the server agrees on one of the protocols: its
    /// handshake fails otherwise.
    #[must_use]
    pub fn demanding(self) -> Self {
        Self { demanding: true, ..self }
    }

    /// The link of a new connection.
    #[must_use]
    pub fn link(&self) -> Tls {
        let link = Tls::new(self.session().map(Into::into));
        if self.demanding { link.demanding() } else { link }
    }

    /// The same for a client that has a loop of its own, and names the host itself.
    #[must_use]
    pub fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    fn session(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

/// Makes the links of connections that a server accepts.
#[derive(Clone, Debug)]
pub struct TlsAcceptor {
    config: Arc<ServerConfig>,
}

impl TlsAcceptor {
    /// Connections on which one of `alpn` is spoken; without any, nothing is negotiated.
    ///
    /// # Errors
    /// [`TlsError`] names the file, or the option, that is missing or does not serve.
    pub fn new(options: &ServerTlsOptions, alpn: &[&[u8]]) -> Result<Self, TlsError> {
        let identity = Identity::of(options.cert.as_deref(), options.key.as_deref())?
            .ok_or(TlsError::NoIdentity)?;
        let building = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|cause| TlsError::Setup { cause })?;
        let building = match &options.client_ca {
            None => building.with_no_client_auth(),
            Some(file) => {
                let roots = Arc::new(authorities(file)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
                    .build()
                    .map_err(|_| TlsError::NoCertificate { file: file.clone() })?;
                building.with_client_cert_verifier(verifier)
            }
        };
        let mut config = building
            .with_single_cert(identity.chain, identity.key)
            .map_err(TlsError::pair(&identity.files))?;
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let acceptor = Self { config: Arc::new(config) };
        acceptor.session().map_err(|cause| TlsError::Setup { cause })?;
        Ok(acceptor)
    }

    /// The link of a connection that was accepted.
    #[must_use]
    pub fn link(&self) -> Tls {
        Tls::new(self.session().map(Into::into))
    }

    /// The same for a server that has a loop of its own.
    #[must_use]
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    fn session(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(Arc::clone(&self.config))
    }
}

/// What a client of many servers needs: it believes the authorities that this machine trusts, and
/// those in the file `further`. Where a machine trusts nobody, the file is enough.
///
/// # Errors
/// [`TlsError`] names the file that does not serve, or says that there is nobody to trust.
pub fn client_config(
    further: Option<&Path>,
    alpn: &[&[u8]],
) -> Result<Arc<ClientConfig>, TlsError> {
    let roots = match (trusted(), further.map(authorities).transpose()?) {
        (Ok(mut roots), Some(further)) => {
            roots.extend(further.roots);
            roots
        }
        (Err(_), Some(further)) => further,
        (trusted, None) => trusted?,
    };
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|cause| TlsError::Setup { cause })?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The ciphers of ring, with AES-128 in GCM before AES-256: the order in which browsers ask.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| match suite.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => 0,
        _ if suite.tls13().is_some() => 1,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => 2,
        _ => 3,
    });
    Arc::new(provider)
}
