//! Answers that a server should not give: redirects that lead somewhere else, cookies for others,
//! framing that cannot be.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use kit::http::{Reply, ReplyServer};
use kit::plumb;
use kit::scenario::{field, play_in, played, reasons, scenario, with_base};
use serde_json::{Value, json};
use tempfile::tempdir;

const FOLLOWS: &str = r#"
[[scenario]]
name = "a"
iterations = 1
[[scenario.step]]
get = "/app/start/first.jsp?x=/y/z"
extract = [{ name = "next", header = "Location" }]
[[scenario.step]]
name = "next"
get = "${next}"
"#;

/// The targets that `site` was asked for.
fn targets(site: &ReplyServer) -> Vec<String> {
    let target = |head: &String| head.split(' ').nth(1).unwrap_or_default().to_owned();
    site.asked().iter().map(target).collect()
}

#[test]
fn a_relative_location_belongs_to_the_address_of_its_request() {
    for (location, expected) in [
        ("home.jsp", "/app/start/home.jsp"),
        ("../home.jsp?a=b", "/app/home.jsp?a=b"),
        ("/home.jsp", "/home.jsp"),
        ("?page=2", "/app/start/first.jsp?page=2"),
        ("./a/../b#top", "/app/start/b"),
    ] {
        let site = ReplyServer::start(move |head, _| match head.contains("first.jsp?x") {
            true => Reply::answer(302, &format!("Location: {location}\r\n"), ""),
            false => Reply::page("home"),
        });
        for cookies in ["keep", "off"] {
            let text =
                FOLLOWS.replace("iterations", &format!("cookies = \"{cookies}\"\niterations"));
            played(&with_base(&site, &text), &[], 0);
        }
        let asked = targets(&site);
        assert_eq!([&asked[1], &asked[3]], [expected; 2], "{location}");
    }
}

#[test]
fn a_ping_follows_a_relative_location_as_the_standard_says() {
    let site = ReplyServer::start(|head, _| match head.contains("/app/start/first") {
        true => Reply::answer(302, "Location: home.jsp\r\n", ""),
        false => Reply::page("home"),
    });
    let folder = tempdir().expect("a folder");
    let url = site.url("/app/start/first");
    plumb(&["http", "ping", &url, "--count", "1", "--warmup", "0s", "--lag", "10s"], folder.path())
        .with(0);
    assert_eq!(targets(&site)[1], "/app/start/home.jsp");
}

#[test]
fn a_page_that_redirects_to_itself_is_said_to() {
    let site = ReplyServer::always(Reply::answer(302, "Location: /loop\r\n", ""));
    let folder = tempdir().expect("a folder");
    let url = site.url("/loop");
    let ended = plumb(&["http", "ping", &url, "--count", "3", "--warmup", "0s"], folder.path());
    let lines = ended.with(1).stdout;
    let said = lines.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("leads to itself: a circle, which is not followed"), "{lines}");
}

#[test]
fn a_redirect_that_nobody_expects_is_a_failure_that_is_named() {
    let location = "Location: /logon?sap-client=100&token=abc\r\n";
    let site = ReplyServer::always(Reply::answer(302, location, ""));
    let text = "[[scenario]]\nname = \"a\"\niterations = 3\nredirects = false\n[[scenario.step]]\nget = \"/x\"\n";
    let record = played(&with_base(&site, text), &[], 1);
    let result = field(&record, "/results/0");
    assert_eq!(result["failures"], json!({"unexpected-status": 3}), "{result:#}");
    let said = reasons(&record);
    assert!(
        said.contains(
            "the status is 302, expected 2xx: it leads to /logon?sap-client=100&token=MASKED"
        ),
        "{said}"
    );
    for check in ["302", "3xx", "2xx,3xx"] {
        let text = format!("{text}check = {{ status = \"{check}\" }}\n");
        let record = played(&with_base(&site, &text), &[], 0);
        assert_eq!(field(&record, "/results/0/failures"), &json!({}));
    }
}

/// What became of three requests for `/`, whose answers are `bytes`, and what is said of them.
fn asked_once(reply: Reply) -> (Value, String) {
    let site = ReplyServer::always(reply);
    let text = "timeout = \"60s\"\n[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\nget = \"/\"\n";
    let record = played(&with_base(&site, text), &[], 1);
    (field(&record, "/results/0/failures").clone(), reasons(&record))
}

#[test]
fn framing_that_cannot_be_is_garbled_and_named() {
    for (head, named) in [
        (
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc",
            "a chunk announces more than 1 TiB",
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\nabc",
            "a chunk announces more than 1 TiB",
        ),
        ("Content-Length: 18446744073709551615\r\n\r\nabc", "Content-Length is more than 1 TiB"),
        ("Content-Length: 1\r\n 2\r\n\r\n", "Content-Length is not a number"),
    ] {
        // the connection stays open: whoever believes the length waits
        let bytes = format!("HTTP/1.1 200 OK\r\n{head}");
        let (failures, said) = asked_once(Reply::Keep(bytes.into_bytes()));
        assert_eq!(failures, json!({"garbled": 1}), "{head:?}: {said}");
        assert!(said.contains(named), "{said}");
    }
}

#[test]
fn cookies_for_others_and_for_tls_are_not_sent_back() {
    let cookies = "Set-Cookie: own=1; Path=/\r\nSet-Cookie: safe=2; Secure; Path=/\r\n\
                   Set-Cookie: far=3; Domain=example.org\r\nSet-Cookie: top=4; Domain=1\r\n";
    let site = ReplyServer::always(Reply::answer(200, cookies, ""));
    let folder = scenario(&with_base(
        &site,
        "[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\nget = \"/a\"\n[[scenario.step]]\nget = \"/b\"\n",
    ));
    play_in(folder.path(), &[]).with(0);
    plumb(
        &["http", "ping", &site.url("/"), "--count", "2", "--warmup", "0s", "--lag", "10s"],
        folder.path(),
    )
    .with(0);
    let sent: Vec<String> = site.asked();
    let lines: Vec<&str> = sent
        .iter()
        .flat_map(|head| head.lines().filter(|line| line.starts_with("Cookie:")))
        .collect();
    assert!(lines.len() >= 3 && lines.iter().all(|line| *line == "Cookie: own=1"), "{sent:?}");
}

#[test]
fn a_rate_of_nothing_is_refused_with_its_place() {
    let folder = scenario(
        "base = \"http://127.0.0.1:1\"\n[[scenario]]\nname = \"a\"\nrate = \"0/s\"\n[[scenario.step]]\nget = \"/\"\n",
    );
    let refused = play_in(folder.path(), &[]).with(2).stderr;
    assert!(refused.contains("s.toml, line 4") && refused.contains("0/s"), "{refused}");
}
