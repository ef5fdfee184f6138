//! Where the time of a step went, of a server whose times are set: no part is shorter than what was
//! set, and together they are the whole.

#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use kit::Server;
use kit::scenario::{field, part, played};
use serde_json::Value;

const MS: i64 = 1_000_000;

/// The mean of a part of an account, nanoseconds; 0 where it has none of this kind.
fn mean_ns(account: &Value, kind: &str) -> i64 {
    let parts = account["parts"].as_array().expect("parts");
    let found = parts.iter().find(|part| part["kind"] == kind);
    found.map_or(0, |part| part["time"]["mean_ns"].as_i64().expect("a mean"))
}

/// The attribution of step `name`, whose accounts have parts that are the whole.
fn accounted<'a>(record: &'a Value, name: &str) -> &'a Value {
    let attribution = &part(record, name)["attribution"];
    assert_eq!(attribution["cannot_be_split"], Value::Null, "{attribution:#}");
    let accounts = attribution["percentiles"].as_array().into_iter().flatten();
    for account in accounts.chain([attribution]) {
        let whole_ns = account["client"]["mean_ns"].as_i64().expect("a mean");
        let parts = account["parts"].as_array().expect("parts");
        let mean = |part: &Value| part["time"]["mean_ns"].as_i64().expect("a mean");
        let sum_ns: i64 = parts.iter().map(mean).sum();
        // each mean is rounded to a nanosecond
        assert!((sum_ns - whole_ns).abs() <= 20, "{sum_ns} of {whole_ns}: {account:#}");
        assert!(parts.iter().all(|part| mean(part) >= 0), "{account:#}");
        assert_eq!(parts.last().expect("the rest")["kind"], "rest");
    }
    for example in attribution["examples"].as_array().into_iter().flatten() {
        let whole_ns = example["whole_ns"].as_i64().expect("a time");
        let parts = example["parts"].as_array().expect("parts");
        let end = |part: &Value| Some(part["from_ns"].as_i64()? + part["ns"].as_i64()?);
        let ends: Vec<i64> = parts.iter().filter_map(end).collect();
        assert!(ends.is_sorted() && ends.last() == Some(&whole_ns), "{example:#}");
    }
    attribution
}

fn at_least(attribution: &Value, kind: &str, ms: i64) {
    let found = mean_ns(attribution, kind);
    // servers tell whole microseconds
    assert!(found >= ms * MS - 1_000, "{kind} took {found} ns, {ms} ms were set: {attribution:#}");
}

#[test]
fn no_part_is_shorter_than_what_was_set() {
    let locks = Server::of_locks();
    let far_locks = Server::of_delay(&locks.address, &["--delay-back", "9ms"]);
    let (_folder, pages) = Server::configured(&format!(
        "[dispatcher]\nwork-processes = 1\n[programs]\nload-wait = \"6ms\"\nbuffer-size = \"1KiB\"\n\
         [step]\ndatabase-wait = \"4ms\"\n[locks]\nserver = \"{}\"\n",
        far_locks.address
    ));
    let way = Server::of_delay(&pages.address, &["--rate-back", "20Mbit"]);
    let record = played(
        &format!(
            r#"
base = "http://{}"
[[scenario]]
name = "clerk"
users = 3
iterations = 10
[[scenario.step]]
name = "catalog"
get = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/catalog/page001.htm"
[[scenario.step]]
name = "order"
path = "/sap/bc/sd/orders"
headers = {{ Content-Type = "application/json" }}
body = '{{"customer": "C-1", "items": [{{"material": "M-01", "quantity": 1}}]}}'
check = {{ status = "201,423" }}
[[scenario.step]]
name = "flights"
get = "/rest/flights"
"#,
            way.address
        ),
        &["--foreign-limit", "100%"],
        0,
    );
    let catalog = accounted(&record, "catalog");
    at_least(catalog, "program", 6);
    at_least(catalog, "database", 4);
    // three users and one work process: whoever comes second waits for a step of somebody else
    assert!(mean_ns(catalog, "work-process") > 0, "{catalog:#}");
    at_least(accounted(&record, "order"), "lock", 9);
    let flights = accounted(&record, "flights");
    // 100 kB at 20 Mbit/s are 40 ms: what is not transfer by then is the way before the first byte
    let way_ns = mean_ns(flights, "transfer") + mean_ns(flights, "rest");
    assert!(way_ns >= 38 * MS, "{flights:#}");
    assert_eq!(field(flights, "/percentiles/0/percentile"), 50);
    for server in [way, pages, far_locks, locks] {
        server.kill();
    }
}

#[test]
fn what_a_back_end_tells_stands_below_the_call_of_it() {
    let wait = "[step]\ndatabase-wait = \"7ms\"\n";
    let (_back_folder, back) = Server::configured(wait);
    let backend = format!("[backend]\nurl = \"http://{}\"\ntimeout = \"20s\"\n", back.address);
    let (_folder, front) = Server::configured(&backend);
    let record = played(
        &format!(
            "base = \"http://{}\"\n[[scenario]]\nname = \"clerk\"\nusers = 1\niterations = 20\n\
             [[scenario.step]]\nname = \"flight\"\nget = \"/rest/flights/AA/0017/2011-06-01\"\n",
            front.address
        ),
        &["--foreign-limit", "100%"],
        0,
    );
    let told = &part(&record, "flight")["told_ns"];
    let mean =
        |name: &str| told[name]["mean"].as_i64().unwrap_or_else(|| panic!("{name}: {told:#}"));
    assert!(mean("backend.database") >= 7 * MS - 1_000, "{told:#}");
    assert!(mean("backend") >= mean("backend.database"), "{told:#}");
    let flight = accounted(&record, "flight");
    // the front has a database of its own, whose time is not that of the back end
    at_least(flight, "database", 7);
    // of the call only what the back end does not tell is its own
    assert!(mean_ns(flight, "called") <= mean("backend") - mean("backend.database"), "{flight:#}");
    for server in [front, back] {
        server.kill();
    }
}
