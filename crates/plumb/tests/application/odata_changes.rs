//! Sets of changes in `$batch` end to end: all of a set or nothing, and changes that refer to others.

use crate::kit;

use std::path::{Path, PathBuf};

use kit::Program;
use kit::Server;
use kit::not_tried;
use kit::web::{DEMO, Reply, Web};
use serde_json::{Value, json};

const STANDARD: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT";
const KIND: (&str, &str) = ("Content-Type", "multipart/mixed; boundary=Batch_1");

/// A batch of one set of these changes, each with its Content-ID and its body.
fn set(changes: &[(&str, &str, &str)]) -> String {
    let mut out = "--Batch_1\r\nContent-Type: multipart/mixed; boundary=Set_1\r\n\r\n".to_owned();
    for (name, request, body) in changes {
        out += &format!(
            "--Set_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\
             Content-ID: {name}\r\n\r\n{request} HTTP/1.1\r\nContent-Type: application/json\r\n\
             Accept: application/json\r\nContent-Length: {}\r\n\r\n{body}\r\n",
            body.len()
        );
    }
    out + "--Set_1--\r\n"
}

fn ask(web: &mut Web, parts: &[String]) -> Reply {
    let body = parts.concat() + "--Batch_1--\r\n";
    web.send("POST", &format!("{STANDARD}/$batch"), &[DEMO, KIND], body.as_bytes());
    web.answer().expect("an answer").with(202)
}

fn read(web: &mut Web, below: &str) -> Reply {
    let json = ("Accept", "application/json");
    web.send("GET", &format!("{STANDARD}/{below}"), &[DEMO, json], b"");
    web.answer().expect("an answer")
}

fn entity(web: &mut Web, below: &str) -> Value {
    read(web, below).with(200).json()["d"].clone()
}

const CARRIER: &str = r#"{"carrid":"ZZ","CARRNAME":"Plumb Air","CURRCODE":"EUR","URL":"http://z"}"#;
const FLIGHT: &str = r#"{"connid":"0001","fldate":"\/Date(1306886400000)\/","PRICE":"99.50",
    "CURRENCY":"EUR","SEATSMAX":100,"cityFrom":"ROME","departureTime":"PT07H30M00S"}"#;

#[test]
fn a_set_is_done_whole_and_its_changes_refer_to_each_other() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut web = server.web();
    let made = set(&[
        ("1", "POST CarrierCollection", CARRIER),
        ("2", "POST $1/carrierFlights", FLIGHT),
        ("3", "MERGE $1", r#"{"CARRNAME":"Plumb Airways"}"#),
        ("4", "PUT $2", r#"{"PRICE":"101.25","SEATSOCC":7}"#),
    ]);
    let count = "--Batch_1\r\nContent-Type: application/http\r\n\r\n\
        GET CarrierCollection('ZZ')/carrierFlights/$count HTTP/1.1\r\n\r\n\r\n"
        .to_owned();
    let text = ask(&mut web, &[made, count]).text();
    assert_eq!(text.matches("HTTP/1.1 201 Created").count(), 2, "{text}");
    assert_eq!(text.matches("HTTP/1.1 204 No Content").count(), 2, "{text}");
    for name in 1..=4 {
        assert!(text.contains(&format!("Content-ID: {name}\r\n")), "{text}");
    }
    assert!(
        text.contains("location: http://") && text.contains("CarrierCollection('ZZ')"),
        "{text}"
    );
    assert!(text.ends_with("--\r\n") && text.contains("\r\n\r\n1\r\n"), "{text}");
    let carrier = entity(&mut web, "CarrierCollection('ZZ')");
    assert_eq!(
        (&carrier["CARRNAME"], &carrier["CURRCODE"]),
        (&"Plumb Airways".into(), &"EUR".into())
    );
    let key = "FlightCollection(carrid='ZZ',connid='0001',fldate=datetime'2011-06-01T00:00:00')";
    let flight = entity(&mut web, &key.replace(' ', "%20"));
    assert_eq!((&flight["PRICE"], &flight["SEATSOCC"]), (&"101.25".into(), &7.into()));
    assert_eq!(flight["SEATSMAX"], 0, "PUT puts back what it does not say");
    assert_eq!(
        (&flight["cityFrom"], &flight["departureTime"]),
        (&"ROME".into(), &"PT07H30M00S".into())
    );
    let gone =
        set(&[("a", &format!("DELETE {key}"), ""), ("b", "DELETE CarrierCollection('ZZ')", "")]);
    let text = ask(&mut web, &[gone]).text();
    assert_eq!(text.matches("HTTP/1.1 204 No Content").count(), 2, "{text}");
    read(&mut web, "CarrierCollection('ZZ')").with(404);
}

#[test]
fn of_a_set_with_a_change_that_cannot_be_done_nothing_stays() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let create = ("1", "POST CarrierCollection", CARRIER);
    for (change, status) in [
        (("2", "POST CarrierCollection", CARRIER), "409 Conflict"),
        (("2", "DELETE CarrierCollection('LH')", ""), "409 Conflict"),
        (("2", "MERGE CarrierCollection('QQ')", "{}"), "404 Not Found"),
        (("2", "MERGE $9", "{}"), "400 Bad Request"),
        (("2", "MERGE $1", r#"{"CURRCODE":"TOO LONG"}"#), "400 Bad Request"),
        (("2", "PUT CarrierCollection", "{}"), "405 Method Not Allowed"),
        (("2", "POST /sap/opu/odata4/iwfnd/RMTSAMPLEFLIGHT/CarrierCollection", "{}"), "400 Bad"),
    ] {
        let text = ask(&mut web, &[set(&[create, change])]).text();
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "one answer for the set: {text}");
        assert!(text.contains(&format!("HTTP/1.1 {status}")), "{change:?}: {text}");
        assert!(text.contains("{\"error\":{\"code\":\"PLUMB/"), "{text}");
        read(&mut web, "CarrierCollection('ZZ')").with(404);
    }
    // the next set begins afresh
    let text = ask(&mut web, &[set(&[create])]).text();
    assert!(text.contains("HTTP/1.1 201 Created"), "{text}");
    // a set that cannot be read is refused as a part, and the others are answered
    let cut = set(&[create]).replace("--Set_1--\r\n", "");
    let count = "--Batch_1\r\nContent-Type: application/http\r\n\r\n\
        GET CarrierCollection/$count HTTP/1.1\r\n\r\n\r\n"
        .to_owned();
    let text = ask(&mut web, &[cut, count]).text();
    assert!(
        text.contains("HTTP/1.1 400 Bad Request") && text.contains("HTTP/1.1 200 OK"),
        "{text}"
    );
}

/// What a client finds and does that is given the root of the service, a user and a password.
fn found(program: &str, words: &[&str], script: &str) -> Value {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let url = format!("http://{}{STANDARD}/", server.address);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop").join(script);
    let script = script.display().to_string();
    let words = [words, &[&script, &url, "demo", "demo"]].concat();
    Program::start_as(Path::new(program), &words, Path::new(".")).wait().with(0).json()
}

#[test]
fn datajs_reads_and_changes_the_flights() {
    let packages = std::env::var_os("PLUMB_TEST_NODE").map(PathBuf::from);
    if !packages.is_some_and(|folder| folder.join("node_modules/datajs").is_dir()) {
        not_tried("datajs is not there: run ./test, which sets PLUMB_TEST_NODE");
        return;
    }
    let expected = json!({
        "all": 400, "price": 422.94, "carrier": "American Airlines", "dear": 2, "lufthansa": 75,
        "missing": 404, "set": [201, 201, 204], "refused": true, "flights": 1,
        "made": "123.45 5 PARIS",
    });
    assert_eq!(found("node", &[], "flights2.cjs"), expected);
}

#[test]
#[ignore = "Java takes long; ./test --full brings Olingo"]
fn olingo_2_reads_and_changes_the_flights() {
    let folder = std::env::var("PLUMB_TEST_OLINGO2").unwrap_or_default();
    if !Path::new(&folder).is_dir() {
        not_tried("Olingo 2 is not there: run ./test --full, which sets PLUMB_TEST_OLINGO2");
        return;
    }
    let expected = json!({
        "all": [400, 400], "price": 422.94, "carrier": "American Airlines", "dear": 2,
        "lufthansa": 75, "batch": 202,
        "parts": ["201 1", "201 2", "204 3", "409 null", "200 null"], "flights": 1,
        "made": "123.45 5 SAN FRANCISCO",
    });
    let path = format!("{folder}/*");
    assert_eq!(found("java", &["-cp", &path], "Flights2.java"), expected);
}
