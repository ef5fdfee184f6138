//! The application server end to end: pages, sessions, buffers, limits, bad input.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use kit::web::{DEMO, Web};
use kit::{PATIENCE, Server, message, plumb};
use serde_json::{Value, json};

pub(crate) const PAGE: &str = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/sap/it03/text1kb.htm";

const ORDERS: &str = "/sap/bc/sd/orders";

/// A lock server that grants every lock, but not before the test opens it: a step that takes a
/// lock holds its work process until then.
struct Gate {
    address: String,
    asked: Receiver<()>,
    open: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound").to_string();
        let (tell, asked) = mpsc::channel();
        let open = Arc::new((Mutex::new(false), Condvar::new()));
        let gate = Arc::clone(&open);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (gate, tell) = (Arc::clone(&gate), tell.clone());
                thread::spawn(move || grant(stream, &gate, &tell));
            }
        });
        Self { address, asked, open }
    }

    /// A configuration with this lock server, and `dispatcher` in the section of that name.
    fn config(&self, dispatcher: &str) -> String {
        let address = &self.address;
        format!("[locks]\nserver = \"{address}\"\ntimeout = \"60s\"\n[dispatcher]\n{dispatcher}\n")
    }

    /// Waits until one more step waits for its locks.
    fn arrived(&self) {
        self.asked.recv_timeout(PATIENCE).expect("a step asks for locks");
    }

    fn open(&self) {
        *self.open.0.lock().expect("nobody panics with it") = true;
        self.open.1.notify_all();
    }
}

fn grant(mut stream: TcpStream, gate: &(Mutex<bool>, Condvar), tell: &mpsc::Sender<()>) {
    while command(&mut stream).is_ok_and(|whole| whole) {
        let _ = tell.send(()); // a test that has ended wants to know nothing
        let closed = gate.0.lock().expect("nobody panics with it");
        drop(gate.1.wait_while(closed, |open| !*open).expect("nobody panics with it"));
        let _ = stream.write_all(b":1\r\n"); // whoever is gone hears nothing
    }
}

/// Reads one command: how many words, and each behind its length. False at the end.
fn command(stream: &mut TcpStream) -> io::Result<bool> {
    let Some(count) = message::line(stream)? else { return Ok(false) };
    let words = count.trim_start_matches('*').parse::<u32>().map_err(io::Error::other)?;
    for _ in 0..2 * words {
        message::line(stream)?;
    }
    Ok(true)
}

fn order() -> Vec<u8> {
    let item = json!({ "material": "M-01", "quantity": 1 });
    json!({ "customer": "C-1", "items": [item] }).to_string().into_bytes()
}

/// Asks for the status until it has this number there.
pub(crate) fn until(server: &Server, place: &str, expected: u64) {
    let mut web = server.web();
    for _ in 0..100_000 {
        let seen = web.get("/status.json").with(200).json();
        if seen.pointer(place) == Some(&json!(expected)) {
            return;
        }
    }
    panic!("{place} never became {expected}");
}

pub(crate) fn status(server: &Server) -> Value {
    server.web().get("/status.json").with(200).json()
}

#[test]
fn a_page_has_its_size_to_the_byte_and_says_where_its_time_went() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut web = server.web();
    for size in [1, 2, 4, 8, 16, 32, 64] {
        let path = PAGE.replace("1kb", &format!("{size}kb"));
        for _ in 0..2 {
            let page = web.get(&path).with(200);
            assert_eq!(page.body.len(), size << 10);
            assert!(
                page.text().contains("Hello World") && page.text().contains("flying Lufthansa")
            );
        }
        let image = web.get(&path.replace("text", "image").replace("htm", "gif")).with(200);
        assert_eq!((image.body.len(), image.header("content-type")), (size << 10, "image/gif"));
    }
    let page = web.get(PAGE);
    for part in ["queue", "load", "database", "render"] {
        assert!(page.timing(part) >= 0.0);
    }
    assert!(page.timing("database") > 0.0);
    assert_eq!(page.header("sap-statistics"), "");
    let asked = web.ask("GET", PAGE, &[DEMO, ("sap-statistics", "true")], b"");
    assert!(asked.header("sap-statistics").starts_with("total="), "{asked:?}");
    assert_eq!(web.get("/sap/bc/bsp/it03/none.gif").status, 404);
    assert_eq!(web.get(&PAGE.replace("1kb", "3kb")).status, 404);
    server.stop().with(0);
}

#[test]
fn the_first_request_is_redirected_to_the_mangled_url_with_a_session() {
    let server = Server::of_pages(&[]);
    let mut web = server.web();
    let first = web.get("/sap/bc/bsp/it03/text1kb.htm?x=1").with(302);
    let to = first.header("location").to_owned();
    assert_eq!(to, "/sap(bD1lbiZjPTAwMA==)/bc/bsp/it03/text1kb.htm?x=1");
    let cookie = first.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    web.ask("GET", &to, &[("Cookie", &cookie)], b"").with(200);
    assert_eq!(status(&server)["sessions"]["open"], 1);
    let again =
        web.ask("GET", "/sap/bc/bsp/it03/text1kb.htm", &[("Cookie", &cookie)], b"").with(302);
    assert_eq!((again.header("location").len(), again.header("set-cookie")), (to.len() - 4, ""));
    assert_eq!(status(&server)["sessions"]["opened"], 1, "the session of the cookie goes on");
    web.ask("GET", "/sap/public/bc/icf/logoff", &[("Cookie", &cookie)], b"").with(200);
    web.ask("GET", &to, &[("Cookie", &cookie)], b"").with(401);
    assert_eq!(status(&server)["sessions"]["open"], 0);
}

#[test]
fn whoever_proves_nothing_is_challenged() {
    let (_folder, server) = Server::configured("[users]\nanna = \"secret\"\n");
    let mut web = server.web();
    let challenged = web.ask("GET", PAGE, &[], b"").with(401);
    assert!(challenged.header("www-authenticate").starts_with("Basic realm="));
    web.get(PAGE).with(401); // the demo user is gone
    let anna = ("Authorization", "Basic YW5uYTpzZWNyZXQ=");
    let page = web.ask("GET", PAGE, &[anna], b"").with(200);
    assert!(page.text().contains("User anna"));
}

#[test]
fn the_program_buffer_counts_and_can_be_emptied() {
    let (_folder, server) = Server::configured("[programs]\nbuffer-size = \"24KiB\"\n");
    let mut web = server.web();
    let buffer = |server: &Server| status(server)["programs"].clone();
    web.get(PAGE).with(200);
    web.get(PAGE).with(200);
    let seen = buffer(&server);
    assert_eq!((&seen["hits"], &seen["misses"], &seen["swaps"]), (&json!(1), &json!(1), &json!(0)));
    for number in 1..=5 {
        let path = format!("/sap(bD1lbiZjPTAwMA==)/bc/bsp/catalog/page00{number}.htm");
        assert_eq!(web.get(&path).with(200).body.len(), (4 + number) << 10);
    }
    assert!(buffer(&server)["swaps"].as_u64() > Some(0));
    web.ask("POST", "/programs/reset", &[], b"").with(401);
    web.post("/programs/reset", &json!({})).with(200);
    let seen = buffer(&server);
    assert_eq!(
        (&seen["programs"], &seen["hits"], &seen["misses"]),
        (&json!(0), &json!(0), &json!(0))
    );
}

#[test]
fn a_first_use_costs_the_compilation_and_the_second_does_not() {
    let config = "[programs]\ncompile-cpu = \"20ms\"\nload-wait = \"20ms\"\n";
    let (_folder, server) = Server::configured(config);
    let mut web = server.web();
    assert!(web.get(PAGE).with(200).timing("load") >= 40.0);
    let database = |server: &Server| status(server)["steps"]["load_ns"].as_u64();
    let first = database(&server);
    assert!(first >= Some(40_000_000));
    web.get(PAGE).with(200);
    assert!(database(&server) < first.map(|first| 2 * first), "it was compiled again");
}

#[test]
fn waiting_steps_are_counted_and_the_queue_is_named_as_the_cause() {
    let gate = Gate::start();
    let (_folder, server) = Server::configured(&gate.config("work-processes = 1"));
    let mut held = server.web();
    held.send("POST", ORDERS, &[DEMO], &order());
    gate.arrived();
    let mut clients: Vec<Web> = (0..9).map(|_| server.web()).collect();
    for client in &mut clients {
        client.send("GET", PAGE, &[DEMO], b"");
    }
    until(&server, "/queue/length", 9);
    let seen = status(&server);
    assert_eq!(seen["work_processes"][0]["state"], "running");
    assert_eq!(seen["work_processes"][0]["program"], ORDERS);
    gate.open();
    assert_eq!(held.answer().map(|answer| answer.status), Some(201));
    for client in &mut clients {
        assert!(client.answer().expect("an answer").with(200).timing("queue") > 0.0);
    }
    let seen = status(&server);
    assert_eq!((&seen["queue"]["length_max"], &seen["steps"]["count"]), (&json!(9), &json!(10)));
    assert_eq!(
        (&seen["verdict"]["cause"], &seen["verdict"]["ended"]),
        (&json!("queue"), &json!(10))
    );
    let words = seen["verdict"]["words"].as_str().expect("words");
    assert!(words.starts_with("Requests wait for a work process"), "{words}");
}

#[test]
fn with_a_work_process_each_nobody_waits_for_another() {
    let gate = Gate::start();
    let (_folder, server) = Server::configured(&gate.config("work-processes = 10"));
    let mut clients: Vec<Web> = (0..10).map(|_| server.web()).collect();
    for client in &mut clients {
        client.send("POST", ORDERS, &[DEMO], &order());
    }
    (0..10).for_each(|_| gate.arrived()); // all of them at once
    gate.open();
    for client in &mut clients {
        client.answer().expect("an answer").with(201);
    }
    let processes = status(&server)["work_processes"].clone();
    let worked = processes.as_array().expect("a list").iter().filter(|it| it["steps"] == 1).count();
    assert_eq!(worked, 10, "{processes:#}");
}

#[test]
fn waiting_in_the_database_is_part_of_its_time() {
    let (_folder, server) = Server::configured("[step]\ndatabase-wait = \"30ms\"\n");
    assert!(server.web().get(PAGE).with(200).timing("database") >= 30.0);
}

#[test]
fn a_user_logs_on_once_over_a_connection_that_is_kept() {
    let (_folder, server) = Server::configured("[log-on]\ndatabase-wait = \"30ms\"\n");
    let mut kept = server.web();
    assert!(kept.get(PAGE).with(200).timing("database") >= 30.0);
    (0..3).for_each(|_| drop(kept.get(PAGE).with(200)));
    assert_eq!(status(&server)["log_ons"], 1);
    (0..3).for_each(|_| drop(server.web().get(PAGE).with(200)));
    assert_eq!(status(&server)["log_ons"], 4);
    assert!(status(&server)["steps"]["database_ns"].as_u64() >= Some(4 * 30_000_000));
}

#[test]
fn processor_time_of_a_step_is_real() {
    let (_folder, server) = Server::configured("[step]\ncpu = \"30ms\"\n");
    assert!(server.web().get(PAGE).with(200).timing("render") >= 30.0);
    assert!(status(&server)["steps"]["cpu_ns"].as_u64() >= Some(30_000_000));
}

#[test]
fn a_queue_that_is_full_answers_503_at_once_and_says_which() {
    let gate = Gate::start();
    let (_folder, server) = Server::configured(&gate.config("work-processes = 1\nqueue = 1"));
    let mut held = server.web();
    held.send("POST", ORDERS, &[DEMO], &order());
    gate.arrived();
    let mut waiting = server.web();
    waiting.send("GET", PAGE, &[DEMO], b"");
    until(&server, "/queue/length", 1);
    let refused = server.web().get(PAGE).with(503);
    assert!(refused.text().contains("dispatcher.queue"));
    assert_eq!(refused.header("retry-after"), "1");
    gate.open();
    waiting.answer().expect("an answer").with(200);
    assert_eq!(status(&server)["queue"]["refused"], 1);
}

#[test]
fn background_steps_leave_a_work_process_to_dialog_steps() {
    let gate = Gate::start();
    let dispatcher = "work-processes = 2\ndialog-reserved = 1\nbackground = [\"/sap/bc/sd/\"]";
    let (_folder, server) = Server::configured(&gate.config(dispatcher));
    let mut orders = [server.web(), server.web()];
    for client in &mut orders {
        client.send("POST", ORDERS, &[DEMO], &order());
    }
    gate.arrived();
    until(&server, "/queue/background/length", 1);
    server.web().get(PAGE).with(200); // although a background step waits and none goes on
    let urgent = [DEMO, ("Priority", "u=7")];
    let mut third = server.web();
    third.send("GET", PAGE, &urgent, b"");
    until(&server, "/queue/background/length", 2);
    gate.open();
    for client in &mut orders {
        client.answer().expect("an answer").with(201);
    }
    third.answer().expect("an answer").with(200);
    let background = &status(&server)["queue"]["background"];
    assert_eq!((&background["begun"], &background["processes"]), (&json!(3), &json!(1)));
    assert_eq!(background["length_max"], 2);
}

#[test]
fn a_client_that_goes_while_it_waits_costs_no_step() {
    let gate = Gate::start();
    let (_folder, server) = Server::configured(&gate.config("work-processes = 1"));
    let mut held = server.web();
    held.send("POST", ORDERS, &[DEMO], &order());
    gate.arrived();
    let mut gone = server.web();
    gone.send("GET", PAGE, &[DEMO], b"");
    until(&server, "/queue/length", 1);
    drop(gone);
    until(&server, "/queue/length", 0); // although no work process has looked yet
    gate.open();
    held.answer().expect("an answer").with(201);
    server.web().get(PAGE).with(200);
    let seen = status(&server);
    assert_eq!((&seen["queue"]["abandoned"], &seen["steps"]["count"]), (&json!(1), &json!(2)));
}

#[test]
fn as_many_requests_as_may_are_under_way_and_wait() {
    let gate = Gate::start();
    let config = gate.config("") + "[front]\nrequests = 1\nqueue = 1\n";
    let (_folder, server) = Server::configured(&config);
    let mut held = server.web();
    held.send("POST", ORDERS, &[DEMO], &order());
    gate.arrived();
    let mut waiting = server.web();
    waiting.send("GET", PAGE, &[DEMO], b"");
    until(&server, "/connections/waiting", 1);
    let refused = server.web().get(PAGE).with(503);
    assert!(refused.text().contains("front.queue"), "{}", refused.text());
    gate.open();
    waiting.answer().expect("an answer").with(200);
    let seen = status(&server)["connections"].clone();
    assert_eq!((&seen["turned_away"], &seen["waiting"]), (&json!(1), &json!(0)));
}

#[test]
fn a_stop_lets_steps_under_way_finish() {
    let gate = Gate::start();
    let (_folder, server) = Server::configured(&gate.config(""));
    let mut web = server.web();
    web.send("POST", ORDERS, &[DEMO], &order());
    gate.arrived();
    let address = server.address.clone();
    let ended = std::thread::spawn(move || server.stop().with(0));
    // once nobody is let in any more, the stop has been heard
    while std::net::TcpStream::connect(&address).is_ok() {}
    gate.open();
    web.answer().expect("the answer of the step").with(201);
    ended.join().expect("it ends");
}

#[test]
fn metrics_and_the_page_for_people_are_there_without_a_password_on_loopback() {
    let server = Server::of_pages(&[]);
    let mut web = server.web();
    web.get(PAGE).with(200);
    let metrics = web.ask("GET", "/metrics", &[], b"").with(200);
    assert!(metrics.header("content-type").starts_with("text/plain; version=0.0.4"));
    let text = metrics.text();
    assert!(text.contains("\nplumb_app_steps_total 1\n"), "{text}");
    assert!(text.contains("plumb_app_step_seconds_total{part=\"queue\"} 0."), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').expect("a name and a value");
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    let page = web.ask("GET", "/status", &[], b"").with(200).text();
    assert!(page.contains("<h2>Work processes</h2>") && !page.contains("<script"), "{page}");
    web.ask("POST", "/status", &[], b"x").with(405);
    web.get("/nothing").with(404);
}

#[test]
fn a_confirmation_is_posted_and_added_up() {
    let server = Server::of_pages(&[]);
    let mut web = server.web();
    let path = "/sap/bc/production/confirmations";
    let body = json!({ "order": "000001000001", "operation": "0010", "yieldQuantity": 5 });
    let first = web.post(path, &body).with(201).json();
    let second = web.post(path, &body).with(201).json();
    assert_eq!((&first["confirmed"], &second["confirmed"]), (&json!(5), &json!(10)));
    assert_ne!(first["confirmation"], second["confirmation"]);
    web.ask("POST", path, &[], body.to_string().as_bytes()).with(401);
    web.get(path).with(405);
    let missing = json!({ "order": "1", "operation": "0010", "yieldQuantity": 5 });
    web.post(path, &missing).with(404);
    let wrong = web.post(path, &json!({ "order": "1", "yield": 5 })).with(400);
    assert!(wrong.json()["error"]["message"].as_str().expect("text").contains("unknown field"));
}

#[test]
fn every_program_is_generated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = ["app", "generate", "--work-processes", "3", "--rounds", "2"];
    let ended = plumb(&words, folder.path()).with(0);
    assert!(ended.stdout.starts_with("498 programs compiled, "), "{ended:#?}");
    assert!(ended.stdout.contains("work processes      3\n"), "{ended:#?}");
}

#[test]
fn a_configuration_that_is_wrong_says_where() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = |text: &str, words: &[&str]| {
        std::fs::write(folder.path().join("app.toml"), text).expect("it can be written");
        let words = [&["app", "serve", "app.toml", "--listen", "127.0.0.1:0"], words].concat();
        let ended = plumb(&words, folder.path()).with(2);
        assert_eq!(ended.stdout, "");
        ended.stderr
    };
    let said = run("[front]\nconections = 5\n", &[]);
    assert!(said.starts_with("plumb: app.toml:2:1: unknown field `conections`"), "{said}");
    assert!(said.ends_with("did you mean `connections`?\n"), "{said}");
    let said = run("", &["--listen", "0.0.0.0:0"]);
    assert!(said.contains("everybody knows the password of the demo user"), "{said}");
    let said = run("", &["--database", "postgres://nobody@127.0.0.1:1/none"]);
    assert!(said.contains("cannot use the database") && said.contains("is it started"), "{said}");
    let said = run("[backend]\nurl = \"ftp://x\"\n", &[]);
    assert!(said.contains("write http://HOST:PORT"), "{said}");
    let ended = plumb(&["app", "serve", "none.toml"], Path::new("/")).with(2);
    assert!(ended.stderr.contains("cannot read none.toml"), "{ended:#?}");
}
