//! Requests of the protocol and their answers.

use hyper::StatusCode;
use hyper::header::LOCATION;
use plumb_engine::clock;
use plumb_odata::atom::{self, Scene};
use plumb_odata::media_type::{ENTRY, FEED, JSON, JSON_4, SERVICE, TEXT, XML};
use plumb_odata::model::{EntityType, FLIGHT};
use plumb_odata::xml::{Dom, Sink, Stream};
use plumb_odata::{
    Entity, Format, Options, Refusal, Resource, Service, Version, json, json4, metadata, metadata4,
};
use plumb_serve::Request;

use super::reader::{Found, Reader};
use crate::answer::{Answer, Failure};
use crate::step::Step;

/// The answer to a request for `resource` of `service`.
///
/// # Errors
/// [`Failure`] when the request is wrong, or the database fails.
pub(crate) fn serve(
    step: &mut Step<'_>,
    service: Service,
    resource: &Result<Resource, Refusal>,
) -> Result<Answer, Failure> {
    if !["GET", "HEAD"].contains(&step.asked.request.method().as_str()) {
        return Err(Failure::new(StatusCode::METHOD_NOT_ALLOWED, "flights are read with GET"));
    }
    let resource = resource.as_ref().map_err(Clone::clone)?;
    let request = &step.asked.request;
    let base = base(service, request);
    let kind = resource.entity_type().unwrap_or(&FLIGHT);
    let options = Options::parse(service.version(), kind, request.query())?;
    let format = service.format(resource, request.headers(), options.format)?;
    let now = clock::utc(clock::wall_ns());
    let scene = Scene { base: &base, now: &now, options: &options };
    let answer = Form { service, format, scene }.of(step, resource)?;
    let (name, version) = service.version().header();
    Ok(answer.with(name, version))
}

/// The answer about an entity that was made.
///
/// # Errors
/// [`Failure`] when its options, of which there are none, are wrong.
pub(super) fn created(
    step: &Step<'_>,
    service: Service,
    format: Format,
    entity: &Entity,
) -> Result<Answer, Failure> {
    let base = base(service, &step.asked.request);
    let options = Options::parse(service.version(), entity.kind, "")?;
    let now = clock::utc(clock::wall_ns());
    let scene = Scene { base: &base, now: &now, options: &options };
    let answer = Form { service, format, scene }.one(entity).with_status(StatusCode::CREATED);
    let (name, version) = service.version().header();
    let location = format!("{base}{}", entity.path(service.version()));
    Ok(answer.with(LOCATION, &location).with(name, version))
}

/// How an answer is written.
#[derive(Clone, Copy)]
struct Form<'a> {
    service: Service,
    format: Format,
    scene: Scene<'a>,
}

impl Form<'_> {
    /// What there is at `resource`.
    fn of(self, step: &mut Step<'_>, resource: &Resource) -> Result<Answer, Failure> {
        let Self { service, format, scene } = self;
        let mut reader = Reader::new(service, scene.options);
        Ok(match resource {
            Resource::Service | Resource::Batch => match format {
                Format::Json => Answer::new(JSON, json::service()),
                Format::Json4 => Answer::new(JSON_4, json4::service(scene.base)),
                Format::Atom => write(service, SERVICE, |sink| atom::service(sink, scene.base)),
            },
            Resource::Metadata => write(service, XML, |sink| match service.version() {
                Version::Two => metadata::document(sink),
                Version::Four => metadata4::document(sink),
            }),
            Resource::Set(kind) => self.many(kind, (kind.set, kind.set), &reader.set(step, kind)?),
            Resource::Count(kind) => count(reader.set(step, kind)?.all),
            Resource::Entity(kind, key) => {
                let mut entity = reader.entity(step, kind, key)?;
                reader.expand(step, std::slice::from_mut(&mut entity))?;
                self.one(&entity)
            }
            Resource::Navigation { from, key, count: counted } => {
                let entity = reader.entity(step, from, key)?;
                let navigation = &from.navigation;
                let mut led = reader.follow(step, &entity)?;
                if navigation.to.many() {
                    let found = reader.chosen(step, led)?;
                    if *counted {
                        return Ok(count(found.all));
                    }
                    let path = format!("{}/{}", entity.path(Version::Two), navigation.name);
                    self.many(navigation.to.entity_type(), (navigation.name, &path), &found)
                } else {
                    reader.expand(step, &mut led)?;
                    let missing =
                        || Failure::not_found(format!("{} leads nowhere", navigation.name));
                    self.one(led.first().ok_or_else(missing)?)
                }
            }
            Resource::Links { from, key } => {
                let entity = reader.entity(step, from, key)?;
                let led = reader.follow(step, &entity)?;
                let found = reader.chosen(step, led)?;
                self.links(from.navigation.to.many(), &found)
            }
            Resource::Property { of, key, place, bare } => {
                let entity = reader.entity(step, of, key)?;
                match (bare, format) {
                    (true, _) => Answer::new(TEXT, entity.lexical(*place).into_owned()),
                    (false, Format::Json) => Answer::new(JSON, json::property(&entity, *place)),
                    (false, Format::Json4) => {
                        Answer::new(JSON_4, json4::property(scene.base, &entity, *place))
                    }
                    (false, Format::Atom) => {
                        write(service, XML, |sink| atom::property(sink, &entity, *place))
                    }
                }
            }
        })
    }

    fn many(self, kind: &EntityType, names: (&str, &str), found: &Found) -> Answer {
        let Self { service, format, scene } = self;
        let count = scene.options.count.then_some(found.all);
        match format {
            Format::Json => {
                let document = json::feed(scene.base, scene.options, &found.entities, count);
                Answer::new(JSON, document)
            }
            Format::Json4 => {
                let document = json4::feed(scene.base, scene.options, kind, &found.entities, count);
                Answer::new(JSON_4, document)
            }
            Format::Atom => {
                write(service, FEED, |sink| atom::feed(sink, scene, names, &found.entities, count))
            }
        }
    }

    fn links(self, many: bool, found: &Found) -> Answer {
        let Self { service, format, scene } = self;
        let count = scene.options.count.then_some(found.all);
        let entities = &found.entities;
        match format {
            Format::Json => Answer::new(JSON, json::links(scene.base, many, entities, count)),
            Format::Json4 => Answer::new(JSON_4, json4::links(scene.base, many, entities, count)),
            Format::Atom => {
                write(service, XML, |sink| atom::links(sink, scene.base, many, entities, count))
            }
        }
    }

    fn one(self, entity: &Entity) -> Answer {
        let Self { service, format, scene } = self;
        match format {
            Format::Json => Answer::new(JSON, json::entry(scene.base, scene.options, entity)),
            Format::Json4 => Answer::new(JSON_4, json4::entry(scene.base, scene.options, entity)),
            Format::Atom => write(service, ENTRY, |sink| atom::entry(sink, scene, entity)),
        }
    }
}

fn count(all: usize) -> Answer {
    Answer::new(TEXT, all.to_string())
}

/// The root of the service as the client called it, with a slash at its end.
fn base(service: Service, request: &Request) -> String {
    let host = request.header("host");
    let host = if host.is_empty() { "localhost" } else { host }; // HTTP/1.0 needs none
    let scheme = if request.peer.tls { "https" } else { "http" };
    format!("{scheme}://{host}/sap{}/", service.root())
}

/// Writes a document in the way of `service`: as a tree first, or straight away.
fn write(service: Service, content_type: &'static str, tell: impl FnOnce(&mut Writer)) -> Answer {
    let mut writer = match service {
        Service::Compatibility => Writer::Dom(Dom::default()),
        Service::Standard | Service::Version4 => Writer::Stream(Stream::new()),
    };
    tell(&mut writer);
    let bytes = match writer {
        Writer::Dom(dom) => dom.into_bytes(),
        Writer::Stream(stream) => stream.into_bytes(),
    };
    Answer::new(content_type, bytes)
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
