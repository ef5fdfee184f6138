//! The same in JSON as version 4 writes it, with what clients need to know of types and links and no
//! more (`odata.metadata=minimal`).
//!
//! # Source
//! OData Version 4.0, JSON Format; URLs of contexts: Protocol, section 10.

use crate::entity::{Entity, decimal};
use crate::json::text;
use crate::model::{EntityType, Kind, TYPES};
use crate::options::Options;
use crate::version::Version;

/// A document of many entities.
#[must_use]
pub fn feed(
    base: &str,
    options: &Options,
    kind: &EntityType,
    entities: &[Entity],
    count: Option<usize>,
) -> String {
    let mut out = String::with_capacity(entities.len() * 512 + 128);
    out.push('{');
    context(&mut out, base, &format!("#{}{}", kind.set, projection(options, kind)));
    if let Some(count) = count {
        out += &format!(",\"@odata.count\":{count}");
    }
    out.push_str(",\"value\":");
    list(&mut out, options, entities);
    out.push('}');
    out
}

/// A document of one entity.
#[must_use]
pub fn entry(base: &str, options: &Options, entity: &Entity) -> String {
    let mut out = String::with_capacity(1024);
    let kind = entity.kind;
    out.push('{');
    context(&mut out, base, &format!("#{}{}/$entity", kind.set, projection(options, kind)));
    members(&mut out, options, entity, false);
    out.push('}');
    out
}

/// A document of one property.
#[must_use]
pub fn property(base: &str, entity: &Entity, place: usize) -> String {
    let name = entity.kind.properties[place].name;
    let mut out = String::from("{");
    context(&mut out, base, &format!("#{}/{name}", entity.path(Version::Four)));
    out.push_str(",\"value\":");
    value(&mut out, entity, place);
    out.push('}');
    out
}

/// A document that says where a navigation leads: to `many`, or to one.
#[must_use]
pub fn links(base: &str, many: bool, entities: &[Entity], count: Option<usize>) -> String {
    let mut out = String::from("{");
    let id = |entity: &Entity| format!("{base}{}", entity.path(Version::Four));
    context(&mut out, base, if many { "#Collection($ref)" } else { "#$ref" });
    if !many {
        for entity in entities {
            out.push_str(",\"@odata.id\":");
            text(&mut out, &id(entity));
        }
        out.push('}');
        return out;
    }
    if let Some(count) = count {
        out += &format!(",\"@odata.count\":{count}");
    }
    out.push_str(",\"value\":[");
    for (number, entity) in entities.iter().enumerate() {
        out.push_str(if number > 0 { ",{\"@odata.id\":" } else { "{\"@odata.id\":" });
        text(&mut out, &id(entity));
        out.push('}');
    }
    out.push_str("]}");
    out
}

/// The list of sets.
#[must_use]
pub fn service(base: &str) -> String {
    let sets = TYPES
        .map(|kind| serde_json::json!({ "name": kind.set, "kind": "EntitySet", "url": kind.set }));
    serde_json::json!({ "@odata.context": format!("{base}$metadata"), "value": sets }).to_string()
}

/// What went wrong.
#[must_use]
pub fn error(code: &str, message: &str) -> String {
    serde_json::json!({ "error": { "code": code, "message": message } }).to_string()
}

/// What the members of a document are, behind the description of all types.
fn context(out: &mut String, base: &str, fragment: &str) {
    out.push_str("\"@odata.context\":");
    text(out, &format!("{base}$metadata{fragment}"));
}

/// What of an entity is selected and expanded, as a context says it; empty: all and nothing.
fn projection(options: &Options, kind: &EntityType) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(places) = &options.select {
        parts.extend(places.iter().map(|place| kind.properties[*place].name.to_owned()));
    }
    let navigation = &kind.navigation;
    match &options.expand {
        Some(inner) => {
            let inner = projection(inner, navigation.to.entity_type());
            let inner = if inner.is_empty() { "()" } else { &inner };
            parts.push(format!("{}{inner}", navigation.name));
        }
        None if options.navigates => parts.push(navigation.name.to_owned()),
        None => {}
    }
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(",")) }
}

fn list(out: &mut String, options: &Options, entities: &[Entity]) {
    out.push('[');
    for (number, entity) in entities.iter().enumerate() {
        out.push_str(if number > 0 { ",{" } else { "{" });
        members(out, options, entity, true);
        out.push('}');
    }
    out.push(']');
}

/// The members of an entity, of which the first comes behind a comma unless it is `first` of all.
fn members(out: &mut String, options: &Options, entity: &Entity, mut first: bool) {
    let mut name = |out: &mut String, name: &str| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        text(out, name);
        out.push(':');
    };
    for (place, property) in entity.kind.properties.iter().enumerate() {
        if options.selects(place) {
            name(out, property.name);
            value(out, entity, place);
        }
    }
    let navigation = &entity.kind.navigation;
    let (Some(expanded), Some(inner)) = (&entity.expanded, &options.expand) else {
        return;
    };
    name(out, navigation.name);
    if navigation.to.many() {
        return list(out, inner, expanded);
    }
    match expanded.first() {
        None => out.push_str("null"),
        Some(entity) => {
            out.push('{');
            members(out, inner, entity, true);
            out.push('}');
        }
    }
}

fn value(out: &mut String, entity: &Entity, place: usize) {
    match entity.kind.properties[place].kind {
        Kind::Text(_) | Kind::Date | Kind::Time => text(out, entity.text(place)),
        Kind::Int => out.push_str(&entity.int(place).to_string()),
        Kind::Decimal => out.push_str(&decimal(entity.int(place))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CARRIER, FLIGHT};
    use plumb_serve::database::{Row, Value};

    fn carrier() -> Entity {
        let row = ["LH", "Lufthansa", "EUR", "http://a?b=\"c\""].map(Value::from);
        Entity::new(&CARRIER, Row(row.to_vec()))
    }

    #[test]
    fn an_entity_has_the_members_that_were_selected() {
        let read = |query: &str| {
            let options = Options::parse(Version::Four, &CARRIER, query).unwrap();
            entry("http://h/", &options, &carrier())
        };
        let expected = "{\"@odata.context\":\"http://h/$metadata#CarrierCollection(CARRNAME)/$entity\",\
                        \"CARRNAME\":\"Lufthansa\"}";
        assert_eq!(read("$select=CARRNAME"), expected);
        let all: serde_json::Value = serde_json::from_str(&read("")).unwrap();
        assert_eq!(all["URL"], "http://a?b=\"c\"");
        assert_eq!(all["@odata.context"], "http://h/$metadata#CarrierCollection/$entity");
    }

    #[test]
    fn a_context_says_what_is_selected_and_expanded() {
        let of = |query: &str| {
            let options = Options::parse(Version::Four, &FLIGHT, query).unwrap();
            projection(&options, &FLIGHT)
        };
        assert_eq!(of(""), "");
        assert_eq!(of("$expand=flightCarrier"), "(flightCarrier())");
        assert_eq!(
            of("$select=PRICE,carrid&$expand=flightCarrier($select=URL;$expand=carrierFlights)"),
            "(PRICE,carrid,flightCarrier(URL,carrierFlights()))"
        );
    }

    #[test]
    fn entities_without_any_member_are_still_entities() {
        let options = Options::parse(Version::Four, &CARRIER, "$select=carrierFlights").unwrap();
        let document = feed("http://h/", &options, &CARRIER, &[carrier(), carrier()], Some(2));
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(document["value"], serde_json::json!([{}, {}]));
        assert_eq!(document["@odata.count"], 2);
    }
}
