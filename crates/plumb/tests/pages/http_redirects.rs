//! Redirects that users of scenarios follow, between several hosts, and what is refused.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::Path;

use kit::http::{Reply, ReplyServer};
use kit::identity::{LogOn, PASSWORD, USER};
use kit::peer::nobody;
use kit::read;
use kit::scenario::{field, part, play_in, played, reasons, refused_in, scenario, with_base};
use serde_json::{Value, json};

/// One user who asks for `/start` once, with these keys of the step.
fn once(keys: &str) -> String {
    format!(
        "[[scenario]]\nname = \"a\"\niterations = 1\n\
         [[scenario.step]]\nname = \"start\"\nget = \"/start\"\n{keys}\n"
    )
}

/// The same with `site` as its server and `host` as another.
fn between(site: &ReplyServer, host: &str, text: &str) -> String {
    with_base(site, &format!("hosts = [\"{host}\"]\n{text}"))
}

fn moved(status: u16, location: &str) -> Reply {
    Reply::answer(status, &format!("Location: {location}\r\n"), "moved")
}

fn names(record: &Value, rows: &str) -> Vec<String> {
    let rows = field(record, "/results/0").get(rows).and_then(Value::as_array);
    let name = |row: &Value| row["name"].as_str().unwrap_or_default().to_owned();
    rows.map(|rows| rows.iter().map(name).collect()).unwrap_or_default()
}

#[test]
fn each_redirect_has_a_row_and_the_step_is_its_last_answer() {
    let site = ReplyServer::start(|head, _| match head.split(' ').nth(1) {
        Some("/start") => moved(302, "one/two"),
        Some("/one/two") => moved(301, "../three?x=y"),
        Some("/three?x=y") => Reply::page("hello"),
        _ => Reply::answer(404, "", "no"),
    });
    let text = once("check = { contains = [\"hello\"] }").replace("= 1\n", "= 3\n");
    let record = played(&with_base(&site, &text), &[], 0);
    assert_eq!(names(&record, "parts"), ["start", "start (redirect 1)", "start (redirect 2)"]);
    assert_eq!(part(&record, "start")["codes"], json!({"200": 3}));
    assert_eq!(part(&record, "start (redirect 1)")["codes"], json!({"302": 3}));
    assert_eq!(part(&record, "start (redirect 2)")["codes"], json!({"301": 3}));
    assert_eq!(field(&record, "/results/0/operations"), 9, "each is a request");
    assert_eq!(names(&record, "groups"), ["start (with redirects)"]);
    let whole = field(&record, "/results/0/groups/0");
    assert_eq!(whole["operations"], 3);
    // the step with its redirects is as long as all of them
    let mean = |row: &Value| row["service_ns"]["mean"].as_f64().expect("a mean");
    let sum: f64 =
        field(&record, "/results/0/parts").as_array().expect("rows").iter().map(mean).sum();
    assert!((mean(whole) - sum).abs() <= 3.0, "{} {sum}", mean(whole));
}

#[test]
fn methods_and_bodies_change_as_browsers_change_them() {
    for (status, expected) in
        [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")]
    {
        let site = ReplyServer::reading(move |request, _| {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            let typed = request.head.contains("Content-Type: text/plain");
            match request.head.split(' ').nth(1) {
                Some("/start") if body == "b=1" && typed => moved(status, "/end"),
                _ => Reply::page(&format!(
                    "{} {body} {typed}",
                    request.head.split(' ').next().unwrap_or("")
                )),
            }
        });
        let content = if expected == "POST" { "POST b=1 true" } else { "GET  false" };
        let keys = format!(
            "body = \"b=1\"\nheaders = {{ Content-Type = \"text/plain\" }}\n\
             check = {{ contains = [\"{content}\"] }}"
        );
        let text = once(&keys).replace("get = ", "path = ");
        played(&with_base(&site, &text), &[], 0);
    }
}

#[test]
fn what_is_expected_or_switched_off_is_not_followed() {
    let site = ReplyServer::start(|_, _| moved(302, "/next?token=abc"));
    for (keys, code) in [
        ("check = { status = \"302\" }", 0),
        ("extract = [{ name = \"to\", header = \"Location\" }]", 0),
        ("redirects = false", 1),
        ("redirects = 0", 1),
    ] {
        let record = played(&with_base(&site, &once(keys)), &[], code);
        assert_eq!(names(&record, "parts"), ["start"], "{keys}");
        assert_eq!(part(&record, "start")["codes"], json!({"302": 1}));
        if code == 1 {
            let said = reasons(&record);
            assert!(said.contains("leads to /next?token=MASKED, which is not followed"), "{said}");
        }
    }
    for place in ["", "[[scenario]]\nname = \"a\"\n"] {
        let text = once("").replacen(
            "[[scenario]]\nname = \"a\"\n",
            &format!("{place}redirects = false\n"),
            1,
        );
        let text = if place.is_empty() { format!("redirects = false\n{}", once("")) } else { text };
        played(&with_base(&site, &text), &[], 1);
    }
    // a status that is no redirect stays one that nobody expects
    let unchanged = ReplyServer::always(Reply::answer(304, "Location: /x\r\n", ""));
    let record = played(&with_base(&unchanged, &once("")), &[], 1);
    assert_eq!(part(&record, "start")["failures"], json!({"unexpected-status": 1}));
}

#[test]
fn loops_and_long_chains_end_and_are_named() {
    let circle = ReplyServer::start(|head, _| match head.split(' ').nth(1) {
        Some("/start") => moved(302, "/a"),
        Some("/a") => moved(302, "/b"),
        _ => moved(302, "/a"),
    });
    let record = played(&with_base(&circle, &once("")), &[], 1);
    let said = reasons(&record);
    assert!(said.contains("start (line 7): more than 10 redirects, in a circle: "), "{said}");
    assert!(said.contains("/b -> ") && said.contains("/a"), "{said}");
    assert_eq!(circle.asked().len(), 11);
    assert_eq!(part(&record, "start")["failures"], json!({"unexpected-status": 1}));
    assert_eq!(part(&record, "start (redirect 5 and later)")["operations"], 6);
    let long = ReplyServer::start(|_, before| moved(302, &format!("/{before}")));
    let record = played(&with_base(&long, &once("redirects = 3")), &[], 1);
    assert!(reasons(&record).contains("more than 3 redirects, the last to "), "{record:#}");
    assert_eq!(long.asked().len(), 4);
}

#[test]
fn a_host_that_is_not_named_is_refused_by_name() {
    for location in ["http://other.example:81/x?code=s3cret", "//other.example:81/x?code=s3cret"] {
        let location = location.to_owned();
        let site = ReplyServer::start(move |_, _| moved(302, &location));
        let record = played(&with_base(&site, &once("")), &[], 1);
        let said = reasons(&record);
        assert!(
            said.contains("the redirect 302 leads to http://other.example:81/x?code=MASKED"),
            "{said}"
        );
        assert!(said.contains("write hosts = [\"http://other.example:81\"]"), "{said}");
        assert_eq!(part(&record, "start")["failures"], json!({"unexpected-status": 1}));
    }
    let site = ReplyServer::start(|_, _| moved(302, "ftp://x/y"));
    assert!(reasons(&played(&with_base(&site, &once("")), &[], 1)).contains("which is no address"));
    let folder = scenario(&with_base(&site, &once("").replace("/start", "https://else/x")));
    refused_in(folder.path(), &[], "write hosts = [\"https://else\"]");
    for (hosts, why) in [
        ("[\"http://h/path\"]", "has a path: a host is http://HOST:PORT alone"),
        ("[\"h\"]", "write http://HOST/PATH"),
        ("[\"http://h\", \"http://H:80\"]", "is named twice"),
    ] {
        let folder = scenario(&with_base(&site, &format!("hosts = {hosts}\n{}", once(""))));
        refused_in(folder.path(), &[], why);
        refused_in(folder.path(), &[], "s.toml, line 2, ");
    }
}

#[test]
fn a_host_has_connections_cookies_and_credentials_of_its_own() {
    let other = ReplyServer::start(|head, _| match head.split(' ').nth(1) {
        Some("/in") => {
            Reply::answer(302, "Location: /stay\r\nSet-Cookie: theirs=1; Path=/\r\n", "")
        }
        _ => Reply::page("hello"),
    });
    let name = format!("http://localhost:{}", other.address.port());
    let to = format!("{name}/in");
    let site = ReplyServer::start(move |head, _| match head.split(' ').nth(1) {
        Some("/start") => {
            Reply::answer(302, &format!("Location: {to}\r\nSet-Cookie: ours=2; Path=/\r\n"), "")
        }
        _ => Reply::page("home"),
    });
    let step = format!(
        "[[scenario.step]]\nget = \"/home\"\n[[scenario.step]]\nname = \"there\"\n\
         get = \"{name}/own\"\nheaders = {{ X-Api-Key = \"k\" }}\n"
    );
    let text = once("headers = { X-Token = \"t\" }") + &step;
    let text = text.replace("iterations = 1", "iterations = 2\nheaders = { X-Session-Id = \"s\" }");
    let record = played(&between(&site, &name, &text), &[], 0);
    assert_eq!(field(&record, "/results/0/connect_ns/count"), 2, "one to each");
    assert_eq!(field(&record, "/results/0/failures"), &json!({}));
    for head in site.asked() {
        assert!(
            head.contains("Authorization: Basic") && head.contains("X-Session-Id: s"),
            "{head}"
        );
        assert!(!head.contains("theirs"), "{head}");
    }
    for head in other.asked() {
        let forbidden = ["Authorization", "X-Session-Id", "X-Token", "ours"];
        assert!(!forbidden.iter().any(|name| head.contains(name)), "{head}");
        assert!(head.contains(&format!("Host: localhost:{}\r\n", other.address.port())), "{head}");
        assert_eq!(head.contains("X-Api-Key: k"), head.starts_with("GET /own "), "{head}");
        assert_eq!(
            head.contains("Cookie: theirs=1"),
            !head.starts_with("GET /in ") || head.contains("theirs")
        );
    }
    let stay = other.asked().into_iter().filter(|head| head.starts_with("GET /stay ")).count();
    assert_eq!((stay, site.asked().len()), (2, 4));
}

#[test]
fn a_host_that_is_gone_fails_the_step_and_the_user_goes_on() {
    let gone = nobody();
    let to = format!("http://{gone}/x");
    let site = ReplyServer::start(move |head, _| match head.starts_with("GET /start") {
        true => moved(302, &to),
        false => Reply::page("home"),
    });
    let text = once("") + "[[scenario.step]]\nname = \"home\"\nget = \"/home\"\n";
    let text = text.replace("iterations = 1", "iterations = 3");
    let record = played(&between(&site, &format!("http://{gone}"), &text), &[], 1);
    assert_eq!(part(&record, "start")["failures"], json!({"connect-refused": 3}));
    assert_eq!(part(&record, "home")["operations"], 3);
    assert_eq!(field(&record, "/results/0/failures"), &json!({"connect-refused": 3}));
    let said = reasons(&record);
    assert!(said.contains(&format!("no connection to http://{gone}: connect-refused")), "{said}");
}

/// The example with these servers and this password.
fn log_on(servers: &LogOn, password: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios/log-on.toml");
    read(&path)
        .replace("http://localhost:9000", &servers.idp_url())
        .replace("http://127.0.0.1:8000", &servers.app.url(""))
        .replace("change-me", password)
        .replace("for = \"1m\"", "")
        .replace("think = \"1s\"", "iterations = 2")
        .replace("user = \"anna\"", &format!("user = \"{USER}\""))
}

#[test]
fn users_log_on_through_an_identity_provider() {
    let servers = LogOn::start();
    let folder = scenario(&log_on(&servers, PASSWORD));
    let record = play_in(folder.path(), &["--json"]).with(0).json();
    assert_eq!(field(&record, "/results/0/failures"), &json!({}), "{}", reasons(&record));
    let all = field(&record, "/results/0/parts").as_array().expect("rows").clone();
    let count = |scenario: &str, name: &str| {
        let row = all
            .iter()
            .find(|row| row["labels"]["scenario"] == scenario && row["name"] == name)
            .unwrap_or_else(|| panic!("no {scenario} {name}: {:?}", names(&record, "parts")));
        row["operations"].as_u64().expect("a number")
    };
    for name in [
        "form of the provider",
        "form of the provider (redirect 2)",
        "log on",
        "log on (redirect 2)",
    ] {
        assert_eq!(count("openid connect", name), 2, "{name}");
    }
    assert_eq!(count("saml", "assertion (redirect 1)"), 2);
    assert_eq!((count("openid connect", "home"), count("saml", "home")), (4, 4));
    // a wrong password shows the form again, which is no way in
    let folder = scenario(&log_on(&servers, "wrong"));
    let record = play_in(folder.path(), &["--json"]).with(1).json();
    assert!(reasons(&record).contains("log on (line "), "{}", reasons(&record));
    assert_eq!(servers.app.asked().iter().filter(|head| head.contains("callback")).count(), 2);
}

#[test]
fn each_request_may_have_a_connection_of_its_own_and_names_are_looked_up_as_asked() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /start") {
        true => moved(302, "/end"),
        false => Reply::page("hello"),
    });
    let text = once("").replace("iterations = 1", "iterations = 3");
    for (key, words) in [("close = true\n", &[][..]), ("", &["--close"])] {
        let record = played(&with_base(&site, &format!("{key}{text}")), words, 0);
        assert_eq!(part(&record, "start")["operations"], 3);
        assert_eq!(field(&record, "/results/0/connect_ns/count"), 6, "one for each request");
        assert_eq!(field(&record, "/plan/options/close"), true);
    }
    assert!(site.asked().iter().all(|head| head.contains("Connection: close\r\n")));
    for how in ["once", "each", "spread"] {
        let record = played(&with_base(&site, &text), &["--resolve", how], 0);
        assert_eq!(field(&record, "/results/0/operations"), 6);
        assert_eq!(field(&record, "/plan/options/resolve"), how);
        played(&with_base(&site, &format!("resolve = \"{how}\"\n{text}")), &[], 0);
    }
    let folder = scenario(&with_base(&site, &text));
    refused_in(folder.path(), &["--resolve", "twice"], "once, each or spread");
}
