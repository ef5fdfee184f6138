//! Round trips taken apart by time stamps of the kernel, between real programs. Times are only compared
//! with what they cannot be below, and parts with each other.

use crate::kit;

use std::fs;
use std::path::Path;

use kit::http::{Reply, ReplyServer};
use kit::namespace::{ENDS, Namespace, allowed};
use kit::{Program, Server, only_run, ping, plumb, record};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// Every message.
const EVERY: &[&str] = &["--timestamps=1", "--lag", "50s", "--timeout", "30s", "--warmup", "100ms"];
const MS: i64 = 1_000_000;

const PAGE: &str = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/sap/it03/text1kb.htm";
const OTHER_PAGE: &str = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/sap/it03/text4kb.htm";
/// A work process says so to whoever is nobody.
const NO_LOG_ON: &str = "--expect-status=401";
/// A transaction that answers.
const ECHO: &str = "mode = \"sync\"\n[[action]]\nrespond = \"done\"\n";

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// The only result of a run of `net ping` against `address`.
fn result(address: &str, words: &[&str]) -> Value {
    let folder = folder();
    ping(address, &[EVERY, words].concat(), folder.path()).with(0);
    record(&only_run(folder.path()))["results"][0].clone()
}

/// The only result of a measurement of 200 operations.
fn taken_apart(words: &[&str]) -> Value {
    let folder = folder();
    plumb(&[words, EVERY, &["--count", "200"]].concat(), folder.path()).with(0);
    record(&only_run(folder.path()))["results"][0].clone()
}

fn parts(result: &Value) -> Vec<(String, i64)> {
    let parts = result["round_trip"]["account"]["parts"].as_array().expect("it has parts");
    let of = |part: &Value| {
        let mean = part["time"]["mean_ns"].as_i64().expect("a mean");
        (part["kind"].as_str().expect("a kind").to_owned(), mean)
    };
    parts.iter().map(of).collect()
}

/// Asserts that the parts are the whole, that no message was lost on the way to them, and gives the
/// largest.
fn largest(result: &Value, count: u64) -> (String, i64) {
    let trip = &result["round_trip"];
    let parts = parts(result);
    let whole = trip["account"]["client"]["mean_ns"].as_i64().expect("a whole");
    let sum: i64 = parts.iter().map(|(_, ns)| ns).sum();
    // each mean is rounded to a nanosecond
    assert!((sum - whole).unsigned_abs() <= parts.len() as u64, "{sum} {whole} {parts:?}");
    assert!(parts.iter().all(|(_, ns)| *ns >= 0), "{parts:?}");
    let left_out = trip["left_out"].as_object();
    let left_out: u64 = left_out.iter().flat_map(|it| it.values()).filter_map(Value::as_u64).sum();
    let known = trip["account"]["client"]["count"].as_u64().expect("a count");
    // the server may not have told of the last one when the run is over
    assert!(
        known + left_out <= count && known + left_out + 8 >= count,
        "{known} {left_out} {count}"
    );
    assert!(known * 2 > count, "most are known: {trip:#}");
    parts.into_iter().max_by_key(|(_, ns)| *ns).expect("a part")
}

#[test]
fn a_server_of_ours_tells_its_half_and_every_nanosecond_has_its_place() {
    let server = Server::start(&["--quiet"]);
    for words in [&["--connections", "1"][..], &["--connections", "4"], &["--replies", "2"]] {
        let result = result(&server.address, &[&["--count", "400"], words].concat());
        largest(&result, 400);
        let kinds: Vec<String> = parts(&result).into_iter().map(|(kind, _)| kind).collect();
        let expected = ["sending", "wire", "server-waking", "server", "server-sending", "waking"];
        assert_eq!(kinds, expected, "{words:?}");
        assert_eq!(result["round_trip"]["server_told"], true);
        assert_eq!(result["round_trip"]["every"], 1);
        assert_eq!(result["operations"], 400);
        assert!(result["round_trip"]["slowest"]["parts"].is_array(), "{words:?}");
    }
}

#[test]
fn messages_over_ipv6_and_of_several_remotes_are_taken_apart_as_well() {
    let server = Server::start(&["--quiet", "--listen", "[::1]:0"]);
    let calm = ["--connections", "2", "--remotes", "local:2", "--foreign-limit", "100%"];
    for words in [&[][..], &calm] {
        let result = result(&server.address, &[&["--count", "200"], words].concat());
        largest(&result, 200);
        assert_eq!(result["round_trip"]["server_told"], true, "{words:?}");
    }
}

#[test]
fn of_a_foreign_server_what_is_not_the_client_is_one_part() {
    let server = Server::start(&["--quiet", "--echo-only"]);
    let result = result(&server.address, &["--count", "200"]);
    largest(&result, 200);
    let kinds: Vec<String> = parts(&result).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["sending", "away", "waking"]);
    assert_eq!(result["round_trip"]["server_told"], false);
}

#[test]
fn every_server_of_ours_tells_its_half() {
    let words = ["lock", "serve", "--quiet", "--listen", "127.0.0.1:0"];
    let locks = Program::start(&words, Path::new("."));
    let line = locks.line();
    let address = line.strip_prefix("listening on ").expect("an address");
    let pages = Server::of_pages(&[]);
    let page = format!("http://{}{PAGE}", pages.address);
    let other = format!("http://{}{OTHER_PAGE}", pages.address);
    let flows = folder();
    fs::create_dir(flows.path().join("flows")).expect("it can be written");
    fs::write(flows.path().join("flows/echo.toml"), ECHO).expect("it can be written");
    let words = ["flow", "serve", "flows", "--listen", "127.0.0.1:0"];
    let runtime = Server::ready(Program::start(&words, flows.path()));
    let messages = format!("http://{}", runtime.address);
    for words in [
        &["lock", "load", "pairs", address][..],
        &["http", "ping", &page, NO_LOG_ON],
        &["http", "ping", &page, &other, NO_LOG_ON, "--connections", "4"],
        &["flow", "load", &messages, "--transaction=echo"],
    ] {
        let result = taken_apart(words);
        largest(&result, 200);
        assert_eq!(result["round_trip"]["server_told"], true, "{words:?} {result:#}");
    }
}

#[test]
fn of_a_foreign_server_of_pages_what_its_answers_say_is_its_own() {
    let silent = ReplyServer::always(Reply::page("hello"));
    let says = "Server-Timing: app;dur=0.003, total;dur=0.004\r\n";
    let saying = ReplyServer::always(Reply::answer(200, says, "hello"));
    let closing = Server::of_pages(&[]);
    let page = format!("http://{}{PAGE}", closing.address);
    for (words, kinds) in [
        (&[&*silent.url("/")][..], &["sending", "away", "waking"][..]),
        (&[&saying.url("/")], &["sending", "away", "server", "waking"]),
        // who ends connections hears nothing later
        (&[&page, NO_LOG_ON, "--close"], &["sending", "away", "server", "waking"]),
    ] {
        let result = taken_apart(&[&["http", "ping"], words].concat());
        largest(&result, 200);
        let found: Vec<String> = parts(&result).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(found, kinds, "{words:?}");
        assert_eq!(result["round_trip"]["server_told"], false);
    }
    let heads = silent.asked();
    assert!(heads.iter().any(|head| head.contains("plumb-stamp: 0")), "it is asked");
}

#[test]
fn what_a_line_takes_is_wire_and_what_a_server_computes_is_work() {
    let far = Server::start(&["--quiet"]);
    let line = Server::of_delay(&far.address, &["--delay", "20ms"]);
    let (kind, ns) = largest(&result(&line.address, &["--count", "20"]), 20);
    assert!(kind == "wire" && ns >= 40 * MS, "{kind} {ns}");
    let slow = Server::start(&["--quiet", "--service-time", "20ms"]);
    let (kind, ns) = largest(&result(&slow.address, &["--count", "20"]), 20);
    assert!(kind == "server" && ns >= 20 * MS, "{kind} {ns}");
}

#[test]
fn between_two_namespaces_the_parts_are_the_whole_as_well() {
    let Some([here, there]) = allowed(Namespace::pair()) else { return };
    let folder = folder();
    let any = format!("{}:0", ENDS[1]);
    let echo = there.start(&["net", "serve", "--quiet", "--listen", &any], folder.path());
    let line = echo.line();
    let address = line.strip_prefix("listening on ").expect("an address");
    let words = [&["net", "ping", address, "--count", "400", "--out", "run"], EVERY].concat();
    here.start(&words, folder.path()).wait().with(0);
    let record = record(&folder.path().join("run"));
    largest(&record["results"][0], 400);
    assert_eq!(record["results"][0]["round_trip"]["server_told"], true);
}

#[test]
fn nothing_is_stamped_unless_asked_for_and_what_has_no_packets_is_refused() {
    let server = Server::start(&["--quiet"]);
    let own = folder();
    ping(&server.address, &["--count", "50", "--lag", "50s"], own.path()).with(0);
    assert!(record(&only_run(own.path()))["results"][0].get("round_trip").is_none());
    for (words, why) in [
        (&["--tls"][..], "no message of TLS can be found in packets"),
        (&["--depth", "2"], "one message at a time"),
        (&["--transport", "unix:/tmp/none"], "a socket file has no packets"),
    ] {
        let folder = folder();
        let ended = ping(&server.address, &[&["--timestamps"], words].concat(), folder.path());
        let refused = ended.with(2);
        assert!(refused.stderr.contains(why), "{refused:?}");
        assert!(kit::names_in(Path::new(folder.path())).is_empty(), "it left something behind");
    }
    for (kind, why) in [
        ("udp", "datagrams are not taken apart"),
        ("unix", "a socket file has no packets"),
        ("smc", "memory that is shared has no packets"),
    ] {
        let address = format!("{kind}:{}", server.address);
        let refused = ping(&address, &["--timestamps"], own.path()).with(2);
        assert!(refused.stderr.contains(why), "{address}: {refused:?}");
    }
}
