//! The lock server as the tools of Redis see it, as Prometheus does, and as a browser might.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::fs;
use std::path::Path;

use kit::authority::Authority;
use kit::foreign::installed;
use kit::locks::Server;
use kit::not_tried;
use kit::{Ended, Program};
use tempfile::tempdir;

/// Runs a tool of Redis against the server.
fn tool(name: &str, server: &Server, words: &[&str], folder: &Path) -> Ended {
    let words = [&["-h", "127.0.0.1", "-p", server.place().1], words].concat();
    Program::start_as(&Path::new("/usr/bin").join(name), &words, folder).wait()
}

fn cli(server: &Server, words: &[&str], folder: &Path) -> String {
    tool("redis-cli", server, words, folder).with(0).stdout
}

#[test]
fn redis_cli_speaks_both_versions() {
    if let Err(reason) = installed("redis-cli", "redis-tools") {
        not_tried(reason);
        return;
    }
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    for version in [&[][..], &["-3"]] {
        let ask = |words: &[&str]| cli(&server, &[version, words].concat(), folder.path());
        let fence = ask(&["ENQ", "a", "KEEP", "E", "MARA", "001"]);
        let fence: u64 = fence.trim().parse().expect("a fence number");
        let held = ask(&["ENQ", "b", "S", "MARA", "00@"]);
        assert_eq!(held, format!("HELD\n0\na\n\nE\nMARA\n001\n{fence}\n"));
        assert_eq!(ask(&["DEQALL", "a"]), "1\n");
        assert_eq!(ask(&["GET", "none"]), "\n");
        let figures = ask(&["LOCKSTAT"]);
        // a map is written in pairs
        assert!(figures.replace(' ', "\n").contains("\nlocks\n0\n"), "{figures}");
        let refused = ask(&["NONSENSE"]);
        assert!(refused.starts_with("ERR unknown command 'NONSENSE'"), "{refused}");
    }
}

#[test]
fn redis_cli_names_a_password_over_tls() {
    if let Err(reason) = installed("redis-cli", "redis-tools") {
        not_tried(reason);
        return;
    }
    let folder = tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "own");
    let signed = authority.sign("localhost");
    fs::write(folder.path().join("secret"), "hush\n").expect("it can be written");
    let words = [&signed.shown()[..], &["--password-file", "secret"]].concat();
    let server = Server::start(&words, folder.path());
    let ca = authority.ca();
    let known = ["--tls", "--sni", "localhost", "--cacert", &ca, "--no-auth-warning"];
    let ask = |words: &[&str]| cli(&server, &[&known[..], words].concat(), folder.path());
    let refused = ask(&["PING"]);
    assert!(refused.starts_with("NOAUTH"), "{refused}");
    for user in [&[][..], &["--user", "anybody"], &["-3"]] {
        let words = [user, &["-a", "hush", "PING"]].concat();
        assert_eq!(ask(&words), "PONG\n", "{user:?}");
    }
}

#[test]
fn redis_benchmark_finds_what_it_looks_for() {
    if let Err(reason) = installed("redis-benchmark", "redis-tools") {
        not_tried(reason);
        return;
    }
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let load = ["-c", "3", "-n", "600", "-P", "4", "-r", "100", "-q"];
    let set = ["SET", "key:__rand_int__", "owner", "NX", "PX", "30000"];
    let words = [&load[..], &set].concat();
    let said = tool("redis-benchmark", &server, &words, folder.path()).with(0);
    assert!(said.stdout.contains("requests per second"), "{said:?}");
    assert!(!format!("{said:?}").to_ascii_lowercase().contains("warning"), "{said:?}");
    let granted = server.client().number("COUNT owner");
    assert!((1..=100).contains(&granted), "{granted} of 100 keys");
}

#[test]
fn hello_answers_as_its_version_is_written() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let start = "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n";
    for (said, map, version, nothing) in
        [("HELLO", "*14\r\n", 2, "$-1\r\n"), ("HELLO 3 SETNAME me", "%7\r\n", 3, "_\r\n")]
    {
        let all = server.asked(&format!("{said}\r\nGET none\r\nCLIENT GETNAME\r\nQUIT\r\n"), 1000);
        assert!(all.starts_with(&format!("{map}{start}:{version}\r\n$2\r\nid\r\n:")), "{all:?}");
        let name = if version == 3 { "$2\r\nme\r\n" } else { nothing };
        assert!(all.ends_with(&format!("{nothing}{name}+OK\r\n")), "{all:?}");
    }
}

#[test]
fn prometheus_reads_the_figures_where_the_locks_are() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    client.number("ENQ a E MARA 1");
    let request = "GET /metrics HTTP/1.1\r\nHost: lockhost:3200\r\nAccept: text/plain\r\n\r\n";
    for piece in [1_000, 1] {
        let page = server.asked(request, piece);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain;"), "{page}");
        let (head, body) = page.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{head}");
        assert!(body.contains("\nplumb_lock_locks 1\n"), "{body}");
    }
    assert!(server.asked("GET / HTTP/1.0\r\n\r\n", 100).starts_with("HTTP/1.1 404 Not Found\r\n"));
    let endless = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n", "x".repeat(9_000));
    assert_eq!(server.asked(&endless, 10_000), "");
    assert_eq!(client.number("COUNT a"), 1);

    fs::write(folder.path().join("secret"), "open sesame\n").expect("it can be written");
    let server = Server::start(&["--password-file", "secret"], folder.path());
    let page = server.asked(request, 1_000);
    assert!(
        page.starts_with("HTTP/1.1 401 Unauthorized\r\n") && !page.contains("plumb_"),
        "{page}"
    );
    let known = request
        .replace("\r\n\r\n", "\r\nAuthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n");
    assert!(server.asked(&known, 1_000).starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn a_page_in_a_browser_gives_no_commands() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    client.number("ENQ a E MARA 1");
    for method in ["POST", "PUT", "OPTIONS", "GET"] {
        for head in ["Host: 127.0.0.1:3200\r\nAccept: */*", "Accept: */*\r\nhost: x"] {
            let request = format!("{method} / HTTP/1.1\r\n{head}\r\n\r\nREMOVE OWNER a\r\n");
            let said = server.asked(&request, 1_000);
            assert!(!said.contains(":1\r\n"), "{method}: {said}");
            assert_eq!(client.number("COUNT a"), 1, "{method}: {said}");
        }
    }
}

/// How the library redsync releases: -1 tells a lock that is over from one of somebody else.
const RELEASE: &str = "local val = redis.call(\"GET\", KEYS[1]) if val == ARGV[1] then return \
                       redis.call(\"DEL\", KEYS[1]) elseif val == false then return -1 else \
                       return 0 end";

#[test]
fn a_script_answers_as_it_would_in_redis() {
    let folder = tempdir().expect("a temporary folder");
    let server = Server::start(&[], folder.path());
    let mut client = server.client();
    assert_eq!(client.ask("SET k token NX PX 600000").expect("it answers"), ["+OK"]);
    for (value, answer) in [("other", ":0"), ("token", ":1"), ("token", ":-1")] {
        let said = client.ask(&format!("EVAL '{RELEASE}' 1 k {value}")).expect("it answers");
        assert_eq!(said, [answer], "{value}");
    }
}
