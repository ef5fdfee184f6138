//! The scenarios that stand as examples, against the application server, and a test plan of JMeter
//! that is played as it was imported.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::{Path, PathBuf};

use kit::golden::check;
use kit::http::{Reply, ReplyServer};
use kit::scenario::{field, part, play, play_in, reader, scenario};
use kit::web::Web;
use kit::{Server, names_in, plumb, read};
use serde_json::json;
use tempfile::tempdir;

/// Where they lie.
fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios")
}

#[test]
fn the_list_and_its_details_are_read_from_the_application_server() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--base", &base, "--users", "2", "--json"];
    let path = examples().join("list-details.toml");
    let record = play(&path, &words, folder.path()).with(0).json();
    assert_eq!(field(&record, "/results/0/operations"), 401);
    assert_eq!(part(&record, "list")["operations"], 1);
    assert_eq!(part(&record, "detail")["operations"], 400);
    assert_eq!(field(&record, "/results/0/codes"), &json!({"200": 401}));
}

#[test]
fn users_of_the_sizing_example_open_pages_in_sessions_of_their_own() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--base", &base, "--users", "3", "--for", "2s", "--json"];
    let path = examples().join("../sizing/user.toml");
    let record = play(&path, &words, folder.path()).with(0).json();
    assert_eq!(part(&record, "log on")["operations"], 3);
    assert!(part(&record, "page")["operations"].as_u64() >= Some(3), "{record}");
    assert_eq!(field(&record, "/results/0/failures"), &json!({}));
}

#[test]
fn the_details_of_an_atom_feed_are_found_by_xpath() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut text = reader(
        r#"get = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/FlightCollection?$top=20"
extract = [{ name = "flights", xpath = "/feed/entry/id", pick = "all" }]"#,
        ["flights", "flight"],
        r#"get = "${flight}"
extract = [{ name = "price", xpath = "/entry/content/m:properties/d:PRICE" }]"#,
    );
    text += r#"[[scenario.step.step]]
name = "again"
get = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/FlightCollection?$top=1"
if = "${price} > 0"
"#;
    let folder = scenario(&text);
    let base = format!("http://{}", server.address);
    let record = play_in(folder.path(), &["--base", &base, "--json"]).with(0).json();
    let count = |name: &str| part(&record, name)["operations"].as_u64();
    assert_eq!((count("list"), count("detail"), count("again")), (Some(2), Some(40), Some(40)));
    assert_eq!(field(&record, "/results/0/failures"), &json!({}));
}

#[test]
fn pages_of_the_application_server_are_of_their_length() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--base", &base, "--for", "2s", "--warmup", "50ms", "--json"];
    let text =
        read(&examples().join("pages.toml")).replace("< 50ms", "< 1h").replace("< 20ms", "< 1h");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    let record = play_in(folder.path(), &words).with(0).json();
    for (name, length) in [("text 1 KB", 1024), ("text 4 KB", 4096), ("image 1 KB", 1024)] {
        let part = part(&record, name);
        assert!(part["operations"].as_u64() > Some(0), "{name}");
        assert_eq!(part["length"], json!({"min": length, "p50": length, "max": length}), "{name}");
    }
}

#[test]
fn a_mix_of_users_with_a_background_load_runs() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let text = read(&examples().join("user-mix.toml"))
        .replace("ramp = \"30s\"", "ramp = \"100ms\"")
        .replace("\"10s\", max = \"100s\"", "\"100ms\", max = \"1s\"")
        .replace("\"30s\", max = \"300s\"", "\"300ms\", max = \"3s\"")
        .replace("0.2/s", "4/s")
        .replace("< 1s", "< 1h");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    // everybody comes to something, however slow the machine is
    let words = ["--base", &base, "--users", "10", "--for", "5s", "--warmup", "0s", "--json"];
    let record = play_in(folder.path(), &words).with(0).json();
    assert_eq!(part(&record, "message")["operations"], 20);
    assert_eq!(part(&record, "message")["codes"], json!({"201": 20}));
    let groups = field(&record, "/results/0/groups").as_array().expect("a list");
    let names: Vec<&str> = groups.iter().filter_map(|group| group["name"].as_str()).collect();
    assert_eq!(names, ["click", "look"]);
    assert!(groups.iter().all(|group| group["operations"].as_u64() > Some(0)), "{groups:#?}");
    let users: Vec<u64> = field(&record, "/results/0/scenarios")
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|scenario| scenario["begun"].as_u64())
        .collect();
    assert_eq!(users[..2], [5, 5]);
    assert_eq!(field(&record, "/results/0/labels/users"), "10");
}

#[test]
fn clerks_take_orders_to_their_invoices() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let base = format!("http://{}", server.address);
    let folder = tempdir().expect("a temporary folder");
    let text = read(&examples().join("sales.toml"))
        .replace("for = \"23m\"", "")
        .replace("users = 50", "users = 3\niterations = 4")
        .replace("\"10s\"", "\"5ms\"")
        .replace("\"150s\"", "\"15ms\"")
        .replace("< 1s", "< 1h");
    fs::write(folder.path().join("s.toml"), text).expect("a file");
    fs::copy(examples().join("customers.csv"), folder.path().join("customers.csv"))
        .expect("a file");
    let words = ["--base", &base, "--json"];
    let record = play_in(folder.path(), &words).with(0).json();
    let steps = field(&record, "/results/0/parts").as_array().expect("a list");
    assert_eq!(steps.len(), 15);
    assert!(steps.iter().all(|step| step["operations"] == 12), "{steps:#?}");
    let figures = Web::connect(&server.address).get("/sap/bc/sd/throughput").with(200).json();
    assert_eq!(figures["itemsInvoiced"], 60, "five of each order");
    assert_eq!((&figures["dialogSteps"], &figures["clerks"]), (&json!(180), &json!(3)));
}

#[test]
fn every_example_is_shown_without_being_played() {
    let server = "http://127.0.0.1:1"; // nobody is there
    let folder = tempdir().expect("a temporary folder");
    let examples = examples();
    let files = fs::read_dir(&examples).expect("a folder").map(|file| file.expect("a file").path());
    for path in files.filter(|path| path.extension().is_some_and(|end| end == "toml")) {
        let words = ["--dry-run", "--json", "--base", server];
        let plan = play(&path, &words, folder.path()).with(0).json();
        assert_eq!(plan["schema"], "plumb.http-load-plan/1");
        assert_eq!(plan["scenarios"][0]["credentials"], "environment");
        assert!(!plan["scenarios"][0]["steps"].as_array().expect("steps").is_empty());
    }
    assert!(names_in(folder.path()).is_empty(), "nothing is left behind");
    for name in ["user-mix", "list-details", "sales"] {
        let words = ["--dry-run", "--seed", "7", "--users", "10,20"];
        let shown = play(Path::new(&format!("{name}.toml")), &words, &examples).with(0);
        check(&format!("dry-run-{name}.txt"), &shown.stdout);
        assert_eq!(shown.stderr, "");
    }
}

/// The flights that the plan of JMeter asks for, of whoever proves who asks.
fn flights() -> ReplyServer {
    ReplyServer::start(|head, _| {
        if !head.contains("Authorization: Basic REVNTzpkZW1v\r\n") {
            return Reply::answer(401, "WWW-Authenticate: Basic realm=\"flights\"\r\n", "");
        }
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        if path == "/flights.json" {
            let flights =
                (0..400).map(|n| format!("{{\"carrid\": \"LH\", \"connid\": \"{n:04}\"}}"));
            let flights: Vec<String> = flights.collect();
            return Reply::page(&format!("{{\"flights\": [{}]}}", flights.join(", ")));
        }
        match path.strip_prefix("/f/").and_then(|name| name.strip_suffix(".json")) {
            Some(id) if id.len() == 4 => Reply::page(&format!("{{\"connid\": \"{id}\"}}")),
            _ => Reply::answer(404, "", ""),
        }
    })
}

#[test]
fn a_plan_of_jmeter_is_imported_and_played_as_it_is() {
    let site = flights();
    let folder = tempdir().expect("a temporary folder");
    let plan = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../plumb-scenario/tests/samples/list_details.jmx");
    let plan = plan.display().to_string();
    let words =
        ["http", "import", &plan, "--out", "s.toml", "--credentials-out", "who", "--strict"];
    plumb(&words, folder.path()).with(0);
    let words = ["--base", &site.url(""), "--jtl", "samples.jtl", "--json"];
    let record = play_in(folder.path(), &words).with(0).json();
    let result = field(&record, "/results/0");
    assert_eq!((&result["operations"], &result["failures"]), (&json!(802), &json!({})));
    assert_eq!(result["codes"], json!({"200": 802}));
    assert_eq!(part(&record, "list")["operations"], 2);
    assert_eq!(part(&record, "detail")["operations"], 800);
    assert_eq!(site.asked().len(), 802);
    let samples = read(&folder.path().join("samples.jtl"));
    let right = samples.lines().filter(|line| line.contains(",200,OK,")).count();
    assert_eq!((samples.lines().count(), right), (803, 802));
}
