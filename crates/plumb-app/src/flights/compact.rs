//! The same data without a protocol around it: small JSON, or the same as XML.

use plumb_odata::json::text;
use plumb_odata::key::date;
use plumb_odata::model::{FLIGHT, Kind};
use plumb_odata::{Entity, decimal};
use plumb_wire::percent::decoded;

use super::data::Data;
use super::document::{Document, Form};
use crate::answer::{Answer, Failure, JSON};
use crate::database::{Row, Value};
use crate::step::Step;

/// The answer to a request for what lies `below` `/rest/flights`.
///
/// # Errors
/// [`Failure`] when there is no such flight, or the database fails.
pub(crate) fn serve(step: &mut Step<'_>, below: &str) -> Result<Answer, Failure> {
    let method = step.asked.request.method();
    if *method != hyper::Method::GET && *method != hyper::Method::HEAD {
        let status = hyper::StatusCode::METHOD_NOT_ALLOWED;
        return Err(Failure::new(status, "flights are read with GET"));
    }
    let mut words = Vec::new();
    for word in below.split('/').filter(|word| !word.is_empty()) {
        let wrong = || Failure::bad_request(format!("`{word}` is badly encoded"));
        words.push(decoded(word).ok_or_else(wrong)?.into_owned());
    }
    match words.as_slice() {
        [] => all(step, Form::of(step.asked.request.query())?),
        [data, name, rest @ ..] if data == "data" => {
            let read = Data::from_words(name, rest.to_vec());
            let read = read.ok_or_else(|| Failure::not_found(format!("there is no `{name}`")))?;
            Ok(rows(&read.read_here(step)?))
        }
        [carrier, connection, day] => {
            let wrong = || Failure::bad_request(format!("`{day}` is no day: write 2011-06-01"));
            let key = [carrier.clone(), connection.clone(), date(day).ok_or_else(wrong)?];
            one(step, &key, Form::of(step.asked.request.query())?)
        }
        _ => Err(Failure::not_found("write /rest/flights/CARRIER/CONNECTION/DAY")),
    }
}

fn all(step: &mut Step<'_>, form: Form) -> Result<Answer, Failure> {
    let rows = Data::Flights.read(step)?;
    let mut out = Document::new(form.markup, rows.len() * 300);
    out.list("flights");
    for row in rows {
        let flight = Entity::new(&FLIGHT, row);
        out.item("flight");
        members(&mut out, &flight, &LIST);
        out.close("flight");
    }
    out.end_of_list("flights");
    Ok(out.answer())
}

fn one(step: &mut Step<'_>, key: &[String; 3], form: Form) -> Result<Answer, Failure> {
    let missing = || Failure::not_found(format!("there is no flight {}", key.join("/")));
    let row = Data::Flight(key.clone()).read(step)?.into_iter().next().ok_or_else(missing)?;
    let flight = Entity::new(&FLIGHT, row);
    let carrier = Data::Carrier(key[0].clone()).read(step)?.into_iter().next();
    let carrier = carrier.unwrap_or(Row(Vec::new()));
    let mut out = Document::new(form.markup, form.bytes + 900);
    out.item("flight");
    for (name, shown) in [
        ("flightData", &FLIGHT_DATA[..]),
        ("connectionData", &CONNECTION_DATA),
        ("availability", &AVAILABILITY),
    ] {
        out.open(name);
        members(&mut out, &flight, shown);
        out.close(name);
    }
    out.open("free");
    free(&mut out, &flight);
    out.close("free");
    out.open("carrierData");
    for (place, name) in ["id", "name", "currencyCode", "url"].into_iter().enumerate() {
        out.text(name, carrier.text(place));
    }
    out.close("carrierData");
    let (from, to) = (flight.text(14), flight.text(17));
    let summary = format!("{} flies from {from} to {to} on {}", carrier.text(1), flight.text(2));
    out.text("summary", &summary);
    out.fill_up("flight", form.bytes);
    out.close("flight");
    Ok(out.answer())
}

/// Names of members, and the places of the properties they show.
const LIST: [(&str, usize); 13] = [
    ("airlineId", 0),
    ("connectionId", 1),
    ("flightDate", 2),
    ("airportFrom", 15),
    ("cityFrom", 14),
    ("airportTo", 18),
    ("cityTo", 17),
    ("departureTime", 20),
    ("arrivalTime", 21),
    ("price", 3),
    ("currency", 4),
    ("seatsMax", 6),
    ("seatsOccupied", 7),
];
const FLIGHT_DATA: [(&str, usize); 7] = [
    ("airlineId", 0),
    ("connectionId", 1),
    ("flightDate", 2),
    ("price", 3),
    ("currency", 4),
    ("planeType", 5),
    ("paymentSum", 8),
];
const CONNECTION_DATA: [(&str, usize); 13] = [
    ("countryFrom", 13),
    ("cityFrom", 14),
    ("airportFrom", 15),
    ("countryTo", 16),
    ("cityTo", 17),
    ("airportTo", 18),
    ("flightTimeMinutes", 19),
    ("departureTime", 20),
    ("arrivalTime", 21),
    ("distance", 22),
    ("distanceUnit", 23),
    ("flightType", 24),
    ("arrivesDaysLater", 25),
];
const AVAILABILITY: [(&str, usize); 6] = [
    ("economyMax", 6),
    ("economyOccupied", 7),
    ("businessMax", 9),
    ("businessOccupied", 10),
    ("firstMax", 11),
    ("firstOccupied", 12),
];

fn members(out: &mut Document, flight: &Entity, members: &[(&str, usize)]) {
    for (name, place) in members {
        match (flight.value(*place), flight.kind.properties[*place].kind) {
            (Value::Int(hundredths), Kind::Decimal) => {
                out.number(name, &decimal(*hundredths));
            }
            (Value::Int(number), _) => out.number(name, &number.to_string()),
            _ => out.text(name, flight.text(*place)),
        }
    }
}

/// Seats that nobody has taken.
fn free(out: &mut Document, flight: &Entity) {
    for (class, seats) in [("economy", 6), ("business", 9), ("first", 11)] {
        let free = flight.int(seats) - flight.int(seats + 1);
        out.number(class, &free.to_string());
    }
}

/// Rows as the front half of a split system takes them: lists of texts and numbers.
fn rows(rows: &[Row]) -> Answer {
    let mut out = String::with_capacity(rows.len() * 200 + 2);
    out.push('[');
    for (number, row) in rows.iter().enumerate() {
        out.push_str(if number > 0 { ",[" } else { "[" });
        for (place, value) in row.0.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            match value {
                Value::Int(number) => out.push_str(&number.to_string()),
                Value::Text(value) => text(&mut out, value),
                Value::Null | Value::Bytes(_) => out.push_str("null"), // no read has bytes
            }
        }
        out.push(']');
    }
    out.push(']');
    Answer::new(JSON, out)
}
