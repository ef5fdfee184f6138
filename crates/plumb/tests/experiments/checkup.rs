//! The checkup end to end: the landscape of our own as a newcomer measures it, and landscapes that
//! a file names.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::kit::foreign::Foreign;
use crate::kit::namespace::{ENDS, Namespace, allowed};
use crate::kit::peer::{Misdeed, Peer, nobody};
use crate::kit::postgres::{PASSWORD, Postgres, USER};
use crate::kit::{Ended, PATIENCE, PLUMB, Program, Server, names_in, only_run, plumb, read};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

/// What a checkup in `run` wrote down.
fn checkup(run: &Path) -> Value {
    serde_json::from_str(&read(&run.join("checkup.json"))).expect("it is JSON")
}

fn all<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| unreachable!("{name} is a list: {value:#}"))
}

/// The measured part of this server whose operation is asked for like this.
fn part<'a>(checkup: &'a Value, server: &str, how: &str) -> &'a Value {
    let mut parts = all(checkup, "parts").iter();
    let found = parts.find(|part| part["server"] == server && part["how"] == how);
    found.unwrap_or_else(|| unreachable!("{server}, {how} is a part of {checkup:#}"))
}

fn layer<'a>(checkup: &'a Value, server: &str) -> &'a Value {
    let mut layers = all(&checkup["verdict"], "layers").iter();
    let found = layers.find(|layer| layer["server"] == server);
    found.unwrap_or_else(|| unreachable!("{server} is a layer of {checkup:#}"))
}

/// Where the servers of a checkup listen.
fn addresses(checkup: &Value) -> Vec<String> {
    let words = all(checkup, "parts").iter().flat_map(|part| all(part, "words"));
    let words = words.filter_map(Value::as_str).filter_map(|word| {
        let word = word.strip_prefix("http://").unwrap_or(word);
        let word = word.split('/').next()?;
        word.starts_with("127.0.0.1:").then(|| word.to_owned())
    });
    let mut addresses: Vec<String> = words.collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// Waits until nobody listens at `address` any more.
fn until_gone(address: &str) {
    let gone = (0..100_000).any(|_| TcpStream::connect(address).is_err());
    assert!(gone, "somebody still listens at {address}");
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn a_checkup_measures_a_landscape_of_its_own_and_names_the_slowest_layer() {
    let (at, temporary) = (folder(), folder());
    let told = [("TMPDIR", temporary.path().to_str().expect("UTF-8"))];
    let words = ["checkup", "--for", "6s", "--junit", "v.xml"];
    let program = Program::start_told(Path::new(PLUMB), &words, at.path(), &told);
    let ended = program.wait_within(5 * PATIENCE);
    let run = only_run(at.path());
    let checkup = checkup(&run);
    let findings = all(&checkup["verdict"], "findings");
    // beside other tests a server may well be slow, and that is then named; or these keep the processors
    // busy, so that nobody knows whether it is full
    let remarks = checkup["verdict"]["remarks"].as_array();
    let untold = remarks.into_iter().flatten().filter_map(|it| it["untold"].as_str());
    let nothing = untold.clone().next().map_or_else(
        || "No fault was found".to_owned(),
        |untold| format!("No fault was found, but {untold} cannot be told"),
    );
    let code = match (&findings[..], nothing.ends_with("cannot be told")) {
        ([], false) => 0,
        ([], true) => 3,
        _ => 1,
    };
    assert_eq!(ended.code, Some(code), "{ended:#?}");
    let xml = read(&at.path().join("v.xml"));
    let cases = xml.matches("<testcase ").count();
    let judged = all(&checkup, "parts").len() + all(&checkup["verdict"], "layers").len();
    assert_eq!(cases, judged + findings.len() + untold.count(), "{xml}");
    assert_eq!(xml.matches("<failure ").count(), findings.len(), "{xml}");
    assert_eq!(
        (&checkup["schema"], &checkup["status"]),
        (&json!("plumb.checkup/2"), &json!("complete"))
    );
    for part in all(&checkup, "parts") {
        let outcome = &part["outcome"];
        assert!(outcome["operations"].as_u64() > Some(0), "{part:#}");
        assert_eq!(outcome["failed"], 0, "{part:#}");
        let folder = outcome["folder"].as_str().expect("it left a run");
        assert!(run.join(folder).join("report.html").is_file(), "{folder}");
        assert_eq!(crate::kit::record(&run.join(folder))["status"], "complete");
    }
    let pages = layer(&checkup, "application server");
    assert_eq!((&pages["operation"], &pages["state"]), (&json!("a flight list"), &json!("judged")));
    assert!(pages["told_ns"]["database"].as_u64() > Some(0), "{pages:#}");
    assert!(pages["own"]["floor_ns"].as_u64() > Some(0), "{pages:#}");
    let page = part(&checkup, "application server", "in turn with a ready one");
    assert!(page["outcome"]["pair"]["last_byte"]["ns"].is_number(), "{page:#}");
    assert!(part(&checkup, "network", "to the server")["outcome"]["bits_per_s"].is_number());

    assert_eq!(checkup["left_out"][0]["layer"], "database");

    let lines: Vec<&str> = ended.stdout.lines().collect();
    let slowest = all(&checkup["verdict"], "layers").iter().filter(|it| it["slowest"] == true);
    let slowest: Vec<&str> = slowest.filter_map(|layer| layer["server"].as_str()).collect();
    let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = match (findings.first(), &slowest[..]) {
        (Some(finding), _) => finding["evidence"].as_str().expect("a sentence").to_owned(),
        (None, [one]) => format!("{nothing}; most of a user's time is the {one}: "),
        (None, _) => format!("{nothing}; most of a user's time is one of these"),
    };
    assert!(said.starts_with(&start), "{said}");
    let asked = all(&checkup, "parts").iter().filter(|it| it["operation"] == "a flight list");
    let users: Vec<u64> = asked.filter_map(|part| part["users"].as_u64()).collect();
    assert_eq!(users, [1, 2, 5, 10]);
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let report = lines.last().and_then(|line| line.strip_prefix("report: "));
    let report = report.expect("where the report is");
    let page = read(&at.path().join(report));
    assert!(page.contains("href=\"parts/01-a-round-trip-1000-B/report.html\""), "{page}");

    let servers = addresses(&checkup);
    assert_eq!(servers.len(), 4, "{servers:?}");
    assert!(servers.iter().all(|server| TcpStream::connect(server).is_err()), "{servers:?}");
    assert_eq!(names_in(temporary.path()), [""; 0], "what the servers wrote is gone");
    let again = plumb(&["report", &run.display().to_string()], at.path()).with(0);
    assert!(ended.stdout.starts_with(&again.stdout), "{again:#?}");
    let gone = all(&checkup, "parts")[0]["outcome"]["folder"].as_str().expect("it left a run");
    std::fs::remove_dir_all(run.join(gone)).expect("it was there");
    let without = plumb(&["report", &run.display().to_string()], at.path()).with(1);
    assert!(
        without.stderr.contains(&format!("{gone} is not shown: there is no run.json")),
        "{without:#?}"
    );
}

/// A checkup of our own landscape whose first measurement is under way, and its run.
fn under_way(at: &Path, temporary: &Path) -> (Program, PathBuf) {
    let told = [("TMPDIR", temporary.to_str().expect("UTF-8"))];
    let words = ["checkup", "--for", "1h", "--out", "run"];
    let program = Program::start_told(Path::new(PLUMB), &words, at, &told);
    let line = program.log_line();
    assert!(line.contains(" measurements of this machine"), "{line}");
    (program, at.join("run"))
}

#[test]
fn a_remote_that_measures_sends_its_figures_to_nobody() {
    let at = tempfile::tempdir().expect("a folder");
    let file = "hosts = \"app-1\"\n[net]\nservers = [\"127.0.0.1:1\"]\n";
    std::fs::write(at.path().join("l.toml"), file).expect("written");
    let words = ["checkup", "--target", "l.toml", "--otlp", "http://127.0.0.1:1"];
    let ended = plumb(&words, at.path()).with(2);
    assert!(ended.stderr.contains("leave --otlp"), "{ended:?}");
    assert!(!at.path().join("plumb-runs").exists());
}

#[test]
fn an_interrupted_checkup_ends_its_servers_and_keeps_what_it_has() {
    let (at, temporary) = (folder(), folder());
    let (program, run) = under_way(at.path(), temporary.path());
    program.signal(Signal::INT);
    let ended = program.wait().with(130);
    let start = "The checkup was interrupted before its end. Not finished: ";
    assert!(ended.stdout.starts_with(start), "{ended:#?}");
    let checkup = checkup(&run);
    assert_eq!(checkup["status"], "interrupted");
    let layers = all(&checkup["verdict"], "layers");
    assert!(layers.iter().all(|layer| layer["slowest"] == false), "{layers:#?}");
    let servers = addresses(&checkup);
    assert_eq!(servers.len(), 4, "{servers:?}");
    assert!(servers.iter().all(|server| TcpStream::connect(server).is_err()), "{servers:?}");
    assert_eq!(names_in(temporary.path()), [""; 0]);
}

#[test]
fn the_servers_of_a_checkup_that_is_killed_end_with_it() {
    let (at, temporary) = (folder(), folder());
    let (program, run) = under_way(at.path(), temporary.path());
    program.signal(Signal::KILL);
    program.wait();
    addresses(&checkup(&run)).iter().for_each(|address| until_gone(address));
}

/// Runs a checkup of the landscape that `text` describes.
fn of_file(text: &str, at: &Path, words: &[&str]) -> Ended {
    fs::write(at.join("landscape.toml"), text).expect("a temporary folder can be written");
    let words = [&["checkup", "--target", "landscape.toml", "--for", "1s"], words].concat();
    plumb(&words, at)
}

#[test]
fn a_server_that_does_not_answer_is_named_and_the_rest_is_measured() {
    let at = folder();
    let ours = Server::start(&["--quiet"]);
    let (locks, absent) = (Server::of_locks(), nobody());
    let text = format!(
        "[net]\nservers = [\"{}\"]\n[lock]\nserver = \"{}\"\n\
         [http]\npages = [\"http://{absent}/page\"]\n[host]\nrecorder = \"{absent}\"\n",
        ours.address, locks.address
    );
    let ended = of_file(&text, at.path(), &[]).with(1);
    let checkup = checkup(&only_run(at.path()));
    assert_eq!(checkup["target"], "landscape.toml");
    let pages = layer(&checkup, &format!("HTTP server {absent}"));
    assert_eq!(pages["state"], "not-measured");
    assert!(pages["why"].as_str().is_some_and(|why| why.contains("connection refused")), "{pages}");
    let lock = layer(&checkup, &format!("lock server {}", locks.address));
    assert_eq!(lock["state"], "judged");
    assert!(lock["own"]["floor_ns"].as_u64() > Some(0), "the echo server is on its host: {lock}");
    let trouble = checkup["troubles"][0].as_str().expect("the recorder is missed");
    assert!(trouble.contains(&absent) && trouble.ends_with("measured without it"), "{trouble}");
    let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(&format!("The HTTP server {absent} could not be measured: ")), "{said}");
    assert!(said.contains("the database: no database is named"), "{said}");
    assert_eq!(
        checkup["left_out"],
        json!([
            { "layer": "messages", "why": "messages: no integration runtime is named ([flow] server)" },
            { "layer": "database", "why": "the database: no database is named ([database] url)" }
        ])
    );
}

#[test]
fn what_a_pure_echo_server_does_not_offer_is_no_fault() {
    let at = folder();
    let echo = Peer::start(u32::MAX, Misdeed::None);
    let samples = Server::of_samples(&["--every", "10ms"]);
    let text = format!(
        "[net]\nservers = [\"{}\"]\nconnections = 1\n[host]\nrecorder = \"{}\"\n",
        echo.address, samples.address
    );
    let document = of_file(&text, at.path(), &["--json"]).with(0).json();
    let server = format!("network to {}", echo.address);
    let stream = &part(&document, &server, "to the server")["outcome"];
    assert_eq!(stream["not_offered"], true, "{stream:#}");
    assert_eq!(layer(&document, &server)["state"], "judged");
    assert_eq!(layer(&document, &server)["slowest"], false, "there is no other layer");
    assert_eq!(document["verdict"]["findings"], json!([]));
    let run = only_run(at.path());
    assert_eq!(checkup(&run), document);
    let folder = part(&document, &server, "1000 B")["outcome"]["folder"].as_str();
    let record = crate::kit::record(&run.join(folder.expect("it left a run")));
    assert_eq!(record["far"]["address"], samples.address);
}

#[test]
fn servers_that_cannot_start_leave_nothing_behind() {
    let at = folder();
    let missing = at.path().join("missing").display().to_string();
    let told = [("TMPDIR", missing.as_str())];
    let program = Program::start_told(Path::new(PLUMB), &["checkup"], at.path(), &told);
    let ended = program.wait().with(2);
    assert!(ended.stderr.contains("cannot make a folder for the servers"), "{ended:#?}");
    assert_eq!(names_in(at.path()), [""; 0]);
}

#[test]
fn a_file_that_names_no_landscape_is_refused_before_anything_is_measured() {
    let at = folder();
    for (text, expected) in [
        ("[net]\nserver = [\"h\"]\n", "landscape.toml, line 2, column 1: "),
        ("[net]\nserver = [\"h\"]\n", "did you mean `servers`?"),
        ("", "landscape.toml names nothing to measure"),
        ("[database]\nurl = \"postgres://me:sesame@h/x\"\n", "line 2, column 7: "),
    ] {
        let ended = of_file(text, at.path(), &[]).with(2);
        assert!(ended.stderr.contains(expected), "{ended:#?}");
        assert!(!ended.stderr.contains("sesame") && ended.stdout.is_empty(), "{ended:#?}");
    }
    let missing = plumb(&["checkup", "--target", "none.toml"], at.path()).with(2);
    assert!(missing.stderr.contains("cannot read the landscape none.toml"), "{missing:#?}");
    let short = plumb(&["checkup", "--for", "0s"], at.path()).with(2);
    assert!(short.stderr.contains("measures nothing"), "{short:#?}");
    assert_eq!(names_in(at.path()), ["landscape.toml"], "no run was begun");
}

/// A landscape of servers that were not written here, all in `place`.
fn strangers(place: &Namespace, host: &str) -> Result<(Foreign, Foreign, Postgres), String> {
    Ok((Foreign::nginx(place, host)?, Foreign::redis(place, host)?, Postgres::within(place, host)?))
}

/// The time of a database by its own clock is told, of all calls or of the faster nine tenths, or the
/// record of the run says why it cannot be: never neither, and never without looks.
fn its_own_time_is_told_or_why_not(database: &Value, document: &Value, run: &Path) {
    let lone = |part: &&Value| part["server"] == database["server"] && part["users"] == 1;
    let mut asked = all(document, "parts").iter().filter(lone);
    let part = asked.find(|part| part["operation"] == database["operation"]);
    let outcome = &part.expect("the yardstick is a part")["outcome"];
    let folder = outcome["folder"].as_str().expect("it left a run");
    let record = crate::kit::record(&run.join(folder));
    let found = &record["results"][0]["attribution"];
    for name in ["wire", "server, with a reading of its clock"] {
        assert!(found["times"][name]["count"].as_u64() > Some(0), "{name} of {found:#}");
    }
    let reason = found["cannot_be_split"].as_str();
    let account = if reason.is_none() { found } else { &found["faster"] };
    if account.is_null() {
        assert!(reason.is_some_and(|why| !why.is_empty()), "{found:#}");
        assert_eq!(database["told_ns"], Value::Null, "{database:#}");
        return;
    }
    let server = all(account, "parts").iter().find(|part| part["kind"] == "server");
    let server = &server.expect("a part")["time"]["mean_ns"];
    assert_eq!(&database["told_ns"]["server"], server, "{database:#} {found:#}");
    assert_eq!(database["faster_mean_ns"].is_null(), reason.is_none(), "{database:#}");
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn servers_of_others_in_another_namespace_are_measured_as_they_are() {
    let Some([here, there]) = allowed(Namespace::pair()) else { return };
    let Some((pages, locks, data)) = allowed(strangers(&there, ENDS[1])) else { return };
    let at = folder();
    let text = format!(
        "[http]\npages = [\"http://{0}/page\"]\nstatic = \"http://{0}/image\"\n\
         [lock]\nserver = \"{1}\"\nkind = \"redis\"\n\
         [database]\nurl = \"postgres://{USER}@{2}/postgres\"\n",
        pages.address, locks.address, data.address
    );
    fs::write(at.path().join("landscape.toml"), text).expect("a temporary folder");
    let home = at.path().to_str().expect("UTF-8");
    let told = [("PGPASSWORD", PASSWORD), ("HOME", home)];
    let words = ["checkup", "--target", "landscape.toml", "--for", "1s", "--json"];
    let ended = here.start_told(&words, at.path(), &told).wait().with(0);
    let document = ended.json();
    assert_eq!(all(&document, "left_out").len(), 2, "{document:#}");
    assert_eq!(document["left_out"][0]["layer"], "network");
    assert_eq!(document["left_out"][1]["layer"], "messages");
    for part in all(&document, "parts") {
        let outcome = &part["outcome"];
        assert!(outcome["operations"].as_u64() > Some(0), "{part:#}");
        assert_eq!(outcome["host"], ENDS[1], "{part:#}");
    }
    let servers = [
        format!("HTTP server {}", pages.address),
        format!("Redis {}", locks.address),
        format!("database {}", data.address),
    ];
    for server in &servers {
        let layer = layer(&document, server);
        assert_eq!(layer["state"], "judged", "{layer:#}");
        assert_eq!(layer["own"]["floor_ns"], Value::Null, "no echo server is there: {layer:#}");
    }
    let run = only_run(at.path());
    its_own_time_is_told_or_why_not(layer(&document, &servers[2]), &document, &run);
    let report = read(&run.join("report.html"));
    assert!(!report.contains(PASSWORD) && !ended.stdout.contains(PASSWORD));
}
