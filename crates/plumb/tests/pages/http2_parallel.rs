//! Requests that a user of a scenario makes at the same time over HTTP/2: streams of one connection to
//! each server, whatever a server does with them.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::sync::Mutex;

use kit::authority::TestAuthority;
use kit::http::Nginx;
use kit::http2::{AskedStream, Http2Server, Nghttpd, goaway, page};
use kit::not_tried;
use kit::scenario::{play_in, scenario};
use serde_json::{Value, json};

/// A user who asks for a page and then for its parts at the same time, at these addresses, `times`.
fn parts(base: &str, others: &[&str], times: usize, addresses: &[String]) -> String {
    let mut text = format!(
        "base = \"{base}\"\nhosts = {}\n[[scenario]]\nname = \"a\"\niterations = {times}\n\
         [[scenario.step]]\nget = \"/page\"\n[[scenario.step]]\nparallel = \"parts\"\n",
        json!(others)
    );
    for address in addresses {
        text += &format!("[[scenario.step.step]]\nget = \"{address}\"\n");
    }
    text
}

fn own(count: usize) -> Vec<String> {
    (0..count).map(|part| format!("/page?{part}")).collect()
}

/// The only result of playing `text` over HTTP/2.
fn played(text: &str, words: &[&str], code: i32) -> Value {
    let folder = scenario(text);
    let ended = play_in(folder.path(), &[&["--http=2", "--json"], words].concat());
    ended.with(code).json()["results"][0].clone()
}

fn base(server: &Http2Server) -> String {
    server.url().trim_end_matches('/').to_owned()
}

#[test]
fn all_parts_are_under_way_on_one_connection_a_server_and_answered_in_any_order() {
    // a page, then twenty parts, answered when all have come, the last first
    let held = Mutex::new(Vec::new());
    let site = Http2Server::start(&[], move |asked| {
        if asked.here % 21 == 0 {
            return Some(page(asked.stream, "html"));
        }
        let mut held = held.lock().expect("nobody panics with it");
        held.push(asked.stream);
        let streams: Vec<u32> =
            if held.len() == 20 { held.drain(..).rev().collect() } else { Vec::new() };
        Some(streams.into_iter().flat_map(|stream| page(stream, "part")).collect())
    });
    let other = Http2Server::start(&[], |asked| Some(page(asked.stream, "other")));
    let (site, other) = (base(&site), base(&other));
    let mut addresses = own(20);
    addresses.extend((0..3).map(|part| format!("{other}/{part}")));
    let result = played(&parts(&site, &[&other], 2, &addresses), &[], 0);
    assert_eq!((&result["operations"], &result["failures"]), (&json!(2 * 24), &json!({})));
    let http2 = &result["http2"];
    assert_eq!((&http2["connections"], &http2["streams_at_once"]), (&json!(2), &json!(20)));
    let group = &result["groups"][0];
    assert_eq!((&group["name"], &group["operations"]), (&json!("parts"), &json!(2)));
    // as long as the last part, not as all of them one after another
    let most = |row: &Value| row["service_ns"]["max"].as_u64().expect("a time");
    let rows = result["parts"].as_array().expect("parts");
    assert!(Some(most(group)) >= rows[1..].iter().map(most).max());
}

#[test]
fn no_more_streams_are_begun_than_the_server_allows() {
    let server = Http2Server::start(&[(3, 4)], |asked| Some(page(asked.stream, "x")));
    let result = played(&parts(&base(&server), &[], 3, &own(11)), &[], 0);
    assert_eq!((&result["operations"], &result["failures"]), (&json!(3 * 12), &json!({})));
    let http2 = &result["http2"];
    assert_eq!((&http2["connections"], &http2["streams_at_once"]), (&json!(1), &json!(4)));
}

/// The fifth request of a connection is its last; what comes behind it is passed over.
fn leaves(asked: AskedStream) -> Option<Vec<u8>> {
    match asked.here {
        0..4 => Some(page(asked.stream, "x")),
        4 => Some([goaway(asked.stream, 0), page(asked.stream, "x")].concat()),
        _ => Some(Vec::new()),
    }
}

#[test]
fn parts_that_a_server_had_not_begun_with_when_it_left_are_asked_again() {
    let (site, other) = (Http2Server::start(&[], leaves), Http2Server::start(&[], leaves));
    let (site, other) = (base(&site), base(&other));
    let mut addresses = own(8);
    addresses.extend((0..8).map(|part| format!("{other}/{part}")));
    let result = played(&parts(&site, &[&other], 3, &addresses), &[], 0);
    assert_eq!((&result["operations"], &result["failures"]), (&json!(3 * 17), &json!({})));
    let http2 = &result["http2"];
    let again = http2["sent_again"].as_u64().expect("a number");
    assert!(again > 0, "{http2}");
    assert_eq!(http2["streams"], 3 * 17 + again);
}

#[test]
fn a_connection_that_ends_within_a_page_fails_its_parts_and_the_user_goes_on() {
    for others in [false, true] {
        let site = Http2Server::start(&[], move |asked| match asked.number {
            7 if !others => None,
            _ => Some(page(asked.stream, "x")),
        });
        let other = Http2Server::start(&[], |asked| match asked.number {
            3 => None,
            _ => Some(page(asked.stream, "x")),
        });
        let (site, other) = (base(&site), base(&other));
        let mut addresses = own(5);
        if others {
            addresses.extend((0..5).map(|part| format!("{other}/{part}")));
        }
        let result = played(&parts(&site, &[&other], 4, &addresses), &[], 1);
        // a server that closes without reading on resets the connection
        let kinds = result["failures"].as_object().expect("some failed");
        assert!(kinds.keys().all(|kind| kind == "closed" || kind == "reset"), "{kinds:?}");
        let failures: u64 = kinds.values().filter_map(Value::as_u64).sum();
        assert!((1..=5).contains(&failures), "{kinds:?}");
        let all = 4 * (1 + addresses.len() as u64);
        assert_eq!(result["operations"].as_u64().map(|it| it + failures), Some(all));
        let pages = result["groups"][0]["failures"].as_object().expect("one failed");
        assert_eq!(pages.values().filter_map(Value::as_u64).sum::<u64>(), 1);
    }
}

#[test]
fn a_part_that_is_late_is_given_up_alone() {
    let server = Http2Server::start(&[], |asked| match asked.number {
        3 => Some(Vec::new()),
        _ => Some(page(asked.stream, "x")),
    });
    let words = ["--timeout=300ms"];
    let result = played(&parts(&base(&server), &[], 2, &own(6)), &words, 1);
    assert_eq!(result["failures"], json!({"timed-out": 1}));
    assert_eq!(result["operations"], 2 * 7 - 1);
    assert!(result["http2"]["connections"].as_u64() <= Some(2));
}

#[test]
fn nginx_and_nghttpd_serve_pages_of_thirty_parts() {
    let place = TestAuthority::new();
    let shown = place.authority.sign("127.0.0.1");
    let ca = place.authority.ca();
    match Nginx::over_http2().and_then(|plain| Ok([plain, Nginx::encrypted_for_both(&shown)?])) {
        Err(reason) => not_tried(reason),
        Ok(both) => {
            for (nginx, trust) in both.iter().zip([&[][..], &["--ca", &ca]]) {
                let addresses: Vec<String> = (0..30)
                    .map(|part| format!("/{}?{part}", if part < 3 { "100k" } else { "1k" }))
                    .collect();
                let text = parts(&nginx.url(""), &[], 35, &addresses);
                // it takes a thousand requests on a connection, then leaves
                let result = played(&text.replace("/page", "/1k"), trust, 0);
                assert_eq!(result["operations"], 1_085, "{}", result["failures"]);
                let http2 = &result["http2"];
                assert_eq!(http2["streams_at_once"], 30);
                assert!(http2["connections"].as_u64() <= Some(3), "{http2}");
            }
        }
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("page"), vec![b'x'; 30_000]).expect("a file");
    match Nghttpd::start(folder.path()) {
        Err(reason) => not_tried(reason),
        Ok(server) => {
            let result = played(&parts(&server.url(""), &[], 20, &own(30)), &[], 0);
            assert_eq!(result["operations"], 620, "{}", result["failures"]);
            assert_eq!(result["http2"]["connections"], 1);
        }
    }
}
