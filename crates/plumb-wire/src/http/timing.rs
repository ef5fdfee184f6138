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
/// what is none, is left out.
///
/// # Source
/// W3C Server Timing, section 3; the response header `sap-statistics` of SAP Gateway.
pub fn told<'a>(head: &RawHead<'a>) -> impl Iterator<Item = Told<'a>> {
    let metrics = head.values("server-timing").flat_map(Pieces::of_list).filter_map(metric);
    let statistics = head.values("sap-statistics").flat_map(Pieces::of_list).filter_map(statistic);
    metrics.chain(statistics)
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
    fn what_is_no_time_is_left_out() {
        assert_eq!(
            of("Server-Timing: a;dur=-1, b;dur=x, c;dur=inf, ;dur=1, d;dur=NaN, e;dur\r\n"),
            []
        );
        assert_eq!(of("sap-statistics: =1,a=,b\r\n"), []);
    }
}
