//! The description of the types.
//!
//! # Source
//! Conceptual Schema Definition Language 2.0, as OData Version 2.0 uses it.

use crate::atom::METADATA;
use crate::model::{EntityType, Kind, NAMESPACE, Property, TYPES};
use crate::xml::Sink;

const EDMX: &str = "http://schemas.microsoft.com/ado/2007/06/edmx";
const EDM: &str = "http://schemas.microsoft.com/ado/2008/09/edm";
const ASSOCIATION: &str = "CarrierToFlights";
const CONTAINER: &str = "RMTSAMPLEFLIGHT_Entities";

/// The whole description.
pub fn document(sink: &mut impl Sink) {
    sink.open("edmx:Edmx", &[("Version", "1.0"), ("xmlns:edmx", EDMX), ("xmlns:m", METADATA)]);
    sink.open("edmx:DataServices", &[("m:DataServiceVersion", "2.0")]);
    sink.open("Schema", &[("Namespace", NAMESPACE), ("xmlns", EDM)]);
    for kind in TYPES {
        entity_type(sink, kind);
    }
    association(sink);
    container(sink);
    sink.close("Schema");
    sink.close("edmx:DataServices");
    sink.close("edmx:Edmx");
}

fn entity_type(sink: &mut impl Sink, kind: &EntityType) {
    begin_type(sink, kind, Kind::edm, &[("Precision", "0")]);
    let navigation = &kind.navigation;
    let (from, to) = (role(kind), role(navigation.to.entity_type()));
    let relationship = format!("{NAMESPACE}.{ASSOCIATION}");
    sink.empty(
        "NavigationProperty",
        &[
            ("Name", navigation.name),
            ("Relationship", &relationship),
            ("FromRole", from),
            ("ToRole", to),
        ],
    );
    sink.close("EntityType");
}

/// Begins an entity type with its key and its properties, whose types `edm` names; those of time have
/// these `facets`.
pub(super) fn begin_type(
    sink: &mut impl Sink,
    kind: &EntityType,
    edm: fn(Kind) -> &'static str,
    facets: &[(&str, &str)],
) {
    sink.open("EntityType", &[("Name", kind.name)]);
    sink.open("Key", &[]);
    for property in &kind.properties[..kind.keys] {
        sink.empty("PropertyRef", &[("Name", property.name)]);
    }
    sink.close("Key");
    for Property { name, kind } in kind.properties {
        let length;
        let facets = match kind {
            Kind::Text(most) => {
                length = most.to_string();
                &[("MaxLength", length.as_str())]
            }
            Kind::Decimal => &[("Precision", "17"), ("Scale", "2")][..],
            Kind::Date | Kind::Time => facets,
            Kind::Int => &[],
        };
        let all = [("Name", *name), ("Type", edm(*kind)), ("Nullable", "false")];
        sink.empty("Property", &[&all, facets].concat());
    }
}

/// The end of the association at which a type stands.
fn role(kind: &EntityType) -> &'static str {
    if kind.name == "Carrier" { "carrier" } else { "flights" }
}

fn association(sink: &mut impl Sink) {
    sink.open("Association", &[("Name", ASSOCIATION)]);
    for kind in TYPES {
        let multiplicity = if kind.name == "Carrier" { "1" } else { "*" };
        let full_name = kind.full_name();
        let (kind, many) = (("Role", role(kind)), ("Multiplicity", multiplicity));
        sink.empty("End", &[("Type", &full_name), many, kind]);
    }
    sink.open("ReferentialConstraint", &[]);
    for (end, role) in [("Principal", "carrier"), ("Dependent", "flights")] {
        sink.open(end, &[("Role", role)]);
        sink.empty("PropertyRef", &[("Name", "carrid")]);
        sink.close(end);
    }
    sink.close("ReferentialConstraint");
    sink.close("Association");
}

fn container(sink: &mut impl Sink) {
    sink.open("EntityContainer", &[("Name", CONTAINER), ("m:IsDefaultEntityContainer", "true")]);
    for kind in TYPES {
        sink.empty("EntitySet", &[("Name", kind.set), ("EntityType", &kind.full_name())]);
    }
    let set = format!("{ASSOCIATION}Set");
    let association = format!("{NAMESPACE}.{ASSOCIATION}");
    sink.open("AssociationSet", &[("Name", &set), ("Association", &association)]);
    for kind in TYPES {
        sink.empty("End", &[("EntitySet", kind.set), ("Role", role(kind))]);
    }
    sink.close("AssociationSet");
    sink.close("EntityContainer");
}
