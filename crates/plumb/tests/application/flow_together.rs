//! Rows of several messages go into `PostgreSQL` together, and each message has its own end.

use crate::flow_serve::{Flow, XML};
use crate::kit::postgres::{PASSWORD, Postgres, psql};
use crate::kit::until;

const NUMBER: &str = r#"
[[action]]
repeat = "/E"
assign = { number = "N", key = "K" }
[[action.do]]
sql = "INSERT INTO number(number, key) VALUES (CAST(${number} AS bigint), ${key})"
"#;

/// A server with the table, and a runtime that inserts into it.
fn numbers() -> (Postgres, Flow) {
    let server = Postgres::start("");
    let table = "CREATE TABLE number (at bigserial, number bigint UNIQUE, key text)";
    psql(&server.url(), table);
    let plant =
        format!("[server.plant]\nurl = \"{}\"\npassword-file = \"password\"\n", server.url());
    let files = [("number.toml", NUMBER), ("data-servers.toml", &*plant), ("password", PASSWORD)];
    let flow = Flow::of("[executions]\nthreads = 2\n", &files);
    (server, flow)
}

/// What is no number is what the database refuses.
fn event(number: usize) -> String {
    let written = if number % 10 == 5 { format!("x{number}") } else { number.to_string() };
    format!("<E><N>{written}</N><K>k{}</K></E>", number % 3)
}

#[test]
fn of_a_batch_exactly_the_bad_ones_fail_and_order_per_key_stays() {
    let (server, flow) = numbers();
    // while nobody answers messages gather
    server.freeze();
    let ids: Vec<String> = (0..200)
        .map(|number| {
            let key = format!("k{}", number % 3);
            let headers = [XML, ("X-Order-Key", &*key)];
            let accepted = flow.post("/runner/number?mode=async", &headers, &event(number));
            accepted.with(202).json()["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    server.thaw();
    let url = server.url();
    until(|| (psql(&url, "SELECT count(*) FROM number") == "180").then_some(()));
    for id in ids.iter().skip(5).step_by(10) {
        let failed = flow.until(id, "failed").to_string();
        assert!(failed.contains("invalid input syntax for type bigint"), "{failed}");
    }
    let distinct = "SELECT count(DISTINCT number), min(number), max(number) FROM number";
    assert_eq!(psql(&url, distinct), "180|0|199");
    let upset = "SELECT count(*) FROM number one JOIN number other USING (key) \
        WHERE one.at < other.at AND one.number > other.number";
    assert_eq!(psql(&url, upset), "0", "the order of messages with one key");
    assert_eq!(psql(&url, "SELECT count(*) FROM plumb_done_message"), "180");
}

#[test]
fn calls_that_are_committed_together_are_answered_each_for_itself() {
    let (server, flow) = numbers();
    flow.post("/runner/number", &[XML], "<E><N>1000</N></E>").with(200);
    server.freeze();
    let callers: Vec<_> = (0..30)
        .map(|number| {
            // the last stands in the table already
            let event = if number == 29 { "<E><N>1000</N></E>".into() } else { event(number) };
            let mut caller = flow.web();
            caller.send("POST", "/runner/number", &[XML], event.as_bytes());
            caller
        })
        .collect();
    server.thaw();
    for (number, mut caller) in callers.into_iter().enumerate() {
        let reply = caller.answer().expect("an answer");
        match number {
            29 => assert!(reply.with(500).text().contains("duplicate key")),
            bad if bad % 10 == 5 => {
                assert!(reply.with(500).text().contains("invalid input syntax"), "{number}");
            }
            _ => drop(reply.with(200)),
        }
    }
    // 27 of 30, and the one before
    assert_eq!(psql(&server.url(), "SELECT count(*), count(DISTINCT number) FROM number"), "27|27");
}
