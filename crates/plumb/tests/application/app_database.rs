//! The application server on PostgreSQL: the same pages, and a database that goes and comes back.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use kit::Server;
use kit::postgres::{PASSWORD, Postgres, USER};
use kit::web::Web;
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
    let url = format!("postgres://{USER}:{PASSWORD}@{address}/postgres");
    Server::configured(&format!("[database]\nurl = \"{url}\"\n{more}"))
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
