//! TLS with the meaning that `libpq` gives to `sslmode`.

use std::fmt;
use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::database::certificate::Certificate;
use plumb_serve::database::tls::{
    AnyCertificate, CertificateJudge, Encrypted, Shown, Verifier, of_any_certificate,
};
use rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;

use crate::LoginError;
use crate::login::{Login, process_environment};
use crate::product::Product;
use crate::ssl_mode::{MACHINE, SslMode};

/// Makes encrypted connections to one server.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    taken_ns: Arc<AtomicU64>,
    proof: Arc<OnceLock<String>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tls {
    /// What `login` asks for.
    ///
    /// # Errors
    /// [`LoginError::File`] when certificates or keys cannot be read, [`LoginError::Tls`] when there is
    /// nobody to trust.
    pub fn of(login: &Login) -> Result<Self, LoginError> {
        let provider = Arc::new(ring::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match login.ssl {
            SslMode::Disable | SslMode::Prefer | SslMode::Require => {
                Arc::new(Verifier::new(AnyCertificate, &provider))
            }
            mode @ (SslMode::VerifyCa | SslMode::VerifyFull) => {
                let trusted = Trusted::of(login, &provider)?;
                let host = (mode == SslMode::VerifyFull).then(|| login.host.clone());
                Arc::new(Verifier::new(PathJudge { trusted, host }, &provider))
            }
        };
        // what a server says behind a handshake of TLS 1.3 has no place between its packets
        let versions = match login.product {
            Product::Mssql => &[&rustls::version::TLS12],
            _ => rustls::DEFAULT_VERSIONS,
        };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|error| {
                refused(login, &error.to_string(), "turn TLS off to measure without it")
            })?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match &login.client_cert {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let (chain, key) = (certificates(cert, login)?, private_key(key)?);
                builder.with_client_auth_cert(chain, key).map_err(|error| LoginError::File {
                    file: cert.clone(),
                    complaint: format!("{error}; do the certificate and the key belong together?"),
                })?
            }
        };
        let name = ServerName::try_from(login.host.clone())
            .or_else(|_| ServerName::try_from("localhost".to_owned()))
            .map_err(|error| refused(login, &error.to_string(), "name the host by a DNS name"))?;
        Ok(Self { config: Arc::new(config), name, taken_ns: Arc::default(), proof: Arc::default() })
    }

    /// For a connection that is not encrypted, over the code of those that are.
    ///
    /// # Errors
    /// [`LoginError::Engine`] when TLS cannot be set up.
    pub fn unused() -> Result<Self, LoginError> {
        let config = of_any_certificate()?;
        let name = ServerName::IpAddress(Ipv4Addr::LOCALHOST.into());
        Ok(Self { config, name, taken_ns: Arc::default(), proof: Arc::default() })
    }

    /// The same for one connection, whose handshake is timed on its own.
    pub fn for_one(&self) -> Self {
        Self { taken_ns: Arc::default(), proof: Arc::default(), ..self.clone() }
    }

    /// The handshake over `stream`.
    ///
    /// # Errors
    /// That of the socket, or why the other side is not trusted.
    pub async fn handshake<S>(self, stream: S) -> io::Result<Encrypted<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let began_ns = MonotonicClock.now_ns();
        let session = TlsConnector::from(self.config).connect(self.name, stream).await?;
        let taken_ns = MonotonicClock.now_ns().saturating_sub(began_ns).max(1);
        self.taken_ns.store(taken_ns, Ordering::Relaxed);
        if let Some(proof) = plumb_engine::tls::proof(session.get_ref().1) {
            self.proof.get_or_init(|| proof);
        }
        Ok(session.into())
    }

    /// How long the handshake took, nanoseconds; `None` when there was none.
    pub fn taken_ns(&self) -> Option<u64> {
        Some(self.taken_ns.load(Ordering::Relaxed)).filter(|ns| *ns > 0)
    }

    /// Version and cipher, in words; `None` when there was no handshake.
    pub fn proof(&self) -> Option<String> {
        self.proof.get().cloned()
    }
}

fn refused(login: &Login, cause: &str, remedy: &'static str) -> LoginError {
    LoginError::Tls { server: login.server(), cause: cause.into(), remedy }
}

/// Whom to trust: the certificates of the file that is named, those of this machine for `system`, or
/// those of `~/.postgresql/root.crt`.
fn authorities(login: &Login) -> Result<Vec<CertificateDer<'static>>, LoginError> {
    match &login.root_cert {
        Some(_) if trusts_machine(login) => Ok(rustls_native_certs::load_native_certs().certs),
        Some(named) => certificates(named, login),
        None => {
            let home = process_environment("HOME").unwrap_or_default();
            certificates(&Path::new(&home).join(".postgresql/root.crt"), login)
        }
    }
}

/// True when the authorities of this machine are trusted.
fn trusts_machine(login: &Login) -> bool {
    login.root_cert.as_deref() == Some(Path::new(MACHINE))
}

fn certificates(file: &Path, login: &Login) -> Result<Vec<CertificateDer<'static>>, LoginError> {
    let complain = |complaint: String| LoginError::File { file: file.into(), complaint };
    let text = fs::read(file)
        .map_err(|error| complain(format!("{error}; {}", login.product.names_authority())))?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|error| complain(format!("no certificates in PEM form: {error}")))?;
    if found.is_empty() {
        return Err(complain("no certificate in it; expected PEM form".into()));
    }
    Ok(found)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, LoginError> {
    let complain = |complaint: String| LoginError::File { file: file.into(), complaint };
    let text = fs::read(file).map_err(|error| complain(error.to_string()))?;
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| complain(format!("no private key in PEM form: {error}")))
}

/// Who is trusted.
#[derive(Debug)]
struct Trusted {
    /// Follows a certificate to one of the authorities.
    path: Arc<WebPkiServerVerifier>,
    /// The certificates themselves: a server may show one of them as its own.
    certificates: Vec<CertificateDer<'static>>,
}

impl Trusted {
    fn of(login: &Login, provider: &Arc<CryptoProvider>) -> Result<Self, LoginError> {
        let certificates = authorities(login)?;
        let remedy = login.product.names_authority();
        let mut roots = RootCertStore::empty();
        let (_, unread) = roots.add_parsable_certificates(certificates.iter().cloned());
        if certificates.is_empty() {
            return Err(refused(login, "this machine trusts no authority", remedy));
        }
        if unread > 0 && !trusts_machine(login) {
            let cause = format!("{unread} of the certificates of the authorities cannot be used");
            return Err(refused(login, &cause, remedy));
        }
        let path =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
                .build()
                .map_err(|error| refused(login, &error.to_string(), remedy))?;
        Ok(Self { path, certificates })
    }
}

/// Looks at a certificate as closely as the mode asks.
#[derive(Debug)]
struct PathJudge {
    trusted: Trusted,
    /// The host that the certificate must name; `None`: any.
    host: Option<String>,
}

/// Checks a certificate that is trusted itself: its time, its purpose, its name.
fn of_its_own(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, rustls::Error> {
    let said = Certificate::parse(certificate).ok_or(CertificateError::BadEncoding)?;
    said.check(now.as_secs())?;
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
    Ok(ServerCertVerified::assertion())
}

impl PathJudge {
    /// True when a certificate that lists another name than that of the host, or none, is taken.
    fn takes_name_of(&self, certificate: &CertificateDer<'_>) -> bool {
        self.host.as_ref().is_none_or(|host| {
            Certificate::parse(certificate).is_some_and(|it| it.is_commonly_named(host))
        })
    }
}

impl CertificateJudge for PathJudge {
    fn judge(&self, shown: &Shown<'_>) -> Result<ServerCertVerified, rustls::Error> {
        let (trusted, certificate) = (&self.trusted, shown.certificate);
        let verified = if trusted.certificates.contains(certificate) {
            of_its_own(certificate, shown.name, shown.now)
        } else {
            let Shown { chain, name, ocsp, now, .. } = *shown;
            trusted.path.verify_server_cert(certificate, chain, name, ocsp, now)
        };
        match verified {
            // the name is looked at last: all else is well
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.takes_name_of(certificate) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }
}
