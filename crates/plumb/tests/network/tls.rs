//! TLS from end to end: what is proven, who is refused, and in which words.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use kit::authority::{Authority, TestAuthority, allow};
use kit::peer::talking;
use kit::{PATIENCE, Server, ping, plumb};

/// Longer than needed, shorter than the figures of a run.
const FEW: [&str; 5] = ["--count", "60", "--warmup", "0s", "--json"];

impl TestAuthority {
    /// A server with a certificate for `host`.
    fn server(&self, host: &str, words: &[&str]) -> Server {
        Server::start(&[&self.authority.sign(host).shown(), words].concat())
    }

    fn ping(&self, server: &Server, words: &[&str]) -> kit::Ended {
        ping(&server.address, &[&FEW, words].concat(), self.folder.path())
    }

    /// What a ping says that trusts our authority and is refused all the same.
    fn refusal(&self, server: &Server, words: &[&str]) -> String {
        let ca = self.authority.ca();
        let ended = self.ping(server, &[&["--tls", "--ca", &ca], words].concat()).with(2);
        assert_eq!(ended.stdout, "");
        let line = ended.stderr.trim_end().to_owned();
        let address = format!("plumb: {} ", server.address);
        line.strip_prefix(&address).unwrap_or_else(|| panic!("{line}")).to_owned()
    }
}

#[test]
fn a_ping_over_tls_says_what_it_used_and_how_long_the_handshakes_took() {
    let place = TestAuthority::new();
    let server = place.server("127.0.0.1", &[]);
    let ca = place.authority.ca();
    let sizes = ["--size", "1B,1000B,70000B", "--connections", "3", "--depth", "2"];
    let ended = place.ping(&server, &[&["--tls", "--ca", &ca], &sizes[..]].concat()).with(0);
    let record = ended.json();
    let transport = &record["target"]["transport"];
    assert_eq!(transport["kind"], "tcp");
    assert_eq!(transport["tls"], "TLSv1.3 TLS13_AES_128_GCM_SHA256");
    assert_eq!(record["plan"]["options"]["tls"], true);
    for result in record["results"].as_array().expect("results") {
        assert_eq!(result["operations"], 60, "{result}");
        assert_eq!(result["tls_ns"]["count"], 3);
        assert_eq!(result["tls_resumed"], 0);
        assert!(result["failures"].as_object().is_some_and(serde_json::Map::is_empty));
    }
}

#[test]
fn one_message_at_a_time_blocks_in_its_receive_as_without_tls() {
    let place = TestAuthority::new();
    let server = place.server("localhost", &[]);
    let ca = place.authority.ca();
    let words = ["--tls", "--ca", &ca, "--server-name", "localhost", "--size", "1000B,4096B,200kB"];
    let record = place.ping(&server, &words).with(0).json();
    for result in record["results"].as_array().expect("results") {
        assert_eq!(result["driver"]["wait"], "blocking receive");
        assert_eq!(result["operations"], 60);
    }
}

#[test]
fn sessions_are_resumed_only_on_request() {
    let place = TestAuthority::new();
    let server = place.server("127.0.0.1", &[]);
    let ca = place.authority.ca();
    let words = ["--tls", "--ca", &ca, "--size", "1B,2B", "--tls-resume"];
    let record = place.ping(&server, &words).with(0).json();
    let resumed: Vec<_> =
        (0..2).map(|n| record["results"][n]["tls_resumed"].as_u64().expect("a number")).collect();
    assert_eq!(resumed, [0, 1], "the second takes up the session of the first");
}

#[test]
fn a_client_that_speaks_no_tls_is_logged_and_the_others_are_served() {
    let place = TestAuthority::new();
    let server = place.server("127.0.0.1", &[]);
    let mut plain = TcpStream::connect(&server.address).expect("it listens");
    plain.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it takes bytes");
    plain.read_to_end(&mut Vec::new()).expect("an alert, and the end");
    let farewell = server.farewell();
    assert!(farewell.ends_with("no TLS connection: does not speak TLS"), "{farewell}");
    let ca = place.authority.ca();
    place.ping(&server, &["--tls", "--ca", &ca]).with(0);
}

#[test]
fn a_ping_without_tls_to_a_tls_server_is_told_so() {
    let place = TestAuthority::new();
    let server = place.server("127.0.0.1", &[]);
    let ended = place.ping(&server, &[]).with(2);
    assert!(ended.stderr.contains("speaks TLS: add --tls"), "{}", ended.stderr);
    // whoever has no --tls is told that, too
    for verb in ["check", "stream"] {
        let ended = plumb(&["net", verb, &server.address], place.folder.path()).with(2);
        let said = "speaks TLS: add --tls to plumb net ping; net check, net stream";
        assert!(ended.stderr.contains(said), "{ended:#?}");
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_told_by_its_answer() {
    let place = TestAuthority::new();
    let plain = Server::start(&[]);
    let no_tls = "does not speak TLS: is that a TLS port?";
    assert_eq!(place.refusal(&plain, &[]), no_tls);
    let web = talking(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let ended = ping(&web, &[&FEW[..], &["--tls"]].concat(), place.folder.path()).with(2);
    assert!(ended.stderr.contains(no_tls), "{}", ended.stderr);
}

#[test]
fn a_certificate_for_somebody_else_is_refused_by_name() {
    let place = TestAuthority::new();
    let server = place.server("db1.example", &[]);
    assert_eq!(
        place.refusal(&server, &[]),
        "shows a certificate for `db1.example`, not for `127.0.0.1`: use that name, or give it \
         with --server-name"
    );
    let ca = place.authority.ca();
    place.ping(&server, &["--tls", "--ca", &ca, "--server-name", "db1.example"]).with(0);
}

#[test]
fn an_authority_that_nobody_named_is_not_believed() {
    let place = TestAuthority::new();
    let other = Authority::new(place.folder.path(), "other");
    let server = Server::start(&other.sign("127.0.0.1").shown());
    let line = place.refusal(&server, &[]);
    assert!(line.contains("that no authority we trust has signed"), "{line}");
    let farewell = server.farewell();
    assert!(farewell.contains("does not accept this server's certificate"), "{farewell}");
}

#[test]
fn a_certificate_of_yesterday_is_refused() {
    let place = TestAuthority::new();
    let old = place.authority.sign_until("127.0.0.1", 2002);
    let server = Server::start(&old.shown());
    let line = place.refusal(&server, &[]);
    assert!(line.starts_with("shows a certificate that has expired"), "{line}");
}

#[test]
fn a_client_certificate_that_is_demanded_must_be_shown_and_signed() {
    let place = TestAuthority::new();
    let ca = place.authority.ca();
    let server = place.server("127.0.0.1", &["--client-ca", &ca]);
    let line = place.refusal(&server, &[]);
    assert_eq!(line, "demands a client certificate: give one with --cert FILE and --key FILE");
    assert!(server.farewell().ends_with("no TLS connection: showed no client certificate"));

    let stranger = Authority::new(place.folder.path(), "stranger").sign("client");
    let line = place.refusal(&server, &stranger.shown()[1..]);
    assert!(line.starts_with("does not accept our certificate"), "{line}");
    let farewell = server.farewell();
    assert!(farewell.contains("showed a client certificate that no authority"), "{farewell}");

    let known = place.authority.sign("client");
    place.ping(&server, &[&known.shown()[..], &["--ca", &ca]].concat()).with(0);
}

#[test]
fn an_unfinished_handshake_counts_as_a_client_and_who_comes_too_late_is_told_over_tls() {
    let place = TestAuthority::new();
    let server = place.server("127.0.0.1", &["--max-clients", "1"]);
    let unfinished = TcpStream::connect(&server.address).expect("it listens");
    assert!(server.log().contains("connected from"));
    let line = place.refusal(&server, &[]);
    assert!(line.contains("takes no more clients"), "{line}");
    drop(unfinished);
    assert!(server.farewell().ends_with("closed the connection during the TLS handshake"));
    let ca = place.authority.ca();
    place.ping(&server, &["--tls", "--ca", &ca]).with(0);
}

#[test]
fn a_key_that_everybody_may_read_is_refused() {
    let place = TestAuthority::new();
    let identity = place.authority.sign("127.0.0.1");
    allow(&identity.key, 0o644);
    let words = [&["net", "serve", "--listen", "127.0.0.1:0"], &identity.shown()[..]].concat();
    let ended = plumb(&words, place.folder.path()).with(2);
    let expected = format!(
        "plumb: {key} may be read or written by everybody (644): chmod o-rw {key}\n",
        key = identity.key
    );
    assert_eq!(ended.stderr, expected);
}

#[test]
fn options_that_contradict_each_other_name_what_is_missing() {
    let place = TestAuthority::new();
    let ours = place.authority.sign("127.0.0.1");
    let (cert, key, ca) = (ours.cert.as_str(), ours.key.as_str(), place.authority.ca());
    let missing = format!("{ca}.not");
    for (words, cause) in [
        (vec!["--tls"], "a TLS server needs --cert FILE and --key FILE"),
        (vec!["--tls", "--cert", cert], "--cert and --key belong together: --key FILE is missing"),
        (vec!["--cert", cert, "--key", key], "--cert means nothing without --tls"),
        (vec!["--tls", "--cert", key, "--key", key], "holds no certificate that can be used"),
        (vec!["--tls", "--cert", cert, "--key", &missing], "No such file"),
        (vec!["--tls", "--cert", &ca, "--key", key], "do not serve together"),
    ] {
        let words = [vec!["net", "serve", "--listen", "127.0.0.1:0"], words].concat();
        let ended = plumb(&words, place.folder.path()).with(2);
        assert!(ended.stderr.contains(cause), "{words:?}: {}", ended.stderr);
    }
    let ended = ping("127.0.0.1", &["--ca", &ca], place.folder.path()).with(2);
    assert!(ended.stderr.contains("--ca means nothing without --tls"), "{}", ended.stderr);
}
