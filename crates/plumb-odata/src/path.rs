//! The path of a URL behind the root of the service.

use plumb_wire::percent::decoded;

use crate::key;
use crate::model::{self, EntityType, NAMESPACE};
use crate::refusal::Refusal;
use crate::version::Version;

/// What a path leads to.
#[derive(Debug)]
pub enum Resource {
    /// The list of sets.
    Service,
    /// The description of types.
    Metadata,
    /// Several requests in one.
    Batch,
    /// All of a set.
    Set(&'static EntityType),
    /// How many there are in a set.
    Count(&'static EntityType),
    /// One entity by its key.
    Entity(&'static EntityType, Vec<String>),
    /// What the navigation of an entity leads to; counted, if asked for.
    Navigation {
        /// The type of the entity.
        from: &'static EntityType,
        /// The key of the entity.
        key: Vec<String>,
        /// True when only their number is asked for.
        count: bool,
    },
    /// Where the navigation of an entity leads, without what is there.
    Links {
        /// The type of the entity.
        from: &'static EntityType,
        /// The key of the entity.
        key: Vec<String>,
    },
    /// A property of an entity; its bare value, if asked for.
    Property {
        /// The type of the entity.
        of: &'static EntityType,
        /// The key of the entity.
        key: Vec<String>,
        /// The place of the property among those of its type.
        place: usize,
        /// True for the value alone.
        bare: bool,
    },
}

impl Resource {
    /// What `below` the root leads to; it is empty or begins with a slash.
    ///
    /// # Errors
    /// [`Refusal`] says where the path goes wrong.
    pub fn parse(version: Version, below: &str) -> Result<Self, Refusal> {
        let mut segments = Vec::new();
        for segment in below.split('/').filter(|segment| !segment.is_empty()) {
            let wrong = || Refusal::bad_request(format!("`{segment}` is badly encoded"));
            segments.push(decoded(segment).ok_or_else(wrong)?);
        }
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        match segments.as_slice() {
            [] => Ok(Self::Service),
            ["$metadata"] => Ok(Self::Metadata),
            ["$batch"] => Ok(Self::Batch),
            [first, rest @ ..] => Self::of_set(version, first, rest),
        }
    }

    /// True for what has one form only: text, or the description of types.
    pub(crate) fn is_bare(&self) -> bool {
        matches!(
            self,
            Self::Metadata
                | Self::Count(_)
                | Self::Navigation { count: true, .. }
                | Self::Property { bare: true, .. }
        )
    }

    /// The type of the entities that it leads to.
    #[must_use]
    pub fn entity_type(&self) -> Option<&'static EntityType> {
        match self {
            Self::Set(kind)
            | Self::Count(kind)
            | Self::Entity(kind, _)
            | Self::Property { of: kind, .. } => Some(kind),
            Self::Navigation { from, .. } | Self::Links { from, .. } => {
                Some(from.navigation.to.entity_type())
            }
            Self::Service | Self::Metadata | Self::Batch => None,
        }
    }

    fn of_set(version: Version, first: &str, rest: &[&str]) -> Result<Self, Refusal> {
        let (set, predicate) = match first.split_once('(') {
            None => (first, None),
            Some((set, behind)) => {
                let problem = "a key ends with a parenthesis, and with nothing behind it";
                let inner = behind.strip_suffix(')');
                (set, Some(inner.ok_or_else(|| Refusal::bad_request(problem))?))
            }
        };
        let kind = model::by_set(set).ok_or_else(|| {
            Refusal::not_found(format!("the service {NAMESPACE} has nothing called `{set}`"))
        })?;
        let nothing = |name: &str| {
            Refusal::not_found(format!("nothing called `{name}` belongs to {}", kind.name))
        };
        let Some(predicate) = predicate.filter(|inner| !inner.trim().is_empty()) else {
            return match (predicate, rest) {
                (_, []) => Ok(Self::Set(kind)),
                (_, ["$count"]) => Ok(Self::Count(kind)),
                (_, [name, ..]) => Err(nothing(name)),
            };
        };
        let key = key::parse(kind, predicate)?;
        let leads = |name: &str| name == kind.navigation.name;
        match rest {
            [] => Ok(Self::Entity(kind, key)),
            [name] if leads(name) => Ok(Self::Navigation { from: kind, key, count: false }),
            [name, "$count"] if leads(name) && kind.navigation.to.many() => {
                Ok(Self::Navigation { from: kind, key, count: true })
            }
            ["$links", name] if version == Version::Two && leads(name) => {
                Ok(Self::Links { from: kind, key })
            }
            [name, "$ref"] if version == Version::Four && leads(name) => {
                Ok(Self::Links { from: kind, key })
            }
            [name] | [name, "$value"] => match kind.place(name) {
                Some(place) => Ok(Self::Property { of: kind, key, place, bare: rest.len() == 2 }),
                None => Err(nothing(name)),
            },
            [_, name, ..] => Err(nothing(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::StatusCode;
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "(carrid='AA',connid='0017',fldate='20110601')";

    #[test]
    fn every_path_leads_where_it_should() {
        let leads = |path: &str| format!("{:?}", Resource::parse(Version::Two, path).unwrap());
        assert_eq!(leads(""), "Service");
        assert_eq!(leads("/"), "Service");
        assert_eq!(leads("/$metadata"), "Metadata");
        assert_eq!(leads("/%24batch"), "Batch");
        assert!(leads("/FlightCollection").starts_with("Set("));
        assert!(leads("/FlightCollection/$count").starts_with("Count("));
        assert!(leads(&format!("/FlightCollection{KEY}")).starts_with("Entity("));
        assert!(leads(&format!("/FlightCollection{KEY}/flightCarrier")).starts_with("Navigation"));
        assert!(leads(&format!("/FlightCollection{KEY}/PRICE")).contains("bare: false"));
        assert!(leads(&format!("/FlightCollection{KEY}/PRICE/$value")).contains("bare: true"));
        assert!(leads("/CarrierCollection('LH')/carrierFlights/$count").contains("count: true"));
        assert!(leads("/CarrierCollection('LH')/$links/carrierFlights").starts_with("Links"));
        let four = Resource::parse(Version::Four, "/CarrierCollection('LH')/carrierFlights/$ref");
        assert!(matches!(four, Ok(Resource::Links { .. })));
        let key = "/FlightCollection(carrid='AA',connid='0017',fldate=2011-06-01)";
        assert!(matches!(Resource::parse(Version::Four, key), Ok(Resource::Entity(..))));
    }

    #[test]
    fn what_leads_nowhere_has_its_status() {
        let status = |path: &str| Resource::parse(Version::Two, path).unwrap_err().status;
        for path in [
            "/Bookings",
            "/FlightCollection/x",
            "/CarrierCollection('LH')/nothing",
            "/CarrierCollection('LH')/$links/nothing",
            "/CarrierCollection('LH')/carrierFlights/$ref",
        ] {
            assert_eq!(status(path), StatusCode::NOT_FOUND, "{path}");
        }
        for path in ["/FlightCollection(", "/FlightCollection('AA')", "/FlightCollection%zz"] {
            assert_eq!(status(path), StatusCode::BAD_REQUEST, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_path_is_read_or_refused(path: String) {
            for version in [Version::Two, Version::Four] {
                let _ = Resource::parse(version, &path);
                let _ = Resource::parse(version, &format!("/FlightCollection({path})"));
            }
        }
    }
}
