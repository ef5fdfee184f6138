//! The time of day in the form that somebody wants.

use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// Bytes of a format.
const FORMAT_BYTES_MAX: usize = 256;

/// The time `offset` from `wall_ns` (since 1970) as `format` has it: `iso`, `ms` or `s` since 1970,
/// or what `strftime` takes, in `zone`: `UTC` where it is empty, `local`, or a name such as
/// `Europe/Berlin`.
///
/// # Errors
/// In words.
pub(super) fn written(
    wall_ns: u64,
    format: &str,
    offset: &str,
    zone: &str,
) -> Result<String, &'static str> {
    let zone = match zone {
        "" | "UTC" => TimeZone::UTC,
        "local" => TimeZone::system(),
        name => TimeZone::get(name)
            .map_err(|_| "that zone is not known to this machine, such as Europe/Berlin")?,
    };
    let now = Timestamp::from_nanosecond(i128::from(wall_ns)).map_err(|_| "no such time")?;
    let moment = shifted(&now.to_zoned(zone), offset)?;
    match format {
        "" | "iso" => {
            Ok(moment.strftime("%Y-%m-%dT%H:%M:%S.%3f%:z").to_string().replace("+00:00", "Z"))
        }
        "ms" => Ok(moment.timestamp().as_millisecond().to_string()),
        "s" => Ok(moment.timestamp().as_second().to_string()),
        format if format.len() > FORMAT_BYTES_MAX => Err("the format is longer than 256 bytes"),
        format if !format.contains('%') => {
            Err("a format is iso, ms, s, or holds fields such as %Y-%m-%d")
        }
        format => {
            // a field that is none is an error of the formatter only where it is asked so
            jiff::fmt::strtime::format(format, &moment)
                .map_err(|_| "a field of the format is not known")
        }
    }
}

/// `moment` and `offset` added: `+1d`, `-2h 30m`, `P1M`.
fn shifted(moment: &Zoned, offset: &str) -> Result<Zoned, &'static str> {
    let offset = offset.trim();
    if offset.is_empty() || offset == "0" {
        return Ok(moment.clone());
    }
    let (back, length) = match (offset.strip_prefix('-'), offset.strip_prefix('+')) {
        (Some(rest), _) => (true, rest),
        (_, Some(rest)) => (false, rest),
        (None, None) => (false, offset),
    };
    let span: Span = length.parse().map_err(|_| "an offset is a time such as +1d or -2h 30m")?;
    let span = if back { span.negate() } else { span };
    moment.checked_add(span).map_err(|_| "the time is out of range")
}
