//! What `deploy/nats` makes is what a NATS server takes.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{ran, sources, text};
use crate::kit::foreign::installed;
use crate::kit::namespace::allowed;
use crate::kit::{Ended, PLUMB, Program, Server, free_address};

/// A program that `./test` makes of a Go module; `Err` says why it is not there.
pub(super) fn of_go(name: &str) -> Result<String, String> {
    let folder = std::env::var("PLUMB_TEST_GO").map_err(|_| {
        format!("PLUMB_TEST_GO names no folder with {name} (./test makes it, with Go)")
    })?;
    let program = Path::new(&folder).join(name);
    if program.is_file() {
        return Ok(program.display().to_string());
    }
    Err(format!("{} is not there (./test makes it, with Go)", program.display()))
}

fn make(folder: &Path, names: &[&str]) -> Result<Ended, String> {
    let nk = of_go("nk")?;
    installed("openssl", "openssl")?;
    let beside = Path::new(&nk).parent().expect("a folder").display().to_string();
    let path = format!("{beside}:{}", std::env::var("PATH").unwrap_or_default());
    let script = sources().join("deploy/nats/credentials.sh").display().to_string();
    let words = [&[folder.to_str().expect("UTF-8")], names].concat();
    Ok(ran(&script, &words, folder.parent().expect("a folder"), &[("PATH", &path)]))
}

#[test]
fn a_server_takes_the_keys_and_the_certificate() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secrets = folder.path().join("secrets");
    let Some(made) = allowed(make(&secrets, &["nats.example", "10.1.0.4"])) else { return };
    made.with(0);
    let mut names = Vec::new();
    for file in fs::read_dir(&secrets).expect("it was made") {
        let file = file.expect("an entry");
        let mode = file.metadata().expect("its owner's").permissions().mode();
        assert_eq!(mode & 0o7777, 0o600, "{file:?}");
        names.push(file.file_name().into_string().expect("UTF-8"));
    }
    names.sort();
    let expected = [
        "ca.key",
        "ca.pem",
        "controller.nkey",
        "nats.env",
        "remote.nkey",
        "server.key",
        "server.pem",
    ];
    assert_eq!(names, expected);
    // a second time would leave remotes with keys that the server does not know
    let again = make(&secrets, &["nats.example"]).expect("as before").with(2);
    assert!(again.stderr.contains("has credentials already"), "{again:#?}");

    let verified = ran("openssl", &["verify", "-CAfile", "ca.pem", "server.pem"], &secrets, &[]);
    verified.with(0);
    let words = ["x509", "-in", "server.pem", "-noout", "-ext", "subjectAltName"];
    let named = ran("openssl", &words, &secrets, &[]).with(0).stdout;
    assert!(named.contains("DNS:nats.example, IP Address:10.1.0.4"), "{named}");

    let Some(()) = allowed(installed("nats-server", "nats-server")) else { return };
    let at = format!("{}/", secrets.display());
    let configuration = text("deploy/nats/nats.conf").replace("/etc/nats/", &at);
    fs::write(folder.path().join("nats.conf"), configuration).expect("a file");
    let keys = fs::read_to_string(secrets.join("nats.env")).expect("it was made");
    let keys: Vec<(&str, &str)> = keys.lines().filter_map(|line| line.split_once('=')).collect();
    let check =
        |keys: &[(&str, &str)]| ran("nats-server", &["-c", "nats.conf", "-t"], folder.path(), keys);
    check(&keys).with(0);
    let wrong = [("PLUMB_CONTROLLER_NKEY", "UA"), keys[1]];
    assert_ne!(check(&wrong).code, Some(0));
}

#[test]
fn a_server_may_have_a_long_name_and_an_address_of_ipv6() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secrets = folder.path().join("secrets");
    let long = format!("{}.elb.example", "k8s-plumb-nats-".repeat(4));
    assert!(long.len() > 64, "more than a common name holds");
    let Some(made) = allowed(make(&secrets, &[&long, "fd00::5"])) else { return };
    made.with(0);
    let words = ["x509", "-in", "server.pem", "-noout", "-ext", "subjectAltName"];
    let named = ran("openssl", &words, &secrets, &[]).with(0).stdout;
    assert!(named.contains(&format!("DNS:{long}, IP Address:FD00:0:0:0:0:0:0:5")), "{named}");
}

#[test]
fn what_openssl_refuses_is_told_and_leaves_nothing_that_counts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secrets = folder.path().join("secrets");
    let Some(made) = allowed(make(&secrets, &["fd00::no::address"])) else { return };
    assert!(made.with(1).stderr.contains("bad ip address"), "openssl says why");
    make(&secrets, &["nats.example"]).expect("as before").with(0);
}

#[test]
fn words_that_are_missing_are_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(ended) = allowed(make(&folder.path().join("secrets"), &[])) else { return };
    assert!(ended.with(2).stderr.contains("FOLDER HOST..."));
}

#[test]
fn a_controller_and_a_remote_meet_there() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let secrets = folder.path().join("secrets");
    let Some(made) = allowed(make(&secrets, &["localhost", "127.0.0.1"])) else { return };
    made.with(0);
    let Some(()) = allowed(installed("nats-server", "nats-server")) else { return };
    let address = free_address();
    let configuration = text("deploy/nats/nats.conf")
        .replace("/etc/nats/", &format!("{}/", secrets.display()))
        .replace("0.0.0.0:4222", &address)
        .replace("127.0.0.1:8222", "127.0.0.1:-1");
    fs::write(folder.path().join("nats.conf"), configuration).expect("a file");
    let keys = fs::read_to_string(secrets.join("nats.env")).expect("it was made");
    let keys: Vec<(&str, &str)> = keys.lines().filter_map(|line| line.split_once('=')).collect();
    let start = |program: &str, words: &[&str], told: &[(&str, &str)]| {
        Program::start_told(Path::new(program), words, folder.path(), told)
    };
    let nats = start("nats-server", &["-c", "nats.conf"], &keys);
    while !nats.log_line().contains("Server is ready") {}

    let url = format!("tls://{address}");
    let ca = secrets.join("ca.pem").display().to_string();
    let told = |key: &str| {
        let key = secrets.join(key).display().to_string();
        [("PLUMB_NATS_URL", url.clone()), ("PLUMB_NATS_NKEY", key), ("PLUMB_NATS_CA", ca.clone())]
    };
    let [remote, controller, stranger] =
        [told("remote.nkey"), told("controller.nkey"), told("stranger.nkey")];
    let remote = start(PLUMB, &["remote", "--name", "web1"], &borrowed(&remote));
    assert!(remote.log_line().contains("web1 waits"));
    let target = Server::start(&["--quiet"]);
    let words = ["net", "ping", &target.address, "--remotes", "all", "--count=20", "--json"];
    let run = start(PLUMB, &words, &borrowed(&controller)).wait().json();
    assert_eq!(run["plan"]["options"]["remotes"][0]["name"], "web1");
    assert_eq!(run["results"][0]["operations"], 20);

    let nk = of_go("nk").expect("it was there");
    let seed = ran(&nk, &["-gen", "user"], folder.path(), &[]).with(0).stdout;
    fs::write(secrets.join("stranger.nkey"), seed).expect("a file");
    start(PLUMB, &words, &borrowed(&stranger)).wait().with(2);
}

fn borrowed<'a>(told: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    told.iter().map(|(name, value)| (*name, value.as_str())).collect()
}
