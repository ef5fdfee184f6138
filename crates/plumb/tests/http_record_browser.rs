//! `plumb http record` between a real browser and the application server.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

mod kit;

use std::fs;
use std::path::Path;
use std::process::Command;

use kit::authority::Authority;
use kit::http2::Nghttpd;
use kit::not_tried;
use kit::recorder::Recorder;
use kit::{Program, Server};
use serde_json::Value;
use tempfile::tempdir;

const PAGE: &str = "/sap/bc/bsp/it03/text1kb.htm";

/// A browser; why not, where none is installed.
fn browser() -> Result<&'static Path, String> {
    let program = Path::new("chromium");
    match Command::new(program).arg("--version").output() {
        Ok(_) => Ok(program),
        Err(error) => Err(format!("chromium: {error}; ./test --full installs it")),
    }
}

/// Opens `url` without a window, and gives back the page as it ended up.
fn open(browser: &Path, url: &str, recorder: &Recorder, words: &[&str]) -> String {
    let profile = tempdir().expect("a temporary folder");
    let profile_word = format!("--user-data-dir={}", profile.path().display());
    let proxy = format!("--proxy-server=http://{}", recorder.address);
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--proxy-bypass-list=<-loopback>",
        "--dump-dom",
        &profile_word,
        &proxy,
    ];
    let words = [&fixed[..], words, &[url]].concat();
    Program::start_as(browser, &words, profile.path()).wait().with(0).stdout
}

/// What was asked of `place`, in the order of the file: URL and status.
fn asked(recorder: &Recorder, place: &str) -> Vec<(String, i64)> {
    let entries = recorder.entries();
    let url = |entry: &Value| entry["request"]["url"].as_str().unwrap_or_default().to_owned();
    let pairs = entries.iter().map(|entry| (url(entry), entry["response"]["status"].as_i64()));
    pairs
        .filter(|(url, _)| url.contains(place) && !url.ends_with("favicon.ico"))
        .map(|(url, status)| (url, status.expect("a status")))
        .collect()
}

#[test]
fn pages_that_a_browser_opens_are_recorded_in_their_order() {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(reason) => return not_tried(reason),
    };
    let server = Server::of_pages(&["--quiet"]);
    let place = server.address.clone();
    let recorder = Recorder::start(&[]);
    let page = open(browser, &format!("http://demo:demo@{place}{PAGE}"), &recorder, &[]);
    assert!(page.contains("<h1>Hello World</h1>") && page.contains("Lufthansa"), "{page}");
    let status = open(browser, &format!("http://{place}/status"), &recorder, &[]);
    assert!(status.contains("Work processes") && status.contains("Dispatcher queue"), "{status}");
    // it is written down behind the answer, and a busy machine takes its time
    recorder.log(&format!("recorded GET http://{place}/status 200"));
    let entries = asked(&recorder, &place);
    // challenged, sent on to the address with its session, then the page; then the other page
    let statuses: Vec<i64> = entries.iter().map(|(_, status)| *status).collect();
    assert_eq!(statuses[..3], [401, 302, 200], "{entries:#?}");
    let last = entries.last().expect("entries");
    assert_eq!(*last, (format!("http://{place}/status"), 200), "{entries:#?}");
    let text = recorder.text();
    assert!(text.contains("Basic MASKED") && !text.contains("ZGVtbzpkZW1v"), "{entries:#?}");
}

#[test]
fn a_browser_that_trusts_the_authority_is_recorded_over_tls() {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(reason) => return not_tried(reason),
    };
    let folder = tempdir().expect("a temporary folder");
    let theirs = Authority::new(folder.path(), "theirs");
    let shown = theirs.sign("127.0.0.1");
    let server = Server::of_pages(&["--quiet", "--cert", &shown.cert, "--key", &shown.key]);
    let place = server.address.clone();
    let recorder = Recorder::start(&["--intercept", "127.0.0.1", "--ca", &theirs.ca()]);
    let line = recorder.log("--ignore-certificate-errors-spki-list=");
    let trust = line.split(' ').find(|word| word.contains("spki-list")).expect("it is there");
    let url = format!("https://{place}/status");
    let page = open(browser, &url, &recorder, &[trust]);
    assert!(page.contains("</html>"), "{page}");
    recorder.log(&format!("recorded GET {url} 200"));
    assert_eq!(asked(&recorder, &place), [(url.clone(), 200)]);
    // the same browser without the word does not let itself be read
    let page = open(browser, &url, &recorder, &[]);
    assert!(!page.contains("work process"), "{page}");
    recorder.log("does it trust the authority?");
    assert_eq!(asked(&recorder, &place).len(), 1);
    assert!(Path::new(&recorder.authority()).exists());
}

#[test]
fn a_browser_speaks_http2_where_the_server_does() {
    let browser = match browser() {
        Ok(browser) => browser,
        Err(reason) => return not_tried(reason),
    };
    let folder = tempdir().expect("a temporary folder");
    let theirs = Authority::new(folder.path(), "theirs");
    let parts: String = (0..12).map(|part| format!("<img src=\"/{part}.svg\">")).collect();
    fs::write(folder.path().join("page.html"), format!("<h1>Parts</h1>{parts}")).expect("a file");
    for part in 0..12 {
        let image = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        fs::write(folder.path().join(format!("{part}.svg")), image).expect("a file");
    }
    let server = match Nghttpd::encrypted(folder.path(), &theirs.sign("127.0.0.1")) {
        Ok(server) => server,
        Err(reason) => return not_tried(reason),
    };
    let recorder = Recorder::start(&["--intercept", "127.0.0.1", "--ca", &theirs.ca()]);
    let line = recorder.log("--ignore-certificate-errors-spki-list=");
    let trust = line.split(' ').find(|word| word.contains("spki-list")).expect("it is there");
    let page = open(browser, &server.url("/page.html"), &recorder, &[trust]);
    assert!(page.contains("<h1>Parts</h1>"), "{page}");
    let place = server.url("");
    while asked(&recorder, &place).len() < 13 {
        recorder.recorded();
    }
    let entries = recorder.entries();
    let of_page = |entry: &&Value| {
        let url = entry["request"]["url"].as_str().unwrap_or_default();
        url.starts_with(&place) && !url.ends_with("favicon.ico")
    };
    let entries: Vec<&Value> = entries.iter().filter(of_page).collect();
    assert_eq!(entries.len(), 13);
    for entry in &entries {
        assert_eq!(entry["response"]["httpVersion"], "HTTP/2.0");
        assert_eq!(entry["connection"], entries[0]["connection"], "they share one connection");
    }
}
