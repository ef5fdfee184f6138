//! `plumb host serve`, and runs that record a far host over it.

use crate::kit;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use kit::{PATIENCE, Server, files_of, peer, ping, plumb, read, record};
use serde_json::Value;
use tempfile::tempdir;

/// A client that asks by hand.
struct Asker {
    lines: BufReader<TcpStream>,
}

impl Asker {
    fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(&server.address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Self { lines: BufReader::new(stream) }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.lines.get_mut().write_all(bytes).expect("the server reads");
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).expect("a line of JSON")
    }

    fn ask(&mut self, word: &str) -> Value {
        self.say(format!("{word}\n").as_bytes());
        self.answer()
    }

    /// The refusal, behind which the connection ends.
    fn refusal(&mut self) -> String {
        let answer = self.answer();
        assert_eq!(answer["schema"], "plumb.host-error/1");
        let mut rest = Vec::new();
        // what we said and it did not read may end the connection with a reset
        let _ = self.lines.read_to_end(&mut rest);
        assert!(rest.is_empty(), "it goes on behind a refusal");
        answer["error"].as_str().expect("a text").to_owned()
    }
}

fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Load of a second beside a far host that is asked every 50 ms.
fn watched_ping(echo: &Server, far: &str, words: &[&str], folder: &Path) -> kit::Ended {
    let usual = ["--for", "1300ms", "--delay", "5ms", "--host-interval", "50ms", "--out", "run"];
    ping(&echo.address, &[&usual[..], &["--far-host", far], words].concat(), folder)
}

#[test]
fn a_client_is_told_what_the_machine_is_and_what_it_does() {
    let server = Server::of_samples(&["--every", "10ms"]);
    let mut asker = Asker::connect(&server);
    let hello = asker.ask("hello");
    assert_eq!(hello["schema"], "plumb.host-hello/1");
    assert_eq!(hello["host"], name());
    assert_eq!(hello["every_ns"], 10_000_000);
    assert!(hello["facts"]["cpus_online"].as_u64().is_some_and(|cpus| cpus > 0), "{hello}");
    let began_ns = hello["monotonic_ns"].as_u64().expect("its clock");
    // another client's hello takes the server as long as a sample
    while Asker::connect(&server).ask("hello")["monotonic_ns"].as_u64()
        < Some(began_ns + 10_000_000)
    {}
    let sample = asker.ask("sample");
    assert_eq!(sample["schema"], "plumb.sample/1");
    assert_eq!(sample["host"], name());
    let interval_ns = sample["interval_ns"].as_u64().expect("its length");
    assert_eq!(sample["monotonic_ns"].as_u64(), Some(began_ns + interval_ns));
    assert_eq!(asker.ask("whole")["interval_ns"].as_u64(), Some(interval_ns));
    drop(asker);
    server.stop().with(0);
}

#[test]
fn garbage_is_refused_and_the_others_go_on() {
    let server = Server::of_samples(&[]);
    let mut other = Asker::connect(&server);
    other.ask("hello");
    for garbage in [
        b"GET / HTTP/1.1\r\n\r\n".as_slice(),
        b"{\"every_ns\":1}\n",
        b"\n",
        &[0; 100],
        &[0xff; 70_000],
    ] {
        let mut asker = Asker::connect(&server);
        asker.say(garbage);
        assert_eq!(asker.refusal(), "expected a line: hello, sample or whole");
    }
    let mut half = Asker::connect(&server);
    half.say(b"hel");
    half.lines.get_mut().shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(half.lines.read_to_end(&mut Vec::new()).expect("it is closed"), 0);
    assert!(other.ask("whole")["error"].as_str().is_some_and(|text| text.contains("no sample")));
    let mut eager = Asker::connect(&server);
    eager.say(&b"hello\nsample\n".repeat(5_000));
    assert_eq!(eager.answer()["schema"], "plumb.host-hello/1");
    assert!(eager.refusal().contains("no more often than every 100"));
    let ended = server.stop().with(0);
    assert!(ended.stderr.contains("closed by the server: expected a line"), "{ended:#?}");
}

#[test]
fn more_clients_than_allowed_and_strangers_are_turned_away() {
    let full = Server::of_samples(&["--max-clients", "1"]);
    let mut first = Asker::connect(&full);
    first.ask("hello");
    assert!(Asker::connect(&full).refusal().contains("no more clients"));
    let folder = tempdir().expect("a temporary folder");
    let ended = watched_ping(&Server::start(&[]), &full.address, &[], folder.path()).with(2);
    assert!(ended.stderr.contains("refuses: this server takes no more clients"), "{ended:#?}");
    let closed = Server::of_samples(&["--allow", "10.0.0.0/8"]);
    assert!(Asker::connect(&closed).refusal().contains("not allowed"));
    let words = ["host", "serve", "--listen", "127.0.0.1:0", "--every", "1ms"];
    let ended = plumb(&words, Path::new(".")).with(2);
    assert!(ended.stderr.contains("--every 10ms or more"), "{ended:#?}");
}

#[test]
fn a_run_records_the_far_host_too() {
    let echo = Server::start(&[]);
    let server = Server::of_samples(&["--every", "10ms"]);
    let folder = tempdir().expect("a temporary folder");
    let ended = watched_ping(&echo, &server.address, &["--json"], folder.path()).with(0);
    let record = ended.json();
    assert_eq!(record["far"]["name"], name());
    assert_eq!(record["far"]["address"], server.address);
    let far = &record["results"][0]["far"];
    assert!(far["samples"].as_u64().is_some_and(|samples| samples >= 5), "{far}");
    assert!(far["busy_pct"].is_number() && far["covered_ns"].is_u64(), "{far}");
    assert!(far["foreign_pct"].is_null() && far["tested"] == serde_json::json!([]), "{far}");
    let run = folder.path().join("run");
    let files = [
        "HOST-far.csv",
        "HOST-far.nmon",
        "HOST.csv",
        "HOST.nmon",
        "SHA256SUMS",
        "intervals.hlog",
        "report.html",
        "run.json",
    ];
    assert_eq!(files_of(&run), files);
    let (ours, theirs) = (format!("{}.csv", name()), format!("{}-far.csv", name()));
    let [ours, theirs] = [ours, theirs].map(|file| seconds(&read(&run.join(file))));
    // one machine has one clock: both recordings lie within each other's seconds
    let (first, last) = (theirs[0], theirs[theirs.len() - 1]);
    assert!(theirs.windows(2).all(|pair| pair[0] < pair[1]), "{theirs:?}");
    assert!(first < ours[ours.len() - 1] && last > ours[0], "{ours:?} {theirs:?}");
    let nmon = read(&run.join(format!("{}-far.nmon", name())));
    assert!(nmon.contains(&format!("--far-host {}", server.address)), "{nmon}");
    assert!(nmon.contains("\nZZZZ,T0001,"), "{nmon}");
    let shown = plumb(&["report", "run"], folder.path()).with(0).stdout;
    let line = shown.lines().find_map(|line| line.strip_prefix("far host")).expect("its line");
    assert!(line.trim_start().starts_with(&format!("{}: ", name())), "{shown}");
}

/// The monotonic times of a recording.
fn seconds(csv: &str) -> Vec<f64> {
    let second = |row: &str| row.split(',').nth(1).and_then(|cell| cell.parse().ok());
    csv.lines().skip(1).map(|row| second(row).expect("a number")).collect()
}

#[test]
fn a_far_host_that_cannot_be_reached_is_refused_before_anything_is_measured() {
    let echo = Server::start(&[]);
    let folder = tempdir().expect("a temporary folder");
    let nobody = peer::nobody();
    for (far, complaint) in [
        (nobody.as_str(), "connection refused; is the server started"),
        (&echo.address, &echo.address),
        ("nowhere.invalid", "cannot find host"),
        ("host:port", "a port from 0 to 65535"),
    ] {
        let ended = watched_ping(&echo, far, &[], folder.path()).with(2);
        assert_eq!(ended.stdout, "");
        let line = ended.stderr.trim_end();
        assert!(line.starts_with("plumb: cannot record the far host: "), "{line}");
        assert!(line.contains(complaint), "{line}");
        assert!(!line.contains('\n') && !folder.path().join("run").exists(), "{line}");
    }
    let words = ["--host-interval", "0s", "--far-host", &echo.address];
    let ended = ping(&echo.address, &words, folder.path()).with(2);
    assert!(ended.stderr.contains("leave --host-interval 0s out"), "{ended:#?}");
}

/// Hands on so many requests to `server` of each connection that is made, one after the other, and is gone.
fn leaving_after<const N: usize>(
    server: &Server,
    requests: [usize; N],
) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    let askers = requests.map(|requests| (requests, Asker::connect(server)));
    let relay = thread::spawn(move || {
        for (requests, mut asker) in askers {
            let (mut stream, _) = listener.accept().expect("the run connects");
            let requested = BufReader::new(stream.try_clone().expect("a second handle"));
            for line in requested.lines().take(requests) {
                let answer = asker.ask(&line.expect("the run asks"));
                writeln!(stream, "{answer}").expect("the run reads");
            }
        }
    });
    (address, relay)
}

#[test]
fn a_far_host_that_answers_again_is_recorded_again() {
    let echo = Server::start(&[]);
    let server = Server::of_samples(&["--every", "10ms"]);
    let (address, relay) = leaving_after(&server, [12, usize::MAX]);
    let folder = tempdir().expect("a temporary folder");
    let words = ["--for", "4s", "--warmup", "0s", "--delay", "5ms", "--host-interval", "50ms"];
    let words = [&words[..], &["--out", "run", "--far-host", &address]].concat();
    ping(&echo.address, &words, folder.path()).with(0);
    relay.join().expect("both connections are over");
    let run = folder.path().join("run");
    let record = record(&run);
    let result = &record["results"][0];
    let reasons = result["validity"]["reasons"].as_array().expect("reasons");
    let lost = reasons.iter().find(|it| it["kind"] == "far-host-lost").expect("a remark");
    let text = lost["text"].as_str().expect("a text");
    assert!(text.contains("closed the connection, and answered again"), "{text}");
    // more than the first connection gave, and not all of the time
    assert!(result["far"]["samples"].as_u64().is_some_and(|samples| samples > 12), "{result}");
    let [covered, all] = [&result["far"]["covered_ns"], &result["duration_ns"]].map(Value::as_u64);
    assert!(covered < all, "{result}");
    let theirs = seconds(&read(&run.join(format!("{}-far.csv", name()))));
    assert!(theirs.windows(2).all(|pair| pair[0] < pair[1]), "{theirs:?}");
}

#[test]
fn a_link_of_known_speed_is_told_of_both_hosts() {
    let echo = Server::start(&[]);
    // no interface carries as much, and loopback carries most of all
    let interfaces = std::fs::read_dir("/sys/class/net").expect("interfaces");
    let interfaces: Vec<String> = interfaces
        .map(|it| it.expect("an interface").file_name().to_string_lossy().into_owned())
        .collect();
    let links = |gbit: u32| -> Vec<String> {
        interfaces.iter().map(|name| format!("--link={name}={gbit}Gbit")).collect()
    };
    let theirs = links(90_000);
    let theirs = theirs.iter().map(String::as_str);
    let theirs: Vec<&str> = ["--every", "10ms"].into_iter().chain(theirs).collect();
    let server = Server::of_samples(&theirs);
    let folder = tempdir().expect("a temporary folder");
    let ours = links(80_000);
    let ours: Vec<&str> =
        ["--size", "10KB"].into_iter().chain(ours.iter().map(String::as_str)).collect();
    watched_ping(&echo, &server.address, &ours, folder.path()).with(0);
    let both = record(&folder.path().join("run"));
    let result = &both["results"][0];
    for (side, mbit) in [("host", 80_000_000), ("far", 90_000_000)] {
        let speed = |link: &Value| (link["interface"] == "lo", link["speed_mbit"].as_u64());
        let link = &result[side]["link"];
        assert_eq!(speed(link), (true, Some(mbit)), "{link}");
        let used = link["used_pct"].as_f64().expect("a share");
        assert!(used > 0.0 && used < 100.0, "{link}");
        assert!(link.get("used_max_pct").is_none(), "samples of 50 ms tell no maximum: {link}");
    }
    // everything that goes over loopback is more than that, so that it is no limit
    let folder = tempdir().expect("a temporary folder");
    let words = ["--link", "lo=1Mbit", "--size", "10KB"];
    watched_ping(&echo, &server.address, &words, folder.path()).with(0);
    let over = record(&folder.path().join("run"));
    let result = &over["results"][0];
    assert_ne!(result["host"]["link"]["interface"], "lo", "{result}");
    let reasons = result["validity"]["reasons"].to_string();
    assert!(!reasons.contains("link-full"), "{reasons}");
    let ended = ping(&echo.address, &["--link", "1Mbit"], folder.path()).with(2);
    assert!(ended.stderr.contains("expected IFACE=RATE"), "{ended:#?}");
}

#[test]
fn a_far_host_that_goes_away_is_a_remark() {
    let echo = Server::start(&[]);
    let server = Server::of_samples(&["--every", "10ms"]);
    let (address, relay) = leaving_after(&server, [4]);
    let folder = tempdir().expect("a temporary folder");
    watched_ping(&echo, &address, &[], folder.path()).with(0);
    relay.join().expect("it was asked often enough");
    let record = record(&folder.path().join("run"));
    let reasons = record["results"][0]["validity"]["reasons"].as_array().expect("reasons");
    let lost = reasons.iter().find(|it| it["kind"] == "far-host-lost").expect("a remark");
    assert_eq!(lost["scope"], "nothing");
    let text = lost["text"].as_str().expect("a text");
    // it may have gone before the recorded part began
    assert!(text.contains("no samples: it ") || text.contains(" only: it "), "{text}");
    let shown = plumb(&["report", "run"], folder.path()).with(0).stdout;
    let line = shown.lines().find(|line| line.starts_with("far host")).expect("its line");
    assert!(line.contains("no samples") || line.contains(" (samples of "), "{shown}");
    assert_eq!(record["status"], "complete");
    assert!(record["results"][0]["validity"]["valid"] == true, "{record}");
}
