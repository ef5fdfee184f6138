//! Moments as records write them: RFC 3339 in UTC.

/// Nanoseconds since 1970-01-01T00:00:00Z of `2026-11-21T16:21:34.250Z`, with or without a
/// fraction; `None` for what is no such moment, or lies before 1970.
#[must_use]
pub fn wall_ns(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut clock = clock.split(':').map(str::parse::<u64>);
    let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    let sound = (1..=9_999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second < 61
        && date.next().is_none()
        && clock.next().is_none();
    if !sound {
        return None;
    }
    let seconds = u64::try_from(days_since_1970(year, month, day)).ok()? * 86_400
        + hour * 3_600
        + minute * 60
        + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds(fraction)?)
}

/// Days from 1970-01-01 to a day of the calendar; below zero before it.
///
/// # Source
/// H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year }; // a year begins with March
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Up to nine decimals of a second.
fn nanoseconds(fraction: &str) -> Option<u64> {
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    format!("{fraction:0<9}").get(..9)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moment_is_read_with_and_without_its_fraction() {
        assert_eq!(wall_ns("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(wall_ns("2026-11-21T16:21:34Z"), Some(1_795_278_094_000_000_000));
        assert_eq!(wall_ns("2026-11-21T16:21:34.250Z"), Some(1_795_278_094_250_000_000));
        assert_eq!(wall_ns("2000-02-29T00:00:00.000000001Z"), Some(951_782_400_000_000_001));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in ["", "2026-11-21", "2026-11-21T16:21Z", "2026-13-21T16:21:34Z", "now"] {
            assert_eq!(wall_ns(text), None, "{text}");
        }
        assert_eq!(wall_ns("1969-12-31T23:59:59Z"), None);
        assert_eq!(wall_ns("2026-11-21T16:21:34.-5Z"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[0-9TZ:.-]{0,30}") {
            let _ = wall_ns(&text);
        }
    }
}
