//! `plumb flow check` and `try` with data servers and back ends.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use tempfile::{TempDir, tempdir};

use crate::flow_serve::Flow;
use crate::kit::{Ended, plumb, postgres};

const TRANSACTION: &str = r#"
[[action]]
repeat = "/ORDER/ITEM"
assign = { order = "../NO", part = "PART", quantity = "QTY" }
[[action.do]]
sql = "INSERT INTO components(order_no, part, quantity) VALUES (${order}, ${part}, ${quantity})"
server = "plant"

[[action]]
name = "all"
sql = "SELECT count(*) AS rows, sum(quantity) AS sum FROM components"
server = "plant"

[[action]]
respond = '{"rows": ${all.rows}, "sum": "${all.sum}"}'
type = "application/json"
"#;

const MESSAGE: &str = "<ORDER><NO>42</NO><ITEM><PART>O'Neill \"&amp;\" $1</PART><QTY>2</QTY></ITEM>\
    <ITEM><PART>b</PART></ITEM></ORDER>";

fn folder(transaction: &str, servers: &str) -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("order.toml", transaction);
    write("data-servers.toml", servers);
    write("order.xml", MESSAGE);
    folder
}

fn tried(folder: &Path, words: &[&str]) -> Ended {
    plumb(&[&["flow", "try", "order", "order.xml"], words].concat(), folder)
}

#[test]
fn a_trial_shows_statements_with_their_values_and_leaves_nothing_unless_told() {
    let server = postgres::Postgres::start("");
    let table = "CREATE TABLE components (order_no int, part text, quantity numeric)";
    postgres::psql(&server.url(), table);
    let servers =
        format!("[server.plant]\nurl = \"{}\"\npassword-file = \"password\"\n", server.url());
    let folder = folder(TRANSACTION, &servers);
    fs::write(folder.path().join("password"), postgres::PASSWORD).expect("a file");
    let shown = tried(folder.path(), &[]).with(0).stdout;
    for expected in [
        "sql in line 6: INSERT INTO components(order_no, part, quantity) VALUES ($1, $2, $3) with \
         order = 42, part = O'Neill \"&\" $1, quantity = 2\n",
        "part = b, quantity is NULL\n",
        "sql in line 6: changes 1 row\n",
        "all: brings 1 row: rows = 2, sum = 2\n",
        "undone (--commit keeps it) at plant\n",
        "{\"rows\": 2, \"sum\": \"2\"}\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(!shown.contains(postgres::PASSWORD));
    let count = "SELECT count(*), min(part), count(quantity) FROM components";
    assert_eq!(postgres::psql(&server.url(), count), "0||0");
    let kept = tried(folder.path(), &["--commit"]).with(0).stdout;
    assert!(kept.contains("\ncommitted at plant\n"), "{kept}");
    assert_eq!(postgres::psql(&server.url(), count), "2|O'Neill \"&\" $1|1");
    // what is refused names the row and the words of the database
    let message = MESSAGE.replace("<QTY>2", "<QTY>two");
    fs::write(folder.path().join("order.xml"), message).expect("a file");
    let refused = tried(folder.path(), &[]).with(2).stderr;
    for expected in ["invalid input syntax for type numeric", "in the row that ends at line 1"] {
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(!refused.contains(postgres::PASSWORD));
    // and the server itself says what is wrong with statements
    let right = plumb(&["flow", "check", ".", "--connect"], folder.path()).with(0).stdout;
    assert!(right.ends_with("1 checked, nothing found\n"), "{right}");
    let wrong = TRANSACTION.replace("part, quantity)", "part, quantiti)");
    fs::write(folder.path().join("order.toml"), wrong).expect("a file");
    let found = plumb(&["flow", "check", ".", "--connect"], folder.path()).with(1).stdout;
    assert!(found.contains("column \"quantiti\" of relation \"components\" does not exist"));
    assert!(found.contains("order.toml: sql in line 6: data server plant"), "{found}");
}

#[test]
fn servers_that_are_not_there_are_found_before_anything_runs() {
    let call = "[[action]]\ncall = \"erq\"\ntarget = \"/\"\n";
    let folder = folder(&format!("{TRANSACTION}{call}"), "[server.plants]\nurl = \"a.db\"\n");
    let ends = "[back-end.erp]\nurl = \"http://127.0.0.1:1\"\n";
    fs::write(folder.path().join("back-ends.toml"), ends).expect("a file");
    let found = plumb(&["flow", "check", "."], folder.path()).with(1).stdout;
    for expected in [
        "sql in line 6: data-servers.toml has no data server `plant`; did you mean `plants`?",
        "call in line 18: back-ends.toml has no back end `erq`; did you mean `erp`?",
        "3 to mend",
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
    fs::write(folder.path().join("data-servers.toml"), "[server.plant]\nurll = \"a\"\n")
        .expect("a file");
    let found = plumb(&["flow", "check", "."], folder.path()).with(1).stdout;
    assert!(found.contains("data-servers.toml, line 2, column 1: unknown field"), "{found}");
    assert!(found.contains("did you mean `url`?"), "{found}");
}

#[test]
fn a_back_end_is_called_on_one_session_or_on_one_each() {
    for (keep, sessions) in [("sessions", 1), ("nothing", 3)] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let serving = thread::spawn(move || {
            let mut answered = 0;
            let mut heads = Vec::new();
            for _ in 0..sessions {
                let (stream, _) = listener.accept().expect("a connection");
                let mut stream = BufReader::new(stream);
                while answered < 3 {
                    let mut head = String::new();
                    while !head.ends_with("\r\n\r\n") {
                        assert!(stream.read_line(&mut head).expect("a head") > 0, "{head}");
                    }
                    let mut body = [0; 3];
                    stream.read_exact(&mut body).expect("a body");
                    answered += 1;
                    heads.push(head);
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                    stream.get_mut().write_all(answer).expect("it listens");
                    if sessions > 1 {
                        break;
                    }
                }
            }
            heads
        });
        let call = "[[action]]\nrepeat = \"/ORDER/X\"\nassign = { x = \".\" }\n[[action.do]]\n\
            name = \"erp\"\ncall = \"erp\"\ntarget = \"/x?v=${x:url}\"\nbody = \"abc\"\n\
            [[action.do]]\nlog = \"${erp.body}\"\n";
        let folder = folder(call, "");
        let ends = format!(
            "[back-end.erp]\nurl = \"http://{address}/sap\"\nkeep = \"{keep}\"\nuser = \"mii\"\n\
             password-file = \"password\"\n"
        );
        fs::write(folder.path().join("back-ends.toml"), ends).expect("a file");
        fs::write(folder.path().join("password"), "secret").expect("a file");
        let message = "<ORDER><X>1</X><X>a b</X><X>3</X></ORDER>";
        fs::write(folder.path().join("order.xml"), message).expect("a file");
        let refused = tried(folder.path(), &[]).with(2).stderr;
        assert!(refused.contains("--commit sends it"), "{refused}");
        let shown = tried(folder.path(), &["--commit"]).with(0).stdout;
        assert_eq!(shown.matches("logs ok").count(), 3, "{shown}");
        assert!(!shown.contains("secret"));
        let heads = serving.join().expect("it served");
        assert!(heads[1].starts_with("POST /sap/x?v=a%20b HTTP/1.1\r\n"), "{}", heads[1]);
        assert!(heads[0].contains("Authorization: Basic bWlpOnNlY3JldA==\r\n"));
        assert_eq!(heads[0].contains("Connection: close"), sessions > 1);
    }
}

const FILE: &str = r#"
[server.plant]
url = "plant.db"
init-command = "CREATE TABLE IF NOT EXISTS components (order_no int, part text, quantity numeric)"
"#;
const COUNTED: &str = r#"
[[action]]
name = "all"
sql = "SELECT count(*) AS rows FROM components"
[[action]]
respond = "${all.rows}"
"#;

#[test]
fn rows_of_calls_and_of_queued_messages_reach_the_only_data_server() {
    let transaction = TRANSACTION.replace("server = \"plant\"\n", "");
    let transaction = format!("persist = \"always\"\n{transaction}");
    let files =
        [("data-servers.toml", FILE), ("rows.toml", &*transaction), ("counted.toml", COUNTED)];
    let flow = Flow::of("", &files);
    let xml = [("Content-Type", "application/xml")];
    let answer = flow.post("/runner/rows", &xml, MESSAGE).with(200);
    assert_eq!(answer.text(), r#"{"rows": 2, "sum": "2"}"#);
    let ids: Vec<String> = (0..5)
        .map(|_| {
            let accepted = flow.post("/runner/rows?mode=async", &xml, MESSAGE).with(202).json();
            accepted["id"].as_str().expect("an id").to_owned()
        })
        .collect();
    for id in ids {
        flow.until(&id, "done");
    }
    assert_eq!(flow.post("/runner/counted", &xml, "<a/>").with(200).text(), "12");
}
