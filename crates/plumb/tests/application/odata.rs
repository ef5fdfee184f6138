//! The flight service end to end: by hand, split over two servers, and read by a client that was
//! not written here.
#![allow(clippy::panic, reason = "a test that cannot go on should end")]

use crate::kit;

use std::path::{Path, PathBuf};

use kit::web::{DEMO, Web};
use kit::{Program, Server};
use serde_json::{Value, json};

const STANDARD: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT";
const COMPATIBILITY: &str = "/sap/opu/sdata/iwfnd/RMTSAMPLEFLIGHT";
const FLIGHT: &str = "/FlightCollection(carrid='AA',connid='0017',fldate='20110601')";

fn read(web: &mut Web, path: &str) -> Value {
    let separator = if path.contains('?') { '&' } else { '?' };
    web.get(&format!("{STANDARD}{path}{separator}$format=json")).with(200).json()["d"].clone()
}

fn keys(found: &Value) -> Vec<String> {
    let results = found["results"].as_array().unwrap_or_else(|| panic!("no list: {found:#}"));
    results.iter().map(|it| it["carrid"].as_str().expect("a key").to_owned()).collect()
}

#[test]
fn options_choose_order_and_count() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut web = server.web();
    assert_eq!(keys(&read(&mut web, "/FlightCollection")).len(), 400);
    assert_eq!(web.get(&format!("{STANDARD}/FlightCollection/$count")).with(200).text(), "400");
    let found = read(
        &mut web,
        "/FlightCollection?$filter=carrid%20eq%20'LH'%20and%20PRICE%20gt%20500&$inlinecount=allpages\
         &$top=3&$skip=1&$orderby=fldate%20desc,connid&$select=carrid,connid,fldate",
    );
    assert_eq!(found["__count"], "50");
    assert_eq!(keys(&found), ["LH", "LH", "LH"]);
    let first = &found["results"][0];
    assert_eq!((&first["connid"], &first["PRICE"]), (&json!("0401"), &Value::Null));
    let carriers = read(&mut web, "/CarrierCollection?$orderby=CARRNAME%20desc");
    assert_eq!(carriers["results"][0]["CARRNAME"], "United Airlines");
    let expanded = read(&mut web, &format!("{FLIGHT}?$expand=flightCarrier"));
    assert_eq!(expanded["flightCarrier"]["CARRNAME"], "American Airlines");
    let flights = read(&mut web, "/CarrierCollection('QF')/carrierFlights?$top=2");
    assert_eq!(keys(&flights), ["QF", "QF"]);
    let price = web.get(&format!("{STANDARD}{FLIGHT}/PRICE/$value")).with(200);
    assert_eq!(price.text(), "422.94");
    assert_eq!(read(&mut web, "/")["EntitySets"], json!(["CarrierCollection", "FlightCollection"]));
}

#[test]
fn what_is_selected_and_expanded_may_lie_behind_navigations() {
    let server = Server::of_pages(&["--work-processes", "2"]);
    let mut web = server.web();
    let chosen = "$select=PRICE,flightCarrier/CARRNAME&$expand=flightCarrier";
    let flight = read(&mut web, &format!("{FLIGHT}?{chosen}"));
    let members =
        |it: &Value| it.as_object().expect("an entity").keys().cloned().collect::<Vec<_>>();
    assert_eq!(members(&flight), ["PRICE", "__metadata", "flightCarrier"]);
    assert_eq!(members(&flight["flightCarrier"]), ["CARRNAME", "__metadata"]);
    let bare = read(&mut web, &format!("{FLIGHT}?$select=PRICE"));
    assert_eq!(members(&bare), ["PRICE", "__metadata"]);
    let deep = "$select=flightCarrier/carrierFlights/PRICE&$expand=flightCarrier/carrierFlights";
    let deep = read(&mut web, &format!("{FLIGHT}?{deep}"));
    let flights = &deep["flightCarrier"]["carrierFlights"]["results"];
    assert_eq!(members(&flights[0]), ["PRICE", "__metadata"]);
    let atom = web.get(&format!("{STANDARD}{FLIGHT}?{chosen}")).with(200).text();
    assert!(atom.contains("<d:CARRNAME>") && !atom.contains("<d:CURRCODE>"), "{atom}");
}

#[test]
fn links_say_where_a_navigation_leads() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let root = format!("http://localhost:8000{STANDARD}/"); // as the client calls it
    let one = read(&mut web, &format!("{FLIGHT}/$links/flightCarrier"));
    assert_eq!(one["uri"], format!("{root}CarrierCollection('AA')"));
    let path = "/CarrierCollection('AA')/$links/carrierFlights?$top=2&$inlinecount=allpages";
    let many = read(&mut web, path);
    assert_eq!(many["results"].as_array().map(Vec::len), Some(2));
    assert!(many["__count"].as_str().is_some_and(|count| count.len() == 2), "{many}");
    let atom = web.get(&format!("{STANDARD}{path}")).with(200).text();
    assert_eq!(atom.matches("<uri>").count(), 2, "{atom}");
}

#[test]
fn details_are_about_as_large_as_they_were() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let atom = web.get(&format!("{STANDARD}{FLIGHT}")).with(200);
    assert_eq!(atom.header("content-type"), "application/atom+xml;type=entry;charset=utf-8");
    assert!(atom.body.len().abs_diff(2560) < 256, "{}", atom.body.len());
    let compact = web.get("/rest/flights/AA/0017/2011-06-01").with(200);
    assert!(compact.body.len().abs_diff(846) < 85, "{}", compact.body.len());
    let list = web.get("/rest/flights").with(200);
    assert!(list.body.len().abs_diff(111_745) < 11_174, "{}", list.body.len());
    assert_eq!(list.json().as_array().map(Vec::len), Some(400));
}

#[test]
fn both_modes_say_the_same_and_the_older_one_reads_more() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let calls = || {
        let status = server.web().get("/status.json").json();
        status["work_processes"][0]["database_calls"].as_u64().expect("a number")
    };
    let before = calls();
    let standard = web.get(&format!("{STANDARD}/FlightCollection")).with(200).text();
    let between = calls();
    let compatible = web.get(&format!("{COMPATIBILITY}/FlightCollection")).with(200).text();
    let after = calls();
    let without_time = |text: &str| {
        let mut parts = text.split("<updated>");
        let first = parts.next().unwrap_or("").to_owned();
        parts.fold(first, |text, part| text + part.split_once("</updated>").map_or("", |it| it.1))
    };
    assert_eq!(without_time(&standard), without_time(&compatible.replace("sdata", "odata")));
    assert_eq!((between - before, after - between), (2, 401)); // to log on once, and one, or one each
    web.get(&format!("{COMPATIBILITY}{FLIGHT}?$format=json")).with(415);
}

#[test]
fn what_is_wrong_has_its_status_and_a_document() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    for (path, status, says) in [
        ("/Bookings", 404, "nothing called `Bookings`"),
        ("/FlightCollection('AA')", 400, "is no key"),
        ("/FlightCollection(carrid='AA'", 400, "parenthesis"),
        (
            "/FlightCollection(carrid='XX',connid='0017',fldate='20110601')",
            404,
            "there is no Flight",
        ),
        ("/FlightCollection?$filter=PRICE%20gt", 400, "it ends where"),
        ("/FlightCollection?$filter=carrid%20eq%205", 400, "have no order"),
        ("/FlightCollection?$orderby=nothing", 400, "no property"),
        ("/FlightCollection?$top=x", 400, "whole number"),
        ("/FlightCollection?$unknown=1", 400, "not known here"),
        ("/FlightCollection?$filter=%zz", 400, "badly encoded"),
    ] {
        let xml = web.get(&format!("{STANDARD}{path}")).with(status);
        assert_eq!(xml.header("content-type"), "application/xml;charset=utf-8", "{path}");
        assert!(xml.text().contains("<error ") && xml.text().contains("<message xml:lang"));
        let accepts = [DEMO, ("Accept", "application/json")];
        let json = web.ask("GET", &format!("{STANDARD}{path}"), &accepts, b"").with(status).json();
        let message = json["error"]["message"]["value"].as_str().expect("a message");
        assert!(message.contains(says), "{path}: {message}");
    }
    web.ask("DELETE", &format!("{STANDARD}{FLIGHT}"), &[DEMO], b"").with(405);
    web.ask("GET", &format!("{STANDARD}/"), &[], b"").with(401);
}

#[test]
fn the_form_is_what_the_option_says_or_else_what_is_accepted() {
    let server = Server::of_pages(&["--work-processes", "1"]);
    let mut web = server.web();
    let mut kind = |path: &str, accept: &str| {
        let headers = [DEMO, ("Accept", accept)];
        let answer = web.ask("GET", &format!("{STANDARD}{path}"), &headers, b"");
        let kind = answer.header("content-type").split(';').next().unwrap_or("").to_owned();
        (answer.status, kind)
    };
    const ATOM: &str = "application/atom+xml";
    const JSON: &str = "application/json";
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for (path, accept, expected) in [
        ("/CarrierCollection", "*/*", ATOM),
        ("/CarrierCollection", "application/json", JSON),
        ("/CarrierCollection", "application/json;q=0.2, application/atom+xml;q=0.3", ATOM),
        ("/CarrierCollection", "application/atom+xml;q=0.1, application/json", JSON),
        ("/CarrierCollection", "application/xml;q=0, application/json;q=0.5", JSON),
        ("/CarrierCollection", browser, ATOM),
        ("/CarrierCollection", "application/json, text/plain, */*", JSON),
        ("/CarrierCollection?$format=json", "application/atom+xml", JSON),
        ("/CarrierCollection?$format=atom", "application/json", ATOM),
        ("/CarrierCollection?$filter=URL%20eq%20'format=json'", "*/*", ATOM),
        ("/CarrierCollection?sap-format=json", "*/*", ATOM),
    ] {
        assert_eq!(kind(path, accept), (200, expected.into()), "{path} {accept}");
    }
    assert_eq!(kind("/", "application/atomsvc+xml").1, "application/atomsvc+xml");
    assert_eq!(kind("/$metadata", "application/json"), (200, "application/xml".into()));
    assert_eq!(kind("/CarrierCollection/$count", "application/json").0, 200);
    assert_eq!(kind("/$metadata?$format=json", "*/*").0, 415);
    for accept in ["text/html", "application/json;q=0, application/atom+xml;q=0, */*;q=0"] {
        assert_eq!(kind("/CarrierCollection", accept), (406, "application/xml".into()));
    }
    let compatible = format!("{COMPATIBILITY}/CarrierCollection");
    let refused = web.ask("GET", &compatible, &[DEMO, ("Accept", JSON)], b"").with(406);
    let message = refused.json()["error"]["message"]["value"].clone();
    assert!(message.as_str().is_some_and(|it| it.contains("application/atom+xml")), "{message}");
}

#[test]
fn front_and_data_can_stand_apart() {
    let back = Server::of_pages(&["--work-processes", "2"]);
    let config = format!("[backend]\nurl = \"http://{}\"\ntimeout = \"20s\"\n", back.address);
    let (_folder, front) = Server::configured(&config);
    let mut web = front.web();
    let mut direct = back.web();
    for path in ["/FlightCollection?$top=5", FLIGHT, "/CarrierCollection('LH')/carrierFlights"] {
        assert_eq!(read(&mut web, path), read(&mut direct, path), "{path}");
    }
    let compact = "/rest/flights/AA/0017/2011-06-01";
    assert_eq!(web.get(compact).with(200).body, direct.get(compact).with(200).body);
    let seen = front.web().get("/status.json").json()["backend"].clone();
    assert_eq!((&seen["calls"], &seen["open"]), (&json!(6), &json!(0)));
    back.stop().with(0);
    let lost = web.get(&format!("{STANDARD}{FLIGHT}")).with(503);
    assert_eq!(lost.header("retry-after"), "1");
    assert!(lost.text().contains("the back end at"), "{}", lost.text());
}

#[test]
fn a_client_that_was_not_written_here_reads_everything() {
    let python = std::env::var_os("PLUMB_TEST_PYTHON").map(PathBuf::from).expect(
        "PLUMB_TEST_PYTHON must name a Python that has pyodata: run ./test, which sets it up",
    );
    let server = Server::of_pages(&["--work-processes", "2"]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/flights.py");
    let url = format!("http://{}{STANDARD}/", server.address);
    let words = [&*file.display().to_string(), &url, "demo", "demo"];
    let read = Program::start_as(&python, &words, Path::new(".")).wait().with(0).json();
    let expected = json!({
        "sets": ["CarrierCollection", "FlightCollection"],
        "all": 400,
        "price": "422.94",
        "date": "2011-06-01",
        "carrier": "American Airlines",
        "dear": ["SQ", "SQ"],
        "lufthansa": 75,
        "flights_of_carrier": 25,
        "missing": 404,
        "batch": ["422.94", "Lufthansa", 2, 404],
        "errors": [404, 404, 400, 400, 400],
    });
    assert_eq!(read, expected);
}
