//! The flight service in version 4 of its protocol: by hand, and read by clients that were not
//! written here.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::{Path, PathBuf};

use kit::not_tried;
use kit::web::{DEMO, Web};
use kit::{Program, Server};
use serde_json::{Value, json};

const ROOT: &str = "/sap/opu/odata4/iwfnd/RMTSAMPLEFLIGHT";
const FLIGHT: &str = "/FlightCollection(carrid='AA',connid='0017',fldate=2011-06-01)";

fn read(web: &mut Web, path: &str) -> Value {
    let answer = web.get(&format!("{ROOT}{path}")).with(200);
    assert_eq!(answer.header("odata-version"), "4.0");
    assert!(answer.header("content-type").starts_with("application/json;odata.metadata=minimal"));
    answer.json()
}

#[test]
fn entities_are_read_with_options_of_version_4() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let root = format!("http://localhost:8000{ROOT}/"); // as the client calls it
    let flight = read(&mut web, FLIGHT);
    assert_eq!(flight["@odata.context"], format!("{root}$metadata#FlightCollection/$entity"));
    assert_eq!((&flight["PRICE"], &flight["fldate"]), (&json!(422.94), &json!("2011-06-01")));
    assert_eq!(flight["departureTime"].as_str().map(str::len), Some("11:00:00".len()));
    let found = read(
        &mut web,
        "/FlightCollection?$filter=fldate%20ge%202011-06-01%20and%20contains(carrid,'LH')&$count=true\
         &$top=2&$orderby=PRICE%20desc&$select=carrid,PRICE&$expand=flightCarrier($select=CARRNAME)",
    );
    assert!(found["@odata.count"].as_u64() > Some(2), "{found:#}");
    let first = &found["value"][0];
    assert_eq!(first.as_object().map(serde_json::Map::len), Some(3), "{first:#}");
    assert_eq!(first["flightCarrier"], json!({ "CARRNAME": "Lufthansa" }));
    let context = "#FlightCollection(carrid,PRICE,flightCarrier(CARRNAME))";
    assert_eq!(found["@odata.context"], format!("{root}$metadata{context}"));
    let carrier = read(
        &mut web,
        "/CarrierCollection('QF')?$expand=carrierFlights($top=2;$orderby=PRICE;$select=PRICE)",
    );
    let prices: Vec<f64> = carrier["carrierFlights"]
        .as_array()
        .expect("flights")
        .iter()
        .map(|flight| flight["PRICE"].as_f64().expect("a price"))
        .collect();
    assert!(prices.len() == 2 && prices[0] <= prices[1], "{prices:?}");
}

#[test]
fn what_belongs_to_an_entity_is_read_by_itself() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let root = format!("http://localhost:8000{ROOT}/"); // as the client calls it
    assert_eq!(web.get(&format!("{ROOT}/FlightCollection/$count")).with(200).text(), "400");
    assert_eq!(web.get(&format!("{ROOT}{FLIGHT}/PRICE/$value")).with(200).text(), "422.94");
    assert_eq!(read(&mut web, &format!("{FLIGHT}/PRICE"))["value"], 422.94);
    let carrier = read(&mut web, &format!("{FLIGHT}/flightCarrier"));
    assert_eq!(carrier["CARRNAME"], "American Airlines");
    assert_eq!(carrier["@odata.context"], format!("{root}$metadata#CarrierCollection/$entity"));
    let link = read(&mut web, &format!("{FLIGHT}/flightCarrier/$ref"));
    assert_eq!(link["@odata.id"], format!("{root}CarrierCollection('AA')"));
    let links = read(&mut web, "/CarrierCollection('AA')/carrierFlights/$ref?$top=3");
    assert_eq!(links["value"].as_array().map(Vec::len), Some(3));
    let sets = read(&mut web, "/");
    assert_eq!(sets["value"][1]["url"], "FlightCollection");
    let types = web.get(&format!("{ROOT}/$metadata")).with(200).text();
    for part in
        ["Version=\"4.0\"", "Edm.Date\"", "Edm.TimeOfDay", "Collection(RMTSAMPLEFLIGHT.Flight)"]
    {
        assert!(types.contains(part), "{part}: {types}");
    }
}

#[test]
fn a_batch_of_parts_is_answered_part_by_part() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let part = |target: &str| {
        format!("--b\r\nContent-Type: application/http\r\n\r\nGET {target} HTTP/1.1\r\n\r\n\r\n")
    };
    let body = part(&FLIGHT[1..]) + &part("CarrierCollection('XX')") + "--b--\r\n";
    let headers = [DEMO, ("Content-Type", "multipart/mixed; boundary=b")];
    let answer = web.ask("POST", &format!("{ROOT}/$batch"), &headers, body.as_bytes()).with(200);
    assert_eq!(answer.header("odata-version"), "4.0");
    let text = answer.text();
    assert!(text.contains("\"PRICE\":422.94") && text.contains("HTTP/1.1 200"), "{text}");
    assert!(text.contains("HTTP/1.1 404") && text.contains("\"message\":\"there is no"), "{text}");
}

#[test]
fn a_batch_ends_with_what_fails_unless_the_client_prefers_otherwise() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let part = |target: &str| {
        format!("--b\r\nContent-Type: application/http\r\n\r\nGET {target} HTTP/1.1\r\n\r\n\r\n")
    };
    let body = part("CarrierCollection('XX')") + &part(&FLIGHT[1..]) + "--b--\r\n";
    let kind = ("Content-Type", "multipart/mixed; boundary=b");
    for (prefer, answers) in [
        ("return=minimal", 1),
        ("odata.continue-on-error=false", 1),
        ("odata.continue-on-error", 2),
        ("return=minimal, continue-on-error=true", 2),
    ] {
        let headers = [DEMO, kind, ("Prefer", prefer)];
        let answer = web.ask("POST", &format!("{ROOT}/$batch"), &headers, body.as_bytes());
        let text = answer.with(200).text();
        assert_eq!(text.matches("HTTP/1.1 ").count(), answers, "{prefer}: {text}");
        assert!(text.contains("HTTP/1.1 404") && text.ends_with("--\r\n"), "{text}");
    }
}

#[test]
fn a_set_of_changes_speaks_version_4() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut web = server.web();
    let mut ask = |changes: &[(&str, &str)]| {
        let mut body = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n".to_owned();
        for (name, (request, entity)) in changes.iter().enumerate() {
            body += &format!(
                "--c\r\nContent-Type: application/http\r\nContent-ID: {name}\r\n\r\n{request} \
                 HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{entity}\r\n"
            );
        }
        body += "--c--\r\n--b--\r\n";
        let headers = [DEMO, ("Content-Type", "multipart/mixed; boundary=b")];
        let answer = web.ask("POST", &format!("{ROOT}/$batch"), &headers, body.as_bytes());
        answer.with(200).text()
    };
    let carrier =
        r##"{"@odata.type":"#RMTSAMPLEFLIGHT.Carrier","carrid":"ZZ","CARRNAME":"Plumb Air"}"##;
    let create = ("POST CarrierCollection", carrier);
    let flight =
        r#"{"connid":"0001","fldate":"2026-11-24","PRICE":99.5,"departureTime":"07:30:00"}"#;
    for (change, says) in [
        (("MERGE $0", "{}"), "takes no MERGE"),
        (("POST $0/carrierFlights", r#"{"connid":"1","fldate":"/Date(0)/"}"#), "2011-06-01"),
        (("POST $0/carrierFlights", r#"{"flightCarrier@odata.bind":"x"}"#), "is not known"),
        (("DELETE CarrierCollection('LH')", ""), "has flights"),
    ] {
        let text = ask(&[create, change]);
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{text}");
        assert!(text.contains(says) && text.contains("odata-version: 4.0"), "{text}");
    }
    let key = "FlightCollection(carrid='ZZ',connid='0001',fldate=2026-11-24)";
    let text = ask(&[
        create,
        ("POST $0/carrierFlights", flight),
        ("PATCH $1", r#"{"SEATSOCC":7}"#),
        (&format!("DELETE {key}"), ""),
        ("DELETE $0", ""),
    ]);
    assert_eq!(text.matches("HTTP/1.1 201 Created").count(), 2, "{text}");
    assert_eq!(text.matches("HTTP/1.1 204 No Content").count(), 3, "{text}");
    assert!(
        text.contains("\"PRICE\":99.5") && text.contains("#FlightCollection/$entity"),
        "{text}"
    );
    assert!(text.contains(&format!("/{key}\r\n")), "its Location: {text}");
}

#[test]
fn what_is_wrong_is_told_in_json_whatever_was_asked_for() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    for (path, status, says) in [
        ("/Bookings", 404, "nothing called `Bookings`"),
        ("/CarrierCollection('AA')/$links/carrierFlights", 404, "nothing called"),
        ("/FlightCollection?$apply=x", 400, "not known here"),
        ("/FlightCollection?$inlinecount=allpages", 400, "not known here"),
        ("/FlightCollection?$expand=flightCarrier($top=x)", 400, "whole number"),
        ("/FlightCollection?$expand=flightCarrier($expand=carrierFlights)", 400, "20000 entities"),
        ("/FlightCollection?$format=xml", 415, "JSON only"),
    ] {
        let headers = [DEMO, ("Accept", "application/xml, application/json;q=0.1")];
        let answer = web.ask("GET", &format!("{ROOT}{path}"), &headers, b"").with(status);
        assert_eq!(answer.header("odata-version"), "4.0", "{path}");
        let told = answer.json();
        let message = told["error"]["message"].as_str().expect("a message");
        assert!(message.contains(says), "{path}: {message}");
    }
}

/// A file beside the tests that speaks with libraries.
fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop");
    folder.join(name).display().to_string()
}

/// What a client finds that is given the root of the service, a user and a password.
fn found(program: &str, words: &[&str]) -> Value {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let url = format!("http://{}{ROOT}/", server.address);
    let words = [words, &[&url, "demo", "demo"]].concat();
    Program::start_as(Path::new(program), &words, Path::new(".")).wait().with(0).json()
}

/// What every client finds.
fn expected() -> Value {
    json!({
        "all": 400,
        "price": 422.94,
        "carrier": "American Airlines",
        "dear": ["LH", "LH"],
        "lufthansa": 75,
        "flights_of_carrier": 25,
        "missing": 404,
    })
}

#[test]
fn python_odata_reads_the_flights() {
    let python = std::env::var("PLUMB_TEST_PYTHON");
    let python = python.expect("PLUMB_TEST_PYTHON names a Python with python-odata: run ./test");
    assert_eq!(found(&python, &[&file("flights4.py")]), expected());
}

#[test]
fn odata_of_node_reads_the_flights() {
    let packages = std::env::var_os("PLUMB_TEST_NODE").map(PathBuf::from);
    if !packages.is_some_and(|folder| folder.join("node_modules/odata").is_dir()) {
        not_tried("odata of node is not there: run ./test, which sets PLUMB_TEST_NODE");
        return;
    }
    let mut expected = expected();
    expected["changed"] = json!({
        "done": [201, 201, 204],
        "made": [123.45, 5, "PARIS", "07:30:00"],
        "refused": [409],
        "kept": "Node Air",
        "away": [204, 204],
        "gone": 404,
    });
    assert_eq!(found("node", &[&file("flights4.cjs")]), expected);
}

#[test]
#[ignore = "Java takes long; ./test --full brings Olingo"]
fn olingo_reads_the_flights() {
    let folder = std::env::var("PLUMB_TEST_OLINGO").unwrap_or_default();
    if !Path::new(&folder).is_dir() {
        not_tried("Olingo is not there: run ./test --full, which sets PLUMB_TEST_OLINGO");
        return;
    }
    let words = ["-cp", &format!("{folder}/*"), &file("Flights4.java")];
    let mut expected = expected();
    expected["changed"] = json!([201, 201, 204, 409]);
    expected["made"] = json!("123.45 5");
    assert_eq!(found("java", &words), expected);
}
