//! A HAR as it is read: what is wrong is told with the entry and the place.

use jiff::Timestamp;
use plumb_wire::http::Url;
use serde_json::Value;

use plumb_scenario::har::{Entry, Har, Timings};

/// Reads a HAR.
///
/// # Errors
/// In words, with line and column, and with the number of the entry where it is one.
pub(super) fn har(text: &str) -> Result<Har, String> {
    serde_json::from_str::<Har>(text).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        let whole = error.to_string();
        let cause = whole.split(" at line ").next().unwrap_or_default();
        match serde_json::from_str::<Value>(text) {
            Err(_) => format!(
                "{place}: no JSON, or cut off: {cause}; save the recording again as HAR with all \
                 of it"
            ),
            Ok(value) => format!(
                "{}{place}: this is no HAR 1.2: {cause}; save the recording again as HAR",
                broken_entry(value).map(|number| format!("entry {number}, ")).unwrap_or_default()
            ),
        }
    })
}

/// The number of the first entry that is none, from 1.
fn broken_entry(mut har: Value) -> Option<usize> {
    let entries = har.get_mut("log")?.get_mut("entries")?.as_array_mut()?;
    let position = entries
        .iter_mut()
        .position(|entry| serde_json::from_value::<Entry>(entry.take()).is_err())?;
    Some(position + 1)
}

/// A request of the recording.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    /// The number of the entry, from 1, in the order of the file.
    pub(super) number: usize,
    pub(super) entry: &'a Entry,
    pub(super) url: Url,
    /// Since 1970.
    pub(super) start_ns: i128,
    pub(super) end_ns: i128,
    /// How long somebody thought behind it.
    pub(super) think_ms: u64,
    /// Requests to which its answer led, one after the other.
    pub(super) hops: Vec<&'a Entry>,
    /// What was asked for last.
    pub(super) reached: Url,
    /// What the path of that must be like when redirects are followed again.
    pub(super) end: String,
}

impl<'a> Seen<'a> {
    /// The request of an entry that asked for `url`, between two moments in nanoseconds since 1970.
    pub(super) fn new(
        (number, entry): (usize, &'a Entry),
        url: Url,
        (start_ns, end_ns): (i128, i128),
    ) -> Self {
        let (hops, reached, end) = (Vec::new(), url.clone(), String::new());
        Self { number, entry, url, start_ns, end_ns, think_ms: 0, hops, reached, end }
    }

    /// The entry whose answer was not led on.
    pub(super) fn last(&self) -> &'a Entry {
        self.hops.last().unwrap_or(&self.entry)
    }

    /// Its entry and those to which that led.
    pub(super) fn entries(&self) -> impl Iterator<Item = &'a Entry> {
        std::iter::once(self.entry).chain(self.hops.iter().copied())
    }
}

/// When an entry began and when it was over, in nanoseconds since 1970.
///
/// # Errors
/// In words, when its time is none.
pub(super) fn times(entry: &Entry) -> Result<(i128, i128), String> {
    let text = &entry.started_date_time;
    let start: Timestamp = text.parse().map_err(|_| {
        format!(
            "startedDateTime `{}` is no time with a zone, such as 2026-11-21T03:16:39.481Z",
            text.escape_debug()
        )
    })?;
    let start_ns = start.as_nanosecond();
    let took_ns = match nanoseconds(entry.time) {
        0 => {
            let Timings { blocked, dns, connect, send, wait, receive, .. } = entry.timings;
            [blocked, dns, connect, send, wait, receive].map(nanoseconds).iter().sum()
        }
        told => told,
    };
    Ok((start_ns, start_ns + took_ns))
}

/// Milliseconds of a HAR; what is no length of time counts as none.
fn nanoseconds(ms: f64) -> i128 {
    const YEAR_MS: f64 = 366.0 * 24.0 * 3_600_000.0;
    if !ms.is_finite() || ms <= 0.0 {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it lies between 0 and a year")]
    let ns = (ms.min(YEAR_MS) * 1e6).round() as i128;
    ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRY: &str = r#"{"startedDateTime":"2026-01-01T00:00:00.5+01:00","time":1.5,
        "request":{"method":"GET","url":"http://h/"},"response":{"status":200,"content":{}},
        "timings":{"send":0,"wait":1,"receive":0}}"#;

    fn file(entries: &[&str]) -> String {
        format!(
            r#"{{"log":{{"version":"1.2","creator":{{"name":"t","version":"1"}},"entries":[{}]}}}}"#,
            entries.join(",")
        )
    }

    #[test]
    fn an_entry_has_its_times() {
        let har = har(&file(&[ENTRY])).unwrap();
        let (start, end) = times(&har.log.entries[0]).unwrap();
        assert_eq!(end - start, 1_500_000);
        assert_eq!(start, 1_767_222_000_500_000_000);
        for odd in [f64::NAN, -1.0, f64::INFINITY] {
            assert_eq!(nanoseconds(odd), 0);
        }
    }

    #[test]
    fn an_entry_without_its_time_takes_as_long_as_its_parts() {
        let text = ENTRY.replace("\"time\":1.5", "\"time\":null");
        let text = text.replace("\"send\":0", "\"send\":null,\"blocked\":2.5,\"ssl\":7");
        let har = har(&file(&[&text])).unwrap();
        let (start, end) = times(&har.log.entries[0]).unwrap();
        assert_eq!(end - start, 3_500_000, "TLS is a part of connecting");
    }

    #[test]
    fn lists_may_be_objects_or_nothing() {
        let one = |headers: &str, cookies: &str| {
            let entry = ENTRY.replace(
                "\"url\"",
                &format!("\"headers\":{headers},\"cookies\":{cookies},\"url\""),
            );
            let har = har(&file(&[&entry])).unwrap();
            let pairs = har.log.entries[0].request.headers.iter();
            pairs.map(|pair| format!("{}={}", pair.name, pair.value)).collect::<Vec<_>>()
        };
        let pair = r#"{"name":"A","value":"1"}"#;
        for (headers, expected) in [
            ("null".to_owned(), vec![]),
            ("{}".to_owned(), vec![]),
            (format!("[{pair}]"), vec!["A=1"]),
            (format!(r#"{{"header":[{pair},{pair}]}}"#), vec!["A=1", "A=1"]),
            (format!(r#"{{"0":{pair},"1":{{"name":"B","value":null}}}}"#), vec!["A=1", "B="]),
            (r#"{"Accept":"x/y"}"#.to_owned(), vec!["Accept=x/y"]),
        ] {
            assert_eq!(one(&headers, "null"), expected, "{headers}");
        }
        let bare = r#"{"log":{"version":"1.1","creator":{"name":"t","version":"1"},"pages":null,"entries":null}}"#;
        assert!(har(bare).unwrap().log.entries.is_empty());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_entry_and_place() {
        let broken = ENTRY.replace("\"url\":\"http://h/\"", "\"uri\":1");
        let error = har(&file(&[ENTRY, &broken])).unwrap_err();
        assert!(
            error.starts_with("entry 2, line 4, column ") && error.contains("`url`"),
            "{error}"
        );
        let error = har("{\"log\":\n{}}").unwrap_err();
        assert!(error.starts_with("line 2, column 2: this is no HAR 1.2"), "{error}");
        let error = har("{\"log\":").unwrap_err();
        assert!(error.contains("cut off"), "{error}");
        let mut entry = har(&file(&[ENTRY])).unwrap().log.entries.remove(0);
        entry.started_date_time = "yesterday".into();
        assert!(times(&entry).unwrap_err().contains("`yesterday` is no time with a zone"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\PC|[{}\\[\\]\",:]){0,60}") {
            let _ = har(&text);
        }
    }

    #[test]
    fn a_file_cut_at_any_byte_is_refused() {
        let whole = file(&[ENTRY]);
        for end in 0..whole.len() {
            assert!(har(&whole[..end]).is_err(), "{end}");
        }
        let deep = "[".repeat(100_000);
        assert!(har(&format!("{{\"log\":{deep}")).is_err());
    }
}
