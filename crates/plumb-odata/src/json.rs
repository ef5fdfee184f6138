//! The same in JSON, written straight into a text.
//!
//! # Source
//! OData Version 2.0, JSON Format.

use crate::entity::{Entity, decimal, duration, epoch_ms};
use crate::model::{Kind, TYPES};
use crate::options::Options;
use crate::version::Version;

/// A document of many entities.
#[must_use]
pub fn feed(base: &str, options: &Options, entities: &[Entity], count: Option<usize>) -> String {
    let mut out = String::with_capacity(entities.len() * 1024 + 64);
    out.push_str("{\"d\":{");
    if let Some(count) = count {
        out += &format!("\"__count\":\"{count}\",");
    }
    out.push_str("\"results\":");
    list(&mut out, base, options, entities);
    out.push_str("}}");
    out
}

/// A document of one entity.
#[must_use]
pub fn entry(base: &str, options: &Options, entity: &Entity) -> String {
    let mut out = String::with_capacity(1024);
    out.push_str("{\"d\":");
    object(&mut out, base, options, entity);
    out.push('}');
    out
}

/// A document of one property.
#[must_use]
pub fn property(entity: &Entity, place: usize) -> String {
    let mut out = String::from("{\"d\":{");
    member(&mut out, entity.kind.properties[place].name);
    value(&mut out, entity, place);
    out.push_str("}}");
    out
}

/// A document that says where a navigation leads: to `many`, or to one.
#[must_use]
pub fn links(base: &str, many: bool, entities: &[Entity], count: Option<usize>) -> String {
    let link = |entity: &Entity| serde_json::json!({ "uri": format!("{base}{}", entity.path(Version::Two)) });
    let document = match (many, count, entities.first()) {
        (true, None, _) => {
            serde_json::json!({ "results": entities.iter().map(link).collect::<Vec<_>>() })
        }
        (true, Some(count), _) => serde_json::json!({
            "__count": count.to_string(),
            "results": entities.iter().map(link).collect::<Vec<_>>(),
        }),
        (false, _, Some(entity)) => link(entity),
        (false, _, None) => serde_json::Value::Null,
    };
    serde_json::json!({ "d": document }).to_string()
}

/// The list of sets.
#[must_use]
pub fn service() -> String {
    let sets = TYPES.map(|kind| kind.set);
    serde_json::json!({ "d": { "EntitySets": sets } }).to_string()
}

/// What went wrong.
#[must_use]
pub fn error(code: &str, message: &str) -> String {
    let message = serde_json::json!({ "lang": "en", "value": message });
    serde_json::json!({ "error": { "code": code, "message": message } }).to_string()
}

fn list(out: &mut String, base: &str, options: &Options, entities: &[Entity]) {
    out.push('[');
    for (number, entity) in entities.iter().enumerate() {
        if number > 0 {
            out.push(',');
        }
        object(out, base, options, entity);
    }
    out.push(']');
}

fn object(out: &mut String, base: &str, options: &Options, entity: &Entity) {
    let url = format!("{base}{}", entity.path(Version::Two));
    out.push_str("{\"__metadata\":{\"id\":");
    text(out, &url);
    out.push_str(",\"uri\":");
    text(out, &url);
    out.push_str(",\"type\":");
    text(out, &entity.kind.full_name());
    out.push('}');
    for (place, property) in entity.kind.properties.iter().enumerate() {
        if options.selects(place) {
            out.push(',');
            member(out, property.name);
            value(out, entity, place);
        }
    }
    let navigation = &entity.kind.navigation;
    if !options.shows_navigation() {
        out.push('}');
        return;
    }
    out.push(',');
    member(out, navigation.name);
    let all = Options::default();
    let inner = options.expand.as_deref().unwrap_or(&all);
    match &entity.expanded {
        None => {
            out.push_str("{\"__deferred\":{\"uri\":");
            text(out, &format!("{url}/{}", navigation.name));
            out.push_str("}}");
        }
        Some(expanded) if navigation.to.many() => {
            out.push_str("{\"results\":");
            list(out, base, inner, expanded);
            out.push('}');
        }
        Some(expanded) => match expanded.first() {
            Some(entity) => object(out, base, inner, entity),
            None => out.push_str("null"),
        },
    }
    out.push('}');
}

fn value(out: &mut String, entity: &Entity, place: usize) {
    match entity.kind.properties[place].kind {
        Kind::Text(_) => text(out, entity.text(place)),
        Kind::Int => out.push_str(&entity.int(place).to_string()),
        Kind::Decimal => text(out, &decimal(entity.int(place))),
        Kind::Date => text(out, &format!("/Date({})/", epoch_ms(entity.text(place)))),
        Kind::Time => text(out, &duration(entity.text(place))),
    }
}

fn member(out: &mut String, name: &str) {
    text(out, name);
    out.push(':');
}

/// Appends `value` in quotes.
pub fn text(out: &mut String, value: &str) {
    // a text is always one in JSON
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
}
