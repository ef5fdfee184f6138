//! Requests of the protocol and their answers.

use hyper::StatusCode;
use hyper::header::{ACCEPT, HeaderName};
use plumb_engine::clock;

use super::atom::{self, Scene};
use super::batch;
use super::data::Data;
use super::entity::Entity;
use super::filter::{Datum, Order};
use super::json;
use super::metadata;
use super::model::{CARRIER, EntityType, FLIGHT, OWN_OF_FLIGHT, Target};
use super::options::{Format, Options};
use super::path::Resource;
use super::xml::{Dom, Sink, Stream};
use crate::answer::{Answer, Failure};
use crate::database::Row;
use crate::step::{Request, Step};

/// In which of its two ways the service works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// The older way: Atom only, a read for each part of each entity, a tree in memory.
    Compatibility,
    /// The newer way: one read, written as it comes.
    Standard,
}

const COMPATIBILITY: &str = "/opu/sdata/iwfnd/RMTSAMPLEFLIGHT";
const STANDARD: &str = "/opu/odata/iwfnd/RMTSAMPLEFLIGHT";

const VERSION: HeaderName = HeaderName::from_static("dataserviceversion");
const FEED: &str = "application/atom+xml;type=feed;charset=utf-8";
const ENTRY: &str = "application/atom+xml;type=entry;charset=utf-8";
const SERVICE: &str = "application/atomsvc+xml;charset=utf-8";
const XML: &str = "application/xml;charset=utf-8";
const JSON: &str = "application/json;charset=utf-8";
const TEXT: &str = "text/plain;charset=utf-8";

impl Service {
    /// The service at `rest` of a path below `/sap`, and what follows its root.
    pub(crate) fn at(rest: &str) -> Option<(Self, &str)> {
        for (service, root) in [(Self::Standard, STANDARD), (Self::Compatibility, COMPATIBILITY)] {
            if let Some(below) = rest.strip_prefix(root)
                && (below.is_empty() || below.starts_with('/'))
            {
                return Some((service, below));
            }
        }
        None
    }

    fn root(self) -> &'static str {
        match self {
            Self::Compatibility => COMPATIBILITY,
            Self::Standard => STANDARD,
        }
    }

    /// The answer that says what went wrong, in the form that was asked for.
    pub(crate) fn failure(self, failure: &Failure, request: &Request) -> Answer {
        let code = format!("PLUMB/{}", failure.status.as_u16());
        let answer = if self.format(request, None) == Ok(Format::Json) {
            failure.answer(JSON, json::error(&code, &failure.message))
        } else {
            let mut stream = Stream::new();
            atom::error(&mut stream, &code, &failure.message);
            let document = String::from_utf8(stream.into_bytes()).unwrap_or_default();
            failure.answer(XML, document)
        };
        answer.with(VERSION, "1.0")
    }

    /// The form of the answer: what the query says, else what the client accepts.
    fn format(self, request: &Request, said: Option<Format>) -> Result<Format, Failure> {
        let accepts = request.header(ACCEPT.as_str());
        let in_query = request.query().contains("format=json");
        let wanted = said.unwrap_or(if in_query || prefers_json(accepts) {
            Format::Json
        } else {
            Format::Atom
        });
        match (self, wanted, said) {
            (Self::Compatibility, Format::Json, Some(_)) => Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the compatibility mode knows Atom only; the standard mode is below \
                 /sap/opu/odata",
            )),
            (Self::Compatibility, ..) => Ok(Format::Atom),
            (Self::Standard, wanted, _) => Ok(wanted),
        }
    }
}

/// True when JSON is named and XML is not, or only later.
fn prefers_json(accepts: &str) -> bool {
    let place = |word: &str| accepts.find(word).unwrap_or(usize::MAX);
    place("json") < place("xml")
}

/// The answer to a request for what lies `below` the root of `service`.
///
/// # Errors
/// [`Failure`] when the request is wrong, or the database fails.
pub(crate) fn serve(step: &mut Step<'_>, service: Service, below: &str) -> Result<Answer, Failure> {
    let resource = Resource::parse(below)?;
    let method = step.request.method();
    match (&resource, method.as_str()) {
        (Resource::Batch, "POST") => return batch::serve(step, service),
        (Resource::Batch, _) => {
            return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "$batch is sent with POST"));
        }
        (_, "GET" | "HEAD") => {}
        _ => return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "flights are read with GET")),
    }
    let query = step.request.query().to_owned();
    read(step, service, &resource, &query)
}

/// The answer to the reading of `resource`.
///
/// # Errors
/// [`Failure`] when the request is wrong, or the database fails.
pub(super) fn read(
    step: &mut Step<'_>,
    service: Service,
    resource: &Resource,
    query: &str,
) -> Result<Answer, Failure> {
    let base = base(service, step.request);
    let kind = match resource {
        Resource::Set(kind)
        | Resource::Count(kind)
        | Resource::Entity(kind, _)
        | Resource::Property { of: kind, .. } => kind,
        Resource::Navigation { from, .. } => from.navigation.to.entity_type(),
        Resource::Service | Resource::Metadata | Resource::Batch => &FLIGHT,
    };
    let options = Options::parse(kind, query)?;
    let format = service.format(step.request, options.format)?;
    let now = clock::utc(clock::wall_ns());
    let scene = Scene { base: &base, now: &now, options: &options };
    let reader = Reader { service, options: &options };
    let answer = match resource {
        Resource::Service | Resource::Batch => match format {
            Format::Json => Answer::new(JSON, json::service()),
            Format::Atom => service.write(SERVICE, |sink| atom::service(sink, &base)),
        },
        Resource::Metadata => service.write(XML, metadata::document),
        Resource::Set(kind) => {
            let found = reader.set(step, kind)?;
            service.many(format, scene, (kind.set, kind.set), &found)
        }
        Resource::Count(kind) => count(reader.set(step, kind)?.all),
        Resource::Entity(kind, key) => {
            let mut entity = reader.entity(step, kind, key)?;
            reader.expand(step, std::slice::from_mut(&mut entity))?;
            service.one(format, scene, &entity)
        }
        Resource::Navigation { from, key, count: counted } => {
            let entity = reader.entity(step, from, key)?;
            let navigation = &from.navigation;
            let led = reader.follow(step, &entity)?;
            if navigation.to.many() {
                let found = reader.chosen(step, led)?;
                if *counted {
                    count(found.all)
                } else {
                    let path = format!("{}/{}", entity.path(), navigation.name);
                    service.many(format, scene, (navigation.name, &path), &found)
                }
            } else {
                let mut led = led;
                reader.expand(step, &mut led)?;
                let missing = || Failure::not_found(format!("{} leads nowhere", navigation.name));
                service.one(format, scene, led.first().ok_or_else(missing)?)
            }
        }
        Resource::Property { of, key, place, bare } => {
            let entity = reader.entity(step, of, key)?;
            match (bare, format) {
                (true, _) => Answer::new(TEXT, entity.lexical(*place).into_owned()),
                (false, Format::Json) => Answer::new(JSON, json::property(&entity, *place)),
                (false, Format::Atom) => {
                    service.write(XML, |sink| atom::property(sink, &entity, *place))
                }
            }
        }
    };
    Ok(answer.with(VERSION, "2.0"))
}

fn count(all: usize) -> Answer {
    Answer::new(TEXT, all.to_string())
}

/// The root of the service as the client called it, with a slash at its end.
fn base(service: Service, request: &Request) -> String {
    let host = request.header("host");
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let host = if !host.is_empty() && host.chars().all(plain) { host } else { "localhost" };
    let scheme = if request.tls { "https" } else { "http" };
    format!("{scheme}://{host}/sap{}/", service.root())
}

impl Service {
    fn many(self, format: Format, scene: Scene<'_>, names: (&str, &str), found: &Found) -> Answer {
        let count = scene.options.count.then_some(found.all);
        match format {
            Format::Json => {
                let document = json::feed(scene.base, scene.options, &found.entities, count);
                Answer::new(JSON, document)
            }
            Format::Atom => {
                self.write(FEED, |sink| atom::feed(sink, scene, names, &found.entities, count))
            }
        }
    }

    fn one(self, format: Format, scene: Scene<'_>, entity: &Entity) -> Answer {
        match format {
            Format::Json => Answer::new(JSON, json::entry(scene.base, scene.options, entity)),
            Format::Atom => self.write(ENTRY, |sink| atom::entry(sink, scene, entity)),
        }
    }

    /// Writes a document: as a tree first, or straight away.
    fn write(self, content_type: &'static str, tell: impl FnOnce(&mut Writer)) -> Answer {
        let mut writer = match self {
            Self::Compatibility => Writer::Dom(Dom::default()),
            Self::Standard => Writer::Stream(Stream::new()),
        };
        tell(&mut writer);
        let bytes = match writer {
            Writer::Dom(dom) => dom.into_bytes(),
            Writer::Stream(stream) => stream.into_bytes(),
        };
        Answer::new(content_type, bytes)
    }
}

enum Writer {
    Dom(Dom),
    Stream(Stream),
}

impl Sink for Writer {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        match self {
            Self::Dom(dom) => dom.open(name, attributes),
            Self::Stream(stream) => stream.open(name, attributes),
        }
    }

    fn text(&mut self, text: &str) {
        match self {
            Self::Dom(dom) => dom.text(text),
            Self::Stream(stream) => stream.text(text),
        }
    }

    fn close(&mut self, name: &str) {
        match self {
            Self::Dom(dom) => dom.close(name),
            Self::Stream(stream) => stream.close(name),
        }
    }
}

/// Entities of a page, and how many there are on all pages.
struct Found {
    entities: Vec<Entity>,
    all: usize,
}

/// Reads what the options choose, in the way of a service.
struct Reader<'a> {
    service: Service,
    options: &'a Options,
}

impl Reader<'_> {
    fn set(&self, step: &mut Step<'_>, kind: &'static EntityType) -> Result<Found, Failure> {
        let entities = if kind.name == CARRIER.name {
            entities(kind, Data::Carriers.read(step)?)
        } else if self.service == Service::Standard {
            entities(kind, Data::Flights.read(step)?)
        } else {
            let rows = Data::FlightRows.read(step)?;
            rows.into_iter().map(|row| complete(step, row)).collect::<Result<_, _>>()?
        };
        self.chosen(step, entities)
    }

    fn entity(
        &self,
        step: &mut Step<'_>,
        kind: &'static EntityType,
        key: &[String],
    ) -> Result<Entity, Failure> {
        let missing = || Failure::not_found(format!("there is no {} {}", kind.name, key.join("/")));
        let first = |rows: Vec<Row>| rows.into_iter().next().ok_or_else(missing);
        let [carrier, rest @ ..] = key else { return Err(missing()) };
        let row = match rest {
            [connection, day] => {
                let key = [carrier.clone(), connection.clone(), day.clone()];
                if self.service == Service::Compatibility {
                    let row = first(Data::FlightRow(key).read(step)?)?;
                    return complete(step, row);
                }
                first(Data::Flight(key).read(step)?)?
            }
            _ => first(Data::Carrier(carrier.clone()).read(step)?)?,
        };
        Ok(Entity::new(kind, row))
    }

    /// What the navigation of `entity` leads to.
    fn follow(&self, step: &mut Step<'_>, entity: &Entity) -> Result<Vec<Entity>, Failure> {
        let carrier = entity.text(0).to_owned(); // both types have it as their first property
        match entity.kind.navigation.to {
            Target::Carrier => Ok(entities(&CARRIER, Data::Carrier(carrier).read(step)?)),
            Target::Flights => Ok(entities(&FLIGHT, Data::FlightsOf(carrier).read(step)?)),
        }
    }

    fn expand(&self, step: &mut Step<'_>, entities: &mut [Entity]) -> Result<(), Failure> {
        if self.options.expand {
            for entity in entities {
                entity.expanded = Some(self.follow(step, entity)?);
            }
        }
        Ok(())
    }

    /// What of `entities` the options choose, in their order.
    fn chosen(&self, step: &mut Step<'_>, mut entities: Vec<Entity>) -> Result<Found, Failure> {
        if let Some(filter) = &self.options.filter {
            let mut kept = Vec::new();
            for entity in entities {
                if filter.accepts(&entity).map_err(wrong("$filter"))? {
                    kept.push(entity);
                }
            }
            entities = kept;
        }
        let all = entities.len();
        let entities = sorted(entities, &self.options.order).map_err(wrong("$orderby"))?;
        let top = self.options.top.unwrap_or(usize::MAX);
        let mut entities: Vec<Entity> =
            entities.into_iter().skip(self.options.skip).take(top).collect();
        self.expand(step, &mut entities)?;
        Ok(Found { entities, all })
    }
}

fn wrong(option: &'static str) -> impl Fn(String) -> Failure {
    move |problem| Failure::bad_request(format!("{option}: {problem}"))
}

fn entities(kind: &'static EntityType, rows: Vec<Row>) -> Vec<Entity> {
    rows.into_iter().map(|row| Entity::new(kind, row)).collect()
}

/// A flight with its connection, which is read for it alone.
fn complete(step: &mut Step<'_>, mut row: Row) -> Result<Entity, Failure> {
    let key = [row.text(0).to_owned(), row.text(1).to_owned()];
    let connection = Data::Connection(key).read(step)?.into_iter().next();
    row.0.truncate(OWN_OF_FLIGHT);
    row.0.extend(connection.map_or_else(Vec::new, |connection| connection.0));
    Ok(Entity::new(&FLIGHT, row))
}

/// `entities` by the keys of `orders`; equal ones stay as they were.
fn sorted(entities: Vec<Entity>, orders: &[Order]) -> Result<Vec<Entity>, String> {
    if orders.is_empty() {
        return Ok(entities);
    }
    let mut keyed = Vec::with_capacity(entities.len());
    for entity in entities {
        let keys: Result<Vec<Datum>, String> =
            orders.iter().map(|order| order.by.evaluate(&entity)).collect();
        keyed.push((keys?, entity));
    }
    let mut trouble = None;
    keyed.sort_by(|(left, _), (right, _)| {
        for ((left, right), order) in left.iter().zip(right).zip(orders) {
            match left.order(right) {
                Ok(std::cmp::Ordering::Equal) => {}
                Ok(found) if order.descending => return found.reverse(),
                Ok(found) => return found,
                Err(problem) => {
                    trouble.get_or_insert(problem);
                }
            }
        }
        std::cmp::Ordering::Equal
    });
    match trouble {
        Some(problem) => Err(problem),
        None => Ok(keyed.into_iter().map(|(_, entity)| entity).collect()),
    }
}
