//! Pages with what they embed: found when the page comes, and asked for as a browser does.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::sync::Barrier;

use kit::http::{Reply, ReplyServer};
use kit::http2::{Http2Server, page};
use kit::scenario::{field, part, play_in, played, reasons, refused_in, scenario, with_base};
use serde_json::{Value, json};

/// A user who asks for the page twice, with these `keys` of its step.
fn twice(keys: &str) -> String {
    format!(
        "[[scenario]]\nname = \"a\"\niterations = 2\n[[scenario.step]]\nname = \"home\"\n\
         get = \"/home/\"\n{keys}\n"
    )
}

fn html(body: &str) -> Reply {
    Reply::answer(200, "Content-Type: text/html; charset=utf-8\r\n", body)
}

fn group<'a>(record: &'a Value, name: &str) -> &'a Value {
    let groups = field(record, "/results/0/groups").as_array().expect("groups");
    groups.iter().find(|group| group["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn what_a_page_embeds_is_asked_for_at_the_same_time_and_counts_for_the_page() {
    let other = ReplyServer::always(Reply::page("other"));
    let name = format!("http://localhost:{}", other.address.port());
    let body = format!(
        "<link rel=stylesheet href=a.css><script src='/b.js?x&amp;y'></script><img src=c.png>\
         <img src=c.png><img src={name}/d.png><img src=http://elsewhere.example/e.png>\
         <img src=f.woff><img src=old.png><a href=/never>n</a>"
    );
    // three are answered when all three are there, each on a connection of its own
    let three = Barrier::new(3);
    let site =
        ReplyServer::start(move |head, _| match head.split(' ').nth(1).unwrap_or_default() {
            "/home/" => html(&body),
            "/home/old.png" => Reply::answer(302, "Location: /new.png\r\n", ""),
            "/new.png" => Reply::page("moved"),
            _ => {
                three.wait();
                Reply::page("part")
            }
        });
    let text = twice("resources = { matches-not = \"[.]woff$\" }\nheaders = { X-Token = \"t\" }");
    let record = played(&with_base(&site, &format!("hosts = [\"{name}\"]\n{text}")), &[], 0);
    assert_eq!(part(&record, "home")["operations"], 2, "{}", reasons(&record));
    assert_eq!(part(&record, "home (resources)")["operations"], 2 * 5);
    assert_eq!(part(&record, "home (resources) (redirect 1)")["codes"], json!({"302": 2}));
    let most = |row: &Value| row["service_ns"]["max"].as_u64().expect("a time");
    let whole = group(&record, "home (with resources)");
    assert_eq!(whole["operations"], 2);
    assert!(most(whole) >= most(part(&record, "home (resources)")), "{record:#}");
    let asked = site.asked();
    assert!(asked.iter().any(|head| head.starts_with("GET /b.js?x&y HTTP/1.1\r\n")));
    assert!(!asked.iter().any(|head| head.contains("woff") || head.contains("/never")));
    // a secret of the step stays with its server
    assert!(asked.iter().all(|head| head.contains("X-Token: t")));
    assert!(other.asked().iter().all(|head| !head.contains("X-Token")));
    let left_out = field(&record, "/results/0/scenarios/0/left_out");
    assert_eq!(*left_out, json!({"on http://elsewhere.example, which is not one of hosts": 2}));
    assert!(
        reasons(&record).contains("2 resources that pages of a embed not asked for: on http://e")
    );
}

#[test]
fn a_resource_that_fails_fails_the_page_and_a_page_that_fails_has_none() {
    let site = ReplyServer::start(|head, before| match head.split(' ').nth(1) {
        Some("/home/") if before == 0 => html("<img src=/gone.png><img src=/there.png>"),
        Some("/home/") => Reply::answer(500, "Content-Type: text/html\r\n", "<img src=/no.png>"),
        Some("/gone.png") => Reply::answer(404, "", ""),
        _ => Reply::page("part"),
    });
    let text = twice("resources = { connections = 1 }");
    let record = played(&with_base(&site, &text), &[], 1);
    let resources = part(&record, "home (resources)");
    assert_eq!(resources["operations"], 1, "{record:#}");
    assert_eq!(resources["failures"], json!({"unexpected-status": 1}));
    let whole = group(&record, "home (with resources)");
    assert_eq!(whole["failures"], json!({"unexpected-status": 2}));
    assert_eq!(field(&record, "/results/0/connect_ns/count"), 1, "one connection, kept");
    assert!(!site.asked().iter().any(|head| head.contains("/no.png")));
}

#[test]
fn over_http2_resources_are_streams_of_one_connection() {
    let site = Http2Server::start(&[], |asked| {
        Some(match asked.here % 11 {
            0 => {
                let body: String = (0..10).map(|n| format!("<img src=/{n}.png>")).collect();
                kit::http2::html(asked.stream, &body)
            }
            _ => page(asked.stream, "part"),
        })
    });
    let base = site.url();
    let text = format!("base = \"{}\"\n{}", base.trim_end_matches('/'), twice("resources = true"));
    let folder = scenario(&text);
    let ended = play_in(folder.path(), &["--http=2", "--json"]);
    let result = &ended.with(0).json()["results"][0];
    assert_eq!((&result["operations"], &result["failures"]), (&json!(22), &json!({})));
    assert_eq!(result["http2"]["connections"], 1);
    assert_eq!(result["http2"]["streams_at_once"], 10);
}

#[test]
fn resources_that_cannot_be_are_refused_with_their_place() {
    let site = ReplyServer::always(Reply::page("hello"));
    for (keys, why) in [
        ("resources = false", "true, or { matches"),
        ("resources = { connections = 9 }", "connections = 1 to 6"),
        ("resources = { matches = \"(\" }", "resources: the regular expression `(`"),
        ("resources = { match = \"x\" }", "matches"),
    ] {
        refused_in(scenario(&with_base(&site, &twice(keys))).path(), &[], why);
    }
    let inner = "[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\nparallel = \"p\"\n\
                 [[scenario.step.step]]\nget = \"/\"\nresources = true\n";
    refused_in(scenario(&with_base(&site, inner)).path(), &[], "think times and resources");
    let group = "[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\ngroup = \"p\"\n\
                 resources = true\n[[scenario.step.step]]\nget = \"/\"\n";
    refused_in(scenario(&with_base(&site, group)).path(), &[], "`resources` does not belong");
    let folder = scenario(&with_base(&site, &twice("resources = true")));
    let shown = play_in(folder.path(), &["--dry-run"]).with(0);
    assert!(
        shown.stdout.contains("home: GET /home/, and what the page embeds"),
        "{}",
        shown.stdout
    );
}
