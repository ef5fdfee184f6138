//! TLS for connections to `PostgreSQL`, with the meaning that `libpq` gives to `sslmode`.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use plumb_engine::EngineError;
use plumb_engine::tls::TrustOptions;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
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
        Ok(Self(of_any_certificate()?))
    }

    /// What begins an encrypted connection with `host`.
    ///
    /// # Errors
    /// When nothing can have that name.
    pub(super) fn handshake(&self, host: &str) -> io::Result<Handshake> {
        // a folder of a socket is no name; there TLS is not spoken
        let name = ServerName::try_from(host.to_owned())
            .or_else(|_| ServerName::try_from("localhost".to_owned()))
            .map_err(io::Error::other)?;
        Ok(Handshake { config: Arc::clone(&self.0), name })
    }
}

/// TLS with [whoever answers](AnyCertificate).
///
/// # Errors
/// [`EngineError::Tls`] when TLS cannot be set up.
pub fn of_any_certificate() -> Result<Arc<ClientConfig>, EngineError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(AnyCertificate, &provider);
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|cause| plumb_engine::tls::TlsError::Setup { cause })?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// What a server shows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'a> {
    /// Its certificate.
    pub certificate: &'a CertificateDer<'a>,
    /// Those that lead from it to an authority, as far as the server sent them.
    pub chain: &'a [CertificateDer<'a>],
    /// Who it should be.
    pub name: &'a ServerName<'a>,
    /// What an authority said lately of the certificate; empty where the server sent nothing.
    pub ocsp: &'a [u8],
    /// When it was shown.
    pub now: UnixTime,
}

/// Decides whose certificate is taken.
pub trait CertificateJudge: fmt::Debug + Send + Sync {
    /// Takes or refuses what a server showed.
    ///
    /// # Errors
    /// What is wrong with it.
    fn judge(&self, shown: &Shown<'_>) -> Result<ServerCertVerified, rustls::Error>;
}

/// Takes the certificate of whoever answers, as the modes below `verify-full` do: it protects from
/// those who listen, not from those who stand in between.
#[derive(Clone, Copy, Debug)]
pub struct AnyCertificate;

impl CertificateJudge for AnyCertificate {
    fn judge(&self, _: &Shown<'_>) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
}

/// Checks that a handshake is signed by the certificate that was shown, and leaves the certificate
/// itself to a judge.
#[derive(Debug)]
pub struct Verifier<J> {
    judge: J,
    algorithms: WebPkiSupportedAlgorithms,
}

impl<J: CertificateJudge> Verifier<J> {
    /// The handshake is signed by one of the algorithms of `provider`.
    #[must_use]
    pub fn new(judge: J, provider: &CryptoProvider) -> Self {
        Self { judge, algorithms: provider.signature_verification_algorithms }
    }
}

impl<J: CertificateJudge> ServerCertVerifier for Verifier<J> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        self.judge.judge(&Shown { certificate, chain, name, ocsp, now })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted<Socket>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, io::Error> {
        self.handshake(domain)
    }
}

/// The beginning of one encrypted connection.
pub(super) struct Handshake {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connected = TlsConnector::from(self.config).connect(self.name, stream).await;
            connected.map(Encrypted::from)
        })
    }
}

/// An encrypted connection over `S`, as the driver takes it.
#[derive(Debug)]
pub struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S> From<tokio_rustls::client::TlsStream<S>> for Encrypted<S> {
    fn from(stream: tokio_rustls::client::TlsStream<S>) -> Self {
        Self(stream)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
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
