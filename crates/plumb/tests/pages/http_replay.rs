//! Access logs: what a server is asked again, and when.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;

use kit::http::{Reply, ReplyServer};
use kit::scenario::field;
use kit::{Ended, plumb};
use serde_json::json;
use tempfile::{TempDir, tempdir};

/// A folder with a log of two seconds: pages, images that a cache had, one page that is not there, an
/// order, and lines that nobody can read.
fn folder() -> TempDir {
    let mut log = String::new();
    for second in 0..2 {
        for number in 0..10 {
            let id = 10 * second + number;
            log += &format!(
                "10.0.0.{number} - - [21/Nov/2026:03:16:4{second} +0100] \"GET /orders/{id}?sid=s3cret HTTP/1.1\" 200 5\n\
                 10.0.0.{number} - - [21/Nov/2026:03:16:4{second} +0100] \"GET /logo.png HTTP/1.1\" 304 0\n"
            );
        }
    }
    log += "10.0.0.1 - - [21/Nov/2026:03:16:41 +0100] \"GET /gone HTTP/1.1\" 404 5\n\
            10.0.0.1 - - [21/Nov/2026:03:16:41 +0100] \"POST /orders HTTP/1.1\" 201 5\n\
            nobody can read this\n";
    let folder = tempdir().expect("a temporary folder");
    fs::write(folder.path().join("access.log"), log).expect("it can be written");
    folder
}

fn import(folder: &TempDir, words: &[&str]) -> Ended {
    plumb(&[&["http", "import", "access.log"], words].concat(), folder.path())
}

#[test]
fn a_log_is_asked_again_and_each_shape_of_path_is_a_row() {
    let site = ReplyServer::start(|head, _| match head {
        head if head.contains(" /gone ") => Reply::answer(404, "", "no"),
        _ => Reply::page("hello"),
    });
    let folder = folder();
    let said =
        import(&folder, &["--base", &site.url(""), "--out", "r.toml", "--speed", "4"]).with(0);
    for words in [
        "1 line (line 42): POST may change something; left out without --all-methods",
        "1 line (line 43): no time such as",
        "20 lines (line 1, 3, 5, ...): secrets in the query are MASKED",
    ] {
        assert!(said.stderr.contains(words), "{words}: {}", said.stderr);
    }
    for file in ["r.toml", "r.csv"] {
        let text = fs::read_to_string(folder.path().join(file)).expect("it was written");
        assert!(!text.contains("s3cret"), "{file}: {text}");
    }
    let played = plumb(&["http", "load", "r.toml", "--lag", "10s", "--json"], folder.path());
    let record = played.json();
    let parts = field(&record, "/results/0/parts").as_array().expect("a list");
    let row = |name: &str| {
        let part = parts.iter().find(|part| part["name"] == name);
        let part = part.unwrap_or_else(|| panic!("no {name}: {parts:#?}"));
        (part["operations"].clone(), part["codes"].clone())
    };
    assert_eq!(row("GET /orders/*"), (json!(20), json!({"200": 20})));
    assert_eq!(row("GET /*.png"), (json!(20), json!({"200": 20})));
    assert_eq!(row("GET /gone"), (json!(1), json!({"404": 1})));
    assert_eq!(field(&record, "/results/0/failures"), &json!({}));
    let asked = site.asked();
    assert_eq!(asked.len(), 41);
    assert!(asked.iter().any(|head| head.starts_with("GET /orders/19?sid=MASKED ")));
}

#[test]
fn what_cannot_be_played_is_refused() {
    let folder = folder();
    let refused = import(&folder, &[]).with(2);
    assert!(refused.stderr.contains("name the scenario with --out SCENARIO.toml"), "{refused:?}");
    fs::write(folder.path().join("r.csv"), "").expect("it can be written");
    let refused = import(&folder, &["--out", "r.toml"]).with(2);
    assert!(refused.stderr.contains("r.csv is there already"), "{refused:?}");
    assert!(!folder.path().join("r.toml").exists());
    let refused = import(&folder, &["--out", "x.toml", "--speed", "0"]).with(2);
    assert!(refused.stderr.contains("expected a number from 0.001"), "{refused:?}");
    fs::write(folder.path().join("access.log"), "nobody\n").expect("it can be written");
    let refused = import(&folder, &["--from", "access-log", "--out", "x.toml"]).with(2);
    assert!(refused.stderr.contains("no line of it is a request"), "{refused:?}");
}
