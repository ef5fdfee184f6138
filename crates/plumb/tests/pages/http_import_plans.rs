//! Plans of JMeter after the shapes that people make: each becomes a scenario that a load takes.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kit::http::{Reply, ReplyServer};
use kit::plumb;
use tempfile::{TempDir, tempdir};

/// What a plan is to become, and what it may lose: plan, words that stand in the scenario, and how many
/// things that change the load are not carried over.
const PLANS: [(&str, &[&str], usize); 27] = [
    ("01-form-log-on", &["set", "shopper${user():url}", "name = \"shoppers\""], 0),
    (
        "02-rest-crud",
        &["\"id\": \"${uuid()}\"", "customer = \"${random(1000, 9999)}\"", "%3f%:z"],
        0,
    ),
    (
        "03-data-and-transactions",
        &["group = \"T01 log on\"", "take = \"own-lines\"", "each = \"docs\""],
        0,
    ),
    ("04-stepping", &["stages = [", "term = \"${one-of(red shoes, blue hat, green bag)}\""], 1),
    ("05-ultimate", &["{ over = \"30s\", users = 20 }", "/page/${random(1, 500)}"], 1),
    ("06-concurrency", &["{ over = \"10m\", users = 50 }"], 2),
    ("07-arrivals", &["arrivals = \"poisson\"", "rate = \"10/s\"", "users = 200"], 1),
    ("08-free-form-arrivals", &["rate = \"10/s\"", "rate = \"0/s\""], 1),
    ("09-open-model", &["rate = \"20/s\"", "${counter(counter_1, load)}"], 1),
    ("10-set-up-and-tear-down", &["[[prepare]]", "[[finish]]", "${access_token}"], 0),
    ("11-poll-until-done", &["while = \"${state} != 'done'\"", "if = \"${state} == 'done'\""], 0),
    ("12-mixes", &["${random(1, 3)}", "${counter(choice_2, user, 1, 1, 2)}", "share = \"10%\""], 0),
    ("13-switch", &["== 'clerk'", "== 'manager'", "get = \"/1\""], 0),
    ("14-modules", &["name = \"log on\"", "name = \"log off\""], 0),
    ("15-include", &["name = \"first hit\""], 0),
    (
        "16-uploads",
        &[
            "file = \"invoice.txt\"",
            "body-file = \"invoice.txt\"",
            "Invoice ${time(%Y%m%d, 0, local)}",
        ],
        0,
    ),
    ("17-soap", &["${time(%Y-%m-%d, P1D, local)}", "xpath = \"//Price\""], 0),
    ("18-signed", &["ts = \"${time(s)}\"", "${sha256(${ts}payload)}", "${base64(${uuid()})}"], 0),
    (
        "19-counters",
        &["ORD-${pad(${counter(number, load, 1, 1, 9999)}, 5)}", "${random(5, 500)}"],
        0,
    ),
    (
        "20-properties",
        &["/${page}.html", "variables.page = \"index\"", "variables.tenant = \"t1\""],
        0,
    ),
    ("21-details", &["if = \"${iteration()} == 1\"", "repeat = 3", "credentials = "], 0),
    ("22-scripts", &["name = \"second\""], 6),
    ("23-batch", &["header = \"x-csrf-token\"", "GET Flights?$top=1 HTTP/1.1"], 0),
    ("24-throughput", &["rate = \"5/s\""], 1),
    (
        "25-hosts-and-digest",
        &[
            "hosts = [\"https://idp.example\", \"https://static.example:8443\"]",
            "close = true",
            "authentication = \"digest\"",
            "get = \"https://idp.example/oauth/token\"",
            "credentials = ",
        ],
        0,
    ),
    ("26-orders", &["while = \"${order_1_left} > 0\"", "parallel = \"at once\""], 0),
    ("27-page-with-parts", &["resources = { ", "connections = 2"], 1),
];

fn folder() -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plumb-jmx/tests/plans");
    fs::create_dir(folder.path().join("parts")).expect("a folder");
    for place in ["", "parts"] {
        for entry in fs::read_dir(from.join(place)).expect("the plans of the layer") {
            let path = entry.expect("a readable folder").path();
            if path.is_file() {
                let name = path.file_name().expect("a name");
                fs::copy(&path, folder.path().join(place).join(name)).expect("a copy");
            }
        }
    }
    folder
}

#[test]
fn plans_become_scenarios_that_a_load_takes() {
    let folder = folder();
    let mut wrong = Vec::new();
    for (plan, words, lost) in PLANS {
        let (file, out) = (format!("{plan}.jmx"), format!("{plan}.toml"));
        let kept = format!("{plan}.credentials");
        let mut told = vec!["http", "import", &file, "--out", &out];
        if words.iter().any(|word| word.starts_with("credentials")) {
            told.extend(["--credentials-out", &kept]);
        }
        let made = plumb(&told, folder.path());
        if made.code != Some(0) {
            wrong.push(format!("{plan} is not imported: {}", made.stderr));
            continue;
        }
        let text = fs::read_to_string(folder.path().join(&out)).expect("it is there");
        for word in words.iter().filter(|word| !text.contains(**word)) {
            wrong.push(format!("{plan}: no `{word}` in\n{text}"));
        }
        let last = made.stderr.lines().last().unwrap_or_default().to_owned();
        let found = match last.split("; ").nth(1) {
            Some(end) if end.starts_with("everything") => 0,
            Some(end) => end.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        if found != lost {
            wrong.push(format!("{plan} lost {found} things and not {lost}: {}", made.stderr));
        }
        let shown = plumb(&["http", "load", &out, "--dry-run", "--for", "10s"], folder.path());
        if shown.code != Some(0) {
            wrong.push(format!("{plan} is not taken: {}", shown.stderr));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn elements_in_random_order_are_all_done_each_time_and_in_every_order() {
    let folder = folder();
    let site = ReplyServer::always(Reply::page("hello"));
    let plan = fs::read_to_string(folder.path().join("26-orders.jmx")).expect("a plan");
    let here = plan.replace(">shop.example<", ">127.0.0.1<").replace(
        "\"HTTPSampler.port\"><",
        &format!("\"HTTPSampler.port\">{}<", site.address.port()),
    );
    fs::write(folder.path().join("here.jmx"), here).expect("it can be written");
    plumb(&["http", "import", "here.jmx", "--out", "here.toml"], folder.path()).with(0);
    let words = ["http", "load", "here.toml", "--lag", "10s", "--seed", "7", "--json"];
    let record = plumb(&words, folder.path()).with(0).json();
    assert_eq!(record["results"][0]["operations"], 30 * 6);
    let asked = site.asked();
    let paths: Vec<&str> = asked.iter().filter_map(|head| head.split(' ').nth(1)).collect();
    let ordered: Vec<&str> =
        paths.iter().copied().filter(|path| !["/red", "/blue", "/"].contains(path)).collect();
    let mut orders = BTreeSet::new();
    for turn in ordered.chunks(4) {
        let mut sorted = turn.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, ["/first", "/fourth", "/second", "/third"]);
        let third = turn.iter().position(|path| *path == "/third").expect("it is there");
        assert_eq!(turn[third + 1], "/fourth", "a transaction stays together");
        orders.insert(turn.to_vec());
    }
    assert_eq!(orders.len(), 6, "three elements have six orders, all met in thirty turns");
}
