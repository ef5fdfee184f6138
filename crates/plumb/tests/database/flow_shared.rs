//! Integration runtimes whose queue is in a PostgreSQL: what was accepted becomes a row once,
//! whoever of them, or the server, goes away meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::cutter::Cutter;
use crate::kit::namespace::{Namespace, allowed, middle_of};
use crate::kit::nats::Nats;
use crate::kit::postgres::{PASSWORD, Postgres, psql, url};
use crate::kit::{Program, Server, plumb, until};

const ROWS: &str = r#"
mode = "async"
persist = "never"
[[action]]
repeat = "/ORDER/ITEM"
assign = { part = "." }
[[action.do]]
sql = "INSERT INTO parts(part) VALUES (${part})"
server = "plant"
"#;
const TABLE: &str = "CREATE TABLE parts (part text)";
const COUNTED: &str = "SELECT count(*), count(DISTINCT part) FROM parts";

/// A folder of one transaction, whose rows are in the PostgreSQL at `data`, host and port, and whose
/// queue is in the one at `queue`.
fn folder(data: &str, queue: &str) -> TempDir {
    folder_with(data, &format!("url = \"{}\"\n", url(queue)))
}

/// The same with a queue of these settings.
fn folder_with(data: &str, queue: &str) -> TempDir {
    let settings = format!(
        "[queue]\n{queue}password-file = \"flows/password\"\nlease = \"3s\"\n\
         [retry]\ntimes = 1000\ninterval = \"100ms\"\n"
    );
    served_folder(data, &settings)
}

/// The same with these settings.
pub(crate) fn served_folder(data: &str, settings: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it can be written");
    };
    fs::create_dir(folder.path().join("flows")).expect("it can be written");
    write("flows/rows.toml", ROWS);
    write("flows/password", PASSWORD);
    let data = url(data);
    let server = format!("[server.plant]\nurl = \"{data}\"\npassword-file = \"password\"\n");
    write("flows/data-servers.toml", &server);
    write("settings.toml", settings);
    folder
}

fn serve(folder: &Path) -> Server {
    let words = ["flow", "serve", "flows", "--settings", "settings.toml"];
    let words = [&words[..], &["--listen", "127.0.0.1:0"]].concat();
    Server::ready(Program::start(&words, folder))
}

/// Sends a message of one part until it is accepted.
fn send(server: &Server, part: &str) {
    until(|| {
        let headers = [("Content-Type", "application/xml"), ("Idempotency-Key", part)];
        let body = format!("<ORDER><ITEM>{part}</ITEM></ORDER>");
        let reply = server.web().ask("POST", "/runner/rows", &headers, body.as_bytes());
        // the queue's server may be away, which is said
        let away = reply.status == 503;
        (!away).then(|| drop(reply.with(202)))
    });
}

/// Waits for `count` rows, and looks that each is there once.
fn all_there(server: &Postgres, count: usize) {
    let rows = "SELECT count(*) FROM parts";
    until(|| (psql(&server.url(), rows).parse() == Ok(count)).then_some(()));
    let waiting = "SELECT count(*) FROM plumb_queue_message WHERE state = 0";
    until(|| (psql(&server.url(), waiting) == "0").then_some(()));
    assert_eq!(psql(&server.url(), COUNTED), format!("{count}|{count}"));
    let dead = "SELECT count(*) FROM plumb_queue_message WHERE state = 2";
    assert_eq!(psql(&server.url(), dead), "0");
}

#[test]
fn a_runtime_that_is_killed_and_started_again_has_every_message_become_one_row() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let folder = folder(&server.address, &server.address);
    let flow = serve(folder.path());
    for number in 0..40 {
        send(&flow, &format!("{number}"));
    }
    flow.kill();
    let again = serve(folder.path());
    for number in 40..60 {
        send(&again, &format!("{number}"));
    }
    for number in 0..60 {
        send(&again, &format!("{number}")); // the same again, which is known
    }
    all_there(&server, 60);
    again.stop().with(0);
}

#[test]
fn a_queue_whose_server_stops_and_starts_again_keeps_what_it_accepted() {
    let mut server = Postgres::start("");
    psql(&server.url(), TABLE);
    let folder = folder(&server.address, &server.address);
    let flow = serve(folder.path());
    for number in 0..20 {
        send(&flow, &format!("{number}"));
    }
    server.stop();
    let body = b"<ORDER><ITEM>x</ITEM></ORDER>";
    let headers = [("Content-Type", "application/xml"), ("Idempotency-Key", "x")];
    let refused = flow.web().ask("POST", "/runner/rows", &headers, body).with(503);
    assert!(refused.text().contains("the queue cannot write"), "{}", refused.text());
    server.start_again();
    for number in 20..30 {
        send(&flow, &format!("{number}"));
    }
    all_there(&server, 30);
    flow.stop().with(0);
}

#[test]
fn a_connection_of_the_queue_cut_around_commit_loses_and_doubles_nothing() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let cutter = Cutter::start(&server.address);
    let folder = folder(&server.address, &cutter.address);
    let flow = serve(folder.path());
    for number in 0..30 {
        if number % 10 == 4 {
            // the answer is, and in the session after it the COMMIT itself, which is prepared there
            cutter.after.store(true, Ordering::SeqCst);
            cutter.before.store(true, Ordering::SeqCst);
        }
        send(&flow, &format!("{number}"));
    }
    for armed in [&cutter.after, &cutter.before] {
        assert!(!armed.load(Ordering::SeqCst), "it was cut");
    }
    all_there(&server, 30);
    flow.stop().with(0);
}

#[test]
fn nodes_that_share_a_queue_are_runtimes_of_it() {
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let folder = folder(&server.address, &server.address);
    let words = ["flow", "serve", "flows", "--settings", "settings.toml", "--nodes", "2"];
    let words = [&words[..], &["--listen", "127.0.0.1:0", "--queue", "queue"]].concat();
    let flow = Server::ready(Program::start(&words, folder.path()));
    (0..20).for_each(|number| send(&flow, &number.to_string()));
    all_there(&server, 20);
    // a row is there before its message is counted; once for all nodes, and not once for each
    let seen = until(|| {
        let seen = flow.web().get("/manager").with(200).json();
        let figures = &seen["figures"];
        let counted = figures["queue"]["waiting"] == 0 && figures["queued"]["done"] == 20;
        counted.then_some(seen)
    });
    assert_eq!(seen["figures"]["runtimes"].as_array().map(Vec::len), Some(2));
    assert_eq!(seen["nodes"].as_array().map(Vec::len), Some(2));
    flow.stop().with(0);
}

/// A runtime in a namespace; whoever is outside of it reaches it over a socket file.
struct Elsewhere {
    program: Program,
    folder: TempDir,
}

impl Elsewhere {
    fn start(place: &Namespace, server: &str) -> Self {
        let folder = folder(server, server);
        let words = ["flow", "serve", "flows", "--settings", "settings.toml"];
        let words = [&words[..], &["--listen", "unix:door"]].concat();
        let program = place.start(&words, folder.path());
        assert!(program.line().contains("door"));
        Self { program, folder }
    }

    /// Status and body of one answer.
    fn ask(&self, head: &str, body: &str) -> (u16, String) {
        let door = self.folder.path().join("door");
        let mut stream = UnixStream::connect(door).expect("it listens");
        let length = body.len();
        let request = format!(
            "{head} HTTP/1.1\r\nHost: here\r\nAccept: application/json\r\nConnection: close\r\n\
             Content-Type: application/xml\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status");
        (status, body.to_owned())
    }

    fn send(&self, part: usize) {
        let body = format!("<ORDER><ITEM>{part}</ITEM></ORDER>");
        let (status, answer) = self.ask("POST /runner/rows", &body);
        assert_eq!(status, 202, "{answer}");
    }

    fn runtimes(&self) -> Vec<Value> {
        let (_, seen) = self.ask("GET /manager", "");
        let seen: Value = serde_json::from_str(&seen).expect("JSON");
        seen["figures"]["runtimes"].as_array().expect("runtimes").clone()
    }

    /// Attempts of messages that this runtime has done.
    fn done(&self) -> u64 {
        let (_, seen) = self.ask("GET /manager", "");
        let seen: Value = serde_json::from_str(&seen).expect("JSON");
        seen["figures"]["queued"]["done"].as_u64().expect("a number")
    }
}

#[test]
#[ignore = "takes tens of seconds: a part of ./test --full"]
fn three_runtimes_on_three_hosts_share_a_queue_and_a_lost_ones_messages_are_taken_over() {
    let Some((middle, hosts)) = allowed(Namespace::star(3)) else { return };
    let Some(server) = allowed(Postgres::within(&middle, "0.0.0.0")) else { return };
    // it is reached within the namespaces alone
    let psql = |sql: &str| {
        let at = url("127.0.0.1:5432");
        let words = ["-X", "-A", "-t", "-q", "-c", sql, &at];
        let told = [("PGPASSWORD", PASSWORD)];
        let client = crate::kit::postgres::client();
        let ended = middle.start_as_told(&client, &words, server.folder(), &told).wait();
        ended.with(0).stdout.trim().to_owned()
    };
    // rows wait for a lock that the test holds, so that messages are under way when one is lost
    psql(TABLE);
    psql("CREATE TABLE gate (open bool); INSERT INTO gate VALUES (false)");
    psql(
        "CREATE FUNCTION wait_for_gate() RETURNS trigger AS $$ BEGIN \
         WHILE NOT (SELECT open FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP; RETURN NEW; \
         END $$ LANGUAGE plpgsql",
    );
    psql(
        "CREATE TRIGGER gate BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION wait_for_gate()",
    );
    let mut runtimes: Vec<Elsewhere> = hosts
        .iter()
        .zip(1..)
        .map(|(place, number)| Elsewhere::start(place, &format!("{}:5432", middle_of(number))))
        .collect();
    for part in 0..90 {
        runtimes[part % 3].send(part);
    }
    // each has something under way
    until(|| {
        let all = runtimes[0].runtimes();
        let busy = |it: &Value| it["running"].as_u64().is_some_and(|count| count > 0);
        (all.len() == 3 && all.iter().all(busy)).then_some(())
    });
    let lost = runtimes.remove(2);
    lost.program.signal(Signal::KILL);
    drop(lost.program.wait());
    hosts[1].cut_off(); // and of another one nobody hears
    psql("UPDATE gate SET open = true");
    until(|| (psql("SELECT count(DISTINCT part) FROM parts") == "90").then_some(()));
    assert_eq!(psql(COUNTED), "90|90");
    until(|| (psql("SELECT count(*) FROM plumb_queue_message") == "0").then_some(()));
    let presences: BTreeSet<String> = runtimes[0]
        .runtimes()
        .iter()
        .map(|it| it["presence"].as_str().expect("a word").to_owned())
        .collect();
    assert_eq!(presences, BTreeSet::from(["lost".to_owned(), "own".to_owned()]));
    assert!(runtimes[0].done() > 0);
}

#[test]
fn a_queue_in_nats_survives_runtime_and_server_being_killed() {
    let Some(mut nats) = allowed(Nats::start(PASSWORD)) else { return };
    let server = Postgres::start("");
    psql(&server.url(), TABLE);
    let queue = format!("url = \"nats://{}\"\nsize = \"16MiB\"\n", nats.address);
    let folder = folder_with(&server.address, &queue);
    let flow = serve(folder.path());
    let said = flow.log();
    assert!(said.contains("sync_interval") && !said.contains(PASSWORD), "{said}");
    (0..20).for_each(|number| send(&flow, &number.to_string()));
    flow.kill();
    let again = serve(folder.path());
    (20..30).for_each(|number| send(&again, &number.to_string()));
    nats.kill_and_start_again();
    (30..40).for_each(|number| send(&again, &number.to_string()));
    (0..40).for_each(|number| send(&again, &number.to_string())); // which is known
    until(|| (psql(&server.url(), "SELECT count(*) FROM parts") == "40").then_some(()));
    let left = || {
        let queue = &again.web().get("/manager").with(200).json()["figures"]["queue"];
        (queue["waiting"].as_u64(), queue["failed"].as_u64())
    };
    until(|| (left() == (Some(0), Some(0))).then_some(()));
    assert_eq!(psql(&server.url(), COUNTED), "40|40");
    again.stop().with(0);
}

#[test]
fn a_queue_that_cannot_be_reached_is_told_before_anything_is_served() {
    let folder = folder("127.0.0.1:9", "127.0.0.1:9");
    let words = ["flow", "serve", "flows", "--settings", "settings.toml"];
    let ended = plumb(&words, folder.path()).with(2);
    assert!(ended.stderr.contains("the queue in PostgreSQL at 127.0.0.1:9, "), "{}", ended.stderr);
    assert!(!ended.stderr.contains(PASSWORD));
}
