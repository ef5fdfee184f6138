//! What there is: entity types with their properties, and how they hang together.

/// An entity type and its set.
#[derive(Debug)]
pub(crate) struct EntityType {
    pub(crate) name: &'static str,
    pub(crate) set: &'static str,
    /// The first `keys` properties are the key.
    pub(crate) keys: usize,
    pub(crate) properties: &'static [Property],
    pub(crate) navigation: Navigation,
}

/// A property.
#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// The type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `Edm.String` of at most so many characters.
    Text(u32),
    /// `Edm.Int32`.
    Int,
    /// `Edm.Decimal` with two places.
    Decimal,
    /// `Edm.DateTime`, always midnight.
    Date,
    /// `Edm.Time`.
    Time,
}

impl Kind {
    pub(crate) fn edm(self) -> &'static str {
        match self {
            Self::Text(_) => "Edm.String",
            Self::Int => "Edm.Int32",
            Self::Decimal => "Edm.Decimal",
            Self::Date => "Edm.DateTime",
            Self::Time => "Edm.Time",
        }
    }
}

/// The way from one type to another.
#[derive(Debug)]
pub(crate) struct Navigation {
    pub(crate) name: &'static str,
    pub(crate) to: Target,
}

/// Where a navigation leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To one carrier.
    Carrier,
    /// To many flights.
    Flights,
}

impl Target {
    pub(crate) fn entity_type(self) -> &'static EntityType {
        match self {
            Self::Carrier => &CARRIER,
            Self::Flights => &FLIGHT,
        }
    }

    pub(crate) fn many(self) -> bool {
        self == Self::Flights
    }
}

/// The name space of all types.
pub(crate) const NAMESPACE: &str = "RMTSAMPLEFLIGHT";
/// Every type, in the order of the service document.
pub(crate) const TYPES: [&EntityType; 2] = [&CARRIER, &FLIGHT];

const fn property(name: &'static str, kind: Kind) -> Property {
    Property { name, kind }
}

pub(crate) static CARRIER: EntityType = EntityType {
    name: "Carrier",
    set: "CarrierCollection",
    keys: 1,
    properties: &[
        property("carrid", Kind::Text(3)),
        property("CARRNAME", Kind::Text(20)),
        property("CURRCODE", Kind::Text(5)),
        property("URL", Kind::Text(255)),
    ],
    navigation: Navigation { name: "carrierFlights", to: Target::Flights },
};

/// The properties of the flight itself come first, those of its connection behind them.
pub(crate) static FLIGHT: EntityType = EntityType {
    name: "Flight",
    set: "FlightCollection",
    keys: 3,
    properties: &[
        property("carrid", Kind::Text(3)),
        property("connid", Kind::Text(4)),
        property("fldate", Kind::Date),
        property("PRICE", Kind::Decimal),
        property("CURRENCY", Kind::Text(5)),
        property("PLANETYPE", Kind::Text(10)),
        property("SEATSMAX", Kind::Int),
        property("SEATSOCC", Kind::Int),
        property("PAYMENTSUM", Kind::Decimal),
        property("SEATSMAX_B", Kind::Int),
        property("SEATSOCC_B", Kind::Int),
        property("SEATSMAX_F", Kind::Int),
        property("SEATSOCC_F", Kind::Int),
        property("countryFrom", Kind::Text(3)),
        property("cityFrom", Kind::Text(20)),
        property("airportFrom", Kind::Text(3)),
        property("countryTo", Kind::Text(3)),
        property("cityTo", Kind::Text(20)),
        property("airportTo", Kind::Text(3)),
        property("flightTime", Kind::Int),
        property("departureTime", Kind::Time),
        property("arrivalTime", Kind::Time),
        property("distance", Kind::Int),
        property("distanceUnit", Kind::Text(3)),
        property("flightType", Kind::Text(1)),
        property("period", Kind::Int),
    ],
    navigation: Navigation { name: "flightCarrier", to: Target::Carrier },
};

/// The properties of a flight before those of its connection.
pub(crate) const OWN_OF_FLIGHT: usize = 13;

/// The type whose set is called `set`.
pub(crate) fn by_set(set: &str) -> Option<&'static EntityType> {
    TYPES.into_iter().find(|entity| entity.set == set)
}

impl EntityType {
    /// The place of the property `name`.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|property| property.name == name)
    }

    /// `RMTSAMPLEFLIGHT.Flight`.
    pub(crate) fn full_name(&self) -> String {
        format!("{NAMESPACE}.{}", self.name)
    }
}
