//! Times that a server tells of itself in header lines.

use super::head::RawHead;

/// One such time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    /// Its name, as the server calls it.
    pub name: &'a str,
    /// Nanoseconds.
    pub ns: u64,
}

/// The times in the lines `Server-Timing` (`db;dur=53.2, app;desc="x";dur=47`, milliseconds) and
/// `sap-statistics` (`gwtotal=45,gwhub=7`, whole milliseconds) of a head. What has no time, and
/// what is none, is left out; of a name in both lines, what the second says.
///
/// # Source
/// W3C Server Timing, section 3; the response header `sap-statistics` of SAP Gateway.
pub fn told<'a>(head: &RawHead<'a>) -> impl Iterator<Item = Told<'a>> {
    let statistics = head.values("sap-statistics").flat_map(Pieces::of_list).filter_map(statistic);
    // the statistics are rounded to milliseconds
    let told_better = |found: &Told<'_>| metrics(head).any(|metric| metric.name == found.name);
    metrics(head).chain(statistics.filter(move |found| !told_better(found)))
}

/// Names that are told on of one server, and the letters and levels that such a name may have.
const BELOW_MAX: usize = 8;
const NAME_MAX: usize = 64;
const LEVELS_MAX: usize = 4;

/// Adds the times in `head`, the head of an answer to a call, to `told`: each below `around`, behind a
/// full stop (`backend.database`), those of one name added up. At most eight names, of at most four
/// levels and 64 characters; what is more is left in the time of the call, and so is the server's total.
pub fn add_below(around: &str, head: &RawHead<'_>, told: &mut Vec<(String, u64)>) {
    for found in self::told(head) {
        let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let name = format!("{around}.{}", found.name);
        let levels = name.split('.').count();
        let says_more = found.ns > 0 && found.name.rsplit('.').next() != Some("total");
        let fits = name.len() <= NAME_MAX && levels <= LEVELS_MAX;
        if !says_more || !fits || !found.name.bytes().all(sound) {
            continue;
        }
        let known = told.iter().position(|(known, _)| *known == name);
        match known {
            Some(at) => told[at].1 = told[at].1.saturating_add(found.ns),
            None if told.len() < BELOW_MAX => told.push((name, found.ns)),
            None => {}
        }
    }
}

/// The header line that passes the trace of a request on, `value` its `traceparent`; nothing where that
/// is none.
///
/// # Source
/// W3C Trace Context, section 3.2.
#[must_use]
pub fn parent_line(value: &str) -> String {
    let hex = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let fields: Vec<&str> = value.split('-').collect();
    let lengths: Vec<usize> = fields.iter().map(|field| field.len()).collect();
    let sound = lengths == [2, 32, 16, 2] && fields.iter().all(|field| hex(field));
    if sound && fields[0] != "ff" { format!("traceparent: {value}\r\n") } else { String::new() }
}

fn metrics<'a>(head: &RawHead<'a>) -> impl Iterator<Item = Told<'a>> + use<'a> {
    head.values("server-timing").flat_map(Pieces::of_list).filter_map(metric)
}

/// `name;desc="words";dur=1.5`.
fn metric(text: &str) -> Option<Told<'_>> {
    let mut parts = Pieces { rest: text, between: b';' };
    let name = parts.next()?;
    let value = parts.find_map(|part| {
        let (parameter, value) = part.split_once('=')?;
        parameter.trim().eq_ignore_ascii_case("dur").then_some(value)
    })?;
    let ns = nanoseconds(value.trim().trim_matches('"'))?;
    (!name.is_empty()).then_some(Told { name, ns })
}

/// `name=45`.
fn statistic(text: &str) -> Option<Told<'_>> {
    let (name, value) = text.split_once('=')?;
    let (name, ns) = (name.trim(), nanoseconds(value.trim())?);
    (!name.is_empty()).then_some(Told { name, ns })
}

/// Milliseconds as nanoseconds; `None` for what is no time of at most a year.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to lie between zero and a year"
)]
fn nanoseconds(text: &str) -> Option<u64> {
    const YEAR_MS: f64 = 366.0 * 86_400e3;
    let ms: f64 = text.parse().ok()?;
    (0.0..=YEAR_MS).contains(&ms).then(|| (ms * 1e6).round() as u64)
}

/// The pieces of a text between separators that are not quoted.
struct Pieces<'a> {
    rest: &'a str,
    between: u8,
}

impl<'a> Pieces<'a> {
    fn of_list(text: &'a str) -> Self {
        Self { rest: text, between: b',' }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (mut quoted, mut escaped) = (false, false);
        let end = self.rest.bytes().position(|byte| {
            let here = byte == self.between && !quoted;
            quoted ^= byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            here
        });
        let piece = match end {
            Some(end) => {
                let (piece, rest) = self.rest.split_at(end);
                self.rest = &rest[1..];
                piece
            }
            None => std::mem::take(&mut self.rest),
        };
        Some(piece.trim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &str) -> Vec<(String, u64)> {
        let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        told(&RawHead::new(head.as_bytes())).map(|told| (told.name.to_owned(), told.ns)).collect()
    }

    #[test]
    fn the_metrics_of_server_timing_are_milliseconds() {
        let found = of("Server-Timing: miss, db;dur=53.25, app;desc=\"a, b;dur=9\";DUR=\"47\"\r\n\
                        server-timing: total;dur=123.4\r\n");
        let expected = [("db", 53_250_000), ("app", 47_000_000), ("total", 123_400_000)];
        assert_eq!(found, expected.map(|(name, ns)| (name.to_owned(), ns)));
    }

    #[test]
    fn the_statistics_of_a_gateway_are_milliseconds() {
        let found = of("sap-statistics: gwtotal=45,gwhub=7,gwrfcoh=0,gwbe=12,gwapp=26\r\n");
        assert_eq!(found.len(), 5);
        assert_eq!(found[0], ("gwtotal".to_owned(), 45_000_000));
    }

    #[test]
    fn times_of_a_call_stand_below_it_and_are_added_up() {
        let head = b"HTTP/1.1 200 OK\r\nServer-Timing: db;dur=2, x.y.z;dur=9, a/b;dur=1, \
                     total;dur=12, db.total;dur=2, load;dur=0\r\n\r\n";
        let mut told = Vec::new();
        add_below("backend", &RawHead::new(head), &mut told);
        add_below("backend", &RawHead::new(head), &mut told);
        let expected = [("backend.db", 4_000_000), ("backend.x.y.z", 18_000_000)];
        assert_eq!(told, expected.map(|(name, ns)| (name.to_owned(), ns)));
        let deep = b"HTTP/1.1 200 OK\r\nServer-Timing: a.b.c.d;dur=1\r\n\r\n";
        add_below("backend", &RawHead::new(deep), &mut told);
        assert_eq!(told.len(), 2);
        for number in 0..20 {
            let head = format!("HTTP/1.1 200 OK\r\nServer-Timing: n{number};dur=1\r\n\r\n");
            add_below("backend", &RawHead::new(head.as_bytes()), &mut told);
        }
        assert_eq!(told.len(), BELOW_MAX);
    }

    #[test]
    fn only_a_traceparent_is_passed_on() {
        let right = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(parent_line(right), format!("traceparent: {right}\r\n"));
        let ends = format!("{right}\r\nEvil: 1");
        let capital = right.to_uppercase();
        for wrong in ["", "00-0af7-b7ad-01", &right.replacen("00", "ff", 1), &ends, &capital] {
            assert_eq!(parent_line(wrong), "", "{wrong}");
        }
    }

    #[test]
    fn what_is_no_time_is_left_out() {
        assert_eq!(
            of("Server-Timing: a;dur=-1, b;dur=x, c;dur=inf, ;dur=1, d;dur=NaN, e;dur\r\n"),
            []
        );
        assert_eq!(of("sap-statistics: =1,a=,b\r\n"), []);
    }
}
