//! Contents of several parts: what servers get, and how answers to batches are judged.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::thread::JoinHandle;

use kit::scenario::{field, play_in, refused_in, scenario};
use tempfile::TempDir;

/// A server that answers one request with `content` of `kind`, and hands over what it got.
fn one_request(kind: &str, content: &str) -> (String, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{content}",
        content.len()
    );
    let got = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line of a head");
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().expect("a length");
            }
            head += &line;
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        reader.get_mut().write_all(answer.as_bytes()).expect("an answer is taken");
        [head.into_bytes(), body].concat()
    });
    (base, got)
}

/// A scenario of one user with one step.
fn step(base: &str, keys: &str) -> TempDir {
    scenario(&format!(
        "base = \"{base}\"\n[[scenario]]\nname = \"a\"\niterations = 1\nvariables = {{ v = \"${{sum(20, 22)}}\" }}\n\
         [[scenario.step]]\npath = \"/x\"\n{keys}\n"
    ))
}

#[test]
fn a_form_carries_fields_and_files() {
    let (base, got) = one_request("text/plain", "ok");
    let folder = step(
        &base,
        r#"parts = [
    { name = "a\"b", value = "v${v}" },
    { name = "photo", file = "p.bin", type = "image/jpeg" },
    { name = "doc", file = "p.bin", file-name = "${v}.pdf" },
]"#,
    );
    fs::write(folder.path().join("p.bin"), b"\xff\x00${v}").expect("it can be written");
    play_in(folder.path(), &[]).with(0);
    let got = got.join().expect("the server ends");
    let text = String::from_utf8_lossy(&got);
    let boundary = text
        .lines()
        .find_map(|line| line.strip_prefix("Content-Type: multipart/form-data; boundary="))
        .unwrap_or_else(|| panic!("{text}"));
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\nv42\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"p.bin\"\r\n\
         Content-Type: image/jpeg\r\n\r\n\u{fffd}\0${{v}}\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"42.pdf\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n\u{fffd}\0${{v}}\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, expected);
    assert!(text.starts_with("POST /x HTTP/1.1\r\n"), "{text}");
}

const BATCH: &str = r#"batch = [
    { get = "Flights?$top=${v}", headers = { Accept = "application/json" } },
    { changeset = [
        { path = "Bookings", body = '{"n":${v}}', headers = { Content-Type = "application/json" } },
        { path = "Bookings(1)", method = "DELETE" },
    ] },
]"#;

/// The answer to [`BATCH`] with this status of its second operation.
fn answer(status: &str) -> String {
    format!(
        "--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{{}}\r\n\
         --b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n\
         --c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 {status}\r\n\r\n\r\n\
         --c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n--c--\r\n--b--\r\n"
    )
}

#[test]
fn a_batch_carries_operations_and_each_of_their_answers_counts() {
    let (base, got) = one_request("multipart/mixed; boundary=b", &answer("201 Created"));
    play_in(step(&base, BATCH).path(), &[]).with(0);
    let got = String::from_utf8(got.join().expect("the server ends")).expect("a text");
    let (head, body) = got.split_once("\r\n\r\n").expect("a head");
    let boundary = head.split("multipart/mixed; boundary=").nth(1).expect("a boundary");
    let boundary = boundary.lines().next().unwrap_or_default();
    let changes = body.split("multipart/mixed; boundary=").nth(1).and_then(|it| it.lines().next());
    let changes = changes.expect("a boundary of the change set");
    let http = "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n";
    assert_eq!(
        body,
        format!(
            "--{boundary}\r\n{http}\r\nGET Flights?$top=42 HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n\
             --{boundary}\r\nContent-Type: multipart/mixed; boundary={changes}\r\n\r\n\
             --{changes}\r\n{http}Content-ID: 1\r\n\r\nPOST Bookings HTTP/1.1\r\n\
             Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{{\"n\":42}}\r\n\
             --{changes}\r\n{http}Content-ID: 2\r\n\r\nDELETE Bookings(1) HTTP/1.1\r\nContent-Length: 0\r\n\r\n\r\n\
             --{changes}--\r\n--{boundary}--\r\n"
        )
    );
}

#[test]
fn a_batch_whose_operations_failed_is_no_success() {
    for (content, words) in [
        (answer("401 Unauthorized"), "the status of operation 2 is 401, expected 2xx"),
        (
            answer("201 Created").replace(
                "--c\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n\r\n",
                "",
            ),
            "the answer is one to 2 operations, expected 3",
        ),
        ("{}".into(), "the answer is none to a batch"),
    ] {
        let (base, got) = one_request("multipart/mixed; boundary=b", &content);
        let ended = play_in(step(&base, BATCH).path(), &["--json"]).with(1);
        drop(got.join().expect("the server ends"));
        let record = ended.json();
        let failures = field(&record, "/results/0/failures/check-failed");
        assert_eq!(failures, 1, "{words}");
        assert!(kit::scenario::reasons(&record).contains(words), "{record:#}");
    }
    let (base, got) = one_request("multipart/mixed; boundary=b", &answer("409 Conflict"));
    let wider = format!("{BATCH}\ncheck = {{ operations = \"2xx,409\" }}");
    play_in(step(&base, &wider).path(), &[]).with(0);
    drop(got.join().expect("the server ends"));
}

#[test]
fn what_cannot_be_sent_is_said_with_its_line() {
    for (keys, reason) in [
        (
            "parts = [{ name = \"a\", file = \"gone.pdf\" }]",
            "line 8, column 31: cannot read gone.pdf",
        ),
        ("parts = [{ name = \"a\" }]", "line 8, column 10: a part has a value or a file"),
        ("parts = [{ name = \"a\", value = \"b\" }]\nbody = \"c\"", "a request has one of them"),
        ("batch = [{ get = \"a\", body = \"b\" }]", "an operation has get, or path"),
        (
            "batch = [{ changeset = [{ get = \"a\" }] }]",
            "a change set holds operations that change",
        ),
        ("batch = [{ get = \"a\" }]\nheaders = { Content-Type = \"x/y\" }", "leave the header out"),
        (
            "body = \"a\"\ncheck = { operations = \"2xx\" }",
            "operations belongs to a step with a batch",
        ),
        ("parts = [{ name = \"a\", vlaue = \"b\" }]", "did you mean `value`"),
    ] {
        let folder = step("http://127.0.0.1:1", keys);
        refused_in(folder.path(), &[], reason);
    }
}
