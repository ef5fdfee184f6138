//! What other processes did meanwhile: known, or said not to be; and a limit that was raised.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should end")]

mod kit;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use kit::{Ended, PLUMB, Program, Server};
use serde_json::Value;

/// A process that works until it is dropped; bounded, should nobody drop it.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        let words = "i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done";
        let child = Command::new("sh").args(["-c", words]).stdout(Stdio::null()).spawn().unwrap();
        Self(child)
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `plumb` under what the environment says of the limit.
fn plumb_under(limit: &str, words: &[&str], folder: &Path) -> Ended {
    let told = [("PLUMB_FOREIGN_LIMIT", limit)];
    Program::start_told(Path::new(PLUMB), words, folder, &told).wait_within(4 * kit::PATIENCE)
}

fn ping<'a>(address: &'a str, words: &[&'a str]) -> Vec<&'a str> {
    [&["net", "ping", address, "--warmup", "0s"], words].concat()
}

#[test]
fn a_limit_of_the_environment_that_is_none_is_named_and_an_empty_one_is_as_good_as_none() {
    let at = tempfile::tempdir().unwrap();
    let words = ["net", "ping", "127.0.0.1", "--print-options"];
    let wrong = plumb_under("5", &words, at.path()).with(2);
    let said = "for 'PLUMB_FOREIGN_LIMIT of the environment': `5` has no unit";
    assert!(wrong.stderr.contains(said), "{wrong:?}");
    let own = [&words[..], &["--foreign-limit=7"]].concat();
    let wrong = plumb_under("5%", &own, at.path()).with(2);
    assert!(wrong.stderr.contains("'7' for '--foreign-limit <PERCENT>'"), "{wrong:?}");
    let usual = plumb_under("", &words, at.path()).with(0);
    assert!(usual.stdout.contains("foreign-limit = \"5%\""), "{usual:?}");
}

#[test]
fn others_that_work_are_named_also_in_a_short_run() {
    let at = tempfile::tempdir().unwrap();
    let echo = Server::start(&[]);
    let hogs: Vec<Hog> = (0..4).map(|_| Hog::start()).collect();
    let words = ping(&echo.address, &["--for", "300ms", "--json", "--out", "r"]);
    // of a thousand processors, four are more than this
    let record = plumb_under("0.1%", &words, at.path()).with(1).json();
    let host = &record["results"][0]["host"];
    assert!(host["foreign_pct"].as_f64().unwrap() > 0.1, "{host}");
    assert!(host["foreign_source"].is_string(), "{host}");
    let named = host["foreign"].as_array().unwrap();
    assert!((1..=3).contains(&named.len()), "{host}");
    let shares: Vec<f64> = named.iter().map(|it| it["share_pct"].as_f64().unwrap()).collect();
    assert!(shares.is_sorted_by(|one, other| one >= other), "{shares:?}");
    let pid = |it: &Value| it["pid"].as_u64().unwrap();
    let tested: Vec<u64> =
        host["tested"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    assert!(named.iter().all(|it| !tested.contains(&pid(it))), "{host}");
    let text = record["validity"]["reasons"][0]["text"].as_str().unwrap();
    let first = format!("mostly {} (pid {}, ", named[0]["name"].as_str().unwrap(), pid(&named[0]));
    assert!(
        text.starts_with("foreign load: other processes took ") && text.contains(&first),
        "{text}"
    );
    assert!(text.ends_with("more than the 0.1 % allowed"), "{text}");
    drop(hogs);
}

#[test]
fn a_run_that_nobody_watched_is_not_checked() {
    let at = tempfile::tempdir().unwrap();
    let echo = Server::start(&[]);
    let words = ping(&echo.address, &["--count", "300", "--host-interval", "0s", "--out", "r"]);
    let ended = plumb_under("5%", &words, at.path()).with(3);
    assert!(ended.stdout.lines().next().unwrap().ends_with("NOT CHECKED"), "{ended:#?}");
    let words: Vec<&str> = ended.stdout.split_whitespace().collect();
    let said = words.join(" ");
    for part in [
        "Whether this run is valid could not be checked. This machine was not watched",
        "(--host-interval 0s)",
        "with --foreign-limit 100%",
        "NOT CHECKED. It is not known whether its figures may be quoted.",
        "not checked: this machine was not watched",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let page = std::fs::read_to_string(at.path().join("r/report.html")).unwrap();
    assert!(page.contains("NOT CHECKED"), "the page says it, too");
    let markdown = plumb_under("5%", &["report", "r", "--markdown"], at.path());
    assert!(markdown.stdout.contains("**NOT CHECKED**"), "{markdown:#?}");
}

#[test]
fn a_raised_limit_is_part_of_the_verdict_and_so_is_who_raised_it() {
    let at = tempfile::tempdir().unwrap();
    let echo = Server::start(&[]);
    std::fs::write(at.path().join("x.toml"), "foreign-limit = \"100%\"\n").unwrap();
    let words = ["--count", "300", "--host-interval", "0s", "--full"];
    let of = |limit: &str, more: &[&str]| {
        plumb_under(limit, &ping(&echo.address, &[&words[..], more].concat()), at.path()).with(0)
    };
    for (limit, more, source) in [
        ("100%", vec!["--out", "a"], "environment"),
        ("5%", vec!["--out", "b", "--foreign-limit", "100%"], "option"),
        ("5%", vec!["--out", "c", "--options", "x.toml"], "options-file"),
    ] {
        let out = of(limit, &more).stdout;
        let said = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.lines().next().unwrap().ends_with("VALID, limit raised to 100 %"), "{out}");
        assert!(said.contains("the limit was raised from 5 % to 100 %"), "{said}");
        let folder = at.path().join(more[1]);
        let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
        let record: Value = serde_json::from_str(&text).unwrap();
        let kept = &record["validity"]["foreign_limit"];
        assert_eq!((kept["share"].as_str(), kept["source"].as_str()), (Some("100%"), Some(source)));
        let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(page.contains("VALID, limit raised to 100"), "the page says it, too");
    }
    let together = plumb_under("5%", &["report", "a", "b", "c"], at.path()).with(0).stdout;
    let said = together.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("limit raised to 100 %"), "{together}");
    let page = std::fs::read_to_string(at.path().join("a/report.html")).unwrap();
    assert!(page.contains("PLUMB_FOREIGN_LIMIT"), "who raised it");
}

#[test]
fn both_sides_have_their_own_processor_time_and_totals_are_their_parts() {
    let at = tempfile::tempdir().unwrap();
    let echo = Server::start(&[]);
    // two seconds of processor time on each side are 200 clock ticks and more
    let words = ping(&echo.address, &["--count", "200000", "--json", "--out", "r"]);
    let record = plumb_under("100%", &words, at.path()).with(0).json();
    let cpu = &record["results"][0]["cpu"];
    for side in ["client", "server"] {
        let whole = cpu[format!("{side}_ns_per_op")].as_f64().unwrap();
        let Some(parts) = cpu[side].as_object() else {
            // a faster machine than any that is known needs no two seconds for it
            assert!(whole * 200_000.0 < 2.1e9, "{cpu}");
            continue;
        };
        let sum =
            parts["user_ns_per_op"].as_f64().unwrap() + parts["system_ns_per_op"].as_f64().unwrap();
        assert!((sum / whole - 1.0).abs() < 0.08, "{side}: {cpu}");
    }
}
