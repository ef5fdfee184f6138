//! Signals that come while a command waits for another machine.

use std::net::{TcpListener, TcpStream};
use std::path::Path;

use rustix::process::Signal;
use tempfile::tempdir;

use crate::kit::server::Server;
use crate::kit::{PLUMB, Program, ping};

/// A server that takes connections and never says a word.
struct Silent(TcpListener);

impl Silent {
    fn start() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").expect("a port"))
    }

    fn address(&self) -> String {
        self.0.local_addr().expect("its address").to_string()
    }

    fn connection(&self) -> TcpStream {
        self.0.accept().expect("a client").0
    }
}

#[test]
fn whoever_waits_for_a_silent_server_hears_the_first_signal() {
    let silent = Silent::start();
    let at = silent.address();
    let [http, nats] = ["http", "nats"].map(|scheme| format!("{scheme}://{at}"));
    let database = format!("postgres://me@{at}/x");
    let commands: [&[&str]; 10] = [
        &["flow", "list", &http],
        &["flow", "retry", &http, "--all"],
        &["lock", "show", &at],
        &["lock", "status", &at],
        &["lock", "promote", &at],
        &["net", "stream", &at],
        &["net", "ping", "127.0.0.1:1", "--far-host", &at],
        &["db", "ping", &database, "--connect-timeout", "1h"],
        &["remote", "--nats", &nats, "--name", "a"],
        &["net", "ping", "127.0.0.1:1", "--remotes", "a"],
    ];
    for words in commands {
        let folder = tempdir().expect("a temporary folder");
        let told = [("PLUMB_NATS_URL", nats.as_str())];
        let program = Program::start_told(Path::new(PLUMB), words, folder.path(), &told);
        let _open = silent.connection();
        program.signal(Signal::INT);
        let ended = program.wait();
        assert_eq!(ended.code, Some(130), "{words:?}: {ended:#?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains("interrupted") && !said.contains("is the password right"), "{said}");
    }
}

#[test]
fn a_plan_that_was_interrupted_says_what_of_it_was_not_begun() {
    let server = Server::start(&[]);
    let folder = tempdir().expect("a temporary folder");
    let words = ["net", "ping", &server.address, "--size", "100B,200B,300B", "--for", "1h"];
    let program = Program::start(&[&words[..], &["--seed", "1"]].concat(), folder.path());
    while !server.log().contains(" connected from ") {}
    program.signal(Signal::INT);
    let ended = program.wait().with(130);
    let said = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("2 of 3 results not begun: size "), "{said}");
    let whole = ping(&server.address, &["--size", "100B,200B", "--count", "100"], folder.path());
    assert!(!whole.stdout.contains("not begun"), "{whole:#?}");
}
