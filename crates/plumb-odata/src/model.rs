//! What there is: entity types with their properties, and how they hang together.

/// An entity type and its set.
#[derive(Debug)]
pub struct EntityType {
    /// Its name, without the name space.
    pub name: &'static str,
    /// The name of its set.
    pub set: &'static str,
    /// The first `keys` properties are the key.
    pub keys: usize,
    /// Its properties, in the order of the columns.
    pub properties: &'static [Property],
    /// Where its entities lead.
    pub navigation: Navigation,
}

/// A property.
#[derive(Debug)]
pub struct Property {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
}

/// The type of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// The name of the type in version 2: `Edm.String`.
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
pub struct Navigation {
    /// Its name.
    pub name: &'static str,
    /// Where it leads.
    pub to: Target,
}

/// Where a navigation leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To one carrier.
    Carrier,
    /// To many flights.
    Flights,
}

impl Target {
    /// The type of what is there.
    #[must_use]
    pub fn entity_type(self) -> &'static EntityType {
        match self {
            Self::Carrier => &CARRIER,
            Self::Flights => &FLIGHT,
        }
    }

    /// True when there may be any number.
    #[must_use]
    pub fn many(self) -> bool {
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

/// A carrier.
pub static CARRIER: EntityType = EntityType {
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

/// A flight. The properties of the flight itself come first, those of its connection behind them.
pub static FLIGHT: EntityType = EntityType {
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
pub const OWN_OF_FLIGHT: usize = 13;

/// The type whose set is called `set`.
pub(crate) fn by_set(set: &str) -> Option<&'static EntityType> {
    TYPES.into_iter().find(|entity| entity.set == set)
}

impl EntityType {
    /// The place of the property `name`.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.properties.iter().position(|property| property.name == name)
    }

    /// `RMTSAMPLEFLIGHT.Flight`.
    pub(crate) fn full_name(&self) -> String {
        format!("{NAMESPACE}.{}", self.name)
    }
}
