//! Round trips taken apart by time stamps of the kernel, between real programs. Times are only compared
//! with what they cannot be below, and parts with each other.

use crate::kit;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kit::http::{Reply, ReplyServer};
use kit::namespace::{ENDS, Namespace, allowed};
use kit::{Program, Server, only_run, ping, plumb, record};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// Every message.
const EVERY: &[&str] = &["--timestamps=1", "--lag", "50s", "--timeout", "30s", "--warmup", "100ms"];
const MS: i64 = 1_000_000;

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// The only result of a run of `net ping` against `address`.
fn result(address: &str, words: &[&str]) -> Value {
    let folder = folder();
    ping(address, &[EVERY, words].concat(), folder.path()).with(0);
    record(&only_run(folder.path()))["results"][0].clone()
}

/// A measurement that goes on beside those of the tests: the kernel stamps what comes in as long as
/// anybody asks for it, and begins with that when it gets round to it, on a busy machine long after it
/// was asked.
struct Stamping(
    #[expect(dead_code, reason = "held while it is wanted")] Mutex<(Program, Server, TempDir)>,
);

impl Stamping {
    /// The one that all tests share, once what comes in is stamped.
    fn in_force() -> Arc<Self> {
        static SHARED: Mutex<Weak<Stamping>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let begun = Arc::new(Self::begin());
            *shared = Arc::downgrade(&begun);
            begun
        })
    }

    fn begin() -> Self {
        const TRIES: usize = 200;
        let (server, folder) = (Server::start(&["--quiet"]), folder());
        let words = ["net", "ping", &server.address, "--delay", "20ms", "--for", "10m"];
        let measures = Program::start(&[&words, EVERY].concat(), folder.path());
        let stamped = (0..TRIES).any(|_| {
            let trip = &result(&server.address, &["--count", "10"])["round_trip"];
            trip["account"]["client"]["count"].as_u64() > Some(0)
        });
        assert!(stamped, "the kernel stamps nothing that comes in");
        Self(Mutex::new((measures, server, folder)))
    }
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
    let _stamping = Stamping::in_force();
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
fn of_a_foreign_server_what_is_not_the_client_is_one_part() {
    let _stamping = Stamping::in_force();
    let server = Server::start(&["--quiet", "--echo-only"]);
    let result = result(&server.address, &["--count", "200"]);
    largest(&result, 200);
    let kinds: Vec<String> = parts(&result).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["sending", "away", "waking"]);
    assert_eq!(result["round_trip"]["server_told"], false);
}

#[test]
fn a_lock_server_tells_its_half_and_a_server_of_pages_does_not() {
    let _stamping = Stamping::in_force();
    let words = ["lock", "serve", "--quiet", "--listen", "127.0.0.1:0"];
    let locks = Program::start(&words, Path::new("."));
    let line = locks.line();
    let address = line.strip_prefix("listening on ").expect("an address");
    let of = |words: &[&str]| {
        let folder = folder();
        plumb(&[words, EVERY, &["--count", "200"]].concat(), folder.path()).with(0);
        record(&only_run(folder.path()))["results"][0].clone()
    };
    let result = of(&["lock", "load", "pairs", address]);
    largest(&result, 200);
    assert_eq!(result["round_trip"]["server_told"], true, "{result:#}");

    let pages = ReplyServer::always(Reply::page("hello"));
    let result = of(&["http", "ping", &pages.url("/")]);
    largest(&result, 200);
    assert_eq!(result["round_trip"]["server_told"], false);
}

#[test]
fn what_a_line_takes_is_wire_and_what_a_server_computes_is_work() {
    let _stamping = Stamping::in_force();
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
    let _stamping = Stamping::in_force();
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
}
