//! `plumb ui` in a real browser: by keyboard, wide, on a phone, dark, with a run under way.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

mod kit;

use std::fs;
use std::path::Path;
use std::process::Command;

use kit::not_tried;
use kit::ui::UiServer;
use kit::{Program, Server, ping, read, until};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

/// Runs in the folder, enough for a change of level to show.
const RUNS: usize = 24;

/// Copies of the run in `faster` on consecutive days, then of the one in `slower`, each with its
/// digest.
fn history(runs: &Path, faster: &Path, slower: &Path) {
    for number in 0..RUNS {
        let from = if number < RUNS / 2 { faster } else { slower };
        let mut record: Value =
            serde_json::from_str(&read(&from.join("run.json"))).expect("a record");
        record["started"] = json!(format!("2026-10-{:02}T08:00:00Z", number + 1));
        record["target"]["address"] = json!("db1:3298");
        // what else ran on the machine of the test is no part of it
        let valid = json!({"valid": true, "latency_valid": true, "reasons": []});
        record["validity"] = valid.clone();
        record["results"][0]["validity"] = valid;
        let folder = runs.join(format!("day-{number:02}"));
        fs::create_dir_all(&folder).expect("a folder");
        let text = record.to_string();
        let sum: String = digest(&SHA256, text.as_bytes())
            .as_ref()
            .iter()
            .map(|it| format!("{it:02x}"))
            .collect();
        fs::write(folder.join("run.json"), text).expect("a file");
        fs::write(folder.join("SHA256SUMS"), format!("{sum}  run.json\n")).expect("a file");
    }
}

#[test]
fn the_app_is_used_by_keyboard_in_a_browser() {
    if let Err(error) = Command::new("chromium").arg("--version").output() {
        return not_tried(format!("chromium: {error}; ./test --full installs it"));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("runs");
    let server = Server::start(&[]);
    let delayed = Server::of_delay(&server.address, &["--delay", "1ms"]);
    for (name, address) in [("fast", &server.address), ("slow", &delayed.address)] {
        let out = folder.path().join(name).display().to_string();
        let words = ["--count", "500", "--warmup", "0s", "--out", &out];
        let ended = ping(address, &words, folder.path());
        assert!(ended.code.is_some_and(|code| code != 2), "{ended:#?}");
    }
    history(&runs, &folder.path().join("fast"), &folder.path().join("slow"));
    let app = UiServer::start(&runs, &[]);
    let out = runs.join("live").display().to_string();
    let words =
        ["net", "ping", &server.address, "--for", "300s", "--interval", "100ms", "--out", &out];
    let _live = Program::start(&words, folder.path());
    let browser = app.browser();
    until(|| browser.get("/").text().contains("Under way").then_some(()));
    let python = std::env::var("PLUMB_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/browser.py");
    // pictures are kept where somebody names a folder for them
    let pictures = std::env::var("PLUMB_TEST_PICTURES").ok();
    let pictures = pictures.unwrap_or_else(|| folder.path().display().to_string());
    let profile = folder.path().join("profile").display().to_string();
    let script = script.display().to_string();
    let words = [script.as_str(), "chromium", &profile, &pictures, &app.url];
    let ended = Program::start_as(Path::new(&python), &words, folder.path()).wait();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.contains("no page complains"), "{ended:#?}");
}
