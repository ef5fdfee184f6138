//! `plumb lock load pairs` against the advisory locks of a real PostgreSQL.

use crate::kit;

use std::path::Path;

use kit::postgres::{PASSWORD, Postgres, USER};
use kit::{Ended, PLUMB, Program};
use serde_json::Value;

/// Runs `pairs` to its end, with the login in the environment and nothing of this machine's user.
fn pairs(server: &Postgres, variables: &[&str], words: &[&str]) -> Ended {
    let (home, user) = (format!("HOME={}", server.folder().display()), format!("PGUSER={USER}"));
    let known = [home.as_str(), &user, "PGDATABASE=postgres"];
    let load = [PLUMB, "lock", "load", "pairs", &server.address, "--target-kind", "postgres"];
    let words = [&known[..], variables, &load, words].concat();
    let words = [&["-u", "PGPASSWORD"], &words[..]].concat();
    Program::start_as(Path::new("/usr/bin/env"), &words, server.folder()).wait()
}

fn kinds(result: &Value) -> usize {
    result["failures"].as_object().expect("kinds and counts").len()
}

#[test]
fn advisory_locks_are_taken_and_released_by_several_sessions() {
    let server = Postgres::start("");
    let password = format!("PGPASSWORD={PASSWORD}");
    let words = ["--connections", "3", "--depth", "4", "--count", "3000", "--json"];
    let ended = pairs(&server, &[&password], &words);
    assert!(!format!("{ended:?}").contains(PASSWORD), "nothing shows the password");
    let found = ended.json()["results"][0].clone();
    assert_eq!((&found["operations"], kinds(&found)), (&Value::from(3_000), 0), "{found:#}");
    let parts = found["parts"].as_array().expect("two kinds");
    let names: Vec<_> = parts.iter().map(|part| part["name"].as_str()).collect();
    assert_eq!(names, [Some("take"), Some("release")]);
    let counts: Vec<_> = parts.iter().filter_map(|part| part["operations"].as_u64()).collect();
    // each of the clients may have ended in the middle of a pair
    assert!(counts[0] + counts[1] == 3_000 && counts[0].abs_diff(counts[1]) <= 3, "{counts:?}");
    assert_eq!(found["figures"][0]["name"], "pairs");
}

#[test]
fn a_login_that_is_refused_says_why_and_what_to_try() {
    let rules = "host all all 127.0.0.1/32 scram-sha-256\n";
    let server = Postgres::with_files("", &[("pg_hba.conf", rules)]);
    let none = pairs(&server, &[], &["--count", "10"]).with(2).stderr;
    assert!(none.contains("asks for a password") && none.contains("PGPASSWORD"), "{none}");
    let wrong = pairs(&server, &["PGPASSWORD=open-sesame-8"], &["--count", "10"]).with(2).stderr;
    assert!(wrong.contains("password authentication failed"), "{wrong}");
    let file = server.folder().join("secret");
    std::fs::write(&file, format!("{PASSWORD}\n")).expect("it is ours");
    let file = file.display().to_string();
    let words = ["--count", "10", "--json", "--password-file", &file];
    let found = pairs(&server, &[], &words).json()["results"][0].clone();
    assert_eq!((&found["operations"], kinds(&found)), (&Value::from(10), 0), "{found:#}");
    let tls = pairs(&server, &[], &["--count", "10", "--tls"]).with(2).stderr;
    assert!(tls.contains("without TLS only"), "{tls}");
}

#[test]
fn a_password_is_not_sent_in_clear_text_and_none_is_asked_for_where_all_are_trusted() {
    let rules = "host postgres all 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 password\n";
    let server = Postgres::with_files("", &[("pg_hba.conf", rules)]);
    let trusted = pairs(&server, &[], &["--count", "100", "--json"]).json();
    assert_eq!(trusted["results"][0]["operations"], 100);
    let words = ["PGPASSWORD=open-sesame-7", "PGDATABASE=template1"];
    let clear = pairs(&server, &words, &["--count", "10"]).with(2).stderr;
    assert!(clear.contains("clear text"), "{clear}");
}

#[test]
fn a_server_that_speaks_something_else_is_named() {
    let server = kit::Server::of_locks();
    let words = ["lock", "load", "pairs", &server.address, "--target-kind", "postgres"];
    let words = [&["PGUSER=me", PLUMB][..], &words, &["--count", "10", "--timeout", "2s"]].concat();
    let ended = Program::start_as(Path::new("/usr/bin/env"), &words, Path::new("."));
    let said = ended.wait().with(2).stderr;
    assert!(said.contains(&server.address), "{said}");
}
