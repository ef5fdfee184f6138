//! Figures that are sent while they are measured: over OTLP to OpenTelemetry's own classes, by remote
//! write to Prometheus, and to nobody at all.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kit::namespace::allowed;
use kit::web::Web;
use kit::{PLUMB, Program, Server, free_address, only_run, ping, plumb, record, until};
use serde_json::Value;
use tempfile::tempdir;

const SHORT: [&str; 3] = ["--for=300ms", "--warmup=0s", "--interval=50ms"];

/// A receiver made of OpenTelemetry's own classes, and its URL.
fn otlp() -> (Program, String) {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from);
    let python =
        python.expect("PLUMB_TEST_PYTHON must name a Python with opentelemetry: run ./test");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/otlp_receiver.py");
    let program = Program::start_as(&python, &[&script.display().to_string()], Path::new("."));
    let url = program.line().strip_prefix("listening on ").expect("an address").to_owned();
    (program, url)
}

/// The metrics of a request by name.
fn metrics(request: &Value) -> BTreeMap<String, Value> {
    let all = request.pointer("/resourceMetrics/0/scopeMetrics/0/metrics").expect("metrics");
    let all = all.as_array().expect("a list").iter();
    all.map(|it| (it["name"].as_str().expect("a name").to_owned(), it.clone())).collect()
}

fn attribute<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    let mut all = of["attributes"].as_array()?.iter();
    all.find(|it| it["key"] == name)?["value"]["stringValue"].as_str()
}

#[test]
fn opentelemetry_reads_what_the_record_holds() {
    let (receiver, url) = otlp();
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let words = [&["net", "ping", &server.address, "--otlp", &url], &SHORT[..]].concat();
    let told = [("PLUMB_OTLP_TOKEN", "abc")];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &told).wait().with(0);
    assert!(!ended.stderr.contains("--otlp"), "{ended:?}");
    // the last request is the one that knows whether the run is valid
    let last = until(|| {
        let request: Value = serde_json::from_str(&receiver.line()).expect("JSON");
        metrics(&request).contains_key("plumb.run.valid").then_some(request)
    });
    assert_eq!(last["authorization"], "Bearer abc");
    let run = only_run(folder.path());
    let resource = &last["resourceMetrics"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), Some("plumb"));
    let name = run.file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(attribute(resource, "service.instance.id"), Some(name.as_str()));
    let (metrics, result) = (metrics(&last), &record(&run)["results"][0]);
    let point = &metrics["plumb.run.operations"]["sum"]["dataPoints"][0];
    let counted = |value: &Value| value.as_str().and_then(|it| it.parse::<u64>().ok());
    assert_eq!(counted(&point["asInt"]), result["operations"].as_u64());
    assert_eq!(attribute(point, "size"), Some("1000B"));
    assert_eq!(metrics["plumb.run.operations"]["sum"]["isMonotonic"], true);
    let times = &metrics["plumb.run.response"]["summary"]["dataPoints"][0];
    assert_eq!(counted(&times["count"]), result["response_ns"]["count"].as_u64());
    assert_eq!(metrics["plumb.run.response"]["unit"], "s");
    let start = counted(&point["startTimeUnixNano"]).expect("a time");
    assert!(start > 0 && counted(&point["timeUnixNano"]) > Some(start), "{point:#}");
}

/// Prometheus that takes remote write, and its address; `Err` where it is not installed.
fn prometheus(folder: &Path) -> Result<(Program, String), String> {
    let path = Path::new("/usr/bin/prometheus");
    if !path.exists() {
        return Err("no prometheus in the packages here".into());
    }
    fs::write(folder.join("p.yml"), "global: {scrape_interval: 1h}\n").expect("a file");
    let address = free_address();
    let data = folder.join("data").display().to_string();
    let words = [
        "--config.file=p.yml",
        &format!("--storage.tsdb.path={data}"),
        &format!("--web.listen-address={address}"),
        "--web.enable-remote-write-receiver",
    ];
    let program = Program::start_as(path, &words, folder);
    until(|| program.log_line().contains("Server is ready to receive web requests").then_some(()));
    Ok((program, address))
}

/// The series that `query` finds.
fn series(address: &str, query: &str) -> Vec<Value> {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("/api/v1/query?query={encoded}");
    let reply = Web::connect(address).ask("GET", &path, &[], b"").with(200);
    let found: Value = serde_json::from_str(&reply.text()).expect("JSON");
    found["data"]["result"].as_array().expect("a list").clone()
}

/// The value of the only series that `query` finds.
fn value(address: &str, query: &str) -> f64 {
    let found = series(address, query);
    let [only] = found.as_slice() else { panic!("not one series of {query}: {found:#?}") };
    only["value"][1].as_str().and_then(|it| it.parse().ok()).expect("a number")
}

#[test]
#[allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "counts far below 2^53")]
fn prometheus_stores_what_the_record_holds() {
    let home = tempdir().expect("a folder");
    let Some((_program, address)) = allowed(prometheus(home.path())) else { return };
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let url = format!("http://{address}");
    let words = [&["--remote-write", &url], &SHORT[..]].concat();
    let ended = ping(&server.address, &words, folder.path()).with(0);
    assert!(!ended.stderr.contains("--remote-write"), "{ended:?}");
    let run = only_run(folder.path());
    let result = &record(&run)["results"][0];
    let name = run.file_name().expect("a name").to_string_lossy().into_owned();
    let of = |metric: &str, further: &str| {
        value(&address, &format!("{metric}{{job=\"plumb\",instance=\"{name}\"{further}}}"))
    };
    let operations = result["operations"].as_u64().expect("a number") as f64;
    assert_eq!(of("plumb_run_operations_total", ""), operations);
    assert_eq!(of("plumb_run_response_seconds_count", ",size=\"1000B\""), operations);
    assert_eq!(of("plumb_run_valid", ""), 1.0);
    let sent = result["bytes_sent"].as_u64().expect("a number") as f64;
    assert_eq!(of("plumb_run_sent_bytes_total", ""), sent);
    assert!(of("plumb_run_response_seconds", ",quantile=\"0.5\"") > 0.0);
    // the parts of a check are runs of their own
    let words = ["net", "check", &server.address, "--quick", "--out=check", "--remote-write", &url];
    let words = [&words[..], &["--for=50ms", "--idle=50ms", "--stability=50ms"]].concat();
    let ended = plumb(&words, folder.path());
    assert!(!ended.stderr.contains("not delivered"), "{ended:?}");
    // remotes are told of nobody, and what they measured is told by who leads them
    let remotes = ["--remotes=local:2", "--connections=2", "--out=both", "--remote-write", &url];
    let words = [&remotes[..], &SHORT, &["--junit=v.xml"]].concat();
    ping(&server.address, &words, folder.path()).with(0);
    let both = record(&folder.path().join("both"));
    let operations = both["results"][0]["operations"].as_u64().expect("a number") as f64;
    assert_eq!(value(&address, "plumb_run_operations_total{instance=\"both\"}"), operations);
    assert!(kit::read(&folder.path().join("v.xml")).contains("<testcase "));
    assert!(value(&address, "count(plumb_run_info{instance=~\"check/parts/.*\"})") > 4.0);
}

#[test]
fn every_query_of_the_dashboard_finds_what_is_sent() {
    let home = tempdir().expect("a folder");
    let Some((_program, address)) = allowed(prometheus(home.path())) else { return };
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let url = format!("http://{address}");
    ping(&server.address, &[&["--remote-write", &url], &SHORT[..]].concat(), folder.path()).with(0);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/grafana/plumbline.json");
    let dashboard: Value = serde_json::from_str(&kit::read(&file)).expect("JSON");
    let variables = [("$run", ".*"), ("$quantile", "0.5|0.99"), ("$window", "1h")];
    let named: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .expect("variables")
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(named, ["datasource", "run", "quantile", "window"]);
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().expect("panels") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel:#}");
        for target in panel["targets"].as_array().expect("targets") {
            let query = target["expr"].as_str().expect("a query").to_owned();
            let query = variables.iter().fold(query, |it, (name, value)| it.replace(name, value));
            assert!(!query.contains('$'), "a variable that is not there: {query}");
            // nothing failed, and what did not happen has no series
            let rare = query.contains("failures_total") && !query.contains("vector(0)");
            assert!(rare || !series(&address, &query).is_empty(), "nothing is found: {query}");
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
}

#[test]
fn a_receiver_that_is_not_there_takes_nothing_from_the_run() {
    let (folder, server) = (tempdir().expect("a folder"), Server::start(&[]));
    let url = format!("http://{}", free_address());
    let words = [&["--remote-write", &url, "--otlp", &url], &SHORT[..]].concat();
    let ended = ping(&server.address, &words, folder.path()).with(0);
    for option in ["--remote-write", "--otlp"] {
        let said = ended.stderr.lines().find(|line| line.contains(&format!("{option} http://")));
        let said = said.unwrap_or_else(|| panic!("nothing of {option}: {ended:#?}"));
        assert!(said.contains("of the figures not delivered"), "{said}");
    }
    assert_eq!(record(&only_run(folder.path()))["validity"]["valid"], true);
}

#[test]
fn a_receiver_that_cannot_be_used_is_refused_before_anything_is_measured() {
    let folder = tempdir().expect("a folder");
    for (words, said) in [
        (["--otlp", "collector"], "--otlp collector: "),
        (["--remote-write", "http://u:secret@host/write"], "--remote-write "),
        (["--otlp", "ftp://host"], "--otlp ftp://host: "),
    ] {
        let ended = ping("127.0.0.1:1", &words, folder.path()).with(2);
        assert!(ended.stderr.contains(said) && !ended.stderr.contains("secret"), "{ended:?}");
    }
    let words = ["net", "ping", "127.0.0.1:1", "--otlp", "http://192.0.2.1"];
    let told = [("PLUMB_OTLP_TOKEN", "hidden")];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &told).wait().with(2);
    assert!(ended.stderr.contains("write https://"), "{ended:?}");
    assert!(!ended.stderr.contains("hidden"), "{ended:?}");
    assert!(kit::names_in(folder.path()).is_empty());
}
