//! Changes of carriers and flights: a set of them is one transaction.
//!
//! # Source
//! OData Version 2.0, Operations, 2.4 to 2.7 (create, update, merge, delete); Batch Processing, 2.2. OData
//! Version 4.0, Protocol, 11.4 (data modification) and 11.7 (batch requests).

use std::collections::HashMap;

use hyper::StatusCode;
use hyper::Uri;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use plumb_odata::model::{CARRIER, EntityType, FLIGHT, OWN_OF_FLIGHT};
use plumb_odata::{Change, Entity, Format, Options, Resource, SapPath, Service, Version, values};

use super::parts;
use super::reader::Reader;
use super::serve;
use crate::answer::{Answer, Failure};
use crate::database::{Row, Value};
use crate::session::unguessable;
use crate::step::Step;

/// Columns of the own properties of the types, in their order.
const CARRIER_COLUMNS: [&str; 4] = ["carrid", "carrname", "currcode", "url"];
const FLIGHT_COLUMNS: [&str; OWN_OF_FLIGHT] = [
    "carrid",
    "connid",
    "fldate",
    "price",
    "currency",
    "planetype",
    "seatsmax",
    "seatsocc",
    "paymentsum",
    "seatsmax_b",
    "seatsocc_b",
    "seatsmax_f",
    "seatsocc_f",
];

/// Does all of `changes`, or none of them. Each has an answer of its own.
///
/// # Errors
/// [`Failure`] of the first change that cannot be done: then nothing stays of any.
pub(crate) fn change(
    step: &mut Step<'_>,
    service: Service,
    changes: &[Change],
) -> Result<Answer, Failure> {
    if step.services.backend.is_some() {
        let text = "the data of the flights lie at the back end, which only reads them";
        return Err(Failure::new(StatusCode::NOT_IMPLEMENTED, text));
    }
    step.database.begin()?;
    let mut set = Set { service, known: HashMap::new() };
    let done: Result<Vec<Answer>, Failure> = changes
        .iter()
        .map(|change| {
            let done = set.perform(step, change)?;
            done.answer(step, service, change)
        })
        .collect();
    let answers = match done {
        Ok(answers) => answers,
        Err(failure) => {
            step.database.roll_back();
            return Err(failure);
        }
    };
    step.database.commit()?;
    // some clients find the answers of a set by this name
    let boundary = format!("changesetresponse_{}", unguessable());
    let mut body = Vec::new();
    for (change, answer) in changes.iter().zip(&answers) {
        body.extend(parts::head(&boundary, change.name.as_deref(), answer));
        body.extend(&answer.body);
        body.extend(b"\r\n");
    }
    body.extend(parts::tail(&boundary));
    let mut answer = Answer::new("multipart/mixed", body);
    let kind = HeaderValue::from_str(&format!("multipart/mixed; boundary={boundary}"));
    answer.headers = kind.map(|kind| (CONTENT_TYPE, kind)).into_iter().collect();
    Ok(answer)
}

/// Set and key of an entity.
type Named = (&'static EntityType, Vec<String>);

/// What a change did.
enum Done {
    /// There is something new.
    Created(Entity),
    /// What there was is another, or no more.
    Changed,
}

impl Done {
    fn answer(self, step: &Step<'_>, service: Service, change: &Change) -> Result<Answer, Failure> {
        let Self::Created(entity) = self else {
            let mut answer = Answer::new("", "").with_status(StatusCode::NO_CONTENT);
            answer.headers.clear();
            let (name, version) = service.version().header();
            return Ok(answer.with(name, version));
        };
        let forms: &[Format] = match service.version() {
            Version::Two => &[Format::Json, Format::Atom],
            Version::Four => &[Format::Json4],
        };
        let format = Format::accepted(&change.headers, forms).unwrap_or(forms[0]);
        serve::created(step, service, format, &entity)
    }
}

/// A set that is being done.
struct Set {
    service: Service,
    /// What changes were about, by their names.
    known: HashMap<String, Named>,
}

impl Set {
    fn version(&self) -> Version {
        self.service.version()
    }

    fn perform(&mut self, step: &mut Step<'_>, change: &Change) -> Result<Done, Failure> {
        let resource = self.resource(&change.target)?;
        let (named, done) = match (change.what.as_str(), resource) {
            ("POST", Resource::Set(kind)) => self.create(step, kind, None, change)?,
            ("POST", Resource::Navigation { from, key, count: false })
                if from.set == CARRIER.set =>
            {
                existing(self.service, step, from, &key)?;
                self.create(step, &FLIGHT, key.first(), change)?
            }
            ("PUT" | "MERGE" | "PATCH", Resource::Entity(kind, key))
                if change.what.as_str() != "MERGE" || self.version() == Version::Two =>
            {
                existing(self.service, step, kind, &key)?;
                update(step, self.version(), (kind, &key), change)?;
                ((kind, key), Done::Changed)
            }
            ("DELETE", Resource::Entity(kind, key)) => {
                existing(self.service, step, kind, &key)?;
                delete(step, kind, &key)?;
                ((kind, key), Done::Changed)
            }
            (what, _) => {
                let text = format!(
                    "`{}` takes no {what}: POST goes to a set or to carrierFlights of a carrier, \
                     the others to an entity",
                    change.target
                );
                return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, text));
            }
        };
        if let Some(name) = &change.name {
            self.known.insert(name.clone(), named);
        }
        Ok(done)
    }

    /// What the target of a change leads to.
    fn resource(&self, target: &str) -> Result<Resource, Failure> {
        if let Some(reference) = target.strip_prefix('$') {
            let (name, below) = reference.split_once('/').unwrap_or((reference, ""));
            let (kind, key) = self.known.get(name).cloned().ok_or_else(|| {
                Failure::bad_request(format!("no change before has the Content-ID `{name}`"))
            })?;
            return match below {
                "" => Ok(Resource::Entity(kind, key)),
                _ if below == kind.navigation.name => {
                    Ok(Resource::Navigation { from: kind, key, count: false })
                }
                _ => Err(Failure::not_found(format!(
                    "nothing called `{below}` belongs to {}",
                    kind.name
                ))),
            };
        }
        let outside = || Failure::bad_request(format!("`{target}` is no part of this service"));
        let path = if target.starts_with('/') || target.contains("://") {
            let uri: Uri = target.parse().map_err(|_| outside())?;
            let path = SapPath::parse(uri.path()).and_then(|path| Service::at(path.rest));
            let (found, below) = path.ok_or_else(outside)?;
            if found != self.service {
                return Err(outside());
            }
            below.to_owned()
        } else {
            format!("/{}", target.split_once('?').map_or(target, |(path, _)| path))
        };
        Ok(Resource::parse(self.version(), &path)?)
    }

    /// Makes an entity; a flight `of` a carrier belongs to that.
    fn create(
        &self,
        step: &mut Step<'_>,
        kind: &'static EntityType,
        of: Option<&String>,
        change: &Change,
    ) -> Result<(Named, Done), Failure> {
        let mut said = entity_of(self.version(), kind, change)?;
        if let Some(carrier) = of {
            let value = Value::Text(carrier.clone());
            if said[0].as_ref().is_some_and(|it| *it != value) {
                let text = format!("`carrid` is that of the carrier it belongs to, {carrier}");
                return Err(Failure::bad_request(text));
            }
            said[0] = Some(value);
        }
        let key = key_of(kind, &said)?;
        if row_of(step, kind, &key)?.is_some() {
            let text = format!("there is a {} {} already", kind.name, key.join("/"));
            return Err(Failure::new(StatusCode::CONFLICT, text));
        }
        let mut row: Vec<Value> = said
            .into_iter()
            .zip(kind.properties)
            .map(|(said, property)| said.unwrap_or_else(|| values::nothing(property)))
            .collect();
        if kind.set == FLIGHT.set {
            let connection = row.split_off(OWN_OF_FLIGHT);
            connect(step, &key, connection)?;
        }
        insert(step, table(kind).0, &row)?;
        let options = Options::parse(self.version(), kind, "")?;
        let created = Reader::new(self.service, &options).entity(step, kind, &key)?;
        Ok(((kind, key), Done::Created(created)))
    }
}

/// What a change says of an entity.
fn entity_of(
    version: Version,
    kind: &EntityType,
    change: &Change,
) -> Result<Vec<Option<Value>>, Failure> {
    let said = change.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let said = said.unwrap_or("application/json").split(';').next().unwrap_or("").trim();
    if !said.eq_ignore_ascii_case("application/json") {
        let text = format!("entities are written as application/json, not {said}");
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    Ok(values::parse(version, kind, &change.body)?)
}

/// The key that an entity says.
fn key_of(kind: &EntityType, said: &[Option<Value>]) -> Result<Vec<String>, Failure> {
    let part = |place: usize| match &said[place] {
        Some(Value::Text(text)) if !text.is_empty() => Ok(text.clone()),
        _ => {
            let name = kind.properties[place].name;
            Err(Failure::bad_request(format!("a new {} needs `{name}`", kind.name)))
        }
    };
    (0..kind.keys).map(part).collect()
}

/// The table of a type, and its columns.
fn table(kind: &EntityType) -> (&'static str, &'static [&'static str]) {
    if kind.set == FLIGHT.set { ("flight", &FLIGHT_COLUMNS) } else { ("carrier", &CARRIER_COLUMNS) }
}

/// `a = $3 AND b = $4`, from that number on.
fn where_key(kind: &EntityType, from: usize) -> String {
    let columns = &table(kind).1[..kind.keys];
    let parts: Vec<String> =
        (from..).zip(columns).map(|(at, column)| format!("{column} = ${at}")).collect();
    parts.join(" AND ")
}

fn texts(key: &[String]) -> impl Iterator<Item = Value> {
    key.iter().map(|part| Value::Text(part.clone()))
}

fn row_of(step: &mut Step<'_>, kind: &EntityType, key: &[String]) -> Result<Option<Row>, Failure> {
    let (table, columns) = table(kind);
    let statement = format!("SELECT {} FROM {table} WHERE {}", columns[0], where_key(kind, 1));
    let values: Vec<Value> = texts(key).collect();
    Ok(step.database.row(&statement, &values)?)
}

/// Fails where there is no such entity.
fn existing(
    service: Service,
    step: &mut Step<'_>,
    kind: &'static EntityType,
    key: &[String],
) -> Result<(), Failure> {
    let options = Options::parse(service.version(), kind, "")?;
    Reader::new(service, &options).entity(step, kind, key).map(|_| ())
}

fn insert(step: &mut Step<'_>, table: &str, row: &[Value]) -> Result<(), Failure> {
    let places: Vec<String> = (1..=row.len()).map(|at| format!("${at}")).collect();
    let statement = format!("INSERT INTO {table} VALUES ({})", places.join(", "));
    step.database.rows(&statement, row)?;
    Ok(())
}

/// Sees to it that there is the connection of a flight: with what the flight says of it, where it is new.
fn connect(step: &mut Step<'_>, key: &[String], connection: Vec<Value>) -> Result<(), Failure> {
    let of: Vec<Value> = texts(&key[..2]).collect();
    let statement = "SELECT carrid FROM connection WHERE carrid = $1 AND connid = $2";
    if step.database.row(statement, &of)?.is_some() {
        return Ok(());
    }
    let carrier = "SELECT carrid FROM carrier WHERE carrid = $1";
    if step.database.row(carrier, &of[..1])?.is_none() {
        return Err(Failure::bad_request(format!("there is no Carrier {}", key[0])));
    }
    insert(step, "connection", &[of, connection].concat())
}

/// Writes what a change says of an entity: with PUT, the rest is put back to nothing. Its key stays, and
/// so does what belongs to its connection.
fn update(
    step: &mut Step<'_>,
    version: Version,
    (kind, key): (&'static EntityType, &[String]),
    change: &Change,
) -> Result<(), Failure> {
    let said = entity_of(version, kind, change)?;
    let (table, columns) = table(kind);
    let replaces = change.what.as_str() == "PUT";
    let mut values = Vec::new();
    let mut sets = Vec::new();
    for (place, column) in columns.iter().enumerate().skip(kind.keys) {
        let value = said[place].clone();
        let value = value.or_else(|| replaces.then(|| values::nothing(&kind.properties[place])));
        if let Some(value) = value {
            values.push(value);
            sets.push(format!("{column} = ${}", values.len()));
        }
    }
    if sets.is_empty() {
        return Ok(());
    }
    let condition = where_key(kind, values.len() + 1);
    let statement = format!("UPDATE {table} SET {} WHERE {condition}", sets.join(", "));
    values.extend(texts(key));
    step.database.rows(&statement, &values)?;
    Ok(())
}

/// Takes an entity away; a carrier only without flights.
fn delete(step: &mut Step<'_>, kind: &EntityType, key: &[String]) -> Result<(), Failure> {
    let values: Vec<Value> = texts(key).collect();
    if kind.set == CARRIER.set {
        let statement = "SELECT carrid FROM flight WHERE carrid = $1 LIMIT 1";
        if step.database.row(statement, &values)?.is_some() {
            let text = format!("the Carrier {} has flights: delete them first", key.join("/"));
            return Err(Failure::new(StatusCode::CONFLICT, text));
        }
        step.database.rows("DELETE FROM connection WHERE carrid = $1", &values)?;
    }
    let statement = format!("DELETE FROM {} WHERE {}", table(kind).0, where_key(kind, 1));
    step.database.rows(&statement, &values)?;
    Ok(())
}
