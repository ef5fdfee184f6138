//! The authority that signs for the hosts that are opened: made on this machine, for its user, and
//! trusted by nobody who was not told to.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plumb_engine::clock;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use super::RecordError;

const CERTIFICATE: &str = "plumb-ca.pem";
const KEY: &str = "plumb-ca.key";
const FOLDER_MODE: u32 = 0o700;
const KEY_MODE: u32 = 0o600;
const DAY_NS: u64 = 86_400 * 1_000_000_000;
/// How long the authority is valid, days.
const AUTHORITY_DAYS: u64 = 825;
/// How long a certificate of a host is valid, days: longer than any recording.
const HOST_DAYS: u64 = 30;
/// Hosts whose certificates are kept; then they are signed anew.
const HOSTS_MAX: usize = 1_024;

/// An authority, and what it has signed.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    own: CertificateDer<'static>,
    file: PathBuf,
    /// The key of all hosts; it lives as long as the recording.
    host_key: KeyPair,
    hosts: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // keys are nobody's business
        f.debug_struct("Authority").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Where an authority lies unless another place is named.
///
/// # Errors
/// [`RecordError::NoHome`].
///
/// # Source
/// XDG Base Directory Specification 0.8: state is data of one user and one machine.
pub(crate) fn default_folder() -> Result<PathBuf, RecordError> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .ok_or(RecordError::NoHome)?;
    Ok(state.join("plumb/ca"))
}

impl Authority {
    /// The authority in `folder`, which is made if there is none.
    ///
    /// # Errors
    /// [`RecordError`] when others may use its key, or its files cannot be made or read.
    pub(crate) fn open(folder: &Path) -> Result<Self, RecordError> {
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(FOLDER_MODE);
        builder.create(folder).map_err(RecordError::file("make", folder))?;
        private(folder, FOLDER_MODE)?;
        let (file, key_file) = (folder.join(CERTIFICATE), folder.join(KEY));
        if !key_file.exists() && !file.exists() {
            make(&file, &key_file)?;
        }
        private(&key_file, KEY_MODE)?;
        let wrong = |path: &Path, cause: &dyn std::fmt::Display| RecordError::NoAuthority {
            path: path.to_owned(),
            cause: cause.to_string(),
        };
        let text = fs::read_to_string(&key_file).map_err(RecordError::file("read", &key_file))?;
        let key = KeyPair::from_pem(&text).map_err(|error| wrong(&key_file, &error))?;
        let own = CertificateDer::from_pem_file(&file).map_err(|error| wrong(&file, &error))?;
        let public = key.subject_public_key_info();
        if !own.windows(public.len()).any(|part| part == public) {
            return Err(wrong(&file, &"it is not for the key beside it"));
        }
        let host_key = KeyPair::generate().map_err(|error| wrong(&key_file, &error))?;
        let issuer = Issuer::new(params(&key), key);
        Ok(Self { issuer, own, file, host_key, hosts: Mutex::default() })
    }

    /// What a server of `host` shows; which protocols it offers is up to the connection.
    ///
    /// # Errors
    /// Why `host` is no name that a certificate can be for.
    pub(crate) fn config(&self, host: &str) -> Result<Arc<ServerConfig>, String> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = hosts.get(host) {
            return Ok(Arc::clone(known));
        }
        let config = Arc::new(self.sign(host)?);
        if hosts.len() >= HOSTS_MAX {
            hosts.clear();
        }
        hosts.insert(host.to_owned(), Arc::clone(&config));
        Ok(config)
    }

    fn sign(&self, host: &str) -> Result<ServerConfig, String> {
        let words = |error: &dyn std::fmt::Display| format!("cannot sign for {host}: {error}");
        let mut params =
            CertificateParams::new([host.to_owned()]).map_err(|error| words(&error))?;
        valid_for(&mut params, HOST_DAYS);
        params.distinguished_name.push(DnType::CommonName, "plumb http record");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let signed =
            params.signed_by(&self.host_key, &self.issuer).map_err(|error| words(&error))?;
        let key = PrivatePkcs8KeyDer::from(self.host_key.serialize_der()).into();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        // with its own certificate in the chain, a client may trust it by the hash of its key
        let chain = vec![signed.der().clone(), self.own.clone()];
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| words(&error))
    }

    /// The file of its certificate, its fingerprint, and how to trust it.
    pub(crate) fn introduction(&self) -> String {
        let file = self.file.display();
        let spki = STANDARD.encode(digest(&SHA256, &self.issuer.key().subject_public_key_info()));
        let folder = self.file.parent().unwrap_or(&self.file).display();
        format!(
            "authority: {file}\n\
             SHA-256 fingerprint: {}\n\
             Whoever trusts it lets the owner of {folder} read what they encrypt: trust it in a \
             browser profile of its own, and remove the folder when you have recorded.\n\
             \x20 Chromium: --user-data-dir=DIR --ignore-certificate-errors-spki-list={spki}\n\
             \x20 Chromium's users and Firefox's profiles: certutil -A -d sql:DIR -n plumb -t C,, -i {file}\n\
             \x20 curl: --cacert {file}\n",
            fingerprint(&self.own),
        )
    }
}

/// Makes key and certificate. The key comes first: one without a certificate is seen the next time.
fn make(file: &Path, key_file: &Path) -> Result<(), RecordError> {
    let failed = |error: rcgen::Error| RecordError::NoAuthority {
        path: file.to_owned(),
        cause: error.to_string(),
    };
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params(&key).self_signed(&key).map_err(failed)?;
    write_new(key_file, KEY_MODE, &key.serialize_pem())?;
    write_new(file, 0o644, &certificate.pem())
}

fn write_new(file: &Path, mode: u32, text: &str) -> Result<(), RecordError> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(RecordError::file("make", file))
}

/// What the authority is called follows from its key, so that key and certificate are all there is.
fn params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    let number: String = fingerprint(&key.subject_public_key_info()).chars().take(11).collect();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("plumb http record {number}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid_for(&mut params, AUTHORITY_DAYS);
    params
}

/// Valid from yesterday, for clocks that differ.
fn valid_for(params: &mut CertificateParams, days: u64) {
    let now = clock::wall_ns();
    let (year, month, day) = date(now.saturating_sub(DAY_NS));
    params.not_before = date_time_ymd(year, month, day);
    let (year, month, day) = date(now + days * DAY_NS);
    params.not_after = date_time_ymd(year, month, day);
}

/// Year, month and day of `wall_ns`, in UTC.
fn date(wall_ns: u64) -> (i32, u8, u8) {
    let text = clock::utc(wall_ns);
    let mut parts = text.split(['-', 'T']);
    let mut next = |least: i32| parts.next().and_then(|part| part.parse().ok()).unwrap_or(least);
    let (year, month, day) = (next(1970), next(1), next(1));
    let small = |number: i32| u8::try_from(number).unwrap_or(1);
    (year, small(month), small(day))
}

/// SHA-256 as browsers show it.
fn fingerprint(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest(&SHA256, bytes).as_ref() {
        let joint = if text.is_empty() { "" } else { ":" };
        let _ = write!(text, "{joint}{byte:02X}"); // a String takes everything
    }
    text
}

/// Refuses what others may use.
fn private(path: &Path, wanted: u32) -> Result<(), RecordError> {
    let about = fs::metadata(path).map_err(RecordError::file("read", path))?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(RecordError::OpenAuthority { path: path.to_owned(), mode, wanted })
}

#[cfg(test)]
mod tests {
    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls_pki_types::{ServerName, UnixTime};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn it_is_made_once_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("state/ca");
        let first = Authority::open(&place).unwrap();
        let again = Authority::open(&place).unwrap();
        assert_eq!(first.introduction(), again.introduction());
        assert_eq!((mode(&place), mode(&place.join(KEY))), (0o700, 0o600));
        let words = first.introduction();
        assert!(words.contains(&fingerprint(&first.own)), "{words}");
        assert_eq!(fingerprint(b"").len(), 32 * 3 - 1);
        assert!(fingerprint(b"").starts_with("E3:B0:C4:42"));
    }

    #[test]
    fn whoever_trusts_it_believes_what_it_signs_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ca");
        let authority = Authority::open(&place).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(authority.own.clone()).unwrap();
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_nanos(clock::wall_ns()));
        // opened once more, it signs in the same name
        let authority = Authority::open(&place).unwrap();
        for host in ["erp.example", "127.0.0.1", "::1"] {
            let mut params = CertificateParams::new([host.to_owned()]).unwrap();
            valid_for(&mut params, 1);
            let signed = params.signed_by(&authority.host_key, &authority.issuer).unwrap();
            let name = ServerName::try_from(host).unwrap();
            let believed = |name: &ServerName<'_>| {
                verifier.verify_server_cert(signed.der(), &[], name, &[], now).is_ok()
            };
            assert!(believed(&name), "{host}");
            assert!(!believed(&ServerName::try_from("other.example").unwrap()), "{host}");
            authority.config(host).unwrap();
        }
    }

    #[test]
    fn a_key_that_others_may_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("ca");
        Authority::open(&place).unwrap();
        let key = place.join(KEY);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Authority::open(&place).unwrap_err().to_string();
        assert!(error.contains("(640)") && error.contains("chmod 600"), "{error}");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
        let error = Authority::open(&place).unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{error}");
    }

    #[test]
    fn files_that_do_not_belong_together_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        Authority::open(&one).unwrap();
        Authority::open(&other).unwrap();
        fs::copy(one.join(CERTIFICATE), other.join(CERTIFICATE)).unwrap();
        let error = Authority::open(&other).unwrap_err().to_string();
        assert!(error.contains("not for the key beside it"), "{error}");
        fs::remove_file(other.join(CERTIFICATE)).unwrap();
        assert!(Authority::open(&other).is_err());
    }
}
