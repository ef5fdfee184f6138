//! The dates of cookies, as servers write them.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The seconds since 1970 (UTC) of the value of `Expires`; `None` when it is no date. The parts
/// may stand in any order and have anything between them, as in `Sun, 06-Nov-94 08:49:37 GMT`.
///
/// # Source
/// RFC 6265, section 5.1.1.
#[must_use]
pub fn cookie_date(text: &str) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(is_delimiter).filter(|token| !token.is_empty()) {
        if time.is_none() && token.contains(':') {
            time = time_s(token);
        } else if day.is_none() && (1..=2).contains(&digits(token)) {
            day = number(token);
        } else if month.is_none() && month_of(token).is_some() {
            month = month_of(token);
        } else if year.is_none() && (2..=4).contains(&digits(token)) {
            year = number(token);
        }
    }
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    let (day, month) = (day?, month?);
    if year < 1601 || day < 1 || day > days_of(month, year) {
        return None;
    }
    Some((days_before(year, month) + day - 1) * 86_400 + time?)
}

fn is_delimiter(char: char) -> bool {
    matches!(char, '\t' | ' '..='/' | ';'..='@' | '['..='`' | '{'..='~')
}

/// Digits at the beginning.
fn digits(token: &str) -> usize {
    token.bytes().take_while(u8::is_ascii_digit).count()
}

fn number(token: &str) -> Option<i64> {
    token[..digits(token)].parse().ok()
}

/// Seconds of the day.
fn time_s(token: &str) -> Option<i64> {
    let mut parts = token.splitn(3, ':').map(|part| {
        let number = number(part).filter(|_| digits(part) <= 2);
        // only the last part may have something behind its digits
        number.map(|number| (number, digits(part) == part.len()))
    });
    let ((hour, true), (minute, true), (second, _)) =
        (parts.next()??, parts.next()??, parts.next()??)
    else {
        return None;
    };
    (hour < 24 && minute < 60 && second < 60).then_some(hour * 3_600 + minute * 60 + second)
}

/// The month, from 0.
fn month_of(token: &str) -> Option<usize> {
    let name = token.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|month| *month == name)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(month: usize, year: i64) -> i64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Days from the first of January 1970 to the first of `month` (from 0) of `year`.
fn days_before(year: i64, month: usize) -> i64 {
    let leap_days = |year: i64| (year / 4) - (year / 100) + (year / 400);
    let years = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969);
    years + (0..month).map(|month| days_of(month, year)).sum::<i64>()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_are_read_in_every_form() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "1994 november 6th 8:49:37x",
        ] {
            assert_eq!(cookie_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(cookie_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(cookie_date("29 Feb 2000 00:00:00"), Some(951_782_400));
        assert_eq!(cookie_date("Sat, 21 Nov 2026 03:04:07 GMT"), Some(1_795_230_247));
        assert_eq!(cookie_date("1 Jan 69 0:0:0"), Some(3_124_224_000));
        assert_eq!(cookie_date("31 Dec 1969 23:59:59"), Some(-1));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "0",
            "-1",
            "tomorrow",
            "06 Nov 1994",
            "06 Nov 08:49:37",
            "30 Feb 2000 00:00:00",
            "29 Feb 1900 00:00:00",
            "0 Jan 2000 00:00:00",
            "1 Jan 1600 00:00:00",
            "1 Jan 2000 24:00:00",
            "1 Jan 2000 1:2",
            "1 Jan 2000 1x:2:3",
            "1 Jan 12345 00:00:00",
        ] {
            assert_eq!(cookie_date(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|[0-9]{1,6}|:| |jan|-){0,20}") {
            let _ = cookie_date(&text);
        }

        #[test]
        fn each_day_follows_the_one_before(year in 1601i64..9999, month in 0usize..12, day in 1i64..29) {
            let date = |day| cookie_date(&format!("{day} {} {year:04} 0:0:0", MONTHS[month]));
            let first = days_before(year, month) * 86_400;
            prop_assert_eq!(date(day), Some(first + (day - 1) * 86_400));
            let next = if month == 11 { days_before(year + 1, 0) } else { days_before(year, month + 1) };
            prop_assert_eq!(next - days_before(year, month), days_of(month, year));
        }
    }
}
