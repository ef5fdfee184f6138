//! A peer that speaks the protocol of a database as far as a test needs it, and what it was asked.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

use super::{Ended, PLUMB, Program};

/// A peer, and what it was asked.
pub(crate) struct SqlPeer<A> {
    pub(crate) address: SocketAddr,
    pub(crate) asked: Arc<Mutex<A>>,
}

impl<A: Default + Send + 'static> SqlPeer<A> {
    /// One that has a conversation with everybody, until the test ends.
    pub(crate) fn start(converse: fn(TcpStream, &Mutex<A>) -> Option<()>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::<Mutex<A>>::default();
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, heard) = (stream.expect("a client"), Arc::clone(&heard));
                // whoever goes away is gone
                thread::spawn(move || converse(stream, &heard));
            }
        });
        Self { address, asked }
    }
}

/// Runs `plumb` with `told` in its environment to its end.
pub(crate) fn run(words: &[&str], told: (&str, &str), folder: &Path) -> Ended {
    Program::start_told(Path::new(PLUMB), words, folder, &[told]).wait()
}

/// What `plumb db ping` says of 60 calls at `url`.
pub(crate) fn ping(url: &str, told: (&str, &str), words: &[&str], folder: &Path) -> Ended {
    let out = folder.join("run").display().to_string();
    let counted = ["--count", "60", "--warmup", "0s", "--json"];
    run(&[&["db", "ping", url, "--out", &out], &counted[..], words].concat(), told, folder)
}

/// What the trivial and the sized statement came to over every kind of connection, all of it answered and
/// looked into by this driver.
pub(crate) fn attributions(ended: &Ended, driver: &str) -> Vec<Value> {
    let record = ended.json();
    let results = record["results"].as_array().expect("a list");
    assert_eq!(results.len(), 6, "two statements over three kinds of connection");
    let of = |result: &Value| {
        assert_eq!(result["failures"], serde_json::json!({}), "{result:#}");
        let name = result["driver"]["name"].to_string();
        assert!(name.contains(driver), "{name}");
        let found = result["attribution"].clone();
        assert!(found["observed"].as_u64() > Some(0), "{found:#}");
        found
    };
    results.iter().map(of).collect()
}
