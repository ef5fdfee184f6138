//! What users do when a load is over, however it ended.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::Path;

use kit::http::{Reply, ReplyServer};
use kit::scenario::{field, part, play_in, played, reasons, refused_in, scenario, with_base};
use kit::{PLUMB, Program, until};
use rustix::process::Signal;
use serde_json::json;

/// A site that gives each user a session, and counts those that are open.
fn sessions() -> ReplyServer {
    ReplyServer::start(|head, before| match head.split(' ').nth(1) {
        Some("/logon") => {
            Reply::answer(200, &format!("Set-Cookie: sid={before}; Path=/\r\n"), "hello")
        }
        Some("/fail") => Reply::answer(500, "", "no"),
        _ => Reply::page("hello"),
    })
}

/// The sessions of the requests for `path`.
fn sessions_at(site: &ReplyServer, path: &str) -> Vec<String> {
    let of = |head: &String| {
        let line = head.lines().find(|line| line.starts_with("Cookie: "))?;
        Some(line["Cookie: ".len()..].to_owned())
    };
    let heads = site.asked().into_iter().filter(|head| head.contains(&format!(" {path} ")));
    let mut all: Vec<String> = heads.filter_map(|head| of(&head)).collect();
    all.sort();
    all
}

const USERS: &str = r#"
[[prepare]]
get = "/prepare"
extract = [{ name = "run", regex = "hel+o" }]
[[finish]]
name = "end"
get = "/end/${run}"
[[scenario]]
name = "a"
users = 3
[[scenario.login]]
get = "/logon"
[[scenario.step]]
name = "page"
get = "/page"
[[scenario.finish]]
name = "log off"
get = "/logoff"
"#;

#[test]
fn users_log_off_when_the_load_is_over_and_the_load_does_once() {
    let site = sessions();
    let text = USERS.replace("users = 3", "users = 3\niterations = 2");
    let record = played(&with_base(&site, &text), &[], 0);
    assert_eq!(field(&record, "/results/0/operations"), 3 + 6, "log-offs are no part of the load");
    assert_eq!(field(&record, "/results/0/codes"), &json!({"200": 9}));
    let finish = field(&record, "/results/0/finish").as_array().expect("a list");
    let rows: Vec<_> = finish.iter().map(|row| (&row["name"], &row["operations"])).collect();
    assert_eq!(rows, [(&json!("log off"), &json!(3)), (&json!("end"), &json!(1))]);
    assert_eq!(finish[0]["labels"], json!({"finish": "log off", "scenario": "a"}));
    assert_eq!(part(&record, "page")["operations"], 6);
    let off = sessions_at(&site, "/logoff");
    assert_eq!(off.len(), 3, "each with its own session: {off:?}");
    assert_eq!(off, {
        let mut on = sessions_at(&site, "/page");
        on.dedup();
        on
    });
    let last = site.asked().pop().expect("somebody asked");
    assert!(last.starts_with("GET /end/hello "), "{last}");
}

#[test]
fn users_log_off_after_an_interrupt() {
    let site = sessions();
    let folder = scenario(&with_base(&site, &format!("for = \"1h\"\n{USERS}")));
    let path = folder.path().join("s.toml").display().to_string();
    let words = ["http", "load", &path, "--lag", "10s", "--json"];
    let load = Program::start_as(Path::new(PLUMB), &words, folder.path());
    until(|| (sessions_at(&site, "/page").len() > 20).then_some(()));
    load.signal(Signal::INT);
    let record = load.wait().with(130).json();
    let rows = field(&record, "/results/0/finish");
    assert_eq!(field(rows, "/0/operations"), 3, "{rows:#}");
    assert_eq!(field(rows, "/1/name"), "end");
    let mut on = sessions_at(&site, "/page");
    on.dedup();
    assert_eq!(sessions_at(&site, "/logoff"), on);
}

#[test]
fn a_finish_that_fails_or_hangs_is_told_and_ends() {
    let site = ReplyServer::start(|head, _| match head.split(' ').nth(1) {
        Some("/hang") => Reply::Silence,
        Some("/fail") => Reply::answer(500, "", "no"),
        _ => Reply::page("hello"),
    });
    let text = "finish-timeout = \"100ms\"\n[[scenario]]\nname = \"a\"\niterations = 1\n\
                [[scenario.step]]\nget = \"/page\"\n\
                [[scenario.finish]]\nname = \"fails\"\nget = \"/fail\"\n\
                [[scenario.finish]]\nname = \"hangs\"\nget = \"/hang\"\n\
                [[scenario.finish]]\nname = \"too late\"\nget = \"/late\"\n";
    let record = played(&with_base(&site, text), &[], 0);
    assert_eq!(field(&record, "/results/0/failures"), &json!({}));
    let said = reasons(&record);
    assert!(said.contains("of the 2 requests of finish steps failed: fails (line "), "{said}");
    let finish = field(&record, "/results/0/finish");
    assert_eq!(field(finish, "/0/failures"), &json!({"unexpected-status": 1}));
    assert_eq!(field(finish, "/1/failures"), &json!({"timed-out": 1}));
    assert!(!site.asked().iter().any(|head| head.contains("/late")), "its time was over");
}

#[test]
fn a_report_shows_what_was_done_at_the_end_and_mistakes_are_named() {
    let site = sessions();
    let text = USERS.replace("users = 3", "users = 2\niterations = 1");
    let folder = scenario(&with_base(&site, &text));
    let ended = play_in(folder.path(), &["--out", "run", "--markdown"]).with(0);
    assert!(ended.stdout.contains("When the load was over"), "{}", ended.stdout);
    let page = fs::read_to_string(folder.path().join("run/report.html")).expect("a page");
    assert!(page.contains("When the load was over") && page.contains("log off"));
    let unknown = text.replace("/end/${run}", "/end/${nobody}");
    fs::write(folder.path().join("s.toml"), with_base(&site, &unknown)).expect("a file");
    refused_in(folder.path(), &[], "nothing gives `nobody` a value");
}
