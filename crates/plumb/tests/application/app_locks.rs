//! Sales steps against a real lock server: what is held stops a step, and a step leaves nothing.

use crate::kit;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use kit::web::Web;
use kit::{PATIENCE, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

const ORDERS: &str = "/sap/bc/sd/orders";

/// Somebody else who takes locks, as the owner `ben-1`.
struct Ben(BufReader<TcpStream>);

impl Ben {
    fn at(locks: &Server) -> Self {
        let stream = TcpStream::connect(&locks.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
        Self(BufReader::new(stream))
    }

    /// The first line of the reply to a command.
    fn ask(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.0.get_mut().write_all(bytes.as_bytes()).expect("the server listens");
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a reply");
        line.trim_end().to_owned()
    }

    fn holds(&mut self, lock: &str) {
        let fence = self.ask(&format!("ENQ ben-1 USER ben {lock}"));
        assert!(fence.starts_with(':'), "{lock}: {fence}");
    }

    fn lets_go(&mut self) {
        assert_eq!(self.ask("DEQALL ben-1"), ":1");
    }
}

/// A lock server, and an application server that takes its locks there.
fn servers() -> (Server, TempDir, Server) {
    let locks = Server::of_locks();
    let (folder, pages) = Server::configured(&format!("[locks]\nserver = \"{}\"\n", locks.address));
    (locks, folder, pages)
}

/// Does the step at `path`, which `ben` stops by holding `lock`, and which goes on without it.
fn stopped_once(web: &mut Web, ben: &mut Ben, path: &str, order: &Value, lock: &str) -> Value {
    ben.holds(lock);
    let refused = web.post(path, order).with(423).json();
    let (_, what) = lock.split_once(' ').expect("a mode, then what is locked");
    assert_eq!(refused["error"]["message"], format!("{what} is held by ben (ben-1)"));
    ben.lets_go();
    let done = web.post(path, order);
    assert!([200, 201].contains(&done.status), "{path}: {}", done.text());
    done.json()
}

#[test]
fn what_somebody_holds_stops_each_step_until_it_is_free() {
    let (locks, _folder, pages) = servers();
    let (mut web, mut ben) = (pages.web(), Ben::at(&locks));
    let item = |material: &str| json!({ "material": material, "quantity": 1 });
    let order = json!({ "customer": "C-1", "items": [item("M-01"), item("M-02"), item("M-01")] });
    let nothing = json!({});
    let mut step =
        |path: &str, body: &Value, lock: &str| stopped_once(&mut web, &mut ben, path, body, lock);
    step(ORDERS, &order, "E KNA1 C-1");
    let sold = step(ORDERS, &order, "E MARA M-02");
    let number = sold["order"].as_u64().expect("a number");
    let (path, lock) = (format!("{ORDERS}/{number}"), format!("E VBAK {number:010}"));
    let delivery = step(&format!("{path}/delivery"), &nothing, &lock);
    let issue = format!("/sap/bc/sd/deliveries/{}/issue", delivery["delivery"]);
    step(&issue, &nothing, "S MBEW M-01");
    let invoice = step(&format!("{path}/invoice"), &nothing, &lock);
    assert_eq!(invoice["net"], sold["net"]);
}

#[test]
fn materials_are_shared_and_a_step_leaves_no_lock() {
    let (locks, _folder, pages) = servers();
    let (mut web, mut ben) = (pages.web(), Ben::at(&locks));
    let order = json!({ "customer": "C-1", "items": [{ "material": "M-01", "quantity": 1 }] });
    ben.holds("S MARA M-01");
    for _ in 0..3 {
        web.post(ORDERS, &order).with(201);
    }
    ben.lets_go();
    // whoever still held one of them would stop this
    ben.holds("X KNA1 C-1 X MARA M-01");
}

#[test]
fn a_lock_server_that_is_gone_stops_the_steps_that_need_it() {
    let (locks, _folder, pages) = servers();
    let mut web = pages.web();
    let order = json!({ "customer": "C-1", "items": [{ "material": "M-01", "quantity": 1 }] });
    web.post(ORDERS, &order).with(201);
    locks.kill();
    let refused = web.post(ORDERS, &order).with(503);
    assert_eq!(refused.header("retry-after"), "1");
    assert!(refused.text().contains("lock server"), "{}", refused.text());
    web.get(&format!("{ORDERS}?customer=C-1")).with(200);
}

/// The address of a lock server that grants everything, and is gone when something is given back.
fn forgets_all() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut from = BufReader::new(stream);
            let mut line = String::new();
            while from.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                match line.trim_end() {
                    "DEQALL" => break,
                    // the name of the user, and nothing else, stands alone before the locks
                    "USER" => from.get_mut().write_all(b":1\r\n").expect("it is heard"),
                    _ => {}
                }
                line.clear();
            }
        }
    });
    address
}

#[test]
fn what_is_committed_is_done_although_its_locks_cannot_be_given_back() {
    let config = format!("[locks]\nserver = \"{}\"\n", forgets_all());
    let (_folder, pages) = Server::configured(&config);
    let mut web = pages.web();
    let order = json!({ "customer": "C-1", "items": [{ "material": "M-01", "quantity": 1 }] });
    let number = web.post(ORDERS, &order).with(201).json()["order"].clone();
    let path = format!("{ORDERS}/{number}");
    let delivery = web.post(&format!("{path}/delivery"), &json!({})).with(201).json();
    let issue = format!("/sap/bc/sd/deliveries/{}/issue", delivery["delivery"]);
    web.post(&issue, &json!({})).with(200);
    assert_eq!(web.post(&format!("{path}/invoice"), &json!({})).with(201).json()["order"], number);
    let steps = web.get("/status.json").with(200).json()["steps"].clone();
    assert_eq!(steps["errors"], 0);
    assert!(steps["lock_ns"].as_u64() > Some(0), "{steps}");
}
