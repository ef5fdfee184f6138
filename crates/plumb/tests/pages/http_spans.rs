//! Spans of a server that was not written here: OpenTelemetry's own SDK and exporter.

use crate::kit;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use kit::scenario::{part, played, reasons, refused_in, scenario};
use kit::{Program, plumb};
use rustix::process::Signal;
use serde_json::Value;

use crate::http::folder;

const MS: i64 = 1_000_000;

/// A server that writes its spans to `target`, and its address.
fn traced_server(target: &str, packed: &[&str]) -> (Program, String) {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from).expect(
        "PLUMB_TEST_PYTHON must name a Python that has opentelemetry: run ./test, which sets it up",
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/traced_server.py");
    let file = file.display().to_string();
    let words = [&[file.as_str(), target], packed].concat();
    let server = Program::start_as(&python, &words, Path::new("."));
    let port = server.line();
    (server, format!("http://127.0.0.1:{}", port.trim()))
}

fn ended(server: Program) {
    server.signal(Signal::KILL);
    server.wait();
}

fn mean_ns(account: &Value, kind: &str) -> i64 {
    let parts = account["attribution"]["parts"].as_array().expect("parts");
    let found = parts.iter().find(|part| part["kind"] == kind).expect("a part of this kind");
    found["time"]["mean_ns"].as_i64().expect("a mean")
}

/// Sees that the account has the times that the server slept, each in its part and none in two.
fn slept(account: &Value, operations: u64) {
    for name in ["traced", "sample", "with_spans"] {
        assert_eq!(account[name], operations, "{account:#}");
    }
    assert_eq!(account["loose"], 0, "{account:#}");
    let whole_ns = account["attribution"]["client"]["mean_ns"].as_i64().expect("a mean");
    let (server, database) = (mean_ns(account, "server"), mean_ns(account, "database"));
    // of the server its own work, 5 ms; times are told as whole microseconds
    assert!(database >= 6 * MS - 1_000 && server >= 5 * MS - 3_000, "{account:#}");
    assert!(server + database <= whole_ns, "{account:#}");
    let readings = account["attribution"]["readings"].as_array().expect("readings");
    let mean = |name: &str| {
        let found = readings.iter().find(|reading| reading["source"] == name).expect(name);
        found["mean_ns"].as_i64().expect("a mean")
    };
    assert!(mean("orders internal") >= 3 * MS - 1_000, "{readings:#?}");
    assert!(mean("orders server") >= 2 * MS - 1_000, "{readings:#?}");
    assert!(mean("orders client postgresql") >= 6 * MS - 1_000, "{readings:#?}");
}

fn free_port() -> String {
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
    port.local_addr().expect("its address").port().to_string()
}

#[test]
fn spans_are_received_as_protobuf() {
    for packed in [&[][..], &["gzip"]] {
        let port = free_port();
        let target = format!("http://127.0.0.1:{port}/v1/traces");
        let (server, url) = traced_server(&target, packed);
        let folder = folder();
        let traced = ["--traceparent", "--otlp-port", &port, "--spans-wait", "60s", "--json"];
        let fixed = ["http", "ping", &url, "--count", "30", "--warmup", "0s", "--lag", "10s"];
        let record = plumb(&[&fixed[..], &traced].concat(), folder.path()).with(0).json();
        slept(&record["results"][0]["parts"][0]["spans"], 30);
        ended(server);
    }
}

#[test]
fn spans_are_read_from_the_file_of_a_collector() {
    let folder = folder();
    let file = folder.path().join("spans.json");
    fs::write(&file, "").expect("a file");
    let (server, url) = traced_server(&file.display().to_string(), &[]);
    let text = format!(
        "base = \"{url}\"\n[[scenario]]\nname = \"clerk\"\nusers = 2\niterations = 15\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/page\"\n"
    );
    let path = file.display().to_string();
    let words = ["--traceparent", "--spans", &path, "--spans-wait", "60s"];
    let record = played(&text, &[&words, &["--foreign-limit", "100%"][..]].concat(), 0);
    slept(&part(&record, "page")["spans"], 30);
    // a run without traces has none
    let record = played(&text, &["--foreign-limit", "100%"], 0);
    assert_eq!(part(&record, "page")["spans"], Value::Null);
    ended(server);
}

#[test]
fn messages_for_a_runtime_have_traces_too() {
    let port = free_port();
    let (server, url) = traced_server(&format!("http://127.0.0.1:{port}/v1/traces"), &[]);
    let folder = folder();
    let traced = ["--traceparent", "--otlp-port", &port, "--spans-wait", "60s", "--json"];
    let fixed = ["flow", "load", &url, "--mode", "sync", "--count", "30", "--warmup", "0s"];
    let record = plumb(&[&fixed[..], &["--lag", "10s"], &traced].concat(), folder.path());
    let record = record.with(0).json();
    slept(&record["results"][0]["parts"][0]["spans"], 30);
    assert_eq!(record["plan"]["options"]["traceparent"], true, "{record:#}");
    ended(server);
}

#[test]
fn a_server_without_spans_is_named() {
    let folder = folder();
    let file = folder.path().join("spans.json");
    fs::write(&file, "").expect("a file");
    let (server, url) = traced_server(&folder.path().join("other").display().to_string(), &[]);
    let text = format!(
        "base = \"{url}\"\n[[scenario]]\nname = \"clerk\"\nusers = 1\niterations = 5\n\
         [[scenario.step]]\nname = \"page\"\nget = \"/page\"\n"
    );
    let path = file.display().to_string();
    let words = ["--traceparent", "--spans", &path, "--spans-wait", "0s"];
    let record = played(&text, &[&words, &["--foreign-limit", "100%"][..]].concat(), 0);
    assert!(reasons(&record).contains("no span came of 5 traced operations"), "{record:#}");
    let account = &part(&record, "page")["spans"];
    assert_eq!((&account["sample"], &account["with_spans"]), (&5.into(), &0.into()));
    ended(server);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_asked() {
    let text = "base = \"http://127.0.0.1:1\"\n[[scenario]]\nname = \"a\"\nusers = 1\n\
                iterations = 1\n[[scenario.step]]\nget = \"/\"\n";
    let folder = scenario(text);
    fs::write(folder.path().join("bad.json"), "\n{\"resourceSpans\": 7}\n").expect("a file");
    refused_in(folder.path(), &["--traceparent", "--spans", "bad.json"], "bad.json, line 2: ");
    refused_in(folder.path(), &["--traceparent", "--spans", "none.json"], "cannot read none.json");
    refused_in(folder.path(), &["--spans", "bad.json"], "--traceparent");
    let own = ["--traceparent", "--header", "traceparent: 00-x"];
    refused_in(folder.path(), &own, "--traceparent writes it anew");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let words = ["--traceparent", "--otlp-port", &port];
    refused_in(folder.path(), &words, &format!("--otlp-port {port}: "));
}
