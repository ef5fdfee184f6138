//! TLS for sessions with `PostgreSQL`, with the meaning that `libpq` gives to `sslmode`.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use plumb_engine::EngineError;
use plumb_engine::tls::TrustOptions;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// How much TLS is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SslMode {
    /// None.
    Disable,
    /// Where the server offers it; whoever the server is.
    Prefer,
    /// Always; whoever the server is.
    Require,
    /// Always, and the server's certificate names the host and comes from an authority that is
    /// trusted.
    VerifyFull,
}

impl SslMode {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// What the driver is told.
    pub(super) fn of_driver(self) -> tokio_postgres::config::SslMode {
        use tokio_postgres::config::SslMode as Driver;
        match self {
            Self::Disable => Driver::Disable,
            Self::Prefer => Driver::Prefer,
            Self::Require | Self::VerifyFull => Driver::Require,
        }
    }
}

/// Makes encrypted connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// What `mode` asks for, with the authorities in the file `authorities`, or else those of this
    /// machine.
    ///
    /// # Errors
    /// [`EngineError::Tls`] when there is nobody to trust.
    pub(super) fn new(mode: SslMode, authorities: Option<&Path>) -> Result<Self, EngineError> {
        if mode == SslMode::VerifyFull {
            let options =
                TrustOptions { ca: authorities.map(Path::to_owned), ..TrustOptions::default() };
            // each connection names the host that it is for
            return Ok(Self(plumb_engine::TlsConnector::new(&options, "localhost", &[])?.config()));
        }
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|cause| plumb_engine::tls::TlsError::Setup { cause })?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// Takes the certificate of whoever answers, as the modes below `verify-full` do: it protects from
/// those who listen, not from those who stand in between.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, io::Error> {
        // a folder of a socket is no name; there TLS is not spoken
        let name = ServerName::try_from(domain.to_owned())
            .or_else(|_| ServerName::try_from("localhost".to_owned()))
            .map_err(io::Error::other)?;
        Ok(Handshake { config: Arc::clone(&self.0), name })
    }
}

/// The beginning of one encrypted connection.
pub(super) struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let connected = TlsConnector::from(self.config).connect(self.name, stream).await;
            connected.map(Encrypted)
        })
    }
}

/// An encrypted connection.
#[derive(Debug)]
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
