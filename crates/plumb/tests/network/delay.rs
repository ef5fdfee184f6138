//! A line of known delay between real programs. Times are only ever compared with what they cannot
//! be below.

use crate::kit;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use kit::ni::{frame, read_frame};
use kit::peer::nobody;
use kit::{PATIENCE, Server, only_run, ping, plumb, record};
use plumb_measure::grouped;
use rustix::net::sockopt::set_socket_linger;
use tempfile::{TempDir, tempdir};

fn folder() -> TempDir {
    tempdir().expect("a temporary folder")
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the line listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
    stream
}

#[test]
fn no_round_trip_is_shorter_than_both_ways_and_the_end_says_what_passed() {
    let server = Server::start(&["--quiet"]);
    let line = Server::of_delay(&server.address, &["--delay", "20ms", "--delay-back", "30ms"]);
    let folder = folder();
    let words = ["--count", "20", "--connections", "4", "--warmup", "0s"];
    ping(&line.address, &words, folder.path()).with(0);
    let record = record(&only_run(folder.path()));
    let times = &record["results"][0]["service_ns"];
    assert_eq!(times["count"], 20);
    assert!(times["min"].as_u64().is_some_and(|ns| ns >= 50_000_000), "{times:#}");

    let ended = line.stop().with(0);
    let total = |name: &str| {
        let found = ended.stderr.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("no {name} in {ended:#?}")).to_owned()
    };
    // one more connection asks whether the server holds its tick
    assert!(total("total: ").contains("5 connections"), "{ended:#?}");
    let bytes = grouped(24 * 1_004 + 12); // an unrecorded message a connection, and the question
    assert!(total("there: ").contains(&format!("{bytes} bytes received, {bytes} sent on")));
    assert!(total("there: ").contains("left later than due by"));
}

#[test]
fn a_rate_and_a_window_bound_what_a_connection_carries() {
    let server = Server::start(&["--quiet"]);
    let line = Server::of_delay(&server.address, &["--delay", "10ms", "--window", "10000B"]);
    let folder = folder();
    let words = ["--size", "50000B", "--count", "1", "--warmup", "0s"];
    ping(&line.address, &words, folder.path()).with(0);
    let shortest = |run: &Path| record(run)["results"][0]["service_ns"]["min"].as_u64().unwrap();
    // six windows there and six back, each a round trip of 20 ms, but for the last of each way
    assert!(shortest(&only_run(folder.path())) >= 2 * (5 * 20 + 10) * 1_000_000);

    let line = Server::of_delay(&server.address, &["--rate", "10Mbit", "--quiet"]);
    let folder = self::folder();
    ping(&line.address, &words, folder.path()).with(0);
    // 50,004 bytes take 40 ms each way at 10 Mbit/s
    assert!(shortest(&only_run(folder.path())) >= 80_000_000);
}

#[test]
fn a_half_closed_connection_still_carries_the_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        stream.read_to_end(&mut request).expect("the request ends");
        stream
            .write_all(b"answer to ")
            .and_then(|()| stream.write_all(&request))
            .expect("it takes");
    });
    let line = Server::of_delay(&address, &["--delay", "5ms", "--quiet"]);
    let mut client = connect(&line.address);
    client.write_all(b"request").expect("it takes bytes");
    client.shutdown(Shutdown::Write).expect("it is open");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer and its end");
    assert_eq!(answer, "answer to request");
    server.join().expect("the server had its request");
}

#[test]
fn a_reset_is_passed_on_even_behind_the_last_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    let line = Server::of_delay(&address, &["--delay", "1ms"]);
    let client = connect(&line.address);
    client.shutdown(Shutdown::Write).expect("it is open");
    let (mut server, _) = listener.accept().expect("a connection");
    assert_eq!(server.read(&mut [0; 1]).expect("an end"), 0);
    set_socket_linger(&client, Some(Duration::ZERO)).expect("it is a TCP socket");
    drop(client);
    while !line.log().ends_with("reset by one side") {}
}

#[test]
fn a_target_that_is_not_there_and_a_refused_connection_end_in_a_reset() {
    for (target, words) in [(nobody(), vec![]), (nobody(), vec!["--refuse", "100%"])] {
        let line = Server::of_delay(&target, &words);
        let mut client = connect(&line.address);
        let ended = client.read(&mut [0; 1]);
        let reset = matches!(&ended, Err(error) if error.kind() == ErrorKind::ConnectionReset);
        assert!(reset, "{ended:?}");
        line.stop().with(0);
    }
}

#[test]
fn only_those_who_may_are_passed_on() {
    let line = Server::of_delay(&nobody(), &["--allow", "192.0.2.0/24"]);
    let mut client = connect(&line.address);
    assert!(client.read(&mut [0; 1]).is_err());
    let ended = line.stop().with(0);
    assert!(ended.stderr.contains("turned away: this address is not allowed here"), "{ended:#?}");
    assert!(ended.stderr.contains("total: 0 connections, 1 turned away"), "{ended:#?}");
}

#[test]
fn unix_sockets_are_passed_on_as_well() {
    let folder = folder();
    let socket = format!("unix:{}", folder.path().join("echo").display());
    let _server = Server::listening(&socket, &["--quiet"]);
    let line = Server::of_delay(&socket, &["--delay", "1ms", "--quiet"]);
    let mut client = connect(&line.address);
    client.write_all(&frame(b"hello")).expect("it takes bytes");
    assert_eq!(read_frame(&mut client).expect("an answer").expect("a frame"), b"hello");
}

#[test]
fn a_line_of_limited_time_ends_by_itself() {
    let line = Server::of_delay(&nobody(), &["--for", "50ms"]);
    let ended = line.wait().with(0);
    assert!(ended.stderr.contains("total: 0 connections"), "{ended:#?}");
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_write() {
    for (words, expected) in [
        (vec!["127.0.0.1"], "write for example 127.0.0.1:3298"),
        (vec!["127.0.0.1:1", "--cut-share", "10%"], "--cut-after"),
        (vec!["127.0.0.1:1", "--idle-cut", "0s"], "write for example 2s"),
        (vec!["127.0.0.1:1", "--cut-after", "5"], "expected a time or a size"),
        (vec!["127.0.0.1:1", "--rate", "10"], "write for example 10Mbit"),
        (vec!["127.0.0.1:1", "--max-connections", "0"], "write 1 or more"),
    ] {
        let ended = plumb(&[&["net", "delay"], words.as_slice()].concat(), Path::new(".")).with(2);
        assert!(ended.stderr.contains(expected), "{words:?}: {ended:#?}");
    }
}
