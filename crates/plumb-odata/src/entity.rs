//! Entities: rows with their types, and what was asked to come with them.

use std::borrow::Cow;

use plumb_serve::database::{Row, Value};
use plumb_wire::percent::encoded;

use crate::model::{EntityType, Kind};
use crate::version::Version;

/// One entity.
#[derive(Clone, Debug)]
pub struct Entity {
    /// Its type.
    pub kind: &'static EntityType,
    row: Row,
    /// What its navigation leads to, when that was asked for.
    pub expanded: Option<Vec<Entity>>,
}

impl Entity {
    /// The entity of type `kind` that `row` holds, with nothing expanded.
    #[must_use]
    pub fn new(kind: &'static EntityType, row: Row) -> Self {
        Self { kind, row, expanded: None }
    }

    /// The value at `place` as the database has it.
    #[must_use]
    pub fn value(&self, place: usize) -> &Value {
        self.row.0.get(place).unwrap_or(&Value::Null)
    }

    /// The text at `place`.
    #[must_use]
    pub fn text(&self, place: usize) -> &str {
        self.row.text(place)
    }

    /// The number at `place`.
    #[must_use]
    pub fn int(&self, place: usize) -> i64 {
        self.row.int(place)
    }

    /// The value at `place` as XML has it.
    #[must_use]
    pub fn lexical(&self, place: usize) -> Cow<'_, str> {
        match self.kind.properties[place].kind {
            Kind::Text(_) => self.text(place).into(),
            Kind::Int => self.int(place).to_string().into(),
            Kind::Decimal => decimal(self.int(place)).into(),
            Kind::Date => format!("{}T00:00:00", self.text(place)).into(),
            Kind::Time => duration(self.text(place)).into(),
        }
    }

    /// Set and key, as they stand in a URL behind the root of the service.
    #[must_use]
    pub fn path(&self, version: Version) -> String {
        let keys: Vec<String> = (0..self.kind.keys)
            .map(|place| {
                let property = &self.kind.properties[place];
                let value = self.text(place).replace('\'', "''");
                let value = encoded(&value);
                let literal = match property.kind {
                    Kind::Date if version == Version::Four => value.to_string(),
                    Kind::Date => format!("datetime'{value}T00%3A00%3A00'"),
                    _ => format!("'{value}'"),
                };
                if self.kind.keys == 1 { literal } else { format!("{}={literal}", property.name) }
            })
            .collect();
        format!("{}({})", self.kind.set, keys.join(","))
    }
}

/// Hundredths as a number with two places.
#[must_use]
pub fn decimal(hundredths: i64) -> String {
    let (sign, size) = (if hundredths < 0 { "-" } else { "" }, hundredths.unsigned_abs());
    format!("{sign}{}.{:02}", size / 100, size % 100)
}

/// `11:00:00` as `PT11H00M00S`.
pub(crate) fn duration(time: &str) -> String {
    let mut parts = time.split(':');
    let mut part = || parts.next().unwrap_or("00");
    format!("PT{}H{}M{}S", part(), part(), part())
}

/// Milliseconds since 1970 of midnight of a `YYYY-MM-DD`; 0 when that is none.
pub(crate) fn epoch_ms(date: &str) -> i64 {
    let date: Option<jiff::civil::Date> = date.parse().ok();
    let midnight = date.and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC).ok());
    midnight.map_or(0, |midnight| midnight.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_forms_of_the_protocol() {
        assert_eq!(decimal(42_294), "422.94");
        assert_eq!(decimal(-5), "-0.05");
        assert_eq!(duration("11:05:00"), "PT11H05M00S");
        assert_eq!(epoch_ms("2011-06-01"), 1_306_886_400_000);
    }
}
