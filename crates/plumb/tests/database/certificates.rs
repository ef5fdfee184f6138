//! Which certificates of a server are taken: those that PostgreSQL's own client takes.

use crate::kit;

use std::fs;

use kit::postgres::{Postgres, ping, try_psql};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// A certificate that signs itself, and its key, in PEM form.
fn its_own(names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained); // as openssl req -x509 makes them
    params.distinguished_name.push(DnType::CommonName, "elsewhere");
    change(&mut params);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

fn named(it: &mut CertificateParams, name: &str) {
    it.distinguished_name.push(DnType::CommonName, name);
}

#[test]
fn the_authorities_that_psql_would_ask_are_asked() {
    let (certificate, key) = its_own(&["127.0.0.1"], |_| {});
    let files = [("server.crt", certificate.as_str()), ("server.key", key.as_str())];
    let server = Postgres::with_files("ssl = on", &files);
    let home = tempfile::tempdir().expect("a folder");
    let words = ["--over", "connect", "--ask", "trivial", "--count", "3", "--warmup", "0s"];
    let asked =
        |parameters: &str| ping(&format!("{}?{parameters}", server.url()), &words, home.path());
    // nobody that this machine trusts has certified it
    let refused = asked("sslrootcert=system").with(2);
    assert!(refused.stderr.contains("no encrypted connection"), "{}", refused.stderr);
    let weak = asked("sslrootcert=system&sslmode=require").with(2);
    assert!(weak.stderr.contains("verify-full"), "{}", weak.stderr);
    asked("sslmode=require").with(0);
    fs::create_dir(home.path().join(".postgresql")).expect("a new folder");
    let (stranger, _) = its_own(&["127.0.0.1"], |it| named(it, "stranger"));
    for (authority, code) in [(&stranger, 2), (&certificate, 0)] {
        fs::write(home.path().join(".postgresql/root.crt"), authority).expect("a file");
        asked("sslmode=require").with(code);
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn a_certificate_that_is_its_own_root_is_taken_as_psql_takes_it() {
    let cases = [
        ("its address is listed", true, its_own(&["127.0.0.1"], |_| {})),
        ("its address is its common name", true, its_own(&[], |it| named(it, "127.0.0.1"))),
        (
            "a host is listed, its address is its common name",
            true,
            its_own(&["db1"], |it| named(it, "127.0.0.1")),
        ),
        ("another address is listed", false, its_own(&["127.0.0.2"], |it| named(it, "127.0.0.1"))),
        ("it is of elsewhere", false, its_own(&[], |_| {})),
        (
            "it has ended",
            false,
            its_own(&["127.0.0.1"], |it| it.not_after = rcgen::date_time_ymd(2020, 1, 1)),
        ),
        (
            "it is of a client",
            false,
            its_own(&["127.0.0.1"], |it| {
                it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }),
        ),
        (
            "its key certifies and nothing else",
            false,
            its_own(&["127.0.0.1"], |it| it.key_usages = vec![KeyUsagePurpose::KeyCertSign]),
        ),
    ];
    // of another subject: of two roots with one name, psql looks at the first alone
    let (stranger, _) = its_own(&["127.0.0.1"], |it| named(it, "stranger"));
    for (about, taken, (certificate, key)) in cases {
        let files = [("server.crt", certificate.as_str()), ("server.key", key.as_str())];
        let server = Postgres::with_files("ssl = on", &files);
        let folder = tempfile::tempdir().expect("a folder");
        let other = format!("{stranger}{certificate}");
        for (root, taken) in [(&certificate, taken), (&other, taken), (&stranger, false)] {
            let file = folder.path().join("root.pem");
            fs::write(&file, root).expect("a new file");
            let url = |mode: &str| {
                format!("{}?sslmode={mode}&sslrootcert={}", server.url(), file.display())
            };
            let words = ["--over", "connect", "--ask", "trivial", "--count", "3", "--warmup", "0s"];
            for mode in ["verify-full", "verify-ca"] {
                let psql = try_psql(&url(mode), "select 1");
                let ended = ping(&url(mode), &words, folder.path());
                assert_eq!(
                    ended.code == Some(0),
                    psql.is_ok(),
                    "{about}, {mode}: {psql:?} {ended:#?}"
                );
                assert!(mode == "verify-ca" || psql.is_ok() == taken, "{about}: {psql:?}");
            }
        }
    }
}
