//! `plumb flow load` against `plumb flow serve`: what is sent, and what becomes of it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::flow_serve::Flow;
use crate::kit::{Ended, PLUMB, Program, only_run, plumb, postgres};

/// A row for each order, with the number of its message.
const ORDERS: &str = r#"
mode = "async"
accepts = [{ idoc = "LOIPRO01" }]
[[action]]
name = "order"
repeat = "/LOIPRO01/IDOC/E1AFKOL"
assign = { number = "AUFNR" }
[[action.do]]
sql = "INSERT INTO orders(number) VALUES (${number})"
[[action]]
respond = "done"
"#;
const TABLE: &str = "CREATE TABLE orders (number TEXT, created_at TEXT DEFAULT \
    (strftime('%Y-%m-%d %H:%M:%f', 'now')))";
/// What the table is made with before anybody looks for it.
const SERVERS: &str = "[server.plant]\nurl = \"../plant.db\"\n";

/// A server whose transaction writes into a table that `statements` make.
fn runtime(settings: &str, statements: &[&str]) -> Flow {
    let flow = Flow::of(settings, &[("orders.toml", ORDERS), ("data-servers.toml", SERVERS)]);
    let setup = flow.folder.path().join("setup");
    fs::create_dir(&setup).expect("it can be written");
    let actions: Vec<String> =
        statements.iter().map(|it| format!("[[action]]\nsql = '''{it}'''\n")).collect();
    fs::write(setup.join("make.toml"), actions.concat()).expect("it can be written");
    fs::write(setup.join("data-servers.toml"), SERVERS).expect("it can be written");
    fs::write(setup.join("x.xml"), "<x/>").expect("it can be written");
    plumb(&["flow", "try", "make", "x.xml", "--commit"], &setup).with(0);
    flow
}

fn load(flow: &Flow, words: &[&str]) -> Ended {
    let url = format!("http://{}", flow.server.address);
    plumb(&[&["flow", "load", &url, "--warmup=0s"], words].concat(), flow.folder.path())
}

const SINK: [&str; 6] = ["--sink", "plant.db", "--table", "orders", "--number-column", "number"];

fn result(ended: &Ended) -> Value {
    ended.json()["results"][0].clone()
}

/// The text of the first reason of this kind.
fn reason(result: &Value, kind: &str) -> String {
    let reasons = result["validity"]["reasons"].as_array().expect("a list");
    let found = reasons.iter().find(|it| it["kind"] == kind);
    found.map_or_else(String::new, |it| it["text"].as_str().expect("a text").to_owned())
}

#[test]
fn accepted_messages_are_counted_in_their_table() {
    let flow = runtime("", &[TABLE]);
    let words = [&["--transaction=orders", "--connections=4", "--count=300"], &SINK[..]].concat();
    let ended = load(&flow, &words).with(0);
    let said = ended.stdout;
    let expected = "300 accepted, 300 in the table, 0 dead, 0 waiting: the count closes.";
    assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(expected), "{said}");
    assert!(said.contains("= rows / (last - first), by the time stamps"), "{said}");
    let run = only_run(flow.folder.path());
    let record = fs::read_to_string(run.join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&record).expect("JSON");
    let delivery = &record["results"][0]["delivery"];
    assert_eq!((&delivery["accepted"], &delivery["numbers"]), (&300.into(), &300.into()));
    assert_eq!(record["results"][0]["codes"], serde_json::json!({ "202": 300 }));
    // a second load has numbers of its own, whatever stands in the table
    let again = result(&load(&flow, &[&words[..], &["--json"]].concat()).with(0));
    assert_eq!(again["delivery"]["rows"], 300);
    // and without numbers the rows are counted that were not there before
    let words = ["--count=50", "--sink=plant.db", "--table=orders", "--json"];
    let unnumbered = result(&load(&flow, &words).with(0));
    assert_eq!(
        (&unnumbered["delivery"]["rows"], &unnumbered["delivery"]["accepted"]),
        (&50.into(), &50.into())
    );
    assert!(unnumbered["delivery"]["numbers"].is_null());
}

#[test]
fn an_open_load_and_a_sweep_are_counted_as_well() {
    let flow = runtime("", &[TABLE]);
    let words =
        [&["--rate=100/s", "--connections=2,4", "--for=1s", "--lag=1s", "--json"], &SINK[..]];
    let record = load(&flow, &words.concat()).json();
    assert_eq!(record["plan"]["load"], "open", "{record:#}");
    let results = record["results"].as_array().expect("a list");
    assert_eq!(results.len(), 2);
    for result in results {
        let delivery = &result["delivery"];
        assert_eq!(delivery["rows"], delivery["accepted"], "{delivery}");
        assert!(delivery["accepted"].as_u64() > Some(0), "{delivery}");
    }
}

#[test]
fn a_count_that_does_not_close_is_no_valid_run() {
    let thief = "CREATE TRIGGER thief AFTER INSERT ON orders WHEN NEW.rowid % 10 = 0 BEGIN \
        DELETE FROM orders WHERE rowid = NEW.rowid; END";
    // a row that was removed must not give its number free
    let table = TABLE.replace("number TEXT", "id INTEGER PRIMARY KEY AUTOINCREMENT, number TEXT");
    let flow = runtime("", &[&table, thief]);
    let words = [&["--count=100", "--json"], &SINK[..]].concat();
    let lost = result(&load(&flow, &words).with(1));
    assert_eq!(lost["validity"]["valid"], false);
    let text = reason(&lost, "counts-differ");
    assert!(text.contains("the count does not close: 100 accepted, 90 in the table"), "{text}");
    assert!(text.contains("so 10 messages missing"), "{text}");
}

#[test]
fn a_row_that_is_there_twice_is_seen() {
    let echo = "CREATE TRIGGER echo AFTER INSERT ON orders WHEN NEW.rowid = 1 BEGIN \
        INSERT INTO orders(number) VALUES (NEW.number); END";
    let flow = runtime("", &[TABLE, echo]);
    let twice = result(&load(&flow, &[&["--count=20", "--json"], &SINK[..]].concat()).with(1));
    let text = reason(&twice, "counts-differ");
    assert!(text.starts_with("20 messages in the table are 21 rows of 20"), "{text}");
}

#[test]
fn what_is_turned_away_is_neither_accepted_nor_failed_and_what_waits_is_counted() {
    // nobody serves its data, so that every message waits
    let statement = "[server.plant]\nurl = \"postgres://nobody@127.0.0.1:1/none\"\n";
    let flow = Flow::of(
        "[queue]\nmessages = 20\n[retry]\ninterval = \"1h\"\n",
        &[("orders.toml", ORDERS), ("data-servers.toml", statement)],
    );
    let sink = runtime("", &[TABLE]);
    let path = sink.folder.path().join("plant.db").display().to_string();
    let words = [
        "--connections=2",
        "--count=60",
        "--refused-pause=1ms",
        "--drain=0s",
        "--json",
        "--table=orders",
        "--number-column=number",
        "--sink",
        &path,
    ];
    let found = result(&load(&flow, &words).with(0));
    let count = |name: &str| found[name].as_u64().unwrap_or(0);
    assert_eq!(found["failures"], serde_json::json!({}));
    assert!(count("refused") > 0 && count("operations") > 0, "{found:#}");
    assert_eq!(count("operations") + count("refused"), 60);
    assert_eq!(found["codes"]["429"], found["refused"]);
    let delivery = &found["delivery"];
    assert_eq!((&delivery["waiting"], &delivery["rows"]), (&delivery["accepted"], &0.into()));
    assert!(reason(&found, "refused").contains("turned away for the moment"), "{found:#}");
}

#[test]
fn dead_messages_are_counted_as_dead() {
    let flow = runtime("", &[TABLE, "CREATE UNIQUE INDEX one ON orders(substr(number, 1, 1))"]);
    let found = result(&load(&flow, &[&["--count=10", "--json"], &SINK[..]].concat()).with(0));
    let delivery = &found["delivery"];
    assert_eq!((&delivery["rows"], &delivery["dead"]), (&1.into(), &9.into()), "{found:#}");
}

#[test]
fn messages_that_all_fail_behind_their_acceptance_are_no_valid_load() {
    // there is no such table
    let flow = runtime("", &["CREATE TABLE others (number TEXT)"]);
    let words = ["--transaction=orders", "--count=10", "--drain=60s", "--foreign-limit=100%"];
    let said = load(&flow, &words).with(1).stdout;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("10 messages were accepted with 202"), "{said}");
    assert!(said.contains("0 done meanwhile, 10 failed and 0 still on the way"), "{said}");
    assert!(!said.contains("none failed"), "{said}");
}

#[test]
fn accepted_messages_that_nobody_counts_are_called_accepted() {
    let flow = runtime("", &[TABLE]);
    let words = ["--transaction=orders", "--count=10", "--drain=60s", "--foreign-limit=100%"];
    let found = result(&load(&flow, &[&words[..], &["--json"]].concat()));
    assert_eq!(reason(&found, "counts-differ"), "", "{found:#}");
    assert_eq!(reason(&found, "untold"), "", "{found:#}");
    let said = load(&flow, &words).stdout;
    let waits = Flow::of(
        "[retry]\ninterval = \"1h\"\n",
        &[
            ("orders.toml", ORDERS),
            ("data-servers.toml", "[server.plant]\nurl = \"postgres://nobody@127.0.0.1:1/none\"\n"),
        ],
    );
    let words = ["--transaction=orders", "--count=10", "--drain=0s", "--json"];
    let found = result(&load(&waits, &words));
    let text = reason(&found, "counts-differ");
    let expected =
        "by the counts of the runtime 0 done meanwhile, 0 failed and 10 still on the way";
    assert!(text.contains(expected), "{text}: {said}");
}

#[test]
fn a_synchronous_runtime_tells_where_the_time_goes() {
    let flow = runtime("", &[TABLE]);
    let ended = load(&flow, &["--transaction=orders", "--mode=sync", "--count=200", "--json"]);
    let found = result(&ended.with(0));
    let part = &found["parts"][0];
    let told = part["told_ns"].as_object().expect("times");
    // what lies within an action stands behind a full stop
    let names: Vec<&str> =
        told.keys().map(String::as_str).filter(|name| !name.contains('.')).collect();
    let expected =
        ["action-order", "action-respond-in-line-11", "commit", "door", "queue", "total"];
    assert_eq!(names, expected);
    let mean = |name: &str| told[name]["mean"].as_u64().expect("a mean");
    let sum: u64 = names.iter().filter(|name| **name != "total").map(|name| mean(name)).sum();
    // told in whole microseconds
    assert!(sum <= mean("total") + 6_000, "{told:#?}");
    assert!(mean("total") <= part["response_ns"]["mean"].as_u64().expect("a mean"));
}

#[test]
fn failures_and_wrong_answers_say_what_the_server_said() {
    let flow = runtime("", &[TABLE]);
    let ended = load(&flow, &["--transaction=ordres", "--count=5", "--json"]).with(1);
    let found = result(&ended);
    assert_eq!(found["failures"]["unexpected-status"], 5);
    assert!(reason(&found, "complaint").contains("did you mean `order"), "{found:#}");
}

#[test]
fn whoever_logs_on_does_it_by_the_environment_or_a_file() {
    let token = "0123456789abcdef-token";
    let flow = runtime(&format!("[tokens]\nline = \"{token}\"\n"), &[TABLE]);
    let url = format!("http://{}", flow.server.address);
    let words =
        [&["flow", "load", &url, "--count=10", "--warmup=0s", "--json"], &SINK[..]].concat();
    let told = [("PLUMB_FLOW_TOKEN", token)];
    let ended = Program::start_told(Path::new(PLUMB), &words, flow.folder.path(), &told).wait();
    let ended = ended.with(0);
    assert_eq!(result(&ended)["delivery"]["rows"], 10);
    assert!(!ended.stdout.contains(token), "{}", ended.stdout);
    fs::write(flow.folder.path().join("secret"), format!("{token}\n")).expect("a file");
    let ended = load(&flow, &["--count=10", "--password-file=secret", "--json"]).with(0);
    assert_eq!(result(&ended)["operations"], 10);
    let refused = load(&flow, &["--count=3", "--json"]).with(1);
    assert_eq!(result(&refused)["codes"]["401"], 3);
}

/// 200 messages that become rows of a PostgreSQL, in which `further` was done before.
fn into_postgres(further: &str) -> Ended {
    let server = postgres::Postgres::start("");
    postgres::psql(
        &server.url(),
        "CREATE TABLE orders (number bigint, created_at timestamptz DEFAULT clock_timestamp())",
    );
    postgres::psql(&server.url(), further);
    let servers =
        format!("[server.plant]\nurl = \"{}\"\npassword-file = \"password\"\n", server.url());
    let files = [
        ("orders.toml", ORDERS),
        ("data-servers.toml", &servers),
        ("password", postgres::PASSWORD),
    ];
    let flow = Flow::of("", &files);
    let url = server.url();
    let words = [
        "--connections=4",
        "--count=200",
        "--json",
        "--sink",
        &url,
        "--table=public.orders",
        "--number-column=number",
        "--sink-password-file=flows/password",
    ];
    load(&flow, &words)
}

#[test]
fn rows_are_counted_in_a_postgres_that_ended_the_session_meanwhile() {
    let ends = "CREATE FUNCTION ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity \
        WHERE query LIKE 'SELECT count(*)%' AND pid <> pg_backend_pid(); RETURN NULL; END $$; \
        CREATE TRIGGER ends AFTER INSERT ON orders EXECUTE FUNCTION ends()";
    let found = result(&into_postgres(ends).with(0));
    assert_eq!(found["delivery"]["numbers"], 200, "{found:#}");
}

#[test]
fn rows_in_postgres_are_counted_by_its_own_time_stamps() {
    let ended = into_postgres("").with(0);
    let found = result(&ended);
    assert_eq!(
        (&found["delivery"]["rows"], &found["delivery"]["numbers"]),
        (&200.into(), &200.into())
    );
    assert!(found["delivery"]["span_ns"].as_u64() > Some(0), "{found:#}");
    assert!(!ended.stdout.contains(postgres::PASSWORD));
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_is_sent() {
    let flow = runtime("", &[TABLE]);
    let url = format!("http://{}", flow.server.address);
    for (words, expected) in [
        (vec![&*format!("{url}/runner/orders")], "name the transaction with --transaction"),
        (vec![&url, "--message", "none.xml"], "cannot read none.xml"),
        (vec![&url, "--depth", "2"], "one message under way"),
        (vec![&url, "--sink", "plant.db"], "--table"),
        (vec![&url, "--sink", "none.db", "--table", "t"], "no such file"),
        (vec![&url, "--sink", "plant.db", "--table", "none"], "no such table"),
        (vec![&url, "--sink", "plant.db", "--table", "orders;"], "expected a name"),
        (vec![&url, "--user", "anna"], "no password for anna"),
        (vec![&url, "--set", "plant"], "expected NAME=VALUE"),
        (
            vec![
                &url,
                "--message",
                "settings.toml",
                "--sink",
                "plant.db",
                "--table",
                "orders",
                "--number-column",
                "number",
            ],
            "${number}",
        ),
    ] {
        let words = [&["flow", "load"], &words[..], &["--count=1", "--out=run"]].concat();
        let said = plumb(&words, flow.folder.path()).with(2).stderr;
        assert!(said.contains(expected), "{words:?}: {said}");
        assert!(!flow.folder.path().join("run").exists(), "{words:?}");
    }
    // the server is as it was
    let idle = flow.get("/manager", &[("Accept", "application/json")]).json();
    assert_eq!(idle["figures"]["queue"]["accepted"], 0);
}

#[test]
fn remotes_send_each_number_once() {
    let flow = runtime("", &[TABLE]);
    let divided = ["--remotes=local:3", "--connections=3", "--count=50", "--first-number=100"];
    let sent = ["--transaction=orders", "--mode=sync", "--json"];
    let calm = ["--interval=50s", "--lag=50s", "--foreign-limit=100%"];
    let words = [&divided[..], &sent, &calm].concat();
    let result = result(&load(&flow, &words));
    assert_eq!(result["codes"], serde_json::json!({ "200": 50 }), "{result:#}");
    assert_eq!(result["operations"], 50, "{result:#}");
    assert_eq!(result["clients"].as_array().map(Vec::len), Some(3));
    assert_eq!(result["parts"][0]["operations"], 50);
    let database = rusqlite::Connection::open(flow.folder.path().join("plant.db")).expect("opened");
    let mut rows = database.prepare("SELECT number FROM orders").expect("a table");
    let numbers = rows.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let mut numbers: Vec<u64> =
        numbers.map(|number| number.expect("a row").parse().expect("a number")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (100..150).collect::<Vec<u64>>());
}
