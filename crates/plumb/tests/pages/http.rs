//! `plumb http ping` against servers that answer well, badly, and not at all.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs::{self};
use std::path::Path;

use kit::http::{Nginx, Reply, ReplyServer};
use kit::not_tried;
use kit::{Ended, names_in, only_run, plumb, read};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

pub(crate) fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// Runs `plumb http ping` for few requests, to its end.
pub(crate) fn ping(words: &[&str], folder: &Path) -> Ended {
    let fixed = ["http", "ping", "--count", "20", "--lag", "10s"];
    let cold: &[&str] =
        if words.iter().any(|word| word.starts_with("--warmup")) { &[] } else { &["--warmup=0s"] };
    plumb(&[&fixed, cold, words].concat(), folder)
}

/// The only result of a run that ended with `code`.
pub(crate) fn measured(words: &[&str], code: i32) -> Value {
    let folder = folder();
    let record = ping(&[words, &["--json"]].concat(), folder.path()).with(code).json();
    field(&record, "/results/0").clone()
}

pub(crate) fn field<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value:#}"))
}

fn reasons(value: &Value) -> Vec<&str> {
    let reasons = field(value, "/validity/reasons").as_array().expect("a list");
    reasons.iter().filter_map(|reason| reason["kind"].as_str()).collect()
}

/// Everything that a run left, and what it said.
pub(crate) fn everything(ended: &Ended, folder: &Path) -> String {
    let run = only_run(folder);
    let files = names_in(&run).into_iter().filter(|name| !name.ends_with(".nmon"));
    let texts = files.map(|name| read(&run.join(name)));
    texts.chain([ended.stdout.clone(), ended.stderr.clone()]).collect()
}

#[test]
fn a_page_is_measured_to_its_first_and_its_last_byte() {
    let site = ReplyServer::always(Reply::page("hello"));
    let result = measured(&[&site.url("/")], 0);
    assert_eq!(result["operations"], 20);
    assert_eq!(result["codes"], json!({"200": 20}));
    assert_eq!(result["length"], json!({"min": 5, "p50": 5, "max": 5}));
    let part = field(&result, "/parts/0");
    assert_eq!(part["name"], site.url("/"));
    for times in ["response_ns", "service_ns", "first_byte_ns"] {
        assert_eq!(part[times]["count"], 20, "{times}");
    }
    assert_eq!(part["first_hit"]["length"], 5);
    // one request resolved it, and every other is in the figures
    assert_eq!(site.asked().len(), 21);
    assert!(site.asked().iter().all(|head| head == &site.asked()[0]));
}

#[test]
fn every_framing_of_a_right_answer_is_right() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n\
                   0\r\nTrailer: x\r\n\r\n";
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                   HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let until_close = b"HTTP/1.0 200 OK\r\n\r\nhello".to_vec();
    let closing =
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello".to_vec();
    for reply in [
        Reply::Keep(chunked.into()),
        Reply::Drip(chunked.into()),
        Reply::Keep(interim.into()),
        Reply::Drip(interim.into()),
        Reply::Close(until_close),
        Reply::Close(closing),
    ] {
        let result = measured(&[&ReplyServer::always(reply.clone()).url("/")], 0);
        assert_eq!(result["operations"], 20, "{reply:?}");
        assert_eq!(result["length"]["max"], 5, "{reply:?}");
    }
    let nothing = Reply::Keep(b"HTTP/1.1 204 No Content\r\n\r\n".into());
    assert_eq!(measured(&[&ReplyServer::always(nothing).url("/")], 0)["length"]["max"], 0);
    let head = Reply::Keep(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n".into());
    let result = measured(&[&ReplyServer::always(head).url("/"), "--method", "HEAD"], 0);
    assert_eq!((&result["operations"], &result["length"]["max"]), (&json!(20), &json!(0)));
}

/// Answers that are wrong, what each is called, and further words.
fn wrong() -> Vec<(&'static str, Reply, &'static [&'static str])> {
    let ok = |rest: &str| Reply::Keep(format!("HTTP/1.1 200 OK\r\n{rest}").into_bytes());
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    let endless = [b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[b'x'; 8_192]].concat();
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello".to_vec();
    vec![
        ("garbled", Reply::Keep(b"220 mail.example ESMTP\r\n".into()), &[]),
        ("garbled", Reply::Drip(b"\0\x01\x02\xff".into()), &[]),
        ("garbled", ok("Content-Length: 4\r\n\r\nhello"), &[]),
        ("garbled", ok("Content-Length: 4\r\nContent-Length: 5\r\n\r\nhello"), &[]),
        ("garbled", ok("Transfer-Encoding: chunked\r\n\r\nzz\r\n"), &[]),
        ("head-too-large", Reply::Keep(long.into_bytes()), &[]),
        ("body-too-large", ok("Content-Length: 5000\r\n\r\n"), &["--max-body", "4000B"]),
        ("body-too-large", Reply::Endless(endless.clone()), &["--max-body", "1MB"]),
        ("timed-out", Reply::Endless(endless), &["--timeout", "100ms"]),
        ("timed-out", Reply::Silence, &["--timeout", "100ms"]),
        ("closed", Reply::Close(cut), &[]),
        ("closed", Reply::Close(Vec::new()), &[]),
        ("unexpected-status", Reply::answer(401, "", "who?"), &[]),
        ("unexpected-status", Reply::answer(500, "", "oh"), &[]),
    ]
}

#[test]
fn every_wrong_answer_is_counted_under_its_name() {
    for (kind, reply, words) in wrong() {
        let site = ReplyServer::always(reply.clone());
        let folder = folder();
        let url = site.url("/");
        let fixed = ["http", "ping", "--warmup=0s", "--count=3", "--as-given", "--json", &url];
        let ended = plumb(&[&fixed, words].concat(), folder.path());
        let record = ended.with(1).json();
        let result = field(&record, "/results/0");
        assert_eq!(result["operations"], 0, "{kind}: {reply:?}");
        assert!(result["failures"][kind].as_u64() >= Some(2), "{kind}: {}", result["failures"]);
        assert_eq!(result["failures"].as_object().map(serde_json::Map::len), Some(1));
        assert!(result.get("response_ns").is_none(), "a failure has no response time");
        assert!(result["failed_ns"]["count"].as_u64() >= Some(2), "{kind}");
    }
}

#[test]
fn what_never_answers_right_is_refused_before_it_is_measured() {
    for (kind, reply, words) in wrong() {
        if kind == "unexpected-status" {
            continue; // it answers, and the run says what
        }
        let site = ReplyServer::always(reply);
        let folder = folder();
        let ended = ping(&[words, &[&site.url("/page")]].concat(), folder.path()).with(2);
        assert!(ended.stderr.contains(&site.url("/page")), "{ended:?}");
        assert!(ended.stderr.contains(kind), "{kind}: {ended:?}");
        assert!(
            !folder.path().join("plumb-runs").exists()
                || names_in(&folder.path().join("plumb-runs")).is_empty()
        );
    }
}

#[test]
fn thousands_of_refusals_are_no_throughput() {
    let site =
        ReplyServer::always(Reply::answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"));
    let folder = folder();
    let ended = plumb(&["http", "ping", "--count", "2000", &site.url("/")], folder.path()).with(1);
    let first = ended.stdout.lines().next().unwrap_or_default();
    assert!(first.contains("INVALID") && first.contains("401"), "{first}");
    assert!(ended.stdout.contains("no user known"), "{}", ended.stdout);
    let record = kit::record(&only_run(folder.path()));
    assert_eq!(record["results"][0]["unexpected_codes"], json!({"401": 2000}));
    assert_eq!(reasons(&record["results"][0])[0], "unexpected-status");
    assert_eq!(record["results"][0]["throughput_per_s"], 0.0);
}

#[test]
fn some_wrong_answers_among_right_ones_stay_out_of_the_times() {
    let site = ReplyServer::start(|_, before| match before % 4 {
        3 => Reply::answer(503, "", "busy"),
        _ => Reply::page("hello"),
    });
    let result = measured(&[&site.url("/"), "--as-given"], 1);
    assert_eq!(
        (&result["operations"], &result["failures"]),
        (&json!(15), &json!({"unexpected-status": 5}))
    );
    assert_eq!(result["response_ns"]["count"], 15);
    assert_eq!(result["failed_ns"]["count"], 5);
    assert_eq!(result["codes"], json!({"200": 15, "503": 5}));
    let accepted =
        measured(&[&site.url("/"), "--as-given", "--expect-status", "2xx,503", "--length=any"], 0);
    assert_eq!(accepted["operations"], 20);
}

#[test]
fn answers_of_different_lengths_make_a_run_invalid_unless_they_may() {
    let site = ReplyServer::start(|_, before| Reply::page(["few", "short", "longer"][before % 3]));
    let result = measured(&[&site.url("/")], 1);
    assert_eq!(result["length"], json!({"min": 3, "p25": 3, "p50": 5, "p75": 6, "max": 6}));
    assert!(reasons(&result).contains(&"length-varies"));
    measured(&[&site.url("/"), "--length", "any"], 0);
}

#[test]
fn pages_are_asked_for_in_turn_and_have_figures_of_their_own() {
    let site = ReplyServer::start(|head, _| match head {
        head if head.starts_with("GET /a ") => Reply::page("a"),
        head if head.starts_with("GET /bb ") => Reply::page("bb"),
        _ => Reply::answer(404, "", ""),
    });
    let result = measured(&[&site.url("/a"), &site.url("/bb"), "--connections", "2"], 0);
    let parts = field(&result, "/parts").as_array().expect("a list");
    let lengths: Vec<_> = parts.iter().map(|part| part["length"]["max"].clone()).collect();
    assert_eq!(lengths, [1, 2]);
    let hits: Vec<u64> = parts.iter().filter_map(|part| part["operations"].as_u64()).collect();
    assert_eq!(hits.iter().sum::<u64>(), 20);
    assert!(hits.iter().all(|hits| (8..=12).contains(hits)), "{hits:?}");
    let other = ReplyServer::always(Reply::page("x"));
    let ended = ping(&[&site.url("/a"), &other.url("/")], folder().path()).with(2);
    assert!(ended.stderr.contains("different servers"), "{ended:?}");
}

#[test]
fn a_pair_says_what_the_dynamic_page_takes_longer() {
    let site = ReplyServer::start(|head, _| {
        Reply::page(if head.contains("/page") { "page" } else { "file" })
    });
    let (folder, page, file) = (folder(), site.url("/page"), site.url("/file"));
    let words = ["http", "ping", "--for", "1s", "--warmup", "0s", "--json", "--pair", &page, &file];
    let record = plumb(&words, folder.path()).json();
    let pair = field(&record, "/results/0/pair");
    assert_eq!((&pair["dynamic"], &pair["fixed"]), (&json!(page), &json!(file)));
    assert!(pair["blocks"].as_u64() >= Some(6), "{pair:#}");
    let first = &pair["first_byte"];
    let [low, at, high] =
        ["low_ns", "ns", "high_ns"].map(|name| first[name].as_f64().unwrap_or(f64::NAN));
    assert!(low <= at && at <= high, "{pair:#}");
    assert!(first["level"].as_f64() >= Some(0.95), "{pair:#}");
}

#[test]
fn what_a_server_tells_of_its_own_time_is_in_the_record() {
    let site = ReplyServer::start(|_, before| {
        let lines = format!(
            "Server-Timing: db;dur={}, cache;desc=\"hit, miss\";dur=0.25\r\nsap-statistics: gwtotal=45,gwbe=12\r\n",
            before % 3
        );
        Reply::answer(200, &lines, "x")
    });
    let result = measured(&[&site.url("/")], 0);
    let told = field(&result, "/parts/0/told_ns");
    let names: Vec<&String> = told.as_object().expect("a table").keys().collect();
    assert_eq!(names, ["cache", "db", "gwbe", "gwtotal"]);
    assert_eq!((&told["db"]["count"], &told["db"]["max"]), (&json!(20), &json!(2_000_000)));
    assert_eq!(
        (&told["cache"]["min"], &told["gwtotal"]["p50"].as_u64().map(|ns| ns / 1_000_000)),
        (&json!(250_000), &Some(45))
    );
}

#[test]
fn the_warm_up_is_in_no_figure() {
    let lines = "Server-Timing: db;dur=1\r\n";
    let site = ReplyServer::always(Reply::answer(200, lines, "x"));
    let result = measured(&[&site.url("/"), "--warmup=100ms"], 0);
    let warm_up = field(&result, "/driver/warm_up_operations").as_u64().expect("a count");
    assert!(warm_up > 0);
    assert_eq!(site.asked().len() as u64, 1 + warm_up + 20);
    let part = field(&result, "/parts/0");
    for counted in [&part["told_ns"]["db"], &part["first_byte_ns"], &part["service_ns"]] {
        assert_eq!(counted["count"], 20);
    }
    assert_eq!(part["codes"], json!({"200": 20}));
}

#[test]
fn a_request_that_hangs_from_the_warm_up_on_is_a_failure() {
    // the first finds the way, the second and the third are the first of two connections
    let site = ReplyServer::start(|_, before| match before {
        2 => Reply::Silence,
        _ => Reply::page("x"),
    });
    let words = ["--connections=2", "--warmup=100ms", "--timeout=1s"];
    let result = measured(&[&words[..], &[&site.url("/")]].concat(), 1);
    assert!(result["operations"].as_u64() >= Some(19), "{result:#}");
    assert_eq!(result["failures"], json!({"timed-out": 1}));
}

#[test]
fn a_body_and_header_lines_are_sent() {
    let (site, folder) = (ReplyServer::always(Reply::page("x")), folder());
    fs::write(folder.path().join("body"), "0123456789").expect("a file");
    let words =
        [&site.url("/"), "--body", "body", "--header", "Content-Type: text/plain", "--close"];
    ping(&words, folder.path()).with(0);
    let record = kit::record(&only_run(folder.path()));
    let connects = field(&record, "/results/0/connect_ns/count").as_u64();
    assert!(connects >= Some(20), "a new connection a request, although the server keeps it");
    for head in site.asked() {
        assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
        for line in ["Content-Length: 10", "Content-Type: text/plain", "Connection: close"] {
            assert!(head.contains(&format!("\r\n{line}\r\n")), "{head}");
        }
    }
}

#[test]
fn what_cannot_be_measured_is_refused_in_one_line() {
    let folder = folder();
    for (words, said) in [
        (&["http://127.0.0.1:1/"] as &[&str], "cannot connect"),
        (&["https://127.0.0.1/", "--ca", "missing"], "cannot read missing"),
        (&["https://127.0.0.1/", "--cert", "x.pem"], "--key FILE is missing"),
        (&["127.0.0.1"], "http://HOST/PATH"),
        (&["http://127.0.0.1:1/", "--depth", "2"], "--depth 2"),
        (&["http://127.0.0.1:1/", "--method", "get"], "--method POST"),
        (&["http://127.0.0.1:1/", "--body", "missing"], "missing"),
        (&["http://127.0.0.1:1/", "--proxy", "https://x/"], "http://HOST:PORT"),
        (&["http://127.0.0.1:1/", "--header", "Host: x"], "URL"),
    ] {
        let ended = ping(words, folder.path()).with(2);
        assert!(ended.stderr.contains(said), "{said}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    }
    let ended = ping(&["http://127.0.0.1:1/", "--expect-status", "ok"], folder.path()).with(2);
    assert!(ended.stderr.contains("classes such as 2xx"), "{ended:?}");
    assert!(
        names_in(folder.path()).iter().all(|name| name != "plumb-runs")
            || names_in(&folder.path().join("plumb-runs")).is_empty()
    );
}

#[test]
fn nginx_is_measured_in_every_way() {
    let nginx = match Nginx::start() {
        Ok(nginx) => nginx,
        Err(reason) => return not_tried(reason),
    };
    for (path, words, operations) in [
        ("/1k", &[] as &[&str], 20),
        ("/1k", &["--connections=10", "--threads=2", "--count=500"], 500),
        ("/1k", &["--rate=500/s", "--connections=5", "--lag=10s"], 20),
        ("/1k", &["--close"], 20),
        ("/closing", &[], 20),
        ("/moved", &[], 20),
        ("/1k", &["--method=HEAD"], 20),
        ("/nothing", &["--expect-status=404"], 20),
    ] {
        let count: &[&str] = if operations == 20 { &["--count=20"] } else { &[] };
        let url = nginx.url(path);
        let fixed = ["http", "ping", "--warmup=0s", "--json", &url];
        let record = plumb(&[&fixed, count, words].concat(), folder().path()).with(0).json();
        let result = field(&record, "/results/0");
        assert_eq!(result["operations"], operations, "{path} {words:?}");
        assert_eq!(result["failures"], json!({}), "{path} {words:?}");
    }
    let large = measured(&[&nginx.url("/100k")], 0);
    assert_eq!(large["length"]["p50"].as_u64(), Some(100 << 10));
    let denied = measured(&[&nginx.url("/1k"), "--method=POST"], 1);
    assert_eq!(denied["unexpected_codes"], json!({"405": 20}));
}
