//! `plumb http ping --http 2`: what is proven, what is counted, and servers that do what they may.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::sync::Mutex;

use kit::authority::TestAuthority;
use kit::http::{Nginx, Reply, ReplyServer};
use kit::http2::{
    AskedStream, DATA, END_HEADERS, END_STREAM, HEADERS, Http2Server, Nghttpd, bare, frame, goaway,
    page, reset, settings,
};
use kit::not_tried;
use kit::{Ended, plumb};
use serde_json::{Value, json};
use tempfile::tempdir;

/// PROTOCOL_ERROR and REFUSED_STREAM.
const PROTOCOL: u32 = 1;
const REFUSED: u32 = 7;

fn ping(words: &[&str]) -> Ended {
    let folder = tempdir().expect("a temporary folder");
    let fixed = ["http", "ping", "--http=2", "--warmup=0s", "--lag=10s", "--json"];
    let counted = words.iter().any(|word| word.starts_with("--count"));
    let count: &[&str] = if counted { &[] } else { &["--count=20"] };
    plumb(&[&fixed[..], count, words].concat(), folder.path())
}

/// The only result of a ping that ended with `code`.
fn measured(words: &[&str], code: i32) -> Value {
    ping(words).with(code).json()["results"][0].clone()
}

/// A server that answers every request with a page.
fn right(ours: &[(u16, u32)]) -> Http2Server {
    Http2Server::start(ours, |asked| Some(page(asked.stream, "hello")))
}

#[test]
fn many_requests_are_under_way_on_one_connection_and_the_record_proves_it() {
    let server = right(&[]);
    let words = [&server.url(), "--streams=10", "--connections=2", "--count=500"];
    let record = ping(&words).with(0).json();
    let result = &record["results"][0];
    assert_eq!(result["operations"], 500);
    assert_eq!(result["codes"], json!({"200": 500}));
    assert_eq!(result["length"], json!({"min": 5, "p50": 5, "max": 5}));
    let http2 = &result["http2"];
    assert_eq!((&http2["connections"], &http2["streams"]), (&json!(2), &json!(500)));
    assert_eq!(http2["streams_at_once"], 10);
    assert_eq!(http2["streams_allowed"], Value::Null, "the server named no limit");
    assert_eq!(result["parts"][0]["first_byte_ns"]["count"], 500);
    let options = &record["plan"]["options"];
    assert_eq!((&options["http"], &options["streams"]), (&json!("2"), &json!(10)));
    let folder = tempdir().expect("a temporary folder");
    let text = plumb(
        &["http", "ping", "--http=2", "--count=50", "--streams=5", "--warmup=0s", &server.url()],
        folder.path(),
    );
    let line =
        "spoken on 1 connection: 50 streams, up to 5 at once on each (the server names no limit)";
    let words: Vec<&str> = text.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains(&format!("HTTP/2 {line}")), "{}", text.stdout);
}

#[test]
fn answers_come_in_any_order_and_each_is_that_of_its_request() {
    let held = Mutex::new(Vec::new());
    let server = Http2Server::start(&[], move |asked| {
        if asked.number == 0 {
            return Some(page(asked.stream, "hello")); // what resolves the URL
        }
        let mut held = held.lock().expect("nobody panics with it");
        held.push(asked.stream);
        // three at a time, the last first
        let ready = held.len() == 3;
        let streams: Vec<u32> = if ready { held.drain(..).rev().collect() } else { Vec::new() };
        Some(streams.into_iter().flat_map(|stream| page(stream, "hello")).collect())
    });
    let result = measured(&[&server.url(), "--streams=3", "--count=21"], 0);
    assert_eq!((&result["operations"], &result["failures"]), (&json!(21), &json!({})));
    assert_eq!(result["http2"]["connections"], 1);
}

#[test]
fn streams_that_are_refused_or_ended_are_counted_by_their_codes_and_the_connection_goes_on() {
    let server = Http2Server::start(&[], |asked| match asked.number {
        5 | 10 => Some(reset(asked.stream, REFUSED)),
        7 => Some(reset(asked.stream, 2)),
        9 => Some(bare(asked.stream, 14)),
        _ => Some(page(asked.stream, "hello")),
    });
    let result = measured(&[&server.url(), "--streams=4"], 1);
    assert_eq!(result["operations"], 16);
    let failures = json!({"stream-refused": 2, "stream-reset": 1, "unexpected-status": 1});
    assert_eq!(result["failures"], failures);
    let http2 = &result["http2"];
    assert_eq!(http2["stream_errors"], json!({"REFUSED_STREAM": 2, "INTERNAL_ERROR": 1}));
    assert_eq!(http2["connections"], 1);
    assert_eq!(server.connections(), 2, "one resolved the URL");
}

#[test]
fn an_answer_without_content_may_announce_a_length_that_is_not_taken() {
    let server = Http2Server::start(&[], |asked| {
        // `content-length: 5000000`
        let head = [&[0x88, 0x0f, 13, 7][..], b"5000000"].concat();
        let end = frame(DATA, END_STREAM, asked.stream, b"");
        Some([frame(HEADERS, END_HEADERS, asked.stream, &head), end].concat())
    });
    let result = measured(&[&server.url(), "--method=HEAD", "--max-body=1MB"], 0);
    assert_eq!((&result["operations"], &result["failures"]), (&json!(20), &json!({})));
}

#[test]
fn what_a_server_did_not_begin_with_when_it_left_is_asked_again_and_no_failure() {
    let server = Http2Server::start(&[], |asked: AskedStream| {
        // the fifth request of a connection is its last; what comes behind it is passed over
        match asked.here {
            0..4 => Some(page(asked.stream, "hello")),
            4 => Some([goaway(asked.stream, 0), page(asked.stream, "hello")].concat()),
            _ => Some(Vec::new()),
        }
    });
    let result = measured(&[&server.url(), "--streams=3", "--count=50"], 0);
    assert_eq!((&result["operations"], &result["failures"]), (&json!(50), &json!({})));
    let http2 = &result["http2"];
    assert_eq!((&http2["connections"], &http2["farewells"]), (&json!(10), &json!(10)));
    assert!(http2["sent_again"].as_u64() > Some(0), "{http2}");
    let streams = http2["streams"].as_u64().expect("a number");
    assert_eq!(streams, 50 + http2["sent_again"].as_u64().expect("a number"));
}

#[test]
fn a_connection_that_ends_with_an_error_fails_what_was_under_way() {
    let server = Http2Server::start(&[], |asked| match asked.number {
        10 => Some(goaway(asked.stream, PROTOCOL)),
        15 => Some(kit::http2::frame(0, 0, 0, b"content of no stream")),
        18 => None,
        _ => Some(page(asked.stream, "hello")),
    });
    let result = measured(&[&server.url()], 1);
    assert_eq!(result["operations"], 17);
    let failures = json!({"connection-error": 1, "garbled": 1, "closed": 1});
    assert_eq!(result["failures"], failures);
    let http2 = &result["http2"];
    assert_eq!(http2["connection_errors"], json!({"PROTOCOL_ERROR": 2}), "its own, and ours");
    assert_eq!(http2["connections"], 4);
}

#[test]
fn a_late_answer_is_given_up_alone_and_a_silent_connection_as_a_whole() {
    let server = Http2Server::start(&[], |asked| match asked.number {
        3 => Some(Vec::new()),
        _ => Some(page(asked.stream, "hello")),
    });
    // the others go on until its time is over
    let words = [&server.url(), "--streams=2", "--for=600ms", "--timeout=200ms", "--delay=1ms"];
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let folder = tempdir().expect("a temporary folder");
    let fixed = ["http", "ping", "--http=2", "--warmup=0s", "--lag=10s", "--json"];
    let result = plumb(&[&fixed[..], &words].concat(), folder.path()).with(1).json();
    let result = &result["results"][0];
    assert_eq!(result["failures"], json!({"timed-out": 1}));
    assert_eq!(result["http2"]["connections"], 1);
    let silent = Http2Server::start(&[], |asked| match asked.number {
        3 => Some(Vec::new()),
        number if asked.here > 3 && number < 8 => Some(Vec::new()),
        _ => Some(page(asked.stream, "hello")),
    });
    let result = measured(&[&silent.url(), "--timeout=200ms"], 1);
    assert_eq!(result["failures"], json!({"timed-out": 1}));
    assert_eq!(result["http2"]["connections"], 2);
}

#[test]
fn no_more_streams_are_begun_than_the_server_allows_also_when_it_changes_its_mind() {
    let server = Http2Server::start(&[(3, 4)], |asked| {
        let fewer = if asked.here == 30 { settings(&[(3, 2)]) } else { Vec::new() };
        Some([fewer, page(asked.stream, "hello")].concat())
    });
    let result = measured(&[&server.url(), "--streams=10", "--count=60"], 0);
    let http2 = &result["http2"];
    assert_eq!((&http2["streams_at_once"], &http2["streams_allowed"]), (&json!(4), &json!(2)));
    let none = right(&[(3, 0)]);
    let ended = ping(&[&none.url(), "--connect-timeout=300ms"]).with(2);
    assert!(ended.stderr.contains("did not answer within 300ms"), "{ended:?}");
}

#[test]
fn content_goes_out_as_fast_as_the_windows_of_the_server_open() {
    let folder = tempdir().expect("a temporary folder");
    let body = folder.path().join("body");
    std::fs::write(&body, vec![b'x'; 200_000]).expect("a file");
    let server = Http2Server::start(&[(4, 1_000)], |asked| {
        Some(page(asked.stream, &asked.bytes.to_string()))
    });
    let body = body.display().to_string();
    let words = [&server.url(), "--body", &body, "--as-given", "--count=3", "--length=any"];
    let result = measured(&words, 0);
    assert_eq!(result["operations"], 3);
    assert_eq!(result["length"], json!({"min": 6, "p50": 6, "max": 6}), "all 200,000 came");
    assert!(result["bytes_sent"].as_u64() > Some(600_000));
}

#[test]
fn a_server_of_http1_is_named_before_anything_is_measured() {
    let plain = ReplyServer::always(Reply::answer(400, "", "what?"));
    let ended = ping(&[&plain.url("/")]).with(2);
    let line = "does not speak HTTP/2: it answered `HTTP/1.1 400 x`; leave --http 2 out";
    assert!(ended.stderr.contains(line), "{ended:?}");
    let silent = ReplyServer::always(Reply::Close(Vec::new()));
    let line = "it may speak no HTTP/2 without TLS: leave --http 2 out";
    let ended = ping(&[&silent.url("/")]).with(2);
    assert!(ended.stderr.contains(line), "{ended:?}");
    let scenario = kit::scenario::scenario(&format!(
        "base = \"{}\"\n[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\nget = \"/\"\n",
        silent.url("")
    ));
    let ended = kit::scenario::play_in(scenario.path(), &["--http=2"]).with(2);
    assert!(ended.stderr.contains(line), "{ended:?}");
    let place = TestAuthority::new();
    let site = ReplyServer::encrypted(&place.authority.sign("127.0.0.1"), |_, _| Reply::page("x"));
    let ended = ping(&[&site.url("/"), "--ca", &place.authority.ca()]).with(2);
    let line = "speaks none of the protocols asked for (ALPN)";
    assert!(ended.stderr.contains(line), "{ended:?}");
}

#[test]
fn words_that_contradict_each_other_are_refused_with_what_to_write() {
    for (words, line) in [
        (&["--http=1.1", "--streams=4"][..], "give --http 2 as well"),
        (&["--depth=4"], "give --http 2 --streams 4"),
        (&["--streams=4", "--close"], "leave --streams out"),
        (&["--timestamps"], "--timestamps takes single messages"),
        (&["--proxy=http://127.0.0.1:1"], "leave --proxy out"),
        (&["--http=3"], "[possible values: 1.1, 2]"),
    ] {
        let folder = tempdir().expect("a temporary folder");
        let version: &[&str] = if words[0].starts_with("--http") { &[] } else { &["--http=2"] };
        let all = [&["http", "ping", "http://127.0.0.1:1/"][..], version, words].concat();
        let ended = plumb(&all, folder.path()).with(2);
        assert!(ended.stderr.contains(line), "{words:?}: {ended:?}");
    }
}

#[test]
fn nginx_is_measured_over_http2_with_and_without_tls() {
    let place = TestAuthority::new();
    let started = Nginx::over_http2().and_then(|plain| {
        Ok([plain, Nginx::encrypted_for_both(&place.authority.sign("127.0.0.1"))?])
    });
    let [plain, encrypted] = match started {
        Ok(both) => both,
        Err(reason) => return not_tried(reason),
    };
    let ca = place.authority.ca();
    for (words, operations) in [
        (&[][..], 20),
        // it takes a thousand requests on a connection, then leaves
        (&["--streams=10", "--connections=2", "--count=5000"], 5_000),
        (&["--streams=100", "--threads=2", "--connections=2", "--count=2000"], 2_000),
        (&["--rate=500/s", "--streams=3"], 20),
        (&["--close"], 20),
    ] {
        for (nginx, trust) in [(&plain, &[][..]), (&encrypted, &["--ca", &ca])] {
            for path in ["/1k", "/100k"] {
                let url = nginx.url(path);
                let record = ping(&[words, trust, &[&url]].concat()).with(0).json();
                let result = &record["results"][0];
                assert_eq!(result["operations"], operations, "{words:?}");
                assert_eq!(result["failures"], json!({}), "{words:?}");
                let lengths = if path == "/1k" { 1_024 } else { 100 << 10 };
                assert_eq!(result["length"]["max"], lengths);
                assert!(result["http2"]["connections"].as_u64() > Some(0));
                let proof = record["target"]["transport"]["tls"].as_str();
                assert!(proof.is_none_or(|proof| proof.ends_with(" h2")), "{proof:?}");
                assert_eq!(proof.is_some(), !trust.is_empty());
            }
        }
    }
    let moved = measured(&[&plain.url("/moved")], 0);
    assert_eq!(moved["parts"][0]["steps"][0]["status"], 302);
}

#[test]
fn nghttpd_is_measured_with_content_in_both_directions() {
    let folder = tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("page"), vec![b'x'; 300_000]).expect("a file");
    let server = match Nghttpd::start(folder.path()) {
        Ok(server) => server,
        Err(reason) => return not_tried(reason),
    };
    let result = measured(&[&server.url("/page"), "--streams=5", "--count=100"], 0);
    assert_eq!(result["length"]["max"], 300_000);
    let body = folder.path().join("page").display().to_string();
    let words = [&server.url("/echo"), "--body", &body, "--streams=5", "--count=30"];
    let result = measured(&words, 0);
    assert_eq!((&result["operations"], &result["length"]["min"]), (&json!(30), &json!(300_000)));
    assert_eq!(measured(&[&server.url("/page"), "--method=HEAD"], 0)["length"]["max"], 0);
    assert_eq!(measured(&[&server.url("/no")], 1)["codes"], json!({"404": 20}));
    let first = plumb(&["http", "ping", &server.url("/page")], folder.path()).with(2);
    assert!(first.stderr.contains("speaks HTTP/2 only: give --http 2"), "{first:?}");
}

#[test]
fn users_of_a_scenario_speak_http2_each_over_a_connection_of_its_own() {
    let place = TestAuthority::new();
    let started = Nginx::over_http2().and_then(|plain| {
        Ok([plain, Nginx::encrypted_for_both(&place.authority.sign("127.0.0.1"))?])
    });
    let nginx = match started {
        Ok(both) => both,
        Err(reason) => return not_tried(reason),
    };
    let scenario = r#"
        [[scenario]]
        name = "reader"
        users = 3
        iterations = 5

        [[scenario.step]]
        get = "/1k"
        check = { length = 1024 }
        extract = [{ name = "type", header = "Content-Type" }]

        [[scenario.step]]
        get = "/moved?${type}"

        [[scenario.step]]
        parallel = "page"

        [[scenario.step.step]]
        get = "/100k"

        [[scenario.step.step]]
        get = "/1k?part"
    "#;
    let file = place.folder.path().join("scenario.toml");
    std::fs::write(&file, scenario).expect("a file");
    let ca = place.authority.ca();
    for (server, trust) in nginx.iter().zip([&[][..], &["--ca", &ca]]) {
        let folder = tempdir().expect("a temporary folder");
        let (file, base) = (file.display().to_string(), server.url(""));
        let words = ["http", "load", &file, "--base", &base, "--http=2", "--lag=10s", "--json"];
        let record = plumb(&[&words[..], trust].concat(), folder.path()).with(0).json();
        let result = &record["results"][0];
        // 1k, moved, where that leads, and the two parts
        assert_eq!(result["operations"], 3 * 5 * 5, "{}", result["failures"]);
        let http2 = &result["http2"];
        assert_eq!((&http2["streams"], &http2["streams_at_once"]), (&json!(75), &json!(2)));
        assert_eq!(http2["connections"], 3, "one a user, also for what it asks at once");
        assert_eq!(result["groups"][0]["operations"], 15);
        assert_eq!(record["plan"]["options"]["http"], "2");
    }
    let site = ReplyServer::always(Reply::page("hello"));
    let folder = tempdir().expect("a temporary folder");
    let (file, base) = (file.display().to_string(), site.url(""));
    let words = ["http", "load", &file, "--base", &base, "--http=2"];
    let ended = plumb(&words, folder.path()).with(2);
    assert!(ended.stderr.contains("does not speak HTTP/2"), "{ended:?}");
}
