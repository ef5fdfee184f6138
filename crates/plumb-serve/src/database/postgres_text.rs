//! Values of `PostgreSQL` in and out: those that both databases know, and texts.

use std::error::Error;

use bytes::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use super::Value;

type Trouble = Box<dyn Error + Sync + Send>;

/// A value that the server reads as it reads a text in a statement.
#[derive(Debug)]
pub(super) struct Written<'a>(pub(super) Option<&'a str>);

impl ToSql for Written<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Trouble> {
        let Some(text) = self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Trouble> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Self::Int(number) => number.to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT4, Type::INT8, Type::TEXT, Type::VARCHAR, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Trouble> {
        Ok(match *kind {
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::BYTEA => Self::Bytes(raw.to_vec()),
            _ => Self::Text(String::from_sql(kind, raw)?),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Trouble> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        <Self as ToSql>::accepts(kind)
    }
}

/// A value as the server would write it.
#[derive(Debug)]
pub(super) struct Shown(pub(super) Option<String>);

impl<'a> FromSql<'a> for Shown {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Trouble> {
        let text = match *kind {
            Type::BOOL => if bool::from_sql(kind, raw)? { "t" } else { "f" }.to_owned(),
            Type::INT2 => i16::from_sql(kind, raw)?.to_string(),
            Type::INT4 => i32::from_sql(kind, raw)?.to_string(),
            Type::INT8 => i64::from_sql(kind, raw)?.to_string(),
            Type::OID => u32::from_sql(kind, raw)?.to_string(),
            Type::FLOAT4 => float(&f32::from_sql(kind, raw)?.to_string()),
            Type::FLOAT8 => float(&f64::from_sql(kind, raw)?.to_string()),
            Type::NUMERIC => numeric(raw)?,
            Type::DATE => date(i32::from_sql(&Type::INT4, raw)?.into()),
            Type::TIMESTAMP => timestamp(i64::from_sql(&Type::INT8, raw)?),
            Type::TIMESTAMPTZ => timestamp(i64::from_sql(&Type::INT8, raw)?) + "+00",
            Type::UUID => uuid(raw),
            Type::BYTEA => format!("\\x{}", hexadecimal(raw)),
            Type::JSONB => String::from_utf8(raw.get(1..).unwrap_or_default().to_vec())?,
            _ => String::from_utf8(raw.to_vec())?,
        };
        Ok(Self(Some(text)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Trouble> {
        Ok(Self(None))
    }

    fn accepts(kind: &Type) -> bool {
        const KNOWN: [Type; 20] = [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::OID,
            Type::FLOAT4,
            Type::FLOAT8,
            Type::NUMERIC,
            Type::DATE,
            Type::TIMESTAMP,
            Type::TIMESTAMPTZ,
            Type::UUID,
            Type::BYTEA,
            Type::JSONB,
            Type::JSON,
            Type::XML,
            Type::TEXT,
            Type::VARCHAR,
            Type::BPCHAR,
            Type::NAME,
        ];
        KNOWN.contains(kind) || matches!(kind.kind(), Kind::Enum(_)) || *kind == Type::UNKNOWN
    }
}

/// A floating-point number; one that is very large or small is written without an exponent.
fn float(text: &str) -> String {
    text.replace("inf", "Infinity")
}

/// A `numeric`: how many digits of base 10,000, the weight of the first, sign, decimals, digits.
///
/// # Source
/// `numeric_send` in `src/backend/utils/adt/numeric.c` of PostgreSQL.
fn numeric(raw: &[u8]) -> Result<String, Trouble> {
    let mut words = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let mut word = || words.next().ok_or("a number is cut off");
    let (count, weight, sign, decimals) = (word()?, word()?, word()?, word()?);
    let sign = match u16::from_be_bytes(sign.to_be_bytes()) {
        0x0000 => "",
        0x4000 => "-",
        0xC000 => return Ok("NaN".into()),
        0xD000 => return Ok("Infinity".into()),
        0xF000 => return Ok("-Infinity".into()),
        _ => return Err("a number of an unknown sign".into()),
    };
    let digits = (0..count).map(|_| word()).collect::<Result<Vec<_>, _>>()?;
    let digit = |place: i32| {
        // place 0 stands before the point
        let at = i32::from(weight) - place;
        usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0)
    };
    let mut text = String::new();
    for place in (0..=i32::from(weight).max(0)).rev() {
        text += &format!("{:04}", digit(place));
    }
    let mut text = match text.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits => digits.to_owned(),
    };
    let decimals = usize::try_from(decimals).unwrap_or(0);
    if decimals > 0 {
        let groups = i32::try_from(decimals.div_ceil(4)).unwrap_or(0);
        let fraction: String = (1..=groups).map(|at| format!("{:04}", digit(-at))).collect();
        text = format!("{text}.{}", fraction.get(..decimals).unwrap_or(&fraction));
    }
    Ok(format!("{sign}{text}"))
}

/// A day, counted from 2000-01-01, in the proleptic Gregorian calendar.
///
/// # Source
/// `civil_from_days` of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn date(days: i64) -> String {
    match days {
        _ if days == i64::from(i32::MAX) => return "infinity".into(),
        _ if days == i64::from(i32::MIN) => return "-infinity".into(),
        _ => {}
    }
    // from 0000-03-01, so that the leap day ends its year
    let days = days + 730_425;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Microseconds from 2000-01-01 00:00.
fn timestamp(us: i64) -> String {
    const DAY_US: i64 = 86_400_000_000;
    match us {
        i64::MAX => return "infinity".into(),
        i64::MIN => return "-infinity".into(),
        _ => {}
    }
    let (day, rest) = (date(us.div_euclid(DAY_US)), us.rem_euclid(DAY_US));
    let (seconds, fraction) = (rest / 1_000_000, rest % 1_000_000);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if fraction == 0 {
        return format!("{day} {time}");
    }
    let fraction = format!("{fraction:06}");
    format!("{day} {time}.{}", fraction.trim_end_matches('0'))
}

fn uuid(raw: &[u8]) -> String {
    let digits = hexadecimal(raw);
    let part = |from, to| digits.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    parts.join("-")
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numbers_are_written_as_the_server_writes_them() {
        for (raw, expected) in [
            (&[0, 0, 0, 0][..], "0"),
            (&[1, 0, 0, 0, 250], "250"),
            (&[2, 1, 0, 0, 12, 3], "120003"),
            (&[1, 1, 0, 0, 5], "50000"),
            (&[1, 0xFFFF, 0, 1, 5000], "0.5"),
            (&[2, 0, 0x4000, 2, 17, 500], "-17.05"),
            (&[1, 0xFFFE, 0, 8, 1], "0.00000001"),
            (&[0, 0, 0, 2], "0.00"),
            (&[0, 0, 0xC000, 0], "NaN"),
        ] {
            assert_eq!(numeric(&words(raw)).unwrap(), expected, "{raw:?}");
        }
        assert!(numeric(&words(&[3, 0, 0, 0, 1])).is_err());
        assert!(numeric(&[]).is_err());
    }

    #[test]
    fn days_and_times_are_written_as_the_server_writes_them() {
        for (days, expected) in [
            (0, "2000-01-01"),
            (59, "2000-02-29"),
            (60, "2000-03-01"),
            (-1, "1999-12-31"),
            (9_466, "2025-12-01"),
            (-10_957, "1970-01-01"),
            (36_583, "2100-02-28"),
            (36_584, "2100-03-01"),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
        assert_eq!(timestamp(0), "2000-01-01 00:00:00");
        assert_eq!(timestamp(-1), "1999-12-31 23:59:59.999999");
        assert_eq!(timestamp(3_723_500_000), "2000-01-01 01:02:03.5");
        assert_eq!(uuid(&[0xAB; 16]), "abababab-abab-abab-abab-abababababab");
    }
}
