//! Feeds, entries and the service document in XML.
//!
//! # Source
//! OData Version 2.0, Atom Format; RFC 4287; RFC 5023.

use crate::entity::Entity;
use crate::model::{Kind, TYPES};
use crate::options::Options;
use crate::version::Version;
use crate::xml::Sink;

const ATOM: &str = "http://www.w3.org/2005/Atom";
const DATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices";
/// The name space of what is said about entities.
pub(crate) const METADATA: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata";
const SCHEME: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/scheme";
const RELATED: &str = "http://schemas.microsoft.com/ado/2007/08/dataservices/related/";

/// What is the same through a whole document.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The root of the service, with a slash at its end.
    pub base: &'a str,
    /// The moment of the answer, as in RFC 3339.
    pub now: &'a str,
    /// What was asked for.
    pub options: &'a Options,
}

/// A document of many entities.
pub fn feed(
    sink: &mut impl Sink,
    scene: Scene<'_>,
    (title, path): (&str, &str),
    entities: &[Entity],
    count: Option<usize>,
) {
    feed_element(sink, scene, (title, path), entities, count, &namespaces(scene.base));
}

/// A document of one entity.
pub fn entry(sink: &mut impl Sink, scene: Scene<'_>, entity: &Entity) {
    entry_element(sink, scene, entity, &namespaces(scene.base));
}

fn namespaces(base: &str) -> [(&'static str, &str); 4] {
    [("xmlns", ATOM), ("xmlns:m", METADATA), ("xmlns:d", DATA), ("xml:base", base)]
}

fn feed_element(
    sink: &mut impl Sink,
    scene: Scene<'_>,
    (title, path): (&str, &str),
    entities: &[Entity],
    count: Option<usize>,
    attributes: &[(&str, &str)],
) {
    sink.open("feed", attributes);
    sink.leaf("id", &[], &format!("{}{path}", scene.base));
    sink.leaf("title", &[("type", "text")], title);
    sink.leaf("updated", &[], scene.now);
    author(sink);
    sink.empty("link", &[("href", path), ("rel", "self"), ("title", title)]);
    if let Some(count) = count {
        sink.leaf("m:count", &[], &count.to_string());
    }
    for entity in entities {
        entry_element(sink, scene, entity, &[]);
    }
    sink.close("feed");
}

fn entry_element(
    sink: &mut impl Sink,
    scene: Scene<'_>,
    entity: &Entity,
    attributes: &[(&str, &str)],
) {
    let path = entity.path(Version::Two);
    let url = format!("{}{path}", scene.base);
    sink.open("entry", attributes);
    sink.leaf("id", &[], &url);
    sink.leaf("title", &[("type", "text")], &path);
    sink.leaf("updated", &[], scene.now);
    author(sink);
    let full_name = entity.kind.full_name();
    sink.empty("category", &[("term", &full_name), ("scheme", SCHEME)]);
    sink.empty("link", &[("href", &path), ("rel", "self"), ("title", entity.kind.name)]);
    if scene.options.shows_navigation() {
        navigation(sink, scene, entity, &path);
    }
    sink.open("content", &[("type", "application/xml")]);
    sink.open("m:properties", &[]);
    for (place, property) in entity.kind.properties.iter().enumerate() {
        if scene.options.selects(place) {
            let name = format!("d:{}", property.name);
            let typed = match property.kind {
                Kind::Text(_) => None,
                kind => Some(("m:type", kind.edm())),
            };
            sink.leaf(&name, typed.as_slice(), &entity.lexical(place));
        }
    }
    sink.close("m:properties");
    sink.close("content");
    sink.close("entry");
}

fn navigation(sink: &mut impl Sink, scene: Scene<'_>, entity: &Entity, path: &str) {
    let navigation = &entity.kind.navigation;
    let kind = if navigation.to.many() { "feed" } else { "entry" };
    let (href, rel) =
        (format!("{path}/{}", navigation.name), format!("{RELATED}{}", navigation.name));
    let content = format!("application/atom+xml;type={kind}");
    sink.open(
        "link",
        &[("href", &href), ("rel", &rel), ("type", &content), ("title", navigation.name)],
    );
    if let Some(expanded) = &entity.expanded {
        let all = Options::default();
        let scene = Scene { options: scene.options.expand.as_deref().unwrap_or(&all), ..scene };
        sink.open("m:inline", &[]);
        if navigation.to.many() {
            feed_element(sink, scene, (navigation.name, &href), expanded, None, &[]);
        } else {
            expanded.iter().for_each(|entity| entry_element(sink, scene, entity, &[]));
        }
        sink.close("m:inline");
    }
    sink.close("link");
}

fn author(sink: &mut impl Sink) {
    sink.open("author", &[]);
    sink.empty("name", &[]);
    sink.close("author");
}

/// A document of one property.
pub fn property(sink: &mut impl Sink, entity: &Entity, place: usize) {
    let property = &entity.kind.properties[place];
    let name = format!("d:{}", property.name);
    let mut attributes = vec![("xmlns:d", DATA), ("xmlns:m", METADATA)];
    if !matches!(property.kind, Kind::Text(_)) {
        attributes.push(("m:type", property.kind.edm()));
    }
    sink.leaf(&name, &attributes, &entity.lexical(place));
}

/// A document that says where a navigation leads: to `many`, or to one.
pub fn links(
    sink: &mut impl Sink,
    base: &str,
    many: bool,
    entities: &[Entity],
    count: Option<usize>,
) {
    let url = |entity: &Entity| format!("{base}{}", entity.path(Version::Two));
    if !many {
        return entities.iter().for_each(|it| sink.leaf("uri", &[("xmlns", DATA)], &url(it)));
    }
    sink.open("links", &[("xmlns", DATA), ("xmlns:m", METADATA)]);
    if let Some(count) = count {
        sink.leaf("m:count", &[], &count.to_string());
    }
    entities.iter().for_each(|entity| sink.leaf("uri", &[], &url(entity)));
    sink.close("links");
}

/// The list of sets.
pub fn service(sink: &mut impl Sink, base: &str) {
    let attributes =
        [("xml:base", base), ("xmlns", "http://www.w3.org/2007/app"), ("xmlns:atom", ATOM)];
    sink.open("service", &attributes);
    sink.open("workspace", &[]);
    sink.leaf("atom:title", &[], "Data");
    for kind in TYPES {
        sink.open("collection", &[("href", kind.set)]);
        sink.leaf("atom:title", &[], kind.set);
        sink.close("collection");
    }
    sink.close("workspace");
    sink.close("service");
}

/// What went wrong.
pub fn error(sink: &mut impl Sink, code: &str, message: &str) {
    sink.open("error", &[("xmlns", METADATA)]);
    sink.leaf("code", &[], code);
    sink.leaf("message", &[("xml:lang", "en")], message);
    sink.close("error");
}
