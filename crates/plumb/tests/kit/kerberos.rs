//! A realm of Kerberos with a user, and a server of pages that wants its tickets; nothing of it was written
//! here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use super::foreign::installed;
use super::{Ended, PLUMB, Program, free_address};

/// The user, and the password that nothing may show.
pub(crate) const USER: &str = "demo";
pub(crate) const PASSWORD: &str = "open-sesame-88";
/// The library that makes a program see another time.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

/// A realm whose KDC is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct Realm {
    kdc: Option<Program>,
    folder: TempDir,
}

/// A server of pages that is ready, and is ended with the test.
#[derive(Debug)]
pub(crate) struct Apache {
    program: Option<Program>,
    /// Without a path.
    pub(crate) url: String,
}

impl Realm {
    /// A realm with the principals of [`USER`], of `HTTP/localhost` and of `HTTP/other`, each with a
    /// keytab of its name; `Err` says why not.
    pub(crate) fn start() -> Result<Self, String> {
        installed("krb5kdc", "krb5-kdc")?;
        installed("kinit", "krb5-user")?;
        installed("apache2", "apache2 and libapache2-mod-auth-gssapi")?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        // a server of pages gives up what root may
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        let (address, place) = (free_address(), folder.path().display().to_string());
        let config = format!(
            "[libdefaults]\ndefault_realm = PLUMB.TEST\ndns_lookup_kdc = false\n\
             dns_lookup_realm = false\nrdns = false\ndns_canonicalize_hostname = false\n\
             [realms]\nPLUMB.TEST = {{\nkdc = {address}\n}}\n\
             [domain_realm]\nlocalhost = PLUMB.TEST\n[logging]\nkdc = STDERR\n"
        );
        fs::write(folder.path().join("krb5.conf"), config).expect("a file");
        let config = format!(
            "[kdcdefaults]\nkdc_listen = {address}\nkdc_tcp_listen = {address}\n\
             [realms]\nPLUMB.TEST = {{\ndatabase_name = {place}/principal\n\
             key_stash_file = {place}/stash\nacl_file = {place}/acl\n}}\n"
        );
        fs::write(folder.path().join("kdc.conf"), config).expect("a file");
        let mut realm = Self { kdc: None, folder };
        realm.run("kdb5_util", &["create", "-s", "-P", "master", "-r", "PLUMB.TEST"]);
        realm.kadmin(&format!("addprinc -pw {PASSWORD} {USER}"));
        realm.kadmin(&format!("ktadd -norandkey -k {} {USER}", realm.keytab(USER)));
        for host in ["localhost", "other"] {
            realm.kadmin(&format!("addprinc -randkey HTTP/{host}"));
            realm.kadmin(&format!("ktadd -k {} HTTP/{host}", realm.keytab(host)));
            let readable = fs::Permissions::from_mode(0o644);
            fs::set_permissions(realm.keytab(host), readable).expect("ours");
        }
        realm.kdc = Some(realm.start_as("krb5kdc", &["-n"], &[]));
        while !realm.kdc.as_ref().expect("it runs").log_line().contains("commencing operation") {}
        Ok(realm)
    }

    /// Ends its KDC.
    pub(crate) fn stop(&mut self) {
        self.kdc = None;
    }

    /// The keytab of a principal.
    pub(crate) fn keytab(&self, name: &str) -> String {
        self.folder.path().join(name).with_extension("keytab").display().to_string()
    }

    /// The cache of tickets with this name.
    pub(crate) fn cache(&self, name: &str) -> String {
        format!("FILE:{}", self.folder.path().join(name).display())
    }

    /// Gets a ticket into `cache`, with further words of `kinit`.
    pub(crate) fn kinit(&self, cache: &str, words: &[&str]) {
        let (cache, keytab) = (self.cache(cache), self.keytab(USER));
        self.run("kinit", &[words, &["-c", &cache, "-k", "-t", &keytab, USER]].concat());
    }

    /// Whether the ticket in `cache` is good.
    pub(crate) fn is_good(&self, cache: &str) -> bool {
        self.command("klist")
            .args(["-s", "-c", &self.cache(cache)])
            .status()
            .expect("it is there")
            .success()
    }

    /// `plumb` with the tickets in `cache` and something more in its environment.
    pub(crate) fn plumb(
        &self,
        words: &[&str],
        (cache, told): (&str, &[(&str, &str)]),
        folder: &Path,
    ) -> Ended {
        let (config, cache) = (self.config("krb5.conf"), self.cache(cache));
        let own = [("KRB5_CONFIG", config.as_str()), ("KRB5CCNAME", cache.as_str())];
        Program::start_told(Path::new(PLUMB), words, folder, &[&own, told].concat()).wait()
    }

    fn config(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(path(program));
        command.env("KRB5_CONFIG", self.config("krb5.conf"));
        command.env("KRB5_KDC_PROFILE", self.config("kdc.conf"));
        command
    }

    fn run(&self, program: &str, words: &[&str]) {
        let ended = self.command(program).args(words).output().expect("it is there");
        assert!(ended.status.success(), "{program} {words:?}: {ended:?}");
    }

    fn kadmin(&self, words: &str) {
        self.run("kadmin.local", &["-r", "PLUMB.TEST", "-q", words]);
    }

    fn start_as(&self, program: &str, words: &[&str], told: &[(&str, &str)]) -> Program {
        let (config, profile) = (self.config("krb5.conf"), self.config("kdc.conf"));
        let own = [("KRB5_CONFIG", config.as_str()), ("KRB5_KDC_PROFILE", profile.as_str())];
        let all = [&own, told].concat();
        Program::start_told(&path(program), words, self.folder.path(), &all)
    }

    /// Apache with the key of `host`: `/each` wants a ticket with each request, `/once` one a
    /// connection.
    pub(crate) fn apache(&self, host: &str) -> Apache {
        let (address, place) = (free_address(), self.folder.path().join(format!("of-{host}")));
        fs::create_dir_all(place.join("www")).expect("a folder");
        fs::create_dir(place.join("seen")).expect("a folder");
        let anybody = fs::Permissions::from_mode(0o777);
        fs::set_permissions(place.join("seen"), anybody).expect("ours");
        for page in ["each", "once"] {
            fs::write(place.join("www").join(page), "hello").expect("a file");
        }
        let (at, keytab) = (place.display(), self.keytab(host));
        let modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi"];
        let modules = modules.map(|name| {
            format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
        });
        let wants = |path: &str, more: &str| {
            format!(
                "<Location /{path}>\nAuthType GSSAPI\nAuthName plumb\n{more}\
                 GssapiCredStore keytab:{keytab}\nRequire valid-user\n</Location>\n"
            )
        };
        let config = format!(
            "ServerRoot {at}\nServerName localhost\nListen {address}\nPidFile {at}/pid\n\
             ErrorLog /dev/stderr\nLogLevel info\nUser www-data\nGroup www-data\n{}\
             DocumentRoot {at}/www\n{}{}",
            modules.concat(),
            wants("each", ""),
            wants("once", "GssapiConnectionBound On\n")
        );
        let file = place.join("apache.conf");
        fs::write(&file, config).expect("a file");
        let seen = place.join("seen").display().to_string();
        let words = ["-DFOREGROUND", "-f", &file.display().to_string()];
        let program = self.start_as("apache2", &words, &[("KRB5RCACHEDIR", &seen)]);
        while !program.log_line().contains("resuming normal operations") {}
        let port = address.rsplit(':').next().expect("host and port");
        Apache { program: Some(program), url: format!("http://localhost:{port}") }
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        // asked, it ends its workers, too
        if let Some(program) = self.program.take() {
            program.signal(Signal::TERM);
            program.wait();
        }
    }
}

/// What makes a program believe that it is so much later; `None` where it cannot be had.
pub(crate) fn later(time: &str) -> Option<[(&'static str, &str); 3]> {
    let there = Path::new(FAKETIME).exists();
    there.then_some([("LD_PRELOAD", FAKETIME), ("DONT_FAKE_MONOTONIC", "1"), ("FAKETIME", time)])
}

/// Where a program of this machine is.
fn path(program: &str) -> PathBuf {
    let own = Path::new("/usr/sbin").join(program);
    if own.is_file() { own } else { PathBuf::from(program) }
}
