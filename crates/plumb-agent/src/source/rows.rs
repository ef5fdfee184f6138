//! Lines of a file, and the changes that they say.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::TagName;
use crate::change::{Change, Position, Quality, TagValue, carried};

/// Fields of a line, at most.
const FIELDS_MAX: usize = 10_000;

/// What the columns of a CSV file mean, by the names in its first line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// When; without it a change has the time at which it is read.
    pub time: Option<String>,
    /// The name of the tag; without it each other column is a tag.
    pub tag: Option<String>,
    /// Its value, beside `tag`.
    pub value: Option<String>,
    /// Between two fields.
    pub delimiter: u8,
}

/// How lines of a file are read.
#[derive(Clone, Debug)]
pub(super) enum Lines {
    /// Each is a value of one tag.
    Values(TagName),
    /// Fields, so many of them, whose places are known.
    Fields { delimiter: u8, count: usize, time: Option<usize>, rest: Rest },
}

/// What the fields beside the time are.
#[derive(Clone, Debug)]
pub(super) enum Rest {
    /// The name of a tag, and its value.
    Long { tag: usize, value: usize },
    /// Values of tags.
    Wide(Vec<(usize, TagName)>),
}

impl Lines {
    /// Learns from the first line of a CSV file where its columns are. Empty names at its end do not
    /// count, and a column without a name is no tag; a line without any name is no first line.
    pub(super) fn of_header(header: &str, columns: &Columns) -> Result<Self, String> {
        carried(header)?;
        let names = fields(header.trim_start_matches('\u{feff}'), columns.delimiter)?;
        let place = |wanted: &String| {
            names.iter().position(|name| name.trim() == wanted).ok_or_else(|| {
                let there = names.join("`, `");
                format!("there is no column `{wanted}`: the first line names `{there}`")
            })
        };
        let time = columns.time.as_ref().map(place).transpose()?;
        let named = |name: &str| !name.trim().is_empty();
        let last = names.iter().rposition(|name| named(name));
        let last = last.ok_or("it names no column: the first line names columns")?;
        let mut used = vec![Some(last), time];
        let rest = match (&columns.tag, &columns.value) {
            (Some(tag), Some(value)) => {
                let (tag, value) = (place(tag)?, place(value)?);
                used.extend([Some(tag), Some(value)]);
                Rest::Long { tag, value }
            }
            _ => {
                let tags = names.iter().enumerate();
                let tags = tags.filter(|(at, name)| Some(*at) != time && named(name));
                Rest::Wide(tags.map(|(at, name)| (at, name.trim().into())).collect())
            }
        };
        let count = used.into_iter().flatten().max().map_or(0, |last| last + 1);
        Ok(Self::Fields { delimiter: columns.delimiter, count, time, rest })
    }

    /// The changes of a line; `now_ms` is the time of those without one. A field of a wide file that
    /// is empty is no change. A line of more or fewer fields than the first one is none: which of them
    /// stand where they belong nobody knows.
    pub(super) fn changes(&self, line: &str, now_ms: u64) -> Result<Vec<Change>, String> {
        let change = |tag: TagName, text: &str, time_ms| Change {
            tag,
            value: TagValue::read(text),
            time_ms,
            quality: Quality::Good,
            after: Position::default(),
        };
        carried(line)?;
        let (delimiter, count, time, rest) = match self {
            Self::Values(tag) => return Ok(vec![change(tag.clone(), line, now_ms)]),
            Self::Fields { delimiter, count, time, rest } => (*delimiter, *count, *time, rest),
        };
        let fields = fields(line, delimiter)?;
        // a delimiter at the end of the line is no value
        let more = fields.get(count..).unwrap_or_default();
        if fields.len() < count || more.iter().any(|field| !field.trim().is_empty()) {
            return Err(format!(
                "it has {}, and the first line {count}: a text with `{}` in it stands in quotes",
                plumb_measure::counted(fields.len() as u64, "field"),
                char::from(delimiter)
            ));
        }
        let field = |at: usize| fields.get(at).map_or("", String::as_str);
        let time_ms = match time {
            Some(at) => time_ms(field(at))?,
            None => now_ms,
        };
        match rest {
            Rest::Long { tag, value } => {
                let (tag, value) = (field(*tag).trim(), field(*value));
                if tag.is_empty() {
                    return Err("it names no tag".into());
                }
                Ok(vec![change(tag.into(), value, time_ms)])
            }
            Rest::Wide(tags) => {
                let mut changes = Vec::with_capacity(tags.len());
                for (at, tag) in tags {
                    let text = field(*at);
                    if !text.trim().is_empty() {
                        changes.push(change(tag.clone(), text, time_ms));
                    }
                }
                Ok(changes)
            }
        }
    }
}

/// The fields of one line; a text in quotes ends in its line.
fn fields(line: &str, delimiter: u8) -> Result<Vec<String>, String> {
    let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    let mut out = vec![0; line.len() + 2];
    let mut ends = vec![0; line.len() + 2];
    // a text in quotes goes on behind the end of the line, and ends with the input
    let parts: [&[u8]; 3] = [line.as_bytes(), b"\n", b""];
    let (mut part, mut read, mut written, mut found) = (0, 0, 0, 0);
    let result = loop {
        let input = &parts[part][read..];
        let step = reader.read_record(input, &mut out[written..], &mut ends[found..]);
        let (result, taken, put, more) = step;
        (read, written, found) = (read + taken, written + put, found + more);
        if result != csv_core::ReadRecordResult::InputEmpty || part == 2 {
            break result;
        }
        (part, read) = (part + 1, 0);
    };
    match result {
        csv_core::ReadRecordResult::Record if part == 2 => {
            return Err("a text in quotes does not end in its line".into());
        }
        csv_core::ReadRecordResult::Record if part == 0 && read < line.len() => {
            return Err("it goes on behind a carriage return".into());
        }
        csv_core::ReadRecordResult::OutputFull | csv_core::ReadRecordResult::OutputEndsFull => {
            return Err("its fields are not those of one line".into());
        }
        _ => {}
    }
    if found > FIELDS_MAX {
        return Err(format!("it has more than {FIELDS_MAX} fields"));
    }
    let mut from = 0;
    let texts = ends[..found].iter().map(|end| {
        let text = out.get(from..*end).unwrap_or_default();
        from = *end;
        String::from_utf8_lossy(text).into_owned()
    });
    Ok(texts.collect())
}

/// Milliseconds since 1970 of a time stamp: RFC 3339; without an offset UTC; a number counts
/// seconds, above 10^11 milliseconds.
fn time_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let expected = || {
        format!(
            "`{text}` is no time: write 2025-04-03T10:00:00Z, 2025-04-03 10:00:00 (UTC), or \
             seconds since 1970"
        )
    };
    let ms = if let Ok(number) = text.parse::<f64>() {
        let ms = if number < 1e11 { number * 1_000.0 } else { number };
        if !(0.0..1e15).contains(&ms) {
            return Err(expected());
        }
        #[expect(clippy::cast_possible_truncation, reason = "checked above")]
        let ms = ms.round() as i64;
        ms
    } else if let Ok(time) = text.parse::<Timestamp>() {
        time.as_millisecond()
    } else {
        let time = text.parse::<DateTime>().map_err(|_| expected())?;
        let time = time.to_zoned(TimeZone::UTC).map_err(|_| expected())?;
        time.timestamp().as_millisecond()
    };
    u64::try_from(ms).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns(time: Option<&str>, tag: Option<&str>, value: Option<&str>) -> Columns {
        let own = |it: Option<&str>| it.map(str::to_owned);
        Columns { time: own(time), tag: own(tag), value: own(value), delimiter: b';' }
    }

    fn told(lines: &Lines, line: &str) -> Vec<String> {
        let changes = lines.changes(line, 5).unwrap();
        changes.iter().map(|it| format!("{} {}={}", it.time_ms, it.tag, it.value)).collect()
    }

    #[test]
    fn long_and_wide_files_are_read_by_their_first_line() {
        let long = columns(Some("at"), Some("name"), Some("value"));
        let long = Lines::of_header("at;name;value;unit", &long).unwrap();
        assert_eq!(told(&long, "1.5;\"a;b\";21.50;C"), ["1500 a;b=21.5"]);
        let wide = Lines::of_header("\u{feff}at;a;b", &columns(Some("at"), None, None)).unwrap();
        assert_eq!(told(&wide, "1970-01-01T00:00:02Z;1;"), ["2000 a=1"]);
        assert_eq!(told(&wide, "1970-01-01 00:00:02.5;1;on"), ["2500 a=1", "2500 b=on"]);
        // an empty name at the end, which lines may leave out, and one between
        let long = columns(Some("at"), Some("name"), Some("value"));
        let long = Lines::of_header("at;name;value; ;", &long).unwrap();
        assert_eq!(told(&long, "1;a;5"), ["1000 a=5"]);
        assert_eq!(told(&long, "1;a;5;;"), ["1000 a=5"]);
        let wide = Lines::of_header("at;a;;b;", &columns(Some("at"), None, None)).unwrap();
        assert_eq!(told(&wide, "1;2;3;4;"), ["1000 a=2", "1000 b=4"]);
        let last = Lines::of_header("a;", &columns(Some(""), None, None)).unwrap();
        assert_eq!(told(&last, "2;1"), ["1000 a=2"]);
        assert_eq!(told(&Lines::Values("log".into()), "any; line"), ["5 log=any; line"]);
    }

    #[test]
    fn what_a_line_lacks_is_told() {
        let missing = Lines::of_header("at;a", &columns(Some("time"), None, None)).unwrap_err();
        assert!(missing.contains("no column `time`") && missing.contains("`at`, `a`"), "{missing}");
        let unknown = Lines::of_header("at;a\u{1b}", &columns(Some("at"), None, None)).unwrap_err();
        assert!(unknown.contains("U+001B"), "{unknown}");
        for header in ["", " ", ";;", "\u{feff}"] {
            let nothing = Lines::of_header(header, &columns(None, None, None)).unwrap_err();
            assert!(nothing.contains("names no column"), "{nothing}");
        }
        let wide = Lines::of_header("at;a", &columns(Some("at"), None, None)).unwrap();
        for (line, expected) in [
            ("yesterday;1", "`yesterday` is no time"),
            ("-5;1", "is no time"),
            ("1", "it has 1 field, and the first line 2"),
            ("1;1;5", "it has 3 fields, and the first line 2: a text with `;`"),
            ("1;\u{1b}[1m", "U+001B"),
            ("1;a\0", "U+0000"),
            ("1;\"open", "does not end in its line"),
            ("1;\"a \"\"word\"\"", "does not end in its line"),
            ("\"1;2", "does not end in its line"),
            ("1;2\r3;4", "behind a carriage return"),
        ] {
            let problem = wide.changes(line, 0).map(|_| ());
            let problem = problem.err().unwrap_or_default();
            assert!(problem.contains(expected), "{line}: {problem}");
        }
        for (line, expected) in [
            ("1;\"a\"", "1000 a=a"),
            ("1;a;;", "1000 a=a"),
            ("1;\"a;b\"\r", "1000 a=a;b"),
            ("1;a\"b", "1000 a=a\"b"),
        ] {
            assert_eq!(told(&wide, line), [expected], "{line}");
        }
        assert_eq!(fields("", b';'), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn no_line_breaks_the_reader(line in "[^\n]{0,80}") {
            let wide = Lines::of_header("at;a;b", &columns(Some("at"), None, None)).unwrap();
            let _ = wide.changes(&line, 0);
            let _ = Lines::of_header(&line, &columns(None, None, None));
        }
    }
}
