//! How users of scenarios prove who they are: Digest, tokens that end, certificates.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use kit::authority::{Signed, TestAuthority};
use kit::http::{Reply, ReplyServer};
use kit::scenario::{field, part, play_in, played, reasons, refused_in, with_base};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
};
use serde_json::json;
use sha2::{Digest as _, Sha256};

const DIGEST: &str = r#"
authentication = "digest"
[[scenario]]
name = "a"
users = 2
iterations = 3
[[scenario.step]]
name = "page"
get = "/page?x=1"
"#;

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The parameters of a Digest answer.
fn answered(head: &str) -> Option<HashMap<String, String>> {
    let line = head.lines().find_map(|line| line.strip_prefix("Authorization: Digest "))?;
    let pairs = line.split(", ").filter_map(|pair| pair.split_once('='));
    Some(pairs.map(|(name, value)| (name.into(), value.trim_matches('"').into())).collect())
}

/// Whether `head` proves `demo:password`, with a count that nobody has had before.
fn proves(head: &str, password: &str, seen: &Mutex<Vec<String>>) -> bool {
    let Some(said) = answered(head) else { return false };
    let method_and_target: Vec<&str> = head.split(' ').take(2).collect();
    let [method, target] = method_and_target[..] else { return false };
    let key = sha256(&format!("demo:site:{password}"));
    let asked = sha256(&format!("{method}:{target}"));
    let of = |name: &str| said.get(name).map_or("", String::as_str);
    let counted = format!("{} {} {}", of("nonce"), of("cnonce"), of("nc"));
    let mut seen = seen.lock().expect("nobody panics with it");
    let is_new = !seen.contains(&counted);
    seen.push(counted);
    let right =
        sha256(&format!("{key}:{}:{}:{}:auth:{asked}", of("nonce"), of("nc"), of("cnonce")));
    is_new && of("uri") == target && of("opaque") == "o" && right == of("response")
}

fn challenge(nonce: usize, more: &str) -> Reply {
    let line = format!(
        "WWW-Authenticate: Basic realm=\"site\"\r\nWWW-Authenticate: Digest realm=\"site\", \
         qop=\"auth\", algorithm=SHA-256, nonce=\"n{nonce}\", opaque=\"o\"{more}\r\n"
    );
    Reply::answer(401, &line, "who?")
}

#[test]
fn a_password_is_proved_once_asked_and_counted_from_then_on() {
    let seen = Mutex::new(Vec::new());
    let site = ReplyServer::start(move |head, before| match proves(head, "demo", &seen) {
        true => Reply::page("hello"),
        false => challenge(before, ""),
    });
    let record = played(&with_base(&site, DIGEST), &[], 0);
    assert_eq!(part(&record, "page")["operations"], 6, "{}", reasons(&record));
    assert_eq!(part(&record, "page (challenge)")["codes"], json!({"401": 2}), "one of each user");
    assert_eq!(site.asked().len(), 8);
    assert!(!site.asked().iter().any(|head| head.contains("Basic ")), "never the password itself");
    let groups = field(&record, "/results/0/groups");
    assert_eq!(field(groups, "/0/name"), "page (with what led to it)");
    assert_eq!(field(groups, "/0/operations"), 2);
}

#[test]
fn requests_at_the_same_time_are_challenged_and_proved_by_one_nonce() {
    let text = "authentication = \"digest\"\n[[scenario]]\nname = \"a\"\niterations = 3\n\
                [[scenario.step]]\nparallel = \"both\"\n\
                [[scenario.step.step]]\nname = \"one\"\nget = \"/one\"\n\
                [[scenario.step.step]]\nname = \"two\"\nget = \"/two\"\n";
    let seen = Mutex::new(Vec::new());
    let site = ReplyServer::start(move |head, before| match proves(head, "demo", &seen) {
        true => Reply::page("hello"),
        false => challenge(before, ""),
    });
    let record = played(&with_base(&site, text), &[], 0);
    for name in ["one", "two"] {
        assert_eq!(part(&record, name)["operations"], 3, "{}", reasons(&record));
        let challenge = part(&record, &format!("{name} (challenge)"));
        assert_eq!(challenge["codes"], json!({"401": 1}), "proved from then on");
    }
    // and a password that is wrong is said to be
    let site = ReplyServer::start(|_, before| challenge(before, ""));
    let record = played(&with_base(&site, &text.replace("= 3", "= 1")), &[], 1);
    assert!(reasons(&record).contains("does not accept the user and the password"), "{record:#}");
    for name in ["one", "two"] {
        assert_eq!(part(&record, name)["failures"], json!({"unexpected-status": 1}));
    }
}

#[test]
fn a_nonce_that_is_too_old_is_replaced() {
    let (seen, served) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    // every other request finds its nonce too old
    let site = ReplyServer::start(move |head, before| {
        let right = proves(head, "demo", &seen);
        match right && served.fetch_add(1, Ordering::Relaxed) % 2 == 0 {
            true => Reply::page("hello"),
            false => challenge(before, if right { ", stale=true" } else { "" }),
        }
    });
    let text = DIGEST.replace("users = 2", "users = 1").replace("= 3", "= 10");
    let record = played(&with_base(&site, &text), &[], 0);
    assert_eq!(part(&record, "page")["operations"], 10, "{}", reasons(&record));
    assert_eq!(part(&record, "page (challenge)")["operations"], 10);
}

#[test]
fn what_a_server_does_not_accept_or_offer_is_named() {
    for (reply, words) in [
        (challenge(1, ""), "the server does not accept the user and the password (Digest)"),
        (challenge(1, ", stale=true"), "the server asks again and again (Digest)"),
        (Reply::answer(401, "", ""), "the server offers no Digest (it offers nothing)"),
        (
            Reply::answer(401, "WWW-Authenticate: Digest nonce=1, algorithm=SHA-512-256\r\n", ""),
            "the server wants Digest by SHA-512-256, which is not supported",
        ),
    ] {
        let site = ReplyServer::always(reply);
        let text = DIGEST.replace("users = 2", "users = 1").replace("= 3", "= 1");
        let record = played(&with_base(&site, &text), &[], 1);
        assert!(reasons(&record).contains(words), "{words}: {}", reasons(&record));
        assert_eq!(part(&record, "page")["failures"], json!({"unexpected-status": 1}));
    }
}

#[cfg(not(feature = "kerberos"))]
#[test]
fn a_program_without_kerberos_says_so_before_anything_is_asked() {
    let site = ReplyServer::always(Reply::page("hello"));
    let text = with_base(&site, &DIGEST.replace("\"digest\"", "\"negotiate\""));
    let words = "build one with --features kerberos";
    refused_in(kit::scenario::scenario(&text).path(), &[], words);
    let folder = tempfile::tempdir().expect("a folder");
    let asked = ["http", "ping", &site.url("/"), "--authentication", "negotiate"];
    let refused = kit::plumb(&asked, folder.path()).with(2);
    assert!(refused.stderr.contains(words) && refused.stderr.lines().count() == 1, "{refused:?}");
    assert!(site.asked().is_empty());
}

const TOKEN: &str = r#"
[[scenario]]
name = "a"
iterations = 4
headers = { Authorization = "Bearer ${token}" }
[scenario.token]
lasts = "${seconds}"
[[scenario.token.step]]
name = "get token"
path = "/token"
body = "grant_type=client_credentials"
headers = { Authorization = "Basic eA==" }
extract = [
  { name = "token", json = "$.access_token" },
  { name = "seconds", json = "$.expires_in" },
]
[[scenario.step]]
name = "page"
get = "/page"
think = "600ms"
"#;

/// A site whose tokens last so many seconds, as it says.
fn tokens(seconds: &'static str) -> ReplyServer {
    ReplyServer::start(move |head, before| match head.split(' ').nth(1) {
        Some("/token") => {
            Reply::page(&format!("{{\"access_token\":\"t{before}\",\"expires_in\":{seconds}}}"))
        }
        _ if head.contains("Authorization: Bearer t") => Reply::page("hello"),
        _ => Reply::answer(401, "", "who?"),
    })
}

#[test]
fn a_token_is_got_before_the_first_request_and_again_before_it_ends() {
    let lasting = tokens("3600");
    let record = played(&with_base(&lasting, TOKEN), &[], 0);
    assert_eq!(part(&record, "get token")["operations"], 1);
    assert_eq!(part(&record, "page")["operations"], 4);
    assert!(lasting.asked()[0].starts_with("POST /token "));
    // half of a second is less than each think time
    let ending = tokens("1");
    let record = played(&with_base(&ending, TOKEN), &[], 0);
    assert_eq!(part(&record, "get token")["operations"], 4);
    let sent: Vec<String> = ending
        .asked()
        .iter()
        .filter_map(|head| head.lines().find(|line| line.contains("Bearer")).map(str::to_owned))
        .collect();
    assert_eq!(
        sent,
        ["t0", "t2", "t4", "t6"].map(|token| format!("Authorization: Bearer {token}"))
    );
}

#[test]
fn a_token_that_cannot_be_got_is_named_and_tried_again() {
    let site = ReplyServer::start(|head, before| match head.split(' ').nth(1) {
        Some("/token") if before > 2 => Reply::page("{\"access_token\":\"t\",\"expires_in\":3600}"),
        Some("/token") => Reply::answer(503, "", "later"),
        _ => Reply::page("hello"),
    });
    let text = TOKEN.replace("think = \"600ms\"\n", "");
    let record = played(&with_base(&site, &text), &[], 1);
    assert_eq!(part(&record, "get token")["failures"], json!({"unexpected-status": 3}));
    assert_eq!(part(&record, "get token")["operations"], 1);
    assert_eq!(part(&record, "page")["failures"], json!({"not-sent": 3}), "without a token");
    assert_eq!(part(&record, "page")["operations"], 1);
    let said = reasons(&record);
    assert!(said.contains("get token (line ") && said.contains("the status is 503"), "{said}");
    assert!(said.contains("${token} has no value"), "{said}");
    // an answer that does not say how long
    let odd = tokens("\"soon\"");
    let record = played(&with_base(&odd, &text), &[], 0);
    assert!(reasons(&record).contains("the token lasts `soon`, which is no number"), "{record:#}");
}

#[test]
fn a_group_that_is_broken_off_for_want_of_a_token_has_failed() {
    // the first token ends while the user thinks, and there is no second
    let site = ReplyServer::start(|head, before| match head.split(' ').nth(1) {
        Some("/token") if before == 0 => Reply::page("{\"access_token\":\"t\",\"expires_in\":1}"),
        Some("/token") => Reply::answer(503, "", "later"),
        _ => Reply::page("hello"),
    });
    let (scenario, step) = TOKEN.split_once("[[scenario.step]]\n").expect("a step");
    let scenario = scenario.replace("iterations = 4", "iterations = 1\non-failure = \"stop\"");
    let text = format!(
        "{scenario}[[scenario.step]]\ngroup = \"both\"\n[[scenario.step.step]]\n{step}\
         [[scenario.step.step]]\nname = \"other\"\nget = \"/other\"\n"
    );
    let record = played(&with_base(&site, &text), &[], 1);
    assert_eq!(part(&record, "page")["operations"], 1);
    let group = field(&record, "/results/0/groups/0");
    assert_eq!(group["operations"], 0, "{group:#}");
    assert_eq!(group["failures"], json!({"unexpected-status": 1}));
}

/// A verifier of clients that notes whose certificates it saw.
#[derive(Debug)]
struct Noting {
    inner: Arc<dyn ClientCertVerifier>,
    seen: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl ClientCertVerifier for Noting {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        self.seen.lock().expect("nobody panics with it").push(end_entity.as_ref().to_vec());
        self.inner.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// A site that wants certificates of `ours`, and those that it saw.
fn certified(ours: &TestAuthority) -> (ReplyServer, Arc<Mutex<Vec<Vec<u8>>>>) {
    let Signed { cert, key } = ours.authority.sign("localhost");
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_file_iter(ours.authority.ca()).expect("a file") {
        roots.add(ca.expect("a certificate")).expect("an authority");
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inner = WebPkiClientVerifier::builder(roots.into()).build().expect("a verifier");
    let verifier = Arc::new(Noting { inner, seen: Arc::clone(&seen) });
    let chain = CertificateDer::pem_file_iter(cert).expect("a file");
    let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
    let key = PrivateKeyDer::from_pem_file(key).expect("a key");
    let config = ServerConfig::builder().with_client_cert_verifier(verifier);
    let config = config.with_single_cert(chain, key).expect("a pair");
    (ReplyServer::encrypted_by(Arc::new(config), |_, _| Reply::page("hello")), seen)
}

#[test]
fn each_user_shows_the_certificate_of_its_line() {
    let ours = TestAuthority::new();
    let (site, seen) = certified(&ours);
    let folder = ours.folder.path();
    let users = ["anna", "ben", "cleo"].map(|name| ours.authority.sign(name));
    let file =
        |path: &str| Path::new(path).file_name().and_then(|name| name.to_str().map(str::to_owned));
    let mut data = "cert,key\n".to_owned();
    for Signed { cert, key } in &users {
        data += &format!("{},{}\n", file(cert).expect("a name"), file(key).expect("a name"));
    }
    fs::write(folder.join("users.csv"), data).expect("a file");
    let text = format!(
        "base = \"https://localhost:{}\"\n[[scenario]]\nname = \"a\"\nusers = 4\niterations = 2\n\
         certificate = {{ cert = \"${{cert}}\", key = \"${{key}}\" }}\n\
         data = [{{ file = \"users.csv\", take = \"by-user\" }}]\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/\"\n",
        site.address.port()
    );
    fs::write(folder.join("s.toml"), &text).expect("a file");
    let ca = ours.authority.ca();
    let record = play_in(folder, &["--ca", &ca, "--json"]).with(0).json();
    assert_eq!(part(&record, "page")["operations"], 8, "{}", reasons(&record));
    let shown = seen.lock().expect("nobody panics with it").clone();
    assert_eq!(shown.len(), 4, "one of each user");
    for (Signed { cert, .. }, times) in users.iter().zip([2, 1, 1]) {
        let own = CertificateDer::from_pem_file(cert).expect("a certificate");
        let found = shown.iter().filter(|shown| shown.as_slice() == own.as_ref()).count();
        assert_eq!(found, times, "{cert}: the fourth user has the first line again");
    }
    for (from, to, why) in [
        ("${key}", "${cert}", "-2199.pem"),
        ("${key}", "nothing.key", "cannot take nothing.key"),
        ("by-user", "each-user", "must be one of `variables`, or of data with take = \"by-user\""),
        ("base = \"https", "base = \"http", "certificates of users need a base with https"),
    ] {
        fs::write(folder.join("s.toml"), text.replacen(from, to, 1)).expect("a file");
        refused_in(folder, &["--ca", &ca], why);
    }
}
