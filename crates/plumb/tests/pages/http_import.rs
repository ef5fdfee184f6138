//! Recordings and test plans of others become scenarios: the whole output stands in
//! `tests/golden`, and what cannot be read is refused before anything is written.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kit::golden::check;
use kit::http::{Reply, ReplyServer};
use kit::recorder::Recorder;
use kit::web::Web;
use kit::{Ended, plumb};
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};

/// A folder with the recordings and plans in it.
fn folder() -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    for of in ["plumb-import", "plumb-jmx"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of).join("tests/files");
        for entry in fs::read_dir(from).expect("the fixtures of the crate") {
            let entry = entry.expect("a readable folder");
            fs::copy(entry.path(), folder.path().join(entry.file_name())).expect("a copy");
        }
    }
    folder
}

fn import(words: &[&str], folder: &Path) -> Ended {
    plumb(&[&["http", "import"], words].concat(), folder)
}

/// The line of a refusal, behind which nothing is left.
fn refusal(words: &[&str], folder: &Path) -> String {
    let before = names(folder);
    let ended = import(words, folder).with(2);
    assert_eq!(ended.stdout, "", "{ended:#?}");
    assert_eq!(names(folder), before, "something was written");
    let line = ended.stderr.strip_prefix("plumb: ").and_then(|text| text.strip_suffix('\n'));
    let line = line.unwrap_or_else(|| panic!("not one line of ours: {}", ended.stderr));
    assert!(!line.contains('\n') && !line.is_empty(), "not one line: {line}");
    line.to_owned()
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    names
}

#[test]
fn recordings_and_plans_are_the_scenarios_that_stand_here() {
    let folder = folder();
    for (file, name) in [
        ("shop.har", "import-har"),
        ("flights.jmx", "import-jmx"),
        ("script.properties", "import-grinder-script"),
        ("urls.properties", "import-grinder-urls"),
    ] {
        let ended = import(&[file], folder.path()).with(0);
        check(&format!("{name}.toml"), &ended.stdout);
        check(&format!("{name}.txt"), &ended.stderr);
    }
}

#[test]
fn a_scenario_goes_to_a_file_and_never_over_one() {
    let folder = folder();
    let words = ["shop.har", "--out", "shop.toml"];
    let ended = import(&words, folder.path()).with(0);
    assert_eq!(ended.stdout, "");
    let written = fs::read_to_string(folder.path().join("shop.toml")).expect("it was written");
    assert_eq!(written, import(&["shop.har"], folder.path()).with(0).stdout);
    let line = refusal(&words, folder.path());
    assert_eq!(line, "shop.toml is there already: name another file, or give --force");
    let line = refusal(&["shop.har", "--out", "./shop.har", "--force"], folder.path());
    assert!(line.starts_with("./shop.har is named twice"), "{line}");
    import(&[&words[..], &["--force", "--drop-static"]].concat(), folder.path()).with(0);
    let other = fs::read_to_string(folder.path().join("shop.toml")).expect("it was written");
    assert!(written.contains("/style.css\"") && !other.contains("/style.css\""), "{other}");
}

#[test]
fn a_login_goes_to_a_file_of_its_own_that_nobody_else_reads() {
    let folder = folder();
    let words = ["flights.jmx", "--out", "s.toml", "--credentials-out", "who"];
    import(&words, folder.path()).with(0);
    let who = folder.path().join("who");
    assert_eq!(fs::read_to_string(&who).expect("it was written"), "DEMO:w3lcome\n");
    assert_eq!(fs::metadata(&who).expect("it is there").mode() & 0o777, 0o600);
    let scenario = fs::read_to_string(folder.path().join("s.toml")).expect("it was written");
    assert!(scenario.contains("\ncredentials = \"who\"\n") && !scenario.contains("w3lcome"));
    // one of the two is there already: neither is written
    fs::remove_file(folder.path().join("s.toml")).expect("it is there");
    assert!(refusal(&words, folder.path()).starts_with("who is there already"));
    let line = refusal(&["script.properties", "--credentials-out", "other"], folder.path());
    assert!(line.contains("leave the option out"), "{line}");
}

#[test]
fn strictness_is_about_what_changes_the_load() {
    let folder = folder();
    let lost = import(&["flights.jmx", "--strict"], folder.path()).with(1);
    assert!(lost.stderr.ends_with("things that change the load were not carried over\n"));
    assert!(!lost.stdout.is_empty());
    let text = fs::read_to_string(folder.path().join("urls.properties")).expect("a fixture");
    let sound: String = text
        .lines()
        .filter(|line| {
            !["stringBean", "followRedirects", "Content-Length", "test1", "test5", "test9"]
                .iter()
                .any(|word| line.contains(word))
        })
        .fold(String::new(), |text, line| text + line + "\n");
    fs::write(folder.path().join("sound.properties"), sound).expect("it can be written");
    let kept = import(&["sound.properties", "--strict"], folder.path()).with(0);
    assert!(
        kept.stderr.ends_with("everything that makes the load was carried over\n"),
        "{kept:#?}"
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_place_and_remedy() {
    let folder = folder();
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it can be written");
    };
    write("page.html", "<html>\n<body>\n</html>\n");
    write("cut.har", "{\"log\": {\"version\": \"1.2\",\n\"entries\": [");
    write("other.json", "{\"a\": 1}");
    write("plain.txt", "hello\n");
    write("dtd.jmx", "<?xml version=\"1.0\"?>\n<!DOCTYPE x SYSTEM \"file:///etc/passwd\">\n<x/>");
    for (file, words) in [
        ("nothing.har", ["cannot read nothing.har: ", ""]),
        ("page.html", ["page.html: line 3: no sound XML", "save the plan again"]),
        (
            "cut.har",
            ["cut.har: line 2, column 12: no JSON, or cut off", "save the recording again"],
        ),
        ("other.json", ["other.json: line 1, column 8: this is no HAR 1.2", "save the recording"]),
        ("plain.txt", ["plain.txt is none of the formats", "--from"]),
        ("dtd.jmx", ["dtd.jmx: line 2: a document type is not read", "take the line"]),
    ] {
        let line = refusal(&[file], folder.path());
        assert!(words.iter().all(|word| line.contains(word)), "{file}: {line}");
    }
    let line = refusal(&["shop.har", "--base", "http://x.example"], folder.path());
    assert!(line.starts_with("--base http://x.example: the file does not ask it"), "{line}");
    let line = refusal(&["plain.txt", "--from", "grinder"], folder.path());
    assert!(line.contains("is it a grinder.properties?"), "{line}");
}

#[test]
fn a_recorded_log_on_over_two_servers_is_played_as_it_was() {
    let provider = ReplyServer::start(|head, _| match head.starts_with("GET /login ") {
        true => Reply::answer(302, "Location: /form\r\nSet-Cookie: sso=1\r\n", ""),
        false => Reply::page("form"),
    });
    let there = format!("http://localhost:{}", provider.address.port());
    let login = format!("Location: {there}/login\r\n");
    let site = ReplyServer::start(move |head, _| match head.starts_with("GET /start ") {
        true => Reply::answer(302, &login, ""),
        false => Reply::page("hello"),
    });
    let recorder = Recorder::start(&[]);
    let mut client = Web::connect(&recorder.address);
    let asked =
        [site.url("/start"), format!("{there}/login"), format!("{there}/form"), site.url("/x")];
    for (url, status) in asked.iter().zip([302, 302, 200, 200]) {
        client.ask("GET", url, &[("X-Who", "me")], b"").with(status);
        recorder.recorded();
    }
    let folder = tempdir().expect("a temporary folder");
    keep_at_once(&recorder, folder.path());
    let made = import(&["s.har", "--out", "s.toml"], folder.path()).with(0);
    assert!(made.stderr.contains("2 requests; everything"), "{}", made.stderr);
    let (seen, there) = (site.asked().len(), provider.asked().len());
    let words = ["http", "load", "s.toml", "--lag", "10s", "--json"];
    let record = plumb(&words, folder.path()).with(0).json();
    let result = &record["results"][0];
    assert_eq!((&result["operations"], &result["failures"]), (&json!(4), &json!({})));
    let again = provider.asked();
    assert!(again[there + 1].contains("Cookie: sso=1\r\n"), "{}", again[there + 1]);
    // the base is resolved first
    assert!(site.asked().len() >= seen + 2);
}

#[test]
fn users_who_all_land_on_the_log_on_page_fail_what_was_recorded() {
    let lets_in = Arc::new(AtomicBool::new(true));
    let knows = Arc::clone(&lets_in);
    let site = ReplyServer::start(move |head, _| {
        let asked: Vec<&str> = head.split(' ').take(2).collect();
        match (asked.join(" ").as_str(), knows.load(Ordering::Relaxed)) {
            ("GET /login" | "GET /login?failed=1", _) => Reply::page("who are you?"),
            ("POST /login", true) => Reply::answer(302, "Location: /home\r\n", ""),
            ("POST /login", false) => Reply::answer(302, "Location: /login?failed=1\r\n", ""),
            (_, true) => Reply::page("hello"),
            (_, false) => Reply::answer(302, "Location: /login\r\n", ""),
        }
    });
    let folder = recorded(
        &site,
        &[
            ("POST", "/login", b"user=anna", 302),
            ("GET", "/home", b"", 200),
            ("GET", "/item", b"", 200),
        ],
    );
    let result = |code: i32| played(folder.path(), code);
    assert_eq!(result(0)["failures"], json!({}));
    lets_in.store(false, Ordering::Relaxed);
    let turned_away = result(1);
    let expected = json!({"check-failed": 1, "unexpected-status": 1});
    assert_eq!(turned_away["failures"], expected);
    let said = turned_away["validity"]["reasons"].to_string();
    assert!(said.contains("the answer is that of /login, expected that of /home"), "{said}");
    assert!(said.contains("it leads to /login, which is not followed"), "{said}");
}

/// A folder with the scenario `s.toml` of what was asked of `site`: methods, paths, bodies, and the
/// statuses of the answers.
fn recorded(site: &ReplyServer, asked: &[(&str, &str, &[u8], u16)]) -> TempDir {
    let recorder = Recorder::start(&[]);
    let mut client = Web::connect(&recorder.address);
    for (method, path, body, status) in asked {
        client.ask(method, &site.url(path), &[("X-Who", "me")], body).with(*status);
        recorder.recorded();
    }
    let folder = tempdir().expect("a temporary folder");
    keep_at_once(&recorder, folder.path());
    import(&["s.har", "--out", "s.toml"], folder.path()).with(0);
    folder
}

/// Writes what was recorded into `s.har`, with the times of a client that never waits: a busy machine
/// makes pauses, and what follows a pause is not what a redirect led to.
fn keep_at_once(recorder: &Recorder, folder: &Path) {
    let mut har: Value = serde_json::from_str(&recorder.text()).expect("a complete file");
    let entries = har["log"]["entries"].as_array_mut().expect("entries");
    for (number, entry) in entries.iter_mut().enumerate() {
        entry["startedDateTime"] = json!(format!("2026-01-01T00:00:00.{:03}Z", number * 10));
        entry["time"] = json!(5);
        entry["timings"] = json!({"send": 0, "wait": 5, "receive": 0});
    }
    fs::write(folder.join("s.har"), har.to_string()).expect("it can be written");
}

/// The result of a load with `s.toml`.
fn played(folder: &Path, code: i32) -> Value {
    let words = ["http", "load", "s.toml", "--lag", "10s", "--json"];
    plumb(&words, folder).with(code).json()["results"][0].clone()
}

#[test]
fn users_begin_each_turn_as_the_recording_did() {
    let is_played = Arc::new(AtomicBool::new(false));
    let plays = Arc::clone(&is_played);
    let site = ReplyServer::start(move |head, _| {
        let asked: Vec<&str> = head.split(' ').take(2).collect();
        match (asked.join(" ").as_str(), head.contains("sid=1")) {
            ("GET /login", true) => Reply::answer(302, "Location: /home\r\n", ""),
            // a session stands in the path for who has it not as a cookie yet
            ("POST /login", _) if plays.load(Ordering::Relaxed) => {
                let known = "Set-Cookie: sid=1\r\nLocation: /home;jsessionid=B2\r\n";
                Reply::answer(302, known, "")
            }
            ("POST /login", _) => Reply::answer(302, "Location: /home\r\n", ""),
            _ => Reply::page("hello"),
        }
    });
    let folder = recorded(
        &site,
        &[
            ("GET", "/login", b"", 200),
            ("POST", "/login", b"user=anna", 302),
            ("GET", "/home", b"", 200),
        ],
    );
    let file = folder.path().join("s.toml");
    let text = fs::read_to_string(&file).expect("the scenario");
    fs::write(&file, text.replace("iterations = 1", "iterations = 2")).expect("the same, longer");
    is_played.store(true, Ordering::Relaxed);
    assert_eq!(played(folder.path(), 0)["failures"], json!({}));
}
