//! `plumb http record` between clients and servers of HTTP/2: what each speaks, and what is written.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io::{Read as _, Write as _};
use std::path::Path;

use kit::authority::TestAuthority;
use kit::http::{Nginx, Reply, ReplyServer};
use kit::http2::{HEADERS, Http2Server, Nghttpd, frame, goaway, page, reset, settings};
use kit::not_tried;
use kit::recorder::{Recorder, encrypted_for};
use kit::{Ended, Program};
use serde_json::{Value, json};
use tempfile::tempdir;

/// REFUSED_STREAM.
const REFUSED: u32 = 7;

/// A recorder that opens everything and believes `place`.
fn recorder(place: &TestAuthority) -> Recorder {
    Recorder::start(&["--intercept", "*", "--ca", &place.authority.ca()])
}

/// curl through the recorder, whose authority it believes; it prints the version of HTTP of each
/// answer.
fn curl(recorder: &Recorder, words: &[&str]) -> Ended {
    let folder = tempdir().expect("a temporary folder");
    let proxy = format!("http://{}", recorder.address);
    let authority = recorder.authority().display().to_string();
    let fixed = ["--silent", "--show-error", "--max-time", "60", "--noproxy", "", "--proxy"];
    let ours = [&proxy[..], "--cacert", &authority, "--write-out", "%{http_version}\n"];
    let words = [&fixed[..], &ours, words].concat();
    Program::start_as(Path::new("curl"), &words, folder.path()).wait()
}

/// Those of `entries` about `place`, by what `look` sees.
fn each<T>(entries: &[Value], look: impl Fn(&Value) -> T) -> Vec<T> {
    entries.iter().map(look).collect()
}

fn names(message: &Value) -> Vec<&str> {
    let headers = message["headers"].as_array().expect("headers");
    headers.iter().filter_map(|pair| pair["name"].as_str()).collect()
}

#[test]
fn requests_of_one_connection_are_streams_to_the_server_and_recorded_in_their_order() {
    let place = TestAuthority::new();
    let nginx = match Nginx::encrypted_for_both(&place.authority.sign("127.0.0.1")) {
        Ok(nginx) => nginx,
        Err(reason) => return not_tried(reason),
    };
    let recorder = recorder(&place);
    let urls: Vec<String> = (0..8).map(|number| nginx.url(&format!("/100k?{number}"))).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let lines = ["-H", "X-First: 1", "-H", "Cookie: a=1; b=2", "-H", "X-Last: 2"];
    let more = ["--http2", "--parallel"];
    let out = ["-o", "/dev/null"].repeat(urls.len());
    let answers = curl(&recorder, &[&lines[..], &more, &out, &urls].concat()).with(0);
    assert_eq!(answers.stdout, "2\n".repeat(8));
    for _ in &urls {
        assert!(recorder.recorded().ends_with("/100k 200"));
    }
    let entries = recorder.entries();
    let versions = each(&entries, |it| {
        (it["request"]["httpVersion"].clone(), it["response"]["httpVersion"].clone())
    });
    assert!(versions.iter().all(|it| *it == (json!("HTTP/2.0"), json!("HTTP/2.0"))));
    for entry in &entries {
        let asked = names(&entry["request"]);
        assert_eq!(asked, ["user-agent", "accept", "x-first", "cookie", "x-last"]);
        assert_eq!(entry["response"]["bodySize"], 100 << 10);
        assert_eq!(
            (&entry["response"]["statusText"], &entry["comment"]),
            (&json!(""), &json!(null))
        );
    }
    // as many connections as the client had, which begins with one
    let mut connections = each(&entries, |it| it["connection"].as_str().map(str::to_owned));
    connections.sort();
    connections.dedup();
    assert!(connections.len() < 8 && connections[0].is_some(), "{connections:?}");
    assert_eq!(entries[0]["timings"]["connect"], -1.0, "it stood before anything was asked");
}

#[test]
fn bodies_pass_in_both_directions() {
    let place = TestAuthority::new();
    let folder = tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("page"), "hello").expect("a file");
    let shown = place.authority.sign("127.0.0.1");
    let server = match Nghttpd::encrypted(folder.path(), &shown) {
        Ok(server) => server,
        Err(reason) => return not_tried(reason),
    };
    let recorder = recorder(&place);
    let body = folder.path().join("body");
    std::fs::write(&body, format!("password=geheim&rest={}", "x".repeat(300_000))).expect("a file");
    let data = format!("@{}", body.display());
    let echoed = curl(&recorder, &["--http2", "--data-binary", &data, &server.url("/echo")]);
    let echoed = echoed.with(0).stdout;
    assert!(echoed.starts_with("password=geheim&rest=xx") && echoed.ends_with("x2\n"));
    assert_eq!(echoed.len(), 300_023);
    assert!(recorder.recorded().ends_with("/echo 200"));
    curl(&recorder, &["--http2", "--head", &server.url("/page")]).with(0);
    assert!(recorder.recorded().starts_with("HEAD "));
    curl(&recorder, &["--http2", "-o", "/dev/null", &server.url("/none")]).with(0);
    assert!(recorder.recorded().ends_with("/none 404"));
    let entries = recorder.entries();
    let sent = &entries[0]["request"];
    assert_eq!(sent["bodySize"], 300_021);
    let text = sent["postData"]["text"].as_str().unwrap_or_default();
    assert!(text.starts_with("password=MASKED&rest=xx"), "{:.80}", text);
    assert_eq!(entries[0]["response"]["bodySize"], 300_021);
    assert_eq!(entries[1]["response"]["bodySize"], 0);
}

#[test]
fn a_server_of_http1_is_spoken_to_as_it_speaks() {
    let place = TestAuthority::new();
    let site = ReplyServer::encrypted(&place.authority.sign("127.0.0.1"), |_, _| Reply::page("x"));
    let recorder = recorder(&place);
    // who offers both gets what the server speaks
    let answer = curl(&recorder, &["--http2", &site.url("/both")]).with(0);
    assert_eq!(answer.stdout, "x1.1\n");
    // who offers nothing else is translated
    let place = site.address.to_string();
    let (stream, _) = recorder.tunnel(&place);
    let mut client =
        encrypted_for(&[b"h2"], stream, &recorder.authority(), "127.0.0.1").expect("ours");
    // GET, https, and literals of indexed names: the path, two cookies; te by its own name
    let head = b"\x82\x87\x04\x04/one\x01\x01x\x0f\x11\x03a=1\x0f\x11\x03b=2\x00\x02te\x08trailers";
    let asked =
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings(&[])[..], &frame(HEADERS, 5, 1, head)];
    client.write_all(&asked.concat()).expect("it is taken");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\x00\x00\x01\x00\x01\x00\x00\x00\x01x") {
        let mut bytes = [0; 1_000];
        let read = client.read(&mut bytes).expect("it goes on");
        assert!(read > 0, "it closed after {answer:?}");
        answer.extend_from_slice(&bytes[..read]);
    }
    let asked = &site.asked()[1];
    assert!(asked.starts_with("GET /one HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("host: {place}\r\n")), "{asked}");
    assert!(asked.contains("cookie: a=1; b=2\r\n") && !asked.contains("te: "), "{asked}");
    for path in ["/both", "/one"] {
        assert!(recorder.recorded().ends_with(&format!("{path} 200")));
    }
    let versions = each(&recorder.entries(), |it| it["request"]["httpVersion"].clone());
    assert_eq!(versions, vec![json!("HTTP/1.1"); 2]);
    // a client that stays does not keep the recording from its end, and is told (GOAWAY)
    let (ended, _folder) = recorder.stop();
    assert!(ended.with(0).stdout.starts_with("2 requests in "));
    let mut farewell = Vec::new();
    let _ = client.read_to_end(&mut farewell); // closed with or without the end of TLS
    assert!(farewell.windows(2).any(|pair| pair == [7, 0]), "{farewell:?}");
}

#[test]
fn whoever_speaks_http1_is_not_changed_into_http2() {
    let place = TestAuthority::new();
    let nginx = match Nginx::encrypted_for_both(&place.authority.sign("127.0.0.1")) {
        Ok(nginx) => nginx,
        Err(reason) => return not_tried(reason),
    };
    let recorder = recorder(&place);
    let words = ["--http1.1", "-o", "/dev/null", &nginx.url("/1k")];
    assert_eq!(curl(&recorder, &words).with(0).stdout, "1.1\n");
    recorder.recorded();
    let entry = &recorder.entries()[0];
    assert_eq!(entry["response"]["httpVersion"], "HTTP/1.1");
    assert!(entry["timings"]["ssl"].as_f64() > Some(0.0), "{entry:#}");
}

#[test]
fn a_stream_that_is_refused_or_a_connection_that_ends_is_asked_again_where_that_is_safe() {
    let place = TestAuthority::new();
    let shown = place.authority.sign("127.0.0.1");
    let server = Http2Server::encrypted(&shown, &[], |asked| match asked.number {
        0 => Some(reset(asked.stream, REFUSED)),
        2 => Some([page(asked.stream, "last"), goaway(asked.stream, 0)].concat()),
        4 | 5 => None,
        _ => Some(page(asked.stream, "hello")),
    });
    let recorder = recorder(&place);
    let url = format!("https://{}/", server.address);
    let answers = curl(&recorder, &["--http2", &url, &url, &url]).with(0).stdout;
    assert_eq!(answers, "hello2\nlast2\nhello2\n");
    // a server that goes away twice leaves no answer
    let answer = curl(&recorder, &["--http2", &url]).with(0).stdout;
    assert!(answer.contains("gave no answer") && answer.ends_with("2\n"), "{answer}");
    for _ in 0..3 {
        assert!(recorder.recorded().ends_with(" 200"));
    }
    assert!(recorder.recorded().contains("gave no answer"));
    let statuses = each(&recorder.entries(), |it| it["response"]["status"].as_i64());
    assert_eq!(statuses, [200, 200, 200, 0].map(Some));
}
