//! Values of entities that clients write, in JSON.
//!
//! # Source
//! OData Version 2.0, JSON Format, 4 (primitive types); OData JSON Format Version 4.0, 4.5 (annotations) and
//! 7.1 (primitive values).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use plumb_serve::database::Value;
use serde_json::{Map, Value as Json};

use crate::key;
use crate::model::{EntityType, Kind, Property};
use crate::refusal::Refusal;
use crate::version::Version;

/// What `body` says of the properties of a type, in their order; `None` where it says nothing.
///
/// # Errors
/// [`Refusal`] names the property that cannot be understood.
pub fn parse(
    version: Version,
    kind: &EntityType,
    body: &[u8],
) -> Result<Vec<Option<Value>>, Refusal> {
    let json: Json = serde_json::from_slice(body)
        .map_err(|error| Refusal::bad_request(format!("the entity is no JSON: {error}")))?;
    let Json::Object(mut members) = json else {
        return Err(Refusal::bad_request("an entity is a JSON object"));
    };
    match version {
        Version::Two => {
            if let Some(Json::Object(inner)) = members.remove("d") {
                members = inner;
            }
            members.remove("__metadata");
        }
        Version::Four => annotations(&mut members)?,
    }
    navigation(kind, &mut members)?;
    let mut found = Vec::new();
    for property in kind.properties {
        let said = members.remove(property.name).filter(|said| !said.is_null());
        found.push(said.map(|said| value(version, property, &said)).transpose()?);
    }
    match members.keys().next() {
        None => Ok(found),
        Some(name) => Err(Refusal::bad_request(format!("{} has no property `{name}`", kind.name))),
    }
}

/// Takes away what is said about properties and not of them.
fn annotations(members: &mut Map<String, Json>) -> Result<(), Refusal> {
    if let Some(bound) = members.keys().find(|name| name.ends_with("@odata.bind")) {
        return Err(Refusal::bad_request(format!(
            "`{bound}` is not known: a flight is of the carrier that its key names"
        )));
    }
    members.retain(|name, _| !name.contains('@'));
    Ok(())
}

/// Where a navigation leads is told with what was read; what is behind it is not written with it.
fn navigation(kind: &EntityType, members: &mut Map<String, Json>) -> Result<(), Refusal> {
    let name = kind.navigation.name;
    match members.remove(name) {
        None | Some(Json::Null) => Ok(()),
        Some(Json::Object(led)) if led.contains_key("__deferred") => Ok(()),
        Some(_) => Err(Refusal::bad_request(format!(
            "`{name}` within an entity is not written: make a change of its own of it, which refers to \
             this one by its Content-ID"
        ))),
    }
}

/// What is put where a replacing client says nothing.
#[must_use]
pub fn nothing(property: &Property) -> Value {
    match property.kind {
        Kind::Text(_) => Value::Text(String::new()),
        Kind::Int | Kind::Decimal => Value::Int(0),
        Kind::Date => Value::Text("1970-01-01".into()),
        Kind::Time => Value::Text("00:00:00".into()),
    }
}

/// A value in the form of the database.
fn value(version: Version, property: &Property, said: &Json) -> Result<Value, Refusal> {
    let read = match (property.kind, said) {
        (Kind::Text(most), Json::String(text)) => {
            let fits = text.chars().count() <= usize::try_from(most).unwrap_or(0);
            fits.then(|| Value::Text(text.clone()))
        }
        (Kind::Int, Json::Number(number)) => {
            number.as_i64().filter(|it| i32::try_from(*it).is_ok()).map(Value::Int)
        }
        (Kind::Decimal, Json::String(text)) => hundredths(text).map(Value::Int),
        (Kind::Decimal, Json::Number(number)) => hundredths(&number.to_string()).map(Value::Int),
        (Kind::Date, Json::String(text)) => match version {
            Version::Two => day(text),
            Version::Four => plain_day(text),
        }
        .map(Value::Text),
        (Kind::Time, Json::String(text)) => match version {
            Version::Two => time(text),
            Version::Four => time_of_day(text),
        }
        .map(Value::Text),
        _ => None,
    };
    read.ok_or_else(|| {
        let expected = match property.kind {
            Kind::Text(most) => format!("a text of at most {most} characters"),
            Kind::Int => "a whole number of 32 bits".into(),
            Kind::Decimal => "a number with at most two places, such as \"422.94\"".into(),
            Kind::Date if version == Version::Four => "a day, such as \"2011-06-01\"".into(),
            Kind::Time if version == Version::Four => "a time, such as \"11:05:00\"".into(),
            Kind::Date => {
                "a day, such as \"/Date(1306886400000)/\" or \"2011-06-01T00:00:00\"".into()
            }
            Kind::Time => "a time of the day, such as \"PT11H05M00S\"".into(),
        };
        Refusal::bad_request(format!("`{}` is {expected}", property.name))
    })
}

/// A number with at most two places, in hundredths.
fn hundredths(text: &str) -> Option<i64> {
    let (whole, places) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (sign, size) = whole.strip_prefix('-').map_or((1, whole), |size| (-1, size));
    let is_number = !size.is_empty() && size.len() <= 15 && digits(size) && digits(places);
    if !is_number || places.len() > 2 {
        return None;
    }
    let whole: i64 = size.parse().ok()?;
    let places: i64 = format!("{places:0<2}").parse().ok()?;
    Some(sign * (whole * 100 + places))
}

/// A day, of milliseconds since 1970 or as text: `YYYY-MM-DD`.
fn day(text: &str) -> Option<String> {
    if let Some(inner) = text.strip_prefix("/Date(").and_then(|it| it.strip_suffix(")/")) {
        // an offset, in minutes, tells where the client is; the day is that of UTC
        let end = inner.char_indices().skip(1).find(|(_, it)| !it.is_ascii_digit());
        let ms: i64 = inner[..end.map_or(inner.len(), |(at, _)| at)].parse().ok()?;
        let moment = Timestamp::from_millisecond(ms).ok()?.to_zoned(TimeZone::UTC);
        return Some(moment.date().to_string());
    }
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let is_midnight = time.bytes().all(|byte| b"0:.Z".contains(&byte));
    is_midnight.then(|| plain_day(date)).flatten()
}

/// A day as text: `YYYY-MM-DD`.
fn plain_day(text: &str) -> Option<String> {
    (text.len() == 10).then(|| key::date(text)).flatten()
}

/// A time of the day, `11:05`, `11:05:00` or with parts of a second, which are nothing, as `HH:MM:SS`.
fn time_of_day(text: &str) -> Option<String> {
    let (whole, parts) = text.split_once('.').unwrap_or((text, ""));
    let mut fields = whole.split(':');
    let mut field = |below: u32| {
        let field = fields.next()?;
        let is_number = field.len() == 2 && field.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| field.parse().ok()).flatten().filter(|number: &u32| *number < below)
    };
    let (hours, minutes) = (field(24)?, field(60)?);
    let seconds = if whole.len() == 5 { 0 } else { field(60)? };
    let is_all = fields.next().is_none() && parts.bytes().all(|byte| byte == b'0');
    is_all.then(|| format!("{hours:02}:{minutes:02}:{seconds:02}"))
}

/// A time of the day, `PT11H05M00S`, as `HH:MM:SS`.
fn time(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix("PT")?;
    let mut part = |mark: char, below: u32| {
        let Some((number, behind)) = rest.split_once(mark) else { return Some(0) };
        rest = behind;
        number.parse().ok().filter(|number: &u32| number.to_string().len() <= 2 && *number < below)
    };
    let (hours, minutes, seconds) = (part('H', 24)?, part('M', 60)?, part('S', 60)?);
    rest.is_empty().then(|| format!("{hours:02}:{minutes:02}:{seconds:02}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{CARRIER, FLIGHT};

    fn of(kind: &EntityType, body: &str) -> Result<Vec<Option<Value>>, String> {
        parse(Version::Two, kind, body.as_bytes()).map_err(|refusal| refusal.message)
    }

    #[test]
    fn version_4_has_forms_of_its_own() {
        let of = |body: &str| {
            parse(Version::Four, &FLIGHT, body.as_bytes()).map_err(|refusal| refusal.message)
        };
        let found = of(r##"{"@odata.context":"$metadata#F","fldate":"2011-06-01","PRICE":422.9,
            "departureTime":"07:30:00.000","PRICE@odata.type":"#Decimal"}"##)
        .unwrap();
        assert_eq!((&found[2], &found[3]), (&Some("2011-06-01".into()), &Some(Value::Int(42_290))));
        assert!(found.contains(&Some("07:30:00".into())), "{found:?}");
        for (body, expected) in [
            (r#"{"fldate":"\/Date(0)\/"}"#, "2011-06-01"),
            (r#"{"departureTime":"PT7H"}"#, "11:05:00"),
            (r#"{"departureTime":"07:30:00.5"}"#, "11:05:00"),
            (r#"{"d":{}}"#, "no property `d`"),
            (r#"{"flightCarrier@odata.bind":"CarrierCollection('LH')"}"#, "is not known"),
        ] {
            assert!(of(body).unwrap_err().contains(expected), "{body}");
        }
        assert_eq!(time_of_day("11:05").as_deref(), Some("11:05:00"));
        for wrong in ["", "1:05", "24:00", "11:60", "11:05:", "11:05:00:00", "+1:00"] {
            assert_eq!(time_of_day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn properties_are_read_in_the_forms_of_the_protocol() {
        let body = r#"{"d":{"__metadata":{"uri":"x"},"carrid":"ZZ","fldate":"/Date(1306886400000)/",
            "PRICE":"422.9","SEATSMAX":385,"cityFrom":"New York","flightCarrier":{"__deferred":{}}}}"#;
        let found = of(&FLIGHT, body).unwrap();
        assert_eq!(found.len(), FLIGHT.properties.len());
        assert_eq!(found[0], Some("ZZ".into()));
        assert_eq!(found[1], None);
        assert_eq!(found[2], Some("2011-06-01".into()));
        assert_eq!(
            (found[3].clone(), found[6].clone()),
            (Some(Value::Int(42_290)), Some(Value::Int(385)))
        );
        for day in ["2011-06-01T00:00:00", "2011-06-01", "/Date(1306886400000+0120)/"] {
            let found = of(&FLIGHT, &format!("{{\"fldate\":\"{day}\"}}")).unwrap();
            assert_eq!(found[2], Some("2011-06-01".into()), "{day}");
        }
        assert_eq!(time("PT11H05M00S").as_deref(), Some("11:05:00"));
        assert_eq!(
            (time("PT5M").as_deref(), time("PT25H"), time("P1D")),
            (Some("00:05:00"), None, None)
        );
        assert_eq!(hundredths("-0.05"), Some(-5));
        assert_eq!(hundredths("7"), Some(700));
        assert_eq!(of(&CARRIER, r#"{"URL":null}"#).unwrap(), vec![None; 4]);
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        for (body, expected) in [
            ("[]", "JSON object"),
            ("{", "no JSON"),
            (r#"{"carrid":"LONG"}"#, "`carrid` is a text of at most 3"),
            (r#"{"CARRNAME":5}"#, "`CARRNAME` is a text"),
            (r#"{"nothing":5}"#, "no property `nothing`"),
            (r#"{"carrierFlights":[]}"#, "Content-ID"),
        ] {
            assert!(of(&CARRIER, body).unwrap_err().contains(expected), "{body}");
        }
        for (body, expected) in [
            (r#"{"PRICE":"1.234"}"#, "two places"),
            (r#"{"SEATSMAX":5000000000}"#, "32 bits"),
            (r#"{"fldate":"2011-06-01T10:00:00"}"#, "a day"),
            (r#"{"fldate":"/Date(x)/"}"#, "a day"),
        ] {
            assert!(of(&FLIGHT, body).unwrap_err().contains(expected), "{body}");
        }
    }

    proptest! {
        #[test]
        fn no_value_brings_it_down(text in "\\PC{0,30}") {
            let _ = (hundredths(&text), day(&text), day(&format!("/Date({text})/")), time(&format!("PT{text}")));
            let _ = (time_of_day(&text), parse(Version::Four, &FLIGHT, text.as_bytes()));
            let _ = of(&FLIGHT, &text);
        }
    }
}
