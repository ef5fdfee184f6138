//! The description of the types in version 4.
//!
//! # Source
//! OData Version 4.0, Common Schema Definition Language (CSDL).

use crate::metadata::begin_type;
use crate::model::{EntityType, Kind, NAMESPACE, TYPES};
use crate::xml::Sink;

const EDMX: &str = "http://docs.oasis-open.org/odata/ns/edmx";
const EDM: &str = "http://docs.oasis-open.org/odata/ns/edm";
const CONTAINER: &str = "Container";

/// The whole description.
pub fn document(sink: &mut impl Sink) {
    sink.open("edmx:Edmx", &[("Version", "4.0"), ("xmlns:edmx", EDMX)]);
    sink.open("edmx:DataServices", &[]);
    sink.open("Schema", &[("Namespace", NAMESPACE), ("xmlns", EDM)]);
    for kind in TYPES {
        entity_type(sink, kind);
    }
    container(sink);
    sink.close("Schema");
    sink.close("edmx:DataServices");
    sink.close("edmx:Edmx");
}

fn entity_type(sink: &mut impl Sink, kind: &EntityType) {
    begin_type(sink, kind, edm, &[]);
    let navigation = &kind.navigation;
    let to = navigation.to.entity_type();
    let (name, partner) = (("Name", navigation.name), ("Partner", to.navigation.name));
    if navigation.to.many() {
        let typed = format!("Collection({})", to.full_name());
        sink.empty("NavigationProperty", &[name, ("Type", &typed), partner]);
    } else {
        let typed = to.full_name();
        let nullable = ("Nullable", "false");
        sink.empty("NavigationProperty", &[name, ("Type", &typed), nullable, partner]);
    }
    sink.close("EntityType");
}

/// The name of a type.
fn edm(kind: Kind) -> &'static str {
    match kind {
        Kind::Text(_) => "Edm.String",
        Kind::Decimal => "Edm.Decimal",
        Kind::Date => "Edm.Date",
        Kind::Time => "Edm.TimeOfDay",
        Kind::Int => "Edm.Int32",
    }
}

fn container(sink: &mut impl Sink) {
    sink.open("EntityContainer", &[("Name", CONTAINER)]);
    for kind in TYPES {
        let navigation = &kind.navigation;
        sink.open("EntitySet", &[("Name", kind.set), ("EntityType", &kind.full_name())]);
        let target = navigation.to.entity_type().set;
        sink.empty("NavigationPropertyBinding", &[("Path", navigation.name), ("Target", target)]);
        sink.close("EntitySet");
    }
    sink.close("EntityContainer");
}
