//! `plumb http load`: what the command line changes, over which way it goes, and what is refused.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::Path;

use kit::authority::Authority;
use kit::http::{Reply, ReplyServer};
use kit::proxy::Proxy;
use kit::scenario::{field, play, play_in, played, refused_in, scenario, with_base};
use kit::{PLUMB, Program, names_in, only_run, read};
use tempfile::{TempDir, tempdir};

#[test]
fn headers_of_three_levels_and_of_the_command_line_are_sent() {
    let site = ReplyServer::always(Reply::page("hello"));
    let folder = scenario(&with_base(
        &site,
        r#"
headers = { A = "file", B = "file", C = "file", D = "file" }
[[scenario]]
name = "a"
iterations = 1
headers = { B = "scenario", C = "scenario", D = "scenario" }
[[scenario.step]]
get = "/"
headers = { C = "step", d = "step", Authorization = "Bearer s3cret" }
"#,
    ));
    let words = ["--header", "D: told", "--json"];
    let ended = play_in(folder.path(), &words).with(0);
    let head = site.asked().remove(0);
    for line in ["A: file", "B: scenario", "C: step", "D: told", "Authorization: Bearer s3cret"] {
        assert!(head.contains(&format!("{line}\r\n")), "{line}: {head}");
    }
    assert_eq!(head.matches("uthorization").count(), 1, "{head}");
    let run = only_run(folder.path());
    let kept = [read(&run.join("run.json")), read(&run.join("report.html")), ended.stdout].concat();
    assert!(!kept.contains("s3cret"), "a secret stands in the record");
    assert!(kept.contains("Bearer") || kept.contains("***"));
}

#[test]
fn steps_may_be_left_out() {
    let site = ReplyServer::always(Reply::page("hello"));
    let text = with_base(
        &site,
        r#"[[scenario]]
name = "a"
iterations = 2
[[scenario.step]]
get = "/page.htm"
[[scenario.step]]
group = "images"
[[scenario.step.step]]
get = "/a.gif"
[[scenario.step.step]]
get = "/b.gif?x"
"#,
    );
    let record = played(&text, &["--exclude", ".gif"], 0);
    assert_eq!(field(&record, "/results/0/operations"), 2);
    assert_eq!(field(&record, "/results/0").get("groups"), None);
    let record = played(&text, &["--exclude", "*.gif"], 0);
    assert_eq!(field(&record, "/results/0/operations"), 4);
    let folder = scenario(&text);
    let refused = play_in(folder.path(), &["--exclude", "*"]).with(2);
    assert!(refused.stderr.contains("--exclude leaves nothing"), "{}", refused.stderr);
}

/// A scenario with `step` as its only step.
fn with_step(step: &str) -> String {
    format!(
        "base = \"http://127.0.0.1:1\"\n[[scenario]]\nname = \"a\"\niterations = 1\n\
         [[scenario.step]]\n{step}\n"
    )
}

#[test]
fn what_cannot_be_is_refused_with_its_place_before_anything_is_asked() {
    let scenario_with = |keys: &str| {
        format!(
            "base = \"http://127.0.0.1:1\"\n[[scenario]]\nname = \"a\"\n{keys}\n\
             [[scenario.step]]\nget = \"/\"\n"
        )
    };
    for (text, says) in [
        (with_step("gte = \"/\""), "line 6, column 1: unknown field `gte`"),
        (with_step("get = \"/\"\nthnik = \"1s\""), "did you mean `think`?"),
        (
            with_step("name = \"x\""),
            "exactly one of get, path, each, repeat, while, group and parallel",
        ),
        (with_step("get = \"/\"\npath = \"/\""), "exactly one of"),
        (with_step("get = \"/\"\nbody = \"x\""), "`body` belongs to path"),
        (with_step("get = \"/${nmae}\"\n[scenario.variables]\nname = \"x\""), "did you mean `name`?"),
        (with_step("get = \"/${idd}\"\nextract = [{ name = \"id\", regex = \"x\" }]"), "did you mean `id`?"),
        (with_step("get = \"/${id\""), "without `}`"),
        (with_step("get = \"http://other:1/\""), "another server"),
        (with_step("repeat = 2"), "asks for nothing"),
        (with_step("repeat = 0\n[[scenario.step.step]]\nget = \"/\""), "does nothing"),
        (with_step("each = \"x\"\n[[scenario.step.step]]\nget = \"/\""), "each needs as"),
        (with_step("get = \"/\"\nshare = \"120%\""), "share:"),
        (with_step("get = \"/\"\nif = \"${a} == 1 == 2\""), "if:"),
        (with_step("get = \"/\"\ncheck = { status = \"20x\" }"), "check:"),
        (with_step("get = \"/\"\nextract = [{ name = \"x\", json = \"a[\" }]"), "extract:"),
        (with_step("get = \"/\"\nheaders = { Host = \"x\" }"), "header `Host`"),
        (with_step("get = \"/\"\nheaders = { \"a b\" = \"x\" }"), "no name of a header"),
        (with_step("path = \"/\"\nmethod = \"get\""), "no method"),
        (with_step("path = \"/\"\nbody-file = \"nowhere\""), "cannot read"),
        (with_step("get = \"/\"\nthink = \"10x\""), "a think time is"),
        (with_step("repeat = 2\nname = \"x\"\n[[scenario.step.step]]\nget = \"/\""), "no row to name"),
        (scenario_with(""), "has no end"),
        (scenario_with("users = 0\nfor = \"1s\""), "users"),
        (scenario_with("rate = \"10/s\"\niterations = 2"), "iterations are for users"),
        (scenario_with("rate = \"10/s\"\nramp = \"2s\"\nfor = \"1s\""), "written as stages"),
        (scenario_with("arrivals = \"poisson\"\nfor = \"1s\""), "those of a rate"),
        (scenario_with("users = 2\nstages = [{ over = \"1s\", users = 2 }]"), "stages say how many"),
        (scenario_with("stages = [{ over = \"1s\", users = 2, rate = \"1/s\" }]"), "each stage has"),
        (scenario_with("stages = [{ over = \"0s\", users = 2 }]"), "no length"),
        (scenario_with("iterations = 0"), "iterations = 0"),
        (scenario_with("for = \"1s\"\nstart = \"2s\"\ndata = [{ file = \"no.csv\" }]"), "no.csv"),
        (scenario_with("for = \"1s\"\n[[scenario.step]]\nget = \"/\"\n[[scenario]]\nname = \"a\"\nfor = \"1s\""), "two scenarios"),
        ("base = \"http://h/path\"\n[[scenario]]\nname = \"a\"\nstep = []\n".into(), "has a path"),
        ("[[scenario]]\nname = \"a\"\nstep = []\n".into(), "no server is named"),
        ("base = \"http://h\"\n[[scenario]]\nname = \"a\"\nfor = \"1s\"\nstep = []\n".into(), "asks for nothing"),
        ("base = \"http://h\"\nthresholds = [\"x p95 < 1s\"]\n[[scenario]]\nname = \"a\"\nfor = \"1s\"\n[[scenario.step]]\nget = \"/\"\n".into(), "no step, group or scenario `x`"),
        ("[[scenario]\n".into(), "line 1"),
        (String::new(), "scenario"),
    ] {
        let folder = scenario(&text);
        let ended = play_in(folder.path(), &[]);
        assert_eq!(ended.code, Some(2), "{text}\n{ended:#?}");
        assert!(ended.stderr.contains(says), "{says}\n{text}\n{}", ended.stderr);
        assert!(!folder.path().join("plumb-runs").exists(), "{text}");
    }
    let folder = tempdir().expect("a temporary folder");
    let ended = play(&folder.path().join("nowhere.toml"), &[], folder.path()).with(2);
    assert!(ended.stderr.contains("cannot read the scenario"), "{}", ended.stderr);
}

#[test]
fn a_server_that_is_not_there_leaves_no_record_and_a_preparation_that_fails_neither() {
    let folder = scenario(&with_step("get = \"/\""));
    let ended = play_in(folder.path(), &[]).with(2);
    assert!(ended.stderr.contains("cannot connect to 127.0.0.1:1"), "{}", ended.stderr);
    let site = ReplyServer::always(Reply::answer(401, "", "no"));
    let text = with_base(
        &site,
        "[[prepare]]\nname = \"log on\"\nget = \"/\"\n[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\nget = \"/\"\n",
    );
    let folder = scenario(&text);
    let ended = play_in(folder.path(), &[]).with(2);
    assert!(ended.stderr.contains("the preparation failed: log on (line 4)"), "{}", ended.stderr);
    assert!(!folder.path().join("plumb-runs").join("x").exists());
}

#[test]
fn more_users_than_there_may_be_connections_are_refused() {
    let site = ReplyServer::always(Reply::page("hello"));
    let folder = scenario(&with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 100\nramp = \"1h\"\niterations = 1\n\
         [[scenario.step]]\nget = \"/\"\n",
    ));
    let ended = Program::limited("-n 60", &["http", "load", "s.toml"], folder.path()).wait();
    let line = ended.with(2).stderr;
    assert!(line.contains("100 users") && line.contains("ulimit -n"), "{line}");
}

/// A site that speaks TLS, with its authority, and two users who ask it for five pages each.
fn encrypted() -> (TempDir, Authority, ReplyServer) {
    let folder = scenario("");
    let authority = Authority::new(folder.path(), "ours");
    let site = ReplyServer::encrypted(&authority.sign("127.0.0.1"), |_, _| Reply::page("hello"));
    let text = with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 2\niterations = 5\n[[scenario.step]]\nget = \"/\"\n",
    );
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    (folder, authority, site)
}

#[test]
fn a_scenario_is_played_over_tls() {
    let (folder, authority, _site) = encrypted();
    let path = folder.path().join("s.toml");
    let record = play(&path, &["--ca", &authority.ca(), "--json"], folder.path()).with(0).json();
    assert_eq!(field(&record, "/results/0/operations"), 10);
    assert_eq!(field(&record, "/results/0/tls_ns/count"), 2);
    let refused = play(&path, &["--out", "again"], folder.path()).with(2);
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
}

#[test]
fn a_proxy_is_asked_for_the_whole_address_and_told_who_asks() {
    let proxy = ReplyServer::always(Reply::page("from afar"));
    let folder = scenario(
        "base = \"http://erp.example\"\n[[scenario]]\nname = \"a\"\nusers = 2\niterations = 3\n\
         [[scenario.step]]\nget = \"/a?b\"\n[[scenario.step]]\nget = \"/${x}\"\n\
         [scenario.variables]\nx = \"y\"\n",
    );
    let gate = proxy.url("");
    let words = ["http", "load", "s.toml", "--lag", "10s", "--proxy", &gate, "--json"];
    let told = [("PLUMB_PROXY_USER", "me"), ("PLUMB_PROXY_PASSWORD", "open sesame")];
    let ended = Program::start_told(Path::new(PLUMB), &words, folder.path(), &told).wait();
    let record = ended.with(0).json();
    assert_eq!(field(&record, "/results/0/operations"), 12);
    assert_eq!(field(&record, "/plan/options/proxy"), &format!("{gate}/"));
    let asked = proxy.asked();
    for (path, times) in [("/a?b", 6), ("/y", 6)] {
        let start = format!("GET http://erp.example{path} HTTP/1.1\r\n");
        let right = asked.iter().filter(|head| {
            let named = head.contains("\r\nHost: erp.example\r\n");
            let told = head.contains("Proxy-Authorization: Basic bWU6b3BlbiBzZXNhbWU=\r\n");
            head.starts_with(&start) && named && told
        });
        assert_eq!(right.count(), times, "{asked:#?}");
    }
    assert!(!record.to_string().contains("bWU6b3"), "who asks stands in the record");
}

#[test]
fn a_tunnel_leads_the_users_through_a_proxy() {
    let (folder, authority, site) = encrypted();
    let proxy = Proxy::start(site.address, |_| None);
    let words = ["--ca", &authority.ca(), "--proxy", &proxy.url(), "--json"];
    let record = play_in(folder.path(), &words).with(0).json();
    assert_eq!(field(&record, "/results/0/operations"), 10);
    assert_eq!(field(&record, "/results/0/tls_ns/count"), 2);
    let tunnel = format!("CONNECT {} HTTP/1.1\r\n", site.address);
    let asked = proxy.asked();
    assert_eq!(asked.len(), 2, "{asked:#?}");
    assert!(asked.iter().all(|head| head.starts_with(&tunnel)), "{asked:#?}");
    assert!(site.asked().iter().all(|head| head.starts_with("GET / HTTP/1.1\r\n")));
    let closed = Proxy::start(site.address, |_| Some("HTTP/1.1 403 Forbidden\r\n\r\n"));
    let words = ["--ca", &authority.ca(), "--proxy", &closed.url()];
    refused_in(folder.path(), &words, "403");
}

#[test]
fn what_would_be_done_is_shown_and_nothing_is_asked_for() {
    let site = ReplyServer::always(Reply::page("hello"));
    let text = with_base(
        &site,
        r#"
for = "1m"
headers = { X-Api-Key = "s3cret" }
[[prepare]]
get = "/list"
extract = [{ name = "ids", json = "$[*]", pick = "all" }]
[[scenario]]
name = "a"
users = 2
[[scenario.step]]
each = "ids"
as = "id"
[[scenario.step.step]]
get = "/d/${id}"
"#,
    );
    let folder = scenario(&text);
    let shown = play_in(folder.path(), &["--dry-run", "--header", "A: b"]).with(0);
    for words in ["2 from 0s on", "for each id of ids", "GET /d/${id}", "A: b", "GET /list"] {
        assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
    }
    let words = ["--dry-run", "--json", "--jtl", "samples.jtl"];
    let plan = play_in(folder.path(), &words).with(0).json();
    assert_eq!(plan["predicted_ns"], 60_000_000_000_u64);
    assert!(!format!("{plan}{}", shown.stdout).contains("s3cret"));
    assert!(site.asked().is_empty(), "{:?}", site.asked());
    assert_eq!(names_in(folder.path()), ["s.toml"], "nothing is left behind");
    // what is wrong is said as it is of a load
    let words = ["--dry-run", "--exclude", "*"];
    refused_in(folder.path(), &words, "--exclude leaves nothing");
}

#[test]
fn lines_of_single_operations_name_the_group_of_their_users() {
    let site = ReplyServer::always(Reply::page("hello"));
    let text = with_base(
        &site,
        "[[scenario]]\nname = \"a\"\nusers = 2\niterations = 3\n[[scenario.step]]\nget = \"/1\"\n\
         [[scenario]]\nname = \"b\"\nusers = 3\niterations = 5\n[[scenario.step]]\nget = \"/2\"\n",
    );
    let folder = scenario(&text);
    play_in(folder.path(), &["--jtl", "samples.jtl"]).with(0);
    let samples = read(&folder.path().join("samples.jtl"));
    let of = |label: &str, user: &str, users: &str| {
        let lines =
            samples.lines().filter(|line| line.contains(&format!(",{label},200,OK,{user},")));
        lines.filter(|line| line.contains(&format!(",{users},5,http"))).count()
    };
    for user in 1..=3 {
        assert_eq!(of("b GET /2", &format!("plumb 2-{user}"), "3"), 5, "{samples}");
    }
    for user in 1..=2 {
        assert_eq!(of("a GET /1", &format!("plumb 1-{user}"), "2"), 3, "{samples}");
    }
    assert_eq!(samples.lines().count(), 1 + 6 + 15);
}
