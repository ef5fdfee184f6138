//! What `plumb net serve --json` prints of clients that come and go.

use std::path::Path;

use serde_json::Value;

use crate::kit::Program;
use crate::kit::ni::Client;

/// The lines of a server, up to the next one of `event`; that one.
fn next(program: &Program, event: &str) -> Value {
    loop {
        let line = program.line();
        let found: Value = serde_json::from_str(&line).expect("a line of JSON");
        assert_eq!(found["schema"], "plumb.net-serve/1");
        if found["event"] == event {
            return found;
        }
    }
}

#[test]
fn clients_that_were_connected_at_once_have_their_sum() {
    let words = ["net", "serve", "--listen", "127.0.0.1:0", "--json"];
    let program = Program::start(&words, Path::new("."));
    let address = next(&program, "listening")["address"].as_str().unwrap().to_owned();
    let mut clients = [Client::connect(&address), Client::connect(&address)];
    for _ in 0..100 {
        clients.iter_mut().for_each(|client| client.echo(b"EYECATCHER"));
    }
    let [mut first, mut second] = clients;
    first.finish();
    assert!(first.at_end());
    let gone = next(&program, "gone");
    assert_eq!((&gone["messages_in"], &gone["bytes_out"]), (&100.into(), &1_000.into()));
    second.finish();
    assert!(second.at_end());
    let together = next(&program, "together");
    assert_eq!(
        (&together["clients"], &together["messages_in"], &together["bytes_in"]),
        (&2.into(), &200.into(), &2_000.into())
    );
    let ns = |name: &str| together[name].as_u64().unwrap();
    assert!(0 < ns("at_once_ns") && ns("at_once_ns") <= ns("span_ns"), "{together}");
    program.signal(rustix::process::Signal::TERM);
    assert_eq!(next(&program, "total")["clients"], 2);
    let ended = program.wait().with(0);
    assert_eq!(ended.stderr, "");
}
