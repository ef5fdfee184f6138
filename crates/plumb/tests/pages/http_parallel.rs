//! Requests of a user that are made at the same time, as a browser asks for the parts of a page.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

use kit::http::{Reply, ReplyServer};
use kit::scenario::{field, part, play_in, played, reasons, refused_in, scenario, with_base};
use serde_json::{Value, json};

/// A page with `parts`, each with these keys.
fn page(parts: &[&str]) -> String {
    let mut text = "[[scenario]]\nname = \"a\"\niterations = 2\n\
                    [[scenario.step]]\ngroup = \"whole\"\n\
                    [[scenario.step.step]]\nname = \"html\"\nget = \"/html\"\n\
                    [[scenario.step.step]]\nparallel = \"parts\"\n"
        .to_owned();
    for part in parts {
        text += &format!("[[scenario.step.step.step]]\n{part}\n");
    }
    text
}

fn group<'a>(record: &'a Value, name: &str) -> &'a Value {
    let groups = field(record, "/results/0/groups").as_array().expect("groups");
    groups.iter().find(|group| group["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn six_at_a_time_go_to_one_host_and_more_wait() {
    // the first six are answered when all six are there, each on a connection of its own
    let (six, now, most) =
        (Barrier::new(6), AtomicUsize::new(0), &*Box::leak(Box::new(AtomicUsize::new(0))));
    let site = ReplyServer::start(move |head, _| {
        let Some(number) = head.strip_prefix("GET /part/") else { return Reply::page("html") };
        let many = now.fetch_add(1, Ordering::SeqCst) + 1;
        most.fetch_max(many, Ordering::SeqCst);
        if number.starts_with(|c: char| ('1'..='6').contains(&c)) {
            six.wait();
        }
        now.fetch_sub(1, Ordering::SeqCst);
        Reply::page("part")
    });
    let parts: Vec<String> =
        (1..=8).map(|n| format!("name = \"part {n}\"\nget = \"/part/{n}\"")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let record = played(&with_base(&site, &page(&parts)), &[], 0);
    assert_eq!(most.load(Ordering::SeqCst), 6);
    assert_eq!(field(&record, "/results/0/operations"), 2 * 9);
    assert_eq!(field(&record, "/results/0/connect_ns/count"), 6, "they are kept for the next page");
    for name in ["parts", "whole"] {
        assert_eq!(group(&record, name)["operations"], 2, "{record:#}");
    }
    // a page takes as long as its last part, not as long as all of them one after another
    let most = |row: &Value| row["service_ns"]["max"].as_u64().expect("a time");
    let parts = most(group(&record, "parts"));
    let longest = (1..=8).map(|n| most(part(&record, &format!("part {n}")))).max();
    assert!(Some(parts) >= longest, "{parts} {longest:?}");
    assert!(most(group(&record, "whole")) >= parts);
}

#[test]
fn parts_lie_on_other_hosts_follow_redirects_and_set_variables() {
    let other = ReplyServer::start(|head, _| match head.starts_with("GET /moved ") {
        true => Reply::answer(302, "Location: /here\r\n", ""),
        false => Reply::page("id=7"),
    });
    let name = format!("http://localhost:{}", other.address.port());
    let site = ReplyServer::always(Reply::page("hello"));
    let moved = format!(
        "name = \"moved\"\nget = \"{name}/moved\"\nextract = [{{ name = \"id\", regex = \"id=(.)\" }}]"
    );
    let left_out = "name = \"left out\"\nget = \"/never\"\nif = \"1 == 2\"";
    let late = "name = \"late\"\nget = \"/late\"\ncheck = { contains-not = [\"hello\"] }";
    let text = page(&[&moved, "name = \"own\"\nget = \"/own\"", left_out, late])
        + "[[scenario.step]]\nname = \"then\"\nget = \"/then/${id}\"\n";
    let record = played(&with_base(&site, &format!("hosts = [\"{name}\"]\n{text}")), &[], 1);
    assert_eq!(part(&record, "moved")["operations"], 2, "{}", reasons(&record));
    assert_eq!(part(&record, "moved (redirect 1)")["codes"], json!({"302": 2}));
    assert_eq!(part(&record, "own")["operations"], 2);
    assert_eq!(part(&record, "late")["failures"], json!({"check-failed": 2}));
    assert_eq!(group(&record, "parts")["failures"], json!({"check-failed": 2}), "and so the page");
    let asked = site.asked();
    assert_eq!(asked.iter().filter(|head| head.starts_with("GET /then/7 ")).count(), 2);
    assert!(!asked.iter().any(|head| head.contains("/never")));
}

#[test]
fn a_part_that_cannot_be_made_or_answered_fails_alone() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /gone ") {
        true => Reply::Close(Vec::new()),
        false => Reply::page("hello"),
    });
    let parts = [
        "name = \"gone\"\nget = \"/gone\"",
        "name = \"there\"\nget = \"/there\"",
        "name = \"unsent\"\nget = \"/x/${id}\"",
    ];
    let first = "[[scenario]]\nvariables = {}\n";
    let text = page(&parts).replacen("[[scenario]]\n", first, 1).replace(
        "name = \"html\"\nget = \"/html\"",
        "name = \"html\"\nget = \"/html\"\nextract = [{ name = \"id\", regex = \"nothing\" }]",
    );
    let record = played(&with_base(&site, &text), &[], 1);
    assert_eq!(part(&record, "gone")["failures"], json!({"closed": 2}));
    assert_eq!(part(&record, "unsent")["failures"], json!({"not-sent": 2}));
    assert_eq!(part(&record, "there")["operations"], 2);
}

#[test]
fn what_cannot_stand_in_parallel_is_refused() {
    let site = ReplyServer::always(Reply::page("hello"));
    for (part, why) in [
        ("repeat = 2\n[[scenario.step.step.step.step]]\nget = \"/\"", "requests alone"),
        ("group = \"g\"\n[[scenario.step.step.step.step]]\nget = \"/\"", "requests alone"),
        ("get = \"/\"\nthink = \"1s\"", "requests alone"),
    ] {
        let folder = scenario(&with_base(&site, &page(&[part])));
        refused_in(folder.path(), &[], why);
    }
    let folder = scenario(&with_base(&site, &page(&[])));
    refused_in(folder.path(), &[], "this asks for nothing");
    let folder = scenario(&with_base(&site, &page(&["name = \"p\"\nget = \"/p\""])));
    let shown = play_in(folder.path(), &["--dry-run"]).with(0);
    assert!(shown.stdout.contains("at the same time, timed as one: parts"), "{}", shown.stdout);
    assert!(shown.stdout.contains("a script     2 requests"), "{}", shown.stdout);
}
