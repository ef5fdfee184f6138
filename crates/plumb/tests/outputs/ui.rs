//! `plumb ui` over HTTP: who may ask, what is shown, what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::kit::authority::TestAuthority;
use crate::kit::ui::{Browser, UiServer};
use crate::kit::web::Web;
use crate::kit::{PLUMB, Program, Server, ping, plumb, until};

/// Three runs of `net ping` in a folder, and something that is broken.
fn runs() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs = folder.path().join("runs");
    let server = Server::start(&[]);
    for name in ["a", "b", "c"] {
        let out = runs.join(name).display().to_string();
        let words = ["--count", "200", "--warmup", "0s", "--out", &out];
        let ended = ping(&server.address, &words, folder.path());
        assert!(ended.code.is_some_and(|code| code != 2), "{ended:#?}");
    }
    let broken = runs.join("<script>alert(1)<");
    fs::create_dir(&broken).expect("a folder");
    fs::write(broken.join("run.json"), "{\"schema\":").expect("a file");
    (folder, runs)
}

/// The list once everything has been read.
fn list(browser: &Browser) -> String {
    until(|| {
        let page = browser.get("/").with(200).text();
        (!page.contains("The folders are being")).then_some(page)
    })
}

#[test]
fn runs_are_listed_shown_compared_and_followed_over_time() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    let page = list(&browser);
    for part in ["/show?path=a\"", "/show?path=c\"", "net ping", "cannot be read"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert(1)&lt;"));
    let found = browser.get("/?q=ping+alert").with(200).text();
    assert!(found.contains("Nothing is like this"), "{found}");
    let run = browser.get("/show?path=a").with(200);
    let report = plumb(&["report", &runs.join("a").display().to_string(), "--json"], &runs).with(0);
    let started = report.json()["started"].as_str().expect("a time").to_owned();
    assert!(run.text().contains(&started) && run.text().contains("class=\"bar\""));
    let policy = run.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'"), "{policy}");
    let compared = browser.get("/compare?run=b&run=a").with(200).text();
    assert!(compared.contains("not interleaved") || compared.contains("separate"), "{compared}");
    let trends = browser.get("/trends").with(200).text();
    let (_, rest) = trends.split_once("/trend?series=").expect("a series");
    let series = rest.split('"').next().expect("an address");
    let trend = browser.get(&format!("/trend?series={series}")).with(200).text();
    assert!(trend.contains("median response time") && trend.contains("No change of level"));
    assert_eq!(trend.matches("<figure").count(), trend.matches("</figure>").count());
    // the index is a file of ours, and made again without it
    app.program.signal(Signal::TERM);
    app.program.wait().with(0);
    let index = runs.join(".plumb-ui.sqlite");
    fs::remove_file(&index).expect("an index");
    let app = UiServer::start(&runs, &["--quiet"]);
    assert!(list(&app.browser()).contains("/show?path=a\"") && index.exists());
}

#[test]
fn nobody_sees_or_changes_anything_without_the_secret() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    let stranger = Browser { address: app.address.clone(), cookie: String::new() };
    for path in ["/", "/show?path=a", "/trends", "/ui.js", "/work", "/live/events?path=a", "/x"] {
        let reply = stranger.get(path).with(401);
        assert!(!reply.text().contains("net ping") && reply.text().contains("door.js"), "{path}");
        assert!(reply.header("content-security-policy").contains("frame-ancestors 'none'"));
    }
    stranger.get("/door.js").with(200);
    for wrong in ["", "x", &app.token()[1..], &app.token().to_uppercase()] {
        stranger.post("/session", &format!("secret={wrong}")).with(403);
    }
    for path in ["/work/checkup", "/baselines/set", "/work/stop"] {
        stranger.post(path, "for=2s&name=x&run=a&id=1").with(401);
    }
    // a name that was made to point here, and a page of another site in a browser that is logged on
    let known = app.browser();
    let own = format!("http://{}", app.address);
    let host = app.address.as_str();
    let cookie = ("Cookie", known.cookie.as_str());
    known.ask("GET", "/", &[("Host", "evil.example"), cookie], "").with(421);
    known
        .ask("GET", "/", &[("Host", host), ("Origin", "http://evil.example"), cookie], "")
        .with(421);
    known.ask("POST", "/baselines/set", &[("Host", host), cookie], "name=x&run=a").with(403);
    for origin in ["http://evil.example", "null", "https://127.0.0.1"] {
        let headers = [("Host", host), ("Origin", origin), cookie];
        known.ask("POST", "/baselines/set", &headers, "name=x&run=a").with(421);
    }
    known.ask("PUT", "/", &[("Host", host), ("Origin", &own), cookie], "").with(405);
    assert!(!runs.join("baselines.json").exists());
    known.get("/").with(200);
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let (folder, runs) = runs();
    fs::create_dir(folder.path().join("outside")).expect("a folder");
    fs::copy(runs.join("a/run.json"), folder.path().join("outside/run.json")).expect("a copy");
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    list(&browser);
    for path in ["..%2Foutside", "a%2F..%2F..%2Foutside", "%2Fetc%2Fpasswd", "", ".", "a%00", "%ff"]
    {
        browser.get(&format!("/show?path={path}")).with(404);
        browser.get(&format!("/live/events?path={path}")).with(404);
        browser.get(&format!("/compare?run=a&run={path}")).with(404);
        browser.post("/baselines/set", &format!("name=x&run={path}")).with(404);
    }
    browser.get("/../../etc/passwd").with(404);
    browser.get("/compare?run=a").with(400);
    let broken = browser.get("/show?path=%3Cscript%3Ealert(1)%3C").with(422).text();
    assert!(!broken.contains("<script>alert"), "{broken}");
    let hostile = browser.get("/?q=%3Cscript%3Ealert(2)%3C%2Fscript%3E%22%20x%3D").with(200).text();
    assert!(!hostile.contains("<script>alert") && !hostile.contains("\" x="), "{hostile}");
}

#[test]
fn requests_that_are_too_large_and_clients_that_hang_harm_nobody() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    let large = "x".repeat(100_000);
    browser.post("/baselines/set", &format!("name={large}")).with(413);
    let mut head = Web::connect(&app.address);
    head.raw(format!("GET /{large} HTTP/1.1\r\nHost: {}\r\n\r\n", app.address).as_bytes());
    assert!(head.answer().is_none_or(|reply| reply.status >= 400));
    // they say half of something and wait: somebody else is served beside them
    let hung: Vec<Web> = (0..40)
        .map(|_| {
            let mut web = Web::connect(&app.address);
            web.raw(b"GET / HTTP/1.1\r\nHost: ");
            web
        })
        .collect();
    browser.get("/").with(200);
    drop(hung);
    let mut garbage = Web::connect(&app.address);
    garbage.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n");
    assert!(garbage.answer().is_none_or(|reply| reply.status == 400));
    browser.get("/").with(200);
}

#[test]
fn a_baseline_has_a_name_and_can_be_forgotten() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    list(&browser);
    let set =
        |name: &str, run: &str| browser.post("/baselines/set", &format!("name={name}&run={run}"));
    for name in ["", "a+b", "-x", "%3Cb%3E", &"x".repeat(81)] {
        set(name, "a").with(400);
    }
    set("x", "nowhere").with(404);
    set("x", "%3Cscript%3Ealert(1)%3C").with(400);
    let verdict = plumb(&["report", &runs.join("a").display().to_string(), "--json"], &runs).json();
    if verdict["validity"]["valid"] != true {
        // a machine this busy measures nothing that could be a baseline
        set("main", "a").with(400);
        return;
    }
    set("main", "a").with(303);
    // a measurement that was broken off may have valid results as far as it came
    let cut = runs.join("cut");
    fs::create_dir(&cut).expect("a folder");
    let record = fs::read_to_string(runs.join("a/run.json")).expect("a record");
    let record = record.replace("\"status\": \"complete\"", "\"status\": \"interrupted\"");
    fs::write(cut.join("run.json"), record).expect("a file");
    list(&browser);
    let refused = set("main", "cut").with(400).text();
    assert!(refused.contains("did not come to its end. Measure again."), "{refused}");
    assert!(browser.get("/baselines").with(200).text().contains("<strong>main</strong>"));
    let kept = fs::read_to_string(runs.join("baselines.json")).expect("a file");
    assert!(kept.contains("plumb.baselines/1") && kept.contains("\"run\": \"a\""), "{kept}");
    assert!(browser.get("/show?path=b").with(200).text().contains("Against main"));
    browser.post("/baselines/remove", "name=main").with(303);
    assert!(!browser.get("/baselines").with(200).text().contains("<strong>main</strong>"));
}

#[test]
fn a_run_under_way_is_followed_to_its_end() {
    let (folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    let server = Server::start(&[]);
    let out = runs.join("live").display().to_string();
    let words =
        ["net", "ping", &server.address, "--for", "60s", "--interval", "100ms", "--out", &out];
    let run = Program::start(&words, folder.path());
    until(|| {
        let page = browser.get("/").with(200).text();
        page.contains("Under way").then_some(())
    });
    let page = browser.get("/show?path=live").with(200).text();
    assert!(page.contains("id=\"live\" data-path=\"live\""), "{page}");
    let mut events = app.events(&browser, "/live/events?path=live");
    assert!(events.next("interval").contains("\"p50_ns\":"));
    run.signal(Signal::INT);
    run.wait();
    events.next("ended");
    assert!(browser.get("/show?path=live").with(200).text().contains("class=\"bar\""));
}

#[test]
fn a_checkup_is_started_from_the_page_and_ends_with_the_app() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    browser.post("/work/checkup", "for=1x").with(400);
    browser.post("/work/checkup", "for=2s&landscape=..%2Fx.toml").with(400);
    browser.post("/work/experiment", "file=%3B+touch+x").with(400);
    let begun = browser.post("/work/checkup", "for=600s").with(303);
    let page = begun.header("location").to_owned();
    assert!(browser.get(&page).with(200).text().contains("plumb checkup --for="));
    browser.post("/work/checkup", "for=2s").with(409);
    let mut events = app.events(&browser, &page.replace("/job", "/job/events"));
    let line = events.next("line");
    assert!(line.contains("measurements of this machine"), "{line}");
    let processes = || processes_with("checkup", &runs);
    assert_eq!(processes(), 1);
    app.program.signal(Signal::TERM);
    app.program.wait().with(0);
    assert_eq!(processes(), 0);
}

#[test]
fn an_app_that_is_killed_takes_its_commands_along() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &[]);
    app.browser().post("/work/checkup", "for=600s").with(303);
    until(|| (processes_with("checkup", &runs) == 1).then_some(()));
    let mut events = app.events(&app.browser(), "/job/events?id=1");
    events.next("line"); // from here on it listens to signals
    app.program.signal(Signal::KILL);
    app.program.wait();
    until(|| (processes_with("checkup", &runs) == 0).then_some(()));
}

#[test]
fn an_experiment_file_is_started_and_nothing_else_is() {
    let (folder, runs) = runs();
    let files = folder.path().join("files");
    fs::create_dir(&files).expect("a folder");
    fs::write(files.join("bad.toml"), "nothing = 1\n").expect("a file");
    fs::write(files.join("note.txt"), "x").expect("a file");
    let app = UiServer::start(&runs, &["--experiments", files.to_str().expect("a plain path")]);
    let browser = app.browser();
    let page = browser.get("/work").with(200).text();
    assert!(page.contains("bad.toml") && !page.contains("note.txt"), "{page}");
    browser.post("/work/experiment", "file=note.txt").with(400);
    browser.post("/work/experiment", "file=..%2Ffiles%2Fbad.toml").with(400);
    let begun = browser.post("/work/experiment", "file=bad.toml").with(303);
    let place = begun.header("location").to_owned();
    let page = until(|| {
        let page = browser.get(&place).with(200).text();
        page.contains("it did not run (2)").then_some(page)
    });
    assert!(page.contains("bad.toml"), "{page}");
}

#[test]
fn a_ladder_is_one_line_and_its_page_the_report_of_its_steps() {
    let (_folder, runs) = runs();
    let blocks = runs.join("lad/blocks");
    fs::create_dir_all(&blocks).expect("folders");
    for (run, step) in [("a", "001-connections-1"), ("b", "002-connections-2")] {
        fs::rename(runs.join(run), blocks.join(step)).expect("the same file system");
    }
    let ladder = r#"{"schema":"plumb.ladder/1","started":"2026-11-21T10:00:00Z","stepped":"connections",
        "steps":[{"level":1,"counts":true},{"level":2,"counts":true}],"interrupted":false}"#;
    fs::write(runs.join("lad/ladder.json"), ladder).expect("a file");
    let app = UiServer::start(&runs, &[]);
    let browser = app.browser();
    let page = list(&browser);
    assert!(page.contains("/show?path=lad\"") && page.contains("connections 1 to 2"), "{page}");
    assert!(!page.contains("lad/blocks") && !page.contains("lad%2Fblocks"), "{page}");
    let shown = browser.get("/show?path=lad").with(200).text();
    assert!(shown.contains("2 runs") && shown.contains("class=\"bar\""), "{shown}");
    let gone = browser.get("/compare?run=c&run=away").with(404).text();
    assert!(gone.contains("nothing called away"), "{gone}");
}

#[test]
fn an_app_that_only_looks_starts_nothing_and_changes_no_baseline() {
    let (_folder, runs) = runs();
    let app = UiServer::start(&runs, &["--read-only"]);
    let browser = app.browser();
    list(&browser);
    assert!(!browser.get("/show?path=a").with(200).text().contains("/baselines/set"));
    browser.post("/work/checkup", "for=2s").with(400);
    browser.post("/baselines/set", "name=x&run=a").with(403);
    assert!(!runs.join("baselines.json").exists());
    let set = r#"{"schema":"plumb.baselines/1","baselines":[
        {"name":"main","run":"a","record":"x","set":"2026-11-21T09:00:00Z","plan":"net ping"}]}"#;
    fs::write(runs.join("baselines.json"), set).expect("a file");
    let page = browser.get("/baselines").with(200).text();
    assert!(page.contains("<strong>main</strong>"), "{page}");
    assert!(!page.contains("/baselines/remove"), "{page}");
    browser.post("/baselines/remove", "name=main").with(403);
    assert_eq!(fs::read_to_string(runs.join("baselines.json")).expect("a file"), set);
}

#[test]
fn what_others_reach_needs_tls_and_a_password() {
    let (folder, runs) = runs();
    let path = runs.to_str().expect("a plain path");
    let authority = TestAuthority::new();
    let signed = authority.authority.sign("127.0.0.1");
    let refused = |words: &[&str], told: &[(&str, &str)], said: &str| {
        let words = [&["ui", path], words].concat();
        let ended =
            Program::start_told(Path::new(PLUMB), &words, folder.path(), told).wait().with(2);
        assert!(ended.stderr.contains(said), "{said}: {}", ended.stderr);
    };
    let password = [("PLUMB_UI_PASSWORD", "correct horse battery")];
    let tls = ["--cert", signed.cert.as_str(), "--key", signed.key.as_str()];
    refused(&["--listen", "0.0.0.0:0"], &password, "--cert and --key");
    let open = [&["--listen", "0.0.0.0:0"][..], &tls].concat();
    refused(&open, &[], "PLUMB_UI_PASSWORD");
    refused(&open, &[("PLUMB_UI_PASSWORD", "short")], "12 to 1000 letters");
    refused(&open, &password, "--name");
    refused(&["--cert", &signed.cert], &[], "belong together");
    refused(&["--password-file", "/nowhere"], &[], "/nowhere");
    refused(&["--listen", "unix:/tmp/x"], &[], "socket file");
    refused(&["--experiments", "/nowhere"], &[], "/nowhere");
    let nowhere = plumb(&["ui", "/nowhere"], folder.path()).with(2);
    assert!(nowhere.stderr.contains("/nowhere is no folder"), "{}", nowhere.stderr);
    // with a password on loopback there is no token, and the password opens
    let words = ["ui", path];
    let app = Program::start_told(Path::new(PLUMB), &words, folder.path(), &password);
    let app = UiServer::ready(app);
    assert!(!app.url.contains('#'), "{}", app.url);
    let browser = Browser { address: app.address.clone(), cookie: String::new() };
    assert!(browser.get("/").with(401).text().contains("type=\"password\""));
    browser.post("/session", "secret=correct+horse").with(403);
    browser.post("/session", "secret=correct+horse+battery").with(303);
}

/// Processes of this program that do `verb` and name `folder`.
fn processes_with(verb: &str, folder: &Path) -> usize {
    let folder = folder.display().to_string();
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let lines = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&format!("\0{verb}\0")) && line.contains(&folder)).count()
}
