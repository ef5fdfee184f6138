//! The same protocol and the same file formats as programs that were not written here: pysap for
//! NI, the `HdrHistogram` of Python for interval logs.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kit::{PLUMB, Program, Server, only_run, ping, record};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// Starts one of the scripts in `tests/interop`.
fn script(name: &str, words: &[&str]) -> Program {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from).expect(
        "PLUMB_TEST_PYTHON must name a Python that has pysap and hdrhistogram: run ./test, which \
         sets it up",
    );
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(name);
    let file = file.display().to_string();
    Program::start_as(&python, &[&[file.as_str()], words].concat(), Path::new("."))
}

fn found(name: &str, words: &[&str]) -> Value {
    script(name, words).wait().with(0).json()
}

/// An echo server made of pysap's NI server, and its address.
fn foreign_server() -> (Program, String) {
    let server = script("ni_server.py", &[]);
    let line = server.line();
    let address = line.strip_prefix("listening on ").expect("it says where").to_owned();
    (server, address)
}

fn field<'a>(value: &'a Value, path: &str) -> &'a Value {
    value.pointer(path).unwrap_or_else(|| panic!("no {path} in {value:#}"))
}

fn number(value: &Value, path: &str) -> u64 {
    field(value, path).as_u64().unwrap_or_else(|| panic!("no number at {path} in {value:#}"))
}

#[test]
fn an_interval_log_read_by_hdrhistogram_holds_what_the_record_says() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--for", "500ms", "--interval", "100ms", "--connections", "2", "--warmup", "0s"];
    ping(&server.address, &words, folder.path()).with(0);
    let run = only_run(folder.path());
    let result = field(&record(&run), "/results/0").clone();
    let log = found("interval_log.py", &[&run.join("intervals.hlog").display().to_string()]);

    assert_eq!(number(&log, "/lines"), 2 * result["intervals"].as_array().unwrap().len() as u64);
    for (series, times) in [("response", "response_ns"), ("service", "service_ns")] {
        let (read, written) = (&log["series"][series], &result[times]);
        assert_eq!(number(read, "/count"), number(&result, "/operations"), "{series}");
        let median = number(written, "/p50");
        let bucket = number(read, "/low")..=number(read, "/high");
        assert!(bucket.contains(&median), "{series}: {median} is not in {bucket:?}");
    }
}

#[test]
fn the_log_of_a_sweep_holds_every_operation_once() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--size", "10B,20B,30B", "--connections", "1,2", "--count", "50"];
    ping(&server.address, &words, folder.path()).with(0);
    let run = only_run(folder.path());
    let log = found("interval_log.py", &[&run.join("intervals.hlog").display().to_string()]);
    assert_eq!(number(&log, "/series/response/count"), 300);
    assert_eq!(number(&log, "/series/service/count"), 300);
}

#[test]
fn a_histogram_decoded_by_hdrhistogram_has_the_quantiles_of_the_record() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    let words = ["--count", "5000", "--warmup", "0s"];
    ping(&server.address, &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    for path in ["/floor/service_ns", "/results/0/response_ns", "/results/0/connect_ns"] {
        let written = field(&record, path);
        let text = written["histogram"].as_str().expect("an encoded histogram");
        let read = found("histogram.py", &[text]);
        assert_eq!(read["count"], written["count"], "{path}");
        for quantile in ["p25", "p50", "p75", "p90", "p95", "p99", "p999"] {
            let (theirs, ours) = (number(&read, &format!("/{quantile}")), &written[quantile]);
            let ours = ours.as_u64().expect("a number");
            let bucket = theirs / 1024 + 1; // three digits: at most this wide
            assert!(theirs.abs_diff(ours) <= bucket, "{path} {quantile}: {ours}, not {theirs}");
        }
    }
}

#[test]
fn a_foreign_client_has_its_messages_echoed_and_its_ping_answered() {
    let server = Server::start(&[]);
    let ended = script("ni_client.py", &[&server.address]).wait().with(0);
    assert_eq!(ended.stdout, "done\n");
    let line = server.farewell();
    let counts = "4 messages, 51,001 bytes, 1 ping; closed by the client";
    assert!(line.ends_with(counts), "{line}");
}

#[test]
fn a_foreign_client_understands_a_refusal() {
    let server = Server::start(&["--quiet", "--max-message", "1000B"]);
    let refusal = found("ni_refusal.py", &[&server.address, "1001"]);
    let error = "a message of 1001 bytes is larger than this server's limit of 1000 bytes";
    let expected = json!({
        "version": 40,
        "opcode": 0,
        "return_code": -20,
        "eyecatchers": ["*ERR*", "*ERR*"],
        "error": error,
        "return_code_text": "-20",
        "component": "NI (network interface)",
    });
    assert_eq!(refusal, expected);
}

#[test]
fn a_foreign_server_is_measured() {
    let (_server, address) = foreign_server();
    let folder = folder();
    let words = ["--size", "1B,1000B,50000B", "--connections", "1,3", "--count", "60"];
    let patient = ["--warmup", "0s", "--timeout", "50s"];
    ping(&address, &[words.as_slice(), &patient].concat(), folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let results = record["results"].as_array().expect("results");
    assert_eq!(results.len(), 6);
    for result in results {
        assert_eq!(result["operations"], 60, "{result:#}");
        assert_eq!(result["failures"], json!({}), "{result:#}");
    }
}

#[test]
fn a_foreign_server_is_measured_as_niping_does() {
    let (_server, address) = foreign_server();
    let folder = folder();
    let niping = folder.path().join("niping");
    symlink(PLUMB, &niping).expect("a temporary folder can be written");
    let (host, port) = address.rsplit_once(':').expect("a port");
    let words = ["-c", "-H", host, "-S", port, "-B", "10000", "-L", "40"];
    let ended = Program::start_as(&niping, &words, folder.path()).wait().with(0);
    assert!(ended.stdout.contains("send and receive 40 messages (len 10000)"), "{ended:#?}");
    assert!(!ended.stdout.contains("*** ERROR"), "{ended:#?}");
}

#[test]
fn a_route_is_asked_for_in_the_bytes_of_a_foreign_client() {
    let router = kit::router::Router::start("another");
    let address = router.hop();
    let route = format!("{address}/W/hush/H/127.0.0.1/S/4000");
    let folder = folder();
    let niping = folder.path().join("niping");
    symlink(PLUMB, &niping).expect("a temporary folder can be written");
    let ended = Program::start_as(&niping, &["-c", "-H", &route], folder.path()).wait().with(2);
    assert!(ended.stdout.contains("*** ERROR => ") && !ended.stdout.contains("hush"), "{ended:#?}");
    let theirs = script("ni_route.py", &[&route]).wait().with(0).stdout;
    let ours: String = router.request().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(ours, theirs.trim());
}
