//! The front of the application server end to end: connections, limits, sessions, the cache.

use crate::kit;

use kit::Server;
use kit::namespace::{ENDS, Namespace, allowed};
use kit::web::{DEMO, Web};
use serde_json::json;

use crate::app::{PAGE, status, until};

#[test]
fn the_cache_of_the_front_answers_without_a_work_process() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let image = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/sap/it03/image4kb.gif";
    web.ask("GET", image, &[], b"").with(200);
    let steps = status(&server)["steps"]["count"].clone();
    let hit = web.ask("GET", image, &[], b"").with(200);
    assert_eq!(hit.header("server-timing"), "cache;desc=\"hit\"");
    assert_eq!(hit.body.len(), 4096);
    let tag = hit.header("etag").to_owned();
    let known = [tag.clone(), format!("W/{tag}"), format!("\"a,b\", W/{tag}, \"c\""), "*".into()];
    for known in &known {
        let path = "/sap/bc/bsp/sap/it03/image4kb.gif";
        let same = web.ask("GET", path, &[("If-None-Match", known)], b"");
        assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, &*tag), "{known}");
    }
    let other = web.ask("GET", image, &[("If-None-Match", "W/\"a\", \"b\"")], b"").with(200);
    assert_eq!(other.body.len(), 4096);
    let after = status(&server);
    assert_eq!(after["steps"]["count"], steps);
    assert_eq!((&after["cache"]["hits"], &after["cache"]["misses"]), (&json!(6), &json!(1)));
}

#[test]
fn a_connection_too_many_is_told_so_and_counted() {
    let (_folder, server) = Server::configured("[front]\nconnections = 2\n");
    let (mut first, mut second) = (server.web(), server.web());
    first.get(PAGE).with(200);
    second.get(PAGE).with(200);
    let mut third = server.web();
    let refused = third.get(PAGE).with(503);
    assert!(refused.text().contains("front.connections"), "{}", refused.text());
    assert!(third.answer().is_none());
    let seen = first.get("/status.json").json()["connections"].clone();
    assert_eq!(
        (&seen["open"], &seen["open_max"], &seen["refused"]),
        (&json!(2), &json!(2), &json!(1))
    );
}

#[test]
fn an_administrator_gets_in_when_idle_connections_hold_every_place() {
    let (_folder, server) = Server::configured("[front]\nconnections = 5\n");
    let idle: Vec<Web> = (0..100).map(|_| server.web()).collect();
    for path in ["/status", "/status.json", "/metrics"] {
        server.web().ask("GET", path, &[], b"").with(200);
        server.web().get(PAGE).with(503);
    }
    let seen = status(&server)["connections"].clone();
    assert_eq!((&seen["open"], &seen["open_max"]), (&json!(5), &json!(5)));
    drop(idle);
}

#[test]
fn whoever_comes_from_elsewhere_logs_on_to_see_the_status() {
    let Some([here, there]) = allowed(Namespace::pair()) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("app.toml"), "[users]\nanna = \"secret\"\n")
        .expect("it can be written");
    let address = format!("{}:0", ENDS[0]);
    let words = ["app", "serve", "app.toml", "--listen", &address, "--listen", "127.0.0.1:0"];
    let server = Server::ready(here.start(&words, folder.path()));
    let local = server.also();
    let code = |from: &Namespace, address: &str, more: &[&str]| {
        let url = format!("http://{address}/metrics");
        let words = [&["-s", "-o", "/dev/null", "-w", "%{http_code}", &url], more].concat();
        from.start_as("curl", &words, folder.path()).wait().with(0).stdout
    };
    assert_eq!(code(&there, &server.address, &[]), "401");
    assert_eq!(code(&there, &server.address, &["-u", "anna:wrong"]), "401");
    assert_eq!(code(&there, &server.address, &["-u", "anna:secret"]), "200");
    assert_eq!(
        code(&here, &server.address, &[]),
        "401",
        "an address of the network is no loopback"
    );
    assert_eq!(code(&here, &local, &[]), "200");
}

#[test]
fn a_request_says_once_whom_it_is_for() {
    let server = Server::of_pages(&[]);
    for (hosts, status) in [
        ("Host: erp:8000\r\n", 200),
        ("", 400),
        ("Host: erp\r\nHost: erp\r\n", 400),
        ("Host: a/b\r\n", 400),
        ("Host: \r\n", 400),
    ] {
        let mut web = server.web();
        web.raw(format!("GET /status HTTP/1.1\r\n{hosts}\r\n").as_bytes());
        let answer = web.answer().expect("an answer").with(status);
        assert!(status == 200 || answer.text().contains("the header Host"), "{}", answer.text());
    }
    let mut old = server.web();
    old.raw(b"GET /status HTTP/1.0\r\n\r\n");
    old.answer().expect("an answer").with(200);
}

#[test]
fn as_many_sessions_as_may_are_open_and_no_more() {
    let (_folder, server) = Server::configured("[sessions]\nmax = 2\n");
    let mut web = server.web();
    for _ in 0..2 {
        let first = web.get("/sap/bc/bsp/it03/text1kb.htm").with(302);
        let cookie = first.header("set-cookie").split(';').next().expect("a cookie").to_owned();
        web.ask("GET", PAGE, &[("Cookie", &cookie)], b"").with(200);
    }
    let refused = web.get("/sap/bc/bsp/it03/text1kb.htm").with(503);
    assert!(refused.text().contains("sessions.max"), "{}", refused.text());
    assert_eq!(status(&server)["sessions"]["refused"], 1);
}

#[test]
fn redirects_that_nobody_follows_lock_nobody_out() {
    let (_folder, server) = Server::configured("[sessions]\nmax = 20\n");
    let mut web = server.web();
    let cookie = |web: &mut Web| {
        let first = web.get("/sap/bc/bsp/it03/text1kb.htm").with(302);
        first.header("set-cookie").split(';').next().expect("a cookie").to_owned()
    };
    let mine = cookie(&mut web);
    web.ask("GET", PAGE, &[("Cookie", &mine)], b"").with(200);
    for _ in 0..100 {
        cookie(&mut web);
    }
    web.ask("GET", PAGE, &[("Cookie", &mine)], b"").with(200);
    let other = cookie(&mut web);
    web.ask("GET", PAGE, &[("Cookie", &other)], b"").with(200);
    let seen = status(&server)["sessions"].clone();
    assert_eq!((&seen["open"], &seen["refused"]), (&json!(20), &json!(0)));
}

#[test]
fn what_is_too_large_or_no_http_is_refused_and_counted() {
    let config = "[front]\nheader-size = \"8KiB\"\nbody-size = \"1KiB\"\n";
    let (_folder, server) = Server::configured(config);
    let long = "x".repeat(10_000);
    let mut web = server.web();
    web.send("GET", PAGE, &[DEMO, ("X-Long", &long)], b"");
    assert_eq!(web.answer().expect("an answer").status, 431);
    server.web().ask("POST", "/sap/bc/sd/orders", &[DEMO], &[b'x'; 2000]).with(413);
    let mut web = server.web();
    web.raw(b"\x16\x03\x01\x02\0garbage\r\n\r\n");
    assert_eq!(web.answer().map(|answer| answer.status), Some(400));
    let seen = status(&server)["connections"].clone();
    assert_eq!((&seen["oversized"], &seen["malformed"]), (&json!(2), &json!(1)));
}

#[test]
fn a_client_that_does_not_go_on_is_closed_and_counted() {
    let config = "[front]\nkeep-alive = \"100ms\"\nstall = \"100ms\"\n";
    let (_folder, server) = Server::configured(config);
    let mut slow = server.web();
    slow.raw(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    while slow.answer().is_some() {}
    let mut slow = server.web();
    slow.raw(b"POST /sap/bc/sd/orders HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    assert_eq!(slow.answer().expect("an answer").status, 408);
    assert_eq!(status(&server)["connections"]["slow"], 2);
    let mut idle = server.web();
    idle.get(PAGE).with(200);
    let silent = server.web();
    until(&server, "/connections/open", 1); // the one that asks
    let seen = status(&server)["connections"].clone();
    assert_eq!(seen["slow"], 2, "{seen:#}");
    assert!(seen["idle"].as_u64() >= Some(2), "{seen:#}");
    assert!(idle.answer().is_none());
    drop(silent);
}
