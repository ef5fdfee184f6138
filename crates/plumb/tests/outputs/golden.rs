//! Help, niping's output and the form of the run record, as they stand in `tests/golden`.
//! `UPDATE_GOLDEN=1` writes them anew; look at the difference before it is committed.

use crate::kit;

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use kit::golden::{check, without_figures};
use kit::peer::{Misdeed, Peer, nobody};
use kit::{Ended, PLUMB, Program, Server, only_run, ping, plumb, record};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

fn help(name: &str, words: &[&str]) {
    let ended = plumb(&[words, &["--help"]].concat(), Path::new(".")).with(0);
    assert_eq!(ended.stderr, "");
    check(&format!("{name}-help.txt"), &ended.stdout);
}

#[test]
fn the_help_of_the_program() {
    help("plumb", &[]);
}

#[test]
fn the_help_of_idle() {
    help("host-idle", &["host", "idle"]);
}

#[test]
fn the_help_of_checkup() {
    help("checkup", &["checkup"]);
}

#[test]
fn the_help_of_the_network_layer() {
    help("net", &["net"]);
}

#[test]
fn the_help_of_ping() {
    help("net-ping", &["net", "ping"]);
}

#[test]
fn the_help_of_stream() {
    help("net-stream", &["net", "stream"]);
}

#[test]
fn the_help_of_serve() {
    help("net-serve", &["net", "serve"]);
}

#[test]
fn the_help_of_check() {
    help("net-check", &["net", "check"]);
}

#[test]
fn the_help_of_delay() {
    help("net-delay", &["net", "delay"]);
}

#[test]
fn the_help_of_the_application_server() {
    help("app", &["app"]);
    help("app-serve", &["app", "serve"]);
    help("app-generate", &["app", "generate"]);
}

#[test]
fn the_help_of_watch() {
    help("host-watch", &["host", "watch"]);
}

#[test]
fn the_help_of_record() {
    help("host-record", &["host", "record"]);
}

#[test]
fn the_help_of_report() {
    help("report", &["report"]);
}

#[test]
fn help_says_what_a_command_does() {
    let first = |words: &[&str]| {
        let help = plumb(&[words, &["-h"]].concat(), Path::new(".")).with(0).stdout;
        help.lines().next().expect("a first line").to_owned()
    };
    assert!(first(&["checkup"]).starts_with("Start here: "), "{}", first(&["checkup"]));
    assert!(first(&["net", "ping"]).starts_with("Measure round trips "));
    assert!(first(&["net", "serve"]).starts_with("Run an NI echo server"));
}

/// Runs the program as `niping`.
struct Niping {
    folder: TempDir,
}

impl Niping {
    fn new() -> Self {
        let folder = folder();
        symlink(PLUMB, folder.path().join("niping")).expect("a temporary folder can be written");
        Self { folder }
    }

    fn start(&self, words: &[&str]) -> Program {
        Program::start_as(&self.folder.path().join("niping"), words, self.folder.path())
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.start(words).wait()
    }

    /// A client of the server at `address`, with further words.
    fn client(&self, address: &str, words: &[&str]) -> Ended {
        let (host, port) = address.rsplit_once(':').expect("a port");
        self.run(&[&["-c", "-H", host, "-S", port], words].concat())
    }

    /// A server on a port that was free a moment ago, and its address.
    fn server(&self, words: &[&str]) -> (Program, String) {
        for _ in 0..10 {
            let socket = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
            let address = socket.local_addr().expect("it is bound");
            drop(socket);
            let port = address.port().to_string();
            let server = self.start(&[&["-s", "-S", &port], words].concat());
            let first = server.line(); // a time, or the error that the port was taken meanwhile
            if !first.starts_with("*** ERROR") {
                return (server, address.to_string());
            }
        }
        unreachable!("ten ports were taken, each in a moment");
    }
}

#[test]
fn the_help_of_niping() {
    let ended = Niping::new().run(&["-h"]).with(0);
    check("niping-help.txt", &ended.stdout);
}

#[test]
fn the_output_of_a_niping_client() {
    let server = Server::start(&["--quiet"]);
    let ended = Niping::new().client(&server.address, &["-B", "100", "-L", "50"]).with(0);
    assert_eq!(ended.stderr, "");
    let text = without_figures(&ended.stdout);
    check("niping-client.txt", &text);
    assert!(ended.stdout.contains("\nsend and receive 50 messages (len 100)\n"));
}

#[test]
fn the_output_of_a_niping_client_that_sends_too_few_for_av2() {
    let server = Server::start(&["--quiet"]);
    let ended = Niping::new().client(&server.address, &["-L", "2", "-D", "1"]).with(0);
    check("niping-client-two.txt", &without_figures(&ended.stdout));
}

#[test]
fn the_figures_of_a_niping_client_follow_its_formulas() {
    let server = Server::start(&["--quiet"]);
    let ended = Niping::new().client(&server.address, &["-B", "50000", "-L", "200"]).with(0);
    let figure = |name: &str| {
        let line = ended.stdout.lines().find(|line| line.starts_with(&format!("{name} ")));
        let mut words = line.expect("a line of the block").split_whitespace().skip(1);
        words.next().expect("a figure").parse::<f64>().expect("a number")
    };
    for (rate, time) in [("tr", "avg"), ("tr2", "av2")] {
        let expected = 2.0 * 50_000.0 / (figure(time) / 1e3) / 1024.0;
        let rounding = 0.0005 / figure(time); // times are printed with three decimals
        let difference = (figure(rate) / expected - 1.0).abs();
        assert!(difference < 1.5 * rounding, "{rate} against {time}: {}", ended.stdout);
    }
    assert!(figure("min") <= figure("av2") && figure("av2") <= figure("max"));
}

#[test]
fn the_output_of_a_niping_server() {
    let niping = Niping::new();
    let (server, address) = niping.server(&[]);
    let mut said = String::from("<time>\n");
    for _ in 0..2 {
        niping.client(&address, &["-L", "3"]).with(0);
        loop {
            let line = server.line();
            said += &(line.clone() + "\n");
            if line.ends_with("disconnected ...") {
                break;
            }
        }
    }
    check("niping-server.txt", &without_figures(&said));
}

#[test]
fn a_niping_server_ends_when_it_was_idle_for_long_enough() {
    let (server, _) = Niping::new().server(&["-I", "1"]);
    server.wait().with(0);
}

#[test]
fn the_output_of_a_niping_client_that_cannot_connect() {
    let ended = Niping::new().client(&nobody(), &[]).with(2);
    check("niping-refused.txt", &without_figures(&ended.stdout));
    assert!(ended.stdout.starts_with("*** ERROR") && ended.stdout.ends_with("rc = -10)\n"));
}

#[test]
fn the_output_of_a_niping_client_whose_server_goes() {
    let peer = Peer::start(21, Misdeed::Close);
    let ended = Niping::new().client(&peer.address, &["-L", "21"]).with(1);
    let last = ended.stdout.lines().last().expect("a last line");
    assert!(
        last.starts_with("*** ERROR => 20 of 21 messages came back; failures: 1 closed"),
        "{}",
        ended.stdout
    );
    check("niping-broken.txt", &without_figures(&ended.stdout));
}

#[test]
fn every_error_of_niping_begins_as_niping_s_do() {
    let niping = Niping::new();
    for words in
        [["-c", "-H", "no-such-host.invalid"], ["-s", "-H", "192.0.2.1"], ["-c", "-S", "no-such"]]
    {
        let ended = niping.run(&words).with(2);
        let said = ended.stdout.clone() + &ended.stderr;
        assert!(said.starts_with("*** ERROR"), "{words:?}: {said}");
    }
}

/// Three runs that have among them all that a record of the network layer can hold.
#[test]
fn the_form_of_the_run_record() {
    let server = Server::start(&["--quiet"]);
    let peer = Peer::start(21, Misdeed::Close);
    let processor = first_processor();
    let open = ["--rate", "5000/s", "--count", "20", "--lag", "50s", "--pin", &processor];
    let (broken, paced) = (["--for", "300ms"], ["--count", "5", "--delay", "1us"]);
    let runs: [(&str, &[&str], i32); 3] =
        [(&server.address, &open, 0), (&peer.address, &broken, 1), (&server.address, &paced, 0)];

    let mut paths = BTreeSet::new();
    for (address, words, code) in runs {
        let folder = folder();
        // what is seen of the machine depends on the machine
        let words = [words, &["--warmup", "0s", "--timeout", "50s", "--host-interval", "0s"]];
        let words = words.concat();
        ping(address, &words, folder.path()).with(code);
        collect("", &record(&only_run(folder.path())), &mut paths);
    }
    let form: String = paths.into_iter().map(|path| path + "\n").collect();
    check("run-json.txt", &form);
}

/// Lists `value` and all inside as `path: type`. Arrays count as one element, and the keys of
/// `failures` as one key, since those are names that came up; so are those of the facts of the host.
fn collect(path: &str, value: &Value, into: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "decimal",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    into.insert(format!("{}: {kind}", if path.is_empty() { "." } else { path }));
    match value {
        Value::Array(elements) => {
            elements.iter().for_each(|element| collect(&format!("{path}[]"), element, into));
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = match path {
                    _ if path.ends_with(".failures") => "{kind}",
                    ".host.facts" => "{fact}",
                    _ => name,
                };
                collect(&format!("{path}.{name}"), field, into);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A processor that this process may use.
fn first_processor() -> String {
    let allowed = rustix::thread::sched_getaffinity(None).expect("the kernel knows");
    let mut all = 0..rustix::thread::CpuSet::MAX_CPU;
    all.find(|cpu| allowed.is_set(*cpu)).expect("this runs on a processor").to_string()
}

#[test]
fn the_record_says_which_form_it_has() {
    let server = Server::start(&["--quiet"]);
    let folder = folder();
    ping(&server.address, &["--count", "1", "--warmup", "0s"], folder.path()).with(0);
    assert_eq!(record(&only_run(folder.path()))["schema"], "plumb.run/1");
}
