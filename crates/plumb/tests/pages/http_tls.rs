//! `plumb http ping` over TLS, directly and through a proxy: what is proven, and who is refused.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kit::authority::{Authority, TestAuthority};
use kit::http::{Nginx, Reply, ReplyServer};
use kit::not_tried;
use kit::proxy::Proxy;
use kit::{Ended, PLUMB, Program, Server, names_in, only_run, plumb, read};
use serde_json::{Value, json};
use tempfile::tempdir;

const FIXED: [&str; 5] = ["http", "ping", "--warmup=0s", "--lag=10s", "--json"];
const TLS13: &str = "TLSv1.3 TLS13_AES_128_GCM_SHA256";
const WHO: [(&str, &str); 2] =
    [("PLUMB_PROXY_USER", "gate"), ("PLUMB_PROXY_PASSWORD", "open-sesame")];
/// `gate:open-sesame`, base64.
const TOKEN: &str = "Proxy-Authorization: Basic Z2F0ZTpvcGVuLXNlc2FtZQ==";

impl TestAuthority {
    /// A server with a certificate for its address that answers as `answer` says.
    fn site(&self, answer: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> ReplyServer {
        ReplyServer::encrypted(&self.authority.sign("127.0.0.1"), answer)
    }

    /// A ping that trusts our authority.
    fn ping(&self, words: &[&str]) -> Ended {
        let ca = self.authority.ca();
        let counted = words.iter().any(|word| word.starts_with("--count"));
        let count: &[&str] = if counted { &[] } else { &["--count=20"] };
        plumb(&[&FIXED[..], &["--ca", &ca], count, words].concat(), self.folder.path())
    }

    /// The record of a ping that went well.
    fn record(&self, words: &[&str]) -> Value {
        self.ping(words).with(0).json()
    }

    /// The one line of a ping that was refused before anything was measured.
    fn refusal(&self, words: &[&str]) -> String {
        let ended = self.ping(words).with(2);
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        let runs = self.folder.path().join("plumb-runs");
        assert!(!runs.exists() || names_in(&runs).is_empty(), "{ended:?}");
        ended.stderr
    }
}

fn page(_: &str, _: usize) -> Reply {
    Reply::page("hello")
}

fn transport(record: &Value) -> &Value {
    &record["target"]["transport"]
}

#[test]
fn a_page_over_tls_has_a_proof_and_the_time_of_its_handshakes() {
    let place = TestAuthority::new();
    let site = place.site(page);
    let record = place.record(&[&site.url("/"), "--connections=3"]);
    assert_eq!(transport(&record)["tls"], TLS13);
    let result = &record["results"][0];
    assert_eq!(result["operations"], 20);
    assert_eq!(result["tls_ns"]["count"], 3);
    assert_eq!(result["connect_ns"]["count"], 3);
    let first = &result["parts"][0]["first_hit"];
    assert!(first["tls_ns"].as_u64() > Some(0), "{first}");
    assert_eq!(record["plan"]["options"]["ca"], place.authority.ca());
    let text = plumb(
        &["http", "ping", "--count=20", "--ca", &place.authority.ca(), &site.url("/")],
        place.folder.path(),
    );
    assert!(text.stdout.contains(TLS13), "{}", text.stdout);
}

#[test]
fn a_redirect_from_http_to_https_takes_the_right_link_for_each_step() {
    let place = TestAuthority::new();
    let site = place.site(page);
    let to = format!("Location: {}\r\n", site.url("/in"));
    let front = ReplyServer::start(move |_, _| Reply::answer(301, &to, ""));
    let record = place.record(&[&front.url("/")]);
    assert_eq!((front.asked().len(), site.asked().len()), (1, 21));
    assert_eq!(transport(&record)["tls"], TLS13);
    let steps = &record["results"][0]["parts"][0]["steps"];
    assert_eq!(steps[0]["text"], format!("-> {}", site.url("/in")));
    assert_eq!(steps[1], json!({"status": 200, "text": "5 bytes"}));
}

#[test]
fn the_name_of_a_server_is_not_asked_of_another_one() {
    let place = TestAuthority::new();
    let away = ReplyServer::encrypted(&place.authority.sign("127.0.0.1"), page);
    let to = format!("Location: {}\r\n", away.url("/"));
    let named = ReplyServer::encrypted(&place.authority.sign("erp.example"), move |_, _| {
        Reply::answer(302, &to, "")
    });
    // the same server by another name: it is 127.0.0.1 only to those it leads there
    let url = format!("https://localhost:{}/", named.address.port());
    place.record(&[&url, "--server-name=erp.example", "-4"]);
    assert_eq!((named.asked().len(), away.asked().len()), (1, 21));
}

#[test]
fn whoever_is_not_the_server_is_refused_by_name() {
    let place = TestAuthority::new();
    let stranger = Authority::new(place.folder.path(), "stranger").sign("127.0.0.1");
    let line = place.refusal(&[&ReplyServer::encrypted(&stranger, page).url("/")]);
    assert!(line.contains("that no authority we trust has signed"), "{line}");

    let old = place.authority.sign_until("127.0.0.1", 2002);
    let line = place.refusal(&[&ReplyServer::encrypted(&old, page).url("/")]);
    assert!(line.contains("a certificate that has expired"), "{line}");

    let other = ReplyServer::encrypted(&place.authority.sign("db1.example"), page);
    let line = place.refusal(&[&other.url("/")]);
    assert!(line.contains("a certificate for `db1.example`, not for `127.0.0.1`"), "{line}");
    place.record(&[&other.url("/"), "--server-name=db1.example"]);
}

#[test]
fn the_wrong_port_is_named() {
    let place = TestAuthority::new();
    let plain = ReplyServer::start(page);
    let line = place.refusal(&[&format!("https://{}/", plain.address)]);
    assert!(line.contains("is that a TLS port?"), "{line}");

    let tls = Server::start(&place.authority.sign("127.0.0.1").shown());
    let line = place.refusal(&[&format!("http://{}/", tls.address)]);
    assert!(line.contains("speaks TLS: write https://"), "{line}");
}

#[test]
fn wrong_answers_over_tls_have_the_names_they_have_without() {
    let place = TestAuthority::new();
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".to_vec();
    let endless = b"HTTP/1.1 200 OK\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_vec();
    for (kind, reply, words) in [
        ("garbled", Reply::Keep(b"220 mail.example ESMTP\r\n".into()), &[] as &[&str]),
        ("closed", Reply::Close(cut), &[]),
        ("body-too-large", Reply::Endless(endless), &["--max-body=100kB"]),
        ("timed-out", Reply::Silence, &["--timeout=100ms"]),
        ("unexpected-status", Reply::answer(500, "", "oh"), &[]),
    ] {
        let site = place.site(move |_, _| reply.clone());
        let url = site.url("/");
        let ended = place.ping(&[words, &["--as-given", "--count=3", &url]].concat()).with(1);
        let result = &ended.json()["results"][0];
        assert_eq!(result["operations"], 0, "{kind}");
        assert!(result["failures"][kind].as_u64() >= Some(2), "{kind}: {}", result["failures"]);
    }
    let one = place.site(|_, _| Reply::Close(b"HTTP/1.0 200 OK\r\n\r\nhello".into()));
    let length = &place.record(&[&one.url("/")])["results"][0]["length"];
    assert_eq!(length["max"], 5, "a body may end with the connection");
}

#[test]
fn a_tunnel_leads_through_a_proxy_to_the_server() {
    let place = TestAuthority::new();
    let site = place.site(page);
    let proxy = Proxy::start(site.address, |_| None);
    let record = place.record(&[&site.url("/a?b"), "--proxy", &proxy.url(), "--connections=2"]);
    assert_eq!(transport(&record)["tls"], TLS13);
    assert_eq!(record["results"][0]["operations"], 20);
    assert_eq!(record["results"][0]["tls_ns"]["count"], 2);
    let expected = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", site.address);
    assert_eq!(proxy.asked().len(), 3);
    for head in proxy.asked() {
        assert!(head.starts_with(&expected) && !head.contains("Authorization"), "{head}");
    }
    let asked = site.asked();
    assert!(asked.iter().all(|head| head.starts_with("GET /a?b HTTP/1.1\r\n")), "{asked:?}");
}

#[test]
fn a_proxy_that_refuses_is_named_and_so_is_a_server_behind_it() {
    let place = TestAuthority::new();
    let site = place.site(page);
    for (answer, said) in [
        ("HTTP/1.1 407 x\r\nContent-Length: 0\r\n\r\n", "set PLUMB_PROXY_USER"),
        ("HTTP/1.1 502 x\r\n\r\n", "with 502: it does not reach that server"),
        ("HTTP/1.1 403 x\r\n\r\n", "with 403: it leads nobody there"),
        ("220 mail.example ESMTP\r\n", "is that the port of a proxy?"),
        ("", "closed the connection instead of leading to"),
    ] {
        let proxy = Proxy::start(site.address, move |_| Some(answer));
        let line = place.refusal(&[&site.url("/"), "--proxy", &proxy.url()]);
        let address = proxy.url().replace("http://", "plumb: ");
        assert!(line.starts_with(&address) && line.contains(said), "{line}");
    }
    let other = ReplyServer::encrypted(&place.authority.sign("db1.example"), page);
    let proxy = Proxy::start(other.address, |_| None);
    let line = place.refusal(&[&other.url("/"), "--proxy", &proxy.url()]);
    let said = format!("leads to {}, which shows a certificate for `db1.example`", other.address);
    assert!(line.contains(&said), "{line}");
}

#[test]
fn a_proxy_is_told_who_asks_and_nobody_else_is() {
    let place = TestAuthority::new();
    let demands =
        |head: &str| (!head.contains(&format!("{TOKEN}\r\n"))).then_some("HTTP/1.1 407 x\r\n\r\n");
    let site = place.site(page);
    let proxy = Proxy::start(site.address, demands);
    let (url, ca) = (site.url("/"), place.authority.ca());
    let gate = proxy.url();
    let words = [&FIXED[..], &["--count=20", "--ca", &ca, "--proxy", &gate, &url]].concat();
    let run = |told: &[(&str, &str)]| {
        Program::start_told(Path::new(PLUMB), &words, place.folder.path(), told).wait()
    };
    let half = run(&WHO[..1]).with(2);
    assert!(half.stderr.contains("PLUMB_PROXY_PASSWORD is not: set both"), "{half:?}");
    let wrong = run(&[WHO[0], ("PLUMB_PROXY_PASSWORD", "guessed")]).with(2);
    assert!(wrong.stderr.contains("does not accept PLUMB_PROXY_USER"), "{wrong:?}");

    let ended = run(&WHO).with(0);
    assert!(site.asked().iter().all(|head| !head.contains("Authorization")));
    let run = only_run(place.folder.path());
    let texts = names_in(&run).into_iter().map(|name| read(&run.join(name)));
    let said: String = texts.chain([ended.stdout, ended.stderr]).collect();
    for secret in ["open-sesame", "Z2F0ZTpvcGVuLXNlc2FtZQ", "guessed"] {
        assert!(!said.contains(secret), "{secret} is in the record or on the screen");
    }
}

#[test]
fn a_handshake_that_fails_in_the_middle_of_a_run_is_counted() {
    let place = TestAuthority::new();
    let site = place.site(page);
    let before = AtomicUsize::new(0);
    let proxy = Proxy::start(site.address, move |_| {
        let number = before.fetch_add(1, Ordering::Relaxed);
        (5..8).contains(&number).then_some("HTTP/1.1 502 x\r\n\r\n")
    });
    let words = [&site.url("/"), "--proxy", &proxy.url(), "--close"];
    let record = place.ping(&words).with(1).json();
    let result = &record["results"][0];
    assert_eq!(result["operations"], 20, "{result}");
    assert_eq!(result["failures"], json!({"handshake-failed": 3}));
    let reasons = result["validity"]["reasons"].as_array().expect("reasons");
    let texts: Vec<&str> = reasons.iter().filter_map(|it| it["text"].as_str()).collect();
    let told = texts.iter().find(|it| it.starts_with("a handshake that failed: "));
    assert!(told.is_some_and(|it| it.contains("502")), "{texts:?}");
}

#[test]
fn what_400_may_mean_over_tls_is_told_where_no_certificate_was_shown() {
    let place = TestAuthority::new();
    let site = place.site(|_, _| Reply::answer(400, "", "No required SSL certificate was sent"));
    let url = site.url("/");
    let client = place.authority.sign("client");
    let shown = [&url[..], "--cert", &client.cert, "--key", &client.key];
    for (words, told) in [(&shown[..1], true), (&shown[..], false)] {
        let record = place.ping(words).with(1).json();
        let step = &record["results"][0]["parts"][0]["steps"][0];
        assert_eq!(step["status"], 400, "{step}");
        let text = step["text"].as_str().expect("a text");
        assert_eq!(text.contains("give --cert and --key"), told, "{text}");
    }
}

#[test]
fn nginx_is_measured_over_tls() {
    let place = TestAuthority::new();
    let nginx = match Nginx::encrypted(&place.authority.sign("127.0.0.1")) {
        Ok(nginx) => nginx,
        Err(reason) => return not_tried(reason),
    };
    for (path, words, operations) in [
        ("/1k", &[] as &[&str], 20),
        ("/1k", &["--connections=10", "--threads=2", "--count=500"], 500),
        ("/1k", &["--rate=500/s", "--connections=5"], 20),
        ("/1k", &["--close"], 20),
        ("/1k", &["--close", "--tls-resume"], 20),
        ("/closing", &[], 20),
        ("/100k", &[], 20),
        ("/nothing", &["--expect-status=404"], 20),
    ] {
        let record = place.record(&[words, &[&nginx.url(path)]].concat());
        let result = &record["results"][0];
        assert_eq!(result["operations"], operations, "{path} {words:?}");
        assert_eq!(result["failures"], json!({}), "{path} {words:?}");
        let proof = transport(&record)["tls"].as_str().expect("a proof");
        assert!(proof.starts_with("TLSv1.") && proof.ends_with(" http/1.1"), "{proof}");
        let resumed = result["tls_resumed"].as_u64().expect("a number");
        assert_eq!(resumed > 0, words.contains(&"--tls-resume"), "{words:?}");
    }
    // nginx says so itself, in HTTP
    let fresh = tempdir().expect("a folder");
    let plain = nginx.url("/1k").replace("https", "http");
    let ended = plumb(&["http", "ping", &plain], fresh.path()).with(2);
    assert!(ended.stderr.contains("is that a TLS port? Then write https://"), "{ended:?}");
    let result = place.record(&[&plain, "--expect-status=400"])["results"][0].clone();
    assert_eq!(result["codes"], json!({"400": 20}));
}
