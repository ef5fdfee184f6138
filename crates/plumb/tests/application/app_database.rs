//! The application server on PostgreSQL: the same pages, and a database that goes and comes back.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use kit::postgres::{PASSWORD, Postgres, USER, psql};
use kit::web::{DEMO, Web};
use kit::{PLUMB, Program, Server, plumb};
use serde_json::json;

const PAGE: &str = "/sap(bD1lbiZjPTAwMA==)/bc/bsp/sap/it03/text1kb.htm";
const FLIGHTS: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/FlightCollection";

/// The way to a server, which the test can cut and mend.
struct Way {
    address: String,
    open: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Way {
    fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound").to_string();
        let open = Arc::new(AtomicBool::new(true));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let (server, is_open, kept) = (server.to_owned(), Arc::clone(&open), Arc::clone(&streams));
        thread::spawn(move || {
            for here in listener.incoming().flatten() {
                if !is_open.load(Ordering::SeqCst) {
                    continue; // closed at once
                }
                let there = TcpStream::connect(&server).expect("the server listens");
                let mut kept = kept.lock().expect("nobody panics with it");
                kept.extend(
                    [&here, &there].map(|it| it.try_clone().expect("a descriptor is left")),
                );
                forward(&here, &there);
                forward(&there, &here);
            }
        });
        Self { address, open, streams }
    }

    fn cut(&self) {
        self.open.store(false, Ordering::SeqCst);
        for stream in self.streams.lock().expect("nobody panics with it").drain(..) {
            let _ = stream.shutdown(Shutdown::Both); // gone already is as good
        }
    }

    fn mend(&self) {
        self.open.store(true, Ordering::SeqCst);
    }
}

fn forward(from: &TcpStream, to: &TcpStream) {
    let mut from = from.try_clone().expect("a descriptor is left");
    let mut to = to.try_clone().expect("a descriptor is left");
    thread::spawn(move || {
        // a stream that ends takes the other with it
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

fn serve(address: &str, more: &str) -> (tempfile::TempDir, Server) {
    Server::configured(&(database(&format!("{address}/postgres"), "") + more))
}

/// The section of a database at `place`, with more `lines`.
fn database(place: &str, lines: &str) -> String {
    format!("[database]\nurl = \"postgres://{USER}@{place}\"\npassword = \"{PASSWORD}\"\n{lines}\n")
}

#[test]
fn a_lost_database_is_503_with_a_time_to_come_back_and_recovers_by_itself() {
    let postgres = Postgres::start("");
    let way = Way::to(&postgres.address);
    let (_folder, server) = serve(&way.address, "[dispatcher]\nwork-processes = 2\n");
    let mut web = server.web();
    for _ in 0..4 {
        web.get(PAGE).with(200);
    }
    way.cut();
    for _ in 0..4 {
        let lost = web.get(FLIGHTS).with(503);
        assert_eq!(lost.header("retry-after"), "1");
        assert!(lost.text().contains("the database does not answer"), "{}", lost.text());
    }
    assert_eq!(web.get("/status").status, 200);
    way.mend();
    for _ in 0..4 {
        web.get(FLIGHTS).with(200);
    }
    let status = web.get("/status.json").json();
    assert_eq!((&status["steps"]["errors"], &status["steps"]["dumps"]), (&json!(4), &json!(0)));
    assert!(!status["database"].as_str().expect("a text").contains(PASSWORD));
    server.stop().with(0);
}

#[test]
fn every_step_works_on_postgresql_and_a_second_server_finds_its_tables() {
    let postgres = Postgres::start("");
    let more = "[dispatcher]\nwork-processes = 2\n[step]\ndatabase-wait = \"20ms\"\n";
    let (_first_folder, first) = serve(&postgres.address, more);
    let mut web = first.web();
    let page = web.get(PAGE).with(200);
    assert_eq!(page.body.len(), 1024);
    assert!(page.timing("database") >= 20.0);
    web.get("/sap/bc/bsp/sap/it03/image64kb.gif").with(200);
    let found = web.get(&format!("{FLIGHTS}?$filter=carrid%20eq%20'LH'&$format=json")).with(200);
    assert_eq!(found.json()["d"]["results"].as_array().map(Vec::len), Some(75));
    let number = sell(&mut web);
    let body = json!({ "order": "000001000001", "operation": "0010", "yieldQuantity": 5 });
    web.post("/sap/bc/production/confirmations", &body).with(201);
    drop(web);
    first.stop().with(0);
    let (_second_folder, second) = serve(&postgres.address, "");
    let order = second.web().get(&format!("/sap/bc/sd/orders/{number}")).with(200).json();
    assert_eq!(order["status"], "invoiced");
}

#[test]
fn a_server_that_begins_while_another_makes_the_tables_begins_too() {
    let postgres = Postgres::start("");
    let url = postgres.url();
    let making = {
        let url = url.clone();
        thread::spawn(move || {
            // what the other server does, with its transaction open until this one waits for it
            let waits = "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted";
            psql(
                &url,
                &format!(
                    "SELECT pg_advisory_xact_lock(482855972194);
                     CREATE TABLE carrier (carrid TEXT PRIMARY KEY, carrname TEXT NOT NULL,
                       currcode TEXT NOT NULL, url TEXT NOT NULL);
                     DO $$ BEGIN
                       FOR look IN 1..600 LOOP
                         EXIT WHEN ({waits});
                         PERFORM pg_sleep(0.05);
                       END LOOP;
                     END $$"
                ),
            );
        })
    };
    let begun = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    while psql(&url, begun) == "0" {
        thread::yield_now();
    }
    let (_folder, server) = serve(&postgres.address, "");
    making.join().expect("the tables are made");
    server.web().get(PAGE).with(200);
}

#[test]
fn a_database_that_hangs_holds_no_work_process_for_ever() {
    let postgres = Postgres::start("");
    let limits = "connect-timeout = \"2s\"\nstatement-timeout = \"2s\"";
    let config = database(&format!("{}/postgres", postgres.address), limits);
    let (_folder, server) = Server::configured(&(config + "[dispatcher]\nwork-processes = 2\n"));
    let mut web = server.web();
    web.get(FLIGHTS).with(200);
    postgres.freeze();
    let mut clients: Vec<Web> = (0..6).map(|_| server.web()).collect();
    for client in &mut clients {
        client.send("GET", FLIGHTS, &[DEMO], b"");
    }
    for client in &mut clients {
        let lost = client.answer().expect("an answer").with(503);
        assert_eq!(lost.header("retry-after"), "1");
        assert!(lost.text().contains("the database does not answer"), "{}", lost.text());
    }
    let status = web.get("/status.json").with(200).json();
    assert_eq!((&status["verdict"]["running"], &status["steps"]["dumps"]), (&json!(0), &json!(0)));
    postgres.thaw();
    // it is left alone for a moment, and then asked again
    let recovered = (0..100_000).any(|_| web.get(FLIGHTS).status == 200);
    assert!(recovered, "it never asked again");
    server.stop().with(0);
}

#[test]
fn a_database_that_hangs_is_seen_and_does_not_keep_the_server_from_ending() {
    let postgres = Postgres::start("");
    let config = database(
        &format!("{}/postgres", postgres.address),
        "statement-timeout = \"1h\"\nconnect-timeout = \"1h\"",
    ) + "[dispatcher]\nwork-processes = 2\n[front]\nfarewell = \"100ms\"\n";
    let (_folder, server) = Server::configured(&config);
    let mut web = server.web();
    web.get(FLIGHTS).with(200);
    postgres.freeze();
    let mut held: Vec<Web> = (0..3).map(|_| server.web()).collect();
    for client in &mut held {
        client.send("GET", FLIGHTS, &[DEMO], b"");
    }
    let verdict = loop {
        let verdict = web.get("/status.json").with(200).json()["verdict"].clone();
        if verdict["waiting"] == 1 && verdict["in_database"] == 2 {
            break verdict;
        }
    };
    assert_eq!((&verdict["ended"], &verdict["running"]), (&json!(1), &json!(2)));
    let words = verdict["words"].as_str().expect("words");
    assert!(words.contains("2 of them in a database call; 1 step waiting"), "{words}");
    let ended = server.stop().with(0);
    assert!(ended.stderr.contains("steps under way were cut after front.farewell"), "{ended:?}");
    assert!(held.iter_mut().all(|client| client.answer().is_none()));
}

#[test]
fn the_database_is_told_how_long_a_statement_may_take() {
    let postgres = Postgres::start("log_statement = all");
    let limits = "statement-timeout = \"1234ms\"";
    let (_folder, server) =
        Server::configured(&database(&format!("{}/postgres", postgres.address), limits));
    postgres.logged("SET statement_timeout = 1234; SET idle_in_transaction", 1);
    server.stop().with(0);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wrong = "[database]\nstatement-timeout = \"1s\"\n[step]\ndatabase-wait = \"1s\"\n";
    std::fs::write(folder.path().join("app.toml"), wrong).expect("it can be written");
    let said = plumb(&["app", "serve", "app.toml"], folder.path()).with(2).stderr;
    assert!(said.contains("step.database-wait") && said.contains("statement-timeout"), "{said}");
}

#[test]
fn the_database_is_spoken_to_over_tls_as_sslmode_says() {
    let key = rcgen::generate_simple_self_signed(vec!["127.0.0.1".into()]).expect("a certificate");
    let other = rcgen::generate_simple_self_signed(vec!["elsewhere".into()]).expect("another");
    let (cert, pem) = (key.cert.pem(), key.signing_key.serialize_pem());
    let only_tls = "hostssl all all 127.0.0.1/32 scram-sha-256\n";
    let files = [("server.crt", &*cert), ("server.key", &*pem), ("pg_hba.conf", only_tls)];
    let postgres = Postgres::with_files("ssl = on", &files);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (trusted, stranger) = (folder.path().join("ca.pem"), folder.path().join("other.pem"));
    std::fs::write(&trusted, &cert).expect("it can be written");
    std::fs::write(&stranger, other.cert.pem()).expect("it can be written");
    let place = |mode: &str, file: &std::path::Path| {
        let file = file.display();
        format!("{}/postgres?sslmode={mode}&sslrootcert={file}", postgres.address)
    };
    for place in [
        place("verify-full", &trusted),
        place("require", &trusted),
        format!("{}/postgres?sslmode=require", postgres.address),
        format!("{}/postgres", postgres.address),
    ] {
        let (_folder, server) = Server::configured(&database(&place, ""));
        server.web().get(FLIGHTS).with(200);
        server.stop().with(0);
    }
    for (place, said) in [
        (place("verify-full", &stranger), "certificate"),
        (place("disable", &trusted), "no encryption"),
        (place("verify-ca", &trusted), "sslmode is none of"),
    ] {
        std::fs::write(folder.path().join("app.toml"), database(&place, ""))
            .expect("it can be written");
        let words = ["app", "serve", "app.toml", "--listen", "127.0.0.1:0"];
        let ended = plumb(&words, folder.path()).with(2);
        assert!(ended.stderr.contains(said), "{place}: {}", ended.stderr);
        assert!(!ended.stderr.contains(PASSWORD), "{}", ended.stderr);
    }
}

#[test]
fn a_password_stands_in_no_command_line_and_in_no_list_of_options() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = format!("postgres://{USER}:{PASSWORD}@127.0.0.1:1/none");
    let serve = ["app", "serve", "--listen", "127.0.0.1:0", "--database", &url];
    for words in [&serve[..], &[&serve[..], &["--print-options"]].concat()] {
        let ended = plumb(words, folder.path()).with(2);
        assert!(ended.stderr.contains("PGPASSWORD"), "{ended:?}");
        assert!(!format!("{ended:?}").contains(PASSWORD), "{ended:?}");
    }
    std::fs::write(folder.path().join("app.toml"), format!("[database]\nurl = \"{url}\"\n"))
        .expect("it can be written");
    let ended = plumb(&["app", "serve", "app.toml"], folder.path()).with(2);
    assert!(ended.stderr.contains("[database]") && !ended.stderr.contains(PASSWORD), "{ended:?}");
}

#[test]
fn the_password_is_taken_from_the_environment() {
    let postgres = Postgres::start("");
    let url = postgres.url();
    let words = ["app", "serve", "--listen", "127.0.0.1:0", "--database", &url];
    let told = [("PGPASSWORD", PASSWORD)];
    let program = Program::start_told(Path::new(PLUMB), &words, Path::new("."), &told);
    let server = Server::ready(program);
    server.web().get(FLIGHTS).with(200);
    server.stop().with(0);
}

#[test]
fn control_characters_are_the_same_clear_400_on_both_databases() {
    let postgres = Postgres::start("");
    let (_folder, on_postgres) = serve(&postgres.address, "");
    let on_sqlite = Server::of_pages(&[]);
    let both = || [on_postgres.web(), on_sqlite.web()];
    let order = |customer: &str| {
        let item = json!({ "material": "M-01", "quantity": 1 });
        json!({ "customer": customer, "items": [item] })
    };
    for path in [
        "/rest/flights/A%00/0017/2011-06-01",
        "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/CarrierCollection('L%00')",
        "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/FlightCollection?$filter=carrid%20eq%20'%1f'",
        "/sap/bc/sd/orders?customer=%00",
        "/sap/bc/bsp/it03/%00.htm",
    ] {
        let [there, here] = both().map(|mut web| web.get(path).with(400));
        assert_eq!(there.body, here.body, "{path}");
        assert!(here.text().contains("control character U+00"), "{}", here.text());
    }
    for customer in ["a\0b", "a\nb", "\u{7f}"] {
        let [there, here] =
            both().map(|mut web| web.post("/sap/bc/sd/orders", &order(customer)).with(400));
        assert_eq!(there.body, here.body);
        assert!(here.text().contains("control character U+00"), "{}", here.text());
    }
}

/// An order from its creation to its invoice; its number.
fn sell(web: &mut Web) -> String {
    let item = json!({ "material": "M-07", "quantity": 3 });
    let order = json!({ "customer": "C-9", "items": [item] });
    let order = web.post("/sap/bc/sd/orders", &order).with(201).json();
    let path = format!("/sap/bc/sd/orders/{}", order["order"]);
    let delivery = web.post(&format!("{path}/delivery"), &json!({})).with(201).json();
    let issue = format!("/sap/bc/sd/deliveries/{}/issue", delivery["delivery"]);
    web.post(&issue, &json!({})).with(200);
    let invoice = web.post(&format!("{path}/invoice"), &json!({})).with(201).json();
    assert_eq!(invoice["net"], order["net"]);
    order["order"].to_string()
}
