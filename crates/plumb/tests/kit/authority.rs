//! Certificates of an authority that exists for one test.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::TempDir;

/// An authority, and the folder with the certificates it has signed.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
    name: String,
}

/// A folder with an authority in it, which goes with the test.
#[derive(Debug)]
pub(crate) struct TestAuthority {
    pub(crate) folder: TempDir,
    pub(crate) authority: Authority,
}

impl TestAuthority {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let authority = Authority::new(folder.path(), "ours");
        Self { folder, authority }
    }
}

/// The files of a certificate and its key.
#[derive(Debug)]
pub(crate) struct Signed {
    pub(crate) cert: String,
    pub(crate) key: String,
}

impl Authority {
    /// An authority whose files in `folder` begin with `name`.
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().expect("keys can be made");
        let mut params = CertificateParams::new([]).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let own = params.self_signed(&key).expect("it signs itself");
        let authority =
            Self { issuer: Issuer::new(params, key), folder: folder.into(), name: name.into() };
        fs::write(authority.file("ca.pem"), own.pem()).expect("the folder can be written");
        authority
    }

    /// The file with its own certificate.
    pub(crate) fn ca(&self) -> String {
        self.file("ca.pem")
    }

    /// A certificate for `host`, valid until after the end of this century.
    pub(crate) fn sign(&self, host: &str) -> Signed {
        self.sign_until(host, 2199)
    }

    /// A certificate for `host`, valid from 2001 until the first day of `year`.
    pub(crate) fn sign_until(&self, host: &str, year: i32) -> Signed {
        let mut params = CertificateParams::new([host.to_owned()]).expect("a name");
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().expect("keys can be made");
        let cert = params.signed_by(&key, &self.issuer).expect("it signs");
        let signed = Signed {
            cert: self.file(&format!("{host}-{year}.pem")),
            key: self.file(&format!("{host}-{year}.key")),
        };
        fs::write(&signed.cert, cert.pem()).expect("the folder can be written");
        fs::write(&signed.key, key.serialize_pem()).expect("the folder can be written");
        allow(&signed.key, 0o600);
        signed
    }

    fn file(&self, rest: &str) -> String {
        let file = self.folder.join(format!("{}-{rest}", self.name));
        file.to_str().expect("a plain path").to_owned()
    }
}

impl Signed {
    /// What a server of the test needs to show it.
    pub(crate) fn server_config(&self) -> Arc<ServerConfig> {
        let cert = CertificateDer::from_pem_file(&self.cert).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(&self.key).expect("a key");
        let building = ServerConfig::builder().with_no_client_auth();
        Arc::new(building.with_single_cert(vec![cert], key).expect("they belong together"))
    }

    /// The same of a server that serves only those whom `authority` has signed.
    pub(crate) fn server_config_among(&self, authority: &Authority) -> Arc<ServerConfig> {
        let cert = CertificateDer::from_pem_file(&self.cert).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(&self.key).expect("a key");
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_file(authority.ca()).expect("a certificate");
        roots.add(root).expect("it is an authority");
        let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build().expect("one root");
        let building = ServerConfig::builder().with_client_cert_verifier(verifier);
        Arc::new(building.with_single_cert(vec![cert], key).expect("they belong together"))
    }

    /// The words that make a client or server show it.
    pub(crate) fn shown(&self) -> [&str; 5] {
        ["--tls", "--cert", &self.cert, "--key", &self.key]
    }
}

/// Sets the permissions of a file.
pub(crate) fn allow(file: &str, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).expect("it is our file");
}
