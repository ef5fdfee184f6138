//! Secrets of command lines, addresses and scenarios stand in nothing that a run leaves behind, and
//! a scenario sends no file that is not its own.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kit::http::{Reply, ReplyServer};
use kit::plumb;
use kit::scenario::{play_in, scenario, with_base};
use tempfile::tempdir;

/// What must stand nowhere.
const SECRET: &str = "s3cr3t-4711";
/// Names behind which secrets stand, one header each.
const HEADERS: [&str; 5] = ["X-Api-Key", "Authentication", "MYSAPSSO2", "X-Passcode", "sig"];

/// Every file below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it").path());
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

/// Refuses the secret in any file below `folder`, and says how many there are.
fn searched(folder: &Path) -> usize {
    let all = files(folder);
    for path in &all {
        let bytes = fs::read(path).expect("it can be read");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET), "{} holds it: {text}", path.display());
    }
    all.len()
}

fn headers() -> Vec<String> {
    HEADERS.iter().flat_map(|name| ["--header".into(), format!("{name}: {SECRET}")]).collect()
}

#[test]
fn a_ping_leaves_no_secret_of_its_command_line_behind() {
    let site = ReplyServer::always(Reply::page("hello"));
    let folder = tempdir().expect("a folder");
    let url = site.url(&format!("/a;jsessionid={SECRET}?code={SECRET}&sig={SECRET}&a=1"));
    let told = headers();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    for form in [vec![], vec!["--json"], vec!["--markdown"], vec!["--print-options"]] {
        let words = ["http", "ping", &url, "--count", "3", "--warmup", "0s", "--lag", "10s"];
        let ended = plumb(&[&words, &told[..], &form[..]].concat(), folder.path()).with(0);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(SECRET), "{text}");
        }
        assert!(ended.stdout.contains("MASKED"), "{}", ended.stdout);
    }
    assert!(searched(folder.path()) > 3);
    let asked = site.asked();
    let whole = asked.iter().all(|head| {
        HEADERS.iter().all(|name| head.contains(&format!("{name}: {SECRET}\r\n")))
            && head.contains(&format!("code={SECRET}"))
    });
    assert!(whole && !asked.is_empty(), "what is masked is only what is written down: {asked:?}");
}

#[test]
fn a_load_leaves_no_secret_behind() {
    let site = ReplyServer::start(|head, _| match head.starts_with("GET /away") {
        true => Reply::answer(302, &format!("Location: /in?token={SECRET}\r\n"), ""),
        false => Reply::answer(200, &format!("Set-Cookie: sid={SECRET}\r\nX-T: {SECRET}\r\n"), ""),
    });
    let text = with_base(
        &site,
        &format!(
            "headers = {{ X-Api-Key = \"{SECRET}\" }}\nvariables = {{ passcode = \"{SECRET}\" }}\n\
             [[scenario]]\nname = \"a\"\niterations = 2\n[[scenario.step]]\n\
             get = \"/?code={SECRET}&c=${{passcode}}\"\n\
             extract = [{{ name = \"token\", header = \"X-T\", default = \"{SECRET}\" }}]\n\
             [[scenario.step]]\npath = \"/form\"\nbody = \"user=a&password={SECRET}&t=${{token}}\"\n\
             [[scenario.step]]\nget = \"/away\"\n\
             [[scenario.step]]\nget = \"http://elsewhere/?sig=${{token}}\"\n"
        ),
    );
    let folder = scenario(&text);
    let told = headers();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    for form in [vec![], vec!["--json"], vec!["--dry-run"], vec!["--dry-run", "--json"]] {
        let ended = play_in(folder.path(), &[&told[..], &form[..]].concat());
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains(SECRET), "{form:?}: {text}");
        }
    }
    fs::remove_file(folder.path().join("s.toml")).expect("it is ours");
    assert!(searched(folder.path()) > 3);
    assert!(site.asked().iter().any(|head| head.contains(SECRET)));
}

#[test]
fn an_experiment_leaves_no_secret_behind() {
    let site = ReplyServer::always(Reply::page("hello"));
    let folder = tempdir().expect("a folder");
    let command = |count: u32| {
        format!(
            "http ping {} --count {count} --warmup 0s --lag 10s --header 'X-Api-Key: {SECRET}'",
            site.url(&format!("/?token={SECRET}"))
        )
    };
    let words = ["ab", &command(20), &command(30), "--pairs", "3", "--out", "x"];
    let ended = plumb(&words, folder.path());
    for text in [&ended.stdout, &ended.stderr] {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(folder.path().join("x/experiment.toml").exists(), "{ended:#?}");
    assert!(searched(folder.path()) > 5);
    assert!(site.asked().iter().all(|head| head.contains(SECRET)));
}

#[test]
fn addresses_in_errors_have_no_secrets() {
    let folder = tempdir().expect("a folder");
    for url in [
        format!("http://me:{SECRET}@127.0.0.1/"),
        format!("ftp://127.0.0.1/?token={SECRET}"),
        format!("http://127.0.0.1:1/?token={SECRET}"),
    ] {
        let ended = plumb(&["http", "ping", &url, "--count", "1"], folder.path()).with(2);
        assert!(!ended.stderr.contains(SECRET), "{}", ended.stderr);
    }
}

#[test]
fn a_scenario_sends_only_files_of_its_own_folder() {
    let site = ReplyServer::always(Reply::page("hello"));
    let other = tempdir().expect("a folder");
    fs::write(other.path().join("mine"), format!("name\n{SECRET}\n")).expect("it is ours");
    let mine = other.path().join("mine");
    let at = |link: &Path| {
        symlink(&mine, link.join("link")).expect("a link");
        let up = Path::new("..").join(other.path().file_name().expect("a name")).join("mine");
        [mine.clone(), PathBuf::from("link"), up]
    };
    let step = "[[scenario]]\nname = \"a\"\niterations = 1\n[[scenario.step]]\npath = \"/\"\n";
    for number in 0..3 {
        for kind in ["body", "data", "credentials"] {
            let folder = scenario("");
            let named = at(folder.path())[number].display().to_string();
            let text = match kind {
                "body" => format!("{step}body-file = \"{named}\"\n"),
                "data" => format!(
                    "{}data = [{{ file = \"{named}\" }}]\n[[scenario.step]]\npath = \"/\"\nbody = \
                     \"${{name}}\"\n",
                    step.replace("[[scenario.step]]\npath = \"/\"\n", "")
                ),
                _ => format!("credentials = \"{named}\"\n{step}"),
            };
            fs::write(folder.path().join("s.toml"), with_base(&site, &text)).expect("it is ours");
            let refused = play_in(folder.path(), &[]).with(2);
            let why = &refused.stderr;
            assert!(why.contains("--files-from") && why.contains("s.toml"), "{kind}: {why}");
            if kind != "credentials" {
                let from = other.path().display().to_string();
                play_in(folder.path(), &["--files-from", &from]).with(0);
            }
        }
    }
    assert_eq!(site.asked().len(), 6, "what was refused asked for nothing");
}
