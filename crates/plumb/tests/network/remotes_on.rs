//! Servers, recorders and whole measurements on another machine, and who may have them started.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use std::fs;
use std::net::TcpStream;
use std::path::Path;

use rustix::process::Signal;
use tempfile::tempdir;

use crate::kit::http::{Reply, ReplyServer};
use crate::kit::nats::Nats;
use crate::kit::{Ended, PLUMB, Program, Server, ping, read, record, until};
use crate::remotes_nats::{nats, remote, url};

const CALM: [&str; 6] = ["--foreign-limit", "100%", "--lag", "50s", "--timeout", "50s"];

/// Runs this program with `words` against the remotes in `nats`.
fn start(nats: &Nats, words: &[&str], at: &Path) -> Program {
    let url = url(nats);
    Program::start_told(Path::new(PLUMB), words, at, &[("PLUMB_NATS_URL", url.as_str())])
}

fn refused(nats: &Nats, words: &[&str], why: &str, at: &Path) {
    let ended: Ended = start(nats, words, at).wait().with(2);
    assert!(ended.stderr.contains(why), "{ended:?}");
}

#[test]
fn a_server_runs_on_another_machine_as_long_as_whoever_asked_for_it() {
    let Some(nats) = nats() else { return };
    let at = tempdir().expect("a folder");
    let allowed = ["--allow", "net serve", "--allow", "host record", "--allow", "net ping"];
    let _remotes = [remote(&nats, "db", &allowed, at.path()), remote(&nats, "app", &[], at.path())];
    let words = ["on", "db", "net", "serve", "--listen", "127.0.0.1:0", "--quiet"];
    let server = Server::ready(start(&nats, &words, at.path()));
    let address = server.address.clone();
    ping(&address, &[&CALM[..], &["--count", "50"]].concat(), at.path()).with(0);
    server.stop().with(0);
    let is_gone = || TcpStream::connect(&address).is_err().then_some(());
    until(is_gone);
    // a controller that can say nothing any more
    let server = Server::ready(start(&nats, &words, at.path()));
    let address = server.address.clone();
    server.kill();
    until(|| TcpStream::connect(&address).is_err().then_some(()));
    // a recorder hands its files over
    let record = ["db", "host", "record", "--every", "20ms", "--for", "200ms"];
    let words = [&["on", "--out", "new/rec"], &record[..]].concat();
    until(|| (start(&nats, &words, at.path()).wait().code == Some(0)).then_some(()));
    assert!(read(&at.path().join("new/rec/vm.nmon")).starts_with("AAA"));
    assert!(read(&at.path().join("new/rec/host.json")).contains("\"samplers\""));
    let in_a_file = [&["on", "--out", "o.toml/rec"], &record[..]].concat();
    fs::write(at.path().join("o.toml"), "").expect("written");
    refused(&nats, &in_a_file, "o.toml/rec", at.path());
    let of_app = ["on", "app", "net", "serve", "--listen", "127.0.0.1:0"];
    refused(&nats, &of_app, "started with --allow \"net serve\"", at.path());
    refused(&nats, &["on", "app,db", "net", "serve"], "name one remote", at.path());
    refused(
        &nats,
        &["on", "db", "lock", "serve"],
        "started with --allow \"lock serve\"",
        at.path(),
    );
    refused(&nats, &["on", "db", "report", "x"], "only commands that measure", at.path());
}

#[test]
fn a_measurement_is_carried_out_there_and_its_run_is_kept_here() {
    let Some(nats) = nats() else { return };
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let _remote = remote(&nats, "app", &[], at.path());
    let words = ["on", "app", "net", "ping", &server.address, "--count", "70", "--out", "there"];
    start(&nats, &[&words[..], &CALM].concat(), at.path()).wait().with(0);
    let run = record(&at.path().join("there"));
    assert_eq!(run["results"][0]["operations"], 70);
    assert_eq!(run["plan"]["options"]["measured-on"], "app");
    let command = run["plan"]["command"].as_array().expect("words").clone();
    assert_eq!(
        command.last().expect("a word"),
        "50s",
        "the words that were asked for: {command:?}"
    );
    for file in ["vm.nmon", "report.html", "SHA256SUMS", "intervals.hlog"] {
        assert!(at.path().join("there").join(file).exists(), "{file}");
    }
    // a host that a file of options names
    let of_file = format!("host = \"{}\"\ncount = 70\n", server.address);
    fs::write(at.path().join("o.toml"), of_file).expect("written");
    let words = ["on", "--out", "named", "app", "net", "ping", "--options", "o.toml"];
    start(&nats, &[&words[..], &CALM].concat(), at.path()).wait().with(0);
    assert_eq!(record(&at.path().join("named"))["results"][0]["operations"], 70);
    // also what remotes cannot divide
    let words =
        ["on", "app", "net", "stream", &server.address, "--for", "200ms", "--out", "stream"];
    let ended = start(&nats, &words, at.path()).wait();
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{ended:?}");
    let stream = record(&at.path().join("stream"));
    assert!(stream["results"][0]["stream"]["streams"].as_u64() == Some(1), "{stream:#}");
}

#[test]
fn what_was_measured_there_is_kept_here_where_that_machine_has_no_room_for_it() {
    let Some(nats) = nats() else { return };
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let url = url(&nats);
    // a page is longer than the 20 KiB that a file may have, and a write beyond them no signal
    let words = ["remote", "--nats", &url, "--name", "full"];
    let remote = Program::limited("-f 40 && trap '' XFSZ", &words, at.path());
    assert!(remote.log_line().contains("waits for controllers"));
    let words = ["on", "full", "net", "ping", &server.address, "--count", "70", "--out", "there"];
    let ended = start(&nats, &[&words[..], &CALM].concat(), at.path()).wait().with(0);
    assert!(ended.stderr.contains("full: its own folder lacks something"), "{ended:?}");
    assert_eq!(record(&at.path().join("there"))["results"][0]["operations"], 70);
    assert!(at.path().join("there/report.html").exists());
}

#[test]
fn files_travel_with_what_remotes_cannot_divide() {
    let Some(nats) = nats() else { return };
    let pages = ReplyServer::start(|_, _| Reply::page("hello"));
    let (at, far) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
    fs::write(at.path().join("order.json"), "x".repeat(10_000)).expect("written");
    fs::write(at.path().join("day.log"), "0.1\ta\tselect 1\n").expect("written");
    // another one lies where the remote is
    fs::write(far.path().join("order.json"), "of somebody else").expect("written");
    let _remote = remote(&nats, "app", &[], far.path());
    let (one, other) = (pages.url("/a"), pages.url("/b"));
    let pair = ["on", "app", "http", "ping", "--pair", &one, &other, "--body", "order.json"];
    let short = ["--count", "4", "--warmup", "0s", "-o", "pair"];
    let ended = start(&nats, &[&pair[..], &short, &CALM].concat(), at.path()).wait();
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    let result = record(&at.path().join("pair"))["results"][0].clone();
    let asked = result["operations"].as_u64().expect("a number");
    assert!(asked > 0 && result["bytes_sent"].as_u64() > Some(asked * 10_000), "{result:#}");
    let replay = ["on", "app", "db", "replay", "day.log", "postgres://me@127.0.0.1:1/d"];
    refused(&nats, &[&replay[..], &["--format", "text"]].concat(), "127.0.0.1:1", at.path());
}

#[test]
fn a_server_there_gets_options_from_here_and_no_files_from_there() {
    let Some(nats) = nats() else { return };
    let (at, far) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
    let _remote =
        remote(&nats, "db", &["--allow", "net serve", "--allow", "lock serve"], far.path());
    fs::write(at.path().join("o.toml"), "listen = \"127.0.0.1:0\"\n").expect("written");
    let words = ["on", "db", "net", "serve", "--options", "o.toml", "--quiet"];
    Server::ready(start(&nats, &words, at.path())).stop().with(0);
    let serve = |words: &[&str], why: &str| {
        let words = [&["on", "db", "lock", "serve", "--listen", "127.0.0.1:0"], words].concat();
        let is_refused = || {
            let ended = start(&nats, &words, at.path()).wait().with(2);
            (!ended.stderr.contains("is busy")).then_some(ended)
        };
        let ended = until(is_refused);
        assert!(ended.stderr.contains(why), "{ended:?}");
    };
    serve(&["--audit-log", "audit"], "--audit-log is not for a controller to say");
    serve(&["--journal=j"], "--journal is not for a controller to say");
    serve(&["--tls", "--client-ca", "/etc/hostname"], "/etc/hostname is not for a controller");
    assert_eq!(fs::read_dir(far.path()).expect("a folder").count(), 0, "nothing was written");
}

#[test]
fn an_experiment_has_its_server_on_one_host_and_its_load_on_others() {
    let Some(nats) = nats() else { return };
    let at = tempdir().expect("a folder");
    let of_server = ["--allow", "net serve", "--label", "role=server"];
    let user = ["--label", "role=user"];
    let _remotes = [
        remote(&nats, "db", &of_server, at.path()),
        remote(&nats, "u1", &user, at.path()),
        remote(&nats, "u2", &user, at.path()),
    ];
    let file = "rounds = 1\nseed = 1\nhosts = \"role=user\"\n\
        [[server]]\nname = \"echo\"\nrun = \"on db net serve --listen 127.0.0.1:0 --quiet\"\n\
        [[variant]]\nname = \"small\"\nwords = \"--size 10B\"\n\
        [[variant]]\nname = \"large\"\nwords = \"--size 5000B\"\n\
        [[probe]]\nrun = \"net ping ${echo} --connections 2 --count 200 --interval 50s --lag 50s \
        --foreign-limit 100%\"\n";
    fs::write(at.path().join("e.toml"), file).expect("written");
    let ended = start(&nats, &["lab", "run", "e.toml", "--out", "lab"], at.path()).wait();
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{ended:?}");
    let runs = fs::read_dir(at.path().join("lab/blocks")).expect("blocks");
    let mut blocks = 0;
    for run in runs {
        let run = record(&run.expect("a block").path());
        let clients = run["results"][0]["clients"].as_array().expect("a row for each").len();
        assert_eq!((clients, run["results"][0]["operations"].as_u64()), (2, Some(200)));
        blocks += 1;
    }
    assert!(blocks >= 2, "{ended:?}");
}

#[test]
fn a_checkup_asks_from_where_the_users_are() {
    let Some(nats) = nats() else { return };
    let server = Server::start(&["--quiet"]);
    let at = tempdir().expect("a folder");
    let _remote = remote(&nats, "app", &["--label", "site=x"], at.path());
    let file = format!("hosts = \"site=x\"\n[net]\nservers = [\"{}\"]\n", server.address);
    fs::write(at.path().join("l.toml"), file).expect("written");
    let words = ["checkup", "--target", "l.toml", "--for", "1s", "--out", "run"];
    let ended =
        start(&nats, &[&words[..], &["--foreign-limit", "100%"]].concat(), at.path()).wait();
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{ended:?}");
    let checkup: serde_json::Value =
        serde_json::from_str(&read(&at.path().join("run/checkup.json"))).expect("JSON");
    let parts = checkup["parts"].as_array().expect("parts");
    for part in parts {
        let folder = part["outcome"]["folder"].as_str().expect("it left a run");
        let run = record(&at.path().join("run").join(folder));
        assert_eq!(run["plan"]["options"]["measured-on"], "app");
    }
    assert_eq!(checkup["remote"], "app", "it is named, though a label was asked for");
    let folder = parts[0]["outcome"]["folder"].as_str().expect("it left a run");
    let first = record(&at.path().join("run").join(folder));
    assert_eq!(checkup["host"], first["host"], "the machine that measured");
    fs::write(at.path().join("l.toml"), "hosts = \"local:2\"\n[net]\nservers = [\"h\"]\n")
        .expect("written");
    let ended = start(&nats, &["checkup", "--target", "l.toml"], at.path()).wait().with(2);
    assert!(ended.stderr.contains("line 1, column 9"), "{ended:?}");
}

#[test]
fn who_is_stopped_while_a_remote_measures_keeps_nothing_running_there() {
    let Some(nats) = nats() else { return };
    let server = Server::start(&[]);
    let at = tempdir().expect("a folder");
    let _remote = remote(&nats, "app", &[], at.path());
    let words = ["on", "app", "net", "ping", &server.address, "--for", "600s", "--out", "there"];
    let controller = start(&nats, &[&words[..], &CALM].concat(), at.path());
    assert!(!server.log().is_empty(), "somebody has come");
    controller.signal(Signal::INT);
    let ended = controller.wait();
    assert!(matches!(ended.code, Some(130 | 1)), "{ended:?}");
    assert_eq!(record(&at.path().join("there"))["status"], "interrupted");
}

#[test]
fn the_paths_between_machines_are_a_table_and_a_slow_one_is_named() {
    let Some(nats) = nats() else { return };
    let at = tempdir().expect("a folder");
    let may = ["--allow", "net serve", "--allow", "net ping"];
    let of = |address: &'static str| [&may[..], &["--label", address]].concat();
    let _remotes = [
        remote(&nats, "one", &of("address=127.0.0.1"), at.path()),
        remote(&nats, "two", &of("address=127.0.0.2"), at.path()),
        remote(&nats, "no", &["--label", "address=127.0.0.3"], at.path()),
    ];
    let words = ["paths", "one,two", "--for", "300ms", "--out", "paths"];
    let ended = start(&nats, &words, at.path()).wait();
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    let paths: serde_json::Value =
        serde_json::from_str(&read(&at.path().join("paths/paths.json"))).expect("JSON");
    let all = paths["paths"].as_array().expect("paths");
    assert_eq!(all.len(), 2);
    for path in all {
        assert!(path["p50-ns"].as_u64() > Some(0), "{path}");
        let name = format!("{}-to-{}", path["from"], path["to"]).replace('"', "");
        let run = record(&at.path().join("paths").join(name));
        assert_eq!(run["plan"]["options"]["measured-on"], path["from"]);
    }
    let before = read(&at.path().join("paths/paths.json"));
    refused(&nats, &words, "paths", at.path());
    assert_eq!(read(&at.path().join("paths/paths.json")), before, "what was measured stays");
    // a machine that may not serve is a column of nothing, and the rest is measured
    let ended =
        start(&nats, &["paths", "one,two,no", "--for", "100ms", "--json"], at.path()).wait();
    let paths = ended.with(1).json();
    let none =
        paths["paths"].as_array().expect("paths").iter().filter(|path| path["p50-ns"].is_null());
    let none: Vec<&serde_json::Value> = none.map(|path| &path["to"]).collect();
    assert_eq!(none, ["no", "no"]);
    refused(&nats, &["paths", "one"], "paths lie between 2 to 32", at.path());
}
